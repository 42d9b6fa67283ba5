/* correction.h: what late usage changes (billing.md 5). */
#include "invoice_fixture.h"
#include "tollbook/invoice.h"

static tb_corrections correct(const tb_bill *before, const tb_bill *after)
{
    tb_corrections c;
    tb_error err = {0};
    tb_late_month late = {FIXTURE_MONTH, "2026-000007", 123, before, after};
    ck_assert_msg(tb_correct(&late, NULL, &c, &err) == TB_OK, "%s", err.message);
    return c;
}

static void assert_sums_to(const tb_corrections *c, const tb_bill *before, const tb_bill *after)
{
    tb_decimal was = TB_DECIMAL_ZERO, now = TB_DECIMAL_ZERO, difference;
    for (size_t i = 0; i < before->n_lines; i++)
        ck_assert_int_eq(tb_decimal_add(was, before->lines[i].amount, &was, NULL), TB_OK);
    for (size_t i = 0; i < after->n_lines; i++)
        ck_assert_int_eq(tb_decimal_add(now, after->lines[i].amount, &now, NULL), TB_OK);
    ck_assert_int_eq(tb_decimal_sub(now, was, &difference, NULL), TB_OK);
    ck_assert_int_eq(tb_decimal_compare(difference, c->amount), 0);
    for (size_t i = 0; i < c->n; i++) {
        tb_decimal sum = TB_DECIMAL_ZERO;
        const tb_bill_line *line = &c->lines[i];
        for (size_t k = 0; k < line->n_tiers; k++)
            ck_assert_int_eq(tb_decimal_add(sum, line->tiers[k].amount, &sum, NULL), TB_OK);
        if (line->n_tiers) ck_assert_int_eq(tb_decimal_compare(sum, line->exact), 0);
        ck_assert_int_eq(line->kind, TB_LINE_CORRECTION);
        ck_assert_uint_eq(line->number, i + 1);
        ck_assert_int_eq(line->period_month, FIXTURE_MONTH);
        ck_assert_str_eq(c->what[i].invoice, "2026-000007");
        ck_assert_uint_eq(c->what[i].since, 123);
    }
}

START_TEST(nothing_late_gives_nothing)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 0);
    ck_assert_int_eq(tb_decimal_sign(c.amount), 0);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(more_at_the_same_price_is_one_line_of_what_was_added)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    after.lines[0].quantity = 1000123456;
    after.lines[0].exact = dec("0.01000123456");
    after.lines[0].amount = dec("0.01");
    after.premium[0] = make_tier(0, 1000123456, "0.00000000001", "0.01", "0.01000123456");
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_int_eq((int64_t)c.lines[0].quantity, 1000000000);
    ck_assert_int_eq(tb_decimal_compare(c.lines[0].exact, dec("0.01")), 0);
    ck_assert_uint_eq(c.lines[0].n_tiers, 1);
    ck_assert_int_eq((int64_t)c.lines[0].tiers[0].from, 123456);
    ck_assert_int_eq(c.what[0].kind, TB_LINE_BANDWIDTH);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(growth_into_the_next_tier_names_the_new_stretch_alone)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    after.lines[1].quantity = 500000000000010;
    after.volume[1] =
        make_tier(500000000000000, 500000000000010, "0.000000000004", "0.004", "0.00000000004");
    after.lines[1].exact = dec("2500.00000000004");
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_uint_eq(c.lines[0].n_tiers, 1);
    ck_assert_int_eq((int64_t)c.lines[0].tiers[0].units, 7);
    ck_assert_uint_eq(c.lines[0].n_shares, 0);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(another_unit_price_is_a_reversal_and_a_new_line)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    after.lines[4].quantity = 60000000;
    after.lines[4].exact = dec("4");
    after.lines[4].amount = dec("4.00");
    after.requests[0] = make_tier(50000000, 60000000, "0.0000004", "0.40", "4");
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 2);
    ck_assert_int_eq((int64_t)c.lines[0].quantity, -51500000);
    ck_assert_int_eq(tb_decimal_compare(c.lines[0].amount, dec("-0.98")), 0);
    ck_assert_int_eq((int64_t)c.lines[1].quantity, 60000000);
    ck_assert_int_eq(tb_decimal_compare(c.lines[1].amount, dec("4")), 0);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(lines_that_come_or_go_are_whole)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    strcpy(after.lines[0].region, "NA"); /* the same bytes, elsewhere */
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 2);
    ck_assert_str_eq(c.lines[0].region, "NA");
    ck_assert_str_eq(c.lines[1].region, "EU");
    ck_assert_int_eq((int64_t)c.lines[1].quantity, -123456);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
    after.bill.n_lines = 5; /* the minimum went */
    c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 3);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

/* A zone at an absurd price, most of whose bytes turned out to be another's; a fine price beside. */
START_TEST(a_difference_of_too_many_digits_is_a_reversal_and_a_new_line)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    tb_bill_tier finer[2] = {
        make_tier(0, 1000, "0.5", "0.5", "500"),
        make_tier(1000, 1001, "0.000000000000000000000001", "0.000000000000001",
                  "0.000000000000000000000001")};
    before.premium[0] = make_tier(0, 1000, "0.5", "0.5", "700000000000000");
    before.lines[0].exact = dec("700000000000000");
    before.lines[0].amount = dec("700000000000000.00");
    after.lines[0].quantity = 1001;
    after.lines[0].tiers = finer;
    after.lines[0].n_tiers = 2;
    after.lines[0].exact = dec("500.000000000000000000000001");
    after.lines[0].amount = dec("500.00");
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 2);
    ck_assert_int_eq(tb_decimal_compare(c.lines[0].exact, dec("-700000000000000")), 0);
    ck_assert_int_eq(tb_decimal_compare(c.lines[1].exact, after.lines[0].exact), 0);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(the_minimum_shrinks_by_what_the_lines_grow)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    tb_bill_tier was[2] = {make_tier(0, 2678400, "1", "1", "1"),
                           make_tier(0, 0, "0", "0", "-0.25")};
    tb_bill_tier is[2] = {make_tier(0, 2678400, "1", "1", "1"), make_tier(0, 0, "0", "0", "-0.75")};
    before.lines[5].exact = before.lines[5].amount = dec("0.75");
    after.lines[5].exact = after.lines[5].amount = dec("0.25");
    before.lines[5].tiers = was;
    after.lines[5].tiers = is;
    before.lines[5].n_tiers = after.lines[5].n_tiers = 2;
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_int_eq(tb_decimal_compare(c.lines[0].amount, dec("-0.5")), 0);
    ck_assert_uint_eq(c.lines[0].n_tiers, 4);
    assert_sums_to(&c, &before.bill, &after.bill);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(a_credit_takes_off_at_most_what_is_left)
{
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    after.bill.n_lines = 0;
    tb_corrections c = correct(&before.bill, &after.bill);
    ck_assert_uint_eq(c.n, 6);
    ck_assert_int_eq(tb_decimal_compare(c.amount, dec("-2519.98")), 0);
    ck_assert_int_eq(tb_corrections_limit(&c, 1, dec("2519.98"), NULL), TB_OK);
    ck_assert_uint_eq(c.n, 6);
    ck_assert_int_eq(tb_corrections_limit(&c, 1, dec("2519.97"), NULL), TB_OK);
    ck_assert_uint_eq(c.n, 7);
    ck_assert_int_eq(tb_decimal_compare(c.amount, dec("-2519.97")), 0);
    ck_assert_int_eq(tb_decimal_compare(c.lines[6].amount, dec("0.01")), 0);
    ck_assert_int_eq(tb_decimal_compare(c.lines[6].exact, dec("0.01")), 0);
    ck_assert_str_eq(c.lines[6].resource, "account:1");
    ck_assert_uint_eq(c.lines[6].number, 7);
    ck_assert_int_eq(c.lines[6].kind, TB_LINE_CORRECTION);
    ck_assert_int_eq(c.lines[6].id, 1);
    ck_assert_int_eq(c.lines[6].period_month, FIXTURE_MONTH);
    ck_assert_uint_eq(c.lines[6].n_tiers, 0);
    ck_assert_int_eq(c.what[6].kind, TB_LINE_CORRECTION);
    ck_assert_str_eq(c.what[6].invoice, "2026-000007");
    ck_assert_uint_eq(c.what[6].since, 123);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(corrections_join_the_next_bill_and_its_totals)
{
    fixture before, after, next;
    tb_corrected joined;
    tb_error err = {0};
    fixture_make(&before);
    fixture_make(&after);
    fixture_make(&next);
    after.lines[2].exact = dec("10");
    after.lines[2].amount = dec("10.00");
    after.lines[2].quantity++;
    tb_corrections lists[2] = {correct(&before.bill, &after.bill),
                               correct(&after.bill, &after.bill)};
    tb_bill_input input = {.account = 1, .n_tax = 1};
    input.tax[0] = (tb_bill_tax){.name = "VAT", .percent = dec("10")};
    next.lines[5].amount = dec("1.00");
    next.lines[5].exact = dec("1");
    ck_assert_msg(tb_bill_with(&next.bill, &input, lists, 2, NULL, &joined, &err) == TB_OK, "%s",
                  err.message);
    ck_assert_uint_eq(joined.bill.n_lines, 7);
    ck_assert_uint_eq(joined.bill.lines[6].number, 7);
    ck_assert_str_eq(joined.what[5].invoice, "");
    ck_assert_str_eq(joined.what[6].invoice, "2026-000007");
    ck_assert_int_eq(tb_decimal_compare(joined.bill.subtotal, dec("2521.48")), 0);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.tax[0].amount, dec("252.15")), 0);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.total, dec("2773.63")), 0);
    tb_corrected_release(&joined);
    ck_assert_int_eq(tb_bill_with(&next.bill, NULL, lists, 2, NULL, &joined, &err), TB_OK);
    ck_assert_uint_eq(joined.bill.n_tax, 1);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.tax[0].base, dec("2519.98")), 0);
    tb_corrected_release(&joined);
    tb_corrections_release(&lists[0]);
    tb_corrections_release(&lists[1]);
}
END_TEST

static tb_billed_part part_of(const char *lines, const char *name, const char *percent, const char *charged)
{
    tb_billed_part part = {.lines = dec(lines), .n_tax = 1};
    snprintf(part.tax[0].rate.name, sizeof part.tax[0].rate.name, "%s", name);
    part.tax[0].rate.percent = dec(percent);
    part.tax[0].amount = dec(charged);
    return part;
}

/* A document of this correction alone. */
static tb_corrected taken(const char *amount, const tb_bill_input *input, tb_billed billed, int digits)
{
    static tb_bill_line line;
    static tb_correction what;
    tb_corrected joined;
    const tb_bill none = {.minor_digits = digits};
    line = (tb_bill_line){.kind = TB_LINE_CORRECTION,
                          .exact = dec(amount),
                          .amount = dec(amount),
                          .period_month = FIXTURE_MONTH};
    tb_corrections list = {
        .lines = &line, .what = &what, .n = 1, .amount = dec(amount), .input = input, .billed = billed};
    ck_assert_int_eq(tb_bill_with(&none, NULL, &list, 1, NULL, &joined, NULL), TB_OK);
    return joined;
}

/* Documents charge one after the other what is given, the last takes all back. */
static void check_steps(const char *const *amounts, const char *const *taxes, size_t n, const tb_bill_input *input,
                        int digits)
{
    char percent[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(percent, input->tax[0].percent) = 0;
    tb_billed_part part = part_of(amounts[0], "VAT", percent, taxes[0]);
    for (size_t i = 1; i < n; i++) {
        tb_corrected joined = taken(amounts[i], input, (tb_billed){.lines = part.lines, .parts = &part, .n_parts = 1}, digits);
        ck_assert_uint_eq(joined.bill.n_tax, 1);
        const tb_bill_taxed *tax = &joined.bill.tax[0];
        ck_assert(tax->late && tax->month == FIXTURE_MONTH);
        ck_assert_int_eq(tb_decimal_compare(tax->base, dec(amounts[i])), 0);
        ck_assert_int_eq(tb_decimal_compare(tax->billed, part.tax[0].amount), 0);
        ck_assert_msg(tb_decimal_compare(tax->amount, dec(taxes[i])) == 0, "step %zu", i);
        ck_assert_int_eq(tb_decimal_add(part.lines, dec(amounts[i]), &part.lines, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_add(part.tax[0].amount, tax->amount, &part.tax[0].amount, NULL), TB_OK);
        tb_corrected_release(&joined);
    }
    ck_assert_int_eq(tb_decimal_sign(part.tax[0].amount), 0);
}

static void check_row(const tb_corrected *joined, size_t i, const char *name, const char *base, const char *amount)
{
    ck_assert_uint_gt(joined->bill.n_tax, i);
    ck_assert_str_eq(joined->bill.tax[i].rate.name, name);
    ck_assert_int_eq(tb_decimal_compare(joined->bill.tax[i].base, dec(base)), 0);
    ck_assert_int_eq(tb_decimal_compare(joined->bill.tax[i].amount, dec(amount)), 0);
}

/* Billed at 19 %, then at none, then at 7 %, where none is in force now: newest first, and nothing that was not
 * charged. */
START_TEST(what_is_taken_back_has_the_tax_under_which_it_was_billed)
{
    tb_billed_part parts[3] = {part_of("100.00", "VAT", "19", "19.00"), part_of("310.00", "none", "0", "0.00"),
                               part_of("50.00", "less", "7", "3.50")};
    tb_billed billed = {.lines = dec("460.00"), .parts = parts, .n_parts = 3};
    tb_bill_input input = {.n_tax = 1};
    input.tax[0] = (tb_bill_tax){.name = "none"};
    tb_corrected joined = taken("-400.00", &input, billed, 2);
    ck_assert_uint_eq(joined.bill.n_tax, 3);
    check_row(&joined, 0, "less", "-50.00", "-3.50");
    check_row(&joined, 1, "none", "-310.00", "0.00");
    check_row(&joined, 2, "VAT", "-40.00", "-7.60");
    tb_corrected_release(&joined);
    joined = taken("10.00", &input, billed, 2);
    ck_assert_uint_eq(joined.bill.n_tax, 1);
    check_row(&joined, 0, "none", "10.00", "0.00");
    tb_corrected_release(&joined);
}
END_TEST

/* Rows that charged too much or too little before, in yen and in dinars of three decimals: one step at most. */
START_TEST(a_row_that_lies_far_off_ends_and_takes_no_more_than_was_charged)
{
    tb_bill_input input = {.n_tax = 1};
    input.tax[0] = (tb_bill_tax){.name = "VAT", .percent = dec("19")};
    for (int digits = 0; digits <= 3; digits++) {
        tb_billed_part part = part_of("310000000000", "VAT", "19", "19");
        tb_corrected joined = taken("-155000000000", &input, (tb_billed){.lines = part.lines, .parts = &part, .n_parts = 1}, digits);
        check_row(&joined, 0, "VAT", "-155000000000", "0");
        tb_corrected_release(&joined);
        joined = taken("-310000000000", &input, (tb_billed){.lines = part.lines, .parts = &part, .n_parts = 1}, digits);
        check_row(&joined, 0, "VAT", "-310000000000", "-19");
        tb_corrected_release(&joined);
    }
}
END_TEST

START_TEST(what_is_taken_back_in_pieces_gives_back_the_tax_that_it_had)
{
    static const char *const yen[] = {"20", "-5", "-5", "-5", "-5"};
    static const char *const yen_tax[] = {"2", "0", "-1", "0", "-1"};
    static const char *const euro[] = {"0.02", "0.01", "-0.01", "-0.02"};
    static const char *const euro_tax[] = {"0.00", "0.01", "-0.01", "0.00"};
    /* What was charged too much before is given back with the rest, and no more than it. */
    static const char *const odd[] = {"100.00", "-60.00", "-40.00"};
    static const char *const odd_tax[] = {"25.00", "-17.40", "-7.60"};
    tb_bill_input input = {.n_tax = 1};
    input.tax[0] = (tb_bill_tax){.name = "VAT", .percent = dec("10")};
    check_steps(yen, yen_tax, 5, &input, 0);
    input.tax[0].percent = dec("19");
    check_steps(euro, euro_tax, 4, &input, 2);
    check_steps(odd, odd_tax, 3, &input, 2);
}
END_TEST

START_TEST(a_month_that_is_corrected_keeps_its_own_taxes)
{
    fixture before, after, next;
    tb_corrected joined;
    fixture_make(&before);
    fixture_make(&after);
    fixture_make(&next);
    after.lines[2].amount = after.lines[2].exact = dec("10.00");
    tb_corrections list = correct(&before.bill, &after.bill);
    tb_bill_input input = {.n_tax = 2, .tax_reason = "why", .tax_reason_code = "VATEX-EU-AE"};
    input.tax[0] = (tb_bill_tax){.name = "VAT", .category = "AE"};
    input.tax[1] = (tb_bill_tax){.name = "other", .percent = dec("10")};
    list.input = &input;
    ck_assert_int_eq(tb_bill_with(&next.bill, NULL, &list, 1, NULL, &joined, NULL), TB_OK);
    ck_assert_uint_eq(joined.bill.n_tax, 3);
    ck_assert(!joined.bill.tax[0].late);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.tax[0].amount, dec("554.40")), 0);
    ck_assert_str_eq(joined.bill.tax[1].reason, "why");
    ck_assert_str_eq(joined.bill.tax[1].reason_code, "VATEX-EU-AE");
    ck_assert_int_eq(tb_decimal_sign(joined.bill.tax[1].amount), 0);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.tax[2].amount, dec("0.05")), 0);
    ck_assert_int_eq(tb_decimal_compare(joined.bill.total, dec("3074.93")), 0);
    tb_corrected_release(&joined);
    tb_corrections_release(&list);
}
END_TEST

/* A fee that was given back: a month below zero. Documents of schema 31 and before have the other rows. */
START_TEST(below_zero_each_amount_has_its_own_tax)
{
    tb_bill_input input = {.n_tax = 1};
    static const struct {
        const char *billed, *charged, *amount;
        bool floored;
        const char *tax;
    } cases[] = {
        {"-213.13", "-40.49", "100.00", false, "19.00"}, {"-213.13", "-40.49", "100.00", true, "40.49"},
        {"-213.13", "-40.49", "-100.00", false, "-19.00"}, {"86.87", "16.51", "-300.00", false, "-57.00"},
        {"0.00", "0.00", "-300.00", false, "-57.00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tb_billed_part part = part_of(cases[i].billed, "VAT", "19", cases[i].charged);
        input.tax[0] = part.tax[0].rate;
        tb_corrected joined = taken(cases[i].amount, &input,
                                    (tb_billed){.lines = part.lines, .parts = &part, .n_parts = 1, .floored = cases[i].floored}, 2);
        ck_assert_uint_eq(joined.bill.n_tax, 1);
        check_row(&joined, 0, "VAT", cases[i].amount, cases[i].tax);
        tb_corrected_release(&joined);
    }
}
END_TEST

START_TEST(no_limit_makes_a_line_where_nothing_is_corrected)
{
    fixture f;
    fixture_make(&f);
    tb_corrections c = correct(&f.bill, &f.bill);
    ck_assert_int_eq(tb_corrections_limit(&c, 1, dec("-5"), NULL), TB_OK);
    ck_assert_uint_eq(c.n, 0);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(a_limit_that_overflows_is_an_error_and_changes_nothing)
{
    tb_error err = {0};
    fixture before, after;
    fixture_make(&before);
    fixture_make(&after);
    after.bill.n_lines = 0;
    tb_corrections c = correct(&before.bill, &after.bill);
    const tb_decimal most = {((tb_i128)1 << 126) - 1, 0};
    ck_assert_int_eq(tb_corrections_limit(&c, 1, most, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(err.code, TB_E_OVERFLOW);
    ck_assert_uint_eq(c.n, 6);
    ck_assert_int_eq(tb_decimal_compare(c.amount, dec("-2519.98")), 0);
    tb_corrections_release(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("invoice_correct");
    TCase *test = tcase_create("invoice_correct");
    tcase_add_test(test, nothing_late_gives_nothing);
    tcase_add_test(test, more_at_the_same_price_is_one_line_of_what_was_added);
    tcase_add_test(test, growth_into_the_next_tier_names_the_new_stretch_alone);
    tcase_add_test(test, another_unit_price_is_a_reversal_and_a_new_line);
    tcase_add_test(test, lines_that_come_or_go_are_whole);
    tcase_add_test(test, a_difference_of_too_many_digits_is_a_reversal_and_a_new_line);
    tcase_add_test(test, the_minimum_shrinks_by_what_the_lines_grow);
    tcase_add_test(test, a_credit_takes_off_at_most_what_is_left);
    tcase_add_test(test, corrections_join_the_next_bill_and_its_totals);
    tcase_add_test(test, what_is_taken_back_has_the_tax_under_which_it_was_billed);
    tcase_add_test(test, a_row_that_lies_far_off_ends_and_takes_no_more_than_was_charged);
    tcase_add_test(test, what_is_taken_back_in_pieces_gives_back_the_tax_that_it_had);
    tcase_add_test(test, a_month_that_is_corrected_keeps_its_own_taxes);
    tcase_add_test(test, below_zero_each_amount_has_its_own_tax);
    tcase_add_test(test, no_limit_makes_a_line_where_nothing_is_corrected);
    tcase_add_test(test, a_limit_that_overflows_is_an_error_and_changes_nothing);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
