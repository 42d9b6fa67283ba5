/* Migrations: a file of an older schema, with all it holds, becomes one of the newest. */
#include "billing_fixture.h"

#include "store/verify/verify.h"

/* A file as the first schema made it, with the rows it would hold. */
static void make_v1(fixture *f)
{
    char head[200];
    ck_assert(test_folder(f->folder));
    snprintf(f->path, sizeof f->path, "%s/t.db", f->folder);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(f->path, &db), SQLITE_OK);
    snprintf(head, sizeof head,
             "PRAGMA page_size=8192;PRAGMA journal_mode=WAL;PRAGMA application_id=%d;"
             "PRAGMA user_version=1;",
             TB_APPLICATION_ID);
    f->store = &(tb_store){.db = db};
    sql(f, head);
    sql(f, tb__migrations[0]);
    sql(f, "UPDATE meta SET value=9 WHERE name='data_version';"
           "INSERT INTO region VALUES(1,'DE','EU: X, DE','EU','EU','DE','0.01',0,0,1);"
           "INSERT INTO account VALUES(1,'a','{\"id\":1,\"name\":\"a\"}',5,9223372036854775807);"
           "INSERT INTO declaration VALUES('account',1,-9223372036854775808,9223372036854775807,"
           "'{\"id\":1,\"name\":\"a\"}');"
           "INSERT INTO zone VALUES(101,1,'z','premium',-9223372036854775808,'{}',"
           "'{\"account\":1,\"id\":101,\"name\":\"z\"}',5,9223372036854775807);"
           "INSERT INTO declaration VALUES('zone',101,-9223372036854775808,1000,"
           "'{\"account\":1,\"id\":101,\"name\":\"old\",\"type\":\"volume\"}');"
           "INSERT INTO declaration VALUES('zone',101,1000,9223372036854775807,"
           "'{\"account\":1,\"id\":101,\"name\":\"z\"}');"
           "INSERT INTO balancer VALUES(7,1,-9223372036854775808,9223372036854775807,"
           "'{\"account\":1,\"id\":7,\"zones\":[101]}',5,9223372036854775807);"
           "INSERT INTO declaration VALUES('balancer',7,-9223372036854775808,9223372036854775807,"
           "'{\"account\":1,\"id\":7,\"zones\":[101]}');"
           "INSERT INTO attachment VALUES(101,7,-9223372036854775808,1000);"
           "INSERT INTO attachment VALUES(101,7,2000,9223372036854775807);");
    sqlite3_close(db);
}

START_TEST(a_file_of_the_first_schema_is_billed_like_a_new_one)
{
    fixture f = {.store = NULL};
    make_v1(&f);
    fixture_open(&f, true);
    ck_assert_int_eq(number(&f, "PRAGMA user_version"), tb__schema_version);
    verify_finds(&f, NULL);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM region_billing WHERE version=0"), 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM declaration WHERE version=0"), 4);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM declaration WHERE closed_version=0"), 1);
    ck_assert_int_eq(number(&f, "SELECT closed_version FROM attachment WHERE to_us=1000"), 0);
    ck_assert_int_eq(number(&f, "SELECT closed_version FROM attachment WHERE to_us>1000"),
                     INT64_MAX);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    add_bytes(&f, 101, "DE", at(10, 4, 0), 1000);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 4, 0), 5);
    source in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_uint_eq(in.s.input.n_bytes, 1);
    ck_assert_int_eq((int64_t)in.s.input.bytes[0].bytes, 1000);
    ck_assert_int_eq(in.s.input.bytes[0].charge, TB_CHARGE_PREMIUM);
    ck_assert_int_eq(in.s.input.bytes[0].region, TB_REGION_EU);
    ck_assert_uint_eq(in.s.input.n_balancers, 1);
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(what_the_catalogue_says_is_kept_by_data_version)
{
    fixture f = {.store = NULL};
    fixture_init(&f);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[]}", NOW_US, NULL);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"b\"}],\"zones\":[]}", NOW_US + 1, NULL);
    ck_assert_int_eq(number(&f, "SELECT version FROM declaration ORDER BY from_us LIMIT 1"), 1);
    ck_assert_int_eq(number(&f, "SELECT closed_version FROM declaration ORDER BY from_us LIMIT 1"),
                     2);
    ck_assert_int_eq(number(&f, "SELECT max(version) FROM declaration"), 2);
    ck_assert_int_eq(number(&f, "SELECT value FROM meta WHERE name='data_version'"), 2);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"b\"}],\"zones\":[],\"regions\":[{\"id\":1,"
                  "\"code\":\"DE\",\"name\":\"AF: X, DE\",\"billing\":\"AF\"},{\"id\":2,\"code\":"
                  "\"UK\",\"name\":\"EU: Y, UK\",\"billing\":\"EU\"}]}",
                  NOW_US + 2, NULL);
    ck_assert_int_eq(
        number(&f, "SELECT count(*) FROM region_billing WHERE version=3 AND billing<>''"), 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM region_billing WHERE version=3"),
                     (int64_t)tb_region_default_count - 1);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

/* Else verify makes the schema anew each time, and still says the right thing. */
START_TEST(the_hash_of_the_schema_is_its_own)
{
    fixture f = {.store = NULL};
    tb_error err = {0};
    char hex[65];
    fixture_init(&f);
    ok(tb__schema_hash(f.store->db, f.path, hex, &err));
    ck_assert_str_eq(tb__schema_sha256, hex);
    verify_finds(&f, NULL);
    sql(&f, "CREATE TABLE more(id INTEGER)");
    verify_finds(&f, NULL);
    sql(&f, "DROP TRIGGER late_no_update");
    verify_finds(&f, "The trigger late_no_update is missing.");
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("schema");
    tcase_add_test(t, a_file_of_the_first_schema_is_billed_like_a_new_one);
    tcase_add_test(t, what_the_catalogue_says_is_kept_by_data_version);
    tcase_add_test(t, the_hash_of_the_schema_is_its_own);
    Suite *s = suite_create("store_schema");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
