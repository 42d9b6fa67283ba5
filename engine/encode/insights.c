/* The answer of GET /insights: two tables say which figures a total and a point have, and of which counters
 * each is made; the order of zones reads the same table. Values are those of /statistics (answer.c). */
#include "tollbook/answer.h"

#include "base/wide.h"
#include "encode/number.h"
#include "stats/ratio.h"
#include "tollbook/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum shape {
    SUM,       /* a */
    HIT_RATE,  /* of a pulled and b requests */
    MEAN,      /* a sum, b count: exact */
    MEAN_INT32 /* rounded half up */
} shape;

typedef struct figure {
    const char *name;
    shape shape;
    tb_metric a, b;
    const char *word; /* GET /insights/why */
} figure;

static const figure totals[] = {
    {"TotalRequestsServed", SUM, TB_M_REQUESTS, TB_M_REQUESTS, "requests"},
    {"TotalBandwidthUsed", SUM, TB_M_BYTES, TB_M_BYTES, "bytes"},
    {"TotalBandwidthCached", SUM, TB_M_CACHED_BYTES, TB_M_CACHED_BYTES, "cached_bytes"},
    {"TotalRequestsPulled", SUM, TB_M_PULLED, TB_M_PULLED, "pulled"},
    {"CacheHitRate", HIT_RATE, TB_M_PULLED, TB_M_REQUESTS, "hit_rate"},
    {"TotalOriginTraffic", SUM, TB_M_ORIGIN_BYTES, TB_M_ORIGIN_BYTES, "origin_bytes"},
    {"AverageOriginResponseTime", MEAN_INT32, TB_M_ORIGIN_TIME_MS_SUM, TB_M_ORIGIN_TIME_COUNT, "origin_time"},
    {"TotalOriginShieldBandwidthUsed", SUM, TB_M_SHIELD_BYTES, TB_M_SHIELD_BYTES, "shield_bytes"},
    {"Errors3xx", SUM, TB_M_STATUS_3XX, TB_M_STATUS_3XX, "status_3xx"},
    {"Errors4xx", SUM, TB_M_STATUS_4XX, TB_M_STATUS_4XX, "status_4xx"},
    {"Errors5xx", SUM, TB_M_STATUS_5XX, TB_M_STATUS_5XX, "status_5xx"},
};
#define N_TOTALS ((int)(sizeof totals / sizeof *totals))

static const figure points[] = {
    {"RequestsServed", SUM, TB_M_REQUESTS, TB_M_REQUESTS, NULL},
    {"BandwidthUsed", SUM, TB_M_BYTES, TB_M_BYTES, NULL},
    {"BandwidthCached", SUM, TB_M_CACHED_BYTES, TB_M_CACHED_BYTES, NULL},
    {"PullRequestsPulled", SUM, TB_M_PULLED, TB_M_PULLED, NULL},
    {"CacheHitRate", HIT_RATE, TB_M_PULLED, TB_M_REQUESTS, NULL},
    {"Error3xx", SUM, TB_M_STATUS_3XX, TB_M_STATUS_3XX, NULL},
    {"Error4xx", SUM, TB_M_STATUS_4XX, TB_M_STATUS_4XX, NULL},
    {"Error5xx", SUM, TB_M_STATUS_5XX, TB_M_STATUS_5XX, NULL},
    {"OriginTraffic", SUM, TB_M_ORIGIN_BYTES, TB_M_ORIGIN_BYTES, NULL},
    {"OriginResponseTime", MEAN, TB_M_ORIGIN_TIME_MS_SUM, TB_M_ORIGIN_TIME_COUNT, NULL},
    {"OriginShieldBandwidthUsed", SUM, TB_M_SHIELD_BYTES, TB_M_SHIELD_BYTES, NULL},
};
#define N_POINTS ((int)(sizeof points / sizeof *points))

static uint32_t metrics_of(const figure *f)
{
    return TB_METRIC_BIT(f->a) | TB_METRIC_BIT(f->b) |
           (f->shape == HIT_RATE ? TB_METRIC_BIT(TB_M_CACHE_UNKNOWN) : 0);
}

uint32_t tb_insights_metrics(void)
{
    uint32_t metrics = 0;
    for (int i = 0; i < N_TOTALS; i++)
        metrics |= metrics_of(&totals[i]);
    for (int i = 0; i < N_POINTS; i++)
        metrics |= metrics_of(&points[i]);
    return metrics;
}

/* --- order --- */

static bool is_word(tb_text text, const char *word)
{
    return strlen(word) == text.len && memcmp(word, text.data, text.len) == 0;
}

/* Takes the suffix from the text where it has it. */
static bool takes_suffix(tb_text *text, const char *suffix)
{
    const size_t len = strlen(suffix);
    if (text->len <= len || memcmp(text->data + text->len - len, suffix, len) != 0) return false;
    text->len -= len;
    return true;
}

tb_code tb_insights_order_parse(tb_text text, tb_insights_order *ret, tb_error *err)
{
    *ret = (tb_insights_order){0};
    if (!text.data || !text.len) return TB_OK;
    if (text.data[0] == '-') {
        ret->ascending = true;
        text = (tb_text){text.data + 1, text.len - 1};
    }
    if (takes_suffix(&text, ".rate")) ret->measure = TB_INSIGHTS_RATE;
    else if (takes_suffix(&text, ".change")) ret->measure = TB_INSIGHTS_CHANGE;
    if (is_word(text, "charges")) {
        ret->measure = TB_INSIGHTS_CHARGES;
        return TB_OK;
    }
    ret->field = -1;
    if (is_word(text, "name") && ret->measure == TB_INSIGHTS_VALUE) return TB_OK;
    for (int i = 0; i < N_TOTALS; i++) {
        ret->field = i;
        if (is_word(text, totals[i].name) && (ret->measure == TB_INSIGHTS_VALUE || totals[i].shape == SUM)) return TB_OK;
    }
    return tb_fail(err, TB_E_VALIDATION, "sort",
                   "sort is name, charges or a field of totals, such as TotalBandwidthUsed, of sums also Errors5xx.rate or "
                   "TotalRequestsServed.change; a - before it turns the order round.");
}

static figure ordered_by(tb_insights_order order)
{
    figure f = totals[order.field];
    if (order.measure == TB_INSIGHTS_RATE) f.shape = MEAN, f.b = TB_M_REQUESTS;
    return f;
}

uint32_t tb_insights_order_metrics(tb_insights_order order)
{
    if (order.field < 0 || order.measure == TB_INSIGHTS_CHARGES) return 0;
    const figure f = ordered_by(order);
    return metrics_of(&f);
}

/* What a ratio is of; 0: of nothing, so that it is null. */
static tb_u128 whole_of(const figure *f, const tb_u128 sum[TB_METRIC_COUNT])
{
    return f->shape == HIT_RATE ? tb__cache_known(sum[f->b], sum[TB_M_CACHE_UNKNOWN]) : sum[f->b];
}

/* As it is shown: zones that look equal are. */
static double ratio_of(const figure *f, const tb_u128 sum[TB_METRIC_COUNT])
{
    const tb_u128 whole = whole_of(f, sum);
    if (f->shape == MEAN_INT32) {
        const tb_u128 mean = tb__mean_rounded(sum[f->a], whole);
        return mean > INT32_MAX ? INT32_MAX : (double)mean;
    }
    return f->shape == HIT_RATE ? tb_hit_rate(sum[f->a], whole) : tb_mean(sum[f->a], whole);
}

/* Ratios are not below zero, and such doubles are ordered as their bits are. */
static uint64_t bits_of(double ratio)
{
    uint64_t bits = 0;
    if (ratio > 0) memcpy(&bits, &ratio, sizeof bits);
    return bits;
}

/* 0: of nothing. */
static tb_u128 ratio_key(const figure *f, bool ascending, const tb_u128 sum[TB_METRIC_COUNT])
{
    if (whole_of(f, sum) == 0) return 0;
    const uint64_t bits = bits_of(ratio_of(f, sum));
    return (tb_u128)(ascending ? UINT64_MAX - bits : bits) + 1;
}

/* Zones that had nothing before come above all ratios, the largest first. */
static tb_u128 change_key(bool ascending, tb_u128 now, tb_u128 before)
{
    if (!now && !before) return 0;
    const tb_u128 key = before ? (tb_u128)bits_of((double)now / (double)before) + 1 : UINT64_MAX + now;
    return ascending ? ~key : key;
}

static void ratio_keys(const figure *f, bool ascending, const tb_u128 *sums, size_t n, tb_u128 *keys)
{
    const uint32_t metrics = metrics_of(f);
    tb_u128 sum[TB_METRIC_COUNT];
    for (size_t i = 0; i < n; i++) {
        for (uint32_t left = metrics; left; left &= left - 1)
            sum[__builtin_ctz(left)] = *sums++;
        keys[i] = ratio_key(f, ascending, sum);
    }
}

void tb_insights_order_keys(tb_insights_order order, const tb_u128 *sums, const tb_u128 *before, size_t n,
                            tb_u128 *ret_keys)
{
    if (order.field < 0) {
        memset(ret_keys, 0, n * sizeof *ret_keys);
        return;
    }
    const figure f = ordered_by(order);
    if (f.shape != SUM) return ratio_keys(&f, order.ascending, sums, n, ret_keys);
    for (size_t i = 0; i < n; i++)
        if (order.measure == TB_INSIGHTS_CHANGE)
            ret_keys[i] = change_key(order.ascending, sums[i], before ? before[i] : 0);
        else ret_keys[i] = order.ascending ? ~sums[i] : sums[i];
}

/* --- JSON --- */

#define VALUE_ROOM (1 + 2 + 29 + 17 + 17 + 1) /* a double (answer.c) and a comma */

static char *put_count(char *p, tb_u128 count)
{
    return count <= UINT64_MAX ? tb__put_u64(p, (uint64_t)count) : tb_put_u128(p, count);
}

/* Writes a value; needs VALUE_ROOM. */
static char *put_value(char *p, const figure *f, const tb_u128 sum[TB_METRIC_COUNT])
{
    if (f->shape == SUM) return put_count(p, sum[f->a]);
    const tb_u128 whole = whole_of(f, sum);
    if (whole == 0) {
        memcpy(p, "null", 4);
        return p + 4;
    }
    return tb_put_double(p, ratio_of(f, sum));
}

static void put_totals(tb_buf *out, const tb_u128 sum[TB_METRIC_COUNT])
{
    for (int i = 0; i < N_TOTALS; i++) {
        char *p = tb_buf_room(out, strlen(totals[i].name) + 4 + VALUE_ROOM), *start = p;
        if (!p) return;
        memcpy(p, ",\"", 2);
        p = stpcpy(p + (i ? 2 : 1), totals[i].name);
        if (!i) *start = '"';
        memcpy(p, "\":", 2);
        p = put_value(p + 2, &totals[i], sum);
        out->len += (size_t)(p - start);
    }
}

static void put_totals_of(tb_buf *out, const tb_series *series)
{
    tb_u128 sum[TB_METRIC_COUNT];
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        sum[m] = tb_series_total(series, (tb_metric)m);
    tb_buf_str(out, "{");
    put_totals(out, sum);
    tb_buf_str(out, "}");
}

static tb_u128 sum_over(const uint64_t *value, uint32_t at, uint32_t end)
{
    tb_u128 sum = 0;
    for (; value && at < end; at++)
        sum += value[at];
    return sum;
}

/* A point holds one bucket, but for months. */
static inline uint32_t next_point(tb_range r, tb_by by, uint32_t at)
{
    return by == TB_BY_MONTH ? tb_period_next(r, by, at) : at + 1;
}

/* A counter's buckets, each with a comma behind it. */
static char *put_buckets(char *p, const uint64_t *value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        p = tb__put_u64(p, value ? value[i] : 0);
        *p++ = ',';
    }
    return p;
}

/* The same of a computed figure. */
static char *put_figures(char *p, const tb_series *series, tb_by by, const figure *f)
{
    const tb_range r = series->range;
    tb_u128 sum[TB_METRIC_COUNT]; /* of the counters that the figure needs */
    for (uint32_t at = 0, next; at < r.count; at = next) {
        next = next_point(r, by, at);
        sum[f->a] = sum_over(series->value[f->a], at, next);
        if (f->b != f->a) sum[f->b] = sum_over(series->value[f->b], at, next);
        if (f->shape == HIT_RATE)
            sum[TB_M_CACHE_UNKNOWN] = sum_over(series->value[TB_M_CACHE_UNKNOWN], at, next);
        p = put_value(p, f, sum);
        *p++ = ',';
    }
    return p;
}

/* One figure of all points, of which there are n. */
static void put_column(tb_buf *out, const tb_series *series, tb_by by, size_t n, const figure *f)
{
    char *p = tb_buf_room(out, (n + 1) * VALUE_ROOM + strlen(f->name) + 8);
    char *start = p;
    if (!p) return;
    memcpy(p, ",\"", 2);
    p = stpcpy(p + 2, f->name);
    p = stpcpy(p, "\":[");
    if (f->shape == SUM && by != TB_BY_MONTH) p = put_buckets(p, series->value[f->a], series->range.count);
    else p = put_figures(p, series, by, f);
    p[n ? -1 : 0] = ']';
    out->len += (size_t)(p - start) + !n;
}

/* Behind "2026-10-22T09:00:00Z" comes the same with 10, where there is a next hour of the day. */
static bool put_next_hour(char *p, const char *before)
{
    const int hour = (before[11] - '0') * 10 + before[12] - '0' + 1;
    if (hour > 23) return false;
    memcpy(p, before, 20);
    p[11] = (char)('0' + hour / 10);
    p[12] = (char)('0' + hour % 10);
    return true;
}

static void put_times(tb_buf *out, tb_range r, tb_by by, size_t n)
{
    char *p = tb_buf_room(out, n * 23 + 8);
    char *start = p, *before = NULL;
    if (!p) return;
    p = stpcpy(p, ",\"at\":[");
    for (uint32_t at = 0; at < r.count; at = next_point(r, by, at)) {
        if (at) *p++ = ',';
        *p++ = '"';
        if (!r.hourly || !before || !put_next_hour(p, before)) tb_time_format(tb_range_us(r, at), p);
        before = p;
        p += 20;
        *p++ = '"';
    }
    *p++ = ']';
    out->len += (size_t)(p - start);
}

/* Each column brings its comma: the first one's becomes the brace. */
static void put_points(tb_buf *out, const tb_series *series, tb_by by, bool times)
{
    const size_t start = out->len, n = tb_period_points(series->range, by);
    if (times) put_times(out, series->range, by, n);
    for (int i = 0; i < N_POINTS; i++)
        put_column(out, series, by, n, &points[i]);
    if (!out->failed) out->data[start] = '{';
    tb_buf_str(out, "}");
}

static void put_instant(tb_buf *out, const char *name, int64_t us)
{
    char text[20];
    tb_time_format(us, text);
    tb_buf_fmt(out, "\"%s\":\"%.20s\"", name, text);
}

static void put_span(tb_buf *out, tb_range r)
{
    put_instant(out, "from", tb_range_us(r, 0));
    tb_buf_str(out, ",");
    put_instant(out, "to", tb_range_us(r, r.count));
}

static void put_spark(tb_buf *out, const tb_insights_row *row)
{
    char *p = tb_buf_room(out, 12 + row->n_spark * (TB_U128_TEXT_MAX + 1)), *start = p;
    if (!p) return;
    p = stpcpy(p, ",\"spark\":[");
    for (size_t i = 0; i < row->n_spark; i++) {
        if (i) *p++ = ',';
        p = put_count(p, row->spark[i]);
    }
    *p++ = ']';
    out->len += (size_t)(p - start);
}

static void put_thing(tb_buf *out, const tb_insights_row *row)
{
    tb_buf_str(out, "{\"id\":");
    if (row->code) tb_json_string(out, row->code, strlen(row->code));
    else tb_buf_fmt(out, "%" PRId64, row->id);
    tb_buf_str(out, ",\"name\":");
    tb_json_string(out, row->name, strlen(row->name));
    if (row->deleted) tb_buf_str(out, ",\"deleted\":true");
    tb_buf_str(out, ",");
    put_totals(out, row->sum);
    if (row->before) {
        tb_buf_str(out, ",\"previous\":{");
        put_totals(out, row->before);
        tb_buf_str(out, "}");
    }
    if (row->spark) put_spark(out, row);
    tb_buf_str(out, "}");
}

static void put_rows(tb_buf *out, const tb_insights_row *rows, size_t n)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) tb_buf_str(out, ",");
        put_thing(out, &rows[i]);
    }
    tb_buf_str(out, "]");
}

static void put_ranked(tb_buf *out, const tb_insights *in, const char *name, const tb_insights_page *page)
{
    tb_buf_fmt(out, ",\"%s\":{\"total\":%" PRId64 ",\"page\":%" PRId64 ",\"per_page\":%" PRId64 ",\"items\":", name,
               page->total, in->page, in->per_page);
    put_rows(out, page->items, page->n);
    tb_buf_str(out, "}");
}

tb_code tb_insights_encode(const tb_insights *in, tb_buf *out, tb_error *err)
{
    static const char *const by_names[] = {"auto", "hour", "day", "month"};
    tb_buf_str(out, "{");
    put_span(out, in->period.range);
    tb_buf_fmt(out, ",\"by\":\"%s\",\"compare\":", by_names[in->period.by]);
    if (in->before) {
        tb_buf_str(out, "{");
        put_span(out, tb_period_before(&in->period));
        tb_buf_str(out, "}");
    } else tb_buf_str(out, "null");
    tb_buf_str(out, ",\"totals\":");
    put_totals_of(out, in->series);
    tb_buf_str(out, ",\"previous\":");
    if (in->before) put_totals_of(out, in->before);
    else tb_buf_str(out, "null");
    tb_buf_str(out, ",\"points\":");
    put_points(out, in->series, in->period.by, true);
    tb_buf_str(out, ",\"previous_points\":");
    if (in->before) put_points(out, in->before, in->period.by, false);
    else tb_buf_str(out, "null");
    tb_buf_str(out, ",\"regions\":");
    put_rows(out, in->regions, in->n_regions);
    put_ranked(out, in, "zones", &in->zones);
    if (in->ranks_accounts) put_ranked(out, in, "accounts", &in->accounts);
    tb_buf_str(out, "}");
    return tb_buf_check(out, err);
}

/* --- why --- */

#define MILLIONTHS 1000000

tb_code tb_why_by_parse(tb_text text, tb_why_by *ret, tb_error *err)
{
    static const char *const names[TB_WHY_BY_COUNT] = {
#define TB_X(e, name) name,
        TB_WHY_BYS(TB_X)
#undef TB_X
    };
    for (int i = 0; i < TB_WHY_BY_COUNT; i++) {
        *ret = (tb_why_by)i;
        if (text.len && is_word(text, names[i])) return TB_OK;
    }
    return tb_fail(err, TB_E_VALIDATION, "by", "by is zone, region, status, product, day, hour or account.");
}

tb_code tb_why_field_parse(tb_text text, int *ret, tb_error *err)
{
    tb_buf words;
    *ret = TB_WHY_CHARGES;
    if (text.len && is_word(text, "charges")) return TB_OK;
    tb_buf_init(&words, 256, NULL);
    for (int i = 0; i < N_TOTALS; i++) {
        *ret = i;
        if (text.len && is_word(text, totals[i].word)) {
            tb_buf_release(&words);
            return TB_OK;
        }
        tb_buf_fmt(&words, "%s, ", totals[i].word);
    }
    tb_code code = tb_buf_check(&words, err);
    if (!code) code = tb_fail(err, TB_E_VALIDATION, "field", "field is %.*sor charges.", (int)words.len - 1, words.data);
    tb_buf_release(&words);
    return code;
}

uint32_t tb_why_metrics(int field)
{
    return metrics_of(&totals[field]);
}

static bool is_ratio(int field)
{
    return field >= 0 && totals[field].shape != SUM;
}

/* A counter's sum is below 2^126: it is of at most 2^63 buckets of 2^63. */
tb_why_side tb_why_side_of(int field, const tb_u128 sum[TB_METRIC_COUNT])
{
    const figure *f = &totals[field];
    if (f->shape == SUM) return (tb_why_side){(tb_i128)sum[f->a], 0};
    const tb_u128 whole = whole_of(f, sum);
    if (f->shape != HIT_RATE) return (tb_why_side){(tb_i128)sum[f->a], (tb_i128)whole};
    const tb_u128 hits = whole > sum[f->a] ? whole - sum[f->a] : 0;
    return (tb_why_side){(tb_i128)hits, (tb_i128)whole};
}

/* a x b / d, rounded to the nearest; 0 where d is. */
static tb_i128 share_of(tb_i128 a, tb_i128 b, tb_i128 d)
{
    tb__u128 whole = 0, rest = 0;
    if (a < 0) return -share_of(-a, b, d);
    if (d <= 0 || !tb__multiply_divide((tb__u128)a, (tb__u128)b, (tb__u128)d, &whole, &rest)) return 0;
    return (tb_i128)(whole + (rest >= (tb__u128)d - rest));
}

/* One for a mean; a rate is shown in percent. */
static tb_i128 unit_of(int field)
{
    return (totals[field].shape == HIT_RATE ? 100 : 1) * (tb_i128)MILLIONTHS;
}

static tb_i128 ratio_at(int field, tb_why_side side)
{
    return share_of(unit_of(field), side.value, side.weight);
}

static tb_i128 change_of(const tb_why *why, const tb_why_part *part)
{
    const tb_why_part *all = &why->total;
    if (!is_ratio(why->field)) return part->now.value - part->before.value;
    const bool both = all->now.weight > 0 && all->before.weight > 0; /* else the change is the ratio itself */
    const tb_i128 unit = unit_of(why->field), was = both ? ratio_at(why->field, all->before) : 0;
    const tb_i128 now = share_of(unit, part->now.value, all->now.weight) -
                        share_of(was, part->now.weight, all->now.weight);
    const tb_i128 before = share_of(unit, part->before.value, all->before.weight) -
                           share_of(was, part->before.weight, all->before.weight);
    return now - before;
}

static int by_size(const void *a, const void *b)
{
    const tb_why_part *x = a, *y = b;
    const tb_i128 m = x->change < 0 ? -x->change : x->change, n = y->change < 0 ? -y->change : y->change;
    if (m != n) return m > n ? -1 : 1;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->key, y->key);
}

static tb_why_side less(tb_why_side a, tb_why_side b)
{
    return (tb_why_side){a.value - b.value, a.weight - b.weight};
}

void tb_why_rank(tb_why *why, size_t n_parts, size_t top)
{
    tb_why_part *all = &why->total, *rest = &why->rest;
    size_t kept = 0;
    for (size_t i = 0; i < n_parts; i++) {
        tb_why_part *part = &why->parts[i];
        if (!part->now.value && !part->now.weight && !part->before.value && !part->before.weight) continue;
        part->change = change_of(why, part);
        why->parts[kept++] = *part;
    }
    if (kept) qsort(why->parts, kept, sizeof *why->parts, by_size);
    why->n = kept < top ? kept : top;
    why->n_rest = kept - why->n;
    all->change = is_ratio(why->field) ? ratio_at(why->field, all->now) - ratio_at(why->field, all->before)
                                       : all->now.value - all->before.value;
    *rest = *all;
    for (size_t i = 0; i < why->n; i++) {
        rest->now = less(rest->now, why->parts[i].now);
        rest->before = less(rest->before, why->parts[i].before);
        rest->change -= why->parts[i].change;
    }
    /* What rounding leaves over belongs to the largest part where nothing else is left. */
    if (is_ratio(why->field) && why->n && !rest->now.weight && !rest->before.weight) {
        why->parts[0].change += rest->change;
        rest->change = 0;
        qsort(why->parts, why->n, sizeof *why->parts, by_size);
    }
}

static void put_decimal(tb_buf *out, const char *name, tb_i128 mantissa, int digits, bool fixed)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const tb_decimal value = {mantissa, digits};
    const char *end = fixed ? tb_decimal_put_fixed(text, value, digits) : tb_decimal_put(text, value);
    tb_buf_fmt(out, "\"%s\":\"%.*s\"", name, (int)(end - text), text);
}

static void put_side(tb_buf *out, const tb_why *why, const char *name, tb_why_side side)
{
    if (!is_ratio(why->field)) put_decimal(out, name, side.value, why->digits, true);
    else if (side.weight <= 0) tb_buf_fmt(out, "\"%s\":null", name);
    else put_decimal(out, name, ratio_at(why->field, side), 6, false);
}

static void put_part(tb_buf *out, const tb_why *why, const tb_why_part *part)
{
    const bool ratio = is_ratio(why->field);
    put_side(out, why, "value", part->now);
    tb_buf_str(out, ",");
    put_side(out, why, "previous", part->before);
    tb_buf_str(out, ",");
    put_decimal(out, "change", part->change, ratio ? 6 : why->digits, !ratio);
}

tb_code tb_why_encode(const tb_why *why, tb_buf *out, tb_error *err)
{
    tb_buf_fmt(out, "{\"field\":\"%s\",", why->field < 0 ? "charges" : totals[why->field].word);
    if (why->currency) tb_buf_fmt(out, "\"currency\":\"%s\",", why->currency);
    put_part(out, why, &why->total);
    tb_buf_str(out, ",\"parts\":[");
    for (size_t i = 0; i < why->n; i++) {
        const tb_why_part *part = &why->parts[i];
        tb_buf_str(out, i ? ",{\"key\":" : "{\"key\":");
        tb_json_string(out, part->key, strlen(part->key));
        tb_buf_str(out, ",\"name\":");
        tb_json_string(out, part->name, strlen(part->name));
        tb_buf_str(out, ",");
        put_part(out, why, part);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "],\"rest\":{");
    put_part(out, why, &why->rest);
    tb_buf_fmt(out, ",\"count\":%zu}}", why->n_rest);
    return tb_buf_check(out, err);
}
