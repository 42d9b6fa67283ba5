/* The feed in two steps: what is parsed outside the transaction, and what may change before it is
 * taken. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/feed.h"
#include "unit/store_fixture.h"

#define LINES 20

static fixture f;
static tb_error err;
static char text[1 << 19];
static size_t text_len;

static void add_line(int64_t zone, int i)
{
    text_len +=
        (size_t)snprintf(text + text_len, sizeof text - text_len,
                         "HIT|200|%lld|%d|%lld|192.0.2.1|-|https://z/x|DE|agent|%032d|DE\n",
                         (long long)(NOW_US / 1000 - i * 1000), 100 + i, (long long)zone, i);
}

static void set_up(void)
{
    fixture_init(&f);
    text_len = 0;
    for (int i = 0; i < LINES; i++)
        add_line(1, i);
}

static void tear_down(void)
{
    fixture_verify(&f);
    fixture_release(&f);
}

static const feed_options plain = {.kind = TB_BATCH_LOG,
                                   .source = "t",
                                   .take_partial_line = true,
                                   .bounded = true,
                                   .threads = 1,
                                   .now_us = NOW_US,
                                   .layout = {.now_ms = NOW_US / 1000}};

static feed_run *parse(size_t len, const feed_options *options)
{
    const feed_body body = {text, len, FEED_PLAIN, 1 << 20};
    feed_run *run = NULL;
    ok(tb_store_read_begin(f.store, &err));
    ok(feed_parse(f.store, &body, options, &run, &err));
    tb_store_read_end(f.store);
    return run;
}

/* Takes it in a transaction of its own; true: it was stale. */
static bool take(feed_run *run, feed_report *ret)
{
    bool stale;
    *ret = (feed_report){0};
    ok(tb_store_begin(f.store, &err));
    ok(feed_take(run, f.store, ret, &stale, &err));
    ok(tb_store_commit(f.store, &err));
    feed_run_free(run);
    return stale;
}

START_TEST(what_was_parsed_is_taken_later)
{
    feed_report report;
    feed_run *run = parse(text_len, &plain);
    ck_assert_uint_gt(feed_run_bytes(run), 0);
    ck_assert(!take(run, &report));
    ck_assert_uint_eq(report.accepted, LINES);
    ck_assert(!take(parse(text_len, &plain), &report));
    ck_assert(report.nothing_new);
}
END_TEST

START_TEST(what_was_parsed_and_not_taken_leaves_nothing)
{
    feed_report report;
    feed_run_free(parse(text_len, &plain));
    ck_assert(!take(parse(text_len, &plain), &report));
    ck_assert_uint_eq(report.accepted, LINES);
}
END_TEST

/* Both were parsed when nothing was known; only one may count. */
START_TEST(a_log_that_another_took_meanwhile_is_parsed_again)
{
    feed_report report;
    feed_run *first = parse(text_len, &plain), *half = parse(text_len / 2, &plain);
    ck_assert(!take(half, &report));
    const uint64_t taken = report.accepted;
    ck_assert(take(first, &report));
    ck_assert_uint_eq(report.accepted, 0);
    ck_assert(!take(parse(text_len, &plain), &report));
    ck_assert_uint_ge(report.known_lines, taken - 1); /* the cut line may have been refused */
    ck_assert_uint_eq(report.known_lines + report.lines, LINES);
}
END_TEST

START_TEST(a_batch_that_another_took_meanwhile_is_parsed_again)
{
    feed_options named = plain;
    feed_report report;
    named.batch = "one";
    feed_run *first = parse(text_len, &named), *second = parse(text_len, &named);
    ck_assert(!take(first, &report));
    ck_assert(take(second, &report));
    ck_assert(!take(parse(text_len, &named), &report));
    ck_assert(report.nothing_new);
}
END_TEST

/* Other logs do not matter. */
START_TEST(a_log_of_another_beginning_changes_nothing)
{
    feed_report report;
    feed_run *first = parse(text_len, &plain);
    text_len = 0;
    for (int i = 0; i < LINES; i++)
        add_line(2, i);
    ck_assert(!take(parse(text_len, &plain), &report));
    ck_assert(!take(first, &report));
    ck_assert_uint_eq(report.accepted, LINES);
}
END_TEST

#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":1,\"account\":1,\"name\":\"x\"}" \
    "]}"

/* Whether its lines are kept depends on the catalogue. */
START_TEST(a_catalogue_that_came_meanwhile_is_seen)
{
    feed_report report;
    feed_run *before = parse(text_len, &plain);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    ck_assert(take(before, &report));
    ck_assert(!take(parse(text_len, &plain), &report));
    ck_assert_uint_eq(report.accepted, LINES);
}
END_TEST

START_TEST(a_piece_is_judged_when_it_is_taken)
{
    feed_piece piece = {
        .start = 0, .length = text_len, .head = {1, 2}, .hash = {0}, .known = -1, .behind = 0};
    feed_options options = plain;
    feed_report report;
    options.piece = &piece;
    piece.start = 10; /* what is before it is not known yet, when it is parsed */
    piece.lines_before = 1;
    feed_run *second = parse(text_len - 10, &options);
    bool stale;
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(feed_take(second, f.store, &report, &stale, &err), TB_E_BATCH_CONFLICT);
    tb_store_rollback(f.store);
    feed_run_free(second);
}
END_TEST

START_TEST(more_refused_lines_than_is_good_are_refused_whole)
{
    const size_t n = FEED_REFUSED_MAX + 1;
    char *feeds = malloc(n);
    const feed_body body = {feeds, n, FEED_PLAIN, 1 << 24};
    feed_run *run = NULL;
    feed_options options = plain;
    memset(feeds, '\n', n);
    ck_assert_int_eq(feed_parse(f.store, &body, &options, &run, &err), TB_E_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.message, "1000000 lines"));
    options.bounded = false;
    ok(feed_parse(f.store, &body, &options, &run, &err));
    feed_run_free(run);
    free(feeds);
}
END_TEST

/* No transaction is open, so what does not fit cannot be written out. */
START_TEST(more_counters_than_fit_are_refused_whole)
{
    feed_options options = plain;
    feed_run *run = NULL;
    options.max_groups = 2;
    for (int i = 0; i < LINES; i++)
        text_len -= i == 0 ? text_len : 0, add_line(i + 1, i);
    options.block_bytes = 512;
    const feed_body body = {text, text_len, FEED_PLAIN, 1 << 20};
    ck_assert_int_eq(feed_parse(f.store, &body, &options, &run, &err), TB_E_TOO_LARGE);
    options.bounded = false;
    feed_report report;
    ck_assert(!take(parse(text_len, &options), &report));
    ck_assert_uint_eq(report.accepted, LINES);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("feed_parse");
    TCase *tc = tcase_create("rules");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_was_parsed_is_taken_later);
    tcase_add_test(tc, what_was_parsed_and_not_taken_leaves_nothing);
    tcase_add_test(tc, a_log_that_another_took_meanwhile_is_parsed_again);
    tcase_add_test(tc, a_batch_that_another_took_meanwhile_is_parsed_again);
    tcase_add_test(tc, a_log_of_another_beginning_changes_nothing);
    tcase_add_test(tc, a_catalogue_that_came_meanwhile_is_seen);
    tcase_add_test(tc, a_piece_is_judged_when_it_is_taken);
    tcase_add_test(tc, more_refused_lines_than_is_good_are_refused_whole);
    tcase_add_test(tc, more_counters_than_fit_are_refused_whole);
    suite_add_tcase(s, tc);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
