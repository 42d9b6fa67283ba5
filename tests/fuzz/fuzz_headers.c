/* A request's head as lines: the target, then "name:value" lines. Whatever comes in, what the guard
 * lets through keeps its promises. */
#include <stdlib.h>
#include <string.h>

#include "http/front/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void check_target(const char *target, size_t len)
{
    size_t path_len = 0;
    const char *why = NULL;
    if (guard_target(target, len, &path_len, &why) != TB_OK) {
        PROMISE(why != NULL);
        return;
    }
    PROMISE(len > 0 && len <= GUARD_TARGET_MAX && target[0] == '/' && path_len <= len);
    PROMISE(path_len == len || target[path_len] == '?');
    for (size_t i = 0; i < len; i++)
        PROMISE(target[i] > 0x20 && target[i] < 0x7f && target[i] != '#');
    for (size_t i = 0; i + 2 < path_len; i++)
        PROMISE(memcmp(target + i, "/./", 3) != 0 && memcmp(target + i, "%00", 3) != 0);
}

static void check_framing(const guard *g, bool http11)
{
    PROMISE(!http11 || g->value[GUARD_HOST].data);
    PROMISE(!(g->value[GUARD_CONTENT_LENGTH].data && g->value[GUARD_TRANSFER_ENCODING].data));
    PROMISE(g->chunked == (g->value[GUARD_TRANSFER_ENCODING].data != NULL));
    PROMISE(!g->chunked || http11);
    PROMISE(g->content_length < UINT64_C(1000000000000000000));
    PROMISE(g->lines <= GUARD_HEADERS_MAX && g->bytes <= GUARD_BYTES_MAX);
    for (int i = 0; i < GUARD_OTHER; i++)
        for (size_t k = 0; k < g->value[i].len; k++)
            PROMISE((unsigned char)g->value[i].data[k] >= 0x20 || g->value[i].data[k] == '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    bool http11 = size > 0 && (data[size - 1] & 1);
    guard g;
    guard_start(&g);
    for (bool first = true; text < end; first = false) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((line_end ? line_end : end) - text);
        const char *colon = memchr(text, ':', len);
        if (first) check_target(text, len);
        else if (colon)
            guard_header(&g, text, (size_t)(colon - text), colon + 1,
                         len - (size_t)(colon + 1 - text));
        text += len + 1;
    }
    if (guard_finish(&g, http11) == TB_OK) check_framing(&g, http11);
    else PROMISE(g.why != NULL);
    return 0;
}
