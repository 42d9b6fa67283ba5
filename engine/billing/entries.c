/* What of the input is charged as usage under tiers or as time, entry by entry: kinds of charges that differ only in this
 * share the functions that make their lines. Entries of one line are adjacent. */
#include "billing/draft.h"

static void set_owner(tb__entry *e, int64_t id, uint32_t part, tb_i128 units)
{
    e->id = id;
    e->part = part;
    e->units = units;
}

/* has: the book, if there is one, prices it in the section. */
static void set_gap(tb__entry *e, const tb_book *book, bool has, const char *section)
{
    e->gap = !book ? TB__NO_BOOK : has ? TB__PRICED : TB__NO_PRICE;
    e->charged = e->gap == TB__PRICED && e->units > 0;
    e->section = section;
}

bool tb__request_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_balancers) return false;
    const tb_bill_balancer *e = &d->in->balancers[at];
    const tb_book *book = tb__book(d, e->part);
    set_owner(ret, e->balancer, e->part, e->requests);
    set_gap(ret, book, book && book->has_balancer, "load_balancer");
    if (ret->charged) ret->tiers = &book->balancer;
    ret->evidence = &e->evidence;
    return true;
}

/* Of one month, in the entry's part. */
static void set_price(const tb__draft *d, tb__entry *e, tb_decimal price)
{
    const tb_bill_part *part = &d->in->parts[e->part];
    e->price = price;
    e->times = 1;
    e->from_us = part->from_us;
    e->to_us = part->to_us;
}

bool tb__optimizer_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_optimizers) return false;
    const tb_bill_optimizer *e = &d->in->optimizers[at];
    const tb_book *book = tb__book(d, e->part);
    set_owner(ret, e->zone, e->part, e->seconds);
    set_gap(ret, book, e->own_price || (book && book->has_optimizer), "optimizer");
    if (ret->charged) set_price(d, ret, e->own_price ? e->monthly : book->optimizer_monthly);
    return true;
}

bool tb__balancer_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_balancers) return false;
    const tb_bill_balancer *e = &d->in->balancers[at];
    const tb_book *book = tb__book(d, e->part);
    set_owner(ret, e->balancer, e->part, e->seconds);
    set_gap(ret, book, book && book->has_balancer, "load_balancer");
    if (ret->charged) set_price(d, ret, book->balancer_fee);
    return true;
}

bool tb__next_run(const tb__draft *d, tb__run *run)
{
    tb__entry e;
    run->first = run->end;
    run->n_charged = 0;
    if (!run->entry(d, run->first, &e)) return false;
    run->id = e.id;
    do {
        run->n_charged += e.charged;
        run->end++;
    } while (run->entry(d, run->end, &e) && e.id == run->id);
    return true;
}
