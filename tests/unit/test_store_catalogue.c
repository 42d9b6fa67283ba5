/* Applying catalogues: declared state, idempotent, nothing lost. */
#include "store_fixture.h"

#include "store/core/internal.h"

static int64_t count(fixture *f, const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_msg(sqlite3_prepare_v2(f->store->db, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(f->store->db));
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static uint64_t version(fixture *f)
{
    tb_error err = {0};
    uint64_t v;
    ok(tb_store_version(f->store, &v, &err));
    return v;
}

static const char full[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],"
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"}],"
    "\"load_balancers\":[{\"id\":7,\"account\":1,\"zones\":[101]}]}";
static const char shrunk[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],"
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"}],"
    "\"load_balancers\":[{\"id\":7,\"account\":1,\"zones\":[]}]}";

START_TEST(applying_the_same_catalogue_twice_changes_nothing)
{
    fixture f;
    tb_applied applied;
    fixture_init(&f);
    fixture_apply(&f, full, NOW_US, &applied);
    ck_assert_uint_eq(applied.zones_added, 2);
    ck_assert_uint_eq(applied.accounts_added, 1);
    ck_assert_uint_eq(applied.balancers_added, 1);
    uint64_t before = version(&f);
    fixture_apply(&f, full, NOW_US + 1, &applied);
    ck_assert_uint_eq(applied.zones_added + applied.changed + applied.deleted + applied.restored, 0);
    ck_assert_uint_eq(version(&f), before);
    fixture_release(&f);
}
END_TEST

START_TEST(what_a_catalogue_no_longer_names_is_marked_deleted_and_keeps_its_usage)
{
    fixture f;
    tb_applied applied;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, full, NOW_US, NULL);
    tb_row row = row_of(102, "DE", 498600, TB_M_BYTES, 9);
    fixture_add(&f, &row, 1, 1);
    fixture_apply(&f, shrunk, NOW_US + 5, &applied);
    ck_assert_uint_eq(applied.deleted, 1);
    ck_assert_int_eq(count(&f, "SELECT deleted_us FROM zone WHERE id=102"), NOW_US + 5);
    ok(tb_store_view_check(f.store, &(tb_view){1, 102, TB_ALL}, &err));
    ck_assert_uint_eq(total_of(&f, (tb_view){1, 102, TB_ALL}, (tb_range){498600, 1, true}, TB_M_BYTES), 9);
    ck_assert_uint_eq(total_of(&f, (tb_view){1, TB_ALL, TB_ALL}, (tb_range){498600, 1, true}, TB_M_BYTES), 9);
    fixture_apply(&f, full, NOW_US + 9, &applied);
    ck_assert_uint_eq(applied.restored, 1);
    ck_assert_int_eq(count(&f, "SELECT deleted_us=9223372036854775807 FROM zone WHERE id=102"), 1);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_declared_first_holds_since_ever_and_changes_from_their_moment)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, full, NOW_US, NULL);
    ck_assert_int_eq(count(&f, "SELECT from_us=-9223372036854775807-1 FROM attachment WHERE zone=101"), 1);
    fixture_apply(&f, shrunk, NOW_US + 5, NULL);
    ck_assert_int_eq(count(&f, "SELECT to_us FROM attachment WHERE zone=101"), NOW_US + 5);
    fixture_apply(&f, full, NOW_US + 9, NULL);
    ck_assert_int_eq(count(&f, "SELECT max(from_us) FROM attachment WHERE zone=101"), NOW_US + 9);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM declaration WHERE kind='balancer'"), 3);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM declaration WHERE kind='zone' AND id=101"), 1);
    fixture_release(&f);
}
END_TEST

/* A zone may stand under a balancer that has ended and under the one that it went to. */
START_TEST(what_the_door_takes_verifies)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":5,\"account\":1,"
                  "\"name\":\"z\"}],\"load_balancers\":[{\"id\":1,\"account\":1,\"zones\":[5],"
                  "\"created\":\"2026-01-01T00:00:00Z\",\"deleted\":\"2026-02-01T00:00:00Z\"},{\"id\":2,"
                  "\"account\":1,\"zones\":[5],\"created\":\"2026-02-01T00:00:00Z\"}]}",
                  NOW_US, NULL);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_cannot_move_to_another_account)
{
    fixture f;
    tb_error err = {0};
    tb_catalog c;
    tb_applied applied;
    static const char moved[] = "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"x\"}],"
                                "\"zones\":[{\"id\":101,\"account\":2,\"name\":\"a\"}]}";
    fixture_init(&f);
    fixture_apply(&f, full, NOW_US, NULL);
    ok(tb_catalog_parse(moved, strlen(moved), &c, &err));
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_apply_catalog(f.store, &c, NOW_US, &applied, &err), TB_E_CATALOG);
    ck_assert_ptr_nonnull(strstr(err.message, "101"));
    ck_assert_str_eq(err.field, "zones[0].account");
    tb_store_rollback(f.store);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM account"), 1);
    tb_catalog_release(&c);
    fixture_release(&f);
}
END_TEST

START_TEST(a_list_of_regions_replaces_the_built_in_one_and_its_absence_brings_it_back)
{
    fixture f;
    tb_applied applied;
    static const char own[] = "{\"accounts\":[],\"regions\":[{\"id\":5,\"code\":\"XX\","
                              "\"name\":\"EU: Nowhere, XX\",\"billing\":\"EU\"}]}";
    fixture_init(&f);
    int64_t built_in = count(&f, "SELECT count(*) FROM region");
    ck_assert_int_gt(built_in, 40);
    fixture_apply(&f, own, NOW_US, &applied);
    ck_assert_uint_eq(applied.changed, 1);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM region"), 1);
    fixture_apply(&f, "{\"accounts\":[]}", NOW_US, NULL);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM region"), built_in);
    fixture_release(&f);
}
END_TEST

/* Who has zone 101 is listed first, so that it is attached before the other one lets go. */
/* Neither a change, nor a deletion, nor what was deleted later. */
START_TEST(nothing_is_declared_before_its_own_newest_declaration)
{
    static const char *const catalogs[] = {
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}",
        "{\"accounts\":[{\"id\":1,\"name\":\"other\"}]}"};
    static const char *const behind[] = {"{\"accounts\":[{\"id\":1,\"name\":\"third\"}]}", "{\"accounts\":[]}",
                                         "{\"accounts\":[{\"id\":1,\"name\":\"other\"},{\"id\":2,\"name\":\"b\"}]}"};
    fixture f;
    fixture_init(&f);
    for (int i = 0; i < 2; i++)
        fixture_apply(&f, catalogs[i], NOW_US + i * 100, NULL);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        tb_error err = {0};
        tb_catalog c;
        tb_applied applied;
        ok(tb_catalog_parse(behind[i], strlen(behind[i]), &c, &err));
        ok(tb_store_begin(f.store, &err));
        ck_assert_int_eq(tb_store_apply_catalog(f.store, &c, NOW_US + 99, &applied, &err), TB_E_CLOCK);
        ck_assert_str_eq(err.field, "account");
        tb_store_rollback(f.store);
        tb_catalog_release(&c);
    }
    fixture_apply(&f, catalogs[1], NOW_US + 99, NULL); /* nothing of it is new */
    fixture_apply(&f, catalogs[0], NOW_US + 100, NULL);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_never_has_two_balancers_at_once)
{
    static const struct {
        const char *balancers;
        int64_t at, has;
    } steps[] = {
        {"{\"id\":7,\"account\":1,\"zones\":[101]}", 100, 7},
        {"{\"id\":8,\"account\":1,\"zones\":[101]},{\"id\":7,\"account\":1,\"zones\":[]}", 200, 8},
        {"{\"id\":7,\"account\":1,\"zones\":[101]},{\"id\":8,\"account\":1,\"zones\":[]}", 300, 7},
        {"{\"id\":7,\"account\":1,\"zones\":[101]}", 301, 7},
        {"{\"id\":9,\"account\":1,\"zones\":[101]}", 400, 9},
    };
    fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char catalog[400];
        snprintf(catalog, sizeof catalog,
                 "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,"
                 "\"name\":\"a\"}],\"load_balancers\":[%s]}",
                 steps[i].balancers);
        fixture_apply(&f, catalog, NOW_US + steps[i].at, NULL);
        ck_assert_int_eq(count(&f, "SELECT count(*) FROM attachment a JOIN attachment b ON"
                                   " a.zone=b.zone AND (a.balancer,a.from_us)<(b.balancer,b.from_us)"
                                   " AND max(a.from_us,b.from_us)<min(a.to_us,b.to_us)"),
                         0);
        ck_assert_int_eq(
            count(&f, "SELECT balancer FROM attachment WHERE to_us=9223372036854775807"),
            steps[i].has);
        fixture_verify(&f);
    }
    ck_assert_int_eq(count(&f, "SELECT min(from_us) FROM attachment WHERE balancer=8"), NOW_US + 200);
    ck_assert_int_eq(count(&f, "SELECT max(from_us) FROM attachment WHERE balancer=9"), NOW_US + 400);
    fixture_release(&f);
}
END_TEST

START_TEST(another_accounts_zone_is_like_one_that_does_not_exist)
{
    fixture f;
    tb_error mine = {0}, theirs = {0}, err = {0};
    fixture_init(&f);
    fixture_apply(&f, full, NOW_US, NULL);
    ok(tb_store_view_check(f.store, &(tb_view){1, 101, TB_ALL}, &err));
    ck_assert_int_eq(tb_store_view_check(f.store, &(tb_view){2, 101, TB_ALL}, &theirs),
                     TB_E_ZONE_NOT_FOUND);
    ck_assert_int_eq(tb_store_view_check(f.store, &(tb_view){1, 999, TB_ALL}, &mine),
                     TB_E_ZONE_NOT_FOUND);
    ck_assert_str_eq(mine.message, theirs.message);
    fixture_release(&f);
}
END_TEST

START_TEST(a_key_is_found_by_its_hash_and_revoked_once)
{
    fixture f;
    tb_error err = {0};
    tb_key key = {.account = 1, .roles = 1, .hint = "abc", .created_us = NOW_US, .revoked_us = INT64_MAX};
    tb_key *keys;
    size_t n;
    fixture_init(&f);
    tb_key_hash("secret", 6, key.hash);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_key_add(f.store, &key, &err));
    ok(tb_store_key_revoke(f.store, key.id, NOW_US + 5, &err));
    ok(tb_store_key_revoke(f.store, key.id, NOW_US + 9, &err));
    ck_assert_int_eq(tb_store_key_revoke(f.store, 77, NOW_US, &err), TB_E_NOT_FOUND);
    ok(tb_store_commit(f.store, &err));
    ok(tb_store_keys(f.store, &keys, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(tb_key_equal(keys[0].hash, key.hash));
    ck_assert_int_eq(keys[0].revoked_us, NOW_US + 5);
    ck_assert_str_eq(keys[0].hint, "abc");
    free(keys);
    fixture_release(&f);
}
END_TEST

START_TEST(segments_are_known_by_head_and_by_name_and_cannot_be_changed)
{
    fixture f;
    tb_error err = {0};
    tb_known *known;
    size_t n;
    tb_segment a = {.kind = TB_BATCH_LOG, .name = "b1", .source = "x.log", .start = 0, .length = 100,
                    .hash = {0x0102030405060708, 9}, .head = {3, 4}, .accepted = 5, .rejected = 1},
               b = {.kind = TB_BATCH_LOG, .name = "b1", .source = "x.log", .start = 100, .length = 250,
                    .hash = {5, 6}, .head = {3, 4}, .lines_before = 6, .accepted = 2, .final = true};
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_add_segment(f.store, &a, NULL, &err));
    ok(tb_store_add_segment(f.store, &b, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    ok(tb_store_known_by_head(f.store, TB_BATCH_LOG, (tb_hash128){3, 4}, &known, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(known[0].hash.high, 0x0102030405060708);
    ck_assert_uint_eq(known[1].lines, 8);
    ck_assert(known[1].final && !known[0].final);
    free(known);
    ok(tb_store_known_by_name(f.store, "b1", &known, &n, &err));
    ck_assert_uint_eq(n, 2);
    free(known);
    ok(tb_store_known_by_head(f.store, TB_BATCH_BUCKETS, (tb_hash128){3, 4}, &known, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(known);
    ck_assert_int_ne(sqlite3_exec(f.store->db, "UPDATE segment SET accepted=9", 0, 0, 0), SQLITE_OK);
    ck_assert_int_ne(sqlite3_exec(f.store->db, "DELETE FROM segment", 0, 0, 0), SQLITE_OK);
    fixture_release(&f);
}
END_TEST

static bool is_bare(fixture *f, const char *id, int64_t account)
{
    tb_error err;
    bool so;
    ok(tb_store_batch_is_bare(f->store, id, account, &so, &err));
    return so;
}

START_TEST(an_id_that_was_stored_bare_is_the_account_s_whose_key_brought_it)
{
    fixture f;
    tb_error err = {0};
    tb_key key = {.account = 7, .roles = UINT32_C(1) << TB_ROLE_INGEST, .created_us = NOW_US};
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_key_add(f.store, &key, &err));
    char by_key[40];
    snprintf(by_key, sizeof by_key, "http, key %lld", (long long)key.id);
    const char *const sources[] = {by_key, "http, token", "http", "x.log", "http, key 99"};
    for (int i = 0; i < 5; i++) {
        const char name[2] = {(char)('a' + i), 0};
        const tb_segment s = {.kind = TB_BATCH_LOG, .name = name, .source = sources[i], .length = 100,
                              .hash = {1, (uint64_t)i}, .head = {3, 4}, .accepted = 5, .final = true};
        ok(tb_store_add_segment(f.store, &s, NULL, &err));
    }
    ok(tb_store_commit(f.store, &err));
    ck_assert(!is_bare(&f, "a", 7) && !is_bare(&f, "b", 7)); /* of today: each is stored with its account */
    ck_assert_int_eq(sqlite3_exec(f.store->db, "UPDATE meta SET value=5 WHERE name='segments_before'", 0, 0, 0), SQLITE_OK);
    ck_assert(is_bare(&f, "a", 7) && !is_bare(&f, "a", 8));
    ck_assert(is_bare(&f, "b", 7) && is_bare(&f, "c", 7)); /* nothing tells of which account these were */
    ck_assert(!is_bare(&f, "d", 7) && !is_bare(&f, "e", 7) && !is_bare(&f, "x", 7));
    fixture_release(&f);
}
END_TEST

START_TEST(rungs_are_kept_once_and_found_by_head)
{
    fixture f;
    tb_error err = {0};
    tb_rung *list;
    size_t n;
    fixture_init(&f);
    const tb_rung rungs[] = {{1024, {7, 8}}, {512, {UINT64_MAX, 6}}, {512, {1, 2}}};
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_add_rungs(f.store, (tb_hash128){3, 4}, rungs, 3, &err));
        ok(tb_store_commit(f.store, &err));
    }
    ok(tb_store_rungs_by_head(f.store, (tb_hash128){3, 4}, &list, &n, &err));
    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(list[1].length, 512);
    ck_assert_uint_eq(list[1].hash.high, UINT64_MAX);
    ck_assert_uint_eq(list[1].hash.low, 6);
    ck_assert_uint_eq(list[2].length, 1024);
    free(list);
    ok(tb_store_rungs_by_head(f.store, (tb_hash128){3, 5}, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(list);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store catalogue");
    TCase *tests = tcase_create("catalogue");
    tcase_add_test(tests, applying_the_same_catalogue_twice_changes_nothing);
    tcase_add_test(tests, what_a_catalogue_no_longer_names_is_marked_deleted_and_keeps_its_usage);
    tcase_add_test(tests, what_is_declared_first_holds_since_ever_and_changes_from_their_moment);
    tcase_add_test(tests, a_zone_cannot_move_to_another_account);
    tcase_add_test(tests, what_the_door_takes_verifies);
    tcase_add_test(tests, a_list_of_regions_replaces_the_built_in_one_and_its_absence_brings_it_back);
    tcase_add_test(tests, nothing_is_declared_before_its_own_newest_declaration);
    tcase_add_test(tests, a_zone_never_has_two_balancers_at_once);
    tcase_add_test(tests, another_accounts_zone_is_like_one_that_does_not_exist);
    tcase_add_test(tests, a_key_is_found_by_its_hash_and_revoked_once);
    tcase_add_test(tests, segments_are_known_by_head_and_by_name_and_cannot_be_changed);
    tcase_add_test(tests, an_id_that_was_stored_bare_is_the_account_s_whose_key_brought_it);
    tcase_add_test(tests, rungs_are_kept_once_and_found_by_head);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
