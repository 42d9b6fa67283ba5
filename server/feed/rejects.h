/* Refused lines that are kept until their segment is committed, in bounded memory: each worker keeps
 * the first ones of its blocks, and of all workers' together the first in input order are stored.
 * The rest is counted only. */
#ifndef TOLLBOOK_SERVER_FEED_REJECTS_H
#define TOLLBOOK_SERVER_FEED_REJECTS_H

#include "tollbook/store.h"

#define FEED_REJECT_TEXT ((size_t)8 << 20) /* most bytes of sentences and lines at once */

typedef struct feed_reject {
    size_t block;  /* number of its block in the segment */
    uint64_t line; /* 1 = first line of the block */
    uint32_t byte;
    tb_reject_reason reason;
    uint32_t why_len, text_len; /* the reason's sentence, then the line, at text_at */
    size_t text_at;
} feed_reject;

typedef struct feed_rejects {
    feed_reject *list;
    size_t n, cap;
    char *text;
    size_t text_len, text_cap;
    bool full; /* one did not fit: none after it is stored, so that the stored ones are the first */
} feed_rejects;

void feed_rejects_release(feed_rejects *rejects);
void feed_rejects_clear(feed_rejects *rejects);
/* Keeps one, its line cut, if there is room. Blocks and lines must ascend. */
TB_MUST_USE tb_code feed_rejects_add(feed_rejects *rejects, size_t block, uint64_t line,
                                     const tb_reject *reject, const char *why, tb_error *err);
const char *feed_reject_why(const feed_rejects *rejects, const feed_reject *reject);
const char *feed_reject_text(const feed_rejects *rejects, const feed_reject *reject);

#endif
