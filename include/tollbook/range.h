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

TB_API_END

#endif
