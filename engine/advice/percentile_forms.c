/* A percentile as JSON for programs and as a table for people. Both say the bucket's width and what
 * was missing, for a rate from hourly sums is not the rate from 5-minute ones. */
#include <inttypes.h>

#include "tollbook/calendar.h"
#include "tollbook/forecast.h"

static void put_decimal(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
}

static void put_time(tb_buf *out, const tb_percentile_of *of, const tb_percentile_ask *ask,
                     const tb_percentile_pick *pick)
{
    char text[20];
    tb_time_format(of->from_us + (int64_t)pick->at * ask->seconds * TB_US_PER_S, text);
    tb_buf_add(out, text, sizeof text);
}

/* commit - percentile; below zero where it is passed. Rounded as the rate is. */
static tb_decimal headroom(const tb_percentile_ask *ask, const tb_percentile *found)
{
    tb_decimal room = TB_DECIMAL_ZERO;
    if (tb_decimal_sub(ask->commit, found->so_far.mbit, &room, NULL)) return TB_DECIMAL_ZERO;
    return room;
}

/* --- JSON --- */

static void json_pick(tb_buf *out, const char *name, const tb_percentile_of *of,
                      const tb_percentile_ask *ask, const tb_percentile_pick *pick)
{
    tb_buf_fmt(out, "\"%s\":{\"at\":\"", name);
    put_time(out, of, ask, pick);
    tb_buf_fmt(out,
               "\",\"buckets\":%" PRIu32 ",\"bytes\":\"%" PRIu64 "\",\"discarded\":%" PRIu32
               ",\"mbit_per_second\":\"",
               pick->buckets, pick->bytes, pick->discarded);
    put_decimal(out, pick->mbit);
    tb_buf_str(out, "\"}");
}

static void json_commit(tb_buf *out, const tb_percentile_ask *ask, const tb_percentile *found)
{
    tb_buf_fmt(out, "\"commit\":{\"above\":%" PRIu32 ",\"headroom\":\"", found->above);
    put_decimal(out, headroom(ask, found));
    tb_buf_str(out, "\",\"mbit_per_second\":\"");
    put_decimal(out, ask->commit);
    tb_buf_fmt(out, "\",\"more\":%" PRIu32 ",\"passed\":%s},", found->more,
               found->passed ? "true" : "false");
}

void tb_percentile_json(const tb_percentile_of *of, const tb_percentile_ask *ask,
                        const tb_percentile *found, tb_buf *out)
{
    tb_buf_str(out, "{");
    json_pick(out, "billed", of, ask, &found->so_far);
    tb_buf_fmt(out, ",\"bucket_seconds\":%" PRIu32 ",\"buckets\":%" PRIu32 ",", ask->seconds,
               ask->buckets);
    if (ask->has_commit) json_commit(out, ask, found);
    json_pick(out, "least", of, ask, &found->least);
    tb_buf_fmt(out, ",\"missing\":%" PRIu32 ",\"month\":\"%s\",\"over\":%" PRIu32 ",",
               found->missing, of->month, ask->over);
    json_pick(out, "peak", of, ask, &found->peak);
    tb_buf_str(out, ",\"percentile\":\"");
    put_decimal(out, ask->percentile);
    tb_buf_fmt(out, "\",\"resource\":\"%s\",\"running\":%s}\n", of->resource,
               of->running ? "true" : "false");
}

/* --- table --- */

static void row(tb_buf *out, const char *name)
{
    tb_buf_fmt(out, "%-11s", name);
}

static void row_pick(tb_buf *out, const char *name, const tb_percentile_of *of,
                     const tb_percentile_ask *ask, const tb_percentile_pick *pick)
{
    row(out, name);
    put_decimal(out, pick->mbit);
    tb_buf_fmt(out, " Mbit/s: %" PRIu64 " bytes in the bucket of ", pick->bytes);
    put_time(out, of, ask, pick);
    tb_buf_str(out, "\n");
}

static void row_commit(tb_buf *out, const tb_percentile_of *of, const tb_percentile_ask *ask,
                       const tb_percentile *found)
{
    row(out, "commit");
    put_decimal(out, ask->commit);
    tb_buf_fmt(out, " Mbit/s: %" PRIu32 " buckets are above it, of %" PRIu32 " that do not count; ",
               found->above, found->least.discarded);
    if (found->passed)
        tb_buf_str(out, "the percentile is above it.\n");
    else if (of->running)
        tb_buf_fmt(out, "%" PRIu32 " more may come before the percentile passes it.\n",
                   found->more);
    else
        tb_buf_str(out, "the percentile is within it.\n");
}

void tb_percentile_table(const tb_percentile_of *of, const tb_percentile_ask *ask,
                         const tb_percentile *found, tb_buf *out)
{
    tb_buf_str(out, "Percentile ");
    put_decimal(out, ask->percentile);
    tb_buf_fmt(out, " of %s in %s (UTC), from buckets of %" PRIu32 " seconds\n", of->resource,
               of->month, ask->seconds);
    row_pick(out, of->running ? "so far" : "billed", of, ask, &found->so_far);
    if (of->running) row_pick(out, "at least", of, ask, &found->least);
    row_pick(out, "peak", of, ask, &found->peak);
    row(out, "buckets");
    tb_buf_fmt(out, "%" PRIu32 " of %" PRIu32 " over, %" PRIu32 " discarded\n", ask->over,
               ask->buckets, found->so_far.discarded);
    row(out, "missing");
    tb_buf_fmt(out, "%" PRIu32 " hold nothing and count as zero\n", found->missing);
    if (ask->has_commit) row_commit(out, of, ask, found);
}
