/* Chunks: a grid packed into the bytes of one row, and read back.
 *
 * Layout, little-endian:
 *
 *   column*  slots:u32  metrics:u32  format:u8  checksum:u32
 *   column = width:u8  min:LEB128  packed differences to min, `width` bits each, low bits first,
 *            one for each bit of `slots`, ended at a byte
 *
 * A column stands for each bit of `metrics`, in order; columns of zeros are left out. Width is
 * 0..57 or 64. The trailer is longer than 8 bytes, so a reader may load 8 bytes anywhere in the
 * columns. The checksum covers all before it and the row's key, so that a bit flip or a row under
 * a wrong key is an error, never an answer. */
#ifndef TOLLBOOK_STORE_CHUNK_H
#define TOLLBOOK_STORE_CHUNK_H

#include "tollbook/rollup.h"

#include <stddef.h>

#define TB__CHUNK_TRAILER 13
#define TB__CHUNK_MAX (TB_METRIC_COUNT * (11 + TB_GRID_SLOTS * 8) + TB__CHUNK_TRAILER)

/* Returns the bytes written to out (TB__CHUNK_MAX at most). */
size_t tb__chunk_encode(const tb_grid *grid, int64_t key, uint8_t *out);
/* The same; *most becomes the largest of its sums, where that is more. */
size_t tb__chunk_encode_most(const tb_grid *grid, int64_t key, uint8_t *out, uint64_t *most);

/* TB_E_CORRUPT names the key. */
TB_MUST_USE tb_code tb__chunk_decode(const uint8_t *data, size_t len, int64_t key, tb_grid *grid,
                                     tb_error *err);

/* Writes slots first .. first+count-1 of the wanted metrics to column[m][at ...]. Columns that the
 * chunk does not hold are left as they are (the caller zeroed them). */
TB_MUST_USE tb_code tb__chunk_columns(const uint8_t *data, size_t len, int64_t key, uint32_t metrics,
                                      unsigned first, unsigned count,
                                      uint64_t *const column[TB_METRIC_COUNT], size_t at,
                                      tb_error *err);

/* A chunk's key: series id, grain (0 hours of a day, 1 days of a month), day or month since 1970. */
#define TB__GRAIN_HOURS 0
#define TB__GRAIN_DAYS 1
#define TB__INDEX_BITS 17
#define TB__INDEX_MAX ((INT64_C(1) << TB__INDEX_BITS) - 1)
#define TB__SERIES_SHIFT (TB__INDEX_BITS + 1)
#define TB__SERIES_MAX   (INT64_MAX >> TB__SERIES_SHIFT)
#define TB__EDGE_END     (INT64_C(1) << (62 - TB__INDEX_BITS)) /* ids of edge locations: one and a day are one number */
#define TB__SERIES_BLOCK 64 /* ids of one owner's series side by side */

static inline int64_t tb__chunk_key(int64_t series, int grain, int64_t index)
{
    return series << TB__SERIES_SHIFT | (int64_t)grain << TB__INDEX_BITS | index;
}

static inline int64_t tb__key_series(int64_t key)
{
    return key >> TB__SERIES_SHIFT;
}

static inline int tb__key_grain(int64_t key)
{
    return (int)(key >> TB__INDEX_BITS & 1);
}

static inline int64_t tb__key_index(int64_t key)
{
    return key & TB__INDEX_MAX;
}

#endif
