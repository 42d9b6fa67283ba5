/* Usage of ids that no catalogue has named, summed by month. It is kept under its id, in series
 * that no account's reach, so that whoever declares the id later has all of it. */
#include "store/money/billing.h"

#include <stdlib.h>

typedef struct finding {
    tb_store *store;
    int64_t month;
    tb_unowned *list;
    size_t n, cap;
} finding;

static tb_code add_days(const finding *f, int64_t series, tb_metric metric, tb_i128 *sum,
                        tb_error *err)
{
    uint64_t days[32];
    tb_code code = f->store->plane.counters->days(f->store, series, metric, f->month, days, err);
    for (int i = 0; !code && i < 32; i++)
        *sum += days[i];
    return code;
}

/* All locations are the sum of each: the series that holds them together is passed over. */
static tb_code add_series(const finding *f, int scope, tb_unowned *found, tb_error *err)
{
    const int64_t owner[2] = {scope, found->id};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(f->store, TB__SQL_SERIES_OF_OWNER, owner, 2, &s, err);
    while (!code && !(code = tb__step(f->store, s, &row, err)) && row) {
        int64_t series = sqlite3_column_int64(s, 1);
        if (!found->balancer && sqlite3_column_int64(s, 0) == 0) continue;
        code = add_days(f, series, TB_M_REQUESTS, &found->requests, err);
        if (!code && !found->balancer) code = add_days(f, series, TB_M_BYTES, &found->bytes, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static tb_code add_owner(finding *f, int scope, int64_t id, tb_error *err)
{
    tb_unowned found = {.balancer = scope == TB__SCOPE_BALANCER, .id = id};
    tb_code code = add_series(f, scope, &found, err);
    if (code || (found.requests == 0 && found.bytes == 0)) return code;
    code = tb__grow(&f->list, f->n, &f->cap, sizeof *f->list, err);
    if (!code) f->list[f->n++] = found;
    return code;
}

static tb_code add_scope(finding *f, int scope, tb__statement which, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(f->store, which, &s, err);
    while (!code && !(code = tb__step(f->store, s, &row, err)) && row) {
        code = add_owner(f, scope, sqlite3_column_int64(s, 0), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static int largest_first(const void *left, const void *right)
{
    const tb_unowned *a = left, *b = right;
    if (a->balancer != b->balancer) return a->balancer ? 1 : -1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->requests != b->requests) return a->requests > b->requests ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

tb_code tb_store_unowned(tb_store *store, int64_t month, tb_unowned **ret_unowned, size_t *ret_n,
                         tb_error *err)
{
    finding f = {.store = store, .month = month};
    tb_code code = add_scope(&f, TB__SCOPE_ZONE, TB__SQL_UNOWNED_ZONES, err);
    if (!code) code = add_scope(&f, TB__SCOPE_BALANCER, TB__SQL_UNOWNED_BALANCERS, err);
    if (code) {
        free(f.list);
        return code;
    }
    if (f.n > 1) qsort(f.list, f.n, sizeof *f.list, largest_first);
    *ret_unowned = f.list;
    *ret_n = f.n;
    return TB_OK;
}
