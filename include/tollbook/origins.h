/* Where the usage of a bill's input comes from, beside what its entries say: with these and the account's days whoever has the
 * input without its usage can fill it (check.h). */
#ifndef TOLLBOOK_ORIGINS_H
#define TOLLBOOK_ORIGINS_H

#include "tollbook/bill.h"

TB_API_BEGIN

/* Where an edge location was billed. */
typedef struct tb_origin_place {
    char code[24];
    bool priced; /* false: it has no billing region */
    tb_billing_region region;
} tb_origin_place;

/* A pull zone that was attached to a load balancer. INT64_MIN, INT64_MAX: from the beginning, without an end. An hour belongs to
 * it where it begins within. */
typedef struct tb_origin_tie {
    int64_t balancer, zone, from_us, to_us;
} tb_origin_tie;

/* The value that a gauge had when the month began, as reported; those without are left out. */
typedef struct tb_origin_gauge {
    const char *meter; /* its id */
    const char *resource;
    const char *dimension[TB_METER_DIMENSIONS];
    uint64_t value;
} tb_origin_gauge;

/* The account was deleted: its gauges hold nothing meanwhile. to_us: INT64_MAX: it was not declared again. */
typedef struct tb_origin_gap {
    int64_t from_us, to_us;
} tb_origin_gap;

typedef struct tb_bill_origins {
    const tb_origin_place *places; /* ascending by code: those with bytes in the month */
    size_t n_places;
    const tb_origin_tie *ties; /* ascending by balancer */
    size_t n_ties;
    const tb_origin_gauge *gauges; /* ascending by meter, resource, dimensions */
    size_t n_gauges;
    const tb_origin_gap *gaps; /* ascending, those that overlap the month */
    size_t n_gaps;
} tb_bill_origins;

TB_API_END

#endif
