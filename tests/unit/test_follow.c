/* When a follower asks: its time and its chance come in as values. And what a piece says of the
 * segments behind it. */
#include "follow/log.h"
#include "follow/pace.h"
#include "store_fixture.h"

#include "feed/feed.h"
#include "feed/hash.h"

static fixture f;

static void set_up(void)
{
    fixture_init(&f);
}

static void tear_down(void)
{
    fixture_release(&f);
}

/* --- pace --- */

START_TEST(all_is_due_once_in_every)
{
    pace p = {.every_ms = 2000};
    ck_assert(pace_full(&p, 10000));
    ck_assert(!pace_full(&p, 10001));
    ck_assert(!pace_full(&p, 11999));
    ck_assert(pace_full(&p, 12000));
    ck_assert_int_eq(pace_wait(&p, 12000), PACE_LOOK_MS);
    ck_assert_int_eq(pace_wait(&p, 13900), 100);
}
END_TEST

START_TEST(waits_double_up_to_the_longest)
{
    pace p = {.every_ms = 2000};
    int64_t now = 0, most = PACE_FIRST_MS;
    for (int i = 0; i < 20; i++) {
        ck_assert(pace_free(&p, now));
        pace_failed(&p, now, 0, UINT32_MAX);
        ck_assert(!pace_free(&p, now + most - 2));
        ck_assert(pace_free(&p, now + most));
        now += most;
        if (most * 2 <= PACE_MOST_MS)
            most *= 2;
        else
            most = PACE_MOST_MS;
    }
    pace_done(&p);
    ck_assert(pace_free(&p, now));
    pace_failed(&p, now, 0, UINT32_MAX);
    ck_assert(pace_free(&p, now + PACE_FIRST_MS));
}
END_TEST

START_TEST(chance_spreads_the_waits)
{
    for (uint64_t chance = 0; chance <= UINT32_MAX; chance += UINT32_MAX / 16) {
        pace p = {.every_ms = 2000};
        pace_failed(&p, 0, 0, (uint32_t)chance);
        int64_t expected = PACE_FIRST_MS / 2 + (int64_t)(PACE_FIRST_MS / 2 * chance >> 32);
        ck_assert_int_eq(pace_wait(&p, 0), expected);
    }
}
END_TEST

START_TEST(never_earlier_than_asked_for)
{
    for (int64_t asked = 0; asked <= 120000; asked += 7000) {
        pace p = {.every_ms = 2000};
        pace_failed(&p, 500, asked, 0);
        ck_assert(asked == 0 || !pace_free(&p, 500 + asked - 1));
        ck_assert(pace_free(&p, 500 + asked + PACE_FIRST_MS));
        ck_assert_int_le(pace_wait(&p, 500), 2000);
    }
}
END_TEST

START_TEST(a_clock_that_jumps_costs_one_wait)
{
    pace p = {.every_ms = 2000};
    ck_assert(pace_full(&p, 1000000));
    pace_failed(&p, 1000000, 3000, 0);
    ck_assert(!pace_free(&p, 1000000));
    ck_assert(pace_free(&p, 5000)); /* back: it is further ahead than any wait */
    ck_assert(pace_full(&p, 5000));
    ck_assert(pace_free(&p, 900000000));
    ck_assert(pace_full(&p, 900000000));
}
END_TEST

/* --- pieces that say what is behind them --- */

typedef struct log_text {
    char bytes[4000];
    size_t len;
    tb_hash128 head;
} log_text;

static log_text make_log(int lines)
{
    log_text log = {.len = 0};
    for (int i = 0; i < lines; i++)
        log.len +=
            (size_t)snprintf(log.bytes + log.len, sizeof log.bytes - log.len,
                             "HIT|200|%lld|%d|101|192.0.2.1|-|https://z/x|DE|agent|%032d|DE\n",
                             (long long)(NOW_US / 1000 - 3600000 + i), 100 + i, i);
    log.head = feed_hash_head(0, false, log.bytes, log.len);
    return log;
}

static tb_hash128 hash_of(const log_text *log, size_t len)
{
    feed_hash *hash = feed_hash_new(0);
    feed_hash_add(hash, log->bytes, len);
    tb_hash128 value = feed_hash_value(hash);
    feed_hash_free(hash);
    return value;
}

static size_t line_end(const log_text *log, int lines)
{
    const char *p = log->bytes;
    for (int i = 0; i < lines; i++)
        p = strchr(p, '\n') + 1;
    return (size_t)(p - log->bytes);
}

/* Lines from..to as a piece of which `behind` segments are known to start behind it. */
static tb_code send_piece(const log_text *log, int from, int to, int64_t behind,
                          feed_report *report)
{
    size_t start = line_end(log, from), end = line_end(log, to);
    feed_piece piece = {.start = start,
                        .length = end,
                        .lines_before = (uint64_t)from,
                        .head = log->head,
                        .hash = hash_of(log, end),
                        .known = -1,
                        .behind = behind};
    feed_options options = {.kind = TB_BATCH_LOG,
                            .piece = &piece,
                            .source = "t",
                            .take_partial_line = true,
                            .threads = 1,
                            .now_us = NOW_US,
                            .layout = {.now_ms = NOW_US / 1000}};
    tb_error err;
    ck_assert_int_eq(tb_store_begin(f.store, &err), TB_OK);
    const feed_body body = {log->bytes + start, end - start, FEED_PLAIN, SIZE_MAX};
    tb_code code = feed_memory(f.store, &body, &options, report, &err);
    if (code)
        tb_store_rollback(f.store);
    else
        ck_assert_int_eq(tb_store_commit(f.store, &err), TB_OK);
    return code;
}

START_TEST(a_piece_knows_what_is_behind_it)
{
    feed_report report;
    log_text log = make_log(10);
    ck_assert_int_eq(send_piece(&log, 0, 3, 0, &report), TB_OK);
    ck_assert_uint_eq(report.accepted, 3);
    ck_assert_int_eq(send_piece(&log, 3, 5, 0, &report), TB_OK);
    ck_assert_int_eq(send_piece(&log, 3, 5, 0, &report), TB_OK); /* the same again */
    ck_assert(report.nothing_new);
    /* One whose sender does not know of 3..5, from before it or from the beginning. */
    ck_assert_int_eq(send_piece(&log, 3, 6, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 0, 6, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 0, 6, 1, &report), TB_E_BATCH_CONFLICT);
    /* One that follows nothing. */
    ck_assert_int_eq(send_piece(&log, 6, 7, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 5, 7, 0, &report), TB_OK);
    /* One that knows all of it, and is another log from 3 on. */
    ck_assert_int_eq(send_piece(&log, 3, 8, 2, &report), TB_OK);
}
END_TEST

START_TEST(known_from_a_byte_on)
{
    feed_report report;
    tb_error err;
    log_text log = make_log(10);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(send_piece(&log, i, i + 1, 0, &report), TB_OK);
    for (int i = 0; i <= 10; i++) {
        tb_known *list;
        size_t n;
        bool there;
        uint64_t from = line_end(&log, i);
        ck_assert_int_eq(
            tb_store_known_from(f.store, TB_BATCH_LOG, log.head, from, &list, &n, &err), TB_OK);
        ck_assert_uint_eq(n, 10 - (size_t)i);
        if (n) ck_assert_uint_eq(list[0].start, from);
        free(list);
        ck_assert_int_eq(
            tb_store_known_end(f.store, TB_BATCH_LOG, log.head, from, (uint64_t)i, &there, &err),
            TB_OK);
        ck_assert(there == (i > 0));
        ck_assert_int_eq(tb_store_known_end(f.store, TB_BATCH_LOG, log.head, from, (uint64_t)i + 1,
                                            &there, &err),
                         TB_OK);
        ck_assert(!there);
    }
}
END_TEST

/* --- one log --- */

/* A folder in a log's place, and then a log again: an inode is given to both. */
START_TEST(an_inode_that_becomes_a_file_is_another_log)
{
    const struct stat folder = {.st_dev = 1, .st_ino = 2, .st_mode = S_IFDIR, .st_size = 4096};
    const struct stat file = {.st_dev = 1, .st_ino = 2, .st_mode = S_IFREG, .st_size = 99};
    follow_log *log = follow_log_new("a.log", &folder, 1000);
    ck_assert_ptr_nonnull(log);
    ck_assert_uint_eq(follow_log_lag(log), 0); /* nobody waits for it */
    log->trouble = TB_E_BAD_INPUT;
    log->again_ms = 31000;
    log->fresh = false;
    follow_log_seen(log, &file, 2000);
    ck_assert(log->regular);
    ck_assert(log->fresh);
    ck_assert_int_eq(log->trouble, TB_OK);
    ck_assert_int_eq(log->again_ms, 0);
    ck_assert_uint_eq(follow_log_lag(log), 99);
    follow_log_free(log);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("follow");
    TCase *paced = tcase_create("pace"), *pieces = tcase_create("pieces"),
          *logs = tcase_create("logs");
    tcase_add_test(paced, all_is_due_once_in_every);
    tcase_add_test(paced, waits_double_up_to_the_longest);
    tcase_add_test(paced, chance_spreads_the_waits);
    tcase_add_test(paced, never_earlier_than_asked_for);
    tcase_add_test(paced, a_clock_that_jumps_costs_one_wait);
    tcase_add_test(logs, an_inode_that_becomes_a_file_is_another_log);
    tcase_add_checked_fixture(pieces, set_up, tear_down);
    tcase_add_test(pieces, a_piece_knows_what_is_behind_it);
    tcase_add_test(pieces, known_from_a_byte_on);
    suite_add_tcase(suite, paced);
    suite_add_tcase(suite, pieces);
    suite_add_tcase(suite, logs);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
