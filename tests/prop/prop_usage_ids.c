/* Which rows on usage servers count, as a condition of a statement says it, against a list of the rows there are: batches that were
 * committed, undone or cut off, months that were compacted once and again, and compactions that failed. The condition is run by SQLite.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"
#include "prop/random.h"
#include "seed.h"
#include "unit/usage_writer.h"

#include <check.h>
#include <unistd.h>

#define LIVES  12 /* of a file */
#define STEPS  40
#define MONTHS 3
#define FIRST  ((2026 - 1970) * 12)
#define ROWS   800

/* --- what there is --- */

static struct {
    int64_t last, next; /* committed, and to be given */
    struct {
        int64_t hour, id;
        bool counts;
    } row[ROWS];
    size_t n;
} life;

static void add_row(int64_t month, int64_t id, bool counts)
{
    const int64_t hours = (tb_month_first_day(month + 1) - tb_month_first_day(month)) * 24;
    ck_assert_uint_lt(life.n, ROWS);
    life.row[life.n].hour = tb_month_first_day(month) * 24 + (int64_t)below((uint64_t)hours);
    life.row[life.n].id = id;
    life.row[life.n++].counts = counts;
}

static int64_t month_of(size_t row)
{
    return tb_month_from_day(life.row[row].hour / 24);
}

static tb_code put(tb_store *store, const char *of, int64_t which, int64_t value, tb_error *err)
{
    char name[60];
    snprintf(name, sizeof name, "%s%lld", of, (long long)which);
    return tb__ch_meta_put(store, name, value, err);
}

static tb_code step(tb_store *store, void *ctx, tb_error *err)
{
    const int64_t month = FIRST + (int64_t)below(MONTHS), span = life.next >> TB__CH_ID_BITS;
    tb_code code = TB_OK;
    (void)ctx;
    const uint64_t kind = below(9);
    if (kind < 3) { /* committed, and perhaps one before it was undone */
        const int64_t undone = (int64_t)below(2);
        if (undone) add_row(month, life.next, false);
        if (undone) code = put(store, "usage_gap_", life.next, life.next, err);
        life.last = life.next + undone;
        life.next = life.last + 1;
        add_row(FIRST + (int64_t)below(MONTHS), life.last, true);
    } else if (kind == 3) { /* cut off: a writer begins anew */
        for (uint64_t i = below(3); i; i--)
            add_row(month, life.next++, false);
        const int64_t from = (span + 1 + (int64_t)below(3)) << TB__CH_ID_BITS;
        for (int64_t id = (span + 1) << TB__CH_ID_BITS; id < from; id += INT64_C(1) << TB__CH_ID_BITS) {
            add_row(month, id, false); /* of a file of which this one is an older copy */
            add_row(month, id + 1, false);
        }
        code = put(store, "usage_gap_", life.last + 1, from - 1, err);
        life.last = from;
        life.next = from + 1;
    } else if (kind < 7) { /* compacted; or it fails */
        const int64_t id = (span + 1) << TB__CH_ID_BITS;
        const bool good = below(3);
        const uint64_t cut = below(2);
        for (uint64_t i = 0; i < cut; i++)
            add_row(month, life.next++, false);
        if (cut) code = put(store, "usage_gap_", life.last + 1, id - 1, err);
        for (size_t i = 0; good && i < life.n; i++)
            if (month_of(i) == month) life.row[i].counts = false;
        add_row(month, id, good);
        if (good && !code) code = put(store, "usage_month_", month, id >> TB__CH_ID_BITS, err);
        life.last = id + (INT64_C(1) << TB__CH_ID_BITS);
        life.next = life.last + 1;
    }
    if (kind == 8) { /* commits that failed, with the rest of their lives; some batches are at the end of one, and go on into the next */
        const int64_t first = life.next += below(2) ? TB__CH_LIFE_MAX - 2 : 0;
        for (uint64_t tries = 1 + below(3); tries; tries--) {
            for (uint64_t rows = 1 + below(3); rows; rows--)
                add_row(month, life.next++, false);
            life.next = ((life.next - 1) | TB__CH_LIFE_MAX) + 1;
        }
        code = put(store, "usage_gap_", first, life.next - 1, err);
        if (below(2)) life.next += TB__CH_LIFE_MAX - 2;
        for (uint64_t rows = below(4); rows; rows--)
            add_row(month, life.next++, true);
        life.last = life.next - 1;
    }
    return code ? code : tb__ch_meta_put(store, "usage_batch", life.last, err);
}

/* --- what the condition says --- */

static void bit_and(sqlite3_context *ctx, int n, sqlite3_value **list)
{
    (void)n;
    sqlite3_result_int64(ctx, sqlite3_value_int64(list[0]) & sqlite3_value_int64(list[1]));
}

static void shift_right(sqlite3_context *ctx, int n, sqlite3_value **list)
{
    (void)n;
    sqlite3_result_int64(ctx, sqlite3_value_int64(list[0]) >> sqlite3_value_int64(list[1]));
}

static void least(sqlite3_context *ctx, int n, sqlite3_value **list)
{
    const int64_t a = sqlite3_value_int64(list[0]), b = sqlite3_value_int64(list[1]);
    (void)n;
    sqlite3_result_int64(ctx, a < b ? a : b);
}

static void to_u32(sqlite3_context *ctx, int n, sqlite3_value **list)
{
    (void)n;
    sqlite3_result_int64(ctx, (uint32_t)sqlite3_value_int64(list[0]));
}

/* Lists come as texts. */
static void transform(sqlite3_context *ctx, int n, sqlite3_value **list)
{
    const char *from = (const char *)sqlite3_value_text(list[1]), *to = (const char *)sqlite3_value_text(list[2]);
    (void)n;
    while (from && to && strtoll(from, NULL, 10) != sqlite3_value_int64(list[0])) {
        from = strchr(from, ',');
        to = strchr(to, ',');
        if (from && to) from++, to++;
    }
    if (from && to) sqlite3_result_int64(ctx, strtoll(to, NULL, 10));
    else sqlite3_result_value(ctx, list[3]);
}

static sqlite3 *open_judge(void)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_create_function(db, "bitAnd", 2, SQLITE_UTF8, NULL, bit_and, NULL, NULL);
    sqlite3_create_function(db, "bitShiftRight", 2, SQLITE_UTF8, NULL, shift_right, NULL, NULL);
    sqlite3_create_function(db, "least", 2, SQLITE_UTF8, NULL, least, NULL, NULL);
    sqlite3_create_function(db, "toUInt32", 1, SQLITE_UTF8, NULL, to_u32, NULL, NULL);
    sqlite3_create_function(db, "toUInt32OrZero", 1, SQLITE_UTF8, NULL, to_u32, NULL, NULL);
    sqlite3_create_function(db, "transform", 4, SQLITE_UTF8, NULL, transform, NULL, NULL);
    return db;
}

static bool counts(sqlite3 *db, const char *condition, size_t row)
{
    sqlite3_stmt *s = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM (SELECT %lld AS h,%lld AS batch) WHERE 1%s", (long long)life.row[row].hour,
                                (long long)life.row[row].id, condition);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    const bool found = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    sqlite3_free(sql);
    return found;
}

static void compare(tb_store *store, sqlite3 *db)
{
    const int64_t from = FIRST + (int64_t)below(MONTHS), to = from + 1 + (int64_t)below(MONTHS);
    tb__ch_hours_of between = {tb__ch_month_hours(from).first + (int64_t)below(500), tb__ch_month_hours(to).first - (int64_t)below(200)};
    tb_buf *sql = tb__ch_start(store);
    tb_error err;
    if (!below(4)) between = TB__CH_EVER;
    ck_assert_msg(tb__ch_put_months(store, sql, TB__CH_CELL, between, &err) == TB_OK, "%s", err.message);
    tb_buf_add(sql, "", 1);
    for (char *at = sql->data; (at = strpbrk(at, "[]"));)
        *at = '\'';
    for (size_t i = 0; i < life.n; i++)
        if (life.row[i].hour >= between.first && life.row[i].hour < between.end)
            ck_assert_msg(counts(db, sql->data, i) == life.row[i].counts, "hour %lld, id %lld (%lld of span %lld) %s:%s",
                          (long long)life.row[i].hour, (long long)life.row[i].id,
                          (long long)(life.row[i].id & ((INT64_C(1) << TB__CH_ID_BITS) - 1)),
                          (long long)(life.row[i].id >> TB__CH_ID_BITS), life.row[i].counts ? "counts" : "does not count", sql->data);
}

/* --- a server that is new, and has nothing --- */

static tb_code ask(void *ctx, const tb_usage_statement *of, tb_buf *answer, tb_error *err)
{
    static const uint64_t first[] = {1, 1};
    static usage_writer writer;
    (void)ctx, (void)err;
    if (usage_writer_answers(&writer, of->sql, answer)) return TB_OK;
    if (strstr(of->sql, "max(shard)")) tb_buf_add(answer, first, sizeof first);
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask};

static void live(sqlite3 *db)
{
    const tb_store_options options = {.write = true, .owner = "test", .usage = &client};
    char path[] = "/tmp/tollbook-ids-XXXXXX";
    tb_store *store = NULL;
    tb_error err;
    close(mkstemp(path));
    unlink(path);
    ck_assert_int_eq(tb_store_create(path, NULL, &err), TB_OK);
    ck_assert_msg(tb_store_open(path, &options, &store, &err) == TB_OK, "%s", err.message);
    life.n = 0;
    life.last = INT64_C(1) << TB__CH_ID_BITS; /* as opening it left it */
    life.next = life.last + 1;
    for (int i = 0; i < STEPS; i++) {
        ck_assert_msg(tb_store_write(store, step, NULL, &err) == TB_OK, "%s", err.message);
        compare(store, db);
    }
    tb_store_close(store);
    unlink(path);
}

START_TEST(what_counts_is_what_was_committed_or_compacted_last)
{
    sqlite3 *db = open_judge();
    for (int i = 0; i < LIVES * (test_long() ? 50 : 1); i++)
        live(db);
    sqlite3_close(db);
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("usage_ids");
    TCase *t = tcase_create("usage_ids");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, what_counts_is_what_was_committed_or_compacted_last);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
