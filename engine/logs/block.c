/* Reading a block: the checksum first, then each column when it is needed.
 *
 * The checksum turns damage into an error first; still every length and code is checked against the block's
 * size, so that no bytes at all can lead outside of it. The reader reuses its buffers for the next block. */
#include "base/hash.h"
#include "logs/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zstd.h>

#define CODE_SLACK 8

typedef struct memory {
    void *at;
    size_t cap;
} memory;

typedef struct column {
    const uint8_t *stored, *codes; /* in the block's bytes */
    uint32_t plain_len, stored_len, codes_len;
    bool read; /* and the three below are good */
    const uint8_t *plain;
    tb__log_texts texts;
    tb__log_binaries binaries;
    memory plain_memory, at, width, rank, number;
} column;

struct tb_logblock {
    ZSTD_DCtx *zstd;
    memory bytes, marks[3];
    tb_loginfo info;
    column columns[TB__LOG_COUNT];
};

static bool claim(memory *m, size_t size)
{
    if (size <= m->cap) return true;
    void *at = realloc(m->at, size);
    if (!at) return false;
    m->at = at;
    m->cap = size;
    return true;
}

tb_logblock *tb_logblock_new(void)
{
    tb_logblock *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->zstd = ZSTD_createDCtx();
    bool ok = b->zstd != NULL;
    for (int i = 0; i < 3 && ok; i++)
        ok = claim(&b->marks[i], TB_LOGBLOCK_LINES);
    if (ok) return b;
    tb_logblock_free(b);
    return NULL;
}

void tb_logblock_free(tb_logblock *b)
{
    if (!b) return;
    for (int c = 0; c < TB__LOG_COUNT; c++) {
        column *o = &b->columns[c];
        free(o->plain_memory.at);
        free(o->at.at);
        free(o->width.at);
        free(o->rank.at);
        free(o->number.at);
    }
    for (int i = 0; i < 3; i++)
        free(b->marks[i].at);
    free(b->bytes.at);
    ZSTD_freeDCtx(b->zstd);
    free(b);
}

static tb_code damaged(const tb_logblock *b, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "log_block",
                   "A block of request logs of pull zone %" PRId64 " is damaged.", b->info.zone);
}

/* --- opening --- */

static bool read_header(tb_logblock *b, const uint8_t *bytes, size_t len)
{
    tb_loginfo *info = &b->info;
    const int columns = tb__log_columns(tb__get32(bytes));
    if (!columns || len < TB__LOG_HEADER(columns) + TB__LOG_TRAILER) return false;
    info->lines = tb__get32(bytes + 4);
    info->first_ms = (int64_t)tb__get64(bytes + 8);
    info->last_ms = (int64_t)tb__get64(bytes + 16);
    if (info->lines < 1 || info->lines > TB_LOGBLOCK_LINES || info->last_ms < info->first_ms)
        return false;
    size_t at = TB__LOG_HEADER(columns), end = len - TB__LOG_TRAILER;
    for (int c = 0; c < TB__LOG_COUNT; c++) {
        column *o = &b->columns[c];
        o->read = false;
        o->plain_len = o->stored_len = o->codes_len = 0;
        if (c >= columns) continue;
        const uint8_t *entry = bytes + 24 + TB__LOG_ENTRY * c;
        o->plain_len = tb__get32(entry);
        o->stored_len = tb__get32(entry + 4);
        o->codes_len = tb__get32(entry + 8);
        o->stored = bytes + at;
        if (o->stored_len > o->plain_len || o->plain_len > TB_LOGBLOCK_COLUMN ||
            o->stored_len > end - at || (o->plain_len > 0 && o->stored_len == 0))
            return false;
        at += o->stored_len;
        o->codes = bytes + at;
        if (o->codes_len > end - at) return false;
        at += o->codes_len;
    }
    return at == end;
}

tb_code tb_logblock_open(tb_logblock *b, const void *bytes, size_t len, int64_t zone, tb_error *err)
{
    b->info = (tb_loginfo){.zone = zone};
    if (len < TB__LOG_HEADER(TB__LOG_FEW) + TB__LOG_TRAILER || len > TB_LOGBLOCK_MAX) return damaged(b, err);
    if (!claim(&b->bytes, len + CODE_SLACK)) return tb_no_memory(err);
    memcpy(b->bytes.at, bytes, len);
    const uint8_t *own = b->bytes.at;
    const size_t body = len - TB__LOG_TRAILER;
    if (XXH3_64bits_withSeed(own, body, (uint64_t)zone) != tb__get64(own + body) ||
        !read_header(b, own, len))
        return damaged(b, err);
    return TB_OK;
}

void tb_logblock_info(const tb_logblock *b, tb_loginfo *ret_info)
{
    *ret_info = b->info;
}

size_t tb_logblock_plain(const tb_logblock *b)
{
    size_t sum = 0;
    for (int c = 0; c < TB__LOG_COUNT; c++)
        sum += b->columns[c].plain_len;
    return sum;
}

size_t tb__logblock_lines(const tb_logblock *b)
{
    return b->info.lines;
}

uint8_t *tb__log_marks(tb_logblock *b, int which)
{
    return b->marks[which].at;
}

/* --- columns --- */

static tb_code unpack(tb_logblock *b, column *o, tb_error *err)
{
    o->plain = o->stored;
    if (o->stored_len == o->plain_len) return TB_OK;
    if (!claim(&o->plain_memory, o->plain_len)) return tb_no_memory(err);
    size_t n = ZSTD_decompressDCtx(b->zstd, o->plain_memory.at, o->plain_len, o->stored,
                                   o->stored_len);
    if (ZSTD_isError(n) || n != o->plain_len) return damaged(b, err);
    o->plain = o->plain_memory.at;
    return TB_OK;
}

/* Lengths of n texts from `lengths` become where they start; they must fill total exactly. */
static bool read_lengths(const uint8_t *lengths, const uint8_t *end, size_t n, size_t total,
                         uint32_t *at)
{
    uint64_t sum = 0, len;
    for (size_t e = 0; e < n; e++) {
        at[e] = (uint32_t)sum;
        if (lengths < end && *lengths < 0x80) { /* nearly all */
            sum += *lengths++;
        } else {
            lengths = tb__get_leb(lengths, end, &len);
            if (!lengths || len > TB_LOGBLOCK_COLUMN) return false;
            sum += len;
        }
        if (sum > total) return false;
    }
    at[n] = (uint32_t)sum;
    return lengths == end && sum == total;
}

static tb_code read_texts(tb_logblock *b, column *o, tb_error *err)
{
    const size_t rows = b->info.lines;
    const uint8_t *p = o->plain;
    if (o->plain_len < TB__LOG_TEXT_HEADER) return damaged(b, err);
    const unsigned form = p[0];
    const size_t n = tb__get32(p + 1), lengths = tb__get32(p + 5);
    const size_t head = TB__LOG_TEXT_HEADER;
    const unsigned width = tb__log_width(n);
    if (form > 1 || n < 1 || n > rows || (form == 0 && n != rows) || head > o->plain_len ||
        lengths > o->plain_len - head)
        return damaged(b, err);
    if (o->codes_len != (form ? (rows * width + 7) / 8 : 0)) return damaged(b, err);
    if (!claim(&o->at, (n + 1) * sizeof(uint32_t))) return tb_no_memory(err);
    const uint8_t *text = p + head + lengths;
    o->texts = (tb__log_texts){.bytes = (const char *)text,
                               .at = o->at.at,
                               .n = n,
                               .codes = form ? o->codes : NULL,
                               .width = width,
                               .mask = (UINT64_C(1) << width) - 1};
    if (read_lengths(p + head, text, n, o->plain_len - head - lengths, o->at.at)) return TB_OK;
    return damaged(b, err);
}

/* The ranks where all rows have one width. */
static void rank_alike(uint8_t width, size_t rows, uint16_t *rank, size_t count[256])
{
    for (size_t i = 0; i < rows; i++)
        rank[i] = (uint16_t)i;
    count[width] = rows;
}

/* Ranks of each row among those of its width; false where a width is none. */
static bool rank_rows(const uint8_t *width, size_t rows, uint16_t *rank, size_t count[256])
{
    for (size_t i = 0; i < rows; i++)
        rank[i] = (uint16_t)count[width[i]]++;
    return count[0] + count[4] + count[16] + count[TB__LOG_TEXT_WIDTH] == rows;
}

static tb_code read_binaries(tb_logblock *b, column *o, tb_error *err)
{
    const size_t rows = b->info.lines;
    const uint8_t *p = o->plain, *end = p + o->plain_len;
    size_t count[256] = {0};
    if (!claim(&o->width, rows) || !claim(&o->rank, rows * sizeof(uint16_t)))
        return tb_no_memory(err);
    const uint8_t first = *p++;
    if (first == TB__LOG_MIXED) {
        if ((size_t)(end - p) < rows) return damaged(b, err);
        memcpy(o->width.at, p, rows);
        p += rows;
    } else {
        memset(o->width.at, first, rows);
    }
    if (first == 4 || first == 16) rank_alike(first, rows, o->rank.at, count);
    else if (!rank_rows(o->width.at, rows, o->rank.at, count)) return damaged(b, err);
    const size_t fixed = 4 * count[4] + 16 * count[16], n = count[TB__LOG_TEXT_WIDTH];
    if ((size_t)(end - p) < fixed) return damaged(b, err);
    const uint8_t *lengths = p + fixed, *text = lengths;
    for (size_t left = n; left > 0 && text < end; text++)
        left -= *text < 0x80;
    if (!claim(&o->at, (n + 1) * sizeof(uint32_t))) return tb_no_memory(err);
    if (!read_lengths(lengths, text, n, (size_t)(end - text), o->at.at)) return damaged(b, err);
    o->binaries = (tb__log_binaries){
        .width = o->width.at, .rank = o->rank.at, .planes = p, .wide = p + 4 * count[4],
        .n_short = count[4],
        .texts = {.bytes = (const char *)text, .at = o->at.at, .n = n}};
    return TB_OK;
}

static tb_code read_times(tb_logblock *b, column *o, tb_error *err)
{
    const uint8_t *p = o->plain, *end = p + o->plain_len;
    if (!claim(&o->number, b->info.lines * sizeof(int64_t))) return tb_no_memory(err);
    int64_t *out = o->number.at, at = b->info.first_ms;
    for (size_t i = 0; i < b->info.lines; i++) {
        uint64_t step = 0;
        if (p && p < end && *p < 0x80) step = *p++;
        else if (!p || !(p = tb__get_leb(p, end, &step))) return damaged(b, err);
        if (step > (uint64_t)b->info.last_ms - (uint64_t)at) return damaged(b, err);
        at += (int64_t)step;
        out[i] = at;
    }
    return p == end && at == b->info.last_ms ? TB_OK : damaged(b, err);
}

/* Numbers are ready to be read, with eight bytes after the last one. */
static tb_code read_numbers(tb_logblock *b, column *o, tb_error *err)
{
    const size_t rows = b->info.lines;
    const unsigned width = o->plain[0];
    if (width < 1 || (width > 57 && width != 64) || o->plain_len != 1 + (rows * width + 7) / 8)
        return damaged(b, err);
    if (!claim(&o->number, o->plain_len + 8)) return tb_no_memory(err);
    memcpy(o->number.at, o->plain, o->plain_len);
    memset((char *)o->number.at + o->plain_len, 0, 8);
    return TB_OK;
}

/* The column, its plain bytes read by `how` at first use; *ret NULL where it is absent. */
static tb_code column_of(tb_logblock *b, tb__log_column c,
                         tb_code (*how)(tb_logblock *, column *, tb_error *), column **ret,
                         tb_error *err)
{
    column *o = &b->columns[c];
    *ret = o->plain_len ? o : NULL;
    if (o->read || !o->plain_len) return TB_OK;
    tb_code code = unpack(b, o, err);
    if (code == TB_OK) code = how(b, o, err);
    o->read = code == TB_OK;
    return code;
}

tb_code tb__log_texts_of(tb_logblock *b, tb__log_column c, const tb__log_texts **ret, tb_error *err)
{
    column *o;
    tb_code code = column_of(b, c, read_texts, &o, err);
    if (code == TB_OK) *ret = o ? &o->texts : NULL;
    return code;
}

tb_code tb__log_binaries_of(tb_logblock *b, tb__log_column c, const tb__log_binaries **ret,
                            tb_error *err)
{
    column *o;
    tb_code code = column_of(b, c, read_binaries, &o, err);
    if (code == TB_OK) *ret = o ? &o->binaries : NULL;
    return code;
}

tb_code tb__log_numbers_of(tb_logblock *b, tb__log_column c, const uint8_t **ret, tb_error *err)
{
    column *o;
    tb_code code = column_of(b, c, read_numbers, &o, err);
    if (code == TB_OK) *ret = o ? o->number.at : NULL;
    return code;
}

tb_code tb__log_number_of(tb_logblock *b, tb__log_column c, size_t row, uint64_t *ret, tb_error *err)
{
    const uint8_t *numbers;
    tb_code code = tb__log_numbers_of(b, c, &numbers, err);
    if (code == TB_OK) *ret = numbers ? tb__log_number(numbers, row) : UINT64_MAX;
    return code;
}

tb_code tb__log_times_of(tb_logblock *b, const int64_t **ret, tb_error *err)
{
    column *o;
    tb_code code = column_of(b, TB__LOG_TIME, read_times, &o, err);
    if (code == TB_OK && !o) code = damaged(b, err);
    if (code == TB_OK) *ret = o->number.at;
    return code;
}

int64_t tb_logblock_time(const tb_logblock *b, size_t row)
{
    return ((const int64_t *)b->columns[TB__LOG_TIME].number.at)[row];
}
