/* Request framing: what the library gets is what was understood, written anew; it does not depend on how the bytes
 * were cut, and what is wrong stops right there. The forms that are refused stand in
 * tests/http/test_malformed.py, how spellings are answered in test_framing.py. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/front/framing.h"

#define LINE "GET / HTTP/1.1\r\n"
#define HEAD LINE "Host: x\r\n"
#define ANEW LINE "A:x\r\n"
#define KEYS "abcdefghijkl"

/* Of requests with HTTP/1.1: their headers beside Host, with what is behind; and what is made of it. */
static const struct {
    const char *sent, *passed;
    unsigned heads;
    framing_state state;
} rows[] = {
    {HEAD "\r\n", ANEW "\r\n", 1, FRAMING_HEAD},
    {"\r\n\r\n" HEAD "\r\n" "\r\n" HEAD "\r\n", ANEW "\r\n" ANEW "\r\n", 2, FRAMING_HEAD},
    {HEAD "\r\n" HEAD, ANEW "\r\n", 1, FRAMING_HEAD},
    /* headers: a letter each, values without blanks; what means nothing is left out */
    {HEAD "AccessKey:" KEYS " \t\r\nX-A: b\r\n\r\n", ANEW "B:" KEYS "\r\n\r\n", 1, FRAMING_HEAD},
    {HEAD "cOOkie:\t a=b; c\r\nCookies: c\r\n\r\n", ANEW "L:a=b; c\r\n\r\n", 1, FRAMING_HEAD},
    {HEAD "xxxxxx: a\r\nL: b\r\nB: c\r\n\r\n", ANEW "\r\n", 1, FRAMING_HEAD},
    {HEAD "X-Forwarded-For: a\r\nAccept: b\r\nx-forwarded-for: c\r\naccept: d\r\n\r\n", ANEW "I:b\r\nN:c\r\n\r\n", 1,
     FRAMING_HEAD},
    {HEAD "If-None-Match:\r\n\r\n", ANEW "K:\r\n\r\n", 1, FRAMING_HEAD},
    /* one framing, in one spelling */
    {HEAD "content-length:3 \r\n\r\nabc" HEAD "\r\n", ANEW "Content-Length:3\r\n\r\nabc" ANEW "\r\n", 2, FRAMING_HEAD},
    {HEAD "CONTENT-LENGTH: \t0003\t\r\n\r\nab", ANEW "Content-Length:3\r\n\r\nab", 1, FRAMING_BODY},
    {HEAD "Content-Length: 0\r\n\r\n" HEAD "\r\n", ANEW "\r\n" ANEW "\r\n", 2, FRAMING_HEAD},
    {HEAD "transfer-encoding:CHUNKed\t\r\n\r\n3;x=y\r\nabc\r\n00\r\nT: v\r\nU:\r\n\r\n" HEAD "\r\n",
     ANEW "Transfer-Encoding:chunked\r\n\r\n3\r\nabc\r\n00\r\n\r\n" ANEW "\r\n", 2, FRAMING_HEAD},
    /* a body is asked for where there is one */
    {HEAD "Expect: 100-Continue \r\n\r\n" HEAD "\r\n", ANEW "\r\n" ANEW "\r\n", 2, FRAMING_HEAD},
    {HEAD "Expect:100-continue\r\nContent-Length:0\r\n\r\n\r\n", ANEW "\r\n", 1, FRAMING_HEAD},
    {HEAD "eXpect: x, 100-Continue\t\r\nContent-Length: 1\r\n\r\n", ANEW "Content-Length:1\r\nExpect:100-continue\r\n\r\n", 1,
     FRAMING_BODY},
    {HEAD "Expect: more\r\nContent-Length: 1\r\n\r\na", ANEW "Content-Length:1\r\n\r\na", 1, FRAMING_HEAD},
    {"GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", "GET / HTTP/1.0\r\nContent-Length:1\r\n\r\n", 1,
     FRAMING_BODY},
    /* behind the last request nothing passes */
    {HEAD "Connection: x , CLOSE\r\n\r\n" HEAD "\r\n", ANEW "Connection:close\r\n\r\n", 1, FRAMING_END},
    {HEAD "Connection: keep-alive\r\nconnection: close\r\n\r\nno", ANEW "Connection:close\r\n\r\n", 1, FRAMING_END},
    {HEAD "Connection: closed\r\n\r\n", ANEW "\r\n", 1, FRAMING_HEAD},
    {HEAD "Connection: close\r\nContent-Length: 2\r\n\r\nabno", ANEW "Content-Length:2\r\nConnection:close\r\n\r\nab", 1, FRAMING_END},
    {HEAD "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nno",
     ANEW "Transfer-Encoding:chunked\r\nConnection:close\r\n\r\n0\r\n\r\n", 1, FRAMING_END},
    {"GET / HTTP/1.0\r\n\r\n" HEAD "\r\n", "GET / HTTP/1.0\r\n\r\n", 1, FRAMING_END},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" HEAD "\r\n", "GET / HTTP/1.0\r\nConnection:Keep-Alive\r\n\r\n" ANEW "\r\n", 2,
     FRAMING_HEAD},
    /* of what is refused the line passes, without a body, and it is the last */
    {HEAD "Content-Length : 9\r\n\r\n123456789" HEAD "\r\n", ANEW "\r\n", 1, FRAMING_END},
    {HEAD "Content-Length: 4, 4\r\nOrigin: o\r\n\r\n", ANEW "P:o\r\n\r\n", 1, FRAMING_END},
    {HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ANEW "\r\n", 1, FRAMING_END},
    {HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", ANEW "\r\n", 1, FRAMING_END},
    {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", 1, FRAMING_END},
    {HEAD "A: b\r\n c: d\r\n\r\n", ANEW "\r\n", 1, FRAMING_END},
    {LINE "\r\n", LINE "\r\n", 1, FRAMING_END},
    {"GET  /a b  HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a b  HTTP/1.1\r\nA:x\r\n\r\n", 1, FRAMING_END},
    /* what is no head, or no body, stops right there */
    {HEAD "\r\nGET / HTTP/2.0\r\n\r\n", ANEW "\r\n", 1, FRAMING_BAD},
    {"GET  HTTP/1.1\r\n\r\n", "", 0, FRAMING_BAD},
    {"GET   HTTP/1.1\r\n\r\n", "", 0, FRAMING_BAD},
    {HEAD "Accept: b\n\r\n", "", 0, FRAMING_BAD},
    {LINE "\n", "", 0, FRAMING_BAD},
    {"G(T / HTTP/1.1\r\n\r\n", "", 0, FRAMING_BAD},
    {"\rGET / HTTP/1.1\r\n\r\n", "", 0, FRAMING_BAD},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nabX", ANEW "Transfer-Encoding:chunked\r\n\r\n2\r\nab", 1, FRAMING_BAD},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nno\r\n", ANEW "Transfer-Encoding:chunked\r\n\r\n0\r\n", 1, FRAMING_BAD},
};

/* Shows `step` bytes more each time, behind those that were not read. What passes is returned, to be freed. */
static char *scan_in_steps(framing *w, const char *sent, size_t len, size_t step)
{
    char *bytes = malloc(len + 1), *passed = calloc(1, len + 1);
    size_t shown = 0, rest = 0, n = 0;
    while (shown < len && w->state < FRAMING_LARGE) {
        const size_t more = len - shown < step ? len - shown : step;
        memcpy(bytes + rest, sent + shown, more);
        shown += more;
        const framing_step s = framing_scan(w, bytes, rest + more);
        ck_assert_uint_le(s.passed, s.read);
        memcpy(passed + n, bytes, s.passed);
        n += s.passed;
        rest += more - s.read;
        memmove(bytes, bytes + s.read, rest);
    }
    free(bytes);
    return passed;
}

START_TEST(what_passes_is_written_anew_however_it_was_cut)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t len = strlen(rows[i].sent), step = len; step > 0; step--) {
            framing w = {0};
            char *passed = scan_in_steps(&w, rows[i].sent, len, step);
            ck_assert_msg(strcmp(passed, rows[i].passed) == 0 && w.heads == rows[i].heads && w.state == rows[i].state,
                          "row %zu, %zu bytes at once: %u heads, state %d, and passed is\n%s", i, step, (unsigned)w.heads,
                          (int)w.state, passed);
            ck_assert_int_eq(w.state == FRAMING_BAD, w.code != TB_OK && rows[i].state == FRAMING_BAD);
            free(passed);
        }
}
END_TEST

START_TEST(a_large_body_has_a_placeholder_of_two_bytes)
{
    static const char *const sent[] = {
        HEAD "Content-Length: 65537\r\n\r\n" HEAD,
        HEAD "Content-Length: 000000000001000000 \r\nExpect: 100-continue\r\nConnection: close\r\n\r\n" HEAD};
    static const char *const passed[] = {
        ANEW "Content-Length:2\r\n\r\n", ANEW "Content-Length:2\r\nExpect:100-continue\r\nConnection:close\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        framing w = {0};
        char *bytes = strdup(sent[i]);
        const size_t head_len = strlen(sent[i]) - strlen(HEAD);
        const framing_step s = framing_scan(&w, bytes, strlen(bytes));
        ck_assert_uint_eq(s.read, head_len);
        ck_assert_uint_eq(s.passed, strlen(passed[i]));
        ck_assert_mem_eq(bytes, passed[i], s.passed);
        ck_assert_int_eq(w.state, FRAMING_LARGE);
        ck_assert_uint_eq(w.length, i ? 1000000 : 65537);
        ck_assert_uint_eq(w.left, w.length);
        ck_assert_uint_eq(framing_scan(&w, bytes + head_len, strlen(HEAD)).read, 0);
        framing_placeholder(&w);
        w.left = 0;
        ck_assert_int_eq(w.state, FRAMING_LARGE);
        framing_placeholder(&w);
        ck_assert_int_eq(w.state, i ? FRAMING_END : FRAMING_HEAD);
        free(bytes);
    }
}
END_TEST

/* The longest value there is room for, and one byte more. */
START_TEST(the_largest_head_passes)
{
    for (size_t more = 0; more < 2; more++) {
        char *bytes = malloc(HEAD_MAX), *at = bytes;
        framing w = {0};
        at += sprintf(at, "GET /%0*d HTTP/1.1\r\nHost:x\r\nAccept:", HEAD_TARGET_MAX - 1, 0);
        const size_t value = HEAD_VALUES_MAX - strlen("HostxAccept") + more;
        memset(at, 'v', value);
        at += value;
        at += sprintf(at, "\r\n\r\n");
        const size_t len = (size_t)(at - bytes);
        const framing_step s = framing_scan(&w, bytes, len);
        ck_assert_uint_eq(s.read, len);
        ck_assert_uint_eq(s.passed, more ? HEAD_TARGET_MAX + strlen("GET  HTTP/1.1\r\nA:x\r\n\r\n")
                                         : len - strlen("HostAccept") + strlen("AI"));
        ck_assert_int_eq(w.state, more ? FRAMING_END : FRAMING_HEAD);
        ck_assert_int_eq(w.code, more ? TB_E_HEADERS_TOO_LARGE : TB_OK);
        free(bytes);
    }
}
END_TEST

START_TEST(a_head_without_an_end_is_too_large)
{
    static const struct {
        const char *begin;
        tb_code code;
    } heads[] = {{"GET /", TB_E_URI_TOO_LONG}, {HEAD "A:", TB_E_HEADERS_TOO_LARGE}, {"nonsense\r\n", TB_E_BAD_REQUEST}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char *bytes = malloc(HEAD_MAX);
        framing w = {0};
        memset(bytes, 'a', HEAD_MAX);
        memcpy(bytes, heads[i].begin, strlen(heads[i].begin));
        ck_assert_uint_eq(framing_scan(&w, bytes, HEAD_MAX - 1).read, 0);
        ck_assert_int_eq(w.state, FRAMING_HEAD);
        ck_assert_uint_eq(framing_scan(&w, bytes, HEAD_MAX).read, 0);
        ck_assert_int_eq(w.state, FRAMING_BAD);
        ck_assert_int_eq(w.code, heads[i].code);
        free(bytes);
    }
}
END_TEST

START_TEST(a_body_of_64_kib_passes)
{
    static char bytes[100 + (64 << 10)];
    framing w = {0};
    const size_t n = (size_t)sprintf(bytes, HEAD "Content-Length: %d\r\n\r\n", 64 << 10);
    ck_assert_uint_eq(framing_scan(&w, bytes, n + (64 << 10)).read, n + (64 << 10));
    ck_assert_int_eq(w.state, FRAMING_HEAD);
}
END_TEST

START_TEST(a_head_is_due_when_it_is_whole_or_wrong)
{
    static const char whole[] = "\r\n" HEAD "\r\n";
    for (size_t n = 0; n < sizeof whole; n++)
        ck_assert_int_eq(head_is_due(whole, n), n == sizeof whole - 1);
    ck_assert(head_is_due("GET / HTTP/1.1\n", 15));
    char *endless = malloc(HEAD_MAX);
    memset(endless, 'a', HEAD_MAX);
    ck_assert(!head_is_due(endless, HEAD_MAX - 1));
    ck_assert(head_is_due(endless, HEAD_MAX));
    free(endless);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("framing");
    TCase *tc = tcase_create("scan");
    tcase_add_test(tc, what_passes_is_written_anew_however_it_was_cut);
    tcase_add_test(tc, a_large_body_has_a_placeholder_of_two_bytes);
    tcase_add_test(tc, the_largest_head_passes);
    tcase_add_test(tc, a_head_without_an_end_is_too_large);
    tcase_add_test(tc, a_body_of_64_kib_passes);
    tcase_add_test(tc, a_head_is_due_when_it_is_whole_or_wrong);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
