/* The known prefix of an input, while a reader passes over its bytes: the candidates are the known segments with the input's
 * head, in the order of their starts. One that starts within the known prefix and ends where the running hash is its own
 * makes the prefix longer. Rungs tell an earlier copy: an input that agrees with a known log up to a rung, and ends before
 * the next one. */
#include "feed/prefix.h"

#include <stdlib.h>

uint64_t feed_known_sum(const tb_known *list, size_t n)
{
    uint64_t sum = n;
    for (size_t i = 0; i < n; i++)
        sum = sum * UINT64_C(0x9E3779B97F4A7C15) + (list[i].hash.low ^ list[i].length);
    return sum;
}

/* After the known prefix has grown: candidates that end within it move before `first`, so that a log of many segments is
 * searched once and not once a segment. The others keep their order. */
static void drop_passed(feed_known *known)
{
    size_t end = known->first;
    while (end < known->n && known->list[end].start <= known->bytes)
        end++;
    size_t to = end;
    for (size_t i = end; i > known->first; i--)
        if (known->list[i - 1].length > known->bytes) known->list[--to] = known->list[i - 1];
    known->first = to;
}

uint64_t feed_prefix_next(const feed_reader *reader)
{
    const feed_known *known = &reader->known;
    uint64_t least = 0;
    for (size_t i = known->first; i < known->n && known->list[i].start <= known->bytes; i++) {
        uint64_t length = known->list[i].length;
        if (length > reader->at && (least == 0 || length < least) && feed_source_reaches(reader->source, length))
            least = length;
    }
    return least;
}

bool feed_prefix_met(feed_reader *reader, bool whole)
{
    feed_known *known = &reader->known;
    tb_hash128 hash = feed_hash_value(reader->hash);
    for (size_t i = known->first; i < known->n && known->list[i].start <= known->bytes; i++) {
        const tb_known *one = &known->list[i];
        if (one->length != reader->at || !feed_hash_same(one->hash, hash)) continue;
        if (one->accepted == 0 && reader->last != '\n' && !whole) continue;
        known->bytes = one->length;
        known->lines = one->lines;
        known->final = one->final;
        known->taken |= one->accepted > 0;
        drop_passed(known);
        feed_hash_copy(reader->mark, reader->hash);
        return true;
    }
    return false;
}

void feed_reader_expect(feed_reader *reader, tb_known *list, size_t n)
{
    free(reader->known.list);
    reader->known.list = list;
    reader->known.n = n;
    reader->known.first = 0;
}

void feed_reader_expect_rungs(feed_reader *reader, tb_rung *list, size_t n)
{
    free(reader->rungs.known);
    reader->rungs.known = list;
    reader->rungs.n_known = n;
}

bool feed_reader_has_candidates(const feed_reader *reader)
{
    return feed_prefix_next(reader) != 0;
}

/* --- an earlier copy --- */

static const tb_rung *last_rung(const feed_reader *reader)
{
    return reader->rungs.n_own ? &reader->rungs.own[reader->rungs.n_own - 1] : NULL;
}

/* Whether a known log, as far as this input agrees with it, continues past `at`. */
static bool continues(const feed_reader *reader, uint64_t at)
{
    const feed_known *known = &reader->known;
    for (size_t i = known->first; i < known->n && known->list[i].start <= known->bytes; i++)
        if (known->list[i].length > at) return true;
    return false;
}

/* Whether the end of a known segment or a known rung lies past `from` and not past `to`. Refused last lines do not count. */
static bool point_between(const feed_reader *reader, uint64_t from, uint64_t to)
{
    const feed_known *known = &reader->known;
    for (size_t i = known->first; i < known->n; i++)
        if (known->list[i].length > from && known->list[i].length <= to &&
            known->list[i].accepted > 0)
            return true;
    for (size_t i = 0; i < reader->rungs.n_known; i++)
        if (reader->rungs.known[i].length > from && reader->rungs.known[i].length <= to)
            return true;
    return false;
}

/* Whether a known segment starts at the end of the known part and goes past `at`. */
static bool segment_follows(const feed_reader *reader, uint64_t at)
{
    const feed_known *known = &reader->known;
    for (size_t i = known->first; i < known->n; i++)
        if (known->list[i].start == known->bytes && known->list[i].length > at) return true;
    return false;
}

bool feed_reader_earlier(const feed_reader *reader)
{
    uint64_t end = reader->at + reader->waiting, from = reader->known.bytes;
    const tb_rung *last = last_rung(reader);
    if (end == from || !continues(reader, end)) return false;
    if (last && last->length > from) {
        if (!feed_rungs_know(&reader->rungs, last)) return false;
        from = last->length;
    } else if (from == 0 || !segment_follows(reader, end)) {
        return false;
    }
    return !point_between(reader, from, end);
}

bool feed_prefix_may_be_earlier(const feed_reader *reader)
{
    const tb_rung *last = last_rung(reader);
    if (reader->rungs.n_known == 0 || !continues(reader, reader->at)) return false;
    return !last || last->length <= reader->known.bytes || feed_rungs_know(&reader->rungs, last);
}
