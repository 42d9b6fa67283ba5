/* The rows are compared in order: nearly all differ in the byte after the slash, which is compared first. At this size
 * that is cheaper than an index. */
#include "http/router.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "http/query.h"

static const char *const method_names[] = {
#define TB_X(name) #name,
    HTTP_METHOD_TABLE(TB_X)
#undef TB_X
};

http_method http_method_parse(const char *name)
{
    for (unsigned i = 0; i < HTTP_UNKNOWN; i++)
        if (strcmp(name, method_names[i]) == 0) return (http_method)i;
    return HTTP_UNKNOWN;
}

const char *http_method_name(http_method method)
{
    return (unsigned)method < HTTP_UNKNOWN ? method_names[method] : "-";
}

static char lower(char c)
{
    return (char)(c | ((unsigned char)(c - 'A') < 26 ? 0x20 : 0));
}

/* "05-01-2025", whether or not there is such a day. */
static bool is_date(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (i == 2 || i == 5 ? text[i] != '-' : (unsigned char)(text[i] - '0') > 9) return false;
    return len == 10;
}

/* *ret: the text of the n-th {}, or of the last one if there are fewer. */
static bool matches(const char *pattern, const char *path, size_t len, unsigned n, tb_text *ret)
{
    size_t i = 0;
    unsigned part = 0;
    *ret = (tb_text){0};
    while (*pattern) {
        if (pattern[0] == '{' && pattern[1] == '+') {
            *ret = (tb_text){path + i, len - i};
            return i < len;
        }
        if (*pattern == '{') {
            size_t start = i;
            const bool date = pattern[1] == '#';
            while (i < len && path[i] != '/')
                i++;
            if (date && !is_date(path + start, i - start)) return false;
            pattern = strchr(pattern, '}') + 1;
            const size_t tail = strcspn(pattern, "/"); /* ".log": not part of the id */
            if (i - start <= tail) return false;
            i -= tail;
            if (part++ <= n) *ret = (tb_text){path + start, i - start};
            continue;
        }
        if (i == len || lower(path[i]) != lower(*pattern)) return false;
        i++;
        pattern++;
    }
    return i == len || (i + 1 == len && path[i] == '/');
}

static routed match_rows(const route *routes, size_t n, http_method method, tb_text path, bool below_api)
{
    const http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    routed found = {.path = path};
    for (size_t i = 0; i < n; i++) {
        tb_text id;
        const char first = routes[i].pattern[1];
        if (path.len > 1 && first != lower(path.data[1]) && first != '{') continue;
        if (below_api && routes[i].exact) continue;
        if (!matches(routes[i].pattern, path.data, path.len, UINT_MAX, &id)) continue;
        if (routes[i].method == wanted) return (routed){.row = &routes[i], .path = path, .id = id};
        found.allow |= 1u << routes[i].method;
        if (routes[i].method == HTTP_GET) found.allow |= 1u << HTTP_HEAD;
    }
    return found;
}

/* "/region" of "/api/region". false: the path does not begin so. */
static bool drop_prefix(tb_text path, tb_text *ret)
{
    const size_t n = sizeof "/api" - 1;
    if (path.len <= n || path.data[n] != '/' || strncasecmp(path.data, "/api", n) != 0) return false;
    *ret = (tb_text){path.data + n, path.len - n};
    return true;
}

routed router_match(const route *routes, size_t n, http_method method, tb_text path)
{
    const routed found = match_rows(routes, n, method, path, false);
    tb_text inner;
    if (found.row || found.allow || !drop_prefix(path, &inner)) return found;
    const routed below = match_rows(routes, n, method, inner, true);
    return below.row || below.allow ? below : found;
}

const route *router_match_path(const route *routes, size_t n, tb_text path)
{
    tb_text id, inner;
    const bool below = drop_prefix(path, &inner);
    for (size_t i = 0; i < n; i++)
        if (matches(routes[i].pattern, path.data, path.len, UINT_MAX, &id) ||
            (below && matches(routes[i].pattern, inner.data, inner.len, UINT_MAX, &id)))
            return &routes[i];
    return NULL;
}

tb_text router_part(const route *row, tb_text path, unsigned n)
{
    tb_text part;
    unsigned parts = 0;
    for (const char *p = row->pattern; (p = strchr(p, '{')); p++)
        parts++;
    if (n >= parts || !matches(row->pattern, path.data, path.len, n, &part)) return (tb_text){0};
    return part;
}

void router_allow(unsigned allow, char out[ROUTER_ALLOW_MAX])
{
    size_t n = 0;
    out[0] = 0;
    for (unsigned m = 0; m < HTTP_UNKNOWN; m++) {
        if (!(allow & (1u << m))) continue;
        const char *name = http_method_name((http_method)m);
        size_t len = strlen(name);
        if (n) memcpy(out + n, ", ", 2);
        n += n ? 2 : 0;
        memcpy(out + n, name, len + 1);
        n += len;
    }
}

bool router_id(tb_text text, int64_t *ret_id)
{
    int64_t id;
    if (!text.data || !query_int(text.data, text.len, &id) || id < 1) return false;
    *ret_id = id;
    return true;
}
