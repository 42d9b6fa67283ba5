/* What an entry of a run says. A grid: its metrics and slots as masks, then for each metric the value of
 * each slot. A list of countries: code, requests, bytes of each. Few counters and small ones, so
 * LEB128: an entry of one hour takes a dozen bytes where a chunk takes forty. */
#include "store/usage/run.h"

#include <string.h>

#define HOURS 0xffffff /* the slots of a day */

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *out++ = (uint8_t)(v | 0x80);
    *out++ = (uint8_t)v;
    return out;
}

/* At most 63 bits: a counter's. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* --- grids --- */

/* The metrics that hold something but zeros in the grid's slots. */
static uint32_t used_metrics(const tb_grid *grid)
{
    uint32_t used = 0;
    for (uint32_t left = grid->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        uint64_t any = 0;
        for (uint32_t s = grid->slots; s; s &= s - 1)
            any |= grid->v[m][__builtin_ctz(s)];
        if (any) used |= TB_METRIC_BIT(m);
    }
    return used;
}

size_t tb__run_put_grid(const tb_grid *grid, uint8_t *out)
{
    uint32_t metrics = used_metrics(grid);
    uint8_t *p = put_varint(put_varint(out, metrics), grid->slots);
    for (; metrics; metrics &= metrics - 1) {
        const uint64_t *column = grid->v[__builtin_ctz(metrics)];
        for (uint32_t s = grid->slots; s; s &= s - 1)
            p = put_varint(p, column[__builtin_ctz(s)]);
    }
    return (size_t)(p - out);
}

bool tb__run_get_grid(const uint8_t *data, size_t len, tb_grid *ret_grid)
{
    const uint8_t *at = data, *end = data + len;
    uint64_t metrics, slots;
    if (!take_varint(&at, end, &metrics) || !take_varint(&at, end, &slots)) return false;
    if (metrics & ~(uint64_t)TB_METRIC_ALL || slots > HOURS) return false;
    ret_grid->metrics = (uint32_t)metrics;
    ret_grid->slots = (uint32_t)slots;
    for (; metrics; metrics &= metrics - 1) {
        uint64_t *column = ret_grid->v[__builtin_ctzll(metrics)];
        memset(column, 0, sizeof ret_grid->v[0]);
        for (uint32_t s = (uint32_t)slots; s; s &= s - 1)
            if (!take_varint(&at, end, &column[__builtin_ctz(s)])) return false;
    }
    return at == end;
}

bool tb__run_sum_grid(const uint8_t *data, size_t len, uint32_t metrics, uint32_t slots,
                      uint64_t sum[TB_METRIC_COUNT])
{
    const uint8_t *at = data, *end = data + len;
    uint64_t has, of = 0, value;
    if (!take_varint(&at, end, &has) || !take_varint(&at, end, &of)) return false;
    if (has & ~(uint64_t)TB_METRIC_ALL || of > HOURS) return false;
    for (; has & metrics; has &= has - 1) { /* behind the last that is wanted nothing is looked at */
        const int m = __builtin_ctzll(has);
        for (uint32_t s = (uint32_t)of; s; s &= s - 1) {
            if (!take_varint(&at, end, &value)) return false;
            if (metrics >> m & 1 && slots >> __builtin_ctz(s) & 1) sum[m] += value;
        }
    }
    return true;
}

/* --- countries --- */

size_t tb__run_put_list(const tb__country *list, size_t n, uint8_t *out)
{
    uint8_t *p = out;
    for (size_t i = 0; i < n; i++) {
        *p++ = (uint8_t)list[i].code;
        *p++ = (uint8_t)(list[i].code >> 8);
        p = put_varint(put_varint(p, list[i].requests), list[i].bytes);
    }
    return (size_t)(p - out);
}

static bool letters(uint16_t code)
{
    unsigned first = code >> 8, second = code & 0xff;
    return first >= 'A' && first <= 'Z' && second >= 'A' && second <= 'Z';
}

bool tb__run_get_list(const uint8_t *data, size_t len, tb__country *list, size_t *ret_n)
{
    const uint8_t *at = data, *end = data + len;
    size_t n = 0;
    for (; at < end; n++) {
        if (n == TB__COUNTRY_MAX || end - at < 2) return false;
        list[n].code = (uint16_t)(at[0] | at[1] << 8);
        at += 2;
        if (!letters(list[n].code) || (n > 0 && list[n].code <= list[n - 1].code)) return false;
        if (!take_varint(&at, end, &list[n].requests) || !take_varint(&at, end, &list[n].bytes))
            return false;
    }
    *ret_n = n;
    return true;
}

/* --- joining --- */

static tb_code entry_damaged(tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "usage_run",
                   "An entry of waiting usage is damaged; restore a backup and ingest again.");
}

/* A grid's bytes, taken value by value. */
typedef struct taking {
    const uint8_t *at, *end;
    uint32_t metrics, slots;
    bool bad;
} taking;

static taking take_grid(const uint8_t *data, size_t len)
{
    taking t = {data, data + len, 0, 0, false};
    uint64_t metrics = 0, slots = 0;
    t.bad = !take_varint(&t.at, t.end, &metrics) || !take_varint(&t.at, t.end, &slots) ||
            (metrics & ~(uint64_t)TB_METRIC_ALL) || slots > HOURS;
    t.metrics = (uint32_t)metrics;
    t.slots = (uint32_t)slots;
    return t;
}

/* The slots in which it has a value of the metric. */
static uint32_t slots_of(const taking *t, unsigned metric)
{
    return t->metrics >> metric & 1 ? t->slots : 0;
}

/* The next value, which is that of the slot; 0 where it has none. Most have one byte or two. */
static inline uint64_t take_value(taking *t, uint32_t slots, unsigned slot)
{
    uint64_t value = 0;
    if (!(slots >> slot & 1)) return 0;
    if (t->at < t->end && *t->at < 0x80) return *t->at++;
    if (!take_varint(&t->at, t->end, &value)) t->bad = true;
    return value;
}

/* Both hold their values by metric and slot, ascending, so they are joined as they are read. */
static tb_code join_grids(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                          size_t *ret_len, tb_error *err)
{
    taking x = take_grid(a, n_a), y = take_grid(b, n_b);
    const uint32_t slots = x.slots | y.slots;
    uint8_t *p = put_varint(put_varint(out, x.metrics | y.metrics), slots);
    for (uint32_t left = x.metrics | y.metrics; left && !x.bad && !y.bad; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        bool larger = tb_metric_table[m].how == TB_HOW_MAX;
        const uint32_t of_x = slots_of(&x, m), of_y = slots_of(&y, m);
        for (uint32_t s = slots; s; s &= s - 1) {
            unsigned slot = (unsigned)__builtin_ctz(s);
            uint64_t v = take_value(&x, of_x, slot), w = take_value(&y, of_y, slot);
            v = larger ? (v > w ? v : w) : v + w;
            if (v > TB_COUNTER_MAX)
                return tb_fail(err, TB_E_OVERFLOW, tb_metric_table[m].name,
                               "The counter %s would pass 2^63 - 1.", tb_metric_table[m].name);
            p = put_varint(p, v);
        }
    }
    if (x.bad || y.bad || x.at != x.end || y.at != y.end) return entry_damaged(err);
    *ret_len = (size_t)(p - out);
    return TB_OK;
}

static tb_code join_lists(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                          size_t *ret_len, tb_error *err)
{
    tb__country x[TB__COUNTRY_MAX], y[TB__COUNTRY_MAX], sum[TB__COUNTRY_MAX];
    size_t n_x, n_y, n;
    if (!tb__run_get_list(a, n_a, x, &n_x) || !tb__run_get_list(b, n_b, y, &n_y))
        return entry_damaged(err);
    tb_code code = tb__country_merge(x, n_x, y, n_y, sum, &n, err);
    if (!code) *ret_len = tb__run_put_list(sum, n, out);
    return code;
}

tb_code tb__run_join(tb__run_kind kind, const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                     uint8_t *out, size_t *ret_len, tb_error *err)
{
    return kind == TB__RUN_CHUNKS ? join_grids(a, n_a, b, n_b, out, ret_len, err)
                                  : join_lists(a, n_a, b, n_b, out, ret_len, err);
}
