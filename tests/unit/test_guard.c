/* The guard, rule by rule; what goes over the wire is in tests/http/test_guard.py. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "http/front/guard.h"
#include "http/methods.h"

static guard g;

static void add(const char *name, const char *value)
{
    guard_header(&g, name, strlen(name), value, strlen(value));
}

static void start(void)
{
    guard_start(&g);
    add("Host", "x");
}

static tb_code one(const char *name, const char *value)
{
    start();
    add(name, value);
    return guard_finish(&g, true);
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

START_TEST(a_host_is_needed_by_1_1_alone)
{
    guard_start(&g);
    ck_assert_int_eq(guard_finish(&g, true), TB_E_BAD_REQUEST);
    guard_start(&g);
    ck_assert_int_eq(guard_finish(&g, false), TB_OK);
}
END_TEST

START_TEST(names_are_tokens)
{
    static const char *const bad[] = {"", "a b", "a:", "a\t", "a(", "a\x7f", "\xc3\xa4", "a\r", "a/b"};
    ck_assert_int_eq(one("!#$%&'*+-.^_`|~09azAZ", "x"), TB_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(one(bad[i], "x"), TB_E_BAD_REQUEST);
}
END_TEST

START_TEST(values_hold_no_control_bytes)
{
    for (int c = 0; c < 256; c++) {
        char value[3] = {'a', (char)c, 'b'};
        start();
        guard_header(&g, "X-A", 3, value, 3);
        bool fine = c == '\t' || (c >= 32 && c != 127);
        ck_assert_int_eq(guard_finish(&g, true), fine ? TB_OK : TB_E_BAD_REQUEST);
    }
}
END_TEST

START_TEST(what_may_stand_once_stands_once)
{
    static const char *const once[] = {"host", "ACCESSKEY", "authorization", "Content-Type",
                                       "content-length", "Content-Encoding", "Transfer-Encoding",
                                       "idempotency-key"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        start();
        add(once[i], "1");
        add(once[i], "1");
        ck_assert_int_eq(guard_finish(&g, true), TB_E_BAD_REQUEST);
    }
    start();
    add("Accept-Encoding", "gzip");
    add("Accept-Encoding", "br");
    ck_assert_int_eq(guard_finish(&g, true), TB_OK);
    ck_assert_int_eq(memcmp(g.value[GUARD_ACCEPT_ENCODING].data, "gzip", 4), 0);
}
END_TEST

START_TEST(values_lose_the_space_around_them)
{
    ck_assert_int_eq(one("AccessKey", "\t abc \t "), TB_OK);
    ck_assert_uint_eq(g.value[GUARD_ACCESS_KEY].len, 3);
    ck_assert_mem_eq(g.value[GUARD_ACCESS_KEY].data, "abc", 3);
    ck_assert_int_eq(one("AccessKey", "  "), TB_OK);
    ck_assert_uint_eq(g.value[GUARD_ACCESS_KEY].len, 0);
    ck_assert_ptr_nonnull(g.value[GUARD_ACCESS_KEY].data);
}
END_TEST

START_TEST(a_length_is_digits)
{
    static const char *const bad[] = {"", "-1", "+1", "1 1", "1,1", "0x1", "1.0",
                                      "1000000000000000000", "18446744073709551616"};
    ck_assert_int_eq(one("Content-Length", "0"), TB_OK);
    ck_assert(!guard_has_body(&g));
    ck_assert_int_eq(one("Content-Length", "999999999999999999"), TB_OK);
    ck_assert_uint_eq(g.content_length, 999999999999999999u);
    ck_assert(guard_has_body(&g));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(one("Content-Length", bad[i]), TB_E_BAD_REQUEST);
}
END_TEST

START_TEST(framing_is_one_of_length_and_chunks)
{
    ck_assert_int_eq(one("Transfer-Encoding", "ChunKed"), TB_OK);
    ck_assert(g.chunked && guard_has_body(&g));
    ck_assert_int_eq(one("Transfer-Encoding", "identity"), TB_E_BAD_REQUEST);
    ck_assert_int_eq(one("Transfer-Encoding", "gzip, chunked"), TB_E_BAD_REQUEST);
    ck_assert_int_eq(one("Transfer-Encoding", ""), TB_E_BAD_REQUEST);
    start();
    add("Transfer-Encoding", "chunked");
    ck_assert_int_eq(guard_finish(&g, false), TB_E_BAD_REQUEST);
    start();
    add("Content-Length", "0");
    add("Transfer-Encoding", "chunked");
    ck_assert_int_eq(guard_finish(&g, true), TB_E_BAD_REQUEST);
}
END_TEST

START_TEST(lists_count_over_all_their_lines)
{
    static const struct {
        const char *first, *second;
        bool http11, last;
    } said[] = {{"close", "", true, true},          {"x", "a ,\tClose ", true, true}, {"closed", "clos", true, false},
                {"keep-alive", "x", false, false},  {"", ",", false, true},          {"Keep-Alive", "close", false, true},
                {"keep-alive", "close", true, true}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        start();
        add("Connection", said[i].first);
        add("connection", said[i].second);
        ck_assert_int_eq(guard_finish(&g, said[i].http11), TB_OK);
        ck_assert_msg(g.last == said[i].last, "row %zu", i);
    }
}
END_TEST

START_TEST(a_body_is_asked_for_where_there_is_one)
{
    start();
    add("Expect", "100-Continue");
    ck_assert_int_eq(guard_finish(&g, true), TB_OK);
    ck_assert(!g.expect);
    for (int http11 = 0; http11 < 2; http11++) {
        start();
        add("Content-Length", "1");
        add("Expect", "a, 100-CONTINUE");
        ck_assert_int_eq(guard_finish(&g, http11), TB_OK);
        ck_assert_int_eq(g.expect, http11);
    }
}
END_TEST

START_TEST(lines_and_bytes_are_bounded)
{
    guard_start(&g);
    for (int i = 0; i < GUARD_HEADERS_MAX; i++)
        add("X", "y");
    ck_assert_int_eq(g.code, TB_OK);
    add("X", "y");
    ck_assert_int_eq(guard_finish(&g, false), TB_E_HEADERS_TOO_LARGE);
    char *value = calloc(1, GUARD_BYTES_MAX);
    memset(value, 'a', GUARD_BYTES_MAX);
    guard_start(&g);
    guard_header(&g, "X", 1, value, GUARD_BYTES_MAX - 1);
    ck_assert_int_eq(g.code, TB_OK);
    guard_start(&g);
    guard_header(&g, "X", 1, value, GUARD_BYTES_MAX);
    ck_assert_int_eq(g.code, TB_E_HEADERS_TOO_LARGE);
    free(value);
}
END_TEST

START_TEST(the_first_fault_stays)
{
    start();
    add("a b", "x");
    const char *why = g.why;
    add("Host", "y");
    ck_assert_int_eq(guard_finish(&g, true), TB_E_BAD_REQUEST);
    ck_assert_str_eq(g.why, why);
}
END_TEST

static tb_code target(const char *text, size_t *ret_path_len)
{
    const char *why = NULL;
    tb_code code = guard_target(text, strlen(text), ret_path_len, &why);
    ck_assert_int_eq(code == TB_OK, why == NULL);
    return code;
}

START_TEST(targets_that_are_fine)
{
    static const struct {
        const char *text;
        size_t path;
    } fine[] = {{"/", 1}, {"/a", 2}, {"/a?", 2}, {"/a?b=c", 2}, {"/a?/../%2F%2e%2e", 2}, {"/...", 4},
                {"/.a/a./..a/a..", 14}, {"/%41", 4}, {"//", 2}, {"/a%20b?x", 6}, {"/?a?b", 1}};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        size_t len = 0;
        ck_assert_int_eq(target(fine[i].text, &len), TB_OK);
        ck_assert_uint_eq(len, fine[i].path);
    }
}
END_TEST

START_TEST(targets_that_are_not)
{
    static const char *const bad[] = {
        "", "a", "*", "http://x/", "?a", "/a b", "/a\tb", "/a#b", "/\x80", "/a\x7f", "/%", "/%4",
        "/%4g", "/%g4", "/a?%", "/%00", "/a?b=%00", "/%2f", "/%2Fa", "/%5c", "/.", "/..", "/./a",
        "/a/..", "/a/../b", "/%2e", "/%2E%2e/", "/.%2e/a", "/a/%2e.", "/../"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t len;
        ck_assert_msg(target(bad[i], &len) == TB_E_BAD_REQUEST, "%s", bad[i]);
    }
}
END_TEST

START_TEST(a_target_is_bounded)
{
    char text[GUARD_TARGET_MAX + 2];
    size_t len;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    text[GUARD_TARGET_MAX] = 0;
    ck_assert_int_eq(target(text, &len), TB_OK);
    text[GUARD_TARGET_MAX] = 'a';
    text[GUARD_TARGET_MAX + 1] = 0;
    ck_assert_int_eq(target(text, &len), TB_E_URI_TOO_LONG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, methods_are_exact);
    tcase_add_test(tc, a_host_is_needed_by_1_1_alone);
    tcase_add_test(tc, names_are_tokens);
    tcase_add_test(tc, values_hold_no_control_bytes);
    tcase_add_test(tc, what_may_stand_once_stands_once);
    tcase_add_test(tc, values_lose_the_space_around_them);
    tcase_add_test(tc, a_length_is_digits);
    tcase_add_test(tc, framing_is_one_of_length_and_chunks);
    tcase_add_test(tc, lists_count_over_all_their_lines);
    tcase_add_test(tc, a_body_is_asked_for_where_there_is_one);
    tcase_add_test(tc, lines_and_bytes_are_bounded);
    tcase_add_test(tc, the_first_fault_stays);
    tcase_add_test(tc, targets_that_are_fine);
    tcase_add_test(tc, targets_that_are_not);
    tcase_add_test(tc, a_target_is_bounded);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
