/* ledger export: a month as lines of double entry. ledger close: no more entries for a month, and what
 * its export works out is kept.
 *
 * What customers are owed or owe lies in receivables, in prepaid (of accounts that are prepaid at that moment; a
 * void's is its invoice's) and in credits; a ledger entry's lines on these three sum to its amount with the sign
 * turned. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/ledger.h"
#include "tollbook/issue.h"
#include "tollbook/billsource.h"

/* --- codes --- */

#define CODED_MAX 512 /* of a month and of the one before */

typedef struct coded {
    char currency[4];
    int64_t month;
    tb_journal_codes codes;
} coded;

typedef struct exporting {
    tb_ops *ops;
    tb_reply *reply;
    int64_t month;
    tb_month_books books;
    tb_closing closing; /* of the month; document NULL: it is not closed */
    bool closed;
    coded *coded; /* CODED_MAX, filled as they come */
    size_t n_coded;
    uint64_t entries;
} exporting;

static tb_code find_codes(exporting *x, int64_t month, const char currency[4],
                          const tb_journal_codes **ret, tb_error *err)
{
    size_t i = 0;
    while (i < x->n_coded &&
           (x->coded[i].month != month || strcmp(x->coded[i].currency, currency) != 0))
        i++;
    *ret = &x->coded[i].codes;
    if (i < x->n_coded) return TB_OK;
    if (i == CODED_MAX)
        return tb_fail(err, TB_E_TOO_MUCH, NULL, "A month has entries in at most %d currencies.",
                       CODED_MAX / 2);
    tb_code code =
        tb_codes_of(x->ops->store, month, &x->books, currency, &x->coded[i].codes, err);
    x->coded[i].month = month;
    memcpy(x->coded[i].currency, currency, sizeof x->coded[i].currency);
    if (!code) x->n_coded++;
    return code;
}

/* --- entries of the ledger --- */

static tb_decimal turned(tb_decimal amount)
{
    amount.mantissa = -amount.mantissa;
    return amount;
}

/* The moment that decides where an entry's money lies: what takes back follows the invoice. */
static tb_code deciding_moment(const exporting *x, const tb_ledger_entry *e, int64_t *ret_us,
                               tb_error *err)
{
    tb_invoice invoice;
    *ret_us = e->at_us;
    if (e->kind != TB_LEDGER_VOID && e->kind != TB_LEDGER_CREDIT_DRAWN) return TB_OK;
    tb_code code = tb_store_invoice(x->ops->store, e->account,
                                    e->kind == TB_LEDGER_VOID ? e->reference : e->document, &invoice, err);
    if (code) return code;
    *ret_us = invoice.finalized_us;
    tb_invoice_release(&invoice);
    return TB_OK;
}

/* Where the customer's money lies. */
static tb_code find_side(const exporting *x, const tb_ledger_entry *e, tb_book_account *ret_side,
                         tb_error *err)
{
    bool prepaid = false;
    int64_t at_us = 0;
    tb_code code = deciding_moment(x, e, &at_us, err);
    if (!code)
        code = tb_store_account_was_prepaid(x->ops->store, e->account, at_us, &prepaid, err);
    *ret_side = prepaid ? TB_ACCOUNT_PREPAID : TB_ACCOUNT_RECEIVABLES;
    return code;
}

/* A document's lines: what is owed, against revenue by product and tax. sign -1: it is void. */
static tb_code put_document(tb_buf *out, const tb_journal_entry *j, tb_book_account side,
                            const tb_statement *s, const char *description, int sign, tb_error *err)
{
    tb_products products = {.sum = {{0, 0}}};
    tb_decimal amount;
    char month[8];
    tb_code code = tb_products_add(&products, s, err);
    if (!code) code = tb_decimal_mul_int(s->bill->total, sign, &amount, err);
    if (code) return code;
    tb_month_format(s->month, month);
    tb_journal_line(out, j, side, amount, description);
    code = tb_journal_products(out, j, &products, -sign, month, err);
    for (size_t i = 0; !code && i < s->bill->n_tax; i++) {
        char percent[TB_DECIMAL_TEXT_MAX + 1], tax[TB_DECIMAL_TEXT_MAX + 8];
        *tb_decimal_put(percent, s->bill->tax[i].rate.percent) = 0;
        snprintf(tax, sizeof tax, "tax %s %%", percent);
        code = tb_decimal_mul_int(s->bill->tax[i].amount, -sign, &amount, err);
        if (!code) tb_journal_line(out, j, TB_ACCOUNT_TAX, amount, tax);
    }
    return code;
}

static tb_code put_invoice(exporting *x, const tb_ledger_entry *e, tb_journal_entry *j,
                           tb_book_account side, tb_error *err)
{
    tb_invoice invoice;
    tb_paper paper;
    char description[64];
    tb_code code = tb_store_invoice(x->ops->store, e->account, e->reference, &invoice, err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, err);
    if (!code) {
        snprintf(description, sizeof description, "%s%s", tb_ledger_kind_name(e->kind),
                 e->kind != TB_LEDGER_VOID                      ? ""
                 : strcmp(paper.statement.kind, "invoice") == 0 ? " invoice"
                                                                : " credit_note");
        j->document = e->reference;
        code = put_document(&x->reply->out, j, side, &paper.statement, description,
                            e->kind == TB_LEDGER_VOID ? -1 : 1, err);
        tb_paper_release(&paper);
    }
    tb_invoice_release(&invoice);
    return code;
}

/* The two lines of an entry that is no document: from one account to another. */
static void put_pair(exporting *x, const tb_journal_entry *j, const tb_ledger_entry *e,
                     tb_book_account debit, tb_book_account credit, tb_decimal amount)
{
    char description[160];
    snprintf(description, sizeof description, "%s %s", tb_ledger_entry_name(e), e->reference);
    tb_journal_line(&x->reply->out, j, debit, amount, description);
    tb_journal_line(&x->reply->out, j, credit, turned(amount), description);
}

/* Both entries of a draw are one of the general ledger: the credit's side stands for both. */
static bool is_second(const tb_ledger_entry *e)
{
    tb_draw_leg leg = TB_DRAW_GIVEN;
    int64_t credit = 0;
    return tb_draw_parse(e->reference, e->document, &credit, &leg) &&
           (leg == TB_DRAW_GOT || leg == TB_DRAW_TAKEN);
}

static tb_code put_postings(exporting *x, const tb_ledger_entry *e, tb_journal_entry *j,
                            tb_error *err)
{
    tb_book_account side = TB_ACCOUNT_RECEIVABLES;
    tb_code code = find_side(x, e, &side, err);
    if (code) return code;
    switch (e->kind) {
    case TB_LEDGER_INVOICE:
    case TB_LEDGER_VOID:
    case TB_LEDGER_CREDIT_NOTE: return put_invoice(x, e, j, side, err);
    case TB_LEDGER_PAYMENT: put_pair(x, j, e, TB_ACCOUNT_BANK, side, e->amount); break;
    case TB_LEDGER_ADJUSTMENT:
        put_pair(x, j, e, tb_ledger_is_opening(e) ? TB_ACCOUNT_OPENING : TB_ACCOUNT_REVENUE, side, e->amount);
        break;
    case TB_LEDGER_USAGE:
    case TB_LEDGER_USAGE_REVERSAL:
        put_pair(x, j, e, TB_ACCOUNT_UNBILLED, TB_ACCOUNT_PREPAID, e->amount);
        break;
    case TB_LEDGER_CREDIT: put_pair(x, j, e, TB_ACCOUNT_REVENUE, TB_ACCOUNT_CREDITS, e->amount); break;
    case TB_LEDGER_CREDIT_DRAWN:
        if (!is_second(e)) put_pair(x, j, e, TB_ACCOUNT_CREDITS, side, turned(e->amount));
        break;
    case TB_LEDGER_CREDIT_EXPIRED:
        put_pair(x, j, e, TB_ACCOUNT_CREDITS, TB_ACCOUNT_REVENUE, turned(e->amount));
        break;
    default: break;
    }
    return TB_OK;
}

static tb_code keep_exporting(exporting *x, tb_error *err)
{
    tb_ops *ops = x->ops;
    if (++x->entries % 64) return TB_OK;
    if (ops->step && !ops->step(ops->ctx, x->entries, 0)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    return ops->drain ? ops->drain(ops->ctx, &x->reply->out, err) : TB_OK;
}

static tb_code put_entry_lines(void *ctx, const tb_ledger_entry *e, tb_error *err)
{
    exporting *x = ctx;
    char id[24];
    tb_journal_entry j = {.day = tb_day_from_us(e->at_us), .id = id,
                          .document = tb_ledger_is_opening(e) ? "" : e->document,
                          .currency = e->currency, .account = e->account};
    tb_code code = find_codes(x, x->month, e->currency, &j.codes, err);
    snprintf(id, sizeof id, "%" PRId64, e->id);
    if (!code) code = put_postings(x, e, &j, err);
    return code ? code : keep_exporting(x, err);
}

/* --- accruals --- */

static tb_code put_accrual(exporting *x, const tb_accrual *a, int64_t month, bool back, tb_error *err)
{
    const int sign = back ? -1 : 1;
    char id[64], text[8], description[32];
    tb_journal_entry j = {.day = tb_month_first_day(month + 1) - !back, .id = id, .document = "",
                          .currency = a->currency, .account = a->account};
    tb_decimal total = TB_DECIMAL_ZERO, tax = TB_DECIMAL_ZERO;
    tb_code code = find_codes(x, month, a->currency, &j.codes, err);
    if (!code) code = tb_products_total(&a->products, &total, err);
    if (!code) code = tb_decimal_add(total, a->tax, &total, err);
    if (!code) code = tb_decimal_mul_int(total, sign, &total, err);
    if (!code) code = tb_decimal_mul_int(a->tax, -sign, &tax, err);
    if (code) return code;
    tb_month_format(month, text);
    snprintf(id, sizeof id, "%s-%s-%" PRId64, back ? "reversal" : "accrual", text, a->account);
    snprintf(description, sizeof description, "%s %s", back ? "reversal" : "accrual", text);
    tb_journal_line(&x->reply->out, &j, TB_ACCOUNT_UNBILLED, total, description);
    code = tb_journal_products(&x->reply->out, &j, &a->products, -sign, description, err);
    tb_journal_line(&x->reply->out, &j, TB_ACCOUNT_TAX, tax, description);
    return code ? code : keep_exporting(x, err);
}

static void say_accruals(const tb_accruals *a, int64_t month, tb_reply *reply)
{
    char text[8];
    tb_month_format(month, text);
    if (a->unpriced)
        tb_reply_say(reply, "%s %s usage without a price in %s or in an unbilled month before it, which is not accrued.",
                     TB__COUNTED(a->unpriced, "account"), a->unpriced == 1 ? "has" : "have", text);
    if (a->refused)
        tb_reply_say(reply, "%s cannot be rated in %s or in an unbilled month before it, and %s not accrued there. See:"
                            " tollbook invoice --month %s", TB__COUNTED(a->refused, "account"), text,
                     a->refused == 1 ? "is" : "are", text);
}

static tb_code put_accruals(exporting *x, int64_t month, bool back, tb_error *err)
{
    tb_accruals a = {.list = NULL};
    tb_code code;
    if (back && x->closed) code = tb_closing_read(&x->closing, true, &a, err);
    else
        code = tb_accruals_of(x->ops->store,
                              &(tb_accruals_ask){.month = month, .now_us = x->ops->now_us, .books = &x->books,
                                                 .step = x->ops->step, .ctx = x->ops->ctx}, &a, err);
    for (size_t i = 0; !code && i < a.n; i++)
        code = put_accrual(x, &a.list[i], month, back, err);
    if (!code && !back) say_accruals(&a, month, x->reply);
    tb_accruals_release(&a);
    return code;
}

/* --- the export --- */

static tb_code begin_export(exporting *x, tb_error *err)
{
    char text[8];
    tb_month_format(x->month, text);
    if (tb_month_start_us(x->month) > x->ops->now_us)
        return tb_fail(err, TB_E_NOT_OVER, "month", "%s has not begun.", text);
    x->coded = calloc(CODED_MAX + 1, sizeof *x->coded);
    if (!x->coded) return tb_no_memory(err);
    tb_code code = tb_month_books_read(x->ops->store, &x->books, err);
    return code ? code
                : tb_store_closing(x->ops->store, x->month, &x->closing, &x->closed, err);
}

static tb_code put_export(exporting *x, tb_error *err)
{
    const int64_t from = tb_month_start_us(x->month), to = tb_month_start_us(x->month + 1);
    char text[8];
    tb_month_format(x->month, text);
    tb_journal_head(&x->reply->out);
    tb_code code = put_accruals(x, x->month - 1, true, err);
    if (!code) code = tb_store_ledger_each(x->ops->store, from, to, put_entry_lines, x, err);
    if (code) return code;
    if (to <= x->ops->now_us) return put_accruals(x, x->month, false, err);
    tb_reply_say(x->reply, "%s is not over: what has no invoice yet is accrued on its last day.", text);
    return TB_OK;
}

static tb_code export_month(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    exporting x = {.ops = ops, .reply = reply, .month = tb_arg_number(args, "month", 0)};
    char text[8];
    tb_code code = begin_export(&x, err);
    if (!code) code = put_export(&x, err);
    tb_month_format(x.month, text);
    if (!code)
        tb_buf_fmt(&reply->json, "{\"month\":\"%s\",\"closed\":%s}", text, x.closed ? "true" : "false");
    tb_month_books_release(&x.books);
    tb_closing_release(&x.closing);
    free(x.coded);
    return code;
}

/* --- closing --- */

typedef struct pending {
    tb_buf document;
    tb_closing closing;
    size_t accounts;
} pending;

static void release_pending(void *state)
{
    pending *p = state;
    tb_buf_release(&p->document);
    free(p);
}

static tb_code check_closable(tb_ops *ops, int64_t month, tb_error *err)
{
    char text[8];
    tb_month_format(month, text);
    if (ops->now_us >= tb_month_start_us(month + 1)) return tb_store_check_begun(ops->store, month, err);
    return tb_fail(err, TB_E_NOT_OVER, "month",
                   "%s is not over. It can be closed once the next month has begun (UTC).", text);
}

/* An account has a row for each of its currencies. */
static size_t count_accounts(const tb_accruals *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        n += i == 0 || a->list[i].account != a->list[i - 1].account;
    return n;
}

/* The second call, behind what `ledger accrue` would enter (enter_first). The accruals take seconds where there are
 * many accounts: they are worked out before anything is locked. */
static tb_code prepare_closing(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t month = tb_arg_number(args, "month", 0);
    tb_accruals accruals = {.list = NULL}, reversed = {.list = NULL};
    tb_month_books books = {.list = NULL};
    tb_code code = TB_OK;
    if (!args->next) return TB_OK;
    pending *p = calloc(1, sizeof *p);
    if (!p) return tb_no_memory(err);
    tb_buf_init(&p->document, (size_t)64 << 20, NULL);
    reply->state = p;
    reply->release = release_pending;
    tb_accruals_ask ask = {.month = month - 1, .now_us = ops->now_us, .books = &books, .step = ops->step,
                           .ctx = ops->ctx};
    code = tb_store_next_closing(ops->store, &p->closing, err);
    if (!code) code = tb_month_books_read(ops->store, &books, err);
    if (!code) code = tb_accruals_of(ops->store, &ask, &reversed, err);
    ask.month = month;
    if (!code) code = tb_accruals_of(ops->store, &ask, &accruals, err);
    if (!code) code =
            tb_closing_write(ops->store, &accruals, &reversed, &books, month, &p->document, err);
    if (!code) say_accruals(&accruals, month, reply);
    p->accounts = count_accounts(&accruals);
    tb_accruals_release(&accruals);
    tb_accruals_release(&reversed);
    tb_month_books_release(&books);
    return code;
}

/* Only the newest, so that what was closed after it keeps what it rests on. */
static tb_code reopen(tb_ops *ops, int64_t month, tb_reply *reply, tb_error *err)
{
    int64_t last = 0;
    char text[8], newest[8];
    tb_month_format(month, text);
    tb_code code = tb_store_last_closed(ops->store, &last, err);
    if (!code && last > month) {
        tb_month_format(last, newest);
        return tb_fail(err, TB_E_CLOSED, "month", "%s was closed after %s: open %s first.", newest, text,
                       newest);
    }
    if (!code) code = tb_store_reopen_month(ops->store, month, ops->now_us, err);
    if (code) return code;
    tb_reply_say(reply, "%s is open again.", text);
    tb_buf_fmt(&reply->json, "{\"month\":\"%s\",\"closed\":false}", text);
    return TB_OK;
}

/* The days of one prepaid account. One that cannot be rated is named, and keeps nobody's month open. */
static tb_code accrue_account(tb_ops *ops, int64_t account, const tb_month_books *books,
                              tb_reply *reply, tb_error *err)
{
    tb_error why = {0};
    tb_accrued done;
    tb_code code = tb_store_mark(ops->store, err);
    if (code) return code;
    code = tb_prepaid_accrue(ops->store, account, books, ops->now_us, &done, &why);
    if (!code) return tb_store_keep_mark(ops->store, err);
    tb_store_back_to_mark(ops->store);
    if (!tb_issue_is_its_own(code)) return tb_fail(err, code, why.field, "%s", why.message);
    tb_reply_say(reply, "account %" PRId64 ": %s", account, why.message);
    return TB_OK;
}

#define ACCOUNTS_AT_ONCE 256

/* What `ledger accrue` would enter now. */
static tb_code accrue_all(tb_ops *ops, tb_reply *reply, tb_error *err)
{
    tb_month_books books = {.list = NULL};
    int64_t *accounts = NULL, after = 0;
    size_t n = ACCOUNTS_AT_ONCE;
    tb_code code = tb_month_books_read(ops->store, &books, err);
    while (!code && n == ACCOUNTS_AT_ONCE) {
        code = tb_store_prepaid_accounts(ops->store, after, ACCOUNTS_AT_ONCE, &accounts, &n, err);
        if (code) break;
        for (size_t i = 0; !code && i < n; i++)
            code = accrue_account(ops, accounts[i], &books, reply, err);
        if (n) after = accounts[n - 1];
        free(accounts);
    }
    tb_month_books_release(&books);
    return code;
}

/* The same again changes nothing. */
static tb_code say_closed(tb_ops *ops, int64_t month, tb_reply *reply, bool *ret_closed, tb_error *err)
{
    char text[8];
    tb_closing closing = {.document = NULL};
    tb_code code = tb_store_closing(ops->store, month, &closing, ret_closed, err);
    tb_closing_release(&closing);
    if (code || !*ret_closed) return code;
    tb_month_format(month, text);
    tb_reply_say(reply, "%s is closed already: nothing changed.", text);
    tb_buf_fmt(&reply->json, "{\"month\":\"%s\",\"closed\":true,\"known\":true}", text);
    return TB_OK;
}

/* The first call: what is accrued then knows all days of prepaid accounts. */
static tb_code enter_first(tb_ops *ops, int64_t month, tb_reply *reply, tb_error *err)
{
    uint64_t expired = 0;
    tb_code code = check_closable(ops, month, err);
    if (!code) code = tb_ledger_expire(ops->store, 0, ops->now_us, &expired, err);
    if (!code) code = accrue_all(ops, reply, err);
    if (!code) tb_buf_fmt(&reply->next, "%" PRIu64, expired);
    return code;
}

static tb_code close_prepared(tb_ops *ops, int64_t month, int64_t expired, tb_reply *reply, tb_error *err)
{
    const pending *p = reply->state;
    char text[8];
    if (!p) return tb_fail(err, TB_E_INTERNAL, NULL, NULL);
    tb_closing closing = p->closing;
    closing.month = month;
    closing.closed_us = ops->now_us;
    closing.document = p->document.data;
    closing.len = p->document.len;
    tb_code code = tb_store_close_month(ops->store, &closing, err);
    if (code) return code;
    tb_month_format(month, text);
    tb_reply_say(reply, "%s is closed: %s accrued.", text, TB__COUNTED(p->accounts, "account"));
    tb_buf_fmt(&reply->json, "{\"month\":\"%s\",\"closed\":true,\"accounts\":%zu,\"expired\":%" PRId64 "}",
               text, p->accounts, expired);
    return TB_OK;
}

static tb_code close_month(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t month = tb_arg_number(args, "month", 0);
    const char *next = args->next;
    int64_t expired = 0;
    bool closed = false;
    if (tb_arg_given(args, "reopen")) return reopen(ops, month, reply, err);
    if (next && !(tb__next_number(&next, &expired) && !*next)) return tb__next_wrong(err);
    tb_code code = next ? check_closable(ops, month, err) : TB_OK;
    if (!code) code = say_closed(ops, month, reply, &closed, err);
    if (code || closed) return code;
    return next ? close_prepared(ops, month, expired, reply, err) : enter_first(ops, month, reply, err);
}

/* --- the rows --- */

static const tb_param export_params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true, .help = "the month"},
    {.name = "format", .value = "csv", .kind = TB_PARAM_CHOICE, .otherwise = "csv", .help = "default csv"},
};

static const tb_param close_params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true, .help = "the month"},
    {.name = "reopen", .kind = TB_PARAM_FLAG, .help = "open it again: the newest that is closed"},
};

static const tb_operation rows[] = {
    {.name = "ledger export",
     .summary = "Print a month as lines of double entry, for the general ledger",
     .details = "What was used and had no invoice at the month's end is accrued, net, on its last day, and\n"
                "reversed on the first of the next month. Debits equal credits in each entry. Codes are\n"
                "those of the price book (\"ledger_codes\") in force at the month's end.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(export_params),
     .read = export_month,
     .slow = true},
    {.name = "ledger close",
     .summary = "Close a month: it takes no entries any more, and its export does not change",
     .details = "What `ledger accrue` would enter is entered first. An entry dated in a closed month is refused, whichever way\n"
                "it comes. --reopen takes the newest closing back.",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(close_params),
     .read = prepare_closing,
     .write = close_month,
     .slow = true},
};
const tb__operations tb__general_ledger_operations = TB__OPERATIONS(rows);
