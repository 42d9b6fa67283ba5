/* One bill for all of a page's zones, by the one rating function. */
#include "api/zone_month.h"

#include "api/month_bill.h"
#include "tollbook/terms.h"
#include "tollbook/usage.h"

/* What of the account concerns all of its zones. */
typedef struct owner {
    tb_account_terms terms;
    tb_decimal balance;
    const tb_book *book; /* in force now; NULL: none */
} owner;

static tb_code read_owner(tb_store *store, int64_t account, int64_t now_us,
                          const month_books *books, const char currency[4], owner *o, tb_error *err)
{
    tb_code code = tb_store_account_terms(store, account, &o->terms, err);
    o->book = month_book_at(books, currency, now_us);
    return code ? code : tb_store_balance(store, account, &o->balance, err);
}

/* Bytes come ascending by zone, zones too: one walk over both. */
static tb_code fill(const month_bill *month, const owner *o, tb_pullzone *zones, size_t n,
                    tb_error *err)
{
    const tb_bill_input *input = &month->source.input;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tb_pullzone *zone = &zones[i];
        while (at < input->n_bytes && input->bytes[at].zone < zone->id)
            at++;
        for (; at < input->n_bytes && input->bytes[at].zone == zone->id; at++)
            zone->bytes += input->bytes[at].bytes;
        tb_code code = tb_bill_zone_charges(&month->bill, zone->id, &zone->charges, err);
        if (code) return code;
        zone->enabled =
            tb_zone_enabled(zone->enabled, zone->limit, zone->bytes, o->terms.prepaid, o->balance);
        zone->has_optimizer_price = o->book && o->book->has_optimizer;
        if (zone->has_optimizer_price) zone->optimizer_price = o->book->optimizer_monthly;
    }
    return TB_OK;
}

tb_code zones_month(tb_store *store, int64_t account, int64_t now_us, tb_pullzone *zones, size_t n,
                    tb_error *err)
{
    month_books books;
    month_bill month;
    owner o;
    if (n == 0) return TB_OK;
    tb_code code = month_books_read(store, &books, err);
    if (code) return code;
    code = month_bill_read(store, account, month_of_us(now_us), TB_NOW, books.list, books.n, now_us,
                           &month, err);
    if (!code) {
        code = read_owner(store, account, now_us, &books, month.source.input.currency, &o, err);
        if (!code) code = fill(&month, &o, zones, n, err);
        month_bill_release(&month);
    }
    month_books_release(&books);
    return code;
}
