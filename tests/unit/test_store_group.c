/* Batches of one transaction that are grouped (tb_store_group_batches): they become one run, whatever is undone among
 * them, and nobody sees a difference. That every answer stays the same is prop_runs'. */
#include "store_fixture.h"
#include "store/core/internal.h"
#include "tollbook/batches.h"

#define HOUR 498000 /* long before NOW_US */
static const tb_range all_hours = {HOUR - 400, 500, true};

static const char catalog[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"load_balancers\":[],\"zones\":["
                              "{\"id\":1,\"account\":1,\"name\":\"x\"},{\"id\":2,\"account\":1,\"name\":\"y\"}]}";

static void begin(fixture *f)
{
    tb_error err = {0};
    fixture_init(f);
    fixture_apply(f, catalog, NOW_US, NULL);
    ok(tb_store_begin(f->store, &err));
}

static tb_code add_pack(fixture *f, const tb_row *rows, size_t n)
{
    tb_error err = {0};
    const tb_directory *directory = NULL;
    bool stale = false;
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    tb_usage_pack *pack = tb_usage_pack_new();
    for (size_t i = 0; i < n; i++)
        ok(tb_rollup_add_row(rollup, &rows[i], &err));
    ok(tb_store_directory(f->store, false, &directory, &err));
    ok(tb_usage_pack_fill(pack, &rollup, 1, directory->ever_logged, &err));
    tb_code code = tb_store_add_packed(f->store, pack, &stale, &err);
    ck_assert(!stale);
    tb_usage_pack_free(pack);
    tb_rollup_free(rollup);
    return code;
}

enum { KEPT, UNDONE };

/* A batch behind its mark, as a server's writer runs it. */
static tb_code batch(fixture *f, const tb_row *rows, size_t n, bool grouped, int end)
{
    static uint64_t number;
    tb_error err = {0};
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {++number, 7},
                          .head = {number, 1}, .accepted = n, .final = true, .now_us = NOW_US};
    ok(tb_store_group_batches(f->store, grouped, &err));
    ok(tb_store_mark(f->store, &err));
    tb_code code = add_pack(f, rows, n);
    if (!code) code = tb_store_add_segment(f->store, &segment, NULL, &err);
    if (!code && end == KEPT) ok(tb_store_keep_mark(f->store, &err));
    else tb_store_back_to_mark(f->store);
    return code;
}

static void bytes(fixture *f, int64_t zone, const char *edge, uint64_t value, int end)
{
    const tb_row row = row_of(zone, edge, HOUR, TB_M_BYTES, value);
    ck_assert_int_eq(batch(f, &row, 1, true, end), TB_OK);
}

static bool on_count(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)n;
    if (!is_header) *(int *)ctx = atoi(cells[0]);
    return true;
}

static int count(fixture *f, const char *sql)
{
    tb_error err = {0};
    int n = -1;
    ok(tb_store_query(f->store, sql, on_count, &n, &err));
    return n;
}

static int runs(fixture *f)
{
    return count(f, "SELECT count(*) FROM usage_run WHERE kind=0");
}

static void ends_with(fixture *f, uint64_t first, uint64_t second)
{
    tb_error err = {0};
    ok(tb_store_commit(f->store, &err));
    ck_assert_uint_eq(total_of(f, (tb_view){1, 1, -1}, all_hours, TB_M_BYTES), first);
    ck_assert_uint_eq(total_of(f, (tb_view){1, 2, -1}, all_hours, TB_M_BYTES), second);
    ck_assert_uint_eq(total_of(f, (tb_view){1, -1, -1}, all_hours, TB_M_BYTES), first + second);
    fixture_verify(f);
}

START_TEST(several_batches_are_one_run)
{
    fixture f;
    const tb_row both[2] = {row_of(1, "DE", HOUR, TB_M_BYTES, 10), row_of(2, "DE", HOUR, TB_M_BYTES, 11)};
    begin(&f);
    ck_assert_int_eq(batch(&f, both, 2, true, KEPT), TB_OK);
    for (uint64_t i = 2; i < 40; i++)
        bytes(&f, 1 + (int64_t)i % 2, "DE", 10 + i, KEPT);
    ends_with(&f, 20 * 10 + 380, 20 * 10 + 400);
    ck_assert_int_eq(runs(&f), 1);
    /* Zones and the account: a day each. */
    ck_assert_int_eq(count(&f, "SELECT entries FROM usage_run WHERE kind=0"), 3);
    fixture_release(&f);
}
END_TEST

START_TEST(an_undone_batch_leaves_the_others)
{
    fixture f;
    begin(&f);
    bytes(&f, 1, "DE", 1, KEPT);
    bytes(&f, 2, "DE", 10, UNDONE);
    bytes(&f, 1, "DE", 100, KEPT);
    bytes(&f, 1, "DE", 1000, UNDONE);
    ends_with(&f, 101, 0);
    ck_assert_int_eq(runs(&f), 1);
    fixture_release(&f);
}
END_TEST

/* A second location copies what the first one holds, and an account's second pull zone what that holds: what waits is
 * written before, and that may be undone. */
START_TEST(a_second_location_reads_what_waits)
{
    fixture f;
    begin(&f);
    bytes(&f, 1, "DE", 1, KEPT);
    bytes(&f, 1, "UK", 10, UNDONE);
    bytes(&f, 2, "DE", 100, KEPT);
    bytes(&f, 1, "UK", 1000, KEPT);
    bytes(&f, 1, "DE", 10000, KEPT);
    ends_with(&f, 11001, 100);
    ck_assert_int_eq(runs(&f), 3);
    fixture_release(&f);
}
END_TEST

/* What is added as it comes does so, too, and so does what is not gathered. */
START_TEST(others_find_what_waits_in_the_file)
{
    fixture f;
    tb_error err = {0};
    const tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {1, 8}, .head = {1, 8},
                                .accepted = 1, .final = true, .now_us = NOW_US};
    const tb_row uk = row_of(1, "UK", HOUR, TB_M_BYTES, 10), more = row_of(2, "DE", HOUR, TB_M_BYTES, 1000);
    begin(&f);
    bytes(&f, 1, "DE", 1, KEPT);
    ok(tb_store_mark(f.store, &err));
    ok(add_rows(&f, &uk, 1, &err));
    tb_store_back_to_mark(f.store);
    bytes(&f, 1, "DE", 100, KEPT);
    ck_assert_int_eq(runs(&f), 0);
    ok(add_rows(&f, &uk, 1, &err));
    ok(tb_store_add_segment(f.store, &segment, NULL, &err));
    ck_assert_int_eq(runs(&f), 1);
    ok(tb_store_group_batches(f.store, false, &err));
    ck_assert_int_eq(runs(&f), 2);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 1, -1}, all_hours, TB_M_BYTES), 111);
    ck_assert_int_eq(batch(&f, &more, 1, false, KEPT), TB_OK);
    ck_assert_int_eq(runs(&f), 3);
    bytes(&f, 2, "DE", 10000, KEPT);
    ends_with(&f, 111, 11000);
    ck_assert_int_eq(runs(&f), 4);
    fixture_release(&f);
}
END_TEST

START_TEST(a_rollback_leaves_nothing)
{
    fixture f;
    tb_error err = {0};
    begin(&f);
    bytes(&f, 1, "DE", 1, KEPT);
    tb_store_rollback(f.store);
    ok(tb_store_begin(f.store, &err));
    bytes(&f, 2, "DE", 10, KEPT);
    ends_with(&f, 0, 10);
    fixture_release(&f);
}
END_TEST

/* The account's counter would pass the limit with the second of two batches. That one goes to its place, and fails
 * there; what waited before it stays, though it was written and folded for it. */
START_TEST(a_full_counter_fails_its_own_batch)
{
    enum { HOURS = 6 };
    const uint64_t large = UINT64_C(1000000000000000000);
    fixture f;
    tb_row rows[HOURS];
    begin(&f);
    for (int i = 0; i < HOURS; i++)
        rows[i] = row_of(1, "DE", HOUR - HOUR % 24 + i, TB_M_BYTES, large);
    ck_assert_int_eq(batch(&f, rows, HOURS, true, KEPT), TB_OK);
    for (int i = 0; i < HOURS; i++)
        rows[i].id = 2;
    ck_assert_int_eq(batch(&f, rows, HOURS, true, KEPT), TB_E_OVERFLOW);
    bytes(&f, 2, "DE", 5, KEPT);
    ends_with(&f, HOURS * large, 5);
    fixture_release(&f);
}
END_TEST

/* Past some megabytes it is written, and more is gathered. */
START_TEST(much_becomes_several_runs)
{
    enum { ROWS = 6000, BATCHES = 120 };
    static tb_row rows[ROWS];
    uint64_t kept[2] = {0, 0};
    fixture f;
    begin(&f);
    for (int b = 0; b < BATCHES; b++) {
        const int end = b % 7 == 3 ? UNDONE : KEPT;
        for (int i = 0; i < ROWS; i++)
            rows[i] = row_of(1000 + i, "DE", HOUR, TB_M_BYTES, UINT64_C(1) << 40);
        rows[0] = row_of(1 + b % 2, "DE", HOUR, TB_M_BYTES, 1);
        ck_assert_int_eq(batch(&f, rows, ROWS, true, end), TB_OK);
        kept[b % 2] += end == KEPT;
    }
    ends_with(&f, kept[0], kept[1]);
    ck_assert_int_ge(runs(&f), 2);
    ck_assert_int_lt(runs(&f), 8);
    fixture_release(&f);
}
END_TEST

/* SQLite rolled all back while a batch came (no room, for instance): what waited must not be written for itself. */
START_TEST(what_waits_is_not_written_behind_a_lost_transaction)
{
    fixture f;
    tb_error err = {0};
    begin(&f);
    bytes(&f, 1, "DE", 1, KEPT);
    ok(tb_store_group_batches(f.store, true, &err));
    ok(tb_store_mark(f.store, &err));
    ck_assert_int_eq(sqlite3_exec(f.store->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    tb_store_back_to_mark(f.store);
    ck_assert_int_eq(tb_store_group_batches(f.store, false, &err), TB_E_IO);
    ck_assert_int_eq(tb_store_group_batches(f.store, true, &err), TB_E_IO);
    ck_assert_int_eq(tb_store_mark(f.store, &err), TB_E_IO);
    tb_store_rollback(f.store);
    ck_assert_int_eq(runs(&f), 0);
    ok(tb_store_begin(f.store, &err)); /* it was not acknowledged, and comes again */
    bytes(&f, 1, "DE", 1, KEPT);
    ends_with(&f, 1, 0);
    fixture_release(&f);
}
END_TEST

/* Each batch brings a second location, so each one before it is a run of its own: as many are merged. */
START_TEST(runs_stay_few)
{
    enum { GROUPS = 30, BATCHES = 21, BEFORE = 40 };
    fixture f;
    tb_error err = {0};
    fixture_init_in_file(&f);
    fixture_apply(&f, catalog, NOW_US, NULL);
    for (int g = 0, zone = 100; g < GROUPS; g++) {
        ok(tb_store_begin(f.store, &err));
        for (int i = 0; i < BATCHES; i++, zone++) {
            const tb_row rows[2] = {row_of(zone, "DE", HOUR, TB_M_BYTES, 1),
                                    row_of(zone - BEFORE, "UK", HOUR, TB_M_BYTES, 1)};
            ck_assert_int_eq(batch(&f, rows, zone < 100 + BEFORE ? 1 : 2, true, KEPT), TB_OK);
        }
        ok(tb_store_commit(f.store, &err));
    }
    ck_assert_int_lt(runs(&f), 60);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

static void view_of(tb_store *store, size_t locations)
{
    tb_error err = {0};
    tb_series series;
    tb_geo *geo = NULL;
    size_t n = 0;
    const tb_view view = {1, 1, -1};
    ok(tb_series_init(&series, all_hours, TB_METRIC_BIT(TB_M_BYTES), NULL, &err));
    ok(tb_store_read_view(store, &view, &series, &geo, &n, &err));
    ck_assert_uint_eq(n, locations);
    tb_series_release(&series);
    free(geo);
}

/* Who remembers what locations are called, and has no snapshot yet, reads it anew. */
START_TEST(a_location_that_is_new_has_its_name)
{
    fixture f;
    tb_error err = {0};
    tb_store *reader = NULL;
    const tb_store_options options = {.now_us = NOW_US};
    fixture_init_in_file(&f);
    fixture_apply(&f, catalog, NOW_US, NULL);
    ok(tb_store_open(f.path, &options, &reader, &err));
    const tb_row de = row_of(1, "DE", HOUR, TB_M_BYTES, 1), uk = row_of(1, "UK", HOUR, TB_M_BYTES, 1);
    fixture_add(&f, &de, 1, 1);
    view_of(reader, 1);
    fixture_add(&f, &uk, 1, 2);
    ok(tb_store_read_begin(reader, &err));
    view_of(reader, 2);
    tb_store_read_end(reader);
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("gather");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, several_batches_are_one_run);
    tcase_add_test(t, an_undone_batch_leaves_the_others);
    tcase_add_test(t, a_second_location_reads_what_waits);
    tcase_add_test(t, others_find_what_waits_in_the_file);
    tcase_add_test(t, a_rollback_leaves_nothing);
    tcase_add_test(t, a_full_counter_fails_its_own_batch);
    tcase_add_test(t, much_becomes_several_runs);
    tcase_add_test(t, what_waits_is_not_written_behind_a_lost_transaction);
    tcase_add_test(t, runs_stay_few);
    tcase_add_test(t, a_location_that_is_new_has_its_name);
    Suite *s = suite_create("store_group");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
