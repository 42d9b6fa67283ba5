/* The strict JSON reader and its canonical text. */
#include "model/document.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Canonical text of a document, or "byte: message" where it is refused; the caller frees it. */
static char *canonical(const char *text, size_t len)
{
    tb__arena arena;
    tb__arena_init(&arena, NULL);
    tb__document doc;
    tb_error err;
    char *result;
    /* A copy of exactly len bytes, so that the sanitizer sees reads past the end. */
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    if (tb__document_parse(copy, len, TB_E_BAD_INPUT, &arena, NULL, &doc, &err) == TB_OK) {
        size_t n;
        const char *out = tb__document_canonical(&doc, 0, &arena, &n);
        ck_assert_uint_eq(strlen(out), n);
        result = strdup(out);
        tb__document_release(&doc);
    } else {
        ck_assert_int_eq(err.code, TB_E_BAD_INPUT);
        result = malloc(400);
        snprintf(result, 400, "%llu: %s", (unsigned long long)err.byte, err.message);
    }
    free(copy);
    tb__arena_release(&arena);
    return result;
}

static void assert_canonical(const char *text, size_t len, const char *expected)
{
    char *got = canonical(text, len);
    ck_assert_str_eq(got, expected);
    free(got);
}

#define CANONICAL(text, expected) assert_canonical(text, sizeof(text) - 1, expected)

START_TEST(scalars_stay_as_they_are)
{
    CANONICAL("null", "null");
    CANONICAL(" true\n", "true");
    CANONICAL("\tfalse\r", "false");
    CANONICAL("\"\"", "\"\"");
    CANONICAL("0", "0");
}
END_TEST

START_TEST(numbers_are_kept_verbatim)
{
    CANONICAL("[0.1,-0,0.10,1E5,1e+05,1.5e-7,123456789012.345678,1e400]",
              "[0.1,-0,0.10,1E5,1e+05,1.5e-7,123456789012.345678,1e400]");
}
END_TEST

START_TEST(numbers_follow_the_grammar)
{
    CANONICAL("01", "1: Not a JSON number.");
    CANONICAL("-", "1: Not a JSON number.");
    CANONICAL("-01", "1: Not a JSON number.");
    CANONICAL("1.", "3: A digit must follow the point.");
    CANONICAL("1.e5", "3: A digit must follow the point.");
    CANONICAL("1e", "3: The exponent has no digit.");
    CANONICAL("1e+", "4: The exponent has no digit.");
    CANONICAL("+1", "1: Not a JSON value.");
    CANONICAL(".5", "1: Not a JSON value.");
    CANONICAL("0x10", "2: Text follows the document.");
    CANONICAL("NaN", "1: Not a JSON value.");
}
END_TEST

START_TEST(numbers_have_at_most_64_bytes)
{
    char text[TB__NUMBER_MAX + 2];
    memset(text, '7', sizeof text);
    char *got = canonical(text, TB__NUMBER_MAX);
    ck_assert_uint_eq(strlen(got), TB__NUMBER_MAX);
    free(got);
    assert_canonical(text, TB__NUMBER_MAX + 1, "1: The number is too long.");
}
END_TEST

START_TEST(keys_are_sorted_by_bytes_and_space_is_gone)
{
    CANONICAL(
        " { \"b\" : [ 1 , { \"z\" : 0 , \"a\" : 1 } ] , \"a\" : { } , \"B\" : [ ] , \"\" : 2 } ",
        "{\"\":2,\"B\":[],\"a\":{},\"b\":[1,{\"a\":1,\"z\":0}]}");
    CANONICAL("{\"ab\":1,\"a\":2,\"\xC3\xA9\":3,\"z\":4}",
              "{\"a\":2,\"ab\":1,\"z\":4,\"\xC3\xA9\":3}");
}
END_TEST

START_TEST(objects_of_more_keys_than_fit_the_small_sort_are_sorted_too)
{
    char text[2000] = "{", expected[2000] = "{";
    for (int i = 0; i < 60; i++) {
        char item[32];
        snprintf(item, sizeof item, "\"k%02d\":%d%s", (i * 37) % 60, (i * 37) % 60,
                 i < 59 ? "," : "}");
        strcat(text, item);
        snprintf(item, sizeof item, "\"k%02d\":%d%s", i, i, i < 59 ? "," : "}");
        strcat(expected, item);
    }
    assert_canonical(text, strlen(text), expected);
}
END_TEST

START_TEST(strings_are_decoded_and_escaped_minimally)
{
    CANONICAL("\"\\u0041\\/\\u00e9\\u20AC\\ud83d\\ude00\"",
              "\"A/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    CANONICAL("\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\u000a\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\n\"");
    CANONICAL("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
              "\"\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\"");
    CANONICAL("\"\\ud800\\udc00\\udbff\\udfff\"", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"");
}
END_TEST

START_TEST(strings_that_are_not_text_are_refused)
{
    CANONICAL("\"a", "3: The string does not end.");
    CANONICAL("\"a\\\"", "5: The string does not end.");
    CANONICAL("\"a\\", "3: The string does not end.");
    CANONICAL("\"a\nb\"", "3: A control character must be escaped.");
    CANONICAL("\"a\0b\"", "3: A control character must be escaped.");
    CANONICAL("\"a\x80\"", "3: Not UTF-8.");
    CANONICAL("\"\xC3\"", "2: Not UTF-8.");
    CANONICAL("\"\\x\"", "2: Not an escape.");
    CANONICAL("\"\\\xC3\xA9\"", "2: Not an escape.");
    CANONICAL("\"\\u12\"", "2: Not an escape.");
    CANONICAL("\"\\u12G4\"", "2: Not an escape.");
    CANONICAL("\"ab\\u0000\"", "4: Not an escape.");
    CANONICAL("\"\\ud800\"", "2: Not an escape.");
    CANONICAL("\"\\ud800x\\udc00\"", "2: Not an escape.");
    CANONICAL("\"\\ud800\\ud800\"", "2: Not an escape.");
    CANONICAL("\"\\ud800\\ue000\"", "2: Not an escape.");
    CANONICAL("\"\\ud800\\udbff\"", "2: Not an escape.");
    CANONICAL("\"\\udc00\"", "2: Not an escape.");
}
END_TEST

START_TEST(duplicate_keys_are_refused_at_the_later_one)
{
    CANONICAL("{\"a\":1,\"b\":2,\"a\":3}", "14: Duplicate key.");
    CANONICAL("{\"a\":1,\"\\u0061\":3}", "8: Duplicate key.");
    CANONICAL("{\"x\":{\"a\":1},\"a\":3}", "{\"a\":3,\"x\":{\"a\":1}}");
    char text[2000] = "{";
    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text), "\"k%02d\":0,", i);
    size_t at = strlen(text) + 1;
    strcat(text, "\"k07\":1}");
    char expected[40];
    snprintf(expected, sizeof expected, "%zu: Duplicate key.", at);
    assert_canonical(text, strlen(text), expected);
}
END_TEST

START_TEST(structure_errors_name_their_byte)
{
    CANONICAL("", "1: The document ends where a value is expected.");
    CANONICAL("  ", "3: The document ends where a value is expected.");
    CANONICAL("[1,", "4: The document ends where a value is expected.");
    CANONICAL("[1,]", "4: Not a JSON value.");
    CANONICAL("[,1]", "2: Not a JSON value.");
    CANONICAL("[1 2]", "4: A comma or the end is expected here.");
    CANONICAL("[1}", "3: A comma or the end is expected here.");
    CANONICAL("{\"a\":1,}", "8: A key is expected here.");
    CANONICAL("{a:1}", "2: A key is expected here.");
    CANONICAL("{\"a\" 1}", "6: A colon is expected here.");
    CANONICAL("{\"a\":}", "6: Not a JSON value.");
    CANONICAL("{\"a\"}", "5: A colon is expected here.");
    CANONICAL("[] []", "4: Text follows the document.");
    CANONICAL("{}x", "3: Text follows the document.");
    CANONICAL("1\0", "2: Text follows the document.");
    CANONICAL("\xEF\xBB\xBF{}", "1: Not a JSON value.");
    CANONICAL("tru", "1: Not a JSON value.");
    CANONICAL("[nulL]", "2: Not a JSON value.");
    CANONICAL("]", "1: Not a JSON value.");
}
END_TEST

START_TEST(depth_ends_at_64)
{
    char text[2 * TB__DOCUMENT_DEPTH + 2];
    for (int n = TB__DOCUMENT_DEPTH - 1; n <= TB__DOCUMENT_DEPTH + 1; n++) {
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        char *got = canonical(text, 2 * (size_t)n);
        if (n <= TB__DOCUMENT_DEPTH)
            ck_assert_uint_eq(strlen(got), 2 * (size_t)n);
        else
            ck_assert_str_eq(got, "65: The document is nested too deeply.");
        free(got);
    }
}
END_TEST

START_TEST(canonical_text_of_a_part)
{
    static const char text[] = "{\"a\":[1, 2],\"b\":{\"d\":1,\"c\":[{}]}}";
    tb__arena arena;
    tb__arena_init(&arena, NULL);
    tb__document doc;
    ck_assert_int_eq(
        tb__document_parse(text, sizeof text - 1, TB_E_BAD_INPUT, &arena, NULL, &doc, NULL), TB_OK);
    /* object, key a, array, 1, 2, key b, object */
    ck_assert_str_eq(tb__document_canonical(&doc, 2, &arena, NULL), "[1,2]");
    ck_assert_str_eq(tb__document_canonical(&doc, 4, &arena, NULL), "2");
    ck_assert_str_eq(tb__document_canonical(&doc, 6, &arena, NULL), "{\"c\":[{}],\"d\":1}");
    tb__document_release(&doc);
    tb__arena_release(&arena);
}
END_TEST

START_TEST(canonical_text_is_a_fixed_point)
{
    static const char text[] = "{\"b\":[1.50,{\"\\u00e9\":null}],\"a\\n\":\"\\/\"}";
    char *once = canonical(text, sizeof text - 1);
    assert_canonical(once, strlen(once), once);
    free(once);
}
END_TEST

/* The arena below it: pieces are aligned, distinct, and large ones fit. */
START_TEST(arena_pieces_are_aligned_and_distinct)
{
    tb__arena arena;
    tb__arena_init(&arena, NULL);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 300000, 5, 262144, 1};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned char *pieces[N];
    for (int i = 0; i < N; i++) {
        pieces[i] = tb__arena_take(&arena, sizes[i]);
        ck_assert_ptr_nonnull(pieces[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], i, sizes[i]);
    }
    for (int i = 0; i < N; i++) {
        size_t others = 0;
        for (size_t j = 0; j < sizes[i]; j++)
            others += pieces[i][j] != i;
        ck_assert_uint_eq(others, 0);
    }
    ck_assert_ptr_null(tb__arena_take(&arena, SIZE_MAX));
    char *a = tb__arena_take(&arena, 100);
    tb__arena_trim(&arena, 100, 10);
    char *b = tb__arena_take(&arena, 1);
    ck_assert_int_eq(b - a, 16);
    tb__arena_release(&arena);
    tb__arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("document");
    TCase *t = tcase_create("document");
    tcase_add_test(t, scalars_stay_as_they_are);
    tcase_add_test(t, numbers_are_kept_verbatim);
    tcase_add_test(t, numbers_follow_the_grammar);
    tcase_add_test(t, numbers_have_at_most_64_bytes);
    tcase_add_test(t, keys_are_sorted_by_bytes_and_space_is_gone);
    tcase_add_test(t, objects_of_more_keys_than_fit_the_small_sort_are_sorted_too);
    tcase_add_test(t, strings_are_decoded_and_escaped_minimally);
    tcase_add_test(t, strings_that_are_not_text_are_refused);
    tcase_add_test(t, duplicate_keys_are_refused_at_the_later_one);
    tcase_add_test(t, structure_errors_name_their_byte);
    tcase_add_test(t, depth_ends_at_64);
    tcase_add_test(t, canonical_text_of_a_part);
    tcase_add_test(t, canonical_text_is_a_fixed_point);
    tcase_add_test(t, arena_pieces_are_aligned_and_distinct);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
