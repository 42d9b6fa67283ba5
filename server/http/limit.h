/* Rate limits: a token bucket an account. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_LIMIT_H
#define TOLLBOOK_SERVER_HTTP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct limit limit;

/* per_second requests a second for each account, a burst of the same size; at least 1. */
limit *limit_new(uint32_t per_second);
void limit_free(limit *l);
/* Takes one token. false: none left; *ret_wait_s is how many whole seconds until there is one. */
bool limit_take(limit *l, int64_t account, int64_t mono_us, unsigned *ret_wait_s);

#endif
