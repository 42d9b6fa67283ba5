/* Usage without a price under a scenario: the month is made into a whole bill, which lists it. What
 * passes the room of the list is counted by account-months. */
#include "whatif/replay.h"

#include <string.h>

/* Whether the same usage has no price today either. The reason may be another. */
static bool lacks(const tb_bill *bill, const tb_unpriced *usage)
{
    for (size_t i = 0; i < bill->n_unpriced; i++)
        if (strcmp(bill->unpriced[i].resource, usage->resource) == 0 &&
            strcmp(bill->unpriced[i].what, usage->what) == 0 &&
            strcmp(bill->unpriced[i].unit, usage->unit) == 0)
            return true;
    return false;
}

static bool same(const tb_unpriced *a, const tb_unpriced *b)
{
    return strcmp(a->resource, b->resource) == 0 && strcmp(a->what, b->what) == 0 &&
           strcmp(a->unit, b->unit) == 0 && strcmp(a->reason, b->reason) == 0;
}

/* The account's entry of the same usage; n_unpriced if there is none. */
static size_t find_usage(const tb__case *c, int64_t account, const tb_unpriced *usage)
{
    for (size_t i = c->n_unpriced; i-- > 0 && c->unpriced[i].account == account;)
        if (same(&c->unpriced[i].usage, usage)) return i;
    return c->n_unpriced;
}

/* Sets *ret_hidden where the list has no room for it. */
static tb_code add(tb_whatif *w, tb__case *c, const tb_whatif_unpriced *entry, bool *ret_hidden,
                   tb_error *err)
{
    size_t at = find_usage(c, entry->account, &entry->usage);
    if (at < c->n_unpriced) {
        tb_whatif_unpriced *to = &c->unpriced[at];
        to->before = to->before && entry->before;
        if (__builtin_add_overflow(to->usage.quantity, entry->usage.quantity, &to->usage.quantity))
            return tb_fail(err, TB_E_OVERFLOW, entry->usage.resource,
                           "Unpriced usage passes 2^127-1.");
        return TB_OK;
    }
    if (at == TB_WHATIF_UNPRICED_MAX) {
        *ret_hidden = true;
        return TB_OK;
    }
    if (!tb__grow_room(w->alloc, &c->unpriced, &c->unpriced_room, sizeof *c->unpriced, at + 1))
        return tb_no_memory(err);
    c->unpriced[c->n_unpriced++] = *entry;
    return TB_OK;
}

static tb_code add_all(tb_whatif *w, tb__case *c, const tb_bill_input *input, const tb_bill *before,
                       const tb_bill *after, tb_error *err)
{
    bool hidden = false;
    tb_code code = TB_OK;
    for (size_t i = 0; i < after->n_unpriced && !code; i++) {
        tb_whatif_unpriced entry = {.account = input->account, .month = input->month};
        entry.usage = after->unpriced[i];
        entry.before = lacks(before, &entry.usage);
        code = add(w, c, &entry, &hidden, err);
    }
    c->unpriced_hidden += hidden;
    return code;
}

static tb_code list_month(tb_whatif *w, tb__case *c, const tb__held *h, tb_error *err)
{
    tb_bill_input input;
    tb_bill before, after;
    bool changed;
    tb_code code = tb__case_input(w, c, &h->input, &w->scratch, &input, &changed, err);
    if (!code) code = tb_bill_rate(&h->input, w->alloc, &before, err);
    if (code) return code;
    code = tb_bill_rate(&input, w->alloc, &after, err);
    if (!code) {
        code = add_all(w, c, &input, &before, &after, err);
        tb_bill_release(&after);
    }
    tb_bill_release(&before);
    return code;
}

/* Neither for a new entry nor for more of an old one. */
static bool no_room(const tb__case *c, int64_t account)
{
    return c->n_unpriced == TB_WHATIF_UNPRICED_MAX &&
           c->unpriced[c->n_unpriced - 1].account != account;
}

tb_code tb__unpriced_list(tb_whatif *w, size_t number, tb_error *err)
{
    tb__case *c = &w->cases[number];
    tb_code code = TB_OK;
    for (const tb__held *h = w->first; h && !code; h = h->next) {
        if (!h->unpriced[number]) continue;
        if (no_room(c, h->input.account))
            c->unpriced_hidden++;
        else
            code = list_month(w, c, h, err);
    }
    tb__arena_reset(&w->scratch);
    return code;
}
