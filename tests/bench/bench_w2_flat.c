/* The limit of the statistics workload: the same queries on flat arrays in memory, ordered by
 * (zone, hour) and by (zone, day). No index, no SQL, no checks.
 *
 * usage: bench_w2_flat [QUICK]     a number above 1 divides the rounds */
#include "hours.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    uint32_t zone, bucket;
    int64_t value[HOURS_METRICS];
} row;

typedef struct flat {
    row *hours, *days;
} flat;

static void add(int64_t *to, const int64_t *from)
{
    for (int i = 0; i < HOURS_METRICS; i++)
        to[i] += from[i];
}

static void *claim(size_t n)
{
    void *memory = calloc(n, sizeof(row));
    if (!memory) bench_fail("out of memory");
    return memory;
}

static void fill(flat *f)
{
    f->hours = claim((size_t)HOURS_ZONES * HOURS_COUNT);
    f->days = claim((size_t)HOURS_ZONES * HOURS_DAYS);
    row *r = f->hours;
    for (int zone = 1; zone <= HOURS_ZONES; zone++)
        for (int i = 0; i < HOURS_COUNT; i++, r++) {
            row *day = &f->days[(zone - 1) * HOURS_DAYS + i / 24];
            r->zone = day->zone = (uint32_t)zone;
            r->bucket = (uint32_t)(HOURS_BEGIN + i);
            day->bucket = r->bucket / 24;
            hours_row(zone, r->bucket, r->value);
            add(day->value, r->value);
        }
}

typedef struct line {
    int64_t bucket, value[HOURS_METRICS];
} line;

/* The answer is copied out, as a caller would have it, and summed up from there. */
static uint64_t sum(const line *lines, int n)
{
    uint64_t total = 0;
    for (int i = 0; i < n; i++) {
        total += (uint64_t)lines[i].bucket;
        for (int m = 0; m < HOURS_METRICS; m++)
            total += (uint64_t)lines[i].value[m];
    }
    return total;
}

static uint64_t query(void *ctx, int query, int zone)
{
    static line out[720];
    const flat *f = ctx;
    hours_span span = hours_query(query);
    int n = query == 1 ? HOURS_COUNT : HOURS_DAYS;
    const row *all = query == 1 ? f->hours : f->days;
    if (query != 1) memset(out, 0, (size_t)span.count * sizeof *out);
    for (int z = query == 3 ? 1 : zone; z <= (query == 3 ? HOURS_ZONES : zone); z++) {
        const row *r = all + (size_t)z * (size_t)n - span.count;
        for (int i = 0; i < span.count; i++, r++) {
            out[i].bucket = r->bucket;
            if (query == 1) memcpy(out[i].value, r->value, sizeof r->value);
            else add(out[i].value, r->value);
        }
    }
    return sum(out, span.count);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 ? (int)bench_number(argv[1], 1, 100) : 1;
    flat f;
    fill(&f);
    bench_latency("flat", 1, 5000 / quick, query, &f);
    bench_latency("flat", 2, 5000 / quick, query, &f);
    bench_latency("flat", 3, 500 / quick, query, &f);
    return 0;
}
