/* Connections and their deadlines.
 *
 * libmicrohttpd 0.9.75 knows only a timeout of inactivity, which a byte every few seconds evades.
 * Here every connection always has an absolute deadline for what it is doing; a sweeper shuts the
 * socket of one that is late, and the library then closes it. A socket is shut under the same lock
 * under which the library's CLOSED notice takes the connection off the list, which it sends before
 * it closes the descriptor: so never somebody else's.
 *
 * Life of a connection: conns_admit (acceptor) -> conns_opened -> phases -> conns_closed, the
 * latter three on the worker's thread. One that the library drops between the first two is noticed
 * when its descriptor comes again. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_CONNS_H
#define TOLLBOOK_SERVER_HTTP_FRONT_CONNS_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/front/framing.h"

struct request;

typedef enum conn_phase {
    CONN_NEW,  /* waiting for its first request; the deadline is that of a head */
    CONN_HEAD, /* a request's head is on its way */
    CONN_BODY,
    CONN_WORK, /* the server is at it: no deadline */
    CONN_SEND,
    CONN_IDLE, /* waiting for the next request */
    CONN_PHASES
} conn_phase;

typedef enum conn_apart {
    APART_COMES,
    APART_OVER,   /* the library may go on with the request */
    APART_BROKEN, /* the client ended before its end */
} conn_apart;

const char *conn_phase_name(conn_phase phase);

typedef struct conn {
    _Atomic int phase;
    _Atomic int64_t deadline_us; /* monotonic; INT64_MAX: none */
    _Atomic int fd;              /* -1: the slot is free */
    _Atomic bool opened;         /* the library has it */
    bool shut;                   /* it has been shut for good */
    bool leaving;                /* room was made: it is let go */
    int64_t look_us;             /* progress was looked at then, 0: not in this phase yet */
    uint64_t look_bytes;         /* and that much had gone both ways */
    uint64_t rate;               /* bytes a second since */
    bool logging;                /* came to the address of the request logging API alone */
    unsigned worker;
    struct in6_addr peer; /* IPv4 mapped */
    struct request *request;
    /* What comes in, before the library sees it (receive.c). */
    framing framing;
    /* HEAD_MAX bytes, or NULL: the beginning of a head, what is good of it first, or of a body that comes apart. */
    char *kept;
    size_t kept_len, kept_good, discarded;
    conn_apart apart; /* of such a body */
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

typedef struct conns conns;

/* n_workers: how many event loops share the connections. NULL when out of memory. */
conns *conns_new(const conns_limits *limits, unsigned n_workers);
/* drop frees what a slot's request holds, and the request. */
void conns_free(conns *c, void (*drop)(struct request *request));
int conns_start(conns *c); /* starts the sweeper; 0 or an errno */
void conns_stop(conns *c); /* ends it */

/* Books a place for a just accepted socket with the worker that has the fewest. */
conns_verdict conns_admit(conns *c, int fd, const struct sockaddr *peer, conn **ret_conn);
/* The worker would not have it (its socket is closed already). */
void conns_rejected(conns *c, conn *k);
/* The slot of a descriptor that the library has just taken over. */
conn *conns_opened(conns *c, int fd);
/* The library's connection of this descriptor, on its worker's thread; NULL: it is none, but a socket of
 * the worker's own, whose number another worker's connection may have had a moment ago. */
conn *conns_at(const conns *c, int fd);
void conns_closed(conns *c, conn *k);

/* A request's line has come. Its head's time runs from here, or, of the first, from the start. */
void conns_begin(const conns *c, conn *k, int64_t now_us);
/* What the connection does from now_us (monotonic) on. bytes: how long its answer is. */
void conns_phase(const conns *c, conn *k, conn_phase phase, uint64_t bytes, int64_t now_us);
/* A stream has its next piece, which took from began_us to now_us: the server's time, and not the
 * client's. The client has body_us in hand at most, and what the bytes are worth at a fourth of
 * bytes_per_s, for many may share its line: so one that takes a little now and then is let go. */
void conns_piece(const conns *c, conn *k, uint64_t bytes, int64_t began_us, int64_t now_us);
/* Lets go of so many connections that others wait for, less those that are leaving already: first
 * heads, bodies and answers that do not get on, then idle ones, the longest idle first; then bodies
 * and answers below bytes_per_s, the slowest first. Nobody at work. */
void conns_make_room(conns *c, unsigned wanted);
/* The same for one more of this address: an idle one of its own. false: there is none. */
bool conns_make_room_of(conns *c, const struct sockaddr *peer);
/* More of a body has arrived: its deadline moves by the time that these bytes are worth. */
void conns_extend(const conns *c, conn *k, uint64_t bytes_before, uint64_t bytes_now);

/* From now on idle connections are let go; those at work finish. */
void conns_drain(conns *c);
unsigned conns_open(conns *c);
unsigned conns_open_of(conns *c, unsigned worker);
/* How many were shut at their deadline in this phase. */
uint64_t conns_late(const conns *c, conn_phase phase);
/* One that never became a connection. */
void conns_note_late(conns *c, conn_phase phase);
/* Requests that could not be read. */
void conns_count_malformed(conns *c);
uint64_t conns_malformed(const conns *c);
/* How many were let go to make room. */
uint64_t conns_evicted(const conns *c);

/* An address of this machine itself. */
bool conns_loopback(const struct in6_addr *a);

#endif
