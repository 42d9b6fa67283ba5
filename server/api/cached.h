/* Cached answers: one for each question and version of the store. */
#ifndef TOLLBOOK_SERVER_API_CACHED_H
#define TOLLBOOK_SERVER_API_CACHED_H

#include "http/request.h"
#include "http/server.h"

typedef struct cached_kind {
    /* Everything that the answer depends on; it differs from the keys of all other kinds. */
    cache_key (*key)(const void *question, uint64_t version);
    /* Encodes the answer into `out`, from a store in one snapshot. On any thread, if it may run as a slow query. */
    tb_code (*fill)(tb_store *store, void *question, tb_buf *out, tb_error *err);
} cached_kind;

/* The first member of a question that may be a slow query: all of it lies in r->work. */
typedef struct cached_question {
    const cached_kind *kind;
    uint64_t version;
} cached_question;

/* 200 or 304 with the answer, or the error of fill. */
void cached_answer(request *r, const cached_kind *kind, void *question);
/* The same; an answer that is not cached is computed on the slow-query lane. The route's finish is api_cached_done. */
void cached_answer_slow(request *r, const cached_kind *kind);

#endif
