/* Random books and months, for the properties of bills and of what-ifs. */
#ifndef TB_TESTS_PROP_MONTHS_H
#define TB_TESTS_PROP_MONTHS_H

#include "prop/random.h"
#include "tollbook/bill.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOOKS 3
#define PARTS 6
#define MOST  256
#define MONTH 681 /* October 2026 */
#define HOURS 744

/* All lengths up to 10^16 alike. */
static inline int64_t any_units(void)
{
    int64_t size = 10;
    for (int64_t digits = below(16); digits > 0; digits--)
        size *= 10;
    return 1 + below(size);
}

/* --- random books --- */

/* Which modes of tiers a book may have. */
typedef enum modes { GRADUATED_ONLY, ANY_MODE } modes;

static inline void put_price(tb_buf *out)
{
    int whole = (int)below(30), cents = (int)below(100), fine = (int)below(1000000000);
    if (one_in(8))
        tb_buf_str(out, "\"0\"");
    else if (one_in(2))
        tb_buf_fmt(out, "\"%d.%02d\"", whole, cents);
    else
        tb_buf_fmt(out, "\"0.%09d\"", fine);
}

/* Thresholds are whole millions of the unit, so they read alike in GB and in millions. */
static inline void put_tiers(tb_buf *out, tb_tier_mode mode, const char *const names[3])
{
    int64_t from = 0;
    size_t n = 1 + (size_t)below(4);
    tb_buf_fmt(out, "\"mode\":\"%s\",", tb_tier_mode_name(mode));
    if (mode == TB_PACKAGE) tb_buf_fmt(out, "\"block\":\"%d\",", 1 + (int)below(1000));
    tb_buf_str(out, "\"tiers\":[");
    for (size_t i = 0; i < n; i++) {
        int64_t to = from + 1 + below(one_in(2) ? 100 : 1000000);
        tb_buf_fmt(out, "{\"%s\":\"%" PRId64 "\",\"%s\":", names[0], from, names[1]);
        if (i + 1 < n)
            tb_buf_fmt(out, "\"%" PRId64 "\"", to);
        else
            tb_buf_str(out, "null");
        tb_buf_fmt(out, ",\"%s\":", mode == TB_PACKAGE ? "price_per_block" : names[2]);
        put_price(out);
        if (one_in(4)) {
            tb_buf_str(out, ",\"flat\":");
            put_price(out);
        }
        tb_buf_str(out, i + 1 < n ? "}," : "}]");
        from = to;
    }
}

static inline const char *any_axis(void)
{
    return one_in(2) ? "net" : "absolute";
}

static inline void put_bandwidth(tb_buf *out, tb_tier_mode mode)
{
    static const char *const names[3] = {"from", "to", "price"};
    tb_buf_str(out, "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":");
    put_price(out);
    for (int r = TB_REGION_NA; r < TB_BILLING_REGION_COUNT; r++) {
        if (one_in(12)) continue;
        tb_buf_fmt(out, ",\"%s\":", tb_billing_region_name((tb_billing_region)r));
        put_price(out);
    }
    int included = one_in(2) ? 0 : (int)below(1000);
    tb_buf_fmt(out, "}},\"volume\":{\"per\":\"GB\",\"included\":\"%d\",\"included_axis\":\"%s\",",
               included, any_axis());
    put_tiers(out, mode, names);
    tb_buf_str(out, "}}");
}

static inline void put_balancer(tb_buf *out, tb_tier_mode mode)
{
    static const char *const names[3] = {"from_millions", "to_millions", "price_per_million"};
    tb_buf_str(out, "\"load_balancer\":{\"monthly_fee\":");
    put_price(out);
    int included = one_in(2) ? 0 : (int)below(100000000);
    tb_buf_fmt(out, ",\"included_requests\":%d,\"included_axis\":\"%s\",", included, any_axis());
    put_tiers(out, mode, names);
    tb_buf_str(out, "}");
}

static inline tb_tier_mode any_mode(modes m)
{
    return m == GRADUATED_ONLY ? TB_GRADUATED : (tb_tier_mode)below(TB_PACKAGE + 1);
}

static inline void any_book(int number, modes m, tb_book *book)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, 65536, NULL);
    tb_buf_fmt(&out, "{\"book\":\"book-%d\",\"currency\":\"USD\",", number);
    tb_buf_fmt(&out, "\"rounding\":\"%s\",", one_in(2) ? "half_even" : "half_up");
    tb_buf_str(&out, "\"effective_from\":\"2026-01-01T00:00:00Z\",\"minimum_monthly\":");
    put_price(&out);
    tb_buf_str(&out, ",");
    put_bandwidth(&out, any_mode(m));
    if (!one_in(10)) {
        tb_buf_str(&out, ",\"optimizer\":{\"monthly\":");
        put_price(&out);
        tb_buf_str(&out, "}");
    }
    tb_buf_str(&out, ",");
    put_balancer(&out, any_mode(m));
    tb_buf_str(&out, "}");
    ck_assert(!out.failed);
    ck_assert_msg(!tb_book_parse(out.data, out.len, NULL, book, &err), "%s: %s in %.*s", err.field,
                  err.message, (int)out.len, out.data);
    tb_buf_release(&out);
}

/* --- random months --- */

typedef struct month {
    tb_bill_input in;
    tb_bill_part parts[PARTS];
    tb_bill_bytes bytes[MOST];
    tb_bill_optimizer optimizers[MOST];
    tb_bill_balancer balancers[MOST];
} month;

static tb_book books[BOOKS];

static inline void any_books(modes m)
{
    for (int i = 0; i < BOOKS; i++)
        any_book(i, m, &books[i]);
}

static inline void release_books(void)
{
    for (int i = 0; i < BOOKS; i++)
        tb_book_release(&books[i]);
}

/* Points the input at its own month's arrays. */
static inline void tie(month *m)
{
    m->in.parts = m->parts;
    m->in.bytes = m->bytes;
    m->in.optimizers = m->optimizers;
    m->in.balancers = m->balancers;
}

static inline void any_parts(month *m)
{
    int64_t at = tb_month_first_day(MONTH) * TB_US_PER_DAY;
    int64_t end = at + HOURS * TB_US_PER_HOUR;
    size_t n = 1 + (size_t)below(PARTS - 2);
    for (size_t i = 0; i < n; i++) {
        int64_t to = i + 1 < n ? at + (1 + below(HOURS / PARTS)) * TB_US_PER_HOUR : end;
        const tb_book *book = &books[below(BOOKS)];
        m->parts[i] = (tb_bill_part){one_in(10) ? NULL : book, at, to};
        at = to;
    }
    m->in.n_parts = n;
}

static inline int64_t seconds_of(const tb_bill_part *part)
{
    return (part->to_us - part->from_us) / TB_US_PER_S;
}

/* Random numbers are drawn one statement each: the order of initializers is the compiler's. */
static inline void any_entry(month *m, int64_t zone, uint32_t part, tb_charge charge)
{
    tb_bill_bytes *e = &m->bytes[m->in.n_bytes++];
    *e = (tb_bill_bytes){.zone = zone, .part = part, .charge = charge, .location = "XX"};
    e->priced = !one_in(20);
    e->region = (tb_billing_region)below(TB_BILLING_REGION_COUNT);
    if (one_in(2)) e->discount = (int)below(101);
    e->override_price = (tb_decimal){1 + below(100), 11};
    e->bytes = any_units();
    e->evidence = (tb_evidence){.buckets = 1, .hash = "0123456789abcdef0123456789abcdef"};
}

static inline void any_optimizer(month *m, int64_t zone, uint32_t part)
{
    tb_bill_optimizer *e = &m->optimizers[m->in.n_optimizers++];
    *e = (tb_bill_optimizer){.zone = zone, .part = part, .monthly = {950, 2}};
    e->seconds = below(seconds_of(&m->parts[part]) + 1);
    e->own_price = one_in(3);
}

static inline void any_balancer(month *m, int64_t id, uint32_t part)
{
    tb_bill_balancer *e = &m->balancers[m->in.n_balancers++];
    *e = (tb_bill_balancer){.balancer = id, .part = part};
    e->seconds = below(seconds_of(&m->parts[part]) + 1);
    if (!one_in(4)) e->requests = any_units();
}

static inline void any_zones(month *m)
{
    int64_t zone = 0;
    for (int64_t zones = below(6); zones > 0; zones--) {
        zone += 1 + below(100);
        tb_charge charge = (tb_charge)below(3);
        for (uint32_t part = 0; part < m->in.n_parts; part++)
            for (int64_t entries = below(6); entries > 0; entries--) {
                tb_charge other = (tb_charge)below(3);
                any_entry(m, zone, part, one_in(5) ? other : charge);
            }
        if (one_in(2)) continue;
        for (uint32_t part = 0; part < m->in.n_parts; part++)
            any_optimizer(m, zone, part);
    }
}

static inline void any_contract(tb_contract *c)
{
    if (one_in(2)) return;
    c->discount = one_in(3) ? TB_DECIMAL_ZERO : (tb_decimal){below(1000001), 4};
    c->own_minimum = one_in(3);
    if (c->own_minimum) c->minimum = (tb_decimal){below(100000), 2};
    tb_commit *commit = &c->commits[0];
    commit->months = 1;
    c->n_commits = one_in(2);
    if (c->n_commits) commit->amount = (tb_decimal){below(one_in(2) ? 100000 : INT64_C(1000000000000)), 3};
    commit->from = MONTH - below(2);
    commit->to = MONTH + below(3) - 1;
}

static inline void any_month(month *m)
{
    m->in = (tb_bill_input){.account = 1, .month = MONTH, .currency = "USD"};
    tie(m);
    m->in.running = one_in(3);
    m->in.active_zone = !one_in(3);
    any_contract(&m->in.contract);
    any_parts(m);
    any_zones(m);
    for (int64_t id = 1; id < 4; id++)
        for (uint32_t part = 0; part < m->in.n_parts; part++)
            if (one_in(2)) any_balancer(m, id, part);
    for (int64_t n = below(3); n > 0; n--)
        m->in.tax[m->in.n_tax++] = (tb_bill_tax){.name = "tax", .percent = {below(3000), 2}};
}

#endif
