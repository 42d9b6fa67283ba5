/* Queries: one statement that reads; the virtual tables show the chunks as rows, and a condition
 * finds exactly what reading every row would find. */
#include "store_fixture.h"

#include "store/core/internal.h"

#define HOUR 498600 /* 2026-11-18T00:00 */
#define DAY  (HOUR / 24)

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":"
    "\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"}]}";

/* Rows as one text: cells by ',', rows by ';', NULL as '-'. */
typedef struct result {
    char text[8192];
    size_t len;
    int stop_after; /* rows, header included; 0: never */
    int rows;
} result;

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    result *r = ctx;
    (void)is_header;
    for (int i = 0; i < n; i++)
        r->len += (size_t)snprintf(r->text + r->len, sizeof r->text - r->len, "%s%s", i ? "," : "",
                                   cells[i] ? cells[i] : "-");
    r->len += (size_t)snprintf(r->text + r->len, sizeof r->text - r->len, ";");
    ck_assert_uint_lt(r->len, sizeof r->text);
    return ++r->rows != r->stop_after;
}

static const char *ask(fixture *f, const char *sql)
{
    static result r;
    tb_error err = {0};
    r = (result){.len = 0};
    r.text[0] = 0;
    ok(tb_store_query(f->store, sql, on_row, &r, &err));
    return r.text;
}

static void refuse(fixture *f, const char *sql, tb_code expected, const char *part)
{
    result r = {.len = 0};
    tb_error err = {0};
    tb_code code = tb_store_query(f->store, sql, on_row, &r, &err);
    ck_assert_msg(code == expected, "%s: %s %s", sql, tb_code_name(code), err.message);
    ck_assert_msg(strstr(err.message, part) != NULL, "%s: %s", sql, err.message);
    ck_assert_msg(strlen(err.message) < sizeof err.message - 1, "%s", err.message);
}

/* Two zones, three edge locations, hours over a month's end, one balancer, countries. */
static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, catalog, NOW_US, NULL);
    tb_row rows[] = {
        row_of(101, "UK", HOUR, TB_M_REQUESTS, 1),
        row_of(101, "DE", HOUR + 23, TB_M_REQUESTS, 2),
        row_of(101, "DE", HOUR + 24, TB_M_REQUESTS, 4),
        row_of(101, "DE", HOUR + 24 * 14, TB_M_BYTES, 8), /* 2 December */
        row_of(102, "DE", HOUR + 1, TB_M_REQUESTS, 16),
        row_of(999, "ZZ", HOUR + 2, TB_M_QUEUED_MAX, 32), /* a zone that nobody declared */
        {.balancer = true, .id = 7, .hour = HOUR + 5, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)},
    };
    rows[6].value[TB_M_REQUESTS] = 500;
    fixture_add(f, rows, sizeof rows / sizeof *rows, 1);
}

START_TEST(buckets_are_the_hours_of_every_location)
{
    fixture f;
    fill(&f);
    ck_assert_str_eq(ask(&f, "SELECT zone,region,hour,requests,bytes,queued_max FROM buckets"),
                     "zone,region,hour,requests,bytes,queued_max;"
                     "101,DE,2026-11-18T23:00:00Z,2,0,0;"
                     "101,DE,2026-11-19T00:00:00Z,4,0,0;"
                     "101,DE,2026-12-02T00:00:00Z,0,8,0;"
                     "101,UK,2026-11-18T00:00:00Z,1,0,0;"
                     "102,DE,2026-11-18T01:00:00Z,16,0,0;"
                     "999,ZZ,2026-11-18T02:00:00Z,0,0,32;");
    fixture_release(&f);
}
END_TEST

START_TEST(buckets_have_a_column_for_each_metric_in_order)
{
    fixture f;
    result r = {.stop_after = 1};
    tb_error err = {0};
    char expected[1024] = "zone,region,hour";
    fill(&f);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), ",%s",
                 m == TB_M_CACHE_UNKNOWN ? "cache_known" : tb_metric_table[m].name);
    ok(tb_store_query(f.store, "SELECT * FROM buckets", on_row, &r, &err));
    r.text[r.len - 1] = 0;
    ck_assert_str_eq(r.text, expected);
    fixture_release(&f);
}
END_TEST

START_TEST(balancers_have_buckets_of_their_own)
{
    fixture f;
    fill(&f);
    ck_assert_str_eq(ask(&f, "SELECT * FROM balancer_buckets"),
                     "load_balancer,hour,requests;7,2026-11-18T05:00:00Z,500;");
    ck_assert_str_eq(ask(&f, "SELECT requests FROM balancer_buckets WHERE load_balancer=8"),
                     "requests;");
    fixture_release(&f);
}
END_TEST

START_TEST(totals_by_zone_are_the_sums_that_were_added)
{
    fixture f;
    fill(&f);
    ck_assert_str_eq(ask(&f, "SELECT zone,sum(requests),sum(bytes) FROM buckets GROUP BY zone"),
                     "zone,sum(requests),sum(bytes);101,7,8;102,16,0;999,0,0;");
    fixture_release(&f);
}
END_TEST

/* A unary plus keeps SQLite from handing the condition to the table: both must agree. */
START_TEST(a_condition_finds_what_reading_every_row_finds)
{
    static const char *const values[] = {"'2026-11-18T23:00:00Z'",
                                         "'2026-11-19'",
                                         "'2026-11-19T00:00:00Z'",
                                         "'2026-12'",
                                         "'2026'",
                                         "''",
                                         "'zz'",
                                         "'2026-11-18T22:59:59Z'",
                                         "'2026-11-18T23:00:00Z '",
                                         "'2026-11-18 10:00'",
                                         "'0001'",
                                         "NULL",
                                         "5",
                                         "x'41'",
                                         "'1970-01-01T00:00:00Z'",
                                         "'2328-11-07T23:00:00Z'",
                                         "'2026-11-31'"};
    static const char *const operators[] = {"=", "<", "<=", ">", ">=", "<>", "IS"};
    fixture f;
    fill(&f);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (size_t o = 0; o < sizeof operators / sizeof *operators; o++) {
            char used[200], kept[200], found[8192];
            snprintf(used, sizeof used, "SELECT zone,region,hour FROM buckets WHERE hour %s %s",
                     operators[o], values[v]);
            snprintf(kept, sizeof kept, "SELECT zone,region,hour FROM buckets WHERE +hour %s %s",
                     operators[o], values[v]);
            /* The plus takes the column's affinity away too: numbers then compare otherwise. */
            if (strcmp(values[v], "5") == 0) continue;
            snprintf(found, sizeof found, "%s", ask(&f, used));
            ck_assert_msg(strcmp(found, ask(&f, kept)) == 0, "%s", used);
        }
    }
    fixture_release(&f);
}
END_TEST

START_TEST(conditions_on_zone_region_and_order_agree_with_a_plain_copy)
{
    static const char *const tails[] = {
        "WHERE zone=101 ORDER BY hour",
        "WHERE zone=101 AND region='DE' ORDER BY hour DESC",
        "WHERE zone=101 AND region='DE' ORDER BY hour",
        "WHERE zone IN(999,101) ORDER BY 1,2,3",
        "WHERE zone='101' ORDER BY 1,2,3",
        "WHERE zone=101.0 ORDER BY 1,2,3",
        "WHERE zone=101.5",
        "WHERE zone IS NULL",
        "WHERE zone=-1",
        "WHERE zone='x'",
        "WHERE region='de'",
        "WHERE region='de' COLLATE NOCASE ORDER BY 1,2,3",
        "WHERE hour>='2026-11-19' AND hour<'2026-12' AND zone=101",
        "WHERE hour>'2026-11-18T23:00:00Z' AND hour<='2026-12-02T00:00:00Z' ORDER BY zone,region",
        "WHERE hour BETWEEN '2026-11-18' AND '2026-11-19' ORDER BY zone,hour",
        "WHERE hour LIKE '2026-11%' ORDER BY 1,2,3",
        "WHERE hour>='2027'",
        "WHERE hour<'2020'",
        "WHERE hour='2026-11-18T23:00:00Z' ORDER BY zone,region",
        "ORDER BY zone,region,hour",
        "ORDER BY zone DESC,region,hour",
        "ORDER BY region,zone,hour"};
    fixture f;
    char found[8192], sql[400];
    sqlite3 *plain;
    fill(&f);
    ck_assert_int_eq(sqlite3_open(":memory:", &plain), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(plain,
                     "CREATE TABLE buckets(zone INTEGER,region TEXT,hour TEXT);"
                     "INSERT INTO buckets VALUES(101,'DE','2026-11-18T23:00:00Z'),"
                     "(101,'DE','2026-11-19T00:00:00Z'),(101,'DE','2026-12-02T00:00:00Z'),"
                     "(101,'UK','2026-11-18T00:00:00Z'),(102,'DE','2026-11-18T01:00:00Z'),"
                     "(999,'ZZ','2026-11-18T02:00:00Z')",
                     NULL, NULL, NULL),
        SQLITE_OK);
    fixture copy = {.store = &(tb_store){.db = plain}};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        snprintf(sql, sizeof sql, "SELECT zone,region,hour FROM buckets %s", tails[i]);
        snprintf(found, sizeof found, "%s", ask(&f, sql));
        snprintf(sql, sizeof sql, "SELECT zone,region,hour FROM main.buckets %s", tails[i]);
        ck_assert_msg(strcmp(found, ask(&copy, sql)) == 0, "%s: %s", tails[i], found);
    }
    sqlite3_close(plain);
    fixture_release(&f);
}
END_TEST

/* What the table does with a condition shows in its plan: bits of zone, region and hour. */
START_TEST(conditions_reach_the_table_and_its_order_needs_no_sorting)
{
    fixture f;
    fill(&f);
    const char *plan = ask(&f, "EXPLAIN QUERY PLAN SELECT requests FROM buckets WHERE zone=101"
                               " AND region='DE' AND hour>='2026-11' ORDER BY hour");
    ck_assert_ptr_nonnull(strstr(plan, "VIRTUAL TABLE INDEX"));
    ck_assert_ptr_null(strstr(plan, "TEMP B-TREE"));
    plan = ask(&f, "EXPLAIN QUERY PLAN SELECT requests FROM buckets ORDER BY zone,region,hour");
    ck_assert_ptr_null(strstr(plan, "TEMP B-TREE"));
    plan = ask(&f, "EXPLAIN QUERY PLAN SELECT requests FROM buckets ORDER BY hour");
    ck_assert_ptr_nonnull(strstr(plan, "TEMP B-TREE"));
    fixture_release(&f);
}
END_TEST

START_TEST(countries_are_rows_too)
{
    static const tb_hit hits[] = {
        {.zone = 101,
         .bytes = 10,
         .edge = "DE",
         .edge_len = 2,
         .hour = HOUR,
         .status = 200,
         .country = 'D' << 8 | 'E'},
        {.zone = 101,
         .bytes = 5,
         .edge = "DE",
         .edge_len = 2,
         .hour = HOUR + 1,
         .status = 200,
         .country = 'A' << 8 | 'T'},
        {.zone = 101,
         .bytes = 1,
         .edge = "DE",
         .edge_len = 2,
         .hour = HOUR + 24,
         .status = 200,
         .country = 'D' << 8 | 'E'},
        {.zone = 102, .bytes = 2, .edge = "DE", .edge_len = 2, .hour = HOUR, .status = 200}};
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    tb_rollup *rollup = tb_rollup_new(1 << 10, NULL);
    ok(tb_rollup_add_hits(rollup, hits, 4, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_add_usage(f.store, cursor, &err));
    ok(tb_store_commit(f.store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    ck_assert_str_eq(ask(&f, "SELECT * FROM countries"),
                     "zone,day,country,requests,bytes;101,2026-11-18,AT,1,5;"
                     "101,2026-11-18,DE,1,10;101,2026-11-19,DE,1,1;");
    ck_assert_str_eq(ask(&f, "SELECT country FROM countries WHERE zone=101 AND day>'2026-11-18'"),
                     "country;DE;");
    ck_assert_str_eq(ask(&f, "SELECT country FROM countries WHERE zone=102"), "country;");
    fixture_release(&f);
}
END_TEST

START_TEST(only_one_reading_statement_is_run)
{
    fixture f;
    fill(&f);
    ck_assert_str_eq(ask(&f, " -- a comment\n SELECT 1 AS n ; /* the end */ ; "), "n;1;");
    ck_assert_str_eq(ask(&f, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE"
                             " n<3) SELECT n FROM c"),
                     "n;1;2;3;");
    refuse(&f, "SELECT 1; SELECT 2", TB_E_USAGE, "one statement");
    refuse(&f, "SELECT 1; DELETE FROM zone", TB_E_USAGE, "one statement");
    refuse(&f, "SELECT 1; nonsense", TB_E_USAGE, "one statement");
    refuse(&f, "", TB_E_USAGE, "no SQL statement");
    refuse(&f, " ; -- nothing", TB_E_USAGE, "no SQL statement");
    refuse(&f, "SELEC 1", TB_E_USAGE, "syntax error");
    refuse(&f, "SELECT \"nosuch\" FROM zone", TB_E_USAGE, "nosuch");
    refuse(&f, "SELECT abs(-9223372036854775807-1)", TB_E_USAGE, "overflow");
    fixture_release(&f);
}
END_TEST

START_TEST(nothing_is_written)
{
    static const char *const writes[] = {"DELETE FROM zone",
                                         "UPDATE meta SET value=0",
                                         "INSERT INTO meta VALUES('x',1)",
                                         "CREATE TABLE t(x)",
                                         "CREATE TEMP TABLE t(x)",
                                         "DROP TABLE zone",
                                         "BEGIN",
                                         "COMMIT",
                                         "VACUUM",
                                         "ATTACH '/tmp/x' AS x",
                                         "PRAGMA user_version=9",
                                         "PRAGMA journal_mode=DELETE",
                                         "SAVEPOINT s",
                                         "REINDEX",
                                         "ANALYZE",
                                         "VACUUM INTO '/tmp/tollbook-never'",
                                         "CREATE VIRTUAL TABLE b USING buckets",
                                         "SELECT * FROM pragma_user_version",
                                         "SELECT load_extension('x')",
                                         "INSERT INTO buckets(zone) VALUES(1)"};
    fixture f;
    fill(&f);
    for (int write = 0; write < 2; write++) {
        for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
            refuse(&f, writes[i], TB_E_USAGE, "");
        if (write) break;
        tb_store_close(f.store);
        fixture_open(&f, false);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(the_hash_of_a_key_cannot_be_read)
{
    fixture f;
    fill(&f);
    refuse(&f, "SELECT hash FROM key", TB_E_USAGE, "key.hash");
    refuse(&f, "SELECT * FROM key", TB_E_USAGE, "hash");
    refuse(&f, "SELECT id FROM key k WHERE length(k.hash)=32", TB_E_USAGE, "hash");
    refuse(&f, "SELECT 1 FROM (SELECT HASH AS h FROM KEY)", TB_E_USAGE, "hash");
    ck_assert_str_eq(ask(&f, "SELECT id,hint FROM key"), "id,hint;");
    ck_assert_str_eq(ask(&f, "SELECT count(hash) FROM segment"), "count(hash);1;");
    fixture_release(&f);
}
END_TEST

START_TEST(values_are_texts_and_blobs_are_sql)
{
    fixture f;
    fill(&f);
    ck_assert_str_eq(ask(&f, "SELECT 1 a,NULL b,'x' c,x'00fF' d,1.5 e,x'' f,-3 g"),
                     "a,b,c,d,e,f,g;1,-,x,X'00ff',1.5,X'',-3;");
    fixture_release(&f);
}
END_TEST

/* On usage servers they would be empty, and no answer. */
START_TEST(tables_of_usage_are_there_or_refused)
{
    static const char *const asks[] = {"SELECT 1 FROM buckets", "SELECT count(*) FROM balancer_buckets b",
                                       "SELECT id,(SELECT sum(requests) FROM countries) AS n FROM account"};
    fixture f;
    fill(&f);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        if (f.plane.client.shards) refuse(&f, asks[i], TB_E_USAGE, "its usage lies in ClickHouse");
        else ask(&f, asks[i]);
    refuse(&f, "SELECT hash FROM key", TB_E_USAGE, "key.hash");
    fixture_release(&f);
}
END_TEST

START_TEST(the_reader_may_stop)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    for (int stop = 1; stop < 4; stop++) {
        result r = {.stop_after = stop};
        ok(tb_store_query(f.store, "SELECT zone FROM buckets", on_row, &r, &err));
        ck_assert_int_eq(r.rows, stop);
    }
    fixture_add(&f, &(tb_row){.id = 5, .edge = "DE", .edge_len = 2, .hour = HOUR}, 1, 3);
    fixture_release(&f);
}
END_TEST

START_TEST(a_damaged_chunk_is_an_error_not_an_answer)
{
    fixture f;
    fill(&f);
    fixture_fold(&f);
    ck_assert_int_eq(sqlite3_exec(f.store->db, "UPDATE chunk SET data=CAST(hex(data) AS BLOB)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    refuse(&f, "SELECT requests FROM buckets", TB_E_CORRUPT, "damaged");
    refuse(&f, "SELECT count(*) FROM buckets", TB_E_CORRUPT, "damaged");
    fixture_release(&f);
}
END_TEST

START_TEST(damage_of_what_waits_is_an_error_not_an_answer)
{
    fixture f;
    fill(&f);
    ck_assert_int_eq(sqlite3_exec(f.store->db, "UPDATE usage_page SET data=CAST(hex(data) AS BLOB)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    refuse(&f, "SELECT requests FROM buckets", TB_E_CORRUPT, "damaged");
    refuse(&f, "SELECT count(*) FROM balancer_buckets", TB_E_CORRUPT, "damaged");
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store query");
    TCase *t = tcase_create("query");
    tcase_add_test(t, buckets_are_the_hours_of_every_location);
    tcase_add_test(t, buckets_have_a_column_for_each_metric_in_order);
    tcase_add_test(t, balancers_have_buckets_of_their_own);
    tcase_add_test(t, totals_by_zone_are_the_sums_that_were_added);
    tcase_add_test(t, a_condition_finds_what_reading_every_row_finds);
    tcase_add_test(t, conditions_on_zone_region_and_order_agree_with_a_plain_copy);
    tcase_add_test(t, conditions_reach_the_table_and_its_order_needs_no_sorting);
    tcase_add_test(t, countries_are_rows_too);
    tcase_add_test(t, only_one_reading_statement_is_run);
    tcase_add_test(t, nothing_is_written);
    tcase_add_test(t, the_hash_of_a_key_cannot_be_read);
    tcase_add_test(t, values_are_texts_and_blobs_are_sql);
    tcase_add_test(t, tables_of_usage_are_there_or_refused);
    tcase_add_test(t, the_reader_may_stop);
    tcase_add_test(t, a_damaged_chunk_is_an_error_not_an_answer);
    tcase_add_test(t, damage_of_what_waits_is_an_error_not_an_answer);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
