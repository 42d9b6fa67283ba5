/* A number is one unaligned 8-byte load, a shift and a mask. Where the processor has AVX-512 eight
 * of them are gathered at once, masked at the tail; the choice is made at the first call. */
#include "store/usage/unpack.h"

#include <string.h>

static uint64_t load64(const uint8_t *in)
{
    uint64_t v;
    memcpy(&v, in, 8);
    return v;
}

static uint64_t mask_of(unsigned width)
{
    return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

void tb__unpack_portable(const uint8_t *packed, unsigned width, uint64_t min, unsigned n,
                         uint64_t *out)
{
    uint64_t mask = mask_of(width);
    for (unsigned i = 0, bit = 0; i < n; i++, bit += width)
        out[i] = min + (load64(packed + (bit >> 3)) >> (bit & 7) & mask);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static void unpack_avx512(const uint8_t *packed, unsigned width,
                                                             uint64_t min, unsigned n,
                                                             uint64_t *out)
{
    const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i seven = _mm512_set1_epi64(7), base = _mm512_set1_epi64((long long)min);
    const __m512i mask = _mm512_set1_epi64((long long)mask_of(width));
    const __m512i step = _mm512_set1_epi64((long long)width * 8);
    __m512i bit = _mm512_mul_epu32(lanes, _mm512_set1_epi64(width));
    for (unsigned i = 0; i < n; i += 8) {
        __mmask8 live = (__mmask8)(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
        __m512i word = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), live,
                                                   _mm512_srli_epi64(bit, 3), packed, 1);
        word = _mm512_srlv_epi64(word, _mm512_and_si512(bit, seven));
        word = _mm512_add_epi64(_mm512_and_si512(word, mask), base);
        _mm512_mask_storeu_epi64(out + i, live, word);
        bit = _mm512_add_epi64(bit, step);
    }
}

static void choose(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out);

typedef void unpack_fn(const uint8_t *, unsigned, uint64_t, unsigned, uint64_t *);
static unpack_fn *chosen = choose;

/* Threads may choose at once: they choose the same. */
static void choose(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out)
{
    unpack_fn *fn = __builtin_cpu_supports("avx512f") ? unpack_avx512 : tb__unpack_portable;
    __atomic_store_n(&chosen, fn, __ATOMIC_RELAXED);
    fn(packed, width, min, n, out);
}

void tb__unpack(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out)
{
    __atomic_load_n(&chosen, __ATOMIC_RELAXED)(packed, width, min, n, out);
}

#else

void tb__unpack(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out)
{
    tb__unpack_portable(packed, width, min, n, out);
}

#endif
