/* Withdrawing an input: its bytes once more, taken back (tollbook/withdraw.h).
 *
 * What is known of the input is found as the feed finds it, by its first line and the hashes of its
 * beginnings, or by a batch's name. Each of those segments is read again as it was read then, with the
 * clock of then, and what it comes to is subtracted. All of a file goes, or nothing of it; bytes in memory go some
 * segments at a time, from the end. */
#ifndef TOLLBOOK_SERVER_FEED_WITHDRAW_H
#define TOLLBOOK_SERVER_FEED_WITHDRAW_H

#include "feed/feed.h"
#include "tollbook/withdraw.h"

/* Who withdraws, for the audit log. */
typedef struct feed_who {
    int64_t key;        /* 0: none */
    const char *origin; /* an address; "": the command line */
    int64_t entry;      /* the audit log's, where this goes on with an undo; 0: it begins one */
} feed_who;

typedef struct feed_withdrawn {
    uint64_t segments;                  /* 0: nothing was withdrawn */
    uint64_t lines, accepted, rejected; /* of them */
    uint64_t kept_lines;                /* of request logs: dropped */
    uint64_t events;                    /* shield events: they stay */
    uint32_t maxima;                    /* TB_METRIC_BITs of the counters that stay */
    uint64_t named;                     /* segments of batches with names: they stay */
    char batch[TB_BATCH_NAME_MAX + 1];  /* the name of the first of them */
    int64_t entry;                      /* of the audit log, which tells of it; 0: none */
    bool more;                          /* it is not all of the input yet */
} feed_withdrawn;

/* A file ("-": standard input), in a transaction of its own. options as for feed_file. On failure
 * nothing is changed. TB_E_WITHDRAWAL: it cannot be withdrawn. */
TB_MUST_USE tb_code feed_withdraw_file(tb_store *store, const char *path,
                                       const feed_options *options, const feed_who *who,
                                       feed_withdrawn *ret_withdrawn, tb_error *err);
/* Bytes in memory in two steps, as feed_parse and feed_take: lines are parsed while others write. With
 * options->piece: the segment that has these bytes, alone. What options points at lives as long as
 * it does, and its rungs, if it has any, are where its segments end but for the last. feed_withdraw_take is called in a
 * transaction, with the same bytes; where somebody changed what they were parsed by, or they came to too much, they are
 * parsed again, there. So its body's plain_max is what may come at all; that of feed_withdraw_parse may be less.
 *
 * It withdraws some segments, the last ones. While ret_withdrawn->more, feed_withdraw_next, and then it is called
 * again, in the next transaction. */
typedef struct feed_withdrawing feed_withdrawing;
TB_MUST_USE tb_code feed_withdraw_parse(tb_store *reader, const feed_body *body,
                                        const feed_options *options,
                                        feed_withdrawing **ret_withdrawing, tb_error *err);
TB_MUST_USE tb_code feed_withdraw_take(feed_withdrawing *withdrawing, const feed_body *body,
                                       tb_store *store, const feed_who *who, feed_withdrawn *ret_withdrawn,
                                       tb_error *err);
TB_MUST_USE tb_code feed_withdraw_next(feed_withdrawing *withdrawing, const feed_body *body, tb_store *reader,
                                       tb_error *err);
void feed_withdrawn_add(feed_withdrawn *sum, const feed_withdrawn *part); /* the next one's, of the same input */
/* Whether anything is to be taken back, so that pending rows are better compacted before. */
bool feed_withdraw_compacts(const feed_withdrawing *withdrawing, tb_compact_walk *ret_walk);
size_t feed_withdraw_bytes(const feed_withdrawing *withdrawing); /* of memory, about */
void feed_withdraw_free(feed_withdrawing *withdrawing);          /* NULL is fine */

#endif
