/* Request logs in the store: whose are kept, small blocks are joined, old ones go as wholes while others
 * read, the index agrees, and verify sees what is changed or lost. */
#include "store_fixture.h"

#include "store/logs/log_run.h"
#include "tollbook/retain.h"
#include "tollbook/logstore.h"
#include "tollbook/audit.h"
#include "tollbook/withdraw.h"
#include "seed.h"

#include <sqlite3.h>

#define HOUR INT64_C(3600000)
static const tb_log_layout layout = {.now_ms = NOW_MS};

typedef struct batch {
    char text[TB_LOGBLOCK_LINES][96];
    int64_t time[TB_LOGBLOCK_LINES];
    size_t n;
} batch;

static batch B;

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    const batch *b = ctx;
    tb_logline_read(&layout, b->text[i], strlen(b->text[i]), ret);
}

/* A block of n lines of a zone from first_ms on, step_ms apart, whose bytes count from `number`. */
static void pack_lines(int64_t zone, int64_t first_ms, int64_t step_ms, size_t n, int number, tb_buf *out,
                       tb_loginfo *info)
{
    tb_error err = {0};
    tb_logpack *pack = tb_logpack_new();
    tb_buf_init(out, TB_LOGBLOCK_MAX, NULL);
    B.n = n;
    for (size_t i = 0; i < n; i++) {
        B.time[i] = first_ms + (int64_t)i * step_ms;
        snprintf(B.text[i], sizeof B.text[i], "HIT|200|%lld|%d|%lld|1.2.3.4|-|/x|DE|-|-|-",
                 (long long)B.time[i], number + (int)i, (long long)zone);
    }
    ok(tb_logpack_block(pack, &(tb_loglines){zone, B.time, n, line_of, &B}, out, info, &err));
    tb_logpack_free(pack);
}

static void put(fixture *f, int64_t zone, int64_t first_ms, int64_t step_ms, size_t n, int number)
{
    tb_error err = {0};
    tb_loginfo info;
    tb_buf out;
    pack_lines(zone, first_ms, step_ms, n, number, &out, &info);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_logs(f->store, &info, out.data, out.len, &err));
    ok(tb_store_commit(f->store, &err));
    tb_buf_release(&out);
}

/* How many of such lines went. */
static uint64_t take_back(fixture *f, int64_t zone, int64_t first_ms, int64_t step_ms, size_t n, int number)
{
    tb_error err = {0};
    tb_loginfo info;
    tb_buf out;
    uint64_t removed = 0;
    pack_lines(zone, first_ms, step_ms, n, number, &out, &info);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_withdraw_logs(f->store, &info, out.data, out.len, &removed, &err));
    ok(tb_store_commit(f->store, &err));
    tb_buf_release(&out);
    return removed;
}

/* A batch of lines of the zones 1 .. n_zones, so many of each, second after second up to last_ms. Those with an odd
 * number of bytes have it as the client's network, too. */
static void mix(fixture *f, int n_zones, int of_each, int64_t last_ms, int number)
{
    enum { MOST = 1000 };
    static uint64_t record[MOST][64];
    static const void *records[MOST];
    static uint16_t places[MOST];
    static int64_t zones[MOST];
    tb_error err = {0};
    tb_loginfo info;
    tb_buf block, directory;
    tb_logpack *pack = tb_logpack_new();
    tb_logwords *words = tb_logwords_new();
    tb_buf_init(&block, TB_LOGBLOCK_MAX, NULL);
    tb_buf_init(&directory, TB_LOGBLOCK_MAX, NULL);
    const int n = n_zones * of_each;
    for (int i = 0; i < n; i++) {
        tb_logline line;
        tb_logkeys keys;
        char text[96], asn[16];
        zones[i / of_each] = 1 + i / of_each;
        places[i] = (uint16_t)(i / of_each);
        snprintf(text, sizeof text, "HIT|200|%lld|%d|%lld|1.2.3.4|-|/x|DE|agent|-|-",
                 (long long)last_ms - i % of_each * 1000, number + i, (long long)zones[i / of_each]);
        tb_logline_read(&layout, text, strlen(text), &line);
        snprintf(asn, sizeof asn, "%d", number + i);
        if ((number + i) % 2) line.asn = (tb_text){asn, strlen(asn)};
        tb_logwords_keys(words, &line, &keys);
        tb_logwords_record(words, &line, &keys, record[i]);
        records[i] = record[i];
    }
    const tb_logmix mix = {zones, places, records, (size_t)n_zones, (size_t)n};
    ok(tb_logpack_mix(pack, words, &mix, &block, &directory, &info, &err));
    const tb_logmixed mixed = {info, {directory.data, directory.len}, {block.data, block.len}};
    ok(tb_store_mix_logs(f->store, &mixed, &err));
    tb_buf_release(&block);
    tb_buf_release(&directory);
    tb_logwords_free(words);
    tb_logpack_free(pack);
}

static void put_mixed(fixture *f, int n_zones, int of_each, int64_t last_ms, int number)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    mix(f, n_zones, of_each, last_ms, number);
    ok(tb_store_commit(f->store, &err));
}

/* Folds begin with the third batch, and take so many lines with each. */
static void fold_soon(fixture *f, int64_t slice)
{
    struct tb__log_compaction *folding = tb__log_compaction_of(f->store);
    folding->weight = 3 * 256;
    folding->slice = slice;
}

static const tb_log_filter everything = {.from_ms = 0, .to_ms = INT64_MAX};

/* Lines that a cursor still gives; *ret_sum: of their bytes. Asserts their order. */
static size_t drain(tb_log_cursor *cursor, bool descending, uint64_t *ret_sum)
{
    tb_error err = {0};
    tb_log_step step = TB_LOG_PAUSE;
    tb_logrow row;
    size_t n = 0;
    int64_t before = descending ? INT64_MAX : INT64_MIN;
    *ret_sum = 0;
    for (;;) {
        ok(tb_log_next(cursor, &step, &err));
        if (step == TB_LOG_END) return n;
        if (step == TB_LOG_PAUSE) continue;
        ok(tb_log_line(cursor, &row, &err));
        ck_assert(descending ? row.line.time_ms <= before : row.line.time_ms >= before);
        before = row.line.time_ms;
        *ret_sum += row.line.bytes;
        char asn[24];
        snprintf(asn, sizeof asn, "%llu", (unsigned long long)row.line.bytes);
        const size_t len = row.line.agent.len && row.line.bytes % 2 ? strlen(asn) : 0; /* a line of mix */
        ck_assert_msg(row.line.asn.len == len && (!len || memcmp(row.line.asn.data, asn, len) == 0), "%.*s at %s", (int)row.line.asn.len,
                      row.line.asn.data, asn);
        n++;
    }
}

static size_t count(fixture *f, int64_t zone, const tb_log_filter *filter, bool descending,
                    uint64_t *ret_sum)
{
    tb_error err = {0};
    tb_log_cursor *cursor;
    ok(tb_store_read_begin(f->store, &err));
    ok(tb_store_logs(f->store, zone, filter, descending, &cursor, &err));
    size_t n = drain(cursor, descending, ret_sum);
    tb_log_cursor_free(cursor);
    tb_store_read_end(f->store);
    return n;
}

static size_t lines(fixture *f, int64_t zone)
{
    uint64_t sum, other;
    size_t n = count(f, zone, &everything, false, &sum);
    ck_assert_uint_eq(count(f, zone, &everything, true, &other), n);
    ck_assert_uint_eq(sum, other);
    return n;
}

static int64_t ask(fixture *f, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_open(f->path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL); /* they need the store's function */
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    int rc = sqlite3_step(s);
    int64_t value = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    ck_assert(rc == SQLITE_ROW || rc == SQLITE_DONE);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return value;
}

static uint64_t differences(fixture *f)
{
    uint64_t n;
    tb_error err = {0};
    ok(tb_store_verify(f->store, NULL, NULL, &n, &err));
    return n;
}

/* --- whose --- */

#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":["               \
    "{\"id\":1,\"account\":1,\"name\":\"x\"},"                                                      \
    "{\"id\":2,\"account\":1,\"name\":\"y\",\"settings\":{\"EnableLogging\":false}},"               \
    "{\"id\":3,\"account\":2,\"name\":\"z\",\"settings\":{\"EnableExtendedLogging\":true,"          \
    "\"LoggingIPAnonymizationEnabled\":false,\"Suspended\":true}}]}"

START_TEST(zones_of_the_catalogue_with_logging_on_are_kept)
{
    fixture f;
    tb_error err = {0};
    const tb_directory *before, *now;
    fixture_init(&f);
    ok(tb_store_directory(f.store, false, &before, &err));
    ck_assert_ptr_null(before->logged);
    tb_directory_retain(before);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    ok(tb_store_directory(f.store, false, &now, &err));
    const tb_logged_zones *zones = now->logged;
    ck_assert_ptr_null(before->logged); /* who holds it reads on in it */
    tb_directory_release(before);
    ck_assert_uint_eq(tb_logged_count(zones), 2);
    ck_assert(!tb_logged_find(zones, 1)->extended);
    ck_assert(tb_logged_find(zones, 3)->extended);
    ck_assert_ptr_null(tb_logged_find(zones, 2));
    ck_assert_ptr_null(tb_logged_find(zones, 4));
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_says_how_its_logs_stand_to_its_account_alone)
{
    fixture f;
    tb_error err = {0};
    tb_log_zone zone;
    fixture_init(&f);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    ok(tb_store_log_zone(f.store, 1, 1, &zone, &err));
    ck_assert(zone.logging && zone.active && !zone.extended && zone.privacy == TB_LOG_IP_SHORT);
    ok(tb_store_log_zone(f.store, 1, 2, &zone, &err));
    ck_assert(!zone.logging);
    ok(tb_store_log_zone(f.store, 2, 3, &zone, &err));
    ck_assert(zone.logging && !zone.active && zone.extended && zone.privacy == TB_LOG_IP_WHOLE);
    ck_assert_int_eq(tb_store_log_zone(f.store, 1, 3, &zone, &err), TB_E_ZONE_NOT_FOUND);
    ck_assert_int_eq(tb_store_log_zone(f.store, 1, 9, &zone, &err), TB_E_ZONE_NOT_FOUND);
    fixture_release(&f);
}
END_TEST

/* --- blocks --- */

START_TEST(small_blocks_are_joined_and_nothing_is_lost)
{
    fixture f;
    uint64_t sum;
    fixture_init(&f);
    for (int i = 0; i < 300; i++)
        put(&f, 7, NOW_MS - 2 * HOUR + i % 17, 3, 10, 10 * i);
    ck_assert_int_le(ask(&f, "SELECT count(*) FROM log_block"), 12);
    ck_assert_uint_eq(lines(&f, 7), 3000);
    ck_assert_uint_eq(count(&f, 7, &everything, false, &sum), 3000);
    ck_assert_uint_eq(sum, 2999 * 3000 / 2);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

/* Past that they are left as they come, and joined by what comes later. */
START_TEST(where_others_wait_few_are_joined)
{
    enum { BLOCKS = 24 };
    fixture f;
    int64_t blocks[2];
    fixture_init(&f);
    for (int bounded = 0; bounded < 2 && !usage_plane_shards(); bounded++) {
        const int64_t zone = bounded ? 101 : 102;
        tb_store_bound_work(f.store, (size_t)bounded, false);
        f.store->joins_left = 0;
        for (int i = 0; i < BLOCKS; i++)
            put(&f, zone, NOW_MS - 3600000 + i * 1000, 10, 3, i);
        ck_assert_uint_eq(lines(&f, zone), 3 * BLOCKS);
        blocks[bounded] = ask(&f, zone == 101 ? "SELECT count(*) FROM log_block WHERE zone=101"
                                              : "SELECT count(*) FROM log_block WHERE zone=102");
    }
    if (!usage_plane_shards()) {
        ck_assert_int_lt(blocks[0], BLOCKS / 2);
        ck_assert_int_eq(blocks[1], BLOCKS);
        tb_store_bound_work(f.store, 1, false);
        put(&f, 101, NOW_MS, 10, 3, BLOCKS);
        ck_assert_uint_eq(f.store->joins_left, TB_JOINS_MOST - 1);
        tb_store_bound_work(f.store, 0, false);
        ck_assert_uint_eq(lines(&f, 101), 3 * BLOCKS + 3);
    }
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(blocks_far_apart_stay_apart)
{
    fixture f;
    fixture_init(&f);
    put(&f, 7, NOW_MS - 60 * HOUR, 1, 10, 0);
    put(&f, 7, NOW_MS - 2 * HOUR, 1, 10, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_block"), 2);
    fixture_release(&f);
}
END_TEST

START_TEST(zones_that_share_a_place_in_the_index_are_told_apart)
{
    fixture f;
    const int64_t far = INT64_C(0x7fffffff) * 5 + 7;
    fixture_init(&f);
    put(&f, 7, NOW_MS - 2 * HOUR, 1, 10, 0);
    put(&f, far, NOW_MS - 2 * HOUR, 1, 20, 0);
    put(&f, INT64_MAX, NOW_MS - 2 * HOUR, 1, 30, 0);
    ck_assert_uint_eq(lines(&f, 7), 10);
    ck_assert_uint_eq(lines(&f, far), 20);
    ck_assert_uint_eq(lines(&f, INT64_MAX), 30);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_window_reads_what_lies_in_it)
{
    fixture f;
    uint64_t sum;
    fixture_init(&f);
    for (int h = 0; h < 10; h++)
        put(&f, 7, NOW_MS - (20 - h) * HOUR, 1000, 3000, 0);
    const tb_log_filter filter = {.from_ms = NOW_MS - 18 * HOUR + 500, .to_ms = NOW_MS - 17 * HOUR};
    ck_assert_uint_eq(count(&f, 7, &filter, true, &sum), 2999);
    const tb_log_filter empty = {.from_ms = NOW_MS, .to_ms = NOW_MS};
    ck_assert_uint_eq(count(&f, 7, &empty, true, &sum), 0);
    fixture_release(&f);
}
END_TEST

/* How much a cursor holds open on its first line, decompressed. */
static size_t open_bytes(fixture *f, int64_t zone)
{
    tb_error err = {0};
    tb_log_cursor *cursor;
    tb_log_step step = TB_LOG_PAUSE;
    uint64_t sum;
    ok(tb_store_read_begin(f->store, &err));
    ok(tb_store_logs(f->store, zone, &everything, false, &cursor, &err));
    ck_assert_uint_eq(tb_log_cursor_bytes(cursor), 0);
    while (step == TB_LOG_PAUSE)
        ok(tb_log_next(cursor, &step, &err));
    const size_t bytes = tb_log_cursor_bytes(cursor);
    drain(cursor, false, &sum);
    ck_assert_uint_eq(tb_log_cursor_bytes(cursor), 0);
    tb_log_cursor_free(cursor);
    tb_store_read_end(f->store);
    return bytes;
}

START_TEST(a_cursor_says_how_many_bytes_it_holds_open)
{
    fixture f;
    fixture_init(&f);
    const size_t lines_of_a_block = 3 * TB_LOGBLOCK_LINES / 4;
    put(&f, 1, NOW_MS - 9 * HOUR, 1000, lines_of_a_block, 0);
    put(&f, 2, NOW_MS - 9 * HOUR, 1000, lines_of_a_block, 0);
    put(&f, 2, NOW_MS - 9 * HOUR, 1000, lines_of_a_block, 0);
    put(&f, 3, NOW_MS - 90 * HOUR, 1000, lines_of_a_block, 0); /* beside each other, not over */
    put(&f, 3, NOW_MS - 9 * HOUR, 1000, lines_of_a_block, 0);
    const size_t one = open_bytes(&f, 1);
    ck_assert_uint_gt(one, lines_of_a_block);
    ck_assert_uint_eq(open_bytes(&f, 2), 2 * one);
    ck_assert_uint_eq(open_bytes(&f, 3), one);
    ck_assert_uint_eq(open_bytes(&f, 4), 0);
    fixture_release(&f);
}
END_TEST

/* --- retention --- */

static uint64_t drop(fixture *f, int64_t now_ms)
{
    uint64_t n;
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_drop_logs(f->store, now_ms, &n, &err));
    ok(tb_store_commit(f->store, &err));
    return n;
}

START_TEST(a_block_goes_when_its_last_line_is_three_days_old)
{
    fixture f;
    fixture_init(&f);
    put(&f, 7, NOW_MS - 60, 10, 7, 0); /* the last one at NOW_MS, midnight */
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS - 1), 0);
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS), 0);
    ck_assert_uint_eq(lines(&f, 7), 7);
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS + 1), 1);
    ck_assert_uint_eq(lines(&f, 7), 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_span"), 0);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_reader_goes_on_reading_what_is_dropped_meanwhile)
{
    fixture f, reader;
    tb_error err = {0};
    tb_log_cursor *cursor;
    tb_log_step step = TB_LOG_PAUSE;
    uint64_t sum;
    fixture_init(&f);
    for (int i = 0; i < 600; i++)
        put(&f, 7, NOW_MS - 600 * HOUR + i * 7 * HOUR, 1, 5, 0);
    reader = f;
    fixture_open(&reader, false);
    ok(tb_store_read_begin(reader.store, &err));
    ok(tb_store_logs(reader.store, 7, &everything, false, &cursor, &err));
    while (step != TB_LOG_LINE)
        ok(tb_log_next(cursor, &step, &err));
    ck_assert_uint_eq(drop(&f, NOW_MS * 2), 600);
    ck_assert_uint_eq(drain(cursor, false, &sum), 2999);
    tb_log_cursor_free(cursor);
    tb_store_read_end(reader.store);
    ck_assert_uint_eq(lines(&reader, 7), 0);
    tb_store_close(reader.store);
    fixture_release(&f);
}
END_TEST

/* --- verify --- */

START_TEST(verify_finds_what_was_done_to_a_block)
{
    static const char *const damage[] = {
        "DELETE FROM log_block WHERE id=1",
        "DELETE FROM log_span WHERE id=1",
        "UPDATE log_span SET last_hour=last_hour+1 WHERE id=1",
        "UPDATE log_block SET zone=8 WHERE id=1",
        "UPDATE log_block SET lines=lines+1 WHERE id=1",
        "UPDATE log_block SET seal=seal+1 WHERE id=1",
        "UPDATE log_block SET data=(SELECT data FROM log_block WHERE id=2) WHERE id=1",
        "UPDATE log_block SET data=zeroblob(length(data)) WHERE id=1",
        "UPDATE log_block SET data=X'' WHERE id=1",
        "UPDATE meta SET value=value+1 WHERE name='log_seals'",
        "INSERT INTO log_span VALUES(99,7,7,1,1)",
    };
    fixture f;
    fixture_image sound;
    fixture_init(&f);
    put(&f, 7, NOW_MS - 20 * HOUR, 1, 10, 0);
    put(&f, 7, NOW_MS - 2 * HOUR, 1, 11, 0);
    ck_assert_uint_eq(differences(&f), 0);
    ask(&f, "DROP TRIGGER log_block_no_update");
    fixture_keep(&f, &sound);
    fixture_release(&f);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        fixture_again(&f, &sound);
        ask(&f, damage[i]);
        ck_assert_msg(differences(&f) >= 2, "%s", damage[i]); /* the trigger is one */
        fixture_release(&f);
    }
    free(sound.bytes);
}
END_TEST

/* --- what waits --- */

START_TEST(lines_of_many_zones_wait_and_are_found)
{
    fixture f;
    tb_error err = {0};
    tb_size *sizes;
    size_t n;
    uint64_t blocks, bytes;
    fixture_init(&f);
    put_mixed(&f, 20, 3, NOW_MS - 2 * HOUR, 0);
    put_mixed(&f, 1, 400, NOW_MS - 2 * HOUR, 0); /* more than are copied out of a run */
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 2);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_block"), 0);
    ck_assert_uint_eq(lines(&f, 1), 403);
    ck_assert_uint_eq(lines(&f, 20), 3);
    ck_assert_uint_eq(lines(&f, 21), 0);
    ok(tb_store_sizes(f.store, TB_SIZE_BY_ZONE, 9, &sizes, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(sizes[0].name, "waiting");
    ck_assert_int_eq(sizes[0].bytes, ask(&f, "SELECT sum(length(data)+length(zones)) FROM log_run"));
    ok(tb_store_logs_before(f.store, NOW_MS, &blocks, &bytes, &err));
    ck_assert_uint_eq(blocks, 2);
    ck_assert_int_eq((int64_t)bytes, sizes[0].bytes);
    free(sizes);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_window_reaches_what_waits_at_its_ends)
{
    fixture f;
    uint64_t sum;
    const int64_t last = NOW_MS - 2 * HOUR;
    fixture_init(&f);
    put_mixed(&f, 2, 3, last, 0); /* of each at last - 2000, last - 1000, last */
    ck_assert_uint_eq(count(&f, 1, &(tb_log_filter){.from_ms = last, .to_ms = INT64_MAX}, false, &sum), 1);
    ck_assert_uint_eq(count(&f, 1, &(tb_log_filter){.from_ms = last + 1, .to_ms = INT64_MAX}, true, &sum), 0);
    ck_assert_uint_eq(count(&f, 2, &(tb_log_filter){.from_ms = 0, .to_ms = last - 1999}, true, &sum), 1);
    ck_assert_uint_eq(count(&f, 2, &(tb_log_filter){.from_ms = 0, .to_ms = last - 2000}, false, &sum), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_folded_goes_with_the_batches_after_it)
{
    fixture f;
    fixture_init(&f);
    fold_soon(&f, 40);
    for (int i = 0; i < 40; i++) {
        put_mixed(&f, 10, 2, NOW_MS - 2 * HOUR + i * 1000, 100 * i);
        ck_assert_uint_eq(lines(&f, 1 + i % 10), 2 * (size_t)(i + 1));
        ck_assert_int_le(ask(&f, "SELECT count(*) FROM log_run"), 12);
        if (i % 8 == 0) ck_assert_uint_eq(differences(&f), 0);
    }
    ck_assert_int_gt(ask(&f, "SELECT count(*) FROM log_block"), 10);
    fixture_release(&f);
}
END_TEST

static int64_t waiting(fixture *f)
{
    return ask(f, "SELECT count(*) FROM log_run WHERE id>(SELECT value FROM meta WHERE name='log_run_spent')");
}

/* The zone that is folded next. */
static int64_t folding_at(fixture *f)
{
    return ask(f, "SELECT value FROM meta WHERE name='log_fold_zone'");
}

START_TEST(a_block_does_not_overtake_what_waits)
{
    fixture f;
    fixture_init(&f);
    put_mixed(&f, 2, 3, NOW_MS - 2 * HOUR, 0);
    put(&f, 2, NOW_MS - 2 * HOUR, 1, 50, 0);
    ck_assert_int_eq(waiting(&f), 2);
    fold_soon(&f, 1); /* of so few lines now, and one zone at a time */
    put(&f, 2, NOW_MS - 2 * HOUR, 1, 1000, 0);
    ck_assert_int_eq(waiting(&f), 3);
    ck_assert_int_eq(folding_at(&f), 2);
    ck_assert_uint_eq(lines(&f, 2), 1053);
    put(&f, 2, NOW_MS - 2 * HOUR, 1, 255, 0);
    ck_assert_int_eq(waiting(&f), 1);
    put(&f, 2, NOW_MS - 2 * HOUR, 1, 1, 0);
    ck_assert_int_eq(waiting(&f), 0); /* 256 lines of two runs weigh so much */
    put(&f, 2, NOW_MS - 2 * HOUR, 1, 1, 0);
    ck_assert_int_eq(waiting(&f), 0);
    ck_assert_uint_eq(lines(&f, 2), 1053 + 257);
    ck_assert_uint_eq(lines(&f, 1), 3);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_hardly_joined_any_more_is_folded_soon)
{
    fixture f;
    fixture_init(&f);
    put_mixed(&f, 2, 3, NOW_MS - 2 * HOUR, 0);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, TB_LOGBLOCK_LINES - 6, 0); /* half a block each */
    ck_assert_int_eq(waiting(&f), 2);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, TB_LOGBLOCK_LINES / 2 + 1, 0);
    ck_assert_int_eq(waiting(&f), 0);
    ck_assert_uint_eq(lines(&f, 3), TB_LOGBLOCK_LINES * 3 / 2 - 5);
    fixture_release(&f);
}
END_TEST

/* 16,000 lines of a hundred zones wait, and a fold has begun: those of the first fifty are in their places. */
static void fold_half(fixture *f)
{
    fixture_init(f);
    tb__log_compaction_of(f->store)->weight = 16 * (1000 + 256);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(folding_at(f), 0);
        put_mixed(f, 100, 10, NOW_MS - 2 * HOUR, 0);
    }
    ck_assert_int_eq(waiting(f), 16);
    ck_assert_int_eq(folding_at(f), 51);
}

START_TEST(twice_what_comes_is_folded)
{
    fixture f;
    fold_half(&f);
    for (int i = 0; i < 3; i++) {
        put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0);
        ck_assert_int_eq(folding_at(&f), 51);
    }
    put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0);
    ck_assert_int_eq(waiting(&f), 4);
    ck_assert_int_eq(folding_at(&f), 0);
    ck_assert_uint_eq(lines(&f, 100), 200);
    fixture_release(&f);
}
END_TEST

START_TEST(a_fold_takes_what_may_be_in_memory)
{
    fixture f;
    fixture_init(&f);
    fold_soon(&f, 1000);
    tb__log_compaction_of(f.store)->bytes = 1;
    for (int i = 0; i < 3; i++)
        put_mixed(&f, 10, 2, NOW_MS - 2 * HOUR, 0);
    ck_assert_int_eq(waiting(&f), 2); /* one at least is folded, whatever it takes */
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_spent_goes_as_lines_come)
{
    fixture f;
    fold_half(&f);
    for (int i = 0; i < 4; i++)
        put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 20); /* 16 are spent, a thousand lines each */
    put_mixed(&f, 2, 1, NOW_MS - 2 * HOUR, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 20);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, 3000, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 18);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, 3001, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 15);
    ck_assert_int_eq(waiting(&f), 7);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

/* A run weighs its lines and 256 more; a fold begins at 229,376. */
START_TEST(a_fold_begins_at_its_weight)
{
    fixture f;
    fixture_init(&f);
    put_mixed(&f, 2, 1, NOW_MS - 2 * HOUR, 0);
    for (int i = 0; i < 53; i++)
        put(&f, 3, NOW_MS - 2 * HOUR, 1, 4000, 0);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, 229376 - 258 - 53 * 4256 - 256 - _i, 0);
    ck_assert_int_eq(waiting(&f), _i ? 55 : 0);
    fixture_release(&f);
}
END_TEST

/* As many runs as are to be folded, and others: what was read for a fold that was undone is not what is folded. */
START_TEST(a_fold_that_was_undone_is_read_again)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fold_soon(&f, 1);
    for (int i = 0; i < 3; i++)
        put_mixed(&f, 2, 5, NOW_MS - 2 * HOUR, 100 * i);
    ck_assert_int_eq(folding_at(&f), 2);
    ok(tb_store_begin(f.store, &err));
    fold_soon(&f, 1000);
    mix(&f, 2, 1, NOW_MS - 2 * HOUR, 0); /* the fold is over */
    fold_soon(&f, 1);
    for (int i = 0; i < 2; i++)
        mix(&f, 2, 1, NOW_MS - 2 * HOUR, 0); /* and one of three runs begins */
    ck_assert_int_eq(folding_at(&f), 2);
    tb_store_rollback(f.store);
    fold_soon(&f, 1000);
    put_mixed(&f, 2, 1, NOW_MS - 2 * HOUR, 900);
    ck_assert_uint_eq(lines(&f, 2), 16);
    ck_assert_uint_eq(lines(&f, 1), 16);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

/* One part; whether there was any. */
static bool fold_part(fixture *f, tb_compact_walk *walk)
{
    tb_error err = {0};
    bool more;
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_compact_pending(f->store, walk, &more, &err));
    ok(tb_store_commit(f->store, &err));
    return more;
}

START_TEST(what_waits_is_folded_part_by_part)
{
    fixture f;
    tb_compact_walk usage = {.logs = false}, walk = {.logs = true};
    fixture_init(&f);
    ck_assert(!fold_part(&f, &walk)); /* nothing waits */
    for (int i = 0; i < 20; i++)
        put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0);
    ck_assert(!fold_part(&f, &usage));
    ck_assert_int_eq(waiting(&f), 20);
    ck_assert(fold_part(&f, &walk)); /* it begins */
    ck_assert_int_eq(waiting(&f), 20);
    ck_assert_int_eq(folding_at(&f), 0);
    ck_assert_int_eq(ask(&f, "SELECT value FROM meta WHERE name='log_fold_run'"), 20);
    ck_assert(fold_part(&f, &walk));
    ck_assert_int_eq(folding_at(&f), 1 + (16384 + 199) / 200);
    put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0); /* it is not meant */
    ck_assert(fold_part(&f, &walk));
    ck_assert_int_eq(waiting(&f), 1);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 21);
    ck_assert(fold_part(&f, &walk)); /* what is spent goes, 16 at a time */
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 5);
    ck_assert(fold_part(&f, &walk));
    ck_assert(!fold_part(&f, &walk));
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 1);
    ck_assert_int_eq(waiting(&f), 1);
    ck_assert_uint_eq(lines(&f, 100), 210);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

/* What a fold that is under way does not cover is folded behind it. */
START_TEST(what_came_while_it_was_folded_is_folded_too)
{
    fixture f;
    tb_compact_walk walk = {.logs = true};
    fold_half(&f);
    put_mixed(&f, 100, 10, NOW_MS - 2 * HOUR, 0);
    while (fold_part(&f, &walk))
        continue;
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 0);
    ck_assert_uint_eq(lines(&f, 1), 170);
    ck_assert_uint_eq(lines(&f, 100), 170);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(much_that_comes_has_its_part_of_a_fold_at_once)
{
    fixture f;
    fold_half(&f);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, 2047, 0);
    ck_assert_int_eq(folding_at(&f), 51);
    put(&f, 3, NOW_MS - 2 * HOUR, 1, 2048, 0);
    ck_assert_int_eq(folding_at(&f), 51 + 4096 / 160 + 1);
    put_mixed(&f, 1, 1, NOW_MS - 2 * HOUR, 0);
    put_mixed(&f, 1, 1, NOW_MS - 2 * HOUR, 0); /* the fourth, with the least that is folded */
    ck_assert_int_eq(waiting(&f), 4);
    ck_assert_uint_eq(lines(&f, 3), 160 + 2047 + 2048);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_run_goes_when_its_last_line_is_three_days_old)
{
    fixture f;
    fixture_init(&f);
    put_mixed(&f, 3, 5, NOW_MS, 0);
    put_mixed(&f, 3, 5, NOW_MS + 5, 0);
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS), 0);
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS + 1), 1);
    ck_assert_uint_eq(lines(&f, 3), 5);
    ck_assert(f.store->scrub);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_spent_run_that_goes_is_nothing_that_was_there)
{
    fixture f;
    fixture_init(&f);
    fold_soon(&f, 1000);
    put_mixed(&f, 10, 2, NOW_MS, 0);
    put_mixed(&f, 10, 2, NOW_MS, 0);
    put_mixed(&f, 10, 2, NOW_MS + 5, 0); /* the blocks of them all go as the last one does */
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 3);
    ck_assert_int_eq(waiting(&f), 0);
    f.store->scrub = false;
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS + 1), 0);
    ck_assert(f.store->scrub);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 1);
    ck_assert_uint_eq(drop(&f, NOW_MS + TB_LOG_KEPT_MS + 6), 10);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_run"), 0);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

static uint64_t waiting_of(fixture *f, int64_t account)
{
    tb__log_held held;
    tb_error err = {0};
    ok(tb__log_runs_held(f->store, account, &held, &err));
    return held.blocks;
}

/* Of lines that are the same as many go as are withdrawn; what is not there is not counted. */
START_TEST(a_line_goes_for_each_that_is_withdrawn)
{
    fixture f;
    fixture_init(&f);
    for (int i = 0; i < 3; i++)
        put(&f, 1, NOW_MS - 2 * HOUR, 0, 2, 7); /* 7 and 8 bytes */
    ck_assert_uint_eq(take_back(&f, 1, NOW_MS - 2 * HOUR, 0, 2, 8), 1); /* 8 and 9 */
    ck_assert_uint_eq(lines(&f, 1), 5);
    ck_assert_uint_eq(take_back(&f, 1, NOW_MS - 2 * HOUR, 0, 1, 7), 1);
    ck_assert_uint_eq(lines(&f, 1), 4);
    ck_assert_uint_eq(take_back(&f, 1, NOW_MS - 2 * HOUR + 1, 0, 1, 7), 0);
    ck_assert_uint_eq(lines(&f, 1), 4);
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_too_old_goes_as_far_as_there_is_room)
{
    fixture f;
    tb_error err = {0};
    uint64_t dropped;
    fixture_init(&f);
    for (int i = 0; i < 300; i++)
        put(&f, 1 + i, NOW_MS - 2 * HOUR, 1, 1, 0);
    put_mixed(&f, 3, 1, NOW_MS - 2 * HOUR, 0);
    put_mixed(&f, 3, 1, NOW_MS - 2 * HOUR, 0);
    static const size_t rooms[] = {1, 2, 257, 256}, left[] = {1, 299, 42, 0};
    for (size_t i = 0; i < 4; i++) {
        size_t room = rooms[i];
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_drop_some_logs(f.store, NOW_MS, &room, &dropped, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_uint_eq(dropped, i < 3 ? rooms[i] : 42);
        ck_assert_uint_eq(room, rooms[i] - dropped);
        ck_assert_int_eq(ask(&f, i ? "SELECT count(*) FROM log_block" : "SELECT count(*) FROM log_run"), (int64_t)left[i]);
    }
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(what_waits_of_an_account_is_counted)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    put_mixed(&f, 2, 3, NOW_MS - 2 * HOUR, 0);
    put_mixed(&f, 3, 3, NOW_MS - 2 * HOUR, 0);
    ck_assert_uint_eq(waiting_of(&f, 1), 4);
    ck_assert_uint_eq(waiting_of(&f, 2), 1);
    ck_assert_uint_eq(waiting_of(&f, 3), 0);
    fold_soon(&f, 1);
    put_mixed(&f, 3, 3, NOW_MS - 2 * HOUR, 0); /* the first zone lies in its place */
    ck_assert_int_eq(folding_at(&f), 2);
    ck_assert_uint_eq(waiting_of(&f, 1), 3);
    fold_soon(&f, 1000);
    put_mixed(&f, 3, 3, NOW_MS - 2 * HOUR, 0); /* three runs are spent, and one waits */
    ck_assert_uint_eq(waiting_of(&f, 1), 2);
    f.store->scrub = false;
    size_t room = 9;
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_forget_logs(f.store, 1, &room, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(room, 0);
    ck_assert(f.store->scrub);
    fixture_release(&f);
}
END_TEST

START_TEST(a_run_that_goes_while_it_is_folded_does_not_come_back)
{
    fixture f;
    fixture_init(&f);
    fold_soon(&f, 1);
    for (int i = 0; i < 3; i++) /* the first, the one between, the last */
        put_mixed(&f, 10, 2, i == _i ? NOW_MS - 3 * HOUR : NOW_MS, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(DISTINCT zone) FROM log_block"), 1);
    ck_assert_uint_eq(drop(&f, NOW_MS - 2 * HOUR + TB_LOG_KEPT_MS), 1);
    fold_soon(&f, 1000);
    put_mixed(&f, 10, 2, NOW_MS, 0);
    ck_assert_int_eq(ask(&f, "SELECT count(DISTINCT zone) FROM log_block"), 10);
    ck_assert_uint_eq(lines(&f, 10), 6);
    ck_assert_uint_eq(lines(&f, 1), 8); /* its part of the old run was in its place already */
    ck_assert_uint_eq(differences(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_what_was_done_to_a_run)
{
    static const char *const damage[] = {
        "DELETE FROM log_run WHERE id=1",
        "UPDATE log_run SET id=9 WHERE id=1",
        "UPDATE log_run SET lines=lines+1 WHERE id=1",
        "UPDATE log_run SET lines=9000 WHERE id=1",
        "UPDATE log_run SET last_ms=last_ms+1 WHERE id=1",
        "UPDATE log_run SET seal=seal+1 WHERE id=1",
        "UPDATE log_run SET zones=(SELECT zones FROM log_run WHERE id=2) WHERE id=1",
        "UPDATE log_run SET data=(SELECT data FROM log_run WHERE id=2) WHERE id=1",
        "UPDATE log_run SET zones=X'' WHERE id=1",
        "UPDATE log_run SET data=zeroblob(length(data)) WHERE id=1",
        "UPDATE meta SET value=value+1 WHERE name='log_run_seals'",
        "UPDATE meta SET value=3 WHERE name='log_fold_zone'",
        "UPDATE meta SET value=-1 WHERE name='log_run_spent'",
    };
    fixture f;
    fixture_image sound;
    fixture_init(&f);
    put_mixed(&f, 3, 5, NOW_MS - 2 * HOUR, 0);
    put_mixed(&f, 3, 5, NOW_MS - 2 * HOUR, 70);
    ck_assert_uint_eq(differences(&f), 0);
    ask(&f, "DROP TRIGGER log_run_no_update");
    fixture_keep(&f, &sound);
    fixture_release(&f);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        fixture_again(&f, &sound);
        ask(&f, damage[i]);
        ck_assert_msg(differences(&f) >= 2, "%s", damage[i]); /* the trigger is one */
        fixture_release(&f);
    }
    free(sound.bytes);
}
END_TEST

/* A tree of some hundred entries that come and go: verify reads every byte of its nodes. */
START_TEST(the_index_keeps_nothing_of_what_was_dropped)
{
    fixture f;
    uint64_t dropped = 0;
    srand((unsigned)test_seed());
    fixture_init(&f);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 80; i++)
            put(&f, 1 + rand() % 500, NOW_MS + (rand() % 100 + 10 * round) * HOUR, 2 * HOUR,
                1 + (size_t)(rand() % 3), i);
        ck_assert_uint_eq(differences(&f), 0);
        dropped += drop(&f, NOW_MS + TB_LOG_KEPT_MS + (40 + 12 * round) * HOUR);
        ck_assert_uint_eq(differences(&f), 0);
    }
    ck_assert_uint_gt(dropped, 100);
    drop(&f, NOW_MS * 2);
    ck_assert_uint_eq(differences(&f), 0);
    ck_assert_int_eq(ask(&f, "SELECT count(*) FROM log_span_node WHERE data<>zeroblob(length(data))"),
                     0);
    fixture_release(&f);
}
END_TEST

/* Lines of one zone whose clients have this network: 0 is none. */
static void network_line(void *ctx, size_t i, tb_logline *ret)
{
    const char *asn = ctx;
    *ret = (tb_logline){.time_ms = NOW_MS - 1000 + (int64_t)i, .bytes = i, .body_bytes = UINT64_MAX, .status = {"200", 3},
                        .path = {"/x", 2}, .edge = {"DE", 2}, .asn = {asn, strlen(asn)}};
    if (*asn) ret->ja4 = (tb_text){"t13d_a", 6};
}

enum { NETWORK_LINES = 7 };

static void pack_network(const char *asn, tb_buf *out, tb_loginfo *info)
{
    int64_t times[NETWORK_LINES];
    char text[16];
    tb_error err = {0};
    tb_logpack *pack = tb_logpack_new();
    snprintf(text, sizeof text, "%s", asn);
    for (int i = 0; i < NETWORK_LINES; i++)
        times[i] = NOW_MS - 1000 + i;
    tb_buf_init(out, TB_LOGBLOCK_MAX, NULL);
    ok(tb_logpack_block(pack, &(tb_loglines){1, times, NETWORK_LINES, network_line, text}, out, info, &err));
    tb_logpack_free(pack);
}

/* A build that did not know the client's network has kept lines without it; the same log now has it. */
START_TEST(lines_that_were_kept_without_the_network_can_be_withdrawn)
{
    static const struct {
        const char *kept, *taken_back;
        uint64_t removed;
    } cases[] = {{"", "64500", NETWORK_LINES}, {"64500", "64500", NETWORK_LINES}, {"64500", "64501", 0}, {"64500", "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        tb_error err = {0};
        tb_loginfo info;
        tb_buf out;
        uint64_t removed = 0;
        fixture_init(&f);
        pack_network(cases[i].kept, &out, &info);
        ck_assert_int_eq(memcmp(out.data, *cases[i].kept ? "TBL2" : "TBL1", 4), 0);
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_add_logs(f.store, &info, out.data, out.len, &err));
        tb_buf_release(&out);
        pack_network(cases[i].taken_back, &out, &info);
        ok(tb_store_withdraw_logs(f.store, &info, out.data, out.len, &removed, &err));
        ok(tb_store_commit(f.store, &err));
        tb_buf_release(&out);
        ck_assert_msg(removed == cases[i].removed, "case %zu: %llu lines", i, (unsigned long long)removed);
        fixture_release(&f);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_logs");
    TCase *t = tcase_create("store_logs");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, zones_of_the_catalogue_with_logging_on_are_kept);
    tcase_add_test(t, a_zone_says_how_its_logs_stand_to_its_account_alone);
    tcase_add_test(t, small_blocks_are_joined_and_nothing_is_lost);
    tcase_add_test(t, where_others_wait_few_are_joined);
    tcase_add_test(t, blocks_far_apart_stay_apart);
    tcase_add_test(t, zones_that_share_a_place_in_the_index_are_told_apart);
    tcase_add_test(t, a_window_reads_what_lies_in_it);
    tcase_add_test(t, a_cursor_says_how_many_bytes_it_holds_open);
    tcase_add_test(t, a_block_goes_when_its_last_line_is_three_days_old);
    tcase_add_test(t, a_reader_goes_on_reading_what_is_dropped_meanwhile);
    tcase_add_test(t, verify_finds_what_was_done_to_a_block);
    tcase_add_test(t, lines_of_many_zones_wait_and_are_found);
    tcase_add_test(t, a_window_reaches_what_waits_at_its_ends);
    tcase_add_test(t, what_is_folded_goes_with_the_batches_after_it);
    tcase_add_test(t, a_block_does_not_overtake_what_waits);
    tcase_add_test(t, what_is_hardly_joined_any_more_is_folded_soon);
    tcase_add_test(t, twice_what_comes_is_folded);
    tcase_add_test(t, a_fold_takes_what_may_be_in_memory);
    tcase_add_test(t, what_is_spent_goes_as_lines_come);
    tcase_add_loop_test(t, a_fold_begins_at_its_weight, 0, 2);
    tcase_add_test(t, a_fold_that_was_undone_is_read_again);
    tcase_add_test(t, what_waits_is_folded_part_by_part);
    tcase_add_test(t, what_came_while_it_was_folded_is_folded_too);
    tcase_add_test(t, much_that_comes_has_its_part_of_a_fold_at_once);
    tcase_add_test(t, a_run_goes_when_its_last_line_is_three_days_old);
    tcase_add_test(t, a_spent_run_that_goes_is_nothing_that_was_there);
    tcase_add_test(t, a_line_goes_for_each_that_is_withdrawn);
    tcase_add_test(t, what_is_too_old_goes_as_far_as_there_is_room);
    tcase_add_test(t, what_waits_of_an_account_is_counted);
    tcase_add_loop_test(t, a_run_that_goes_while_it_is_folded_does_not_come_back, 0, 3);
    tcase_add_test(t, verify_finds_what_was_done_to_a_run);
    tcase_add_test(t, the_index_keeps_nothing_of_what_was_dropped);
    tcase_add_test(t, lines_that_were_kept_without_the_network_can_be_withdrawn);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
