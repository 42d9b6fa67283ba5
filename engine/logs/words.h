/* The repeated texts of one column, as numbers: each is kept once, however many lines to be packed have it, and a
 * block's dictionary is made of numbers instead of bytes.
 *
 * Number 0 is the empty text. Numbers are valid until the words are emptied. There are at most TB__WORDS_MAX of
 * them, TB__WORDS_BYTES together; a text without room, or a long one, is TB__WORD_NONE and stays with its line. So
 * does every text once memory is short.
 *
 * Words of many zones exceed the processor's nearest caches. A caller with several lines first requests the key of
 * each, then prefetches its word, and requests its number last: so the cache misses overlap. */
#ifndef TB__LOGS_WORDS_H
#define TB__LOGS_WORDS_H

#include "base/hash.h"
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
    uint64_t seed;       /* of the keys */
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

/* The key of a text in the table; texts with the same key are compared by their bytes. */
static inline uint64_t tb__text_key(tb_text text, uint64_t seed)
{
    return XXH3_64bits_withSeed(text.data, text.len, seed);
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

/* The text's key; prefetches the beginning of the lookup. */
static inline uint64_t tb__words_key(const tb__words *words, tb_text text)
{
    if (text.len == 0) return 0;
    const uint64_t key = tb__text_key(text, words->seed);
    if (words->cap) __builtin_prefetch(&words->slot[key & words->mask]);
    return key;
}

static inline void tb__words_fetch(const tb__words *words, uint64_t key)
{
    if (key == 0 || !words->cap) return;
    size_t i = key & words->mask;
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
    for (size_t i = key & words->mask; (slot = &words->slot[i])->at; i = (i + 1) & words->mask) {
        if (slot->key != key) continue;
        const tb__word *word = tb__word_at(words, slot->at);
        if (word->len == text.len && memcmp(word->text, text.data, text.len) == 0)
            return (uint16_t)slot->number;
    }
    return tb__words_add(words, text, key);
}

#endif
