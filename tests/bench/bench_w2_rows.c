/* The rows of the statistics workload for a peer that loads them from a stream: ClickHouse's
 * RowBinary, that is zone and hour as 32 bits without a sign, then the counters as 64 bits with
 * one, lowest byte first and nothing in between.
 *
 * usage: bench_w2_rows     on standard output, by zone and hour */
#include "hours.h"
#include "measure.h"

#include <stdio.h>

#define ROW_BYTES (2 * 4 + HOURS_METRICS * 8)

static unsigned char *put(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *out++ = (unsigned char)(value >> 8 * i);
    return out;
}

static void write_row(int zone, int64_t hour)
{
    int64_t value[HOURS_METRICS];
    unsigned char row[ROW_BYTES], *at = put(put(row, (uint64_t)zone, 4), (uint64_t)hour, 4);
    hours_row(zone, hour, value);
    for (int m = 0; m < HOURS_METRICS; m++)
        at = put(at, (uint64_t)value[m], 8);
    if (fwrite(row, 1, sizeof row, stdout) != sizeof row) bench_fail("rows cannot be written");
}

int main(void)
{
    for (int zone = 1; zone <= HOURS_ZONES; zone++)
        for (int64_t hour = HOURS_BEGIN; hour < HOURS_END; hour++)
            write_row(zone, hour);
    if (fflush(stdout)) bench_fail("rows cannot be written");
    return 0;
}
