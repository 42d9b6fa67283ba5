/* ubl.h: what a caller in C meets: refusals, buffers that are too small, texts of any bytes. What
 * the documents say is test_ubl.py's. */
#include "invoice_fixture.h"
#include "tollbook/ubl.h"

typedef struct parties {
    tb_party seller, buyer;
} parties;

static void declare(fixture *f, parties *p)
{
    fixture_make(f);
    fixture_final(f);
    strcpy(f->s.due, "2026-11-18");
    *p = (parties){0};
    p->seller.text[TB_PARTY_NAME] = "Seller";
    p->seller.text[TB_PARTY_COUNTRY] = "DE";
    p->seller.text[TB_PARTY_VAT_ID] = "DE123456789";
    p->seller.text[TB_PARTY_ENDPOINT_ID] = "DE123456789";
    p->seller.text[TB_PARTY_ENDPOINT_SCHEME] = "9930";
    p->buyer.text[TB_PARTY_NAME] = "Buyer";
    p->buyer.text[TB_PARTY_COUNTRY] = "FR";
    p->buyer.text[TB_PARTY_REFERENCE] = "4711";
    p->buyer.text[TB_PARTY_ENDPOINT_ID] = "FR12345678901";
    p->buyer.text[TB_PARTY_ENDPOINT_SCHEME] = "9957";
    f->s.seller = &p->seller;
    f->s.buyer = &p->buyer;
}

static char *written(const tb_statement *s, const tb_invoice_names *names)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    ck_assert_msg(tb_ubl_write(s, names, TB_UBL_PEPPOL, &out, &err) == TB_OK, "%s: %s", err.field,
                  err.message);
    return text_of(&out);
}

/* The first price behind `mark` is `price` for `base` of a unit. */
static void expect_price(const char *text, const char *mark, const char *price, const char *unit,
                         const char *base)
{
    char wanted[128], based[128];
    const char *at = strstr(text, mark);
    ck_assert_msg(at != NULL, "lacks %s", mark);
    at = strstr(at, "<cbc:PriceAmount");
    ck_assert_ptr_nonnull(at);
    snprintf(wanted, sizeof wanted, "<cbc:PriceAmount currencyID=\"USD\">%s</", price);
    snprintf(based, sizeof based, "<cbc:BaseQuantity unitCode=\"%s\">%s</", unit, base);
    ck_assert_msg(strncmp(at, wanted, strlen(wanted)) == 0, "%s: %.80s", wanted, at);
    at = strstr(at, "<cbc:BaseQuantity");
    ck_assert_msg(at && strncmp(at, based, strlen(based)) == 0, "%s: %.80s", based, at);
}

START_TEST(test_zones_have_their_names_or_numbers)
{
    const tb_zone_name zones[] = {{101, "main & \"more\"", NULL}, {102, " ", NULL}};
    const tb_invoice_names names = {"acme", NULL, zones, 2, NULL};
    fixture f;
    parties p;
    declare(&f, &p);
    char *text = written(&f.s, &names);
    ck_assert_ptr_nonnull(strstr(text, "<cbc:Name>Bandwidth, main &amp; &quot;more&quot;, EU<"));
    ck_assert_ptr_nonnull(strstr(text, "zone 102: 400000 GB; zone 104: 100000.000000003 GB"));
    free(text);
    text = written(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, "<cbc:Name>Bandwidth, zone 101, EU<"));
    free(text);
}
END_TEST

/* A price is the tier's where quantity times price comes to the amount; else it is the amount, of
 * the whole quantity. */
START_TEST(test_a_row_has_its_tiers_price_where_that_comes_to_its_amount)
{
    fixture f;
    parties p;
    declare(&f, &p);
    f.lines[1].n_shares = 0; /* a row for each tier */
    char *text = written(&f.s, NULL);
    expect_price(text, "500000</cbc:InvoicedQuantity>", "0.005", "E34", "1");
    expect_price(text, "1500000</cbc:InvoicedQuantity>", "0.65", "C62", "1000000");
    free(text);
    f.lines[4].amount = dec("0.99"); /* 1.5 million at 0.65 are 0.975 */
    text = written(&f.s, NULL);
    expect_price(text, "1500000</cbc:InvoicedQuantity>", "0.65", "C62", "1000000");
    free(text);
    f.lines[4].amount = dec("1.00");
    text = written(&f.s, NULL);
    expect_price(text, "1500000</cbc:InvoicedQuantity>", "1", "C62", "1500000");
    free(text);
}
END_TEST

START_TEST(a_line_that_its_tiers_do_not_come_to_is_one_row)
{
    fixture f;
    parties p;
    declare(&f, &p);
    f.lines[1].n_shares = 0;
    f.lines[1].amount = dec("2400.00");
    f.bill.subtotal = f.tax[0].base = dec("2419.98");
    char *text = written(&f.s, NULL);
    expect_price(text, "500000.000000003</cbc:InvoicedQuantity>", "2400", "E34",
                 "500000.000000003");
    ck_assert_ptr_null(strstr(text, ">500000</cbc:InvoicedQuantity>"));
    free(text);
}
END_TEST

/* The month's minimum is charged on the document as a whole, or allowed where it gives back. */
START_TEST(what_concerns_the_whole_document_is_a_charge_or_an_allowance)
{
    static const struct {
        const char *amount, *charges, *allowances;
    } cases[] = {
        {"0.00", NULL, NULL},
        {"5.00", "<cbc:ChargeTotalAmount currencyID=\"USD\">5.00<", NULL},
        {"-5.00", NULL, "<cbc:AllowanceTotalAmount currencyID=\"USD\">5.00<"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        parties p;
        declare(&f, &p);
        f.lines[5].amount = dec(cases[i].amount);
        char *text = written(&f.s, NULL);
        const char *charges = strstr(text, "<cbc:ChargeTotalAmount");
        const char *allowances = strstr(text, "<cbc:AllowanceTotalAmount");
        ck_assert_int_eq(charges != NULL, cases[i].charges != NULL);
        ck_assert_int_eq(allowances != NULL, cases[i].allowances != NULL);
        if (charges) ck_assert_ptr_eq(charges, strstr(text, cases[i].charges));
        if (allowances) ck_assert_ptr_eq(allowances, strstr(text, cases[i].allowances));
        free(text);
    }
}
END_TEST

/* The rows of two months in one group: each says why nothing is charged, and a code stands for both or not at all. */
START_TEST(months_of_one_group_have_a_reason_for_all)
{
    static const struct {
        const char *reasons[2], *codes[2], *reason, *code;
    } cases[] = {
        {{"Law A", "Law B & C"}, {NULL, NULL}, "Law A; Law B &amp; C", NULL},
        {{"Law A", "Law A"}, {"VATEX-EU-D", "VATEX-EU-D"}, "Law A", "VATEX-EU-D"},
        {{"Law A", NULL}, {"VATEX-EU-D", "VATEX-EU-F"}, "Law A", NULL},
        {{NULL, "Law B"}, {"VATEX-EU-D", "VATEX-EU-D"}, "Law B", "VATEX-EU-D"},
        {{NULL, NULL}, {"VATEX-EU-D", "VATEX-EU-F"}, NULL, "VATEX-EU-D"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[128];
        fixture f;
        parties p;
        declare(&f, &p);
        for (int k = 0; k < 2; k++)
            f.tax[k] = (tb_bill_taxed){.rate = {.name = "VAT", .category = "E", .percent = dec("0")},
                                       .base = k ? dec("0.00") : f.bill.subtotal, .amount = dec("0.00"), .late = k > 0,
                                       .reason = cases[i].reasons[k], .reason_code = cases[i].codes[k]};
        f.bill.n_tax = 2;
        f.bill.total = f.bill.subtotal;
        char *text = written(&f.s, NULL);
        ck_assert_int_eq(strstr(text, "<cbc:TaxExemptionReason>") != NULL, cases[i].reason != NULL);
        ck_assert_int_eq(strstr(text, "<cbc:TaxExemptionReasonCode>") != NULL, cases[i].code != NULL);
        snprintf(wanted, sizeof wanted, "TaxExemptionReason>%s<", cases[i].reason);
        ck_assert_msg(!cases[i].reason || strstr(text, wanted), "%s", wanted);
        snprintf(wanted, sizeof wanted, "TaxExemptionReasonCode>%s<", cases[i].code);
        ck_assert_msg(!cases[i].code || strstr(text, wanted), "%s", wanted);
        free(text);
    }
}
END_TEST

/* Bytes that are no UTF-8, or no XML, however they came in. */
START_TEST(test_any_bytes_become_xml)
{
    static const struct {
        const char *given, *shown;
    } names[] = {
        {"a\x01z", "a z"},
        {"a\x7fz", "a z"},
        {"a\xffz", "a\xEF\xBF\xBDz"},
        {"a\xC3", "a\xEF\xBF\xBD"},
        {"a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* too long */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* half a pair */
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xEF\xBF\xBE", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* U+FFFE */
        {"\xEF\xBF\xBD", "\xEF\xBF\xBD"},
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
        {"\n a \r\n", "a"},
        {"]]>", "]]&gt;"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fixture f;
        parties p;
        char wanted[128];
        declare(&f, &p);
        p.buyer.text[TB_PARTY_NAME] = names[i].given;
        char *text = written(&f.s, NULL);
        snprintf(wanted, sizeof wanted, "<cbc:RegistrationName>%s</", names[i].shown);
        ck_assert_msg(strstr(text, wanted) != NULL, "%zu: %s", i, names[i].shown);
        free(text);
    }
}
END_TEST

static void expect_refusal(const tb_statement *s, const char *field, const char *words)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    tb_buf_str(&out, "before");
    ck_assert_int_eq(tb_ubl_write(s, NULL, TB_UBL_PEPPOL, &out, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    ck_assert_uint_eq(out.len, 6);
    tb_buf_release(&out);
}

START_TEST(test_what_lacks_something_is_refused)
{
    fixture f;
    parties p;
    declare(&f, &p);
    p.buyer.text[TB_PARTY_COUNTRY] = NULL;
    expect_refusal(&f.s, "buyer.country", "Account 1 lacks buyer.country (BT-55). It is not decl");
    p.buyer.text[TB_PARTY_REFERENCE] = NULL;
    expect_refusal(&f.s, "buyer.country", "lacks buyer.country (BT-55) and 1 more.");
    declare(&f, &p);
    strcpy(f.s.state, "void");
    expect_refusal(&f.s, "state", "this one is void");
}
END_TEST

START_TEST(test_a_buffer_that_is_too_small_stays_as_it_was)
{
    fixture f;
    parties p;
    declare(&f, &p);
    char *text = written(&f.s, NULL);
    const size_t whole = strlen(text);
    free(text);
    for (size_t max = 6; max < whole; max += 97) {
        tb_buf out;
        tb_buf_init(&out, max, NULL);
        tb_buf_str(&out, "before");
        ck_assert_int_eq(tb_ubl_write(&f.s, NULL, TB_UBL_PEPPOL, &out, NULL), TB_E_NOMEM);
        ck_assert_uint_eq(out.len, 6);
        tb_buf_release(&out);
    }
}
END_TEST

/* No bill has such amounts; a damaged text can. */
START_TEST(test_sums_that_overflow_are_an_error)
{
    const tb_decimal most = {((tb_i128)1 << 126) - 1 + ((tb_i128)1 << 126), 2};
    fixture f;
    parties p;
    tb_buf out;
    declare(&f, &p);
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    f.lines[2].amount = f.lines[3].amount = most;
    ck_assert_int_eq(tb_ubl_write(&f.s, NULL, TB_UBL_PEPPOL, &out, NULL), TB_E_OVERFLOW);
    declare(&f, &p);
    f.s.paid = (tb_decimal){-most.mantissa, 2};
    ck_assert_int_eq(tb_ubl_write(&f.s, NULL, TB_UBL_PEPPOL, &out, NULL), TB_E_OVERFLOW);
    declare(&f, &p);
    p.seller.text[TB_PARTY_TAX_CURRENCY] = "EUR";
    p.seller.text[TB_PARTY_TAX_RATE] = "1e9";
    ck_assert_int_eq(tb_ubl_write(&f.s, NULL, TB_UBL_PEPPOL, &out, NULL), TB_E_VALIDATION);
    ck_assert_uint_eq(out.len, 0);
    tb_buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ubl");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_zones_have_their_names_or_numbers);
    tcase_add_test(all, test_a_row_has_its_tiers_price_where_that_comes_to_its_amount);
    tcase_add_test(all, a_line_that_its_tiers_do_not_come_to_is_one_row);
    tcase_add_test(all, what_concerns_the_whole_document_is_a_charge_or_an_allowance);
    tcase_add_test(all, months_of_one_group_have_a_reason_for_all);
    tcase_add_test(all, test_any_bytes_become_xml);
    tcase_add_test(all, test_what_lacks_something_is_refused);
    tcase_add_test(all, test_a_buffer_that_is_too_small_stays_as_it_was);
    tcase_add_test(all, test_sums_that_overflow_are_an_error);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
