/* tollbook percentile: 95/5 of a pull zone or an account and month, from its hours. */
#include "tollbook/percentile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tollbook/calendar.h"
#include "tollbook/monthbill.h"
#include "tollbook/terms.h"

#define OUT_MAX      ((size_t)64 << 10) /* the answer is under 2 KiB */
#define HOUR_SECONDS 3600               /* the finest that is stored */

typedef struct asked {
    tb_percentile_of of;
    tb_percentile_ask ask;
    tb_view view;
    int64_t month;
} asked;

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static int read_decimal(const cli_call *call, const char *option, int max_scale, tb_decimal *ret)
{
    tb_error err;
    char subject[32];
    const char *text = cli_text(call, option);
    if (!text || tb_decimal_parse(text, strlen(text), max_scale, ret, &err) == TB_OK) return 0;
    snprintf(subject, sizeof subject, "--%s", option);
    return cli_fail(call, subject, &err);
}

static int read_month(const cli_call *call, int64_t now_us, asked *a)
{
    const char *text = cli_text(call, "month");
    a->month = tb_month_from_us(now_us);
    if (text && !tb_month_parse(text, strlen(text), &a->month)) {
        cli_say(call, "--month does not take \"%.32s\": write it like 2026-10.", text);
        return tb_code_exit(TB_E_USAGE);
    }
    if (a->month > tb_month_from_us(now_us)) return usage(call, "--month lies in the future.");
    a->of.from_us = tb_month_start_us(a->month);
    a->of.running = tb_month_start_us(a->month + 1) > now_us;
    tb_month_format(a->month, a->of.month);
    int64_t hours = (tb_month_start_us(a->month + 1) - a->of.from_us) / TB_US_PER_HOUR;
    int64_t over = (now_us - a->of.from_us) / TB_US_PER_HOUR;
    a->ask.buckets = (uint32_t)hours;
    a->ask.over = (uint32_t)(over < hours ? over : hours);
    a->ask.seconds = HOUR_SECONDS;
    return 0;
}

static int read_options(const cli_call *call, int64_t now_us, asked *a)
{
    a->view = (tb_view){cli_number(call, "account", 0), cli_number(call, "zone", TB_ALL), TB_ALL};
    if (a->view.account == 0 && a->view.zone == TB_ALL)
        return usage(call, "Give --zone ID or --account ID.");
    a->ask.percentile = tb_decimal_from_int(95);
    a->ask.has_commit = cli_given(call, "commit");
    int status = read_decimal(call, "percentile", TB_PERCENTILE_SCALE_MAX, &a->ask.percentile);
    if (status == 0) status = read_decimal(call, "commit", TB_PERCENTILE_DIGITS, &a->ask.commit);
    if (status == 0) status = read_month(call, now_us, a);
    if (a->view.zone == TB_ALL)
        snprintf(a->of.resource, sizeof a->of.resource, "account:%" PRId64, a->view.account);
    else
        snprintf(a->of.resource, sizeof a->of.resource, "zone:%" PRId64, a->view.zone);
    return status;
}

static tb_code check_view(tb_store *store, tb_view *view, tb_error *err)
{
    bool exists;
    if (view->account == 0) return tb_store_zone_account(store, view->zone, &view->account, err);
    tb_code code = tb_store_account_exists(store, view->account, &exists, err);
    if (code) return code;
    if (!exists)
        return tb_fail(err, TB_E_NOT_FOUND, "account",
                       "There is no account %" PRId64 ". Declare it with `tollbook apply` first.",
                       view->account);
    return tb_store_view_check(store, view, err);
}

static tb_code answer(tb_store *store, asked *a, bool table, tb_buf *out, tb_error *err)
{
    tb_series series;
    tb_percentile found;
    tb_range range = {a->of.from_us / TB_US_PER_HOUR, a->ask.buckets, true};
    tb_code code = check_view(store, &a->view, err);
    if (!code)
        code = tb_series_init(&series, range,
                              TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS), NULL, err);
    if (code) return code;
    code = tb_store_read_series(store, &a->view, &series, err);
    a->ask.bytes = series.value[TB_M_BYTES];
    a->ask.requests = series.value[TB_M_REQUESTS];
    if (!code) code = tb_percentile_find(&a->ask, NULL, &found, err);
    tb_series_release(&series);
    if (code) return code;
    (table ? tb_percentile_table : tb_percentile_json)(&a->of, &a->ask, &found, out);
    return tb_buf_check(out, err);
}

int cli_percentile(const cli_call *call)
{
    asked a = {.month = 0};
    tb_store *store;
    tb_error err;
    tb_buf out;
    int64_t now_us;
    bool table = cli_is(call, "format", "table");
    if (!cli_given(call, "format")) table = isatty(STDOUT_FILENO) != 0;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = read_options(call, now_us, &a);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&out, OUT_MAX, NULL);
    tb_code code = tb_store_read_begin(store, &err);
    if (!code) {
        code = answer(store, &a, table, &out, &err);
        tb_store_read_end(store);
    }
    if (!code) fwrite(out.data, 1, out.len, stdout);
    status = code ? cli_fail(call, NULL, &err) : cli_done(call);
    tb_buf_release(&out);
    tb_store_close(store);
    return status;
}
