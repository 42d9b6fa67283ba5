/* Rate limits by a sliding window: at most so many requests of one id in any so many seconds. Any
 * thread. */
#ifndef TOLLBOOK_SERVER_HTTP_WINDOW_H
#define TOLLBOOK_SERVER_HTTP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_COUNT_MAX 64

typedef struct window window;

/* count: 1 .. WINDOW_COUNT_MAX requests in any `seconds`. NULL: out of memory. */
window *window_new(unsigned count, unsigned seconds);
void window_free(window *w); /* NULL is fine */
/* Whether a request of `id` (not 0) is within the limit; only those that are count. Else *ret_wait_s
 * is in how many whole seconds one will be. mono_us: a monotonic clock. */
bool window_take(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s);
/* Whether one would be, without counting it. */
bool window_has_room(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s);

#endif
