/* Fuzzes the readers of dates and the date-range rules.
 *
 * Input: one byte of flags (bit 0 hourly, 1 exactRange, 2 loadLatest, 3 GET /statistics), one byte
 * that picks `now` from a table of edges, then dateFrom, '|' and dateTo. Both bytes are chosen so
 * that seeds can be written as text. The texts are copied to blocks of exactly their size, so that
 * the address sanitizer sees the first byte too many. */
#include "tollbook/range.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

/* Month ends, both sides of midnight, leap days, and the ends of the calendar. */
static const char *const clocks[] = {
    "2026-07-15T12:34:56Z", "2026-07-31T23:59:59.999999Z", "2026-08-01T00:00:00Z",
    "2026-03-31T06:00:00Z", "2024-02-29T12:00:00Z",        "2024-03-01T00:00:00Z",
    "2025-02-28T23:59:59Z", "2026-12-31T23:00:00Z",        "2027-01-01T00:00:00.000001Z",
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z",        "0001-02-01T01:00:00Z",
    "9999-12-31T23:59:59Z", "2000-02-29T01:00:00Z",        "2100-03-01T00:00:00Z",
    "1969-12-31T23:59:59Z"};

static char *exact_copy(const uint8_t *data, size_t len)
{
    char *copy = malloc(len);
    if (len) memcpy(copy, data, len);
    return copy;
}

static void check_error(tb_code code, const tb_error *err, bool field)
{
    MUST(code == TB_E_VALIDATION || code == TB_E_DATE_RANGE);
    MUST(err->code == code);
    MUST(err->message[0] && memchr(err->message, 0, sizeof err->message));
    MUST((field && (!strcmp(err->field, "dateFrom") || !strcmp(err->field, "dateTo"))) ||
         (!field && !err->field[0]));
}

/* A strict time is also a lax one with the same value; what was written reads back. */
static void check_date(tb_text text)
{
    int64_t lax = 0, strict = 0, back = 0;
    tb_error err;
    char written[20];
    tb_code code = tb_date_parse(text.data, text.len, &lax, &err);
    if (code) check_error(code, &err, false);
    tb_code strict_code = tb_rfc3339_parse(text.data, text.len, &strict, &err);
    if (strict_code) check_error(strict_code, &err, false);
    MUST(strict_code || (!code && strict == lax));
    if (code) return;
    MUST(lax >= TB_US_FIRST && lax <= TB_US_LAST);
    tb_time_format(lax, written);
    MUST(!tb_rfc3339_parse(written, sizeof written, &back, NULL));
    MUST(back <= lax && lax - back < TB_US_PER_S);
}

static void check_range(const tb_range_query *query, int64_t now)
{
    tb_range range;
    tb_error err;
    tb_code code = tb_range_resolve(query, now, &range, &err);
    if (code) {
        check_error(code, &err, true);
        return;
    }
    bool latest = query->latest && query->statistics;
    bool exact = query->exact && query->hourly && query->statistics;
    int64_t unit = query->hourly ? 24 : 1; /* buckets a day */
    int64_t today = tb_day_from_us(now), end = range.first + range.count;
    MUST(range.hourly == query->hourly);
    MUST(range.count >= 1 && range.count <= (uint32_t)(query->hourly ? 41 * 24 : 367));
    MUST(end <= (today + 1) * unit);
    MUST(range.first >= tb_day_from_us(TB_US_FIRST) * unit);
    MUST(latest || range.first >= (today - (query->hourly ? 30 : 366)) * unit);
    MUST(!query->statistics || range.count <= (latest ? 2 : 41) * unit);
    MUST(exact || (range.first % unit == 0 && range.count % unit == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const char *clock = clocks[data[1] % (sizeof clocks / sizeof *clocks)];
    const uint8_t *dates = data + 2, *end = data + size;
    const uint8_t *bar = size > 2 ? memchr(dates, '|', size - 2) : NULL;
    size_t from_len = (size_t)((bar ? bar : end) - dates);
    size_t to_len = bar ? (size_t)(end - bar - 1) : 0;
    char *from = exact_copy(dates, from_len), *to = exact_copy(bar ? bar + 1 : end, to_len);

    tb_range_query query = {
        .from = {from, from_len},
        .to = {to, to_len},
        .hourly = data[0] & 1,
        .exact = data[0] & 2,
        .latest = data[0] & 4,
        .statistics = data[0] & 8,
    };
    int64_t now;
    MUST(!tb_rfc3339_parse(clock, strlen(clock), &now, NULL));
    check_date(query.from);
    check_date(query.to);
    check_range(&query, now);
    free(from);
    free(to);
    return 0;
}
