/* The times of GET /insights: what was asked and `now` in, buckets out. Pure; all days are UTC days.
 *
 * 1. A day is a whole day, the last one too. A moment is exact to the hour where hours are shown, and its
 *    day is whole where days or months are. Without `to` the end is now; without `from` it is 30 days
 *    before the end.
 * 2. auto: hours where the time is at most 3 days, months where it is 400 days or more, else days.
 * 3. The end is cut at the end of today, as in /statistics.
 * 4. At most TB_PERIOD_POINTS points and TB_PERIOD_DAYS days, from 1970 on.
 *
 * `previous` is as many buckets directly before; of whole months as many months. `year` is the same twelve
 * months earlier, as many buckets; of whole months those months. */
#ifndef TOLLBOOK_PERIOD_H
#define TOLLBOOK_PERIOD_H

#include "tollbook/range.h"

TB_API_BEGIN

#define TB_PERIOD_POINTS 5000
#define TB_PERIOD_DAYS   (40 * 366)

typedef enum tb_by { TB_BY_AUTO, TB_BY_HOUR, TB_BY_DAY, TB_BY_MONTH } tb_by;

/* As sent; absent ones have no data. */
typedef struct tb_period_query {
    tb_text from, to;
    tb_text by;      /* auto hour day month */
    tb_text compare; /* none previous year */
} tb_period_query;

typedef struct tb_period {
    tb_by by;        /* of a point; never auto */
    tb_range range;  /* hours where by is hour, else days */
    tb_range before; /* what it is compared with; count 0: nothing */
} tb_period;

/* TB_E_VALIDATION or TB_E_DATE_RANGE; err->field is from, to, by or compare. */
TB_MUST_USE tb_code tb_period_resolve(const tb_period_query *query, int64_t now_us,
                                      tb_period *ret_period, tb_error *err);

/* Behind the last bucket of the point that begins at bucket `at` of the range (0: its first). */
uint32_t tb_period_next(tb_range range, tb_by by, uint32_t at);
uint32_t tb_period_points(tb_range range, tb_by by);
/* The instant at which bucket `at` of the range begins. */
int64_t tb_range_us(tb_range range, uint32_t at);

TB_API_END

#endif
