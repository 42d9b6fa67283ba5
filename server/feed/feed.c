/* The pipeline: blocks to workers, workers' rollups to the store, segment by segment.
 *
 * Workers take turns at the reader under one lock and parse outside it. A segment ends at the end
 * of the input, when a rollup is full, or after segment_bytes; then all workers have come to the
 * same line end, their rollups go into the store in one transaction, and the next segment starts.
 * An unterminated last line that is refused becomes a segment of its own, so that the input's next
 * copy, which may hold the whole of it, does not find it known.
 *
 * What cannot be committed yet is flushed into the open transaction instead, which is the spill
 * that keeps memory bounded: the whole of an import, and lines of a stream that may still turn out
 * to be known (then it is rolled back). A source that can seek is searched for its known prefix
 * before anything is parsed, so only streams need that. */
#include "feed/feed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/piece.h"
#include "feed/worker.h"
#include "tollbook/calendar.h"

#define BLOCK_BYTES    ((size_t)256 << 10) /* a block stays in a core's second cache */
#define SEGMENT_BYTES  ((uint64_t)2 << 30) /* at most this much is read again after a kill */
/* Groups in memory. Workers meet many of the same groups, so two of them need more in all. */
#define MAX_GROUPS_ONE ((size_t)1500000)
#define MAX_GROUPS_ALL ((size_t)2500000)
#define THREADS_MAX    256
#define PROGRESS_BYTES ((uint64_t)4 << 20)

/* Why a segment ended; a later one in this list outranks an earlier one. */
typedef enum ending {
    NOT_ENDED,
    ENDED_BEFORE_TAIL, /* the next line may be the unterminated last one: it is parsed alone */
    ENDED_FULL,
    ENDED_BYTES,
    ENDED_INPUT,
    ENDED_STOPPED,
    ENDED_BAD_LINE,
    ENDED_FAILED,
    ENDED_KNOWN, /* what was parsed is thrown away, whatever happened to it */
} ending;

typedef struct feed_run {
    tb_store *store;
    const feed_options *options; /* own_options, with the edges that regions have */
    feed_options own_options;
    bool own; /* the transactions are ours */
    feed_source *source;
    feed_reader reader;
    tb_hash128 head;
    feed_worker *workers;
    size_t n_workers;
    uint64_t segment_bytes;
    feed_keeper keeper; /* of raw lines; keeper.zones NULL: none are kept */

    pthread_mutex_t writing; /* whose of the workers may use the store; `lock` is never waited for under
                                it, nor it under `lock` */
    bool open;               /* a transaction of ours is open; guarded by `writing` while workers run */

    pthread_mutex_t lock; /* of everything below while workers run */
    ending ended;
    tb_code code;
    tb_error err;
    size_t failed_block;
    uint32_t *counts; /* lines per block since the last flush */
    size_t n_counts, cap_counts;
    uint64_t lines; /* sum of counts */
    uint64_t progress_at;

    bool final_known;    /* the batch's last segment is in the store */
    uint64_t start;      /* where the running segment starts */
    uint64_t flushed_at; /* where the last flush was */
    uint64_t tail_at;   /* where the line stands that was announced last, and the hash up to it */
    tb_hash128 tail_hash;
    uint64_t lines_before;       /* lines of the input before the running segment */
    uint64_t accepted, rejected; /* of the running segment, flushed */
    uint64_t too_new;            /* of rejected: because of the clock */
    uint64_t ambiguous, heads;   /* of accepted */
    size_t rejects_stored;
    uint64_t segments;
    /* lines of blocks since the last flush */
    uint64_t refused, refused_too_new, taken_ambiguous, taken_heads;
    tb_error first;   /* the running segment's first refused line: place and sentence */
    tb_reject_reason first_reason;
    feed_report report;
} feed_run;

/* --- blocks, under the lock --- */

static void end_segment(feed_run *run, ending why)
{
    if (why > run->ended) run->ended = why;
}

static uint64_t flushed_lines(const feed_run *run)
{
    return run->lines_before + run->accepted + run->rejected;
}

static void show_progress(feed_run *run)
{
    const feed_options *options = run->options;
    if (!options->progress || run->reader.at - run->progress_at < PROGRESS_BYTES) return;
    run->progress_at = run->reader.at;
    feed_progress progress = {
        .lines = flushed_lines(run) + run->lines,
        .bytes = run->reader.at,
        .read = feed_source_stored_read(run->source),
        .total_read = feed_source_stored_size(run->source),
    };
    options->progress(options->progress_ctx, &progress);
}

static tb_code count_block(feed_run *run, size_t *ret_number, tb_error *err)
{
    if (run->n_counts == run->cap_counts) {
        size_t cap = run->cap_counts ? run->cap_counts * 2 : 1024;
        uint32_t *counts = realloc(run->counts, cap * sizeof *counts);
        if (!counts) return tb_no_memory(err);
        run->counts = counts;
        run->cap_counts = cap;
    }
    run->counts[run->n_counts] = 0;
    *ret_number = run->n_counts++;
    return TB_OK;
}

/* Notes what came of the worker's block. */
static void block_done(feed_run *run, const feed_worker *worker, tb_code code, const tb_error *err)
{
    run->counts[worker->number] = (uint32_t)worker->lines;
    run->lines += worker->lines;
    run->refused += worker->n_rejects;
    run->refused_too_new += worker->n_too_new;
    run->taken_ambiguous += worker->n_ambiguous;
    run->taken_heads += worker->n_heads;
    if (code && run->code == TB_OK) {
        run->code = code;
        run->err = *err;
        run->failed_block = worker->number;
    }
    if (code) end_segment(run, ENDED_FAILED);
    if (worker->n_rejects && run->options->stop_on_error && !feed_reader_hopes(&run->reader))
        end_segment(run, ENDED_BAD_LINE);
    if (feed_worker_full(worker)) end_segment(run, ENDED_FULL);
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
    if (code == TB_OK && turn == FEED_TURN_BLOCK) code = count_block(run, &worker->number, &err);
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
    return NOT_ENDED;
}

static tb_code begin_input(feed_run *run, tb_error *err)
{
    if (!run->own || run->open) return TB_OK;
    tb_code code = tb_store_begin(run->store, err);
    run->open = code == TB_OK;
    return code;
}

/* Writes the worker's packed blocks into the transaction, while others go on parsing. */
static tb_code write_logs(feed_run *run, feed_worker *worker, tb_error *err)
{
    pthread_mutex_lock(&run->writing);
    tb_code code = begin_input(run, err);
    if (code == TB_OK) code = feed_logs_store(worker->logs, run->store, err);
    pthread_mutex_unlock(&run->writing);
    return code;
}

/* The worker's block: parsed, and its packed lines written where they have become many. */
static tb_code take_block(feed_run *run, feed_worker *worker, tb_error *err)
{
    tb_code code = feed_worker_parse(worker, run->options, err);
    if (code || !worker->logs || !feed_logs_full(worker->logs)) return code;
    return write_logs(run, worker, err);
}

/* The last lines of the part that has ended: each worker packs its own, outside the lock. */
static void pack_logs(feed_run *run, feed_worker *worker)
{
    tb_error err;
    if (!worker->logs || run->ended >= ENDED_BAD_LINE) return;
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

/* Runs the workers until the segment has ended. A thread that cannot be had is done without. */
static void run_workers(feed_run *run)
{
    pthread_t threads[THREADS_MAX];
    size_t n = 0;
    run->ended = NOT_ENDED;
    for (size_t i = 1; i < run->n_workers; i++)
        if (pthread_create(&threads[n], NULL, work, &run->workers[i]) == 0) n++;
    work(&run->workers[0]);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* --- into the store --- */

static void roll_back(feed_run *run)
{
    if (run->open) tb_store_rollback(run->store);
    run->open = false;
}

static void clear_workers(feed_run *run)
{
    for (size_t i = 0; i < run->n_workers; i++)
        feed_worker_clear(&run->workers[i]);
    run->n_counts = 0;
    run->lines = run->refused = run->refused_too_new = 0;
    run->taken_ambiguous = run->taken_heads = 0;
    run->flushed_at = run->reader.at;
}

static tb_code add_usage(feed_run *run, tb_error *err)
{
    tb_rollup *parts[THREADS_MAX];
    for (size_t i = 0; i < run->n_workers; i++)
        parts[i] = run->workers[i].rollup;
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, run->n_workers, NULL);
    if (!cursor) return tb_no_memory(err);
    tb_code code = tb_store_add_usage(run->store, cursor, err);
    if (code == TB_OK) code = tb_rollup_cursor_check(cursor, err);
    tb_rollup_cursor_free(cursor);
    return code;
}

static tb_code add_logs(feed_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_workers; i++)
        if (run->workers[i].logs) code = feed_logs_store(run->workers[i].logs, run->store, err);
    return code;
}

static tb_code add_events(feed_run *run, tb_error *err)
{
    feed_events *parts[THREADS_MAX];
    for (size_t i = 0; i < run->n_workers; i++)
        parts[i] = &run->workers[i].events;
    return feed_events_store(parts, run->n_workers, run->store, err);
}

/* The worker whose next refused line comes first in the input; NULL: none has one left. */
static feed_worker *first_in_order(feed_run *run, const size_t *next)
{
    feed_worker *first = NULL;
    const feed_reject *least = NULL;
    for (size_t i = 0; i < run->n_workers; i++) {
        const feed_rejects *rejects = &run->workers[i].rejects;
        if (next[i] == rejects->n) continue;
        const feed_reject *one = &rejects->list[next[i]];
        if (least && one->block > least->block) continue;
        least = one; /* a block belongs to one worker alone */
        first = &run->workers[i];
    }
    return first;
}

/* Lines of the input before block `to`, from those before block `from`. */
static uint64_t count_up(const feed_run *run, uint64_t before, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        before += run->counts[i];
    return before;
}

/* Whether another form would have taken the line. One without a known host is of its own form. */
static void look_at(feed_run *run, const feed_worker *worker, const feed_reject *one)
{
    if (one->reason == TB_REJECT_HOST) return;
    feed_fits_look(&run->report.fits, run->options->kind, &run->options->layout,
                   feed_reject_text(&worker->rejects, one), one->text_len);
}

static tb_refused refused_line(const feed_run *run, const feed_worker *worker,
                               const feed_reject *one, uint64_t before)
{
    const feed_options *options = run->options;
    const char *text = feed_reject_text(&worker->rejects, one);
    return (tb_refused){.line = before + one->line,
                        .byte = one->byte,
                        .reason = feed_reject_why(&worker->rejects, one),
                        .text = text,
                        .len = one->text_len,
                        .zone = options->kind == TB_BATCH_LOG
                                    ? tb_intake_zone(&options->layout, text, one->text_len)
                                    : 0};
}

/* Notes the running segment's first refused line, once. */
static void note_first(feed_run *run)
{
    size_t next[THREADS_MAX] = {0};
    const feed_worker *worker = run->first.line ? NULL : first_in_order(run, next);
    if (!worker) return;
    const feed_reject *one = &worker->rejects.list[0];
    (void)!tb_fail(&run->first, TB_E_BAD_LINE, NULL, "%s",
                   feed_reject_why(&worker->rejects, one));
    run->first.line = count_up(run, flushed_lines(run), 0, one->block) + one->line;
    run->first.byte = one->byte;
    run->first_reason = one->reason;
    if (run->options->stop_on_error) look_at(run, worker, one);
}

/* Stores refused lines in input order, numbered over the whole input. */
static tb_code add_rejects(feed_run *run, tb_error *err)
{
    size_t next[THREADS_MAX] = {0}, block = 0, text_bytes = 0;
    uint64_t before = flushed_lines(run);
    feed_worker *worker;
    while ((worker = first_in_order(run, next)) != NULL) {
        const feed_rejects *rejects = &worker->rejects;
        const feed_reject *one = &rejects->list[next[worker - run->workers]++];
        before = count_up(run, before, block, one->block);
        block = one->block;
        text_bytes += one->why_len + one->text_len;
        if (run->rejects_stored == TB_REJECTS_KEPT || text_bytes > FEED_REJECT_TEXT) break;
        const tb_refused line = refused_line(run, worker, one, before);
        tb_code code = tb_store_add_reject(run->store, &line, err);
        if (code) return code;
        look_at(run, worker, one);
        run->rejects_stored++;
    }
    return TB_OK;
}

/* Everything parsed so far into the open transaction. */
static tb_code flush(feed_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    if (run->lines > 0) {
        code = begin_input(run, err);
        if (code == TB_OK) code = add_usage(run, err);
        if (code == TB_OK) code = add_logs(run, err);
        if (code == TB_OK) code = add_events(run, err);
        if (code == TB_OK) code = add_rejects(run, err);
        if (code) return code;
        run->accepted += run->lines - run->refused;
        run->rejected += run->refused;
        run->too_new += run->refused_too_new;
        run->ambiguous += run->taken_ambiguous;
        run->heads += run->taken_heads;
    }
    clear_workers(run);
    return TB_OK;
}

static void start_segment(feed_run *run, uint64_t at, uint64_t lines_before)
{
    run->start = at;
    run->lines_before = lines_before;
    run->accepted = run->rejected = run->rejects_stored = 0;
    run->too_new = run->ambiguous = run->heads = 0;
    run->first = (tb_error){0};
}

/* The running segment's first refused line, if any, is the run's. */
static void report_first(feed_run *run)
{
    feed_report *report = &run->report;
    report->first_line = run->first.line;
    report->first_byte = run->first.byte;
    report->first_reason = run->first_reason;
    snprintf(report->first_why, sizeof report->first_why, "%.*s", FEED_WHY_MAX - 1,
             run->first.line ? run->first.message : "");
}

static void report_segment(feed_run *run, uint64_t end)
{
    feed_report *report = &run->report;
    if (!report->first_line) report_first(run);
    report->accepted += run->accepted;
    report->rejected += run->rejected;
    report->ambiguous += run->ambiguous;
    report->lines += run->accepted + run->rejected;
    report->bytes = end;
    run->segments++;
}

static tb_code refuse_whole(feed_run *run, tb_error *err)
{
    feed_report *report = &run->report;
    report_first(run);
    report->stop_line = run->first.line;
    report->stop_byte = run->first.byte;
    if (err) *err = run->first;
    return TB_E_BAD_LINE;
}

/* A segment of nothing but lines from the future says that the clock is wrong. Recorded, it would
 * keep them out for ever. A last line without its end is read anew anyway once it has grown. */
static bool clock_is_behind(const feed_run *run)
{
    bool tail = run->reader.tail && run->report.lines > 0;
    return run->accepted == 0 && run->rejected > 0 && run->too_new == run->rejected && !tail;
}

static tb_code refuse_clock(const feed_run *run, tb_error *err)
{
    char now[20], from[48] = "";
    tb_time_format(run->options->layout.now_ms * 1000, now);
    if (run->lines_before)
        snprintf(from, sizeof from, " from line %llu on",
                 (unsigned long long)run->lines_before + 1);
    return tb_fail(err, TB_E_BAD_INPUT, NULL,
                   "Every line%s is more than 48 hours ahead of this machine's clock (%.20s): set "
                   "the clock, or TOLLBOOK_NOW, and run the same command again.",
                   from, now);
}

/* Stores the rungs that stand in the running segment; those before it are there. */
static tb_code add_rungs(feed_run *run, uint64_t end, tb_error *err)
{
    const feed_piece *piece = run->options->piece;
    const tb_rung *rungs = piece ? piece->rungs : run->reader.rungs.own;
    size_t from = 0, to = piece ? piece->n_rungs : run->reader.rungs.n_own;
    while (from < to && rungs[from].length <= run->start)
        from++;
    while (to > from && rungs[to - 1].length > end)
        to--;
    return from == to ? TB_OK
                      : tb_store_add_rungs(run->store, run->head, rungs + from, to - from, err);
}

/* The running segment, as far as `end`, is recorded in the open transaction. */
static tb_code record(feed_run *run, uint64_t end, tb_hash128 hash, bool final, tb_error *err)
{
    int64_t id;
    const feed_options *options = run->options;
    tb_segment segment = {.kind = options->kind,
                          .name = options->batch,
                          .source = options->source,
                          .start = run->start,
                          .length = end,
                          .hash = hash,
                          .head = run->head,
                          .lines_before = run->lines_before,
                          .accepted = run->accepted,
                          .rejected = run->rejected,
                          .ambiguous = run->ambiguous,
                          .heads = run->heads,
                          .final = final,
                          .now_us = options->now_us};
    if (options->stop_on_error && run->rejected) return refuse_whole(run, err);
    if (clock_is_behind(run)) return refuse_clock(run, err);
    tb_code code = begin_input(run, err);
    if (code == TB_OK) code = add_rungs(run, end, err);
    if (code == TB_OK)
        code = tb_store_drop_logs(run->store, options->layout.now_ms, NULL, err);
    if (code == TB_OK)
        code = tb_store_drop_events(run->store, options->layout.now_ms, NULL, err);
    if (code == TB_OK) code = tb_store_forget_rejects(run->store, options->now_us, NULL, err);
    return code ? code : tb_store_add_segment(run->store, &segment, &id, err);
}

/* The running segment, as far as `end`, becomes part of the store and the next one starts. */
static tb_code commit(feed_run *run, uint64_t end, tb_hash128 hash, bool final, tb_error *err)
{
    tb_code code = record(run, end, hash, final, err);
    if (code == TB_OK && run->own) code = tb_store_commit(run->store, err);
    if (code) return code;
    run->open = false;
    if (run->own) tb_store_checkpoint(run->store, false);
    report_segment(run, end);
    start_segment(run, end, run->lines_before + run->accepted + run->rejected);
    return TB_OK;
}

/* What starts an input can be checked against what its sender says of it. */
static tb_code commit_piece(feed_run *run, const feed_piece *piece, tb_error *err)
{
    tb_hash128 hash = feed_hash_value(run->reader.hash);
    bool whole = piece->start == 0 && run->reader.at == piece->length;
    if (whole && (hash.high != piece->hash.high || hash.low != piece->hash.low))
        return tb_fail(err, TB_E_BAD_INPUT, "hash",
                       "The bytes are not those that the hash names. Send them again.");
    return commit(run, piece->length, piece->hash, piece->final, err);
}

static tb_code commit_here(feed_run *run, bool final, tb_error *err)
{
    if (run->options->piece) return commit_piece(run, run->options->piece, err);
    return commit(run, run->reader.at, feed_hash_value(run->reader.hash), final, err);
}

/* --- what is known --- */

tb_code feed_conflict(const char *batch, tb_error *err)
{
    return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                   "The batch id \"%.80s\" is known with other bytes. Nothing of the rest was "
                   "taken. Give these bytes another id, or none: then the content decides.",
                   batch);
}

/* A named batch: what is known of it must be how this input begins, and all of it where the batch
 * is complete. */
static tb_code find_named(feed_run *run, tb_error *err)
{
    tb_known *list;
    size_t n;
    bool same;
    tb_code code = tb_store_known_by_name(run->store, run->options->batch, &list, &n, err);
    if (code) return code;
    code = feed_reader_skip_named(&run->reader, run->options->kind, list, n, &same,
                                  &run->final_known, err);
    return code || same ? code : feed_conflict(run->options->batch, err);
}

/* An import's rows say nothing of when they were made: two may well begin alike. */
static tb_code expect_rungs(feed_run *run, tb_error *err)
{
    tb_rung *rungs;
    size_t n;
    if (run->options->kind != TB_BATCH_LOG || run->reader.known.n == 0) return TB_OK;
    tb_code code = tb_store_rungs_by_head(run->store, run->head, &rungs, &n, err);
    if (code == TB_OK) feed_reader_expect_rungs(&run->reader, rungs, n);
    return code;
}

static tb_code find_by_content(feed_run *run, bool empty, tb_error *err)
{
    tb_known *list;
    size_t n;
    if (empty) return TB_OK;
    tb_code code =
        tb_store_known_by_head(run->store, run->options->kind, run->head, &list, &n, err);
    if (code) return code;
    feed_reader_expect(&run->reader, list, n);
    code = expect_rungs(run, err);
    if (code || !feed_source_seekable(run->source)) return code;
    return feed_reader_skip_known(&run->reader, err);
}

/* The running segment starts after a known prefix. */
static tb_code after_known(feed_run *run, tb_error *err)
{
    const feed_known *known = &run->reader.known;
    run->report.known_bytes = run->report.bytes = known->bytes;
    run->report.known_lines = known->lines;
    run->report.known_refused = known->lines > 0 && !known->taken;
    start_segment(run, run->reader.at, known->lines);
    run->flushed_at = run->start;
    return feed_reader_skip_line_end(&run->reader, err);
}

/* The input is an earlier copy of a known log: nothing of it is taken. */
static void leave_earlier(feed_run *run)
{
    roll_back(run);
    clear_workers(run);
    run->report.earlier_copy = true;
    run->report.fits = (feed_fits){0};
    run->report.known_bytes = run->report.bytes = run->reader.at + run->reader.waiting;
    run->report.known_lines = run->reader.known.lines;
}

/* The columns may be named where the log begins. */
static tb_code take_fields(feed_run *run, tb_error *err)
{
    const tb_text beginning = feed_reader_beginning(&run->reader);
    return tb_log_layout_head(&run->own_options.layout, beginning.data, beginning.len, err);
}

static tb_code find_known(feed_run *run, tb_error *err)
{
    bool empty;
    tb_code code = feed_reader_head(&run->reader, &run->head, &empty, err);
    if (!code) code = take_fields(run, err);
    if (code) return code;
    code = run->options->batch ? find_named(run, err) : find_by_content(run, empty, err);
    if (code || !run->reader.earlier) return code ? code : after_known(run, err);
    leave_earlier(run);
    return TB_OK;
}

/* --- segments --- */

static bool may_commit(const feed_run *run)
{
    return run->own && !run->options->whole && !feed_reader_hopes(&run->reader);
}

/* After the last line: a segment if there is something to record. */
static tb_code end_input(feed_run *run, tb_error *err)
{
    const feed_piece *piece = run->options->piece;
    bool lines = run->accepted + run->rejected > 0, waiting = run->reader.waiting > 0;
    bool completes = run->options->batch && !run->final_known && !waiting;
    if (piece && !piece->final) completes = false;
    run->report.waiting_bytes = run->reader.waiting;
    if (!lines && !completes) return TB_OK;
    return commit_here(run, !waiting, err);
}

static tb_code interrupt(feed_run *run, tb_error *err)
{
    run->report.interrupted = true;
    if (!may_commit(run) || run->accepted + run->rejected == 0) return TB_OK;
    return commit_here(run, false, err);
}

/* At a full rollup or a long segment: commits, unless the input happens to end here. */
static tb_code pause_input(feed_run *run, tb_error *err)
{
    bool end = false;
    tb_code code = TB_OK;
    if (!may_commit(run)) return TB_OK;
    code = feed_reader_at_end(&run->reader, &end, err);
    if (code || end) return code;
    return commit_here(run, false, err);
}

/* The part that has ended is the input's unterminated last line. Where it was refused the segment
 * ends before it. An import stays one transaction. */
static tb_code end_tail(feed_run *run, tb_error *err)
{
    bool refused = run->refused > 0 && !run->options->stop_on_error && !run->options->piece;
    if (run->ended == ENDED_STOPPED) run->ended = ENDED_INPUT; /* it came after all was read */
    if (!refused || run->accepted + run->rejected == 0) return TB_OK;
    if (!run->options->whole) return commit(run, run->tail_at, run->tail_hash, false, err);
    tb_code code = record(run, run->tail_at, run->tail_hash, false, err);
    if (code) return code;
    report_segment(run, run->tail_at);
    start_segment(run, run->tail_at, run->lines_before + run->accepted + run->rejected);
    return TB_OK;
}

static tb_code throw_away(feed_run *run, tb_error *err)
{
    run->code = TB_OK;
    run->report.fits = (feed_fits){0};
    roll_back(run);
    clear_workers(run);
    return after_known(run, err);
}

/* What a worker or the reader ran into; a row's place counts over the whole input. */
static tb_code give_up(feed_run *run, tb_error *err)
{
    if (run->err.line) run->err.line += count_up(run, flushed_lines(run), 0, run->failed_block);
    if (err) *err = run->err;
    return run->code;
}

/* A stream is parsed before its end shows that it is an earlier copy. */
static bool ends_earlier(const feed_run *run)
{
    bool over = run->ended == ENDED_INPUT || run->reader.tail;
    return over && run->segments == 0 && run->ended < ENDED_BAD_LINE &&
           feed_reader_earlier(&run->reader);
}

/* One segment, or the part of one that fits the rollups. */
static tb_code run_segment(feed_run *run, bool *ret_more, tb_error *err)
{
    run_workers(run);
    *ret_more = !ends_earlier(run);
    if (!*ret_more) {
        leave_earlier(run);
        return TB_OK;
    }
    if (run->ended == ENDED_KNOWN) return throw_away(run, err);
    if (run->ended == ENDED_FAILED) return give_up(run, err);
    tb_code code = run->reader.tail && run->lines > 0 ? end_tail(run, err) : TB_OK;
    if (code) return code;
    note_first(run);
    if (run->ended == ENDED_BAD_LINE) return refuse_whole(run, err);
    code = flush(run, err);
    if (code) return code;
    *ret_more = run->ended != ENDED_INPUT && run->ended != ENDED_STOPPED;
    switch (run->ended) {
    case ENDED_INPUT: return end_input(run, err);
    case ENDED_STOPPED: return interrupt(run, err);
    case ENDED_BEFORE_TAIL: return TB_OK;
    default: return pause_input(run, err);
    }
}

/* The running segment is the piece, unless it is known. */
static tb_code find_piece(feed_run *run, const feed_piece *piece, tb_error *err)
{
    uint64_t lines = 0;
    bool known;
    tb_code code = feed_piece_check(run->store, run->options, &known, &lines, err);
    if (code) return code;
    run->head = piece->head;
    start_segment(run, piece->start, piece->lines_before);
    if (!known) return TB_OK;
    run->final_known = true; /* nothing of it is left */
    run->report.known_bytes = piece->length - piece->start;
    run->report.known_lines = lines;
    return TB_OK;
}

static tb_code run_all(feed_run *run, tb_error *err)
{
    bool more = true;
    const feed_piece *piece = run->options->piece;
    tb_code code = piece ? find_piece(run, piece, err) : find_known(run, err);
    if (run->final_known || run->report.earlier_copy) more = false;
    while (code == TB_OK && more)
        code = run_segment(run, &more, err);
    if (code || run->report.interrupted) roll_back(run);
    if (code) return code;
    bool known = run->report.known_bytes > 0 || run->final_known;
    run->report.unended = run->reader.tail;
    run->report.nothing_new = known && run->segments == 0 && !run->report.interrupted;
    return TB_OK;
}

static size_t groups_each(const feed_options *options, size_t n_workers)
{
    size_t all = options->max_groups;
    if (all == 0) all = n_workers == 1 ? MAX_GROUPS_ONE : MAX_GROUPS_ALL;
    return all > n_workers ? all / n_workers : 1;
}

/* The run's own options: a log's lines are read with the edge locations that regions have. */
static tb_code own_options(feed_run *run, tb_error *err)
{
    tb_log_layout *layout = &run->own_options.layout;
    run->own_options = *run->options;
    run->options = &run->own_options;
    if (run->options->kind != TB_BATCH_LOG) return TB_OK;
    if (layout->format == TB_FORMAT_COLUMNS && !layout->zone) {
        tb_code code = tb_store_known_hosts(run->store, &layout->hosts, err);
        if (code) return code;
    }
    return tb_store_known_edges(run->store, &layout->edges, &layout->n_edges, err);
}

static tb_code init_run(feed_run *run, size_t threads, tb_error *err)
{
    tb_code code = own_options(run, err);
    if (code) return code;
    const feed_options *options = run->options;
    size_t block = options->block_bytes ? options->block_bytes : BLOCK_BYTES;
    uint64_t seed = feed_hash_seed(options->kind, &options->layout);
    if (threads == 0) threads = 1;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    run->segment_bytes = options->segment_bytes ? options->segment_bytes : SEGMENT_BYTES;
    code = feed_reader_init(&run->reader, run->source, seed, block, options->take_partial_line, err);
    if (code) return code;
    run->reader.heads = options->kind == TB_BATCH_LOG && tb_log_layout_heads(&options->layout);
    if (options->kind == TB_BATCH_LOG)
        code = feed_keeper_init(&run->keeper, run->store, options, threads, err);
    if (code) return code;
    run->workers = calloc(threads, sizeof *run->workers);
    if (!run->workers) return tb_no_memory(err);
    for (; run->n_workers < threads; run->n_workers++) {
        feed_worker *worker = &run->workers[run->n_workers];
        code = feed_worker_init(worker, groups_each(options, threads),
                                run->keeper.zones ? &run->keeper : NULL, err);
        if (code) return code;
        worker->run = run;
    }
    return TB_OK;
}

static tb_code run_feed(feed_run *run, size_t threads, feed_report *ret_report, tb_error *err)
{
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->writing, NULL);
    tb_code code = init_run(run, threads, err);
    if (code == TB_OK) code = run_all(run, err);
    for (size_t i = 0; i < run->n_workers; i++)
        feed_worker_release(&run->workers[i]);
    free(run->workers);
    free(run->counts);
    feed_reader_release(&run->reader);
    feed_source_close(run->source);
    pthread_mutex_destroy(&run->writing);
    pthread_mutex_destroy(&run->lock);
    *ret_report = run->report;
    return code;
}

bool feed_all_refused(const feed_report *report)
{
    if (report->accepted > 0 || report->earlier_copy) return false;
    const bool known = report->known_lines > 0 && !report->known_refused;
    if (report->unended && report->rejected == 1 && known) return false;
    return report->rejected > 0 || (report->nothing_new && report->known_refused);
}

tb_code feed_file(tb_store *store, const char *path, const feed_options *options,
                  feed_report *ret_report, tb_error *err)
{
    feed_run run = {.store = store, .options = options, .own = true};
    *ret_report = run.report;
    tb_code code = feed_source_open(path, options->stop, &run.source, err);
    return code ? code : run_feed(&run, options->threads, ret_report, err);
}

tb_code feed_memory(tb_store *store, const void *bytes, size_t len, feed_encoding encoding,
                    size_t plain_max, const feed_options *options, feed_report *ret_report,
                    tb_error *err)
{
    feed_run run = {.store = store, .options = options};
    *ret_report = run.report;
    tb_code code = feed_source_memory(bytes, len, encoding, plain_max, &run.source, err);
    return code ? code : run_feed(&run, options->threads, ret_report, err);
}
