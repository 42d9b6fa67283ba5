/* libcurl, restricted: only http and https, no signals, and only connections are kept between exchanges. A proxy of the
 * environment is used, except for this machine. */
#include "registry/fetch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "outbound/outbound.h"

#define CONNECT_MS 5000L
#define LINE_MAX_BYTES ((size_t)18 << 10) /* of a request header, with a token */

static int64_t mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

tb_code fetch_open(fetch *f, size_t body_max, tb_error *err)
{
    tb_buf_init(&f->body, body_max, NULL);
    f->curl = curl_easy_init();
    return f->curl ? TB_OK : tb_no_memory(err);
}

void fetch_close(fetch *f)
{
    tb_buf_release(&f->body);
    if (f->curl) curl_easy_cleanup(f->curl);
}

/* --- the answer --- */

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
    tb_buf *body = ctx;
    tb_buf_add(body, bytes, size * n);
    return body->failed ? 0 : size * n;
}

/* If the line is a header of this name, copies its value without the space around it and returns true. */
static bool take_value(const char *line, size_t len, const char *name, char *out, size_t size)
{
    const size_t at = strlen(name);
    if (len <= at || strncasecmp(line, name, at) != 0 || line[at] != ':') return false;
    const char *from = line + at + 1, *to = line + len;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == '\r' || to[-1] == '\n' || to[-1] == ' ' || to[-1] == '\t'))
        to--;
    const size_t n = (size_t)(to - from);
    out[0] = 0;
    if (n >= size || memchr(from, 0, n)) return true; /* too long: ignored */
    memcpy(out, from, n);
    out[n] = 0;
    return true;
}

/* The beginning of the challenge "Bearer" among those of one header: outside quotes, at the start or after a comma.
 * NULL: there is none. */
static const char *find_bearer(const char *value)
{
    bool quoted = false, start = true;
    for (const char *at = value; *at; at++) {
        if (!quoted && start && strncasecmp(at, "Bearer ", 7) == 0) return at;
        if (quoted && *at == '\\' && at[1]) at++;
        else if (*at == '"') quoted = !quoted;
        start = !quoted && (*at == ',' || (start && *at == ' '));
    }
    return NULL;
}

static void reset_head(fetch *f)
{
    f->challenge[0] = f->digest[0] = 0;
    f->digests = 0;
}

/* The library keeps all headers itself, so their sum is bounded, not only those kept here. */
static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    fetch *f = ctx;
    char value[FETCH_HEADER_MAX];
    const size_t len = size * n;
    f->head += len;
    if (f->head > FETCH_HEAD_MAX) return 0;
    if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0) reset_head(f); /* an interim response came before */
    if (take_value(bytes, len, "Docker-Content-Digest", f->digest, sizeof f->digest)) f->digests++;
    else if (take_value(bytes, len, "WWW-Authenticate", value, sizeof value)) {
        const char *bearer = find_bearer(value);
        if (bearer) memcpy(f->challenge, bearer, strlen(bearer) + 1);
    }
    return len;
}

static int check_stop(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const fetch *f = ctx;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return f->stop && f->stop(f->ctx);
}

/* --- one exchange --- */

static bool add_line(struct curl_slist **lines, const char *name, const char *value)
{
    char line[LINE_MAX_BYTES];
    int n = snprintf(line, sizeof line, "%s%s", name, value);
    struct curl_slist *more =
        n > 0 && (size_t)n < sizeof line ? curl_slist_append(*lines, line) : NULL;
    explicit_bzero(line, sizeof line);
    if (more) *lines = more;
    return more != NULL;
}

static void prepare(fetch *f, const fetch_request *request, struct curl_slist *lines, long left_ms)
{
    CURL *curl = f->curl;
    curl_easy_reset(curl);
    outbound_prepare_job(curl, request->url, f->ca);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, left_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, left_ms < CONNECT_MS ? left_ms : CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(curl, CURLOPT_NOBODY, request->head ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &f->body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stop);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, f);
    if (!request->username) return;
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, request->username);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, request->password);
}

/* The message names the address up to its path. */
static tb_code fail_exchange(const fetch *f, const char *url, CURLcode rc, tb_error *err)
{
    const char *host = strstr(url, "://");
    const size_t len = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?") : strcspn(url, "?");
    if (f->body.failed)
        return tb_fail(err, TB_E_REGISTRY, NULL, "%.*s answers more than %zu bytes.", (int)len, url,
                       f->body.max);
    if (f->head > FETCH_HEAD_MAX)
        return tb_fail(err, TB_E_REGISTRY, NULL, "%.*s answers more than %zu bytes of headers.",
                       (int)len, url, FETCH_HEAD_MAX);
    return tb_fail(err, TB_E_REGISTRY, NULL, "%.*s: %s.%s", (int)len, url, curl_easy_strerror(rc),
                   rc == CURLE_PEER_FAILED_VERIFICATION ? " serve --ca FILE names the authority of its certificate." : "");
}

tb_code fetch_ask(fetch *f, const fetch_request *request, tb_error *err)
{
    struct curl_slist *lines = NULL;
    const int64_t left_us = f->until_us - mono_us();
    f->body.len = 0;
    f->body.failed = false;
    f->status = 0;
    f->head = 0;
    reset_head(f);
    if (left_us < 1000) return fail_exchange(f, request->url, CURLE_OPERATION_TIMEDOUT, err);
    bool ok = !request->accept || add_line(&lines, "Accept: ", request->accept);
    ok = ok && (!request->bearer || add_line(&lines, "Authorization: Bearer ", request->bearer));
    CURLcode rc = CURLE_OUT_OF_MEMORY;
    if (ok) {
        prepare(f, request, lines, (long)(left_us / 1000));
        rc = curl_easy_perform(f->curl);
    }
    curl_slist_free_all(lines);
    if (rc == CURLE_OUT_OF_MEMORY) return tb_no_memory(err);
    if (rc != CURLE_OK) return fail_exchange(f, request->url, rc, err);
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &f->status);
    return TB_OK;
}
