/* account summary: what all accounts come to in the running month, beside the same part of the month before, with what
 * is owed and not billed; who grew, who fell, who is overdue. One call reads all accounts, so its cost is linear. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/monthbill.h"

#define TOP_DEFAULT 10
#define TOP_MAX     100

/* Sums of one account, or of all accounts of one currency. */
typedef struct sums {
    int64_t account;
    char currency[4];
    bool has_percent;
    tb_decimal charges, previous, change, owed, overdue, unbilled;
    tb_decimal percent; /* of the change */
    size_t accounts, n_overdue, n_unbilled;
} sums;

typedef struct summary {
    const tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month, until_us, before_us; /* before_us: the month before counts until then */
    bool reads_last;                    /* whether the month before is in the ledger */
    size_t top;
    sums *rows, *currencies;
    size_t n, n_currencies;
    size_t incomplete;
    tb_buf why; /* JSON of the first accounts that are incomplete */
} summary;

/* --- reading --- */

/* Usage and fees until until_us; 0 where the month has another currency. What is wrong with the account
 * itself goes into *why. */
static tb_code read_charges(const summary *s, const sums *of_account, int64_t month, int64_t until_us, tb_decimal *ret,
                            tb_error *why, tb_error *err)
{
    const tb_bill_query query = {of_account->account, month, TB_NOW, s->books.list, s->books.n, until_us};
    tb_month_bill of;
    tb_code code = tb_store_bill_input_until(s->ops->store, &query, until_us, &of.source, why);
    *ret = TB_DECIMAL_ZERO;
    if (!code) {
        code = tb_bill_rate(&of.source.input, NULL, &of.bill, why);
        if (code) tb_bill_source_release(&of.source);
    }
    if (code) {
        if (tb_code_exit(code) < 3) return TB_OK;
        *err = *why;
        return code;
    }
    if (strcmp(of.source.input.currency, of_account->currency) == 0) *ret = of.bill.subtotal;
    if (of.bill.n_unpriced && !why->code) (void)tb_fail(why, TB_E_UNPRICED, NULL, "Some of its usage has no price.");
    tb_month_bill_release(&of);
    return TB_OK;
}

static tb_code note_incomplete(summary *s, const sums *of, const tb_error *why, tb_error *err)
{
    if (s->incomplete++ >= s->top) return TB_OK;
    tb_buf name;
    tb_buf_init(&name, 1 << 16, NULL);
    tb_code code = tb_store_account_name(s->ops->store, of->account, &name, err);
    tb_buf_fmt(&s->why, "%s{\"account\":%" PRId64 ",\"name\":", s->why.len ? "," : "", of->account);
    tb_json_string(&s->why, name.data ? name.data : "", name.len);
    tb_buf_str(&s->why, ",\"why\":");
    tb_json_string(&s->why, why->message, strlen(why->message));
    tb_buf_str(&s->why, "}");
    tb_buf_release(&name);
    return code;
}

/* What the month before comes to, unless a document has it already. */
static tb_code read_unbilled(const summary *s, sums *of, tb_error *err)
{
    tb_invoice invoice;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    tb_error why = {0};
    char number[24];
    tb_code code = tb_issue_done(s->ops->store, of->account, s->month - 1, &invoice, number, &outcome, err);
    if (!code && outcome == TB_ISSUE_KNOWN) tb_invoice_release(&invoice);
    if (code || outcome != TB_ISSUE_NOTHING) return code;
    code = read_charges(s, of, s->month - 1, tb_month_start_us(s->month), &of->unbilled, &why, err);
    of->n_unbilled = tb_decimal_sign(of->unbilled) != 0;
    return code;
}

static tb_code read_running(summary *s, sums *of, tb_error *why, tb_error *err)
{
    tb_code code = tb_store_month_currency(s->ops->store, of->account, s->month, of->currency, err);
    return code ? code : read_charges(s, of, s->month, s->until_us, &of->charges, why, err);
}

static tb_code read_before(summary *s, sums *of, tb_error *why, tb_error *err)
{
    tb_code code = read_charges(s, of, s->month - 1, s->before_us, &of->previous, why, err);
    if (!code) code = tb__account_owes(s->ops, of->account, &of->owed, &of->overdue, err);
    if (!code && s->reads_last) code = read_unbilled(s, of, err);
    if (!code) code = tb_decimal_sub(of->charges, of->previous, &of->change, err);
    if (!code && why->code) code = note_incomplete(s, of, why, err);
    if (code) return code;
    of->accounts = 1;
    of->n_overdue = tb_decimal_sign(of->overdue) > 0;
    return TB_OK;
}

/* A change in percent of what was before; has_percent: that was above zero. */
static tb_code set_percent(sums *of, tb_error *err)
{
    tb_decimal hundred;
    of->has_percent = tb_decimal_sign(of->previous) > 0;
    if (!of->has_percent) return TB_OK;
    const tb_decimal before = tb_decimal_normal(of->previous);
    tb_code code = tb_decimal_shift(of->change, -2 - before.scale, &hundred, err);
    return code ? code : tb_decimal_divide(hundred, 1, before.mantissa, 1, TB_HALF_UP, &of->percent, err);
}

/* --- sums of a currency --- */

static tb_code add_to_currency(summary *s, const sums *of, tb_error *err)
{
    size_t i = 0;
    while (i < s->n_currencies && strcmp(s->currencies[i].currency, of->currency) != 0)
        i++;
    sums *to = &s->currencies[i];
    if (i == s->n_currencies) {
        *to = (sums){.n_overdue = 0};
        memcpy(to->currency, of->currency, sizeof to->currency);
        s->n_currencies++;
    }
    tb_code code = tb_decimal_add(to->charges, of->charges, &to->charges, err);
    if (!code) code = tb_decimal_add(to->previous, of->previous, &to->previous, err);
    if (!code) code = tb_decimal_add(to->change, of->change, &to->change, err);
    if (!code) code = tb_decimal_add(to->owed, of->owed, &to->owed, err);
    if (!code) code = tb_decimal_add(to->overdue, of->overdue, &to->overdue, err);
    if (!code) code = tb_decimal_add(to->unbilled, of->unbilled, &to->unbilled, err);
    to->accounts++;
    to->n_overdue += of->n_overdue;
    to->n_unbilled += of->n_unbilled;
    return code;
}

/* A month of all accounts, then the one before: a usage server gives a month of many accounts at once. */
static tb_code read_accounts(summary *s, const int64_t *accounts, tb_error *why, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < 2 * s->n; i++) {
        const size_t at = i % s->n;
        sums *of = &s->rows[at];
        of->account = accounts[at];
        if (i < s->n) code = read_running(s, of, &why[at], err);
        else code = read_before(s, of, &why[at], err);
        if (!code && s->ops->step && !s->ops->step(s->ops->ctx, (i + 1) / 2, s->n))
            code = tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    return code;
}

static tb_code sum_accounts(summary *s, tb_error *err)
{
    const tb_account_choice all = {.after = 0};
    int64_t *accounts = NULL;
    tb_code code = tb_store_accounts(s->ops->store, &all, &accounts, &s->n, err);
    if (code) return code;
    tb_error *why = calloc(s->n + 1, sizeof *why);
    s->rows = calloc(s->n + 1, sizeof *s->rows);
    s->currencies = calloc(s->n + 1, sizeof *s->currencies);
    code = why && s->rows && s->currencies ? read_accounts(s, accounts, why, err) : tb_no_memory(err);
    for (size_t i = 0; !code && i < s->n; i++) {
        code = set_percent(&s->rows[i], err);
        if (!code) code = add_to_currency(s, &s->rows[i], err);
    }
    for (size_t i = 0; !code && i < s->n_currencies; i++)
        code = set_percent(&s->currencies[i], err);
    free(why);
    free(accounts);
    return code;
}

/* --- lists of a currency --- */

typedef struct list {
    const char *name;
    size_t field;  /* of the decimal that it is sorted by */
    int direction; /* 1: the largest first, and only those above zero */
    bool percent;  /* only accounts with one */
} list;

static const list lists[] = {
    {"grown", offsetof(sums, change), 1, false},
    {"grown_percent", offsetof(sums, percent), 1, true},
    {"fallen", offsetof(sums, change), -1, false},
    {"most_overdue", offsetof(sums, overdue), 1, false},
};

static const tb_decimal *listed_by(const sums *of, const list *l)
{
    return (const tb_decimal *)(const void *)((const char *)of + l->field);
}

static int by_list(const void *a, const void *b, void *ctx)
{
    const sums *x = *(const sums *const *)a, *y = *(const sums *const *)b;
    const list *l = ctx;
    const int order = tb_decimal_compare(*listed_by(x, l), *listed_by(y, l));
    if (order) return -l->direction * order;
    return x->account < y->account ? -1 : x->account > y->account;
}

/* --- printing --- */

static const char *summed_amount(const sums *of, tb_decimal amount, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    const int digits = tb_currency_minor_digits(of->currency);
    const tb_decimal plain = tb_decimal_normal(amount);
    *tb_decimal_put_fixed(out, plain, plain.scale > digits ? plain.scale : digits) = 0;
    return out;
}

static const char *summed_percent(const sums *of, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    *tb_decimal_put_fixed(out, of->percent, 1) = 0;
    return out;
}

static void put_sums(const sums *of, tb_buf *json)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    const struct {
        const char *name;
        tb_decimal amount;
    } amounts[] = {{"charges", of->charges}, {"previous", of->previous}, {"change", of->change},
                   {"owed", of->owed},       {"overdue", of->overdue},   {"unbilled", of->unbilled}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        tb_buf_fmt(json, ",\"%s\":\"%s\"", amounts[i].name, summed_amount(of, amounts[i].amount, text));
    if (of->has_percent) tb_buf_fmt(json, ",\"percent\":\"%s\"", summed_percent(of, text));
    else tb_buf_str(json, ",\"percent\":null");
}

static void put_summed_row(const char *what, const sums *of, const tb_buf *name, tb_buf *out)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%s\t%s\t", what, of->currency);
    if (name) tb_buf_fmt(out, "%" PRId64 "\t", of->account);
    else tb_buf_fmt(out, "-\t%zu accounts", of->accounts);
    if (name) tb__put_cell(out, name->data ? name->data : "", name->len);
    const tb_decimal amounts[] = {of->charges, of->previous, of->change};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        tb_buf_fmt(out, "\t%s", summed_amount(of, amounts[i], text));
    tb_buf_fmt(out, "\t%s", of->has_percent ? summed_percent(of, text) : "-");
    const tb_decimal debts[] = {of->owed, of->overdue, of->unbilled};
    for (size_t i = 0; i < sizeof debts / sizeof *debts; i++)
        tb_buf_fmt(out, "\t%s", summed_amount(of, debts[i], text));
    tb_buf_str(out, "\n");
}

static tb_code put_list_item(summary *s, const char *what, const sums *of, bool first, tb_error *err)
{
    tb_buf name, *json = &s->reply->json;
    tb_buf_init(&name, 1 << 16, NULL);
    tb_code code = tb_store_account_name(s->ops->store, of->account, &name, err);
    if (!code) {
        tb_buf_fmt(json, "%s{\"account\":%" PRId64 ",\"name\":", first ? "" : ",", of->account);
        tb_json_string(json, name.data ? name.data : "", name.len);
        put_sums(of, json);
        tb_buf_str(json, "}");
        put_summed_row(what, of, &name, &s->reply->out);
    }
    tb_buf_release(&name);
    return code;
}

static tb_code put_summed_list(summary *s, const list *l, const sums **of, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    size_t shown = 0;
    qsort_r(of, n, sizeof *of, by_list, (void *)(uintptr_t)l);
    tb_buf_fmt(&s->reply->json, ",\"%s\":[", l->name);
    for (size_t i = 0; !code && i < n && shown < s->top; i++) {
        if (tb_decimal_sign(*listed_by(of[i], l)) != l->direction || (l->percent && !of[i]->has_percent)) continue;
        code = put_list_item(s, l->name, of[i], shown++ == 0, err);
    }
    tb_buf_str(&s->reply->json, "]");
    return code;
}

static tb_code put_currency(summary *s, const sums *of, bool first, tb_error *err)
{
    const sums **own = calloc(s->n + 1, sizeof *own);
    size_t n = 0;
    if (!own) return tb_no_memory(err);
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->rows[i].currency, of->currency) == 0) own[n++] = &s->rows[i];
    tb_buf_fmt(&s->reply->json,
               "%s{\"currency\":\"%s\",\"accounts\":%zu,\"overdue_accounts\":%zu,\"unbilled_accounts\":%zu",
               first ? "" : ",", of->currency, of->accounts, of->n_overdue, of->n_unbilled);
    put_sums(of, &s->reply->json);
    put_summed_row("all", of, NULL, &s->reply->out);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof lists / sizeof *lists; i++)
        code = put_summed_list(s, &lists[i], own, n, err);
    tb_buf_str(&s->reply->json, "}");
    free(own);
    return code;
}

static tb_code put_summary(summary *s, tb_error *err)
{
    char month[8], until[21] = {0}, before[21] = {0};
    tb_buf *json = &s->reply->json;
    tb_month_format(s->month, month);
    tb_time_format(s->until_us, until);
    tb_time_format(s->before_us, before);
    tb_buf_fmt(json, "{\"month\":\"%s\",\"until\":\"%s\",\"previous_until\":\"%s\",\"accounts\":%zu,\"currencies\":[",
               month, until, before, s->n);
    tb_buf_str(&s->reply->out,
               "list\tcurrency\taccount\tname\tcharges\tprevious\tchange\tpercent\towed\toverdue\tunbilled\n");
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->n_currencies; i++)
        code = put_currency(s, &s->currencies[i], i == 0, err);
    tb_buf_fmt(json, "],\"incomplete\":{\"accounts\":%zu,\"first\":[", s->incomplete);
    tb_buf_add(json, s->why.data, s->why.len);
    tb_buf_str(json, "]}}");
    return code;
}

static tb_code show_summary(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    int64_t begin = 0;
    summary s = {.ops = ops, .reply = reply, .month = tb_month_from_us(ops->now_us),
                 .until_us = ops->now_us - ops->now_us % TB_US_PER_HOUR,
                 .top = (size_t)tb_arg_number(args, "top", TOP_DEFAULT)};
    const int64_t start_us = tb_month_start_us(s.month);
    s.before_us = tb_month_start_us(s.month - 1) + (s.until_us - start_us);
    if (s.before_us > start_us) s.before_us = start_us;
    tb_buf_init(&s.why, TB_REPLY_MAX, NULL);
    tb_code code = tb_store_ledger_begin(ops->store, &begin, err);
    s.reads_last = s.month - 1 >= begin;
    if (!code) code = tb_month_books_read(ops->store, &s.books, err);
    if (!code) code = sum_accounts(&s, err);
    if (!code) code = put_summary(&s, err);
    if (!code) tb__print_answer(args, reply);
    tb_month_books_release(&s.books);
    tb_buf_release(&s.why);
    free(s.rows);
    free(s.currencies);
    return code;
}

static const tb_param params[] = {
    {.name = "top", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = TOP_MAX,
     .help = "accounts of each list; default: 10"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "account summary",
     .summary = "Sum the running month, debts and unbilled charges of all accounts, and list who grew",
     .details = "By currency: the charges of the running month up to the last whole hour, before tax, beside those of\n"
                "the same part of the month before; what is owed and overdue, as `ledger aging` lists it; and what\n"
                "the month before comes to where no document bills it yet. Lists: the accounts that grew most in\n"
                "money and in percent, those that fell most, and those with most overdue.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = show_summary,
     .slow = true},
};
const tb__operations tb__summary_operations = TB__OPERATIONS(rows);
