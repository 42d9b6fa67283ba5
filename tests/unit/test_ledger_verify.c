/* tb_ledger_verify: what the chain cannot tell, since whoever enters it chains it well. */
#include "billing_fixture.h"

#include "tollbook/ledger.h"

typedef struct heard {
    char text[2000];
    uint64_t n;
} heard;

static void hear(void *ctx, const char *sentence)
{
    heard *h = ctx;
    snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s\n", sentence);
}

static void enter(fixture *f, tb_ledger_kind kind, const char *amount, const char *reference,
                  const char *document, const char *expires, int64_t at_us)
{
    tb_error err = {0};
    bool known = true;
    tb_ledger_entry e = {.account = 1, .kind = kind, .currency = "USD", .at_us = at_us};
    ok(tb_decimal_parse(amount, strlen(amount), 18, &e.amount, &err));
    snprintf(e.reference, sizeof e.reference, "%s", reference);
    snprintf(e.document, sizeof e.document, "%s", document);
    snprintf(e.expires, sizeof e.expires, "%s", expires);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_ledger_add(f->store, &e, &known, &err));
    ok(tb_store_commit(f->store, &err));
    ck_assert(!known);
}

static heard verified(fixture *f)
{
    tb_error err = {0};
    heard h = {.n = 0};
    ok(tb_ledger_verify(f->store, hear, &h, &h.n, &err));
    return h;
}

static void begin(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", NOW_US, NULL);
    enter(f, TB_LEDGER_CREDIT, "5", "c", "", "2026-10-31", 0);
    ck_assert_uint_eq(verified(f).n, 0);
}

static void finds(fixture *f, const char *words)
{
    heard h = verified(f);
    ck_assert_msg(h.n > 0 && strstr(h.text, words), "%s", h.text);
    fixture_release(f);
}

#define NOVEMBER_US (INT64_C(1793491200) * TB_US_PER_S) /* 2026-11-01 */

START_TEST(a_draw_without_its_invoice_is_found)
{
    fixture f;
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_DRAWN, "-1", "2026-000001/credit:1", "2026-000001", "", NOW_US);
    enter(&f, TB_LEDGER_CREDIT_DRAWN, "1", "2026-000001/credit:1/invoice", "2026-000001", "", NOW_US);
    finds(&f, "Ledger entry 2 draws credit for 2026-000001, but does not follow its entry.");
}
END_TEST

START_TEST(a_credit_that_is_overdrawn_is_found)
{
    fixture f;
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_DRAWN, "-5.01", "2026-000001/credit:1", "2026-000001", "", NOW_US);
    finds(&f, "Ledger entry 2 takes more of credit 1 than is left of it.");
}
END_TEST

START_TEST(an_expiry_is_what_was_left_behind_the_last_day)
{
    fixture f;
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_EXPIRED, "-5", "credit:1/expired", "", "", NOVEMBER_US);
    ck_assert_uint_eq(verified(&f).n, 0);
    fixture_release(&f);
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_EXPIRED, "-5", "credit:1/expired", "", "", NOVEMBER_US - 1);
    finds(&f, "Ledger entry 2, credit:1/expired: that is not what had expired.");
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_EXPIRED, "-4", "credit:1/expired", "", "", NOVEMBER_US);
    finds(&f, "not what had expired");
    begin(&f);
    enter(&f, TB_LEDGER_CREDIT_EXPIRED, "-5", "credit:1/expired/2", "", "", NOVEMBER_US);
    finds(&f, "not what had expired");
}
END_TEST

START_TEST(expiring_is_entered_once)
{
    fixture f;
    tb_error err = {0};
    uint64_t entered = 0;
    begin(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_ledger_expire(f.store, 0, NOVEMBER_US - 1, &entered, &err));
    ck_assert_uint_eq(entered, 0);
    ok(tb_ledger_expire(f.store, 0, NOVEMBER_US + 7, &entered, &err));
    ok(tb_ledger_expire(f.store, 1, NOVEMBER_US + 8, &entered, &err));
    ck_assert_uint_eq(entered, 1);
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(verified(&f).n, 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ledger_verify");
    TCase *test = tcase_create("credits");
    tcase_add_test(test, a_draw_without_its_invoice_is_found);
    tcase_add_test(test, a_credit_that_is_overdrawn_is_found);
    tcase_add_test(test, an_expiry_is_what_was_left_behind_the_last_day);
    tcase_add_test(test, expiring_is_entered_once);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
