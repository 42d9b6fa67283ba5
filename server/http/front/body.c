#include "http/front/body.h"

#include <sodium.h>
#include <stdlib.h>

#include "http/server.h"

#define BODY_FIRST ((size_t)16 << 10) /* what a body is given at first */

void body_drop(request *r)
{
    if (!r->body) return;
    if (r->route && r->route->secret) sodium_memzero(r->body, r->body_cap);
    atomic_fetch_sub_explicit(&r->worker->server->bodies, r->body_cap, memory_order_relaxed);
    free(r->body);
    r->body = NULL;
    r->body_len = r->body_cap = 0;
}

/* Doubles; all that was announced is given where that is little, or once an eighth of it has come. */
bool body_grow(request *r, size_t need)
{
    server *s = r->worker->server;
    const uint64_t announced = r->head.content_length;
    size_t cap = r->body_cap ? r->body_cap * 2 : BODY_FIRST;
    if (cap < need) cap = need;
    if (need <= announced && announced <= (uint64_t)cap * 4) cap = (size_t)announced;
    size_t more = cap - r->body_cap;
    if (atomic_fetch_add_explicit(&s->bodies, more, memory_order_relaxed) + more <=
        s->options.bodies_max) {
        char *body = realloc(r->body, cap);
        if (body) {
            r->body = body;
            r->body_cap = cap;
            return true;
        }
    }
    atomic_fetch_sub_explicit(&s->bodies, more, memory_order_relaxed);
    return false;
}
