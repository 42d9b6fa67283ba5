/* Invoices: numbers without gaps, a chain of hashes, bytes that never change. */
#include "billing_fixture.h"

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
    "\"account\":1,\"name\":\"a\"}]}";

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, catalog, NOW_US, NULL);
    add_book(f, "a", "2026-01-01T00:00:00Z");
    add_bytes(f, 101, "DE", at(10, 4, 0), 1000);
}

static void refused(fixture *f, tb_invoice *i, const char *field)
{
    tb_error err = {0};
    bool known;
    int64_t before = number(f, "SELECT count(*) FROM invoice");
    ck_assert_int_eq(try_finalize(f, i, &known, &err), TB_E_VALIDATION);
    ck_assert_msg(strcmp(err.field, field) == 0, "%s: %s", err.field, err.message);
    ck_assert_ptr_null(i->text);
    ck_assert_int_eq(number(f, "SELECT count(*) FROM invoice"), before);
}

START_TEST(numbers_count_up_and_hashes_chain)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_invoice a = finalize(&f, 1, OCTOBER, "5.00"), b = finalize(&f, 2, OCTOBER, "0.00");
    ck_assert_str_eq(a.number, "2026-000001");
    ck_assert_str_eq(b.number, "2026-000002");
    ck_assert_str_eq(a.previous, "");
    ck_assert_str_eq(b.previous, a.sha256);
    ck_assert_int_eq(a.state, TB_INVOICE_FINAL);
    tb_invoice stored;
    ok(tb_store_invoice(f.store, 1, "2026-000001", &stored, &err));
    ck_assert_str_eq(stored.text, a.text);
    ck_assert_uint_eq(stored.text_len, strlen(a.text));
    ck_assert_str_eq(stored.sha256, a.sha256);
    ck_assert_str_eq(stored.total, "5.00");
    ck_assert_str_eq(stored.kind, "invoice");
    ck_assert_int_eq(stored.month, OCTOBER);
    ck_assert_int_eq(stored.finalized_us, NOW_US);
    ck_assert_uint_eq(stored.watermark, a.watermark);
    verify_finds(&f, NULL);
    tb_invoice_release(&stored);
    tb_invoice_release(&a);
    tb_invoice_release(&b);
    fixture_release(&f);
}
END_TEST

START_TEST(the_series_begins_anew_with_the_year_of_issue)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    tb_invoice a = finalize(&f, 1, OCTOBER, "5.00");
    tb_invoice b = invoice_of(&f, 2, OCTOBER, "6.00");
    b.finalized_us = (tb_day_from_date((tb_date){2027, 1, 1})) * TB_US_PER_DAY;
    ok(try_finalize(&f, &b, &known, &err));
    ck_assert_str_eq(b.number, "2027-000001");
    ck_assert_str_eq(b.previous, a.sha256);
    verify_finds(&f, NULL);
    tb_invoice_release(&a);
    tb_invoice_release(&b);
    fixture_release(&f);
}
END_TEST

START_TEST(finalising_again_gives_the_first_invoice)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    uint64_t before, after;
    fill(&f);
    tb_invoice a = finalize(&f, 1, OCTOBER, "5.00"), again = invoice_of(&f, 1, OCTOBER, "9.00");
    ok(tb_store_version(f.store, &before, &err));
    ok(try_finalize(&f, &again, &known, &err));
    ok(tb_store_version(f.store, &after, &err));
    ck_assert(known);
    ck_assert_uint_eq(before, after);
    ck_assert_str_eq(again.number, a.number);
    ck_assert_str_eq(again.total, "5.00");
    ck_assert_str_eq(again.text, a.text);
    tb_invoice_release(&a);
    tb_invoice_release(&again);
    fixture_release(&f);
}
END_TEST

static tb_code failing_finish(void *ctx, const char *numbered, const char *previous, tb_buf *text,
                              char sha256[65], tb_error *err)
{
    (void)ctx, (void)numbered, (void)previous, (void)sha256;
    tb_buf_str(text, "{");
    return tb_fail(err, TB_E_OVERFLOW, "line", NULL);
}

START_TEST(what_fails_takes_no_number)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    tb_invoice i = invoice_of(&f, 1, OCTOBER, "5.00");
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_finalize(f.store, &i, failing_finish, NULL, &known, &err),
                     TB_E_OVERFLOW);
    tb_store_rollback(f.store);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_finalize(f.store, &i, finish_text, &i, &known, &err));
    tb_store_rollback(f.store);
    tb_invoice_release(&i);
    i = finalize(&f, 1, OCTOBER, "5.00");
    ck_assert_str_eq(i.number, "2026-000001");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_whole_run_fits_one_transaction)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    ok(tb_store_begin(f.store, &err));
    for (int64_t account = 1; account <= 2; account++) {
        source in = input_of(&f, account, OCTOBER);
        tb_invoice i = {.kind = "invoice",
                        .account = account,
                        .month = OCTOBER,
                        .currency = "USD",
                        .total = "1.00",
                        .finalized_us = NOW_US,
                        .watermark = in.s.watermark};
        ok(tb_store_finalize(f.store, &i, finish_text, &i, &known, &err));
        source_release(&in);
        tb_invoice_release(&i);
    }
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM invoice"), 2);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static tb_code wrong_hash(void *ctx, const char *numbered, const char *previous, tb_buf *text,
                          char sha256[65], tb_error *err)
{
    tb_code code = finish_text(ctx, numbered, previous, text, sha256, err);
    text->data[2] = 'A'; /* of "account" */
    return code;
}

START_TEST(what_cannot_be_final_is_refused)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    tb_invoice i = invoice_of(&f, 1, NOVEMBER, "5.00"); /* now is in November */
    refused(&f, &i, "month");
    i = invoice_of(&f, 1, OCTOBER, "5.00");
    i.finalized_us = us_at(11, 1, 0) - 1;
    refused(&f, &i, "month");
    i = invoice_of(&f, 1, OCTOBER, "5.00");
    i.watermark--;
    refused(&f, &i, "watermark");
    i = invoice_of(&f, 1, OCTOBER, "5e1");
    refused(&f, &i, "total");
    i = invoice_of(&f, 1, OCTOBER, "5.00");
    snprintf(i.kind, sizeof i.kind, "bill");
    refused(&f, &i, "kind");
    i = invoice_of(&f, 1, OCTOBER, "5.00");
    i.since = 3;
    refused(&f, &i, "since");
    i = invoice_of(&f, 1, OCTOBER, "-5.00");
    snprintf(i.kind, sizeof i.kind, "credit_note");
    refused(&f, &i, "since");
    i.since = 3;
    refused(&f, &i, "corrects"); /* of a month that was never billed */
    i = invoice_of(&f, 1, OCTOBER, "5.00");
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_finalize(f.store, &i, wrong_hash, &i, &known, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "sha256");
    tb_store_rollback(f.store);
    fixture_release(&f);
}
END_TEST

/* --- voiding --- */

START_TEST(a_void_invoice_keeps_its_number_and_is_replaced)
{
    fixture f;
    tb_error err = {0};
    tb_decimal balance;
    fill(&f);
    tb_invoice a = finalize(&f, 1, OCTOBER, "5.00");
    ok(try_void(&f, a.number, &err));
    ok(tb_store_balance(f.store, 1, &balance, &err));
    ck_assert_int_eq(tb_decimal_sign(balance), 0);
    tb_invoice b = finalize(&f, 1, OCTOBER, "4.00"), stored;
    ck_assert_str_eq(b.number, "2026-000002");
    ck_assert_str_eq(b.replaces, a.number);
    ck_assert_ptr_nonnull(strstr(b.text, "\"replaces\":\"2026-000001\""));
    ok(tb_store_invoice(f.store, 0, a.number, &stored, &err));
    ck_assert_int_eq(stored.state, TB_INVOICE_VOID);
    ck_assert_str_eq(stored.replaced_by, b.number);
    ck_assert_str_eq(stored.text, a.text);
    tb_invoice_release(&stored);
    ok(tb_store_balance(f.store, 1, &balance, &err));
    ck_assert_int_eq(tb_decimal_compare(balance, tb_decimal_from_int(-4)), 0);
    verify_finds(&f, NULL);
    tb_invoice_release(&a);
    tb_invoice_release(&b);
    fixture_release(&f);
}
END_TEST

START_TEST(only_a_final_invoice_can_be_voided)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    ck_assert_int_eq(try_void(&f, "2026-000001", &err), TB_E_NOT_FOUND);
    tb_invoice a = finalize(&f, 1, OCTOBER, "5.00");
    ok(try_void(&f, a.number, &err));
    ck_assert_int_eq(try_void(&f, a.number, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, "void already"));
    tb_invoice_release(&a);
    fixture_release(&f);
}
END_TEST

/* --- listing --- */

static size_t listed(fixture *f, int64_t account, int64_t month, char names[200])
{
    tb_error err = {0};
    tb_invoice *list;
    size_t n;
    ok(tb_store_invoices(f->store, account, month, &list, &n, &err));
    names[0] = 0;
    for (size_t i = 0; i < n; i++) {
        snprintf(names + strlen(names), 200 - strlen(names), "%s ", list[i].number + 5);
        tb_invoice_release(&list[i]);
    }
    free(list);
    return n;
}

static tb_code list_two(tb_store *store, tb_error *err)
{
    tb_invoice *list;
    size_t n;
    tb_code code = tb_store_invoices(store, 0, OCTOBER, &list, &n, err);
    if (code) return code;
    ck_assert_uint_eq(n, 2);
    for (size_t i = 0; i < n; i++)
        tb_invoice_release(&list[i]);
    free(list);
    return TB_OK;
}

START_TEST(a_list_that_is_stopped_keeps_nothing)
{
    fixture f;
    fill(&f);
    for (int64_t account = 1; account <= 2; account++) {
        tb_invoice i = finalize(&f, account, OCTOBER, "5.00");
        tb_invoice_release(&i);
    }
    stop_everywhere(&f, list_two);
    fixture_release(&f);
}
END_TEST

START_TEST(invoices_are_listed_by_account_and_month)
{
    fixture f;
    tb_error err = {0};
    char names[200];
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    tb_invoice_release(&i);
    i = finalize(&f, 2, OCTOBER, "6.00");
    tb_invoice_release(&i);
    i = finalize(&f, 1, OCTOBER - 1, "7.00");
    tb_invoice_release(&i);
    listed(&f, 0, INT64_MIN, names);
    ck_assert_str_eq(names, "000001 000002 000003 ");
    listed(&f, 1, INT64_MIN, names);
    ck_assert_str_eq(names, "000001 000003 ");
    listed(&f, 0, OCTOBER, names);
    ck_assert_str_eq(names, "000001 000002 ");
    listed(&f, 2, OCTOBER - 1, names);
    ck_assert_str_eq(names, "");
    ck_assert_int_eq(tb_store_invoice(f.store, 2, "2026-000001", &i, &err), TB_E_NOT_FOUND);
    fixture_release(&f);
}
END_TEST

START_TEST(an_invoice_shows_among_what_its_month_touches)
{
    fixture f;
    tb_error err = {0};
    tb_touched *list;
    size_t n;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    ok(tb_store_touched(f.store, us_at(10, 31, 23), us_at(11, 9, 0), &list, &n, &err));
    ck_assert_uint_eq(n, 2); /* the book, too */
    ck_assert(list[1].invoice);
    ck_assert_str_eq(list[1].name, i.number);
    ck_assert_int_eq(list[1].account, 1);
    free(list);
    ok(tb_store_touched(f.store, us_at(11, 1, 0), us_at(11, 9, 0), &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    free(list);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* --- what the file itself holds --- */

START_TEST(final_rows_do_not_change)
{
    fixture f;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    sql_refused(&f, "UPDATE invoice SET total='4.00'", "do not change");
    sql_refused(&f, "UPDATE invoice SET document='{}'", "do not change");
    sql_refused(&f, "UPDATE invoice SET state='void',total='0'", "do not change");
    sql_refused(&f, "DELETE FROM invoice", "do not change");
    sql_refused(
        &f,
        "INSERT INTO invoice(" TB__C_invoice("") ")SELECT 2,2026,3,'x',kind,state,2,month,watermark,since,"
        "currency,total,sha256,sha256,replaces,finalized_us,voided_us,document FROM invoice",
        "without gaps");
    sql_refused(&f,
                "INSERT INTO invoice(" TB__C_invoice("") ")SELECT 2,2026,2,'x',kind,state,2,month,watermark,since,"
                "currency,total,sha256,'',replaces,finalized_us,voided_us,document FROM invoice",
                "without gaps");
    sql_refused(
        &f,
        "INSERT INTO invoice(" TB__C_invoice("") ")SELECT 2,2026,2,'x',kind,state,account,month,watermark,since,"
        "currency,total,sha256,sha256,replaces,finalized_us,voided_us,document FROM invoice",
        "UNIQUE");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_one_changed_byte)
{
    static const struct {
        const char *sql, *found;
    } cases[] = {
        {"UPDATE invoice SET document=replace(document,'5.00','5.01') WHERE id=1",
         "Invoice 2026-000001: its text has the SHA-256"},
        {"UPDATE invoice SET total='5.01' WHERE id=1",
         "Invoice 2026-000001 has the total 5.01; its ledger entry of issue has -5"},
        {"UPDATE invoice SET total='5.01' WHERE id=1",
         "Invoice 2026-000001: its text says otherwise"},
        {"UPDATE invoice SET watermark=watermark-1 WHERE id=2",
         "Invoice 2026-000002: its text says"},
        {"UPDATE invoice SET account=2,month=680 WHERE id=1",
         "Ledger entry 1 is of account 1; invoice"},
        {"UPDATE invoice SET month=680 WHERE id=1", "its text is for the month from 2026-10-01"},
        {"UPDATE invoice SET sha256=replace(sha256,substr(sha256,1,1),'x') WHERE id=1",
         "Invoice 2026-000001: its text does not hold its SHA-256."},
        {"UPDATE invoice SET previous=sha256 WHERE id=2",
         "Invoice 2026-000002 does not name the invoice before it"},
        {"UPDATE invoice SET serial=3,number='2026-000003' WHERE id=2",
         "Invoice 2026-000003: its series goes on after number 1."},
        {"UPDATE invoice SET number='2026-00002' WHERE id=2", "has number 2 of 2026 in its series"},
        {"UPDATE invoice SET document='x' WHERE id=2",
         "Invoice 2026-000002: its text is not JSON."},
        {"UPDATE invoice SET replaces='2026-000001' WHERE id=2",
         "Invoice 2026-000002 replaces 2026-000001, which is not a void invoice"},
        {"UPDATE invoice SET watermark=999 WHERE id=2", "made at data version 999; the file is at"},
        {"UPDATE invoice SET state='void' WHERE id=2",
         "Void invoice 2026-000002 is not given back in the ledger."},
        {"DELETE FROM invoice WHERE id=2",
         "Ledger entry 2 is of invoice 2026-000002, which is not"},
        {"INSERT INTO correction VALUES(2,2,680,1,0)", "Invoice 2026-000002 corrects 2026-09 since"},
        {"UPDATE region_billing SET billing='NA' WHERE code='DE'",
         "Region DE is billed as EU; its history ends with NA."},
    };
    fixture f;
    fixture_image both;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    tb_invoice_release(&i);
    i = finalize(&f, 2, OCTOBER, "6.00");
    tb_invoice_release(&i);
    verify_finds(&f, NULL);
    sql(&f, "DROP TRIGGER invoice_no_update; DROP TRIGGER invoice_no_delete;");
    fixture_keep(&f, &both);
    fixture_release(&f);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fixture_again(&f, &both);
        sql(&f, cases[n].sql);
        verify_finds(&f, cases[n].found);
        fixture_release(&f);
    }
    free(both.bytes);
}
END_TEST

/* --- what was known then --- */

START_TEST(a_final_month_reads_as_it_was_known_then)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    source before = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    /* another region, a new zone that always existed, with usage, a setting back in time, a book */
    fixture_apply(
        &f,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"regions\":["
        "{\"id\":1,\"code\":\"DE\",\"name\":\"AF: X, DE\",\"billing\":\"AF\"}],\"zones\":["
        "{\"id\":101,\"account\":1,\"name\":\"a\",\"settings\":{\"EUUSDiscount\":9}},"
        "{\"id\":102,\"account\":1,\"name\":\"b\"}]}",
        us_at(10, 2, 0), NULL);
    add_bytes(&f, 102, "DE", at(10, 5, 0), 50);
    add_book(&f, "b", "2026-10-10T00:00:00Z");
    source then = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_uint_eq(then.s.input.n_parts, 1);
    ck_assert_str_eq(then.s.input.parts[0].book->id, "a");
    ck_assert_uint_eq(then.s.input.n_bytes, 1);
    ck_assert_int_eq(then.s.input.bytes[0].region, TB_REGION_EU);
    ck_assert_int_eq(then.s.input.bytes[0].discount, 0);
    ck_assert_str_eq(then.s.input.bytes[0].evidence.hash, before.s.input.bytes[0].evidence.hash);
    ck_assert_uint_eq(then.s.watermark, i.watermark);
    source_release(&then);
    source now = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(now.s.input.n_parts, 1); /* the month stays with its book */
    ck_assert_uint_eq(now.s.input.n_bytes, 2);
    ck_assert_int_eq(now.s.input.bytes[0].region, TB_REGION_EU); /* and with its regions */
    ck_assert_int_eq(now.s.input.bytes[1].region, TB_REGION_EU);
    source_release(&now);
    now = input_of(&f, 2, OCTOBER); /* another account's is open for the new one */
    ck_assert_uint_eq(now.s.input.n_parts, 2);
    source_release(&now);
    ok(try_void(&f, i.number, &err));
    now = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(now.s.input.n_parts, 2);
    ck_assert_int_eq(now.s.input.bytes[0].region, TB_REGION_AF);
    source_release(&now);
    source_release(&before);
    tb_invoice_release(&i);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(what_was_ended_afterwards_was_there_then)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,"
                  "\"name\":\"a\",\"settings\":{\"OptimizerEnabled\":true}}],\"load_balancers\":["
                  "{\"id\":7,\"account\":1,\"zones\":[101]}]}",
                  NOW_US, NULL);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    /* a clock that was set back */
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", us_at(10, 20, 0), NULL);
    source then = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_int_eq(then.s.input.balancers[0].seconds, 31 * 86400);
    ck_assert_int_eq(then.s.input.optimizers[0].seconds, 31 * 86400);
    source_release(&then);
    source now = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq(now.s.input.balancers[0].seconds, 19 * 86400);
    ck_assert_int_eq(now.s.input.optimizers[0].seconds, 19 * 86400);
    source_release(&now);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("invoices");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, numbers_count_up_and_hashes_chain);
    tcase_add_test(t, the_series_begins_anew_with_the_year_of_issue);
    tcase_add_test(t, finalising_again_gives_the_first_invoice);
    tcase_add_test(t, what_fails_takes_no_number);
    tcase_add_test(t, a_whole_run_fits_one_transaction);
    tcase_add_test(t, what_cannot_be_final_is_refused);
    tcase_add_test(t, a_void_invoice_keeps_its_number_and_is_replaced);
    tcase_add_test(t, only_a_final_invoice_can_be_voided);
    tcase_add_test(t, a_list_that_is_stopped_keeps_nothing);
    tcase_add_test(t, invoices_are_listed_by_account_and_month);
    tcase_add_test(t, an_invoice_shows_among_what_its_month_touches);
    tcase_add_test(t, final_rows_do_not_change);
    tcase_add_test(t, verify_finds_one_changed_byte);
    tcase_add_test(t, a_final_month_reads_as_it_was_known_then);
    tcase_add_test(t, what_was_ended_afterwards_was_there_then);
    Suite *s = suite_create("store_invoices");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
