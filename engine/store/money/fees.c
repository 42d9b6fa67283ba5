/* Recurring fees of an account's month (docs/charges.md).
 *
 * An owner's declarations give the stretches of time in which a fee is on, each at one quantity. What a month's document
 * bills follows from these stretches and the price books alone, so it comes out the same whenever it is asked:
 *
 *   month, arrears   the time in the month, under each part's book
 *   month, advance   the coming month, as the fee stands when this one ends. The month itself was billed by the document
 *                    before it; where the fee was not on when that one ended, it is billed as in arrears
 *   year, advance    a year when it begins
 *   year, arrears    a year when it ends, or when the fee ends
 *
 * A change within a period that was billed in advance is a charge or a credit for the rest of it, at the price at which the
 * period was billed first. A year in arrears has the price of the document's month. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

/* A stretch of a fee at one quantity. */
typedef struct stretch {
    int64_t from_us, to_us, quantity;
} stretch;

/* A fee as a book prices it. */
typedef struct priced {
    const tb_book *book;
    const tb_fee *fee; /* NULL: the book has none */
    uint32_t part;
} priced;

/* A service period: a month or a year. */
typedef struct period {
    int64_t from_us, to_us;
} period;

/* A fee of one owner. */
typedef struct owned {
    tb__fee_month *m;
    const tb_bill_fee *of; /* owner and id */
    stretch *list;         /* ascending */
    size_t n;
    int64_t declared_us; /* the owner was declared first */
    period month;
    tb_error *err;
} owned;

static int64_t seconds_of(int64_t from_us, int64_t to_us)
{
    return tb__floor_div(to_us, TB_US_PER_S) - tb__floor_div(from_us, TB_US_PER_S);
}

/* --- prices --- */

static priced price_in(const tb_bill_part *parts, size_t part, const char *id)
{
    return (priced){parts[part].book, tb_book_fee(parts[part].book, id), (uint32_t)part};
}

/* In the newest book of a month that has the fee; in its last book where none has. */
static priced newest_price(const tb_bill_part *parts, size_t n, const char *id)
{
    for (size_t i = n; i-- > 0;) {
        const priced p = price_in(parts, i, id);
        if (p.fee) return p;
    }
    return price_in(parts, n - 1, id);
}

/* The price of a fee in another month, under its last book, or under its newest one that has the fee. */
static tb_code other_price(const owned *o, int64_t month, bool last, priced *ret)
{
    tb__fee_month *m = o->m;
    const struct tb__billing *b = m->b;
    if (m->other != month) {
        m->other = INT64_MIN;
        tb_code code = m->read_parts(m->ctx, month, o->err);
        if (code) return code;
        m->other = month;
    }
    *ret = last ? price_in(b->other_parts, b->n_other_parts - 1, o->of->id)
                : newest_price(b->other_parts, b->n_other_parts, o->of->id);
    return TB_OK;
}

/* --- quantities --- */

static int64_t quantity_at(const owned *o, int64_t us)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].from_us <= us && us < o->list[i].to_us) return o->list[i].quantity;
    return 0;
}

/* The largest quantity of [from, to). */
static int64_t most_of(const owned *o, int64_t from_us, int64_t to_us)
{
    int64_t most = 0;
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].from_us < to_us && o->list[i].to_us > from_us) most = tb__later(most, o->list[i].quantity);
    return most;
}

/* The next moment after `us` at which something changes; `end` where nothing does before it. */
static int64_t next_change(const owned *o, int64_t us, int64_t end)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->list[i].from_us > us) end = tb__earlier(end, o->list[i].from_us);
        if (o->list[i].to_us > us) end = tb__earlier(end, o->list[i].to_us);
    }
    return end;
}

/* --- entries --- */

/* what: seconds, service, part, quantity and credit. */
static tb_code add_fee_entry(const owned *o, const priced *price, const period *p, const tb_bill_fee *what)
{
    struct tb__billing *b = o->m->b;
    if (what->seconds == 0) return TB_OK;
    tb_code code = TB__GROW(b, bill_fees, o->err);
    if (code) return code;
    tb_bill_fee *e = &b->bill_fees[b->n_bill_fees++];
    *e = *what;
    e->book = price->book;
    memcpy(e->id, o->of->id, sizeof e->id);
    e->owner = o->of->owner;
    e->owner_id = o->of->owner_id;
    e->period_us = p->from_us;
    e->whole = seconds_of(p->from_us, p->to_us);
    return TB_OK;
}

static tb_code add_stretch(const owned *o, const priced *price, const period *p, const stretch *s)
{
    const tb_bill_fee e = {.seconds = seconds_of(s->from_us, s->to_us),
                           .from_us = s->from_us,
                           .to_us = s->to_us,
                           .part = price->part,
                           .quantity = s->quantity};
    return add_fee_entry(o, price, p, &e);
}

/* A period as it was until `end`: by its stretches or, where the fee is not prorated, whole at the largest quantity. */
static tb_code add_past(const owned *o, const priced *price, const period *p, period within)
{
    tb_code code = TB_OK;
    if (price->fee && !price->fee->prorate) {
        const stretch whole = {p->from_us, p->to_us, most_of(o, within.from_us, within.to_us)};
        return whole.quantity ? add_stretch(o, price, p, &whole) : TB_OK;
    }
    for (size_t i = 0; !code && i < o->n; i++) {
        const stretch s = {tb__later(o->list[i].from_us, within.from_us), tb__earlier(o->list[i].to_us, within.to_us),
                           o->list[i].quantity};
        if (s.from_us < s.to_us) code = add_stretch(o, price, p, &s);
    }
    return code;
}

/* The changes in [from, to) of a period of which `now` were billed before, and at most `most` at any time. */
static tb_code add_changes(const owned *o, const priced *price, const period *p, period within, int64_t now,
                           int64_t most)
{
    const bool whole = price->fee && !price->fee->prorate;
    const struct tb__billing *b = o->m->b;
    tb_code code = TB_OK;
    for (int64_t at = within.from_us; !code && at < within.to_us; at = next_change(o, at, within.to_us)) {
        const int64_t quantity = quantity_at(o, at), more = quantity - (whole ? most : now);
        tb_bill_fee e = {.from_us = whole ? p->from_us : at, .to_us = p->to_us, .credit = more < 0};
        now = quantity;
        if (more == 0 || (whole && more < 0)) continue;
        most = tb__later(most, quantity);
        e.seconds = seconds_of(e.from_us, e.to_us);
        e.quantity = more < 0 ? -more : more;
        while (e.part + 1 < b->n_parts && b->parts[e.part + 1].from_us <= at)
            e.part++;
        code = add_fee_entry(o, price, p, &e);
    }
    return code;
}

/* --- months --- */

/* Whether the document before this month's has billed the month, and at which price. */
static tb_code billed_before(const owned *o, bool *ret, priced *ret_price)
{
    *ret = false;
    if (tb_month_from_us(o->declared_us) >= o->m->month || !quantity_at(o, o->month.from_us - 1)) return TB_OK;
    tb_code code = other_price(o, o->m->month - 1, true, ret_price);
    if (!code) *ret = ret_price->fee && ret_price->fee->advance && !ret_price->fee->yearly;
    return code;
}

static tb_code add_coming_month(const owned *o)
{
    const struct tb__billing *b = o->m->b;
    const priced last = price_in(b->parts, b->n_parts - 1, o->of->id);
    const period coming = {o->month.to_us, tb_month_start_us(o->m->month + 2)};
    const stretch whole = {coming.from_us, coming.to_us, quantity_at(o, o->month.to_us - 1)};
    if (o->m->running || !whole.quantity || !last.fee || !last.fee->advance || last.fee->yearly) return TB_OK;
    return add_stretch(o, &last, &coming, &whole);
}

static tb_code make_month(const owned *o, const priced *now)
{
    const struct tb__billing *b = o->m->b;
    const period so_far = {o->month.from_us, o->m->until_us};
    priced before;
    bool billed = false;
    /* What is billed in advance begins with the month in which its owner was declared. */
    if (now->fee && now->fee->advance && o->m->month < tb_month_from_us(o->declared_us)) return TB_OK;
    tb_code code = billed_before(o, &billed, &before);
    if (code) return code;
    if (billed) {
        const int64_t quantity = quantity_at(o, o->month.from_us - 1);
        code = add_changes(o, &before, &o->month, so_far, quantity, quantity);
    } else if (now->fee && !now->fee->prorate) {
        code = add_past(o, now, &o->month, so_far);
    } else {
        for (size_t part = 0; !code && part < b->n_parts; part++) {
            const priced own = price_in(b->parts, part, o->of->id);
            const period of_part = {b->parts[part].from_us, tb__earlier(b->parts[part].to_us, so_far.to_us)};
            code = add_past(o, &own, &o->month, of_part);
        }
    }
    return code ? code : add_coming_month(o);
}

/* --- years --- */

/* The day's anniversary; of 29 February in a common year, 28 February. */
static int64_t anniversary_us(int64_t day, int years)
{
    tb_date date = tb_date_from_day(day);
    const int64_t month = tb_month_from_day(day) + 12 * years;
    const int64_t first = tb_month_first_day(month), days = tb_month_first_day(month + 1) - first;
    return (first + tb__earlier(date.day, days) - 1) * TB_US_PER_DAY;
}

/* One year of a fee that was on without a break until end_us. */
static tb_code make_year(const owned *o, const priced *now, const period *year, int64_t end_us)
{
    const int64_t begun = tb_month_from_us(year->from_us);
    priced first = *now;
    tb_code code = begun < o->m->month ? other_price(o, begun, false, &first) : TB_OK;
    if (code) return code;
    if (first.fee && first.fee->yearly && first.fee->advance) {
        const period within = {tb__later(year->from_us, o->month.from_us), tb__earlier(year->to_us, o->m->until_us)};
        const bool before = year->from_us < o->month.from_us;
        return add_changes(o, &first, year, within, before ? quantity_at(o, o->month.from_us - 1) : 0,
                           before ? most_of(o, year->from_us, o->month.from_us) : 0);
    }
    end_us = tb__earlier(end_us, year->to_us);
    if (end_us <= o->month.from_us || end_us > o->m->until_us) return TB_OK;
    return add_past(o, now, year, (period){year->from_us, end_us});
}

/* Years run from the day on which the fee was declared, or declared again. */
static tb_code make_years(const owned *o, const priced *now)
{
    tb_code code = TB_OK;
    for (size_t i = 0, end; !code && i < o->n; i = end) {
        owned run = *o;
        run.list = o->list + i;
        for (end = i + 1; end < o->n && o->list[end].from_us == o->list[end - 1].to_us;)
            end++;
        run.n = end - i;
        const int64_t end_us = o->list[end - 1].to_us;
        const int64_t day = tb_day_from_us(tb__later(run.list->from_us, o->declared_us));
        run.list->from_us = day * TB_US_PER_DAY;
        for (int k = 0; !code; k++) {
            const period year = {anniversary_us(day, k), anniversary_us(day, k + 1)};
            if (year.from_us >= tb__earlier(o->month.to_us, end_us)) break;
            if (year.to_us >= o->month.from_us) code = make_year(&run, now, &year, end_us);
        }
    }
    return code;
}

/* --- the whole --- */

static tb_code make_fee(tb__fee_month *m, const tb__fee_spell *spells, size_t n, tb_error *err)
{
    const struct tb__billing *b = m->b;
    owned o = {.m = m, .of = &spells->of, .declared_us = spells->declared_us, .err = err,
               .month = {tb_month_start_us(m->month), tb_month_start_us(m->month + 1)}};
    stretch *list = malloc(n * sizeof *list);
    if (!list) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const stretch s = {spells[i].from_us, spells[i].to_us, spells[i].of.quantity};
        stretch *last = o.n ? &list[o.n - 1] : NULL;
        if (s.from_us >= tb__earlier(s.to_us, m->until_us)) continue;
        if (last && last->to_us == s.from_us && last->quantity == s.quantity)
            last->to_us = s.to_us;
        else
            list[o.n++] = s;
    }
    o.list = list;
    const priced now = newest_price(b->parts, b->n_parts, o.of->id);
    tb_code code = now.fee && now.fee->yearly ? make_years(&o, &now) : make_month(&o, &now);
    free(list);
    return code;
}

static int compare_owners(const tb_bill_fee *a, const tb_bill_fee *b)
{
    if (a->owner_id != b->owner_id) return a->owner_id < b->owner_id ? -1 : 1;
    if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
    return strcmp(a->id, b->id);
}

static int compare_spells(const void *left, const void *right)
{
    const tb__fee_spell *a = left, *b = right;
    const int order = compare_owners(&a->of, &b->of);
    if (order) return order;
    if (a->from_us != b->from_us) return a->from_us < b->from_us ? -1 : 1;
    return a->to_us < b->to_us ? -1 : a->to_us > b->to_us;
}

static int compare_entries(const void *left, const void *right)
{
    const tb_bill_fee *a = left, *b = right;
    const int order = compare_owners(a, b);
    if (order) return order;
    if (a->period_us != b->period_us) return a->period_us < b->period_us ? -1 : 1;
    if (a->credit != b->credit) return a->credit ? 1 : -1;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    if (a->from_us != b->from_us) return a->from_us < b->from_us ? -1 : 1;
    return a->quantity < b->quantity ? -1 : a->quantity > b->quantity;
}

void tb__fee_spells_sort(tb__fee_spell *spells, size_t n)
{
    if (n) qsort(spells, n, sizeof *spells, compare_spells);
}

tb_code tb__fees_make(tb__fee_month *m, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    b->n_bill_fees = 0;
    for (size_t i = 0, end; !code && i < b->n_fee_spells; i = end) {
        for (end = i + 1; end < b->n_fee_spells && compare_owners(&b->fee_spells[i].of, &b->fee_spells[end].of) == 0;)
            end++;
        code = make_fee(m, b->fee_spells + i, end - i, err);
    }
    if (!code && b->n_bill_fees) qsort(b->bill_fees, b->n_bill_fees, sizeof *b->bill_fees, compare_entries);
    return code;
}
