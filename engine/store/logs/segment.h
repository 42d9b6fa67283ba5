/* A segment's sums as text, for its writer and for verify. */
#ifndef TOLLBOOK_STORE_SEGMENT_H
#define TOLLBOOK_STORE_SEGMENT_H

#include "store/core/internal.h"
#include "tollbook/buf.h"
#include "tollbook/requestlog.h"

/* What a segment's sums say beside its metrics. */
#define TB__COUNTRY_REQUESTS "country_requests"
#define TB__COUNTRY_BYTES    "country_bytes"
#define TB__REJECTS_KEPT     "rejects_kept"
#define TB__RUNG_SEALS       "rung_seals"
#define TB__AMBIGUOUS        "ambiguous"
#define TB__HEADS            "heads"
#define TB__CELLS            "cells" /* of which places and hours: see cells.h */
#define TB__METERED          "metered" /* of the sum of requests: what meters counted, whose first column that is */
#define TB__SAMPLES          "samples" /* no sum: tb_segment.samples */

/* LoggingIPAnonymizationEnabled, and LogAnonymizationType's Drop. */
tb_log_privacy tb__log_privacy(bool hides, bool drops);

/* Big-endian, so that the bytes read like the number. */
void tb__hash_bytes(tb_hash128 hash, uint8_t out[16]);
tb_hash128 tb__hash_from(const uint8_t *in); /* NULL: 0 */
/* A row of segment as far as tb_known goes: its first eight columns. */
void tb__known_from(sqlite3_stmt *s, tb_known *ret);
/* The running segment's sums, as segment.sums has them. */
void tb__sums_json(const tb_store *store, const tb_segment *segment, tb_buf *out);
/* The same of numbers: those of the metrics, then of the words above in their order. */
#define TB__SUMS (TB_METRIC_COUNT + 9)
#define TB__SUM_SAMPLES (TB_METRIC_COUNT + 8)
void tb__sums_put(const tb_u128 of[TB__SUMS], tb_buf *out);
/* Adds the sums of such a text. false: it cannot be read. */
bool tb__sums_add(tb_text text, tb_u128 of[TB__SUMS]);

/* --- segments that go together: see segment_fold.c --- */

/* A row's numbers, in the order of the statements SEGMENT_BLOCK and SEGMENT_RUN. */
typedef enum tb__segment_number {
    TB__G_ID, TB__G_KIND, TB__G_START, TB__G_LENGTH, TB__G_LINES_BEFORE, TB__G_ACCEPTED, TB__G_REJECTED, TB__G_FINAL,
    TB__G_ADDED,
    TB__SEGMENT_NUMBERS
} tb__segment_number;
typedef struct tb__segment_row {
    int64_t number[TB__SEGMENT_NUMBERS];
    tb_text name, source, sums; /* name.data NULL: it has none */
    uint8_t hash[16], head[16];
} tb__segment_row;
/* Rows as the one that they are folded into. */
typedef struct tb__segment_group {
    size_t n; /* rows */
    int64_t number[TB__SEGMENT_NUMBERS];
    bool named, readable; /* readable: its rows' sums could be read */
    tb_buf name, source, sums;
    uint8_t hash[16], head[16];
    tb_u128 of[TB__SUMS];
} tb__segment_group;
void tb__segment_group_init(tb__segment_group *group);
void tb__segment_group_release(tb__segment_group *group);
typedef tb_code tb__segment_group_fn(void *ctx, const tb__segment_group *group, tb_error *err);
/* Calls fn for each group of the rows with ids from first to last: a part of a block, or all of it. */
TB_MUST_USE tb_code tb__segment_groups(tb_store *store, int64_t first, int64_t last, tb__segment_group_fn *fn, void *ctx,
                                       tb_error *err);
/* The last id of the block that begins after `after`. */
TB_MUST_USE tb_code tb__segment_block(tb_store *store, int64_t after, int64_t *ret_end, tb_error *err);
/* Merges at most *room rows, subtracted from *room: 0 left: call it again. */
TB_MUST_USE tb_code tb__segments_fold(tb_store *store, int64_t now_us, size_t *room, tb_error *err);
/* A block of request logs: its row, its place in the R*Tree and the sum of seals. */
TB_MUST_USE tb_code tb__log_insert(tb_store *store, int64_t id, const tb_loginfo *info,
                                   const void *bytes, size_t len, tb_error *err);
TB_MUST_USE tb_code tb__log_delete(tb_store *store, int64_t id, int64_t seal, tb_error *err);
typedef tb_code tb__block_fn(tb_store *store, int64_t id, int64_t seal, tb_error *err);
/* Calls fn for at most *room blocks of the account that the statement returns, subtracted from *room. */
TB_MUST_USE tb_code tb__forget_blocks(tb_store *store, tb__statement which, int64_t account,
                                      size_t *room, tb__block_fn *fn, tb_error *err);
TB_MUST_USE tb_code tb__log_open(tb_store *store, int64_t id, tb_logblock *block, int64_t *ret_seal,
                                 tb_error *err);
/* head and hash are 16 bytes each. */
int64_t tb__seal_rung(const void *head, int64_t length, const void *hash);
/* Segments of the first schema do not record their rungs: stores the sum of the seals of all existing rungs, modulo
 * 2^64, as meta.rungs_before. */
TB_MUST_USE tb_code tb__rungs_adopt(tb_store *store, tb_error *err);

#endif
