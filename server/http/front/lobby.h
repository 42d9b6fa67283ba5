/* The lobby: sockets that have not sent a whole head yet, at the price of a descriptor and a few
 * hundred bytes each. What they sent waits in the kernel; libmicrohttpd gets a socket when its head is
 * there, so a connection of its costs nothing before somebody asks something.
 *
 * What it keeps true: a guest whose head is complete is never let go to make room for another; one
 * without leaves at its deadline, or sooner where the lobby is full: then the one that has been here
 * longest among those whose address has most guests. One thread, the acceptor's, calls all of it. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_LOBBY_H
#define TOLLBOOK_SERVER_HTTP_FRONT_LOBBY_H

#include <stdint.h>
#include <sys/socket.h>

typedef struct lobby lobby;

typedef struct lobby_guest {
    int fd;
    unsigned which; /* the address it came to */
    struct sockaddr_storage peer;
    socklen_t peer_len;
} lobby_guest;

typedef enum lobby_end {
    LOBBY_LATE, /* sent no whole head until its deadline */
    LOBBY_FULL, /* made room, or found none within its patience */
} lobby_end;

typedef enum lobby_answer {
    LOBBY_IN,      /* the socket has another owner */
    LOBBY_WAIT,    /* this one has to wait */
    LOBBY_NO_ROOM, /* and so would all others */
} lobby_answer;

typedef struct lobby_hooks {
    /* Takes the socket of a guest whose head is there. waiting: how many wait, it among them. */
    lobby_answer (*admit)(void *ctx, const lobby_guest *guest, unsigned waiting);
    /* Closes the socket of one that leaves without an answer to its head. */
    void (*leave)(void *ctx, const lobby_guest *guest, lobby_end why);
    void *ctx;
} lobby_hooks;

typedef struct lobby_limits {
    unsigned most;      /* guests */
    int64_t head_us;    /* what a head may take */
    int64_t patience_us; /* what a whole head waits for room */
} lobby_limits;

/* NULL: out of memory or descriptors. */
lobby *lobby_new(lobby_limits limits, lobby_hooks hooks);
void lobby_free(lobby *l); /* NULL is fine; whoever is left is closed */
/* Readable where lobby_run has something to do. */
int lobby_fd(const lobby *l);
void lobby_enter(lobby *l, const lobby_guest *guest, int64_t now_us);
/* Lets in who is ready, lets go who is late. In how many ms it wants to be called again, whatever
 * happens; -1: not. */
int lobby_run(lobby *l, int64_t now_us);
/* The last round: who is ready goes in, all others leave. */
void lobby_end_all(lobby *l, int64_t now_us);
unsigned lobby_guests(const lobby *l); /* from any thread */

#endif
