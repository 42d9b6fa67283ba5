/* The way into base: rows of the tables chunk and country_day, written through one buffer (write_buffer.c). */
#ifndef TOLLBOOK_STORE_WRITE_BUFFER_H
#define TOLLBOOK_STORE_WRITE_BUFFER_H

#include "store/core/internal.h"
#include "store/lsm/lsm.h"
#include "store/usage/country.h"

typedef struct tb__write_buffer tb__write_buffer;

/* For a writer's connection that was just opened. */
TB_MUST_USE tb_code tb__write_buffer_open(tb_store *store, tb__write_buffer **ret_buffer, tb_error *err);
void tb__write_buffer_free(tb__write_buffer *buffer);
/* After a failure: discards the buffer's contents. */
void tb__write_buffer_drop(tb_store *store);

/* Each merges the given values into a row. They may fail for a row that was added earlier. */

/* A day's hours, into the series' rows of the day and of its month. */
TB_MUST_USE tb_code tb__base_add_day(tb_store *store, int64_t series, int64_t day, const tb_grid *hours, tb_error *err);
/* A month's days alone. */
TB_MUST_USE tb_code tb__base_add_month(tb_store *store, int64_t series, int64_t month, const tb_grid *days, tb_error *err);
TB_MUST_USE tb_code tb__base_add_countries(tb_store *store, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                           tb_error *err);
/* Either, as an entry of the LSM. */
TB_MUST_USE tb_code tb__base_add_entry(tb_store *store, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err);

/* --- the counter that is full --- */

typedef struct tb__owned_day {
    int scope;
    int64_t owner, edge, day; /* edge 0: all locations */
} tb__owned_day;
/* Passes on `code`, of a merge in memory. Where it is TB_E_OVERFLOW, *err says which counter is full: the hour is found
 * in the grid that the merge left. */
TB_MUST_USE tb_code tb__full_day(tb_store *store, tb_code code, tb__owned_day of, const tb_grid *grid, tb_error *err);

#endif
