/* A queue under a mutex, and a thread that takes as much of it as one commit should hold. Group commit makes durable
 * ingest fast: one fsync for all queued jobs. */
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
    bool stop, running, broken;
    tb_code refused;    /* how the last write was, by the disk; TB_OK: it was stored */
    int64_t refused_us; /* when */
    /* Of the writer's thread alone: */
    int64_t gathered_us;            /* when the last group with usage began */
    int64_t busy_us, maintained_us; /* the last end of work, and of a step of hooks.maintain */
    int64_t maintenance_us;         /* the duration of that step */
    bool more_maintenance, more_idle; /* hooks.maintain, or hooks.idle, has more to do */
    bool keys_pending;              /* a change of keys is not in force yet */
};

typedef struct group {
    writer *w;
    int64_t begun_us;
    write_job *first, **last;
    write_job *rest; /* jobs that are not in it yet */
    size_t bytes;
    bool changed_keys;
    bool flush_failed; /* the gathered usage could not be written, before the commit: no data is lost */
    bool undone;       /* its only job failed, and the transaction was rolled back */
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
    const bool abandoned = job->abandoned && job->abandoned(job);
    if (!abandoned && (!job->wait_us || clock_mono_us() - job->since_us <= job->wait_us)) return false;
    fail_job(job, &late);
    return true;
}

/* A heavy job is alone in its transaction, which is rolled back if it fails. Behind a savepoint each statement that
 * inserts several rows, or has triggers, would cost as much as all earlier changes of the transaction. On usage servers
 * a batch costs little. */
static bool is_heavy(const group *g, const write_job *job)
{
    return !g->w->hooks.gather_us && job->weight > WRITER_ALONE;
}

/* Runs a job behind a savepoint, unless it is heavy. false: the transaction itself is lost. */
static bool run_job(tb_store *store, group *g, write_job *job, tb_error *err)
{
    const bool heavy = is_heavy(g, job);
    tb_error own = {0};
    if (write_job_over(job)) return true;
    if (!heavy && tb_store_mark(store, err) != TB_OK) return false;
    job->code = job->run(job, store, &own);
    if (job->code == TB_OK) return heavy || tb_store_keep_mark(store, err) == TB_OK;
    fail_job(job, &own);
    job->changed_keys = false;
    if (!heavy) {
        tb_store_back_to_mark(store);
        return true;
    }
    g->undone = true;
    *err = own;
    return false;
}

static bool is_short(const write_job *job)
{
    return job->weight <= WRITER_SHORT;
}

/* Whether `next` may be in the group of `job`. With usage on servers, jobs with usage and others are not mixed, because
 * the usage's INSERT may fail. Elsewhere jobs whose usage is written at the group's end, which may fail, too, are not
 * mixed with others; and short jobs are answered before a long one begins. */
static bool may_join(const group *g, const write_job *job, const write_job *next)
{
    if (g->w->hooks.gather_us) return job->usage == next->usage;
    return job->grouped == next->grouped && is_short(job) == is_short(next) && !is_heavy(g, job) &&
           !is_heavy(g, next);
}

/* With the lock held. */
static write_job *take_all(writer *w)
{
    write_job *all = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->queued = 0;
    w->queued_bytes = 0;
    return all;
}

/* With usage on servers: jobs with usage that came since the group began join it, since an INSERT costs as much for one
 * batch as for many. Not if other jobs wait for the group's end. */
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

/* Runs jobs until the group is large or old enough, or a job has to be alone; the others stay in g->rest. */
static tb_code run_jobs(tb_store *store, void *ctx, tb_error *err)
{
    group *g = ctx;
    write_job *job;
    g->begun_us = clock_mono_us();
    if (tb_store_group_batches(store, g->rest->grouped, err) != TB_OK) return err->code;
    bool more;
    do {
        job = g->rest;
        g->rest = job->next;
        job->next = NULL;
        *g->last = job;
        g->last = &job->next;
        g->bytes += job->bytes;
        if (!run_job(store, g, job, err)) return err->code;
        g->changed_keys |= job->changed_keys;
        const bool gather = g->w->hooks.gather_us && job->usage;
        const int64_t most_us = gather ? g->w->hooks.gather_us : WRITER_GROUP_US;
        const size_t most_bytes = gather ? WRITER_GATHER_GROUP : WRITER_GROUP_BYTES;
        more = !job->alone && g->bytes < most_bytes && clock_mono_us() - g->begun_us < most_us;
        if (more && !g->rest && gather) g->rest = take_more(g->w);
    } while (more && g->rest && !g->rest->alone && may_join(g, job, g->rest));
    tb_code code = tb_store_group_batches(store, false, err);
    g->flush_failed = code != TB_OK;
    return code;
}

/* After a commit, and while a change of keys is pending. */
static bool publish(writer *w, bool changed_keys)
{
    w->keys_pending |= changed_keys;
    if (w->hooks.committed(w->hooks.ctx, w->store, w->keys_pending)) w->keys_pending = false;
    return !w->keys_pending;
}

static void finish_group(group *g, const tb_error *failed)
{
    for (write_job *job = g->first, *next; job; job = next) {
        next = job->next;
        if (failed && job->code == TB_OK) fail_job(job, failed);
        job->done(job);
    }
}

static bool is_by_disk(tb_code code)
{
    return code == TB_E_DISK_FULL || code == TB_E_READ_ONLY;
}

/* Notes whether the disk takes writes. A job may have met that before the commit, which then stored nothing of it. */
static void note_disk(writer *w, const group *g, tb_code committed)
{
    tb_code refused = is_by_disk(committed) ? committed : TB_OK;
    bool stored = false;
    for (const write_job *job = g->first; job; job = job->next) {
        if (is_by_disk(job->code)) refused = job->code;
        stored |= !committed && !job->code;
    }
    if (!refused && !stored) return;
    pthread_mutex_lock(&w->lock);
    w->refused = refused;
    w->refused_us = clock_mono_us();
    pthread_mutex_unlock(&w->lock);
}

/* Runs a job that makes its transaction itself. */
static tb_code run_bare(group *g, tb_error *err)
{
    write_job *job = g->first = g->rest;
    g->rest = job->next;
    job->next = NULL;
    const tb_code code = job->run(job, g->w->store, err);
    g->changed_keys = job->changed_keys;
    return code;
}

/* Commits a transaction with the first of the jobs; returns the others. */
static write_job *commit_group(writer *w, write_job *jobs)
{
    group g = {.w = w, .last = &g.first, .rest = jobs};
    tb_error err = {0};
    if ((jobs->bare ? run_bare(&g, &err) : tb_store_write(w->store, run_jobs, &g, &err)) != TB_OK) {
        if (!g.first) { /* the transaction did not begin */
            g.first = jobs;
            g.rest = NULL;
            for (write_job *job = jobs; job; job = job->next)
                job->code = TB_OK;
        }
        /* Only a commit that may have lost data makes the store unfit; a full disk does not. */
        if (!g.flush_failed && !g.undone && (err.code == TB_E_IO || err.code == TB_E_CORRUPT)) {
            pthread_mutex_lock(&w->lock);
            w->broken = true;
            pthread_mutex_unlock(&w->lock);
        }
        if (err.code == TB_E_GONE) {
            /* The database was moved. The WAL is moved into it, so that it is complete wherever it is; that may include
             * the last commit, so the version and keys are read again. */
            tb_store_checkpoint(w->store, true);
            publish(w, g.changed_keys);
            if (w->hooks.lost) w->hooks.lost(w->hooks.ctx, &err);
        }
        note_disk(w, &g, err.code);
        finish_group(&g, &err);
        return g.rest;
    }
    static const tb_error pending = {
        .code = TB_E_BUSY,
        .message = "The change of keys is stored but not in force yet, try again later.",
    };
    note_disk(w, &g, TB_OK);
    const bool published = publish(w, g.changed_keys);
    for (write_job *job = g.first; job && !published; job = job->next)
        if (job->code == TB_OK && job->changed_keys) fail_job(job, &pending);
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

static struct timespec time_in_ms(int64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

static void maintain(writer *w)
{
    const int64_t from_us = clock_mono_us();
    w->more_maintenance = w->hooks.maintain(w->hooks.ctx, w->store);
    w->maintained_us = clock_mono_us();
    w->maintenance_us = w->maintained_us - from_us;
}

/* Under load: whether a step of maintenance is due, which may take one part of the time to `others` parts for jobs. */
static bool is_maintenance_due(const writer *w, int64_t others)
{
    int64_t pause_us = w->maintenance_us * others;
    if (!w->more_maintenance || pause_us > WRITER_MAINTAIN_US) pause_us = WRITER_MAINTAIN_US;
    return w->hooks.maintain && !w->keys_pending && clock_mono_us() - w->maintained_us >= pause_us;
}

/* What the writer does while it has no jobs. */
static void run_idle(writer *w)
{
    const int64_t now_us = clock_mono_us();
    if (w->keys_pending) {
        publish(w, false);
        return;
    }
    const int64_t quiet_us = now_us - w->maintained_us, idle_us = now_us - w->busy_us;
    if (w->hooks.maintain && (w->more_maintenance || quiet_us >= WRITER_MAINTAIN_MS * INT64_C(1000))) maintain(w);
    if (w->hooks.idle && (w->more_idle || !w->hooks.maintain || idle_us >= WRITER_IDLE_MS * INT64_C(1000))) {
        w->busy_us = now_us;
        w->more_idle = w->hooks.idle(w->hooks.ctx, w->store);
    }
}

/* --- the queue --- */

static void append_job(write_job ***last, write_job *job)
{
    job->next = NULL;
    **last = job;
    *last = &job->next;
}

/* With usage on servers: whether jobs with usage stay in the queue; then *ret_ms is when to look again. With the lock
 * held. */
static bool holds_usage(writer *w, bool ready, int64_t *ret_ms)
{
    const int64_t left_us = w->gathered_us + w->hooks.gather_us - clock_mono_us();
    *ret_ms = WRITER_AGAIN_MS;
    if (w->stop || w->broken || !w->hooks.gather_us) return false;
    if (!ready) return true;
    size_t bytes = 0, cells = 0;
    for (const write_job *job = w->first; job; job = job->next) {
        bytes += job->usage ? job->bytes : 0;
        cells += job->usage ? job->cells : 0;
    }
    if (left_us <= 0 || bytes >= WRITER_GATHER_BYTES || cells >= WRITER_GATHER_CELLS) return false;
    *ret_ms = left_us / 1000 + 1;
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

/* With usage on servers: takes the jobs that can run now. Jobs with usage that stay, but have waited too long, go to
 * *ret_over. */
static write_job *take_gathered(writer *w, bool held, const tb_error *unready, write_job **ret_over)
{
    job_list taken = {.last = &taken.first};
    write_job **last_over = ret_over;
    for (write_job *job = take_all(w), *next; job; job = next) {
        next = job->next;
        if (!held || !job->usage) {
            append_job(&taken.last, job);
        } else if (write_job_over(job)) {
            if (unready) fail_job(job, unready);
            append_job(&last_over, job);
        } else {
            stay_queued(w, job);
        }
    }
    return taken.first;
}

/* Takes a round: all short jobs, first those without usage; then the oldest of the others. */
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

/* Takes the jobs that can run now. NULL: none, and it has waited. The lock is held, except in calls of hooks and
 * jobs. */
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
    write_job *jobs = w->hooks.gather_us ? take_gathered(w, held, ready ? NULL : &why, &over) : take_round(w);
    for (const write_job *job = held ? NULL : jobs; job; job = job->next)
        if (job->usage) w->gathered_us = clock_mono_us();
    if (over) {
        pthread_mutex_unlock(&w->lock);
        for (write_job *next; over; over = next) {
            next = over->next;
            over->done(over);
        }
        pthread_mutex_lock(&w->lock);
    } else if (!jobs && w->first && is_maintenance_due(w, WRITER_MAINTAIN_HELD)) {
        pthread_mutex_unlock(&w->lock);
        maintain(w);
        pthread_mutex_lock(&w->lock);
    } else if (!jobs && w->first) {
        const struct timespec until = time_in_ms(ms < WRITER_AGAIN_MS ? ms : WRITER_AGAIN_MS);
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
    }
    return jobs;
}

/* Waits for a job or a stop. The lock is held, except in calls of hooks. */
static void wait_for_work(writer *w)
{
    while (!w->first && !w->stop) {
        int64_t ms = w->hooks.maintain ? WRITER_MAINTAIN_MS : WRITER_IDLE_MS;
        if (w->more_maintenance || w->more_idle) ms = 1;
        if (w->keys_pending) ms = WRITER_AGAIN_MS;
        const struct timespec until = time_in_ms(w->broken ? WRITER_IDLE_MS : ms);
        if (pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0 || w->broken) continue;
        pthread_mutex_unlock(&w->lock);
        run_idle(w);
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
        if (!is_broken(w) && is_maintenance_due(w, WRITER_MAINTAIN_BUSY)) maintain(w);
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
    w->busy_us = w->maintained_us = clock_mono_us();
    w->more_idle = hooks.more_idle;
    if (pthread_create(&w->thread, NULL, run_writer, w) == 0) return w;
    free(w);
    return NULL;
}

tb_code writer_submit(writer *w, write_job *job, tb_error *err)
{
    tb_code code = TB_OK;
    job->code = TB_OK;
    job->changed_keys = false;
    job->since_us = clock_mono_us();
    job->next = NULL;
    pthread_mutex_lock(&w->lock);
    const unsigned most = w->hooks.gather_us ? WRITER_GATHER_JOBS : WRITER_JOBS_MAX;
    const unsigned share = w->hooks.gather_us ? WRITER_GATHER_SHARE : WRITER_JOBS_SHARE;
    const bool light = w->queued == 0 || job->bytes <= WRITER_SHORT_BYTES;
    bool full = w->queued >= most || (!light && w->queued_bytes + job->bytes > WRITER_BYTES_MAX);
    if (!full && w->queued >= share) { /* only a long queue is counted */
        unsigned own = 0;
        for (const write_job *other = w->first; other; other = other->next)
            own += other->account == job->account;
        full = own >= share;
    }
    if (w->broken) {
        code = TB_E_IO;
    } else if (w->stop || full) {
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

tb_code writer_trouble(writer *w, int64_t now_us)
{
    pthread_mutex_lock(&w->lock);
    const bool refuses = w->refused && now_us - w->refused_us < WRITER_REFUSED_US;
    const tb_code code = w->broken ? TB_E_IO : w->stop ? TB_E_BUSY : refuses ? w->refused : TB_OK;
    pthread_mutex_unlock(&w->lock);
    return code;
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
