/* Making records. Texts that repeat are looked up while the line is in the cache, once for all zones,
 * so that packing a zone's block only counts numbers. */
#include "logs/record.h"

#include <stdlib.h>

tb_logwords *tb_logwords_new(void)
{
    tb_logwords *w = malloc(sizeof *w);
    for (int i = 0; w && i < TB__LOG_TEXTED_COUNT; i++)
        tb__words_init(&w->of[i]);
    return w;
}

void tb_logwords_free(tb_logwords *w)
{
    for (int i = 0; w && i < TB__LOG_TEXTED_COUNT; i++)
        tb__words_release(&w->of[i]);
    free(w);
}

void tb_logwords_forget(tb_logwords *w)
{
    for (int i = 0; i < TB__LOG_TEXTED_COUNT; i++)
        tb__words_forget(&w->of[i]);
}

/* Beside the texts: the head, the id, the address and the body bytes, a length for each text, an edge
 * location that is not in the line, and up to 7 bytes at the end. */
_Static_assert(sizeof(tb__logrecord) + 16 + 16 + 8 + 4 * (TB__LOG_TEXTED_COUNT + 2) + TB_EDGE_MAX +
                       8 <=
                   TB_LOGRECORD_MORE,
               "a record has its room");

static char *put(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

static char *put_text(char *to, tb_text text)
{
    const uint32_t len = (uint32_t)text.len;
    to = put(to, &len, sizeof len);
    if (len < 16) return len ? put(to, text.data, len) : to;
    for (size_t at = 0; at + 16 < len; at += 16) /* the last 16 over those before */
        memcpy(to + at, text.data + at, 16);
    memcpy(to + len - 16, text.data + len - 16, 16);
    return to + len;
}

static char *put_binaries(char *to, tb__logrecord *r, const tb_logline *line)
{
    static const uint8_t widths[] = {[0] = TB__LOG_TEXT_WIDTH, [4] = 4, [6] = 16};
    r->ip = r->id = 0;
    if (line->id.len) r->id = tb_log_id_parse(line->id, (uint8_t *)to) ? 16 : TB__LOG_TEXT_WIDTH;
    if (r->id == 16) to += 16;
    if (line->ip.len) r->ip = widths[tb__log_ip_parse(line->ip, (uint8_t *)to)];
    return r->ip == TB__LOG_TEXT_WIDTH ? to : to + r->ip;
}

void tb_logwords_keys(const tb_logwords *words, const tb_logline *line, tb_logkeys *ret_keys)
{
#define TB_X(name, member)                                                                         \
    if (TB__LOG_TEXTED_##name != TB__LOG_TEXTED_PATH)                                              \
        ret_keys->of[TB__LOG_TEXTED_##name] =                                                      \
            tb__words_key(&words->of[TB__LOG_TEXTED_##name], line->member);
    TB__LOG_TEXTED(TB_X)
#undef TB_X
}

void tb_logwords_fetch(const tb_logwords *words, const tb_logkeys *keys)
{
#define TB_X(name, member)                                                                         \
    if (TB__LOG_TEXTED_##name != TB__LOG_TEXTED_PATH)                                              \
        tb__words_fetch(&words->of[TB__LOG_TEXTED_##name], keys->of[TB__LOG_TEXTED_##name]);
    TB__LOG_TEXTED(TB_X)
#undef TB_X
}

size_t tb_logwords_record(tb_logwords *words, const tb_logline *line, const tb_logkeys *keys,
                          void *to)
{
    tb__logrecord *r = to;
    r->time_ms = line->time_ms;
    r->bytes = line->bytes;
    r->body = line->body_bytes != UINT64_MAX;
    char *p = put_binaries((char *)(r + 1), r, line);
    if (r->body) p = put(p, &line->body_bytes, sizeof line->body_bytes);
#define TB_X(name, member)                                                                         \
    r->word[TB__LOG_TEXTED_##name] =                                                               \
        TB__LOG_TEXTED_##name == TB__LOG_TEXTED_PATH                                               \
            ? TB__WORD_NONE                                                                        \
            : tb__words_number(&words->of[TB__LOG_TEXTED_##name], line->member,                    \
                               keys->of[TB__LOG_TEXTED_##name]);                                   \
    if (r->word[TB__LOG_TEXTED_##name] == TB__WORD_NONE) p = put_text(p, line->member);
    TB__LOG_TEXTED(TB_X)
#undef TB_X
    if (r->ip == TB__LOG_TEXT_WIDTH) p = put_text(p, line->ip);
    if (r->id == TB__LOG_TEXT_WIDTH) p = put_text(p, line->id);
    r->size = (uint32_t)((size_t)(p - (char *)to) + 7) & ~UINT32_C(7);
    return r->size;
}

size_t tb_logrecord_size(const void *record)
{
    return ((const tb__logrecord *)record)->size;
}
