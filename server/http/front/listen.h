/* Listening sockets and the thread that accepts from them. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_LISTEN_H
#define TOLLBOOK_SERVER_HTTP_FRONT_LISTEN_H

#include <sys/socket.h>

#include "tollbook/error.h"

#define LISTEN_MAX 8 /* most addresses */

typedef struct listener listener;

/* Called on the acceptor's thread for each accepted socket (non-blocking, close-on-exec, no delay),
 * which is the callee's from then on. which: the address it came to. */
typedef void (*listen_accepted)(void *ctx, size_t which, int fd, const struct sockaddr *peer,
                                socklen_t len);

/* Binds to each text: 127.0.0.1:8080, [::1]:8080, localhost:8080, :8080 (all addresses), port 0
 * for any. TB_E_USAGE: not an address. TB_E_IO: cannot be bound. */
TB_MUST_USE tb_code listen_open(const char *const *texts, size_t n, listener **ret_listener,
                                tb_error *err);
/* Where socket i really listens, "127.0.0.1:34567" or "[::1]:34567". */
#define LISTEN_TEXT_MAX 64
void listen_text(const listener *l, size_t i, char out[LISTEN_TEXT_MAX]);
unsigned listen_port(const listener *l, size_t i);
size_t listen_count(const listener *l);
/* What the acceptor's thread calls. */
typedef struct listen_hooks {
    listen_accepted accepted;
    /* After each round, and when beside_fd is readable: in how many ms again at the latest, -1: not. */
    int (*beside)(void *ctx);
    int beside_fd;
    void (*ended)(void *ctx); /* last of all */
    void *ctx;
} listen_hooks;
/* Starts accepting. 0 or an errno. */
int listen_start(listener *l, listen_hooks hooks);
/* Lets in who waits in the backlog already, then stops accepting and closes the sockets. */
void listen_stop(listener *l);
void listen_free(listener *l); /* NULL is fine */

#endif
