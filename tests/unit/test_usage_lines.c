/* Request logs on their way to usage servers, against a stand-in for these: blocks that wait together are joined, those of
 * before a mark never with those behind it, what is undone is not sent or not seen, and seals follow. tests/http/test_usage_lines.py
 * asks real ones. */
#include "store/core/internal.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"
#include "unit/usage_writer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_MS INT64_C(1793782800000)
#define ZONE   101

/* Rows of the table log that were sent. */
static struct {
    struct sent {
        int64_t zone, first_ms, batch, at;
        uint32_t lines;
        uint64_t seal;
    } row[64];
    size_t n;
    bool refuses;
    uint64_t used; /* the highest batch id that it has rows of */
    uint32_t oldest; /* the first day of its lines; 0: it has none */
    bool away;
    usage_writer writer;
} shard;

static uint64_t column(const char **at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, *at, size);
    *at += size;
    return value;
}

static void take_rows(const char *at, size_t len)
{
    const char *end = at + len;
    while (at < end) {
        struct sent *row = &shard.row[shard.n++];
        ck_assert_uint_le(shard.n, 64);
        column(&at, 2);
        row->zone = (int64_t)column(&at, 8);
        row->first_ms = (int64_t)column(&at, 8);
        column(&at, 8);
        row->lines = (uint32_t)column(&at, 4);
        row->batch = (int64_t)column(&at, 8);
        row->at = (int64_t)column(&at, 8);
        row->seal = column(&at, 8);
        const size_t bytes = (size_t)column(&at, 4);
        while (column(&at, 1) & 128)
            ; /* the text's own length */
        at += bytes;
    }
    ck_assert_ptr_eq(at, end);
}

static tb_code ask(void *ctx, const tb_usage_statement *of, tb_buf *answer, tb_error *err)
{
    (void)ctx;
    const bool log = strncmp(of->sql, "INSERT INTO t.log(", 18) == 0;
    if (log && shard.refuses) return tb_fail(err, TB_E_AWAY, NULL, "It is away.");
    if (shard.away) return tb_fail(err, TB_E_AWAY, NULL, "It is away.");
    if (usage_writer_answers(&shard.writer, of->sql, answer)) return TB_OK;
    if (log) take_rows(of->body, of->len);
    if (strstr(of->sql, "min(day)) FROM t.log")) tb_buf_add(answer, &shard.oldest, 4);
    if (strstr(of->sql, "SELECT max(batch) FROM t.log ")) tb_buf_add(answer, &shard.used, 8);
    if (strstr(of->sql, "sum(s)") && strstr(of->sql, "t.log")) tb_buf_add(answer, (uint64_t[]){1, 100, 77}, 24);
    if (strstr(of->sql, "max(shard)")) tb_buf_add(answer, (uint64_t[]){1, 1}, 16);
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask};
static char path[] = "/tmp/tollbook-lines-XXXXXX";
static tb_error err;

static tb_store *open_again(void)
{
    const tb_store_options options = {.write = true, .owner = "test", .usage = &client};
    tb_store *store = NULL;
    ck_assert_msg(tb_store_open(path, &options, &store, &err) == TB_OK, "%s", err.message);
    return store;
}

static tb_store *start(void)
{
    memset(&shard, 0, sizeof shard);
    strcpy(path + sizeof path - 7, "XXXXXX");
    close(mkstemp(path));
    unlink(path);
    ck_assert_int_eq(tb_store_create(path, NULL, &err), TB_OK);
    return open_again();
}

static void end(tb_store *store)
{
    tb_store_close(store);
    unlink(path);
}

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    (void)ctx, (void)i;
    static const char text[] = "HIT|200|1793782800000|7|101|1.2.3.4|-|/x|DE|-|-|-";
    static const tb_log_layout layout = {.now_ms = NOW_MS};
    tb_logline_read(&layout, text, sizeof text - 1, ret);
}

static tb_code add(tb_store *store, int64_t zone, int64_t first_ms, size_t n)
{
    static int64_t times[TB_LOGBLOCK_LINES];
    tb_logpack *pack = tb_logpack_new();
    tb_loginfo info;
    tb_buf out;
    for (size_t i = 0; i < n; i++)
        times[i] = first_ms;
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    ck_assert_int_eq(tb_logpack_block(pack, &(tb_loglines){zone, times, n, line_of, NULL}, &out, &info, &err), TB_OK);
    tb_code code = tb_store_add_logs(store, &info, out.data, out.len, &err);
    tb_buf_release(&out);
    tb_logpack_free(pack);
    return code;
}

static void ok(tb_code code)
{
    ck_assert_msg(code == TB_OK, "%s", err.message);
}

static int64_t meta(tb_store *store, const char *name)
{
    int64_t value = 0;
    ok(tb__meta_get(store, name, &value, &err));
    return value;
}

static int64_t seals_of_all(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < shard.n; i++)
        sum += shard.row[i].seal;
    return (int64_t)(sum & INT64_MAX);
}

START_TEST(those_that_wait_together_are_joined)
{
    tb_store *store = start();
    ok(tb_store_begin(store, &err));
    for (int i = 0; i < 7; i++) { /* some bodies of one commit */
        ok(tb_store_mark(store, &err));
        ok(add(store, ZONE, NOW_MS - 50000 + i, 10));
        ok(add(store, ZONE + 1, NOW_MS - 90000, 5000));
        ok(tb_store_keep_mark(store, &err));
    }
    ok(add(store, ZONE, NOW_MS - 86400000, 3)); /* too far away */
    ck_assert_uint_eq(shard.n, 0);
    ok(tb_store_commit(store, &err));
    ck_assert_uint_eq(shard.n, 9);
    ck_assert(shard.row[0].zone == ZONE && shard.row[0].lines == 70 && shard.row[0].first_ms == NOW_MS - 50000);
    ck_assert(shard.row[1].lines == 3);
    for (size_t i = 0; i < shard.n; i++) {
        ck_assert(shard.row[i].at == shard.row[i].batch && shard.row[i].batch <= meta(store, "usage_batch"));
        ck_assert(i < 2 || (shard.row[i].lines == 5000 && shard.row[i].batch > shard.row[i - 1].batch) || i == 2);
    }
    ck_assert_int_eq(meta(store, "log_seals"), seals_of_all());
    end(store);
}
END_TEST

START_TEST(a_mark_keeps_them_apart)
{
    tb_store *store = start();
    ok(tb_store_begin(store, &err));
    ok(add(store, ZONE, NOW_MS, 10));
    ok(add(store, ZONE, NOW_MS, 11));
    ok(tb_store_mark(store, &err));
    ok(add(store, ZONE, NOW_MS, 12));
    shard.refuses = true;
    tb_store_back_to_mark(store);
    shard.refuses = false;
    ok(tb_store_commit(store, &err));
    ck_assert(shard.n == 1 && shard.row[0].lines == 21);
    ck_assert_int_eq(meta(store, "log_seals"), seals_of_all());
    end(store);
}
END_TEST

/* What the transaction reads must be sent, also of before the mark; the part behind it is undone then. */
START_TEST(what_was_sent_and_undone_is_a_gap)
{
    tb_store *store = start();
    uint64_t blocks, bytes;
    ok(tb_store_begin(store, &err));
    ok(add(store, ZONE, NOW_MS, 10));
    ok(tb_store_mark(store, &err));
    ok(add(store, ZONE, NOW_MS, 12));
    ok(tb_store_logs_before(store, NOW_MS, &blocks, &bytes, &err));
    ck_assert(shard.n == 2 && shard.row[0].lines == 10 && shard.row[1].lines == 12);
    tb_store_back_to_mark(store);
    ok(add(store, ZONE, NOW_MS, 13));
    ok(tb_store_commit(store, &err));
    ck_assert(shard.n == 3 && shard.row[2].lines == 13 && shard.row[2].batch > shard.row[1].batch);
    char gap[40];
    sqlite3_snprintf(sizeof gap, gap, "usage_gap_%lld", (long long)shard.row[1].batch);
    ck_assert_int_eq(meta(store, gap), shard.row[1].batch | ((1 << 20) - 1)); /* with the rest of its life */
    shard.row[1].seal = 0;
    ck_assert_int_eq(meta(store, "log_seals"), seals_of_all());
    end(store);
}
END_TEST

START_TEST(what_is_refused_comes_again_under_other_ids)
{
    tb_store *store = start();
    for (int i = 0; i < 2; i++) {
        shard.refuses = i == 0;
        ok(tb_store_begin(store, &err));
        ok(add(store, ZONE, NOW_MS, 10));
        ck_assert_int_eq(tb_store_commit(store, &err), i ? TB_OK : TB_E_AWAY);
        if (!i) tb_store_rollback(store);
    }
    ck_assert(shard.n == 1 && shard.row[0].lines == 10);
    ck_assert_int_eq(meta(store, "log_seals"), seals_of_all());
    end(store);
}
END_TEST

/* Ids of a later span are there: another file went on from this one. */
START_TEST(an_older_copy_takes_what_is_there)
{
    tb_store *store = start();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(meta(store, "log_seals"), i ? 77 : 0);
        tb_store_close(store);
        shard.used = i ? shard.used : UINT64_C(9) << 40;
        store = open_again();
    }
    ck_assert_int_eq(meta(store, "log_seals"), 77);
    ck_assert_int_gt(meta(store, "usage_batch"), (int64_t)shard.used);
    end(store);
}
END_TEST

static tb_ageing drop_at(tb_store *store, int64_t now_ms, tb_ageing room)
{
    ok(tb_store_begin(store, &err));
    ok(tb_store_drop_aged(store, now_ms * 1000, &room, &err));
    ok(tb_store_commit(store, &err));
    return room;
}

static tb_ageing drop(tb_store *store, tb_ageing room)
{
    return drop_at(store, NOW_MS, room);
}

/* Days without a server, or a clock that was set. An hour is a step, also of a server that was started anew; one that is
 * away is asked for it again. */
START_TEST(what_is_too_old_goes_hour_by_hour_where_others_wait)
{
    const int64_t due = NOW_MS - TB_LOG_KEPT_MS, day = due / 86400000;
    const tb_ageing some = {9, 9, 9, 9};
    tb_store *store = start();
    shard.oldest = (uint32_t)day;
    for (int64_t hour = 1; hour <= 9; hour++) {
        const tb_ageing left = drop(store, some);
        ck_assert(left.log_blocks == (hour < 9 ? 0 : 9) && left.event_blocks == 9);
        ck_assert_int_eq(meta(store, "log_before"), day * 86400000 + hour * 3600000);
        if (hour != 5) continue;
        tb_store_close(store);
        store = open_again();
        shard.away = true;
        ck_assert_uint_eq(drop(store, some).log_blocks, 9);
        size_t room = 9;
        ok(tb_store_begin(store, &err));
        ck_assert_int_eq(tb_store_drop_some_logs(store, due, &room, NULL, &err), TB_E_AWAY); /* who asks for it is told */
        tb_store_rollback(store);
        shard.away = false;
    }
    ck_assert_int_eq(meta(store, "log_before"), due);
    ck_assert_uint_eq(drop(store, some).log_blocks, 9);
    end(store);
    store = start();
    ck_assert_uint_eq(drop(store, some).log_blocks, 9); /* it has no lines */
    end(store);
    store = start();
    shard.oldest = (uint32_t)day - 3;
    ck_assert_uint_gt(drop(store, (tb_ageing){SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}).log_blocks, 0);
    ck_assert_int_eq(meta(store, "log_before"), due); /* nobody waits */
    end(store);
    store = start();
    shard.oldest = (uint32_t)day;
    for (int hour = 1; !drop_at(store, NOW_MS + 30000, some).log_blocks; hour++)
        ck_assert_int_lt(hour, 9);
    ck_assert_int_eq(meta(store, "log_before"), due + 30000); /* nothing less than a minute stays behind */
    end(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_lines");
    TCase *t = tcase_create("usage_lines");
    tcase_add_test(t, what_is_too_old_goes_hour_by_hour_where_others_wait);
    tcase_add_test(t, those_that_wait_together_are_joined);
    tcase_add_test(t, a_mark_keeps_them_apart);
    tcase_add_test(t, what_was_sent_and_undone_is_a_gap);
    tcase_add_test(t, what_is_refused_comes_again_under_other_ids);
    tcase_add_test(t, an_older_copy_takes_what_is_there);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
