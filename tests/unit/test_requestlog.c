/* Blocks of request logs: what goes in comes out, filters agree with a plain reading of the lines, and
 * a damaged block is an error. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/record.h"
#include "tollbook/requestlog.h"

#define ZONE 101
#define NOON INT64_C(1793707200000) /* 2026-11-03T12:00:00Z */

static const tb_log_layout pipe_layout = {.now_ms = NOON + 86400000};

/* --- lines --- */

typedef struct lines {
    const tb_log_layout *layout;
    tb_text line[TB_LOGBLOCK_LINES];
    int64_t time[TB_LOGBLOCK_LINES];
    size_t n;
} lines;

static lines L;

static void add_line(const char *text, size_t len)
{
    tb_logline line;
    char *copy = malloc(len + TB_INTAKE_SLACK);
    memset(copy, 0, len + TB_INTAKE_SLACK);
    memcpy(copy, text, len);
    L.line[L.n] = (tb_text){copy, len};
    tb_logline_read(L.layout, copy, len, &line);
    L.time[L.n++] = line.time_ms;
}

static void add(const char *text)
{
    add_line(text, strlen(text));
}

static void start(void)
{
    L.layout = &pipe_layout;
    L.n = 0;
}

static void stop(void)
{
    for (size_t i = 0; i < L.n; i++)
        free((char *)(uintptr_t)L.line[i].data);
}

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    const lines *l = ctx;
    tb_logline_read(l->layout, l->line[i].data, l->line[i].len, ret);
}

/* Lines that have waited as records make the same block, byte for byte. */
static void check_records(tb_logpack *pack, tb_logwords *words, const tb_buf *wanted)
{
    static const void *records[TB_LOGBLOCK_LINES];
    tb_buf out;
    tb_error err;
    tb_loginfo info;
    for (size_t i = 0; i < L.n; i++) {
        tb_logline line;
        tb_logkeys keys;
        line_of(&L, i, &line);
        void *to = malloc(L.line[i].len + TB_LOGRECORD_MORE);
        tb_logwords_keys(words, &line, &keys);
        if (i % 2) tb_logwords_fetch(words, &keys);
        const size_t size = tb_logwords_record(words, &line, &keys, to);
        ck_assert_uint_le(size, L.line[i].len + TB_LOGRECORD_MORE);
        ck_assert_uint_eq(size, tb_logrecord_size(to));
        ck_assert_uint_eq(size % 8, 0);
        records[i] = to;
    }
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    ck_assert_int_eq(tb_logpack_records(pack, words, &(tb_logrecords){ZONE, records, L.n}, &out, &info, &err), TB_OK);
    ck_assert_uint_eq(info.lines, L.n);
    ck_assert_uint_eq(out.len, wanted->len);
    ck_assert_mem_eq(out.data, wanted->data, out.len);
    tb_buf_release(&out);
    for (size_t i = 0; i < L.n; i++)
        free((void *)(uintptr_t)records[i]);
}

/* Twice: the words are known the second time; and once more after they were forgotten. */
static void check_all_records(const tb_buf *wanted)
{
    tb_logwords *words = tb_logwords_new();
    for (int i = 0; i < 3; i++) {
        tb_logpack *pack = tb_logpack_new();
        check_records(pack, words, wanted);
        tb_logpack_free(pack);
        if (i == 1) tb_logwords_forget(words);
    }
    tb_logwords_free(words);
}

static tb_logblock *pack_into(tb_buf *out)
{
    tb_error err;
    tb_loginfo info;
    tb_logpack *pack = tb_logpack_new();
    tb_buf_init(out, TB_LOGBLOCK_MAX, NULL);
    ck_assert_int_eq(tb_logpack_block(pack, &(tb_loglines){ZONE, L.time, L.n, line_of, &L}, out, &info, &err),
                     TB_OK);
    ck_assert_uint_eq(info.lines, L.n);
    tb_logpack_free(pack);
    check_all_records(out);
    tb_logblock *block = tb_logblock_new();
    ck_assert_int_eq(tb_logblock_open(block, out->data, out->len, ZONE, &err), TB_OK);
    return block;
}

static void shown(tb_logblock *block, size_t row, tb_log_privacy privacy, bool json, bool extended,
                  char *out, size_t size)
{
    tb_logrow one;
    tb_buf text;
    tb_error err;
    tb_buf_init(&text, 8 << 20, NULL);
    ck_assert_int_eq(tb_logblock_row(block, row, &one, &err), TB_OK);
    tb_logrow_hide(&one, privacy);
    if (json) tb_logrow_json(&one, ZONE, extended, &text);
    else tb_logrow_pipe(&one, ZONE, extended, &text);
    snprintf(out, size, "%.*s", (int)text.len, text.data);
    tb_buf_release(&text);
}

static void check_pipe(const char *line, bool extended, const char *wanted)
{
    char text[4096];
    tb_buf bytes;
    start();
    add(line);
    tb_logblock *block = pack_into(&bytes);
    shown(block, 0, TB_LOG_IP_WHOLE, false, extended, text, sizeof text);
    ck_assert_str_eq(text, wanted);
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}

#define ID "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

START_TEST(a_line_comes_back_as_it_was)
{
    static const char *const same[] = {
        "MISS|200|1793707205123|48213|101|198.51.100.7|-|https://z1.b-cdn.net/a/b.js?v=2|DE|"
        "curl/8.9.0|" ID "|DE",
        "-|499|1793707205123|0|101|2001:db8::1|http://x/|/only/a/path|NY_2|-|" ID "|-",
        "EXPIRED|206|1793707205123|17592186044416|101|not an address|-|x:|A.b-c|a\xff\xfe b|not-an-id|US",
        "HIT|200|1793707205123|1|101|-|-|-|DE|-|-|-",
        "HIT|200|1793707205123|1|101|010.1.1.1|-|://|DE|-|-|-",
        "HIT|200|1793707205123|1|101|::ffff:1.2.3.4|-|ftp://h|DE|-|-|-",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char wanted[1024];
        snprintf(wanted, sizeof wanted, "%s\n", same[i]);
        check_pipe(same[i], false, wanted);
    }
}
END_TEST

START_TEST(ids_and_countries_have_one_form)
{
    check_pipe("HIT|200|1793707205123|1|101|1.2.3.4|-|/|DE|-|0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0|de",
               false, "HIT|200|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID "|DE\n");
    check_pipe("HIT|200|0001793707205123|01|101|1.2.3.4|-|/|DE|-||", false,
               "HIT|200|1793707205123|1|101|1.2.3.4|-|/|DE|-|-|-\n");
}
END_TEST

START_TEST(extended_columns_are_kept_and_shown_where_wanted)
{
    static const char line[] = "HIT|206|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID
                               "|DE|900|bytes 0-9/10|Basic x";
    check_pipe(line, true, "HIT|206|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID
                           "|DE|900|bytes 0-9/10|Basic x\n");
    check_pipe(line, false, "HIT|206|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID "|DE\n");
    check_pipe("HIT|206|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID "|DE", true,
               "HIT|206|1793707205123|1|101|1.2.3.4|-|/|DE|-|" ID "|DE|-|-|-\n");
}
END_TEST

START_TEST(json_has_the_members_in_order_and_leaves_absent_ones_out)
{
    char text[4096];
    tb_buf bytes;
    start();
    add("MISS|404|1793707205007|7|101|198.51.100.7|https://r/|https://h.net/a?b=\"c\"|DE|ag\xc3\xa9nt|" ID
        "|de|5|bytes=0-1|Bearer t");
    add("-|200|1793707205998|7|101|2001:db8:1:2:3:4:5:6|-|\xff/x|DE|-|-|-");
    tb_logblock *block = pack_into(&bytes);
    shown(block, 0, TB_LOG_IP_WHOLE, true, true, text, sizeof text);
    ck_assert_str_eq(
        text, "{\"timestamp\":\"2026-11-03T12:00:05.007Z\",\"pullZoneId\":101,\"requestId\":\"" ID
              "\",\"cacheStatus\":\"MISS\",\"statusCode\":404,\"bytesSent\":7,"
              "\"remoteIp\":\"198.51.100.7\",\"countryCode\":\"DE\",\"edgeLocation\":\"DE\","
              "\"scheme\":\"https\",\"host\":\"h.net\",\"path\":\"/a?b=\\\"c\\\"\","
              "\"url\":\"https://h.net/a?b=\\\"c\\\"\",\"userAgent\":\"ag\xc3\xa9nt\","
              "\"referer\":\"https://r/\",\"bodyBytesSent\":5,\"contentRange\":\"bytes=0-1\","
              "\"authorizationHeader\":\"Bearer t\"}");
    shown(block, 1, TB_LOG_IP_SHORT, true, true, text, sizeof text);
    ck_assert_str_eq(text, "{\"timestamp\":\"2026-11-03T12:00:05.998Z\",\"pullZoneId\":101,"
                           "\"cacheStatus\":\"-\",\"statusCode\":200,\"bytesSent\":7,"
                           "\"remoteIp\":\"2001:db8:1:2::\",\"edgeLocation\":\"DE\","
                           "\"path\":\"\xEF\xBF\xBD/x\",\"url\":\"\xEF\xBF\xBD/x\"}");
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

START_TEST(addresses_are_hidden_as_the_zone_wants_it)
{
    static const struct {
        const char *ip;
        tb_log_privacy privacy;
        const char *shown;
    } cases[] = {
        {"198.51.100.7", TB_LOG_IP_WHOLE, "198.51.100.7"},
        {"198.51.100.7", TB_LOG_IP_SHORT, "198.51.100.0"},
        {"198.51.100.7", TB_LOG_IP_NONE, "0.0.0.0"},
        {"2001:db8:1:2:3:4:5:6", TB_LOG_IP_SHORT, "2001:db8:1:2::"},
        {"2001:db8::1", TB_LOG_IP_NONE, "::"},
        {"::ffff:192.0.2.77", TB_LOG_IP_WHOLE, "::ffff:192.0.2.77"},
        {"::ffff:192.0.2.77", TB_LOG_IP_SHORT, "192.0.2.0"}, /* the IPv4 address that it is */
        {"::FFFF:c000:24d", TB_LOG_IP_SHORT, "192.0.2.0"},
        {"::ffff:192.0.2.77", TB_LOG_IP_NONE, "0.0.0.0"},
        {"64:ff9b::c000:24d", TB_LOG_IP_SHORT, "64:ff9b::c000:200"}, /* NAT64 */
        {"2002:c000:24d:1::5", TB_LOG_IP_SHORT, "2002:c000:200::"}, /* 6to4: the whole of it before its last 64 bits */
        {"no address", TB_LOG_IP_WHOLE, "no address"},
        {"no address", TB_LOG_IP_SHORT, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256], wanted[256], text[256];
        tb_buf bytes;
        snprintf(line, sizeof line, "HIT|200|1793707205123|1|101|%s|-|/|DE|-|-|-", cases[i].ip);
        snprintf(wanted, sizeof wanted, "HIT|200|1793707205123|1|101|%s|-|/|DE|-|-|-\n",
                 cases[i].shown);
        start();
        add(line);
        tb_logblock *block = pack_into(&bytes);
        shown(block, 0, cases[i].privacy, false, false, text, sizeof text);
        ck_assert_str_eq(text, wanted);
        tb_logblock_free(block);
        tb_buf_release(&bytes);
        stop();
    }
}
END_TEST

START_TEST(a_combined_line_is_taken_apart)
{
    static const tb_log_layout layout = {.format = TB_FORMAT_COMBINED,
                                         .now_ms = NOON + 86400000,
                                         .zone = ZONE,
                                         .edge = "own",
                                         .edge_len = 3};
    char text[1024];
    tb_buf bytes;
    start();
    L.layout = &layout;
    add("203.0.113.9 - - [03/Nov/2026:12:00:05 +0000] \"GET /a|b HTTP/1.1\" 200 17 "
        "\"https://r/\" \"A|gent\" HIT");
    tb_logblock *block = pack_into(&bytes);
    shown(block, 0, TB_LOG_IP_WHOLE, false, false, text, sizeof text);
    ck_assert_str_eq(text, "HIT|200|1793707205000|17|101|203.0.113.9|https://r/|/ab|own|Agent|-|-\n");
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

START_TEST(a_url_of_64_kib_is_kept)
{
    static char line[70000], text[70000];
    tb_buf bytes;
    start();
    int n = snprintf(line, sizeof line, "HIT|200|1793707205123|1|101|1.2.3.4|-|https://h/");
    memset(line + n, 'x', 65536);
    snprintf(line + n + 65536, 64, "|DE|-|-|-");
    add(line);
    tb_logblock *block = pack_into(&bytes);
    ck_assert_uint_lt(bytes.len, 2000);
    shown(block, 0, TB_LOG_IP_WHOLE, false, false, text, sizeof text);
    ck_assert_int_eq(strncmp(text, line, strlen(line)), 0);
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

/* More of them than are kept as words, and longer ones: what finds no room stays with its line. */
START_TEST(texts_that_are_too_many_or_too_long_for_words_are_kept)
{
    static char line[2048], text[2048];
    tb_buf bytes;
    start();
    for (int i = 0; i < 6000; i++) {
        const int n = i % 5 ? 400 + i % 100 : 700;
        snprintf(line, sizeof line, "HIT|200|%" PRId64 "|1|101|1.2.3.4|%d/%0*d|/%d|DE|agent %d|-|US",
                 NOON + i, i, n, 0, i % 7, i % 3000);
        add(line);
    }
    tb_logblock *block = pack_into(&bytes);
    for (size_t row = 0; row < L.n; row += 499) {
        shown(block, row, TB_LOG_IP_WHOLE, false, false, text, sizeof text);
        ck_assert_uint_eq(strlen(text), L.line[row].len + 1);
        ck_assert_mem_eq(text, L.line[row].data, L.line[row].len);
    }
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

START_TEST(more_words_than_have_numbers_are_kept)
{
    char text[64];
    tb_logwords *words = tb_logwords_new();
    for (int i = 0; i < 40000; i++) {
        struct {
            _Alignas(8) char bytes[512];
        } to;
        tb_logline line = {.body_bytes = UINT64_MAX};
        tb_logkeys keys;
        const int n = snprintf(text, sizeof text, "agent number %d", i);
        line.agent = (tb_text){text, (size_t)n};
        tb_logwords_keys(words, &line, &keys);
        const size_t size = tb_logwords_record(words, &line, &keys, to.bytes);
        if (i == 0) ck_assert_uint_lt(size, 64); /* a word */
        if (i == 39999) ck_assert_uint_gt(size, 64);
    }
    tb_logwords_free(words);
}
END_TEST

/* --- order --- */

START_TEST(lines_are_in_the_order_of_their_times_and_stable)
{
    tb_buf bytes;
    char line[128], text[256];
    start();
    for (int i = 0; i < TB_LOGBLOCK_LINES; i++) {
        snprintf(line, sizeof line, "HIT|200|%" PRId64 "|%d|101|1.2.3.4|-|/|DE|-|-|-",
                 NOON + (i * 7919) % 1000 * 7, i);
        add(line);
    }
    tb_logblock *block = pack_into(&bytes);
    int64_t before = 0, last = -1;
    for (size_t row = 0; row < L.n; row++) {
        shown(block, row, TB_LOG_IP_WHOLE, false, false, text, sizeof text);
        int64_t time = strtoll(text + 8, NULL, 10), number = strtoll(text + 22, NULL, 10);
        ck_assert_int_eq(time, tb_logblock_time(block, row));
        ck_assert_int_ge(time, before);
        if (time == before) ck_assert_int_gt(number, last);
        before = time;
        last = number;
    }
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

/* --- filters --- */

static size_t count(tb_logblock *block, const tb_log_filter *filter)
{
    static uint16_t rows[TB_LOGBLOCK_LINES];
    size_t n;
    tb_error err;
    ck_assert_int_eq(tb_logblock_select(block, filter, rows, &n, &err), TB_OK);
    return n;
}

#define ALL {.from_ms = INT64_MIN, .to_ms = INT64_MAX}
#define TEXT(s) ((tb_text){s, sizeof(s) - 1})

static tb_logblock *some_lines(tb_buf *bytes)
{
    start();
    add("HIT|200|1793707200000|1|101|198.51.100.7|https://Ref.example/|https://CDN.example/Assets/a.js|DE|"
        "Mozilla/5.0|" ID "|DE");
    add("MISS|404|1793707200001|2|101|198.51.100.9|-|https://cdn.example/assets/b.js|NY|curl/8|"
        "00000000000000000000000000000001|US|1|bytes=7-9|-");
    add("-|503|1793707200002|3|101|2001:db8:1:2::5|-|https://other.example/x|DE|-|-|-");
    return pack_into(bytes);
}

static void check_filters(tb_logblock *block)
{
#define CHECK(n, ...)                                                                              \
    do {                                                                                           \
        tb_log_filter f = {.from_ms = INT64_MIN, .to_ms = INT64_MAX, __VA_ARGS__};                 \
        ck_assert_msg(count(block, &f) == (n), "%s: %zu", #__VA_ARGS__, count(block, &f));         \
    } while (0)
    CHECK(3, .by_ip = false);
    CHECK(1, .edge = TEXT("NY"));
    CHECK(0, .edge = TEXT("ny"));
    CHECK(2, .url = TEXT("/assets/"));
    CHECK(2, .url = TEXT("cdn.example/assets/"));
    CHECK(1, .url = TEXT("n.example/assets/b.js"));
    CHECK(3, .url = TEXT(".example/"));
    CHECK(0, .url = TEXT("https://"));
    CHECK(1, .agent = TEXT("mozilla"));
    CHECK(1, .referer = TEXT("ref.example"));
    CHECK(2, .cache = {2, {TEXT("miss"), TEXT("-")}});
    CHECK(1, .country = {1, {TEXT("us")}});
    CHECK(1, .by_id = true, .id = {0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78, 0x87, 0x96, 0xa5,
                                   0xb4, 0xc3, 0xd2, 0xe1, 0xf0});
    CHECK(1, .by_ip = true, .ip_is_v4 = true, .ip_bits = 32, .ip = {198, 51, 100, 7});
    CHECK(2, .by_ip = true, .ip_is_v4 = true, .ip_bits = 24, .ip = {198, 51, 100, 1});
    CHECK(1, .by_ip = true, .ip_bits = 64, .ip = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2, 9});
    CHECK(0, .by_ip = true, .ip_bits = 128, .ip = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2, 9});
    CHECK(2, .tokens = {2, {TEXT("curl"), TEXT("0f1e2d")}});
    CHECK(1, .tokens = {1, {TEXT("other.ex")}});
    CHECK(0, .tokens = {1, {TEXT("198.51")}});
    CHECK(0, .tokens = {1, {TEXT("cdn.example/")}}); /* host and path are looked at apart */
    CHECK(0, .tokens = {1, {TEXT("bytes=7")}});
    CHECK(1, .tokens = {1, {TEXT("bytes=7")}}, .extended = true);
#undef CHECK
}

START_TEST(filters_keep_what_they_say)
{
    tb_buf bytes;
    tb_logblock *block = some_lines(&bytes);
    check_filters(block);
    tb_log_filter f = ALL;
    f.by_status = true;
    f.status[404 / 8] |= 1u << 404 % 8;
    ck_assert_uint_eq(count(block, &f), 1);
    f = (tb_log_filter){.from_ms = NOON + 1, .to_ms = NOON + 2};
    ck_assert_uint_eq(count(block, &f), 1);
    f = (tb_log_filter){.from_ms = NOON + 3, .to_ms = INT64_MAX};
    ck_assert_uint_eq(count(block, &f), 0);
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

START_TEST(an_address_is_found_as_the_ipv4_address_that_it_is)
{
    tb_buf bytes;
    start();
    add("HIT|200|1793707205123|1|101|::ffff:192.0.2.77|-|/|DE|-|-|-");
    add("HIT|200|1793707205123|1|101|::FFFF:c000:24d|-|/|DE|-|-|-");
    add("HIT|200|1793707205123|1|101|192.0.2.77|-|/|DE|-|-|-");
    add("HIT|200|1793707205123|1|101|192.0.3.77|-|/|DE|-|-|-");
    add("HIT|200|1793707205123|1|101|2001:db8::1|-|/|DE|-|-|-");
    tb_logblock *block = pack_into(&bytes);
    tb_log_filter f = ALL;
    f.by_ip = f.ip_is_v4 = true;
    f.ip_bits = 32;
    memcpy(f.ip, (const uint8_t[]){192, 0, 2, 77}, 4);
    ck_assert_uint_eq(count(block, &f), 3);
    memcpy(f.ip, (const uint8_t[]){0x20, 1, 0x0d, 0xb8}, 4);
    f.ip_is_v4 = false;
    f.ip_bits = 64;
    ck_assert_uint_eq(count(block, &f), 1);
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

/* A column that no line of the block fills is not there: its texts are empty. */
START_TEST(a_column_that_a_block_lacks_is_empty_to_filters)
{
#define CHECK(n, ...)                                                                              \
    do {                                                                                           \
        tb_log_filter f = {.from_ms = INT64_MIN, .to_ms = INT64_MAX, __VA_ARGS__};                 \
        ck_assert_msg(count(block, &f) == (n), "%s: %zu", #__VA_ARGS__, count(block, &f));         \
    } while (0)
    tb_buf bytes;
    start();
    add("-|200|1793707200000|1|101|-|-|/a|DE|-|-|-");
    add("-|404|1793707200001|2|101|-|-|/b|DE|-|-|-");
    tb_logblock *block = pack_into(&bytes);
    CHECK(2, .by_ip = false);
    CHECK(0, .country = {1, {TEXT("us")}});
    CHECK(2, .cache = {1, {TEXT("-")}});
    CHECK(0, .cache = {1, {TEXT("HIT")}});
    CHECK(0, .agent = TEXT("curl"));
    CHECK(0, .referer = TEXT("https"));
    CHECK(0, .by_id = true, .id = {1});
    CHECK(0, .by_ip = true, .ip_is_v4 = true, .ip_bits = 24, .ip = {198, 51, 100, 1});
    CHECK(0, .tokens = {1, {TEXT("curl")}});
    CHECK(1, .tokens = {1, {TEXT("/a")}});
#undef CHECK
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

/* --- damage --- */

START_TEST(every_flipped_bit_and_every_cut_is_an_error)
{
    tb_buf bytes;
    tb_error err;
    tb_logblock *block = some_lines(&bytes);
    for (size_t i = 0; i < bytes.len * 8; i++) {
        bytes.data[i / 8] ^= (char)(1 << i % 8);
        ck_assert_int_eq(tb_logblock_open(block, bytes.data, bytes.len, ZONE, &err), TB_E_CORRUPT);
        bytes.data[i / 8] ^= (char)(1 << i % 8);
    }
    for (size_t len = 0; len < bytes.len; len++)
        ck_assert_int_eq(tb_logblock_open(block, bytes.data, len, ZONE, &err), TB_E_CORRUPT);
    ck_assert_int_eq(tb_logblock_open(block, bytes.data, bytes.len, ZONE + 1, &err), TB_E_CORRUPT);
    ck_assert_int_eq(tb_logblock_open(block, bytes.data, bytes.len, ZONE, &err), TB_OK);
    tb_logblock_free(block);
    tb_buf_release(&bytes);
    stop();
}
END_TEST

START_TEST(more_lines_than_a_block_holds_and_none_are_refused)
{
    tb_error err;
    tb_loginfo info;
    tb_buf out;
    tb_logpack *pack = tb_logpack_new();
    static int64_t times[TB_LOGBLOCK_LINES + 1];
    start();
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    ck_assert_int_eq(tb_logpack_block(pack, &(tb_loglines){ZONE, times, 0, line_of, &L}, &out, &info, &err),
                     TB_E_INTERNAL);
    ck_assert_int_eq(tb_logpack_block(pack, &(tb_loglines){ZONE, times, TB_LOGBLOCK_LINES + 1, line_of, &L}, &out,
                                      &info, &err),
                     TB_E_INTERNAL);
    ck_assert_uint_eq(out.len, 0);
    tb_buf_release(&out);
    tb_logpack_free(pack);
}
END_TEST

/* --- what a look for a text costs --- */

#define TEXTS  200  /* of one length, all different */
#define MANY   8000 /* the same, of which a block may be full */
#define WAYS   4    /* in which they differ */
#define LENGTH (TB__WORD_MAX + 8)

/* Text i of a length: the same letters but for two, at the start, in the middle or at the end; or a number that ends it. */
static tb_text differing(char *room, size_t len, int way, size_t i)
{
    const size_t ends[] = {2, len / 2 + 1, len, len};
    size_t at = len < 2 ? len : ends[way], left = way == WAYS - 1 ? i * 7919 : i;
    memset(room, '-', len);
    for (; left > 0 && at > 0; left /= 36)
        room[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36];
    return (tb_text){room, len};
}

static size_t texts_of(size_t len)
{
    return len > 1 ? TEXTS : 36;
}

/* The most slots that a look may go through. */
static size_t longest_run(const tb__words *words)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * (words->mask + 1); i++) {
        run = words->slot[i & words->mask].at ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* Tables are at most half full: of random keys not one run in 10^11 comes near this. */
static void check_runs(tb__words *words, size_t len, int way, size_t n)
{
    char room[LENGTH];
    tb__words_forget(words);
    for (size_t i = 0; i < n; i++) {
        const tb_text text = differing(room, len, way, i);
        ck_assert_uint_eq(tb__words_number(words, text, tb__words_key(words, text)), i + 1);
    }
    const size_t run = longest_run(words);
    ck_assert_msg(run < 128, "%zu texts of %zu bytes: a run of %zu", n, len, run);
}

START_TEST(a_look_for_a_text_of_any_length_is_short)
{
    tb__words words;
    tb__words_init(&words);
    for (size_t len = 1; len <= TB__WORD_MAX; len += TB_PART > 1 ? 7 : 1)
        for (int way = 0; way < WAYS; way++)
            check_runs(&words, len, way, texts_of(len));
    for (size_t len = 4; len <= 40; len += TB_PART > 1 ? 7 : 1)
        check_runs(&words, len, WAYS - 1, MANY);
    tb__words_release(&words);
}
END_TEST

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t distinct(uint64_t *keys, size_t n)
{
    size_t different = n > 0;
    qsort(keys, n, sizeof *keys, ascending);
    for (size_t i = 1; i < n; i++)
        different += keys[i] != keys[i - 1];
    return different;
}

/* As a line with the text in each of its columns has them; the path's, which is looked up while a block is packed, is
 * the text's own. */
static void keys_of(const tb_logwords *words, tb_text text, tb_logkeys *ret)
{
    tb_logline line = {0};
#define TB_X(name, member) line.member = text;
    TB__LOG_TEXTED(TB_X)
#undef TB_X
    tb_logwords_keys(words, &line, ret);
    ret->of[TB__LOG_TEXTED_PATH] = tb__words_key(&words->of[TB__LOG_TEXTED_PATH], text);
}

START_TEST(different_texts_of_any_length_have_different_keys_in_every_column)
{
    static uint64_t keys[TB__LOG_TEXTED_COUNT][TEXTS];
    char room[LENGTH];
    tb_logwords *words = tb_logwords_new();
    for (size_t len = 1; len <= LENGTH; len++)
        for (int way = 0; way < WAYS; way++) {
            const size_t n = texts_of(len);
            for (size_t i = 0; i < n; i++) {
                tb_logkeys of;
                keys_of(words, differing(room, len, way, i), &of);
                for (int c = 0; c < TB__LOG_TEXTED_COUNT; c++)
                    keys[c][i] = of.of[c];
            }
            for (int c = 0; c < TB__LOG_TEXTED_COUNT; c++)
                ck_assert_msg(distinct(keys[c], n) == n, "column %d, %zu bytes: texts share a key", c, len);
        }
    tb_logwords_free(words);
}
END_TEST

/* Whoever knows the keys of one table knows nothing of another's. */
START_TEST(each_table_has_keys_of_its_own)
{
    tb_logkeys a, b;
    tb_logwords *one = tb_logwords_new(), *other = tb_logwords_new();
    keys_of(one, (tb_text){"/index.html", 11}, &a);
    keys_of(other, (tb_text){"/index.html", 11}, &b);
    for (int c = 0; c < TB__LOG_TEXTED_COUNT; c++)
        ck_assert_uint_ne(a.of[c], b.of[c]);
    tb_logwords_free(one);
    tb_logwords_free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("requestlog");
    TCase *t = tcase_create("requestlog");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_line_comes_back_as_it_was);
    tcase_add_test(t, ids_and_countries_have_one_form);
    tcase_add_test(t, extended_columns_are_kept_and_shown_where_wanted);
    tcase_add_test(t, json_has_the_members_in_order_and_leaves_absent_ones_out);
    tcase_add_test(t, addresses_are_hidden_as_the_zone_wants_it);
    tcase_add_test(t, a_combined_line_is_taken_apart);
    tcase_add_test(t, a_url_of_64_kib_is_kept);
    tcase_add_test(t, texts_that_are_too_many_or_too_long_for_words_are_kept);
    tcase_add_test(t, more_words_than_have_numbers_are_kept);
    tcase_add_test(t, lines_are_in_the_order_of_their_times_and_stable);
    tcase_add_test(t, filters_keep_what_they_say);
    tcase_add_test(t, an_address_is_found_as_the_ipv4_address_that_it_is);
    tcase_add_test(t, a_column_that_a_block_lacks_is_empty_to_filters);
    tcase_add_test(t, every_flipped_bit_and_every_cut_is_an_error);
    tcase_add_test(t, more_lines_than_a_block_holds_and_none_are_refused);
    tcase_add_test(t, a_look_for_a_text_of_any_length_is_short);
    tcase_add_test(t, different_texts_of_any_length_have_different_keys_in_every_column);
    tcase_add_test(t, each_table_has_keys_of_its_own);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
