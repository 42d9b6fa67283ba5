/* bill.h, meters: each rule by hand. The month is October 2026: 744 hours, 2,678,400 seconds. */
#include "tollbook/bill.h"

#include "tollbook/calendar.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MONTH   681 /* October 2026 */
#define SECONDS INT64_C(2678400)
#define GB      ((tb_i128)1000000000)

static const tb_meter meters[] = {
    {.id = "port", .name = "Transit", .kind = TB_METER_SAMPLE, .unit = "byte", .display_per = 1, .interval = 300,
     .noun = "port", .unece = "C62"},
    {.id = "requests", .name = "Script requests", .kind = TB_METER_COUNTER, .unit = "request", .display_per = 1,
     .noun = "script", .n_dimensions = 1, .dimension = {"region"}, .unece = "C62"},
    {.id = "storage", .name = "Storage", .kind = TB_METER_GAUGE, .unit = "byte", .display_unit = "GB",
     .display_per = 1000000000, .noun = "zone", .n_dimensions = 2, .dimension = {"region", "class"}, .unece = "C62"},
};
enum { PORT, REQUESTS, STORAGE };

static tb_bill_input in;
static tb_bill_part parts[4];
static tb_bill_usage usage[32];
static tb_bill_samples samples[8];
static tb_bill bill;

static tb_decimal dec(const char *text)
{
    tb_decimal value;
    ck_assert_int_eq(tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, NULL), TB_OK);
    return value;
}

static void begin(void)
{
    in = (tb_bill_input){.account = 1, .month = MONTH, .currency = "USD", .running = true, .parts = parts,
                         .meters = meters, .n_meters = 3, .usage = usage, .samples = samples};
    bill = (tb_bill){.lines = NULL};
}

static void part(const tb_book *book, int until_hour)
{
    const int64_t first = tb_month_first_day(MONTH) * TB_US_PER_DAY;
    const size_t n = in.n_parts++;
    parts[n] = (tb_bill_part){book, n ? parts[n - 1].to_us : first, first + until_hour * TB_US_PER_HOUR};
}

static void use(uint32_t meter, const char *resource, const char *region, const char *class, uint32_t at, tb_i128 quantity)
{
    usage[in.n_usage++] = (tb_bill_usage){.meter = meter, .part = at, .resource = resource,
                                          .dimension = {region, class}, .quantity = quantity,
                                          .evidence = {.from_us = parts[at].from_us, .to_us = parts[at].to_us}};
}

static void put(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
    tb_buf_str(out, " ");
}

/* Each line, then its rows: "part: units x price = amount". */
static void bill_is(const char *wanted)
{
    tb_buf out;
    tb_error err = {0};
    tb_bill_release(&bill);
    ck_assert_msg(tb_bill_rate(&in, NULL, &bill, &err) == TB_OK, "%s: %s", err.field, err.message);
    tb_buf_init(&out, 65536, NULL);
    for (size_t i = 0; i < bill.n_lines; i++) {
        const tb_bill_line *line = &bill.lines[i];
        tb_buf_fmt(&out, "%s %s %s ", tb_line_kind_name(line->kind), line->resource, line->region[0] ? line->region : "-");
        put(&out, tb_decimal_from_int(line->quantity));
        put(&out, line->exact);
        put(&out, line->amount);
        if (line->item && line->item->per) tb_buf_fmt(&out, "per %s ", line->item->per_unit);
        tb_buf_str(&out, "\n");
        for (size_t k = 0; k < line->n_tiers; k++) {
            const tb_bill_tier *t = &line->tiers[k];
            tb_buf_fmt(&out, " %u: ", t->part);
            put(&out, tb_decimal_from_int(t->units));
            tb_buf_str(&out, "x ");
            put(&out, t->price);
            tb_buf_str(&out, "= ");
            put(&out, t->amount);
            out.data[out.len - 1] = '\n';
        }
    }
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, wanted);
    tb_buf_release(&out);
    tb_bill_release(&bill);
}

START_TEST(a_gauge_by_region_is_a_fraction_rounded_once)
{
    tb_rate_tier here = {.open = true, .price = dec("0.01")}, rest = {.open = true, .price = dec("0.02")};
    tb_rate rates[] = {{.value = "*", .n = 1, .tier = &rest}, {.value = "DE", .n = 1, .tier = &here}};
    tb_meter_rate rate = {.meter = "storage", .per = "GB", .time = TB_RATE_MONTH, .by = "region", .n = 2, .rate = rates};
    const tb_book book = {.id = "b", .currency = "USD", .minor_digits = 2, .meters = &rate, .n_meters = 1};
    part(&book, 744);
    use(STORAGE, "z1", "DE", "hot", 0, 50 * GB * SECONDS);
    use(STORAGE, "z2", "BR", "hot", 0, 7);
    use(STORAGE, "z2", "DE", "hot", 0, 1);
    use(STORAGE, "z2", "US", "hot", 0, 100 * GB * 3600);
    /* 7 x 0.02 / (10^9 x 2,678,400) = 5.2 x 10^-17; 0.01 / (10^9 x 2,678,400) = 3.7 x 10^-18;
     * 360,000 x 0.02 / 2,678,400 = 0.0026881720430107526881... */
    bill_is("meter meter:storage BR 7 0.000000000000000052 0 per GB-month \n"
            " 0: 7 x 0.02 = 0.000000000000000052\n"
            "meter meter:storage DE 133920000000000001 0.500000000000000004 0.5 per GB-month \n"
            " 0: 133920000000000001 x 0.01 = 0.500000000000000004\n"
            "meter meter:storage US 360000000000000 0.002688172043010753 0 per GB-month \n"
            " 0: 360000000000000 x 0.02 = 0.002688172043010753\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bill_meters");
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, begin, NULL);
    tcase_add_test(rules, a_gauge_by_region_is_a_fraction_rounded_once);
    suite_add_tcase(suite, rules);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
