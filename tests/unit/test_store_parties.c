/* partystore.h: parties as the catalogue declares them now, names as it declared them at a moment.
 */
#include "tollbook/partystore.h"

#include "store_fixture.h"
#include "tollbook/calendar.h"

#define OCTOBER 681 /* months since January 1970 */
#define SELLER                                                                                     \
    "\"seller\":{\"name\":\"S\",\"country\":\"DE\",\"payment\":{\"iban\":\"NO9386011117947\"},"    \
    "\"contact\":{\"email\":\"s@s.example\"},\"tax_currency\":\"EUR\","                            \
    "\"rates\":{\"2026-10\":{\"USD\":\"0.9200\",\"JPY\":0.0061},\"2026-11\":9.3e-1}},"
#define FULL                                                                                       \
    "{" SELLER                                                                                     \
    "\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":{\"category\":\"K\",\"reason\":\"r\"},"        \
    "\"buyer\":{\"name\":\"B\",\"country\":\"FR\",\"delivery\":{\"city\":\"Nice\"}}},"             \
    "{\"id\":2,\"name\":\"b\",\"terms_days\":0,\"tax\":{\"VAT\":0}}]}"

static void text_is(const tb_party *party, tb_party_field field, const char *text)
{
    ck_assert_str_eq(tb_party_text(party, field), text);
}

START_TEST(parties_are_what_the_catalogue_says)
{
    fixture f;
    tb_error err = {0};
    tb_parties p;
    fixture_init(&f);
    fixture_apply(&f, FULL, NOW_US, NULL);
    ok(tb_store_parties(f.store, 1, OCTOBER, "USD", &p, &err));
    ck_assert(p.has_seller && p.has_buyer);
    text_is(&p.seller, TB_PARTY_NAME, "S");
    text_is(&p.seller, TB_PARTY_CONTACT_EMAIL, "s@s.example");
    text_is(&p.seller, TB_PARTY_PAYMENT_MEANS, "58");
    text_is(&p.seller, TB_PARTY_TAX_CURRENCY, "EUR");
    text_is(&p.seller, TB_PARTY_TAX_RATE, "0.92");
    text_is(&p.buyer, TB_PARTY_DELIVERY_CITY, "Nice");
    ck_assert_ptr_null(p.buyer.text[TB_PARTY_LANGUAGE]);
    ck_assert_int_eq(p.terms_days, 14);
    ck_assert_str_eq(p.tax_category, "K");
    ck_assert_str_eq(p.tax_reason, "r");
    ck_assert_ptr_null(p.tax_reason_code);
    tb_parties_release(&p);
    ck_assert_ptr_null(p.memory);
    tb_parties_release(&p);

    ok(tb_store_parties(f.store, 2, OCTOBER + 1, "USD", &p, &err));
    ck_assert(p.has_seller && !p.has_buyer);
    text_is(&p.seller, TB_PARTY_TAX_RATE, "0.93");
    ck_assert_int_eq(p.terms_days, 0);
    ck_assert_str_eq(p.tax_category, "");
    tb_parties_release(&p);
    ok(tb_store_parties(f.store, 2, OCTOBER, "JPY", &p, &err));
    text_is(&p.seller, TB_PARTY_TAX_RATE, "0.0061");
    tb_parties_release(&p);
    ok(tb_store_parties(f.store, 2, OCTOBER, "CHF", &p, &err));
    text_is(&p.seller, TB_PARTY_TAX_CURRENCY, "EUR");
    ck_assert_ptr_null(p.seller.text[TB_PARTY_TAX_RATE]);
    tb_parties_release(&p);
    ok(tb_store_parties(f.store, 2, OCTOBER + 2, "USD", &p, &err));
    text_is(&p.seller, TB_PARTY_TAX_CURRENCY, "EUR");
    ck_assert_ptr_null(p.seller.text[TB_PARTY_TAX_RATE]);
    tb_parties_release(&p);
    ok(tb_store_parties(f.store, 2, OCTOBER, "EUR", &p, &err));
    ck_assert_ptr_null(p.seller.text[TB_PARTY_TAX_CURRENCY]);
    ck_assert_ptr_null(p.seller.text[TB_PARTY_TAX_RATE]);
    tb_parties_release(&p);
    ck_assert_int_eq(tb_store_parties(f.store, 3, OCTOBER, "EUR", &p, &err), TB_E_NOT_FOUND);

    fixture_apply(&f, "{\"accounts\":[{\"id\":2,\"name\":\"b\"}]}", NOW_US + 1, NULL);
    ok(tb_store_parties(f.store, 2, OCTOBER, "USD", &p, &err));
    ck_assert(!p.has_seller && !p.has_buyer && p.terms_days == -1);
    tb_parties_release(&p);
    ok(tb_store_parties(f.store, 1, OCTOBER, "USD", &p, &err)); /* deleted: its last buyer */
    text_is(&p.buyer, TB_PARTY_NAME, "B");
    tb_parties_release(&p);
    fixture_release(&f);
}
END_TEST

/* --- names --- */

static void apply_names(fixture *f, const char *account, const char *zones, int64_t now_us)
{
    char text[1000];
    snprintf(text, sizeof text,
             "{\"accounts\":[{\"id\":1,%s},{\"id\":2,\"name\":\"b\"}],\"zones\":[%s"
             "{\"id\":21,\"account\":2,\"name\":\"theirs\"}]}",
             account, zones);
    fixture_apply(f, text, now_us, NULL);
}

static void zone_is(const tb_invoice_names *names, int64_t zone, const char *name,
                    const char *labels)
{
    const tb_zone_name *found = tb_invoice_zone(names, zone);
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found->name, name);
    if (labels)
        ck_assert_str_eq(found->labels, labels);
    else
        ck_assert_ptr_null(found->labels);
}

START_TEST(names_are_those_of_a_moment)
{
    fixture f;
    tb_error err = {0};
    tb_invoice_names n;
    fixture_init(&f);
    apply_names(&f, "\"name\":\"first\",\"labels\":{\"env\":\"dev\"}",
                "{\"id\":12,\"account\":1,\"name\":\"old\",\"labels\":{\"a\":\"1\"}},"
                "{\"id\":11,\"account\":1,\"name\":\"goes\"},",
                NOW_US - 10);
    apply_names(&f, "\"name\":\"second\"",
                "{\"id\":13,\"account\":1,\"name\":\"comes\"},"
                "{\"id\":12,\"account\":1,\"name\":\"new\"},",
                NOW_US);
    for (int64_t at_us = NOW_US - 20; at_us < NOW_US; at_us += 19) {
        ok(tb_store_invoice_names(f.store, 1, at_us, &n, &err));
        ck_assert_str_eq(n.account, "first");
        ck_assert_str_eq(n.labels, "{\"env\":\"dev\"}");
        ck_assert_uint_eq(n.n_zones, 3);
        zone_is(&n, 11, "goes", NULL);
        zone_is(&n, 12, "old", "{\"a\":\"1\"}");
        zone_is(&n, 13, "comes", NULL);
        ck_assert_ptr_null(tb_invoice_zone(&n, 21));
        tb_invoice_names_release(&n);
    }
    ok(tb_store_invoice_names(f.store, 1, NOW_US, &n, &err));
    ck_assert_str_eq(n.account, "second");
    ck_assert_ptr_null(n.labels);
    zone_is(&n, 11, "goes", NULL);
    zone_is(&n, 12, "new", NULL);
    tb_invoice_names_release(&n);
    tb_invoice_names_release(&n);
    ok(tb_store_invoice_names(f.store, 2, NOW_US, &n, &err));
    ck_assert_uint_eq(n.n_zones, 1);
    zone_is(&n, 21, "theirs", NULL);
    tb_invoice_names_release(&n);
    ck_assert_int_eq(tb_store_invoice_names(f.store, 3, NOW_US, &n, &err), TB_E_NOT_FOUND);
    fixture_release(&f);
}
END_TEST

START_TEST(an_account_without_zones_has_a_name)
{
    fixture f;
    tb_error err = {0};
    tb_invoice_names n;
    fixture_init(&f);
    fixture_apply(&f, "{\"accounts\":[{\"id\":7,\"name\":\"alone\"}]}", NOW_US, NULL);
    ok(tb_store_invoice_names(f.store, 7, 0, &n, &err));
    ck_assert_str_eq(n.account, "alone");
    ck_assert_uint_eq(n.n_zones, 0);
    tb_invoice_names_release(&n);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("parties");
    tcase_add_test(t, parties_are_what_the_catalogue_says);
    tcase_add_test(t, names_are_those_of_a_moment);
    tcase_add_test(t, an_account_without_zones_has_a_name);
    Suite *s = suite_create("store parties");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
