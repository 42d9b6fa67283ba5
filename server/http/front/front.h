/* The front: takes a connection from accept to a request in the handler, and ends it. This header is what the rest of
 * the server uses of it, with conns.h (phases of a connection), head.h (what a request's head says), receive.h and
 * body.h (a request's body).
 *
 * The way of a connection
 *
 *     listen.c         the acceptor accepts its socket
 *     pending.c        it is pending until its first head is complete; the bytes stay in the kernel
 *     conns.c          it has a slot and a worker, the one with the fewest; libmicrohttpd takes the socket over
 *     receive.c        the library's recv() comes here: nothing reaches it but what passes
 *     framing.c        splits what came into heads and bodies, and says what passes
 *     head.c           reads and validates a head, once, and writes it anew in canonical form for the library
 *     handler.c        (server/http) asks receive_head for the same struct, then routes, authenticates, answers
 *     body.c           the body: small ones through the library, large ones through the body receiver
 *
 * What it keeps true
 * - One reading: no byte reaches the library but of a head that was validated whole and written in one canonical form, or
 *   of the body that it announced. So no two parsers can disagree about where a request ends.
 * - What is no valid request is answered once, when all requests before it are, and is the last of its connection. Behind
 *   the last request nothing is read as a request.
 * - A connection always has a deadline, unless the server itself is at work on its request.
 *
 * Deadlines (--header-timeout-ms and so on; conns.h)
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

#include "http/front/conns.h"
#include "http/front/listen.h"

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
