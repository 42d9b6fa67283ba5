/* Calendar arithmetic and the parsing of dates.
 *
 * The arithmetic counts years that begin on 1 March: the leap day is then the last day of its
 * year, every month's length follows one line (153 days in each 5 months), and no table and no
 * leap year test is needed. Divisions floor, so days before 1970 need no second path.
 *
 * The parsing is a cursor that only moves forward over pointer and length; each small reader
 * answers whether its piece was there. The values are checked after the form, in one place, so
 * that a form never decides which days exist. */
#include "tollbook/calendar.h"

#define DAYS_PER_400_YEARS 146097
#define DAYS_PER_100_YEARS 36524
#define DAYS_PER_4_YEARS   1461
#define DAYS_PER_YEAR      365
/* Days from 0000-03-01 to 1970-01-01. */
#define EPOCH_DAY 719468

#define BAD_DATE                                                                                   \
    "The value is not a valid date; write YYYY-MM-DD, M-D-YYYY or M/D/YYYY in the years 1 to "     \
    "9999, with an optional time and zone."
#define BAD_RFC3339                                                                                \
    "The value is not a valid RFC 3339 time; write YYYY-MM-DDTHH:MM:SSZ in the years 1 to 9999."

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

int64_t tb_day_from_date(tb_date date)
{
    int64_t year = (int64_t)date.year - (date.month <= 2);
    int64_t month = (date.month + 9) % 12; /* 0 = March */
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    return DAYS_PER_YEAR * year + floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400) +
           day_of_year - EPOCH_DAY;
}

tb_date tb_date_from_day(int64_t day)
{
    int64_t since = day + EPOCH_DAY;
    int64_t era = floor_div(since, DAYS_PER_400_YEARS);
    int32_t rest = (int32_t)(since - era * DAYS_PER_400_YEARS);
    /* The fourth century and the fourth year of four are a day longer than the division takes
     * them to be: their leap day belongs to them, not to a fifth. */
    int32_t century = rest / DAYS_PER_100_YEARS;
    century -= century == 4;
    rest -= century * DAYS_PER_100_YEARS;
    int32_t fours = rest / DAYS_PER_4_YEARS;
    rest -= fours * DAYS_PER_4_YEARS;
    int32_t single = rest / DAYS_PER_YEAR;
    single -= single == 4;
    rest -= single * DAYS_PER_YEAR;

    int32_t month = (5 * rest + 2) / 153; /* 0 = March */
    bool next_year = month >= 10;         /* January and February */
    return (tb_date){
        .year = (int32_t)(era * 400) + century * 100 + fours * 4 + single + next_year,
        .month = next_year ? month - 9 : month + 3,
        .day = rest - (153 * month + 2) / 5 + 1,
    };
}

int64_t tb_hour_from_us(int64_t us)
{
    return floor_div(us, TB_US_PER_HOUR);
}

int64_t tb_day_from_us(int64_t us)
{
    return floor_div(us, TB_US_PER_DAY);
}

static bool is_leap(int32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t tb_days_in_month(int32_t year, int32_t month)
{
    if (month == 2) return is_leap(year) ? 29 : 28;
    /* 31, 30, 31, ... with the one break between July and August. */
    return 30 + ((month + (month >= 8)) & 1);
}

int64_t tb_month_from_day(int64_t day)
{
    tb_date date = tb_date_from_day(day);
    return ((int64_t)date.year - 1970) * 12 + date.month - 1;
}

int64_t tb_month_first_day(int64_t month)
{
    int64_t years = floor_div(month, 12);
    return tb_day_from_date((tb_date){
        .year = (int32_t)(1970 + years),
        .month = (int32_t)(month - years * 12) + 1,
        .day = 1,
    });
}

int64_t tb_month_from_us(int64_t us)
{
    return tb_month_from_day(tb_day_from_us(us));
}

int64_t tb_month_start_us(int64_t month)
{
    return tb_month_first_day(month) * TB_US_PER_DAY;
}

int32_t tb_day_of_month(int64_t day)
{
    return tb_date_from_day(day).day - 1;
}

/* A text's fields, before it is checked whether the moment exists. */
typedef struct parts {
    tb_date date;
    int32_t hour, minute, second, micro;
    int32_t zone_sign, zone_hour, zone_minute; /* sign +1 or -1; all 0 for UTC */
} parts;

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool at_end(const cursor *c)
{
    return c->at == c->end;
}

/* Passes over one byte if it is the wanted one. */
static bool take(cursor *c, char wanted)
{
    if (at_end(c) || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool next_is_digit(const cursor *c)
{
    return !at_end(c) && *c->at >= '0' && *c->at <= '9';
}

/* Reads min to max decimal digits, as many as there are; the digit after max is left alone.
 * max is at most 9, so the number fits. */
static bool number(cursor *c, int min, int max, int32_t *ret)
{
    int32_t value = 0;
    int count = 0;
    for (; count < max && next_is_digit(c); count++)
        value = value * 10 + (*c->at++ - '0');
    if (count < min) return false;
    *ret = value;
    return true;
}

static bool iso_date(cursor *c, tb_date *date)
{
    return number(c, 4, 4, &date->year) && take(c, '-') && number(c, 2, 2, &date->month) &&
           take(c, '-') && number(c, 2, 2, &date->day);
}

/* M-D-YYYY or M/D/YYYY: whichever separator stands first must stand again. */
static bool us_date(cursor *c, tb_date *date)
{
    if (!number(c, 1, 2, &date->month)) return false;
    char separator = take(c, '/') ? '/' : '-';
    return (separator == '/' || take(c, '-')) && number(c, 1, 2, &date->day) &&
           take(c, separator) && number(c, 4, 4, &date->year);
}

/* The digits after the point: 1 to 9, of which the first 6 count. */
static bool fraction(cursor *c, int32_t *ret_micro)
{
    int32_t micro = 0;
    int count = 0;
    for (; count < 9 && next_is_digit(c); count++, c->at++) {
        if (count < 6) micro = micro * 10 + (*c->at - '0');
    }
    if (count == 0) return false;
    for (; count < 6; count++)
        micro *= 10;
    *ret_micro = micro;
    return true;
}

/* The seconds and their fraction, behind the minutes. */
static bool seconds(cursor *c, parts *p)
{
    if (!take(c, ':') || !number(c, 2, 2, &p->second)) return false;
    return !take(c, '.') || fraction(c, &p->micro);
}

static bool hours_minutes(cursor *c, parts *p)
{
    return number(c, 2, 2, &p->hour) && take(c, ':') && number(c, 2, 2, &p->minute);
}

static bool take_zulu(cursor *c)
{
    return take(c, 'Z') || take(c, 'z');
}

/* +hh:mm or -hh:mm; lax: the colon and the minutes may be missing, and the '+' may have become a
 * space, as it does in a query string that was not encoded. */
static bool zone_offset(cursor *c, bool lax, parts *p)
{
    if (take(c, '-'))
        p->zone_sign = -1;
    else if (take(c, '+') || (lax && take(c, ' ')))
        p->zone_sign = 1;
    else
        return false;
    if (!number(c, 2, 2, &p->zone_hour)) return false;
    if (lax && at_end(c)) return true;
    return (take(c, ':') || lax) && number(c, 2, 2, &p->zone_minute);
}

static bool lax_form(cursor c, parts *p)
{
    cursor start = c;
    if (!iso_date(&c, &p->date)) {
        c = start;
        if (!us_date(&c, &p->date)) return false;
    }
    if (at_end(&c)) return true;
    if (!(take(&c, 'T') || take(&c, 't') || take(&c, ' ')) || !hours_minutes(&c, p)) return false;
    if (!at_end(&c) && *c.at == ':' && !seconds(&c, p)) return false;
    if (at_end(&c)) return true;
    return (take_zulu(&c) || zone_offset(&c, true, p)) && at_end(&c);
}

static bool rfc3339_form(cursor c, parts *p)
{
    return iso_date(&c, &p->date) && (take(&c, 'T') || take(&c, 't')) && hours_minutes(&c, p) &&
           seconds(&c, p) && (take_zulu(&c) || zone_offset(&c, false, p)) && at_end(&c);
}

/* Every piece has only digits behind it, so none is negative. A 60th second has no place in a
 * count of days of 86,400 seconds and is refused like any other second that is not there. */
static bool exists(const parts *p)
{
    return p->date.year >= 1 && p->date.month >= 1 && p->date.month <= 12 && p->date.day >= 1 &&
           p->date.day <= tb_days_in_month(p->date.year, p->date.month) && p->hour <= 23 &&
           p->minute <= 59 && p->second <= 59 && p->zone_hour <= 23 && p->zone_minute <= 59;
}

/* The UTC instant; false where the zone's offset carries it out of the valid years. */
static bool instant(const parts *p, int64_t *ret_us)
{
    int64_t second_of_day = p->hour * 3600 + p->minute * 60 + p->second;
    int64_t offset = p->zone_sign * (p->zone_hour * 3600 + p->zone_minute * 60);
    int64_t us = tb_day_from_date(p->date) * TB_US_PER_DAY +
                 (second_of_day - offset) * TB_US_PER_S + p->micro;
    if (us < TB_US_FIRST || us > TB_US_LAST) return false;
    *ret_us = us;
    return true;
}

tb_code tb_date_parse(const char *text, size_t len, int64_t *ret_us, tb_error *err)
{
    parts p = {0};
    if (len == 0 || !lax_form((cursor){text, text + len}, &p) || !exists(&p) ||
        !instant(&p, ret_us))
        return tb_fail(err, TB_E_VALIDATION, NULL, BAD_DATE);
    return TB_OK;
}

tb_code tb_rfc3339_parse(const char *text, size_t len, int64_t *ret_us, tb_error *err)
{
    parts p = {0};
    if (len == 0 || !rfc3339_form((cursor){text, text + len}, &p) || !exists(&p) ||
        !instant(&p, ret_us))
        return tb_fail(err, TB_E_VALIDATION, NULL, BAD_RFC3339);
    return TB_OK;
}

static char *put_two(char *out, int32_t value)
{
    *out++ = (char)('0' + value / 10);
    *out++ = (char)('0' + value % 10);
    return out;
}

int64_t tb_step_ms(int64_t span_ms, int64_t most)
{
    static const int steps_s[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600};
    size_t i = 0;
    while (i + 1 < sizeof steps_s / sizeof *steps_s && span_ms > INT64_C(1000) * steps_s[i] * most)
        i++;
    int64_t step_ms = INT64_C(1000) * steps_s[i];
    while (span_ms > step_ms * most)
        step_ms *= 2;
    return step_ms;
}

void tb_time_format(int64_t us, char out[20])
{
    /* A count outside the valid years has no 20 bytes of its own; it shows as the nearest. */
    if (us < TB_US_FIRST) us = TB_US_FIRST;
    if (us > TB_US_LAST) us = TB_US_LAST;
    int64_t day = tb_day_from_us(us);
    int32_t second = (int32_t)((us - day * TB_US_PER_DAY) / TB_US_PER_S);
    tb_date date = tb_date_from_day(day);

    out = put_two(out, date.year / 100);
    out = put_two(out, date.year % 100);
    *out++ = '-';
    out = put_two(out, date.month);
    *out++ = '-';
    out = put_two(out, date.day);
    *out++ = 'T';
    out = put_two(out, second / 3600);
    *out++ = ':';
    out = put_two(out, second / 60 % 60);
    *out++ = ':';
    out = put_two(out, second % 60);
    *out = 'Z';
}

/* --- months as text --- */

bool tb_month_parse(const char *text, size_t len, int64_t *ret_month)
{
    cursor c = {text, text + len};
    tb_date date = {.day = 1};
    if (len != 7 || !number(&c, 4, 4, &date.year) || !take(&c, '-') ||
        !number(&c, 2, 2, &date.month))
        return false;
    if (date.year < 1 || date.month < 1 || date.month > 12) return false;
    *ret_month = tb_month_from_day(tb_day_from_date(date));
    return true;
}

void tb_month_format(int64_t month, char out[8])
{
    char text[20];
    tb_time_format(tb_month_start_us(month), text);
    for (int i = 0; i < 7; i++)
        out[i] = text[i];
    out[7] = 0;
}
