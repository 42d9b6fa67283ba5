/* The library as its embedders meet it: one include, defaults for NULL, one call for an answer. */
#include "store_fixture.h"
#include "tollbook/tollbook.h"

#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],"                                                \
    "\"zones\":[{\"id\":7,\"account\":1,\"name\":\"z\"}]}"

static fixture f;

static void setup(void)
{
    fixture_init(&f);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
}

static void teardown(void)
{
    fixture_release(&f);
}

START_TEST(the_version_is_that_of_the_header)
{
    ck_assert_str_eq(tb_version(), TB_VERSION);
}
END_TEST

/* Programs compiled against an earlier header hold these. */
START_TEST(error_numbers_stay)
{
    ck_assert_int_eq(TB_OK, 0);
    ck_assert_int_eq(TB_E_DIFFERENT, 1);
    ck_assert_int_eq(TB_E_NOT_FOUND, 19);
    ck_assert_int_eq(TB_E_INTERNAL, 54);
    ck_assert_str_eq(tb_code_name((tb_code)19), "NOT_FOUND");
    ck_assert_str_eq(tb_code_name((tb_code)-1), "INTERNAL");
    ck_assert_str_eq(tb_code_name((tb_code)TB_E_MAX_), "INTERNAL");
}
END_TEST

START_TEST(without_options_a_file_is_made_and_opened_to_read)
{
    char path[sizeof f.path + 8];
    tb_error err = {0};
    tb_store *store;
    snprintf(path, sizeof path, "%s.new", f.path);
    ok(tb_store_create(path, NULL, &err));
    ok(tb_store_open(path, NULL, &store, &err));
    ck_assert_int_ne(tb_store_begin(store, NULL), TB_OK);
    tb_store_close(store);
    unlink(path);
    ck_assert_int_ne(tb_store_open(path, NULL, &store, NULL), TB_OK);
}
END_TEST

/* The same bytes as the longer way gives, terminated. */
START_TEST(one_call_answers_an_account_s_statistics)
{
    tb_error err = {0};
    char *json = NULL;
    tb_range range;
    tb_buf out;
    const tb_range_query query = {.from = {"2026-11-10", 10}, .statistics = true};
    const tb_view view = {.account = 1, .zone = TB_ALL, .region = TB_ALL};
    ok(tb_range_resolve(&query, NOW_US, &range, &err));
    tb_buf_init(&out, TB_STATISTICS_MAX, NULL);
    ok(tb_store_read_begin(f.store, &err));
    ok(tb_statistics_in(f.store, &(tb_statistics_query){view, range, TB_ANSWER_STATISTICS}, NOW_US, NULL,
                        &out, &err));
    tb_store_read_end(f.store);
    ok(tb_statistics_file(f.path, 1, "2026-11-10", NULL, NOW_US, &json, &err));
    ck_assert_uint_eq(strlen(json), out.len);
    ck_assert_int_eq(memcmp(json, out.data, out.len), 0);
    free(json);
    ok(tb_statistics_file(f.path, 1, NULL, NULL, NOW_US, &json, NULL));
    ck_assert_ptr_nonnull(strstr(json, "\"2026-10-18T00:00:00Z\":0"));
    free(json);
    tb_buf_release(&out);
}
END_TEST

START_TEST(one_call_says_what_is_wrong)
{
    tb_error err = {0};
    char *json = NULL;
    ck_assert_int_eq(tb_statistics_file(f.path, 2, NULL, NULL, NOW_US, &json, &err),
                     TB_E_NOT_FOUND);
    ck_assert_str_eq(err.message, "There is no account 2.");
    ck_assert_int_eq(tb_statistics_file(f.path, 1, "soon", NULL, NOW_US, &json, &err),
                     TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "dateFrom");
    ck_assert_int_eq(tb_statistics_file("/dev/null", 1, NULL, NULL, NOW_US, &json, NULL),
                     TB_E_NOT_OURS);
    ck_assert_ptr_null(json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("face");
    TCase *tests = tcase_create("face");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_version_is_that_of_the_header);
    tcase_add_test(tests, error_numbers_stay);
    tcase_add_test(tests, without_options_a_file_is_made_and_opened_to_read);
    tcase_add_test(tests, one_call_answers_an_account_s_statistics);
    tcase_add_test(tests, one_call_says_what_is_wrong);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
