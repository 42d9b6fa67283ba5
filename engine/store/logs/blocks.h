/* Blocks of request logs: what writing, withdrawing and reading them share, wherever they lie. */
#ifndef TOLLBOOK_STORE_LOGS_BLOCKS_H
#define TOLLBOOK_STORE_LOGS_BLOCKS_H

#include "store/core/internal.h"

/* --- join.c --- */

/* Lines of a zone, one at least, in the order of their coming. Words of older blocks join theirs. */
typedef struct tb__log_zone_lines {
    int64_t zone;
    tb_logwords *words;
    const void *const *record;
    size_t n;
} tb__log_zone_lines;
/* Puts them into blocks of the zone. */
TB_MUST_USE tb_code tb__log_place(tb_store *store, const tb__log_zone_lines *lines, tb_error *err);
/* The same of a block. */
TB_MUST_USE tb_code tb__log_place_block(tb_store *store, const tb_loginfo *info, tb_text bytes,
                                        tb_error *err);
typedef struct tb__log_piece {
    tb_loginfo info;
    tb_text bytes;
} tb__log_piece;
/* Joins two blocks of a zone, with the early one's lines first where times are equal. *ret_joined false: they are
 * too long or too far apart. ret->bytes live until the next call. */
TB_MUST_USE tb_code tb__log_join(tb_store *store, const tb__log_piece *early, const tb__log_piece *late,
                                 tb__log_piece *ret, bool *ret_joined, tb_error *err);

/* --- reading: log_read.c --- */

/* A block that may hold matching lines. Of lines with one time those of the lower id are older. */
typedef struct tb__log_listed {
    int64_t id, first_ms, last_ms;
    size_t entry; /* the source's own */
} tb__log_listed;

typedef struct tb__log_cursor tb__log_cursor;
typedef struct tb__log_source {
    tb_code (*open)(tb__log_cursor *cursor, const tb__log_listed *of, tb_logblock *block, tb_error *err);
    size_t (*bytes)(const void *ctx); /* held beside the open blocks; NULL: none */
    void (*free)(void *ctx);
} tb__log_source;

struct tb__log_open_block;
struct tb__log_cursor {
    tb_log_cursor head;
    tb_store *store;
    const tb_log_filter *filter;
    int64_t zone;
    const tb__log_source *source;
    void *ctx; /* the source's */
    bool descending, stands; /* stands: the last call found a line */
    tb__log_listed *list; /* in the order of the end at which reading comes upon them */
    size_t n_list, cap_list, at_list;
    struct tb__log_open_block **heap;
    size_t n_heap, cap_heap;
    struct tb__log_open_block *spare; /* one closed block, to be used again */
};

/* For qsort of tb__log_listed, or of what begins with it. */
typedef int tb__log_order(const void *a, const void *b);
tb__log_order *tb__log_order_of(bool descending);

/* --- undo: withdraw.c --- */

/* The storage of blocks. */
typedef struct tb__log_holder {
    /* Those of the zone that overlap the span, the newest first; *ret_found is freed by `free`, also after an error. */
    tb_code (*overlapping)(tb_store *store, const tb_loginfo *span, void **ret_found, size_t *ret_n, tb_error *err);
    tb_code (*open)(tb_store *store, void *found, size_t i, tb_logblock *block, tb_error *err);
    /* Replaces the block that was opened last; NULL: deletes it. */
    tb_code (*replace)(tb_store *store, void *found, size_t i, const tb__log_piece *by, tb_error *err);
    void (*free)(void *found); /* NULL is fine */
} tb__log_holder;
TB_MUST_USE tb_code tb__log_subtract(tb_store *store, const tb__log_holder *of, const tb__log_piece *lines,
                                       uint64_t *removed, tb_error *err);

/* --- entries of the table tb__file_logs, beside those of logs.c --- */

/* withdraw.c */
TB_MUST_USE tb_code tb__log_rows_subtract(tb_store *store, const tb_loginfo *info, const void *bytes,
                                      size_t len, uint64_t *removed, tb_error *err);
/* log_read.c; all but the first are every backend's */
TB_MUST_USE tb_code tb__log_search(tb_store *store, int64_t zone, const tb_log_filter *filter,
                                   bool descending, tb_log_cursor **ret_cursor, tb_error *err);
TB_MUST_USE tb_code tb__log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
TB_MUST_USE tb_code tb__log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);
TB_MUST_USE tb_code tb__log_sum(tb_log_cursor *cursor, tb_logsum *sum, bool *ret_end, tb_error *err);
size_t tb__log_bytes(const tb_log_cursor *cursor);
void tb__log_free(tb_log_cursor *cursor);

#endif
