/* Lines and rows into a rollup, ROOM lines at a time so that the records stay in the cache. */
#include "feed/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 2048

tb_code feed_worker_init(feed_worker *worker, tb_rollup *rollup, const feed_keeper *keeper,
                         tb_error *err)
{
    *worker = (feed_worker){.rollup = rollup, .logs = keeper ? feed_logs_new(keeper) : NULL};
    feed_events_init(&worker->events);
    if (worker->rollup && (worker->logs || !keeper)) return TB_OK;
    feed_worker_release(worker);
    return tb_no_memory(err);
}

void feed_worker_trim(feed_worker *worker)
{
    feed_block_release(&worker->block);
    free(worker->hits);
    free(worker->refused);
    free(worker->spans);
    worker->hits = NULL;
    worker->refused = NULL;
    worker->spans = NULL;
}

void feed_worker_release(feed_worker *worker)
{
    feed_worker_trim(worker);
    tb_rollup_free(worker->rollup);
    feed_rejects_release(&worker->rejects);
    feed_logs_free(worker->logs);
    feed_events_release(&worker->events);
    feed_meters_release(&worker->meters);
    *worker = (feed_worker){0};
}

void feed_worker_clear(feed_worker *worker)
{
    tb_rollup_clear(worker->rollup);
    feed_rejects_clear(&worker->rejects);
    feed_events_clear(&worker->events);
    feed_meters_clear(&worker->meters);
    if (worker->logs) feed_logs_clear(worker->logs);
}

bool feed_worker_full(const feed_worker *worker)
{
    return tb_rollup_full(worker->rollup) || feed_events_full(&worker->events) || feed_meters_full(&worker->meters);
}

static tb_code keep(feed_worker *worker, const tb_reject *reject, const char *why, tb_error *err)
{
    worker->n_rejects++;
    worker->n_too_new += reject->reason == TB_REJECT_TOO_NEW;
    worker->n_in_time += reject->reason == TB_REJECT_HOST; /* it is looked up last */
    uint64_t line = worker->lines + reject->line;
    if (worker->numbers) line = worker->numbers[line - 1];
    return feed_rejects_add(&worker->rejects, worker->number, line, reject, why, err);
}

/* The reason, with the line's value if that helps. */
static tb_code keep_line(feed_worker *worker, const tb_reject *reject, tb_error *err)
{
    char why[320];
    if (reject->reason != TB_REJECT_HOST || !reject->name_len)
        return keep(worker, reject, tb_reject_text(reject->reason), err);
    size_t len = (size_t)snprintf(why, sizeof why, "no pull zone has the hostname \"");
    for (uint32_t i = 0; i < reject->name_len && i < 256; i++)
        why[len++] = reject->name[i] > 0x1f && reject->name[i] < 0x7f ? reject->name[i] : '?';
    memcpy(why + len, "\"", 2);
    return keep(worker, reject, why, err);
}

/* Where the clock's limit lies among these lines, which follow those of before. */
static void note_limit(feed_worker *worker, const tb_intake *got)
{
    uint64_t last = got->n_hits + got->n_rejects + got->n_heads;
    for (size_t i = got->n_rejects; i > 0 && got->rejects[i - 1].line == last; i--) {
        if (got->rejects[i - 1].reason == TB_REJECT_HOST) break;
        last--;
    }
    if (last > 0) worker->last_in_time = worker->lines + last;
    for (size_t i = 0; i < got->n_rejects && !worker->first_too_new; i++)
        if (got->rejects[i].reason == TB_REJECT_TOO_NEW) worker->first_too_new = worker->lines + got->rejects[i].line;
}

static tb_code parse_log(feed_worker *worker, const feed_options *options, tb_error *err)
{
    const feed_block *block = &worker->block;
    if (!worker->hits) worker->hits = malloc(ROOM * sizeof *worker->hits);
    if (!worker->refused) worker->refused = malloc(ROOM * sizeof *worker->refused);
    if (worker->logs && !worker->spans) worker->spans = malloc(ROOM * sizeof *worker->spans);
    if (!worker->hits || !worker->refused || (worker->logs && !worker->spans)) return tb_no_memory(err);
    for (size_t at = 0; at < block->len;) {
        tb_intake got = {.hits = worker->hits,
                         .rejects = worker->refused,
                         .spans = worker->spans,
                         .room = ROOM};
        const char *from = block->bytes + at;
        const size_t n = tb_intake_lines(&options->layout, from, block->len - at, &got);
        at += n;
        tb_code code = tb_rollup_add_hits(worker->rollup, got.hits, got.n_hits, err);
        if (code == TB_OK) code = feed_meters_sample(worker, got.hits, got.n_hits, err);
        if (code == TB_OK && worker->logs)
            code = feed_logs_take(worker->logs, &options->layout, &got, err);
        for (size_t i = 0; i < got.n_rejects && code == TB_OK; i++)
            code = keep_line(worker, &got.rejects[i], err);
        if (code) return code;
        const size_t lines = got.n_hits + got.n_rejects + got.n_heads;
        if (lines == 0) return tb_fail(err, TB_E_INTERNAL, NULL, NULL);
        note_limit(worker, &got);
        worker->n_ambiguous += got.n_ambiguous;
        worker->n_heads += got.n_heads;
        worker->lines += lines;
        if (worker->n_rejects && options->stop_on_error) break;
    }
    return TB_OK;
}

/* One row, usage line of a meter or shield event: added, or kept as refused. */
static tb_code parse_row(feed_worker *worker, const char *line, size_t len, int64_t now_ms,
                         tb_error *err)
{
    tb_row row;
    tb_reject reject;
    tb_error why;
    bool good;
    if (len > TB_LINE_MAX) {
        reject = (tb_reject){.line = 1,
                             .byte = TB_LINE_MAX + 1,
                             .len = (uint32_t)len,
                             .text = line,
                             .reason = TB_REJECT_TOO_LONG};
        return keep(worker, &reject, tb_reject_text(reject.reason), err);
    }
    if (tb_event_line(line, len)) {
        const uint64_t order = (uint64_t)worker->number << 32 | (worker->lines & UINT32_MAX);
        tb_code code =
            feed_events_take(&worker->events, line, len, now_ms, order, &good, &reject, &why, err);
        return code || good ? code : keep(worker, &reject, why.message, err);
    }
    if (tb_meter_line_is(line, len)) {
        tb_code code = feed_meters_take(worker, line, len, now_ms, &good, &reject, &why, err);
        return code || good ? code : keep(worker, &reject, why.message, err);
    }
    if (tb_row_parse(line, len, now_ms, &row, &reject, &why))
        return tb_rollup_add_row(worker->rollup, &row, err);
    return keep(worker, &reject, why.message[0] ? why.message : tb_reject_text(reject.reason),
                err);
}

static tb_code parse_rows(feed_worker *worker, const feed_options *options, tb_error *err)
{
    const char *p = worker->block.bytes, *stop = p + worker->block.len;
    while (p < stop) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        size_t len = (size_t)((end ? end : stop) - p), bare = len;
        if (bare > 0 && p[bare - 1] == '\r') bare--;
        tb_code code = parse_row(worker, p, bare, options->layout.now_ms, err);
        if (code) {
            err->line = worker->lines + 1;
            return code;
        }
        worker->lines++;
        if (worker->n_rejects && options->stop_on_error) break;
        p = end ? end + 1 : stop;
    }
    return TB_OK;
}

tb_code feed_worker_parse(feed_worker *worker, const feed_options *options, tb_error *err)
{
    worker->lines = worker->n_rejects = worker->n_too_new = worker->n_in_time = 0;
    worker->n_ambiguous = worker->n_heads = worker->first_too_new = worker->last_in_time = 0;
    bool log = options->kind == TB_BATCH_LOG;
    return log ? parse_log(worker, options, err) : parse_rows(worker, options, err);
}
