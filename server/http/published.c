/* A version counts who holds it: the publisher while it is the newest, and each view that has seen
 * it. A view takes hold under the lock under which the newest is replaced, so nobody takes hold of
 * one that has just been freed. */
#include "http/latest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct latest_version {
    atomic_uint holders;
    void (*drop)(void *thing);
    void *thing;
};

struct latest {
    pthread_mutex_t lock;
    struct latest_version *newest;
    void (*drop)(void *thing);
    _Atomic uint64_t generation;
};

static void let_go(struct latest_version *v)
{
    if (!v || atomic_fetch_sub_explicit(&v->holders, 1, memory_order_acq_rel) != 1) return;
    v->drop(v->thing);
    free(v);
}

latest *latest_new(void (*drop)(void *thing))
{
    latest *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->drop = drop;
    return l;
}

void latest_free(latest *l)
{
    if (!l) return;
    let_go(l->newest);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

tb_code latest_publish(latest *l, void *thing, tb_error *err)
{
    struct latest_version *v = malloc(sizeof *v);
    if (!v) {
        l->drop(thing);
        return tb_no_memory(err);
    }
    atomic_init(&v->holders, 1);
    v->drop = l->drop;
    v->thing = thing;
    pthread_mutex_lock(&l->lock);
    struct latest_version *old = l->newest;
    l->newest = v;
    atomic_fetch_add_explicit(&l->generation, 1, memory_order_release);
    pthread_mutex_unlock(&l->lock);
    let_go(old);
    return TB_OK;
}

const void *latest_look(latest *l, latest_view *view)
{
    if (atomic_load_explicit(&l->generation, memory_order_acquire) != view->generation) {
        struct latest_version *old = view->version;
        pthread_mutex_lock(&l->lock);
        view->version = l->newest;
        atomic_fetch_add_explicit(&view->version->holders, 1, memory_order_relaxed);
        view->generation = atomic_load_explicit(&l->generation, memory_order_relaxed);
        pthread_mutex_unlock(&l->lock);
        let_go(old);
    }
    return view->version ? view->version->thing : NULL;
}

void latest_release(latest_view *view)
{
    let_go(view->version);
    *view = (latest_view){0};
}
