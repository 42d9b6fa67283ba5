/* Answers of which there is one a question and version of the store, kept in the cache. */
#ifndef TOLLBOOK_SERVER_API_CACHED_H
#define TOLLBOOK_SERVER_API_CACHED_H

#include "http/request.h"
#include "http/server.h"

typedef struct cached_kind {
    /* Everything that the answer depends on; the words of no other kind's question are the same. */
    cache_key (*key)(const void *question, uint64_t version);
    /* Encodes the answer into w->scratch, from w->store, which stands in one snapshot. */
    tb_code (*fill)(worker *w, void *question, tb_error *err);
} cached_kind;

/* 200 or 304 with the answer, or what fill failed with. */
void cached_answer(request *r, const cached_kind *kind, void *question);

#endif
