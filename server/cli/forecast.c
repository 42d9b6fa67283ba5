/* tollbook forecast: the running month of an account, as a table for people or as the bytes that
 * GET /billing/forecast answers; --backtest: how well forecasts of past months would have done. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tollbook/accountforecast.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"

static bool wants_table(const cli_call *call)
{
    return cli_given(call, "format") ? cli_is(call, "format", "table") : isatty(STDOUT_FILENO) != 0;
}

/* --- the table --- */

#define CELL 24

/* Bytes as GB with three digits, requests as they are. */
static void put_units(tb_i128 value, bool bytes)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal shown = {value, 0};
    tb_error err;
    if (bytes && (tb_decimal_shift(shown, 9, &shown, &err) ||
                  tb_decimal_round(shown, 3, TB_HALF_UP, &shown, &err)))
        shown = (tb_decimal){value, 0};
    *tb_decimal_put_fixed(text, shown, bytes ? 3 : 0) = 0;
    printf(" %16s", text);
}

static void put_spread(const tb_forecast_spread *s, bool bytes)
{
    put_units(s->mean, bytes);
    put_units(s->p5, bytes);
    put_units(s->p50, bytes);
    put_units(s->p95, bytes);
}

static void put_usage(const tb_forecast *f)
{
    printf("%-*s %16s %16s %16s %16s %16s  %s\n", CELL, "usage", "so far", "mean", "p5", "p50",
           "p95", "method");
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        const tb_forecast_usage *u = &f->usage[c];
        char name[64];
        bool bytes = c != TB_USAGE_REQUESTS;
        if (!u->used) continue;
        snprintf(name, sizeof name, "%s%s%s, %s", tb_usage_product_name(c),
                 *tb_usage_region_name(c) ? " " : "", tb_usage_region_name(c),
                 bytes ? "GB" : "requests");
        printf("%-*s", CELL, name);
        put_units(u->so_far, bytes);
        put_spread(&u->month, bytes);
        printf("  %s, %zu days\n", tb_forecast_method_name(u->method), u->days);
    }
    printf("%-*s", CELL, "all bytes, GB");
    put_units(f->bytes_so_far, true);
    put_spread(&f->bytes, true);
    putchar('\n');
}

static void put_amount(const tb_forecast *f, const char *name, const tb_forecast_spread *s)
{
    const tb_i128 values[] = {s->mean, s->p5, s->p50, s->p95};
    printf("%-*s %16s", CELL, name, "");
    for (size_t i = 0; i < 4; i++) {
        char text[TB_DECIMAL_TEXT_MAX + 1];
        *tb_decimal_put_fixed(text, (tb_decimal){values[i], f->minor_digits}, f->minor_digits) = 0;
        printf(" %16s", text);
    }
    putchar('\n');
}

/* Each reason once. */
static void put_reasons(const tb_forecast *f)
{
    bool said[TB_FORECAST_METHOD_COUNT] = {false};
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        tb_forecast_method method = f->usage[c].method;
        const char *reason = tb_forecast_method_reason(method);
        if (!f->usage[c].used || said[method] || !*reason) continue;
        said[method] = true;
        printf("%s: %s\n", tb_forecast_method_name(method), reason);
    }
}

static void put_table(const tb_forecast *f)
{
    char month[8], until[20], net[32], gross[32];
    tb_month_format(f->month, month);
    tb_time_format(f->from_us, until);
    printf("Account %" PRId64
           ", %s: forecast, not a bill. Usage until %.20s is known; book %s.\n\n",
           f->account, month, until, *f->book ? f->book : "none");
    snprintf(net, sizeof net, "net, %s", f->currency);
    snprintf(gross, sizeof gross, "with tax, %s", f->currency);
    put_usage(f);
    putchar('\n');
    put_amount(f, net, &f->net);
    put_amount(f, gross, &f->gross);
    putchar('\n');
    put_reasons(f);
    if (!f->complete)
        printf("Some usage has no price and is not in the amounts: see `tollbook invoice`.\n");
    printf("%" PRIu32 " paths, generator " TB_FORECAST_GENERATOR ", seed %" PRIu64 ".\n", f->paths,
           f->seed);
}

static tb_code put_json(const tb_forecast *f, tb_error *err)
{
    tb_buf out;
    tb_buf_init(&out, TB_FORECAST_MAX, NULL);
    tb_code code = tb_forecast_json(f, &out, err);
    if (!code) fwrite(out.data, 1, out.len, stdout);
    tb_buf_release(&out);
    return code;
}

static tb_code forecast(const cli_call *call, tb_store *store, const tb_month_books *books,
                        int64_t now_us, tb_error *err)
{
    tb_forecast f;
    tb_forecast_question q = {.account = cli_number(call, "account", 0),
                              .month = tb_month_from_us(now_us),
                              .at_us = now_us,
                              .seed = (uint64_t)cli_number(call, "seed", TB_FORECAST_SEED),
                              .paths = (uint32_t)cli_number(call, "paths", TB_FORECAST_PATHS)};
    tb_code code = tb_forecast_from(store, now_us, &q.from_us, err);
    if (!code) code = tb_account_forecast(store, books, &q, &f, err);
    if (code) return code;
    if (!wants_table(call)) return put_json(&f, err);
    put_table(&f);
    return TB_OK;
}

/* --- backtest --- */

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

static void put_counts(const char *name, const tb_backtest_count *c)
{
    shares s = shares_of(c);
    printf("%-16s %10zu", name, c->n);
    if (c->n)
        printf(" %15s %15s %6s", s.money, s.bytes, s.error);
    else
        printf(" %15s %15s %6s", "-", "-", "-");
}

static void put_count_json(const tb_backtest_count *c)
{
    shares s = shares_of(c);
    printf("\"forecasts\":%zu,\"money_hits\":%zu,\"bytes_hits\":%zu", c->n, c->money_hits,
           c->bytes_hits);
    if (c->n)
        printf(",\"money_coverage\":\"%s\",\"bytes_coverage\":\"%s\",\"median_error\":\"%s\"",
               s.money, s.bytes, s.error);
    else
        printf(",\"money_coverage\":null,\"bytes_coverage\":null,\"median_error\":null");
}

static void put_pinball_json(const tb_backtest_result *r)
{
    char own[24], single[24];
    tb_forecast_single which;
    if (r->judged == 0) {
        printf(",\"pinball\":null,\"pinball_best_single\":null,\"best_single\":null");
        return;
    }
    loss(own, r->pinball, r->judged);
    loss(single, tb_backtest_best_single(r, &which), r->judged);
    printf(",\"pinball\":\"%s\",\"pinball_best_single\":\"%s\",\"best_single\":\"%s\"", own, single,
           tb_forecast_single_name(which));
}

static void put_result_json(const tb_backtest_result *r)
{
    printf("\"months\":%zu,\"months_skipped\":%zu,", r->months, r->skipped);
    put_count_json(&r->all);
    put_pinball_json(r);
    printf(",\"from_day\":[");
    for (int i = 0; i < TB_BACKTEST_DAYS; i++) {
        printf("%s{\"day\":%d,", i ? "," : "", tb_backtest_days[i]);
        put_count_json(&r->by_day[i]);
        putchar('}');
    }
    printf("]");
}

/* The row of an account, or of all: counts, and losses. */
static void put_row(const char *name, const tb_backtest_result *r)
{
    char own[24] = "-", single[24] = "-";
    tb_forecast_single which = 0;
    put_counts(name, &r->all);
    if (r->judged) {
        loss(own, r->pinball, r->judged);
        loss(single, tb_backtest_best_single(r, &which), r->judged);
    }
    printf(" %9s %12s  %s\n", own, single, r->judged ? tb_forecast_single_name(which) : "-");
}

static void put_result_table(const tb_backtest_result *total)
{
    char name[32];
    put_row("all", total);
    for (int i = 0; i < TB_BACKTEST_DAYS; i++) {
        snprintf(name, sizeof name, "from day %d", tb_backtest_days[i]);
        put_counts(name, &total->by_day[i]);
        putchar('\n');
    }
    printf("\nOf %zu months, at %d days of each; %zu months had too short a history.\n"
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

/* The account asked for, or all that had anything in the last complete month. */
static tb_code accounts_of(const cli_call *call, tb_store *store, int64_t now_us,
                           int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    if (!cli_given(call, "account"))
        return tb_store_billed_accounts(store, tb_month_from_us(now_us) - 1, ret_accounts, ret_n,
                                        err);
    int64_t *one = malloc(sizeof *one);
    if (!one) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    *one = cli_number(call, "account", 0);
    *ret_accounts = one;
    *ret_n = 1;
    return TB_OK;
}

static void put_account(bool table, size_t i, int64_t account, const tb_backtest_result *r)
{
    char name[32];
    if (table) {
        snprintf(name, sizeof name, "account %" PRId64, account);
        put_row(name, r);
        return;
    }
    printf("%s{\"account\":%" PRId64 ",", i ? "," : "", account);
    put_result_json(r);
    putchar('}');
}

static void begin_backtest(bool table, uint64_t seed, uint32_t paths)
{
    if (table)
        printf("%-16s %10s %15s %15s %6s %9s %12s\n", "", "forecasts", "money coverage",
               "bytes coverage", "error", "pinball", "best single");
    else
        printf("{\"seed\":%" PRIu64 ",\"generator\":\"" TB_FORECAST_GENERATOR
               "\",\"paths\":%" PRIu32 ",\"interval\":\"p5 to p95\",\"accounts\":[",
               seed, paths);
}

/* A run over accounts: nothing is printed before the last. */
typedef struct backtesting {
    const cli_call *call;
    uint64_t seed;
    uint32_t paths;
    int64_t *accounts;
    tb_backtest_result *results; /* of the first n_done accounts: those that are not refused */
    size_t n, n_done;
} backtesting;

/* One account's own trouble is said, and the others go on. */
static tb_code test_account(backtesting *b, tb_store *store, const tb_month_books *books,
                            int64_t account, int64_t now_us, tb_error *err)
{
    tb_backtest_result result = {.months = 0};
    tb_error why;
    tb_code code =
        tb_account_backtest(store, books, account, now_us, b->seed, b->paths, &result, &why);
    if (code && !tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", account, why.message);
    if (code) {
        cli_say(b->call, "account %" PRId64 ": %s", account, why.message);
        return TB_OK;
    }
    b->accounts[b->n_done] = account;
    b->results[b->n_done++] = result;
    return TB_OK;
}

static tb_code test_accounts(backtesting *b, tb_store *store, const tb_month_books *books,
                             int64_t now_us, tb_error *err)
{
    bool progress = cli_given(b->call, "progress");
    tb_code code = accounts_of(b->call, store, now_us, &b->accounts, &b->n, err);
    if (code) return code;
    b->results = calloc(b->n + 1, sizeof *b->results);
    if (!b->results) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    for (size_t i = 0; !code && i < b->n; i++) {
        code = test_account(b, store, books, b->accounts[i], now_us, err);
        if (progress && !code) cli_say(b->call, "%zu of %zu accounts", i + 1, b->n);
    }
    return code;
}

static void print_backtest(const backtesting *b)
{
    tb_backtest_result total = {.months = 0};
    bool table = wants_table(b->call);
    begin_backtest(table, b->seed, b->paths);
    for (size_t i = 0; i < b->n_done; i++) {
        put_account(table, i, b->accounts[i], &b->results[i]);
        add_result(&total, &b->results[i]);
    }
    if (table) {
        put_result_table(&total);
        return;
    }
    printf("],\"total\":{");
    put_result_json(&total);
    printf("}}\n");
}

static tb_code backtest(const cli_call *call, tb_store *store, const tb_month_books *books,
                        int64_t now_us, int *ret_status, tb_error *err)
{
    backtesting b = {.call = call,
                     .seed = (uint64_t)cli_number(call, "seed", TB_FORECAST_SEED),
                     .paths = (uint32_t)cli_number(call, "paths", TB_BACKTEST_PATHS)};
    tb_code code = test_accounts(&b, store, books, now_us, err);
    size_t refused = b.n - b.n_done;
    if (!code) print_backtest(&b);
    if (!code && refused) {
        cli_say(call, "%zu account%s left out, as said above.", refused,
                refused == 1 ? " is" : "s are");
        *ret_status = tb_code_exit(TB_E_UNPRICED);
    }
    free(b.accounts);
    free(b.results);
    return code;
}

/* --- the whole --- */

static tb_code run(const cli_call *call, tb_store *store, int64_t now_us, int *ret_status,
                   tb_error *err)
{
    tb_month_books books;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_month_books_read(store, &books, err);
    if (!code) {
        code = cli_given(call, "backtest") ? backtest(call, store, &books, now_us, ret_status, err)
                                           : forecast(call, store, &books, now_us, err);
        tb_month_books_release(&books);
    }
    tb_store_read_end(store);
    return code;
}

int cli_forecast(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    if (!cli_given(call, "account") && !cli_given(call, "backtest")) {
        cli_say(call, "Give --account ID. --backtest alone takes all accounts.");
        return tb_code_exit(TB_E_USAGE);
    }
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = run(call, store, now_us, &status, &err);
    int printed = code ? cli_fail(call, NULL, &err) : cli_done(call);
    tb_store_close(store);
    return printed ? printed : status;
}
