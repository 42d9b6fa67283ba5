/* The audit log: entries in the transaction of what they tell of, in order, and nothing of them
 * changes unseen. */
#include "billing_fixture.h"

#include "tollbook/accountaudit.h"
#include "tollbook/audit.h"
#include "tollbook/calendar.h"

static const tb_audit_entry three[] = {
    {.at_us = NOW_US, .operation = "apply", .arguments = "{\"sha256\":\"6f\"}", .origin = ""},
    {.at_us = NOW_US + 5, .key = 1, .origin = "192.0.2.7", .operation = "key revoke",
     .arguments = "{\"id\":1}"},
    {.at_us = NOW_US - 5, .origin = "2001:db8::1", .operation = "last", .arguments = "{}"},
};

static tb_code try_add(fixture *f, const tb_audit_entry *entry, tb_error *err)
{
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = tb_store_audit_add(f->store, entry, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    return code;
}

static void fill(fixture *f)
{
    tb_error err = {0};
    tb_key key = {.roles = 1, .created_us = NOW_US, .revoked_us = INT64_MAX, .hint = "k"};
    fixture_init(f);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_key_add(f->store, &key, &err));
    ok(tb_store_commit(f->store, &err));
    for (size_t i = 0; i < 3; i++)
        ok(try_add(f, &three[i], &err));
}

static void check_entry(const tb_audit_entry *found, size_t i)
{
    ck_assert_int_eq(found->id, (int64_t)i + 1);
    ck_assert_int_eq(found->at_us, three[i].at_us);
    ck_assert_int_eq(found->key, three[i].key);
    ck_assert_str_eq(found->origin, three[i].origin);
    ck_assert_str_eq(found->operation, three[i].operation);
    ck_assert_str_eq(found->arguments, three[i].arguments);
}

static void check_page(fixture *f, int64_t after, size_t limit, size_t first, size_t n)
{
    tb_error err = {0};
    tb_audit_entry *list = NULL;
    size_t found = 99;
    ok(tb_store_audit(f->store, after, limit, &list, &found, &err));
    ck_assert_uint_eq(found, n);
    for (size_t i = 0; i < n; i++)
        check_entry(&list[i], first + i);
    tb_audit_release(list);
}

START_TEST(entries_are_read_in_their_order_page_by_page)
{
    fixture f;
    fill(&f);
    check_page(&f, 0, TB_AUDIT_PAGE, 0, 3);
    check_page(&f, 0, SIZE_MAX, 0, 3);
    check_page(&f, 0, 2, 0, 2);
    check_page(&f, 2, 2, 2, 1);
    check_page(&f, 1, 1, 1, 1);
    check_page(&f, 3, 2, 0, 0);
    check_page(&f, 0, 0, 0, 0);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_page_has_an_end)
{
    fixture f;
    tb_error err = {0};
    tb_audit_entry *list = NULL;
    size_t n = 0;
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    for (int i = 0; i <= TB_AUDIT_PAGE; i++)
        ok(tb_store_audit_add(f.store, &three[0], &err));
    ok(tb_store_commit(f.store, &err));
    ok(tb_store_audit(f.store, 0, SIZE_MAX, &list, &n, &err));
    ck_assert_uint_eq(n, TB_AUDIT_PAGE);
    ck_assert_int_eq(list[n - 1].id, TB_AUDIT_PAGE);
    ck_assert_str_eq(list[n - 1].arguments, three[0].arguments);
    tb_audit_release(list);
    fixture_release(&f);
}
END_TEST

START_TEST(an_entry_goes_with_its_transaction)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    const int64_t version = number(&f, "SELECT value FROM meta WHERE name='data_version'");
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_audit_add(f.store, &three[0], &err));
    tb_store_rollback(f.store);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ok(tb_store_audit_add(f.store, &three[0], &err));
    tb_store_back_to_mark(f.store);
    ok(tb_store_audit_add(f.store, &three[1], &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit"), 4);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE id=4 AND key=1"), 1);
    ck_assert_int_eq(number(&f, "SELECT value FROM meta WHERE name='data_version'"), version);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static void refused(fixture *f, tb_audit_entry entry, tb_code code, const char *field)
{
    tb_error err = {0};
    ck_assert_int_eq(try_add(f, &entry, &err), code);
    if (field) ck_assert_str_eq(err.field, field);
    ck_assert_int_eq(number(f, "SELECT count(*) FROM audit"), 3);
}

START_TEST(what_is_no_entry_is_refused)
{
    static char most[TB_AUDIT_ARGUMENTS_MAX + 2];
    fixture f;
    tb_error err = {0};
    fill(&f);
    memset(most, ' ', sizeof most - 1);
    most[0] = '1';
    tb_audit_entry e = three[0];
    e.arguments = most;
    refused(&f, e, TB_E_VALIDATION, "arguments");
    e = three[0];
    e.origin = most + TB_AUDIT_ARGUMENTS_MAX - TB_AUDIT_ORIGIN_MAX;
    refused(&f, e, TB_E_VALIDATION, "origin");
    e = three[0];
    e.operation = most + TB_AUDIT_ARGUMENTS_MAX - TB_AUDIT_OPERATION_MAX;
    refused(&f, e, TB_E_VALIDATION, "operation");
    e.operation = "";
    refused(&f, e, TB_E_VALIDATION, "operation");
    e = three[0];
    e.key = -1;
    refused(&f, e, TB_E_INTERNAL, NULL);
    most[TB_AUDIT_ARGUMENTS_MAX] = 0;
    e = three[0];
    e.arguments = most;
    e.origin = most + TB_AUDIT_ARGUMENTS_MAX - TB_AUDIT_ORIGIN_MAX;
    e.operation = most + TB_AUDIT_ARGUMENTS_MAX - TB_AUDIT_OPERATION_MAX;
    ok(try_add(&f, &e, &err));
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(entries_neither_change_nor_go)
{
    static const char *const columns[] = {"id",        "at_us",     "key",  "origin",
                                          "operation", "arguments", "chain"};
    char text[100];
    fixture f;
    fill(&f);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        snprintf(text, sizeof text, "UPDATE audit SET %s=%s", columns[i], columns[i]);
        sql_refused(&f, text, "append-only");
    }
    sql_refused(&f, "DELETE FROM audit", "append-only");
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

/* Each past the triggers, in a file of its own. */
START_TEST(a_change_shows)
{
    static const struct {
        const char *edit, *found;
    } list[] = {
        {"UPDATE audit SET at_us=at_us+1 WHERE id=2", "Audit entry 2 or one before it has changed"},
        {"UPDATE audit SET key=0 WHERE id=2", "Audit entry 2 or one before it has changed"},
        {"UPDATE audit SET key=2 WHERE id=2", "Audit entry 2 is of key 2, which does not exist."},
        {"UPDATE audit SET origin='192.0.2.8' WHERE id=2", "Audit entry 2 or one before it"},
        {"UPDATE audit SET origin='192.',operation='0.2.7key revoke' WHERE id=2",
         "Audit entry 2 or one before it has changed"},
        {"UPDATE audit SET operation=operation||char(0)||'x' WHERE id=2",
         "Audit entry 2 or one before it has changed"},
        {"UPDATE audit SET arguments='{\"id\":2}' WHERE id=2", "Audit entry 2 or one before it"},
        {"UPDATE audit SET chain=zeroblob(32) WHERE id=2", "Audit entry 2 or one before it"},
        {"PRAGMA ignore_check_constraints=1;UPDATE audit SET chain=x'00' WHERE id=3",
         "Audit entry 3 or one before it has changed"},
        {"UPDATE audit SET at_us=at_us+1 WHERE id=3", "Audit entry 3 is not as it was sealed."},
        {"DELETE FROM audit WHERE id=1", "Audit entry 2 follows entry 0."},
        {"DELETE FROM audit WHERE id=2", "Audit entry 3 follows entry 1."},
        {"DELETE FROM audit WHERE id=2;UPDATE audit SET id=2 WHERE id=3",
         "Audit entry 2 or one before it has changed"},
        {"DELETE FROM audit WHERE id=3", "Table audit has 2 rows; 3 were written."},
        {"DELETE FROM audit", "Table audit has 0 rows; 3 were written."},
        {"UPDATE audit SET id=9 WHERE id=1;UPDATE audit SET id=1 WHERE id=2;"
         "UPDATE audit SET id=2 WHERE id=9",
         "Audit entry 1 or one before it has changed"},
        {"UPDATE audit SET id=4 WHERE id=3;INSERT INTO audit SELECT 3,at_us,key,origin,operation,"
         "arguments,chain,seal FROM audit WHERE id=2",
         "Audit entry 3 or one before it has changed"},
        {"INSERT INTO audit SELECT 4,at_us,key,origin,operation,arguments,chain,seal FROM audit"
         " WHERE id=3",
         "Audit entry 4 or one before it has changed"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        fixture f;
        fill(&f);
        edit(f.store->db, list[i].edit);
        verify_finds(&f, list[i].found);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(an_anchor_covers_the_entries_there_were)
{
    fixture f;
    tb_error err = {0};
    char digest[TB_ANCHOR_MAX], later[TB_ANCHOR_MAX];
    uint64_t differences = 9;
    sentences found = {.n = 0};
    fill(&f);
    ok(tb_store_anchor(f.store, digest, &err));
    ok(try_add(&f, &three[0], &err));
    ok(tb_store_anchor(f.store, later, &err));
    ck_assert_str_ne(digest, later);
    ok(tb_store_verify_against(f.store, digest, NULL, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 0);
    edit(f.store->db, "DELETE FROM audit WHERE id=4");
    ok(tb_store_verify_against(f.store, later, on_sentence, &found, &differences, &err));
    ck_assert_uint_eq(differences, 1);
    ck_assert_str_eq(found.text,
                     "There are 3 audit entries; there were 4 when the anchor was made.\n");
    edit(f.store->db, "UPDATE audit SET origin='' WHERE id=3");
    ok(tb_store_verify_against(f.store, digest, NULL, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 1);
    fixture_release(&f);
}
END_TEST

START_TEST(changes_are_counted_and_reading_is_none)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    const uint64_t before = tb_store_changes(f.store);
    check_page(&f, 0, 3, 0, 3);
    verify_finds(&f, NULL);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(tb_store_changes(f.store), before);
    ok(try_add(&f, &three[0], &err));
    ck_assert_uint_gt(tb_store_changes(f.store), before);
    fixture_release(&f);
}
END_TEST

/* --- as an account sees it --- */

static void asked(fixture *f, tb_audit_ask ask, const char *expected)
{
    tb_error err = {0};
    tb_buf out;
    tb_buf_init(&out, (size_t)16 << 20, NULL);
    ask.day = tb_day_from_us(NOW_US);
    ok(tb_account_audit(f->store, &ask, &out, &err));
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, expected);
    tb_buf_release(&out);
}

static void add_of_account(fixture *f, int64_t key, const char *origin, const char *operation, const char *arguments)
{
    tb_error err = {0};
    const tb_audit_entry entry = {.at_us = NOW_US, .key = key, .origin = origin, .operation = operation, .arguments = arguments};
    ok(try_add(f, &entry, &err));
}

START_TEST(an_account_sees_who_changed_what)
{
    fixture f;
    tb_error err = {0};
    tb_key own = {.account = 5, .roles = 1, .created_us = NOW_US, .revoked_us = INT64_MAX, .hint = "o", .hash = {1}};
    fill(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_key_add(f.store, &own, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(own.id, 2);
    add_of_account(&f, 2, "192.0.2.1", "retain", "{\"account\":5}"); /* is of no one account */
    add_of_account(&f, 0, "192.0.2.1", "alert drop", "{\"account\":5,\"id\":\"a\"}");
    add_of_account(&f, 0, "user eva", "key revoke", "{\"id\":2}");
    add_of_account(&f, 0, "", "invoice", "{\"account\":5,\"month\":7}");
    add_of_account(&f, 2, "192.0.2.1", "key create", "{\"sha256\":\"00\"}");
    add_of_account(&f, 1, "192.0.2.1", "alert drop", "{\"account\":55}");
    add_of_account(&f, 1, "192.0.2.1", "key revoke", "{\"id\":1}");
#define AT "{\"Timestamp\":\"2026-11-18T00:00:00Z\",\"Product\":"
#define TOKEN "\"Billing\",\"ResourceType\":\"Alert\",\"ResourceId\":\"a\",\"Action\":\"Delete\",\"ActorId\":null," \
              "\"ActorType\":\"Token\",\"Diff\":\"{\\\"account\\\":5,\\\"id\\\":\\\"a\\\"}\"}"
#define EVA "\"Account\",\"ResourceType\":\"ApiKey\",\"ResourceId\":\"2\",\"Action\":\"Delete\",\"ActorId\":null," \
            "\"ActorType\":\"Operator\",\"Diff\":null}"
#define SELF "\"Billing\",\"ResourceType\":\"Invoice\",\"ResourceId\":\"7\",\"Action\":\"Create\",\"ActorId\":null," \
             "\"ActorType\":\"System\",\"Diff\":null}"
#define OWN "\"Account\",\"ResourceType\":\"ApiKey\",\"ResourceId\":null,\"Action\":\"Create\",\"ActorId\":\"2\"," \
            "\"ActorType\":\"ApiKey\",\"Diff\":\"{\\\"sha256\\\":\\\"00\\\"}\"}"
    asked(&f, (tb_audit_ask){.account = 5, .limit = 3},
          "{\"Logs\":[" AT TOKEN "," AT EVA "," AT SELF "],\"HasMoreData\":true,\"ContinuationToken\":\"3\"}");
    asked(&f, (tb_audit_ask){.account = 5, .limit = 3, .at = 3},
          "{\"Logs\":[" AT OWN "],\"HasMoreData\":false,\"ContinuationToken\":null}");
    asked(&f, (tb_audit_ask){.account = 5, .limit = 1, .descending = true},
          "{\"Logs\":[" AT OWN "],\"HasMoreData\":true,\"ContinuationToken\":\"3\"}");
    asked(&f, (tb_audit_ask){.account = 5, .limit = 2, .descending = true, .at = 2},
          "{\"Logs\":[" AT EVA "," AT TOKEN "],\"HasMoreData\":false,\"ContinuationToken\":null}");
    asked(&f, (tb_audit_ask){.account = 6, .limit = 9}, "{\"Logs\":[],\"HasMoreData\":false,\"ContinuationToken\":null}");
    fixture_release(&f);
}
END_TEST

START_TEST(a_page_of_long_entries_ends_early)
{
    static char most[TB_AUDIT_ARGUMENTS_MAX + 1];
    fixture f;
    tb_error err = {0};
    tb_buf out;
    fixture_init(&f);
    snprintf(most, sizeof most, "{\"account\":5,\"note\":\"%*s\"}", TB_AUDIT_ARGUMENTS_MAX - 24, "");
    ok(tb_store_begin(f.store, &err));
    const tb_audit_entry entry = {.at_us = NOW_US, .operation = "alert set", .origin = "192.0.2.1", .arguments = most};
    for (int i = 0; i < 600; i++)
        ok(tb_store_audit_add(f.store, &entry, &err));
    ok(tb_store_commit(f.store, &err));
    const tb_audit_ask ask = {.account = 5, .day = tb_day_from_us(NOW_US), .limit = TB_AUDIT_ENTRIES_MAX};
    tb_buf_init(&out, (size_t)64 << 20, NULL);
    ok(tb_account_audit(f.store, &ask, &out, &err));
    ck_assert_uint_gt(out.len, TB_AUDIT_PAGE_BYTES);
    ck_assert_uint_lt(out.len, TB_AUDIT_PAGE_BYTES + 2 * TB_AUDIT_ARGUMENTS_MAX);
    tb_buf_add(&out, "", 1);
    ck_assert_ptr_nonnull(strstr(out.data, "\"HasMoreData\":true,\"ContinuationToken\":\"5"));
    tb_buf_release(&out);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("audit");
    tcase_add_test(t, entries_are_read_in_their_order_page_by_page);
    tcase_add_test(t, a_page_has_an_end);
    tcase_add_test(t, an_account_sees_who_changed_what);
    tcase_add_test(t, a_page_of_long_entries_ends_early);
    tcase_add_test(t, an_entry_goes_with_its_transaction);
    tcase_add_test(t, what_is_no_entry_is_refused);
    tcase_add_test(t, entries_neither_change_nor_go);
    tcase_add_test(t, a_change_shows);
    tcase_add_test(t, an_anchor_covers_the_entries_there_were);
    tcase_add_test(t, changes_are_counted_and_reading_is_none);
    Suite *s = suite_create("store_audit");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
