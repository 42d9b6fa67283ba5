/* Properties of bills that hold for every month, asked of random ones: a bill can be added up again
 * from what it shows, more usage never costs less, a book boundary at which nothing changes changes
 * nothing, prorated parts sum to the whole, and every compiler makes the same bytes.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "base/hash.h"
#include "billing/amounts.h"
#include "months.h"
#include "seed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS test_rounds(500)

static void rate(const month *m, tb_bill *bill)
{
    tb_error err = {0};
    tb_code code = tb_bill_rate(&m->in, NULL, bill, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

static bool same(tb_decimal a, tb_decimal b)
{
    return tb_decimal_compare(a, b) == 0;
}

static tb_decimal decimal_of(tb_sum sum)
{
    tb_decimal value;
    ck_assert_int_eq(tb_sum_decimal(sum, &value, NULL), TB_OK);
    return value;
}

static tb_decimal plus(tb_decimal a, tb_decimal b)
{
    ck_assert_int_eq(tb_decimal_add(a, b, &a, NULL), TB_OK);
    return a;
}

/* --- the properties --- */

static void line_adds_up(const tb_bill *bill, const tb_bill_line *line)
{
    tb_decimal exact = TB_DECIMAL_ZERO, shared = TB_DECIMAL_ZERO, amount = TB_DECIMAL_ZERO;
    tb_i128 units = 0, bytes = 0;
    for (size_t i = 0; i < line->n_tiers; i++) {
        exact = plus(exact, line->tiers[i].amount);
        ck_assert(line->tiers[i].from == units);
        units += line->tiers[i].units;
        ck_assert(line->tiers[i].to == units || line->kind == TB_LINE_DISCOUNT);
    }
    for (size_t i = 0; i < line->n_shares; i++) {
        amount = plus(amount, line->shares[i].amount);
        shared = plus(shared, line->shares[i].exact);
        bytes += line->shares[i].bytes;
    }
    ck_assert(line->n_tiers > 0 && same(exact, line->exact));
    ck_assert(line->kind >= TB_LINE_DISCOUNT ? line->quantity == 1 : units == line->quantity);
    ck_assert((line->kind == TB_LINE_VOLUME) == (line->n_shares > 0));
    if (line->n_shares)
        ck_assert(bytes == line->quantity && same(amount, line->amount) && same(shared, exact));
    ck_assert_int_eq(tb_decimal_round(exact, bill->minor_digits, bill->rounding, &exact, NULL),
                     TB_OK);
    ck_assert(same(exact, line->amount));
}

static void stands_behind(const tb_bill_line *before, const tb_bill_line *line)
{
    ck_assert_uint_eq(line->number, before->number + 1);
    ck_assert(before->kind < line->kind || (before->kind == line->kind && before->id <= line->id));
}

START_TEST(a_bill_can_be_added_up_again)
{
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_bill bill;
        any_books(ANY_MODE);
        any_month(&m);
        rate(&m, &bill);
        tb_decimal subtotal = TB_DECIMAL_ZERO, exact = TB_DECIMAL_ZERO;
        for (size_t i = 0; i < bill.n_lines; i++) {
            line_adds_up(&bill, &bill.lines[i]);
            if (i > 0) stands_behind(&bill.lines[i - 1], &bill.lines[i]);
            subtotal = plus(subtotal, bill.lines[i].amount);
            exact = plus(exact, bill.lines[i].exact);
        }
        ck_assert(same(subtotal, bill.subtotal) && same(exact, decimal_of(bill.exact)));
        ck_assert(same(plus(decimal_of(bill.exact), bill.residual), bill.subtotal));
        for (size_t i = 0; i < bill.n_tax; i++)
            subtotal = plus(subtotal, bill.tax[i].amount);
        ck_assert(same(subtotal, bill.total));
        tb_bill_release(&bill);
        release_books();
    }
}
END_TEST

/* Everything that came in is on a line or in the list of what has no price. */
START_TEST(no_usage_is_lost)
{
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_bill bill;
        tb_i128 in[3] = {0}, out[3] = {0};
        any_books(ANY_MODE);
        any_month(&m);
        m.in.running = true;
        rate(&m, &bill);
        for (size_t i = 0; i < m.in.n_bytes; i++)
            in[0] += m.bytes[i].bytes;
        for (size_t i = 0; i < m.in.n_optimizers; i++)
            in[1] += m.optimizers[i].seconds;
        for (size_t i = 0; i < m.in.n_balancers; i++) {
            in[1] += m.balancers[i].seconds;
            in[2] += m.balancers[i].requests;
        }
        for (size_t i = 0; i < bill.n_lines + bill.n_unpriced; i++) {
            bool line = i < bill.n_lines;
            if (line && bill.lines[i].kind >= TB_LINE_DISCOUNT) continue;
            const tb_unpriced *gap = line ? NULL : &bill.unpriced[i - bill.n_lines];
            char unit = line ? *tb_line_kind_unit(bill.lines[i].kind) : *gap->unit;
            out[unit == 'b'   ? 0
                : unit == 's' ? 1
                              : 2] += line ? bill.lines[i].quantity : gap->quantity;
        }
        for (int i = 0; i < 3; i++)
            ck_assert(in[i] == out[i]);
        tb_bill_release(&bill);
        release_books();
    }
}
END_TEST

START_TEST(charges_of_zones_and_balancers_are_the_whole)
{
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_bill bill;
        any_books(ANY_MODE);
        any_month(&m);
        rate(&m, &bill);
        tb_decimal sum = TB_DECIMAL_ZERO;
        tb_sum charges;
        for (int64_t zone = 0; zone < 700; zone++) {
            ck_assert_int_eq(tb_bill_zone_charges(&bill, zone, &charges, NULL), TB_OK);
            sum = plus(sum, decimal_of(charges));
        }
        for (size_t i = 0; i < bill.n_lines; i++)
            if (bill.lines[i].kind >= TB_LINE_BALANCER_FEE) sum = plus(sum, bill.lines[i].exact);
        ck_assert(same(sum, decimal_of(bill.exact)));
        tb_bill_release(&bill);
        release_books();
    }
}
END_TEST

/* Adds to one number of the usage. False where there is none. */
static bool use_more(month *m)
{
    size_t n = m->in.n_bytes + m->in.n_balancers;
    if (n == 0) return false;
    size_t i = (size_t)below((int64_t)n);
    if (i < m->in.n_bytes)
        m->bytes[i].bytes += any_units();
    else
        m->balancers[i - m->in.n_bytes].requests += any_units();
    return true;
}

/* A minimum of 10.005 lacks 7.005 beside a line of 3.00 and 6.995 beside one of 3.01: half-even
 * makes 7.00 of both, so the total is 10.00, then 10.01, and 10.00 again beside 3.02. */
static bool lifts_to_either_side(const month *m, const tb_bill *bill)
{
    return !m->in.running && bill->rounding == TB_HALF_EVEN;
}

START_TEST(more_usage_never_costs_less)
{
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_bill less, more;
        any_books(GRADUATED_ONLY);
        any_month(&m);
        /* One book's tiers: where a later book is cheaper, usage that moves the rest of the month
         * into other tiers may well make the rest cheaper. */
        for (size_t i = 0; i < m.in.n_parts; i++)
            if (m.parts[i].book) m.parts[i].book = &books[0];
        rate(&m, &less);
        if (use_more(&m)) {
            rate(&m, &more);
            if (!lifts_to_either_side(&m, &less))
                ck_assert_int_ge(tb_decimal_compare(more.total, less.total), 0);
            if (m.in.running && !m.in.contract.discount.mantissa) /* which is on rounded lines */
                ck_assert_int_ge(tb_decimal_compare(decimal_of(more.exact), decimal_of(less.exact)), 0);
            tb_bill_release(&more);
        }
        tb_bill_release(&less);
        release_books();
    }
}
END_TEST

/* Cuts part `cut` after `hours` in two under the same book, its entries along. */
typedef struct cut {
    uint32_t part;
    int64_t seconds; /* of the first half */
} cut;

static uint32_t later(const cut *c, uint32_t part)
{
    return part > c->part ? part + 1 : part;
}

static void cut_parts(const month *from, const cut *c, month *to)
{
    for (size_t i = from->in.n_parts; i-- > 0;)
        to->parts[i > c->part ? i + 1 : i] = from->parts[i];
    to->parts[c->part + 1] = from->parts[c->part];
    to->parts[c->part].to_us = to->parts[c->part + 1].from_us =
        from->parts[c->part].from_us + c->seconds * TB_US_PER_S;
    to->in.n_parts = from->in.n_parts + 1;
}

/* Of `whole` seconds within part c->part, those that fall into the first half: enough for the
 * others to fit the second. */
static int64_t first_seconds(const month *from, const cut *c, int64_t whole)
{
    int64_t second = seconds_of(&from->parts[c->part]) - c->seconds;
    int64_t least = whole > second ? whole - second : 0;
    int64_t most = whole < c->seconds ? whole : c->seconds;
    return least + below(most - least + 1);
}

/* Entries of one zone in the cut part: all first halves, then all second ones. */
static void cut_bytes(const month *from, const cut *c, month *to)
{
    size_t n = 0;
    for (size_t i = 0, end; i < from->in.n_bytes; i = end) {
        const tb_bill_bytes *e = from->bytes;
        for (end = i;
             end < from->in.n_bytes && e[end].zone == e[i].zone && e[end].part == e[i].part;)
            end++;
        for (size_t k = i; k < end; k++) {
            to->bytes[n] = e[k];
            to->bytes[n].part = later(c, e[k].part);
            to->bytes[n].bytes = e[k].part == c->part ? below((int64_t)e[k].bytes + 1) : e[k].bytes;
            n++;
        }
        for (size_t k = i; k < end && e[k].part == c->part; k++) {
            to->bytes[n] = e[k];
            to->bytes[n].part = c->part + 1;
            to->bytes[n].bytes = e[k].bytes - to->bytes[n - (end - i)].bytes;
            n++;
        }
    }
    to->in.n_bytes = n;
}

static void cut_fees(const month *from, const cut *c, month *to)
{
    size_t n = 0;
    for (size_t i = 0; i < from->in.n_optimizers; i++) {
        tb_bill_optimizer e = from->optimizers[i];
        to->optimizers[n] = e;
        to->optimizers[n++].part = later(c, e.part);
        if (e.part != c->part) continue;
        to->optimizers[n - 1].seconds = first_seconds(from, c, e.seconds);
        to->optimizers[n] = e;
        to->optimizers[n].part = c->part + 1;
        to->optimizers[n].seconds -= to->optimizers[n - 1].seconds;
        n++;
    }
    to->in.n_optimizers = n;
}

static void cut_balancers(const month *from, const cut *c, month *to)
{
    size_t n = 0;
    for (size_t i = 0; i < from->in.n_balancers; i++) {
        tb_bill_balancer e = from->balancers[i];
        to->balancers[n] = e;
        to->balancers[n++].part = later(c, e.part);
        if (e.part != c->part) continue;
        tb_bill_balancer *first = &to->balancers[n - 1];
        first->seconds = first_seconds(from, c, e.seconds);
        first->requests = below((int64_t)e.requests + 1);
        to->balancers[n] = e;
        to->balancers[n].part = c->part + 1;
        to->balancers[n].seconds -= first->seconds;
        to->balancers[n].requests -= first->requests;
        n++;
    }
    to->in.n_balancers = n;
}

static void cut_month(const month *from, month *to)
{
    cut c = {.part = (uint32_t)below((int64_t)from->in.n_parts)};
    int64_t hours = seconds_of(&from->parts[c.part]) / 3600;
    to->in = from->in;
    tie(to);
    if (hours < 2) {
        memcpy(to->parts, from->parts, sizeof to->parts);
        memcpy(to->bytes, from->bytes, sizeof to->bytes);
        memcpy(to->optimizers, from->optimizers, sizeof to->optimizers);
        memcpy(to->balancers, from->balancers, sizeof to->balancers);
        return;
    }
    c.seconds = 3600 * (1 + below(hours - 1));
    cut_parts(from, &c, to);
    cut_bytes(from, &c, to);
    cut_fees(from, &c, to);
    cut_balancers(from, &c, to);
}

START_TEST(a_boundary_at_which_nothing_changes_changes_nothing)
{
    for (int round = 0; round < ROUNDS; round++) {
        month whole, halves;
        tb_bill a, b;
        any_books(ANY_MODE);
        any_month(&whole);
        cut_month(&whole, &halves);
        rate(&whole, &a);
        rate(&halves, &b);
        ck_assert_uint_eq(a.n_lines, b.n_lines);
        for (size_t i = 0; i < a.n_lines; i++) {
            const tb_bill_line *x = &a.lines[i], *y = &b.lines[i];
            ck_assert(x->kind == y->kind && x->id == y->id && x->quantity == y->quantity);
            ck_assert_str_eq(x->region, y->region);
            ck_assert(same(x->exact, y->exact) && same(x->amount, y->amount));
            for (size_t k = 0; k < x->n_shares; k++)
                ck_assert(same(x->shares[k].exact, y->shares[k].exact) &&
                          same(x->shares[k].amount, y->shares[k].amount));
        }
        ck_assert(same(a.total, b.total) && same(decimal_of(a.exact), decimal_of(b.exact)));
        tb_bill_release(&a);
        tb_bill_release(&b);
        release_books();
    }
}
END_TEST

START_TEST(prorated_parts_sum_to_the_whole)
{
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_bill bill;
        any_books(ANY_MODE);
        m.in = (tb_bill_input){.account = 1, .month = MONTH, .currency = "USD"};
        tie(&m);
        any_parts(&m);
        for (uint32_t part = 0; part < m.in.n_parts; part++) {
            m.parts[part].book = &books[0];
            int64_t seconds = seconds_of(&m.parts[part]);
            m.optimizers[m.in.n_optimizers++] = (tb_bill_optimizer){
                .part = part, .seconds = seconds, .own_price = true, .monthly = {any_units(), 15}};
            m.optimizers[part].monthly = m.optimizers[0].monthly;
            m.balancers[m.in.n_balancers++] = (tb_bill_balancer){.part = part, .seconds = seconds};
        }
        rate(&m, &bill);
        ck_assert_uint_eq(bill.n_lines, 2);
        ck_assert(same(bill.lines[0].exact, m.optimizers[0].monthly));
        ck_assert(same(bill.lines[1].exact, books[0].balancer_fee));
        tb_bill_release(&bill);
        release_books();
    }
}
END_TEST

/* --- the same bytes --- */

static void put(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put_fixed(text, value, 2) - text));
    tb_buf_str(out, " ");
}

static void put_bill(tb_buf *out, const tb_bill *bill)
{
    for (size_t i = 0; i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        tb_buf_fmt(out, "%u %s %s ", line->number, line->resource, line->region);
        tb_buf_fmt(out, "%s ", line->evidence.hash);
        put(out, line->exact);
        put(out, line->amount);
        for (size_t k = 0; k < line->n_tiers; k++) {
            put(out, tb_decimal_from_int(line->tiers[k].to));
            put(out, line->tiers[k].price);
            put(out, line->tiers[k].amount);
        }
        for (size_t k = 0; k < line->n_shares; k++) {
            put(out, line->shares[k].exact);
            put(out, line->shares[k].amount);
        }
    }
    for (size_t i = 0; i < bill->n_unpriced; i++) { /* how the reason is worded may change */
        tb_buf_fmt(out, "%s %s ", bill->unpriced[i].resource, bill->unpriced[i].what);
        put(out, tb_decimal_from_int(bill->unpriced[i].quantity));
    }
    put(out, bill->total);
    put(out, bill->residual);
}

static void same_amount(const month *m, tb_decimal subtotal, bool unpriced)
{
    tb_bill bill;
    rate(m, &bill);
    ck_assert(same(subtotal, bill.subtotal));
    ck_assert_int_eq(subtotal.scale, bill.minor_digits);
    ck_assert_int_eq(unpriced, bill.n_unpriced > 0);
    tb_bill_release(&bill);
}

/* One rater for all months; then each month again with other books and other usage, unchecked. */
START_TEST(amounts_alone_are_the_bills_subtotal)
{
    tb_bill_rater *rater;
    tb_decimal subtotal;
    bool unpriced;
    ck_assert_int_eq(tb_bill_rater_new(NULL, &rater, NULL), TB_OK);
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        any_books(ANY_MODE);
        any_month(&m);
        ck_assert_int_eq(tb_bill_subtotal(rater, &m.in, &subtotal, &unpriced, NULL), TB_OK);
        same_amount(&m, subtotal, unpriced);
        for (size_t i = 0; i < m.in.n_parts; i++)
            m.parts[i].book = one_in(10) ? NULL : &books[below(BOOKS)];
        for (size_t i = 0; i < m.in.n_bytes; i++)
            if (one_in(2)) m.bytes[i].bytes = one_in(4) ? 0 : any_units();
        for (size_t i = 0; i < m.in.n_balancers; i++)
            if (one_in(2)) m.balancers[i].requests = one_in(4) ? 0 : any_units();
        ck_assert_int_eq(tb__bill_subtotal_again(rater, &m.in, &subtotal, &unpriced, NULL), TB_OK);
        same_amount(&m, subtotal, unpriced);
        release_books();
    }
    tb_bill_rater_free(rater);
}
END_TEST

/* The number below is of the rules, not of this machine: every compiler and every setting must come
 * to it. It changes only with a rule or with this file's random months. */
#define DIGEST UINT64_C(0xb85208a4700c9771)

START_TEST(every_build_makes_the_same_bytes)
{
    tb_buf out;
    state = 1;
    uint64_t digest = 0;
    tb_buf_init(&out, (size_t)1 << 20, NULL);
    for (int round = 0; round < 300; round++) {
        month m;
        tb_bill bill;
        any_books(ANY_MODE);
        any_month(&m);
        rate(&m, &bill);
        put_bill(&out, &bill);
        ck_assert(!out.failed);
        digest = XXH3_64bits_withSeed(out.data, out.len, digest);
        out.len = 0;
        tb_bill_release(&bill);
        release_books();
    }
    tb_buf_release(&out);
    ck_assert_msg(digest == DIGEST, "digest %#" PRIx64, digest);
}
END_TEST

int main(void)
{
    seed = test_seed();
    Suite *suite = suite_create("bill properties");
    TCase *t = tcase_create("bill");
    tcase_add_checked_fixture(t, begin, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_bill_can_be_added_up_again);
    tcase_add_test(t, no_usage_is_lost);
    tcase_add_test(t, charges_of_zones_and_balancers_are_the_whole);
    tcase_add_test(t, more_usage_never_costs_less);
    tcase_add_test(t, a_boundary_at_which_nothing_changes_changes_nothing);
    tcase_add_test(t, prorated_parts_sum_to_the_whole);
    tcase_add_test(t, amounts_alone_are_the_bills_subtotal);
    tcase_add_test(t, every_build_makes_the_same_bytes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
