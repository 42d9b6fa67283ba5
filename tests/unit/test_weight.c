/* What one body may give the writer to do: of each kind of thing a body that is just light enough, and one that is just too
 * heavy, which is named. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/feed.h"
#include "http/writer.h"
#include "unit/store_fixture.h"

static fixture f;
static tb_error err;
static char *text;
static size_t text_len, text_cap, weight;

static void set_up(void)
{
    fixture_init(&f);
    text = NULL;
    text_len = text_cap = 0;
}

static void tear_down(void)
{
    free(text);
    fixture_release(&f);
}

static char *more(void)
{
    if (text_cap - text_len < 256) {
        text_cap = text_cap ? 2 * text_cap : 1 << 20;
        text = realloc(text, text_cap);
        ck_assert_ptr_nonnull(text);
    }
    return text + text_len;
}

static void add_line(int zone, int edge, int hours_ago)
{
    text_len += (size_t)sprintf(more(), "HIT|200|%lld|1|%d|192.0.2.1|-|https://z/x|E%x|a|-|DE\n",
                                (long long)(NOW_MS - hours_ago * 3600000LL), zone, (unsigned)edge);
}

static void a_day_each(int i)
{
    add_line(1 + i, 1, 1);
}

static void hours_of_days(int i)
{
    add_line(1 + i / 24, 1, 1 + i % 24);
}

static void an_edge_each(int i)
{
    add_line(1, i, 1);
}

/* Of 20,000 zones. */
static void a_country_each(int i)
{
    text_len += (size_t)sprintf(more(), "HIT|200|%lld|1|%d|192.0.2.1|-|https://z/x|E1|a|-|%c%c\n", (long long)(NOW_MS - 3600000),
                                1 + i % 20000, 'A' + i / 20000 / 26, 'A' + i / 20000 % 26);
}

static void an_event(int i)
{
    text_len += (size_t)sprintf(more(), "{\"shield_zone\":42,\"timestamp\":%lld,\"logId\":\"e%d\"}\n",
                                (long long)(NOW_MS - i % 3600000), i);
}

/* A hundred thousand of them stay, of 20,000 good ones: a third of what is allowed is the usage's. */
static void mostly_refused(int i)
{
    if (i < 20000) a_day_each(i);
    else text_len += (size_t)sprintf(more(), "no line %d\n", i);
}

/* Load balancers have hours, and no edge location. */
static void a_balancer_hour(int i)
{
    text_len += (size_t)sprintf(more(), "{\"load_balancer\":%d,\"hour\":\"2026-11-16T%02d:00:00Z\",\"requests\":1}\n", 1 + i / 24,
                                i % 24);
}

static const struct kind {
    void (*add)(int i);
    tb_batch_kind of;
    int light, heavy;
    const char *named;
} kinds[] = {
    {a_day_each, TB_BATCH_LOG, 62900, 63100, "too many days of usage"},
    {hours_of_days, TB_BATCH_LOG, 24 * 22300, 24 * 22500, "too many hours of usage"},
    {a_balancer_hour, TB_BATCH_BUCKETS, 24 * 22800, 24 * 22900, "too many hours of usage"},
    {an_edge_each, TB_BATCH_LOG, 33300, 33400, "too many edge locations (334"},
    {a_country_each, TB_BATCH_LOG, 600000, 820000, "too many countries"},
    {an_event, TB_BATCH_BUCKETS, 200000, 400000, "too many shield events (400000 "},
    {mostly_refused, TB_BATCH_LOG, 100000, 200000, "too many refused lines (100000 "},
};

static tb_code parse(const struct kind *kind, int n, unsigned threads)
{
    const feed_options options = {.kind = kind->of,
                                  .source = "t",
                                  .take_partial_line = true,
                                  .bounded = true,
                                  .threads = threads,
                                  .now_us = NOW_US,
                                  .layout = {.now_ms = NOW_MS}};
    feed_run *run = NULL;
    text_len = 0;
    for (int i = 0; i < n; i++)
        kind->add(i);
    ok(tb_store_read_begin(f.store, &err));
    const feed_body body = {text, text_len, FEED_PLAIN, text_len};
    tb_code code = feed_parse(f.store, &body, &options, &run, &err);
    tb_store_read_end(f.store);
    if (!code) weight = feed_run_weight(run);
    feed_run_free(run);
    return code;
}

static void a_day_of_long_ago(int i)
{
    add_line(1 + i, 1, 100);
}

/* Zones 1 to n: of an account each, or of one. */
static void apply_zones(int n, bool each)
{
    const size_t room = (size_t)n * 100 + 100;
    char *catalog = malloc(room);
    size_t len = (size_t)snprintf(catalog, room, "{\"accounts\":[");
    for (int i = 1; i <= (each ? n : 1); i++)
        len += (size_t)snprintf(catalog + len, room - len, "%s{\"id\":%d,\"name\":\"a\"}", i > 1 ? "," : "", i);
    len += (size_t)snprintf(catalog + len, room - len, "],\"zones\":[");
    for (int i = 1; i <= n; i++)
        len += (size_t)snprintf(catalog + len, room - len, "%s{\"id\":%d,\"account\":%d,\"name\":\"z%d\"}", i > 1 ? "," : "", i,
                                each ? i : 1, i);
    snprintf(catalog + len, room - len, "]}");
    fixture_apply(&f, catalog, NOW_US, NULL);
    free(catalog);
}

/* The answer does not depend on the number of threads. */
START_TEST(a_body_that_is_too_much_for_the_writer_is_refused)
{
    const struct kind *kind = &kinds[_i];
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        if (kind->add == an_edge_each && threads > 1) continue; /* each thread has met some of them */
        ck_assert_msg(!parse(kind, kind->light, threads), "%s: %s", kind->named, err.message);
        ck_assert_uint_gt(weight, WRITER_SHORT);
        ck_assert_int_eq(parse(kind, kind->heavy, threads), TB_E_TOO_LARGE);
        ck_assert_msg(strstr(err.message, kind->named), "%s", err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "Nothing of it was taken. Send it in smaller parts."));
    }
}
END_TEST

/* One line is short for the writer, whatever it is; so are a thousand of usage. */
START_TEST(what_is_light_is_short)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ok(parse(&kinds[i], 1, 1));
        ck_assert_uint_gt(weight, 0);
        ck_assert_uint_le(weight, WRITER_SHORT / 100);
    }
    ok(parse(&kinds[0], 1000, 1));
    ck_assert_uint_le(weight, WRITER_SHORT);
    ok(parse(&kinds[0], 1100, 1));
    ck_assert_uint_gt(weight, WRITER_SHORT);
}
END_TEST

/* An account of its own doubles what a zone costs. */
START_TEST(accounts_weigh)
{
    enum { ZONES = 34500 };
    static const struct kind old = {a_day_of_long_ago, TB_BATCH_LOG, 0, 0, ""};
    ok(parse(&old, ZONES, 1));
    apply_zones(ZONES, true);
    ok(parse(&old, ZONES - 1500, 1));
    ck_assert_int_eq(parse(&old, ZONES, 1), TB_E_TOO_LARGE);
}
END_TEST

/* Lines of many pull zones that keep them: together as long as they are few, and then a block each. */
START_TEST(kept_lines_weigh)
{
    enum { ZONES = 40000, MANY = 33000 };
    static const struct kind kept = {a_day_each, TB_BATCH_LOG, 0, 0, ""}, old = {a_day_of_long_ago, TB_BATCH_LOG, 0, 0, ""};
    apply_zones(ZONES, false);
    ok(parse(&kept, 32000, 1));
    ck_assert_int_eq(parse(&kept, MANY, 1), TB_E_TOO_LARGE);
    ck_assert_msg(strstr(err.message, "too many pull zones whose lines are kept (33000 "), "%s", err.message);
    ok(parse(&old, ZONES, 1)); /* too old to be kept; and their account's day is one */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("weight");
    TCase *tc = tcase_create("rules");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_body_that_is_too_much_for_the_writer_is_refused, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tc, what_is_light_is_short);
    tcase_add_test(tc, accounts_weigh);
    tcase_add_test(tc, kept_lines_weigh);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
