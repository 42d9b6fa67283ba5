/* preview: what a month's run would bill, account by account, beside the month before, what looks wrong, and the totals
 * by currency and product. Nothing is made; what is final already is shown as it is. What a document lacks is listed
 * apart from what looks wrong: it is often the same of all accounts, and would hide the rest.
 *
 * Where the reply is drained it grows with the accounts, and its rows are in `out` alone.
 *
 * next: "TOTAL DONE WRONG ODD INCOMPLETE", the totals so far, and the accounts that are left: "ID ID ...". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/list.h"
#include "ops/invoicing/issue_parts.h"
#include "ops/invoicing/preview_totals.h"
#include "ops/invoicing/usual.h"
#include "ops/operations.h"
#include "tollbook/alerts.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/invoice.h"
#include "tollbook/ledger.h"
#include "tollbook/meterstore.h"
#include "tollbook/billsource.h"
#include "tollbook/statistics.h"

#define HOURS_MAX        (31 * 24 + TB_ANOMALY_WEEKS * 168)
#define LIMIT_SCALE      3 /* digits after the point of --times and the like */

/* What an account's month comes to. */
typedef struct month_figure {
    const char *state; /* "draft", "final", "elsewhere", "refused", "nothing" */
    char number[24];
    char currency[4];
    bool last;             /* of the month before */
    tb_decimal net, total; /* good where it is a draft or final */
    size_t unpriced, n_missing;
    tb_unpriced first_unpriced;
    tb_missing_field missing[TB_MISSING_FIELDS_MAX];
    tb_i128 bytes, requests;
    char why[TB_RUN_REASON_MAX]; /* refused: what keeps it back */
} month_figure;

typedef struct preview_run {
    tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month, begin; /* begin: the ledger's */
    tb_decimal times, hours; /* how many times is too many, of a month and of an hour */
    tb__usual_limits limits;
    bool json;               /* what is printed */
    tb_buf name;             /* of the account that is looked at */
    tb_buf wrong;            /* JSON of what looks wrong with it, and its words for people */
    tb_buf words;
    /* Of all calls so far. */
    size_t total, accounts, n_wrong;
    size_t n_odd, n_incomplete; /* of those wrong: other than in their document's fields; in these */
    tb__preview_totals totals;
    const char *left; /* the accounts that are left, as in next */
    tb_buf all;       /* what that points into in the first call */
    bool listed;      /* something is in this call's answer */
} preview_run;

/* --- a month --- */

static void take_statement(month_figure *f, const tb_statement *s)
{
    const tb_bill *bill = s->bill;
    memcpy(f->currency, s->currency, sizeof f->currency);
    f->net = bill->subtotal;
    f->total = bill->total;
    f->unpriced = bill->n_unpriced;
    if (f->unpriced) f->first_unpriced = bill->unpriced[0];
    f->n_missing = tb_statement_missing_fields(s, TB_NORM_LEGAL, f->missing);
}

/* run: it is in the totals; NULL: not. */
static tb_code take_invoice(preview_run *run, month_figure *f, const tb_invoice *invoice, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    f->state = "final";
    memcpy(f->number, paper.statement.number, sizeof f->number);
    take_statement(f, &paper.statement);
    if (run) code = tb__preview_totals_add(&run->totals, &paper.statement, f->last, err);
    tb_paper_release(&paper);
    return code;
}

static tb_code take_draft(preview_run *run, int64_t account, int64_t month, month_figure *f, tb_error *err)
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
    code = tb__preview_totals_add(&run->totals, &draft.statement, f->last, err);
    tb_issue_release(&draft);
    return code;
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

/* Of the month or, last, of the one before it. */
static tb_code read_figure(preview_run *run, int64_t account, bool last, month_figure *f, tb_error *err)
{
    const int64_t month = run->month - last;
    tb_invoice invoice;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    *f = (month_figure){.state = "elsewhere", .last = last};
    tb_code code =
        tb_issue_done(run->ops->store, account, month, &invoice, f->number, &outcome, err);
    if (code) return code;
    if (outcome == TB_ISSUE_KNOWN) {
        code = take_invoice(run, f, &invoice, err);
        tb_invoice_release(&invoice);
    } else if (outcome == TB_ISSUE_NOTHING) {
        f->number[0] = 0;
        code = take_draft(run, account, month, f, err);
    }
    return code ? code : take_usage(run, account, month, f, err);
}

/* The month before; nothing where that was billed elsewhere. */
static tb_code read_last(preview_run *run, int64_t account, month_figure *f, tb_error *err)
{
    if (run->month > run->begin) return read_figure(run, account, true, f, err);
    *f = (month_figure){.state = "elsewhere"};
    return TB_OK;
}

static bool has_amount(const month_figure *f)
{
    return f->currency[0] != 0;
}

/* What the account is usually billed: the median of the month before, as shown, and of invoices of the months before
 * that one; in the currency of now alone. */
static tb_code read_usual(const preview_run *run, int64_t account, const month_figure *now, const month_figure *last,
                          tb__usual *ret, tb_error *err)
{
    tb_decimal past[TB__USUAL_MONTHS];
    size_t n = 0;
    tb_code code = TB_OK;
    *ret = (tb__usual){0};
    if (!has_amount(now)) return TB_OK;
    if (has_amount(last) && strcmp(last->currency, now->currency) == 0) past[n++] = last->net;
    for (int64_t month = run->month - 2; !code && month >= run->begin && month > run->month - 1 - TB__USUAL_MONTHS; month--) {
        month_figure f = {.state = ""};
        tb_invoice invoice;
        tb_issue_outcome outcome = TB_ISSUE_NOTHING;
        code = tb_issue_done(run->ops->store, account, month, &invoice, f.number, &outcome, err);
        if (code || outcome != TB_ISSUE_KNOWN) continue;
        code = take_invoice(NULL, &f, &invoice, err);
        tb_invoice_release(&invoice);
        if (!code && strcmp(f.currency, now->currency) == 0) past[n++] = f.net;
    }
    if (!code) *ret = tb__usual_find(past, n, now->net, &run->limits);
    return code;
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

/* A fall counts once the month is over and all of it has a price. */
static void say_usual(preview_run *run, const month_figure *now, const tb__usual *u)
{
    char net[TB_DECIMAL_TEXT_MAX + 1], change[TB_DECIMAL_TEXT_MAX + 1], usual[TB_DECIMAL_TEXT_MAX + 1];
    char percent[TB_DECIMAL_TEXT_MAX + 1], text[4 * TB_DECIMAL_TEXT_MAX + 160], months[64] = "its last month came to";
    const bool is_less = tb_decimal_sign(u->change) < 0;
    tb_decimal size = u->change, part = u->percent;
    if (!u->is_unusual) return;
    if (is_less && (now->unpriced || tb_issue_check_over(run->month, run->ops->now_us, NULL))) return;
    if (is_less) size.mantissa = -size.mantissa;
    if (is_less) part.mantissa = -part.mantissa;
    if (u->n > 1) snprintf(months, sizeof months, "the median of its last %zu months is", u->n);
    *tb_decimal_put_fixed(percent, part, 1) = 0;
    snprintf(text, sizeof text, "%s %s before tax is %s (%s %%) %s than usual: %s %s.",
             tb_shadow_money(now->net, now->currency, net), now->currency,
             tb_shadow_money(size, now->currency, change), percent, is_less ? "less" : "more", months,
             tb_shadow_money(u->amount, now->currency, usual));
    put_wrong(run, "unusual", text);
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

static tb_code say_document(preview_run *run, const month_figure *now, tb_error *err)
{
    tb_buf text;
    tb_buf_init(&text, 4096, NULL);
    if (strcmp(now->state, "refused") == 0) put_wrong(run, "refused", now->why);
    if (now->unpriced) {
        tb__unpriced_say(&text, &now->first_unpriced);
        if (now->unpriced > 1)
            tb_buf_fmt(&text, " And %zu more without a price: `invoice` lists them.", now->unpriced - 1);
        tb_buf_add(&text, "", 1);
        put_wrong(run, "unpriced", text.data ? text.data : "");
    }
    tb_code code = tb_buf_check(&text, err);
    tb_buf_release(&text);
    return code;
}

/* Members of a row alone: a table has them in a column of their own. */
static void put_lacks(preview_run *run, const month_figure *now)
{
    char text[160];
    const size_t words = run->words.len;
    if (!now->n_missing) return;
    snprintf(text, sizeof text, "Its document lacks %s%s: `invoice --check` lists them.", now->missing[0].path,
             now->n_missing > 1 ? " and more" : "");
    put_wrong(run, "lacks", text);
    run->words.len = words;
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

static void put_usual_json(tb_buf *out, const tb__usual *u)
{
    char percent[TB_DECIMAL_TEXT_MAX + 1];
    if (u->n == 0) {
        tb_buf_str(out, ",\"usual\":null");
        return;
    }
    *tb_decimal_put_fixed(percent, u->percent, 1) = 0;
    tb_buf_fmt(out, ",\"usual\":{\"months\":%zu", u->n);
    put_money(out, "net", u->amount);
    put_money(out, "change", u->change);
    tb_buf_fmt(out, ",\"percent\":\"%s\"}", percent);
}

static void put_row_json(const preview_run *run, int64_t account, const month_figure f[2], const tb__usual *usual,
                         tb_buf *out)
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
    put_usual_json(out, usual);
    tb_buf_str(out, ",\"looks_wrong\":[");
    tb_buf_add(out, run->wrong.data, run->wrong.len);
    tb_buf_str(out, "],\"missing\":[");
    for (size_t i = 0; i < f[0].n_missing; i++)
        tb_buf_fmt(out, "%s\"%s\"", i ? "," : "", f[0].missing[i].path);
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
    tb_buf_str(out, f[0].n_missing ? "\t" : "\t-");
    for (size_t i = 0; i < f[0].n_missing; i++)
        tb_buf_fmt(out, "%s%s", i ? " " : "", f[0].missing[i].path);
    tb_buf_str(out, "\n");
}

static void put_account(preview_run *run, int64_t account, const month_figure f[2], const tb__usual *usual)
{
    tb_reply *reply = run->reply;
    if (!run->ops->drain) {
        if (run->listed) tb_buf_str(&reply->json, ",");
        put_row_json(run, account, f, usual, &reply->json);
    }
    if (!run->json) {
        put_row_table(run, account, f, &reply->out);
    } else {
        if (run->accounts) tb_buf_str(&reply->out, ",");
        put_row_json(run, account, f, usual, &reply->out);
    }
    run->listed = true;
}

static tb_code preview_account(void *ctx, int64_t account, tb_error *err)
{
    preview_run *run = ctx;
    month_figure f[2];
    tb__usual usual = {0};
    run->name.len = run->wrong.len = run->words.len = 0;
    tb_code code = tb_store_account_name(run->ops->store, account, &run->name, err);
    tb_buf_add(&run->name, "", 1);
    if (!code) code = tb_buf_check(&run->name, err);
    if (!code) code = read_figure(run, account, false, &f[0], err);
    if (!code) code = read_last(run, account, &f[1], err);
    if (!code) code = read_usual(run, account, &f[0], &f[1], &usual, err);
    if (!code) code = say_document(run, &f[0], err);
    if (code) return code;
    say_usual(run, &f[0], &usual);
    say_amounts(run, &f[0], &f[1]);
    code = say_odd_hour(run, account, err);
    run->n_odd += run->wrong.len > 0;
    put_lacks(run, &f[0]);
    if (!code) code = tb_buf_check(&run->wrong, err);
    if (code) return code;
    put_account(run, account, f, &usual);
    run->accounts++;
    run->n_wrong += run->wrong.len > 0;
    run->n_incomplete += f[0].n_missing > 0;
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
    else tb_buf_str(&run->reply->out, "account\tname\tinvoice\tcurrency\tlast month\ttotal\tdifference\tlooks wrong\tmissing\n");
    return code;
}

static void say_end(const preview_run *run)
{
    char month[8];
    tb_reply *reply = run->reply;
    tb__preview_totals_say(&run->totals, reply);
    tb_reply_say(reply, "%s, of which %zu %s wrong.", TB__COUNTED(run->accounts, "account"), run->n_odd,
                 run->n_odd == 1 ? "looks" : "look");
    if (!run->n_incomplete) return;
    tb_month_format(run->month, month);
    tb_reply_say(reply, "%s %s. List what is missing with: tollbook invoice --check --month %s",
                 TB__COUNTED(run->n_incomplete, "document"),
                 run->n_incomplete == 1 ? "is no legal invoice" : "are no legal invoices", month);
}

static void close_forms(const preview_run *run, const tb_meter *meters, size_t n)
{
    tb_reply *reply = run->reply;
    tb_buf *json = &reply->json;
    const size_t before = json->len;
    tb_buf_fmt(json, "],\"accounts\":%zu,\"wrong\":%zu,\"odd\":%zu,\"incomplete\":%zu", run->accounts, run->n_wrong,
               run->n_odd, run->n_incomplete);
    if (*run->left) {
        tb_buf_str(json, "}");
        tb_buf_fmt(&reply->next, "%zu %zu %zu %zu %zu ", run->total, run->accounts, run->n_wrong, run->n_odd,
                   run->n_incomplete);
        tb__preview_totals_put(&run->totals, &reply->next);
        tb_buf_str(&reply->next, run->left);
        return;
    }
    tb_buf_str(json, ",");
    tb__preview_totals_json(&run->totals, meters, n, json);
    tb_buf_str(json, "}");
    if (run->json && !json->failed) {
        tb_buf_add(&reply->out, json->data + before, json->len - before);
        tb_buf_str(&reply->out, "\n");
    }
    reply->no = run->n_wrong > 0;
    say_end(run);
}

static tb_code preview_accounts(preview_run *run, tb_error *err)
{
    tb__account_walk walk = {run->left, TB__ACCOUNTS_AT_ONCE, run->accounts, run->total, preview_account,
                             run, &run->reply->out};
    tb_code code = tb__walk_accounts(run->ops, &walk, err);
    run->left = walk.left;
    tb_meter *meters = NULL;
    size_t n = 0;
    if (!code) code = tb_store_meters(run->ops->store, &meters, &n, err);
    if (!code) close_forms(run, meters, n);
    free(meters);
    return code;
}

static tb_code read_next(preview_run *run, const char *text, tb_error *err)
{
    int64_t counts[5];
    for (size_t i = 0; i < 5; i++)
        if (!tb__next_number(&text, &counts[i])) return tb__next_wrong(err);
    run->total = (size_t)counts[0];
    run->accounts = (size_t)counts[1];
    run->n_wrong = (size_t)counts[2];
    run->n_odd = (size_t)counts[3];
    run->n_incomplete = (size_t)counts[4];
    tb_code code = tb__preview_totals_take(&run->totals, &text, err);
    run->left = text;
    return code;
}

/* A number that is more than 0, or for `money` not below it. */
static tb_code read_limit(const tb_args *args, const char *name, bool is_zero_good, tb_decimal *ret, tb_error *err)
{
    tb_code code = tb_arg_decimal(args, name, LIMIT_SCALE, ret, err);
    if (code || tb_decimal_sign(*ret) > 0 || (is_zero_good && tb_decimal_sign(*ret) == 0)) return code;
    return tb_fail(err, TB_E_VALIDATION, name, is_zero_good ? "It is not below 0." : "It is more than 0.");
}

static tb_code run_preview(preview_run *run, const tb_args *args, tb_error *err)
{
    tb_code code = read_limit(args, "times", false, &run->times, err);
    if (!code) code = read_limit(args, "hours", false, &run->hours, err);
    if (!code) code = read_limit(args, "percent", false, &run->limits.percent, err);
    if (!code) code = read_limit(args, "money", true, &run->limits.money, err);
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
    tb__preview_totals_release(&run.totals);
    tb_month_books_release(&run.books);
    return code;
}

static const tb_param params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true, .help = "the month"},
    TB__PARAM_ACCOUNT(false, "this account alone"),
    {.name = "times", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "3",
     .help = "a month looks wrong that is more than N times the one before; default 3"},
    {.name = "percent", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "50",
     .help = "a month looks wrong that is N per cent and --money off its usual amount; default 50"},
    {.name = "money", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "10",
     .help = "the least change of a month that looks wrong, in the account's currency; default 10"},
    {.name = "hours", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 20, .otherwise = "10",
     .help = "an hour looks wrong that has more than N times its usual bytes; default 10"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "preview",
     .summary = "Show what a month's run would bill beside the month before, and what looks wrong",
     .details =
         "Nothing is made. An account that was run already shows its invoice, any other its draft. These\n"
         "look wrong: a draft that cannot be made, usage without a price, an amount before tax that is --percent\n"
         "and --money off what is usual (the median of the account's last 3 months), more than --times the month\n"
         "before, another currency than then, a total below zero, no usage where there was some, an account that\n"
         "begins to pay, and an hour with more than --hours times what is usual for its weekday. What a document\n"
         "lacks to be legal (as invoice --check) is listed apart. Usage that no account has is said first, then\n"
         "totals by currency beside the month before. The exit status is 1 where anything looks wrong or lacks.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = preview,
     .slow = true},
};
const tb__operations tb__preview_operations = TB__OPERATIONS(rows);
