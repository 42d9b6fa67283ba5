/* A number is one unaligned 8-byte load, a shift and a mask. Where the processor has AVX-512 and can choose bytes by it
 * eight of them are done at once, masked at the tail; the choice is made at the first call. */
#include "store/usage/unpack.h"

#include <stdbool.h>
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

/* Eight numbers of `width` bits are `width` bytes: these are loaded at once, and each lane takes the eight bytes that
 * its number begins in. What is not there is not read. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static void
unpack_vbmi(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out)
{
    const __m512i bit = _mm512_mul_epu32(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(width));
    const __m512i first = _mm512_multishift_epi64_epi8(_mm512_setzero_si512(), _mm512_srli_epi64(bit, 3));
    const __m512i place = _mm512_add_epi8(first, _mm512_set1_epi64(0x0706050403020100));
    const __m512i shift = _mm512_and_si512(bit, _mm512_set1_epi64(7));
    const __m512i mask = _mm512_set1_epi64((long long)mask_of(width)), base = _mm512_set1_epi64((long long)min);
    for (unsigned i = 0; i < n; i += 8, packed += width) {
        const unsigned left = n - i < 8 ? n - i : 8, bytes = (left * width + 7) / 8;
        const __mmask64 there = bytes ? UINT64_MAX >> (64 - bytes) : 0;
        __m512i word = _mm512_permutexvar_epi8(place, _mm512_maskz_loadu_epi8(there, packed));
        word = _mm512_and_si512(_mm512_srlv_epi64(word, shift), mask);
        _mm512_mask_storeu_epi64(out + i, (__mmask8)((1u << left) - 1), _mm512_add_epi64(word, base));
    }
}

static void choose(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out);

typedef void unpack_fn(const uint8_t *, unsigned, uint64_t, unsigned, uint64_t *);
static unpack_fn *chosen = choose;

/* Threads may choose at once: they choose the same. */
static void choose(const uint8_t *packed, unsigned width, uint64_t min, unsigned n, uint64_t *out)
{
    const bool has = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw");
    unpack_fn *fn = has ? unpack_vbmi : tb__unpack_portable;
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
