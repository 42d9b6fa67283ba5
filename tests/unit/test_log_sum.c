/* Sums of request logs: the tally of values against plain counts, exact and past its bounds, and what a summary says. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tally.h"
#include "tollbook/calendar.h"
#include "tollbook/requestlog.h"

#define NOON INT64_C(1793707200000) /* 2026-11-03T12:00:00Z */

/* --- the tally --- */

#define VALUES 500

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)((z ^ z >> 27) >> 33) % n;
}

static tb_text name_of(uint32_t value, char text[32])
{
    return (tb_text){text, (size_t)snprintf(text, 32, "value-%0*u", (int)(value % 7), value)};
}

static void add(tb__tally *tally, tb_text value, uint64_t count)
{
    tb_error err;
    ck_assert_int_eq(tb__tally_add(tally, value, count, 3 * count, &err), TB_OK);
}

/* The count that the tally kept of a value; 0: it is not kept. */
static uint64_t kept(const tb__tally *tally, tb_text value)
{
    for (size_t i = 0; i < tally->n_slots; i++) {
        const tb__tally_entry *e = &tally->slot[i];
        const tb_text text = tb__tally_text(tally, e);
        if (e->count && text.len == value.len && (!value.len || memcmp(text.data, value.data, value.len) == 0)) return e->count;
    }
    return 0;
}

START_TEST(counts_are_exact_within_the_bounds_and_said_to_be_short_past_them)
{
    static const struct {
        size_t values, bytes;
        bool exact;
    } bounds[] = {{TB__TALLY_VALUES, TB__TALLY_BYTES, true}, {VALUES, TB__TALLY_BYTES, true}, {VALUES - 1, TB__TALLY_BYTES, false},
                  {1, TB__TALLY_BYTES, false}, {64, TB__TALLY_BYTES, false}, {TB__TALLY_VALUES, 200, false}, {TB__TALLY_VALUES, 31, false}};
    char text[32];
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint64_t counts[VALUES] = {0}, sum = 0;
        tb__tally tally;
        state = b;
        tb__tally_init(&tally);
        tally.max_values = bounds[b].values;
        tally.max_bytes = bounds[b].bytes;
        for (uint32_t i = 0; i < 20000; i++) {
            const uint32_t value = i < VALUES ? i : below(1 + below(VALUES)), count = 1 + below(3);
            counts[value] += count;
            sum += count;
            add(&tally, name_of(value, text), count);
            ck_assert_uint_le(tally.n, tally.max_values);
            ck_assert_uint_le(tally.len, tally.max_bytes);
        }
        ck_assert(bounds[b].exact == (tally.missed == 0));
        for (uint32_t v = 0; v < VALUES; v++) {
            const uint64_t count = kept(&tally, name_of(v, text));
            ck_assert_uint_le(count, counts[v]);
            ck_assert_uint_le(counts[v], count + tally.missed);
        }
        /* What is subtracted is spread over half of the values: the more of them, the less is missed. */
        if (bounds[b].values == 64) ck_assert_uint_le(tally.missed, sum / 16);
        tb__tally_release(&tally);
    }
}
END_TEST

START_TEST(the_most_frequent_come_first_and_equal_ones_by_their_text)
{
    const tb__tally_entry *top[4];
    tb__tally tally;
    tb__tally_init(&tally);
    ck_assert_uint_eq(tb__tally_top(&tally, 4, top), 0);
    static const struct {
        const char *text;
        uint64_t count;
    } rows[] = {{"b", 2}, {"", 2}, {"c", 9}, {"ba", 2}, {"a", 1}, {"b", 1}, {"a", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&tally, (tb_text){rows[i].text, strlen(rows[i].text)}, rows[i].count);
    static const char *const wanted[] = {"c", "b", "", "a"};
    ck_assert_uint_eq(tb__tally_top(&tally, 4, top), 4);
    for (size_t i = 0; i < 4; i++) {
        const tb_text text = tb__tally_text(&tally, top[i]);
        ck_assert_uint_eq(text.len, strlen(wanted[i]));
        ck_assert_mem_eq(text.data, wanted[i], text.len);
    }
    ck_assert_uint_eq(top[1]->count, 3);
    ck_assert_uint_eq(top[1]->bytes, 9);
    ck_assert_uint_eq(tb__tally_top(&tally, 1, top), 1);
    ck_assert_uint_eq(tb__tally_top(&tally, 0, top), 0);
    tb__tally_release(&tally);
}
END_TEST

/* --- the summary --- */

static const char *const lines[] = {
    "HIT|200|1793707200000|10|101|-|-|https://a.example/x?q=1|DE|curl/8|-|de",
    "MISS|404|1793707201999|20|101|-|-|https://a.example/x?q=2|NY|curl/8|-|DE",
    "-|503|1793707202000|30|101|-|-|https://b.example/y|DE|-|-|-",
    "REVALIDATED|100|1793707319999|40|101|-|-|/z|DE|-|-|US",
};

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    static const tb_log_layout layout = {.now_ms = NOON + 86400000};
    static char copy[4][256 + TB_INTAKE_SLACK]; /* the packer holds the texts of all lines */
    (void)ctx;
    memcpy(copy[i], lines[i], strlen(lines[i]));
    tb_logline_read(&layout, copy[i], strlen(lines[i]), ret);
}

static tb_logblock *block_of(tb_buf *bytes)
{
    static const int64_t times[] = {NOON, NOON + 1999, NOON + 2000, NOON + 119999};
    tb_loginfo info;
    tb_error err;
    tb_logpack *pack = tb_logpack_new();
    tb_logblock *block = tb_logblock_new();
    tb_buf_init(bytes, TB_LOGBLOCK_MAX, NULL);
    ck_assert_int_eq(tb_logpack_block(pack, &(tb_loglines){101, times, 4, line_of, NULL}, bytes, &info, &err), TB_OK);
    ck_assert_int_eq(tb_logblock_open(block, bytes->data, bytes->len, 101, &err), TB_OK);
    tb_logpack_free(pack);
    return block;
}

static void check_sum(tb_logblock *block, const tb_logsum_ask *ask, size_t n, const char *wanted)
{
    static const uint16_t rows[] = {0, 1, 2, 3};
    tb_buf out;
    tb_error err;
    tb_logsum *sum = tb_logsum_new(ask);
    tb_buf_init(&out, (size_t)1 << 20, NULL);
    ck_assert_int_eq(tb_logsum_add(sum, block, rows, n, &err), TB_OK);
    tb_logsum_json(sum, &out);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, wanted);
    tb_buf_release(&out);
    tb_logsum_free(sum);
}

START_TEST(a_summary_has_totals_points_and_the_values_that_were_asked_for)
{
    tb_buf bytes;
    tb_logblock *block = block_of(&bytes);
    const tb_logsum_ask some = {NOON, NOON + 2500, 1u << TB_LOG_VALUE_URL | 1u << TB_LOG_VALUE_COUNTRY | 1u << TB_LOG_VALUE_CACHE, 2};
    check_sum(block, &some, 3,
              "\"stepSeconds\":1,\"totals\":{\"requests\":3,\"bytes\":60,\"cached\":1,\"1xx\":0,\"2xx\":1,\"3xx\":0,\"4xx\":1,\"5xx\":1},"
              "\"points\":["
              "{\"at\":\"2026-11-03T12:00:00Z\",\"requests\":1,\"bytes\":10,\"cached\":1,\"1xx\":0,\"2xx\":1,\"3xx\":0,\"4xx\":0,\"5xx\":0},"
              "{\"at\":\"2026-11-03T12:00:01Z\",\"requests\":1,\"bytes\":20,\"cached\":0,\"1xx\":0,\"2xx\":0,\"3xx\":0,\"4xx\":1,\"5xx\":0},"
              "{\"at\":\"2026-11-03T12:00:02Z\",\"requests\":1,\"bytes\":30,\"cached\":0,\"1xx\":0,\"2xx\":0,\"3xx\":0,\"4xx\":0,\"5xx\":1}],"
              "\"top\":{\"url\":{\"exact\":true,\"distinct\":2,\"values\":[{\"value\":\"a.example/x\",\"requests\":2,\"bytes\":30},"
              "{\"value\":\"b.example/y\",\"requests\":1,\"bytes\":30}]},"
              "\"country\":{\"exact\":true,\"distinct\":2,\"values\":[{\"value\":\"DE\",\"requests\":2,\"bytes\":30},"
              "{\"value\":\"\",\"requests\":1,\"bytes\":30}]},"
              "\"cacheStatus\":{\"exact\":true,\"distinct\":3,\"values\":[{\"value\":\"-\",\"requests\":1,\"bytes\":30},"
              "{\"value\":\"HIT\",\"requests\":1,\"bytes\":10}]}}");
    const tb_logsum_ask none = {NOON, NOON + 1, 0, 10};
    check_sum(block, &none, 0,
              "\"stepSeconds\":1,\"totals\":{\"requests\":0,\"bytes\":0,\"cached\":0,\"1xx\":0,\"2xx\":0,\"3xx\":0,\"4xx\":0,\"5xx\":0},"
              "\"points\":[{\"at\":\"2026-11-03T12:00:00Z\",\"requests\":0,\"bytes\":0,\"cached\":0,\"1xx\":0,\"2xx\":0,\"3xx\":0,\"4xx\":0,"
              "\"5xx\":0}],\"top\":{}");
    tb_logblock_free(block);
    tb_buf_release(&bytes);
}
END_TEST

START_TEST(points_are_at_most_so_many_and_round)
{
    for (int64_t span_ms = 1; span_ms < INT64_C(100) * 86400000; span_ms += 1 + span_ms / 7) {
        const int64_t step_ms = tb_step_ms(span_ms, TB_LOG_POINTS_MAX);
        ck_assert_int_eq(step_ms % 1000, 0);
        ck_assert_int_le(span_ms, step_ms * TB_LOG_POINTS_MAX);
        if (step_ms <= 3600000) ck_assert_int_eq(3600000 % step_ms, 0);
    }
    ck_assert_int_eq(tb_step_ms(TB_LOG_KEPT_MS, TB_LOG_POINTS_MAX), 3600000);
    ck_assert_int_eq(tb_step_ms(3600000, TB_LOG_POINTS_MAX), 30000);
    ck_assert_int_eq(tb_step_ms(3600001, TB_LOG_POINTS_MAX), 60000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_sum");
    TCase *t = tcase_create("log_sum");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, counts_are_exact_within_the_bounds_and_said_to_be_short_past_them);
    tcase_add_test(t, the_most_frequent_come_first_and_equal_ones_by_their_text);
    tcase_add_test(t, a_summary_has_totals_points_and_the_values_that_were_asked_for);
    tcase_add_test(t, points_are_at_most_so_many_and_round);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
