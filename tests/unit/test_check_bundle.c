/* Bundles and receipts as text: one form, written and read back, everything else refused with its place. */
#include "tollbook/bundle.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

#define N(list) (sizeof(list) / sizeof *(list))
#define SALT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define HASH "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0="
#define SALTED(text) "{\"text\":\"" text "\",\"salt\":\"" SALT "\",\"proof\":\"p\"}"
#define DAY(day, of) "{\"day\":\"" day "\",\"of\":" of ",\"text\":\"zone 1\\tEU\\n\",\"salt\":\"" SALT "\",\"proof\":\"p\"}"

/* Each member on a line of its own, for the tests that leave one out. */
static const char *const members[] = {
    "{\"v\":1", "\"log\":\"example.com/log\"", "\"checkpoint\":\"example.com/log\\n5\\n\"", "\"invoice\":" SALTED("{\\\"a\\\":\\\"\xc3\xa9\\\"}"),
    "\"terms\":" SALTED("{}"), "\"books\":[{\"text\":\"{}\",\"proof\":\"p\"},{\"text\":\"[]\",\"proof\":\"q\"}]",
    "\"days\":[" DAY("2026-10-01", "null") "," DAY("2026-10-31", "17") "]", "\"earlier\":[" SALTED("e") "]",
    "\"void\":" SALTED("v\\u0001\\r"), "\"consistency\":{\"from\":3,\"hashes\":[\"" HASH "\",\"" HASH "\"]}}"};
enum { V, LOG, CHECKPOINT, INVOICE, TERMS, BOOKS, DAYS, EARLIER, VOIDED, CONSISTENCY };
static const char *const names[] = {"v", "log", "checkpoint", "invoice", "terms", "books", "days", "earlier", "void", "consistency"};

static const char receipts[] = "{\"month\":\"2026-10\",\"log\":\"l\",\"checkpoint\":\"c\",\"days\":[" DAY("2026-10-01", "null") "]}";

/* The bundle with another text in one member's place; NULL: without it. */
static const char *with(int member, const char *text)
{
    static char out[4096];
    out[0] = '\0';
    for (int i = 0; i < (int)N(members); i++) {
        const char *one = i == member ? text : members[i];
        if (!one) continue;
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", *out ? "," : "", one);
    }
    return out;
}

/* Reads a copy of the text of just its length; the copy stays until the next call. */
static tb_code read_copy(const char *text, size_t len, tb_tollproof *bundle, tb_error *err)
{
    static char *copy;
    free(copy);
    copy = malloc(len + (len == 0));
    ck_assert(copy);
    memcpy(copy, text, len);
    return tb_tollproof_read(copy, len, bundle, err);
}

static void reads_back(const char *text)
{
    tb_tollproof bundle;
    tb_error err = {0};
    tb_buf out;
    ck_assert_msg(read_copy(text, strlen(text), &bundle, &err) == TB_OK, "%s: %s %s", text, err.field, err.message);
    tb_buf_init(&out, 1 << 20, NULL);
    tb_tollproof_write(&bundle, &out);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, text);
    tb_buf_release(&out);
    tb_tollproof_release(&bundle);
}

static void is_refused(const char *text, const char *field)
{
    tb_tollproof bundle;
    tb_error err = {0};
    ck_assert_msg(read_copy(text, strlen(text), &bundle, &err) == TB_E_VALIDATION, "%s", text);
    if (field) ck_assert_msg(strcmp(err.field, field) == 0, "%s: %s (%s)", text, err.field, err.message);
    ck_assert(err.byte > 0 && err.byte <= strlen(text) + 1 && err.message[0]);
}

static bool is(tb_text text, const char *want)
{
    return text.len == strlen(want) && memcmp(text.data, want, text.len) == 0;
}

START_TEST(all_members_are_read)
{
    tb_tollproof b;
    const char *text = with(-1, NULL);
    ck_assert_int_eq(read_copy(text, strlen(text), &b, NULL), TB_OK);
    ck_assert(!b.is_receipts && is(b.log, "example.com/log") && is(b.checkpoint, "example.com/log\n5\n"));
    ck_assert(is(b.invoice.text, "{\"a\":\"\xc3\xa9\"}") && is(b.invoice.proof, "p") && b.invoice.salt[31] == 0x1f);
    ck_assert(is(b.terms.text, "{}") && is(b.voided.text, "v\x01\r"));
    ck_assert(b.books.n == 2 && is(b.books.parts[1].text, "[]") && is(b.books.parts[1].proof, "q"));
    ck_assert(b.days.n == 2 && b.days.parts[0].of == -1 && b.days.parts[1].of == 17);
    ck_assert_int_eq(b.days.parts[1].day, tb_day_from_date((tb_date){2026, 10, 31}));
    ck_assert(is(b.days.parts[0].text, "zone 1\tEU\n") && b.earlier.n == 1 && is(b.earlier.parts[0].text, "e"));
    ck_assert(b.has_growth && b.growth_from == 3 && b.growth.n == 2);
    tb_tollproof_release(&b);
    ck_assert_int_eq(read_copy(receipts, sizeof receipts - 1, &b, NULL), TB_OK);
    ck_assert(b.is_receipts && b.month == 12 * 56 + 9 && b.days.n == 1 && !b.invoice.text.data && !b.voided.text.data);
    tb_tollproof_release(&b);
}
END_TEST

START_TEST(what_is_read_is_written_the_same)
{
    reads_back(with(-1, NULL));
    reads_back(with(VOIDED, NULL));
    reads_back(with(CONSISTENCY, "\"consistency\":null}"));
    reads_back(with(CONSISTENCY, "\"consistency\":{\"from\":0,\"hashes\":[]}}"));
    reads_back(with(BOOKS, "\"books\":[]"));
    reads_back(with(DAYS, "\"days\":[]"));
    reads_back(receipts);
    reads_back("{\"month\":\"2026-10\",\"log\":\"\",\"checkpoint\":\"\",\"days\":[]}");
}
END_TEST

/* Longer than what is quoted at once, with characters of two to four bytes across every edge. */
START_TEST(long_strings_are_written_the_same)
{
    static const char *const letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\t", "a"};
    for (size_t l = 0; l < N(letters); l++)
        for (int shift = 0; shift < 4; shift++) {
            char *text = malloc(64 * 1024), *at = text;
            ck_assert(text);
            at += sprintf(at, "{\"month\":\"2026-10\",\"log\":\"%.*s", shift, "xyz");
            for (int i = 0; i < 9000; i++)
                at += sprintf(at, "%s", letters[l]);
            sprintf(at, "\",\"checkpoint\":\"\",\"days\":[]}");
            reads_back(text);
            free(text);
        }
}
END_TEST

START_TEST(a_member_that_is_missing_doubled_or_unknown_is_refused)
{
    char text[4096];
    for (int i = 0; i < (int)N(members); i++) {
        if (i != VOIDED) is_refused(with(i, NULL), i == V || i == CONSISTENCY ? NULL : names[i]);
        const bool last = i == CONSISTENCY;
        snprintf(text, sizeof text, "%s,%s%s", members[i], members[i] + (i == V), last ? "}" : "");
        is_refused(with(i, text), NULL);
        snprintf(text, sizeof text, last ? "%.*s,\"more\":1}" : "%.*s,\"more\":1", (int)strlen(members[i]) - last, members[i]);
        is_refused(with(i, text), NULL);
        snprintf(text, sizeof text, "%s", with(-1, NULL)); /* cut off behind it */
        char *end = strstr(text, members[i]) + strlen(members[i]);
        *end = '\0';
        if (!last) is_refused(text, NULL);
    }
}
END_TEST

START_TEST(a_member_of_another_type_is_refused)
{
    static const char *const values[] = {"1", "true", "{}", "[]", "null", "\"text\"", "\"", "", "-1", "1.0", "[1]", "{\"a\":1}"};
    char text[256];
    for (int i = LOG; i <= CONSISTENCY; i++)
        for (size_t v = 0; v < N(values); v++) {
            const bool string = i == LOG || i == CHECKPOINT, list = i == BOOKS || i == DAYS || i == EARLIER;
            if ((string && v == 5) || (list && v == 3) || (i == CONSISTENCY && v == 4)) continue;
            snprintf(text, sizeof text, "\"%s\":%s%s", names[i], values[v], i == CONSISTENCY ? "}" : "");
            is_refused(with(i, text), NULL);
        }
    is_refused(with(V, "{\"v\":2"), NULL);
    is_refused(with(V, "{\"v\":\"1\""), "v");
}
END_TEST

START_TEST(a_part_in_another_form_is_refused)
{
    static const struct {
        int member;
        const char *text, *field;
    } wrong[] = {
        {INVOICE, "\"invoice\":{\"salt\":\"" SALT "\",\"text\":\"\",\"proof\":\"p\"}", "invoice.text"},
        {INVOICE, "\"invoice\":{\"text\":\"\",\"proof\":\"p\"}", "invoice.salt"},
        {INVOICE, "\"invoice\":{\"text\":\"\",\"salt\":\"AAEC\",\"proof\":\"p\"}", "invoice.salt"},
        {INVOICE, "\"invoice\":{\"text\":\"\",\"salt\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=\",\"proof\":\"p\"}", "invoice.salt"},
        {INVOICE, "\"invoice\":{\"text\":\"\",\"salt\":\"" SALT "\"}", "invoice.proof"},
        {INVOICE, "\"invoice\":{\"text\":null,\"salt\":\"" SALT "\",\"proof\":\"p\"}", "invoice.text"},
        {INVOICE, "\"invoice\":{\"text\":\"\",\"salt\":\"" SALT "\",\"proof\":\"p\",\"more\":1}", "invoice"},
        {BOOKS, "\"books\":[{\"text\":\"\",\"salt\":\"" SALT "\",\"proof\":\"p\"}]", "books[0].proof"},
        {BOOKS, "\"books\":[{\"text\":\"\",\"proof\":\"p\"},]", "books[1]"},
        {BOOKS, "\"books\":[{\"text\":\"\",\"proof\":\"p\"}", "books[1]"},
        {DAYS, "\"days\":[" DAY("2026-10-01", "null") "," DAY("2026-10-32", "null") "]", "days[1].day"},
        {DAYS, "\"days\":[" DAY("2026-10-01T00:00:00Z", "null") "]", "days[0].day"},
        {DAYS, "\"days\":[" DAY("2026-1-1", "null") "]", "days[0].day"},
        {DAYS, "\"days\":[" DAY("10-01-2026", "null") "]", "days[0].day"},
        {DAYS, "\"days\":[" DAY("2026-10-01", "01") "]", "days[0].of"},
        {DAYS, "\"days\":[" DAY("2026-10-01", "-1") "]", "days[0].of"},
        {DAYS, "\"days\":[" DAY("2026-10-01", "\"1\"") "]", "days[0].of"},
        {DAYS, "\"days\":[" DAY("2026-10-01", "9223372036854775808") "]", "days[0].of"},
        {CONSISTENCY, "\"consistency\":{\"from\":3,\"hashes\":[\"AAEC\"]}}", "consistency.hashes"},
        {CONSISTENCY, "\"consistency\":{\"from\":3,\"hashes\":[\"" HASH "\" ,\"" HASH "\"]}}", "consistency.hashes"},
        {CONSISTENCY, "\"consistency\":{\"from\":3,\"hashes\":[\"" HASH "\",]}}", "consistency.hashes"},
        {CONSISTENCY, "\"consistency\":{\"hashes\":[]}}", "consistency.from"},
        {CONSISTENCY, "\"consistency\":null}\n", ""},
        {CONSISTENCY, "\"consistency\":null} ", ""},
        {CONSISTENCY, "\"consistency\": null}", "consistency.from"},
    };
    for (size_t i = 0; i < N(wrong); i++)
        is_refused(with(wrong[i].member, wrong[i].text), wrong[i].field);
    is_refused("", "v");
    is_refused("{\"month\":\"2026-13\",\"log\":\"l\",\"checkpoint\":\"c\",\"days\":[]}", "month");
    is_refused("{\"month\":\"2026-10\",\"log\":\"l\",\"checkpoint\":\"c\",\"days\":[],\"earlier\":[]}", "");
}
END_TEST

START_TEST(strings_have_one_form)
{
    static const char *const wrong[] = {"\\u0041", "\\/", "\\u000a", "\\u001F", "\\ud83d\\ude00", "\\u00e9", "\\x", "\\", "\n", "\x01", "\xff", "\xc3",
                                        "\xc0\x80", "\xed\xa0\x80", "\\u0000", "\\u00"};
    char text[256];
    for (size_t i = 0; i < N(wrong); i++) {
        snprintf(text, sizeof text, "\"log\":\"%s\"", wrong[i]);
        is_refused(with(LOG, text), NULL);
    }
}
END_TEST

/* No byte can change without the text being refused or saying something else. */
START_TEST(one_text_is_one_bundle)
{
    static const char bytes[] = "0 \"\\\nntu{}[],:A=/";
    char text[4096], changed[4096];
    snprintf(text, sizeof text, "%s", with(-1, NULL));
    const size_t len = strlen(text);
    for (size_t at = 0; at < len; at++)
        for (size_t b = 0; b < sizeof bytes - 1; b++) {
            tb_tollproof bundle;
            tb_error err = {0};
            tb_buf out;
            memcpy(changed, text, len + 1);
            changed[at] = bytes[b];
            if (bytes[b] == text[at] || read_copy(changed, len, &bundle, &err) != TB_OK) continue;
            tb_buf_init(&out, 1 << 20, NULL);
            tb_tollproof_write(&bundle, &out);
            ck_assert_msg(out.len == len && memcmp(out.data, changed, len) == 0, "byte %zu: %s", at, changed);
            tb_buf_release(&out);
            tb_tollproof_release(&bundle);
        }
}
END_TEST

START_TEST(lists_have_a_maximum)
{
    static const char book[] = "{\"text\":\"\",\"proof\":\"\"}";
    char *text = malloc((TB_TOLLPROOF_LIST + 2) * sizeof book + 16), *at = text;
    ck_assert(text);
    at += sprintf(at, "\"books\":[%s", book);
    for (int i = 1; i < TB_TOLLPROOF_LIST; i++)
        at += sprintf(at, ",%s", book);
    char *all = malloc(strlen(text) + 4096);
    ck_assert(all);
    static const char *const ends[] = {"]", ",{\"text\":\"\",\"proof\":\"\"}]"};
    for (int over = 0; over < 2; over++) {
        sprintf(at, "%s", ends[over]);
        const char *head = with(BOOKS, "@"), *cut = strchr(head, '@');
        sprintf(all, "%.*s%s%s", (int)(cut - head), head, text, cut + 1);
        if (over) is_refused(all, "books[4096]");
        else reads_back(all);
    }
    free(all);
    free(text);
}
END_TEST

/* --- what is remembered --- */

#define VKEY "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define REMEMBERED "{\"key\":\"" VKEY "\",\"checkpoint\":\"a\\nb\"}"

static tb_check_log logs[TB_CHECK_LOGS_MAX];

static tb_code read_logs(const char *text, size_t *ret_n, tb_error *err)
{
    static char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    return tb_check_logs_read(copy, strlen(copy), logs, ret_n, err);
}

START_TEST(remembered_logs_are_written_the_same)
{
    static const char *const texts[] = {"{\"v\":1,\"logs\":[]}", "{\"v\":1,\"logs\":[" REMEMBERED "]}", "{\"v\":1,\"logs\":[" REMEMBERED "," REMEMBERED "]}"};
    for (size_t i = 0; i < N(texts); i++) {
        size_t n;
        tb_buf out;
        ck_assert_int_eq(read_logs(texts[i], &n, NULL), TB_OK);
        ck_assert_uint_eq(n, i);
        tb_buf_init(&out, 4096, NULL);
        tb_check_logs_write(logs, n, &out);
        tb_buf_add(&out, "", 1);
        ck_assert_str_eq(out.data, texts[i]);
        tb_buf_release(&out);
    }
    ck_assert(strcmp(logs[0].key.name, "PeterNeumann") == 0 && is(logs[0].checkpoint, "a\nb"));
}
END_TEST

START_TEST(other_texts_of_logs_are_refused)
{
    static const char *const wrong[] = {"", "{}", "{\"v\":1,\"logs\":[" REMEMBERED "]}\n", "{\"v\":1,\"logs\":[" REMEMBERED ",]}",
                                        "{\"v\":1,\"logs\":[{\"key\":\"a\",\"checkpoint\":\"\"}]}", "{\"v\":1,\"logs\":[{\"key\":\"" VKEY "\"}]}",
                                        "{\"v\":2,\"logs\":[]}"};
    for (size_t i = 0; i < N(wrong); i++) {
        size_t n;
        tb_error err = {0};
        ck_assert_msg(read_logs(wrong[i], &n, &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert(err.message[0] && err.byte);
    }
}
END_TEST

/* What is only stated is said where a document is right. */
START_TEST(limits_are_said)
{
    static const char *const words[] = {"all usage was recorded", "(--witness)", "(--since)", "that terms and prices are as agreed",
                                        "nothing was billed before of 2 months", "amounts of 3 earlier months that a commit counts"};
    tb_check_result result = {.log = "l", .size = 1, .rated = {.number = "1", .unbilled = 2, .stated = 3}};
    result.steps[TB_CHECK_RATING].state = TB_CHECK_OK;
    tb_buf out;
    tb_buf_init(&out, 1 << 16, NULL);
    tb_check_say(&result, "f", &out);
    tb_buf_add(&out, "", 1);
    for (size_t i = 0; i < N(words); i++)
        ck_assert_msg(strstr(out.data, words[i]) != NULL, "%s: %s", words[i], out.data);
    tb_buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check_bundle");
    TCase *tcase = tcase_create("bundle");
    tcase_add_test(tcase, all_members_are_read);
    tcase_add_test(tcase, what_is_read_is_written_the_same);
    tcase_add_test(tcase, long_strings_are_written_the_same);
    tcase_add_test(tcase, a_member_that_is_missing_doubled_or_unknown_is_refused);
    tcase_add_test(tcase, a_member_of_another_type_is_refused);
    tcase_add_test(tcase, a_part_in_another_form_is_refused);
    tcase_add_test(tcase, strings_have_one_form);
    tcase_add_test(tcase, one_text_is_one_bundle);
    tcase_add_test(tcase, lists_have_a_maximum);
    tcase_add_test(tcase, remembered_logs_are_written_the_same);
    tcase_add_test(tcase, other_texts_of_logs_are_refused);
    tcase_add_test(tcase, limits_are_said);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
