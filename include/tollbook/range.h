/* The date-range rules of the statistics endpoints: parameters and `now` in, buckets or error out.
 * One pure function, finished before any storage is read. Source: seed "Statistics endpoints" and
 * "Limits", contract 1.4 (rules 1 to 7, in that order). */
#ifndef TOLLBOOK_RANGE_H
#define TOLLBOOK_RANGE_H

#include "tollbook/calendar.h"
#include "tollbook/error.h"

typedef struct tb_text {
    const char *data; /* NULL: absent */
    size_t len;       /* 0: an empty value, which means absent too */
} tb_text;

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
 * dateTo, err->message the seed's text or one clear sentence. */
TB_MUST_USE tb_code tb_range_resolve(const tb_range_query *query, int64_t now_us,
                                     tb_range *ret_range, tb_error *err);

#endif
