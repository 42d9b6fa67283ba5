/* Counts how often each of many values occurs, in bounded memory.
 *
 * Exact until more than TB__TALLY_VALUES values, or TB__TALLY_BYTES of text, have occurred. Then the tally subtracts the
 * median of its counts from all of them and drops the values that have none left (Anderson et al., "A High-Performance
 * Algorithm for Identifying Frequent Items in Data Streams", 2017, after Misra and Gries). `missed` is the sum of what
 * was subtracted: a value occurred at least `count` and at most count + missed times, one that is not kept at most
 * `missed` times. */
#ifndef TOLLBOOK_BASE_TALLY_H
#define TOLLBOOK_BASE_TALLY_H

#include "tollbook/buf.h"

#define TB__TALLY_VALUES ((size_t)131072)
#define TB__TALLY_BYTES  ((size_t)16 << 20)

typedef struct tb__tally_entry {
    uint64_t key;
    uint64_t count; /* 0: the slot is free */
    uint64_t bytes; /* exact where `missed` is 0, else at least so many */
    uint32_t at, len;
} tb__tally_entry;

typedef struct tb__tally {
    uint64_t seed, missed;
    tb__tally_entry *slot; /* a power of two of them, at most half used */
    size_t n_slots, n;
    char *text;
    size_t len, room;
    size_t max_values, max_bytes; /* tests make them small */
} tb__tally;

void tb__tally_init(tb__tally *tally); /* allocates nothing */
void tb__tally_release(tb__tally *tally);
/* Adds `count` occurrences, at least one, of a value of at most max_bytes, with so many bytes together. */
TB_MUST_USE tb_code tb__tally_add(tb__tally *tally, tb_text value, uint64_t count, uint64_t bytes, tb_error *err);
/* The most frequent values, at most `most`: by count, then by their text. Returns their number. */
size_t tb__tally_top(const tb__tally *tally, size_t most, const tb__tally_entry **ret_top);

static inline tb_text tb__tally_text(const tb__tally *tally, const tb__tally_entry *entry)
{
    return (tb_text){tally->text + entry->at, entry->len};
}

#endif
