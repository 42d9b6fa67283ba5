/* The answer of GET /metrics/account. Tables say which families there are and of which counters each sample is made.
 *
 * All figures are gauges of the running month. They are no counters, because they fall: to zero when a month begins, and
 * when an operator withdraws a log or changes a price. docs/watching.md says how to take a rate of them. */
#include "tollbook/statistics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "stats/ratio.h"
#include "tollbook/accountforecast.h"
#include "tollbook/calendar.h"
#include "tollbook/monthbill.h"

#define PREFIX    "tollbook_account_"
#define NAMES_MAX ((size_t)4 << 20) /* bytes of the names of all zones that are listed */

typedef struct writing {
    tb_store *store;
    const tb_account_metrics_query *query;
    tb_buf *out;
    tb_error *err;
} writing;

/* --- traffic --- */

typedef enum shape {
    SUM,     /* of the counter */
    LOOKUPS, /* requests whose cache status is known */
    HITS     /* of these, those that were served from cache */
} shape;

/* A sample of each zone and each region. Rows of one family stand together. */
typedef struct figure {
    tb_metric_family family;
    shape shape;
    tb_metric metric;
    const char *label; /* beside the zone or region; "": none */
} figure;

#define GAUGE(of, name, unit, help) {PREFIX of "_month_" name, "gauge", unit, help " since the month began, by " of "."}
#define FIGURES(of)                                                                                                       \
    {GAUGE(of, "requests", "", "Requests answered"), SUM, TB_M_REQUESTS, ""},                                             \
    {GAUGE(of, "cache_lookups", "", "Requests with a known cache status"), LOOKUPS, TB_M_REQUESTS, ""},                 \
    {GAUGE(of, "cache_hits", "", "Requests served from cache"), HITS, TB_M_REQUESTS, ""},                                 \
    {GAUGE(of, "errors", "", "Answers of class 4xx and 5xx"), SUM, TB_M_STATUS_4XX, "status=\"4xx\""},                    \
    {GAUGE(of, "errors", "", "Answers of class 4xx and 5xx"), SUM, TB_M_STATUS_5XX, "status=\"5xx\""},                    \
    {GAUGE(of, "sent_bytes", "bytes", "Bytes sent to clients"), SUM, TB_M_BYTES, ""},                                     \
    {GAUGE(of, "cached_bytes", "bytes", "Bytes of answers served from cache"), SUM, TB_M_CACHED_BYTES, ""},               \
    {GAUGE(of, "origin_bytes", "bytes", "Bytes received from origins"), SUM, TB_M_ORIGIN_BYTES, ""}

static const figure zone_figures[] = {FIGURES("zone")}, region_figures[] = {FIGURES("region")};
#define N_FIGURES (sizeof zone_figures / sizeof *zone_figures)

static uint32_t figure_metrics(void)
{
    uint32_t metrics = TB_METRIC_BIT(TB_M_PULLED) | TB_METRIC_BIT(TB_M_CACHE_UNKNOWN);
    for (size_t i = 0; i < N_FIGURES; i++)
        metrics |= TB_METRIC_BIT(zone_figures[i].metric);
    return metrics;
}

static tb_u128 value_of(const figure *f, const tb_u128 sum[TB_METRIC_COUNT])
{
    const tb_u128 known = tb__cache_known(sum[TB_M_REQUESTS], sum[TB_M_CACHE_UNKNOWN]);
    if (f->shape == SUM) return sum[f->metric];
    if (f->shape == LOOKUPS) return known;
    return known > sum[TB_M_PULLED] ? known - sum[TB_M_PULLED] : 0;
}

/* A zone or a region. */
typedef struct row {
    const char *id, *name;
    tb_u128 sum[TB_METRIC_COUNT];
} row;

static void put_info(const writing *w, const char *label, const char *metric, const char *help, const row *rows, size_t n)
{
    tb_metric_head(w->out, w->query->form, &(tb_metric_family){metric, "info", "", help});
    for (size_t i = 0; i < n; i++) {
        tb_buf_fmt(w->out, "%s{", metric);
        tb_metric_label(w->out, label, rows[i].id, strlen(rows[i].id));
        tb_buf_str(w->out, ",");
        tb_metric_label(w->out, "name", rows[i].name, strlen(rows[i].name));
        tb_buf_str(w->out, "} 1\n");
    }
}

static void put_figures(const writing *w, const char *label, const figure *figures, const row *rows, size_t n)
{
    char text[TB_U128_TEXT_MAX + 1];
    for (const figure *f = figures; f < figures + N_FIGURES; f++) {
        if (f == figures || strcmp(f->family.name, f[-1].family.name) != 0)
            tb_metric_head(w->out, w->query->form, &f->family);
        for (size_t i = 0; i < n; i++) {
            tb_buf_fmt(w->out, "%s{", f->family.name);
            tb_metric_label(w->out, label, rows[i].id, strlen(rows[i].id));
            *tb_put_u128(text, value_of(f, rows[i].sum)) = 0;
            tb_buf_fmt(w->out, "%s%s} %s\n", *f->label ? "," : "", f->label, text);
        }
    }
}

/* Days of the running month, up to and with today. */
static tb_range month_days(int64_t now_us)
{
    const int64_t first = tb_month_first_day(tb_month_from_us(now_us));
    return (tb_range){first, (uint32_t)(tb_day_from_us(now_us) - first + 1), false};
}

static tb_code put_regions(const writing *w, const tb_scope *scope, tb_range days)
{
    tb_region_summed *list = NULL;
    size_t n = 0;
    tb_code code = tb_store_scope_regions(w->store, scope, days, figure_metrics(), &list, &n, w->err);
    if (code) return code;
    row *rows = calloc(n + 1, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++) {
        rows[i] = (row){.id = list[i].code, .name = list[i].name};
        memcpy(rows[i].sum, list[i].of.sum, sizeof rows[i].sum);
    }
    if (!rows) code = tb_no_memory(w->err);
    else {
        put_info(w, "region", PREFIX "region_info", "The name of a region.", rows, n);
        put_figures(w, "region", region_figures, rows, n);
    }
    free(rows);
    free(list);
    return code;
}

/* --- zones --- */

#define ID_TEXT 24

typedef struct zone_list {
    tb_zone_sums sums;
    uint32_t *order; /* of the zones that are listed, ascending by id */
    size_t n;
    tb_buf names;
    char (*ids)[ID_TEXT];
    row *rows;
} zone_list;

typedef struct ranked {
    tb_u128 bytes;
    uint32_t at;
} ranked;

static int by_bytes(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Spreads a zone's sums, which are those of the metrics that were asked for. */
static void take_sums(const zone_list *z, size_t at, tb_u128 sum[TB_METRIC_COUNT])
{
    const uint32_t metrics = figure_metrics();
    const tb_u128 *from = z->sums.sums + at * (size_t)__builtin_popcount(metrics);
    for (uint32_t left = metrics; left; left &= left - 1)
        sum[__builtin_ctz(left)] = *from++;
}

/* Those with the most bytes, where there are more than are listed. */
static tb_code choose_zones(zone_list *z, tb_error *err)
{
    const size_t all = z->sums.n;
    ranked *rank = calloc(all + 1, sizeof *rank);
    z->n = all < TB_ACCOUNT_METRICS_ZONES ? all : TB_ACCOUNT_METRICS_ZONES;
    z->order = calloc(z->n + 1, sizeof *z->order);
    if (!rank || !z->order) {
        free(rank);
        return tb_no_memory(err);
    }
    for (size_t i = 0; i < all; i++) {
        tb_u128 sum[TB_METRIC_COUNT];
        take_sums(z, i, sum);
        rank[i] = (ranked){sum[TB_M_BYTES], (uint32_t)i};
    }
    if (z->n < all) qsort(rank, all, sizeof *rank, by_bytes);
    for (size_t i = 0; i < z->n; i++)
        z->order[i] = rank[i].at;
    if (z->n < all) qsort(z->order, z->n, sizeof *z->order, by_place);
    free(rank);
    return TB_OK;
}

static tb_code fill_rows(const writing *w, zone_list *z)
{
    int64_t *numbers = calloc(z->n + 1, sizeof *numbers);
    z->rows = calloc(z->n + 1, sizeof *z->rows);
    z->ids = calloc(z->n + 1, sizeof *z->ids);
    tb_code code = numbers && z->rows && z->ids ? TB_OK : tb_no_memory(w->err);
    for (size_t i = 0; !code && i < z->n; i++)
        numbers[i] = z->sums.zones[z->order[i]].id;
    if (!code) code = tb_store_zone_names(w->store, &(tb_zone_ids){numbers, z->n}, &z->names, w->err);
    if (!code) code = tb_buf_check(&z->names, w->err);
    const char *name = z->names.data;
    for (size_t i = 0; !code && i < z->n; i++) {
        *tb_put_u64(z->ids[i], (uint64_t)numbers[i]) = 0;
        z->rows[i].id = z->ids[i];
        z->rows[i].name = name;
        take_sums(z, z->order[i], z->rows[i].sum);
        name += strlen(name) + 1;
    }
    free(numbers);
    return code;
}

static void put_plain_gauge(const writing *w, const tb_metric_family *family, uint64_t value)
{
    tb_metric_head(w->out, w->query->form, family);
    tb_buf_fmt(w->out, "%s %" PRIu64 "\n", family->name, value);
}

static tb_code put_zones(const writing *w, const tb_scope *scope, tb_range days)
{
    static const tb_metric_family all = {PREFIX "zones", "gauge", "", "Pull zones that are there, or had traffic this month."},
                                  left = {PREFIX "zones_left_out", "gauge", "",
                                          "Pull zones that are not listed, because others sent more bytes this month."};
    const tb_zone_question question = {.scope = *scope, .range = days, .metrics = figure_metrics(), .shown = figure_metrics()};
    zone_list z = {.n = 0};
    tb_buf_init(&z.names, NAMES_MAX, NULL);
    tb_code code = tb_store_zone_sums(w->store, &question, &z.sums, w->err);
    if (!code) code = choose_zones(&z, w->err);
    if (!code) code = fill_rows(w, &z);
    if (!code) {
        put_plain_gauge(w, &all, z.sums.n);
        put_plain_gauge(w, &left, z.sums.n - z.n);
        put_info(w, "zone", PREFIX "zone_info", "The name of a pull zone.", z.rows, z.n);
        put_figures(w, "zone", zone_figures, z.rows, z.n);
    }
    free(z.rows);
    free(z.ids);
    free(z.order);
    tb_buf_release(&z.names);
    tb_zone_sums_release(&z.sums);
    return code;
}

static tb_code put_traffic(const writing *w)
{
    const tb_scope scope = {.account = w->query->account, .zone = TB_ALL};
    const tb_range days = month_days(w->query->now_us);
    tb_code code = put_zones(w, &scope, days);
    return code ? code : put_regions(w, &scope, days);
}

/* --- money --- */

static void put_amount(const writing *w, const tb_metric_family *family, const char *currency, const char *end)
{
    tb_buf_fmt(w->out, "%s{currency=\"%s\"} %s\n", family->name, currency, end);
}

static void put_decimal(const writing *w, const tb_metric_family *family, const tb_account_money *money, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put_fixed(text, value, money->minor_digits) = 0;
    tb_metric_head(w->out, w->query->form, family);
    put_amount(w, family, money->currency, text);
}

static tb_code put_charges(const writing *w, tb_account_money *money)
{
    static const tb_metric_family net = {PREFIX "month_charges", "gauge", "", "Charges since the month began, without tax, exact."},
                                  gross = {PREFIX "month_charges_with_tax", "gauge", "",
                                           "Charges since the month began, with tax, rounded as the invoice is."},
                                  complete = {PREFIX "charges_complete", "gauge", "",
                                              "1; 0 while some usage has no price and is not in the charges."};
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_code code = tb_account_money_read(w->store, w->query->account, w->query->now_us, money, w->err);
    if (code) return code;
    *tb_sum_put(text, money->net) = 0;
    tb_metric_head(w->out, w->query->form, &net);
    put_amount(w, &net, money->currency, text);
    put_decimal(w, &gross, money, money->total);
    put_plain_gauge(w, &complete, money->complete);
    return TB_OK;
}

static tb_code put_balance(const writing *w, const tb_account_money *money)
{
    static const tb_metric_family balance = {PREFIX "balance", "gauge", "", "The ledger's balance; below zero: owed."},
                                  available = {PREFIX "available_balance", "gauge", "",
                                               "What a prepaid balance leaves once the month so far is paid."},
                                  open = {PREFIX "open_amount", "gauge", "", "What remains to be paid of invoices and debits."},
                                  overdue = {PREFIX "overdue_amount", "gauge", "", "The part of it that is past its due day."};
    const tb_ops ops = {.store = w->store, .now_us = w->query->now_us};
    tb_decimal owed, late;
    tb_code code = tb__account_owes(&ops, w->query->account, &owed, &late, w->err);
    if (code) return code;
    put_decimal(w, &balance, money, money->balance);
    if (money->prepaid) put_decimal(w, &available, money, money->available);
    put_decimal(w, &open, money, owed);
    put_decimal(w, &overdue, money, late);
    return TB_OK;
}

static void put_spread(const writing *w, const tb_metric_family *family, const tb_forecast *f, const tb_forecast_spread *of)
{
    const struct {
        const char *percentile;
        tb_i128 mantissa;
    } rows[] = {{"5", of->p5}, {"50", of->p50}, {"95", of->p95}};
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_metric_head(w->out, w->query->form, family);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *tb_decimal_put_fixed(text, (tb_decimal){rows[i].mantissa, f->minor_digits}, f->minor_digits) = 0;
        tb_buf_fmt(w->out, "%s{currency=\"%s\",percentile=\"%s\"} %s\n", family->name, f->currency, rows[i].percentile, text);
    }
}

/* Only days that lie within the forecast. */
static void put_lasts(const writing *w, const tb_forecast *f)
{
    static const tb_metric_family family = {PREFIX "balance_end_timestamp_seconds", "gauge", "seconds",
                                            "When the prepaid balance is used up; absent: not within the forecast."};
    const struct {
        const char *percentile;
        int64_t day;
    } rows[] = {{"5", f->lasts_p5}, {"50", f->lasts_p50}, {"95", f->lasts_p95}};
    if (!f->has_lasts) return;
    tb_metric_head(w->out, w->query->form, &family);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].day != INT64_MAX)
            tb_buf_fmt(w->out, "%s{percentile=\"%s\"} %" PRId64 "\n", family.name, rows[i].percentile,
                       rows[i].day * (TB_US_PER_DAY / TB_US_PER_S));
}

tb_code tb_account_forecast_metrics(tb_store *store, const tb_account_metrics_query *query, tb_buf *out, tb_error *err)
{
    static const tb_metric_family net = {PREFIX "forecast_charges", "gauge", "",
                                         "Charges forecast for the whole month, without tax, by percentile."},
                                  gross = {PREFIX "forecast_charges_with_tax", "gauge", "",
                                           "Charges forecast for the whole month, with tax, by percentile."};
    const writing w = {store, query, out, err};
    const tb_forecast_question question = {.account = query->account, .at_us = query->now_us, .seed = TB_FORECAST_SEED,
                                           .paths = TB_FORECAST_PATHS};
    tb_forecast f;
    tb_code code = tb_running_forecast(store, &question, &f, err);
    if (code) return code;
    put_spread(&w, &net, &f, &f.net);
    put_spread(&w, &gross, &f, &f.gross);
    put_lasts(&w, &f);
    return tb_buf_check(out, err);
}

static tb_code put_money(const writing *w)
{
    tb_account_money money;
    tb_code code = put_charges(w, &money);
    if (!code) code = put_balance(w, &money);
    if (code || !w->query->forecast.data) return code ? code : tb_account_forecast_metrics(w->store, w->query, w->out, w->err);
    tb_buf_add(w->out, w->query->forecast.data, w->query->forecast.len);
    return TB_OK;
}

/* --- the answer --- */

static tb_code put_identity(const writing *w)
{
    static const tb_metric_family info = {PREFIX "info", "info", "", "The account."},
                                  start = {PREFIX "month_start_timestamp_seconds", "gauge", "seconds",
                                           "The first moment of the month that the figures are of."};
    char id[ID_TEXT];
    tb_buf name;
    tb_buf_init(&name, NAMES_MAX, NULL);
    tb_code code = tb_store_need_account(w->store, w->query->account, w->err);
    if (!code) code = tb_store_account_name(w->store, w->query->account, &name, w->err);
    if (!code) {
        *tb_put_u64(id, (uint64_t)w->query->account) = 0;
        tb_metric_head(w->out, w->query->form, &info);
        tb_buf_fmt(w->out, "%s{account=\"%s\",", info.name, id);
        tb_metric_label(w->out, "name", name.data ? name.data : "", name.len);
        tb_buf_str(w->out, "} 1\n");
        put_plain_gauge(w, &start, (uint64_t)(tb_month_start_us(tb_month_from_us(w->query->now_us)) / TB_US_PER_S));
    }
    tb_buf_release(&name);
    return code;
}

tb_code tb_account_metrics(tb_store *store, const tb_account_metrics_query *query, tb_buf *out, tb_error *err)
{
    const writing w = {store, query, out, err};
    tb_code code = put_identity(&w);
    if (!code && query->traffic) code = put_traffic(&w);
    if (!code && query->money) code = put_money(&w);
    if (query->form == TB_METRICS_OPEN) tb_buf_str(out, "# EOF\n");
    return code ? code : tb_buf_check(out, err);
}
