/* Continuation tokens: what was put in comes out, for one account, shield zone and day alone. */
#include "tollbook/event.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t secret[TB_EVENT_SECRET] = {1, 2, 3};
static const tb_event_scope scope = {.account = 1, .zone = 42, .day = 20777};

static tb_text text_of(const char *token)
{
    return (tb_text){token, strlen(token)};
}

static tb_event_place place_of(const char *id, bool after)
{
    tb_event_place place = {.after = after};
    tb_event_key_set(&place.key, INT64_C(1795132800000), id, strlen(id));
    return place;
}

START_TEST(a_token_names_its_place)
{
    static const char *const ids[] = {
        "a", "0123456789abcdef0123456789abcdef",
        "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (int after = 0; after < 2; after++) {
            char token[TB_EVENT_TOKEN_MAX];
            const tb_event_place place = place_of(ids[i], after);
            tb_event_place got;
            tb_event_token(secret, &scope, &place, token);
            ck_assert_uint_eq(strspn(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_"),
                              strlen(token));
            ck_assert(tb_event_token_read(secret, &scope, text_of(token), &got));
            ck_assert_int_eq(got.after, after);
            ck_assert_int_eq(tb_event_key_compare(&got.key, &place.key), 0);
        }
}
END_TEST

START_TEST(it_holds_for_nothing_else)
{
    char token[TB_EVENT_TOKEN_MAX];
    const tb_event_place place = place_of("id", true);
    tb_event_place got;
    const uint8_t other[TB_EVENT_SECRET] = {1, 2, 4};
    const tb_event_scope scopes[] = {{2, 42, 20777}, {1, 43, 20777}, {1, 42, 20776}, {42, 1, 20777}};
    tb_event_token(secret, &scope, &place, token);
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        ck_assert(!tb_event_token_read(secret, &scopes[i], text_of(token), &got));
    ck_assert(!tb_event_token_read(other, &scope, text_of(token), &got));
}
END_TEST

/* Any other text in its place: each character replaced, each length, things added. */
START_TEST(it_cannot_be_changed)
{
    char token[TB_EVENT_TOKEN_MAX + 8];
    const tb_event_place place = place_of("0123456789abcdef0123456789abcdef", true);
    tb_event_place got;
    tb_event_token(secret, &scope, &place, token);
    const size_t len = strlen(token);
    for (size_t i = 0; i < len; i++) {
        const char was = token[i];
        for (const char *c = "AQgw09-_.=/ %"; *c; c++) {
            token[i] = *c;
            if (*c != was) ck_assert(!tb_event_token_read(secret, &scope, text_of(token), &got));
        }
        token[i] = was;
    }
    for (size_t n = 0; n < len; n++)
        ck_assert(!tb_event_token_read(secret, &scope, (tb_text){token, n}, &got));
    memcpy(token + len, "A", 2);
    ck_assert(!tb_event_token_read(secret, &scope, text_of(token), &got));
    memcpy(token + len, "=", 2);
    ck_assert(!tb_event_token_read(secret, &scope, text_of(token), &got));
    char longest[4000];
    memset(longest, 'A', sizeof longest);
    ck_assert(!tb_event_token_read(secret, &scope, (tb_text){longest, sizeof longest}, &got));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event token");
    TCase *tc = tcase_create("tokens");
    tcase_add_test(tc, a_token_names_its_place);
    tcase_add_test(tc, it_holds_for_nothing_else);
    tcase_add_test(tc, it_cannot_be_changed);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
