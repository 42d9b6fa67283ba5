/* Each statement takes a handle from a pool, because handles keep their connections. The state of a server is noted for
 * all threads (usage_note). */
#include "usage/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define URL_MAX       ((size_t)4 << 20)
#define CHECK_EVERY_US 10000 /* how often is checked whether the answer is still wanted */
#define FULL_US       30000000
#define BRIEF         "buffer_size=1048576"
#define BRIEF_END     1048576 /* an answer of this length may be cut, or end in an error message */

static _Thread_local struct {
    bool (*over)(void *ctx);
    void *ctx;
} waiting;

static _Thread_local struct {
    bool on, any;
    size_t shard;
} refusing;

void usage_wait_for(bool (*over)(void *ctx), void *ctx)
{
    waiting.over = over;
    waiting.ctx = ctx;
}

void usage_refuse(void)
{
    refusing.on = true;
    refusing.any = false;
}

bool usage_refused(size_t *ret_shard)
{
    refusing.on = false;
    *ret_shard = refusing.shard;
    return refusing.any;
}

static int64_t mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* --- the servers' state --- */

void usage_name(const usage_servers *s, size_t shard, char *out, size_t size)
{
    snprintf(out, size, "%s (shard %zu of %zu)", s->address.shard[shard], shard + 1, s->address.shards);
}

static tb_code fail_away(const usage_servers *s, size_t shard, const char *why, tb_error *err)
{
    return tb_fail(err, TB_E_AWAY, "usage", "Usage server %.70s (shard %zu of %zu): %s", s->address.shard[shard], shard + 1,
                   s->address.shards, why);
}

static void say_change(const usage_servers *s, size_t shard, const char *why)
{
    char name[USAGE_HOST_MAX + 32], sentence[USAGE_HOST_MAX + USAGE_WHY_MAX + 80];
    if (!s->options.say || atomic_load(&s->left)) return;
    usage_name(s, shard, name, sizeof name);
    if (why) snprintf(sentence, sizeof sentence, "Usage server %s is away: %s", name, why);
    else snprintf(sentence, sizeof sentence, "Usage server %s is back.", name);
    s->options.say(sentence);
}

void usage_note(usage_servers *s, size_t shard, const char *why, bool gone)
{
    usage_shard *to = &s->shard[shard];
    pthread_mutex_lock(&s->lock);
    const bool was_away = to->away;
    if (why) {
        to->failed_s = (int64_t)time(NULL);
        if (gone) snprintf(to->why, sizeof to->why, "%s", why);
    }
    to->away = gone || (why && was_away);
    if (to->away && !was_away) atomic_fetch_add(&to->losses, 1);
    const bool changed = to->away != was_away;
    pthread_mutex_unlock(&s->lock);
    if (changed) say_change(s, shard, why);
}

/* Notes whether a shard took rows; why: it stores none. */
static void note_rows(usage_servers *s, size_t shard, const char *why)
{
    usage_shard *to = &s->shard[shard];
    pthread_mutex_lock(&s->lock);
    snprintf(to->full, sizeof to->full, "%s", why);
    to->full_us = mono_us();
    pthread_mutex_unlock(&s->lock);
}

static bool is_away(usage_servers *s, size_t shard, char ret_why[USAGE_WHY_MAX])
{
    pthread_mutex_lock(&s->lock);
    const bool gone = s->shard[shard].away;
    if (gone) memcpy(ret_why, s->shard[shard].why, USAGE_WHY_MAX);
    pthread_mutex_unlock(&s->lock);
    return gone;
}

/* The servers that have the usage. */
static usage_servers *used_of(const usage_servers *s)
{
    usage_servers *used = atomic_load(&s->used);
    return used ? used : (usage_servers *)(uintptr_t)s;
}

size_t usage_servers_shards(const usage_servers *s)
{
    return used_of(s)->address.shards;
}

void usage_servers_read(usage_servers *s, size_t shard, usage_shard_figures *ret)
{
    s = used_of(s);
    const usage_shard *of = &s->shard[shard];
    *ret = (usage_shard_figures){.statements = atomic_load(&of->statements), .failures = atomic_load(&of->failures),
                                 .sent_bytes = atomic_load(&of->sent_bytes),
                                 .received_bytes = atomic_load(&of->received_bytes),
                                 .busy_us = atomic_load(&of->busy_us)};
    snprintf(ret->host, sizeof ret->host, "%s", s->address.shard[shard]);
    ret->up = !is_away(s, shard, ret->why);
    pthread_mutex_lock(&s->lock);
    ret->failed_s = of->failed_s;
    pthread_mutex_unlock(&s->lock);
}

bool usage_servers_up(usage_servers *s, tb_error *err)
{
    char why[USAGE_WHY_MAX];
    s = used_of(s);
    for (size_t shard = 0; shard < s->address.shards; shard++)
        if (is_away(s, shard, why)) {
            (void)fail_away(s, shard, why, err);
            return false;
        }
    return true;
}

bool usage_servers_store_rows(usage_servers *s, tb_error *err)
{
    char why[USAGE_WHY_MAX];
    s = used_of(s);
    for (size_t shard = 0; shard < s->address.shards; shard++) {
        const usage_shard *of = &s->shard[shard];
        pthread_mutex_lock(&s->lock);
        const bool full = of->full[0] && mono_us() - of->full_us < FULL_US;
        if (full) memcpy(why, of->full, sizeof why);
        pthread_mutex_unlock(&s->lock);
        if (full) return fail_away(s, shard, why, err) == TB_OK;
    }
    return true;
}

/* --- handles --- */

static CURL *take_handle(usage_servers *s)
{
    CURL *curl = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->n_idle) curl = s->idle[--s->n_idle];
    pthread_mutex_unlock(&s->lock);
    return curl ? curl : curl_easy_init();
}

static void return_handle(usage_servers *s, CURL *curl)
{
    pthread_mutex_lock(&s->lock);
    if (s->n_idle < USAGE_IDLE_MAX) {
        s->idle[s->n_idle++] = curl;
        curl = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (curl) curl_easy_cleanup(curl);
}

/* --- a statement --- */

typedef struct statement {
    usage_servers *s;
    const tb_usage_statement *of;
    bool brief;      /* the answer is expected to be short */
    bool abandoned;  /* its server may still run it */
    unsigned losses; /* of the shard, when the statement began */
    int64_t looked_us;
    usage_running running;
} statement;

/* Called by libcurl often, and for each 4 KB that ClickHouse sends. */
static int statement_over(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    statement *st = ctx;
    const int64_t now_us = mono_us();
    (void)a, (void)b, (void)c, (void)d;
    if (now_us - st->looked_us < CHECK_EVERY_US) return 0;
    st->looked_us = now_us;
    if (atomic_load(&st->s->shard[st->of->shard].losses) != st->losses) return 1;
    return waiting.over && waiting.over(waiting.ctx);
}

static bool reads(const statement *st)
{
    return strncasecmp(st->of->sql, "SELECT", 6) == 0;
}

/* Whether it has the same effect if it runs twice: CREATE has IF NOT EXISTS. An INSERT would store its rows twice, and
 * libcurl itself sends a request again if a kept connection turns out to be closed. */
static bool may_repeat(const statement *st)
{
    return reads(st) || strncasecmp(st->of->sql, "CREATE", 6) == 0;
}

static long limit_of(const statement *st)
{
    const long most = (long)st->s->options.limit_ms;
    return reads(st) || st->of->len || most > USAGE_WORK_MS ? most : USAGE_WORK_MS;
}

/* ClickHouse appends an error that comes after a good status to the answer, as text. An answer that is buffered whole
 * (wait_end_of_query) has the right status; so has one shorter than buffer_size, of which nothing is sent before its
 * end, and which takes ClickHouse less memory. A query also has a time limit at the server, in case KILL QUERY does not
 * reach it. */
static tb_code put_url(const statement *st, CURL *curl, tb_buf *url, tb_error *err)
{
    const usage_servers *s = st->s;
    char *query = st->of->len ? curl_easy_escape(curl, st->of->sql, 0) : NULL;
    if (st->of->len && !query) return tb_no_memory(err);
    tb_buf_fmt(url, "http%s://%s/?%s&max_query_size=1048576&query_id=%s", s->address.secure ? "s" : "", s->address.shard[st->of->shard],
               st->brief ? BRIEF : "wait_end_of_query=1&buffer_size=4194304", st->running.id);
    if (reads(st)) tb_buf_fmt(url, "&max_execution_time=%ld", limit_of(st) / 1000 + 1);
    if (query) {
        tb_buf_str(url, "&query=");
        tb_buf_str(url, query);
    }
    curl_free(query);
    tb_buf_add(url, "", 1);
    return tb_buf_check(url, err);
}

/* Whether the failure may be a kept connection that the server had closed. */
static bool was_stale(CURLcode rc, const usage_reply *reply)
{
    long made = 0;
    curl_easy_getinfo(reply->curl, CURLINFO_NUM_CONNECTS, &made);
    return made == 0 && reply->head == 0 &&
           (rc == CURLE_GOT_NOTHING || rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR);
}

static CURLcode perform(statement *st, const char *url, bool fresh, usage_reply *reply)
{
    CURL *curl = reply->curl;
    usage_prepare(st->s, curl, url, limit_of(st), reply);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(st->of->len ? st->of->len : strlen(st->of->sql)));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, st->of->len ? st->of->body : st->of->sql);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, may_repeat(st) ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, statement_over);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, st);
    return curl_easy_perform(curl);
}

static void count_statement(statement *st, const usage_reply *reply, int64_t begun_us, bool failed)
{
    usage_shard *to = &st->s->shard[st->of->shard];
    curl_off_t sent = 0;
    curl_easy_getinfo(reply->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
    atomic_fetch_add(&to->statements, 1);
    atomic_fetch_add(&to->failures, failed);
    atomic_fetch_add(&to->sent_bytes, (uint64_t)sent);
    atomic_fetch_add(&to->received_bytes, reply->got);
    atomic_fetch_add(&to->busy_us, (uint64_t)(mono_us() - begun_us));
}

/* Notes the result for the server's state, and returns it. */
static tb_code conclude(statement *st, CURLcode rc, const usage_reply *reply, tb_error *err)
{
    char why[USAGE_WHY_MAX];
    usage_refuses refuses;
    const bool ok = usage_judge(rc, reply, &refuses, why);
    if (st->of->len) note_rows(st->s, st->of->shard, !ok && refuses == USAGE_REFUSES_ROWS ? why : "");
    if (ok) return TB_OK;
    if (rc == CURLE_ABORTED_BY_CALLBACK && is_away(st->s, st->of->shard, why)) return fail_away(st->s, st->of->shard, why, err);
    if (rc == CURLE_ABORTED_BY_CALLBACK)
        return tb_fail(err, TB_E_STOPPED, NULL, "The answer is not needed any more.");
    usage_note(st->s, st->of->shard, why, refuses == USAGE_REFUSES_ALL);
    if (rc == CURLE_OPERATION_TIMEDOUT) usage_watch_probe(st->s);
    return fail_away(st->s, st->of->shard, why, err);
}

static tb_code exchange(statement *st, const char *url, CURL *curl, tb_buf *answer, tb_error *err)
{
    const size_t before = answer->len;
    const int64_t begun_us = mono_us();
    usage_reply reply = {.curl = curl, .answer = answer};
    CURLcode rc = perform(st, url, !may_repeat(st), &reply);
    if (may_repeat(st) && was_stale(rc, &reply)) {
        reply = (usage_reply){.curl = curl, .answer = answer};
        rc = perform(st, url, true, &reply);
    }
    st->abandoned = rc != CURLE_OK;
    tb_code code = conclude(st, rc, &reply, err);
    count_statement(st, &reply, begun_us, code != TB_OK);
    if (code && !answer->failed) answer->len = before;
    return code;
}

static tb_code send_statement(usage_servers *s, const tb_usage_statement *of, bool brief, tb_buf *answer, tb_error *err)
{
    statement st = {.s = s, .of = of, .brief = brief, .losses = atomic_load(&s->shard[of->shard].losses), .looked_us = mono_us()};
    CURL *curl = take_handle(s);
    if (!curl) return tb_no_memory(err);
    tb_buf url;
    tb_buf_init(&url, URL_MAX, NULL);
    usage_watch_begin(s, of->shard, &st.running);
    tb_code code = put_url(&st, curl, &url, err);
    if (!code) code = exchange(&st, url.data, curl, answer, err);
    usage_watch_end(s, &st.running, st.abandoned);
    tb_buf_release(&url);
    return_handle(s, curl);
    return code;
}

static tb_code ask(void *ctx, const tb_usage_statement *of, tb_buf *answer, tb_error *err)
{
    usage_servers *s = ctx;
    const size_t before = answer->len;
    char why[USAGE_WHY_MAX];
    if (is_away(s, of->shard, why)) return fail_away(s, of->shard, why, err);
    if (refusing.on) {
        refusing.any = true;
        refusing.shard = of->shard;
        return tb_fail(err, TB_E_BUSY, "usage", "This thread does not wait for usage servers.");
    }
    tb_code code = send_statement(s, of, of->brief, answer, err);
    if (code || !of->brief || answer->len - before < BRIEF_END) return code;
    answer->len = before;
    return send_statement(s, of, false, answer, err);
}

/* --- rows for several servers --- */

typedef struct sending {
    usage_servers *s;
    const tb_usage_statement *rows; /* NULL: the list's end */
    bool (*over)(void *ctx);   /* of the thread that sends all of them */
    void *over_ctx;
    tb_code code;
    tb_error err;
    pthread_t thread;
    bool apart; /* it has a thread of its own */
} sending;

static void *send_one(void *arg)
{
    sending *one = arg;
    tb_buf answer;
    tb_buf_init(&answer, USAGE_HEAD_MAX, NULL);
    usage_wait_for(one->over, one->over_ctx);
    one->code = ask(one->s, one->rows, &answer, &one->err);
    tb_buf_release(&answer);
    return NULL;
}

/* This happens a few times a second and then takes as long as an INSERT, so threads need not be kept for it. Without a
 * thread the rows are sent at once. */
static tb_code start_rows(void *ctx, const tb_usage_statement *list, size_t n, void **ret_token, tb_error *err)
{
    sending *all = calloc(n + 1, sizeof *all);
    if (!all) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        all[i] = (sending){.s = ctx, .rows = &list[i], .over = waiting.over, .over_ctx = waiting.ctx};
        all[i].apart = pthread_create(&all[i].thread, NULL, send_one, &all[i]) == 0;
        if (!all[i].apart) send_one(&all[i]);
    }
    *ret_token = all;
    return TB_OK;
}

static tb_code finish_rows(void *ctx, void *token, tb_error *err)
{
    sending *all = token;
    tb_code code = TB_OK;
    (void)ctx;
    for (const sending *one = all; one->rows; one++) {
        if (one->apart) pthread_join(one->thread, NULL);
        if (code || !one->code) continue;
        code = one->code;
        if (err) *err = one->err;
    }
    free(all);
    return code;
}

/* --- the login --- */

static bool take_line(const char **at, const char *end, char out[USAGE_LOGIN_MAX + 1])
{
    const char *line = memchr(*at, '\n', (size_t)(end - *at));
    size_t len = (size_t)((line ? line : end) - *at);
    const char *from = *at;
    *at = line ? line + 1 : end;
    if (len && from[len - 1] == '\r') len--;
    if (len > USAGE_LOGIN_MAX) return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)from[i] < ' ' || from[i] == 127) return false;
    memcpy(out, from, len);
    out[len] = 0;
    return true;
}

bool usage_login_parse(const char *text, size_t len, usage_login *ret)
{
    const char *at = text, *const end = text + len;
    return take_line(&at, end, ret->user) && ret->user[0] && take_line(&at, end, ret->password) && at == end;
}

static bool add_field_line(struct curl_slist **lines, const char *name, const char *value)
{
    char line[USAGE_LOGIN_MAX + 40];
    snprintf(line, sizeof line, value[0] ? "%s: %s" : "%s:", name, value);
    struct curl_slist *more = curl_slist_append(*lines, line);
    if (more) *lines = more;
    return more != NULL;
}

static void free_lines(struct curl_slist *lines)
{
    for (struct curl_slist *line = lines; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    curl_slist_free_all(lines);
}

/* NULL: there is no memory. */
static struct curl_slist *make_lines(const usage_login *who)
{
    struct curl_slist *lines = NULL;
    if (add_field_line(&lines, "Expect", "") && /* no pause before the body */
        (!who->user[0] || add_field_line(&lines, "X-ClickHouse-User", who->user)) &&
        (!who->password[0] || add_field_line(&lines, "X-ClickHouse-Key", who->password)))
        return lines;
    free_lines(lines);
    return NULL;
}

static tb_code use_login(usage_servers *s, const usage_login *login, tb_error *err)
{
    if (memcmp(&s->options.login, login, sizeof *login) == 0) return TB_OK;
    if (s->n_former == USAGE_LOGINS_MAX)
        return tb_fail(err, TB_E_BUSY, NULL, "The login was changed %d times. Start the server again to change it once more.",
                       USAGE_LOGINS_MAX);
    struct curl_slist *lines = make_lines(login);
    if (!lines) return tb_no_memory(err);
    s->former[s->n_former++] = s->lines;
    s->lines = lines;
    s->options.login = *login;
    return TB_OK;
}

tb_code usage_servers_use_login(usage_servers *s, const usage_login *login, tb_error *err)
{
    tb_code code = TB_OK;
    pthread_mutex_lock(&s->change);
    for (usage_servers *of = s; !code && of; of = atomic_load(&of->next))
        code = use_login(of, login, err);
    pthread_mutex_unlock(&s->change);
    return code;
}

/* --- open and close --- */

static const tb_usage_client *next_client(void *ctx)
{
    return usage_servers_client(atomic_load(&((usage_servers *)ctx)->next));
}

/* FNV-1a. */
static int64_t number_of(const usage_address *a)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t shard = 0; shard <= a->shards; shard++)
        for (const char *at = shard < a->shards ? a->shard[shard] : a->database;; at++) {
            hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
            if (!*at) break;
        }
    return (int64_t)(hash >> 1 | 1);
}

int64_t usage_address_number(const char *url)
{
    usage_address address;
    tb_error err;
    return usage_address_parse(url, &address, &err) ? 0 : number_of(&address);
}

tb_code usage_servers_open(const usage_options *options, usage_servers **ret_servers, tb_error *err)
{
    usage_servers *s = calloc(1, sizeof *s);
    if (!s) return tb_no_memory(err);
    curl_global_init(CURL_GLOBAL_DEFAULT); /* if it fails, no handle can be made */
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->change, NULL);
    s->options = *options;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    s->run = ((uint64_t)t.tv_sec << 24 ^ (uint64_t)t.tv_nsec) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)getpid() ^
             (uint64_t)(uintptr_t)s;
    s->client = (tb_usage_client){.ctx = s, .database = s->address.database, .ask = ask, .start = start_rows,
                                  .finish = finish_rows, .remember = options->remember, .next = next_client};
    tb_code code = usage_address_parse(options->url, &s->address, err);
    if (!code) s->client.address = number_of(&s->address);
    s->options.url = NULL; /* it is not needed any more */
    s->client.shards = s->address.shards;
    s->lines = make_lines(&options->login);
    if (!code && (!s->lines || !usage_watch_start(s))) code = tb_no_memory(err);
    if (code) usage_servers_close(s);
    else *ret_servers = s;
    return code;
}

void usage_servers_close(usage_servers *s)
{
    if (!s) return;
    usage_servers_close(atomic_load(&s->next));
    usage_watch_stop(s);
    for (size_t i = 0; i < s->n_idle; i++)
        curl_easy_cleanup(s->idle[i]);
    free_lines(s->lines);
    while (s->n_former)
        free_lines(s->former[--s->n_former]);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->change);
    explicit_bzero(&s->options.login, sizeof s->options.login);
    free(s);
}

const tb_usage_client *usage_servers_client(const usage_servers *s)
{
    return s ? &s->client : NULL;
}

tb_code usage_servers_add(usage_servers *s, const char *url, usage_servers **ret_added, tb_error *err)
{
    usage_servers *last = s;
    const int64_t number = usage_address_number(url);
    size_t n = 1;
    for (; last->client.address != number && atomic_load(&last->next); n++)
        last = atomic_load(&last->next);
    *ret_added = last;
    if (last->client.address == number) return TB_OK;
    if (n > USAGE_ADDED_MAX)
        return tb_fail(err, TB_E_BUSY, "to", "Usage was to be moved to %d addresses since the start. Start the server again first.",
                       USAGE_ADDED_MAX);
    pthread_mutex_lock(&s->change);
    usage_options options = s->options;
    options.url = url;
    const tb_code code = usage_servers_open(&options, ret_added, err);
    if (!code) atomic_store(&last->next, *ret_added);
    pthread_mutex_unlock(&s->change);
    explicit_bzero(&options.login, sizeof options.login);
    return code;
}

void usage_servers_use(usage_servers *s, usage_servers *added)
{
    usage_servers *before = used_of(s);
    if (before == added) return;
    atomic_store(&s->used, added);
    atomic_store(&before->left, true);
}

bool usage_servers_are_used(const usage_servers *s, const usage_servers *added)
{
    return used_of(s) == added;
}
