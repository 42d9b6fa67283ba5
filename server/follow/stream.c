/* A stream keeps two running hashes: of everything that came, and of everything up to the last line end. The text is
 * what came after the last byte that the sink has. Of a line that is too long only its beginning is kept, which the
 * sink refuses, and the hash after the bytes left out: the same bytes are hashed again when the sink is asked again,
 * and those left out do not come a second time. Until the sink was asked for the first time, the whole line is kept.
 *
 * A sink that no longer knows what it acknowledged was restored from a backup, or that data was withdrawn. The stream
 * cannot send it again. If another sender brought it, and more, in one piece, the stream continues after that; else the
 * text begins a new chain, whose first byte is byte `base` of all that came.
 *
 * Always true: text[0..lines_end) are whole lines, those of bytes start..line_at of the chain. */
#include "follow/stream.h"

#include <stdlib.h>
#include <string.h>

#define SAME_LEAST ((uint64_t)TB_HEAD) /* fewer equal bytes may be a banner that a program prints at its start */
#define CUT       ((size_t)TB_LINE_MAX + 2) /* a line of this length is too long, whatever its end */
#define GAPS      (STREAM_HELD_MAX / CUT + 1) /* each has CUT bytes of its line before it */
#define CONFLICTS 8
#define LEAST     ((size_t)64 << 10) /* shorter bodies are not halved */
#define LONGER    64 /* full pieces until a longer one is tried, after a shorter one was asked for */

/* Bytes left out of the text before text[at], which is byte `to` of the stream. */
typedef struct gap {
    size_t at;
    uint64_t to;
    feed_hash *hash; /* of everything up to `to` */
} gap;

/* The conflicts of one piece, and where the stream stood at the last one. */
typedef struct conflict_state {
    int conflicts;
    bool there;
    uint64_t start;
    size_t behind;
} conflict_state;

struct follow_stream {
    const follow_sink *sink;
    uint64_t seed;
    feed_log_options own;
    bool look_back;
    tb_buf text;
    size_t lines_end; /* of text */
    gap gaps[GAPS];
    size_t n_gaps;
    uint64_t at, line_at, start; /* bytes of the chain: that came, up to the last line end, that the sink has */
    uint64_t lines;              /* lines that the sink has */
    bool taken;                  /* it accepted some of them */
    tb_buf beginning;  /* of the chain, to find the options under which it is known; empty for a pipe log */
    bool may_have_other_options; /* a log that begins with the same line is known under other options */
    size_t piece_max;  /* bytes of text in one piece; one line may be longer */
    unsigned full;     /* pieces of about that length since it was reduced */
    feed_hash *hash_all, *hash_lines, *hash_acked; /* up to at, line_at, start */
    feed_hash *hash_part;                          /* up to the end of a piece that is not all */
    bool asked;     /* the sink was asked for the segments it knows */
    tb_hash128 head;
    tb_known *list; /* the known segments, ascending; n 0: none is of interest any more */
    size_t n;
    uint64_t *starts; /* where known segments start: a piece counts those after `start` */
    size_t n_starts;
    feed_rungs rungs;
    uint64_t matched; /* the end of the known segment that matched last, or of the last piece */
    bool waited;      /* the caller has waited long enough for a match */
    bool another;     /* it counts as another log than the known one with the same beginning */
    uint64_t known_lines;
    uint64_t base;      /* of all bytes that came: where the chain begins */
    bool withdrawn;     /* the bytes before were withdrawn, not lost */
    uint64_t listed_at; /* all segments were listed because the sink lacks what it took up to here; 0: they were not */
};

follow_stream *follow_stream_new(const follow_sink *sink, const tb_log_layout *layout,
                                 bool look_back)
{
    follow_stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->sink = sink;
    s->look_back = look_back;
    s->own = feed_log_options_of(layout);
    s->seed = s->own.seed;
    tb_buf_init(&s->text, STREAM_HELD_MAX, NULL);
    tb_buf_init(&s->beginning, FEED_IDENTIFY_WINDOW, NULL);
    s->hash_all = feed_hash_new(s->seed);
    s->hash_lines = feed_hash_new(s->seed);
    s->hash_acked = feed_hash_new(s->seed);
    s->hash_part = feed_hash_new(s->seed);
    s->piece_max = STREAM_HELD_MAX;
    feed_rungs_drop(&s->rungs, 0);
    if (s->hash_all && s->hash_lines && s->hash_acked && s->hash_part) return s;
    follow_stream_free(s);
    return NULL;
}

/* Drops the first n gaps. */
static void drop_gaps(follow_stream *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        feed_hash_free(s->gaps[i].hash);
    s->n_gaps -= n;
    memmove(s->gaps, s->gaps + n, s->n_gaps * sizeof *s->gaps);
}

/* Notes a gap at the end of the text: what comes next is byte s->at. */
static void note_gap(follow_stream *s)
{
    gap *last = s->n_gaps ? &s->gaps[s->n_gaps - 1] : NULL;
    if (!last || last->at != s->text.len) {
        s->text.failed |= s->n_gaps == GAPS;
        if (s->n_gaps == GAPS) return;
        last = &s->gaps[s->n_gaps];
        *last = (gap){.at = s->text.len, .hash = feed_hash_new(s->seed)};
        s->text.failed |= !last->hash;
        if (!last->hash) return;
        s->n_gaps++;
    }
    last->to = s->at;
    feed_hash_copy(last->hash, s->hash_all);
}

void follow_stream_free(follow_stream *s)
{
    if (!s) return;
    feed_hash_free(s->hash_all);
    feed_hash_free(s->hash_lines);
    feed_hash_free(s->hash_acked);
    feed_hash_free(s->hash_part);
    tb_buf_release(&s->text);
    tb_buf_release(&s->beginning);
    drop_gaps(s, s->n_gaps);
    free(s->list);
    free(s->starts);
    free(s->rungs.known);
    free(s);
}

/* Whether a line that is too long may be cut. */
static bool may_cut(const follow_stream *s)
{
    return s->asked || !s->look_back;
}

size_t follow_stream_pending(const follow_stream *s)
{
    if (s->lines_end == 0 && !may_cut(s) && s->text.len >= CUT) return s->text.len;
    return s->lines_end;
}

uint64_t follow_stream_known_lines(const follow_stream *s)
{
    return s->known_lines;
}

uint64_t follow_stream_base(const follow_stream *s, bool *ret_withdrawn)
{
    *ret_withdrawn = s->withdrawn;
    return s->base;
}

/* --- known segments --- */

/* The next end of a known segment that may be part of this stream; 0: there is none. */
static uint64_t next_end(const follow_stream *s)
{
    uint64_t least = 0;
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++)
        if (s->list[i].length > s->at && (least == 0 || s->list[i].length < least))
            least = s->list[i].length;
    return least;
}

/* If a known segment of this stream ends here, the sink has everything up to here. A last line that was refused and has
 * no end does not count, because more of it may come. */
static void match_known(follow_stream *s)
{
    const tb_hash128 hash = feed_hash_value(s->hash_all);
    const bool ended = s->text.len > 0 && s->text.data[s->text.len - 1] == '\n';
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++) {
        const tb_known *one = &s->list[i];
        if (one->length != s->at || one->hash.high != hash.high || one->hash.low != hash.low) continue;
        if (one->accepted == 0 && !ended) continue;
        s->known_lines += one->lines - s->lines;
        s->taken |= one->accepted > 0;
        s->lines = one->lines;
        s->start = s->line_at = s->matched = s->at;
        s->another = false;
        s->text.len = s->lines_end = 0;
        drop_gaps(s, s->n_gaps);
        feed_hash_copy(s->hash_acked, s->hash_all);
        feed_hash_copy(s->hash_lines, s->hash_all);
        return;
    }
}

/* The length of the prefix that this stream shares with a known log that goes on; 0: there is none. It ends at the last
 * rung after what the sink has, if that is known, or at the end of a segment that another one follows. No known segment
 * may end between there and here, or it would have matched. */
static uint64_t known_prefix(const follow_stream *s)
{
    const tb_rung *last = s->rungs.n_own ? &s->rungs.own[s->rungs.n_own - 1] : NULL;
    const bool behind = last && last->length > s->start;
    const uint64_t same = behind ? last->length : s->start;
    bool follows = false, passed = false;
    if (next_end(s) == 0 || (behind ? !feed_rungs_know(&s->rungs, last) : s->matched != s->start)) return 0;
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++) {
        follows |= s->list[i].start == s->start && s->list[i].length > s->at;
        passed |= s->list[i].length > same && s->list[i].length <= s->at && s->list[i].accepted > 0;
    }
    return passed || (!behind && !follows) ? 0 : same;
}

bool follow_stream_is_another(const follow_stream *s)
{
    return s->another;
}

uint64_t follow_stream_copied(const follow_stream *s, uint64_t *ret_same)
{
    uint64_t lines = 0;
    *ret_same = known_prefix(s);
    if (*ret_same < SAME_LEAST) return 0;
    for (size_t i = 0; i < s->text.len; i++)
        lines += s->text.data[i] == '\n';
    return lines + (s->text.len > s->lines_end);
}

/* Asks the sink for segments that start at `from` or later. */
static tb_code ask(follow_stream *s, uint64_t from, tb_error *err)
{
    follow_known known = {0};
    tb_code code = s->sink->known(s->sink->ctx, s->head, from, &known, err);
    if (code) return code;
    free(s->rungs.known);
    s->rungs.known = known.rungs;
    s->rungs.n_known = known.n_rungs;
    free(s->list);
    free(s->starts);
    s->list = known.list;
    s->n = s->look_back ? known.n : 0;
    s->n_starts = 0;
    s->starts = malloc((known.n + 1) * sizeof *s->starts);
    if (!s->starts) return tb_no_memory(err);
    for (size_t i = 0; i < known.n; i++)
        s->starts[s->n_starts++] = known.list[i].start;
    s->asked = true;
    return TB_OK;
}

/* --- input --- */

/* Adds bytes among which no known segment ends. */
static void add_part(follow_stream *s, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end ? (size_t)(end - bytes) + 1 : len, line = s->text.len - s->lines_end;
        size_t keep = line < CUT ? CUT - line : 0;
        bool cut = may_cut(s) && n > keep;
        tb_buf_add(&s->text, bytes, cut ? keep : n);
        size_t out = cut ? n - (end != NULL) : 0;
        feed_hash_add(s->hash_all, bytes, out);
        s->at += out;
        if (cut) note_gap(s);
        if (cut && end) tb_buf_str(&s->text, "\n");
        feed_hash_add(s->hash_all, bytes + out, n - out);
        s->at += n - out;
        bytes += n;
        len -= n;
        if (!end) return;
        s->lines_end = s->text.len;
        s->line_at = s->at;
        feed_hash_copy(s->hash_lines, s->hash_all);
        if (s->at >= s->rungs.next && s->rungs.n_own < FEED_RUNGS_MAX)
            feed_rungs_add(&s->rungs, s->at, feed_hash_value(s->hash_all));
    }
}

static void add_all(follow_stream *s, const char *bytes, size_t len)
{
    while (len > 0) {
        uint64_t next = next_end(s);
        size_t n = next && next - s->at < len ? (size_t)(next - s->at) : len;
        const size_t left = FEED_IDENTIFY_WINDOW - s->beginning.len;
        if (s->seed && s->at == s->beginning.len) tb_buf_add(&s->beginning, bytes, n < left ? n : left);
        add_part(s, bytes, n);
        bytes += n;
        len -= n;
        if (next && s->at == next) match_known(s);
    }
}

/* Adds the text again, from what the sink has on: some of it may be known by now. */
static tb_code replay(follow_stream *s, tb_error *err)
{
    tb_buf text = s->text;
    gap gaps[GAPS];
    const size_t n = s->n_gaps;
    size_t at = 0;
    memcpy(gaps, s->gaps, n * sizeof *gaps);
    s->n_gaps = 0; /* they are ours */
    follow_stream_drop(s);
    tb_buf_init(&s->text, STREAM_HELD_MAX, NULL);
    for (size_t i = 0; i < n; at = gaps[i++].at) {
        add_all(s, text.data + at, gaps[i].at - at);
        feed_hash_copy(s->hash_all, gaps[i].hash);
        s->at = gaps[i].to;
        note_gap(s);
        feed_hash_free(gaps[i].hash);
    }
    add_all(s, text.data + at, text.len - at);
    tb_buf_release(&text);
    return tb_buf_check(&s->text, err);
}

void follow_stream_drop(follow_stream *s)
{
    drop_gaps(s, s->n_gaps);
    s->text.len = s->lines_end = 0;
    s->at = s->line_at = s->start;
    if (s->beginning.len > s->start) s->beginning.len = (size_t)s->start;
    feed_rungs_drop(&s->rungs, s->start);
    feed_hash_copy(s->hash_all, s->hash_acked);
    feed_hash_copy(s->hash_lines, s->hash_acked);
}

tb_code follow_stream_add(follow_stream *s, const char *bytes, size_t len, tb_error *err)
{
    if (s->text.len + len > STREAM_HELD_MAX - CUT)
        return tb_fail(
            err, TB_E_TOO_LARGE, NULL,
            "The buffer is full: more than %zu MiB wait. The server is not reachable, or this is a copy of a known log. "
            "Run the command on the file, or without --every.",
            STREAM_HELD_MAX >> 20);
    add_all(s, bytes, len);
    return tb_buf_check(&s->text, err);
}

/* --- output --- */

static size_t starts_behind(const follow_stream *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_starts; i++)
        n += s->starts[i] >= s->start;
    return n;
}

/* Ships the first `len` bytes of the text, up to byte `end` of the chain. */
static tb_code ship(follow_stream *s, size_t len, uint64_t end, const feed_hash *hash,
                    feed_report *ret_report, tb_error *err)
{
    const tb_rung *rungs;
    const size_t n_rungs = feed_rungs_between(&s->rungs, s->start, end, &rungs);
    const feed_piece piece = {.start = s->start,
                              .length = end,
                              .lines_before = s->lines,
                              .head = s->head,
                              .hash = feed_hash_value(hash),
                              .rungs = rungs,
                              .n_rungs = n_rungs,
                              .known = -1,
                              .behind = (int64_t)starts_behind(s)};
    const follow_body body = {"-", s->text.data, len};
    tb_code code = s->sink->take(s->sink->ctx, &piece, &body, ret_report, err);
    if (code) return code;
    s->lines += ret_report->lines + ret_report->known_lines;
    s->taken |= ret_report->accepted > 0;
    s->start = s->matched = end;
    feed_hash_copy(s->hash_acked, hash);
    memmove(s->text.data, s->text.data + len, s->text.len - len);
    s->text.len -= len;
    size_t over = 0;
    while (over < s->n_gaps && s->gaps[over].at <= len)
        over++;
    drop_gaps(s, over);
    for (size_t i = 0; i < s->n_gaps; i++)
        s->gaps[i].at -= len;
    s->lines_end = s->lines_end > len ? s->lines_end - len : 0;
    return TB_OK;
}

/* The length of the next piece of whole lines. If one of the lines was cut, all go together: the hash up to a line end
 * between them cannot be known. */
static size_t next_len(const follow_stream *s)
{
    const bool cut = s->line_at - s->start != s->lines_end;
    if (cut || s->lines_end <= s->piece_max) return s->lines_end;
    const char *end = memrchr(s->text.data, '\n', s->piece_max);
    if (!end) end = memchr(s->text.data, '\n', s->lines_end);
    return (size_t)(end - s->text.data) + 1;
}

/* Ships one piece, halved as often as it is too long for the sink. */
static tb_code ship_part(follow_stream *s, feed_report *all, tb_error *err)
{
    feed_report report;
    tb_code code;
    size_t len;
    do {
        len = next_len(s);
        const bool whole = len == s->lines_end;
        feed_hash_copy(s->hash_part, whole ? s->hash_lines : s->hash_acked);
        if (!whole) feed_hash_add(s->hash_part, s->text.data, len);
        code = ship(s, len, whole ? s->line_at : s->start + len, s->hash_part, &report, err);
        if (code != TB_E_TOO_LARGE || len <= LEAST) break;
        s->piece_max = len / 2;
        s->full = 0;
    } while (next_len(s) < len);
    if (code) return code;
    /* A higher limit of the sink is found by trying a longer piece now and then, which may be refused. */
    if (s->piece_max < STREAM_HELD_MAX && len >= s->piece_max / 2 && ++s->full >= LONGER) {
        s->full = 0;
        s->piece_max = s->piece_max < STREAM_HELD_MAX / 2 ? s->piece_max * 2 : STREAM_HELD_MAX;
    }
    feed_report_add(all, &report);
    return TB_OK;
}

/* Makes the text the beginning of a new chain, without the bytes left out of lines that are too long. */
static tb_code begin_chain(follow_stream *s, tb_error *err)
{
    tb_buf text = s->text;
    feed_hash *empty = feed_hash_new(s->seed);
    if (!empty) return tb_no_memory(err);
    s->base += s->start;
    s->start = s->lines = s->matched = s->listed_at = 0;
    s->taken = s->may_have_other_options = false;
    s->n = s->n_starts = 0;
    s->another = false;
    feed_hash_copy(s->hash_acked, empty);
    feed_hash_free(empty);
    tb_buf_init(&s->text, STREAM_HELD_MAX, NULL);
    follow_stream_drop(s);
    add_all(s, text.data, text.len);
    tb_buf_release(&text);
    s->head = feed_hash_head(s->seed, false, s->text.data, s->text.len);
    s->asked = false;
    return tb_buf_check(&s->text, err);
}

/* Asks for segments from there on, and matches the text against them. */
static tb_code ask_again(follow_stream *s, uint64_t from, tb_error *err)
{
    tb_code code = ask(s, from, err);
    return code == TB_OK && s->n > 0 ? replay(s, err) : code;
}

/* The sink lacks what it acknowledged. Another sender's segment may begin before that and go on after it, so all known
 * segments are checked, once; then a new chain begins. */
static tb_code recover_loss(follow_stream *s, bool withdrawn, tb_error *err)
{
    const uint64_t start = s->start;
    if (s->listed_at != start) {
        tb_code code = ask_again(s, 0, err);
        if (code == TB_OK) s->listed_at = start;
        return code;
    }
    s->withdrawn = withdrawn;
    tb_code code = begin_chain(s, err);
    return code ? code : ask_again(s, s->start, err);
}

/* A piece was not taken: prepares the stream for another try. Any code but TB_OK is the caller's. */
static tb_code handle_refusal(follow_stream *s, tb_code code, conflict_state *last, tb_error *err)
{
    if (code == TB_E_WITHDRAWAL && s->start > 0) return recover_loss(s, true, err);
    if (code != TB_E_BATCH_CONFLICT) return code;
    if (++last->conflicts == CONFLICTS)
        return tb_fail(err, TB_E_BUSY, NULL, "Another sender takes in the same log. It is tried again.");
    /* Another sender's piece would have changed what the sink knows; if nothing changed, the sink lost data. */
    const conflict_state now = {last->conflicts, true, s->start, starts_behind(s)};
    const bool same = last->there && last->start == now.start && last->behind == now.behind;
    *last = now;
    if (!same || s->start == 0) return ask_again(s, s->start, err);
    last->there = false;
    return recover_loss(s, false, err);
}

/* TB_E_OTHER_OPTIONS: more of it than is stored is known under other options. The sink judges only the beginning by
 * itself, and of what follows it sees only new lines. */
static tb_code check_options(follow_stream *s, tb_error *err)
{
    feed_other_options other;
    const feed_known_source known_source = {s->sink->ctx, s->sink->known};
    const bool sure = !s->may_have_other_options && feed_identifies_log(s->start, s->lines, s->taken);
    if (!s->seed || sure || s->start == 0 || s->beginning.len == 0) return TB_OK;
    if (s->start >= s->beginning.len && !s->may_have_other_options) return TB_OK;
    const tb_text text = {s->beginning.data, s->line_at < s->beginning.len ? (size_t)s->line_at : s->beginning.len};
    tb_code code = tb_buf_check(&s->beginning, err);
    if (!code) code = feed_known_options_find_in(&known_source, text, s->own, &other, err);
    if (code) return code;
    s->may_have_other_options = other.likely && s->start < s->beginning.len; /* the beginning is the same from now on */
    return feed_should_yield(&other, s->own, s->start) ? feed_known_options_refuse(s->own, &other, err) : TB_OK;
}

/* Whether the text is held back, because it may be a copy of a known log. Programs may begin different logs alike, so a
 * short match is waited for only until the caller says that it was long enough. */
static bool is_held(const follow_stream *s)
{
    return next_end(s) != 0 && (known_prefix(s) >= SAME_LEAST || (!s->another && !s->waited));
}

tb_code follow_stream_ship(follow_stream *s, follow_stream_when when, feed_report *ret_report, tb_error *err)
{
    const bool end = when == FOLLOW_STREAM_END;
    tb_code code = TB_OK;
    *ret_report = (feed_report){0};
    if (!s->asked) {
        /* The head is the hash of the first line; a first line without an end is too long, or all there is. */
        if (s->text.len == 0 || (s->lines_end == 0 && s->text.len < TB_HEAD && !end)) return TB_OK;
        s->head = feed_hash_head(s->seed, false, s->text.data, s->text.len);
        code = ask_again(s, s->start, err);
    }
    s->waited = when != FOLLOW_STREAM_NOW;
    conflict_state last = {0};
    while (code == TB_OK && s->lines_end > 0 && !is_held(s)) {
        s->another |= next_end(s) != 0;
        code = check_options(s, err);
        if (!code) code = ship_part(s, ret_report, err);
        if (code) code = handle_refusal(s, code, &last, err);
    }
    last = (conflict_state){0};
    while (code == TB_OK && end && s->text.len > 0 && !is_held(s)) { /* the last line, which has no end */
        feed_report report;
        code = ship(s, s->text.len, s->at, s->hash_all, &report, err);
        if (code) {
            code = handle_refusal(s, code, &last, err);
            continue;
        }
        feed_hash_copy(s->hash_lines, s->hash_all);
        s->line_at = s->at;
        feed_report_add(ret_report, &report);
    }
    return code;
}
