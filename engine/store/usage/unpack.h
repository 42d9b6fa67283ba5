/* Packed columns back to counters: the inner loop of every answer. */
#ifndef TOLLBOOK_STORE_UNPACK_H
#define TOLLBOOK_STORE_UNPACK_H

#include <stdint.h>

/* Widths 0..57 and 64: a value at any bit offset 0..7 then lies within one 8-byte load. */
#define TB__WIDTH_MAX 57

/* out[i] = min + the i-th `width`-bit number of packed, i < n <= 32. Up to 8 bytes from the start
 * of the last number are read, so memory must extend that far. */
void tb__unpack(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out);

/* The portable form, for comparison in tests. */
void tb__unpack_portable(const uint8_t *packed, unsigned width, uint64_t min, unsigned n,
                         uint64_t *out);

#endif
