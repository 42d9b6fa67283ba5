/* The calculation uses instants; they become buckets once the kind of a point is known. */
#include "tollbook/range.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_DAYS 30
#define HOURS_UP_TO  (3 * TB_US_PER_DAY)
#define MONTHS_FROM  (400 * TB_US_PER_DAY)

static const char *const by_names[] = {"auto", "hour", "day", "month"};
static const char *const compare_names[] = {"none", "previous", "year", "day", "week"};

typedef struct moments {
    int64_t from, end; /* end: the first instant behind */
    int64_t last;      /* the latest start that it allows */
    const char *from_name, *to_name; /* of the parameters, for errors */
} moments;

static bool has_text(tb_text text)
{
    return text.data && text.len;
}

/* An absent text is the first word. */
static tb_code choose_word(tb_text text, const char *const *words, int n, const char *field,
                           int *ret, tb_error *err)
{
    char list[64];
    int len = 0;
    *ret = 0;
    if (!has_text(text)) return TB_OK;
    for (int i = 0; i < n; i++) {
        *ret = i;
        if (strlen(words[i]) == text.len && memcmp(words[i], text.data, text.len) == 0) return TB_OK;
        len += snprintf(list + len, sizeof list - (size_t)len, "%s%s",
                        i == 0 ? "" : i < n - 1 ? ", " : " or ", words[i]);
    }
    return tb_fail(err, TB_E_VALIDATION, field, "%s is %s.", field, list);
}

static tb_code parse_moment(tb_text text, const char *field, int64_t *ret_us, tb_error *err)
{
    tb_error why;
    if (tb_date_parse(text.data, text.len, ret_us, &why) == TB_OK) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, field, "%s", why.message);
}

/* Times have a colon, days have none. */
static bool is_whole_day(tb_text text)
{
    return !memchr(text.data, ':', text.len);
}

static tb_code take_moments(const tb_period_query *q, int64_t now_us, moments *m, tb_error *err)
{
    tb_code code = TB_OK;
    m->end = m->last = now_us;
    if (has_text(q->to)) {
        code = parse_moment(q->to, m->to_name, &m->end, err);
        m->last = m->end;
        if (!code && is_whole_day(q->to)) m->end += TB_US_PER_DAY, m->last = m->end - 1;
    }
    m->from = (tb_day_from_us(m->end - 1) + 1 - DEFAULT_DAYS) * TB_US_PER_DAY;
    if (!code && has_text(q->from)) code = parse_moment(q->from, m->from_name, &m->from, err);
    return code;
}

static tb_code check_moments(const moments *m, int64_t now_us, tb_error *err)
{
    if (m->from < 0)
        return tb_fail(err, TB_E_DATE_RANGE, m->from_name, "%s cannot be earlier than 1970.", m->from_name);
    if (tb_day_from_us(m->from) > tb_day_from_us(now_us))
        return tb_fail(err, TB_E_DATE_RANGE, m->from_name, "%s cannot be later than today.", m->from_name);
    if (m->from > m->last)
        return tb_fail(err, TB_E_DATE_RANGE, m->to_name, "%s cannot be earlier than %s.", m->to_name, m->from_name);
    return TB_OK;
}

/* The buckets that the moments touch, one at least, up to the end of today. */
static tb_range buckets_of(const moments *m, bool hourly, int64_t now_us)
{
    const int64_t unit = hourly ? TB_US_PER_HOUR : TB_US_PER_DAY;
    const int64_t today_end = (tb_day_from_us(now_us) + 1) * TB_US_PER_DAY;
    const int64_t end = m->end < today_end ? m->end : today_end;
    const int64_t first = m->from / unit, last = (end - 1) / unit;
    return (tb_range){first, last < first ? 1 : (uint32_t)(last - first + 1), hourly};
}

static tb_by by_itself(const moments *m)
{
    const int64_t length = m->end - m->from;
    if (length <= HOURS_UP_TO) return TB_BY_HOUR;
    return length < MONTHS_FROM ? TB_BY_DAY : TB_BY_MONTH;
}

static tb_code check_width(const moments *m, tb_by by, tb_error *err)
{
    const int64_t days = (m->end - m->from) / TB_US_PER_DAY;
    const int64_t points = by == TB_BY_HOUR ? (m->end - m->from) / TB_US_PER_HOUR
                           : by == TB_BY_DAY ? days : 0;
    if (days > TB_PERIOD_DAYS)
        return tb_fail(err, TB_E_DATE_RANGE, m->from_name, "Ask for %d days at most.", TB_PERIOD_DAYS);
    if (points > TB_PERIOD_POINTS)
        return tb_fail(err, TB_E_DATE_RANGE, "from",
                       "That is more than %d points. Ask for a shorter time, or by %s.",
                       TB_PERIOD_POINTS, by == TB_BY_HOUR ? "day" : "month");
    return TB_OK;
}

/* --- the compared range --- */

/* The same day `months` earlier; the last of that month where it has no such day. */
static int64_t day_months_before(int64_t day, int64_t months)
{
    const int64_t month = tb_month_from_day(day) - months;
    const int64_t same = tb_month_first_day(month) + tb_day_of_month(day);
    const int64_t last = tb_month_first_day(month + 1) - 1;
    return same < last ? same : last;
}

/* The end is the first day behind: it moves from a month's first day to a month's first day. */
static int64_t end_months_before(int64_t end, int64_t months)
{
    const int64_t month = tb_month_from_day(end) - months;
    const int64_t same = tb_month_first_day(month) + tb_day_of_month(end);
    const int64_t most = tb_month_first_day(month + 1);
    return same < most ? same : most;
}

static tb_range months_earlier(tb_range r, bool year)
{
    const int64_t end = r.first + r.count;
    const int64_t months =
        year ? 12 : tb_month_from_day(end - 1) - tb_month_from_day(r.first) + 1;
    const int64_t first = day_months_before(r.first, months);
    return (tb_range){first, (uint32_t)(end_months_before(end, months) - first), false};
}

/* As few steps earlier as it takes to end before the range begins. */
static tb_range steps_earlier(tb_range r, int64_t step)
{
    const int64_t steps = (r.count + step - 1) / step;
    return (tb_range){r.first - steps * step, r.count, r.hourly};
}

static tb_range compared(const tb_period *p)
{
    const tb_range r = p->range;
    const int64_t unit = r.hourly ? 24 : 1;
    const bool year = p->compare == TB_COMPARE_YEAR;
    if (p->compare == TB_COMPARE_NONE) return (tb_range){.hourly = r.hourly};
    if (p->by == TB_BY_MONTH) return months_earlier(r, year);
    if (p->compare == TB_COMPARE_DAY) return steps_earlier(r, unit);
    if (p->compare == TB_COMPARE_WEEK) return steps_earlier(r, 7 * unit);
    if (!year) return steps_earlier(r, r.count);
    const int64_t first = day_months_before(r.first / unit, 12) * unit + r.first % unit;
    return (tb_range){first, r.count, r.hourly};
}

/* Shortens the compared range by the part of the range that is in the future: whole hours, of days also a part of
 * the last. */
static void clip_before(tb_period *p)
{
    const tb_range r = p->range;
    const int64_t end = (r.first + r.count) * (r.hourly ? 1 : 24);
    const int64_t to_come = end - p->come;
    p->before_part = 0;
    if (!p->before.count || to_come <= 0) return;
    if (!r.hourly) p->before_part = (uint32_t)(to_come < 24 ? 24 - to_come : 1);
    else p->before.count = to_come < r.count ? r.count - (uint32_t)to_come : 0;
}

static void take_before(tb_period *p)
{
    p->before = compared(p);
    clip_before(p);
}

tb_range tb_period_before(const tb_period *p)
{
    const tb_range b = p->before;
    if (!p->before_part) return b;
    return (tb_range){b.first * 24, b.count * 24 - 24 + p->before_part, true};
}

void tb_period_by_day(tb_period *p)
{
    const tb_range r = p->range;
    const int64_t first = r.first / 24, last = (r.first + r.count - 1) / 24;
    p->by = TB_BY_DAY;
    p->range = (tb_range){first, (uint32_t)(last - first + 1), false};
    take_before(p);
}

tb_code tb_period_resolve(const tb_period_query *query, int64_t now_us, tb_period *ret_period,
                          tb_error *err)
{
    moments m = {.from_name = "from", .to_name = "to"};
    int by, compare;
    tb_code code = choose_word(query->by, by_names, 4, "by", &by, err);
    if (!code) code = choose_word(query->compare, compare_names, 5, "compare", &compare, err);
    if (!code) code = take_moments(query, now_us, &m, err);
    if (!code) code = check_moments(&m, now_us, err);
    if (code) return code;
    const tb_by chosen = by == TB_BY_AUTO ? by_itself(&m) : (tb_by)by;
    code = check_width(&m, chosen, err);
    if (code) return code;
    *ret_period = (tb_period){.by = chosen,
                              .by_itself = by == TB_BY_AUTO,
                              .compare = (tb_compare)compare,
                              .come = (now_us + TB_US_PER_HOUR - 1) / TB_US_PER_HOUR,
                              .range = buckets_of(&m, chosen == TB_BY_HOUR, now_us)};
    take_before(ret_period);
    return TB_OK;
}

tb_code tb_span_resolve(const tb_span_query *q, int64_t now_us, tb_range *ret_hours, tb_error *err)
{
    moments m = {.from_name = q->from_name, .to_name = q->to_name};
    tb_code code = take_moments(&(tb_period_query){.from = q->from, .to = q->to}, now_us, &m, err);
    if (!code) code = check_moments(&m, now_us, err);
    if (!code) code = check_width(&m, TB_BY_MONTH, err);
    if (code) return code;
    const int64_t first = m.from / TB_US_PER_HOUR, last = (m.end - 1) / TB_US_PER_HOUR;
    *ret_hours = (tb_range){first, last < first ? 1 : (uint32_t)(last - first + 1), true};
    return TB_OK;
}

uint32_t tb_period_next(tb_range range, tb_by by, uint32_t at)
{
    if (by != TB_BY_MONTH) return at + 1;
    const int64_t end = tb_month_first_day(tb_month_from_day(range.first + at) + 1) - range.first;
    return end < range.count ? (uint32_t)end : range.count;
}

uint32_t tb_period_points(tb_range range, tb_by by)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < range.count; at = tb_period_next(range, by, at))
        n++;
    return n;
}

int64_t tb_range_us(tb_range range, uint32_t at)
{
    return (range.first + at) * (range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY);
}
