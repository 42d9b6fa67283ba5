/* One thread for all servers: a look at each, once a second, all at the same time, and the KILL QUERY of what was
 * given up. */
#include "usage/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_MS 1000

typedef struct errand {
    struct errand *next;
    usage_servers *s;
    size_t shard;
    bool looks; /* or it kills */
    usage_reply reply;
    tb_buf answer;
    char url[USAGE_HOST_MAX + 40], sql[USAGE_ID_MAX + 64];
} errand;

typedef struct watch {
    usage_servers *s;
    bool looking[USAGE_SHARDS_MAX];
    errand *all; /* on their way */
} watch;

static void drop(errand *e)
{
    if (e->reply.curl) curl_easy_cleanup(e->reply.curl);
    tb_buf_release(&e->answer);
    free(e);
}

static errand *begin_errand(watch *w, size_t shard, const char *id)
{
    usage_servers *s = w->s;
    errand *e = calloc(1, sizeof *e);
    CURL *curl = e ? curl_easy_init() : NULL;
    const long limit_ms = s->options.limit_ms < USAGE_LOOK_MS ? (long)s->options.limit_ms : USAGE_LOOK_MS;
    if (!curl) {
        free(e);
        return NULL;
    }
    *e = (errand){.next = w->all, .s = s, .shard = shard, .looks = !id};
    tb_buf_init(&e->answer, USAGE_SAID_MAX, NULL);
    e->reply = (usage_reply){.curl = curl, .answer = &e->answer};
    snprintf(e->url, sizeof e->url, "http%s://%s/?wait_end_of_query=1", s->address.secure ? "s" : "",
             s->address.shard[shard]);
    if (id) snprintf(e->sql, sizeof e->sql, "KILL QUERY WHERE query_id='%s' ASYNC", id);
    else snprintf(e->sql, sizeof e->sql, "SELECT 1 FORMAT TabSeparated");
    usage_prepare(s, curl, e->url, limit_ms, &e->reply);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, e->sql);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, e);
    if (curl_multi_add_handle(s->multi, curl) == CURLM_OK) {
        w->all = e;
        return e;
    }
    drop(e);
    return NULL;
}

static void note_look(const errand *e, CURLcode rc)
{
    char why[USAGE_WHY_MAX];
    bool closed = false;
    const bool ok = usage_judge(rc, &e->reply, &closed, why);
    if (ok && (e->answer.len != 2 || memcmp(e->answer.data, "1\n", 2) != 0))
        usage_note(e->s, e->shard, "it answers SELECT 1 with something else. Look at the host and the port.", true);
    else if (ok)
        usage_note(e->s, e->shard, NULL, false);
    else
        usage_note(e->s, e->shard, why, closed || rc == CURLE_OPERATION_TIMEDOUT);
}

static void take_out(watch *w, const errand *e)
{
    errand **at = &w->all;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
}

static void take_ended(watch *w)
{
    int left = 0;
    for (CURLMsg *m; (m = curl_multi_info_read(w->s->multi, &left));) {
        errand *e = NULL;
        const CURLcode rc = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&e);
        curl_multi_remove_handle(w->s->multi, m->easy_handle);
        take_out(w, e);
        if (e->looks) {
            note_look(e, rc);
            w->looking[e->shard] = false;
        }
        drop(e);
    }
}

static void begin_kills(watch *w)
{
    usage_servers *s = w->s;
    usage_kill kills[USAGE_KILLS_MAX];
    pthread_mutex_lock(&s->lock);
    const size_t n = s->n_kills;
    memcpy(kills, s->kills, n * sizeof *kills);
    s->n_kills = 0;
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < n; i++)
        (void)begin_errand(w, kills[i].shard, kills[i].id);
}

static void begin_looks(watch *w)
{
    for (size_t shard = 0; shard < w->s->address.shards; shard++)
        if (!w->looking[shard]) w->looking[shard] = begin_errand(w, shard, NULL) != NULL;
}

static int64_t mono_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void drop_all(watch *w)
{
    for (errand *e = w->all, *next; e; e = next) {
        next = e->next;
        curl_multi_remove_handle(w->s->multi, e->reply.curl);
        drop(e);
    }
}

static void *run_watch(void *arg)
{
    usage_servers *s = arg;
    watch w = {.s = s};
    int64_t next_ms = mono_ms() + PERIOD_MS;
    int running = 0;
    while (!atomic_load(&s->stop)) {
        const int64_t now_ms = mono_ms();
        if (now_ms >= next_ms || atomic_exchange(&s->look_now, false)) {
            begin_looks(&w);
            next_ms = now_ms + PERIOD_MS;
        }
        begin_kills(&w);
        curl_multi_perform(s->multi, &running);
        take_ended(&w);
        const int64_t left_ms = next_ms - mono_ms();
        if (left_ms > 0) curl_multi_poll(s->multi, NULL, 0, (int)left_ms, NULL);
    }
    drop_all(&w);
    return NULL;
}

bool usage_watch_start(usage_servers *s)
{
    sigset_t all, before;
    s->multi = curl_multi_init();
    if (!s->multi) return false;
    sigfillset(&all); /* signals are other threads' */
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

void usage_watch_kill(usage_servers *s, size_t shard, const char *id)
{
    pthread_mutex_lock(&s->lock);
    if (s->n_kills < USAGE_KILLS_MAX) {
        usage_kill *k = &s->kills[s->n_kills++];
        k->shard = shard;
        snprintf(k->id, sizeof k->id, "%s", id);
    }
    pthread_mutex_unlock(&s->lock);
    curl_multi_wakeup(s->multi);
}

void usage_watch_look(usage_servers *s)
{
    atomic_store(&s->look_now, true);
    curl_multi_wakeup(s->multi);
}
