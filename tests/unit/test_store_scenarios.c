/* Stored scenarios: a name is its last text, each text stays under its hash. */
#include "billing_fixture.h"
#include "tollbook/bookstore.h"

static void hash_of(const char *text, char hex[65])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(hex, 65, hash, sizeof hash);
}

static bool keep(fixture *f, const char *name, const char *text)
{
    tb_error err = {0};
    tb_scenario scenario = {.canonical = strdup(text), .canonical_len = strlen(text)};
    bool known;
    snprintf(scenario.name, sizeof scenario.name, "%s", name);
    hash_of(text, scenario.sha256);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_scenario(f->store, &scenario, NOW_US, &known, &err));
    ok(tb_store_commit(f->store, &err));
    free(scenario.canonical);
    return known;
}

static void expect(fixture *f, const char *name, const char *text)
{
    tb_error err = {0};
    tb_stored_scenario s;
    ok(tb_store_scenario(f->store, name, &s, &err));
    ck_assert_str_eq(s.text, text);
    ck_assert_uint_eq(s.text_len, strlen(text));
    tb_stored_scenario_release(&s);
}

#define A1 "{\"scenario\":\"a\",\"usage\":[]}"
#define A2 "{\"patch\":{},\"scenario\":\"a\"}"

START_TEST(a_name_is_its_last_text)
{
    fixture f;
    char name[80], hex[65];
    fixture_init(&f);
    ck_assert(!keep(&f, "a", A1));
    ck_assert(keep(&f, "a", A1));
    expect(&f, "a", A1);
    ck_assert(!keep(&f, "a", A2));
    expect(&f, "a", A2);
    hash_of(A1, hex);
    snprintf(name, sizeof name, "a@%.8s", hex);
    expect(&f, name, A1);
    ck_assert(!keep(&f, "a", A1)); /* used again: the name's last one again */
    expect(&f, "a", A1);
    snprintf(name, sizeof name, "a@%s", hex);
    expect(&f, name, A1); /* stored twice, one text */
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_not_stored_is_not_found)
{
    fixture f;
    tb_error err = {0};
    tb_stored_scenario s;
    fixture_init(&f);
    keep(&f, "a", A1);
    ck_assert_int_eq(tb_store_scenario(f.store, "b", &s, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_scenario(f.store, "a@00000000", &s, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_scenario(f.store, "a@0000000", &s, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_store_scenario(f.store, "a@", &s, &err), TB_E_VALIDATION);
    fixture_release(&f);
}
END_TEST

START_TEST(scenarios_are_listed_in_the_order_of_adding)
{
    fixture f;
    tb_error err = {0};
    tb_stored_scenario *list;
    size_t n;
    fixture_init(&f);
    keep(&f, "b", "{\"scenario\":\"b\"}");
    keep(&f, "a", A1);
    ok(tb_store_scenarios(f.store, &list, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(list[0].name, "b");
    ck_assert_str_eq(list[1].name, "a");
    ck_assert_int_eq(list[1].added_us, NOW_US);
    for (size_t i = 0; i < n; i++)
        tb_stored_scenario_release(&list[i]);
    free(list);
    fixture_release(&f);
}
END_TEST

static tb_code list_two(tb_store *store, tb_error *err)
{
    tb_stored_scenario *list;
    size_t n;
    tb_code code = tb_store_scenarios(store, &list, &n, err);
    if (code) return code;
    ck_assert_uint_eq(n, 2);
    for (size_t i = 0; i < n; i++)
        tb_stored_scenario_release(&list[i]);
    free(list);
    return TB_OK;
}

START_TEST(a_list_that_is_stopped_keeps_nothing)
{
    fixture f;
    fixture_init(&f);
    keep(&f, "a", A1);
    keep(&f, "b", "{\"scenario\":\"b\"}");
    stop_everywhere(&f, list_two);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_changed_texts)
{
    fixture f;
    fixture_init(&f);
    keep(&f, "a", A1);
    sql_refused(&f, "UPDATE scenario SET name='b'", "append-only");
    sql_refused(&f, "DELETE FROM scenario", "append-only");
    sql(&f, "DROP TRIGGER scenario_no_update; UPDATE scenario SET name='b'");
    verify_finds(&f, "Scenario b: its text has another name.");
    sql(&f, "UPDATE scenario SET document='{}'");
    verify_finds(&f, "Scenario b: its text has the SHA-256");
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("scenarios");
    tcase_add_test(t, a_name_is_its_last_text);
    tcase_add_test(t, what_is_not_stored_is_not_found);
    tcase_add_test(t, scenarios_are_listed_in_the_order_of_adding);
    tcase_add_test(t, a_list_that_is_stopped_keeps_nothing);
    tcase_add_test(t, verify_finds_changed_texts);
    Suite *s = suite_create("store_scenarios");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
