/* One handle of libcurl in a multi handle, as another thread can wake the poll of that. */
#include "standby/link.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "outbound/outbound.h"

#define CONNECT_MS 5000L
#define BODY_MAX   ((size_t)1 << 20) /* of an answer that is kept whole */
#define QUIET_S    30L
#define BUFFER     (256L << 10)       /* of a connection: a base comes in large pieces */
#define POLL_MS    1000
#define FINISH_POLL_MS  5
#define FINISH_QUIET_US INT64_C(50000)  /* what has not come by then has not arrived */
#define FINISH_MOST_US  INT64_C(400000)

static int64_t mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

tb_code link_open(primary_link *l, const link_options *options, tb_error *err)
{
    *l = (primary_link){.options = *options, .key_lock = PTHREAD_MUTEX_INITIALIZER};
    l->options.key = NULL;
    link_use_key(l, options->key);
    tb_buf_init(&l->body, BODY_MAX, NULL);
    l->curl = curl_easy_init();
    l->multi = curl_multi_init();
    if (l->curl && l->multi) return TB_OK;
    link_close(l);
    return tb_no_memory(err);
}

void link_close(primary_link *l)
{
    tb_buf_release(&l->body);
    if (l->multi) curl_multi_cleanup(l->multi);
    if (l->curl) curl_easy_cleanup(l->curl);
    l->multi = NULL;
    l->curl = NULL;
    explicit_bzero(l->key, sizeof l->key);
}

void link_use_key(primary_link *l, const char *key)
{
    pthread_mutex_lock(&l->key_lock);
    snprintf(l->key, sizeof l->key, "%s", key);
    pthread_mutex_unlock(&l->key_lock);
}

void link_cut(primary_link *l)
{
    atomic_store(&l->cut, true);
    if (l->multi) curl_multi_wakeup(l->multi);
}

void link_finish(primary_link *l)
{
    atomic_store(&l->finish_us, mono_us());
    curl_multi_wakeup(l->multi);
}

void link_go_on(primary_link *l)
{
    atomic_store(&l->finish_us, 0);
}

static bool is_ended(const primary_link *l)
{
    return atomic_load(&l->cut) || atomic_load(&l->finish_us);
}

bool link_pause(primary_link *l, int64_t wait_us)
{
    const int64_t until_us = mono_us() + wait_us;
    for (int64_t left_us; !is_ended(l) && (left_us = until_us - mono_us()) > 0;)
        curl_multi_poll(l->multi, NULL, 0, (int)(left_us / 1000) + 1, NULL);
    return !is_ended(l);
}

/* --- the answer --- */

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
    primary_link *l = ctx;
    const size_t len = size * n;
    l->came_us = mono_us();
    curl_easy_getinfo(l->curl, CURLINFO_RESPONSE_CODE, &l->status);
    if (l->take && (l->status == 200 || l->status == 206)) {
        l->refused = !l->take(l->ctx, bytes, len);
        return l->refused ? 0 : len;
    }
    tb_buf_add(&l->body, bytes, len);
    return l->body.failed ? 0 : len;
}

/* The value of a header of this name, its end not counted; NULL: it is another header. */
static const char *header_value(const char *line, size_t len, const char *name, size_t *ret_len)
{
    const size_t at = strlen(name);
    if (len <= at || strncasecmp(line, name, at) != 0 || line[at] != ':') return NULL;
    const char *from = line + at + 1, *to = line + len;
    while (from < to && *from == ' ')
        from++;
    while (to > from && (to[-1] == '\r' || to[-1] == '\n' || to[-1] == ' '))
        to--;
    *ret_len = (size_t)(to - from);
    return from;
}

static uint64_t number_of(const char *text, size_t len)
{
    uint64_t number = 0;
    for (size_t i = 0; i < len && text[i] >= '0' && text[i] <= '9' && i < 19; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    return number;
}

static void keep_text(const char *value, size_t len, char *out, size_t room)
{
    if (len >= room) return;
    memcpy(out, value, len);
    out[len] = 0;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    primary_link *l = ctx;
    const size_t len = size * n;
    size_t n_value;
    const char *value;
    if (len <= 2) l->answered_us = mono_us();
    if ((value = header_value(bytes, len, "Tollbook-Piece", &n_value))) {
        l->piece = (int64_t)number_of(value, n_value);
    } else if ((value = header_value(bytes, len, "Tollbook-Replica-Lag-Ms", &n_value))) {
        l->lag_ms = (int64_t)number_of(value, n_value);
    } else if ((value = header_value(bytes, len, "ETag", &n_value))) {
        keep_text(value, n_value, l->tag, sizeof l->tag);
    } else if ((value = header_value(bytes, len, "Tollbook-Hash", &n_value))) {
        keep_text(value, n_value, l->hash, sizeof l->hash);
    } else if ((value = header_value(bytes, len, "Content-Length", &n_value)) && !l->whole) {
        l->whole = number_of(value, n_value);
    } else if ((value = header_value(bytes, len, "Content-Range", &n_value))) {
        const char *slash = memchr(value, '/', n_value);
        if (slash) l->whole = number_of(slash + 1, n_value - (size_t)(slash + 1 - value));
    }
    return len;
}

/* --- one exchange --- */

static bool add_field_line(struct curl_slist **lines, const char *name, const char *value, const char *more)
{
    char line[LINK_KEY_MAX + 24];
    const int n = snprintf(line, sizeof line, "%s: %s%s", name, value, more);
    struct curl_slist *longer = n > 0 && (size_t)n < sizeof line ? curl_slist_append(*lines, line) : NULL;
    explicit_bzero(line, sizeof line);
    if (longer) *lines = longer;
    return longer != NULL;
}

static bool add_key(primary_link *l, struct curl_slist **lines)
{
    pthread_mutex_lock(&l->key_lock);
    const bool added = add_field_line(lines, "AccessKey", l->key, "");
    pthread_mutex_unlock(&l->key_lock);
    return added;
}

static bool add_lines(primary_link *l, const link_request *q, struct curl_slist **lines)
{
    const link_options *o = &l->options;
    char range[40], epoch[24], about[LINK_URL_MAX + 60];
    snprintf(about, sizeof about, "%s", o->promotable ? "; promotable" : "");
    if (!l->brief)
        snprintf(about + strlen(about), sizeof about - strlen(about), "%s%s; schema=%d", o->own_url[0] ? "; url=" : "", o->own_url, o->schema);
    snprintf(epoch, sizeof epoch, "%" PRId64, l->epoch);
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-", q->from);
    return add_key(l, lines) &&
           (!o->name[0] || add_field_line(lines, "Tollbook-Replica", o->name, about)) &&
           (!l->epoch || add_field_line(lines, "Tollbook-Epoch", epoch, "")) &&
           (!q->from || (add_field_line(lines, "Range", range, "") && add_field_line(lines, "If-Range", q->tag, "")));
}

static void prepare_exchange(primary_link *l, const link_request *q, const char *url, struct curl_slist *lines)
{
    CURL *curl = l->curl;
    curl_easy_reset(curl);
    outbound_prepare_job(curl, url, l->options.ca);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, BUFFER);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 5L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 5L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, q->quiet_s ? q->quiet_s : QUIET_S);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, l);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, l);
}

/* Whether nothing more has arrived, or too much does. */
static bool is_finished(const primary_link *l)
{
    const int64_t since_us = atomic_load(&l->finish_us), now_us = mono_us();
    if (!since_us) return false;
    return now_us - (l->came_us > since_us ? l->came_us : since_us) > FINISH_QUIET_US || now_us - since_us > FINISH_MOST_US;
}

/* Until the exchange ends, or the link is cut or finished. */
static CURLcode perform(primary_link *l, bool *ret_ended)
{
    CURLcode rc = CURLE_FAILED_INIT;
    int running = 1, left;
    *ret_ended = false;
    if (curl_multi_add_handle(l->multi, l->curl) != CURLM_OK) return rc;
    while (running && !atomic_load(&l->cut) && !is_finished(l)) {
        if (curl_multi_perform(l->multi, &running) != CURLM_OK) break;
        if (running) curl_multi_poll(l->multi, NULL, 0, atomic_load(&l->finish_us) ? FINISH_POLL_MS : POLL_MS, NULL);
    }
    for (const CURLMsg *m; (m = curl_multi_info_read(l->multi, &left));)
        if (m->msg == CURLMSG_DONE) rc = m->data.result;
    *ret_ended = running != 0;
    curl_multi_remove_handle(l->multi, l->curl);
    return rc;
}

static tb_code exchange(primary_link *l, const link_request *request, tb_error *err)
{
    char url[2400];
    struct curl_slist *lines = NULL;
    l->status = 0;
    l->piece = l->lag_ms = 0;
    l->whole = 0;
    l->tag[0] = l->hash[0] = 0;
    l->body.len = 0;
    l->body.failed = l->refused = false;
    l->take = request->take;
    l->ctx = request->ctx;
    const int n = snprintf(url, sizeof url, "%s%s", l->options.url, request->path);
    if (n < 0 || (size_t)n >= sizeof url) return tb_fail(err, TB_E_USAGE, NULL, "The primary's address is too long.");
    if (!add_lines(l, request, &lines)) {
        curl_slist_free_all(lines);
        return tb_no_memory(err);
    }
    prepare_exchange(l, request, url, lines);
    bool ended = false;
    const CURLcode rc = perform(l, &ended);
    curl_slist_free_all(lines);
    if (atomic_load(&l->cut) || (ended && atomic_load(&l->finish_us))) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    if (rc != CURLE_OK && !l->refused) l->status = 0;
    if (rc != CURLE_OK && !l->refused)
        return tb_fail(err, TB_E_AWAY, NULL, "%s.%s", curl_easy_strerror(rc),
                       rc == CURLE_PEER_FAILED_VERIFICATION ? " --ca FILE names the authority of its certificate." : "");
    curl_easy_getinfo(l->curl, CURLINFO_RESPONSE_CODE, &l->status);
    return TB_OK;
}

json_t *link_json(const primary_link *l)
{
    return l->body.len ? json_loadb(l->body.data, l->body.len, 0, NULL) : NULL;
}

/* Whether the server refused the header Tollbook-Replica: programs of schema 30 know only the name and "promotable" in it. */
static bool is_too_new(const primary_link *l)
{
    json_t *answer = l->status == 400 ? link_json(l) : NULL;
    const char *field = json_string_value(json_object_get(answer, "Field"));
    const bool is = field && strcmp(field, "Tollbook-Replica") == 0;
    json_decref(answer);
    return is;
}

/* Where the server refuses the header, this connection sends the short one. The next connection sends the long one again, as the server
 * may have been upgraded. */
tb_code link_ask(primary_link *l, const link_request *request, tb_error *err)
{
    long connections = 0;
    tb_code code = exchange(l, request, err);
    if (!code && is_too_new(l)) {
        l->brief = !l->brief;
        if (l->brief) code = exchange(l, request, err);
    } else if (code || curl_easy_getinfo(l->curl, CURLINFO_NUM_CONNECTS, &connections) != CURLE_OK || connections) {
        l->brief = false;
    }
    return code;
}

void link_path_after(const tb_piece *last, int wait_s, char out[LINK_PATH_MAX])
{
    int n = snprintf(out, LINK_PATH_MAX, "/replica/pieces?after=%" PRId64 "&wait=%d&digest=", last->number, wait_s);
    for (int i = 0; i < TB_PIECE_CHAIN; i++)
        n += snprintf(out + n, LINK_PATH_MAX - (size_t)n, "%02x", last->chain[i]);
}

static bool take_none(void *ctx, const char *bytes, size_t len)
{
    (void)ctx, (void)bytes, (void)len;
    return false;
}

tb_code link_has_piece(primary_link *l, const tb_piece *piece, bool *ret, tb_error *err)
{
    char path[LINK_PATH_MAX];
    link_path_after(piece, 0, path);
    const link_request request = {.path = path, .take = take_none};
    const tb_code code = link_ask(l, &request, err);
    *ret = !code && l->status == 200;
    return code;
}

tb_code link_refusal(const primary_link *l, tb_error *err)
{
    json_t *answer = link_json(l);
    const char *message = json_string_value(json_object_get(answer, "Message"));
    const tb_code code = tb_fail(err, TB_E_AWAY, NULL, "It answers %ld%s%.200s", l->status, message ? ": " : ".", message ? message : "");
    json_decref(answer);
    return code;
}
