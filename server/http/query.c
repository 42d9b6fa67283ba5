/* A query string is walked once; each name is looked up in the caller's table, and its value is stored in the field
 * that the table gives. Header values are walked by a cursor in the same way. */
#include "http/query.h"

#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool same_word(const char *text, size_t len, const char *word)
{
    for (size_t i = 0; i < len; i++)
        if (word[i] == 0 || lower(text[i]) != lower(word[i])) return false;
    return word[len] == 0;
}

bool query_int(const char *text, size_t len, int64_t *ret_value)
{
    bool negative = len > 0 && text[0] == '-';
    size_t i = negative;
    if (len - i == 0 || len - i > 19) return false;
    if (text[i] == '0' && (len - i > 1 || negative)) return false;
    int64_t value = 0; /* kept negative: the greater half of the range */
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        if (__builtin_mul_overflow(value, INT64_C(10), &value) ||
            __builtin_sub_overflow(value, (int64_t)(text[i] - '0'), &value))
            return false;
    }
    if (!negative && value == INT64_MIN) return false;
    *ret_value = negative ? value : -value;
    return true;
}

bool query_bool(const char *text, size_t len, bool *ret_value)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"True", true}, {"TRUE", true}, {"1", true},
                 {"false", false}, {"False", false}, {"FALSE", false}, {"0", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != len || memcmp(words[i].word, text, len) != 0) continue;
        *ret_value = words[i].value;
        return true;
    }
    return false;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes escapes into out; returns the length. An invalid escape stays as it is; request heads with one are refused
 * before. */
static size_t decode(const char *text, size_t len, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && len - i > 2 && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            out[n++] = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            out[n++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    return n;
}

typedef struct spec_list {
    const query_spec *specs;
    size_t n;
    void *out;
} spec_list;

static tb_code store_value(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    const spec_list *list = ctx;
    const query_spec *spec = list->specs, *const end = list->specs + list->n;
    int64_t number;
    bool truth;
    while (spec < end && !same_word(name.data, name.len, spec->name))
        spec++;
    if (spec == end) return TB_OK;
    char *field = (char *)list->out + spec->offset;
    switch (spec->kind) {
    case QUERY_TEXT: memcpy(field, &value, sizeof value); return TB_OK;
    case QUERY_BOOL:
        if (!query_bool(value.data, value.len, &truth))
            return tb_fail(err, TB_E_VALIDATION, spec->name, "%s is not true or false.", spec->name);
        memcpy(field, &truth, sizeof truth);
        return TB_OK;
    case QUERY_INT:
        if (!query_int(value.data, value.len, &number))
            return tb_fail(err, TB_E_VALIDATION, spec->name, "%s is not a whole number.", spec->name);
        memcpy(field, &number, sizeof number);
        return TB_OK;
    }
    return tb_fail(err, TB_E_INTERNAL, spec->name, NULL);
}

tb_code query_parse(const char *query, size_t len, const query_spec *specs, size_t n, void *out,
                    char *scratch, tb_error *err)
{
    spec_list list = {specs, n, out};
    return query_each(query, len, scratch, store_value, &list, err);
}

tb_code query_each(const char *query, size_t len, char *scratch, query_each_fn each, void *ctx,
                   tb_error *err)
{
    while (len > 0) {
        const char *end = memchr(query, '&', len);
        const size_t pair = end ? (size_t)(end - query) : len;
        const char *mark = memchr(query, '=', pair);
        if (mark) { /* a name without a value is absent, and so is an empty value */
            const tb_text name = {scratch, decode(query, (size_t)(mark - query), scratch)};
            tb_text value = {scratch + name.len, 0};
            value.len = decode(mark + 1, pair - (size_t)(mark + 1 - query), scratch + name.len);
            if (value.len > 0) scratch += name.len + value.len;
            tb_code code = value.len > 0 ? each(ctx, name, value, err) : TB_OK;
            if (code != TB_OK) return code;
        }
        query += pair + (end != NULL);
        len -= pair + (end != NULL);
    }
    return TB_OK;
}

static size_t skip_space(tb_text text, size_t at)
{
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t'))
        at++;
    return at;
}

/* Parses a weight, in thousandths, from "0", "1", "0.5", "1.000"; -1: it is invalid. */
static int parse_weight(const char *text, size_t len)
{
    if (len == 0 || len > 5 || (text[0] != '0' && text[0] != '1')) return -1;
    int value = (text[0] - '0') * 1000, unit = 100;
    if (len > 1 && text[1] != '.') return -1;
    for (size_t i = 2; i < len; i++, unit /= 10) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value += (text[i] - '0') * unit;
    }
    return value > 1000 ? -1 : value;
}

static size_t end_of_parameter(tb_text element, size_t at)
{
    const char *end = memchr(element.data + at, ';', element.len - at);
    return end ? (size_t)(end - element.data) : element.len;
}

/* Parses one element "coding;q=0.5" of a list, or of a list of types "text/plain;version=0.0.4;q=0.5". Returns its
 * weight; an invalid one is 0. Only the weight of a type's parameters counts. */
static int element_weight(tb_text element, bool is_type, tb_text *ret_coding)
{
    size_t end = 0;
    while (end < element.len && element.data[end] != ';' && element.data[end] != ' ' &&
           element.data[end] != '\t')
        end++;
    *ret_coding = (tb_text){element.data, end};
    size_t at = skip_space(element, end);
    for (;;) {
        if (at == element.len) return 1000;
        if (element.data[at] != ';') return 0;
        at = skip_space(element, at + 1);
        if (element.len - at >= 2 && lower(element.data[at]) == 'q' && element.data[at + 1] == '=') break;
        if (!is_type) return 0;
        at = end_of_parameter(element, at);
    }
    size_t last = is_type ? end_of_parameter(element, at) : element.len;
    while (last > at + 2 && (element.data[last - 1] == ' ' || element.data[last - 1] == '\t'))
        last--;
    int value = parse_weight(element.data + at + 2, last - at - 2);
    return value < 0 ? 0 : value;
}

bool query_accepts_gzip(tb_text accept)
{
    int gzip = -1, identity = -1, star = -1;
    for (size_t at = 0; accept.data && at < accept.len;) {
        at = skip_space(accept, at);
        const char *comma = memchr(accept.data + at, ',', accept.len - at);
        size_t end = comma ? (size_t)(comma - accept.data) : accept.len;
        tb_text coding;
        int q = element_weight((tb_text){accept.data + at, end - at}, false, &coding);
        if (same_word(coding.data, coding.len, "gzip") ||
            same_word(coding.data, coding.len, "x-gzip"))
            gzip = q;
        else if (same_word(coding.data, coding.len, "identity"))
            identity = q;
        else if (same_word(coding.data, coding.len, "*"))
            star = q;
        at = end + 1;
    }
    if (gzip < 0) gzip = star;
    return gzip > 0 && gzip >= identity;
}

/* How exactly a media range matches a type: 3 the type itself, 2 its first half and a star, 1 two stars, 0 no match. */
static int match_range(tb_text range, const char *type)
{
    const char *slash = strchr(type, '/');
    size_t half = (size_t)(slash - type) + 1;
    if (same_word(range.data, range.len, type)) return 3;
    if (range.len == 3 && memcmp(range.data, "*/*", 3) == 0) return 1;
    if (range.len != half + 1 || range.data[half] != '*') return 0;
    for (size_t i = 0; i < half; i++)
        if (lower(range.data[i]) != type[i]) return 0;
    return 2;
}

size_t query_choose_type(tb_text accept, const char *const *types, size_t n)
{
    size_t chosen = n;
    int most = 0;
    if (!accept.data) return 0;
    for (size_t i = 0; i < n; i++) {
        int best = 0, value = 0; /* of the range that names the type most exactly */
        for (size_t at = 0; at < accept.len;) {
            at = skip_space(accept, at);
            const char *comma = memchr(accept.data + at, ',', accept.len - at);
            const size_t end = comma ? (size_t)(comma - accept.data) : accept.len;
            tb_text range;
            const int q = element_weight((tb_text){accept.data + at, end - at}, true, &range);
            const int exact = match_range(range, types[i]);
            if (exact > best) {
                best = exact;
                value = q;
            }
            at = end + 1;
        }
        if (value <= most) continue;
        most = value;
        chosen = i;
    }
    return chosen;
}

bool query_next_tag(tb_text tags, size_t *at, tb_text *ret_tag, bool *ret_star)
{
    size_t i = *at;
    while (i < tags.len && (tags.data[i] == ' ' || tags.data[i] == '\t' || tags.data[i] == ','))
        i++;
    *ret_star = false;
    if (i >= tags.len) return false;
    if (tags.data[i] == '*') {
        *ret_star = true;
        *ret_tag = (tb_text){tags.data + i, 1};
        *at = i + 1;
        return true;
    }
    if (tags.len - i > 2 && tags.data[i] == 'W' && tags.data[i + 1] == '/') i += 2;
    if (tags.data[i] != '"') return false;
    const char *end = memchr(tags.data + i + 1, '"', tags.len - i - 1);
    if (!end) return false;
    *ret_tag = (tb_text){tags.data + i + 1, (size_t)(end - tags.data) - i - 1};
    *at = (size_t)(end - tags.data) + 1;
    return true;
}
