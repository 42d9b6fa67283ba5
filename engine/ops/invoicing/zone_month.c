/* One bill for all of a page's zones, by the one rating function; of the whole account where volume
 * bandwidth is among it. */
#include "tollbook/monthbill.h"

#include <stdlib.h>

#include "tollbook/ledger.h"
#include "tollbook/billsource.h"

/* What of the account concerns all of its zones. */
typedef struct owner {
    tb_zone_state off;
    const tb_book *book; /* in force now; NULL: none */
} owner;

static tb_code read_owner(tb_store *store, int64_t account, int64_t now_us,
                          const tb_month_books *books, const tb_bill_input *input, owner *o,
                          tb_error *err)
{
    o->book = tb_month_book_at(books, input->currency, input->contract.book, now_us);
    return tb_account_state(store, account, now_us, &o->off, err);
}

static void set_optimizer(const owner *o, tb_pullzone *zone)
{
    zone->has_optimizer_price = o->book && o->book->has_optimizer;
    if (zone->has_optimizer_price) zone->optimizer_price = o->book->optimizer_monthly;
}

/* --- only these zones --- */

/* Bytes come ascending by zone, zones too: one walk over both. */
static tb_code fill_alone(const tb_bill_input *input, const tb_bill *bill, const owner *o,
                          tb_pullzone *zones, size_t n, tb_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tb_pullzone *zone = &zones[i];
        while (at < input->n_bytes && input->bytes[at].zone < zone->id)
            at++;
        for (; at < input->n_bytes && input->bytes[at].zone == zone->id; at++)
            zone->bytes += input->bytes[at].bytes;
        tb_code code = tb_bill_zone_charges(bill, zone->id, &zone->charges, err);
        if (code) return code;
        zone->enabled = tb_zone_state_of(zone->enabled, zone->limit, zone->bytes,
                                         o->off) == TB_ZONE_ON;
        set_optimizer(o, zone);
    }
    return TB_OK;
}

static tb_code rate_alone(const tb_bill_input *input, const owner *o, tb_pullzone *zones, size_t n,
                          tb_error *err)
{
    tb_bill bill;
    tb_code code = tb_bill_rate(input, NULL, &bill, err);
    if (code) return code;
    code = fill_alone(input, &bill, o, zones, n, err);
    tb_bill_release(&bill);
    return code;
}

/* --- of the whole account --- */

void tb_zones_memo_release(tb_zones_memo *memo)
{
    free(memo->all);
    *memo = (tb_zones_memo){0};
}

/* Both ascend by zone. A zone that does not exist yet is not among the account's. */
static void fill_from(const tb_zones_memo *memo, const owner *o, tb_pullzone *zones, size_t n)
{
    size_t low = 0, high = memo->n;
    while (n && low < high) {
        size_t middle = low + (high - low) / 2;
        if (memo->all[middle].zone < zones[0].id)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < n; i++) {
        while (low < memo->n && memo->all[low].zone < zones[i].id)
            low++;
        set_optimizer(o, &zones[i]);
        if (low == memo->n || memo->all[low].zone != zones[i].id) continue;
        zones[i].bytes = memo->all[low].bytes;
        zones[i].charges = memo->all[low].charges;
        zones[i].enabled = memo->all[low].enabled;
    }
}

static tb_code fill(tb_store *store, int64_t account, int64_t now_us, const tb_month_books *books,
                    tb_zones_memo *memo, tb_pullzone *zones, size_t n, tb_error *err)
{
    tb_bill_source source;
    owner o;
    bool shared = false;
    const tb_bill_query query = {account, tb_month_from_us(now_us), TB_NOW,
                             books->list, books->n, now_us};
    tb_code code = tb_store_zones_input(store, &query, zones[0].id, zones[n - 1].id, &shared, &source,
                                        err);
    if (code) return code;
    code = read_owner(store, account, now_us, books, &source.input, &o, err);
    if (!code && shared && !memo->all)
        code = tb_account_zones(store, account, now_us, &memo->all, &memo->n, err);
    if (!code && shared)
        fill_from(memo, &o, zones, n);
    else if (!code)
        code = rate_alone(&source.input, &o, zones, n, err);
    tb_bill_source_release(&source);
    return code;
}

tb_code tb_zones_month(tb_store *store, int64_t account, int64_t now_us, tb_zones_memo *memo,
                       tb_pullzone *zones, size_t n, tb_error *err)
{
    tb_month_books books;
    if (n == 0) return TB_OK;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = fill(store, account, now_us, &books, memo, zones, n, err);
    tb_month_books_release(&books);
    return code;
}

/* --- one zone --- */

/* The running month's bytes of one zone. Nothing is rated, so volume bandwidth needs no other zone.
 */
static tb_code read_bytes(tb_store *store, int64_t account, int64_t zone, int64_t now_us,
                          tb_i128 *ret_bytes, tb_error *err)
{
    tb_month_books books;
    tb_bill_source source;
    bool shared;
    *ret_bytes = 0;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    const tb_bill_query query = {account, tb_month_from_us(now_us), TB_NOW,
                             books.list, books.n, now_us};
    code = tb_store_zones_input(store, &query, zone, zone, &shared, &source, err);
    for (size_t i = 0; !code && i < source.input.n_bytes; i++)
        if (source.input.bytes[i].zone == zone) *ret_bytes += source.input.bytes[i].bytes;
    if (!code) tb_bill_source_release(&source);
    tb_month_books_release(&books);
    return code;
}

tb_code tb_zone_state_read(tb_store *store, int64_t account, int64_t zone, int64_t now_us,
                           tb_zone_state *ret_state, tb_error *err)
{
    tb_zone_page page;
    tb_zone_state off = TB_ZONE_ON;
    tb_i128 bytes = 0;
    tb_code code = tb_store_zone(store, account, zone, &page, err);
    if (code) return code;
    const bool set = page.zones[0].enabled;
    const tb_i128 limit = page.zones[0].limit;
    tb_zone_page_release(&page);
    code = tb_account_state(store, account, now_us, &off, err);
    if (!code && limit > 0) code = read_bytes(store, account, zone, now_us, &bytes, err);
    if (!code) *ret_state = tb_zone_state_of(set, limit, bytes, off);
    return code;
}
