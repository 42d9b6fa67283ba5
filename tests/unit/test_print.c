/* What an invoice says to people: every kind of document, in both languages. The page of HTML is
 * looked at; PDFs draw the same sheet (test_print_pdf.c). */
#include "unit/print_fixture.h"

#include "print/maker.h"
#include "tollbook/print.h"

START_TEST(a_page_loads_nothing_and_escapes_everything)
{
    static const char *const banned[] = {"http",  "src=", "url(",       "@import", "<script",
                                         "<link", "<img", "javascript", "<b>"};
    print_fixture p;
    print_fixture_make(&p);
    p.zones[0].name = "<script>alert(\"1\")</script>";
    p.names.account = "<b>&";
    p.seller.text[TB_PARTY_NOTE] = "<img>\" onload=\"x";
    strcpy(p.f.bill.tax[0].rate.name, "<b>&\"");
    p.options.auditor = true;
    char *html = html_of(&p);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        LACKS(html, banned[i]);
    HAS(html, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
    HAS(html, "&lt;b&gt;&amp;&quot; 22 % on 2,519.98");
    free(html);
}
END_TEST

START_TEST(an_invoice_says_who_what_how_much_and_how_to_pay)
{
    static const char *const said[] = {
        ">Invoice</h1>",
        "2026-000007",
        "4 November 2026",
        "18 November 2026",
        "1 \u2013 31 October 2026",
        "PO-4711",
        "Example CDN",
        "Example Networks GmbH",
        "Hauptstra\u00dfe 12",
        "10115 Berlin",
        "Germany",
        "VAT ID: DE123456789",
        "billing@example.com",
        "Sample Ltd",
        "London EC1A 1AA",
        "United Kingdom",
        "Amount due by 18 November 2026",
        "3,074.38 USD",
        "Subtotal",
        "2,519.98",
        "VAT 22 % on 2,519.98",
        "554.40",
        "DE89 3704 0044 0532 0130 00",
        "COBADEFFXXX",
        "Please pay 3,074.38 USD by 18 November 2026. Payment is due within 14 days",
        ">Thank you.<",
        ">See you soon.<",
        "HRB 12345 B",
        "Fingerprint 0123 4567 89ab cdef",
        "lang=\"en\""};
    print_fixture p;
    print_fixture_make(&p);
    char *html = html_of(&p);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        HAS(html, said[i]);
    LACKS(html, "VATRate");
    LACKS(html, "class=\"stamp\"");
    LACKS(html, "Corrects invoice");
    LACKS(html, "For auditors");
    free(html);
}
END_TEST

START_TEST(quantities_and_prices_are_for_people)
{
    static const char *const said[] = {
        "123.5 kB",
        "0.01 USD per GB",
        "images.example.com</bdi> <small dir=\"auto\">zone 101",
        "Bandwidth, Europe",
        "first 500 TB",
        "over 500 TB",
        "0.005 USD per GB",
        "video.example.com",
        ">Zone 103<",
        "31 days of 31",
        "9.5 USD per month",
        "Load balancer 7",
        "51.5 million requests",
        "over 50 million requests",
        "0.65 USD per million requests",
        "whole for any month with an active zone, not prorated by days"};
    print_fixture p;
    print_fixture_make(&p);
    char *html = html_of(&p);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        HAS(html, said[i]);
    LACKS(html, "2678400");
    LACKS(html, "second");
    free(html);
}
END_TEST

START_TEST(german_words_and_figures)
{
    static const char *const said[] = {">Rechnung</h1>",
                                       "4. November 2026",
                                       "1. \u2013 31. Oktober 2026",
                                       "3.074,38 USD",
                                       "USt. 22 % auf 2.519,98",
                                       "Zu zahlen bis 18. November 2026",
                                       "0,01 USD je GB",
                                       "Deutschland",
                                       "31 Tage von 31",
                                       "51,5 Mio. Anfragen",
                                       "die ersten 500 TB",
                                       "USt-IdNr.: DE123456789",
                                       "Zahlbar innerhalb von 14 Tagen",
                                       "lang=\"de\"",
                                       "Pr\u00fcfsumme 0123"};
    print_fixture p;
    print_fixture_make(&p);
    p.buyer.text[TB_PARTY_LANGUAGE] = "de";
    char *html = html_of(&p);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        HAS(html, said[i]);
    LACKS(html, "Amount");
    LACKS(html, "Invoice 2026");
    free(html);
}
END_TEST

START_TEST(a_cap_says_when_it_was_reached)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.lines[5].kind = TB_LINE_CAP;
    p.f.lines[5].description = "Spending cap, reached at 2026-10-06T08:30:00Z";
    char *html = html_of(&p);
    HAS(html, ">Spending cap, reached at 2026-10-06T08:30:00Z<");
    free(html);
    p.buyer.text[TB_PARTY_LANGUAGE] = "de";
    html = html_of(&p);
    HAS(html, ">Ausgabengrenze, erreicht am 2026-10-06T08:30:00Z<");
    LACKS(html, "Spending cap");
    free(html);
}
END_TEST

START_TEST(a_credit_note_names_what_it_corrects_and_asks_for_nothing)
{
    print_fixture p;
    print_fixture_make(&p);
    strcpy(p.f.s.kind, "credit_note");
    strcpy(p.f.s.corrects, "2026-000005");
    p.f.bill.total = dec("-1234.50");
    char *html = html_of(&p);
    HAS(html, ">Credit note</h1>");
    HAS(html, "<dt>Corrects invoice</dt><dd dir=\"auto\">2026-000005</dd>");
    HAS(html, "Total credit");
    HAS(html, "\u22121,234.50 USD");
    HAS(html, "credited to your account");
    LACKS(html, "Please pay");
    LACKS(html, "DE89");
    free(html);
}
END_TEST

START_TEST(a_replacement_names_what_it_replaces)
{
    print_fixture p;
    print_fixture_make(&p);
    strcpy(p.f.s.replaces, "2026-000003");
    char *html = html_of(&p);
    HAS(html, "<dt>Replaces invoice</dt><dd dir=\"auto\">2026-000003</dd>");
    free(html);
}
END_TEST

START_TEST(a_void_invoice_is_marked_and_asks_for_nothing)
{
    print_fixture p;
    print_fixture_make(&p);
    strcpy(p.f.s.state, "void");
    char *html = html_of(&p);
    HAS(html, "aria-hidden=\"true\">Void</div>");
    HAS(html, "Nothing is owed for it");
    LACKS(html, "Please pay");
    LACKS(html, "Amount due");
    free(html);
}
END_TEST

START_TEST(a_draft_says_so_and_what_it_lacks)
{
    print_fixture p;
    print_fixture_make(&p);
    fixture_make(&p.f);
    char *html = html_of(&p);
    HAS(html, ">Statement</h1>");
    HAS(html, "aria-hidden=\"true\">Draft</div>");
    HAS(html, "Usage without a price");
    HAS(html, "zone 105, QQ: 77 bytes. Name &quot;QQ&quot; in a region.");
    LACKS(html, "Please pay");
    free(html);
    p.f.s.seller = &p.seller;
    html = html_of(&p);
    HAS(html, ">Invoice</h1>");
    free(html);
}
END_TEST

START_TEST(corrections_stand_apart_with_their_own_period)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.lines[0].kind = TB_LINE_CORRECTION;
    p.f.lines[0].period_month--;
    p.f.lines[0].quantity = -18200000000;
    p.f.lines[0].amount = dec("-0.18");
    p.corrections[0] = (tb_correction){"2026-000001", TB_LINE_BANDWIDTH, 9};
    p.f.s.corrections = p.corrections;
    char *html = html_of(&p);
    HAS(html, ">Corrections of earlier months</h2>");
    HAS(html, "September 2026</bdi> <small dir=\"auto\">invoice 2026-000001");
    HAS(html, "images.example.com, zone 101");
    HAS(html, "\u221218.2 GB");
    HAS(html, "\u22120.18");
    free(html);
    p.corrections[0].invoice[0] = '\0';
    html = html_of(&p);
    HAS(html, "not invoiced before");
    free(html);
    static const tb_bill_item item = {.id = "requests", .name = "Edge requests", .unit = "request", .per_unit = ""};
    p.f.lines[1] = p.f.lines[0];
    p.f.lines[1].item = &item;
    strcpy(p.f.lines[1].resource, "meter:requests");
    p.corrections[1] = (tb_correction){"2026-000001", TB_LINE_METER, 9};
    html = html_of(&p);
    HAS(html, "Edge requests");
    free(html);
}
END_TEST

static void set_category(print_fixture *p, const char *category)
{
    strcpy(p->f.bill.tax[0].rate.category, category);
    p->f.bill.tax[0].rate.percent = dec("0");
    p->f.bill.tax[0].amount = dec("0.00");
    p->f.tax[0].reason = "Article 196 of the directive";
}

START_TEST(taxes_are_named_in_words_by_their_category)
{
    static const char *const words[][2] = {{"E", "Exempt from VAT"},
                                           {"AE", "Reverse charge"},
                                           {"K", "Intra-Community supply, exempt from VAT"},
                                           {"G", "Export outside the EU, exempt from VAT"},
                                           {"O", "Not subject to VAT"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        print_fixture p;
        print_fixture_make(&p);
        set_category(&p, words[i][0]);
        char *html = html_of(&p);
        HAS(html, words[i][1]);
        HAS(html, "Article 196 of the directive");
        ck_assert_int_eq(strstr(html, "VAT ID") == NULL, strcmp(words[i][0], "O") == 0);
        ck_assert_int_eq(strstr(html, "Delivered to") != NULL, strcmp(words[i][0], "K") == 0);
        free(html);
    }
    print_fixture p;
    print_fixture_make(&p);
    set_category(&p, "Z");
    char *html = html_of(&p);
    HAS(html, "VAT 0 % on 2,519.98, zero rated");
    LACKS(html, "Article 196");
    free(html);
}
END_TEST

START_TEST(a_corrected_month_has_its_own_tax)
{
    print_fixture p;
    print_fixture_make(&p);
    set_category(&p, "AE");
    p.f.tax[1] = (tb_bill_taxed){.rate = {.name = "VAT", .percent = dec("19")},
                                 .base = dec("5.00"),
                                 .amount = dec("0.95"),
                                 .late = true,
                                 .month = FIXTURE_MONTH - 1};
    p.f.bill.n_tax = 2;
    char *html = html_of(&p);
    HAS(html, "Reverse charge, 2,519.98");
    HAS(html, "VAT 19 % on 5.00, September 2026");
    HAS(html, "Article 196 of the directive");
    free(html);
    p.f.tax[1].rate = p.f.tax[0].rate; /* one reason is said once */
    p.f.tax[1].reason = "Article 196 of the directive";
    html = html_of(&p);
    HAS(html, "Reverse charge, 5.00, September 2026");
    ck_assert_ptr_null(strstr(strstr(html, "Article 196") + 1, "Article 196"));
    free(html);
}
END_TEST

START_TEST(what_is_paid_is_taken_off)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.s.paid = dec("3000.00");
    char *html = html_of(&p);
    HAS(html, "\u22123,000.00");
    HAS(html, "Please pay 74.38 USD by");
    HAS(html, "Amount due</td><td class=\"end\">74.38 USD</td>");
    free(html);
    p.f.s.paid = dec("3074.38");
    html = html_of(&p);
    HAS(html, "Nothing is left to pay.");
    LACKS(html, "Please pay");
    free(html);
}
END_TEST

START_TEST(tax_is_shown_in_the_sellers_currency_too)
{
    print_fixture p;
    print_fixture_make(&p);
    p.seller.text[TB_PARTY_TAX_CURRENCY] = "JPY";
    p.seller.text[TB_PARTY_TAX_RATE] = "151.35";
    char *html = html_of(&p);
    HAS(html, "Tax in JPY (1 USD = 151.35 JPY)");
    HAS(html, ">83,908<"); /* 554.40 x 151.35 = 83,908.44, without decimals */
    free(html);
}
END_TEST

START_TEST(currencies_have_their_own_digits)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.bill.minor_digits = 0;
    strcpy(p.f.s.currency, "JPY");
    p.f.bill.subtotal = dec("251998");
    p.f.bill.total = dec("307438");
    char *html = html_of(&p);
    HAS(html, "307,438 JPY");
    LACKS(html, "307,438.00");
    free(html);
    p.f.bill.minor_digits = 3;
    strcpy(p.f.s.currency, "KWD");
    html = html_of(&p);
    HAS(html, "307,438.000 KWD");
    free(html);
}
END_TEST

START_TEST(a_price_of_fifteen_digits_is_shown_whole)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.premium[0].price = dec("0.000000000000000000000001");
    char *html = html_of(&p);
    HAS(html, "0.000000000000001 USD per GB");
    HAS(html, "list price 0.01 USD per GB");
    free(html);
}
END_TEST

START_TEST(tiers_of_a_line_sum_to_it)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.volume[0].amount = dec("1249.995");
    p.f.volume[1].amount = dec("1249.995");
    p.f.lines[1].exact = dec("2499.99");
    p.f.lines[1].amount = dec("2499.99");
    char *html = html_of(&p); /* 1,250.00 and 1,250.00, one cent too many */
    HAS(html, "1,249.99");
    HAS(html, "1,250.00");
    free(html);
}
END_TEST

START_TEST(a_tier_names_what_it_costs_beside_its_units)
{
    print_fixture p;
    print_fixture_make(&p);
    char *html = html_of(&p);
    LACKS(html, " flat");
    free(html);
    p.f.volume[0].amount = dec("2510");
    p.f.lines[1].exact = dec("2510.000000000012");
    p.f.lines[1].amount = dec("2510.00");
    html = html_of(&p);
    HAS(html, "plus 10 USD flat");
    free(html);
}
END_TEST

START_TEST(blocks_are_priced_by_block)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.requests[0].price = p.f.requests[0].shown = dec("0.5");
    char *html = html_of(&p);
    HAS(html, "0.5 USD per block");
    free(html);
}
END_TEST

START_TEST(the_auditors_page_has_what_was_rounded_and_the_evidence)
{
    static const char *const said[] = {"For auditors",
                                       "2519.975001234572",
                                       "0.004998765428",
                                       "standard-2026, aaaaaaaa",
                                       PRINT_SHA256,
                                       "bbbbbbbb",
                                       "cccccccc",
                                       "0.00000123456",
                                       "500000000000003 bytes",
                                       "2 buckets",
                                       "0123456789abcdef0123456789abcdef",
                                       "2026-10-01T00:00:00Z to 2026-11-01T00:00:00Z"};
    print_fixture p;
    print_fixture_make(&p);
    p.options.auditor = true;
    char *html = html_of(&p);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        HAS(html, said[i]);
    free(html);
}
END_TEST

START_TEST(an_auditor_reads_least_amounts_by_seconds)
{
    static const tb_line_kind kinds[] = {TB_LINE_MINIMUM, TB_LINE_COMMIT, TB_LINE_METER_MINIMUM};
    print_fixture p;
    print_fixture_make(&p);
    p.options.auditor = true;
    tb_bill_tier row = make_tier(0, 1252800, "1", "1", "0.467741935483870968");
    p.f.lines[5].tiers = &row;
    p.f.lines[5].n_tiers = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        p.f.lines[5].kind = kinds[i];
        char *html = html_of(&p);
        HAS(html, "1252800 seconds");
        HAS(html, "1 month");
        LACKS(html, "1252800 month");
        free(html);
    }
}
END_TEST

START_TEST(a_month_without_charges_says_so)
{
    print_fixture p;
    print_fixture_make(&p);
    p.f.bill.n_lines = 0;
    char *html = html_of(&p);
    HAS(html, "Nothing is charged for this month.");
    LACKS(html, "Charges in detail");
    free(html);
}
END_TEST

START_TEST(names_may_be_of_any_script_or_none)
{
    print_fixture p;
    print_fixture_make(&p);
    p.buyer.text[TB_PARTY_NAME] = "\u05d7\u05d1\u05e8\u05d4";
    p.zones[0].name = "\u6771\u4eac";
    p.zones[1].name =
        "a\xff\x01z\u202eb\u2067\uffff\U0010fffe"; /* no UTF-8, a control, marks that turn what follows, noncharacters */
    char *html = html_of(&p);
    HAS(html, "<strong dir=\"auto\">\u05d7\u05d1\u05e8\u05d4</strong>");
    HAS(html, "<bdi dir=\"auto\">\u6771\u4eac</bdi>");
    HAS(html, "a\ufffd z b \ufffd\ufffd");
    free(html);
}
END_TEST

START_TEST(an_auditors_page_and_letter_paper_are_asked_for)
{
    print_fixture p;
    print_fixture_make(&p);
    char *html = html_of(&p);
    HAS(html, "size:A4");
    free(html);
    p.options.letter = true;
    html = html_of(&p);
    HAS(html, "size:letter");
    free(html);
}
END_TEST

/* --- figures --- */

static void quantity_is(tb__language language, tb_line_kind kind, int64_t units, const char *want)
{
    tb_buf out;
    tb_buf_init(&out, 1000, NULL);
    ck_assert_int_eq(tb__add_quantity(&out, language, kind, units, FIXTURE_MONTH, NULL), TB_OK);
    char *text = text_of(&out);
    ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(quantities_are_rounded_to_what_people_remember)
{
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, 0, "0 B");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, 999, "999 B");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, 18200000000, "18.2 GB");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, 18249999999, "18.2 GB");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, 3141592653, "3.14 GB");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, INT64_C(999999999999), "1,000 GB");
    quantity_is(TB__ENGLISH, TB_LINE_BANDWIDTH, INT64_C(31201000000000), "31.2 TB");
    quantity_is(TB__GERMAN, TB_LINE_BANDWIDTH, -18200000000, "\u221218,2 GB");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 17 * 86400, "17 days of 31");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 1812916, "21 days of 31");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 86400, "1 day of 31");
    quantity_is(TB__GERMAN, TB_LINE_OPTIMIZER, 86400, "1 Tag von 31");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 100000, "27.8 hours");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 3600, "1 hour");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 300, "5 minutes");
    quantity_is(TB__ENGLISH, TB_LINE_OPTIMIZER, 1, "1 second");
    quantity_is(TB__ENGLISH, TB_LINE_BALANCER_REQUESTS, 1500000, "1.5 million requests");
    quantity_is(TB__ENGLISH, TB_LINE_BALANCER_REQUESTS, 12345, "12,345 requests");
    quantity_is(TB__ENGLISH, TB_LINE_BALANCER_REQUESTS, 1, "1 request");
    quantity_is(TB__GERMAN, TB_LINE_BALANCER_REQUESTS, 1234567890, "1.234,6 Mio. Anfragen");
}
END_TEST

/* Every word has both languages, and as many places to fill in in each. */
START_TEST(every_word_has_its_german)
{
    for (int i = 0; i < TB__WORD_COUNT; i++) {
        const char *english = tb__word_of(TB__ENGLISH, (tb__word)i);
        const char *german = tb__word_of(TB__GERMAN, (tb__word)i);
        size_t places[2] = {0, 0};
        ck_assert(*english && *german);
        for (const char *at = english; (at = strstr(at, "%s")); at++)
            places[0]++;
        for (const char *at = german; (at = strstr(at, "%s")); at++)
            places[1]++;
        ck_assert_msg(places[0] == places[1], "%s", english);
    }
}
END_TEST

/* --- damage --- */

static tb_code html_code(const tb_statement *s)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    tb_code code = tb_print_html(s, "", NULL, &(tb_print_options){.auditor = true}, &out, &err);
    ck_assert_int_eq(err.code, code);
    tb_buf_release(&out);
    return code;
}

/* No bill has such figures; a damaged text can. */
START_TEST(a_figure_that_cannot_be_shown_is_an_error)
{
    const tb_decimal most = {((tb_i128)1 << 126) - 1, 0};
    print_fixture p;
    print_fixture_make(&p);
    ck_assert_int_eq(html_code(&p.f.s), TB_OK);
    p.f.volume[1].price = most; /* of a tier among several */
    ck_assert_int_eq(html_code(&p.f.s), TB_E_OVERFLOW);
    print_fixture_make(&p);
    p.f.premium[0].price = most; /* of a whole line */
    ck_assert_int_eq(html_code(&p.f.s), TB_E_OVERFLOW);
    print_fixture_make(&p);
    p.f.bill.total = p.f.s.paid = most;
    p.f.s.paid.mantissa = -most.mantissa * 2;
    ck_assert_int_eq(html_code(&p.f.s), TB_E_OVERFLOW);
}
END_TEST

START_TEST(a_document_says_where_it_is_in_the_log)
{
    tb_invoice_proof proof = {.log = "example.com/<log>", .index = 1234567, .root = "0123456789abcdef"};
    print_fixture p;
    print_fixture_make(&p);
    p.names.proof = &proof;
    char *html = html_of(&p);
    HAS(html, ">Log of documents example.com/&lt;log&gt;, entry 1234567, checkpoint 0123 4567 89ab cdef<");
    LACKS(html, "<svg");
    LACKS(html, "Check this document yourself");
    free(html);
    proof.address = "https://billing.example.com/billing/invoices/2026-000007/proof";
    html = html_of(&p);
    HAS(html, ">Check this document yourself<");
    HAS(html, "<a href=\"https://billing.example.com/billing/invoices/2026-000007/proof\">https://billing.example.com/billing/");
    /* 62 bytes, level M: version 4, which has 33 squares and a margin of 4. Its first row begins with a corner's seven. */
    HAS(html, "<svg viewBox=\"0 0 41 41\" aria-hidden=\"true\"><path d=\"M4 4h7v1h-7z");
    HAS(html, "M30 4h7v1h-7zM4 5h1v1h-1zM10 5h1v1h-1z");
    free(html);
    p.buyer.text[TB_PARTY_LANGUAGE] = "de";
    html = html_of(&p);
    HAS(html, ">Protokoll der Dokumente example.com/&lt;log&gt;, Eintrag 1234567, Pr\u00fcfpunkt 0123 4567 89ab cdef<");
    free(html);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print");
    TCase *test = tcase_create("print");
    tcase_add_test(test, a_page_loads_nothing_and_escapes_everything);
    tcase_add_test(test, an_invoice_says_who_what_how_much_and_how_to_pay);
    tcase_add_test(test, a_document_says_where_it_is_in_the_log);
    tcase_add_test(test, quantities_and_prices_are_for_people);
    tcase_add_test(test, german_words_and_figures);
    tcase_add_test(test, a_cap_says_when_it_was_reached);
    tcase_add_test(test, a_credit_note_names_what_it_corrects_and_asks_for_nothing);
    tcase_add_test(test, a_replacement_names_what_it_replaces);
    tcase_add_test(test, a_void_invoice_is_marked_and_asks_for_nothing);
    tcase_add_test(test, a_draft_says_so_and_what_it_lacks);
    tcase_add_test(test, corrections_stand_apart_with_their_own_period);
    tcase_add_test(test, taxes_are_named_in_words_by_their_category);
    tcase_add_test(test, a_corrected_month_has_its_own_tax);
    tcase_add_test(test, what_is_paid_is_taken_off);
    tcase_add_test(test, tax_is_shown_in_the_sellers_currency_too);
    tcase_add_test(test, currencies_have_their_own_digits);
    tcase_add_test(test, a_price_of_fifteen_digits_is_shown_whole);
    tcase_add_test(test, tiers_of_a_line_sum_to_it);
    tcase_add_test(test, a_tier_names_what_it_costs_beside_its_units);
    tcase_add_test(test, blocks_are_priced_by_block);
    tcase_add_test(test, the_auditors_page_has_what_was_rounded_and_the_evidence);
    tcase_add_test(test, an_auditor_reads_least_amounts_by_seconds);
    tcase_add_test(test, a_month_without_charges_says_so);
    tcase_add_test(test, names_may_be_of_any_script_or_none);
    tcase_add_test(test, an_auditors_page_and_letter_paper_are_asked_for);
    tcase_add_test(test, quantities_are_rounded_to_what_people_remember);
    tcase_add_test(test, every_word_has_its_german);
    tcase_add_test(test, a_figure_that_cannot_be_shown_is_an_error);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
