/* The shapes of refusals: each family's body at its statuses (contract 0.2, 6, 7, 8). */
#include "http/errors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const error_place place = {.path = {"/mc/apps", 8}, .id = {"0123456789abcdef", 16}};

static void gives(error_family family, tb_code code, const char *field, const char *body)
{
    tb_error err;
    tb_buf out;
    tb_buf_init(&out, 4096, NULL);
    tb_fail(&err, code, field, "A \"sentence\".");
    errors_put(family, &err, place, &out);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    ck_assert_msg(out.len == strlen(body) && memcmp(out.data, body, out.len) == 0, "%.*s",
                  (int)out.len, out.data);
    tb_buf_release(&out);
}

START_TEST(each_family_has_its_shape)
{
    gives(ERRORS_CORE, TB_E_NOT_FOUND, "Key",
          "{\"ErrorKey\":\"resource.not_found\",\"Field\":\"Key\","
          "\"Message\":\"A \\\"sentence\\\".\"}");
    gives(ERRORS_LOGGING, TB_E_RATE_LIMITED, NULL,
          "{\"error\":{\"code\":\"rate_limited\",\"message\":\"A \\\"sentence\\\".\","
          "\"details\":[]}}");
    gives(ERRORS_SHIELD, TB_E_VALIDATION, "to",
          "{\"type\":\"https://tools.ietf.org/html/rfc7231#section-6.5.1\","
          "\"title\":\"Bad Request\",\"status\":400,\"detail\":\"A \\\"sentence\\\".\","
          "\"instance\":\"/mc/apps\"}");
}
END_TEST

#define DETAILS(title, status, errors)                                                             \
    "{\"title\":\"" title "\",\"status\":" status ",\"detail\":\"A \\\"sentence\\\".\","           \
    "\"instance\":\"/mc/apps\",\"errors\":[" errors "],\"id\":\"0123456789abcdef\"}"

START_TEST(containers_have_details_but_a_problem_at_401)
{
    gives(ERRORS_CONTAINER, TB_E_VALIDATION, "limit",
          DETAILS("Validation Error", "400",
                  "{\"field\":\"limit\",\"message\":\"A \\\"sentence\\\".\"}"));
    gives(ERRORS_CONTAINER, TB_E_NOT_FOUND, NULL, DETAILS("Not Found", "404", ""));
    gives(ERRORS_CONTAINER, TB_E_INTERNAL, NULL, DETAILS("Internal Server Error", "500", ""));
    gives(ERRORS_CONTAINER, TB_E_UNAUTHORIZED, NULL,
          "{\"type\":\"https://tools.ietf.org/html/rfc7235#section-3.1\","
          "\"title\":\"Unauthorized\",\"status\":401,\"detail\":\"A \\\"sentence\\\".\","
          "\"instance\":\"/mc/apps\"}");
    gives(ERRORS_REGISTRY, TB_E_UNAUTHORIZED, NULL, DETAILS("Unauthorized", "401", ""));
}
END_TEST

/* Every code of the table has a body in every family. */
START_TEST(every_code_is_answered_in_every_family)
{
    tb_buf out;
    tb_buf_init(&out, 1 << 20, NULL);
    for (int code = TB_OK + 1; code < TB_E_MAX_; code++)
        for (int family = 0; family < ERRORS_FAMILIES; family++) {
            tb_error err;
            tb_fail(&err, (tb_code)code, NULL, NULL);
            size_t before = out.len;
            errors_put((error_family)family, &err, (error_place){0}, &out);
            ck_assert_uint_gt(out.len, before + 20);
        }
    tb_buf_release(&out);
}
END_TEST

/* A status that has no row of its own is titled as its class is. */
START_TEST(a_status_without_a_row_has_its_class_s_words)
{
    gives(ERRORS_SHIELD, TB_E_URI_TOO_LONG, NULL,
          "{\"type\":\"https://tools.ietf.org/html/rfc7231#section-6.5.1\","
          "\"title\":\"Bad Request\",\"status\":414,\"detail\":\"A \\\"sentence\\\".\","
          "\"instance\":\"/mc/apps\"}");
    gives(ERRORS_SHIELD, TB_E_NOT_IMPLEMENTED, NULL,
          "{\"type\":\"https://tools.ietf.org/html/rfc7231#section-6.6.1\","
          "\"title\":\"Internal Server Error\",\"status\":501,\"detail\":\"A \\\"sentence\\\".\","
          "\"instance\":\"/mc/apps\"}");
    gives(ERRORS_LOGGING, TB_E_HEADERS_TOO_LARGE, NULL,
          "{\"error\":{\"code\":\"invalid_request\",\"message\":\"A \\\"sentence\\\".\","
          "\"details\":[]}}");
    gives(ERRORS_LOGGING, TB_E_NOT_IMPLEMENTED, NULL,
          "{\"error\":{\"code\":\"internal_error\",\"message\":\"A \\\"sentence\\\".\","
          "\"details\":[]}}");
}
END_TEST


int main(void)
{
    Suite *s = suite_create("errors");
    TCase *t = tcase_create("errors");
    tcase_add_test(t, each_family_has_its_shape);
    tcase_add_test(t, containers_have_details_but_a_problem_at_401);
    tcase_add_test(t, every_code_is_answered_in_every_family);
    tcase_add_test(t, a_status_without_a_row_has_its_class_s_words);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
