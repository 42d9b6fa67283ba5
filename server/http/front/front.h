/* The front: takes a connection from accept to a request in the handler, and closes it. The rest of the server uses
 * this header, head.h (a request's head), body.h (its body) and pair.h (the certificate of TLS).
 *
 * The path of a connection
 *
 *     listen.c         the acceptor accepts its socket
 *     pending.c        it is pending until its first head is complete; the bytes stay in the kernel
 *     tls.c            with --tls-cert: its handshake happens then; from here on what is read is decrypted, what is sent
 *                      encrypted, below everything else
 *     conns.c          it has a slot and a worker, the one with the fewest; libmicrohttpd takes the socket over
 *     receive.c        takes the library's calls of recv() and send(): it gets only bytes that pass
 *     framing.c        splits the input into heads and bodies, and decides what passes
 *     head.c           reads and validates a head, once, and writes it in canonical form for the library
 *     handler.c        (server/http) asks conn_head for the same struct, then routes, authenticates, answers
 *     body.c           the body: small ones through the library, large ones through the body receiver
 *
 * Invariants
 * - One reading: no byte reaches the library but of a head that was validated whole and written in one canonical form,
 *   or of the body that it announced. So no two parsers can disagree about where a request ends.
 * - An invalid request is answered once, after all requests before it, and is the last of its connection. Nothing after
 *   the last request is read as a request.
 * - A connection always has a deadline, except while the server works on its request.
 *
 * Deadlines (--header-timeout-ms and so on; conns.c)
 *     pending, first head     head_us from accept, with the handshake
 *     a complete head         2 s for a free connection, then 503
 *     a further head          head_us from its first byte
 *     body, answer            body_us, and 1 s more for each bytes_per_s of it
 *     piece of a stream       body_us in hand at most, and 4 s for each bytes_per_s of it
 *     idle                    idle_us
 *
 * Bounds
 *     pending sockets         pending_most: the oldest of the most frequent address is closed
 *     connections             limits.most, and limits.per_ip of one address (except loopback): those with the least
 *                             progress are closed for a complete head
 *     a head                  HEAD_MAX bytes, target HEAD_TARGET_MAX, HEAD_LINES_MAX lines, values HEAD_VALUES_MAX
 *     the library's memory    FRAMING_POOL a connection
 *     kept bytes              HEAD_MAX a connection, and only where a head or a large body has begun
 *     bodies                  body_max each, bodies_max together
 *
 * Owner of a descriptor
 *     acceptor    from accept until front_hand_over takes it: closes it if the client ends, is late or there is no room
 *     library     from then on: only the library closes it. The sweeper and evictions only shut it down, under the lock of
 *                 conns.c, which the library's notice of the end takes before it closes
 *     receiver    only reads from it, while the library's connection is suspended for a large body
 *
 * Threads and locks
 *     acceptor    accepts; owns the pending connections, and their TLS sessions, without a lock
 *     sweeper     shuts connections that are late
 *     worker      one event loop of the library each: framing, head, phases of its own connections. A phase and its
 *                 deadline are atomics, which the sweeper and the acceptor read
 *     receiver    reads the large bodies; a request belongs to it between body_receive and `over`
 *     conns.lock is held while a slot is taken or freed and while connections are shut down; body_receiver.lock for the list of
 *     large bodies. No thread holds both, and none does I/O that waits under one. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_FRONT_H
#define TOLLBOOK_SERVER_HTTP_FRONT_FRONT_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "http/front/framing.h"
#include "http/front/listen.h"

struct MHD_Connection;
struct request;
struct tls;
struct tls_pair;

/* --- connections --- */

typedef enum conn_phase {
    CONN_NEW,  /* no request yet; the deadline is that of a head */
    CONN_HEAD, /* a request's head is being received */
    CONN_BODY,
    CONN_WORK, /* the server works on a request: no deadline */
    CONN_SEND,
    CONN_IDLE, /* waiting for the next request */
    CONN_PHASES
} conn_phase;

typedef enum large_body {
    LARGE_BODY_COMES,
    LARGE_BODY_OVER,   /* received or given up: the library may go on with the request */
    LARGE_BODY_BROKEN, /* the client closed the connection before its end */
} large_body;

typedef struct conn {
    _Atomic int fd; /* -1: the slot is free */
    unsigned worker;
    bool logging;         /* accepted on the address of the request logging API */
    struct in6_addr peer; /* IPv4 mapped */
    struct request *request;
    struct tls *tls; /* its session; NULL: plain */
    _Atomic bool follows; /* a standby's, for which answers may wait: it is never evicted while it is idle */

    /* The rest is the front's own. Its deadline (conns.c): */
    struct conns *conns; /* its table */
    _Atomic int phase;
    _Atomic int64_t deadline_us; /* monotonic; INT64_MAX: none */
    _Atomic bool opened;         /* the library has it */
    bool shut;                   /* shut down in both directions */
    bool leaving;                /* it is being evicted */
    bool parting;                /* it was idle for too long, and its worker is to close it */
    int64_t look_us;             /* when its progress was measured, 0: not in this phase yet */
    uint64_t look_bytes;         /* bytes in both directions until then */
    uint64_t rate;               /* bytes a second since */
    /* What comes in, before the library sees it (receive.c): */
    framing framing;
    char *kept; /* HEAD_MAX bytes, or NULL: the beginning of a head or a large body, after bytes that may pass */
    size_t kept_len, kept_good, discarded;
    large_body large_body;
    uint64_t answered; /* requests */
    bool refused;      /* its last answer was sent */
} conn;

typedef struct conns_limits {
    unsigned most;   /* connections */
    unsigned per_ip; /* of one address, except loopback; 0: no limit */
    int64_t head_us, body_us, idle_us;
    int64_t bytes_per_s; /* a body or an answer may take 1 s more for this many bytes */
} conns_limits;

typedef struct conns_counters {
    _Atomic uint64_t late[CONN_PHASES];            /* shut at their deadline in this phase */
    _Atomic uint64_t evicted;                      /* ended to make room */
    _Atomic uint64_t malformed;                    /* requests that could not be read */
    _Atomic uint64_t refused_full, refused_per_ip; /* never became connections */
    _Atomic uint64_t bad_handshakes;               /* the same, of TLS */
} conns_counters;

const char *conn_phase_name(conn_phase phase);

/* To be called on the worker's thread of the connection; conn_extend also on the body receiver's. */

/* A request line has come. The time of its head runs from here, that of the first one from the accept. */
void conn_begin(conn *k, int64_t now_us);
/* Begins a phase at now_us (monotonic). bytes: the length of its answer. */
void conn_set_phase(conn *k, conn_phase phase, uint64_t bytes, int64_t now_us);
/* A stream has its next piece, which the server made from began_us to now_us; that time does not count. The client has
 * at most body_us in reserve, and the time of the bytes at a fourth of bytes_per_s, because many may share its line. So
 * a client that reads only a little now and then is cut off. */
void conn_piece(conn *k, uint64_t bytes, int64_t began_us, int64_t now_us);
/* More of a body has arrived: moves its deadline by the time for these bytes. */
void conn_extend(conn *k, uint64_t bytes_before, uint64_t bytes_now);
/* Fills in the head that the library has just read: version, headers, the body's framing and, if it was refused, why.
 * The caller has set the other fields of h, or zero. */
void conn_head(conn *k, struct MHD_Connection *mhd, const char *version, head *h);
/* The answer that is sent now is the connection's last: no further input passes or is answered. */
void conn_set_last(conn *k);
/* A request of the connection has been answered: a refusal that waited for this answer is sent. */
void conn_answered(conn *k);
/* Whether the client has closed its side. From any thread. */
bool conn_client_left(const conn *k);
/* The library has closed it, or did not take it over. */
void conn_closed(conn *k);

/* Whether it is a loopback address. */
bool conns_loopback(const struct in6_addr *a);

/* --- the front --- */

typedef struct front front;

/* Gives the socket to this worker's event loop, which also closes it if this returns false. On the acceptor's
 * thread. */
typedef bool (*front_hand_over)(void *ctx, unsigned worker, int fd, const struct sockaddr *peer, socklen_t len);

typedef struct front_options {
    const char *const *listen; /* as listen_open takes them */
    size_t n_listen;
    const char *logging_listen; /* an address only for the request logging API, or NULL; the last one */
    bool tls;                   /* all of them speak TLS, with the pair of front_use_tls */
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
/* Replaces the certificate and its key for sessions that begin from now on; takes the caller's hold over, also on
 * failure. Any thread; before front_start for the first. */
TB_MUST_USE tb_code front_use_tls(front *f, struct tls_pair *pair, tb_error *err);
/* Starts accepting and the deadlines, when all workers run. false: a thread does not start. */
TB_MUST_USE bool front_start(front *f);
/* Accepts the backlog, then stops accepting and closes the sockets; idle connections are closed. */
void front_drain(front *f);
/* Ends its threads, when no request is running. */
void front_stop(front *f);
/* After front_stop, or if it never started; NULL is fine. drop frees a connection's request and its content. */
void front_free(front *f, void (*drop)(struct request *request));

/* On a worker's thread: the library has taken the socket over, and from now on gets only bytes that pass. NULL: the
 * socket was not handed over. Later conn_closed is called. */
conn *front_opened(front *f, int fd);

/* On a worker's thread, with the connection suspended: the receiver takes over a request with a large body. false: see
 * body_receive. */
TB_MUST_USE bool front_receive_body(front *f, struct request *r);

/* Any thread. */
unsigned front_pending(const front *f);
unsigned front_connections(front *f);
unsigned front_connections_of(front *f, unsigned worker);
const conns_counters *front_counters(const front *f);

#endif
