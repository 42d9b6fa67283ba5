/* Checks the form of a piece's parameters. Whether it fits the known segments is checked by the feed, in the
 * transaction that takes it. */
#include "api/pieces.h"

#include <inttypes.h>
#include <string.h>

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_VALIDATION, field, "%s", sentence);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

bool piece_hash(tb_text text, tb_hash128 *ret_hash)
{
    tb_hash128 hash = {0, 0};
    if (text.len != PIECES_HASH_TEXT) return false;
    for (size_t i = 0; i < PIECES_HASH_TEXT; i++) {
        int digit = hex(text.data[i]);
        uint64_t *half = i < PIECES_HASH_TEXT / 2 ? &hash.high : &hash.low;
        if (digit < 0) return false;
        *half = *half << 4 | (uint64_t)digit;
    }
    *ret_hash = hash;
    return true;
}

void piece_put_hash(tb_buf *out, tb_hash128 hash)
{
    tb_buf_fmt(out, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

/* Reads one "LENGTH:HASH". */
static bool read_rung(tb_text text, tb_rung *ret_rung)
{
    const char *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
    size_t len = colon ? (size_t)(colon - text.data) : 0;
    int64_t length;
    if (!colon || !query_int(text.data, len, &length) || length < 1) return false;
    ret_rung->length = (uint64_t)length;
    return piece_hash((tb_text){colon + 1, text.len - len - 1}, &ret_rung->hash);
}

tb_code piece_rungs(tb_text text, tb_rung ret_rungs[FEED_RUNGS_MAX], size_t *ret_n, tb_error *err)
{
    static const char sentence[] = "rungs are LENGTH:HASH, ascending, at most 56, with commas "
                                   "between them.";
    size_t n = 0;
    while (text.len > 0) {
        const char *comma = memchr(text.data, ',', text.len);
        size_t len = comma ? (size_t)(comma - text.data) : text.len;
        if (n == FEED_RUNGS_MAX || !read_rung((tb_text){text.data, len}, &ret_rungs[n]) ||
            (n > 0 && ret_rungs[n].length <= ret_rungs[n - 1].length))
            return bad(err, "rungs", sentence);
        n++;
        if (comma) len++;
        text.data += len;
        text.len -= len;
    }
    *ret_n = n;
    return TB_OK;
}

tb_code piece_read(const piece_params *params, feed_piece *ret_piece, tb_error *err)
{
    tb_rung rungs[FEED_RUNGS_MAX];
    size_t n;
    feed_piece piece = {.start = (uint64_t)params->start,
                        .length = (uint64_t)params->length,
                        .lines_before = (uint64_t)params->lines_before,
                        .final = params->final,
                        .known = params->known,
                        .behind = params->behind};
    if (params->start < 0) return bad(err, "start", "A piece needs start, from 0 up.");
    if (params->length < params->start) return bad(err, "length", "length must be at least start.");
    if (params->lines_before < 0) return bad(err, "linesBefore", "linesBefore must be 0 or more.");
    if (!piece_hash(params->head, &piece.head))
        return bad(err, "head", "head must be 32 hexadecimal digits.");
    if (!piece_hash(params->hash, &piece.hash))
        return bad(err, "hash", "hash must be 32 hexadecimal digits.");
    tb_code code = piece_rungs(params->rungs, rungs, &n, err);
    if (code == TB_OK) *ret_piece = piece;
    return code;
}
