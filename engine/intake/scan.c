/* The pipe format at memory speed.
 *
 * Input is taken in windows that fit the first-level cache. A vector pass marks the window: the
 * positions of all pipes in one list, of all line ends in another, and whether there is a NUL. With
 * both lists a line has its twelve columns exactly when its eleventh pipe lies before its end and
 * the twelfth after it, and every column that counts is then read at a known place, without a loop:
 * numbers eight digits at a time, the cache status as one word.
 *
 * A line that is not plain (an unusual length, a wrong byte, anything at all) goes to tb__pipe_read, which
 * decides. So does a line of fifteen columns with a last but one column as long as a request id, or without
 * body bytes: it may be a line of twelve columns with three pipes of a client. A line that crosses the
 * window's end begins the next window; one longer than a window goes to tb__pipe_read too.
 *
 * The pass is written three times (AVX-512, AVX2, plain 64-bit words) and all that follows once;
 * each unit gets its own copy of the whole, compiled for it. */
#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Positions fit 16 bits and the lists the second-level cache. Loads and list writes run over by at
 * most 64 entries; PIPES_AHEAD guards the look at pipes that are not there. */
enum { WINDOW = 16384, OVERRUN = 64, PIPES_AHEAD = 16 };

typedef struct marks {
    uint32_t n_pipes, n_ends;
    bool nul;
    uint16_t pipes[WINDOW + OVERRUN + PIPES_AHEAD];
    uint16_t ends[WINDOW + OVERRUN + PIPES_AHEAD];
} marks;

/* The bytes of 64 that are pipes, line ends and NULs, as bits. */
typedef struct bits {
    uint64_t pipes, ends, nuls;
} bits;

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* One bit for each zero byte of x. Exact: no carry runs between bytes. */
TB__INLINE uint64_t zero_bytes(uint64_t x)
{
    const uint64_t low = EACH(0x7f);
    const uint64_t high = ~(((x & low) + low) | x | low);
    return ((high >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

TB__INLINE bits bits_portable(const char *p)
{
    bits b = {0, 0, 0};
    for (unsigned i = 0; i < 8; i++) {
        const uint64_t word = tb__load64(p + 8 * i);
        b.pipes |= zero_bytes(word ^ EACH('|')) << 8 * i;
        b.ends |= zero_bytes(word ^ EACH('\n')) << 8 * i;
        b.nuls |= zero_bytes(word) << 8 * i;
    }
    return b;
}

/* Appends the positions of the set bits. Eight are written whether they are there or not: that is
 * cheaper than asking. */
TB__INLINE void list_add(uint16_t *list, uint32_t *n, uint64_t set, uint32_t base)
{
    uint16_t *at = list + *n;
    const unsigned count = (unsigned)__builtin_popcountll(set);
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (uint16_t)(base + (unsigned)__builtin_ctzll(set | (UINT64_C(1) << 63)));
        set &= set - 1;
    }
    for (unsigned i = 8; i < count; i++) {
        at[i] = (uint16_t)(base + (unsigned)__builtin_ctzll(set));
        set &= set - 1;
    }
    *n += count;
}

/* The same for line ends, of which 64 bytes seldom hold two. */
TB__INLINE void list_add_few(uint16_t *list, uint32_t *n, uint64_t set, uint32_t base)
{
    uint16_t *at = list + *n;
    const unsigned count = (unsigned)__builtin_popcountll(set);
    at[0] = (uint16_t)(base + (unsigned)__builtin_ctzll(set | (UINT64_C(1) << 63)));
    for (unsigned i = 1; __builtin_expect(i < count, 0); i++) {
        set &= set - 1;
        at[i] = (uint16_t)(base + (unsigned)__builtin_ctzll(set));
    }
    *n += count;
}

/* The bits of the last, partial block: bytes past the window's end do not count. */
TB__INLINE uint64_t inside(uint32_t left)
{
    return left < 64 ? (UINT64_C(1) << left) - 1 : ~UINT64_C(0);
}

TB__INLINE void mark_portable(const char *p, uint32_t len, marks *m)
{
    uint64_t nuls = 0;
    for (uint32_t at = 0; at < len; at += 64) {
        const bits b = bits_portable(p + at);
        const uint64_t in = inside(len - at);
        list_add(m->pipes, &m->n_pipes, b.pipes & in, at);
        list_add_few(m->ends, &m->n_ends, b.ends & in, at);
        nuls |= b.nuls & in;
    }
    m->nul = nuls != 0;
}

#if defined(__x86_64__)
#define ON_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define ON_AVX512                                                                                  \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")))

ON_AVX2 static inline uint64_t equal_avx2(__m256i low, __m256i high, char c)
{
    const __m256i each = _mm256_set1_epi8(c);
    const uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, each));
    const uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, each));
    return a | (uint64_t)b << 32;
}

ON_AVX2 static inline void mark_avx2(const char *p, uint32_t len, marks *m)
{
    uint64_t nuls = 0;
    for (uint32_t at = 0; at < len; at += 64) {
        const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(p + at));
        const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + at + 32));
        const uint64_t in = inside(len - at);
        list_add(m->pipes, &m->n_pipes, equal_avx2(low, high, '|') & in, at);
        list_add_few(m->ends, &m->n_ends, equal_avx2(low, high, '\n') & in, at);
        nuls |= equal_avx2(low, high, 0) & in;
    }
    m->nul = nuls != 0;
}

/* Up to 32 positions at once: the numbers 0..63 are compressed by the mask and widened. */
ON_AVX512 static inline void list_add_avx512(uint16_t *list, uint32_t *n, uint64_t set,
                                             __m512i iota, uint32_t base)
{
    const __m512i packed = _mm512_maskz_compress_epi8(set, iota);
    const __m512i from = _mm512_set1_epi16((short)base);
    const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed));
    _mm512_storeu_si512(list + *n, _mm512_add_epi16(low, from));
    const unsigned count = (unsigned)__builtin_popcountll(set);
    if (__builtin_expect(count > 32, 0)) {
        const __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(packed, 1));
        _mm512_storeu_si512(list + *n + 32, _mm512_add_epi16(high, from));
    }
    *n += count;
}

ON_AVX512 static inline void mark_avx512(const char *p, uint32_t len, marks *m)
{
    static const uint8_t numbers[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i iota = _mm512_loadu_si512(numbers);
    const __m512i pipe = _mm512_set1_epi8('|'), end = _mm512_set1_epi8('\n');
    uint64_t nuls = 0;
    for (uint32_t at = 0; at < len; at += 64) {
        const __m512i v = _mm512_loadu_si512(p + at);
        const uint64_t in = inside(len - at);
        list_add_avx512(m->pipes, &m->n_pipes, _mm512_cmpeq_epi8_mask(v, pipe) & in, iota, at);
        list_add_few(m->ends, &m->n_ends, _mm512_cmpeq_epi8_mask(v, end) & in, at);
        nuls |= _mm512_testn_epi8_mask(v, v) & in;
    }
    m->nul = nuls != 0;
}
#endif

#define WORD(a, b, c, d, e, f, g, h)                                                               \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)

/* The usual cache tokens; false for all others. */
TB__INLINE bool plain_cache(const char *p, unsigned len, tb_hit *hit)
{
    if (__builtin_expect(len - 1 >= 8, 0)) {
        hit->cache = TB_CACHE_REVALIDATED;
        return len == 11 && memcmp(p, "REVALIDATED", 11) == 0;
    }
    const uint64_t word = tb__load64(p) & (~UINT64_C(0) >> (64 - 8 * len));
    hit->cache = TB_CACHE_SERVED;
    if (word == WORD('H', 'I', 'T', 0, 0, 0, 0, 0)) return true;
    if (word == WORD('S', 'T', 'A', 'L', 'E', 0, 0, 0)) return true;
    if (word == WORD('U', 'P', 'D', 'A', 'T', 'I', 'N', 'G')) return true;
    hit->cache = TB_CACHE_OTHER;
    return word == WORD('M', 'I', 'S', 'S', 0, 0, 0, 0) ||
           word == WORD('B', 'Y', 'P', 'A', 'S', 'S', 0, 0) ||
           word == WORD('E', 'X', 'P', 'I', 'R', 'E', 'D', 0) ||
           word == WORD('-', 0, 0, 0, 0, 0, 0, 0);
}

/* A number of 1 to 16 digits before end, of which 16 bytes are readable. */
TB__INLINE bool plain_number(const char *end, unsigned len, uint64_t *ret)
{
    if (__builtin_expect(len - 1 >= 8, 0)) {
        if (len - 1 >= 16) return false;
        const uint64_t low = tb__digits_before(end, 8);
        const uint64_t high = tb__digits_before(end - 8, len - 8);
        *ret = tb__digits_value(high) * 100000000 + tb__digits_value(low);
        return (tb__digits_wrong(low) | tb__digits_wrong(high)) == 0;
    }
    const uint64_t digits = tb__digits_before(end, len);
    *ret = tb__digits_value(digits);
    return tb__digits_wrong(digits) == 0;
}

typedef struct clock_window {
    uint64_t oldest, span; /* a time is good where time - oldest <= span */
} clock_window;

/* The thirteen digits that every time from 2001 to 2286 has. */
TB__INLINE bool plain_time(const char *end, const clock_window *window, tb_hit *hit)
{
    const uint64_t low = tb__digits_before(end, 8), high = tb__digits_before(end - 8, 5);
    const uint64_t time_ms = tb__digits_value(high) * 100000000 + tb__digits_value(low);
    tb__hit_time(hit, time_ms);
    return (tb__digits_wrong(low) | tb__digits_wrong(high)) == 0 &&
           time_ms - window->oldest <= window->span;
}

TB__INLINE bool plain_status(const char *p, tb_hit *hit)
{
    const unsigned a = (unsigned char)p[0] - '0' * 1u, b = (unsigned char)p[1] - '0' * 1u;
    const unsigned c = (unsigned char)p[2] - '0' * 1u;
    hit->status = (uint16_t)(a * 100 + b * 10 + c);
    return a - 1 < 5 && b < 10 && c < 10;
}

TB__INLINE bool plain_edge(const char *p, unsigned len, tb_hit *hit)
{
    hit->edge = p;
    hit->edge_len = (uint8_t)len;
    unsigned all = TB__CHAR_EDGE;
    if (__builtin_expect(len == 2, 1)) {
        all &= tb__char_class[(unsigned char)p[0]] & tb__char_class[(unsigned char)p[1]];
        return all;
    }
    if (len - 1 >= TB_EDGE_MAX) return false;
    for (unsigned i = 0; i < len; i++)
        all &= tb__char_class[(unsigned char)p[i]];
    return all;
}

TB__INLINE bool plain_country(const char *p, unsigned len, tb_hit *hit)
{
    if (__builtin_expect(len == 2, 1)) {
        const unsigned a = p[0] & 0xdf, b = p[1] & 0xdf;
        hit->country = (uint16_t)(a << 8 | b);
        return a - 'A' < 26 && b - 'A' < 26;
    }
    hit->country = 0;
    return len == 0 || (len == 1 && *p == '-');
}

/* 32 digits, or those of a UUID. */
TB__INLINE bool id_long(unsigned len)
{
    return len == 32 || len == 36;
}

/* Reads the line from `start` to `end` with its pipes at p; *ret_pipes is set to their number.
 * False where it is not plain: then *hit is undefined. */
TB__INLINE bool plain_line(const char *base, unsigned start, unsigned end, const uint16_t *p,
                           const clock_window *window, tb_hit *hit, unsigned *ret_pipes)
{
    unsigned country_end = end - (base[end - (end > start)] == '\r');
    *ret_pipes = 11;
    if (__builtin_expect(p[11] < end, 0)) {
        if (p[13] >= end || p[14] < end) return false;
        if (id_long(p[13] - p[12] - 1u) || !tb__digit(base[p[11] + 1])) return false;
        *ret_pipes = 14;
        country_end = p[11];
    } else if (p[10] >= end) {
        return false;
    }
    if (p[1] - p[0] != 4 || p[2] - p[1] != 14) return false;
    uint64_t zone;
    if (!plain_cache(base + start, p[0] - start, hit)) return false;
    if (!plain_status(base + p[0] + 1, hit) || !plain_time(base + p[2], window, hit) ||
        !plain_number(base + p[3], p[3] - p[2] - 1u, &hit->bytes) ||
        !plain_number(base + p[4], p[4] - p[3] - 1u, &zone) ||
        !plain_edge(base + p[7] + 1, p[8] - p[7] - 1u, hit) ||
        !plain_country(base + p[10] + 1, country_end - p[10] - 1u, hit))
        return false;
    hit->zone = (int64_t)zone;
    return hit->bytes <= TB_HIT_BYTES_MAX && zone != 0;
}

/* The same for who keeps lines: `end` is where the line does, less its CR. */
TB__INLINE void note_span(tb_span *span, const char *base, unsigned start, unsigned end,
                          const uint16_t *p, unsigned pipes)
{
    span->line = base + start;
    span->len = end - start - (base[end - 1] == '\r');
    span->pipes = (uint16_t)pipes;
    for (unsigned i = 0; i < TB_SPAN_PIPES; i++) /* those of the next line mean nothing */
        span->at[i] = (uint16_t)(p[i] - start);
}

/* Reads the window's whole lines and returns the bytes they take. */
TB__INLINE size_t take_lines(const tb_log_layout *layout, const char *base, const marks *m,
                             const clock_window *window, tb_intake *out)
{
    const uint16_t *pipe = m->pipes;
    unsigned start = 0;
    for (uint32_t i = 0; i < m->n_ends && out->n_hits + out->n_rejects < out->room; i++) {
        const unsigned end = m->ends[i];
        unsigned pipes;
        if (__builtin_expect(
                plain_line(base, start, end, pipe, window, &out->hits[out->n_hits], &pipes) &&
                    !m->nul,
                1)) {
            if (out->spans)
                note_span(&out->spans[out->n_hits], base, start, end, pipe, pipes);
            out->n_hits++;
            pipe += pipes;
        } else {
            tb__line_take(layout, base + start, tb__line_len(base + start, base + end), out);
            while (*pipe < end)
                pipe++;
        }
        start = end + 1;
    }
    return start;
}

/* Ends the lists: an unterminated last line ends with the input, and missing pipes are after all positions. */
TB__INLINE void marks_finish(marks *m, const char *p, uint32_t len, bool last)
{
    if (last && p[len - 1] != '\n') m->ends[m->n_ends++] = (uint16_t)len;
    for (unsigned i = 0; i < PIPES_AHEAD; i++)
        m->pipes[m->n_pipes + i] = UINT16_MAX;
}

/* Takes one line longer than a window; returns its length with its end. */
static size_t take_long(const tb_log_layout *layout, const char *p, size_t len, tb_intake *out)
{
    const char *newline = memchr(p, '\n', len);
    const char *end = newline ? newline : p + len;
    tb__line_take(layout, p, tb__line_len(p, end), out);
    return (size_t)(end - p) + (newline != NULL);
}

static clock_window clock_window_of(int64_t now_ms)
{
    int64_t newest;
    if (__builtin_add_overflow(now_ms, TB_AHEAD_MS, &newest)) newest = INT64_MAX;
    /* A clock before 2015 accepts nothing: plain_line then must not accept either. The span 0
     * would let one millisecond through, so the window starts where no time can be. */
    if (newest < TB_OLDEST_MS) return (clock_window){UINT64_MAX, 0};
    return (clock_window){TB_OLDEST_MS, (uint64_t)(newest - TB_OLDEST_MS)};
}

typedef void mark_fn(const char *p, uint32_t len, marks *m);

TB__INLINE size_t scan(mark_fn *mark, const tb_log_layout *layout, const char *bytes, size_t len,
                       tb_intake *out)
{
    const clock_window window = clock_window_of(layout->now_ms);
    marks m;
    size_t at = 0;
    while (at < len && out->n_hits + out->n_rejects < out->room) {
        const uint32_t size = len - at < WINDOW ? (uint32_t)(len - at) : WINDOW;
        m.n_pipes = m.n_ends = 0;
        mark(bytes + at, size, &m);
        marks_finish(&m, bytes + at, size, at + size == len);
        if (m.n_ends > 0)
            at += take_lines(layout, bytes + at, &m, &window, out);
        else
            at += take_long(layout, bytes + at, len - at, out);
    }
    return at < len ? at : len;
}

static size_t scan_portable(const tb_log_layout *layout, const char *bytes, size_t len,
                            tb_intake *out)
{
    return scan(mark_portable, layout, bytes, len, out);
}

#if defined(__x86_64__)
ON_AVX2 static size_t scan_avx2(const tb_log_layout *layout, const char *bytes, size_t len,
                                tb_intake *out)
{
    return scan(mark_avx2, layout, bytes, len, out);
}

ON_AVX512 static size_t scan_avx512(const tb_log_layout *layout, const char *bytes, size_t len,
                                    tb_intake *out)
{
    return scan(mark_avx512, layout, bytes, len, out);
}

bool tb__unit_here(tb__unit unit)
{
    switch (unit) {
    case TB__UNIT_PORTABLE: return true;
    case TB__UNIT_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    case TB__UNIT_AVX512:
        return tb__unit_here(TB__UNIT_AVX2) && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
    default: return false;
    }
}
#else
bool tb__unit_here(tb__unit unit)
{
    return unit == TB__UNIT_PORTABLE;
}
#endif

size_t tb__pipe_scan(tb__unit unit, const tb_log_layout *layout, const char *bytes, size_t len,
                     tb_intake *out)
{
#if defined(__x86_64__)
    if (unit == TB__UNIT_AVX512) return scan_avx512(layout, bytes, len, out);
    if (unit == TB__UNIT_AVX2) return scan_avx2(layout, bytes, len, out);
#endif
    (void)unit;
    return scan_portable(layout, bytes, len, out);
}
