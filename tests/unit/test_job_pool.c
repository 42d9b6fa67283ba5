/* The job pool: accounts take turns and have their shares, a job that is too late is not run, a
 * stop refuses what is queued; lanes with a source. Periodic tasks: their steps take turns, and
 * what one found is written once. */
#include "http/jobs/periodic.h"

#include <check.h>
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "store_fixture.h"

#define LANE LANE_SLOW /* of the pools here: the others are off */

typedef struct task {
    write_job job;
    sem_t *hold;  /* run waits for it */
    sem_t *begun; /* posted by run */
    atomic_int ran, was_done;
    const job_pool *pool;
} task;

static int order[64];
static atomic_int n_order;

static tb_code run(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    (void)err;
    ck_assert_ptr_null(store);
    order[atomic_fetch_add(&n_order, 1)] = (int)job->account;
    atomic_fetch_add(&t->ran, 1);
    if (t->begun) sem_post(t->begun);
    if (t->hold) sem_wait(t->hold);
    return TB_OK;
}

static void done(write_job *job)
{
    atomic_fetch_add(&((task *)job->owner)->was_done, 1);
}

static tb_code submit_as(job_pool *p, task *t,
                         tb_code (*work)(write_job *job, tb_store *store, tb_error *err))
{
    t->job.run = work;
    t->job.done = done;
    t->job.owner = t;
    return job_pool_submit(p, LANE, &t->job, NULL);
}

static tb_code submit(job_pool *p, task *t)
{
    return submit_as(p, t, run);
}

static const lane_options one_thread = {
    .jobs_name = "jobs", .threads = 1, .threads_share = 1, .jobs = 8, .jobs_share = 4};

static job_pool *start(const lane_options *options)
{
    const lane_options lanes[LANES] = {[LANE] = *options};
    job_pool *p = job_pool_new(lanes);
    ck_assert_ptr_nonnull(p);
    ck_assert(job_pool_start(p));
    return p;
}

static void stop(job_pool *p)
{
    job_pool_halt(p, LANE);
    job_pool_join(p, LANE);
}

/* A pool whose first thread is held by a job of account 9. */
static job_pool *start_held(const lane_options *options, task *first, sem_t *hold, sem_t *begun)
{
    job_pool *p = start(options);
    sem_init(hold, 0, 0);
    sem_init(begun, 0, 0);
    *first = (task){.job = {.account = 9}, .hold = hold, .begun = begun};
    atomic_store(&n_order, 0);
    ck_assert_int_eq(submit(p, first), TB_OK);
    sem_wait(begun);
    return p;
}

static void wait_idle(job_pool *p)
{
    while (job_pool_unfinished(p, LANE))
        ;
}

static tb_code note_niceness(write_job *job, tb_store *store, tb_error *err)
{
    (void)store;
    (void)err;
    job->cells = (size_t)getpriority(PRIO_PROCESS, 0);
    return TB_OK;
}

/* The thread alone: the process is as nice as it was. */
START_TEST(a_background_lane_is_nicer)
{
    const int before = getpriority(PRIO_PROCESS, 0);
    for (int background = 0; background < 2; background++) {
        lane_options options = one_thread;
        options.background = background;
        task t = {.job = {.account = 1}};
        job_pool *p = start(&options);
        ck_assert_int_eq(submit_as(p, &t, note_niceness), TB_OK);
        wait_idle(p);
        stop(p);
        job_pool_free(p);
        ck_assert_int_eq((int)t.job.cells, !background ? before : before < 12 ? before + 7 : 19);
    }
    ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), before);
}
END_TEST

START_TEST(an_account_has_its_share_of_the_queue)
{
    task first, tasks[9] = {{.job = {0}}};
    sem_t hold, begun;
    job_pool *p = start_held(&one_thread, &first, &hold, &begun);
    for (int i = 0; i < 8; i++)
        tasks[i].job.account = i < 4 ? 1 : 2;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(submit(p, &tasks[i]), TB_OK);
    task more = {.job = {.account = 1}};
    ck_assert_int_eq(submit(p, &more), TB_E_BUSY);
    for (int i = 4; i < 8; i++)
        ck_assert_int_eq(submit(p, &tasks[i]), TB_OK);
    ck_assert_uint_eq(job_pool_queued(p, LANE), 8);
    ck_assert_uint_eq(job_pool_unfinished(p, LANE), 9);
    tasks[8].job.account = 3;
    ck_assert_int_eq(submit(p, &tasks[8]), TB_E_BUSY); /* the whole queue is full */
    sem_post(&hold);
    wait_idle(p);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(atomic_load(&tasks[i].was_done), 1);
    stop(p);
    job_pool_free(p);
}
END_TEST

/* Two threads, one of them at work for account 9: its next job waits behind a later one of another.
 */
START_TEST(the_account_with_the_fewest_at_work_is_next)
{
    const lane_options options = {
        .jobs_name = "jobs", .threads = 2, .threads_share = 2, .jobs = 8, .jobs_share = 8};
    task first, second = {.job = {.account = 9}}, same = {.job = {.account = 9}},
                other = {.job = {.account = 5}};
    sem_t hold, begun, hold_second, begun_second;
    job_pool *p = start_held(&options, &first, &hold, &begun);
    sem_init(&hold_second, 0, 0);
    sem_init(&begun_second, 0, 0);
    second.hold = &hold_second;
    second.begun = &begun_second;
    ck_assert_int_eq(submit(p, &second), TB_OK);
    sem_wait(&begun_second);
    ck_assert_int_eq(submit(p, &same), TB_OK);
    ck_assert_int_eq(submit(p, &other), TB_OK);
    sem_post(&hold_second);
    while (atomic_load(&same.was_done) + atomic_load(&other.was_done) < 2)
        ;
    ck_assert_int_eq(order[2], 5);
    ck_assert_int_eq(order[3], 9);
    sem_post(&hold);
    stop(p);
    job_pool_free(p);
}
END_TEST

START_TEST(an_account_has_its_share_of_the_threads)
{
    const lane_options options = {
        .jobs_name = "jobs", .threads = 2, .threads_share = 1, .jobs = 8, .jobs_share = 8};
    task first, same[2] = {{.job = {.account = 9}}, {.job = {.account = 9}}},
                other = {.job = {.account = 5}};
    sem_t hold, begun;
    job_pool *p = start_held(&options, &first, &hold, &begun);
    ck_assert_int_eq(submit(p, &same[0]), TB_OK);
    ck_assert_int_eq(submit(p, &other), TB_OK);
    ck_assert_int_eq(submit(p, &same[1]), TB_OK);
    while (!atomic_load(&other.was_done))
        ;
    ck_assert_int_eq(order[1], 5); /* the second thread was free for it alone */
    ck_assert_uint_eq(job_pool_queued(p, LANE), 2);
    sem_post(&hold);
    wait_idle(p);
    ck_assert_int_eq(atomic_load(&same[0].was_done) + atomic_load(&same[1].was_done), 2);
    stop(p);
    job_pool_free(p);
}
END_TEST

START_TEST(a_job_that_waited_too_long_is_not_run)
{
    task late = {.job = {.wait_us = -1}};
    job_pool *p = start(&one_thread);
    ck_assert_int_eq(submit(p, &late), TB_OK);
    wait_idle(p);
    ck_assert_int_eq(atomic_load(&late.was_done), 1);
    ck_assert_int_eq(atomic_load(&late.ran), 0);
    ck_assert_int_eq(late.job.code, TB_E_BUSY);
    stop(p);
    job_pool_free(p);
}
END_TEST

static tb_code run_while_there_is_time(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    (void)store;
    (void)err;
    sem_post(t->begun);
    while (job_pool_time_left(t->pool, LANE, job))
        ;
    atomic_fetch_add(&t->ran, 1);
    return TB_OK;
}

/* One ends as its time is over, one as the lane is told to stop. */
START_TEST(a_job_is_told_when_to_end)
{
    for (int stops = 0; stops < 2; stops++) {
        lane_options options = one_thread;
        sem_t begun;
        options.job_us = stops ? 0 : 1;
        sem_init(&begun, 0, 0);
        job_pool *p = start(&options);
        task t = {.begun = &begun, .pool = p};
        ck_assert_int_eq(submit_as(p, &t, run_while_there_is_time), TB_OK);
        sem_wait(&begun);
        if (!stops) wait_idle(p);
        stop(p);
        ck_assert_int_eq(atomic_load(&t.ran), 1);
        job_pool_free(p);
    }
}
END_TEST

START_TEST(a_stop_refuses_what_is_queued)
{
    task first, waits = {.job = {.account = 1}};
    sem_t hold, begun;
    job_pool *p = start_held(&one_thread, &first, &hold, &begun);
    ck_assert_int_eq(submit(p, &waits), TB_OK);
    ck_assert(!job_pool_stopping(p, LANE));
    ck_assert_int_ge(job_pool_stop_fd(p, LANE), 0);
    job_pool_halt(p, LANE);
    sem_post(&hold);
    job_pool_join(p, LANE);
    ck_assert(job_pool_stopping(p, LANE));
    ck_assert_int_eq(atomic_load(&waits.was_done), 1);
    ck_assert_int_eq(atomic_load(&waits.ran), 0);
    ck_assert_int_eq(submit(p, &first), TB_E_BUSY);
    job_pool_free(p);
}
END_TEST

/* Also where it never started. */
START_TEST(a_lane_that_is_off_refuses)
{
    const lane_options none[LANES] = {[LANE] = {.jobs_name = "jobs"}};
    task t = {.job = {.account = 1}};
    job_pool *p = job_pool_new(none);
    ck_assert_ptr_nonnull(p);
    ck_assert(job_pool_start(p));
    ck_assert_int_eq(submit(p, &t), TB_E_BUSY);
    stop(p);
    job_pool_free(p);
}
END_TEST

/* --- sources --- */

typedef struct source {
    atomic_int left; /* jobs that it has */
    int64_t wait_us;
    sem_t asked; /* it had none */
    task one;
} source;

static write_job *next_of_source(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    source *s = ctx;
    ck_assert_uint_eq(thread, 0);
    ck_assert_ptr_null(reader);
    if (s->wait_us) *wait_us = s->wait_us;
    if (atomic_load(&s->left) == 0) {
        sem_post(&s->asked);
        return NULL;
    }
    atomic_fetch_sub(&s->left, 1);
    return &s->one.job;
}

/* What comes later is found once the lane is woken, or after a while. */
START_TEST(a_source_is_asked_again)
{
    for (int polled = 0; polled < 2; polled++) {
        const lane_options lanes[LANES] = {[LANE] = {.threads = 1, .threads_share = 1}};
        source s = {.left = 2, .wait_us = polled ? 1000 : 0};
        atomic_store(&n_order, 0);
        s.one.job = (write_job){.run = run, .done = done, .owner = &s.one};
        sem_init(&s.asked, 0, 0);
        job_pool *p = job_pool_new(lanes);
        ck_assert_ptr_nonnull(p);
        job_pool_set_source(p, LANE, next_of_source, &s);
        ck_assert(job_pool_start(p));
        sem_wait(&s.asked);
        ck_assert_int_eq(atomic_load(&s.one.was_done), 2);
        atomic_fetch_add(&s.left, 1);
        if (!polled) job_pool_wake(p, LANE);
        while (atomic_load(&s.one.was_done) < 3)
            ;
        atomic_fetch_add(&s.left, 1);
        stop(p);
        job_pool_free(p);
    }
}
END_TEST

/* --- periodic tasks --- */

typedef struct round_task {
    char name;
    int steps, taken; /* of its only round */
    tb_code answer;   /* of its last step */
    bool failed;
    sem_t *over;
} round_task;

static char trace[64];
static size_t n_trace; /* the writer's thread writes it, the test reads it behind a semaphore */

static tb_code write_step(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more,
                          tb_error *err)
{
    round_task *t = ctx;
    (void)store;
    ck_assert_int_eq(now_us, NOW_US);
    ck_assert_int_eq(again, t->taken > 0);
    ck_assert(!*ret_more);
    trace[n_trace++] = t->name;
    *ret_more = ++t->taken < t->steps;
    return *ret_more || !t->answer ? TB_OK : tb_fail(err, t->answer, NULL, "no");
}

static void round_over(void *ctx, int64_t now_us, bool failed)
{
    round_task *t = ctx;
    (void)now_us;
    t->failed = failed;
    sem_post(t->over);
}

static fixture database;

static bool on_commit(void *ctx, tb_store *store, bool changed_keys)
{
    (void)ctx;
    (void)store;
    (void)changed_keys;
    return true;
}

/* A pool with the periodic lane alone, and a writer. */
typedef struct plant {
    job_pool *pool;
    writer *writer;
    periodic *periodic;
} plant;

static plant plant_start(const periodic_task tasks[], size_t n)
{
    const lane_options lanes[LANES] = {
        [LANE_PERIODIC] = {.threads = 1, .threads_share = 1, .readers = 1}};
    const tb_store_options reading = {.now_us = NOW_US,
                                      .usage = usage_plane_client(&database.plane)};
    plant p = {.pool = job_pool_new(lanes)};
    tb_error err;
    ck_assert_ptr_nonnull(p.pool);
    ok(job_pool_open(p.pool, database.path, &reading, &err));
    p.writer = writer_start(database.store, (writer_hooks){.committed = on_commit});
    p.periodic = periodic_new(tasks, n, NOW_US, p.writer, p.pool);
    ck_assert_ptr_nonnull(p.periodic);
    return p;
}

static void plant_stop(plant *p)
{
    job_pool_halt(p->pool, LANE_PERIODIC);
    job_pool_join(p->pool, LANE_PERIODIC);
    writer_stop(p->writer);
    writer_free(p->writer);
    periodic_free(p->periodic);
    job_pool_free(p->pool);
}

START_TEST(steps_of_tasks_take_turns)
{
    sem_t over;
    round_task a = {.name = 'a', .steps = 4, .over = &over},
               b = {.name = 'b', .steps = 2, .over = &over},
               c = {.name = 'c', .steps = 3, .over = &over, .answer = TB_E_INTERNAL};
    const periodic_task tasks[] = {
        {.name = "a", .write = write_step, .over = round_over, .ctx = &a},
        {.name = "b", .write = write_step, .over = round_over, .ctx = &b},
        {.name = "c", .write = write_step, .over = round_over, .ctx = &c}};
    sem_init(&over, 0, 0);
    fixture_init(&database);
    plant p = plant_start(tasks, 3);
    ck_assert(job_pool_start(p.pool));
    for (int i = 0; i < 3; i++)
        sem_wait(&over);
    plant_stop(&p);
    ck_assert_uint_eq(n_trace, 9);
    ck_assert_str_eq(trace, "abcabcaca");
    ck_assert(!a.failed && !b.failed && c.failed);
    fixture_release(&database);
}
END_TEST

typedef struct finder {
    atomic_int reads;
    int writes, noted;
    sem_t over, held, hold;
} finder;

/* The second of three steps finds something. */
static tb_code find(void *ctx, tb_store *reader, bool again, int64_t now_us, bool *ret_found,
                    bool *ret_more, tb_error *err)
{
    finder *f = ctx;
    uint64_t version;
    (void)now_us;
    ck_assert_int_eq(again, f->reads > 0);
    ck_assert_int_eq(tb_store_version(reader, &version, err), TB_OK);
    *ret_found = ++f->reads == 2;
    *ret_more = f->reads < 3;
    return TB_OK;
}

static tb_code note(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more,
                    tb_error *err)
{
    finder *f = ctx;
    (void)store;
    (void)again;
    (void)now_us;
    (void)err;
    ck_assert(*ret_more);
    f->writes++;
    f->noted = f->reads;
    return TB_OK;
}

static void finder_over(void *ctx, int64_t now_us, bool failed)
{
    (void)now_us;
    ck_assert(!failed);
    sem_post(&((finder *)ctx)->over);
}

static tb_code hold_writer(write_job *job, tb_store *store, tb_error *err)
{
    finder *f = job->owner;
    (void)store;
    (void)err;
    sem_post(&f->held);
    sem_wait(&f->hold);
    return TB_OK;
}

static tb_code do_nothing(write_job *job, tb_store *store, tb_error *err)
{
    (void)job;
    (void)store;
    (void)err;
    return TB_OK;
}

static void done_nothing(write_job *job)
{
    (void)job;
}

/* Found once, written once: also where the writer's queue was full at first. */
START_TEST(what_a_step_found_is_written)
{
    finder f = {0};
    const periodic_task row = {
        .name = "f", .read = find, .write = note, .over = finder_over, .ctx = &f};
    static write_job jobs[WRITER_JOBS_MAX], first;
    sem_init(&f.over, 0, 0);
    sem_init(&f.held, 0, 0);
    sem_init(&f.hold, 0, 0);
    fixture_init(&database);
    plant p = plant_start(&row, 1);
    first = (write_job){.run = hold_writer, .done = done_nothing, .owner = &f};
    ck_assert_int_eq(writer_submit(p.writer, &first, NULL), TB_OK);
    sem_wait(&f.held);
    for (int i = 0; i < WRITER_JOBS_MAX; i++) {
        jobs[i] = (write_job){.run = do_nothing, .done = done_nothing, .account = i};
        ck_assert_int_eq(writer_submit(p.writer, &jobs[i], NULL), TB_OK);
    }
    ck_assert(job_pool_start(p.pool));
    while (job_pool_unfinished(p.pool, LANE_PERIODIC) || atomic_load(&f.reads) < 2)
        ;
    sem_post(&f.hold);
    sem_wait(&f.over);
    plant_stop(&p);
    ck_assert_int_eq(f.reads, 3);
    ck_assert_int_eq(f.writes, 1);
    ck_assert_int_eq(f.noted, 2);
    fixture_release(&database);
}
END_TEST

/* --- writing from a job --- */

typedef struct writing {
    job_pool *pool;
    writer *writer;
    int failures; /* it fails so many times before it succeeds */
    int runs;
    sem_t failed, over;
} writing;

static tb_code write_once(write_job *job, tb_store *store, tb_error *err)
{
    writing *w = job->owner;
    (void)store;
    if (w->runs++ >= w->failures) return TB_OK;
    sem_post(&w->failed);
    return tb_fail(err, TB_E_INTERNAL, NULL, "no");
}

static tb_code write_until_committed(write_job *job, tb_store *store, tb_error *err)
{
    writing *w = job->owner;
    (void)store;
    (void)err;
    job_pool_write(w->pool, LANE, w->writer, &(write_job){.run = write_once, .owner = w}, 1000);
    return TB_OK;
}

static void written(write_job *job)
{
    sem_post(&((writing *)job->owner)->over);
}

/* Again until it is committed, or the lane is stopping. */
START_TEST(a_job_writes_until_it_is_committed)
{
    fixture_init(&database);
    for (int stops = 0; stops < 2; stops++) {
        writing w = {.pool = start(&one_thread), .failures = stops ? INT_MAX : 2};
        write_job job = {.run = write_until_committed, .done = written, .owner = &w};
        w.writer = writer_start(database.store, (writer_hooks){.committed = on_commit});
        sem_init(&w.failed, 0, 0);
        sem_init(&w.over, 0, 0);
        ck_assert_int_eq(job_pool_submit(w.pool, LANE, &job, NULL), TB_OK);
        sem_wait(&w.failed);
        sem_wait(&w.failed);
        if (stops) job_pool_halt(w.pool, LANE);
        sem_wait(&w.over);
        stop(w.pool);
        job_pool_free(w.pool);
        writer_stop(w.writer);
        writer_free(w.writer);
        if (!stops) ck_assert_int_eq(w.runs, 3);
    }
    fixture_release(&database);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("job_pool");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, a_background_lane_is_nicer);
    tcase_add_test(tc, an_account_has_its_share_of_the_queue);
    tcase_add_test(tc, the_account_with_the_fewest_at_work_is_next);
    tcase_add_test(tc, an_account_has_its_share_of_the_threads);
    tcase_add_test(tc, a_job_that_waited_too_long_is_not_run);
    tcase_add_test(tc, a_job_is_told_when_to_end);
    tcase_add_test(tc, a_stop_refuses_what_is_queued);
    tcase_add_test(tc, a_lane_that_is_off_refuses);
    tcase_add_test(tc, a_source_is_asked_again);
    tcase_add_test(tc, steps_of_tasks_take_turns);
    tcase_add_test(tc, what_a_step_found_is_written);
    tcase_add_test(tc, a_job_writes_until_it_is_committed);
    suite_add_tcase(s, tc);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
