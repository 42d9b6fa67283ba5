/* issue.h: documents that were made by the rules of an earlier schema are still as they should be, and by no other rules. */
#include "billing_fixture.h"

#include "tollbook/issue.h"

/* A second unit makes all of them free: late usage makes a month cheaper. */
#define BOOK \
    "{\"book\":\"a\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\",\"minimum_monthly\":\"0\"," \
    "\"bandwidth\":{\"volume\":{\"per\":\"GB\",\"scope\":\"account\",\"mode\":\"volume\",\"tiers\":[{\"from\":\"0\",\"to\":\"1\",\"price\":\"400\"}," \
    "{\"from\":\"1\",\"to\":null,\"price\":\"0\"}]}},\"fees\":{\"ip\":{\"name\":\"IP\",\"amount\":\"310\",\"timing\":\"advance\"}}}"
#define CATALOG(fees) \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":{\"VATRate\":22}" fees "}]," \
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"v\",\"type\":\"volume\",\"created\":\"2026-01-01T00:00:00Z\"}]}"

static fixture f;

/* floored: its credit notes are made by the rules up to schema 31. */
static void make_final(int64_t month, bool floored)
{
    tb_error err = {0};
    tb_month_books all;
    tb_issue draft;
    tb_invoice invoice;
    tb_issue_outcome outcome;
    const tb_issue_options options = {.now_us = NOW_US};
    ok(tb_store_begin(f.store, &err));
    ok(tb_month_books_read(f.store, &all, &err));
    ok(tb_issue_draft(f.store, 1, month, &all, NOW_US, &draft, &err));
    for (size_t i = 0; i < draft.n_late; i++)
        draft.late[i].corrections.billed.floored = floored;
    ok(tb_issue_finalize(f.store, &draft, &options, &invoice, &outcome, &err));
    if (outcome == TB_ISSUE_MADE) tb_invoice_release(&invoice);
    tb_issue_release(&draft);
    tb_month_books_release(&all);
    ok(tb_store_commit(f.store, &err));
}

/* August's invoice bills a fee in advance, September's gives it back beside usage, which October's run credits. */
static void make_documents(bool floored)
{
    fixture_init(&f);
    add_text_book(&f, BOOK);
    fixture_apply(&f, CATALOG(",\"fees\":[\"ip\"]"), us_at(8, 10, 0), NULL);
    make_final(679, false);
    fixture_apply(&f, CATALOG(""), us_at(9, 1, 0), NULL);
    add_bytes(&f, 101, "DE", at(9, 4, 3), 1000000000);
    make_final(680, false);
    add_bytes(&f, 101, "DE", at(9, 4, 3), 1);
    make_final(681, floored);
}

static uint64_t count_differences(void)
{
    tb_error err = {0};
    uint64_t differences = 0;
    ok(tb_issue_verify(f.store, NULL, NULL, &differences, &err));
    return differences;
}

static void check_total(const char *number, const char *total)
{
    tb_error err = {0};
    tb_invoice invoice;
    ok(tb_store_invoice(f.store, 1, number, &invoice, &err));
    ck_assert_str_eq(invoice.total, total);
    tb_invoice_release(&invoice);
}

START_TEST(a_month_goes_below_zero)
{
    make_documents(false);
    check_total("2026-000002", "109.80"); /* 400 less 310, and tax */
    check_total("2026-000003", "-488.00");
    ck_assert_uint_eq(count_differences(), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(up_to_schema_31_a_month_stopped_at_zero)
{
    make_documents(true);
    check_total("2026-000003", "-109.80");
    ck_assert_uint_eq(count_differences(), 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("issue_rules");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, a_month_goes_below_zero);
    tcase_add_test(rules, up_to_schema_31_a_month_stopped_at_zero);
    suite_add_tcase(suite, rules);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
