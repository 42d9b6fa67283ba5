/* Cells from a sender whom nobody trusts. The checksum is made good first: what is tried is every check behind it.
 * Whatever is taken makes up its piece, and written again it comes to the same counters. */
#include "base/hash.h"
#include "tollbook/batches.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)
#define HEAD   12
#define NOW_MS INT64_C(1793707200000)

static int64_t zone_of(void *ctx, const tb_cell_key *key)
{
    (void)ctx;
    return key->zone ? key->zone : (int64_t)key->host.len;
}

static uint64_t requests(tb_rollup *rollup)
{
    static tb_grid grid;
    tb_rollup_day day;
    uint64_t sum = 0;
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    MUST(cursor);
    while (tb_rollup_next_day(cursor, &day, &grid))
        for (uint32_t slots = grid.slots; slots; slots &= slots - 1) {
            const unsigned slot = (unsigned)__builtin_ctz(slots);
            MUST(grid.v[TB_M_REQUESTS][slot] > 0);
            sum += grid.v[TB_M_REQUESTS][slot];
        }
    MUST(tb_rollup_cursor_check(cursor, NULL) == TB_OK);
    tb_rollup_cursor_free(cursor);
    return sum;
}

static void write_again(const tb_cell_batch *batch, tb_rollup *rollup, const tb_cells_judge *judge)
{
    tb_buf out;
    tb_cell_batch again;
    tb_rollup *twin = tb_rollup_new(10000, NULL);
    tb_buf_init(&out, 64 << 20, NULL);
    MUST(twin && tb_cells_write(batch, rollup, NULL, &out, NULL) == TB_OK);
    MUST(tb_cells_read(out.data, out.len, judge, twin, &again, NULL) == TB_OK);
    MUST(again.lines == batch->lines && again.n_asked == batch->n_asked);
    MUST(again.text_len == batch->text_len && requests(twin) == requests(rollup));
    free(again.asked);
    free(again.numbers);
    tb_buf_release(&out);
    tb_rollup_free(twin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magic[] = {'T', 'B', 'C', TB_CELLS_VERSION};
    const tb_cells_judge judge = {NOW_MS, zone_of, NULL};
    tb_cell_batch batch;
    tb_error err;
    tb_rollup *rollup = tb_rollup_new(10000, NULL);
    uint8_t *copy = malloc(size + HEAD);
    MUST(rollup && copy);
    memcpy(copy, magic, sizeof magic);
    if (size) memcpy(copy + HEAD, data, size);
    const uint64_t sum = XXH3_64bits(copy + HEAD, size);
    for (int i = 0; i < 8; i++)
        copy[sizeof magic + (size_t)i] = (uint8_t)(sum >> 8 * i);
    const tb_code code = tb_cells_read(copy, size + HEAD, &judge, rollup, &batch, &err);
    if (code == TB_OK) {
        MUST(batch.lines == requests(rollup) + batch.n_numbers);
        write_again(&batch, rollup, &judge);
        free(batch.asked);
        free(batch.numbers);
    } else {
        MUST(code == TB_E_BAD_INPUT || code == TB_E_VALIDATION || code == TB_E_TOO_LARGE ||
             code == TB_E_OVERFLOW);
    }
    free(copy);
    tb_rollup_free(rollup);
    return 0;
}
