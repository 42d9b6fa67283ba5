/* First lists the bills of the span, by account and month, for an account's consecutive months are cheapest; then reads
 * them in one pass. Billed months are read as they were last billed, so that `before` is the invoiced amount. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/prices/solve.h"
#include "tollbook/calendar.h"
#include "tollbook/ledger.h"
#include "tollbook/monthbill.h"

#define BILLS_MAX 20000 /* accounts' months, on a shared thread */

static tb_code read_span(const tb_args *args, int64_t now_us, tb__solve_span *span, tb_error *err)
{
    tb_arg_copy(args, "currency", span->currency, sizeof span->currency);
    span->account = tb_arg_number(args, "account", 0);
    tb_code code = tb_month_span(tb_arg_text(args, "from"), tb_arg_text(args, "to"), now_us,
                                 &span->from, &span->to, err);
    span->running = !code && span->to == tb_month_from_us(now_us);
    return code;
}

/* --- the pass --- */

/* If no currency is given, the first one found is the span's. */
static bool is_other(tb__solve_span *span, const tb_bill_input *in)
{
    if (!span->currency[0]) memcpy(span->currency, in->currency, sizeof span->currency);
    return strcmp(span->currency, in->currency) != 0;
}

/* Which books occur. */
static void note_books(tb__solve_span *span, const tb_bill_input *in)
{
    for (size_t i = 0; i < in->n_parts + in->n_fees && !span->instead; i++) {
        const tb_book *book = i < in->n_parts ? in->parts[i].book : in->fees[i - in->n_parts].book;
        if (book) span->under[book - span->books.stored.list] = book;
    }
}

/* The same month under the given book's prices for all of it, or without a contract. */
static tb_code add_asked(tb__solve_span *span, const tb_bill_input *in, tb_error *err)
{
    tb_bill_part *parts = calloc(in->n_parts + 1, sizeof *parts);
    tb_bill_fee *fees = calloc(in->n_fees + 1, sizeof *fees);
    tb_bill_input changed = *in;
    tb_code code = parts && fees ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < in->n_parts; i++) {
        parts[i] = in->parts[i];
        if (span->instead) parts[i].book = span->instead;
    }
    for (size_t i = 0; !code && i < in->n_fees; i++) {
        fees[i] = in->fees[i];
        if (span->instead) fees[i].book = span->instead;
    }
    changed.parts = parts;
    changed.fees = fees;
    if (span->no_contracts) {
        changed.contract = (tb_contract){.book = ""};
        changed.n_earlier = 0;
        changed.cap.reached = false;
    }
    if (!code) code = tb_portfolio_add(span->asked, &changed, err);
    free(parts);
    free(fees);
    return code;
}

static tb_code add_bill(tb_store *store, const tb_month_pair *p, int64_t now_us,
                        tb__solve_span *span, int64_t *last_account, bool mixed_is_fine,
                        tb_error *err)
{
    tb_bill_source source;
    const tb_bill_query query = {p->account, p->month, p->watermark,
                                 span->books.stored.list, span->books.stored.n, now_us};
    tb_code code = tb_store_net_input(store, &query, &source, err);
    if (code) return code;
    const tb_bill_input *in = &source.input;
    bool other = is_other(span, in);
    span->others += other;
    if (other && !mixed_is_fine)
        code = tb_fail(err, TB_E_VALIDATION, "currency",
                       "The span has bills in %s and in %s. Say which you mean.", span->currency,
                       in->currency);
    if (!code && !other) {
        note_books(span, in);
        code = tb_portfolio_add(span->billed, in, err);
        if (!code && span->asked != span->billed) code = add_asked(span, in, err);
        span->accounts += *last_account != p->account;
        *last_account = p->account;
    }
    tb_bill_source_release(&source);
    return code;
}

static tb_code make_portfolios(tb__solve_span *span, tb_error *err)
{
    span->n_under = (span->instead ? 1 : span->books.stored.n) + 1;
    span->under = calloc(span->n_under, sizeof *span->under);
    if (!span->under) return tb_no_memory(err);
    if (span->instead) span->under[0] = span->instead;
    tb_code code =
        tb_portfolio_new(span->books.stored.list, span->books.stored.n, NULL, &span->billed, err);
    span->asked = span->billed;
    if (code || (!span->instead && !span->no_contracts)) return code;
    span->asked = NULL; /* released by itself */
    if (span->instead) return tb_portfolio_new(span->instead, 1, NULL, &span->asked, err);
    return tb_portfolio_new(span->books.stored.list, span->books.stored.n, NULL, &span->asked, err);
}

static tb_code read_pairs(const tb_ops *ops, const tb_month_pairs *p, tb__solve_span *span,
                          bool mixed_is_fine, tb_error *err)
{
    int64_t last = 0;
    if (ops->shared && p->n > BILLS_MAX)
        return tb_fail(err, TB_E_TOO_MUCH, "from",
                       "These are %zu accounts' months; at most %d are searched at once. Ask for"
                       " fewer months, or run it with --db.",
                       p->n, BILLS_MAX);
    for (size_t i = 0; i < p->n; i++) {
        if (ops->step && !ops->step(ops->ctx, i, p->n))
            return tb_fail(err, TB_E_STOPPED, NULL, "Interrupted.");
        tb_code code =
            add_bill(ops->store, &p->list[i], ops->now_us, span, &last, mixed_is_fine, err);
        if (code) return code;
    }
    return TB_OK;
}

static tb_code read_bills(const tb_ops *ops, const tb_args *args, tb__solve_span *span,
                          tb_error *err)
{
    tb_month_pairs p = {.n = 0};
    const bool said = tb_arg_given(args, "currency") || span->instead;
    tb_code code = make_portfolios(span, err);
    if (!code) code = tb_month_pairs_read(ops->store, span->account, span->from, span->to, &p, err);
    if (!code) code = read_pairs(ops, &p, span, said, err);
    tb_month_pairs_release(&p);
    if (!code && tb_portfolio_bills(span->billed) == 0)
        code = tb_fail(err, TB_E_NOTHING_DUE, "from",
                       "The span has nothing that could be billed%s%s.",
                       span->currency[0] ? " in " : "", span->currency);
    if (!code) code = tb_portfolio_total(span->billed, NULL, true, &span->before, err);
    return code;
}

/* --- named prices --- */

static bool is_there(const tb__solve_span *span, const char *path)
{
    tb_price_list found;
    if (tb_price_list_find(span->under, span->n_under, &path, 1, NULL, &found, NULL)) return false;
    tb_price_list_release(&found);
    return true;
}

static tb_code find_prices(const tb_args *args, const char *const *otherwise, size_t n_otherwise,
                           tb__solve_span *span, tb_error *err)
{
    const char *paths[TB_SOLVE_PATHS_MAX];
    const tb_arg *arg;
    size_t n = 0;
    for (; (arg = tb_arg_nth(args, "price", n)) != NULL; n++) {
        if (n == TB_SOLVE_PATHS_MAX)
            return tb_fail(err, TB_E_VALIDATION, "price", "More than %d are given.",
                           TB_SOLVE_PATHS_MAX);
        paths[n] = arg->text.data;
    }
    /* A price that is not named explicitly may be absent from a book. */
    const bool given = n > 0;
    for (size_t i = 0; !given && i < n_otherwise; i++)
        if (is_there(span, otherwise[i])) paths[n++] = otherwise[i];
    return tb_price_list_find(span->under, span->n_under, paths, n, NULL, &span->list, err);
}

/* --- the whole --- */

static tb_code read_books(const tb_ops *ops, const tb_args *args, tb__solve_span *span,
                          tb_reply *reply, tb_error *err)
{
    const tb_arg *book = tb_arg_of(args, "book");
    tb_code code = tb_month_books_read(ops->store, &span->books.stored, err);
    if (code || !book) return code;
    code = tb__solve_book(&span->books, book, NULL, &span->instead, reply, err);
    if (!code) memcpy(span->currency, span->instead->currency, sizeof span->currency);
    return code;
}

tb_code tb__solve_span_read(const tb_ops *ops, const tb_args *args, const char *const *otherwise,
                            size_t n_otherwise, tb__solve_span *ret_span, tb_reply *reply,
                            tb_error *err)
{
    *ret_span = (tb__solve_span){.no_contracts = ret_span->no_contracts};
    tb_code code = read_span(args, ops->now_us, ret_span, err);
    if (!code && ret_span->account)
        code = tb_store_need_account(ops->store, ret_span->account, err);
    if (!code) code = read_books(ops, args, ret_span, reply, err);
    if (!code) code = read_bills(ops, args, ret_span, err);
    return code ? code : find_prices(args, otherwise, n_otherwise, ret_span, err);
}

void tb__solve_span_release(tb__solve_span *span)
{
    if (span->list.price) tb_price_list_release(&span->list);
    if (span->asked != span->billed) tb_portfolio_free(span->asked);
    tb_portfolio_free(span->billed);
    free(span->under);
    tb__solve_books_release(&span->books);
}

/* --- text --- */

void tb__solve_put(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
}

void tb__solve_put_money(tb_buf *out, const tb__solve_span *span, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    int digits = tb_currency_minor_digits(span->currency);
    tb_buf_add(out, text, (size_t)(tb_decimal_put_fixed(text, value, digits) - text));
}

void tb__solve_put_span(tb_buf *out, const tb__solve_span *span)
{
    char from[8], to[8];
    size_t bills = tb_portfolio_bills(span->billed);
    tb_month_format(span->from, from);
    tb_month_format(span->to, to);
    tb_buf_fmt(out, "%s to %s, %s, %s", from, to, TB__COUNTED(span->accounts, "account"),
               TB__COUNTED(bills, "bill"));
}

void tb__solve_json_span(tb_buf *out, const tb__solve_span *span)
{
    char from[8], to[8];
    tb_month_format(span->from, from);
    tb_month_format(span->to, to);
    tb_buf_fmt(out, "\"span\":{\"accounts\":%zu,\"before\":\"", span->accounts);
    tb__solve_put_money(out, span, span->before.total);
    tb_buf_fmt(out,
               "\",\"bills\":%zu,\"currency\":\"%s\",\"from\":\"%s\",\"other_currencies\":%zu,"
               "\"running\":%s,\"to\":\"%s\",\"unpriced_before\":%zu}",
               tb_portfolio_bills(span->billed), span->currency, from, span->others,
               span->running ? "true" : "false", to, span->before.unpriced);
}

void tb__solve_notes(tb_buf *out, const tb__solve_span *span, const tb_portfolio_sum *after)
{
    if (span->others)
        tb_buf_fmt(out, "%s in other currencies %s left out.\n", TB__COUNTED(span->others, "bill"),
                   span->others == 1 ? "is" : "are");
    if (span->running)
        tb_buf_str(out, "The last month is still running, and has no minimum yet.\n");
    if (span->before.unpriced)
        tb_buf_fmt(out, "%s %s usage without a price today.\n", TB__COUNTED(span->before.unpriced, "bill"),
                   span->before.unpriced == 1 ? "has" : "have");
    if (after && after->unpriced > span->before.unpriced)
        tb_buf_fmt(out, "%s %s usage without a price under the changed book.\n",
                   TB__COUNTED(after->unpriced, "bill"), after->unpriced == 1 ? "has" : "have");
}
