/* Query strings, Accept-Encoding, entity tags, media types. */
#include <check.h>
#include <stddef.h>
#include <string.h>

#include "http/media.h"
#include "http/query.h"

typedef struct params {
    tb_text text;
    bool flag;
    int64_t number;
} params;

static const query_spec specs[] = {
    {"text", QUERY_TEXT, offsetof(params, text)},
    {"flag", QUERY_BOOL, offsetof(params, flag)},
    {"aNumber", QUERY_INT, offsetof(params, number)},
};

static char scratch[4096];

static tb_code parse(const char *query, params *p, tb_error *err)
{
    *p = (params){.number = -1};
    return query_parse(query, strlen(query), specs, 3, p, scratch, err);
}

static void text_is(const char *query, const char *value)
{
    params p;
    ck_assert_int_eq(parse(query, &p, NULL), TB_OK);
    ck_assert_msg(p.text.len == strlen(value) && memcmp(p.text.data, value, p.text.len) == 0, "%s",
                  query);
}

START_TEST(texts_are_decoded)
{
    text_is("text=a", "a");
    text_is("text=a%2Fb%2fc", "a/b/c");
    text_is("text=a+b%2Bc", "a b+c");
    text_is("%74ext=%c3%a4", "\xc3\xa4");
    text_is("TEXT=a=b==", "a=b==");
    text_is("text=%", "%");
    text_is("text=%4", "%4");
    text_is("text=%zz", "%zz");
}
END_TEST

START_TEST(unknown_and_empty_are_absent_and_the_last_wins)
{
    params p;
    ck_assert_int_eq(parse("", &p, NULL), TB_OK);
    ck_assert_ptr_null(p.text.data);
    ck_assert_int_eq(parse("&&x=1&=2&text&flag=&aNumber=&textt=1&tex=1", &p, NULL), TB_OK);
    ck_assert(p.text.data == NULL && !p.flag && p.number == -1);
    text_is("text=a&text=b", "b");
    text_is("text=a&text=", "a");
    ck_assert_int_eq(parse("aNumber=1&flag=true&ANUMBER=2&flag=0", &p, NULL), TB_OK);
    ck_assert(p.number == 2 && !p.flag);
}
END_TEST

START_TEST(several_texts_do_not_overlap)
{
    static const query_spec two[] = {{"a", QUERY_TEXT, 0}, {"b", QUERY_TEXT, sizeof(tb_text)}};
    tb_text out[2] = {{0}};
    const char *query = "a=one%20&b=two&x=three";
    ck_assert_int_eq(query_parse(query, strlen(query), two, 2, out, scratch, NULL), TB_OK);
    ck_assert_int_eq(memcmp(out[0].data, "one ", 4), 0);
    ck_assert_int_eq(memcmp(out[1].data, "two", 3), 0);
}
END_TEST

START_TEST(errors_name_the_parameter_as_documented)
{
    params p;
    tb_error err;
    ck_assert_int_eq(parse("anumber=x", &p, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "aNumber");
    ck_assert_int_eq(parse("text=a&flag=yes", &p, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "flag");
}
END_TEST

START_TEST(numbers_have_one_spelling)
{
    static const char *const bad[] = {"", "-", "+1", "01", "-0", "-01", "1 ", "1e3", "0x1", "--1",
                                      "9223372036854775808", "-9223372036854775809",
                                      "99999999999999999999"};
    int64_t n = 0;
    ck_assert(query_int("0", 1, &n) && n == 0);
    ck_assert(query_int("-1", 2, &n) && n == -1);
    ck_assert(query_int("9223372036854775807", 19, &n) && n == INT64_MAX);
    ck_assert(query_int("-9223372036854775808", 20, &n) && n == INT64_MIN);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!query_int(bad[i], strlen(bad[i]), &n), "%s", bad[i]);
}
END_TEST

START_TEST(booleans_have_eight_spellings)
{
    static const char *const yes[] = {"true", "True", "TRUE", "1"};
    static const char *const no[] = {"false", "False", "FALSE", "0"};
    static const char *const bad[] = {"", "tRUE", "yes", "2", "01", "true ", "on", "truee"};
    bool value = false;
    for (size_t i = 0; i < 4; i++) {
        ck_assert(query_bool(yes[i], strlen(yes[i]), &value) && value);
        ck_assert(query_bool(no[i], strlen(no[i]), &value) && !value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!query_bool(bad[i], strlen(bad[i]), &value), "%s", bad[i]);
}
END_TEST

static bool accepts(const char *value)
{
    return query_accepts_gzip((tb_text){value, strlen(value)});
}

START_TEST(gzip_is_taken_where_it_is_no_worse_than_identity)
{
    static const char *const yes[] = {"gzip", "x-gzip", "GZip", "*", "gzip;q=0.001", "gzip;q=1.0",
                                      "a, gzip", ",,gzip,", "gzip ; q=0.5 , br", "identity;q=0.5, *",
                                      "gzip;q=0.5, identity;q=0.5", "gzip;Q=1"};
    static const char *const no[] = {"", "br", "identity", "gzip;q=0", "*;q=0", "gzip;q=0.000",
                                     "gzip;q=0.4, identity;q=0.5", "gzip;q=1.5", "gzip;q=", "gzip;x=1",
                                     "gzip;q=0.1234", "gzi", "gzipp", "*, gzip;q=0", "gzip;q=1x"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(accepts(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!accepts(no[i]), "%s", no[i]);
    ck_assert(!query_accepts_gzip((tb_text){0}));
}
END_TEST

/* The tags of a header, joined by '|', a star as itself. */
static const char *tags(const char *value)
{
    static char out[256];
    tb_text header = {value, strlen(value)}, tag;
    size_t at = 0, n = 0;
    bool star;
    while (query_next_tag(header, &at, &tag, &star)) {
        memcpy(out + n, tag.data, tag.len);
        n += tag.len;
        out[n++] = '|';
    }
    out[n] = 0;
    return out;
}

START_TEST(tags_are_walked)
{
    ck_assert_str_eq(tags("\"a\""), "a|");
    ck_assert_str_eq(tags(" \"a\" , W/\"b\",\"\",\"c,d\" "), "a|b||c,d|");
    ck_assert_str_eq(tags("*"), "*|");
    ck_assert_str_eq(tags(""), "");
    ck_assert_str_eq(tags("a"), "");
    ck_assert_str_eq(tags("\"a"), "");
    ck_assert_str_eq(tags("\"a\", b, \"c\""), "a|");
    ck_assert_str_eq(tags("W/"), "");
    ck_assert_str_eq(tags("\""), "");
}
END_TEST

static tb_text text(const char *value)
{
    return (tb_text){value, strlen(value)};
}

START_TEST(codings_and_types)
{
    ck_assert_int_eq(media_coding_parse((tb_text){0}), MEDIA_ABSENT);
    ck_assert_int_eq(media_coding_parse(text("GZIP")), MEDIA_GZIP);
    ck_assert_int_eq(media_coding_parse(text("zstd")), MEDIA_ZSTD);
    ck_assert_int_eq(media_coding_parse(text("identity")), MEDIA_IDENTITY);
    ck_assert_int_eq(media_coding_parse(text("")), MEDIA_UNKNOWN);
    ck_assert_int_eq(media_coding_parse(text("gzip, zstd")), MEDIA_UNKNOWN);
    ck_assert(media_type_fits(ROUTE_JSON, (tb_text){0}));
    ck_assert(media_type_fits(ROUTE_JSON, text("Application/JSON; charset=utf-8")));
    ck_assert(media_type_fits(ROUTE_JSON, text("application/vnd.x+json")));
    ck_assert(!media_type_fits(ROUTE_JSON, text("application/+json")));
    ck_assert(!media_type_fits(ROUTE_JSON, text("text/plain")));
    ck_assert(!media_type_fits(ROUTE_JSON, text("")));
    ck_assert(media_type_fits(ROUTE_BYTES, text("text/plain ;charset=x")));
    ck_assert(media_type_fits(ROUTE_BYTES, text("application/x-www-form-urlencoded")));
    ck_assert(!media_type_fits(ROUTE_BYTES, text("application/vnd.x+json")));
    ck_assert(!media_type_fits(ROUTE_BYTES, text("multipart/form-data")));
}
END_TEST

static void chooses(const char *accept, size_t index)
{
    static const char *const types[] = {"application/json", "text/csv", "text/html"};
    tb_text text = {accept, accept ? strlen(accept) : 0};
    ck_assert_msg(query_choose_type(text, types, 3) == index, "%s", accept ? accept : "(none)");
}

START_TEST(media_types_are_chosen_by_weight_then_exactness)
{
    chooses(NULL, 0);
    chooses("*/*", 0);
    chooses("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 2);
    chooses("TEXT/CSV", 1);
    chooses("text/*", 1);
    chooses("text/*;q=0.5, text/csv;q=0.1", 2);
    chooses("application/json;q=0.2 , text/html;q=0.3", 2);
    chooses("application/json;q=0, */*", 1);
    chooses("image/png", 3);
    chooses("", 3);
    chooses("text", 3);
    chooses("application/json;q=x", 3);
    chooses("text/html;charset=utf-8", 2);
    chooses("text/csv;header=present;q=0.4,application/json; charset=utf-8 ; q=0.5", 0);
    chooses("text/csv;a;b=c;q=0.4;ext=1, application/json;q=0.3", 1);
    chooses("text/csv;header=present;q=0", 3);
    chooses("text/csv;header=present;q=2", 3);
    chooses("text/csv header", 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, texts_are_decoded);
    tcase_add_test(tc, media_types_are_chosen_by_weight_then_exactness);
    tcase_add_test(tc, unknown_and_empty_are_absent_and_the_last_wins);
    tcase_add_test(tc, several_texts_do_not_overlap);
    tcase_add_test(tc, errors_name_the_parameter_as_documented);
    tcase_add_test(tc, numbers_have_one_spelling);
    tcase_add_test(tc, booleans_have_eight_spellings);
    tcase_add_test(tc, gzip_is_taken_where_it_is_no_worse_than_identity);
    tcase_add_test(tc, tags_are_walked);
    tcase_add_test(tc, codings_and_types);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
