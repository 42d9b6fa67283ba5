/* A pull zone's answer: all fields in order, what a fresh zone has, what settings change. */
#include "tollbook/catalog.h"
#include "tollbook/pullzone.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const tb_pullzone fresh = {.id = 101, .account = 1, .name = "acme", .settings = "{}",
                                  .enabled = true};

/* The answer as text, terminated; free(). */
static char *encoded(const tb_pullzone *zone, bool certificates)
{
    tb_buf out;
    tb_error err;
    tb_buf_init(&out, 1 << 22, NULL);
    ck_assert_msg(!tb_pullzone_encode(zone, certificates, &out, &err), "%s", err.message);
    char *text = malloc(out.len + 1);
    ck_assert_ptr_nonnull(text);
    memcpy(text, out.data, out.len);
    text[out.len] = 0;
    tb_buf_release(&out);
    return text;
}

static json_t *answer(const tb_pullzone *zone, bool certificates)
{
    char *text = encoded(zone, certificates);
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json != NULL, "%s in %s", error.text, text);
    free(text);
    return json;
}

static json_t *answer_of(const char *settings)
{
    tb_pullzone zone = fresh;
    zone.settings = settings;
    return answer(&zone, false);
}

static void has_text(const tb_pullzone *zone, const char *part)
{
    char *text = encoded(zone, false);
    ck_assert_msg(strstr(text, part) != NULL, "%s is not in %s", part, text);
    free(text);
}

static void settings_show(const char *settings, const char *part)
{
    tb_pullzone zone = fresh;
    zone.settings = settings;
    has_text(&zone, part);
}

START_TEST(a_fresh_zone_has_every_field_once_in_order)
{
    json_t *json = answer(&fresh, false);
    const char *name;
    json_t *value;
    size_t i = 0;
    ck_assert_uint_eq(json_object_size(json), 170);
    json_object_foreach(json, name, value) {
        ck_assert_str_eq(name, tb_pullzone_fields[i].name);
        i++;
    }
    json_decref(json);
}
END_TEST

START_TEST(a_field_that_is_not_set_is_a_fresh_zones)
{
    json_t *json = answer(&fresh, false);
    for (size_t i = 0; i < TB_PULLZONE_FIELD_COUNT; i++) {
        const tb_field *f = &tb_pullzone_fields[i];
        if (f->live || strcmp(f->name, "ZoneSecurityKey") == 0 || strcmp(f->name, "UserId") == 0)
            continue;
        json_t *want = json_loads(f->fresh, JSON_DECODE_ANY, NULL);
        ck_assert_ptr_nonnull(want);
        ck_assert_msg(json_equal(want, json_object_get(json, f->name)), "%s", f->name);
        json_decref(want);
    }
    json_decref(json);
}
END_TEST

START_TEST(what_a_zone_is_comes_from_its_own_values)
{
    tb_pullzone zone = fresh;
    zone.name = "a\"b";
    zone.volume = true;
    zone.enabled = false;
    zone.bytes = (tb_i128)9007199254740993;
    ck_assert_int_eq(tb_sum_add(&zone.charges, (tb_decimal){89716735, 11}, NULL), TB_OK);
    zone.optimizer_price = (tb_decimal){1250, 2};
    zone.has_optimizer_price = true;
    has_text(&zone, "{\"Id\":101,\"Name\":\"a\\\"b\",");
    has_text(&zone, "\"Type\":1,");
    has_text(&zone, "\"Enabled\":false,");
    has_text(&zone, "\"MonthlyBandwidthUsed\":9007199254740993,\"MonthlyCharges\":0.00089716735,");
    has_text(&zone, "\"OptimizerPricing\":12.5,");
    zone.settings = "{\"OptimizerPricing\":\"3.10\"}";
    has_text(&zone, "\"OptimizerPricing\":3.1,");
}
END_TEST

START_TEST(settings_are_written_in_one_form)
{
    settings_show("{\"LogAnonymizationType\":\"Drop\"}", "\"LogAnonymizationType\":1,");
    settings_show("{\"LimitRatePerSecond\":12.50}", "\"LimitRatePerSecond\":12.5,");
    settings_show("{\"PriceOverride\":1e-9}", "\"PriceOverride\":0.000000001,");
    settings_show("{\"BlockedIps\":[\"1.2.3.4\",\"\\u00e9\"]}",
                  "\"BlockedIps\":[\"1.2.3.4\",\"\xc3\xa9\"],");
    settings_show("{\"BlockedIps\":null}", "\"BlockedIps\":[],");
    settings_show("{\"OriginHostHeader\":null}", "\"OriginHostHeader\":null,");
    settings_show("{\"OptimizerClasses\":[{\"Properties\":{\"w\":\"1\"},\"Name\":\"n\"}]}",
                  "\"OptimizerClasses\":[{\"Name\":\"n\",\"Properties\":{\"w\":\"1\"}}],");
    settings_show("{\"CacheKeyHeaders\":\"x\"}", "\"CacheKeyHeaders\":\"x\"}");
}
END_TEST

START_TEST(models_have_all_their_fields)
{
    settings_show("{\"EdgeRules\":[{\"ActionType\":\"Redirect\",\"Triggers\":[{\"Type\":4}]}]}",
                  "\"EdgeRules\":[{\"Guid\":null,\"ActionType\":1,\"ActionParameter1\":null,"
                  "\"ActionParameter2\":null,\"ActionParameter3\":null,\"Triggers\":[{\"Type\":4,"
                  "\"PatternMatches\":[],\"PatternMatchingType\":0,\"Parameter1\":null}],"
                  "\"ExtraActions\":[],\"TriggerMatchingType\":0,\"Description\":null,"
                  "\"Enabled\":true,\"OrderIndex\":0,\"ReadOnly\":false}],");
}
END_TEST

START_TEST(some_fields_follow_from_others)
{
    settings_show("{\"OriginUrl\":\"https://o\"}", "\"OriginLinkValue\":\"https://o\",");
    settings_show("{\"OriginUrl\":\"https://o\",\"OriginLinkValue\":\"x\"}",
                  "\"OriginLinkValue\":\"x\",");
    settings_show("{\"StorageZoneId\":9}", "\"OriginType\":2,");
    settings_show("{\"StorageZoneId\":-1}", "\"OriginType\":0,");
    settings_show("{\"EnableTLS1\":false,\"EnableTLS1_1\":false}", "\"TlsSecurityLevel\":1,");
    settings_show("{\"EnableTLS1\":false}", "\"TlsSecurityLevel\":0,");
    tb_pullzone zone = fresh;
    zone.balancer = 7;
    has_text(&zone, "\"LoadBalancerId\":7,");
    has_text(&zone, "\"OriginType\":3,");
}
END_TEST

static void check_hostname(const json_t *list, size_t i, const char *value, bool system)
{
    const json_t *h = json_array_get(list, i);
    ck_assert_uint_eq(json_object_size(h), 10);
    ck_assert_str_eq(json_string_value(json_object_get(h, "Value")), value);
    ck_assert_int_eq(json_is_true(json_object_get(h, "IsSystemHostname")), system);
    ck_assert_int_gt(json_integer_value(json_object_get(h, "Id")), 0);
}

START_TEST(the_systems_hostname_comes_first)
{
    json_t *json = answer(&fresh, false);
    check_hostname(json_object_get(json, "Hostnames"), 0, "acme.b-cdn.net", true);
    json_decref(json);
    tb_pullzone zone = fresh;
    zone.settings = "{\"CnameDomain\":\"cdn.example\"}";
    zone.hostnames = "[\"www.acme.example\",{\"Value\":\"b.example\",\"ForceSSL\":true}]";
    json = answer(&zone, false);
    const json_t *list = json_object_get(json, "Hostnames");
    ck_assert_uint_eq(json_array_size(list), 3);
    check_hostname(list, 0, "acme.cdn.example", true);
    check_hostname(list, 1, "www.acme.example", false);
    check_hostname(list, 2, "b.example", false);
    json_decref(json);
    zone.settings = "{}";
    zone.hostnames = "[{\"Value\":\"acme.b-cdn.net\",\"IsSystemHostname\":true}]";
    json = answer(&zone, false);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "Hostnames")), 1);
    json_decref(json);
    zone.hostnames = "[\"www.acme.example\",\"acme.b-cdn.net\"]"; /* declared, and still the system's */
    json = answer(&zone, false);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "Hostnames")), 2);
    check_hostname(json_object_get(json, "Hostnames"), 0, "www.acme.example", false);
    check_hostname(json_object_get(json, "Hostnames"), 1, "acme.b-cdn.net", true);
    json_decref(json);
}
END_TEST

START_TEST(certificates_are_shown_when_asked_for)
{
    tb_pullzone zone = fresh;
    zone.hostnames = "[{\"Value\":\"b.example\",\"Certificate\":\"TUlJ\"}]";
    for (int asked = 0; asked < 2; asked++) {
        json_t *json = answer(&zone, asked);
        const json_t *h = json_array_get(json_object_get(json, "Hostnames"), 1);
        ck_assert(json_is_true(json_object_get(h, "HasCertificate")));
        ck_assert_int_eq(json_is_null(json_object_get(h, "Certificate")), !asked);
        ck_assert(json_is_null(json_object_get(h, "CertificateKey")));
        json_decref(json);
    }
}
END_TEST

START_TEST(settings_of_an_older_file_that_are_none_are_passed_over)
{
    json_t *json = answer_of("{\"Nonsense\":1,\"OptimizerImageQuality\":900,\"BurstSize\":5}");
    ck_assert_uint_eq(json_object_size(json), 170);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "OptimizerImageQuality")), 85);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "BurstSize")), 5);
    json_decref(json);
}
END_TEST

/* --- settings in a catalogue --- */

#define CATALOG(settings)                                                                          \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":5,\"account\":1,"                 \
    "\"name\":\"z\",\"settings\":{" settings "}}]}"

static void stores(const char *text, const char *want)
{
    tb_catalog c;
    tb_error err;
    ck_assert_msg(!tb_catalog_parse(text, strlen(text), &c, &err), "%s", err.message);
    ck_assert_str_eq(c.zones[0].settings, want);
    tb_catalog_release(&c);
}

static void refused(const char *text, const char *path, const char *part)
{
    tb_catalog c;
    tb_error err;
    ck_assert_int_eq(tb_catalog_parse(text, strlen(text), &c, &err), TB_E_CATALOG);
    ck_assert_str_eq(err.field, path);
    ck_assert_msg(strstr(err.message, part) != NULL, "%s", err.message);
    ck_assert_uint_gt(err.byte, 0);
}

START_TEST(only_what_differs_is_stored)
{
    stores(CATALOG("\"EnableLogging\":true,\"BurstSize\":0,\"PriceOverride\":0.00"), "{}");
    stores(CATALOG("\"LogFormat\":\"JSON\",\"IpFamilyPolicy\":\"IPv6Only\",\"BurstSize\":7"),
           "{\"BurstSize\":7,\"IpFamilyPolicy\":3}");
    stores(CATALOG("\"OptimizerPricing\":9.50"), "{\"OptimizerPricing\":9.5}");
}
END_TEST

START_TEST(settings_that_are_none_are_refused_by_path)
{
    refused(CATALOG("\"Nonsense\":1"), "zones[0].settings.Nonsense", "Unknown field");
    refused(CATALOG("\"Id\":1"), "zones[0].settings.Id", "is not a setting");
    refused(CATALOG("\"MonthlyCharges\":1"), "zones[0].settings.MonthlyCharges", "is not a setting");
    refused(CATALOG("\"OptimizerImageQuality\":0"), "zones[0].settings.OptimizerImageQuality",
            "from 1 to 100");
    refused(CATALOG("\"OptimizerMobileImageQuality\":101"),
            "zones[0].settings.OptimizerMobileImageQuality", "from 1 to 100");
    refused(CATALOG("\"OptimizerDesktopMaxWidth\":5001"),
            "zones[0].settings.OptimizerDesktopMaxWidth", "from 0 to 5000");
    refused(CATALOG("\"OptimizerMobileMaxWidth\":-1"), "zones[0].settings.OptimizerMobileMaxWidth",
            "from 0 to 5000");
    refused(CATALOG("\"ZoneSecurityIncludeHashRemoteIP\":0"),
            "zones[0].settings.ZoneSecurityIncludeHashRemoteIP", "true or false");
    refused(CATALOG("\"BurstSize\":2147483648"), "zones[0].settings.BurstSize", "2147483647");
    refused(CATALOG("\"BurstSize\":1.0"), "zones[0].settings.BurstSize", "a whole number");
    refused(CATALOG("\"EnableLogging\":1"), "zones[0].settings.EnableLogging", "true or false");
    refused(CATALOG("\"EnableLogging\":null"), "zones[0].settings.EnableLogging", "be null");
    refused(CATALOG("\"LogFormat\":2"), "zones[0].settings.LogFormat", "Plain,JSON");
    refused(CATALOG("\"PriceOverride\":-1"), "zones[0].settings.PriceOverride", "0 or more");
    refused(CATALOG("\"EdgeRules\":[{\"ActionType\":35}]"), "zones[0].settings.EdgeRules[0].ActionType",
            "EdgeRuleActionType");
    refused(CATALOG("\"EdgeRules\":[{\"Colour\":1}]"), "zones[0].settings.EdgeRules[0].Colour",
            "\"Colour\" is not one");
}
END_TEST

/* holds: pullzone.widths, pullzone.qualities */
START_TEST(bounds_are_within)
{
    stores(CATALOG("\"OptimizerImageQuality\":1,\"OptimizerMobileImageQuality\":100,"
                   "\"OptimizerDesktopMaxWidth\":0,\"OptimizerMobileMaxWidth\":5000"),
           "{\"OptimizerDesktopMaxWidth\":0,\"OptimizerImageQuality\":1,"
           "\"OptimizerMobileImageQuality\":100,\"OptimizerMobileMaxWidth\":5000}");
    stores(CATALOG("\"CacheControlMaxAgeOverride\":-9223372036854775808"),
           "{\"CacheControlMaxAgeOverride\":-9223372036854775808}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pullzone");
    TCase *t = tcase_create("pullzone");
    tcase_add_test(t, a_fresh_zone_has_every_field_once_in_order);
    tcase_add_test(t, a_field_that_is_not_set_is_a_fresh_zones);
    tcase_add_test(t, what_a_zone_is_comes_from_its_own_values);
    tcase_add_test(t, settings_are_written_in_one_form);
    tcase_add_test(t, models_have_all_their_fields);
    tcase_add_test(t, some_fields_follow_from_others);
    tcase_add_test(t, the_systems_hostname_comes_first);
    tcase_add_test(t, certificates_are_shown_when_asked_for);
    tcase_add_test(t, settings_of_an_older_file_that_are_none_are_passed_over);
    tcase_add_test(t, only_what_differs_is_stored);
    tcase_add_test(t, settings_that_are_none_are_refused_by_path);
    tcase_add_test(t, bounds_are_within);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
