/* The bounded buffer: what is formatted into it, at every room that it may have. */
#include "tollbook/buf.h"

#include <check.h>
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

int main(void)
{
    Suite *suite = suite_create("buf");
    TCase *t = tcase_create("buf");
    tcase_add_test(t, formatted_text_is_whole_at_any_room);
    tcase_add_test(t, a_cell_of_csv_is_text_to_a_spreadsheet);
    tcase_add_test(t, formatted_text_past_the_limit_is_a_failure_that_stays);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
