/* Values of described columns: times, cache words, hostnames.
 *
 * Times are read at fixed places: each form is checked by its length and its separators first, then its
 * digits. A leap second counts as the second before it, as in the combined format. */
#include "base/jsontext.h"
#include "intake/chars.h"
#include "intake/columns.h"
#include "tollbook/calendar.h"

#include <arpa/inet.h>
#include <string.h>

#define K(name) (1u << TB__KIND_##name)

enum {
    PLAIN = K(TEXT) | K(NAME) | K(SITE) | K(HOST),
    LETTERS = PLAIN | K(TOKEN) | K(PROTOCOL) | K(ADDRESS) | K(LOCAL) | K(BRACKETED) | K(ISO),
    DIGITS = LETTERS | K(NUMBER) | K(DECIMAL) | K(LIST),
    SPACES = K(TEXT) | K(LIST) | K(LOCAL) | K(BRACKETED)
};

const uint16_t tb__kind_class[256] = {
    [0 ... 31] = K(TEXT),
    [' '] = SPACES,
    ['!'] = PLAIN,
    ['"'] = K(TEXT),
    ['#' ... '$'] = PLAIN,
    ['%'] = PLAIN | K(ADDRESS),
    ['&' ... '*'] = PLAIN,
    ['+'] = PLAIN | K(LOCAL) | K(BRACKETED) | K(ISO),
    [','] = K(TEXT) | K(LIST) | K(HOST),
    ['-'] = DIGITS,
    ['.'] = PLAIN | K(DECIMAL) | K(LIST) | K(TOKEN) | K(PROTOCOL) | K(ADDRESS) | K(ISO),
    ['/'] = K(TEXT) | K(PROTOCOL) | K(LOCAL) | K(BRACKETED),
    ['0' ... '9'] = DIGITS,
    [':'] = K(TEXT) | K(LIST) | K(ADDRESS) | K(SITE) | K(HOST) | K(LOCAL) | K(BRACKETED) | K(ISO),
    [';'] = K(TEXT) | K(HOST),
    ['<' ... '@'] = PLAIN,
    ['A' ... 'Z'] = LETTERS,
    ['['] = PLAIN | K(BRACKETED),
    ['\\'] = PLAIN,
    [']'] = PLAIN | K(BRACKETED),
    ['^'] = PLAIN,
    ['_'] = PLAIN | K(TOKEN) | K(PROTOCOL) | K(ADDRESS),
    ['`'] = PLAIN,
    ['a' ... 'z'] = LETTERS,
    ['{'] = PLAIN,
    ['|'] = K(TEXT) | K(HOST),
    ['}' ... '~'] = PLAIN,
    [127] = K(TEXT),
    [128 ... 255] = PLAIN,
};

/* --- times --- */

/* n digits at p; more than 9999 where one of them is none. */
TB__INLINE uint32_t number_at(const char *p, unsigned n)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!tb__digit(p[i])) return UINT32_MAX;
        value = value * 10 + (uint32_t)(p[i] - '0');
    }
    return value;
}

static int32_t month_named(const char *p)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int32_t i = 0; i < 12; i++)
        if (memcmp(p, names + 3 * i, 3) == 0) return i + 1;
    return 0;
}

static bool day_of(uint32_t year, uint32_t month, uint32_t day, int64_t *ret_day)
{
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1) return false;
    const tb_date date = {.year = (int32_t)year, .month = (int32_t)month, .day = (int32_t)day};
    if (day > (uint32_t)tb_days_in_month(date.year, date.month)) return false;
    *ret_day = tb_day_from_date(date);
    return true;
}

/* "10:05:03" in seconds. */
static bool clock_of(const char *p, int64_t *ret_s)
{
    const uint32_t hour = number_at(p, 2), minute = number_at(p + 3, 2);
    uint32_t second = number_at(p + 6, 2);
    if (p[2] != ':' || p[5] != ':' || hour > 23 || minute > 59 || second > 60) return false;
    if (second == 60) second = 59;
    *ret_s = hour * 3600 + minute * 60 + second;
    return true;
}

/* "Z", "+0200", "+02:00" or "+02" in seconds east of UTC. */
static bool offset_of(const char *p, size_t len, int64_t *ret_s)
{
    *ret_s = 0;
    if (len == 1) return *p == 'Z' || *p == 'z';
    if (len < 3 || (*p != '+' && *p != '-')) return false;
    const bool colon = len == 6 && p[3] == ':';
    if (len != 3 && len != 5 && !colon) return false;
    const uint32_t hours = number_at(p + 1, 2), minutes = len == 3 ? 0 : number_at(p + 3 + colon, 2);
    if (hours > 23 || minutes > 59) return false;
    *ret_s = (*p == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
    return true;
}

/* 17/May/2015:10:05:03 +0000 */
static bool local_time(const char *p, int64_t *ret_ms)
{
    int64_t day, clock, offset;
    if (p[2] != '/' || p[6] != '/' || p[11] != ':' || p[20] != ' ') return false;
    if (!day_of(number_at(p + 7, 4), (uint32_t)month_named(p + 3), number_at(p, 2), &day) ||
        !clock_of(p + 12, &clock) || !offset_of(p + 21, 5, &offset))
        return false;
    *ret_ms = (day * 86400 + clock - offset) * 1000;
    return true;
}

/* The digits after the point: milliseconds, the rest is cut off. *at is moved past the digits. */
static uint32_t fraction_ms(const char **at, const char *end)
{
    uint32_t ms = 0, unit = 100;
    const char *p = *at;
    for (; p < end && tb__digit(*p); p++, unit /= 10)
        ms += (uint32_t)(*p - '0') * unit;
    *at = p;
    return ms;
}

/* 2015-05-17T10:05:03.123+00:00; without an offset it would be some clock's own time. */
static bool iso_time(const char *p, size_t len, int64_t *ret_ms)
{
    int64_t day, clock, offset;
    uint32_t ms = 0;
    const char *at = p + 19, *end = p + len;
    if (len < 20 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != 't' && p[10] != ' '))
        return false;
    if (!day_of(number_at(p, 4), number_at(p + 5, 2), number_at(p + 8, 2), &day) ||
        !clock_of(p + 11, &clock))
        return false;
    if (*at == '.' || *at == ',') {
        at++;
        ms = fraction_ms(&at, end);
    }
    if (at < end && *at == ' ') at++;
    if (at == end || !offset_of(at, (size_t)(end - at), &offset)) return false;
    *ret_ms = (day * 86400 + clock - offset) * 1000 + ms;
    return true;
}

/* Seconds since 1970 with or without a fraction; longer numbers are milli-, micro- or nanoseconds. */
static bool epoch_time(const char *p, size_t len, int64_t *ret_ms)
{
    static const uint64_t unit_ms[] = {1000, 1};
    uint64_t value = 0;
    const char *at = p, *end = p + len;
    for (; at < end && tb__digit(*at) && at - p < 19; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    const size_t digits = (size_t)(at - p);
    if (digits == 0 || (at < end && tb__digit(*at))) return false;
    uint32_t ms = 0;
    if (at < end && *at == '.' && end - at > 1) {
        at++;
        ms = fraction_ms(&at, end);
    }
    if (at != end) return false;
    if (value < UINT64_C(100000000000)) *ret_ms = (int64_t)(value * unit_ms[0] + ms);
    else if (value < UINT64_C(100000000000000)) *ret_ms = (int64_t)value;
    else if (value < UINT64_C(100000000000000000)) *ret_ms = (int64_t)(value / 1000);
    else *ret_ms = (int64_t)(value / 1000000);
    return true;
}

bool tb__any_time(tb__part text, int64_t *ret_ms)
{
    const char *p = text.at;
    size_t len = text.len;
    if (len == 0) return false;
    if (len == 28 && p[0] == '[' && p[27] == ']') return local_time(p + 1, ret_ms);
    if (len == 26 && p[2] == '/') return local_time(p, ret_ms);
    if (len > 18 && p[4] == '-') return iso_time(p, len, ret_ms);
    return epoch_time(p, len, ret_ms);
}

/* --- numbers of JSON --- */

/* Appends digits from *at on to those in *to; false where there are none, or too many. */
static bool gather_digits(const char **at, const char *end, char *to, size_t *n)
{
    const char *from = *at;
    for (; *at < end && tb__digit(**at); ++*at) {
        if (*n == TB__PLAIN_MAX) return false;
        to[(*n)++] = **at;
    }
    return *at > from;
}

/* "e3", "E-07"; 0 where nothing is left. */
static bool read_exponent(const char *p, const char *end, int *ret)
{
    *ret = 0;
    if (p == end) return true;
    if ((*p | 0x20) != 'e' || ++p == end) return false;
    const bool below = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (p == end || end - p > 4) return false;
    for (; p < end; p++) {
        if (!tb__digit(*p)) return false;
        *ret = *ret * 10 + (*p - '0');
    }
    if (below) *ret = -*ret;
    return true;
}

/* n digits with the point after the first `point` of them, which may be none, or more than n. */
static size_t put_plain(const char *digits, int n, int point, char to[TB__PLAIN_MAX])
{
    size_t len = 0;
    for (; n > 0 && *digits == '0'; n--, point--)
        digits++;
    while (n > 0 && n > point && digits[n - 1] == '0')
        n--;
    if (n == 0) point = 1;
    if (point > TB__PLAIN_MAX || n - point > TB__PLAIN_MAX - 2) return 0;
    for (int i = point < 1 ? point - 1 : 0; i < n || i < point; i++) {
        if (len + 2 > TB__PLAIN_MAX) return 0;
        if (i == point) to[len++] = '.';
        to[len++] = i >= 0 && i < n ? digits[i] : '0';
    }
    return len;
}

bool tb__plain_number(tb__part *text, char to[TB__PLAIN_MAX])
{
    char digits[TB__PLAIN_MAX];
    if (text->len == 0) return false;
    const char *at = text->at, *end = at + text->len;
    size_t n = 0;
    int exponent;
    if (!gather_digits(&at, end, digits, &n)) return false;
    const int point = (int)n;
    if (at < end && *at == '.' && (at++, !gather_digits(&at, end, digits, &n))) return false;
    if (!read_exponent(at, end, &exponent)) return false;
    const size_t len = put_plain(digits, (int)n, point + exponent, to);
    if (len) *text = (tb__part){to, len};
    return len > 0;
}

/* --- texts of JSON --- */

bool tb__plain_text(tb__part *text, char to[TB_HOST_MAX])
{
    const char *p = text->at, *end = p + text->len;
    char *out = to;
    if (!text->len || text->len >= TB_HOST_MAX || !memchr(p, '\\', text->len)) return false;
    while (p < end) {
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        const size_t step = tb__unescape(p, end, &out);
        if (!step) return false;
        p += step;
    }
    *text = (tb__part){to, (size_t)(out - to)};
    return true;
}

bool tb__day(tb__part date, int64_t *ret_ms)
{
    int64_t day;
    const char *p = date.at;
    if (date.len != 10 || p[4] != '-' || p[7] != '-' ||
        !day_of(number_at(p, 4), number_at(p + 5, 2), number_at(p + 8, 2), &day))
        return false;
    *ret_ms = day * 86400000;
    return true;
}

bool tb__clock(tb__part clock, int64_t *ret_ms)
{
    int64_t seconds;
    if (clock.len != 8 || !clock_of(clock.at, &seconds)) return false;
    *ret_ms = seconds * 1000;
    return true;
}

/* --- cache words --- */

static bool is_word_char(char c)
{
    return tb__char_is(c, TB__CHAR_LETTER) || c == '_';
}

typedef struct cache_name {
    const char *name;
    uint8_t len, cache;
} cache_name;

#define WORD(text, cache)                                                                          \
    {                                                                                              \
        text, sizeof text - 1, cache                                                               \
    }
static const cache_name cache_names[] = {
    WORD("hit", TB_CACHE_SERVED),
    WORD("stale", TB_CACHE_SERVED),
    WORD("updating", TB_CACHE_SERVED),
    WORD("originshieldhit", TB_CACHE_SERVED),
    WORD("stream_hit", TB_CACHE_SERVED),
    WORD("tcp_hit", TB_CACHE_SERVED),
    WORD("tcp_mem_hit", TB_CACHE_SERVED),
    WORD("revalidated", TB_CACHE_REVALIDATED),
    WORD("refreshhit", TB_CACHE_REVALIDATED),
    WORD("tcp_refresh_hit", TB_CACHE_REVALIDATED),
};
#undef WORD

static bool same_word(const char *p, const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((p[i] | 0x20) != (word[i] | 0x20)) return false;
    return true;
}

static size_t word_length(const char *p, const char *end)
{
    size_t len = 0;
    while (p + len < end && is_word_char(p[len]))
        len++;
    return len;
}

bool tb__cache_tells(const char *word, size_t len)
{
    static const char *const answers[] = {"true", "false", "yes", "no"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strlen(answers[i]) == len && same_word(word, answers[i], len)) return false;
    return len == 0 || !tb__digit(*word);
}

tb_cache tb__cache_word(tb__part word)
{
    if (!tb__cache_tells(word.at, word.len)) return TB_CACHE_UNKNOWN;
    const char *p = word.at, *end = p + word.len;
    size_t len = word_length(p, end);
    if (len == 5 && word.len > 6 && p[5] == ' ' && same_word(p, "cache", 5)) { /* mod_cache's */
        p += 6;
        len = word_length(p, end);
    }
    for (size_t i = 0; i < sizeof cache_names / sizeof *cache_names; i++)
        if (len == cache_names[i].len && same_word(p, cache_names[i].name, len))
            return (tb_cache)cache_names[i].cache;
    return TB_CACHE_OTHER;
}

/* --- hosts --- */

/* Without ":443" at its end. The colons of an IPv6 address are its own, in brackets or not. */
static size_t without_port(const char *p, size_t len)
{
    size_t at = len;
    while (at > 0 && tb__digit(p[at - 1]))
        at--;
    if (at == 0 || p[at - 1] != ':') return len;
    const bool bracket = at > 1 && p[at - 2] == ']';
    return bracket || !memchr(p, ':', at - 1) ? at - 1 : len;
}

/* An IPv6 address in its printed form, and as IPv4 address if it is of ::ffff:0:0/96; returns the length, 0: no
 * address. */
static size_t fold_address(const char *p, size_t len, char to[TB_HOST_MAX])
{
    struct in6_addr address;
    char copy[INET6_ADDRSTRLEN];
    if (len >= sizeof copy || !memchr(p, ':', len) || memchr(p, 0, len)) return 0;
    memcpy(copy, p, len);
    copy[len] = 0;
    if (inet_pton(AF_INET6, copy, &address) != 1) return 0;
    const bool v4 = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(v4 ? AF_INET : AF_INET6, address.s6_addr + (v4 ? 12 : 0), to, TB_HOST_MAX);
    return strlen(to);
}

size_t tb__host_fold(tb__part text, char to[TB_HOST_MAX])
{
    const char *p = text.at;
    size_t len = without_port(p, text.len);
    if (len > 0 && p[len - 1] == '.') len--;
    if (len > 2 && p[0] == '[' && p[len - 1] == ']') p++, len -= 2;
    if (len == 0 || len >= TB_HOST_MAX) return 0;
    const size_t address = fold_address(p, len, to);
    if (address) return address;
    for (size_t i = 0; i < len; i++) {
        const char c = p[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    return len;
}
