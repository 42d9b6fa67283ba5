/* A line's columns. Intake has accepted the line, so nothing is checked here: columns are where intake found them,
 * and an empty text ("-") becomes an absent one. */
#include "intake/columns.h"
#include "intake/chars.h"
#include "tollbook/requestlog.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define PIPES      TB_SPAN_PIPES
#define SCHEME_MAX 16

static tb_text between(const char *from, const char *to)
{
    return (tb_text){from, (size_t)(to - from)};
}

static tb_text of_part(tb__part part)
{
    return (tb_text){part.at, part.len};
}

static tb_text or_absent(tb_text text)
{
    if (text.len == 1 && text.data[0] == '-') text.len = 0;
    return text;
}

/* Digits that intake has checked, or free bytes: UINT64_MAX where they are no number of 1 to 18
 * digits. */
static uint64_t number(tb_text text)
{
    uint64_t value = 0;
    if (text.len < 1 || text.len > 18) return UINT64_MAX;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return UINT64_MAX;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    return value;
}

/* The first slash from `from` on, or the end: a host is mostly two steps long. */
static const char *find_slash(const char *from, const char *end)
{
#if defined(__SSE2__)
    const __m128i slash = _mm_set1_epi8('/');
    for (; end - from >= 16; from += 16) {
        const __m128i here = _mm_loadu_si128((const __m128i *)(const void *)from);
        const unsigned set = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, slash));
        if (set) return from + __builtin_ctz(set);
    }
#endif
    const char *at = memchr(from, '/', (size_t)(end - from));
    return at ? at : end;
}

/* What follows "scheme://"; NULL: the URL does not begin so. */
static const char *find_host(tb_text url)
{
    const char *end = url.data + url.len, *colon = url.data;
    if (url.len >= 8 && memcmp(url.data, "https://", 8) == 0) return url.data + 8;
    while (colon < end && colon - url.data < SCHEME_MAX && *colon != ':')
        colon++;
    return end - colon >= 3 && memcmp(colon, "://", 3) == 0 ? colon + 3 : NULL;
}

/* "https://host/path?query": origin up to the host's end. */
static inline void split_url(tb_text url, tb_logline *line)
{
    const char *host = url.len ? find_host(url) : NULL;
    line->origin = (tb_text){url.data, 0};
    line->path = url;
    if (!host) return;
    const char *end = url.data + url.len, *slash = find_slash(host, end);
    line->origin = between(url.data, slash);
    line->path = between(slash, end);
}

/* The thirteen digits that end here; a line with known pipes has no other form. */
static int64_t read_time(const char *end)
{
    return (int64_t)(tb__digits_value(tb__digits_before(end - 8, 5)) * 100000000 +
                     tb__digits_value(tb__digits_before(end, 8)));
}

/* All but the numbers of a line with its pipes at p, 11 or 14 of them. */
static inline __attribute__((always_inline)) void take_columns(const char *line, const char *end,
                                                               const char *const p[PIPES],
                                                               bool extended, tb_logline *ret)
{
    ret->cache = or_absent(between(line, p[0]));
    ret->status = between(p[0] + 1, p[1]);
    ret->ip = or_absent(between(p[4] + 1, p[5]));
    ret->referer = or_absent(between(p[5] + 1, p[6]));
    split_url(between(p[6] + 1, p[7]), ret);
    ret->edge = between(p[7] + 1, p[8]);
    ret->agent = or_absent(between(p[8] + 1, p[9]));
    ret->id = or_absent(between(p[9] + 1, p[10]));
    ret->country = or_absent(between(p[10] + 1, extended ? p[11] : end));
    ret->body_bytes = UINT64_MAX;
    ret->range = between(line, line); /* each by itself: copied, one would wait for the other */
    ret->authorization = between(line, line);
    ret->ja4 = between(line, line);
    ret->asn = between(line, line);
    ret->organization = between(line, line);
    if (!extended) return;
    ret->body_bytes = number(between(p[11] + 1, p[12]));
    ret->range = or_absent(between(p[12] + 1, p[13]));
    ret->authorization = or_absent(between(p[13] + 1, end));
}

/* Three digits, however the log writes it: texts outlive the line that they are read into. */
#define TEN(two)     two "0" two "1" two "2" two "3" two "4" two "5" two "6" two "7" two "8" two "9"
#define HUNDRED(one) \
    TEN(one "0") TEN(one "1") TEN(one "2") TEN(one "3") TEN(one "4") TEN(one "5") TEN(one "6") TEN(one "7") TEN(one "8") TEN(one "9")
static tb_text status_of(const tb_hit *hit)
{
    static const char all[] = HUNDRED("1") HUNDRED("2") HUNDRED("3") HUNDRED("4") HUNDRED("5");
    return (tb_text){all + 3 * (hit->status - 100), 3};
}
#undef HUNDRED
#undef TEN

static void read_pipe(const tb_log_layout *layout, const char *line, size_t len, tb_logline *ret)
{
    tb_hit hit;
    tb_reject reject;
    tb__pipe_parts parts;
    if (!tb__pipe_read(layout, line, len, &hit, &parts, &reject)) return;
    *ret = (tb_logline){
        .time_ms = parts.time_ms,
        .bytes = hit.bytes,
        .body_bytes = number(of_part(parts.body)),
        .cache = or_absent(of_part(parts.cache)),
        .status = status_of(&hit),
        .ip = or_absent(of_part(parts.ip)),
        .referer = or_absent(of_part(parts.referer)),
        .edge = of_part(parts.edge),
        .agent = or_absent(of_part(parts.agent)),
        .id = or_absent(of_part(parts.id)),
        .country = or_absent(of_part(parts.country)),
        .range = or_absent(of_part(parts.range)),
        .authorization = or_absent(of_part(parts.authorization)),
    };
    if (parts.url.len) split_url(of_part(parts.url), ret);
}

/* "GET /path HTTP/1.1": the part between the method and the version. */
static tb_text target_of(tb_text request)
{
    const char *end = request.data + request.len;
    const char *space = memchr(request.data, ' ', request.len);
    const char *last = memrchr(request.data, ' ', request.len);
    if (!space) return request;
    return between(space + 1,
                   last > space && end - last > 5 && memcmp(last, " HTTP/", 6) == 0 ? last : end);
}

static void read_combined(const tb_log_layout *layout, const char *line, size_t len,
                          tb_logline *ret)
{
    tb_hit hit;
    tb_reject reject;
    tb__combined_parts parts = {0};
    if (!tb__combined_read(layout, line, len, &hit, &parts, &reject)) return;
    *ret = (tb_logline){
        .time_ms = parts.time_ms,
        .bytes = hit.bytes,
        .body_bytes = UINT64_MAX,
        .cache = or_absent(of_part(parts.cache)),
        .status = status_of(&hit),
        .ip = or_absent(of_part(parts.client)),
        .referer = or_absent(of_part(parts.referer)),
        .edge = {layout->edge, layout->edge_len},
        .agent = or_absent(of_part(parts.agent)),
    };
    split_url(target_of(of_part(parts.request)), ret);
}

static char *put_made(char *to, const char *end, tb__part part)
{
    const size_t room = (size_t)(end - to), len = part.len < room ? part.len : room;
    if (len) memcpy(to, part.at, len);
    return to + len;
}

/* "scheme://host", which no column says as one. */
static void make_origin(const tb__columns_parts *parts, tb_logline *ret)
{
    static const char https[] = "https";
    tb__part scheme = parts->of[TB__ROLE_SCHEME], host = parts->of[TB__ROLE_HOST];
    if (host.len == 0 || (host.len == 1 && *host.at == '-')) return;
    if (scheme.len == 0 || scheme.len > SCHEME_MAX) scheme = (tb__part){https, sizeof https - 1};
    const char *end = ret->made + sizeof ret->made;
    char *at = put_made(ret->made, end, scheme);
    at = put_made(at, end, (tb__part){"://", 3});
    at = put_made(at, end, host);
    ret->origin = between(ret->made, at);
}

/* "64500" and "AS64500" as digits; absent where the text is no number of an autonomous system. */
static tb_text asn_digits(tb_text text)
{
    size_t at = text.len > 2 && (text.data[0] | 32) == 'a' && (text.data[1] | 32) == 's' ? 2 : 0;
    uint64_t value = 0;
    while (at + 1 < text.len && text.data[at] == '0')
        at++;
    const tb_text digits = {text.data + at, text.len - at};
    for (size_t i = 0; i < digits.len && value <= UINT32_MAX; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') return (tb_text){digits.data, 0};
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    }
    return value > 0 && value <= UINT32_MAX ? digits : (tb_text){digits.data, 0};
}

static void read_columns(const tb_log_layout *layout, const char *line, size_t len, tb_logline *ret)
{
    const tb_log_columns *c = layout->columns;
    tb__columns_parts parts = {0};
    tb__memo memo;
    tb_hit hit;
    tb_reject reject;
    tb__memo_init(&memo);
    if (!tb__columns_read(layout, line, len, &memo, &hit, &parts, &reject)) return;
    *ret = (tb_logline){
        .time_ms = parts.time_ms,
        .bytes = hit.bytes,
        .body_bytes = number(of_part(parts.of[TB__ROLE_BODY])),
        .cache = or_absent(of_part(parts.of[TB__ROLE_CACHE])),
        .status = status_of(&hit),
        .ip = or_absent(of_part(parts.of[TB__ROLE_IP])),
        .referer = or_absent(of_part(parts.of[TB__ROLE_REFERER])),
        .edge = {hit.edge, hit.edge_len},
        .agent = or_absent(of_part(parts.of[TB__ROLE_AGENT])),
        .id = or_absent(of_part(parts.of[TB__ROLE_ID])),
        .range = or_absent(of_part(parts.of[TB__ROLE_RANGE])),
        .authorization = or_absent(of_part(parts.of[TB__ROLE_AUTHORIZATION])),
        .ja4 = or_absent(of_part(parts.of[TB__ROLE_JA4])),
        .asn = asn_digits(of_part(parts.of[TB__ROLE_ASN])),
        .organization = or_absent(of_part(parts.of[TB__ROLE_ORGANIZATION])),
    };
    if (hit.country) ret->country = of_part(parts.of[TB__ROLE_COUNTRY]);
    if (tb__has_role(c, TB__ROLE_URL)) split_url(or_absent(of_part(parts.of[TB__ROLE_URL])), ret);
    else if (tb__has_role(c, TB__ROLE_REQUEST))
        split_url(or_absent(target_of(of_part(parts.of[TB__ROLE_REQUEST]))), ret);
    if (ret->origin.len == 0) make_origin(&parts, ret);
}

void tb_logline_read(const tb_log_layout *layout, const char *line, size_t len,
                     tb_logline *ret_line)
{
    *ret_line = (tb_logline){.body_bytes = UINT64_MAX};
    if (layout->format == TB_FORMAT_COMBINED)
        read_combined(layout, line, len, ret_line);
    else if (layout->format == TB_FORMAT_COLUMNS)
        read_columns(layout, line, len, ret_line);
    else
        read_pipe(layout, line, len, ret_line);
}

void tb_logline_of(const tb_log_layout *layout, const tb_hit *hit, const tb_span *span,
                   tb_logline *ret_line)
{
    const char *p[PIPES], *line = span->line;
    if (!span->pipes) {
        tb_logline_read(layout, line, span->len, ret_line);
        return;
    }
    for (unsigned i = 0; i < span->pipes; i++)
        p[i] = line + span->at[i];
    take_columns(line, line + span->len, p, span->pipes == PIPES, ret_line);
    ret_line->time_ms = read_time(p[2]);
    ret_line->bytes = hit->bytes;
}
