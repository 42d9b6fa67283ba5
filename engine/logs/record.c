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

#define RARE (TB__LOG_COUNT - TB__LOG_FEW) /* columns of the client's network */

/* Beside the texts: the head, the id, the address and the body bytes, a length for each text, an edge
 * location that is not in the line, and up to 7 bytes at the end. */
_Static_assert(sizeof(tb__logrecord) + 16 + 16 + 8 + 4 * (TB__LOG_TEXTED_COUNT + 2 + RARE) + TB_EDGE_MAX +
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
    r->network = line->ja4.len + line->asn.len + line->organization.len > 0;
    if (r->network) p = put_text(put_text(put_text(p, line->ja4), line->asn), line->organization);
    r->size = (uint32_t)((size_t)(p - (char *)to) + 7) & ~UINT32_C(7);
    return r->size;
}

size_t tb_logrecord_size(const void *record)
{
    return ((const tb__logrecord *)record)->size;
}

/* --- rows of a block --- */

typedef struct text_column {
    const tb__log_texts *texts; /* NULL: it is absent */
    uint16_t *word;             /* of each entry; NULL: rows have their text */
} text_column;

typedef struct rows {
    text_column text[TB__LOG_TEXTED_COUNT];
    const tb__log_binaries *ip, *id;
    const tb__log_texts *rare[RARE];
    const int64_t *times;
    uint16_t *memory; /* of all words */
} rows;

static const tb__log_column texted[TB__LOG_TEXTED_COUNT] = {
#define TB_X(name, member) TB__LOG_##name,
    TB__LOG_TEXTED(TB_X)
#undef TB_X
};

/* Entries that rows share become words; those of one row each hardly come again. */
static bool has_words(int i, const tb__log_texts *t)
{
    return t && t->codes && i != TB__LOG_TEXTED_PATH;
}

static tb_code read_columns(rows *r, tb_logwords *words, tb_logblock *block, tb_error *err)
{
    size_t entries = 0;
    tb_code code = tb__log_times_of(block, &r->times, err);
    if (!code) code = tb__log_binaries_of(block, TB__LOG_IP, &r->ip, err);
    if (!code) code = tb__log_binaries_of(block, TB__LOG_ID, &r->id, err);
    for (int i = 0; !code && i < RARE; i++)
        code = tb__log_texts_of(block, (tb__log_column)(TB__LOG_FEW + i), &r->rare[i], err);
    for (int i = 0; !code && i < TB__LOG_TEXTED_COUNT; i++) {
        code = tb__log_texts_of(block, texted[i], &r->text[i].texts, err);
        if (!code && has_words(i, r->text[i].texts)) entries += r->text[i].texts->n;
    }
    if (code) return code;
    r->memory = malloc((entries + 1) * sizeof *r->memory);
    if (!r->memory) return tb_no_memory(err);
    entries = 0;
    for (int i = 0; i < TB__LOG_TEXTED_COUNT; i++) {
        const tb__log_texts *t = r->text[i].texts;
        if (!has_words(i, t)) continue;
        r->text[i].word = r->memory + entries;
        entries += t->n;
        for (size_t e = 0; e < t->n; e++) {
            const tb_text text = tb__log_entry(t, e);
            r->text[i].word[e] = tb__words_number(&words->of[i], text, tb__words_key(&words->of[i], text));
        }
    }
    return TB_OK;
}

/* The row's word in a column; TB__WORD_NONE: it has *ret_text. */
static inline uint16_t word_at(const text_column *c, size_t row, tb_text *ret_text)
{
    *ret_text = (tb_text){"", 0};
    if (!c->texts) return 0;
    const size_t e = tb__log_entry_of(c->texts, row);
    const uint16_t word = c->word ? c->word[e] : TB__WORD_NONE;
    if (word == TB__WORD_NONE) *ret_text = tb__log_entry(c->texts, e);
    return word;
}

static size_t binary_size(const tb__log_binaries *b, size_t row)
{
    const uint8_t width = b ? b->width[row] : 0;
    return width == TB__LOG_TEXT_WIDTH ? sizeof(uint32_t) + tb__log_entry(&b->texts, b->rank[row]).len
                                       : width;
}

/* The bytes of a row's rare texts together. */
static size_t read_rare(const rows *r, size_t row, tb_text ret[RARE])
{
    size_t sum = 0;
    for (int i = 0; i < RARE; i++) {
        ret[i] = r->rare[i] ? tb__log_entry(r->rare[i], tb__log_entry_of(r->rare[i], row)) : (tb_text){"", 0};
        sum += ret[i].len;
    }
    return sum;
}

static size_t row_size(const rows *r, size_t row)
{
    tb_text text, rare[RARE];
    const size_t network = read_rare(r, row, rare);
    size_t size = sizeof(tb__logrecord) + sizeof(uint64_t) + binary_size(r->ip, row) + binary_size(r->id, row);
    if (network) size += RARE * sizeof(uint32_t) + network;
    for (int i = 0; i < TB__LOG_TEXTED_COUNT; i++)
        if (word_at(&r->text[i], row, &text) == TB__WORD_NONE || i == TB__LOG_TEXTED_PATH)
            size += sizeof(uint32_t) + text.len;
    return (size + 7) & ~(size_t)7;
}

/* A binary value that is no text. */
static char *put_bytes(char *to, const tb__log_binaries *b, size_t row)
{
    const size_t rank = b ? b->rank[row] : 0;
    switch (b ? b->width[row] : 0) {
    case 4:
        for (size_t i = 0; i < 4; i++)
            *to++ = (char)b->planes[i * b->n_short + rank];
        return to;
    case 16: return put(to, b->wide + 16 * rank, 16);
    default: return to;
    }
}

static char *put_binary_text(char *to, const tb__log_binaries *b, size_t row)
{
    if (!b || b->width[row] != TB__LOG_TEXT_WIDTH) return to;
    return put_text(to, tb__log_entry(&b->texts, b->rank[row]));
}

static tb_code put_record(const rows *r, tb_logblock *block, size_t row, tb__logrecord *to, tb_error *err)
{
    uint64_t body = UINT64_MAX;
    tb_text text, rare[RARE];
    *to = (tb__logrecord){.time_ms = r->times[row]};
    tb_code code = tb__log_number_of(block, TB__LOG_BYTES, row, &to->bytes, err);
    if (!code) code = tb__log_number_of(block, TB__LOG_BODY, row, &body, err);
    if (code) return code;
    to->body = body != UINT64_MAX;
    to->ip = r->ip ? r->ip->width[row] : 0;
    to->id = r->id ? r->id->width[row] : 0;
    char *p = put_bytes((char *)(to + 1), r->id, row);
    p = put_bytes(p, r->ip, row);
    if (to->body) p = put(p, &body, sizeof body);
    for (int i = 0; i < TB__LOG_TEXTED_COUNT; i++) {
        to->word[i] = word_at(&r->text[i], row, &text);
        if (i == TB__LOG_TEXTED_PATH) to->word[i] = TB__WORD_NONE;
        if (to->word[i] == TB__WORD_NONE) p = put_text(p, text);
    }
    p = put_binary_text(p, r->ip, row);
    p = put_binary_text(p, r->id, row);
    to->network = read_rare(r, row, rare) > 0;
    for (int i = 0; to->network && i < RARE; i++)
        p = put_text(p, rare[i]);
    to->size = (uint32_t)((size_t)(p - (char *)to) + 7) & ~UINT32_C(7);
    return TB_OK;
}

static tb_code put_rows(const rows *r, tb_logblock *block, const void **records, void **ret_memory,
                        tb_error *err)
{
    const size_t n = tb__logblock_lines(block);
    size_t size = 0;
    tb_code code = TB_OK;
    for (size_t row = 0; row < n; row++)
        size += row_size(r, row);
    char *to = malloc(size);
    if (!to) return tb_no_memory(err);
    *ret_memory = to;
    for (size_t row = 0; !code && row < n; row++) {
        records[row] = to;
        code = put_record(r, block, row, (tb__logrecord *)(void *)to, err);
        to += tb_logrecord_size(records[row]);
    }
    return code;
}

tb_code tb__logwords_rows(tb_logwords *words, tb_logblock *block, const void **records,
                          void **ret_memory, tb_error *err)
{
    rows r = {0};
    *ret_memory = NULL;
    tb_code code = read_columns(&r, words, block, err);
    if (!code) code = put_rows(&r, block, records, ret_memory, err);
    free(r.memory);
    if (!code) return TB_OK;
    free(*ret_memory);
    *ret_memory = NULL;
    return code;
}
