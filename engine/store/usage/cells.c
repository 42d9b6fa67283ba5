#include "store/usage/cells.h"

#include "base/hash.h"

#include <string.h>

#define HOURS 24

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Of the place and day; the rest of a cell's key is mixed in by the caller. */
static uint64_t hash_of_day(const tb_rollup_day *day)
{
    const uint64_t numbers[3] = {(uint64_t)day->scope, (uint64_t)day->id, (uint64_t)day->day};
    char bytes[sizeof numbers + TB_EDGE_MAX];
    const size_t edge = day->edge_len <= TB_EDGE_MAX ? day->edge_len : TB_EDGE_MAX;
    memcpy(bytes, numbers, sizeof numbers);
    if (edge) memcpy(bytes + sizeof numbers, day->edge, edge);
    return XXH3_64bits(bytes, sizeof numbers + edge);
}

uint64_t tb__cells_of(const tb_rollup_day *day, const tb_grid *hours)
{
    const uint64_t place = hash_of_day(day);
    uint64_t sum = 0;
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        for (uint32_t slots = hours->slots; slots; slots &= slots - 1) {
            const unsigned h = (unsigned)__builtin_ctz(slots);
            sum += hours->v[m][h] * mix(place + m * HOURS + h); /* zeros add nothing; to ask costs more */
        }
    }
    return sum;
}

void tb__count_sums(tb_u128 sums[TB_METRIC_COUNT], uint64_t *cells, const tb_rollup_day *day,
                    const tb_grid *hours)
{
    *cells += tb__cells_of(day, hours);
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        for (uint32_t slots = hours->slots; slots; slots &= slots - 1)
            sums[m] += hours->v[m][__builtin_ctz(slots)];
    }
}
