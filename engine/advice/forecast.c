/* The whole: series are fitted, paths drawn and rated, and what they come to is sorted.
 *
 * Columns of what paths come to lie one after the other, a value for each path, so that each is
 * sorted where it lies. A column with nothing to come has none. */
#include "advice/model.h"
#include "advice/single.h"

#include "tollbook/calendar.h"

#include <gsl/gsl_rng.h>
#include <string.h>

#define PATHS_LEAST 500

static const struct {
    const char *name, *reason;
} methods[] = {
#define TB_X(name, text, days, reason) {text, reason},
    TB_FORECAST_METHODS(TB_X)
#undef TB_X
};

const char *tb_forecast_method_name(tb_forecast_method method)
{
    return methods[method].name;
}

const char *tb_forecast_method_reason(tb_forecast_method method)
{
    return methods[method].reason;
}

typedef struct making {
    const tb_forecast_input *in;
    tb_forecast *f;
    tb__arena arena;
    tb__ahead ahead;
    tb__outlook outlook[TB_USAGE_COLUMNS];
    tb__rater *rater;
    tb_i128 *more;                   /* of one path, by part and column */
    tb_i128 *come[TB_USAGE_COLUMNS]; /* by path; NULL: nothing comes */
    tb_i128 *bytes, *net, *gross;    /* by path */
    tb_error *err;
} making;

/* --- the time --- */

static tb_code refuse_input(making *m, const char *field, const char *what)
{
    return tb_fail(m->err, TB_E_VALIDATION, field, "%s", what);
}

static tb_code check(making *m)
{
    const tb_forecast_input *in = m->in;
    int64_t start = tb_month_first_day(in->month->month) * TB_US_PER_DAY;
    int64_t end = tb_month_first_day(in->month->month + 1) * TB_US_PER_DAY;
    const tb_usage_history *h = in->history;
    if (in->from_us % TB_US_PER_HOUR || in->from_us < start - 7 * TB_US_PER_DAY ||
        in->from_us >= end)
        return refuse_input(m, "from",
                            "A forecast begins on an hour of its month, or a week before.");
    if (h->first_day + (int64_t)h->n_days != tb_day_from_us(in->from_us))
        return refuse_input(m, "history", "The history ends with the last complete day.");
    if (in->paths < 1 || in->paths > TB_FORECAST_PATHS_MAX)
        return refuse_input(m, "paths", "Paths are 1 to 100000.");
    if (in->seed > UINT32_MAX) return refuse_input(m, "seed", "A seed is below 2^32.");
    if (in->month->running) return refuse_input(m, "month", "The input is the whole month's.");
    return tb_advice_ready(m->err);
}

static int64_t overlap(int64_t a_from, int64_t a_to, int64_t b_from, int64_t b_to)
{
    int64_t from = a_from > b_from ? a_from : b_from, to = a_to < b_to ? a_to : b_to;
    return to > from ? to - from : 0;
}

static void look_ahead(making *m)
{
    int64_t from_us = m->in->from_us;
    int64_t start = tb_month_first_day(m->in->month->month);
    int64_t end = tb_month_first_day(m->in->month->month + 1);
    m->ahead.first_day = tb_day_from_us(from_us);
    m->ahead.n = (size_t)(end - m->ahead.first_day);
    if (from_us < start * TB_US_PER_DAY) from_us = start * TB_US_PER_DAY;
    for (size_t d = 0; d < m->ahead.n; d++) {
        int64_t day_us = (m->ahead.first_day + (int64_t)d) * TB_US_PER_DAY;
        m->ahead.share_us[d] =
            overlap(day_us, day_us + TB_US_PER_DAY, from_us, end * TB_US_PER_DAY);
    }
}

/* --- series --- */

static void count_so_far(making *m)
{
    const tb_bill_input *in = m->in->month;
    for (size_t i = 0; i < in->n_bytes; i++) {
        const tb_bill_bytes *e = &in->bytes[i];
        int column = e->priced ? tb_usage_column(e->charge, e->region) : TB_USAGE_UNPRICED;
        m->f->usage[column].so_far += e->bytes;
        m->f->bytes_so_far += e->bytes;
    }
    for (size_t i = 0; i < in->n_balancers; i++)
        m->f->usage[TB_USAGE_REQUESTS].so_far += in->balancers[i].requests;
}

static tb_code fit_all(making *m)
{
    tb_forecast_method least = TB_FORECAST_TREND;
    bool any = false;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        tb__outlook *o = &m->outlook[c];
        tb_forecast_usage *u = &m->f->usage[c];
        tb_code code = tb__outlook_make(m->in->history->column[c], m->in->history->n_days,
                                        &m->ahead, &m->arena, o, m->err);
        if (code) return code;
        u->method = o->method;
        u->days = o->n;
        u->bounded = o->bounded;
        u->used = o->n > 0 || u->so_far > 0;
        if (o->nothing) continue;
        any = true;
        if (o->method > least) least = o->method;
    }
    m->f->method = any ? least : TB_FORECAST_SO_FAR;
    return TB_OK;
}

/* --- paths --- */

static tb_i128 *column_of(making *m)
{
    return tb__arena_take(&m->arena, m->f->paths * sizeof(tb_i128));
}

static tb_code take_columns(making *m)
{
    bool room = true;
    m->more = tb__arena_take(&m->arena, m->in->month->n_parts * TB_USAGE_COLUMNS * sizeof *m->more);
    m->bytes = column_of(m);
    m->net = column_of(m);
    m->gross = column_of(m);
    for (int c = 0; room && c < TB_USAGE_COLUMNS; c++)
        if (!m->outlook[c].nothing) room = (m->come[c] = column_of(m)) != NULL;
    if (!room || !m->more || !m->bytes || !m->net || !m->gross) return tb_no_memory(m->err);
    return TB_OK;
}

/* A day's usage to the parts of the month, by time; the part still to come of it. */
static tb_i128 spend(making *m, int c, const int64_t *days)
{
    tb_i128 sum = 0;
    const tb_bill_input *month = m->in->month;
    for (size_t d = 0; d < m->ahead.n; d++) {
        int64_t share = m->ahead.share_us[d];
        if (!share || !days[d]) continue;
        int64_t to = (m->ahead.first_day + (int64_t)d + 1) * TB_US_PER_DAY, from = to - share;
        for (size_t p = 0; p < month->n_parts; p++) {
            int64_t us = overlap(from, to, month->parts[p].from_us, month->parts[p].to_us);
            if (!us) continue;
            tb_i128 units =
                us == TB_US_PER_DAY ? (tb_i128)days[d] : (tb_i128)days[d] * us / TB_US_PER_DAY;
            m->more[p * TB_USAGE_COLUMNS + (size_t)c] += units;
            sum += units;
        }
    }
    return sum;
}

static tb_code run_path(making *m, const tb__draw *draw, size_t path)
{
    int64_t days[TB_FORECAST_AHEAD_MAX];
    memset(m->more, 0, m->in->month->n_parts * TB_USAGE_COLUMNS * sizeof *m->more);
    m->bytes[path] = m->f->bytes_so_far;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        if (!m->come[c]) continue;
        tb__outlook_path(&m->outlook[c], &m->ahead, draw, days);
        tb_i128 units = spend(m, c, days);
        m->come[c][path] = m->f->usage[c].so_far + units;
        if (c != TB_USAGE_REQUESTS) m->bytes[path] += units;
    }
    return tb__rater_rate(m->rater, m->more, &m->net[path], &m->gross[path], m->err);
}

static tb_code run_paths(making *m)
{
    tb__draw draw;
    tb_code code = TB_OK;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    if (!rng) return tb_no_memory(m->err);
    gsl_rng_set(rng, (unsigned long)m->in->seed);
    for (size_t path = 0; !code && path < m->f->paths; path++) {
        tb__draw_path(rng, &draw);
        code = run_path(m, &draw, path);
    }
    gsl_rng_free(rng);
    return code;
}

/* --- the whole --- */

static void sort_out(making *m)
{
    tb_forecast *f = m->f;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        tb_i128 there = f->usage[c].so_far;
        f->usage[c].month = m->come[c] ? tb__spread(m->come[c], f->paths)
                                       : (tb_forecast_spread){there, there, there, there};
    }
    f->bytes = tb__spread(m->bytes, f->paths);
    f->net = tb__spread(m->net, f->paths);
    f->gross = tb__spread(m->gross, f->paths);
}

static void describe(making *m)
{
    const tb_bill_input *month = m->in->month;
    const tb_book *book = month->n_parts ? month->parts[month->n_parts - 1].book : NULL;
    tb_forecast *f = m->f;
    *f = (tb_forecast){.account = month->account,
                       .month = month->month,
                       .from_us = m->in->from_us,
                       .seed = m->in->seed,
                       .paths = m->in->paths};
    memcpy(f->currency, month->currency, sizeof f->currency);
    if (book) memcpy(f->book, book->id, sizeof f->book);
}

/* Fewer paths where each has many lines. */
static void fewer_paths(making *m)
{
    size_t lines = tb__rater_lines(m->rater);
    if (lines <= TB_FORECAST_LINES) return;
    uint32_t paths = (uint32_t)((size_t)m->f->paths * TB_FORECAST_LINES / lines);
    if (paths < PATHS_LEAST) paths = PATHS_LEAST;
    if (paths < m->f->paths) m->f->paths = paths;
}

static tb_code make_forecast(making *m)
{
    tb_code code = check(m);
    if (code) return code;
    describe(m);
    look_ahead(m);
    count_so_far(m);
    code = fit_all(m);
    if (!code) code = tb__rater_new(m->in, &m->arena, m->arena.alloc, &m->rater, m->f, m->err);
    if (code) return code;
    fewer_paths(m);
    code = take_columns(m);
    if (!code && m->in->singles)
        code = tb__singles(m->in->history, m->ahead.n, m->f->bytes_so_far, m->f, m->err);
    if (!code) code = run_paths(m);
    if (!code) sort_out(m);
    return code;
}

tb_code tb_forecast_make(const tb_forecast_input *input, const tb_alloc *alloc,
                         tb_forecast *ret_forecast, tb_error *err)
{
    tb_forecast forecast = {.account = 0};
    making m = {.in = input, .f = &forecast, .err = err};
    tb__arena_init(&m.arena, alloc);
    tb_code code = make_forecast(&m);
    tb__rater_release(m.rater);
    tb__arena_release(&m.arena);
    if (!code) *ret_forecast = forecast;
    return code;
}
