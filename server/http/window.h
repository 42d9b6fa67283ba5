/* Rate limits by a sliding window: at most `count` requests of one id in any period of `seconds`. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_WINDOW_H
#define TOLLBOOK_SERVER_HTTP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_COUNT_MAX 64

typedef struct window window;

/* count: 1 .. WINDOW_COUNT_MAX requests in any `seconds`. NULL: out of memory. */
window *window_new(unsigned count, unsigned seconds);
void window_free(window *w); /* NULL is fine */
/* Counts a request of `id` (not 0), if it is within the limit. false: *ret_wait_s is how many whole seconds to wait.
 * mono_us: a monotonic clock. */
bool window_take(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s);
/* Whether a request would be within the limit, without counting it. */
bool window_has_room(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s);

#endif
