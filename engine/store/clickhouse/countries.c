/* Countries that wait: those of one zone and day are one row, whichever batches brought them. What is below the mark is committed
 * together or not at all, so it may be one batch's. */
#include "store/clickhouse/private.h"

#include <stdlib.h>
#include <string.h>

/* A row as batch.c puts it: zone, day, country; the batch; requests, bytes. */
enum { ROW = 38, KEY = 14, BATCH = 14, REQUESTS = 22, BYTES = 30 };

static uint64_t number_at(const char *row, size_t at)
{
    uint64_t value;
    memcpy(&value, row + at, sizeof value);
    return value;
}

static uint64_t hash_of(const char *row)
{
    const uint64_t zone = number_at(row, 0), rest = number_at(row, KEY - 8);
    uint64_t h = zone * UINT64_C(0xC2B2AE3D27D4EB4F) ^ rest * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 32) * UINT64_C(0x165667B19E3779F9);
    return h >> 32;
}

/* Batches of one span, that is: their rows lie in one partition. */
static bool same_country(const char *a, const char *b)
{
    return memcmp(a, b, KEY) == 0 && number_at(a, BATCH) >> TB__CH_ID_BITS == number_at(b, BATCH) >> TB__CH_ID_BITS;
}

/* The slot of a row that is there, or the empty one where it belongs. A slot holds a row's number + 1. */
static uint32_t *slot_of(const tb__ch_pool *pool, const char *rows, const char *row)
{
    size_t i = hash_of(row) & (pool->cap - 1);
    while (pool->slot[i] && !same_country(rows + (size_t)(pool->slot[i] - 1) * ROW, row))
        i = (i + 1) & (pool->cap - 1);
    return &pool->slot[i];
}

/* At most half full. */
static bool pool_room(tb__ch_pool *pool, const char *rows)
{
    if (pool->n * 2 < pool->cap) return true;
    tb__ch_pool wider = {.n = pool->n, .cap = pool->cap ? pool->cap * 2 : 4096};
    wider.slot = calloc(wider.cap, sizeof *wider.slot);
    if (!wider.slot) return false;
    for (size_t i = 0; i < pool->n; i++)
        *slot_of(&wider, rows, rows + i * ROW) = (uint32_t)i + 1;
    free(pool->slot);
    *pool = wider;
    return true;
}

static void add_counters(char *to, const char *row)
{
    for (size_t at = REQUESTS; at < ROW; at += sizeof(uint64_t)) {
        const uint64_t sum = number_at(to, at) + number_at(row, at); /* cell_max bounds it */
        memcpy(to + at, &sum, sizeof sum);
    }
}

/* Without memory for it rows stay as they are: the last ones are not in the table then, and nothing joins them. */
void tb__ch_pool_rows(tb__ch_pool *pool, tb_buf *rows, size_t from)
{
    if (rows->failed || from >= rows->len) return;
    if (!from && pool->slot) memset(pool->slot, 0, pool->cap * sizeof *pool->slot);
    if (!from) pool->n = 0;
    if (pool->n * ROW != from) return;
    size_t at = from;
    for (; at < rows->len && pool_room(pool, rows->data); at += ROW) {
        const char *row = rows->data + at;
        uint32_t *slot = slot_of(pool, rows->data, row);
        if (*slot) {
            add_counters(rows->data + (size_t)(*slot - 1) * ROW, row);
            continue;
        }
        memmove(rows->data + pool->n * ROW, row, ROW);
        *slot = (uint32_t)++pool->n;
    }
    const size_t left = rows->len - at;
    memmove(rows->data + pool->n * ROW, rows->data + at, left);
    rows->len = pool->n * ROW + left;
}
