/* The write buffer. A row is encoded as it is added, and written with many others: ROWS to a statement, since most of what
 * SQLite does for one row it does for a statement. A row that is there already is merged with the new one by the SQL
 * functions tb_chunk_join and tb_country_join. The days of a month are summed as long as they come side by side, so
 * that the month's row is written once.
 *
 * Invariants:
 * - Rows are written in the order in which they were added.
 * - tb__sql flushes the buffer before any other statement, so whoever asks the file finds what was added. Who reads with a
 *   statement of its own (the LSM does) calls tb__write_buffer_flush first.
 * - An overflow is found when the row is written, so adding a row may fail for an earlier one.
 *
 * The buffer has two halves. While a batch goes to base and the caller has lent a thread (tb_store_lend), that thread writes
 * one half as the other one is filled. It has the connection for itself then. */
#include "store/usage/write_buffer.h"

#include "rollup/overflow.h"
#include "store/usage/batch.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define ROWS      32 /* of TB__SQL_CHUNK_PUT_32 */
#define HALF_ROWS 2048

typedef struct half {
    size_t n, len, cap;
    struct row {
        tb__lsm_kind kind;
        int64_t id[2]; /* of chunk: its key; of country_day: zone and day */
        size_t end;    /* of its bytes */
    } row[HALF_ROWS];
    uint8_t *bytes;
} half;

struct tb__write_buffer {
    tb_store *store;
    half halves[2], *filling, *writing;
    bool busy; /* the lent thread is at work */
    struct {
        int64_t series; /* 0: there is none */
        int64_t month, first_day, end_day;
        tb_grid days;
    } month; /* being summed */
    /* Set by whoever writes: the first failure, the row that was merged last, the largest counter of any. */
    tb_code code;
    tb_error err;
    int64_t joined_key; /* 0: a row of country_day */
    tb_grid merged;
    uint64_t largest;
};

/* --- the counter that is full --- */

/* A merge that fails leaves its sums, and the one that is too large has its top bit set. So the slot is found
 * afterwards, and merging stays a plain loop. */
static unsigned full_slot(const tb_grid *grid, tb_metric metric)
{
    unsigned slot = 0;
    while (slot + 1 < TB_GRID_SLOTS && grid->v[metric][slot] <= TB_COUNTER_MAX)
        slot++;
    return slot;
}

static tb_metric full_metric(const tb_error *err)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (strcmp(tb_metric_table[m].name, err->field) == 0) return (tb_metric)m;
    return TB_M_REQUESTS;
}

/* The same of a meter's usage, as of an input whose own sum is too large (rollup/metered.c). */
static tb_code fail_meter(tb_store *store, int64_t owner, const tb__spot *spot, tb_error *err)
{
    char when[21];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_METER_SERIES_NAMES, &owner, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code ? code : tb_fail(err, TB_E_INTERNAL, "meter", NULL);
    tb_time_format(spot->hour * TB_US_PER_HOUR, when);
    when[spot->whole_day ? 10 : 20] = 0;
    code = tb_fail(err, TB_E_OVERFLOW, "value",
                   "Meter \"%s\", %s \"%s\", %s: the sum of its values would pass 2^63 - 1; look for a line with too large a "
                   "value there, correct it and send the input again.",
                   (const char *)sqlite3_column_text(s, 0), (const char *)sqlite3_column_text(s, 1),
                   (const char *)sqlite3_column_text(s, 2), when);
    sqlite3_reset(s);
    return code;
}

static tb_code fail_full(tb_store *store, tb__owned_day of, tb__spot *spot, tb_error *err)
{
    static const char *const kinds[] = {"Series", "Pull zone", "Account", "Load balancer"};
    char code[TB_EDGE_MAX];
    sqlite3_stmt *s;
    bool row = false;
    if (of.scope == TB__SCOPE_METER) return fail_meter(store, of.owner, spot, err);
    spot->kind = kinds[of.scope & 3];
    spot->id = of.owner;
    if (of.scope == TB__SCOPE_BALANCER) spot->edge = "";
    if (of.edge && !tb__sql_ints(store, TB__SQL_EDGE_CODE, &of.edge, 1, &s, NULL) && !tb__step(store, s, &row, NULL) && row) {
        size_t len = (size_t)sqlite3_column_bytes(s, 0);
        spot->edge_len = len < sizeof code ? len : sizeof code;
        spot->edge = memcpy(code, sqlite3_column_text(s, 0), spot->edge_len);
        sqlite3_reset(s);
    }
    return tb__overflow(spot, full_metric(err), err);
}

tb_code tb__full_day(tb_store *store, tb_code code, tb__owned_day of, const tb_grid *grid, tb_error *err)
{
    if (code != TB_E_OVERFLOW || !err) return code;
    tb__spot spot = {.hour = of.day * 24 + full_slot(grid, full_metric(err))};
    return fail_full(store, of, &spot, err);
}

/* The same for a row of chunk. grid NULL: the whole day of the key is meant. */
static tb_code full_chunk(tb_store *store, tb_code code, int64_t key, const tb_grid *grid, tb_error *err)
{
    const int64_t series = tb__key_series(key), index = tb__key_index(key);
    if (code != TB_E_OVERFLOW || !err) return code;
    const unsigned slot = grid ? full_slot(grid, full_metric(err)) : 0;
    const bool hours = tb__key_grain(key) == TB__GRAIN_HOURS;
    tb__spot spot = {.whole_day = !hours || !grid,
                     .hour = hours ? index * 24 + slot : (tb_month_first_day(index) + slot) * 24};
    tb__owned_day of = {.owner = series};
    sqlite3_stmt *s;
    bool row = false;
    if (!tb__series_write(store, NULL) && !tb__sql_ints(store, TB__SQL_SERIES_WHOSE, &series, 1, &s, NULL) &&
        !tb__step(store, s, &row, NULL) && row) {
        of = (tb__owned_day){sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), 0};
        sqlite3_reset(s);
    }
    return fail_full(store, of, &spot, err);
}

/* --- writing --- */

static void join_done(tb__write_buffer *b, sqlite3_context *ctx, const uint8_t *bytes, size_t len)
{
    if (b->code) sqlite3_result_error_code(ctx, SQLITE_ABORT);
    else sqlite3_result_blob(ctx, bytes, (int)len, SQLITE_TRANSIENT);
}

/* tb_chunk_join(key, stored, more) */
static void join_chunks(sqlite3_context *ctx, int n, sqlite3_value **values)
{
    tb__write_buffer *b = sqlite3_user_data(ctx);
    const int64_t key = sqlite3_value_int64(values[0]);
    uint8_t bytes[TB__CHUNK_MAX];
    size_t len = 0;
    tb_grid more;
    (void)n;
    b->joined_key = key;
    b->code = tb__chunk_decode(sqlite3_value_blob(values[1]), (size_t)sqlite3_value_bytes(values[1]), key, &b->merged,
                               &b->err);
    if (!b->code)
        b->code = tb__chunk_decode(sqlite3_value_blob(values[2]), (size_t)sqlite3_value_bytes(values[2]), key, &more,
                                   &b->err);
    if (!b->code) b->code = tb_grid_merge(&b->merged, &more, &b->err);
    if (!b->code) len = tb__chunk_encode_most(&b->merged, key, bytes, &b->largest);
    join_done(b, ctx, bytes, len);
}

/* tb_country_join(zone, day, stored, more) */
static void join_countries(sqlite3_context *ctx, int n, sqlite3_value **values)
{
    tb__write_buffer *b = sqlite3_user_data(ctx);
    const int64_t seed = tb__country_seed(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]));
    tb__country list[2][TB__COUNTRY_MAX], merged[TB__COUNTRY_MAX];
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    size_t n_of[2] = {0}, n_merged = 0, len = 0;
    (void)n;
    b->joined_key = 0;
    for (int i = 0; !b->code && i < 2; i++)
        b->code = tb__country_decode(sqlite3_value_blob(values[2 + i]), (size_t)sqlite3_value_bytes(values[2 + i]), seed,
                                     list[i], &n_of[i], &b->err);
    if (!b->code) b->code = tb__country_merge(list[0], n_of[0], list[1], n_of[1], merged, &n_merged, &b->err);
    if (!b->code) len = tb__country_encode(merged, n_merged, seed, bytes);
    join_done(b, ctx, bytes, len);
}

/* May run in the lent thread. */
static void write_half(void *buffer)
{
    tb__write_buffer *b = buffer;
    half *of = b->writing;
    for (size_t at = 0, n; !b->code && at < of->n; at += n) {
        const bool chunks = of->row[at].kind == TB__LSM_COUNTERS;
        sqlite3_stmt *s;
        tb_error err;
        for (n = 0; n < ROWS && at + n < of->n && of->row[at + n].kind == TB__LSM_COUNTERS;)
            n++;
        if (n < ROWS) n = 1;
        tb_code code = tb__sql_now(b->store, !chunks ? TB__SQL_COUNTRY_ADD : n == 1 ? TB__SQL_CHUNK_PUT : TB__SQL_CHUNK_PUT_32,
                                   &s, &err);
        for (size_t i = at, column = 1; !code && i < at + n; i++) {
            const size_t from = i ? of->row[i - 1].end : 0;
            sqlite3_bind_int64(s, (int)column++, of->row[i].id[0]);
            if (!chunks) sqlite3_bind_int64(s, (int)column++, of->row[i].id[1]);
            sqlite3_bind_blob(s, (int)column++, of->bytes + from, (int)(of->row[i].end - from), SQLITE_STATIC);
        }
        if (!code) code = tb__run(b->store, s, &err);
        if (code && !b->code) {
            b->code = code;
            b->err = err;
        }
    }
    of->n = of->len = 0;
}

/* Waits until the half that is being written is in the file, and returns its result. */
static tb_code await(tb__write_buffer *b, tb_error *err)
{
    tb_store *store = b->store;
    if (b->busy) store->helper.wait(store->helper.ctx);
    b->busy = false;
    if ((int64_t)b->largest > store->usage->cell_max) store->usage->cell_max = (int64_t)b->largest;
    b->largest = 0;
    const tb_code code = b->code;
    if (!code) return TB_OK;
    if (err) *err = b->err;
    tb__write_buffer_drop(store);
    return b->joined_key ? full_chunk(store, code, b->joined_key, &b->merged, err) : code;
}

/* The half that was filled is written, and the other one is filled. */
static tb_code swap_halves(tb__write_buffer *b, tb_error *err)
{
    const tb_helper *helper = &b->store->helper;
    tb_code code = await(b, err);
    if (code) return code;
    half *filled = b->filling;
    b->filling = b->writing;
    b->writing = filled;
    const bool lent = b->store->usage->memtable.path == TB__TO_BASE && helper->start;
    b->busy = lent && helper->start(helper->ctx, write_half, b);
    if (b->busy) return TB_OK;
    write_half(b);
    return await(b, err);
}

static tb_code row_room(half *of, size_t most, tb_error *err)
{
    if (of->cap - of->len >= most) return TB_OK;
    size_t cap = of->cap ? of->cap * 2 : (size_t)1 << 16;
    uint8_t *bytes = realloc(of->bytes, cap);
    if (!bytes) return tb_no_memory(err);
    of->bytes = bytes;
    of->cap = cap;
    return TB_OK;
}

/* Its bytes were already appended after all others. */
static tb_code buffer_row(tb__write_buffer *b, struct row row, size_t len, tb_error *err)
{
    half *of = b->filling;
    const size_t most = b->store->usage->test.buffer_rows;
    row.end = of->len += len;
    of->row[of->n++] = row;
    b->store->rows_buffered = true;
    return of->n < (most ? most : HALF_ROWS) ? TB_OK : swap_halves(b, err);
}

static tb_code add_chunk(tb__write_buffer *b, int64_t key, const tb_grid *grid, tb_error *err)
{
    half *of = b->filling;
    tb_code code = row_room(of, TB__CHUNK_MAX, err);
    if (code) return code;
    uint64_t most = (uint64_t)b->store->usage->cell_max;
    const size_t len = tb__chunk_encode_most(grid, key, of->bytes + of->len, &most);
    b->store->usage->cell_max = (int64_t)most;
    b->store->usage->rows_changed = true;
    return buffer_row(b, (struct row){TB__LSM_COUNTERS, {key, 0}, 0}, len, err);
}

static tb_code end_month(tb__write_buffer *b, tb_error *err)
{
    const int64_t series = b->month.series;
    b->month.series = 0;
    return series ? add_chunk(b, tb__chunk_key(series, TB__GRAIN_DAYS, b->month.month), &b->month.days, err) : TB_OK;
}

tb_code tb__write_buffer_flush(tb_store *store, tb_error *err)
{
    tb__write_buffer *b = store->usage->buffer;
    if (!store->rows_buffered) return TB_OK;
    tb_code code = end_month(b, err);
    store->rows_buffered = false; /* handling an overflow runs a statement, which must not flush again */
    if (!code) code = swap_halves(b, err);
    return code ? code : await(b, err);
}

/* --- adding --- */

tb_code tb__base_add_day(tb_store *store, int64_t series, int64_t day, const tb_grid *hours, tb_error *err)
{
    tb__write_buffer *b = store->usage->buffer;
    const int64_t key = tb__chunk_key(series, TB__GRAIN_HOURS, day);
    const bool same_month = day >= b->month.first_day && day < b->month.end_day;
    tb_code code = TB_OK;
    if (b->month.series != series || !same_month) {
        code = end_month(b, err);
        if (code) return code;
        if (!same_month) {
            b->month.month = tb_month_from_day(day);
            b->month.first_day = tb_month_first_day(b->month.month);
            b->month.end_day = tb_month_first_day(b->month.month + 1);
        }
        tb_grid_clear(&b->month.days);
        b->month.series = series;
    }
    code = add_chunk(b, key, hours, err);
    if (code) return code;
    code = tb_grid_fold(&b->month.days, (unsigned)(day - b->month.first_day), hours, err);
    if (code != TB_E_OVERFLOW) return code;
    b->month.series = 0;
    tb_error before; /* a row that was added before may be too full as well: it is named first */
    const tb_code earlier = tb__write_buffer_flush(store, &before);
    if (earlier && err) *err = before;
    return earlier ? earlier : full_chunk(store, code, key, NULL, err);
}

tb_code tb__base_add_month(tb_store *store, int64_t series, int64_t month, const tb_grid *days, tb_error *err)
{
    return add_chunk(store->usage->buffer, tb__chunk_key(series, TB__GRAIN_DAYS, month), days, err);
}

tb_code tb__base_add_countries(tb_store *store, int64_t zone, int64_t day, const tb__country *list, size_t n,
                               tb_error *err)
{
    tb__write_buffer *b = store->usage->buffer;
    half *of = b->filling;
    tb_code code = row_room(of, TB__COUNTRY_ROW_MAX, err);
    if (code) return code;
    const size_t len = tb__country_encode(list, n, tb__country_seed(zone, day), of->bytes + of->len);
    return buffer_row(b, (struct row){TB__LSM_COUNTRIES, {zone, day}, 0}, len, err);
}

tb_code tb__base_add_entry(tb_store *store, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err)
{
    const int64_t owner = entry->key.owner, day = entry->key.index;
    if (kind == TB__LSM_COUNTERS) {
        tb_grid hours;
        if (owner > TB__SERIES_MAX || !tb__entry_get_grid(entry->data, entry->len, &hours)) return tb__entry_damaged(err);
        return tb__base_add_day(store, owner, day, &hours, err);
    }
    tb__country list[TB__COUNTRY_MAX];
    size_t n;
    if (!tb__entry_get_list(entry->data, entry->len, list, &n)) return tb__entry_damaged(err);
    return tb__base_add_countries(store, owner, day, list, n, err);
}

/* --- its life --- */

tb_code tb__write_buffer_open(tb_store *store, tb__write_buffer **ret_buffer, tb_error *err)
{
    tb__write_buffer *b = calloc(1, sizeof *b);
    if (!b) return tb_no_memory(err);
    b->store = store;
    b->filling = &b->halves[0];
    b->writing = &b->halves[1];
    *ret_buffer = b;
    const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int rc = sqlite3_create_function_v2(store->db, "tb_chunk_join", 3, flags, b, join_chunks, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(store->db, "tb_country_join", 4, flags, b, join_countries, NULL, NULL, NULL);
    return rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(store->db, rc, store->path, err);
}

void tb__write_buffer_drop(tb_store *store)
{
    tb__write_buffer *b = store->usage->buffer;
    if (!b) return;
    if (b->busy) store->helper.wait(store->helper.ctx);
    b->busy = false;
    for (int i = 0; i < 2; i++)
        b->halves[i].n = b->halves[i].len = 0;
    b->month.series = 0;
    b->code = TB_OK;
    b->largest = 0;
    store->rows_buffered = false;
}

void tb__write_buffer_free(tb__write_buffer *b)
{
    if (!b) return;
    if (b->busy) b->store->helper.wait(b->store->helper.ctx);
    for (int i = 0; i < 2; i++)
        free(b->halves[i].bytes);
    free(b);
}
