/* Packing: per column the smallest value is taken off and the rest stored in as many bits as the
 * largest difference needs. That is within a few per cent of the counters' entropy and unpacks
 * with one load, shift and mask a value. */
#include "store/usage/chunk.h"

#include "base/hash.h"

#include <string.h>

#define FORMAT 1

/* Widths are 0..57 and 64: a value at any bit offset 0..7 then lies within one 8-byte load. */
#define WIDTH_MAX 57

static void store32(uint8_t *out, uint32_t v)
{
    memcpy(out, &v, 4);
}

static uint32_t load32(const uint8_t *in)
{
    uint32_t v;
    memcpy(&v, in, 4);
    return v;
}

static uint32_t checksum(const uint8_t *data, size_t len, int64_t key)
{
    return (uint32_t)XXH3_64bits_withSeed(data, len, (uint64_t)key);
}

static unsigned width_of(uint64_t range)
{
    unsigned width = range ? 64 - (unsigned)__builtin_clzll(range) : 0;
    return width > WIDTH_MAX ? 64 : width;
}

/* The values of the used slots of a column. */
typedef struct gathered {
    uint64_t value[TB_GRID_SLOTS], min, max;
    unsigned n;
} gathered;

static void gather(const uint64_t *column, uint32_t slots, gathered *ret)
{
    uint64_t min = UINT64_MAX, max = 0;
    unsigned n = 0;
    for (; slots; slots &= slots - 1) {
        const uint64_t value = column[__builtin_ctz(slots)];
        ret->value[n++] = value;
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    ret->n = n;
    ret->min = min;
    ret->max = max;
}

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *out++ = (uint8_t)(v | 0x80);
    *out++ = (uint8_t)v;
    return out;
}

static uint8_t *put_packed(uint8_t *out, const uint64_t *values, unsigned n, uint64_t min,
                           unsigned width)
{
    if (width == 64) {
        for (unsigned i = 0; i < n; i++, out += 8) {
            uint64_t v = values[i] - min;
            memcpy(out, &v, 8);
        }
        return out;
    }
    /* Always stores eight bytes, even if fewer are needed: the trailer after the columns is longer. */
    uint64_t hold = 0;
    unsigned bits = 0; /* bits of hold in use, below 8 between values */
    _Static_assert(TB__CHUNK_TRAILER >= sizeof hold, "the last column's end");
    for (unsigned i = 0; i < n; i++) {
        hold |= (values[i] - min) << bits;
        memcpy(out, &hold, sizeof hold);
        bits += width;
        out += bits / 8;
        hold = bits < 64 ? hold >> (bits & ~7u) : 0;
        bits %= 8;
    }
    return bits ? out + 1 : out;
}

/* One column, or nothing where all its values are zero; *ret_max: the largest. */
static uint8_t *put_column(uint8_t *out, const uint64_t *column, uint32_t slots, uint64_t *ret_max)
{
    gathered g;
    gather(column, slots, &g);
    *ret_max = g.max;
    if (g.max == 0) return out;
    unsigned width = width_of(g.max - g.min);
    *out++ = (uint8_t)width;
    out = put_varint(out, g.min);
    return put_packed(out, g.value, g.n, g.min, width);
}

size_t tb__chunk_encode_most(const tb_grid *grid, int64_t key, uint8_t *out, uint64_t *most)
{
    uint8_t *p = out;
    uint32_t metrics = 0;
    for (uint32_t left = grid->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        uint64_t max;
        uint8_t *end = put_column(p, grid->v[m], grid->slots, &max);
        if (end != p) metrics |= TB_METRIC_BIT(m);
        if (max > *most && tb_metric_table[m].how == TB_HOW_SUM) *most = max;
        p = end;
    }
    store32(p, grid->slots);
    store32(p + 4, metrics);
    p[8] = FORMAT;
    p += 9;
    store32(p, checksum(out, (size_t)(p - out), key));
    return (size_t)(p - out) + 4;
}

size_t tb__chunk_encode(const tb_grid *grid, int64_t key, uint8_t *out)
{
    uint64_t most = 0;
    return tb__chunk_encode_most(grid, key, out, &most);
}

/* A checked chunk: where its columns are. */
typedef struct view {
    const uint8_t *at, *end; /* columns; end is where the trailer starts */
    uint32_t slots, metrics;
    unsigned n;
} view;

static tb_code corrupt(tb_error *err, int64_t key)
{
    return tb_fail(err, TB_E_CORRUPT, "chunk",
                   "Chunk %lld (series %lld) is damaged; restore a backup and ingest again.",
                   (long long)key, (long long)tb__key_series(key));
}

static tb_code open_view(const uint8_t *data, size_t len, int64_t key, view *ret, tb_error *err)
{
    if (!data || len < TB__CHUNK_TRAILER) return corrupt(err, key);
    const uint8_t *trailer = data + len - TB__CHUNK_TRAILER;
    if (load32(trailer + 9) != checksum(data, len - 4, key) || trailer[8] != FORMAT)
        return corrupt(err, key);
    *ret = (view){data, trailer, load32(trailer), load32(trailer + 4), 0};
    ret->n = (unsigned)__builtin_popcount(ret->slots);
    return ret->metrics & ~TB_METRIC_ALL ? corrupt(err, key) : TB_OK;
}

/* A column's head. */
typedef struct column {
    const uint8_t *packed;
    uint64_t min;
    unsigned width;
} column;

/* Reads the next column's head and steps over its bits; false where they do not fit. */
static bool next_column(view *v, column *ret)
{
    if (v->at >= v->end) return false;
    unsigned width = *v->at++;
    uint64_t min = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (v->at >= v->end || shift > 63) return false;
        uint8_t byte = *v->at++;
        min |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    size_t bytes = ((size_t)v->n * width + 7) / 8;
    if ((width > WIDTH_MAX && width != 64) || bytes > (size_t)(v->end - v->at)) return false;
    *ret = (column){v->at, min, width};
    v->at += bytes;
    return true;
}

static uint64_t load64(const uint8_t *in)
{
    uint64_t v;
    memcpy(&v, in, 8);
    return v;
}

/* out[i] = min + the i-th number, i < n: the inner loop of every answer. Up to 8 bytes from the start of
 * the last number are read, so memory must extend that far. */
static void unpack(const column *c, unsigned n, uint64_t *out)
{
    const uint64_t mask = c->width == 64 ? UINT64_MAX : (UINT64_C(1) << c->width) - 1;
    for (unsigned i = 0, bit = 0; i < n; i++, bit += c->width)
        out[i] = c->min + (load64(c->packed + (bit >> 3)) >> (bit & 7) & mask);
}

/* Spreads n values over the slots; slots that are not there stay as they are. */
static void scatter(const uint64_t *values, uint32_t slots, unsigned first, unsigned count,
                    uint64_t *out)
{
    for (unsigned i = 0; slots; slots &= slots - 1, i++) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        if (slot - first < count) out[slot - first] = values[i];
    }
}

tb_code tb__chunk_decode(const uint8_t *data, size_t len, int64_t key, tb_grid *grid, tb_error *err)
{
    view v;
    tb_code code = open_view(data, len, key, &v, err);
    if (code) return code;
    for (uint32_t left = v.metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        uint64_t values[TB_GRID_SLOTS];
        column c;
        if (!next_column(&v, &c)) return corrupt(err, key);
        unpack(&c, v.n, values);
        memset(grid->v[m], 0, sizeof grid->v[m]);
        scatter(values, v.slots, 0, TB_GRID_SLOTS, grid->v[m]);
    }
    grid->metrics = v.metrics;
    grid->slots = v.slots;
    return TB_OK;
}

tb_code tb__chunk_columns(const uint8_t *data, size_t len, int64_t key, uint32_t metrics,
                          unsigned first, unsigned count,
                          uint64_t *const column_out[TB_METRIC_COUNT], size_t at, tb_error *err)
{
    view v;
    tb_code code = open_view(data, len, key, &v, err);
    if (code) return code;
    bool whole = first == 0 && v.n == count && v.slots == (uint32_t)((UINT64_C(1) << count) - 1);
    for (uint32_t left = v.metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        uint64_t values[TB_GRID_SLOTS];
        column c;
        if (!next_column(&v, &c)) return corrupt(err, key);
        if (!(metrics & TB_METRIC_BIT(m))) continue;
        if (whole) {
            unpack(&c, v.n, column_out[m] + at);
        } else {
            unpack(&c, v.n, values);
            scatter(values, v.slots, first, count, column_out[m] + at);
        }
    }
    return TB_OK;
}
