/* The desk: one job after the other, few that wait, and an end that does not wait for long ones. */
#include "http/desk.h"

#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "unit/store_fixture.h"

typedef struct task {
    write_job job;
    desk *desk;
    sem_t *begun, *hold, *finished;
    bool until_told; /* runs until it has no time left */
    int ran, was_done;
} task;

static tb_code run(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    ck_assert_ptr_nonnull(store);
    t->ran++;
    if (t->begun) sem_post(t->begun);
    if (t->hold) sem_wait(t->hold);
    while (t->until_told && desk_time_left(t->desk))
        ;
    return t->until_told ? tb_fail(err, TB_E_BUSY, NULL, "told to end") : TB_OK;
}

static void done(write_job *job)
{
    task *t = job->owner;
    t->was_done++;
    if (t->finished) sem_post(t->finished);
}

static void set_up(task *t, desk *d)
{
    t->desk = d;
    t->job.run = run;
    t->job.done = done;
    t->job.owner = t;
}

typedef struct room {
    fixture f;
    desk *d;
    sem_t begun, hold, finished;
} room;

static void open_room(room *r)
{
    fixture_init(&r->f);
    sem_init(&r->begun, 0, 0);
    sem_init(&r->hold, 0, 0);
    sem_init(&r->finished, 0, 0);
    r->d = desk_start(r->f.store);
    ck_assert_ptr_nonnull(r->d);
}

static void close_room(room *r)
{
    desk_stop(r->d);
    desk_free(r->d);
    fixture_release(&r->f);
}

START_TEST(jobs_are_run_one_after_the_other_and_each_is_done_once)
{
    room r;
    task tasks[5] = {{.ran = 0}};
    tb_error err;
    open_room(&r);
    for (size_t i = 0; i < 5; i++) {
        set_up(&tasks[i], r.d);
        tasks[i].finished = &r.finished;
        ck_assert_int_eq(desk_submit(r.d, &tasks[i].job, &err), TB_OK);
    }
    for (size_t i = 0; i < 5; i++)
        sem_wait(&r.finished);
    close_room(&r);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(tasks[i].ran, 1);
        ck_assert_int_eq(tasks[i].was_done, 1);
        ck_assert_int_eq(tasks[i].job.code, TB_OK);
    }
}
END_TEST

START_TEST(more_than_may_wait_are_refused_at_once)
{
    room r;
    task tasks[DESK_JOBS_MAX + 2] = {{.ran = 0}};
    tb_error err = {0};
    open_room(&r);
    for (size_t i = 0; i < DESK_JOBS_MAX + 2; i++) {
        set_up(&tasks[i], r.d);
        tasks[i].finished = &r.finished;
    }
    tasks[0].begun = &r.begun;
    tasks[0].hold = &r.hold;
    ck_assert_int_eq(desk_submit(r.d, &tasks[0].job, &err), TB_OK);
    sem_wait(&r.begun);
    for (size_t i = 1; i <= DESK_JOBS_MAX; i++)
        ck_assert_int_eq(desk_submit(r.d, &tasks[i].job, &err), TB_OK);
    ck_assert_int_eq(desk_submit(r.d, &tasks[DESK_JOBS_MAX + 1].job, &err), TB_E_BUSY);
    ck_assert_ptr_nonnull(strstr(err.message, "wait already"));
    sem_post(&r.hold);
    for (size_t i = 0; i <= DESK_JOBS_MAX; i++)
        sem_wait(&r.finished);
    close_room(&r);
    ck_assert_int_eq(tasks[DESK_JOBS_MAX].ran, 1);
    ck_assert_int_eq(tasks[DESK_JOBS_MAX + 1].ran, 0);
}
END_TEST

START_TEST(a_stop_ends_the_job_at_work_and_refuses_those_that_wait)
{
    room r;
    task first = {.until_told = true}, second = {.ran = 0}, third = {.ran = 0};
    tb_error err;
    open_room(&r);
    set_up(&first, r.d);
    set_up(&second, r.d);
    set_up(&third, r.d);
    first.begun = &r.begun;
    ck_assert_int_eq(desk_submit(r.d, &first.job, &err), TB_OK);
    sem_wait(&r.begun);
    ck_assert_int_eq(desk_submit(r.d, &second.job, &err), TB_OK);
    desk_stop(r.d);
    ck_assert_int_eq(desk_submit(r.d, &third.job, &err), TB_E_BUSY);
    desk_free(r.d);
    fixture_release(&r.f);
    ck_assert_int_eq(first.job.code, TB_E_BUSY);
    ck_assert_int_eq(second.job.code, TB_E_BUSY);
    ck_assert_int_eq(first.was_done + second.was_done, 2);
    ck_assert_int_eq(second.ran + third.ran, 0);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("desk");
    tcase_add_test(t, jobs_are_run_one_after_the_other_and_each_is_done_once);
    tcase_add_test(t, more_than_may_wait_are_refused_at_once);
    tcase_add_test(t, a_stop_ends_the_job_at_work_and_refuses_those_that_wait);
    Suite *s = suite_create("desk");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
