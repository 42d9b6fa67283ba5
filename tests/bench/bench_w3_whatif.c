/* Many scenarios over the same usage, in process and on one thread, and DuckDB doing the same:
 *
 * usage: bench_w3_whatif scenarios N             N tariffs of five tiers, one a line:
 *                                                number,b1..b4,p1..p5 (10^-12 of a request)
 *        bench_w3_whatif amounts UNITS SCENARIOS seconds and total: every amount of every scenario
 *                                                stored as int64, sorting the units included
 *        bench_w3_whatif totals UNITS SCENARIOS  seconds of sorting and of all totals, and total
 *        bench_w3_whatif duck UNITS SCENARIOS SQL
 *                                                seconds and total; SQL is over lbs(n) and scen
 *        bench_w3_whatif replay DATABASE ZONES N a year of bills under N scenarios that change
 * every price: seconds, and of them reading; bills; the totals before and after the first scenario
 */
#include "duck.h"
#include "measure.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/tariff.h"
#include "tollbook/whatif.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS     5
#define TIERS       5
#define FIRST_MONTH ((2025 - 1970) * 12)
#define MONTHS      12
#define NOW_US      INT64_C(1795217400000000) /* 2026-11-20T23:30Z */
#define CACHE_KIB   200000

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s: %s", err->field, err->message);
}

static void print_i128(tb_i128 value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(value)) = 0;
    printf(" %s", text);
}

/* --- tariffs --- */

static const int64_t bounds[TIERS - 1] = {100000000, 500000000, 2500000000, 10000000000};
static const int64_t prices[TIERS] = {600000, 455000, 372500, 248750, 123456};

/* Each number between half and one and a half times the public one. */
static void print_scenarios(int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        printf("%" PRId64, i);
        for (uint64_t k = 0; k < 2 * TIERS - 1; k++) {
            int64_t base = k < TIERS - 1 ? bounds[k] : prices[k - (TIERS - 1)];
            int64_t part = 500 + (int64_t)(bench_mix((uint64_t)i * 16 + k) % 1000);
            printf(",%" PRId64, base / 1000 * part);
        }
        printf("\n");
    }
}

static void read_tiers(FILE *f, tb_tiers *t)
{
    int64_t v[2 * TIERS - 1];
    *t = (tb_tiers){.mode = TB_GRADUATED, .n = TIERS};
    for (int k = 0; k < 2 * TIERS - 1; k++)
        if (fscanf(f, ",%" SCNd64, &v[k]) != 1) bench_fail("a scenario is incomplete");
    for (int k = 0; k < TIERS; k++) {
        tb_tier *tier = &t->tier[k];
        tier->from = k ? v[k - 1] : 0;
        tier->open = k == TIERS - 1;
        tier->to = tier->open ? 0 : v[k];
        tier->price = (tb_decimal){v[TIERS - 1 + k], 12};
    }
}

static tb_tiers *read_scenarios(const char *path, size_t *ret_n)
{
    size_t n = 0;
    long number;
    tb_tiers *tiers = bench_room(10000, sizeof *tiers);
    FILE *f = fopen(path, "r");
    if (!f) bench_fail("%s cannot be read", path);
    while (n < 10000 && fscanf(f, "%ld", &number) == 1)
        read_tiers(f, &tiers[n++]);
    fclose(f);
    *ret_n = n;
    return tiers;
}

static uint64_t *read_units(const char *path, size_t *ret_n)
{
    size_t n = 0, space = 1 << 20;
    uint64_t *units = bench_room(space, sizeof *units);
    FILE *f = fopen(path, "r");
    if (!f) bench_fail("%s cannot be read", path);
    while (n < space && fscanf(f, "%" SCNu64, &units[n]) == 1)
        n++;
    fclose(f);
    *ret_n = n;
    return units;
}

/* A tariff's amounts are at its own scale: totals are compared at 12 digits. */
static tb_i128 at_twelve(tb_i128 total, int scale)
{
    for (; scale < 12; scale++)
        total *= 10;
    return total;
}

typedef struct usage {
    uint64_t *units, *sorted, *scratch;
    tb_i128 *before;
    int64_t *amounts;
    size_t n;
    tb_tiers *tiers;
    size_t n_tiers;
} usage;

static void read_usage(usage *u, const char *units, const char *scenarios)
{
    u->units = read_units(units, &u->n);
    u->tiers = read_scenarios(scenarios, &u->n_tiers);
    u->sorted = bench_room(u->n, sizeof *u->sorted);
    u->scratch = bench_room(u->n, sizeof *u->scratch);
    u->before = bench_room(u->n + 1, sizeof *u->before);
    u->amounts = bench_room(u->n, sizeof *u->amounts);
}

static void release_usage(usage *u)
{
    free(u->units);
    free(u->tiers);
    free(u->sorted);
    free(u->scratch);
    free(u->before);
    free(u->amounts);
}

static void sort(usage *u)
{
    memcpy(u->sorted, u->units, u->n * sizeof *u->units);
    tb_units_sort(u->sorted, u->n, u->scratch);
}

static tb_i128 all_amounts(usage *u)
{
    tb_error err;
    tb_tariff tariff;
    tb_i128 sum = 0, total;
    for (size_t i = 0; i < u->n_tiers; i++) {
        must(tb_tariff_prepare(&u->tiers[i], &tariff, &err), &err);
        must(tb_tariff_amounts_sorted(&tariff, u->sorted, u->n, u->amounts, &total, &err), &err);
        sum += at_twelve(total, tariff.scale);
    }
    return sum;
}

static tb_i128 all_totals(usage *u)
{
    tb_error err;
    tb_tariff tariff;
    tb_i128 sum = 0, total;
    for (size_t i = 0; i < u->n_tiers; i++) {
        must(tb_tariff_prepare(&u->tiers[i], &tariff, &err), &err);
        must(tb_tariff_total_sorted(&tariff, u->sorted, u->before, u->n, &total, &err), &err);
        sum += at_twelve(total, tariff.scale);
    }
    return sum;
}

static void amounts(const char *units, const char *scenarios)
{
    usage u;
    double took[REPEATS];
    tb_i128 total = 0;
    read_usage(&u, units, scenarios);
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();
        sort(&u);
        total = all_amounts(&u);
        took[i] = bench_now() - begin;
    }
    printf("%.6f", bench_median(took, REPEATS));
    print_i128(total);
    printf("\n");
    release_usage(&u);
}

static void totals(const char *units, const char *scenarios)
{
    usage u;
    double sorting[REPEATS], adding[REPEATS];
    tb_i128 total = 0;
    read_usage(&u, units, scenarios);
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();
        sort(&u);
        tb_units_sum(u.sorted, u.n, u.before);
        double sorted = bench_now();
        total = all_totals(&u);
        sorting[i] = sorted - begin;
        adding[i] = bench_now() - sorted;
    }
    printf("%.6f %.6f", bench_median(sorting, REPEATS), bench_median(adding, REPEATS));
    print_i128(total);
    printf("\n");
    release_usage(&u);
}

static void duck_whatif(const char *units, const char *scenarios, const char *sql)
{
    duck d;
    duck_result result;
    double took[REPEATS];
    char load[4096];
    duck_start(&d, NULL);
    duck_exec(&d, "SET threads=1");
    snprintf(load, sizeof load,
             "CREATE TABLE lbs AS SELECT n FROM read_csv('%s',header=false,columns={'n':'BIGINT'})",
             units);
    duck_exec(&d, load);
    snprintf(load, sizeof load,
             "CREATE TABLE scen AS SELECT *,b1*p1 a1,b1*p1+(b2-b1)*p2 a2,"
             "b1*p1+(b2-b1)*p2+(b3-b2)*p3 a3,b1*p1+(b2-b1)*p2+(b3-b2)*p3+(b4-b3)*p4 a4 "
             "FROM read_csv('%s',header=false,columns={'sid':'BIGINT','b1':'BIGINT','b2':'BIGINT',"
             "'b3':'BIGINT','b4':'BIGINT','p1':'BIGINT','p2':'BIGINT','p3':'BIGINT','p4':'BIGINT',"
             "'p5':'BIGINT'})",
             scenarios);
    duck_exec(&d, load);
    char *total = NULL;
    for (int i = 0; i < REPEATS; i++) {
        if (total) d.free(total);
        double begin = bench_now();
        duck_run(&d, sql, &result);
        total = d.value_varchar(&result, 0, 0);
        took[i] = bench_now() - begin;
        d.destroy_result(&result);
    }
    printf("%.6f %s\n", bench_median(took, REPEATS), total);
    d.free(total);
    duck_stop(&d);
}

/* --- the year --- */

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
            must(tb_store_bill_input(y->store,
                                     &(tb_bill_query){account, FIRST_MONTH + month, TB_NOW, y->books,
                                                      y->n_books, NOW_US},
                                     &source, &err),
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
    y.scenarios = bench_room(y.n, sizeof *y.scenarios);
    make_scenarios(y.scenarios, y.n);
    for (int i = 0; i < REPEATS; i++) {
        replay_year(&y, zones);
        took[i] = y.took;
        reading[i] = y.reading;
    }
    const tb_whatif_group *g = y.result.groups;
    printf("%.6f %.6f %zu", bench_median(took, REPEATS), bench_median(reading, REPEATS), g->bills);
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
    if (strcmp(command, "scenarios") == 0)
        print_scenarios(bench_number(argv[2], 1, 10000));
    else if (strcmp(command, "amounts") == 0 && argc == 4)
        amounts(argv[2], argv[3]);
    else if (strcmp(command, "totals") == 0 && argc == 4)
        totals(argv[2], argv[3]);
    else if (strcmp(command, "duck") == 0 && argc == 5)
        duck_whatif(argv[2], argv[3], argv[4]);
    else if (strcmp(command, "replay") == 0 && argc == 5)
        replay(argv[2], bench_number(argv[3], 1, 1000000), bench_number(argv[4], 1, 1000));
    else
        bench_fail("usage: bench_w3_whatif scenarios|amounts|totals|duck|replay ...");
    return 0;
}
