/* Bandwidth at a price per byte: premium zones by region, and zones with a price of their own. One
 * line per (zone, region); a row per part and price. */
#include "billing/draft.h"

/* price x (100 - discount) / 100, exactly. */
static tb_code discounted(const tb__draft *d, tb_decimal price, int discount, tb_decimal *ret)
{
    *ret = price;
    if (discount == 0) return TB_OK;
    tb_code code = tb_decimal_mul_int(price, 100 - discount, ret, d->err);
    if (!code) code = tb_decimal_shift(*ret, 2, ret, d->err);
    if (!code && !d->bare) *ret = tb_decimal_normal(*ret);
    return code;
}

static tb_code add_entry(tb__draft *d, const tb_bill_bytes *e)
{
    tb_decimal price = e->override_price, shown = e->override_price;
    if (e->charge == TB_CHARGE_PREMIUM) {
        const tb_book *book = tb__book(d, e->part);
        shown = book->region_shown[e->region];
        tb_code code = discounted(d, book->region_price[e->region], e->discount, &price);
        if (code) return code;
    }
    tb__line_evidence(d, &e->evidence);
    return tb__line_charge(d, e->part, e->bytes, price, shown);
}

static tb_code close(tb__draft *d)
{
    tb_code code = tb__line_place(d);
    for (size_t i = 0; i < d->n_rows && !code; i++)
        code = tb_decimal_mul_int(d->rows[i].price, d->rows[i].units, &d->rows[i].amount, d->err);
    return code ? code : tb__line_close(d);
}

/* A zone's entries, and how many of them each region's line has, from which on. */
typedef struct run {
    size_t first, end;
    tb_charge charge;
    tb_line_kind kind;
    struct {
        size_t first, n;
    } region[TB_BILLING_REGION_COUNT];
} run;

static bool belongs(const tb__draft *d, tb_charge charge, size_t i)
{
    const tb_bill_bytes *e = &d->in->bytes[i];
    return d->byte_gaps[i] == TB__PRICED && e->charge == charge && e->bytes > 0;
}

/* The entries of the zone at `first`. */
static run zone_run(const tb__draft *d, tb_charge charge, size_t first)
{
    const tb_bill_bytes *bytes = d->in->bytes;
    run r = {.first = first, .end = first, .charge = charge};
    for (; r.end < d->in->n_bytes && bytes[r.end].zone == bytes[first].zone; r.end++) {
        tb_billing_region region = bytes[r.end].region;
        if (belongs(d, charge, r.end) && r.region[region].n++ == 0) r.region[region].first = r.end;
    }
    return r;
}

static tb_code region_line(tb__draft *d, const run *r, tb_billing_region region)
{
    size_t n = r->region[region].n;
    if (n == 0) return TB_OK;
    tb_code code = tb__line_open(d, r->kind, d->in->bytes[r->first].zone, tb_billing_region_name(region), n);
    for (size_t i = r->region[region].first; n > 0 && !code; i++) {
        const tb_bill_bytes *e = &d->in->bytes[i];
        if (e->region != region || !belongs(d, r->charge, i)) continue;
        code = add_entry(d, e);
        n--;
    }
    return code ? code : close(d);
}

tb_code tb__bill_bandwidth(tb__draft *d, tb_line_kind kind)
{
    const tb_charge charge = kind == TB_LINE_BANDWIDTH ? TB_CHARGE_PREMIUM : TB_CHARGE_OVERRIDE;
    tb_code code = TB_OK;
    if (!(d->charges & 1U << charge)) return TB_OK;
    for (size_t at = 0; at < d->in->n_bytes && !code;) {
        run r = zone_run(d, charge, at);
        r.kind = kind;
        at = r.end;
        for (int region = 0; region < TB_BILLING_REGION_COUNT && !code; region++)
            code = region_line(d, &r, (tb_billing_region)region);
    }
    return code;
}
