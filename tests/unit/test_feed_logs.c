/* The lines that the feed keeps: whatever the room they wait in, the threads, the segments and what was
 * stopped or refused, each line of a logging zone is kept exactly once, in the order of time. */
#include "feed/feed.h"
#include "seed.h"
#include "store_fixture.h"

#include "tollbook/logstore.h"

#include <fcntl.h>

#define LINES (TB_PART > 1 ? 2400 : 6000) /* two segments of 200,000 bytes, and more */
#define ZONES 5

static fixture f;
static char input[128];
static char text[LINES * 300];
static size_t text_len;
/* By zone 101 .. 105: how many lines, and the sum of their bytes. */
static size_t want_n[ZONES];
static uint64_t want_sum[ZONES];

static void set_up(void)
{
    fixture_init(&f);
    snprintf(input, sizeof input, "%s/input", f.folder);
}

static void tear_down(void)
{
    unlink(input);
    fixture_release(&f);
}

/* Zone 101 has half the lines, 105 few; ids, addresses and texts of all kinds. */
static void make_line(unsigned n)
{
    static const char *const ips[] = {"192.0.2.", "2001:db8::", "no address ", "::ffff:1.2.3."};
    char ip[64];
    const unsigned zone = n % 2 ? 0 : n % 97 == 0 ? 4 : 1 + n / 2 % 3;
    const long long ms = NOW_MS - 70LL * 3600000 + (long long)n * 40000 - n % 7 * 90000;
    snprintf(ip, sizeof ip, "%s%u", ips[n % 16 ? 0 : n / 16 % 4], n % 250 + 1);
    text_len += (size_t)snprintf(text + text_len, sizeof text - text_len,
                                 "%s|%u|%lld|%u|%u|%s|%s|https://z%u.example/%0*u/%u|%s|agent %u|%08x|%s\n",
                                 n % 3 ? "HIT" : "MISS", n % 7 ? 200 : 404, ms, n * 17, 101 + zone,
                                 ip, n % 5 ? "https://r.example/" : "-", zone, n % 50 + 1, 0u, n / 3,
                                 n % 2 ? "DE" : "NY", n % 40, n, n % 4 ? "US" : "-");
    want_n[zone]++;
    want_sum[zone] += n * 17;
}

static void make_lines(unsigned lines)
{
    text_len = 0;
    memset(want_n, 0, sizeof want_n);
    memset(want_sum, 0, sizeof want_sum);
    for (unsigned n = 0; n < lines; n++)
        make_line(n);
}

static void make_log(void)
{
    make_lines(LINES);
}

#define Z(id) "{\"id\":" #id ",\"account\":1,\"name\":\"z" #id "\"}"
#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[" Z(101) "," Z(102) "," Z(103) "," Z(104) \
    "," Z(105) "]}"

/* What is kept of a zone: its lines, each told by its bytes, in the order of time. */
static void check_zone(unsigned zone)
{
    static const tb_log_filter everything = {.from_ms = 0, .to_ms = INT64_MAX};
    tb_error err = {0};
    tb_log_cursor *cursor;
    tb_log_step step;
    tb_logrow row;
    size_t n = 0;
    uint64_t sum = 0;
    int64_t before = 0;
    ok(tb_store_read_begin(f.store, &err));
    ok(tb_store_logs(f.store, 101 + zone, &everything, false, &cursor, &err));
    do {
        ok(tb_log_next(cursor, &step, &err));
        if (step != TB_LOG_LINE) continue;
        ok(tb_log_line(cursor, &row, &err));
        ck_assert_int_ge(row.line.time_ms, before);
        before = row.line.time_ms;
        sum += row.line.bytes;
        n++;
    } while (step != TB_LOG_END);
    tb_log_cursor_free(cursor);
    tb_store_read_end(f.store);
    ck_assert_uint_eq(n, want_n[zone]);
    ck_assert_uint_eq(sum, want_sum[zone]);
}

static void check_all(void)
{
    for (unsigned zone = 0; zone < ZONES; zone++)
        check_zone(zone);
    fixture_verify(&f);
}

static void check_none(void)
{
    memset(want_n, 0, sizeof want_n);
    memset(want_sum, 0, sizeof want_sum);
    check_all();
}

static feed_options plain_options(void)
{
    return (feed_options){.kind = TB_BATCH_LOG,
                          .layout = {.now_ms = NOW_MS},
                          .source = "input",
                          .threads = 1,
                          .block_bytes = 7000,
                          .now_us = NOW_US};
}

static tb_code feed(const feed_options *options, feed_report *report, tb_error *err)
{
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, text_len), (ssize_t)text_len);
    close(fd);
    return feed_file(f.store, input, options, report, err);
}

START_TEST(any_room_any_threads_and_any_segments_keep_each_line_once)
{
    static const size_t rooms[] = {0, 100000, 1}, packed[] = {0, 20000, 1};
    static const uint64_t segments[] = {0, 200000};
    make_log();
    for (unsigned way = 0; way < 3 * 3 * 2; way += TB_PART > 1 ? 7 : 1) {
        feed_options options = plain_options();
        feed_report report;
        tb_error err = {0};
        options.log_room = rooms[way % 3];
        options.log_packed = packed[way / 3 % 3];
        options.segment_bytes = segments[way / 9 % 2];
        options.threads = 1 + (way + way / 9) % 2 * 2;
        set_up();
        fixture_apply(&f, CATALOG, NOW_US, NULL);
        ok(feed(&options, &report, &err));
        ck_assert_uint_eq(report.accepted, LINES);
        check_all();
        ok(feed(&options, &report, &err)); /* again: nothing new */
        ck_assert(report.nothing_new);
        check_all();
        tear_down();
    }
}
END_TEST

/* Blocks that a worker has written go with the segment that is undone. */
static bool on_number(void *ctx, int n, const char *const *cells, bool is_header)
{
    if (!is_header && n == 1) *(int *)ctx = atoi(cells[0]);
    return true;
}

/* How many blocks of several zones, and of one, there are. */
static void check_blocks(int runs, bool placed)
{
    tb_error err = {0};
    int n = 0;
    ok(tb_store_query(f.store, "SELECT count(*) FROM log_run", on_number, &n, &err));
    ck_assert_int_eq(n, runs);
    ok(tb_store_query(f.store, "SELECT count(*) FROM log_block", on_number, &n, &err));
    ck_assert_int_eq(n > 0, placed);
}

START_TEST(few_lines_of_many_zones_wait_together)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    set_up();
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    make_lines(200);
    options.segment_bytes = 20000;
    ok(feed(&options, &report, &err));
    check_all();
    check_blocks(2, false);
    make_log(); /* the same log, which has grown: zones have enough for blocks of their own, and come behind */
    options.segment_bytes = 0;
    ok(feed(&options, &report, &err));
    ck_assert_uint_eq(report.accepted, LINES - 200);
    check_all();
    tear_down();
}
END_TEST

START_TEST(a_refused_line_leaves_nothing_of_its_segment)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        feed_options options = plain_options();
        feed_report report;
        tb_error err = {0};
        options.threads = threads;
        options.log_room = options.log_packed = 1;
        options.stop_on_error = true;
        make_log();
        memcpy(text + text_len, "not a line\n", 11);
        text_len += 11;
        set_up();
        fixture_apply(&f, CATALOG, NOW_US, NULL);
        ck_assert_int_eq(feed(&options, &report, &err), TB_E_BAD_LINE);
        check_none();
        tear_down();
    }
}
END_TEST

/* A log that has grown, posted whole. */
START_TEST(a_log_that_has_grown_keeps_its_lines_once)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    options.log_room = options.log_packed = 1;
    make_log();
    set_up();
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    const size_t whole = text_len;
    while (text_len > whole / 2 || text[text_len - 1] != '\n')
        text_len--;
    ok(feed(&options, &report, &err));
    text_len = whole;
    const feed_body body = {text, text_len, FEED_PLAIN, 1 << 30};
    ok(tb_store_begin(f.store, &err));
    ok(feed_memory(f.store, &body, &options, &report, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_gt(report.known_lines, 0);
    ck_assert_uint_eq(report.known_lines + report.lines, LINES);
    check_all();
    tear_down();
}
END_TEST

/* --- what is too old --- */

#define OLD_BLOCKS 300
#define OLD_TEXTS  9000
#define LATER_MS   (INT64_C(9) * 86400000)

static void one_line_of(void *ctx, size_t i, tb_logline *ret)
{
    static const tb_log_layout layout = {.now_ms = NOW_MS};
    const char *line = ctx;
    (void)i;
    tb_logline_read(&layout, line, strlen(line), ret);
}

static void add_block(tb_logpack *pack, int64_t zone)
{
    char line[128];
    const int64_t time = NOW_MS - 3600000;
    tb_error err = {0};
    tb_loginfo info;
    tb_buf out;
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    snprintf(line, sizeof line, "HIT|200|%lld|7|%lld|1.2.3.4|-|/x|DE|-|-|-", (long long)time, (long long)zone);
    ok(tb_logpack_block(pack, &(tb_loglines){zone, &time, 1, one_line_of, line}, &out, &info, &err));
    ok(tb_store_add_logs(f.store, &info, out.data, out.len, &err));
    tb_buf_release(&out);
}

static void post(const feed_options *options)
{
    const feed_body body = {text, text_len, FEED_PLAIN, 1 << 30};
    feed_report report;
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    ok(feed_memory(f.store, &body, options, &report, &err));
    ok(tb_store_commit(f.store, &err));
}

/* Blocks of as many zones, and of shield zones, and the text of refused lines. */
static void make_old(void)
{
    feed_options options = plain_options();
    tb_logpack *pack = tb_logpack_new();
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    for (int i = 0; i < OLD_BLOCKS; i++)
        add_block(pack, 101 + i);
    ok(tb_store_commit(f.store, &err));
    tb_logpack_free(pack);
    text_len = 0;
    for (int i = 0; i < OLD_TEXTS; i++)
        text_len += (size_t)snprintf(text + text_len, sizeof text - text_len, "no|line\n");
    post(&options);
    text_len = 0;
    for (int i = 0; i < OLD_BLOCKS; i++)
        text_len += (size_t)snprintf(text + text_len, sizeof text - text_len,
                                     "{\"shield_zone\":%d,\"timestamp\":%lld}\n", i + 1, (long long)NOW_MS);
    options.kind = TB_BATCH_BUCKETS;
    post(&options);
}

static int count(const char *sql)
{
    tb_error err = {0};
    int n = -1;
    ok(tb_store_query(f.store, sql, on_number, &n, &err));
    return n;
}

typedef struct left {
    int logs, events, texts;
} left;

static left count_left(void)
{
    return (left){count("SELECT count(*) FROM log_block"), count("SELECT count(*) FROM event_block"),
                  count("SELECT count(*) FROM reject WHERE length(text)>0")};
}

static void make_one_line(int64_t time_ms)
{
    text_len = (size_t)snprintf(text, sizeof text, "HIT|200|%lld|7|101|1.2.3.4|-|/x|DE|-|-|-\n", (long long)time_ms);
}

/* Others wait for a body's commit, days later or with a clock that was set: it lets go of a part, and the next ones of the rest. */
START_TEST(a_body_lets_go_of_a_part_of_what_is_too_old)
{
    feed_options options = plain_options();
    left before = {OLD_BLOCKS, OLD_BLOCKS, OLD_TEXTS};
    set_up();
    make_old();
    const left made = count_left();
    ck_assert(made.logs == OLD_BLOCKS && made.events == OLD_BLOCKS && made.texts == OLD_TEXTS);
    options.layout.now_ms = NOW_MS + LATER_MS;
    options.now_us = options.layout.now_ms * 1000;
    for (int i = 0; i < 3; i++) {
        make_one_line(options.layout.now_ms + i);
        post(&options);
        const left now = count_left();
        const int went = i < 2 ? 128 : OLD_BLOCKS - 2 * 128;
        ck_assert_int_eq(before.logs - now.logs, went);
        ck_assert_int_eq(before.events - now.events, went);
        ck_assert_int_eq(before.texts - now.texts, i < 2 ? 4096 : OLD_TEXTS - 2 * 4096);
        before = now;
        fixture_verify(&f);
    }
    tear_down();
}
END_TEST

/* More goes than comes. */
START_TEST(a_body_of_many_lines_lets_go_of_more)
{
    feed_options options = plain_options();
    set_up();
    make_old();
    options.layout.now_ms = NOW_MS + LATER_MS;
    options.now_us = options.layout.now_ms * 1000;
    make_one_line(options.layout.now_ms);
    for (int i = 1; i < 640; i++)
        memcpy(text + (size_t)i * text_len, text, text_len);
    text_len *= 640;
    post(&options);
    ck_assert_int_eq(count_left().events, OLD_BLOCKS - 128 - 10);
    text_len = 0;
    for (int i = 0; i < 300; i++)
        text_len += (size_t)snprintf(text + text_len, sizeof text - text_len, "bad\n");
    post(&options);
    ck_assert_int_eq(count_left().texts, OLD_TEXTS + 300 - 2 * 4096 - 600);
    tear_down();
}
END_TEST

/* Nobody waits for a transaction of its own, and the next one may be days away. */
START_TEST(a_command_lets_go_of_all_that_is_too_old)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    set_up();
    make_old();
    options.layout.now_ms = NOW_MS + LATER_MS;
    options.now_us = options.layout.now_ms * 1000;
    make_one_line(options.layout.now_ms);
    ok(feed(&options, &report, &err));
    const left now = count_left();
    ck_assert(now.logs == 0 && now.events == 0 && now.texts == 0);
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* So does what follows a log into a file: a transaction for each piece, which nobody waits for either. */
START_TEST(a_piece_that_nobody_waits_for_lets_go_of_all)
{
    feed_options options = plain_options();
    set_up();
    make_old();
    options.alone = true;
    options.layout.now_ms = NOW_MS + LATER_MS;
    options.now_us = options.layout.now_ms * 1000;
    make_one_line(options.layout.now_ms);
    post(&options);
    const left now = count_left();
    ck_assert(now.logs == 0 && now.events == 0 && now.texts == 0);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed_logs");
    TCase *t = tcase_create("feed_logs"), *threads = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_set_timeout(threads, 120);
    tcase_add_test(threads, any_room_any_threads_and_any_segments_keep_each_line_once);
    tcase_add_test(t, few_lines_of_many_zones_wait_together);
    tcase_add_test(threads, a_refused_line_leaves_nothing_of_its_segment);
    tcase_add_test(t, a_log_that_has_grown_keeps_its_lines_once);
    tcase_add_test(t, a_body_lets_go_of_a_part_of_what_is_too_old);
    tcase_add_test(t, a_body_of_many_lines_lets_go_of_more);
    tcase_add_test(t, a_command_lets_go_of_all_that_is_too_old);
    tcase_add_test(t, a_piece_that_nobody_waits_for_lets_go_of_all);
    if (test_without_threads()) suite_add_tcase(suite, t);
    suite_add_tcase(suite, threads);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
