/* The statistics answers' bytes, the same for the command line and for HTTP. */
#ifndef TOLLBOOK_STATISTICS_H
#define TOLLBOOK_STATISTICS_H

#include "tollbook/store.h"

TB_API_BEGIN

/* Longest answer: two charts a metric over the widest hourly range, with room to spare. */
#define TB_STATISTICS_MAX ((size_t)16 << 20)

/* The day of the newest balance that the history can hold: answers of different days differ. */
int64_t tb_statistics_balance_day(int64_t now_us);

/* Appends to out the JSON that answers for this view and range, read in the caller's snapshot, with
 * the columns' memory from alloc (NULL: the C library's). now_us: as far as the balance history has
 * come. TB_E_ZONE_NOT_FOUND where the view's zone is not its account's. */
TB_MUST_USE tb_code tb_statistics_in(tb_store *store, const tb_view *view, tb_range range,
                                     tb_answer_kind kind, int64_t now_us, const tb_alloc *alloc,
                                     tb_buf *out, tb_error *err);

/* The simplest question in one call: what an account has used, as the JSON of GET /statistics, out
 * of the database at path. from and to are days ("2026-07-01") or moments, see range.h; NULL: the
 * last month up to now. now_us: time(NULL) * TB_US_PER_S. *ret_json is terminated; free() it.
 * TB_E_NOT_FOUND: there is no such account. */
TB_MUST_USE tb_code tb_statistics_file(const char *path, int64_t account, const char *from,
                                       const char *to, int64_t now_us, char **ret_json,
                                       tb_error *err);

TB_API_END

#endif
