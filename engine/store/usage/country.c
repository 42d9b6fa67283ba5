/* Packing countries: a byte-wise list, because a row is read whole and seldom, and most counters of
 * most countries are small. The reader accepts exactly what the writer writes: codes ascend, no
 * counter passes the limit, nothing is left over. */
#include "store/usage/country.h"

#include "base/hash.h"
#include "tollbook/metrics.h"

#include <string.h>

#define CHECKSUM 4

static uint32_t checksum(const uint8_t *data, size_t len, int64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(data, len, (uint64_t)seed);
}

static uint8_t *put_counter(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

size_t tb__country_encode(const tb__country *list, size_t n, int64_t seed, uint8_t *out)
{
    uint8_t *p = out;
    for (size_t i = 0; i < n; i++) {
        *p++ = (uint8_t)list[i].code;
        *p++ = (uint8_t)(list[i].code >> 8);
        p = put_counter(p, list[i].requests);
        p = put_counter(p, list[i].bytes);
    }
    uint32_t sum = checksum(out, (size_t)(p - out), seed);
    memcpy(p, &sum, CHECKSUM);
    return (size_t)(p - out) + CHECKSUM;
}

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static bool letters(uint16_t code)
{
    unsigned first = code >> 8, second = code & 0xff;
    return first >= 'A' && first <= 'Z' && second >= 'A' && second <= 'Z';
}

static bool take_code(cursor *c, uint16_t *ret_code)
{
    if (c->end - c->at < 2) return false;
    *ret_code = (uint16_t)(c->at[0] | c->at[1] << 8);
    c->at += 2;
    return letters(*ret_code);
}

/* A counter ends within 9 bytes: more would pass 63 bits. */
static bool take_counter(cursor *c, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static tb_code corrupt(tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "country_day",
                   "A zone's countries of a day are damaged; restore a backup and ingest again.");
}

tb_code tb__country_decode(const uint8_t *data, size_t len, int64_t seed, tb__country *list,
                           size_t *ret_n, tb_error *err)
{
    uint32_t sum;
    if (!data || len < CHECKSUM) return corrupt(err);
    memcpy(&sum, data + len - CHECKSUM, CHECKSUM);
    if (sum != checksum(data, len - CHECKSUM, seed)) return corrupt(err);
    cursor c = {data, data + len - CHECKSUM};
    size_t n = 0;
    for (; c.at < c.end; n++) {
        if (n == TB__COUNTRY_MAX || !take_code(&c, &list[n].code) ||
            (n > 0 && list[n].code <= list[n - 1].code) || !take_counter(&c, &list[n].requests) ||
            !take_counter(&c, &list[n].bytes))
            return corrupt(err);
    }
    *ret_n = n;
    return TB_OK;
}

/* Neither counter passes the limit, so their sum fits 64 bits. */
static bool add(tb__country *to, const tb__country *more)
{
    to->requests += more->requests;
    to->bytes += more->bytes;
    return to->requests <= TB_COUNTER_MAX && to->bytes <= TB_COUNTER_MAX;
}

tb_code tb__country_merge(const tb__country *a, size_t n_a, const tb__country *b, size_t n_b,
                          tb__country *out, size_t *ret_n, tb_error *err)
{
    size_t n = 0;
    for (size_t i = 0, j = 0; i < n_a || j < n_b; n++) {
        bool from_a = j == n_b || (i < n_a && a[i].code <= b[j].code);
        bool from_b = i == n_a || (j < n_b && b[j].code <= a[i].code);
        out[n] = from_a ? a[i] : b[j];
        if (from_a && from_b && !add(&out[n], &b[j]))
            return tb_fail(err, TB_E_OVERFLOW, "countries",
                           "A country's counter would pass 2^63 - 1.");
        i += from_a;
        j += from_b;
    }
    *ret_n = n;
    return TB_OK;
}
