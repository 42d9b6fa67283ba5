/* Reads months, a record a line, and prints their bills as text. Amounts have no zeros at the end
 * of the fraction, rounded ones the digits of the currency.
 *
 *   records of records.h; a month's books come after it
 *   charges ZONE                             asks for the zone's exact charges
 *   rate                                     ends the month: the answer follows, then "end"
 *
 *   bill_runner [--digest]    with --digest: only a hash of everything printed */
#include "base/hash.h"
#include "records.h"

static tb_buf out;

/* --- printing --- */

static const char *plain(tb_decimal value)
{
    static char texts[8][TB_DECIMAL_TEXT_MAX + 1];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    *tb_decimal_put(text, value) = '\0';
    return text;
}

static const char *summed(tb_sum value)
{
    static char texts[2][TB_DECIMAL_TEXT_MAX + 1];
    static unsigned turn;
    char *text = texts[turn++ % 2];
    *tb_sum_put(text, value) = '\0';
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
               fixed(bill->total, digits), summed(bill->exact), plain(bill->residual));
    for (size_t i = 0; i < m.n_asked; i++) {
        tb_sum charges;
        tb_error err;
        if (tb_bill_zone_charges(bill, m.asked[i], &charges, &err)) stop("charges", err.message);
        tb_buf_fmt(&out, "charges %lld %s\n", (long long)m.asked[i], summed(charges));
    }
}

/* What a what-if takes the same month to come to. */
static void print_alone(int digits)
{
    static tb_bill_rater *rater;
    tb_decimal subtotal;
    bool unpriced;
    tb_error err;
    if (!rater && tb_bill_rater_new(NULL, &rater, &err)) stop("rater", err.message);
    if (tb_bill_subtotal(rater, &m.in, &subtotal, &unpriced, &err)) stop("alone", err.message);
    tb_buf_fmt(&out, "alone %s %d\n", fixed(subtotal, digits), unpriced);
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
        print_alone(bill.minor_digits);
        tb_bill_release(&bill);
    }
    tb_buf_str(&out, "end\n");
}

static void take(char *line)
{
    const char *what = strtok_r(line, " \n", &rest);
    if (!what) return;
    if (strcmp(what, "month") == 0) forget_books();
    if (read_record(what)) return;
    if (strcmp(what, "charges") == 0)
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
    forget_books();
    tb_buf_release(&out);
    return 0;
}
