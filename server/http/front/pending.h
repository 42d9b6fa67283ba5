/* Pending connections: sockets that have not sent a whole head yet, at the price of a descriptor and a few
 * hundred bytes each. What they sent stays in the kernel; libmicrohttpd gets a socket when its head is
 * there, so it spends no connection on a client that asks nothing.
 *
 * What it keeps true: a socket with a complete head is never closed to make room for another; one
 * without leaves at its deadline, or sooner where there are as many as there may be: then the oldest
 * among those of the eviction sample whose address has most. One thread, the acceptor's, calls all of
 * it, pending_count apart. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_PENDING_H
#define TOLLBOOK_SERVER_HTTP_FRONT_PENDING_H

#include <stdint.h>
#include <sys/socket.h>

typedef struct pending pending;

typedef struct pending_socket {
    int fd;
    unsigned which; /* the address it came to */
    struct sockaddr_storage peer;
    socklen_t peer_len;
} pending_socket;

typedef enum pending_end {
    PENDING_LATE, /* sent no whole head until its deadline */
    PENDING_FULL, /* closed to make room, or found none within its patience */
} pending_end;

typedef enum pending_verdict {
    PENDING_TAKEN,   /* the socket has another owner */
    PENDING_WAIT,    /* this one has to wait */
    PENDING_NO_ROOM, /* and so would all others */
} pending_verdict;

typedef struct pending_hooks {
    /* Takes the socket of one whose head is there. ready: how many are, it among them. */
    pending_verdict (*admit)(void *ctx, const pending_socket *s, unsigned ready);
    /* Closes the socket of one that leaves without an answer to its head. */
    void (*leave)(void *ctx, const pending_socket *s, pending_end why);
    void *ctx;
} pending_hooks;

typedef struct pending_limits {
    unsigned most;       /* sockets */
    int64_t head_us;     /* what a head may take */
    int64_t patience_us; /* how long a whole head waits for room */
} pending_limits;

/* NULL: out of memory or descriptors. */
pending *pending_new(pending_limits limits, pending_hooks hooks);
void pending_free(pending *p); /* NULL is fine; those left are closed */
/* Readable where pending_run has something to do. */
int pending_fd(const pending *p);
/* Takes the socket over. */
void pending_add(pending *p, const pending_socket *s, int64_t now_us);
/* Admits those that are ready, ends those that are late. In how many ms it wants to be called again at the latest;
 * -1: not before its descriptor is readable. */
int pending_run(pending *p, int64_t now_us);
/* The last round: those that are ready are admitted, all others leave. */
void pending_end_all(pending *p, int64_t now_us);
unsigned pending_count(const pending *p); /* from any thread */

#endif
