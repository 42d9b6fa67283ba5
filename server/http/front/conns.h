/* Connections and their deadlines.
 *
 * libmicrohttpd 0.9.75 knows only a timeout of inactivity, which a byte every few seconds evades.
 * Here every connection always has an absolute deadline for what it is doing; a sweeper shuts the
 * socket of one that is late, and the library then closes it. A socket is shut under the same lock
 * under which the library's CLOSED notice takes the connection off the list, which it sends before
 * it closes the descriptor: so a descriptor that is shut always belongs to that connection.
 *
 * Life of a connection: conns_admit (acceptor) -> conns_opened -> phases -> conn_closed, the
 * latter three on the worker's thread. One that the library drops between the first two is noticed
 * when its descriptor comes again. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_CONNS_H
#define TOLLBOOK_SERVER_HTTP_FRONT_CONNS_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "http/front/framing.h"

struct request;

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

const char *conn_phase_name(conn_phase phase);

typedef struct conns conns;

typedef struct conn {
    conns *conns; /* that it is one of */
    _Atomic int phase;
    _Atomic int64_t deadline_us; /* monotonic; INT64_MAX: none */
    _Atomic int fd;              /* -1: the slot is free */
    _Atomic bool opened;         /* the library has it */
    bool shut;                   /* both ways, for good */
    bool leaving;                /* it was told to end, to make room */
    int64_t look_us;             /* when its progress was looked at, 0: not in this phase yet */
    uint64_t look_bytes;         /* what had gone both ways then */
    uint64_t rate;               /* bytes a second since */
    bool logging;                /* came to the address of the request logging API alone */
    unsigned worker;
    struct in6_addr peer; /* IPv4 mapped */
    struct request *request;
    /* What comes in, before the library sees it (receive.c). */
    framing framing;
    /* HEAD_MAX bytes, or NULL: the beginning of a head, what has been passed by the framing first, or of a large body. */
    char *kept;
    size_t kept_len, kept_good, discarded;
    large_body large_body;
    uint64_t answered; /* requests */
    bool refused;      /* its last answer is out */
} conn;

#define CONNS_FD_MAX 16384 /* greatest descriptor a connection may have */

typedef struct conns_limits {
    unsigned most;   /* connections at once */
    unsigned per_ip; /* of one address, loopback apart; 0: any */
    int64_t head_us, body_us, idle_us;
    int64_t bytes_per_s; /* a body or an answer may take 1 s more for each so many bytes */
} conns_limits;

typedef enum conns_verdict { CONNS_OK, CONNS_FULL, CONNS_PER_IP, CONNS_NOMEM } conns_verdict;

typedef struct conns_counters {
    _Atomic uint64_t late[CONN_PHASES];            /* shut at their deadline in this phase */
    _Atomic uint64_t evicted;                      /* ended to make room */
    _Atomic uint64_t malformed;                    /* requests that could not be read */
    _Atomic uint64_t refused_full, refused_per_ip; /* never became connections */
} conns_counters;

/* n_workers: how many event loops share the connections. NULL when out of memory. */
conns *conns_new(const conns_limits *limits, unsigned n_workers);
/* drop frees what a slot's request holds, and the request. */
void conns_free(conns *c, void (*drop)(struct request *request));
int conns_start(conns *c); /* starts the sweeper; 0 or an errno */
void conns_stop(conns *c); /* ends it */

/* Books a place for a just accepted socket with the worker that has the fewest. */
conns_verdict conns_admit(conns *c, int fd, const struct sockaddr *peer, conn **ret_conn);
/* The slot of a descriptor that the library has just taken over. */
conn *conns_opened(conns *c, int fd);
/* The library's connection of this descriptor, on its worker's thread; NULL: it is none, but a socket of
 * the worker's own, whose number another worker's connection may have had a moment ago. */
conn *conns_at(const conns *c, int fd);
/* The library has closed it, or did not take it over. */
void conn_closed(conn *k);

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

/* Ends as many connections as are wanted, less those that are leaving already: first heads, bodies and
 * answers that make no progress, then idle ones, the longest idle first; then bodies and answers below
 * bytes_per_s, the slowest first. None whose request the server is at work on. */
void conns_make_room(conns *c, unsigned wanted);
/* The same for one more of this address: an idle one of its own. false: there is none. */
bool conns_make_room_of(conns *c, const struct sockaddr *peer);

/* From now on idle connections are ended; those at work finish. */
void conns_drain(conns *c);
unsigned conns_open(conns *c);
unsigned conns_open_of(conns *c, unsigned worker);
conns_counters *conns_counters_of(conns *c);

/* An address of this machine itself. */
bool conns_loopback(const struct in6_addr *a);

#endif
