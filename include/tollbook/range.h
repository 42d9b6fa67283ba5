/* The date-range rules of the statistics endpoints: parameters and `now` in, buckets or error out.
 * One pure function, finished before any storage is read. All days are UTC days. In this order:
 *
 * 1. Defaults. No dates: the last 30 days (hourly), or the same day of the month before (daily), to
 *    now. dateFrom alone: to now. dateTo alone: as far back from it as without dates. loadLatest has
 *    no default: it needs a date, and the other one is 24 hours from it.
 * 2. A start after today is refused.
 * 3. An end before the start is refused.
 * 4. Age, loadLatest apart: hourly at most 30 days, daily at most a year back.
 * 5. Width, statistics alone: at most 40 days; with loadLatest 24 hours.
 * 6. Rounding: whole days; with exactRange and hourly whole hours.
 * 7. The end is cut at the end of today.
 *
 * The public description of these rules: docs/openapi.yaml, GET /statistics. */
#ifndef TOLLBOOK_RANGE_H
#define TOLLBOOK_RANGE_H

#include "tollbook/buf.h"
#include "tollbook/calendar.h"

TB_API_BEGIN

typedef struct tb_range_query {
    tb_text from; /* dateFrom as sent, percent-decoded */
    tb_text to;   /* dateTo */
    bool hourly;
    bool exact;      /* exactRange: only with hourly and statistics */
    bool latest;     /* loadLatest: only with statistics */
    bool statistics; /* true for GET /statistics: width limit, exactRange and loadLatest apply */
} tb_range_query;

/* Buckets first .. first+count-1; hours since 1970 when hourly, days since 1970 otherwise.
 * count is at least 1. */
typedef struct tb_range {
    int64_t first;
    uint32_t count;
    bool hourly;
} tb_range;

/* Fails with TB_E_VALIDATION (unparsable date) or TB_E_DATE_RANGE; err->field is dateFrom or
 * dateTo, err->message one clear sentence. */
TB_MUST_USE tb_code tb_range_resolve(const tb_range_query *query, int64_t now_us,
                                     tb_range *ret_range, tb_error *err);

/* The times of GET /insights: what was asked and `now` in, buckets out. Pure; all days are UTC days.
 *
 * 1. A day is a whole day, the last one too. A moment is exact to the hour where hours are shown, and its
 *    day is whole where days or months are. Without `to` the end is now; without `from` it is 30 days
 *    before the end.
 * 2. auto: hours where the time is at most 3 days, months where it is 400 days or more, else days.
 * 3. The end is cut at the end of today, as in /statistics.
 * 4. At most TB_PERIOD_POINTS points and TB_PERIOD_DAYS days, from 1970 on.
 * `previous` is the same number of hours or days directly before; by month it is moved by as many calendar months as
 * the range touches. `year` is moved by twelve. `day` and `week` are moved by whole days and whole weeks, as few as it takes to
 * end before the range begins, so that hours stand beside the same hours, and days beside the same weekdays; by month they are
 * `previous`. By month both ends keep their day of the month, or take the month's
 * last where it is shorter, so that the number of points is the same. If the range extends past now, the range that it
 * is compared with ends as many hours before its end; the current hour counts as complete. */

#define TB_PERIOD_POINTS 5000
#define TB_PERIOD_DAYS   (40 * 366)

typedef enum tb_by { TB_BY_AUTO, TB_BY_HOUR, TB_BY_DAY, TB_BY_MONTH } tb_by;
typedef enum tb_compare {
    TB_COMPARE_NONE,
    TB_COMPARE_PREVIOUS,
    TB_COMPARE_YEAR,
    TB_COMPARE_DAY,
    TB_COMPARE_WEEK
} tb_compare;

/* As sent; absent ones have no data. */
typedef struct tb_period_query {
    tb_text from, to;
    tb_text by;      /* auto hour day month */
    tb_text compare; /* none previous year day week */
} tb_period_query;

typedef struct tb_period {
    tb_by by;       /* of a point; never auto */
    bool by_itself; /* auto was requested */
    tb_compare compare;
    int64_t come;         /* hours since 1970: earlier hours are complete */
    tb_range range;       /* hours where by is hour, else days */
    tb_range before;      /* the points that it is compared with; count 0: none */
    uint32_t before_part; /* hours of before's last day that count; 0: all of it */
} tb_period;

/* TB_E_VALIDATION or TB_E_DATE_RANGE; err->field is from, to, by or compare. */
TB_MUST_USE tb_code tb_period_resolve(const tb_period_query *query, int64_t now_us,
                                      tb_period *ret_period, tb_error *err);

/* A span of hours, by the same rules of from and to; its end is not cut. err->field is one of the names. */
typedef struct tb_span_query {
    tb_text from, to;
    const char *from_name, *to_name;
} tb_span_query;
TB_MUST_USE tb_code tb_span_resolve(const tb_span_query *query, int64_t now_us, tb_range *ret_hours, tb_error *err);

/* The range that it is compared with, by hour where only a part of a day counts. */
tb_range tb_period_before(const tb_period *period);
/* Turns hours into the days that they touch, where hours are no longer stored. */
void tb_period_by_day(tb_period *period);

/* The bucket after the point that begins at bucket `at` of the range (0: its first). */
uint32_t tb_period_next(tb_range range, tb_by by, uint32_t at);
uint32_t tb_period_points(tb_range range, tb_by by);
/* The instant at which bucket `at` of the range begins. */
int64_t tb_range_us(tb_range range, uint32_t at);

TB_API_END

#endif
