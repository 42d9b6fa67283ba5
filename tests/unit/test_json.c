/* json.h and the text level below it: numbers and strings as JSON. */
#include "tollbook/json.h"

#include "base/jsontext.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *u64_text(uint64_t value)
{
    static char text[TB_U64_TEXT_MAX + 1];
    *tb_put_u64(text, value) = 0;
    return text;
}

static const char *u128_text(tb_u128 value)
{
    static char text[TB_U128_TEXT_MAX + 1];
    *tb_put_u128(text, value) = 0;
    return text;
}

static const char *double_text(double value)
{
    static char text[TB_DOUBLE_TEXT_MAX + 1];
    *tb_put_double(text, value) = 0;
    return text;
}

START_TEST(integers_around_every_power_of_ten)
{
    uint64_t power = 1;
    for (int digits = 1; digits <= 20; digits++, power *= 10) {
        for (int d = -1; d <= 1; d++) {
            char expected[24];
            uint64_t value = power + (uint64_t)(int64_t)d;
            snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
            ck_assert_str_eq(u64_text(value), expected);
        }
        if (digits == 20) break;
    }
    ck_assert_str_eq(u64_text(0), "0");
    ck_assert_str_eq(u64_text(UINT64_MAX), "18446744073709551615");
}
END_TEST

START_TEST(integers_never_write_past_their_room)
{
    char room[TB_U128_TEXT_MAX + 1];
    for (int digits = 0; digits < 128; digits++) {
        tb_u128 value = ((tb_u128)1 << digits) - 1;
        memset(room, '#', sizeof room);
        if (value <= UINT64_MAX)
            tb_put_u64(room, (uint64_t)value);
        else
            tb_put_u128(room, value);
        ck_assert_int_eq(room[value <= UINT64_MAX ? TB_U64_TEXT_MAX : TB_U128_TEXT_MAX], '#');
    }
}
END_TEST

START_TEST(wide_integers_around_their_blocks)
{
    tb_u128 e16 = UINT64_C(10000000000000000);
    ck_assert_str_eq(u128_text(0), "0");
    ck_assert_str_eq(u128_text(UINT64_MAX), "18446744073709551615");
    ck_assert_str_eq(u128_text((tb_u128)UINT64_MAX + 1), "18446744073709551616");
    ck_assert_str_eq(u128_text(e16 * e16 - 1), "99999999999999999999999999999999");
    ck_assert_str_eq(u128_text(e16 * e16), "100000000000000000000000000000000");
    ck_assert_str_eq(u128_text(e16 * e16 * 1000000), "100000000000000000000000000000000000000");
    ck_assert_str_eq(u128_text(~(tb_u128)0), "340282366920938463463374607431768211455");
    ck_assert_str_eq(u128_text((tb_u128)INT64_MAX * 744), "6862188795419953200408");
}
END_TEST

START_TEST(integral_doubles_have_no_point)
{
    ck_assert_str_eq(double_text(0), "0");
    ck_assert_str_eq(double_text(-0.0), "0");
    ck_assert_str_eq(double_text(100), "100");
    ck_assert_str_eq(double_text(-3), "-3");
    ck_assert_str_eq(double_text(9007199254740991.0), "9007199254740991");
    ck_assert_str_eq(double_text(9007199254740992.0), "9007199254740992");
    ck_assert_str_eq(double_text(1e22), "10000000000000000000000");
    ck_assert_str_eq(double_text(1152921504606846976.0), "1152921504606847000");
}
END_TEST

START_TEST(what_is_not_a_number_is_zero)
{
    ck_assert_str_eq(double_text(NAN), "0");
    ck_assert_str_eq(double_text(INFINITY), "0");
    ck_assert_str_eq(double_text(-INFINITY), "0");
}
END_TEST

START_TEST(doubles_print_their_shortest_text)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {100.0 * (1.0 - 166.0 / 2983.0), "94.43513241702983"},
        {0.1, "0.1"},
        {0.25, "0.25"},
        {0.003, "0.003"},
        {0.0007, "0.0007"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {94.5, "94.5"},
        {12.25, "12.25"},
        {-12.25, "-12.25"},
        {1.0 / 3.0, "0.3333333333333333"},
        {2.0 / 3.0, "0.6666666666666666"},
        {99.99999999999999, "99.99999999999999"},
        {0.9999999999999999, "0.9999999999999999"},
        {2251799813685249.5, "2251799813685249.5"},
        {0.0001, "0.0001"},
        {0.00009999, "0.00009999"},
        {4.699383e-05, "0.00004699383"},
        {0x1p-14, "0.00006103515625"},
        {0x1.fffffffffffffp-15, "0.00006103515624999999"},
        {0x1p-44, "0.00000000000005684341886080802"},
        {1.7976931348623157e308, "17976931348623157"}, /* and 292 zeros */
    };
    size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i + 1 < n; i++)
        ck_assert_str_eq(double_text(rows[i].value), rows[i].text);
    const char *huge = double_text(rows[n - 1].value);
    ck_assert_uint_eq(strlen(huge), 309);
    ck_assert_int_eq(strncmp(huge, rows[n - 1].text, 17), 0);
    ck_assert_uint_eq(strspn(huge + 17, "0"), 292);
}
END_TEST

/* Halfway between the two shortest texts: the even digit. */
START_TEST(ties_between_shortest_texts_go_to_the_even_digit)
{
    ck_assert_str_eq(double_text(1125899906842624.25), "1125899906842624.2");
    ck_assert_str_eq(double_text(1125899906842624.75), "1125899906842624.8");
    ck_assert_str_eq(double_text(562949953421312.125), "562949953421312.1");
    ck_assert_str_eq(double_text(562949953421312.375), "562949953421312.4");
}
END_TEST

/* The fewest digits after the point that read back, by the C library. */
static void check_shortest(double value)
{
    char expected[40];
    for (int digits = 0;; digits++) {
        ck_assert_int_le(digits, 22);
        snprintf(expected, sizeof expected, "%.*f", digits, value);
        if (strtod(expected, NULL) == value) break;
    }
    ck_assert_str_eq(double_text(value), expected);
}

/* Any from 2^-14 up to 2^53, what charts show, and texts of few digits. */
START_TEST(random_doubles_print_what_the_c_library_finds)
{
    uint64_t state = 319;
    for (int i = 0; i < 4000; i++) {
        uint64_t a = state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double part = (double)(a >> 44), whole = (double)(a >> 24 & 0xfffff) + 1;
        check_shortest(ldexp(1 + ldexp((double)(a >> 12), -52), (int)(a % 67) - 14));
        check_shortest(100.0 * (1.0 - part / (part + whole)));
        check_shortest(whole / (part + 1));
        check_shortest(whole / 1000);
        check_shortest(part * whole / 10);
    }
}
END_TEST

START_TEST(the_smallest_double_fits_its_room)
{
    char room[TB_DOUBLE_TEXT_MAX + 1];
    room[TB_DOUBLE_TEXT_MAX] = '#';
    char *end = tb_put_double(room, -4.9406564584124654e-324);
    *end = 0;
    ck_assert_uint_eq(strlen(room), 327);
    ck_assert_int_eq(strncmp(room, "-0.000", 6), 0);
    ck_assert_str_eq(room + 325, "05");
    end = tb_put_double(room, -2.2250738585072014e-308);
    ck_assert_int_lt(end - room, TB_DOUBLE_TEXT_MAX);
    ck_assert_int_eq(room[TB_DOUBLE_TEXT_MAX], '#');
}
END_TEST

static void assert_quoted(const char *text, size_t len, const char *expected)
{
    tb_buf out;
    tb_buf_init(&out, 1000, NULL);
    tb_json_string(&out, text, len);
    tb_buf_add(&out, "", 1);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    ck_assert_str_eq(out.data, expected);
    tb_buf_release(&out);
}

#define QUOTED(text, expected) assert_quoted(text, sizeof(text) - 1, expected)

START_TEST(strings_escape_only_what_must_be)
{
    QUOTED("", "\"\"");
    QUOTED("EU: Frankfurt, DE", "\"EU: Frankfurt, DE\"");
    QUOTED("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    QUOTED("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    QUOTED("\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
    QUOTED("a\0b", "\"a\\u0000b\"");
    QUOTED("S\xC3\xA3o \xE2\x82\xAC \xF0\x9F\x98\x80",
           "\"S\xC3\xA3o \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}
END_TEST

#define BAD "\xEF\xBF\xBD"

START_TEST(each_byte_that_is_not_utf8_becomes_the_replacement_character)
{
    QUOTED("\x80", "\"" BAD "\"");
    QUOTED("a\xFF"
           "b",
           "\"a" BAD "b\"");
    QUOTED("\xC3", "\"" BAD "\"");
    QUOTED("\xE2\x82", "\"" BAD BAD "\"");
    QUOTED("\xC0\xAF", "\"" BAD BAD "\"");                 /* not the shortest form */
    QUOTED("\xED\xA0\x80", "\"" BAD BAD BAD "\"");         /* a surrogate */
    QUOTED("\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""); /* past U+10FFFF */
    QUOTED("\xF5\x80\x80\x80", "\"" BAD BAD BAD BAD "\"");
}
END_TEST

START_TEST(utf8_limits)
{
    static const struct {
        const char *text;
        size_t len, step;
    } rows[] = {
        {"\x7F", 1, 1},
        {"\xC2\x80", 2, 2},
        {"\xC1\xBF", 2, 0},
        {"\xDF\xBF", 2, 2},
        {"\xE0\xA0\x80", 3, 3},
        {"\xE0\x9F\xBF", 3, 0},
        {"\xED\x9F\xBF", 3, 3},
        {"\xED\xA0\x80", 3, 0},
        {"\xEE\x80\x80", 3, 3},
        {"\xEF\xBF\xBF", 3, 3},
        {"\xEF\xBF\x7F", 3, 0},
        {"\xF0\x90\x80\x80", 4, 4},
        {"\xF0\x8F\xBF\xBF", 4, 0},
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"\xF4\x90\x80\x80", 4, 0},
        {"\xF0\x90\x80\xC0", 4, 0},
        {"\xF0\x90\x80\x80", 3, 0},
        {"\xC2\x80", 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(tb__utf8_step(rows[i].text, rows[i].len) == rows[i].step, "row %zu", i);
}
END_TEST

/* Every byte value at every place of two words. */
START_TEST(plain_runs_end_at_the_first_byte_that_is_not)
{
    char text[16];
    for (size_t at = 0; at < sizeof text; at++)
        for (int byte = 0; byte < 256; byte++) {
            memset(text, 'x', sizeof text);
            text[at] = (char)byte;
            bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            ck_assert_uint_eq(tb__plain_run(text, sizeof text), plain ? sizeof text : at);
            ck_assert_uint_eq(tb__plain_run(text, at), at);
        }
}
END_TEST

START_TEST(a_string_past_the_buffers_maximum_is_left_out)
{
    tb_buf out;
    tb_buf_init(&out, TB__QUOTED_MAX(10), NULL);
    tb_json_string(&out, "0123456789", 10);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    ck_assert_uint_eq(out.len, 12);
    tb_json_string(&out, "01234567890", 11);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_E_NOMEM);
    ck_assert_uint_eq(out.len, 12);
    tb_buf_release(&out);
}
END_TEST

START_TEST(a_length_whose_worst_case_overflows_is_refused)
{
    tb_buf out;
    tb_buf_init(&out, SIZE_MAX - 1, NULL);
    tb_json_string(&out, "", SIZE_MAX / 6 + 1);
    ck_assert(out.failed);
    tb_buf_release(&out);
}
END_TEST

START_TEST(what_can_be_printed)
{
    for (uint32_t c = 1; c < 0x110000; c++) {
        char text[4];
        const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (size_t i = n - 1; i > 0; i--)
            text[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3F));
        text[0] = (char)(n == 1 ? c : lead[n] | c >> 6 * (n - 1));
        const bool none = c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0xD800 && c < 0xE000) ||
                          (c >= 0xFDD0 && c < 0xFDF0) || (c & 0xFFFE) == 0xFFFE;
        if (tb__printable_step(text, n) != (none ? 0 : n)) ck_abort_msg("U+%04X", c);
    }
    ck_assert(tb__is_printable("", 0) && tb__is_printable("a\u00a0b", 4));
    ck_assert(!tb__is_printable("a\nb", 3) && !tb__is_printable("a\xff", 2) && !tb__is_printable("a\xe6\x9d", 3));
}
END_TEST

/* `open`, then as many of `one` as make `values` values, an object or a list counting as four. */
static bool fits(const char *open, const char *one, size_t values)
{
    const size_t step = strlen(one), n = strlen(open);
    char *text = malloc(n + values * step);
    memcpy(text, open, n);
    for (size_t i = 0; i < values; i++)
        memcpy(text + n + i * step, one, step);
    const bool few = tb_json_fits(text, n + values * step);
    free(text);
    return few;
}

START_TEST(values_are_counted_before_a_tree_is_built)
{
    const size_t most = TB_JSON_VALUES_MAX;
    ck_assert(fits("[0", ",0", most - 5) && !fits("[0", ",0", most - 4));
    ck_assert(fits("", "[", (most - 1) / 4) && !fits("", "[", (most - 1) / 4 + 1));
    ck_assert(fits("", "{\"a\":", (most - 1) / 5) && !fits("", "{\"a\":", (most - 1) / 5 + 1));
    ck_assert(fits("\"\\\"", ",", 2 * most)); /* within a string nothing counts */
    ck_assert(!fits("\"\\\\\"", ",", most)); /* which ends at a quote that is not escaped */
    ck_assert(tb_json_fits("", 0) && tb_json_fits("\"\\", 2));
}
END_TEST

static void assert_head(tb_metrics_form form, tb_metric_family family, const char *expected)
{
    tb_buf out;
    tb_buf_init(&out, 1000, NULL);
    tb_metric_head(&out, form, &family);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, expected);
    tb_buf_release(&out);
}

START_TEST(a_metrics_family_has_its_suffix_in_the_text_format_alone)
{
    const tb_metric_family counter = {"a_total", "counter", "", "A."}, bytes = {"b_bytes", "gauge", "bytes", "B."},
                           info = {"c_info", "info", "", "C."}, total = {"d_total", "gauge", "", "D."};
    assert_head(TB_METRICS_TEXT, counter, "# HELP a_total A.\n# TYPE a_total counter\n");
    assert_head(TB_METRICS_OPEN, counter, "# HELP a A.\n# TYPE a counter\n");
    assert_head(TB_METRICS_TEXT, bytes, "# HELP b_bytes B.\n# TYPE b_bytes gauge\n");
    assert_head(TB_METRICS_OPEN, bytes, "# HELP b_bytes B.\n# TYPE b_bytes gauge\n# UNIT b_bytes bytes\n");
    assert_head(TB_METRICS_TEXT, info, "# HELP c_info C.\n# TYPE c_info gauge\n");
    assert_head(TB_METRICS_OPEN, info, "# HELP c C.\n# TYPE c info\n");
    assert_head(TB_METRICS_OPEN, total, "# HELP d_total D.\n# TYPE d_total gauge\n");
}
END_TEST

START_TEST(labels_of_metrics_escape_what_ends_them)
{
    tb_buf out;
    tb_buf_init(&out, 1000, NULL);
    tb_metric_label(&out, "name", "a\"b\\c\nd\xC3\xA4,}", 11);
    tb_metric_label(&out, "none", "", 0);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, "name=\"a\\\"b\\\\c\\nd\xC3\xA4,}\"none=\"\"");
    tb_buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, integers_around_every_power_of_ten);
    tcase_add_test(t, values_are_counted_before_a_tree_is_built);
    tcase_add_test(t, what_can_be_printed);
    tcase_add_test(t, integers_never_write_past_their_room);
    tcase_add_test(t, wide_integers_around_their_blocks);
    tcase_add_test(t, integral_doubles_have_no_point);
    tcase_add_test(t, what_is_not_a_number_is_zero);
    tcase_add_test(t, doubles_print_their_shortest_text);
    tcase_add_test(t, ties_between_shortest_texts_go_to_the_even_digit);
    tcase_add_test(t, random_doubles_print_what_the_c_library_finds);
    tcase_add_test(t, the_smallest_double_fits_its_room);
    tcase_add_test(t, strings_escape_only_what_must_be);
    tcase_add_test(t, each_byte_that_is_not_utf8_becomes_the_replacement_character);
    tcase_add_test(t, utf8_limits);
    tcase_add_test(t, plain_runs_end_at_the_first_byte_that_is_not);
    tcase_add_test(t, a_string_past_the_buffers_maximum_is_left_out);
    tcase_add_test(t, a_metrics_family_has_its_suffix_in_the_text_format_alone);
    tcase_add_test(t, labels_of_metrics_escape_what_ends_them);
    tcase_add_test(t, a_length_whose_worst_case_overflows_is_refused);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
