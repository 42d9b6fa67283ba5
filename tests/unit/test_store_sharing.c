/* An account with usage of one pull zone shares the zone's series until they differ. Each test does the same to two stores, in
 * the second of which every account has series of its own: their answers are the same at any time. Random steps are
 * prop_runs'. */
#include "store_fixture.h"
#include "store/core/internal.h"
#include "store/usage/batch.h"
#include "store/usage/owners.h"
#include "tollbook/batches.h"
#include "tollbook/billsource.h"
#include "tollbook/calendar.h"
#include "tollbook/retain.h"
#include "tollbook/withdraw.h"

#define HOUR 498600 /* 2026-11-18T00:00 */
#define MONTH ((2026 - 1970) * 12 + 10)

static const char catalog[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"load_balancers\":[],\"zones\":["
                              "{\"id\":1,\"account\":1,\"name\":\"x\"},{\"id\":2,\"account\":1,\"name\":\"y\"},"
                              "{\"id\":3,\"account\":1,\"name\":\"z\"}]}";
static const char with_4[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"load_balancers\":[],\"zones\":["
                             "{\"id\":1,\"account\":1,\"name\":\"x\"},{\"id\":2,\"account\":1,\"name\":\"y\"},"
                             "{\"id\":3,\"account\":1,\"name\":\"z\"},{\"id\":4,\"account\":2,\"name\":\"u\"}]}";
static const char with_5[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"load_balancers\":[],\"zones\":["
                             "{\"id\":1,\"account\":1,\"name\":\"x\"},{\"id\":2,\"account\":1,\"name\":\"y\"},"
                             "{\"id\":3,\"account\":1,\"name\":\"z\"},{\"id\":4,\"account\":2,\"name\":\"u\"},"
                             "{\"id\":5,\"account\":2,\"name\":\"v\"}]}";

/* [0] shares, [1] does not. */
static fixture both[2];
static bool packed, at_once;

static void set_forms(void)
{
    for (int i = 0; i < 2; i++) {
        both[i].store->usage->test.apart = i == 1;
        both[i].store->usage->test.no_runs = at_once;
    }
}

static void begin(void)
{
    for (int i = 0; i < 2; i++) {
        fixture_init_in_file(&both[i]);
        fixture_apply(&both[i], catalog, NOW_US, NULL);
    }
    set_forms();
}

static void end(void)
{
    for (int i = 0; i < 2; i++)
        fixture_release(&both[i]);
    packed = at_once = false;
}

static void apply(const char *text)
{
    for (int i = 0; i < 2; i++)
        fixture_apply(&both[i], text, NOW_US, NULL);
}

static void fold(void)
{
    for (int i = 0; i < 2; i++)
        fixture_fold(&both[i]);
}

static void reopen(void)
{
    for (int i = 0; i < 2; i++) {
        tb_store_close(both[i].store);
        fixture_open(&both[i], true);
    }
    set_forms();
}

static tb_code add_pack(tb_store *store, tb_rollup *rollup, tb_error *ret_err)
{
    tb_error err = {0};
    const tb_directory *directory = NULL;
    bool stale = false;
    tb_usage_pack *pack = tb_usage_pack_new();
    ok(tb_store_directory(store, false, &directory, &err));
    ok(tb_usage_pack_fill(pack, &rollup, 1, directory->ever_logged, &err));
    const tb_code code = tb_store_add_packed(store, pack, &stale, ret_err);
    ck_assert(!stale);
    tb_usage_pack_free(pack);
    return code;
}

static tb_code add_to(tb_store *store, const tb_row *rows, size_t n, bool back, tb_error *ret_err)
{
    tb_error err = {0};
    uint32_t maxima = 0;
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    for (size_t i = 0; i < n; i++)
        ok(tb_rollup_add_row(rollup, &rows[i], &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    const tb_code code = back ? tb_store_withdraw_usage(store, cursor, &maxima, ret_err)
                         : packed ? add_pack(store, rollup, ret_err)
                                  : tb_store_add_usage(store, cursor, ret_err);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

static int64_t segment_of(tb_store *store, size_t n)
{
    static uint64_t number;
    int64_t id = 0;
    tb_error err = {0};
    const tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {++number, 7},
                                .head = {number, 1}, .accepted = n, .final = true, .now_us = NOW_US};
    ok(tb_store_add_segment(store, &segment, &id, &err));
    return id;
}

/* The number of the segment that it becomes. */
static int64_t add(const tb_row *rows, size_t n)
{
    tb_error err = {0};
    int64_t id = 0;
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(both[i].store, &err));
        ok(add_to(both[i].store, rows, n, false, &err));
        id = segment_of(both[i].store, n);
        ok(tb_store_commit(both[i].store, &err));
    }
    return id;
}

static tb_row row(int64_t zone, const char *edge, int hour, uint64_t bytes)
{
    return row_of(zone, edge, HOUR + hour, TB_M_BYTES, bytes);
}

static int64_t add_one(int64_t zone, const char *edge, int hour, uint64_t bytes)
{
    const tb_row one = row(zone, edge, hour, bytes);
    return add(&one, 1);
}

static void withdraw(int64_t segment, const tb_row *rows, size_t n)
{
    const tb_withdrawal w = {.segment = segment, .kind = TB_BATCH_BUCKETS, .source = "test", .accepted = n, .now_us = NOW_US};
    const tb_withdrawn done = {.kind = w.kind, .source = w.source, .now_us = NOW_US};
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(both[i].store, &err));
        ok(add_to(both[i].store, rows, n, true, &err));
        ok(tb_store_withdraw_segment(both[i].store, &w, &err));
        ok(tb_store_withdraw_end(both[i].store, &done, &err));
        ok(tb_store_commit(both[i].store, &err));
    }
}

static int64_t count(int i, const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(both[i].store->db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

/* So many accounts share. */
static void shared(int64_t n)
{
    ck_assert_int_eq(count(0, "SELECT count(*) FROM series_shared"), n);
    ck_assert_int_eq(count(1, "SELECT count(*) FROM series_shared"), 0);
}

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)is_header;
    for (int i = 0; i < n; i++)
        tb_buf_fmt(ctx, "%s,", cells[i] ? cells[i] : "-");
    return true;
}

static void say_view(tb_buf *out, tb_store *store, tb_view view, tb_range range)
{
    tb_series series;
    tb_geo *geo = NULL;
    size_t n = 0;
    tb_error err = {0};
    ok(tb_series_init(&series, range, TB_METRIC_ALL, NULL, &err));
    ok(tb_store_read_view(store, &view, &series, &geo, &n, &err));
    for (uint32_t i = 0; i < range.count; i++)
        if (series.value[TB_M_BYTES][i]) tb_buf_fmt(out, "%u:%llu ", i, (unsigned long long)series.value[TB_M_BYTES][i]);
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "%s %llu ", geo[i].name, (unsigned long long)geo[i].bytes);
    free(geo);
    tb_series_release(&series);
}

static void say_all(tb_buf *out, tb_store *store, bool folded)
{
    static const tb_range ranges[] = {{HOUR - 400, 500, true}, {HOUR / 24 - 500, 510, false}};
    static const tb_scope scopes[] = {{1, TB_ALL, ""}, {1, TB_ALL, "DE"}, {1, 1, ""}, {2, TB_ALL, "UK"}};
    tb_error err = {0};
    for (int zone = 0; zone < 4; zone++)
        for (int i = 0; i < 2; i++)
            say_view(out, store, (tb_view){1, zone ? zone : TB_ALL, TB_ALL}, ranges[i]);
    say_view(out, store, (tb_view){2, TB_ALL, TB_ALL}, ranges[1]);
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        tb_region_summed *list = NULL;
        size_t n = 0;
        ok(tb_store_scope_regions(store, &scopes[i], ranges[1], TB_METRIC_ALL, &list, &n, &err));
        for (size_t at = 0; at < n; at++)
            tb_buf_fmt(out, "%s %llu ", list[at].code, (unsigned long long)list[at].of.sum[TB_M_BYTES]);
        free(list);
    }
    for (int64_t account = 1; account < 3 && folded; account++) { /* it is that of rows, whatever waits */
        int64_t month = 0;
        ok(store->plane.counters->first_month(store, account, &month, &err));
        tb_buf_fmt(out, "from %lld ", (long long)month);
    }
    for (int64_t month = MONTH - 1; month <= MONTH; month++) {
        int64_t *list = NULL;
        size_t n = 0;
        ok(tb_store_billed_accounts(store, month, &list, &n, &err));
        for (size_t i = 0; i < n; i++)
            tb_buf_fmt(out, "bill %lld ", (long long)list[i]);
        free(list);
    }
    ok(tb_store_query(store, "SELECT * FROM buckets", on_row, out, &err));
    ok(tb_store_query(store, "SELECT account,edge FROM account_series ORDER BY 1,2", on_row, out, &err));
    ok(tb_store_query(store, "SELECT value FROM meta WHERE name='newest_hour'", on_row, out, &err));
}

/* Their answers are the same, and verify finds nothing. */
static void same(void)
{
    const bool folded = !count(0, "SELECT count(*) FROM usage_run") && !count(1, "SELECT count(*) FROM usage_run");
    tb_buf t[2];
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        tb_buf_init(&t[i], (size_t)1 << 22, NULL);
        say_all(&t[i], both[i].store, folded);
        tb_buf_add(&t[i], "", 1);
    }
    while (at < t[0].len && t[0].data[at] == t[1].data[at])
        at++;
    ck_assert_msg(at == t[0].len && at == t[1].len, "at %zu: shared %.300s\nnot %.300s", at, t[0].data + at, t[1].data + at);
    for (int i = 0; i < 2; i++) {
        tb_buf_release(&t[i]);
        fixture_verify(&both[i]);
    }
}

/* --- sharing --- */

START_TEST(an_account_of_one_zone_stores_its_usage_once)
{
    begin();
    add_one(1, "DE", 0, 10);
    add_one(1, "UK", 1, 20);
    add_one(1, "DE", -30, 5);
    fold();
    shared(1);
    ck_assert_int_eq(count(0, "SELECT count(*) FROM series"), 3);
    ck_assert_int_eq(count(1, "SELECT count(*) FROM series"), 6);
    ck_assert_int_eq(2 * count(0, "SELECT count(*) FROM chunk"), count(1, "SELECT count(*) FROM chunk"));
    same();
    reopen();
    add_one(1, "NY", 2, 7);
    shared(1);
    same();
    end();
}
END_TEST

/* Whatever the second zone comes with, and however what was there lies. */
START_TEST(a_second_zone_ends_it)
{
    for (int i = 0; i < 64; i++) {
        const bool first_too = i & 4, two = i & 16;
        const char *edge = i & 8 ? "UK" : "DE";
        packed = i & 1;
        at_once = i & 2;
        begin();
        add_one(1, "DE", -100, 1);
        add_one(1, "DE", 0, 10);
        if (two) add_one(1, "NY", 1, 3);
        if (i & 32) fold();
        if (i / 2 & 1) reopen();
        shared(1);
        const tb_row rows[] = {row(2, edge, 2, 100), row(2, edge, -50, 200), row(1, "DE", 0, 1000), row(1, "SG", 3, 2000)};
        add(rows, first_too ? 4 : 2);
        shared(0);
        same();
        add_one(3, "UK", 4, 10000);
        add_one(1, "DE", 5, 20000);
        same();
        fold();
        same();
        end();
    }
}
END_TEST

/* The zone that comes first in a batch is not the one that was shared. */
START_TEST(a_lower_zone_ends_it_too)
{
    for (int i = 0; i < 4; i++) {
        const tb_row rows[] = {row(1, "UK", 0, 10), row(2, "DE", 1, 20), row(2, "UK", 2, 30)};
        packed = i & 1;
        at_once = i & 2;
        begin();
        add_one(2, "DE", 0, 1);
        add(rows, 3);
        shared(0);
        same();
        end();
    }
}
END_TEST

/* Nothing is copied, so a bound on copies refuses nothing. */
START_TEST(an_account_that_begins_with_two_zones_never_shares)
{
    const tb_row rows[] = {row(1, "DE", 0, 10), row(2, "DE", 2, 30), row(1, "UK", 1, 20)};
    for (int i = 0; i < 8; i++) {
        packed = i & 1;
        at_once = i & 2;
        begin();
        tb_store_bound_work(both[0].store, 1, false);
        add(rows, i & 4 ? 3 : 2);
        shared(0);
        same();
        end();
    }
}
END_TEST

/* More days than an account's may wait for its next zone. */
START_TEST(many_days_of_one_zone_are_shared)
{
    enum { DAYS = 3000 };
    static tb_row rows[DAYS + 1];
    for (int i = 0; i < DAYS; i++)
        rows[i] = row(1, i % 2 ? "UK" : "DE", -24 * (i / 2), 1 + (uint64_t)i);
    rows[DAYS] = row(2, "DE", 0, 5);
    for (int i = 0; i < 2; i++) {
        begin();
        add(rows, DAYS + (size_t)i);
        shared(!i);
        same();
        end();
    }
}
END_TEST

START_TEST(the_copy_is_bounded)
{
    enum { DAYS = 50 };
    const size_t need = DAYS + TB_COPY_COSTS;
    const tb_row second = row(2, "DE", 0, 1), other = row(1, "UK", 0, 1);
    tb_row rows[DAYS];
    tb_error err = {0};
    for (int i = 0; i < DAYS; i++)
        rows[i] = row(1, "DE", -24 * i, 10);
    for (int i = 0; i < 2; i++) {
        packed = i;
        begin();
        add(rows, DAYS);
        tb_store *store = both[0].store;
        ok(tb_store_begin(store, &err));
        ok(tb_store_mark(store, &err));
        tb_store_bound_work(store, need - 1, false);
        ck_assert_int_eq(add_to(store, &second, 1, false, &err), TB_E_TOO_LARGE);
        ck_assert_str_eq(err.field, "copies");
        tb_store_back_to_mark(store);
        tb_store_bound_work(store, need, false);
        ok(tb_store_mark(store, &err));
        ok(add_to(store, &second, 1, false, &err));
        tb_store_back_to_mark(store);
        ok(tb_store_mark(store, &err));
        tb_store_bound_work(store, 1, true);
        ok(add_to(store, &second, 1, false, &err));
        ck_assert_int_eq(add_to(store, &other, 1, false, &err), TB_E_TOO_LARGE);
        tb_store_rollback(store);
        tb_store_bound_work(store, 0, false);
        shared(1);
        same();
        add(&second, 1);
        same();
        end();
    }
}
END_TEST

/* In one transaction an account begins to share and ends it, each behind a mark, and one of the two is undone. */
START_TEST(what_is_undone_leaves_it_as_it_was)
{
    const tb_row rows[] = {row(1, "DE", 0, 10), row(2, "DE", 1, 20)};
    tb_error err = {0};
    for (int undone = 0; undone < 4; undone++) {
        packed = undone & 1;
        begin();
        for (int i = 0; i < 2; i++) {
            tb_store *store = both[i].store;
            ok(tb_store_begin(store, &err));
            for (int at = 0; at < 2; at++) {
                ok(tb_store_group_batches(store, true, &err));
                ok(tb_store_mark(store, &err));
                ok(add_to(store, &rows[at], 1, false, &err));
                if (at == undone / 2) tb_store_back_to_mark(store);
                else segment_of(store, 1);
                if (at != undone / 2) ok(tb_store_keep_mark(store, &err));
            }
            ok(tb_store_commit(store, &err));
        }
        shared(1);
        ck_assert_int_eq(count(0, "SELECT zone FROM series_shared"), undone / 2 ? 1 : 2);
        same();
        add(rows, 2);
        shared(0);
        same();
        end();
    }
}
END_TEST

START_TEST(many_accounts_begin_at_once)
{
    enum { FIRST = 10, END = 1510 };
    static char text[END * 120];
    static tb_row rows[END];
    size_t len = (size_t)sprintf(text, "{\"load_balancers\":[],\"accounts\":[");
    for (int i = FIRST; i < END; i++)
        len += (size_t)sprintf(text + len, "%s{\"id\":%d,\"name\":\"a\"}", i > FIRST ? "," : "", i);
    len += (size_t)sprintf(text + len, "],\"zones\":[");
    for (int i = FIRST; i < END; i++) {
        len += (size_t)sprintf(text + len, "%s{\"id\":%d,\"account\":%d,\"name\":\"z%d\"}", i > FIRST ? "," : "", i, i, i);
        rows[i - FIRST] = row(i, "DE", i % 24, (uint64_t)i);
    }
    sprintf(text + len, "]}");
    begin();
    apply(text);
    add(rows, END - FIRST);
    shared(END - FIRST);
    same();
    end();
}
END_TEST

/* --- zones that find their account --- */

START_TEST(a_zone_that_finds_its_account_is_shared)
{
    for (int i = 0; i < 4; i++) {
        at_once = i & 1;
        begin();
        add_one(4, "DE", 0, 10);
        add_one(4, "UK", 1, 20);
        add_one(5, "UK", 2, 30);
        if (i & 2) fold();
        apply(with_4);
        shared(1);
        same();
        add_one(4, "NY", 3, 40);
        shared(1);
        same();
        apply(with_5);
        shared(0);
        same();
        fold();
        same();
        end();
    }
}
END_TEST

START_TEST(zones_that_find_it_together_are_not)
{
    begin();
    add_one(4, "DE", 0, 10);
    add_one(5, "UK", 2, 30);
    apply(with_5);
    shared(0);
    same();
    end();
}
END_TEST

/* Usage at UK was withdrawn before the account got the zone: the account was never there. */
START_TEST(a_zone_with_a_location_of_nothing_is_not_shared)
{
    const tb_row uk = row(4, "UK", 1, 20);
    begin();
    add_one(4, "DE", 0, 10);
    withdraw(add(&uk, 1), &uk, 1);
    apply(with_4);
    shared(0);
    same();
    end();
}
END_TEST

START_TEST(a_zone_of_nothing_ends_nothing)
{
    const tb_row uk = row(5, "UK", 1, 20);
    begin();
    withdraw(add(&uk, 1), &uk, 1);
    add_one(4, "DE", 0, 10);
    apply(with_5);
    shared(1);
    same();
    add(&uk, 1);
    shared(0);
    same();
    end();
}
END_TEST

/* --- withdrawing and letting go --- */

START_TEST(usage_is_withdrawn_before_and_behind_the_end)
{
    for (int i = 0; i < 2; i++) {
        const tb_row first[] = {row(1, "DE", 0, 10), row(1, "UK", 1, 20)}, second = row(2, "DE", 2, 30);
        packed = i;
        begin();
        add_one(1, "DE", 0, 1);
        const int64_t a = add(first, 2), b = add(first, 2);
        withdraw(a, first, 2);
        shared(1);
        same();
        const int64_t c = add(&second, 1);
        withdraw(b, first, 2);
        same();
        withdraw(c, &second, 1);
        shared(0);
        same();
        end();
    }
}
END_TEST

START_TEST(all_that_was_shared_is_withdrawn)
{
    const tb_row first = row(1, "DE", 0, 10);
    begin();
    withdraw(add(&first, 1), &first, 1);
    shared(1);
    same();
    add_one(2, "UK", 0, 7);
    shared(0);
    same();
    end();
}
END_TEST

static void retain(int64_t hours, int64_t days)
{
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        bool over = false;
        tb_retain_walk walk = {.account = 1, .kept = {hours, days}};
        while (!over) {
            walk.room = 3;
            ok(tb_store_begin(both[i].store, &err));
            ok(tb_store_retain(both[i].store, &walk, &over, &err));
            ok(tb_store_commit(both[i].store, &err));
        }
        free(walk.months);
    }
}

/* Of months whose hours went, days are copied; a zone's days that went are counted once. */
START_TEST(what_is_let_go_of_is_gone_from_both)
{
    for (int i = 0; i < 4; i++) {
        packed = i & 1;
        begin();
        for (int month = 0; month < 12; month++) {
            add_one(1, "DE", -24 * 30 * month, 10);
            if (i & 2) add_one(1, "UK", -24 * 30 * month - 5, 20);
        }
        fold();
        retain(MONTH - 3, MONTH - 8);
        shared(1);
        same();
        add_one(2, "NY", 0, 30);
        shared(0);
        same();
        add_one(1, "DE", -24 * 200, 5); /* it comes for a month whose hours went */
        fold();
        retain(MONTH - 2, MONTH - 6);
        same();
        end();
    }
}
END_TEST

/* --- verify --- */

static void say(void *ctx, const char *sentence)
{
    tb_buf_str(ctx, sentence);
    tb_buf_str(ctx, "\n");
}

START_TEST(verify_finds_what_is_wrong_with_it)
{
    static const struct {
        const char *sql, *said;
    } cases[] = {
        {"DELETE FROM series_shared", "Account 1, DE: the account has no series; its pull zones have usage there."},
        {"UPDATE series_shared SET zone=2", "Account 1 shares the series of pull zone 2, which is not its own or has none"},
        {"UPDATE series_shared SET zone=4", "Account 1 shares the series of pull zone 4, which is not its own"},
        {"UPDATE series_shared SET account=2", "Account 2 shares the series of pull zone 1, which is not its own"},
        {"INSERT INTO series_shared VALUES(2,5)", "Account 2 shares the series of pull zone 5"},
        {"INSERT INTO series_placed VALUES(2,1,1,999,0)", "Account 1 shares the series of pull zone 1"},
        {"INSERT INTO series_placed SELECT 1,3,edge,999,0 FROM series WHERE owner=1 LIMIT 1;"
         "INSERT INTO chunk SELECT (key&262143)|(999<<18),data FROM chunk LIMIT 1",
         "Account 1, DE: the account shares the series of one pull zone; others have usage there."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t differences = 0;
        tb_error err = {0};
        tb_buf said;
        begin();
        add_one(1, "DE", 0, 10);
        add_one(4, "DE", 0, 10);
        fold();
        edit(both[0].store->db, cases[i].sql);
        tb_buf_init(&said, 1 << 16, NULL);
        ok(tb_store_verify(both[0].store, say, &said, &differences, &err));
        ck_assert_msg(said.len && strstr(said.data, cases[i].said), "%zu: %.800s", i, said.len ? said.data : "");
        tb_buf_release(&said);
        end();
    }
}
END_TEST

/* All owners, and of each its series' locations, as a move to servers walks them. */
static void say_moved(tb_buf *out, tb_store *store)
{
    int64_t place[2] = {0, INT64_MIN};
    tb_error err = {0};
    for (bool row = true; row;) {
        sqlite3_stmt *s;
        int64_t edge = -1;
        ok(tb__sql_ints(store, TB__SQL_MOVE_OWNER, place, 2, &s, &err));
        ok(tb__step(store, s, &row, &err));
        for (int i = 0; row && i < 2; i++)
            place[i] = sqlite3_column_int64(s, i);
        sqlite3_reset(s);
        for (bool more = row; more;) {
            ok(tb__sql_ints(store, TB__SQL_MOVE_SERIES, (int64_t[]){place[0], place[1], edge}, 3, &s, &err));
            ok(tb__step(store, s, &more, &err));
            if (more) edge = sqlite3_column_int64(s, 0);
            sqlite3_reset(s);
            if (more) tb_buf_fmt(out, "%lld %lld %lld, ", (long long)place[0], (long long)place[1], (long long)edge);
        }
    }
}

/* When usage moves to servers, where all accounts have their own. */
START_TEST(all_accounts_get_series_of_their_own)
{
    tb_error err = {0};
    tb_buf moved[2];
    begin();
    add_one(1, "DE", 0, 10);
    add_one(1, "UK", 0, 10);
    add_one(4, "DE", 0, 10);
    apply(with_4);
    shared(2);
    for (int i = 0; i < 2; i++) {
        tb_buf_init(&moved[i], 1 << 16, NULL);
        say_moved(&moved[i], both[i].store);
        tb_buf_add(&moved[i], "", 1);
    }
    ck_assert_str_eq(moved[0].data, moved[1].data);
    ck_assert_str_eq(moved[0].data, "1 1 0, 1 1 1, 1 1 2, 1 4 1, 2 1 0, 2 1 1, 2 1 2, 2 2 1, ");
    for (int i = 0; i < 2; i++)
        tb_buf_release(&moved[i]);
    ok(tb_store_begin(both[0].store, &err));
    ok(tb__owners_unshare(both[0].store, &err));
    ok(tb_store_commit(both[0].store, &err));
    shared(0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(count(i, "SELECT count(*) FROM series WHERE scope=2 AND owner=1 AND edge>0"), 2);
        ck_assert_int_eq(count(i, "SELECT count(*) FROM series WHERE scope=2 AND owner=1 AND edge=0"), 1);
        ck_assert_int_eq(count(i, "SELECT count(*) FROM series WHERE scope=2 AND owner=2"), 1);
        ck_assert_int_eq(count(i, "SELECT count(DISTINCT id) FROM series"), count(i, "SELECT n FROM head WHERE name='series'"));
    }
    end();
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("sharing");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, an_account_of_one_zone_stores_its_usage_once);
    tcase_add_test(t, a_second_zone_ends_it);
    tcase_add_test(t, a_lower_zone_ends_it_too);
    tcase_add_test(t, an_account_that_begins_with_two_zones_never_shares);
    tcase_add_test(t, many_days_of_one_zone_are_shared);
    tcase_add_test(t, the_copy_is_bounded);
    tcase_add_test(t, what_is_undone_leaves_it_as_it_was);
    tcase_add_test(t, many_accounts_begin_at_once);
    tcase_add_test(t, a_zone_that_finds_its_account_is_shared);
    tcase_add_test(t, zones_that_find_it_together_are_not);
    tcase_add_test(t, a_zone_with_a_location_of_nothing_is_not_shared);
    tcase_add_test(t, a_zone_of_nothing_ends_nothing);
    tcase_add_test(t, usage_is_withdrawn_before_and_behind_the_end);
    tcase_add_test(t, all_that_was_shared_is_withdrawn);
    tcase_add_test(t, what_is_let_go_of_is_gone_from_both);
    tcase_add_test(t, verify_finds_what_is_wrong_with_it);
    tcase_add_test(t, all_accounts_get_series_of_their_own);
    Suite *s = suite_create("store_sharing");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
