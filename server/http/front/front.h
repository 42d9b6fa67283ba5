/* The front: takes a connection from accept to a request in the handler, and ends it. This header is what the rest of
 * the server uses of it, with head.h (what a request's head says) and body.h (its body).
 *
 * The way of a connection
 *
 *     listen.c         the acceptor accepts its socket
 *     pending.c        it is pending until its first head is complete; the bytes stay in the kernel
 *     conns.c          it has a slot and a worker, the one with the fewest; libmicrohttpd takes the socket over
 *     receive.c        the library's recv() comes here: nothing reaches it but what passes
 *     framing.c        splits what came into heads and bodies, and says what passes
 *     head.c           reads and validates a head, once, and writes it anew in canonical form for the library
 *     handler.c        (server/http) asks conn_head for the same struct, then routes, authenticates, answers
 *     body.c           the body: small ones through the library, large ones through the body receiver
 *
 * What it keeps true
 * - One reading: no byte reaches the library but of a head that was validated whole and written in one canonical form, or
 *   of the body that it announced. So no two parsers can disagree about where a request ends.
 * - What is no valid request is answered once, when all requests before it are, and is the last of its connection. Behind
 *   the last request nothing is read as a request.
 * - A connection always has a deadline, unless the server itself is at work on its request.
 *
 * Deadlines (--header-timeout-ms and so on; conns.c)
 *     pending, first head     head_us from accept
 *     a complete head         2 s for a connection to be free, then 503
 *     a further head          head_us from its first byte
 *     body, answer            body_us, and 1 s more for each bytes_per_s of it
 *     piece of a stream       body_us in hand at most, and 4 s for each bytes_per_s of it
 *     idle                    idle_us
 *
 * Bounds
 *     pending sockets         pending_most: the oldest of the most frequent address makes room
 *     connections             limits.most, and limits.per_ip of one address (loopback apart): those with the least
 *                             progress make room for a complete head
 *     a head                  HEAD_MAX bytes, target HEAD_TARGET_MAX, HEAD_LINES_MAX lines, values HEAD_VALUES_MAX
 *     the library's memory    FRAMING_POOL a connection
 *     kept bytes              HEAD_MAX a connection, and only where a head or a large body has begun
 *     bodies                  body_max each, bodies_max together
 *
 * Who owns a descriptor
 *     acceptor    from accept until front_hand_over takes it: closes it where the client ends, is late or finds no room
 *     library     from then on: it alone closes it. The sweeper and those that make room only shut it down, under the
 *                 lock of conns.c, which the library's notice of its end takes before it closes
 *     receiver    reads from it, and nothing more, while the library's connection is suspended for a large body
 *
 * Threads and locks
 *     acceptor    accepts; owns the pending connections, without a lock
 *     sweeper     shuts connections that are late
 *     worker      one event loop of the library each: framing, head, phases of its own connections. A phase and its
 *                 deadline are atomics, which the sweeper and the acceptor read
 *     receiver    the large bodies, one at a time; a request belongs to it between body_receive and `over`
 *     conns.lock is held for a slot's coming and going and while connections are shut; body_receiver.lock for the list of
 *     large bodies. No thread holds both, and none does I/O that waits under one. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_FRONT_H
#define TOLLBOOK_SERVER_HTTP_FRONT_FRONT_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "http/front/framing.h"
#include "http/front/listen.h"

struct MHD_Connection;
struct request;

/* --- connections --- */

typedef enum conn_phase {
    CONN_NEW,  /* waiting for its first request; the deadline is that of a head */
    CONN_HEAD, /* a request's head is on its way */
    CONN_BODY,
    CONN_WORK, /* the server is at work on a request: no deadline */
    CONN_SEND,
    CONN_IDLE, /* waiting for the next request */
    CONN_PHASES
} conn_phase;

typedef enum large_body {
    LARGE_BODY_COMES,
    LARGE_BODY_OVER,   /* the library may go on with the request */
    LARGE_BODY_BROKEN, /* the client ended before its end */
} large_body;

typedef struct conn {
    _Atomic int fd; /* -1: the slot is free */
    unsigned worker;
    bool logging;         /* came to the address of the request logging API alone */
    struct in6_addr peer; /* IPv4 mapped */
    struct request *request;

    /* The rest is the front's own. Its deadline (conns.c): */
    struct conns *conns; /* that it is one of */
    _Atomic int phase;
    _Atomic int64_t deadline_us; /* monotonic; INT64_MAX: none */
    _Atomic bool opened;         /* the library has it */
    bool shut;                   /* both ways, for good */
    bool leaving;                /* it was told to end, to make room */
    int64_t look_us;             /* when its progress was looked at, 0: not in this phase yet */
    uint64_t look_bytes;         /* what had gone both ways then */
    uint64_t rate;               /* bytes a second since */
    /* What comes in, before the library sees it (receive.c): */
    framing framing;
    char *kept; /* HEAD_MAX bytes, or NULL: the beginning of a head, the bytes that may pass first, or of a large body */
    size_t kept_len, kept_good, discarded;
    large_body large_body;
    uint64_t answered; /* requests */
    bool refused;      /* its last answer is out */
} conn;

typedef struct conns_limits {
    unsigned most;   /* connections at once */
    unsigned per_ip; /* of one address, loopback apart; 0: any */
    int64_t head_us, body_us, idle_us;
    int64_t bytes_per_s; /* a body or an answer may take 1 s more for each so many bytes */
} conns_limits;

typedef struct conns_counters {
    _Atomic uint64_t late[CONN_PHASES];            /* shut at their deadline in this phase */
    _Atomic uint64_t evicted;                      /* ended to make room */
    _Atomic uint64_t malformed;                    /* requests that could not be read */
    _Atomic uint64_t refused_full, refused_per_ip; /* never became connections */
} conns_counters;

const char *conn_phase_name(conn_phase phase);

/* The worker's thread alone calls these of its connections, and the body receiver's conn_extend. */

/* A request's line has come. Its head's time runs from here, or, of the first, from the start. */
void conn_begin(conn *k, int64_t now_us);
/* What the connection does from now_us (monotonic) on. bytes: how long its answer is. */
void conn_set_phase(conn *k, conn_phase phase, uint64_t bytes, int64_t now_us);
/* A stream has its next piece, which took from began_us to now_us: the server's time, and not the
 * client's. The client has body_us in hand at most, and what the bytes are worth at a fourth of
 * bytes_per_s, because many may share its line: so one that takes a little now and then is ended. */
void conn_piece(conn *k, uint64_t bytes, int64_t began_us, int64_t now_us);
/* More of a body has arrived: its deadline moves by the time that these bytes are worth. */
void conn_extend(conn *k, uint64_t bytes_before, uint64_t bytes_now);
/* The head that the library has just read: fills in version, headers, the body's framing and, where it was refused, why.
 * h is empty but for what the caller knows. */
void conn_head(conn *k, struct MHD_Connection *mhd, const char *version, head *h);
/* The answer that is sent now is the connection's last: nothing more is passed on, nor answered. */
void conn_set_last(conn *k);
/* A request of the connection has been answered: a refusal that waited for this answer is sent. */
void conn_answered(conn *k);
/* The library has closed it, or did not take it over. */
void conn_closed(conn *k);

/* An address of this machine itself. */
bool conns_loopback(const struct in6_addr *a);

/* --- all of it --- */

typedef struct front front;

/* Gives the socket to this worker's event loop, which closes it where it returns false. The acceptor's thread. */
typedef bool (*front_hand_over)(void *ctx, unsigned worker, int fd, const struct sockaddr *peer, socklen_t len);

typedef struct front_options {
    const char *const *listen; /* as listen_open takes them */
    size_t n_listen;
    const char *logging_listen; /* where the request logging API alone is answered, or NULL; the last address */
    conns_limits limits;
    unsigned pending_most;
    unsigned workers;
    front_hand_over hand_over;
    void (*received)(struct request *r); /* body_receiver_start's over */
    void *ctx;
} front_options;

/* Binds the sockets; nothing is accepted yet. */
TB_MUST_USE tb_code front_open(const front_options *options, front **ret_front, tb_error *err);
const listener *front_listener(const front *f);
/* Starts to accept and to keep deadlines: all workers run. false: a thread does not start. */
TB_MUST_USE bool front_start(front *f);
/* Takes what is in the backlog already, then accepts no more and closes the sockets; idle connections are ended. */
void front_drain(front *f);
/* Ends its threads: no request is under way. */
void front_stop(front *f);
/* After front_stop, or where it never started; NULL is fine. drop frees what a connection's request holds, and it. */
void front_free(front *f, void (*drop)(struct request *request));

/* A worker's thread: the library has taken the socket over, and reads what passes from here on. NULL: it is none that was
 * handed over. conn_closed says its end. */
conn *front_opened(front *f, int fd);

/* A worker's thread, the connection suspended: the receiver takes over a request with a large body. false: see body_receive. */
TB_MUST_USE bool front_receive_body(front *f, struct request *r);

/* Any thread. */
unsigned front_pending(const front *f);
unsigned front_connections(front *f);
unsigned front_connections_of(front *f, unsigned worker);
const conns_counters *front_counters(const front *f);

#endif
