/* Bandwidth at a price per byte: premium zones by region, and zones with a price of their own. One
 * line per (zone, region); a row per part and price. */
#include "billing/draft.h"

/* Where the entries of a zone end that begin at `first`. */
static size_t zone_end(const tb_bill_input *in, size_t first)
{
    size_t end = first + 1;
    while (end < in->n_bytes && in->bytes[end].zone == in->bytes[first].zone)
        end++;
    return end;
}

/* price x (100 - discount) / 100, exactly. */
static tb_code discounted(tb_decimal price, int discount, tb_decimal *ret, tb_error *err)
{
    *ret = price;
    if (discount == 0) return TB_OK;
    tb_code code = tb_decimal_mul_int(price, 100 - discount, ret, err);
    if (!code) code = tb_decimal_shift(*ret, 2, ret, err);
    if (!code) *ret = tb_decimal_normal(*ret);
    return code;
}

static tb_code add_entry(tb__draft *d, const tb_bill_bytes *e)
{
    tb_decimal price = e->override_price, shown = e->override_price;
    if (e->charge == TB_CHARGE_PREMIUM) {
        const tb_book *book = tb__book(d, e->part);
        shown = book->region_shown[e->region];
        tb_code code = discounted(book->region_price[e->region], e->discount, &price, d->err);
        if (code) return code;
    }
    tb__line_evidence(d->line, &e->evidence);
    return tb__line_units(d, e->part, e->bytes, price, shown);
}

static tb_code close(tb__draft *d)
{
    tb_code code = tb__line_place(d);
    for (size_t i = 0; i < d->n_rows && !code; i++)
        code = tb_decimal_mul_int(d->rows[i].price, d->rows[i].units, &d->rows[i].amount, d->err);
    return code ? code : tb__line_close(d);
}

typedef struct run {
    size_t first, end;
    tb_charge charge;
    tb_billing_region region;
} run;

static bool belongs(const tb__draft *d, const run *r, size_t i)
{
    const tb_bill_bytes *e = &d->in->bytes[i];
    return d->byte_gaps[i] == TB__PRICED && e->charge == r->charge && e->region == r->region &&
           e->bytes > 0;
}

static tb_code region_line(tb__draft *d, const run *r)
{
    size_t n = 0;
    for (size_t i = r->first; i < r->end; i++)
        n += belongs(d, r, i);
    if (n == 0) return TB_OK;
    tb_line_kind kind = r->charge == TB_CHARGE_PREMIUM ? TB_LINE_BANDWIDTH : TB_LINE_OVERRIDE;
    tb_code code =
        tb__line_open(d, kind, d->in->bytes[r->first].zone, tb_billing_region_name(r->region), n);
    for (size_t i = r->first; i < r->end && !code; i++)
        if (belongs(d, r, i)) code = add_entry(d, &d->in->bytes[i]);
    return code ? code : close(d);
}

tb_code tb__bill_bandwidth(tb__draft *d, tb_charge charge)
{
    tb_code code = TB_OK;
    run r = {.charge = charge};
    for (; r.first < d->in->n_bytes && !code; r.first = r.end) {
        r.end = zone_end(d->in, r.first);
        for (r.region = 0; r.region < TB_BILLING_REGION_COUNT && !code; r.region++)
            code = region_line(d, &r);
    }
    return code;
}
