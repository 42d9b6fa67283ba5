/* Sums and sentences over what shadow.c finds. A comparison may be made in one snapshot and its
 * result written in a later transaction: it holds as long as the same months are billed, for those
 * never change. */
#include "tollbook/activate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1])
{
    *tb_decimal_put_fixed(out, amount, tb_currency_minor_digits(currency)) = 0;
    return out;
}

/* --- beside an invoice run --- */

typedef struct tally {
    size_t bills, up, down;
    tb_decimal billed, would;
    const tb_shadow_bill *largest; /* increase */
    tb_decimal increase;
    uint64_t unpriced;
} tally;

static tb_code add_bill(tally *t, const tb_shadow_bill *b, tb_error *err)
{
    tb_decimal change;
    tb_code code = tb_decimal_add(t->billed, b->billed, &t->billed, err);
    if (!code) code = tb_decimal_add(t->would, b->would, &t->would, err);
    if (!code) code = tb_decimal_sub(b->would, b->billed, &change, err);
    if (code) return code;
    t->bills++;
    t->up += tb_decimal_sign(change) > 0;
    t->down += tb_decimal_sign(change) < 0;
    t->unpriced += b->unpriced;
    if (tb_decimal_compare(change, t->increase) > 0) {
        t->increase = change;
        t->largest = b;
    }
    return TB_OK;
}

static void say_tally(int64_t of, const tb_book *book, const tally *t, tb_buf *lines)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2], most[128] = "";
    char billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    char increase[TB_DECIMAL_TEXT_MAX + 1];
    tb_month_format(of, month);
    tb_shadow_percent(t->billed, t->would, percent);
    if (t->largest)
        snprintf(most, sizeof most, "; most for account %" PRId64 ", +%s", t->largest->account,
                 tb_shadow_money(t->increase, book->currency, increase));
    tb_buf_fmt(lines,
               "shadow book %s: %s would have come to %s %s instead of %s (%s%s) for %zu accounts:"
               " %zu more, %zu less%s.\n",
               book->id, month, tb_shadow_money(t->would, book->currency, would), book->currency,
               tb_shadow_money(t->billed, book->currency, billed), percent,
               strcmp(percent, "new") == 0 ? "" : " %", t->bills, t->up, t->down, most);
    if (t->unpriced)
        tb_buf_fmt(lines, "shadow book %s: it has no price for %" PRIu64 " charges of the month.\n",
                   book->id, t->unpriced);
}

/* Where an account's month was issued twice (the first is void), the later bill counts. */
static bool is_later_there(const tb_shadow_bill *bills, size_t n, size_t i)
{
    return i + 1 < n && bills[i + 1].shadow == bills[i].shadow &&
           bills[i + 1].account == bills[i].account;
}

tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books, tb_buf *lines,
                      tb_error *err)
{
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    if (books->n == 0) return TB_OK;
    tb_code code = tb_store_shadow_bills(store, month, &bills, &n, err);
    for (size_t s = 0; !code && s < books->n; s++) {
        tally t = {.billed = TB_DECIMAL_ZERO};
        for (size_t i = 0; !code && i < n; i++)
            if (bills[i].shadow == books->list[s].id && !is_later_there(bills, n, i))
                code = add_bill(&t, &bills[i], err);
        if (!code && t.bills) say_tally(month, &books->list[s].book, &t, lines);
    }
    free(bills);
    return code ? code : tb_buf_check(lines, err);
}

/* --- activating one --- */

bool tb_shadow_limit(tb_shadow_activation *a, const char *text, size_t len)
{
    if (len >= sizeof a->limit_text) return false;
    memcpy(a->limit_text, text, len);
    a->limit_text[len] = 0;
    return tb_decimal_parse(text, len, TB_PRICE_SCALE_MAX, &a->limit, NULL) == TB_OK &&
           tb_decimal_sign(a->limit) >= 0;
}

static tb_code find(tb_store *store, const char *id, tb_shadow *ret_shadow, tb_error *err)
{
    tb_shadow_books books;
    size_t found = 0;
    tb_code code = tb_shadow_books_read(store, &books, err);
    if (code) return code;
    while (found < books.n && strcmp(books.list[found].book.id, id) != 0)
        found++;
    if (found < books.n)
        code = tb_store_shadow(store, books.list[found].id, ret_shadow, err);
    else
        code = tb_fail(err, TB_E_NOT_FOUND, "book",
                       "There is no shadow book \"%.64s\". See: tollbook book list --db FILE", id);
    tb_shadow_books_release(&books);
    return code;
}

/* Which months, and as of when. */
static uint64_t hash_month(uint64_t before, const tb_billed_month *m)
{
    const uint64_t words[4] = {before, (uint64_t)m->account, (uint64_t)m->month, m->watermark};
    return XXH3_64bits(words, sizeof words);
}

static uint64_t hash_months(const tb_billed_month *months, size_t n)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < n; i++)
        hash = hash_month(hash, &months[i]);
    return hash;
}

tb_code tb_shadow_compare(tb_store *store, tb_shadow_activation *a, tb_error *err)
{
    tb_shadow shadow;
    tb_code code = find(store, a->book, &shadow, err);
    if (code) return code;
    code = tb_shadow_changes(store, &shadow, a->months, a->limit, a->now_us, a->step, a->ctx,
                             &a->changes, &a->n, err);
    tb_shadows_release(&shadow, 1);
    if (code) return code;
    a->over = a->accounts = a->months_hash = 0;
    for (size_t i = 0; i < a->n; i++) {
        a->months_hash = hash_month(a->months_hash, &a->changes[i].month);
        a->over += a->changes[i].over;
        if (i == 0 || a->changes[i].month.account != a->changes[i - 1].month.account) a->accounts++;
    }
    return TB_OK;
}

void tb_shadow_activation_release(tb_shadow_activation *a)
{
    free(a->changes);
    a->changes = NULL;
}

bool tb_shadow_stays(const tb_shadow_activation *a)
{
    return a->over > 0 && !a->anyway;
}

tb_code tb_shadow_activate(tb_store *store, const tb_shadow_activation *a, tb_error *err)
{
    tb_shadow shadow;
    tb_billed_month *now = NULL;
    size_t n = 0;
    tb_code code = find(store, a->book, &shadow, err);
    if (code) return code;
    code = tb_shadow_months(store, &shadow, a->months, &now, &n, err);
    if (!code && (n != a->n || hash_months(now, n) != a->months_hash))
        code =
            tb_fail(err, TB_E_BUSY, NULL, "Months were billed while it was compared; do it again.");
    if (!code) code = tb_store_activate_shadow(store, shadow.book.id, a->now_us, err);
    free(now);
    tb_shadows_release(&shadow, 1);
    return code;
}

static void say_change(const tb_shadow_change *c, tb_buf *lines)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2];
    char before[TB_DECIMAL_TEXT_MAX + 1], after[TB_DECIMAL_TEXT_MAX + 1], unpriced[64] = "";
    tb_month_format(c->month.month, month);
    tb_shadow_percent(c->before, c->after, percent);
    if (c->unpriced)
        snprintf(unpriced, sizeof unpriced, ", and %" PRIu64 " of its charges have no price",
                 c->unpriced);
    tb_buf_fmt(lines, "account %" PRId64 ": %s would come to %s %s instead of %s (%s%s)%s.\n",
               c->month.account, month, tb_shadow_money(c->after, c->month.currency, after),
               c->month.currency, tb_shadow_money(c->before, c->month.currency, before), percent,
               strcmp(percent, "new") == 0 ? "" : " %", unpriced);
}

void tb_shadow_say_over(const tb_shadow_activation *a, tb_buf *lines)
{
    size_t said = 0;
    for (size_t i = 0; i < a->n && said < TB_SHADOW_NAMED_MAX; i++) {
        if (!a->changes[i].over) continue;
        say_change(&a->changes[i], lines);
        said++;
    }
    if (a->over > said) tb_buf_fmt(lines, "... and %zu more.\n", a->over - said);
}

void tb_shadow_say_end(const tb_shadow_activation *a, tb_buf *lines)
{
    if (tb_shadow_stays(a))
        tb_buf_fmt(lines,
                   "\"%s\" stays a shadow: %zu of %zu billed months would change by more than %s"
                   " %%. --max-change PERCENT moves the limit, --anyway activates it all the"
                   " same.\n",
                   a->book, a->over, a->n, a->limit_text);
    else
        tb_buf_fmt(lines,
                   "\"%s\" is a book now. %zu billed months of %zu accounts were compared; %zu"
                   " change by more than %s %%.\n",
                   a->book, a->n, a->accounts, a->over, a->limit_text);
}
