/* Times are taken around every single query, so that the median and the tail can be told apart;
 * reading the clock costs some 25 ns, a thousandth of the shortest query here. */
#include "measure.h"

#include "hours.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECKED 20 /* queries whose checksums are compared */

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

int64_t bench_number(const char *text, int64_t min, int64_t max)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < min || value > max)
        bench_fail("%s: a number from %" PRId64 " to %" PRId64 " is expected", text, min, max);
    return value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double bench_median(double *took, size_t n)
{
    qsort(took, n, sizeof *took, by_value);
    return took[n / 2];
}

void *bench_room(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory) bench_fail("out of memory");
    return memory;
}

uint64_t bench_mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Every zone once, so that what is measured is a warm cache whatever the number of rounds. */
static void warm_up(int query, int rounds, bench_query run, void *ctx)
{
    int n = query == 3 ? rounds / 5 + 1 : HOURS_ZONES;
    for (int i = 0; i < n; i++)
        run(ctx, query, i % HOURS_ZONES + 1);
}

void bench_latency(const char *name, int query, int rounds, bench_query run, void *ctx)
{
    double *took = malloc((size_t)rounds * sizeof *took), sum = 0;
    uint64_t check = 0;
    if (!took) bench_fail("out of memory");
    warm_up(query, rounds, run, ctx);
    for (int i = 0; i < rounds; i++) {
        double begin = bench_now();
        uint64_t x = run(ctx, query, hours_zone(i));
        took[i] = bench_now() - begin;
        sum += took[i];
        if (i < CHECKED) check += x;
    }
    qsort(took, (size_t)rounds, sizeof *took, by_value);
    printf("latency %s Q%d %.2f %.2f %.2f %016" PRIx64 "\n", name, query, took[rounds / 2] * 1e6,
           took[rounds - 1 - rounds / 100] * 1e6, sum / rounds * 1e6, check);
    fflush(stdout);
    free(took);
}
