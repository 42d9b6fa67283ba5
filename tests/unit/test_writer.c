/* The writer: what is committed together, what a bad job takes with it, and how it ends. */
#include "http/writer.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/ready.h"
#include "store/core/internal.h"
#include "unit/store_fixture.h"

typedef struct task {
    write_job job;
    tb_code answer;  /* what run returns */
    bool adds;       /* whether run adds a key */
    sem_t *hold;     /* run waits for it */
    sem_t *finished; /* posted by done */
    atomic_int ran, was_done;
} task;

static atomic_uint commits;
static atomic_bool keys_seen;

static bool on_commit(void *ctx, tb_store *store, bool changed_keys)
{
    (void)ctx;
    (void)store;
    atomic_fetch_add(&commits, 1);
    if (changed_keys) atomic_store(&keys_seen, true);
    return true;
}

static atomic_int failures; /* publishing keys fails so many times more */
static sem_t published;

static bool on_commit_that_fails(void *ctx, tb_store *store, bool changed_keys)
{
    (void)ctx;
    (void)store;
    if (!changed_keys) return true;
    if (atomic_fetch_sub(&failures, 1) > 0) return false;
    sem_post(&published);
    return true;
}

static tb_code run(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    if (t->hold) sem_wait(t->hold);
    atomic_fetch_add(&t->ran, 1);
    if (t->adds) {
        static atomic_int serial;
        tb_key key = {.account = 0, .roles = 1, .revoked_us = INT64_MAX};
        key.hash[0] = (uint8_t)(1 + atomic_fetch_add(&serial, 1));
        tb_code code = tb_store_key_add(store, &key, err);
        if (code) return code;
        job->changed_keys = true;
    }
    return t->answer == TB_OK ? TB_OK : tb_fail(err, t->answer, "field", "no");
}

static void done(write_job *job)
{
    task *t = job->owner;
    atomic_fetch_add(&t->was_done, 1);
    if (t->finished) sem_post(t->finished);
}

static tb_code submit(writer *w, task *t)
{
    t->job.run = run;
    t->job.done = done;
    t->job.owner = t;
    return writer_submit(w, &t->job, NULL);
}

static size_t count_keys(tb_store *store)
{
    tb_key *keys;
    size_t n;
    ck_assert_int_eq(tb_store_keys(store, &keys, &n, NULL), TB_OK);
    free(keys);
    return n;
}

static fixture database;

static tb_store *open_store(void)
{
    atomic_store(&commits, 0);
    atomic_store(&keys_seen, false);
    fixture_init(&database);
    return database.store;
}

/* A group ends after WRITER_GROUP_US: where a machine is slow there are more of them. */
static void check_commits(unsigned made, unsigned least, int64_t from_us)
{
    ck_assert_uint_ge(made, least);
    ck_assert_int_le(made - least, (clock_mono_us() - from_us) / WRITER_GROUP_US);
}

START_TEST(those_that_wait_are_committed_together_and_a_bad_one_loses_itself_alone)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t hold, finished;
    sem_init(&hold, 0, 0);
    sem_init(&finished, 0, 0);
    task first = {.hold = &hold, .finished = &finished};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100); /* until it holds the thread */
    task tasks[10] = {{.finished = &finished}};
    for (int i = 0; i < 10; i++) {
        tasks[i].finished = &finished;
        tasks[i].adds = true;
        tasks[i].answer = i == 4 ? TB_E_BAD_LINE : TB_OK;
        ck_assert_int_eq(submit(w, &tasks[i]), TB_OK);
    }
    ck_assert_uint_eq(writer_queued(w), 10);
    ck_assert(!writer_idle(w));
    const int64_t from_us = clock_mono_us();
    sem_post(&hold);
    for (int i = 0; i < 11; i++)
        sem_wait(&finished);
    check_commits(atomic_load(&commits), 2, from_us);
    ck_assert(atomic_load(&keys_seen));
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(tasks[i].job.code, i == 4 ? TB_E_BAD_LINE : TB_OK);
        ck_assert_int_eq(atomic_load(&tasks[i].was_done), 1);
    }
    ck_assert_str_eq(tasks[4].job.err.field, "field");
    ck_assert(!tasks[4].job.changed_keys);
    writer_stop(w);
    writer_free(w);
    ck_assert_uint_eq(count_keys(store), 9);
    fixture_release(&database);
}
END_TEST

START_TEST(a_job_that_is_to_be_alone_has_a_commit_of_its_own)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t hold, finished;
    sem_init(&hold, 0, 0);
    sem_init(&finished, 0, 0);
    task first = {.hold = &hold, .finished = &finished}, tasks[6] = {{.finished = &finished}};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100); /* until it holds the thread */
    for (int i = 0; i < 6; i++) {
        tasks[i].finished = &finished;
        tasks[i].adds = true;
        tasks[i].job.alone = i == 2 || i == 3;
        ck_assert_int_eq(submit(w, &tasks[i]), TB_OK);
    }
    const int64_t from_us = clock_mono_us();
    sem_post(&hold);
    for (int i = 0; i < 7; i++)
        sem_wait(&finished);
    /* The first; 0 and 1; 2; 3; 4 and 5. */
    check_commits(atomic_load(&commits), 5, from_us);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(tasks[i].job.code, TB_OK);
    writer_stop(w);
    writer_free(w);
    ck_assert_uint_eq(count_keys(store), 6);
    fixture_release(&database);
}
END_TEST

static tb_code run_in_own(write_job *job, tb_store *store, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (!code) code = run(job, store, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

/* A bare job makes its transaction itself; those beside it have theirs. */
START_TEST(a_bare_job_commits_by_itself)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t finished;
    sem_init(&finished, 0, 0);
    task tasks[4] = {{.adds = true}, {.adds = true}, {.adds = true, .answer = TB_E_DIFFERENT}, {.adds = true}};
    atomic_store(&keys_seen, false);
    for (int i = 0; i < 4; i++) {
        tasks[i].finished = &finished;
        tasks[i].job = (write_job){.run = i == 1 || i == 2 ? run_in_own : run, .done = done, .owner = &tasks[i],
                                   .alone = i == 1 || i == 2, .bare = i == 1 || i == 2};
        ck_assert_int_eq(writer_submit(w, &tasks[i].job, NULL), TB_OK);
    }
    for (int i = 0; i < 4; i++)
        sem_wait(&finished);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(tasks[i].job.code, i == 2 ? TB_E_DIFFERENT : TB_OK);
    ck_assert(atomic_load(&keys_seen));
    ck_assert(writer_alive(w));
    writer_stop(w);
    writer_free(w);
    ck_assert_uint_eq(count_keys(store), 3);
    fixture_release(&database);
}
END_TEST

START_TEST(a_change_of_keys_is_acknowledged_when_it_is_in_force_and_not_before)
{
    tb_store *store = open_store();
    sem_t hold, finished;
    sem_init(&hold, 0, 0);
    sem_init(&finished, 0, 0);
    sem_init(&published, 0, 0);
    atomic_store(&failures, 3);
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit_that_fails});
    task first = {.hold = &hold, .finished = &finished};
    task key = {.adds = true, .finished = &finished}, other = {.finished = &finished};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    ck_assert_int_eq(submit(w, &key), TB_OK);
    ck_assert_int_eq(submit(w, &other), TB_OK);
    sem_post(&hold);
    for (int i = 0; i < 3; i++)
        sem_wait(&finished);
    ck_assert_int_eq(first.job.code, TB_OK);
    ck_assert_int_eq(other.job.code, TB_OK); /* committed beside it, and not its business */
    ck_assert_int_eq(key.job.code, TB_E_BUSY);
    ck_assert_ptr_nonnull(strstr(key.job.err.message, "not in force yet"));
    sem_wait(&published); /* nobody submits anything: the writer tries by itself */
    task again = {.adds = true, .finished = &finished};
    ck_assert_int_eq(submit(w, &again), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(again.job.code, TB_OK);
    writer_stop(w);
    ck_assert_int_eq(atomic_load(&failures), -2); /* three failed, two were published, none more */
    writer_free(w);
    ck_assert_uint_eq(count_keys(store), 2);
    fixture_release(&database);
}
END_TEST

START_TEST(a_writer_that_keys_pending_stops_all_the_same)
{
    tb_store *store = open_store();
    sem_t finished;
    sem_init(&finished, 0, 0);
    atomic_store(&failures, INT_MAX);
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit_that_fails});
    task key = {.adds = true, .finished = &finished};
    ck_assert_int_eq(submit(w, &key), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(key.job.code, TB_E_BUSY);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

START_TEST(the_queue_is_bounded_and_a_stop_finishes_it)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    static task tasks[WRITER_JOBS_MAX + 2];
    sem_t hold;
    sem_init(&hold, 0, 0);
    memset(tasks, 0, sizeof tasks);
    tasks[0].hold = &hold;
    ck_assert_int_eq(submit(w, &tasks[0]), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    task more = {.job = {.account = 1}};
    for (int i = 1; i <= WRITER_JOBS_MAX; i++) {
        /* One account leaves the others some places. */
        if (i == WRITER_JOBS_SHARE + 1) ck_assert_int_eq(submit(w, &more), TB_E_BUSY);
        tasks[i].job.account = i <= WRITER_JOBS_SHARE ? 1 : 2;
        ck_assert_int_eq(submit(w, &tasks[i]), TB_OK);
    }
    ck_assert_int_eq(submit(w, &tasks[WRITER_JOBS_MAX + 1]), TB_E_BUSY);
    sem_post(&hold);
    writer_stop(w);
    for (int i = 0; i <= WRITER_JOBS_MAX; i++)
        ck_assert_int_eq(atomic_load(&tasks[i].was_done), 1);
    ck_assert_int_eq(atomic_load(&tasks[WRITER_JOBS_MAX + 1].ran), 0);
    ck_assert(!writer_alive(w));
    ck_assert(writer_idle(w));
    ck_assert_int_eq(submit(w, &tasks[0]), TB_E_BUSY);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

static bool has_left(const write_job *job)
{
    return job->bytes == 1;
}

START_TEST(a_job_that_waited_too_long_or_that_nobody_waits_for_is_not_run)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    task late = {.job = {.wait_us = -1}}, early = {.job = {.wait_us = INT64_MAX}},
         left = {.job = {.bytes = 1, .abandoned = has_left}}, here = {.job = {.abandoned = has_left}};
    task *all[] = {&late, &early, &left, &here};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(submit(w, all[i]), TB_OK);
    writer_stop(w);
    for (int i = 0; i < 4; i++) {
        const bool over = all[i] == &late || all[i] == &left;
        ck_assert_int_eq(atomic_load(&all[i]->was_done), 1);
        ck_assert_int_eq(atomic_load(&all[i]->ran), !over);
        ck_assert_int_eq(all[i]->job.code, over ? TB_E_BUSY : TB_OK);
    }
    writer_free(w);
    fixture_release(&database);
}
END_TEST

START_TEST(bytes_that_wait_are_bounded_but_one_job_always_may)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t hold;
    sem_init(&hold, 0, 0);
    task first = {.hold = &hold}, large = {.job = {.bytes = WRITER_BYTES_MAX + 1}},
         more = {.job = {.bytes = WRITER_SHORT_BYTES + 1}}, small = {.job = {.bytes = WRITER_SHORT_BYTES}};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    ck_assert_int_eq(submit(w, &large), TB_OK);
    ck_assert_int_eq(submit(w, &more), TB_E_BUSY);
    ck_assert_int_eq(submit(w, &small), TB_OK);
    sem_post(&hold);
    writer_stop(w);
    ck_assert_int_eq(atomic_load(&large.was_done), 1);
    ck_assert_int_eq(atomic_load(&small.was_done), 1);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

static task *order[16];
static int n_order;

static void note_done(write_job *job)
{
    order[n_order++] = job->owner;
}

/* What is short passes what brings many cells, has been answered before one of them begins, and waits for one round of
 * them at most; they keep their order, and none is left. */
START_TEST(what_is_short_waits_for_one_round_of_what_is_long)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t hold, second;
    sem_init(&hold, 0, 0);
    sem_init(&second, 0, 0);
    task first = {.hold = &hold}, last = {.job = {.weight = WRITER_SHORT}};
    task many[4], few[2];
    memset(many, 0, sizeof many);
    memset(few, 0, sizeof few);
    n_order = 0;
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    static const size_t weights[] = {WRITER_ROUND / 2, WRITER_ROUND / 2, 10 * WRITER_ROUND, WRITER_SHORT + 1};
    for (int i = 0; i < 4; i++) {
        many[i].job.weight = weights[i];
        ck_assert_int_eq(submit(w, &many[i]), TB_OK);
        many[i].job.done = note_done;
    }
    many[0].hold = &second;
    for (int i = 0; i < 2; i++) {
        few[i].job.weight = WRITER_SHORT;
        ck_assert_int_eq(submit(w, &few[i]), TB_OK);
        few[i].job.done = note_done;
    }
    const int64_t from_us = clock_mono_us();
    sem_post(&hold);
    while (writer_queued(w) > 2) /* many[2] and many[3]: the round has been taken */
        usleep(100);
    ck_assert_int_eq(submit(w, &last), TB_OK);
    last.job.done = note_done;
    sem_post(&second);
    writer_stop(w);
    const task *right[] = {&few[0], &few[1], &many[0], &many[1], &last, &many[2], &many[3]};
    ck_assert_int_eq(n_order, 7);
    for (int i = 0; i < 7; i++)
        ck_assert_msg(order[i] == right[i], "%d", i);
    check_commits(atomic_load(&commits), 7, from_us); /* the long ones have one each */
    writer_free(w);
    fixture_release(&database);
}
END_TEST

/* It is alone in its transaction: what it did goes with it where it fails, and nobody else is harmed, whatever the error was. */
START_TEST(what_is_heavy_is_alone_and_fails_alone)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    sem_t hold;
    sem_init(&hold, 0, 0);
    task first = {.hold = &hold};
    task tasks[5];
    memset(tasks, 0, sizeof tasks);
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    for (int i = 0; i < 5; i++) {
        tasks[i].job.weight = i % 2 ? WRITER_ALONE + 1 : WRITER_SHORT + 1;
        tasks[i].adds = true;
        ck_assert_int_eq(submit(w, &tasks[i]), TB_OK);
    }
    tasks[1].answer = TB_E_IO;
    sem_post(&hold);
    writer_stop(w);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(tasks[i].job.code, i == 1 ? TB_E_IO : TB_OK);
        ck_assert_int_eq(tasks[i].was_done, 1);
    }
    ck_assert_uint_eq(count_keys(store), 4);
    ck_assert_uint_eq(atomic_load(&commits), 5); /* each of the others stands beside a heavy one */
    writer_free(w);
    fixture_verify(&database);
    fixture_release(&database);
}
END_TEST

static atomic_int losses;

static void on_lost(void *ctx, const tb_error *err)
{
    (void)ctx;
    if (err->code == TB_E_GONE) atomic_fetch_add(&losses, 1);
}

/* The file goes while a job runs, and comes back. */
START_TEST(a_file_that_is_gone_fails_the_jobs_of_its_commit_and_those_after_it_try_again)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit, .lost = on_lost});
    sem_t hold, finished;
    char away[128];
    sem_init(&hold, 0, 0);
    sem_init(&finished, 0, 0);
    atomic_store(&losses, 0);
    snprintf(away, sizeof away, "%s.away", database.path);
    task first = {.hold = &hold, .adds = true, .finished = &finished};
    task again = {.adds = true, .finished = &finished};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100);
    ck_assert_int_eq(rename(database.path, away), 0);
    sem_post(&hold);
    sem_wait(&finished);
    ck_assert_int_eq(first.job.code, TB_E_GONE);
    ck_assert_int_eq(atomic_load(&losses), 1);
    ck_assert(atomic_load(&keys_seen)); /* its commit may have been done: keys are read anew */
    ck_assert(writer_alive(w));
    ck_assert_int_eq(rename(away, database.path), 0);
    ck_assert_int_eq(submit(w, &again), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(again.job.code, TB_OK);
    writer_stop(w);
    writer_free(w);
    ck_assert_int_eq(atomic_load(&losses), 1);
    ck_assert_uint_eq(count_keys(store), 1);
    fixture_release(&database);
}
END_TEST

/* Runs a job that ends so; returns the writer's trouble then. */
static tb_code trouble_after(writer *w, tb_code code)
{
    sem_t finished;
    sem_init(&finished, 0, 0);
    task t = {.answer = code, .adds = true, .finished = &finished};
    ck_assert_int_eq(submit(w, &t), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(t.job.code, code);
    return writer_trouble(w, clock_mono_us());
}

START_TEST(a_full_disk_is_remembered_until_a_write_is_stored_or_half_a_minute_passed)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    ck_assert_int_eq(trouble_after(w, TB_OK), TB_OK);
    ck_assert_int_eq(trouble_after(w, TB_E_DISK_FULL), TB_E_DISK_FULL);
    ck_assert_int_eq(trouble_after(w, TB_E_VALIDATION), TB_E_DISK_FULL); /* it stored nothing */
    ck_assert_int_eq(trouble_after(w, TB_OK), TB_OK);
    ck_assert_int_eq(trouble_after(w, TB_E_READ_ONLY), TB_E_READ_ONLY);
    ck_assert_int_eq(writer_trouble(w, clock_mono_us() + WRITER_REFUSED_US), TB_OK);
    ck_assert(writer_alive(w));
    writer_stop(w);
    ck_assert_int_eq(writer_trouble(w, 0), TB_E_BUSY);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

START_TEST(a_disk_that_refuses_the_next_write_is_named)
{
    tb_error err;
    const disk_state roomy = {READY_FREE_BYTES, false}, full = {READY_FREE_BYTES - 1, false}, closed = {READY_FREE_BYTES, true};
    ck_assert_int_eq(ready_disk("t.db", &roomy, &err), TB_OK);
    ck_assert_int_eq(ready_disk("t.db", &full, &err), TB_E_DISK_FULL);
    ck_assert_str_eq(err.message, "t.db: 16383 KiB are free on its disk, and a write may need 16384. Make room.");
    ck_assert_int_eq(tb_code_http(ready_disk("t.db", &closed, &err)), 503);
    ck_assert_str_eq(err.message, "t.db: its disk is read-only, and writes are refused. The system's log says why: repair it and "
                                  "mount it for writing.");
}
END_TEST

/* Where usage is gathered: the first of some runs until others have come. */
static unsigned commits_of(task *tasks, int n)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit, .gather_us = WRITER_GATHER_US});
    sem_t hold;
    sem_init(&hold, 0, 0);
    tasks[0].hold = &hold;
    ck_assert_int_eq(submit(w, &tasks[0]), TB_OK);
    while (writer_queued(w) > 0)
        usleep(100); /* until it holds the thread */
    for (int i = 1; i < n; i++)
        ck_assert_int_eq(submit(w, &tasks[i]), TB_OK);
    sem_post(&hold);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
    for (int i = 0; i < n; i++)
        ck_assert(tasks[i].job.code == TB_OK && atomic_load(&tasks[i].was_done) == 1);
    return atomic_load(&commits);
}

START_TEST(usage_joins_a_group_that_runs_unless_others_wait_for_its_end)
{
    task usage[4], mixed[3];
    memset(usage, 0, sizeof usage);
    memset(mixed, 0, sizeof mixed);
    for (int i = 0; i < 4; i++)
        usage[i].job.usage = true;
    mixed[0].job.usage = mixed[1].job.usage = true;
    ck_assert_uint_eq(commits_of(usage, 4), 1);
    ck_assert_uint_eq(commits_of(mixed, 3), 3);
}
END_TEST

static atomic_int looks;

static bool is_looked_at(const write_job *job)
{
    (void)job;
    atomic_fetch_add(&looks, 1);
    return false;
}

/* What is held is looked at whether it has waited too long, and once more when it runs. */
START_TEST(many_cells_are_not_held)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit, .gather_us = WRITER_GATHER_US});
    sem_t finished;
    sem_init(&finished, 0, 0);
    task first = {.job = {.usage = true}, .finished = &finished};
    task many = {.job = {.usage = true, .cells = WRITER_GATHER_CELLS, .abandoned = is_looked_at}, .finished = &finished};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    sem_wait(&finished);
    atomic_store(&looks, 0);
    ck_assert_int_eq(submit(w, &many), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(atomic_load(&looks), 1);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

/* It is looked at every WRITER_AGAIN_MS at least, so ten times in a second. */
START_TEST(usage_is_gathered_for_as_long_as_the_hooks_say)
{
    tb_store *store = open_store();
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit, .gather_us = 20000});
    sem_t finished;
    sem_init(&finished, 0, 0);
    task first = {.job = {.usage = true}, .finished = &finished};
    task second = {.job = {.usage = true, .abandoned = is_looked_at}, .finished = &finished};
    ck_assert_int_eq(submit(w, &first), TB_OK);
    sem_wait(&finished);
    atomic_store(&looks, 0);
    ck_assert_int_eq(submit(w, &second), TB_OK);
    sem_wait(&finished);
    ck_assert_int_le(atomic_load(&looks), 4);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

/* --- idle --- */

typedef struct idling {
    sem_t began, go_on;
    atomic_int steps;
    int left;
} idling;

static bool on_idle(void *ctx, tb_store *store)
{
    idling *i = ctx;
    (void)store;
    atomic_fetch_add(&i->steps, 1);
    sem_post(&i->began);
    sem_wait(&i->go_on);
    return --i->left > 0;
}

/* What it left undone goes on at once, and a job comes between two steps. */
START_TEST(what_is_done_in_idle_time_begins_at_once_and_lets_others_in)
{
    tb_store *store = open_store();
    idling idle = {.left = 3};
    sem_t finished;
    sem_init(&finished, 0, 0);
    sem_init(&idle.began, 0, 0);
    sem_init(&idle.go_on, 0, 0);
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit, .ctx = &idle, .idle = on_idle, .more_idle = true});
    task one = {.finished = &finished};
    sem_wait(&idle.began);
    ck_assert_int_eq(submit(w, &one), TB_OK);
    sem_post(&idle.go_on);
    sem_wait(&finished);
    for (int i = 0; i < 2; i++) {
        sem_wait(&idle.began);
        sem_post(&idle.go_on);
    }
    writer_stop(w);
    writer_free(w);
    ck_assert_int_eq(atomic_load(&idle.steps), 3);
    fixture_release(&database);
}
END_TEST

/* --- what goes on for ever --- */

typedef struct tending {
    sem_t began;
    atomic_bool waits; /* a job with usage */
    atomic_int steps;  /* while it did */
} tending;

static bool on_maintain(void *ctx, tb_store *store)
{
    tending *t = ctx;
    (void)store;
    sem_post(&t->began);
    if (atomic_load(&t->waits)) atomic_fetch_add(&t->steps, 1);
    return true;
}

static bool after_three_steps(void *ctx, tb_error *err)
{
    tending *t = ctx;
    (void)!tb_fail(err, TB_E_AWAY, "usage", "not yet");
    atomic_store(&t->waits, true);
    return atomic_load(&t->steps) >= 3;
}

/* Under load a job with usage mostly waits for others: that time was nobody's. */
START_TEST(steps_go_on_while_usage_is_held)
{
    tb_store *store = open_store();
    tending t = {.steps = 0};
    sem_t finished;
    sem_init(&finished, 0, 0);
    sem_init(&t.began, 0, 0);
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit,
                                                   .ctx = &t,
                                                   .gather_us = WRITER_GATHER_US,
                                                   .maintain = on_maintain,
                                                   .ready = after_three_steps});
    task one = {.job = {.usage = true}, .finished = &finished};
    sem_wait(&t.began);
    ck_assert_int_eq(submit(w, &one), TB_OK);
    sem_wait(&finished);
    ck_assert_int_ge(atomic_load(&t.steps), 3);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

static tb_code run_batch(write_job *job, tb_store *store, tb_error *err)
{
    static uint64_t number;
    fixture f = {.store = store};
    const tb_row row = row_of(1, "DE", 498000, TB_M_BYTES, 1);
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {++number, 7},
                          .head = {number, 1}, .accepted = 1, .final = true, .now_us = NOW_US};
    (void)job;
    tb_code code = add_rows(&f, &row, 1, err);
    return code ? code : tb_store_add_segment(store, &segment, NULL, err);
}

/* A damaged page of usage: batches that meet it fail; everybody else goes on writing. */
START_TEST(damaged_usage_fails_those_who_meet_it_alone)
{
    tb_store *store = open_store();
    tb_error err;
    sem_t finished;
    sem_init(&finished, 0, 0);
    for (int i = 0; i < 7; i++) {
        ck_assert_int_eq(tb_store_begin(store, &err), TB_OK);
        ck_assert_int_eq(run_batch(NULL, store, &err), TB_OK);
        ck_assert_int_eq(tb_store_commit(store, &err), TB_OK);
    }
    edit(store->db, "UPDATE usage_page SET data=x'01020304' WHERE id=(SELECT min(id) FROM usage_page)");
    writer *w = writer_start(store, (writer_hooks){.committed = on_commit});
    task bring = {.finished = &finished}, key = {.adds = true, .finished = &finished};
    bring.job = (write_job){.run = run_batch, .done = done, .owner = &bring, .grouped = _i, .usage = true};
    ck_assert_int_eq(writer_submit(w, &bring.job, NULL), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(bring.job.code, TB_E_CORRUPT);
    ck_assert_int_eq(submit(w, &key), TB_OK);
    sem_wait(&finished);
    ck_assert_int_eq(key.job.code, TB_OK);
    writer_stop(w);
    writer_free(w);
    fixture_release(&database);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *tc = tcase_create("rules");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, damaged_usage_fails_those_who_meet_it_alone, 0, 2);
    tcase_add_test(tc, those_that_wait_are_committed_together_and_a_bad_one_loses_itself_alone);
    tcase_add_test(tc, a_job_that_is_to_be_alone_has_a_commit_of_its_own);
    tcase_add_test(tc, a_bare_job_commits_by_itself);
    tcase_add_test(tc, a_change_of_keys_is_acknowledged_when_it_is_in_force_and_not_before);
    tcase_add_test(tc, a_writer_that_keys_pending_stops_all_the_same);
    tcase_add_test(tc, the_queue_is_bounded_and_a_stop_finishes_it);
    tcase_add_test(tc, a_job_that_waited_too_long_or_that_nobody_waits_for_is_not_run);
    tcase_add_test(tc, bytes_that_wait_are_bounded_but_one_job_always_may);
    tcase_add_test(tc, what_is_heavy_is_alone_and_fails_alone);
    tcase_add_test(tc, what_is_short_waits_for_one_round_of_what_is_long);
    tcase_add_test(tc,
                   a_file_that_is_gone_fails_the_jobs_of_its_commit_and_those_after_it_try_again);
    tcase_add_test(tc, a_full_disk_is_remembered_until_a_write_is_stored_or_half_a_minute_passed);
    tcase_add_test(tc, a_disk_that_refuses_the_next_write_is_named);
    tcase_add_test(tc, usage_joins_a_group_that_runs_unless_others_wait_for_its_end);
    tcase_add_test(tc, many_cells_are_not_held);
    tcase_add_test(tc, usage_is_gathered_for_as_long_as_the_hooks_say);
    tcase_add_test(tc, steps_go_on_while_usage_is_held);
    tcase_add_test(tc, what_is_done_in_idle_time_begins_at_once_and_lets_others_in);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
