/* terms.h: prepaid, discounts and limits as the catalogue declares them. */
#include "tollbook/billsource.h"

#include "store_fixture.h"
#include "tollbook/calendar.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"prepaid\":true,\"discounts\":{\"EUUSDiscount\":5,"
    "\"AfricaDiscount\":7}},{\"id\":2,\"name\":\"b\"}],\"zones\":["
    "{\"id\":12,\"account\":1,\"name\":\"x\",\"settings\":{\"MonthlyBandwidthLimit\":"
    "9007199254740993}},{\"id\":11,\"account\":1,\"name\":\"y\",\"settings\":{\"Enabled\":false}},"
    "{\"id\":13,\"account\":1,\"name\":\"later\",\"created\":\"2026-11-19T00:00:00Z\"},"
    "{\"id\":21,\"account\":2,\"name\":\"z\"}]}";

START_TEST(terms_are_what_the_catalogue_says)
{
    fixture f;
    tb_error err = {0};
    tb_applied applied;
    tb_account_terms terms;
    fixture_init(&f);
    fixture_apply(&f, catalog, NOW_US, &applied);
    ok(tb_store_account_terms(f.store, 1, &terms, &err));
    ck_assert(terms.prepaid);
    ck_assert_int_eq(terms.discount[TB_REGION_EU], 5);
    ck_assert_int_eq(terms.discount[TB_REGION_NA], 5);
    ck_assert_int_eq(terms.discount[TB_REGION_AF], 7);
    ck_assert_int_eq(terms.discount[TB_REGION_SA], 0);
    ok(tb_store_account_terms(f.store, 2, &terms, &err));
    ck_assert(!terms.prepaid && terms.discount[TB_REGION_EU] == 0);
    ck_assert_int_eq(tb_store_account_terms(f.store, 3, &terms, &err), TB_E_NOT_FOUND);
    fixture_release(&f);
}
END_TEST

/* months since January 1970 */
#define OCTOBER 681 /* 2026 */

static void pays_in(fixture *f, int64_t account, int64_t month, const char *currency)
{
    tb_error err = {0};
    char found[4];
    ok(tb_store_month_currency(f->store, account, month, found, &err));
    ck_assert_str_eq(found, currency);
}

/* As in its bill: an hour belongs to what was declared at its start, so the last hour decides. */
START_TEST(a_month_is_billed_in_the_currency_declared_at_its_end)
{
    fixture f;
    tb_error err = {0};
    char found[4] = "abc";
    int64_t end_us = tb_month_first_day(OCTOBER + 1) * TB_US_PER_DAY;
    fixture_init(&f);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}",
                  end_us - 40 * TB_US_PER_DAY, NULL);
    fixture_apply(
        &f,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"currency\":\"EUR\"},{\"id\":2,\"name\":"
        "\"b\",\"currency\":\"JPY\"}]}",
        end_us - TB_US_PER_HOUR, NULL);
    fixture_apply(
        &f,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"currency\":\"KWD\"},{\"id\":2,\"name\":"
        "\"b\",\"currency\":\"JPY\"}]}",
        end_us - TB_US_PER_HOUR + 1, NULL);
    pays_in(&f, 1, 0, "USD"); /* the first declaration holds for the past too */
    pays_in(&f, 1, OCTOBER - 1, "USD");
    pays_in(&f, 1, OCTOBER, "EUR");
    pays_in(&f, 1, OCTOBER + 1, "KWD");
    pays_in(&f, 2, OCTOBER, "JPY");
    for (int64_t month = OCTOBER - 1; month <= OCTOBER + 1; month++) {
        tb_bill_source s;
        ok(tb_store_bill_input(f.store, &(tb_bill_query){1, month, TB_NOW, NULL, 0, NOW_US}, &s, &err));
        pays_in(&f, 1, month, s.input.currency);
        tb_bill_source_release(&s);
    }
    ck_assert_int_eq(tb_store_month_currency(f.store, 3, OCTOBER, found, &err), TB_E_NOT_FOUND);
    ck_assert_str_eq(found, "abc");
    fixture_release(&f);
}
END_TEST

START_TEST(zones_are_those_that_exist_by_id)
{
    fixture f;
    tb_error err = {0};
    tb_applied applied;
    tb_zone_terms *zones;
    size_t n;
    fixture_init(&f);
    fixture_apply(&f, catalog, NOW_US, &applied);
    ok(tb_store_zone_terms(f.store, 1, NOW_US, &zones, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert(zones[0].zone == 11 && !zones[0].enabled && zones[0].limit == 0);
    ck_assert(zones[1].zone == 12 && zones[1].enabled);
    ck_assert_int_eq(zones[1].limit, INT64_C(9007199254740993));
    free(zones);
    ok(tb_store_zone_terms(f.store, 1, NOW_US + INT64_C(86400000000), &zones, &n, &err));
    ck_assert_uint_eq(n, 3);
    free(zones);
    ok(tb_store_zone_terms(f.store, 9, NOW_US, &zones, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(zones);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[]}", NOW_US, &applied);
    ok(tb_store_zone_terms(f.store, 1, NOW_US, &zones, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(zones);
    fixture_release(&f);
}
END_TEST

START_TEST(many_zones_are_all_there)
{
    fixture f;
    tb_error err = {0};
    tb_applied applied;
    tb_zone_terms *zones;
    size_t n;
    char text[8192] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[";
    for (int i = 1; i <= 100; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s{\"id\":%d,\"account\":1,\"name\":\"z%d\"}",
                 i > 1 ? "," : "", i, i);
    }
    strcat(text, "]}");
    fixture_init(&f);
    fixture_apply(&f, text, NOW_US, &applied);
    ok(tb_store_zone_terms(f.store, 1, NOW_US, &zones, &n, &err));
    ck_assert_uint_eq(n, 100);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(zones[i].zone, (int64_t)i + 1);
    free(zones);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_terms");
    TCase *test = tcase_create("store_terms");
    tcase_add_test(test, terms_are_what_the_catalogue_says);
    tcase_add_test(test, a_month_is_billed_in_the_currency_declared_at_its_end);
    tcase_add_test(test, zones_are_those_that_exist_by_id);
    tcase_add_test(test, many_zones_are_all_there);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
