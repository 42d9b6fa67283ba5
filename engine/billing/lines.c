/* Lines of a bill: opened, filled with rows, closed. A line's exact amount is the sum of its rows'
 * and of nothing else, so that whoever reads the rows can do the sum again; it is rounded once,
 * when the line is closed. */
#include "base/hash.h"
#include "base/quick.h"
#include "billing/draft.h"
#include "encode/number.h"

#include <string.h>

void tb__resource_put(char *out, tb_line_kind kind, int64_t id)
{
    const char *owner = tb_line_kind_owner(kind);
    const size_t len = strlen(owner);
    memcpy(out, owner, len);
    out += len;
    *out++ = ':';
    if (id < 0) *out++ = '-';
    out = tb__put_u64(out, id < 0 ? -(uint64_t)id : (uint64_t)id);
    *out = '\0';
}

tb_code tb__line_open(tb__draft *d, tb_line_kind kind, int64_t id, const char *region,
                      size_t rows_max)
{
    d->rows = tb__arena_take(&d->arena, rows_max * sizeof *d->rows);
    if (!d->rows) return tb_no_memory(d->err);
    d->n_rows = 0;
    d->rows_max = rows_max;
    d->line = &d->bill.lines[d->bare ? 0 : d->bill.n_lines];
    if (d->bare) {
        d->line->exact = TB_DECIMAL_ZERO;
        return TB_OK;
    }
    *d->line = (tb_bill_line){.kind = kind, .id = id, .period_month = d->in->month};
    tb__resource_put(d->line->resource, kind, id);
    if (region) memccpy(d->line->region, region, '\0', sizeof d->line->region);
    return TB_OK;
}

tb_code tb__line_row(tb__draft *d, const tb_bill_tier *row)
{
    if (d->n_rows == d->rows_max)
        return tb_fail(d->err, TB_E_INTERNAL, NULL, "A line has too many rows.");
    d->rows[d->n_rows++] = *row;
    return TB_OK;
}

tb_code tb__name_line(const tb_bill_line *line, tb_code code, tb_error *err)
{
    char inner[sizeof err->message];
    if (code != TB_E_OVERFLOW || !line || !err || err->field[0]) return code;
    memcpy(inner, err->message, sizeof inner);
    return tb_fail(err, code, line->resource,
                   "%s%s%s of %s: %.200s Correct its price or its usage.",
                   tb_line_kind_name(line->kind), line->region[0] ? " in " : "", line->region,
                   line->resource, inner);
}

static tb_code add_units(tb_i128 *to, tb_i128 units, tb_error *err)
{
    if (__builtin_add_overflow(*to, units, to))
        return tb_fail(err, TB_E_OVERFLOW, NULL, "The sum of usage passes 2^127-1.");
    return TB_OK;
}

/* Price changes within a part are few, and rows of earlier parts are not searched. */
tb_code tb__line_units(tb__draft *d, uint32_t part, tb_i128 units, tb_decimal price,
                       tb_decimal shown)
{
    for (size_t i = d->n_rows; i-- > 0 && d->rows[i].part == part;)
        if (tb_decimal_compare(d->rows[i].price, price) == 0)
            return add_units(&d->rows[i].units, units, d->err);
    return tb__line_row(
        d, &(tb_bill_tier){.part = part, .units = units, .price = price, .shown = shown});
}

static void fold(char hash[33], const char more[33])
{
    XXH128_canonical_t bytes;
    char texts[64];
    memcpy(texts, hash, 32);
    memcpy(texts + 32, more, 32);
    XXH128_canonicalFromHash(&bytes, XXH3_128bits(texts, sizeof texts));
    for (size_t i = 0; i < sizeof bytes.digest; i++) {
        hash[2 * i] = "0123456789abcdef"[bytes.digest[i] >> 4];
        hash[2 * i + 1] = "0123456789abcdef"[bytes.digest[i] & 15];
    }
    hash[32] = '\0';
}

void tb__line_evidence(tb__draft *d, const tb_evidence *more)
{
    tb_evidence *own = &d->line->evidence;
    if (d->bare) return;
    if (own->buckets == 0 && own->hash[0] == '\0') {
        *own = *more;
        return;
    }
    if (more->from_us < own->from_us) own->from_us = more->from_us;
    if (more->to_us > own->to_us) own->to_us = more->to_us;
    own->buckets += more->buckets;
    fold(own->hash, more->hash);
}

void tb__line_evidence_of(tb__draft *d, const tb__run *run)
{
    tb__entry e;
    for (size_t i = run->first; !d->bare && i < run->end && run->entry(d, i, &e); i++)
        if (e.charged) tb__line_evidence(d, e.evidence);
}

tb_code tb__line_place(tb__draft *d)
{
    tb_i128 at = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        d->rows[i].from = at;
        tb_code code = add_units(&at, d->rows[i].units, d->err);
        if (code) return code;
        d->rows[i].to = at;
    }
    return TB_OK;
}

tb_code tb__line_charge(tb__draft *d, uint32_t part, tb_i128 units, tb_decimal price,
                        tb_decimal shown)
{
    tb_decimal amount;
    if (!d->bare) return tb__line_units(d, part, units, price, shown);
    if (tb__multiply_quick(price, units, &amount) && tb__add_quick(&d->line->exact, amount))
        return TB_OK;
    tb_code code = tb_decimal_mul_int(price, units, &amount, d->err);
    return code ? code : tb_decimal_add(d->line->exact, amount, &d->line->exact, d->err);
}

static tb_code sum_rows(tb__draft *d)
{
    tb_bill_line *line = d->line;
    for (size_t i = 0; i < d->n_rows; i++) {
        tb_code code = tb_decimal_add(line->exact, d->rows[i].amount, &line->exact, d->err);
        if (code) return code;
    }
    if (tb__round_quick(line->exact, d->bill.minor_digits, d->bill.rounding, &line->amount))
        return TB_OK;
    return tb_decimal_round(line->exact, d->bill.minor_digits, d->bill.rounding, &line->amount,
                            d->err);
}

tb_code tb__line_close(tb__draft *d)
{
    tb_bill_line *line = d->line;
    tb_code code = sum_rows(d);
    if (d->bare && !code && tb__add_quick(&d->sum, line->amount)) return TB_OK;
    if (d->bare) return code ? code : tb_decimal_add(d->sum, line->amount, &d->sum, d->err);
    for (size_t i = 0; i < d->n_rows && !code; i++)
        code = add_units(&line->quantity, d->rows[i].units, d->err);
    if (code) return code;
    line->tiers = d->rows;
    line->n_tiers = d->n_rows;
    line->number = (uint32_t)++d->bill.n_lines;
    return TB_OK;
}

void tb__line_drop(tb__draft *d)
{
    if (d->bare)
        d->sum.mantissa -= d->line->amount.mantissa;
    else
        d->bill.n_lines--;
}
