/* A turn opens the log, checks that it still begins with the bytes that were read, reads one piece, checks again, and
 * gives the piece to the sink.
 *
 * Always true: reader->known is a prefix of the log that the sink has acknowledged, or said to know. After any failure
 * the reader goes back there. A log that no longer begins with these bytes is another one, which is read from its
 * beginning. Its first line, the bytes before the end of what the sink has, and its length show that; they are checked
 * after the piece was read, so that a file truncated during the read cannot mix old and new bytes in one piece. A sink
 * that no longer knows what it acknowledged was restored from a backup: then the log is begun anew, and the sink is
 * asked from its first byte on.
 *
 * A packed log is opened once it has stopped changing, and nothing of it is sent before all of it could be unpacked,
 * because its writer may not have finished it. One that is known to its end is unpacked once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/foreign.h"
#include "follow/log.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define TRIES       16 /* of a piece in one turn: it may be shortened, or conflict with other senders */

bool follow_is_logs(tb_code code)
{
    return code == TB_E_BAD_INPUT || code == TB_E_BAD_LINE || code == TB_E_VALIDATION ||
           code == TB_E_TOO_LARGE || code == TB_E_BATCH_CONFLICT || code == TB_E_OVERFLOW ||
           code == TB_E_WITHDRAWAL || code == TB_E_OTHER_OPTIONS;
}

/* --- begin --- */

static tb_code ask_sink(follow_shared *shared, tb_hash128 head, uint64_t from, follow_known *known, tb_error *err)
{
    *known = (follow_known){0};
    tb_code code = shared->sink->known(shared->sink->ctx, head, from, known, err);
    shared->sink_failed = code && !follow_is_logs(code);
    return code;
}

/* Drops the starts before the end of what the sink has; they ascend. */
static void drop_starts(follow_log *log)
{
    size_t n = 0;
    while (n < log->n_starts && log->starts[n] < log->reader->known.bytes)
        n++;
    log->n_starts -= n;
    if (log->n_starts) memmove(log->starts, log->starts + n, log->n_starts * sizeof *log->starts);
    if (log->n_starts) return;
    free(log->starts);
    log->starts = NULL;
}

static bool later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Takes as the log's proof the known segment that ends where the reader stands. Until the sink takes a piece, the proof
 * of the log that was written last is taken for the newest segment of the sink. */
static void note_proof(follow_log *log, follow_shared *shared, const tb_known *list, size_t n)
{
    const feed_reader *reader = log->reader;
    const tb_hash128 hash = feed_hash_value(reader->mark);
    for (size_t i = 0; i < n; i++) {
        const tb_known *one = &list[i];
        if (one->length != reader->known.bytes || one->hash.high != hash.high || one->hash.low != hash.low) continue;
        log->proof = (follow_proof){log->head, hash, one->start, one->length, one->lines};
    }
    const bool took = shared->last.length && shared->last_changed.tv_sec == 0;
    if (took || log->proof.length == 0 || !later(log->changed, shared->last_changed)) return;
    shared->last = log->proof;
    shared->last_changed = log->changed;
}

static bool stopped(const follow_shared *shared)
{
    return shared->options->stop && atomic_load_explicit(shared->options->stop, memory_order_relaxed);
}

/* Asks the sink for the segments from where the reader stands on, and skips what it knows. */
static tb_code catch_up(follow_log *log, follow_shared *shared, tb_error *err)
{
    follow_known known;
    feed_reader *reader = log->reader;
    tb_code code = ask_sink(shared, log->head, reader->known.bytes, &known, err);
    if (code) return code;
    feed_reader_expect(reader, known.list, known.n); /* the reader owns the list until it is parked */
    feed_reader_expect_rungs(reader, known.rungs, known.n_rungs);
    free(log->starts);
    log->n_starts = 0;
    log->starts = known.n ? malloc(known.n * sizeof *log->starts) : NULL;
    if (known.n && !log->starts) return tb_no_memory(err);
    for (size_t i = 0; i < known.n; i++)
        log->starts[log->n_starts++] = known.list[i].start;
    code = feed_reader_rewind(reader, err);
    if (code == TB_OK) code = feed_reader_skip_known(reader, err);
    if (code) return code;
    log->earlier = reader->earlier;
    log->earlier_bytes = log->earlier ? reader->at + reader->waiting : 0;
    if (log->earlier) code = feed_reader_rewind(reader, err);
    if (code == TB_OK) code = feed_reader_skip_line_end(reader, err);
    if (code == TB_OK) code = follow_log_note_known(log, err);
    if (log->lines == 0) log->known_refused = reader->known.lines > 0 && !reader->known.taken;
    note_proof(log, shared, known.list, known.n);
    drop_starts(log);
    /* If a known log goes on from here and further than this one, it cannot be told yet whether the two are the same:
     * the sink is asked again before more is sent. */
    log->ask = code != TB_OK || log->earlier;
    for (size_t i = 0; i < known.n; i++)
        log->ask |= known.list[i].start == reader->known.bytes &&
                    !feed_source_reaches(reader->source, known.list[i].length);
    return code;
}

/* Opens a reader at the log's beginning, with the hash seed and heads of these options. */
static tb_code open_as(follow_log *log, feed_source *source, feed_log_options as, tb_error *err)
{
    bool empty;
    if (log->reader) feed_reader_release(log->reader);
    else log->reader = malloc(sizeof *log->reader);
    if (!log->reader) return tb_no_memory(err);
    tb_code code = feed_reader_init(log->reader, source, as.seed, BLOCK_BYTES, false, err);
    if (code) {
        free(log->reader);
        log->reader = NULL;
        return code;
    }
    log->reader->heads = as.heads;
    code = feed_reader_rewind(log->reader, err);
    if (!code) code = feed_reader_head(log->reader, &log->head, &empty, err);
    return code;
}

static tb_code known_there(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known, tb_error *err)
{
    return ask_sink(ctx, head, from, ret_known, err);
}

/* Checks whether more of the log is known under other options, and then reads it under those. Such a log is not sent:
 * each log is read in one way from its first line to its last, so that it can be withdrawn. */
static tb_code note_other_options(follow_log *log, follow_shared *shared, feed_source *source, const feed_other_options *other,
                              tb_error *err)
{
    const uint64_t own = log->earlier ? log->earlier_bytes : log->reader->known.bytes;
    log->may_have_other_options = other->likely;
    log->checked_options = true;
    log->other_options = feed_should_yield(other, feed_log_options_of(&shared->options->layout), own);
    feed_log_options_describe(feed_log_options_of(&shared->options->layout), other->as, log->options_text);
    if (!log->other_options) return TB_OK;
    tb_code code = open_as(log, source, other->as, err);
    if (!code) code = catch_up(log, shared, err);
    log->begun &= code == TB_OK;
    return code;
}

/* Begins a log. The sink itself judges the options of a pipe log's beginning. */
static tb_code begin_log(follow_log *log, follow_shared *shared, feed_source *source, tb_error *err)
{
    const feed_log_options own = feed_log_options_of(&shared->options->layout);
    const feed_known_source known_source = {shared, known_there};
    feed_other_options other;
    feed_form form;
    tb_code code = open_as(log, source, own, err);
    if (!code && feed_fits_host(&shared->options->layout, feed_reader_beginning(log->reader), &form)) {
        char warning[FEED_HOST_WARNING], text[FEED_HOST_WARNING + 4];
        feed_fits_warn(form, warning);
        snprintf(text, sizeof text, "%s LOG", warning);
        shared->options->say(shared->options->ctx, log->path, text);
    }
    if (!code && own.seed) { /* catch_up goes on from the beginning, so that is kept */
        code = feed_reader_look(log->reader, FEED_IDENTIFY_WINDOW, err);
        const tb_text beginning = feed_reader_beginning(log->reader);
        shared->piece.len = 0;
        tb_buf_add(&shared->piece, beginning.data, beginning.len);
        if (!code) code = tb_buf_check(&shared->piece, err);
    }
    if (!code) code = catch_up(log, shared, err);
    log->other_options = false;
    if (!code && own.seed && !log->earlier) {
        code = feed_known_options_find_in(&known_source, (tb_text){shared->piece.data, shared->piece.len}, own, &other, err);
        if (!code) code = note_other_options(log, shared, source, &other, err);
    }
    log->begun = code == TB_OK && !stopped(shared);
    return code;
}

/* Before more of a plain file is sent: checks again whether it is known under other options, if too little of it was
 * known to tell, or if it begins like a log that is. The sink sees only the beginning of a pipe log. */
static tb_code recheck_options(follow_log *log, follow_shared *shared, tb_error *err)
{
    char bytes[FEED_IDENTIFY_WINDOW];
    size_t n;
    feed_other_options other;
    const feed_log_options own = feed_log_options_of(&shared->options->layout);
    const feed_known_source known_source = {shared, known_there};
    const feed_known *known = &log->reader->known;
    const bool taken = known->taken || log->lines > log->rejected;
    if (log->packed || log->earlier || log->other_options || log->checked_options || !log->reader->seed) return TB_OK;
    if (known->bytes == 0) return TB_OK;
    const bool enough = known->bytes >= FEED_IDENTIFY_WINDOW || feed_identifies_log(known->bytes, known->lines, taken);
    if (enough && !log->may_have_other_options) return TB_OK;
    tb_code code = follow_log_read(log, 0, bytes, sizeof bytes, &n, err);
    if (!code) code = feed_known_options_find_in(&known_source, (tb_text){bytes, n}, own, &other, err);
    if (!code) code = note_other_options(log, shared, log->reader->source, &other, err);
    /* The window is the same from now on. */
    if (!code && log->reader->known.bytes >= FEED_IDENTIFY_WINDOW) log->may_have_other_options = false;
    return code;
}

/* --- a piece --- */

/* Reads lines until the piece is full or the log ends. */
static tb_code read_lines(follow_log *log, follow_shared *shared, bool *ret_end, tb_error *err)
{
    feed_reader *reader = log->reader;
    feed_block block = {0};
    tb_code code = TB_OK;
    bool cut = false;
    *ret_end = false;
    shared->piece.len = 0;
    while (code == TB_OK && !*ret_end && shared->piece.len < log->piece_max) {
        feed_turn turn;
        code = feed_reader_next(reader, &block, &turn, err);
        if (code) break;
        *ret_end = turn == FEED_TURN_END;
        /* An unterminated last line is a piece of its own: the sink decides whether it counts. */
        if (turn == FEED_TURN_TAIL && shared->piece.len > 0) break;
        if (turn != FEED_TURN_BLOCK) continue;
        cut = block.bytes[block.len - 1] != '\n' && !reader->tail;
        tb_buf_add(&shared->piece, block.bytes, block.len);
        if (cut) tb_buf_str(&shared->piece, "\n"); /* too long a line */
        code = tb_buf_check(&shared->piece, err);
    }
    feed_block_release(&block);
    if (code == TB_OK && !tb_buf_room(&shared->piece, TB_INTAKE_SLACK))
        code = tb_buf_check(&shared->piece, err);
    return code;
}

static void count_piece(follow_log *log, follow_shared *shared, const feed_report *report,
                        uint64_t bytes)
{
    follow_totals *all = &shared->totals;
    all->pieces++;
    all->bytes += bytes;
    all->lines += report->lines;
    all->accepted += report->accepted;
    all->rejected += report->rejected;
    log->shipped += bytes;
    log->lines += report->lines;
    log->rejected += report->rejected;
}

/* Ships the piece that was read, if the log is still the same. */
static tb_code ship(follow_log *log, follow_shared *shared, tb_error *err)
{
    feed_report report;
    feed_reader *reader = log->reader;
    bool same = true;
    tb_code code = log->packed ? TB_OK : follow_log_same(log, &same, err);
    if (code) return code;
    if (!same) return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    if (shared->piece.len == 0) return TB_OK;

    const uint64_t start = reader->known.bytes, lines = reader->known.lines;
    feed_piece piece = {.start = start,
                        .length = reader->at,
                        .lines_before = lines,
                        .head = log->head,
                        .hash = feed_hash_value(reader->hash),
                        .known = -1,
                        .behind = (int64_t)log->n_starts};
    const follow_body body = {log->path, shared->piece.data, shared->piece.len};
    piece.n_rungs = feed_rungs_between(&reader->rungs, start, reader->at, &piece.rungs);
    code = shared->sink->take(shared->sink->ctx, &piece, &body, &report, err);
    shared->sink_failed = code && !follow_is_logs(code);
    if (code) return code;
    count_piece(log, shared, &report, reader->at - start);
    /* A higher limit of the sink is found by trying a longer piece now and then, which may be refused. */
    if (log->piece_max < LOG_PIECE_MAX && shared->piece.len >= log->piece_max && ++log->full >= LOG_LONGER) {
        log->full = 0;
        log->piece_max *= 2;
    }
    char refused[FOLLOW_REFUSED_MAX], warning[FEED_PLACE_WARNING];
    if (follow_refused(&shared->refused, shared->totals.lines, shared->totals.rejected, &report, refused))
        shared->options->say(shared->options->ctx, log->path, refused);
    if (!shared->told_place && feed_place_warn(&report, &shared->options->layout, warning)) {
        shared->told_place = true; /* once: it is the same for all logs */
        shared->options->say(shared->options->ctx, NULL, warning);
    }

    feed_reader_acknowledge(reader, lines + report.lines + report.known_lines);
    follow_log_note(log, body.bytes, reader->at - start == body.len ? body.len : 0);
    shared->last = log->proof = (follow_proof){log->head, piece.hash, start, piece.length, reader->known.lines};
    shared->last_changed = (struct timespec){0};
    drop_starts(log);
    return TB_OK;
}

/* Whether there are lines after what is known. */
static tb_code has_lines(follow_log *log, follow_shared *shared, bool *ret_has, tb_error *err)
{
    bool end;
    tb_code code = read_lines(log, shared, &end, err);
    *ret_has = shared->piece.len > 0;
    return code || !*ret_has ? code : feed_reader_rewind(log->reader, err);
}

/* A log that is known under other options: checks whether all of it is known. One that goes on after too few known
 * bytes may be another log, and is begun anew. */
static tb_code skip_other_options(follow_log *log, follow_shared *shared, bool *ret_end, tb_error *err)
{
    char sentence[200];
    bool more;
    const feed_reader *reader = log->reader;
    tb_code code = has_lines(log, shared, &more, err);
    if (!code && more) code = catch_up(log, shared, err);
    if (!code && more && !log->earlier) code = has_lines(log, shared, &more, err);
    *ret_end = !more || log->earlier;
    if (code || log->earlier) return code;
    const unsigned long long known = (unsigned long long)reader->known.bytes;
    log->later = more && known < FEED_IDENTIFY_BYTES;
    if (log->later) return begin_log(log, shared, reader->source, err);
    if (more)
        return tb_fail(err, TB_E_OTHER_OPTIONS, NULL,
                       "Its first %llu bytes were taken in before, under %s: what follows them is not taken. Take it in "
                       "with the options of then (tollbook ingest), or withdraw the log with them and start again. If it "
                       "is another log that begins alike, take it in with `tollbook ingest --batch ID` and start again.",
                       known, log->options_text);
    if (log->told_other_options) return TB_OK;
    log->told_other_options = true;
    snprintf(sentence, sizeof sentence,
             "Its %llu bytes were taken in before, under %s. They do not count again.", known, log->options_text);
    shared->options->say(shared->options->ctx, log->path, sentence);
    return TB_OK;
}

static tb_code next_piece(follow_log *log, follow_shared *shared, bool *ret_end, tb_error *err)
{
    tb_code code = log->ask ? catch_up(log, shared, err) : TB_OK;
    if (!code) code = recheck_options(log, shared, err);
    log->checked_options = false;
    if (code) return code;
    if (log->earlier) {
        *ret_end = true;
        return TB_OK;
    }
    if (log->other_options) {
        code = skip_other_options(log, shared, ret_end, err);
        log->checked_options = false;
        return code;
    }
    code = read_lines(log, shared, ret_end, err);
    return code ? code : ship(log, shared, err);
}

/* Ships a piece. Skips what another sender has sent, and halves a piece that is too long for the sink. After TRIES a
 * later turn goes on. TB_E_BATCH_CONFLICT: the sink lost data. */
static tb_code try_piece(follow_log *log, follow_shared *shared, bool *ret_end, tb_error *err)
{
    bool conflict = false; /* and where the log stood at the last one */
    uint64_t known_bytes = 0;
    size_t n_starts = 0;
    for (int i = 0; i < TRIES; i++) {
        tb_code code = next_piece(log, shared, ret_end, err);
        if (code == TB_E_TOO_LARGE && log->piece_max > BLOCK_BYTES) {
            log->piece_max /= 2;
            log->full = 0;
        } else if (code == TB_E_BATCH_CONFLICT) {
            shared->totals.conflicts++;
            /* Another sender's piece would have changed what the sink knows. */
            if (conflict && known_bytes == log->reader->known.bytes && n_starts == log->n_starts)
                return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                               "The server does not know any more what it acknowledged of this log: was it restored from "
                               "a backup? The log is read from its beginning, and what is missing is sent.");
            conflict = true;
            known_bytes = log->reader->known.bytes;
            n_starts = log->n_starts;
        } else {
            return code;
        }
        log->ask = true;
        code = feed_reader_rewind(log->reader, err);
        if (code) return code;
    }
    *ret_end = false;
    log->later = true;
    return TB_OK;
}

/* --- turns --- */

/* Begins again with a log that is another one by now. */
static void start_over(follow_log *log, follow_shared *shared, bool *ret_more)
{
    shared->totals.restarts++;
    shared->options->say(shared->options->ctx, log->path,
                       "It was truncated or written anew: it is read from its beginning, and what is known of it "
                       "is passed over.");
    follow_log_restart(log);
    *ret_more = true;
}

/* Closes the source. */
static tb_code turn_plain(follow_log *log, follow_shared *shared, feed_source *source, bool *ret_more, tb_error *err)
{
    bool end = false;
    tb_code code = log->begun ? feed_reader_resume(log->reader, source, err) : begin_log(log, shared, source, err);
    if (code == TB_OK && log->begun) code = feed_reader_skip_line_end(log->reader, err);
    if (code == TB_OK && log->begun) code = try_piece(log, shared, &end, err);
    if (log->reader) {
        if (code) log->reader->at = log->reader->known.bytes;
        log->scanned = code ? 0 : log->reader->at + log->reader->waiting;
        feed_reader_park(log->reader);
    }
    if (!log->begun) follow_log_restart(log);
    feed_source_close(source);
    if (code == TB_E_NOT_FOUND && !shared->sink_failed) {
        start_over(log, shared, ret_more);
        return TB_OK;
    }
    log->fresh = code == TB_OK && log->begun && !end;
    *ret_more = log->fresh && !log->later;
    return code;
}

/* Reads a packed log to its end, to check that it can be unpacked, and goes back. */
static tb_code check_unpacks(feed_reader *reader, tb_error *err)
{
    char bytes[1 << 16];
    size_t n = sizeof bytes;
    bool end;
    tb_code code = feed_reader_at_end(reader, &end, err);
    if (code || end) return code;
    while (code == TB_OK && n == sizeof bytes)
        code = feed_source_read(reader->source, bytes, sizeof bytes, &n, err);
    return code ? code : feed_reader_rewind(reader, err);
}

/* log->source stays open until all of the log is shipped. */
static tb_code turn_packed(follow_log *log, follow_shared *shared, bool *ret_more, tb_error *err)
{
    tb_code code = TB_OK;
    bool damaged = false, end = false;
    if (!log->begun) {
        code = begin_log(log, shared, log->source, err);
        if (code == TB_OK && log->begun && !log->earlier) code = check_unpacks(log->reader, err);
        log->begun = log->begun && !stopped(shared); /* a source that is stopped seems to end */
        damaged = code == TB_E_BAD_INPUT;
    }
    if (code == TB_OK && log->begun) code = try_piece(log, shared, &end, err);
    *ret_more = code == TB_OK && log->begun && !end;
    if (!*ret_more) { /* only this much of its state is still needed */
        const uint64_t earlier_bytes = log->earlier_bytes;
        const follow_proof proof = log->proof;
        follow_log_close(log);
        follow_log_restart(log);
        log->packed = true;
        log->proof = proof;
        log->damaged = damaged;
        log->earlier_bytes = earlier_bytes;
    }
    log->fresh = !end && !damaged;
    return code;
}

/* Whether there is something to read: a whole first line, whose hash is final, or the end of a line that had none. */
static tb_code is_ready(follow_log *log, bool *ret_ready, tb_error *err)
{
    char bytes[1 << 16];
    size_t n = sizeof bytes;
    if (!log->begun) {
        tb_code code = follow_log_read(log, 0, bytes, TB_HEAD, &n, err);
        if (code == TB_OK) code = feed_foreign_check(bytes, n, err);
        if (code == TB_OK) *ret_ready = n == TB_HEAD || (n > 0 && memchr(bytes, '\n', n));
        return code;
    }
    *ret_ready = log->scanned <= log->reader->at || log->earlier;
    while (!*ret_ready && n == sizeof bytes) {
        tb_code code = follow_log_read(log, log->scanned, bytes, sizeof bytes, &n, err);
        if (code) return code;
        *ret_ready = n > 0 && memchr(bytes, '\n', n);
        if (!*ret_ready) log->scanned += n;
    }
    return TB_OK;
}

/* The turn of a log that is open. Its source tells whether it is packed; a packed log is begun in its next turn,
 * because packed logs have their turns one after the other. */
static tb_code turn_open(follow_log *log, follow_shared *shared, bool *ret_more, tb_error *err)
{
    bool ready = true, same = true;
    const bool was_packed = log->packed;
    feed_source *source;
    tb_code code = TB_OK;
    if (log->source) return turn_packed(log, shared, ret_more, err);
    if (!log->packed && log->begun) code = follow_log_same(log, &same, err);
    if (!code && !log->packed && same) code = is_ready(log, &ready, err);
    if (code) return code;
    if (!same) {
        start_over(log, shared, ret_more);
        return TB_OK;
    }
    const atomic_bool *stop = log->begun && !log->packed ? NULL : shared->options->stop;
    code = feed_source_descriptor(log->fd, stop, &source, err);
    if (code) return code;
    if (!log->begun) log->packed = !feed_source_grows(source);
    log->fresh = log->packed;
    if (!log->packed && ready) return turn_plain(log, shared, source, ret_more, err);
    if (log->packed && was_packed) {
        log->source = source;
        return turn_packed(log, shared, ret_more, err);
    }
    feed_source_close(source);
    return TB_OK;
}

tb_code follow_log_turn(follow_log *log, follow_shared *shared, bool *ret_more, tb_error *err)
{
    *ret_more = shared->sink_failed = log->later = false;
    tb_code code = follow_log_open(log, shared, err);
    if (code == TB_OK) code = turn_open(log, shared, ret_more, err);
    if (code == TB_E_BATCH_CONFLICT || (code == TB_E_OTHER_OPTIONS && !log->other_options)) follow_log_restart(log);
    if (code && !log->damaged) log->fresh = true;
    return code;
}
