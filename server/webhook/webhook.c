/* libcurl and libsodium. A status counts only with a complete answer, or with one longer than the limit: a connection
 * that breaks in the middle may be a crash of the receiver. */
#include "webhook/webhook.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "outbound/outbound.h"

#define PREFIX     "whsec_"
#define CONNECT_MS 5000L
#define HEADER_MAX 160

struct webhook {
    CURL *curl;
    size_t head, body; /* bytes of the answer */
    bool head_over;    /* the empty line after its last status came */
    const webhook_message *message;
    char why[CURL_ERROR_SIZE]; /* libcurl's own words for a failure; "" for some */
};

/* --- signing --- */

static bool parse_secret(const char *text, size_t len, webhook_secret *ret)
{
    const size_t prefix = strlen(PREFIX);
    if (len <= prefix || memcmp(text, PREFIX, prefix) != 0) return false;
    return tb_base64_read((tb_text){text + prefix, len - prefix}, TB_BASE64, ret->bytes, sizeof ret->bytes, &ret->len) &&
           ret->len >= WEBHOOK_SECRET_MIN;
}

bool webhook_secrets_parse(const char *text, size_t len, webhook_secrets *ret)
{
    const char *const end = text + len;
    bool ok = true;
    ret->n = 0;
    while (ok && text < end) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((line ? line : end) - text);
        if (n && text[n - 1] == '\r') n--;
        if (n) {
            ok = ret->n < WEBHOOK_SECRETS && parse_secret(text, n, &ret->list[ret->n]);
            ret->n += ok;
        }
        text = line ? line + 1 : end;
    }
    return ok && ret->n > 0;
}

void webhook_sign(const webhook_secret *secret, const char *id, const char *timestamp, const char *body,
                  size_t len, char ret_signature[WEBHOOK_SIGNATURE])
{
    crypto_auth_hmacsha256_state state;
    unsigned char hash[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_init(&state, secret->bytes, secret->len);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)timestamp, strlen(timestamp));
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, len);
    crypto_auth_hmacsha256_final(&state, hash);
    memcpy(ret_signature, "v1,", 3);
    sodium_bin2base64(ret_signature + 3, WEBHOOK_SIGNATURE - 3, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(&state, sizeof state);
}
_Static_assert(WEBHOOK_SIGNATURE ==
                   3 + sodium_base64_ENCODED_LEN(crypto_auth_hmacsha256_BYTES,
                                                 sodium_base64_VARIANT_ORIGINAL),
               "a signature fits");

/* --- the address --- */

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    const bool there = curl_url_get(u, part, &text, 0) == CURLUE_OK && text[0];
    curl_free(text);
    return there;
}

static bool is_http(CURLU *u)
{
    char *scheme = NULL;
    const bool ok = curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                    (strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0);
    curl_free(scheme);
    return ok;
}

tb_code webhook_check_url(const char *url, tb_error *err)
{
    CURLU *u = curl_url();
    if (!u) return tb_no_memory(err);
    const bool ok = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK && is_http(u) &&
                    has_part(u, CURLUPART_HOST) && !has_part(u, CURLUPART_USER) &&
                    !has_part(u, CURLUPART_PASSWORD) && !has_part(u, CURLUPART_FRAGMENT);
    curl_url_cleanup(u);
    if (ok) return TB_OK;
    return tb_fail(err, TB_E_USAGE, NULL,
                   "It must be an address such as https://alerts.example/tollbook, without a user, a "
                   "password or a fragment.");
}

/* --- sending --- */

webhook *webhook_new(void)
{
    webhook *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->curl = curl_easy_init();
    if (w->curl) return w;
    free(w);
    return NULL;
}

void webhook_free(webhook *w)
{
    if (!w) return;
    curl_easy_cleanup(w->curl);
    free(w);
}

static size_t count_body(char *bytes, size_t size, size_t n, void *ctx)
{
    webhook *w = ctx;
    w->body += size * n;
    if (w->message->answer) tb_buf_add(w->message->answer, bytes, size * n);
    if (w->message->answer && w->message->answer->failed) return 0;
    return w->body > WEBHOOK_ANSWER_MAX ? 0 : size * n;
}

static size_t count_head(char *bytes, size_t size, size_t n, void *ctx)
{
    webhook *w = ctx;
    w->head += size * n;
    if (size * n <= 2) w->head_over = true;
    else if (size * n > 5 && memcmp(bytes, "HTTP/", 5) == 0) w->head_over = false;
    return w->head > WEBHOOK_ANSWER_MAX ? 0 : size * n;
}

static int check_stop(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const webhook *w = ctx;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return w->message->stop && w->message->stop(w->message->ctx);
}

static void prepare(webhook *w, struct curl_slist *lines)
{
    const webhook_message *m = w->message;
    const long limit_ms = (long)(m->limit_us / 1000);
    CURL *curl = w->curl;
    curl_easy_reset(curl);
    outbound_prepare_job(curl, m->url, m->ca);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms < CONNECT_MS ? limit_ms : CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)m->body_len);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, m->body);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, count_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, w);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, count_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, w);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stop);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, w);
    w->why[0] = 0;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, w->why);
}

static bool add_field(struct curl_slist **lines, const char *name, const char *value)
{
    char line[HEADER_MAX];
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(*lines, line);
    if (more) *lines = more;
    return more != NULL;
}

static bool add_fields(const webhook_message *m, const webhook_secrets *secrets,
                       struct curl_slist **lines)
{
    char timestamp[24], signature[WEBHOOK_SECRETS * WEBHOOK_SIGNATURE], *at = signature;
    if (!m->id) return add_field(lines, "Content-Type", "text/plain; charset=utf-8") && add_field(lines, "Expect", "");
    snprintf(timestamp, sizeof timestamp, "%" PRId64, m->now_s);
    for (size_t i = 0; i < secrets->n; i++) {
        if (i) *at++ = ' ';
        webhook_sign(&secrets->list[i], m->id, timestamp, m->body, m->body_len, at);
        at += strlen(at);
    }
    return add_field(lines, "Content-Type", "application/json") && add_field(lines, "webhook-id", m->id) &&
           add_field(lines, "webhook-timestamp", timestamp) &&
           add_field(lines, "webhook-signature", signature) &&
           add_field(lines, "Expect", ""); /* no pause before the body */
}

/* Of a certificate: which of its faults it is. An unknown authority alone is a matter of --ca. */
static void say_failure(const webhook *w, CURLcode rc, char error[WEBHOOK_ERROR_MAX + 1])
{
    const bool certificate = rc == CURLE_PEER_FAILED_VERIFICATION && w->why[0];
    const bool known = certificate && !strstr(w->why, "issuer") && !strstr(w->why, "self");
    snprintf(error, WEBHOOK_ERROR_MAX + 1, "%.100s.%s", certificate ? w->why : curl_easy_strerror(rc),
             rc == CURLE_PEER_FAILED_VERIFICATION && !known ? " serve --ca FILE names the authority of its certificate." : "");
}

static webhook_answer read_answer(webhook *w, CURLcode rc, char error[WEBHOOK_ERROR_MAX + 1])
{
    long status = 0;
    curl_off_t after_s = 0;
    curl_easy_getinfo(w->curl, CURLINFO_RESPONSE_CODE, &status);
    if (rc == CURLE_OK && !w->head_over) rc = CURLE_PARTIAL_FILE; /* libcurl accepts a head without its end */
    const bool cut = rc == CURLE_WRITE_ERROR && status && w->body > WEBHOOK_ANSWER_MAX && !w->message->answer;
    if (rc == CURLE_WRITE_ERROR && w->message->answer) {
        snprintf(error, WEBHOOK_ERROR_MAX + 1, "Its answer is too long.");
        return (webhook_answer){0, 0};
    }
    if (rc != CURLE_OK && !cut) {
        say_failure(w, rc, error);
        return (webhook_answer){0, 0};
    }
    snprintf(error, WEBHOOK_ERROR_MAX + 1, "The receiver answers %ld.", status);
    curl_easy_getinfo(w->curl, CURLINFO_RETRY_AFTER, &after_s); /* seconds, or a date from now on */
    return (webhook_answer){(int)status, after_s};
}

webhook_answer webhook_send(webhook *w, const webhook_message *message, const webhook_secrets *secrets,
                            char error[WEBHOOK_ERROR_MAX + 1])
{
    struct curl_slist *lines = NULL;
    webhook_answer answer = {0, 0};
    w->head = w->body = 0;
    w->head_over = false;
    w->message = message;
    if (add_fields(message, secrets, &lines)) {
        prepare(w, lines);
        answer = read_answer(w, curl_easy_perform(w->curl), error);
    } else {
        snprintf(error, WEBHOOK_ERROR_MAX + 1, "There is no memory.");
    }
    curl_slist_free_all(lines);
    return answer;
}
