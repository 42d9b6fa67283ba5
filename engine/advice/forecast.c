/* The whole forecast: series are fitted, paths drawn and rated, and the results sorted.
 *
 * The columns of results lie one after the other, a value for each path, so that each is sorted in
 * place. A column without usage to come has none. */
#include "advice/model.h"
#include "advice/single.h"

#include "tollbook/calendar.h"

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

/* A day's piece in a part of the month; part: its first element of `more`. */
typedef struct piece {
    size_t day, part;
    int64_t us;
} piece;

typedef struct making {
    const tb_forecast_input *in;
    tb_forecast *f;
    tb__arena arena;
    tb__ahead ahead;
    tb__outlook outlook[TB_USAGE_COLUMNS];
    tb__rater *rater;
    piece *pieces; /* by day */
    size_t n_pieces;
    tb_i128 *more;                   /* of one path, by part and column */
    tb_i128 *come[TB_USAGE_COLUMNS]; /* by path; NULL: nothing comes */
    tb_i128 *bytes, *net, *gross;    /* by path */
    tb_i128 *by_day;                 /* bytes by a day's end: of the first day by path, then of the next; NULL: not wanted */
    int64_t days[TB_USAGE_COLUMNS][TB_FORECAST_AHEAD_MAX]; /* of one path */
    tb_i128 fees; /* with tax, of the rest of the month */
    int64_t left_us; /* of the month */
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
    if (m->in->by_day)
        room = room && (m->by_day = tb__arena_take(&m->arena, m->ahead.n * m->f->paths * sizeof *m->by_day)) != NULL;
    if (!room || !m->more || !m->bytes || !m->net || !m->gross) return tb_no_memory(m->err);
    return TB_OK;
}

/* Which piece of each day lies in each part. */
static tb_code cut_days(making *m)
{
    const tb_bill_input *month = m->in->month;
    m->pieces = tb__arena_take(&m->arena, (m->ahead.n + month->n_parts) * sizeof *m->pieces);
    if (!m->pieces) return tb_no_memory(m->err);
    for (size_t d = 0; d < m->ahead.n; d++) {
        int64_t to = (m->ahead.first_day + (int64_t)d + 1) * TB_US_PER_DAY, from = to - m->ahead.share_us[d];
        for (size_t p = 0; p < month->n_parts; p++) {
            int64_t us = overlap(from, to, month->parts[p].from_us, month->parts[p].to_us);
            if (us) m->pieces[m->n_pieces++] = (piece){d, p * TB_USAGE_COLUMNS, us};
        }
    }
    return TB_OK;
}

/* The usage of a path's first days to the parts of the month, by time; the part still to come of it.
 * by_day: adds it there to each day's; NULL: nowhere. */
static tb_i128 spend(making *m, int c, size_t n, tb_i128 *by_day)
{
    int64_t sum = 0; /* of days within TB_FORECAST_DAY_MAX */
    const int64_t *days = m->days[c];
    for (size_t i = 0; i < m->n_pieces && m->pieces[i].day < n;) {
        const size_t part = m->pieces[i].part;
        int64_t used = 0;
        for (; i < m->n_pieces && m->pieces[i].part == part && m->pieces[i].day < n; i++) {
            const piece *at = &m->pieces[i];
            int64_t units = days[at->day];
            if (at->us != TB_US_PER_DAY) units = (int64_t)((tb_i128)units * at->us / TB_US_PER_DAY);
            used += units;
            if (by_day) by_day[at->day] += units;
        }
        m->more[part + (size_t)c] += used;
        sum += used;
    }
    return sum;
}
_Static_assert(TB_FORECAST_AHEAD_MAX < INT64_MAX / TB_FORECAST_DAY_MAX, "a path's days have a sum");

static void clear_more(making *m)
{
    memset(m->more, 0, m->in->month->n_parts * TB_USAGE_COLUMNS * sizeof *m->more);
}

/* --- funds --- */

/* The fees for the rest of the month: the rater's bill has them all. */
static tb_code begin_funds(making *m)
{
    tb_i128 gross = 0;
    if (!m->in->funds) return TB_OK;
    clear_more(m);
    m->in->funds->n = m->f->paths;
    for (size_t d = 0; d < m->ahead.n; d++)
        m->left_us += m->ahead.share_us[d];
    tb_code code = tb__rater_running(m->rater, m->more, &gross, m->err);
    m->fees = code ? 0 : gross - m->in->funds->so_far;
    if (m->fees < 0) m->fees = 0;
    return code;
}

/* What the path takes by the end of its first n days: usage, and fees by time. */
static tb_code taken_by(making *m, size_t n, tb_i128 *ret)
{
    tb_i128 gross = 0;
    int64_t us = 0;
    clear_more(m);
    for (int c = 0; c < TB_USAGE_COLUMNS; c++)
        if (m->come[c]) spend(m, c, n, NULL);
    for (size_t d = 0; d < n; d++)
        us += m->ahead.share_us[d];
    tb_code code = tb__rater_running(m->rater, m->more, &gross, m->err);
    if (code) return code;
    const tb_i128 later = m->left_us ? m->fees * (m->left_us - us) / m->left_us : 0;
    *ret = gross - m->in->funds->so_far - later;
    return TB_OK;
}

/* The path's first day by the end of which the remaining funds are used up; found by halving. */
static tb_code find_empty(making *m, size_t path)
{
    tb_forecast_funds *funds = m->in->funds;
    size_t low = 1, high = m->ahead.n;
    tb_code code = TB_OK;
    while (!code && low < high) {
        const size_t middle = low + (high - low) / 2;
        tb_i128 taken = 0;
        code = taken_by(m, middle, &taken);
        if (taken >= funds->left[path]) high = middle;
        else low = middle + 1;
    }
    funds->empty[path] = m->ahead.first_day + (int64_t)low - 1;
    return code;
}

static tb_code take_funds(making *m, size_t path)
{
    tb_forecast_funds *funds = m->in->funds;
    if (!funds || funds->empty[path] != INT64_MAX) return TB_OK;
    const tb_i128 taken = m->gross[path] - funds->so_far;
    if (funds->left[path] <= 0) {
        funds->empty[path] = m->ahead.first_day;
        return TB_OK;
    }
    if (taken >= funds->left[path]) return find_empty(m, path);
    funds->left[path] -= taken;
    return TB_OK;
}

/* --- a path --- */

static void keep_days(const making *m, const tb_i128 *by_day, size_t path)
{
    tb_i128 sum = m->f->bytes_so_far;
    for (size_t d = 0; d < m->ahead.n; d++) {
        sum += by_day[d];
        m->by_day[d * m->f->paths + path] = sum;
    }
}

static tb_code run_path(making *m, const tb__draw *draw, size_t path)
{
    tb_i128 by_day[TB_FORECAST_AHEAD_MAX];
    if (m->by_day) memset(by_day, 0, sizeof by_day);
    clear_more(m);
    m->bytes[path] = m->f->bytes_so_far;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        if (!m->come[c]) continue;
        tb__outlook_path(&m->outlook[c], &m->ahead, draw, m->days[c]);
        tb_i128 units = spend(m, c, m->ahead.n, m->by_day && c != TB_USAGE_REQUESTS ? by_day : NULL);
        m->come[c][path] = m->f->usage[c].so_far + units;
        if (c != TB_USAGE_REQUESTS) m->bytes[path] += units;
    }
    if (m->by_day) keep_days(m, by_day, path);
    tb_code code = tb__rater_rate(m->rater, m->more, &m->net[path], &m->gross[path], m->err);
    return code ? code : take_funds(m, path);
}

static tb_code run_paths(making *m)
{
    tb__random random;
    tb__draw draw;
    tb_code code = begin_funds(m);
    tb__random_seed(&random, (uint32_t)m->in->seed);
    for (size_t path = 0; !code && path < m->f->paths; path++) {
        tb__draw_path(&random, &draw);
        code = run_path(m, &draw, path);
    }
    return code;
}

/* --- the whole --- */

/* Days before the month are none of it. */
static void sort_days(making *m)
{
    tb_forecast *f = m->f;
    for (size_t d = 0; m->by_day && d < m->ahead.n; d++)
        if (m->ahead.share_us[d])
            f->days[f->n_days++] = (tb_forecast_day){
                m->ahead.first_day + (int64_t)d, tb__spread(&m->by_day[d * f->paths], f->paths)};
}

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
    sort_days(m);
}

/* The number of paths that exceed each limit. */
static void count_over(making *m)
{
    tb_forecast *f = m->f;
    for (size_t i = 0; i < m->in->n_limits && i < TB_FORECAST_LIMITS; i++) {
        f->limits[f->n_limits++] = m->in->limits[i];
        for (uint32_t path = 0; path < f->paths; path++)
            f->over[i] += tb_decimal_compare((tb_decimal){m->gross[path], f->minor_digits},
                                             m->in->limits[i]) > 0;
    }
}

tb_code tb_forecast_probability(const tb_forecast *forecast, size_t i, tb_decimal *ret, tb_error *err)
{
    return tb_decimal_divide((tb_decimal){forecast->over[i], 0}, 1, forecast->paths, TB_FORECAST_PROBABILITY_SCALE,
                             TB_HALF_UP, ret, err);
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
    if (!code) code = tb__rater_new(m->in, m->outlook, &m->arena, &m->rater, m->f, m->err);
    if (code) return code;
    fewer_paths(m);
    code = cut_days(m);
    if (!code) code = take_columns(m);
    if (!code && m->in->singles)
        code = tb__singles(m->in->history, m->ahead.n, m->f->bytes_so_far, m->f, m->err);
    if (!code) code = run_paths(m);
    if (!code) sort_out(m);
    if (!code) count_over(m);
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
