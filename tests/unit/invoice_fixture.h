/* A small month with one of everything, for the tests of invoices' forms. */
#ifndef TESTS_UNIT_INVOICE_FIXTURE_H
#define TESTS_UNIT_INVOICE_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/invoice.h"
#include "unit/decimals.h"

#define FIXTURE_MONTH 681 /* October 2026 */

static inline tb_sum summed(const char *text)
{
    tb_sum sum = TB_SUM_ZERO;
    ck_assert_int_eq(tb_sum_add(&sum, dec(text), NULL), TB_OK);
    return sum;
}

static inline tb_bill_line make_line(tb_line_kind kind, int64_t id, const char *resource,
                                     const char *region, tb_i128 quantity, const char *exact,
                                     const char *amount)
{
    tb_bill_line line = {.kind = kind,
                         .id = id,
                         .quantity = quantity,
                         .exact = dec(exact),
                         .amount = dec(amount),
                         .period_month = FIXTURE_MONTH};
    strncpy(line.resource, resource, sizeof line.resource - 1);
    strncpy(line.region, region, sizeof line.region - 1);
    return line;
}

static inline tb_bill_tier make_tier(tb_i128 from, tb_i128 to, const char *price, const char *shown,
                                     const char *amount)
{
    return (tb_bill_tier){.from = from,
                          .to = to,
                          .units = to - from,
                          .price = dec(price),
                          .shown = dec(shown),
                          .amount = dec(amount)};
}

typedef struct fixture {
    tb_bill_line lines[6];
    tb_bill_tier premium[1], volume[2], requests[1], fee[1];
    tb_bill_share shares[2];
    tb_unpriced unpriced[1];
    tb_statement_book books[2];
    tb_bill_taxed tax[2];
    tb_bill bill;
    tb_statement s;
} fixture;

static inline void fixture_lines(fixture *f)
{
    f->premium[0] = make_tier(0, 123456, "0.00000000001", "0.01", "0.00000123456");
    f->volume[0] = make_tier(0, 500000000000000, "0.000000000005", "0.005", "2500");
    f->volume[1] =
        make_tier(500000000000000, 500000000000003, "0.000000000004", "0.004", "0.000000000012");
    f->requests[0] = make_tier(50000000, 51500000, "0.00000065", "0.65", "0.975");
    f->shares[0] = (tb_bill_share){.zone = 102,
                                   .bytes = 400000000000000,
                                   .amount = dec("2000.00"),
                                   .exact = dec("2000.0000000000095")};
    f->shares[1] = (tb_bill_share){.zone = 104,
                                   .bytes = 100000000000003,
                                   .amount = dec("500.00"),
                                   .exact = dec("500.0000000000025")};
    f->lines[0] =
        make_line(TB_LINE_BANDWIDTH, 101, "zone:101", "EU", 123456, "0.00000123456", "0.00");
    f->lines[0].evidence = (tb_evidence){.from_us = INT64_C(1790812800000000),
                                         .to_us = INT64_C(1793491200000000),
                                         .buckets = 2,
                                         .hash = "0123456789abcdef0123456789abcdef"};
    f->lines[0].tiers = f->premium;
    f->lines[0].n_tiers = 1;
    f->lines[1] = make_line(TB_LINE_VOLUME, 1, "account:1", "", 500000000000003,
                            "2500.000000000012", "2500.00");
    f->lines[1].tiers = f->volume;
    f->lines[1].n_tiers = 2;
    f->lines[1].shares = f->shares;
    f->lines[1].n_shares = 2;
    f->lines[2] = make_line(TB_LINE_OPTIMIZER, 103, "zone:103", "", 2678400, "9.5", "9.50");
    f->fee[0] = make_tier(0, 2678400, "9.5", "9.5", "9.5");
    f->lines[3] = make_line(TB_LINE_BALANCER_FEE, 7, "load_balancer:7", "", 2678400, "9.5", "9.50");
    f->lines[3].tiers = f->fee;
    f->lines[3].n_tiers = 1;
    f->lines[4] =
        make_line(TB_LINE_BALANCER_REQUESTS, 7, "load_balancer:7", "", 51500000, "0.975", "0.98");
    f->lines[4].tiers = f->requests;
    f->lines[4].n_tiers = 1;
    f->lines[5] = make_line(TB_LINE_MINIMUM, 1, "account:1", "", 1, "0", "0.00");
    for (uint32_t i = 0; i < 6; i++)
        f->lines[i].number = i + 1;
}

/* The pointers inside lead into f: it must not be moved. */
static inline void fixture_make(fixture *f)
{
    memset(f, 0, sizeof *f);
    fixture_lines(f);
    f->unpriced[0] = (tb_unpriced){.resource = "zone:105",
                                   .what = "QQ",
                                   .quantity = 77,
                                   .unit = "byte",
                                   .reason = "Name \"QQ\" in a region."};
    f->bill = (tb_bill){.lines = f->lines,
                        .n_lines = 6,
                        .unpriced = f->unpriced,
                        .n_unpriced = 1,
                        .subtotal = dec("2519.98"),
                        .total = dec("3074.38"),
                        .exact = summed("2519.975001234572"),
                        .residual = dec("0.004998765428"),
                        .tax = f->tax,
                        .n_tax = 1,
                        .minor_digits = 2};
    f->tax[0] = (tb_bill_taxed){.rate = {.name = "VAT, 22 %", .percent = dec("22")},
                                     .base = dec("2519.98"),
                                     .amount = dec("554.40")};
    f->books[0] = (tb_statement_book){.id = "standard-2026", .from_us = INT64_C(1790812800000000)};
    memset(f->books[0].sha256, 'a', 64);
    f->s = (tb_statement){.version = TB_INVOICE_VERSION,
                          .kind = "invoice",
                          .state = "draft",
                          .account = 1,
                          .month = FIXTURE_MONTH,
                          .currency = "USD",
                          .books = f->books,
                          .n_books = 1,
                          .watermark = 123,
                          .bill = &f->bill};
}

static inline void fixture_final(fixture *f)
{
    strcpy(f->s.number, "2026-000007");
    strcpy(f->s.state, "final");
    memset(f->s.previous, 'b', 64);
    strcpy(f->s.issued, "2026-11-04");
    f->s.in_ledger = true;
    f->s.ledger.count = 12;
    memset(f->s.ledger.head, 'c', 64);
    f->bill.n_unpriced = 0;
}

/* What a writer appended, terminated; the caller frees it. */
static inline char *text_of(tb_buf *out)
{
    tb_error err = {0};
    ck_assert_msg(tb_buf_check(out, &err) == TB_OK, "%s", err.message);
    tb_buf_add(out, "", 1);
    return out->data;
}

#endif
