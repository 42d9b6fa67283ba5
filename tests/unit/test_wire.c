/* The wire: what passes does not depend on how the bytes were cut; what is wrong stops right there. The
 * forms that are refused stand in tests/http/test_malformed.py. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/wire.h"

#define HEAD "GET / HTTP/1.1\r\nHost: x\r\n"

/* `good`: how many bytes pass; `heads`: of how many requests. */
static const struct {
    const char *bytes;
    size_t good;
    unsigned heads;
    tb_code code;
} rows[] = {
    {"\r\n\r\n" HEAD "\r\n" HEAD "\r\n", 4 + 2 * 27, 2, TB_OK},
    {HEAD "\r\n" HEAD, 27, 1, TB_OK},
    {HEAD "Content-Length: 3\r\n\r\nabc" HEAD "\r\n", 27 + 19 + 3 + 27, 2, TB_OK},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: v\r\n\r\n" HEAD "\r\n",
     27 + 28 + 5 + 5 + 3 + 6 + 2 + 27, 2, TB_OK},
    {HEAD "\r\nGET / HTTP/2.0\r\n\r\n", 27, 1, TB_E_BAD_REQUEST},
    {HEAD "Content-Length: 4, 4\r\n\r\n", 0, 0, TB_E_BAD_REQUEST},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nabX", 27 + 28 + 3 + 2, 1, TB_E_BAD_REQUEST},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nno\r\n", 27 + 28 + 3 + 2, 1, TB_E_BAD_REQUEST},
};

/* Shows the bytes in two pieces, the second behind what did not pass of the first. */
static size_t scan_cut(wire *w, char *bytes, size_t len, size_t cut)
{
    size_t good = wire_scan(w, bytes, cut);
    if (w->state != WIRE_BAD) good += wire_scan(w, bytes + good, len - good);
    return good;
}

START_TEST(a_cut_anywhere_changes_nothing)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t cut = 0, len = strlen(rows[i].bytes); cut <= len; cut++) {
            wire w = {0};
            char *bytes = strdup(rows[i].bytes);
            const size_t good = scan_cut(&w, bytes, len, cut);
            ck_assert_msg(good == rows[i].good && w.heads == rows[i].heads && w.code == rows[i].code,
                          "row %zu cut at %zu: %zu bytes, %u heads, %s", i, cut, good,
                          (unsigned)w.heads, tb_code_name(w.code));
            free(bytes);
        }
}
END_TEST

START_TEST(a_cookie_has_no_name_and_all_else_is_as_it_was)
{
    char bytes[] = HEAD "cOOkie: a=b\r\nCookies: c\r\n\r\n";
    wire w = {0};
    ck_assert_uint_eq(wire_scan(&w, bytes, sizeof bytes - 1), sizeof bytes - 1);
    ck_assert_str_eq(bytes, HEAD "xxxxxx: a=b\r\nCookies: c\r\n\r\n");
}
END_TEST

START_TEST(a_long_body_has_two_bytes_for_the_library)
{
    static const char *const lengths[][2] = {{"65537", "00002"}, {"000000000001000000", "000000000000000002"}};
    for (size_t i = 0; i < 2; i++) {
        char bytes[200], seen[200];
        wire w = {0};
        snprintf(bytes, sizeof bytes, HEAD "Content-Length: %s\r\n\r\n", lengths[i][0]);
        snprintf(seen, sizeof seen, HEAD "Content-Length: %s\r\n\r\n", lengths[i][1]);
        const size_t n = strlen(bytes);
        memcpy(bytes + n, HEAD, sizeof HEAD);
        ck_assert_uint_eq(wire_scan(&w, bytes, n + sizeof HEAD), n);
        ck_assert_mem_eq(bytes, seen, n);
        ck_assert_int_eq(w.state, WIRE_APART);
        ck_assert_uint_eq(w.length, strtoull(lengths[i][0], NULL, 10));
        ck_assert_uint_eq(w.left, w.length);
        ck_assert_uint_eq(wire_scan(&w, bytes + n, sizeof HEAD), 0);
        wire_stand_in(&w);
        w.left = 0;
        ck_assert_int_eq(w.state, WIRE_APART);
        wire_stand_in(&w);
        ck_assert_int_eq(w.state, WIRE_HEAD);
    }
}
END_TEST

START_TEST(a_body_of_64_kib_passes)
{
    static char bytes[100 + (64 << 10)];
    wire w = {0};
    const size_t n = (size_t)sprintf(bytes, HEAD "Content-Length: %d\r\n\r\n", 64 << 10);
    ck_assert_uint_eq(wire_scan(&w, bytes, sizeof bytes), n + (64 << 10));
    ck_assert_int_eq(w.state, WIRE_HEAD);
}
END_TEST

START_TEST(a_head_can_be_judged_when_it_is_whole_or_wrong)
{
    static const char whole[] = "\r\n" HEAD "\r\n";
    for (size_t n = 0; n < sizeof whole; n++)
        ck_assert_int_eq(wire_can_judge(whole, n), n == sizeof whole - 1);
    ck_assert(wire_can_judge("GET / HTTP/1.1\n", 15));
    char *endless = malloc(WIRE_HEAD_MAX);
    memset(endless, 'a', WIRE_HEAD_MAX);
    ck_assert(!wire_can_judge(endless, WIRE_HEAD_MAX - 1));
    ck_assert(wire_can_judge(endless, WIRE_HEAD_MAX));
    free(endless);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tc = tcase_create("scan");
    tcase_add_test(tc, a_cut_anywhere_changes_nothing);
    tcase_add_test(tc, a_cookie_has_no_name_and_all_else_is_as_it_was);
    tcase_add_test(tc, a_long_body_has_two_bytes_for_the_library);
    tcase_add_test(tc, a_body_of_64_kib_passes);
    tcase_add_test(tc, a_head_can_be_judged_when_it_is_whole_or_wrong);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
