/* A year's bills of many accounts with one zone each, in process and on one thread, and the peer
 * that only sums the same days:
 *
 * usage: bench_w3_bills scan ROWS              SQLite's rows, summed by month and region
 *        bench_w3_bills bill DATABASE ZONES    a bill for each account and month
 *        bench_w3_bills issue DATABASE ZONES   the same, each stored as a final invoice
 *
 * Prints seconds, all bytes, a checksum over (zone, month, region, bytes) and the number of bills;
 * then, of bills, the seconds of reading and of rating. */
#include "measure.h"
#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/invoice.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS     3
#define FIRST_MONTH ((2025 - 1970) * 12)
#define MONTHS      12
#define FIRST_DAY   20089                     /* 2025-01-01 */
#define NOW_US      INT64_C(1795217400000000) /* 2026-11-20T23:30Z */
#define REGIONS     5
#define TOGETHER    100    /* accounts in a transaction */
#define CACHE_KIB   200000 /* the same for store and rows */

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

/* --- a year's bills --- */

/* What both sides must agree on: all bytes, and a sum over (zone, month, place) that a byte in a
 * wrong place changes. Order does not matter. */
typedef struct sums {
    tb_i128 bytes;
    uint64_t check;
} sums;

static void add(sums *s, int64_t zone, int month, int place, tb_i128 bytes)
{
    s->bytes += bytes;
    s->check += (uint64_t)bytes * bench_mix((uint64_t)(zone * 1000 + month * 10 + place));
}

static void print_sums(double took, const sums *s, size_t n)
{
    printf("%.6f", took);
    print_i128(s->bytes);
    printf(" %016" PRIx64 " %zu\n", s->check, n);
}

static int month_of(int64_t day)
{
    return (int)(tb_month_from_day(day) - FIRST_MONTH);
}

/* Months by day of the year are looked up: the scan does nothing but step and add. */
static double scan(sqlite3_stmt *rows, sums *ret)
{
    int month[366];
    tb_i128 sum[MONTHS][REGIONS] = {{0}};
    int64_t zone = 0;
    *ret = (sums){0};
    for (int d = 0; d < 365; d++)
        month[d] = month_of(FIRST_DAY + d);
    double begin = bench_now();
    for (bool more = true; more;) {
        more = sqlite3_step(rows) == SQLITE_ROW;
        int64_t next = more ? sqlite3_column_int64(rows, 0) : 0;
        if (next != zone) {
            for (int m = 0; zone && m < MONTHS; m++)
                for (int r = 0; r < REGIONS; r++)
                    add(ret, zone, m, r, sum[m][r]);
            memset(sum, 0, sizeof sum);
            zone = next;
        }
        if (!more) break;
        int64_t d = sqlite3_column_int64(rows, 2) - FIRST_DAY;
        if (d < 0 || d > 364) bench_fail("a day of another year");
        sum[month[d]][sqlite3_column_int(rows, 1)] += sqlite3_column_int64(rows, 3);
    }
    double took = bench_now() - begin;
    sqlite3_reset(rows);
    return took;
}

static void scan_rows(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *rows;
    sums s;
    double took[REPEATS];
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
        bench_fail("%s", sqlite3_errmsg(db));
    sqlite3_exec(db, "PRAGMA mmap_size=8000000000; PRAGMA cache_size=-200000", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(db, "SELECT zone,region,day,bytes FROM day", -1, &rows, NULL))
        bench_fail("%s", sqlite3_errmsg(db));
    for (int i = 0; i < REPEATS; i++)
        took[i] = scan(rows, &s);
    print_sums(bench_median(took, REPEATS), &s, 0);
    sqlite3_finalize(rows);
    sqlite3_close(db);
}

typedef struct biller {
    tb_store *store;
    tb_book *books;
    size_t n_books;
    double reading, rating;
    size_t bills;
    sums sums;
} biller;

static void open_biller(biller *b, const char *path, bool write)
{
    tb_error err;
    tb_store_options options = {
        .write = write, .owner = "bench", .cache_kib = CACHE_KIB, .now_us = NOW_US};
    *b = (biller){0};
    must(tb_store_open(path, &options, &b->store, &err), &err);
    must(tb_store_books(b->store, &b->books, &b->n_books, &err), &err);
}

static void close_biller(biller *b)
{
    tb_books_release(b->books, b->n_books);
    free(b->books);
    tb_store_close(b->store);
}

/* Accounts and zones have the same numbers: one zone each. */
static void make_bill(biller *b, int64_t account, int month, tb_bill_source *source, tb_bill *bill)
{
    tb_error err;
    double begin = bench_now();
    must(tb_store_bill_input(b->store,
                             &(tb_bill_query){account, FIRST_MONTH + month, TB_NOW, b->books, b->n_books, NOW_US},
                             source, &err),
         &err);
    double read = bench_now();
    must(tb_bill_rate(&source->input, NULL, bill, &err), &err);
    b->reading += read - begin;
    b->rating += bench_now() - read;
    if (bill->n_lines != REGIONS || bill->n_unpriced)
        bench_fail("account %" PRId64 ": %zu lines", account, bill->n_lines);
    b->bills++;
    for (size_t i = 0; i < source->input.n_bytes; i++) {
        const tb_bill_bytes *bytes = &source->input.bytes[i];
        add(&b->sums, bytes->zone, month, (int)bytes->region, bytes->bytes);
    }
}

static void bill_year(biller *b, int64_t zones)
{
    tb_error err;
    must(tb_store_read_begin(b->store, &err), &err);
    for (int64_t account = 1; account <= zones; account++)
        for (int month = 0; month < MONTHS; month++) {
            tb_bill_source source;
            tb_bill bill;
            make_bill(b, account, month, &source, &bill);
            tb_bill_release(&bill);
            tb_bill_source_release(&source);
        }
    tb_store_read_end(b->store);
}

static void bill_all(const char *path, int64_t zones)
{
    biller b;
    double took[REPEATS], reading[REPEATS], rating[REPEATS];
    open_biller(&b, path, false);
    for (int i = 0; i < REPEATS; i++) {
        b.reading = b.rating = 0;
        b.bills = 0;
        b.sums = (sums){0};
        double begin = bench_now();
        bill_year(&b, zones);
        took[i] = bench_now() - begin;
        reading[i] = b.reading;
        rating[i] = b.rating;
    }
    print_sums(bench_median(took, REPEATS), &b.sums, b.bills);
    printf("%.6f %.6f\n", bench_median(reading, REPEATS), bench_median(rating, REPEATS));
    close_biller(&b);
}

/* --- and stored --- */

static tb_code finish(void *ctx, const char *number, const char *previous, tb_buf *text,
                      char sha256[65], tb_error *err)
{
    tb_statement *s = ctx;
    snprintf(s->number, sizeof s->number, "%s", number);
    snprintf(s->previous, sizeof s->previous, "%s", previous);
    snprintf(s->state, sizeof s->state, "final");
    return tb_statement_json(s, text, sha256, err);
}

static void store_bill(biller *b, const tb_bill_source *source, const tb_bill *bill)
{
    tb_error err;
    tb_statement_book books[4];
    tb_statement s;
    bool known = true;
    tb_invoice invoice = {.kind = "invoice",
                          .state = TB_INVOICE_FINAL,
                          .account = source->input.account,
                          .month = source->input.month,
                          .watermark = source->watermark,
                          .finalized_us = NOW_US};
    if (source->input.n_parts > 4) bench_fail("too many books");
    tb_statement_init(&s, &source->input, bill, books);
    s.watermark = source->watermark;
    memcpy(invoice.currency, s.currency, sizeof invoice.currency);
    *tb_decimal_put_fixed(invoice.total, bill->total, bill->minor_digits) = 0;
    must(tb_store_finalize(b->store, &invoice, finish, &s, &known, &err), &err);
    if (known) bench_fail("account %" PRId64 " has its invoice already", invoice.account);
    tb_invoice_release(&invoice);
}

static void issue_all(const char *path, int64_t zones)
{
    biller b;
    tb_error err;
    open_biller(&b, path, true);
    double begin = bench_now();
    for (int64_t account = 1; account <= zones; account++) {
        if (account % TOGETHER == 1) must(tb_store_begin(b.store, &err), &err);
        for (int month = 0; month < MONTHS; month++) {
            tb_bill_source source;
            tb_bill bill;
            make_bill(&b, account, month, &source, &bill);
            store_bill(&b, &source, &bill);
            tb_bill_release(&bill);
            tb_bill_source_release(&source);
        }
        if (account % TOGETHER == 0 || account == zones) must(tb_store_commit(b.store, &err), &err);
    }
    print_sums(bench_now() - begin, &b.sums, b.bills);
    printf("%.6f %.6f\n", b.reading, b.rating);
    close_biller(&b);
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[1] : "";
    if (strcmp(command, "scan") == 0)
        scan_rows(argv[2]);
    else if (strcmp(command, "bill") == 0 && argc == 4)
        bill_all(argv[2], bench_number(argv[3], 1, 1000000));
    else if (strcmp(command, "issue") == 0 && argc == 4)
        issue_all(argv[2], bench_number(argv[3], 1, 1000000));
    else
        bench_fail("usage: bench_w3_bills scan|bill|issue ...");
    return 0;
}
