/* Shield events: lines parsed, packed, and shown as JSON and CSV. */
#include "tollbook/event.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1795176000000) /* 2026-11-20T12:00:00Z */

static tb_event_reader *reader;
static tb_event event;
static tb_reject reject;
static tb_error why;

static void setup(void)
{
    reader = tb_event_reader_new();
    ck_assert_ptr_nonnull(reader);
}

static void teardown(void)
{
    tb_event_reader_free(reader);
}

static bool parse(const char *line)
{
    return tb_event_parse(reader, line, strlen(line), NOW_MS, &event, &reject, &why);
}

static void has(tb_event_field f, const char *text)
{
    ck_assert_msg(event.field[f].len == strlen(text) &&
                      memcmp(event.field[f].data ? event.field[f].data : "", text,
                             strlen(text)) == 0,
                  "%s: %.*s", tb_event_fields[f].key, (int)event.field[f].len, event.field[f].data);
}

static void refuses(const char *line, tb_reject_reason reason, const char *sentence)
{
    ck_assert_msg(!parse(line), "%s", line);
    ck_assert_msg(reject.reason == reason, "%s: %s", line, tb_reject_name(reject.reason));
    ck_assert_msg(strcmp(why.message, sentence) == 0, "%s: %s", line, why.message);
    ck_assert_uint_eq(why.byte, reject.byte);
    ck_assert_uint_ge(reject.byte, 1);
}

#define BASE "{\"shield_zone\":42,\"timestamp\":1795172400123"

START_TEST(a_line_is_an_event)
{
    ck_assert(parse("{\"shield_zone\":42,\"timestamp\":\"2026-11-20T11:00:00.123Z\",\"logId\":\"a-1\","
                    "\"log\":\"a \\\"b\\\"\\n\",\"labels\":{\"asn\":64500,\"country\":\"DE\","
                    "\"ruleId\":\"7\",\"ruleGroup\":\"g\"},\"ip\":\"192.0.2.1\",\"ruleId\":7,"
                    "\"url\":null,\"userAgent\":\"\"}\r"));
    ck_assert_int_eq(event.zone, 42);
    ck_assert_int_eq(event.time_ms, INT64_C(1795172400123));
    ck_assert(!event.made);
    has(TB_EVENT_ID, "a-1");
    has(TB_EVENT_LOG, "a \"b\"\n");
    has(TB_EVENT_ASN, "64500");
    has(TB_EVENT_RULE_ID, "7");
    has(TB_EVENT_RULE_GROUP, "g");
    has(TB_EVENT_IP, "192.0.2.1");
    has(TB_EVENT_URL, "");
    ck_assert(tb_event_line(BASE "}", sizeof BASE));
    ck_assert(!tb_event_line("{\"zone\":1}", 10));
}
END_TEST

START_TEST(what_is_no_event_is_refused_where_it_is_wrong)
{
    refuses("[]", TB_REJECT_EVENT, "The line is not a JSON object.");
    refuses("{\"timestamp\":1795172400123}", TB_REJECT_EVENT, "\"shield_zone\" is missing.");
    refuses("{\"shield_zone\":42}", TB_REJECT_EVENT, "\"timestamp\" is missing.");
    refuses(BASE ",\"colour\":1}", TB_REJECT_EVENT, "\"colour\" is not a key of a shield event.");
    ck_assert_uint_eq(reject.byte, sizeof BASE + 1);
    refuses(BASE ",\"labels\":{\"log\":\"x\"}}", TB_REJECT_EVENT,
            "\"log\" is not a label of a shield event.");
    refuses(BASE ",\"labels\":[]}", TB_REJECT_EVENT, "\"labels\" must be an object.");
    refuses(BASE ",\"ip\":true}", TB_REJECT_EVENT, "\"ip\" must be a string or a number.");
    refuses(BASE ",\"asn\":\"1\",\"labels\":{\"asn\":\"2\"}}", TB_REJECT_EVENT,
            "\"asn\" and the label of that name differ.");
    static const char *const ids[] = {"\"\"", "\"a b\"", "\"\\u00e9\"",
                                      "\"01234567890123456789012345678901234567890123456789012345678901234\""};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char line[200];
        snprintf(line, sizeof line, BASE ",\"logId\":%s}", ids[i]);
        refuses(line, TB_REJECT_EVENT,
                "\"logId\" must be 1 to 64 printable ASCII characters without a space.");
    }
    static const char *const zones[] = {"0", "-1", "01", "1.0", "1e3", "\"42\"", "2147483648", "null",
                                        "9223372036854775808"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        char line[100];
        snprintf(line, sizeof line, "{\"shield_zone\":%s,\"timestamp\":1795172400123}", zones[i]);
        ck_assert_msg(!parse(line), "%s", line);
    }
    refuses("{\"shield_zone\":1,\"timestamp\":1400000000000}", TB_REJECT_TOO_OLD,
            "\"timestamp\" is before 2015.");
    refuses("{\"shield_zone\":1,\"timestamp\":1795400000000}", TB_REJECT_TOO_NEW,
            "\"timestamp\" is more than 48 hours ahead.");
    refuses("{\"shield_zone\":1,\"timestamp\":1.5}", TB_REJECT_EVENT,
            "\"timestamp\" must be milliseconds since 1970 or an RFC 3339 time.");
    refuses("{\"shield_zone\":1,\"timestamp\":\"-0001-01-01T00:00:00Z\"}", TB_REJECT_EVENT,
            "\"timestamp\" must be milliseconds since 1970 or an RFC 3339 time.");
    ck_assert(!parse(BASE ",\"ip\":\"\xff\"}"));
    ck_assert(!parse(BASE ",\"ip\":\"\\u0000\"}"));
    ck_assert(!parse(BASE ",\"ip\":\"1\",\"ip\":\"1\"}"));
    ck_assert(!parse(BASE));
    ck_assert(!parse(BASE "}x"));
    ck_assert(!tb_event_parse(reader, "{\0}", 3, NOW_MS, &event, &reject, &why));
    ck_assert_int_eq(reject.reason, TB_REJECT_NUL);
}
END_TEST

START_TEST(a_made_id_is_the_events_own)
{
    char first[33] = {0};
    ck_assert(parse(BASE ",\"ip\":\"192.0.2.1\"}"));
    ck_assert(event.made);
    ck_assert_uint_eq(event.field[TB_EVENT_ID].len, 32);
    memcpy(first, event.field[TB_EVENT_ID].data, 32);
    ck_assert_str_eq(first, "0d8e140cdc890cb078e2275300000000"); /* of every version */
    ck_assert(parse(" { \"ip\" : \"192.0.2.1\", \"timestamp\":1795172400123,\"shield_zone\":42}"));
    ck_assert(memcmp(first, event.field[TB_EVENT_ID].data, 32) == 0);
    static const char *const others[] = {
        BASE ",\"ip\":\"192.0.2.2\"}", BASE ",\"ja4\":\"192.0.2.1\"}",
        "{\"shield_zone\":43,\"timestamp\":1795172400123,\"ip\":\"192.0.2.1\"}",
        "{\"shield_zone\":42,\"timestamp\":1795172400124,\"ip\":\"192.0.2.1\"}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(parse(others[i]));
        ck_assert(memcmp(first, event.field[TB_EVENT_ID].data, 24) != 0);
    }
}
END_TEST

/* --- shown --- */

static void shows(const char *line, const char *json, const char *csv)
{
    tb_buf packed, out;
    tb_event_record record;
    size_t at = 0;
    tb_buf_init(&packed, 1 << 20, NULL);
    tb_buf_init(&out, 1 << 20, NULL);
    ck_assert_msg(parse(line), "%s", why.message);
    tb_event_pack(&event, &packed);
    ck_assert(tb_event_next(packed.data, packed.len, &at, &record));
    ck_assert_uint_eq(at, packed.len);
    tb_event_json(&record, &out);
    ck_assert_msg(out.len == strlen(json) && memcmp(out.data, json, out.len) == 0, "%.*s",
                  (int)out.len, out.data);
    out.len = 0;
    tb_event_csv(&record, &(tb_event_minute){0}, &out);
    ck_assert_msg(out.len == strlen(csv) && memcmp(out.data, csv, out.len) == 0, "%.*s",
                  (int)out.len, out.data);
    tb_buf_release(&packed);
    tb_buf_release(&out);
}

START_TEST(labels_are_texts_and_all_there)
{
    shows(BASE ",\"logId\":\"i\",\"log\":\"a\\\"\\n\",\"asn\":1,\"status\":403}",
          "{\"logId\":\"i\",\"timestamp\":1795172400123,\"log\":\"a\\\"\\n\",\"labels\":{"
          "\"asn\":\"1\",\"country\":\"\",\"ruleId\":\"\",\"severity\":\"\",\"method\":\"\","
          "\"ruleGroup\":\"\",\"status\":\"403\",\"serverZone\":\"\"}}",
          "2026-11-20T11:00:00.123Z,i,,,,,,,1,,,,,,403,\r\n");
}
END_TEST

START_TEST(cells_are_quoted_and_guarded)
{
    tb_buf out;
    tb_buf_init(&out, 1 << 12, NULL);
    tb_event_csv_head(&out);
    static const char head[] = "timestamp,logId,feature,action,ruleId,ruleName,ip,country,asn,ja4,"
                               "method,url,userAgent,severity,status,serverZone\r\n";
    ck_assert(out.len == sizeof head - 1 && memcmp(out.data, head, out.len) == 0);
    tb_buf_release(&out);
    static const struct {
        const char *json, *cell;
    } cells[] = {
        {"plain", "plain"},
        {"a,b", "\"a,b\""},
        {"a\\\"b", "\"a\"\"b\""},
        {"\\\"", "\"\"\"\""},
        {"a\\r\\nb", "\"a\r\nb\""},
        {"=1+1", "'=1+1"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@x", "'@x"},
        {"\\tx", "'\tx"},
        {"=a,\\\"", "\"'=a,\"\"\""},
        {" =1", "' =1"}, {"\uff1d1", "'\uff1d1"},
        {"\\u00e4", "\xc3\xa4"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        char line[200], json[400], csv[200];
        snprintf(line, sizeof line, BASE ",\"logId\":\"i\",\"url\":\"%s\"}", cells[i].json);
        snprintf(json, sizeof json,
                 "{\"logId\":\"i\",\"timestamp\":1795172400123,\"log\":\"\",\"labels\":{"
                 "\"asn\":\"\",\"country\":\"\",\"ruleId\":\"\",\"severity\":\"\",\"method\":\"\","
                 "\"ruleGroup\":\"\",\"status\":\"\",\"serverZone\":\"\"}}");
        snprintf(csv, sizeof csv, "2026-11-20T11:00:00.123Z,i,,,,,,,,,,%s,,,,\r\n", cells[i].cell);
        shows(line, json, csv);
    }
}
END_TEST

/* One minute's text after another, as an export's rows have them, and not in order. */
START_TEST(each_row_has_its_own_time)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {1795172400123, "2026-11-20T11:00:00.123Z,"}, {1795172459999, "2026-11-20T11:00:59.999Z,"},
        {1795172460000, "2026-11-20T11:01:00.000Z,"}, {1795175999009, "2026-11-20T11:59:59.009Z,"},
        {1795176000010, "2026-11-20T12:00:00.010Z,"}, {1795219199999, "2026-11-20T23:59:59.999Z,"},
        {1795219200000, "2026-11-21T00:00:00.000Z,"}, {1795172400123, "2026-11-20T11:00:00.123Z,"},
        {0, "1970-01-01T00:00:00.000Z,"},
    };
    tb_event_minute minute = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tb_buf packed, out;
        tb_event_record record;
        size_t at = 0;
        tb_buf_init(&packed, 1 << 12, NULL);
        tb_buf_init(&out, 1 << 12, NULL);
        ck_assert(parse(BASE ",\"logId\":\"i\"}"));
        event.time_ms = rows[i].ms;
        tb_event_pack(&event, &packed);
        ck_assert(tb_event_next(packed.data, packed.len, &at, &record));
        tb_event_csv(&record, &minute, &out);
        ck_assert_msg(memcmp(out.data, rows[i].text, strlen(rows[i].text)) == 0, "%.26s", out.data);
        tb_buf_release(&packed);
        tb_buf_release(&out);
    }
}
END_TEST

START_TEST(days_are_utc_and_three)
{
    ck_assert_int_eq(tb_event_first_day(NOW_MS), NOW_MS / TB_EVENT_MS_PER_DAY - 2);
    const int64_t day = 20000;
    ck_assert_int_eq(tb_event_first_day(day * TB_EVENT_MS_PER_DAY), day - 2);
    ck_assert_int_eq(tb_event_first_day(day * TB_EVENT_MS_PER_DAY - 1), day - 3);
    ck_assert_int_eq(tb_event_first_day(-1), -3);
}
END_TEST

/* All that a record unpacks to lies within it, and packed and read again it is the same event. */
static void packs_again(const tb_event_record *record, const char *bytes, size_t size)
{
    tb_event got, then;
    tb_event_record other;
    tb_buf again;
    size_t at = 0;
    tb_buf_init(&again, 1 << 16, NULL);
    tb_event_unpack(record, &got);
    for (int i = 0; i < TB_EVENT_FIELD_COUNT; i++)
        ck_assert(!got.field[i].len || (got.field[i].data >= bytes &&
                                        got.field[i].data + got.field[i].len <= bytes + size));
    tb_event_pack(&got, &again);
    ck_assert(tb_event_next(again.data, again.len, &at, &other));
    ck_assert_uint_eq(at, again.len);
    tb_event_unpack(&other, &then);
    ck_assert_int_eq(then.time_ms, got.time_ms);
    for (int i = 0; i < TB_EVENT_FIELD_COUNT; i++) {
        ck_assert_uint_eq(then.field[i].len, got.field[i].len);
        if (got.field[i].len)
            ck_assert_mem_eq(then.field[i].data, got.field[i].data, got.field[i].len);
    }
    tb_buf_release(&again);
}

/* A record that is cut or changed anywhere is no record, or another one: never a crash. */
START_TEST(damaged_records_are_told)
{
    tb_buf packed;
    tb_event_record record;
    tb_event got;
    size_t whole = 0, refused = 0;
    tb_buf_init(&packed, 1 << 16, NULL);
    ck_assert(parse(BASE ",\"logId\":\"i\",\"url\":\"https://x\",\"labels\":{\"country\":\"DE\","
                    "\"ruleId\":\"7\",\"ruleGroup\":\"g\"}}"));
    tb_event_pack(&event, &packed);
    ck_assert(tb_event_next(packed.data, packed.len, &whole, &record));
    ck_assert_uint_eq(whole, packed.len);
    packs_again(&record, packed.data, packed.len);
    tb_event_unpack(&record, &got);
    for (int i = 0; i < TB_EVENT_FIELD_COUNT; i++) {
        ck_assert_uint_eq(got.field[i].len, event.field[i].len);
        if (got.field[i].len)
            ck_assert_mem_eq(got.field[i].data, event.field[i].data, got.field[i].len);
    }
    for (size_t len = 0; len < packed.len; len++) {
        size_t at = 0;
        char *copy = malloc(len + 1);
        memcpy(copy, packed.data, len);
        ck_assert(!tb_event_next(copy, len, &at, &record));
        free(copy);
    }
    for (size_t bit = 0; bit < packed.len * 8; bit++) {
        size_t at = 0;
        char *copy = malloc(packed.len);
        memcpy(copy, packed.data, packed.len);
        copy[bit / 8] ^= (char)(1 << bit % 8);
        if (tb_event_next(copy, packed.len, &at, &record)) {
            ck_assert_uint_le(at, packed.len);
            packs_again(&record, copy, at);
        } else {
            refused++;
        }
        free(copy);
    }
    ck_assert_uint_gt(refused, 0);
    tb_buf_release(&packed);
}
END_TEST

/* An id may have 64 characters, whether all lengths are of a byte or not. */
START_TEST(records_with_longer_ids_are_none)
{
    static const char text[200] = {[0 ... 199] = 'x'};
    for (int i = 0; i < 4; i++) {
        tb_buf packed;
        tb_event_record record;
        size_t at = 0;
        tb_buf_init(&packed, 1 << 12, NULL);
        ck_assert(parse(BASE ",\"logId\":\"i\"}"));
        event.field[TB_EVENT_ID] = (tb_text){text, TB_EVENT_ID_MAX + (size_t)(i & 1)};
        event.field[TB_EVENT_URL] = (tb_text){text, i & 2 ? sizeof text : 1};
        tb_event_pack(&event, &packed);
        ck_assert_int_eq(tb_event_next(packed.data, packed.len, &at, &record), !(i & 1));
        tb_buf_release(&packed);
    }
}
END_TEST

/* A record that says it ends within its lengths, in memory that ends there too. */
START_TEST(records_without_all_lengths_are_none)
{
    for (size_t size = 17; size <= 17 + TB_EVENT_FIELD_COUNT; size++) {
        size_t at = 0;
        tb_event_record record;
        char *bytes = calloc(1, size);
        bytes[0] = (char)size;
        bytes[4] = 1 + TB_EVENT_COLUMNS;
        ck_assert(!tb_event_next(bytes, size, &at, &record));
        free(bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");
    TCase *tc = tcase_create("lines");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_line_is_an_event);
    tcase_add_test(tc, what_is_no_event_is_refused_where_it_is_wrong);
    tcase_add_test(tc, a_made_id_is_the_events_own);
    tcase_add_test(tc, labels_are_texts_and_all_there);
    tcase_add_test(tc, cells_are_quoted_and_guarded);
    tcase_add_test(tc, each_row_has_its_own_time);
    tcase_add_test(tc, days_are_utc_and_three);
    tcase_add_test(tc, damaged_records_are_told);
    tcase_add_test(tc, records_with_longer_ids_are_none);
    tcase_add_test(tc, records_without_all_lengths_are_none);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
