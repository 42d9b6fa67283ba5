/* The ledger: entries once, a balance that is their sum, and its history day by day. */
#include "billing_fixture.h"
#include "tollbook/ledger.h"

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}", NOW_US,
                  NULL);
}

static tb_ledger_entry entry_of(int64_t account, tb_ledger_kind kind, const char *amount,
                                const char *reference, int64_t at_us)
{
    tb_error err = {0};
    tb_ledger_entry e = {
        .account = account, .kind = kind, .currency = "USD", .at_us = at_us, .note = "by hand"};
    ok(tb_decimal_parse(amount, strlen(amount), 18, &e.amount, &err));
    snprintf(e.reference, sizeof e.reference, "%s", reference);
    return e;
}

static tb_code try_add(fixture *f, tb_ledger_entry *e, bool *ret_known, tb_error *err)
{
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = tb_store_ledger_add(f->store, e, ret_known, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    return code;
}

static void add(fixture *f, int64_t account, const char *amount, const char *reference,
                int64_t at_us)
{
    tb_error err = {0};
    bool known = true;
    tb_ledger_entry e = entry_of(account, TB_LEDGER_PAYMENT, amount, reference, at_us);
    ok(try_add(f, &e, &known, &err));
    ck_assert(!known);
}

static const char *balance(fixture *f, int64_t account)
{
    static char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_error err = {0};
    tb_decimal sum;
    ok(tb_store_balance(f->store, account, &sum, &err));
    *tb_decimal_put(text, sum) = 0;
    return text;
}

START_TEST(a_balance_is_the_sum_of_its_accounts_entries)
{
    fixture f;
    tb_error err = {0};
    tb_ledger_entry *list;
    size_t n;
    fill(&f);
    ck_assert_str_eq(balance(&f, 1), "0");
    add(&f, 1, "100.10", "p1", NOW_US);
    add(&f, 1, "-0.0000001", "", NOW_US);
    add(&f, 2, "7", "p2", NOW_US);
    tb_invoice i = finalize(&f, 1, OCTOBER, "30.05");
    ck_assert_str_eq(balance(&f, 1), "70.0499999");
    ck_assert_str_eq(balance(&f, 2), "7");
    ok(tb_store_ledger(f.store, 1, &list, &n, &err));
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(list[2].kind, TB_LEDGER_INVOICE);
    ck_assert_str_eq(list[2].reference, i.number);
    ck_assert_str_eq(list[0].note, "by hand");
    ck_assert_str_eq(list[0].currency, "USD");
    ck_assert_int_eq(list[0].at_us, NOW_US);
    free(list);
    tb_invoice_release(&i);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_balance_that_overflows_names_account_and_entry)
{
    fixture f;
    tb_error err = {0};
    tb_decimal sum;
    fill(&f);
    add(&f, 1, "1700000000000000000000000000000000000.01", "p1", NOW_US);
    add(&f, 1, "1700000000000000000000000000000000000.01", "p2", NOW_US);
    add(&f, 2, "7", "p3", NOW_US);
    ck_assert_int_eq(tb_store_balance(f.store, 1, &sum, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The balance of account 1 passes 2^127-1 of its smallest units at "
                                  "entry 2, p2.");
    ck_assert_str_eq(balance(&f, 2), "7");
    fixture_release(&f);
}
END_TEST

START_TEST(the_same_reference_is_entered_once)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    fill(&f);
    add(&f, 1, "5.00", "p1", 10);
    tb_ledger_entry e = entry_of(1, TB_LEDGER_PAYMENT, "5", "p1", 20);
    ok(try_add(&f, &e, &known, &err));
    ck_assert(known);
    ck_assert_int_eq(e.id, 1);
    ck_assert_int_eq(e.at_us, 10);
    ck_assert_str_eq(balance(&f, 1), "5");
    e = entry_of(1, TB_LEDGER_PAYMENT, "6", "p1", 20);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "reference");
    e = entry_of(2, TB_LEDGER_PAYMENT, "5", "p1", 20);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    e = entry_of(1, TB_LEDGER_ADJUSTMENT, "5", "p1", 20); /* another kind is another entry */
    ok(try_add(&f, &e, &known, &err));
    ck_assert(!known);
    add(&f, 1, "1", "", 30); /* without reference there is nothing to recognise */
    add(&f, 1, "1", "", 30);
    ck_assert_str_eq(balance(&f, 1), "12");
    fixture_release(&f);
}
END_TEST

START_TEST(entries_that_say_nothing_or_mix_currencies_are_refused)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    tb_ledger_entry e = entry_of(3, TB_LEDGER_PAYMENT, "5", "p1", 0);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_NOT_FOUND);
    e = entry_of(1, TB_LEDGER_PAYMENT, "0.00", "p1", 0);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "amount");
    e = entry_of(1, TB_LEDGER_KIND_COUNT, "1", "p1", 0);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    e = entry_of(1, TB_LEDGER_PAYMENT, "1", "p1", 0);
    e.currency[2] = 0;
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    add(&f, 1, "1", "p1", 0);
    e = entry_of(1, TB_LEDGER_PAYMENT, "1", "p2", 0);
    memcpy(e.currency, "EUR", 4);
    ck_assert_int_eq(try_add(&f, &e, &known, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "currency");
    e.account = 2;
    ok(try_add(&f, &e, &known, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(entries_do_not_change_and_a_change_shows)
{
    fixture f;
    fill(&f);
    add(&f, 1, "5", "p1", 10);
    add(&f, 1, "6", "p2", 10);
    sql_refused(&f, "UPDATE ledger SET amount='50'", "append-only");
    sql_refused(&f, "DELETE FROM ledger", "append-only");
    verify_finds(&f, NULL);
    sql(&f, "DROP TRIGGER ledger_no_update; DROP TRIGGER ledger_no_delete;"
            "UPDATE ledger SET amount='50' WHERE id=1");
    verify_finds(&f, "Ledger entry 1 or one before it has changed");
    sql(&f, "UPDATE ledger SET amount='5e' WHERE id=1");
    verify_finds(&f, "Ledger entry 1: its amount cannot be read.");
    sql(&f, "UPDATE ledger SET amount='5' WHERE id=1;UPDATE ledger SET note='x' WHERE id=2");
    verify_finds(&f, "Ledger entry 2 or one before it has changed");
    sql(&f, "DELETE FROM ledger WHERE id=1");
    verify_finds(&f, "Ledger entry 2 follows entry 0.");
    fixture_release(&f);
}
END_TEST

/* --- history --- */

static void check_history(fixture *f, tb_range range, int64_t now_us, const char *expected)
{
    tb_error err = {0};
    tb_balance *list;
    size_t n;
    char text[1000] = "", when[21] = "";
    ok(tb_store_balance_history(f->store, 1, range, now_us, &list, &n, &err));
    for (size_t i = 0; i < n; i++) {
        tb_time_format(list[i].at_us, when);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.14s=%s ", when + 5,
                 list[i].amount);
    }
    ck_assert_str_eq(text, expected);
    free(list);
}

START_TEST(the_head_counts_the_entries_and_is_the_last_ones_hash)
{
    fixture f;
    tb_error err = {0};
    tb_ledger_head first, head = {.count = 9};
    fill(&f);
    ok(tb_store_ledger_head(f.store, &head, &err));
    ck_assert_uint_eq(head.count, 0);
    ck_assert_str_eq(head.head, "");
    add(&f, 1, "10", "", NOW_US);
    ok(tb_store_ledger_head(f.store, &first, &err));
    ck_assert_uint_eq(first.count, 1);
    add(&f, 2, "20", "", NOW_US);
    ok(tb_store_ledger_head(f.store, &head, &err));
    ck_assert_uint_eq(head.count, 2);
    ck_assert_str_ne(head.head, first.head);
    char text[160];
    snprintf(text, sizeof text, "SELECT count(*) FROM ledger WHERE id=2 AND lower(hex(chain))='%s'",
             head.head);
    ck_assert_int_eq(number(&f, text), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(a_snapshot_is_taken_each_day_at_five_past_midnight)
{
    fixture f;
    int64_t first = at(11, 2, 0) / 24;
    tb_range days = {first, 4, false};
    fill(&f);
    check_history(&f, days, NOW_US, "");
    add(&f, 2, "9", "other", 0);
    check_history(&f, days, NOW_US, "");
    add(&f, 1, "5", "a", us_at(11, 3, 0) + 300 * TB_US_PER_S);        /* at that moment: counted */
    add(&f, 1, "0.25", "b", us_at(11, 4, 0) + 300 * TB_US_PER_S + 1); /* past it: the next day */
    add(&f, 1, "-7", "c", us_at(11, 3, 12)); /* entries may come in any order */
    check_history(&f, days, NOW_US,
                  "11-02T00:05:00=0 11-03T00:05:00=5 11-04T00:05:00=-2 11-05T00:05:00=-1.75 ");
    check_history(&f, days, us_at(11, 4, 0) + 300 * TB_US_PER_S,
                  "11-02T00:05:00=0 11-03T00:05:00=5 11-04T00:05:00=-2 ");
    check_history(&f, days, us_at(11, 4, 0) + 299 * TB_US_PER_S,
                  "11-02T00:05:00=0 11-03T00:05:00=5 ");
    check_history(&f, days, us_at(11, 1, 0), "");
    check_history(&f, (tb_range){at(11, 3, 22), 4, true}, NOW_US,
                  "11-03T00:05:00=5 11-04T00:05:00=-2 ");
    check_history(&f, (tb_range){first, 0, false}, NOW_US, "");
    fixture_release(&f);
}
END_TEST

static void close_with(fixture *f, int64_t month, const char *accruals, const char *reversed)
{
    tb_error err = {0};
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"accruals\":[%s],\"codes\":{},\"reversed\":[%s],\"reversed_codes\":{}}", accruals,
                     reversed);
    tb_closing closing = {.document = NULL};
    ok(tb_store_next_closing(f->store, &closing, &err));
    closing.month = month;
    closing.closed_us = NOW_US;
    closing.document = text;
    closing.len = (size_t)n;
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_close_month(f->store, &closing, &err));
    ok(tb_store_commit(f->store, &err));
}

static void reopen(fixture *f, int64_t month)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_reopen_month(f->store, month, NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

/* Nobody used what these closings accrue: they say no rules, so they are not worked out again. */
static void count_taken_back(void *ctx, const char *sentence)
{
    *(unsigned *)ctx += strstr(sentence, "does not take back what") != NULL;
}

static unsigned closings_differ(fixture *f)
{
    tb_error err = {0};
    uint64_t differences = 0;
    unsigned n = 0;
    tb_closings_checked checked = {.all = true};
    ok(tb_closing_verify(f->store, &checked, count_taken_back, &n, &differences, &err));
    ck_assert_uint_eq(differences, n);
    ck_assert_uint_eq(checked.again, 0);
    ck_assert_uint_gt(checked.by_hash, 0);
    return n;
}

START_TEST(a_closing_takes_back_what_the_month_before_accrued)
{
    static const char five[] =
        "{\"account\":1,\"currency\":\"USD\",\"products\":{\"bandwidth\":\"5\"}}";
    static const char six[] =
        "{\"account\":1,\"currency\":\"USD\",\"products\":{\"bandwidth\":\"6\"}}";
    fixture f;
    fill(&f);
    close_with(&f, OCTOBER, "", five);
    close_with(&f, OCTOBER - 1, five, "");
    ck_assert_uint_eq(closings_differ(&f), 0);
    reopen(&f, OCTOBER);
    close_with(&f, OCTOBER, "", six);
    ck_assert_uint_eq(closings_differ(&f), 1);
    reopen(&f, OCTOBER);
    ck_assert_uint_eq(closings_differ(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(kinds_have_names)
{
    ck_assert_str_eq(tb_ledger_kind_name(TB_LEDGER_CREDIT_NOTE), "credit_note");
    ck_assert_str_eq(tb_ledger_kind_name(TB_LEDGER_KIND_COUNT), "");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ledger");
    tcase_add_test(t, a_balance_is_the_sum_of_its_accounts_entries);
    tcase_add_test(t, a_balance_that_overflows_names_account_and_entry);
    tcase_add_test(t, the_same_reference_is_entered_once);
    tcase_add_test(t, entries_that_say_nothing_or_mix_currencies_are_refused);
    tcase_add_test(t, entries_do_not_change_and_a_change_shows);
    tcase_add_test(t, the_head_counts_the_entries_and_is_the_last_ones_hash);
    tcase_add_test(t, a_snapshot_is_taken_each_day_at_five_past_midnight);
    tcase_add_test(t, a_closing_takes_back_what_the_month_before_accrued);
    tcase_add_test(t, kinds_have_names);
    Suite *s = suite_create("store_ledger");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
