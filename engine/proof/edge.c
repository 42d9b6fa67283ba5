/* A tree that grows: its partial tiles in memory. */
#include "proof/tile.h"

#include <string.h>

static int64_t hashes_of(int64_t size, int level)
{
    return size >> (8 * level);
}

tb_code tb_merkle_edge_load(tb_merkle_edge *edge, int64_t size, const tb_tile_reader *reader, tb_error *err)
{
    tb_code code = TB_OK;
    if (size < 0) return tb_fail(err, TB_E_VALIDATION, "size", "A tree has no negative size.");
    edge->size = edge->written = size;
    for (int level = 0; level < TB_TILE_LEVELS && !code; level++) {
        const int64_t hashes = hashes_of(size, level);
        const tb_tile tile = {level, (int32_t)(hashes % TB_TILE_WIDTH), hashes / TB_TILE_WIDTH};
        if (tile.width) code = reader->read(reader->ctx, &tile, edge->tiles[level], err);
    }
    return code;
}

static tb_code write_tile(const tb_merkle_edge *edge, const tb_tile_writer *writer, const tb_tile *tile, tb_error *err)
{
    return writer ? writer->write(writer->ctx, tile, edge->tiles[tile->level], err) : TB_OK;
}

tb_code tb_merkle_append(tb_merkle_edge *edge, const tb_merkle_hash *leaf, const tb_tile_writer *writer, tb_error *err)
{
    tb_merkle_hash hash = *leaf;
    if (edge->size == INT64_MAX) return tb_fail(err, TB_E_TOO_LARGE, "size", "The log is full: it has 2^63 - 1 entries.");
    for (int level = 0; level < TB_TILE_LEVELS; level++) {
        const int64_t place = hashes_of(edge->size, level);
        edge->tiles[level][place % TB_TILE_WIDTH] = hash;
        if (place % TB_TILE_WIDTH != TB_TILE_WIDTH - 1) break;
        const tb_tile full = {level, TB_TILE_WIDTH, place / TB_TILE_WIDTH};
        const tb_code code = write_tile(edge, writer, &full, err);
        if (code) return code;
        hash = tb__merkle_fold(edge->tiles[level], TB_TILE_WIDTH);
    }
    edge->size++;
    return TB_OK;
}

tb_code tb_merkle_flush(tb_merkle_edge *edge, const tb_tile_writer *writer, tb_error *err)
{
    tb_code code = TB_OK;
    for (int level = 0; level < TB_TILE_LEVELS && !code; level++) {
        const int64_t hashes = hashes_of(edge->size, level);
        const tb_tile tile = {level, (int32_t)(hashes % TB_TILE_WIDTH), hashes / TB_TILE_WIDTH};
        if (tile.width && hashes != hashes_of(edge->written, level)) code = write_tile(edge, writer, &tile, err);
    }
    if (!code) edge->written = edge->size;
    return code;
}

static tb_code read_from_edge(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    const tb_merkle_edge *edge = ctx;
    (void)err;
    memcpy(hashes, edge->tiles[tile->level], (size_t)tile->width * sizeof *hashes);
    return TB_OK;
}

tb_merkle_hash tb_merkle_edge_root(const tb_merkle_edge *edge)
{
    tb_merkle_hash root = tb_merkle_empty();
    const tb_tile_reader reader = {read_from_edge, (void *)(uintptr_t)edge};
    /* The nodes that a root is made of are all in partial tiles, and reading those cannot fail. */
    const tb_code code = tb_merkle_root(&reader, edge->size, &root, NULL);
    (void)code;
    return root;
}
