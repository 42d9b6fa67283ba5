/* Usage in the store: what was added is what every view reads, whatever the order and the batches. */
#include "store_fixture.h"
#include "usage_cells.h"
#include "tollbook/buf.h"

#include "seed.h"
#include "store/core/internal.h"
#include "store/usage/batch.h"
#include "store/verify/verify.h"
#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

static const char two_accounts[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"other\"}],"
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"},"
    "{\"id\":201,\"account\":2,\"name\":\"c\"}]}";

#define HOUR 498600 /* 2026-11-18T00:00 */
#define DAY (HOUR / 24)

static const tb_range day_hours = {HOUR, 24, true};
static const tb_range one_day = {DAY, 1, false};

static int64_t count(fixture *f, const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

START_TEST(a_row_shows_in_every_view_of_its_account)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row row = row_of(101, "DE", HOUR + 5, TB_M_BYTES, 1000);
    fixture_add(&f, &row, 1, 1);
    const tb_view views[] = {{1, 101, TB_ALL}, {1, TB_ALL, TB_ALL}};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(total_of(&f, views[i], day_hours, TB_M_BYTES), 1000);
        ck_assert_uint_eq(total_of(&f, views[i], one_day, TB_M_BYTES), 1000);
        ck_assert_uint_eq(total_of(&f, views[i], (tb_range){HOUR + 5, 1, true}, TB_M_BYTES), 1000);
        ck_assert_uint_eq(total_of(&f, views[i], (tb_range){HOUR + 6, 50, true}, TB_M_BYTES), 0);
        ck_assert_uint_eq(total_of(&f, views[i], (tb_range){HOUR - 50, 55, true}, TB_M_BYTES), 0);
    }
    ck_assert_uint_eq(total_of(&f, (tb_view){2, TB_ALL, TB_ALL}, one_day, TB_M_BYTES), 0);
    tb_series series;
    tb_error err = {0};
    ok(tb_series_init(&series, one_day, TB_METRIC_BIT(TB_M_BYTES), NULL, &err));
    ck_assert_int_eq(tb_store_read_series(f.store, &(tb_view){2, 101, TB_ALL}, &series, &err),
                     TB_E_ZONE_NOT_FOUND);
    tb_series_release(&series);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* An hour of which a row says that nothing was: it is there, and verify sees it where it is noted. */
START_TEST(a_row_of_zeros_is_no_difference)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row zero = row_of(101, "DE", HOUR + 30, TB_M_REQUESTS, 0);
    fixture_add(&f, &zero, 1, 1);
    fixture_verify(&f);
    tb_row more = row_of(101, "DE", HOUR, TB_M_REQUESTS, 3);
    fixture_add(&f, &more, 1, 2);
    fixture_verify(&f);
    tb_row other = row_of(101, "UK", HOUR + 60, TB_M_BYTES, 0);
    fixture_add(&f, &other, 1, 3);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(an_owner_with_one_location_keeps_one_series)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row first = row_of(101, "DE", HOUR, TB_M_BYTES, 10);
    fixture_add(&f, &first, 1, 1);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series WHERE edge=0"), 0);
    tb_row second = row_of(101, "UK", HOUR + 1, TB_M_BYTES, 5);
    fixture_add(&f, &second, 1, 2);
    const bool file = !usage_plane_shards(); /* there its account shares them */
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series WHERE edge=0"), file ? 1 : 2);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM account_series WHERE edge=0"), 1);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 101, TB_ALL}, day_hours, TB_M_BYTES), 15);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_BYTES), 15);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

static tb_row at(int64_t zone, int edge)
{
    char code[3] = {(char)('A' + edge / 26 % 26), (char)('A' + edge % 26), 0};
    return row_of(zone, code, HOUR + edge % 24, TB_M_BYTES, 1);
}

/* Of a zone and its account each batch brings four; of so many no five parts ever wait. */
START_TEST(new_series_wait_until_there_are_many)
{
    enum { PART = 8, BATCHES = 60 };
    fixture f;
    int64_t most = 0, fewer = 0, before = 0;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    f.store->usage->test.part = PART;
    for (int i = 0; i < BATCHES; i++) {
        const int64_t zone = i % 2 ? 102 : 101;
        const tb_row rows[2] = {at(zone, 2 * i), at(zone, 2 * i + 1)};
        fixture_add(&f, rows, 2, 1 + (uint64_t)i);
        const int64_t waiting = count(&f, "SELECT count(*) FROM series_new");
        if (waiting > most) most = waiting;
        fewer += waiting < before;
        before = waiting;
        ck_assert_int_eq(count(&f, "SELECT count(*) FROM series"), count(&f, "SELECT n FROM head WHERE name='series'"));
        ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_BYTES), 2 * (uint64_t)(i + 1));
        fixture_verify(&f);
    }
    ck_assert_int_gt(most, 3 * PART);
    ck_assert_int_le(most, 5 * PART);
    ck_assert_int_gt(fewer, 10);
    ck_assert_int_gt(count(&f, "SELECT count(DISTINCT owner) FROM series_placed"), 2); /* it goes through all of them */
    fixture_place(&f);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series_new"), 0);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series_placed"), 4 * BATCHES + 3);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(series_that_come_by_many_go_to_their_places)
{
    enum { ZONES_NEW = 1100 };
    static tb_row rows[ZONES_NEW];
    fixture f;
    fixture_init(&f);
    for (int i = 0; i < ZONES_NEW; i++)
        rows[i] = at(1000 + i, 0);
    fixture_add(&f, rows, 3, 1);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series_new"), 3);
    fixture_add(&f, rows + 3, ZONES_NEW - 3, 2);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series_new"), 3);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series_placed"), ZONES_NEW - 3);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* --- series in two tables are read as if they stood in one --- */

#define TB_X(name, sql) sql,
static const char *const statements[] = {
    TB__STATEMENTS(TB_X) TB__VERIFY_STATEMENTS(TB_X) "SELECT * FROM series ORDER BY id",
    "SELECT * FROM unassigned ORDER BY 1"};
#undef TB_X
enum { N_STATEMENTS = sizeof statements / sizeof *statements, ROWS_MAX = 400, ASKED = TB_PART > 1 ? 10 : 100 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *text_of(sqlite3_stmt *s)
{
    char *row = sqlite3_mprintf("%s", "");
    for (int i = 0; i < sqlite3_column_count(s); i++)
        row = sqlite3_mprintf("%z%s|", row, (const char *)sqlite3_column_text(s, i));
    return row;
}

/* What a statement gives for numbers that a seed draws, many of them such as it is asked with. In its order, where it
 * has one. */
static char *answer_of(fixture *f, const char *text, uint64_t draws)
{
    static const int64_t pool[] = {0, 1, 2, 3, 4, 7, 8, 64, 101, 201, 998, 999, 682, -1, INT64_MAX};
    static const int64_t usual[][6] = {
        {1, 0, INT64_MAX, 0, INT64_MAX, 1}, {1, 101, 0, 3, 3, 0}, {INT64_MAX, -1, 682, 0, 0, 0}, {3, 7, 0, 0, 0, 0},
        {2, 1, 1, 0, 0, 0}};
    char *rows[ROWS_MAX], *all = sqlite3_mprintf("%s", "");
    sqlite3_stmt *s;
    size_t n = 0;
    ck_assert_msg(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL) == SQLITE_OK, "%.150s: %s", text,
                  sqlite3_errmsg(f->store->db));
    const int64_t *line = usual[(draws >> 40) % (sizeof usual / sizeof *usual)];
    for (int i = 1; i <= sqlite3_bind_parameter_count(s); i++) {
        const uint64_t was = draws >> 33;
        draws = draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sqlite3_bind_int64(s, i, was % 3 && i <= 6 ? line[i - 1] : pool[(draws >> 33) % (sizeof pool / sizeof *pool)]);
    }
    for (; sqlite3_step(s) == SQLITE_ROW; n++) {
        ck_assert_uint_lt(n, ROWS_MAX);
        rows[n] = text_of(s);
    }
    ck_assert_msg(sqlite3_reset(s) == SQLITE_OK, "%s: %s", text, sqlite3_errmsg(f->store->db));
    sqlite3_finalize(s);
    if (!strstr(text, "ORDER BY")) qsort(rows, n, sizeof *rows, by_text);
    for (size_t i = 0; i < n; i++) {
        all = sqlite3_mprintf("%z%s\n", all, rows[i]);
        sqlite3_free(rows[i]);
    }
    return all;
}

/* Those that ask for series and do not say where they stand. */
static bool asks_for_series(const char *text)
{
    return (strstr(text, "series") || strstr(text, "unassigned")) &&
           (strncmp(text, "SELECT", 6) == 0 || strncmp(text, "WITH", 4) == 0) &&
           strcmp(text, "SELECT count(*) FROM series_new") != 0 && !strstr(text, "OFFSET ?4");
}

/* Each row stands in either table, for which `split` has a bit. */
static void split_series(fixture *f, uint32_t split)
{
    char text[400];
    edit(f->store->db, "INSERT INTO series_placed SELECT * FROM series_new; DELETE FROM series_new");
    snprintf(text, sizeof text,
             "INSERT INTO series_new SELECT scope,owner,edge,id,seal FROM (SELECT *,row_number() OVER() AS n"
             " FROM series_placed) WHERE %u>>n%%29&1; DELETE FROM series_placed WHERE id IN(SELECT id FROM series_new)",
             (unsigned)split);
    edit(f->store->db, text);
}

static void fill_series(fixture *f)
{
    static const char two_balancers[] =
        "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"other\"},{\"id\":3,\"name\":\"third\"}],"
        "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"},"
        "{\"id\":201,\"account\":2,\"name\":\"c\"}],\"load_balancers\":["
        "{\"id\":7,\"account\":1,\"zones\":[101,102]},{\"id\":8,\"account\":3,\"zones\":[]}]}";
    static const int64_t zone[] = {101, 102, 201, 998, 999};
    tb_row rows[25];
    size_t n = 0;
    fixture_apply(f, two_balancers, NOW_US, NULL);
    for (size_t i = 0; i < 5; i++)
        for (int edge = 0; edge < (i == 3 ? 1 : 4); edge++)
            rows[n++] = at(zone[i], edge);
    for (int64_t id = 7; id < 10; id++) {
        rows[n] = (tb_row){.balancer = true, .id = id, .hour = HOUR, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
        rows[n].value[TB_M_REQUESTS] = 5;
        rows[n + 1] = rows[n];
        rows[n + 1].hour -= 24 * 40 * (id - 6); /* earlier than any zone's */
        n += 2;
    }
    fixture_add(f, rows, n, 1);
    fixture_fold(f);
}

START_TEST(series_are_read_from_both_tables)
{
    fixture f;
    uint64_t draws = test_seed();
    size_t asked = 0, answered = 0;
    fixture_init(&f);
    fill_series(&f);
    for (size_t i = 0; i < N_STATEMENTS; i++) {
        if (!asks_for_series(statements[i])) continue;
        asked++;
        for (int turn = 0; turn < ASKED; turn++) {
            draws = draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            split_series(&f, 0);
            char *placed = answer_of(&f, statements[i], draws);
            split_series(&f, turn ? (uint32_t)(draws >> 20) : UINT32_MAX);
            char *both = answer_of(&f, statements[i], draws);
            ck_assert_msg(strcmp(placed, both) == 0, "%.150s\n%.200s\n%.200s", statements[i], placed, both);
            answered += *both != 0;
            sqlite3_free(placed);
            sqlite3_free(both);
        }
    }
    ck_assert_uint_gt(asked, 30);
    ck_assert_uint_gt(answered, asked * ASKED / 20);
    fixture_release(&f);
}
END_TEST

/* What is copied of 2,200 days passes what a batch gathers, in the middle of the copy. */
START_TEST(a_long_history_is_copied_once)
{
    const int days_back = (int)usage_plane_part(2200, 100);
    fixture f;
    tb_row *rows = calloc((size_t)days_back * 24, sizeof *rows);
    ck_assert_ptr_nonnull(rows);
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    for (int i = 0; i < days_back * 24; i++) {
        rows[i] = row_of(101, "DE", HOUR - 24 - i, TB_M_REQUESTS, 1 + (uint64_t)i);
        rows[i].metrics |= TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_ORIGIN_BYTES);
        rows[i].value[TB_M_BYTES] = (UINT64_C(1) << 56) / (days_back * 24) + (uint64_t)i;
        rows[i].value[TB_M_ORIGIN_BYTES] = (UINT64_C(1) << 55) / (days_back * 24) + (uint64_t)i;
    }
    fixture_add(&f, rows, (size_t)days_back * 24, 1);
    fixture_fold(&f);
    tb_row today[] = {row_of(101, "DE", HOUR, TB_M_REQUESTS, 5),
                      row_of(101, "UK", HOUR, TB_M_REQUESTS, 7)};
    fixture_add(&f, today, 2, 2);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 101, TB_ALL}, day_hours, TB_M_REQUESTS), 12);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_REQUESTS), 12);
    fixture_verify(&f);
    fixture_release(&f);
    free(rows);
}
END_TEST

/* Where others wait it is bounded, and what was begun of it is undone with the rest. On usage servers nothing is copied. */
START_TEST(a_copy_of_history_may_be_bounded)
{
    enum { DAYS_BACK = 50 };
    fixture f;
    tb_error err = {0};
    tb_row rows[DAYS_BACK];
    const bool file = !usage_plane_shards();
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    for (int i = 0; i < DAYS_BACK; i++)
        rows[i] = row_of(101, "DE", HOUR - 24 * i, TB_M_BYTES, 10);
    fixture_add(&f, rows, DAYS_BACK, 1);
    const tb_row second = row_of(101, "US", HOUR, TB_M_BYTES, 1);
    const size_t need = DAYS_BACK + TB_COPY_COSTS; /* the pull zone's, which its account shares */
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    tb_store_bound_work(f.store, need - 1, false);
    ck_assert_int_eq(add_rows(&f, &second, 1, &err), file ? TB_E_TOO_LARGE : TB_OK);
    if (file) ck_assert_str_eq(err.field, "copies");
    tb_store_back_to_mark(f.store);
    tb_store_bound_work(f.store, need, false);
    ok(tb_store_mark(f.store, &err));
    ok(add_rows(&f, &second, 1, &err));
    tb_store_back_to_mark(f.store);
    tb_store_bound_work(f.store, 0, false);
    ok(tb_store_commit(f.store, &err));
    fixture_add(&f, &second, 1, 2);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 101, TB_ALL}, one_day, TB_M_BYTES), 11);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(the_second_location_may_come_before_the_first_in_one_batch)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row old = row_of(101, "UK", HOUR - 48, TB_M_REQUESTS, 7);
    fixture_add(&f, &old, 1, 1);
    tb_row both[] = {row_of(101, "UK", HOUR, TB_M_REQUESTS, 1),
                     row_of(101, "DE", HOUR, TB_M_REQUESTS, 2),
                     row_of(101, "ZZ", HOUR + 1, TB_M_REQUESTS, 4)};
    fixture_add(&f, both, 3, 2);
    tb_range all = {DAY - 3, 4, false};
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 101, TB_ALL}, all, TB_M_REQUESTS), 14);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, all, TB_M_REQUESTS), 14);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* Numbers of locations are given in the order of their first coming, and then they come in another one: 7 has no divisor in
 * common with how many there are. The last zone finds its account when it has many. */
START_TEST(an_owner_may_have_very_many_locations)
{
    enum { LOCATIONS = 900, ZONES = 3, PARTS = 4 };
    static tb_row rows[LOCATIONS * ZONES];
    static const int64_t zones[ZONES] = {101, 102, 999};
    const size_t locations = usage_plane_part(LOCATIONS, 300);
    fixture f;
    size_t n = 0;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    for (size_t part = 0; part < PARTS; part++) {
        n = 0;
        for (size_t i = part; i < locations; i += PARTS)
            for (size_t z = 0; z < ZONES; z++) {
                char code[8];
                const size_t at = z ? i * 7 % locations : i;
                snprintf(code, sizeof code, "L%zu", z == 1 ? locations - 1 - at : at);
                rows[n++] = row_of(zones[z], code, HOUR + (int32_t)z, TB_M_BYTES, 1 + at);
            }
        fixture_add(&f, rows, n, part + 1);
        if (part % 2 == 0) { /* what is remembered of them is read anew */
            tb_store_close(f.store);
            fixture_open(&f, true);
        }
    }
    const char *found = "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"other\"}],"
                        "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"},"
                        "{\"id\":201,\"account\":2,\"name\":\"c\"},{\"id\":999,\"account\":1,\"name\":\"d\"}]}";
    fixture_apply(&f, found, NOW_US, NULL);
    const uint64_t each = locations * (locations + 1) / 2;
    for (size_t z = 0; z < ZONES; z++)
        ck_assert_uint_eq(total_of(&f, (tb_view){1, zones[z], TB_ALL}, one_day, TB_M_BYTES), each);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_BYTES), ZONES * each);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series WHERE scope=1 AND owner=102 AND edge>0"), (int64_t)locations);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series"), (int64_t)((ZONES + 1) * (locations + 1)));
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_maximum_keeps_the_larger_over_hours_days_and_locations)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row rows[] = {row_of(101, "DE", HOUR, TB_M_QUEUED_MAX, 7),
                     row_of(101, "UK", HOUR, TB_M_QUEUED_MAX, 3),
                     row_of(101, "UK", HOUR + 2, TB_M_QUEUED_MAX, 9)};
    fixture_add(&f, rows, 3, 1);
    tb_row lower = row_of(101, "UK", HOUR + 2, TB_M_QUEUED_MAX, 4);
    fixture_add(&f, &lower, 1, 2);
    tb_view zone = {1, 101, TB_ALL};
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){HOUR, 1, true}, TB_M_QUEUED_MAX), 7);
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){HOUR + 2, 1, true}, TB_M_QUEUED_MAX), 9);
    ck_assert_uint_eq(total_of(&f, zone, one_day, TB_M_QUEUED_MAX), 9);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(usage_of_an_unknown_zone_joins_its_account_later)
{
    fixture f;
    tb_applied applied;
    fixture_init(&f);
    tb_row rows[] = {row_of(101, "DE", HOUR, TB_M_BYTES, 10),
                     row_of(101, "UK", HOUR + 30, TB_M_BYTES, 20),
                     row_of(999, "DE", HOUR, TB_M_BYTES, 40)};
    fixture_add(&f, rows, 3, 1);
    tb_error err = {0};
    tb_store_figures figures;
    ok(tb_store_read_figures(f.store, &figures, &err));
    ck_assert_uint_eq(figures.unassigned_zones, 2);
    ck_assert_int_eq(figures.newest_hour, HOUR + 30);
    fixture_apply(&f, two_accounts, NOW_US, &applied);
    ck_assert_uint_eq(applied.adopted, 1);
    tb_range days = {DAY, 3, false};
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, days, TB_M_BYTES), 30);
    ok(tb_store_read_figures(f.store, &figures, &err));
    ck_assert_uint_eq(figures.unassigned_zones, 1);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

static void read_geo(fixture *f, tb_view view, tb_range range, tb_geo **geo, size_t *n)
{
    tb_error err = {0};
    tb_series series;
    ok(tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, &err));
    ok(tb_store_read_view(f->store, &view, &series, geo, n, &err));
    tb_u128 sum = 0;
    for (size_t i = 0; i < *n; i++)
        sum += (*geo)[i].bytes;
    ck_assert(sum == tb_series_total(&series, TB_M_BYTES));
    tb_series_release(&series);
}

START_TEST(bytes_per_region_carry_names_and_unknown_codes)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row rows[] = {row_of(101, "DE", HOUR, TB_M_BYTES, 10),
                     row_of(102, "DE", HOUR + 25, TB_M_BYTES, 5),
                     row_of(101, "QQ9", HOUR + 1, TB_M_BYTES, 3)};
    fixture_add(&f, rows, 3, 1);
    tb_geo *geo;
    size_t n;
    tb_view account = {1, TB_ALL, TB_ALL};
    read_geo(&f, account, (tb_range){HOUR, 48, true}, &geo, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(geo[0].name, "EU: Frankfurt, DE");
    ck_assert_uint_eq((uint64_t)geo[0].bytes, 15);
    ck_assert_str_eq(geo[1].name, "Other: QQ9, QQ9");
    ck_assert_uint_eq((uint64_t)geo[1].bytes, 3);
    free(geo);
    /* Hours that begin and end inside days: days between are read from the days' chunks. */
    read_geo(&f, account, (tb_range){HOUR - 30, 31, true}, &geo, &n);
    ck_assert_uint_eq((uint64_t)geo[0].bytes, 10);
    ck_assert_uint_eq((uint64_t)geo[1].bytes, 0);
    free(geo);
    /* One location, and a region nobody has. */
    read_geo(&f, (tb_view){1, 102, TB_ALL}, (tb_range){HOUR, 48, true}, &geo, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq((uint64_t)geo[0].bytes, 5);
    free(geo);
    read_geo(&f, (tb_view){1, 101, 999999}, (tb_range){HOUR, 48, true}, &geo, &n);
    ck_assert_uint_eq(n, 0);
    free(geo);
    fixture_release(&f);
}
END_TEST

START_TEST(a_range_before_the_zone_was_created_is_zeros)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,"
                  "\"name\":\"z\",\"created\":\"2026-11-20T12:00:00Z\"}]}",
                  NOW_US, NULL);
    tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 10);
    fixture_add(&f, &row, 1, 1);
    tb_view zone = {1, 101, TB_ALL};
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){DAY, 2, false}, TB_M_BYTES), 0);
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){HOUR, 60, true}, TB_M_BYTES), 0);
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){HOUR, 61, true}, TB_M_BYTES), 10);
    ck_assert_uint_eq(total_of(&f, zone, (tb_range){DAY, 3, false}, TB_M_BYTES), 10);
    fixture_release(&f);
}
END_TEST

START_TEST(a_rolled_back_batch_leaves_nothing)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_error err = {0};
    tb_row rows[] = {row_of(101, "DE", HOUR, TB_M_BYTES, 10), row_of(101, "UK", HOUR, TB_M_BYTES, 1)};
    ok(tb_store_begin(f.store, &err));
    ok(add_rows(&f, rows, 2, &err));
    tb_store_rollback(f.store);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series"), 0);
    fixture_add(&f, rows, 2, 1);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 101, TB_ALL}, one_day, TB_M_BYTES), 11);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(going_back_to_a_mark_keeps_what_stood_before_it)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_error err = {0};
    tb_row good = row_of(101, "DE", HOUR, TB_M_BYTES, 10), bad = row_of(102, "UK", HOUR, TB_M_BYTES, 9);
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "t", .accepted = 1, .final = true};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ok(add_rows(&f, &good, 1, &err));
    ok(tb_store_add_segment(f.store, &segment, NULL, &err));
    ok(tb_store_keep_mark(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ok(add_rows(&f, &bad, 1, &err));
    ok(tb_store_add_reject(f.store, &(tb_refused){1, 2, "BYTES", "x", 1, 0}, &err));
    tb_store_back_to_mark(f.store);
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_BYTES), 10);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM reject"), 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_counter_that_would_overflow_is_refused)
{
    fixture f;
    fixture_init(&f);
    tb_error err = {0};
    tb_row full = row_of(101, "DE", HOUR, TB_M_BYTES, TB_COUNTER_MAX);
    fixture_add(&f, &full, 1, 1);
    tb_row one = row_of(101, "DE", HOUR + 1, TB_M_BYTES, 1); /* the day's sum passes the limit */
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(add_rows(&f, &one, 1, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "bytes");
    tb_store_rollback(f.store);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* In the open transaction: rows of zone 101, and a country's bytes of the first one's day. */
static tb_code add_with_country(fixture *f, const tb_row *rows, size_t n, uint64_t bytes, tb_error *err)
{
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    const tb_rollup_country german = {101, rows[0].hour / 24, 'D' << 8 | 'E', 1, bytes};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        code = tb_rollup_add_row(rollup, &rows[i], err);
    if (!code) code = tb_rollup_add_country(rollup, &german, err);
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    if (!code) code = tb_store_add_usage(f->store, cursor, err);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

/* A small batch is a run of each kind, a large one lies in base, days and countries alike. */
START_TEST(days_and_countries_of_a_batch_take_one_path)
{
    enum { DAYS_BACK = 2500 };
    fixture f;
    tb_error err = {0};
    tb_row *rows = calloc(DAYS_BACK * 24, sizeof *rows);
    ck_assert_ptr_nonnull(rows);
    fixture_init(&f);
    if (!usage_plane_shards()) {
        fixture_apply(&f, two_accounts, NOW_US, NULL);
        for (int i = 0; i < DAYS_BACK * 24; i++) {
            rows[i] = row_of(101, "DE", HOUR - i, TB_M_BYTES, (UINT64_C(1) << 60) / (DAYS_BACK * 24));
            rows[i].metrics |= TB_METRIC_BIT(TB_M_ORIGIN_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS);
            rows[i].value[TB_M_ORIGIN_BYTES] = rows[i].value[TB_M_REQUESTS] = rows[i].value[TB_M_BYTES];
        }
        ok(tb_store_begin(f.store, &err));
        ok(add_with_country(&f, rows, 1, 5, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_int_eq(count(&f, "SELECT count(DISTINCT kind) FROM usage_run"), 2);
        ck_assert_int_eq(count(&f, "SELECT (SELECT count(*) FROM chunk)+(SELECT count(*) FROM country_day)"), 0);
        ok(tb_store_begin(f.store, &err));
        ok(add_with_country(&f, rows + 1, DAYS_BACK * 24 - 1, 7, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_int_eq(count(&f, "SELECT count(*) FROM usage_run"), 2);
        ck_assert_int_gt(count(&f, "SELECT count(*) FROM chunk"), DAYS_BACK);
        ck_assert_int_eq(count(&f, "SELECT count(*) FROM country_day"), 1);
    }
    fixture_release(&f);
    free(rows);
}
END_TEST

/* Though a row of chunk was merged before it in the same half of the write buffer. */
START_TEST(a_full_country_is_named_as_one)
{
    fixture f;
    tb_error err = {0};
    const tb_row row = row_of(101, "DE", HOUR, TB_M_REQUESTS, 1);
    fixture_init(&f);
    if (!usage_plane_shards()) {
        fixture_apply(&f, two_accounts, NOW_US, NULL);
        f.store->usage->test.no_runs = true;
        ok(tb_store_begin(f.store, &err));
        ok(add_with_country(&f, &row, 1, TB_COUNTER_MAX, &err));
        ck_assert_int_eq(add_with_country(&f, &row, 1, 1, &err), TB_E_OVERFLOW);
        ck_assert_str_eq(err.field, "countries");
        tb_store_rollback(f.store);
        ck_assert_int_eq(count(&f, "SELECT count(*) FROM country_day"), 0);
    }
    fixture_release(&f);
}
END_TEST

static bool on_bucket(void *ctx, int n, const char *const *cells, bool is_header)
{
    tb_buf *out = ctx;
    (void)is_header;
    for (int i = 0; i < n; i++)
        tb_buf_fmt(out, "%s,", cells[i] ? cells[i] : "-");
    return true;
}

/* What a query gives as text, for free(). */
static char *all_of(fixture *f, const char *sql)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, (size_t)64 << 20, NULL);
    if (f->plane.client.shards) usage_cells(f->store, &out);
    else ok(tb_store_query(f->store, sql, on_bucket, &out, &err));
    tb_buf_add(&out, "", 1);
    ok(tb_buf_check(&out, &err));
    char *text = strdup(out.data);
    ck_assert_ptr_nonnull(text);
    tb_buf_release(&out);
    return text;
}

#define HALF (TB_COUNTER_MAX / 2 + 1)

/* Each case: two rows of which the second is too much, and what the error calls the place; alone and with
 * another thread. */
START_TEST(a_full_counter_is_named_with_its_place_and_time)
{
    static const struct {
        tb_row rows[2];
        const char *place;
    } cases[] = {
        {{{.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR},
          {.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR}},
         "Pull zone 101, region DE, 2026-11-18T00:00:00Z: requests would pass 2^63 - 1; "},
        {{{.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR},
          {.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR + 23}},
         "Pull zone 101, region DE, 2026-11-18: requests would pass 2^63 - 1; "},
        {{{.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR},
          {.id = 101, .edge = "UK", .edge_len = 2, .hour = HOUR}},
         "Pull zone 101, all regions, 2026-11-18T00:00:00Z: requests would pass 2^63 - 1; "},
        {{{.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR + 1},
          {.id = 102, .edge = "DE", .edge_len = 2, .hour = HOUR + 1}},
         "Account 1, region DE, 2026-11-18T01:00:00Z: requests would pass 2^63 - 1; "},
        {{{.id = 101, .edge = "DE", .edge_len = 2, .hour = HOUR + 1},
          {.id = 102, .edge = "UK", .edge_len = 2, .hour = HOUR + 1}},
         "Account 1, all regions, 2026-11-18T01:00:00Z: requests would pass 2^63 - 1; "},
        {{{.balancer = true, .id = 7, .hour = HOUR + 2},
          {.balancer = true, .id = 7, .hour = HOUR + 2}},
         "Load balancer 7, 2026-11-18T02:00:00Z: requests would pass 2^63 - 1; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned form = 0; form < 4; form++) {
            const unsigned together = form % 2;
            fixture f;
            fixture_helper helper;
            tb_error err = {0};
            tb_row rows[2] = {cases[i].rows[0], cases[i].rows[1]};
            for (int j = 0; j < 2; j++) {
                rows[j].metrics = TB_METRIC_BIT(TB_M_REQUESTS);
                rows[j].value[TB_M_REQUESTS] = HALF;
            }
            fixture_init(&f);
            if (form > 1) fixture_lend(&f, &helper);
            fixture_apply(&f, two_accounts, NOW_US, NULL);
            if (!together) fixture_add(&f, rows, 1, 1);
            ok(tb_store_begin(f.store, &err));
            ck_assert_int_eq(add_rows(&f, rows + !together, 1 + together, &err), TB_E_OVERFLOW);
            ck_assert_str_eq(err.field, "requests");
            ck_assert_msg(strncmp(err.message, cases[i].place, strlen(cases[i].place)) == 0,
                          "%s: %s", cases[i].place, err.message);
            ck_assert_ptr_nonnull(strstr(err.message, "correct it and send the input again"));
            tb_store_rollback(f.store);
            fixture_verify(&f);
            fixture_release(&f);
        }
    }
}
END_TEST

/* Too many to be gathered, and of too many new series for their trigger; then some of them again, which
 * are merged with their rows. */
START_TEST(a_large_batch_is_the_same_with_a_helper)
{
    enum { N = 24000 };
    tb_row *rows = calloc(N, sizeof *rows);
    ck_assert_ptr_nonnull(rows);
    for (int i = 0; i < N; i++)
        rows[i] = row_of(i % 3000 + 1, i % 7 ? "DE" : "UK", HOUR + i / 6000 * 24 + i % 24, TB_M_BYTES,
                         (uint64_t)i * 7919 + 1);
    char *answer[2] = {NULL, NULL};
    for (int form = 0; form < 2; form++) {
        fixture f;
        fixture_helper helper;
        fixture_init(&f);
        fixture_apply(&f, two_accounts, NOW_US, NULL);
        if (form) fixture_lend(&f, &helper);
        fixture_add(&f, rows, N, 1);
        fixture_add(&f, rows, N, 2);
        fixture_add(&f, rows, 50, 3);
        fixture_verify(&f);
        answer[form] = all_of(&f, "SELECT zone,region,hour,bytes FROM buckets");
        fixture_release(&f);
    }
    ck_assert_str_eq(answer[0], answer[1]);
    free(answer[0]);
    free(answer[1]);
    free(rows);
}
END_TEST

enum { LOG_ACCOUNTS = 60, LOG_ZONES = 1500 / TB_PART, LOG_COUNTRIES = 40, LOG_DAYS = 6 };

static void apply_many(fixture *f)
{
    tb_buf text;
    tb_buf_init(&text, 1 << 20, NULL);
    tb_buf_fmt(&text, "{\"accounts\":[");
    for (int a = 1; a <= LOG_ACCOUNTS; a++)
        tb_buf_fmt(&text, "%s{\"id\":%d,\"name\":\"a\"}", a > 1 ? "," : "", a);
    tb_buf_fmt(&text, "],\"zones\":[");
    for (int z = 1; z <= LOG_ZONES; z++)
        tb_buf_fmt(&text, "%s{\"id\":%d,\"account\":%d,\"name\":\"z%d\"}", z > 1 ? "," : "", z,
                   1 + z % LOG_ACCOUNTS, z);
    tb_buf_fmt(&text, "]}");
    tb_buf_add(&text, "", 1);
    fixture_apply(f, text.data, NOW_US, NULL);
    tb_buf_release(&text);
}

static void add_log(fixture *f, int zones)
{
    static const char *const edges[] = {"DE", "UK", "NY", "SG"};
    tb_error err = {0};
    tb_rollup *rollup = tb_rollup_new(1 << 20, NULL);
    for (int i = 0; i < zones * LOG_COUNTRIES * LOG_DAYS; i++) {
        const int country = i / zones % LOG_COUNTRIES;
        const tb_hit hit = {.zone = 1 + i % zones,
                            .bytes = (uint64_t)i * 7919 % 100003,
                            .edge = edges[i % 4],
                            .edge_len = 2,
                            .hour = HOUR + i / zones / LOG_COUNTRIES * 24 + i / zones % 24,
                            .status = 200,
                            .country = (uint16_t)(('A' + country / 26) << 8 | ('A' + country % 26))};
        ok(tb_rollup_add_hits(rollup, &hit, 1, &err));
    }
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_usage(f->store, cursor, &err));
    ok(tb_store_commit(f->store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}

/* More countries than are gathered at a time, with another thread at the series; and the file is asked
 * nothing between the rows, or each question would wait for all that were put. */
START_TEST(a_large_log_of_many_accounts_goes_in_whole_loads)
{
    char *buckets[2] = {NULL}, *countries[2] = {NULL};
    for (int form = 0; form < 2; form++) {
        fixture f;
        fixture_helper helper;
        fixture_init(&f);
        apply_many(&f);
        if (form) fixture_lend(&f, &helper);
        add_log(&f, LOG_ZONES);
        if (form) ck_assert_uint_lt(helper.started, LOG_ACCOUNTS / 5);
        char *all = all_of(&f, "SELECT sum(requests) AS n FROM countries");
        ck_assert_int_eq(atoi(all + strlen("n,")), LOG_ZONES * LOG_COUNTRIES * LOG_DAYS);
        free(all);
        add_log(&f, LOG_ZONES / 2);
        buckets[form] = all_of(&f, "SELECT zone,region,hour,bytes FROM buckets");
        countries[form] = all_of(&f, "SELECT zone,country,day,requests,bytes FROM countries");
        fixture_release(&f);
    }
    ck_assert_str_eq(buckets[0], buckets[1]);
    ck_assert_str_eq(countries[0], countries[1]);
    for (int form = 0; form < 2; form++) {
        free(buckets[form]);
        free(countries[form]);
    }
}
END_TEST

/* A row of some requests too. */
static tb_row unowned_row(int64_t zone, const char *edge, int32_t hour, uint64_t bytes)
{
    tb_row row = row_of(zone, edge, hour, TB_M_BYTES, bytes);
    row.metrics |= TB_METRIC_BIT(TB_M_REQUESTS);
    row.value[TB_M_REQUESTS] = 2;
    return row;
}

START_TEST(a_months_usage_without_an_owner_is_summed_by_id)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    int64_t november = tb_month_from_day(DAY);
    tb_row balancer = {
        .balancer = true, .id = 7, .hour = HOUR, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    balancer.value[TB_M_REQUESTS] = 12;
    tb_row rows[] = {unowned_row(101, "DE", HOUR, 10),       unowned_row(998, "DE", HOUR, 4),
                     unowned_row(999, "DE", HOUR, 40),       unowned_row(999, "UK", HOUR + 30, 2),
                     unowned_row(999, "UK", HOUR - 720, 70), balancer};
    fixture_add(&f, rows, 6, 1);
    tb_error err = {0};
    tb_unowned *list;
    size_t n;
    ok(tb_store_unowned(f.store, november, &list, &n, &err));
    ck_assert_uint_eq(n, 3);
    ck_assert(!list[0].balancer && list[0].id == 999 && list[0].bytes == 42);
    ck_assert(list[0].requests == 4);
    ck_assert(!list[1].balancer && list[1].id == 998 && list[1].bytes == 4);
    ck_assert(list[2].balancer && list[2].id == 7 && list[2].requests == 12);
    free(list);
    ok(tb_store_unowned(f.store, november - 1, &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(list[0].id == 999 && list[0].bytes == 70);
    free(list);
    ok(tb_store_unowned(f.store, november - 2, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(list);
    fixture_release(&f);
}
END_TEST

START_TEST(balancer_hours_belong_to_the_balancer_alone)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    tb_row row = {.balancer = true, .id = 7, .hour = HOUR, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    row.value[TB_M_REQUESTS] = 500;
    fixture_add(&f, &row, 1, 1);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM series WHERE scope=3 AND owner=7"), 1);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, one_day, TB_M_REQUESTS), 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* --- random batches against a plain model --- */

enum { ZONES = 3, EDGES = 3, HOURS = 24 * 70 };
static uint64_t model[ZONES][EDGES][HOURS];
static const int64_t zone_ids[ZONES] = {101, 102, 201};
static const char *const edge_codes[EDGES] = {"DE", "NY", "SG"};

static uint64_t seed;
static uint64_t next_random(void)
{
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ z >> 31;
}

static void add_random_batch(fixture *f, uint64_t number)
{
    tb_row rows[40];
    size_t n = next_random() % 40 + 1;
    for (size_t i = 0; i < n; i++) {
        unsigned z = next_random() % ZONES, e = next_random() % EDGES, h = next_random() % HOURS;
        uint64_t value = next_random() % (next_random() % 2 ? 10 : 1000000007);
        rows[i] = row_of(zone_ids[z], edge_codes[e], HOUR - HOURS + (int)h, TB_M_BYTES, value);
        model[z][e][h] += value;
    }
    fixture_add(f, rows, n, number);
}

static uint64_t model_total(int64_t account, int64_t zone, int edge, int64_t first, int64_t count_)
{
    uint64_t sum = 0;
    for (int z = 0; z < ZONES; z++)
        for (int e = 0; e < EDGES; e++)
            for (int64_t h = 0; h < HOURS; h++) {
                int64_t hour = HOUR - HOURS + h;
                if ((zone == TB_ALL || zone_ids[z] == zone) && zone_ids[z] / 100 == account &&
                    (edge < 0 || e == edge) && hour >= first && hour < first + count_)
                    sum += model[z][e][h];
            }
    return sum;
}

static int64_t region_id(fixture *f, const char *code)
{
    tb_error err = {0};
    tb_region *regions;
    size_t n;
    int64_t id = 0;
    ok(tb_store_regions(f->store, &regions, &n, &err));
    for (size_t i = 0; i < n; i++)
        if (strcmp(regions[i].code, code) == 0) id = regions[i].id;
    free(regions);
    ck_assert_int_gt(id, 0);
    return id;
}

static void check_random_view(fixture *f)
{
    int e = (int)(next_random() % (EDGES + 1)) - 1;
    unsigned z = next_random() % (ZONES + 1);
    int64_t account = z < ZONES ? zone_ids[z] / 100 : 1, zone = z < ZONES ? zone_ids[z] : TB_ALL;
    tb_view view = {account, zone, e < 0 ? TB_ALL : region_id(f, edge_codes[e])};
    tb_range hours = {HOUR - HOURS - 30 + (int64_t)(next_random() % HOURS),
                      (uint32_t)(next_random() % 900 + 1), true};
    ck_assert_uint_eq(total_of(f, view, hours, TB_M_BYTES),
                      model_total(account, zone, e, hours.first, hours.count));
    tb_range days = {hours.first / 24, hours.count / 24 + 1, false};
    ck_assert_uint_eq(total_of(f, view, days, TB_M_BYTES),
                      model_total(account, zone, e, days.first * 24, days.count * 24));
}

START_TEST(random_batches_agree_with_a_plain_model)
{
    fixture f;
    seed = test_seed();
    memset(model, 0, sizeof model);
    fixture_init(&f);
    /* Half of the batches come before the catalogue names the zones. */
    const unsigned half = usage_plane_part(20, 8), views = usage_plane_part(200, 60);
    for (uint64_t i = 0; i < half; i++)
        add_random_batch(&f, i);
    fixture_apply(&f, two_accounts, NOW_US, NULL);
    for (uint64_t i = half; i < 2 * half; i++)
        add_random_batch(&f, i);
    for (unsigned i = 0; i < views; i++)
        check_random_view(&f);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store usage");
    TCase *tests = tcase_create("usage");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_row_shows_in_every_view_of_its_account);
    tcase_add_test(tests, a_row_of_zeros_is_no_difference);
    tcase_add_test(tests, an_owner_with_one_location_keeps_one_series);
    tcase_add_test(tests, new_series_wait_until_there_are_many);
    tcase_add_test(tests, series_that_come_by_many_go_to_their_places);
    tcase_add_test(tests, series_are_read_from_both_tables);
    tcase_add_test(tests, a_long_history_is_copied_once);
    tcase_add_test(tests, a_copy_of_history_may_be_bounded);
    tcase_add_test(tests, the_second_location_may_come_before_the_first_in_one_batch);
    tcase_add_test(tests, an_owner_may_have_very_many_locations);
    tcase_add_test(tests, a_maximum_keeps_the_larger_over_hours_days_and_locations);
    tcase_add_test(tests, usage_of_an_unknown_zone_joins_its_account_later);
    tcase_add_test(tests, bytes_per_region_carry_names_and_unknown_codes);
    tcase_add_test(tests, a_range_before_the_zone_was_created_is_zeros);
    tcase_add_test(tests, a_rolled_back_batch_leaves_nothing);
    tcase_add_test(tests, going_back_to_a_mark_keeps_what_stood_before_it);
    tcase_add_test(tests, a_counter_that_would_overflow_is_refused);
    tcase_add_test(tests, a_full_counter_is_named_with_its_place_and_time);
    tcase_add_test(tests, days_and_countries_of_a_batch_take_one_path);
    tcase_add_test(tests, a_full_country_is_named_as_one);
    tcase_add_test(tests, a_large_batch_is_the_same_with_a_helper);
    tcase_add_test(tests, a_large_log_of_many_accounts_goes_in_whole_loads);
    tcase_add_test(tests, a_months_usage_without_an_owner_is_summed_by_id);
    tcase_add_test(tests, balancer_hours_belong_to_the_balancer_alone);
    tcase_add_test(tests, random_batches_agree_with_a_plain_model);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
