/* A version counts its references: the publisher holds one while it is the newest, and each view that has seen it. A
 * view takes its reference under the lock under which the newest is replaced, so it never takes one of a freed
 * version. */
#include "http/published.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct published_version {
    atomic_uint refs;
    void (*drop)(void *thing);
    void *thing;
};

struct published {
    pthread_mutex_t lock;
    struct published_version *newest;
    void (*drop)(void *thing);
    _Atomic uint64_t generation;
};

static void release_version(struct published_version *v)
{
    if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
    v->drop(v->thing);
    free(v);
}

published *published_new(void (*drop)(void *thing))
{
    published *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->drop = drop;
    return p;
}

void published_free(published *p)
{
    if (!p) return;
    release_version(p->newest);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

tb_code published_set(published *p, void *thing, tb_error *err)
{
    struct published_version *v = malloc(sizeof *v);
    if (!v) {
        p->drop(thing);
        return tb_no_memory(err);
    }
    atomic_init(&v->refs, 1);
    v->drop = p->drop;
    v->thing = thing;
    pthread_mutex_lock(&p->lock);
    struct published_version *old = p->newest;
    p->newest = v;
    atomic_fetch_add_explicit(&p->generation, 1, memory_order_release);
    pthread_mutex_unlock(&p->lock);
    release_version(old);
    return TB_OK;
}

const void *published_get(published *p, published_view *view)
{
    if (atomic_load_explicit(&p->generation, memory_order_acquire) != view->generation) {
        struct published_version *old = view->version;
        pthread_mutex_lock(&p->lock);
        view->version = p->newest;
        atomic_fetch_add_explicit(&view->version->refs, 1, memory_order_relaxed);
        view->generation = atomic_load_explicit(&p->generation, memory_order_relaxed);
        pthread_mutex_unlock(&p->lock);
        release_version(old);
    }
    return view->version ? view->version->thing : NULL;
}

void published_release(published_view *view)
{
    release_version(view->version);
    *view = (published_view){0};
}
