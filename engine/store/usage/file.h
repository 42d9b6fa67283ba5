/* The file as the usage plane (core/plane.h): a series' counters are its rows of chunk and their
 * pending entries. */
#ifndef TOLLBOOK_STORE_USAGE_FILE_H
#define TOLLBOOK_STORE_USAGE_FILE_H

#include "store/core/internal.h"
#include "tollbook/buf.h"

/* Fills the columns of an initialised series from one series id; 0: zeros. */
TB_MUST_USE tb_code tb__read_chunks(tb_store *store, int64_t id, tb_series *series, tb_error *err);
/* The same without pending entries. */
TB_MUST_USE tb_code tb__read_rows(tb_store *store, int64_t id, tb_series *series, tb_error *err);

/* The accounts of a month, where `series` is a JSON array of ids that have something of it beside the rows of
 * chunk. */
TB_MUST_USE tb_code tb__accounts_billed(tb_store *store, int64_t month, const tb_buf *series,
                                        int64_t **ret_accounts, size_t *ret_n, tb_error *err);

/* --- entries of the table tb__file_counters, beside those of usage.c --- */

extern const struct tb__undo tb__file_undo;
TB_MUST_USE tb_code tb__chunks_expire(tb_store *store, tb_retain_walk *walk, bool *ret_over,
                                      tb_error *err);
TB_MUST_USE tb_code tb__chunks_view(tb_store *store, const tb__asked *asked, tb_series *series,
                                    tb_error *err);
TB_MUST_USE tb_code tb__chunks_located(tb_store *store, const tb__asked *asked, tb_range range,
                                       tb_error *err);
TB_MUST_USE tb_code tb__chunks_sum(tb_store *store, tb_summed *list, size_t n, tb_range range,
                                   uint32_t metrics, tb_error *err);
TB_MUST_USE tb_code tb__chunks_days(tb_store *store, int64_t series, tb_metric metric, int64_t month,
                                    uint64_t days[32], tb_error *err);
TB_MUST_USE tb_code tb__chunks_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day,
                                     uint64_t hours[32], tb_error *err);
TB_MUST_USE tb_code tb__chunks_billed(tb_store *store, int64_t month, int64_t **ret_accounts,
                                      size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb__chunks_first_month(tb_store *store, int64_t account, int64_t *ret_month,
                                           tb_error *err);

#endif
