/* Late usage: usage that arrives for an account's month after that month was run, whatever its outcome, or after a
 * closing that accrues it. It is added to the chunks like all usage, and also to an append-only table, one row for
 * each day of a zone's edge location or of a balancer and each batch, so that the month can be read as of any run's
 * watermark or closing's version: the current usage less later late usage.
 *
 * Usage that is withdrawn from such a month is late with the other sign. The row is the same, but its checksum is
 * made with the complement of the key.
 *
 * Ordinary batches pay one comparison a day: months after the last one ever run cannot be late. Days of earlier
 * months are kept in memory until their batch is written, as a query between rows of usage would flush the write
 * buffer. A row's data is a chunk of hours; its checksum covers the row's other columns too.
 *
 * What changes a closed day of such a month is also kept with all its counters, in proof_late: the log of documents says more of a
 * day than bills need. It is a table of its own, so that a change which no bill counts makes no month late. */
#include "base/hash.h"
#include "store/money/billing.h"
#include "store/usage/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const tb_metric zone_metrics[2] = {TB_M_BYTES, TB_M_BALANCER_REQUESTS};
static const tb_metric balancer_metrics[1] = {TB_M_REQUESTS};
static const tb_metric meter_metrics[TB__LATE_COUNTERS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

const tb_metric *tb__late_metrics(int scope, int *ret_n)
{
    switch (scope) {
    case TB__SCOPE_ZONE: *ret_n = 2; return zone_metrics;
    case TB__SCOPE_METER: *ret_n = TB__LATE_COUNTERS; return meter_metrics;
    default: *ret_n = 1; return balancer_metrics;
    }
}

/* --- noting --- */

/* A late day to be stored: the counters that billing needs. */
typedef struct tb__late_row {
    tb__late_of of;
    int64_t day;
    bool counts; /* some of the counters that billing needs are not 0 */
    uint32_t slots, metrics;
    uint64_t value[TB__LATE_COUNTERS][24];
    uint8_t *whole; /* a closed day's: all counters, for proof_late; else NULL */
    size_t whole_len;
} tb__late_row;

/* With more rows than this they are written early: 10 MiB. */
#define ROWS_MAX 4096
/* Fewer are sealed by the trigger, which costs less than to switch it off. */
#define TRIGGERED_MAX 512

void tb__late_drop(tb_store *store)
{
    for (size_t i = 0; i < store->n_late; i++)
        free(store->late[i].whole);
    store->n_late = 0;
}

/* The slot of a month in the cache. */
static unsigned landed_at(int64_t month)
{
    return (unsigned)((uint64_t)month % TB__LANDED);
}

/* *ret: the month was run, for the account or for all accounts, or a closing depends on it. */
static tb_code is_noted(tb_store *store, int64_t account, int64_t month, bool *ret, tb_error *err)
{
    const int64_t values[2] = {account, month};
    const unsigned i = landed_at(month);
    int64_t found = 0;
    if (store->asked_account != account) memset(store->asked_month, 0, sizeof store->asked_month);
    store->asked_account = account;
    if (store->asked_month[i] != month + 1) {
        tb_code code = tb__int_of(store, TB__SQL_LATE_NOTED, values, 2, 0, &found, err);
        if (code) return code;
        store->asked_month[i] = month + 1;
        store->asked_noted[i] = found != 0;
    }
    *ret = store->asked_noted[i];
    return TB_OK;
}

void tb__late_forget(tb_store *store)
{
    store->late_known = false;
    store->asked_account = 0;
}

/* Seeds the checksum of a row's data with what else the row says. */
static int64_t late_key(const int64_t columns[7])
{
    return (int64_t)XXH3_64bits(columns, 7 * sizeof *columns);
}

/* The counters of a day that billing needs; false where they are all zero. */
static bool pick(const tb_grid *hours, tb__late_row *ret)
{
    int n;
    const tb_metric *wanted = tb__late_metrics(ret->of.scope, &n);
    bool any = false;
    ret->slots = hours->slots;
    ret->metrics = 0;
    for (int i = 0; i < n; i++) {
        if (!(hours->metrics & TB_METRIC_BIT(wanted[i]))) continue;
        ret->metrics |= TB_METRIC_BIT(wanted[i]);
        memcpy(ret->value[i], hours->v[wanted[i]], sizeof ret->value[i]);
        for (unsigned h = 0; h < 24; h++)
            any |= hours->v[wanted[i]][h] != 0;
    }
    return any;
}

static size_t encode(const tb__late_row *row, int64_t key, uint8_t *bytes)
{
    int n;
    const tb_metric *wanted = tb__late_metrics(row->of.scope, &n);
    tb_grid hours;
    tb_grid_clear(&hours);
    hours.slots = row->slots;
    hours.metrics = row->metrics;
    for (int i = 0; i < n; i++)
        if (row->metrics & TB_METRIC_BIT(wanted[i]))
            memcpy(hours.v[wanted[i]], row->value[i], sizeof row->value[i]);
    return tb__chunk_encode(&hours, row->of.taken ? ~key : key, bytes);
}

/* id: of the next row; version: that the transaction will commit. */
static tb_code insert(tb_store *store, tb__statement with, const int64_t id[2], const tb__late_row *row, tb_error *err)
{
    const int64_t columns[8] = {id[0], id[1], row->of.account, tb_month_from_day(row->day), row->of.scope,
                                row->of.owner, row->of.edge, row->day};
    uint8_t bytes[TB__CHUNK_MAX];
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, with, columns, 8, &s, err);
    if (code) return code;
    const size_t len = encode(row, late_key(columns + 1), bytes);
    sqlite3_bind_blob(s, 9, bytes, (int)len, SQLITE_STATIC);
    store->dirty = true;
    return tb__run(store, s, err);
}

/* A balancer's row learns its account here. */
static tb_code is_late(tb_store *store, tb__late_row *row, const tb__late_row *before, bool *ret_late, tb_error *err)
{
    tb__late_of *of = &row->of;
    tb_code code = TB_OK;
    *ret_late = false;
    if (!of->account && before && before->of.scope == of->scope && before->of.owner == of->owner)
        of->account = before->of.account;
    else if (!of->account)
        code = tb__int_of(store, TB__SQL_BALANCER_ACCOUNT, &of->owner, 1, 0, &of->account, err);
    if (code || !of->account) return code;
    return is_noted(store, of->account, tb_month_from_day(row->day), ret_late, err);
}

/* --- closed days: their texts can be made again as of a version --- */

static int64_t whole_key(const tb__late_of *of, int64_t day)
{
    return (int64_t)XXH3_64bits((const int64_t[]){of->scope, of->owner, of->edge, day}, 4 * sizeof(int64_t));
}

static tb_code keep_whole(tb__late_row *row, const tb_grid *hours, tb_error *err)
{
    const int64_t key = whole_key(&row->of, row->day);
    uint8_t bytes[TB__CHUNK_MAX];
    row->whole_len = tb__chunk_encode(hours, row->of.taken ? ~key : key, bytes);
    row->whole = malloc(row->whole_len);
    if (!row->whole) return tb_no_memory(err);
    memcpy(row->whole, bytes, row->whole_len);
    return TB_OK;
}

static tb_code put_whole(tb_store *store, const tb__late_row *row, tb_error *err)
{
    int64_t values[6] = {0, row->of.account, row->day, row->of.scope, row->of.owner, row->of.edge};
    sqlite3_stmt *s;
    tb_code code = tb__next_id(store, TB__SQL_VERSION_NEXT, "meta", &values[0], err);
    if (!code) code = tb__sql_ints(store, TB__SQL_PROOF_LATE_PUT, values, 6, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 7, row->whole, (int)row->whole_len, SQLITE_STATIC);
    store->dirty = true;
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

tb_code tb__late_whole(const void *data, size_t len, const tb__late_of *of, int64_t day, tb_grid *ret, bool *ret_taken, tb_error *err)
{
    const int64_t key = whole_key(of, day);
    *ret_taken = tb__chunk_decode(data, len, key, ret, NULL) != TB_OK;
    if (!*ret_taken || tb__chunk_decode(data, len, ~key, ret, NULL) == TB_OK) return TB_OK;
    return tb_fail(err, TB_E_CORRUPT, "proof_late", "A change of a closed day is damaged. Run verify.");
}

/* The log of documents has the day already, or may have it. Where the month was run, the change is kept too. */
static tb_code note_change(tb_store *store, tb__late_row *row, bool noted, tb_error *err)
{
    const int64_t values[2] = {row->of.account, row->day};
    tb_code code = TB_OK;
    if (row->day >= store->proof_open || !row->of.account) return TB_OK;
    if (noted && row->whole) code = put_whole(store, row, err);
    return code ? code : tb__run_ints(store, TB__SQL_PROOF_CHANGE_PUT, values, 2, err);
}

/* Keeps those of the rows that are late. */
static tb_code sift(tb_store *store, tb_error *err)
{
    size_t n = 0;
    bool late = false;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < store->n_late; i++) {
        code = is_late(store, &store->late[i], n ? &store->late[n - 1] : NULL, &late, err);
        if (!code) code = note_change(store, &store->late[i], late, err);
        free(store->late[i].whole);
        store->late[i].whole = NULL;
        late = late && store->late[i].counts;
        if (late && n != i) store->late[n] = store->late[i];
        n += late;
    }
    if (!code) store->n_late = n; /* else tb__late_drop releases the rest */
    return code;
}

static tb_code insert_all(tb_store *store, tb__statement with, int64_t first, int64_t version, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < store->n_late; i++) {
        const int64_t id[2] = {first + (int64_t)i, version};
        code = insert(store, with, id, &store->late[i], err);
    }
    return code;
}

/* Replaces the trigger, which is switched off: the rows are written with their seals, and the table's head is updated
 * once. */
static tb_code insert_many(tb_store *store, int64_t first, int64_t version, tb_error *err)
{
    tb_code code = tb__triggers_off(store, err);
    if (!code) code = insert_all(store, TB__SQL_LATE_INSERT_SEALED, first, version, err);
    tb__triggers_on(store);
    return code ? code : tb__run_ints(store, TB__SQL_LATE_SEALED, &first, 1, err);
}

tb_code tb__late_write(tb_store *store, tb_error *err)
{
    int64_t first = 0, version = 0;
    tb_code code = sift(store, err);
    if (!code && !store->n_late) return TB_OK;
    if (!code) code = tb__next_id(store, TB__SQL_VERSION_NEXT, "meta", &version, err);
    if (!code) code = tb__next_id(store, TB__SQL_LATE_NEXT, "late", &first, err);
    if (!code) code = store->n_late < TRIGGERED_MAX ? insert_all(store, TB__SQL_LATE_INSERT, first, version, err)
                                                    : insert_many(store, first, version, err);
    tb__late_drop(store);
    return code;
}

static tb_code gather_late(tb_store *store, tb__late_of of, int64_t day, const tb_grid *hours, tb_error *err)
{
    tb_code code = store->n_late < ROWS_MAX ? TB_OK : tb__late_write(store, err);
    if (!code) code = tb__grow(&store->late, store->n_late, &store->cap_late, sizeof *store->late, err);
    if (code) return code;
    tb__late_row *row = &store->late[store->n_late];
    row->of = of;
    row->day = day;
    row->counts = pick(hours, row);
    row->whole = NULL;
    if (day < store->proof_open) code = keep_whole(row, hours, err);
    store->n_late += row->counts || row->whole;
    return code;
}

/* The day from which on no usage is late: the one after the last month that was run or closed. */
static tb_code load_end(tb_store *store, tb_error *err)
{
    int64_t month = -1;
    tb_code code = tb__int_of(store, TB__SQL_LATE_LAST_MONTH, NULL, 0, -1, &month, err);
    if (code) return code;
    store->late_end = month < 0 ? INT64_MIN : tb_month_first_day(month + 1);
    code = tb__proof_open(store, &store->proof_open, err);
    store->late_known = !code;
    return code;
}

/* --- versions of months, for closing them --- */

tb_code tb__late_landed(tb_store *store, tb_error *err)
{
    int64_t version = 0;
    if (!store->landing) return TB_OK;
    tb_code code = tb__meta_get(store, "data_version", &version, err);
    for (unsigned i = 0; !code && i < TB__LANDED; i++)
        if (store->landing >> i & 1) store->landed[i] = version;
    return code;
}

bool tb__late_came_since(const tb_store *store, int64_t month, int64_t version)
{
    const unsigned i = landed_at(month);
    return (store->landing >> i & 1) || store->landed[i] > version;
}

static void note_month(tb_store *store, int64_t day)
{
    const int64_t month = tb_month_from_day(day);
    store->landing |= 1u << landed_at(month);
    store->landing_first = tb_month_first_day(month);
    store->landing_end = tb_month_first_day(month + 1);
}

tb_code tb__late_look(tb_store *store, int64_t day, bool *ret_late, tb_error *err)
{
    if (!store->landing || day < store->landing_first || day >= store->landing_end) note_month(store, day);
    tb_code code = store->late_known ? TB_OK : load_end(store, err);
    *ret_late = !code && (day < store->late_end || day < store->proof_open);
    return code;
}

tb_code tb__late_note(tb_store *store, tb__late_of of, int64_t day, const tb_grid *hours, tb_error *err)
{
    bool late = false;
    tb_code code = tb__late_look(store, day, &late, err);
    return late ? gather_late(store, of, day, hours, err) : code;
}

/* A value of a gauge counts until the next one: it is late for each month that was run in between. */
static tb_code note_value(tb_store *store, sqlite3_stmt *s, tb__late_row *row, tb_error *err)
{
    const int64_t series = sqlite3_column_int64(s, 0), last = tb_month_from_day(store->late_end - 1);
    const int64_t next_us = sqlite3_column_int64(s, 3);
    int64_t month = tb_month_from_us(sqlite3_column_int64(s, 2)), version = 0, id = 0;
    bool noted = false;
    tb_code code = TB_OK;
    if (row->of.owner == series) month = tb__later(month, tb_month_from_day(row->day) + 1);
    row->of = (tb__late_of){.scope = TB__SCOPE_METER, .owner = series, .account = sqlite3_column_int64(s, 1), .edge = TB__LATE_GAUGE};
    for (; !code && month <= last && tb_month_start_us(month) < next_us; month++) {
        code = is_noted(store, row->of.account, month, &noted, err);
        if (code || !noted) continue;
        row->day = tb_month_first_day(month);
        code = tb__next_id(store, TB__SQL_VERSION_NEXT, "meta", &version, err);
        if (!code) code = tb__next_id(store, TB__SQL_LATE_NEXT, "late", &id, err);
        if (!code) code = insert(store, TB__SQL_LATE_INSERT, (const int64_t[]){id, version}, row, err);
    }
    return code;
}

tb_code tb__late_gauges(tb_store *store, int64_t segment, int64_t from_us, tb_error *err)
{
    store->landing = (1u << TB__LANDED) - 1;
    store->landing_first = store->landing_end = 0;
    tb_code code = store->late_known ? TB_OK : load_end(store, err);
    if (!code && store->proof_open != INT64_MIN)
        code = tb__run_ints(store, TB__SQL_PROOF_GAUGES_CHANGED, (const int64_t[]){segment, from_us, store->proof_open}, 3, err);
    if (code || store->late_end == INT64_MIN || from_us >= store->late_end * TB_US_PER_DAY) return code;
    const int64_t values[3] = {segment, from_us, store->late_end * TB_US_PER_DAY};
    tb__late_row row = {.slots = 0};
    sqlite3_stmt *s;
    bool more = true;
    code = tb__sql_ints(store, TB__SQL_GAUGE_LATE, values, 3, &s, err);
    while (!code && !(code = tb__step(store, s, &more, err)) && more) {
        code = note_value(store, s, &row, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* --- reading --- */

tb_code tb__late_decode(sqlite3_stmt *s, int64_t account, int64_t month, tb__late_day *ret,
                        tb_error *err)
{
    int64_t columns[7] = {sqlite3_column_int64(s, 1), account, month};
    for (int i = 0; i < 4; i++)
        columns[3 + i] = sqlite3_column_int64(s, 2 + i);
    tb_grid grid;
    const int64_t key = late_key(columns);
    const uint8_t *data = sqlite3_column_blob(s, 6);
    const size_t len = (size_t)sqlite3_column_bytes(s, 6);
    const bool taken = tb__chunk_decode(data, len, key, &grid, NULL) != TB_OK;
    if ((taken && tb__chunk_decode(data, len, ~key, &grid, NULL)) || grid.slots >> 24)
        return tb_fail(err, TB_E_CORRUPT, "late",
                       "Late usage %lld is damaged; restore a backup and ingest again.",
                       (long long)sqlite3_column_int64(s, 0));
    *ret = (tb__late_day){.scope = (int)columns[3],
                          .owner = columns[4],
                          .edge = columns[5],
                          .day = columns[6],
                          .taken = taken};
    int n;
    const tb_metric *metrics = tb__late_metrics(ret->scope, &n);
    for (int i = 0; i < n; i++)
        if (grid.metrics & TB_METRIC_BIT(metrics[i]))
            memcpy(ret->value[i], grid.v[metrics[i]], sizeof ret->value[i]);
    return TB_OK;
}

tb_code tb__late_load(tb_store *store, int64_t account, int64_t month, int64_t version,
                      tb_error *err)
{
    struct tb__billing *b = store->billing;
    const int64_t values[3] = {account, month, version};
    sqlite3_stmt *s;
    bool row = true;
    b->n_late = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_LATE_OF_MONTH, values, 3, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&b->late, b->n_late, &b->cap_late, sizeof *b->late, err);
        if (!code) code = tb__late_decode(s, account, month, &b->late[b->n_late], err);
        if (code)
            sqlite3_reset(s);
        else
            b->n_late++;
    }
    return code;
}

/* The first late day that is not before (scope, owner). */
static size_t first_of(const struct tb__billing *b, int scope, int64_t owner)
{
    size_t lo = 0, hi = b->n_late;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const tb__late_day *d = &b->late[mid];
        if (d->scope < scope || (d->scope == scope && d->owner < owner))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

tb_i128 tb__late_sum(const struct tb__billing *b, int scope, int64_t owner, int64_t edge, int which,
                     int64_t day, int first, int n)
{
    tb_i128 sum = 0;
    for (size_t i = first_of(b, scope, owner); i < b->n_late; i++) {
        const tb__late_day *d = &b->late[i];
        if (d->scope != scope || d->owner != owner) break;
        if (d->day != day || (edge != TB_ALL && d->edge != edge)) continue;
        for (int h = first; h < first + n; h++)
            sum += d->taken ? -(tb_i128)d->value[which][h] : (tb_i128)d->value[which][h];
    }
    return sum;
}

tb_code tb__late_take_slots(const struct tb__billing *b, int scope, int64_t owner, const tb__slots *slots,
                            uint64_t *value, tb_error *err)
{
    for (size_t i = first_of(b, scope, owner); i < b->n_late; i++) {
        const tb__late_day *d = &b->late[i];
        if (d->scope != scope || d->owner != owner) break;
        for (int64_t h = 0; h < 24; h++) {
            const int64_t hour = d->day * 24 + h - slots->from_hour;
            if (hour < 0 || hour >= (int64_t)slots->hours) continue;
            for (int k = 0; k < slots->columns; k++) /* modulo 2^64: what came late may have been withdrawn */
                value[hour * slots->columns + k] += d->taken ? d->value[k][h] : -d->value[k][h];
        }
    }
    for (size_t i = 0; i < (size_t)slots->hours * (size_t)slots->columns; i++)
        if (value[i] > TB_COUNTER_MAX)
            return tb_fail(err, TB_E_CORRUPT, "late",
                           "More usage came late than there is. Look for more with: tollbook verify");
    return TB_OK;
}

/* --- billed months --- */

static tb_code billed_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_billed_month *ret = item;
    const char *number = (const char *)sqlite3_column_text(s, 2);
    const char *currency = (const char *)sqlite3_column_text(s, 4);
    if (!number || !currency) return tb_no_memory(err);
    *ret = (tb_billed_month){.account = sqlite3_column_int64(s, 0),
                             .month = sqlite3_column_int64(s, 1),
                             .watermark = (uint64_t)sqlite3_column_int64(s, 3)};
    memcpy(ret->invoice, number, strnlen(number, sizeof ret->invoice - 1));
    memcpy(ret->currency, currency, strnlen(currency, sizeof ret->currency - 1));
    return TB_OK;
}

static const tb__rows billed_rows = {sizeof(tb_billed_month), billed_from, NULL};

tb_code tb_store_billed_months(tb_store *store, int64_t account, int64_t first, int64_t last,
                               tb_billed_month **ret_months, size_t *ret_n, tb_error *err)
{
    const int64_t values[3] = {account, first, last};
    return tb__collect_ints(store, TB__SQL_BILLED_MONTHS, values, 3, &billed_rows, ret_months,
                            ret_n, err);
}
