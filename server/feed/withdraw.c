/* Three passes over an input that can seek (a stream is copied to a file without a name first): its
 * first line, by which its segments are found; its hashes at their ends, which say which of them are
 * these bytes; then the bytes of each of these, parsed and subtracted.
 *
 * A segment is withdrawn where its hash agrees and it begins at byte 0 or where another one ends that
 * agrees. A refused last line without its end is one, beside the line that it became. Segments of a
 * named batch are withdrawn by its name alone. */
#include "feed/withdraw.h"

#include <stdlib.h>
#include <string.h>

#include "feed/chain.h"
#include "feed/worker.h"
#include "tollbook/withdraw.h"

#define BLOCK_BYTES  ((size_t)256 << 10)
#define MAX_GROUPS   ((size_t)1500000)

typedef struct withdrawing {
    tb_store *store;
    feed_options options; /* with the edges that regions have, and the clock of the running segment */
    const feed_who *who;
    feed_source *source;
    uint64_t seed;
    tb_hash128 head;
    bool empty; /* the input has not a byte */
    tb_taken *taken; /* ascending by start and length */
    feed_link *links; /* of each */
    size_t n;
    uint64_t at; /* where the source stands; UINT64_MAX: somewhere else */
    feed_worker worker;
    feed_keeper keeper;
    uint64_t lines, rejected, ambiguous, heads; /* of the running segment */
    feed_withdrawn *report;
} withdrawing;

/* --- what is known --- */

static bool same_hash(tb_hash128 a, tb_hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

static tb_code read_taken(withdrawing *w, tb_error *err)
{
    tb_code code =
        tb_store_taken(w->store, w->options.kind, w->head, w->options.batch, &w->taken, &w->n, err);
    if (code) return code;
    w->links = calloc(w->n + 1, sizeof *w->links);
    if (!w->links) return tb_no_memory(err);
    for (size_t i = 0; i < w->n; i++)
        w->links[i].known = w->taken[i].known;
    return TB_OK;
}

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* The input's first line, and the columns that a log may name there. */
static tb_code read_beginning(withdrawing *w, tb_error *err)
{
    feed_reader reader;
    const bool log = w->options.kind == TB_BATCH_LOG;
    tb_code code = feed_reader_init(&reader, w->source, w->seed, BLOCK_BYTES, true, err);
    if (code) return code;
    reader.heads = log && tb_log_layout_heads(&w->options.layout);
    code = feed_reader_head(&reader, &w->head, &w->empty, err);
    const tb_text beginning = feed_reader_beginning(&reader);
    if (!code && log)
        code = tb_log_layout_head(&w->options.layout, beginning.data, beginning.len, err);
    if (!code && !feed_source_seekable(w->source))
        code = feed_reader_spool(&reader, temporary_folder(), err);
    feed_reader_release(&reader);
    w->at = UINT64_MAX;
    return code;
}

/* Of the input's segments those of named batches stay, unless the name was given. */
static bool is_chosen(const withdrawing *w, size_t i)
{
    return w->links[i].same && (w->options.batch || !w->taken[i].name[0]);
}

static void count_named(withdrawing *w)
{
    feed_withdrawn *report = w->report;
    for (size_t i = 0; i < w->n; i++)
        if (w->links[i].same && !is_chosen(w, i) && !report->named++)
            memcpy(report->batch, w->taken[i].name, sizeof report->batch);
}

/* A named batch is withdrawn as a whole: its segments must all be this input's. */
static tb_code check_batch(const withdrawing *w, tb_error *err)
{
    for (size_t i = 0; w->options.batch && i < w->n; i++)
        if (!w->links[i].same || w->links[i].known.kind != w->options.kind)
            return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                           "The batch id \"%.80s\" is known with other bytes. Nothing was "
                           "withdrawn.",
                           w->options.batch);
    return TB_OK;
}

static tb_code find_segments(withdrawing *w, tb_error *err)
{
    tb_code code = read_beginning(w, err);
    if (code || (w->empty && !w->options.batch)) return code;
    code = read_taken(w, err);
    if (!code && w->n) code = feed_chain_find(w->source, w->seed, w->links, w->n, err);
    if (!code) count_named(w);
    return code ? code : check_batch(w, err);
}

/* The segment that the piece names: its bytes are what the sender says they are, and what they come to is
 * compared. */
static tb_code find_piece(withdrawing *w, const feed_piece *piece, tb_error *err)
{
    w->head = piece->head;
    tb_code code = read_taken(w, err);
    for (size_t i = 0; !code && i < w->n; i++) {
        const tb_known *known = &w->links[i].known;
        w->links[i].same = known->start == piece->start && known->length == piece->length &&
                           known->kind == w->options.kind && same_hash(known->hash, piece->hash);
    }
    if (!code) count_named(w);
    return code;
}

/* --- a segment --- */

/* What was parsed so far, subtracted. */
static tb_code flush(withdrawing *w, tb_error *err)
{
    tb_rollup *parts[1] = {w->worker.rollup};
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 1, NULL);
    if (!cursor) return tb_no_memory(err);
    tb_code code = tb_store_withdraw_usage(w->store, cursor, &w->report->maxima, err);
    tb_rollup_cursor_free(cursor);
    w->report->events += w->worker.events.n;
    if (!code && w->worker.logs) code = feed_logs_pack(w->worker.logs, err);
    if (!code && w->worker.logs)
        code = feed_logs_withdraw(w->worker.logs, w->store, &w->report->kept_lines, err);
    feed_worker_clear(&w->worker);
    return code;
}

static bool stopped(const withdrawing *w)
{
    const atomic_bool *stop = w->options.stop;
    return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

static void show_progress(const withdrawing *w, const feed_reader *reader)
{
    const feed_progress progress = {.lines = w->report->lines + w->lines,
                                    .bytes = reader->at,
                                    .read = feed_source_stored_read(w->source),
                                    .total_read = feed_source_stored_size(w->source)};
    if (w->options.progress) w->options.progress(w->options.progress_ctx, &progress);
}

static tb_code parse_block(withdrawing *w, tb_error *err)
{
    feed_worker *worker = &w->worker;
    tb_code code = feed_worker_parse(worker, &w->options, err);
    worker->number++;
    w->lines += worker->lines;
    w->rejected += worker->n_rejects;
    w->ambiguous += worker->n_ambiguous;
    w->heads += worker->n_heads;
    const bool full = feed_worker_full(worker) || (worker->logs && feed_logs_full(worker->logs));
    return !code && full ? flush(w, err) : code;
}

static tb_code parse_lines(withdrawing *w, feed_reader *reader, tb_error *err)
{
    feed_turn turn = FEED_TURN_BLOCK;
    tb_code code = TB_OK;
    while (!code && turn != FEED_TURN_END) {
        if (stopped(w))
            return tb_fail(err, TB_E_STOPPED, NULL, "Interrupted. Nothing was withdrawn.");
        code = feed_reader_next(reader, &w->worker.block, &turn, err);
        if (!code && turn == FEED_TURN_BLOCK) code = parse_block(w, err);
        if (!code) show_progress(w, reader);
    }
    return code ? code : flush(w, err);
}

/* The bytes of a segment, as an input of their own. A piece is it already. */
static tb_code parse_segment(withdrawing *w, const feed_link *link, tb_error *err)
{
    feed_reader reader;
    const tb_known *known = &link->known;
    tb_code code = TB_OK;
    if (!w->options.piece && w->at != known->start)
        code = feed_source_seek(w->source, known->start, err);
    if (!code) code = feed_reader_init(&reader, w->source, w->seed, BLOCK_BYTES, true, err);
    if (code) return code;
    if (!w->options.piece) {
        feed_source_limit(w->source, known->length);
        reader.at = known->start;
        reader.last = link->before;
        code = feed_reader_skip_line_end(&reader, err);
    }
    if (!code) code = parse_lines(w, &reader, err);
    feed_reader_release(&reader);
    feed_source_limit(w->source, UINT64_MAX);
    w->at = known->length;
    return code;
}

static tb_code withdraw_segment(withdrawing *w, size_t i, tb_error *err)
{
    w->lines = w->rejected = w->ambiguous = w->heads = 0;
    w->options.layout.now_ms = w->taken[i].added_us / 1000;
    tb_code code = parse_segment(w, &w->links[i], err);
    if (code) return code;
    const tb_withdrawal done = {.segment = w->taken[i].id,
                                .kind = w->options.kind,
                                .source = w->options.source,
                                .accepted = w->lines - w->rejected,
                                .rejected = w->rejected,
                                .ambiguous = w->ambiguous,
                                .heads = w->heads,
                                .now_us = w->options.now_us};
    code = tb_store_withdraw_segment(w->store, &done, err);
    w->report->segments++;
    w->report->lines += w->lines;
    w->report->rejected += w->rejected;
    w->report->accepted += w->lines - w->rejected;
    return code;
}

/* --- the whole --- */

/* After the last one: the chains are looked at, and the audit log says what was done. */
static tb_code end_withdrawal(const withdrawing *w, tb_error *err)
{
    int64_t ids[TB_WITHDRAWN_LISTED];
    size_t listed = 0;
    for (size_t i = 0; i < w->n && listed < TB_WITHDRAWN_LISTED; i++)
        if (is_chosen(w, i)) ids[listed++] = w->taken[i].id;
    const tb_withdrawn done = {.kind = w->options.kind,
                               .source = w->options.source,
                               .batch = w->options.batch,
                               .lines = w->report->lines,
                               .segments = ids,
                               .n_segments = (size_t)w->report->segments,
                               .now_us = w->options.now_us,
                               .key = w->who->key,
                               .origin = w->who->origin};
    return tb_store_withdraw_end(w->store, &done, err);
}

/* A log's lines are read with what the catalogue says now. */
static tb_code use_directory(withdrawing *w, tb_error *err)
{
    tb_log_layout *layout = &w->options.layout;
    const tb_directory *d;
    if (w->options.kind != TB_BATCH_LOG) return TB_OK;
    const bool hosts = layout->format == TB_FORMAT_COLUMNS && !layout->zone;
    tb_code code = tb_store_directory(w->store, hosts, &d, err);
    if (code) return code;
    layout->edges = d->edges;
    layout->n_edges = d->n_edges;
    if (hosts) layout->hosts = d->hosts;
    feed_keeper_init(&w->keeper, d->logged, &w->options, 1);
    return TB_OK;
}

static tb_code withdraw_all(withdrawing *w, tb_error *err)
{
    const feed_piece *piece = w->options.piece;
    w->options.stop_on_error = false;
    w->seed = feed_hash_seed(w->options.kind, &w->options.layout);
    tb_code code = use_directory(w, err);
    if (!code)
        code = feed_worker_init(&w->worker, w->options.max_groups ? w->options.max_groups : MAX_GROUPS,
                                w->keeper.zones ? &w->keeper : NULL, err);
    if (!code) code = piece ? find_piece(w, piece, err) : find_segments(w, err);
    for (size_t i = 0; !code && i < w->n; i++)
        if (is_chosen(w, i)) code = withdraw_segment(w, i, err);
    if (code || !w->report->segments) return code;
    return end_withdrawal(w, err);
}

static tb_code run_withdraw(withdrawing *w, tb_error *err)
{
    tb_code code = withdraw_all(w, err);
    feed_worker_release(&w->worker);
    free(w->taken);
    free(w->links);
    feed_source_close(w->source);
    if (code) *w->report = (feed_withdrawn){0};
    return code;
}

tb_code feed_withdraw_file(tb_store *store, const char *path, const feed_options *options,
                           const feed_who *who, feed_withdrawn *ret_withdrawn, tb_error *err)
{
    withdrawing w = {.store = store, .options = *options, .who = who, .report = ret_withdrawn};
    *ret_withdrawn = (feed_withdrawn){0};
    tb_code code = feed_source_open(path, options->stop, &w.source, err);
    if (code) return code;
    code = tb_store_begin(store, err);
    if (code) {
        feed_source_close(w.source);
        return code;
    }
    code = run_withdraw(&w, err);
    if (!code && ret_withdrawn->segments) {
        code = tb_store_commit(store, err);
        if (!code) tb_store_checkpoint(store, false);
        if (!code) return TB_OK;
    }
    tb_store_rollback(store);
    return code;
}

tb_code feed_withdraw_memory(tb_store *store, const feed_body *body, const feed_options *options,
                             const feed_who *who, feed_withdrawn *ret_withdrawn, tb_error *err)
{
    withdrawing w = {.store = store, .options = *options, .who = who, .report = ret_withdrawn};
    *ret_withdrawn = (feed_withdrawn){0};
    tb_code code = feed_source_memory(body->bytes, body->len, body->encoding, body->plain_max,
                                      &w.source, err);
    return code ? code : run_withdraw(&w, err);
}
