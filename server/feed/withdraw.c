/* Undo: the feed's own run (run.h) over the segments of an input that are known, with the sign reversed.
 *
 * Which segments are withdrawn: those that belong to the input (chain.h), or for a piece those that it names. A refused last
 * line without a line end is a separate segment, beside that of the complete line. Segments of a named batch are withdrawn
 * by its name only.
 *
 * Each segment is parsed with the clock of the time when it was stored, and counted separately, to compare it with its row.
 * The kept lines of all segments of a round are packed together.
 *
 * A file is one round and one transaction. A body over HTTP is parsed outside of the transaction, in a reader's snapshot, and
 * withdrawn in rounds of some segments from the end. Each round is one commit, which holds the writer for a bounded time
 * and leaves a known prefix. The writer parses a round itself only if the catalogue or the segments have changed since it was
 * parsed, or if a single segment does not fit in memory.
 *
 * chosen[from..left) are the segments of the round; later ones are withdrawn already, earlier ones follow. */
#include "feed/withdraw.h"

#include <stdlib.h>
#include <string.h>

#include "feed/chain.h"
#include "feed/run.h"

#define ROUND_MOST  64 /* segments of a round */
#define ROUND_BYTES ((uint64_t)64 << 20) /* of their lines, where there are several */
#define PARSED_MAX  ((size_t)384 << 20)  /* bytes of a round's counters in memory */
#define PARSED_EACH ((size_t)64 << 10)   /* of them, pages that each rollup has begun */

/* The totals of a segment's lines. */
typedef struct counts {
    uint64_t lines, rejected, ambiguous, heads;
} counts;

/* A segment that was parsed beside the writer. */
typedef struct parsed {
    tb_rollup **rollups; /* one of each worker */
    tb_meter_batch **meters; /* likewise; NULL: it read no usage lines of meters */
    counts counts;
} parsed;

struct feed_withdrawing {
    feed_run run;
    feed_options options;
    const feed_who *who;
    tb_hash128 head;
    bool empty;       /* the input has no byte */
    tb_taken *taken;  /* the known segments of the input, ascending by start and length */
    feed_link *links; /* of each */
    size_t n;
    size_t *chosen; /* which of `taken` are withdrawn, ascending */
    size_t n_chosen, from, left;
    parsed *parsed; /* of chosen[from..), ascending; ROUND_MOST */
    size_t n_parsed, parsed_bytes;
    uint64_t at;   /* the source's position; UINT64_MAX: unknown */
    bool full;     /* the first segment of the round does not fit in memory: the writer parses it */
    int64_t entry; /* of the audit log, from the round before */
    feed_withdrawn round;
};
typedef struct feed_withdrawing withdrawing;

/* --- which segments --- */

/* Those at the places that the piece names, with the hashes that it names. */
static tb_code list_piece(const withdrawing *w, tb_taken **ret_taken, size_t *ret_n, tb_error *err)
{
    const feed_piece *piece = w->options.piece;
    const char *batch = w->options.batch;
    tb_segment_place place = {w->options.kind, piece->head, 0, piece->start};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i <= piece->n_rungs; i++) {
        const tb_rung end = i < piece->n_rungs ? piece->rungs[i] : (tb_rung){piece->length, piece->hash};
        tb_taken *here = NULL;
        size_t n = 0;
        place.start = place.length;
        place.length = end.length;
        code = tb_store_taken_at(w->run.store, &place, &here, &n, err);
        tb_taken *more = code ? NULL : realloc(*ret_taken, (*ret_n + n + 1) * sizeof *more);
        if (!code && !more) code = tb_no_memory(err);
        if (more) *ret_taken = more;
        for (size_t k = 0; !code && k < n; k++)
            if (feed_hash_same(here[k].known.hash, end.hash) && (!batch || strcmp(here[k].name, batch) == 0))
                more[(*ret_n)++] = here[k];
        free(here);
    }
    return code;
}

/* Of a whole input, all segments that begin with its first line, or all of the batch. */
static tb_code list_taken(const withdrawing *w, tb_taken **ret_taken, size_t *ret_n, tb_error *err)
{
    *ret_taken = NULL;
    *ret_n = 0;
    if (w->options.piece) return list_piece(w, ret_taken, ret_n, err);
    if (w->empty && !w->options.batch) return TB_OK;
    return tb_store_taken(w->run.store, w->options.kind, w->head, w->options.batch, ret_taken, ret_n, err);
}

static bool is_chosen(const withdrawing *w, size_t i)
{
    return w->links[i].same && (w->options.batch || !w->taken[i].name[0]);
}

static tb_code choose_segments(withdrawing *w, tb_error *err)
{
    tb_code code = list_taken(w, &w->taken, &w->n, err);
    if (code) return code;
    w->links = calloc(w->n + 1, sizeof *w->links);
    w->chosen = calloc(w->n + 1, sizeof *w->chosen);
    if (!w->links || !w->chosen) return tb_no_memory(err);
    for (size_t i = 0; i < w->n; i++)
        w->links[i].known = w->taken[i].known;
    if (w->n && !w->options.piece)
        code = feed_chain_find(w->run.source, w->run.reader.seed, w->links, w->n, err);
    if (code) return code;
    for (size_t i = 0; i < w->n; i++) {
        feed_link *link = &w->links[i];
        if (w->options.piece) { /* the sender names the bytes; their totals are compared */
            link->same = true;
            link->before = link->known.start ? '\n' : 0;
        }
        if (w->options.batch && (!link->same || link->known.kind != w->options.kind))
            return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                           "The batch id \"%.80s\" is known with other bytes, or read in another format. Nothing was "
                           "withdrawn.",
                           w->options.batch);
        if (is_chosen(w, i)) w->chosen[w->n_chosen++] = i;
    }
    w->from = w->left = w->n_chosen;
    return TB_OK;
}

/* The next segments from the end, `most` of them at most. */
static void next_round(withdrawing *w, size_t most)
{
    uint64_t bytes = 0;
    for (w->from = w->left; w->from > 0 && w->left - w->from < most; w->from--) {
        const tb_known *known = &w->taken[w->chosen[w->from - 1]].known;
        bytes += known->length - known->start;
        if (w->from < w->left && bytes > ROUND_BYTES && most < SIZE_MAX) break;
    }
}

/* --- subtracting --- */

/* meters: one of each worker, NULL where it has none; segment: the one that they are of. */
static tb_code subtract(withdrawing *w, tb_rollup *const *rollups, tb_meter_batch *const *meters, int64_t segment,
                        tb_error *err)
{
    tb_meter_usage parts[FEED_THREADS_MAX];
    size_t n = 0;
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(rollups, w->run.n_workers, NULL);
    if (!cursor) return tb_no_memory(err);
    tb_code code = tb_store_withdraw_usage(w->run.store, cursor, &w->round.maxima, err);
    tb_rollup_cursor_free(cursor);
    for (size_t i = 0; i < w->run.n_workers; i++) {
        if (meters[i]) parts[n] = tb_meter_batch_usage(meters[i]);
        n += meters[i] && parts[n].n_keys;
    }
    return code || !n ? code : tb_store_withdraw_meters(w->run.store, parts, n, segment, err);
}

/* The totals that the workers have parsed for the segment. */
static tb_code subtract_parsed(withdrawing *w, tb_error *err)
{
    tb_rollup *rollups[FEED_THREADS_MAX];
    tb_meter_batch *meters[FEED_THREADS_MAX];
    for (size_t i = 0; i < w->run.n_workers; i++) {
        rollups[i] = w->run.workers[i].rollup;
        meters[i] = w->run.workers[i].meters.batch;
    }
    tb_code code = subtract(w, rollups, meters, w->run.undone_segment, err);
    for (size_t i = 0; i < w->run.n_workers; i++) {
        tb_rollup_clear(rollups[i]);
        if (meters[i]) tb_meter_batch_clear(meters[i]);
    }
    return code;
}

/* After its last line: the segment's row is compared and marked. */
static tb_code end_segment(withdrawing *w, size_t i, const counts *of, tb_error *err)
{
    const tb_withdrawal done = {.segment = w->taken[i].id,
                                .kind = w->options.kind,
                                .source = w->options.source,
                                .accepted = of->lines - of->rejected,
                                .rejected = of->rejected,
                                .ambiguous = of->ambiguous,
                                .heads = of->heads,
                                .now_us = w->options.now_us};
    w->round.segments++;
    w->round.lines += of->lines;
    w->round.rejected += of->rejected;
    w->round.accepted += done.accepted;
    return tb_store_withdraw_segment(w->run.store, &done, err);
}

/* --- parsing --- */

/* Starts a run over the input, and reads its beginning. */
static tb_code open_run(withdrawing *w, tb_store *store, feed_source *source, bool apart, tb_error *err)
{
    feed_run *run = &w->run;
    const feed_piece *piece = w->options.piece;
    *run = (feed_run){.store = store, .source = source, .options = &w->options, .apart = apart, .undo = &w->round};
    w->round = (feed_withdrawn){0};
    w->options.stop_on_error = w->options.bounded = false;
    w->options.take_partial_line = true;
    w->options.segment_bytes = UINT64_MAX;
    tb_code code = feed_run_open(run, err);
    if (piece) w->head = piece->head;
    if (code || piece) return code;
    tb_log_layout *layout = w->options.kind == TB_BATCH_LOG ? &run->own_options.layout : NULL;
    return feed_chain_begin(&run->reader, layout, !feed_source_seekable(source), &w->head, &w->empty, err);
}

/* Places the run's reader at the segment. A piece that is one segment has no more bytes than that. */
static tb_code open_segment(withdrawing *w, size_t i, tb_error *err)
{
    feed_run *run = &w->run;
    feed_reader *reader = &run->reader;
    const feed_link *link = &w->links[i];
    const tb_known *known = &link->known;
    const feed_piece *piece = w->options.piece;
    const uint64_t base = piece ? piece->start : 0, seed = reader->seed;
    const size_t block = reader->block_bytes;
    feed_source_limit(run->source, UINT64_MAX);
    tb_code code = w->at == known->start ? TB_OK : feed_source_seek(run->source, known->start - base, err);
    feed_reader_release(reader);
    if (!code) code = feed_reader_init(reader, run->source, seed, block, true, err);
    if (code) return code;
    if (!piece || piece->n_rungs) feed_source_limit(run->source, known->length - base);
    reader->at = run->flushed_at = known->start;
    reader->last = link->before;
    run->own_options.layout.now_ms = w->taken[i].added_us / 1000;
    run->lines = run->refused = run->taken_ambiguous = run->taken_heads = run->n_counts = 0;
    for (size_t k = 0; k < run->n_workers; k++) {
        feed_rejects_clear(&run->workers[k].rejects);
        feed_meters_forget(&run->workers[k].meters);
    }
    run->undone_segment = w->taken[i].id;
    run->undone_samples = w->taken[i].samples;
    feed_metered_clear(&run->metered);
    w->at = known->length;
    return feed_reader_skip_line_end(reader, err);
}

/* Parses the segment. In a transaction its usage is subtracted; else w->full says that it does not fit in memory. */
static tb_code parse_segment(withdrawing *w, size_t i, counts *ret, tb_error *err)
{
    feed_run *run = &w->run;
    tb_code code = open_segment(w, i, err);
    for (bool more = !code; more; more = !code && !w->full && run->ended != ENDED_INPUT) {
        feed_run_workers(run);
        if (run->ended == ENDED_FAILED) code = feed_run_failed(run, err);
        else if (run->ended == ENDED_STOPPED)
            code = tb_fail(err, TB_E_STOPPED, NULL, "Interrupted. Nothing was withdrawn.");
        else if (run->ended == ENDED_FULL && run->apart) w->full = true;
        for (size_t k = 0; k < run->n_workers; k++) { /* events stay in the store */
            w->round.events += run->workers[k].events.n;
            feed_events_clear(&run->workers[k].events);
        }
        if (!code && !run->apart && run->ended != ENDED_BEFORE_TAIL) code = subtract_parsed(w, err);
    }
    *ret = (counts){run->lines, run->refused, run->taken_ambiguous, run->taken_heads};
    return code;
}

/* Keeps the parsed usage of a segment, and gives the workers empty rollups. */
static tb_code keep_parsed(withdrawing *w, const counts *of, tb_error *err)
{
    feed_run *run = &w->run;
    tb_rollup **rollups = calloc(run->n_workers, sizeof(tb_rollup *));
    tb_meter_batch **meters = calloc(run->n_workers, sizeof(tb_meter_batch *));
    if (!rollups || !meters) {
        free(rollups);
        free(meters);
        return tb_no_memory(err);
    }
    w->parsed[w->n_parsed++] = (parsed){rollups, meters, *of};
    for (size_t i = 0; i < run->n_workers; i++) {
        tb_rollup *empty = feed_run_rollup(run);
        if (!empty) return tb_no_memory(err);
        rollups[i] = run->workers[i].rollup;
        run->workers[i].rollup = empty;
        w->parsed_bytes += PARSED_EACH + tb_rollup_bytes(rollups[i]);
        meters[i] = run->workers[i].meters.batch; /* the worker makes another one when it needs it */
        run->workers[i].meters.batch = NULL;
        if (meters[i]) w->parsed_bytes += PARSED_EACH + tb_meter_batch_bytes(meters[i]);
    }
    w->full = w->parsed_bytes > PARSED_MAX;
    return TB_OK;
}

static void drop_parsed(withdrawing *w)
{
    for (size_t i = 0; i < w->n_parsed; i++) {
        for (size_t k = 0; k < w->run.n_workers; k++) {
            tb_rollup_free(w->parsed[i].rollups[k]);
            tb_meter_batch_free(w->parsed[i].meters[k]);
        }
        free(w->parsed[i].rollups);
        free(w->parsed[i].meters);
    }
    w->n_parsed = w->parsed_bytes = 0;
}

/* Half as many segments where they do not fit in memory. */
static tb_code parse_round(withdrawing *w, size_t most, tb_error *err)
{
    tb_code code = TB_OK;
    if (!w->parsed) w->parsed = calloc(ROUND_MOST, sizeof *w->parsed);
    if (!w->parsed) return tb_no_memory(err);
    do {
        drop_parsed(w);
        feed_run_clear(&w->run);
        w->round = (feed_withdrawn){0};
        w->at = UINT64_MAX;
        w->full = false;
        next_round(w, most);
        for (size_t i = w->from; !code && !w->full && i < w->left; i++) {
            counts of;
            code = parse_segment(w, w->chosen[i], &of, err);
            if (code || w->full) break;
            code = w->run.apart ? keep_parsed(w, &of, err) : end_segment(w, w->chosen[i], &of, err);
        }
        most = (w->left - w->from) / 2;
    } while (!code && w->full && most > 0);
    return code;
}

/* --- in the transaction --- */

/* After the round's last segment: checks what follows the segments, and writes the audit log. */
static tb_code record_round(withdrawing *w, tb_error *err)
{
    const size_t n = w->left - w->from;
    int64_t *ids = calloc(n + 1, sizeof *ids);
    if (!ids) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        ids[i] = w->taken[w->chosen[w->from + i]].id;
    if (!w->entry) w->entry = w->who->entry;
    const tb_withdrawn done = {.kind = w->options.kind,
                               .source = w->options.source,
                               .batch = w->options.batch,
                               .head = w->head,
                               .lines = w->round.lines,
                               .segments = ids,
                               .n_segments = n,
                               .now_us = w->options.now_us,
                               .key = w->who->key,
                               .origin = w->who->origin,
                               .entry = &w->entry};
    tb_code code = tb_store_withdraw_end(w->run.store, &done, err);
    free(ids);
    return code;
}

/* Subtracts the usage that was parsed outside of the transaction, and ends the round. */
static tb_code subtract_round(withdrawing *w, tb_error *err)
{
    feed_withdrawn *round = &w->round;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < w->n_parsed; i++) {
        const size_t one = w->chosen[w->from + i];
        code = subtract(w, w->parsed[i].rollups, w->parsed[i].meters, w->taken[one].id, err);
        if (!code) code = end_segment(w, one, &w->parsed[i].counts, err);
    }
    for (size_t i = 0; !code && i < w->run.n_workers; i++) {
        feed_logs *logs = w->run.workers[i].logs;
        if (logs) code = feed_logs_pack(logs, err);
        if (logs && !code) code = feed_logs_withdraw(logs, w->run.store, &round->kept_lines, err);
    }
    if (!code && w->left > w->from) code = record_round(w, err);
    w->left = w->from;
    round->more = w->left > 0;
    round->entry = w->entry;
    for (size_t i = 0; !code && !round->more && i < w->n; i++)
        if (w->links[i].same && !is_chosen(w, i) && !round->named++)
            memcpy(round->batch, w->taken[i].name, sizeof round->batch);
    return code;
}

/* Closes the run, and drops its parsed usage. */
static void close_run(withdrawing *w)
{
    drop_parsed(w);
    feed_run_close(&w->run);
}

static void forget_segments(withdrawing *w)
{
    free(w->taken);
    free(w->links);
    free(w->chosen);
    w->taken = NULL;
    w->links = NULL;
    w->chosen = NULL;
    w->n = w->n_chosen = w->from = w->left = 0;
}

tb_code feed_withdraw_file(tb_store *store, const char *path, const feed_options *options,
                           const feed_who *who, feed_withdrawn *ret_withdrawn, tb_error *err)
{
    withdrawing w = {.options = *options, .who = who};
    feed_source *source;
    *ret_withdrawn = (feed_withdrawn){0};
    tb_code code = feed_source_open(path, options->stop, &source, err);
    if (code) return code;
    code = tb_store_begin(store, err);
    if (code) {
        feed_source_close(source);
        return code;
    }
    code = open_run(&w, store, source, false, err);
    if (!code) code = choose_segments(&w, err);
    if (!code) code = parse_round(&w, SIZE_MAX, err);
    if (!code) code = subtract_round(&w, err);
    if (!code) *ret_withdrawn = w.round;
    close_run(&w);
    forget_segments(&w);
    free(w.parsed);
    if (!code && ret_withdrawn->segments) {
        code = tb_store_commit(store, err);
        if (!code) tb_store_checkpoint(store, false);
        if (!code) return TB_OK;
    }
    tb_store_rollback(store);
    return code;
}

/* --- in two steps --- */

static tb_code open_body(withdrawing *w, const feed_body *body, tb_store *store, bool apart, tb_error *err)
{
    feed_source *source;
    tb_code code = feed_source_memory(body->bytes, body->len, body->encoding, body->plain_max, &source, err);
    return code ? code : open_run(w, store, source, apart, err);
}

/* Parses the next round in the reader's snapshot, and frees what the writer does not need. */
static tb_code parse_apart(withdrawing *w, tb_error *err)
{
    feed_run *run = &w->run;
    tb_code code = parse_round(w, ROUND_MOST, err);
    if (w->full) {
        drop_parsed(w);
        feed_run_clear(run);
    }
    for (size_t i = 0; i < run->n_workers; i++) {
        feed_worker *worker = &run->workers[i];
        if (!code && worker->logs) code = feed_logs_seal(worker->logs, err);
        feed_worker_trim(worker);
        feed_rejects_release(&worker->rejects);
        tb_rollup_clear(worker->rollup);
    }
    feed_source_close(run->source);
    run->source = NULL;
    run->store = NULL;
    run->apart = false;
    return code;
}

tb_code feed_withdraw_parse(tb_store *reader, const feed_body *body, const feed_options *options,
                            feed_withdrawing **ret_withdrawing, tb_error *err)
{
    withdrawing *w = calloc(1, sizeof *w);
    if (!w) return tb_no_memory(err);
    w->options = *options;
    tb_code code = open_body(w, body, reader, true, err);
    if (!code) code = choose_segments(w, err);
    if (!code) code = parse_apart(w, err);
    if (code) feed_withdraw_free(w);
    else *ret_withdrawing = w;
    return code;
}

tb_code feed_withdraw_next(feed_withdrawing *w, const feed_body *body, tb_store *reader, tb_error *err)
{
    const tb_directory *directory = w->run.directory;
    tb_directory_retain(directory);
    close_run(w);
    w->options.directory = directory;
    tb_code code = open_body(w, body, reader, true, err);
    tb_directory_release(directory);
    return code ? code : parse_apart(w, err);
}

/* Whether the segments of the round are still known. Segments that were added after them make record_round fail. */
static tb_code round_is_known(const withdrawing *w, bool *ret_so, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = w->from; !code && *ret_so && i < w->left; i++) {
        const tb_taken *one = &w->taken[w->chosen[i]];
        const tb_segment_place place = {w->options.kind, w->head, one->known.start, one->known.length};
        tb_taken *here = NULL;
        size_t n = 0;
        code = tb_store_taken_at(w->run.store, &place, &here, &n, err);
        *ret_so = false;
        for (size_t k = 0; !code && k < n; k++)
            *ret_so |= here[k].id == one->id;
        free(here);
    }
    return code;
}

static tb_code all_is_known(const withdrawing *w, bool *ret_so, tb_error *err)
{
    tb_taken *taken = NULL;
    size_t n = 0;
    tb_code code = list_taken(w, &taken, &n, err);
    *ret_so &= n == w->n;
    for (size_t i = 0; *ret_so && i < n; i++)
        *ret_so = taken[i].id == w->taken[i].id;
    free(taken);
    return code;
}

/* Whether the catalogue and the known segments are unchanged since the round was parsed. */
static tb_code still_so(const withdrawing *w, bool *ret_so, tb_error *err)
{
    const tb_directory *d = w->run.directory;
    tb_code code = d ? tb_store_directory(w->run.store, d->hosts != NULL, &d, err) : TB_OK;
    *ret_so = d == w->run.directory;
    d = w->run.metered.directory;
    if (!code && d) code = tb_store_directory(w->run.store, d->hosts != NULL, &d, err);
    *ret_so &= d == w->run.metered.directory;
    if (code || !*ret_so) return code;
    return w->n <= ROUND_MOST && w->left == w->n_chosen ? all_is_known(w, ret_so, err)
                                                        : round_is_known(w, ret_so, err);
}

/* Parses the round in the transaction: of one segment where more did not fit in memory. */
static tb_code parse_again(withdrawing *w, const feed_body *body, tb_store *store, tb_error *err)
{
    const size_t most = w->full ? 1 : ROUND_MOST;
    close_run(w);
    forget_segments(w);
    w->options.directory = NULL;
    tb_code code = open_body(w, body, store, false, err);
    if (!code) code = choose_segments(w, err);
    return code ? code : parse_round(w, most, err);
}

tb_code feed_withdraw_take(feed_withdrawing *w, const feed_body *body, tb_store *store,
                           const feed_who *who, feed_withdrawn *ret_withdrawn, tb_error *err)
{
    bool so = false;
    w->run.store = store;
    w->who = who;
    *ret_withdrawn = (feed_withdrawn){0};
    tb_code code = w->full ? TB_OK : still_so(w, &so, err);
    if (!code && !so) code = parse_again(w, body, store, err);
    if (!code) code = subtract_round(w, err);
    if (!code) *ret_withdrawn = w->round;
    return code;
}

void feed_withdrawn_add(feed_withdrawn *sum, const feed_withdrawn *part)
{
    const feed_withdrawn before = *sum;
    *sum = *part;
    sum->segments += before.segments;
    sum->lines += before.lines;
    sum->accepted += before.accepted;
    sum->rejected += before.rejected;
    sum->kept_lines += before.kept_lines;
    sum->events += before.events;
    sum->maxima |= before.maxima;
}

bool feed_withdraw_compacts(const feed_withdrawing *w, tb_compact_walk *ret_walk)
{
    bool logs = w->full;
    for (size_t i = 0, bytes; i < w->run.n_workers; i++)
        logs |= w->run.workers[i].logs && feed_logs_blocks(w->run.workers[i].logs, &bytes);
    *ret_walk = (tb_compact_walk){.logs = logs};
    return w->left > w->from;
}

size_t feed_withdraw_bytes(const feed_withdrawing *w)
{
    return feed_run_bytes(&w->run) + w->parsed_bytes +
           w->n * (sizeof *w->taken + sizeof *w->links + sizeof *w->chosen);
}

void feed_withdraw_free(feed_withdrawing *w)
{
    if (!w) return;
    close_run(w);
    forget_segments(w);
    free(w->parsed);
    free(w);
}
