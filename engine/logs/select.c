/* Which rows of a block pass a filter.
 *
 * Every condition is asked once for each entry of a dictionary, not once for each row, and a column
 * is read only if a condition asks about it and some row is still left. Texts are searched as one
 * run of bytes over all entries; a hit that reaches over an entry's end is none. */
#include "logs/format.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef struct selection {
    tb_logblock *block;
    const tb_log_filter *filter;
    size_t first, end; /* rows in the window of time */
    uint8_t *alive;    /* of each row */
} selection;

static char lower(char c)
{
    return (char)(c | ((unsigned char)(c - 'A') < 26 ? 0x20 : 0));
}

static bool equal(tb_text a, tb_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool equal_folded(const char *a, const char *folded, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower(a[i]) != folded[i]) return false;
    return true;
}

static bool same_folded(tb_text folded, tb_text text)
{
    return folded.len == text.len && equal_folded(text.data, folded.data, text.len);
}

static bool any_left(const selection *s)
{
    return s->first < s->end && memchr(s->alive + s->first, 1, s->end - s->first) != NULL;
}

/* Drops rows with an unmarked entry. */
static void keep_marked(selection *s, const tb__log_texts *t, const uint8_t *ok)
{
    for (size_t row = s->first; row < s->end; row++)
        s->alive[row] &= ok[tb__log_entry_of(t, row)];
}

static void keep_none(selection *s)
{
    memset(s->alive + s->first, 0, s->end - s->first);
}

/* Where the needle, which is in lower case, begins in n bytes of any case; NULL: nowhere. Sixteen
 * places are tried at once, by the needle's first and last byte without their case bit. */
static const char *find_folded(const char *hay, size_t n, tb_text needle)
{
    size_t at = 0;
    if (needle.len > n) return NULL;
    const size_t places = n - needle.len + 1;
#if defined(__SSE2__)
    const __m128i bit = _mm_set1_epi8(0x20);
    const __m128i first = _mm_set1_epi8((char)(needle.data[0] | 0x20));
    const __m128i last = _mm_set1_epi8((char)(needle.data[needle.len - 1] | 0x20));
    for (; at + 16 <= places; at += 16) {
        const char *p = hay + at;
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p + needle.len - 1));
        const __m128i hit = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(a, bit), first),
                                          _mm_cmpeq_epi8(_mm_or_si128(b, bit), last));
        for (unsigned set = (unsigned)_mm_movemask_epi8(hit); set; set &= set - 1) {
            const char *here = p + __builtin_ctz(set);
            if (equal_folded(here, needle.data, needle.len)) return here;
        }
    }
#endif
    for (; at < places; at++)
        if (equal_folded(hay + at, needle.data, needle.len)) return hay + at;
    return NULL;
}

/* Marks the entries that hold the needle. */
static void mark_holding(const tb__log_texts *t, tb_text needle, uint8_t *ok)
{
    const size_t total = t->at[t->n];
    size_t at = 0, e = 0;
    const char *hit;
    while ((hit = find_folded(t->bytes + at, total - at, needle)) != NULL) {
        const size_t from = (size_t)(hit - t->bytes);
        while (t->at[e + 1] <= from)
            e++;
        if (from + needle.len <= t->at[e + 1]) ok[e] = 1;
        at = t->at[e + 1];
    }
}

/* --- conditions over a TEXT column --- */

typedef bool (*passes)(const tb_log_filter *filter, tb_text text);

static bool status_passes(const tb_log_filter *f, tb_text text)
{
    unsigned s = 0;
    if (text.len != 3) return false;
    for (int i = 0; i < 3; i++)
        s = s * 10 + (unsigned)(text.data[i] - '0');
    return s < 600 && (f->status[s / 8] >> (s % 8) & 1);
}

/* "-" in the list is a row without one. */
static bool cache_passes(const tb_log_filter *f, tb_text text)
{
    for (size_t i = 0; i < f->cache.n; i++) {
        const tb_text one = f->cache.item[i];
        if (same_folded(one, text) || (text.len == 0 && one.len == 1 && *one.data == '-')) return true;
    }
    return false;
}

static bool country_passes(const tb_log_filter *f, tb_text text)
{
    for (size_t i = 0; i < f->country.n; i++)
        if (same_folded(f->country.item[i], text)) return true;
    return false;
}

static bool edge_passes(const tb_log_filter *f, tb_text text)
{
    return equal(f->edge, text);
}

static tb_code keep_passing(selection *s, tb__log_column c, passes pass, tb_error *err)
{
    const tb__log_texts *t;
    if (!any_left(s)) return TB_OK;
    tb_code code = tb__log_texts_of(s->block, c, &t, err);
    if (code) return code;
    if (!t) {
        if (!pass(s->filter, (tb_text){"", 0})) keep_none(s);
        return TB_OK;
    }
    uint8_t *ok = tb__log_marks(s->block, 1);
    for (size_t e = 0; e < t->n; e++)
        ok[e] = pass(s->filter, tb__log_entry(t, e));
    keep_marked(s, t, ok);
    return TB_OK;
}

/* Whether so few rows are left that their texts are looked at one by one. */
static bool few_left(const selection *s)
{
    size_t n = 0;
    for (size_t row = s->first; row < s->end; row++)
        n += s->alive[row];
    return n < (s->end - s->first) / 16;
}

/* Marks the entries that hold the needle, or at least those of them that a row left has. */
static void mark_needed(const selection *s, const tb__log_texts *t, tb_text needle, uint8_t *ok)
{
    memset(ok, 0, t->n);
    if (!few_left(s)) {
        mark_holding(t, needle, ok);
        return;
    }
    for (size_t row = s->first; row < s->end; row++) {
        if (!s->alive[row]) continue;
        const size_t e = tb__log_entry_of(t, row);
        const tb_text text = tb__log_entry(t, e);
        ok[e] = find_folded(text.data, text.len, needle) != NULL;
    }
}

static tb_code keep_holding(selection *s, tb__log_column c, tb_text needle, tb_error *err)
{
    const tb__log_texts *t;
    if (!needle.len || !any_left(s)) return TB_OK;
    tb_code code = tb__log_texts_of(s->block, c, &t, err);
    if (code) return code;
    if (!t) {
        keep_none(s);
        return TB_OK;
    }
    uint8_t *ok = tb__log_marks(s->block, 1);
    mark_needed(s, t, needle, ok);
    keep_marked(s, t, ok);
    return TB_OK;
}

/* --- the URL: host and path as one text --- */

static bool holds_folded(tb_text text, tb_text needle)
{
    return find_folded(text.data, text.len, needle) != NULL;
}

/* Whether the needle's first k bytes end the host. */
static bool ends_host(tb_text host, tb_text needle, size_t k)
{
    return k <= host.len && equal_folded(host.data + host.len - k, needle.data, k);
}

/* A path behind a host begins with '/'. */
static bool may_span(tb_text host, tb_text needle)
{
    for (size_t k = 1; k < needle.len; k++)
        if (needle.data[k] == '/' && ends_host(host, needle, k)) return true;
    return false;
}

static bool spans(tb_text host, tb_text path, tb_text needle)
{
    for (size_t k = 1; k < needle.len; k++)
        if (needle.data[k] == '/' && needle.len - k <= path.len &&
            equal_folded(path.data, needle.data + k, needle.len - k) &&
            ends_host(host, needle, k))
            return true;
    return false;
}

enum { HOST_HOLDS = 1, HOST_MAY_SPAN = 2 };

static void mark_hosts(const tb__log_texts *origins, tb_text needle, uint8_t *mark)
{
    for (size_t e = 0; e < origins->n; e++) {
        const tb_text host = tb__log_host(tb__log_entry(origins, e));
        mark[e] = holds_folded(host, needle) ? HOST_HOLDS : may_span(host, needle) ? HOST_MAY_SPAN : 0;
    }
}

static tb_code keep_url(selection *s, tb_error *err)
{
    const tb__log_texts *origins, *paths;
    const tb_text needle = s->filter->url;
    if (!needle.len || !any_left(s)) return TB_OK;
    tb_code code = tb__log_texts_of(s->block, TB__LOG_ORIGIN, &origins, err);
    if (!code) code = tb__log_texts_of(s->block, TB__LOG_PATH, &paths, err);
    if (code) return code;
    uint8_t *ok = tb__log_marks(s->block, 1), *host = tb__log_marks(s->block, 2);
    if (paths) mark_needed(s, paths, needle, ok);
    if (origins) mark_hosts(origins, needle, host);
    for (size_t row = s->first; row < s->end; row++) {
        if (!s->alive[row]) continue;
        const size_t p = paths ? tb__log_entry_of(paths, row) : 0;
        bool pass = paths && ok[p];
        if (!pass && origins) {
            const size_t o = tb__log_entry_of(origins, row);
            pass = host[o] == HOST_HOLDS ||
                   (host[o] == HOST_MAY_SPAN && paths &&
                    spans(tb__log_host(tb__log_entry(origins, o)), tb__log_entry(paths, p), needle));
        }
        s->alive[row] = pass;
    }
    return TB_OK;
}

/* --- addresses and ids --- */

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    return memcmp(a, b, bits / 8) == 0;
}

/* The bytes of a row's address where it is of the filter's family. */
static bool ip_of(const tb__log_binaries *b, size_t row, bool v4, uint8_t out[16])
{
    const size_t rank = b->rank[row];
    unsigned family = b->width[row] == 4 ? 4 : b->width[row] == 16 ? 6 : 0;
    if (family == 4 && !v4) return false;
    for (unsigned i = 0; family == 4 && i < 4; i++)
        out[i] = b->planes[i * b->n_short + rank];
    if (family == 6) memcpy(out, b->wide + 16 * rank, 16);
    if (b->width[row] == TB__LOG_TEXT_WIDTH) /* written otherwise than it would be printed */
        family = tb__log_ip_read(tb__log_entry(&b->texts, rank), out);
    (void)tb_log_ip_bits(TB_LOG_IP_WHOLE, out, &family);
    return family == (v4 ? 4u : 6u);
}

static tb_code keep_ip(selection *s, tb_error *err)
{
    const tb__log_binaries *b;
    const tb_log_filter *f = s->filter;
    if (!f->by_ip || !any_left(s)) return TB_OK;
    tb_code code = tb__log_binaries_of(s->block, TB__LOG_IP, &b, err);
    if (code) return code;
    for (size_t row = s->first; row < s->end; row++) {
        uint8_t value[16];
        if (s->alive[row])
            s->alive[row] = b && ip_of(b, row, f->ip_is_v4, value) &&
                            same_bits(value, f->ip, f->ip_bits);
    }
    return TB_OK;
}

static tb_code keep_id(selection *s, tb_error *err)
{
    const tb__log_binaries *b;
    const tb_log_filter *f = s->filter;
    if (!f->by_id || !any_left(s)) return TB_OK;
    tb_code code = tb__log_binaries_of(s->block, TB__LOG_ID, &b, err);
    if (code) return code;
    for (size_t row = s->first; row < s->end; row++)
        s->alive[row] &= b && b->width[row] == 16 &&
                         memcmp(b->wide + 16 * (size_t)b->rank[row], f->id, 16) == 0;
    return TB_OK;
}

/* --- search: any token in any of these columns --- */

/* Whether a token is "-", which is shown as the cache status of rows that have none. */
static bool asks_for_none(const tb_log_filter *f)
{
    for (size_t i = 0; i < f->tokens.n; i++)
        if (f->tokens.item[i].len == 1 && *f->tokens.item[i].data == '-') return true;
    return false;
}

static tb_code search_texts(selection *s, tb__log_column c, uint8_t *found, tb_error *err)
{
    const tb__log_texts *t;
    const bool none = c == TB__LOG_CACHE && asks_for_none(s->filter);
    tb_code code = tb__log_texts_of(s->block, c, &t, err);
    if (!code && !t && none) memset(found + s->first, 1, s->end - s->first);
    if (code || !t) return code;
    uint8_t *ok = tb__log_marks(s->block, 1);
    memset(ok, 0, t->n);
    for (size_t e = 0; none && e < t->n; e++)
        ok[e] = t->at[e] == t->at[e + 1];
    for (size_t i = 0; i < s->filter->tokens.n; i++) {
        const tb_text token = s->filter->tokens.item[i];
        if (c != TB__LOG_ORIGIN) mark_holding(t, token, ok);
        for (size_t e = 0; c == TB__LOG_ORIGIN && e < t->n; e++)
            ok[e] |= holds_folded(tb__log_host(tb__log_entry(t, e)), token);
    }
    for (size_t row = s->first; row < s->end; row++)
        found[row] |= ok[tb__log_entry_of(t, row)];
    return TB_OK;
}

static void put_hex(const uint8_t bytes[16], char out[32])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* Whether the token may be part of 32 lower-case hex digits. */
static bool is_hex(tb_text token)
{
    for (size_t i = 0; i < token.len; i++) {
        const char c = token.data[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
    }
    return token.len <= 32;
}

static bool id_found(const tb__log_binaries *b, size_t row, tb_text token, bool hex)
{
    char digits[32];
    if (b->width[row] == TB__LOG_TEXT_WIDTH)
        return holds_folded(tb__log_entry(&b->texts, b->rank[row]), token);
    if (b->width[row] != 16 || !hex) return false;
    put_hex(b->wide + 16 * (size_t)b->rank[row], digits);
    return memmem(digits, 32, token.data, token.len) != NULL;
}

static tb_code search_ids(selection *s, uint8_t *found, tb_error *err)
{
    const tb__log_binaries *b;
    tb_code code = tb__log_binaries_of(s->block, TB__LOG_ID, &b, err);
    for (size_t i = 0; !code && b && i < s->filter->tokens.n; i++) {
        const tb_text token = s->filter->tokens.item[i];
        const bool hex = is_hex(token);
        if (!hex && b->texts.n == 0) continue; /* all ids are hex digits */
        for (size_t row = s->first; row < s->end; row++)
            if (s->alive[row] && !found[row]) found[row] = id_found(b, row, token, hex);
    }
    return code;
}

static tb_code keep_searched(selection *s, tb_error *err)
{
    static const tb__log_column columns[] = {TB__LOG_CACHE, TB__LOG_EDGE,    TB__LOG_ORIGIN,
                                             TB__LOG_PATH,  TB__LOG_AGENT,   TB__LOG_REFERER,
                                             TB__LOG_RANGE};
    if (!s->filter->tokens.n || !any_left(s)) return TB_OK;
    uint8_t *found = tb__log_marks(s->block, 2);
    memset(found, 0, TB_LOGBLOCK_LINES);
    tb_code code = TB_OK;
    const size_t n = sizeof columns / sizeof *columns - !s->filter->extended;
    for (size_t i = 0; !code && i < n; i++)
        code = search_texts(s, columns[i], found, err);
    if (!code) code = search_ids(s, found, err);
    for (size_t row = s->first; !code && row < s->end; row++)
        s->alive[row] &= found[row];
    return code;
}

/* --- the whole --- */

/* The first row that is not before `ms`. */
static size_t first_at(const int64_t *times, size_t n, int64_t ms)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (times[middle] < ms) low = middle + 1;
        else high = middle;
    }
    return low;
}

static tb_code keep_all(selection *s, tb_error *err)
{
    const tb_log_filter *f = s->filter;
    tb_code code = TB_OK;
    if (f->by_status) code = keep_passing(s, TB__LOG_STATUS, status_passes, err);
    if (!code && f->cache.n) code = keep_passing(s, TB__LOG_CACHE, cache_passes, err);
    if (!code && f->edge.len) code = keep_passing(s, TB__LOG_EDGE, edge_passes, err);
    if (!code && f->country.n) code = keep_passing(s, TB__LOG_COUNTRY, country_passes, err);
    if (!code) code = keep_id(s, err);
    if (!code) code = keep_ip(s, err);
    if (!code) code = keep_holding(s, TB__LOG_AGENT, f->agent, err);
    if (!code) code = keep_holding(s, TB__LOG_REFERER, f->referer, err);
    if (!code) code = keep_url(s, err);
    return code ? code : keep_searched(s, err);
}

tb_code tb_logblock_select(tb_logblock *block, const tb_log_filter *filter, uint16_t *rows,
                           size_t *ret_n, tb_error *err)
{
    const int64_t *times;
    const size_t lines = tb__logblock_lines(block);
    tb_code code = tb__log_times_of(block, &times, err);
    if (code) return code;
    selection s = {.block = block,
                   .filter = filter,
                   .first = first_at(times, lines, filter->from_ms),
                   .end = first_at(times, lines, filter->to_ms),
                   .alive = tb__log_marks(block, 0)};
    if (s.end > s.first) memset(s.alive + s.first, 1, s.end - s.first);
    code = keep_all(&s, err);
    if (code) return code;
    size_t n = 0;
    for (size_t row = s.first; row < s.end; row++) {
        rows[n] = (uint16_t)row;
        n += s.alive[row];
    }
    *ret_n = n;
    return TB_OK;
}
