/* An account's statement: as JSON, as CSV and as a page. */
#include "unit/print_fixture.h"

#include "tollbook/print.h"

static const tb_account_entry entries[] = {
    {.at_us = INT64_C(1793750400000000),
     .kind = "invoice",
     .amount = {-307438, 2},
     .balance = {-257438, 2},
     .reference = "2026-000007",
     .note = ""},
    {.at_us = INT64_C(1793836800000000),
     .kind = "credit_drawn",
     .amount = {0, 0},
     .balance = {-257438, 2},
     .reference = "2026-000007",
     .note = "",
     .drawn = {2500, 2}},
    {.at_us = INT64_C(1793923200000000),
     .kind = "payment",
     .amount = {257438, 2},
     .balance = {0, 2},
     .reference = "bank-1",
     .note = "=thanks"},
    {.at_us = INT64_C(1794009600000000),
     .kind = "credit",
     .amount = {1000, 2},
     .balance = {1000, 2},
     .reference = "gift",
     .note = "",
     .expires = "2026-12-31"},
};

/* November 2026. */
static tb_account_statement account_statement(const print_fixture *p)
{
    return (tb_account_statement){.account = 1,
                                  .name = "sample",
                                  .currency = "USD",
                                  .minor_digits = 2,
                                  .first = 20758,
                                  .last = 20787,
                                  .opening = {50000, 2},
                                  .closing = {1000, 2},
                                  .entries = entries,
                                  .n = sizeof entries / sizeof *entries,
                                  .seller = &p->seller,
                                  .buyer = &p->buyer};
}

START_TEST(an_accounts_statement_as_data)
{
    print_fixture p;
    tb_buf out;
    print_fixture_make(&p);
    const tb_account_statement s = account_statement(&p);
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    tb_account_json(&s, &out);
    char *text = text_of(&out);
    ck_assert_str_eq(text, "{\"account\":1,\"name\":\"sample\",\"currency\":\"USD\",\"from\":"
                           "\"2026-11-01\",\"to\":\"2026-11-30\","
                           "\"opening\":\"500\",\"closing\":\"10\",\"entries\":["
                           "{\"time\":\"2026-11-04T00:00:00Z\",\"kind\":\"invoice\",\"amount\":\"-"
                           "3074.38\",\"balance\":\"-2574.38\","
                           "\"reference\":\"2026-000007\",\"note\":null},"
                           "{\"time\":\"2026-11-05T00:00:00Z\",\"kind\":\"credit_drawn\","
                           "\"amount\":\"0\",\"balance\":\"-2574.38\","
                           "\"reference\":\"2026-000007\",\"note\":null,\"drawn\":\"25\"},"
                           "{\"time\":\"2026-11-06T00:00:00Z\",\"kind\":\"payment\",\"amount\":"
                           "\"2574.38\",\"balance\":\"0\","
                           "\"reference\":\"bank-1\",\"note\":\"=thanks\"},"
                           "{\"time\":\"2026-11-07T00:00:00Z\",\"kind\":\"credit\",\"amount\":"
                           "\"10\",\"balance\":\"10\","
                           "\"reference\":\"gift\",\"note\":null,\"expires\":\"2026-12-31\"}]}");
    free(text);
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    tb_account_csv(&s, &out);
    text = text_of(&out);
    ck_assert_str_eq(text,
                     "time,kind,amount,balance,currency,reference,note\r\n"
                     "2026-11-01T00:00:00Z,opening,0.00,500.00,USD,,\r\n"
                     "2026-11-04T00:00:00Z,invoice,-3074.38,-2574.38,USD,2026-000007,\r\n"
                     "2026-11-05T00:00:00Z,credit_drawn,0.00,-2574.38,USD,2026-000007,25.00\r\n"
                     "2026-11-06T00:00:00Z,payment,2574.38,0.00,USD,bank-1,'=thanks\r\n"
                     "2026-11-07T00:00:00Z,credit,10.00,10.00,USD,gift,\r\n"
                     "2026-12-01T00:00:00Z,closing,0.00,10.00,USD,,\r\n");
    free(text);
}
END_TEST

#define TABLE_ROW(date, what, amount, balance)                                                     \
    "<tr><td class=\"id\">" date "</td><td class=\"wide\"><bdi dir=\"auto\">" what "</td>"         \
    "<td class=\"end\">" amount "</td><td class=\"end sum\">" balance "</td></tr>"

static char *account_page(const tb_account_statement *s)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    ck_assert_int_eq(tb_account_html(s, NULL, &out, &err), TB_OK);
    return text_of(&out);
}

START_TEST(an_accounts_statement_as_a_page)
{
    static const char *const said[] = {
        "Statement of account</h1><p dir=\"auto\">1 November 2026 \u2013 30 November 2026<",
        "<dt>Account</dt><dd dir=\"auto\">1 (sample)<",
        "<dt>Currency</dt><dd dir=\"auto\">USD<",
        ">In your favour on 30 November 2026</span><strong dir=\"auto\">10.00 USD<",
        ">Statement of account \u00b7 Example CDN \u00b7 1 November 2026 \u2013 30 November 2026<",
        TABLE_ROW("1 November 2026", "Opening balance</bdi>", "", "500.00"),
        TABLE_ROW("4 November 2026", "Invoice 2026-000007</bdi>", "\u22123,074.38",
                  "\u22122,574.38"),
        TABLE_ROW("5 November 2026", "Credit used (25.00 USD): 2026-000007</bdi>", "0.00",
                  "\u22122,574.38"),
        TABLE_ROW("6 November 2026",
                  "Payment bank-1</bdi><small class=\"note\" dir=\"auto\">=thanks</small>",
                  "2,574.38", "0.00"),
        TABLE_ROW("7 November 2026", "Credit, valid until 31 December 2026</bdi>", "10.00",
                  "10.00"),
        TABLE_ROW("30 November 2026", "Closing balance</bdi>", "", "10.00"),
    };
    print_fixture p;
    print_fixture_make(&p);
    tb_account_statement s = account_statement(&p);
    char *html = account_page(&s);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        HAS(html, said[i]);
    free(html);
    s.closing = (tb_decimal){-1000, 2};
    html = account_page(&s);
    HAS(html, " on 30 November 2026</span><strong dir=\"auto\">10.00 USD<");
    LACKS(html, "In your favour");
    free(html);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print_account");
    TCase *test = tcase_create("print_account");
    tcase_add_test(test, an_accounts_statement_as_data);
    tcase_add_test(test, an_accounts_statement_as_a_page);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
