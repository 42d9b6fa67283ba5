/* One thread for all servers: it probes each once a second, all at the same time, and sends the KILL QUERY of abandoned
 * statements.
 *
 * Abandoned statements are not listed one by one: they are those that a server runs for this process and that are not
 * running here. So each server has one flag, and one KILL QUERY ends all of its abandoned statements. It names ids up
 * to the newest one, which ascend, so that it ends no later statement. The flag is set again until a KILL QUERY was
 * answered. */
#include "usage/internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_MS 1000
#define ID_FORMAT "tollbook-%016" PRIx64 "-%016" PRIx64
#define SQL_MAX   ((size_t)64 << 10)

typedef struct task {
    struct task *next;
    usage_servers *s;
    size_t shard;
    bool is_probe; /* else a KILL QUERY */
    usage_reply reply;
    tb_buf answer, sql;
    char url[USAGE_HOST_MAX + 40];
} task;

typedef struct watch {
    usage_servers *s;
    bool probing[USAGE_SHARDS_MAX], killing[USAGE_SHARDS_MAX];
    bool paused[USAGE_SHARDS_MAX]; /* its KILL QUERY failed: it waits for the next probe */
    task *all;                   /* running */
} watch;

static void drop(task *e)
{
    if (e->reply.curl) curl_easy_cleanup(e->reply.curl);
    tb_buf_release(&e->answer);
    tb_buf_release(&e->sql);
    free(e);
}

/* Also clears the flag: statements abandoned from now on set it again. */
static void put_kill(usage_servers *s, size_t shard, tb_buf *sql)
{
    pthread_mutex_lock(&s->lock);
    tb_buf_fmt(sql, "KILL QUERY WHERE query_id>='" ID_FORMAT "' AND query_id<'" ID_FORMAT "' AND query_id NOT IN(''", s->run,
               UINT64_C(0), s->run, s->count);
    for (const usage_running *r = s->running; r; r = r->next)
        if (r->shard == shard) tb_buf_fmt(sql, ",'%s'", r->id);
    tb_buf_str(sql, ") ASYNC FORMAT Null");
    s->shard[shard].abandoned = false;
    pthread_mutex_unlock(&s->lock);
}

static void set_abandoned(usage_servers *s, size_t shard)
{
    pthread_mutex_lock(&s->lock);
    s->shard[shard].abandoned = true;
    pthread_mutex_unlock(&s->lock);
}

static bool begin_task(watch *w, size_t shard, bool is_probe)
{
    usage_servers *s = w->s;
    task *e = calloc(1, sizeof *e);
    CURL *curl = e ? curl_easy_init() : NULL;
    const long limit_ms = s->options.limit_ms < USAGE_PROBE_MS ? (long)s->options.limit_ms : USAGE_PROBE_MS;
    if (!curl) {
        free(e);
        return false;
    }
    *e = (task){.next = w->all, .s = s, .shard = shard, .is_probe = is_probe};
    tb_buf_init(&e->answer, USAGE_SAID_MAX, NULL);
    tb_buf_init(&e->sql, SQL_MAX, NULL);
    e->reply = (usage_reply){.curl = curl, .answer = &e->answer};
    snprintf(e->url, sizeof e->url, "http%s://%s/?wait_end_of_query=1", s->address.secure ? "s" : "",
             s->address.shard[shard]);
    if (is_probe) tb_buf_str(&e->sql, "SELECT 1 FORMAT TabSeparated");
    else put_kill(s, shard, &e->sql);
    tb_buf_add(&e->sql, "", 1);
    usage_prepare(s, curl, e->url, limit_ms, &e->reply);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, e->sql.data);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, e);
    if (!e->sql.failed && curl_multi_add_handle(s->multi, curl) == CURLM_OK) {
        w->all = e;
        return true;
    }
    drop(e);
    return false;
}

static void note_probe(const task *e, CURLcode rc)
{
    char why[USAGE_WHY_MAX];
    usage_refuses refuses;
    const bool ok = usage_judge(rc, &e->reply, &refuses, why);
    if (ok && (e->answer.len != 2 || memcmp(e->answer.data, "1\n", 2) != 0))
        usage_note(e->s, e->shard, "it answers SELECT 1 with something else. Look at the host and the port.", true);
    else if (ok)
        usage_note(e->s, e->shard, NULL, false);
    else
        usage_note(e->s, e->shard, why, refuses == USAGE_REFUSES_ALL || rc == CURLE_OPERATION_TIMEDOUT);
}

static void take_ended(watch *w)
{
    int left = 0;
    for (CURLMsg *m; (m = curl_multi_info_read(w->s->multi, &left));) {
        task *e = NULL;
        const CURLcode rc = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&e);
        curl_multi_remove_handle(w->s->multi, m->easy_handle);
        task **at = &w->all;
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
        if (e->is_probe) {
            note_probe(e, rc);
            w->probing[e->shard] = false;
        } else {
            char why[USAGE_WHY_MAX];
            usage_refuses refuses;
            w->killing[e->shard] = false;
            if (!usage_judge(rc, &e->reply, &refuses, why)) {
                set_abandoned(w->s, e->shard);
                w->paused[e->shard] = true;
            }
        }
        drop(e);
    }
}

static bool needs_kill(const watch *w, size_t shard)
{
    pthread_mutex_lock(&w->s->lock);
    const bool needed = w->s->shard[shard].abandoned && !w->s->shard[shard].away;
    pthread_mutex_unlock(&w->s->lock);
    return needed && !w->paused[shard];
}

static void begin_kills(watch *w)
{
    for (size_t shard = 0; shard < w->s->address.shards; shard++) {
        if (w->killing[shard] || !needs_kill(w, shard)) continue;
        w->killing[shard] = begin_task(w, shard, false);
        if (w->killing[shard]) continue;
        set_abandoned(w->s, shard);
        w->paused[shard] = true;
    }
}

static void begin_probes(watch *w)
{
    for (size_t shard = 0; shard < w->s->address.shards; shard++) {
        w->paused[shard] = false;
        if (!w->probing[shard]) w->probing[shard] = begin_task(w, shard, true);
    }
}

static int64_t mono_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A KILL QUERY is running, or needed: a stop waits for it, at most USAGE_PROBE_MS. */
static bool any_kill(const watch *w)
{
    bool any = false;
    for (size_t shard = 0; shard < w->s->address.shards; shard++)
        any = any || w->killing[shard] || needs_kill(w, shard);
    return any;
}

static void *run_watch(void *arg)
{
    usage_servers *s = arg;
    watch w = {.s = s};
    int64_t next_ms = mono_ms() + PERIOD_MS;
    int running = 0;
    for (bool stop; !(stop = atomic_load(&s->stop)) || any_kill(&w);) {
        const int64_t left_ms = stop ? PERIOD_MS : next_ms - mono_ms();
        if (left_ms > 0) curl_multi_poll(s->multi, NULL, 0, (int)left_ms, NULL);
        if (!stop && (mono_ms() >= next_ms || atomic_exchange(&s->probe_now, false))) {
            begin_probes(&w);
            next_ms = mono_ms() + PERIOD_MS;
        }
        begin_kills(&w);
        curl_multi_perform(s->multi, &running);
        take_ended(&w);
    }
    for (task *e = w.all, *next; e; e = next) {
        next = e->next;
        curl_multi_remove_handle(s->multi, e->reply.curl);
        drop(e);
    }
    return NULL;
}

bool usage_watch_start(usage_servers *s)
{
    sigset_t all, before;
    s->multi = curl_multi_init();
    if (!s->multi) return false;
    sigfillset(&all); /* signals go to other threads */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    s->watched = pthread_create(&s->thread, NULL, run_watch, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s->watched;
}

void usage_watch_stop(usage_servers *s)
{
    if (s->watched) {
        atomic_store(&s->stop, true);
        curl_multi_wakeup(s->multi);
        pthread_join(s->thread, NULL);
    }
    if (s->multi) curl_multi_cleanup(s->multi);
}

void usage_watch_begin(usage_servers *s, size_t shard, usage_running *r)
{
    pthread_mutex_lock(&s->lock);
    r->shard = shard;
    snprintf(r->id, sizeof r->id, ID_FORMAT, s->run, s->count++);
    r->next = s->running;
    r->at = &s->running;
    if (r->next) r->next->at = &r->next;
    s->running = r;
    pthread_mutex_unlock(&s->lock);
}

void usage_watch_end(usage_servers *s, usage_running *r, bool abandoned)
{
    pthread_mutex_lock(&s->lock);
    *r->at = r->next;
    if (r->next) r->next->at = r->at;
    if (abandoned) s->shard[r->shard].abandoned = true;
    pthread_mutex_unlock(&s->lock);
    if (abandoned) curl_multi_wakeup(s->multi);
}

void usage_watch_probe(usage_servers *s)
{
    atomic_store(&s->probe_now, true);
    curl_multi_wakeup(s->multi);
}
