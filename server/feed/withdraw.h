/* Undo: an input that was taken is withdrawn (tollbook/withdraw.h).
 *
 * Its segments are found as the feed finds them, by its first line and the hashes of its beginnings, or by a batch's name.
 * The feed's workers read each of them again, with the clock of the time when it was taken, and its usage and kept lines
 * are subtracted. A file is withdrawn in one transaction; bytes in memory some segments at a time, from the end. */
#ifndef TOLLBOOK_SERVER_FEED_WITHDRAW_H
#define TOLLBOOK_SERVER_FEED_WITHDRAW_H

#include "feed/feed.h"
#include "tollbook/withdraw.h"

/* The person or program that withdraws, for the audit log. */
typedef struct feed_who {
    int64_t key;        /* 0: none */
    const char *origin; /* an address; "": the command line */
    int64_t entry;      /* of the audit log, of the undo that this continues; 0: a new undo */
} feed_who;

typedef struct feed_withdrawn {
    uint64_t segments;                  /* 0: nothing was withdrawn */
    uint64_t lines, accepted, rejected; /* of them */
    uint64_t kept_lines;                /* lines dropped from the request log */
    uint64_t events;                    /* shield events, which are not withdrawn */
    uint32_t maxima;                    /* TB_METRIC_BITs of the counters that are not withdrawn: of these the largest
                                         * value alone is stored */
    uint64_t named;                     /* segments of named batches, which are not withdrawn */
    char batch[TB_BATCH_NAME_MAX + 1];  /* the name of the first of them */
    int64_t entry;                      /* of the audit log; 0: none */
    bool more;                          /* segments of the input are left for the next round */
} feed_withdrawn;

/* A file ("-": standard input), in one transaction. options as for feed_file. On failure nothing is changed.
 * TB_E_WITHDRAWAL: it cannot be withdrawn. */
TB_MUST_USE tb_code feed_withdraw_file(tb_store *store, const char *path,
                                       const feed_options *options, const feed_who *who,
                                       feed_withdrawn *ret_withdrawn, tb_error *err);

/* Bytes in memory, in two steps as feed_parse and feed_take, so that others can write while lines are parsed. With
 * options->piece the bytes are the segment that it names, or those whose ends are its rungs and its own end. What options
 * points at must outlive the withdrawal.
 *
 * feed_withdraw_take is called in a transaction, with the same bytes. It withdraws a round: some segments, the last ones.
 * It parses them again where the catalogue or the segments have changed since, or where one did not fit in memory; so
 * its body's plain_max is the limit for any body, and that of feed_withdraw_parse may be less. While ret_withdrawn->more,
 * feed_withdraw_next parses the next round, for feed_withdraw_take in the next transaction. */
typedef struct feed_withdrawing feed_withdrawing;
TB_MUST_USE tb_code feed_withdraw_parse(tb_store *reader, const feed_body *body,
                                        const feed_options *options,
                                        feed_withdrawing **ret_withdrawing, tb_error *err);
TB_MUST_USE tb_code feed_withdraw_take(feed_withdrawing *withdrawing, const feed_body *body,
                                       tb_store *store, const feed_who *who, feed_withdrawn *ret_withdrawn,
                                       tb_error *err);
TB_MUST_USE tb_code feed_withdraw_next(feed_withdrawing *withdrawing, const feed_body *body, tb_store *reader,
                                       tb_error *err);
/* Adds the next round of the same input. */
void feed_withdrawn_add(feed_withdrawn *sum, const feed_withdrawn *part);
/* Whether the round has segments, so that pending rows should be compacted before feed_withdraw_take. */
bool feed_withdraw_compacts(const feed_withdrawing *withdrawing, tb_compact_walk *ret_walk);
size_t feed_withdraw_bytes(const feed_withdrawing *withdrawing); /* of memory, about */
void feed_withdraw_free(feed_withdrawing *withdrawing);          /* NULL is fine */

#endif
