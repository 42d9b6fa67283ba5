/* A value ends where its brackets are closed: strings are skipped as a whole, so brackets in them do not count. */
#include "ops/prices/slices.h"

#include <stdbool.h>
#include <string.h>

#include "tollbook/json.h"

json_t *tb__body_read(const char *text, size_t len, tb_error *err)
{
    json_error_t where;
    if (!tb_json_fits(text, len)) {
        tb_fail(err, TB_E_TOO_LARGE, NULL,
                "The body has more than %zu JSON values (an object or a list counts as four, a name as one). Send fewer at a time.",
                TB_JSON_VALUES_MAX);
        return NULL;
    }
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (json_is_object(root)) return root;
    tb_fail(err, TB_E_VALIDATION, NULL, "The body is not a JSON object: %.160s.",
            root ? "it is another value" : where.text);
    json_decref(root);
    return NULL;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return at;
}

#define TEXT_SHORT 64 /* bytes with its quotes */
#define TEXT_UNIT  16 /* of a longer one: jansson has it several times while it reads */

/* at: the opening quote. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : end;
}

static const char *skip_value(const char *at, const char *end)
{
    int depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (strchr("{[", *at)) {
            depth++;
            at++;
        } else if (strchr("}]", *at)) {
            if (depth == 0) return at;
            depth--;
            at++;
        } else if (depth == 0 && strchr(", \t\r\n", *at)) {
            return at;
        } else {
            at++;
            continue; /* a number or a word goes on */
        }
        if (depth == 0) return at;
    }
    return end;
}

size_t tb__body_weight(const char *text, size_t len)
{
    const char *end = text + len;
    size_t weight = 1;
    for (const char *at = text; at < end;) {
        const char *after = *at == '"' ? skip_string(at, end) : at + 1;
        const size_t n = (size_t)(after - at);
        weight += *at == '{' || *at == '[' ? 4 : *at == ',' || *at == ':';
        if (n > TEXT_SHORT) weight += (n - TEXT_SHORT) / TEXT_UNIT;
        at = after;
    }
    return weight;
}

tb__slice tb__slice_member(const char *text, size_t len, const char *name)
{
    const char *end = text + len;
    const size_t name_len = strlen(name);
    const char *at = skip_space(text, end) + 1; /* the brace */
    while ((at = skip_space(at, end)) < end && *at == '"') {
        const char *key = at + 1, *after = skip_string(at, end);
        bool found = (size_t)(after - key) == name_len + 1 && memcmp(key, name, name_len) == 0;
        at = skip_space(skip_space(after, end) + 1, end); /* the colon */
        after = skip_value(at, end);
        if (found) return (tb__slice){at, (size_t)(after - at)};
        at = skip_space(after, end);
        if (at < end && *at == ',') at++;
    }
    return (tb__slice){NULL, 0};
}

tb__slices tb__slices_of(tb__slice list)
{
    if (!list.text || list.len < 2) return (tb__slices){NULL, NULL};
    return (tb__slices){list.text + 1, list.text + list.len};
}

tb__slice tb__slices_next(tb__slices *at)
{
    const char *begin = at->at ? skip_space(at->at, at->end) : NULL;
    if (!begin || begin >= at->end || *begin == ']') return (tb__slice){NULL, 0};
    const char *after = skip_value(begin, at->end);
    at->at = skip_space(after, at->end);
    if (at->at < at->end && *at->at == ',') at->at++;
    return (tb__slice){begin, (size_t)(after - begin)};
}
