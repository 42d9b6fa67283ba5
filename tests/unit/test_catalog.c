/* catalog.h: what a catalogue may say, and every way to be refused, with the path. */
#include "model/catalog_private.h"
#include "tollbook/pullzone.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JAN_5  INT64_C(1767571200000000)
#define JAN_10 INT64_C(1768003200000000)

static tb_catalog take(const char *text)
{
    tb_catalog catalog;
    tb_error err = {0};
    ck_assert_msg(tb_catalog_parse(text, strlen(text), &catalog, &err) == TB_OK, "%s: %s",
                  err.field, err.message);
    return catalog;
}

static void refused(const char *text, const char *field, const char *message)
{
    tb_catalog catalog;
    tb_error err = {0};
    ck_assert_msg(tb_catalog_parse(text, strlen(text), &catalog, &err) == TB_E_CATALOG,
                  "accepted: %s", text);
    ck_assert_int_eq(err.code, TB_E_CATALOG);
    ck_assert_str_eq(err.field, field);
    ck_assert_str_eq(err.message, message);
}

#define ACCOUNT "\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"b\"}]"
/* A document with account 1 and 2 and one zone, or one balancer, of these members. */
#define ZONE(members) "{" ACCOUNT ",\"zones\":[{" members "}]}"
#define BALANCER(members)                                                                          \
    "{" ACCOUNT ",\"zones\":[{\"id\":101,\"account\":1,\"name\":\"z\"},"                           \
    "{\"id\":201,\"account\":2,\"name\":\"y\"}],\"load_balancers\":[{" members "}]}"
#define REGION(members) "{\"accounts\":[],\"regions\":[{" members "}]}"

/* The example of architecture section 5. */
START_TEST(the_documented_example_is_taken)
{
    tb_catalog c = take(
        "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"regions\":[{\"id\":1,\"code\":\"DE\","
        "\"name\":\"EU: Frankfurt, DE\",\"billing\":\"EU\"}],\"zones\":[{\"id\":101,\"account\":1,"
        "\"name\":\"acme-video\",\"type\":\"premium\",\"created\":\"2026-01-05T00:00:00Z\","
        "\"settings\":{}}],\"load_balancers\":[{\"id\":7,\"account\":1,"
        "\"created\":\"2026-01-10T00:00:00Z\",\"deleted\":null,\"zones\":[101]}]}");
    ck_assert_uint_eq(c.n_accounts, 1);
    ck_assert_int_eq(c.accounts[0].id, 1);
    ck_assert_str_eq(c.accounts[0].name, "acme");
    ck_assert_str_eq(c.accounts[0].document, "{\"id\":1,\"name\":\"acme\"}");
    ck_assert(c.has_regions);
    ck_assert_uint_eq(c.n_regions, 1);
    ck_assert_str_eq(c.regions[0].code, "DE");
    ck_assert_str_eq(c.regions[0].name, "EU: Frankfurt, DE");
    ck_assert_uint_eq(c.n_zones, 1);
    ck_assert_int_eq(c.zones[0].id, 101);
    ck_assert_int_eq(c.zones[0].account, 1);
    ck_assert_str_eq(c.zones[0].name, "acme-video");
    ck_assert_str_eq(c.zones[0].type, "premium");
    ck_assert_int_eq(c.zones[0].created_us, JAN_5);
    ck_assert_str_eq(c.zones[0].settings, "{}");
    ck_assert_uint_eq(c.n_balancers, 1);
    ck_assert_int_eq(c.balancers[0].id, 7);
    ck_assert_int_eq(c.balancers[0].created_us, JAN_10);
    ck_assert_int_eq(c.balancers[0].deleted_us, INT64_MAX);
    ck_assert_uint_eq(c.balancers[0].n_zones, 1);
    ck_assert_int_eq(c.balancers[0].zones[0], 101);
    tb_catalog_release(&c);
    ck_assert_ptr_null(c.memory);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(the_fixture_is_taken)
{
    const char *source = getenv("TB_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/fixtures/catalog.json", source ? source : ".");
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    char text[16384];
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = 0;
    tb_catalog c = take(text);
    ck_assert_uint_eq(c.n_accounts, 2);
    ck_assert_uint_eq(c.n_zones, 6);
    ck_assert_uint_eq(c.n_balancers, 1);
    ck_assert(!c.has_regions);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(what_is_absent_has_its_default)
{
    tb_catalog c = take(BALANCER("\"id\":7,\"account\":1,\"zones\":[]"));
    ck_assert_str_eq(c.zones[0].type, "premium");
    ck_assert_int_eq(c.zones[0].created_us, INT64_MIN);
    ck_assert_str_eq(c.zones[0].settings, "{}");
    ck_assert_int_eq(c.balancers[0].created_us, INT64_MIN);
    ck_assert_int_eq(c.balancers[0].deleted_us, INT64_MAX);
    ck_assert_uint_eq(c.balancers[0].n_zones, 0);
    ck_assert(!c.has_regions);
    ck_assert_uint_eq(c.n_regions, 0);
    ck_assert_uint_eq(c.n_containers, 0);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(a_rate_without_a_currency_needs_accounts_of_one)
{
    static const struct {
        const char *rates, *accounts;
        bool good;
    } cases[] = {
        {"{\"2026-10\":\"0.25\"}", "", true},
        {"{\"2026-10\":\"0.25\"}", "{\"id\":1,\"name\":\"a\"}", true},
        {"{\"2026-10\":\"0.25\"}",
         "{\"id\":1,\"name\":\"a\",\"currency\":\"USD\"},{\"id\":2,\"name\":\"b\"},"
         "{\"id\":3,\"name\":\"c\",\"currency\":\"PLN\"}",
         true},
        {"{\"2026-09\":{\"USD\":4},\"2026-10\":\"0.25\"}",
         "{\"id\":1,\"name\":\"a\",\"currency\":\"JPY\"},{\"id\":2,\"name\":\"b\"}", false},
        {"{\"2026-10\":4}",
         "{\"id\":1,\"name\":\"a\",\"currency\":\"PLN\"},"
         "{\"id\":2,\"name\":\"b\",\"currency\":\"EUR\"},"
         "{\"id\":3,\"name\":\"c\",\"currency\":\"JPY\"}",
         false},
        {"{\"2026-10\":{\"EUR\":\"4.25\",\"JPY\":\"0.025\"}}",
         "{\"id\":1,\"name\":\"a\",\"currency\":\"EUR\"},"
         "{\"id\":2,\"name\":\"b\",\"currency\":\"JPY\"}",
         true},
    };
    char text[500];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"seller\":{\"name\":\"S\",\"country\":\"PL\",\"tax_currency\":\"PLN\","
                 "\"rates\":%s},\"accounts\":[%s]}",
                 cases[i].rates, cases[i].accounts);
        if (cases[i].good) {
            tb_catalog c = take(text);
            tb_catalog_release(&c);
        } else {
            refused(text, "seller.rates.2026-10",
                    "Must be an object such as {\"USD\": \"0.92\", \"CHF\": \"0.95\"}, for the"
                    " accounts have more than one currency.");
        }
    }
}
END_TEST

START_TEST(a_seller_is_kept_as_canonical_text)
{
    tb_catalog c = take("{\"accounts\":[],\"seller\": {\"name\":\"S\",\"country\":\"D\\u0045\","
                        "\"rates\":{\"2026-10\":1.50},\"tax_currency\":\"EUR\"}}");
    ck_assert_str_eq(c.seller, "{\"country\":\"DE\",\"name\":\"S\",\"rates\":{\"2026-10\":1.50},"
                               "\"tax_currency\":\"EUR\"}");
    tb_catalog_release(&c);
    c = take("{\"accounts\":[]}");
    ck_assert_ptr_null(c.seller);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(lists_may_come_in_any_order)
{
    tb_catalog c = take("{\"load_balancers\":[{\"zones\":[5],\"account\":3,\"id\":1}],"
                        "\"zones\":[{\"name\":\"z\",\"account\":3,\"id\":5}],"
                        "\"accounts\":[{\"name\":\"a\",\"id\":3}]}");
    ck_assert_uint_eq(c.n_balancers, 1);
    tb_catalog_release(&c);
}
END_TEST

/* Money is read from these texts later: not a digit may change. */
START_TEST(documents_keep_number_texts)
{
    tb_catalog c = take("{\"accounts\":[{\"id\":1,\"name\":\"a\",\"currency\":\"EUR\","
                        "\"tax\":{\"rate\":0.10},\"discounts\":{\"EUUSDiscount\":1e1},"
                        "\"prepaid\":true}],\"zones\":[{\"id\":1,\"account\":1,\"name\":\"z\","
                        "\"settings\":{\"PriceOverride\":0.000000004699383,\"BlockedIps\":[\"a\"]}}]}");
    ck_assert_str_eq(c.accounts[0].document,
                     "{\"currency\":\"EUR\",\"discounts\":{\"EUUSDiscount\":1e1},\"id\":1,"
                     "\"name\":\"a\",\"prepaid\":true,\"tax\":{\"rate\":0.10}}");
    ck_assert_str_eq(c.zones[0].settings,
                     "{\"BlockedIps\":[\"a\"],\"PriceOverride\":0.000000004699383}");
    ck_assert_str_eq(c.zones[0].document,
                     "{\"account\":1,\"id\":1,\"name\":\"z\","
                     "\"settings\":{\"BlockedIps\":[\"a\"],"
                     "\"PriceOverride\":0.000000004699383}}");
    tb_catalog_release(&c);
}
END_TEST

START_TEST(unknown_keys_are_refused_with_their_path)
{
    refused("{\"accounts\":[],\"colour\":1}", "colour", "Unknown key.");
    refused("{\"accounts\":[{\"id\":1,\"name\":\"a\",\"colour\":1}]}", "accounts[0].colour",
            "Unknown key.");
    refused(ZONE("\"id\":101,\"account\":1,\"name\":\"z\",\"colour\":\"red\""), "zones[0].colour",
            "Unknown key.");
    refused(BALANCER("\"id\":7,\"account\":1,\"zones\":[],\"name\":\"x\""),
            "load_balancers[0].name", "Unknown key.");
    refused(REGION("\"id\":1,\"code\":\"DE\",\"name\":\"EU: F\",\"billing\":\"EU\",\"x\":1"),
            "regions[0].x", "Unknown key.");
}
END_TEST

START_TEST(paths_are_printable_and_short)
{
    refused("{\"a\\nb\\u007f\":1}", "a?b?", "Unknown key.");
    refused(ZONE("\"settings\":{\"\\u001b[2J\\u007f345678901234567890123456789012345\u00e9\":1}"),
            "zones[0].settings.?[2J?345678901234567890123456789012345",
            "Unknown field: a pull zone has no \"?[2J?345678901234567890123456789012345\".");
    refused(ZONE("\"settings\":{\"EdgeRules\":[{\"\\u001b]0;\":1}]}"),
            "zones[0].settings.EdgeRules[0].?]0;",
            "EdgeRules must be made of the fields of EdgeRuleV2Model; \"?]0;\" is not one.");
    refused("{\"0123456789012345678901234567890123456789012345678901234567890\":1}",
            "01234567890123456789012345678901234567890123456", "Unknown key.");
    /* 79 bytes would end within the last character */
    refused(ZONE("\"settings\":{\"EdgeRules\":[{\"Triggers\":[{\"0123456789012345678901234567"
                 "8901234\u00e9\":1}]}]}"),
            "zones[0].settings.EdgeRules[0].Triggers[0].01234567890123456789012345678901234",
            "Triggers must be made of the fields of Trigger; \"0123456789012345678901234567"
            "8901234\u00e9\" is not one.");
}
END_TEST

START_TEST(missing_keys_are_refused)
{
    refused("{}", "accounts", "This key is missing.");
    refused("{\"accounts\":[{\"name\":\"a\"}]}", "accounts[0].id", "This key is missing.");
    refused("{\"accounts\":[{\"id\":1}]}", "accounts[0].name", "This key is missing.");
    refused(ZONE("\"id\":1,\"name\":\"z\""), "zones[0].account", "This key is missing.");
    refused(BALANCER("\"id\":1,\"account\":1"), "load_balancers[0].zones", "This key is missing.");
    refused(REGION("\"id\":1,\"code\":\"DE\",\"name\":\"EU: F\""), "regions[0].billing",
            "This key is missing.");
}
END_TEST

START_TEST(wrong_types_are_refused)
{
    refused("[]", "", "Must be an object, is an array.");
    refused("{\"accounts\":{}}", "accounts", "Must be an array, is an object.");
    refused("{\"accounts\":[1]}", "accounts[0]", "Must be an object, is a number.");
    refused("{\"accounts\":[{\"id\":\"1\"}]}", "accounts[0].id",
            "Must be a whole number, is a string.");
    refused("{\"accounts\":[{\"id\":1,\"name\":null}]}", "accounts[0].name",
            "Must be a string, is null.");
    refused("{\"accounts\":[{\"id\":1,\"name\":\"a\",\"prepaid\":1}]}", "accounts[0].prepaid",
            "Must be true or false, is a number.");
    refused("{\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":true}]}", "accounts[0].tax",
            "Must be a percent from 0 to 100, a list of rates, or an object of names and percents.");
    refused("{\"accounts\":[{\"id\":1,\"name\":\"a\",\"discounts\":[]}]}", "accounts[0].discounts",
            "Must be an object of discounts.");
    refused(ZONE("\"settings\":[]"), "zones[0].settings", "Must be an object, is an array.");
    refused(ZONE("\"created\":5"), "zones[0].created", "Must be a string, is a number.");
    refused(ZONE("\"created\":null"), "zones[0].created", "Must be a string, is null.");
    refused(ZONE("\"type\":0"), "zones[0].type", "Must be a string, is a number.");
    refused(ZONE("\"hostnames\":\"a\""), "zones[0].hostnames", "Must be an array, is a string.");
    refused(ZONE("\"hostnames\":[\"a\",1]"), "zones[0].hostnames[1]",
            "Must be a string or an object, is a number.");
    refused(BALANCER("\"zones\":101"), "load_balancers[0].zones", "Must be an array, is a number.");
    refused(BALANCER("\"zones\":[101,\"a\"]"), "load_balancers[0].zones[1]",
            "Must be a whole number, is a string.");
}
END_TEST

START_TEST(ids_are_1_to_2_to_the_63_minus_1)
{
    static const char range[] = "Must be a whole number from 1 to 2^63-1.";
    tb_catalog c = take("{\"accounts\":[{\"id\":9223372036854775807,\"name\":\"a\"}]}");
    ck_assert_int_eq(c.accounts[0].id, INT64_MAX);
    tb_catalog_release(&c);
    static const char *const bad[] = {
        "0", "-1", "1.0", "1e3", "9223372036854775808", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"accounts\":[{\"id\":%s,\"name\":\"a\"}]}", bad[i]);
        refused(text, "accounts[0].id", range);
    }
    c = take("{" ACCOUNT ",\"shield_zones\":[{\"id\":2147483647,\"account\":1}]}");
    ck_assert_int_eq(c.shields[0].id, INT32_MAX);
    tb_catalog_release(&c);
    refused("{" ACCOUNT ",\"shield_zones\":[{\"id\":2147483648,\"account\":1}]}",
            "shield_zones[0].id", "Must be at most 2147483647.");
}
END_TEST

START_TEST(names_have_1_to_255_bytes)
{
    char text[400];
    for (int n = 254; n <= 256; n++) {
        snprintf(text, sizeof text, "{\"accounts\":[{\"id\":1,\"name\":\"%0*d\"}]}", n, 7);
        if (n == 256) {
            refused(text, "accounts[0].name", "Must have 1 to 255 bytes.");
            continue;
        }
        tb_catalog c = take(text);
        ck_assert_uint_eq(strlen(c.accounts[0].name), (size_t)n);
        tb_catalog_release(&c);
    }
    refused("{\"accounts\":[{\"id\":1,\"name\":\"\"}]}", "accounts[0].name",
            "Must have 1 to 255 bytes.");
}
END_TEST

#define UNPRINTABLE "Must hold no control characters, and no noncharacters such as U+FFFF."

/* The catalogue with a text in the place of its '%'. */
static const char *with_text(const char *catalogue, const char *text)
{
    static char whole[400];
    const int at = (int)strcspn(catalogue, "%");
    snprintf(whole, sizeof whole, "%.*s%s%s", at, catalogue, text, catalogue + at + 1);
    return whole;
}

START_TEST(texts_that_documents_print_are_printable)
{
    static const char *const bad[] = {"\\u001b[2J", "\\u007f", "\\u009b1m", "\ufffe", "\uffff", "\ufdd0",
                                      "\U0001fffe", "\U0010ffff"};
    static const struct {
        const char *catalogue, *field; /* %: the text */
    } places[] = {
        {"{\"accounts\":[{\"id\":1,\"name\":\"a%\"}]}", "accounts[0].name"},
        {"{\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":[{\"name\":\"V%\",\"percent\":5}]}]}", "accounts[0].tax"},
        {"{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":2,\"account\":1,\"name\":\"%\"}]}", "zones[0].name"},
        {"{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"shield_zones\":[{\"id\":2,\"account\":1,\"name\":\"%\"}]}",
         "shield_zones[0].name"},
        {"{\"accounts\":[],\"regions\":[{\"id\":1,\"code\":\"DE\",\"name\":\"EU: F%\",\"billing\":\"EU\"}]}", "regions[0].name"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
            refused(with_text(places[i].catalogue, bad[k]), places[i].field, UNPRINTABLE);
        tb_catalog c = take(with_text(places[i].catalogue, "\u00a0\u6771\ufffd\U0001f600\U0001fffd"));
        tb_catalog_release(&c);
    }
    tb_catalog c = take("{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":2,\"account\":1,\"name\":\"z\","
                        "\"settings\":{\"ErrorPageCustomCode\":\"<p>\\n</p>\"}}]}"); /* is not printed */
    tb_catalog_release(&c);
}
END_TEST

#define WHOLE                                                                                      \
    "Must be a percent from 0 to 100, a list of rates, or an object of names and percents."
#define PERCENT "Must be a percent from 0 to 100 with at most 15 digits after the point."
#define LONG_40 "1234567890123456789012345678901234567890"

/* Whatever bills would refuse is refused here, with where it stands. */
START_TEST(tax_and_discounts_are_judged_as_bills_read_them)
{
    static const struct {
        const char *member, *path, *message;
    } bad[] = {
        {"\"tax\":\"abc\"", "tax", WHOLE},
        {"\"tax\":-5", "tax", WHOLE},
        {"\"tax\":null", "tax", WHOLE},
        {"\"tax\":1e400", "tax", WHOLE},
        {"\"tax\":{\"VAT\":101}", "tax.VAT", PERCENT},
        {"\"tax\":{\"VAT\":{\"a\":1}}", "tax.VAT", PERCENT},
        {"\"tax\":{\"VAT\":0.0000000000000001}", "tax.VAT", PERCENT},
        {"\"tax\":{\"V\\u0007\":[]}", "tax.V?", PERCENT},
        {"\"tax\":{\"\":1}", "tax", "Must be a rate with a name of 1 to 39 bytes."},
        {"\"tax\":{\"" LONG_40 "\":1}", "tax." LONG_40,
         "Must be a rate with a name of 1 to 39 "
         "bytes."},
        {"\"tax\":[19,\"x\"]", "tax[1]", PERCENT},
        {"\"tax\":[[19]]", "tax[0]", PERCENT},
        {"\"tax\":[{\"name\":\"VAT\"}]", "tax[0]", "Must be an object with name and percent."},
        {"\"tax\":[{\"name\":\"VAT\",\"percent\":101}]", "tax[0].percent", PERCENT},
        {"\"tax\":[1,{\"name\":\"VAT\",\"rate\":-1}]", "tax[1].rate", PERCENT},
        {"\"tax\":{\"name\":7,\"percent\":1}", "tax.name", "Must be a string of 1 to 39 bytes."},
        {"\"tax\":[1,2,3,4,5,6,7,8,9]", "tax[8]", "Must be one of at most 8 rates."},
        {"\"tax\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}",
         "tax.i", "Must be one of at most 8 rates."},
        {"\"tax\":{\"category\":\"S\"}", "tax.rate",
         "Must be given, a percent above 0, for category S."},
        {"\"tax\":{\"category\":\"Z\",\"rate\":1}", "tax.rate",
         "Must be 0, or left out, for any category but S."},
        {"\"tax\":{\"category\":\"X\"}", "tax.category", "Must be S, Z, E, AE, K, G or O."},
        {"\"tax\":{\"category\":\"Z\",\"rates\":0}", "tax.rates",
         "Must be one of category, rate, reason and reason_code."},
        {"\"tax\":{\"category\":\"Z\",\"rat\":0}", "tax.rat",
         "Must be one of category, rate, reason and reason_code."},
        {"\"discounts\":{\"EUDiscount\":10}", "discounts.EUDiscount",
         "Must be one of EUUSDiscount, SouthAmericaDiscount, AfricaDiscount and"
         " AsiaOceaniaDiscount."},
        {"\"discounts\":{\"AfricaDiscount\":1000}", "discounts.AfricaDiscount",
         "Must be a whole number from 0 to 100."},
        {"\"discounts\":{\"EUUSDiscount\":2.5}", "discounts.EUUSDiscount",
         "Must be a whole number from 0 to 100."},
        {"\"discounts\":{\"EUUSDiscount\":[]}", "discounts.EUUSDiscount",
         "Must be a whole number from 0 to 100."},
    };
    static const char *const good[] = {
        "\"tax\":19", "\"tax\":\"19.5\"", "\"tax\":0", "\"tax\":[]", "\"tax\":{}", "\"tax\":1e1",
        "\"tax\":[1,\"2\",{\"percent\":3}]", "\"tax\":{\"name\":\"x\",\"percent\":3}",
        "\"tax\":{\"VAT\":19,\"Levy\":\"1.5\"}", "\"tax\":{\"category\":\"S\",\"rate\":\"19\"}",
        "\"tax\":{\"category\":\"Z\",\"rate\":0}",
        "\"tax\":{\"category\":\"AE\",\"reason\":\"r\",\"reason_code\":\"VATEX-EU-AE\"}", "\"discounts\":{}",
        "\"discounts\":{\"EUUSDiscount\":100,\"AfricaDiscount\":null}",
    };
    char text[400], path[80];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{\"accounts\":[{\"id\":1,\"name\":\"a\",%s}]}", bad[i].member);
        snprintf(path, sizeof path, "accounts[0].%s", bad[i].path);
        refused(text, path, bad[i].message);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "{\"accounts\":[{\"id\":1,\"name\":\"a\",%s}]}", good[i]);
        tb_catalog c = take(text);
        tb_catalog_release(&c);
    }
}
END_TEST

START_TEST(places_within_settings_and_hostnames_are_whole_paths)
{
    refused(ZONE("\"settings\":{\"EUUSDiscount\":101}"), "zones[0].settings.EUUSDiscount",
            "EUUSDiscount must be a whole number from 0 to 100.");
    refused(ZONE("\"settings\":{\"BlockedIps\":[\"a\",1]}"), "zones[0].settings.BlockedIps[1]",
            "BlockedIps must be a list of strings.");
    refused(ZONE("\"settings\":{\"EdgeRules\":[{},7]}"), "zones[0].settings.EdgeRules[1]",
            "EdgeRules must be a list of objects.");
    refused(ZONE("\"settings\":{\"EdgeRules\":[{},{\"Triggers\":[{\"PatternMatches\":[\"a\",2]}]}]}"),
            "zones[0].settings.EdgeRules[1].Triggers[0].PatternMatches[1]",
            "PatternMatches must be a list of strings.");
    refused(ZONE("\"hostnames\":[\"a\",{\"ForceSSL\":1}]"), "zones[0].hostnames[1].ForceSSL",
            "ForceSSL must be true or false.");
    refused(ZONE("\"settings\":{\"PriceOverride\":1e21}"), "zones[0].settings.PriceOverride",
            "Must be smaller: 10^18 units at this price pass 2^127-1.");
    refused(ZONE("\"settings\":{\"OptimizerPricing\":170141183460469231732}"),
            "zones[0].settings.OptimizerPricing",
            "Must be smaller: 10^18 units at this price pass 2^127-1.");
    tb_catalog c = take(ZONE("\"id\":1,\"account\":1,\"name\":\"z\",\"settings\":{\"PriceOverride\":"
                             "170141183460469231731}"));
    tb_catalog_release(&c);
}
END_TEST

START_TEST(hostnames_are_strings_or_objects)
{
    tb_catalog c = take(ZONE(
        "\"id\":1,\"account\":1,\"name\":\"z\",\"hostnames\":[\"a.example\",{\"Value\":\"b\"}]"));
    ck_assert_ptr_nonnull(strstr(c.zones[0].document, "[\"a.example\",{\"Value\":\"b\"}]"));
    tb_catalog_release(&c);
    refused(ZONE("\"hostnames\":[\"\"]"), "zones[0].hostnames[0]", "Must have 1 to 253 bytes.");
}
END_TEST

START_TEST(currencies_types_and_times_have_their_form)
{
    static const char *const bad[] = {"eur", "EU", "EURO", "E1R"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text,
                 "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"currency\":\"%s\"}]}", bad[i]);
        refused(text, "accounts[0].currency", "Must be three capital letters such as EUR.");
    }
    refused(ZONE("\"type\":\"Premium\""), "zones[0].type", "Must be premium or volume.");
    refused(ZONE("\"created\":\"2026-01-05\""), "zones[0].created",
            "Must be an RFC 3339 time such as 2026-01-05T00:00:00Z.");
    refused(ZONE("\"created\":\"2026-02-30T00:00:00Z\""), "zones[0].created",
            "Must be an RFC 3339 time such as 2026-01-05T00:00:00Z.");
    tb_catalog c = take(ZONE("\"id\":1,\"account\":2,\"name\":\"z\",\"type\":\"volume\","
                             "\"created\":\"2026-01-05T02:00:00+02:00\""));
    ck_assert_str_eq(c.zones[0].type, "volume");
    ck_assert_int_eq(c.zones[0].created_us, JAN_5);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(duplicate_ids_are_refused_at_the_later_one)
{
    refused("{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"},"
            "{\"id\":1,\"name\":\"c\"}]}",
            "accounts[2].id", "Duplicate id 1.");
    refused("{" ACCOUNT ",\"zones\":[{\"id\":5,\"account\":1,\"name\":\"z\"},"
            "{\"id\":5,\"account\":2,\"name\":\"y\"}]}",
            "zones[1].id", "Duplicate id 5.");
    refused("{" ACCOUNT ",\"load_balancers\":[{\"id\":5,\"account\":1,\"zones\":[]},"
            "{\"id\":5,\"account\":1,\"zones\":[]}]}",
            "load_balancers[1].id", "Duplicate id 5.");
    refused(BALANCER("\"id\":1,\"account\":1,\"zones\":[101,101]"), "load_balancers[0].zones[1]",
            "Duplicate id 101.");
}
END_TEST

START_TEST(owners_must_be_declared)
{
    refused(ZONE("\"id\":1,\"account\":3,\"name\":\"z\""), "zones[0].account",
            "No such account: 3.");
    refused(BALANCER("\"id\":1,\"account\":3,\"zones\":[]"), "load_balancers[0].account",
            "No such account: 3.");
    refused(BALANCER("\"id\":1,\"account\":1,\"zones\":[101,999]"), "load_balancers[0].zones[1]",
            "No such zone: 999.");
    refused(BALANCER("\"id\":1,\"account\":1,\"zones\":[201]"), "load_balancers[0].zones[0]",
            "Another account owns the zone 201.");
}
END_TEST

START_TEST(a_balancer_is_not_deleted_before_it_is_created)
{
    refused(BALANCER("\"id\":9,\"account\":1,\"zones\":[],\"created\":\"2026-01-10T00:00:00Z\","
                     "\"deleted\":\"2026-01-09T23:59:59Z\""),
            "load_balancers[0].deleted", "Must not be before created: load balancer 9.");
    tb_catalog c =
        take(BALANCER("\"id\":9,\"account\":1,\"zones\":[],\"created\":\"2026-01-10T00:00:00Z\","
                      "\"deleted\":\"2026-01-10T00:00:00Z\""));
    ck_assert_int_eq(c.balancers[0].deleted_us, JAN_10);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(a_zone_has_one_balancer_at_a_time)
{
    refused(BALANCER("\"id\":8,\"account\":1,\"zones\":[101]},"
                     "{\"id\":9,\"account\":1,\"zones\":[101]"),
            "load_balancers[1].zones",
            "Another load balancer has the same zone at the same time: 101.");
    tb_catalog c = take(BALANCER("\"id\":9,\"account\":1,\"zones\":[101],"
                                 "\"created\":\"2026-01-10T00:00:00Z\"},"
                                 "{\"id\":8,\"account\":1,\"zones\":[101],"
                                 "\"created\":\"2026-01-05T00:00:00Z\","
                                 "\"deleted\":\"2026-01-10T00:00:00Z\""));
    ck_assert_uint_eq(c.n_balancers, 2);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(regions_carry_all_their_fields)
{
    tb_catalog c = take(REGION("\"price\":0.0450,\"continent\":\"OC\",\"country\":\"AU\","
                               "\"latitude\":-33.87,\"longitude\":151.21,\"latency_routing\":true,"
                               "\"id\":14,\"code\":\"SYD\",\"name\":\"OC: Sydney, AU\","
                               "\"billing\":\"ASIA\""));
    const tb_region *r = c.regions;
    ck_assert_int_eq(r->id, 14);
    ck_assert_str_eq(r->code, "SYD");
    ck_assert_str_eq(r->name, "OC: Sydney, AU");
    ck_assert_str_eq(r->billing, "ASIA");
    ck_assert_str_eq(r->continent, "OC");
    ck_assert_str_eq(r->country, "AU");
    ck_assert_str_eq(r->price, "0.0450");
    ck_assert_double_eq(r->latitude, -33.87);
    ck_assert_double_eq(r->longitude, 151.21);
    ck_assert(r->latency_routing);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(regions_take_continent_and_price_from_their_billing_region)
{
    tb_catalog c =
        take(REGION("\"id\":1,\"code\":\"X\",\"name\":\"SA: Lima, PE\",\"billing\":\"SA\""));
    ck_assert_str_eq(c.regions[0].continent, "SA");
    ck_assert_str_eq(c.regions[0].price, "0.045");
    ck_assert_str_eq(c.regions[0].country, "");
    ck_assert_double_eq(c.regions[0].latitude, 0);
    ck_assert(!c.regions[0].latency_routing);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(an_empty_region_list_is_a_list)
{
    tb_catalog c = take("{\"accounts\":[],\"regions\":[]}");
    ck_assert(c.has_regions);
    ck_assert_uint_eq(c.n_regions, 0);
    tb_catalog_release(&c);
}
END_TEST

START_TEST(region_fields_have_their_form)
{
    static const struct {
        const char *member, *field, *message;
    } rows[] = {
        {"\"code\":\"\"", "code", "Must have 1 to 16 bytes."},
        {"\"code\":\"ABCDEFGHIJKLMNOPQ\"", "code", "Must have 1 to 16 bytes."},
        {"\"code\":\"A B\"", "code", "Must consist of letters, digits, '_', '.' and '-'."},
        {"\"name\":\"Frankfurt\"", "name", "Must be \"<continent>: <place>\"."},
        {"\"name\":\"EU:Frankfurt\"", "name", "Must be \"<continent>: <place>\"."},
        {"\"name\":\": Frankfurt\"", "name", "Must be \"<continent>: <place>\"."},
        {"\"name\":\"EU: \"", "name", "Must be \"<continent>: <place>\"."},
        {"\"billing\":\"EUR\"", "billing", "Must be EU, NA, ASIA, SA or AF."},
        {"\"billing\":\"eu\"", "billing", "Must be EU, NA, ASIA, SA or AF."},
        {"\"continent\":\"XX\"", "continent", "Must be EU, NA, AS, OC, SA or AF."},
        {"\"country\":\"de\"", "country", "Must be two capital letters."},
        {"\"price\":-1", "price", "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"price\":\"00.5\"", "price",
         "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"price\":1e2", "price", "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"price\":\"1.\"", "price", "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"price\":\"\"", "price", "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"price\":true", "price", "Must be a number or a string, is true."},
        {"\"price\":0.12345678901234", "price",
         "Must be a decimal of at most 15 characters such as 0.045."},
        {"\"latitude\":90.01", "latitude", "Must be from -90 to 90."},
        {"\"latitude\":-91", "latitude", "Must be from -90 to 90."},
        {"\"longitude\":180.5", "longitude", "Must be from -180 to 180."},
        {"\"longitude\":1e1", "longitude", "Must be a decimal of at most 15 digits."},
        {"\"longitude\":\"1\"", "longitude", "Must be a number, is a string."},
        {"\"latency_routing\":\"yes\"", "latency_routing", "Must be true or false, is a string."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200], field[48];
        snprintf(text, sizeof text, "{\"accounts\":[],\"regions\":[{%s}]}", rows[i].member);
        snprintf(field, sizeof field, "regions[0].%s", rows[i].field);
        refused(text, field, rows[i].message);
    }
}
END_TEST

START_TEST(region_names_have_at_most_95_bytes)
{
    char text[300];
    for (int n = 94; n <= 96; n++) {
        snprintf(text, sizeof text,
                 REGION("\"id\":1,\"code\":\"X\",\"billing\":\"EU\","
                        "\"name\":\"EU: %0*d\""),
                 n - 4, 7);
        if (n == 96) {
            refused(text, "regions[0].name", "Must have 4 to 95 bytes.");
            continue;
        }
        tb_catalog c = take(text);
        ck_assert_uint_eq(strlen(c.regions[0].name), (size_t)n);
        tb_catalog_release(&c);
    }
}
END_TEST

START_TEST(region_ids_codes_and_names_are_unique)
{
#define TWO(id, code, name)                                                                        \
    "{\"accounts\":[],\"regions\":[{\"id\":1,\"code\":\"DE\",\"name\":\"EU: F\","                  \
    "\"billing\":\"EU\"},{\"id\":" id ",\"code\":\"" code "\",\"name\":\"" name                    \
    "\",\"billing\":\"NA\"}]}"
    tb_catalog c = take(TWO("2", "de", "EU: G"));
    tb_catalog_release(&c);
    refused(TWO("1", "FR", "EU: P"), "regions[1].id", "Duplicate id 1.");
    refused(TWO("2", "DE", "EU: P"), "regions[1].code", "An earlier region has the same value.");
    refused(TWO("2", "FR", "EU: F"), "regions[1].name", "An earlier region has the same value.");
}
END_TEST

START_TEST(syntax_errors_name_their_byte)
{
    tb_catalog catalog;
    tb_error err;
    static const char text[] = "{\"accounts\":[{\"id\":1,}]}";
    ck_assert_int_eq(tb_catalog_parse(text, sizeof text - 1, &catalog, &err), TB_E_CATALOG);
    ck_assert_uint_eq(err.byte, 22);
    static const char twice[] = "{\"accounts\":[],\"accounts\":[]}";
    ck_assert_int_eq(tb_catalog_parse(twice, sizeof twice - 1, &catalog, &err), TB_E_CATALOG);
    ck_assert_uint_eq(err.byte, 16);
    ck_assert_str_eq(err.message, "Duplicate key.");
    static const char type[] = "{\"accounts\":7}";
    ck_assert_int_eq(tb_catalog_parse(type, sizeof type - 1, &catalog, &err), TB_E_CATALOG);
    ck_assert_uint_eq(err.byte, 13);
}
END_TEST

START_TEST(a_document_past_the_limit_is_too_large)
{
    tb_catalog catalog;
    tb_error err;
    ck_assert_int_eq(tb_catalog_parse("", TB_CATALOG_MAX + 1, &catalog, &err), TB_E_TOO_LARGE);
    ck_assert_int_eq(tb_catalog_parse("", 0, &catalog, &err), TB_E_CATALOG);
}
END_TEST

/* Fails the n-th allocation; counts what is held. */
typedef struct chaos {
    int left;
    int held;
} chaos;

/* Whatever stands where a value is expected: it is taken or refused at its place. */
START_TEST(every_setting_meets_every_kind_of_value)
{
    static const char *const values[] = {
        "null", "true", "-1", "0", "1.5", "1e2", "9223372036854775808", "\"\"", "\"x\"", "[]",
        "[\"\"]", "[null]", "[1,\"a\"]", "[[]]", "[{}]", "[{\"Value\":[\"\"]}]", "{}",
        "{\"a\":\"b\"}", "{\"Name\":{\"a\":[1]}}"};
    char text[400], path[120];
    for (size_t f = 0; f < TB_PULLZONE_FIELD_COUNT; f++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            tb_catalog catalog;
            tb_error err = {0};
            int n = snprintf(text, sizeof text, ZONE("\"id\":1,\"account\":1,\"name\":\"z\","
                                                     "\"settings\":{\"%s\":%s}"),
                             tb_pullzone_fields[f].name, values[v]);
            snprintf(path, sizeof path, "zones[0].settings.%s", tb_pullzone_fields[f].name);
            if (tb_catalog_parse(text, (size_t)n, &catalog, &err) == TB_OK) {
                tb_catalog_release(&catalog);
                continue;
            }
            ck_assert_int_eq(err.code, TB_E_CATALOG);
            ck_assert_msg(strncmp(err.field, path, strlen(path)) == 0, "%s: %s", err.field, text);
            ck_assert_uint_gt(err.byte, 0);
        }
}
END_TEST

/* 4 MiB of normal form, whatever the text took: n - 1, n, n + 1, and far more. */
START_TEST(settings_and_hostnames_have_at_most_4_mebibytes)
{
    static const struct {
        const char *before, *after, *field;
        size_t around; /* bytes of the normal form beside the text */
    } forms[] = {
        {"\"settings\":{\"ErrorPageCustomCode\":\"", "\"}", "zones[0].settings", 26},
        {"\"settings\":{\"BlockedIps\":[\"", "\"]}", "zones[0].settings", 19},
    };
    const size_t most = (size_t)4 << 20, lengths[] = {most - 1, most, most + 1, 8 * most};
    char *text = malloc(9 * most);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            const size_t len = lengths[i] - forms[f].around;
            int at = sprintf(text, "{" ACCOUNT ",\"zones\":[{\"id\":1,\"account\":1,\"name\":\"z\",%s",
                             forms[f].before);
            memset(text + at, 'x', len);
            sprintf(text + at + len, "%s}]}", forms[f].after);
            if (lengths[i] > most) {
                refused(text, forms[f].field, "Must have at most 4194304 bytes as JSON.");
                continue;
            }
            tb_catalog c = take(text);
            ck_assert_uint_eq(strlen(c.zones[0].settings), lengths[i]);
            tb_catalog_release(&c);
        }
    int at = sprintf(text, "{" ACCOUNT ",\"zones\":[{\"id\":1,\"account\":1,\"name\":\"z\",\"hostnames\":[");
    for (int i = 0; i < 30000; i++)
        at += sprintf(text + at, "%s\"h%d\"", i ? "," : "", i);
    sprintf(text + at, "]}]}");
    refused(text, "zones[0].hostnames", "Must have at most 4194304 bytes as JSON.");
    at = sprintf(text, "{" ACCOUNT ",\"zones\":[{\"id\":1,\"account\":1,\"name\":\"z\",\"settings\":"
                       "{\"OptimizerClasses\":[{\"Name\":\"n\",\"Properties\":{\"k\":\"");
    memset(text + at, 'x', 8 * most);
    strcpy(text + at + 8 * most, "\"}}]}}]}");
    refused(text, "zones[0].settings", "Must have at most 4194304 bytes as JSON.");
    free(text);
}
END_TEST

static void *chaos_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)old;
    chaos *c = ctx;
    if (size == 0) {
        c->held -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (c->left-- == 0) return NULL;
    c->held += ptr == NULL;
    return realloc(ptr, size);
}

START_TEST(every_allocation_may_fail)
{
    char text[4096];
    int n = snprintf(text, sizeof text,
                     "{\"seller\":{\"name\":\"S\",\"country\":\"DE\"},"
                     "\"accounts\":[{\"id\":1,\"name\":\"\\u0061\"}],\"zones\":[{\"id\":1,"
                     "\"account\":1,\"name\":\"z\",\"settings\":{");
    for (size_t i = 0; i < TB_PULLZONE_FIELD_COUNT; i++)
        if (tb_pullzone_fields[i].type == TB_FIELD_INT)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s\"%s\":7",
                          text[n - 1] == '{' ? "" : ",", tb_pullzone_fields[i].name);
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "}}],\"load_balancers\":[{\"id\":1,\"account\":1,\"zones\":[1]}],"
                  "\"registries\":[],\"regions\":[]}");
    for (int fail = 0;; fail++) {
        chaos c = {.left = fail};
        tb_alloc alloc = {chaos_resize, &c};
        tb_catalog catalog;
        tb_error err = {0};
        tb_code code = tb__catalog_parse(text, (size_t)n, &alloc, &catalog, &err);
        if (code == TB_OK) {
            ck_assert_int_gt(fail, 5);
            tb_catalog_release(&catalog);
            ck_assert_int_eq(c.held, 0);
            break;
        }
        ck_assert_int_eq(code, TB_E_NOMEM);
        ck_assert_int_eq(err.code, TB_E_NOMEM);
        ck_assert_int_eq(c.held, 0);
    }
}
END_TEST

START_TEST(many_zones_parse)
{
    enum { N = 20000 };
    size_t size = 200 + N * 80, len = 0;
    char *text = malloc(size);
    len += (size_t)snprintf(text, size, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[");
    for (int i = 0; i < N; i++)
        len += (size_t)snprintf(text + len, size - len,
                                "%s{\"id\":%d,\"account\":1,\"name\":\"zone-%d\"}", i ? "," : "",
                                i * 7919 % N + 1, i);
    snprintf(text + len, size - len, "]}");
    tb_catalog c = take(text);
    ck_assert_uint_eq(c.n_zones, N);
    ck_assert_str_eq(c.zones[N - 1].name, "zone-19999");
    tb_catalog_release(&c);
    free(text);
}
END_TEST

static void add_refusals(TCase *t)
{
    tcase_add_test(t, unknown_keys_are_refused_with_their_path);
    tcase_add_test(t, paths_are_printable_and_short);
    tcase_add_test(t, missing_keys_are_refused);
    tcase_add_test(t, wrong_types_are_refused);
    tcase_add_test(t, ids_are_1_to_2_to_the_63_minus_1);
    tcase_add_test(t, names_have_1_to_255_bytes);
    tcase_add_test(t, texts_that_documents_print_are_printable);
    tcase_add_test(t, tax_and_discounts_are_judged_as_bills_read_them);
    tcase_add_test(t, places_within_settings_and_hostnames_are_whole_paths);
    tcase_add_test(t, hostnames_are_strings_or_objects);
    tcase_add_test(t, currencies_types_and_times_have_their_form);
    tcase_add_test(t, duplicate_ids_are_refused_at_the_later_one);
    tcase_add_test(t, owners_must_be_declared);
    tcase_add_test(t, a_balancer_is_not_deleted_before_it_is_created);
    tcase_add_test(t, region_fields_have_their_form);
    tcase_add_test(t, region_names_have_at_most_95_bytes);
    tcase_add_test(t, region_ids_codes_and_names_are_unique);
    tcase_add_test(t, syntax_errors_name_their_byte);
    tcase_add_test(t, a_document_past_the_limit_is_too_large);
    tcase_add_test(t, every_setting_meets_every_kind_of_value);
    tcase_add_test(t, settings_and_hostnames_have_at_most_4_mebibytes);
    tcase_add_test(t, every_allocation_may_fail);
}

int main(void)
{
    Suite *suite = suite_create("catalog");
    TCase *t = tcase_create("catalog");
    tcase_add_test(t, the_documented_example_is_taken);
    tcase_add_test(t, the_fixture_is_taken);
    tcase_add_test(t, what_is_absent_has_its_default);
    tcase_add_test(t, a_seller_is_kept_as_canonical_text);
    tcase_add_test(t, a_rate_without_a_currency_needs_accounts_of_one);
    tcase_add_test(t, lists_may_come_in_any_order);
    tcase_add_test(t, documents_keep_number_texts);
    tcase_add_test(t, a_zone_has_one_balancer_at_a_time);
    tcase_add_test(t, regions_carry_all_their_fields);
    tcase_add_test(t, regions_take_continent_and_price_from_their_billing_region);
    tcase_add_test(t, an_empty_region_list_is_a_list);
    tcase_add_test(t, many_zones_parse);
    add_refusals(t);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
