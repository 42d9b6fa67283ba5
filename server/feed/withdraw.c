/* Three passes over an input that can seek (a stream is copied to a file without a name first): its
 * first line, by which its segments are found; its hashes at their ends, which say which of them are
 * these bytes; then the bytes of each of these, parsed and subtracted.
 *
 * A body over HTTP is parsed beside the writer, in a reader's snapshot; the writer subtracts what it came
 * to. Where somebody changed meanwhile what it was parsed by, or it does not fit in memory, all of it is
 * done by the writer.
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
#define KEPT_MAX     ((size_t)384 << 20) /* of what was parsed: as much as so many groups take */
#define KEPT_EACH    ((size_t)64 << 10)  /* of pages that a rollup has begun */
#define KEPT_MOST    256 /* segments: a log that came in more is left to the writer */

/* What the lines of a segment come to. */
typedef struct sums {
    uint64_t lines, rejected, ambiguous, heads, events;
} sums;

/* A segment that was parsed and is not subtracted yet. */
typedef struct parsed {
    size_t at; /* in taken */
    tb_rollup *rollup;
    sums sums;
} parsed;

struct feed_withdrawing {
    tb_store *store;
    feed_options options; /* with the edges that regions have, and the clock of the running segment */
    const tb_directory *directory; /* that it was parsed by, retained */
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
    bool apart; /* there is no transaction yet: what is parsed is kept */
    bool full;  /* more than may be kept: it is left to the writer */
    parsed *parsed;
    size_t n_parsed, parsed_bytes; /* bytes: of memory, about */
    sums sums; /* of the running segment */
    feed_withdrawn *report;
    feed_withdrawn unread; /* of the parsing */
};
typedef struct feed_withdrawing withdrawing;

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

static tb_code subtract(const withdrawing *w, tb_rollup *rollup, tb_error *err)
{
    tb_rollup *parts[1] = {rollup};
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 1, NULL);
    if (!cursor) return tb_no_memory(err);
    tb_code code = tb_store_withdraw_usage(w->store, cursor, &w->report->maxima, err);
    tb_rollup_cursor_free(cursor);
    return code;
}

/* Of all segments together, where they fit: each call looks through the zone's hours. */
static tb_code subtract_logs(const withdrawing *w, tb_error *err)
{
    feed_logs *logs = w->worker.logs;
    return logs ? feed_logs_withdraw(logs, w->store, &w->report->kept_lines, err) : TB_OK;
}

/* What was parsed so far is subtracted, or stays with the worker. */
static tb_code flush(withdrawing *w, tb_error *err)
{
    feed_worker *worker = &w->worker;
    w->sums.events += worker->events.n;
    feed_events_clear(&worker->events);
    if (w->apart) return TB_OK;
    tb_code code = subtract(w, worker->rollup, err);
    if (!code && worker->logs && feed_logs_full(worker->logs)) code = subtract_logs(w, err);
    tb_rollup_clear(worker->rollup);
    feed_rejects_clear(&worker->rejects);
    return code;
}

static bool stopped(const withdrawing *w)
{
    const atomic_bool *stop = w->options.stop;
    return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

static void show_progress(const withdrawing *w, const feed_reader *reader)
{
    const feed_progress progress = {.lines = w->report->lines + w->sums.lines,
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
    w->sums.lines += worker->lines;
    w->sums.rejected += worker->n_rejects;
    w->sums.ambiguous += worker->n_ambiguous;
    w->sums.heads += worker->n_heads;
    const bool full = feed_worker_full(worker) || (worker->logs && feed_logs_full(worker->logs));
    w->full |= full && w->apart;
    return !code && full && !w->apart ? flush(w, err) : code;
}

static tb_code parse_lines(withdrawing *w, feed_reader *reader, tb_error *err)
{
    feed_turn turn = FEED_TURN_BLOCK;
    tb_code code = TB_OK;
    while (!code && turn != FEED_TURN_END && !w->full) {
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

static tb_code parse_taken(withdrawing *w, size_t i, tb_error *err)
{
    w->sums = (sums){0};
    w->options.layout.now_ms = w->taken[i].added_us / 1000;
    return parse_segment(w, &w->links[i], err);
}

/* Its lines are subtracted. */
static tb_code end_segment(const withdrawing *w, size_t i, const sums *of, tb_error *err)
{
    feed_withdrawn *report = w->report;
    const tb_withdrawal done = {.segment = w->taken[i].id,
                                .kind = w->options.kind,
                                .source = w->options.source,
                                .accepted = of->lines - of->rejected,
                                .rejected = of->rejected,
                                .ambiguous = of->ambiguous,
                                .heads = of->heads,
                                .now_us = w->options.now_us};
    report->segments++;
    report->lines += of->lines;
    report->rejected += of->rejected;
    report->accepted += of->lines - of->rejected;
    report->events += of->events;
    return tb_store_withdraw_segment(w->store, &done, err);
}

static tb_code withdraw_segment(withdrawing *w, size_t i, tb_error *err)
{
    tb_code code = parse_taken(w, i, err);
    return code ? code : end_segment(w, i, &w->sums, err);
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
    const tb_directory *d = w->options.directory;
    if (w->options.kind != TB_BATCH_LOG) return TB_OK;
    const bool hosts = layout->format == TB_FORMAT_COLUMNS && !layout->zone;
    tb_code code = d ? TB_OK : tb_store_directory(w->store, hosts, &d, err);
    if (code) return code;
    w->directory = tb_directory_retain(d);
    layout->edges = d->edges;
    layout->n_edges = d->n_edges;
    if (hosts) layout->hosts = d->hosts;
    feed_keeper_init(&w->keeper, d->logged, &w->options, 1);
    return TB_OK;
}

static tb_code find_all(withdrawing *w, tb_error *err)
{
    const feed_piece *piece = w->options.piece;
    w->options.stop_on_error = false;
    w->seed = feed_hash_seed(w->options.kind, &w->options.layout);
    tb_code code = use_directory(w, err);
    if (!code)
        code = feed_worker_init(&w->worker,
                                tb_rollup_new(w->options.max_groups ? w->options.max_groups : MAX_GROUPS, NULL),
                                w->keeper.zones ? &w->keeper : NULL, err);
    return code ? code : piece ? find_piece(w, piece, err) : find_segments(w, err);
}

static tb_code withdraw_all(withdrawing *w, tb_error *err)
{
    tb_code code = find_all(w, err);
    for (size_t i = 0; !code && i < w->n; i++)
        if (is_chosen(w, i)) code = withdraw_segment(w, i, err);
    if (!code && w->worker.logs) code = feed_logs_pack(w->worker.logs, err);
    if (!code) code = subtract_logs(w, err);
    return code || !w->report->segments ? code : end_withdrawal(w, err);
}

static void release_all(withdrawing *w)
{
    for (size_t i = 0; i < w->n_parsed; i++)
        tb_rollup_free(w->parsed[i].rollup);
    free(w->parsed);
    w->parsed = NULL;
    w->n_parsed = 0;
    feed_worker_release(&w->worker);
    free(w->taken);
    free(w->links);
    feed_source_close(w->source);
    tb_directory_release(w->directory);
}

static tb_code run_withdraw(withdrawing *w, tb_error *err)
{
    tb_code code = withdraw_all(w, err);
    release_all(w);
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

/* --- in two steps --- */

static tb_code open_body(withdrawing *w, const feed_body *body, tb_error *err)
{
    return feed_source_memory(body->bytes, body->len, body->encoding, body->plain_max, &w->source,
                              err);
}

/* Keeps what the segment's lines come to, and gives the worker an empty rollup. */
static tb_code keep_parsed(withdrawing *w, size_t i, tb_error *err)
{
    tb_rollup *empty =
        tb_rollup_new(w->options.max_groups ? w->options.max_groups : MAX_GROUPS, NULL);
    if (!empty) return tb_no_memory(err);
    w->parsed[w->n_parsed++] = (parsed){i, w->worker.rollup, w->sums};
    w->parsed_bytes += KEPT_EACH + tb_rollup_bytes(w->worker.rollup);
    w->worker.rollup = empty;
    w->full |= w->parsed_bytes > KEPT_MAX;
    return TB_OK;
}

/* Only what is to be subtracted waits for the writer; nothing where he does it all. */
static tb_code end_parsing(withdrawing *w, tb_error *err)
{
    feed_logs *logs = w->full ? NULL : w->worker.logs;
    tb_code code = logs ? feed_logs_seal(logs, err) : TB_OK;
    if (code) return code;
    if (logs) w->worker.logs = NULL;
    feed_worker_release(&w->worker);
    w->worker.logs = logs;
    feed_source_close(w->source);
    w->source = NULL;
    for (; w->full && w->n_parsed; w->n_parsed--)
        tb_rollup_free(w->parsed[w->n_parsed - 1].rollup);
    if (w->full) w->parsed_bytes = 0;
    return TB_OK;
}

static size_t count_chosen(const withdrawing *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += is_chosen(w, i);
    return n;
}

static tb_code parse_all(withdrawing *w, const feed_body *body, tb_error *err)
{
    w->report = &w->unread;
    tb_code code = open_body(w, body, err);
    if (!code) code = find_all(w, err);
    if (!code) w->full = count_chosen(w) > KEPT_MOST;
    if (!code && !(w->parsed = calloc(KEPT_MOST, sizeof *w->parsed))) code = tb_no_memory(err);
    for (size_t i = 0; !code && !w->full && i < w->n; i++) {
        if (!is_chosen(w, i)) continue;
        code = parse_taken(w, i, err);
        if (!code && !w->full) code = keep_parsed(w, i, err);
    }
    return code ? code : end_parsing(w, err);
}

tb_code feed_withdraw_parse(tb_store *reader, const feed_body *body, const feed_options *options,
                            feed_withdrawing **ret_withdrawing, tb_error *err)
{
    withdrawing *w = calloc(1, sizeof *w);
    if (!w) return tb_no_memory(err);
    *w = (withdrawing){.store = reader, .options = *options, .apart = true};
    const tb_code code = parse_all(w, body, err);
    w->store = NULL;
    w->apart = false;
    if (code) feed_withdraw_free(w);
    else *ret_withdrawing = w;
    return code;
}

/* Whether the catalogue, and the segments that are known, are what they were when it was parsed. */
static tb_code still_so(const withdrawing *w, bool *ret_so, tb_error *err)
{
    const tb_directory *d = w->directory;
    tb_taken *taken = NULL;
    size_t n = 0;
    tb_code code = d ? tb_store_directory(w->store, d->hosts != NULL, &d, err) : TB_OK;
    if (!code && (!w->empty || w->options.batch))
        code = tb_store_taken(w->store, w->options.kind, w->head, w->options.batch, &taken, &n, err);
    *ret_so = !code && d == w->directory && n == w->n;
    for (size_t i = 0; *ret_so && i < n; i++)
        *ret_so = taken[i].id == w->taken[i].id;
    free(taken);
    return code;
}

/* All of it, by the writer. */
static tb_code begin_again(withdrawing *w, const feed_body *body, tb_error *err)
{
    const feed_options options = w->options;
    release_all(w);
    *w = (withdrawing){.store = w->store, .options = options, .who = w->who, .report = w->report};
    w->options.directory = NULL;
    tb_code code = open_body(w, body, err);
    return code ? code : withdraw_all(w, err);
}

static tb_code subtract_all(withdrawing *w, tb_error *err)
{
    tb_code code = TB_OK;
    count_named(w);
    for (size_t i = 0; !code && i < w->n_parsed; i++) {
        const parsed *p = &w->parsed[i];
        code = subtract(w, p->rollup, err);
        if (!code) code = end_segment(w, p->at, &p->sums, err);
    }
    if (!code) code = subtract_logs(w, err);
    return code || !w->report->segments ? code : end_withdrawal(w, err);
}

tb_code feed_withdraw_take(feed_withdrawing *w, const feed_body *body, tb_store *store,
                           const feed_who *who, feed_withdrawn *ret_withdrawn, tb_error *err)
{
    bool so = false;
    w->store = store;
    w->who = who;
    w->report = ret_withdrawn;
    *ret_withdrawn = (feed_withdrawn){0};
    tb_code code = w->full ? TB_OK : still_so(w, &so, err);
    if (!code) code = so ? subtract_all(w, err) : begin_again(w, body, err);
    if (code) *ret_withdrawn = (feed_withdrawn){0};
    return code;
}

bool feed_withdraw_folds(const feed_withdrawing *w, tb_fold_walk *ret_walk)
{
    *ret_walk = (tb_fold_walk){.logs = w->full || (w->worker.logs && feed_logs_any(w->worker.logs))};
    return w->full || w->n_parsed > 0;
}

size_t feed_withdraw_bytes(const feed_withdrawing *w)
{
    const feed_logs *logs = w->worker.logs;
    return w->parsed_bytes + w->n * (sizeof *w->taken + sizeof *w->links) +
           (logs ? feed_logs_bytes(logs) : 0);
}

void feed_withdraw_free(feed_withdrawing *w)
{
    if (!w) return;
    release_all(w);
    free(w);
}
