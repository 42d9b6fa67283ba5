/* One line of the combined format, as nginx and Apache write it:
 *
 *   host ident user [17/May/2015:10:05:03 +0000] "request" status bytes "referer" "agent" [cache]
 *
 * The two quoted fields may be absent together (common format). Inside quotes a backslash takes the
 * next byte with it (Apache writes \", nginx \x22), so the first bare quote ends the field. A field
 * after the agent is $upstream_cache_status; nginx's stock "main" format puts a quoted forwarding
 * address there, mostly "-", so in quotes only a word of nginx's cache counts; an unquoted field that is
 * not a cache status is refused.
 * Without a cache status it is unknown whether an answer came from cache. */
#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"
#include "tollbook/calendar.h"

#include <string.h>

/* A reader over one line; the takers move `at` past the bytes that they took, or leave it at the error. */
typedef struct reader {
    const char *at, *end;
} reader;

static bool take_char(reader *r, char c)
{
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* A run of at least one byte without spaces. */
static bool take_word(reader *r, const char **ret_word, size_t *ret_len)
{
    const char *at = r->at;
    while (at < r->end && *at != ' ')
        at++;
    if (at == r->at) return false;
    *ret_word = r->at;
    *ret_len = (size_t)(at - r->at);
    r->at = at;
    return true;
}

static bool take_quoted(reader *r, const char **ret_text, size_t *ret_len)
{
    if (!take_char(r, '"')) return false;
    const char *at = r->at;
    while (at < r->end && *at != '"')
        at += *at == '\\' && r->end - at > 1 ? 2 : 1;
    if (at == r->end) {
        r->at = at;
        return false;
    }
    *ret_text = r->at;
    *ret_len = (size_t)(at - r->at);
    r->at = at + 1;
    return true;
}

/* The first quote that no backslash takes with it; NULL: there is none. */
static const char *bare_quote(const char *from, const char *end)
{
    const char *quote = memchr(from, '"', (size_t)(end - from));
    while (quote) {
        const char *at = quote;
        while (at > from && at[-1] == '\\')
            at--;
        if ((quote - at) % 2 == 0) return quote;
        quote = memchr(quote + 1, '"', (size_t)(end - quote - 1));
    }
    return NULL;
}

/* host, ident and user up to the bracket. A user name is chosen by the client: it may be empty, or contain spaces and
 * brackets, but no bare quote: the time is directly before the first one. Apache writes an empty name as two quotes. */
static bool take_client(reader *r, tb__combined_parts *parts)
{
    enum { TIME_LEN = sizeof "[17/May/2015:10:05:03 +0000] " - 1 };
    const char *word;
    size_t len;
    if (!take_word(r, &word, &len) || !take_char(r, ' ')) return false;
    parts->client = (tb__part){word, len};
    if (!take_word(r, &word, &len) || !take_char(r, ' ')) return false;
    const bool empty = r->end - r->at > 2 && memcmp(r->at, "\"\" ", 3) == 0;
    const char *quote = bare_quote(r->at + (empty ? 2 : 0), r->end);
    if (!quote || quote - r->at < TIME_LEN + 1 || quote[-TIME_LEN - 1] != ' ') return false;
    r->at = quote - TIME_LEN;
    return true;
}

/* Exactly n digits. */
static bool take_digits(reader *r, unsigned n, int32_t *ret)
{
    int32_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        if (r->at == r->end || !tb__digit(*r->at)) return false;
        value = value * 10 + (*r->at++ - '0');
    }
    *ret = value;
    return true;
}

static bool take_month(reader *r, int32_t *ret_month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int32_t i = 0; i < 12; i++) {
        if (r->end - r->at < 3 || memcmp(r->at, names + 3 * i, 3) != 0) continue;
        r->at += 3;
        *ret_month = i + 1;
        return true;
    }
    return false;
}

/* " +0200]": minutes east of UTC. */
static bool take_offset(reader *r, int32_t *ret_minutes)
{
    int32_t hours, minutes;
    if (!take_char(r, ' ')) return false;
    const bool west = r->at < r->end && *r->at == '-';
    if (!take_char(r, west ? '-' : '+')) return false;
    if (!take_digits(r, 2, &hours) || !take_digits(r, 2, &minutes) || !take_char(r, ']'))
        return false;
    if (hours > 23 || minutes > 59) return false;
    *ret_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

/* "[17/May/2015:10:05:03 +0000]". A leap second counts as the second before it. */
static bool take_time(reader *r, int64_t *ret_ms)
{
    tb_date date;
    int32_t hour, minute, second, offset;
    if (!take_char(r, '[')) return false;
    if (!take_digits(r, 2, &date.day) || !take_char(r, '/')) return false;
    if (!take_month(r, &date.month) || !take_char(r, '/')) return false;
    if (!take_digits(r, 4, &date.year) || !take_char(r, ':')) return false;
    if (!take_digits(r, 2, &hour) || !take_char(r, ':')) return false;
    if (!take_digits(r, 2, &minute) || !take_char(r, ':')) return false;
    if (!take_digits(r, 2, &second) || !take_offset(r, &offset)) return false;
    if (date.year < 1 || date.day < 1 || date.day > tb_days_in_month(date.year, date.month))
        return false;
    if (hour > 23 || minute > 59 || second > 60) return false;
    if (second == 60) second = 59;
    const int64_t minutes = tb_day_from_date(date) * 1440 + hour * 60 + minute - offset;
    *ret_ms = (minutes * 60 + second) * 1000;
    return true;
}

/* Status and bytes sent, each a word. */
static bool take_counts(reader *r, tb_hit *hit, tb_reject_reason *ret_reason)
{
    const char *word;
    size_t len;
    *ret_reason = TB_REJECT_COMBINED;
    if (!take_char(r, ' ') || !take_word(r, &word, &len)) return false;
    *ret_reason = TB_REJECT_STATUS;
    reader back = {word, r->end};
    if (!tb__status(word, len, &hit->status, &back.at)) {
        *r = back;
        return false;
    }
    *ret_reason = TB_REJECT_COMBINED;
    if (!take_char(r, ' ') || !take_word(r, &word, &len)) return false;
    hit->bytes = 0;
    if (len == 1 && *word == '-') return true;
    *ret_reason = TB_REJECT_BYTES;
    if (tb__number(word, word + len, TB_HIT_BYTES_MAX, &hit->bytes, &back.at)) return true;
    *r = back;
    return false;
}

/* Values of $upstream_cache_status that tb__cache_parse does not know. */
static bool is_origins(const char *token, size_t len)
{
    static const char *const names[] = {"MISS", "EXPIRED", "BYPASS", "SCARCE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(token, names[i], len) == 0) return true;
    return false;
}

/* The field after the agent. */
static bool take_cache(reader *r, tb_hit *hit, tb__combined_parts *parts,
                       tb_reject_reason *ret_reason)
{
    const char *token;
    size_t len;
    tb_cache cache = TB_CACHE_UNKNOWN;
    *ret_reason = TB_REJECT_COMBINED;
    if (!take_char(r, ' ')) return false;
    const char *from = r->at;
    const bool quoted = from < r->end && *from == '"';
    if (!(quoted ? take_quoted(r, &token, &len) : take_word(r, &token, &len))) return false;
    if (r->at != r->end) return false;
    bool good = tb__cache_parse(token, len, &cache);
    if (good && !quoted && !tb__cache_tells(token, len)) cache = TB_CACHE_UNKNOWN;
    if (quoted && cache == TB_CACHE_OTHER && !is_origins(token, len)) {
        good = false;
        cache = TB_CACHE_UNKNOWN;
    }
    if (!good && !quoted) {
        r->at = from;
        *ret_reason = TB_REJECT_CACHE;
        return false;
    }
    if (good) parts->cache = (tb__part){token, len};
    hit->cache = (uint8_t)cache;
    return true;
}

/* The fields after the byte count. */
static bool take_rest(reader *r, tb_hit *hit, tb__combined_parts *parts,
                      tb_reject_reason *ret_reason)
{
    hit->cache = TB_CACHE_UNKNOWN;
    *ret_reason = TB_REJECT_COMBINED;
    if (r->at == r->end) return true;
    if (!take_char(r, ' ') || !take_quoted(r, &parts->referer.at, &parts->referer.len))
        return false;
    if (!take_char(r, ' ') || !take_quoted(r, &parts->agent.at, &parts->agent.len)) return false;
    return r->at == r->end || take_cache(r, hit, parts, ret_reason);
}

bool tb__combined_read(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                       tb__combined_parts *ret_parts, tb_reject *ret_reject)
{
    if (!tb__line_sane(line, len, ret_reject)) return false;
    reader r = {line, line + len};
    tb_hit hit = {.zone = layout->zone, .edge = layout->edge, .edge_len = layout->edge_len};
    tb_reject_reason reason = TB_REJECT_COMBINED;
    tb__combined_parts parts = {0};
    if (!take_client(&r, &parts)) return tb__reject(ret_reject, line, len, r.at, reason);
    const char *time_at = r.at;
    if (!take_time(&r, &parts.time_ms) || !take_char(&r, ' ') || 
        !take_quoted(&r, &parts.request.at, &parts.request.len))
        return tb__reject(ret_reject, line, len, r.at, reason);
    if (!tb__time_sane(parts.time_ms, layout->now_ms, &reason))
        return tb__reject(ret_reject, line, len, time_at, reason);
    if (!take_counts(&r, &hit, &reason) || !take_rest(&r, &hit, &parts, &reason))
        return tb__reject(ret_reject, line, len, r.at, reason);
    tb__hit_time(&hit, (uint64_t)parts.time_ms);
    *ret_hit = hit;
    *ret_parts = parts;
    return true;
}

bool tb__combined_line(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                       tb_reject *ret_reject)
{
    tb__combined_parts parts;
    return tb__combined_read(layout, line, len, ret_hit, &parts, ret_reject);
}
