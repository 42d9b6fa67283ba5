/* Documents of a bill with meters: the canonical text and its way back, corrections, tables, pages, an electronic invoice
 * and the general ledger. The month is October 2026, 2,678,400 seconds. */
#include "print_fixture.h"

#include "tollbook/calendar.h"
#include "tollbook/entry.h"
#include "tollbook/ubl.h"

#define SECONDS INT64_C(2678400)
#define GB      ((tb_i128)1000000000)
#define HASH    "0123456789abcdef0123456789abcdef"

static const char document[] =
    "{\"book\":\"m\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\",\"bandwidth\":{\"percentile\":"
    "{\"per\":\"Mbps\",\"percentile\":\"95\",\"price\":\"0.80\"}},\"meters\":{"
    "\"calls\":{\"per\":\"1000000\",\"scope\":\"resource\",\"price\":\"0.20\"},"
    "\"packs\":{\"per\":\"pack\",\"mode\":\"package\",\"block\":\"10\",\"tiers\":[{\"from\":\"0\",\"to\":null,"
    "\"price_per_block\":\"3\",\"flat\":\"1\"}],\"minimum\":\"20\"},"
    "\"storage\":{\"per\":\"GB\",\"time\":\"month\",\"by\":\"region\",\"prices\":{\"DE\":{\"tiers\":["
    "{\"from\":\"0\",\"to\":\"100\",\"price\":\"0.02\"},{\"from\":\"100\",\"to\":null,\"price\":\"0.01\",\"flat\":\"2.50\"}"
    "]},\"*\":{\"price\":\"0.03\"}}}}}";

static const tb_meter meters[] = {
    {.id = "calls", .name = "Script calls", .kind = TB_METER_COUNTER, .unit = "request", .display_per = 1,
     .noun = "script", .unece = "C62", .ledger_code = "4100"},
    {.id = "packs", .name = "Packs", .kind = TB_METER_COUNTER, .unit = "pack", .display_per = 1, .noun = "shop",
     .unece = "XPK", .ledger_code = "4200"},
    {.id = "storage", .name = "Storage, hot", .kind = TB_METER_GAUGE, .unit = "byte", .display_unit = "GB",
     .display_per = 1000000000, .noun = "storage_zone", .n_dimensions = 1, .dimension = {"region"}, .unece = "C62"},
};

typedef struct sample {
    tb_book book;
    tb_bill_part part;
    tb_bill_usage usage[8];
    uint64_t hours[744];
    tb_bill_input in;
    tb_bill bill;
    tb_statement_book books[1];
    print_fixture print;
    tb_statement s;
} sample;

static void add(sample *x, uint32_t meter, const char *resource, const char *region, tb_i128 quantity)
{
    x->usage[x->in.n_usage++] = (tb_bill_usage){.meter = meter, .resource = resource, .dimension = {region, ""},
                                                .quantity = quantity,
                                                .evidence = {x->part.from_us, x->part.to_us, 3, HASH}};
}

static void rate(sample *x)
{
    tb_error err = {0};
    tb_bill_release(&x->bill);
    ck_assert_msg(!tb_bill_rate(&x->in, NULL, &x->bill, &err), "%s", err.message);
    tb_statement_init(&x->s, &x->in, &x->bill, x->books);
}

/* 150 GB for the month in Germany, 1 GB for an hour elsewhere, calls of two scripts, 25 packs, 80 Mbps. */
static void make(sample *x)
{
    tb_error err = {0};
    memset(x, 0, sizeof *x);
    print_fixture_make(&x->print);
    ck_assert_msg(!tb_book_parse(document, strlen(document), NULL, &x->book, &err), "%s: %s", err.field, err.message);
    x->part = (tb_bill_part){&x->book, tb_month_start_us(FIXTURE_MONTH), tb_month_start_us(FIXTURE_MONTH + 1)};
    x->in = (tb_bill_input){.account = 1, .month = FIXTURE_MONTH, .currency = "USD", .parts = &x->part, .n_parts = 1,
                            .meters = meters, .n_meters = 3, .usage = x->usage, .percentile = true};
    add(x, 0, "a_1", "", 1500000);
    add(x, 0, "b", "", 999);
    add(x, 1, "shop", "", 25);
    add(x, 2, "z1", "DE", 150 * GB * SECONDS);
    add(x, 2, "z2", "BR, x", GB * 3600);
    for (int i = 0; i < 100; i++)
        x->hours[600 + i] = UINT64_C(36000000000);
    x->in.bandwidth = (tb_bill_samples){.value = x->hours, .n = 744, .interval = 3600, .present = 100,
                                        .evidence = {x->part.from_us, x->part.to_us, 5, HASH}};
    rate(x);
}

static void release(sample *x)
{
    tb_bill_release(&x->bill);
    tb_book_release(&x->book);
}

static char *json(const tb_statement *s)
{
    tb_buf out;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    ck_assert(!tb_statement_json(s, &out, NULL, NULL));
    return text_of(&out);
}

static void has(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "lacks %s:\n%.6000s", wanted, text);
}

START_TEST(the_canonical_text_comes_back)
{
    sample x;
    tb_paper paper;
    tb_error err = {0};
    make(&x);
    char *text = json(&x.s);
    has(text, "{\"amount\":\"64.00\",\"evidence\":{\"buckets\":5,\"from\":\"2026-10-26T00:00:00Z\",\"hash\":\"" HASH "\","
              "\"sum\":\"36000000000\",\"to\":\"2026-10-26T01:00:00Z\"},\"exact\":\"64\",\"kind\":\"percentile\",\"line\":1,"
              "\"per\":\"450000000\",\"per_unit\":\"Mbps\",\"quantity\":\"36000000000\",\"region\":null,"
              "\"resource\":\"account:1\",\"tiers\":[{\"amount\":\"64\",\"from\":\"0\",\"list_price\":\"0.8\",\"part\":0,"
              "\"price\":\"0.8\",\"to\":\"36000000000\",\"units\":\"36000000000\"}],\"unit\":\"byte\"}");
    has(text, "{\"amount\":\"0.30\",\"description\":\"Script calls\",\"evidence\":{\"buckets\":3,");
    has(text, "\"exact\":\"0.3\",\"kind\":\"meter\",\"ledger_code\":\"4100\",\"line\":2,\"meter\":\"calls\","
              "\"per\":\"1000000\",\"quantity\":\"1500000\",\"region\":\"\",\"resource\":\"script:a_1\"");
    has(text, "\"unece\":\"C62\",\"unit\":\"request\"}");
    has(text, "\"tiers\":[{\"amount\":\"10\",\"blocks\":\"3\",\"from\":\"0\",");
    has(text, "\"description\":\"Storage, hot\",");
    has(text, "\"exact\":\"5\",\"kind\":\"meter\",\"line\":6,\"meter\":\"storage\",\"per\":\"2678400000000000\","
              "\"per_unit\":\"GB-month\",\"quantity\":\"401760000000000000\",\"region\":\"DE\","
              "\"resource\":\"meter:storage\"");
    has(text, "\"unit\":\"byte-second\"}");
    has(text, "\"kind\":\"minimum\",\"ledger_code\":\"4200\",\"line\":7,\"meter\":\"packs\",\"quantity\":\"1\"");
    ck_assert_msg(!tb_paper_parse(text, strlen(text), NULL, &paper, &err), "%s at %zu: %s", err.message, err.byte,
                  text + err.byte);
    ck_assert_int_eq(paper.statement.bill->lines[6].kind, TB_LINE_METER_MINIMUM);
    char *again = json(&paper.statement);
    ck_assert_str_eq(again, text);
    tb_paper_release(&paper);
    free(again);
    free(text);
    release(&x);
}
END_TEST

START_TEST(late_usage_is_corrected_by_meter_resource_and_region)
{
    static sample before, after;
    tb_corrections c;
    tb_error err = {0};
    make(&before);
    make(&after);
    after.usage[1].quantity = 1000999; /* script b */
    after.usage[3].quantity += 10 * GB * SECONDS;
    after.usage[4].dimension[0] = "US"; /* instead of Brazil */
    rate(&after);
    const tb_late_month late = {FIXTURE_MONTH, "2026-000001", 7, &before.bill, &after.bill};
    ck_assert_msg(!tb_correct(&late, NULL, &c, &err), "%s", err.message);
    release(&before);
    release(&after);
    ck_assert_uint_eq(c.n, 4);
    ck_assert_str_eq(c.lines[0].resource, "script:b");
    ck_assert_str_eq(c.lines[0].item->name, "Script calls");
    ck_assert_int_eq(tb_decimal_compare(c.lines[0].exact, dec("0.2")), 0);
    ck_assert_str_eq(c.lines[1].region, "DE");
    ck_assert_int_eq(tb_decimal_compare(c.lines[1].exact, dec("0.1")), 0);
    ck_assert_uint_eq(c.lines[1].n_tiers, 1);
    ck_assert_str_eq(c.lines[2].region, "US");
    ck_assert_str_eq(c.lines[3].region, "BR, x");
    ck_assert(c.lines[3].quantity == -GB * 3600);
    tb_corrections_release(&c);
}
END_TEST

START_TEST(tables_show_units_that_prices_are_for)
{
    sample x;
    tb_buf out;
    make(&x);
    tb_buf_init(&out, 1 << 20, NULL);
    tb_invoice_csv(&x.s, &out);
    char *csv = text_of(&out);
    has(csv, ",2,meter,script:a_1,,1500000,request,0.0000002,0.3,0.30,");
    has(csv, ",4,meter,meter:packs,,25,pack,3,10,10.00,");
    has(csv, ",5,meter,meter:storage,\"BR, x\",3600000000000,byte-second,,");
    free(csv);
    tb_buf_init(&out, 1 << 20, NULL);
    ck_assert(!tb_focus_csv(&x.s, &x.print.names, &out, NULL));
    char *focus = text_of(&out);
    has(focus, ",36000000000,B,64,0.8,");
    has(focus, ",Standard,80,Mbps,");
    has(focus, ",1500000,Requests,0.3,0.2,");
    has(focus, ",Standard,1.5,1000000 Requests,");
    has(focus, ",script:a_1,,script,Networking,Script calls,Other (Networking),meter-calls,Script calls,,m/meter-calls,");
    has(focus, ",267840000000000000,B-Seconds,2,0.02,");
    has(focus, ",Standard,100,GB-Months,");
    has(focus, ",\"Storage, hot, DE\",Usage-Based,");
    has(focus, ",\"Storage, hot\",Other (Networking),meter-storage-DE,\"Storage, hot\",,m/meter-storage-DE@0.02,");
    has(focus, "Packs (what the usage of the meter lacks of its minimum),Recurring");
    free(focus);
    release(&x);
}
END_TEST

static char *page(sample *x, const char *language)
{
    x->print.buyer.text[TB_PARTY_LANGUAGE] = language;
    x->s.seller = &x->print.seller;
    x->s.buyer = &x->print.buyer;
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    ck_assert_msg(!tb_print_html(&x->s, PRINT_SHA256, &x->print.names, &x->print.options, &out, &err), "%s", err.message);
    return text_of(&out);
}

START_TEST(a_page_says_it_in_words)
{
    sample x;
    make(&x);
    char *html = page(&x, "en");
    has(html, "billed interval: 2026-10-26T00:00:00Z to 2026-10-26T01:00:00Z");
    has(html, "80 Mbps");
    has(html, "0.8 USD per Mbps");
    has(html, "Script calls");
    has(html, "script a_1");
    has(html, "1.5 million requests");
    has(html, "0.2 USD per 1,000,000 requests");
    has(html, "3 USD per block");
    has(html, "Storage, hot, DE");
    has(html, "150 GB-months");
    has(html, "first 100 GB-months");
    has(html, "0.02 USD per GB-month");
    has(html, "plus 2.5 USD flat");
    has(html, "Packs, minimum");
    free(html);
    html = page(&x, "de");
    has(html, "150 GB-Monate");
    has(html, "0,02 USD je GB-Monat");
    free(html);
    release(&x);
}
END_TEST

START_TEST(an_electronic_invoice_has_codes_of_units)
{
    sample x;
    tb_buf out;
    tb_error err = {0};
    make(&x);
    strcpy(x.s.number, "2026-000001");
    strcpy(x.s.state, "final");
    strcpy(x.s.issued, "2026-11-04");
    strcpy(x.s.due, "2026-11-18");
    x.print.seller.text[TB_PARTY_ENDPOINT_ID] = x.print.buyer.text[TB_PARTY_ENDPOINT_ID] = "DE123456789";
    x.print.seller.text[TB_PARTY_ENDPOINT_SCHEME] = x.print.buyer.text[TB_PARTY_ENDPOINT_SCHEME] = "9930";
    x.s.seller = &x.print.seller;
    x.s.buyer = &x.print.buyer;
    tb_bill_taxed tax = {.rate = {.name = "VAT", .percent = dec("0")}, .base = x.bill.subtotal,
                         .amount = {0, 2}};
    x.bill.tax = &tax;
    x.bill.n_tax = 1;
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    ck_assert_msg(!tb_ubl_write(&x.s, &x.print.names, TB_UBL_PEPPOL, &out, &err), "%s: %s", err.field, err.message);
    char *xml = text_of(&out);
    has(xml, "<cbc:InvoicedQuantity unitCode=\"C62\">80</cbc:InvoicedQuantity>");
    has(xml, "<cbc:PriceAmount currencyID=\"USD\">0.8</cbc:PriceAmount>");
    has(xml, "<cbc:InvoicedQuantity unitCode=\"C62\">1500000</cbc:InvoicedQuantity>");
    has(xml, "<cbc:BaseQuantity unitCode=\"C62\">1000000</cbc:BaseQuantity>");
    has(xml, "<cbc:InvoicedQuantity unitCode=\"C62\">100</cbc:InvoicedQuantity>");
    has(xml, "From 100 GB-month to 150 GB-month.");
    has(xml, "<cbc:Name>Script calls, script a_1</cbc:Name>");
    has(xml, "<cbc:ID>meter-calls</cbc:ID>");
    has(xml, "<cbc:AllowanceChargeReason>Packs, minimum</cbc:AllowanceChargeReason>");
    free(xml);
    release(&x);
}
END_TEST

START_TEST(revenue_is_booked_under_a_meters_own_code)
{
    sample x;
    tb_products products = {.n_own = 0};
    tb_journal_codes codes;
    tb_decimal total;
    tb_buf out;
    make(&x);
    tb_journal_codes_of(NULL, &codes);
    ck_assert(!tb_products_add(&products, &x.s, NULL));
    ck_assert_uint_eq(products.n_own, 2);
    ck_assert(!tb_products_total(&products, &total, NULL));
    ck_assert_int_eq(tb_decimal_compare(total, x.bill.subtotal), 0);
    const tb_journal_entry entry = {.day = 20000, .id = "e", .document = "d", .currency = "USD", .account = 1,
                                    .codes = &codes};
    tb_buf_init(&out, 65536, NULL);
    ck_assert(!tb_journal_products(&out, &entry, &products, -1, "", NULL));
    char *text = text_of(&out);
    has(text, ",4000,revenue,1,d,percentile,,64.00,USD");
    has(text, ",4000,revenue,1,d,meter,,5.00,USD");
    has(text, ",4100,revenue,1,d,meter,,0.30,USD");
    has(text, ",4200,revenue,1,d,meter,,20.00,USD"); /* the packs and their minimum */
    free(text);
    tb_products none = products;
    ck_assert(!tb_products_join(&none, &products, -1, NULL));
    ck_assert(!tb_products_any(&none));
    for (int i = 0; i < TB_PRODUCT_CODES_MAX - 2; i++) {
        char code[8];
        snprintf(code, sizeof code, "5%03d", i);
        ck_assert(!tb_products_add_amount(&products, TB_LINE_METER, code, dec("1"), NULL));
    }
    ck_assert_int_eq(tb_products_add_amount(&products, TB_LINE_METER, "6", dec("1"), NULL), TB_E_TOO_LARGE);
    release(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("invoice_meters");
    TCase *all = tcase_create("documents");
    tcase_add_test(all, the_canonical_text_comes_back);
    tcase_add_test(all, late_usage_is_corrected_by_meter_resource_and_region);
    tcase_add_test(all, tables_show_units_that_prices_are_for);
    tcase_add_test(all, a_page_says_it_in_words);
    tcase_add_test(all, an_electronic_invoice_has_codes_of_units);
    tcase_add_test(all, revenue_is_booked_under_a_meters_own_code);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
