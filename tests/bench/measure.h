/* What the benches share: a clock, and the loop that times queries and prints one line for each. */
#ifndef TOLLBOOK_BENCH_MEASURE_H
#define TOLLBOOK_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double bench_now(void); /* seconds, monotonic */

/* Says why on standard error and ends the program: a bench that goes on after a failure measures
 * something else. */
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory, else bench_fail; free(). */
void *bench_room(size_t n, size_t size);

/* The middle one; sorts them. */
double bench_median(double *took, size_t n);

/* A number that looks random, the same for the same z (splitmix64). */
uint64_t bench_mix(uint64_t z);

/* A decimal argument from min to max, else bench_fail. */
int64_t bench_number(const char *text, int64_t min, int64_t max);

/* Runs one query and returns a checksum of every value it fetched, time index included. */
typedef uint64_t (*bench_query)(void *ctx, int query, int zone);

/* Runs the query `rounds` times over the plan's zones, after every zone once to warm up, and prints
 *   latency NAME QUERY p50_us p99_us mean_us checksum
 * where the checksum is the sum over the plan's first 20 queries. */
void bench_latency(const char *name, int query, int rounds, bench_query run, void *ctx);

#endif
