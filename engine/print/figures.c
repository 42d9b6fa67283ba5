/* Figures are formed from their decimal text, never through doubles. Where a quantity is rounded,
 * it keeps one digit after the point, and two below ten: enough to recognise it by. */
#include "print/figures.h"

#include <inttypes.h>
#include <string.h>

#include "tollbook/calendar.h"

#define MINUS "\u2212"
#define DASH  "\u2013"

/* --- numbers --- */

void tb__add_figure_text(tb_buf *out, tb__language language, const char *text, size_t len)
{
    const char *group = language == TB__GERMAN ? "." : ",";
    const char *point = memchr(text, '.', len);
    const size_t whole = point ? (size_t)(point - text) : len;
    size_t i = 0;
    if (len && *text == '-') {
        tb_buf_str(out, MINUS);
        i = 1;
    }
    for (size_t first = i; i < whole; i++) {
        if (i > first && (whole - i) % 3 == 0) tb_buf_str(out, group);
        tb_buf_add(out, text + i, 1);
    }
    if (!point) return;
    tb_buf_str(out, language == TB__GERMAN ? "," : ".");
    tb_buf_add(out, point + 1, len - whole - 1);
}

void tb__add_figure(tb_buf *out, tb__language language, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const char *end = tb_decimal_put(text, value);
    tb__add_figure_text(out, language, text, (size_t)(end - text));
}

void tb__add_amount(tb_buf *out, tb__language language, tb_decimal value, int digits)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const char *end = tb_decimal_put_fixed(text, value, digits);
    tb__add_figure_text(out, language, text, (size_t)(end - text));
}

static void add_count(tb_buf *out, tb__language language, tb_i128 n)
{
    tb__add_figure(out, language, tb_decimal_from_int(n));
}

/* --- dates --- */

static void add_month_word(tb_buf *out, tb__language language, int month)
{
    tb__add_word(out, language, (tb__word)(TB__WORD_JANUARY + month - 1));
}

static void add_day_of_month(tb_buf *out, tb__language language, int day)
{
    tb_buf_fmt(out, language == TB__GERMAN ? "%d." : "%d", day);
}

void tb__add_day(tb_buf *out, tb__language language, int64_t day)
{
    const tb_date date = tb_date_from_day(day);
    add_day_of_month(out, language, date.day);
    tb_buf_str(out, " ");
    add_month_word(out, language, date.month);
    tb_buf_fmt(out, " %d", date.year);
}

void tb__add_date(tb_buf *out, tb__language language, const char *text)
{
    int64_t us = 0;
    if (tb_date_parse(text, strlen(text), &us, NULL) == TB_OK)
        tb__add_day(out, language, tb_day_from_us(us));
    else
        tb_buf_str(out, text);
}

void tb__add_month(tb_buf *out, tb__language language, int64_t month)
{
    const tb_date date = tb_date_from_day(tb_month_first_day(month));
    add_month_word(out, language, date.month);
    tb_buf_fmt(out, " %d", date.year);
}

void tb__add_period(tb_buf *out, tb__language language, int64_t month)
{
    add_day_of_month(out, language, 1);
    tb_buf_str(out, " " DASH " ");
    tb__add_day(out, language, tb_month_first_day(month + 1) - 1);
}

/* --- quantities --- */

static tb_i128 absolute(tb_i128 n)
{
    return n < 0 ? -n : n;
}

/* units / 10^places, rounded as this file's head says. */
static tb_code add_rounded(tb_buf *out, tb__language language, tb_i128 units, int places,
                           tb_error *err)
{
    tb_decimal value;
    tb_i128 ten = 10;
    tb_code code = tb_decimal_shift(tb_decimal_from_int(units), places, &value, err);
    for (int i = 0; i < places; i++)
        ten *= 10;
    if (!code)
        code = tb_decimal_round(value, absolute(units) >= ten ? 1 : 2, TB_HALF_UP, &value, err);
    if (!code) tb__add_figure(out, language, value);
    return code;
}

static tb_code add_exact(tb_buf *out, tb__language language, tb_i128 units, int places,
                         tb_error *err)
{
    tb_decimal value;
    tb_code code = tb_decimal_shift(tb_decimal_from_int(units), places, &value, err);
    if (!code) tb__add_figure(out, language, value);
    return code;
}

typedef tb_code add_scaled(tb_buf *out, tb__language language, tb_i128 units, int places,
                           tb_error *err);

static tb_code add_bytes(tb_buf *out, tb__language language, tb_i128 bytes, add_scaled *add,
                         tb_error *err)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    for (tb_i128 at = 1000; unit + 1 < sizeof units / sizeof *units && absolute(bytes) >= at;
         at *= 1000)
        unit++;
    tb_code code = unit ? add(out, language, bytes, 3 * (int)unit, err) : TB_OK;
    if (unit == 0) add_count(out, language, bytes);
    if (!code) tb_buf_fmt(out, " %s", units[unit]);
    return code;
}

static tb_code add_requests(tb_buf *out, tb__language language, tb_i128 n, add_scaled *add,
                            tb_error *err)
{
    const bool many = absolute(n) >= 1000000;
    tb_code code = TB_OK;
    if (many)
        code = add(out, language, n, 6, err);
    else
        add_count(out, language, n);
    tb_buf_str(out, " ");
    tb__add_word(out, language,
                 many               ? TB__WORD_MILLION_REQUESTS
                 : absolute(n) == 1 ? TB__WORD_REQUEST
                                    : TB__WORD_REQUESTS);
    return code;
}

/* n / d to one digit after the point; whether that is 1 or -1. */
static tb_code add_ratio(tb_buf *out, tb__language language, tb_i128 n, int64_t d, bool *ret_one,
                         tb_error *err)
{
    tb_decimal value;
    tb_code code = tb_decimal_divide(tb_decimal_from_int(n), 1, d, 1, TB_HALF_UP, &value, err);
    if (code) return code;
    tb__add_figure(out, language, value);
    *ret_one =
        absolute(tb_decimal_normal(value).mantissa) == 1 && tb_decimal_normal(value).scale == 0;
    return TB_OK;
}

/* The largest unit of which a duration has at least two, and its name. */
typedef struct clock_unit {
    int64_t seconds;
    tb__word one, many;
} clock_unit;

static const clock_unit *clock_unit_of(tb_i128 seconds)
{
    static const clock_unit units[] = {{86400, TB__WORD_DAY, TB__WORD_DAYS},
                                       {3600, TB__WORD_HOUR, TB__WORD_HOURS},
                                       {60, TB__WORD_MINUTE, TB__WORD_MINUTES},
                                       {1, TB__WORD_SECOND, TB__WORD_SECONDS}};
    const clock_unit *unit = units;
    while (unit->seconds > 1 && absolute(seconds) < 2 * unit->seconds &&
           absolute(seconds) != unit->seconds)
        unit++;
    return unit;
}

static tb_code add_duration(tb_buf *out, tb__language language, tb_i128 seconds, tb_error *err)
{
    const clock_unit *unit = clock_unit_of(seconds);
    bool one = false;
    tb_code code = add_ratio(out, language, seconds, unit->seconds, &one, err);
    tb_buf_str(out, " ");
    tb__add_word(out, language, one ? unit->one : unit->many);
    return code;
}

/* "17 days of 31"; of a year, month INT64_MIN, "17 days" */
static tb_code add_days_of(tb_buf *out, tb__language language, tb_i128 seconds, int64_t month,
                           tb_error *err)
{
    const bool yearly = month == INT64_MIN;
    const int64_t days = yearly ? 0 : tb_month_first_day(month + 1) - tb_month_first_day(month);
    bool one = false;
    if (yearly || clock_unit_of(seconds)->seconds != 86400) return add_duration(out, language, seconds, err);
    tb_code code = add_ratio(out, language, seconds, 86400, &one, err);
    tb_buf_str(out, " ");
    tb__add_word(out, language, one ? TB__WORD_DAY_OF : TB__WORD_DAYS_OF);
    tb_buf_str(out, " ");
    add_count(out, language, days);
    return code;
}

tb_code tb__add_quantity(tb_buf *out, tb__language language, tb_line_kind kind, tb_i128 units,
                         int64_t month, tb_error *err)
{
    const char *unit = tb_line_kind_unit(kind);
    if (strcmp(unit, "byte") == 0) return add_bytes(out, language, units, add_rounded, err);
    if (strcmp(unit, "request") == 0) return add_requests(out, language, units, add_rounded, err);
    if (strcmp(unit, "second") == 0) return add_days_of(out, language, units, month, err);
    add_count(out, language, units);
    tb_buf_str(out, " ");
    tb__add_word(out, language, absolute(units) == 1 ? TB__WORD_MONTH : TB__WORD_MONTHS);
    return TB_OK;
}

tb_code tb__add_position(tb_buf *out, tb__language language, tb_line_kind kind, tb_i128 units,
                         tb_error *err)
{
    const char *unit = tb_line_kind_unit(kind);
    if (strcmp(unit, "byte") == 0) return add_bytes(out, language, units, add_exact, err);
    if (strcmp(unit, "request") == 0) return add_requests(out, language, units, add_exact, err);
    return add_duration(out, language, units, err);
}

/* --- prices --- */

int tb__price_places(tb_line_kind kind)
{
    const char *unit = tb_line_kind_unit(kind);
    return strcmp(unit, "byte") == 0 ? 9 : strcmp(unit, "request") == 0 ? 6 : 0;
}

tb_code tb__add_price(tb_buf *out, tb__language language, tb_line_kind kind, tb_decimal price,
                      const char *currency, tb_error *err)
{
    const int places = tb__price_places(kind);
    tb_decimal shown;
    tb_code code = tb_decimal_shift(price, -places, &shown, err);
    if (code) return code;
    tb__add_figure(out, language, shown);
    tb_buf_fmt(out, " %s ", currency);
    tb__add_word(out, language,
                 places == 9   ? TB__WORD_PER_GB
                 : places == 6 ? TB__WORD_PER_MILLION
                               : TB__WORD_PER_MONTH);
    return TB_OK;
}

/* --- meters --- */

/* "GB-month", "GB-months", "GB-Monate", "requests": the time at a unit's end is a word of the language. Words of small
 * letters have an English plural; GB and Mbps have none. */
static void add_unit(tb_buf *out, tb__language language, const char *unit, bool one)
{
    static const struct {
        const char *time;
        tb__word one, many;
    } times[] = {{"-month", TB__WORD_MONTH, TB__WORD_MONTHS},
                 {"-hour", TB__WORD_HOUR, TB__WORD_HOURS},
                 {"-second", TB__WORD_SECOND, TB__WORD_SECONDS}};
    const size_t len = strlen(unit);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const size_t end = strlen(times[i].time);
        if (len <= end || strcmp(unit + len - end, times[i].time) != 0) continue;
        tb_buf_add(out, unit, len - end + 1);
        tb__add_word(out, language, one ? times[i].one : times[i].many);
        return;
    }
    tb_buf_str(out, unit);
    for (size_t i = 0; i < len; i++)
        if (unit[i] < 'a' || unit[i] > 'z') return;
    if (!one && language == TB__ENGLISH) tb_buf_str(out, "s");
}

static bool in_units_of_price(const tb_bill_item *item)
{
    return item->per && item->per_unit[0];
}

/* units / per, in as many digits. */
static tb_code add_of_price(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units, int digits,
                            tb_error *err)
{
    tb_decimal value;
    tb_code code = tb_decimal_divide(tb_decimal_from_int(units), 1, item->per, digits, TB_HALF_UP, &value, err);
    if (code) return code;
    value = tb_decimal_normal(value);
    tb__add_figure(out, language, value);
    tb_buf_str(out, " ");
    add_unit(out, language, item->per_unit, value.scale == 0 && absolute(value.mantissa) == 1);
    return TB_OK;
}

static tb_code add_own_units(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units, add_scaled *add,
                             tb_error *err)
{
    if (strcmp(item->unit, "byte") == 0 || !item->unit[0]) return add_bytes(out, language, units, add, err);
    if (strcmp(item->unit, "request") == 0) return add_requests(out, language, units, add, err);
    add_count(out, language, units);
    tb_buf_str(out, " ");
    add_unit(out, language, item->unit, absolute(units) == 1);
    return TB_OK;
}

tb_code tb__add_item_quantity(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units, tb_error *err)
{
    if (!in_units_of_price(item)) return add_own_units(out, language, item, units, add_rounded, err);
    const tb_i128 size = absolute(units), per = item->per;
    return add_of_price(out, language, item, units, size / 10 >= per ? 1 : size >= per ? 2 : 6, err);
}

tb_code tb__add_item_position(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units, tb_error *err)
{
    if (!in_units_of_price(item)) return add_own_units(out, language, item, units, add_exact, err);
    return add_of_price(out, language, item, units, 9, err);
}

void tb__add_item_price(tb_buf *out, tb__language language, const tb_bill_item *item, tb_decimal price,
                        const char *currency)
{
    tb_buf unit;
    char text[TB_METER_UNIT_MAX + TB_DECIMAL_TEXT_MAX + 32];
    unit = (tb_buf){.data = text, .cap = sizeof text, .max = sizeof text - 1};
    const char *with[1] = {text};
    const bool named = in_units_of_price(item);
    if (!named && item->per) {
        add_count(&unit, language, item->per);
        tb_buf_str(&unit, " ");
    }
    add_unit(&unit, language, named ? item->per_unit : item->unit, named || !item->per);
    text[unit.len] = 0;
    tb__add_figure(out, language, price);
    tb_buf_fmt(out, " %s ", currency);
    tb__add_filled(out, language, TB__WORD_PER, with);
}
