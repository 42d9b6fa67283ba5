/* The texts of one column that repeat, as numbers: each is kept once, however many lines that wait to
 * be packed say it, and a block's dictionary is made of numbers instead of bytes.
 *
 * Number 0 is the empty text. Numbers are good until the words are forgotten. There are at most
 * TB__WORDS_MAX of them, TB__WORDS_BYTES together; a text that finds no room, or is long, is
 * TB__WORD_NONE and stays with its line. So is every one once memory runs out.
 *
 * Words of many zones are more than the caches next to the processor hold. Who has several lines at
 * hand asks for the key of each first, then for its word to be fetched, and for its number last: the
 * waits then overlap. */
#ifndef TB__LOGS_WORDS_H
#define TB__LOGS_WORDS_H

#include "tollbook/requestlog.h"

#include <string.h>

#define TB__WORD_NONE   UINT16_MAX
#define TB__WORDS_MAX   ((size_t)32768)
#define TB__WORDS_BYTES ((size_t)2 << 20)
#define TB__WORD_MAX    ((size_t)512) /* bytes of one */
#define TB__WORD_UNIT   ((size_t)64)  /* words start at multiples of it: most are one line of the cache */

typedef struct tb__word {
    uint64_t key;
    uint32_t len;
    char text[];
} tb__word;

typedef struct tb__word_slot {
    uint64_t key;
    uint32_t at;     /* of the word, as below; 0: the slot is free */
    uint32_t number;
} tb__word_slot;

typedef struct tb__words {
    tb__word_slot *slot; /* a power of two of them, at most half used */
    size_t mask;
    size_t n, cap; /* numbers given, the empty text's too; room for so many */
    uint32_t *at;  /* of each number: its word is at bytes + TB__WORD_UNIT times this */
    uint16_t *code; /* of the word in the block that is being packed, + 1; 0: not in it yet */
    char *bytes;
    size_t len, room;
} tb__words;

void tb__words_init(tb__words *words); /* allocates nothing */
void tb__words_release(tb__words *words);
void tb__words_forget(tb__words *words);
uint16_t tb__words_add(tb__words *words, tb_text text, uint64_t key);

static inline uint64_t tb__words_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline uint64_t tb__words_fold(uint64_t a, uint64_t b)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A hash of 8 bytes or more, for tables in memory alone: texts are compared whole besides. Folded
 * products, 16 bytes each; the last 16 (or 8) may overlap the ones before. */
static inline uint64_t tb__words_hash(const char *p, size_t len)
{
    const uint64_t k = UINT64_C(0x9E3779B97F4A7C15), m = UINT64_C(0xBF58476D1CE4E5B9);
    const char *end = p + len;
    uint64_t a = len * k, b = m;
    for (; end - p > 32; p += 32) {
        a = tb__words_fold(tb__words_load(p) ^ k, tb__words_load(p + 8) ^ a);
        b = tb__words_fold(tb__words_load(p + 16) ^ m, tb__words_load(p + 24) ^ b);
    }
    if (end - p > 16) b = tb__words_fold(tb__words_load(p) ^ m, tb__words_load(p + 8) ^ b);
    if (len >= 16) p = end - 16;
    a = tb__words_fold(tb__words_load(p) ^ k, tb__words_load(end - 8) ^ a);
    return tb__words_fold(a ^ k, b ^ m);
}

/* What a text is known by: a short one by its bytes and length, with no doubt; a longer one by its
 * hash, whose top byte is TB__KEY_LONG, and then by its bytes. */
#define TB__KEY_LONG (UINT64_C(0xff) << 56)

static inline uint64_t tb__text_key(tb_text text)
{
    const char *p = text.data;
    const size_t len = text.len;
    if (len > 7) return tb__words_hash(p, len) | TB__KEY_LONG;
    uint64_t key = (uint64_t)len << 56;
    if (len >= 4) {
        uint32_t first, last; /* they overlap where both say the same */
        memcpy(&first, p, 4);
        memcpy(&last, p + len - 4, 4);
        return key | first | (uint64_t)last << 8 * (len - 4);
    }
    if (len == 0) return 0;
    return key | (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[len / 2] << 8 |
           (uint64_t)(unsigned char)p[len - 1] << 16;
}

static inline size_t tb__key_place(uint64_t key)
{
    return key * UINT64_C(0x9E3779B97F4A7C15) >> 40;
}

static inline const tb__word *tb__word_at(const tb__words *words, uint32_t at)
{
    return (const tb__word *)(const void *)(words->bytes + TB__WORD_UNIT * at);
}

static inline tb_text tb__word_text(const tb__words *words, uint16_t number)
{
    const tb__word *word = tb__word_at(words, words->at[number]);
    return (tb_text){word->text, word->len};
}

/* The text's key, for what follows; what the lookup begins with is fetched. */
static inline uint64_t tb__words_key(const tb__words *words, tb_text text)
{
    if (text.len == 0) return 0;
    const uint64_t key = tb__text_key(text);
    if (text.len > 7 && words->cap)
        __builtin_prefetch(&words->slot[tb__key_place(key) & words->mask]); /* short ones are few */
    return key;
}

static inline void tb__words_fetch(const tb__words *words, uint64_t key)
{
    if (key < TB__KEY_LONG || !words->cap) return;
    size_t i = tb__key_place(key) & words->mask;
    while (words->slot[i].key != key && words->slot[i].at)
        i = (i + 1) & words->mask;
    __builtin_prefetch(tb__word_at(words, words->slot[i].at));
}

static inline uint16_t tb__words_number(tb__words *words, tb_text text, uint64_t key)
{
    if (text.len == 0) return 0;
    if (text.len > TB__WORD_MAX) return TB__WORD_NONE;
    if (!words->cap) return tb__words_add(words, text, key);
    const tb__word_slot *slot;
    for (size_t i = tb__key_place(key) & words->mask; (slot = &words->slot[i])->at;
         i = (i + 1) & words->mask) {
        if (slot->key != key) continue;
        if (key < TB__KEY_LONG) return (uint16_t)slot->number;
        const tb__word *word = tb__word_at(words, slot->at);
        if (word->len == text.len && memcmp(word->text, text.data, text.len) == 0)
            return (uint16_t)slot->number;
    }
    return tb__words_add(words, text, key);
}

#endif
