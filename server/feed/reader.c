/* Blocks of whole lines.
 *
 * A block is what was left from the last one and as much as the source gives up to block_bytes;
 * what follows its last line end is kept as the rest. Memory: one block per worker and a rest that
 * is shorter than the longest line (or, after a known prefix ended inside a block, than a block).
 *
 * The hash runs over exactly the bytes handed out. Where a candidate's length lies inside a block
 * the hash is looked at there, which is the only moment that a known prefix can be seen. */
#include "feed/prefix.h"

#include <stdlib.h>
#include <string.h>

/* A line of this many bytes without its end is too long however it ends (CR LF). Cut to this many
 * it still is for intake, which then says so. */
#define OVERLONG ((size_t)TB_LINE_MAX + 2)

static tb_code make_room(char **bytes, size_t *cap, size_t need, tb_error *err)
{
    if (need <= *cap) return TB_OK;
    char *p = realloc(*bytes, need + TB_INTAKE_SLACK);
    if (!p) return tb_no_memory(err);
    memset(p + need, 0, TB_INTAKE_SLACK);
    *bytes = p;
    *cap = need;
    return TB_OK;
}

void feed_block_release(feed_block *block)
{
    free(block->bytes);
    *block = (feed_block){0};
}

tb_code feed_reader_init(feed_reader *reader, feed_source *source, uint64_t seed,
                         size_t block_bytes, bool take_partial, tb_error *err)
{
    *reader = (feed_reader){.source = source,
                            .seed = seed,
                            .block_bytes = block_bytes,
                            .rungs = {.next = FEED_RUNG_FIRST},
                            .take_partial = take_partial || !feed_source_grows(source)};
    reader->hash = feed_hash_new(seed);
    reader->mark = feed_hash_new(seed);
    reader->spare = feed_hash_new(seed);
    if (reader->hash && reader->mark && reader->spare) return TB_OK;
    feed_reader_release(reader);
    return tb_no_memory(err);
}

void feed_reader_release(feed_reader *reader)
{
    feed_hash_free(reader->hash);
    feed_hash_free(reader->mark);
    feed_hash_free(reader->spare);
    free(reader->known.list);
    free(reader->rungs.known);
    free(reader->rest);
    *reader = (feed_reader){0};
}

/* --- the rest --- */

static size_t rest_size(const feed_reader *reader)
{
    return reader->rest_len - reader->rest_at;
}

/* Makes the rest hold at least `least` bytes, or all there are. */
static tb_code fill_rest(feed_reader *reader, size_t least, tb_error *err)
{
    size_t have = rest_size(reader), n;
    if (have >= least || reader->end) return TB_OK;
    if (have && reader->rest_at) memmove(reader->rest, reader->rest + reader->rest_at, have);
    reader->rest_at = 0;
    reader->rest_len = have;
    tb_code code = make_room(&reader->rest, &reader->rest_cap, least, err);
    if (code) return code;
    code = feed_source_read(reader->source, reader->rest + have, least - have, &n, err);
    if (code) return code;
    reader->end = n < least - have;
    reader->rest_len += n;
    return TB_OK;
}

static tb_code keep_rest(feed_reader *reader, const char *bytes, size_t len, tb_error *err)
{
    reader->rest_at = reader->rest_len = 0;
    tb_code code = make_room(&reader->rest, &reader->rest_cap, len, err);
    if (code) return code;
    if (len) memcpy(reader->rest, bytes, len);
    reader->rest_len = len;
    return TB_OK;
}

typedef struct span {
    const char *bytes;
    size_t len;
} span;

/* bytes is never NULL. */
static span rest_of(const feed_reader *reader)
{
    if (!reader->rest) return (span){"", 0};
    return (span){reader->rest + reader->rest_at, rest_size(reader)};
}

/* --- passing over bytes --- */

/* Where the next rung stands in these bytes, which come next: its distance; 0: not in them. */
static size_t next_rung(const feed_reader *reader, const char *bytes, size_t len)
{
    const feed_rungs *rungs = &reader->rungs;
    uint64_t skip = rungs->next > reader->at ? rungs->next - reader->at - 1 : 0;
    if (rungs->n_own == FEED_RUNGS_MAX || skip >= len) return 0;
    const char *end = memchr(bytes + skip, '\n', len - (size_t)skip);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

/* Whether what follows, in two parts, begins with a line end. Where nothing follows: whether nothing will. A log
 * that grows may end with half a line. */
static bool line_ends(const feed_reader *reader, span here, span ahead)
{
    char two[2];
    size_t n = 0;
    while (n < 2 && n < here.len) {
        two[n] = here.bytes[n];
        n++;
    }
    for (size_t i = 0; n < 2 && i < ahead.len; i++)
        two[n++] = ahead.bytes[i];
    return (n == 0 && reader->take_partial) || (n > 0 && two[0] == '\n') || (n == 2 && two[0] == '\r' && two[1] == '\n');
}

/* Passes over bytes and hashes them; stops at a candidate. Returns how many it passed. ahead: the following
 * bytes, at least two, unless the input ends before. */
static size_t pass(feed_reader *reader, const char *bytes, size_t len, span ahead, bool *ret_met)
{
    size_t done = 0;
    *ret_met = false;
    while (done < len && !*ret_met) {
        uint64_t next = feed_prefix_next(reader);
        size_t n = len - done;
        bool there = next && next - reader->at <= n;
        if (there) n = (size_t)(next - reader->at);
        size_t rung = next_rung(reader, bytes + done, n);
        if (rung) n = rung;
        there = there && next - reader->at == n;
        feed_hash_add(reader->hash, bytes + done, n);
        reader->at += n;
        done += n;
        reader->last = bytes[done - 1];
        if (rung) feed_rungs_add(&reader->rungs, reader->at, feed_hash_value(reader->hash));
        if (there) *ret_met = feed_prefix_met(reader, line_ends(reader, (span){bytes + done, len - done}, ahead));
    }
    return done;
}

tb_code feed_reader_look(feed_reader *reader, size_t bytes, tb_error *err)
{
    return fill_rest(reader, bytes, err);
}

tb_code feed_reader_head(feed_reader *reader, tb_hash128 *ret_head, bool *ret_empty, tb_error *err)
{
    tb_code code = fill_rest(reader, TB_HEAD, err);
    if (code) return code;
    *ret_head = feed_hash_head(reader->seed, reader->heads, reader->rest, rest_size(reader));
    *ret_empty = rest_size(reader) == 0;
    return TB_OK;
}

tb_text feed_reader_beginning(const feed_reader *reader)
{
    const span rest = rest_of(reader);
    return (tb_text){rest.bytes, rest.len};
}

tb_code feed_reader_rewind(feed_reader *reader, tb_error *err)
{
    uint64_t to = reader->known.bytes;
    reader->earlier = reader->announced = reader->tail = false;
    reader->waiting = 0;
    feed_hash_copy(reader->hash, reader->mark);
    feed_rungs_drop(&reader->rungs, to);
    tb_code code = feed_source_seek(reader->source, to > 0 ? to - 1 : 0, err);
    reader->rest_at = reader->rest_len = 0;
    reader->end = false;
    reader->at = to;
    if (code || to == 0) return code;
    code = fill_rest(reader, 1, err); /* the byte before, for `last` */
    if (code || rest_size(reader) == 0) return code;
    reader->last = reader->rest[0];
    reader->rest_at = 1;
    return TB_OK;
}

tb_code feed_reader_skip_known(feed_reader *reader, tb_error *err)
{
    uint64_t next;
    bool is_met;
    while ((next = feed_prefix_next(reader)) != 0 || feed_prefix_may_be_earlier(reader)) {
        if (next && feed_source_grows(reader->source)) reader->end = false; /* it may have grown since */
        tb_code code = fill_rest(reader, reader->block_bytes, err);
        if (code) return code;
        size_t n = rest_size(reader);
        if (n == 0) break;
        if (next && next - reader->at < n) n = (size_t)(next - reader->at);
        code = fill_rest(reader, n + 2, err);
        if (code) return code;
        span rest = rest_of(reader);
        reader->rest_at +=
            pass(reader, rest.bytes, n, (span){rest.bytes + n, rest.len - n}, &is_met);
    }
    reader->earlier = reader->end && rest_size(reader) == 0 && feed_reader_earlier(reader);
    reader->known.n = reader->known.first = 0; /* all candidates have been met or refuted */
    if (reader->earlier) return TB_OK;
    if (reader->at == reader->known.bytes || !feed_source_seekable(reader->source)) return TB_OK;
    return feed_reader_rewind(reader, err); /* from the place at which the last candidate failed */
}

void feed_reader_park(feed_reader *reader)
{
    feed_reader_expect(reader, NULL, 0);
    feed_reader_expect_rungs(reader, NULL, 0);
    free(reader->rest);
    reader->rest = NULL;
    reader->rest_at = reader->rest_len = reader->rest_cap = 0;
    reader->source = NULL;
}

tb_code feed_reader_resume(feed_reader *reader, feed_source *source, tb_error *err)
{
    reader->source = source;
    return feed_reader_rewind(reader, err);
}

void feed_reader_acknowledge(feed_reader *reader, uint64_t lines)
{
    reader->known.bytes = reader->at;
    reader->known.lines = lines;
    feed_hash_copy(reader->mark, reader->hash);
}

tb_code feed_reader_skip_named(feed_reader *reader, tb_batch_kind kind, tb_known *list, size_t n,
                               bool *ret_same, bool *ret_complete, tb_error *err)
{
    bool end = true;
    if (n == 0) {
        free(list);
        *ret_same = true;
        *ret_complete = false;
        return TB_OK;
    }
    const tb_known last = list[n - 1];
    feed_reader_expect(reader, list, n);
    *ret_complete = last.final;
    *ret_same = last.kind == kind;
    if (!*ret_same) return TB_OK;
    tb_code code = feed_reader_skip_known(reader, err);
    if (code == TB_OK && last.final) code = feed_reader_at_end(reader, &end, err);
    *ret_same = reader->at == last.length && reader->known.bytes == last.length && end;
    reader->known.lines = last.lines;
    return code;
}

tb_code feed_reader_spool(feed_reader *reader, const char *folder, tb_error *err)
{
    span rest = rest_of(reader);
    tb_code code = feed_source_spool(reader->source, folder, rest.bytes, rest.len, err);
    reader->rest_at = reader->rest_len = 0;
    reader->end = false;
    return code;
}

tb_code feed_reader_skip_line_end(feed_reader *reader, tb_error *err)
{
    bool is_met;
    if (reader->at == 0 || reader->last == '\n') return TB_OK;
    tb_code code = fill_rest(reader, 4, err);
    if (code) return code;
    span rest = rest_of(reader);
    size_t end = rest.len >= 1 && rest.bytes[0] == '\n';
    if (rest.len >= 2 && rest.bytes[0] == '\r' && rest.bytes[1] == '\n') end = 2;
    reader->rest_at +=
        pass(reader, rest.bytes, end, (span){rest.bytes + end, rest.len - end}, &is_met);
    return TB_OK;
}

tb_code feed_reader_at_end(feed_reader *reader, bool *ret_end, tb_error *err)
{
    tb_code code = fill_rest(reader, 1, err);
    if (code == TB_OK) *ret_end = rest_size(reader) == 0;
    return code;
}

/* --- blocks --- */

/* A stopped source looks like an ended one, but its last line is only cut. */
static bool takes_partial(const feed_reader *reader)
{
    return reader->take_partial && !feed_source_stopped(reader->source);
}

static bool input_over(const feed_reader *reader)
{
    return reader->end && rest_size(reader) == 0;
}

/* Puts bytes that were the block's back in front of the rest. */
static tb_code give_back(feed_reader *reader, const char *bytes, size_t len, tb_error *err)
{
    if (rest_size(reader) == 0) return keep_rest(reader, bytes, len, err);
    reader->rest_at -= len; /* the block came from there alone, and still lies before it */
    return TB_OK;
}

/* Passes over what there is of the rest, up to the line's end. *ret_end: it came, or the input's. */
static tb_code pass_line(feed_reader *reader, size_t *ret_n, bool *ret_end, bool *ret_met,
                         tb_error *err)
{
    tb_code code = fill_rest(reader, reader->block_bytes + 2, err);
    if (code) return code;
    span rest = rest_of(reader);
    size_t n = rest.len;
    const char *end = n ? memchr(rest.bytes, '\n', n) : NULL;
    if (end) n = (size_t)(end - rest.bytes) + 1;
    else if (!reader->end) n -= 2;
    reader->rest_at += pass(reader, rest.bytes, n, (span){rest.bytes + n, rest.len - n}, ret_met);
    *ret_n = n;
    *ret_end = end != NULL;
    return TB_OK;
}

/* Passes over the rest of a line that is too long: the block keeps its beginning. Where the input
 * ends inside it and the end may still come, nothing is passed and the line waits. */
static tb_code pass_overlong(feed_reader *reader, feed_block *block, bool *ret_met, tb_error *err)
{
    uint64_t from = reader->at;
    char last = reader->last;
    size_t n = 1;
    bool end = false;
    tb_code code = fill_rest(reader, 2, err);
    if (code) return code;
    feed_hash_copy(reader->spare, reader->hash);
    pass(reader, block->bytes, block->len, rest_of(reader), ret_met);
    while (!*ret_met && !end && n > 0) {
        code = pass_line(reader, &n, &end, ret_met, err);
        if (code) return code;
    }
    if (*ret_met || end) return TB_OK;
    reader->tail = takes_partial(reader);
    if (reader->tail) return TB_OK;
    reader->waiting = reader->at - from;
    feed_rungs_drop(&reader->rungs, from);
    feed_hash_copy(reader->hash, reader->spare);
    reader->at = from;
    reader->last = last;
    block->len = 0;
    return TB_OK;
}

/* Puts the bytes after the last line back, and passes over the lines. */
static tb_code cut_block(feed_reader *reader, feed_block *block, size_t lines, bool *ret_met,
                         tb_error *err)
{
    tb_code code = give_back(reader, block->bytes + lines, block->len - lines, err);
    if (code) return code;
    block->len = lines;
    size_t passed = pass(reader, block->bytes, lines, rest_of(reader), ret_met);
    if (!*ret_met || passed == lines) return TB_OK;
    feed_block tail = {.bytes = block->bytes + passed, .len = lines - passed};
    size_t after = rest_size(reader);
    code = make_room(&reader->rest, &reader->rest_cap, tail.len + after, err);
    if (code) return code;
    memmove(reader->rest + tail.len, reader->rest + reader->rest_at, after);
    memcpy(reader->rest, tail.bytes, tail.len);
    reader->rest_at = 0;
    reader->rest_len = tail.len + after;
    return TB_OK;
}

/* Fills the block from the rest and the source until it holds a whole line, too much of one, or what is left. *ret_lines:
 * bytes of its whole lines. */
static tb_code fill_lines(feed_reader *reader, feed_block *block, size_t *ret_lines, tb_error *err)
{
    block->len = 0;
    for (size_t want = reader->block_bytes;; want = want * 2 < OVERLONG ? want * 2 : OVERLONG) {
        size_t have = rest_size(reader), n = 0;
        tb_code code = make_room(&block->bytes, &block->cap, want, err);
        if (code) return code;
        if (have > want - block->len) have = want - block->len;
        if (have) memcpy(block->bytes + block->len, reader->rest + reader->rest_at, have);
        reader->rest_at += have;
        block->len += have;
        if (block->len < want && !reader->end) {
            code = feed_source_read(reader->source, block->bytes + block->len, want - block->len, &n, err);
            if (code) return code;
            block->len += n;
            reader->end = block->len < want;
        }
        const char *end = block->len ? memrchr(block->bytes, '\n', block->len) : NULL;
        *ret_lines = end ? (size_t)(end - block->bytes) + 1 : 0;
        if (*ret_lines > 0 || input_over(reader) || block->len >= OVERLONG) return TB_OK;
    }
}

/* A line whose end is not there yet: announced first, then taken, or left where its end may come. */
static tb_code take_line(feed_reader *reader, feed_block *block, feed_turn *ret_turn, bool *ret_met,
                         tb_error *err)
{
    bool over = input_over(reader);
    if ((!over || takes_partial(reader)) && !reader->announced) {
        tb_code code = give_back(reader, block->bytes, block->len, err);
        reader->announced = true;
        block->len = 0;
        *ret_turn = FEED_TURN_TAIL;
        return code;
    }
    if (!over) return pass_overlong(reader, block, ret_met, err);
    reader->tail = takes_partial(reader);
    if (!reader->tail) reader->waiting = block->len;
    return cut_block(reader, block, reader->tail ? block->len : 0, ret_met, err);
}

/* Where the first head begins that does not fit the layout; len: there is none among these lines. Lines that may begin
 * with a byte order mark. A '#' is rare in a log, so memchr for it is many times faster than for line ends. */
static size_t find_other_head(const tb_log_layout *layout, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    for (const char *at = bytes; (at = memchr(at, '#', (size_t)(end - at))) != NULL;) {
        tb_hit hit;
        tb_reject reject;
        tb_intake got = {.hits = &hit, .rejects = &reject, .room = 1};
        const char *line = at++;
        if (line - bytes >= 3 && memcmp(line - 3, "\xEF\xBB\xBF", 3) == 0) line -= 3;
        if (line > bytes && line[-1] != '\n') continue;
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        tb_intake_lines(layout, line, (size_t)(at - line), &got);
        if (got.n_rejects > 0) return (size_t)(line - bytes);
    }
    return len;
}

tb_code feed_reader_next(feed_reader *reader, feed_block *block, feed_turn *ret_turn, tb_error *err)
{
    size_t lines;
    bool is_met = false;
    feed_turn turn = FEED_TURN_BLOCK;
    tb_code code = fill_lines(reader, block, &lines, err);
    if (code) return code;
    if (reader->layout && lines > 0) {
        /* the lines after such a head would be read by the wrong columns: block and input end before it */
        lines = find_other_head(reader->layout, block->bytes, lines);
        if (lines == 0)
            return tb_fail(err, TB_E_BAD_INPUT, NULL,
                           "Behind byte %llu a head names other columns than the log's beginning. Make a file "
                           "of its own of what begins there, and take in both.",
                           (unsigned long long)reader->at);
    }
    if (block->len > 0 && lines == 0) code = take_line(reader, block, &turn, &is_met, err);
    else code = cut_block(reader, block, lines, &is_met, err);
    if (code) return code;
    if (is_met) turn = FEED_TURN_KNOWN;
    else if (turn == FEED_TURN_BLOCK && block->len == 0) turn = FEED_TURN_END;
    if (turn != FEED_TURN_TAIL) reader->announced = false;
    if (turn == FEED_TURN_KNOWN) reader->tail = false;
    if (turn != FEED_TURN_BLOCK) block->len = 0;
    *ret_turn = turn;
    return TB_OK;
}
