/* The accounts of a month: whose rows lie in it. */
#include "store/clickhouse/private.h"
#include "store/usage/file.h"
#include "tollbook/calendar.h"

#include <inttypes.h>

/* Adds a series of each owner with usage between two hours. Where something was withdrawn, rows may come to nothing. */
static tb_code list_owners(tb_store *store, size_t shard, int64_t first, int64_t end, tb_buf *json,
                           tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    char where[100];
    int64_t withdrawn = 0;
    sqlite3_snprintf(sizeof where, where, "scope IN(2,3) AND h>=%lld AND h<%lld", (long long)first, (long long)end);
    tb_code code = tb__int_of(store, TB__SQL_WITHDRAWN_ANY, NULL, 0, 0, &withdrawn, err);
    tb_buf_fmt(sql, "SELECT %sscope,owner FROM ", withdrawn ? "" : "DISTINCT ");
    if (!code) code = tb__ch_put_rows(store, sql, "scope,owner", withdrawn ? TB_METRIC_ALL : 0, where, err);
    if (withdrawn) tb_buf_str(sql, " GROUP BY scope,owner");
    if (withdrawn) tb__ch_put_there(sql);
    tb_buf_str(sql, " FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        int64_t id[2], series = 0;
        id[0] = (int64_t)tb__ch_column(&r, 1);
        id[1] = (int64_t)tb__ch_column(&r, 8);
        code = tb__int_of(store, TB__SQL_SERIES_OF_OWNER_ID, id, 2, 0, &series, err);
        if (!code && series) tb_buf_fmt(json, "%s%" PRId64, json->len > 1 ? "," : "", series);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

tb_code tb__ch_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                               tb_error *err)
{
    const int64_t first = tb__ch_hour(tb_month_first_day(month) * 24);
    const int64_t end = tb__ch_hour(tb_month_first_day(month + 1) * 24);
    tb_buf json;
    tb_buf_init(&json, (size_t)256 << 20, NULL);
    tb_buf_str(&json, "[");
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        code = list_owners(store, shard, first, end, &json, err);
    tb_buf_str(&json, "]");
    if (!code) code = tb_buf_check(&json, err);
    if (!code) code = tb__accounts_billed(store, month, &json, ret_accounts, ret_n, err);
    tb_buf_release(&json);
    return code;
}
