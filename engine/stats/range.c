/* The seven date-range rules, one function each, in the contract's order: the first that refuses
 * decides the answer. Two instants (from, to) are carried through; they become buckets only at the
 * end, because two of the rules look at instants as sent and the others at days.
 *
 * A default start (30 days, a month or 24 hours before the end) is never before the first day of the calendar, so
 * that every bucket has a key that can be written. */
#include "tollbook/range.h"

#define HOURLY_AGE_DAYS 30
#define MAX_WIDTH_DAYS  40
#define LATEST_WIDTH_US TB_US_PER_DAY
#define HOURS_PER_DAY   24

#define TOO_OLD_HOURLY                                                                             \
    "Cannot request hourly statistics older than 30 days. Use daily granularity instead."
#define TOO_OLD_DAILY   "Cannot request statistics older than 1 year."
#define TOO_WIDE        "Date range cannot exceed 40 days."
#define TOO_WIDE_LATEST "Date range cannot exceed 1 day when loadLatest is set."
#define NO_DATES_LATEST "Either dateFrom or dateTo is required when loadLatest is set."
#define FUTURE_START    "dateFrom cannot be later than today."
#define INVERTED        "dateTo cannot be earlier than dateFrom."

/* A request with its flags reduced to those that take effect on it. */
typedef struct rules {
    bool hourly, exact, latest, statistics;
    int64_t now;
} rules;

typedef struct span {
    int64_t from, to; /* instants, microseconds since 1970 */
} span;

static tb_code refuse_range(tb_error *err, const char *field, const char *message)
{
    return tb_fail(err, TB_E_DATE_RANGE, field, "%s", message);
}

static bool is_absent(const tb_text *text)
{
    return !text->data || text->len == 0;
}

static int64_t at_least(int64_t value, int64_t least)
{
    return value < least ? least : value;
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value > most ? most : value;
}

/* The same day, months earlier; a day that month does not have becomes its last. */
static int64_t months_before(int64_t day, int64_t months)
{
    int64_t first = tb_month_first_day(tb_month_from_day(day) - months);
    int64_t last = tb_month_first_day(tb_month_from_day(day) - months + 1) - 1;
    return at_most(first + tb_day_of_month(day), last);
}

static tb_code parse_date(const tb_text *text, const char *field, int64_t *ret_us, tb_error *err)
{
    tb_error why;
    if (tb_date_parse(text->data, text->len, ret_us, &why) == TB_OK) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, field, "%s", why.message);
}

/* Rule 1, where dateFrom is absent: the start that belongs to an end. */
static int64_t default_from(const rules *r, int64_t to)
{
    int64_t from;
    if (r->latest)
        from = to - LATEST_WIDTH_US;
    else if (r->hourly)
        from = to - HOURLY_AGE_DAYS * TB_US_PER_DAY;
    else
        from = months_before(tb_day_from_us(to), 1) * TB_US_PER_DAY;
    return at_least(from, TB_US_FIRST);
}

/* Rule 1, where dateTo is absent. */
static int64_t default_to(const rules *r, int64_t from)
{
    return r->latest ? at_most(from + LATEST_WIDTH_US, r->now) : r->now;
}

/* Parses the given values, dateFrom first, and fills in defaults. */
static tb_code take_dates(const tb_range_query *query, const rules *r, span *ret, tb_error *err)
{
    bool no_from = is_absent(&query->from), no_to = is_absent(&query->to);
    span s = {.from = 0, .to = r->now};
    tb_code code;
    if (!no_from && (code = parse_date(&query->from, "dateFrom", &s.from, err))) return code;
    if (!no_to && (code = parse_date(&query->to, "dateTo", &s.to, err))) return code;

    if (no_from && no_to && r->latest) return refuse_range(err, "dateFrom", NO_DATES_LATEST);
    if (no_from)
        s.from = default_from(r, s.to);
    else if (no_to)
        s.to = default_to(r, s.from);
    *ret = s;
    return TB_OK;
}

/* Rules 2 and 3: the range begins today or before, and not after its end. */
static tb_code check_order(const rules *r, span s, tb_error *err)
{
    int64_t from_day = tb_day_from_us(s.from);
    if (from_day > tb_day_from_us(r->now)) return refuse_range(err, "dateFrom", FUTURE_START);
    if (from_day > tb_day_from_us(s.to) || (r->exact && s.from > s.to))
        return refuse_range(err, "dateTo", INVERTED);
    return TB_OK;
}

/* Rule 4. Days are compared, so that "30 days ago" is valid at every time of day. */
static tb_code check_age(const rules *r, span s, tb_error *err)
{
    if (r->latest) return TB_OK;
    int64_t from_day = tb_day_from_us(s.from), today = tb_day_from_us(r->now);
    if (r->hourly) {
        if (from_day < today - HOURLY_AGE_DAYS)
            return refuse_range(err, "dateFrom", TOO_OLD_HOURLY);
    } else if (from_day < months_before(today, 12)) {
        return refuse_range(err, "dateFrom", TOO_OLD_DAILY);
    }
    return TB_OK;
}

/* Rule 5. */
static tb_code check_width(const rules *r, span s, tb_error *err)
{
    if (!r->statistics) return TB_OK;
    if (r->latest) {
        if (s.to - s.from > LATEST_WIDTH_US) return refuse_range(err, "dateTo", TOO_WIDE_LATEST);
    } else if (tb_day_from_us(s.to) - tb_day_from_us(s.from) > MAX_WIDTH_DAYS) {
        return refuse_range(err, "dateTo", TOO_WIDE);
    }
    return TB_OK;
}

/* Rules 6 and 7 in days. Rules 2 and 3 have made first <= today and first <= last. */
static tb_range whole_days(const rules *r, span s)
{
    int64_t first = tb_day_from_us(s.from);
    int64_t last = at_most(tb_day_from_us(s.to), tb_day_from_us(r->now));
    int64_t unit = r->hourly ? HOURS_PER_DAY : 1;
    return (tb_range){
        .first = first * unit,
        .count = (uint32_t)((last - first + 1) * unit),
        .hourly = r->hourly,
    };
}

/* Rules 6 and 7 in hours, for exactRange. The last hour is the one that holds the instant before
 * `to`, which makes a `to` on the hour the exclusive end; from = to still keeps its own hour. */
static tb_range exact_hours(const rules *r, span s)
{
    int64_t first = tb_hour_from_us(s.from);
    int64_t last = at_least(tb_hour_from_us(s.to - 1), first);
    last = at_most(last, (tb_day_from_us(r->now) + 1) * HOURS_PER_DAY - 1);
    return (tb_range){.first = first, .count = (uint32_t)(last - first + 1), .hourly = true};
}

tb_code tb_range_resolve(const tb_range_query *query, int64_t now_us, tb_range *ret_range,
                         tb_error *err)
{
    const rules r = {
        .hourly = query->hourly,
        .exact = query->exact && query->hourly && query->statistics,
        .latest = query->latest && query->statistics,
        .statistics = query->statistics,
        .now = at_most(at_least(now_us, TB_US_FIRST), TB_US_LAST),
    };
    span s = {0};
    tb_code code;
    if ((code = take_dates(query, &r, &s, err)) || (code = check_order(&r, s, err)) ||
        (code = check_age(&r, s, err)) || (code = check_width(&r, s, err)))
        return code;
    *ret_range = r.exact ? exact_hours(&r, s) : whole_days(&r, s);
    return TB_OK;
}
