/* Segments: which bytes of which input are in the store, and the rungs between their ends. A segment's
 * row is written in the transaction that holds its effect, so an input is never half remembered. */
#include "store/core/seal.h"
#include "store/logs/segment.h"
#include "tollbook/json.h"

#include <stdlib.h>
#include <string.h>

void tb__segment_reset(tb_store *store)
{
    memset(store->sums, 0, sizeof store->sums);
    store->country_requests = store->country_bytes = store->rung_seals = 0;
    store->cells = 0;
    store->metered = 0;
    store->rejects_kept = 0;
    store->segment_newest = INT64_MIN;
    store->next_segment = 0;
}

int64_t tb_store_segment_newest(const tb_store *store)
{
    return store->segment_newest;
}

tb_code tb__segment_id(tb_store *store, tb_error *err)
{
    if (store->next_segment) return TB_OK;
    return tb__next_id(store, TB__SQL_SEGMENT_NEXT, "segment", &store->next_segment, err);
}

/* Behind the metrics. Those of rungs and cells are modulo 2^64. */
static const char *const other_sums[TB__SUMS - TB_METRIC_COUNT] = {
    TB__COUNTRY_REQUESTS, TB__COUNTRY_BYTES, TB__REJECTS_KEPT, TB__RUNG_SEALS, TB__AMBIGUOUS, TB__HEADS, TB__CELLS,
    TB__METERED, TB__SAMPLES};
#define SUM_RUNG_SEALS (TB_METRIC_COUNT + 3)
#define SUM_CELLS      (TB_METRIC_COUNT + 6)

static const char *sum_name(int i)
{
    return i < TB_METRIC_COUNT ? tb_metric_table[i].name : other_sums[i - TB_METRIC_COUNT];
}

/* {"requests":"123",…}: decimal text, for sums may pass 2^63. Zero sums are left out. */
void tb__sums_put(const tb_u128 of[TB__SUMS], tb_buf *out)
{
    char digits[TB_U128_TEXT_MAX];
    for (int i = 0; i < TB__SUMS; i++) {
        if (!of[i]) continue;
        tb_buf_str(out, out->len ? "\",\"" : "{\"");
        tb_buf_str(out, sum_name(i));
        tb_buf_str(out, "\":\"");
        tb_buf_add(out, digits, (size_t)(tb_put_u128(digits, of[i]) - digits));
    }
    tb_buf_str(out, out->len ? "\"}" : "{}");
}

void tb__sums_json(const tb_store *store, const tb_segment *segment, tb_buf *out)
{
    tb_u128 of[TB__SUMS];
    const tb_u128 others[] = {store->country_requests, store->country_bytes, store->rejects_kept, store->rung_seals,
                              segment->ambiguous,      segment->heads,       store->cells,         store->metered, (tb_u128)segment->samples};
    memcpy(of, store->sums, sizeof store->sums);
    memcpy(of + TB_METRIC_COUNT, others, sizeof others);
    tb__sums_put(of, out);
}

/* Passes over a text in quotes. */
static bool take_quoted(const char **at, const char *end, tb_text *ret)
{
    if (*at == end || **at != '"') return false;
    const char *first = *at + 1, *last = memchr(first, '"', (size_t)(end - first));
    if (!last) return false;
    *ret = (tb_text){first, (size_t)(last - first)};
    *at = last + 1;
    return true;
}

static bool add_sum(tb_text name, tb_text digits, tb_u128 of[TB__SUMS])
{
    tb_u128 value = 0;
    int i = 0;
    while (i < TB__SUMS && (strlen(sum_name(i)) != name.len || memcmp(sum_name(i), name.data, name.len) != 0))
        i++;
    if (i == TB__SUMS || digits.len < 1 || digits.len + 1 >= TB_U128_TEXT_MAX) return false;
    for (size_t k = 0; k < digits.len; k++) {
        if (digits.data[k] < '0' || digits.data[k] > '9') return false;
        value = value * 10 + (unsigned)(digits.data[k] - '0');
    }
    of[i] = i == TB__SUM_SAMPLES ? value : of[i] + value;
    if (i == SUM_RUNG_SEALS || i == SUM_CELLS) of[i] = (uint64_t)of[i];
    return true;
}

bool tb__sums_add(tb_text text, tb_u128 of[TB__SUMS])
{
    const char *at = text.data, *end = at + text.len;
    tb_text name, digits;
    if (text.len == 2 && memcmp(at, "{}", 2) == 0) return true;
    for (char before = '{'; at < end && *at == before; before = ',') {
        at++;
        if (!take_quoted(&at, end, &name) || at == end || *at++ != ':' || !take_quoted(&at, end, &digits) ||
            !add_sum(name, digits, of))
            return false;
    }
    return at + 1 == end && *at == '}';
}

/* Big-endian, so that the bytes read like the number. */
void tb__hash_bytes(tb_hash128 hash, uint8_t out[16])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(hash.high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
    }
}

tb_hash128 tb__hash_from(const uint8_t *in)
{
    tb_hash128 hash = {0, 0};
    for (int i = 0; in && i < 8; i++) {
        hash.high = hash.high << 8 | in[i];
        hash.low = hash.low << 8 | in[8 + i];
    }
    return hash;
}

static tb_code insert_segment(tb_store *store, const tb_segment *g, const tb_buf *sums,
                              tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SEGMENT_INSERT, &s, err);
    if (code) return code;
    uint8_t hash[16], head[16];
    tb__hash_bytes(g->hash, hash);
    tb__hash_bytes(g->head, head);
    sqlite3_bind_int64(s, 1, store->next_segment);
    sqlite3_bind_int64(s, 2, g->kind);
    if (g->name) sqlite3_bind_text(s, 3, g->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, g->source ? g->source : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, (int64_t)g->start);
    sqlite3_bind_int64(s, 6, (int64_t)g->length);
    sqlite3_bind_blob(s, 7, hash, 16, SQLITE_STATIC);
    sqlite3_bind_blob(s, 8, head, 16, SQLITE_STATIC);
    sqlite3_bind_int64(s, 9, (int64_t)g->lines_before);
    sqlite3_bind_int64(s, 10, (int64_t)g->accepted);
    sqlite3_bind_int64(s, 11, (int64_t)g->rejected);
    sqlite3_bind_int64(s, 12, g->final);
    sqlite3_bind_int64(s, 13, g->now_us);
    sqlite3_bind_text(s, 14, sums->data, (int)sums->len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_add_segment(tb_store *store, const tb_segment *segment, int64_t *ret_segment_id,
                             tb_error *err)
{
    tb_buf sums;
    tb_buf_init(&sums, 4096, NULL);
    tb__sums_json(store, segment, &sums);
    tb_code code = tb_buf_check(&sums, err);
    if (!code) code = tb__segment_id(store, err);
    if (!code) code = insert_segment(store, segment, &sums, err);
    if (!code) code = tb__rejects_due(store, segment->now_us, err);
    tb_buf_release(&sums);
    if (code) return code;
    if (ret_segment_id) *ret_segment_id = store->next_segment;
    store->dirty = true;
    tb__segment_reset(store);
    return TB_OK;
}

void tb__known_from(sqlite3_stmt *s, tb_known *ret)
{
    *ret = (tb_known){.start = (uint64_t)sqlite3_column_int64(s, 0),
                      .length = (uint64_t)sqlite3_column_int64(s, 1),
                      .lines = (uint64_t)sqlite3_column_int64(s, 2),
                      .accepted = (uint64_t)sqlite3_column_int64(s, 3),
                      .rejected = (uint64_t)sqlite3_column_int64(s, 4),
                      .hash = tb__hash_from(sqlite3_column_blob(s, 5)),
                      .kind = (tb_batch_kind)sqlite3_column_int(s, 6),
                      .final = sqlite3_column_int(s, 7) != 0};
}

static tb_code known_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    tb__known_from(s, item);
    return TB_OK;
}

static const tb__rows known_rows = {sizeof(tb_known), known_from, NULL};

tb_code tb_store_known_by_head(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                               tb_known **ret_known, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql(store, TB__SQL_SEGMENTS_BY_HEAD, &s, err);
    if (code) return code;
    tb__hash_bytes(head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 2, kind);
    return tb__collect(store, s, &known_rows, ret_known, ret_n, err);
}

/* most 0: all. */
static tb_code list_known(tb_store *store, tb__statement which, tb_batch_kind kind, tb_hash128 head, uint64_t at,
                          int most, tb_known **ret_known, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql(store, which, &s, err);
    if (code) return code;
    tb__hash_bytes(head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 2, kind);
    sqlite3_bind_int64(s, 3, (int64_t)at);
    if (most) sqlite3_bind_int(s, 4, most);
    return tb__collect(store, s, &known_rows, ret_known, ret_n, err);
}

tb_code tb_store_known_from(tb_store *store, tb_batch_kind kind, tb_hash128 head, uint64_t from,
                            tb_known **ret_known, size_t *ret_n, tb_error *err)
{
    return list_known(store, TB__SQL_SEGMENTS_FROM, kind, head, from, 0, ret_known, ret_n, err);
}

tb_code tb_store_known_before(tb_store *store, tb_batch_kind kind, tb_hash128 head, uint64_t before,
                              tb_known **ret_known, size_t *ret_n, tb_error *err)
{
    return list_known(store, TB__SQL_SEGMENTS_BEFORE, kind, head, before, TB_KNOWN_BEFORE, ret_known, ret_n,
                      err);
}

/* The segment before is the last one that starts earlier, but for forks of the same log: so the search
 * goes backwards. */
tb_code tb_store_known_end(tb_store *store, const tb_input_position *end, bool *ret_known,
                           uint64_t *ret_start, tb_error *err)
{
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql(store, TB__SQL_SEGMENT_END, &s, err);
    if (code) return code;
    tb__hash_bytes(end->head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 2, end->kind);
    sqlite3_bind_int64(s, 3, (int64_t)end->length);
    sqlite3_bind_int64(s, 4, (int64_t)end->lines);
    code = tb__step(store, s, ret_known, err);
    if (!code && *ret_known && ret_start) *ret_start = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_known_by_name(tb_store *store, const char *name, tb_known **ret_known,
                               size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SEGMENTS_BY_NAME, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    return tb__collect(store, s, &known_rows, ret_known, ret_n, err);
}

tb_code tb_store_batch_is_bare(tb_store *store, const char *id, int64_t account, bool *ret_so, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_BATCH_IS_BARE, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, account);
    code = tb__step(store, s, ret_so, err);
    sqlite3_reset(s);
    return code;
}

/* --- rungs --- */

int64_t tb__seal_rung(const void *head, int64_t length, const void *hash)
{
    return tb__seal(hash, 16, tb__seal(head, 16, length));
}

tb_code tb_store_add_rungs(tb_store *store, tb_hash128 head, const tb_rung *rungs, size_t n,
                           tb_error *err)
{
    uint8_t head_bytes[16], hash[16];
    tb__hash_bytes(head, head_bytes);
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *s;
        tb_code code = tb__sql(store, TB__SQL_RUNG_INSERT, &s, err);
        if (code) return code;
        tb__hash_bytes(rungs[i].hash, hash);
        sqlite3_bind_blob(s, 1, head_bytes, 16, SQLITE_STATIC);
        sqlite3_bind_int64(s, 2, (int64_t)rungs[i].length);
        sqlite3_bind_blob(s, 3, hash, 16, SQLITE_STATIC);
        code = tb__run(store, s, err);
        if (code) return code;
        if (sqlite3_changes(store->db) == 1)
            store->rung_seals += (uint64_t)tb__seal_rung(head_bytes, (int64_t)rungs[i].length, hash);
    }
    return TB_OK;
}

tb_code tb__rungs_adopt(tb_store *store, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    uint64_t sum = 0;
    tb_code code = tb__sql(store, TB__SQL_RUNGS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const void *head = sqlite3_column_blob(s, 0), *hash = sqlite3_column_blob(s, 2);
        if (!head || !hash) code = tb_no_memory(err);
        else if (sqlite3_column_bytes(s, 0) != 16 || sqlite3_column_bytes(s, 2) != 16)
            code = tb_fail(err, TB_E_CORRUPT, "rung", "%s: a row of rung is damaged.", store->path);
        else sum += (uint64_t)tb__seal_rung(head, sqlite3_column_int64(s, 1), hash);
        if (code) sqlite3_reset(s);
    }
    return code ? code : tb__meta_set(store, "rungs_before", (int64_t)sum, err);
}

static tb_code rung_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(tb_rung *)item = (tb_rung){.length = (uint64_t)sqlite3_column_int64(s, 0),
                                 .hash = tb__hash_from(sqlite3_column_blob(s, 1))};
    return TB_OK;
}

static const tb__rows rung_rows = {sizeof(tb_rung), rung_from, NULL};

tb_code tb_store_rungs_by_head(tb_store *store, tb_hash128 head, tb_rung **ret_rungs, size_t *ret_n,
                               tb_error *err)
{
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql(store, TB__SQL_RUNGS_BY_HEAD, &s, err);
    if (code) return code;
    tb__hash_bytes(head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    return tb__collect(store, s, &rung_rows, ret_rungs, ret_n, err);
}

tb_code tb_store_sources(tb_store *store, int64_t most, tb_source_fn each, void *ctx, tb_error *err)
{
    const int64_t values[2] = {TB_SOURCES_SEGMENTS, most};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_SOURCES, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        each(ctx, &(tb_source){.name = (const char *)sqlite3_column_text(s, 0),
                               .kind = (tb_batch_kind)sqlite3_column_int(s, 1),
                               .newest_us = sqlite3_column_int64(s, 2),
                               .segments = (uint64_t)sqlite3_column_int64(s, 3),
                               .accepted = (uint64_t)sqlite3_column_int64(s, 4),
                               .rejected = (uint64_t)sqlite3_column_int64(s, 5)});
    return code;
}
