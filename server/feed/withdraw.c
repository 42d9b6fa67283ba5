/* Three passes over an input that can seek (a stream is copied to a file without a name first): its
 * first line, by which its segments are found; its hashes at their ends, which say which of them are
 * these bytes; then the bytes of each of these, parsed and subtracted.
 *
 * A body over HTTP is parsed beside the writer, in a reader's snapshot; the writer subtracts what it came
 * to. That is done in rounds of some segments, the last ones first, each a commit of its own, so the writer is not
 * held for long, and what is left is a known prefix. Where somebody changed meanwhile what a round was parsed by, or
 * one segment alone does not fit in memory, the writer parses it.
 *
 * Of a round: chosen[from..left) are its segments; those behind were withdrawn, those before are still to go.
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
#define ROUND_MOST   64  /* segments of a round */
#define ROUND_BYTES  ((uint64_t)64 << 20) /* and of their lines, if it is more than one */

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
    size_t *chosen; /* of taken, what is withdrawn, ascending */
    size_t n_chosen, from, left;
    int64_t entry; /* of the audit log, from the round before */
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

/* Whether the sender cut its piece into the segments that it says. */
static bool is_several(const withdrawing *w)
{
    return w->options.piece && w->options.piece->n_rungs > 0;
}

/* Where the piece's i-th segment ends. */
static tb_rung end_of(const feed_piece *piece, size_t i)
{
    return i < piece->n_rungs ? piece->rungs[i] : (tb_rung){piece->length, piece->hash};
}

static tb_code append(tb_taken **list, size_t *n, const tb_taken *more, size_t n_more, tb_error *err)
{
    tb_taken *grown = realloc(*list, (*n + n_more + 1) * sizeof *grown);
    if (!grown) return tb_no_memory(err);
    if (n_more) memcpy(grown + *n, more, n_more * sizeof *grown);
    *list = grown;
    *n += n_more;
    return TB_OK;
}

/* The segments at the places that the piece names. */
static tb_code list_piece(const withdrawing *w, tb_taken **ret_taken, size_t *ret_n, tb_error *err)
{
    const feed_piece *piece = w->options.piece;
    tb_segment_place place = {w->options.kind, piece->head, 0, piece->start};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i <= piece->n_rungs; i++) {
        tb_taken *here = NULL;
        size_t n = 0;
        place.start = place.length;
        place.length = end_of(piece, i).length;
        code = tb_store_taken_at(w->store, &place, &here, &n, err);
        if (!code) code = append(ret_taken, ret_n, here, n, err);
        free(here);
    }
    return code;
}

/* What is known of the input. It costs what the input's segments are, of a piece what the piece's are. */
static tb_code list_taken(const withdrawing *w, tb_taken **ret_taken, size_t *ret_n, tb_error *err)
{
    *ret_taken = NULL;
    *ret_n = 0;
    return w->options.piece ? list_piece(w, ret_taken, ret_n, err)
                            : tb_store_taken(w->store, w->options.kind, w->head, w->options.batch, ret_taken, ret_n,
                                             err);
}

static tb_code read_taken(withdrawing *w, tb_error *err)
{
    tb_code code = list_taken(w, &w->taken, &w->n, err);
    if (code) return code;
    w->links = calloc(w->n + 1, sizeof *w->links);
    w->chosen = calloc(w->n + 1, sizeof *w->chosen);
    if (!w->links || !w->chosen) return tb_no_memory(err);
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
                           "The batch id \"%.80s\" is known with other bytes, or read in another format. Nothing was "
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
    return code ? code : check_batch(w, err);
}

static bool is_of_piece(const withdrawing *w, const tb_taken *taken)
{
    const feed_piece *piece = w->options.piece;
    uint64_t start = piece->start;
    bool same = false;
    for (size_t i = 0; i <= piece->n_rungs && !same; i++) {
        const tb_rung end = end_of(piece, i);
        same = taken->known.start == start && taken->known.length == end.length &&
               same_hash(taken->known.hash, end.hash);
        start = end.length;
    }
    return same && (!w->options.batch || strcmp(taken->name, w->options.batch) == 0);
}

/* The segments that the piece names: its bytes are what the sender says they are, and what they come to is
 * compared. Of several each begins behind a line end. */
static tb_code find_piece(withdrawing *w, tb_error *err)
{
    w->head = w->options.piece->head;
    w->at = UINT64_MAX;
    tb_code code = read_taken(w, err);
    for (size_t i = 0; !code && i < w->n; i++) {
        w->links[i].same = is_of_piece(w, &w->taken[i]);
        w->links[i].before = w->links[i].known.start ? '\n' : 0;
    }
    return code;
}

static void choose_segments(withdrawing *w)
{
    w->n_chosen = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_chosen(w, i)) w->chosen[w->n_chosen++] = i;
    w->from = 0;
    w->left = w->n_chosen;
}

/* The next ones to go, `most` of them at most. */
static void next_round(withdrawing *w, size_t most)
{
    uint64_t bytes = 0;
    for (w->from = w->left; w->from > 0 && w->left - w->from < most; w->from--) {
        const tb_known *known = &w->taken[w->chosen[w->from - 1]].known;
        bytes += known->length - known->start;
        if (w->from < w->left && bytes > ROUND_BYTES) break;
    }
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

/* The bytes of a segment, as an input of their own. A piece of one is it already. */
static tb_code parse_segment(withdrawing *w, const feed_link *link, tb_error *err)
{
    feed_reader reader;
    const tb_known *known = &link->known;
    const bool alone = w->options.piece && !is_several(w);
    const uint64_t base = w->options.piece ? w->options.piece->start : 0;
    tb_code code = TB_OK;
    if (!alone && w->at != known->start)
        code = feed_source_seek(w->source, known->start - base, err);
    if (!code) code = feed_reader_init(&reader, w->source, w->seed, BLOCK_BYTES, true, err);
    if (code) return code;
    if (!alone) {
        feed_source_limit(w->source, known->length - base);
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

/* After a round's last one: the chains are looked at, and the audit log says what was done. */
static tb_code end_withdrawal(withdrawing *w, tb_error *err)
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
                               .lines = w->report->lines,
                               .segments = ids,
                               .n_segments = n,
                               .now_us = w->options.now_us,
                               .key = w->who->key,
                               .origin = w->who->origin,
                               .entry = &w->entry};
    tb_code code = tb_store_withdraw_end(w->store, &done, err);
    free(ids);
    return code;
}

/* The round is over. */
static tb_code end_round(withdrawing *w, tb_error *err)
{
    tb_code code = w->left > w->from ? end_withdrawal(w, err) : TB_OK;
    w->left = w->from;
    w->report->more = w->left > 0;
    w->report->entry = w->entry;
    if (!code && w->left == 0) count_named(w);
    return code;
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
    if (w->directory != d) {
        tb_directory_retain(d);
        tb_directory_release(w->directory);
        w->directory = w->options.directory = d;
    }
    layout->edges = d->edges;
    layout->n_edges = d->n_edges;
    if (hosts) layout->hosts = d->hosts;
    feed_keeper_init(&w->keeper, d->ever_logged, &w->options, 1);
    w->keeper.whole = true;
    return TB_OK;
}

static tb_rollup *new_rollup(const withdrawing *w)
{
    return tb_rollup_new(w->options.max_groups ? w->options.max_groups : MAX_GROUPS, NULL);
}

static tb_code begin_parsing(withdrawing *w, tb_error *err)
{
    tb_code code = use_directory(w, err);
    if (code) return code;
    return feed_worker_init(&w->worker, new_rollup(w), w->keeper.zones ? &w->keeper : NULL, err);
}

static tb_code find_all(withdrawing *w, tb_error *err)
{
    w->options.stop_on_error = false;
    w->seed = feed_hash_seed(w->options.kind, &w->options.layout);
    tb_code code = begin_parsing(w, err);
    if (!code) code = w->options.piece ? find_piece(w, err) : find_segments(w, err);
    if (!code) choose_segments(w);
    return code;
}

/* A round, or with `most` SIZE_MAX all of it, in the transaction. */
static tb_code withdraw_round(withdrawing *w, size_t most, tb_error *err)
{
    tb_code code = find_all(w, err);
    if (!code && most < SIZE_MAX) next_round(w, most);
    for (size_t i = w->from; !code && i < w->left; i++)
        code = withdraw_segment(w, w->chosen[i], err);
    if (!code && w->worker.logs) code = feed_logs_pack(w->worker.logs, err);
    if (!code) code = subtract_logs(w, err);
    return code ? code : end_round(w, err);
}

static void drop_parsed(withdrawing *w)
{
    for (size_t i = 0; i < w->n_parsed; i++)
        tb_rollup_free(w->parsed[i].rollup);
    w->n_parsed = w->parsed_bytes = 0;
}

static void release_all(withdrawing *w)
{
    drop_parsed(w);
    free(w->parsed);
    w->parsed = NULL;
    feed_worker_release(&w->worker);
    free(w->taken);
    free(w->chosen);
    free(w->links);
    feed_source_close(w->source);
    tb_directory_release(w->directory);
}

static tb_code run_withdraw(withdrawing *w, tb_error *err)
{
    tb_code code = withdraw_round(w, SIZE_MAX, err);
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
    tb_rollup *empty = new_rollup(w);
    if (!empty) return tb_no_memory(err);
    w->parsed[w->n_parsed++] = (parsed){i, w->worker.rollup, w->sums};
    w->parsed_bytes += KEPT_EACH + tb_rollup_bytes(w->worker.rollup);
    w->worker.rollup = empty;
    w->full |= w->parsed_bytes > KEPT_MAX;
    return TB_OK;
}

/* Room for what a round keeps. */
static tb_code make_round(withdrawing *w, tb_error *err)
{
    if (!w->parsed) w->parsed = calloc(ROUND_MOST, sizeof *w->parsed);
    return w->parsed ? TB_OK : tb_no_memory(err);
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
    if (w->full) drop_parsed(w);
    return TB_OK;
}

static tb_code parse_chosen(withdrawing *w, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = w->from; !code && !w->full && i < w->left; i++) {
        code = parse_taken(w, w->chosen[i], err);
        if (!code && !w->full) code = keep_parsed(w, w->chosen[i], err);
    }
    return code;
}

/* Fewer segments where they do not fit in memory. One that does not is left to the writer. */
static tb_code parse_round(withdrawing *w, tb_error *err)
{
    size_t most = ROUND_MOST;
    tb_code code;
    do {
        w->full = false;
        drop_parsed(w);
        tb_rollup_clear(w->worker.rollup);
        feed_rejects_clear(&w->worker.rejects);
        if (w->worker.logs) feed_logs_clear(w->worker.logs);
        next_round(w, most);
        code = parse_chosen(w, err);
        most = (w->left - w->from) / 2;
    } while (!code && w->full && most > 0);
    return code ? code : end_parsing(w, err);
}

tb_code feed_withdraw_parse(tb_store *reader, const feed_body *body, const feed_options *options,
                            feed_withdrawing **ret_withdrawing, tb_error *err)
{
    withdrawing *w = calloc(1, sizeof *w);
    if (!w) return tb_no_memory(err);
    *w = (withdrawing){.store = reader, .options = *options, .apart = true, .report = &w->unread};
    tb_code code = open_body(w, body, err);
    if (!code) code = find_all(w, err);
    if (!code) code = make_round(w, err);
    if (!code) code = parse_round(w, err);
    w->store = NULL;
    w->apart = false;
    if (code) feed_withdraw_free(w);
    else *ret_withdrawing = w;
    return code;
}

tb_code feed_withdraw_next(feed_withdrawing *w, const feed_body *body, tb_store *reader, tb_error *err)
{
    w->store = reader;
    w->apart = true;
    w->report = &w->unread;
    w->at = UINT64_MAX;
    feed_worker_release(&w->worker);
    tb_code code = open_body(w, body, err);
    if (!code) code = begin_parsing(w, err);
    if (!code) code = make_round(w, err);
    if (!code) code = parse_round(w, err);
    w->store = NULL;
    w->apart = false;
    return code;
}

/* Whether those of the round are known as before. What came since behind them is noticed at the end. */
static tb_code round_is_known(const withdrawing *w, bool *ret_so, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = w->from; !code && *ret_so && i < w->left; i++) {
        const tb_taken *one = &w->taken[w->chosen[i]];
        const tb_segment_place place = {w->options.kind, w->head, one->known.start, one->known.length};
        tb_taken *here = NULL;
        size_t n = 0;
        code = tb_store_taken_at(w->store, &place, &here, &n, err);
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

/* Whether the catalogue, and the segments that are known, are what they were when it was parsed. */
static tb_code still_so(const withdrawing *w, bool *ret_so, tb_error *err)
{
    const tb_directory *d = w->directory;
    tb_code code = d ? tb_store_directory(w->store, d->hosts != NULL, &d, err) : TB_OK;
    *ret_so = d == w->directory;
    if (code || (w->empty && !w->options.batch)) return code;
    return w->n <= ROUND_MOST && w->left == w->n_chosen ? all_is_known(w, ret_so, err)
                                                        : round_is_known(w, ret_so, err);
}

/* The round, by the writer; one segment where more did not fit in memory. */
static tb_code begin_again(withdrawing *w, const feed_body *body, tb_error *err)
{
    const feed_options options = w->options;
    const size_t most = w->full ? 1 : ROUND_MOST;
    const int64_t entry = w->entry;
    release_all(w);
    *w = (withdrawing){.store = w->store, .options = options, .who = w->who, .report = w->report, .entry = entry};
    w->options.directory = NULL;
    tb_code code = open_body(w, body, err);
    if (!code) code = withdraw_round(w, most, err);
    feed_source_close(w->source);
    w->source = NULL;
    return code;
}

static tb_code subtract_all(withdrawing *w, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < w->n_parsed; i++) {
        const parsed *p = &w->parsed[i];
        code = subtract(w, p->rollup, err);
        if (!code) code = end_segment(w, p->at, &p->sums, err);
    }
    if (!code) code = subtract_logs(w, err);
    return code ? code : end_round(w, err);
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
    drop_parsed(w);
    if (code) *ret_withdrawn = (feed_withdrawn){0};
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
    size_t bytes = 0;
    const bool logs = w->worker.logs && feed_logs_blocks(w->worker.logs, &bytes);
    *ret_walk = (tb_compact_walk){.logs = w->full || logs};
    return w->full || w->n_parsed > 0;
}

size_t feed_withdraw_bytes(const feed_withdrawing *w)
{
    const feed_logs *logs = w->worker.logs;
    return w->parsed_bytes + w->n * (sizeof *w->taken + sizeof *w->links + sizeof *w->chosen) +
           (logs ? feed_logs_bytes(logs) : 0);
}

void feed_withdraw_free(feed_withdrawing *w)
{
    if (!w) return;
    release_all(w);
    free(w);
}
