/* Undo of segments and of kept lines.
 *
 * What an undo keeps true, at every commit:
 * - A segment's row never changes. A row of `withdrawal`, written in the transaction that subtracts what the segment added,
 *   says that it is not known any more. Its refused lines are deleted, and the rungs that no known segment of the same log
 *   needs.
 * - A known segment that does not begin its input has a known segment before it. So what is left is still the longest
 *   known prefix of its input, and nothing is counted twice when that comes again.
 * - Of the request log as many lines go as are the same as lines of the input; of equal ones it does not matter which.
 *   The input's lines are packed with all their columns. A kept line is the same in every column, or has none of those that
 *   a zone keeps by a setting (EnableExtendedLogging), as the setting may have been another when it came. */
#include "store/logs/blocks.h"
#include "store/logs/log_run.h"
#include "store/logs/segment.h"

#include "base/hash.h"
#include "tollbook/audit.h"
#include "tollbook/intake.h"
#include "tollbook/json.h"
#include "tollbook/withdraw.h"

#include <stdlib.h>
#include <string.h>

/* --- what is known --- */

static tb_code taken_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_taken *ret = item;
    tb__known_from(s, &ret->known);
    ret->id = sqlite3_column_int64(s, 8);
    ret->lines_before = (uint64_t)sqlite3_column_int64(s, 9);
    ret->added_us = sqlite3_column_int64(s, 10);
    ret->samples = sqlite3_column_int64(s, 12);
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
    if (same) return TB_OK;
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "Its lines came to something else when they were taken: the catalogue's hostnames "
                   "or regions have changed since, or this tollbook reads them in another way. "
                   "Nothing was withdrawn.");
}

/* A segment has up to so many rungs: one for each doubling. */
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

/* Deletes the rungs that no known segment needs; *ret_seals: the sum of their seals. */
static tb_code drop_rungs(tb_store *store, int64_t segment, uint64_t *ret_seals, tb_error *err)
{
    rung_row list[RUNGS_MAX];
    size_t n = RUNGS_MAX;
    tb_code code = TB_OK;
    *ret_seals = 0;
    while (!code && n == RUNGS_MAX) {
        code = list_rungs(store, segment, list, &n, err);
        for (size_t i = 0; !code && i < n; i++) {
            const rung_row *one = &list[i];
            sqlite3_stmt *s;
            *ret_seals += (uint64_t)tb__seal_rung(one->head, one->length, one->hash);
            code = tb__sql(store, TB__SQL_RUNG_DELETE, &s, err);
            if (code) return code;
            sqlite3_bind_blob(s, 1, one->head, 16, SQLITE_STATIC);
            sqlite3_bind_int64(s, 2, one->length);
            sqlite3_bind_blob(s, 3, one->hash, 16, SQLITE_STATIC);
            code = tb__run(store, s, err);
        }
    }
    return code;
}

tb_code tb_store_withdraw_segment(tb_store *store, const tb_withdrawal *w, tb_error *err)
{
    const int64_t values[2] = {w->segment, w->now_us};
    uint64_t seals = 0;
    sqlite3_stmt *s;
    tb_code code = compare_segment(store, w, err);
    if (!code) code = drop_rungs(store, w->segment, &seals, err);
    if (!code) code = tb__run_ints(store, TB__SQL_REJECT_DUE_FORGET, &w->segment, 1, err);
    if (!code) code = tb__run_ints(store, TB__SQL_REJECT_DELETE, &w->segment, 1, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_WITHDRAWAL_INSERT, values, 2, &s, err);
    if (!code) {
        sqlite3_bind_text(s, 3, w->source ? w->source : "", -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 4, (int64_t)seals);
        code = tb__run(store, s, err);
    }
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

#define SOURCE_CUT 1000 /* bytes of a name in the audit log */
#define GOES_ON_US (24 * INT64_C(3600000000)) /* the commits of one undo follow each other within a day */

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

/* The length of what an entry's arguments begin with, up to the head: the same in every commit of an undo. */
static size_t same_arguments(const char *text)
{
    const char *end = strstr(text, "\",\"lines\":");
    return end ? (size_t)(end - text) : 0;
}

/* Whether the entry is of this undo. */
static tb_code is_of_undo(tb_store *store, const tb_withdrawn *done, const tb_audit_entry *entry, bool *ret_so,
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
    bool there = false;
    tb_buf_init(&arguments, TB_AUDIT_ARGUMENTS_MAX, NULL);
    put_arguments(done, &arguments);
    tb_code code = tb_buf_check(&arguments, err);
    const bool log = done->kind == TB_BATCH_LOG;
    const tb_audit_entry entry = {.at_us = done->now_us,
                                  .key = done->key,
                                  .origin = done->origin ? done->origin : "",
                                  .operation = log ? "ingest --withdraw" : "import --withdraw",
                                  .arguments = arguments.data};
    if (!code) code = is_of_undo(store, done, &entry, &there, err);
    if (!code && !there) code = tb_store_audit_add(store, &entry, err);
    if (!code && !there && done->entry) code = tb_store_audit_newest(store, done->entry, err);
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

/* --- kept lines --- */

/* A line in one of the forms in which it may have been kept. */
typedef struct form {
    uint64_t hash;
    size_t line;
} form;

/* With the columns of EnableExtendedLogging and without them; with those of the client's network and without them, since an
 * older tollbook did not keep these. */
#define FORMS 4

typedef struct dropping {
    form *forms;   /* of the lines to drop, ascending */
    size_t n_forms;
    bool *dropped; /* of each line: it was found */
    size_t n, left; /* lines */
    uint64_t seed;  /* of their hashes */
    tb_logblock *block; /* the one that is read */
    tb_logpack *pack;
    tb_logrow row;
    tb_buf out;
    uint16_t rows[TB_LOGBLOCK_LINES]; /* of the block, those that are kept */
    int64_t times[TB_LOGBLOCK_LINES];
    tb_code code; /* of reading a row while it is packed */
    tb_error err;
} dropping;

static uint64_t line_hash(const tb_logline *line, uint64_t seed)
{
    const uint64_t numbers[3] = {(uint64_t)line->time_ms, line->bytes, line->body_bytes};
    const tb_text texts[] = {line->cache,  line->status, line->ip, line->referer,
                             line->origin, line->path,   line->edge, line->agent,
                             line->id,     line->country, line->range, line->authorization,
                             line->ja4,    line->asn,    line->organization};
    uint64_t hash = XXH3_64bits_withSeed(numbers, sizeof numbers, seed);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const uint64_t len = texts[i].len;
        hash = XXH3_64bits_withSeed(&len, sizeof len, hash);
        if (len) hash = XXH3_64bits_withSeed(texts[i].data, len, hash);
    }
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = ((const form *)a)->hash, y = ((const form *)b)->hash;
    return (x > y) - (x < y);
}

static void add_forms(dropping *d, size_t i, const tb_logline *line)
{
    tb_logline plain = *line;
    plain.body_bytes = UINT64_MAX;
    plain.range.len = plain.authorization.len = 0;
    d->forms[d->n_forms++] = (form){line_hash(line, d->seed), i};
    d->forms[d->n_forms++] = (form){line_hash(&plain, d->seed), i};
}

/* The lines of the input's block, which is open, in all their forms. */
static tb_code list_forms(dropping *d, tb_error *err)
{
    d->n_forms = 0;
    for (size_t i = 0; i < d->n; i++) {
        const tb_code code = tb_logblock_row(d->block, i, &d->row, err);
        if (code) return code;
        tb_logline *line = &d->row.line;
        add_forms(d, i, line);
        if (line->ja4.len + line->asn.len + line->organization.len == 0) continue;
        line->ja4.len = line->asn.len = line->organization.len = 0;
        add_forms(d, i, line);
    }
    if (d->n > 0) qsort(d->forms, d->n_forms, sizeof *d->forms, by_hash);
    return TB_OK;
}

/* Whether a kept line is one of those to drop that were not found yet. */
static bool drops(dropping *d, uint64_t hash)
{
    size_t lo = 0, hi = d->n_forms;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (d->forms[mid].hash < hash) lo = mid + 1;
        else hi = mid;
    }
    for (; lo < d->n_forms && d->forms[lo].hash == hash; lo++) {
        bool *dropped = &d->dropped[d->forms[lo].line];
        if (*dropped) continue;
        *dropped = true;
        d->left--;
        return true;
    }
    return false;
}

static void kept_line(void *ctx, size_t i, tb_logline *ret_line)
{
    dropping *d = ctx;
    tb_error err;
    tb_code code = tb_logblock_row(d->block, d->rows[i], &d->row, &err);
    if (code && !d->code) {
        d->code = code;
        d->err = err;
    }
    if (code) *ret_line = (tb_logline){.body_bytes = UINT64_MAX};
    else *ret_line = d->row.line;
}

/* Writes the block that is open without the lines to drop, where it has any. */
static tb_code drop_from(dropping *d, tb_store *store, const tb__log_holder *of, void *found, size_t at, tb_error *err)
{
    tb__log_piece by;
    size_t kept = 0;
    tb_code code = of->open(store, found, at, d->block, err);
    if (code) return code;
    tb_logblock_info(d->block, &by.info);
    const size_t n = by.info.lines;
    for (size_t i = 0; !code && i < n; i++) {
        code = tb_logblock_row(d->block, i, &d->row, err);
        if (code || drops(d, line_hash(&d->row.line, d->seed))) continue;
        d->times[kept] = tb_logblock_time(d->block, i);
        d->rows[kept++] = (uint16_t)i;
    }
    if (code || kept == n) return code;
    if (!kept) return of->replace(store, found, at, NULL, err);
    d->out.len = 0;
    d->out.failed = false;
    d->code = TB_OK;
    code = tb_logpack_block(d->pack, &(tb_loglines){by.info.zone, d->times, kept, kept_line, d}, &d->out, &by.info, err);
    if (!code && d->code) {
        if (err) *err = d->err;
        return d->code;
    }
    by.bytes = (tb_text){d->out.data, d->out.len};
    return code ? code : of->replace(store, found, at, &by, err);
}

tb_code tb__log_subtract(tb_store *store, const tb__log_holder *of, const tb__log_piece *lines, uint64_t *removed,
                         tb_error *err)
{
    const size_t n = lines->info.lines;
    void *found = NULL;
    size_t n_found = 0;
    dropping *d = calloc(1, sizeof *d);
    if (!d) return tb_no_memory(err);
    d->n = d->left = n;
    d->seed = tb__hash_seed();
    d->block = tb_logblock_new();
    d->pack = tb_logpack_new();
    d->forms = calloc(FORMS * n + 1, sizeof *d->forms);
    d->dropped = calloc(n + 1, sizeof *d->dropped);
    tb_buf_init(&d->out, TB_LOGBLOCK_MAX, NULL);
    tb_code code = d->block && d->pack && d->forms && d->dropped ? TB_OK : tb_no_memory(err);
    if (!code) code = tb_logblock_open(d->block, lines->bytes.data, lines->bytes.len, lines->info.zone, err);
    if (!code) code = list_forms(d, err);
    if (!code) code = of->overlapping(store, &lines->info, &found, &n_found, err);
    for (size_t i = 0; !code && i < n_found && d->left; i++)
        code = drop_from(d, store, of, found, i, err);
    of->free(found);
    if (!code) *removed += n - d->left;
    tb_logblock_free(d->block);
    tb_logpack_free(d->pack);
    tb_buf_release(&d->out);
    free(d->forms);
    free(d->dropped);
    free(d);
    return code;
}

/* --- kept lines in the file --- */

typedef struct rows {
    int64_t *id, seal; /* seal: of the one opened last */
} rows;

static void rows_free(void *found)
{
    rows *r = found;
    if (r) free(r->id);
    free(r);
}

static tb_code rows_find(tb_store *store, const tb_loginfo *span, void **ret_found, size_t *ret_n, tb_error *err)
{
    const int64_t bounds[3] = {span->zone, span->first_ms, span->last_ms};
    rows *r = calloc(1, sizeof *r);
    *ret_found = r;
    return r ? tb__list_ints(store, TB__SQL_LOG_OVERLAPPING, bounds, 3, &r->id, ret_n, err) : tb_no_memory(err);
}

static tb_code rows_open(tb_store *store, void *found, size_t i, tb_logblock *block, tb_error *err)
{
    rows *r = found;
    return tb__log_open(store, r->id[i], block, &r->seal, err);
}

static tb_code rows_replace(tb_store *store, void *found, size_t i, const tb__log_piece *by, tb_error *err)
{
    const rows *r = found;
    tb_code code = tb__log_delete(store, r->id[i], r->seal, err);
    return code || !by ? code : tb__log_insert(store, r->id[i], &by->info, by->bytes.data, by->bytes.len, err);
}

static const tb__log_holder file_holder = {rows_find, rows_open, rows_replace, rows_free};

tb_code tb__log_rows_subtract(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                              uint64_t *removed, tb_error *err)
{
    store->scrub = true;
    tb_code code = tb__log_compact_all(store, err);
    return code ? code : tb__log_subtract(store, &file_holder, &(tb__log_piece){*info, {bytes, len}}, removed, err);
}
