/* Searches for one character in short texts, in line: most columns end within sixteen bytes, which costs less
 * than a call. Loads run over the end by less than TB_INTAKE_SLACK. */
#ifndef TB__INTAKE_FIND_H
#define TB__INTAKE_FIND_H

#include "intake/chars.h"

#if defined(__SSE2__)
#include <emmintrin.h>

TB__INLINE unsigned tb__equal16(const char *p, char c)
{
    const __m128i here = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, _mm_set1_epi8(c)));
}

/* Quotes, brackets and braces of 16 bytes. A bracket is a brace but for one bit. */
TB__INLINE unsigned tb__nesting16(const char *p)
{
    const __m128i here = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i brace = _mm_or_si128(here, _mm_set1_epi8(0x20));
    const __m128i open = _mm_cmpeq_epi8(brace, _mm_set1_epi8('{'));
    const __m128i close = _mm_cmpeq_epi8(brace, _mm_set1_epi8('}'));
    const __m128i quote = _mm_cmpeq_epi8(here, _mm_set1_epi8('"'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(quote, _mm_or_si128(open, close)));
}
#else
TB__INLINE unsigned tb__equal16(const char *p, char c)
{
    unsigned set = 0;
    for (unsigned i = 0; i < 16; i++)
        set |= (unsigned)(p[i] == c) << i;
    return set;
}

TB__INLINE unsigned tb__nesting16(const char *p)
{
    unsigned set = 0;
    for (unsigned i = 0; i < 16; i++)
        set |= (unsigned)(p[i] == '"' || (p[i] | 0x20) == '{' || (p[i] | 0x20) == '}') << i;
    return set;
}
#endif

/* Whether len bytes are the same; both may be read sixteen bytes on. */
TB__INLINE bool tb__same(const char *a, const char *b, size_t len)
{
    for (; len >= 16; a += 16, b += 16, len -= 16)
        if (memcmp(a, b, 16) != 0) return false;
    if (len >= 8) {
        if (tb__load64(a) != tb__load64(b)) return false;
        a += 8, b += 8, len -= 8;
    }
    return len == 0 || (tb__load64(a) ^ tb__load64(b)) << (64 - 8 * len) == 0;
}

/* The first c in [from, end); NULL: there is none. */
TB__INLINE const char *tb__find(const char *from, const char *end, char c)
{
    for (const char *p = from; p < end; p += 16) {
        const unsigned set = tb__equal16(p, c);
        if (__builtin_expect(set != 0, 1)) {
            p += __builtin_ctz(set);
            return p < end ? p : NULL;
        }
    }
    return NULL;
}

/* The next quote, brace or bracket. */
TB__INLINE const char *tb__find_nesting(const char *from, const char *end)
{
    for (const char *p = from; p < end; p += 16) {
        const unsigned set = tb__nesting16(p);
        if (set) {
            p += __builtin_ctz(set);
            return p < end ? p : NULL;
        }
    }
    return NULL;
}

#endif
