#include "feed/readings.h"

#include <stdlib.h>

#define WINDOW      ((size_t)64 << 10)
#define BLOCK_BYTES ((size_t)16 << 10)
#define NOTE_LENGTH 1                            /* no log has such a rung */
#define PLAIN_SEED  UINT64_C(0x706c61696e206c67) /* no options have it but by chance */

tb_hash128 feed_readings_plain(tb_text beginning)
{
    return feed_hash_head(PLAIN_SEED, true, beginning.data, beginning.len);
}

void feed_readings_from(const tb_rung *rungs, size_t n, feed_readings *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < n && ret->n < FEED_READINGS_MAX && rungs[i].length == NOTE_LENGTH; i++)
        ret->list[ret->n++] = (feed_reading){rungs[i].hash.high, rungs[i].hash.low & 1};
}

bool feed_readings_have(const feed_readings *readings, uint64_t seed)
{
    for (size_t i = 0; i < readings->n; i++)
        if (readings->list[i].seed == seed) return true;
    return false;
}

bool feed_reading_fits(const feed_reader *reader)
{
    return reader->earlier || (reader->known.taken && reader->known.lines >= FEED_READING_LINES);
}

tb_code feed_readings_read(tb_store *store, tb_hash128 plain, feed_readings *ret, tb_error *err)
{
    tb_rung *rungs = NULL;
    size_t n = 0;
    ret->plain = plain;
    tb_code code = tb_store_rungs_by_head(store, plain, &rungs, &n, err);
    feed_readings_from(rungs, n, ret);
    free(rungs);
    return code;
}

tb_code feed_readings_note(tb_store *store, tb_hash128 plain, feed_reading reading, tb_error *err)
{
    const tb_rung note = {NOTE_LENGTH, {.high = reading.seed, .low = reading.heads}};
    return tb_store_add_rungs(store, plain, &note, 1, err);
}

static bool any_taken(const tb_known *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].accepted > 0) return true;
    return false;
}

/* Reads the beginning as a log of its own. The list is the reader's by now. */
static tb_code skip_known(tb_store *store, feed_reader *reader, tb_hash128 head, tb_known *list,
                          size_t n, tb_error *err)
{
    tb_rung *rungs;
    size_t n_rungs;
    feed_reader_expect(reader, list, n);
    tb_code code = tb_store_rungs_by_head(store, head, &rungs, &n_rungs, err);
    if (code) return code;
    feed_reader_expect_rungs(reader, rungs, n_rungs);
    return feed_reader_skip_known(reader, err);
}

/* How much of the beginning is known with these segments; 0: it is another log. */
static tb_code measure(tb_store *store, tb_text beginning, feed_reading as, tb_known *list,
                       size_t n, uint64_t *ret_bytes, tb_error *err)
{
    feed_source *source = NULL;
    feed_reader reader;
    const bool taken = any_taken(list, n);
    const tb_hash128 head = feed_hash_head(as.seed, as.heads, beginning.data, beginning.len);
    *ret_bytes = 0;
    tb_code code =
        feed_source_memory(beginning.data, beginning.len, FEED_PLAIN, SIZE_MAX, &source, err);
    if (!code) code = feed_reader_init(&reader, source, as.seed, BLOCK_BYTES, true, err);
    if (code) {
        feed_source_close(source);
        free(list);
        return code;
    }
    code = skip_known(store, &reader, head, list, n, err);
    if (!code && taken && feed_reading_fits(&reader))
        *ret_bytes = reader.earlier ? reader.at : reader.known.bytes;
    feed_reader_release(&reader);
    feed_source_close(source);
    return code;
}

/* The same, under the segments that there are. */
static tb_code look_as(tb_store *store, feed_reader *reader, feed_reading as, uint64_t *ret_bytes,
                       tb_error *err)
{
    tb_known *list;
    size_t n;
    const tb_text line = feed_reader_beginning(reader);
    const tb_hash128 head = feed_hash_head(as.seed, as.heads, line.data, line.len);
    *ret_bytes = 0;
    tb_code code = tb_store_known_before(store, TB_BATCH_LOG, head, WINDOW, &list, &n, err);
    if (code) return code;
    if (n) code = feed_reader_look(reader, WINDOW, err);
    if (!code && n)
        return measure(store, feed_reader_beginning(reader), as, list, n, ret_bytes, err);
    free(list);
    return code;
}

static tb_code refuse(uint64_t bytes, tb_error *err)
{
    return tb_fail(
        err, TB_E_OTHER_OPTIONS, NULL,
        "Its first %llu bytes were taken in before, under another format, map, region or zone: "
        "nothing of "
        "it is taken. Go on with the options of then, or withdraw it with them first. A batch id "
        "(--batch, Idempotency-Key) counts it once more.",
        (unsigned long long)bytes);
}

tb_code feed_readings_check(tb_store *store, feed_reader *reader, feed_readings *ret, tb_error *err)
{
    uint64_t own = 0, bytes = 0, one;
    tb_code code = feed_reader_look(reader, TB_HEAD, err);
    if (code) return code;
    const feed_reading as = {reader->seed, reader->heads};
    code = feed_readings_read(store, feed_readings_plain(feed_reader_beginning(reader)), ret, err);
    feed_reading others[FEED_READINGS_MAX + 1] = {{0, false}}; /* pipe logs */
    for (size_t i = 0; i < ret->n; i++)
        others[i + 1] = ret->list[i];
    for (size_t i = 0; !code && i <= ret->n; i++) {
        if (others[i].seed == as.seed) continue;
        code = look_as(store, reader, others[i], &one, err);
        if (!code && one > bytes) bytes = one;
    }
    if (!code && bytes) code = look_as(store, reader, as, &own, err);
    return code || own >= bytes ? code : refuse(bytes, err);
}
