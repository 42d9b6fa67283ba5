/* Sums of days, of which lines of bills are made. */
#include "billing/days.h"

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "tollbook/calendar.h"

/* The lowest byte first, whatever the machine. */
static uint8_t *put_64(uint8_t *out, uint64_t value)
{
    value = htole64(value);
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

static void put_hex(char *out, uint64_t value)
{
    for (int i = 0; i < 16; i++)
        out[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
}

tb_i128 tb__days_total(const tb__day_sums *sums, tb__day_span span, tb_evidence *ret_evidence)
{
    uint8_t bytes[TB__MONTH_DAYS * 24], *end = bytes;
    int64_t base = tb_month_first_day(span.month);
    tb_i128 total = 0;
    tb_evidence e = {.from_us = span.from_hour * TB_US_PER_HOUR,
                     .to_us = span.to_hour * TB_US_PER_HOUR};
    for (int i = 0; i < TB__MONTH_DAYS; i++) {
        if (!sums->day[i]) continue;
        total += sums->day[i];
        e.buckets++;
        end = put_64(end, (uint64_t)(base + i));
        end = put_64(end, (uint64_t)sums->day[i]);
        end = put_64(end, (uint64_t)(sums->day[i] >> 64));
    }
    XXH128_hash_t hash = XXH3_128bits(bytes, (size_t)(end - bytes));
    put_hex(e.hash, hash.high64);
    put_hex(e.hash + 16, hash.low64);
    *ret_evidence = e;
    return total;
}

/* --- gauges --- */

static uint64_t raised(uint64_t value, uint64_t multiple)
{
    return multiple && value % multiple ? value + (multiple - value % multiple) : value;
}

static int64_t second_of(int64_t us)
{
    return us / TB_US_PER_S - (us % TB_US_PER_S < 0);
}

void tb__gauge_begin(tb__gauge_walk *walk)
{
    walk->again_s = walk->from_us / TB_US_PER_S;
    walk->held = (tb__held){.from_s = walk->again_s};
}

/* Until at_us the newest value held. */
static tb_code close(tb__gauge_walk *walk, int64_t at_us, tb_error *err)
{
    walk->held.to_s = second_of(at_us);
    if (!walk->held.value || walk->held.from_s >= walk->held.to_s) return TB_OK;
    return walk->fn(walk->ctx, &walk->held, err);
}

tb_code tb__gauge_value(tb__gauge_walk *walk, int64_t at_us, uint64_t value, tb_error *err)
{
    tb_code code = close(walk, at_us, err);
    walk->held.value = raised(value, (uint64_t)walk->round_up);
    walk->held.from_s = tb__later(second_of(at_us), walk->again_s);
    return code;
}

tb_code tb__gauge_gap(tb__gauge_walk *walk, int64_t at_us, int64_t until_us, tb_error *err)
{
    tb_code code = close(walk, at_us, err);
    walk->again_s = tb__later(walk->again_s, until_us / TB_US_PER_S);
    walk->held.from_s = tb__later(second_of(at_us), walk->again_s);
    return code;
}

tb_code tb__gauge_end(tb__gauge_walk *walk, int64_t to_us, tb_error *err)
{
    return close(walk, to_us, err);
}

/* A gauge's part is over. */
static tb_code end_part(tb__gauge_month *m, tb_error *err)
{
    const tb_bill_part *p = &m->parts[m->part];
    const tb__day_span span = {m->month, p->from_us / TB_US_PER_HOUR, p->to_us / TB_US_PER_HOUR};
    tb_evidence evidence;
    const tb_i128 quantity = tb__days_total(&m->sums, span, &evidence);
    evidence.to_us = tb__earlier(p->to_us, m->end_us);
    evidence.buckets = m->values;
    tb_code code = m->fn(m->ctx, m->part, quantity, &evidence, err);
    m->sums = (tb__day_sums){{0}};
    m->values = 0;
    m->part++;
    return code;
}

tb_code tb__gauge_month_add(void *ctx, const tb__held *held, tb_error *err)
{
    tb__gauge_month *m = ctx;
    const int64_t month_s = tb_month_start_us(m->month) / TB_US_PER_S;
    tb_code code = TB_OK;
    bool counted = false;
    for (int64_t at = held->from_s, to; !code && at < held->to_s; at = to) {
        while (!code && at >= m->parts[m->part].to_us / TB_US_PER_S) {
            code = end_part(m, err);
            counted = false;
        }
        const int64_t day = (at - month_s) / 86400;
        to = tb__earlier(held->to_s, month_s + (day + 1) * 86400);
        to = tb__earlier(to, m->parts[m->part].to_us / TB_US_PER_S);
        m->sums.day[day] += (tb_i128)held->value * (to - at);
        m->values += !counted;
        counted = true;
    }
    return code;
}

tb_code tb__gauge_month_end(tb__gauge_month *m, tb_error *err)
{
    tb_code code = TB_OK;
    while (!code && m->part < m->n_parts)
        code = end_part(m, err);
    return code;
}

/* --- intervals --- */

void tb__intervals_end(const uint64_t *value, int64_t month, int64_t end_us, int interval, tb_bill_samples *ret)
{
    const int64_t from_us = tb_month_start_us(month);
    const tb__day_span days = {month, from_us / TB_US_PER_HOUR, tb_month_start_us(month + 1) / TB_US_PER_HOUR};
    tb__day_sums sums = {{0}};
    ret->value = value;
    ret->interval = interval;
    ret->n = (size_t)((end_us - from_us) / TB_US_PER_S / interval);
    ret->present = 0;
    for (size_t i = 0; i < ret->n; i++) {
        sums.day[i / (size_t)(86400 / interval)] += (tb_i128)value[i];
        ret->present += value[i] > 0;
    }
    (void)tb__days_total(&sums, days, &ret->evidence);
    ret->evidence.to_us = from_us + (int64_t)ret->n * interval * TB_US_PER_S;
}

/* A byte of a sample is one of its hour, too. So samples are whole where their sum is that of the hours. Where lines came
 * before samples were kept, or rows of hours were imported, the hours are the finest that is known of the whole month. */
int tb__bandwidth_finest(uint64_t *value, size_t n, size_t n_hours)
{
    tb_i128 hours = 0, samples = 0;
    for (size_t i = 0; i < n + n_hours; i++)
        *(i < n ? &samples : &hours) += (tb_i128)value[i];
    if (samples == hours && samples > 0) return TB_METER_INTERVAL;
    memmove(value, value + n, n_hours * sizeof *value);
    return 3600;
}
