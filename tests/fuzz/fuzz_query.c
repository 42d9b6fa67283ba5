/* The first byte chooses: a query string, Accept-Encoding, If-None-Match, media, or routes. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/routes.h"
#include "http/media.h"
#include "http/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

typedef struct params {
    tb_text text, other;
    bool flag;
    int64_t number;
} params;

static void check_query(const char *text, size_t len)
{
    static const query_spec specs[] = {
        {"dateFrom", QUERY_TEXT, offsetof(params, text)},
        {"dateTo", QUERY_TEXT, offsetof(params, other)},
        {"hourly", QUERY_BOOL, offsetof(params, flag)},
        {"pullZone", QUERY_INT, offsetof(params, number)},
    };
    params p = {0};
    tb_error err = {0};
    char *scratch = malloc(len + 1); /* exact: the sanitizer sees one byte too many */
    if (query_parse(text, len, specs, 4, &p, scratch, &err) != TB_OK) {
        PROMISE(err.code == TB_E_VALIDATION && err.field[0]);
    } else {
        PROMISE(p.text.len + p.other.len <= len);
        for (size_t i = 0; i < p.text.len; i++)
            PROMISE(p.text.data[i] == scratch[p.text.data - scratch + (ptrdiff_t)i]);
    }
    free(scratch);
}

static void check_tags(tb_text header)
{
    tb_text tag;
    size_t at = 0, before = 0;
    bool star;
    while (query_next_tag(header, &at, &tag, &star)) {
        PROMISE(at > before && at <= header.len);
        PROMISE(tag.data >= header.data && tag.data + tag.len <= header.data + header.len);
        before = at;
    }
}

static void check_routes(const char *text, size_t len)
{
    for (int m = 0; m < HTTP_UNKNOWN; m++) {
        char names[ROUTER_ALLOW_MAX];
        int64_t number = 0;
        const routed r = router_match(api_routes, api_n_routes, (http_method)m, (tb_text){text, len});
        if (r.row) {
            PROMISE(r.path.data + r.path.len == text + len);
            PROMISE(!r.id.data || (r.id.len > 0 && !memchr(r.id.data, '/', r.id.len)));
            PROMISE(!router_id(r.id, &number) || number > 0);
        } else {
            router_allow(r.allow, names);
            PROMISE(strlen(names) < sizeof names);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const char *text = (const char *)data + 1;
    tb_text rest = {text, size - 1};
    switch (data[0] % 5) {
    case 0: check_query(text, size - 1); break;
    case 1: (void)query_accepts_gzip(rest); break;
    case 2: check_tags(rest); break;
    case 3:
        (void)media_coding_parse(rest);
        (void)media_type_fits(ROUTE_JSON, rest);
        (void)media_type_fits(ROUTE_BYTES, rest);
        break;
    default: check_routes(text, size - 1); break;
    }
    return 0;
}
