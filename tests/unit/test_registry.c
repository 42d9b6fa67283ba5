/* The words between a registry and its askers: names, tags, digests, challenges. */
#include "registry/registry.h"

#include <check.h>
#include <string.h>

static bool is_name(const char *text)
{
    return registry_is_name(text, strlen(text));
}

static bool is_tag(const char *text)
{
    return registry_is_tag(text, strlen(text));
}

START_TEST(names_are_lower_case_words_joined_one_way)
{
    static const char *const good[] = {"a",    "0",   "a/b",   "a.b",     "a_b",
                                       "a__b", "a-b", "a---b", "az09/0z", "aa"};
    static const char *const bad[] = {"",      "A",    "aB",   "/a",   "a/",   "a//b", "a..b",
                                      "a___b", "a_-b", "a-_b", "a._b", "a/-b", "-a",   "a_",
                                      "a b",   "a:b",  "a{b",  "a`b",  "a?b",  "a%2f", "../a"};
    char text[258];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(is_name(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!is_name(bad[i]), "%s", bad[i]);
    memset(text, 'a', sizeof text);
    ck_assert(registry_is_name(text, 255));
    ck_assert(!registry_is_name(text, 256));
}
END_TEST

START_TEST(tags_are_words_of_at_most_128)
{
    static const char *const good[] = {"1", "a", "z", "A", "Z", "_", "v1.0-rc_2", "0."};
    static const char *const bad[] = {"", ".a", "-a", "a/b", "a:b", "a b", "a@b", "a[b", "a\x80"};
    char text[130];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(is_tag(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!is_tag(bad[i]), "%s", bad[i]);
    memset(text, 'a', sizeof text);
    ck_assert(registry_is_tag(text, 128));
    ck_assert(!registry_is_tag(text, 129));
}
END_TEST

START_TEST(digests_are_64_digits_of_sha256)
{
    char text[REGISTRY_DIGEST + 2] = "sha256:";
    memset(text + 7, 'f', 64);
    ck_assert(registry_is_digest(text));
    text[REGISTRY_DIGEST] = 'f';
    ck_assert(!registry_is_digest(text));
    text[REGISTRY_DIGEST - 1] = text[REGISTRY_DIGEST] = 0;
    ck_assert(!registry_is_digest(text));
    text[REGISTRY_DIGEST - 1] = 'F';
    ck_assert(!registry_is_digest(text));
    ck_assert(!registry_is_digest("sha512:"));
}
END_TEST

#define CHALLENGE                                                                                  \
    "Bearer scope=\"realm=\\\"no\\\", a\", REALM = x, Realm=\"https://a/t\",\tservice=plain,"      \
    "error=\"\""

START_TEST(parameters_of_a_challenge_are_found_by_their_whole_name)
{
    char out[12];
    ck_assert(registry_parameter(CHALLENGE, "realm", out, sizeof out)); /* 11 bytes and the end */
    ck_assert_str_eq(out, "https://a/t");
    ck_assert(!registry_parameter(CHALLENGE, "realm", out, sizeof out - 1));
    ck_assert(registry_parameter(CHALLENGE, "service", out, sizeof out));
    ck_assert_str_eq(out, "plain");
    ck_assert(registry_parameter(CHALLENGE, "error", out, sizeof out));
    ck_assert_str_eq(out, "");
    ck_assert(!registry_parameter(CHALLENGE, "serv", out, sizeof out));
    ck_assert(!registry_parameter(CHALLENGE, "services", out, sizeof out));
    ck_assert(!registry_parameter("Bearer", "realm", out, sizeof out));
    char scope[32];
    ck_assert(registry_parameter(CHALLENGE, "scope", scope, sizeof scope));
    ck_assert_str_eq(scope, "realm=\"no\", a");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("registry");
    tcase_add_test(t, names_are_lower_case_words_joined_one_way);
    tcase_add_test(t, tags_are_words_of_at_most_128);
    tcase_add_test(t, digests_are_64_digits_of_sha256);
    tcase_add_test(t, parameters_of_a_challenge_are_found_by_their_whole_name);
    Suite *s = suite_create("registry");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
