/* whatif/patch.h: RFC 7396, its own examples and what documents of ours add. */
#include "whatif/patch.h"
#include "unit/budget.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *merged(const char *target, const char *patch, const tb_alloc *alloc)
{
    tb__document a, b, out;
    tb__arena arena;
    char *text = NULL;
    tb__arena_init(&arena, NULL);
    ck_assert_int_eq(tb__document_parse(target, strlen(target), TB_E_BOOK, &arena, NULL, &a, NULL),
                     TB_OK);
    ck_assert_int_eq(tb__document_parse(patch, strlen(patch), TB_E_BOOK, &arena, NULL, &b, NULL),
                     TB_OK);
    if (tb__merge_patch(&a, &b, 0, alloc, &out, NULL) == TB_OK) {
        size_t len;
        const char *canonical = tb__document_canonical(&out, 0, &arena, &len);
        ck_assert_ptr_nonnull(canonical);
        ck_assert_uint_eq(strlen(canonical), len);
        text = strdup(canonical);
        tb__document_release(&out);
    }
    tb__document_release(&a);
    tb__document_release(&b);
    tb__arena_release(&arena);
    return text;
}

static void gives(const char *target, const char *patch, const char *expected)
{
    char *text = merged(target, patch, NULL);
    ck_assert_str_eq(text, expected);
    free(text);
}

/* RFC 7396, appendix A. */
START_TEST(the_rfcs_examples)
{
    gives("{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
    gives("{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}");
    gives("{\"a\":\"b\"}", "{\"a\":null}", "{}");
    gives("{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}");
    gives("{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
    gives("{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}");
    gives("{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}");
    gives("{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}");
    gives("[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]");
    gives("{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]");
    gives("{\"a\":\"foo\"}", "null", "null");
    gives("{\"a\":\"foo\"}", "\"bar\"", "\"bar\"");
    gives("{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}");
    gives("[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}");
    gives("{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}");
}
END_TEST

START_TEST(an_empty_patch_changes_nothing)
{
    gives("{\"b\":[1,{\"x\":null}],\"a\":{\"c\":0.10}}", "{}",
          "{\"a\":{\"c\":0.10},\"b\":[1,{\"x\":null}]}");
}
END_TEST

START_TEST(numbers_and_strings_stay_as_they_are_written)
{
    gives("{\"a\":1.10,\"s\":\"\\u00e9\"}", "{\"b\":2.500e0,\"l\":[0.0,null]}",
          "{\"a\":1.10,\"b\":2.500e0,\"l\":[0.0,null],\"s\":\"\xc3\xa9\"}");
}
END_TEST

START_TEST(names_are_compared_as_they_are_decoded)
{
    gives("{\"a\":1,\"ab\":2,\"\":3}", "{\"\\u0061\":null,\"\":{\"x\":1}}",
          "{\"\":{\"x\":1},\"ab\":2}");
}
END_TEST

/* As deep as documents may be, in both. */
START_TEST(depth_is_the_documents_own)
{
    char a[1024] = "", b[1024] = "", both[1024] = "";
    for (int i = 0; i < TB__DOCUMENT_DEPTH; i++) {
        strncat(a, "{\"k\":", sizeof a - strlen(a) - 1);
        strncat(b, "{\"k\":", sizeof b - strlen(b) - 1);
    }
    strncat(a, "1", sizeof a - strlen(a) - 1);
    strncat(b, "2", sizeof b - strlen(b) - 1);
    for (int i = 0; i < TB__DOCUMENT_DEPTH; i++) {
        strncat(a, "}", sizeof a - strlen(a) - 1);
        strncat(b, "}", sizeof b - strlen(b) - 1);
    }
    snprintf(both, sizeof both, "%s", b);
    gives(a, b, both);
    gives("1", b, both);
}
END_TEST

/* --- memory --- */

START_TEST(every_allocation_may_fail)
{
    for (int n = 0; n < 2; n++) {
        budget b = {n};
        tb_alloc alloc = {limited, &b};
        ck_assert_ptr_null(merged("{\"a\":{\"b\":1}}", "{\"a\":{\"c\":1}}", &alloc));
    }
    budget enough = {100};
    tb_alloc alloc = {limited, &enough};
    char *text = merged("{\"a\":{\"b\":1}}", "{\"a\":{\"c\":1}}", &alloc);
    ck_assert_str_eq(text, "{\"a\":{\"b\":1,\"c\":1}}");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge patch");
    TCase *t = tcase_create("patch");
    tcase_add_test(t, the_rfcs_examples);
    tcase_add_test(t, an_empty_patch_changes_nothing);
    tcase_add_test(t, numbers_and_strings_stay_as_they_are_written);
    tcase_add_test(t, names_are_compared_as_they_are_decoded);
    tcase_add_test(t, depth_is_the_documents_own);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
