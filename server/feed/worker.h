/* A worker: one thread's block, records and rollup. It parses blocks of whole lines while they are
 * in its cache. The run gives it blocks (blocks.c). */
#ifndef TOLLBOOK_SERVER_FEED_WORKER_H
#define TOLLBOOK_SERVER_FEED_WORKER_H

#include "feed/events.h"
#include "feed/feed.h"
#include "feed/logs.h"
#include "feed/meters.h"
#include "feed/reader.h"
#include "feed/rejects.h"

typedef struct feed_worker {
    void *run; /* its feed_run */
    tb_rollup *rollup;
    feed_block block;
    size_t number; /* the block's in the segment */
    const uint64_t *numbers; /* of the block's lines; NULL: they are counted from 1 */
    tb_hit *hits; /* these three: NULL until lines are parsed */
    tb_reject *refused;
    tb_span *spans; /* NULL where no line is kept, too */
    feed_rejects rejects;
    uint64_t lines, n_rejects; /* of the block parsed last */
    uint64_t n_too_new;        /* of n_rejects: refused because of the clock */
    uint64_t n_in_time;        /* of n_rejects: refused for another reason, at a time that the clock allows */
    uint64_t first_too_new;    /* the number of the log's first line that is too new; 0: there is none */
    uint64_t last_in_time;     /* that of the last line that the clock allows, taken or not; 0: there is none */
    uint64_t n_ambiguous;      /* of the accepted ones */
    uint64_t n_heads;          /* of them too: no requests */
    feed_events events;        /* of shield zones, among the rows of an import */
    feed_meters meters;        /* usage lines of meters, likewise */
    bool busy;                 /* it parses its block; guarded by the run's lock */
    bool in_turn;              /* all blocks before its block are parsed */
    feed_logs *logs;           /* the lines that are kept; NULL: none is */
} feed_worker;

/* rollup: the worker's from now on; NULL: out of memory. keeper: NULL where no zone keeps its lines. */
TB_MUST_USE tb_code feed_worker_init(feed_worker *worker, tb_rollup *rollup,
                                     const feed_keeper *keeper, tb_error *err);
void feed_worker_release(feed_worker *worker);
/* Frees what it needs only for parsing: many parsed bodies may be queued for the writer. */
void feed_worker_trim(feed_worker *worker);
/* Forgets rollup, rejects and kept lines. */
void feed_worker_clear(feed_worker *worker);
/* Whether it holds as much as it may. */
bool feed_worker_full(const feed_worker *worker);
/* Parses worker->block into the rollup. Where stop_on_error it may end at a refused line. */
TB_MUST_USE tb_code feed_worker_parse(feed_worker *worker, const feed_options *options,
                                      tb_error *err);

#endif
