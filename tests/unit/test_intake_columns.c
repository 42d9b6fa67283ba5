/* Described formats: what a description compiles to, what it refuses, and lines with hostile texts. */
#include "intake/columns.h"
#include "tollbook/requestlog.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000) /* 2026-11-18 */

static tb_log_layout layout;
static tb_known_hosts *hosts;
static tb_hit hit;
static tb_reject reject;
static tb_intake out;
static tb_logline logline;

static tb_text text(const char *s)
{
    return (tb_text){s, strlen(s)};
}

static void setup(void)
{
    tb_error err;
    ck_assert_int_eq(tb_known_hosts_new(&hosts, &err), TB_OK);
    ck_assert_int_eq(tb_known_hosts_add(hosts, "a.example", 9, 101, &err), TB_OK);
    ck_assert_int_eq(tb_known_hosts_add(hosts, "B.Example", 9, 102, &err), TB_OK);
    ck_assert_int_eq(tb_known_hosts_add(hosts, "two.example", 11, 101, &err), TB_OK);
    ck_assert_int_eq(tb_known_hosts_add(hosts, "TWO.example", 11, 102, &err), TB_OK);
}

static void teardown(void)
{
    tb_log_layout_release(&layout);
    tb_known_hosts_free(hosts);
}

static void use_with(const char *format, const char *map, int64_t zone, const char *region)
{
    tb_error err = {0};
    tb_log_layout_release(&layout);
    const tb_log_spec spec = {text(format), text(map), text(region), zone};
    ck_assert_msg(tb_log_layout_init(&layout, &spec, &err) == TB_OK, "%s", err.message);
    layout.now_ms = NOW_MS;
    layout.hosts = hosts;
}

static void use(const char *format)
{
    use_with(format, "", 0, "");
}

static void fails_with(const char *format, const char *map, int64_t zone, const char *field,
                       const char *says)
{
    tb_error err = {0};
    tb_log_layout bad;
    const tb_log_spec spec = {text(format), text(map), text(""), zone};
    ck_assert_int_eq(tb_log_layout_init(&bad, &spec, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, says) != NULL, "\"%s\" does not say \"%s\"", err.message, says);
}

static void fails(const char *format, const char *says)
{
    fails_with(format, "", 0, "format", says);
}

static void read_bytes(const char *bytes, size_t len)
{
    static char block[TB_LINE_MAX + 4096];
    memcpy(block, bytes, len);
    memset(block + len, '"', TB_INTAKE_SLACK);
    tb_span span;
    out = (tb_intake){.hits = &hit, .rejects = &reject, .spans = &span, .room = 1};
    ck_assert_uint_eq(tb_intake_lines(&layout, block, len, &out), len);
    if (out.n_hits) tb_logline_of(&layout, &hit, &span, &logline);
}

static void takes(const char *line)
{
    read_bytes(line, strlen(line));
    ck_assert_msg(out.n_hits == 1, "%s: %s at byte %u", line, tb_reject_text(reject.reason),
                  reject.byte);
}

static void refuses(const char *line, tb_reject_reason reason)
{
    read_bytes(line, strlen(line));
    ck_assert_msg(out.n_rejects == 1, "%s was taken", line);
    ck_assert_str_eq(tb_reject_name(reject.reason), tb_reject_name(reason));
}

static void is(tb_text got, const char *expected)
{
    ck_assert_msg(got.len == strlen(expected) && memcmp(got.data, expected, got.len) == 0,
                  "\"%.*s\" is not \"%s\"", (int)got.len, got.data, expected);
}

/* --- nginx --- */

#define MAIN                                                                                       \
    "nginx:'$remote_addr - $remote_user [$time_local] \"$request\" '\n '$status $bytes_sent '\n"   \
    "'\"$http_referer\" \"$http_user_agent\" $host $upstream_cache_status';"
#define LINE(user, request, referer, agent, host, cache)                                           \
    "192.0.2.1 - " user " [17/Nov/2026:10:05:03 +0200] \"" request "\" 206 512 \"" referer "\" \"" \
    agent "\" " host " " cache

START_TEST(a_log_format_is_read_as_nginx_reads_it)
{
    use(MAIN);
    takes(LINE("-", "GET /a?b HTTP/1.1", "-", "agent", "a.example", "HIT"));
    ck_assert_int_eq(hit.zone, 101);
    ck_assert_uint_eq(hit.bytes, 512);
    ck_assert_uint_eq(hit.status, 206);
    ck_assert_int_eq(hit.hour, 498584);
    ck_assert_uint_eq(hit.interval, 1); /* 05:03 */
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    ck_assert(hit.edge_len == 1 && *hit.edge == '-');
    is(logline.ip, "192.0.2.1");
    is(logline.path, "/a?b");
    is(logline.origin, "https://a.example");
    is(logline.agent, "agent");
    is(logline.referer, "");
    is(logline.cache, "HIT");
    use("nginx:escape=json \"$msec|$status|$bytes_sent|$http_host\"");
    takes("1794900000.250|200|7|B.EXAMPLE:8080");
    ck_assert_int_eq(hit.zone, 102);
    ck_assert_int_eq(logline.time_ms, 1794900000250);
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    use("nginx:${time_iso8601}\\t$status\\t$body_bytes_sent\\t$server_name");
    takes("2026-11-17T10:05:03+02:00\t200\t7\ta.example");
}
END_TEST

/* As it stands in the configuration: with its name, comments, words without quotes, and in double quotes. */
START_TEST(a_whole_directive_is_read_as_it_was_pasted)
{
    static const char *const same[] = {
        "nginx:$msec $status $bytes_sent \"$host\"",
        "nginx:'$msec $status ' '$bytes_sent \"$host\"'",
        "nginx:main '$msec $status ' '$bytes_sent \"$host\"'",
        "nginx: main '$msec $status '\n  '$bytes_sent \"$host\"' ;\n",
        "nginx:main \"$msec $status \" \"$bytes_sent \\\"$host\\\"\";",
        "nginx:main \"$msec $status $bytes_sent \\\"$host\\\"\"",
        "nginx:main escape=default '$msec $status ' '$bytes_sent \"$host\"'",
        "nginx:log_format main '$msec $status ' '$bytes_sent \"$host\"';",
        "nginx:\n\tlog_format\n\t'main' escape=default # ours\n '$msec $status ' # '$x'\r\n $bytes_sent ' \"$host\"'\n;\n# end",
        "nginx:log_format main \"$msec $status \" \"$bytes_sent \\\"$host\\\"\"",
        "apache:LogFormat \"%{sec}t %>s %O \\\"%V\\\"\" name",
        "apache:\n LogFormat\t\"%{sec}t %>s \\\n%O \\\"%V\\\"\"",
        "apache:logformat \"%{sec}t %>s %O \\\"%V\\\"\" \\\r\n  \"name\"\r\n",
        "apache:LogFormat '%{sec}t %>s %O \"%V\"' 'a name'",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        use(same[i]);
        takes("1794900000 200 7 \"a.example\"");
        ck_assert_msg(hit.zone == 101 && hit.bytes == 7, "%s", same[i]);
    }
    use("nginx:v1 \"$msec\" \"$status\" \"$bytes_sent\" \"$host\""); /* each in quotes of its own */
    takes("v1 \"1794900000\" \"200\" \"7\" \"a.example\"");
    fails("apache:LogFormat \"%{sec}t %>s %O %V", "directive is cut off");
    fails("apache:LogFormat \"%{sec}t %>s %O %V\" \"name", "directive is cut off");
    fails("apache:LogFormat \"%{sec}t %>s %O %V\" a\nCustomLog b", "or something follows it");
    fails("nginx:log_format", "no column for the time");
    fails("nginx:log_format main", "directive is cut off");
    fails("nginx:log_format main '$msec $status $bytes_sent", "directive is cut off");
    fails("nginx:log_format main '$msec $status $bytes_sent $host'; access_log x;", "or something follows it");
}
END_TEST

START_TEST(texts_of_a_client_cost_neither_zone_nor_bytes)
{
    static const char *const hostile[] = {
        "", " ", "x y", "a [17/Nov/2026:10:05:03 +0200]", "|", "\\x22 200 9 \\x22", "\\\\", "\\\"",
        "a\\\" 200 99 \\\"b", "\\x09", " 206 512 ", "] ", "\xff\xfe", "$status", "-", "' ; -- "};
    char line[2048];
    use(MAIN);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const char *h = hostile[i];
        snprintf(line, sizeof line, LINE("%s", "%s", "%s", "%s", "a.example", "MISS"), h, h, h, h);
        takes(line);
        ck_assert(hit.zone == 101 && hit.bytes == 512 && hit.status == 206);
        ck_assert_uint_eq(hit.cache, TB_CACHE_OTHER);
        ck_assert_uint_eq(out.n_ambiguous, 0);
        is(logline.agent, strcmp(h, "-") == 0 ? "" : h);
    }
}
END_TEST

/* Apache writes an empty user name as two quotes, whatever stands around it. */
START_TEST(an_empty_user_name_is_told_from_quotes)
{
    static const struct {
        const char *format, *line;
    } cases[] = {
        {"%{sec}t %v %u \"%r\" %>s %O", "1794900000 a.example %s \"GET / HTTP/1.1\" 206 512"},
        {"%{sec}t %V \"%u\" %>s %O", "1794900000 a.example \"%s\" 206 512"},
        {"\"%u\" \"%r\" \"%V\" \"%{sec}t\" \"%>s\" \"%O\"",
         "\"%s\" \"GET / HTTP/1.1\" \"a.example\" \"1794900000\" \"206\" \"512\""},
        {"%{Referer}i \"%u\" \"%{User-Agent}i\" \"%V\" \"%{sec}t\" %>s %O",
         "x y \"%s\" \"\" \"a.example\" \"1794900000\" 206 512"},
        {"%{sec}t %>s %O \"%v %u\" \"%r\"", "1794900000 206 512 \"a.example %s\" \"GET / HTTP/1.1\""},
        {"%{sec}t %>s %O %r %u \"%{X-Cache}o\" %V", "1794900000 206 512 GET / HTTP/1.1 %s \"HIT\" a.example"},
        {"%{sec}t %>s %O %r %u \"%{X-Cache}o\" %V", "1794900000 206 512 GET / HTTP/1.1 %s \"\" a.example"},
        {"%{sec}t %>s %O \"%V\" %u", "1794900000 206 512 \"a.example\" %s"},
        {"%{sec}t %>s %O %V \"%u\"", "1794900000 206 512 a.example \"%s\""},
        {"{\"t\":%{sec}t,\"h\":\"%V\",\"u\":\"%u\",\"s\":\"%>s\",\"b\":\"%O\"}",
         "{\"t\":1794900000,\"h\":\"a.example\",\"u\":\"%s\",\"s\":\"206\",\"b\":\"512\"}"},
    };
    static const char *const users[] = {"\"\"", "-", "bob", "b\\\"\\\"", "\\\"", "a b"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char format[256], line[256];
        snprintf(format, sizeof format, "apache:%s", cases[i].format);
        use(format);
        for (size_t u = 0; u < sizeof users / sizeof *users; u++) {
            const char *at = strstr(cases[i].line, "%s");
            snprintf(line, sizeof line, "%.*s%s%s", (int)(at - cases[i].line), cases[i].line, users[u], at + 2);
            takes(line);
            ck_assert_msg(hit.zone == 101 && hit.bytes == 512 && hit.status == 206, "%s", line);
            const tb_cache cache = !strstr(format, "X-Cache")  ? TB_CACHE_UNKNOWN
                                   : strstr(line, "HIT") ? TB_CACHE_SERVED
                                                         : TB_CACHE_OTHER;
            ck_assert_msg(hit.cache == cache, "%s: %d", line, hit.cache);
        }
    }
    use("apache:%{sec}t %V \"%{User-Agent}i\" %>s %O");
    refuses("1794900000 a.example \"\"\"\" 206 512", TB_REJECT_FORMAT);
}
END_TEST

START_TEST(one_text_in_the_middle_may_hold_its_separators)
{
    use("nginx:escape=none '$msec|$status|$bytes_sent|$http_user_agent|$server_name|$tollbook_region'");
    takes("1794900000.250|200|7|a|b\"|200|9|x|a.example|DE");
    ck_assert(hit.bytes == 7 && hit.zone == 101);
    is(logline.agent, "a|b\"|200|9|x");
    is(logline.edge, "DE");
    read_bytes("1794900000.250|200|7|a\0|b|a.example|DE", 38);
    ck_assert_uint_eq(out.n_hits, 1);
    ck_assert_uint_eq(logline.agent.len, 4);
    refuses("1794900000.250|200|7|a.example", TB_REJECT_FORMAT);
    refuses("1794900000.250|200|7|x|a.example|D E", TB_REJECT_FORMAT);
}
END_TEST

START_TEST(two_texts_that_cannot_be_told_apart_are_unknown)
{
    use("nginx:escape=none '$msec|$status|$bytes_sent|$http_referer|$http_user_agent|$server_name'");
    takes("1794900000.250|200|7|ref|agent|a.example");
    is(logline.referer, "ref");
    is(logline.agent, "agent");
    ck_assert_uint_eq(out.n_ambiguous, 0);
    takes("1794900000.250|200|7|ref|x|agent|a.example");
    ck_assert_uint_eq(out.n_ambiguous, 1);
    is(logline.referer, "");
    is(logline.agent, "");
    ck_assert(hit.bytes == 7 && hit.zone == 101 && hit.status == 200);
}
END_TEST

START_TEST(a_count_that_a_client_could_write_is_refused_in_the_description)
{
    fails("nginx:$http_referer $status $http_user_agent $msec $bytes_sent $host",
          "$status at byte 15 stands between $http_referer and $http_user_agent");
    fails("nginx:escape=none '$msec \"$request\" $status $bytes_sent \"$http_user_agent\" $host'",
          "$status at byte 18 stands between $request and $http_user_agent");
    fails("nginx:$msec $status $bytes_sent \"$http_referer$http_user_agent\" $host",
          "Nothing stands between $http_referer and $http_user_agent");
    use("nginx:$msec $status $bytes_sent \"$scheme://$host$request_uri\"");
    takes("1794900000.250 200 7 \"https://a.example/x y\"");
    is(logline.origin, "https://a.example");
    is(logline.path, "/x y");
    takes("1794900000.250 400 7 \"https://a.example-\"");
    ck_assert_int_eq(hit.zone, 101);
}
END_TEST

/* What nginx makes or checks itself is no text of a client's: columns beside it are told apart. */
START_TEST(what_nginx_bounds_is_bounded)
{
    static const struct {
        const char *name, *value;
    } bounded[] = {{"server_protocol", "HTTP/1.1"}, {"scheme", "https"}, {"request_method", "GET"}, {"https", "on"},
                   {"http2", "h2c"}, {"request_completion", ""}, {"limit_req_status", "PASSED"},
                   {"proxy_protocol_addr", "2001:db8::1"}, {"realip_remote_port", "-"}, {"ssl_session_reused", "."},
                   {"tcpinfo_rtt", "1200"}, {"limit_rate", "0"}, {"ssl_curve", "X25519"}};
    char format[256], line[256];
    for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
        snprintf(format, sizeof format, "nginx:$%s $status $msec $bytes_sent $host $http_user_agent $%s", bounded[i].name,
                 bounded[i].name);
        snprintf(line, sizeof line, "%s 200 1794900000.250 7 a.example x 500 y z %s", bounded[i].value, bounded[i].value);
        use(format);
        takes(line);
        ck_assert_uint_eq(hit.status, 200);
        is(logline.agent, "x 500 y z");
        snprintf(format, sizeof format, "nginx:$http_x $%s $status $msec $bytes_sent \"$host\"", bounded[i].name);
        snprintf(line, sizeof line, "x y %s 200 1794900000.250 7 \"a.example\"", bounded[i].value);
        use(format);
        takes(line);
        ck_assert_uint_eq(hit.bytes, 7);
    }
    use("nginx:$http_x|$upstream_response_time|$upstream_status|$status|$msec|$bytes_sent|\"$host\"");
    takes("x|y|0.001, 0.002 : -|200, 502|200|1794900000.250|7|\"a.example\"");
    ck_assert_uint_eq(hit.status, 200);
    fails("nginx:$http_x $status $msec $bytes_sent $host $ssl_server_name", "stands between $http_x and $ssl_server_name");
}
END_TEST

START_TEST(a_log_format_that_cannot_be_compiled_says_where)
{
    fails("nginx:$msec $status $", "At byte 15 a \"$\" begins no variable");
    fails("nginx:$msec ${status $bytes_sent", "At byte 7 a \"$\" begins no variable");
    fails("nginx:$status $bytes_sent $host", "no column for the time: $msec, $time_iso8601");
    fails("nginx:$msec $bytes_sent $host", "no column for the status: $status");
    fails("nginx:$msec $status $host", "no column for the bytes sent: $bytes_sent or");
    fails("nginx:escape=xml '$msec'", "escape=xml is not understood");
    fails_with("nginx:$msec $status $bytes_sent", "", 0, "zone", "neither a pull zone nor a host");
    fails("xml", "\"xml\" is no format");
    tb_error err;
    tb_log_layout bad;
    const tb_log_spec nul = {.format = {"nginx:$msec $status $bytes_sent $x\0y", 37}, .zone = 1};
    ck_assert_int_eq(tb_log_layout_init(&bad, &nul, &err), TB_E_VALIDATION);
    use_with("nginx:$msec $status $bytes_sent", "", 7, "NY");
    takes("1794900000 200 7");
    ck_assert(hit.zone == 7 && hit.edge_len == 2);
}
END_TEST

START_TEST(values_that_are_wrong_name_the_reason)
{
    use("nginx:$msec $status $bytes_sent $host $tollbook_region");
    refuses("x 200 7 a.example DE", TB_REJECT_TIME);
    refuses("99999999999999999999 200 7 a.example DE", TB_REJECT_TIME);
    refuses("1394900000 200 7 a.example DE", TB_REJECT_TOO_OLD);
    refuses("1994900000 200 7 a.example DE", TB_REJECT_TOO_NEW);
    refuses("1794900000 99 7 a.example DE", TB_REJECT_STATUS);
    refuses("1794900000 600 7 a.example DE", TB_REJECT_STATUS);
    refuses("1794900000 200 17592186044417 a.example DE", TB_REJECT_BYTES);
    refuses("1794900000 200 7 nobody.example DE", TB_REJECT_HOST);
    ck_assert(reject.name_len == 14 && memcmp(reject.name, "nobody.example", 14) == 0);
    ck_assert_uint_eq(reject.byte, 18);
    refuses("1794900000 200 7 two.example DE", TB_REJECT_HOST);
    refuses("1794900000 200 7 a.example SEVENTEEN-LETTERS", TB_REJECT_EDGE);
    refuses("\n", TB_REJECT_BLANK);
    takes("1794900000 200 - a.example -");
    ck_assert_uint_eq(hit.bytes, 0);
}
END_TEST

/* --- Apache --- */

START_TEST(a_log_format_directive_is_read_as_apache_reads_it)
{
    use("vcombined");
    takes("A.example:443 192.0.2.1 - - [17/Nov/2026:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" "
          "\"x \\\" y\"");
    ck_assert_int_eq(hit.zone, 101);
    is(logline.agent, "x \\\" y");
    takes("b.example:80 192.0.2.1 - \"\" [17/Nov/2026:10:05:03 +0000] \"-\" 408 - \"-\" \"-\"");
    ck_assert(hit.zone == 102 && hit.bytes == 0 && hit.status == 408);
    takes("b.example:80 192.0.2.1 - a b [x] [17/Nov/2026:10:05:03 +0000] \"-\" 408 3 \"-\" \"-\"");
    ck_assert_uint_eq(hit.bytes, 3);
    use("apache:\"%{Host}i %200,304>s %!400s %B %O %{%Y-%m-%dT%H:%M:%S}t.%{msec_frac}t%{%z}t %D "
        "\\\"%{User-agent}i\\\" %{Varnish:hitmiss}x 5%%\" name");
    takes("a.example 200 - 7 9 2026-11-17T10:05:03.250+0000 12 \"x\" hit 5%");
    ck_assert_uint_eq(hit.bytes, 9);
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    ck_assert_int_eq(logline.time_ms % 1000, 250);
    use("apache:%v %{usec}t %>s %b \"%U%q\" %{X-Cache}o");
    takes("a.example 1794900000250000 200 7 \"/x?y\" HIT from cache.example");
    is(logline.path, "/x?y");
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
}
END_TEST

START_TEST(a_directive_that_is_not_understood_is_named)
{
    fails("apache:%v %t %>s %O %Z", "%Z at byte 14 is no directive");
    fails("apache:%v %{%H:%M}t %>s %O", "%{%H:%M}t at byte 4 is a time that cannot be read");
    fails("apache:%v %t %>s %O %{Referer", "The directive at byte 14 has no end");
    fails("apache:%v %t %>s %O %", "The directive at byte 14 has no end");
    fails("apache:%v %t %>s", "no column for the bytes sent: %O, %B or %b");
}
END_TEST

/* --- JSON --- */

START_TEST(a_map_finds_its_fields_wherever_they_stand)
{
    use_with("json", "zone=req.host,time=ts,status=code,bytes=size,cache=cs,agent=req.ua", 0, "");
    takes("{\"ts\":1794900000.25,\"req\":{\"x\":[{\"host\":\"no\"}],\"host\":\"a.example\",\"ua\":[\"u\",\"v\"]},"
          "\"code\":200,\"size\":\"7\",\"cs\":\"hit\"}");
    ck_assert(hit.zone == 101 && hit.bytes == 7 && hit.status == 200);
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    is(logline.agent, "u");
    takes(" { \"size\" : 7 , \"code\":\"200\", \"ts\":\"2026-11-17T10:05:03.5Z\",\"host\":\"b.example\","
          "\"req\":{\"host\":\"a.example\"}, \"cs\":null } ");
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    takes("{\"size\":7,\"code\":200,\"ts\":1794900000250,\"req\":{\"host\":\"102\"},\"cs\":\"\"}");
    ck_assert_int_eq(hit.zone, 102);
    ck_assert_uint_eq(hit.cache, TB_CACHE_OTHER);
}
END_TEST

START_TEST(texts_in_json_end_where_their_quote_does)
{
    use_with("json", "host=h,time=t,status=s,bytes=b,agent=a", 0, "");
    takes("{\"a\":\"x\\\",\\\"b\\\":9,\\\\\",\"o\":{\"a\":[\"}\",{\"]\":\"[\"}]},\"h\":\"a.example\",\"t\":1794900000,"
          "\"s\":200,\"b\":7}");
    ck_assert_uint_eq(hit.bytes, 7);
    read_bytes("{\"a\":\"\0\t\",\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}", 55);
    ck_assert_uint_eq(out.n_hits, 1);
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7", TB_REJECT_FORMAT);
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}}", TB_REJECT_FORMAT);
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7,}", TB_REJECT_FORMAT);
    refuses("{\"h\":\"a.example\\\",\"t\":1794900000,\"s\":200,\"b\":7}", TB_REJECT_FORMAT);
    refuses("[]", TB_REJECT_FORMAT);
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200}", TB_REJECT_BYTES);
    refuses("{\"h\":\"a.example\",\"t\":{},\"s\":200,\"b\":7}", TB_REJECT_TIME);
    refuses("{\"t\":1794900000,\"s\":200,\"b\":7}", TB_REJECT_HOST);
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":-7}", TB_REJECT_BYTES);
}
END_TEST

/* Lines of one shape, each with something that the one before had not, in one call. */
START_TEST(objects_of_one_shape_are_read_as_if_each_stood_alone)
{
    static const char lines[] =
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":1,\"c\":\"HIT\",\"x\":{\"y\":[1]},\"l\":[\"u\"]}\n"
        "{\"t\":1794900000,\"h\":\"B.example\",\"s\":304,\"b\":22,\"c\":\"\\\"HIT\",\"x\":{},\"l\":[\"\"]}\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":3,\"c\":null,\"x\":{\"}\":\"{\"},\"l\":[\"u\"]}\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":4,\"c\":\"HIT\",\"x\":{},\"l\":[\"u\"]}x\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":\"5\",\"c\":\"HIT\",\"x\":{},\"l\":[\"u\"]}\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":-,\"c\":\"HIT\",\"x\":{},\"l\":[\"u\"]}\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":,\"c\":\"HIT\",\"x\":{},\"l\":[\"u\"]}\n"
        "{\"t\":1794900000,\"h\":\"a.example\",\"s\":200,\"b\":8,\"c\":\"HIT\",\"x\":{},\"l\":[\"u\"}\n";
    static char block[sizeof lines + TB_INTAKE_SLACK];
    tb_hit hits[8];
    tb_reject rejects[8];
    memcpy(block, lines, sizeof lines);
    use_with("json", "host=h,time=t,status=s,bytes=b,cache=c,agent=l", 0, "");
    out = (tb_intake){.hits = hits, .rejects = rejects, .room = 8};
    tb_intake_lines(&layout, block, sizeof lines - 1, &out);
    ck_assert(out.n_hits == 5 && out.n_rejects == 3);
    const uint64_t bytes[] = {1, 22, 3, 5, 0}, refused[] = {4, 7, 8};
    const tb_cache caches[] = {TB_CACHE_SERVED, TB_CACHE_OTHER, TB_CACHE_UNKNOWN, TB_CACHE_SERVED,
                               TB_CACHE_SERVED};
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(hits[i].bytes, bytes[i]);
        ck_assert_uint_eq(hits[i].cache, caches[i]);
        ck_assert_int_eq(hits[i].zone, i == 1 ? 102 : 101);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(rejects[i].line, refused[i]);
}
END_TEST

START_TEST(a_map_may_say_what_a_cached_answer_says)
{
    use_with("json", "time=t,status=s,bytes=b,cache=r.hit", 1, "");
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{\"hit\":true}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    use_with("json", "time=t,status=s,bytes=b,cache=r.hit:true", 1, "");
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{\"hit\":true}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{\"hit\":false}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_OTHER);
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{\"hit\":\"TRUE\"}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    takes("{\"t\":1794900000,\"s\":200,\"b\":7,\"r\":{\"hit\":null}}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    use_with("json", "fastly,cache=c:1", 1, "");
    takes("{\"timestamp\":1794900000,\"response_status\":200,\"response_body_size\":7,\"c\":1,\"response_state\":\"x\"}");
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    fails_with("json", "time=t,status=s,bytes=b,cache=c:", 1, "map", "\"c:\" at byte 31 of the map has no value");
}
END_TEST

START_TEST(a_map_that_cannot_be_compiled_says_where)
{
    fails_with("json", "", 0, "map", "JSON lines need a map");
    fails_with("json", "caddyy", 0, "map", "\"caddyy\" at byte 1 of the map is not understood: a preset");
    fails_with("json", "host=h,tine=t", 0, "map", "\"tine\" at byte 8");
    fails_with("json", "host=h,time=t,time=u", 0, "map", "names time twice");
    fails_with("json", "host=h,time=a..b", 0, "map", "has an empty key");
    fails_with("json", "host=h,status=s,bytes=b", 0, "map", "which field is the time: time=THEIRS");
    fails_with("json", "host=h,time=a.b.c.d.e.f.g.h.i,status=s,bytes=b", 0, "map", "8 deep");
    fails_with("json", "time=t,status=s,bytes=b", 0, "zone", "neither");
    fails_with("nginx:$msec", "caddy", 0, "map", "Only format json has a map");
    use_with("json", "fastly,region=pop", 0, "");
    takes("{\"timestamp\":\"2026-11-17T10:05:03+0000\",\"host\":\"a.example\",\"response_status\":200,"
          "\"response_body_size\":7,\"response_state\":\"HIT-CLUSTER\",\"pop\":\"FRA\"}");
    ck_assert(hit.edge_len == 3 && hit.cache == TB_CACHE_SERVED);
}
END_TEST

/* The zone, or the refusal. */
START_TEST(where_the_zones_own_column_says_nothing_the_host_does)
{
    use("nginx:$msec $status $bytes_sent \"$host\" \"$tollbook_zone\"");
    takes("1794900000 200 7 \"a.example\" \"102\"");
    ck_assert_int_eq(hit.zone, 102);
    takes("1794900000 200 7 \"a.example\" \"\"");
    ck_assert_int_eq(hit.zone, 101);
    takes("1794900000 200 7 \"a.example\" \"-\"");
    ck_assert_int_eq(hit.zone, 101);
    refuses("1794900000 200 7 \"a.example\" \"0\"", TB_REJECT_ZONE);
    refuses("1794900000 200 7 \"a.example\" \"x\"", TB_REJECT_ZONE);
    refuses("1794900000 200 7 \"no.example\" \"-\"", TB_REJECT_HOST);
    ck_assert_uint_eq(reject.name_len, 10);
    use("nginx:$msec $status $bytes_sent $tollbook_zone");
    refuses("1794900000 200 7 -", TB_REJECT_ZONE);
    use_with("json", "zone=z,host=h,time=t,status=s,bytes=b", 0, "");
    takes("{\"z\":\"b.example\",\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}");
    ck_assert_int_eq(hit.zone, 102);
    takes("{\"z\":\"\",\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}");
    ck_assert_int_eq(hit.zone, 101);
    takes("{\"z\":null,\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}");
    takes("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}");
    refuses("{\"z\":\"no.example\",\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}", TB_REJECT_HOST);
}
END_TEST

START_TEST(a_number_of_json_is_taken_where_it_is_whole)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } all[] = {{"7", 7}, {"1e3", 1000}, {"10.0", 10}, {"1.5e2", 150}, {"1.5E+2", 150}, {"0.0", 0}, {"0e9999", 0},
               {"1500e-2", 15}, {"\"1.0\"", 1}, {"17592186044416.000", 17592186044416}, {"1.7592186044416e13", 17592186044416},
               {"100000000000000000000e-18", 100}, {"0.0000001e7", 1}, {"1e0", 1}, {"1.5", -1}, {"1e-1", -1},
               {"1.7592186044417e13", -1}, {"1e14", -1}, {"1e9999", -1}, {"1e99999", -1}, {"1e", -1}, {"1e+", -1},
               {"1.", -1}, {"-1.0", -1}, {"-1", -1}, {"1e3x", -1}, {"0x10", -1}, {"NaN", -1}, {"1.0e-9999", -1},
               {"0.00000000000000000000000000000000000000000000000000000000001", -1}, {"true", -1}};
    char line[256];
    use_with("json", "host=h,time=t,status=s,bytes=b", 0, "");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(line, sizeof line, "{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":%s}", all[i].text);
        if (all[i].value < 0) refuses(line, TB_REJECT_BYTES);
        else takes(line);
        ck_assert_msg(all[i].value < 0 || hit.bytes == (uint64_t)all[i].value, "%s: %llu", all[i].text,
                      (unsigned long long)hit.bytes);
    }
    takes("{\"h\":\"a.example\",\"t\":1.794900000250e9,\"s\":2e2,\"b\":7}");
    ck_assert(hit.status == 200 && logline.time_ms == INT64_C(1794900000250));
    is(logline.status, "200");
    takes("{\"h\":\"a.example\",\"t\":1.79490000025e18,\"s\":404.0,\"b\":7}");
    ck_assert(hit.status == 404 && logline.time_ms == INT64_C(1794900000250));
    takes("{\"h\":\"a.example\",\"t\":1794900000250.125,\"s\":404.0,\"b\":7}"); /* Caddy's unix_milli_float */
    ck_assert_int_eq(logline.time_ms, INT64_C(1794900000250));
    refuses("{\"h\":\"a.example\",\"t\":1794900000,\"s\":200.5,\"b\":7}", TB_REJECT_STATUS);
    refuses("{\"h\":\"a.example\",\"t\":1e1,\"s\":200,\"b\":7}", TB_REJECT_TOO_OLD);
    use_with("json", "zone=z,time=t,status=s,bytes=b", 0, "");
    takes("{\"z\":1.01e2,\"t\":1794900000,\"s\":200,\"b\":7}");
    ck_assert_int_eq(hit.zone, 101);
    use("nginx:$msec $status $bytes_sent $host"); /* no server writes it so */
    refuses("1794900000 200 1e3 a.example", TB_REJECT_BYTES);
}
END_TEST

/* Some writers escape more than they must: .NET '+', PHP '/', Python what is not ASCII. */
START_TEST(a_time_and_a_host_of_json_are_read_without_their_escapes)
{
    use_with("json", "host=h,time=t,status=s,bytes=b", 0, "");
    takes("{\"h\":\"a.example\",\"t\":\"2026-11-17T07:20:00\\u002B00:00\",\"s\":200,\"b\":7}");
    ck_assert_int_eq(logline.time_ms, INT64_C(1794900000000));
    takes("{\"h\":\"a.example\",\"t\":\"17\\/Nov\\/2026:07:20:00 +0000\",\"s\":200,\"b\":7}");
    ck_assert_int_eq(logline.time_ms, INT64_C(1794900000000));
    takes("{\"h\":\"\\u0061.EXAMPLE:443\",\"t\":1794900000,\"s\":200,\"b\":7}");
    ck_assert_int_eq(hit.zone, 101);
    takes("{\"h\":\"\\u0061.EXAMPLE:443\",\"t\":1794900000,\"s\":200,\"b\":7}"); /* by its shape */
    ck_assert_int_eq(hit.zone, 101);
    refuses("{\"h\":\"\\u006.example\",\"t\":1794900000,\"s\":200,\"b\":7}", TB_REJECT_HOST);
    refuses("{\"h\":\"a.example\\ud800\",\"t\":1794900000,\"s\":200,\"b\":7}", TB_REJECT_HOST);
    refuses("{\"h\":\"a.example\",\"t\":\"2026-11-17T07:20:00\\u002D00:0\",\"s\":200,\"b\":7}", TB_REJECT_TIME);
    use("nginx:$msec $status $bytes_sent \"$host\""); /* there a backslash is itself */
    refuses("1794900000 200 7 \"\\u0061.example\"", TB_REJECT_HOST);
}
END_TEST

START_TEST(a_name_with_dots_is_the_path_that_it_looks_like)
{
    use_with("json", "host=http.host,time=ts,status=http.res.status,bytes=http.res.bytes", 0, "");
    static const char *const all[] = {
        "{\"ts\":1794900000,\"http.host\":\"a.example\",\"http.res.status\":206,\"http.res.bytes\":512}",
        "{\"http.res.bytes\":512,\"http\":{\"host\":\"a.example\",\"res.status\":206},\"ts\":1794900000}",
        "{\"http.res\":{\"status\":206,\"bytes\":512},\"http\":{\"host\":\"a.example\"},\"ts\":1794900000,\"http.x\":1}",
        "{\"http.\":1,\".host\":2,\"http..host\":3,\"ts.\":4,\".\":5,\"http.host\":\"a.example\",\"http.res.status\":206,"
        "\"ts\":1794900000,\"http.res.bytes\":512,\"http.res.bytes.x\":7}"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int again = 0; again < 2; again++) {
            takes(all[i]);
            ck_assert(hit.zone == 101 && hit.bytes == 512 && hit.status == 206);
        }
}
END_TEST

/* Its bytes went out, and are billed. */
START_TEST(a_request_without_an_answer_counts_as_one_whose_client_was_gone)
{
    static const char *const none[] = {"000", "009", "0", "-1", "-"};
    char line[256];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        use("nginx:$msec $status $bytes_sent $host");
        snprintf(line, sizeof line, "1794900000 %s 7 a.example", none[i]);
        takes(line);
        ck_assert(hit.status == 499 && hit.bytes == 7);
        is(logline.status, "499");
        use_with("json", "host=h,time=t,status=s,bytes=b", 0, "");
        snprintf(line, sizeof line, "{\"h\":\"a.example\",\"t\":1794900000,\"s\":\"%s\",\"b\":7}", none[i]);
        takes(line);
        ck_assert_uint_eq(hit.status, 499);
        use_with("combined", "", 7, "");
        snprintf(line, sizeof line, "192.0.2.1 - - [17/Nov/2026:10:05:03 +0000] \"-\" %s 7 \"-\" \"-\"", none[i]);
        takes(line);
        ck_assert_uint_eq(hit.status, 499);
        is(logline.status, "499");
        use("pipe");
        snprintf(line, sizeof line, "HIT|%s|1794900000000|7|101|-|-|-|DE|-|-|-", none[i]);
        takes(line);
        ck_assert(hit.status == 499 && hit.bytes == 7);
        is(logline.status, "499");
    }
    static const char *const wrong[] = {"00", "001", "099", "600", "-2", "--", "+1", "2000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        use("pipe");
        snprintf(line, sizeof line, "HIT|%s|1794900000000|7|101|-|-|-|DE|-|-|-", wrong[i]);
        refuses(line, TB_REJECT_STATUS);
    }
}
END_TEST

/* What is refused is kept as it stands, and its places count from the line's first byte. */
START_TEST(a_byte_order_mark_is_passed_over)
{
#define MARK "\xEF\xBB\xBF"
    use("pipe");
    takes(MARK "HIT|200|1794900000000|7|101|-|-|-|DE|-|-|-");
    ck_assert(hit.bytes == 7 && hit.cache == TB_CACHE_SERVED);
    is(logline.cache, "HIT");
    refuses(MARK "HIT|2000|1794900000000|7|101|-|-|-|DE|-|-|-", TB_REJECT_STATUS);
    ck_assert(reject.byte == 8 && reject.line == 1 && memcmp(reject.text, MARK "HIT", 6) == 0);
    ck_assert_uint_eq(reject.len, sizeof MARK "HIT|2000|1794900000000|7|101|-|-|-|DE|-|-|-" - 1);
    refuses(MARK "HIT|200|1794900000000|7|101|-|-|-|D E|-|-|-", TB_REJECT_EDGE);
    ck_assert_int_eq(tb_intake_zone(&layout, reject.text, reject.len), 101);
    refuses(MARK "\n", TB_REJECT_BLANK);
    refuses(MARK MARK "HIT|200|1794900000000|7|101|-|-|-|DE|-|-|-", TB_REJECT_CACHE);
    use_with("combined", "", 7, "");
    takes(MARK "192.0.2.1 - - [17/Nov/2026:10:05:03 +0000] \"-\" 200 7 \"-\" \"-\"");
    is(logline.ip, "192.0.2.1");
    use("nginx:$msec $status $bytes_sent $host");
    takes(MARK "1794900000 200 7 a.example");
    use("apache:%{sec}t %>s %O %v");
    takes(MARK "1794900000 200 7 a.example");
    use_with("json", "host=h,time=t,status=s,bytes=b", 0, "");
    takes(MARK "{\"h\":\"a.example\",\"t\":1794900000,\"s\":200,\"b\":7}");
    use("cloudfront");
    tb_error err;
    static const char head[] = MARK "#Version: 1.0\n#Fields: date time sc-bytes cs(Host) sc-status\n";
    ck_assert_int_eq(tb_log_layout_head(&layout, head, sizeof head - 1, &err), TB_OK);
    read_bytes(MARK "#Version: 1.0", 16);
    ck_assert_uint_eq(out.n_heads, 1);
    takes("2026-11-17\t10:05:03\t99\tb.example\t200");
    refuses(MARK "#Fields: time date", TB_REJECT_HEAD);
}
END_TEST

/* --- CloudFront --- */

#define HEAD "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes cs(Host) sc-status x-host-header "
static void begins(const char *bytes)
{
    tb_error err;
    ck_assert_int_eq(tb_log_layout_head(&layout, bytes, strlen(bytes), &err), TB_OK);
}

START_TEST(a_head_names_the_columns)
{
    tb_log_spec spec;
    use("cloudfront");
    begins(HEAD "x-edge-result-type\n");
    takes("2026-11-17\t10:05:03\tFRA60-P5\t99\td1.cloudfront.net\t200\ta.example\tRefreshHit");
    ck_assert(hit.zone == 101 && hit.bytes == 99 && hit.edge_len == 3);
    ck_assert_uint_eq(hit.cache, TB_CACHE_REVALIDATED);
    takes("2026-11-17\t10:05:03\tFRA60-P5\t99\tb.example\t000\t-\tOriginShieldHit");
    ck_assert(hit.zone == 102 && hit.status == 499 && hit.cache == TB_CACHE_SERVED);
    read_bytes("#Version: 1.0", 13);
    ck_assert(out.n_heads == 1 && out.n_hits + out.n_rejects == 0);
    refuses("#Fields: date time", TB_REJECT_HEAD);
    tb_log_layout_spec(&layout, &spec);
    ck_assert_msg(spec.format.len > 30 && memcmp(spec.format.data, "cloudfront:date time", 20) == 0,
                  "%.*s", (int)spec.format.len, spec.format.data);
    tb_log_layout_identity(&layout, &spec);
    is(spec.format, "cloudfront");
    begins("2026-11-17\t10:05:03"); /* the next log has no head: the standard fields */
    refuses("2026-11-17\t10:05:03\tFRA60-P5\t99\tb.example\t000\t-\tMiss", TB_REJECT_FORMAT);
    tb_error err;
    ck_assert_int_eq(tb_log_layout_head(&layout, "#Fields: date sc-status\n", 24, &err),
                     TB_E_VALIDATION);
}
END_TEST

START_TEST(times_and_cache_words_of_all_servers)
{
    static const struct {
        const char *text;
        int64_t ms;
    } times[] = {{"1794900000", 1794900000000},      {"1794900000.1234567", 1794900000123},
                 {"1794900000250", 1794900000250},   {"1794900000250000", 1794900000250},
                 {"1794900000250000000", 1794900000250}, {"2026-11-17T06:00:00Z", 1794895200000},
                 {"2026-11-17T06:00:00.5+00:30", 1794893400500}, {"2026-11-17 06:00:00 +0000", 1794895200000},
                 {"17/Nov/2026:06:00:60 +0000", 1794895259000}, {"2026-11-17T06:00:00", -1}, {"", -1},
                 {"2026-02-30T06:00:00Z", -1}, {"1794900000.", -1}, {"-5", -1}, {"2026-11-17T24:00:00Z", -1},
                 {"17/Foo/2026:06:00:00 +0000", -1}, {"2026-11-17T06:00:00+9900", -1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t ms = -1;
        const bool good = tb__any_time((tb__part){times[i].text, strlen(times[i].text)}, &ms);
        ck_assert_msg(good == (times[i].ms >= 0) && (!good || ms == times[i].ms), "%s: %lld",
                      times[i].text, (long long)ms);
    }
    static const struct {
        const char *word;
        tb_cache cache;
    } words[] = {{"hit", TB_CACHE_SERVED},         {"HIT-CLUSTER", TB_CACHE_SERVED},
                 {"Hit from cloudfront", TB_CACHE_SERVED}, {"HITPASS", TB_CACHE_OTHER},
                 {"hitmiss", TB_CACHE_OTHER},      {"cache hit: x", TB_CACHE_SERVED},
                 {"cache miss", TB_CACHE_OTHER},   {"revalidated", TB_CACHE_REVALIDATED},
                 {"RefreshHit", TB_CACHE_REVALIDATED}, {"-", TB_CACHE_OTHER}, {"", TB_CACHE_OTHER},
                 {"Stale", TB_CACHE_SERVED},       {"dynamic", TB_CACHE_OTHER},
                 {"true", TB_CACHE_UNKNOWN},       {"False", TB_CACHE_UNKNOWN}, {"1", TB_CACHE_UNKNOWN},
                 {"0", TB_CACHE_UNKNOWN},          {"2.0", TB_CACHE_UNKNOWN},   {"YES", TB_CACHE_UNKNOWN},
                 {"no", TB_CACHE_UNKNOWN},         {"none", TB_CACHE_OTHER},    {"truehit", TB_CACHE_OTHER}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(tb__cache_word((tb__part){words[i].word, strlen(words[i].word)}) ==
                          words[i].cache, "%s", words[i].word);
}
END_TEST

START_TEST(hosts_are_found_in_any_case_without_their_port)
{
    char name[32];
    tb_error err;
    ck_assert_int_eq(tb_known_hosts_find(hosts, "A.EXAMPLE:65535", 15), 101);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "a.example.", 10), 101);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "a.example:", 10), 101);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "xa.example", 10), 0);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "two.example", 11), 0);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "", 0), 0);
    ck_assert_int_eq(tb_known_hosts_find(hosts, "A.example.:443", 14), 101);
    ck_assert_int_eq(tb_known_hosts_find(NULL, "a", 1), 0);
    for (int i = 0; i < 5000; i++) {
        const int len = snprintf(name, sizeof name, "H%d.Example", i);
        ck_assert_int_eq(tb_known_hosts_add(hosts, name, (size_t)len, i + 1, &err), TB_OK);
    }
    for (int i = 0; i < 5000; i++) {
        const int len = snprintf(name, sizeof name, "h%d.example", i);
        ck_assert_int_eq(tb_known_hosts_find(hosts, name, (size_t)len), i + 1);
    }
}
END_TEST

static int64_t zone_of(const char *name)
{
    return tb_known_hosts_find(hosts, name, strlen(name));
}

static void has(const char *name, int64_t zone)
{
    tb_error err;
    ck_assert_int_eq(tb_known_hosts_declare(hosts, name, strlen(name), zone, &err), TB_OK);
}

START_TEST(a_name_in_another_script_is_found_as_dns_has_it)
{
    has("Bücher.example", 201);
    ck_assert_int_eq(zone_of("xn--bcher-kva.example"), 201);
    ck_assert_int_eq(zone_of("XN--Bcher-KVA.Example.:443"), 201);
    ck_assert_int_eq(zone_of("bücher.example"), 201); /* as it was written */
    has("bu\xCC\x88" "cher.test", 202); /* the same letter in two characters */
    ck_assert_int_eq(zone_of("xn--bcher-kva.test"), 202);
    has("STRAßE.example:8443", 203);
    ck_assert_int_eq(zone_of("xn--strae-oqa.example"), 203);
    has("例え。テスト", 204); /* with its own full stop */
    ck_assert_int_eq(zone_of("xn--r8jz45g.xn--zckzah"), 204);
    has("xn--bcher-kva.example", 205); /* one name, two zones */
    ck_assert_int_eq(zone_of("xn--bcher-kva.example"), 0);
    has("b\xFC" "cher.example", 206); /* no UTF-8: it is its bytes, and nothing else */
    ck_assert_int_eq(zone_of("b\xFC" "cher.example"), 206);
    has("*.bücher.invalid", 207);
    ck_assert_int_eq(zone_of("xn--bcher-kva.invalid"), 0);
    tb_error err;
    ck_assert_int_eq(tb_known_hosts_declare(hosts, "zoë\0.invalid", 13, 208, &err), TB_OK); /* not what is before its NUL */
    ck_assert_int_eq(zone_of("xn--zo-ija"), 0);
    ck_assert_int_eq(tb_known_hosts_add(hosts, "Jalapeño.example", 17, 209, &err), TB_OK); /* a client's */
    ck_assert_int_eq(zone_of("jalapeño.example"), 209);
    ck_assert_int_eq(zone_of("xn--jalapeo-9za.example"), 0);
}
END_TEST

START_TEST(an_address_keeps_its_colons)
{
    has("[2001:DB8::1]:8443", 301);
    has("2001:db8::2", 302);
    has("192.0.2.7", 303);
    ck_assert_int_eq(zone_of("[2001:db8::1]"), 301);
    ck_assert_int_eq(zone_of("2001:db8::1"), 301);
    ck_assert_int_eq(zone_of("[2001:db8::2]:443"), 302);
    ck_assert_int_eq(zone_of("[2001:DB8::2]."), 302);
    ck_assert_int_eq(zone_of("2001:db8::3"), 0);
    ck_assert_int_eq(zone_of("192.0.2.7:80"), 303);
    ck_assert_int_eq(zone_of("[]"), 0);
    ck_assert_int_eq(zone_of(":443"), 0);
}
END_TEST

START_TEST(an_address_is_found_however_it_is_written)
{
    has("2001:db8::1", 301);
    has("[2001:0DB8:0:0::2]", 302);
    has("192.0.2.7", 303);
    has("::ffff:198.51.100.9", 304);
    static const char *const ones[] = {"2001:db8:0::1", "[2001:db8:0:0:0:0:0:1]", "2001:DB8:0000::0001",
                                       "[2001:db8:0::1]:443", "[2001:db8::0.0.0.1]"};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ck_assert_msg(zone_of(ones[i]) == 301, "%s", ones[i]);
    ck_assert_int_eq(zone_of("2001:db8::2"), 302);
    ck_assert_int_eq(zone_of("[::ffff:192.0.2.7]:80"), 303);
    ck_assert_int_eq(zone_of("::FFFF:c000:207"), 303);
    ck_assert_int_eq(zone_of("198.51.100.9"), 304);
    has("2001:db8:0:0::1", 305); /* one address, two zones */
    ck_assert_int_eq(zone_of("2001:db8::1"), 0);
    static const char *const texts[] = {"fe80::1%eth0", "2001:db8::1::2", "2001:db8:::1", "[2001:db8::g]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        has(texts[i], 400 + (int64_t)i); /* no addresses: texts like others */
        ck_assert_msg(zone_of(texts[i]) == 400 + (int64_t)i, "%s", texts[i]);
    }
    ck_assert_int_eq(tb_known_hosts_find(hosts, "2001:db8::2\0x", 13), 0);
}
END_TEST

/* A line of each format with a host that is an address. */
START_TEST(an_address_is_a_host_in_every_format)
{
#define REQUEST "[17/Nov/2026:10:05:03 +0200] \"GET / HTTP/1.1\" 200 7"
    static const struct {
        const char *format, *before, *after;
        bool port; /* behind the host, always; so an address may be without brackets */
    } cases[] = {
        {"vcombined", "", " 192.0.2.1 - - " REQUEST " \"-\" \"M\"", true},
        {"apache:%v:%p %h %l %u %t \"%r\" %>s %O", "", " 192.0.2.1 - a b " REQUEST, true},
        {"apache:%v %h %l %u %t \"%r\" %>s %O", "", " 192.0.2.1 - a b " REQUEST, false},
        {"apache:%v:%p|%h|%t \"%r\" %>s %O", "", "|192.0.2.1|" REQUEST, true},
        {"apache:%u %v:%p %t \"%r\" %>s %O", "a b ", " " REQUEST, true},
        {"apache:%u %v %t \"%r\" %>s %O", "a b ", " " REQUEST, false},
        {"apache:%t \"%r\" %>s %O %v", REQUEST " ", "", false},
        {"apache:%t \"%r\" %>s %O %v:%p", REQUEST " ", "", true},
        {"apache:\"%v:%p\" %t \"%r\" %>s %O", "\"", "\" " REQUEST, true},
        {"apache:\"%{Host}i\" %t \"%r\" %>s %O", "\"", "\" " REQUEST, false},
        {"nginx:$host:$server_port $remote_addr - $remote_user [$time_local] \"$request\" $status $bytes_sent", "",
         " 192.0.2.1 - a b " REQUEST, true},
        {"nginx:$server_name:$server_port $remote_addr [$time_local] \"$request\" $status $bytes_sent", "",
         " 192.0.2.1 " REQUEST, true},
        {"nginx:$server_name $remote_addr [$time_local] \"$request\" $status $bytes_sent", "", " 192.0.2.1 " REQUEST,
         false},
        {"nginx:[$time_local] \"$request\" $status $bytes_sent \"$http_host\"", REQUEST " \"", "\"", false},
        {"nginx:$host:$server_port$request_uri $msec $status $bytes_sent", "", "/a:7/b 1794900000.250 200 7", true},
    };
#undef REQUEST
    has("2001:db8::1", 301);
    has("192.0.2.7", 303);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const sites[][2] = {{"[2001:db8:0::1]", "301"}, {"192.0.2.7", "303"}, {"a.example", "101"},
                                               {"2001:db8::1", "301"}};
        use(cases[i].format);
        for (size_t k = 0; k < sizeof sites / sizeof *sites; k++) {
            char line[256];
            snprintf(line, sizeof line, "%s%s%s%s", cases[i].before, sites[k][0], cases[i].port ? ":443" : "",
                     cases[i].after);
            takes(line);
            ck_assert_msg(hit.zone == atoi(sites[k][1]), "%s: %s", cases[i].format, line);
        }
    }
    use("vcombined"); /* the port is none of the host's */
    takes("[2001:db8::1]:443 192.0.2.1 - - [17/Nov/2026:10:05:03 +0200] \"GET / HTTP/1.1\" 200 7 \"-\" \"M\"");
    is(logline.origin, "https://[2001:db8::1]");
    refuses("a.example 192.0.2.1 - - [17/Nov/2026:10:05:03 +0200] \"GET / HTTP/1.1\" 200 7 \"-\" \"M\"",
            TB_REJECT_FORMAT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intake_columns");
    TCase *t = tcase_create("intake_columns");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_log_format_is_read_as_nginx_reads_it);
    tcase_add_test(t, texts_of_a_client_cost_neither_zone_nor_bytes);
    tcase_add_test(t, an_empty_user_name_is_told_from_quotes);
    tcase_add_test(t, one_text_in_the_middle_may_hold_its_separators);
    tcase_add_test(t, two_texts_that_cannot_be_told_apart_are_unknown);
    tcase_add_test(t, a_count_that_a_client_could_write_is_refused_in_the_description);
    tcase_add_test(t, what_nginx_bounds_is_bounded);
    tcase_add_test(t, a_log_format_that_cannot_be_compiled_says_where);
    tcase_add_test(t, values_that_are_wrong_name_the_reason);
    tcase_add_test(t, a_log_format_directive_is_read_as_apache_reads_it);
    tcase_add_test(t, a_directive_that_is_not_understood_is_named);
    tcase_add_test(t, a_map_finds_its_fields_wherever_they_stand);
    tcase_add_test(t, texts_in_json_end_where_their_quote_does);
    tcase_add_test(t, objects_of_one_shape_are_read_as_if_each_stood_alone);
    tcase_add_test(t, a_map_may_say_what_a_cached_answer_says);
    tcase_add_test(t, a_map_that_cannot_be_compiled_says_where);
    tcase_add_test(t, a_head_names_the_columns);
    tcase_add_test(t, times_and_cache_words_of_all_servers);
    tcase_add_test(t, hosts_are_found_in_any_case_without_their_port);
    tcase_add_test(t, a_whole_directive_is_read_as_it_was_pasted);
    tcase_add_test(t, where_the_zones_own_column_says_nothing_the_host_does);
    tcase_add_test(t, a_number_of_json_is_taken_where_it_is_whole);
    tcase_add_test(t, a_time_and_a_host_of_json_are_read_without_their_escapes);
    tcase_add_test(t, a_name_with_dots_is_the_path_that_it_looks_like);
    tcase_add_test(t, a_request_without_an_answer_counts_as_one_whose_client_was_gone);
    tcase_add_test(t, a_byte_order_mark_is_passed_over);
    tcase_add_test(t, a_name_in_another_script_is_found_as_dns_has_it);
    tcase_add_test(t, an_address_keeps_its_colons);
    tcase_add_test(t, an_address_is_found_however_it_is_written);
    tcase_add_test(t, an_address_is_a_host_in_every_format);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
