/* answer.h: the JSON of the four statistics endpoints, bytes compared (contract 1.2, 1.3, 2). */
#include "tollbook/answer.h"

#include "stats/ratio.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DAY_2026_06_10 INT64_C(20614)

static tb_series make(tb_answer_kind kind, int64_t first, uint32_t count, bool hourly)
{
    tb_series series;
    ck_assert_int_eq(tb_series_init(&series, (tb_range){first, count, hourly},
                                    tb_answer_metrics(kind), NULL, NULL),
                     TB_OK);
    return series;
}

/* The answer's text, terminated; the caller frees it. */
static char *encode(const tb_answer *answer)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, (size_t)64 << 20, NULL);
    ck_assert_msg(tb_answer_encode(answer, &out, &err) == TB_OK, "%s", err.message);
    char *text = malloc(out.len + 1);
    memcpy(text, out.data, out.len);
    text[out.len] = 0;
    tb_buf_release(&out);
    return text;
}

static void assert_answer(tb_answer_kind kind, const tb_series *series, const char *expected)
{
    char *text = encode(&(tb_answer){.kind = kind, .series = series});
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(statistics_of_an_empty_day_has_every_field_in_order)
{
    tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10, 1, false);
    assert_answer(TB_ANSWER_STATISTICS, &s,
                  "{\"TotalBandwidthUsed\":0,\"TotalOriginTraffic\":0,"
                  "\"AverageOriginResponseTime\":0,"
                  "\"OriginResponseTimeChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"TotalRequestsServed\":0,\"CacheHitRate\":0,"
                  "\"BandwidthUsedChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"BandwidthCachedChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"CacheHitRateChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"RequestsServedChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"PullRequestsPulledChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"OriginShieldBandwidthUsedChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"OriginShieldInternalBandwidthUsedChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"OriginTrafficChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"UserBalanceHistoryChart\":{},\"GeoTrafficDistribution\":{},"
                  "\"Error3xxChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"Error4xxChart\":{\"2026-06-10T00:00:00Z\":0},"
                  "\"Error5xxChart\":{\"2026-06-10T00:00:00Z\":0}}");
    tb_series_release(&s);
}
END_TEST

static void set(tb_series *s, tb_metric metric, uint64_t first, uint64_t second)
{
    s->value[metric][0] = first;
    s->value[metric][1] = second;
}

START_TEST(statistics_shows_each_counter_where_it_belongs)
{
    tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10 * 24 + 23, 2, true);
    set(&s, TB_M_REQUESTS, 2983, 0);
    set(&s, TB_M_PULLED, 166, 0);
    set(&s, TB_M_BYTES, 1000, UINT64_C(9223372036854775807));
    set(&s, TB_M_CACHED_BYTES, 3, 4);
    set(&s, TB_M_STATUS_3XX, 5, 6);
    set(&s, TB_M_STATUS_4XX, 7, 8);
    set(&s, TB_M_STATUS_5XX, 9, 10);
    set(&s, TB_M_ORIGIN_BYTES, 11, 12);
    set(&s, TB_M_ORIGIN_TIME_MS_SUM, 25, 0);
    set(&s, TB_M_ORIGIN_TIME_COUNT, 10, 0);
    set(&s, TB_M_SHIELD_BYTES, 13, 14);
    set(&s, TB_M_SHIELD_INTERNAL_BYTES, 15, 16);
    assert_answer(
        TB_ANSWER_STATISTICS, &s,
        "{\"TotalBandwidthUsed\":9223372036854776807,\"TotalOriginTraffic\":23,"
        "\"AverageOriginResponseTime\":3,"
        "\"OriginResponseTimeChart\":{\"2026-06-10T23:00:00Z\":2.5,\"2026-06-11T00:00:00Z\":0},"
        "\"TotalRequestsServed\":2983,\"CacheHitRate\":94.43513241702983,"
        "\"BandwidthUsedChart\":{\"2026-06-10T23:00:00Z\":1000,"
        "\"2026-06-11T00:00:00Z\":9223372036854775807},"
        "\"BandwidthCachedChart\":{\"2026-06-10T23:00:00Z\":3,\"2026-06-11T00:00:00Z\":4},"
        "\"CacheHitRateChart\":{\"2026-06-10T23:00:00Z\":94.43513241702983,"
        "\"2026-06-11T00:00:00Z\":0},"
        "\"RequestsServedChart\":{\"2026-06-10T23:00:00Z\":2983,\"2026-06-11T00:00:00Z\":0},"
        "\"PullRequestsPulledChart\":{\"2026-06-10T23:00:00Z\":166,\"2026-06-11T00:00:00Z\":0},"
        "\"OriginShieldBandwidthUsedChart\":{\"2026-06-10T23:00:00Z\":13,"
        "\"2026-06-11T00:00:00Z\":14},"
        "\"OriginShieldInternalBandwidthUsedChart\":{\"2026-06-10T23:00:00Z\":15,"
        "\"2026-06-11T00:00:00Z\":16},"
        "\"OriginTrafficChart\":{\"2026-06-10T23:00:00Z\":11,\"2026-06-11T00:00:00Z\":12},"
        "\"UserBalanceHistoryChart\":{},\"GeoTrafficDistribution\":{},"
        "\"Error3xxChart\":{\"2026-06-10T23:00:00Z\":5,\"2026-06-11T00:00:00Z\":6},"
        "\"Error4xxChart\":{\"2026-06-10T23:00:00Z\":7,\"2026-06-11T00:00:00Z\":8},"
        "\"Error5xxChart\":{\"2026-06-10T23:00:00Z\":9,\"2026-06-11T00:00:00Z\":10}}");
    tb_series_release(&s);
}
END_TEST

START_TEST(optimizer_charts_are_whole_numbers_and_its_averages_exact)
{
    tb_series s = make(TB_ANSWER_OPTIMIZER, DAY_2026_06_10, 2, false);
    set(&s, TB_M_OPTIMIZED, 4, 0);
    set(&s, TB_M_SAVED_BYTES, 125, 0); /* 12.5 % rounds up */
    set(&s, TB_M_INPUT_BYTES, 1000, 0);
    set(&s, TB_M_TIME_MS_SUM, 9, 0); /* 2.25 ms */
    assert_answer(
        TB_ANSWER_OPTIMIZER, &s,
        "{\"RequestsOptimizedChart\":{\"2026-06-10T00:00:00Z\":4,\"2026-06-11T00:00:00Z\":0},"
        "\"AverageCompressionChart\":{\"2026-06-10T00:00:00Z\":13,\"2026-06-11T00:00:00Z\":0},"
        "\"TrafficSavedChart\":{\"2026-06-10T00:00:00Z\":125,\"2026-06-11T00:00:00Z\":0},"
        "\"AverageProcessingTimeChart\":{\"2026-06-10T00:00:00Z\":2,\"2026-06-11T00:00:00Z\":0},"
        "\"TotalRequestsOptimized\":4.0,\"TotalTrafficSaved\":125.0,\"AverageProcessingTime\":2.25,"
        "\"AverageCompressionRatio\":12.5}");
    tb_series_release(&s);
}
END_TEST

START_TEST(queue_shows_maxima)
{
    tb_series s = make(TB_ANSWER_QUEUE, DAY_2026_06_10, 2, false);
    set(&s, TB_M_CONCURRENT_MAX, 7, 8);
    set(&s, TB_M_QUEUED_MAX, 9, 1);
    assert_answer(
        TB_ANSWER_QUEUE, &s,
        "{\"ConcurrentRequestsChart\":{\"2026-06-10T00:00:00Z\":7,\"2026-06-11T00:00:00Z\":8},"
        "\"QueuedRequestsChart\":{\"2026-06-10T00:00:00Z\":9,\"2026-06-11T00:00:00Z\":1}}");
    tb_series_release(&s);
}
END_TEST

START_TEST(safehop_shows_counts_and_their_sums)
{
    tb_series s = make(TB_ANSWER_SAFEHOP, DAY_2026_06_10, 2, false);
    set(&s, TB_M_RETRIED, 7, 8);
    set(&s, TB_M_SAVED, 9, 1);
    assert_answer(
        TB_ANSWER_SAFEHOP, &s,
        "{\"RequestsRetriedChart\":{\"2026-06-10T00:00:00Z\":7,\"2026-06-11T00:00:00Z\":8},"
        "\"RequestsSavedChart\":{\"2026-06-10T00:00:00Z\":9,\"2026-06-11T00:00:00Z\":1},"
        "\"TotalRequestsRetried\":15.0,\"TotalRequestsSaved\":10.0}");
    tb_series_release(&s);
}
END_TEST

static char *encode_lists(const tb_geo *geo, size_t n_geo, const tb_balance *balances, size_t n)
{
    tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10, 1, false);
    char *text = encode(&(tb_answer){TB_ANSWER_STATISTICS, &s, geo, n_geo, balances, n});
    tb_series_release(&s);
    return text;
}

START_TEST(geography_leaves_out_regions_without_bytes)
{
    static const tb_geo geo[] = {{"Asia: Tokyo, JP", 0},
                                 {"EU: \"Quoted\", \xFF", 5},
                                 {"NA: Miami, FL", (tb_u128)UINT64_MAX + 1},
                                 {"SA: Lima, PE", 0}};
    char *text = encode_lists(geo, 4, NULL, 0);
    ck_assert_ptr_nonnull(strstr(text, ",\"GeoTrafficDistribution\":{"
                                       "\"EU: \\\"Quoted\\\", \xEF\xBF\xBD\":5,"
                                       "\"NA: Miami, FL\":18446744073709551616},"));
    free(text);
}
END_TEST

/* Contract 1.3: no Z, amounts as given. */
START_TEST(balances_have_keys_without_zone)
{
    static const tb_balance balances[] = {{INT64_C(1781050083000000), "1000"},
                                          {INT64_C(1781136483999999), "-0.50"}};
    char *text = encode_lists(NULL, 0, balances, 2);
    ck_assert_ptr_nonnull(strstr(text, ",\"UserBalanceHistoryChart\":{"
                                       "\"2026-06-10T00:08:03\":1000,"
                                       "\"2026-06-11T00:08:03\":-0.50},"));
    free(text);
}
END_TEST

START_TEST(totals_are_the_sums_of_the_charts)
{
    tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10 * 24, 720, true);
    uint64_t requests = 0;
    for (uint32_t i = 0; i < 720; i++)
        requests += s.value[TB_M_REQUESTS][i] = i * i;
    char *text = encode(&(tb_answer){.kind = TB_ANSWER_STATISTICS, .series = &s});
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    json_t *chart = json_object_get(json, "RequestsServedChart");
    ck_assert_uint_eq(json_object_size(chart), 720);
    json_int_t sum = 0;
    const char *key;
    json_t *value;
    json_object_foreach(chart, key, value) sum += json_integer_value(value);
    ck_assert_int_eq(sum, (json_int_t)requests);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "TotalRequestsServed")), sum);
    json_decref(json);
    free(text);
    tb_series_release(&s);
}
END_TEST

/* Every hour of three days has its own key, also where days and years change. */
START_TEST(hourly_keys_ascend_by_the_hour)
{
    int64_t first = (DAY_2026_06_10 + 204) * 24 + 5; /* 2026-12-31T05 */
    tb_series s = make(TB_ANSWER_QUEUE, first, 50, true);
    char *text = encode(&(tb_answer){.kind = TB_ANSWER_QUEUE, .series = &s});
    const char *p = strchr(text + 1, '{');
    for (int64_t hour = first; hour < first + 50; hour++) {
        char key[20];
        tb_time_format(hour * TB_US_PER_HOUR, key);
        ck_assert_int_eq(p[1], '"');
        ck_assert_int_eq(strncmp(p + 2, key, 20), 0);
        p = strchr(p + 1, hour + 1 < first + 50 ? ',' : '}');
    }
    ck_assert_ptr_nonnull(strstr(text, "\"2026-12-31T23:00:00Z\":0,\"2027-01-01T00:00:00Z\":0"));
    free(text);
    tb_series_release(&s);
}
END_TEST

/* From 1967 on, through months of every length and a leap day: no key is another day's. */
START_TEST(days_have_the_keys_that_their_times_have)
{
    const int64_t first = -1000;
    const uint32_t count = 3000;
    tb_series s = make(TB_ANSWER_QUEUE, first, count, false);
    char *text = encode(&(tb_answer){.kind = TB_ANSWER_QUEUE, .series = &s});
    const char *at = strchr(strchr(text, ':'), '"');
    for (uint32_t i = 0; i < count; i++, at += 25) {
        char key[24] = {0};
        tb_time_format((first + i) * TB_US_PER_DAY, key);
        ck_assert_msg(strncmp(at + 1, key, 20) == 0, "day %u: %.20s in place of %s", i, at + 1, key);
    }
    free(text);
    tb_series_release(&s);
}
END_TEST

START_TEST(hours_before_1970_have_their_keys_too)
{
    tb_series s = make(TB_ANSWER_QUEUE, -2, 3, true);
    char *text = encode(&(tb_answer){.kind = TB_ANSWER_QUEUE, .series = &s});
    ck_assert_ptr_nonnull(strstr(text, "{\"1969-12-31T22:00:00Z\":0,\"1969-12-31T23:00:00Z\":0,"
                                       "\"1970-01-01T00:00:00Z\":0}"));
    free(text);
    tb_series_release(&s);
}
END_TEST

START_TEST(the_mean_origin_time_is_rounded_half_up_and_ends_at_int32)
{
    static const struct {
        uint64_t sum, count;
        const char *text;
    } rows[] = {
        {149, 100, "\"AverageOriginResponseTime\":1,"},
        {150, 100, "\"AverageOriginResponseTime\":2,"},
        {INT32_MAX, 1, "\"AverageOriginResponseTime\":2147483647,"},
        {UINT64_C(2147483648), 1, "\"AverageOriginResponseTime\":2147483647,"},
        {INT64_MAX, 1, "\"AverageOriginResponseTime\":2147483647,"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10, 1, false);
        s.value[TB_M_ORIGIN_TIME_MS_SUM][0] = rows[i].sum;
        s.value[TB_M_ORIGIN_TIME_COUNT][0] = rows[i].count;
        char *text = encode(&(tb_answer){.kind = TB_ANSWER_STATISTICS, .series = &s});
        ck_assert_msg(strstr(text, rows[i].text) != NULL, "row %zu", i);
        free(text);
        tb_series_release(&s);
    }
}
END_TEST

START_TEST(rounding_is_half_up_and_zero_over_zero_is_zero)
{
    ck_assert(tb__percent_rounded(0, 0) == 0);
    ck_assert(tb__percent_rounded(5, 0) == 0);
    ck_assert(tb__percent_rounded(1, 200) == 1);
    ck_assert(tb__percent_rounded(1, 201) == 0);
    ck_assert(tb__percent_rounded(INT64_MAX, INT64_MAX) == 100);
    ck_assert(tb__percent_rounded(INT64_MAX, 1) == 100);
    ck_assert(tb__mean_rounded(1, 2) == 1);
    ck_assert(tb__mean_rounded(1, 3) == 0);
    ck_assert(tb__mean_rounded(2, 3) == 1);
}
END_TEST

START_TEST(hit_rates_are_over_the_requests_whose_cache_status_was_told)
{
    tb_series s = make(TB_ANSWER_STATISTICS, DAY_2026_06_10 * 24, 3, true);
    const uint64_t requests[] = {10, 10, 10}, unknown[] = {6, 10, 11}, pulled[] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        s.value[TB_M_REQUESTS][i] = requests[i];
        s.value[TB_M_CACHE_UNKNOWN][i] = unknown[i];
        s.value[TB_M_PULLED][i] = pulled[i];
    }
    char *text = encode(&(tb_answer){.kind = TB_ANSWER_STATISTICS, .series = &s});
    ck_assert_msg(strstr(text, "\"CacheHitRateChart\":{\"2026-06-10T00:00:00Z\":75,"
                               "\"2026-06-10T01:00:00Z\":0,\"2026-06-10T02:00:00Z\":0}") != NULL,
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"CacheHitRate\":66.6666666666666"));
    free(text);
    tb_series_release(&s);
}
END_TEST

/* The room is reserved once for the worst case: full counters must fit it. */
START_TEST(full_counters_fit_the_room)
{
    for (int kind = 0; kind < TB_ANSWER_KINDS_; kind++) {
        tb_series s = make((tb_answer_kind)kind, DAY_2026_06_10 * 24, 30, true);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            for (int i = 0; s.value[m] && i < 30; i++)
                s.value[m][i] = m == TB_M_INPUT_BYTES || m == TB_M_REQUESTS ? 1 : INT64_MAX;
        char *text = encode(&(tb_answer){.kind = (tb_answer_kind)kind, .series = &s});
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
        ck_assert_msg(json != NULL, "%s", tb_answer_name((tb_answer_kind)kind));
        json_decref(json);
        free(text);
        tb_series_release(&s);
    }
}
END_TEST

START_TEST(columns_that_are_not_there_are_zeros)
{
    tb_series full = make(TB_ANSWER_STATISTICS, DAY_2026_06_10, 3, false);
    tb_series none;
    ck_assert_int_eq(tb_series_init(&none, full.range, 0, NULL, NULL), TB_OK);
    char *expected = encode(&(tb_answer){.kind = TB_ANSWER_STATISTICS, .series = &full});
    assert_answer(TB_ANSWER_STATISTICS, &none, expected);
    free(expected);
    tb_series_release(&none);
    tb_series_release(&full);
}
END_TEST

START_TEST(an_answer_is_appended_and_one_past_the_maximum_is_an_error)
{
    tb_series s = make(TB_ANSWER_QUEUE, DAY_2026_06_10, 1, false);
    tb_answer answer = {.kind = TB_ANSWER_QUEUE, .series = &s};
    tb_buf out;
    tb_buf_init(&out, 1000, NULL);
    tb_buf_str(&out, "x");
    ck_assert_int_eq(tb_answer_encode(&answer, &out, NULL), TB_OK);
    ck_assert_int_eq(strncmp(out.data, "x{\"Concurrent", 13), 0);
    tb_buf_release(&out);

    tb_error err;
    tb_buf_init(&out, 100, NULL);
    ck_assert_int_eq(tb_answer_encode(&answer, &out, &err), TB_E_NOMEM);
    ck_assert_int_eq(err.code, TB_E_NOMEM);
    ck_assert_uint_eq(out.len, 0);
    tb_buf_release(&out);
    tb_series_release(&s);
}
END_TEST

START_TEST(answers_ask_for_the_metrics_they_show)
{
    ck_assert_uint_eq(tb_answer_metrics(TB_ANSWER_QUEUE),
                      TB_METRIC_BIT(TB_M_CONCURRENT_MAX) | TB_METRIC_BIT(TB_M_QUEUED_MAX));
    ck_assert_uint_eq(tb_answer_metrics(TB_ANSWER_SAFEHOP),
                      TB_METRIC_BIT(TB_M_RETRIED) | TB_METRIC_BIT(TB_M_SAVED));
    ck_assert_uint_eq(tb_answer_metrics(TB_ANSWER_OPTIMIZER),
                      TB_METRIC_BIT(TB_M_OPTIMIZED) | TB_METRIC_BIT(TB_M_SAVED_BYTES) |
                          TB_METRIC_BIT(TB_M_INPUT_BYTES) | TB_METRIC_BIT(TB_M_TIME_MS_SUM));
    uint32_t statistics = tb_answer_metrics(TB_ANSWER_STATISTICS);
    ck_assert_int_eq(__builtin_popcount(statistics), 13);
    ck_assert_uint_eq(statistics & TB_METRIC_BIT(TB_M_BALANCER_REQUESTS), 0);
}
END_TEST

START_TEST(answers_have_names)
{
    ck_assert_str_eq(tb_answer_name(TB_ANSWER_STATISTICS), "statistics");
    ck_assert_str_eq(tb_answer_name(TB_ANSWER_OPTIMIZER), "optimizer");
    ck_assert_str_eq(tb_answer_name(TB_ANSWER_QUEUE), "queue");
    ck_assert_str_eq(tb_answer_name(TB_ANSWER_SAFEHOP), "safehop");
}
END_TEST

static void assert_error(tb_code code, const char *field, const char *message, const char *expected)
{
    tb_error err;
    tb_fail(&err, code, field, message ? "%s" : NULL, message);
    tb_buf out;
    tb_buf_init(&out, 4096, NULL);
    tb_answer_error(&err, &out);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, expected);
    tb_buf_release(&out);
}

START_TEST(errors_are_key_field_message)
{
    assert_error(TB_E_DATE_RANGE, "dateTo", "Date range cannot exceed 40 days.",
                 "{\"ErrorKey\":\"statistics.date_range_invalid\",\"Field\":\"dateTo\","
                 "\"Message\":\"Date range cannot exceed 40 days.\"}");
    assert_error(TB_E_UNAUTHORIZED, NULL, NULL,
                 "{\"ErrorKey\":\"authentication.failed\",\"Field\":null,"
                 "\"Message\":\"The request authorization failed.\"}");
    assert_error(TB_E_VALIDATION, "a\"b", "line\nend",
                 "{\"ErrorKey\":\"validation_error\",\"Field\":\"a\\\"b\","
                 "\"Message\":\"line\\nend\"}");
}
END_TEST

START_TEST(every_error_code_encodes_as_json)
{
    for (int code = 0; code < TB_E_MAX_; code++) {
        tb_error err;
        tb_fail(&err, (tb_code)code, "field", NULL);
        tb_buf out;
        tb_buf_init(&out, 4096, NULL);
        tb_answer_error(&err, &out);
        json_t *json = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(json);
        ck_assert_str_eq(json_string_value(json_object_get(json, "ErrorKey")),
                         tb_code_key((tb_code)code));
        json_decref(json);
        tb_buf_release(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answer");
    TCase *t = tcase_create("answer");
    tcase_add_test(t, statistics_of_an_empty_day_has_every_field_in_order);
    tcase_add_test(t, statistics_shows_each_counter_where_it_belongs);
    tcase_add_test(t, optimizer_charts_are_whole_numbers_and_its_averages_exact);
    tcase_add_test(t, queue_shows_maxima);
    tcase_add_test(t, safehop_shows_counts_and_their_sums);
    tcase_add_test(t, geography_leaves_out_regions_without_bytes);
    tcase_add_test(t, balances_have_keys_without_zone);
    tcase_add_test(t, totals_are_the_sums_of_the_charts);
    tcase_add_test(t, hourly_keys_ascend_by_the_hour);
    tcase_add_test(t, days_have_the_keys_that_their_times_have);
    tcase_add_test(t, hours_before_1970_have_their_keys_too);
    tcase_add_test(t, the_mean_origin_time_is_rounded_half_up_and_ends_at_int32);
    tcase_add_test(t, rounding_is_half_up_and_zero_over_zero_is_zero);
    tcase_add_test(t, full_counters_fit_the_room);
    tcase_add_test(t, hit_rates_are_over_the_requests_whose_cache_status_was_told);
    tcase_add_test(t, columns_that_are_not_there_are_zeros);
    tcase_add_test(t, an_answer_is_appended_and_one_past_the_maximum_is_an_error);
    tcase_add_test(t, answers_ask_for_the_metrics_they_show);
    tcase_add_test(t, answers_have_names);
    tcase_add_test(t, errors_are_key_field_message);
    tcase_add_test(t, every_error_code_encodes_as_json);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
