/* The accounts with usage in a month. */
#include "store/clickhouse/private.h"
#include "store/usage/file.h"

#include <inttypes.h>

/* Adds a series of each owner with usage in a month. After a withdrawal the rows of an owner may sum to zero. */
static tb_code list_owners(tb_store *store, size_t shard, int64_t month, tb_buf *json, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    int64_t withdrawn = 0;
    tb_code code = tb__int_of(store, TB__SQL_WITHDRAWN_ANY, NULL, 0, 0, &withdrawn, err);
    tb_buf_fmt(sql, "SELECT %s" TB__CH_BASE("scope") " AS base,owner FROM ", withdrawn ? "" : "DISTINCT ");
    const tb__ch_hours_of hours = tb__ch_month_hours(month);
    const tb__ch_rows rows = {.columns = "scope,owner", .metrics = withdrawn ? TB_METRIC_ALL : 0,
                              .where = "scope IN(2,3,6,7,8,12)", .first = hours.first, .end = hours.end};
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    if (withdrawn) tb_buf_str(sql, " GROUP BY base,owner");
    if (withdrawn) tb__ch_put_not_empty(sql);
    tb_buf_str(sql, " FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        int64_t id[2], series = 0;
        id[0] = (int64_t)tb__ch_column(&r, 1);
        if (id[0] == TB__CH_METER) id[0] = TB__SCOPE_METER;
        id[1] = (int64_t)tb__ch_column(&r, 8);
        code = tb__int_of(store, TB__SQL_SERIES_OF_OWNER_ID, id, 2, 0, &series, err);
        if (!code && series) tb_buf_fmt(json, "%s%" PRId64, json->len > 1 ? "," : "", series);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

tb_code tb__ch_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                               tb_error *err)
{
    tb_buf json;
    tb_buf_init(&json, (size_t)256 << 20, NULL);
    tb_buf_str(&json, "[");
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        code = list_owners(store, shard, month, &json, err);
    tb_buf_str(&json, "]");
    if (!code) code = tb_buf_check(&json, err);
    if (!code) code = tb__accounts_billed(store, month, &json, ret_accounts, ret_n, err);
    tb_buf_release(&json);
    return code;
}
