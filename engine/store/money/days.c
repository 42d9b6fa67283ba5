/* Sums of days, of which lines of bills are made. Whole days are read by the month, one counter of one series at a
 * time; a day that a span cuts is summed from its own hours. Usage that arrived after the watermark is then
 * subtracted. */
#include "store/money/billing.h"
#include "tollbook/calendar.h"

/* The hours of a day do not sum to it: they have expired, or are damaged, which verify reports. */
static tb_code hours_gone(int64_t day, tb_error *err)
{
    char when[20];
    tb_time_format(day * TB_US_PER_DAY, when);
    return tb_fail(err, TB_E_NOT_KEPT, "month",
                   "The hours of %.10s are no longer kept, and a price or a setting changed within that "
                   "day: the month cannot be rated again. Ask for later months.",
                   when);
}

/* A part of a day, and the whole day's sum. */
typedef struct day_part {
    int64_t day, first, last; /* hours first..last-1 */
    uint64_t whole;
} day_part;

static tb_code part_of_day(tb_store *store, int64_t series, tb_metric metric, const day_part *part,
                           tb_i128 *sum, tb_error *err)
{
    uint64_t hours[32] = {0};
    tb_i128 all = 0;
    tb_code code = store->plane.counters->hours(store, series, metric, part->day, hours, err);
    for (int64_t h = 0; !code && h < 24; h++) {
        all += (tb_i128)hours[h];
        if (h >= part->first && h < part->last) *sum += (tb_i128)hours[h];
    }
    return code || all == (tb_i128)part->whole ? code : hours_gone(part->day, err);
}

tb_code tb__days_add(tb_store *store, int64_t series, tb_metric metric, const uint64_t days[32],
                     tb__day_span span, tb__day_sums *sums, tb_error *err)
{
    int64_t base = tb_month_first_day(span.month);
    int64_t first = tb__floor_div(span.from_hour, 24), last = tb__floor_div(span.to_hour - 1, 24);
    tb_code code = TB_OK;
    for (int64_t day = first; !code && day <= last; day++) {
        int64_t from = tb__later(span.from_hour - day * 24, 0);
        int64_t to = tb__earlier(span.to_hour - day * 24, 24);
        uint64_t whole = days[day - base];
        if (!whole) continue;
        const day_part part = {day, from, to, whole};
        if (from == 0 && to == 24)
            sums->day[day - base] += (tb_i128)whole;
        else
            code = part_of_day(store, series, metric, &part, &sums->day[day - base], err);
    }
    return code;
}

tb_code tb__days_take_late(const struct tb__billing *billing, int scope, int64_t owner,
                           int64_t edge, int which, tb__day_span span, tb__day_sums *sums,
                           tb_error *err)
{
    int64_t base = tb_month_first_day(span.month);
    int64_t first = tb__floor_div(span.from_hour, 24), last = tb__floor_div(span.to_hour - 1, 24);
    if (!billing->n_late) return TB_OK;
    for (int64_t day = first; day <= last; day++) {
        int64_t from = tb__later(span.from_hour - day * 24, 0);
        int64_t to = tb__earlier(span.to_hour - day * 24, 24);
        sums->day[day - base] -= tb__late_sum(billing, scope, owner, edge, which, day, (int)from,
                                              (int)(to - from));
        if (sums->day[day - base] < 0)
            return tb_fail(err, TB_E_CORRUPT, "late",
                           "%s %lld: more usage came late than there is. Look for more with: tollbook verify",
                           scope == TB__SCOPE_ZONE ? "Pull zone" : scope == TB__SCOPE_METER ? "Meter series" : "Load balancer",
                           (long long)owner);
    }
    return TB_OK;
}
