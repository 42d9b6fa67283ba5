/* Between the files that fill a month's input with the usage of its days (usage.h): usage_entries.c lists the entries of the terms,
 * usage_lines.c and usage_meters.c read the lines of a day and add each to its entry, usage.c goes through the days and makes
 * quantities of the sums. */
#ifndef TOLLBOOK_CHECK_USAGE_FILLING_H
#define TOLLBOOK_CHECK_USAGE_FILLING_H

#include "billing/days.h"
#include "check/usage.h"

/* Where usage of a pull zone in these hours is added: an entry of bytes, or the time for which a zone was attached to a load balancer. */
typedef struct tb__usage_entry {
    int64_t zone;
    int place;            /* the billing region; -1: there is none */
    const char *location; /* the edge location's code where it has no billing region; else "" */
    int64_t from, to;     /* hours */
    size_t index;         /* in the list of the terms */
} tb__usage_entry;

/* Entries first..first + n - 1 of `usage`: of one counter or gauge, one for each part of the month. */
typedef struct tb__series {
    const struct tb__filling *filling;
    size_t first, n;
    tb__gauge_walk walk; /* of gauges; walk.fn NULL: it is a counter */
    tb__gauge_month month;
    size_t n_passed; /* gaps that the walk has passed */
} tb__series;

/* A line of a day, split at its tabs. */
typedef struct tb__day_line {
    const char *field[8];
    size_t len[8], n;
    const char *end; /* of the line */
} tb__day_line;

typedef struct tb__filling {
    const tb__term_month *month;
    tb__filled *filled;
    tb_error *err;
    struct {
        tb_bill_bytes *bytes;
        tb_bill_balancer *balancers;
        tb_bill_usage *usage;
        tb_bill_samples *samples;
    } lists; /* the input's own, to be written to */
    int64_t until_us, from_hour, until_hour; /* the month's first hour; usage of hours before until_hour counts */
    uint32_t month_s;                        /* seconds of the month */
    tb__usage_entry *bytes, *ties;           /* sorted */
    size_t n_bytes, n_ties;
    tb__day_sums *byte_sums, *balancer_sums, *usage_sums; /* one for each entry */
    tb__series *series;
    size_t n_series;
    uint64_t **values;   /* by interval, for each entry of samples; NULL: no value yet */
    size_t n_intervals;  /* of all of them */
    uint64_t *bandwidth; /* of the month by 5 minutes, then by hours; NULL: no percentile is billed */

    /* The line that is read. */
    int64_t day;
    char date[11];
    size_t line;
    /* The line before, by its kind: lines ascend. */
    struct {
        int64_t zone, hour;
        char code[24];
        const tb_origin_place *place; /* NULL: the terms do not have it */
    } cell;
    struct {
        int64_t id, hour;
    } balancer;
    struct {
        tb__day_line line;              /* n 0: none */
        const tb_meter *meter;          /* NULL: the terms do not have it */
        tb__series *series;             /* to which its values are added; NULL: none */
        const tb_bill_samples *samples; /* likewise */
    } metered;
} tb__filling;

/* --- usage.c --- */

/* Memory of the filled input, all zeros. NULL: there is none. */
void *tb__filling_room(tb__filling *f, size_t n, size_t size);
/* Sentences. TB_E_VALIDATION: about the terms, about the line that is read. TB_E_DIFFERENT: the line belongs to no entry. */
tb_code tb__wrong_terms(const tb__filling *f, const char *what);
tb_code tb__wrong_line(const tb__filling *f, const char *what);
tb_code tb__left_out(const tb__filling *f, const tb__day_line *l, const char *why);

/* --- usage_entries.c --- */

/* List the entries of pull zones' usage, of counters and gauges, of samples. TB_E_VALIDATION, TB_E_NOMEM. */
TB_MUST_USE tb_code tb__list_entries(tb__filling *f);
TB_MUST_USE tb_code tb__list_series(tb__filling *f);
TB_MUST_USE tb_code tb__list_samples(tb__filling *f);
/* The entry of the key's zone, place and location for the hour key->from. NULL: none. */
const tb__usage_entry *tb__find_entry(const tb__usage_entry *list, size_t n, const tb__usage_entry *key);
/* The part of the month that has the hour. */
uint32_t tb__part_at(const tb_bill_input *in, int64_t hour);
/* The load balancer's entry in a part. NULL: none. */
const tb_bill_balancer *tb__find_balancer(const tb_bill_input *in, int64_t balancer, uint32_t part);
/* What the gauge of an entry reported last before the month; 0: nothing. */
uint64_t tb__held_before(const tb__filling *f, const tb_bill_usage *u);

/* --- usage_lines.c --- */

/* Adds the lines of a day, which is f->day, to their entries. */
TB_MUST_USE tb_code tb__add_usage_day(tb__filling *f, tb_text text);
/* The field is this text. */
bool tb__field_is(const tb__day_line *l, size_t i, const char *text);
/* A decimal number without leading zeros. false: it is none. */
bool tb__read_number(const char *text, size_t len, uint64_t *ret);
/* "2026-10-01T05:10:00Z" of f->day: seconds since the day began. false: it is none. */
bool tb__read_time(const tb__filling *f, const tb__day_line *l, size_t i, int64_t *ret_s);

/* --- usage_meters.c --- */

/* Gauges begin with what they held before the month, and end with it. */
TB_MUST_USE tb_code tb__begin_gauges(tb__filling *f);
TB_MUST_USE tb_code tb__end_gauges(tb__filling *f);
/* A line of a meter. */
TB_MUST_USE tb_code tb__add_meter(tb__filling *f, const tb__day_line *l);

#endif
