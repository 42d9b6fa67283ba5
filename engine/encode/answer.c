/* The statistics answers, described by tables and written in one pass.
 *
 * A field is a line of a table: its name, its shape and the metrics it shows. The room for the
 * worst case of all fields is reserved once, so that the writers below run over plain memory
 * without checks. The keys of all charts of an answer are the same: each is formatted once, as the
 * 24 bytes
 * `,"2026-10-21T00:00:00Z":`, into the far end of that room, and a chart's entry is a copy of them
 * and a number. The comma of a chart's first entry lands where its brace belongs and is written
 * over. */
#include "tollbook/answer.h"

#include "base/jsontext.h"
#include "encode/number.h"
#include "stats/ratio.h"
#include "tollbook/json.h"

#include <assert.h>

#define KEY_SIZE 24 /* comma, quote, 20 characters, quote, colon */

/* Longest text, writers' overshoot included: u64 and u128 per json.h; a double from counters is
 * either a ratio of two 64-bit numbers or of two 96-bit sums: sign, "0.", 29 zeros, 17 digits, and
 * 17 bytes that tb_put_double may write in vain. */
#define COUNTER_ROOM TB_U64_TEXT_MAX
#define DOUBLE_ROOM  (1 + 2 + 29 + 17 + 17)

typedef enum shape {
    CHART,          /* a: counters */
    CHART_HIT_RATE, /* a pulled, b requests with a known cache status */
    CHART_MEAN,     /* a sum, b count: exact double */
    CHART_WHOLE,    /* a sum, b count: rounded half up */
    CHART_PERCENT,  /* a part, b whole: percent rounded half up */
    TOTAL,          /* a */
    TOTAL_DOUBLE,   /* the same with a point, as all doubles outside /statistics and charts */
    HIT_RATE,       /* of the sums of a and b */
    MEAN,
    MEAN_INT32, /* rounded half up, at most 2^31-1 */
    REDUCTION,  /* percent, exact double */
    GEO,
    BALANCES,
} shape;

typedef struct field {
    const char *name; /* quoted, with its colon */
    shape shape;
    tb_metric a, b;
} field;

#define ONE(name, shape, a)                                                                        \
    {                                                                                              \
        "\"" name "\":", shape, TB_M_##a, TB_M_##a                                                 \
    }
#define TWO(name, shape, a, b)                                                                     \
    {                                                                                              \
        "\"" name "\":", shape, TB_M_##a, TB_M_##b                                                 \
    }
#define NO_METRIC(name, shape)                                                                     \
    {                                                                                              \
        "\"" name "\":", shape, TB_METRIC_COUNT, TB_METRIC_COUNT                                   \
    }

/* Names, order and types: docs/openapi.yaml. */
static const field statistics_fields[] = {
    ONE("TotalBandwidthUsed", TOTAL, BYTES),
    ONE("TotalOriginTraffic", TOTAL, ORIGIN_BYTES),
    TWO("AverageOriginResponseTime", MEAN_INT32, ORIGIN_TIME_MS_SUM, ORIGIN_TIME_COUNT),
    TWO("OriginResponseTimeChart", CHART_MEAN, ORIGIN_TIME_MS_SUM, ORIGIN_TIME_COUNT),
    ONE("TotalRequestsServed", TOTAL, REQUESTS),
    TWO("CacheHitRate", HIT_RATE, PULLED, REQUESTS),
    ONE("BandwidthUsedChart", CHART, BYTES),
    ONE("BandwidthCachedChart", CHART, CACHED_BYTES),
    TWO("CacheHitRateChart", CHART_HIT_RATE, PULLED, REQUESTS),
    ONE("RequestsServedChart", CHART, REQUESTS),
    ONE("PullRequestsPulledChart", CHART, PULLED),
    ONE("OriginShieldBandwidthUsedChart", CHART, SHIELD_BYTES),
    ONE("OriginShieldInternalBandwidthUsedChart", CHART, SHIELD_INTERNAL_BYTES),
    ONE("OriginTrafficChart", CHART, ORIGIN_BYTES),
    NO_METRIC("UserBalanceHistoryChart", BALANCES),
    NO_METRIC("GeoTrafficDistribution", GEO),
    ONE("Error3xxChart", CHART, STATUS_3XX),
    ONE("Error4xxChart", CHART, STATUS_4XX),
    ONE("Error5xxChart", CHART, STATUS_5XX),
};

/* Contract 2.1 */
static const field optimizer_fields[] = {
    ONE("RequestsOptimizedChart", CHART, OPTIMIZED),
    TWO("AverageCompressionChart", CHART_PERCENT, SAVED_BYTES, INPUT_BYTES),
    ONE("TrafficSavedChart", CHART, SAVED_BYTES),
    TWO("AverageProcessingTimeChart", CHART_WHOLE, TIME_MS_SUM, OPTIMIZED),
    ONE("TotalRequestsOptimized", TOTAL_DOUBLE, OPTIMIZED),
    ONE("TotalTrafficSaved", TOTAL_DOUBLE, SAVED_BYTES),
    TWO("AverageProcessingTime", MEAN, TIME_MS_SUM, OPTIMIZED),
    TWO("AverageCompressionRatio", REDUCTION, SAVED_BYTES, INPUT_BYTES),
};

/* Contract 2.2 */
static const field queue_fields[] = {
    ONE("ConcurrentRequestsChart", CHART, CONCURRENT_MAX),
    ONE("QueuedRequestsChart", CHART, QUEUED_MAX),
};

/* Contract 2.3 */
static const field safehop_fields[] = {
    ONE("RequestsRetriedChart", CHART, RETRIED),
    ONE("RequestsSavedChart", CHART, SAVED),
    ONE("TotalRequestsRetried", TOTAL_DOUBLE, RETRIED),
    ONE("TotalRequestsSaved", TOTAL_DOUBLE, SAVED),
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *name;
    const field *fields;
    size_t n;
} answer_table[TB_ANSWER_KINDS_] = {
    [TB_ANSWER_STATISTICS] = {"statistics", statistics_fields, COUNT(statistics_fields)},
    [TB_ANSWER_OPTIMIZER] = {"optimizer", optimizer_fields, COUNT(optimizer_fields)},
    [TB_ANSWER_QUEUE] = {"queue", queue_fields, COUNT(queue_fields)},
    [TB_ANSWER_SAFEHOP] = {"safehop", safehop_fields, COUNT(safehop_fields)},
};

/* --- writers: each returns the end of its output --- */

typedef struct work {
    const tb_answer *answer;
    const char *keys; /* count times KEY_SIZE bytes */
    uint32_t count;
} work;

static inline char *put_key(char *p, const char *key)
{
    memcpy(p, key, KEY_SIZE);
    return p + KEY_SIZE;
}

/* Puts the brace in the place of the first entry's comma, and the other one behind. */
static char *close_chart(char *start, char *p)
{
    *start = '{';
    if (p == start) p++;
    *p++ = '}';
    return p;
}

static uint64_t at(const uint64_t *column, uint32_t i)
{
    return column ? column[i] : 0;
}

/* The loops copy the members that they need: any written byte might alias the job. */
static char *write_chart(char *start, const work *job, const field *f)
{
    const uint64_t *a = job->answer->series->value[f->a];
    const char *key = job->keys;
    const uint32_t count = job->count;
    char *p = start;
    for (uint32_t i = 0; i < count; i++, key += KEY_SIZE)
        p = tb__put_u64(put_key(p, key), at(a, i));
    return close_chart(start, p);
}

static char *write_chart_hit_rate(char *start, const work *job, const field *f)
{
    const uint64_t *pulled = job->answer->series->value[f->a];
    const uint64_t *requests = job->answer->series->value[f->b];
    const uint64_t *unknown = job->answer->series->value[TB_M_CACHE_UNKNOWN];
    const char *key = job->keys;
    const uint32_t count = job->count;
    char *p = start;
    for (uint32_t i = 0; i < count; i++, key += KEY_SIZE) {
        uint64_t known = (uint64_t)tb__cache_known(at(requests, i), at(unknown, i));
        double rate = tb__hit_rate_of(tb__as_double(at(pulled, i)), tb__as_double(known));
        p = tb_put_double(put_key(p, key), rate);
    }
    return close_chart(start, p);
}

static char *write_chart_mean(char *start, const work *job, const field *f)
{
    const uint64_t *sum = job->answer->series->value[f->a];
    const uint64_t *count = job->answer->series->value[f->b];
    const char *key = job->keys;
    char *p = start;
    for (uint32_t i = 0; i < job->count; i++, key += KEY_SIZE) {
        double mean = tb__mean_of(tb__as_double(at(sum, i)), tb__as_double(at(count, i)));
        p = tb_put_double(put_key(p, key), mean);
    }
    return close_chart(start, p);
}

static char *write_chart_whole(char *start, const work *job, const field *f)
{
    const uint64_t *a = job->answer->series->value[f->a];
    const uint64_t *b = job->answer->series->value[f->b];
    const char *key = job->keys;
    char *p = start;
    for (uint32_t i = 0; i < job->count; i++, key += KEY_SIZE) {
        tb_u128 value = f->shape == CHART_PERCENT ? tb__percent_rounded(at(a, i), at(b, i))
                                                  : tb__mean_rounded(at(a, i), at(b, i));
        p = tb_put_u128(put_key(p, key), value);
    }
    return close_chart(start, p);
}

/* A field that is one number, from the sums of its metrics. */
static char *write_figure(char *p, const work *job, const field *f)
{
    tb_u128 a = tb_series_total(job->answer->series, f->a);
    if (f->shape == TOTAL) return tb_put_u128(p, a);
    if (f->shape == TOTAL_DOUBLE) return tb_put_point(p, tb_put_u128(p, a));
    tb_u128 b = tb_series_total(job->answer->series, f->b);
    switch (f->shape) {
    case HIT_RATE: {
        tb_u128 unknown = tb_series_total(job->answer->series, TB_M_CACHE_UNKNOWN);
        return tb_put_double(p, tb_hit_rate(a, tb__cache_known(b, unknown)));
    }
    case MEAN: return tb_put_point(p, tb_put_double(p, tb_mean(a, b)));
    case REDUCTION: return tb_put_point(p, tb_put_double(p, tb_reduction(a, b)));
    default: break;
    }
    tb_u128 mean = tb__mean_rounded(a, b);
    return tb__put_u64(p, mean > INT32_MAX ? INT32_MAX : (uint64_t)mean);
}

static char *write_geo(char *p, const work *job, const field *f)
{
    (void)f;
    char *start = p++;
    for (size_t i = 0; i < job->answer->n_geo; i++) {
        const tb_geo *row = &job->answer->geo[i];
        if (row->bytes == 0) continue;
        if (p > start + 1) *p++ = ',';
        p = tb__quote(p, row->name, strlen(row->name));
        *p++ = ':';
        p = tb_put_u128(p, row->bytes);
    }
    *start = '{';
    *p++ = '}';
    return p;
}

/* Keys are times without a Z; amounts are decimal text already. */
static char *write_balances(char *p, const work *job, const field *f)
{
    (void)f;
    *p++ = '{';
    for (size_t i = 0; i < job->answer->n_balances; i++) {
        const tb_balance *row = &job->answer->balances[i];
        if (i > 0) *p++ = ',';
        *p++ = '"';
        tb_time_format(row->at_us, p);
        p += 19;
        memcpy(p, "\":", 2);
        size_t len = strlen(row->amount);
        memcpy(p + 2, row->amount, len);
        p += 2 + len;
    }
    *p++ = '}';
    return p;
}

/* What a shape needs: its writer, room a bucket (key included), room besides. */
static const struct {
    char *(*write)(char *p, const work *job, const field *f);
    size_t per_bucket, once;
} shape_table[] = {
    [CHART] = {write_chart, KEY_SIZE + COUNTER_ROOM, 2},
    [CHART_HIT_RATE] = {write_chart_hit_rate, KEY_SIZE + DOUBLE_ROOM, 2},
    [CHART_MEAN] = {write_chart_mean, KEY_SIZE + DOUBLE_ROOM, 2},
    [CHART_WHOLE] = {write_chart_whole, KEY_SIZE + TB_U128_TEXT_MAX, 2},
    [CHART_PERCENT] = {write_chart_whole, KEY_SIZE + TB_U128_TEXT_MAX, 2},
    [TOTAL] = {write_figure, 0, TB_U128_TEXT_MAX},
    [TOTAL_DOUBLE] = {write_figure, 0, TB_U128_TEXT_MAX + 2},
    [HIT_RATE] = {write_figure, 0, DOUBLE_ROOM},
    [MEAN] = {write_figure, 0, DOUBLE_ROOM},
    [MEAN_INT32] = {write_figure, 0, TB_U64_TEXT_MAX},
    [REDUCTION] = {write_figure, 0, DOUBLE_ROOM},
    [GEO] = {write_geo, 0, 2},
    [BALANCES] = {write_balances, 0, 2},
};

/* --- the whole --- */

const char *tb_answer_name(tb_answer_kind kind)
{
    assert((unsigned)kind < TB_ANSWER_KINDS_);
    return answer_table[kind].name;
}

uint32_t tb_answer_metrics(tb_answer_kind kind)
{
    assert((unsigned)kind < TB_ANSWER_KINDS_);
    uint32_t metrics = 0;
    for (size_t i = 0; i < answer_table[kind].n; i++) {
        const field *f = &answer_table[kind].fields[i];
        metrics |= TB_METRIC_BIT(f->a) | TB_METRIC_BIT(f->b);
        if (f->shape == HIT_RATE) metrics |= TB_METRIC_BIT(TB_M_CACHE_UNKNOWN);
    }
    return metrics & TB_METRIC_ALL;
}

static size_t rows_room(const tb_answer *answer)
{
    size_t room = 0;
    for (size_t i = 0; i < answer->n_geo; i++)
        room += TB__QUOTED_MAX(strlen(answer->geo[i].name)) + 2 + TB_U128_TEXT_MAX;
    for (size_t i = 0; i < answer->n_balances; i++)
        room += KEY_SIZE + strlen(answer->balances[i].amount);
    return room;
}

static size_t worst_room(const tb_answer *answer)
{
    size_t room = rows_room(answer) + 2;
    for (size_t i = 0; i < answer_table[answer->kind].n; i++) {
        const field *f = &answer_table[answer->kind].fields[i];
        room += 1 + strlen(f->name) + shape_table[f->shape].once +
                answer->series->range.count * shape_table[f->shape].per_bucket;
    }
    return room;
}

/* Hours of a day, and days of a month, differ in two characters only. Each is copied from the day's
 * or month's first one: the key before it has just been written in pieces, and reading those as a
 * whole would have to wait. */
static void format_keys(tb_range range, char *keys)
{
    const size_t at = range.hourly ? 13 : 10; /* where those two are */
    const char *first = keys;
    int64_t alike = 0; /* keys that are still to be copied from it */
    int number = 0;
    for (uint32_t i = 0; i < range.count; i++, keys += KEY_SIZE) {
        if (alike > 0) {
            alike--;
            number++;
            memcpy(keys, first, KEY_SIZE);
            memcpy(keys + at, tb__four_digits + 4 * number + 2, 2);
            continue;
        }
        const int64_t bucket = range.first + i;
        first = keys;
        memcpy(keys, ",\"", 2);
        tb_time_format(bucket * (range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY), keys + 2);
        memcpy(keys + 22, "\":", 2);
        number = (keys[at] - '0') * 10 + (keys[at + 1] - '0');
        alike = range.hourly ? 23 - number
                             : tb_month_first_day(tb_month_from_day(bucket) + 1) - bucket - 1;
    }
}

tb_code tb_answer_encode(const tb_answer *answer, tb_buf *out, tb_error *err)
{
    assert((unsigned)answer->kind < TB_ANSWER_KINDS_);
    tb_range range = answer->series->range;
    size_t room = worst_room(answer);
    char *start = tb_buf_room(out, room + (size_t)range.count * KEY_SIZE);
    if (!start) return tb_buf_check(out, err);
    format_keys(range, start + room);
    work job = {answer, start + room, range.count};

    char *p = start;
    for (size_t i = 0; i < answer_table[answer->kind].n; i++) {
        const field *f = &answer_table[answer->kind].fields[i];
        size_t name = strlen(f->name);
        *p++ = i == 0 ? '{' : ',';
        memcpy(p, f->name, name);
        p = shape_table[f->shape].write(p + name, &job, f);
    }
    *p++ = '}';
    assert((size_t)(p - start) <= room);
    out->len += (size_t)(p - start);
    return TB_OK;
}

void tb_answer_error(const tb_error *error, tb_buf *out)
{
    const char *key = tb_code_key(error->code);
    size_t len = strnlen(error->field, sizeof error->field);
    tb_buf_str(out, "{\"ErrorKey\":");
    tb_json_string(out, key, strlen(key));
    tb_buf_str(out, ",\"Field\":");
    if (len)
        tb_json_string(out, error->field, len);
    else
        tb_buf_str(out, "null");
    tb_buf_str(out, ",\"Message\":");
    tb_json_string(out, error->message, strnlen(error->message, sizeof error->message));
    tb_buf_str(out, "}");
}
