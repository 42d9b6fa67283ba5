/* Traffic falls with the zone's number, follows the hour of the day and has some eight per cent of
 * noise from a hash of (zone, hour): every program makes the same rows without a file between. */
#include "hours.h"

static const int of_day[24] = {60, 52, 46, 42, 40,  42,  50,  62,  76,  86,  92,  96,
                               98, 100, 102, 104, 106, 110, 116, 122, 120, 110, 92, 74};

/* splitmix64 */
static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* A noise of low .. low+range-1 from some bits of a hash. */
static int64_t noise(uint64_t hash, unsigned shift, int64_t low, int64_t range)
{
    return low + (int64_t)(hash >> shift) % range;
}

void hours_row(int zone, int64_t hour, int64_t out[HOURS_METRICS])
{
    uint64_t r = mix((uint64_t)zone << 32 ^ (uint64_t)hour), q = mix(r);
    int64_t requests = (2000000 / zone + 20) * of_day[hour % 24] / 80;
    requests = requests * (900 + (int64_t)(r % 200)) / 1000;
    int64_t hits = requests * noise(r, 20, 880, 80) / 1000, misses = requests - hits;
    int64_t bytes = requests * noise(r, 30, 18000, 9000);
    int64_t cached = bytes / 100 * (85 + (int64_t)(q % 12));
    out[0] = requests;
    out[1] = bytes;
    out[2] = hits;
    out[3] = cached;
    out[4] = requests * noise(q, 8, 30, 30) / 1000;
    out[5] = requests * noise(q, 16, 5, 20) / 1000;
    out[6] = requests * noise(q, 24, 0, 5) / 1000;
    out[7] = misses;
    out[8] = bytes - cached;
    out[9] = misses * noise(q, 32, 40, 90);
    out[10] = misses / 2;
    out[11] = out[8] / 2;
}

int hours_zone(int i)
{
    return (int)(mix(0xABCD + (uint64_t)i) % HOURS_ZONES) + 1;
}

hours_span hours_query(int query)
{
    if (query == 1) return (hours_span){HOURS_END - 720, 720};
    int days = query == 2 ? 365 : 30;
    return (hours_span){HOURS_END / 24 - days, days};
}
