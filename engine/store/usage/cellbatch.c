/* The wire format of a piece of a log that its sender summed up (tollbook/batches.h). It does not write to the store: the cells
 * are added to a rollup. Grids and lists of countries are encoded as in runs (entry.h). A byte before each part says what follows:
 * KEY_ZONE or KEY_HOST a key, the length of an edge location's code a day of the key, 1 a list of countries, and 0
 * the end of such parts. */
#include "tollbook/batches.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "intake/chars.h"
#include "rollup/grouped.h"
#include "store/usage/entry.h"

enum { KEY_NONE, KEY_ZONE, KEY_HOST };

#define HEAD 12 /* the magic bytes and the checksum */
#define OLDEST_DAY (TB_OLDEST_MS / 86400000)
#define HOUR_MS INT64_C(3600000)
#define HOST_LEN_MAX 255

static const char magic[4] = {'T', 'B', 'C', TB_CELLS_VERSION};

/* --- writing --- */

static void put_leb128(tb_buf *out, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    tb_buf_add(out, bytes, n);
}

static void put_mark(tb_buf *out, unsigned mark)
{
    const uint8_t byte = (uint8_t)mark;
    tb_buf_add(out, &byte, 1);
}

static void put_key(tb_buf *out, const tb_cell_key *key)
{
    put_mark(out, key->zone ? KEY_ZONE : KEY_HOST);
    put_leb128(out, key->zone ? (uint64_t)key->zone : key->host.len);
    if (!key->zone) tb_buf_add(out, key->host.data, key->host.len);
}

static void put_sized(tb_buf *out, const uint8_t *bytes, size_t len)
{
    put_leb128(out, len);
    tb_buf_add(out, bytes, len);
}

/* Days and countries come by zone, each in a different order: one of each is read ahead. */
typedef struct writing {
    tb_rollup_cursor *cursor;
    tb_grid grid;
    tb_rollup_day day;
    tb_rollup_country country;
    bool has_day, has_country;
    uint8_t entry[TB__ENTRY_MAX];
    tb_buf *out;
} writing;

static void next_day(writing *w)
{
    w->has_day = tb_rollup_next_day(w->cursor, &w->day, &w->grid) && w->day.scope == TB_ROLLUP_ZONE;
}

static void put_days(writing *w, int64_t zone)
{
    for (; w->has_day && w->day.id == zone; next_day(w)) {
        put_mark(w->out, (unsigned)w->day.edge_len);
        tb_buf_add(w->out, w->day.edge, w->day.edge_len);
        put_leb128(w->out, (uint64_t)w->day.day);
        put_sized(w->out, w->entry, tb__entry_put_grid(&w->grid, w->entry));
    }
    put_mark(w->out, 0);
}

static void put_countries(writing *w, int64_t zone)
{
    tb__country list[TB__COUNTRY_MAX];
    while (w->has_country && w->country.zone == zone) {
        const int64_t day = w->country.day;
        size_t n = 0;
        while (w->has_country && w->country.zone == zone && w->country.day == day) {
            list[n++] = (tb__country){w->country.country, w->country.requests, w->country.bytes};
            w->has_country = tb_rollup_next_country(w->cursor, &w->country);
        }
        put_mark(w->out, 1);
        put_leb128(w->out, (uint64_t)day);
        put_sized(w->out, w->entry, tb__entry_put_list(list, n, w->entry));
    }
    put_mark(w->out, 0);
}

static tb_code put_cells(tb_rollup *cells, const tb_text *hosts, tb_buf *out, tb_error *err)
{
    size_t n;
    writing *w = calloc(1, sizeof *w);
    tb_rollup_cursor *cursor = w ? tb_rollup_cursor_new(&cells, 1, NULL) : NULL;
    if (!cursor) {
        free(w);
        return tb_no_memory(err);
    }
    w->cursor = cursor;
    w->out = out;
    const int64_t *zones = tb__cursor_zones(cursor, &n);
    next_day(w);
    w->has_country = tb_rollup_next_country(cursor, &w->country);
    for (size_t i = 0; i < n; i++) {
        tb_cell_key key = {.zone = zones[i]};
        if (zones[i] < 0) key = (tb_cell_key){.host = hosts[-1 - zones[i]]};
        put_key(out, &key);
        put_days(w, zones[i]);
        put_countries(w, zones[i]);
    }
    put_mark(out, KEY_NONE);
    tb_code code = tb_rollup_cursor_check(cursor, err);
    tb_rollup_cursor_free(cursor);
    free(w);
    return code;
}

tb_code tb_cells_write(const tb_cell_batch *batch, tb_rollup *cells, const tb_text *hosts,
                       tb_buf *out, tb_error *err)
{
    const size_t at = out->len;
    uint64_t before = 0;
    tb_buf_add(out, magic, sizeof magic);
    tb_buf_add(out, "\0\0\0\0\0\0\0", HEAD - sizeof magic);
    put_leb128(out, batch->lines);
    tb_code code = put_cells(cells, hosts, out, err);
    if (code) return code;
    put_leb128(out, batch->n_asked);
    for (size_t i = 0; i < batch->n_asked; i++)
        put_key(out, &batch->asked[i]);
    put_leb128(out, batch->n_numbers);
    for (size_t i = 0; i < batch->n_numbers; i++) {
        put_leb128(out, batch->numbers[i] - before);
        before = batch->numbers[i];
    }
    tb_buf_add(out, batch->text, batch->text_len);
    code = tb_buf_check(out, err);
    if (code) return code;
    const uint64_t sum = XXH3_64bits(out->data + at + HEAD, out->len - at - HEAD);
    for (int i = 0; i < 8; i++)
        out->data[at + sizeof magic + (size_t)i] = (char)(sum >> 8 * i);
    return TB_OK;
}

/* --- reading --- */

typedef struct sums {
    int64_t day;
    uint64_t requests, bytes;
} sums;

typedef struct reading {
    const uint8_t *at, *end;
    const tb_cells_judge *judge;
    tb_rollup *into;
    tb_grid grid;
    int64_t zone;      /* of the key */
    int64_t last_zone; /* among the keys that are numbers, which ascend */
    sums *days;        /* of the key, what its countries may come to */
    size_t n_days, cap_days, hint;
    uint64_t requests; /* of all cells */
    tb_error *err;
} reading;

static tb_code bad_cells(const reading *r, const char *what)
{
    return tb_fail(r->err, TB_E_BAD_INPUT, "cells",
                   "The cells are damaged (%s). Nothing of this piece was taken.", what);
}

static bool take_leb128(reading *r, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && r->at < r->end; shift += 7) {
        const uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80) continue;
        *ret = value;
        return true;
    }
    return false;
}

/* A number up to the limit, and up to the bytes that are left. */
static bool take_limited(reading *r, uint64_t most, uint64_t *ret)
{
    return take_leb128(r, ret) && *ret <= most;
}

static size_t left(const reading *r)
{
    return (size_t)(r->end - r->at);
}

static bool take_mark(reading *r, unsigned most, unsigned *ret)
{
    if (r->at == r->end || *r->at > most) return false;
    *ret = *r->at++;
    return true;
}

/* Reads the fields that follow the mark of a key. */
static bool take_key(reading *r, unsigned mark, tb_cell_key *ret_key)
{
    uint64_t number;
    *ret_key = (tb_cell_key){0};
    if (mark == KEY_NONE || !take_leb128(r, &number) || number == 0) return false;
    if (mark == KEY_ZONE) {
        ret_key->zone = (int64_t)number;
        return true;
    }
    if (number > HOST_LEN_MAX || number > left(r)) return false;
    ret_key->host = (tb_text){(const char *)r->at, (size_t)number};
    r->at += number;
    return true;
}

/* The sums of a day of the key, made where there are none; NULL: out of memory. Days mostly ascend. */
static sums *sums_of(reading *r, int64_t day, bool make)
{
    for (size_t i = 0; i < r->n_days; i++) {
        const size_t at = (r->hint + i) % r->n_days;
        if (r->days[at].day != day) continue;
        r->hint = at + 1;
        return &r->days[at];
    }
    if (!make) return NULL;
    if (r->n_days == r->cap_days) {
        const size_t cap = r->cap_days ? r->cap_days * 2 : 16;
        sums *more = realloc(r->days, cap * sizeof *more);
        if (!more) return NULL;
        r->days = more;
        r->cap_days = cap;
    }
    r->days[r->n_days] = (sums){.day = day};
    r->hint = r->n_days + 1;
    return &r->days[r->n_days++];
}

#define LINE_METRICS                                                                               \
    (TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_CACHED_BYTES) | \
     TB_METRIC_BIT(TB_M_PULLED) | TB_METRIC_BIT(TB_M_STATUS_3XX) |                                 \
     TB_METRIC_BIT(TB_M_STATUS_4XX) | TB_METRIC_BIT(TB_M_STATUS_5XX) |                             \
     TB_METRIC_BIT(TB_M_BALANCER_REQUESTS) | TB_METRIC_BIT(TB_M_CACHE_UNKNOWN))

static uint64_t value(const tb_grid *grid, tb_metric metric, unsigned slot)
{
    return grid->metrics & TB_METRIC_BIT(metric) ? grid->v[metric][slot] : 0;
}

/* Whether lines can come to this: each is of one status class, is served from cache, pulled or of unknown
 * status, and reaches a balancer where it is one of the last two. */
static bool is_possible(const tb_rollup_cell *c)
{
    const uint64_t n = c->requests;
    if (n == 0 || n > UINT32_MAX || c->bytes > TB_COUNTER_MAX) return false;
    if ((unsigned __int128)n * TB_HIT_BYTES_MAX < c->bytes) return false;
    if (c->pulled > n || c->cache_unknown > n - c->pulled) return false;
    const uint64_t elsewhere = c->pulled + c->cache_unknown;
    if (c->balancer_requests > n || c->balancer_requests < elsewhere) return false;
    if (c->status_3xx > n || c->status_4xx > n || c->status_5xx > n) return false;
    if (c->status_3xx + c->status_4xx + c->status_5xx > n) return false;
    return c->cached_bytes <= c->bytes &&
           (unsigned __int128)(n - elsewhere) * TB_HIT_BYTES_MAX >= c->cached_bytes;
}

static tb_code add_hour(reading *r, const tb_rollup_day *day, unsigned slot, sums *sum)
{
    const tb_grid *g = &r->grid;
    const tb_rollup_cell cell = {.zone = r->zone,
                                 .edge = day->edge,
                                 .edge_len = (uint8_t)day->edge_len,
                                 .hour = (int32_t)(day->day * 24 + slot),
                                 .requests = value(g, TB_M_REQUESTS, slot),
                                 .bytes = value(g, TB_M_BYTES, slot),
                                 .cached_bytes = value(g, TB_M_CACHED_BYTES, slot),
                                 .pulled = value(g, TB_M_PULLED, slot),
                                 .status_3xx = value(g, TB_M_STATUS_3XX, slot),
                                 .status_4xx = value(g, TB_M_STATUS_4XX, slot),
                                 .status_5xx = value(g, TB_M_STATUS_5XX, slot),
                                 .balancer_requests = value(g, TB_M_BALANCER_REQUESTS, slot),
                                 .cache_unknown = value(g, TB_M_CACHE_UNKNOWN, slot)};
    if (!is_possible(&cell)) return bad_cells(r, "no lines come to such counters");
    int64_t newest; /* every millisecond of the hour must be one that a line may have */
    if (__builtin_add_overflow(r->judge->now_ms, TB_AHEAD_MS, &newest)) newest = INT64_MAX;
    if (((int64_t)cell.hour + 1) * HOUR_MS - 1 > newest)
        return tb_fail(r->err, TB_E_VALIDATION, "cells",
                       "Cells lie more than 48 hours ahead of this machine's clock. Send the lines.");
    sum->requests += cell.requests;
    r->requests += cell.requests;
    if (__builtin_add_overflow(sum->bytes, cell.bytes, &sum->bytes))
        return tb_fail(r->err, TB_E_OVERFLOW, "bytes", NULL);
    return tb_rollup_add_cell(r->into, &cell, r->err);
}

/* The bytes of an entry, which follow its length. */
static bool take_sized(reading *r, tb_text *ret)
{
    uint64_t len;
    if (!take_limited(r, TB__ENTRY_MAX, &len) || len > left(r)) return false;
    *ret = (tb_text){(const char *)r->at, (size_t)len};
    r->at += len;
    return true;
}

static bool take_day(reading *r, int64_t *ret_day)
{
    uint64_t day;
    if (!take_limited(r, INT32_MAX / 24, &day) || (int64_t)day < OLDEST_DAY) return false;
    *ret_day = (int64_t)day;
    return true;
}

static bool take_grid(reading *r, tb_rollup_day *day)
{
    tb_text entry;
    if (left(r) < day->edge_len) return false;
    day->edge = (const char *)r->at;
    r->at += day->edge_len;
    if (tb__char_span(day->edge, day->edge + day->edge_len, TB__CHAR_EDGE) != day->edge_len)
        return false;
    return take_day(r, &day->day) && take_sized(r, &entry) &&
           tb__entry_get_grid((const uint8_t *)entry.data, entry.len, &r->grid) &&
           !(r->grid.metrics & ~(uint32_t)LINE_METRICS) && r->grid.slots;
}

/* By the code's bytes, then by day. */
static bool ascends(const tb_rollup_day *a, const tb_rollup_day *b)
{
    const size_t n = a->edge_len < b->edge_len ? a->edge_len : b->edge_len;
    const int order = memcmp(a->edge, b->edge, n);
    if (order) return order < 0;
    if (a->edge_len != b->edge_len) return a->edge_len < b->edge_len;
    return a->day < b->day;
}

static tb_code read_days(reading *r)
{
    tb_rollup_day last = {.edge = ""}, day = {0};
    unsigned mark;
    for (;; last = day) {
        if (!take_mark(r, TB_EDGE_MAX, &mark)) return bad_cells(r, "the length of an edge location");
        if (mark == 0) return TB_OK;
        day = (tb_rollup_day){.edge_len = mark};
        if (!take_grid(r, &day)) return bad_cells(r, "a day's counters");
        if (!ascends(&last, &day)) return bad_cells(r, "their order");
        sums *sum = sums_of(r, day.day, true);
        if (!sum) return tb_no_memory(r->err);
        for (uint32_t slots = r->grid.slots; slots; slots &= slots - 1) {
            tb_code code = add_hour(r, &day, (unsigned)__builtin_ctz(slots), sum);
            if (code) return code;
        }
        if (tb_rollup_full(r->into)) return tb_fail(r->err, TB_E_TOO_LARGE, "cells", NULL);
    }
}

/* A day's countries have no more than its lines; each of a country's lines has its bytes. */
static tb_code read_countries(reading *r)
{
    tb__country list[TB__COUNTRY_MAX];
    tb_text entry;
    int64_t last = 0, day;
    unsigned mark;
    for (;; last = day) {
        size_t n;
        if (!take_mark(r, 1, &mark)) return bad_cells(r, "the mark of countries");
        if (mark == 0) return TB_OK;
        if (!take_day(r, &day) || day <= last || !take_sized(r, &entry) ||
            !tb__entry_get_list((const uint8_t *)entry.data, entry.len, list, &n))
            return bad_cells(r, "a day's countries");
        sums *sum = sums_of(r, day, false);
        if (!sum) return bad_cells(r, "countries of a day without lines");
        for (size_t i = 0; i < n; i++) {
            const tb_rollup_country one = {r->zone, day, list[i].code, list[i].requests, list[i].bytes};
            if (one.requests == 0 || one.requests > sum->requests || one.bytes > sum->bytes ||
                (unsigned __int128)one.requests * TB_HIT_BYTES_MAX < one.bytes)
                return bad_cells(r, "countries with more than their day has");
            sum->requests -= one.requests;
            sum->bytes -= one.bytes;
            tb_code code = tb_rollup_add_country(r->into, &one, r->err);
            if (code) return code;
        }
        if (tb_rollup_full(r->into)) return tb_fail(r->err, TB_E_TOO_LARGE, "cells", NULL);
    }
}

static tb_code read_cells(reading *r)
{
    tb_cell_key key;
    unsigned mark;
    for (;;) {
        if (!take_mark(r, KEY_HOST, &mark)) return bad_cells(r, "the mark of a key");
        if (mark == KEY_NONE) return TB_OK;
        if (!take_key(r, mark, &key)) return bad_cells(r, "a key");
        if (key.zone && key.zone <= r->last_zone) return bad_cells(r, "the keys' order");
        r->last_zone = key.zone ? key.zone : INT64_MAX; /* hosts come last */
        r->zone = r->judge->zone_of(r->judge->ctx, &key);
        r->n_days = r->hint = 0;
        if (!r->zone)
            return tb_fail(r->err, TB_E_VALIDATION, "cells",
                           "Lines of a zone that cannot be counted by cells: it keeps its lines, or the "
                           "hostname is no pull zone's. Send the lines.");
        tb_code code = read_days(r);
        if (!code) code = read_countries(r);
        if (code) return code;
    }
}

static tb_code read_asked(reading *r, tb_cell_key **ret_asked, size_t *ret_n)
{
    uint64_t n;
    unsigned mark;
    if (!take_limited(r, TB_CELLS_ASKED, &n)) return bad_cells(r, "the number of keys that are asked about");
    tb_cell_key *asked = malloc((n + 1) * sizeof *asked);
    if (!asked) return tb_no_memory(r->err);
    *ret_asked = asked;
    *ret_n = n;
    for (uint64_t i = 0; i < n; i++)
        if (!take_mark(r, KEY_HOST, &mark) || !take_key(r, mark, &asked[i]))
            return bad_cells(r, "a key that is asked about");
    return TB_OK;
}

static tb_code read_numbers(reading *r, uint64_t lines, uint64_t **ret_numbers, size_t *ret_n)
{
    uint64_t n, step, last = 0;
    if (!take_limited(r, left(r), &n) || n > left(r)) return bad_cells(r, "the number of lines");
    uint64_t *numbers = malloc((n + 1) * sizeof *numbers);
    if (!numbers) return tb_no_memory(r->err);
    *ret_numbers = numbers;
    *ret_n = n;
    for (uint64_t i = 0; i < n; i++) {
        if (!take_limited(r, lines - last, &step) || step == 0) return bad_cells(r, "a line's number");
        numbers[i] = last += step;
    }
    return TB_OK;
}

/* The rest is as many whole lines as there are numbers. */
static tb_code read_text(reading *r, tb_cell_batch *batch)
{
    size_t n = 0;
    batch->text = (const char *)r->at;
    batch->text_len = left(r);
    for (const uint8_t *at = r->at; at < r->end; n++) {
        const uint8_t *end = memchr(at, '\n', (size_t)(r->end - at));
        if (!end) return bad_cells(r, "a line without its end");
        at = end + 1;
    }
    if (n != batch->n_numbers) return bad_cells(r, "other lines than are numbered");
    if (r->requests > batch->lines || batch->lines - r->requests != n)
        return bad_cells(r, "cells and lines do not make up the piece");
    return TB_OK;
}

tb_code tb_cells_read(const void *bytes, size_t len, const tb_cells_judge *judge, tb_rollup *into,
                      tb_cell_batch *ret_batch, tb_error *err)
{
    tb_cell_batch batch = {0};
    tb_cell_key *asked = NULL;
    uint64_t *numbers = NULL;
    if (len < HEAD || memcmp(bytes, magic, sizeof magic) != 0)
        return tb_fail(err, TB_E_BAD_INPUT, "cells",
                       "These are no cells of version %d. Send the lines.", TB_CELLS_VERSION);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 8; i++)
        sum |= (uint64_t)((const uint8_t *)bytes)[sizeof magic + i] << 8 * i;
    if (sum != XXH3_64bits((const uint8_t *)bytes + HEAD, len - HEAD))
        return tb_fail(err, TB_E_BAD_INPUT, "cells",
                       "The cells are not as they were written: their checksum differs. Send them again.");
    reading *r = calloc(1, sizeof *r);
    if (!r) return tb_no_memory(err);
    *r = (reading){.at = (const uint8_t *)bytes + HEAD,
                   .end = (const uint8_t *)bytes + len,
                   .judge = judge,
                   .into = into,
                   .err = err};
    tb_code code = take_limited(r, UINT32_MAX, &batch.lines) ? read_cells(r) : bad_cells(r, "the number of lines");
    if (!code) code = read_asked(r, &asked, &batch.n_asked);
    if (!code) code = read_numbers(r, batch.lines, &numbers, &batch.n_numbers);
    if (!code) code = read_text(r, &batch);
    free(r->days);
    free(r);
    if (code) {
        free(asked);
        free(numbers);
        return code;
    }
    batch.asked = asked;
    batch.numbers = numbers;
    *ret_batch = batch;
    return TB_OK;
}
