/* A backtest over accounts, some of them in a step: how often forecasts of months that are over
 * came out within their interval, and how far they were off. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/prices/forecast.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"

#define STEP_PATHS 8000 /* of all forecasts' accounts in a step: two seconds of work */

/* --- forms --- */

/* A share in tenths of a percent, as text: "91.3". */
static void percent(char out[24], uint64_t part, size_t n)
{
    uint64_t permille = n ? (part * 1000 + n / 2) / n : 0;
    snprintf(out, 24, "%" PRIu64 ".%" PRIu64, permille / 10, permille % 10);
}

typedef struct shares {
    char money[24], bytes[24], error[24];
} shares;

static shares shares_of(const tb_backtest_count *c)
{
    shares s;
    percent(s.money, c->money_hits, c->n);
    percent(s.bytes, c->bytes_hits, c->n);
    uint64_t mean = c->errors ? (c->error_permille + c->errors / 2) / c->errors : 0;
    snprintf(s.error, sizeof s.error, "%" PRIu64 ".%" PRIu64, mean / 10, mean % 10);
    return s;
}

/* The mean loss in percent of an average month, as text: "1.234". */
static void loss(char out[24], uint64_t millionths, size_t n)
{
    uint64_t mean = n ? (millionths + 5 * n) / (10 * n) : 0;
    snprintf(out, 24, "%" PRIu64 ".%03" PRIu64, mean / 1000, mean % 1000);
}

static void put_counts(const char *name, const tb_backtest_count *c, tb_buf *out)
{
    shares s = shares_of(c);
    tb_buf_fmt(out, "%-16s %10zu", name, c->n);
    if (c->n)
        tb_buf_fmt(out, " %15s %15s %6s", s.money, s.bytes, s.error);
    else
        tb_buf_fmt(out, " %15s %15s %6s", "-", "-", "-");
}

static void put_count_json(const tb_backtest_count *c, tb_buf *out)
{
    shares s = shares_of(c);
    tb_buf_fmt(out, "\"forecasts\":%zu,\"money_hits\":%zu,\"bytes_hits\":%zu", c->n, c->money_hits,
               c->bytes_hits);
    if (c->n)
        tb_buf_fmt(out,
                   ",\"money_coverage\":\"%s\",\"bytes_coverage\":\"%s\",\"median_error\":\"%s\"",
                   s.money, s.bytes, s.error);
    else
        tb_buf_fmt(out, ",\"money_coverage\":null,\"bytes_coverage\":null,\"median_error\":null");
}

static void put_pinball_json(const tb_backtest_result *r, tb_buf *out)
{
    char own[24], single[24];
    tb_forecast_single which;
    if (r->judged == 0) {
        tb_buf_fmt(out, ",\"pinball\":null,\"pinball_best_single\":null,\"best_single\":null");
        return;
    }
    loss(own, r->pinball, r->judged);
    loss(single, tb_backtest_best_single(r, &which), r->judged);
    tb_buf_fmt(out, ",\"pinball\":\"%s\",\"pinball_best_single\":\"%s\",\"best_single\":\"%s\"",
               own, single, tb_forecast_single_name(which));
}

static void put_result_json(const tb_backtest_result *r, tb_buf *out)
{
    tb_buf_fmt(out, "\"months\":%zu,\"months_skipped\":%zu,", r->months, r->skipped);
    put_count_json(&r->all, out);
    put_pinball_json(r, out);
    tb_buf_fmt(out, ",\"from_day\":[");
    for (int i = 0; i < TB_BACKTEST_DAYS; i++) {
        tb_buf_fmt(out, "%s{\"day\":%d,", i ? "," : "", tb_backtest_days[i]);
        put_count_json(&r->by_day[i], out);
        tb_buf_str(out, "}");
    }
    tb_buf_fmt(out, "]");
}

/* The row of an account, or of all: counts, and losses. */
static void put_row(const char *name, const tb_backtest_result *r, tb_buf *out)
{
    char own[24] = "-", single[24] = "-";
    tb_forecast_single which = 0;
    put_counts(name, &r->all, out);
    if (r->judged) {
        loss(own, r->pinball, r->judged);
        loss(single, tb_backtest_best_single(r, &which), r->judged);
    }
    tb_buf_fmt(out, " %9s %12s  %s\n", own, single,
               r->judged ? tb_forecast_single_name(which) : "-");
}

static void put_result_table(const tb_backtest_result *total, tb_buf *out)
{
    char name[32];
    put_row("all", total, out);
    for (int i = 0; i < TB_BACKTEST_DAYS; i++) {
        snprintf(name, sizeof name, "from day %d", tb_backtest_days[i]);
        put_counts(name, &total->by_day[i], out);
        tb_buf_str(out, "\n");
    }
    tb_buf_fmt(
        out,
        "\nOf %zu months, at %d days of each; %zu months had too short a history.\n"
        "Coverage: percent of outcomes within p5 to p95, which should be about 90.\n"
        "Error: of the median amount, percent of the outcome, on average.\n"
        "Pinball: the loss of p5, p50 and p95 of bytes, percent of an average month; beside it\n"
        "that of the best of three single models with the intervals of textbooks.\n",
        total->months, TB_BACKTEST_DAYS, total->skipped);
}

static void add_count(tb_backtest_count *to, const tb_backtest_count *c)
{
    to->n += c->n;
    to->money_hits += c->money_hits;
    to->bytes_hits += c->bytes_hits;
    to->errors += c->errors;
    to->error_permille += c->error_permille;
}

static void add_result(tb_backtest_result *to, const tb_backtest_result *r)
{
    add_count(&to->all, &r->all);
    for (int i = 0; i < TB_BACKTEST_DAYS; i++)
        add_count(&to->by_day[i], &r->by_day[i]);
    to->judged += r->judged;
    to->pinball += r->pinball;
    for (int i = 0; i < TB_FORECAST_SINGLE_COUNT; i++)
        to->pinball_single[i] += r->pinball_single[i];
    to->months += r->months;
    to->skipped += r->skipped;
}

static void put_account(bool table, bool first, int64_t account, const tb_backtest_result *r,
                        tb_buf *out)
{
    char name[32];
    if (table) {
        snprintf(name, sizeof name, "account %" PRId64, account);
        put_row(name, r, out);
        return;
    }
    tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",", first ? "" : ",", account);
    put_result_json(r, out);
    tb_buf_str(out, "}");
}

static void put_backtest_head(bool table, uint64_t seed, uint32_t paths, tb_buf *out)
{
    if (table)
        tb_buf_fmt(out, "%-16s %10s %15s %15s %6s %9s %12s\n", "", "forecasts", "money coverage",
                   "bytes coverage", "error", "pinball", "best single");
    else
        tb_buf_fmt(out,
                   "{\"seed\":%" PRIu64 ",\"generator\":\"" TB_FORECAST_GENERATOR
                   "\",\"paths\":%" PRIu32 ",\"interval\":\"p5 to p95\",\"accounts\":[",
                   seed, paths);
}

static void put_end(bool table, const tb_backtest_result *total, tb_buf *out)
{
    if (table) {
        put_result_table(total, out);
        return;
    }
    tb_buf_str(out, "],\"total\":{");
    put_result_json(total, out);
    tb_buf_str(out, "}}\n");
}

/* --- steps --- */

/* What one step leaves to the next: all of it numbers below 2^63, in reply->next. */
typedef struct backtesting {
    int64_t now_us; /* the first step's: months must not change between two */
    int64_t last;   /* account that is done; they come ascending */
    uint64_t done, refused;
    tb_backtest_result total;
} backtesting;

#define NUMBERS (sizeof(backtesting) / sizeof(uint64_t))
_Static_assert(sizeof(backtesting) == 41 * sizeof(uint64_t), "numbers alone, without gaps");

static void leave(const backtesting *b, tb_buf *next)
{
    uint64_t numbers[NUMBERS];
    memcpy(numbers, b, sizeof numbers);
    for (size_t i = 0; i < NUMBERS; i++)
        tb_buf_fmt(next, "%s%" PRIu64, i ? " " : "", numbers[i]);
}

#define COUNT_MAX (UINT64_C(1) << 40) /* what is computed of counts below does not overflow */

static bool counts_fit(const tb_backtest_count *c)
{
    return (c->n | c->money_hits | c->bytes_hits | c->errors) < COUNT_MAX;
}

/* Whoever sends them may have made them up. */
static bool result_fits(const tb_backtest_result *r)
{
    bool fits = (r->months | r->skipped | r->judged) < COUNT_MAX && counts_fit(&r->all);
    for (int i = 0; i < TB_BACKTEST_DAYS; i++)
        fits = fits && counts_fit(&r->by_day[i]);
    return fits;
}

static tb_code take_up(const char *next, int64_t now_us, backtesting *b, tb_error *err)
{
    int64_t numbers[NUMBERS] = {0};
    bool whole = true;
    for (size_t i = 0; whole && i < NUMBERS; i++)
        whole = tb__next_number(&next, &numbers[i]);
    memcpy(b, numbers, sizeof numbers);
    if (whole && !*next && b->now_us > 0 && b->now_us <= now_us && result_fits(&b->total))
        return TB_OK;
    return tb__next_wrong(err);
}

/* An error of one account is reported, and the others go on. */
static tb_code test_account(const tb_ops *ops, const tb_args *args, const tb_month_books *books,
                            backtesting *b, uint32_t paths, tb_reply *reply, tb_error *err)
{
    tb_backtest_result result = {.months = 0};
    tb_error why;
    const uint64_t seed = (uint64_t)tb_arg_number(args, "seed", TB_FORECAST_SEED);
    tb_code code =
        tb_account_backtest(ops->store, books, b->last, b->now_us, (tb_simulation){seed, paths}, &result, &why);
    if (code && !tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", b->last, why.message);
    if (code) {
        tb_reply_say(reply, "account %" PRId64 ": %s", b->last, why.message);
        b->refused++;
        return TB_OK;
    }
    put_account(tb_arg_is(args, "format", "table"), b->done == 0, b->last, &result, &reply->out);
    add_result(&b->total, &result);
    b->done++;
    return TB_OK;
}

/* The requested account, or all with usage or fees in the last complete month. */
static tb_code list_accounts(const tb_ops *ops, const tb_args *args, int64_t now_us,
                             int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    if (!tb_arg_given(args, "account"))
        return tb_store_billed_accounts(ops->store, tb_month_from_us(now_us) - 1, ret_accounts,
                                        ret_n, err);
    *ret_accounts = malloc(sizeof **ret_accounts);
    if (!*ret_accounts) return tb_no_memory(err);
    **ret_accounts = tb_arg_number(args, "account", 0);
    *ret_n = 1;
    return TB_OK;
}

/* As many accounts as take a second or some. *ret_left: there are more. */
static tb_code test_some(const tb_ops *ops, const tb_args *args, const tb_month_books *books,
                         backtesting *b, uint32_t paths, bool *ret_left, tb_reply *reply,
                         tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0, i = 0;
    size_t some = paths < STEP_PATHS ? STEP_PATHS / paths : 1;
    tb_code code = list_accounts(ops, args, b->now_us, &accounts, &n, err);
    while (i < n && accounts[i] <= b->last)
        i++;
    for (; !code && some && i < n; some--, i++) {
        b->last = accounts[i];
        code = test_account(ops, args, books, b, paths, reply, err);
        if (!code && ops->step && !ops->step(ops->ctx, i + 1, n))
            code = tb_fail(err, TB_E_STOPPED, NULL, "Interrupted.");
    }
    *ret_left = i < n;
    free(accounts);
    return code;
}

static tb_code begin(const tb_ops *ops, const tb_args *args, uint32_t paths, backtesting *b,
                     tb_reply *reply, tb_error *err)
{
    tb_code code = tb__forecast_check_paths(ops, paths, err);
    if (code) return code;
    *b = (backtesting){.now_us = ops->now_us};
    if (args->next) return take_up(args->next, ops->now_us, b, err);
    put_backtest_head(tb_arg_is(args, "format", "table"),
             (uint64_t)tb_arg_number(args, "seed", TB_FORECAST_SEED), paths, &reply->out);
    return TB_OK;
}

static void end(const tb_args *args, const backtesting *b, tb_reply *reply)
{
    put_end(tb_arg_is(args, "format", "table"), &b->total, &reply->out);
    if (!b->refused) return;
    reply->no = true;
    tb_reply_say(reply, "%s %s left out, as said above.", TB__COUNTED(b->refused, "account"),
                 b->refused == 1 ? "is" : "are");
}

tb_code tb__backtest(const tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_month_books books;
    backtesting b;
    bool left = false;
    const uint32_t paths = (uint32_t)tb_arg_number(args, "paths", TB_BACKTEST_PATHS);
    tb_code code = begin(ops, args, paths, &b, reply, err);
    if (!code) code = tb_month_books_read(ops->store, &books, err);
    if (code) return code;
    code = test_some(ops, args, &books, &b, paths, &left, reply, err);
    tb_month_books_release(&books);
    if (code) return code;
    if (left)
        leave(&b, &reply->next);
    else
        end(args, &b, reply);
    return TB_OK;
}
