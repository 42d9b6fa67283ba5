/* Packing lines into a block.
 *
 * The lines are put in the order of their times first (they mostly are), by a radix sort of
 * (time, place) that costs a few passes over small numbers. Then one pass takes each line apart and
 * hands its columns to their builders, so that a line is touched while it is in the cache. Texts are
 * looked up by their hash in a small table for each column; a column whose texts hardly repeat gives
 * its dictionary up and keeps one entry a row. */
#include "base/hash.h"
#include "logs/directory.h"
#include "logs/record.h"

#include <stdlib.h>
#include <zstd.h>

#define LEVEL 1
#define SLOTS ((size_t)TB_LOGBLOCK_LINES * 2)
#define SMALL 1024 /* bytes of a column that would not be worth the call */
#define TRIES 16 /* blocks for which a column that did not shrink is left alone */

static const uint8_t kinds[TB__LOG_COUNT] = {
#define TB_X(name, kind, member) [TB__LOG_##name] = TB__LOG_KIND_##kind,
    TB__LOG_COLUMNS(TB_X)
#undef TB_X
};

/* A TEXT column in the making. */
typedef struct texts {
    uint64_t seed;        /* of the keys */
    uint16_t slot[SLOTS]; /* entry + 1 */
    uint64_t key[TB_LOGBLOCK_LINES];
    tb_text entry[TB_LOGBLOCK_LINES];
    uint16_t code[TB_LOGBLOCK_LINES]; /* the row's entry */
    uint16_t word[TB_LOGBLOCK_LINES]; /* the entry's; 0: it is none */
    size_t n, mask;
    uint64_t last;      /* key of the row before, and its entry + 1: rows often agree */
    uint16_t last_code; /* 0: there is none */
    uint16_t none; /* the entry + 1 of the empty word; 0: there is none */
    bool any;      /* some row has text */
} texts;

/* A BINARY column in the making. */
typedef struct binaries {
    uint8_t width[TB_LOGBLOCK_LINES];
    uint8_t narrow[4][TB_LOGBLOCK_LINES]; /* planes */
    uint8_t wide[16 * TB_LOGBLOCK_LINES];
    size_t n_narrow, n_wide, n_texts;
    tb_buf lengths, text;
} binaries;

typedef struct numbers {
    uint64_t value[TB_LOGBLOCK_LINES];
    bool any;
} numbers;

struct tb_logpack {
    ZSTD_CCtx *zstd;
    uint64_t key[TB_LOGBLOCK_LINES], spare[TB_LOGBLOCK_LINES]; /* time, place */
    int64_t times[TB_LOGBLOCK_LINES];
    texts *text[TB__LOG_COUNT];
    binaries *binary[TB__LOG_COUNT];
    numbers *number[TB__LOG_COUNT];
    tb_buf plain; /* a column before compression */
    tb_buf codes; /* and its codes */
    uint8_t alone[TB__LOG_COUNT]; /* blocks left for which it is not compressed */
};

/* Some 250 KiB, of which a block of few lines touches little: each begins them itself (start_builders). */
static bool make_builder(tb_logpack *pack, int c)
{
    switch ((tb__log_kind)kinds[c]) {
    case TB__LOG_KIND_TEXT:
        pack->text[c] = malloc(sizeof *pack->text[c]);
        if (pack->text[c]) pack->text[c]->seed = tb__hash_seed();
        return pack->text[c] != NULL;
    case TB__LOG_KIND_BINARY:
        pack->binary[c] = malloc(sizeof *pack->binary[c]);
        if (!pack->binary[c]) return false;
        tb_buf_init(&pack->binary[c]->lengths, TB_LOGBLOCK_COLUMN, NULL);
        tb_buf_init(&pack->binary[c]->text, TB_LOGBLOCK_COLUMN, NULL);
        return true;
    case TB__LOG_KIND_NUMBER: return (pack->number[c] = malloc(sizeof *pack->number[c])) != NULL;
    default: return true;
    }
}

tb_logpack *tb_logpack_new(void)
{
    tb_logpack *pack = calloc(1, sizeof *pack);
    if (!pack) return NULL;
    tb_buf_init(&pack->plain, TB_LOGBLOCK_COLUMN, NULL);
    tb_buf_init(&pack->codes, TB_LOGBLOCK_COLUMN, NULL);
    bool ok = (pack->zstd = ZSTD_createCCtx()) != NULL;
    for (int c = 0; c < TB__LOG_COUNT && ok; c++)
        ok = make_builder(pack, c);
    if (ok) return pack;
    tb_logpack_free(pack);
    return NULL;
}

void tb_logpack_free(tb_logpack *pack)
{
    if (!pack) return;
    ZSTD_freeCCtx(pack->zstd);
    for (int c = 0; c < TB__LOG_COUNT; c++) {
        free(pack->text[c]);
        free(pack->number[c]);
        if (!pack->binary[c]) continue;
        tb_buf_release(&pack->binary[c]->lengths);
        tb_buf_release(&pack->binary[c]->text);
        free(pack->binary[c]);
    }
    tb_buf_release(&pack->plain);
    tb_buf_release(&pack->codes);
    free(pack);
}

/* --- order --- */

#define PLACE_BITS 13
_Static_assert(TB_LOGBLOCK_LINES == 1 << PLACE_BITS, "a place fits its bits");

/* Sorts keys by the bits from PLACE_BITS up; the places, in order already, make it stable. */
static void sort_keys(tb_logpack *pack, size_t n, uint64_t most)
{
    enum { DIGIT = 11, SIZE = 1 << DIGIT };
    uint64_t *from = pack->key, *to = pack->spare;
    for (unsigned shift = PLACE_BITS; shift < 64 && most >> shift; shift += DIGIT) {
        uint32_t start[SIZE] = {0};
        for (size_t i = 0; i < n; i++)
            start[from[i] >> shift & (SIZE - 1)]++;
        for (uint32_t d = 0, sum = 0; d < SIZE; d++) {
            const uint32_t count = start[d];
            start[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[from[i] >> shift & (SIZE - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != pack->key) memcpy(pack->key, from, n * sizeof *from);
}

/* Sorts keys that are nearly in order already, as a log's are, by moving each to its place; gives up
 * where that takes more than MOVES steps a key. */
#define MOVES 16
static bool sort_nearly(uint64_t *key, size_t n)
{
    size_t left = n * MOVES;
    for (size_t i = 1; i < n; i++) {
        const uint64_t one = key[i];
        size_t to = i;
        while (to > 0 && key[to - 1] > one && left > 0) {
            key[to] = key[to - 1];
            to--;
            left--;
        }
        key[to] = one;
        if (left == 0) return false;
    }
    return true;
}

/* Keys in order; false: the times lie further apart than a key can hold. */
static bool order(tb_logpack *pack, const int64_t *times, size_t n, tb_loginfo *info)
{
    bool sorted = true;
    info->first_ms = info->last_ms = times[0];
    for (size_t i = 1; i < n; i++) {
        sorted &= times[i] >= times[i - 1];
        if (times[i] < info->first_ms) info->first_ms = times[i];
        if (times[i] > info->last_ms) info->last_ms = times[i];
    }
    int64_t span;
    if (__builtin_sub_overflow(info->last_ms, info->first_ms, &span) || span >> 48) return false;
    for (size_t i = 0; i < n; i++)
        pack->key[i] = (uint64_t)(times[i] - info->first_ms) << PLACE_BITS | i;
    if (!sorted && !sort_nearly(pack->key, n)) sort_keys(pack, n, (uint64_t)span << PLACE_BITS);
    return true;
}

/* --- builders --- */

static void start_builders(tb_logpack *pack, size_t lines)
{
    size_t slots = 16;
    while (slots < 2 * lines)
        slots *= 2;
    for (int c = 0; c < TB__LOG_COUNT; c++) {
        texts *t = pack->text[c];
        binaries *b = pack->binary[c];
        if (t) {
            memset(t->slot, 0, slots * sizeof *t->slot);
            t->mask = slots - 1;
            t->n = 0;
            t->last_code = t->none = 0;
            t->any = false;
        }
        if (b) {
            b->n_narrow = b->n_wide = b->n_texts = b->lengths.len = b->text.len = 0;
            b->lengths.failed = b->text.failed = false;
        }
        if (pack->number[c]) pack->number[c]->any = false;
    }
}

static bool is_entry(const texts *t, size_t e, uint64_t key, tb_text text)
{
    if (t->key[e] != key || t->entry[e].len != text.len) return false;
    return text.len == 0 || memcmp(t->entry[e].data, text.data, text.len) == 0; /* an empty one may be NULL */
}

/* Fills in the rows before this one, which have nothing in this column and were skipped. */
static void fill_missing(texts *t, size_t rows)
{
    memset(t->code, 0, rows * sizeof *t->code);
    t->key[0] = 0;
    t->entry[0] = (tb_text){"", 0};
    t->word[0] = 0;
    t->n = t->none = 1;
}

/* A new entry, the row's. */
static void add_entry(texts *t, size_t row, tb_text text, uint64_t key, uint16_t word)
{
    if (t->n == 0 && row > 0) fill_missing(t, row);
    t->any |= text.len > 0;
    t->key[t->n] = key;
    t->entry[t->n] = text;
    t->word[t->n] = word;
    t->code[row] = (uint16_t)t->n++;
}

static void add_text(texts *t, size_t row, tb_text text)
{
    const uint64_t key = tb__text_key(text, t->seed);
    if (t->last_code && key == t->last && is_entry(t, t->last_code - 1u, key, text)) {
        t->code[row] = (uint16_t)(t->last_code - 1);
        return;
    }
    size_t at = key & t->mask;
    t->last = key;
    for (; t->slot[at]; at = (at + 1) & t->mask) {
        if (!is_entry(t, t->slot[at] - 1u, key, text)) continue;
        t->last_code = t->slot[at];
        t->code[row] = (uint16_t)(t->last_code - 1);
        return;
    }
    add_entry(t, row, text, key, 0);
    t->slot[at] = t->last_code = (uint16_t)t->n;
}

static __attribute__((noinline)) void first_of_word(texts *t, tb__words *words, size_t row,
                                                    uint16_t word)
{
    if (word) add_entry(t, row, tb__word_text(words, word), 0, word);
    else add_entry(t, row, (tb_text){"", 0}, 0, 0);
    *(word ? &words->code[word] : &t->none) = (uint16_t)t->n;
}

/* A word knows its entry; the empty one is a word without a place, and nothing at all where no row so far
 * has another. */
static inline __attribute__((always_inline)) void add_word(texts *t, tb__words *words, size_t row,
                                                            uint16_t word)
{
    if (word == 0 && t->n == 0) return;
    uint16_t *code = word ? &words->code[word] : &t->none;
    if (*code) t->code[row] = (uint16_t)(*code - 1);
    else first_of_word(t, words, row, word);
}

/* A text that most lines do not have. */
static void add_rare_text(texts *t, size_t row, tb_text text)
{
    if (text.len) add_text(t, row, text);
    else add_word(t, NULL, row, 0);
}

static void add_binary(binaries *b, size_t row, tb_text text, unsigned width,
                       const uint8_t bytes[16])
{
    b->width[row] = (uint8_t)width;
    if (width == 4) {
        for (int i = 0; i < 4; i++)
            b->narrow[i][b->n_narrow] = bytes[i];
        b->n_narrow++;
    } else if (width == 16) {
        memcpy(b->wide + 16 * b->n_wide++, bytes, 16);
    } else if (width == TB__LOG_TEXT_WIDTH) {
        uint8_t leb[TB__LEB_MAX];
        tb_buf_add(&b->lengths, leb, (size_t)(tb__put_leb(leb, text.len) - leb));
        tb_buf_add(&b->text, text.data, text.len);
        b->n_texts++;
    }
}

static void add_ip(binaries *b, size_t row, tb_text text)
{
    static const unsigned widths[] = {[0] = TB__LOG_TEXT_WIDTH, [4] = 4, [6] = 16};
    uint8_t bytes[16] = {0};
    unsigned width = text.len ? widths[tb__log_ip_parse(text, bytes)] : 0;
    add_binary(b, row, text, width, bytes);
}

static void add_id(binaries *b, size_t row, tb_text text)
{
    uint8_t bytes[16] = {0};
    unsigned width = 0;
    if (text.len) width = tb_log_id_parse(text, bytes) ? 16 : TB__LOG_TEXT_WIDTH;
    add_binary(b, row, text, width, bytes);
}

static void add_number(numbers *v, size_t row, uint64_t value)
{
    v->value[row] = value + 1; /* UINT64_MAX, absent, becomes 0 */
    v->any |= value != UINT64_MAX;
}

/* The same where most rows have none: those before the first are made up for. */
static void add_rare(numbers *v, size_t row, uint64_t value)
{
    if (!v->any && value == UINT64_MAX) return;
    if (!v->any) memset(v->value, 0, row * sizeof *v->value);
    add_number(v, row, value);
}

static void add_line(tb_logpack *pack, size_t row, const tb_logline *line)
{
#define TB_X(name, kind, member) ADD_##kind(TB__LOG_##name, member)
#define ADD_TEXT(c, member)                                                                        \
    if ((c) < TB__LOG_FEW) add_text(pack->text[c], row, line->member);                             \
    else add_rare_text(pack->text[c], row, line->member);
#define ADD_NUMBER(c, member) add_number(pack->number[c], row, line->member);
#define ADD_BINARY(c, member)
#define ADD_TIME(c, member)
    TB__LOG_COLUMNS(TB_X)
#undef TB_X
    add_ip(pack->binary[TB__LOG_IP], row, line->ip);
    add_id(pack->binary[TB__LOG_ID], row, line->id);
}

/* The text at *p, which is moved behind it. */
static tb_text take_text(const char **p)
{
    uint32_t len;
    memcpy(&len, *p, sizeof len);
    const tb_text text = {*p + sizeof len, len};
    *p = text.data + len;
    return text;
}

/* Its address and id; returns what follows their bytes. */
static const char *add_binaries(tb_logpack *pack, size_t row, const tb__logrecord *r)
{
    const char *id = (const char *)(r + 1), *ip = id + (r->id == 16 ? 16 : 0);
    const tb_text none = {"", 0};
    if (r->id != TB__LOG_TEXT_WIDTH)
        add_binary(pack->binary[TB__LOG_ID], row, none, r->id, (const uint8_t *)id);
    if (r->ip == TB__LOG_TEXT_WIDTH) return ip;
    add_binary(pack->binary[TB__LOG_IP], row, none, r->ip, (const uint8_t *)ip);
    return ip + r->ip;
}

static void add_record(tb_logpack *pack, tb_logwords *words, size_t row, const tb__logrecord *r)
{
    const char *p = add_binaries(pack, row, r);
    uint64_t body = UINT64_MAX;
    if (r->body) {
        memcpy(&body, p, sizeof body);
        p += sizeof body;
    }
    add_number(pack->number[TB__LOG_BYTES], row, r->bytes);
    add_rare(pack->number[TB__LOG_BODY], row, body);
#define TB_X(name, member)                                                                         \
    if (r->word[TB__LOG_TEXTED_##name] == TB__WORD_NONE)                                           \
        add_text(pack->text[TB__LOG_##name], row, take_text(&p));                                  \
    else                                                                                           \
        add_word(pack->text[TB__LOG_##name], &words->of[TB__LOG_TEXTED_##name], row,               \
                 r->word[TB__LOG_TEXTED_##name]);
    TB__LOG_TEXTED(TB_X)
#undef TB_X
    if (r->ip == TB__LOG_TEXT_WIDTH)
        add_binary(pack->binary[TB__LOG_IP], row, take_text(&p), r->ip, NULL);
    if (r->id == TB__LOG_TEXT_WIDTH)
        add_binary(pack->binary[TB__LOG_ID], row, take_text(&p), r->id, NULL);
    for (int c = TB__LOG_FEW; c < TB__LOG_COUNT; c++)
        add_rare_text(pack->text[c], row, r->network ? take_text(&p) : (tb_text){"", 0});
}

/* Resets the block's codes of the words. */
static void leave_words(tb_logpack *pack, tb_logwords *words)
{
#define TB_X(name, member)                                                                         \
    for (size_t e = 0; e < pack->text[TB__LOG_##name]->n; e++)                                     \
        if (pack->text[TB__LOG_##name]->word[e])                                                   \
            words->of[TB__LOG_TEXTED_##name].code[pack->text[TB__LOG_##name]->word[e]] = 0;
    TB__LOG_TEXTED(TB_X)
#undef TB_X
}

/* --- columns to bytes --- */

static void put_times(tb_logpack *pack, size_t n)
{
    tb_buf *out = &pack->plain;
    uint8_t *p = (uint8_t *)tb_buf_room(out, n * TB__LEB_MAX), *from = p;
    if (!p) return;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = pack->key[i] >> PLACE_BITS;
        p = tb__put_leb(p, at - before);
        before = at;
    }
    out->len += (size_t)(p - from);
}

void tb__log_put_bits(tb_buf *out, const uint64_t *values, size_t count, unsigned width)
{
    uint8_t *p = (uint8_t *)tb_buf_room(out, count * width / 8 + 16), *from = p;
    uint64_t word = 0;
    unsigned held = 0; /* bits of word, below 8 */
    if (!p) return;
    for (size_t i = 0; i < count; i++) {
        word |= values[i] << held;
        tb__put64(p, word);
        held += width;
        p += held / 8;
        word = held < 64 ? word >> (held & ~7u) : 0; /* at most 64: width is at most 57, or 64 */
        held &= 7;
    }
    out->len += (size_t)(p - from) + (held + 7) / 8;
}

static void put_numbers(tb_logpack *pack, const numbers *v, size_t n)
{
    uint64_t most = 0;
    if (!v->any) return;
    for (size_t i = 0; i < n; i++)
        if (v->value[i] > most) most = v->value[i];
    const uint8_t width = (uint8_t)tb__log_number_width(most);
    tb_buf_add(&pack->plain, &width, 1);
    tb__log_put_bits(&pack->plain, v->value, n, width);
}

/* One entry a row: the texts in the order of the rows. */
static void spread(texts *t, size_t n)
{
    if (t->n == n) return;
    /* Backwards: a row's entry is never after the row, so it is read before it is overwritten. */
    for (size_t row = n; row-- > 0;)
        t->entry[row] = t->entry[t->code[row]];
    t->n = n;
}

/* memcpy of a text, which is mostly short: whole words, the last one over the one before. */
static void put_text(char *to, tb_text text)
{
    const char *from = text.data;
    const size_t len = text.len;
    if (len < 16) {
        if (len) memcpy(to, from, len);
        return;
    }
    for (size_t at = 0; at + 16 < len; at += 16)
        memcpy(to + at, from + at, 16);
    memcpy(to + len - 16, from + len - 16, 16);
}

static void put_entries(tb_buf *out, const texts *t, uint8_t *header)
{
    uint8_t *p = (uint8_t *)tb_buf_room(out, t->n * 5), *from = p;
    if (!p) return;
    size_t total = 0;
    for (size_t e = 0; e < t->n; e++) {
        p = tb__put_leb(p, t->entry[e].len);
        total += t->entry[e].len;
    }
    tb__put32(header + 5, (uint32_t)(p - from));
    out->len += (size_t)(p - from);
    char *text = tb_buf_room(out, total);
    for (size_t e = 0; text && e < t->n; e++) {
        put_text(text, t->entry[e]);
        text += t->entry[e].len;
    }
    if (text) out->len += total;
}

/* Codes of at most 13 bits. */
static void put_codes(tb_buf *out, const texts *t, size_t n)
{
    const unsigned width = tb__log_width(t->n);
    uint8_t *p = (uint8_t *)tb_buf_room(out, n * width / 8 + 16), *from = p;
    uint64_t word = 0;
    unsigned held = 0; /* bits of word, below 8 */
    if (!p || !width) return;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)t->code[i] << held;
        tb__put64(p, word);
        held += width;
        p += held / 8;
        word >>= held & ~7u;
        held &= 7;
    }
    out->len += (size_t)(p - from) + (held + 7) / 8;
}

static void put_texts(tb_logpack *pack, texts *t, size_t n)
{
    tb_buf *out = &pack->plain;
    uint8_t header[TB__LOG_TEXT_HEADER] = {0};
    if (!t->any) return;
    header[0] = t->n <= n - n / 8 || n <= 16;
    if (header[0] == 0) spread(t, n);
    else put_codes(&pack->codes, t, n);
    tb__put32(header + 1, (uint32_t)t->n);
    tb_buf_add(out, header, sizeof header);
    put_entries(out, t, header);
    if (!out->failed) memcpy(out->data, header, sizeof header);
}

static void put_binaries(tb_logpack *pack, const binaries *b, size_t n)
{
    tb_buf *out = &pack->plain;
    uint8_t first = b->width[0];
    bool uniform = b->n_narrow == n || b->n_wide == n || b->n_texts == n;
    if (b->n_narrow + b->n_wide + b->n_texts == 0) return;
    if (!uniform) first = TB__LOG_MIXED;
    tb_buf_add(out, &first, 1);
    if (!uniform) tb_buf_add(out, b->width, n);
    for (int i = 0; i < 4; i++)
        tb_buf_add(out, b->narrow[i], b->n_narrow);
    tb_buf_add(out, b->wide, 16 * b->n_wide);
    tb_buf_add(out, b->lengths.data, b->lengths.len);
    tb_buf_add(out, b->text.data, b->text.len);
    out->failed |= b->lengths.failed | b->text.failed;
}

static void put_column(tb_logpack *pack, int c, size_t n)
{
    pack->plain.len = pack->codes.len = 0;
    switch ((tb__log_kind)kinds[c]) {
    case TB__LOG_KIND_TIME: put_times(pack, n); break;
    case TB__LOG_KIND_NUMBER: put_numbers(pack, pack->number[c], n); break;
    case TB__LOG_KIND_TEXT: put_texts(pack, pack->text[c], n); break;
    case TB__LOG_KIND_BINARY: put_binaries(pack, pack->binary[c], n); break;
    }
}

/* Compresses the plain column at out's end: its length there; 0 if that is not shorter by a quarter. Such a column
 * (random ids, addresses) is not compressed for some blocks. */
static size_t shrink(tb_logpack *pack, int c, tb_buf *out)
{
    const tb_buf *plain = &pack->plain;
    if (plain->len <= SMALL) return 0;
    if (pack->alone[c]) {
        pack->alone[c]--;
        return 0;
    }
    const size_t room = ZSTD_compressBound(plain->len);
    char *to = tb_buf_room(out, room);
    if (!to) return 0;
    const size_t n = ZSTD_compressCCtx(pack->zstd, to, room, plain->data, plain->len, LEVEL);
    if (!ZSTD_isError(n) && n < plain->len - plain->len / 4) return n;
    pack->alone[c] = TRIES;
    return 0;
}

/* Appends the column and its codes. */
static void store_column(tb_logpack *pack, int c, size_t header_at, tb_buf *out)
{
    const size_t small = shrink(pack, c, out);
    if (small) out->len += small;
    else tb_buf_add(out, pack->plain.data, pack->plain.len);
    tb_buf_add(out, pack->codes.data, pack->codes.len);
    if (out->failed) return;
    uint8_t *entry = (uint8_t *)out->data + header_at + 24 + TB__LOG_ENTRY * c;
    tb__put32(entry, (uint32_t)pack->plain.len);
    tb__put32(entry + 4, (uint32_t)(small ? small : pack->plain.len));
    tb__put32(entry + 8, (uint32_t)pack->codes.len);
}

/* How many columns the block has: the last ones only where a line has one of them. */
static int count_columns(const tb_logpack *pack)
{
    for (int c = TB__LOG_FEW; c < TB__LOG_COUNT; c++)
        if (pack->text[c]->any) return TB__LOG_COUNT;
    return TB__LOG_FEW;
}

static void put_header(const tb_loginfo *info, int columns, tb_buf *out)
{
    uint8_t header[TB__LOG_HEADER(TB__LOG_COUNT)] = {0};
    tb__put32(header, columns == TB__LOG_FEW ? TB__LOG_MARK : TB__LOG_MARK_MORE);
    tb__put32(header + 4, info->lines);
    tb__put64(header + 8, (uint64_t)info->first_ms);
    tb__put64(header + 16, (uint64_t)info->last_ms);
    tb_buf_add(out, header, TB__LOG_HEADER(columns));
}

static void put_checksum(int64_t zone, size_t from, tb_buf *out)
{
    uint8_t sum[8];
    if (out->failed) return;
    tb__put64(sum, XXH3_64bits_withSeed(out->data + from, out->len - from, (uint64_t)zone));
    tb_buf_add(out, sum, sizeof sum);
}

/* The builders' lines as a block. */
static tb_code put_block(tb_logpack *pack, const tb_loginfo *info, tb_buf *out, tb_error *err)
{
    const size_t from = out->len;
    const int columns = count_columns(pack);
    put_header(info, columns, out);
    pack->plain.failed = pack->codes.failed = false;
    for (int c = 0; c < columns; c++) {
        put_column(pack, c, info->lines);
        store_column(pack, c, from, out);
    }
    put_checksum(info->zone, from, out);
    tb_code code = tb_buf_check(&pack->plain, err);
    if (!code) code = tb_buf_check(&pack->codes, err);
    if (!code) code = tb_buf_check(out, err);
    if (code) out->len = from;
    return code;
}

static tb_code start(tb_logpack *pack, const int64_t *times, size_t n, tb_loginfo *info,
                     tb_error *err)
{
    if (n < 1 || n > TB_LOGBLOCK_LINES || !order(pack, times, n, info))
        return tb_fail(err, TB_E_INTERNAL, NULL, "A block of request logs cannot hold its lines.");
    start_builders(pack, n);
    return TB_OK;
}

#define PLACE_OF(key) ((key) & (TB_LOGBLOCK_LINES - 1))

tb_code tb_logpack_block(tb_logpack *pack, const tb_loglines *lines, tb_buf *out,
                         tb_loginfo *ret_info, tb_error *err)
{
    tb_loginfo info = {.zone = lines->zone, .lines = (uint32_t)lines->n};
    tb_code code = start(pack, lines->times, lines->n, &info, err);
    if (code) return code;
    for (size_t row = 0; row < lines->n; row++) {
        tb_logline one;
        lines->line(lines->ctx, PLACE_OF(pack->key[row]), &one);
        add_line(pack, row, &one);
    }
    code = put_block(pack, &info, out, err);
    if (!code) *ret_info = info;
    return code;
}

tb_code tb_logpack_records(tb_logpack *pack, tb_logwords *words, const tb_logrecords *records,
                           tb_buf *out, tb_loginfo *ret_info, tb_error *err)
{
    tb_loginfo info = {.zone = records->zone, .lines = (uint32_t)records->n};
    for (size_t i = 0; i < records->n && i < TB_LOGBLOCK_LINES; i++)
        pack->times[i] = ((const tb__logrecord *)records->records[i])->time_ms;
    tb_code code = start(pack, pack->times, records->n, &info, err);
    if (code) return code;
    for (size_t row = 0; row < records->n; row++)
        add_record(pack, words, row, records->records[PLACE_OF(pack->key[row])]);
    leave_words(pack, words);
    code = put_block(pack, &info, out, err);
    if (!code) *ret_info = info;
    return code;
}

tb_code tb_logpack_mix(tb_logpack *pack, tb_logwords *words, const tb_logmix *mix, tb_buf *out,
                       tb_buf *directory, tb_loginfo *ret_info, tb_error *err)
{
    const size_t from = out->len;
    const int64_t zone = mix->n_zones == 1 ? mix->zones[0] : 0;
    tb_code code = tb_logpack_records(pack, words, &(tb_logrecords){zone, mix->records, mix->n}, out, ret_info, err);
    if (code) return code;
    for (size_t row = 0; row < mix->n; row++)
        pack->spare[row] = mix->places[PLACE_OF(pack->key[row])];
    tb__log_directory_put(mix->zones, mix->n_zones, pack->spare, mix->n,
                          (tb_text){out->data + from, out->len - from}, directory);
    code = tb_buf_check(directory, err);
    if (code) out->len = from;
    return code;
}
