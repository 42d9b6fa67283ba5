/* Reads lines of described formats: finds the columns, then reads their values.
 *
 * Every pass goes over the line once, whatever it contains. A text in the middle of a stretch that could be
 * cut in several ways is ambiguous: its columns are unknown and the line is counted as ambiguous; no counted
 * column is there (template.c). */
#include "intake/columns.h"
#include "intake/find.h"
#include "intake/reject.h"

#include <string.h>
#include <strings.h>

/* --- templates --- */

/* The next unescaped hard character: an odd number of backslashes before it escapes it. */
TB__INLINE const char *find_hard(const char *from, const char *end, char hard, bool escapes)
{
    const char *at = tb__find(from, end, hard);
    while (__builtin_expect(at && escapes && at > from && at[-1] == '\\', 0)) {
        const char *back = at;
        while (back > from && back[-1] == '\\')
            back--;
        if ((at - back) % 2 == 0) break;
        at = tb__find(at + 1, end, hard);
    }
    return at;
}

/* What is left of a stretch: [from, to). */
typedef struct rest {
    const char *from, *to;
} rest;

/* Both have eight bytes to read, whatever len is. */
TB__INLINE bool same_bytes(const char *a, const char *b, size_t len)
{
    if (len > 8) return memcmp(a, b, len) == 0;
    return len == 0 || (tb__load64(a) ^ tb__load64(b)) << (64 - 8 * len) == 0;
}

TB__INLINE bool take_literal(const tb_log_columns *c, uint16_t literal, size_t len, rest *r)
{
    if ((size_t)(r->to - r->from) < len || !same_bytes(r->from, c->literals + literal, len))
        return false;
    r->from += len;
    return true;
}

static bool take_literal_back(const tb_log_columns *c, uint16_t literal, size_t len, rest *r)
{
    if ((size_t)(r->to - r->from) < len || memcmp(r->to - len, c->literals + literal, len) != 0)
        return false;
    r->to -= len;
    return true;
}

/* A closed column ends where what follows it begins: nothing that it may hold begins so. */
TB__INLINE bool take_left(const tb__column *column, rest *r, tb__part *ret)
{
    const char *at = r->to;
    if (column->width) {
        if (r->to - r->from < column->width) return false;
        at = r->from + column->width;
    } else if (column->stops) {
        const char *stop = tb__find(r->from, r->to, column->stop);
        if (stop) at = stop;
    }
    if (column->port) {
        const char *colon = memrchr(r->from, ':', (size_t)(at - r->from));
        if (colon) at = colon;
    }
    *ret = (tb__part){r->from, (size_t)(at - r->from)};
    r->from = at;
    return true;
}

static bool take_right(const tb__column *column, rest *r, tb__part *ret)
{
    const char *at = r->to;
    if (column->width) {
        if (at - r->from < column->width) return false;
        at -= column->width;
    } else {
        while (at > r->from && tb__kind_class[(unsigned char)at[-1]] >> column->kind & 1)
            at--;
    }
    *ret = (tb__part){at, (size_t)(r->to - at)};
    r->to = at;
    return true;
}

static const char *find_last(const char *from, const char *to, const char *text, size_t len)
{
    for (const char *at = to - len; at >= from; at--) {
        at = memrchr(from, *text, (size_t)(at + 1 - from));
        if (!at) return NULL;
        if (memcmp(at, text, len) == 0) return at;
    }
    return NULL;
}

/* Several open columns: each separator at its first place; it is certain where it is at its last one too. */
static bool split_open(const tb_log_columns *c, const tb__column *column, size_t n, rest r,
                       tb__columns_parts *parts)
{
    tb__part part[TB__COLUMNS_MAX] = {{NULL, 0}};
    const char *at = r.from, *to = r.to;
    bool certain = true;
    for (size_t i = 0; i < n; i++) {
        const char *text = i + 1 < n ? c->literals + column[i + 1].literal : NULL;
        const size_t len = text ? column[i + 1].literal_len : 0;
        const char *end = text ? memmem(at, (size_t)(r.to - at), text, len) : r.to;
        if (!end) return false;
        part[i] = (tb__part){at, (size_t)(end - at)};
        at = end + len;
    }
    for (size_t i = n; i-- > 1;) {
        const char *text = c->literals + column[i].literal;
        const char *last = find_last(r.from, to, text, column[i].literal_len);
        certain &= last + column[i].literal_len == part[i].at;
        to = last;
    }
    for (size_t i = 0; i < n; i++)
        parts->of[column[i].role] = certain ? part[i] : (tb__part){r.from, 0};
    parts->ambiguous |= !certain;
    return true;
}

/* The columns of one stretch. */
TB__INLINE bool read_stretch(const tb_log_columns *c, const tb__stretch *s, rest r,
                             tb__columns_parts *parts, const char **ret_stop)
{
    const tb__column *column = &c->column[s->first];
    unsigned i = 0, n = s->n;
    for (; i < s->left; i++) {
        *ret_stop = r.from;
        if (!take_literal(c, column[i].literal, column[i].literal_len, &r) ||
            !take_left(&column[i], &r, &parts->of[column[i].role]))
            return false;
    }
    *ret_stop = r.from;
    if (i == n) return take_literal(c, s->tail, s->tail_len, &r) && r.from == r.to;
    if (!take_literal_back(c, s->tail, s->tail_len, &r)) return false;
    for (unsigned right = s->right; right > 0; right--) {
        n--;
        if (!take_right(&column[n], &r, &parts->of[column[n].role]) ||
            !take_literal_back(c, column[n].literal, column[n].literal_len, &r))
            return false;
    }
    if (i == n) return r.from == r.to;
    if (!take_literal(c, column[i].literal, column[i].literal_len, &r)) return false;
    if (n - i > 1) return split_open(c, &column[i], n - i, r, parts);
    parts->of[column[i].role] = (tb__part){r.from, (size_t)(r.to - r.from)};
    return true;
}

/* Apache writes an empty user name as two quotes, in the format's own quotes or without. Read like any other, such a
 * line is cut at the wrong quotes, and two are left over: it fails, or they are after the format's last quote, where
 * no value has one. */
typedef enum user_name { NO_USER, SOME_USER, EMPTY_USER } user_name;

/* The end of the stretch at `at`; NULL: it has none. */
TB__INLINE const char *end_of_stretch(const tb_log_columns *c, const tb__stretch *s, const char *at, const char *end,
                                      user_name user)
{
    if (!s->end) {
        const bool left_over = user != NO_USER && !s->user && find_hard(at, end, '"', c->escapes);
        return left_over ? NULL : end;
    }
    if (s->n == 0) /* as itself or not at all */
        return at + s->tail_len < end && at[s->tail_len] == s->end ? at + s->tail_len : NULL;
    const char *to = find_hard(at, end, s->end, c->escapes);
    const bool two = user == EMPTY_USER && s->user && to && s->end == '"' && end - to > 1 && to[1] == '"';
    return two ? find_hard(to + 2, end, '"', c->escapes) : to;
}

TB__INLINE bool read_stretches(const tb_log_columns *c, const char *at, const char *end, user_name user,
                               tb__columns_parts *parts, const char **ret_stop)
{
    for (unsigned i = 0; i < c->n_stretches; i++) {
        const tb__stretch *s = &c->stretch[i];
        const char *to = end_of_stretch(c, s, at, end, user);
        *ret_stop = at;
        if (!to) return false;
        if (s->whole) /* one column and nothing else */
            parts->of[c->column[s->first].role] = (tb__part){at, (size_t)(to - at)};
        else if (!read_stretch(c, s, (rest){at, to}, parts, ret_stop))
            return false;
        at = to + 1;
    }
    return true;
}

static bool read_with_user(const tb_log_columns *c, const char *line, const char *end, tb__columns_parts *parts,
                           const char **ret_stop)
{
    const char *stop;
    if (read_stretches(c, line, end, SOME_USER, parts, ret_stop)) return true;
    parts->ambiguous = false;
    return read_stretches(c, line, end, EMPTY_USER, parts, &stop);
}

bool tb__template_read(const tb_log_columns *c, const char *line, size_t len,
                       tb__columns_parts *parts, const char **ret_stop)
{
    const char *end = line + len;
    return tb__has_role(c, TB__ROLE_USER) ? read_with_user(c, line, end, parts, ret_stop)
                                          : read_stretches(c, line, end, NO_USER, parts, ret_stop);
}

bool tb__columns_head(const tb_log_columns *c, const char *line, size_t len, bool *ret_good)
{
    static const char name[] = "#Fields:";
    if (c->family != TB__FAMILY_W3C || len == 0 || *line != '#') return false;
    *ret_good = true;
    if (len < sizeof name - 1 || memcmp(line, name, sizeof name - 1) != 0) return true;
    const char *at = line + sizeof name - 1, *end = line + len;
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    const size_t n = (size_t)(end - at);
    *ret_good = n >= c->fields_len && memcmp(at, c->fields, c->fields_len) == 0 &&
                (n == c->fields_len || at[c->fields_len] == ' '); /* more columns, behind ours */
    return true;
}

/* --- the columns' values --- */

static bool says_nothing(tb__part part)
{
    return part.len == 0 || (part.len == 1 && *part.at == '-');
}

static bool judge_clock(tb__memo *memo, tb__columns_parts *parts)
{
    const tb__part day = parts->of[TB__ROLE_TIME];
    int64_t clock_ms;
    if (day.len != 10 || memo->time_len != 10 || memcmp(day.at, memo->time, 10) != 0) {
        if (!tb__day(day, &memo->time_ms)) {
            memo->time_len = 0;
            return false;
        }
        memcpy(memo->time, day.at, memo->time_len = 10);
    }
    if (!tb__clock(parts->of[TB__ROLE_CLOCK], &clock_ms)) return false;
    parts->time_ms = memo->time_ms + clock_ms;
    return true;
}

static bool any_time(const tb_log_columns *c, tb__part text, int64_t *ret_ms)
{
    char plain[TB__PLAIN_MAX], unescaped[TB_HOST_MAX];
    if (tb__any_time(text, ret_ms)) return true;
    if (c->family != TB__FAMILY_JSON) return false;
    return (tb__plain_number(&text, plain) || tb__plain_text(&text, unescaped)) && tb__any_time(text, ret_ms);
}

static bool judge_time(const tb_log_columns *c, tb__memo *memo, tb__columns_parts *parts)
{
    const tb__part text = parts->of[TB__ROLE_TIME];
    if (tb__has_role(c, TB__ROLE_CLOCK)) return judge_clock(memo, parts);
    if (text.len && text.len == memo->time_len && memcmp(text.at, memo->time, text.len) == 0) {
        parts->time_ms = memo->time_ms;
        return true;
    }
    if (!any_time(c, text, &parts->time_ms)) return false;
    if (text.len > sizeof memo->time) return true;
    memcpy(memo->time, text.at, text.len);
    memo->time_len = text.len;
    memo->time_ms = parts->time_ms;
    return true;
}

static bool judge_status(const tb_log_columns *c, tb__part text, tb_hit *hit)
{
    const char *stop;
    char plain[TB__PLAIN_MAX];
    if (tb__status(text.at, text.len, &hit->status, &stop)) return true;
    return c->family == TB__FAMILY_JSON && tb__plain_number(&text, plain) &&
           tb__status(text.at, text.len, &hit->status, &stop);
}

/* A whole number in digits, or as JSON may write it. */
static bool whole_number(const tb_log_columns *c, tb__part text, uint64_t max, uint64_t *ret)
{
    const char *stop;
    char plain[TB__PLAIN_MAX];
    if (text.len == 0) return false;
    if (tb__number(text.at, text.at + text.len, max, ret, &stop)) return true;
    return c->family == TB__FAMILY_JSON && tb__plain_number(&text, plain) &&
           tb__number(text.at, text.at + text.len, max, ret, &stop);
}

/* A '-' is nothing. */
static bool judge_bytes(const tb_log_columns *c, tb__part text, tb_hit *hit)
{
    hit->bytes = 0;
    if (text.len == 1 && *text.at == '-') return true;
    return whole_number(c, text, TB_HIT_BYTES_MAX, &hit->bytes);
}

static int64_t find_host(const tb_log_layout *layout, tb__part host)
{
    char unescaped[TB_HOST_MAX];
    if (layout->columns->family == TB__FAMILY_JSON) (void)tb__plain_text(&host, unescaped);
    int64_t zone = tb_known_hosts_find(layout->hosts, host.at, host.len);
    /* "$host$request_uri" of a request that had none is written "host-". */
    if (!zone && host.at[host.len - 1] == '-')
        zone = tb_known_hosts_find(layout->hosts, host.at, host.len - 1);
    return zone;
}

static int64_t zone_of_host(const tb_log_layout *layout, tb__memo *memo, tb__part host)
{
    if (says_nothing(host)) return 0;
    if (host.len == memo->host_len && memcmp(host.at, memo->host, host.len) == 0) return memo->zone;
    const int64_t zone = find_host(layout, host);
    if (host.len <= sizeof memo->host) {
        memcpy(memo->host, host.at, host.len);
        memo->host_len = host.len;
        memo->zone = zone;
    }
    return zone;
}

/* The value of the zone's own column. */
static bool judge_own_zone(const tb_log_layout *layout, tb__memo *memo, tb__part zone, tb_hit *hit,
                           tb_reject_reason *ret_reason)
{
    const bool object = layout->columns->family == TB__FAMILY_JSON;
    uint64_t number;
    *ret_reason = object ? TB_REJECT_HOST : TB_REJECT_ZONE;
    if (whole_number(layout->columns, zone, INT64_MAX, &number)) hit->zone = (int64_t)number;
    else if (object) hit->zone = zone_of_host(layout, memo, zone);
    return hit->zone != 0;
}

/* The zone's number, or its hostname; without either in its own column, the host's zone. */
static bool judge_zone(const tb_log_layout *layout, tb__memo *memo, const tb__columns_parts *parts,
                       tb_hit *hit, tb__part *ret_name, tb_reject_reason *ret_reason)
{
    const tb_log_columns *c = layout->columns;
    hit->zone = layout->zone;
    if (hit->zone) return true;
    *ret_name = parts->of[TB__ROLE_ZONE];
    if (tb__has_role(c, TB__ROLE_ZONE) && !(says_nothing(*ret_name) && tb__has_role(c, TB__ROLE_HOST)))
        return judge_own_zone(layout, memo, *ret_name, hit, ret_reason);
    *ret_reason = TB_REJECT_HOST;
    *ret_name = parts->of[TB__ROLE_HOST];
    hit->zone = zone_of_host(layout, memo, *ret_name);
    if (hit->zone || !tb__has_role(c, TB__ROLE_HOST_TOO)) return hit->zone != 0;
    if (says_nothing(*ret_name)) *ret_name = parts->of[TB__ROLE_HOST_TOO];
    hit->zone = zone_of_host(layout, memo, parts->of[TB__ROLE_HOST_TOO]);
    return hit->zone != 0;
}

/* An edge location of CloudFront is an airport's three letters and a suffix. */
static bool judge_region(const tb_log_layout *layout, tb__part text, tb_hit *hit)
{
    hit->edge = layout->edge;
    hit->edge_len = layout->edge_len;
    if (hit->edge) return true;
    hit->edge = "-";
    hit->edge_len = 1;
    if (says_nothing(text)) return true;
    if (layout->columns->family == TB__FAMILY_W3C) {
        const size_t letters = tb__char_span(text.at, text.at + text.len, TB__CHAR_LETTER);
        if (letters) text.len = letters;
    }
    if (text.len > TB_EDGE_MAX || tb__char_span(text.at, text.at + text.len, TB__CHAR_EDGE) != text.len)
        return false;
    hit->edge = text.at;
    hit->edge_len = (uint8_t)text.len;
    return true;
}

/* Two letters, or unknown: other values of a country database are not refused. */
static void judge_country(tb__part text, tb_hit *hit)
{
    hit->country = 0;
    if (text.len == 2 && tb__char_span(text.at, text.at + 2, TB__CHAR_LETTER) == 2)
        hit->country = (uint16_t)((text.at[0] & 0xdf) << 8 | (text.at[1] & 0xdf));
}

static tb_cache judge_cache(const tb_log_columns *c, tb__part text)
{
    if (!text.at) return TB_CACHE_UNKNOWN;
    if (!c->hit_len) return tb__cache_word(text);
    const bool hit = text.len == c->hit_len && strncasecmp(text.at, c->literals + c->hit, text.len) == 0;
    return hit ? TB_CACHE_SERVED : TB_CACHE_OTHER;
}

static bool judge_columns(const tb_log_layout *layout, tb__memo *memo, tb__columns_parts *parts,
                  tb_hit *hit, tb__part *ret_stop, tb_reject_reason *ret_reason)
{
    const tb_log_columns *c = layout->columns;
    *ret_stop = parts->of[TB__ROLE_TIME];
    *ret_reason = TB_REJECT_TIME;
    if (!judge_time(c, memo, parts)) return false;
    if (!tb__time_sane(parts->time_ms, layout->now_ms, ret_reason)) return false;
    tb__hit_time(hit, (uint64_t)parts->time_ms);
    *ret_stop = parts->of[TB__ROLE_STATUS];
    *ret_reason = TB_REJECT_STATUS;
    if (!judge_status(c, *ret_stop, hit)) return false;
    *ret_stop = parts->of[TB__ROLE_BYTES];
    *ret_reason = TB_REJECT_BYTES;
    if (!judge_bytes(c, *ret_stop, hit)) return false;
    if (!judge_zone(layout, memo, parts, hit, ret_stop, ret_reason)) return false;
    *ret_stop = parts->of[TB__ROLE_REGION];
    *ret_reason = TB_REJECT_EDGE;
    if (!judge_region(layout, *ret_stop, hit)) return false;
    judge_country(parts->of[TB__ROLE_COUNTRY], hit);
    hit->cache = (uint8_t)judge_cache(c, parts->of[TB__ROLE_CACHE]);
    return true;
}

/* A NUL is a byte like others here: servers escape it, and where one does not it is a client's. */
static bool fits_line(const char *line, size_t len, tb_reject *ret_reject)
{
    if (len == 0) return tb__reject(ret_reject, line, len, line, TB_REJECT_BLANK);
    if (len > TB_LINE_MAX)
        return tb__reject(ret_reject, line, len, line + TB_LINE_MAX, TB_REJECT_TOO_LONG);
    return true;
}

bool tb__columns_read(const tb_log_layout *layout, const char *line, size_t len, tb__memo *memo,
                      tb_hit *ret_hit, tb__columns_parts *parts, tb_reject *ret_reject)
{
    const tb_log_columns *c = layout->columns;
    const char *stop = line;
    tb_reject_reason reason = TB_REJECT_FORMAT;
    tb__part where = {NULL, 0};
    if (!fits_line(line, len, ret_reject)) return false;
    parts->ambiguous = false;
    const bool object = c->family == TB__FAMILY_JSON;
    if (!(object ? tb__object_read(c, line, len, &memo->shape, parts, &stop)
                 : tb__template_read(c, line, len, parts, &stop)))
        return tb__reject(ret_reject, line, len, stop, reason);
    if (judge_columns(layout, memo, parts, ret_hit, &where, &reason)) return true;
    tb__reject(ret_reject, line, len, where.at ? where.at : line, reason);
    if (reason != TB_REJECT_HOST) return false;
    ret_reject->name = where.at;
    ret_reject->name_len = (uint32_t)where.len;
    return false;
}
