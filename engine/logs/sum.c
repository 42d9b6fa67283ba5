/* Sums of request logs: block by block, from the columns that are asked for.
 *
 * Within a block lines are counted by the entries of a column's dictionary; then each entry that occurs is added to the
 * tally of its column (base/tally.h), so most lines cost an array element and no hash. A URL is a pair of entries, of an
 * origin and a path: pairs are numbered by a small hash table first. */
#include "encode/tally.h"
#include "intake/line.h"
#include "logs/format.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#include <inttypes.h>
#include <stdlib.h>

#define CLASSES 5
#define PAIRS   ((size_t)2 * TB_LOGBLOCK_LINES) /* slots: half of them are used at most */
_Static_assert(TB_LOG_TOP_MAX <= TB__TALLY_TOP, "a summary may ask for as many values as can be put");

typedef struct figures {
    uint64_t requests, bytes, cached;
    uint64_t of_class[CLASSES]; /* 1xx .. 5xx */
} figures;

typedef struct pair {
    uint32_t entries; /* of the path and the origin, + 1; 0: free */
    uint16_t number;
} pair;

struct tb_logsum {
    tb_logsum_ask ask;
    int64_t first_ms, step_ms; /* of the points */
    size_t n_points;
    figures total, *points;
    tb__tally of[TB_LOG_VALUE_COUNT];
    /* Of the block that is being added: */
    uint64_t bytes[TB_LOGBLOCK_LINES];       /* of each of the rows */
    uint32_t count[TB_LOGBLOCK_LINES];       /* of each entry or pair */
    uint64_t count_bytes[TB_LOGBLOCK_LINES];
    uint8_t of_entry[2][TB_LOGBLOCK_LINES];  /* an entry's status class; whether it is served from cache */
    pair pairs[PAIRS];
    uint32_t pair_entries[TB_LOGBLOCK_LINES];
    tb_buf url;
};

const char *tb_log_value_name(tb_log_value value)
{
    static const char *const names[] = {
#define TB_X(name, member) member,
        TB_LOG_VALUES(TB_X)
#undef TB_X
    };
    return names[value];
}

tb_logsum *tb_logsum_new(const tb_logsum_ask *ask)
{
    tb_logsum *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->ask = *ask;
    s->step_ms = tb_step_ms(ask->to_ms - ask->from_ms, TB_LOG_POINTS_MAX);
    s->first_ms = ask->from_ms - (ask->from_ms % s->step_ms + s->step_ms) % s->step_ms;
    s->n_points = (size_t)((ask->to_ms - 1 - s->first_ms) / s->step_ms) + 1;
    s->points = calloc(s->n_points, sizeof *s->points);
    for (int v = 0; v < TB_LOG_VALUE_COUNT; v++)
        tb__tally_init(&s->of[v]);
    tb_buf_init(&s->url, 2 * (size_t)TB_LOGBLOCK_COLUMN, NULL);
    if (s->points) return s;
    tb_logsum_free(s);
    return NULL;
}

void tb_logsum_free(tb_logsum *s)
{
    if (!s) return;
    for (int v = 0; v < TB_LOG_VALUE_COUNT; v++)
        tb__tally_release(&s->of[v]);
    tb_buf_release(&s->url);
    free(s->points);
    free(s);
}

/* --- totals and points --- */

static uint8_t class_of(tb_text status)
{
    return status.len && status.data[0] >= '1' && status.data[0] <= '5' ? (uint8_t)(status.data[0] - '0') : 0;
}

static uint8_t is_cached(tb_text word)
{
    tb_cache cache;
    return tb__cache_parse(word.data, word.len, &cache) && (cache == TB_CACHE_SERVED || cache == TB_CACHE_REVALIDATED);
}

/* What `of` says of each entry; of a column that is absent nothing. */
static void judge_entries(const tb__log_texts *t, uint8_t (*of)(tb_text), uint8_t *ret)
{
    for (size_t e = 0; t && e < t->n; e++)
        ret[e] = of(tb__log_entry(t, e));
}

static void add_figures(figures *to, const figures *f)
{
    to->requests += f->requests;
    to->bytes += f->bytes;
    to->cached += f->cached;
    for (int c = 0; c < CLASSES; c++)
        to->of_class[c] += f->of_class[c];
}

/* Also reads the bytes of each row. */
static tb_code add_points(tb_logsum *s, tb_logblock *block, const uint16_t *rows, size_t n, tb_error *err)
{
    const int64_t *times;
    const tb__log_texts *status, *cache;
    const uint8_t *numbers;
    tb_code code = tb__log_times_of(block, &times, err);
    if (!code) code = tb__log_texts_of(block, TB__LOG_STATUS, &status, err);
    if (!code) code = tb__log_texts_of(block, TB__LOG_CACHE, &cache, err);
    if (!code) code = tb__log_numbers_of(block, TB__LOG_BYTES, &numbers, err);
    if (code) return code;
    judge_entries(status, class_of, s->of_entry[0]);
    judge_entries(cache, is_cached, s->of_entry[1]);
    for (size_t i = 0; i < n;) {
        const size_t point = (size_t)((times[rows[i]] - s->first_ms) / s->step_ms);
        const int64_t end_ms = s->first_ms + ((int64_t)point + 1) * s->step_ms;
        uint64_t by_class[CLASSES + 1] = {0};
        figures f = {.requests = 0};
        for (; i < n && times[rows[i]] < end_ms; i++) {
            const size_t row = rows[i];
            const uint64_t bytes = numbers ? tb__log_number(numbers, row) : UINT64_MAX;
            s->bytes[i] = bytes == UINT64_MAX ? 0 : bytes;
            f.requests++;
            f.bytes += s->bytes[i];
            if (cache) f.cached += s->of_entry[1][tb__log_entry_of(cache, row)];
            if (status) by_class[s->of_entry[0][tb__log_entry_of(status, row)]]++;
        }
        memcpy(f.of_class, by_class + 1, sizeof f.of_class);
        add_figures(&s->points[point], &f);
        add_figures(&s->total, &f);
    }
    return TB_OK;
}

/* --- values --- */

static tb_text shown_value(tb_log_value value, tb_text text, char upper[2])
{
    if (value == TB_LOG_VALUE_HOST) return tb__log_host(text);
    if (value == TB_LOG_VALUE_CACHE && !text.len) return (tb_text){"-", 1};
    if (value != TB_LOG_VALUE_COUNTRY) return text;
    for (size_t i = 0; i < text.len && i < 2; i++)
        upper[i] = (char)(text.data[i] & 0xdf);
    return (tb_text){upper, text.len == 2 ? 2 : 0};
}

static tb_code add_column(tb_logsum *s, tb_logblock *block, tb_log_value value, const uint16_t *rows, size_t n,
                          tb_error *err)
{
    static const tb__log_column columns[TB_LOG_VALUE_COUNT] = {
        [TB_LOG_VALUE_STATUS] = TB__LOG_STATUS, [TB_LOG_VALUE_COUNTRY] = TB__LOG_COUNTRY,
        [TB_LOG_VALUE_CACHE] = TB__LOG_CACHE,   [TB_LOG_VALUE_AGENT] = TB__LOG_AGENT,
        [TB_LOG_VALUE_HOST] = TB__LOG_ORIGIN,   [TB_LOG_VALUE_EDGE] = TB__LOG_EDGE};
    const tb__log_texts *t;
    char upper[2];
    tb_code code = tb__log_texts_of(block, columns[value], &t, err);
    if (code) return code;
    const size_t entries = t ? t->n : 1;
    memset(s->count, 0, entries * sizeof *s->count);
    memset(s->count_bytes, 0, entries * sizeof *s->count_bytes);
    for (size_t i = 0; i < n; i++) {
        const size_t e = t ? tb__log_entry_of(t, rows[i]) : 0;
        s->count[e]++;
        s->count_bytes[e] += s->bytes[i];
    }
    for (size_t e = 0; !code && e < entries; e++) {
        const tb_text text = shown_value(value, t ? tb__log_entry(t, e) : (tb_text){"", 0}, upper);
        if (s->count[e]) code = tb__tally_add(&s->of[value], text, s->count[e], s->count_bytes[e], err);
    }
    return code;
}

/* The number of a pair of entries in this block. */
static size_t pair_number(tb_logsum *s, uint32_t entries, size_t *n_pairs)
{
    size_t at = (entries * UINT32_C(2654435769)) >> 18;
    _Static_assert(PAIRS == 1 << 14, "as many bits as are left");
    while (s->pairs[at].entries && s->pairs[at].entries != entries + 1)
        at = (at + 1) % PAIRS;
    if (!s->pairs[at].entries) {
        s->pairs[at] = (pair){entries + 1, (uint16_t)*n_pairs};
        s->pair_entries[*n_pairs] = entries;
        s->count[*n_pairs] = 0;
        s->count_bytes[(*n_pairs)++] = 0;
    }
    return s->pairs[at].number;
}

static tb_code add_urls(tb_logsum *s, tb_logblock *block, const uint16_t *rows, size_t n, tb_error *err)
{
    const tb__log_texts *origins, *paths;
    size_t n_pairs = 0;
    tb_code code = tb__log_texts_of(block, TB__LOG_ORIGIN, &origins, err);
    if (!code) code = tb__log_texts_of(block, TB__LOG_PATH, &paths, err);
    if (code) return code;
    memset(s->pairs, 0, sizeof s->pairs);
    for (size_t i = 0; i < n; i++) {
        const size_t o = origins ? tb__log_entry_of(origins, rows[i]) : 0, p = paths ? tb__log_entry_of(paths, rows[i]) : 0;
        const size_t number = pair_number(s, (uint32_t)(o * TB_LOGBLOCK_LINES + p), &n_pairs);
        s->count[number]++;
        s->count_bytes[number] += s->bytes[i];
    }
    for (size_t i = 0; !code && i < n_pairs; i++) {
        const size_t o = s->pair_entries[i] / TB_LOGBLOCK_LINES, p = s->pair_entries[i] % TB_LOGBLOCK_LINES;
        const tb_text host = origins ? tb__log_host(tb__log_entry(origins, o)) : (tb_text){"", 0};
        const tb_text path = paths ? tb__log_entry(paths, p) : (tb_text){"", 0};
        const char *query = path.len ? memchr(path.data, '?', path.len) : NULL;
        s->url.len = 0;
        tb_buf_add(&s->url, host.data, host.len);
        tb_buf_add(&s->url, path.data, query ? (size_t)(query - path.data) : path.len);
        code = tb_buf_check(&s->url, err);
        if (!code)
            code = tb__tally_add(&s->of[TB_LOG_VALUE_URL], (tb_text){s->url.data, s->url.len}, s->count[i],
                                 s->count_bytes[i], err);
    }
    return code;
}

tb_code tb_logsum_add(tb_logsum *s, tb_logblock *block, const uint16_t *rows, size_t n, tb_error *err)
{
    tb_code code = n ? add_points(s, block, rows, n, err) : TB_OK;
    for (int v = 0; !code && n && v < TB_LOG_VALUE_COUNT; v++) {
        if (!(s->ask.values >> v & 1)) continue;
        code = v == TB_LOG_VALUE_URL ? add_urls(s, block, rows, n, err)
                                     : add_column(s, block, (tb_log_value)v, rows, n, err);
    }
    return code;
}

/* --- the answer --- */

static void put_figures(const figures *f, tb_buf *out)
{
    tb_buf_fmt(out, "\"requests\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"cached\":%" PRIu64, f->requests, f->bytes, f->cached);
    for (int c = 0; c < CLASSES; c++)
        tb_buf_fmt(out, ",\"%dxx\":%" PRIu64, c + 1, f->of_class[c]);
    tb_buf_str(out, "}");
}

void tb_logsum_json(const tb_logsum *s, tb_buf *out)
{
    char at[21] = {0};
    const char *comma = "";
    tb_buf_fmt(out, "\"stepSeconds\":%" PRId64 ",\"totals\":{", s->step_ms / 1000);
    put_figures(&s->total, out);
    tb_buf_str(out, ",\"points\":[");
    for (size_t i = 0; i < s->n_points; i++) {
        tb_time_format((s->first_ms + (int64_t)i * s->step_ms) * 1000, at);
        tb_buf_fmt(out, "%s{\"at\":\"%s\",", i ? "," : "", at);
        put_figures(&s->points[i], out);
    }
    tb_buf_str(out, "],\"top\":{");
    for (int v = 0; v < TB_LOG_VALUE_COUNT; v++) {
        if (!(s->ask.values >> v & 1)) continue;
        tb_buf_str(out, comma);
        tb__tally_put(&s->of[v], tb_log_value_name((tb_log_value)v), s->ask.top, "requests", true, out);
        comma = ",";
    }
    tb_buf_str(out, "}");
}
