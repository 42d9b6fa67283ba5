/* Properties of JSON text that hold for every input, asked of random ones: numbers read back to
 * what they were and in no shorter form, strings and documents survive writing and reading.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "base/jsontext.h"
#include "encode/number.h"
#include "model/document.h"
#include "tollbook/json.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS test_rounds(30000)

/* All lengths alike. */
static uint64_t any_u64(void)
{
    return random_bits() >> below(64);
}

START_TEST(integers_print_as_the_c_library_does)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t value = any_u64();
        char got[TB_U64_TEXT_MAX + 1], expected[24];
        *tb_put_u64(got, value) = 0;
        snprintf(expected, sizeof expected, "%" PRIu64, value);
        ck_assert_str_eq(got, expected);
    }
}
END_TEST

START_TEST(wide_integers_read_back)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_u128 value = ((tb_u128)random_bits() << 64 | random_bits()) >> below(128);
        char text[TB_U128_TEXT_MAX + 1];
        char *end = tb_put_u128(text, value);
        ck_assert(text[0] != '0' || end == text + 1);
        tb_u128 back = 0;
        for (const char *p = text; p < end; p++)
            back = back * 10 + (unsigned)(*p - '0');
        ck_assert(back == value);
    }
}
END_TEST

static double any_double(void)
{
    double value;
    uint64_t bits = random_bits();
    switch (below(4)) {
    case 0: return (double)any_u64() / (double)(any_u64() | 1);
    case 1: return 100.0 * (1.0 - (double)below(1000) / 1000.0);
    case 2: bits = (1000 + below(80)) << 52 | bits >> 12; break;
    default: break;
    }
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 1;
}

static size_t significant_digits(const char *text)
{
    size_t first = strcspn(text, "123456789"), n = 0, last = 0;
    for (const char *p = text + first; *p; p++) {
        if (*p < '0' || *p > '9') continue;
        n++;
        if (*p != '0') last = n;
    }
    return last;
}

/* One digit less never reads back, unless the text has but one. */
START_TEST(doubles_read_back_and_no_shorter_text_does)
{
    for (int i = 0; i < ROUNDS; i++) {
        double value = any_double();
        char text[TB_DOUBLE_TEXT_MAX + 1], shorter[40];
        *tb_put_double(text, value) = 0;
        ck_assert_msg(strtod(text, NULL) == value, "%a: %s", value, text);
        ck_assert_uint_eq(strspn(text, "-0123456789."), strlen(text));
        size_t digits = significant_digits(text);
        ck_assert_uint_le(digits, 17);
        /* Below 2^53 an integral value prints all its digits, as short as it is. */
        if (digits < 2 || (fabs(value) < 0x1p53 && value == floor(value))) continue;
        snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
        ck_assert_msg(strtod(shorter, NULL) != value, "%a: %s, but %s", value, text, shorter);
    }
}
END_TEST

START_TEST(doubles_are_the_same_text_whatever_the_processor_has)
{
    for (int i = 0; i < ROUNDS; i++) {
        double value = any_double();
        char text[TB_DOUBLE_TEXT_MAX + 1], other[TB_DOUBLE_TEXT_MAX + 1];
        *tb_put_double(text, value) = 0;
        *tb__put_double_portable(other, value) = 0;
        ck_assert_str_eq(text, other);
    }
}
END_TEST

START_TEST(doubles_print_integral_values_without_a_point_and_others_with_one)
{
    for (int i = 0; i < ROUNDS; i++) {
        double value = any_double();
        char text[TB_DOUBLE_TEXT_MAX + 1];
        *tb_put_double(text, value) = 0;
        ck_assert_int_eq(strchr(text, '.') != NULL, value != floor(value));
    }
}
END_TEST

/* Random bytes, mostly pieces of UTF-8 and characters that need an escape. */
static size_t any_text(char *out, size_t room)
{
    static const char *const pieces[] = {
        "a", "\"", "\\", "\n", "\x01", "\x1f", "/", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    size_t len = 0, wanted = below(room - 4);
    while (len < wanted) {
        const char *piece = pieces[below(10)];
        size_t n = strlen(piece);
        memcpy(out + len, piece, n);
        len += n;
    }
    return len;
}

START_TEST(strings_survive_writing_and_reading)
{
    for (int i = 0; i < ROUNDS / 10; i++) {
        char text[80], quoted[TB__QUOTED_MAX(sizeof text)];
        size_t len = any_text(text, sizeof text);
        char *end = tb__quote(quoted, text, len);
        tb__arena arena;
        tb__arena_init(&arena, NULL);
        tb__document doc;
        tb_error err;
        ck_assert_int_eq(tb__document_parse(quoted, (size_t)(end - quoted), TB_E_BAD_INPUT, &arena,
                                            NULL, &doc, &err),
                         TB_OK);
        ck_assert(tb__node_is(&doc.nodes[0], text, len));
        tb__document_release(&doc);
        tb__arena_release(&arena);
    }
}
END_TEST

START_TEST(random_bytes_quote_to_valid_json)
{
    for (int i = 0; i < ROUNDS / 10; i++) {
        char text[40], quoted[TB__QUOTED_MAX(sizeof text)];
        size_t len = below(sizeof text);
        for (size_t j = 0; j < len; j++)
            text[j] = (char)(below(3) ? 0x80 | below(128) : 1 + below(127));
        char *end = tb__quote(quoted, text, len);
        tb__arena arena;
        tb__arena_init(&arena, NULL);
        tb__document doc;
        ck_assert_int_eq(tb__document_parse(quoted, (size_t)(end - quoted), TB_E_BAD_INPUT, &arena,
                                            NULL, &doc, NULL),
                         TB_OK);
        tb__document_release(&doc);
        tb__arena_release(&arena);
    }
}
END_TEST

/* --- documents --- */

typedef struct maker {
    char text[8192];
    size_t len;
} maker;

static void add(maker *m, const char *piece)
{
    size_t n = strlen(piece);
    memcpy(m->text + m->len, piece, n);
    m->len += n;
}

static void add_scalar(maker *m)
{
    static const char *const scalars[] = {"null", "true", "false", "0",           "-0.10",
                                          "1e+5", "\"\"", "\"x\"", "\"\\u00e9\"", "\"a\\/\\n\""};
    add(m, scalars[below(10)]);
}

static void add_space(maker *m)
{
    static const char *const spaces[] = {"", "", " ", "\n", "\t "};
    add(m, spaces[below(5)]);
}

/* depth is at most 4: recursion on what this test itself chooses. */
static void add_value(maker *m, int depth)
{
    add_space(m);
    unsigned kind = depth == 0 || m->len > 6000 ? 0 : (unsigned)below(3);
    if (kind == 0) {
        add_scalar(m);
    } else {
        size_t n = below(depth == 4 ? 25 : 5);
        size_t shift = below(25);
        add(m, kind == 1 ? "[" : "{");
        for (size_t i = 0; i < n; i++) {
            char key[24];
            snprintf(key, sizeof key, "%s\"k%zu\" :", i ? "," : "", (i * 7 + shift) % 25);
            add(m, kind == 1 ? (i ? "," : "") : key);
            add_value(m, depth - 1);
        }
        add(m, kind == 1 ? "]" : "}");
    }
    add_space(m);
}

static char *canonical(const char *text, size_t len, tb__arena *arena, size_t *ret_len)
{
    tb__document doc;
    tb_error err = {0};
    ck_assert_msg(tb__document_parse(text, len, TB_E_BAD_INPUT, arena, NULL, &doc, &err) == TB_OK,
                  "byte %" PRIu64 ": %s of %.*s", err.byte, err.message, (int)len, text);
    char *out = tb__document_canonical(&doc, 0, arena, ret_len);
    tb__document_release(&doc);
    return out;
}

START_TEST(canonical_text_is_a_fixed_point_and_not_longer)
{
    for (int i = 0; i < 2000; i++) {
        maker m = {.len = 0};
        add_value(&m, 4);
        tb__arena arena;
        tb__arena_init(&arena, NULL);
        size_t once_len, twice_len;
        const char *once = canonical(m.text, m.len, &arena, &once_len);
        const char *twice = canonical(once, once_len, &arena, &twice_len);
        ck_assert_uint_le(once_len, m.len);
        ck_assert_str_eq(once, twice);
        tb__arena_release(&arena);
    }
}
END_TEST

/* A cut document is never taken for a whole one (a cut number or word at the top apart). */
START_TEST(a_cut_document_is_refused)
{
    for (int i = 0; i < 150; i++) {
        maker m = {.len = 0};
        add(&m, "[");
        add_value(&m, 2);
        add(&m, "]");
        for (size_t cut = 0; cut < m.len; cut++) {
            tb__arena arena;
            tb__arena_init(&arena, NULL);
            tb__document doc;
            tb_error err = {0};
            ck_assert_int_eq(
                tb__document_parse(m.text, cut, TB_E_BAD_INPUT, &arena, NULL, &doc, &err),
                TB_E_BAD_INPUT);
            ck_assert_uint_ge(err.byte, 1);
            ck_assert_uint_le(err.byte, cut + 1);
            tb__arena_release(&arena);
        }
    }
}
END_TEST

int main(void)
{
    seed = test_seed();
    Suite *suite = suite_create("json properties");
    TCase *t = tcase_create("json");
    tcase_add_checked_fixture(t, begin, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, integers_print_as_the_c_library_does);
    tcase_add_test(t, wide_integers_read_back);
    tcase_add_test(t, doubles_read_back_and_no_shorter_text_does);
    tcase_add_test(t, doubles_are_the_same_text_whatever_the_processor_has);
    tcase_add_test(t, doubles_print_integral_values_without_a_point_and_others_with_one);
    tcase_add_test(t, strings_survive_writing_and_reading);
    tcase_add_test(t, random_bytes_quote_to_valid_json);
    tcase_add_test(t, canonical_text_is_a_fixed_point_and_not_longer);
    tcase_add_test(t, a_cut_document_is_refused);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
