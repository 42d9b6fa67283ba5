/* The slots in use, in no order: few enough to count each time. */
#include "http/stream_slots.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct slot {
    int64_t account;
    size_t bytes;
} slot;

struct stream_slots {
    pthread_mutex_t lock;
    unsigned n;
    slot slots[STREAM_SLOTS_MAX];
};

stream_slots *stream_slots_new(void)
{
    stream_slots *s = calloc(1, sizeof *s);
    if (s) pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stream_slots_free(stream_slots *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

tb_code stream_slots_take(stream_slots *s, int64_t account, tb_error *err)
{
    unsigned own = 0;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->n; i++)
        own += s->slots[i].account == account;
    const bool full = s->n == STREAM_SLOTS_MAX, shared_out = own == STREAM_SLOTS_SHARE;
    if (!full && !shared_out) s->slots[s->n++] = (slot){account, 0};
    pthread_mutex_unlock(&s->lock);
    if (full)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL, "Too many answers are being read at once.");
    if (shared_out)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL,
                       "Too many answers of this account are being read at once (%d).",
                       STREAM_SLOTS_SHARE);
    return TB_OK;
}

/* An account's slot that holds this much; NULL: it has none. */
static slot *find_slot(stream_slots *s, int64_t account, size_t bytes)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->slots[i].account == account && s->slots[i].bytes == bytes) return &s->slots[i];
    return NULL;
}

tb_code stream_slots_hold(stream_slots *s, int64_t account, size_t bytes, tb_error *err)
{
    size_t others = 0;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->n; i++)
        if (s->slots[i].account == account) others += s->slots[i].bytes;
    const bool fits = others == 0 || (bytes <= STREAM_SLOTS_BYTES && others <= STREAM_SLOTS_BYTES - bytes);
    slot *own = fits ? find_slot(s, account, 0) : NULL;
    if (own) own->bytes = bytes;
    pthread_mutex_unlock(&s->lock);
    if (fits) return TB_OK;
    return tb_fail(err, TB_E_RATE_LIMITED, NULL,
                   "The answers of this account that are being read hold too much memory for one "
                   "more. Read them to their end first.");
}

void stream_slots_release(stream_slots *s, int64_t account, size_t bytes)
{
    pthread_mutex_lock(&s->lock);
    slot *own = find_slot(s, account, bytes);
    if (own) *own = s->slots[--s->n];
    pthread_mutex_unlock(&s->lock);
}
