/* One line of BUCKETS.ndjson: a flat JSON object of known keys (docs/import-format.md).
 *
 * The reader knows just what such a row may hold: strings and whole numbers under keys of one
 * table. Everything else (nested values, fractions, exponents, unknown or repeated keys) is
 * refused where it begins, with a sentence that names the key. Keys are looked for from the place
 * of the key before, since writers keep an order. */
#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"
#include "tollbook/calendar.h"

enum { KEY_ZONE = TB_METRIC_COUNT, KEY_BALANCER, KEY_HOUR, KEY_REGION, KEY_COUNT };
#define KEY_BIT(k) (UINT32_C(1) << (k))

typedef struct key_name {
    const char *name;
    size_t len;
} key_name;

static const key_name keys[KEY_COUNT] = {
#define TB_X(e, name, unit, how, source, meaning) [TB_M_##e] = {name, sizeof name - 1},
    TB_METRICS(TB_X)
#undef TB_X
        [KEY_ZONE] = {"zone", 4},
    [KEY_BALANCER] = {"load_balancer", 13},
    [KEY_HOUR] = {"hour", 4},
    [KEY_REGION] = {"region", 6},
};

/* Longest string a row may hold: an hour with fraction and offset, an edge code or a key. */
enum { STRING_MAX = 48 };

typedef struct text {
    size_t len;
    char bytes[STRING_MAX + 1];
} text;

typedef struct reader {
    const char *line, *at, *end;
    int64_t now_ms;
    uint32_t seen; /* keys */
    unsigned last; /* key found last */
    tb_row row;
    tb_reject *reject;
    tb_error *err;
} reader;

/* Refuses the row at `at`; key names the field of *err, NULL if there is none. */
static bool refuse_row(reader *r, const char *at, tb_reject_reason reason, const char *key,
                       const char *sentence)
{
    tb__reject(r->reject, r->line, (size_t)(r->end - r->line), at, reason);
    (void)tb_fail(r->err, TB_E_BAD_LINE, key, "%s%s%s%s", key ? "\"" : "", key ? key : "",
                  key ? "\" " : "", sentence);
    if (r->err) r->err->byte = r->reject->byte;
    return false;
}

static bool not_json(reader *r, const char *sentence)
{
    const bool nul = r->at < r->end && *r->at == 0;
    return refuse_row(r, r->at, nul ? TB_REJECT_NUL : TB_REJECT_JSON, NULL, sentence);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool take_char(reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* The four digits of \uXXXX. Only ASCII can be part of anything known: all else becomes '?'. */
static bool take_unicode(reader *r, char *ret)
{
    unsigned value = 0;
    for (unsigned i = 0; i < 4; i++, r->at++) {
        if (r->at == r->end) return false;
        const char c = *r->at, low = (char)(c | 0x20);
        if (tb__digit(c))
            value = value << 4 | (unsigned)(c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value << 4 | (unsigned)(low - 'a' + 10);
        else
            return false;
    }
    *ret = value >= 0x20 && value < 0x7f ? (char)value : '?';
    return true;
}

static bool take_escape(reader *r, char *ret)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/?????";
    if (r->at == r->end) return false;
    if (*r->at == 'u') {
        r->at++;
        return take_unicode(r, ret);
    }
    const char *found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found) return false;
    *ret = to[found - from];
    r->at++;
    return true;
}

/* A JSON string after its opening quote, at most STRING_MAX bytes of it kept: a longer one
 * comes out with len STRING_MAX + 1. */
static bool take_string(reader *r, text *ret)
{
    ret->len = 0;
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at;
        if ((unsigned char)c < 0x20) return not_json(r, "A string holds a control character.");
        r->at++;
        if (c == '\\' && !take_escape(r, &c)) return not_json(r, "A string escape is not valid.");
        if (ret->len <= STRING_MAX) ret->bytes[ret->len++] = c;
    }
    if (r->at == r->end) return not_json(r, "A string does not end.");
    r->at++;
    return true;
}

/* A key as messages show it: printable, ended. */
static const char *shown(text *key)
{
    if (key->len > STRING_MAX) {
        key->len = STRING_MAX;
        memcpy(key->bytes + STRING_MAX - 3, "...", 3);
    }
    for (size_t i = 0; i < key->len; i++)
        if (key->bytes[i] < 0x20 || key->bytes[i] > 0x7e) key->bytes[i] = '?';
    key->bytes[key->len] = 0;
    return key->bytes;
}

static unsigned find_key(const text *key, unsigned last)
{
    for (unsigned i = 1; i <= KEY_COUNT; i++) {
        const unsigned k = (last + i) % KEY_COUNT;
        if (keys[k].len == key->len && memcmp(keys[k].name, key->bytes, key->len) == 0) return k;
    }
    return KEY_COUNT;
}

/* "key": up to the value. */
static bool take_key(reader *r, unsigned *ret_key)
{
    text name;
    const char *at = r->at;
    if (!take_char(r, '"')) return not_json(r, "A key in quotes is expected.");
    if (!take_string(r, &name)) return false;
    const unsigned k = find_key(&name, r->last);
    if (k == KEY_COUNT)
        return refuse_row(r, at, TB_REJECT_JSON, shown(&name), "is not a key of a bucket row.");
    if (r->seen & KEY_BIT(k))
        return refuse_row(r, at, TB_REJECT_JSON, keys[k].name, "stands twice.");
    if (k == TB_M_BALANCER_REQUESTS)
        return refuse_row(
            r, at, TB_REJECT_JSON, keys[k].name,
            "comes from request logs or load_balancer rows; a zone's row cannot set it.");
    if (!take_char(r, ':')) return not_json(r, "A colon is expected after the key.");
    r->seen |= KEY_BIT(k);
    r->last = k;
    *ret_key = k;
    return true;
}

/* Where a JSON number ends, so that 1.0 and 1e3 are seen as one wrong value. */
static bool number_byte(char c)
{
    return tb__digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* A whole number from min to max, written plainly; the sentence says which. */
static bool take_whole(reader *r, unsigned key, uint64_t min, uint64_t max,
                       tb_reject_reason reason, const char *sentence, uint64_t *ret)
{
    skip_space(r);
    const char *from = r->at, *stop;
    while (r->at < r->end && number_byte(*r->at))
        r->at++;
    const bool zeros = r->at - from > 1 && *from == '0';
    if (!zeros && tb__number(from, r->at, max, ret, &stop) && *ret >= min) return true;
    return refuse_row(r, from, reason, keys[key].name, sentence);
}

static bool take_id(reader *r, unsigned key, uint64_t *ret)
{
    return take_whole(r, key, 1, INT64_MAX, key == KEY_ZONE ? TB_REJECT_ZONE : TB_REJECT_JSON,
                      "must be a whole number from 1 to 2^63-1.", ret);
}

static bool take_counter(reader *r, unsigned key, uint64_t *ret)
{
    return take_whole(r, key, 0, TB_ROW_COUNTER_MAX, TB_REJECT_COUNTER,
                      "must be a whole number from 0 to 10^18.", ret);
}

static bool take_hour(reader *r)
{
    text value;
    int64_t us;
    tb_reject_reason reason;
    skip_space(r);
    const char *from = r->at;
    if (!take_char(r, '"'))
        return refuse_row(r, from, TB_REJECT_HOUR, "hour", "must be an RFC 3339 time in quotes.");
    if (!take_string(r, &value)) return false;
    if (value.len > STRING_MAX || tb_rfc3339_parse(value.bytes, value.len, &us, NULL) != TB_OK ||
        us % TB_US_PER_HOUR != 0)
        return refuse_row(r, from, TB_REJECT_HOUR, "hour",
                      "must be an RFC 3339 time on the hour such as 2026-11-01T13:00:00Z.");
    if (!tb__time_sane(us / 1000, r->now_ms, &reason))
        return refuse_row(r, from, reason, "hour",
                          reason == TB_REJECT_TOO_OLD ? "is before 2015."
                                                      : "is more than 48 hours ahead.");
    r->row.hour = (int32_t)tb_hour_from_us(us);
    return true;
}

static bool take_region(reader *r)
{
    text value;
    skip_space(r);
    const char *from = r->at;
    const bool quoted = take_char(r, '"');
    if (quoted && !take_string(r, &value)) return false;
    if (!quoted || value.len == 0 || value.len > TB_EDGE_MAX ||
        tb__char_span(value.bytes, value.bytes + value.len, TB__CHAR_EDGE) != value.len)
        return refuse_row(
            r, from, TB_REJECT_EDGE, "region",
            "must be an edge location code: 1 to 16 letters, digits, '_', '.' or '-'.");
    memcpy(r->row.edge, value.bytes, value.len);
    r->row.edge_len = (uint8_t)value.len;
    return true;
}

static bool take_value(reader *r, unsigned key)
{
    uint64_t id;
    switch (key) {
    case KEY_HOUR: return take_hour(r);
    case KEY_REGION: return take_region(r);
    case KEY_ZONE:
    case KEY_BALANCER:
        if (!take_id(r, key, &id)) return false;
        r->row.id = (int64_t)id;
        r->row.balancer = key == KEY_BALANCER;
        return true;
    default:
        r->row.metrics |= TB_METRIC_BIT(key);
        return take_counter(r, key, &r->row.value[key]);
    }
}

static bool take_members(reader *r)
{
    unsigned key;
    if (!take_char(r, '{')) return not_json(r, "The line is not a JSON object.");
    if (!take_char(r, '}')) {
        do {
            skip_space(r);
            if (!take_key(r, &key) || !take_value(r, key)) return false;
        } while (take_char(r, ','));
        if (!take_char(r, '}')) return not_json(r, "A comma or '}' is expected.");
    }
    skip_space(r);
    return r->at == r->end || not_json(r, "Something follows the object.");
}

static bool missing(reader *r, unsigned key, const char *sentence)
{
    return refuse_row(r, r->end, TB_REJECT_JSON, keys[key].name, sentence);
}

/* Which keys a row of each kind needs and may have. */
static bool check_keys(reader *r)
{
    const bool zone = r->seen & KEY_BIT(KEY_ZONE), balancer = r->seen & KEY_BIT(KEY_BALANCER);
    if (zone && balancer) return missing(r, KEY_ZONE, "and \"load_balancer\" exclude each other.");
    if (!zone && !balancer) return missing(r, KEY_ZONE, "or \"load_balancer\" is missing.");
    if (!(r->seen & KEY_BIT(KEY_HOUR))) return missing(r, KEY_HOUR, "is missing.");
    const bool region = r->seen & KEY_BIT(KEY_REGION);
    if (zone) {
        if (!region) return missing(r, KEY_REGION, "is missing.");
        return r->row.metrics || missing(r, TB_M_REQUESTS, "or another counter is missing.");
    }
    if (region) return missing(r, KEY_REGION, "does not belong in a load balancer's row.");
    const uint32_t others = r->row.metrics & ~TB_METRIC_BIT(TB_M_REQUESTS);
    if (others)
        return missing(r, (unsigned)__builtin_ctz(others),
                       "does not belong in a load balancer's row, which counts only requests.");
    return r->row.metrics || missing(r, TB_M_REQUESTS, "is missing.");
}

bool tb_row_parse(const char *line, size_t len, int64_t now_ms, tb_row *ret_row,
                  tb_reject *ret_reject, tb_error *err)
{
    reader r = {.line = line,
                .at = line + tb__mark_len(line, len),
                .end = line + tb__line_len(line, line + len),
                .now_ms = now_ms,
                .last = KEY_COUNT - 1,
                .reject = ret_reject,
                .err = err};
    const size_t own = (size_t)(r.end - line);
    if (own == 0) return refuse_row(&r, line, TB_REJECT_BLANK, NULL, "The line is blank.");
    if (own > TB_LINE_MAX)
        return refuse_row(&r, line + TB_LINE_MAX, TB_REJECT_TOO_LONG, NULL,
                          "The line is longer than 1 MiB.");
    if (!take_members(&r) || !check_keys(&r)) return false;
    *ret_row = r.row;
    return true;
}
