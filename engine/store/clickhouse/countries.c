/* Pending rows of countries: those of one zone, day and country are joined into one row, whichever batches added them. Rows before
 * the mark are committed together or not at all, so they may have one batch's id. */
#include "store/clickhouse/private.h"

#include <stdlib.h>
#include <string.h>

/* A row as batch.c puts it: zone, day, country; the batch; requests, bytes. */
enum { ROW = 38, KEY = 14, BATCH = 14, REQUESTS = 22, BYTES = 30 };
enum { AHEAD = 32 }; /* rows */

static uint64_t number_at(const char *row, size_t at)
{
    uint64_t value;
    memcpy(&value, row + at, sizeof value);
    return value;
}

static uint64_t hash_of(const char *row)
{
    return tb__hash(number_at(row, 0) * UINT64_C(0xC2B2AE3D27D4EB4F) ^ number_at(row, KEY - 8));
}

static uint64_t hash_at(const void *rows, uint32_t i)
{
    return hash_of((const char *)rows + (size_t)i * ROW);
}

/* Batches of one span, that is: their rows lie in one partition. */
TB__INLINE bool same_country(const void *rows, uint32_t i, const void *key)
{
    const char *a = (const char *)rows + (size_t)i * ROW, *b = key;
    return memcmp(a, b, KEY) == 0 && number_at(a, BATCH) >> TB__CH_ID_BITS == number_at(b, BATCH) >> TB__CH_ID_BITS;
}

static void add_counters(char *to, const char *row)
{
    for (size_t at = REQUESTS; at < ROW; at += sizeof(uint64_t)) {
        const uint64_t sum = number_at(to, at) + number_at(row, at); /* cell_max bounds it */
        memcpy(to + at, &sum, sizeof sum);
    }
}

/* Prefetches the rows that the next ones are compared with: a cache miss for each would be most of the time. */
static void fetch(const tb__index *index, const tb_buf *rows, size_t at, uint64_t hash[AHEAD])
{
    size_t n = 0;
    for (; n < AHEAD && at < rows->len; at += ROW) {
        hash[n] = hash_of(rows->data + at);
        tb__index_prefetch(index, hash[n++]);
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t *slots = index->slots + tb__index_home(index, hash[i]);
        unsigned empty;
        const unsigned match = tb__bucket_match(slots, tb__index_tag(hash[i]), &empty);
        if (!match) continue;
        const char *row = rows->data + (size_t)((slots[__builtin_ctz(match)] & 0xffffff) - 1) * ROW;
        __builtin_prefetch(row, 1);
        __builtin_prefetch(row + ROW - 1, 1);
    }
}

/* Without memory rows are not joined: the last ones are not in the table then. */
void tb__ch_pool_rows(tb__index *index, tb_buf *rows, size_t from)
{
    uint64_t hash[AHEAD];
    if (rows->failed || from >= rows->len) return;
    if (!from) tb__index_clear(index);
    if ((size_t)index->used * ROW != from) return;
    size_t at = from, i = 0;
    for (; at < rows->len && tb__index_room(index, rows->data, hash_at, NULL); at += ROW, i = (i + 1) % AHEAD) {
        const char *row = rows->data + at;
        uint32_t slot;
        if (i == 0) fetch(index, rows, at, hash);
        const uint32_t there = tb__index_find(index, hash[i], same_country, rows->data, row, &slot);
        if (there != UINT32_MAX) {
            add_counters(rows->data + (size_t)there * ROW, row);
            continue;
        }
        memmove(rows->data + (size_t)index->used * ROW, row, ROW);
        tb__index_put(index, slot, hash[i], index->used);
    }
    const size_t left = rows->len - at, joined = (size_t)index->used * ROW;
    memmove(rows->data + joined, rows->data + at, left);
    rows->len = joined + left;
}
