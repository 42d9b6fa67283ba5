/* The writer: the one thread that owns the one writing store.
 *
 * Jobs wait in a bounded queue. Queued jobs are committed together, each behind a savepoint so that one bad job does
 * not lose the others; done is called for each only after the commit is durable, or has failed. A heavy job has a
 * transaction of its own, without a savepoint. Jobs are taken in rounds: first all short ones, then the oldest of the
 * others, up to the weight of a round. So a short job waits for what runs, not for the whole queue, and a long one
 * waits for older jobs and short ones.
 *
 * A commit that failed for an I/O error is never retried: the state on disk is then unknown until a restart recovers
 * it, and every later job is refused. A commit that failed because the file is gone is retried: the file may come
 * back. */
#ifndef TOLLBOOK_SERVER_HTTP_WRITER_H
#define TOLLBOOK_SERVER_HTTP_WRITER_H

#include "tollbook/store.h"

#define WRITER_JOBS_MAX    256                 /* most queued jobs */
#define WRITER_JOBS_SHARE  192                 /* most of one account */
#define WRITER_BYTES_MAX   ((size_t)512 << 20) /* most queued bytes */
#define WRITER_GROUP_BYTES ((size_t)32 << 20)  /* a group of this size is committed */
#define WRITER_GROUP_US    50000               /* or after this time */
#define WRITER_SHORT       ((size_t)6656 << 10) /* weight up to which a job is short: some milliseconds */
#define WRITER_SHORT_BYTES ((size_t)512 << 10) /* bytes up to which a job is queued, whatever WRITER_BYTES_MAX says */
#define WRITER_ALONE       ((size_t)50 << 20)  /* weight above which a job is heavy */
#define WRITER_ROUND       ((size_t)400 << 20) /* weight of a round's long jobs; a single one may weigh more */
/* With usage on servers: INSERTs should be few and large. */
#define WRITER_GATHER_US    1000000             /* default of writer_hooks.gather_us: how long usage is gathered */
#define WRITER_GATHER_BYTES ((size_t)64 << 20)  /* queued bytes from which on they are written at once */
#define WRITER_GATHER_CELLS 50000               /* the same for queued cells */
#define WRITER_GATHER_GROUP ((size_t)256 << 20) /* a group of this size is committed, or after gather_us */
#define WRITER_GATHER_JOBS  1024                /* most queued jobs, and most of one account */
#define WRITER_GATHER_SHARE 768

typedef struct write_job {
    /* Set by the submitter. run works inside a transaction; done must not block. */
    tb_code (*run)(struct write_job *job, tb_store *store, tb_error *err);
    void (*done)(struct write_job *job);
    void *owner;
    size_t bytes;    /* counted against the queue's bound */
    size_t cells;    /* of its usage */
    size_t weight;   /* most nanoseconds of the writer that it needs, about */
    int64_t account; /* that it counts for */
    int64_t wait_us; /* the longest wait: then it fails with TB_E_BUSY and is not run; 0: no limit */
    bool (*abandoned)(const struct write_job *job); /* true: its client has left, so it is not run; may be NULL */
    bool usage;   /* it writes usage; see writer_hooks.gather_us */
    bool grouped; /* and reads none: its usage is written with that of other jobs (tb_store_group_batches) */
    bool alone;   /* it needs a transaction of its own, which reads the state of the last commit */
    bool bare;    /* and makes that itself: a piece that a copy applies */
    int64_t number; /* what a waiting request waits for (jobs/waiting.h) */
    /* Set by the writer before done. */
    tb_code code;
    tb_error err; /* where code is not TB_OK */
    /* Set by run. */
    bool changed_keys;
    int64_t since_us; /* since when it waits */
    int64_t begun_us; /* since when it runs; set by the job pool */
    struct write_job *next;
} write_job;

/* If the job is abandoned or has waited longer than wait_us, fails it and returns true. */
bool write_job_over(write_job *job);

typedef struct writer writer;

/* committed is called on the writer's thread after every commit, before any done. false: the new keys could not be put
 * in force. Then the jobs that changed them end with TB_E_BUSY, and it is called again, with changed_keys, after
 * WRITER_AGAIN_MS and after every commit, until it returns true. */
#define WRITER_AGAIN_MS 100
#define WRITER_IDLE_MS  60000
#define WRITER_MAINTAIN_MS  1000
#define WRITER_MAINTAIN_US  5000000 /* under load: the longest pause between two steps */
#define WRITER_MAINTAIN_HELD 2      /* it is at most twice the last step while usage is gathered: a third of the time */
#define WRITER_MAINTAIN_BUSY 4      /* and four times after a group: a fifth of the time */
typedef struct writer_hooks {
    bool (*committed)(void *ctx, tb_store *store, bool changed_keys);
    void *ctx;
    /* Called on the writer's thread when it had no job for WRITER_IDLE_MS; may write, in a transaction of its own.
     * true: there is more to do when the queue is empty. May be NULL. */
    bool (*idle)(void *ctx, tb_store *store);
    bool more_idle; /* it has more to do at the start */
    /* A short step of maintenance, called likewise when there was no job for WRITER_MAINTAIN_MS, and under load every
     * WRITER_MAINTAIN_US, or sooner if the last step left more to do. true: there is more to do at once. May be
     * NULL. */
    bool (*maintain)(void *ctx, tb_store *store);
    /* Called on the writer's thread, before any done, when a commit found that the database file is gone (TB_E_GONE).
     * Later jobs try again. May be NULL. */
    void (*lost)(void *ctx, const tb_error *err);
    /* With usage on servers: jobs with usage have groups of their own, which begin at least gather_us apart, or as soon
     * as WRITER_GATHER_BYTES or WRITER_GATHER_CELLS are queued. Other jobs do not wait for them. 0: usage lies in the
     * file. */
    int64_t gather_us;
    /* Whether the usage servers are ready; if not, err says why. Until then jobs with usage wait, no longer than
     * wait_us: then they fail with that error. On the writer's thread. NULL: always ready. */
    bool (*ready)(void *ctx, tb_error *err);
} writer_hooks;

/* Borrows the store: the caller must not use it until writer_stop. NULL: no thread. */
writer *writer_start(tb_store *store, writer_hooks hooks);
/* TB_OK: done will be called. TB_E_BUSY: the queue is full, or the account's share of it. TB_E_IO:
 * see above. */
TB_MUST_USE tb_code writer_submit(writer *w, write_job *job, tb_error *err);
/* Submits a copy of the job (run and owner set) and waits for its end. Not on the writer's thread. */
TB_MUST_USE tb_code writer_run(writer *w, const write_job *job, tb_error *err);
/* Finishes the queue, then ends the thread; later jobs are refused. */
void writer_stop(writer *w);
void writer_free(writer *w); /* after writer_stop; NULL is fine */
bool writer_alive(writer *w);
bool writer_idle(writer *w); /* no job is queued or running */
unsigned writer_queued(writer *w);

#endif
