/* Tiles: paths, and roots and proofs computed from tiles.
 *
 * Node i of height h covers the entries from i * 2^h to (i + 1) * 2^h - 1. It is the fold of 2^(h % 8) hashes of a tile of
 * level h / 8. A proof reads the tiles over its entry first, then those at the tree's right edge, each from level 0 up, so that
 * the nodes of a tile come one after another and one tile in memory is enough. */
#include "proof/tile.h"

#include "proof/text.h"

#include <stdio.h>
#include <string.h>

/* --- paths --- */

void tb_tile_path(const tb_tile *tile, char out[TB_TILE_PATH])
{
    int64_t unit = 1;
    while (tile->index / unit >= 1000)
        unit *= 1000;
    int n = tile->level == TB_TILE_ENTRIES ? snprintf(out, TB_TILE_PATH, "tile/entries")
                                           : snprintf(out, TB_TILE_PATH, "tile/%d", (int)tile->level);
    for (; unit > 0; unit /= 1000)
        n += snprintf(out + n, TB_TILE_PATH - (size_t)n, unit > 1 ? "/x%03d" : "/%03d", (int)(tile->index / unit % 1000));
    if (tile->width < TB_TILE_WIDTH) snprintf(out + n, TB_TILE_PATH - (size_t)n, ".p/%d", (int)tile->width);
}

/* Three digits each; the first group of several is not 000. */
static bool take_index(tb_text *rest, int64_t *ret)
{
    bool more = true;
    for (*ret = 0; more;) {
        tb_text digits = *rest;
        more = tb__proof_take(&digits, "x");
        int group = 0;
        for (int i = 0; i < 3; i++) {
            if (digits.len == 0 || *digits.data < '0' || *digits.data > '9') return false;
            group = 10 * group + *digits.data - '0';
            digits = (tb_text){digits.data + 1, digits.len - 1};
        }
        if ((more && *ret == 0 && group == 0) || *ret > (INT64_MAX - group) / 1000) return false;
        *ret = 1000 * *ret + group;
        *rest = digits;
        if (more && !tb__proof_take(rest, "/")) return false;
    }
    return true;
}

static bool take_level(tb_text *rest, int32_t *ret)
{
    const char *end = rest->len ? memchr(rest->data, '/', rest->len) : NULL;
    if (!end) return false;
    const tb_text word = {rest->data, (size_t)(end - rest->data)};
    int64_t level = TB_TILE_ENTRIES;
    const bool entries = word.len == 7 && memcmp(word.data, "entries", 7) == 0;
    if (!entries && (!tb__proof_number(word, &level) || level > 63)) return false;
    *ret = (int32_t)level;
    *rest = (tb_text){end + 1, rest->len - word.len - 1};
    return true;
}

bool tb_tile_path_read(const char *path, size_t len, tb_tile *ret)
{
    tb_text rest = {path, len};
    tb_tile tile = {.width = TB_TILE_WIDTH};
    int64_t width;
    if (len >= TB_TILE_PATH || !tb__proof_take(&rest, "tile/") || !take_level(&rest, &tile.level) ||
        !take_index(&rest, &tile.index))
        return false;
    if (rest.len > 0) {
        if (!tb__proof_take(&rest, ".p/") || !tb__proof_number(rest, &width) || width < 1 || width >= TB_TILE_WIDTH) return false;
        tile.width = (int32_t)width;
    }
    *ret = tile;
    return true;
}

int32_t tb_tile_width(int64_t size, int32_t level, int64_t index)
{
    if (level == TB_TILE_ENTRIES) level = 0;
    if (size < 0 || level < 0 || level >= TB_TILE_LEVELS || index < 0) return 0;
    const int64_t hashes = size >> (8 * level);
    if (index > hashes / TB_TILE_WIDTH) return 0;
    const int64_t left = hashes - index * TB_TILE_WIDTH;
    return left < TB_TILE_WIDTH ? (int32_t)left : TB_TILE_WIDTH;
}

/* --- nodes --- */

/* The tree of a size, and the tile of it that was read last. */
typedef struct source {
    const tb_tile_reader *reader;
    int64_t size;
    tb_tile tile; /* width 0: none yet */
    tb_merkle_hash hashes[TB_TILE_WIDTH];
} source;

static void source_open(source *s, const tb_tile_reader *reader, int64_t size)
{
    s->reader = reader;
    s->size = size;
    s->tile = (tb_tile){0};
}

tb_merkle_hash tb__merkle_fold(tb_merkle_hash *hashes, size_t n)
{
    for (; n > 1; n /= 2)
        for (size_t i = 0; i < n / 2; i++)
            hashes[i] = tb_merkle_node(&hashes[2 * i], &hashes[2 * i + 1]);
    return hashes[0];
}

static tb_code read_tile(source *s, int32_t level, int64_t index, tb_error *err)
{
    if (s->tile.width && s->tile.level == level && s->tile.index == index) return TB_OK;
    const tb_tile tile = {level, tb_tile_width(s->size, level, index), index};
    s->tile.width = 0;
    const tb_code code = s->reader->read(s->reader->ctx, &tile, s->hashes, err);
    if (!code) s->tile = tile;
    return code;
}

static tb_code read_node(source *s, int height, int64_t node, tb_merkle_hash *ret, tb_error *err)
{
    tb_merkle_hash below[TB_TILE_WIDTH / 2];
    const size_t n = (size_t)1 << height % 8;
    const size_t first = ((size_t)node << height % 8) % TB_TILE_WIDTH;
    const tb_code code = read_tile(s, height / 8, node >> (8 - height % 8), err);
    if (code) return code;
    memcpy(below, s->hashes + first, n * sizeof *below);
    *ret = tb__merkle_fold(below, n);
    return TB_OK;
}

/* The root of the entries from `first` on, which is where a node of a height begins that they fill at most: the whole nodes
 * that they are made of, joined from the smallest on the right to the largest. */
static tb_code read_rest(source *s, int64_t first, tb_merkle_hash *ret, tb_error *err)
{
    const int64_t n = s->size - first;
    bool any = false;
    tb_code code = TB_OK;
    for (int height = 0; height < 63 && !code; height++) {
        tb_merkle_hash node;
        if (!(n >> height & 1)) continue;
        code = read_node(s, height, (s->size >> height) - 1, &node, err);
        if (!code) *ret = any ? tb_merkle_node(&node, ret) : node;
        any = true;
    }
    return code;
}

/* --- roots and proofs --- */

tb_code tb_merkle_root(const tb_tile_reader *reader, int64_t size, tb_merkle_hash *ret, tb_error *err)
{
    source s;
    tb_merkle_hash root = tb_merkle_empty();
    if (size < 0) return tb_fail(err, TB_E_VALIDATION, "size", "A tree has no negative size.");
    source_open(&s, reader, size);
    const tb_code code = read_rest(&s, 0, &root, err);
    if (!code) *ret = root;
    return code;
}

static int bit_length(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

/* Adds the hashes that lead from the node of this height over entry `index` to the root. Up to where the ways of the entry
 * and of the last entry meet, that is each neighbour; from there on each one on the left. The neighbour just below the
 * meeting is what the tree has from there on: it is read last, as it needs other tiles. */
static tb_code climb(source *s, int64_t index, int height, tb_merkle_proof *proof, tb_error *err)
{
    const int meeting = bit_length((uint64_t)index ^ (uint64_t)(s->size - 1));
    tb_merkle_hash *rest = NULL;
    tb_code code = TB_OK;
    for (; height < 63 && !code; height++) {
        const int64_t node = index >> height;
        if (height == meeting - 1) rest = &proof->hashes[proof->n++];
        else if (height < meeting || node & 1) code = read_node(s, height, node ^ 1, &proof->hashes[proof->n++], err);
    }
    if (!code && rest) code = read_rest(s, ((index >> (meeting - 1)) + 1) << (meeting - 1), rest, err);
    return code;
}

tb_code tb_merkle_prove_entry(const tb_tile_reader *reader, int64_t size, int64_t index, tb_merkle_proof *ret, tb_error *err)
{
    source s;
    if (index < 0 || index >= size)
        return tb_fail(err, TB_E_VALIDATION, "index", "A tree of %lld entries has no entry %lld.", (long long)size,
                       (long long)index);
    source_open(&s, reader, size);
    ret->n = 0;
    return climb(&s, index, 0, ret, err);
}

tb_code tb_merkle_prove_growth(const tb_tile_reader *reader, int64_t old_size, int64_t new_size, tb_merkle_proof *ret,
                               tb_error *err)
{
    source s;
    tb_code code = TB_OK;
    if (old_size < 0 || old_size > new_size)
        return tb_fail(err, TB_E_VALIDATION, "size", "A tree of %lld entries cannot have grown from one of %lld.",
                       (long long)new_size, (long long)old_size);
    ret->n = 0;
    if (old_size == 0 || old_size == new_size) return TB_OK;
    source_open(&s, reader, new_size);
    /* From the largest node that the last old entry completes; it is the whole old tree where that has 2^height entries. */
    const int height = __builtin_ctzll((uint64_t)old_size);
    const int64_t node = (old_size >> height) - 1;
    if (node > 0) code = read_node(&s, height, node, &ret->hashes[ret->n++], err);
    return code ? code : climb(&s, old_size - 1, height, ret, err);
}
