/* Pending connections: sockets that have not sent a whole head yet. Each costs a descriptor and a few hundred bytes.
 * Their input stays in the kernel, or with TLS in the session; libmicrohttpd gets a socket when its head is complete, so
 * a client that sends no request takes no connection. Handshakes happen here, step by step as their bytes come.
 *
 * A socket with a complete head is never closed to make room for another. One without leaves at its deadline, or
 * earlier if the table is full: then the oldest, within the eviction sample, of the address with the most sockets. Only
 * the acceptor's thread calls these functions, except pending_count. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_PENDING_H
#define TOLLBOOK_SERVER_HTTP_FRONT_PENDING_H

#include <stdint.h>
#include <sys/socket.h>

typedef struct pending pending;

typedef struct pending_socket {
    int fd;
    unsigned which;  /* index of the listening address */
    struct tls *tls; /* its session; NULL: plain */
    struct sockaddr_storage peer;
    socklen_t peer_len;
} pending_socket;

typedef enum pending_end {
    PENDING_LATE, /* no whole head before its deadline */
    PENDING_FULL, /* evicted, or there was no room in time */
    PENDING_CLOSED, /* the client has closed it, or its handshake failed */
} pending_end;

typedef enum pending_verdict {
    PENDING_TAKEN,   /* the socket has another owner */
    PENDING_WAIT,    /* try this one again later */
    PENDING_NO_ROOM, /* there is no room for any */
} pending_verdict;

typedef struct pending_hooks {
    /* Takes the socket, whose head is complete. ready: how many are, including it. */
    pending_verdict (*admit)(void *ctx, const pending_socket *s, unsigned ready);
    /* Closes the socket of a connection that leaves without an answer. */
    void (*leave)(void *ctx, const pending_socket *s, pending_end why);
    void *ctx;
} pending_hooks;

typedef struct pending_limits {
    unsigned most;       /* sockets */
    int64_t head_us;     /* time for a head */
    int64_t ready_us;    /* time that a whole head waits for room */
} pending_limits;

/* NULL: out of memory or descriptors. */
pending *pending_new(pending_limits limits, pending_hooks hooks);
void pending_free(pending *p); /* NULL is fine; closes the sockets left */
/* Readable when pending_run has something to do. */
int pending_fd(const pending *p);
/* Takes over the socket. */
void pending_add(pending *p, const pending_socket *s, int64_t now_us);
/* Admits the ready, closes the late. Returns in how many ms to call it again at the latest; -1: when its descriptor is
 * readable. */
int pending_run(pending *p, int64_t now_us);
/* The last round: admits the ready, all others leave. */
void pending_end_all(pending *p, int64_t now_us);
unsigned pending_count(const pending *p); /* from any thread */

#endif
