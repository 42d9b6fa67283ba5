#include "base/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_SLOTS ((size_t)64)
#define FIRST_BYTES ((size_t)4096)
#define SAMPLE      ((size_t)1024) /* counts that the median is taken of */

void tb__tally_init(tb__tally *t)
{
    *t = (tb__tally){.seed = tb__hash_seed(), .max_values = TB__TALLY_VALUES, .max_bytes = TB__TALLY_BYTES};
}

void tb__tally_release(tb__tally *t)
{
    free(t->slot);
    free(t->text);
    *t = (tb__tally){.slot = NULL};
}

/* The value's slot, or the free one where it belongs. */
static tb__tally_entry *value_slot(const tb__tally *t, uint64_t key, tb_text value)
{
    for (size_t i = key & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
        tb__tally_entry *e = &t->slot[i];
        if (!e->count || (e->key == key && e->len == value.len &&
                          (!value.len || memcmp(t->text + e->at, value.data, value.len) == 0)))
            return e;
    }
}

static tb_code grow_slots(tb__tally *t, tb_error *err)
{
    const size_t n_slots = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
    tb__tally_entry *slot = calloc(n_slots, sizeof *slot);
    if (!slot) return tb_no_memory(err);
    for (size_t i = 0; i < t->n_slots; i++) {
        size_t to = t->slot[i].key & (n_slots - 1);
        if (!t->slot[i].count) continue;
        while (slot[to].count)
            to = (to + 1) & (n_slots - 1);
        slot[to] = t->slot[i];
    }
    free(t->slot);
    t->slot = slot;
    t->n_slots = n_slots;
    return TB_OK;
}

static tb_code grow_text(tb__tally *t, size_t more, tb_error *err)
{
    size_t room = t->room ? t->room : FIRST_BYTES;
    while (room - t->len < more)
        room *= 2;
    char *text = room == t->room ? t->text : realloc(t->text, room);
    if (!text) return tb_no_memory(err);
    t->text = text;
    t->room = room;
    return TB_OK;
}

static int by_count(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The median of the counts, or of some of them: at least one entry has no greater count. */
static uint64_t median_count(const tb__tally *t)
{
    uint64_t sample[SAMPLE];
    size_t n = 0;
    for (size_t i = 0; i < t->n_slots && n < SAMPLE; i++) /* hashed, so these are a random sample */
        if (t->slot[i].count) sample[n++] = t->slot[i].count;
    qsort(sample, n, sizeof *sample, by_count);
    return sample[n / 2];
}

/* Drops about half of the values. */
static tb_code drop_rare(tb__tally *t, tb_error *err)
{
    const uint64_t less = median_count(t);
    tb__tally_entry *slot = calloc(t->n_slots, sizeof *slot);
    char *text = malloc(t->room);
    size_t n = 0, len = 0;
    if (!slot || !text) {
        free(slot);
        free(text);
        return tb_no_memory(err);
    }
    for (size_t i = 0; i < t->n_slots; i++) {
        tb__tally_entry e = t->slot[i];
        if (e.count <= less) continue;
        size_t to = e.key & (t->n_slots - 1);
        while (slot[to].count)
            to = (to + 1) & (t->n_slots - 1);
        memcpy(text + len, t->text + e.at, e.len);
        e.count -= less;
        e.at = (uint32_t)len;
        len += e.len;
        slot[to] = e;
        n++;
    }
    free(t->slot);
    free(t->text);
    t->slot = slot;
    t->text = text;
    t->n = n;
    t->len = len;
    t->missed += less;
    return TB_OK;
}

tb_code tb__tally_add(tb__tally *t, tb_text value, uint64_t count, uint64_t bytes, tb_error *err)
{
    tb_code code = TB_OK;
    if (!t->n_slots && (code = grow_slots(t, err)) != TB_OK) return code;
    const uint64_t key = XXH3_64bits_withSeed(value.data, value.len, t->seed);
    tb__tally_entry *e = value_slot(t, key, value);
    if (e->count) {
        e->count += count;
        e->bytes += bytes;
        return TB_OK;
    }
    while (!code && t->n && (t->n >= t->max_values || t->len + value.len > t->max_bytes))
        code = drop_rare(t, err);
    if (!code && 2 * (t->n + 1) > t->n_slots) code = grow_slots(t, err);
    if (!code) code = grow_text(t, value.len, err);
    if (code) return code;
    e = value_slot(t, key, value);
    *e = (tb__tally_entry){key, count, bytes, (uint32_t)t->len, (uint32_t)value.len};
    if (value.len) memcpy(t->text + t->len, value.data, value.len);
    t->len += value.len;
    t->n++;
    return TB_OK;
}

static bool comes_before(const tb__tally *t, const tb__tally_entry *a, const tb__tally_entry *b)
{
    if (a->count != b->count) return a->count > b->count;
    const size_t len = a->len < b->len ? a->len : b->len;
    const int order = len ? memcmp(t->text + a->at, t->text + b->at, len) : 0;
    return order ? order < 0 : a->len < b->len;
}

size_t tb__tally_top(const tb__tally *t, size_t most, const tb__tally_entry **ret_top)
{
    size_t n = 0;
    for (size_t i = 0; most && i < t->n_slots; i++) {
        const tb__tally_entry *e = &t->slot[i];
        if (!e->count || (n == most && !comes_before(t, e, ret_top[n - 1]))) continue;
        size_t at = n < most ? n++ : n - 1;
        for (; at > 0 && comes_before(t, e, ret_top[at - 1]); at--)
            ret_top[at] = ret_top[at - 1];
        ret_top[at] = e;
    }
    return n;
}
