/* An entry's bytes. A grid: its metrics and slots as masks, then for each metric the value of
 * each slot. A list of countries: code, requests, bytes of each. Few counters and small ones, so
 * LEB128: an entry of one hour takes a dozen bytes where a chunk takes forty. */
#include "store/usage/entry.h"

#include "base/list.h"
#include "tollbook/calendar.h"

#include <endian.h>
#include <stdlib.h>
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
static bool take_long(const uint8_t **at, const uint8_t *end, uint64_t *ret)
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

/* If eight bytes can be read: without a branch on the value's length, which cannot be predicted. The bytes after its last
 * one are masked, and the groups of seven bits are joined two, four and eight bytes at a time. */
static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
    uint64_t w;
    if (end - *at < 8) return take_long(at, end, ret);
    memcpy(&w, *at, sizeof w);
    w = le64toh(w);
    const uint64_t last = ~w & UINT64_C(0x8080808080808080);
    if (!last) return take_long(at, end, ret);
    *at += (__builtin_ctzll(last) + 1) / 8;
    w &= last ^ (last - 1);
    w = (w & UINT64_C(0x007f007f007f007f)) | (w & UINT64_C(0x7f007f007f007f00)) >> 1;
    w = (w & UINT64_C(0x00003fff00003fff)) | (w & UINT64_C(0x3fff00003fff0000)) >> 2;
    *ret = (w & UINT64_C(0x000000000fffffff)) | (w & UINT64_C(0x0fffffff00000000)) >> 4;
    return true;
}

/* Past n of them, whatever they say: each ends with a byte that has no top bit. */
static bool skip_varints(const uint8_t **at, const uint8_t *end, unsigned n)
{
    uint64_t w;
    for (; n >= 8 && end - *at >= 8; *at += 8) {
        memcpy(&w, *at, sizeof w);
        n -= (unsigned)__builtin_popcountll(~w & UINT64_C(0x8080808080808080));
    }
    for (; n > 0 && *at < end; ++*at)
        n -= **at < 0x80;
    return n == 0;
}

/* --- grids --- */

size_t tb__entry_put_grid(const tb_grid *grid, uint8_t *out)
{
    uint32_t metrics = 0; /* those that hold something but zeros */
    for (uint32_t left = grid->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        uint64_t any = 0;
        for (uint32_t s = grid->slots; s; s &= s - 1)
            any |= grid->v[m][__builtin_ctz(s)];
        if (any) metrics |= TB_METRIC_BIT(m);
    }
    uint8_t *p = put_varint(put_varint(out, metrics), grid->slots);
    for (; metrics; metrics &= metrics - 1) {
        const uint64_t *column = grid->v[__builtin_ctz(metrics)];
        for (uint32_t s = grid->slots; s; s &= s - 1)
            p = put_varint(p, column[__builtin_ctz(s)]);
    }
    return (size_t)(p - out);
}

static bool take_masks(const uint8_t **at, const uint8_t *end, uint32_t *ret_metrics, uint32_t *ret_slots)
{
    uint64_t metrics = 0, slots = 0;
    if (!take_varint(at, end, &metrics) || !take_varint(at, end, &slots)) return false;
    *ret_metrics = (uint32_t)metrics;
    *ret_slots = (uint32_t)slots;
    return !(metrics & ~(uint64_t)TB_METRIC_ALL) && slots <= HOURS;
}

bool tb__entry_get_grid(const uint8_t *data, size_t len, tb_grid *ret_grid)
{
    const uint8_t *at = data, *end = data + len;
    uint32_t metrics, slots;
    if (!take_masks(&at, end, &metrics, &slots)) return false;
    ret_grid->metrics = metrics;
    ret_grid->slots = slots;
    for (; metrics; metrics &= metrics - 1) {
        uint64_t *column = ret_grid->v[__builtin_ctz(metrics)];
        memset(column, 0, sizeof ret_grid->v[0]);
        for (uint32_t s = slots; s; s &= s - 1)
            if (!take_varint(&at, end, &column[__builtin_ctz(s)])) return false;
    }
    return at == end;
}

bool tb__entry_add_grid(const uint8_t *data, size_t len, const tb__entry_buckets *to)
{
    const uint8_t *at = data, *end = data + len;
    uint32_t metrics, slots;
    if (!take_masks(&at, end, &metrics, &slots)) return false;
    for (; metrics; metrics &= metrics - 1) {
        const int m = __builtin_ctz(metrics);
        uint64_t *column = to->value[m], value;
        const bool larger = tb_metric_table[m].how == TB_HOW_MAX;
        for (uint32_t s = slots; s; s &= s - 1) {
            if (!take_varint(&at, end, &value)) return false;
            const int64_t bucket = to->first + (to->hourly ? __builtin_ctz(s) : 0);
            if (!column || bucket < 0 || bucket >= to->count) continue;
            column[bucket] = larger ? (value > column[bucket] ? value : column[bucket]) : column[bucket] + value;
        }
    }
    return at == end;
}

bool tb__entry_sum_grid(const uint8_t *data, size_t len, uint32_t metrics, uint32_t slots,
                      uint64_t sum[TB_METRIC_COUNT])
{
    const uint8_t *at = data, *end = data + len;
    uint32_t has, of;
    uint64_t value;
    if (!take_masks(&at, end, &has, &of)) return false;
    for (; has & metrics; has &= has - 1) { /* stops after the last wanted metric */
        const int m = __builtin_ctz(has);
        if (!(metrics >> m & 1)) {
            if (!skip_varints(&at, end, (unsigned)__builtin_popcount(of))) return false;
            continue;
        }
        for (uint32_t s = of; s; s &= s - 1) {
            if (!take_varint(&at, end, &value)) return false;
            if (slots >> __builtin_ctz(s) & 1) sum[m] += value;
        }
    }
    return true;
}

/* --- countries --- */

size_t tb__entry_put_list(const tb__country *list, size_t n, uint8_t *out)
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

bool tb__entry_get_list(const uint8_t *data, size_t len, tb__country *list, size_t *ret_n)
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

/* --- sums --- */

tb_code tb__entry_damaged(tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "usage_run",
                   "An entry of pending usage is damaged; restore a backup and ingest again.");
}

/* The sums of several grids, by metric and slot: defined where both masks have it. */
typedef struct grid_sums {
    uint32_t metrics, slots;
    uint64_t v[TB_METRIC_COUNT][TB_GRID_SLOTS];
} grid_sums;

/* Adds one grid. An overflow sets the top bit, since neither addend has it. */
static bool add_grid(grid_sums *j, const tb__lsm_entry *entry, uint64_t *ret_over)
{
    const uint8_t *at = entry->data, *end = at + entry->len;
    uint32_t metrics, slots;
    if (!take_masks(&at, end, &metrics, &slots)) return false;
    for (; metrics; metrics &= metrics - 1) {
        const unsigned m = (unsigned)__builtin_ctz(metrics);
        const bool larger = tb_metric_table[m].how == TB_HOW_MAX;
        for (uint32_t s = slots; s; s &= s - 1) {
            uint64_t *sum = &j->v[m][__builtin_ctz(s)], value = 0;
            if (!take_varint(&at, end, &value)) return false;
            *sum = larger ? (value > *sum ? value : *sum) : *sum + value;
            *ret_over |= *sum;
        }
    }
    return at == end;
}

static tb_code sums_overflow(const grid_sums *j, tb_error *err)
{
    for (uint32_t m = j->metrics; m; m &= m - 1)
        for (uint32_t s = j->slots; s; s &= s - 1)
            if (j->v[__builtin_ctz(m)][__builtin_ctz(s)] > TB_COUNTER_MAX)
                return tb_fail(err, TB_E_OVERFLOW, tb_metric_table[__builtin_ctz(m)].name,
                               "The counter %s would pass 2^63 - 1.", tb_metric_table[__builtin_ctz(m)].name);
    return TB_OK;
}

static tb_code sum_grids(const tb__lsm_entry *list, size_t n, uint8_t *out, size_t *ret_len, tb_error *err)
{
    grid_sums j;
    j.metrics = j.slots = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = list[i].data;
        uint32_t metrics, slots;
        if (!take_masks(&at, at + list[i].len, &metrics, &slots)) return tb__entry_damaged(err);
        j.metrics |= metrics;
        j.slots |= slots;
    }
    for (uint32_t m = j.metrics; m; m &= m - 1)
        for (uint32_t s = j.slots; s; s &= s - 1)
            j.v[__builtin_ctz(m)][__builtin_ctz(s)] = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        uint64_t over = 0;
        if (!add_grid(&j, &list[i], &over)) code = tb__entry_damaged(err);
        else if (over > TB_COUNTER_MAX) code = sums_overflow(&j, err);
    }
    if (code) return code;
    uint8_t *p = put_varint(put_varint(out, j.metrics), j.slots);
    for (uint32_t m = j.metrics; m; m &= m - 1)
        for (uint32_t s = j.slots; s; s &= s - 1)
            p = put_varint(p, j.v[__builtin_ctz(m)][__builtin_ctz(s)]);
    *ret_len = (size_t)(p - out);
    return TB_OK;
}

static tb_code sum_lists(const tb__lsm_entry *list, size_t n, uint8_t *out, size_t *ret_len, tb_error *err)
{
    tb__country sums[2][TB__COUNTRY_MAX], more[TB__COUNTRY_MAX];
    size_t n_sum = 0, n_more;
    tb_code code = tb__entry_get_list(list[0].data, list[0].len, sums[0], &n_sum) ? TB_OK : tb__entry_damaged(err);
    for (size_t i = 1; !code && i < n; i++) {
        if (!tb__entry_get_list(list[i].data, list[i].len, more, &n_more)) code = tb__entry_damaged(err);
        else code = tb__country_merge(sums[(i - 1) % 2], n_sum, more, n_more, sums[i % 2], &n_sum, err);
    }
    if (!code) *ret_len = tb__entry_put_list(sums[(n - 1) % 2], n_sum, out);
    return code;
}

const tb__lsm_client tb__usage_kinds[TB__LSM_KINDS] = {
    [TB__LSM_COUNTERS] = {"fold_run_chunks", "fold_owner_chunks", sum_grids},
    [TB__LSM_COUNTRIES] = {"fold_run_countries", "fold_owner_countries", sum_lists},
};

tb_code tb__entry_sum(tb__lsm_kind kind, const tb__lsm_entry *list, size_t n, uint8_t *out, size_t *ret_len,
                      tb_error *err)
{
    return tb__usage_kinds[kind].sum(list, n, out, ret_len, err);
}

/* --- pending counters of one series --- */

/* The position of the index, or where it would be inserted. They mostly come ascending, so the position after the last one is
 * tried first. */
static size_t pending_place(const tb__pending *p, int64_t index)
{
    size_t lo = p->next, hi = p->n;
    if (lo <= p->n && (lo == 0 || p->list[lo - 1].index < index) && (lo == p->n || p->list[lo].index >= index)) return lo;
    for (lo = 0; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        if (p->list[mid].index < index) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

tb_grid *tb__pending_find(const tb__pending *p, int64_t index)
{
    const size_t at = pending_place(p, index);
    return at < p->n && p->list[at].index == index ? p->list[at].grid : NULL;
}

tb_code tb__pending_at(tb__pending *p, int64_t index, tb_grid **ret_grid, tb_error *err)
{
    const size_t lo = pending_place(p, index);
    p->next = lo + 1;
    if (lo < p->n && p->list[lo].index == index) {
        *ret_grid = p->list[lo].grid;
        return TB_OK;
    }
    const size_t before = p->cap;
    tb_code code = tb__grow(&p->list, p->n, &p->cap, sizeof *p->list, err);
    if (code) return code;
    memset(p->list + before, 0, (p->cap - before) * sizeof *p->list);
    tb_grid *spare = p->list[p->n].grid ? p->list[p->n].grid : malloc(sizeof *spare);
    if (!spare) return tb_no_memory(err);
    memmove(p->list + lo + 1, p->list + lo, (p->n - lo) * sizeof *p->list);
    p->list[lo].index = index;
    p->list[lo].grid = spare;
    p->n++;
    tb_grid_clear(spare);
    *ret_grid = spare;
    return TB_OK;
}

void tb__pending_clear(tb__pending *p)
{
    p->n = 0;
}

void tb__pending_release(tb__pending *p)
{
    for (size_t i = 0; i < p->cap; i++)
        free(p->list[i].grid);
    free(p->list);
    *p = (tb__pending){0};
}

tb_code tb__pending_add(void *pending, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid more, *sum = NULL;
    if (!tb__entry_get_grid(entry->data, entry->len, &more)) return tb__entry_damaged(err);
    tb_code code = tb__pending_at(pending, entry->key.index, &sum, err);
    return code ? code : tb_grid_merge(sum, &more, err);
}

tb_code tb__pending_read(tb__pending *p, tb__lsm *lsm, int64_t first_key, int64_t last_key,
                         tb_error *err)
{
    const tb__lsm_span span = {tb__entry_key_of(first_key), tb__entry_key_of(last_key)};
    tb__pending_clear(p);
    return tb__lsm_each(lsm, TB__LSM_COUNTERS, span, tb__pending_add, p, err);
}

static tb_code merge_hours(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid more;
    if (!tb__entry_get_grid(entry->data, entry->len, &more)) return tb__entry_damaged(err);
    return tb_grid_merge(ctx, &more, err);
}

static tb_code fold_day(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid hours, day;
    if (!tb__entry_get_grid(entry->data, entry->len, &hours)) return tb__entry_damaged(err);
    tb_grid_clear(&day);
    tb_code code = tb_grid_fold(&day, (unsigned)tb_day_of_month(entry->key.index), &hours, err);
    return code ? code : tb_grid_merge(ctx, &day, err);
}

tb_code tb__pending_merge(tb__lsm *lsm, int64_t key, tb_grid *into, tb_error *err)
{
    const int64_t series = tb__key_series(key), index = tb__key_index(key);
    const bool hours = tb__key_grain(key) == TB__GRAIN_HOURS;
    const int64_t first = hours ? index : tb_month_first_day(index);
    const int64_t last = hours ? index : tb_month_first_day(index + 1) - 1;
    return tb__lsm_each(lsm, TB__LSM_COUNTERS, (tb__lsm_span){{series, first}, {series, last}},
                         hours ? merge_hours : fold_day, into, err);
}
