/* Shadow books in the store: beside the books, one id for one thing, never forgotten. */
#include "billing_fixture.h"
#include "tollbook/bookstore.h"

static tb_code try_shadow(fixture *f, const char *id, const char *minimum, bool *ret_known,
                          tb_error *err)
{
    char text[512];
    tb_book book;
    book_text(text, id, "USD", "2026-06-01T00:00:00Z", minimum);
    ck_assert_int_eq(tb_book_parse(text, strlen(text), NULL, &book, err), TB_OK);
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = tb_store_add_shadow(f->store, &book, NOW_US, ret_known, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    tb_book_release(&book);
    return code;
}

static void add_shadow(fixture *f, const char *id)
{
    tb_error err = {0};
    bool known = true;
    ok(try_shadow(f, id, "2.00", &known, &err));
    ck_assert(!known);
}

typedef tb_code (*closing)(tb_store *, const char *, int64_t, tb_error *);

static tb_code try_close(fixture *f, closing close, const char *id, tb_error *err)
{
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = close(f->store, id, NOW_US, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    return code;
}

static size_t live(fixture *f)
{
    tb_error err = {0};
    tb_shadow *list;
    size_t n;
    ok(tb_store_shadows(f->store, &list, &n, &err));
    tb_shadows_release(list, n);
    free(list);
    return n;
}

START_TEST(a_shadow_is_kept_once_and_prices_nothing)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    tb_shadow *list;
    tb_book *books;
    size_t n;
    fixture_init(&f);
    add_shadow(&f, "next");
    ok(try_shadow(&f, "next", "2.00", &known, &err));
    ck_assert(known);
    ok(tb_store_shadows(f.store, &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(list[0].book.id, "next");
    tb_shadows_release(list, n);
    free(list);
    ok(tb_store_books(f.store, &books, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(books);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static tb_code list_two(tb_store *store, tb_error *err)
{
    tb_shadow *list;
    size_t n;
    tb_code code = tb_store_shadows(store, &list, &n, err);
    if (code) return code;
    ck_assert_uint_eq(n, 2);
    tb_shadows_release(list, n);
    free(list);
    return TB_OK;
}

START_TEST(a_list_that_is_stopped_keeps_nothing)
{
    fixture f;
    fixture_init(&f);
    add_shadow(&f, "a");
    add_shadow(&f, "b");
    stop_everywhere(&f, list_two);
    fixture_release(&f);
}
END_TEST

START_TEST(an_id_is_one_shadows_or_one_books)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fixture_init(&f);
    add_book(&f, "real", "2026-01-01T00:00:00Z");
    add_shadow(&f, "next");
    ck_assert_int_eq(try_shadow(&f, "next", "3.00", &known, &err), TB_E_BOOK);
    ck_assert_ptr_nonnull(strstr(err.message, "other content"));
    ck_assert_int_eq(try_shadow(&f, "real", "3.00", &known, &err), TB_E_BOOK);
    ck_assert_ptr_nonnull(strstr(err.message, "bills already"));
    ck_assert_int_eq(try_book(&f, "next", "USD", "2026-06-01T00:00:00Z", "2.00", &known, &err),
                     TB_E_BOOK);
    ck_assert_ptr_nonnull(strstr(err.message, "shadow"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM book"), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(a_dropped_shadow_stays_in_the_file_and_frees_its_id)
{
    fixture f;
    tb_error err = {0};
    bool known = true;
    tb_shadow shadow;
    fixture_init(&f);
    add_shadow(&f, "next");
    ok(try_close(&f, tb_store_drop_shadow, "next", &err));
    ck_assert_uint_eq(live(&f), 0);
    ck_assert_int_eq(try_close(&f, tb_store_drop_shadow, "next", &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM shadow_book WHERE state='dropped'"), 1);
    ok(tb_store_shadow(f.store, 1, &shadow, &err));
    ck_assert_str_eq(shadow.book.id, "next");
    tb_shadows_release(&shadow, 1);
    ck_assert_int_eq(tb_store_shadow(f.store, 2, &shadow, &err), TB_E_NOT_FOUND);
    ok(try_shadow(&f, "next", "3.00", &known, &err));
    ck_assert(!known);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(activated_it_is_a_book_and_no_shadow)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_shadow(&f, "next");
    ok(try_close(&f, tb_store_activate_shadow, "next", &err));
    ck_assert_uint_eq(live(&f), 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM book WHERE name='next'"), 1);
    ck_assert_int_eq(try_close(&f, tb_store_activate_shadow, "next", &err), TB_E_NOT_FOUND);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(activating_beside_a_book_of_the_same_moment_is_refused)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_book(&f, "real", "2026-06-01T00:00:00Z");
    add_shadow(&f, "next");
    ck_assert_int_eq(try_close(&f, tb_store_activate_shadow, "next", &err), TB_E_BOOK);
    ck_assert_str_eq(err.field, "effective_from");
    ck_assert_uint_eq(live(&f), 1);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(shadow_books_do_not_change_or_go)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_shadow(&f, "next");
    sql_refused(&f, "UPDATE shadow_book SET document='{}'", "append-only");
    sql_refused(&f, "UPDATE shadow_book SET state='dropped',name='other'", "append-only");
    sql_refused(&f, "DELETE FROM shadow_book", "append-only");
    ok(try_close(&f, tb_store_drop_shadow, "next", &err));
    sql_refused(&f, "UPDATE shadow_book SET state='activated'", "append-only");
    fixture_release(&f);
}
END_TEST

/* --- what it would have billed --- */

static void apply_account(fixture *f)
{
    fixture_apply(f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,"
                  "\"name\":\"z\",\"created\":\"2026-01-01T00:00:00Z\"}]}",
                  NOW_US, NULL);
}

static void add_bill(fixture *f, int64_t month, const char *invoice, uint64_t watermark)
{
    tb_error err = {0};
    tb_shadow_bill bill = {.shadow = 1,
                           .currency = "USD",
                           .account = 1,
                           .month = month,
                           .watermark = watermark,
                           .billed = {100, 2},
                           .would = {125, 2},
                           .unpriced = 3};
    snprintf(bill.invoice, sizeof bill.invoice, "%s", invoice);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_shadow_bill(f->store, &bill, NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

START_TEST(shadow_bills_come_back_by_month)
{
    fixture f;
    tb_error err = {0};
    tb_shadow_bill *list;
    size_t n;
    fixture_init(&f);
    apply_account(&f);
    add_shadow(&f, "next");
    tb_invoice i = finalize(&f, 1, OCTOBER, "1.00");
    add_bill(&f, OCTOBER, i.number, i.watermark);
    add_bill(&f, NOVEMBER, "", i.watermark);
    ok(tb_store_shadow_bills(f.store, INT64_MIN, &list, &n, &err));
    ck_assert_uint_eq(n, 2);
    free(list);
    ok(tb_store_shadow_bills(f.store, OCTOBER, &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(list[0].book, "next");
    ck_assert_str_eq(list[0].invoice, i.number);
    ck_assert_int_eq(tb_decimal_compare(list[0].would, (tb_decimal){125, 2}), 0);
    ck_assert_uint_eq(list[0].unpriced, 3);
    free(list);
    verify_finds(&f, NULL);
    sql_refused(&f, "UPDATE shadow_bill SET would='2'", "append-only");
    sql_refused(&f, "DELETE FROM shadow_bill", "append-only");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_changed_shadows_and_bills)
{
    fixture f;
    fixture_init(&f);
    apply_account(&f);
    add_shadow(&f, "next");
    add_bill(&f, OCTOBER, "", 1);
    edit(f.store->db, "UPDATE shadow_bill SET would='1.24'");
    verify_finds(&f, "The bill of shadow book 1 for account 1, month 681 is not as it was sealed.");
    edit(f.store->db, "UPDATE shadow_bill SET would='1.25',invoice='2026-000009'");
    verify_finds(&f, "which is not account 1's of that month");
    edit(f.store->db, "UPDATE shadow_book SET state='activated',closed_us=5");
    verify_finds(&f, "Shadow book next was activated and is no book.");
    edit(f.store->db, "UPDATE shadow_book SET document=replace(document,'2.00','2.01')");
    verify_finds(&f, "Shadow book next: its text has the SHA-256");
    fixture_release(&f);
}
END_TEST

START_TEST(billed_months_reach_to_the_last_correction)
{
    fixture f;
    tb_error err = {0};
    tb_billed_month *list;
    size_t n;
    fixture_init(&f);
    apply_account(&f);
    tb_invoice october = finalize(&f, 1, OCTOBER - 1, "1.00");
    add_bytes(&f, 101, "DE", at(9, 4, 0), 1000);
    tb_late late = {.account = 1, .month = OCTOBER - 1, .since = october.watermark};
    tb_invoice next = invoice_of(&f, 1, OCTOBER, "1.00");
    bool known;
    next.corrects = &late;
    next.n_corrects = 1;
    ok(try_finalize(&f, &next, &known, &err));
    ok(tb_store_billed_months(f.store, 0, INT64_MIN, INT64_MAX, &list, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(list[0].month, OCTOBER - 1);
    ck_assert_str_eq(list[0].invoice, october.number);
    ck_assert_uint_eq(list[0].watermark, next.watermark);
    ck_assert_str_eq(list[1].currency, "USD");
    free(list);
    ok(tb_store_billed_months(f.store, 2, INT64_MIN, INT64_MAX, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(list);
    ok(try_void(&f, next.number, &err));
    ok(tb_store_billed_months(f.store, 1, OCTOBER - 1, OCTOBER, &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(list[0].watermark, october.watermark);
    free(list);
    tb_invoice_release(&october);
    tb_invoice_release(&next);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("shadows");
    tcase_add_test(t, a_shadow_is_kept_once_and_prices_nothing);
    tcase_add_test(t, a_list_that_is_stopped_keeps_nothing);
    tcase_add_test(t, an_id_is_one_shadows_or_one_books);
    tcase_add_test(t, a_dropped_shadow_stays_in_the_file_and_frees_its_id);
    tcase_add_test(t, activated_it_is_a_book_and_no_shadow);
    tcase_add_test(t, activating_beside_a_book_of_the_same_moment_is_refused);
    tcase_add_test(t, shadow_books_do_not_change_or_go);
    tcase_add_test(t, shadow_bills_come_back_by_month);
    tcase_add_test(t, verify_finds_changed_shadows_and_bills);
    tcase_add_test(t, billed_months_reach_to_the_last_correction);
    Suite *s = suite_create("store_shadows");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
