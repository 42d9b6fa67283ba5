/* Addresses and request ids between text and bytes. An address is taken as bytes only where its text
 * is the one that the bytes print as, so that storing loses nothing. */
#include "logs/format.h"

#include <arpa/inet.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static bool prints_back(int family, const uint8_t *bytes, tb_text text)
{
    char back[INET6_ADDRSTRLEN];
    return inet_ntop(family, bytes, back, sizeof back) && strlen(back) == text.len &&
           memcmp(back, text.data, text.len) == 0;
}

/* --- IPv4: four numbers of 0 to 255 without leading zeros --- */

#if defined(__SSE2__)
/* The value of 1 to 3 digits, the last bytes of `last`; more than 255 where it is none. Without a branch,
 * for how many digits a number has cannot be foretold. */
static unsigned octet(uint32_t last, unsigned digits)
{
    static const uint32_t keep[] = {0, 0x0f000000, 0x0f0f0000, 0x0f0f0f00};
    static const unsigned least[] = {1000, 0, 10, 100}; /* of so many digits, without leading zeros */
    const unsigned n = digits < 4 ? digits : 0;
    last &= keep[n];
    const unsigned value = (last >> 24) + (last >> 16 & 15) * 10 + (last >> 8 & 15) * 100;
    return value | (unsigned)(value < least[n]) << 8;
}

static bool parse_v4(tb_text text, uint8_t out[16])
{
    const size_t len = text.len;
    uint64_t low, high = 0; /* the text, zeros behind it */
    if (len < 7 || len > 15) return false;
    if (len < 8) {
        uint32_t first, last;
        memcpy(&first, text.data, 4);
        memcpy(&last, text.data + len - 4, 4);
        low = first | (uint64_t)last << 8 * (len - 4);
    } else {
        memcpy(&low, text.data, 8);
        memcpy(&high, text.data + len - 8, 8);
        high = len > 8 ? high >> 8 * (16 - len) : 0;
    }
    const __m128i v = _mm_set_epi64x((long long)high, (long long)low);
    /* Kept in registers: a load across two recent stores would stall. */
    __extension__ const unsigned __int128 whole = (unsigned __int128)high << 64 | low;
    const __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8('0' - 1)),
                                        _mm_cmplt_epi8(v, _mm_set1_epi8('9' + 1)));
    const unsigned all = (1u << len) - 1, digits = (unsigned)_mm_movemask_epi8(digit) & all;
    unsigned dots = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('.'))) & all;
    if ((digits | dots) != all || __builtin_popcount(dots) != 3) return false;
    unsigned from = 0, wrong = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned end = i < 3 ? (unsigned)__builtin_ctz(dots) : (unsigned)len;
        /* The first two end within 8 bytes, the others behind 4; or one of them is wrong anyway. */
        const uint32_t last = i < 2 ? (uint32_t)(low << (64 - 8 * end) % 64 >> 32)
                                    : (uint32_t)(whole >> 8 * (end > 4 ? end - 4 : 0));
        const unsigned value = octet(last, end - from);
        wrong |= value;
        out[i] = (uint8_t)value;
        from = end + 1;
        dots &= dots - 1;
    }
    return wrong < 256;
}
#else
static bool parse_v4(tb_text text, uint8_t out[16])
{
    const char *p = text.data, *end = p + text.len;
    for (int i = 0; i < 4; i++) {
        unsigned value = 0, digits = 0;
        while (p < end && (unsigned char)(*p - '0') < 10 && digits < 4) {
            value = value * 10 + (unsigned)(*p++ - '0');
            digits++;
        }
        if (digits < 1 || digits > 3 || value > 255) return false;
        if (digits > 1 && p[-(int)digits] == '0') return false;
        if (i < 3 ? p == end || *p++ != '.' : p != end) return false;
        out[i] = (uint8_t)value;
    }
    return true;
}
#endif

/* --- IPv6 --- */

#define NO_GAP 9

/* Groups of lower-case hex digits without leading zeros, and the position of "::" among them, or NO_GAP.
 * Returns how many; 0: the text is not of these alone. */
static unsigned read_groups(tb_text text, uint16_t group[8], unsigned *ret_gap)
{
    const char *p = text.data, *end = p + text.len;
    unsigned n = 0;
    *ret_gap = NO_GAP;
    if (text.len >= 2 && p[0] == ':' && p[1] == ':') {
        *ret_gap = 0;
        p += 2;
    }
    while (p < end && n < 8) {
        const char *from = p;
        unsigned value = 0;
        for (; p < end && p - from < 4; p++) {
            const unsigned digit = (unsigned char)*p - '0' * 1u;
            const unsigned letter = (unsigned char)*p - 'a' * 1u;
            if (digit > 9 && letter > 5) break;
            value = value << 4 | (digit <= 9 ? digit : letter + 10);
        }
        if (p == from || (*from == '0' && p - from > 1)) return 0;
        group[n++] = (uint16_t)value;
        if (p == end) return n;
        if (*p++ != ':') return 0;
        if (p < end && *p == ':') {
            if (*ret_gap != NO_GAP) return 0;
            *ret_gap = n;
            p++;
        } else if (p == end) {
            return 0;
        }
    }
    return p == end ? n : 0;
}

/* The usual printed form: the gap replaces the first of the longest runs of zeros, of two or more. False: the general
 * function must parse it. */
static bool parse_v6(tb_text text, uint8_t out[16])
{
    uint16_t group[8], whole[8];
    unsigned gap, run = 0, best = 1, best_at = NO_GAP;
    const unsigned n = read_groups(text, group, &gap);
    if (n == 0 || (gap == NO_GAP) != (n == 8)) return false;
    for (unsigned i = 0; i < 8; i++)
        whole[i] = i < gap ? group[i] : i < gap + 8 - n ? 0 : group[i - (8 - n)];
    for (unsigned i = 0; i < 8; i++) {
        run = whole[i] ? 0 : run + 1;
        if (run <= best) continue;
        best = run;
        best_at = i + 1 - run;
    }
    /* Five zeros first: the end may have to be printed as an IPv4 address. */
    if (best_at != gap || (gap != NO_GAP && best != 8 - n) || (gap == 0 && best > 4)) return false;
    for (unsigned i = 0; i < 8; i++) {
        out[2 * i] = (uint8_t)(whole[i] >> 8);
        out[2 * i + 1] = (uint8_t)whole[i];
    }
    return true;
}

unsigned tb__log_ip_parse(tb_text text, uint8_t out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || text.len < 2) return 0;
    if (parse_v4(text, out)) return 4;
    if (parse_v6(text, out)) return 6;
    if (!memchr(text.data, ':', text.len)) return 0;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    if (inet_pton(AF_INET6, copy, out) == 1 && prints_back(AF_INET6, out, text)) return 6;
    return 0;
}

unsigned tb__log_ip_read(tb_text text, uint8_t out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || text.len < 2) return 0;
    if (parse_v4(text, out)) return 4;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    return inet_pton(AF_INET6, copy, out) == 1 ? 6 : 0;
}

unsigned tb_log_ip_bits(tb_log_privacy privacy, uint8_t ip[16], unsigned *family)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, nat64[12] = {0, 0x64, 0xff, 0x9b};
    static const uint8_t six_to_four[2] = {0x20, 0x02};
    if (*family == 6 && memcmp(ip, mapped, sizeof mapped) == 0) {
        memmove(ip, ip + 12, 4);
        *family = 4;
    }
    if (privacy == TB_LOG_IP_NONE) return 0;
    if (privacy == TB_LOG_IP_WHOLE) return *family == 4 ? 32 : 128;
    if (*family == 4) return 24;
    if (memcmp(ip, nat64, sizeof nat64) == 0) return 96 + 24;
    return memcmp(ip, six_to_four, sizeof six_to_four) == 0 ? 16 + 24 : 64;
}

/* --- ids --- */

#if defined(__SSE2__)
/* 16 hex digits as 8 bytes, at the even positions; *all becomes false for another character. */
static __m128i hex_pairs(const char *text, unsigned *all)
{
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)text);
    const __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));
    const __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8('0' - 1)),
                                        _mm_cmplt_epi8(v, _mm_set1_epi8('9' + 1)));
    const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(low, _mm_set1_epi8('a' - 1)),
                                         _mm_cmplt_epi8(low, _mm_set1_epi8('f' + 1)));
    *all &= (unsigned)_mm_movemask_epi8(_mm_or_si128(digit, letter));
    const __m128i nibble = _mm_add_epi8(_mm_and_si128(v, _mm_set1_epi8(15)),
                                        _mm_and_si128(letter, _mm_set1_epi8(9)));
    return _mm_and_si128(_mm_or_si128(_mm_slli_epi16(nibble, 4), _mm_srli_epi16(nibble, 8)),
                         _mm_set1_epi16(0xff));
}

static bool parse_hex(const char *text, uint8_t out[16])
{
    unsigned all = 0xffff;
    const __m128i first = hex_pairs(text, &all), second = hex_pairs(text + 16, &all);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_packus_epi16(first, second));
    return all == 0xffff;
}
#else
static const uint8_t hex[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
    ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
    ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f, ['A'] = 0x1a, ['B'] = 0x1b,
    ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f,
};

static bool parse_hex(const char *text, uint8_t out[16])
{
    unsigned all = 0x10;
    for (int i = 0; i < 16; i++) {
        const unsigned high = hex[(unsigned char)text[2 * i]];
        const unsigned low = hex[(unsigned char)text[2 * i + 1]];
        all &= high & low;
        out[i] = (uint8_t)(high << 4 | (low & 15));
    }
    return all != 0;
}
#endif

bool tb_log_id_parse(tb_text text, uint8_t out[16])
{
    static const uint8_t parts[] = {8, 4, 4, 4, 12};
    char plain[32];
    if (text.len == 32) return parse_hex(text.data, out);
    if (text.len != 36) return false;
    size_t from = 0, to = 0;
    for (size_t i = 0; i < sizeof parts; i++) {
        if (i && text.data[from++] != '-') return false;
        memcpy(plain + to, text.data + from, parts[i]);
        from += parts[i];
        to += parts[i];
    }
    return parse_hex(plain, out);
}
