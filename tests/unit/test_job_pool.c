/* The job pool: accounts take turns and have their shares, a job that is too late is not run, a
 * stop refuses what is queued. */
#include "http/jobs/pool.h"

#include <check.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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
    .what = "jobs", .threads = 1, .threads_share = 1, .jobs = 8, .jobs_share = 4};

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
        .what = "jobs", .threads = 2, .threads_share = 2, .jobs = 8, .jobs_share = 8};
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
        .what = "jobs", .threads = 2, .threads_share = 1, .jobs = 8, .jobs_share = 8};
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
    const lane_options none[LANES] = {[LANE] = {.what = "jobs"}};
    task t = {.job = {.account = 1}};
    job_pool *p = job_pool_new(none);
    ck_assert_ptr_nonnull(p);
    ck_assert(job_pool_start(p));
    ck_assert_int_eq(submit(p, &t), TB_E_BUSY);
    stop(p);
    job_pool_free(p);
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
    suite_add_tcase(s, tc);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
