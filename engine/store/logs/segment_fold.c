/* A followed log adds a segment every few seconds. Consecutive segments of a log are merged into one, as if they had
 * come at once: the last row is extended to the front and the rows before it are deleted. The data by which a log is
 * found again (its head, its end and the hash there, rungs), by which withdrawing compares (lines and sums), and
 * which verify checks are then those of one large segment. Only the ends of the pieces are lost: a log that
 * continues from a place inside a row is known up to the row's start only. So a row covers no more than a follower
 * sends at once where much is written (`follow --bytes`).
 *
 * The grouping of segments must not depend on when they are merged, for an anchor covers them before and after
 * (verify/anchor.c). So ids are cut into blocks of equal size (meta.fold_ids, a mask), and of a block's rows in the
 * order of their logs and starts each joins the one before if `joins` says so; any adjacent rows of a group may be
 * merged and the group stays the same. A block is merged once all its ids are used and its newest row is a day old.
 * Rows up to meta.segments_before are not merged: anchors of earlier schemas cover each of them.
 * meta.segments_folding: rows up to it may have been merged; segments_folded: that is done.
 *
 * A group is not merged where a part of it was withdrawn, or where another segment of the log begins inside it: the
 * log forked there, and that segment needs the end from which it continues. Segments with refused lines, and those
 * of named batches, are not merged: refused lines name their segment, and were refused at its moment. */
#include "store/logs/segment.h"

#include <stdlib.h>
#include <string.h>

#define AGE_US (24 * INT64_C(3600000000))
#define BYTES_MOST (INT64_C(1) << 20) /* of a log in one row */
#define RUN_MOST   1024                /* rows that are folded at once */

typedef struct fold_item {
    int64_t id;
    bool joins; /* the item before it */
} fold_item;

struct tb__segment_fold {
    int64_t end; /* of the block */
    fold_item *items;
    size_t n, cap, at;
};

/* --- groups --- */

static void take_text(sqlite3_stmt *s, int column, tb_text *ret)
{
    ret->data = (const char *)sqlite3_column_text(s, column);
    ret->len = (size_t)sqlite3_column_bytes(s, column);
}

static tb_code row_from(sqlite3_stmt *s, tb__segment_row *ret, tb_error *err)
{
    for (int i = 0; i < TB__SEGMENT_NUMBERS; i++)
        ret->number[i] = sqlite3_column_int64(s, i);
    take_text(s, TB__SEGMENT_NUMBERS, &ret->name);
    take_text(s, TB__SEGMENT_NUMBERS + 1, &ret->source);
    take_text(s, TB__SEGMENT_NUMBERS + 2, &ret->sums);
    const void *hash = sqlite3_column_blob(s, TB__SEGMENT_NUMBERS + 3);
    const void *head = sqlite3_column_blob(s, TB__SEGMENT_NUMBERS + 4);
    if (!ret->source.data || !ret->sums.data || !hash || !head) return tb_no_memory(err);
    memcpy(ret->hash, hash, 16);
    memcpy(ret->head, head, 16);
    return TB_OK;
}

/* Rows that were read under other declarations of samples are withdrawn by those. */
static bool same_samples_version(const tb__segment_group *g, const tb__segment_row *row)
{
    tb_u128 of[TB__SUMS] = {0};
    return tb__sums_add(row->sums, of) && of[TB__SUM_SAMPLES] == g->of[TB__SUM_SAMPLES];
}

/* Whether a row continues the group. */
static bool joins(const tb__segment_group *g, const tb__segment_row *row)
{
    const int64_t *a = g->number, *b = row->number;
    return g->n > 0 && !g->named && !row->name.data && a[TB__G_KIND] == TB_BATCH_LOG &&
           b[TB__G_KIND] == TB_BATCH_LOG && a[TB__G_REJECTED] == 0 && b[TB__G_REJECTED] == 0 &&
           !a[TB__G_FINAL] && a[TB__G_LENGTH] == b[TB__G_START] &&
           b[TB__G_LENGTH] - a[TB__G_START] <= BYTES_MOST &&
           a[TB__G_LINES_BEFORE] + a[TB__G_ACCEPTED] == b[TB__G_LINES_BEFORE] &&
           a[TB__G_ID] < b[TB__G_ID] && a[TB__G_ADDED] <= b[TB__G_ADDED] &&
           memcmp(g->head, row->head, 16) == 0 && g->source.len == row->source.len &&
           memcmp(g->source.data, row->source.data, row->source.len) == 0 && same_samples_version(g, row);
}

void tb__segment_group_init(tb__segment_group *g)
{
    *g = (tb__segment_group){.n = 0};
    tb_buf_init(&g->name, 1 << 20, NULL);
    tb_buf_init(&g->source, 1 << 20, NULL);
    tb_buf_init(&g->sums, 1 << 20, NULL);
}

void tb__segment_group_release(tb__segment_group *g)
{
    tb_buf_release(&g->name);
    tb_buf_release(&g->source);
    tb_buf_release(&g->sums);
}

static void set_text(tb_buf *to, tb_text text)
{
    to->len = 0;
    tb_buf_add(to, text.data, text.len);
}

/* Starts the group with the row, or appends the row, which joins it. */
static tb_code add_segment_row(tb__segment_group *g, const tb__segment_row *row, tb_error *err)
{
    const int64_t start = g->number[TB__G_START], before = g->number[TB__G_LINES_BEFORE];
    const int64_t accepted = g->number[TB__G_ACCEPTED];
    if (!g->n) memset(g->of, 0, sizeof g->of);
    if (!g->n) g->readable = true;
    g->readable &= tb__sums_add(row->sums, g->of);
    memcpy(g->number, row->number, sizeof g->number);
    memcpy(g->hash, row->hash, 16);
    memcpy(g->head, row->head, 16);
    if (g->n++) {
        g->number[TB__G_START] = start;
        g->number[TB__G_LINES_BEFORE] = before;
        g->number[TB__G_ACCEPTED] += accepted;
        g->sums.len = 0;
        tb__sums_put(g->of, &g->sums);
    } else {
        g->named = row->name.data != NULL;
        set_text(&g->name, g->named ? row->name : (tb_text){"", 0});
        set_text(&g->source, row->source);
        set_text(&g->sums, row->sums);
    }
    tb_code code = tb_buf_check(&g->source, err);
    if (!code) code = tb_buf_check(&g->name, err);
    return code ? code : tb_buf_check(&g->sums, err);
}

tb_code tb__segment_groups(tb_store *store, int64_t first, int64_t last, tb__segment_group_fn *fn,
                           void *ctx, tb_error *err)
{
    const int64_t values[2] = {first, last};
    tb__segment_group g;
    tb__segment_row row;
    sqlite3_stmt *s;
    bool there = true;
    tb__segment_group_init(&g);
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_BLOCK, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &there, err)) && there) {
        code = row_from(s, &row, err);
        if (!code && g.n && !joins(&g, &row)) {
            code = fn(ctx, &g, err);
            g.n = 0;
        }
        if (!code) code = add_segment_row(&g, &row, err);
        if (code) sqlite3_reset(s);
    }
    if (!code && g.n) code = fn(ctx, &g, err);
    tb__segment_group_release(&g);
    return code;
}

tb_code tb__segment_block(tb_store *store, int64_t after, int64_t *ret_end, tb_error *err)
{
    int64_t mask = 0;
    tb_code code = tb__meta_get(store, "fold_ids", &mask, err);
    *ret_end = (after + 1) | mask;
    return code;
}

/* --- a block that is folded --- */

void tb__segment_fold_free(tb_store *store)
{
    if (store->segment_fold) free(store->segment_fold->items);
    free(store->segment_fold);
    store->segment_fold = NULL;
}

/* *ret_end: of the first block that is not done; 0: it is not to be folded yet. */
static tb_code find_block(tb_store *store, int64_t now_us, int64_t *ret_after, int64_t *ret_end,
                          tb_error *err)
{
    int64_t end = 0, newest = 0, added_us = 0, before_us;
    if (__builtin_sub_overflow(now_us, AGE_US, &before_us)) before_us = INT64_MIN;
    *ret_end = 0;
    tb_code code = tb__meta_get(store, "segments_folded", ret_after, err);
    if (!code) code = tb__segment_block(store, *ret_after, &end, err);
    if (!code) code = tb__int_of(store, TB__SQL_SEGMENT_NEWEST, NULL, 0, 0, &newest, err);
    if (code || newest <= end) return code;
    code = tb__int_of(store, TB__SQL_SEGMENT_ADDED, &end, 1, INT64_MAX, &added_us, err);
    if (!code && added_us <= before_us) *ret_end = end;
    return code;
}

static tb_code list_block(tb_store *store, struct tb__segment_fold *f, int64_t after, tb_error *err)
{
    const int64_t values[2] = {after + 1, f->end};
    tb__segment_group g;
    tb__segment_row row;
    sqlite3_stmt *s;
    bool there = true;
    tb__segment_group_init(&g);
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_BLOCK, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &there, err)) && there) {
        code = tb__grow(&f->items, f->n, &f->cap, sizeof *f->items, err);
        if (!code) code = row_from(s, &row, err);
        if (!code) {
            const bool joined = joins(&g, &row);
            if (!joined) g.n = 0;
            f->items[f->n++] = (fold_item){row.number[TB__G_ID], joined};
            code = add_segment_row(&g, &row, err);
        }
        if (code) sqlite3_reset(s);
    }
    tb__segment_group_release(&g);
    return code;
}

static tb_code begin_block(tb_store *store, int64_t now_us, tb_error *err)
{
    int64_t after = 0, end = 0;
    tb_code code = find_block(store, now_us, &after, &end, err);
    if (code || !end) return code;
    store->segment_fold = calloc(1, sizeof *store->segment_fold);
    if (!store->segment_fold) return tb_no_memory(err);
    store->segment_fold->end = end;
    code = tb__meta_set(store, "segments_folding", end, err);
    if (!code) code = list_block(store, store->segment_fold, after, err);
    if (code) tb__segment_fold_free(store);
    return code;
}

/* The sum of the rows as stored now. *ret: they all exist, no part of them was withdrawn, and no other segment of
 * their log begins among them. */
static tb_code read_run(tb_store *store, const fold_item *items, size_t n, tb__segment_group *g,
                        bool *ret, tb_error *err)
{
    const int64_t ends[2] = {items[0].id, items[n - 1].id};
    tb__segment_row row;
    sqlite3_stmt *s;
    size_t i = 0;
    bool there = true;
    *ret = true;
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_RUN, ends, 2, &s, err);
    while (!code && *ret && !(code = tb__step(store, s, &there, err)) && there) {
        code = row_from(s, &row, err);
        *ret = !code && i < n && row.number[TB__G_ID] == items[i].id &&
               sqlite3_column_int(s, TB__SEGMENT_NUMBERS + 5) && (i == 0 || joins(g, &row));
        if (*ret) code = add_segment_row(g, &row, err);
        i++;
        if (code) sqlite3_reset(s);
    }
    if (!code && !*ret) sqlite3_reset(s);
    *ret = !code && *ret && i == n && g->readable;
    return code;
}

static tb_code write_run(tb_store *store, const fold_item *items, size_t n,
                         const tb__segment_group *g, tb_error *err)
{
    const int64_t values[4] = {g->number[TB__G_ID], g->number[TB__G_START],
                               g->number[TB__G_LINES_BEFORE], g->number[TB__G_ACCEPTED]};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_FOLD, values, 4, &s, err);
    if (!code) {
        sqlite3_bind_text(s, 5, g->sums.data, (int)g->sums.len, SQLITE_STATIC);
        code = tb__run(store, s, err);
    }
    for (size_t i = 0; !code && i + 1 < n; i++)
        code = tb__run_ints(store, TB__SQL_SEGMENT_FOLDED, &items[i].id, 1, err);
    store->dirty = true;
    return code;
}

static tb_code fold_run(tb_store *store, const fold_item *items, size_t n, tb_error *err)
{
    tb__segment_group g;
    bool whole = false;
    tb__segment_group_init(&g);
    tb_code code = read_run(store, items, n, &g, &whole, err);
    if (!code && whole) code = write_run(store, items, n, &g, err);
    tb__segment_group_release(&g);
    return code;
}

/* The next rows that go together, at most `most` and one more. */
static size_t next_run(struct tb__segment_fold *f, size_t most)
{
    while (f->at + 1 < f->n && !f->items[f->at + 1].joins)
        f->at++;
    size_t n = f->at < f->n;
    while (f->at + n < f->n && n <= most && f->items[f->at + n].joins)
        n++;
    return n;
}

tb_code tb__segments_fold(tb_store *store, int64_t now_us, size_t *room, tb_error *err)
{
    tb_code code = TB_OK;
    while (!code && *room > 0) {
        if (!store->segment_fold) code = begin_block(store, now_us, err);
        struct tb__segment_fold *f = store->segment_fold;
        if (code || !f) return code;
        const size_t n = next_run(f, *room < RUN_MOST ? *room : RUN_MOST);
        if (n > 1) {
            code = fold_run(store, &f->items[f->at], n, err);
            f->at += n - 1; /* the merged row may be merged further */
            *room -= *room == SIZE_MAX ? 0 : n - 1;
        } else {
            code = tb__meta_set(store, "segments_folded", f->end, err);
            tb__segment_fold_free(store);
        }
    }
    return code;
}
