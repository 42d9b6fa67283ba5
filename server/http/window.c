/* A ring of the times of each id's last `count` requests: another one is allowed when the oldest has left the window.
 * The table has a fixed size, in sets of eight with a lock each; in a full set the id not seen for longest is
 * evicted. */
#include "http/window.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 256
#define WAYS 8

typedef struct ring {
    int64_t id; /* 0: free */
    int64_t seen_us;
    unsigned n, next; /* times in the ring, and the index of the next one: the oldest, once n is count */
    int64_t at_us[WINDOW_COUNT_MAX];
} ring;

typedef struct set {
    pthread_mutex_t lock;
    ring ways[WAYS];
} set;

struct window {
    unsigned count;
    int64_t span_us;
    set sets[SETS];
};

window *window_new(unsigned count, unsigned seconds)
{
    window *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->count = count < 1 ? 1 : count > WINDOW_COUNT_MAX ? WINDOW_COUNT_MAX : count;
    w->span_us = (int64_t)seconds * 1000000;
    for (int i = 0; i < SETS; i++)
        pthread_mutex_init(&w->sets[i].lock, NULL);
    return w;
}

void window_free(window *w)
{
    if (!w) return;
    for (int i = 0; i < SETS; i++)
        pthread_mutex_destroy(&w->sets[i].lock);
    free(w);
}

static set *set_of(window *w, int64_t id)
{
    return &w->sets[(uint64_t)id * UINT64_C(0x9E3779B97F4A7C15) >> 56];
}

static ring *find_ring(set *s, int64_t id)
{
    for (int i = 0; i < WAYS; i++)
        if (s->ways[i].id == id) return &s->ways[i];
    return NULL;
}

/* How long until another request is allowed; 0 or less: it is. */
static int64_t wait_of(const window *w, const ring *r, int64_t now_us)
{
    if (r->n < w->count) return 0;
    return r->at_us[r->next] + w->span_us - now_us;
}

static bool report_wait(int64_t wait_us, unsigned *ret_wait_s)
{
    if (wait_us > 0) *ret_wait_s = (unsigned)((wait_us + 999999) / 1000000);
    return wait_us <= 0;
}

bool window_take(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s)
{
    set *s = set_of(w, id);
    pthread_mutex_lock(&s->lock);
    ring *r = find_ring(s, id);
    if (!r) { /* takes a free one, or the one not seen for longest */
        r = &s->ways[0];
        for (int i = 0; i < WAYS; i++) {
            ring *way = &s->ways[i];
            if (way->id == 0 || (r->id != 0 && way->seen_us < r->seen_us)) r = way;
        }
        r->id = id;
        r->n = r->next = 0;
    }
    const int64_t wait_us = wait_of(w, r, mono_us);
    r->seen_us = mono_us;
    if (wait_us <= 0) {
        r->at_us[r->next] = mono_us;
        r->next = (r->next + 1) % w->count;
        if (r->n < w->count) r->n++;
    }
    pthread_mutex_unlock(&s->lock);
    return report_wait(wait_us, ret_wait_s);
}

bool window_has_room(window *w, int64_t id, int64_t mono_us, unsigned *ret_wait_s)
{
    set *s = set_of(w, id);
    pthread_mutex_lock(&s->lock);
    const ring *r = find_ring(s, id);
    const int64_t wait_us = r ? wait_of(w, r, mono_us) : 0;
    pthread_mutex_unlock(&s->lock);
    return report_wait(wait_us, ret_wait_s);
}
