/* Countries: what one pull zone answered in one day, by country, packed into the bytes of one row.
 *
 * Layout: for each country, ascending by code: code:u16 little-endian, requests:LEB128,
 * bytes:LEB128; at the end checksum:u32 over all before it and the row's key (the seed). A code is
 * first letter << 8 | second letter, A to Z, so a list never has more than 26 x 26 entries. */
#ifndef TOLLBOOK_STORE_COUNTRY_H
#define TOLLBOOK_STORE_COUNTRY_H

#include "tollbook/error.h"

typedef struct tb__country {
    uint16_t code;
    uint64_t requests, bytes; /* at most TB_COUNTER_MAX */
} tb__country;

#define TB__COUNTRY_MAX 676
/* A counter takes at most 9 bytes. */
#define TB__COUNTRY_ROW_MAX (TB__COUNTRY_MAX * (2 + 9 + 9) + 4)

/* The seed of a row's checksum: a row under a wrong key is an error, never an answer. */
static inline int64_t tb__country_seed(int64_t zone, int64_t day)
{
    return (int64_t)((uint64_t)zone * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)day);
}

/* list ascends by code, n is at most TB__COUNTRY_MAX. Returns the bytes written to out
 * (TB__COUNTRY_ROW_MAX at most). */
size_t tb__country_encode(const tb__country *list, size_t n, int64_t seed, uint8_t *out);

/* list has room for TB__COUNTRY_MAX. TB_E_CORRUPT: the bytes were not encoded with this seed. */
TB_MUST_USE tb_code tb__country_decode(const uint8_t *data, size_t len, int64_t seed,
                                       tb__country *list, size_t *ret_n, tb_error *err);

/* out = a and b together; out has room for TB__COUNTRY_MAX and is neither of them.
 * TB_E_OVERFLOW leaves out undefined. */
TB_MUST_USE tb_code tb__country_merge(const tb__country *a, size_t n_a, const tb__country *b,
                                      size_t n_b, tb__country *out, size_t *ret_n, tb_error *err);

#endif
