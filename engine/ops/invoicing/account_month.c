/* The running month, taken apart by zone and by region. The volume line has one amount for all
 * regions: it is shared out by bytes, half up at 18 digits (fewer where so large an amount has no
 * room for them), the last region with the rest, for display only. */
#include "tollbook/monthbill.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/settle.h"
#include "tollbook/ledger.h"
#include "tollbook/billsource.h"

/* --- by zone --- */

/* Bytes come ascending by zone, zones too: one walk over both. */
static tb_code fill_zones(const tb_month_bill *month, const tb_zone_terms *terms, size_t n,
                          tb_zone_state off, tb_zone_month *zones, tb_error *err)
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
        zone->enabled = tb_zone_state_of(terms[i].enabled, terms[i].limit, zone->bytes,
                                         off) == TB_ZONE_ON;
    }
    return TB_OK;
}

typedef tb_code (*bill_reader)(tb_store *store, const tb_bill_query *query, tb_month_bill *ret_bill, tb_error *err);

static tb_code read_month(tb_store *store, int64_t account, int64_t now_us, bill_reader read_bill,
                          tb_month_books *books, tb_month_bill *month, tb_error *err)
{
    tb_code code = tb_month_books_read(store, books, err);
    if (code) return code;
    const tb_bill_query query = {account, tb_month_from_us(now_us), TB_NOW, books->list, books->n, now_us};
    code = read_bill(store, &query, month, err);
    if (code) tb_month_books_release(books);
    return code;
}

tb_code tb_account_state(tb_store *store, int64_t account, int64_t now_us, tb_zone_state *ret_state, tb_error *err)
{
    tb_account_cap cap;
    bool out_of_funds = false;
    tb_code code = tb_prepaid_out_of_funds(store, account, now_us, &out_of_funds, err);
    *ret_state = out_of_funds ? TB_ZONE_UNFUNDED : TB_ZONE_ON;
    if (code || out_of_funds) return code;
    code = tb_store_account_cap(store, account, tb_month_from_us(now_us), &cap, err);
    if (!code && cap.reached && cap.action == TB_CAP_DISABLE) *ret_state = TB_ZONE_CAPPED;
    return code;
}

static tb_code zones_of(tb_store *store, int64_t account, const tb_month_bill *month,
                        int64_t now_us, tb_zone_month **ret_zones, size_t *ret_n, tb_error *err)
{
    tb_zone_state off = TB_ZONE_ON;
    tb_zone_terms *zone_terms = NULL;
    tb_zone_month *zones = NULL;
    size_t n = 0;
    tb_code code = tb_account_state(store, account, now_us, &off, err);
    if (!code) code = tb_store_zone_terms(store, account, now_us, &zone_terms, &n, err);
    if (code) return code;
    zones = calloc(n ? n : 1, sizeof *zones);
    code = zones ? fill_zones(month, zone_terms, n, off, zones, err)
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

static const tb_meter_charge traffic_of[TB_BILLING_REGION_COUNT] = {
    [TB_REGION_EU] = TB_METER_CHARGE_EU_TRAFFIC,     [TB_REGION_NA] = TB_METER_CHARGE_US_TRAFFIC,
    [TB_REGION_ASIA] = TB_METER_CHARGE_ASIA_TRAFFIC, [TB_REGION_SA] = TB_METER_CHARGE_SA_TRAFFIC,
    [TB_REGION_AF] = TB_METER_CHARGE_AF_TRAFFIC};

/* An amount to the regions by bytes. */
static tb_code share_out(tb_decimal amount, const tb_i128 bytes[TB_BILLING_REGION_COUNT], tb_billing *b,
                         tb_error *err)
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
        if (!code) code = tb_sum_add(&b->charges[traffic_of[r]], part, err);
        if (code) return code;
    }
    return TB_OK;
}

/* Of the volume line, or of all bandwidth where it is billed at a percentile. */
static void region_bytes(const tb_bill_input *input, tb_line_kind kind, tb_i128 bytes[TB_BILLING_REGION_COUNT])
{
    memset(bytes, 0, TB_BILLING_REGION_COUNT * sizeof *bytes);
    for (size_t i = 0; i < input->n_bytes; i++) {
        const tb_bill_bytes *b = &input->bytes[i];
        if ((b->charge == TB_CHARGE_VOLUME || kind == TB_LINE_PERCENTILE) && b->priced) bytes[b->region] += b->bytes;
    }
}

/* The field of a product that a field with usage is a part of; the field itself where it is no part. */
static tb_meter_charge product_of(tb_meter_charge field)
{
    if (field >= TB_METER_CHARGE_MC_CPU && field <= TB_METER_CHARGE_MC_VOLUMES) return TB_METER_CHARGE_MAGIC_CONTAINERS;
    if (field >= TB_METER_CHARGE_DB_WRITES && field <= TB_METER_CHARGE_DB_REPLICA) return TB_METER_CHARGE_DB;
    return field;
}

static tb_code add_line(const tb_bill_input *input, const tb_bill_line *line, tb_billing *b,
                        tb_error *err)
{
    tb_billing_region region;
    tb_i128 bytes[TB_BILLING_REGION_COUNT];
    tb_meter_charge charge = tb_line_kind_of(line->kind)->charge;
    if (charge == TB_METER_CHARGE_EU_TRAFFIC) {
        if (tb_billing_region_parse(line->region, &region))
            return tb_sum_add(&b->charges[traffic_of[region]], line->exact, err);
        region_bytes(input, line->kind, bytes);
        return share_out(line->exact, bytes, b, err);
    }
    if (charge == TB_METER_CHARGE_COUNT && line->item) charge = tb_meter_charge_of(line->item->charge);
    if (charge == TB_METER_CHARGE_COUNT) return TB_OK;
    tb_code code = tb_sum_add(&b->charges[charge], line->exact, err);
    if (code || product_of(charge) == charge) return code;
    const char *unit = line->kind == TB_LINE_METER ? line->item->unit : "";
    if (!b->unit[charge]) b->unit[charge] = unit;
    if (*unit && strcmp(b->unit[charge], unit) == 0) b->units[charge] += line->quantity;
    return tb_sum_add(&b->charges[product_of(charge)], line->exact, err);
}

static tb_code add_taxes(const tb_month_bill *month, tb_billing *b, tb_error *err)
{
    const tb_bill *bill = &month->bill;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_tax; i++)
        code = tb_sum_add(&b->charges[TB_METER_CHARGE_TAXES], bill->tax[i].amount, err);
    for (size_t i = 0; !code && i < month->source.input.n_tax; i++) /* also where only charges without tax are billed */
        code = tb_decimal_add(b->tax_percent, month->source.input.tax[i].percent, &b->tax_percent, err);
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
        b->minimum = input->contract.own_minimum ? input->contract.minimum : book->minimum_monthly;
        b->optimizer_monthly = book->optimizer_monthly;
    }
    return code ? code : add_taxes(month, b, err);
}

/* --- records --- */

/* How clients see an entry. Entries that cancel each other out are hidden, so that the records still sum to the
 * balance: the pair that draws a credit, and daily entries that an invoice has replaced. */
typedef struct shown_as {
    tb_record_type type;
    bool hidden, document; /* document: its reference is an invoice's number */
} shown_as;

static const shown_as shown[TB_LEDGER_KIND_COUNT] = {
    [TB_LEDGER_INVOICE] = {TB_RECORD_MONTHLY_USAGE, .document = true},
    [TB_LEDGER_VOID] = {TB_RECORD_REFUND, .document = true},
    [TB_LEDGER_CREDIT_NOTE] = {TB_RECORD_REFUND, .document = true},
    [TB_LEDGER_PAYMENT] = {.type = TB_RECORD_BANK_TRANSFER},
    [TB_LEDGER_ADJUSTMENT] = {.type = TB_RECORD_COUPON},
    [TB_LEDGER_USAGE] = {.type = TB_RECORD_MONTHLY_USAGE},
    [TB_LEDGER_USAGE_REVERSAL] = {TB_RECORD_MONTHLY_USAGE, .hidden = true},
    [TB_LEDGER_CREDIT] = {.type = TB_RECORD_COUPON},
    [TB_LEDGER_CREDIT_DRAWN] = {TB_RECORD_COUPON, .hidden = true},
    [TB_LEDGER_CREDIT_EXPIRED] = {.type = TB_RECORD_COUPON},
};

/* Whether an invoice has replaced the first entry, a day's: its reference begins with that of its month's reversal. The
 * reversal follows within a few months, so few entries are read. */
static bool is_reversed(const tb_ledger_entry *day, size_t n)
{
    const size_t len = strlen(day->reference);
    if (day->kind != TB_LEDGER_USAGE || len < 3) return false;
    for (size_t i = 1; i < n; i++)
        if (day[i].kind == TB_LEDGER_USAGE_REVERSAL && strlen(day[i].reference) == len - 3 &&
            memcmp(day[i].reference, day->reference, len - 3) == 0)
            return true;
    return false;
}

static tb_billing_record record_of(const tb_ledger_entry *e)
{
    const bool document = shown[e->kind].document;
    return (tb_billing_record){.id = e->id,
                               .at_us = e->at_us,
                               .type = shown[e->kind].type,
                               .amount = e->amount,
                               .payment = document ? "" : tb_payment_shown(e),
                               .invoice = document ? e->reference : ""};
}

/* Newest first, as clients show them. */
static void fill_records(const tb_ledger_entry *entries, size_t n, tb_billing_record *records,
                         tb_billing *b)
{
    size_t n_records = 0;
    for (size_t i = n; i > 0; i--) {
        const tb_ledger_entry *e = &entries[i - 1];
        if (!shown[e->kind].hidden && !is_reversed(e, n - i + 1)) records[n_records++] = record_of(e);
    }
    for (size_t i = n; i > 0; i--) /* the newest payment is the last recharge */
        if (entries[i - 1].kind == TB_LEDGER_PAYMENT) {
            b->last_recharge = entries[i - 1].amount;
            break;
        }
    b->records = records;
    b->n_records = n_records;
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

/* What is left once the running month so far is paid: of a prepaid account that much of it is in the
 * balance already as its days have entered. */
static tb_code read_available(tb_store *store, int64_t account, bool prepaid, const tb_month_bill *month,
                              tb_decimal balance, tb_decimal *ret_available, tb_error *err)
{
    tb_prepaid_month days;
    *ret_available = balance;
    if (!prepaid) return TB_OK;
    tb_code code =
        tb_store_prepaid_month(store, account, month->source.input.month, &days, err);
    if (!code) code = tb_decimal_sub(balance, days.entered, ret_available, err);
    return code ? code : tb_decimal_sub(*ret_available, month->bill.total, ret_available, err);
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
    if (!code) code = read_month(store, account, now_us, tb_month_charged_read, &books, &month, err);
    if (code) return code;
    memcpy(b.discount, terms.discount, sizeof b.discount);
    code = fill_month(&month, &b, err);
    if (!code) code = read_available(store, account, terms.prepaid, &month, b.balance, &b.available, err);
    if (!code) code = encode(store, account, &b, out, err);
    tb_month_bill_release(&month);
    tb_month_books_release(&books);
    return code;
}

tb_code tb_account_money_read(tb_store *store, int64_t account, int64_t now_us, tb_account_money *ret, tb_error *err)
{
    tb_month_books books;
    tb_month_bill month;
    *ret = (tb_account_money){.prepaid = false};
    tb_code code = tb_store_account_prepaid(store, account, &ret->prepaid, err);
    if (!code) code = tb_store_balance(store, account, &ret->balance, err);
    if (!code) code = read_month(store, account, now_us, tb_month_charged_read, &books, &month, err);
    if (code) return code;
    ret->net = month.bill.exact;
    ret->total = month.bill.total;
    ret->minor_digits = month.bill.minor_digits;
    ret->complete = month.bill.n_unpriced == 0;
    memcpy(ret->currency, month.source.input.currency, sizeof ret->currency);
    code = read_available(store, account, ret->prepaid, &month, ret->balance, &ret->available, err);
    tb_month_bill_release(&month);
    tb_month_books_release(&books);
    return code;
}
