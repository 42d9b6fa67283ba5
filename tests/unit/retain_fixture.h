/* Four years of usage, with months that are final, and the operation that lets go of some. */
#ifndef TOLLBOOK_TESTS_RETAIN_FIXTURE_H
#define TOLLBOOK_TESTS_RETAIN_FIXTURE_H

#include "billing_fixture.h"
#include "tollbook/operation.h"
#include "tollbook/retain.h"

#define FIRST 641 /* 2023-06 */
#define KEPT_HOURS (NOVEMBER - 25)
#define KEPT_DAYS  (NOVEMBER - 30)

static const char retain_catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
    "\"account\":1,\"name\":\"a\",\"created\":\"2023-06-01T00:00:00Z\"},{\"id\":102,\"account\":1,"
    "\"name\":\"c\",\"created\":\"2023-06-01T00:00:00Z\"},{\"id\":201,\"account\":2,\"name\":\"b\","
    "\"created\":\"2023-06-01T00:00:00Z\"}%s],\"load_balancers\":[{\"id\":7,\"account\":1,\"created\":"
    "\"2023-06-01T00:00:00Z\",\"zones\":[101]}]}";

static inline void retain_apply(fixture *f, const char *more)
{
    char text[1024];
    snprintf(text, sizeof text, retain_catalog, more);
    fixture_apply(f, text, tb_month_start_us(FIRST), NULL);
}

/* --- operations --- */

typedef struct said {
    tb_code code;
    bool no;
    size_t calls;
    char said[4096], out[65536], next[200]; /* the last call's */
    tb_error err;
} said;

static inline void keep_text(char *to, size_t size, const tb_buf *buf)
{
    size_t len = strlen(to), n = buf->len < size - len - 1 ? buf->len : size - len - 1;
    if (n) memcpy(to + len, buf->data, n);
    to[len + n] = 0;
}

/* How it is called: `most` times, then it is left as it is. */
typedef struct calling {
    size_t most;
    const char *next; /* of the first call; NULL: it begins */
    int64_t key, now_us;
} calling;

/* words: "retain hours=25 dry-run". */
static inline said run_from(fixture *f, const char *words, calling c)
{
    static said s;
    char text[256], *at = text, *word;
    tb_args args;
    memset(&s, 0, sizeof s);
    snprintf(text, sizeof text, "%s", words);
    word = strsep(&at, " ");
    tb_args_init(&args, tb_operation_find(word, strlen(word)));
    while ((word = strsep(&at, " ")) != NULL) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        const tb_param *p = tb_param_find(args.operation, word, strlen(word));
        ck_assert_msg(p != NULL, "%s", word);
        s.code = tb_args_add(&args, p, value ? value : "", value ? strlen(value) : 0, &s.err);
        if (s.code) goto end;
    }
    s.code = tb_args_end(&args, false, &s.err);
    if (!s.code && c.next) s.code = tb_args_next(&args, c.next, strlen(c.next), &s.err);
    do {
        tb_ops ops = {.store = f->store, .now_us = c.now_us, .key = c.key};
        tb_reply reply;
        tb_reply_init(&reply);
        if (!s.code) s.code = tb_operation_run(&ops, &args, &reply, &s.err);
        keep_text(s.said, sizeof s.said, &reply.said);
        keep_text(s.out, sizeof s.out, &reply.out);
        s.no |= reply.no;
        s.calls++;
        snprintf(s.next, sizeof s.next, "%.*s", (int)reply.next.len, reply.next.len ? reply.next.data : "");
        if (!s.code) s.code = tb_args_next(&args, reply.next.data, reply.next.len, &s.err);
        tb_reply_release(&reply);
    } while (!s.code && args.next && s.calls < c.most);
end:
    tb_args_release(&args);
    return s;
}

static inline said run_calls(fixture *f, const char *words, size_t most)
{
    return run_from(f, words, (calling){.most = most, .now_us = NOW_US});
}

static inline said run_words(fixture *f, const char *words)
{
    said s = run_calls(f, words, SIZE_MAX);
    ck_assert_msg(s.code == TB_OK, "%s: %s", words, s.err.message);
    return s;
}

/* --- the years --- */

static inline void retain_book(fixture *f, const char *id, const char *effective)
{
    char text[640];
    snprintf(text, sizeof text,
             "{\"book\":\"%s\",\"currency\":\"USD\",\"effective_from\":\"%s\",\"minimum_monthly\":"
             "\"0\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\"}}},"
             "\"load_balancer\":{\"monthly_fee\":\"1.00\",\"included_requests\":0,"
             "\"included_axis\":\"absolute\",\"tiers\":[{\"from_millions\":0,\"to_millions\":null,"
             "\"price_per_million\":\"0.65\"}]}}",
             id, effective);
    add_text_book(f, text);
}

static inline tb_row usage_row(int64_t zone, const char *edge, int64_t hour, uint64_t bytes)
{
    tb_row row = row_of(zone, edge, (int32_t)hour, TB_M_BYTES, bytes);
    row.metrics |= TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_QUEUED_MAX);
    row.value[TB_M_REQUESTS] = 3;
    row.value[TB_M_QUEUED_MAX] = bytes % 7;
    return row;
}

/* Some hours of each month, in one segment a month. */
static inline void add_month(fixture *f, int64_t month, uint64_t seed)
{
    tb_row rows[16];
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        const int64_t hour = (tb_month_first_day(month) + 9 * i) * 24 + 5 + i;
        const uint64_t bytes = UINT64_C(1000000000) * (uint64_t)(i + 1) + seed;
        rows[n++] = usage_row(101, "DE", hour, bytes);
        rows[n++] = usage_row(101, "FR", hour + 1, bytes + 1);
        rows[n++] = usage_row(102, "DE", hour, bytes + 2);
        rows[n++] = usage_row(201, "DE", hour, bytes + 3);
        rows[n++] = (tb_row){.balancer = true, .id = 7, .hour = (int32_t)hour,
                             .metrics = TB_METRIC_BIT(TB_M_REQUESTS),
                             .value[TB_M_REQUESTS] = 100 + seed};
    }
    fixture_add(f, rows, n, (uint64_t)month * 1000 + seed);
}

static inline void finalize_months(fixture *f, int64_t first, int64_t last, const char *more)
{
    for (int64_t month = first; month <= last; month++) {
        char words[80], text[8];
        tb_month_format(month, text);
        snprintf(words, sizeof words, "invoice month=%s finalize%s", text, more);
        run_words(f, words);
    }
}

/* folded: all in their rows; else a part of each month waits in runs. */
static inline void fill_years(fixture *f, bool folded)
{
    fixture_init(f);
    retain_apply(f, "");
    retain_book(f, "a", "2023-01-01T00:00:00Z");
    for (int64_t month = FIRST; month < NOVEMBER; month++)
        add_month(f, month, 1);
    add_bytes(f, 999, "DE", tb_month_first_day(FIRST) * 24, 77); /* nobody's */
    fixture_fold(f);
    for (int64_t month = FIRST; month < NOVEMBER; month++)
        add_month(f, month, 2);
    if (folded) fixture_fold(f);
    retain_book(f, "b", "2024-06-10T06:00:00Z"); /* within a day that has usage before and behind it */
}

static inline void verify_all(fixture *f, const char *part)
{
    tb_error err = {0};
    sentences found = {.n = 0};
    uint64_t differences = 0;
    ok(tb_verify(f->store, on_sentence, &found, &differences, &err));
    ck_assert_msg(!differences, "%s", found.text);
    if (part) ck_assert_msg(strstr(found.text, part) != NULL, "no %s in:\n%s", part, found.text);
}

static inline uint64_t hours_in(fixture *f, tb_view view, int64_t first, int64_t end)
{
    const int64_t hour = tb_month_first_day(first) * 24;
    return total_of(f, view, (tb_range){hour, (size_t)(tb_month_first_day(end) * 24 - hour), true},
                    TB_M_BYTES);
}

static inline uint64_t days_in(fixture *f, tb_view view, int64_t first, int64_t end)
{
    const int64_t day = tb_month_first_day(first);
    return total_of(f, view, (tb_range){day, (size_t)(tb_month_first_day(end) - day), false},
                    TB_M_BYTES);
}

static inline uint64_t sum_of_rows(fixture *f)
{
    return (uint64_t)number(f, "SELECT (SELECT coalesce(sum(length(data)*(key%97)),0) FROM chunk)"
                               "+(SELECT count(*) FROM retention)+(SELECT count(*) FROM usage_gone)"
                               "+(SELECT count(*) FROM audit)");
}

#endif
