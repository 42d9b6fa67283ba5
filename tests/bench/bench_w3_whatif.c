/* Many scenarios over the same usage, in process and on one thread:
 *
 * usage: bench_w3_whatif replay DATABASE ZONES N
 *
 * A year of bills under N scenarios that change every price: seconds, and of them reading; bills;
 * the totals before and after the first scenario. */
#include "measure.h"
#include "tollbook/charges.h"
#include "tollbook/whatif.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS     5
#define FIRST_MONTH ((2025 - 1970) * 12)
#define MONTHS      12
#define NOW_US      INT64_C(1795217400000000) /* 2026-11-20T23:30Z */
#define CACHE_KIB   200000

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s: %s", err->field, err->message);
}

static void *room(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory) bench_fail("out of memory");
    return memory;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *took, size_t n)
{
    qsort(took, n, sizeof *took, by_value);
    return took[n / 2];
}

static void print_i128(tb_i128 value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(value)) = 0;
    printf(" %s", text);
}

static void make_scenarios(tb_scenario *scenarios, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[512];
        tb_error err;
        int len = snprintf(text, sizeof text,
                           "{\"scenario\":\"s%zu\",\"base\":\"bench\",\"patch\":{\"bandwidth\":{"
                           "\"premium\":{\"regions\":{\"EU\":\"0.%05zu\",\"NA\":\"0.%05zu\","
                           "\"ASIA\":\"0.%05zu\",\"SA\":\"0.%05zu\",\"AF\":\"0.%05zu\"}}}}}",
                           i, 1100 + i, 1001 + 3 * i, 2901 + 7 * i, 4600 + i, 5999 + i);
        must(tb_scenario_parse(text, (size_t)len, NULL, &scenarios[i], &err), &err);
    }
}

typedef struct year {
    tb_store *store;
    tb_book *books;
    size_t n_books;
    tb_scenario *scenarios;
    size_t n;
    tb_whatif *replay;
    tb_whatif_result result; /* of the first scenario */
    double took, reading;
} year;

static void feed_year(year *y, int64_t zones)
{
    tb_error err;
    must(tb_store_read_begin(y->store, &err), &err);
    for (int64_t account = 1; account <= zones; account++)
        for (int month = 0; month < MONTHS; month++) {
            tb_bill_source source;
            double begin = bench_now();
            must(tb_store_bill_input(y->store, account, FIRST_MONTH + month, TB_NOW, y->books,
                                     y->n_books, NOW_US, &source, &err),
                 &err);
            y->reading += bench_now() - begin;
            must(tb_whatif_add(y->replay, &source.input, &err), &err);
            tb_bill_source_release(&source);
        }
    tb_store_read_end(y->store);
}

/* All results are made, as an answer would need them. */
static void replay_year(year *y, int64_t zones)
{
    tb_error err;
    double begin = bench_now();
    y->reading = 0;
    must(tb_whatif_new(y->scenarios, y->n, y->books, y->n_books, NULL, &y->replay, &err), &err);
    feed_year(y, zones);
    must(tb_whatif_finish(y->replay, &err), &err);
    for (size_t i = y->n; i-- > 0;) {
        tb_whatif_result_release(&y->result);
        must(tb_whatif_result_make(y->replay, i, &y->result, &err), &err);
    }
    y->took = bench_now() - begin;
    tb_whatif_free(y->replay);
}

static void replay(const char *path, int64_t zones, int64_t n)
{
    year y = {.n = (size_t)n};
    tb_error err;
    tb_store_options options = {.owner = "bench", .cache_kib = CACHE_KIB, .now_us = NOW_US};
    double took[REPEATS], reading[REPEATS];
    must(tb_store_open(path, &options, &y.store, &err), &err);
    must(tb_store_books(y.store, &y.books, &y.n_books, &err), &err);
    y.scenarios = room(y.n, sizeof *y.scenarios);
    make_scenarios(y.scenarios, y.n);
    for (int i = 0; i < REPEATS; i++) {
        replay_year(&y, zones);
        took[i] = y.took;
        reading[i] = y.reading;
    }
    const tb_whatif_group *g = y.result.groups;
    printf("%.6f %.6f %zu", median(took, REPEATS), median(reading, REPEATS), g->bills);
    print_i128(g->total.before.mantissa);
    print_i128(g->total.after.mantissa);
    printf("\n");
    tb_whatif_result_release(&y.result);
    for (size_t i = 0; i < y.n; i++)
        tb_scenario_release(&y.scenarios[i]);
    free(y.scenarios);
    tb_books_release(y.books, y.n_books);
    free(y.books);
    tb_store_close(y.store);
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[1] : "";
    if (strcmp(command, "replay") == 0 && argc == 5)
        replay(argv[2], bench_number(argv[3], 1, 1000000), bench_number(argv[4], 1, 1000));
    else
        bench_fail("usage: bench_w3_whatif replay DATABASE ZONES N");
    return 0;
}
