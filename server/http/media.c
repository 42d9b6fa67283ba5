/* Tables of words. application/x-www-form-urlencoded is among the types for raw bytes because
 * that is what `curl --data-binary` sends unasked. */
#include "http/media.h"

#include <string.h>
#include <strings.h>

typedef struct word {
    const char *text;
    int value;
} word;

static const word codings[] = {
    {"identity", MEDIA_IDENTITY}, {"gzip", MEDIA_GZIP}, {"x-gzip", MEDIA_GZIP},
    {"zstd", MEDIA_ZSTD},
};

static const word types[] = {
    {"application/json", ROUTE_JSON},         {"text/json", ROUTE_JSON},
    {"application/json", ROUTE_BYTES},        {"application/octet-stream", ROUTE_BYTES},
    {"application/x-ndjson", ROUTE_BYTES},    {"application/ndjson", ROUTE_BYTES},
    {"application/jsonl", ROUTE_BYTES},       {"text/plain", ROUTE_BYTES},
    {"application/gzip", ROUTE_BYTES},        {"application/x-gzip", ROUTE_BYTES},
    {"application/zstd", ROUTE_BYTES},        {"application/x-www-form-urlencoded", ROUTE_BYTES},
};

static bool equals(tb_text text, const char *with)
{
    return strlen(with) == text.len && strncasecmp(with, text.data, text.len) == 0;
}

media_coding media_coding_parse(tb_text value)
{
    if (!value.data) return MEDIA_ABSENT;
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++)
        if (equals(value, codings[i].text)) return (media_coding)codings[i].value;
    return MEDIA_UNKNOWN;
}

bool media_type_fits(route_body body, tb_text content_type)
{
    if (!content_type.data) return true;
    tb_text type = content_type; /* without its parameters */
    const char *mark = memchr(type.data, ';', type.len);
    if (mark) type.len = (size_t)(mark - type.data);
    while (type.len > 0 && (type.data[type.len - 1] == ' ' || type.data[type.len - 1] == '\t'))
        type.len--;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((route_body)types[i].value == body && equals(type, types[i].text)) return true;
    static const char start[] = "application/", end[] = "+json";
    size_t s = sizeof start - 1, e = sizeof end - 1;
    return body == ROUTE_JSON && type.len > s + e && strncasecmp(type.data, start, s) == 0 &&
           strncasecmp(type.data + type.len - e, end, e) == 0;
}
