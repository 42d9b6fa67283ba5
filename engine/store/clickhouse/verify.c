/* All rows against themselves: an account's own rows are what its zones' come to. */
#include "store/clickhouse/private.h"

#include <stdlib.h>
#include <string.h>

/* Of all hours: an owner's own sums, and for an account what its zones come to. */
typedef struct owned {
    int64_t owner;
    tb_u128 own[TB_METRIC_COUNT], zones[TB_METRIC_COUNT];
} owned;

typedef struct checking {
    tb__held_sums *sums;
    owned *accounts; /* ascending by owner */
    size_t n, cap;
} checking;

static tb_code account_at(checking *c, int64_t account, owned **ret, tb_error *err)
{
    size_t at = c->n;
    while (at && c->accounts[at - 1].owner >= account)
        at--;
    if (at == c->n || c->accounts[at].owner != account) {
        tb_code code = tb__grow(&c->accounts, c->n, &c->cap, sizeof *c->accounts, err);
        if (code) return code;
        memmove(c->accounts + at + 1, c->accounts + at, (c->n++ - at) * sizeof *c->accounts);
        c->accounts[at] = (owned){.owner = account};
    }
    *ret = &c->accounts[at];
    return TB_OK;
}

static tb_code count_owner(tb_store *store, checking *c, int scope, int64_t owner, const uint64_t *values,
                           tb_error *err)
{
    int64_t account = scope == TB__SCOPE_ACCOUNT ? owner : 0;
    owned *to = NULL;
    tb_code code = TB_OK;
    if (scope == TB__SCOPE_ZONE)
        code = tb__int_of(store, TB__SQL_ZONE_ACCOUNT, &owner, 1, 0, &account, err);
    if (!code && account) code = account_at(c, account, &to, err);
    if (code) return code;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (scope != TB__SCOPE_ACCOUNT) c->sums->metric[m] += values[m];
        if (to) (scope == TB__SCOPE_ACCOUNT ? to->own : to->zones)[m] += values[m];
    }
    return TB_OK;
}

static tb_code sum_cells(tb_store *store, size_t shard, checking *c, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT scope,owner,max(h)");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s(s%d)", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", m);
    tb_buf_str(sql, " FROM (SELECT scope,owner,h,edge");
    for (int m = 0; m < TB_METRIC_COUNT; m++) /* what was withdrawn and is 0 now is no newest hour */
        tb_buf_fmt(sql, ",%s(c%d) AS s%d", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", m, m);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(store, sql, "scope,owner,h,edge", TB_METRIC_ALL, "1", err);
    tb_buf_str(sql, " GROUP BY scope,owner,h,edge");
    tb__ch_put_there(sql);
    tb_buf_str(sql, ") GROUP BY scope,owner FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        uint64_t values[TB_METRIC_COUNT];
        const int scope = (int)tb__ch_column(&r, 1);
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), newest = (int64_t)tb__ch_column(&r, 4);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            values[m] = tb__ch_column(&r, 8);
        if (newest > c->sums->newest_hour) c->sums->newest_hour = newest;
        code = count_owner(store, c, scope, owner, values, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code sum_countries(tb_store *store, size_t shard, tb__held_sums *sums, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT sum(r),sum(b) FROM (SELECT any(requests) AS r,any(bytes) AS b FROM %s.country WHERE 1",
               tb__ch_of(store)->client->database);
    tb_code code = tb__ch_put_visible(store, sql, err);
    tb_buf_str(sql, " GROUP BY zone,day,country,batch) FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    if (code || !tb__ch_of(store)->answer.len) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    sums->country_requests += tb__ch_column(&r, 8);
    sums->country_bytes += tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

static void compare_accounts(const checking *c, tb__differ_fn differ, void *ctx)
{
    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const owned *a = &c->accounts[i];
            char sentence[200];
            if (tb_metric_table[m].how != TB_HOW_SUM || a->own[m] == a->zones[m]) continue;
            sqlite3_snprintf(sizeof sentence, sentence,
                             "Account %lld: %s in ClickHouse is %llu; its pull zones make %llu.",
                             (long long)a->owner, tb_metric_table[m].name, (unsigned long long)a->own[m],
                             (unsigned long long)a->zones[m]);
            differ(ctx, sentence);
        }
}

tb_code tb__ch_verify(tb_store *store, tb__held_sums *ret_sums, tb__differ_fn differ, void *ctx,
                      tb_error *err)
{
    checking c = {.sums = ret_sums};
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++) {
        code = sum_cells(store, shard, &c, err);
        if (!code) code = sum_countries(store, shard, ret_sums, err);
    }
    if (!code) compare_accounts(&c, differ, ctx);
    free(c.accounts);
    return code;
}
