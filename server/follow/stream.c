/* Two running hashes: of everything that came, and of everything up to the last line end. The text
 * that waits is what came after the last byte that the sink has. Of a line that is too long only
 * its beginning is kept, which the sink refuses, and the hash behind what was left out: where the sink is
 * asked again the same bytes are hashed again, and those come no more. Before it was asked for the first time all
 * of the line is kept.
 *
 * A sink that does not know any more what it acknowledged was restored from a backup, or somebody has withdrawn that.
 * It came once and is not here any more. Where another sender has brought it, and more, in one piece, the stream goes
 * on behind that; else what waits begins a chain of its own, whose first byte is byte `base` of what came.
 *
 * Always true: text[0..lines_end) are whole lines, those of bytes start..line_at of the chain. */
#include "follow/stream.h"

#include <stdlib.h>
#include <string.h>

#define SAME_LEAST ((uint64_t)TB_HEAD) /* so many equal bytes are no greeting of a program's */
#define CUT       ((size_t)TB_LINE_MAX + 2) /* so long a line is too long however it ends */
#define GAPS      (STREAM_HELD_MAX / CUT + 1) /* each has so much of its line before it */
#define CONFLICTS 8
#define LEAST     ((size_t)64 << 10) /* shorter bodies are not halved */
#define LONGER    64 /* so many full pieces after a shorter one was asked for, a longer one is tried */

/* Bytes that were left out of the text, before text[at]: what is there is byte `to` of the stream. */
typedef struct gap {
    size_t at;
    uint64_t to;
    feed_hash *hash; /* of everything up to `to` */
} gap;

/* Refusals of what goes now, and where it stood when it was refused as somebody else's last. */
typedef struct clash {
    int conflicts;
    bool there;
    uint64_t start;
    size_t behind;
} clash;

struct follow_stream {
    const follow_sink *sink;
    uint64_t seed;
    feed_reading own;
    bool look_back;
    tb_buf text;
    size_t lines_end; /* of text */
    gap gaps[GAPS];
    size_t n_gaps;
    uint64_t at, line_at,
        start;      /* of the stream: what came, its last line end, what the sink has */
    uint64_t lines; /* that the sink has */
    bool taken;     /* some of them counted */
    tb_buf beginning; /* of the chain, which decides under which options it is known; nothing of a pipe log */
    bool likely;      /* a log that begins with the same line is known under other options */
    size_t most; /* bytes of text in one piece; one line may be longer */
    unsigned full; /* pieces of about that length since it became less */
    feed_hash *all, *whole, *had; /* up to at, line_at, start */
    feed_hash *part;              /* up to the end of a piece that is not all */
    bool asked;                   /* what the sink knows was asked */
    tb_hash128 head;
    tb_known *list; /* ascending; n 0: nothing more can be known */
    size_t n;
    uint64_t *starts; /* where known segments start: those behind `start` are counted in a piece */
    size_t n_starts;
    feed_rungs rungs;
    uint64_t met; /* the end of the known segment that was met last, or taken from here */
    bool enough;  /* what may be known has waited long enough */
    bool another; /* it was given up that it is the log that it begins like */
    uint64_t known_lines;
    uint64_t base; /* of all that came: where the chain begins */
    bool withdrawn; /* what lies before was withdrawn, and not forgotten */
    uint64_t lacking; /* the sink was asked for all it knows, since it lacks what it took up to here; 0: it was not */
};

follow_stream *follow_stream_new(const follow_sink *sink, const tb_log_layout *layout,
                                 bool look_back)
{
    follow_stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->sink = sink;
    s->look_back = look_back;
    s->own = feed_reading_of(layout);
    s->seed = s->own.seed;
    tb_buf_init(&s->text, STREAM_HELD_MAX, NULL);
    tb_buf_init(&s->beginning, FEED_READING_WINDOW, NULL);
    s->all = feed_hash_new(s->seed);
    s->whole = feed_hash_new(s->seed);
    s->had = feed_hash_new(s->seed);
    s->part = feed_hash_new(s->seed);
    s->most = STREAM_HELD_MAX;
    feed_rungs_drop(&s->rungs, 0);
    if (s->all && s->whole && s->had && s->part) return s;
    follow_stream_free(s);
    return NULL;
}

/* The first n of them. */
static void drop_gaps(follow_stream *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        feed_hash_free(s->gaps[i].hash);
    s->n_gaps -= n;
    memmove(s->gaps, s->gaps + n, s->n_gaps * sizeof *s->gaps);
}

/* The text ends, and the stream goes on at s->at. */
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
    feed_hash_copy(last->hash, s->all);
}

void follow_stream_free(follow_stream *s)
{
    if (!s) return;
    feed_hash_free(s->all);
    feed_hash_free(s->whole);
    feed_hash_free(s->had);
    feed_hash_free(s->part);
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

static bool equal(tb_hash128 a, tb_hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

/* --- what is known --- */

/* Where the next known segment ends that may be this stream's; 0: there is none. */
static uint64_t next_end(const follow_stream *s)
{
    uint64_t least = 0;
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++)
        if (s->list[i].length > s->at && (least == 0 || s->list[i].length < least))
            least = s->list[i].length;
    return least;
}

/* The sink has everything up to here. */
static void acknowledge(follow_stream *s, uint64_t lines)
{
    s->start = s->at;
    s->lines = lines;
    feed_hash_copy(s->had, s->all);
}

/* Whether a known segment ends here that is this stream's. What came up to here waits no more. A refused last
 * line without its end counts for nothing: more of it may come. */
static void meet(follow_stream *s)
{
    const tb_hash128 hash = feed_hash_value(s->all);
    const bool ended = s->text.len > 0 && s->text.data[s->text.len - 1] == '\n';
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++) {
        const tb_known *one = &s->list[i];
        if (one->length != s->at || !equal(one->hash, hash)) continue;
        if (one->accepted == 0 && !ended) continue;
        s->known_lines += one->lines - s->lines;
        s->taken |= one->accepted > 0;
        acknowledge(s, one->lines);
        s->text.len = s->lines_end = 0;
        drop_gaps(s, s->n_gaps);
        s->line_at = s->met = s->at;
        s->another = false;
        feed_hash_copy(s->whole, s->all);
        return;
    }
}

/* How many bytes of it a known log has that goes on: up to the last rung behind what the sink has, where that
 * is known, or up to a segment's end on which another one follows. Nothing known may lie between there and here, or
 * it would have been met. 0: there is none. */
static uint64_t same_as_known(const follow_stream *s)
{
    const tb_rung *last = s->rungs.n_own ? &s->rungs.own[s->rungs.n_own - 1] : NULL;
    const bool behind = last && last->length > s->start;
    const uint64_t same = behind ? last->length : s->start;
    bool follows = false, passed = false;
    if (next_end(s) == 0 || (behind ? !feed_rungs_know(&s->rungs, last) : s->met != s->start)) return 0;
    for (size_t i = 0; i < s->n && s->list[i].start <= s->start; i++) {
        follows |= s->list[i].start == s->start && s->list[i].length > s->at;
        passed |= s->list[i].length > same && s->list[i].length <= s->at && s->list[i].accepted > 0;
    }
    return passed || (!behind && !follows) ? 0 : same;
}

/* A copy of a known log, and nothing that only begins like it. */
static bool is_copy(const follow_stream *s)
{
    return same_as_known(s) >= SAME_LEAST;
}

bool follow_stream_is_another(const follow_stream *s)
{
    return s->another;
}

uint64_t follow_stream_copied(const follow_stream *s, uint64_t *ret_same)
{
    uint64_t lines = 0;
    *ret_same = same_as_known(s);
    if (*ret_same < SAME_LEAST) return 0;
    for (size_t i = 0; i < s->text.len; i++)
        lines += s->text.data[i] == '\n';
    return lines + (s->text.len > s->lines_end);
}

/* Of segments that start at that byte or behind it. */
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

/* --- what comes --- */

/* What comes next is among the beginning, or it has come to its end. */
static void keep_beginning(follow_stream *s, const char *bytes, size_t len)
{
    const size_t room = FEED_READING_WINDOW - s->beginning.len;
    if (s->seed && s->at == s->beginning.len) tb_buf_add(&s->beginning, bytes, len < room ? len : room);
}

/* One part without a known end inside it. */
static void add_part(follow_stream *s, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end ? (size_t)(end - bytes) + 1 : len, line = s->text.len - s->lines_end;
        size_t keep = line < CUT ? CUT - line : 0;
        bool cut = may_cut(s) && n > keep;
        tb_buf_add(&s->text, bytes, cut ? keep : n);
        size_t out = cut ? n - (end != NULL) : 0;
        feed_hash_add(s->all, bytes, out);
        s->at += out;
        if (cut) note_gap(s);
        if (cut && end) tb_buf_str(&s->text, "\n");
        feed_hash_add(s->all, bytes + out, n - out);
        s->at += n - out;
        bytes += n;
        len -= n;
        if (!end) return;
        s->lines_end = s->text.len;
        s->line_at = s->at;
        feed_hash_copy(s->whole, s->all);
        if (s->at >= s->rungs.next && s->rungs.n_own < FEED_RUNGS_MAX)
            feed_rungs_add(&s->rungs, s->at, feed_hash_value(s->all));
    }
}

static void add_all(follow_stream *s, const char *bytes, size_t len)
{
    while (len > 0) {
        uint64_t next = next_end(s);
        size_t n = next && next - s->at < len ? (size_t)(next - s->at) : len;
        keep_beginning(s, bytes, n);
        add_part(s, bytes, n);
        bytes += n;
        len -= n;
        if (next && s->at == next) meet(s);
    }
}

/* The same bytes again, from what the sink has on: some of them may be known by now. */
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
        feed_hash_copy(s->all, gaps[i].hash);
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
    feed_hash_copy(s->all, s->had);
    feed_hash_copy(s->whole, s->had);
}

tb_code follow_stream_add(follow_stream *s, const char *bytes, size_t len, tb_error *err)
{
    if (s->text.len + len > STREAM_HELD_MAX - CUT)
        return tb_fail(
            err, TB_E_TOO_LARGE, NULL,
            "It begins like a log that is known, or nobody takes it: more than %zu MiB wait. "
            "Run the command on the file, or without --every.",
            STREAM_HELD_MAX >> 20);
    add_all(s, bytes, len);
    return tb_buf_check(&s->text, err);
}

/* --- what goes --- */

static size_t starts_behind(const follow_stream *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_starts; i++)
        n += s->starts[i] >= s->start;
    return n;
}

/* The first `len` bytes of the text, up to that byte of the stream. */
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
    s->start = s->met = end;
    feed_hash_copy(s->had, hash);
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

/* How many bytes of whole lines go next. Where a line among them was cut, they go together: the hash up
 * to an end between them cannot be known. */
static size_t next_part(const follow_stream *s)
{
    const bool cut = s->line_at - s->start != s->lines_end;
    if (cut || s->lines_end <= s->most) return s->lines_end;
    const char *end = memrchr(s->text.data, '\n', s->most);
    if (!end) end = memchr(s->text.data, '\n', s->lines_end);
    return (size_t)(end - s->text.data) + 1;
}

/* A limit that somebody raised is found out now and then, at the price of a body that is refused. */
static void lengthen(follow_stream *s, size_t len)
{
    if (s->most == STREAM_HELD_MAX || len < s->most / 2 || ++s->full < LONGER) return;
    s->full = 0;
    s->most = s->most < STREAM_HELD_MAX / 2 ? s->most * 2 : STREAM_HELD_MAX;
}

/* One piece. What is too long for the sink is halved. */
static tb_code ship_part(follow_stream *s, feed_report *all, tb_error *err)
{
    feed_report report;
    tb_code code;
    size_t len;
    do {
        len = next_part(s);
        const bool whole = len == s->lines_end;
        feed_hash_copy(s->part, whole ? s->whole : s->had);
        if (!whole) feed_hash_add(s->part, s->text.data, len);
        code = ship(s, len, whole ? s->line_at : s->start + len, s->part, &report, err);
        if (code != TB_E_TOO_LARGE || len <= LEAST) break;
        s->most = len / 2;
        s->full = 0;
    } while (next_part(s) < len);
    if (code) return code;
    lengthen(s, len);
    feed_report_add(all, &report);
    return TB_OK;
}

/* What waits is the beginning of a new chain, without what was left out of lines that are too long. */
static tb_code begin_chain(follow_stream *s, tb_error *err)
{
    tb_buf text = s->text;
    feed_hash *empty = feed_hash_new(s->seed);
    if (!empty) return tb_no_memory(err);
    s->base += s->start;
    s->start = s->lines = s->met = s->lacking = 0;
    s->taken = s->likely = false;
    s->n = s->n_starts = 0;
    s->another = false;
    feed_hash_copy(s->had, empty);
    feed_hash_free(empty);
    tb_buf_init(&s->text, STREAM_HELD_MAX, NULL);
    follow_stream_drop(s);
    add_all(s, text.data, text.len);
    tb_buf_release(&text);
    s->head = feed_hash_head(s->seed, false, s->text.data, s->text.len);
    s->asked = false;
    return tb_buf_check(&s->text, err);
}

/* Asks what is known from there on; those bytes may be among what waits. */
static tb_code ask_again(follow_stream *s, uint64_t from, tb_error *err)
{
    tb_code code = ask(s, from, err);
    return code == TB_OK && s->n > 0 ? replay(s, err) : code;
}

/* The sink lacks what it acknowledged. Another sender's segment may begin before that and go on behind it, so all that
 * is known is looked at, once; then a new chain is begun. */
static tb_code lacks(follow_stream *s, bool withdrawn, tb_error *err)
{
    const uint64_t start = s->start;
    if (s->lacking != start) {
        tb_code code = ask_again(s, 0, err);
        if (code == TB_OK) s->lacking = start;
        return code;
    }
    s->withdrawn = withdrawn;
    tb_code code = begin_chain(s, err);
    return code ? code : ask_again(s, s->start, err);
}

/* What waits was refused as another sender's: asks again. Where nothing of what is known has changed since
 * the last time, the sink lacks what it acknowledged. */
static tb_code conflict(follow_stream *s, clash *last, tb_error *err)
{
    if (++last->conflicts == CONFLICTS)
        return tb_fail(err, TB_E_BUSY, NULL, "Another sender takes in the same log. It is tried again.");
    const clash now = {last->conflicts, true, s->start, starts_behind(s)};
    const bool same = last->there && last->start == now.start && last->behind == now.behind;
    *last = now;
    if (!same || s->start == 0) return ask_again(s, s->start, err);
    last->there = false;
    return lacks(s, false, err);
}

/* A piece was not taken: what is to be done before it is tried again. Any other code is the sink's. */
static tb_code refused(follow_stream *s, tb_code code, clash *last, tb_error *err)
{
    if (code == TB_E_BATCH_CONFLICT) return conflict(s, last, err);
    return code == TB_E_WITHDRAWAL && s->start > 0 ? lacks(s, true, err) : code;
}

/* TB_E_OTHER_OPTIONS: more of it than is stored is known under other options. The sink judges the beginning by itself,
 * and sees nothing but the new lines of what comes behind it. */
static tb_code check_readings(follow_stream *s, tb_error *err)
{
    feed_otherwise other;
    const feed_knower knower = {s->sink->ctx, s->sink->known};
    const bool sure = !s->likely && feed_reading_tells(s->start, s->lines, s->taken);
    if (!s->seed || sure || s->start == 0 || s->beginning.len == 0) return TB_OK;
    if (s->start >= s->beginning.len && !s->likely) return TB_OK;
    const tb_text text = {s->beginning.data, s->line_at < s->beginning.len ? (size_t)s->line_at : s->beginning.len};
    tb_code code = tb_buf_check(&s->beginning, err);
    if (!code) code = feed_readings_look_at(&knower, text, s->own, &other, err);
    if (code) return code;
    s->likely = other.likely && s->start < s->beginning.len; /* behind it there is nothing more to see */
    return feed_readings_yield(&other, s->own, s->start) ? feed_readings_refuse(s->own, &other, err) : TB_OK;
}

/* Whether what has come may be known, so that it waits. */
static bool is_held(const follow_stream *s)
{
    return next_end(s) != 0 && (is_copy(s) || (!s->another && !s->enough));
}

static tb_code ship_lines(follow_stream *s, feed_report *all, tb_error *err)
{
    tb_code code = TB_OK;
    clash last = {0};
    while (code == TB_OK && s->lines_end > 0 && !is_held(s)) {
        s->another |= next_end(s) != 0;
        code = check_readings(s, err);
        if (!code) code = ship_part(s, all, err);
        if (code) code = refused(s, code, &last, err);
    }
    return code;
}

/* The head is the first line's hash; a first line without an end is too long, or all there is. */
static bool has_head(follow_stream *s, bool end)
{
    if (s->asked) return true;
    if (s->text.len == 0 || (s->lines_end == 0 && s->text.len < TB_HEAD && !end)) return false;
    s->head = feed_hash_head(s->seed, false, s->text.data, s->text.len);
    return true;
}

/* The last line, which has no end. */
static tb_code ship_tail(follow_stream *s, feed_report *all, tb_error *err)
{
    feed_report report;
    clash last = {0};
    while (s->text.len > 0 && !is_held(s)) {
        tb_code code = ship(s, s->text.len, s->at, s->all, &report, err);
        if (code) {
            code = refused(s, code, &last, err);
            if (code) return code;
            continue;
        }
        feed_hash_copy(s->whole, s->all);
        s->line_at = s->at;
        feed_report_add(all, &report);
    }
    return TB_OK;
}

tb_code follow_stream_ship(follow_stream *s, follow_stream_when when, feed_report *ret_report, tb_error *err)
{
    const bool end = when == FOLLOW_STREAM_END;
    *ret_report = (feed_report){0};
    if (!has_head(s, end)) return TB_OK;
    tb_code code = s->asked ? TB_OK : ask_again(s, s->start, err);
    s->enough = when != FOLLOW_STREAM_NOW;
    if (!code) code = ship_lines(s, ret_report, err);
    return code || !end ? code : ship_tail(s, ret_report, err);
}
