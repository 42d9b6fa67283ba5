/* What of the input is charged as usage under tiers or as time, entry by entry: kinds of charges that differ only in this
 * share the functions that make their lines. Entries of one line are adjacent. */
#include "billing/draft.h"

#include <string.h>

bool tb__volume_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_bytes) return false;
    const tb_bill_bytes *e = &d->in->bytes[at];
    *ret = (tb__entry){.id = d->in->account, .part = e->part, .units = e->bytes, .evidence = &e->evidence};
    ret->charged = e->charge == TB_CHARGE_VOLUME && d->byte_gaps[at] == TB__PRICED && e->bytes > 0;
    if (ret->charged) ret->tiers = &tb__book(d, e->part)->volume;
    return true;
}

/* An entry that the book prices in a section of its own. */
static tb__entry priced(const tb_book *book, bool has_section, const char *section, tb__entry e)
{
    e.gap = !book ? TB__NO_BOOK : has_section ? TB__PRICED : TB__NO_PRICE;
    e.charged = e.gap == TB__PRICED && e.units > 0;
    e.section = section;
    return e;
}

bool tb__request_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_balancers) return false;
    const tb_bill_balancer *e = &d->in->balancers[at];
    const tb_book *book = tb__book(d, e->part);
    *ret = priced(book, book && book->has_balancer, "load_balancer",
                  (tb__entry){.id = e->balancer, .part = e->part, .units = e->requests, .evidence = &e->evidence});
    if (ret->charged) ret->tiers = &book->balancer;
    return true;
}

/* Seconds of a part, at a price for one month. */
static tb__entry time_entry(const tb__draft *d, int64_t id, uint32_t part, int64_t seconds)
{
    const tb_bill_part *in = &d->in->parts[part];
    return (tb__entry){.id = id, .part = part, .units = seconds, .times = 1, .from_us = in->from_us, .to_us = in->to_us};
}

bool tb__optimizer_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_optimizers) return false;
    const tb_bill_optimizer *e = &d->in->optimizers[at];
    const tb_book *book = tb__book(d, e->part);
    *ret = priced(book, e->own_price || (book && book->has_optimizer), "optimizer",
                  time_entry(d, e->zone, e->part, e->seconds));
    if (ret->charged) ret->price = e->own_price ? e->monthly : book->optimizer_monthly;
    return true;
}

bool tb__balancer_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_balancers) return false;
    const tb_bill_balancer *e = &d->in->balancers[at];
    const tb_book *book = tb__book(d, e->part);
    *ret = priced(book, book && book->has_balancer, "load_balancer", time_entry(d, e->balancer, e->part, e->seconds));
    if (ret->charged) ret->price = book->balancer_fee;
    return true;
}

bool tb__next_run(const tb__draft *d, tb__run *run)
{
    tb__entry e;
    run->first = run->end;
    if (!run->entry(d, run->first, &e)) return false;
    run->id = e.id;
    do
        run->end++;
    while (run->entry(d, run->end, &e) && e.id == run->id);
    return true;
}
