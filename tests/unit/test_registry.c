/* The words between a registry and its askers: names, tags, digests, challenges; and what is asked
 * and answered, with a listener in a registry's place. Real registries are asked in
 * tests/http/test_digest.py. */
#include "registry/registry.h"
#include "unit/listener.h"

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

/* --- asking --- */

#define ASKS     4
#define MANIFEST "{\"schemaVersion\":2}"
#define HASH     "sha256:bafebd36189ad3688b7b3915ea55d461e0bfcfbdde11e54b0a123999fb6be50f"
#define OTHER    "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define FOUND    "HTTP/1.1 200 OK\r\ndocker-content-digest: \t" OTHER " \r\nContent-Length: 9\r\n\r\n"
#define NO_HEAD  "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
#define WHOLE    "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n" MANIFEST

typedef struct stand_in {
    listener l;
    registry_question q;
    char url[64], realm[64], answers[ASKS][512], requests[ASKS][2048], digest[REGISTRY_DIGEST + 1];
    int n;
    tb_error err;
} stand_in;

static const char *answer_next(void *ctx, const char *request)
{
    stand_in *s = ctx;
    if (s->n == ASKS) return "";
    snprintf(s->requests[s->n], sizeof s->requests[0], "%s", request);
    return s->answers[s->n++];
}

static stand_in *new_stand_in(void)
{
    stand_in *s = calloc(1, sizeof *s);
    listener_start(&s->l, answer_next, s);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->l.port);
    s->q = (registry_question){.url = s->url,
                               .realm = "",
                               .username = "",
                               .password = "",
                               .repository = "a/b",
                               .tag = "v1",
                               .limit_us = 20000000};
    return s;
}

static void end_stand_in(stand_in *s)
{
    listener_stop(&s->l);
    free(s);
}

static tb_code ask_answered(stand_in *s, const char *first, const char *second)
{
    snprintf(s->answers[0], sizeof s->answers[0], "%s", first);
    snprintf(s->answers[1], sizeof s->answers[1], "%s", second);
    s->n = 0;
    memset(s->digest, 0, sizeof s->digest);
    return registry_digest(&s->q, s->digest, &s->err);
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "lacks %s: %s", part, text);
}

START_TEST(a_digest_is_what_the_head_says)
{
    stand_in *s = new_stand_in();
    ck_assert_int_eq(ask_answered(s, FOUND, ""), TB_OK);
    ck_assert_str_eq(s->digest, OTHER);
    ck_assert_int_eq(s->n, 1);
    has(s->requests[0], "HEAD /v2/a/b/manifests/v1 HTTP/1.1\r\n");
    has(s->requests[0], "\r\nAccept: application/vnd.oci.image");
    ck_assert_ptr_null(strstr(s->requests[0], "Authorization"));
    s->q.username = "user";
    s->q.password = "word";
    ck_assert_int_eq(ask_answered(s, FOUND, ""), TB_OK);
    has(s->requests[0], "\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n");
    end_stand_in(s);
}
END_TEST

START_TEST(without_a_digest_in_the_head_it_is_the_manifests_hash)
{
    static const char *const heads[] = {
        NO_HEAD,
        "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nDocker-Content-Digest: sha256:f\r\n\r\n",
        "HTTP/1.1 200 OK\r\nDocker-Content-Digest: " OTHER "\r\nDocker-Content-Digest: " OTHER
        "\r\n\r\n",
    };
    stand_in *s = new_stand_in();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        ck_assert_msg(ask_answered(s, heads[i], WHOLE) == TB_OK, "%zu: %s", i, s->err.message);
        ck_assert_str_eq(s->digest, HASH);
        has(s->requests[1], "GET /v2/a/b/manifests/v1 HTTP/1.1\r\n");
    }
    ck_assert_int_eq(ask_answered(s, NO_HEAD,
                                  "HTTP/1.1 200 OK\r\nDocker-Content-Digest: " OTHER
                                  "\r\nContent-Length: 19\r\n\r\n" MANIFEST),
                     TB_E_REGISTRY);
    has(s->err.message, "digest is " OTHER "; it is " HASH);
    ck_assert_int_eq(
        ask_answered(s, NO_HEAD,
                     "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"schemaVersion\":1}"),
        TB_E_REGISTRY);
    has(s->err.message, "did not answer with a manifest");
    ck_assert_int_eq(
        ask_answered(s, NO_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" MANIFEST),
        TB_E_REGISTRY);
    end_stand_in(s);
}
END_TEST

START_TEST(a_status_says_whose_business_it_is)
{
    static const struct {
        const char *status, *words;
        tb_code code;
    } cases[] = {
        {"404 Not Found", "no such image or tag", TB_E_IMAGE},
        {"401 Unauthorized", "it is private", TB_E_IMAGE},
        {"403 Forbidden", "it is private", TB_E_IMAGE},
        {"300 Choices", "redirects are not followed", TB_E_REGISTRY},
        {"399 Odd", "redirects are not followed", TB_E_REGISTRY},
        {"400 Bad", "answers HTTP 400 for a manifest", TB_E_REGISTRY},
        {"502 Bad Gateway", "answers HTTP 502 for a manifest", TB_E_REGISTRY},
    };
    stand_in *s = new_stand_in();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char answer[128];
        snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n",
                 cases[i].status);
        ck_assert_msg(ask_answered(s, answer, WHOLE) == cases[i].code, "%s", cases[i].status);
        has(s->err.message, cases[i].words);
        ck_assert_int_eq(s->n, 1);
    }
    ck_assert_int_eq(
        ask_answered(s, NO_HEAD, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        TB_E_IMAGE);
    end_stand_in(s);
}
END_TEST

/* Asks with the declared realm; the challenge names `realm` in front of `more`. */
static tb_code ask_with_token(stand_in *s, const char *realm, const char *more, const char *token)
{
    char challenge[512];
    snprintf(s->realm, sizeof s->realm, "%s/token", s->url);
    s->q.realm = s->realm;
    snprintf(challenge, sizeof challenge,
             "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x, Bearer realm=y\", "
             "bearer realm=\"%s\"%s\r\n"
             "Content-Length: 0\r\n\r\n",
             *realm ? realm : s->realm, more);
    snprintf(s->answers[2], sizeof s->answers[2], "%s", FOUND);
    return ask_answered(s, challenge, token);
}

START_TEST(a_token_is_asked_for_where_the_catalogue_says)
{
    static const char *const none[] = {
        "{}", "{\"token\":\"\"}", "{\"token\":\"a b\"}", "{\"token\":1}", "no", ""};
    stand_in *s = new_stand_in();
    char answer[128];
    s->q.username = "user";
    s->q.password = "word";
    ck_assert_int_eq(
        ask_with_token(s, "", ",service=\"a registry\"",
                       "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"token\":\"t0k\"}"),
        TB_OK);
    ck_assert_str_eq(s->digest, OTHER);
    ck_assert_int_eq(s->n, 3);
    ck_assert_ptr_null(strstr(s->requests[0], "Authorization"));
    has(s->requests[1],
        "GET /token?scope=repository%3Aa%2Fb%3Apull&service=a%20registry HTTP/1.1\r\n");
    has(s->requests[1], "\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n");
    has(s->requests[2], "HEAD /v2/a/b/manifests/v1 HTTP/1.1\r\n");
    has(s->requests[2], "\r\nAuthorization: Bearer t0k\r\n");
    ck_assert_int_eq(
        ask_with_token(s, "", "",
                       "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"access_token\":\"u\"}"),
        TB_E_REGISTRY); /* cut off: it has 20 bytes */
    ck_assert_int_eq(
        ask_with_token(s, "", "",
                       "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"access_token\":\"u\"}"),
        TB_OK);
    has(s->requests[1], "GET /token?scope=repository%3Aa%2Fb%3Apull HTTP/1.1\r\n");
    has(s->requests[2], "\r\nAuthorization: Bearer u\r\n");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(none[i]), none[i]);
        ck_assert_msg(ask_with_token(s, "", "", answer) == TB_E_REGISTRY, "%s", none[i]);
        has(s->err.message, "answers no token");
    }
    ck_assert_int_eq(ask_with_token(s, "", "", "HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n"),
                     TB_E_REGISTRY);
    has(s->err.message, "answers HTTP 500 when asked for a token as user.");
    ck_assert_int_eq(ask_with_token(s, "http://elsewhere.example/token", "", WHOLE), TB_E_REGISTRY);
    has(s->err.message, "it was not asked");
    ck_assert_int_eq(s->n, 1);
    end_stand_in(s);
}
END_TEST

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(asking_has_an_end)
{
    stand_in *s = new_stand_in();
    s->q.limit_us = 999;
    ck_assert_int_eq(ask_answered(s, FOUND, ""), TB_E_REGISTRY);
    has(s->err.message, "Timeout");
    ck_assert_int_eq(s->n, 0);
    s->q.limit_us = 20000000;
    s->q.stop = always;
    ck_assert_int_eq(ask_answered(s, FOUND, ""), TB_E_REGISTRY);
    end_stand_in(s);
}
END_TEST

int main(void)
{
    listener_deadline(30);
    TCase *t = tcase_create("registry");
    tcase_add_test(t, names_are_lower_case_words_joined_one_way);
    tcase_add_test(t, tags_are_words_of_at_most_128);
    tcase_add_test(t, digests_are_64_digits_of_sha256);
    tcase_add_test(t, parameters_of_a_challenge_are_found_by_their_whole_name);
    tcase_add_test(t, a_digest_is_what_the_head_says);
    tcase_add_test(t, without_a_digest_in_the_head_it_is_the_manifests_hash);
    tcase_add_test(t, a_status_says_whose_business_it_is);
    tcase_add_test(t, a_token_is_asked_for_where_the_catalogue_says);
    tcase_add_test(t, asking_has_an_end);
    Suite *s = suite_create("registry");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
