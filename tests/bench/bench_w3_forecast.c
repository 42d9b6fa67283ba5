/* A forecast of one account, in process and on one thread: the scan that feeds it against its
 * paths.
 *
 * usage: bench_w3_forecast DATABASE     account 1, December 2025 from the 21st on
 *
 * Prints seconds of: reading a year of the account's days; all that a forecast reads (26 weeks of
 * days, the month so far, the month before as a bill); the forecast itself, fits and 10,000 rated
 * paths. Then the paths, and the mean amount. */
#include "measure.h"
#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/forecast.h"

#include <stdio.h>
#include <stdlib.h>

#define REPEATS 3
#define MONTH   ((2025 - 1970) * 12 + 11)

typedef struct bench {
    tb_store *store;
    tb_book *books;
    size_t n_books;
    tb_usage_history history;
    tb_bill_source month, before;
    tb_forecast forecast;
    int64_t from_us, end_us;
} bench;

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s", err->message);
}

static double read_year(bench *b)
{
    tb_error err;
    tb_usage_history year;
    int64_t end = tb_day_from_us(b->from_us);
    double begin = bench_now();
    must(tb_store_usage_history(b->store, 1, end - 365, end, b->from_us, &year, &err), &err);
    double took = bench_now() - begin;
    tb_usage_history_release(&year);
    return took;
}

static double read_inputs(bench *b)
{
    tb_error err;
    tb_bill bill;
    int64_t end = tb_day_from_us(b->from_us);
    double begin = bench_now();
    must(tb_store_usage_history(b->store, 1, end - TB_FORECAST_DAYS, end, b->from_us, &b->history,
                                &err),
         &err);
    must(tb_store_bill_input_until(
             b->store, &(tb_bill_query){1, MONTH, TB_NOW, b->books, b->n_books, b->end_us},
             b->from_us, &b->month, &err),
         &err);
    must(tb_store_bill_input(b->store, &(tb_bill_query){1, MONTH - 1, TB_NOW, b->books, b->n_books, b->end_us},
                             &b->before, &err),
         &err);
    must(tb_bill_rate(&b->before.input, NULL, &bill, &err), &err);
    tb_bill_release(&bill);
    return bench_now() - begin;
}

static double draw(bench *b)
{
    tb_error err;
    tb_forecast_input input = {.month = &b->month.input,
                               .history = &b->history,
                               .from_us = b->from_us,
                               .seed = TB_FORECAST_SEED,
                               .paths = TB_FORECAST_PATHS};
    double begin = bench_now();
    must(tb_forecast_make(&input, NULL, &b->forecast, &err), &err);
    return bench_now() - begin;
}

static void measure(bench *b)
{
    tb_error err;
    double year[REPEATS], inputs[REPEATS], paths[REPEATS];
    must(tb_store_read_begin(b->store, &err), &err);
    read_year(b); /* pages come into the cache */
    for (int i = 0; i < REPEATS; i++) {
        year[i] = read_year(b);
        inputs[i] = read_inputs(b);
        paths[i] = draw(b);
        tb_usage_history_release(&b->history);
        tb_bill_source_release(&b->month);
        tb_bill_source_release(&b->before);
    }
    tb_store_read_end(b->store);
    printf("%.6f %.6f %.6f %u %.2f\n", bench_median(year, REPEATS), bench_median(inputs, REPEATS), bench_median(paths, REPEATS),
           (unsigned)b->forecast.paths, (double)b->forecast.net.mean / 100);
}

int main(int argc, char **argv)
{
    tb_error err;
    bench b = {.end_us = tb_month_first_day(MONTH + 1) * TB_US_PER_DAY,
               .from_us = (tb_month_first_day(MONTH) + 20) * TB_US_PER_DAY};
    tb_store_options options = {.cache_kib = 200000};
    if (argc != 2) bench_fail("usage: bench_w3_forecast DATABASE");
    tb_advice_start();
    must(tb_store_open(argv[1], &options, &b.store, &err), &err);
    must(tb_store_books(b.store, &b.books, &b.n_books, &err), &err);
    measure(&b);
    tb_books_release(b.books, b.n_books);
    free(b.books);
    tb_store_close(b.store);
    return 0;
}
