/* A shadow prices a whole month alone. So it is given to the store as the only book, always in
 * force, and the result is the bill that the invoice run would make with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/prices/books.h"

tb_code tb_shadow_books_read(tb_store *store, tb_shadow_books *ret_books, tb_error *err)
{
    return tb_store_shadows(store, &ret_books->list, &ret_books->n, err);
}

void tb_shadow_books_release(tb_shadow_books *books)
{
    if (books->list) tb_shadows_release(books->list, books->n);
    free(books->list);
    *books = (tb_shadow_books){0};
}

/* The subtotal of an account's month under a book that is in force for all of it. */
static tb_code rate(tb_store *store, const tb_book *book, int64_t account, int64_t month,
                    uint64_t watermark, int64_t now_us, tb_decimal *ret_subtotal,
                    uint64_t *ret_unpriced, tb_error *err)
{
    tb_book whole = *book; /* shallow: its texts stay the shadow's */
    tb_month_bill bill;
    whole.effective_us = tb_month_start_us(month);
    whole.sha256[0] = 0; /* none of the store's, also once it was activated: it always counts */
    tb_code code =
        tb_month_bill_read(store, &(tb_bill_query){account, month, watermark, &whole, 1, now_us}, &bill, err);
    if (code) return code;
    *ret_subtotal = bill.bill.subtotal;
    *ret_unpriced = bill.bill.n_unpriced;
    tb_month_bill_release(&bill);
    return TB_OK;
}

/* Whether another book of the currency would price any part of the month: a book of scope contract applies only to
 * accounts that name it, and an account with its own book keeps that one. */
static bool touches(const tb_book *book, const tb_bill_input *input)
{
    bool own = input->contract.book[0] != 0;
    for (size_t i = 0; i < input->n_parts && own; i++)
        own = input->parts[i].book && strcmp(input->parts[i].book->id, input->contract.book) == 0;
    return !book->contract && !own;
}

/* --- beside the invoice run --- */

/* What is wrong with the shadow, or with the month under it, rather than with the store. */
static bool is_its_own(tb_code code)
{
    return code == TB_E_OVERFLOW || code == TB_E_BOOK || code == TB_E_DIFFERENT ||
           code == TB_E_VALIDATION;
}

tb_code tb_shadow_note(tb_store *store, const tb_shadow_books *books, const tb_issue *draft,
                       const char *invoice, int64_t now_us, tb_buf *lines, tb_error *err)
{
    const tb_bill_source *source = &draft->month.source;
    for (size_t i = 0; i < books->n; i++) {
        const tb_shadow *shadow = &books->list[i];
        tb_error why = {0};
        tb_shadow_bill bill = {.shadow = shadow->id,
                               .account = source->input.account,
                               .month = source->input.month,
                               .watermark = source->watermark,
                               .billed = draft->rated};
        if (strcmp(shadow->book.currency, source->input.currency) != 0 ||
            !touches(&shadow->book, &source->input))
            continue;
        memcpy(bill.currency, source->input.currency, sizeof bill.currency);
        snprintf(bill.invoice, sizeof bill.invoice, "%s", invoice);
        tb_code code = rate(store, &shadow->book, bill.account, bill.month, TB_NOW, now_us,
                            &bill.would, &bill.unpriced, &why);
        if (code && !is_its_own(code)) return tb_fail(err, code, why.field, "%s", why.message);
        if (code) {
            tb_buf_fmt(lines, "shadow book %s: %s\n", shadow->book.id, why.message);
            continue;
        }
        code = tb_store_add_shadow_bill(store, &bill, now_us, err);
        if (code) return code;
    }
    return TB_OK;
}

/* --- what activating would change --- */

/* Whether |after - before| x 100 > limit x before. A sum that does not fit is beyond any limit. */
static bool is_over(tb_decimal before, tb_decimal after, tb_decimal limit)
{
    tb_decimal change, allowed;
    if (tb_decimal_sub(after, before, &change, NULL)) return true;
    if (tb_decimal_sign(change) < 0 && tb_decimal_mul_int(change, -1, &change, NULL)) return true;
    if (tb_decimal_sign(before) < 0 && tb_decimal_mul_int(before, -1, &before, NULL)) return true;
    if (tb_decimal_mul_int(change, 100, &change, NULL)) return true;
    if (tb_decimal_mul(before, limit, &allowed, NULL)) return true;
    return tb_decimal_compare(change, allowed) > 0;
}

/* Keeps of each account's months in the currency the last `months`; the list is in order. */
static size_t keep_last(tb_billed_month *list, size_t n, const char currency[4], int64_t months)
{
    size_t kept = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].currency, currency) != 0) continue;
        if (kept > 0 && list[kept - 1].account != list[i].account) first = kept;
        if ((int64_t)(kept - first) == months) {
            memmove(list + first, list + first + 1, (kept - first - 1) * sizeof *list);
            kept--;
        }
        list[kept++] = list[i];
    }
    return kept;
}

static tb_code change_of(tb_store *store, const tb_shadow *shadow, const tb_month_books *books,
                         tb_decimal limit, int64_t now_us, tb__shadow_change *change, tb_error *err)
{
    const tb_billed_month *m = &change->month;
    tb_month_bill bill;
    const tb_bill_query query = {m->account, m->month, m->watermark, books->list, books->n, now_us};
    tb_code code = tb_month_bill_read(store, &query, &bill, err);
    if (code) return code;
    const bool touched = touches(&shadow->book, &bill.source.input);
    change->before = change->after = bill.bill.subtotal;
    tb_month_bill_release(&bill);
    if (!touched) return TB_OK;
    code = rate(store, &shadow->book, m->account, m->month, m->watermark, now_us, &change->after,
                &change->unpriced, err);
    change->over = change->unpriced > 0 || is_over(change->before, change->after, limit);
    return code;
}

static tb_code changes_of(const tb_ops *ops, const tb_shadow *shadow, tb_decimal limit,
                          tb__shadow_change *list, size_t n, tb_error *err)
{
    tb_month_books books = {0};
    tb_code code = tb_month_books_read(ops->store, &books, err);
    for (size_t i = 0; !code && i < n; i++) {
        code = change_of(ops->store, shadow, &books, limit, ops->now_us, &list[i], err);
        if (!code && ops->step && !ops->step(ops->ctx, i + 1, n))
            code = tb_fail(err, TB_E_STOPPED, NULL, "It was stopped: nothing was written.");
    }
    tb_month_books_release(&books);
    return code;
}

tb_code tb__shadow_months(tb_store *store, const tb_shadow *shadow, int64_t months,
                          tb_billed_month **ret_months, size_t *ret_n, tb_error *err)
{
    tb_code code = tb_store_billed_months(store, 0, INT64_MIN, INT64_MAX, ret_months, ret_n, err);
    if (!code && *ret_n) *ret_n = keep_last(*ret_months, *ret_n, shadow->book.currency, months);
    return code;
}

tb_code tb__shadow_changes(const tb_ops *ops, const tb_shadow *shadow, int64_t months,
                           tb_decimal limit, tb__shadow_change **ret_changes, size_t *ret_n,
                           tb_error *err)
{
    tb_billed_month *billed = NULL;
    size_t n = 0;
    tb_code code = tb__shadow_months(ops->store, shadow, months, &billed, &n, err);
    if (code) return code;
    tb__shadow_change *list = calloc(n ? n : 1, sizeof *list);
    if (!list) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        list[i].month = billed[i];
    free(billed);
    if (!code) code = changes_of(ops, shadow, limit, list, n, err);
    if (code) {
        free(list);
        return code;
    }
    *ret_changes = list;
    *ret_n = n;
    return TB_OK;
}

void tb_shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2])
{
    tb_decimal change, percent;
    tb_i128 den = before.mantissa;
    int sign = tb_decimal_sign(before);
    const char *plus = "+";
    snprintf(out, TB_DECIMAL_TEXT_MAX + 2, "%s", tb_decimal_compare(before, after) ? "new" : "0");
    if (sign == 0 || tb_decimal_sub(after, before, &change, NULL)) return;
    /* change / before x 100 = change x 10^(before's scale) x 100 / before's mantissa */
    if (sign < 0) den = -den;
    if (tb_decimal_shift(change, -2 - before.scale, &change, NULL) ||
        tb_decimal_divide(change, 1, den, 2, TB_HALF_UP, &percent, NULL))
        return;
    if (tb_decimal_sign(percent) <= 0) plus = "";
    char *at = out + snprintf(out, TB_DECIMAL_TEXT_MAX + 2, "%s", plus);
    *tb_decimal_put_fixed(at, percent, 2) = 0;
}

/* --- the check --- */

static bool same_bill(const tb_shadow_bill *a, const tb_shadow_bill *b)
{
    return tb_decimal_compare(a->billed, b->billed) == 0 &&
           tb_decimal_compare(a->would, b->would) == 0 && a->unpriced == b->unpriced;
}

/* b: in: the stored bill; out: the amounts rated again. */
static tb_code rate_again(tb_store *store, const tb_month_books *books, tb_shadow_bill *b,
                          tb_error *err)
{
    tb_shadow shadow;
    tb_month_bill bill;
    int64_t later_us = tb_month_start_us(b->month + 1); /* it was over when it was noted */
    tb_code code = tb_store_shadow(store, b->shadow, &shadow, err);
    if (code) return code;
    code = rate(store, &shadow.book, b->account, b->month, b->watermark, later_us, &b->would,
                &b->unpriced, err);
    tb_shadows_release(&shadow, 1);
    if (code) return code;
    const tb_bill_query query = {b->account, b->month, b->watermark, books->list, books->n, later_us};
    code = tb_month_bill_read(store, &query, &bill, err);
    if (code) return code;
    b->billed = bill.bill.subtotal;
    tb_month_bill_release(&bill);
    return TB_OK;
}

static void say_difference(const tb_shadow_bill *was, const tb_shadow_bill *is, tb_code code,
                           const tb_error *why, tb_say say, void *ctx)
{
    char month[8], sentence[600], amount[4][TB_DECIMAL_TEXT_MAX + 1];
    tb_month_format(was->month, month);
    *tb_decimal_put(amount[0], was->billed) = *tb_decimal_put(amount[1], was->would) = 0;
    *tb_decimal_put(amount[2], is->billed) = *tb_decimal_put(amount[3], is->would) = 0;
    int n = snprintf(sentence, sizeof sentence,
                     "Shadow book %s, account %" PRId64 ", %s: ", was->book, was->account, month);
    if (code)
        snprintf(sentence + n, sizeof sentence - (size_t)n, "it cannot be rated again: %s",
                 why->message);
    else
        snprintf(sentence + n, sizeof sentence - (size_t)n,
                 "%s would have been %s was noted; rated again it is %s and %s.", amount[0],
                 amount[1], amount[2], amount[3]);
    if (say) say(ctx, sentence);
}

tb_code tb_shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                         tb_error *err)
{
    tb_month_books books = {0};
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    tb_code code = tb_store_shadow_bills(store, INT64_MIN, &bills, &n, err);
    if (!code && n) code = tb_month_books_read(store, &books, err);
    for (size_t i = 0; !code && i < n; i++) {
        tb_shadow_bill again = bills[i];
        tb_error why = {0};
        tb_code bad = rate_again(store, &books, &again, &why);
        if (bad && tb_code_exit(bad) == tb_code_exit(TB_E_IO) && bad != TB_E_CORRUPT)
            code = tb_fail(err, bad, why.field, "%s", why.message);
        if (bad == TB_E_NOT_KEPT) continue; /* its usage has expired: only its seal is left */
        if (code || (!bad && same_bill(&bills[i], &again))) continue;
        say_difference(&bills[i], &again, bad, &why, say, ctx);
        ++*differences;
    }
    tb_month_books_release(&books);
    free(bills);
    return code;
}
