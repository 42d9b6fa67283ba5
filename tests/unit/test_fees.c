/* Recurring fees, from a catalogue's declarations to the lines of a month's bill (docs/charges.md), by hand. Random histories
 * are the business of tests/oracle/test_fees.py. */
#include "billing_fixture.h"

#include "tollbook/bill.h"

static int64_t moment(const char *text)
{
    int64_t us = 0;
    ck_assert_int_eq(tb_rfc3339_parse(text, strlen(text), &us, NULL), TB_OK);
    return us;
}

static int64_t month_of(const char *text)
{
    int64_t month = 0;
    ck_assert(tb_month_parse(text, strlen(text), &month));
    return month;
}

/* A book of fees. */
static void fee_book(fixture *f, const char *id, const char *effective, const char *fees)
{
    char text[2000];
    snprintf(text, sizeof text, "{\"book\":\"%s\",\"currency\":\"USD\",\"effective_from\":\"%s\",\"minimum_monthly\":\"5\",\"fees\":{%s}}",
             id, effective, fees);
    add_text_book(f, text);
}

#define BOOK_FEES                                                                                                   \
    "\"shield\":{\"name\":\"Shield\",\"amount\":\"9.50\",\"charge\":\"Shield\"},"                                    \
    "\"ip\":{\"name\":\"Anycast IP\",\"amount\":\"3\",\"timing\":\"advance\"},"                                      \
    "\"set\":{\"name\":\"Set\",\"amount\":\"7\",\"prorate\":false},"                                                 \
    "\"seat\":{\"name\":\"Seat\",\"amount\":\"4\",\"timing\":\"advance\",\"prorate\":false},"                        \
    "\"gold\":{\"name\":\"Gold\",\"amount\":\"1200\",\"every\":\"year\",\"timing\":\"advance\"},"                    \
    "\"licence\":{\"name\":\"Licence\",\"amount\":\"366\",\"every\":\"year\"}"

/* Account 1 with these fees, and zone 101 with these; NULL: not declared. */
static void declare(fixture *f, const char *when, const char *account, const char *zone)
{
    char text[2000], zones[500] = "";
    if (zone)
        snprintf(zones, sizeof zones, "{\"id\":101,\"account\":1,\"name\":\"z\",\"created\":\"2027-01-01T00:00:00Z\",\"fees\":[%s]}", zone);
    snprintf(text, sizeof text, "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"fees\":[%s]}],\"zones\":[%s]}", account, zones);
    fixture_apply(f, text, moment(when), NULL);
}

/* The fixture's clock stands in 2026; declarations of these tests are of 2027 and later. */
static void begin(fixture *f)
{
    fixture_init(f);
    fee_book(f, "b", "2027-01-01T00:00:00Z", BOOK_FEES);
    declare(f, "2027-01-01T00:00:00Z", "", NULL);
}

/* A month's lines as "resource fee from..to quantity exact amount\n", at a moment after the month, or within it. */
static const char *lines_at(fixture *f, const char *month, const char *now)
{
    static char out[4000];
    char exact[TB_DECIMAL_TEXT_MAX + 1], amount[TB_DECIMAL_TEXT_MAX + 1], from[21] = "", to[21] = "";
    tb_error err = {0};
    tb_bill bill;
    source in = input_at(f, 1, month_of(month), TB_NOW, moment(now));
    ok(tb_bill_rate(&in.s.input, NULL, &bill, &err));
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < bill.n_lines; i++) {
        const tb_bill_line *l = &bill.lines[i];
        *tb_decimal_put(exact, l->exact) = 0;
        *tb_decimal_put_fixed(amount, l->amount, 2) = 0;
        if (l->item) {
            tb_time_format(l->item->from_us, from);
            tb_time_format(l->item->to_us, to);
            n += (size_t)snprintf(out + n, sizeof out - n, "%s %s %.10s..%.10s %lld %s %s\n", l->resource, l->item->id,
                                  from, to, (long long)l->quantity, exact, amount);
        } else {
            n += (size_t)snprintf(out + n, sizeof out - n, "%s %s\n", tb_line_kind_name(l->kind), amount);
        }
    }
    for (size_t i = 0; i < bill.n_unpriced; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "unpriced %s: %s\n", bill.unpriced[i].resource, bill.unpriced[i].reason);
    /* Amounts only come to the same. */
    tb_bill_rater *rater;
    tb_decimal subtotal;
    bool unpriced;
    ok(tb_bill_rater_new(NULL, &rater, &err));
    ok(tb_bill_subtotal(rater, &in.s.input, &subtotal, &unpriced, &err));
    ck_assert_int_eq(tb_decimal_compare(subtotal, bill.subtotal), 0);
    ck_assert(unpriced == (bill.n_unpriced > 0));
    tb_bill_rater_free(rater);
    tb_bill_release(&bill);
    source_release(&in);
    return out;
}

static const char *lines(fixture *f, const char *month)
{
    return lines_at(f, month, "2040-01-01T00:00:00Z");
}

START_TEST(a_fee_in_arrears_is_billed_for_its_seconds)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "\"shield\"", NULL);
    ck_assert_str_eq(lines(&f, "2027-02"), "");
    /* 15.5 of 31 days */
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 shield 2027-03-16..2027-04-01 1339200 4.75 4.75\n");
    ck_assert_str_eq(lines(&f, "2027-04"), "account:1 shield 2027-04-01..2027-05-01 2592000 9.5 9.50\n");
    declare(&f, "2028-02-01T00:00:01Z", "{\"fee\":\"shield\",\"quantity\":3}", NULL);
    declare(&f, "2028-02-29T00:00:00Z", "", NULL);
    /* One second of one, then three until the 29th: 9.5 x 1 / 2505600 + 28.5 x 2419199 / 2505600 */
    ck_assert_str_eq(lines(&f, "2028-02"),
                     "account:1 shield 2028-02-01..2028-02-29 2419200 27.517233796296296297 27.52\n");
    ck_assert_str_eq(lines(&f, "2028-03"), "");
    fixture_release(&f);
}
END_TEST

START_TEST(other_declarations_do_not_cut_a_fee)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "\"shield\"", NULL);
    declare(&f, "2027-03-20T00:00:00Z", "\"shield\",\"ip\"", NULL);
    declare(&f, "2027-03-25T00:00:00Z", "\"shield\"", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 ip 2027-03-20..2027-03-25 432000 0.483870967741935484 0.48\n"
                                           "account:1 shield 2027-03-16..2027-04-01 1339200 4.75 4.75\n");
    fixture_release(&f);
}
END_TEST

START_TEST(each_book_prices_its_part_of_a_month)
{
    fixture f;
    begin(&f);
    fee_book(&f, "c", "2027-03-11T00:00:00Z", "\"shield\":{\"name\":\"Shield 2\",\"amount\":\"19\"},\"set\":{\"name\":\"Set\",\"amount\":\"8\",\"prorate\":false}");
    declare(&f, "2027-02-10T00:00:00Z", "\"shield\",\"set\"", NULL);
    /* 9.50 x 10 / 31 + 19 x 21 / 31; what is not prorated has the price of the newest book */
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 set 2027-03-01..2027-04-01 2678400 8 8.00\n"
                                           "account:1 shield 2027-03-01..2027-04-01 2678400 15.935483870967741936 15.94\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_fee_in_advance_bills_the_coming_month_and_gives_back_what_has_ended)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "{\"fee\":\"ip\",\"quantity\":2}", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 ip 2027-03-16..2027-04-01 1339200 3 3.00\n"
                                           "account:1 ip 2027-04-01..2027-05-01 2592000 6 6.00\n");
    ck_assert_str_eq(lines(&f, "2027-04"), "account:1 ip 2027-05-01..2027-06-01 2678400 6 6.00\n");
    declare(&f, "2027-05-11T00:00:00Z", "{\"fee\":\"ip\",\"quantity\":5}", NULL);
    declare(&f, "2027-05-21T00:00:00Z", "\"ip\"", NULL);
    /* three more for 21 days, four less for 11 days */
    ck_assert_str_eq(lines(&f, "2027-05"), "account:1 ip 2027-05-11..2027-06-01 1814400 6.096774193548387097 6.10\n"
                                           "account:1 ip 2027-05-21..2027-06-01 -950400 -4.258064516129032258 -4.26\n"
                                           "account:1 ip 2027-06-01..2027-07-01 2592000 3 3.00\n");
    declare(&f, "2027-06-01T00:00:00Z", "", NULL); /* the whole month is given back */
    ck_assert_str_eq(lines(&f, "2027-06"), "account:1 ip 2027-06-01..2027-07-01 -2592000 -3 -3.00\n");
    ck_assert_str_eq(lines(&f, "2027-07"), "");
    fixture_release(&f);
}
END_TEST

START_TEST(what_was_billed_in_advance_keeps_its_price)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-02-10T00:00:00Z", "\"ip\"", NULL);
    fee_book(&f, "c", "2027-04-01T00:00:00Z", "\"ip\":{\"name\":\"IP\",\"amount\":\"30\",\"timing\":\"advance\"}");
    declare(&f, "2027-04-16T00:00:00Z", "", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 ip 2027-04-01..2027-05-01 2592000 3 3.00\n");
    ck_assert_str_eq(lines(&f, "2027-04"), "account:1 ip 2027-04-16..2027-05-01 -1296000 -1.5 -1.50\n");
    fixture_release(&f);
}
END_TEST

START_TEST(without_proration_a_month_is_whole_and_nothing_is_given_back)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-30T00:00:00Z", "\"set\",{\"fee\":\"seat\",\"quantity\":2}", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 seat 2027-03-01..2027-04-01 2678400 8 8.00\n"
                                           "account:1 seat 2027-04-01..2027-05-01 2592000 8 8.00\n"
                                           "account:1 set 2027-03-01..2027-04-01 2678400 7 7.00\n");
    declare(&f, "2027-04-10T00:00:00Z", "", NULL);
    declare(&f, "2027-04-20T00:00:00Z", "{\"fee\":\"seat\",\"quantity\":3}", NULL); /* one more than is billed */
    ck_assert_str_eq(lines(&f, "2027-04"), "account:1 seat 2027-04-01..2027-05-01 2592000 4 4.00\n"
                                           "account:1 seat 2027-05-01..2027-06-01 2678400 12 12.00\n"
                                           "account:1 set 2027-04-01..2027-05-01 2592000 7 7.00\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_year_in_advance_is_billed_when_it_begins)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "\"gold\"", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "account:1 gold 2027-03-16..2028-03-16 31622400 1200 1200.00\n");
    ck_assert_str_eq(lines(&f, "2027-04"), "");
    ck_assert_str_eq(lines(&f, "2028-03"), "account:1 gold 2028-03-16..2029-03-16 31536000 1200 1200.00\n");
    declare(&f, "2028-08-15T00:00:00Z", "{\"fee\":\"gold\",\"quantity\":2}", NULL);
    declare(&f, "2028-08-25T00:00:00Z", "", NULL);
    /* 213 days of the year are left on 15 August, 203 on 25 August */
    ck_assert_str_eq(lines(&f, "2028-08"), "account:1 gold 2028-08-15..2029-03-16 18403200 700.273972602739726027 700.27\n"
                                           "account:1 gold 2028-08-25..2029-03-16 -17539200 -1334.794520547945205479 -1334.79\n");
    ck_assert_str_eq(lines(&f, "2029-03"), "");
    fixture_release(&f);
}
END_TEST

START_TEST(a_year_in_arrears_is_billed_when_it_or_the_fee_ends)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-01T00:00:00Z", "\"licence\"", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"), "");
    /* it ends with the last second of 29 February 2028 */
    ck_assert_str_eq(lines(&f, "2028-02"), "account:1 licence 2027-03-01..2028-03-01 31622400 366 366.00\n");
    ck_assert_str_eq(lines(&f, "2028-03"), "");
    declare(&f, "2028-07-04T00:00:00Z", "", NULL); /* after 125 days */
    ck_assert_str_eq(lines(&f, "2028-07"), "account:1 licence 2028-03-01..2028-07-04 10800000 125.342465753424657534 125.34\n");
    ck_assert_str_eq(lines(&f, "2029-02"), "");
    fixture_release(&f);
}
END_TEST

START_TEST(a_year_from_29_february_ends_on_28_february_in_other_years)
{
    fixture f;
    begin(&f);
    declare(&f, "2028-02-29T08:00:00Z", "\"gold\"", NULL);
    ck_assert_str_eq(lines(&f, "2028-02"), "account:1 gold 2028-02-29..2029-02-28 31536000 1200 1200.00\n");
    ck_assert_str_eq(lines(&f, "2029-02"), "account:1 gold 2029-02-28..2030-02-28 31536000 1200 1200.00\n");
    ck_assert_str_eq(lines(&f, "2031-02"), "account:1 gold 2031-02-28..2032-02-29 31622400 1200 1200.00\n");
    ck_assert_str_eq(lines(&f, "2032-02"), "account:1 gold 2032-02-29..2033-02-28 31536000 1200 1200.00\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_fee_ends_and_begins_with_its_owner)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-11T00:00:00Z", "", "\"shield\",\"ip\"");
    /* Arrears from `created` on; in advance from the month on in which the zone was declared. */
    ck_assert_str_eq(lines(&f, "2027-02"), "zone:101 shield 2027-02-01..2027-03-01 2419200 9.5 9.50\n");
    ck_assert_str_eq(lines(&f, "2027-03"), "zone:101 ip 2027-03-01..2027-04-01 2678400 3 3.00\n"
                                           "zone:101 ip 2027-04-01..2027-05-01 2592000 3 3.00\n"
                                           "zone:101 shield 2027-03-01..2027-04-01 2678400 9.5 9.50\n");
    declare(&f, "2027-04-11T00:00:00Z", "", NULL); /* the zone is deleted; the credit does not raise the minimum */
    ck_assert_str_eq(lines(&f, "2027-04"), "zone:101 ip 2027-04-11..2027-05-01 -1728000 -2 -2.00\n"
                                           "zone:101 shield 2027-04-01..2027-04-11 864000 3.166666666666666667 3.17\n"
                                           "minimum 1.83\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_running_month_has_the_fees_so_far)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-02-16T00:00:00Z", "\"shield\",\"ip\",\"gold\"", NULL);
    ck_assert_str_eq(lines_at(&f, "2027-02", "2027-02-23T00:00:00Z"),
                     "account:1 gold 2027-02-16..2028-02-16 31536000 1200 1200.00\n"
                     "account:1 ip 2027-02-16..2027-02-23 604800 0.75 0.75\n"
                     "account:1 shield 2027-02-16..2027-02-23 604800 2.375 2.38\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_fee_without_a_price_is_unpriced)
{
    fixture f;
    begin(&f);
    declare(&f, "2027-03-30T00:00:00Z", "\"none\"", NULL);
    ck_assert_str_eq(lines(&f, "2027-03"),
                     "unpriced account:1: Book b has no fees.none: add a book that supersedes it and has it.\n");
    fixture_release(&f);
}
END_TEST

START_TEST(a_final_month_is_rated_as_it_was_known)
{
    fixture f;
    tb_error err = {0};
    uint64_t version = 0;
    tb_bill before, after;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "\"ip\",\"gold\",\"shield\"", NULL);
    ok(tb_store_version(f.store, &version, &err));
    source then = input_at(&f, 1, month_of("2027-04"), version, moment("2027-05-02T00:00:00Z"));
    declare(&f, "2027-05-03T00:00:00Z", "", NULL);
    source now = input_at(&f, 1, month_of("2027-04"), version, moment("2027-05-02T00:00:00Z"));
    ok(tb_bill_rate(&then.s.input, NULL, &before, &err));
    ok(tb_bill_rate(&now.s.input, NULL, &after, &err));
    ck_assert_uint_eq(before.n_lines, 2);
    ck_assert_uint_eq(after.n_lines, 2);
    ck_assert_int_eq(tb_decimal_compare(before.subtotal, after.subtotal), 0);
    tb_bill_release(&before);
    tb_bill_release(&after);
    source_release(&then);
    source_release(&now);
    /* As it is known now: what ended in May changes nothing of April. */
    ck_assert_str_eq(lines(&f, "2027-04"), "account:1 ip 2027-05-01..2027-06-01 2678400 3 3.00\n"
                                           "account:1 shield 2027-04-01..2027-05-01 2592000 9.5 9.50\n");
    fixture_release(&f);
}
END_TEST

START_TEST(accounts_with_fees_alone_are_billed)
{
    fixture f;
    tb_error err = {0};
    int64_t *accounts = NULL;
    size_t n = 0;
    begin(&f);
    declare(&f, "2027-03-16T12:00:00Z", "\"ip\"", NULL);
    declare(&f, "2027-05-01T00:00:00Z", "", NULL);
    const struct {
        const char *month;
        size_t n;
    } wanted[] = {{"2027-02", 0}, {"2027-03", 1}, {"2027-04", 1}, {"2027-05", 1}, {"2027-06", 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ok(tb_store_billed_accounts(f.store, month_of(wanted[i].month), &accounts, &n, &err));
        free(accounts);
        ck_assert_msg(n == wanted[i].n, "%s: %zu", wanted[i].month, n);
    }
    fixture_release(&f);
}
END_TEST

/* --- the catalogue --- */

START_TEST(a_catalogue_refuses_what_is_no_fee)
{
    static const struct {
        const char *fees, *field, *message;
    } wrong[] = {
        {"\"ip\"", "accounts[0].fees", "Must be a list of fees."},
        {"[7]", "accounts[0].fees[0]", "Must be a fee's id: 1 to 64 letters, digits, '.', '_' and '-'."},
        {"[\"a b\"]", "accounts[0].fees[0]", "Must be a fee's id: 1 to 64 letters, digits, '.', '_' and '-'."},
        {"[\"ip\",\"ip\"]", "accounts[0].fees[1]", "Must be another fee than those before it; give a quantity for several."},
        {"[{\"quantity\":1}]", "accounts[0].fees[0].fee", "Must be given: a fee's id in the price book."},
        {"[{\"fee\":\"ip\",\"quantity\":0}]", "accounts[0].fees[0].quantity", "Must be a whole number from 1 to 1000000."},
        {"[{\"fee\":\"ip\",\"quantity\":1000001}]", "accounts[0].fees[0].quantity", "Must be a whole number from 1 to 1000000."},
        {"[{\"fee\":\"ip\",\"quantity\":1.5}]", "accounts[0].fees[0].quantity", "Must be a whole number from 1 to 1000000."},
        {"[{\"fee\":\"ip\",\"times\":1}]", "accounts[0].fees[0].times", "Must be fee or quantity."},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[300];
        tb_error err = {0};
        tb_catalog catalog;
        snprintf(text, sizeof text, "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"fees\":%s}]}", wrong[i].fees);
        ck_assert_int_eq(tb_catalog_parse(text, strlen(text), &catalog, &err), TB_E_CATALOG);
        ck_assert_str_eq(err.field, wrong[i].field);
        ck_assert_str_eq(err.message, wrong[i].message);
    }
    static const char most[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"fees\":[{\"fee\":\"ip\",\"quantity\":1000000},\"x\"]}]}";
    tb_error err = {0};
    tb_catalog catalog;
    ok(tb_catalog_parse(most, strlen(most), &catalog, &err));
    tb_catalog_release(&catalog);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fees");
    TCase *t = tcase_create("fees");
    tcase_add_test(t, a_fee_in_arrears_is_billed_for_its_seconds);
    tcase_add_test(t, other_declarations_do_not_cut_a_fee);
    tcase_add_test(t, each_book_prices_its_part_of_a_month);
    tcase_add_test(t, a_fee_in_advance_bills_the_coming_month_and_gives_back_what_has_ended);
    tcase_add_test(t, what_was_billed_in_advance_keeps_its_price);
    tcase_add_test(t, without_proration_a_month_is_whole_and_nothing_is_given_back);
    tcase_add_test(t, a_year_in_advance_is_billed_when_it_begins);
    tcase_add_test(t, a_year_in_arrears_is_billed_when_it_or_the_fee_ends);
    tcase_add_test(t, a_year_from_29_february_ends_on_28_february_in_other_years);
    tcase_add_test(t, a_fee_ends_and_begins_with_its_owner);
    tcase_add_test(t, a_running_month_has_the_fees_so_far);
    tcase_add_test(t, a_fee_without_a_price_is_unpriced);
    tcase_add_test(t, a_final_month_is_rated_as_it_was_known);
    tcase_add_test(t, accounts_with_fees_alone_are_billed);
    tcase_add_test(t, a_catalogue_refuses_what_is_no_fee);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
