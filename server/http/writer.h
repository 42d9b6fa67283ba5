/* The writer: the one thread that owns the one writing store.
 *
 * Jobs wait in a bounded queue. Those that wait together are committed together, each behind a mark
 * so that one bad job does not lose the others; done is called for each only after the commit is
 * durable, or has failed. One that is heavy is alone, without a mark. They are taken in rounds: what is short first, and then of the others so much
 * as one round may have, the oldest first. So a short job waits for what runs, and not for all that came before
 * it, and a long one waits for what came before it and the short ones. A commit that failed for an I/O error is never retried: what the disk
 * holds is then unknown until a restart recovers it, and every later job is refused. One that
 * failed because the file is gone is: the file may come back. */
#ifndef TOLLBOOK_SERVER_HTTP_WRITER_H
#define TOLLBOOK_SERVER_HTTP_WRITER_H

#include "tollbook/store.h"

#define WRITER_JOBS_MAX    256                 /* most jobs that wait */
#define WRITER_JOBS_SHARE  192                 /* of them, one account's */
#define WRITER_BYTES_MAX   ((size_t)512 << 20) /* most bytes that wait */
#define WRITER_GROUP_BYTES ((size_t)32 << 20)  /* a group is committed past so many */
#define WRITER_GROUP_US    50000               /* or so long */
#define WRITER_SHORT       ((size_t)6656 << 10) /* a job that weighs no more is short: some milliseconds */
#define WRITER_SHORT_BYTES ((size_t)512 << 10) /* and has its place whatever weighs on the queue */
#define WRITER_ALONE       ((size_t)50 << 20)  /* one that weighs more has a transaction of its own, without a mark */
#define WRITER_ROUND       ((size_t)400 << 20) /* of a round's other jobs; one may weigh more, alone */
/* Where usage lies on servers: their INSERTs are few and large. */
#define WRITER_GATHER_US    1000000             /* usage is gathered for so long, unless writer_hooks.gather_us says for how long */
#define WRITER_GATHER_BYTES ((size_t)64 << 20)  /* that wait: they go at once */
#define WRITER_GATHER_CELLS 50000               /* likewise: their INSERTs are large enough */
#define WRITER_GATHER_GROUP ((size_t)256 << 20) /* a group is committed past so many, or after gather_us */
#define WRITER_GATHER_JOBS  1024                /* most that wait, and one account's share of them */
#define WRITER_GATHER_SHARE 768

typedef struct write_job {
    /* Set by the submitter. run works inside a transaction; done must not block. */
    tb_code (*run)(struct write_job *job, tb_store *store, tb_error *err);
    void (*done)(struct write_job *job);
    void *owner;
    size_t bytes;    /* what it weighs in the queue */
    size_t cells;    /* of usage, that it brings */
    size_t weight;   /* about as many nanoseconds of the writer as it needs at most */
    int64_t account; /* whose it is */
    int64_t wait_us; /* the longest wait: it is then TB_E_BUSY, and nothing of it was run; 0: any */
    bool (*left)(
        const struct write_job *job); /* nobody waits for it any more: it is not run; or NULL */
    bool usage; /* it brings usage; see writer_hooks.gather_us */
    bool grouped; /* and reads none: it is written together with that of others (tb_store_group_batches) */
    bool alone; /* nothing else is in its transaction: it reads what the last commit left */
    /* Set by the writer before done. */
    tb_code code;
    tb_error err; /* where code is not TB_OK */
    /* Set by run. */
    bool changed_keys;
    int64_t since_us; /* waiting */
    int64_t begun_us; /* set by the job pool: running */
    struct write_job *next;
} write_job;

/* Whether it is too late to run it, by `left` and `wait_us`: it has failed then. */
bool write_job_over(write_job *job);

typedef struct writer writer;

/* committed is called on the writer's thread after every commit, before any done. false: the keys
 * in force are still the old ones. The jobs that changed them then end with TB_E_BUSY, and it is
 * called again, with changed_keys, after WRITER_AGAIN_MS and after every commit, until it says
 * true. */
#define WRITER_AGAIN_MS 100
#define WRITER_IDLE_MS  60000
#define WRITER_TEND_MS  1000
#define WRITER_TEND_US  5000000 /* under load: at most so long between two calls, but as many times as long as the last one took */
#define WRITER_TEND_HELD 2      /* while jobs with usage are gathered: a third of the time goes to it */
#define WRITER_TEND_BUSY 4      /* after a group: a fifth */
typedef struct writer_hooks {
    bool (*committed)(void *ctx, tb_store *store, bool changed_keys);
    void *ctx;
    /* Called on the writer's thread when it had nothing to do for WRITER_IDLE_MS; may write, in a transaction of
     * its own. True: there is more to do, once nobody waits. NULL: nothing. */
    bool (*idle)(void *ctx, tb_store *store);
    bool idles; /* it has more to do from the start on */
    /* Likewise, once it had nothing to do for WRITER_TEND_MS, and under load every WRITER_TEND_US, or sooner where the last call
     * said that there is more to do: a short step of work that goes on for ever. True: there is more to do at once. NULL: nothing. */
    bool (*tend)(void *ctx, tb_store *store);
    /* Called on the writer's thread, before any done, when a commit met that the database is not
     * where it was (TB_E_GONE). Later jobs try again. NULL: nothing. */
    void (*lost)(void *ctx, const tb_error *err);
    /* Usage lies on servers. Jobs with usage have groups of their own, one so long or longer after the other; a
     * job that comes after a pause goes at once, and so do WRITER_GATHER_BYTES and WRITER_GATHER_CELLS. Others do not
     * wait for them. 0: usage lies in the file. */
    int64_t gather_us;
    /* Whether the servers can take anything; err says why not. Meanwhile jobs with usage wait, within the queue's bounds and no
     * longer than wait_us: they then fail with what it says. On the writer's thread. NULL: always. */
    bool (*ready)(void *ctx, tb_error *err);
} writer_hooks;

/* The store stays the caller's, who must not touch it until writer_stop. NULL: no thread. */
writer *writer_start(tb_store *store, writer_hooks hooks);
/* TB_OK: done will be called. TB_E_BUSY: the queue is full, or the account's share of it. TB_E_IO:
 * see above. */
TB_MUST_USE tb_code writer_submit(writer *w, write_job *job, tb_error *err);
/* Submits a copy of the job (run and owner set) and waits for its end. Not on the writer's thread. */
TB_MUST_USE tb_code writer_run(writer *w, const write_job *job, tb_error *err);
/* Finishes what waits, then ends the thread; later jobs are refused. */
void writer_stop(writer *w);
void writer_free(writer *w); /* after writer_stop; NULL is fine */
bool writer_alive(writer *w);
bool writer_idle(writer *w); /* nothing waits and nothing runs */
unsigned writer_queued(writer *w);

#endif
