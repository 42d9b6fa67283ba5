/* Connections and their deadlines.
 *
 * libmicrohttpd 0.9.75 has only an inactivity timeout, which a byte every few seconds evades. Here every connection has
 * an absolute deadline for its phase; the sweeper shuts down the socket of a late one, and the library then closes it.
 * The library sends its CLOSED notice before it closes the descriptor, and that notice frees the slot under the same
 * lock as shutdowns: so a descriptor that is shut down always belongs to that connection.
 *
 * Life of a connection: conns_admit (acceptor) -> conns_opened -> phases -> conn_closed, the last three on the worker's
 * thread. A connection that the library drops between the first two is noticed when its descriptor is used again. */
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
/* drop frees a slot's request and its content. */
void conns_free(conns *c, void (*drop)(struct request *request));
int conns_start(conns *c); /* starts the sweeper; 0 or an errno */
void conns_stop(conns *c); /* ends it */

/* Takes a slot for a just accepted socket, with the worker that has the fewest. */
conns_verdict conns_admit(conns *c, int fd, const struct sockaddr *peer, conn **ret_conn);
/* The slot of a descriptor that the library has just taken over. */
conn *conns_opened(conns *c, int fd);
/* The library's connection of this descriptor, on its worker's thread. NULL: it is another socket of the worker, such
 * as one whose number a connection of another worker had a moment ago. */
conn *conns_at(const conns *c, int fd);
/* Evicts connections until `wanted` are leaving: first heads, bodies and answers that make no progress, then idle ones,
 * the longest idle first; then bodies and answers below bytes_per_s, the slowest first. Never one whose request the
 * server works on. */
void conns_make_room(conns *c, unsigned wanted);
/* The same for one more connection of this address: evicts an idle one of the same address. false: there is none. */
bool conns_make_room_of(conns *c, const struct sockaddr *peer);

/* From now on idle connections are closed; the others finish. */
void conns_drain(conns *c);
unsigned conns_open(conns *c);
unsigned conns_open_of(conns *c, unsigned worker);
conns_counters *conns_counters_of(conns *c);

#endif
