/* usage.h: load balancer usage, billing and its summary (contract 3 and 9.4). */
#include "invoice_fixture.h"
#include "tollbook/usage.h"

static void assert_usage(const tb_balancer_usage *usage, const char *expected)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, 1 << 20, NULL);
    ck_assert_msg(tb_usage_encode(usage, &out, &err) == TB_OK, "%s", err.message);
    char *text = text_of(&out);
    ck_assert_str_eq(text, expected);
    free(text);
}

#define PERIOD                                                                                     \
    "\"PeriodStart\":\"2026-10-01T00:00:00Z\",\"PeriodEnd\":\"2026-11-01T00:00:00Z\","             \
    "\"ResetsAt\":\"2026-11-01T00:00:00Z\""

START_TEST(usage_shows_price_allowance_and_an_open_last_tier)
{
    tb_book book = {.has_balancer = true, .balancer_fee = dec("9.50")};
    book.balancer = (tb_tiers){.included = 50000000, .n = 2};
    book.balancer.tier[0] = (tb_tier){.from = 50000000, .to = 100000000, .shown = dec("0.65")};
    book.balancer.tier[1] = (tb_tier){.from = 100000000, .open = true, .shown = dec("0.00000001")};
    assert_usage(&(tb_balancer_usage){7, FIXTURE_MONTH, 1234, &book},
                 "{\"LoadBalancerId\":7," PERIOD ",\"CurrentRequests\":1234,\"IncludedRequests\":"
                 "50000000,\"MonthlyFee\":9.5,\"Tiers\":[{\"ThresholdFromMillions\":50,"
                 "\"ThresholdToMillions\":100,\"PricePerMillion\":0.65},{\"ThresholdFromMillions\":"
                 "100,\"ThresholdToMillions\":null,\"PricePerMillion\":0.00000001}]}");
}
END_TEST

START_TEST(usage_without_a_price_has_null_fee_and_no_tiers)
{
    static const char expected[] =
        "{\"LoadBalancerId\":7," PERIOD ",\"CurrentRequests\":9223372036854775808,"
        "\"IncludedRequests\":0,\"MonthlyFee\":null,\"Tiers\":[]}";
    tb_book book = {.has_balancer = false};
    tb_i128 requests = (tb_i128)INT64_MAX + 1;
    assert_usage(&(tb_balancer_usage){7, FIXTURE_MONTH, requests, NULL}, expected);
    assert_usage(&(tb_balancer_usage){7, FIXTURE_MONTH, requests, &book}, expected);
}
END_TEST

START_TEST(billing_has_every_field_in_order)
{
    tb_billing_record records[2] = {{.id = 9,
                                     .at_us = INT64_C(1793491200000000),
                                     .type = TB_RECORD_MONTHLY_USAGE,
                                     .amount = dec("-12.50"),
                                     .payment = "",
                                     .invoice = "2026-000007"},
                                    {.id = 8,
                                     .at_us = INT64_C(1790812803000000),
                                     .type = TB_RECORD_BANK_TRANSFER,
                                     .amount = dec("100"),
                                     .payment = "pay \"1\"",
                                     .invoice = ""}};
    tb_billing b = {.balance = dec("87.50"),
                    .available = dec("80.25"),
                    .this_month = summed("0.00089716735"),
                    .bandwidth = 89716735,
                    .records = records,
                    .n_records = 2,
                    .minimum = dec("1.00"),
                    .optimizer_monthly = dec("9.50"),
                    .tax_percent = dec("22"),
                    .next_tax_percent = dec("22")};
    tb_buf out;
    b.charges[TB_METER_CHARGE_US_TRAFFIC] = summed("0.5");
    b.charges[TB_METER_CHARGE_STORAGE] = summed("0.25");
    b.charges[TB_METER_CHARGE_MC_CPU] = summed("0.02");
    b.units[TB_METER_CHARGE_MC_CPU] = 3600;
    b.unit[TB_METER_CHARGE_MC_CPU] = "second";
    b.discount[TB_REGION_EU] = 5;
    tb_buf_init(&out, 1 << 20, NULL);
    ck_assert_int_eq(tb_billing_encode(&b, &out, NULL), TB_OK);
    char *text = text_of(&out);
    ck_assert_ptr_eq(strstr(text, "{\"Balance\":87.5,\"ThisMonthCharges\":0.00089716735,"), text);
    ck_assert_ptr_nonnull(strstr(
        text, "\"BillingRecords\":[{\"Id\":9,\"PaymentId\":null,\"Amount\":-12.5,\"Payer\":null,"
              "\"Timestamp\":\"2026-11-01T00:00:00\",\"Type\":3,\"InvoiceAvailable\":true,"
              "\"DocumentDownloadUrl\":\"/billing/invoices/2026-000007\","
              "\"DetailedDocumentDownloadUrl\":null},{\"Id\":8,\"PaymentId\":\"pay \\\"1\\\"\","));
    ck_assert_ptr_nonnull(strstr(text, "\"AvailableBalance\":80.25,"));
    ck_assert_ptr_nonnull(strstr(text, "\"MonthlyChargesUSTraffic\":0.5,"));
    ck_assert_ptr_nonnull(strstr(text, "\"MonthlyChargesStorage\":0.25,\"MonthlyChargesDNS\":0.0,"));
    ck_assert_ptr_nonnull(strstr(text, "\"MonthlyMcCpu\":{\"Usage\":0.02,\"TotalUnits\":3600.0,"
                                       "\"MeasuringUnit\":\"second\"},\"MonthlyMcMemory\":null,"));
    ck_assert_ptr_nonnull(strstr(text, "\"MonthlyBandwidthUsed\":89716735,"));
    ck_assert_ptr_nonnull(strstr(text, "\"EUUSDiscount\":5,"));
    ck_assert_ptr_nonnull(strstr(text, "\"SavedPaymentMethods\":[],"));
    size_t fields = 0;
    for (const char *at = text; (at = strstr(at, "\":")); at++)
        fields++;
    ck_assert_uint_eq(fields, 73 + 2 * 9 + 3);
    free(text);
}
END_TEST

START_TEST(a_charge_names_a_field_of_billing)
{
    ck_assert_int_eq(tb_meter_charge_of("Storage"), TB_METER_CHARGE_STORAGE);
    ck_assert_int_eq(tb_meter_charge_of("ScriptingRequests"), TB_METER_CHARGE_SCRIPTING_REQUESTS);
    ck_assert_int_eq(tb_meter_charge_of("McIp"), TB_METER_CHARGE_MC_IP);
    ck_assert_int_eq(tb_meter_charge_of("DB"), TB_METER_CHARGE_DB);
    ck_assert_int_eq(tb_meter_charge_of("DBReplica"), TB_METER_CHARGE_DB_REPLICA);
    ck_assert_int_eq(tb_meter_charge_of(""), TB_METER_CHARGE_COUNT);
    ck_assert_int_eq(tb_meter_charge_of("Taxes"), TB_METER_CHARGE_COUNT);
    ck_assert_int_eq(tb_meter_charge_of("MonthlyChargesStorage"), TB_METER_CHARGE_STORAGE);
    ck_assert_int_eq(tb_meter_charge_of("MonthlyChargesTaxes"), TB_METER_CHARGE_COUNT);
    ck_assert_int_eq(tb_meter_charge_of("Mccpu"), TB_METER_CHARGE_COUNT);
}
END_TEST

START_TEST(summary_lists_zones)
{
    tb_zone_month zones[2] = {{101, summed("0.00089716735"), 89716735, true},
                              {102, summed("0"), 0, false}};
    tb_buf out;
    tb_buf_init(&out, 1 << 20, NULL);
    ck_assert_int_eq(tb_billing_summary_encode(zones, 2, &out, NULL), TB_OK);
    char *text = text_of(&out);
    ck_assert_str_eq(text,
                     "[{\"PullZoneId\":101,\"MonthlyUsage\":0.00089716735,"
                     "\"MonthlyBandwidthUsed\":89716735},{\"PullZoneId\":102,"
                     "\"MonthlyUsage\":0.0,\"MonthlyBandwidthUsed\":0}]");
    free(text);
}
END_TEST

START_TEST(a_zone_is_enabled_below_its_limit_and_while_its_account_has_funds)
{
    ck_assert_int_eq(tb_zone_state_of(true, 0, 1000, TB_ZONE_ON), TB_ZONE_ON);
    ck_assert_int_eq(tb_zone_state_of(false, 0, 0, TB_ZONE_ON), TB_ZONE_SET_OFF);
    ck_assert_int_eq(tb_zone_state_of(true, 1000, 999, TB_ZONE_ON), TB_ZONE_ON);
    ck_assert_int_eq(tb_zone_state_of(true, 1000, 1000, TB_ZONE_ON), TB_ZONE_AT_LIMIT);
    ck_assert_int_eq(tb_zone_state_of(true, 1000, 1001, TB_ZONE_UNFUNDED), TB_ZONE_AT_LIMIT);
    ck_assert_int_eq(tb_zone_state_of(true, 1000, 999, TB_ZONE_UNFUNDED), TB_ZONE_UNFUNDED);
    ck_assert_int_eq(tb_zone_state_of(true, 0, 999, TB_ZONE_CAPPED), TB_ZONE_CAPPED);
    ck_assert_int_eq(tb_zone_state_of(false, 0, 0, TB_ZONE_CAPPED), TB_ZONE_SET_OFF);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("invoice_usage");
    TCase *test = tcase_create("invoice_usage");
    tcase_add_test(test, usage_shows_price_allowance_and_an_open_last_tier);
    tcase_add_test(test, usage_without_a_price_has_null_fee_and_no_tiers);
    tcase_add_test(test, billing_has_every_field_in_order);
    tcase_add_test(test, a_charge_names_a_field_of_billing);
    tcase_add_test(test, summary_lists_zones);
    tcase_add_test(test, a_zone_is_enabled_below_its_limit_and_while_its_account_has_funds);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
