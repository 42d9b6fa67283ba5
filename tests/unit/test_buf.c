/* The bounded buffer: what is formatted into it, at every room that it may have; and base64. */
#include "tollbook/buf.h"

#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 600

static const char *xs(int n)
{
    static char text[LONGEST + 1];
    memset(text, 'x', (size_t)n);
    text[n] = 0;
    return text;
}

/* The first room is 256 bytes, the next one 512. */
START_TEST(formatted_text_is_whole_at_any_room)
{
    for (int before = 0; before <= 520; before++) {
        for (int n = 0; n <= 4; n++) {
            tb_buf buf;
            tb_buf_init(&buf, 4096, NULL);
            tb_buf_str(&buf, xs(before));
            tb_buf_fmt(&buf, "%s%d", xs(n), 7);
            ck_assert_uint_eq(buf.len, (size_t)(before + n + 1));
            tb_buf_add(&buf, "", 1);
            ck_assert(!buf.failed);
            ck_assert_int_eq(buf.data[before + n], '7');
            ck_assert_uint_eq(strspn(buf.data, "x"), (size_t)(before + n));
            tb_buf_release(&buf);
        }
    }
}
END_TEST

START_TEST(formatted_text_past_the_limit_is_a_failure_that_stays)
{
    for (int before = 0; before <= 300; before++) {
        tb_buf buf;
        tb_buf_init(&buf, 300, NULL);
        tb_buf_fmt(&buf, "%s", xs(before));
        ck_assert_int_eq(buf.failed, before >= 300); /* and its zero byte */
        tb_buf_fmt(&buf, "%s", xs(400));
        ck_assert(buf.failed);
        const size_t len = buf.len;
        tb_buf_fmt(&buf, "%d", 1);
        ck_assert_uint_eq(buf.len, len);
        ck_assert_uint_eq(len, before >= 300 ? 0 : (size_t)before);
        tb_buf_release(&buf);
    }
}
END_TEST

START_TEST(a_cell_of_csv_is_text_to_a_spreadsheet)
{
    static const struct {
        const char *text, *cell;
    } rows[] = {
        {"", ""}, {"a", "a"}, {"a=1", "a=1"}, {"a,b", "\"a,b\""}, {"a\"b\"", "\"a\"\"b\"\"\""}, {"'a", "'a"},
        {"=1", "'=1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@1", "'@1"}, {" =1", "' =1"}, {"\t=1", "'\t=1"},
        {"\r=1", "\"'\r=1\""}, {"\n=1", "\"'\n=1\""}, {"=\"a\",b", "\"'=\"\"a\"\",b\""},
        {"\uff1d1", "'\uff1d1"}, {"\uff0b1", "'\uff0b1"}, {"\uff0d1", "'\uff0d1"}, {"\uff201", "'\uff201"},
        {"\u00a0=1", "'\u00a0=1"}, {"\u2003=1", "'\u2003=1"}, {"\u3000=1", "'\u3000=1"}, {"\ufeff=1", "'\ufeff=1"},
        {"\uff1e1", "\uff1e1"}, {"\u20141", "\u20141"}, {"\u00e41", "\u00e41"}, {"\xe2", "\xe2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tb_buf out;
        const size_t len = strlen(rows[i].text);
        tb_buf_init(&out, 100, NULL);
        tb_buf_csv_cell(&out, rows[i].text, len);
        ck_assert_uint_eq(out.len, strlen(rows[i].cell));
        ck_assert_mem_eq(out.len ? out.data : "", rows[i].cell, out.len);
        ck_assert(tb_csv_cell_plain(rows[i].text, len) == (strcmp(rows[i].text, rows[i].cell) == 0));
        tb_buf_release(&out);
    }
}
END_TEST

/* Whatever is decoded is written back as the same text: no byte stands for another one. */
START_TEST(only_the_text_of_the_bytes_is_base64)
{
    static const int variants[] = {[TB_BASE64] = sodium_base64_VARIANT_ORIGINAL, [TB_BASE64_URL] = sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    static const char *const bases[] = {[TB_BASE64] = "AAAA/w==", [TB_BASE64_URL] = "AAAA_w"};
    for (int form = TB_BASE64; form <= TB_BASE64_URL; form++) {
        unsigned char bytes[8];
        char text[20], again[20];
        size_t len, taken = 0;
        for (size_t at = 0; at < strlen(bases[form]); at++) {
            for (int byte = 0; byte < 256; byte++) {
                snprintf(text, sizeof text, "%s", bases[form]);
                text[at] = (char)byte;
                if (!tb_base64_read((tb_text){text, strlen(bases[form])}, (tb_base64)form, bytes, sizeof bytes, &len)) continue;
                taken++;
                ck_assert_str_eq(sodium_bin2base64(again, sizeof again, bytes, len, variants[form]), text);
            }
        }
        ck_assert_uint_gt(taken, 4 * 64);
        ck_assert(!tb_base64_read((tb_text){bases[form], strlen(bases[form])}, (tb_base64)form, bytes, 3, &len)); /* no room */
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buf");
    TCase *t = tcase_create("buf");
    tcase_add_test(t, formatted_text_is_whole_at_any_room);
    tcase_add_test(t, a_cell_of_csv_is_text_to_a_spreadsheet);
    tcase_add_test(t, formatted_text_past_the_limit_is_a_failure_that_stays);
    tcase_add_test(t, only_the_text_of_the_bytes_is_base64);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
