/* The bytes of a block, little-endian, for its writer and its reader.
 *
 *   mark:u32 lines:u32 first_ms:i64 last_ms:i64  {plain:u32 stored:u32 codes:u32} for each column
 *   The mark says which columns there are: those up to AUTHORIZATION, or all. A block without a value in the others
 *   has the short header.
 *   for each column its stored bytes, and its codes, which are never compressed
 *   checksum:u64  XXH3-64 over all before it, seeded with the zone
 *
 * A column is zstd where stored < plain, uncompressed where they are equal, and absent (empty in all rows) where both
 * are 0. Plain bytes by the column's kind:
 *
 *   TIME    LEB128 difference to the row before; the first to first_ms
 *   NUMBER  width:u8, the value + 1 of each row in so many bits, low bits first; 0: absent. Width is
 *           at most 57, or 64
 *   TEXT    form:u8 entries:u32 lengths:u32, LEB128 lengths, the entries' text. form 0: one entry a
 *           row, no codes. 1: a dictionary; a row's code is its entry's number, in as many bits as
 *           the greatest needs, low bits first
 *   BINARY  width:u8, or MIXED and a width for each row: 0 absent, 4, 16, or TEXT_WIDTH; then the
 *           4-byte values in four planes, the 16-byte ones, and for texts LEB128 lengths and text */
#ifndef TB__LOGS_FORMAT_H
#define TB__LOGS_FORMAT_H

#include "tollbook/requestlog.h"

#include <string.h>

#define TB__LOG_MARK      UINT32_C(0x314c4254) /* "TBL1" */
#define TB__LOG_MARK_MORE UINT32_C(0x324c4254) /* "TBL2": with the columns after AUTHORIZATION */

/* X(NAME, kind, member of tb_logline) */
#define TB__LOG_COLUMNS(X)                                                                         \
    X(TIME, TIME, time_ms)                                                                         \
    X(BYTES, NUMBER, bytes)                                                                        \
    X(CACHE, TEXT, cache)                                                                          \
    X(STATUS, TEXT, status)                                                                        \
    X(IP, BINARY, ip)                                                                              \
    X(REFERER, TEXT, referer)                                                                      \
    X(ORIGIN, TEXT, origin)                                                                        \
    X(PATH, TEXT, path)                                                                            \
    X(EDGE, TEXT, edge)                                                                            \
    X(AGENT, TEXT, agent)                                                                          \
    X(ID, BINARY, id)                                                                              \
    X(COUNTRY, TEXT, country)                                                                      \
    X(BODY, NUMBER, body_bytes)                                                                    \
    X(RANGE, TEXT, range)                                                                          \
    X(AUTHORIZATION, TEXT, authorization)                                                          \
    X(JA4, TEXT, ja4)                                                                              \
    X(ASN, TEXT, asn)                                                                              \
    X(ORGANIZATION, TEXT, organization)

typedef enum tb__log_column {
#define TB_X(name, kind, member) TB__LOG_##name,
    TB__LOG_COLUMNS(TB_X)
#undef TB_X
        TB__LOG_COUNT
} tb__log_column;

typedef enum tb__log_kind {
    TB__LOG_KIND_TIME,
    TB__LOG_KIND_NUMBER,
    TB__LOG_KIND_TEXT,
    TB__LOG_KIND_BINARY
} tb__log_kind;

#define TB__LOG_ENTRY  12 /* a column's in the header */
#define TB__LOG_FEW    (TB__LOG_AUTHORIZATION + 1) /* columns of a block with TB__LOG_MARK */
#define TB__LOG_HEADER(columns) ((size_t)24 + TB__LOG_ENTRY * (size_t)(columns))
#define TB__LOG_TRAILER 8
#define TB__LOG_TEXT_HEADER 9
#define TB__LOG_MIXED 254
#define TB__LOG_TEXT_WIDTH 255

static inline void tb__put32(uint8_t *out, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(v >> 8 * i);
}

static inline void tb__put64(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> 8 * i);
}

static inline uint32_t tb__get32(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static inline uint64_t tb__get64(const uint8_t *in)
{
    return tb__get32(in) | (uint64_t)tb__get32(in + 4) << 32;
}

/* Bits of a code if there are so many entries. */
static inline unsigned tb__log_width(size_t entries)
{
    return entries > 1 ? 64u - (unsigned)__builtin_clzll(entries - 1) : 0;
}

/* Bits of a number where the greatest is `most`: such that 8 bytes from its first one hold it. */
static inline unsigned tb__log_number_width(uint64_t most)
{
    const unsigned width = most ? 64u - (unsigned)__builtin_clzll(most) : 1;
    return width > 57 ? 64 : width;
}

/* The number of columns in a block with this mark; 0: it is none. */
static inline int tb__log_columns(uint32_t mark)
{
    if (mark == TB__LOG_MARK) return TB__LOG_FEW;
    return mark == TB__LOG_MARK_MORE ? TB__LOG_COUNT : 0;
}

/* Bytes of a block's columns, decompressed. */
static inline size_t tb__log_plain(const void *block)
{
    const int columns = tb__log_columns(tb__get32(block));
    size_t sum = 0;
    for (int c = 0; c < columns; c++)
        sum += tb__get32((const uint8_t *)block + 24 + TB__LOG_ENTRY * c);
    return sum;
}

#define TB__LEB_MAX 10

static inline uint8_t *tb__put_leb(uint8_t *out, uint64_t v)
{
    while (v >= 0x80) {
        *out++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *out++ = (uint8_t)v;
    return out;
}

/* NULL: the bytes end inside the number, or it is longer than 64 bits. */
static inline const uint8_t *tb__get_leb(const uint8_t *in, const uint8_t *end, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
        const uint8_t byte = *in++;
        if (shift == 63 && byte > 1) return NULL;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = v;
            return in;
        }
    }
    return NULL;
}

/* The texts of a column: entry e is bytes[at[e] .. at[e+1]). */
typedef struct tb__log_texts {
    const char *bytes;
    uint32_t *at;
    size_t n; /* entries, at least 1 */
    const uint8_t *codes; /* of the rows; NULL: row r is entry r. 8 bytes past them are readable */
    unsigned width;       /* bits of a code */
    uint64_t mask;
} tb__log_texts;

static inline tb_text tb__log_entry(const tb__log_texts *t, size_t e)
{
    return (tb_text){t->bytes + t->at[e], t->at[e + 1] - t->at[e]};
}

/* A code past the entries cannot come from a block that is whole; it reads as the last one. */
static inline size_t tb__log_entry_of(const tb__log_texts *t, size_t row)
{
    if (!t->codes) return row;
    const size_t bit = row * t->width;
    const size_t e = tb__get64(t->codes + bit / 8) >> bit % 8 & t->mask;
    return e < t->n ? e : t->n - 1;
}

/* One row's number of a column's plain bytes, with 8 readable bytes past them; UINT64_MAX where it is absent. */
static inline uint64_t tb__log_number(const uint8_t *numbers, size_t row)
{
    const unsigned width = numbers[0];
    const size_t bit = row * width;
    const uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
    return (tb__get64(numbers + 1 + bit / 8) >> bit % 8 & mask) - 1;
}

/* Binary values: row r has `width[r]` bytes (4: in planes) of rank `rank[r]` among its width. */
typedef struct tb__log_binaries {
    uint8_t *width;
    uint16_t *rank;
    const uint8_t *planes, *wide;
    size_t n_short;
    tb__log_texts texts;
} tb__log_binaries;

/* Appends `count` numbers of `width` bits, low bits first. Width is at most 57, or 64. */
void tb__log_put_bits(tb_buf *out, const uint64_t *values, size_t count, unsigned width);

/* --- block.c, for select and row --- */

/* The column's rows, read at first use. NULL in *ret: the column is absent. */
TB_MUST_USE tb_code tb__log_texts_of(tb_logblock *block, tb__log_column column,
                                     const tb__log_texts **ret, tb_error *err);
TB_MUST_USE tb_code tb__log_binaries_of(tb_logblock *block, tb__log_column column,
                                        const tb__log_binaries **ret, tb_error *err);
/* For tb__log_number. */
TB_MUST_USE tb_code tb__log_numbers_of(tb_logblock *block, tb__log_column column, const uint8_t **ret, tb_error *err);
/* One row's; UINT64_MAX where it is absent. */
TB_MUST_USE tb_code tb__log_number_of(tb_logblock *block, tb__log_column column, size_t row,
                                      uint64_t *ret, tb_error *err);
TB_MUST_USE tb_code tb__log_times_of(tb_logblock *block, const int64_t **ret, tb_error *err);
size_t tb__logblock_lines(const tb_logblock *block);
/* Room of the block's for select: a byte a row or entry. */
uint8_t *tb__log_marks(tb_logblock *block, int which);

/* The host of an origin, which is what follows "://". */
static inline tb_text tb__log_host(tb_text origin)
{
    const char *mark = origin.len ? (const char *)memmem(origin.data, origin.len, "://", 3) : NULL;
    if (!mark) return (tb_text){"", 0};
    return (tb_text){mark + 3, origin.len - (size_t)(mark + 3 - origin.data)};
}

/* An address as its bytes: 4, 6, or 0 where the text is none, or not as inet_ntop would write it. */
unsigned tb__log_ip_parse(tb_text text, uint8_t out[16]);
/* The same, however it is written. */
unsigned tb__log_ip_read(tb_text text, uint8_t out[16]);

#endif
