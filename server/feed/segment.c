/* Stores what the workers have parsed in the store's open transaction: usage, lines that are kept,
 * events and refused lines in the order of the input, then the segment that records where it ends.
 */
#include "feed/helper.h"
#include "feed/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

#define BLOCKS_GO   128  /* too old blocks, of logs and of events, that go with a segment */
#define LINES_BLOCK 64   /* and one more for so many lines that it brings, which cost it as much */
#define TEXTS_GO    4096 /* likewise texts of refused lines, and twice as many as it brings */
#define SEGMENTS_GO 16   /* old segments that become part of another one: more than come */
#define AHEAD_HOURS 24   /* no time zone is so far ahead: the clock is behind, or the time is wrong */

uint64_t feed_run_flushed(const feed_run *run)
{
    return run->lines_before + run->accepted + run->rejected;
}

tb_code feed_run_begin(feed_run *run, tb_error *err)
{
    if (!run->own || run->open) return TB_OK;
    tb_code code = tb_store_begin(run->store, err);
    run->open = code == TB_OK;
    return code;
}

void feed_run_roll_back(feed_run *run)
{
    if (run->open) tb_store_rollback(run->store);
    run->open = false;
}

void feed_run_clear(feed_run *run)
{
    for (size_t i = 0; i < run->n_workers; i++)
        feed_worker_clear(&run->workers[i]);
    tb_rollup_cursor_free(run->cursor);
    run->cursor = NULL;
    run->packed = false;
    feed_metered_clear(&run->metered);
    free(run->events);
    run->events = NULL;
    run->n_events = 0;
    run->n_counts = 0;
    run->lines = run->refused = run->refused_too_new = run->refused_in_time = 0;
    run->taken_ambiguous = run->taken_heads = 0;
    run->first_too_new = run->last_in_time = (feed_place){0};
    run->flushed_at = run->reader.at;
}

static size_t rollups(const feed_run *run, tb_rollup *parts[FEED_THREADS_MAX])
{
    for (size_t i = 0; i < run->n_workers; i++)
        parts[i] = run->workers[i].rollup;
    return run->n_workers;
}

static tb_code order(feed_run *run, tb_error *err)
{
    tb_rollup *parts[FEED_THREADS_MAX];
    if (run->cursor) return TB_OK;
    run->cursor = tb_rollup_cursor_new(parts, rollups(run, parts), NULL);
    return run->cursor ? TB_OK : tb_no_memory(err);
}

tb_code feed_run_order_events(feed_run *run, tb_error *err)
{
    feed_events *parts[FEED_THREADS_MAX];
    size_t all = 0;
    for (size_t i = 0; i < run->n_workers; i++) {
        parts[i] = &run->workers[i].events;
        all += parts[i]->n;
    }
    if (!all || run->events) return TB_OK;
    return feed_events_order(parts, run->n_workers, &run->events, &run->n_events, err);
}

/* Usage that does not fit a pack, or that overflows, is sorted instead: its error names the place. */
tb_code feed_run_order(feed_run *run, tb_error *err)
{
    tb_rollup *parts[FEED_THREADS_MAX];
    tb_code code = TB_OK;
    const bool small = run->packs && run->directory && feed_run_cells(run) <= TB_PACK_GROUPS;
    if (small && !run->packed && !run->cursor) {
        if (!run->pack) run->pack = tb_usage_pack_new();
        code = run->pack ? tb_usage_pack_fill(run->pack, parts, rollups(run, parts), run->directory->ever_logged, err)
                         : tb_no_memory(err);
        run->packed = code == TB_OK;
        if (code == TB_E_OVERFLOW) code = TB_OK;
    }
    if (!code && !run->packed) code = order(run, err);
    return code ? code : feed_run_order_events(run, err);
}

static tb_code add_usage(feed_run *run, tb_error *err)
{
    feed_helper helper;
    bool stale = true;
    tb_code code = feed_run_order(run, err);
    if (!code && run->packed) code = tb_store_add_packed(run->store, run->pack, &stale, err);
    if (!code && stale) code = order(run, err);
    if (code || !stale) return code;
    const tb_helper lent = feed_helper_begin(&helper);
    tb_store_lend(run->store, run->n_workers > 1 ? &lent : NULL);
    code = tb_store_add_usage(run->store, run->cursor, err);
    tb_store_lend(run->store, NULL);
    feed_helper_end(&helper);
    return code ? code : tb_rollup_cursor_check(run->cursor, err);
}

/* still_so has compared the resources in this transaction, or the run reads and writes through one connection. */
static tb_code add_meters(feed_run *run, tb_error *err)
{
    tb_meter_usage parts[FEED_THREADS_MAX];
    const size_t n = feed_metered_parts(run, parts);
    bool stale = false;
    tb_code code = n ? tb_store_add_meters(run->store, parts, n, &stale, err) : TB_OK;
    return code || !stale ? code : tb_fail(err, TB_E_INTERNAL, "account", NULL);
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

uint64_t feed_run_count(const feed_run *run, uint64_t before, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        before += run->counts[i];
    return before;
}

/* Notes which other log forms would have taken the line. One without a known host is of its own form. */
static void try_forms(feed_run *run, const feed_worker *worker, const feed_reject *one)
{
    if (one->reason == TB_REJECT_HOST) return;
    feed_fits_look(&run->report.fits, run->options->kind, &run->options->layout,
                   feed_reject_text(&worker->rejects, one), one->text_len);
}

void feed_run_note_first(feed_run *run)
{
    size_t next[FEED_THREADS_MAX] = {0};
    const feed_worker *worker = run->first.line ? NULL : first_in_order(run, next);
    if (!worker) return;
    const feed_reject *one = &worker->rejects.list[0];
    (void)!tb_fail(&run->first, TB_E_BAD_LINE, NULL, "%s", feed_reject_why(&worker->rejects, one));
    run->first.line = feed_run_count(run, feed_run_flushed(run), 0, one->block) + one->line;
    run->first.byte = one->byte;
    run->first_reason = one->reason;
    if (run->options->stop_on_error) try_forms(run, worker, one);
}

/* Stores refused lines in input order, numbered over the whole input. */
static tb_code add_rejects(feed_run *run, tb_error *err)
{
    size_t next[FEED_THREADS_MAX] = {0}, block = 0, text_bytes = 0;
    uint64_t before = feed_run_flushed(run);
    const bool log = run->options->kind == TB_BATCH_LOG;
    feed_worker *worker;
    while ((worker = first_in_order(run, next)) != NULL) {
        const feed_rejects *rejects = &worker->rejects;
        const feed_reject *one = &rejects->list[next[worker - run->workers]++];
        before = feed_run_count(run, before, block, one->block);
        block = one->block;
        text_bytes += one->why_len + one->text_len;
        if (run->rejects_stored == TB_REJECTS_KEPT || text_bytes > FEED_REJECT_TEXT) break;
        const char *text = feed_reject_text(rejects, one);
        const tb_refused line = {.line = before + one->line,
                                 .byte = one->byte,
                                 .reason = feed_reject_why(rejects, one),
                                 .text = text,
                                 .len = one->text_len,
                                 .zone = log ? tb_intake_zone(&run->options->layout, text, one->text_len) : 0};
        tb_code code = tb_store_add_reject(run->store, &line, err);
        if (code) return code;
        try_forms(run, worker, one);
        run->rejects_stored++;
    }
    return TB_OK;
}

static bool is_before(feed_place a, feed_place b)
{
    return a.block != b.block ? a.block < b.block : a.line < b.line;
}

void feed_run_note_limit(feed_run *run, const feed_worker *worker)
{
    const feed_place first = {worker->number, worker->first_too_new}, last = {worker->number, worker->last_in_time};
    if (first.line && (!run->first_too_new.line || is_before(first, run->first_too_new))) run->first_too_new = first;
    if (last.line && (!run->last_in_time.line || is_before(run->last_in_time, last))) run->last_in_time = last;
}

tb_code feed_run_flush(feed_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    if (run->lines > 0) {
        code = feed_run_begin(run, err);
        if (code == TB_OK) code = add_usage(run, err);
        if (code == TB_OK) code = add_meters(run, err);
        for (size_t i = 0; !code && i < run->n_workers; i++)
            if (run->workers[i].logs) code = feed_logs_store(run->workers[i].logs, run->store, err);
        uint64_t added;
        if (!code && run->events) code = tb_store_add_events(run->store, run->events, run->n_events, &added, err);
        if (code == TB_OK) code = add_rejects(run, err);
        if (code) return code;
        run->accepted += run->lines - run->refused;
        run->rejected += run->refused;
        if (run->last_in_time.line) /* after a line that is too new, of these blocks or of earlier ones */
            run->time_goes_back |=
                run->too_new > 0 || (run->first_too_new.line && is_before(run->first_too_new, run->last_in_time));
        run->too_new += run->refused_too_new;
        run->in_time += run->refused_in_time;
        run->ambiguous += run->taken_ambiguous;
        run->heads += run->taken_heads;
    }
    feed_run_clear(run);
    return TB_OK;
}

void feed_run_start_segment(feed_run *run, uint64_t at, uint64_t lines_before)
{
    run->start = at;
    run->lines_before = lines_before;
    run->accepted = run->rejected = run->rejects_stored = 0;
    run->too_new = run->in_time = run->ambiguous = run->heads = 0;
    run->time_goes_back = false;
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

tb_code feed_run_refuse(feed_run *run, tb_error *err)
{
    feed_report *report = &run->report;
    report_first(run);
    report->stop_line = run->first.line;
    report->stop_byte = run->first.byte;
    if (err) *err = run->first;
    return TB_E_BAD_LINE;
}

/* TB_E_BAD_INPUT if the segment shows that the clock is wrong, and not its lines. If it were recorded, the lines that are too
 * new would be refused for ever; so none of it is stored, and nothing is lost. Each of these shows it:
 *
 *   - more lines are too new than the clock had nothing against. Lines whose time is not known do not count here;
 *   - a line is too new, and usage was taken that is more than a day ahead of the clock: time in the log passes the
 *     limit;
 *   - two lines or more are too new, and no line behind them is one that the clock allows: time passes the limit there,
 *     too, after a day without a line. This does not hold for a body that is sent by itself and is no piece of a log,
 *     as its sender would not send it again.
 *
 * A bad time among good ones shows none of them: its line alone is refused, counted and kept. So bad times hold a log only
 * until a good line has come. A last line without its end is read again anyway once it has grown. */
static tb_code check_clock(const feed_run *run, tb_error *err)
{
    char now[20], from[48] = "", which[64] = "Every line";
    const uint64_t lines = run->accepted + run->rejected;
    const int64_t ahead = tb_hour_from_us(run->options->layout.now_ms * 1000) + AHEAD_HOURS;
    const bool tail = run->reader.tail && run->report.lines > 0;
    const bool sent_again = run->own || run->options->piece;
    if (!run->too_new || tail) return TB_OK;
    const bool ends_ahead = sent_again && run->too_new > 1 && run->options->kind == TB_BATCH_LOG && !run->time_goes_back;
    if (!ends_ahead && run->too_new <= run->accepted + run->in_time && tb_store_segment_newest(run->store) <= ahead)
        return TB_OK;
    tb_time_format(run->options->layout.now_ms * 1000, now);
    if (run->lines_before)
        snprintf(from, sizeof from, " from line %llu on",
                 (unsigned long long)run->lines_before + 1);
    if (run->too_new < lines)
        snprintf(which, sizeof which, "%llu of %llu lines", (unsigned long long)run->too_new,
                 (unsigned long long)lines);
    return tb_fail(err, TB_E_BAD_INPUT, NULL,
                   "%s%s %s more than 48 hours ahead of this machine's clock (%.20s). None of the %llu lines was "
                   "taken: set the clock, or TOLLBOOK_NOW, and run the same command again. Where the clock is right, "
                   "take out the lines whose times are wrong.",
                   which, from, run->too_new < lines ? "are" : "is", now, (unsigned long long)lines);
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

/* Notes the log's options, once. One line is too little to recognise the log by. */
static tb_code note_reading(feed_run *run, tb_error *err)
{
    const feed_known_options *noted = &run->log_options;
    const feed_log_options as = feed_log_options_of(&run->options->layout);
    const bool grows = run->options->piece || feed_run_flushed(run) >= FEED_IDENTIFY_LINES;
    if (!run->begins || !grows || noted->n == FEED_KNOWN_OPTIONS_MAX || feed_known_options_has(noted, as.seed))
        return TB_OK;
    run->begins = false;
    return feed_known_options_add(run->store, noted->plain, as, err);
}

/* Expires old rows: all of them if no request waits for the transaction; else more rows than the segment adds, and the rest
 * while the server is idle. A line that is sent as part of cells costs next to nothing, and is not counted. */
static tb_code drop_aged(feed_run *run, tb_error *err)
{
    const size_t lines = run->options->cells ? 0 : (size_t)run->accepted;
    const size_t blocks = BLOCKS_GO + lines / LINES_BLOCK;
    tb_ageing room = {blocks, blocks, TEXTS_GO + 2 * (size_t)run->rejected, SEGMENTS_GO};
    if (run->own || run->options->alone) room = (tb_ageing){SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    return tb_store_drop_aged(run->store, run->options->now_us, &room, err);
}

tb_code feed_run_end_segment(feed_run *run, feed_end end, tb_error *err)
{
    int64_t id;
    const feed_options *options = run->options;
    feed_report *report = &run->report;
    tb_segment segment = {.kind = options->kind,
                          .name = options->batch,
                          .source = options->source,
                          .start = run->start,
                          .length = end.at,
                          .hash = end.hash,
                          .head = run->head,
                          .lines_before = run->lines_before,
                          .accepted = run->accepted,
                          .rejected = run->rejected,
                          .ambiguous = run->ambiguous,
                          .heads = run->heads,
                          .final = end.final,
                          .now_us = options->now_us,
                          .samples = run->directory ? run->directory->samples : 0};
    if (options->stop_on_error && run->rejected) return feed_run_refuse(run, err);
    tb_code code = check_clock(run, err);
    if (!code) code = feed_run_begin(run, err);
    if (!code) code = add_rungs(run, end.at, err);
    if (!code) code = note_reading(run, err);
    if (!code) code = drop_aged(run, err);
    if (!code) code = tb_store_add_segment(run->store, &segment, &id, err);
    if (!code && run->own && !end.goes_on) code = tb_store_commit(run->store, err);
    if (code) return code;
    if (!end.goes_on) run->open = false;
    if (run->own && !end.goes_on) tb_store_checkpoint(run->store, false);
    if (!report->first_line) report_first(run);
    report->accepted += run->accepted;
    report->rejected += run->rejected;
    report->ambiguous += run->ambiguous;
    report->lines += run->accepted + run->rejected;
    report->bytes = end.at;
    run->segments++;
    feed_run_start_segment(run, end.at, run->lines_before + run->accepted + run->rejected);
    return TB_OK;
}
