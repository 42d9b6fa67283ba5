#include "ops/invoicing/preview_totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ops/operations.h"
#include "tollbook/book.h"
#include "tollbook/json.h"

#define TEXT (TB_DECIMAL_TEXT_MAX + 1)

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

static bool is_zero(const tb__preview_total *t)
{
    return t->now.whole == 0 && t->now.rest == 0 && t->last.whole == 0 && t->last.rest == 0;
}

void tb__preview_totals_release(tb__preview_totals *totals)
{
    free(totals->list);
    *totals = (tb__preview_totals){0};
}

static int compare(const tb__preview_total *a, const tb__preview_total *b)
{
    const int order = strcmp(a->currency, b->currency);
    if (order) return order;
    return a->row != b->row ? (a->row < b->row ? -1 : 1) : strcmp(a->meter, b->meter);
}

/* The row of this key, whose sums are 0 where it is new. */
static tb_code find(tb__preview_totals *totals, const tb__preview_total *key, tb__preview_total **ret, tb_error *err)
{
    size_t at = 0, end = totals->n;
    while (at < end) {
        const size_t middle = at + (end - at) / 2;
        if (compare(&totals->list[middle], key) < 0)
            at = middle + 1;
        else
            end = middle;
    }
    if (at == totals->n || compare(&totals->list[at], key) != 0) {
        tb_code code = tb__grow(&totals->list, totals->n, &totals->cap, sizeof *totals->list, err);
        if (code) return code;
        memmove(totals->list + at + 1, totals->list + at, (totals->n++ - at) * sizeof *totals->list);
        totals->list[at] = *key;
    }
    *ret = &totals->list[at];
    return TB_OK;
}

static tb_code add(tb__preview_totals *totals, const tb__preview_total *key, bool last, tb_decimal amount, tb_error *err)
{
    tb__preview_total *to;
    tb_code code = find(totals, key, &to, err);
    return code ? code : tb_sum_add(last ? &to->last : &to->now, amount, err);
}

tb_code tb__preview_totals_add(tb__preview_totals *totals, const tb_statement *document, bool last, tb_error *err)
{
    const tb_bill *bill = document->bill;
    tb__preview_total key = {.row = TB__TOTAL_NET};
    memcpy(key.currency, document->currency, sizeof key.currency);
    tb_code code = add(totals, &key, last, bill->subtotal, err);
    key.row = TB__TOTAL_GROSS;
    if (!code) code = add(totals, &key, last, bill->total, err);
    for (size_t i = 0; !code && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        const tb_line_kind product = tb_line_kind_of(line->kind)->product;
        key.row = TB__TOTAL_KINDS + product;
        snprintf(key.meter, sizeof key.meter, "%s", product == TB_LINE_METER && line->item ? line->item->id : "");
        code = add(totals, &key, last, line->amount, err);
    }
    return code;
}

/* --- in next: "ROWS " and for each "CURRENCY ROW =METER NOW LAST " --- */

void tb__preview_totals_put(const tb__preview_totals *totals, tb_buf *next)
{
    char now[TEXT], last[TEXT];
    tb_buf_fmt(next, "%zu ", totals->n);
    for (size_t i = 0; i < totals->n; i++) {
        const tb__preview_total *t = &totals->list[i];
        tb_buf_fmt(next, "%s %d =%s %s %s ", t->currency, (int)t->row, t->meter, sum_text(t->now, now),
                   sum_text(t->last, last));
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

static bool take_row(const char **next, tb__preview_total *ret)
{
    const char *word;
    size_t len;
    int64_t row;
    if (!take_word(next, sizeof ret->currency - 1, &word, &len)) return false;
    memcpy(ret->currency, word, len);
    if (!tb__next_number(next, &row) || row < 0 || row >= TB__TOTAL_KINDS + TB_LINE_KIND_COUNT) return false;
    ret->row = (int)row;
    if (!take_word(next, sizeof ret->meter, &word, &len) || *word != '=') return false;
    memcpy(ret->meter, word + 1, len - 1);
    return take_sum(next, &ret->now) && take_sum(next, &ret->last);
}

/* Rows ascend, and a currency begins with its first two. */
static bool follows(const tb__preview_total *before, const tb__preview_total *row)
{
    const bool starts = !before || strcmp(before->currency, row->currency) != 0;
    if (before && compare(before, row) >= 0) return false;
    if (before && before->row == TB__TOTAL_NET) return !starts && row->row == TB__TOTAL_GROSS;
    return starts == (row->row == TB__TOTAL_NET);
}

tb_code tb__preview_totals_take(tb__preview_totals *totals, const char **next, tb_error *err)
{
    int64_t n;
    if (!tb__next_number(next, &n)) return tb__next_wrong(err);
    for (int64_t i = 0; i < n; i++) {
        tb__preview_total row = {.currency = ""}, *to;
        if (!take_row(next, &row) || !follows(totals->n ? &totals->list[totals->n - 1] : NULL, &row))
            return tb__next_wrong(err);
        tb_code code = find(totals, &row, &to, err);
        if (code) return code;
    }
    return totals->n && totals->list[totals->n - 1].row == TB__TOTAL_NET ? tb__next_wrong(err) : TB_OK;
}

/* --- shown --- */

/* How many rows the currency at `first` has that are shown: 0: it is 0 throughout. *ret_end: behind its last. */
static size_t rows_of(const tb__preview_totals *totals, size_t first, size_t *ret_end)
{
    size_t n = 0, end = first;
    for (; end < totals->n && strcmp(totals->list[end].currency, totals->list[first].currency) == 0; end++)
        n += !is_zero(&totals->list[end]);
    *ret_end = end;
    return n;
}

static void put_product(const tb__preview_total *t, const tb_meter *meters, size_t n, tb_buf *out)
{
    char now[TEXT], last[TEXT];
    const tb_line_kind kind = (tb_line_kind)(t->row - TB__TOTAL_KINDS);
    const tb_meter *meter = tb_meter_find(meters, n, t->meter);
    const char *name = meter ? meter->name : *t->meter ? t->meter : tb_line_kind_title(kind);
    tb_buf_fmt(out, "{\"product\":\"%s\",", tb_line_kind_name(kind));
    if (*t->meter) tb_buf_str(out, "\"meter\":");
    if (*t->meter) tb_json_string(out, t->meter, strlen(t->meter));
    tb_buf_str(out, *t->meter ? ",\"name\":" : "\"name\":");
    tb_json_string(out, name, strlen(name));
    tb_buf_fmt(out, ",\"net\":\"%s\",\"last\":\"%s\"}", sum_text(t->now, now), sum_text(t->last, last));
}

void tb__preview_totals_json(const tb__preview_totals *totals, const tb_meter *meters, size_t n, tb_buf *out)
{
    char now[TEXT], total[TEXT], last[TEXT], last_total[TEXT];
    const char *between = "";
    tb_buf_str(out, "\"totals\":[");
    for (size_t i = 0, end; i < totals->n; i = end) {
        const tb__preview_total *net = &totals->list[i], *gross = net + 1;
        bool first = true;
        if (rows_of(totals, i, &end) == 0) continue;
        tb_buf_fmt(out, "%s{\"currency\":\"%s\",\"net\":\"%s\",\"total\":\"%s\",\"last\":{\"net\":\"%s\",\"total\":\"%s\"},\"products\":[",
                   between, net->currency, sum_text(net->now, now), sum_text(gross->now, total),
                   sum_text(net->last, last), sum_text(gross->last, last_total));
        for (size_t k = i + TB__TOTAL_KINDS; k < end; k++) {
            if (is_zero(&totals->list[k])) continue;
            if (!first) tb_buf_str(out, ",");
            put_product(&totals->list[k], meters, n, out);
            first = false;
        }
        tb_buf_str(out, "]}");
        between = ",";
    }
    tb_buf_str(out, "]");
}

void tb__preview_totals_say(const tb__preview_totals *totals, tb_reply *reply)
{
    char now[TEXT], last[TEXT];
    tb_buf *said = &reply->said;
    for (size_t i = 0, end; i < totals->n; i = end) {
        const tb__preview_total *gross = &totals->list[i + 1];
        const char *currency = gross->currency, *between = "; before tax ";
        if (rows_of(totals, i, &end) == 0) continue;
        tb_buf_fmt(said, "Total %s %s, the month before %s", sum_money(gross->now, currency, now), currency,
                   sum_money(gross->last, currency, last));
        for (size_t k = i + TB__TOTAL_KINDS; k < end; k++) {
            const tb__preview_total *t = &totals->list[k];
            if (is_zero(t)) continue;
            tb_buf_fmt(said, "%s%s%s%s %s (%s)", between, tb_line_kind_name((tb_line_kind)(t->row - TB__TOTAL_KINDS)),
                       *t->meter ? " " : "", t->meter, sum_money(t->now, currency, now), sum_money(t->last, currency, last));
            between = ", ";
        }
        tb_buf_str(said, ".\n");
    }
}
