/* Late usage: what comes for an account's month after that month was run, whatever the run made of
 * it, or after a closing that accrues it. It goes into the chunks like all usage, and also into an append-only table, one row for each
 * day of a zone's edge location or of a balancer and each batch, so that the month can be read as it
 * stood at any run's watermark, or closing's version: what is there now less what came later.
 *
 * Usage that is withdrawn from such a month is late with the other sign. The row is the same, but its
 * checksum says so: it is made under the complement of the key.
 *
 * Ordinary batches pay one comparison a day: months after the last one ever run cannot be late. A row's data is a chunk of hours; its checksum covers the row's other columns too. */
#include "base/hash.h"
#include "store/money/billing.h"
#include "store/usage/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const tb_metric zone_metrics[2] = {TB_M_BYTES, TB_M_BALANCER_REQUESTS};
static const tb_metric balancer_metrics[1] = {TB_M_REQUESTS};

/* --- noting --- */

/* *ret: the month was run, for the account or for everybody, or a closing rests on it. */
static tb_code is_noted(tb_store *store, int64_t account, int64_t month, bool *ret, tb_error *err)
{
    const int64_t values[2] = {account, month};
    int64_t found = 0;
    if (store->asked_account == account && store->asked_month == month) {
        *ret = store->asked_noted;
        return TB_OK;
    }
    tb_code code = tb__int_of(store, TB__SQL_LATE_NOTED, values, 2, 0, &found, err);
    if (code) return code;
    store->asked_account = account;
    store->asked_month = month;
    store->asked_noted = *ret = found != 0;
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
static bool pick(int scope, const tb_grid *hours, tb_grid *ret)
{
    const tb_metric *wanted = scope == TB__SCOPE_ZONE ? zone_metrics : balancer_metrics;
    size_t n = scope == TB__SCOPE_ZONE ? 2 : 1;
    bool any = false;
    tb_grid_clear(ret);
    ret->slots = hours->slots;
    for (size_t i = 0; i < n; i++) {
        if (!(hours->metrics & TB_METRIC_BIT(wanted[i]))) continue;
        ret->metrics |= TB_METRIC_BIT(wanted[i]);
        memcpy(ret->v[wanted[i]], hours->v[wanted[i]], sizeof ret->v[0]);
        for (unsigned h = 0; h < 24; h++)
            any |= hours->v[wanted[i]][h] != 0;
    }
    return any;
}

static tb_code insert(tb_store *store, const int64_t owner[6], const tb_grid *hours, bool taken,
                      tb_error *err)
{
    int64_t columns[8]; /* id, version, account, month, scope, owner, edge, day */
    uint8_t bytes[TB__CHUNK_MAX];
    sqlite3_stmt *s;
    memcpy(columns + 2, owner, 6 * sizeof *owner);
    tb_code code = tb__meta_get(store, "data_version", &columns[1], err);
    if (!code) code = tb__int_of(store, TB__SQL_LATE_NEXT, NULL, 0, 1, &columns[0], err);
    columns[1]++; /* what this transaction will commit */
    if (!code) code = tb__sql_ints(store, TB__SQL_LATE_INSERT, columns, 8, &s, err);
    if (code) return code;
    const int64_t key = late_key(columns + 1);
    size_t len = tb__chunk_encode(hours, taken ? ~key : key, bytes);
    sqlite3_bind_blob(s, 9, bytes, (int)len, SQLITE_STATIC);
    store->dirty = true;
    return tb__run(store, s, err);
}

static tb_code note(tb_store *store, tb__late_of of, int64_t day, const tb_grid *hours,
                    tb_error *err)
{
    int64_t account = of.account, month = tb_month_from_day(day);
    bool late = false;
    tb_grid picked;
    tb_code code = TB_OK;
    if (!account)
        code = tb__int_of(store, TB__SQL_BALANCER_ACCOUNT, &of.owner, 1, 0, &account, err);
    if (!code && account) code = is_noted(store, account, month, &late, err);
    if (code || !late || !pick(of.scope, hours, &picked)) return code;
    const int64_t columns[6] = {account, month, of.scope, of.owner, of.edge, day};
    return insert(store, columns, &picked, of.taken, err);
}

/* The day from which on no usage is late: the one after the last month that was run or closed. */
static tb_code load_end(tb_store *store, tb_error *err)
{
    int64_t month = -1;
    tb_code code = tb__int_of(store, TB__SQL_LATE_LAST_MONTH, NULL, 0, -1, &month, err);
    if (code) return code;
    store->late_end = month < 0 ? INT64_MIN : tb_month_first_day(month + 1);
    store->late_known = true;
    return TB_OK;
}

/* --- what came when, for who closes a month --- */

static unsigned landed_at(int64_t month)
{
    return (unsigned)((uint64_t)month % TB__LANDED);
}

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

tb_code tb__late_note(tb_store *store, tb__late_of of, int64_t day, const tb_grid *hours,
                      tb_error *err)
{
    store->landing |= 1u << landed_at(tb_month_from_day(day));
    tb_code code = store->late_known ? TB_OK : load_end(store, err);
    if (code || day >= store->late_end) return code;
    return note(store, of, day, hours, err);
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
    const tb_metric *metrics = ret->scope == TB__SCOPE_ZONE ? zone_metrics : balancer_metrics;
    for (int i = 0; i < (ret->scope == TB__SCOPE_ZONE ? 2 : 1); i++)
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

/* --- what has been billed --- */

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
