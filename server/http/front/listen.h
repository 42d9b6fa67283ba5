/* Listening sockets. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_LISTEN_H
#define TOLLBOOK_SERVER_HTTP_FRONT_LISTEN_H

#include <stddef.h>

#include "tollbook/error.h"

#define LISTEN_MAX      8  /* most addresses */
#define LISTEN_TEXT_MAX 64 /* "127.0.0.1:34567" or "[::1]:34567" */

typedef struct listener {
    int fd[LISTEN_MAX]; /* non-blocking, close-on-exec; accepted sockets have TCP_NODELAY */
    size_t n;
} listener;

/* Binds to each text: 127.0.0.1:8080, [::1]:8080, localhost:8080, :8080 (all addresses), port 0
 * for any. TB_E_USAGE: not an address. TB_E_IO: cannot be bound; then none is. TB_E_BUSY: likewise, since another
 * process listens there, which the message names if it can be known. */
TB_MUST_USE tb_code listen_open(const char *const *texts, size_t n, listener *ret_listener, tb_error *err);
/* Where socket i really listens. */
void listen_text(const listener *l, size_t i, char out[LISTEN_TEXT_MAX]);
unsigned listen_port(const listener *l, size_t i);
void listen_close(listener *l); /* again is fine */

#endif
