/* The money that customers see: a load balancer's usage, the account's billing and its summary by
 * zone (docs/openapi.yaml). Pure: values in, JSON out. Money is written as plain decimal numbers,
 * exact, without exponents. */
#ifndef TOLLBOOK_USAGE_H
#define TOLLBOOK_USAGE_H

#include "tollbook/book.h"
#include "tollbook/buf.h"

TB_API_BEGIN

/* --- GET /loadbalancer/{id}/usage --- */

typedef struct tb_balancer_usage {
    int64_t balancer, month;
    tb_i128 requests;
    const tb_book *book; /* in force; NULL, or one without balancers: no price */
} tb_balancer_usage;

/* Without a price: IncludedRequests 0, MonthlyFee null, Tiers an empty list. Thresholds are in
 * millions; the open tier's end is null. */
TB_MUST_USE tb_code tb_usage_encode(const tb_balancer_usage *usage, tb_buf *out, tb_error *err);

/* --- GET /billing --- */

/* BillingRecordType of GET /billing. */
typedef enum tb_record_type {
    TB_RECORD_MONTHLY_USAGE = 3,
    TB_RECORD_REFUND = 4,
    TB_RECORD_COUPON = 5,
    TB_RECORD_BANK_TRANSFER = 6,
} tb_record_type;

typedef struct tb_billing_record {
    int64_t id, at_us;
    tb_record_type type;
    tb_decimal amount;
    const char *payment; /* "": null */
    const char *invoice; /* number of its document; "": none */
} tb_billing_record;

typedef struct tb_billing {
    tb_decimal balance;
    tb_decimal available; /* less usage that is not in the balance yet */
    tb_sum this_month; /* charges of the running month so far, exact, without tax */
    tb_decimal last_recharge;
    tb_sum charges[TB_METER_CHARGE_COUNT]; /* of these, by field; and taxes */
    tb_i128 units[TB_METER_CHARGE_COUNT];  /* of fields that show usage too */
    const char *unit[TB_METER_CHARGE_COUNT]; /* NULL: the month has none */
    tb_i128 bandwidth; /* bytes of the running month */
    tb_decimal tax_percent, next_tax_percent;
    tb_decimal minimum, optimizer_monthly; /* of the book in force; zero where none is */
    int discount[TB_BILLING_REGION_COUNT]; /* of the account, percent; EU and NA are one */
    const tb_billing_record *records;      /* newest first */
    size_t n_records;
} tb_billing;
TB_MUST_USE tb_code tb_billing_encode(const tb_billing *billing, tb_buf *out, tb_error *err);

/* --- GET /billing/summary --- */

typedef struct tb_zone_month {
    int64_t zone;
    tb_sum charges; /* MonthlyCharges: exact */
    tb_i128 bytes;  /* MonthlyBandwidthUsed */
    bool enabled;
} tb_zone_month;
TB_MUST_USE tb_code tb_billing_summary_encode(const tb_zone_month *zones, size_t n, tb_buf *out,
                                              tb_error *err);

/* Enabled, as clients see it: what the zone's settings say, but false once its limit of bytes a
 * month is reached (limit 0: none), while its account is out of funds, and while the cap of its contract is reached. */
typedef enum tb_zone_state {
    TB_ZONE_ON,
    TB_ZONE_SET_OFF,
    TB_ZONE_AT_LIMIT,
    TB_ZONE_UNFUNDED,
    TB_ZONE_CAPPED,
} tb_zone_state;
/* account: TB_ZONE_ON, or why all of the account's zones are off. */
tb_zone_state tb_zone_state_of(bool set, tb_i128 limit, tb_i128 used, tb_zone_state account);

TB_API_END

#endif
