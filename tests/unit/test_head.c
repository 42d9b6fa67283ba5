/* What a head says and what is refused, rule by rule; how it is answered is in tests/http/test_guard.py. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "http/front/head.h"

static head h;
static char text[2 * HEAD_MAX];
static size_t len;

static void begin(const char *line)
{
    len = (size_t)sprintf(text, "%s\r\n", line);
}

static void add_bytes(const char *name, const char *value, size_t value_len)
{
    len += (size_t)sprintf(text + len, "%s:", name);
    memcpy(text + len, value, value_len);
    len += value_len;
    len += (size_t)sprintf(text + len, "\r\n");
}

static void add(const char *name, const char *value)
{
    add_bytes(name, value, strlen(value));
}

static void start(void)
{
    begin("GET / HTTP/1.1");
    add("Host", "x");
}

/* Its code, once it is whole. */
static tb_code read_it(void)
{
    memcpy(text + len, "\r\n", 2);
    head_read(&h, text, len + 2);
    return h.code;
}

static tb_code one(const char *name, const char *value)
{
    start();
    add(name, value);
    return read_it();
}

START_TEST(a_host_is_needed_by_1_1_alone)
{
    begin("GET / HTTP/1.1");
    ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
    begin("GET / HTTP/1.0");
    ck_assert_int_eq(read_it(), TB_OK);
}
END_TEST

START_TEST(names_are_tokens)
{
    static const char *const bad[] = {"", "a b", "a\t", "a(", "a\x7f", "\xc3\xa4", "a\r", "a/b"};
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
        add_bytes("X-A", value, 3);
        bool fine = c == '\t' || (c >= 32 && c != 127);
        ck_assert_int_eq(read_it(), fine ? TB_OK : TB_E_BAD_REQUEST);
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
        ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
    }
    start();
    add("Accept-Encoding", "gzip");
    add("Accept-Encoding", "br");
    ck_assert_int_eq(read_it(), TB_OK);
    ck_assert_int_eq(memcmp(h.value[HEADER_ACCEPT_ENCODING].data, "gzip", 4), 0);
}
END_TEST

START_TEST(values_lose_the_space_around_them)
{
    ck_assert_int_eq(one("AccessKey", "\t abc \t "), TB_OK);
    ck_assert_uint_eq(h.value[HEADER_ACCESS_KEY].len, 3);
    ck_assert_mem_eq(h.value[HEADER_ACCESS_KEY].data, "abc", 3);
    ck_assert_int_eq(one("AccessKey", "  "), TB_OK);
    ck_assert_uint_eq(h.value[HEADER_ACCESS_KEY].len, 0);
    ck_assert_ptr_nonnull(h.value[HEADER_ACCESS_KEY].data);
}
END_TEST

START_TEST(a_length_is_digits)
{
    static const char *const bad[] = {"", "-1", "+1", "1 1", "1,1", "0x1", "1.0",
                                      "1000000000000000000", "18446744073709551616"};
    ck_assert_int_eq(one("Content-Length", "0"), TB_OK);
    ck_assert(!head_has_body(&h));
    ck_assert_int_eq(one("Content-Length", "999999999999999999"), TB_OK);
    ck_assert_uint_eq(h.content_length, 999999999999999999u);
    ck_assert(head_has_body(&h));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(one("Content-Length", bad[i]), TB_E_BAD_REQUEST);
}
END_TEST

START_TEST(framing_is_one_of_length_and_chunks)
{
    ck_assert_int_eq(one("Transfer-Encoding", "ChunKed"), TB_OK);
    ck_assert(h.chunked && head_has_body(&h));
    ck_assert_int_eq(one("Transfer-Encoding", "identity"), TB_E_BAD_REQUEST);
    ck_assert_int_eq(one("Transfer-Encoding", "gzip, chunked"), TB_E_BAD_REQUEST);
    ck_assert_int_eq(one("Transfer-Encoding", ""), TB_E_BAD_REQUEST);
    begin("GET / HTTP/1.0");
    add("Transfer-Encoding", "chunked");
    ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
    start();
    add("Content-Length", "0");
    add("Transfer-Encoding", "chunked");
    ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
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
        begin(said[i].http11 ? "GET / HTTP/1.1" : "GET / HTTP/1.0");
        add("Host", "x");
        add("Connection", said[i].first);
        add("connection", said[i].second);
        ck_assert_int_eq(read_it(), TB_OK);
        ck_assert_msg(h.last == said[i].last, "row %zu", i);
    }
}
END_TEST

START_TEST(a_body_is_asked_for_where_there_is_one)
{
    start();
    add("Expect", "100-Continue");
    ck_assert_int_eq(read_it(), TB_OK);
    ck_assert(!h.expect);
    for (int http11 = 0; http11 < 2; http11++) {
        begin(http11 ? "GET / HTTP/1.1" : "GET / HTTP/1.0");
        add("Host", "x");
        add("Content-Length", "1");
        add("Expect", "a, 100-CONTINUE");
        ck_assert_int_eq(read_it(), TB_OK);
        ck_assert_int_eq(h.expect, http11);
    }
}
END_TEST

START_TEST(lines_and_bytes_are_bounded)
{
    begin("GET / HTTP/1.0");
    for (int i = 0; i < HEAD_LINES_MAX; i++)
        add("X", "y");
    ck_assert_int_eq(read_it(), TB_OK);
    add("X", "y");
    ck_assert_int_eq(read_it(), TB_E_HEADERS_TOO_LARGE);
    static char value[HEAD_VALUES_MAX];
    memset(value, 'a', sizeof value);
    for (size_t more = 0; more < 2; more++) {
        begin("GET / HTTP/1.0");
        add_bytes("X", value, HEAD_VALUES_MAX - 1 + more);
        ck_assert_int_eq(read_it(), more ? TB_E_HEADERS_TOO_LARGE : TB_OK);
    }
}
END_TEST

START_TEST(the_first_fault_stays_and_the_targets_is_said)
{
    ck_assert_int_eq(one("a b", "x"), TB_E_BAD_REQUEST);
    const char *why = h.why;
    for (int i = 0; i < HEAD_LINES_MAX; i++)
        add("X", "y");
    ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
    ck_assert_str_eq(h.why, why);
    begin("GET /.. HTTP/1.1");
    add("a b", "x");
    ck_assert_int_eq(read_it(), TB_E_BAD_REQUEST);
    ck_assert_str_eq(h.why, "The path contains a dot segment.");
}
END_TEST

START_TEST(what_begins_no_request_is_told_apart)
{
    static const struct {
        const char *bytes, *why;
    } not_one[] = {{"\n", "A line of the request's head does not end in CRLF."},
                   {"GET / HTTP/1.1\r\nHost: x\n", "A line of the request's head does not end in CRLF."},
                   {"GET / HTTP/1.2\r\n\r\n", HEAD_NO_LINE},
                   {"GET /\r\n\r\n", HEAD_NO_LINE}};
    for (size_t i = 0; i < sizeof not_one / sizeof *not_one; i++) {
        ck_assert(!head_read(&h, not_one[i].bytes, strlen(not_one[i].bytes)));
        ck_assert_int_eq(h.code, TB_E_BAD_REQUEST);
        ck_assert_str_eq(h.why, not_one[i].why);
    }
}
END_TEST

static tb_code target(const char *text_of_it)
{
    static char line[2 * HEAD_TARGET_MAX];
    sprintf(line, "GET %s HTTP/1.0", text_of_it);
    begin(line);
    const tb_code code = read_it();
    ck_assert_int_eq(code == TB_OK, h.why == NULL);
    return code;
}

START_TEST(targets_that_are_fine)
{
    static const char *const fine[] = {"/", "/a", "/a?", "/a?b=c", "/a?/../%2F%2e%2e", "/...", "/.a/a./..a/a..",
                                       "/%41", "//", "/a%20b?x", "/?a?b"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        ck_assert_int_eq(target(fine[i]), TB_OK);
        ck_assert_uint_eq(h.target.len, strlen(fine[i]));
        ck_assert_mem_eq(h.target.data, fine[i], h.target.len);
    }
}
END_TEST

START_TEST(targets_that_are_not)
{
    static const char *const bad[] = {
        "", "a", "*", "http://x/", "?a", "/a b", "/a\tb", "/a#b", "/\x80", "/a\x7f", "/%", "/%4",
        "/%4g", "/%g4", "/a?%", "/%00", "/a?b=%00", "/%2f", "/%2Fa", "/%5c", "/.", "/..", "/./a",
        "/a/..", "/a/../b", "/%2e", "/%2E%2e/", "/.%2e/a", "/a/%2e.", "/../"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(target(bad[i]) == TB_E_BAD_REQUEST, "%s", bad[i]);
}
END_TEST

START_TEST(a_target_is_bounded)
{
    char path[HEAD_TARGET_MAX + 2];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[HEAD_TARGET_MAX] = 0;
    ck_assert_int_eq(target(path), TB_OK);
    path[HEAD_TARGET_MAX] = 'a';
    path[HEAD_TARGET_MAX + 1] = 0;
    ck_assert_int_eq(target(path), TB_E_URI_TOO_LONG);
}
END_TEST

/* Header by header, as the library reads the canonical form. */
START_TEST(what_was_written_is_restored)
{
    static const char *const encodings[] = {"Content-Length", "Transfer-Encoding"}, *const values[] = {"18", "chunked"};
    for (int i = 0; i < 2; i++) {
        char anew[HEAD_MAX];
        head back = {0};
        start();
        add("Cookie", " a=b ");
        add("If-None-Match", "");
        add("Expect", "100-continue");
        add(encodings[i], values[i]);
        ck_assert_int_eq(read_it(), TB_OK);
        const size_t n = head_write(&h, h.content_length, anew);
        ck_assert_uint_lt(n, len);
        for (char *line = strstr(anew, "\r\n") + 2, *end; (end = strstr(line, "\r\n")) < anew + n - 2; line = end + 2) {
            const char *colon = strchr(line, ':');
            head_restore(&back, line, (size_t)(colon - line), colon + 1, (size_t)(end - colon) - 1);
        }
        ck_assert_int_eq(back.chunked, i);
        ck_assert_uint_eq(back.content_length, i ? 0 : 18);
        for (unsigned k = 0; k < HEADER_OTHER; k++) {
            const bool is_framing = k == HEADER_CONTENT_LENGTH || k == HEADER_TRANSFER_ENCODING;
            ck_assert(!back.value[k].data == (is_framing || !h.value[k].data));
            if (back.value[k].data) ck_assert_uint_eq(back.value[k].len, h.value[k].len);
            if (back.value[k].len) ck_assert_mem_eq(back.value[k].data, h.value[k].data, h.value[k].len);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("head");
    TCase *tc = tcase_create("rules");
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
    tcase_add_test(tc, the_first_fault_stays_and_the_targets_is_said);
    tcase_add_test(tc, what_begins_no_request_is_told_apart);
    tcase_add_test(tc, targets_that_are_fine);
    tcase_add_test(tc, targets_that_are_not);
    tcase_add_test(tc, a_target_is_bounded);
    tcase_add_test(tc, what_was_written_is_restored);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
