/* The times of GET /insights: what was asked and `now` in, buckets out. Pure; all days are UTC days.
 *
 * 1. A day is a whole day, the last one too. A moment is exact to the hour where hours are shown, and its
 *    day is whole where days or months are. Without `to` the end is now; without `from` it is 30 days
 *    before the end.
 * 2. auto: hours where the time is at most 3 days, months where it is 400 days or more, else days.
 * 3. The end is cut at the end of today, as in /statistics.
 * 4. At most TB_PERIOD_POINTS points and TB_PERIOD_DAYS days, from 1970 on.
 *
 * `previous` is as many hours or days directly before; by month it is moved by as many calendar months as the
 * range touches. `year` is moved by twelve. By month both ends keep their day of the month, or take the
 * month's last where it is shorter, so that there are as many points. Where the range goes on behind now, what
 * it is compared with ends as many hours before its end: the hour that now is in counts as come. */
#ifndef TOLLBOOK_PERIOD_H
#define TOLLBOOK_PERIOD_H

#include "tollbook/range.h"

TB_API_BEGIN

#define TB_PERIOD_POINTS 5000
#define TB_PERIOD_DAYS   (40 * 366)

typedef enum tb_by { TB_BY_AUTO, TB_BY_HOUR, TB_BY_DAY, TB_BY_MONTH } tb_by;
typedef enum tb_compare { TB_COMPARE_NONE, TB_COMPARE_PREVIOUS, TB_COMPARE_YEAR } tb_compare;

/* As sent; absent ones have no data. */
typedef struct tb_period_query {
    tb_text from, to;
    tb_text by;      /* auto hour day month */
    tb_text compare; /* none previous year */
} tb_period_query;

typedef struct tb_period {
    tb_by by;       /* of a point; never auto */
    bool by_itself; /* auto was asked for */
    tb_compare compare;
    int64_t come;         /* the hours before it, since 1970, have come */
    tb_range range;       /* hours where by is hour, else days */
    tb_range before;      /* the points that it is compared with; count 0: nothing */
    uint32_t before_part; /* hours of before's last day that count; 0: all of it */
} tb_period;

/* TB_E_VALIDATION or TB_E_DATE_RANGE; err->field is from, to, by or compare. */
TB_MUST_USE tb_code tb_period_resolve(const tb_period_query *query, int64_t now_us,
                                      tb_period *ret_period, tb_error *err);

/* What it is compared with, to the hour where a part of a day counts. */
tb_range tb_period_before(const tb_period *period);
/* Turns hours into the days that they touch, for what has no hours any more. */
void tb_period_by_day(tb_period *period);

/* Behind the last bucket of the point that begins at bucket `at` of the range (0: its first). */
uint32_t tb_period_next(tb_range range, tb_by by, uint32_t at);
uint32_t tb_period_points(tb_range range, tb_by by);
/* The instant at which bucket `at` of the range begins. */
int64_t tb_range_us(tb_range range, uint32_t at);

TB_API_END

#endif
