/* A list under a mutex, a thread that takes as much of it as one commit should hold. Group commit
 * is where durable ingest gets its speed: one fsync for all who wait. */
#include "http/writer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "http/jobs/background.h"
#include "http/clock.h"
#include "tollbook/batches.h"

struct writer {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    tb_store *store;
    writer_hooks hooks;
    write_job *first, **last;
    unsigned queued;
    size_t queued_bytes;
    int64_t gathered_us; /* the writer's thread alone: when the last group with usage began */
    int64_t busy_us, tended_us; /* likewise: the last end of work, and of a step of hooks.tend */
    int64_t tend_took_us;       /* likewise: that step */
    bool tends, idles;          /* likewise: that, or hooks.idle, has more to do */
    bool stop, running, broken;
    bool owes_keys; /* the writer's thread alone: a change of keys is not in force yet */
};

typedef struct group {
    writer *w;
    int64_t begun_us;
    write_job *first, **last;
    write_job *rest; /* not in it */
    size_t bytes;
    bool changed_keys;
    bool unwritten; /* what the jobs gathered could not be written: nothing is lost by that */
    bool undone;    /* its one job failed, and all of the transaction goes with it */
} group;

static void fail_job(write_job *job, const tb_error *err)
{
    job->code = err->code;
    job->err = *err;
}

bool write_job_over(write_job *job)
{
    static const tb_error late = {
        .code = TB_E_BUSY,
        .message = "The server has more to do than it can; send the same again later.",
    };
    const bool left = job->left && job->left(job);
    if (!left && (!job->wait_us || clock_mono_us() - job->since_us <= job->wait_us)) return false;
    fail_job(job, &late);
    return true;
}

/* One job behind its mark. false: the transaction itself is lost. */
static bool run_job(tb_store *store, write_job *job, tb_error *err)
{
    if (write_job_over(job)) return true;
    if (tb_store_mark(store, err) != TB_OK) return false;
    tb_error own = {0};
    job->code = job->run(job, store, &own);
    if (job->code == TB_OK) return tb_store_keep_mark(store, err) == TB_OK;
    fail_job(job, &own);
    job->changed_keys = false;
    tb_store_back_to_mark(store);
    return true;
}

/* It is alone in its transaction, which goes with it where it fails. Under a mark each statement that inserts several rows, or
 * has triggers, would cost as much as all that the transaction has changed before it. On usage servers that is little. */
static bool is_heavy(const group *g, const write_job *job)
{
    return !g->w->hooks.gather_us && job->weight > WRITER_ALONE;
}

static bool run_heavy(tb_store *store, group *g, write_job *job, tb_error *err)
{
    if (write_job_over(job)) return true;
    tb_error own = {0};
    job->code = job->run(job, store, &own);
    if (job->code == TB_OK) return true;
    fail_job(job, &own);
    job->changed_keys = false;
    g->undone = true;
    *err = own;
    return false;
}

static bool is_short(const write_job *job)
{
    return job->weight <= WRITER_SHORT;
}

/* Where usage is gathered, what brings some is not mixed with what does not: its INSERT may fail. Elsewhere what several
 * jobs bring is written at the end, which may fail, too; and those that are short are answered before what is not
 * begins. */
static bool may_join(const group *g, const write_job *job, const write_job *next)
{
    if (g->w->hooks.gather_us) return job->usage == next->usage;
    return job->grouped == next->grouped && is_short(job) == is_short(next) && !is_heavy(g, job) &&
           !is_heavy(g, next);
}

static int64_t group_us(const group *g, const write_job *job)
{
    return g->w->hooks.gather_us && job->usage ? g->w->hooks.gather_us : WRITER_GROUP_US;
}

static size_t group_bytes(const group *g, const write_job *job)
{
    return g->w->hooks.gather_us && job->usage ? WRITER_GATHER_GROUP : WRITER_GROUP_BYTES;
}

/* The lock is held. */
static write_job *take_all(writer *w)
{
    write_job *all = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->queued = 0;
    w->queued_bytes = 0;
    return all;
}

/* Usage that came since the group began joins it, for an INSERT costs as much for one piece as for many; not where others wait for
 * the group's end. */
static write_job *take_more(writer *w)
{
    pthread_mutex_lock(&w->lock);
    write_job *jobs = w->first;
    while (jobs && jobs->usage && !jobs->alone)
        jobs = jobs->next;
    jobs = jobs ? NULL : take_all(w);
    pthread_mutex_unlock(&w->lock);
    return jobs;
}

static bool goes_on(group *g, const write_job *job)
{
    if (job->alone || g->bytes >= group_bytes(g, job) || clock_mono_us() - g->begun_us >= group_us(g, job)) return false;
    if (!g->rest && g->w->hooks.gather_us && job->usage) g->rest = take_more(g->w);
    return g->rest && !g->rest->alone && may_join(g, job, g->rest);
}

/* Runs jobs until the group is large or old enough, or one is to be alone; what is left stays in
 * g->rest. */
static tb_code run_jobs(tb_store *store, void *ctx, tb_error *err)
{
    group *g = ctx;
    write_job *job;
    g->begun_us = clock_mono_us();
    if (tb_store_group_batches(store, g->rest->grouped, err) != TB_OK) return err->code;
    do {
        job = g->rest;
        g->rest = job->next;
        job->next = NULL;
        *g->last = job;
        g->last = &job->next;
        g->bytes += job->bytes;
        if (!(is_heavy(g, job) ? run_heavy(store, g, job, err) : run_job(store, job, err))) return err->code;
        g->changed_keys |= job->changed_keys;
    } while (goes_on(g, job));
    tb_code code = tb_store_group_batches(store, false, err);
    g->unwritten = code != TB_OK;
    return code;
}

/* Only the loss of what was thought written makes a store unfit; a full disk does not. */
static void note_failure(writer *w, tb_code code)
{
    if (code != TB_E_IO && code != TB_E_CORRUPT) return;
    pthread_mutex_lock(&w->lock);
    w->broken = true;
    pthread_mutex_unlock(&w->lock);
}

/* After a commit, and while keys are owed. */
static bool publish(writer *w, bool changed_keys)
{
    w->owes_keys |= changed_keys;
    if (w->hooks.committed(w->hooks.ctx, w->store, w->owes_keys)) w->owes_keys = false;
    return !w->owes_keys;
}

/* Who changed a key must not believe that it holds. */
static void fail_key_jobs(group *g)
{
    static const tb_error owed = {
        .code = TB_E_BUSY,
        .message = "The change of keys is stored but not in force yet, try again later.",
    };
    for (write_job *job = g->first; job; job = job->next)
        if (job->code == TB_OK && job->changed_keys) fail_job(job, &owed);
}

static void finish_group(group *g, const tb_error *failed)
{
    for (write_job *job = g->first, *next; job; job = next) {
        next = job->next;
        if (failed && job->code == TB_OK) fail_job(job, failed);
        job->done(job);
    }
}

/* The database is not where it was. What was committed is moved out of the WAL into it, so that
 * whoever finds it finds all; the last commit may be in it, so what is known of it is read anew. */
static void lose(writer *w, bool changed_keys, const tb_error *err)
{
    tb_store_checkpoint(w->store, true);
    publish(w, changed_keys);
    if (w->hooks.lost) w->hooks.lost(w->hooks.ctx, err);
}

/* One transaction with the first of the jobs; returns the others. */
static write_job *commit_group(writer *w, write_job *jobs)
{
    group g = {.w = w, .last = &g.first, .rest = jobs};
    tb_error err = {0};
    if (tb_store_write(w->store, run_jobs, &g, &err) != TB_OK) {
        if (!g.first) { /* it did not even begin */
            g.first = jobs;
            g.rest = NULL;
            for (write_job *job = jobs; job; job = job->next)
                job->code = TB_OK;
        }
        if (!g.unwritten && !g.undone) note_failure(w, err.code);
        if (err.code == TB_E_GONE) lose(w, g.changed_keys, &err);
        finish_group(&g, &err);
        return g.rest;
    }
    if (!publish(w, g.changed_keys)) fail_key_jobs(&g);
    finish_group(&g, NULL);
    tb_store_checkpoint(w->store, false);
    return g.rest;
}

static bool is_broken(writer *w)
{
    pthread_mutex_lock(&w->lock);
    const bool broken = w->broken;
    pthread_mutex_unlock(&w->lock);
    return broken;
}

static void run_all(writer *w, write_job *jobs)
{
    static const tb_error refused = {
        .code = TB_E_IO,
        .message = "An earlier write failed; the server must be restarted to write again.",
    };
    while (jobs) {
        if (is_broken(w)) {
            group g = {.first = jobs};
            for (write_job *job = jobs; job; job = job->next)
                job->code = TB_OK;
            finish_group(&g, &refused);
            return;
        }
        jobs = commit_group(w, jobs);
    }
}

static struct timespec later(int64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

static void tend(writer *w)
{
    const int64_t from_us = clock_mono_us();
    w->tends = w->hooks.tend(w->hooks.ctx, w->store);
    w->tended_us = clock_mono_us();
    w->tend_took_us = w->tended_us - from_us;
}

/* Under load: whether a step is due that is to take one part of the time, and others so many. */
static bool is_tend_due(const writer *w, int64_t others)
{
    int64_t pause_us = w->tend_took_us * others;
    if (!w->tends || pause_us > WRITER_TEND_US) pause_us = WRITER_TEND_US;
    return w->hooks.tend && !w->owes_keys && clock_mono_us() - w->tended_us >= pause_us;
}

static int64_t idle_ms(const writer *w)
{
    if (w->owes_keys) return WRITER_AGAIN_MS;
    if (w->tends || w->idles) return 1;
    return w->hooks.tend ? WRITER_TEND_MS : WRITER_IDLE_MS;
}

/* What is done while nobody asks for anything. */
static void be_idle(writer *w)
{
    const int64_t now_us = clock_mono_us();
    if (w->owes_keys) {
        publish(w, false);
        return;
    }
    if (w->hooks.tend && (w->tends || now_us - w->tended_us >= WRITER_TEND_MS * INT64_C(1000))) tend(w);
    if (w->hooks.idle && (w->idles || !w->hooks.tend || now_us - w->busy_us >= WRITER_IDLE_MS * INT64_C(1000))) {
        w->busy_us = now_us;
        w->idles = w->hooks.idle(w->hooks.ctx, w->store);
    }
}

/* --- usage that waits --- */

static void append_job(write_job ***last, write_job *job)
{
    job->next = NULL;
    **last = job;
    *last = &job->next;
}

static bool bring_usage(const write_job *jobs)
{
    while (jobs && !jobs->usage)
        jobs = jobs->next;
    return jobs != NULL;
}

/* So much of it waits that no more need be gathered. */
static bool is_plenty(const writer *w)
{
    size_t bytes = 0, cells = 0;
    for (const write_job *job = w->first; job; job = job->next) {
        bytes += job->usage ? job->bytes : 0;
        cells += job->usage ? job->cells : 0;
    }
    return bytes >= WRITER_GATHER_BYTES || cells >= WRITER_GATHER_CELLS;
}

/* Whether jobs with usage have to stay in the queue; *ret_ms is then when to look again. The lock is held. */
static bool holds_usage(writer *w, bool ready, int64_t *ret_ms)
{
    const int64_t left_us = w->gathered_us + w->hooks.gather_us - clock_mono_us();
    *ret_ms = WRITER_AGAIN_MS;
    if (w->stop || w->broken || !w->hooks.gather_us) return false;
    if (!ready) return true;
    if (left_us <= 0 || is_plenty(w)) return false;
    *ret_ms = left_us / 1000 + 1;
    return true;
}

static bool no_longer(write_job *job, const tb_error *unready)
{
    if (!write_job_over(job)) return false;
    if (unready) fail_job(job, unready);
    return true;
}

typedef struct job_list {
    write_job *first, **last;
} job_list;

static void stay_queued(writer *w, write_job *job)
{
    append_job(&w->last, job);
    w->queued++;
    w->queued_bytes += job->bytes;
}

/* Usage is gathered: what can be done now. Those with usage that stay are let go once they have waited for too long. */
static write_job *take_gathered(writer *w, bool held, const tb_error *unready, write_job **ret_over)
{
    job_list taken = {.last = &taken.first};
    write_job **last_over = ret_over;
    for (write_job *job = take_all(w), *next; job; job = next) {
        next = job->next;
        if (!held || !job->usage) append_job(&taken.last, job);
        else if (no_longer(job, unready)) append_job(&last_over, job);
        else stay_queued(w, job);
    }
    return taken.first;
}

/* A round: all that are short, those first that bring no usage; then the oldest of the others. */
static write_job *take_round(writer *w)
{
    job_list none = {.last = &none.first}, few = {.last = &few.first}, many = {.last = &many.first};
    size_t weight = 0;
    bool full = false;
    for (write_job *job = take_all(w), *next; job; job = next) {
        next = job->next;
        if (is_short(job)) {
            append_job(job->grouped ? &few.last : &none.last, job);
            continue;
        }
        weight += job->weight;
        full |= many.first && weight > WRITER_ROUND;
        if (full) stay_queued(w, job);
        else append_job(&many.last, job);
    }
    *few.last = many.first;
    *none.last = few.first;
    return none.first;
}

static write_job *take_jobs(writer *w, bool held, const tb_error *unready, write_job **ret_over)
{
    *ret_over = NULL;
    return w->hooks.gather_us ? take_gathered(w, held, unready, ret_over) : take_round(w);
}

static void finish_over(write_job *over)
{
    for (write_job *job = over, *next; job; job = next) {
        next = job->next;
        job->done(job);
    }
}

/* What can be done now; NULL: nothing, after a wait. The lock is held, but not while others are asked. */
static write_job *next_jobs(writer *w)
{
    tb_error why;
    write_job *over = NULL;
    int64_t ms = 0;
    const bool gather = w->hooks.gather_us && w->hooks.ready;
    pthread_mutex_unlock(&w->lock);
    const bool ready = !gather || w->hooks.ready(w->hooks.ctx, &why);
    pthread_mutex_lock(&w->lock);
    const bool held = holds_usage(w, ready, &ms);
    write_job *jobs = take_jobs(w, held, ready ? NULL : &why, &over);
    if (!held && jobs) w->gathered_us = bring_usage(jobs) ? clock_mono_us() : w->gathered_us;
    if (over) {
        pthread_mutex_unlock(&w->lock);
        finish_over(over);
        pthread_mutex_lock(&w->lock);
    } else if (!jobs && w->first && is_tend_due(w, WRITER_TEND_HELD)) {
        pthread_mutex_unlock(&w->lock);
        tend(w);
        pthread_mutex_lock(&w->lock);
    } else if (!jobs && w->first) {
        const struct timespec until = later(ms < WRITER_AGAIN_MS ? ms : WRITER_AGAIN_MS);
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
    }
    return jobs;
}

/* Waits until there is work or a stop; the lock is held, but not while keys are published. */
static void wait_for_work(writer *w)
{
    while (!w->first && !w->stop) {
        const struct timespec until = later(w->broken ? WRITER_IDLE_MS : idle_ms(w));
        if (pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0 || w->broken) continue;
        pthread_mutex_unlock(&w->lock);
        be_idle(w);
        pthread_mutex_lock(&w->lock);
    }
}

static void *run_writer(void *arg)
{
    writer *w = arg;
    run_in_background();
    pthread_mutex_lock(&w->lock);
    for (;;) {
        wait_for_work(w);
        if (!w->first) break;
        write_job *jobs = next_jobs(w);
        if (!jobs) continue;
        w->running = true;
        pthread_mutex_unlock(&w->lock);
        run_all(w, jobs);
        w->busy_us = clock_mono_us();
        if (!is_broken(w) && is_tend_due(w, WRITER_TEND_BUSY)) tend(w);
        pthread_mutex_lock(&w->lock);
        w->running = false;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

writer *writer_start(tb_store *store, writer_hooks hooks)
{
    writer *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    w->store = store;
    w->hooks = hooks;
    w->last = &w->first;
    w->gathered_us = clock_mono_us() - hooks.gather_us;
    w->busy_us = w->tended_us = clock_mono_us();
    w->idles = hooks.idles;
    if (pthread_create(&w->thread, NULL, run_writer, w) == 0) return w;
    free(w);
    return NULL;
}

static unsigned count_jobs(const writer *w, int64_t account)
{
    unsigned n = 0;
    for (const write_job *job = w->first; job; job = job->next)
        n += job->account == account;
    return n;
}

/* Only a queue that is long already is counted. */
static bool has_place(const writer *w, const write_job *job)
{
    const unsigned most = w->hooks.gather_us ? WRITER_GATHER_JOBS : WRITER_JOBS_MAX;
    const unsigned share = w->hooks.gather_us ? WRITER_GATHER_SHARE : WRITER_JOBS_SHARE;
    if (w->queued >= most) return false;
    const bool light = w->queued == 0 || job->bytes <= WRITER_SHORT_BYTES;
    if (!light && w->queued_bytes + job->bytes > WRITER_BYTES_MAX) return false;
    return w->queued < share || count_jobs(w, job->account) < share;
}

tb_code writer_submit(writer *w, write_job *job, tb_error *err)
{
    tb_code code = TB_OK;
    job->code = TB_OK;
    job->changed_keys = false;
    job->since_us = clock_mono_us();
    job->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->broken) {
        code = TB_E_IO;
    } else if (w->stop || !has_place(w, job)) {
        code = TB_E_BUSY;
    } else {
        *w->last = job;
        w->last = &job->next;
        w->queued++;
        w->queued_bytes += job->bytes;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return code == TB_OK ? TB_OK : tb_fail(err, code, NULL, NULL);
}

typedef struct awaited_job {
    write_job job;
    sem_t over;
} awaited_job;

static void post_over(write_job *job)
{
    sem_post(&((awaited_job *)job)->over); /* the job is its first member */
}

tb_code writer_run(writer *w, const write_job *job, tb_error *err)
{
    awaited_job a = {.job = *job};
    a.job.done = post_over;
    sem_init(&a.over, 0, 0);
    tb_code code = writer_submit(w, &a.job, err);
    if (code) return code;
    while (sem_wait(&a.over) != 0) /* a signal came */
        continue;
    if (a.job.code && err) *err = a.job.err;
    return a.job.code;
}

void writer_stop(writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

void writer_free(writer *w)
{
    if (!w) return;
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

bool writer_alive(writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool alive = !w->broken && !w->stop;
    pthread_mutex_unlock(&w->lock);
    return alive;
}

bool writer_idle(writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool idle = !w->first && !w->running;
    pthread_mutex_unlock(&w->lock);
    return idle;
}

unsigned writer_queued(writer *w)
{
    pthread_mutex_lock(&w->lock);
    unsigned n = w->queued;
    pthread_mutex_unlock(&w->lock);
    return n;
}
