/* Reading for forecasts: the month so far with fees to its end, half a year of days, and what
 * rounding did in the month before. */
#include "ops/prices/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

#define LAG_MAX_US (7 * TB_US_PER_DAY)

tb_code tb_forecast_from(tb_store *store, int64_t now_us, int64_t *ret_from_us, tb_error *err)
{
    int64_t newest = 0;
    int64_t now_hour_us = tb_hour_from_us(now_us) * TB_US_PER_HOUR;
    tb_code code = tb_store_newest_hour(store, &newest, err);
    if (code) return code;
    *ret_from_us = now_hour_us;
    if (newest == INT64_MIN) return TB_OK;
    int64_t known_us = (newest + 1) * TB_US_PER_HOUR;
    if (known_us < now_hour_us && known_us >= now_hour_us - LAG_MAX_US) *ret_from_us = known_us;
    return TB_OK;
}

/* Rounded less exact amounts of the lines that forecasts put together. */
static tb_code rounding_of(const tb_bill *bill, tb_decimal *ret, tb_error *err)
{
    tb_sum sum = TB_SUM_ZERO;
    tb_decimal left;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        if (line->kind != TB_LINE_BANDWIDTH && line->kind != TB_LINE_OVERRIDE) continue;
        code = tb_sum_add(&sum, line->amount, err);
        if (!code) code = tb_sum_sub(&sum, line->exact, err);
    }
    if (!code) code = tb_sum_decimal(sum, &left, err);
    return code ? code : tb_decimal_round(left, bill->minor_digits, TB_HALF_UP, ret, err);
}

static tb_code rounding_before(tb_store *store, const tb_month_books *books,
                               const tb_forecast_question *q, tb_decimal *ret, tb_error *err)
{
    tb_month_bill before;
    *ret = TB_DECIMAL_ZERO;
    if (q->month < 1) return TB_OK;
    int64_t end_us = tb_month_start_us(q->month);
    const tb_bill_query query = {q->account, q->month - 1, TB_NOW, books->list, books->n, end_us};
    tb_code code = tb_month_net_read(store, &query, &before, err);
    if (code) return code;
    code = rounding_of(&before.bill, ret, err);
    tb_month_bill_release(&before);
    return code;
}

static tb_code forecast_with(const tb_forecast_question *q, const tb_bill_input *month,
                             const tb_usage_history *history, tb_decimal rounding,
                             tb_forecast *ret_forecast, tb_error *err)
{
    tb_forecast_input input = {.month = month,
                               .history = history,
                               .from_us = q->from_us,
                               .rounding = rounding,
                               .seed = q->seed,
                               .paths = q->paths,
                               .singles = q->singles,
                               .by_day = q->by_day,
                               .limits = q->limits,
                               .n_limits = q->n_limits,
                               .funds = q->funds};
    return tb_forecast_make(&input, NULL, ret_forecast, err);
}

/* Samples have no more than what they are so far. */
static void meters_so_far(const tb_bill_input *month, tb_forecast *f)
{
    for (size_t i = 0; i < f->n_meters; i++) {
        tb_forecast_meter *m = &f->meters[i];
        for (size_t k = 0; k < month->n_usage; k++)
            if (strcmp(month->meters[month->usage[k].meter].id, m->meter) == 0) m->so_far += month->usage[k].quantity;
        for (size_t k = 0; k < month->n_samples; k++)
            if (strcmp(month->meters[month->samples[k].meter].id, m->meter) == 0) m->so_far = m->month;
    }
}

tb_code tb_account_forecast(tb_store *store, const tb_month_books *books,
                            const tb_forecast_question *q, tb_forecast *ret_forecast, tb_error *err)
{
    const tb_bill_query query = {q->account, q->month, TB_NOW, books->list, books->n, tb_month_start_us(q->month + 1)};
    const int64_t end = tb_day_from_us(q->from_us);
    tb_usage_history history;
    tb_bill_source month;
    tb_decimal rounding;
    tb_code code = tb_store_usage_history(store, q->account, end - TB_FORECAST_DAYS, end, q->at_us, &history, err);
    if (code) return code;
    code = rounding_before(store, books, q, &rounding, err);
    if (!code) code = tb_store_bill_input_until(store, &query, q->from_us, &month, err);
    if (!code) {
        tb_bill_input input = month.input;
        tb__metered metered;
        code = tb__forecast_meters(store, q, &input, &metered, err);
        if (!code) code = forecast_with(q, &input, &history, rounding, ret_forecast, err);
        if (!code) meters_so_far(&month.input, ret_forecast);
        tb__metered_release(&metered);
        tb_bill_source_release(&month);
    }
    tb_usage_history_release(&history);
    return code;
}

/* --- for how long a balance lasts --- */

/* One entry a path. */
typedef struct lasting {
    tb_forecast_funds funds;
    void *memory;
} lasting;

/* The funds left now, as a mantissa with the currency's digits: the balance less the part of the running month that
 * is in no entry yet. */
static tb_code read_left(tb_store *store, const tb_month_books *books, int64_t account, int64_t now_us,
                         tb_i128 *ret_left, tb_i128 *ret_so_far, tb_error *err)
{
    tb_month_bill month;
    tb_prepaid_month days = {.reversed = false};
    tb_decimal left, total;
    const tb_bill_query query = {account, tb_month_from_us(now_us), TB_NOW, books->list, books->n, now_us};
    tb_code code = tb_month_bill_read(store, &query, &month, err);
    if (code) return code;
    const int digits = month.bill.minor_digits;
    code = tb_store_balance(store, account, &left, err);
    if (!code)
        code = tb_store_prepaid_month(store, account, month.source.input.month, &days, err);
    if (!code) code = tb_decimal_sub(left, days.entered, &left, err);
    if (!code) code = tb_decimal_sub(left, month.bill.total, &left, err);
    if (!code) code = tb_decimal_round(left, digits, TB_HALF_UP, &left, err);
    if (!code) code = tb_decimal_sub(month.bill.total, (tb_decimal){0, digits}, &total, err);
    tb_month_bill_release(&month);
    if (code) return code;
    *ret_left = left.mantissa;
    *ret_so_far = total.mantissa;
    for (int s = left.scale; s < digits; s++)
        *ret_left *= 10;
    for (int s = total.scale; s < digits; s++)
        *ret_so_far *= 10;
    return TB_OK;
}

static tb_code lasting_init(lasting *l, uint32_t paths, tb_i128 left, tb_error *err)
{
    l->memory = malloc(paths * (sizeof *l->funds.left + sizeof *l->funds.empty));
    if (!l->memory) return tb_no_memory(err);
    l->funds.left = l->memory;
    l->funds.empty = (void *)(l->funds.left + paths);
    for (uint32_t i = 0; i < paths; i++) {
        l->funds.left[i] = left;
        l->funds.empty[i] = INT64_MAX;
    }
    return TB_OK;
}

static int by_day(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Quantiles by nearest rank, as those of money. What should have come in before now is taken at once. */
static void find_lasts(lasting *l, size_t n, int64_t today, tb_forecast *f)
{
    for (size_t i = 0; i < n; i++)
        if (l->funds.empty[i] < today) l->funds.empty[i] = today;
    qsort(l->funds.empty, n, sizeof *l->funds.empty, by_day);
    f->has_lasts = true;
    f->lasts_p5 = l->funds.empty[(n * 5 + 99) / 100 - 1];
    f->lasts_p50 = l->funds.empty[(n * 50 + 99) / 100 - 1];
    f->lasts_p95 = l->funds.empty[(n * 95 + 99) / 100 - 1];
}

/* The next month too, once it is within a forecast's reach. */
static tb_code look_further(tb_store *store, const tb_month_books *books,
                            const tb_forecast_question *q, lasting *l, size_t *n, tb_error *err)
{
    tb_forecast_question next = *q;
    tb_forecast unused;
    next.month++;
    next.by_day = false;
    if (q->from_us < tb_month_start_us(next.month) - LAG_MAX_US) return TB_OK;
    l->funds.so_far = 0;
    tb_code code = tb_account_forecast(store, books, &next, &unused, err);
    if (l->funds.n < *n) *n = l->funds.n;
    return code;
}

static tb_code forecast_lasting(tb_store *store, const tb_month_books *books, tb_forecast_question *q,
                                int64_t now_us, tb_forecast *ret_forecast, tb_error *err)
{
    lasting l = {.memory = NULL};
    tb_i128 left = 0;
    tb_code code = read_left(store, books, q->account, now_us, &left, &l.funds.so_far, err);
    if (!code) code = lasting_init(&l, q->paths, left, err);
    q->funds = &l.funds;
    if (!code) code = tb_account_forecast(store, books, q, ret_forecast, err);
    size_t n = l.funds.n;
    if (!code) code = look_further(store, books, q, &l, &n, err);
    if (!code) find_lasts(&l, n, tb_day_from_us(now_us), ret_forecast);
    q->funds = NULL;
    free(l.memory);
    return code;
}

tb_code tb_running_forecast(tb_store *store, const tb_forecast_question *question,
                            tb_forecast *ret_forecast, tb_error *err)
{
    tb_month_books books;
    tb_forecast_question q = *question;
    bool prepaid = false;
    q.month = tb_month_from_us(q.at_us);
    q.by_day = true;
    tb_code code = tb_forecast_from(store, q.at_us, &q.from_us, err);
    if (!code) code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_store_account_prepaid(store, q.account, &prepaid, err);
    if (!code)
        code = prepaid ? forecast_lasting(store, &books, &q, q.at_us, ret_forecast, err)
                       : tb_account_forecast(store, &books, &q, ret_forecast, err);
    tb_month_books_release(&books);
    return code;
}

tb_code tb_forecast_answer(tb_store *store, const tb_forecast_question *question, tb_buf *out, tb_error *err)
{
    tb_forecast forecast;
    tb_code code = tb_running_forecast(store, question, &forecast, err);
    return code ? code : tb_forecast_json(&forecast, out, err);
}

/* --- backtest --- */

const int tb_backtest_days[TB_BACKTEST_DAYS] = {1, 6, 11, 16, 21};

typedef struct outcome {
    tb_decimal net;
    tb_i128 bytes;
} outcome;

static tb_code read_outcome(tb_store *store, const tb_month_books *books, int64_t account,
                            int64_t month, outcome *ret, tb_error *err)
{
    tb_month_bill bill;
    const tb_bill_query query = {account, month, TB_NOW, books->list, books->n, tb_month_start_us(month + 1)};
    tb_code code = tb_month_net_read(store, &query, &bill, err);
    if (code) return code;
    *ret = (outcome){.net = bill.bill.subtotal};
    for (size_t i = 0; i < bill.source.input.n_bytes; i++)
        ret->bytes += bill.source.input.bytes[i].bytes;
    tb_month_bill_release(&bill);
    return TB_OK;
}

static bool within(const tb_forecast_spread *s, tb_i128 value)
{
    return s->p5 <= value && value <= s->p95;
}

/* Tenths of a percent, at most ten times the outcome. */
static uint64_t permille(tb_i128 forecast, tb_i128 value)
{
    tb_i128 off = forecast > value ? forecast - value : value - forecast;
    if (off > 10 * value) return 10000;
    return (uint64_t)tb_div_round(off * 1000, value, TB_HALF_UP);
}

static void count(tb_backtest_count *c, const tb_forecast *f, const outcome *out)
{
    c->n++;
    c->money_hits += within(&f->net, out->net.mantissa);
    c->bytes_hits += within(&f->bytes, out->bytes);
    if (out->net.mantissa <= 0) return;
    c->errors++;
    c->error_permille += permille(f->net.p50, out->net.mantissa);
}

/* --- pinball --- */

/* Losses of an account's forecasts, in bytes, and the outcome. */
typedef struct losses {
    double own, single[TB_FORECAST_SINGLE_COUNT], bytes;
    size_t n;
} losses;

/* The mean over p5, p50 and p95 of the pinball loss: the deviation, times p above the quantile and
 * 1 - p below it. */
static double pinball(const tb_forecast_spread *s, tb_i128 value)
{
    const double share[3] = {0.05, 0.5, 0.95};
    const tb_i128 quantile[3] = {s->p5, s->p50, s->p95};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double off = (double)(value - quantile[i]);
        sum += off > 0 ? share[i] * off : (share[i] - 1) * off;
    }
    return sum / 3;
}

static void judge(losses *l, const tb_forecast *f, tb_i128 bytes)
{
    if (!f->has_single) return;
    l->n++;
    l->bytes += (double)bytes;
    l->own += pinball(&f->bytes, bytes);
    for (int i = 0; i < TB_FORECAST_SINGLE_COUNT; i++)
        l->single[i] += pinball(&f->single[i], bytes);
}

static uint64_t millionths(double loss, const losses *l)
{
    double part = loss / l->bytes * (double)l->n * 1e6;
    return part < 1e15 ? (uint64_t)(part + 0.5) : (uint64_t)1e15;
}

/* Accounts without any bytes have nothing to be judged by. */
static void add_losses(tb_backtest_result *result, const losses *l)
{
    if (l->bytes <= 0) return;
    result->judged += l->n;
    result->pinball += millionths(l->own, l);
    for (int i = 0; i < TB_FORECAST_SINGLE_COUNT; i++)
        result->pinball_single[i] += millionths(l->single[i], l);
}

uint64_t tb_backtest_best_single(const tb_backtest_result *result, tb_forecast_single *ret_which)
{
    *ret_which = 0;
    for (int i = 1; i < TB_FORECAST_SINGLE_COUNT; i++)
        if (result->pinball_single[i] < result->pinball_single[*ret_which])
            *ret_which = (tb_forecast_single)i;
    return result->pinball_single[*ret_which];
}

/* --- months --- */

static tb_code try_month(tb_store *store, const tb_month_books *books, tb_forecast_question *q,
                         tb_backtest_result *result, losses *l, tb_error *err)
{
    outcome out;
    tb_forecast f;
    tb_code code = read_outcome(store, books, q->account, q->month, &out, err);
    for (int i = 0; !code && i < TB_BACKTEST_DAYS; i++) {
        q->from_us = tb_month_start_us(q->month) + (tb_backtest_days[i] - 1) * TB_US_PER_DAY;
        q->at_us = q->from_us;
        code = tb_account_forecast(store, books, q, &f, err);
        if (code) return code;
        count(&result->all, &f, &out);
        count(&result->by_day[i], &f, &out);
        judge(l, &f, out.bytes);
    }
    return code;
}

/* Whether there is usage 28 days before the month. */
static tb_code known_before(tb_store *store, const tb_forecast_question *q, bool *ret,
                            tb_error *err)
{
    tb_usage_history h;
    int64_t end = tb_day_from_us(tb_month_start_us(q->month));
    *ret = false;
    tb_code code =
        tb_store_usage_history(store, q->account, end - TB_FORECAST_DAYS,
                               end - TB_HISTORY_RECENT + 1, end * TB_US_PER_DAY, &h, err);
    if (code) return code;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++)
        for (size_t d = 0; d < h.n_days; d++)
            *ret = *ret || h.column[c][d] > 0;
    tb_usage_history_release(&h);
    return TB_OK;
}

tb_code tb_account_backtest(tb_store *store, const tb_month_books *books, int64_t account,
                            int64_t now_us, tb_simulation simulation, tb_backtest_result *result,
                            tb_error *err)
{
    int64_t running = tb_month_from_us(now_us);
    tb_forecast_question q = {
        .account = account, .seed = simulation.seed, .paths = simulation.paths, .singles = true};
    losses l = {.n = 0};
    tb_code code = TB_OK;
    for (q.month = running - TB_BACKTEST_MONTHS; !code && q.month < running; q.month++) {
        bool known = false;
        code = known_before(store, &q, &known, err);
        if (code || !known) {
            result->skipped += !code;
            continue;
        }
        code = try_month(store, books, &q, result, &l, err);
        result->months += !code;
    }
    if (!code) add_losses(result, &l);
    return code;
}
