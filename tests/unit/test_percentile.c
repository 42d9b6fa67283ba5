/* percentile.h: 95/5, exact selection, commits. */
#include "tollbook/forecast.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "unit/decimals.h"

static uint64_t bytes[TB_PERCENTILE_BUCKETS_MAX], requests[TB_PERCENTILE_BUCKETS_MAX];

/* n buckets of 1..n Mbit/s, an hour each, in an order of no meaning. */
static tb_percentile_ask rising(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = (uint64_t)((i * 11 + 3) % n + 1) * 450000000;
        requests[i] = 1;
    }
    return (tb_percentile_ask){.bytes = bytes,
                               .requests = requests,
                               .buckets = n,
                               .over = n,
                               .seconds = 3600,
                               .percentile = tb_decimal_from_int(95)};
}

static tb_percentile find(const tb_percentile_ask *ask)
{
    tb_percentile found;
    tb_error err = {0};
    ck_assert_msg(tb_percentile_find(ask, NULL, &found, &err) == TB_OK, "%s", err.message);
    return found;
}

static void refused(const tb_percentile_ask *ask, const char *field)
{
    tb_percentile found;
    tb_error err = {0};
    ck_assert_int_eq(tb_percentile_find(ask, NULL, &found, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, field);
}

START_TEST(floor_of_five_percent_is_discarded)
{
    static const struct {
        uint32_t n, discarded;
        const char *mbit;
    } rows[] = {{1, 0, "1"},      {19, 0, "19"},    {20, 1, "19"},    {21, 1, "20"},
                {672, 33, "639"}, {720, 36, "684"}, {743, 37, "706"}, {8928, 446, "8482"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tb_percentile_ask ask = rising(rows[i].n);
        tb_percentile found = find(&ask);
        ck_assert_uint_eq(found.so_far.discarded, rows[i].discarded);
        is(found.so_far.mbit, rows[i].mbit);
        ck_assert_uint_eq(bytes[found.so_far.at], found.so_far.bytes);
        ck_assert_uint_eq(found.peak.bytes, (uint64_t)rows[i].n * 450000000);
    }
}
END_TEST

START_TEST(other_percentiles_are_exact_too)
{
    tb_percentile_ask ask = rising(1000);
    ask.percentile = dec("99.9");
    is(find(&ask).so_far.mbit, "999");
    ask.percentile = dec("99.901");
    is(find(&ask).so_far.mbit, "1000");
    ask.percentile = dec("100");
    is(find(&ask).so_far.mbit, "1000");
    ask.percentile = dec("0.001");
    is(find(&ask).so_far.mbit, "1");
    ask.percentile = dec("0");
    refused(&ask, "percentile");
    ask.percentile = dec("100.001");
    refused(&ask, "percentile");
    ask.percentile = dec("99.9999");
    refused(&ask, "percentile");
}
END_TEST

START_TEST(rates_are_rounded_once_at_six_digits)
{
    tb_percentile_ask ask = rising(1);
    bytes[0] = 225; /* 0.5 bit/s */
    is(find(&ask).so_far.mbit, "0.000001");
    bytes[0] = 224;
    is(find(&ask).so_far.mbit, "0");
    bytes[0] = UINT64_MAX; /* 8 x 18446744073709551615 / 3600 / 10^6 = ...40.1465... */
    is(find(&ask).so_far.mbit, "40992764608.243448");
    ask.seconds = 300;
    bytes[0] = 37500000;
    is(find(&ask).so_far.mbit, "1");
}
END_TEST

START_TEST(missing_buckets_count_as_zero_and_are_reported)
{
    tb_percentile_ask ask = rising(20);
    for (int i = 0; i < 19; i++)
        bytes[i] = requests[i] = 0;
    bytes[19] = 9;
    requests[3] = 1; /* asked for, and nothing sent: not missing */
    tb_percentile found = find(&ask);
    ck_assert_uint_eq(found.missing, 18);
    ck_assert_uint_eq(found.so_far.bytes, 0);
    ck_assert_uint_eq(found.peak.bytes, 9);
    ck_assert_uint_eq(found.peak.at, 19);
}
END_TEST

START_TEST(a_running_month_has_two_answers)
{
    tb_percentile_ask ask = rising(720);
    for (int i = 0; i < 720; i++)
        bytes[i] = i < 40 ? (uint64_t)(i + 1) * 450000000 : 0;
    ask.over = 40;
    tb_percentile found = find(&ask);
    is(found.so_far.mbit, "38"); /* 2 of 40 */
    is(found.least.mbit, "4");   /* 36 of 720 */
    ck_assert_uint_eq(found.missing, 0);
    ask.over = 0;
    found = find(&ask);
    ck_assert_uint_eq(found.so_far.bytes, 0);
    ck_assert_uint_eq(found.so_far.buckets, 0);
    ask.over = 721;
    refused(&ask, "over");
}
END_TEST

START_TEST(distance_to_a_commit_is_of_the_whole_month)
{
    tb_percentile_ask ask = rising(720);
    ask.has_commit = true;
    ask.commit = dec("684"); /* 36 above: the 37th largest is at it */
    tb_percentile found = find(&ask);
    ck_assert_uint_eq(found.above, 36);
    ck_assert_uint_eq(found.more, 0);
    ck_assert(!found.passed);
    ask.commit = dec("700");
    found = find(&ask);
    ck_assert_uint_eq(found.more, 16);
    ask.commit = dec("683.999999");
    found = find(&ask);
    ck_assert(found.passed);
    ck_assert_uint_eq(found.more, 0);
    ask.commit = dec("-1");
    refused(&ask, "commit");
}
END_TEST

START_TEST(above_is_compared_before_rounding)
{
    tb_percentile_ask ask = rising(1);
    ask.has_commit = true;
    ask.commit = dec("1");
    bytes[0] = 450000001; /* shown as 1 */
    tb_percentile found = find(&ask);
    is(found.so_far.mbit, "1");
    ck_assert_uint_eq(found.above, 1);
    bytes[0] = 450000000;
    ck_assert_uint_eq(find(&ask).above, 0);
}
END_TEST

START_TEST(no_buckets_or_too_many_are_refused)
{
    tb_percentile_ask ask = rising(1);
    ask.buckets = ask.over = 0;
    refused(&ask, "buckets");
    ask.buckets = TB_PERCENTILE_BUCKETS_MAX + 1;
    refused(&ask, "buckets");
}
END_TEST

START_TEST(forms_say_the_width_and_what_is_missing)
{
    tb_buf out;
    tb_percentile_ask ask = rising(744);
    tb_percentile_of of = {
        .resource = "zone:101", .month = "2026-10", .from_us = INT64_C(1790812800) * TB_US_PER_S};
    ask.has_commit = true;
    ask.commit = dec("707");
    tb_percentile found = find(&ask);
    tb_buf_init(&out, 1 << 16, NULL);
    tb_percentile_json(&of, &ask, &found, &out);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(
        out.data,
        "{\"billed\":{\"at\":\"2026-10-26T05:00:00Z\",\"buckets\":744,\"bytes\":\"318150000000\","
        "\"discarded\":37,\"mbit_per_second\":\"707\"},\"bucket_seconds\":3600,\"buckets\":744,"
        "\"commit\":{\"above\":37,\"headroom\":\"0\",\"mbit_per_second\":\"707\",\"more\":0,"
        "\"passed\":false},\"least\":{\"at\":\"2026-10-26T05:00:00Z\",\"buckets\":744,"
        "\"bytes\":\"318150000000\",\"discarded\":37,\"mbit_per_second\":\"707\"},\"missing\":0,"
        "\"month\":\"2026-10\",\"over\":744,\"peak\":{\"at\":\"2026-10-29T04:00:00Z\","
        "\"buckets\":744,\"bytes\":\"334800000000\",\"discarded\":0,\"mbit_per_second\":\"744\"},"
        "\"percentile\":\"95\",\"resource\":\"zone:101\",\"running\":false}\n");
    tb_buf_release(&out);
    tb_buf_init(&out, 1 << 16, NULL);
    tb_percentile_table(&of, &ask, &found, &out);
    tb_buf_add(&out, "", 1);
    ck_assert_ptr_nonnull(strstr(out.data, "buckets of 3600 seconds"));
    ck_assert_ptr_nonnull(strstr(out.data, "0 hold nothing and count as zero"));
    ck_assert_ptr_nonnull(strstr(out.data, "the percentile is within it"));
    tb_buf_release(&out);
}
END_TEST

static void *nothing(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx, (void)old, (void)size;
    free(ptr);
    return NULL;
}

START_TEST(lack_of_memory_is_said)
{
    tb_alloc none = {nothing, NULL};
    tb_percentile found;
    tb_percentile_ask ask = rising(3);
    ck_assert_int_eq(tb_percentile_find(&ask, &none, &found, NULL), TB_E_NOMEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("percentile");
    TCase *t = tcase_create("percentile");
    tcase_add_test(t, floor_of_five_percent_is_discarded);
    tcase_add_test(t, other_percentiles_are_exact_too);
    tcase_add_test(t, rates_are_rounded_once_at_six_digits);
    tcase_add_test(t, missing_buckets_count_as_zero_and_are_reported);
    tcase_add_test(t, a_running_month_has_two_answers);
    tcase_add_test(t, distance_to_a_commit_is_of_the_whole_month);
    tcase_add_test(t, above_is_compared_before_rounding);
    tcase_add_test(t, no_buckets_or_too_many_are_refused);
    tcase_add_test(t, forms_say_the_width_and_what_is_missing);
    tcase_add_test(t, lack_of_memory_is_said);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
