/* invoice.h: the canonical text and its way back (billing.md 5). */
#include "invoice_fixture.h"

static char *json_of(const tb_statement *s, char sha[65])
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    ck_assert_msg(tb_statement_json(s, &out, sha, &err) == TB_OK, "%s", err.message);
    return text_of(&out);
}

/* Stands for the hash. */
#define HASH "0000000000000000000000000000000000000000000000000000000000000000"

/* The lines are the same in every version. */
#define DRAFT_LINES                                                                                \
    "\"lines\":["                                                                                  \
    "{\"amount\":\"0.00\",\"evidence\":{\"buckets\":2,\"from\":\"2026-10-01T00:00:00Z\",\"hash\":" \
    "\"0123456789abcdef0123456789abcdef\",\"sum\":\"123456\",\"to\":\"2026-11-01T00:00:00Z\"},"    \
    "\"exact\":\"0.00000123456\",\"kind\":\"bandwidth\",\"line\":1,\"quantity\":\"123456\","       \
    "\"region\":\"EU\",\"resource\":\"zone:101\",\"tiers\":[{\"amount\":\"0.00000123456\",\"from\":" \
    "\"0\",\"list_price\":\"0.01\",\"part\":0,\"price\":\"0.00000000001\",\"to\":\"123456\","      \
    "\"units\":\"123456\"}],\"unit\":\"byte\"},"                                                   \
    "{\"amount\":\"2500.00\",\"evidence\":null,\"exact\":\"2500.000000000012\",\"kind\":\"volume\"," \
    "\"line\":2,\"quantity\":\"500000000000003\",\"region\":null,\"resource\":\"account:1\","      \
    "\"shares\":[{\"amount\":\"2000.00\",\"bytes\":\"400000000000000\",\"exact\":"                 \
    "\"2000.0000000000095\",\"zone\":102},{\"amount\":\"500.00\",\"bytes\":\"100000000000003\","   \
    "\"exact\":\"500.0000000000025\",\"zone\":104}],\"tiers\":[{\"amount\":\"2500\",\"from\":\"0\"," \
    "\"list_price\":\"0.005\",\"part\":0,\"price\":\"0.000000000005\",\"to\":\"500000000000000\"," \
    "\"units\":\"500000000000000\"},{\"amount\":\"0.000000000012\",\"from\":\"500000000000000\","  \
    "\"list_price\":\"0.004\",\"part\":0,\"price\":\"0.000000000004\",\"to\":\"500000000000003\"," \
    "\"units\":\"3\"}],\"unit\":\"byte\"},"                                                        \
    "{\"amount\":\"9.50\",\"evidence\":null,\"exact\":\"9.5\",\"kind\":\"optimizer\",\"line\":3,"  \
    "\"quantity\":\"2678400\",\"region\":null,\"resource\":\"zone:103\",\"tiers\":[],\"unit\":"    \
    "\"second\"},"                                                                                 \
    "{\"amount\":\"9.50\",\"evidence\":null,\"exact\":\"9.5\",\"kind\":\"balancer_fee\",\"line\":4," \
    "\"quantity\":\"2678400\",\"region\":null,\"resource\":\"load_balancer:7\",\"tiers\":["        \
    "{\"amount\":\"9.5\",\"from\":\"0\",\"list_price\":\"9.5\",\"part\":0,\"price\":\"9.5\","      \
    "\"to\":\"2678400\",\"units\":\"2678400\"}],\"unit\":\"second\"},"                             \
    "{\"amount\":\"0.98\",\"evidence\":null,\"exact\":\"0.975\",\"kind\":\"balancer_requests\","   \
    "\"line\":5,\"quantity\":\"51500000\",\"region\":null,\"resource\":\"load_balancer:7\","       \
    "\"tiers\":[{\"amount\":\"0.975\",\"from\":\"50000000\",\"list_price\":\"0.65\",\"part\":0,"   \
    "\"price\":\"0.00000065\",\"to\":\"51500000\",\"units\":\"1500000\"}],\"unit\":\"request\"},"  \
    "{\"amount\":\"0.00\",\"evidence\":null,\"exact\":\"0\",\"kind\":\"minimum\",\"line\":6,"      \
    "\"quantity\":\"1\",\"region\":null,\"resource\":\"account:1\",\"tiers\":[],\"unit\":\"month\"}" \
    "],"

#define DRAFT_UNPRICED                                                                             \
    "\"unpriced\":[{\"quantity\":\"77\",\"reason\":\"Name \\\"QQ\\\" in a region.\",\"resource\":"       \
    "\"zone:105\",\"unit\":\"byte\",\"what\":\"QQ\"}]"

#define DRAFT_BEGIN                                                                                \
    "{\"account\":1,\"book\":{\"id\":\"standard-2026\",\"sha256\":"                                   \
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"},"

#define DRAFT_PERIOD                                                                               \
    "\"period\":{\"end\":\"2026-11-01T00:00:00Z\",\"start\":\"2026-10-01T00:00:00Z\"},"               \
    "\"previous\":null,\"residual\":\"0.004998765428\","

static const char draft_text[] =
    DRAFT_BEGIN "\"buyer\":null,\"currency\":\"USD\",\"due\":null,\"issued\":null,"
                "\"kind\":\"invoice\",\"ledger\":null," DRAFT_LINES
                "\"number\":null,\"paid\":\"0.00\",\"payable\":\"3074.38\"," DRAFT_PERIOD
                "\"seller\":null,\"sha256\":\"" HASH "\",\"state\":\"draft\",\"subtotal\":\"2519.98\","
                "\"tax\":[{\"amount\":\"554.40\",\"base\":\"2519.98\",\"category\":\"S\","
                "\"name\":\"VAT, 22 %\",\"percent\":\"22\",\"reason\":null,"
                "\"reason_code\":null}],\"total\":\"3074.38\"," DRAFT_UNPRICED
                ",\"version\":2,\"watermark\":123}";

/* Before texts had a version. What was stored so stays so. */
static const char first_text[] =
    DRAFT_BEGIN "\"currency\":\"USD\",\"kind\":\"invoice\"," DRAFT_LINES
                "\"number\":null," DRAFT_PERIOD
                "\"sha256\":\"" HASH "\",\"state\":\"draft\",\"subtotal\":\"2519.98\",\"tax\":[{"
                "\"amount\":\"554.40\",\"base\":\"2519.98\",\"name\":\"VAT, 22 %\","
                "\"percent\":\"22\"}],\"total\":\"3074.38\"," DRAFT_UNPRICED
                ",\"watermark\":123}";

static void assert_text(const tb_statement *s, const char *expected)
{
    char sha[65];
    char *text = json_of(s, sha);
    memset(strstr(text, sha), '0', 64);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(a_draft_is_these_bytes)
{
    fixture f;
    fixture_make(&f);
    assert_text(&f.s, draft_text);
}
END_TEST

static void assert_same_again(const tb_statement *s)
{
    tb_paper paper;
    tb_error err = {0};
    char sha[65];
    char *text = json_of(s, sha);
    ck_assert_msg(tb_paper_parse(text, strlen(text), NULL, &paper, &err) == TB_OK, "%s at %lu",
                  err.message, (unsigned long)err.byte);
    ck_assert(paper.sha256_true);
    ck_assert_str_eq(paper.sha256, sha);
    char *again = json_of(&paper.statement, NULL);
    ck_assert_str_eq(again, text);
    tb_paper_release(&paper);
    free(again);
    free(text);
}

START_TEST(what_is_read_back_encodes_to_the_same_bytes)
{
    fixture f;
    fixture_make(&f);
    assert_same_again(&f.s);
    fixture_final(&f);
    assert_same_again(&f.s);
    strcpy(f.s.replaces, "2026-000003");
    f.books[1] = f.books[0];
    strcpy(f.books[1].id, "later");
    f.books[1].from_us += INT64_C(3600000000);
    f.s.n_books = 2;
    assert_same_again(&f.s);
    f.books[0].id[0] = 0; /* no book before the later one */
    f.books[0].sha256[0] = 0;
    assert_same_again(&f.s);
    f.bill.n_lines = 0;
    f.bill.n_tax = 0;
    assert_same_again(&f.s);
}
END_TEST

START_TEST(a_text_of_version_1_stays_as_it_was)
{
    fixture f;
    fixture_make(&f);
    f.s.version = 1;
    assert_text(&f.s, first_text);
    assert_same_again(&f.s);
    fixture_final(&f); /* what version 1 cannot say is not said */
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_null(strstr(text, "issued"));
    ck_assert_ptr_null(strstr(text, "ledger"));
    free(text);
}
END_TEST

START_TEST(version_2_says_when_it_was_issued_and_where_the_ledger_stood)
{
    fixture f;
    fixture_make(&f);
    fixture_final(&f);
    strcpy(f.s.due, "2026-11-18");
    f.s.paid = dec("74.38");
    assert_same_again(&f.s);
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, ",\"due\":\"2026-11-18\",\"issued\":\"2026-11-04\","));
    ck_assert_ptr_nonnull(strstr(text, ",\"ledger\":{\"count\":12,\"head\":\"cccc"));
    ck_assert_ptr_nonnull(strstr(text, ",\"paid\":\"74.38\",\"payable\":\"3000.00\","));
    free(text);
    f.s.ledger = (tb_ledger_head){.count = 0}; /* the first entry is its own */
    assert_same_again(&f.s);
    text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, ",\"ledger\":{\"count\":0,\"head\":null},"));
    free(text);
}
END_TEST

START_TEST(what_credits_paid_is_said_where_a_balance_paid_too)
{
    fixture f;
    tb_paper paper;
    tb_error err;
    fixture_make(&f);
    fixture_final(&f);
    f.s.paid = dec("74.38");
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_null(strstr(text, "\"drawn\""));
    free(text);
    f.s.covered = dec("74.38");
    assert_same_again(&f.s);
    text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, ",\"drawn\":\"0.00\",\"due\":"));
    free(text);
    f.s.covered = dec("70");
    assert_same_again(&f.s);
    text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, ",\"drawn\":\"4.38\","));
    ck_assert_int_eq(tb_paper_parse(text, strlen(text), NULL, &paper, &err), TB_OK);
    ck_assert_int_eq(tb_decimal_compare(paper.statement.covered, f.s.covered), 0);
    tb_paper_release(&paper);
    free(text);
}
END_TEST

START_TEST(a_statement_rated_again_takes_over_what_was_issued)
{
    fixture f, again;
    fixture_make(&f);
    fixture_final(&f);
    strcpy(f.s.replaces, "2026-000003");
    f.s.paid = dec("1.00");
    f.s.covered = dec("0.40");
    for (f.s.version = 1; f.s.version <= TB_INVOICE_VERSION; f.s.version++) {
        fixture_make(&again);
        again.bill.n_unpriced = 0;
        tb_statement_dress(&again.s, &f.s);
        char *text = json_of(&f.s, NULL), *same = json_of(&again.s, NULL);
        ck_assert_str_eq(text, same);
        free(same);
        free(text);
    }
}
END_TEST

START_TEST(what_applies_to_few_is_there_where_it_applies)
{
    fixture f;
    fixture_make(&f);
    fixture_final(&f);
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_null(strstr(text, "\"replaces\""));
    ck_assert_ptr_null(strstr(text, "\"books\""));
    ck_assert_ptr_null(strstr(text, "\"corrects\""));
    free(text);
    strcpy(f.s.replaces, "2026-000003");
    strcpy(f.s.corrects, "2026-000002");
    f.books[1] = f.books[0];
    strcpy(f.books[1].id, "later");
    f.books[1].from_us += INT64_C(3600000000);
    f.s.n_books = 2;
    text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, ",\"replaces\":\"2026-000003\",\"residual\""));
    ck_assert_ptr_nonnull(strstr(text, ",\"corrects\":\"2026-000002\",\"currency\""));
    ck_assert_ptr_nonnull(strstr(text, "\"book\":{\"id\":\"later\","));
    ck_assert_ptr_nonnull(
        strstr(text, "\"books\":[{\"from\":\"2026-10-01T00:00:00Z\",\"id\":\"standard-2026\","));
    ck_assert_ptr_nonnull(strstr(text, "{\"from\":\"2026-10-01T01:00:00Z\",\"id\":\"later\","));
    free(text);
}
END_TEST

START_TEST(a_correction_carries_what_it_corrects)
{
    fixture f;
    tb_correction what[6] = {{{0}, 0, 0}};
    fixture_make(&f);
    f.lines[4].kind = TB_LINE_CORRECTION;
    f.lines[4].period_month = FIXTURE_MONTH - 10;
    f.lines[4].quantity = -5;
    f.lines[4].amount = dec("-0.98");
    what[4] = (tb_correction){"2026-000001", TB_LINE_BALANCER_REQUESTS, 99};
    f.s.corrections = what;
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(
        text, "{\"amount\":\"-0.98\",\"corrects\":{\"invoice\":\"2026-000001\",\"kind\":"
              "\"balancer_requests\",\"since\":99},\"evidence\":null,\"exact\":\"0.975\",\"kind\":"
              "\"correction\",\"line\":5,\"period\":{\"end\":\"2026-01-01T00:00:00Z\",\"start\":"
              "\"2025-12-01T00:00:00Z\"},\"quantity\":\"-5\","));
    ck_assert_ptr_nonnull(strstr(text, "\"unit\":\"request\"},{\"amount\":\"0.00\""));
    free(text);
    assert_same_again(&f.s);
}
END_TEST

START_TEST(currencies_without_minor_units_come_back_too)
{
    fixture f;
    fixture_make(&f);
    f.bill.minor_digits = 0;
    f.bill.n_lines = 0;
    f.bill.n_tax = 0;
    f.bill.subtotal = f.bill.total = dec("12");
    f.bill.exact = summed("12");
    f.bill.residual = dec("0");
    assert_same_again(&f.s);
    f.bill.minor_digits = 3;
    assert_same_again(&f.s);
}
END_TEST

/* Every byte of a final text, changed, is found: by the reader or by the hash. */
START_TEST(any_changed_byte_is_found)
{
    fixture f;
    tb_paper paper;
    fixture_make(&f);
    fixture_final(&f);
    char *text = json_of(&f.s, NULL);
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        text[i] = was == '1' ? '2' : '1';
        if (tb_paper_parse(text, len, NULL, &paper, NULL) == TB_OK) {
            ck_assert_msg(!paper.sha256_true, "byte %zu", i);
            tb_paper_release(&paper);
        }
        text[i] = was;
    }
    free(text);
}
END_TEST

static void assert_refused(const char *text, const char *why)
{
    tb_paper paper;
    tb_error err = {0};
    ck_assert_int_eq(tb_paper_parse(text, strlen(text), NULL, &paper, &err), TB_E_VALIDATION);
    ck_assert_msg(strstr(err.message, why) != NULL, "%s", err.message);
}

/* What a party declares is kept, in the order of its sorted keys, and comes back. */
START_TEST(parties_and_an_untaxed_sale_come_back)
{
    fixture f;
    tb_party seller = {{0}}, buyer = {{0}};
    fixture_make(&f);
    fixture_final(&f);
    for (int i = 0; i < TB_PARTY_FIELDS; i++) {
        if (tb_party_term(TB_SELLER, (tb_party_field)i)) seller.text[i] = tb_party_path((tb_party_field)i);
        if (tb_party_term(TB_BUYER, (tb_party_field)i)) buyer.text[i] = "Zażółć \"<&>\"";
    }
    f.s.seller = &seller;
    f.s.buyer = &buyer;
    assert_same_again(&f.s);
    char *text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"contact\":{\"email\":\"contact.email\",\"name\":\"contact."
                                       "name\",\"phone\":\"contact.phone\"},\"country\""));
    free(text);
    memset(&seller, 0, sizeof seller);
    seller.text[TB_PARTY_CONTACT_NAME] = "Eva";
    seller.text[TB_PARTY_NAME] = "Acme";
    seller.text[TB_PARTY_PAYMENT_IBAN] = "DE02120300000000202051";
    f.s.buyer = NULL;
    strcpy(f.bill.tax[0].rate.category, "AE");
    f.bill.tax[0].rate.percent = TB_DECIMAL_ZERO;
    f.tax[0].reason = "Reverse charge";
    f.tax[0].reason_code = "VATEX-EU-AE";
    assert_same_again(&f.s);
    text = json_of(&f.s, NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"buyer\":null"));
    ck_assert_ptr_nonnull(strstr(text, "\"seller\":{\"contact\":{\"name\":\"Eva\"},\"name\":\"Acme\","
                                       "\"payment\":{\"iban\":\"DE02120300000000202051\"}},"));
    ck_assert_ptr_nonnull(strstr(text, "\"category\":\"AE\",\"name\":\"VAT, 22 %\",\"percent\":\"0\","
                                       "\"reason\":\"Reverse charge\",\"reason_code\":\"VATEX-EU-AE\""));
    free(text);
}
END_TEST

START_TEST(what_no_writer_writes_is_refused)
{
    fixture f;
    fixture_make(&f);
    char *text = json_of(&f.s, NULL), other[8192];
    assert_refused("", "");
    assert_refused("[]", "object");
    snprintf(other, sizeof other, "{\"colour\":1,%s", text + 1);
    assert_refused(other, "unknown");
    snprintf(other, sizeof other, "{\"watermark\":1}");
    assert_refused(other, "missing");
    text[strlen(text) - 2] = 'x';
    assert_refused(text, "");
    free(text);
}
END_TEST

/* One member of a final text in another form. */
static void assert_refused_with(const char *from, const char *to, const char *why)
{
    fixture f;
    char other[8192];
    fixture_make(&f);
    fixture_final(&f);
    char *text = json_of(&f.s, NULL), *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", from);
    snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_refused(other, why);
    free(text);
}

START_TEST(what_follows_from_other_members_must_do_so)
{
    assert_refused_with("\"version\":2", "\"version\":3", "version is unknown");
    assert_refused_with("\"version\":2", "\"version\":1", "version is unknown");
    assert_refused_with(",\"version\":2", "", "unknown");
    assert_refused_with("\"payable\":\"3074.38\"", "\"payable\":\"3074.37\"", "payable");
    assert_refused_with("\"due\":null", "\"drawn\":\"0.00\",\"due\":null", "drawn");
    assert_refused_with("\"due\":null", "\"drawn\":\"x\",\"due\":null", "\"drawn\" is no decimal");
    assert_refused_with("\"category\":\"S\"", "\"category\":\"Z\"", "category");
    assert_refused_with("\"reason\":null", "\"reason\":\"x\"", "reason");
    assert_refused_with("\"buyer\":null", "\"buyer\":\"x\"", "buyer");
    assert_refused_with("\"buyer\":null", "\"buyer\":{\"note\":\"x\"}", "a member of \"buyer\"");
    assert_refused_with("\"seller\":null", "\"seller\":{\"contact\":{}}", "a member of \"seller\"");
    assert_refused_with("\"seller\":null", "\"seller\":{\"name\":1}", "\"name\" is no text");
    assert_refused_with("\"issued\":\"2026-11-04\"", "\"issued\":\"2026-11-34\"", "no date");
    assert_refused_with("\"count\":12", "\"count\":-1", "no count");
    assert_refused_with("\"kind\":\"balancer_requests\",\"line\"",
                        "\"kind\":\"correction\",\"line\"", "it alone, says what it corrects");
    assert_refused_with("{\"amount\":\"0.98\",",
                        "{\"amount\":\"0.98\",\"corrects\":{\"invoice\":\"2026-000001\",\"kind\":"
                        "\"bandwidth\",\"since\":9},",
                        "it alone, says what it corrects");
}
END_TEST

START_TEST(a_void_invoice_shows_its_state_and_keeps_the_rest)
{
    fixture f;
    tb_buf out;
    fixture_make(&f);
    fixture_final(&f);
    strcpy(f.bill.tax[0].rate.name, "\",\"state\":\"final\",\"");
    char *text = json_of(&f.s, NULL);
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_invoice_text_void(text, strlen(text), &out);
    char *shown = text_of(&out);
    char *at = strstr(shown, ",\"state\":\"void\",\"subtotal\"");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(strlen(shown) + 1, strlen(text));
    ck_assert_int_eq(memcmp(shown, text, (size_t)(at - shown)), 0);
    ck_assert_str_eq(at + 15, text + (at - shown) + 16);
    free(shown);
    free(text);
}
END_TEST

START_TEST(a_buffer_that_is_too_small_is_an_error)
{
    fixture f;
    tb_buf out;
    fixture_make(&f);
    char *text = json_of(&f.s, NULL);
    size_t len = strlen(text);
    free(text);
    for (size_t max = 0; max < len; max += 97) {
        tb_buf_init(&out, max, NULL);
        ck_assert_int_eq(tb_statement_json(&f.s, &out, NULL, NULL), TB_E_NOMEM);
        tb_buf_release(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("invoice_json");
    TCase *test = tcase_create("invoice_json");
    tcase_add_test(test, a_draft_is_these_bytes);
    tcase_add_test(test, a_text_of_version_1_stays_as_it_was);
    tcase_add_test(test, version_2_says_when_it_was_issued_and_where_the_ledger_stood);
    tcase_add_test(test, what_credits_paid_is_said_where_a_balance_paid_too);
    tcase_add_test(test, a_statement_rated_again_takes_over_what_was_issued);
    tcase_add_test(test, what_follows_from_other_members_must_do_so);
    tcase_add_test(test, what_is_read_back_encodes_to_the_same_bytes);
    tcase_add_test(test, what_applies_to_few_is_there_where_it_applies);
    tcase_add_test(test, a_correction_carries_what_it_corrects);
    tcase_add_test(test, currencies_without_minor_units_come_back_too);
    tcase_add_test(test, any_changed_byte_is_found);
    tcase_add_test(test, parties_and_an_untaxed_sale_come_back);
    tcase_add_test(test, what_no_writer_writes_is_refused);
    tcase_add_test(test, a_void_invoice_shows_its_state_and_keeps_the_rest);
    tcase_add_test(test, a_buffer_that_is_too_small_is_an_error);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
