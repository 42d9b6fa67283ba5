/* Fills a month's input: goes through the days that its terms count, and makes quantities of their sums. */
#include "check/usage.h"

#include <inttypes.h>
#include <string.h>

#include "check/usage_filling.h"
#include "base/list.h"
#include "tollbook/calendar.h"

void *tb__filling_room(tb__filling *f, size_t n, size_t size)
{
    void *at = tb__arena_take(&f->filled->arena, n ? n * size : 1);
    return at ? memset(at, 0, n * size) : NULL;
}

tb_code tb__wrong_terms(const tb__filling *f, const char *what)
{
    return tb_fail(f->err, TB_E_VALIDATION, "terms", "The terms are not as written: %s.", what);
}

tb_code tb__wrong_line(const tb__filling *f, const char *what)
{
    tb_code code = tb_fail(f->err, TB_E_VALIDATION, "days", "The usage of %s cannot be read: line %zu: %s.", f->date, f->line, what);
    if (f->err) f->err->line = f->line;
    return code;
}

tb_code tb__left_out(const tb__filling *f, const tb__day_line *l, const char *why)
{
    char shown[160];
    size_t n = 0;
    for (size_t i = 0; i < l->n && n + 1 < sizeof shown; i++)
        for (size_t k = 0; k <= l->len[i] && n + 1 < sizeof shown; k++)
            shown[n++] = k < l->len[i] ? l->field[i][k] : ' ';
    shown[n ? n - 1 : 0] = 0;
    return tb_fail(f->err, TB_E_DIFFERENT, "days", "Usage of %s was left out (%s): line %zu, \"%s\".", f->date, why, f->line, shown);
}

/* --- days --- */

static int day_of_index(const void *key, const void *item)
{
    const int64_t index = *(const int64_t *)key;
    const tb_check_day *day = item;
    return index < day->index ? -1 : index > day->index;
}

/* The days that the month counts, each with the text of its entry. */
static tb_code add_days(tb__filling *f, const tb__contents *c)
{
    const tb__term_month *of = f->month;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < of->n_days; i++) {
        char text[20];
        const tb_check_day *day = tb__find_sorted(&of->days[i].index, c->days, c->n_days, sizeof *c->days, day_of_index);
        f->day = of->days[i].day;
        tb_time_format(f->day * TB_US_PER_DAY, text);
        memcpy(f->date, text, 10);
        if (tb_month_from_day(f->day) != of->input.month || (i && of->days[i - 1].day >= f->day))
            return tb__wrong_terms(f, "the days of a month are not its own, or do not ascend");
        if (!day || day->day != f->day)
            return tb_fail(f->err, TB_E_NOT_FOUND, "days", "The usage of %s, entry %" PRId64 " of the log, is missing.", f->date,
                           of->days[i].index);
        code = tb__add_usage_day(f, day->text);
    }
    return code;
}

/* --- quantities --- */

/* The hours of a part that count. */
static tb__day_span part_span(const tb__filling *f, uint32_t part)
{
    const tb_bill_part *p = &f->filled->input.parts[part];
    return (tb__day_span){f->filled->input.month, p->from_us / TB_US_PER_HOUR,
                          tb__earlier(p->to_us / TB_US_PER_HOUR, f->until_hour)};
}

static void sum_bytes(const tb__filling *f)
{
    tb_bill_bytes *const bytes = f->lists.bytes;
    for (size_t i = 0; i < f->n_bytes; i++) {
        const tb__usage_entry *t = &f->bytes[i];
        const tb__day_span span = {f->month->input.month, t->from, tb__earlier(t->to, f->until_hour)};
        bytes[t->index].bytes = tb__days_total(&f->byte_sums[t->index], span, &bytes[t->index].evidence);
    }
}

/* Of load balancers and counters; gauges have theirs from tb__end_gauges. */
static void sum_usage(const tb__filling *f)
{
    const tb_bill_input *in = &f->filled->input;
    for (size_t i = 0; i < in->n_balancers; i++)
        f->lists.balancers[i].requests =
            tb__days_total(&f->balancer_sums[i], part_span(f, in->balancers[i].part), &f->lists.balancers[i].evidence);
    for (size_t i = 0; i < in->n_usage; i++)
        if (in->meters[in->usage[i].meter].kind == TB_METER_COUNTER)
            f->lists.usage[i].quantity = tb__days_total(&f->usage_sums[i], part_span(f, in->usage[i].part), &f->lists.usage[i].evidence);
}

/* Entries of samples without a value before until_us are taken out. */
static void end_samples(tb__filling *f)
{
    tb_bill_input *in = &f->filled->input;
    size_t kept = 0;
    for (size_t i = 0; i < in->n_samples; i++) {
        tb_bill_samples s = f->lists.samples[i];
        if (!f->values[i]) continue;
        tb__intervals_end(f->values[i], in->month, f->until_us, in->meters[s.meter].interval, &s);
        if (s.present) f->lists.samples[kept++] = s;
    }
    in->n_samples = kept;
    if (!f->bandwidth) return;
    const int interval = tb__bandwidth_finest(f->bandwidth, f->month_s / TB_METER_INTERVAL, f->month_s / 3600);
    in->bandwidth = (tb_bill_samples){.resource = "", .dimension = {"", ""}};
    tb__intervals_end(f->bandwidth, in->month, f->until_us, interval, &in->bandwidth);
}

/* --- the whole --- */

static void *copy_list(tb__filling *f, const void *list, size_t n, size_t size)
{
    return tb__arena_copy(&f->filled->arena, list, n * size);
}

/* The lists that get quantities: the filled input has its own copies. */
static tb_code copy_lists(tb__filling *f)
{
    tb_bill_input *in = &f->filled->input;
    in->bytes = f->lists.bytes = copy_list(f, in->bytes, in->n_bytes, sizeof *in->bytes);
    in->balancers = f->lists.balancers = copy_list(f, in->balancers, in->n_balancers, sizeof *in->balancers);
    in->usage = f->lists.usage = copy_list(f, in->usage, in->n_usage, sizeof *in->usage);
    in->samples = f->lists.samples = copy_list(f, in->samples, in->n_samples, sizeof *in->samples);
    f->balancer_sums = tb__filling_room(f, in->n_balancers, sizeof *f->balancer_sums);
    return in->bytes && in->balancers && in->usage && in->samples && f->balancer_sums ? TB_OK : tb_no_memory(f->err);
}

static tb_code make_filled(tb__filling *f, const tb__contents *c)
{
    tb_code code = copy_lists(f);
    if (!code) code = tb__list_entries(f);
    if (!code) code = tb__list_series(f);
    if (!code) code = tb__begin_gauges(f);
    if (!code) code = tb__list_samples(f);
    if (!code) code = add_days(f, c);
    if (!code) code = tb__end_gauges(f);
    if (code) return code;
    sum_bytes(f);
    sum_usage(f);
    end_samples(f);
    return TB_OK;
}

tb_code tb__fill_month(const tb__contents *c, const tb__term_month *month, int64_t until_us, tb__filled *ret, tb_error *err)
{
    const int64_t from_us = tb_month_start_us(month->input.month), to_us = tb_month_start_us(month->input.month + 1);
    tb__filling f = {.month = month, .filled = ret, .err = err, .until_us = tb__later(from_us, tb__earlier(until_us, to_us))};
    *ret = (tb__filled){.input = month->input};
    tb__arena_init(&ret->arena, NULL);
    f.from_hour = from_us / TB_US_PER_HOUR;
    f.until_hour = f.until_us / TB_US_PER_HOUR;
    f.month_s = (uint32_t)((to_us - from_us) / TB_US_PER_S);
    ret->input.percentile = month->input.contract.percentile;
    tb_code code = make_filled(&f, c);
    if (code) tb__filled_release(ret);
    return code;
}

void tb__filled_release(tb__filled *filled)
{
    tb__arena_release(&filled->arena);
    *filled = (tb__filled){.counted = {0}};
}
