/* A load balancer's usage: field names, order and nulls as in docs/openapi.yaml. */
#include "tollbook/usage.h"

#include <inttypes.h>

#include "invoice/text.h"

/* name: the member's name with its punctuation. */
static void put_moment(tb_buf *out, const char *name, int64_t month)
{
    tb_buf_str(out, name);
    tb__add_month_start(out, month);
    tb_buf_str(out, "\"");
}

static tb_code put_millions(tb_buf *out, const char *name, tb_i128 units, tb_error *err)
{
    tb_decimal millions;
    tb_code code = tb_decimal_shift(tb_decimal_from_int(units), 6, &millions, err);
    if (code) return code;
    tb_buf_str(out, name);
    tb__add_decimal(out, millions);
    return TB_OK;
}

static tb_code put_tier(tb_buf *out, const tb_tier *tier, tb_error *err)
{
    tb_buf_str(out, "{");
    tb_code code = put_millions(out, "\"ThresholdFromMillions\":", tier->from, err);
    tb_buf_str(out, ",");
    if (!code && tier->open)
        tb_buf_str(out, "\"ThresholdToMillions\":null");
    else if (!code)
        code = put_millions(out, "\"ThresholdToMillions\":", tier->to, err);
    if (code) return code;
    tb_buf_str(out, ",\"PricePerMillion\":");
    tb__add_double(out, tier->shown);
    tb_buf_str(out, "}");
    return TB_OK;
}

static tb_code put_price(tb_buf *out, const tb_book *book, tb_error *err)
{
    tb_code code = TB_OK;
    tb_buf_str(out, ",\"MonthlyFee\":");
    tb__add_double(out, book->balancer_fee);
    tb_buf_str(out, ",\"Tiers\":[");
    for (size_t i = 0; !code && i < book->balancer.n; i++) {
        if (i) tb_buf_str(out, ",");
        code = put_tier(out, &book->balancer.tier[i], err);
    }
    tb_buf_str(out, "]");
    return code;
}

tb_code tb_usage_encode(const tb_balancer_usage *usage, tb_buf *out, tb_error *err)
{
    bool priced = usage->book && usage->book->has_balancer;
    tb_code code = TB_OK;
    tb_buf_fmt(out, "{\"LoadBalancerId\":%" PRId64, usage->balancer);
    put_moment(out, ",\"PeriodStart\":\"", usage->month);
    put_moment(out, ",\"PeriodEnd\":\"", usage->month + 1);
    put_moment(out, ",\"ResetsAt\":\"", usage->month + 1);
    tb_buf_str(out, ",\"CurrentRequests\":");
    tb__add_i128(out, usage->requests);
    tb_buf_str(out, ",\"IncludedRequests\":");
    tb__add_i128(out, priced ? usage->book->balancer.included : 0);
    if (priced)
        code = put_price(out, usage->book, err);
    else
        tb_buf_str(out, ",\"MonthlyFee\":null,\"Tiers\":[]");
    tb_buf_str(out, "}");
    return code ? code : tb_buf_check(out, err);
}
