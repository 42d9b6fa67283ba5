/* Segments that are taken back. A segment's row never changes: what says that it is known no more is a
 * row of `withdrawal`, written in the transaction that takes off what the segment added. Its refused lines
 * go, and so do the rungs that no known segment of the same log stands over.
 *
 * What holds at every commit: a known segment that does not begin its input has a known one before it.
 * So whatever is withdrawn, the rest is still the longest known prefix of its input, and nothing is
 * counted twice when that comes again. */
#include "store/logs/segment.h"
#include "tollbook/audit.h"
#include "tollbook/json.h"
#include "tollbook/withdraw.h"

#include <string.h>

/* --- what is known --- */

static tb_code taken_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_taken *ret = item;
    tb__known_from(s, &ret->known);
    ret->id = sqlite3_column_int64(s, 8);
    ret->lines_before = (uint64_t)sqlite3_column_int64(s, 9);
    ret->added_us = sqlite3_column_int64(s, 10);
    return tb__copy_text(s, 11, ret->name, sizeof ret->name, err);
}

static const tb__rows taken_rows = {sizeof(tb_taken), taken_from, NULL};

tb_code tb_store_taken(tb_store *store, tb_batch_kind kind, tb_hash128 head, const char *name,
                       tb_taken **ret_taken, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql(store, name ? TB__SQL_TAKEN_BY_NAME : TB__SQL_TAKEN_BY_HEAD, &s, err);
    if (code) return code;
    tb__hash_bytes(head, bytes);
    if (name) {
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
        sqlite3_bind_int64(s, 2, kind);
    }
    return tb__collect(store, s, &taken_rows, ret_taken, ret_n, err);
}

tb_code tb_store_taken_at(tb_store *store, const tb_segment_place *place, tb_taken **ret_taken, size_t *ret_n,
                          tb_error *err)
{
    const int64_t values[4] = {0, place->kind, (int64_t)place->start, (int64_t)place->length};
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql_ints(store, TB__SQL_TAKEN_AT, values, 4, &s, err);
    if (code) return code;
    tb__hash_bytes(place->head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    return tb__collect(store, s, &taken_rows, ret_taken, ret_n, err);
}

tb_code tb_store_withdrawn_end(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                               uint64_t length, uint64_t lines, bool *ret_withdrawn, tb_error *err)
{
    const int64_t values[4] = {0, kind, (int64_t)length, (int64_t)lines};
    sqlite3_stmt *s;
    uint8_t bytes[16];
    tb_code code = tb__sql_ints(store, TB__SQL_WITHDRAWN_END, values, 4, &s, err);
    if (code) return code;
    tb__hash_bytes(head, bytes);
    sqlite3_bind_blob(s, 1, bytes, 16, SQLITE_TRANSIENT);
    code = tb__step(store, s, ret_withdrawn, err);
    sqlite3_reset(s);
    return code;
}

/* --- pending rows --- */

tb_code tb_store_compact_pending(tb_store *store, tb_compact_walk *walk, bool *ret_more, tb_error *err)
{
    const tb__counters *counters = store->plane.counters;
    const tb__log_lines *logs = store->plane.logs;
    const bool dirty = store->dirty;
    tb_code code = TB_OK;
    *ret_more = false;
    if (counters->compact) code = counters->compact(store, walk->counters, ret_more, err);
    if (!code && !*ret_more && walk->logs && logs->compact) code = logs->compact(store, &walk->lines, ret_more, err);
    store->dirty = dirty; /* what is read stays the same, and so does its version */
    return code;
}

/* --- a segment --- */

static tb_code read_otherwise(tb_error *err)
{
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "Its lines came to something else when they were taken: the catalogue's hostnames "
                   "or regions have changed since, or this tollbook reads them in another way. "
                   "Nothing was withdrawn.");
}

/* Whether the segment's row says what its lines came to now. */
static tb_code compare_segment(tb_store *store, const tb_withdrawal *w, tb_error *err)
{
    const tb_segment now = {.ambiguous = w->ambiguous, .heads = w->heads};
    const int64_t lines[4] = {w->segment, 0, (int64_t)w->accepted, (int64_t)w->rejected};
    sqlite3_stmt *s;
    bool row = false, same = false;
    tb_buf sums;
    tb_buf_init(&sums, 4096, NULL);
    tb__sums_json(store, &now, &sums);
    tb_code code = tb_buf_check(&sums, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_SEGMENT_SAYS, lines, 4, &s, err);
    if (!code) {
        sqlite3_bind_text(s, 2, sums.data, (int)sums.len, SQLITE_STATIC);
        code = tb__step(store, s, &row, err);
    }
    if (!code && row) {
        same = sqlite3_column_int(s, 0) != 0;
        sqlite3_reset(s);
    }
    tb_buf_release(&sums);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_INTERNAL, NULL, "The segment is not known.");
    return same ? TB_OK : read_otherwise(err);
}

#define SOURCE_CUT 1000 /* bytes of a name in the audit log */

/* Up to so many rungs of a segment: one for each doubling. */
#define RUNGS_MAX 64

typedef struct rung_row {
    uint8_t head[16], hash[16];
    int64_t length;
} rung_row;

static tb_code list_rungs(tb_store *store, int64_t segment, rung_row *list, size_t *ret_n,
                          tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    *ret_n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_RUNGS_LEFT, &segment, 1, &s, err);
    while (!code && *ret_n < RUNGS_MAX && !(code = tb__step(store, s, &row, err)) && row) {
        rung_row *one = &list[*ret_n];
        const void *head = sqlite3_column_blob(s, 0), *hash = sqlite3_column_blob(s, 2);
        if (!head || !hash) code = tb_no_memory(err);
        if (code) break;
        memcpy(one->head, head, 16);
        memcpy(one->hash, hash, 16);
        one->length = sqlite3_column_int64(s, 1);
        (*ret_n)++;
    }
    if (code != TB_OK || row) sqlite3_reset(s);
    return code;
}

static tb_code delete_rung(tb_store *store, const rung_row *one, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_RUNG_DELETE, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 1, one->head, 16, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, one->length);
    sqlite3_bind_blob(s, 3, one->hash, 16, SQLITE_STATIC);
    return tb__run(store, s, err);
}

/* *ret_seals: the sum of the seals of those that went. */
static tb_code drop_rungs(tb_store *store, int64_t segment, uint64_t *ret_seals, tb_error *err)
{
    rung_row list[RUNGS_MAX];
    size_t n = RUNGS_MAX;
    tb_code code = TB_OK;
    *ret_seals = 0;
    while (!code && n == RUNGS_MAX) {
        code = list_rungs(store, segment, list, &n, err);
        for (size_t i = 0; !code && i < n; i++) {
            *ret_seals += (uint64_t)tb__seal_rung(list[i].head, list[i].length, list[i].hash);
            code = delete_rung(store, &list[i], err);
        }
    }
    return code;
}

static tb_code insert_withdrawal(tb_store *store, const tb_withdrawal *w, uint64_t rungs,
                                 tb_error *err)
{
    sqlite3_stmt *s;
    const int64_t values[2] = {w->segment, w->now_us};
    tb_code code = tb__sql_ints(store, TB__SQL_WITHDRAWAL_INSERT, values, 2, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 3, w->source ? w->source : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, (int64_t)rungs);
    return tb__run(store, s, err);
}

tb_code tb_store_withdraw_segment(tb_store *store, const tb_withdrawal *w, tb_error *err)
{
    uint64_t rungs = 0;
    tb_code code = compare_segment(store, w, err);
    if (!code) code = drop_rungs(store, w->segment, &rungs, err);
    if (!code) code = tb__run_ints(store, TB__SQL_REJECT_DUE_FORGET, &w->segment, 1, err);
    if (!code) code = tb__run_ints(store, TB__SQL_REJECT_DELETE, &w->segment, 1, err);
    if (!code) code = insert_withdrawal(store, w, rungs, err);
    store->dirty = store->scrub = true;
    tb__segment_reset(store);
    return code;
}

static tb_code check_follower(tb_store *store, int64_t segment, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SEGMENT_LEFT, &segment, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *source = (const char *)sqlite3_column_text(s, 0);
    const char *name = (const char *)sqlite3_column_text(s, 1);
    code = tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "More of this log was taken than this input holds, from %.120s%s%.80s. Withdraw "
                   "the longest copy of it. Nothing was withdrawn.",
                   source ? source : "?", name && *name ? ", batch " : "", name ? name : "");
    sqlite3_reset(s);
    return code;
}

/* --- the audit log --- */

/* An entry tells of no other undo than the one whose commits follow each other. */
#define GOES_ON_US (24 * INT64_C(3600000000))

static void put_arguments(const tb_withdrawn *done, tb_buf *out)
{
    const size_t listed =
        done->n_segments < TB_WITHDRAWN_LISTED ? done->n_segments : TB_WITHDRAWN_LISTED;
    const char *source = done->source ? done->source : "";
    uint8_t head[16];
    tb__hash_bytes(done->head, head);
    tb_buf_str(out, "{\"file\":");
    tb_json_string(out, source, strnlen(source, SOURCE_CUT));
    if (done->batch) {
        tb_buf_str(out, ",\"batch\":");
        tb_json_string(out, done->batch, strlen(done->batch));
    }
    tb_buf_str(out, ",\"head\":\"");
    for (size_t i = 0; i < sizeof head; i++)
        tb_buf_fmt(out, "%02x", head[i]);
    tb_buf_fmt(out, "\",\"lines\":%llu,\"segments\":%zu,\"ids\":[", (unsigned long long)done->lines,
               done->n_segments);
    for (size_t i = 0; i < listed; i++)
        tb_buf_fmt(out, "%s%lld", i ? "," : "", (long long)done->segments[i]);
    tb_buf_str(out, "]}");
    tb_buf_add(out, "", 1);
}

/* What an entry's arguments begin with, up to the head: the same in every commit of an undo. */
static size_t same_arguments(const char *text)
{
    const char *end = strstr(text, "\",\"lines\":");
    return end ? (size_t)(end - text) : 0;
}

/* Whether the entry is of this undo. */
static tb_code tells_of(tb_store *store, const tb_withdrawn *done, const tb_audit_entry *entry, bool *ret_so,
                        tb_error *err)
{
    tb_audit_entry *list = NULL;
    size_t n = 0;
    *ret_so = false;
    if (!done->entry || *done->entry < 1) return TB_OK;
    tb_code code = tb_store_audit(store, *done->entry - 1, 1, &list, &n, err);
    if (code) return code;
    const size_t same = same_arguments(entry->arguments);
    *ret_so = n > 0 && list->id == *done->entry && list->key == entry->key && strcmp(list->operation, entry->operation) == 0 &&
              entry->at_us - list->at_us < GOES_ON_US && entry->at_us >= list->at_us && same > 0 &&
              same == same_arguments(list->arguments) && memcmp(list->arguments, entry->arguments, same) == 0;
    tb_audit_release(list);
    return TB_OK;
}

static tb_code audit_withdrawal(tb_store *store, const tb_withdrawn *done, tb_error *err)
{
    tb_buf arguments;
    bool told = false;
    tb_buf_init(&arguments, TB_AUDIT_ARGUMENTS_MAX, NULL);
    put_arguments(done, &arguments);
    tb_code code = tb_buf_check(&arguments, err);
    const bool log = done->kind == TB_BATCH_LOG;
    const tb_audit_entry entry = {.at_us = done->now_us,
                                  .key = done->key,
                                  .origin = done->origin ? done->origin : "",
                                  .operation = log ? "ingest --withdraw" : "import --withdraw",
                                  .arguments = arguments.data};
    if (!code) code = tells_of(store, done, &entry, &told, err);
    if (!code && !told) code = tb_store_audit_add(store, &entry, err);
    if (!code && !told && done->entry) code = tb_store_audit_newest(store, done->entry, err);
    tb_buf_release(&arguments);
    return code;
}

tb_code tb_store_withdraw_end(tb_store *store, const tb_withdrawn *withdrawn, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < withdrawn->n_segments; i++)
        code = check_follower(store, withdrawn->segments[i], err);
    return code ? code : audit_withdrawal(store, withdrawn, err);
}
