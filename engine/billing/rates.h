/* What a rate of a price book costs for a meter of the catalogue. */
#ifndef TOLLBOOK_BILLING_RATES_H
#define TOLLBOOK_BILLING_RATES_H

#include "tollbook/book.h"
#include "tollbook/meter.h"

/* Why a rate cannot price a meter. Static texts. */
typedef struct tb__rate_fault {
    const char *key;  /* of the rate: "per", "time", "tiers" */
    const char *rule; /* a sentence: "Must be ..." */
} tb__rate_fault;

/* The meter's rate in a book; NULL: none. */
const tb_meter_rate *tb__book_meter(const tb_book *book, const char *meter);

/* The price of a value of the dimension `by` ("" where the rate has none): its own entry, else "*"; NULL: none. */
const tb_rate *tb__rate_of(const tb_meter_rate *rate, const char *value);

/* The tiers of `of`, one of the rate's, in base units: a counter's units, a gauge's unit-seconds, units of a sample's
 * interval. Prices stay as the book writes them: price x units / *ret_per is an amount; in mode package a price is for
 * a block and is not divided. bandwidth.percentile is rated as a meter of kind sample that counts bytes.
 * False: the rate cannot price the meter. */
TB_MUST_USE bool tb__rate_resolve(const tb_meter *meter, const tb_meter_rate *rate, const tb_rate *of,
                                  int64_t month_seconds, tb_tiers *ret_tiers, tb_i128 *ret_per,
                                  tb__rate_fault *ret_fault);

/* Whether a rate can price a meter in every month: its unit, its dimension, all of its tiers. */
TB_MUST_USE bool tb__rate_fits(const tb_meter *meter, const tb_meter_rate *rate, tb__rate_fault *ret_fault);

#endif
