/* A pipe line with more pipes than columns have: its columns, from both ends.
 *
 * A client chooses referer, URL, user agent, range and authorization, and may put pipes into each. All
 * columns before them are certain by their position from the left. The rest is read in every possible way:
 *
 *   twelve columns: the last two are request id and country;
 *   fifteen: somewhere are request id, country and a number of bytes, at least two columns before
 *   the end;
 *   the edge location is any column that may be one, with a referer and a URL before it and a user
 *   agent after it, up to the id.
 *
 * The true reading is always among them. A request id of 32 hexadecimal digits or a UUID outweighs
 * readings with a weaker one: a log writes request ids, or it does not. Edge locations of a region outweigh
 * others. If one reading is left, all columns are known. If there are several, columns in which they differ
 * are unknown, and the most expensive of their edge locations counts, so that no one pays less by putting a
 * pipe into a column.
 *
 * A pipe after an odd number of backslashes is a character of its column, if the line can be read so. Each
 * pass goes over the line once, whatever it contains. */
#include "intake/chars.h"
#include "intake/line.h"

enum {
    REFERER = 6,   /* the number of its column; those before it are certain */
    EDGE_LEAST = 8,
    ID_LEAST = 10,
    PLAIN = 12,    /* columns */
    EXTENDED = 15,
    ID_TOKEN_MIN = 8,
    ID_TOKEN_MAX = 64,
    BODY_DIGITS = 18
};

/* Columns from left to right. */
typedef struct walk {
    const char *at, *end; /* at NULL: no more columns */
    bool escapes;         /* a backslash takes a pipe out of the pipes */
} walk;

static bool is_escaped(const char *from, const char *pipe)
{
    const char *at = pipe;
    while (at > from && at[-1] == '\\')
        at--;
    return (pipe - at) % 2;
}

static bool next_column(walk *w, tb__part *ret)
{
    if (!w->at) return false;
    const char *from = w->at, *pipe = memchr(from, '|', (size_t)(w->end - from));
    while (pipe && w->escapes && is_escaped(from, pipe))
        pipe = memchr(pipe + 1, '|', (size_t)(w->end - pipe - 1));
    *ret = (tb__part){from, (size_t)((pipe ? pipe : w->end) - from)};
    w->at = pipe ? pipe + 1 : NULL;
    return true;
}

static size_t count_columns(walk w)
{
    tb__part column;
    size_t n = 0;
    while (next_column(&w, &column))
        n++;
    return n;
}

/* --- possible values of a column --- */

bool tb__ends_id(tb__part part)
{
    if (part.len != 32 && part.len != 36) return false;
    for (size_t i = 0; i < part.len; i++) {
        const char c = part.at[i], low = (char)(c | 0x20);
        const bool dash = part.len == 36 && (i == 8 || i == 13 || i == 18 || i == 23);
        if (dash ? c != '-' : !tb__digit(c) && (low < 'a' || low > 'f')) return false;
    }
    return true;
}

/* "-", or a token that no short column of another kind looks like. */
static bool is_weak_id(tb__part part)
{
    if (part.len == 1) return *part.at == '-';
    return part.len >= ID_TOKEN_MIN && part.len <= ID_TOKEN_MAX &&
           tb__char_span(part.at, part.at + part.len, TB__CHAR_TOKEN) == part.len &&
           tb__char_span(part.at, part.at + part.len, TB__CHAR_DIGIT) != part.len;
}

static bool is_country(tb__part part)
{
    if (part.len < 2) return part.len == 0 || *part.at == '-';
    return part.len == 2 && tb__char_span(part.at, part.at + 2, TB__CHAR_LETTER) == 2;
}

static bool is_bytes(tb__part part)
{
    return part.len >= 1 && part.len <= BODY_DIGITS &&
           tb__char_span(part.at, part.at + part.len, TB__CHAR_DIGIT) == part.len;
}

static bool is_edge(tb__part part)
{
    return part.len >= 1 && part.len <= TB_EDGE_MAX &&
           tb__char_span(part.at, part.at + part.len, TB__CHAR_EDGE) == part.len;
}

static bool is_url(tb__part part)
{
    return (part.len >= 7 && memcmp(part.at, "http://", 7) == 0) ||
           (part.len >= 8 && memcmp(part.at, "https://", 8) == 0);
}

/* --- positions of id and country --- */

typedef struct readings {
    size_t n;         /* ways that are left */
    size_t last_edge; /* the last column that may be the edge location in one of them */
    bool strong;      /* their ids are */
    bool extended, exact; /* of the first one; exact: its range and authorization hold no pipe */
    tb__part id, country, body;
} readings;

/* One more reading; columns are those of id, country and the columns after them. */
static void add_reading(readings *r, size_t id_number, const tb__part column[3], bool extended)
{
    const bool strong = tb__ends_id(column[0]);
    if ((!strong && (r->strong || !is_weak_id(column[0]))) || !is_country(column[1])) return;
    if (strong && !r->strong) *r = (readings){.strong = true};
    if (id_number - 2 > r->last_edge) r->last_edge = id_number - 2;
    if (r->n++ > 0) return;
    r->extended = extended;
    r->id = column[0];
    r->country = column[1];
    r->body = column[2];
}

/* Range and authorization of the only reading, if they contain no pipe. */
static void read_last(readings *r, const tb__part last[3], tb__pipe_parts *parts)
{
    r->exact = !r->extended || last[0].at == r->body.at;
    if (!r->extended || r->n > 1) return;
    parts->body = r->body;
    if (!r->exact) return;
    parts->range = last[1];
    parts->authorization = last[2];
}

static readings find_readings(walk w, size_t n, tb__pipe_parts *parts)
{
    readings r = {0};
    tb__part last[3] = {{NULL, 0}}, column; /* the columns number-2 .. number */
    for (size_t number = 0; next_column(&w, &column); number++) {
        last[0] = last[1];
        last[1] = last[2];
        last[2] = column;
        if (number >= ID_LEAST + 2 && number + 3 <= n && is_bytes(column))
            add_reading(&r, number - 2, last, true);
    }
    add_reading(&r, n - 2, (const tb__part[3]){last[1], last[2], {w.end, 0}}, false);
    read_last(&r, last, parts);
    return r;
}

/* --- the edge location's column --- */

/* NULL: no region has this code. */
static const tb_known_edge *find_known(const tb_log_layout *layout, tb__part code)
{
    char key[TB_EDGE_MAX] = {0};
    size_t low = 0, high = layout->n_edges;
    memcpy(key, code.at, code.len);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = memcmp(key, layout->edges[middle].code, TB_EDGE_MAX);
        if (order == 0) return &layout->edges[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

/* The columns that may be the edge location: of those that a region has, if there are any, the dearest;
 * else the last. */
typedef struct places {
    size_t n, number;
    const tb_known_edge *known;
    tb__part edge;
} places;

static places find_edges(const tb_log_layout *layout, walk w, size_t last_edge)
{
    places p = {0};
    tb__part column;
    for (size_t number = 0; number <= last_edge && next_column(&w, &column); number++) {
        if (number < EDGE_LEAST || !is_edge(column)) continue;
        const tb_known_edge *known = find_known(layout, column);
        if (p.known && !known) continue;
        if (known && !p.known) p.n = 0;
        if (p.n++ > 0 && known && known->rank >= p.known->rank) continue;
        p.number = number;
        p.known = known;
        p.edge = column;
    }
    return p;
}

/* --- the columns between --- */

static tb__part between(const char *from, const char *to)
{
    return (tb__part){from, (size_t)(to - from)};
}

/* Referer and URL are before the edge location. If there is a pipe among them, the URL begins with the only column that
 * looks like a URL and is not the first. False if there is no such column. */
static bool split_referer(walk w, size_t edge_number, tb__pipe_parts *parts)
{
    tb__part column, referer = {NULL, 0}, url = {NULL, 0};
    size_t urls = 0;
    for (size_t number = 0; number < edge_number && next_column(&w, &column); number++) {
        if (number == REFERER) referer = column;
        if (number <= REFERER || (edge_number > EDGE_LEAST && !is_url(column))) continue;
        url = column;
        urls++;
    }
    if (urls != 1) return false;
    parts->referer = between(referer.at, url.at - 1);
    parts->url = between(url.at, parts->edge.at - 1);
    return true;
}

/* Twelve columns, with pipes escaped by backslashes, and any request id. */
static void take_twelve(walk w, tb__pipe_parts *parts)
{
    tb__part *const to[PLAIN - REFERER] = {&parts->referer, &parts->url, &parts->edge,
                                           &parts->agent,   &parts->id,  &parts->country};
    tb__part column;
    for (size_t number = 0; number < PLAIN && next_column(&w, &column); number++)
        if (number >= REFERER) *to[number - REFERER] = column;
}

static bool read_ends(const tb_log_layout *layout, walk w, size_t n, tb__pipe_parts *ret)
{
    tb__pipe_parts parts = {0};
    if (n < PLAIN) return false;
    const readings r = find_readings(w, n, &parts);
    const places p = r.n ? find_edges(layout, w, r.last_edge) : (places){0};
    if (p.n == 0) return false;
    parts.edge = p.edge;
    parts.ambiguous = r.n > 1 || p.n > 1 || !r.exact;
    if (r.n == 1) {
        parts.id = r.id;
        parts.country = r.country;
    }
    if (p.n == 1 && !split_referer(w, p.number, &parts)) parts.ambiguous = true;
    if (p.n == 1 && r.n == 1) parts.agent = between(p.edge.at + p.edge.len + 1, r.id.at - 1);
    *ret = parts;
    return true;
}

bool tb__ends_read(const tb_log_layout *layout, const char *line, size_t len, tb__pipe_parts *parts)
{
    const walk w = {.at = line, .end = line + len}, escaped = {line, line + len, true};
    const size_t n = count_columns(w), n_escaped = count_columns(escaped);
    if (read_ends(layout, escaped, n_escaped, parts)) return true;
    if (n != n_escaped && read_ends(layout, w, n, parts)) return true;
    if (n_escaped != PLAIN) return false;
    take_twelve(escaped, parts);
    return true;
}
