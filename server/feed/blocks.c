/* Workers take turns at the reader under one lock and parse outside it. A part ends at the end of
 * the input, when a rollup is full, or after segment_bytes; then all workers have come to the same
 * line end. */
#include "feed/run.h"
#include "feed/withdraw.h"

#include <stdlib.h>

#define PROGRESS_BYTES ((uint64_t)4 << 20)

/* --- under the lock --- */

static void end_segment(feed_run *run, ending why)
{
    if (why > run->ended) run->ended = why;
}

static void show_progress(feed_run *run)
{
    const feed_options *options = run->options;
    if (!options->progress || run->reader.at - run->progress_at < PROGRESS_BYTES) return;
    run->progress_at = run->reader.at;
    feed_progress progress = {
        .lines = feed_run_flushed(run) + run->lines,
        .bytes = run->reader.at,
        .read = feed_source_stored_read(run->source),
        .total_read = feed_source_stored_size(run->source),
    };
    options->progress(options->progress_ctx, &progress);
}

/* Records the result of the worker's block. */
static void block_done(feed_run *run, feed_worker *worker, tb_code code, const tb_error *err)
{
    worker->busy = false;
    if (run->n_workers > 1) pthread_cond_broadcast(&run->block_done);
    run->counts[worker->number] = (uint32_t)worker->lines;
    run->lines += worker->lines;
    run->refused += worker->n_rejects;
    run->refused_too_new += worker->n_too_new;
    run->refused_in_time += worker->n_in_time;
    feed_run_note_limit(run, worker);
    run->taken_ambiguous += worker->n_ambiguous;
    run->taken_heads += worker->n_heads;
    if (code && run->code == TB_OK) {
        run->code = code;
        run->err = *err;
        run->failed_block = worker->number;
    }
    if (code) end_segment(run, ENDED_FAILED);
    if (worker->n_rejects && run->options->stop_on_error && !feed_reader_has_candidates(&run->reader))
        end_segment(run, ENDED_BAD_LINE);
    if (feed_worker_full(worker) || (run->apart && worker->logs && feed_logs_full(worker->logs)))
        end_segment(run, ENDED_FULL);
    if (run->options->bounded && run->refused > FEED_REFUSED_MAX && !run->code) {
        run->code =
            tb_fail(&run->err, TB_E_TOO_LARGE, NULL,
                    "More than %d lines of this body were refused. Nothing of it was taken. See "
                    "whether its format is the one that is named, or send it in smaller parts.",
                    FEED_REFUSED_MAX);
        end_segment(run, ENDED_FAILED);
    }
    show_progress(run);
}

static bool stopped(const feed_run *run)
{
    const atomic_bool *stop = run->options->stop;
    return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

/* Reads the worker's next block, or says why there is none. */
static ending next_block(feed_run *run, feed_worker *worker)
{
    feed_turn turn;
    if (stopped(run)) return ENDED_STOPPED;
    if (run->reader.at - run->flushed_at >= run->segment_bytes) return ENDED_BYTES;
    tb_error err;
    tb_code code = feed_reader_next(&run->reader, &worker->block, &turn, &err);
    if (code == TB_OK && turn == FEED_TURN_BLOCK && run->n_counts == run->cap_counts) {
        const size_t cap = run->cap_counts ? run->cap_counts * 2 : 1024;
        uint32_t *counts = realloc(run->counts, cap * sizeof *counts);
        if (!counts) code = tb_no_memory(&err);
        else run->counts = counts, run->cap_counts = cap;
    }
    if (code) {
        if (run->code == TB_OK) run->code = code, run->err = err;
        return ENDED_FAILED;
    }
    if (turn == FEED_TURN_KNOWN) return ENDED_KNOWN;
    if (turn == FEED_TURN_TAIL) {
        run->tail_at = run->reader.at;
        run->tail_hash = feed_hash_value(run->reader.hash);
        return ENDED_BEFORE_TAIL;
    }
    if (turn == FEED_TURN_END) return stopped(run) ? ENDED_STOPPED : ENDED_INPUT;
    worker->number = run->n_counts;
    run->counts[run->n_counts++] = 0;
    worker->busy = true;
    worker->in_turn = false;
    return NOT_ENDED;
}

void feed_run_turn(feed_run *run, feed_worker *worker)
{
    if (worker->in_turn) return;
    pthread_mutex_lock(&run->lock);
    for (size_t i = 0; i < run->n_workers;) {
        const feed_worker *other = &run->workers[i++];
        if (!other->busy || other->number >= worker->number) continue;
        pthread_cond_wait(&run->block_done, &run->lock);
        i = 0;
    }
    pthread_mutex_unlock(&run->lock);
    worker->in_turn = true;
}

/* The worker's block is parsed. Where its packed lines have become many they go into the transaction, or out of the
 * store, while others go on parsing. */
static tb_code take_block(feed_run *run, feed_worker *worker, tb_error *err)
{
    tb_code code = feed_worker_parse(worker, run->options, err);
    if (code || run->apart || !worker->logs || !feed_logs_full(worker->logs)) return code;
    pthread_mutex_lock(&run->writing);
    code = feed_run_begin(run, err);
    if (code == TB_OK)
        code = run->undo ? feed_logs_withdraw(worker->logs, run->store, &run->undo->kept_lines, err)
                         : feed_logs_store(worker->logs, run->store, err);
    pthread_mutex_unlock(&run->writing);
    return code;
}

/* The last lines of the part that has ended: each worker packs its own, outside the lock. An undo has many short
 * parts, and each block costs it a look through the zone's hours: it packs the lines of all together. */
static void pack_logs(feed_run *run, feed_worker *worker)
{
    tb_error err;
    if (!worker->logs || run->undo || run->ended >= ENDED_BAD_LINE) return;
    pthread_mutex_unlock(&run->lock);
    tb_code code = feed_logs_pack(worker->logs, &err);
    pthread_mutex_lock(&run->lock);
    if (code == TB_OK) return;
    if (run->code == TB_OK) run->code = code, run->err = err;
    end_segment(run, ENDED_FAILED);
}

static void *work(void *arg)
{
    feed_worker *worker = arg;
    feed_run *run = worker->run;
    tb_code code = TB_OK;
    tb_error err;
    pthread_mutex_lock(&run->lock);
    while (run->ended == NOT_ENDED) {
        end_segment(run, next_block(run, worker));
        if (run->ended != NOT_ENDED) break;
        pthread_mutex_unlock(&run->lock);
        code = take_block(run, worker, &err);
        pthread_mutex_lock(&run->lock);
        block_done(run, worker, code, &err);
    }
    pack_logs(run, worker);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Where a thread cannot be started the others do its work. */
void feed_run_workers(feed_run *run)
{
    pthread_t threads[FEED_THREADS_MAX];
    size_t n = 0;
    run->ended = NOT_ENDED;
    for (size_t i = 1; i < run->n_workers; i++)
        if (pthread_create(&threads[n], NULL, work, &run->workers[i]) == 0) n++;
    work(&run->workers[0]);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
