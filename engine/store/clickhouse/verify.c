/* Checks all rows: the rows of an account must equal the sum of its zones' rows; and the list of days, which decides whether
 * cached days are valid, must agree with the rows. Rows that are stored twice without the file's knowledge (TB__CH_TWICE)
 * are counted twice by statistics.
 *
 * Months whose days may have expired (expire.c) are summed and not compared: an account's days_month divides its history in
 * two. The days_month values of all accounts divide time into eras, which the shards sum one by one. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Over all hours: an owner's sums, and for an account also the sums of its zones. */
typedef struct owned {
    int64_t owner;
    int64_t from; /* the first era that is compared */
    tb_u128 own[TB_METRIC_COUNT], zones[TB_METRIC_COUNT];
} owned;

/* Of a day: batches that are newest in it. 0: none. */
typedef struct listed {
    int64_t listed, found;
    bool there; /* rows are */
    uint64_t twice; /* rows too many */
} listed;

typedef struct checking {
    tb__held_sums *sums;
    owned *accounts; /* ascending by owner */
    size_t n, cap;
    int64_t *eras; /* months at which another one begins, ascending */
    size_t n_eras, cap_eras;
    listed *days; /* TB__INDEX_MAX + 1 */
} checking;

/* --- accounts and the sums of their zones --- */

static tb_code read_eras(tb_store *store, checking *c, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_KEPT_DAYS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&c->eras, c->n_eras, &c->cap_eras, sizeof *c->eras, err);
        if (code) sqlite3_reset(s);
        else c->eras[c->n_eras++] = sqlite3_column_int64(s, 0);
    }
    return code;
}

static tb_code first_era(tb_store *store, const checking *c, int64_t account, int64_t *ret, tb_error *err)
{
    tb_kept kept;
    tb_code code = tb_store_kept(store, account, &kept, err);
    *ret = 0;
    while (!code && (size_t)*ret < c->n_eras && c->eras[*ret] <= kept.days)
        ++*ret;
    return code;
}

static tb_code account_at(tb_store *store, checking *c, int64_t account, owned **ret, tb_error *err)
{
    size_t low = 0, high = c->n;
    tb_code code = TB_OK;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c->accounts[middle].owner < account) low = middle + 1;
        else high = middle;
    }
    if (low == c->n || c->accounts[low].owner != account) {
        code = tb__grow(&c->accounts, c->n, &c->cap, sizeof *c->accounts, err);
        if (code) return code;
        memmove(c->accounts + low + 1, c->accounts + low, (c->n++ - low) * sizeof *c->accounts);
        c->accounts[low] = (owned){.owner = account};
        code = first_era(store, c, account, &c->accounts[low].from, err);
    }
    *ret = &c->accounts[low];
    return code;
}

static tb_code count_owner(tb_store *store, checking *c, int scope, int64_t owner, int64_t era, const uint64_t *values,
                           tb_error *err)
{
    int64_t account = scope == TB__SCOPE_ACCOUNT ? owner : 0;
    owned *to = NULL;
    tb_code code = TB_OK;
    if (scope == TB__SCOPE_ZONE)
        code = tb__int_of(store, TB__SQL_ZONE_ACCOUNT, &owner, 1, 0, &account, err);
    if (!code && account) code = account_at(store, c, account, &to, err);
    if (code) return code;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (scope != TB__SCOPE_ACCOUNT) c->sums->metric[m] += values[m];
        if (to && era >= to->from) (scope == TB__SCOPE_ACCOUNT ? to->own : to->zones)[m] += values[m];
    }
    return TB_OK;
}

static void put_era(tb_buf *sql, const checking *c)
{
    tb_buf_str(sql, "toUInt16(0");
    for (size_t i = 0; i < c->n_eras; i++)
        tb_buf_fmt(sql, "+(h>=%" PRId64 ")", tb__ch_month_hours(c->eras[i]).first);
    tb_buf_str(sql, ") AS era");
}

static tb_code ask_cells(tb_store *store, size_t shard, const checking *c, tb_error *err)
{
    const tb__ch_rows rows = {.columns = "scope,owner,h,edge", .metrics = TB_METRIC_ALL, .where = "scope>0", .end = UINT32_MAX};
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT " TB__CH_BASE("scope") " AS base,owner,");
    put_era(sql, c);
    tb_buf_str(sql, ",maxIf(h,bitAnd(scope,4)=0)");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s(s%d)", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", m);
    tb_buf_str(sql, " FROM (SELECT scope,owner,h,edge");
    for (int m = 0; m < TB_METRIC_COUNT; m++) /* an hour that is 0 after a withdrawal is not the newest */
        tb_buf_fmt(sql, ",%s(%s) AS s%d", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", tb_metric_table[m].name, m);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY scope,owner,h,edge");
    tb__ch_put_not_empty(sql);
    tb_buf_str(sql, ") GROUP BY base,owner,era FORMAT RowBinary");
    return code ? code : tb__ch_query(store, shard, err);
}

static tb_code sum_cells(tb_store *store, size_t shard, checking *c, tb_error *err)
{
    tb_code code = ask_cells(store, shard, c, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        uint64_t values[TB_METRIC_COUNT];
        const int scope = (int)tb__ch_column(&r, 1);
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), era = (int64_t)tb__ch_column(&r, 2);
        const int64_t newest = (int64_t)tb__ch_column(&r, 4);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            values[m] = tb__ch_column(&r, 8);
        if (newest > c->sums->newest_hour) c->sums->newest_hour = newest;
        code = count_owner(store, c, scope, owner, era, values, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code sum_countries(tb_store *store, size_t shard, tb__held_sums *sums, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT sum(r),sum(b) FROM (SELECT any(requests) AS r,any(bytes) AS b FROM %s.country WHERE 1",
               tb__ch_of(store)->client->database);
    tb_code code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, TB__CH_EVER, err);
    tb_buf_str(sql, " GROUP BY zone,day,country,batch) FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
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

/* --- days --- */

static tb_code read_listed(tb_store *store, checking *c, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_DAY_ALL, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const int64_t day = sqlite3_column_int64(s, 0);
        if (day >= 0 && day <= TB__INDEX_MAX) c->days[day].listed = sqlite3_column_int64(s, 1);
    }
    return code;
}

/* The id of compacted rows does not tell when they were added. */
static tb_code find_days(tb_store *store, size_t shard, checking *c, tb_error *err)
{
    const tb__ch_rows rows = {.columns = "h,batch,row", .where = "scope>0", .end = UINT32_MAX};
    int64_t twice = 0;
    tb_code code = tb__meta_get(store, TB__CH_TWICE, &twice, err);
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT toUInt32(intDiv(h,24)) AS day,maxIf(batch,bitAnd(batch,%" PRId64 ")!=0),"
                    "countIf(batch>%" PRId64 ")-uniqExactIf(batch,row,batch>%" PRId64 ") FROM ",
               (INT64_C(1) << TB__CH_ID_BITS) - 1, twice, twice);
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY day FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        const int64_t day = (int64_t)tb__ch_column(&r, 4), batch = (int64_t)tb__ch_column(&r, 8);
        const uint64_t too_many = tb__ch_column(&r, 8);
        if (r.cut || day > TB__INDEX_MAX) continue;
        if (batch > c->days[day].found) c->days[day].found = batch;
        c->days[day].there = true;
        c->days[day].twice += too_many;
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static void say_twice(const listed *d, const char *when, tb__differ_fn differ, void *ctx)
{
    char sentence[320];
    sqlite3_snprintf(sizeof sentence, sentence,
                     "%s: %llu rows of this day lie twice in ClickHouse, and tollbook sent them once: statistics count them "
                     "twice. Whatever stands between the two must not repeat a POST. Start serve with "
                     "--usage-compact-rows 0: compaction counts them once.",
                     when, (unsigned long long)d->twice);
    differ(ctx, sentence);
}

static bool is_listed_wrong(const listed *d, int64_t watermark)
{
    return d->found > d->listed || (d->there && !d->listed) || d->listed > watermark;
}

static void compare_day(const listed *d, int64_t day, int64_t watermark, tb__differ_fn differ, void *ctx)
{
    char sentence[240], when[21];
    tb_time_format(day * TB_US_PER_DAY, when);
    when[10] = 0;
    if (d->twice) say_twice(d, when, differ, ctx);
    if (!is_listed_wrong(d, watermark)) return;
    if (d->there && !d->listed)
        sqlite3_snprintf(sizeof sentence, sentence,
                         "%s: ClickHouse has usage of this day, and the file's list of days (usage_day) does not name it: readers "
                         "show nothing.", when);
    else if (d->found > d->listed)
        sqlite3_snprintf(sizeof sentence, sentence,
                         "%s: the newest batch in ClickHouse is %lld; the file's list of days (usage_day) has %lld: readers may "
                         "remember what was before.", when, (long long)d->found, (long long)d->listed);
    else
        sqlite3_snprintf(sizeof sentence, sentence,
                         "%s: the file's list of days (usage_day) has batch %lld, and the last one that was committed is %lld.",
                         when, (long long)d->listed, (long long)watermark);
    differ(ctx, sentence);
}

static tb_code compare_days(tb_store *store, const checking *c, tb__differ_fn differ, void *ctx, tb_error *err)
{
    int64_t watermark = 0;
    tb_code code = tb__ch_watermark(store, &watermark, err);
    for (int64_t day = 0; !code && day <= TB__INDEX_MAX; day++) {
        const listed *d = &c->days[day];
        if (d->twice || is_listed_wrong(d, watermark)) compare_day(d, day, watermark, differ, ctx);
    }
    return code;
}

/* --- the check --- */

/* After all queries: another process may have compacted since this snapshot. */
static tb_code check_shard(tb_store *store, size_t shard, checking *c, tb_error *err)
{
    tb_code code = tb__ch_check_shard(store, shard, err);
    if (!code) code = sum_cells(store, shard, c, err);
    if (!code) code = sum_countries(store, shard, c->sums, err);
    if (!code) code = find_days(store, shard, c, err);
    return code ? code : tb__ch_check_copy(store, shard, err);
}

static tb_code check_all(tb_store *store, checking *c, tb_error *err)
{
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = read_eras(store, c, err);
    if (!code) code = read_listed(store, c, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        code = check_shard(store, shard, c, err);
    return code;
}

tb_code tb__ch_verify(tb_store *store, tb__held_sums *ret_sums, tb__differ_fn differ, void *ctx,
                      tb_error *err)
{
    checking c = {.sums = ret_sums, .days = calloc(TB__INDEX_MAX + 1, sizeof *c.days)};
    tb_code code = c.days ? check_all(store, &c, err) : tb_no_memory(err);
    if (!code) compare_accounts(&c, differ, ctx);
    if (!code) code = compare_days(store, &c, differ, ctx, err);
    free(c.accounts);
    free(c.eras);
    free(c.days);
    return code;
}
