/* The store's version as of the last commit -> ETag and cache, before any work -> the answer,
 * computed in one snapshot and filed under the version that this snapshot really has. */
#include "api/cached.h"

#include <xxhash.h>

#define SCRATCH_KEPT ((size_t)4 << 20) /* of a worker's scratch, between answers */

/* This run of the server is part of what an ETag stands for: the next one may be another version,
 * or stand on a restored database whose data version counts the same again. */
static tb_hash128 hash_of(const worker *w, const cache_key *key)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(key, sizeof *key, w->server->id_seed);
    return (tb_hash128){.high = h.high64, .low = h.low64};
}

/* Encoded into the worker's scratch, which is warm and large enough for the encoder's worst case. */
static tb_code compute(worker *w, const cached_kind *kind, void *question, uint64_t *ret_version,
                       tb_error *err)
{
    w->scratch.len = 0;
    w->scratch.failed = false;
    tb_code code = tb_store_read_begin(w->store, err);
    if (code) return code;
    code = tb_store_version(w->store, ret_version, err);
    if (!code) code = kind->fill(w, question, err);
    tb_store_read_end(w->store);
    return code;
}

/* What the cache keeps is copied to memory of just its length. What it does not goes out in the
 * scratch's own memory, and the next answer is encoded into what the pool has, which is warm too. */
static answer *keep_scratch(worker *w)
{
    answer *a = answer_new(w->server->pool);
    if (!a) return NULL;
    if (!cache_takes(w->server->cache, w->scratch.len)) {
        answer_take(a, &w->scratch);
        return a;
    }
    bool kept = answer_set(a, w->scratch.data, w->scratch.len);
    if (w->scratch.cap > SCRATCH_KEPT) tb_buf_release(&w->scratch);
    if (kept) return a;
    answer_drop(a);
    return NULL;
}

static void answer_anew(request *r, const cached_kind *kind, void *question)
{
    worker *w = r->worker;
    uint64_t version = 0;
    tb_error err;
    if (compute(w, kind, question, &version, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    answer *a = keep_scratch(w);
    if (!a) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    cache_key key = kind->key(question, version);
    cache_put(w->server->cache, &key, a);
    r->tag_hash = hash_of(w, &key);
    metrics_add(&w->metrics.cache_misses, 1);
    request_answer(r, a, false);
}

void cached_answer(request *r, const cached_kind *kind, void *question)
{
    worker *w = r->worker;
    uint64_t version = atomic_load_explicit(&w->server->version, memory_order_acquire);
    cache_key key = kind->key(question, version);
    if (request_not_modified(r, hash_of(w, &key))) return;
    answer *a = cache_get(w->server->cache, &key);
    if (!a) {
        answer_anew(r, kind, question);
        return;
    }
    metrics_add(&w->metrics.cache_hits, 1);
    request_answer(r, a, true);
}
