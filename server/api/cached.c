/* The store's version as of the last commit -> ETag and cache, before any work -> the answer,
 * computed in one snapshot and filed under the version that this snapshot really has. */
#include "api/cached.h"

#include <xxhash.h>

#include "api/handlers.h"

#define SCRATCH_KEPT ((size_t)4 << 20) /* of a worker's scratch, between answers */

/* This run of the server is part of what an ETag stands for: the next one may be another version,
 * or stand on a restored database whose data version counts the same again. */
static tb_hash128 hash_of(const worker *w, const cache_key *key)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(key, sizeof *key, w->server->id_seed);
    return (tb_hash128){.high = h.high64, .low = h.low64};
}

static tb_code compute(tb_store *store, const cached_kind *kind, void *question,
                       tb_buf *out, uint64_t *ret_version, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_store_version(store, ret_version, err);
    if (!code) code = kind->fill(store, question, out, err);
    tb_store_read_end(store);
    return code;
}

/* What the cache keeps is copied to memory of just its length. What it does not goes out in the
 * scratch's own memory. */
static answer *keep_scratch(worker *w)
{
    answer *a = answer_new();
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

static void file_answer(request *r, const cached_kind *kind, void *question, uint64_t version,
                        answer *a)
{
    worker *w = r->worker;
    cache_key key = kind->key(question, version);
    cache_put(w->server->cache, &key, a);
    r->tag_hash = hash_of(w, &key);
    metrics_add(&w->metrics.cache_misses, 1);
    request_answer(r, a, false);
}

/* Encoded into the worker's scratch, which is warm and large enough for the encoder's worst case. */
static void answer_anew(request *r, const cached_kind *kind, void *question)
{
    worker *w = r->worker;
    uint64_t version = 0;
    tb_error err;
    w->scratch.len = 0;
    w->scratch.failed = false;
    if (compute(w->store, kind, question, &w->scratch, &version, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    answer *a = keep_scratch(w);
    if (a) file_answer(r, kind, question, version, a);
    else request_fail(r, TB_E_NOMEM, NULL, NULL);
}

/* true: there was one, or nothing needs to be sent. */
static bool answer_at_once(request *r, const cached_kind *kind, void *question)
{
    worker *w = r->worker;
    uint64_t version = atomic_load_explicit(&w->server->version, memory_order_acquire);
    cache_key key = kind->key(question, version);
    if (request_not_modified(r, hash_of(w, &key))) return true;
    answer *a = cache_get(w->server->cache, &key);
    if (!a) return false;
    metrics_add(&w->metrics.cache_hits, 1);
    request_answer(r, a, true);
    return true;
}

void cached_answer(request *r, const cached_kind *kind, void *question)
{
    if (!answer_at_once(r, kind, question)) answer_anew(r, kind, question);
}

/* --- slow queries --- */

static cached_question *question_of(request *r)
{
    return (cached_question *)(void *)r->work;
}

/* The answer is kept in r->reply.what, so it goes with the request, whatever becomes of the client. */
static tb_code run_cached(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    cached_question *q = question_of(r);
    tb_buf out;
    tb_buf_init(&out, ANSWER_MAX, NULL);
    tb_code code = compute(store, q->kind, q, &out, &q->version, err);
    answer *made = code ? NULL : answer_new();
    if (!code && (!made || !answer_set(made, out.data, out.len))) {
        answer_drop(made);
        made = NULL;
        code = tb_no_memory(err);
    }
    tb_buf_release(&out);
    r->reply.what = made;
    return code;
}

void cached_answer_slow(request *r, const cached_kind *kind)
{
    cached_question *q = question_of(r);
    if (answer_at_once(r, kind, q)) return;
    q->kind = kind;
    r->job.run = run_cached;
    r->job.bytes = 0;
    request_submit_slow(r);
}

void api_cached_done(request *r)
{
    cached_question *q = question_of(r);
    answer *made = r->reply.what;
    r->reply.what = NULL;
    if (r->job.code) request_fail_as(r, &r->job.err);
    else file_answer(r, q->kind, q, q->version, made);
}
