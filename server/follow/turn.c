/* A turn: the log is opened, it is looked whether it is still what was read, one piece is read, it
 * is looked again, and the piece goes to the sink.
 *
 * Always true: reader->known is a prefix of the log that the sink has acknowledged, or said to
 * know. The reader goes back there after everything that fails. A log that no longer begins with
 * these bytes is another one: it is read from its beginning. That is seen by its first line, by the
 * bytes before what the sink has, and by its length, all of them looked at after the piece was
 * read: a file that is truncated while it is read cannot pass off old bytes and new ones as one
 * piece. A sink that does not know any more what it acknowledged was restored from a backup: then
 * the log is begun anew, and the sink is asked from its first byte on.
 *
 * A packed log is opened once it has stopped changing, and nothing of it is sent before all of it could be unpacked:
 * what its writer has not finished is no log. One that is known to its end is unpacked once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/foreign.h"
#include "follow/log.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define TRIES       16 /* of one turn: shorter pieces, and what others have sent meanwhile */

bool follow_is_logs(tb_code code)
{
    return code == TB_E_BAD_INPUT || code == TB_E_BAD_LINE || code == TB_E_VALIDATION ||
           code == TB_E_TOO_LARGE || code == TB_E_BATCH_CONFLICT || code == TB_E_OVERFLOW ||
           code == TB_E_WITHDRAWAL || code == TB_E_OTHER_OPTIONS;
}

/* --- beginning --- */

/* Whether the first line is there, so that its hash is for good. */
static tb_code has_head(const follow_log *log, bool *ret_has, tb_error *err)
{
    char bytes[TB_HEAD];
    size_t n;
    tb_code code = follow_log_read(log, 0, bytes, sizeof bytes, &n, err);
    if (code == TB_OK) code = feed_foreign_check(bytes, n, err);
    if (code) return code;
    *ret_has = n == sizeof bytes || (n > 0 && memchr(bytes, '\n', n));
    return TB_OK;
}

/* Whether a packed log is all there: it is unpacked to its end, from where the reader stands, and gone back to. */
static tb_code unpack_rest(feed_reader *reader, tb_error *err)
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

static tb_code ask_sink(follow_room *room, tb_hash128 head, uint64_t from, follow_known *known, tb_error *err)
{
    *known = (follow_known){0};
    tb_code code = room->sink->known(room->sink->ctx, head, from, known, err);
    room->sink_failed = code && !follow_is_logs(code);
    return code;
}

static tb_code keep_starts(follow_log *log, const follow_known *known, tb_error *err)
{
    free(log->starts);
    log->n_starts = 0;
    log->starts = known->n ? malloc(known->n * sizeof *log->starts) : NULL;
    if (known->n && !log->starts) return tb_no_memory(err);
    for (size_t i = 0; i < known->n; i++)
        log->starts[log->n_starts++] = known->list[i].start;
    return TB_OK;
}

/* They ascend; those before what the sink has are of no use any more. */
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

/* Of the segments that the sink said it knows, the one that ends where the reader stands. What the sink took
 * last is not known before it took something from here: then it is taken to be of the log that was written last. */
static void prove_known(follow_log *log, follow_room *room, const tb_known *list, size_t n)
{
    const feed_reader *reader = log->reader;
    const tb_hash128 hash = feed_hash_value(reader->mark);
    for (size_t i = 0; i < n; i++) {
        const tb_known *one = &list[i];
        if (one->length != reader->known.bytes || one->hash.high != hash.high || one->hash.low != hash.low) continue;
        log->proof = (follow_proof){log->head, hash, one->start, one->length, one->lines};
    }
    const bool took = room->last.length && room->last_changed.tv_sec == 0;
    if (took || log->proof.length == 0 || !later(log->changed, room->last_changed)) return;
    room->last = log->proof;
    room->last_changed = log->changed;
}

static bool stopped(const follow_room *room)
{
    return room->options->stop && atomic_load_explicit(room->options->stop, memory_order_relaxed);
}

/* Whether a known log goes on from here and further than this one, so that nobody can tell yet whether it is the
 * same: it is asked about again before more is sent. */
static bool goes_further(const feed_reader *reader, const tb_known *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].start == reader->known.bytes && !feed_source_reaches(reader->source, list[i].length)) return true;
    return false;
}

/* Goes on behind what the sink knows, from where it stands. */
static tb_code catch_up(follow_log *log, follow_room *room, tb_error *err)
{
    follow_known known;
    feed_reader *reader = log->reader;
    tb_code code = ask_sink(room, log->head, reader->known.bytes, &known, err);
    if (code) return code;
    code = keep_starts(log, &known, err);
    feed_reader_expect(reader, known.list, known.n); /* the list is there until the reader is parked */
    feed_reader_expect_rungs(reader, known.rungs, known.n_rungs);
    if (code == TB_OK) code = feed_reader_rewind(reader, err);
    if (code == TB_OK) code = feed_reader_skip_known(reader, err);
    if (code) return code;
    log->earlier = reader->earlier;
    log->passed = log->earlier ? reader->at + reader->waiting : 0;
    if (log->earlier) code = feed_reader_rewind(reader, err);
    if (code == TB_OK) code = feed_reader_skip_line_end(reader, err);
    if (code == TB_OK) code = follow_log_note_known(log, err);
    if (log->lines == 0) log->known_refused = reader->known.lines > 0 && !reader->known.taken;
    prove_known(log, room, known.list, known.n);
    drop_starts(log);
    log->ask = code != TB_OK || log->earlier || goes_further(reader, known.list, known.n);
    return code;
}

static void warn_of_host(const follow_log *log, const follow_room *room)
{
    feed_form form;
    char text[FEED_HOST_WARNING], whole[FEED_HOST_WARNING + 4];
    if (!feed_fits_host(&room->options->layout, feed_reader_beginning(log->reader), &form)) return;
    feed_fits_warn(form, text);
    snprintf(whole, sizeof whole, "%s LOG", text);
    room->options->say(room->options->ctx, log->path, whole);
}

/* A reader at the beginning of a log whose source is open. */
static tb_code open_as(follow_log *log, feed_source *source, feed_reading as, tb_error *err)
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

/* Nothing of a log is sent of which more is known under other options: a log is read in one way from its first line to its
 * last, so that it can be withdrawn. */
static tb_code turn_otherwise(follow_log *log, follow_room *room, feed_source *source, const feed_otherwise *other,
                              tb_error *err)
{
    const uint64_t own = log->earlier ? log->passed : log->reader->known.bytes;
    log->likely = other->likely;
    log->looked = true;
    log->otherwise = feed_readings_yield(other, feed_reading_of(&room->options->layout), own);
    feed_reading_another(feed_reading_of(&room->options->layout), other->as, log->another);
    if (!log->otherwise) return TB_OK;
    tb_code code = open_as(log, source, other->as, err);
    if (!code) code = catch_up(log, room, err);
    log->begun &= code == TB_OK;
    return code;
}

static tb_code keep_beginning(follow_log *log, follow_room *room, tb_error *err)
{
    tb_code code = feed_reader_look(log->reader, FEED_READING_WINDOW, err);
    const tb_text text = feed_reader_beginning(log->reader);
    room->piece.len = 0;
    tb_buf_add(&room->piece, text.data, text.len);
    return code ? code : tb_buf_check(&room->piece, err);
}

/* The sink judges the beginning of a pipe log by itself. */
static tb_code begin_log(follow_log *log, follow_room *room, feed_source *source, tb_error *err)
{
    const feed_reading own = feed_reading_of(&room->options->layout);
    const feed_knower knower = {room, known_there};
    feed_otherwise other;
    tb_code code = open_as(log, source, own, err);
    if (!code) warn_of_host(log, room);
    if (!code && own.seed) code = keep_beginning(log, room, err);
    if (!code) code = catch_up(log, room, err);
    log->otherwise = false;
    if (!code && own.seed && !log->earlier) {
        code = feed_readings_look_at(&knower, (tb_text){room->piece.data, room->piece.len}, own, &other, err);
        if (!code) code = turn_otherwise(log, room, source, &other, err);
    }
    log->begun = code == TB_OK && !stopped(room);
    return code;
}

/* Whether a plain file, which is no pipe log, may still turn out to be known under other options: too little of it is known to
 * tell, or it begins like one that is. */
static bool is_unsure(const follow_log *log)
{
    const feed_known *known = &log->reader->known;
    const bool taken = known->taken || log->lines > log->rejected;
    if (log->packed || log->earlier || log->otherwise || log->looked || !log->reader->seed) return false;
    if (known->bytes == 0) return false;
    if (known->bytes >= FEED_READING_WINDOW) return log->likely;
    return log->likely || !feed_reading_tells(known->bytes, known->lines, taken);
}

/* Before more is sent: the sink looks at a log's beginning alone. */
static tb_code look_again(follow_log *log, follow_room *room, tb_error *err)
{
    char bytes[FEED_READING_WINDOW];
    size_t n;
    feed_otherwise other;
    const feed_knower knower = {room, known_there};
    tb_code code = follow_log_read(log, 0, bytes, sizeof bytes, &n, err);
    if (!code) code = feed_readings_look_at(&knower, (tb_text){bytes, n}, feed_reading_of(&room->options->layout), &other, err);
    if (!code) code = turn_otherwise(log, room, log->reader->source, &other, err);
    if (log->reader->known.bytes >= FEED_READING_WINDOW) log->likely = false; /* there is nothing more to see */
    return code;
}

/* --- a piece --- */

/* Lines until the piece is full or there are none. */
static tb_code read_lines(follow_log *log, follow_room *room, bool *ret_end, tb_error *err)
{
    feed_reader *reader = log->reader;
    feed_block block = {0};
    tb_code code = TB_OK;
    bool cut = false;
    *ret_end = false;
    room->piece.len = 0;
    while (code == TB_OK && !*ret_end && room->piece.len < log->piece_max) {
        feed_turn turn;
        code = feed_reader_next(reader, &block, &turn, err);
        if (code) break;
        *ret_end = turn == FEED_TURN_END;
        /* An unterminated last line goes alone, for the sink to judge. */
        if (turn == FEED_TURN_TAIL && room->piece.len > 0) break;
        if (turn != FEED_TURN_BLOCK) continue;
        cut = block.bytes[block.len - 1] != '\n' && !reader->tail;
        tb_buf_add(&room->piece, block.bytes, block.len);
        if (cut) tb_buf_str(&room->piece, "\n"); /* too long a line */
        code = tb_buf_check(&room->piece, err);
    }
    feed_block_release(&block);
    if (code == TB_OK && !tb_buf_room(&room->piece, TB_INTAKE_SLACK))
        code = tb_buf_check(&room->piece, err);
    return code;
}

static void count_piece(follow_log *log, follow_room *room, const feed_report *report,
                        uint64_t bytes)
{
    follow_totals *all = &room->totals;
    all->pieces++;
    all->bytes += bytes;
    all->lines += report->lines;
    all->accepted += report->accepted;
    all->rejected += report->rejected;
    log->shipped += bytes;
    log->lines += report->lines;
    log->rejected += report->rejected;
}

/* A limit that somebody raised is found out now and then, at the price of a body that is refused. */
static void lengthen(follow_log *log, const follow_room *room)
{
    if (log->piece_max >= LOG_PIECE_MAX || room->piece.len < log->piece_max) return;
    if (++log->full < LOG_LONGER) return;
    log->full = 0;
    log->piece_max *= 2;
}

static void say_refused(const follow_log *log, follow_room *room, const feed_report *report)
{
    char text[FOLLOW_REFUSED_MAX];
    const follow_totals *all = &room->totals;
    if (follow_refused(&room->refused, all->lines, all->rejected, report, text))
        room->options->say(room->options->ctx, log->path, text);
}

/* Once: it is so of all logs. */
static void warn_of_place(follow_room *room, const feed_report *report)
{
    char text[FEED_PLACE_WARNING];
    if (room->told_place || !feed_place_warn(report, &room->options->layout, text)) return;
    room->told_place = true;
    room->options->say(room->options->ctx, NULL, text);
}

static tb_code ship(follow_log *log, follow_room *room, tb_error *err)
{
    feed_report report;
    feed_reader *reader = log->reader;
    const uint64_t start = reader->known.bytes, lines = reader->known.lines;
    feed_piece piece = {.start = start,
                        .length = reader->at,
                        .lines_before = lines,
                        .head = log->head,
                        .hash = feed_hash_value(reader->hash),
                        .known = -1,
                        .behind = (int64_t)log->n_starts};
    const follow_body body = {log->path, room->piece.data, room->piece.len};
    piece.n_rungs = feed_rungs_between(&reader->rungs, start, reader->at, &piece.rungs);
    tb_code code = room->sink->take(room->sink->ctx, &piece, &body, &report, err);
    room->sink_failed = code && !follow_is_logs(code);
    if (code) return code;
    count_piece(log, room, &report, reader->at - start);
    lengthen(log, room);
    say_refused(log, room, &report);
    warn_of_place(room, &report);
    feed_reader_acknowledge(reader, lines + report.lines + report.known_lines);
    follow_log_note(log, body.bytes, reader->at - start == body.len ? body.len : 0);
    room->last = log->proof = (follow_proof){log->head, piece.hash, start, piece.length, reader->known.lines};
    room->last_changed = (struct timespec){0};
    drop_starts(log);
    return TB_OK;
}

/* The reader stands behind a piece. */
static tb_code check_and_ship(follow_log *log, follow_room *room, tb_error *err)
{
    bool same = true;
    tb_code code = log->packed ? TB_OK : follow_log_same(log, &same, err);
    if (code) return code;
    if (!same) return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    if (room->piece.len == 0) return TB_OK;
    return ship(log, room, err);
}

/* Whether there are lines behind what is known. */
static tb_code has_lines(follow_log *log, follow_room *room, bool *ret_has, tb_error *err)
{
    bool end;
    tb_code code = read_lines(log, room, &end, err);
    *ret_has = room->piece.len > 0;
    return code || !*ret_has ? code : feed_reader_rewind(log->reader, err);
}

/* Of a log that is known under other options: whether that is all of it. Where it goes on behind too little to tell, it may
 * be another log by now. */
static tb_code pass_otherwise(follow_log *log, follow_room *room, bool *ret_end, tb_error *err)
{
    char sentence[200];
    bool more;
    const feed_reader *reader = log->reader;
    tb_code code = has_lines(log, room, &more, err);
    if (!code && more) code = catch_up(log, room, err);
    if (!code && more && !log->earlier) code = has_lines(log, room, &more, err);
    *ret_end = !more || log->earlier;
    if (code || log->earlier) return code;
    const unsigned long long known = (unsigned long long)reader->known.bytes;
    log->later = more && known < FEED_READING_BYTES;
    if (log->later) return begin_log(log, room, reader->source, err);
    if (more)
        return tb_fail(err, TB_E_OTHER_OPTIONS, NULL,
                       "Its first %llu bytes were taken in before, under %s: what follows them is not taken. Take it in with "
                       "the options of then (tollbook ingest), or withdraw the log with them and start again. If it is another log that begins alike, take it in with "
                       "`tollbook ingest --batch ID` and start again.",
                       known, log->another);
    if (log->told_otherwise) return TB_OK;
    log->told_otherwise = true;
    snprintf(sentence, sizeof sentence,
             "Its %llu bytes were taken in before, under %s. They do not count again.", known, log->another);
    room->options->say(room->options->ctx, log->path, sentence);
    return TB_OK;
}

static tb_code next_piece(follow_log *log, follow_room *room, bool *ret_end, tb_error *err)
{
    tb_code code = log->ask ? catch_up(log, room, err) : TB_OK;
    if (!code && is_unsure(log)) code = look_again(log, room, err);
    log->looked = false;
    if (code) return code;
    if (log->earlier) {
        *ret_end = true;
        return TB_OK;
    }
    if (log->otherwise) {
        code = pass_otherwise(log, room, ret_end, err);
        log->looked = false;
        return code;
    }
    code = read_lines(log, room, ret_end, err);
    return code ? code : check_and_ship(log, room, err);
}

/* What a piece was refused for as somebody else's, and where it stood then. */
typedef struct clash {
    bool there;
    uint64_t bytes;
    size_t behind;
} clash;

/* A piece was refused again. Another sender's would have changed what the sink knows; where nothing of that
 * has changed, it lacks what was acknowledged. */
static bool has_forgotten(const follow_log *log, clash *last)
{
    const clash now = {true, log->reader->known.bytes, log->n_starts};
    const bool same = last->there && last->bytes == now.bytes && last->behind == now.behind;
    *last = now;
    return same;
}

static tb_code forgotten(tb_error *err)
{
    return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                   "The server does not know any more what it acknowledged of this log: was it restored from a "
                   "backup? The log is read from its beginning, and what is missing is sent.");
}

/* A piece; what somebody else has sent is skipped, and one that is too long for the sink is halved. Where there was
 * no end of that, a later turn goes on. TB_E_BATCH_CONFLICT: the sink has forgotten. */
static tb_code try_piece(follow_log *log, follow_room *room, bool *ret_end, tb_error *err)
{
    clash last = {0};
    for (int i = 0; i < TRIES; i++) {
        tb_code code = next_piece(log, room, ret_end, err);
        if (code == TB_E_TOO_LARGE && log->piece_max > BLOCK_BYTES) {
            log->piece_max /= 2;
            log->full = 0;
        } else if (code == TB_E_BATCH_CONFLICT) {
            room->totals.conflicts++;
            if (has_forgotten(log, &last)) return forgotten(err);
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

/* Whether a line that had no end has one by now. */
static tb_code line_ended(follow_log *log, bool *ret_ended, tb_error *err)
{
    char bytes[1 << 16];
    size_t n = sizeof bytes;
    *ret_ended = log->scanned <= log->reader->at || log->earlier;
    while (!*ret_ended && n == sizeof bytes) {
        tb_code code = follow_log_read(log, log->scanned, bytes, sizeof bytes, &n, err);
        if (code) return code;
        *ret_ended = n > 0 && memchr(bytes, '\n', n);
        if (!*ret_ended) log->scanned += n;
    }
    return TB_OK;
}

/* A plain log: begun, or gone on with. */
static tb_code plain_turn(follow_log *log, follow_room *room, feed_source *source, bool *ret_end,
                          tb_error *err)
{
    tb_code code = log->begun ? feed_reader_resume(log->reader, source, err)
                              : begin_log(log, room, source, err);
    if (code == TB_OK && log->begun) code = feed_reader_skip_line_end(log->reader, err);
    if (code == TB_OK && log->begun) code = try_piece(log, room, ret_end, err);
    if (log->reader) {
        if (code) log->reader->at = log->reader->known.bytes;
        log->scanned = code ? 0 : log->reader->at + log->reader->waiting;
        feed_reader_park(log->reader);
    }
    if (!log->begun) follow_log_restart(log);
    return code;
}

/* A packed log: from its beginning if it is not under way. */
static tb_code packed_turn(follow_log *log, follow_room *room, bool *ret_end, tb_error *err)
{
    tb_code code = TB_OK;
    bool damaged = false;
    if (!log->begun) {
        code = begin_log(log, room, log->source, err);
        if (code == TB_OK && log->begun && !log->earlier) code = unpack_rest(log->reader, err);
        log->begun = log->begun && !stopped(room); /* a source that is stopped seems to end */
        damaged = code == TB_E_BAD_INPUT;
    }
    if (code == TB_OK && log->begun) code = try_piece(log, room, ret_end, err);
    log->fresh = !*ret_end && !damaged;
    if (code == TB_OK && log->begun && !*ret_end) return TB_OK;
    const uint64_t passed = log->passed;
    const follow_proof proof = log->proof;
    follow_log_close(log);
    follow_log_restart(log);
    log->packed = true;
    log->proof = proof;
    log->damaged = damaged;
    log->passed = passed;
    log->fresh = !*ret_end && !damaged;
    return code;
}

/* Opens a source; of a packed log it stays open until all is shipped. */
static tb_code open_source(follow_log *log, follow_room *room, feed_source **ret_source,
                           tb_error *err)
{
    const atomic_bool *stop = log->begun && !log->packed ? NULL : room->options->stop;
    tb_code code = feed_source_descriptor(log->fd, stop, ret_source, err);
    if (code || log->begun) return code;
    log->packed = !feed_source_grows(*ret_source);
    return TB_OK;
}

/* It is another log by now. */
static void start_over(follow_log *log, follow_room *room, bool *ret_more)
{
    room->totals.restarts++;
    room->options->say(room->options->ctx, log->path,
                       "It was truncated or written anew: it is read from its beginning, and what is known of it "
                       "is passed over.");
    follow_log_restart(log);
    *ret_more = true;
}

static tb_code turn_of_plain(follow_log *log, follow_room *room, feed_source *source,
                             bool *ret_more, tb_error *err)
{
    bool end = false;
    tb_code code = plain_turn(log, room, source, &end, err);
    feed_source_close(source);
    if (code == TB_E_NOT_FOUND && !room->sink_failed) {
        start_over(log, room, ret_more);
        return TB_OK;
    }
    log->fresh = code == TB_OK && log->begun && !end;
    *ret_more = log->fresh && !log->later;
    return code;
}

/* Whether there is something to read: a first line, or the end of a line. *ret_same false: it is
 * another log by now. */
static tb_code look(follow_log *log, bool *ret_ready, bool *ret_same, tb_error *err)
{
    *ret_ready = *ret_same = true;
    if (log->packed) return TB_OK;
    if (!log->begun) return has_head(log, ret_ready, err);
    tb_code code = follow_log_same(log, ret_same, err);
    return code || !*ret_same ? code : line_ended(log, ret_ready, err);
}

static tb_code turn_of_packed(follow_log *log, follow_room *room, bool *ret_more, tb_error *err)
{
    bool end = false;
    tb_code code = packed_turn(log, room, &end, err);
    *ret_more = code == TB_OK && log->begun && !end;
    return code;
}

/* A log that is not under way: its source tells what it is. A packed one is begun by its next turn,
 * which is given to one after the other. */
static tb_code open_turn(follow_log *log, follow_room *room, bool ready, bool *ret_more,
                         tb_error *err)
{
    feed_source *source;
    const bool seen = log->packed;
    tb_code code = open_source(log, room, &source, err);
    if (code) return code;
    log->fresh = log->packed;
    if (!log->packed && ready) return turn_of_plain(log, room, source, ret_more, err);
    if (log->packed && seen) {
        log->source = source;
        return turn_of_packed(log, room, ret_more, err);
    }
    feed_source_close(source);
    return TB_OK;
}

static tb_code turn(follow_log *log, follow_room *room, bool *ret_more, tb_error *err)
{
    bool ready, same;
    if (log->source) return turn_of_packed(log, room, ret_more, err);
    tb_code code = look(log, &ready, &same, err);
    if (code) return code;
    if (same) return open_turn(log, room, ready, ret_more, err);
    start_over(log, room, ret_more);
    return TB_OK;
}

tb_code follow_log_turn(follow_log *log, follow_room *room, bool *ret_more, tb_error *err)
{
    *ret_more = room->sink_failed = log->later = false;
    tb_code code = follow_log_open(log, room, err);
    if (code == TB_OK) code = turn(log, room, ret_more, err);
    if (code == TB_E_BATCH_CONFLICT || (code == TB_E_OTHER_OPTIONS && !log->otherwise)) follow_log_restart(log);
    if (code && !log->damaged) log->fresh = true;
    return code;
}
