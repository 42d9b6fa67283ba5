#include "feed/known_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 << 10)
#define NOTE_LENGTH 1                            /* no log has a rung of this length */
#define PLAIN_SEED  UINT64_C(0x706c61696e206c67) /* real options have this seed only by chance */

tb_hash128 feed_known_options_head(tb_text beginning)
{
    return feed_hash_head(PLAIN_SEED, true, beginning.data, beginning.len);
}

feed_log_options feed_log_options_of(const tb_log_layout *layout)
{
    return (feed_log_options){feed_hash_seed(TB_BATCH_LOG, layout), tb_log_layout_heads(layout),
                          feed_hash_options(layout)};
}

void feed_log_options_describe(feed_log_options own, feed_log_options other, char text[FEED_OPTIONS_TEXT])
{
    static const char *const names[FEED_OPTIONS] = {"format", "map", "zone", "region"};
    const uint64_t mask = (UINT64_C(1) << FEED_OPTION_BITS) - 1,
                   differ = own.options ^ other.options;
    int n = snprintf(text, FEED_OPTIONS_TEXT, "another");
    const char *before = " ";
    for (int i = 0; own.options && other.options && i < FEED_OPTIONS; i++) {
        if (!(differ >> (i * FEED_OPTION_BITS) & mask)) continue;
        n += snprintf(text + n, FEED_OPTIONS_TEXT - (size_t)n, "%s%s", before, names[i]);
        before = " and ";
    }
    if (*before == ' ' && before[1] == 0)
        snprintf(text, FEED_OPTIONS_TEXT, "another format, map, zone or region");
}

/* Decodes the notes, which are stored as rungs. A pipe log needs none. */
static void take_notes(const tb_rung *rungs, size_t n, feed_known_options *ret)
{
    ret->list[0] = feed_log_options_of(&(tb_log_layout){.format = TB_FORMAT_PIPE});
    ret->n = 1;
    for (size_t i = 0; i < n && ret->n < FEED_KNOWN_OPTIONS_MAX && rungs[i].length == NOTE_LENGTH; i++)
        ret->list[ret->n++] =
            (feed_log_options){rungs[i].hash.high, rungs[i].hash.low & 1, rungs[i].hash.low >> 1};
}

bool feed_known_options_has(const feed_known_options *options, uint64_t seed)
{
    for (size_t i = 0; i < options->n; i++)
        if (options->list[i].seed == seed) return true;
    return false;
}

bool feed_identifies_log(uint64_t bytes, uint64_t lines, bool taken)
{
    return taken && bytes >= FEED_IDENTIFY_BYTES && lines >= FEED_IDENTIFY_LINES;
}

tb_code feed_known_options_read(tb_store *store, tb_hash128 plain, feed_known_options *ret, tb_error *err)
{
    tb_rung *rungs = NULL;
    size_t n = 0;
    *ret = (feed_known_options){.plain = plain};
    tb_code code = tb_store_rungs_by_head(store, plain, &rungs, &n, err);
    take_notes(rungs, n, ret);
    free(rungs);
    return code;
}

tb_code feed_known_options_add(tb_store *store, tb_hash128 plain, feed_log_options options, tb_error *err)
{
    const tb_rung note = {NOTE_LENGTH, {.high = options.seed, .low = options.options << 1 | options.heads}};
    return tb_store_add_rungs(store, plain, &note, 1, err);
}

/* --- how much is known --- */

/* The result for one set of options. */
typedef struct looked {
    tb_hash128 head;
    uint64_t sum; /* feed_known_sum */
    feed_other_options found;
} looked;

/* Whether a line ends after byte `at`, where another one does. */
static bool has_line_after(tb_text text, uint64_t at)
{
    const bool ended = at > 0 && text.data[at - 1] == '\n';
    if (!ended && at < text.len && text.data[at] == '\r') at++;
    if (!ended && at < text.len && text.data[at] == '\n') at++;
    return at < text.len && memchr(text.data + at, '\n', text.len - (size_t)at);
}

/* Reads the beginning as a separate log and measures how much of it is known: enough, or all its lines, or too little
 * to tell it from others. Takes over the lists of `known`. */
static tb_code measure(tb_text beginning, feed_log_options as, const feed_log_known *known,
                       feed_other_options *ret, tb_error *err)
{
    feed_source *source = NULL;
    feed_reader reader = {0};
    bool taken = false;
    for (size_t i = 0; i < known->n; i++)
        taken |= known->list[i].accepted > 0;
    tb_code code =
        feed_source_memory(beginning.data, beginning.len, FEED_PLAIN, SIZE_MAX, &source, err);
    if (!code) code = feed_reader_init(&reader, source, as.seed, BLOCK_BYTES, true, err);
    feed_reader_expect(&reader, known->list, known->n);
    feed_reader_expect_rungs(&reader, known->rungs, known->n_rungs);
    if (!code) code = feed_reader_skip_known(&reader, err);
    if (!code) {
        const feed_known *found = &reader.known;
        const feed_rungs *rungs = &reader.rungs;
        const uint64_t rung = reader.earlier && rungs->n_own ? rungs->own[rungs->n_own - 1].length : 0;
        *ret = (feed_other_options){.as = as, .bytes = found->bytes, .sure = found->bytes, .likely = true};
        if (rung > ret->sure) ret->sure = rung;
        if (reader.earlier) {
            ret->bytes = reader.at;
            ret->tells = feed_identifies_log(ret->sure, FEED_IDENTIFY_LINES, taken);
        } else {
            const bool all = found->lines >= FEED_IDENTIFY_LINES && !has_line_after(beginning, found->bytes);
            ret->tells = feed_identifies_log(ret->sure, found->lines, found->taken) || (all && found->taken);
        }
    }
    feed_reader_release(&reader);
    feed_source_close(source);
    return code;
}

/* How much of the reader's log is known under these options. */
static tb_code look_under(const feed_known_source *known_source, feed_reader *reader, feed_log_options as, looked *ret,
                       tb_error *err)
{
    feed_log_known known = {0};
    const tb_text line = feed_reader_beginning(reader);
    *ret = (looked){.head = feed_hash_head(as.seed, as.heads, line.data, line.len)};
    tb_code code = known_source->known(known_source->ctx, ret->head, 0, &known, err);
    if (!code) ret->sum = feed_known_sum(known.list, known.n);
    if (!code && known.n) code = feed_reader_look(reader, FEED_IDENTIFY_WINDOW, err);
    if (!code && known.n)
        return measure(feed_reader_beginning(reader), as, &known, &ret->found, err);
    free(known.list);
    free(known.rungs);
    return code;
}

/* Whether the log has only head lines (feed_hash_head), which do not count and are the same in many logs. */
static bool only_heads(const feed_reader *reader)
{
    const tb_text text = feed_reader_beginning(reader);
    const char *line = text.data, *end = text.data + text.len;
    if (!reader->heads || text.len >= TB_HEAD) return false;
    while (line < end && *line == '#') {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    return line == end;
}

tb_code feed_known_options_find(const feed_known_source *known_source, feed_reader *reader, feed_known_options *ret_notes,
                           feed_other_options *ret, tb_error *err)
{
    feed_log_known notes = {0};
    *ret = (feed_other_options){.bytes = 0};
    *ret_notes = (feed_known_options){.n = 0};
    tb_code code = feed_reader_look(reader, TB_HEAD, err);
    if (code || only_heads(reader)) return code;
    *ret_notes = (feed_known_options){.plain = feed_known_options_head(feed_reader_beginning(reader)), .looked = true};
    code = known_source->known(known_source->ctx, ret_notes->plain, 0, &notes, err);
    take_notes(notes.rungs, notes.n_rungs, ret_notes);
    free(notes.list);
    free(notes.rungs);
    for (size_t i = 0; !code && i < ret_notes->n; i++) {
        looked one;
        if (ret_notes->list[i].seed == reader->seed) continue;
        code = look_under(known_source, reader, ret_notes->list[i], &one, err);
        if (code) break;
        ret_notes->heads[i] = one.head;
        ret_notes->seen += one.sum;
        const bool likely = ret->likely || one.found.likely;
        if (one.found.tells && one.found.bytes > ret->bytes) *ret = one.found;
        ret->likely = likely;
    }
    return code;
}

bool feed_should_yield(const feed_other_options *other, feed_log_options own, uint64_t bytes)
{
    if (!other->tells) return false;
    const bool more = other->bytes > bytes && other->bytes > other->own;
    return more || (other->bytes == other->own && other->as.seed < own.seed);
}

tb_code feed_known_options_find_in(const feed_known_source *known_source, tb_text beginning, feed_log_options own,
                              feed_other_options *ret, tb_error *err)
{
    feed_source *source;
    feed_reader reader;
    feed_known_options notes;
    tb_code code =
        feed_source_memory(beginning.data, beginning.len, FEED_PLAIN, SIZE_MAX, &source, err);
    if (code) return code;
    code = feed_reader_init(&reader, source, own.seed, BLOCK_BYTES, true, err);
    reader.heads = own.heads;
    looked mine = {.found = {.bytes = 0}};
    if (!code) code = feed_known_options_find(known_source, &reader, &notes, ret, err);
    if (!code && ret->tells) code = look_under(known_source, &reader, own, &mine, err);
    ret->own = mine.found.bytes;
    feed_reader_release(&reader);
    feed_source_close(source);
    return code;
}

/* --- in a store --- */

static tb_code known_here(void *ctx, tb_hash128 head, uint64_t from, feed_log_known *ret,
                          tb_error *err)
{
    (void)from; /* 0 */
    tb_code code = tb_store_known_before(ctx, TB_BATCH_LOG, head, FEED_IDENTIFY_WINDOW, &ret->list,
                                         &ret->n, err);
    return code ? code : tb_store_rungs_by_head(ctx, head, &ret->rungs, &ret->n_rungs, err);
}

tb_code feed_known_options_refuse(feed_log_options own, const feed_other_options *other, tb_error *err)
{
    char another[FEED_OPTIONS_TEXT];
    feed_log_options_describe(own, other->as, another);
    return tb_fail(err, TB_E_OTHER_OPTIONS, NULL,
                   "Its first %llu bytes were taken in before, under %s: nothing more of it is "
                   "taken. Go on with the options of then, or withdraw it with them first. "
                   "A batch id (--batch, Idempotency-Key) counts it once more.",
                   (unsigned long long)other->sure, another);
}

tb_code feed_known_options_check(tb_store *store, feed_reader *reader, feed_log_options own,
                            feed_known_options *ret, tb_error *err)
{
    const feed_known_source known_source = {store, known_here};
    feed_other_options other;
    looked mine;
    tb_code code = feed_known_options_find(&known_source, reader, ret, &other, err);
    if (code || !other.tells) return code;
    code = look_under(&known_source, reader, own, &mine, err);
    return code || mine.found.bytes >= other.bytes ? code : feed_known_options_refuse(own, &other, err);
}

tb_code feed_known_options_unchanged(tb_store *store, const feed_known_options *options, bool *ret_so,
                           tb_error *err)
{
    feed_known_options now;
    tb_code code = feed_known_options_read(store, options->plain, &now, err);
    *ret_so = !code && now.n == options->n;
    for (size_t i = 0; *ret_so && options->looked && i < options->n; i++) {
        tb_known *list = NULL;
        size_t n = 0; /* no head was computed for the reader's own options: nothing is known under it */
        code = tb_store_known_before(store, TB_BATCH_LOG, options->heads[i], FEED_IDENTIFY_WINDOW,
                                     &list, &n, err);
        now.seen += feed_known_sum(list, n);
        free(list);
        *ret_so &= !code;
    }
    *ret_so &= !options->looked || now.seen == options->seen;
    return code;
}
