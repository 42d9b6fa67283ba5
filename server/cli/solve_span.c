/* First the list of what is to be billed, by account and month, for an account's months in a row
 * are cheapest; then one pass over it. Billed months are read as they stood when they were last
 * billed, so that `before` is what was invoiced. */
#include "cli/solve_span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/monthpairs.h"

/* --- options --- */

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static int read_month(const cli_call *call, const char *option, int64_t *ret_month)
{
    const char *text = cli_text(call, option);
    if (tb_month_parse(text, strlen(text), ret_month)) return 0;
    cli_say(call, "--%s does not take \"%.32s\": write it like 2026-10.", option, text);
    return tb_code_exit(TB_E_USAGE);
}

static int read_options(const cli_call *call, int64_t now_us, solve_span *span)
{
    const char *currency = cli_text(call, "currency");
    int status = read_month(call, "from", &span->from);
    if (status == 0) status = read_month(call, "to", &span->to);
    if (status) return status;
    span->account = cli_number(call, "account", 0);
    if (span->from > span->to) return usage(call, "--to lies before --from.");
    if (span->to > tb_month_from_us(now_us)) return usage(call, "--to lies in the future.");
    if (span->to - span->from >= SOLVE_MONTHS_MAX)
        return usage(call, "The span is longer than a hundred years.");
    if (currency && strlen(currency) != 3) return usage(call, "--currency takes three letters.");
    if (currency) memcpy(span->currency, currency, 3);
    span->running = span->to == tb_month_from_us(now_us);
    return 0;
}

/* --- the pass --- */

/* The first one met is the span's, where nobody said which. */
static bool is_other(solve_span *span, const tb_bill_input *in)
{
    if (!span->currency[0]) memcpy(span->currency, in->currency, sizeof span->currency);
    return strcmp(span->currency, in->currency) != 0;
}

/* Which books occur. */
static void note_books(solve_span *span, const tb_bill_input *in)
{
    for (size_t i = 0; i < in->n_parts && !span->instead; i++)
        if (in->parts[i].book)
            span->under[in->parts[i].book - span->books.stored.list] = in->parts[i].book;
}

/* The same month with --book's prices all over. */
static tb_code add_instead(solve_span *span, const tb_bill_input *in, tb_error *err)
{
    tb_bill_part *parts = calloc(in->n_parts + 1, sizeof *parts);
    tb_bill_input changed = *in;
    if (!parts) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    for (size_t i = 0; i < in->n_parts; i++) {
        parts[i] = in->parts[i];
        parts[i].book = span->instead;
    }
    changed.parts = parts;
    tb_code code = tb_portfolio_add(span->asked, &changed, err);
    free(parts);
    return code;
}

static tb_code add_bill(tb_store *store, const tb_month_pair *p, int64_t now_us, solve_span *span,
                        int64_t *last_account, bool mixed_is_fine, tb_error *err)
{
    tb_bill_source source;
    tb_code code =
        tb_store_net_input(store, p->account, p->month, p->watermark, span->books.stored.list,
                            span->books.stored.n, now_us, &source, err);
    if (code) return code;
    const tb_bill_input *in = &source.input;
    bool other = is_other(span, in);
    span->others += other;
    if (other && !mixed_is_fine)
        code = tb_fail(err, TB_E_VALIDATION, "currency",
                       "The span has bills in %s and in %s: say which with --currency.",
                       span->currency, in->currency);
    if (!code && !other) {
        note_books(span, in);
        code = tb_portfolio_add(span->billed, in, err);
        if (!code && span->instead) code = add_instead(span, in, err);
        span->accounts += *last_account != p->account;
        *last_account = p->account;
    }
    tb_bill_source_release(&source);
    return code;
}

static tb_code make_portfolios(solve_span *span, tb_error *err)
{
    span->n_under = (span->instead ? 1 : span->books.stored.n) + 1;
    span->under = calloc(span->n_under, sizeof *span->under);
    if (!span->under) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (span->instead) span->under[0] = span->instead;
    tb_code code =
        tb_portfolio_new(span->books.stored.list, span->books.stored.n, NULL, &span->billed, err);
    if (code || !span->instead) {
        span->asked = span->billed;
        return code;
    }
    return tb_portfolio_new(span->instead, 1, NULL, &span->asked, err);
}

static tb_code read_bills(const cli_call *call, tb_store *store, int64_t now_us, solve_span *span,
                          tb_error *err)
{
    tb_month_pairs p = {.n = 0};
    int64_t last = 0;
    bool said = cli_given(call, "currency") || span->instead;
    tb_code code = make_portfolios(span, err);
    if (!code) code = tb_month_pairs_read(store, span->account, span->from, span->to, &p, err);
    for (size_t i = 0; !code && i < p.n; i++) {
        code = add_bill(store, &p.list[i], now_us, span, &last, said, err);
        if (cli_given(call, "progress") && (i + 1) % 1000 == 0)
            cli_say(call, "%zu of %zu months read.", i + 1, p.n);
    }
    tb_month_pairs_release(&p);
    if (!code && tb_portfolio_bills(span->billed) == 0)
        code = tb_fail(err, TB_E_NOTHING_DUE, "from",
                       "The span holds nothing that could be billed%s%s.",
                       span->currency[0] ? " in " : "", span->currency);
    if (!code) code = tb_portfolio_total(span->billed, NULL, true, &span->before, err);
    return code;
}

/* --- named prices --- */

static bool is_there(const solve_span *span, const char *path)
{
    tb_price_list found;
    if (tb_price_list_find(span->under, span->n_under, &path, 1, NULL, &found, NULL)) return false;
    tb_price_list_release(&found);
    return true;
}

static int find_prices(const cli_call *call, const char *const *otherwise, size_t n_otherwise,
                       solve_span *span)
{
    const char *paths[TB_SOLVE_PATHS_MAX];
    size_t n = 0;
    tb_error err;
    for (size_t i = 0; i < call->n_values; i++)
        if (strcmp(call->values[i].option->name, "price") == 0) {
            if (n == TB_SOLVE_PATHS_MAX) return usage(call, "Too many --price are given.");
            paths[n++] = call->values[i].text;
        }
    /* What a book leaves out is no mistake where nobody named it. */
    bool given = n > 0;
    for (size_t i = 0; !given && i < n_otherwise; i++)
        if (is_there(span, otherwise[i])) paths[n++] = otherwise[i];
    tb_code code =
        tb_price_list_find(span->under, span->n_under, paths, n, NULL, &span->list, &err);
    return code ? cli_fail(call, "--price", &err) : 0;
}

/* --- the whole --- */

static tb_code check_account(tb_store *store, int64_t account, tb_error *err)
{
    bool exists = true;
    tb_code code = account ? tb_store_account_exists(store, account, &exists, err) : TB_OK;
    if (code || exists) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "account", "There is no account %" PRId64 ".", account);
}

static int read_all(const cli_call *call, tb_store *store, int64_t now_us, solve_span *span)
{
    tb_error err;
    int status = 0;
    tb_code code = check_account(store, span->account, &err);
    if (!code) code = tb_month_books_read(store, &span->books.stored, &err);
    if (!code && cli_given(call, "book")) {
        status = solve_book(call, &span->books, cli_text(call, "book"), NULL, &span->instead);
        if (status) return status;
        memcpy(span->currency, span->instead->currency, sizeof span->currency);
    }
    if (!code) code = read_bills(call, store, now_us, span, &err);
    return code ? cli_fail(call, NULL, &err) : 0;
}

int solve_span_read(const cli_call *call, const char *const *otherwise, size_t n_otherwise,
                    solve_span *ret_span)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    *ret_span = (solve_span){.account = 0};
    int status = cli_clock(call, &now_us);
    if (status == 0) status = read_options(call, now_us, ret_span);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    if (tb_store_read_begin(store, &err)) {
        status = cli_fail(call, NULL, &err);
    } else {
        status = read_all(call, store, now_us, ret_span);
        tb_store_read_end(store);
    }
    tb_store_close(store);
    return status ? status : find_prices(call, otherwise, n_otherwise, ret_span);
}

void solve_span_release(solve_span *span)
{
    if (span->list.price) tb_price_list_release(&span->list);
    if (span->asked != span->billed) tb_portfolio_free(span->asked);
    tb_portfolio_free(span->billed);
    free(span->under);
    solve_books_release(&span->books);
}

/* --- text --- */

void solve_put(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
}

void solve_put_money(tb_buf *out, const solve_span *span, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    int digits = tb_currency_minor_digits(span->currency);
    tb_buf_add(out, text, (size_t)(tb_decimal_put_fixed(text, value, digits) - text));
}

void solve_put_span(tb_buf *out, const solve_span *span)
{
    char from[8], to[8];
    size_t bills = tb_portfolio_bills(span->billed);
    tb_month_format(span->from, from);
    tb_month_format(span->to, to);
    tb_buf_fmt(out, "%s to %s, %zu account%s, %zu month%s of bills", from, to, span->accounts,
               span->accounts == 1 ? "" : "s", bills, bills == 1 ? "" : "s");
}

void solve_json_span(tb_buf *out, const solve_span *span)
{
    char from[8], to[8];
    tb_month_format(span->from, from);
    tb_month_format(span->to, to);
    tb_buf_fmt(out, "\"span\":{\"accounts\":%zu,\"before\":\"", span->accounts);
    solve_put_money(out, span, span->before.total);
    tb_buf_fmt(out,
               "\",\"bills\":%zu,\"currency\":\"%s\",\"from\":\"%s\",\"other_currencies\":%zu,"
               "\"running\":%s,\"to\":\"%s\",\"unpriced_before\":%zu}",
               tb_portfolio_bills(span->billed), span->currency, from, span->others,
               span->running ? "true" : "false", to, span->before.unpriced);
}

void solve_notes(tb_buf *out, const solve_span *span, const tb_portfolio_sum *after)
{
    if (span->others)
        tb_buf_fmt(out, "%zu months of bills in other currencies are left out.\n", span->others);
    if (span->running)
        tb_buf_str(out, "The last month is still running, and has no minimum yet.\n");
    if (span->before.unpriced)
        tb_buf_fmt(out, "%zu bills have usage without a price today.\n", span->before.unpriced);
    if (after && after->unpriced > span->before.unpriced)
        tb_buf_fmt(out, "%zu bills have usage without a price under the changed book.\n",
                   after->unpriced);
}
