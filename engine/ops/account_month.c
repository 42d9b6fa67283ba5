/* The running month, taken apart by zone and by region. The volume line has one amount for all
 * regions: it is shared out by bytes, half up at 18 digits (fewer where so large an amount has no
 * room for them), the last region with the rest, for display only. */
#include "tollbook/running.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/terms.h"

/* --- by zone --- */

/* Bytes come ascending by zone, zones too: one walk over both. */
static tb_code fill_zones(const tb_month_bill *month, const tb_zone_terms *terms, size_t n,
                          bool prepaid, tb_decimal balance, tb_zone_month *zones, tb_error *err)
{
    const tb_bill_input *input = &month->source.input;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tb_zone_month *zone = &zones[i];
        *zone = (tb_zone_month){.zone = terms[i].zone};
        while (at < input->n_bytes && input->bytes[at].zone < zone->zone)
            at++;
        for (; at < input->n_bytes && input->bytes[at].zone == zone->zone; at++)
            zone->bytes += input->bytes[at].bytes;
        tb_code code = tb_bill_zone_charges(&month->bill, zone->zone, &zone->charges, err);
        if (code) return code;
        zone->enabled = tb_zone_state_of(terms[i].enabled, terms[i].limit, zone->bytes, prepaid,
                                         balance) == TB_ZONE_ON;
    }
    return TB_OK;
}

typedef tb_code (*bill_reader)(tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                               const tb_book *books, size_t n_books, int64_t now_us,
                               tb_month_bill *ret_bill, tb_error *err);

static tb_code read_month(tb_store *store, int64_t account, int64_t now_us, bill_reader read_bill,
                          tb_month_books *books, tb_month_bill *month, tb_error *err)
{
    tb_code code = tb_month_books_read(store, books, err);
    if (code) return code;
    code = read_bill(store, account, tb_month_from_us(now_us), TB_NOW, books->list, books->n,
                     now_us, month, err);
    if (code) tb_month_books_release(books);
    return code;
}

static tb_code zones_of(tb_store *store, int64_t account, const tb_month_bill *month,
                        int64_t now_us, tb_zone_month **ret_zones, size_t *ret_n, tb_error *err)
{
    bool prepaid = false;
    tb_zone_terms *zone_terms = NULL;
    tb_zone_month *zones = NULL;
    tb_decimal balance;
    size_t n = 0;
    tb_code code = tb_store_account_prepaid(store, account, &prepaid, err);
    if (!code) code = tb_store_balance(store, account, &balance, err);
    if (!code) code = tb_store_zone_terms(store, account, now_us, &zone_terms, &n, err);
    if (code) return code;
    zones = calloc(n ? n : 1, sizeof *zones);
    code = zones ? fill_zones(month, zone_terms, n, prepaid, balance, zones, err)
                 : tb_no_memory(err);
    free(zone_terms);
    if (code) {
        free(zones);
        return code;
    }
    *ret_zones = zones;
    *ret_n = n;
    return TB_OK;
}

tb_code tb_account_zones(tb_store *store, int64_t account, int64_t now_us,
                         tb_zone_month **ret_zones, size_t *ret_n, tb_error *err)
{
    tb_month_books books;
    tb_month_bill month;
    tb_code code = read_month(store, account, now_us, tb_month_net_read, &books, &month, err);
    if (code) return code;
    code = zones_of(store, account, &month, now_us, ret_zones, ret_n, err);
    tb_month_bill_release(&month);
    tb_month_books_release(&books);
    return code;
}

tb_code tb_account_summary(tb_store *store, int64_t account, int64_t now_us, tb_buf *out,
                           tb_error *err)
{
    tb_zone_month *zones = NULL;
    size_t n = 0;
    tb_code code = tb_account_zones(store, account, now_us, &zones, &n, err);
    if (!code) code = tb_billing_summary_encode(zones, n, out, err);
    free(zones);
    return code;
}

/* --- by region --- */

/* An amount to the regions by bytes. */
static tb_code share_out(tb_decimal amount, const tb_i128 bytes[TB_BILLING_REGION_COUNT],
                         tb_sum traffic[TB_BILLING_REGION_COUNT], tb_error *err)
{
    tb_i128 whole = 0;
    tb_decimal left = amount;
    int last = -1, scale = TB_PRORATE_SCALE, room = tb_decimal_scale_within(amount, scale);
    if (room < scale) scale = room;
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        whole += bytes[r];
        if (bytes[r] > 0) last = r;
    }
    for (int r = 0; r <= last; r++) {
        tb_decimal part = left;
        tb_code code = TB_OK;
        if (bytes[r] == 0) continue;
        if (r < last)
            code = tb_decimal_divide(amount, bytes[r], whole, scale, TB_HALF_UP, &part, err);
        if (!code) code = tb_decimal_sub(left, part, &left, err);
        if (!code) code = tb_sum_add(&traffic[r], part, err);
        if (code) return code;
    }
    return TB_OK;
}

static void volume_bytes(const tb_bill_input *input, tb_i128 bytes[TB_BILLING_REGION_COUNT])
{
    memset(bytes, 0, TB_BILLING_REGION_COUNT * sizeof *bytes);
    for (size_t i = 0; i < input->n_bytes; i++) {
        const tb_bill_bytes *b = &input->bytes[i];
        if (b->charge == TB_CHARGE_VOLUME && b->priced) bytes[b->region] += b->bytes;
    }
}

static tb_code add_line(const tb_bill_input *input, const tb_bill_line *line, tb_billing *b,
                        tb_error *err)
{
    tb_billing_region region;
    tb_i128 bytes[TB_BILLING_REGION_COUNT];
    switch (line->kind) {
    case TB_LINE_BANDWIDTH:
    case TB_LINE_OVERRIDE:
        if (!tb_billing_region_parse(line->region, &region)) return TB_OK;
        return tb_sum_add(&b->traffic[region], line->exact, err);
    case TB_LINE_VOLUME:
        volume_bytes(input, bytes);
        return share_out(line->exact, bytes, b->traffic, err);
    case TB_LINE_OPTIMIZER: return tb_sum_add(&b->optimizer, line->exact, err);
    case TB_LINE_BALANCER_FEE:
    case TB_LINE_BALANCER_REQUESTS: return tb_sum_add(&b->balancers, line->exact, err);
    default: return TB_OK;
    }
}

static tb_code add_taxes(const tb_month_bill *month, tb_billing *b, tb_error *err)
{
    const tb_bill *bill = &month->bill;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_tax; i++) {
        code = tb_decimal_add(b->taxes, bill->tax[i].amount, &b->taxes, err);
        if (!code)
            code = tb_decimal_add(b->tax_percent, bill->tax[i].rate.percent, &b->tax_percent, err);
    }
    b->next_tax_percent = b->tax_percent;
    return code;
}

static tb_code fill_month(const tb_month_bill *month, tb_billing *b, tb_error *err)
{
    const tb_bill_input *input = &month->source.input;
    const tb_book *book = input->n_parts ? input->parts[input->n_parts - 1].book : NULL;
    tb_code code = TB_OK;
    b->this_month = month->bill.exact;
    for (size_t i = 0; !code && i < month->bill.n_lines; i++)
        code = add_line(input, &month->bill.lines[i], b, err);
    for (size_t i = 0; i < input->n_bytes; i++)
        b->bandwidth += input->bytes[i].bytes;
    if (book) {
        b->minimum = book->minimum_monthly;
        b->optimizer_monthly = book->optimizer_monthly;
    }
    return code ? code : add_taxes(month, b, err);
}

/* --- records --- */

static tb_record_type type_of(tb_ledger_kind kind)
{
    switch (kind) {
    case TB_LEDGER_INVOICE: return TB_RECORD_MONTHLY_USAGE;
    case TB_LEDGER_PAYMENT: return TB_RECORD_BANK_TRANSFER;
    case TB_LEDGER_ADJUSTMENT: return TB_RECORD_COUPON;
    default: return TB_RECORD_REFUND;
    }
}

/* Newest first, as clients show them. */
static void fill_records(const tb_ledger_entry *entries, size_t n, tb_billing_record *records,
                         tb_billing *b)
{
    for (size_t i = 0; i < n; i++) {
        const tb_ledger_entry *e = &entries[n - 1 - i];
        bool document = e->kind != TB_LEDGER_PAYMENT && e->kind != TB_LEDGER_ADJUSTMENT;
        records[i] = (tb_billing_record){.id = e->id,
                                         .at_us = e->at_us,
                                         .type = type_of(e->kind),
                                         .amount = e->amount,
                                         .payment = document ? "" : e->reference,
                                         .invoice = document ? e->reference : ""};
    }
    for (size_t i = n; i > 0; i--) /* the newest payment is the last recharge */
        if (entries[i - 1].kind == TB_LEDGER_PAYMENT) {
            b->last_recharge = entries[i - 1].amount;
            break;
        }
    b->records = records;
    b->n_records = n;
}

static tb_code encode(tb_store *store, int64_t account, tb_billing *b, tb_buf *out, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    if (code) return code;
    tb_billing_record *records = calloc(n ? n : 1, sizeof *records);
    if (!records) {
        code = tb_no_memory(err);
    } else {
        fill_records(entries, n, records, b);
        code = tb_billing_encode(b, out, err);
    }
    free(records);
    free(entries);
    return code;
}

tb_code tb_account_billing(tb_store *store, int64_t account, int64_t now_us, tb_buf *out,
                           tb_error *err)
{
    tb_month_books books;
    tb_month_bill month;
    tb_billing b = {0};
    tb_account_terms terms;
    tb_code code = tb_store_account_terms(store, account, &terms, err);
    if (!code) code = tb_store_balance(store, account, &b.balance, err);
    if (!code) code = read_month(store, account, now_us, tb_month_bill_read, &books, &month, err);
    if (code) return code;
    memcpy(b.discount, terms.discount, sizeof b.discount);
    code = fill_month(&month, &b, err);
    if (!code) code = encode(store, account, &b, out, err);
    tb_month_bill_release(&month);
    tb_month_books_release(&books);
    return code;
}
