/* A table of slots by hash over words that lie one behind the other. What has grown is copied as it
 * is, for words are known by their distance from the start; only the slots are made anew. */
#include "logs/words.h"

#include <stdlib.h>

#define CAP_FIRST   64
#define BYTES_FIRST 4096
#define UNIT        TB__WORD_UNIT /* the first one is unused */

void tb__words_init(tb__words *w)
{
    *w = (tb__words){.seed = tb__hash_seed()};
}

void tb__words_release(tb__words *w)
{
    free(w->slot);
    free(w->at);
    free(w->code);
    free(w->bytes);
    *w = (tb__words){0};
}

void tb__words_forget(tb__words *w)
{
    if (!w->cap) return;
    memset(w->slot, 0, (w->mask + 1) * sizeof *w->slot);
    w->n = 1;
    w->len = UNIT;
}

static void put(tb__words *w, size_t number)
{
    const uint64_t key = tb__word_at(w, w->at[number])->key;
    size_t i = key & w->mask;
    while (w->slot[i].at)
        i = (i + 1) & w->mask;
    w->slot[i] = (tb__word_slot){key, w->at[number], (uint32_t)number};
}

/* Doubles the table of numbers. False: out of memory; existing numbers stay valid. */
static bool grow(tb__words *w)
{
    const size_t cap = w->cap ? w->cap * 2 : CAP_FIRST;
    if (cap > TB__WORDS_MAX) return false;
    uint32_t *at = realloc(w->at, cap * sizeof *at);
    if (at) w->at = at;
    uint16_t *code = realloc(w->code, cap * sizeof *code);
    if (code) w->code = code;
    tb__word_slot *slot = at && code ? calloc(2 * cap, sizeof *slot) : NULL;
    if (!slot) return false;
    free(w->slot);
    w->slot = slot;
    w->mask = 2 * cap - 1;
    memset(code + w->cap, 0, (cap - w->cap) * sizeof *code);
    w->cap = cap;
    if (!w->n) w->n = 1; /* the empty text */
    for (size_t i = 1; i < w->n; i++)
        put(w, i);
    return true;
}

static bool words_room(tb__words *w, size_t need)
{
    if (!w->len) w->len = UNIT;
    if (need <= w->room && w->len <= w->room - need) return true;
    size_t room = w->room ? w->room * 2 : BYTES_FIRST; /* more than one word takes */
    if (room > TB__WORDS_BYTES) return false;
    char *bytes = aligned_alloc(UNIT, room);
    if (!bytes) return false;
    if (w->bytes) memcpy(bytes, w->bytes, w->len);
    free(w->bytes);
    w->bytes = bytes;
    w->room = room;
    return true;
}

uint16_t tb__words_add(tb__words *w, tb_text text, uint64_t key)
{
    const size_t need = (sizeof(tb__word) + text.len + UNIT - 1) & ~(size_t)(UNIT - 1);
    if (!words_room(w, need) || (w->n >= w->cap && !grow(w))) return TB__WORD_NONE;
    tb__word *word = (tb__word *)(void *)(w->bytes + w->len);
    word->key = key;
    word->len = (uint32_t)text.len;
    memcpy(word->text, text.data, text.len);
    w->at[w->n] = (uint32_t)(w->len / UNIT);
    w->len += need;
    put(w, w->n);
    return (uint16_t)w->n++;
}
