#include "ops/invoicing/preview_totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ops/operations.h"
#include "tollbook/book.h"

#define SUMS (sizeof(tb__month_sums) / sizeof(tb_sum))
#define TEXT (TB_DECIMAL_TEXT_MAX + 1)

/* A struct of sums alone, as an array. */
static tb_sum *sums_of(tb__month_sums *sums)
{
    return sums->kind;
}

static const char *sum_text(tb_sum sum, char out[TEXT])
{
    *tb_sum_put(out, sum) = 0;
    return out;
}

/* With the currency's digits, where a decimal can hold it. */
static const char *sum_money(tb_sum sum, const char *currency, char out[TEXT])
{
    tb_decimal amount;
    if (tb_sum_decimal(sum, &amount, NULL)) return sum_text(sum, out);
    *tb_decimal_put_fixed(out, amount, tb_currency_minor_digits(currency)) = 0;
    return out;
}

static bool is_zero(tb_sum sum)
{
    return sum.whole == 0 && sum.rest == 0;
}

void tb__preview_totals_release(tb__preview_totals *totals)
{
    free(totals->list);
    *totals = (tb__preview_totals){0};
}

static tb_code find(tb__preview_totals *totals, const char *currency, tb__currency_totals **ret, tb_error *err)
{
    size_t at = 0;
    while (at < totals->n && strcmp(totals->list[at].currency, currency) < 0)
        at++;
    if (at == totals->n || strcmp(totals->list[at].currency, currency) != 0) {
        tb_code code = tb__grow(&totals->list, totals->n, &totals->cap, sizeof *totals->list, err);
        if (code) return code;
        memmove(totals->list + at + 1, totals->list + at, (totals->n++ - at) * sizeof *totals->list);
        totals->list[at] = (tb__currency_totals){0};
        memcpy(totals->list[at].currency, currency, strlen(currency) + 1);
    }
    *ret = &totals->list[at];
    return TB_OK;
}

tb_code tb__preview_totals_add(tb__preview_totals *totals, const char currency[4], bool last,
                               const tb__month_sums *sums, tb_error *err)
{
    tb__currency_totals *of = NULL;
    tb__month_sums added = *sums;
    size_t n = 0;
    while (n < SUMS && is_zero(sums_of(&added)[n]))
        n++;
    tb_code code = n < SUMS ? find(totals, currency, &of, err) : TB_OK;
    if (n == SUMS) return TB_OK;
    for (size_t i = 0; !code && i < SUMS; i++) {
        tb_sum *sum = &sums_of(last ? &of->last : &of->now)[i];
        const tb_sum more = sums_of(&added)[i];
        code = tb_sum_add(sum, tb_decimal_from_int(more.whole), err);
        if (!code) code = tb_sum_add(sum, (tb_decimal){more.rest, TB_DECIMAL_SCALE_MAX}, err);
    }
    return code;
}

/* --- in next: "CURRENCIES " and for each its code and its sums, with a space after each --- */

void tb__preview_totals_put(const tb__preview_totals *totals, tb_buf *next)
{
    char text[TEXT];
    tb_buf_fmt(next, "%zu ", totals->n);
    for (size_t i = 0; i < totals->n; i++) {
        tb__currency_totals of = totals->list[i];
        tb_buf_fmt(next, "%s ", of.currency);
        for (size_t k = 0; k < 2 * SUMS; k++)
            tb_buf_fmt(next, "%s ", sum_text(sums_of(k < SUMS ? &of.now : &of.last)[k % SUMS], text));
    }
}

/* The text up to the next space; false: there is none, or it is longer than `most`. */
static bool take_word(const char **next, size_t most, const char **ret, size_t *ret_len)
{
    const size_t len = strcspn(*next, " ");
    if (len == 0 || len > most || (*next)[len] != ' ') return false;
    *ret = *next;
    *ret_len = len;
    *next += len + 1;
    return true;
}

/* Whole units and the fraction apart: together they may have more digits than a decimal holds. */
static bool take_sum(const char **next, tb_sum *ret)
{
    const char *word;
    char fraction[TB_DECIMAL_TEXT_MAX + 3];
    size_t len;
    tb_decimal whole, rest;
    if (!take_word(next, TB_DECIMAL_TEXT_MAX, &word, &len)) return false;
    const char *point = memchr(word, '.', len);
    const size_t before = point ? (size_t)(point - word) : len;
    *ret = TB_SUM_ZERO;
    if (tb_decimal_parse(word, before, 0, &whole, NULL) || tb_sum_add(ret, whole, NULL)) return false;
    if (!point) return true;
    snprintf(fraction, sizeof fraction, "%s0%.*s", *word == '-' ? "-" : "", (int)(len - before), point);
    return tb_decimal_parse(fraction, strlen(fraction), TB_DECIMAL_SCALE_MAX, &rest, NULL) == TB_OK &&
           tb_sum_add(ret, rest, NULL) == TB_OK;
}

tb_code tb__preview_totals_take(tb__preview_totals *totals, const char **next, tb_error *err)
{
    int64_t n;
    if (!tb__next_number(next, &n)) return tb__next_wrong(err);
    for (int64_t i = 0; i < n; i++) {
        const char *word;
        size_t len;
        char currency[4] = "";
        tb__currency_totals *of = NULL;
        if (!take_word(next, sizeof currency - 1, &word, &len)) return tb__next_wrong(err);
        memcpy(currency, word, len);
        tb_code code = find(totals, currency, &of, err);
        if (code) return code;
        for (size_t k = 0; k < 2 * SUMS; k++)
            if (!take_sum(next, &sums_of(k < SUMS ? &of->now : &of->last)[k % SUMS])) return tb__next_wrong(err);
    }
    return TB_OK;
}

/* --- shown --- */

void tb__preview_totals_json(const tb__preview_totals *totals, tb_buf *out)
{
    char now[TEXT], total[TEXT], last[TEXT], last_total[TEXT];
    tb_buf_str(out, "\"totals\":[");
    for (size_t i = 0; i < totals->n; i++) {
        const tb__currency_totals *t = &totals->list[i];
        bool first = true;
        tb_buf_fmt(out, "%s{\"currency\":\"%s\",\"net\":\"%s\",\"total\":\"%s\",\"last\":{\"net\":\"%s\",\"total\":\"%s\"},\"products\":[",
                   i ? "," : "", t->currency, sum_text(t->now.net, now), sum_text(t->now.total, total),
                   sum_text(t->last.net, last), sum_text(t->last.total, last_total));
        for (int k = 0; k < TB_LINE_KIND_COUNT; k++) {
            if (is_zero(t->now.kind[k]) && is_zero(t->last.kind[k])) continue;
            tb_buf_fmt(out, "%s{\"product\":\"%s\",\"name\":\"%s\",\"net\":\"%s\",\"last\":\"%s\"}", first ? "" : ",",
                       tb_line_kind_name((tb_line_kind)k), tb_line_kind_title((tb_line_kind)k), sum_text(t->now.kind[k], now), sum_text(t->last.kind[k], last));
            first = false;
        }
        tb_buf_str(out, "]}");
    }
    tb_buf_str(out, "]");
}

void tb__preview_totals_say(const tb__preview_totals *totals, tb_reply *reply)
{
    char now[TEXT], last[TEXT];
    tb_buf *said = &reply->said;
    for (size_t i = 0; i < totals->n; i++) {
        const tb__currency_totals *t = &totals->list[i];
        const char *between = "; before tax ";
        tb_buf_fmt(said, "Total %s %s, the month before %s", sum_money(t->now.total, t->currency, now), t->currency,
                   sum_money(t->last.total, t->currency, last));
        for (int k = 0; k < TB_LINE_KIND_COUNT; k++) {
            if (is_zero(t->now.kind[k]) && is_zero(t->last.kind[k])) continue;
            tb_buf_fmt(said, "%s%s %s (%s)", between, tb_line_kind_name((tb_line_kind)k),
                       sum_money(t->now.kind[k], t->currency, now), sum_money(t->last.kind[k], t->currency, last));
            between = ", ";
        }
        tb_buf_str(said, ".\n");
    }
}
