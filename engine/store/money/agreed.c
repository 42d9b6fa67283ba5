/* What a contract counts beyond a month's own usage.
 *
 * A commit's true-up counts the earlier months of its period. They are rated again, as of the same watermark and under the
 * books that count for them, so that an invoice can be rated again to the byte. It is also what documents have billed of
 * them: usage that is late at the watermark is billed by corrections of the same document. A month that changes later
 * changes the true-up too (waiting.c).
 *
 * A cap takes off what usage added after the moment of its alert. An alert is raised at the time of its month and never
 * moves, so the month's bill does not depend on when it is read. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

/* A month that was rated for a later one. */
typedef struct counted {
    int64_t month;
    char currency[4];
    tb_decimal sum, commit; /* its lines up to the commit; its commit line */
} counted;

typedef struct counting {
    tb_store *store;
    tb_bill_query query; /* with the stored books */
    tb_book *books;
    bool has_books;
    counted *list; /* ascending by when they were rated */
    size_t n, cap;
    tb_error *err;
} counting;

static tb_code count_earlier(counting *c, tb_bill_input *in);

/* Rates a month, unless it was. Months count earlier ones only, so this ends. */
static tb_code count_month(counting *c, int64_t month, counted *ret)
{
    tb_bill_source source;
    tb_bill bill;
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i].month == month) {
            *ret = c->list[i];
            return TB_OK;
        }
    tb_bill_query query = c->query;
    query.month = month;
    query.now_us = tb_month_start_us(month + 1);
    tb_code code = tb__usage_input(c->store, &query, TB_US_LAST, &source, c->err);
    if (code) return code;
    *ret = (counted){.month = month};
    memcpy(ret->currency, source.input.currency, sizeof ret->currency);
    code = count_earlier(c, &source.input);
    if (!code) code = tb_bill_rate(&source.input, NULL, &bill, c->err);
    if (!code) {
        ret->sum = bill.counted;
        ret->commit = bill.commit;
        tb_bill_release(&bill);
    }
    tb_bill_source_release(&source);
    if (!code) code = tb__grow(&c->list, c->n, &c->cap, sizeof *c->list, c->err);
    if (!code) c->list[c->n++] = *ret;
    return code;
}

static tb_code read_books(counting *c)
{
    if (c->has_books) return TB_OK;
    tb_code code = tb_store_books(c->store, &c->books, &c->query.n_books, c->err);
    c->query.books = c->books;
    c->has_books = !code;
    return code;
}

/* The commit lines of a month on its documents, where its usage is no longer kept: it cannot change any more. */
static tb_code read_billed(counting *c, int64_t month, counted *ret)
{
    const int64_t values[3] = {c->query.account, month, c->query.watermark > INT64_MAX ? INT64_MAX : (int64_t)c->query.watermark};
    sqlite3_stmt *s;
    bool row = true;
    *ret = (counted){.month = month};
    tb_code code = tb__sql_ints(c->store, TB__SQL_COMMIT_BILLED, values, 3, &s, c->err);
    while (!code && !(code = tb__step(c->store, s, &row, c->err)) && row) {
        tb_decimal amount;
        const char *text = (const char *)sqlite3_column_text(s, 0), *currency = (const char *)sqlite3_column_text(s, 1);
        code = text && currency ? tb_decimal_parse(text, strlen(text), TB_PRORATE_SCALE, &amount, c->err) : tb_no_memory(c->err);
        if (!code) code = tb_decimal_add(ret->commit, amount, &ret->commit, c->err);
        if (!code) memcpy(ret->currency, currency, strnlen(currency, sizeof ret->currency - 1));
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* A month in another currency counts nothing. */
static tb_code count_earlier(counting *c, tb_bill_input *in)
{
    int64_t months[TB_BILL_EARLIER_MAX];
    tb_commit_period p;
    const size_t n = in->running ? 0 : tb_bill_earlier_months(&in->contract, in->month, months);
    tb_code code = TB_OK;
    if (n == 0 || !tb_contract_period(&in->contract, in->month, &p)) return TB_OK;
    code = read_books(c);
    for (size_t i = 0; !code && i < n; i++) {
        counted of;
        code = count_month(c, months[i], &of);
        if (code == TB_E_NOT_KEPT && months[i] < p.first) code = read_billed(c, months[i], &of);
        if (code) return code;
        tb_bill_earlier *to = &in->earlier[in->n_earlier++];
        *to = (tb_bill_earlier){.month = months[i]};
        if (strcmp(of.currency, in->currency) == 0) to->amount = months[i] < p.first ? of.commit : of.sum;
    }
    return code;
}

/* --- the cap --- */

tb_code tb__cap_alert(tb_store *store, int64_t account, int64_t month, tb_decimal cap, const char *currency,
                      int64_t *ret_us, tb_error *err)
{
    const int64_t values[3] = {account, month, tb_month_start_us(month + 1)};
    sqlite3_stmt *s;
    bool row = false;
    *ret_us = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_CAP_ALERT, values, 3, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 4, currency, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    tb_decimal limit;
    const char *text = (const char *)sqlite3_column_text(s, 1);
    const int64_t raised_us = sqlite3_column_int64(s, 0);
    code = text ? tb_decimal_parse(text, strlen(text), TB_PRICE_SCALE_MAX, &limit, err) : tb_no_memory(err);
    if (!code && tb_decimal_compare(limit, cap) >= 0) *ret_us = raised_us;
    sqlite3_reset(s);
    return code;
}

static tb_code fill_cap(tb_store *store, const tb_bill_query *query, int64_t usage_us, tb_bill_input *in, tb_error *err)
{
    tb_bill_source source;
    tb_bill bill;
    int64_t at_us = 0;
    if (in->contract.cap_action != TB_CAP_DISABLE) return TB_OK;
    tb_code code = tb__cap_alert(store, in->account, in->month, in->contract.cap, in->currency, &at_us, err);
    const int64_t until_us = (tb_hour_from_us(at_us) + 1) * TB_US_PER_HOUR;
    if (code || !at_us || until_us >= usage_us || until_us >= tb_month_start_us(in->month + 1)) return code;
    code = tb__usage_input(store, query, until_us, &source, err);
    if (code) return code;
    memcpy(source.input.earlier, in->earlier, sizeof in->earlier);
    source.input.n_earlier = in->n_earlier;
    code = tb_bill_rate(&source.input, NULL, &bill, err);
    tb_bill_source_release(&source);
    if (code) return code;
    in->cap = (tb_bill_cap){true, at_us, bill.subtotal};
    tb_bill_release(&bill);
    return TB_OK;
}

tb_code tb__agreed_input(tb_store *store, const tb_bill_query *query, int64_t usage_us, tb_bill_source *source,
                         tb_error *err)
{
    counting c = {.store = store, .query = *query, .err = err};
    tb_code code = count_earlier(&c, &source->input);
    if (!code) code = fill_cap(store, query, usage_us, &source->input, err);
    if (c.has_books) tb_books_release(c.books, c.query.n_books);
    free(c.books);
    free(c.list);
    return code;
}
