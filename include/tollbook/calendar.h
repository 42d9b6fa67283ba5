/* UTC calendar arithmetic on integers. No clock is read, no time zone database, no locale.
 *
 * Units: *_us microseconds since 1970-01-01T00:00:00Z; an hour is the number of whole hours since
 * then, a day of whole days, a month of whole calendar months (0 = January 1970). All floor, also
 * before 1970. Valid years are 1..9999. */
#ifndef TOLLBOOK_CALENDAR_H
#define TOLLBOOK_CALENDAR_H

#include "tollbook/error.h"

TB_API_BEGIN

#define TB_US_PER_S INT64_C(1000000)
#define TB_US_PER_HOUR (INT64_C(3600) * TB_US_PER_S)
#define TB_US_PER_DAY (INT64_C(24) * TB_US_PER_HOUR)

/* The first and the last instant of the valid years. */
#define TB_US_FIRST (INT64_C(-62135596800) * TB_US_PER_S)
#define TB_US_LAST (INT64_C(253402300800) * TB_US_PER_S - 1)

typedef struct tb_date {
    int32_t year;  /* 1..9999 */
    int32_t month; /* 1..12 */
    int32_t day;   /* 1..31 */
} tb_date;

int64_t tb_day_from_date(tb_date date);
tb_date tb_date_from_day(int64_t day);
int64_t tb_hour_from_us(int64_t us);
int64_t tb_day_from_us(int64_t us);
int32_t tb_days_in_month(int32_t year, int32_t month);
int64_t tb_month_from_day(int64_t day);
int64_t tb_month_first_day(int64_t month);
int64_t tb_month_from_us(int64_t us);
int64_t tb_month_start_us(int64_t month); /* its first instant */
int32_t tb_day_of_month(int64_t day); /* 0-based: 0 = the 1st */

/* The dates that clients send: 2026-07-01; with 'T', 't' or one space and HH:MM,
 * optional :SS, optional .fraction (1..9 digits, kept to the microsecond), optional Z, z or
 * +hh:mm / -hh:mm / +hhmm / +hh (a '+' that arrived as a space is a '+'); M-D-YYYY and M/D/YYYY
 * with 1 or 2 digit month and day, with the same optional time. No zone means UTC.
 * Fails with TB_E_VALIDATION for everything else (Feb 30, year 0, 24:00, trailing text, a number).
 * err->field is left to the caller. text need not be terminated. */
TB_MUST_USE tb_code tb_date_parse(const char *text, size_t len, int64_t *ret_us, tb_error *err);

/* Strict RFC 3339 as catalogues, bucket rows and TOLLBOOK_NOW carry it (zone required). */
TB_MUST_USE tb_code tb_rfc3339_parse(const char *text, size_t len, int64_t *ret_us, tb_error *err);

/* Writes exactly 20 bytes, YYYY-MM-DDTHH:MM:SSZ, no terminator. */
void tb_time_format(int64_t us, char out[20]);

/* The shortest step of whole seconds, round where it is at most an hour, that makes at most `most` points of a span. */
int64_t tb_step_ms(int64_t span_ms, int64_t most);

/* A month as people write it: "2026-10". false: it is no month of the years 1 to 9999. */
bool tb_month_parse(const char *text, size_t len, int64_t *ret_month);
void tb_month_format(int64_t month, char out[8]); /* terminated */

TB_API_END

#endif
