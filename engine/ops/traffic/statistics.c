/* View and range to JSON: read, encode. */
#include "tollbook/statistics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

tb_code tb_statistics_in(tb_store *store, const tb_statistics_query *query, int64_t now_us,
                         const tb_alloc *alloc, tb_buf *out, tb_error *err)
{
    tb_series series;
    tb_geo *geo = NULL;
    tb_balance *balances = NULL;
    tb_answer answer = {.kind = query->kind, .series = &series};
    bool statistics = query->kind == TB_ANSWER_STATISTICS;
    tb_code code = tb_series_init(&series, query->range, tb_answer_metrics(query->kind), alloc, err);
    if (code) return code;
    code = tb_store_read_view(store, &query->view, &series, statistics ? &geo : NULL, &answer.n_geo, err);
    answer.geo = geo;
    if (code == TB_OK && statistics)
        code = tb_store_balance_history(store, query->view.account, query->range, now_us, &balances,
                                        &answer.n_balances, err);
    answer.balances = balances;
    if (code == TB_OK) code = tb_answer_encode(&answer, out, err);
    free(balances);
    free(geo);
    tb_series_release(&series);
    return code;
}

/* In one snapshot, so that the account that is there is the one that is read. */
static tb_code read_account(tb_store *store, int64_t account, tb_range range, int64_t now_us,
                            tb_buf *out, tb_error *err)
{
    const tb_view view = {.account = account, .zone = TB_ALL, .region = TB_ALL};
    bool exists = false;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_store_account_exists(store, account, &exists, err);
    if (code == TB_OK && !exists)
        code = tb_fail(err, TB_E_NOT_FOUND, "account", "There is no account %" PRId64 ".", account);
    if (code == TB_OK)
        code = tb_statistics_in(store, &(tb_statistics_query){view, range, TB_ANSWER_STATISTICS}, now_us, NULL, out,
                                err);
    tb_store_read_end(store);
    return code;
}

static tb_text text_of(const char *text)
{
    return (tb_text){.data = text, .len = text ? strlen(text) : 0};
}

tb_code tb_statistics_file(const char *path, int64_t account, const char *from, const char *to,
                           int64_t now_us, char **ret_json, tb_error *err)
{
    const tb_range_query query = {.from = text_of(from), .to = text_of(to), .statistics = true};
    tb_range range;
    tb_store *store;
    tb_buf out;
    tb_code code = tb_range_resolve(&query, now_us, &range, err);
    if (code) return code;
    code = tb_store_open(path, NULL, &store, err);
    if (code) return code;
    tb_buf_init(&out, TB_STATISTICS_MAX, NULL);
    code = read_account(store, account, range, now_us, &out, err);
    tb_store_close(store);
    tb_buf_add(&out, "", 1);
    if (code == TB_OK) code = tb_buf_check(&out, err);
    if (code == TB_OK) *ret_json = out.data;
    else tb_buf_release(&out);
    return code;
}

int64_t tb_statistics_balance_day(int64_t now_us)
{
    return tb_day_from_us(now_us - 5 * 60 * TB_US_PER_S);
}
