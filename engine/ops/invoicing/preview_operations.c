/* preview: what a month's run would bill, account by account, beside the month before, and what looks wrong.
 * Nothing is made; what is final already is shown as it is.
 *
 * Where the reply is drained it grows with the accounts, and its rows are in `out` alone.
 *
 * next: "TOTAL DONE WRONG ID ID ...": accounts, counts so far, and the accounts that are left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/list.h"
#include "ops/operations.h"
#include "tollbook/alerts.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/invoice.h"
#include "tollbook/ledger.h"
#include "tollbook/billsource.h"
#include "tollbook/statistics.h"

#define HOURS_MAX        (31 * 24 + TB_ANOMALY_WEEKS * 168)
#define TIMES_SCALE      3

/* What an account's month comes to. */
typedef struct month_figure {
    const char *state; /* "draft", "final", "elsewhere", "refused", "nothing" */
    char number[24];
    char currency[4];
    tb_decimal net, total; /* good where it is a draft or final */
    size_t unpriced, n_missing;
    tb_missing_field missing; /* the first */
    tb_i128 bytes, requests;
    char why[TB_RUN_REASON_MAX]; /* refused: what keeps it back */
} month_figure;

typedef struct preview_run {
    tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month, begin; /* begin: the ledger's */
    tb_decimal times, hours; /* how many times is too many, of a month and of an hour */
    bool json;               /* what is printed */
    tb_buf name;             /* of the account that is looked at */
    tb_buf wrong;            /* JSON of what looks wrong with it, and its words for people */
    tb_buf words;
    /* Of all calls so far. */
    size_t total, accounts, n_wrong;
    const char *left; /* the accounts that are left, as in next */
    tb_buf all;       /* what that points into in the first call */
    bool listed;      /* something is in this call's answer */
} preview_run;

/* --- a month --- */

static void take_statement(month_figure *f, const tb_statement *s)
{
    tb_missing_field fields[TB_MISSING_FIELDS_MAX];
    memcpy(f->currency, s->currency, sizeof f->currency);
    f->net = s->bill->subtotal;
    f->total = s->bill->total;
    f->unpriced = s->bill->n_unpriced;
    f->n_missing = tb_statement_missing_fields(s, TB_NORM_LEGAL, fields);
    if (f->n_missing) f->missing = fields[0];
}

static tb_code take_invoice(month_figure *f, const tb_invoice *invoice, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    f->state = "final";
    memcpy(f->number, paper.statement.number, sizeof f->number);
    take_statement(f, &paper.statement);
    tb_paper_release(&paper);
    return TB_OK;
}

static tb_code take_draft(const preview_run *run, int64_t account, int64_t month, month_figure *f,
                          tb_error *err)
{
    tb_issue draft;
    tb_error why = {0};
    tb_code code = tb_issue_draft(run->ops->store, account, month, &run->books, run->ops->now_us,
                                  &draft, &why);
    if (code && !tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", account, why.message);
    if (code) {
        f->state = "refused";
        snprintf(f->why, sizeof f->why, "%.*s", (int)sizeof f->why - 1, why.message);
        return TB_OK;
    }
    f->state = "draft";
    take_statement(f, &draft.statement);
    tb_issue_release(&draft);
    return TB_OK;
}

static tb_code take_usage(const preview_run *run, int64_t account, int64_t month, month_figure *f,
                          tb_error *err)
{
    const tb_view view = {account, TB_ALL, TB_ALL};
    const int64_t first = tb_month_first_day(month);
    const tb_range range = {first, (uint32_t)(tb_month_first_day(month + 1) - first), false};
    tb_series series;
    tb_code code = tb_series_init(&series, range,
                                  TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS), NULL, err);
    if (code) return code;
    code = tb_store_read_series(run->ops->store, &view, &series, err);
    f->bytes = (tb_i128)tb_series_total(&series, TB_M_BYTES);
    f->requests = (tb_i128)tb_series_total(&series, TB_M_REQUESTS);
    tb_series_release(&series);
    return code;
}

static tb_code read_figure(const preview_run *run, int64_t account, int64_t month, month_figure *f,
                           tb_error *err)
{
    tb_invoice invoice;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    *f = (month_figure){.state = "elsewhere"};
    tb_code code =
        tb_issue_done(run->ops->store, account, month, &invoice, f->number, &outcome, err);
    if (code) return code;
    if (outcome == TB_ISSUE_KNOWN) {
        code = take_invoice(f, &invoice, err);
        tb_invoice_release(&invoice);
    } else if (outcome == TB_ISSUE_NOTHING) {
        f->number[0] = 0;
        code = take_draft(run, account, month, f, err);
    }
    return code ? code : take_usage(run, account, month, f, err);
}

/* The month before; nothing where that was billed elsewhere. */
static tb_code read_last(const preview_run *run, int64_t account, month_figure *f, tb_error *err)
{
    if (run->month > run->begin) return read_figure(run, account, run->month - 1, f, err);
    *f = (month_figure){.state = "elsewhere"};
    return TB_OK;
}

static bool has_amount(const month_figure *f)
{
    return f->currency[0] != 0;
}

/* --- what looks wrong --- */

static void put_wrong(preview_run *run, const char *what, const char *text)
{
    tb_buf_fmt(&run->wrong, "%s{\"what\":\"%s\",\"text\":", run->wrong.len ? "," : "", what);
    tb_json_string(&run->wrong, text, strlen(text));
    tb_buf_str(&run->wrong, "}");
    tb_buf_fmt(&run->words, "%s%s", run->words.len ? " " : "", text);
}

static bool is_more(const preview_run *run, const month_figure *now, const month_figure *last)
{
    tb_decimal most;
    if (!has_amount(now) || !has_amount(last) || strcmp(now->currency, last->currency) != 0) return false;
    if (tb_decimal_sign(last->net) <= 0) return false;
    if (tb_decimal_mul(run->times, last->net, &most, NULL)) return false;
    return tb_decimal_compare(now->net, most) > 0;
}

/* Nothing, times whatever, is no measure: whoever begins to pay is looked at once. */
static bool is_new(const month_figure *now, const month_figure *last)
{
    return has_amount(now) && has_amount(last) && tb_decimal_sign(last->net) <= 0 &&
           tb_decimal_sign(now->net) > 0;
}

static void say_new(preview_run *run, const month_figure *now)
{
    char text[TB_DECIMAL_TEXT_MAX + 80], net[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(net, now->net) = 0;
    snprintf(text, sizeof text, "It comes to %s %s before tax; last month it came to nothing.", net,
             now->currency);
    put_wrong(run, "new", text);
}

static void say_amounts(preview_run *run, const month_figure *now, const month_figure *last)
{
    char text[160], times[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(times, run->times) = 0;
    if (is_more(run, now, last)) {
        snprintf(text, sizeof text, "It is more than %s times last month.", times);
        put_wrong(run, "more", text);
    }
    if (is_new(now, last)) say_new(run, now);
    if (has_amount(now) && tb_decimal_sign(now->total) < 0)
        put_wrong(run, "negative", "Its total is below zero.");
    if (has_amount(now) && has_amount(last) && strcmp(now->currency, last->currency) != 0)
        put_wrong(run, "currency", "Its currency is not that of last month.");
    if (now->bytes == 0 && now->requests == 0 && (last->bytes || last->requests))
        put_wrong(run, "no_usage", "It has no usage; last month it had.");
}

static void say_document(preview_run *run, const month_figure *now)
{
    char text[TB_RUN_REASON_MAX + 160];
    if (strcmp(now->state, "refused") == 0) put_wrong(run, "refused", now->why);
    if (now->unpriced) {
        snprintf(text, sizeof text,
                 "%s without a price: `invoice` lists it. Add a price book, or declare the region.",
                 now->unpriced == 1 ? "One thing of its usage is" : "Some of its usage is");
        put_wrong(run, "unpriced", text);
    }
    if (now->n_missing) {
        snprintf(text, sizeof text, "Its document lacks %s%s: `invoice --check` lists them.",
                 now->missing.path, now->n_missing > 1 ? " and more" : "");
        put_wrong(run, "lacks", text);
    }
}

/* --- odd hours --- */

/* The hour of the month that is most beyond its usual; false: none is. hours begin TB_ANOMALY_WEEKS before
 * the month. */
static bool find_odd_hour(const preview_run *run, const uint64_t *hours, size_t n, tb_anomaly *ret)
{
    bool found = false;
    tb_anomaly one;
    for (size_t end = TB_ANOMALY_SPAN; end <= n; end += TB_ANOMALY_HOURS) {
        if (!tb_anomaly_find(hours + (end - TB_ANOMALY_SPAN), run->hours, &one)) continue;
        one.hour += end - TB_ANOMALY_SPAN;
        if (found && one.seen <= ret->seen) continue;
        *ret = one;
        found = true;
    }
    return found;
}

static tb_code say_odd_hour(preview_run *run, int64_t account, tb_error *err)
{
    const tb_view view = {account, TB_ALL, TB_ALL};
    const int64_t first = tb_month_first_day(run->month) * 24 - TB_ANOMALY_WEEKS * 168;
    const uint32_t n = (uint32_t)(tb_month_first_day(run->month + 1) * 24 - first);
    tb_series series;
    tb_anomaly odd = {0};
    tb_code code = tb_series_init(&series, (tb_range){first, n, true}, TB_METRIC_BIT(TB_M_BYTES), NULL,
                                  err);
    if (code) return code;
    code = tb_store_read_series(run->ops->store, &view, &series, err);
    if (!code && find_odd_hour(run, series.value[TB_M_BYTES], n, &odd)) {
        char at[20], text[200], times[TB_DECIMAL_TEXT_MAX + 1];
        tb_time_format((first + (int64_t)odd.hour) * TB_US_PER_HOUR, at);
        *tb_decimal_put(times, run->hours) = 0;
        snprintf(text, sizeof text, "The hour %.20s has %" PRIu64 " bytes, more than %s times its usual.",
                 at, odd.seen, times);
        put_wrong(run, "odd_hour", text);
    }
    tb_series_release(&series);
    return code;
}

/* --- a row --- */

static void put_money(tb_buf *out, const char *name, tb_decimal amount)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, amount) = 0;
    tb_buf_fmt(out, ",\"%s\":\"%s\"", name, text);
}

static void put_figure_json(tb_buf *out, const month_figure *f)
{
    tb_buf_fmt(out, "\"state\":\"%s\",\"invoice\":", f->state);
    if (f->number[0]) tb_buf_fmt(out, "\"%s\"", f->number);
    else tb_buf_str(out, "null");
    if (has_amount(f)) {
        tb_buf_fmt(out, ",\"currency\":\"%s\"", f->currency);
        put_money(out, "net", f->net);
        put_money(out, "total", f->total);
    } else tb_buf_str(out, ",\"currency\":null,\"net\":null,\"total\":null");
    put_money(out, "bytes", tb_decimal_from_int(f->bytes));
    put_money(out, "requests", tb_decimal_from_int(f->requests));
}

/* false: there is none. */
static bool difference_of(const month_figure *now, const month_figure *last, tb_decimal *ret)
{
    return has_amount(now) && has_amount(last) && strcmp(now->currency, last->currency) == 0 &&
           tb_decimal_sub(now->total, last->total, ret, NULL) == TB_OK;
}

static void put_row_json(const preview_run *run, int64_t account, const month_figure f[2], tb_buf *out)
{
    tb_decimal difference;
    tb_buf_fmt(out, "{\"account\":%" PRId64 ",\"name\":", account);
    tb_json_string(out, run->name.data, strlen(run->name.data));
    tb_buf_str(out, ",");
    put_figure_json(out, &f[0]);
    tb_buf_str(out, ",\"last\":{");
    put_figure_json(out, &f[1]);
    tb_buf_str(out, "}");
    if (difference_of(&f[0], &f[1], &difference)) put_money(out, "difference", difference);
    else tb_buf_str(out, ",\"difference\":null");
    tb_buf_str(out, ",\"looks_wrong\":[");
    tb_buf_add(out, run->wrong.data, run->wrong.len);
    tb_buf_str(out, "]}");
}

static void put_amount_cell(tb_buf *out, bool is_there, tb_decimal amount)
{
    char text[TB_DECIMAL_TEXT_MAX + 1] = "-";
    if (is_there) *tb_decimal_put(text, amount) = 0;
    tb_buf_fmt(out, "\t%s", text);
}

static void put_row_table(const preview_run *run, int64_t account, const month_figure f[2], tb_buf *out)
{
    tb_decimal difference = {0, 0};
    const bool differs = difference_of(&f[0], &f[1], &difference);
    tb_buf_fmt(out, "%" PRId64 "\t", account);
    tb__put_cell(out, run->name.data, strlen(run->name.data));
    tb_buf_fmt(out, "\t%s\t%s", f[0].number[0] ? f[0].number : f[0].state,
               has_amount(&f[0]) ? f[0].currency : "-");
    put_amount_cell(out, has_amount(&f[1]), f[1].total);
    put_amount_cell(out, has_amount(&f[0]), f[0].total);
    put_amount_cell(out, differs, difference);
    tb_buf_str(out, "\t");
    if (run->words.len) tb_buf_add(out, run->words.data, run->words.len);
    else tb_buf_str(out, "-");
    tb_buf_str(out, "\n");
}

static void put_account(preview_run *run, int64_t account, const month_figure f[2])
{
    tb_reply *reply = run->reply;
    if (!run->ops->drain) {
        if (run->listed) tb_buf_str(&reply->json, ",");
        put_row_json(run, account, f, &reply->json);
    }
    if (!run->json) {
        put_row_table(run, account, f, &reply->out);
    } else {
        if (run->accounts) tb_buf_str(&reply->out, ",");
        put_row_json(run, account, f, &reply->out);
    }
    run->listed = true;
}

static tb_code preview_account(void *ctx, int64_t account, tb_error *err)
{
    preview_run *run = ctx;
    month_figure f[2];
    run->name.len = run->wrong.len = run->words.len = 0;
    tb_code code = tb_store_account_name(run->ops->store, account, &run->name, err);
    tb_buf_add(&run->name, "", 1);
    if (!code) code = tb_buf_check(&run->name, err);
    if (!code) code = read_figure(run, account, run->month, &f[0], err);
    if (!code) code = read_last(run, account, &f[1], err);
    if (code) return code;
    say_document(run, &f[0]);
    say_amounts(run, &f[0], &f[1]);
    code = say_odd_hour(run, account, err);
    if (!code) code = tb_buf_check(&run->wrong, err);
    if (code) return code;
    put_account(run, account, f);
    run->accounts++;
    run->n_wrong += run->wrong.len > 0;
    return TB_OK;
}

/* --- the month --- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Those of the month and those of the month before, each once. */
static tb_code list_accounts(preview_run *run, int64_t account, tb_error *err)
{
    int64_t *now = NULL, *last = NULL;
    size_t n = 0, n_last = 0, kept = 0;
    tb_code code = tb_issue_accounts(run->ops->store, run->month, account, &now, &n, err);
    if (!code && !account && run->month > run->begin)
        code = tb_issue_accounts(run->ops->store, run->month - 1, 0, &last, &n_last, err);
    int64_t *all = code ? NULL : malloc((n + n_last + 1) * sizeof *all);
    if (!code && !all) code = tb_no_memory(err);
    if (!code) {
        if (n) memcpy(all, now, n * sizeof *all);
        if (n_last) memcpy(all + n, last, n_last * sizeof *all);
        qsort(all, n + n_last, sizeof *all, by_number);
        for (size_t i = 0; i < n + n_last; i++)
            if (!kept || all[kept - 1] != all[i]) all[kept++] = all[i];
        run->total = kept;
        code = tb__put_accounts(&run->all, all, kept, err);
        run->left = run->all.data;
    }
    free(all);
    free(now);
    free(last);
    return code;
}

/* Usage that no account's preview has. */
static tb_code say_unowned(preview_run *run, tb_error *err)
{
    tb_unowned_usage unowned;
    tb_code code = tb_unowned_read(run->ops->store, run->month, &unowned, err);
    if (code) return code;
    tb_buf_str(&run->reply->json, ",\"unassigned\":");
    tb_unowned_json(&unowned, &run->reply->json);
    tb_unowned_say(&unowned, run->month, &run->reply->said);
    return TB_OK;
}

static tb_code open_forms(preview_run *run, bool first, tb_error *err)
{
    char month[8];
    tb_buf *json = &run->reply->json;
    tb_month_format(run->month, month);
    tb_buf_fmt(json, "{\"month\":\"%s\",\"over\":%s", month,
               tb_issue_check_over(run->month, run->ops->now_us, NULL) ? "false" : "true");
    tb_code code = first ? say_unowned(run, err) : TB_OK;
    if (!code && first) code = tb__say_before_begin(run->ops, run->month, run->reply, err);
    tb_buf_str(json, ",\"rows\":[");
    if (!first) return code;
    if (run->json) tb_buf_add(&run->reply->out, json->data, json->len);
    else tb_buf_str(&run->reply->out, "account\tname\tinvoice\tcurrency\tlast month\ttotal\tdifference\tlooks wrong\n");
    return code;
}

static void close_forms(const preview_run *run)
{
    tb_reply *reply = run->reply;
    tb_buf_fmt(&reply->json, "],\"accounts\":%zu,\"wrong\":%zu}", run->accounts, run->n_wrong);
    if (*run->left) {
        tb_buf_fmt(&reply->next, "%zu %zu %zu %s", run->total, run->accounts, run->n_wrong, run->left);
        return;
    }
    if (run->json)
        tb_buf_fmt(&reply->out, "],\"accounts\":%zu,\"wrong\":%zu}\n", run->accounts, run->n_wrong);
    reply->no = run->n_wrong > 0;
    tb_reply_say(reply, "%s, of which %zu %s wrong.", TB__COUNTED(run->accounts, "account"),
                 run->n_wrong, run->n_wrong == 1 ? "looks" : "look");
}

static tb_code preview_accounts(preview_run *run, tb_error *err)
{
    tb__account_walk walk = {run->left, TB__ACCOUNTS_AT_ONCE, run->accounts, run->total, preview_account,
                             run, &run->reply->out};
    tb_code code = tb__walk_accounts(run->ops, &walk, err);
    run->left = walk.left;
    if (!code) close_forms(run);
    return code;
}

static tb_code read_next(preview_run *run, const char *text, tb_error *err)
{
    int64_t counts[3];
    for (size_t i = 0; i < 3; i++)
        if (!tb__next_number(&text, &counts[i])) return tb__next_wrong(err);
    run->total = (size_t)counts[0];
    run->accounts = (size_t)counts[1];
    run->n_wrong = (size_t)counts[2];
    run->left = text;
    return TB_OK;
}

static tb_code run_preview(preview_run *run, const tb_args *args, tb_error *err)
{
    tb_code code = tb_arg_decimal(args, "times", TIMES_SCALE, &run->times, err);
    if (!code) code = tb_arg_decimal(args, "hours", TIMES_SCALE, &run->hours, err);
    if (!code && (tb_decimal_sign(run->times) <= 0 || tb_decimal_sign(run->hours) <= 0))
        code = tb_fail(err, TB_E_VALIDATION, tb_decimal_sign(run->times) <= 0 ? "times" : "hours",
                       "A number of times is more than 0.");
    if (!code) code = tb_month_books_read(run->ops->store, &run->books, err);
    if (!code) code = tb_store_ledger_begin(run->ops->store, &run->begin, err);
    if (!code)
        code = args->next ? read_next(run, args->next, err)
                          : list_accounts(run, tb_arg_number(args, "account", 0), err);
    if (!code) code = open_forms(run, !args->next, err);
    return code ? code : preview_accounts(run, err);
}

static tb_code preview(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    preview_run run = {.ops = ops,
                       .reply = reply,
                       .month = tb_arg_number(args, "month", 0),
                       .json = tb_arg_is(args, "format", "json")};
    tb_buf_init(&run.name, 4096, NULL);
    tb_buf_init(&run.wrong, 16384, NULL);
    tb_buf_init(&run.words, 16384, NULL);
    tb_buf_init(&run.all, TB_REPLY_MAX, NULL);
    tb_code code = run_preview(&run, args, err);
    tb_buf_release(&run.name);
    tb_buf_release(&run.wrong);
    tb_buf_release(&run.words);
    tb_buf_release(&run.all);
    tb_month_books_release(&run.books);
    return code;
}

static const tb_param params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true, .help = "the month"},
    TB__PARAM_ACCOUNT(false, "this account alone"),
    {.name = "times", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "3",
     .help = "a month looks wrong that is more than N times the one before; default 3"},
    {.name = "hours", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "10",
     .help = "an hour looks wrong that has more than N times its usual bytes; default 10"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "preview",
     .summary = "Show what a month's run would bill beside the month before, and what looks wrong",
     .details =
         "Nothing is made. An account that was run already shows its invoice, any other its draft. These\n"
         "look wrong: a draft that cannot be made, usage without a price, a document that lacks what the law\n"
         "wants (as invoice --check), more than --times the month before, another currency than then, a total\n"
         "below zero, no usage where there was some, an account that begins to pay, and an hour with more than\n"
         "--hours times what is usual for its weekday. Usage that no account has is said first. The exit status\n"
         "is 1 where anything looks wrong.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = preview,
     .slow = true},
};
const tb__operations tb__preview_operations = TB__OPERATIONS(rows);
