/* GET /billing as a table: every field of the model in its order, with where its value comes from;
 * what tollbook cannot know has its neutral value in the same place. */
#include "tollbook/usage.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/json.h"

typedef enum shape {
    FIXED,    /* `text` unchanged */
    DECIMAL,  /* a tb_decimal at `offset` */
    CHARGE,   /* charges[offset]: an amount, or of MonthlyMc... and MonthlyDB... an amount and a quantity */
    SUM,      /* a tb_sum */
    BYTES,    /* a tb_i128 */
    DISCOUNT, /* an int */
    RECORDS,
} shape;

typedef struct field {
    const char *name;
    shape shape;
    size_t offset;
    const char *text;
} field;

#define NEUTRAL(name, text)                                                                        \
    {                                                                                              \
        name, FIXED, 0, text                                                                       \
    }
#define FROM(name, shape, member)                                                                  \
    {                                                                                              \
        name, shape, offsetof(tb_billing, member), NULL                                            \
    }

static const field fields[] = {
    FROM("Balance", DECIMAL, balance),
    FROM("ThisMonthCharges", SUM, this_month),
    FROM("LastRechargeBalance", DECIMAL, last_recharge),
    FROM("AvailableBalance", DECIMAL, available),
    NEUTRAL("CouponBalance", "0.0"),
    NEUTRAL("MonthlyCouponUsage", "0.0"),
    FROM("BillingRecords", RECORDS, records),
    NEUTRAL("BillingHistoryChart", "null"),
#define TB_X(e, charge, field) {field, CHARGE, TB_METER_CHARGE_##e, NULL},
    TB_METER_CHARGES(TB_X)
#undef TB_X
    FROM("MonthlyBandwidthUsed", BYTES, bandwidth),
    NEUTRAL("MonthlyDnsSmartQueriesServed", "0"),
    NEUTRAL("MonthlyDnsNormalQueriesServed", "0"),
    NEUTRAL("MonthlyTranscriptionMinutes", "0"),
    NEUTRAL("MonthlyPremiumEncodingBillableMinutes", "0"),
    NEUTRAL("MonthlyLiveEncodingSDSeconds", "0"),
    NEUTRAL("MonthlyLiveEncodingHDSeconds", "0"),
    NEUTRAL("MonthlyLiveEncoding4KSeconds", "0"),
    NEUTRAL("MonthlyDRMLicensesIssued", "0"),
    NEUTRAL("MonthlyScriptingRequests", "0"),
    NEUTRAL("MonthlyScriptingCpuTime", "0"),
    NEUTRAL("BillingEnabled", "true"),
    FROM("MinimumMonthlyCommit", DECIMAL, minimum),
    FROM("VATRate", DECIMAL, tax_percent),
    FROM("NextMonthVATRate", DECIMAL, next_tax_percent),
    NEUTRAL("AutomaticPaymentImageUrl", "null"),
    NEUTRAL("AutomaticPaymentCardType", "null"),
    NEUTRAL("AutomaticPaymentIdentifier", "null"),
    NEUTRAL("AutomaticPaymentAmount", "0.0"),
    NEUTRAL("AutomaticRechargeTreshold", "0.0"), /* spelled as clients know it */
    NEUTRAL("AutomaticRechargeEnabled", "false"),
    NEUTRAL("AutomaticPaymentFailureCount", "0"),
    NEUTRAL("SavedPaymentMethods", "[]"),
    FROM("EUUSDiscount", DISCOUNT, discount[TB_REGION_EU]),
    FROM("SouthAmericaDiscount", DISCOUNT, discount[TB_REGION_SA]),
    FROM("AfricaDiscount", DISCOUNT, discount[TB_REGION_AF]),
    FROM("AsiaOceaniaDiscount", DISCOUNT, discount[TB_REGION_ASIA]),
    FROM("OptimizerMonthlyPrice", DECIMAL, optimizer_monthly),
    NEUTRAL("DrmBaseMonthlyPrice", "0.0"),
    NEUTRAL("DrmCostPerLicense", "null"),
};

/* --- records --- */

static void put_text(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (*value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

static void put_record(tb_buf *out, const tb_billing_record *record)
{
    bool document = record->invoice[0] != 0;
    tb_buf_fmt(out, "{\"Id\":%" PRId64, record->id);
    put_text(out, "PaymentId", record->payment);
    tb_buf_str(out, ",\"Amount\":");
    tb__add_double(out, record->amount);
    tb_buf_str(out, ",\"Payer\":null,\"Timestamp\":\"");
    tb__add_time(out, record->at_us);
    if (!out->failed) out->len--; /* without the Z, as clients know it */
    tb_buf_fmt(out, "\",\"Type\":%d,\"InvoiceAvailable\":%s", (int)record->type,
               document ? "true" : "false");
    if (document)
        tb_buf_fmt(out, ",\"DocumentDownloadUrl\":\"/billing/invoices/%s\"", record->invoice);
    else
        tb_buf_str(out, ",\"DocumentDownloadUrl\":null");
    tb_buf_str(out, ",\"DetailedDocumentDownloadUrl\":null}");
}

static void put_records(tb_buf *out, const tb_billing *billing)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < billing->n_records; i++) {
        if (i) tb_buf_str(out, ",");
        put_record(out, &billing->records[i]);
    }
    tb_buf_str(out, "]");
}

/* Of a product whose usage clients read beside its money. */
static void put_usage(tb_buf *out, const tb_billing *billing, size_t f)
{
    if (!billing->unit[f]) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_str(out, "{\"Usage\":");
    tb__add_double_sum(out, billing->charges[f]);
    const size_t from = out->len + strlen(",\"TotalUnits\":");
    tb_buf_str(out, ",\"TotalUnits\":");
    tb__add_i128(out, billing->units[f]);
    tb_json_point(out, from);
    tb_buf_str(out, ",\"MeasuringUnit\":");
    tb_json_string(out, billing->unit[f], strlen(billing->unit[f]));
    tb_buf_str(out, "}");
}

static void put_field(tb_buf *out, const tb_billing *billing, const field *f)
{
    const void *at = (const char *)billing + f->offset;
    switch (f->shape) {
    case FIXED: tb_buf_str(out, f->text); break;
    case DECIMAL: tb__add_double(out, *(const tb_decimal *)at); break;
    case CHARGE:
        if (strncmp(f->name, "MonthlyCharges", 14) == 0) tb__add_double_sum(out, billing->charges[f->offset]);
        else put_usage(out, billing, f->offset);
        break;
    case SUM: tb__add_double_sum(out, *(const tb_sum *)at); break;
    case BYTES: tb__add_i128(out, *(const tb_i128 *)at); break;
    case DISCOUNT: tb_buf_fmt(out, "%d", *(const int *)at); break;
    case RECORDS: put_records(out, billing); break;
    }
}

tb_code tb_billing_encode(const tb_billing *billing, tb_buf *out, tb_error *err)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        tb_buf_fmt(out, "%s\"%s\":", i ? "," : "{", fields[i].name);
        put_field(out, billing, &fields[i]);
    }
    tb_buf_str(out, "}");
    return tb_buf_check(out, err);
}

/* --- the summary --- */

tb_code tb_billing_summary_encode(const tb_zone_month *zones, size_t n, tb_buf *out, tb_error *err)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        tb_buf_fmt(out, "%s{\"PullZoneId\":%" PRId64 ",\"MonthlyUsage\":", i ? "," : "",
                   zones[i].zone);
        tb__add_double_sum(out, zones[i].charges);
        tb_buf_str(out, ",\"MonthlyBandwidthUsed\":");
        tb__add_i128(out, zones[i].bytes);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
    return tb_buf_check(out, err);
}

tb_zone_state tb_zone_state_of(bool set, tb_i128 limit, tb_i128 used, tb_zone_state account)
{
    if (!set) return TB_ZONE_SET_OFF;
    if (limit > 0 && used >= limit) return TB_ZONE_AT_LIMIT;
    return account;
}
