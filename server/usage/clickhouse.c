/* A handle of libcurl keeps its connection, so handles are lent and come back: as many as threads ask at once. */
#include "usage/clickhouse.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCHEME     "clickhouse://"
#define SHARDS_MAX 64
#define NAME_MAX_  64
#define HOST_MAX   256
#define PORT       "8123"
#define CONNECT_MS 3000L
#define IDLE_MAX   32
#define SAID_MAX   200 /* of an error's text */

typedef struct servers {
    tb_usage_client client;
    char database[NAME_MAX_ + 1];
    char shard[SHARDS_MAX][HOST_MAX + 8]; /* host:port */
    long limit_ms;
    pthread_mutex_t lock;
    CURL *idle[IDLE_MAX];
    size_t n_idle;
} servers;

/* --- the address --- */

static tb_code bad_url(tb_error *err)
{
    return tb_fail(err, TB_E_USAGE, "usage",
                   "It must be an address such as clickhouse://a.example:8123,b.example:8123/tollbook: up to %d "
                   "hosts, and a database's name of letters, digits and underscores.", SHARDS_MAX);
}

static bool add_shard(servers *s, const char *host, size_t len)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
    char *out = s->shard[s->client.shards];
    if (!len || len > HOST_MAX || s->client.shards == SHARDS_MAX) return false;
    memcpy(out, host, len);
    out[len] = 0;
    if (strspn(out, plain) != len || out[0] == ':') return false;
    const char *colon = strrchr(out, ':'), *bracket = strrchr(out, ']');
    if (!colon || (bracket && colon < bracket)) memcpy(out + len, ":" PORT, sizeof ":" PORT);
    s->client.shards++;
    return true;
}

static tb_code parse_url(servers *s, const char *url, tb_error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (strncmp(url, SCHEME, strlen(SCHEME)) != 0) return bad_url(err);
    const char *at = url + strlen(SCHEME), *slash = strchr(at, '/');
    if (!slash) return bad_url(err);
    while (at <= slash) {
        const size_t len = strcspn(at, ",/");
        if (!add_shard(s, at, len)) return bad_url(err);
        at += len + 1;
    }
    const size_t len = strlen(slash + 1);
    if (!len || len > NAME_MAX_ || strspn(slash + 1, plain) != len) return bad_url(err);
    memcpy(s->database, slash + 1, len + 1);
    return TB_OK;
}

/* --- handles --- */

static CURL *take_handle(servers *s)
{
    CURL *curl = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->n_idle) curl = s->idle[--s->n_idle];
    pthread_mutex_unlock(&s->lock);
    return curl ? curl : curl_easy_init();
}

static void give_handle(servers *s, CURL *curl)
{
    pthread_mutex_lock(&s->lock);
    if (s->n_idle < IDLE_MAX) {
        s->idle[s->n_idle++] = curl;
        curl = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (curl) curl_easy_cleanup(curl);
}

/* --- a statement --- */

static size_t add_answer(char *bytes, size_t size, size_t n, void *ctx)
{
    tb_buf *answer = ctx;
    tb_buf_add(answer, bytes, size * n);
    return answer->failed ? 0 : size * n;
}

static void set_up(const servers *s, CURL *curl, const char *url, tb_buf *answer)
{
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, s->limit_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, s->limit_ms < CONNECT_MS ? s->limit_ms : CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
}

static tb_code away(const servers *s, size_t shard, const char *why, size_t len, tb_error *err)
{
    while (len && (why[len - 1] == '\n' || why[len - 1] == ' '))
        len--;
    return tb_fail(err, TB_E_AWAY, "usage", "The usage server %s does not answer as it should: %.*s",
                   s->shard[shard], (int)(len > SAID_MAX ? SAID_MAX : len), why);
}

/* A chunk that cannot follow a good status is appended to the answer by ClickHouse, as text: buffered whole
 * (wait_end_of_query) it has a status of its own. */
static tb_code put_url(const servers *s, size_t shard, CURL *curl, const char *sql, bool body, tb_buf *url,
                       tb_error *err)
{
    char *query = body ? curl_easy_escape(curl, sql, 0) : NULL;
    if (body && !query) return tb_no_memory(err);
    tb_buf_fmt(url, "http://%s/?wait_end_of_query=1&max_query_size=1048576", s->shard[shard]);
    if (body) {
        tb_buf_str(url, "&query=");
        tb_buf_str(url, query);
    }
    curl_free(query);
    tb_buf_add(url, "", 1);
    return tb_buf_check(url, err);
}

static tb_code perform(const servers *s, size_t shard, CURL *curl, tb_buf *answer, size_t before,
                       tb_error *err)
{
    long status = 0;
    const CURLcode rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->failed) return tb_buf_check(answer, err);
    if (rc != CURLE_OK) {
        const char *why = curl_easy_strerror(rc);
        return away(s, shard, why, strlen(why), err);
    }
    if (status == 200) return TB_OK;
    tb_code code = away(s, shard, answer->data ? answer->data + before : "", answer->len - before, err);
    answer->len = before;
    return code;
}

static tb_code ask(void *ctx, size_t shard, const char *sql, const void *body, size_t len, tb_buf *answer,
                   tb_error *err)
{
    servers *s = ctx;
    tb_buf url;
    CURL *curl = take_handle(s);
    struct curl_slist *lines = curl_slist_append(NULL, "Expect:"); /* no pause before the body */
    if (!curl || !lines) {
        curl_slist_free_all(lines);
        if (curl) give_handle(s, curl);
        return tb_no_memory(err);
    }
    tb_buf_init(&url, (size_t)4 << 20, NULL);
    tb_code code = put_url(s, shard, curl, sql, len > 0, &url, err);
    if (!code) {
        set_up(s, curl, url.data, answer);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(len ? len : strlen(sql)));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, len ? body : sql);
        code = perform(s, shard, curl, answer, answer->len, err);
    }
    curl_slist_free_all(lines);
    tb_buf_release(&url);
    give_handle(s, curl);
    return code;
}

tb_code clickhouse_new(const char *url, long limit_ms, tb_usage_client **ret_client, tb_error *err)
{
    servers *s = calloc(1, sizeof *s);
    if (!s) return tb_no_memory(err);
    tb_code code = parse_url(s, url, err);
    if (code) {
        free(s);
        return code;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->limit_ms = limit_ms;
    s->client.ctx = s;
    s->client.database = s->database;
    s->client.ask = ask;
    *ret_client = &s->client;
    return TB_OK;
}

void clickhouse_free(tb_usage_client *client)
{
    if (!client) return;
    servers *s = client->ctx;
    for (size_t i = 0; i < s->n_idle; i++)
        curl_easy_cleanup(s->idle[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
