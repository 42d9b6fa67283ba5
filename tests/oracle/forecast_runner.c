/* Forecasts of made-up months, for test_forecast.py.
 *
 *   forecast_runner json N         N forecasts as JSON, a line each
 *   forecast_runner series N SEED  reads lines "FIRST_DAY KNOWN AHEAD day day ...", prints p5, p50
 * and p95 of N paths of the sum of the days ahead, a line each forecast_runner paths N SEED   one
 * month's rater: its book, then N paths, a line each: PREMIUM_EU VOLUME_EU VOLUME_NA OVERRIDE_EU
 * REQUESTS, what comes of each to part 0 and to part 1, then net and gross in cents; then "spread"
 * with mean, p5, p50, p95 of net */
#include "advice/model.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MONTH     681   /* October 2026 */
#define FIRST_DAY 20727 /* 2026-10-01 */
#define MOST      TB_FORECAST_DAYS

static const char *const texts[] = {
    "{\"book\":\"one\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"20\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.01\"}},\"volume\":{\"per\":\"GB\",\"tiers\":["
    "{\"from\":\"0\",\"to\":\"1000\",\"price\":\"0.005\"},"
    "{\"from\":\"1000\",\"to\":null,\"price\":\"0.003\"}]}},"
    "\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\","
    "\"tiers\":[{\"from_millions\":0,\"to_millions\":3,\"price_per_million\":\"0.65\"},"
    "{\"from_millions\":3,\"to_millions\":null,\"price_per_million\":\"0.35\"}]}}",
    "{\"book\":\"two\",\"currency\":\"USD\",\"effective_from\":\"2026-10-21T00:00:00Z\","
    "\"minimum_monthly\":\"20\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.02\"}},\"volume\":{\"per\":\"GB\",\"tiers\":["
    "{\"from\":\"0\",\"to\":\"1000\",\"price\":\"0.006\"},"
    "{\"from\":\"1000\",\"to\":null,\"price\":\"0.002\"}]}},"
    "\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\","
    "\"tiers\":[{\"from_millions\":0,\"to_millions\":3,\"price_per_million\":\"0.65\"},"
    "{\"from_millions\":3,\"to_millions\":null,\"price_per_million\":\"0.35\"}]}}"};

static tb_book books[2];
static tb_bill_part parts[2];
static uint64_t columns[TB_USAGE_COLUMNS][MOST];
static tb_balancer_recent recents[2] = {{7, 300}, {8, 100}};
static tb_bill_balancer balancers[4];
static tb_bill_bytes bytes[3];
static tb_usage_history history;
static tb_bill_input month;

static uint64_t state;

static uint64_t below(uint64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % n;
}

static void must(tb_code code, const tb_error *err)
{
    if (!code) return;
    fprintf(stderr, "forecast_runner: %s\n", err->message);
    exit(1);
}

static void make_month(void)
{
    tb_error err;
    int64_t from = FIRST_DAY * TB_US_PER_DAY, to = (FIRST_DAY + 31) * TB_US_PER_DAY;
    for (int i = 0; i < 2; i++)
        must(tb_book_parse(texts[i], strlen(texts[i]), NULL, &books[i], &err), &err);
    parts[0] = (tb_bill_part){&books[0], from, books[1].effective_us};
    parts[1] = (tb_bill_part){&books[1], books[1].effective_us, to};
    for (int i = 0; i < 4; i++)
        balancers[i] = (tb_bill_balancer){.balancer = 7 + i / 2,
                                          .part = (uint32_t)i % 2,
                                          .seconds = (i % 2 ? 11 : 20) * 86400,
                                          .requests = i % 2 ? 0 : 400000 + i};
    bytes[0] = (tb_bill_bytes){.zone = 3, .priced = true, .discount = 20, .bytes = 123456789012};
    bytes[1] = (tb_bill_bytes){
        .zone = 4, .charge = TB_CHARGE_VOLUME, .priced = true, .bytes = 77777777777};
    bytes[2] = (tb_bill_bytes){.zone = 5,
                               .charge = TB_CHARGE_OVERRIDE,
                               .priced = true,
                               .override_price = {4, 12},
                               .bytes = 55555555555};
    month = (tb_bill_input){.account = 1,
                            .month = MONTH,
                            .currency = "USD",
                            .active_zone = true,
                            .parts = parts,
                            .n_parts = 2,
                            .bytes = bytes,
                            .n_bytes = 3,
                            .balancers = balancers,
                            .n_balancers = 4,
                            .tax = {{.name = "VAT", .percent = {19, 0}}},
                            .n_tax = 1};
    history = (tb_usage_history){.balancers = recents, .n_balancers = 2};
    history.premium[TB_REGION_EU][0] = 300;
    history.premium[TB_REGION_EU][20] = 100;
    history.override_bytes[TB_REGION_EU] = 1000;
    history.override_cost[TB_REGION_EU] = (tb_decimal){5, 9};
}

static void know(size_t n)
{
    history.n_days = n;
    history.first_day = FIRST_DAY + 10 - (int64_t)n;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++)
        history.column[c] = columns[c] + MOST - n;
}

static void print_json(int rounds)
{
    tb_error err;
    tb_forecast f;
    tb_forecast_input input = {.month = &month,
                               .history = &history,
                               .paths = 300,
                               .from_us = (FIRST_DAY + 10) * TB_US_PER_DAY + 7 * TB_US_PER_HOUR};
    for (int i = 0; i < rounds; i++) {
        static const int used[] = {0, 5, 6, 10, TB_USAGE_REQUESTS};
        tb_buf out;
        state = (uint64_t)i;
        for (size_t c = 0; c < sizeof used / sizeof *used; c++)
            for (int t = 0; t < MOST; t++)
                columns[used[c]][t] = below(3) ? 1000000000 * (10 + (uint64_t)t % 7) +
                                                     below(1000000000) * (1 + below(9))
                                               : below(UINT64_C(1) << below(40));
        know(i % 3 ? MOST : 20 + (size_t)i);
        input.seed = (uint64_t)i;
        must(tb_forecast_make(&input, NULL, &f, &err), &err);
        tb_buf_init(&out, 1 << 16, NULL);
        must(tb_forecast_json(&f, &out, &err), &err);
        printf("%.*s\n", (int)out.len, out.data);
        tb_buf_release(&out);
    }
}

static void print_number(tb_i128 value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(value)) = 0;
    printf("%s ", text);
}

static void print_paths(size_t rounds, uint64_t seed)
{
    static const int used[] = {0, 5, 6, 10, TB_USAGE_REQUESTS};
    tb_error err;
    tb__arena arena;
    static const tb__outlook outlook[TB_USAGE_COLUMNS]; /* something comes everywhere */
    tb__rater *rater = NULL;
    tb_forecast f = {.account = 1};
    tb_i128 *net = calloc(rounds, sizeof *net), gross;
    tb_forecast_input input = {.month = &month,
                               .history = &history,
                               .from_us = (FIRST_DAY + 10) * TB_US_PER_DAY,
                               .rounding = {-3, 2}};
    state = seed;
    tb__arena_init(&arena, NULL);
    must(tb__rater_new(&input, outlook, &arena, &rater, &f, &err), &err);
    for (size_t i = 0; net && i < rounds; i++) {
        tb_i128 more[2 * TB_USAGE_COLUMNS] = {0};
        for (int p = 0; p < 2; p++)
            for (int c = 0; c < 5; c++) {
                tb_i128 *to = &more[p * TB_USAGE_COLUMNS + used[c]];
                *to = (tb_i128)(below(1u << 31) * (c == 4 ? 1 : below(4000)) >> below(9));
                print_number(*to);
            }
        must(tb__rater_rate(rater, more, &net[i], &gross, &err), &err);
        print_number(net[i]);
        print_number(gross);
        putchar('\n');
    }
    if (!net) exit(1);
    tb_forecast_spread s = tb__spread(net, rounds);
    printf("spread ");
    print_number(s.mean);
    print_number(s.p5);
    print_number(s.p50);
    print_number(s.p95);
    putchar('\n');
    tb__rater_release(rater);
    tb__arena_release(&arena);
    free(net);
}

static void draw_series(size_t paths, uint64_t seed)
{
    tb_error err;
    long first, known, n;
    static uint64_t days[4096];
    tb_i128 *sum = calloc(paths, sizeof *sum);
    while (sum && scanf("%ld %ld %ld", &first, &known, &n) == 3) {
        tb__arena arena;
        tb__outlook outlook;
        tb__draw draw;
        int64_t path[TB_FORECAST_AHEAD_MAX];
        tb__ahead ahead = {.first_day = first, .n = (size_t)n};
        if (known > 4096) exit(1);
        for (long t = 0; t < known; t++)
            if (scanf("%" SCNu64, &days[t]) != 1) exit(1);
        for (long d = 0; d < n; d++)
            ahead.share_us[d] = TB_US_PER_DAY;
        tb__arena_init(&arena, NULL);
        must(tb__outlook_make(days, (size_t)known, &ahead, &arena, &outlook, &err), &err);
        tb__random random;
        tb__random_seed(&random, (uint32_t)seed);
        for (size_t i = 0; i < paths; i++) {
            tb__draw_path(&random, &draw);
            tb__outlook_path(&outlook, &ahead, &draw, path);
            sum[i] = 0;
            for (long d = 0; d < n; d++)
                sum[i] += path[d];
        }
        tb_forecast_spread s = tb__spread(sum, paths);
        print_number(s.p5);
        print_number(s.p50);
        print_number(s.p95);
        putchar('\n');
        tb__arena_release(&arena);
    }
    free(sum);
}

int main(int argc, char **argv)
{
    tb_advice_start();
    make_month();
    if (argc == 3 && strcmp(argv[1], "json") == 0)
        print_json((int)strtol(argv[2], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "series") == 0)
        draw_series((size_t)strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "paths") == 0)
        print_paths((size_t)strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    else
        return 2;
    for (int i = 0; i < 2; i++)
        tb_book_release(&books[i]);
    return 0;
}
