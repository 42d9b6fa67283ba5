/* Blocks that hold lines of many pull zones, and the directory of such a block with the zone of each row.
 *
 *   zones:u32 list:u32 block:u64
 *   list bytes: LEB128 zones, ascending, the first one and then each one's difference to the one before
 *   codes of the rows: the index of its zone in the list, in as many bits as the greatest needs, low
 *   bits first
 *   checksum:u64  XXH3-64 over all before it, seeded with the number of lines
 *
 * Little-endian. `block` is the checksum of its block. A block with lines of a single zone belongs to that zone; the
 * others have zone 0. */
#ifndef TB__LOGS_DIRECTORY_H
#define TB__LOGS_DIRECTORY_H

#include "logs/format.h"

#define TB__LOG_DIRECTORY_HEADER 16
#define TB__LOG_DIRECTORY_MAX                                                                      \
    ((size_t)TB__LOG_DIRECTORY_HEADER + TB_LOGBLOCK_LINES * (TB__LEB_MAX + 2) + TB__LOG_TRAILER)

typedef struct tb__log_directory {
    const uint8_t *list, *codes; /* borrowed; 8 bytes past the codes are readable */
    size_t zones, lines;
    int64_t only; /* the zone, where there is one alone; else 0: what its block is of */
    unsigned width;
    uint64_t block;
} tb__log_directory;

/* Checks everything but the codes. TB_E_CORRUPT. */
TB_MUST_USE tb_code tb__log_directory_open(tb__log_directory *d, const void *bytes, size_t len,
                                           size_t lines, tb_error *err);
/* The zone's place in the list; false: no row is its. */
bool tb__log_directory_find(const tb__log_directory *d, int64_t zone, uint32_t *ret_place);
/* All zones, ascending: `zones` has room for d->zones. */
void tb__log_directory_list(const tb__log_directory *d, int64_t *zones);
/* Whether every row has a zone of the list, and every zone a row. */
bool tb__log_directory_sound(const tb__log_directory *d);
/* Opens the block that it belongs to; another one is TB_E_CORRUPT. */
TB_MUST_USE tb_code tb__log_directory_block(const tb__log_directory *d, tb_logblock *block,
                                            const void *bytes, size_t len, tb_error *err);

static inline uint32_t tb__log_directory_row(const tb__log_directory *d, size_t row)
{
    const size_t bit = row * d->width;
    return (uint32_t)(tb__get64(d->codes + bit / 8) >> bit % 8) &
           (uint32_t)((UINT64_C(1) << d->width) - 1);
}

/* Appends the directory of n zones, ascending, to whom rows belong by `places`, for the block that has
 * these bytes. */
void tb__log_directory_put(const int64_t *zones, size_t n, const uint64_t *places, size_t lines,
                           tb_text block, tb_buf *out);

#endif
