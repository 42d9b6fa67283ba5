/* A list that ascends by (block, line), and one text area. */
#include "feed/rejects.h"

#include <stdlib.h>
#include <string.h>

void feed_rejects_release(feed_rejects *rejects)
{
    free(rejects->list);
    free(rejects->text);
    *rejects = (feed_rejects){0};
}

void feed_rejects_clear(feed_rejects *rejects)
{
    rejects->n = rejects->text_len = 0;
    rejects->full = false;
}

static bool grow(void **items, size_t *cap, size_t need, size_t size)
{
    size_t more = *cap ? *cap : 256;
    while (more < need)
        more *= 2;
    if (more == *cap) return true;
    void *p = realloc(*items, more * size);
    if (!p) return false;
    *items = p;
    *cap = more;
    return true;
}

static void add_text(feed_rejects *rejects, const char *bytes, size_t len)
{
    if (len) memcpy(rejects->text + rejects->text_len, bytes, len);
    rejects->text_len += len;
}

tb_code feed_rejects_add(feed_rejects *rejects, size_t block, uint64_t line,
                         const tb_reject *reject, const char *why, tb_error *err)
{
    size_t text_len = reject->len < TB_REJECT_TEXT_MAX ? reject->len : TB_REJECT_TEXT_MAX;
    size_t why_len = strlen(why) + 1, need = rejects->text_len + why_len + text_len;
    if (rejects->n == TB_REJECTS_KEPT || need > FEED_REJECT_TEXT) rejects->full = true;
    if (rejects->full) return TB_OK;
    void *list = rejects->list, *text = rejects->text;
    bool room = grow(&list, &rejects->cap, rejects->n + 1, sizeof *rejects->list);
    rejects->list = list;
    room = grow(&text, &rejects->text_cap, need, 1) && room;
    rejects->text = text;
    if (!room) return tb_no_memory(err);
    rejects->list[rejects->n++] = (feed_reject){.block = block,
                                                .line = line,
                                                .byte = reject->byte,
                                                .reason = reject->reason,
                                                .why_len = (uint32_t)why_len,
                                                .text_len = (uint32_t)text_len,
                                                .text_at = rejects->text_len};
    add_text(rejects, why, why_len);
    add_text(rejects, reject->text, text_len);
    return TB_OK;
}

const char *feed_reject_why(const feed_rejects *rejects, const feed_reject *reject)
{
    return rejects->text + reject->text_at;
}

const char *feed_reject_text(const feed_rejects *rejects, const feed_reject *reject)
{
    return rejects->text + reject->text_at + reject->why_len;
}
