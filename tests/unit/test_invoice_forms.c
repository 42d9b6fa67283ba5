/* invoice.h: CSV, FOCUS and HTML. */
#include "invoice_fixture.h"

static char *csv_of(const tb_statement *s)
{
    tb_buf out;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_invoice_csv_head(&out);
    tb_invoice_csv(s, &out);
    return text_of(&out);
}

static char *focus_of(const tb_statement *s)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_focus_csv_head(&out);
    ck_assert_msg(tb_focus_csv(s, NULL, &out, &err) == TB_OK, "%s", err.message);
    return text_of(&out);
}

/* Reads the cell at *at (RFC 4180) into cell; returns what ended it: ',' or '\n', 0 at the end. */
static char next_cell(const char **at, char *cell, size_t size)
{
    size_t n = 0;
    const char *p = *at;
    bool quoted = *p == '"';
    p += quoted;
    for (;; p++) {
        if (quoted && p[0] == '"' && p[1] == '"')
            p++;
        else if (quoted ? *p == '"' : *p == ',' || *p == '\r' || !*p)
            break;
        ck_assert_uint_lt(n, size - 1);
        cell[n++] = *p;
    }
    cell[n] = 0;
    p += quoted;
    char end = *p;
    if (end == '\r') {
        ck_assert_int_eq(p[1], '\n');
        p++;
        end = '\n';
    }
    *at = end ? p + 1 : p;
    return end;
}

/* Cell of a row (0: the head) by its column's name. */
static const char *cell_of(const char *csv, size_t row, const char *column)
{
    static char cell[1024];
    const char *at = csv;
    size_t wanted = 0, i = 0;
    while (next_cell(&at, cell, sizeof cell) == ',' && strcmp(cell, column) != 0)
        wanted++;
    ck_assert_str_eq(cell, column);
    for (at = csv; row > 0; row--)
        at = strstr(at, "\r\n") + 2;
    while (i++ < wanted)
        ck_assert_int_eq(next_cell(&at, cell, sizeof cell), ',');
    next_cell(&at, cell, sizeof cell);
    return cell;
}

/* How many rows, the head too; all have as many cells as it. */
static size_t assert_rectangle(const char *csv)
{
    char cell[1024];
    size_t rows = 0, columns = 0, n = 0;
    for (const char *at = csv; *at;) {
        n++;
        if (next_cell(&at, cell, sizeof cell) != '\n') continue;
        if (rows++ == 0) columns = n;
        ck_assert_msg(n == columns, "row %zu has %zu cells, not %zu", rows, n, columns);
        n = 0;
    }
    ck_assert_uint_eq(n, 0);
    return rows;
}

#define WHOLE "whole for any month with an active zone, not prorated by days"

START_TEST(csv_has_a_row_for_each_line_tax_and_gap)
{
    fixture f;
    fixture_make(&f);
    char *csv = csv_of(&f.s);
    ck_assert_uint_eq(assert_rectangle(csv), 1 + 6 + 1 + 1);
    ck_assert_ptr_nonnull(
        strstr(csv, "\r\n1,,invoice,draft,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,1,"
                    "bandwidth,zone:101,EU,123456,byte,0.00000000001,0.00000123456,0.00,\r\n"));
    ck_assert_str_eq(cell_of(csv, 2, "unit_price"), "");
    ck_assert_str_eq(cell_of(csv, 7, "line_kind"), "tax");
    ck_assert_str_eq(cell_of(csv, 7, "resource"), "VAT, 22 %");
    ck_assert_str_eq(cell_of(csv, 7, "amount"), "554.40");
    ck_assert_str_eq(cell_of(csv, 8, "line_kind"), "unpriced");
    ck_assert_str_eq(cell_of(csv, 8, "amount"), "");
    free(csv);
}
END_TEST

START_TEST(csv_never_hands_a_formula_to_a_spreadsheet)
{
    static const char *const names[][2] = {
        {"=1+2", "'=1+2"}, {"+1", "'+1"}, {" =1", "' =1"}, {"\uff0d1", "'\uff0d1"},
        {"-1", "'-1"},     {"@SUM(A1)", "'@SUM(A1)"},
        {"\tx", "'\tx"},   {"=\"a\",b", "'=\"a\",b"},
        {"a=b", "a=b"},    {"say \"hi\"", "say \"hi\""},
    };
    fixture f;
    fixture_make(&f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        strcpy(f.bill.tax[0].rate.name, names[i][0]);
        char *csv = csv_of(&f.s);
        assert_rectangle(csv);
        ck_assert_str_eq(cell_of(csv, 7, "resource"), names[i][1]);
        free(csv);
    }
}
END_TEST

START_TEST(csv_numbers_stay_numbers)
{
    fixture f;
    fixture_make(&f);
    f.lines[0].amount = dec("-1.50");
    char *csv = csv_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 1, "amount"), "-1.50");
    free(csv);
}
END_TEST

START_TEST(focus_rows_sum_to_the_invoices_total)
{
    fixture f;
    tb_decimal sum = TB_DECIMAL_ZERO;
    fixture_make(&f);
    fixture_final(&f);
    char *csv = focus_of(&f.s);
    size_t rows = assert_rectangle(csv);
    ck_assert_uint_eq(rows, 1 + 9 + 1); /* the volume line is two zones at two prices */
    for (size_t i = 1; i < rows; i++)
        ck_assert_int_eq(tb_decimal_add(sum, dec(cell_of(csv, i, "BilledCost")), &sum, NULL), 0);
    ck_assert_int_eq(tb_decimal_compare(sum, f.bill.total), 0);
    free(csv);
}
END_TEST

START_TEST(focus_prices_times_quantities_are_costs)
{
    fixture f;
    fixture_make(&f);
    char *csv = focus_of(&f.s);
    size_t rows = assert_rectangle(csv), priced = 0;
    for (size_t i = 1; i < rows; i++) {
        tb_decimal product;
        if (!*cell_of(csv, i, "ContractedUnitPrice")) continue;
        tb_decimal price = dec(cell_of(csv, i, "ContractedUnitPrice"));
        ck_assert_int_eq(
            tb_decimal_mul(price, dec(cell_of(csv, i, "PricingQuantity")), &product, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_compare(product, dec(cell_of(csv, i, "ContractedCost"))), 0);
        priced++;
    }
    ck_assert_uint_eq(priced, 8); /* all but minimum and tax */
    ck_assert_str_eq(cell_of(csv, 2, "PricingQuantity"), "399999.999999998");
    ck_assert_str_eq(cell_of(csv, 2, "ContractedUnitPrice"), "0.005");
    ck_assert_str_eq(cell_of(csv, 3, "ConsumedQuantity"), "2"); /* 400 of 500 of three bytes */
    ck_assert_str_eq(cell_of(csv, 4, "ConsumedQuantity"), "100000000000002");
    ck_assert_str_eq(cell_of(csv, 5, "ConsumedQuantity"), "1");
    ck_assert_str_eq(cell_of(csv, 6, "PricingUnit"), "Units"); /* no tier */
    ck_assert_str_eq(cell_of(csv, 8, "PricingUnit"), "Units"); /* units outside its tiers */
    ck_assert_str_eq(cell_of(csv, 1, "ListUnitPrice"), "0.01");
    ck_assert_str_eq(cell_of(csv, 1, "PricingQuantity"), "0.000123456");
    ck_assert_str_eq(cell_of(csv, 1, "SkuPriceId"), "standard-2026/bandwidth-EU");
    ck_assert_str_eq(cell_of(csv, 1, "ChargeDescription"), "Bandwidth, zone 101, EU");
    free(csv);
}
END_TEST

START_TEST(focus_has_a_row_for_each_price_of_a_line)
{
    fixture f;
    fixture_make(&f);
    tb_bill_tier tiers[3] = {make_tier(0, 50000000, "0", "0", "0"),
                             make_tier(50000000, 51000000, "0.00000065", "0.65", "0.65"),
                             make_tier(51000000, 51500000, "0.0000005", "0.5", "0.25")};
    f.lines[4].tiers = tiers;
    f.lines[4].n_tiers = 3;
    f.lines[4].exact = dec("0.905"); /* as after rounding down: 0.90, and the largest rest loses */
    tiers[1].amount = dec("0.652");
    tiers[2].amount = dec("0.253");
    f.lines[4].amount = dec("0.91");
    char *csv = focus_of(&f.s);
    ck_assert_uint_eq(assert_rectangle(csv), 1 + 11 + 1);
    ck_assert_str_eq(cell_of(csv, 8, "BilledCost"), "0.00");
    ck_assert_str_eq(cell_of(csv, 8, "ConsumedQuantity"), "50000000");
    ck_assert_str_eq(cell_of(csv, 8, "ContractedUnitPrice"), "0");
    ck_assert_str_eq(cell_of(csv, 9, "BilledCost"), "0.65");
    ck_assert_str_eq(cell_of(csv, 9, "ContractedUnitPrice"), "0.652"); /* a flat part is in it */
    ck_assert_str_eq(cell_of(csv, 9, "PricingUnit"), "Units");
    ck_assert_str_eq(cell_of(csv, 10, "BilledCost"), "0.26");
    free(csv);
    tiers[1].amount = dec("0.65");
    csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 9, "ContractedUnitPrice"), "0.65");
    ck_assert_str_eq(cell_of(csv, 9, "PricingQuantity"), "1");
    ck_assert_str_eq(cell_of(csv, 9, "ContractedCost"), "0.65");
    ck_assert_str_eq(cell_of(csv, 9, "SkuPriceId"), "standard-2026/balancer_requests@0.65");
    free(csv);
}
END_TEST

/* 128 prices have a row each; more go in one row, one unit at the whole cost. */
START_TEST(focus_puts_a_line_of_too_many_prices_in_one_row)
{
    static tb_bill_tier tiers[130];
    for (int n = 127; n <= 130; n++) {
        fixture f;
        char price[16];
        tb_decimal sum = TB_DECIMAL_ZERO;
        fixture_make(&f);
        for (int i = 0; i < n; i++) {
            snprintf(price, sizeof price, "0.%03d", i + 1);
            tiers[i] = make_tier(10 * i, 10 * i + 10, price, price, price);
            ck_assert_int_eq(tb_decimal_mul_int(tiers[i].price, 10, &tiers[i].amount, NULL), TB_OK);
            ck_assert_int_eq(tb_decimal_add(sum, tiers[i].amount, &sum, NULL), TB_OK);
        }
        f.lines[4].tiers = tiers;
        f.lines[4].n_tiers = (size_t)n;
        f.lines[4].quantity = 10 * n;
        f.lines[4].exact = f.lines[4].amount = sum;
        char *csv = focus_of(&f.s);
        size_t rows = n <= 128 ? (size_t)n : 1;
        ck_assert_uint_eq(assert_rectangle(csv), 1 + 8 + rows + 1);
        tb_decimal billed = TB_DECIMAL_ZERO;
        for (size_t i = 8; i < 8 + rows; i++) {
            ck_assert_str_eq(cell_of(csv, i, "SkuMeter"), "Requests");
            ck_assert_str_eq(cell_of(csv, i, "PricingUnit"),
                             rows > 1 ? "1000000 Requests" : "Units");
            tb_decimal cost = dec(cell_of(csv, i, "BilledCost"));
            ck_assert_int_eq(tb_decimal_add(billed, cost, &billed, NULL), TB_OK);
        }
        ck_assert_int_eq(tb_decimal_compare(billed, sum), 0);
        if (rows == 1) {
            char quantity[16];
            snprintf(quantity, sizeof quantity, "%d", 10 * n);
            ck_assert_str_eq(cell_of(csv, 8, "ConsumedQuantity"), quantity);
        }
        free(csv);
    }
}
END_TEST

START_TEST(focus_fees_are_months_at_their_monthly_price)
{
    fixture f;
    fixture_make(&f);
    char *csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 7, "PricingQuantity"), "1");
    ck_assert_str_eq(cell_of(csv, 7, "PricingUnit"), "Months");
    ck_assert_str_eq(cell_of(csv, 7, "ListUnitPrice"), "9.5");
    free(csv);
    f.fee[0] = make_tier(0, 864000, "9.5", "9.5", "3.064516129032258065");
    f.lines[3].quantity = 864000;
    f.lines[3].exact = f.fee[0].amount;
    csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 7, "PricingQuantity"), "0.322580645161290323");
    ck_assert_str_eq(cell_of(csv, 7, "ContractedCost"), "3.0645161290322580685");
    free(csv);
}
END_TEST

START_TEST(focus_says_that_the_minimum_is_whole)
{
    fixture f;
    fixture_make(&f);
    char *csv = focus_of(&f.s);
    ck_assert_ptr_nonnull(strstr(csv, "\"Monthly minimum (" WHOLE "), account 1\""));
    free(csv);
}
END_TEST

/* 10^18 bytes at 10^12 each: a price per GB has no room beside them. */
START_TEST(focus_shows_one_unit_where_no_decimal_holds_the_product)
{
    fixture f;
    fixture_make(&f);
    f.lines[0].quantity = (tb_i128)INT64_C(1000000000000000000);
    f.lines[0].exact = dec("1000000000000000000000000000000");
    f.lines[0].amount = dec("1000000000000000000000000000000.00");
    f.premium[0] = make_tier(0, f.lines[0].quantity, "1000000000000", "0.01",
                             "1000000000000000000000000000000");
    char *csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 1, "BilledCost"), "1000000000000000000000000000000.00");
    ck_assert_str_eq(cell_of(csv, 1, "ContractedCost"), "1000000000000000000000000000000");
    ck_assert_str_eq(cell_of(csv, 1, "ContractedUnitPrice"), "1000000000000000000000000000000");
    ck_assert_str_eq(cell_of(csv, 1, "PricingQuantity"), "1");
    free(csv);
}
END_TEST

START_TEST(focus_nulls_stand_where_the_specification_wants_them)
{
    fixture f;
    tb_correction what[6] = {{{0}, 0, 0}};
    fixture_make(&f);
    f.lines[0].kind = TB_LINE_CORRECTION;
    f.lines[0].period_month--;
    what[0] = (tb_correction){"2026-000001", TB_LINE_BANDWIDTH, 9};
    f.s.corrections = what;
    char *csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 1, "ChargeClass"), "Correction");
    ck_assert_str_eq(cell_of(csv, 1, "ChargePeriodStart"), "2026-09-01T00:00:00Z");
    ck_assert_str_eq(cell_of(csv, 1, "ChargePeriodEnd"), "2026-10-01T00:00:00Z");
    ck_assert_str_eq(cell_of(csv, 1, "BillingPeriodStart"), "2026-10-01T00:00:00Z");
    ck_assert_str_eq(cell_of(csv, 1, "BillingPeriodEnd"), "2026-11-01T00:00:00Z");
    ck_assert_str_eq(cell_of(csv, 2, "ChargeClass"), "");
    ck_assert_str_eq(cell_of(csv, 6, "ChargeCategory"), "Purchase");
    ck_assert_str_eq(cell_of(csv, 6, "ConsumedQuantity"), "");
    ck_assert_str_eq(cell_of(csv, 10, "ChargeCategory"), "Tax");
    ck_assert_str_eq(cell_of(csv, 10, "PricingQuantity"), "");
    ck_assert_str_eq(cell_of(csv, 10, "PricingCategory"), "");
    ck_assert_str_eq(cell_of(csv, 10, "ServiceCategory"), "Other");
    free(csv);
}
END_TEST

static char *named_focus_of(const tb_statement *s, const tb_invoice_names *names)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_focus_csv_head(&out);
    ck_assert_msg(tb_focus_csv(s, names, &out, &err) == TB_OK, "%s", err.message);
    return text_of(&out);
}

START_TEST(focus_names_the_seller_the_account_and_zones_and_has_their_labels)
{
    const tb_zone_name zones[] = {{101, "Main, EU", "{\"team\":\"web\",\"a\":\"1\"}"},
                                  {102, "\xC3\xA9", NULL}};
    const tb_invoice_names names = {"acme", "{\"team\":\"ops\",\"env\":\"prod\"}", zones, 2, NULL};
    tb_party seller = {.text = {[TB_PARTY_NAME] = "Seller GmbH"}};
    fixture f;
    fixture_make(&f);
    f.s.seller = &seller;
    char *csv = named_focus_of(&f.s, &names);
    const size_t rows = assert_rectangle(csv);
    for (size_t i = 1; i < rows; i++) {
        ck_assert_str_eq(cell_of(csv, i, "InvoiceIssuerName"), "Seller GmbH");
        ck_assert_str_eq(cell_of(csv, i, "ProviderName"), "Seller GmbH");
        ck_assert_str_eq(cell_of(csv, i, "PublisherName"), "Seller GmbH");
        ck_assert_str_eq(cell_of(csv, i, "BillingAccountName"), "acme");
        ck_assert_str_eq(cell_of(csv, i, "SubAccountId"), "1");
        ck_assert_str_eq(cell_of(csv, i, "SubAccountName"), "acme");
        ck_assert_str_eq(cell_of(csv, i, "Tags"),
                         i == 1 ? "{\"a\":\"1\",\"env\":\"prod\",\"team\":\"web\"}"
                                : "{\"env\":\"prod\",\"team\":\"ops\"}");
    }
    ck_assert_str_eq(cell_of(csv, 1, "ResourceName"), "Main, EU");
    ck_assert_str_eq(cell_of(csv, 1, "ChargeDescription"), "Bandwidth, Main, EU, EU");
    ck_assert_str_eq(cell_of(csv, 2, "ResourceName"), "\xC3\xA9");
    ck_assert_str_eq(cell_of(csv, 4, "ResourceName"), "");
    ck_assert_str_eq(cell_of(csv, 4, "ResourceId"), "zone:104");
    ck_assert_str_eq(cell_of(csv, 9, "ResourceId"), ""); /* the minimum is the account's */
    free(csv);
    csv = named_focus_of(&f.s, NULL);
    ck_assert_str_eq(cell_of(csv, 1, "BillingAccountName"), "Account 1");
    ck_assert_str_eq(cell_of(csv, 1, "Tags"), "");
    free(csv);
}
END_TEST

/* No bill has such tiers; a damaged text can. */
START_TEST(focus_shows_tiers_that_are_not_the_amounts_as_one_row)
{
    fixture f;
    fixture_make(&f);
    tb_bill_tier tiers[2] = {make_tier(0, 51000000, "0", "0", "0"),
                             make_tier(51000000, 51500000, "0.0000005", "0.5", "0.25")};
    f.lines[4].tiers = tiers;
    f.lines[4].n_tiers = 2;
    f.lines[4].amount = dec("100.00");
    char *csv = focus_of(&f.s);
    ck_assert_uint_eq(assert_rectangle(csv), 1 + 9 + 1);
    ck_assert_str_eq(cell_of(csv, 8, "BilledCost"), "100.00");
    free(csv);
}
END_TEST

START_TEST(focus_refuses_labels_that_are_no_object)
{
    static const char *const wrong[] = {"[]", "{", "{\"a\":1}{", "\"a\""};
    fixture f;
    fixture_make(&f);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tb_zone_name zone = {101, "main", wrong[i]};
        const tb_invoice_names names = {"acme", "{}", &zone, 1, NULL};
        tb_buf out;
        tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
        ck_assert_int_eq(tb_focus_csv(&f.s, &names, &out, NULL), TB_E_VALIDATION);
        tb_buf_release(&out);
    }
}
END_TEST

START_TEST(focus_takes_off_what_credit_has_paid)
{
    fixture f;
    fixture_make(&f);
    f.s.paid = dec("10.00");
    char *csv = focus_of(&f.s);
    ck_assert_uint_eq(assert_rectangle(csv), 1 + 9 + 1 + 1);
    ck_assert_str_eq(cell_of(csv, 11, "ChargeCategory"), "Credit");
    ck_assert_str_eq(cell_of(csv, 11, "BilledCost"), "-10.00");
    free(csv);
    f.s.covered = dec("7.50"); /* of a prepaid balance: the customer's own money */
    csv = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 11, "BilledCost"), "-2.50");
    free(csv);
    f.s.covered = f.s.paid;
    csv = focus_of(&f.s);
    ck_assert_uint_eq(assert_rectangle(csv), 1 + 9 + 1);
    free(csv);
}
END_TEST

/* A book that begins within the month cuts its tiers; where the price stays they are shown as one.
 */
START_TEST(a_month_cut_in_two_at_one_price_is_shown_as_one)
{
    fixture f;
    fixture_make(&f);
    tb_bill_tier cut[3] = {make_tier(0, 1000, "0.00000000001", "0.01", "0.00000001"),
                           make_tier(1000, 123456, "0.00000000001", "0.01", "0.00000122456")};
    f.lines[0].tiers = cut;
    f.lines[0].n_tiers = 2;
    char *csv = csv_of(&f.s), *focus = focus_of(&f.s);
    ck_assert_str_eq(cell_of(csv, 1, "unit_price"), "0.00000000001");
    ck_assert_str_eq(cell_of(focus, 1, "ContractedUnitPrice"), "0.01");
    free(csv);
    free(focus);
}
END_TEST

/* No bill has such units; a damaged text can. */
START_TEST(units_that_overflow_are_an_error)
{
    fixture f;
    tb_buf out;
    tb_error err = {0};
    tb_i128 most = ((tb_i128)1 << 126) - 1 + ((tb_i128)1 << 126);
    fixture_make(&f);
    tb_bill_tier cut[2] = {make_tier(0, most, "0.1", "0.1", "0"),
                           make_tier(0, most, "0.1", "0.1", "0")};
    cut[1].from = most;
    f.lines[0].tiers = cut;
    f.lines[0].n_tiers = 2;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    ck_assert_int_eq(tb_focus_csv(&f.s, NULL, &out, &err), TB_E_OVERFLOW);
    cut[1].price = dec("0.2"); /* not one: the sum of both */
    ck_assert_int_eq(tb_focus_csv(&f.s, NULL, &out, &err), TB_E_OVERFLOW);
    tb_invoice_csv(&f.s, &out);
    tb_buf_release(&out);
}
END_TEST

static tb_code shown_as(const tb_statement *s, tb_code (*form)(const tb_statement *, tb_buf *))
{
    tb_buf out;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_code code = form(s, &out);
    tb_buf_release(&out);
    return code;
}

static tb_code as_focus(const tb_statement *s, tb_buf *out)
{
    tb_error err = {0};
    tb_code code = tb_focus_csv(s, NULL, out, &err);
    ck_assert_int_eq(err.code, code);
    return code;
}

/* No bill has such units; a damaged text can. Only one figure cannot be shown. */
START_TEST(a_quantity_or_a_share_that_cannot_be_shown_is_an_error)
{
    const tb_decimal most = {((tb_i128)1 << 126) - 1, 0};
    fixture f;
    fixture_make(&f);
    ck_assert_int_eq(shown_as(&f.s, as_focus), TB_OK);
    f.lines[2].quantity = most.mantissa; /* seconds, shown as parts of a month */
    ck_assert_int_eq(shown_as(&f.s, as_focus), TB_E_OVERFLOW);
    fixture_make(&f);
    f.lines[2].shares = f.shares;
    f.lines[2].n_shares = 2;
    f.shares[1].bytes = most.mantissa;
    ck_assert_int_eq(shown_as(&f.s, as_focus), TB_E_OVERFLOW);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("invoice_forms");
    TCase *test = tcase_create("invoice_forms");
    tcase_add_test(test, csv_has_a_row_for_each_line_tax_and_gap);
    tcase_add_test(test, csv_never_hands_a_formula_to_a_spreadsheet);
    tcase_add_test(test, csv_numbers_stay_numbers);
    tcase_add_test(test, focus_rows_sum_to_the_invoices_total);
    tcase_add_test(test, focus_prices_times_quantities_are_costs);
    tcase_add_test(test, focus_has_a_row_for_each_price_of_a_line);
    tcase_add_test(test, focus_puts_a_line_of_too_many_prices_in_one_row);
    tcase_add_test(test, focus_fees_are_months_at_their_monthly_price);
    tcase_add_test(test, focus_says_that_the_minimum_is_whole);
    tcase_add_test(test, focus_shows_one_unit_where_no_decimal_holds_the_product);
    tcase_add_test(test, focus_nulls_stand_where_the_specification_wants_them);
    tcase_add_test(test, focus_names_the_seller_the_account_and_zones_and_has_their_labels);
    tcase_add_test(test, focus_shows_tiers_that_are_not_the_amounts_as_one_row);
    tcase_add_test(test, focus_refuses_labels_that_are_no_object);
    tcase_add_test(test, focus_takes_off_what_credit_has_paid);
    tcase_add_test(test, a_month_cut_in_two_at_one_price_is_shown_as_one);
    tcase_add_test(test, units_that_overflow_are_an_error);
    tcase_add_test(test, a_quantity_or_a_share_that_cannot_be_shown_is_an_error);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
