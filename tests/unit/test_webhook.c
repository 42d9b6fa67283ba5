/* Webhooks: how a message is signed, where it may go, what is sent and what an answer comes to. How
 * alerts use them is tests/http/test_alerts.py's. */
#include "unit/listener.h"
#include "webhook/webhook.h"

/* The example of the Standard Webhooks specification. */
#define SECRET    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER     "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
#define ID        "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define SENT_S    1614265330
#define BODY      "{\"test\": 2432232314}"
#define SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static webhook_secrets secrets_of(const char *text)
{
    webhook_secrets secrets;
    ck_assert(webhook_secrets_parse(text, strlen(text), &secrets));
    return secrets;
}

START_TEST(a_message_is_signed_as_the_specification_says)
{
    const webhook_secrets secrets = secrets_of(SECRET);
    char signature[WEBHOOK_SIGNATURE];
    webhook_sign(&secrets.list[0], ID, "1614265330", BODY, strlen(BODY), signature);
    ck_assert_str_eq(signature, SIGNATURE);
}
END_TEST

START_TEST(a_file_has_one_secret_or_two)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_",
                                      "whsec_QUJD",
                                      "whsec_!fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      SECRET "x",
                                      SECRET "\n" OTHER "\n" SECRET};
    webhook_secrets secrets;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!webhook_secrets_parse(bad[i], strlen(bad[i]), &secrets), "%s", bad[i]);
    ck_assert_uint_eq(secrets_of(SECRET).n, 1);
    secrets = secrets_of("\n" SECRET "\r\n" OTHER "\n");
    ck_assert_uint_eq(secrets.n, 2);
    ck_assert_uint_eq(secrets.list[1].len, 24);
    ck_assert_mem_eq(secrets.list[1].bytes, "ABCDEFGHIJKLMNOPQRSTUVWX", 24);
}
END_TEST

START_TEST(an_address_is_of_http_with_a_host_and_no_more_than_a_path)
{
    static const char *const good[] = {"http://a", "HTTPS://alerts.example/tollbook",
                                       "http://127.0.0.1:8080/a?b=c", "http://[::1]:80/"};
    static const char *const bad[] = {"",
                                      "alerts.example",
                                      "//alerts.example/",
                                      "ftp://alerts.example/",
                                      "file:///etc/passwd",
                                      "http://",
                                      "http://user@a/",
                                      "http://user:word@a/",
                                      "http://a/#part"};
    tb_error err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(webhook_check_url(good[i], &err) == TB_OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(webhook_check_url(bad[i], &err) == TB_E_USAGE, "%s", bad[i]);
}
END_TEST

/* --- sending --- */

typedef struct receiver {
    listener l;
    webhook *w;
    const char *answer;
    char request[2048], error[WEBHOOK_ERROR_MAX + 1];
    bool stopped;
} receiver;

static const char *receive(void *ctx, const char *request)
{
    receiver *r = ctx;
    snprintf(r->request, sizeof r->request, "%s", request);
    return r->answer;
}

static bool is_stopped(void *ctx)
{
    return ((receiver *)ctx)->stopped;
}

static receiver *new_receiver(void)
{
    receiver *r = calloc(1, sizeof *r);
    listener_start(&r->l, receive, r);
    r->w = webhook_new();
    return r;
}

static void end_receiver(receiver *r)
{
    webhook_free(r->w);
    listener_stop(&r->l);
    free(r);
}

static webhook_answer sent(receiver *r, const char *secrets, const char *answer)
{
    char url[64];
    const webhook_secrets list = secrets_of(secrets);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", r->l.port);
    r->answer = answer;
    r->request[0] = '\0';
    const webhook_message m = {.url = url,
                               .id = ID,
                               .body = BODY,
                               .body_len = strlen(BODY),
                               .now_s = SENT_S,
                               .limit_us = INT64_C(20000000),
                               .stop = is_stopped,
                               .ctx = r};
    return webhook_send(r->w, &m, &list, r->error);
}

static void has(const receiver *r, const char *part)
{
    ck_assert_msg(strstr(r->request, part) != NULL, "lacks %s: %s", part, r->request);
}

START_TEST(a_message_has_its_id_time_and_a_signature_of_each_secret)
{
    receiver *r = new_receiver();
    webhook_answer answer = sent(r, SECRET, "HTTP/1.1 204 No Content\r\n\r\n");
    ck_assert_int_eq(answer.status, 204);
    ck_assert_int_eq(answer.after_s, 0);
    ck_assert_int_eq(strncmp(r->request, "POST /hook HTTP/1.1\r\n", 21), 0);
    has(r, "\r\nContent-Type: application/json\r\n");
    has(r, "\r\nwebhook-id: " ID "\r\n");
    has(r, "\r\nwebhook-timestamp: 1614265330\r\n");
    has(r, "\r\nwebhook-signature: " SIGNATURE "\r\n");
    has(r, "\r\nUser-Agent: tollbook/");
    has(r, "\r\n\r\n" BODY);
    ck_assert_ptr_null(strstr(r->request, "Expect"));
    char both[2 * WEBHOOK_SIGNATURE + 32], other[WEBHOOK_SIGNATURE];
    const webhook_secrets second = secrets_of(OTHER);
    webhook_sign(&second.list[0], ID, "1614265330", BODY, strlen(BODY), other);
    snprintf(both, sizeof both, "\r\nwebhook-signature: %s %s\r\n", SIGNATURE, other);
    ck_assert_int_eq(
        sent(r, SECRET "\n" OTHER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").status, 200);
    has(r, both);
    end_receiver(r);
}
END_TEST

static char *long_answer(const char *head, size_t lines)
{
    static const char line[] = "X-Line: 0123456789012345678901234567890123456789\r\n";
    const size_t size = strlen(head) + lines * (sizeof line - 1) + 1;
    char *text = malloc(size), *at = stpcpy(text, head);
    for (size_t i = 0; i < lines; i++)
        at = stpcpy(at, line);
    return text;
}

START_TEST(an_answer_is_its_status_and_when_to_come_again)
{
    receiver *r = new_receiver();
    webhook_answer answer =
        sent(r, SECRET, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno");
    ck_assert_int_eq(answer.status, 503);
    ck_assert_int_eq(answer.after_s, 7);
    ck_assert_str_eq(r->error, "The receiver answers 503.");
    answer = sent(r, SECRET, "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n");
    ck_assert_int_eq(answer.status, 302); /* it is not followed */
    answer = sent(r, SECRET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal");
    ck_assert_int_eq(answer.status, 0); /* cut off */
    ck_assert_uint_gt(strlen(r->error), 1);
    end_receiver(r);
}
END_TEST

/* 64 KiB each; the rest is not read. */
START_TEST(an_answers_head_and_body_are_bounded)
{
    receiver *r = new_receiver();
    char *body = long_answer("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", 2000);
    char *below = long_answer("HTTP/1.1 200 OK\r\n", 1000), *above = long_answer("HTTP/1.1 200 OK\r\n", 2000);
    ck_assert_int_eq(sent(r, SECRET, body).status, 200);
    ck_assert_int_eq(sent(r, SECRET, below).status, 0); /* cut off, below the bound */
    ck_assert_int_eq(sent(r, SECRET, above).status, 0);
    ck_assert_ptr_nonnull(strstr(r->error, "writing"));
    end_receiver(r); /* until here it may still send what nobody reads */
    free(body);
    free(below);
    free(above);
}
END_TEST

START_TEST(a_stop_ends_an_exchange)
{
    receiver *r = new_receiver();
    r->stopped = true;
    ck_assert_int_eq(sent(r, SECRET, NULL).status, 0);
    ck_assert_ptr_nonnull(strstr(r->error, "callback"));
    end_receiver(r);
}
END_TEST

int main(void)
{
    listener_deadline(30);
    TCase *t = tcase_create("webhook");
    tcase_add_test(t, a_message_is_signed_as_the_specification_says);
    tcase_add_test(t, a_file_has_one_secret_or_two);
    tcase_add_test(t, an_address_is_of_http_with_a_host_and_no_more_than_a_path);
    tcase_add_test(t, a_message_has_its_id_time_and_a_signature_of_each_secret);
    tcase_add_test(t, an_answer_is_its_status_and_when_to_come_again);
    tcase_add_test(t, an_answers_head_and_body_are_bounded);
    tcase_add_test(t, a_stop_ends_an_exchange);
    Suite *s = suite_create("webhook");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
