/* A request's head as lines: the target, then "name:value" lines; the last byte chooses the version. Whatever comes in,
 * what is not refused keeps its promises, and is written anew no longer than it came. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/front/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void check_target(tb_text target)
{
    const char *mark = memchr(target.data, '?', target.len);
    const size_t path_len = mark ? (size_t)(mark - target.data) : target.len;
    PROMISE(target.len > 0 && target.len <= HEAD_TARGET_MAX && target.data[0] == '/');
    for (size_t i = 0; i < target.len; i++)
        PROMISE(target.data[i] > 0x20 && target.data[i] < 0x7f && target.data[i] != '#');
    for (size_t i = 0; i + 2 < path_len; i++)
        PROMISE(memcmp(target.data + i, "/./", 3) != 0 && memcmp(target.data + i, "%00", 3) != 0);
}

static void check_framing(const head *h)
{
    PROMISE(!h->http11 || h->value[HEADER_HOST].data);
    PROMISE(!(h->value[HEADER_CONTENT_LENGTH].data && h->value[HEADER_TRANSFER_ENCODING].data));
    PROMISE(h->chunked == (h->value[HEADER_TRANSFER_ENCODING].data != NULL));
    PROMISE(!h->chunked || h->http11);
    PROMISE(h->content_length < UINT64_C(1000000000000000000));
    PROMISE(h->lines <= HEAD_LINES_MAX && h->bytes <= HEAD_VALUES_MAX);
    for (int i = 0; i < HEADER_OTHER; i++)
        for (size_t k = 0; k < h->value[i].len; k++)
            PROMISE((unsigned char)h->value[i].data[k] >= 0x20 || h->value[i].data[k] == '\t');
}

/* The request whose lines these are: each line that has a colon behind the first. Returns its length. */
static size_t compose(const char *lines, size_t size, char *out)
{
    const char *const end = lines + size;
    const int version = end[-1] & 1;
    char *at = out;
    at += sprintf(at, "GET ");
    for (bool first = true; lines < end; first = false) {
        const char *line_end = memchr(lines, '\n', (size_t)(end - lines));
        const size_t len = (size_t)((line_end ? line_end : end) - lines);
        if (first || memchr(lines, ':', len)) {
            memcpy(at, lines, len);
            at += len;
            at += sprintf(at, first ? " HTTP/1.%d\r\n" : "\r\n", version);
        }
        lines += line_end ? len + 1 : len;
    }
    return (size_t)(at + sprintf(at, "\r\n") - out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    head h;
    char *text = malloc(3 * size + 64), *anew = malloc(HEAD_MAX);
    size_t looked = 0;
    if (!text || !anew) abort();
    const size_t len = compose((const char *)data, size, text), end = head_end(text, len, &looked);
    PROMISE(end > 0 || len < HEAD_MAX);
    if (end > 0 && head_read(&h, text, end)) {
        PROMISE(head_write(&h, h.content_length, anew) <= end);
        if (h.code == TB_OK) {
            check_target(h.target);
            check_framing(&h);
        } else {
            PROMISE(h.why != NULL);
        }
    }
    free(text);
    free(anew);
    return 0;
}
