/* Amounts of many balancers, and the peer that makes a table of them, in process on one thread:
 *
 * usage: bench_w3_rate units N            the requests of N balancers, one a line
 *        bench_w3_rate rate UNITS BOOK    seconds, scale and total by tb_tariff_amounts
 *        bench_w3_rate duck UNITS SQL     seconds and total: DuckDB makes a table with SQL, whose
 *                                         input is the column n of lbs, whose output is amount */
#include "duck.h"
#include "measure.h"
#include "tollbook/tariff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS 7

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s", err->message);
}

static void print_i128(tb_i128 value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(value)) = 0;
    printf(" %s", text);
}

/* Log-uniform from a thousand to half a million million: every tier has its share. */
static void print_units(int64_t n)
{
    for (int64_t i = 1; i <= n; i++) {
        double share = (double)(bench_mix((uint64_t)i) >> 11) * 0x1p-53;
        printf("%" PRIu64 "\n", (uint64_t)exp(6.9 + 20 * share));
    }
}

static uint64_t *read_units(const char *path, size_t *ret_n)
{
    size_t n = 0, space = 1 << 20;
    uint64_t *units = bench_room(space, sizeof *units);
    FILE *f = fopen(path, "r");
    if (!f) bench_fail("%s cannot be read", path);
    while (fscanf(f, "%" SCNu64, &units[n]) == 1) {
        if (++n < space) continue;
        units = realloc(units, (space *= 2) * sizeof *units);
        if (!units) bench_fail("out of memory");
    }
    fclose(f);
    *ret_n = n;
    return units;
}

static void read_book(const char *path, tb_book *book)
{
    static char text[65536];
    tb_error err;
    FILE *f = fopen(path, "r");
    if (!f) bench_fail("%s cannot be read", path);
    size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    must(tb_book_parse(text, len, NULL, book, &err), &err);
}

static void rate(const char *path, const char *book_path)
{
    size_t n;
    double took[REPEATS];
    tb_error err;
    tb_book book;
    tb_tariff tariff;
    tb_i128 total = 0;
    uint64_t *units = read_units(path, &n);
    read_book(book_path, &book);
    for (int i = 0; i < REPEATS; i++) { /* into fresh memory, as a table would be */
        double begin = bench_now();
        int64_t *amounts = malloc(n * sizeof *amounts);
        if (!amounts) bench_fail("out of memory");
        must(tb_tariff_prepare(&book.balancer, &tariff, &err), &err);
        must(tb_tariff_amounts(&tariff, units, n, amounts, &total, &err), &err);
        took[i] = bench_now() - begin;
        free(amounts);
    }
    printf("%.6f %d", bench_median(took, REPEATS), tariff.scale);
    print_i128(total);
    printf("\n");
    tb_book_release(&book);
    free(units);
}

/* The table alone is timed, its sum is not. */
static void duck_rate(const char *path, const char *sql)
{
    duck d;
    duck_result result;
    double took[REPEATS];
    char load[4096], make[4096];
    snprintf(load, sizeof load,
             "CREATE TABLE lbs AS SELECT n FROM read_csv('%s',header=false,"
             "columns={'n':'BIGINT'})",
             path);
    snprintf(make, sizeof make, "CREATE OR REPLACE TEMP TABLE rated AS %s", sql);
    duck_start(&d, NULL);
    duck_exec(&d, "SET threads=1");
    duck_exec(&d, load);
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();
        duck_exec(&d, make);
        took[i] = bench_now() - begin;
    }
    duck_run(&d, "SELECT sum(amount) FROM rated", &result);
    char *total = d.value_varchar(&result, 0, 0);
    printf("%.6f %s\n", bench_median(took, REPEATS), total);
    d.free(total);
    d.destroy_result(&result);
    duck_stop(&d);
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[1] : "";
    if (strcmp(command, "units") == 0)
        print_units(bench_number(argv[2], 1, 100000000));
    else if (strcmp(command, "rate") == 0 && argc == 4)
        rate(argv[2], argv[3]);
    else if (strcmp(command, "duck") == 0 && argc == 4)
        duck_rate(argv[2], argv[3]);
    else
        bench_fail("usage: bench_w3_rate units|rate|duck ...");
    return 0;
}
