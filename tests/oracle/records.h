/* Records that describe an account's month, one a line, for the runners of bills and of what-ifs:
 *
 *   book JSON                                books count from 0
 *   month N CURRENCY RUNNING ACTIVE          begins a month
 *   part FROM_S TO_S BOOK                    BOOK -1: none
 *   bytes ZONE PART p|v|o REGION|?LOCATION DISCOUNT PRICE BYTES
 *   optimizer ZONE PART SECONDS PRICE|-
 *   balancer ID PART SECONDS REQUESTS
 *   meter ID KIND UNIT DISPLAY_UNIT|- DISPLAY_PER INTERVAL NOUN DIMENSION|- DIMENSION|-
 *   usage METER PART RESOURCE VALUE|- VALUE|- QUANTITY                 METER counts from 0
 *   samples METER RESOURCE VALUE|- VALUE|- N [INTERVAL:VALUE]...       of N intervals; those left out are 0
 *   percentile SECONDS N [INTERVAL:VALUE]...                           bandwidth is billed at one
 *   tax NAME PERCENT
 *   contract PERCENT MINIMUM|- COMMIT|- FROM TO    months */
#ifndef TB_TESTS_ORACLE_RECORDS_H
#define TB_TESTS_ORACLE_RECORDS_H

#include "tollbook/bill.h"

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
    tb_meter meters[64];
    tb_bill_usage usage[MOST];
    tb_bill_samples samples[64];
    char texts[65536]; /* of usage and samples */
    size_t n_texts;
    uint64_t values[64][8928];
    size_t n_values;
    int64_t asked[MOST];
    size_t n_asked;
} month;

static month m;

static inline void stop(const char *what, const char *detail)
{
    fprintf(stderr, "runner: %s: %s\n", what, detail);
    exit(1);
}

/* --- reading --- */

static char *rest; /* of the line */

static inline char *word(void)
{
    char *found = strtok_r(NULL, " \n", &rest);
    if (!found) stop("a word is missing", "end of line");
    return found;
}

static inline tb_decimal decimal(const char *text)
{
    tb_decimal value;
    tb_error err;
    if (tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, &err))
        stop(text, err.message);
    return value;
}

static inline int64_t number(void)
{
    return (int64_t)decimal(word()).mantissa;
}

static inline size_t next(size_t *n)
{
    if (*n == MOST) stop("too many", "records");
    return (*n)++;
}

static inline void forget_books(void)
{
    for (size_t i = 0; i < m.n_books; i++)
        tb_book_release(&m.books[i]);
    m.n_books = 0;
}

/* The books stay. */
static inline void read_month(void)
{
    m.n_asked = 0;
    m.in = (tb_bill_input){.account = 1,
                           .parts = m.parts,
                           .bytes = m.bytes,
                           .optimizers = m.optimizers,
                           .balancers = m.balancers,
                           .meters = m.meters,
                           .usage = m.usage,
                           .samples = m.samples};
    m.n_texts = m.n_values = 0;
    m.in.month = number();
    memcpy(m.in.currency, word(), 4);
    m.in.running = number() != 0;
    m.in.active_zone = number() != 0;
}

static inline void read_book(void)
{
    tb_error err;
    if (m.n_books == sizeof m.books / sizeof *m.books) stop("too many", "books");
    if (tb_book_parse(rest, strcspn(rest, "\n"), NULL, &m.books[m.n_books++], &err)) {
        fprintf(stderr, "%s", rest);
        stop(err.field, err.message);
    }
}

static inline void read_part(void)
{
    tb_bill_part *part = &m.parts[next(&m.in.n_parts)];
    part->from_us = number() * 1000000;
    part->to_us = number() * 1000000;
    int64_t book = number();
    part->book = book < 0 ? NULL : &m.books[book];
}

static inline void read_bytes(void)
{
    tb_bill_bytes *e = &m.bytes[next(&m.in.n_bytes)];
    *e = (tb_bill_bytes){.zone = number()};
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

static inline void read_optimizer(void)
{
    tb_bill_optimizer *e = &m.optimizers[next(&m.in.n_optimizers)];
    *e = (tb_bill_optimizer){.zone = number()};
    e->part = (uint32_t)number();
    e->seconds = number();
    const char *price = word();
    e->own_price = *price != '-';
    if (e->own_price) e->monthly = decimal(price);
}

static inline void read_balancer(void)
{
    tb_bill_balancer *e = &m.balancers[next(&m.in.n_balancers)];
    *e = (tb_bill_balancer){.balancer = number()};
    e->part = (uint32_t)number();
    e->seconds = number();
    e->requests = decimal(word()).mantissa;
}

/* A word that stays until the next month; "-" is empty. */
static inline const char *text(void)
{
    const char *found = word();
    const size_t size = strlen(found) + 1;
    char *copy = m.texts + m.n_texts;
    if (m.n_texts + size > sizeof m.texts) stop("too many", "texts");
    m.n_texts += size;
    memcpy(copy, found, size);
    if (strcmp(copy, "-") == 0) *copy = 0;
    return copy;
}

static inline void read_meter(void)
{
    static const char *const kinds[] = {"counter", "gauge", "sample"};
    if (m.in.n_meters == sizeof m.meters / sizeof *m.meters) stop("too many", "meters");
    tb_meter *e = &m.meters[m.in.n_meters++];
    *e = (tb_meter){.unece = "C62"};
    snprintf(e->id, sizeof e->id, "%s", word());
    memcpy(e->name, "A meter", sizeof "A meter");
    const char *kind = word();
    for (int i = 0; i < 3; i++)
        if (strcmp(kind, kinds[i]) == 0) e->kind = (tb_meter_kind)i;
    snprintf(e->unit, sizeof e->unit, "%s", word());
    const char *display_unit = word();
    snprintf(e->display_unit, sizeof e->display_unit, "%s", *display_unit == '-' ? "" : display_unit);
    e->display_per = number();
    e->interval = (int)number();
    snprintf(e->noun, sizeof e->noun, "%s", word());
    for (int i = 0; i < TB_METER_DIMENSIONS; i++) {
        const char *dimension = word();
        if (*dimension != '-') snprintf(e->dimension[e->n_dimensions++], sizeof *e->dimension, "%s", dimension);
    }
}

static inline void read_usage(void)
{
    tb_bill_usage *e = &m.usage[next(&m.in.n_usage)];
    *e = (tb_bill_usage){.meter = (uint32_t)number()};
    e->part = (uint32_t)number();
    e->resource = text();
    for (int i = 0; i < TB_METER_DIMENSIONS; i++)
        e->dimension[i] = text();
    e->quantity = decimal(word()).mantissa;
}

static inline void read_values(tb_bill_samples *e)
{
    if (m.n_values == sizeof m.values / sizeof *m.values) stop("too many", "samples");
    uint64_t *values = memset(m.values[m.n_values++], 0, sizeof *m.values);
    e->n = (size_t)number();
    e->value = values;
    for (const char *pair; (pair = strtok_r(NULL, " \n", &rest)); e->present++)
        values[strtoul(pair, NULL, 10)] = strtoull(strchr(pair, ':') + 1, NULL, 10);
}

static inline void read_samples(void)
{
    if (m.in.n_samples == sizeof m.samples / sizeof *m.samples) stop("too many", "samples");
    tb_bill_samples *e = &m.samples[m.in.n_samples++];
    *e = (tb_bill_samples){.meter = (uint32_t)number()};
    e->interval = m.meters[e->meter].interval;
    e->resource = text();
    for (int i = 0; i < TB_METER_DIMENSIONS; i++)
        e->dimension[i] = text();
    read_values(e);
}

static inline void read_percentile(void)
{
    m.in.percentile = true;
    m.in.bandwidth.interval = (int)number();
    read_values(&m.in.bandwidth);
}

static inline void read_tax(void)
{
    if (m.in.n_tax == TB_BILL_TAXES_MAX) stop("too many", "taxes");
    tb_bill_tax *tax = &m.in.tax[m.in.n_tax++];
    snprintf(tax->name, sizeof tax->name, "%s", word());
    tax->percent = decimal(word());
}

static inline void read_agreed(void)
{
    tb_contract *c = &m.in.contract;
    c->discount = decimal(word());
    const char *minimum = word();
    c->own_minimum = *minimum != '-';
    if (c->own_minimum) c->minimum = decimal(minimum);
    const char *commit = word();
    c->n_commits = *commit != '-';
    c->commits[0] = (tb_commit){.months = 1};
    if (c->n_commits) c->commits[0].amount = decimal(commit);
    c->commits[0].from = number();
    c->commits[0].to = number();
}

static const struct {
    const char *name;
    void (*read)(void);
} records[] = {
    {"month", read_month}, {"book", read_book},           {"part", read_part},
    {"bytes", read_bytes}, {"optimizer", read_optimizer}, {"balancer", read_balancer},
    {"meter", read_meter}, {"usage", read_usage},         {"samples", read_samples},
    {"tax", read_tax},     {"contract", read_agreed},     {"percentile", read_percentile},
};

/* Reads a record of this name; false where it is none of them. */
static inline bool read_record(const char *name)
{
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        if (strcmp(records[i].name, name) != 0) continue;
        records[i].read();
        return true;
    }
    return false;
}

#endif
