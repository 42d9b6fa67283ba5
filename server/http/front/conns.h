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

#include "http/front/front.h"

#define CONNS_FD_MAX 16384 /* greatest descriptor a connection may have */

typedef enum conns_verdict { CONNS_OK, CONNS_FULL, CONNS_PER_IP, CONNS_NOMEM } conns_verdict;

typedef struct conns conns;

static inline conn_phase conn_phase_of(const conn *k)
{
    return (conn_phase)atomic_load_explicit(&k->phase, memory_order_relaxed);
}

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

#endif
