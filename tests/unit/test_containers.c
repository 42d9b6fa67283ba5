/* Containers of a catalogue: what is refused and where, and how they stand in the store. */
#include <check.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "store_fixture.h"
#include "tollbook/containerstore.h"

#define CATALOG(lists)                                                                             \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]," lists "}"
#define REGISTRY(members) CATALOG("\"registries\":[{" members "}]")
#define APP(members) CATALOG("\"container_apps\":[{" members "}]")
#define LIMITS(members) CATALOG("\"container_limits\":[{" members "}]")

/* --- judging --- */

static void refused(const char *text, const char *field)
{
    tb_catalog c;
    tb_error err = {0};
    ck_assert_msg(tb_catalog_parse(text, strlen(text), &c, &err) == TB_E_CATALOG, "%s", text);
    ck_assert_msg(strcmp(err.field, field) == 0, "%s: %s: %s", text, err.field, err.message);
}

static void taken(const char *text)
{
    tb_catalog c;
    tb_error err = {0};
    ck_assert_msg(tb_catalog_parse(text, strlen(text), &c, &err) == TB_OK, "%s: %s %s", text,
                  err.field, err.message);
    tb_catalog_release(&c);
}

#define AT(url) "\"id\":\"r\",\"url\":\"" url "\""

START_TEST(a_registrys_addresses_are_a_scheme_a_host_and_a_port)
{
    static const char *const good[] = {
        REGISTRY(AT("https://a.example")),
        REGISTRY(AT("http://127.0.0.1:5000")),
        REGISTRY(AT("https://[::1]:443")),
        REGISTRY(AT("https://a") ",\"token_realm\":\"https://b/v2/token\""),
        REGISTRY(AT("https://a") ",\"account\":2,\"username\":\"u\",\"secret\":\"s\""),
        REGISTRY(AT("http://localhost:1") ",\"username\":\"u\",\"secret\":\"s\""),
        REGISTRY(AT("http://[::1]:1") ",\"username\":\"u\",\"secret\":\"s\""),
        REGISTRY(AT("http://127.9.8.7") ",\"username\":\"u\",\"secret\":\"s\""),
    };
    static const char *const bad[] = {
        "", "a.example", "ftp://a", "https://", "https://a/", "https://a/b", "https://u@a",
        "https://a?b", "https://a#b", "https://a:", "https://a:0", "https://a:65536",
        "https://a:80:80", "https://a b", "https://[::1", "https://[]", "https://a\\u000ab",
        "HTTPS://a", "https://\\u00e9",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        taken(good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[300];
        snprintf(text, sizeof text, REGISTRY(AT("%s")), bad[i]);
        refused(text, "registries[0].url");
    }
    refused(REGISTRY(AT("https://a") ",\"token_realm\":\"https://b/t?x=1\""),
            "registries[0].token_realm");
    refused(REGISTRY(AT("https://a") ",\"token_realm\":\"https://b@c/t\""),
            "registries[0].token_realm");
}
END_TEST

START_TEST(a_password_goes_nowhere_in_the_clear)
{
#define WITH ",\"username\":\"u\",\"secret\":\"s\""
    refused(REGISTRY(AT("http://a") WITH), "registries[0].url");
    refused(REGISTRY(AT("http://127.0.0.1.example") WITH), "registries[0].url");
    refused(REGISTRY(AT("http://localhost.example") WITH), "registries[0].url");
    refused(REGISTRY(AT("https://a") ",\"token_realm\":\"http://b/t\"" WITH),
            "registries[0].token_realm");
    refused(REGISTRY(AT("https://a") ",\"username\":\"u\""), "registries[0].secret");
    refused(REGISTRY(AT("https://a") ",\"secret\":\"s\""), "registries[0].username");
    refused(REGISTRY(AT("https://a") ",\"username\":\"u:v\",\"secret\":\"s\""),
            "registries[0].username");
    refused(REGISTRY(AT("https://a") ",\"username\":\"u\",\"secret\":\"../s\""),
            "registries[0].secret");
    refused(REGISTRY(AT("https://a") ",\"username\":\"u\",\"secret\":\".s\""),
            "registries[0].secret");
    refused(REGISTRY(AT("https://a") ",\"password\":\"p\""), "registries[0].password");
}
END_TEST

START_TEST(what_is_wrong_is_refused_with_its_path)
{
    refused(CATALOG("\"registries\":{}"), "registries");
    refused(CATALOG("\"container_apps\":[3]"), "container_apps[0]");
    refused(REGISTRY("\"id\":\"r\""), "registries[0].url");
    refused(REGISTRY("\"id\":\"a/b\",\"url\":\"https://a\""), "registries[0].id");
    refused(REGISTRY(AT("https://a") ",\"account\":3"), "registries[0].account");
    refused(REGISTRY(AT("https://a") "},{" AT("https://b")), "registries[1].id");
    taken(REGISTRY(AT("https://a") "},{\"account\":1," AT("https://b")));
    /* an application of the same id, between them by its place in its own list */
    refused(CATALOG("\"container_apps\":[{\"id\":\"x\",\"account\":1,\"name\":\"n\"},"
                    "{\"id\":\"r\",\"account\":1,\"name\":\"n\"}],\"registries\":["
                    "{\"account\":1," AT("https://a") "},"
                    "{\"account\":1,\"id\":\"s\",\"url\":\"https://b\"},"
                    "{\"account\":1," AT("https://c") "}]"),
            "registries[2].id");
    refused(APP("\"id\":\"x\",\"name\":\"n\""), "container_apps[0].account");
    refused(APP("\"id\":\"x\",\"account\":1"), "container_apps[0].name");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\",\"colour\":1"),
            "container_apps[0].colour");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\",\"status\":\"progressing\""),
            "container_apps[0].status");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\",\"status\":\"Active\""),
            "container_apps[0].status");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\",\"displayEndpoint\":{\"id\":\"e\"}"),
            "container_apps[0].displayEndpoint.address");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\",\"displayEndpoint\":{\"id\":\"\","
                "\"address\":\"a\",\"type\":\"cdn\"}"),
            "container_apps[0].displayEndpoint.id");
    refused(APP("\"id\":\"x\",\"account\":1,\"name\":\"n\"},{\"id\":\"x\",\"account\":2,"
                "\"name\":\"n\""),
            "container_apps[1].id");
    refused(LIMITS("\"maxVolumeSize\":1"), "container_limits[0].account");
    refused(LIMITS("\"account\":1,\"maxVolumeSize\":-1"), "container_limits[0].maxVolumeSize");
    refused(LIMITS("\"account\":1,\"maxVolumeSize\":1.5"), "container_limits[0].maxVolumeSize");
    refused(LIMITS("\"account\":1,\"maxNumberOfApplications\":null"),
            "container_limits[0].maxNumberOfApplications");
    refused(LIMITS("\"account\":1,\"existingNumberOfApplications\":1"),
            "container_limits[0].existingNumberOfApplications");
    refused(LIMITS("\"account\":1},{\"account\":1"), "container_limits[1].account");
}
END_TEST

/* --- the store --- */

static tb_applied apply(fixture *f, const char *text, int64_t now_us)
{
    tb_catalog c;
    tb_applied applied;
    tb_error err = {0};
    ck_assert_msg(tb_catalog_parse(text, strlen(text), &c, &err) == TB_OK, "%s", err.message);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_apply_catalog(f->store, &c, now_us, &applied, &err));
    ok(tb_store_commit(f->store, &err));
    tb_catalog_release(&c);
    return applied;
}

static tb_text text_of(const char *text)
{
    return (tb_text){text, strlen(text)};
}

static void stands(fixture *f, int64_t account, const char *app, const char *status)
{
    tb_app_page page;
    tb_error err = {0};
    const char *found = "none";
    ok(tb_store_apps(f->store, account, (tb_text){0}, 100, &page, &err));
    for (size_t i = 0; i < page.n; i++)
        if (strcmp(page.apps[i].id, app) == 0) found = page.apps[i].status;
    ck_assert_str_eq(found, status);
    tb_app_page_release(&page);
}

static tb_code deploy(fixture *f, int64_t account, const char *app)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    tb_code code = tb_store_deploy(f->store, account, text_of(app), false, NOW_US, &err);
    ok(tb_store_commit(f->store, &err));
    return code;
}

static void ended(fixture *f, const tb_deployment *d, bool succeeded, const char *output)
{
    tb_error err = {0};
    tb_deployment_end end = {.succeeded = succeeded, .exit_status = succeeded ? 0 : 7};
    if (!succeeded) snprintf(end.reason, sizeof end.reason, "it ended with status 7");
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_deployed(f->store, d, &end, text_of(output), NOW_US + 1, &err));
    ok(tb_store_commit(f->store, &err));
}

/* That the last that ended printed this; NULL: none has. */
static tb_deployment_state printed(fixture *f, const char *app, const char *wanted)
{
    tb_error err = {0};
    tb_deployment_state state;
    tb_buf output;
    tb_buf_init(&output, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
    ok(tb_store_deployment(f->store, 1, text_of(app), &state, &output, &err));
    ck_assert_int_eq(state.ended, wanted != NULL);
    if (wanted) {
        ck_assert_uint_eq(output.len, strlen(wanted));
        if (output.len) ck_assert_mem_eq(output.data, wanted, output.len);
        ck_assert_int_eq(state.ended_us, NOW_US + 1);
    }
    tb_buf_release(&output);
    return state;
}

static tb_code state_of(fixture *f, int64_t account, const char *app)
{
    tb_error err = {0};
    tb_deployment_state state;
    tb_buf output;
    tb_buf_init(&output, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
    tb_code code = tb_store_deployment(f->store, account, text_of(app), &state, &output, &err);
    tb_buf_release(&output);
    return code;
}

static size_t waiting(fixture *f, tb_deployment ret[4])
{
    tb_error err = {0};
    size_t n = 0;
    ok(tb_store_deployments(f->store, ret, 4, &n, &err));
    return n;
}

static void verifies(fixture *f)
{
    tb_error err = {0};
    uint64_t differences = 1;
    ok(tb_store_verify(f->store, NULL, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 0);
}

#define ONE(status) "{\"id\":\"one\",\"account\":1,\"name\":\"first\"" status "}"

START_TEST(a_deployment_waits_until_it_is_told_how_it_ended)
{
    fixture f;
    tb_deployment d[4];
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    stands(&f, 1, "one", "unknown");
    ck_assert_uint_eq(waiting(&f, d), 0);
    ck_assert_int_eq(deploy(&f, 1, "one"), TB_OK);
    stands(&f, 1, "one", "progressing");
    ck_assert_uint_eq(waiting(&f, d), 1);
    ck_assert_str_eq(d[0].app, "one");
    ck_assert_str_eq(d[0].name, "first");
    ck_assert_int_eq(d[0].account, 1);
    /* Asked for again meanwhile: the first one's end does not end the second. */
    tb_deployment first = d[0];
    ck_assert_int_eq(deploy(&f, 1, "one"), TB_OK);
    ended(&f, &first, true, "");
    stands(&f, 1, "one", "progressing");
    ck_assert_uint_eq(waiting(&f, d), 1);
    ended(&f, &d[0], false, "");
    stands(&f, 1, "one", "failing");
    ended(&f, &d[0], true, ""); /* told twice: nothing waits any more */
    stands(&f, 1, "one", "failing");
    verifies(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(what_the_last_deployment_printed_is_kept)
{
    fixture f;
    tb_deployment d[4];
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    ck_assert(!printed(&f, "one", NULL).waits);
    deploy(&f, 1, "one");
    ck_assert(printed(&f, "one", NULL).waits);
    waiting(&f, d);
    const tb_deployment first = d[0];
    ended(&f, &first, false, "pulls\nno such image\n");
    tb_deployment_state state = printed(&f, "one", "pulls\nno such image\n");
    ck_assert(!state.waits && !state.end.succeeded);
    ck_assert_int_eq(state.end.exit_status, 7);
    ck_assert_str_eq(state.end.reason, "it ended with status 7");
    ended(&f, &first, true, "told again\n");
    printed(&f, "one", "pulls\nno such image\n");
    verifies(&f);
    /* Asked for again meanwhile: the end of the one before is kept until the later one's, not after. */
    deploy(&f, 1, "one");
    waiting(&f, d);
    const tb_deployment second = d[0];
    deploy(&f, 1, "one");
    waiting(&f, d);
    ended(&f, &second, true, "second\n");
    ck_assert(printed(&f, "one", "second\n").waits);
    ended(&f, &d[0], true, "");
    state = printed(&f, "one", "");
    ck_assert(!state.waits && state.end.succeeded);
    ended(&f, &second, false, "too late\n");
    printed(&f, "one", "");
    ck_assert_int_eq(state_of(&f, 2, "one"), TB_E_APP_NOT_FOUND);
    ck_assert_int_eq(state_of(&f, 1, "two"), TB_E_APP_NOT_FOUND);
    verifies(&f);
    /* It goes with the application, and an end that comes later is nobody's. */
    apply(&f, CATALOG("\"container_apps\":[]"), NOW_US);
    ended(&f, &d[0], true, "gone\n");
    ck_assert_int_eq(state_of(&f, 1, "one"), TB_E_APP_NOT_FOUND);
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    ended(&f, &d[0], true, "another's\n");
    printed(&f, "one", NULL);
    verifies(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(output_is_kept_up_to_its_maximum)
{
    fixture f;
    tb_deployment d[4];
    const size_t max = TB_DEPLOYMENT_OUTPUT_MAX;
    char *text = malloc(max + 2);
    ck_assert_ptr_nonnull(text);
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    for (size_t len = max - 1; len <= max + 1; len++) {
        memset(text, 'x', max + 2);
        text[len] = 0;
        deploy(&f, 1, "one");
        waiting(&f, d);
        ended(&f, &d[0], true, text);
        text[len < max ? len : max] = 0;
        printed(&f, "one", text);
    }
    verifies(&f);
    free(text);
    fixture_release(&f);
}
END_TEST

START_TEST(nobody_deploys_what_is_suspended_or_anothers)
{
    fixture f;
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE(",\"status\":\"suspended\"") "]"), NOW_US);
    ck_assert_int_eq(deploy(&f, 1, "one"), TB_E_APP_SUSPENDED);
    ck_assert_int_eq(deploy(&f, 2, "one"), TB_E_APP_NOT_FOUND);
    ck_assert_int_eq(deploy(&f, 1, "two"), TB_E_APP_NOT_FOUND);
    stands(&f, 1, "one", "suspended");
    stands(&f, 2, "one", "none");
    fixture_release(&f);
}
END_TEST

START_TEST(a_catalogue_changes_a_status_only_by_saying_another)
{
    fixture f;
    tb_deployment d[4];
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE(",\"status\":\"inactive\"") "]"), NOW_US);
    deploy(&f, 1, "one");
    waiting(&f, d);
    ended(&f, &d[0], true, "");
    apply(&f, CATALOG("\"container_apps\":[" ONE(",\"status\":\"inactive\"") "]"), NOW_US);
    stands(&f, 1, "one", "active");
    apply(&f, CATALOG("\"container_apps\":[" ONE(",\"status\":\"inactive\",\"description\":\"d\"")
                      "]"), NOW_US);
    stands(&f, 1, "one", "active");
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    stands(&f, 1, "one", "active");
    /* Said while a deployment runs: it holds, and the deployment's end does not undo it. */
    deploy(&f, 1, "one");
    ck_assert_uint_eq(waiting(&f, d), 1);
    apply(&f, CATALOG("\"container_apps\":[" ONE(",\"status\":\"suspended\"") "]"), NOW_US);
    ended(&f, &d[0], true, "");
    stands(&f, 1, "one", "suspended");
    ck_assert_uint_eq(waiting(&f, d), 0);
    verifies(&f);
    /* Gone, and new again. */
    const tb_applied applied = apply(&f, CATALOG("\"container_apps\":[]"), NOW_US);
    ck_assert_uint_eq(applied.deleted, 1);
    stands(&f, 1, "one", "none");
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    stands(&f, 1, "one", "unknown");
    verifies(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(limits_fall_back_on_the_public_quotas)
{
    fixture f;
    tb_error err = {0};
    int64_t limits[TB_LIMIT_COUNT];
    fixture_init(&f);
    apply(&f, CATALOG("\"container_limits\":[{\"account\":1,\"maxVolumeSize\":null,"
                      "\"maxNumberOfRegionsPerApplication\":3}],\"container_apps\":[" ONE("") "]"),
          NOW_US);
    ok(tb_store_limits(f.store, 1, limits, &err));
    const int64_t wanted[TB_LIMIT_COUNT] = {20, 1, 3, 8000, INT64_C(34359738368), 10, -1, 2, -1};
    for (int i = 0; i < TB_LIMIT_COUNT; i++)
        ck_assert_int_eq(limits[i], wanted[i]);
    ck_assert_int_eq(tb_store_limits(f.store, 2, limits, &err), TB_E_LIMITS_NOT_FOUND);
    fixture_release(&f);
}
END_TEST

START_TEST(an_accounts_own_registry_comes_before_everyones)
{
    fixture f;
    tb_error err = {0};
    tb_registry registry;
    bool found = false;
    fixture_init(&f);
    apply(&f, REGISTRY(AT("https://all") "},{\"account\":1,\"username\":\"u\",\"secret\":\"s\","
                       AT("https://own") "},{\"id\":\"q\",\"account\":2,\"url\":\"https://q\""),
          NOW_US);
    ok(tb_store_registry(f.store, 1, text_of("r"), &registry, &found, &err));
    ck_assert(found);
    ck_assert_str_eq(registry.url, "https://own");
    ck_assert_str_eq(registry.secret, "s");
    ok(tb_store_registry(f.store, 2, text_of("r"), &registry, &found, &err));
    ck_assert(found);
    ck_assert_str_eq(registry.url, "https://all");
    ck_assert_str_eq(registry.username, "");
    ok(tb_store_registry(f.store, 1, text_of("q"), &registry, &found, &err));
    ck_assert(!found);
    fixture_release(&f);
}
END_TEST

static uint64_t damaged(fixture *f, const char *sql)
{
    tb_error err = {0};
    uint64_t differences = 0;
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(f->path, &db), SQLITE_OK);
    edit(db, sql);
    sqlite3_close(db);
    ok(tb_store_verify(f->store, NULL, NULL, &differences, &err));
    return differences;
}

START_TEST(verify_sees_what_was_changed_behind_its_back)
{
    fixture f;
    fixture_init(&f);
    apply(&f, CATALOG("\"container_apps\":[" ONE("") "]"), NOW_US);
    verifies(&f);
    ck_assert_uint_gt(damaged(&f, "UPDATE deployment SET status='active'"), 0);
    ck_assert_uint_eq(damaged(&f, "UPDATE deployment SET status='unknown'"), 0);
    ck_assert_uint_gt(damaged(&f, "UPDATE deployment SET asked=asked+1"), 0);
    ck_assert_uint_eq(damaged(&f, "UPDATE deployment SET asked=asked-1"), 0);
    tb_deployment d[4];
    deploy(&f, 1, "one");
    waiting(&f, d);
    ended(&f, &d[0], true, "printed\n");
    verifies(&f);
    ck_assert_uint_gt(damaged(&f, "UPDATE deployment_end SET output='other'"), 0);
    ck_assert_uint_eq(damaged(&f, "UPDATE deployment_end SET output='printed'||char(10)"), 0);
    ck_assert_uint_gt(damaged(&f, "DELETE FROM deployment_end"), 0);
    ck_assert_uint_gt(damaged(&f, "UPDATE container SET document=json_set(document,'$.name','x')"),
                      0);
    ck_assert_uint_gt(damaged(&f, "DELETE FROM container"), 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("containers");
    TCase *t = tcase_create("containers");
    tcase_add_test(t, a_registrys_addresses_are_a_scheme_a_host_and_a_port);
    tcase_add_test(t, a_password_goes_nowhere_in_the_clear);
    tcase_add_test(t, what_is_wrong_is_refused_with_its_path);
    tcase_add_test(t, a_deployment_waits_until_it_is_told_how_it_ended);
    tcase_add_test(t, what_the_last_deployment_printed_is_kept);
    tcase_add_test(t, output_is_kept_up_to_its_maximum);
    tcase_add_test(t, nobody_deploys_what_is_suspended_or_anothers);
    tcase_add_test(t, a_catalogue_changes_a_status_only_by_saying_another);
    tcase_add_test(t, limits_fall_back_on_the_public_quotas);
    tcase_add_test(t, an_accounts_own_registry_comes_before_everyones);
    tcase_add_test(t, verify_sees_what_was_changed_behind_its_back);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
