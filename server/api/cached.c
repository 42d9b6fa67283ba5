/* ETag and cache are checked with the store's version as of the last commit, before any work. A new answer is computed
 * in one snapshot and cached under the version of that snapshot. */
#include "api/cached.h"

#include <xxhash.h>

#include "api/handlers.h"

#define SCRATCH_KEPT ((size_t)4 << 20) /* size of a worker's scratch buffer between answers */

/* The id of this run of the server is part of the hash: the next run may have another program version, or a restored
 * database whose version counts up again. */
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

static void cache_answer(request *r, const cached_kind *kind, void *question, uint64_t version,
                        answer *a)
{
    worker *w = r->worker;
    cache_key key = kind->key(question, version);
    cache_put(w->server->cache, &key, a);
    r->tag_hash = hash_of(w, &key);
    metrics_add(&w->metrics.cache_misses, 1);
    request_answer(r, a, false);
}

/* Encodes the answer into the worker's scratch buffer, which is large enough for the encoder's worst case. */
static void compute_answer(request *r, const cached_kind *kind, void *question)
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
    /* An answer for the cache is copied to memory of its exact length; another one takes the scratch buffer's
     * memory. */
    answer *a = answer_new();
    if (a && !cache_takes(w->server->cache, w->scratch.len)) {
        answer_take(a, &w->scratch);
    } else if (a) {
        const bool copied = answer_set(a, w->scratch.data, w->scratch.len);
        if (w->scratch.cap > SCRATCH_KEPT) tb_buf_release(&w->scratch);
        if (!copied) {
            answer_drop(a);
            a = NULL;
        }
    }
    if (a) cache_answer(r, kind, question, version, a);
    else request_fail(r, TB_E_NOMEM, NULL, NULL);
}

/* Answers from the cache or with 304, if possible. */
static bool answer_cached(request *r, const cached_kind *kind, void *question)
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
    if (!answer_cached(r, kind, question)) compute_answer(r, kind, question);
}

/* --- slow queries --- */

static cached_question *question_of(request *r)
{
    return (cached_question *)(void *)r->work;
}

/* The answer is kept in r->reply.answer, so it is released with the request. */
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
    r->reply.answer = made;
    return code;
}

void cached_answer_slow(request *r, const cached_kind *kind)
{
    cached_question *q = question_of(r);
    if (answer_cached(r, kind, q)) return;
    q->kind = kind;
    r->job.run = run_cached;
    r->job.bytes = 0;
    request_submit_slow(r);
}

void api_cached_done(request *r)
{
    cached_question *q = question_of(r);
    answer *made = r->reply.answer;
    r->reply.answer = NULL;
    if (r->job.code) request_fail_as(r, &r->job.err);
    else cache_answer(r, q->kind, q, q->version, made);
}
