/* forecast --all: the running month of every account, a row each.
 *
 * next: "MONTH FROM DONE TOTAL ID ID ...": the month and the hour that usage is known to, how many accounts were
 * forecast in all calls so far, how many there are, and those that are left. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/prices/forecast.h"
#include "tollbook/alertstore.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"

#define AT_ONCE 50 /* accounts a call, unless its output is taken as it grows */

typedef struct forecasting {
    const tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    tb_forecast_question question; /* with the account that is forecast */
    int64_t done, total;           /* in all calls */
    const char *left;              /* accounts, as in next */
    tb_buf all;                    /* what that points into in the first call */
    bool table, here;              /* here: this call has a row */
    tb_buf name;
    char budget[TB_DECIMAL_TEXT_MAX + 1], likely[TB_DECIMAL_TEXT_MAX + 1]; /* "": the account has none */
} forecasting;

/* An account's budget is the largest amount that its alerts on the month's money watch. */
static tb_code read_budget(const forecasting *f, tb_decimal *ret_budget, size_t *ret_n, tb_error *err)
{
    tb_alert_rule rules[TB_ALERTS_MAX];
    size_t n = 0;
    *ret_n = 0;
    tb_code code = tb_store_alert_rules(f->ops->store, f->question.account, rules, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (rules[i].kind != TB_ALERT_FORECAST && rules[i].kind != TB_ALERT_MONTH_TO_DATE) continue;
        if (*ret_n && tb_decimal_compare(rules[i].limit, *ret_budget) <= 0) continue;
        *ret_budget = rules[i].limit;
        *ret_n = 1;
    }
    return code;
}

static tb_code forecast_account(forecasting *f, tb_forecast *ret, tb_error *err)
{
    tb_decimal budget, likely;
    f->budget[0] = f->likely[0] = 0;
    f->question.limits = &budget;
    tb_code code = read_budget(f, &budget, &f->question.n_limits, err);
    if (!code) code = tb_account_forecast(f->ops->store, &f->books, &f->question, ret, err);
    if (code || !ret->n_limits) return code;
    code = tb_forecast_probability(ret, 0, &likely, err);
    *tb_decimal_put_fixed(f->budget, budget, ret->minor_digits) = 0;
    *tb_decimal_put_fixed(f->likely, likely, TB_FORECAST_PROBABILITY_SCALE) = 0;
    return code;
}

static void put_forecast_row(const forecasting *f, const tb_forecast *of, const tb_error *why, tb_buf *out)
{
    const int digits = of->minor_digits;
    const tb_i128 amounts[] = {of->net.mean, of->net.p5, of->net.p50, of->net.p95, of->gross.p50};
    const tb_i128 bytes[] = {of->bytes_so_far, of->bytes.p50};
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%" PRId64 "\t", f->question.account);
    tb__put_cell(out, f->name.data, f->name.len);
    if (why->code) {
        tb_buf_str(out, "\t\t-\t-\t-\t-\t-\t-\t-\t-\t-\t\t");
        tb__put_cell(out, why->message, strlen(why->message));
        tb_buf_str(out, "\n");
        return;
    }
    tb_buf_fmt(out, "\t%s", of->currency);
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        *tb_decimal_put_fixed(text, (tb_decimal){amounts[i], digits}, digits) = 0;
        tb_buf_fmt(out, "\t%s", text);
    }
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        *tb_decimal_put(text, (tb_decimal){bytes[i], 0}) = 0;
        tb_buf_fmt(out, "\t%s", text);
    }
    tb_buf_fmt(out, "\t%s\t%s\t%s\t%s\n", *f->budget ? f->budget : "-", *f->likely ? f->likely : "-", tb_forecast_method_name(of->method), of->complete ? "" : "Some of its usage has no price.");
}

static void put_forecast_json(const forecasting *f, const tb_forecast *of, const tb_error *why, bool first, tb_buf *out)
{
    tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"name\":", first ? "" : ",", f->question.account);
    tb_json_string(out, f->name.data ? f->name.data : "", f->name.len);
    if (why->code) {
        tb_buf_str(out, ",\"why\":");
        tb_json_string(out, why->message, strlen(why->message));
    } else {
        tb_buf_str(out, ",\"why\":null");
        tb_forecast_figures_json(of, out);
        if (*f->budget) tb_buf_fmt(out, ",\"budget\":\"%s\",\"likely\":\"%s\"", f->budget, f->likely);
        else tb_buf_str(out, ",\"budget\":null,\"likely\":null");
    }
    tb_buf_str(out, "}");
}

/* What is wrong with one account is told in its row; what is wrong with the file ends the forecasts. */
static tb_code forecast_next(void *ctx, int64_t account, tb_error *err)
{
    forecasting *f = ctx;
    tb_forecast of = {.account = account};
    tb_error why = {.code = TB_OK};
    f->question.account = account;
    f->name.len = 0;
    tb_code code = tb_store_account_name(f->ops->store, account, &f->name, err);
    if (code) return code;
    code = forecast_account(f, &of, &why);
    if (code && !tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", account, why.message);
    if (!code) why.code = TB_OK;
    if (!f->ops->drain) put_forecast_json(f, &of, &why, !f->here, &f->reply->json);
    if (f->table) put_forecast_row(f, &of, &why, &f->reply->out);
    else put_forecast_json(f, &of, &why, f->done == 0, &f->reply->out);
    f->here = true;
    f->done++;
    return TB_OK;
}

static tb_code list_all(forecasting *f, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_accounts(f->ops->store, &(tb_account_choice){.after = 0}, &accounts, &n, err);
    if (!code) code = tb__put_accounts(&f->all, accounts, n, err);
    free(accounts);
    f->total = (int64_t)n;
    f->left = f->all.data;
    return code;
}

/* Forecasts that go on are of the month, and of the usage, that they began with. */
static tb_code take_up(forecasting *f, const char *next, tb_error *err)
{
    int64_t *const numbers[] = {&f->question.month, &f->question.from_us, &f->done, &f->total};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!tb__next_number(&next, numbers[i])) return tb__next_wrong(err);
    if (f->question.month > tb_month_from_us(f->ops->now_us) || f->question.from_us > f->ops->now_us || f->done > f->total)
        return tb__next_wrong(err);
    f->left = next;
    return TB_OK;
}

static void put_forecast_head(const forecasting *f)
{
    tb_buf *json = &f->reply->json;
    char month[8], until[20];
    tb_month_format(f->question.month, month);
    tb_time_format(f->question.from_us, until);
    tb_buf_fmt(json, "{\"month\":\"%s\",\"usage_until\":\"%.20s\",\"seed\":%" PRIu64 ",\"generator\":\"" TB_FORECAST_GENERATOR
               "\",\"paths\":%" PRIu32 ",\"total\":%" PRId64 ",\"accounts\":[", month, until, f->question.seed,
               f->question.paths, f->total);
    if (f->done) return;
    if (f->table)
        tb_buf_str(&f->reply->out, "account\tname\tcurrency\tnet mean\tnet p5\tnet p50\tnet p95\twith tax p50\t"
                                   "bytes so far\tbytes p50\tbudget\tlikely\tmethod\twhy\n");
    else tb_buf_add(&f->reply->out, json->data, json->len);
}

static tb_code forecast_some(forecasting *f, tb_error *err)
{
    put_forecast_head(f);
    tb__account_walk walk = {f->left, AT_ONCE, (size_t)f->done, (size_t)f->total, forecast_next, f, &f->reply->out};
    tb_code code = tb__walk_accounts(f->ops, &walk, err);
    tb_buf_str(&f->reply->json, "]}");
    if (code) return code;
    if (*walk.left)
        tb_buf_fmt(&f->reply->next, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s", f->question.month,
                   f->question.from_us, f->done, f->total, walk.left);
    else if (!f->table) tb_buf_str(&f->reply->out, "]}\n");
    return TB_OK;
}

tb_code tb__forecast_all(const tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    forecasting f = {.ops = ops, .reply = reply, .table = !tb_arg_is(args, "format", "json"),
                     .question = {.month = tb_month_from_us(ops->now_us), .at_us = ops->now_us,
                                  .seed = (uint64_t)tb_arg_number(args, "seed", TB_FORECAST_SEED),
                                  .paths = (uint32_t)tb_arg_number(args, "paths", TB_FORECAST_PATHS)}};
    tb_code code = tb__forecast_check_paths(ops, f.question.paths, err);
    if (!code) code = args->next ? take_up(&f, args->next, err) : tb_forecast_from(ops->store, ops->now_us, &f.question.from_us, err);
    if (!code) code = tb_month_books_read(ops->store, &f.books, err);
    if (code) return code;
    tb_buf_init(&f.all, TB_REPLY_MAX, NULL);
    tb_buf_init(&f.name, 1 << 16, NULL);
    code = args->next ? TB_OK : list_all(&f, err);
    if (!code) code = forecast_some(&f, err);
    tb_buf_release(&f.name);
    tb_buf_release(&f.all);
    tb_month_books_release(&f.books);
    return code;
}
