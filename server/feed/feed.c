/* The run: blocks to workers (blocks.c), workers' rollups to the store (segment.c), part by part. A
 * part is a segment, a transaction, where it can be committed. An unterminated last line that is
 * refused becomes a separate segment, so that the input's next copy, which may hold the whole of
 * it, does not find it known.
 *
 * What cannot be committed yet is flushed into the open transaction instead, which is the spill
 * that keeps memory bounded: the whole of an import, and lines of a stream that may still turn out
 * to be known (then it is rolled back). A source that can seek is searched for its known prefix
 * before anything is parsed, so only streams need that. */
#include "feed/feed.h"

#include <stdlib.h>
#include <string.h>

#include "feed/cells.h"
#include "feed/piece.h"
#include "feed/run.h"
#include "tollbook/billsource.h"

#define BLOCK_BYTES   ((size_t)256 << 10) /* a block stays in a core's second cache */
#define SEGMENT_BYTES ((uint64_t)2 << 30) /* at most this much is read again after a kill */
/* Groups in memory. Workers meet many of the same groups, so two of them need more in all. */
#define MAX_GROUPS_ONE ((size_t)1500000)
#define MAX_GROUPS_ALL ((size_t)2500000)

/* --- reports --- */

void feed_report_add(feed_report *all, const feed_report *piece)
{
    if (piece->first_line && !all->first_line) {
        all->first_line = piece->first_line;
        all->first_byte = piece->first_byte;
        all->first_reason = piece->first_reason;
        memcpy(all->first_why, piece->first_why, sizeof all->first_why);
    }
    all->lines += piece->lines;
    all->accepted += piece->accepted;
    all->rejected += piece->rejected;
    all->ambiguous += piece->ambiguous;
    all->fits.looked += piece->fits.looked;
    for (int form = 0; form < FEED_FORM_COUNT; form++)
        all->fits.taken[form] += piece->fits.taken[form];
    all->known_lines += piece->known_lines;
    if (piece->host_in_front) all->host_form = piece->host_form;
    all->host_in_front |= piece->host_in_front;
    all->undeclared_zone |= piece->undeclared_zone;
    all->unnamed_region |= piece->unnamed_region;
}

/* --- known segments --- */

tb_code feed_conflict(const char *batch, tb_error *err)
{
    return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                   "The batch id \"%.80s\" is known with other bytes, or read in another format. Nothing of the rest was "
                   "taken. Give these bytes another id, or none: then the content decides.",
                   batch);
}

/* A named batch: the input must begin with the batch's known segments, and end with them if the batch is complete. */
static tb_code find_named(feed_run *run, tb_error *err)
{
    tb_known *list;
    size_t n;
    bool same;
    tb_code code = tb_store_known_by_name(run->store, run->options->batch, &list, &n, err);
    if (code) return code;
    run->seen = feed_known_sum(list, n);
    code = feed_reader_skip_named(&run->reader, run->options->kind, list, n, &same,
                                  &run->final_known, err);
    return code || same ? code : feed_conflict(run->options->batch, err);
}

/* Rungs are for logs alone: rows of an import do not say when they were made, so two imports may begin alike. */
static tb_code find_by_content(feed_run *run, tb_error *err)
{
    tb_known *list;
    tb_rung *rungs;
    size_t n, n_rungs;
    tb_code code =
        tb_store_known_by_head(run->store, run->options->kind, run->head, &list, &n, err);
    if (code) return code;
    run->seen = feed_known_sum(list, n);
    feed_reader_expect(&run->reader, list, n);
    if (run->options->kind == TB_BATCH_LOG && n > 0) {
        code = tb_store_rungs_by_head(run->store, run->head, &rungs, &n_rungs, err);
        if (code) return code;
        feed_reader_expect_rungs(&run->reader, rungs, n_rungs);
    }
    return feed_source_seekable(run->source) ? feed_reader_skip_known(&run->reader, err) : TB_OK;
}

/* The running segment starts after a known prefix. */
static tb_code start_after_known(feed_run *run, tb_error *err)
{
    const feed_known *known = &run->reader.known;
    run->report.known_bytes = run->report.bytes = known->bytes;
    run->report.known_lines = known->lines;
    run->report.known_refused = known->lines > 0 && !known->taken;
    feed_run_start_segment(run, run->reader.at, known->lines);
    run->flushed_at = run->start;
    return feed_reader_skip_line_end(&run->reader, err);
}

/* The input is an earlier copy of a known log: nothing of it is taken. */
static void end_as_earlier(feed_run *run)
{
    feed_run_roll_back(run);
    feed_run_clear(run);
    run->report.earlier_copy = true;
    run->report.fits = (feed_fits){0};
    run->report.known_bytes = run->report.bytes = run->reader.at + run->reader.waiting;
    run->report.known_lines = run->reader.known.lines;
}

/* Reads the head of the input, in which a log may name its columns, and skips the known part. */
static tb_code find_known(feed_run *run, tb_error *err)
{
    bool empty;
    tb_log_layout *layout = &run->own_options.layout;
    tb_code code = feed_reader_head(&run->reader, &run->head, &empty, err);
    const tb_text beginning = feed_reader_beginning(&run->reader);
    run->report.host_in_front = feed_fits_host(layout, beginning, &run->report.host_form);
    if (!code) code = tb_log_layout_head(layout, beginning.data, beginning.len, err);
    if (!code && run->options->batch) code = find_named(run, err);
    else if (!code && !empty) code = find_by_content(run, err);
    if (code || !run->reader.earlier) return code ? code : start_after_known(run, err);
    end_as_earlier(run);
    return TB_OK;
}

/* The running segment is the piece, unless it is known. */
static tb_code find_piece(feed_run *run, const feed_piece *piece, tb_error *err)
{
    uint64_t lines = 0;
    bool known;
    tb_code code = feed_piece_check(run->store, run->options, &known, &lines, err);
    if (code) return code;
    run->head = piece->head;
    feed_run_start_segment(run, piece->start, piece->lines_before);
    if (!known) return TB_OK;
    run->final_known = true; /* nothing of it is left */
    run->report.known_bytes = piece->length - piece->start;
    run->report.known_lines = lines;
    return TB_OK;
}

/* Looks up the known segments of the input, and first whether it is known under other options. That ends the run, unless the
 * batch is named: its id says that the bytes are to be counted. */
static tb_code find_input(feed_run *run, tb_error *err)
{
    const feed_options *options = run->options;
    const feed_piece *piece = options->piece;
    feed_known_options *log_options = &run->log_options;
    if (options->kind == TB_BATCH_LOG && !options->cells && (!piece || piece->start == 0)) {
        tb_code code = feed_reader_look(&run->reader, TB_HEAD, err);
        if (code) return code;
        const tb_hash128 plain = feed_known_options_head(feed_reader_beginning(&run->reader));
        code = options->batch ? feed_known_options_read(run->store, plain, log_options, err)
                              : feed_known_options_check(run->store, &run->reader, feed_log_options_of(&options->layout), log_options,
                                                    err);
        if (code) return code;
        run->begins = log_options->n > 0;
    }
    return piece ? find_piece(run, piece, err) : find_known(run, err);
}

/* Whether no part of the input is left to be parsed. */
static bool all_known(const feed_run *run)
{
    return run->final_known || run->report.earlier_copy;
}

/* --- segments --- */

static bool may_commit(const feed_run *run)
{
    return run->own && !run->options->whole && !feed_reader_has_candidates(&run->reader);
}

/* Ends the segment here, or where its piece ends. A piece that starts an input is checked against the hash that its sender
 * names. */
static tb_code end_here(feed_run *run, bool final, tb_error *err)
{
    const feed_piece *piece = run->options->piece;
    const tb_hash128 hash = feed_hash_value(run->reader.hash);
    if (!piece) return feed_run_end_segment(run, (feed_end){.at = run->reader.at, .hash = hash, .final = final}, err);
    const bool whole = !run->options->cells && piece->start == 0 && run->reader.at == piece->length;
    if (whole && !feed_hash_same(hash, piece->hash))
        return tb_fail(err, TB_E_BAD_INPUT, "hash",
                       "The bytes are not those that the hash names. Send them again.");
    return feed_run_end_segment(
        run, (feed_end){.at = piece->length, .hash = piece->hash, .final = piece->final}, err);
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
    return end_here(run, !waiting, err);
}

/* The part that has ended is the input's unterminated last line. Where it was refused the segment
 * ends before it. An import stays one transaction. */
static tb_code end_tail(feed_run *run, tb_error *err)
{
    bool refused = run->refused > 0 && !run->options->stop_on_error && !run->options->piece;
    if (run->ended == ENDED_STOPPED) run->ended = ENDED_INPUT; /* it came after all was read */
    if (!refused || run->accepted + run->rejected == 0) return TB_OK;
    return feed_run_end_segment(
        run, (feed_end){.at = run->tail_at, .hash = run->tail_hash, .goes_on = run->options->whole},
        err);
}

tb_code feed_run_failed(feed_run *run, tb_error *err)
{
    if (run->err.line)
        run->err.line += feed_run_count(run, feed_run_flushed(run), 0, run->failed_block);
    if (err) *err = run->err;
    return run->code;
}

/* Parses the next part. If it turns out to be known, it is dropped, and the part after it is parsed. */
static tb_code parse_part(feed_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    do {
        feed_run_workers(run);
        if (run->ended != ENDED_KNOWN) break;
        run->code = TB_OK;
        run->report.fits = (feed_fits){0};
        feed_run_roll_back(run);
        feed_run_clear(run);
        code = start_after_known(run, err);
    } while (!code);
    return code;
}

/* Stores the parsed lines: a segment, or the part of one that fits the rollups. */
static tb_code take_part(feed_run *run, bool *ret_more, tb_error *err)
{
    bool over = run->ended == ENDED_INPUT || run->reader.tail, end = false;
    /* a stream is parsed before its end shows that it is an earlier copy */
    *ret_more = false;
    if (over && run->segments == 0 && run->ended < ENDED_BAD_LINE && feed_reader_earlier(&run->reader)) {
        end_as_earlier(run);
        return TB_OK;
    }
    if (run->ended == ENDED_FAILED) return feed_run_failed(run, err);
    tb_code code = run->reader.tail && run->lines > 0 ? end_tail(run, err) : TB_OK;
    if (code) return code;
    feed_run_note_first(run);
    if (run->ended == ENDED_BAD_LINE) return feed_run_refuse(run, err);
    code = feed_run_flush(run, err);
    if (code) return code;
    *ret_more = run->ended != ENDED_INPUT && run->ended != ENDED_STOPPED;
    switch (run->ended) {
    case ENDED_INPUT: return end_input(run, err);
    case ENDED_BEFORE_TAIL: return TB_OK;
    case ENDED_STOPPED:
        run->report.interrupted = true;
        return may_commit(run) && run->accepted + run->rejected > 0 ? end_here(run, false, err) : TB_OK;
    default: /* full, or long: commits, unless the input happens to end here */
        if (!may_commit(run)) return TB_OK;
        code = feed_reader_at_end(&run->reader, &end, err);
        return code || end ? code : end_here(run, false, err);
    }
}

/* Part by part, to the end. The first one may have been parsed before. */
static tb_code take_all(feed_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    for (bool more = !all_known(run); !code && more; run->parsed = false) {
        if (!run->parsed) code = parse_part(run, err);
        if (!code) code = take_part(run, &more, err);
    }
    if (code || run->report.interrupted) feed_run_roll_back(run);
    if (code) return code;
    bool known = run->report.known_bytes > 0 || run->final_known;
    run->report.unended = run->reader.tail;
    run->report.nothing_new = known && run->segments == 0 && !run->report.interrupted;
    return TB_OK;
}

/* --- a run --- */

static size_t groups_each(const feed_run *run)
{
    const size_t threads = run->options->threads ? run->options->threads : 1;
    size_t all = run->options->max_groups;
    if (all == 0) all = threads == 1 ? MAX_GROUPS_ONE : MAX_GROUPS_ALL;
    return all > threads ? all / threads : 1;
}

tb_rollup *feed_run_rollup(const feed_run *run)
{
    return tb_rollup_new(groups_each(run), NULL);
}

tb_meter_batch *feed_run_meter_batch(const feed_run *run)
{
    return tb_meter_batch_new(groups_each(run));
}

/* Whether usage of the zone and the edge location that the layout gives all lines can be billed. */
static tb_code check_place(feed_run *run, const tb_directory *d, tb_error *err)
{
    int64_t account = 0;
    tb_error why;
    const tb_log_layout *layout = &run->own_options.layout;
    const char *edge = layout->edge;
    const size_t len = layout->edge_len;
    run->report.unnamed_region = edge && !(len == 1 && edge[0] == '-');
    for (size_t i = 0; i < d->n_edges && run->report.unnamed_region; i++)
        run->report.unnamed_region =
            strnlen(d->edges[i].code, TB_EDGE_MAX) != len || memcmp(d->edges[i].code, edge, len) != 0;
    tb_code code = layout->zone ? tb_store_zone_account(run->store, layout->zone, &account, &why) : TB_OK;
    run->report.undeclared_zone = code == TB_E_ZONE_NOT_FOUND;
    return !code || run->report.undeclared_zone ? TB_OK : tb_fail(err, code, why.field, "%s", why.message);
}

/* Copies from the catalogue what parsing needs: hostnames, edge locations of regions, zones that keep their lines. */
static tb_code use_directory(feed_run *run, tb_error *err)
{
    tb_log_layout *layout = &run->own_options.layout;
    run->own_options = *run->options;
    run->options = &run->own_options;
    const tb_directory *d = run->options->directory;
    if (run->options->kind != TB_BATCH_LOG) return TB_OK;
    const bool hosts = layout->format == TB_FORMAT_COLUMNS && !layout->zone;
    tb_code code = d ? TB_OK : tb_store_directory(run->store, hosts, &d, err);
    if (code) return code;
    run->directory = tb_directory_retain(d);
    layout->edges = d->edges;
    layout->n_edges = d->n_edges;
    if (hosts) layout->hosts = d->hosts;
    return run->undo ? TB_OK : check_place(run, d, err);
}

tb_code feed_run_open(feed_run *run, tb_error *err)
{
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->writing, NULL);
    pthread_cond_init(&run->block_done, NULL);
    tb_code code = use_directory(run, err);
    if (code) return code;
    const feed_options *options = run->options;
    const bool log = options->kind == TB_BATCH_LOG;
    size_t block = options->block_bytes ? options->block_bytes : BLOCK_BYTES;
    if (options->threads > FEED_THREADS_MAX) run->own_options.threads = FEED_THREADS_MAX;
    const size_t threads = options->threads ? options->threads : 1;
    run->segment_bytes = options->segment_bytes ? options->segment_bytes : SEGMENT_BYTES;
    code = feed_reader_init(&run->reader, run->source, feed_hash_seed(options->kind, &options->layout), block,
                            options->take_partial_line, err);
    if (code) return code;
    run->reader.heads = log && tb_log_layout_heads(&options->layout);
    run->reader.layout = run->reader.heads && !run->undo ? &run->own_options.layout : NULL;
    const tb_directory *d = run->directory;
    if (d) feed_keeper_init(&run->keeper, run->undo ? d->ever_logged : d->logged, options, threads);
    run->keeper.mixed = !run->undo && tb_store_mixes_logs(run->store);
    run->keeper.whole = run->undo != NULL;
    run->packs = !run->undo && tb_store_takes_packs(run->store);
    run->workers = calloc(threads, sizeof *run->workers);
    if (!run->workers) return tb_no_memory(err);
    for (; run->n_workers < threads; run->n_workers++) {
        feed_worker *worker = &run->workers[run->n_workers];
        code = feed_worker_init(worker, feed_run_rollup(run), run->keeper.zones ? &run->keeper : NULL, err);
        if (code) return code;
        worker->run = run;
    }
    return TB_OK;
}

void feed_run_close(feed_run *run)
{
    tb_rollup_cursor_free(run->cursor);
    for (size_t i = 0; i < run->n_workers; i++)
        feed_worker_release(&run->workers[i]);
    tb_usage_pack_free(run->pack);
    free(run->workers);
    free(run->events);
    free(run->counts);
    free(run->granted);
    feed_reader_release(&run->reader);
    feed_source_close(run->source);
    tb_directory_release(run->directory);
    feed_metered_release(&run->metered);
    pthread_mutex_destroy(&run->writing);
    pthread_cond_destroy(&run->block_done);
    pthread_mutex_destroy(&run->lock);
    *run = (feed_run){.store = NULL};
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
    if (code) return code;
    code = feed_run_open(&run, err);
    if (!code) code = find_input(&run, err);
    if (!code) code = take_all(&run, err);
    *ret_report = run.report;
    feed_run_close(&run);
    return code;
}

/* --- in two steps --- */

static tb_code parse_run(feed_run *run, tb_error *err)
{
    tb_code code = feed_run_open(run, err);
    if (!code) code = find_input(run, err);
    /* A piece is checked again when it is stored: a conflict may be gone by then. */
    if (code == TB_E_BATCH_CONFLICT && run->options->piece) code = TB_OK;
    if (code || all_known(run)) return code;
    code = run->options->cells ? feed_cells_parse(run, err) : parse_part(run, err);
    if (!code && run->ended == ENDED_FAILED) code = feed_run_failed(run, err);
    run->parsed = true;
    if (!code) code = feed_run_order_events(run, err);
    if (!code) code = feed_run_weigh(run, err);
    return code || !run->lines ? code : feed_run_order(run, err);
}

tb_code feed_parse(tb_store *reader, const feed_body *body, const feed_options *options,
                   feed_run **ret_run, tb_error *err)
{
    feed_run *run = calloc(1, sizeof *run);
    if (!run) return tb_no_memory(err);
    *run = (feed_run){.store = reader, .options = options, .apart = true};
    tb_code code = feed_source_memory(body->bytes, body->len, body->encoding, body->plain_max,
                                      &run->source, err);
    if (code) {
        free(run);
        return code;
    }
    code = parse_run(run, err);
    run->store = NULL;
    run->apart = false;
    for (size_t i = 0; i < run->n_workers; i++)
        feed_worker_trim(&run->workers[i]);
    if (code)
        feed_run_free(run);
    else
        *ret_run = run;
    return code;
}

/* Whether the catalogue, resources of meters and the known segments of the input are unchanged since it was parsed. */
static tb_code still_so(const feed_run *run, bool *ret_so, tb_error *err)
{
    const feed_options *options = run->options;
    const tb_directory *d = run->directory;
    tb_known *list = NULL;
    size_t n = 0;
    tb_code code = d ? tb_store_directory(run->store, d->hosts != NULL, &d, err) : TB_OK;
    *ret_so = !code && d == run->directory;
    if (*ret_so) code = feed_metered_unchanged(run, ret_so, err);
    if (*ret_so && run->begins) code = feed_known_options_unchanged(run->store, &run->log_options, ret_so, err);
    if (code || !*ret_so || options->piece) return code;
    code = options->batch
               ? tb_store_known_by_name(run->store, options->batch, &list, &n, err)
               : tb_store_known_by_head(run->store, options->kind, run->head, &list, &n, err);
    if (!code) *ret_so = feed_known_sum(list, n) == run->seen;
    free(list);
    return code;
}

tb_code feed_take(feed_run *run, tb_store *store, feed_report *ret_report, bool *ret_stale,
                  tb_error *err)
{
    bool so = false;
    run->store = store;
    tb_code code = still_so(run, &so, err);
    *ret_stale = !code && !so;
    if (code || !so) return code;
    if (run->options->piece) code = find_piece(run, run->options->piece, err);
    const size_t copies = feed_run_copies(run);
    tb_store_bound_work(store, copies, copies == FEED_COPIES_ALONE);
    if (!code) code = take_all(run, err);
    tb_store_bound_work(store, 0, false);
    *ret_report = run->report;
    return code;
}

const uint32_t *feed_run_granted(const feed_run *run, size_t *ret_n)
{
    *ret_n = run->n_granted;
    return run->granted;
}

/* A group has its counters, its slot, countries, and a place in the order of all or in a pack (feed_run_order). */
size_t feed_run_cells(const feed_run *run)
{
    size_t cells = 0;
    for (size_t i = 0; i < run->n_workers; i++)
        cells += tb_rollup_groups(run->workers[i].rollup);
    return cells;
}

size_t feed_run_bytes(const feed_run *run)
{
    size_t bytes = feed_run_cells(run) * 288;
    for (size_t i = 0; i < run->n_workers; i++) {
        const feed_worker *worker = &run->workers[i];
        bytes += worker->rejects.text_len + worker->events.bytes.len + feed_meters_bytes(&worker->meters) +
                 (worker->logs ? feed_logs_bytes(worker->logs) : 0);
    }
    return bytes + run->n_events * (sizeof *run->events + sizeof(feed_event));
}

size_t feed_run_weight(const feed_run *run)
{
    return run->weight;
}

void feed_run_free(feed_run *run)
{
    if (!run) return;
    feed_run_close(run);
    free(run);
}

tb_code feed_memory(tb_store *store, const feed_body *body, const feed_options *options,
                    feed_report *ret_report, tb_error *err)
{
    feed_run *run;
    bool stale;
    *ret_report = (feed_report){0};
    tb_code code = feed_parse(store, body, options, &run, err);
    if (code) return code;
    code = feed_take(run, store, ret_report, &stale, err);
    feed_run_free(run);
    return code;
}
