/* Reads months, a record a line, and prints their bills as text. Amounts have no zeros at the end
 * of the fraction, rounded ones the digits of the currency.
 *
 *   month N CURRENCY RUNNING ACTIVE          begins a month
 *   book JSON                                books count from 0, anew for each month
 *   part FROM_S TO_S BOOK                    BOOK -1: none
 *   bytes ZONE PART p|v|o REGION|?LOCATION DISCOUNT PRICE BYTES
 *   optimizer ZONE PART SECONDS PRICE|-
 *   balancer ID PART SECONDS REQUESTS
 *   tax NAME PERCENT
 *   charges ZONE                             asks for the zone's exact charges
 *   rate                                     ends the month: the answer follows, then "end"
 *
 *   bill_runner [--digest]    with --digest: only a hash of everything printed */
#include "base/hash.h"
#include "tollbook/bill.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

typedef struct month {
    tb_bill_input in;
    tb_book books[64];
    size_t n_books;
    tb_bill_part parts[MOST];
    tb_bill_bytes bytes[MOST];
    tb_bill_optimizer optimizers[MOST];
    tb_bill_balancer balancers[MOST];
    int64_t asked[MOST];
    size_t n_asked;
} month;

static month m;
static tb_buf out;

static void stop(const char *what, const char *detail)
{
    fprintf(stderr, "bill_runner: %s: %s\n", what, detail);
    exit(1);
}

/* --- reading --- */

static char *rest; /* of the line */

static char *word(void)
{
    char *found = strtok_r(NULL, " \n", &rest);
    if (!found) stop("a word is missing", "end of line");
    return found;
}

static tb_decimal decimal(const char *text)
{
    tb_decimal value;
    tb_error err;
    if (tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, &err))
        stop(text, err.message);
    return value;
}

static int64_t number(void)
{
    return (int64_t)decimal(word()).mantissa;
}

static size_t next(size_t *n)
{
    if (*n == MOST) stop("too many", "records");
    return (*n)++;
}

static void read_month(void)
{
    for (size_t i = 0; i < m.n_books; i++)
        tb_book_release(&m.books[i]);
    memset(&m, 0, sizeof m);
    m.in = (tb_bill_input){.account = 1,
                           .parts = m.parts,
                           .bytes = m.bytes,
                           .optimizers = m.optimizers,
                           .balancers = m.balancers};
    m.in.month = number();
    memcpy(m.in.currency, word(), 4);
    m.in.running = number() != 0;
    m.in.active_zone = number() != 0;
}

static void read_book(void)
{
    tb_error err;
    if (m.n_books == sizeof m.books / sizeof *m.books) stop("too many", "books");
    if (tb_book_parse(rest, strcspn(rest, "\n"), NULL, &m.books[m.n_books++], &err)) {
        fprintf(stderr, "%s", rest);
        stop(err.field, err.message);
    }
}

static void read_part(void)
{
    tb_bill_part *part = &m.parts[next(&m.in.n_parts)];
    part->from_us = number() * 1000000;
    part->to_us = number() * 1000000;
    int64_t book = number();
    part->book = book < 0 ? NULL : &m.books[book];
}

static void read_bytes(void)
{
    tb_bill_bytes *e = &m.bytes[next(&m.in.n_bytes)];
    e->zone = number();
    e->part = (uint32_t)number();
    char charge = *word();
    e->charge = charge == 'p'   ? TB_CHARGE_PREMIUM
                : charge == 'v' ? TB_CHARGE_VOLUME
                                : TB_CHARGE_OVERRIDE;
    const char *region = word();
    e->priced = *region != '?';
    if (e->priced && !tb_billing_region_parse(region, &e->region)) stop("region", region);
    if (!e->priced) snprintf(e->location, sizeof e->location, "%s", region + 1);
    e->discount = (int)number();
    e->override_price = decimal(word());
    e->bytes = decimal(word()).mantissa;
}

static void read_optimizer(void)
{
    tb_bill_optimizer *e = &m.optimizers[next(&m.in.n_optimizers)];
    e->zone = number();
    e->part = (uint32_t)number();
    e->seconds = number();
    const char *price = word();
    e->own_price = *price != '-';
    if (e->own_price) e->monthly = decimal(price);
}

static void read_balancer(void)
{
    tb_bill_balancer *e = &m.balancers[next(&m.in.n_balancers)];
    e->balancer = number();
    e->part = (uint32_t)number();
    e->seconds = number();
    e->requests = decimal(word()).mantissa;
}

static void read_tax(void)
{
    if (m.in.n_tax == TB_BILL_TAXES_MAX) stop("too many", "taxes");
    tb_bill_tax *tax = &m.in.tax[m.in.n_tax++];
    snprintf(tax->name, sizeof tax->name, "%s", word());
    tax->percent = decimal(word());
}

/* --- printing --- */

static const char *plain(tb_decimal value)
{
    static char texts[8][TB_DECIMAL_TEXT_MAX + 1];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    *tb_decimal_put(text, value) = '\0';
    return text;
}

static const char *fixed(tb_decimal value, int digits)
{
    static char texts[4][TB_DECIMAL_TEXT_MAX + 1];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    *tb_decimal_put_fixed(text, value, digits) = '\0';
    return text;
}

static const char *whole(tb_i128 value)
{
    return plain(tb_decimal_from_int(value));
}

static void print_line(const tb_bill *bill, const tb_bill_line *line)
{
    tb_buf_fmt(&out, "line %u %s %s %s %s %s %s\n", line->number, tb_line_kind_name(line->kind),
               line->resource, line->region[0] ? line->region : "-", whole(line->quantity),
               plain(line->exact), fixed(line->amount, bill->minor_digits));
    for (size_t i = 0; i < line->n_tiers; i++) {
        const tb_bill_tier *t = &line->tiers[i];
        tb_buf_fmt(&out, "tier %u %s %s %s %s %s %s\n", t->part, whole(t->from), whole(t->to),
                   whole(t->units), plain(t->price), plain(t->shown), plain(t->amount));
    }
    for (size_t i = 0; i < line->n_shares; i++) {
        const tb_bill_share *s = &line->shares[i];
        tb_buf_fmt(&out, "share %lld %s %s %s\n", (long long)s->zone, whole(s->bytes),
                   fixed(s->amount, bill->minor_digits), plain(s->exact));
    }
}

static void print_bill(const tb_bill *bill)
{
    int digits = bill->minor_digits;
    for (size_t i = 0; i < bill->n_lines; i++)
        print_line(bill, &bill->lines[i]);
    for (size_t i = 0; i < bill->n_unpriced; i++) {
        const tb_unpriced *u = &bill->unpriced[i];
        tb_buf_fmt(&out, "unpriced %s %s %s %s\n", u->resource, u->what, whole(u->quantity),
                   u->unit);
    }
    for (size_t i = 0; i < bill->n_tax; i++)
        tb_buf_fmt(&out, "tax %s %s %s\n", bill->tax[i].rate.name, fixed(bill->tax[i].base, digits),
                   fixed(bill->tax[i].amount, digits));
    tb_buf_fmt(&out, "total %s %s %s %s\n", fixed(bill->subtotal, digits),
               fixed(bill->total, digits), plain(bill->exact), plain(bill->residual));
    for (size_t i = 0; i < m.n_asked; i++) {
        tb_decimal charges;
        tb_error err;
        if (tb_bill_zone_charges(bill, m.asked[i], &charges, &err)) stop("charges", err.message);
        tb_buf_fmt(&out, "charges %lld %s\n", (long long)m.asked[i], plain(charges));
    }
}

static void rate_month(void)
{
    tb_bill bill;
    tb_error err;
    tb_code code = tb_bill_rate(&m.in, NULL, &bill, &err);
    if (code) {
        tb_buf_fmt(&out, "error %s\n", tb_code_name(code));
    } else {
        print_bill(&bill);
        tb_bill_release(&bill);
    }
    tb_buf_str(&out, "end\n");
}

static void take(char *line)
{
    const char *what = strtok_r(line, " \n", &rest);
    if (!what) return;
    if (strcmp(what, "month") == 0)
        read_month();
    else if (strcmp(what, "book") == 0)
        read_book();
    else if (strcmp(what, "part") == 0)
        read_part();
    else if (strcmp(what, "bytes") == 0)
        read_bytes();
    else if (strcmp(what, "optimizer") == 0)
        read_optimizer();
    else if (strcmp(what, "balancer") == 0)
        read_balancer();
    else if (strcmp(what, "tax") == 0)
        read_tax();
    else if (strcmp(what, "charges") == 0)
        m.asked[next(&m.n_asked)] = number();
    else if (strcmp(what, "rate") == 0)
        rate_month();
    else
        stop("unknown record", what);
}

/* Prints what has gathered, or folds it into the digest. */
static void flush(bool digest, uint64_t *hash)
{
    if (out.failed) stop("output", "out of memory");
    if (digest)
        *hash = XXH3_64bits_withSeed(out.data, out.len, *hash);
    else if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    out.len = 0;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    bool digest = argc > 1 && strcmp(argv[1], "--digest") == 0;
    uint64_t hash = 0;
    tb_buf_init(&out, (size_t)64 << 20, NULL);
    while (getline(&line, &room, stdin) > 0) {
        take(line);
        flush(digest, &hash);
    }
    if (digest) printf("%016llx\n", (unsigned long long)hash);
    free(line);
    for (size_t i = 0; i < m.n_books; i++)
        tb_book_release(&m.books[i]);
    tb_buf_release(&out);
    return 0;
}
