/* whatif.h: scenarios, and what their patches make of books. */
#include "tollbook/whatif.h"
#include "unit/budget.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char standard[] =
    "{\"book\":\"standard-2026\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.01\",\"NA\":0.010}}},\"optimizer\":{\"monthly\":\"9.50\"}}";

static tb_book base;
static tb_scenario s;
static tb_error err;

static void begin(void)
{
    ck_assert_int_eq(tb_book_parse(standard, strlen(standard), NULL, &base, &err), TB_OK);
    s = (tb_scenario){.alloc = NULL};
}

static void end(void)
{
    tb_scenario_release(&s);
    tb_book_release(&base);
}

static void take(const char *text)
{
    tb_scenario_release(&s);
    tb_code code = tb_scenario_parse(text, strlen(text), NULL, &s, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

static void refuses(const char *text, const char *field, const char *words)
{
    tb_error e = {0};
    tb_scenario none = {.name = "untouched"};
    ck_assert_int_eq(tb_scenario_parse(text, strlen(text), NULL, &none, &e), TB_E_VALIDATION);
    ck_assert_str_eq(e.field, field);
    ck_assert_msg(strstr(e.message, words) != NULL, "%s", e.message);
    ck_assert_str_eq(none.name, "untouched");
}

/* --- scenarios --- */

START_TEST(the_documents_own_example)
{
    take("{\"scenario\":\"eu-plus-10\",\"base\":\"standard-2026\",\"patch\":{\"bandwidth\":{"
         "\"premium\":{\"regions\":{\"EU\":\"0.011\"}}}},"
         "\"usage\":[{\"region\":\"EU\",\"factor\":\"1.10\"}]}");
    ck_assert_str_eq(s.name, "eu-plus-10");
    ck_assert_str_eq(s.base, "standard-2026");
    ck_assert(!s.everywhere);
    ck_assert_str_eq(s.patch, "{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"0.011\"}}}}");
    ck_assert_uint_eq(s.patch_len, strlen(s.patch));
    ck_assert_uint_eq(s.n_factors, 1);
    const tb_usage_factor *f = &s.factors[0];
    ck_assert(f->factor.mantissa == 11 && f->factor.scale == 1);
    ck_assert(f->has_region && f->region == TB_REGION_EU && f->product == TB_FACTOR_ANY);
    ck_assert(!f->has_zone && !f->has_balancer && !f->has_account);
}
END_TEST

START_TEST(only_the_name_is_required)
{
    take("{\"scenario\":\"as-it-is\"}");
    ck_assert_str_eq(s.base, "");
    ck_assert_str_eq(s.patch, "{}");
    ck_assert_uint_eq(s.n_factors, 0);
    refuses("{}", "scenario", "missing");
}
END_TEST

START_TEST(a_base_of_null_is_none)
{
    take("{\"scenario\":\"x\",\"base\":null}");
    ck_assert_str_eq(s.base, "");
}
END_TEST

START_TEST(contracts_are_read_as_a_catalogue_has_them)
{
    take("{\"scenario\":\"x\",\"contract\":{},\"contracts\":{\"12\":{\"discount_percent\":\"5.50\"},"
         "\"3\":{\"book\":\"own\",\"minimum_monthly\":0,\"commit\":{\"monthly\":1000,\"from\":"
         "\"2026-01\",\"to\":\"2026-12\"}}}}");
    ck_assert(s.has_contract && !s.contract.n_commits && !s.contract.own_minimum);
    ck_assert_uint_eq(s.n_contracts, 2);
    const tb_contract *c = &s.contracts[0].contract, *d = &s.contracts[1].contract;
    ck_assert_int_eq(s.contracts[0].account, 3);
    ck_assert_str_eq(c->book, "own");
    ck_assert(c->own_minimum && tb_decimal_sign(c->minimum) == 0);
    ck_assert(c->n_commits == 1 && tb_decimal_compare(c->commits[0].amount, tb_decimal_from_int(1000)) == 0);
    ck_assert(c->commits[0].from == 672 && c->commits[0].to == 683);
    ck_assert_int_eq(s.contracts[1].account, 12);
    ck_assert(d->discount.mantissa == 55 && d->discount.scale == 1 && !d->n_commits);
}
END_TEST

START_TEST(a_contract_that_does_not_read_is_refused_with_its_path)
{
    refuses("{\"scenario\":\"x\",\"contract\":5}", "contract", "an object");
    refuses("{\"scenario\":\"x\",\"contract\":{\"discount\":5}}", "contract.discount",
            "discount_percent");
    refuses("{\"scenario\":\"x\",\"contracts\":[]}", "contracts", "account ids");
    refuses("{\"scenario\":\"x\",\"contracts\":{\"0\":{}}}", "contracts", "from 1 on");
    refuses("{\"scenario\":\"x\",\"contracts\":{\"01\":{}}}", "contracts", "from 1 on");
    refuses("{\"scenario\":\"x\",\"contracts\":{\"9223372036854775808\":{}}}", "contracts", "from 1 on");
    refuses("{\"scenario\":\"x\",\"contracts\":{\"7\":{\"commit\":{\"monthly\":-1}}}}",
            "contracts.7.commit.monthly", "0 or more");
    refuses("{\"scenario\":\"x\",\"contracts\":{\"7\":null}}", "contracts.7", "an object");
}
END_TEST

START_TEST(order_and_space_do_not_change_the_hash)
{
    tb_scenario other;
    const char *text = "{ \"patch\" : {\"b\":1.0,\"a\":null},\n \"scenario\":\"x\"}";
    take("{\"scenario\":\"x\",\"patch\":{\"a\":null,\"b\":1.0}}");
    ck_assert_int_eq(tb_scenario_parse(text, strlen(text), NULL, &other, &err), TB_OK);
    ck_assert_str_eq(s.canonical, "{\"patch\":{\"a\":null,\"b\":1.0},\"scenario\":\"x\"}");
    ck_assert_str_eq(s.canonical, other.canonical);
    ck_assert_str_eq(s.sha256, other.sha256);
    ck_assert_uint_eq(strlen(s.sha256), 64);
    tb_scenario_release(&other);
}
END_TEST

START_TEST(the_canonical_text_reads_as_the_same_scenario)
{
    tb_scenario again;
    take("{\"usage\":[{\"factor\":2,\"zone\":7},{\"factor\":\"0\",\"load_balancer\":9,"
         "\"account\":3}],\"replaces\":\"all\",\"base\":\"b\",\"scenario\":\"x\"}");
    ck_assert(s.everywhere);
    ck_assert(s.factors[0].has_zone && s.factors[0].zone == 7);
    ck_assert(s.factors[1].has_balancer && s.factors[1].balancer == 9);
    ck_assert(s.factors[1].has_account && s.factors[1].account == 3);
    ck_assert(tb_decimal_sign(s.factors[1].factor) == 0);
    ck_assert_int_eq(tb_scenario_parse(s.canonical, s.canonical_len, NULL, &again, &err), TB_OK);
    ck_assert_str_eq(s.sha256, again.sha256);
    ck_assert_uint_eq(again.n_factors, 2);
    tb_scenario_release(&again);
}
END_TEST

START_TEST(names_are_plain)
{
    char text[200], name[66];
    refuses("{\"scenario\":\"\"}", "scenario", "1 to 64");
    refuses("{\"scenario\":\"a b\"}", "scenario", "1 to 64");
    refuses("{\"scenario\":7}", "scenario", "is a number");
    refuses("{\"scenario\":\"x\",\"base\":\"a/b\"}", "base", "1 to 64");
    memset(name, 'n', sizeof name);
    snprintf(text, sizeof text, "{\"scenario\":\"%.65s\"}", name);
    refuses(text, "scenario", "1 to 64");
    snprintf(text, sizeof text, "{\"scenario\":\"%.64s\"}", name);
    take(text);
}
END_TEST

START_TEST(what_is_not_known_is_refused_with_its_path)
{
    refuses("{\"scenario\":\"x\",\"pach\":{}}", "pach", "Unknown");
    refuses("{\"scenario\":\"x\",\"usage\":[{\"factor\":1},{\"factor\":1,\"regio\":\"EU\"}]}",
            "usage[1].regio", "Unknown");
    refuses("{\"scenario\":\"x\",\"patch\":[]}", "patch", "is an array");
    refuses("{\"scenario\":\"x\",\"usage\":{}}", "usage", "is an object");
    refuses("{\"scenario\":\"x\",\"usage\":[1]}", "usage[0]", "Must be an object");
    refuses("{\"scenario\":\"x\",\"usage\":[{}]}", "usage[0].factor", "missing");
    refuses("{\"scenario\":\"x\",\"replaces\":\"some\"}", "replaces", "base or all");
    refuses("{\"scenario\":\"x\",\"replaces\":\"all\"}", "replaces", "needs a base");
    refuses("[]", "", "Must be an object");
    refuses("{\"scenario\":\"x\"", "", "");
}
END_TEST

#define NAMES_A_BOOK "Must be the base or be left out"

START_TEST(a_book_that_the_patch_would_miss_is_refused)
{
    refuses("{\"scenario\":\"x\",\"base\":\"a\",\"patch\":{},\"contract\":{\"book\":\"b\"}}",
            "contract.book", NAMES_A_BOOK);
    refuses("{\"scenario\":\"x\",\"base\":\"a\",\"replaces\":\"all\",\"contracts\":{\"7\":{\"book\":\"b\"}}}",
            "contracts.7.book", NAMES_A_BOOK);
    take("{\"scenario\":\"x\",\"base\":\"a\",\"contract\":{\"book\":\"a\"},"
         "\"contracts\":{\"7\":{\"book\":\"b\"}}}");
    tb_scenario_release(&s);
    take("{\"scenario\":\"x\",\"patch\":{},\"contract\":{\"book\":\"b\"}}");
}
END_TEST

#define USAGE(entry) "{\"scenario\":\"x\",\"usage\":[{" entry "}]}"

START_TEST(factors_are_exact_and_bounded)
{
    refuses(USAGE("\"factor\":\"-1\""), "usage[0].factor", "negative");
    refuses(USAGE("\"factor\":-0.5"), "usage[0].factor", "negative");
    refuses(USAGE("\"factor\":\"1.0000001\""), "usage[0].factor", "6 digits");
    refuses(USAGE("\"factor\":\"1000000.1\""), "usage[0].factor", "1000000");
    refuses(USAGE("\"factor\":\"1e3\""), "usage[0].factor", "digits");
    refuses(USAGE("\"factor\":true"), "usage[0].factor", "true");
    take(USAGE("\"factor\":\"1000000.000000\""));
    tb_scenario_release(&s);
    take(USAGE("\"factor\":0.000001"));
    ck_assert(s.factors[0].factor.mantissa == 1 && s.factors[0].factor.scale == 6);
}
END_TEST

START_TEST(conditions_are_known_things)
{
    refuses(USAGE("\"factor\":1,\"region\":\"XX\""), "usage[0].region", "EU, NA");
    refuses(USAGE("\"factor\":1,\"region\":\"ASIAASIAASIA\""), "usage[0].region", "EU, NA");
    refuses(USAGE("\"factor\":1,\"product\":\"optimizer\""), "usage[0].product", "load_balancer");
    refuses(USAGE("\"factor\":1,\"zone\":\"101\""), "usage[0].zone", "a number");
    refuses(USAGE("\"factor\":1,\"zone\":0"), "usage[0].zone", "from 1");
    refuses(USAGE("\"factor\":1,\"zone\":1.5"), "usage[0].zone", "from 1");
    refuses(USAGE("\"factor\":1,\"account\":9223372036854775808"), "usage[0].account", "from 1");
    take(USAGE("\"factor\":1,\"account\":9223372036854775807"));
}
END_TEST

START_TEST(conditions_that_nothing_meets_are_refused)
{
    refuses(USAGE("\"factor\":1,\"product\":\"load_balancer\",\"region\":\"EU\""), "usage[0]",
            "No usage");
    refuses(USAGE("\"factor\":1,\"load_balancer\":1,\"zone\":2"), "usage[0]", "No usage");
    refuses(USAGE("\"factor\":1,\"load_balancer\":1,\"product\":\"volume\""), "usage[0]",
            "No usage");
    take(USAGE("\"factor\":1,\"load_balancer\":1,\"product\":\"load_balancer\",\"account\":2"));
    refuses(USAGE("\"factor\":1,\"meter\":\"storage\",\"region\":\"EU\""), "usage[0]", "a meter has no");
    refuses(USAGE("\"factor\":1,\"meter\":\"storage\",\"product\":\"bandwidth\""), "usage[0]", "a meter has no");
    refuses(USAGE("\"factor\":1,\"meter\":\"a b\""), "usage[0].meter", "letters");
    take(USAGE("\"factor\":1,\"meter\":\"storage\",\"account\":2"));
    ck_assert_str_eq(s.factors[0].meter, "storage");
}
END_TEST

START_TEST(entries_are_counted)
{
    char *text = malloc(64 + TB_SCENARIO_FACTORS_MAX * 16);
    for (int n = TB_SCENARIO_FACTORS_MAX; n <= TB_SCENARIO_FACTORS_MAX + 1; n++) {
        char *to = text + sprintf(text, "{\"scenario\":\"x\",\"usage\":[");
        for (int i = 0; i < n; i++)
            to += sprintf(to, "%s{\"factor\":1}", i ? "," : "");
        sprintf(to, "]}");
        if (n == TB_SCENARIO_FACTORS_MAX)
            take(text);
        else
            refuses(text, "usage", "1024");
    }
    free(text);
}
END_TEST

START_TEST(a_document_has_a_largest_size)
{
    char *text = malloc(TB_SCENARIO_MAX + 1);
    memset(text, ' ', TB_SCENARIO_MAX + 1);
    memcpy(text, "{\"scenario\":\"x\"}", 16);
    ck_assert_int_eq(tb_scenario_parse(text, TB_SCENARIO_MAX + 1, NULL, &s, &err), TB_E_TOO_LARGE);
    ck_assert_int_eq(tb_scenario_parse(text, TB_SCENARIO_MAX, NULL, &s, &err), TB_OK);
    free(text);
}
END_TEST

/* --- books --- */

static tb_code make(const char *patch, tb_book *book)
{
    char text[1000];
    snprintf(text, sizeof text, "{\"scenario\":\"x\",\"base\":\"standard-2026\",\"patch\":%s}",
             patch);
    tb_scenario_release(&s);
    take(text);
    err = (tb_error){0};
    return tb_scenario_book(&s, &base, NULL, book, &err);
}

START_TEST(an_empty_patch_gives_the_base)
{
    tb_book book;
    ck_assert_int_eq(make("{}", &book), TB_OK);
    ck_assert_str_eq(book.canonical, base.canonical);
    ck_assert_str_eq(book.sha256, base.sha256);
    tb_book_release(&book);
}
END_TEST

START_TEST(a_patch_changes_what_it_names)
{
    tb_book book;
    ck_assert_int_eq(make("{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"0.02\",\"NA\":null,"
                          "\"SA\":\"0.05\"}}},\"optimizer\":null,\"book\":\"dearer\"}",
                          &book),
                     TB_OK);
    ck_assert_str_eq(book.id, "dearer");
    ck_assert(book.region_price[TB_REGION_EU].mantissa == 2);
    ck_assert(!book.region_priced[TB_REGION_NA] && book.region_priced[TB_REGION_SA]);
    ck_assert(!book.has_optimizer && book.has_premium);
    ck_assert_str_ne(book.sha256, base.sha256);
    tb_book_release(&book);
}
END_TEST

static void refuses_patch(const char *patch, const char *field, const char *words)
{
    tb_book book;
    ck_assert_int_eq(make(patch, &book), TB_E_BOOK);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    ck_assert_msg(strstr(err.message, "Scenario x") != NULL, "%s", err.message);
    ck_assert_msg(strstr(err.message, "standard-2026") != NULL, "%s", err.message);
}

START_TEST(a_patch_that_makes_no_book_is_refused_with_the_path)
{
    refuses_patch("{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"-1\"}}}}",
                  "patch.bandwidth.premium.regions.EU", "negative");
    refuses_patch("{\"minimum\":1}", "patch.minimum", "Unknown");
    refuses_patch("{\"book\":null}", "patch.book", "missing");
    refuses_patch("{\"currency\":\"EUR\"}", "patch.currency", "in USD");
    refuses_patch("{\"effective_from\":\"2026-02-01T00:00:00Z\"}", "patch.effective_from",
                  "in force");
    refuses_patch(
        "{\"bandwidth\":{\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":0,\"to\":null}]}}}",
        "patch.bandwidth.volume.tiers[0].price", "missing");
}
END_TEST

/* --- memory --- */

START_TEST(every_allocation_may_fail)
{
    const char *text = "{\"scenario\":\"\\u0061\",\"patch\":{\"optimizer\":{\"monthly\":1}},"
                       "\"usage\":[{\"factor\":2}]}";
    tb_code code = TB_E_NOMEM;
    for (int n = 0; code == TB_E_NOMEM; n++) {
        budget b = {n};
        tb_alloc alloc = {limited, &b};
        tb_scenario scenario;
        tb_book book;
        code = tb_scenario_parse(text, strlen(text), &alloc, &scenario, &err);
        if (code) continue;
        code = tb_scenario_book(&scenario, &base, &alloc, &book, &err);
        if (!code) tb_book_release(&book);
        tb_scenario_release(&scenario);
        ck_assert_int_lt(n, 100);
    }
    ck_assert_int_eq(code, TB_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scenarios");
    TCase *t = tcase_create("scenario");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, the_documents_own_example);
    tcase_add_test(t, only_the_name_is_required);
    tcase_add_test(t, a_base_of_null_is_none);
    tcase_add_test(t, a_book_that_the_patch_would_miss_is_refused);
    tcase_add_test(t, contracts_are_read_as_a_catalogue_has_them);
    tcase_add_test(t, a_contract_that_does_not_read_is_refused_with_its_path);
    tcase_add_test(t, order_and_space_do_not_change_the_hash);
    tcase_add_test(t, the_canonical_text_reads_as_the_same_scenario);
    tcase_add_test(t, names_are_plain);
    tcase_add_test(t, what_is_not_known_is_refused_with_its_path);
    tcase_add_test(t, factors_are_exact_and_bounded);
    tcase_add_test(t, conditions_are_known_things);
    tcase_add_test(t, conditions_that_nothing_meets_are_refused);
    tcase_add_test(t, entries_are_counted);
    tcase_add_test(t, a_document_has_a_largest_size);
    tcase_add_test(t, an_empty_patch_gives_the_base);
    tcase_add_test(t, a_patch_changes_what_it_names);
    tcase_add_test(t, a_patch_that_makes_no_book_is_refused_with_the_path);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
