/* Price books in the store: append-only, one at a time, found by the time they touch. */
#include "billing_fixture.h"

START_TEST(a_book_is_stored_once_and_known_again)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    uint64_t before, after;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    ok(tb_store_version(f.store, &before, &err));
    ok(try_book(&f, "a", "USD", "2026-01-01T00:00:00Z", "1.00", &known, &err));
    ok(tb_store_version(f.store, &after, &err));
    ck_assert(known);
    ck_assert_uint_eq(before, after);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(the_same_id_with_other_content_is_refused)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    ck_assert_int_eq(try_book(&f, "a", "USD", "2026-01-01T00:00:00Z", "2.00", &known, &err),
                     TB_E_BOOK);
    ck_assert_str_eq(err.field, "book");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM book"), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(two_books_of_a_currency_never_begin_at_once)
{
    fixture f;
    tb_error err = {0};
    bool known = false;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    ck_assert_int_eq(try_book(&f, "b", "USD", "2026-01-01T00:00:00Z", "2.00", &known, &err),
                     TB_E_BOOK);
    ck_assert_str_eq(err.field, "effective_from");
    ck_assert_ptr_nonnull(strstr(err.message, "Book a of USD"));
    ok(try_book(&f, "b", "EUR", "2026-01-01T00:00:00Z", "2.00", &known, &err));
    ok(try_book(&f, "c", "USD", "2026-01-01T01:00:00Z", "2.00", &known, &err));
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static tb_code try_fee(fixture *f, const char *id, const char *effective, const char *terms, tb_error *ret_err)
{
    char text[400];
    bool known = false;
    snprintf(text, sizeof text,
             "{\"book\":\"%s\",\"currency\":\"USD\",\"effective_from\":\"%s\",\"fees\":{\"ip\":"
             "{\"name\":\"IP\",\"amount\":\"3\"%s}}}", id, effective, terms);
    return try_text_book(f, text, &known, ret_err);
}

START_TEST(a_fee_keeps_its_period_and_timing)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    ok(try_fee(&f, "a", "2026-03-01T00:00:00Z", ",\"timing\":\"advance\"", &err));
    add_book(&f, "b", "2026-04-01T00:00:00Z"); /* has no fee */
    ck_assert_int_eq(try_fee(&f, "c", "2026-05-01T00:00:00Z", "", &err), TB_E_BOOK);
    ck_assert_str_eq(err.field, "fees.ip.timing");
    ck_assert_str_eq(err.message, "Fee ip is by the month in advance in book a, and stays so: give the other one another id.");
    ck_assert_int_eq(try_fee(&f, "c", "2026-02-01T00:00:00Z", ",\"every\":\"year\",\"timing\":\"advance\"", &err), TB_E_BOOK);
    ck_assert_str_eq(err.field, "fees.ip.every");
    ok(try_fee(&f, "c", "2026-05-01T00:00:00Z", ",\"timing\":\"advance\"", &err));
    fixture_release(&f);
}
END_TEST

/* --- books for contracts --- */

static void add_for_contract(fixture *f, const char *id, const char *effective)
{
    char text[200];
    snprintf(text, sizeof text,
             "{\"book\":\"%s\",\"currency\":\"USD\",\"effective_from\":\"%s\",\"sc\\u006fpe\":\"contract\"}", id, effective);
    add_text_book(f, text);
}

START_TEST(books_for_contracts_stand_beside_the_currency_s)
{
    fixture f;
    tb_error err = {0};
    tb_touched *hits = NULL;
    size_t n = 0;
    fixture_init(&f);
    add_for_contract(&f, "one", "2026-01-01T00:00:00Z");
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    add_for_contract(&f, "two", "2026-01-01T00:00:00Z");
    add_for_contract(&f, "three", "2026-02-01T00:00:00Z");
    add_book(&f, "b", "2026-03-01T00:00:00Z");
    ok(tb_store_touched(f.store, NOW_US, NOW_US + TB_US_PER_HOUR, &hits, &n, &err));
    ck_assert_uint_eq(n, 4); /* a has ended, those for contracts do not */
    for (size_t i = 0; i < n; i++)
        ck_assert(hits[i].contract == (strcmp(hits[i].name, "b") != 0));
    free(hits);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_book_for_contracts_takes_no_other_s_place)
{
    static const char text[] = "{\"book\":\"x\",\"currency\":\"USD\",\"effective_from\":"
                               "\"2026-01-01T00:00:00Z\",\"scope\":\"contract\",\"supersedes\":\"a\"}";
    tb_error err = {0};
    tb_book book;
    ck_assert_int_eq(tb_book_parse(text, sizeof text - 1, NULL, &book, &err), TB_E_BOOK);
    ck_assert_str_eq(err.field, "supersedes");
}
END_TEST

/* --- a book in the place of another --- */

static tb_code supersede(fixture *f, const char *id, const char *named, const char *effective,
                         tb_error *why)
{
    char text[512], whole[700];
    tb_error err = {0};
    tb_book book;
    bool known;
    book_text(text, id, "USD", effective, "7.00");
    int n = named ? snprintf(whole, sizeof whole, "{\"supersedes\":\"%s\",%s", named, text + 1)
                  : snprintf(whole, sizeof whole, "%s", text);
    ok(tb_book_parse(whole, (size_t)n, NULL, &book, &err));
    ok(tb_store_begin(f->store, &err));
    tb_code code = tb_store_add_book(f->store, &book, NOW_US, &known, why);
    if (code)
        tb_store_rollback(f->store);
    else
        ok(tb_store_commit(f->store, &err));
    tb_book_release(&book);
    return code;
}

#define JANUARY "2026-01-01T00:00:00Z"

START_TEST(a_book_takes_the_place_of_the_one_it_names)
{
    static const struct {
        const char *id, *named, *effective, *field, *says;
    } refused[] = {
        {"c", NULL, JANUARY, "effective_from", "say \"supersedes\": \"b\""},
        {"c", "a", JANUARY, "supersedes", "It is book b of USD that holds"},
        {"c", "x", JANUARY, "supersedes", "It is book b of USD that holds"},
        {"c", "b", "2026-02-01T00:00:00Z", "supersedes", "There is no book b of USD"},
        {"c", "c", "2026-02-01T00:00:00Z", "supersedes", "There is no book c of USD"},
    };
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_book(&f, "a", JANUARY);
    ok(supersede(&f, "b", "a", JANUARY, &err));
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++) {
        ck_assert_int_eq(supersede(&f, refused[n].id, refused[n].named, refused[n].effective, &err),
                         TB_E_BOOK);
        ck_assert_str_eq(err.field, refused[n].field);
        ck_assert_msg(strstr(err.message, refused[n].says) != NULL, "%s", err.message);
    }
    ok(supersede(&f, "c", "b", JANUARY, &err));
    verify_finds(&f, NULL);
    sql_refused(&f,
                "INSERT INTO book(" TB__C_book("") ")SELECT 9,'d',currency,effective_us,'0000000000000000000000000"
                "000000000000000000000000000000000000000',1,1,'a','' FROM book WHERE id=1",
                "UNIQUE constraint failed");
    fixture_release(&f);
}
END_TEST

START_TEST(it_holds_in_months_that_are_not_final)
{
    fixture f;
    tb_error err = {0};
    tb_book *books;
    size_t n;
    fixture_init(&f);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", us_at(9, 1, 0), NULL);
    add_book(&f, "a", JANUARY);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    ok(supersede(&f, "b", "a", JANUARY, &err));
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_parts, 1);
    ck_assert_str_eq(in.s.input.parts[0].book->id, "a");
    source_release(&in);
    in = input_of(&f, 1, NOVEMBER);
    ck_assert_uint_eq(in.s.input.n_parts, 1);
    ck_assert_str_eq(in.s.input.parts[0].book->id, "b");
    source_release(&in);
    ok(tb_store_month_books(f.store, 1, OCTOBER, &books, &n, &err));
    ck_assert_uint_eq(n, 1);
    tb_books_release(books, n);
    free(books);
    ok(tb_store_month_books(f.store, 1, NOVEMBER, &books, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(books[1].supersedes, "a");
    tb_books_release(books, n);
    free(books);
    ok(try_void(&f, i.number, &err));
    in = input_of(&f, 1, OCTOBER);
    ck_assert_str_eq(in.s.input.parts[0].book->id, "b");
    source_release(&in);
    in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_str_eq(in.s.input.parts[0].book->id, "a");
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_a_changed_chain_of_books)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_book(&f, "a", JANUARY);
    add_book(&f, "z", "2026-02-01T00:00:00Z");
    ok(supersede(&f, "b", "a", JANUARY, &err));
    sql(&f, "DROP TRIGGER book_no_update;UPDATE book SET supersedes='z' WHERE name='b'");
    verify_finds(&f, "Book b supersedes z, which is no earlier book of its currency and moment.");
    verify_finds(&f, "Book b: its text says otherwise of the book that it supersedes.");
    fixture_release(&f);
}
END_TEST

START_TEST(books_are_listed_by_currency_and_beginning)
{
    fixture f;
    tb_error err = {0};
    tb_book *books;
    size_t n;
    bool known;
    fixture_init(&f);
    add_book(&f, "late", "2026-07-01T00:00:00Z");
    add_book(&f, "early", "2025-07-01T00:00:00Z");
    ok(try_book(&f, "euro", "EUR", "2026-01-01T00:00:00Z", "2.00", &known, &err));
    ok(tb_store_books(f.store, &books, &n, &err));
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(books[0].id, "euro");
    ck_assert_str_eq(books[1].id, "early");
    ck_assert_str_eq(books[2].id, "late");
    tb_books_release(books, n);
    free(books);
    fixture_release(&f);
}
END_TEST

/* More books than a store remembers, read twice, one of them changed in between under its eyes. */
START_TEST(a_book_that_was_read_before_is_read_as_it_stands)
{
    enum { BOOKS = 10 };
    fixture f;
    tb_error err = {0};
    tb_book *before, *after;
    size_t n;
    char name[8], from[32];
    fixture_init(&f);
    for (int i = 0; i < BOOKS; i++) {
        snprintf(name, sizeof name, "b%02d", i);
        snprintf(from, sizeof from, "2026-%02d-01T00:00:00Z", i + 1);
        add_book(&f, name, from);
    }
    ok(tb_store_books(f.store, &before, &n, &err));
    ck_assert_uint_eq(n, BOOKS);
    sql(&f, "DROP TRIGGER book_no_update;"
            "UPDATE book SET document=replace(document,'0.01','0.02') WHERE name='b03'");
    ok(tb_store_books(f.store, &after, &n, &err));
    ck_assert_uint_eq(n, BOOKS);
    for (int i = 0; i < BOOKS; i++) {
        ck_assert_str_eq(before[i].id, after[i].id);
        ck_assert_ptr_ne(before[i].canonical, after[i].canonical);
        ck_assert_int_eq(strcmp(before[i].canonical, after[i].canonical) == 0, i != 3);
        ck_assert_int_eq(strcmp(before[i].sha256, after[i].sha256) == 0, i != 3);
    }
    tb_books_release(before, n);
    free(before);
    ck_assert_str_eq(after[0].id, "b00");
    tb_books_release(after, n);
    free(after);
    fixture_release(&f);
}
END_TEST

static tb_code list_books(tb_store *store, tb_error *err)
{
    tb_book *books;
    size_t n;
    tb_code code = tb_store_books(store, &books, &n, err);
    if (code) return code;
    ck_assert_uint_eq(n, 2);
    tb_books_release(books, n);
    free(books);
    return TB_OK;
}

START_TEST(a_list_that_is_stopped_keeps_nothing)
{
    fixture f;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    add_book(&f, "b", "2026-02-01T00:00:00Z");
    stop_everywhere(&f, list_books);
    fixture_release(&f);
}
END_TEST

START_TEST(books_do_not_change_or_go)
{
    fixture f;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    sql_refused(&f, "UPDATE book SET currency='EUR'", "append-only");
    sql_refused(&f, "DELETE FROM book", "append-only");
    fixture_release(&f);
}
END_TEST

/* --- what a span touches --- */

static size_t touched(fixture *f, int64_t from_us, int64_t to_us, char names[200])
{
    tb_error err = {0};
    tb_touched *list;
    size_t n;
    ok(tb_store_touched(f->store, from_us, to_us, &list, &n, &err));
    names[0] = 0;
    for (size_t i = 0; i < n; i++)
        snprintf(names + strlen(names), 200 - strlen(names), "%s ", list[i].name);
    free(list);
    return n;
}

START_TEST(a_book_is_in_force_until_the_next_one_begins)
{
    fixture f;
    char names[200];
    fixture_init(&f);
    add_book(&f, "b", "2026-03-10T07:00:00Z");
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    int64_t cut = us_at(3, 10, 7);
    touched(&f, cut - 1, cut, names);
    ck_assert_str_eq(names, "a ");
    touched(&f, cut, cut + 1, names);
    ck_assert_str_eq(names, "b ");
    touched(&f, cut - 1, cut + 1, names);
    ck_assert_str_eq(names, "a b ");
    /* the hour is the index's grain, the exact moment decides */
    touched(&f, us_at(1, 1, 0) - 1, us_at(1, 1, 0), names);
    ck_assert_str_eq(names, "");
    touched(&f, INT64_MIN, INT64_MAX, names);
    ck_assert_str_eq(names, "a b ");
    fixture_release(&f);
}
END_TEST

START_TEST(a_span_past_all_hours_is_refused_before_it_wraps)
{
    fixture f;
    tb_error err = {0};
    tb_touched *list;
    size_t n;
    fixture_init(&f);
    int64_t far = (INT64_C(1) << 31) * TB_US_PER_HOUR;
    ck_assert_int_eq(tb_store_touched(f.store, far, far + 1, &list, &n, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_store_touched(f.store, -far - 1, 0, &list, &n, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_store_touched(f.store, 5, 5, &list, &n, &err), TB_E_VALIDATION);
    ok(tb_store_touched(f.store, far - 1, far, &list, &n, &err));
    free(list);
    fixture_release(&f);
}
END_TEST

START_TEST(a_lost_index_is_found)
{
    fixture f;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    add_book(&f, "b", "2026-03-10T07:00:00Z");
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", NOW_US, NULL);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    tb_invoice_release(&i);
    verify_finds(&f, NULL);
    sql(&f, "DELETE FROM book_span WHERE id=1");
    verify_finds(&f, "The index of books lacks a.");
    sql(&f, "INSERT INTO book_span VALUES(1,5,6)");
    verify_finds(&f, "The index of books has a from hour 5 to 6");
    sql(&f, "INSERT INTO book_span VALUES(9,5,6)");
    verify_finds(&f, "holds row 9 of table book");
    sql(&f, "DELETE FROM invoice_span");
    verify_finds(&f, "The index of invoices lacks 2026-000001.");
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_a_changed_price)
{
    fixture f;
    fixture_init(&f);
    add_book(&f, "a", "2026-01-01T00:00:00Z");
    sql(&f, "DROP TRIGGER book_no_update;"
            "UPDATE book SET document=replace(document,'0.01','0.02')");
    verify_finds(&f, "Book a: its text has the SHA-256");
    sql(&f, "UPDATE book SET document=replace(document,'0.02','0.01'),"
            "effective_us=effective_us+3600000000");
    verify_finds(&f, "Book a: its text says otherwise of its id, currency or beginning.");
    sql(&f, "UPDATE book SET document='{'");
    verify_finds(&f, "Book a cannot be read");
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("books");
    tcase_add_test(t, a_book_is_stored_once_and_known_again);
    tcase_add_test(t, the_same_id_with_other_content_is_refused);
    tcase_add_test(t, two_books_of_a_currency_never_begin_at_once);
    tcase_add_test(t, a_fee_keeps_its_period_and_timing);
    tcase_add_test(t, books_for_contracts_stand_beside_the_currency_s);
    tcase_add_test(t, a_book_for_contracts_takes_no_other_s_place);
    tcase_add_test(t, a_book_takes_the_place_of_the_one_it_names);
    tcase_add_test(t, it_holds_in_months_that_are_not_final);
    tcase_add_test(t, verify_finds_a_changed_chain_of_books);
    tcase_add_test(t, books_are_listed_by_currency_and_beginning);
    tcase_add_test(t, a_book_that_was_read_before_is_read_as_it_stands);
    tcase_add_test(t, a_list_that_is_stopped_keeps_nothing);
    tcase_add_test(t, books_do_not_change_or_go);
    tcase_add_test(t, a_book_is_in_force_until_the_next_one_begins);
    tcase_add_test(t, a_span_past_all_hours_is_refused_before_it_wraps);
    tcase_add_test(t, a_lost_index_is_found);
    tcase_add_test(t, verify_finds_a_changed_price);
    Suite *s = suite_create("store_books");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
