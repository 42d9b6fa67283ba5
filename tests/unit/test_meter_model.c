/* meter.h: what a catalogue may declare of a meter, and every way to be refused. */
#include "tollbook/meter.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METER(members) "{\"meter\":\"m\",\"kind\":\"counter\",\"unit\":\"request\"" members "}"
#define GAUGE(members) "{\"meter\":\"m\",\"kind\":\"gauge\",\"unit\":\"byte\"" members "}"
#define SAMPLE(members) "{\"meter\":\"m\",\"kind\":\"sample\",\"unit\":\"byte\"" members "}"

static tb_meter take(const char *text)
{
    tb_meter meter;
    tb_error err = {0};
    ck_assert_msg(!tb_meter_parse(text, strlen(text), &meter, &err), "%s: %s in %s", err.field, err.message, text);
    return meter;
}

static void refused(const char *text, const char *field, const char *message)
{
    tb_meter meter;
    tb_error err = {0};
    ck_assert_msg(tb_meter_parse(text, strlen(text), &meter, &err) == TB_E_CATALOG, "accepted: %s", text);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_uint_ge(err.byte, 1);
    ck_assert_uint_le(err.byte, strlen(text) + 1);
}

START_TEST(a_declaration_is_read)
{
    tb_meter m = take("{\"meter\":\"storage-1.x_y\",\"name\":\"Storage \\u00e9\",\"kind\":\"gauge\",\"unit\":\"byte\",\"display\":"
                      "{\"unit\":\"GB\",\"per\":\"1000000000\"},\"round_up\":\"64000000\",\"resource\":\"storage_zone\","
                      "\"dimensions\":[\"region\",\"tier\"],\"charge\":\"Storage\",\"unece\":\"E34\",\"ledger_code\":\"8410\"}");
    ck_assert_str_eq(m.id, "storage-1.x_y");
    ck_assert_str_eq(m.name, "Storage \xc3\xa9");
    ck_assert_int_eq(m.kind, TB_METER_GAUGE);
    ck_assert_str_eq(m.unit, "byte");
    ck_assert_str_eq(m.display_unit, "GB");
    ck_assert_int_eq(m.display_per, 1000000000);
    ck_assert_int_eq(m.round_up, 64000000);
    ck_assert_str_eq(m.noun, "storage_zone");
    ck_assert_int_eq(m.n_dimensions, 2);
    ck_assert_str_eq(m.dimension[1], "tier");
    ck_assert_str_eq(m.charge, "Storage");
    ck_assert_str_eq(m.unece, "E34");
    ck_assert_str_eq(m.ledger_code, "8410");
    ck_assert_int_eq(m.interval, 0);
    ck_assert_int_eq(m.number, 0);
}
END_TEST

START_TEST(a_declaration_has_defaults)
{
    tb_meter m = take(METER(""));
    ck_assert_str_eq(m.name, "m");
    ck_assert_str_eq(m.noun, "resource");
    ck_assert_str_eq(m.unece, "C62");
    ck_assert_int_eq(m.display_per, 1);
    ck_assert_int_eq(m.n_dimensions, 0);
    ck_assert(!m.display_unit[0] && !m.charge[0] && !m.ledger_code[0] && !m.round_up && !m.interval);
    ck_assert_int_eq(take(SAMPLE("")).interval, 300);
    ck_assert_int_eq(take(SAMPLE(",\"interval\":3600")).interval, 3600);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    refused("{\"kind\":\"counter\",\"unit\":\"x\"}", "meter", "given");
    refused("{\"meter\":\"m\",\"unit\":\"x\"}", "kind", "counter, gauge or sample");
    refused("{\"meter\":\"m\",\"kind\":\"counter\"}", "unit", "given");
    refused(GAUGE(",\"display\":{\"per\":1000}"), "display.unit", "given");
    refused(GAUGE(",\"display\":{\"unit\":\"GB\"}"), "display.per", "given");
    refused("[]", "", "an object");
    refused("{", "", "");
}
END_TEST

START_TEST(wrong_values_are_refused)
{
    refused("{\"meter\":\"a/b\",\"kind\":\"counter\",\"unit\":\"x\"}", "meter", "letters, digits");
    refused("{\"meter\":\"\",\"kind\":\"counter\",\"unit\":\"x\"}", "meter", "1 to 64");
    refused("{\"meter\":\"m\",\"kind\":\"counters\",\"unit\":\"x\"}", "kind", "counter, gauge or sample");
    refused("{\"meter\":\"m\",\"kind\":\"counter\",\"unit\":\"1x\"}", "unit", "no digit");
    refused("{\"meter\":\"m\",\"kind\":\"counter\",\"unit\":\"\\n\"}", "unit", "1 to 32 bytes");
    refused(METER(",\"name\":\"\\u0001\""), "name", "control characters");
    refused(METER(",\"name\":\"\""), "name", "1 to 96");
    refused(METER(",\"display\":\"GB\""), "display", "unit and per");
    refused(METER(",\"display\":{\"unit\":\"GB\",\"per\":0}"), "display.per", "1 to 10^18");
    refused(METER(",\"display\":{\"unit\":\"GB\",\"per\":\"1.5\"}"), "display.per", "a whole number");
    refused(METER(",\"display\":{\"unit\":\"GB\",\"per\":1,\"of\":1}"), "display.of", "Unknown key");
    refused(GAUGE(",\"round_up\":0"), "round_up", "1 to 10^18");
    refused(METER(",\"round_up\":64"), "round_up", "only values of a gauge");
    refused(GAUGE(",\"interval\":300"), "interval", "only a sample");
    refused(SAMPLE(",\"interval\":60"), "interval", "300 or 3600");
    refused(METER(",\"resource\":\"a-b\""), "resource", "letters, digits and '_'");
    refused(METER(",\"dimensions\":[\"a\",\"b\",\"c\"]"), "dimensions", "at most two");
    refused(METER(",\"dimensions\":\"a\""), "dimensions", "a list");
    refused(METER(",\"dimensions\":[\"a\",\"\"]"), "dimensions[1]", "1 to 32");
    refused(METER(",\"dimensions\":[\"a\",\"a\"]"), "dimensions[1]", "another name");
    refused(METER(",\"charge\":\"Taxes\""), "charge", "GET /billing");
    refused(METER(",\"unece\":\"c62\""), "unece", "UN/ECE");
    refused(METER(",\"unece\":\"C\""), "unece", "UN/ECE");
    refused(METER(",\"ledger_code\":\"8 4\""), "ledger_code", "1 to 31");
    refused(METER(",\"price\":1"), "price", "Unknown key");
}
END_TEST

START_TEST(long_texts_are_refused_and_long_keys_cut)
{
    char text[1024], word[301];
    tb_meter meter;
    tb_error err = {0};
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    snprintf(text, sizeof text, METER(",\"%s\":1"), word);
    ck_assert_int_eq(tb_meter_parse(text, strlen(text), &meter, &err), TB_E_CATALOG);
    static const char *const keys[] = {"name", "resource", "charge", "ledger_code", "unece"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(text, sizeof text, METER(",\"%s\":\"%s\""), keys[i], word);
        refused(text, keys[i], "Must be");
    }
    word[65] = 0;
    snprintf(text, sizeof text, "{\"meter\":\"%s\",\"kind\":\"counter\",\"unit\":\"x\"}", word);
    refused(text, "meter", "1 to 64");
    word[64] = 0;
    snprintf(text, sizeof text, "{\"meter\":\"%s\",\"kind\":\"counter\",\"unit\":\"x\"}", word);
    ck_assert_str_eq(take(text).name, word);
}
END_TEST

START_TEST(charges_are_fields_of_billing)
{
    ck_assert_int_eq(tb_meter_charge_of("Storage"), TB_METER_CHARGE_STORAGE);
    ck_assert_int_eq(tb_meter_charge_of("MonthlyDBReads"), TB_METER_CHARGE_DB_READS);
    ck_assert_int_eq(tb_meter_charge_of("Taxes"), TB_METER_CHARGE_COUNT);
    ck_assert(tb_meter_charge_known("McCpu") && !tb_meter_charge_known(""));
    ck_assert_str_eq(tb_meter_kind_name(TB_METER_SAMPLE), "sample");
}
END_TEST

START_TEST(a_meter_is_found_by_its_id)
{
    const tb_meter list[] = {{.id = "a"}, {.id = "b"}, {.id = "bb"}, {.id = "c"}};
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_eq(tb_meter_find(list, 4, list[i].id), &list[i]);
    ck_assert_ptr_null(tb_meter_find(list, 4, "ba"));
    ck_assert_ptr_null(tb_meter_find(list, 3, "c"));
    ck_assert_ptr_null(tb_meter_find(NULL, 0, "a"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meter_model");
    TCase *t = tcase_create("meter_model");
    tcase_add_test(t, a_declaration_is_read);
    tcase_add_test(t, a_declaration_has_defaults);
    tcase_add_test(t, what_is_missing_is_named);
    tcase_add_test(t, wrong_values_are_refused);
    tcase_add_test(t, long_texts_are_refused_and_long_keys_cut);
    tcase_add_test(t, charges_are_fields_of_billing);
    tcase_add_test(t, a_meter_is_found_by_its_id);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
