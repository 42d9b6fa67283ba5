/* One line of the pipe format, by the book: first the columns are counted, then each
 * one that matters is read from left to right, and the first that is wrong names the reason. The
 * columns in between (address, referer, URL, user agent, request id, and the three of extended
 * logging) are free bytes. A line with more pipes than its columns have is read from both ends. */
#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"

enum { PIPES = 11, PIPES_EXTENDED = 14 };

typedef struct column {
    const char *at, *end;
} column;

/* Splits the line; returns the number of columns, at most PIPES_EXTENDED + 2. */
static size_t split(const char *line, const char *end, column columns[PIPES_EXTENDED + 2])
{
    size_t n = 0;
    for (const char *at = line; n < PIPES_EXTENDED + 2; n++) {
        const char *pipe = memchr(at, '|', (size_t)(end - at));
        columns[n] = (column){at, pipe ? pipe : end};
        if (!pipe) return n + 1;
        at = pipe + 1;
    }
    return n;
}

typedef struct cache_name {
    const char *name;
    uint8_t len;
    uint8_t cache;
} cache_name;

#define NAME(text, cache)                                                                          \
    {                                                                                              \
        text, sizeof text - 1, cache                                                               \
    }
static const cache_name cache_names[] = {
    NAME("HIT", TB_CACHE_SERVED),
    NAME("STALE", TB_CACHE_SERVED),
    NAME("UPDATING", TB_CACHE_SERVED),
    NAME("REVALIDATED", TB_CACHE_REVALIDATED),
};
#undef NAME

bool tb__cache_parse(const char *token, size_t len, tb_cache *ret_cache)
{
    if (len == 0 || len > TB__CACHE_TOKEN_MAX) return false;
    if (tb__char_span(token, token + len, TB__CHAR_TOKEN) != len) return false;
    *ret_cache = TB_CACHE_OTHER;
    for (size_t i = 0; i < sizeof cache_names / sizeof *cache_names; i++)
        if (len == cache_names[i].len && memcmp(token, cache_names[i].name, len) == 0)
            *ret_cache = (tb_cache)cache_names[i].cache;
    return true;
}

bool tb__time_sane(int64_t time_ms, int64_t now_ms, tb_reject_reason *ret_reason)
{
    int64_t newest;
    if (__builtin_add_overflow(now_ms, TB_AHEAD_MS, &newest)) newest = INT64_MAX;
    if (time_ms >= TB_OLDEST_MS && time_ms <= newest) return true;
    *ret_reason = time_ms < TB_OLDEST_MS ? TB_REJECT_TOO_OLD : TB_REJECT_TOO_NEW;
    return false;
}

/* Reads the columns that are numbers; false with the reason and the place. */
static bool read_numbers(const column *c, int64_t now_ms, tb_hit *hit, int64_t *ret_time_ms,
                         const char **ret_stop, tb_reject_reason *ret_reason)
{
    uint64_t time_ms, zone;
    *ret_reason = TB_REJECT_STATUS;
    if (!tb__status(c[1].at, (size_t)(c[1].end - c[1].at), &hit->status, ret_stop)) return false;
    *ret_reason = TB_REJECT_TIMESTAMP;
    if (!tb__number(c[2].at, c[2].end, INT64_MAX, &time_ms, ret_stop)) return false;
    *ret_stop = c[2].at;
    if (!tb__time_sane((int64_t)time_ms, now_ms, ret_reason)) return false;
    *ret_reason = TB_REJECT_BYTES;
    if (!tb__number(c[3].at, c[3].end, TB_HIT_BYTES_MAX, &hit->bytes, ret_stop)) return false;
    *ret_reason = TB_REJECT_ZONE;
    if (!tb__number(c[4].at, c[4].end, INT64_MAX, &zone, ret_stop)) return false;
    *ret_stop = c[4].at;
    if (zone == 0) return false;
    tb__hit_time(hit, time_ms);
    hit->zone = (int64_t)zone;
    *ret_time_ms = (int64_t)time_ms;
    return true;
}

static bool read_edge(const column *c, tb_hit *hit, const char **ret_stop)
{
    const size_t len = (size_t)(c->end - c->at);
    const size_t good = tb__char_span(c->at, c->end, TB__CHAR_EDGE);
    *ret_stop = c->at + (good < len && good <= TB_EDGE_MAX ? good : 0);
    if (len == 0 || len > TB_EDGE_MAX || good != len) return false;
    hit->edge = c->at;
    hit->edge_len = (uint8_t)len;
    return true;
}

static bool read_country(const column *c, tb_hit *hit, const char **ret_stop)
{
    const size_t len = (size_t)(c->end - c->at);
    hit->country = 0;
    if (len == 0 || (len == 1 && c->at[0] == '-')) return true;
    const size_t letters = tb__char_span(c->at, c->end, TB__CHAR_LETTER);
    *ret_stop = c->at + (letters < 2 ? letters : 0);
    if (len != 2 || letters != 2) return false;
    hit->country = (uint16_t)((c->at[0] & 0xdf) << 8 | (c->at[1] & 0xdf));
    return true;
}

/* Where a line with the wrong number of columns stops: at the first pipe too many, or at its end,
 * where one was missing. */
static const char *wrong_columns(const column *c, size_t n, const char *end)
{
    return n > PIPES_EXTENDED + 1 ? c[PIPES_EXTENDED].end : end;
}

static tb__part part(const column *c)
{
    return (tb__part){c->at, (size_t)(c->end - c->at)};
}

/* All columns at their places. */
static void take_places(const column *c, size_t n, tb__pipe_parts *parts)
{
    parts->referer = part(&c[6]);
    parts->url = part(&c[7]);
    parts->edge = part(&c[8]);
    parts->agent = part(&c[9]);
    parts->id = part(&c[10]);
    parts->country = part(&c[11]);
    if (n == PIPES + 1) return;
    parts->body = part(&c[12]);
    parts->range = part(&c[13]);
    parts->authorization = part(&c[14]);
}

/* Whether fifteen columns are not twelve, three pipes being a client's. */
static bool looks_extended(const column *c)
{
    tb_hit ignored;
    const char *stop;
    if (c[12].at == c[12].end || !tb__digit(*c[12].at)) return false;
    if (!read_edge(&c[8], &ignored, &stop) || !read_country(&c[11], &ignored, &stop)) return false;
    return !tb__ends_id(part(&c[13])) || !read_country(&c[14], &ignored, &stop);
}

/* The columns before those that a client may choose. */
static bool read_left(int64_t now_ms, const column *c, tb_hit *hit, tb__pipe_parts *parts,
                      const char **ret_stop, tb_reject_reason *ret_reason)
{
    tb_cache cache;
    if (!tb__cache_parse(c[0].at, (size_t)(c[0].end - c[0].at), &cache)) {
        const size_t good = tb__char_span(c[0].at, c[0].end, TB__CHAR_TOKEN);
        *ret_stop = c[0].at + (good <= TB__CACHE_TOKEN_MAX ? good : 0);
        *ret_reason = TB_REJECT_CACHE;
        return false;
    }
    hit->cache = (uint8_t)cache;
    parts->cache = part(&c[0]);
    parts->ip = part(&c[5]);
    return read_numbers(c, now_ms, hit, &parts->time_ms, ret_stop, ret_reason);
}

/* Whether all columns are found: by their number, or from both ends. */
static bool find_columns(const tb_log_layout *layout, const char *line, size_t len, const column *c,
                         size_t n, tb__pipe_parts *parts)
{
    const bool extended = n == PIPES_EXTENDED + 1;
    if (n <= PIPES) return false;
    const bool placed = n == PIPES + 1 || (extended && looks_extended(c));
    if (!placed && tb__ends_read(layout, line, len, parts)) return true;
    if (!placed && !extended) return false;
    take_places(c, n, parts);
    return true;
}

/* What the readings do not agree on is no column: its place is NULL. */
static column column_of(const char *at, size_t len)
{
    return (column){at, at ? at + len : NULL};
}

bool tb__pipe_read(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                   tb__pipe_parts *ret_parts, tb_reject *ret_reject)
{
    if (!tb__line_sane(line, len, ret_reject)) return false;
    column c[PIPES_EXTENDED + 2];
    const size_t n = split(line, line + len, c);
    tb__pipe_parts parts = {0};
    tb_hit hit = {0};
    const char *stop = wrong_columns(c, n, line + len);
    tb_reject_reason reason = TB_REJECT_COLUMNS;
    if (!find_columns(layout, line, len, c, n, &parts) ||
        !read_left(layout->now_ms, c, &hit, &parts, &stop, &reason))
        return tb__reject(ret_reject, line, len, stop, reason);
    const column edge = column_of(parts.edge.at, parts.edge.len);
    const column country = column_of(parts.country.at, parts.country.len);
    if (!read_edge(&edge, &hit, &stop))
        return tb__reject(ret_reject, line, len, stop, TB_REJECT_EDGE);
    if (!read_country(&country, &hit, &stop))
        return tb__reject(ret_reject, line, len, stop, TB_REJECT_COUNTRY);
    *ret_hit = hit;
    *ret_parts = parts;
    return true;
}

int64_t tb_intake_zone(const tb_log_layout *layout, const char *line, size_t len)
{
    const size_t mark = tb__mark_len(line, len);
    column c[PIPES_EXTENDED + 2];
    tb_hit hit = {0};
    tb__pipe_parts ignored;
    const char *stop;
    tb_reject_reason reason;
    if (layout->format != TB_FORMAT_PIPE) return layout->zone;
    if (split(line + mark, line + len, c) < 6) return 0; /* the zone may be cut off */
    return read_left(INT64_MAX, c, &hit, &ignored, &stop, &reason) ? hit.zone : 0;
}
