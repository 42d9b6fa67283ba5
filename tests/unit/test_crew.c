/* The crew: accounts take turns and have their shares, what is over is not run, a stop refuses what
 * waits. */
#include "http/crew.h"

#include <check.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct task {
    write_job job;
    sem_t *hold;  /* run waits for it */
    sem_t *begun; /* posted by run */
    atomic_int ran, was_done;
    const crew *crew;
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

static tb_code submit_as(crew *c, task *t,
                         tb_code (*work)(write_job *job, tb_store *store, tb_error *err))
{
    t->job.run = work;
    t->job.done = done;
    t->job.owner = t;
    return crew_submit(c, t->job.account, &t->job, NULL);
}

static tb_code submit(crew *c, task *t)
{
    return submit_as(c, t, run);
}

static const crew_options one_thread = {
    .what = "jobs", .threads = 1, .threads_share = 1, .jobs = 8, .jobs_share = 4};

/* A crew whose first thread is held by a job of account 9. */
static crew *start_held(const crew_options *options, task *first, sem_t *hold, sem_t *begun)
{
    crew *c = crew_start(options);
    ck_assert_ptr_nonnull(c);
    sem_init(hold, 0, 0);
    sem_init(begun, 0, 0);
    *first = (task){.job = {.account = 9}, .hold = hold, .begun = begun};
    atomic_store(&n_order, 0);
    ck_assert_int_eq(submit(c, first), TB_OK);
    sem_wait(begun);
    return c;
}

static void wait_idle(crew *c)
{
    while (!crew_idle(c))
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
START_TEST(who_gives_way_is_nicer)
{
    const int before = getpriority(PRIO_PROCESS, 0);
    for (int behind = 0; behind < 2; behind++) {
        crew_options options = one_thread;
        options.behind = behind;
        task t = {.job = {.account = 1}};
        crew *c = crew_start(&options);
        ck_assert_ptr_nonnull(c);
        ck_assert_int_eq(submit_as(c, &t, note_niceness), TB_OK);
        wait_idle(c);
        crew_stop(c);
        crew_free(c);
        ck_assert_int_eq((int)t.job.cells, !behind ? before : before < 12 ? before + 7 : 19);
    }
    ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), before);
}
END_TEST

START_TEST(an_account_has_its_share_of_the_places)
{
    task first, tasks[9] = {{.job = {0}}};
    sem_t hold, begun;
    crew *c = start_held(&one_thread, &first, &hold, &begun);
    for (int i = 0; i < 8; i++)
        tasks[i].job.account = i < 4 ? 1 : 2;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(submit(c, &tasks[i]), TB_OK);
    task more = {.job = {.account = 1}};
    ck_assert_int_eq(submit(c, &more), TB_E_BUSY);
    for (int i = 4; i < 8; i++)
        ck_assert_int_eq(submit(c, &tasks[i]), TB_OK);
    ck_assert_uint_eq(crew_queued(c), 8);
    tasks[8].job.account = 3;
    ck_assert_int_eq(submit(c, &tasks[8]), TB_E_BUSY); /* no place at all */
    sem_post(&hold);
    wait_idle(c);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(atomic_load(&tasks[i].was_done), 1);
    crew_stop(c);
    crew_free(c);
}
END_TEST

/* Two threads, one of them at work for account 9: its next job waits behind a later one of another. */
START_TEST(the_account_with_the_fewest_at_work_is_next)
{
    const crew_options options = {
        .what = "jobs", .threads = 2, .threads_share = 2, .jobs = 8, .jobs_share = 8};
    task first, second = {.job = {.account = 9}}, same = {.job = {.account = 9}},
                other = {.job = {.account = 5}};
    sem_t hold, begun, hold_second, begun_second;
    crew *c = start_held(&options, &first, &hold, &begun);
    sem_init(&hold_second, 0, 0);
    sem_init(&begun_second, 0, 0);
    second.hold = &hold_second;
    second.begun = &begun_second;
    ck_assert_int_eq(submit(c, &second), TB_OK);
    sem_wait(&begun_second);
    ck_assert_int_eq(submit(c, &same), TB_OK);
    ck_assert_int_eq(submit(c, &other), TB_OK);
    sem_post(&hold_second);
    while (atomic_load(&same.was_done) + atomic_load(&other.was_done) < 2)
        ;
    ck_assert_int_eq(order[2], 5);
    ck_assert_int_eq(order[3], 9);
    sem_post(&hold);
    crew_stop(c);
    crew_free(c);
}
END_TEST

START_TEST(a_job_that_waited_too_long_is_not_run)
{
    task late = {.job = {.wait_us = -1}};
    crew *c = crew_start(&one_thread);
    ck_assert_int_eq(submit(c, &late), TB_OK);
    wait_idle(c);
    ck_assert_int_eq(atomic_load(&late.was_done), 1);
    ck_assert_int_eq(atomic_load(&late.ran), 0);
    ck_assert_int_eq(late.job.code, TB_E_BUSY);
    crew_stop(c);
    crew_free(c);
}
END_TEST

static tb_code run_while_there_is_time(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    (void)store;
    (void)err;
    sem_post(t->begun);
    while (crew_time_left(t->crew, job))
        ;
    atomic_fetch_add(&t->ran, 1);
    return TB_OK;
}

/* One ends as its time is over, one as the crew is told to stop. */
START_TEST(a_job_is_told_when_to_end)
{
    for (int stops = 0; stops < 2; stops++) {
        crew_options options = one_thread;
        sem_t begun;
        options.job_us = stops ? 0 : 1;
        sem_init(&begun, 0, 0);
        crew *c = crew_start(&options);
        task t = {.begun = &begun, .crew = c};
        ck_assert_int_eq(submit_as(c, &t, run_while_there_is_time), TB_OK);
        sem_wait(&begun);
        if (!stops) wait_idle(c);
        crew_stop(c);
        ck_assert_int_eq(atomic_load(&t.ran), 1);
        crew_free(c);
    }
}
END_TEST

START_TEST(a_stop_refuses_what_waits)
{
    task first, waits = {.job = {.account = 1}};
    sem_t hold, begun;
    crew *c = start_held(&one_thread, &first, &hold, &begun);
    ck_assert_int_eq(submit(c, &waits), TB_OK);
    ck_assert(!crew_stopping(c));
    ck_assert_int_ge(crew_stop_fd(c), 0);
    sem_post(&hold);
    crew_stop(c);
    ck_assert(crew_stopping(c));
    ck_assert_int_eq(atomic_load(&waits.was_done), 1);
    ck_assert_int_eq(submit(c, &first), TB_E_BUSY);
    crew_free(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("crew");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, who_gives_way_is_nicer);
    tcase_add_test(tc, an_account_has_its_share_of_the_places);
    tcase_add_test(tc, the_account_with_the_fewest_at_work_is_next);
    tcase_add_test(tc, a_job_that_waited_too_long_is_not_run);
    tcase_add_test(tc, a_job_is_told_when_to_end);
    tcase_add_test(tc, a_stop_refuses_what_waits);
    suite_add_tcase(s, tc);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
