/* Usage of meters in the store: see meters.c. */
#ifndef TOLLBOOK_STORE_USAGE_METERS_H
#define TOLLBOOK_STORE_USAGE_METERS_H

#include "store/core/internal.h"
#include "tollbook/meterstore.h"

/* The hours of usage, and the meter_series of each of its keys. */
typedef struct tb__metered {
    const tb_meter_usage *usage;
    const int64_t *series;
} tb__metered;

/* --- adding.c: hours go to the usage plane as owners of scope 4 --- */

TB_MUST_USE tb_code tb__metered_add(tb_store *store, const tb__metered *parts, size_t n, tb_error *err);
TB_MUST_USE tb_code tb__metered_subtract(tb_store *store, const tb__metered *parts, size_t n, tb_error *err);

/* Forgets the series that the writer remembers. */
void tb__meters_forget(tb_store *store);

#endif
