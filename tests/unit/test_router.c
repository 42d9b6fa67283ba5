/* The router over a small table, and the rules that the real table keeps. */
#include <check.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "api/routes.h"

static const route table[] = {
    {.method = HTTP_GET, .pattern = "/a", .name = "a"},
    {.method = HTTP_POST, .pattern = "/a", .name = "a_post"},
    {.method = HTTP_GET, .pattern = "/z/{id}/b", .name = "zb"},
    {.method = HTTP_DELETE, .pattern = "/z/{id}", .name = "z"},
    {.method = HTTP_GET, .pattern = "/r/{+rest}", .name = "rest"},
    {.method = HTTP_POST, .pattern = "/api/p", .name = "p"},
    {.method = HTTP_GET, .pattern = "/p", .name = "below"},
    {.method = HTTP_GET, .pattern = "/exact", .name = "exact", .exact = true},
    {.method = HTTP_GET, .pattern = "/{id}/{#date}", .name = "day"},
};
#define N (sizeof table / sizeof *table)

static const route *find(http_method method, const char *path, tb_text *id, unsigned *allow)
{
    const routed found = router_match(table, N, method, (tb_text){path, strlen(path)});
    *id = found.id;
    *allow = found.allow;
    return found.row;
}

START_TEST(methods_are_exact)
{
    ck_assert_int_eq(http_method_parse("GET"), HTTP_GET);
    ck_assert_int_eq(http_method_parse("CONNECT"), HTTP_CONNECT);
    ck_assert_int_eq(http_method_parse("get"), HTTP_UNKNOWN);
    ck_assert_int_eq(http_method_parse(""), HTTP_UNKNOWN);
    ck_assert_int_eq(http_method_parse("GETS"), HTTP_UNKNOWN);
    ck_assert_str_eq(http_method_name(HTTP_DELETE), "DELETE");
    ck_assert_str_eq(http_method_name(HTTP_UNKNOWN), "-");
}
END_TEST

START_TEST(a_row_is_its_method_and_path)
{
    tb_text id;
    unsigned allow;
    ck_assert_ptr_eq(find(HTTP_GET, "/a", &id, &allow), &table[0]);
    ck_assert_ptr_null(id.data);
    ck_assert_ptr_eq(find(HTTP_HEAD, "/a", &id, &allow), &table[0]);
    ck_assert_ptr_eq(find(HTTP_POST, "/a", &id, &allow), &table[1]);
    ck_assert_ptr_eq(find(HTTP_GET, "/z/12/b", &id, &allow), &table[2]);
    ck_assert_uint_eq(id.len, 2);
    ck_assert_int_eq(memcmp(id.data, "12", 2), 0);
    ck_assert_ptr_eq(find(HTTP_DELETE, "/z/x", &id, &allow), &table[3]);
}
END_TEST

START_TEST(literal_parts_have_any_case_and_a_path_may_end_with_a_slash)
{
    tb_text id;
    unsigned allow;
    const char *path = "/Z/aBc/B/";
    ck_assert_ptr_eq(find(HTTP_GET, "/A", &id, &allow), &table[0]);
    ck_assert_ptr_eq(find(HTTP_GET, "/a/", &id, &allow), &table[0]);
    ck_assert_ptr_eq(find(HTTP_GET, path, &id, &allow), &table[2]);
    ck_assert(id.data == path + 3 && id.len == 3); /* as it is spelled */
    ck_assert_ptr_eq(find(HTTP_DELETE, "/z/1/", &id, &allow), &table[3]);
    ck_assert_uint_eq(id.len, 1);
}
END_TEST

START_TEST(nothing_else_is)
{
    static const char *const no[] = {"", "/", "//", "/a//", "//a", "/aa", "/z", "/z/", "/z//", "/z//b",
                                     "/z/1//", "/z/1/b//", "/z/1/bb", "/z/1/2/b", "/!", "/\x01", "a"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        tb_text id;
        unsigned allow;
        ck_assert_ptr_null(find(HTTP_GET, no[i], &id, &allow));
        ck_assert_msg(allow == 0, "%s", no[i]);
    }
}
END_TEST

START_TEST(each_part_of_a_path_can_be_had)
{
    static const route two = {.pattern = "/{a}/x/{b}.log"};
    const char *path = "/12/x/345.log";
    tb_text part = router_part(&two, (tb_text){path, strlen(path)}, 0);
    ck_assert(part.data == path + 1 && part.len == 2);
    part = router_part(&two, (tb_text){path, strlen(path)}, 1);
    ck_assert(part.data == path + 6 && part.len == 3);
    ck_assert_ptr_null(router_part(&two, (tb_text){path, strlen(path)}, 2).data);
}
END_TEST

START_TEST(a_rest_is_all_that_is_left)
{
    tb_text id;
    unsigned allow;
    ck_assert_ptr_eq(find(HTTP_GET, "/r/a/b.js/", &id, &allow), &table[4]);
    ck_assert_uint_eq(id.len, strlen("a/b.js/"));
    ck_assert_int_eq(memcmp(id.data, "a/b.js/", id.len), 0);
    ck_assert_ptr_null(find(HTTP_GET, "/r/", &id, &allow));
    ck_assert_ptr_null(find(HTTP_GET, "/r", &id, &allow));
}
END_TEST

START_TEST(a_date_has_its_form)
{
    static const char *const no[] = {"/7/5", "/7/2026-11-04", "/7/11-04-26", "/7/11-04-20260", "/7/1104-2026-", "/7/aa-04-2026"};
    tb_text id;
    unsigned allow;
    ck_assert_ptr_eq(find(HTTP_GET, "/7/11-04-2026", &id, &allow), &table[8]);
    ck_assert_uint_eq(id.len, 10);
    ck_assert_ptr_eq(find(HTTP_GET, "/7/99-99-9999/", &id, &allow), &table[8]); /* whether there is such a day is the handler's */
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        ck_assert_ptr_null(find(HTTP_GET, no[i], &id, &allow));
        ck_assert_msg(allow == 0, "%s", no[i]);
    }
}
END_TEST

START_TEST(another_method_is_told_what_is_allowed)
{
    tb_text id;
    unsigned allow;
    char text[ROUTER_ALLOW_MAX];
    ck_assert_ptr_null(find(HTTP_PUT, "/a", &id, &allow));
    router_allow(allow, text);
    ck_assert_str_eq(text, "GET, HEAD, POST");
    ck_assert_ptr_null(find(HTTP_HEAD, "/z/1", &id, &allow));
    router_allow(allow, text);
    ck_assert_str_eq(text, "DELETE");
    router_allow(~0u, text);
    ck_assert_str_eq(text, "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT");
}
END_TEST

START_TEST(below_api_are_the_rows_without_it)
{
    const routed found = router_match(table, N, HTTP_GET, (tb_text){"/API/z/12/b", 11});
    ck_assert_ptr_eq(found.row, &table[2]);
    ck_assert_int_eq(memcmp(found.path.data, "/z/12/b", found.path.len), 0);
    ck_assert_int_eq(memcmp(found.id.data, "12", found.id.len), 0);
    tb_text id;
    unsigned allow;
    ck_assert_ptr_eq(find(HTTP_HEAD, "/api/a/", &id, &allow), &table[0]);
    ck_assert_ptr_eq(find(HTTP_POST, "/api/a", &id, &allow), &table[1]);
    ck_assert_ptr_eq(find(HTTP_DELETE, "/api/z/1", &id, &allow), &table[3]);
    ck_assert_ptr_null(find(HTTP_DELETE, "/api/a", &id, &allow));
    ck_assert_uint_eq(allow, 1u << HTTP_GET | 1u << HTTP_HEAD | 1u << HTTP_POST);
    static const char *const no[] = {"/api", "/api/", "/api//a", "/api/api/a", "/apia", "/api/exact"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        for (int method = HTTP_GET; method <= HTTP_DELETE; method++) {
            ck_assert_ptr_null(find((http_method)method, no[i], &id, &allow));
            ck_assert_msg(allow == 0, "%s", no[i]);
        }
}
END_TEST

START_TEST(a_row_below_api_comes_before_the_prefix)
{
    tb_text id;
    unsigned allow;
    ck_assert_ptr_eq(find(HTTP_POST, "/api/p", &id, &allow), &table[5]);
    ck_assert_ptr_null(find(HTTP_GET, "/api/p", &id, &allow));
    ck_assert_uint_eq(allow, 1u << HTTP_POST);
}
END_TEST

START_TEST(ids_are_positive_and_have_one_spelling)
{
    static const char *const bad[] = {"", "0", "-1", "+1", "01", "1a", "1.0", " 1", "1 ",
                                      "9223372036854775808", "18446744073709551617"};
    int64_t id = 0;
    ck_assert(router_id((tb_text){"1", 1}, &id) && id == 1);
    ck_assert(router_id((tb_text){"9223372036854775807", 19}, &id) && id == INT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!router_id((tb_text){bad[i], strlen(bad[i])}, &id), "%s", bad[i]);
    ck_assert(!router_id((tb_text){0}, &id));
}
END_TEST

/* Only what says nothing about an account may be open, and only it. */
START_TEST(the_real_table_opens_what_it_should)
{
    static const char *const open[] = {"/region", "/healthz", "/readyz", "/metrics", "/openapi.json", "/",
                                       "/console/session", "/console/open", "/console/assets/{+file}", "/console",
                                       "/console/{+view}", "/replica/epoch", "/proof/checkpoint", "/proof/tile/{+tile}"};
    size_t n_open = 0;
    for (size_t i = 0; i < api_n_routes; i++) {
        const route *r = &api_routes[i];
        ck_assert_ptr_nonnull(r->handle);
        ck_assert(r->method == HTTP_GET || r->method == HTTP_POST || r->method == HTTP_DELETE);
        ck_assert(r->body == ROUTE_NO_BODY || r->method == HTTP_POST);
        /* whatever changes something is the writer's work; an export only asks with a body, and a
         * sign-in is kept in memory alone */
        const bool signs = strncmp(r->name, "sign_", 5) == 0;
        const bool asks = r->method == HTTP_GET || strcmp(r->name, "shield_export") == 0 || signs;
        ck_assert(r->finish != NULL || asks);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(r->name, api_routes[j].name);
            ck_assert(r->method != api_routes[j].method ||
                      strcmp(r->pattern, api_routes[j].pattern) != 0);
        }
        if (r->access != TB_ACCESS_NONE) continue;
        bool known = false;
        for (size_t j = 0; j < sizeof open / sizeof *open; j++)
            known |= strcmp(r->pattern, open[j]) == 0;
        ck_assert_msg(known && (r->method == HTTP_GET || signs), "%s", r->pattern);
        ck_assert(!signs || strcmp(r->pattern, "/console/session") == 0);
        n_open += !signs || r->method == HTTP_POST;
    }
    ck_assert_uint_eq(n_open, sizeof open / sizeof *open);
}
END_TEST

/* Each of these looks at all names, zones or entries of an account. */
START_TEST(long_answers_are_not_made_by_a_worker)
{
    static const char *const patterns[] = {"/search", "/user/audit/{date}", "/metrics/account", "/insights"};
    size_t found = 0;
    for (size_t i = 0; i < api_n_routes; i++)
        for (size_t j = 0; j < sizeof patterns / sizeof *patterns; j++) {
            if (strcmp(api_routes[i].pattern, patterns[j]) != 0) continue;
            ck_assert_msg(api_routes[i].finish != NULL, "%s", patterns[j]);
            found++;
        }
    ck_assert_uint_eq(found, sizeof patterns / sizeof *patterns);
}
END_TEST

START_TEST(the_consoles_rows_are_the_last)
{
    for (size_t i = 0; i < api_n_routes; i++) {
        const char *pattern = api_routes[i].pattern;
        const bool console = strcmp(pattern, "/") == 0 || strncmp(pattern, "/console", 8) == 0;
        ck_assert_msg(console == (i >= api_n_routes - API_CONSOLE_ROUTES), "%s", pattern);
        ck_assert_msg(api_routes[i].exact == (console || strcmp(pattern, "/metrics") == 0), "%s", pattern);
    }
}
END_TEST

static size_t allocated;

static void *count_malloc(size_t size)
{
    allocated++;
    return malloc(size);
}

static void *count_calloc(size_t n, size_t size)
{
    allocated++;
    return calloc(n, size);
}

static void *count_realloc(void *old, size_t size)
{
    allocated++;
    return realloc(old, size);
}

static char *count_strdup(const char *text)
{
    allocated++;
    return strdup(text);
}

/* libcurl, which threads of the server share, is ready before there are any: who comes later cannot give it other
 * functions for its memory. */
START_TEST(libcurl_is_ready_once_the_server_starts)
{
    api_start();
    ck_assert_int_eq(curl_global_init_mem(CURL_GLOBAL_DEFAULT, count_malloc, free, count_realloc, count_strdup,
                                          count_calloc), CURLE_OK);
    curl_easy_cleanup(curl_easy_init());
    ck_assert_uint_eq(allocated, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("router");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, methods_are_exact);
    tcase_add_test(tc, a_row_is_its_method_and_path);
    tcase_add_test(tc, literal_parts_have_any_case_and_a_path_may_end_with_a_slash);
    tcase_add_test(tc, nothing_else_is);
    tcase_add_test(tc, each_part_of_a_path_can_be_had);
    tcase_add_test(tc, a_rest_is_all_that_is_left);
    tcase_add_test(tc, a_date_has_its_form);
    tcase_add_test(tc, another_method_is_told_what_is_allowed);
    tcase_add_test(tc, below_api_are_the_rows_without_it);
    tcase_add_test(tc, a_row_below_api_comes_before_the_prefix);
    tcase_add_test(tc, ids_are_positive_and_have_one_spelling);
    tcase_add_test(tc, long_answers_are_not_made_by_a_worker);
    tcase_add_test(tc, the_consoles_rows_are_the_last);
    tcase_add_test(tc, the_real_table_opens_what_it_should);
    tcase_add_test(tc, libcurl_is_ready_once_the_server_starts);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
