/* CloudEvents into the store: each event once, all of a body or nothing, ids that are let go. */
#include "store_fixture.h"

#include <inttypes.h>

#include "feed/cloud.h"
#include "tollbook/calendar.h"

static const uint8_t secret[TB_EVENT_SECRET] = {7};
static int64_t now_us = NOW_US, sender;

static int64_t number(fixture *f, const char *text)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_step(s) == SQLITE_ROW, "%s", text);
    const int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static void begin(fixture *f)
{
    fixture_init(f);
    now_us = NOW_US;
    sender = 0;
    fixture_apply(f,
                  "{\"accounts\":[{\"id\":3,\"name\":\"a\"},{\"id\":4,\"name\":\"b\"}],\"zones\":[],\"meters\":["
                  "{\"meter\":\"calls\",\"name\":\"Calls\",\"kind\":\"counter\",\"unit\":\"request\",\"resource\":\"script\"},"
                  "{\"meter\":\"storage\",\"name\":\"Storage\",\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"zone\","
                  "\"dimensions\":[\"region\"]},"
                  "{\"meter\":\"port\",\"name\":\"Transit\",\"kind\":\"sample\",\"unit\":\"byte\",\"interval\":300,\"resource\":\"port\"}]}",
                  NOW_US, NULL);
}

typedef struct result {
    tb_code code;
    size_t accepted, duplicates, n_refused, index;
    char why[200]; /* of the first refused event */
} result;

static result post(fixture *f, const char *body)
{
    const feed_cloud_options options = {.secret = secret, .sender = sender, .source = "test", .now_us = now_us};
    feed_cloud *cloud = NULL;
    feed_cloud_report report = {0};
    tb_error err = {0};
    result r = {.code = feed_cloud_parse((tb_text){body, strlen(body)}, &options, &cloud, &err)};
    if (!r.code) {
        ok(tb_store_begin(f->store, &err));
        r.code = feed_cloud_take(cloud, f->store, &report, &err);
        if (r.code) tb_store_rollback(f->store);
        else ok(tb_store_commit(f->store, &err));
    }
    r.accepted = report.accepted;
    r.duplicates = report.duplicates;
    r.n_refused = report.n_refused;
    if (report.n_refused) {
        r.index = report.refused[0].index;
        snprintf(r.why, sizeof r.why, "%s", report.refused[0].why);
    } else if (r.code) {
        snprintf(r.why, sizeof r.why, "%s", err.message);
    }
    feed_cloud_free(cloud);
    return r;
}

static void expect(fixture *f, const char *body, size_t accepted, size_t duplicates)
{
    const result r = post(f, body);
    ck_assert_msg(r.code == TB_OK && !r.n_refused, "%s: %s", body, r.why);
    ck_assert_msg(r.accepted == accepted && r.duplicates == duplicates, "%s: %zu accepted, %zu duplicates", body, r.accepted,
                  r.duplicates);
}

static void refused(fixture *f, const char *body, size_t n, size_t index, const char *part)
{
    const int64_t segments = number(f, "SELECT count(*) FROM segment");
    const result r = post(f, body);
    ck_assert_msg(r.code == TB_OK, "%s: %s", body, r.why);
    ck_assert_msg(r.n_refused == n && r.index == index && strstr(r.why, part), "%s: %zu refused, event %zu: %s", body,
                  r.n_refused, r.index, r.why);
    ck_assert_uint_eq(r.accepted, 0);
    ck_assert_int_eq(number(f, "SELECT count(*) FROM segment"), segments);
}

#define EVENT(id, type, subject, time, data)                                                       \
    "{\"specversion\":\"1.0\",\"id\":\"" id "\",\"source\":\"s\",\"type\":\"" type "\",\"subject\":\"" subject "\"" time ",\"data\":{" data "}}"
#define CALL(id) EVENT(id, "calls", "s1", "", "\"account\":3,\"value\":5")
#define AT(time) ",\"time\":\"" time "\""

START_TEST(the_same_again_changes_nothing)
{
    fixture f = {.store = NULL};
    begin(&f);
    expect(&f, "[" CALL("1") "," CALL("2") "]", 2, 0);
    expect(&f, CALL("1"), 0, 1);
    expect(&f, "[" CALL("2") "," CALL("3") "," CALL("3") "," CALL("1") "]", 1, 3);
    expect(&f, EVENT("3", "storage", "other", AT("2026-10-01T00:00:00Z"), "\"account\":4,\"value\":9"), 0, 1);
    ck_assert_int_eq(number(&f, "SELECT sum(accepted) FROM segment"), 3);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM segment"), 2);
    expect(&f, "[]", 0, 0);
    sender = 3; /* another sender's events are others */
    expect(&f, CALL("1"), 1, 0);
    const result other = post(&f, "[" EVENT("5", "calls", "s2", "", "\"value\":1") ","
                                  EVENT("6", "calls", "s3", "", "\"account\":4,\"value\":1") "]");
    ck_assert_int_eq(other.n_refused, 1);
    ck_assert_str_eq(other.why, "\"account\" is 4, but the key is of account 3.");
    expect(&f, EVENT("5", "calls", "s2", "", "\"value\":1"), 1, 0); /* of account 3, though s2 is new */
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(equal_events_with_other_ids_count_each)
{
    fixture f = {.store = NULL};
    begin(&f);
    for (int i = 0; i < 3; i++) {
        char body[400];
        snprintf(body, sizeof body, EVENT("%d", "calls", "s1", "", "\"account\":3,\"value\":5"), i);
        expect(&f, body, 1, 0);
    }
    ck_assert_int_eq(number(&f, "SELECT sum(accepted) FROM segment"), 3);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(all_kinds_of_meters_and_accounts_left_out)
{
    fixture f = {.store = NULL};
    begin(&f);
    expect(&f,
           "[" EVENT("1", "storage", "z1", AT("2026-11-01T13:07:00.25Z"), "\"account\":3,\"value\":\"48\",\"dimensions\":{\"region\":\"DE\"}")
           "," EVENT("2", "storage", "z1", AT("2026-11-01T14:07:00+01:00"), "\"value\":49,\"dimensions\":{\"region\":\"DE\"}")
           "," EVENT("3", "port", "p1", AT("2026-11-01T13:07:00Z"), "\"account\":4,\"value\":900")
           "," EVENT("4", "calls", "s\\\"\xc3\xb6", AT("2026-11-01T13:07:00Z"), "\"account\":4,\"value\":1") "]",
           4, 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM gauge"), 1);
    ck_assert_int_eq(number(&f, "SELECT value FROM gauge"), 49); /* of one moment, the later one */
    ck_assert_int_eq(number(&f, "SELECT account FROM meter_resource WHERE name='s\"\xc3\xb6'"), 4);
    expect(&f, EVENT("6", "calls", "shield_zone", "", "\"account\":3,\"value\":1"), 1, 0);
    expect(&f, EVENT("5", "storage", "z1", "", "\"value\":1,\"dimensions\":{\"region\":\"DE\"}"), 1, 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM event_id_month"), 2);
    ck_assert_int_eq(number(&f, "SELECT min(account) FROM event_id_month"), 3);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(if_one_is_refused_nothing_counts)
{
    fixture f = {.store = NULL};
    begin(&f);
    refused(&f, "[" CALL("1") ",{\"specversion\":\"1.0\"}]", 1, 1, "\"id\"");
    refused(&f, "[" CALL("1") "," EVENT("2", "cals", "s1", "", "\"account\":3,\"value\":5") "]", 1, 1, "calls");
    refused(&f, "[" EVENT("2", "calls", "s9", "", "\"value\":5") "," CALL("1") "]", 1, 0, "account");
    refused(&f, "[" CALL("1") "," EVENT("2", "calls", "s1", "", "\"account\":4,\"value\":5") "]", 1, 1, "account");
    refused(&f, "[" CALL("1") "," EVENT("2", "calls", "s2", "", "\"account\":99,\"value\":5") ",7]", 2, 1, "account");
    refused(&f, EVENT("2", "storage", "z", "", "\"account\":3,\"value\":5,\"dimensions\":{\"zone\":\"a\"}"), 1, 0, "zone");
    expect(&f, CALL("1"), 1, 0);
    ck_assert_int_eq(post(&f, "[{}]").code, TB_E_BAD_INPUT);
    ck_assert_int_eq(post(&f, "nothing").code, TB_E_BAD_INPUT);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(an_event_of_a_month_whose_ids_are_gone_is_refused)
{
    fixture f = {.store = NULL};
    char text[256];
    begin(&f);
    const char *october = EVENT("1", "calls", "s1", AT("2026-10-31T23:59:59Z"), "\"account\":3,\"value\":5");
    expect(&f, october, 1, 0);
    now_us += 60 * TB_US_PER_DAY;
    expect(&f, october, 0, 1); /* the month is open */
    snprintf(text, sizeof text, "INSERT INTO month_run SELECT coalesce(max(id),0)+1,3,%" PRId64 ",2000,'nothing','',0,'',0 FROM"
             " month_run", tb_month_from_us(NOW_US) - 1);
    edit(f.store->db, text);
    refused(&f, october, 1, 0, "2026-10");
    for (int i = 0; i < 16; i++) { /* whichever id comes first */
        char body[600];
        snprintf(body, sizeof body, "[" EVENT("new %d", "calls", "s1", "", "\"account\":3,\"value\":5") ",%s]", i, october);
        refused(&f, body, 1, 1, "2026-10");
    }
    refused(&f, "[" CALL("8") "," EVENT("9", "calls", "s1", AT("2026-10-02T00:00:00Z"), "\"account\":4,\"value\":5") "]", 1, 1, "2026-10");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM event_id_run"), 0);
    expect(&f, CALL("8"), 1, 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed cloud");
    TCase *tc = tcase_create("cloud");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_same_again_changes_nothing);
    tcase_add_test(tc, equal_events_with_other_ids_count_each);
    tcase_add_test(tc, all_kinds_of_meters_and_accounts_left_out);
    tcase_add_test(tc, if_one_is_refused_nothing_counts);
    tcase_add_test(tc, an_event_of_a_month_whose_ids_are_gone_is_refused);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
