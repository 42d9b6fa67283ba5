/* Meters in the input of a bill: quantities by part of the month, as known at a version. */
#include "base/hash.h"
#include "meter_fixture.h"

#define STORAGE "\"name\":\"Storage\",\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"zone\",\"dimensions\":[\"region\"]"
#define OCT us_at(10, 1, 0)
#define NOV us_at(11, 1, 0)
#define MONTH_S (31 * 86400)

static void begin(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}", NOW_US, NULL);
    add_meter(f, 1, "storage", STORAGE);
    add_meter(f, 2, "ram", "\"name\":\"Memory\",\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"pod\",\"round_up\":\"64\"");
    add_series(f, 11, 1, 1, "z1", "DE");
    add_series(f, 12, 1, 1, "z1", "US");
    add_series(f, 13, 2, 1, "pod-1", "");
    add_series(f, 14, 1, 2, "z2", "DE");
}

static void check_usage(const source *in, size_t i, const char *meter, uint32_t part, const char *resource,
                        const char *dimension, int64_t quantity)
{
    ck_assert_uint_lt(i, in->s.input.n_usage);
    const tb_bill_usage *u = &in->s.input.usage[i];
    ck_assert_str_eq(in->s.input.meters[u->meter].id, meter);
    ck_assert_uint_eq(u->part, part);
    ck_assert_str_eq(u->resource, resource);
    ck_assert_str_eq(u->dimension[0], dimension);
    ck_assert_str_eq(u->dimension[1], "");
    ck_assert_int_eq((int64_t)u->quantity, quantity);
}

START_TEST(a_gauge_holds_from_its_moment_and_from_the_month_before)
{
    fixture f;
    begin(&f);
    add_gauge(&f, 11, us_at(9, 3, 0), 1, 5);
    add_gauge(&f, 11, us_at(9, 20, 0), 2, 7);  /* holds when the month begins */
    add_gauge(&f, 11, us_at(10, 11, 0), 3, 1); /* after ten days */
    add_gauge(&f, 11, us_at(11, 2, 0), 4, 900);
    add_gauge(&f, 12, us_at(10, 31, 23) + 3599 * TB_US_PER_S, 5, 3); /* a second */
    add_gauge(&f, 14, us_at(10, 1, 0), 6, 11);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_meters, 1);
    ck_assert_uint_eq(in.s.input.n_usage, 2);
    check_usage(&in, 0, "storage", 0, "z1", "DE", 10 * 86400 * 7 + 21 * 86400);
    check_usage(&in, 1, "storage", 0, "z1", "US", 3);
    ck_assert_uint_eq(in.s.input.usage[0].evidence.buckets, 2);
    ck_assert_int_eq(in.s.input.usage[0].evidence.from_us, OCT);
    ck_assert_int_eq(in.s.input.usage[0].evidence.to_us, NOV);
    source_release(&in);
    in = input_of(&f, 2, OCTOBER);
    check_usage(&in, 0, "storage", 0, "z2", "DE", INT64_C(11) * MONTH_S);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(values_of_a_gauge_are_rounded_up_before_they_are_summed)
{
    fixture f;
    begin(&f);
    add_gauge(&f, 13, OCT, 1, 65);
    add_gauge(&f, 13, OCT + 10 * TB_US_PER_S, 1, 64);
    add_gauge(&f, 13, OCT + 20 * TB_US_PER_S, 1, 1);
    add_gauge(&f, 13, OCT + 30 * TB_US_PER_S, 1, 0); /* its end */
    source in = input_of(&f, 1, OCTOBER);
    check_usage(&in, 0, "ram", 0, "pod-1", "", 10 * 128 + 10 * 64 + 10 * 64);
    ck_assert_uint_eq(in.s.input.usage[0].evidence.buckets, 3);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

/* Days and unit-seconds, as bill.h says. */
START_TEST(the_evidence_of_a_gauge_is_a_hash_of_days)
{
    fixture f;
    begin(&f);
    add_gauge(&f, 11, us_at(10, 3, 12), 1, 2);
    add_gauge(&f, 11, us_at(10, 4, 6), 1, 0);
    source in = input_of(&f, 1, OCTOBER);
    uint8_t bytes[48] = {0};
    const int64_t days[2] = {at(10, 3, 0) / 24, at(10, 4, 0) / 24}, sums[2] = {86400, 43200};
    for (int i = 0; i < 2; i++) {
        memcpy(bytes + 24 * i, &days[i], 8);
        memcpy(bytes + 24 * i + 8, &sums[i], 8);
    }
    XXH128_hash_t hash = XXH3_128bits(bytes, sizeof bytes);
    char hex[33];
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    ck_assert_str_eq(in.s.input.usage[0].evidence.hash, hex);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_book_that_starts_mid_month_cuts_a_gauge_at_its_second)
{
    fixture f;
    begin(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    add_book(&f, "b", "2026-10-20T13:00:00Z");
    add_gauge(&f, 11, us_at(9, 1, 0), 1, 4);
    add_gauge(&f, 11, us_at(10, 25, 0), 1, 6);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_usage, 2);
    const int64_t cut = 19 * 86400 + 13 * 3600, second = 24 * 86400;
    check_usage(&in, 0, "storage", 0, "z1", "DE", 4 * cut);
    check_usage(&in, 1, "storage", 1, "z1", "DE", 4 * (second - cut) + 6 * (MONTH_S - second));
    ck_assert_uint_eq(in.s.input.usage[0].evidence.buckets, 1);
    ck_assert_uint_eq(in.s.input.usage[1].evidence.buckets, 2);
    ck_assert_int_eq(in.s.input.usage[0].evidence.to_us, us_at(10, 20, 13));
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(of_values_of_one_moment_the_latest_that_counts_holds)
{
    fixture f;
    begin(&f);
    add_gauge(&f, 11, OCT, 1, 1);
    tb_error err = {0};
    uint64_t version = 0;
    add_gauge(&f, 11, OCT, 2, 10);
    ok(tb_store_version(f.store, &version, &err));
    add_gauge(&f, 11, OCT, 3, 100);
    source in = input_of(&f, 1, OCTOBER);
    check_usage(&in, 0, "storage", 0, "z1", "DE", INT64_C(100) * MONTH_S);
    source_release(&in);
    in = input_at(&f, 1, OCTOBER, version, NOW_US);
    check_usage(&in, 0, "storage", 0, "z1", "DE", INT64_C(10) * MONTH_S);
    source_release(&in);
    withdraw_gauges(&f, 3); /* brings the one before back */
    withdraw_gauges(&f, 2);
    in = input_of(&f, 1, OCTOBER);
    check_usage(&in, 0, "storage", 0, "z1", "DE", MONTH_S);
    source_release(&in);
    in = input_at(&f, 1, OCTOBER, version, NOW_US);
    check_usage(&in, 0, "storage", 0, "z1", "DE", INT64_C(10) * MONTH_S);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_gauge_of_the_running_month_holds_until_now)
{
    fixture f;
    begin(&f);
    add_gauge(&f, 11, us_at(9, 1, 0), 1, 2);
    source in = input_at(&f, 1, NOVEMBER, TB_NOW, NOV + 90 * TB_US_PER_S);
    check_usage(&in, 0, "storage", 0, "z1", "DE", 180);
    ck_assert_int_eq(in.s.input.usage[0].evidence.to_us, NOV + 90 * TB_US_PER_S);
    source_release(&in);
    tb_error err = {0};
    tb_bill_source until;
    ok(tb_store_bill_input_until(f.store, &(tb_bill_query){1, OCTOBER, TB_NOW, NULL, 0, NOW_US}, us_at(10, 2, 0), &until, &err));
    ck_assert_int_eq((int64_t)until.input.usage[0].quantity, 2 * 86400);
    tb_bill_source_release(&until);
    fixture_release(&f);
}
END_TEST

/* --- windows --- */

static tb_meter_window *windows_of(fixture *f, tb_meter_query q, size_t *ret_n)
{
    tb_error err = {0};
    static const char declared[] = "{\"meter\":\"storage\"," STORAGE "}";
    tb_meter meter;
    tb_meter_window *windows;
    ok(tb_meter_parse(declared, sizeof declared - 1, &meter, &err));
    meter.number = 1;
    q.meter = &meter;
    if (!q.resource) q.resource = "";
    if (!q.now_us) q.now_us = NOW_US;
    ok(tb_store_meter_windows(f->store, &q, &windows, ret_n, &err));
    return windows;
}

START_TEST(windows_of_a_gauge_hold_its_unit_seconds)
{
    fixture f;
    size_t n;
    begin(&f);
    add_gauge(&f, 11, us_at(9, 1, 0), 1, 2);
    add_gauge(&f, 11, us_at(10, 1, 1) + 1800 * TB_US_PER_S, 1, 0);
    add_gauge(&f, 12, us_at(10, 1, 1), 1, 10);
    add_gauge(&f, 14, us_at(10, 2, 0), 1, 5);
    tb_meter_window *w = windows_of(&f, (tb_meter_query){.account = 1, .from_us = OCT, .to_us = us_at(10, 1, 3)}, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq((int64_t)w[0].value, 7200);
    ck_assert_int_eq((int64_t)w[1].value, 3600 + 36000);
    ck_assert_int_eq((int64_t)w[2].value, 36000);
    ck_assert_int_eq(w[2].start_us, us_at(10, 1, 2));
    free(w);
    w = windows_of(&f, (tb_meter_query){.from_us = OCT, .to_us = us_at(10, 3, 0), .window = TB_WINDOW_DAY, .by_resource = true,
                                        .by_dimension = {true}}, &n);
    ck_assert_uint_eq(n, 4); /* z1 DE, z1 US twice, z2 */
    ck_assert_str_eq(w[0].resource, "z1");
    ck_assert_str_eq(w[0].dimension[0], "DE");
    ck_assert_int_eq((int64_t)w[0].value, 2 * 5400);
    ck_assert_str_eq(w[1].dimension[0], "US");
    ck_assert_int_eq((int64_t)w[2].value, 864000);
    ck_assert_str_eq(w[3].resource, "z2");
    ck_assert_int_eq((int64_t)w[3].value, 5 * 86400);
    free(w);
    w = windows_of(&f, (tb_meter_query){.resource = "z2", .from_us = OCT, .to_us = us_at(12, 1, 0), .window = TB_WINDOW_MONTH}, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq((int64_t)w[0].value, 5 * 30 * 86400);
    ck_assert_int_eq((int64_t)w[1].value, 5 * (NOW_US - NOV) / TB_US_PER_S); /* until now */
    ck_assert_int_eq(w[1].end_us, us_at(12, 1, 0));
    free(w);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meter_input");
    TCase *t = tcase_create("meter_input");
    tcase_add_test(t, a_gauge_holds_from_its_moment_and_from_the_month_before);
    tcase_add_test(t, values_of_a_gauge_are_rounded_up_before_they_are_summed);
    tcase_add_test(t, the_evidence_of_a_gauge_is_a_hash_of_days);
    tcase_add_test(t, a_book_that_starts_mid_month_cuts_a_gauge_at_its_second);
    tcase_add_test(t, of_values_of_one_moment_the_latest_that_counts_holds);
    tcase_add_test(t, a_gauge_of_the_running_month_holds_until_now);
    tcase_add_test(t, windows_of_a_gauge_hold_its_unit_seconds);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
