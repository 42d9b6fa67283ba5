/* bill.h, meters: each rule by hand. The month is October 2026: 744 hours, 2,678,400 seconds. */
#include "tollbook/bill.h"

#include "tollbook/calendar.h"

#include <check.h>
#include <stdio.h>
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
static tb_book books[4];
static size_t n_books;
static tb_bill_part parts[4];
static tb_bill_usage usage[32];
static tb_bill_samples samples[8];
static uint64_t values[4][8928];
static tb_bill bill;

static void begin(void)
{
    in = (tb_bill_input){.account = 1, .month = MONTH, .currency = "USD", .running = true, .parts = parts,
                         .meters = meters, .n_meters = 3, .usage = usage, .samples = samples};
    bill = (tb_bill){.lines = NULL};
    n_books = 0;
    memset(values, 0, sizeof values);
}

static void end(void)
{
    while (n_books)
        tb_book_release(&books[--n_books]);
}

/* Adds a part that ends at that hour of the month; text: the members of its book behind the currency, NULL: no book.
 * Quotes are written as apostrophes. */
static void part(const char *text, int until_hour)
{
    const int64_t first = tb_month_first_day(MONTH) * TB_US_PER_DAY;
    const size_t n = in.n_parts++;
    char document[2048];
    tb_error err = {0};
    parts[n] = (tb_bill_part){NULL, n ? parts[n - 1].to_us : first, first + until_hour * TB_US_PER_HOUR};
    if (!text) return;
    snprintf(document, sizeof document,
             "{'book':'b%zu','currency':'USD','effective_from':'2026-01-01T00:00:00Z',%s}", n_books, text);
    for (char *c = document; *c; c++)
        if (*c == '\'') *c = '"';
    ck_assert_msg(!tb_book_parse(document, strlen(document), NULL, &books[n_books], &err), "%s: %s", err.field,
                  err.message);
    parts[n].book = &books[n_books++];
}

static void use(uint32_t meter, const char *resource, const char *region, const char *class, uint32_t at, tb_i128 quantity)
{
    usage[in.n_usage++] = (tb_bill_usage){.meter = meter, .part = at, .resource = resource,
                                          .dimension = {region, class}, .quantity = quantity,
                                          .evidence = {.from_us = parts[at].from_us, .to_us = parts[at].to_us}};
}

/* A port with these sums in the first n intervals of the month. */
static uint64_t *port(const char *resource, uint64_t present)
{
    const size_t n = in.n_samples++;
    samples[n] = (tb_bill_samples){.meter = PORT, .resource = resource, .dimension = {"", ""}, .value = values[n],
                                   .n = 8928, .interval = 300, .present = present};
    return values[n];
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
    if (in.n_parts && parts[in.n_parts - 1].to_us != tb_month_first_day(MONTH + 1) * TB_US_PER_DAY)
        ck_abort_msg("The parts do not cover the month.");
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

static void unpriced_are(const char *wanted)
{
    tb_buf out;
    tb_error err = {0};
    ck_assert_msg(tb_bill_rate(&in, NULL, &bill, &err) == TB_OK, "%s: %s", err.field, err.message);
    tb_buf_init(&out, 65536, NULL);
    for (size_t i = 0; i < bill.n_unpriced; i++) {
        const tb_unpriced *u = &bill.unpriced[i];
        tb_buf_fmt(&out, "%s %s ", u->resource, u->what);
        put(&out, tb_decimal_from_int(u->quantity));
        tb_buf_fmt(&out, "%s: %s\n", u->unit, u->reason);
    }
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, wanted);
    tb_buf_release(&out);
    tb_bill_release(&bill);
}

static void refused(tb_code code, const char *message)
{
    tb_error err = {0};
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &bill, &err), code);
    ck_assert_str_eq(err.message, message);
}

#define STORAGE_BY_REGION                                                                                              \
    "'meters':{'storage':{'per':'GB','time':'month','by':'region','prices':{'DE':{'price':'0.01'},'*':{'price':'0.02'}}}}"

START_TEST(a_gauge_by_region_is_a_fraction_rounded_once)
{
    part(STORAGE_BY_REGION, 744);
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

/* 0.2 of a GB-hour in three rows: a third of 0.01 each would be 0.00(3) x 3; the last has the rest. */
START_TEST(the_last_row_takes_the_rest_of_a_fraction)
{
    static const char rate[] = "'meters':{'storage':{'per':'3','time':'hour','price':'%s'}}";
    char text[3][128];
    static const char *const prices[] = {"1", "2", "1"};
    for (int i = 0; i < 3; i++) {
        snprintf(text[i], sizeof text[i], rate, prices[i]);
        part(text[i], i == 2 ? 744 : 24 * (i + 1));
    }
    for (uint32_t i = 0; i < 3; i++)
        use(STORAGE, "z", "", "", i, 3600);
    bill_is("meter meter:storage - 10800 1.333333333333333333 1.33 per  \n"
            " 0: 3600 x 1 = 0.333333333333333333\n"
            " 1: 3600 x 2 = 0.666666666666666667\n"
            " 2: 3600 x 1 = 0.333333333333333333\n");
}
END_TEST

/* Tiers count in millions; parts keep their positions, and a price for each thousand is one for a million in the rows. */
START_TEST(a_counter_keeps_its_position_across_books)
{
    part("'meters':{'requests':{'per':'1000000','included':'1','included_axis':'net','tiers':["
         "{'from':'0','to':'2','price':'0.20'},{'from':'2','to':null,'price':'0.10','flat':'5'}]}}",
         24);
    part("'meters':{'requests':{'per':'1000','tiers':[{'from':'0','to':'4000','price':'0.0003'},"
         "{'from':'4000','to':null,'price':'0.0001'}]}}",
         744);
    use(REQUESTS, "a", "DE", "", 0, 1500000);
    use(REQUESTS, "a", "DE", "", 1, 2000000);
    use(REQUESTS, "b", "US", "", 0, 500000);
    use(REQUESTS, "b", "US", "", 1, 1000000);
    /* 1 free, 1 x 0.20; then 2 x 0.30 up to 4 and 1 x 0.10 above it. */
    bill_is("meter meter:requests - 5000000 0.9 0.9 per  \n"
            " 0: 1000000 x 0 = 0\n"
            " 0: 1000000 x 0.2 = 0.2\n"
            " 1: 2000000 x 0.3 = 0.6\n"
            " 1: 1000000 x 0.1 = 0.1\n");
}
END_TEST

START_TEST(each_resource_has_tiers_of_its_own)
{
    part("'meters':{'requests':{'per':'request','scope':'resource','mode':'package','block':'10','tiers':["
         "{'from':'0','to':null,'price_per_block':'1'}]}}",
         744);
    use(REQUESTS, "a", "DE", "", 0, 11);
    use(REQUESTS, "a", "US", "", 0, 9);
    use(REQUESTS, "b", "DE", "", 0, 1);
    bill_is("meter script:a - 20 2 2 \n 0: 20 x 1 = 2\nmeter script:b - 1 1 1 \n 0: 1 x 1 = 1\n");
}
END_TEST

/* The first day by region, the rest by resource. */
START_TEST(each_way_of_a_month_has_its_own_lines)
{
    part("'meters':{'requests':{'per':'1','by':'region','prices':{'*':{'price':'1'}}}}", 24);
    part("'meters':{'requests':{'per':'1','scope':'resource','price':'2'}}", 744);
    use(REQUESTS, "a", "DE", "", 0, 3);
    use(REQUESTS, "a", "DE", "", 1, 4);
    use(REQUESTS, "a", "US", "", 1, 5);
    bill_is("meter meter:requests DE 3 3 3 \n 0: 3 x 1 = 3\nmeter script:a - 9 18 18 \n 1: 9 x 2 = 18\n");
}
END_TEST

#define PORT_RATE(scope)                                                                                               \
    "'meters':{'port':{'percentile':'95','scope':'" scope "','per':'Mbps','tiers':["                                   \
    "{'from':'0','to':'100','price':'0.90'},{'from':'100','to':null,'price':'0.70'}],'minimum':'100.00'}}"

/* Of 8,928 intervals 446 are discarded. 446 of 10^10 and one of 6 x 10^9 bytes: 160 Mbps. */
START_TEST(the_percentile_is_of_the_sum_of_the_resources)
{
    part(PORT_RATE("account"), 744);
    uint64_t *a = port("port-1", 447), *b = port("port-2", 1);
    for (int i = 0; i < 446; i++)
        a[8000 + i] = UINT64_C(10000000000);
    a[5] = UINT64_C(2000000000);
    b[5] = UINT64_C(4000000000);
    bill_is("meter meter:port - 6000000000 132 132 per Mbps \n"
            " 0: 3750000000 x 0.9 = 90\n 0: 2250000000 x 0.7 = 42\n");
    ck_assert(!tb_bill_rate(&in, NULL, &bill, NULL));
    const tb_evidence *e = &bill.lines[0].evidence;
    ck_assert_int_eq(e->from_us - parts[0].from_us, INT64_C(1500000000));
    ck_assert_int_eq(e->to_us - e->from_us, INT64_C(300000000));
    tb_bill_release(&bill);
}
END_TEST

/* Each port: one has no more than its discarded intervals, which is 0; the other 8 Mbps. The minimum is the meter's. */
START_TEST(a_meters_minimum_is_over_its_rounded_lines)
{
    part(PORT_RATE("resource"), 744);
    in.running = false;
    in.contract.discount = (tb_decimal){10, 0};
    port("port-1", 446)[3] = 9;
    uint64_t *b = port("port-2", 8928);
    for (int i = 0; i < 8928; i++)
        b[i] = 300000000;
    bill_is("meter port:port-1 - 0 0 0 per Mbps \n 0: 0 x 0.9 = 0\n"
            "meter port:port-2 - 300000000 7.2 7.2 per Mbps \n 0: 300000000 x 0.9 = 7.2\n"
            "minimum meter:port - 1 92.8 92.8 \n 0: 2678400 x 100 = 100\n 0: 0 x 0 = -7.2\n"
            "discount account:1 - 1 -0.72 -0.72 \n 0: 0 x 10 = -0.72\n");
}
END_TEST

START_TEST(a_minimum_counts_for_the_seconds_of_its_book)
{
    part("'meters':{'requests':{'per':'1','price':'0','minimum':'31'}}", 24);
    part("'meters':{'requests':{'per':'1','price':'0'}}", 744);
    in.running = false;
    use(REQUESTS, "a", "", "", 1, 1);
    bill_is("meter meter:requests - 1 0 0 \n 1: 1 x 0 = 0\n"
            "minimum meter:requests - 1 1 1 \n 0: 86400 x 31 = 1\n 1: 2592000 x 0 = 0\n 1: 0 x 0 = 0\n");
    in.running = true;
    bill_is("meter meter:requests - 1 0 0 \n 1: 1 x 0 = 0\n");
}
END_TEST

START_TEST(bandwidth_at_a_percentile_takes_the_place_of_bytes)
{
    static const tb_bill_bytes bytes = {.zone = 7, .priced = true, .bytes = 5};
    part("'bandwidth':{'percentile':{'per':'Mbps','percentile':'95','price':'0.80'}}", 744);
    in.bytes = &bytes;
    in.n_bytes = 1;
    in.percentile = true;
    for (int i = 0; i < 100; i++)
        values[0][i] = UINT64_C(45000000000);
    in.bandwidth = (tb_bill_samples){.value = values[0], .n = 744, .interval = 3600, .present = 100};
    bill_is("percentile account:1 - 45000000000 80 80 per Mbps \n 0: 45000000000 x 0.8 = 80\n");
    parts[0].book = NULL;
    unpriced_are("account:1 percentile 4500000000000 byte: No USD price book is in force from 2026-10-01T00:00:00Z to "
                 "2026-11-01T00:00:00Z: add one.\n");
}
END_TEST

START_TEST(usage_without_a_price_is_listed)
{
    part("'meters':{'requests':{'per':'1','by':'region','prices':{'DE':{'price':'1'}}},"
         "'storage':{'per':'TB','time':'month','price':'1'}}",
         24);
    part("'meters':{}", 744);
    use(REQUESTS, "a", "DE", "", 0, 1);
    use(REQUESTS, "a", "DE", "", 1, 2);
    use(REQUESTS, "a", "US", "", 0, 3);
    use(REQUESTS, "b", "US", "", 0, 4);
    use(STORAGE, "z", "", "", 0, 5);
    unpriced_are("meter:requests US 7 request: Book b0 has no meters.requests.prices.US: add a book that supersedes it and "
                 "has it.\n"
                 "meter:requests usage 2 request: Book b1 has no meters.requests: add a book that supersedes it and has "
                 "it.\n"
                 "meter:storage usage 5 byte-second: Book b0, meters.storage.per: Must be a whole number, the meter's unit "
                 "or its display unit. Add a book that supersedes it and fits.\n");
}
END_TEST

/* 10^18 bytes for a month at 15 digits pass 128 bits before they are divided; the amount does not. */
START_TEST(only_amounts_must_fit)
{
    part("'meters':{'storage':{'per':'GB','time':'month','price':'12345.678901234567891'}}", 744);
    use(STORAGE, "z", "", "", 0, (tb_i128)TB_UNITS_MAX * SECONDS);
    bill_is("meter meter:storage - 2678400000000000000000000 12345678901234.567891 12345678901234.57 per GB-month \n"
            " 0: 2678400000000000000000000 x 12345.678901234567891 = 12345678901234.567891\n");
    usage[0].quantity = (tb_i128)1 << 125;
    refused(TB_E_OVERFLOW, "meter of meter:storage: The amount passes 2^127-1 units of 10^-18. Correct its price or its "
                           "usage.");
}
END_TEST

START_TEST(inputs_are_checked)
{
    part("'meters':{'requests':{'per':'1','price':'1'}}", 744);
    use(REQUESTS, "b", "", "", 0, 1);
    use(REQUESTS, "a", "", "", 0, 1);
    refused(TB_E_VALIDATION, "Entry 1 of the input: not ascending by meter, resource, dimensions and part.");
    in.n_usage = 1;
    usage[0].quantity = -1;
    refused(TB_E_DIFFERENT, "Meter requests, resource b: A sum of usage is negative, so nothing is billed: run verify.");
    in.n_usage = 0;
    port("p", 1)[0] = 1;
    samples[0].n = 9000;
    refused(TB_E_VALIDATION, "Entry 0 of the input: not the meter's intervals of the month.");
}
END_TEST

typedef struct budget {
    size_t left; /* allocations that succeed */
} budget;

static void *budget_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    budget *b = ctx;
    if (size > 0 && b->left == 0) return NULL;
    if (size > 0) b->left--;
    return tb_alloc_resize(NULL, ptr, old, size);
}

START_TEST(every_allocation_may_fail)
{
    tb_code code = TB_E_NOMEM;
    part(PORT_RATE("resource"), 744);
    port("port-1", 1)[0] = 1;
    port("port-2", 1)[0] = 2;
    for (size_t n = 0; code == TB_E_NOMEM; n++) {
        budget b = {n};
        tb_alloc alloc = {budget_resize, &b};
        code = tb_bill_rate(&in, &alloc, &bill, NULL);
        ck_assert(!code || (code == TB_E_NOMEM && !bill.lines));
        if (!code) tb_bill_release(&bill);
        ck_assert(code || n > 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bill_meters");
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, begin, end);
    tcase_add_test(rules, a_gauge_by_region_is_a_fraction_rounded_once);
    tcase_add_test(rules, the_last_row_takes_the_rest_of_a_fraction);
    tcase_add_test(rules, a_counter_keeps_its_position_across_books);
    tcase_add_test(rules, each_resource_has_tiers_of_its_own);
    tcase_add_test(rules, each_way_of_a_month_has_its_own_lines);
    tcase_add_test(rules, the_percentile_is_of_the_sum_of_the_resources);
    tcase_add_test(rules, a_meters_minimum_is_over_its_rounded_lines);
    tcase_add_test(rules, a_minimum_counts_for_the_seconds_of_its_book);
    tcase_add_test(rules, bandwidth_at_a_percentile_takes_the_place_of_bytes);
    tcase_add_test(rules, usage_without_a_price_is_listed);
    tcase_add_test(rules, only_amounts_must_fit);
    tcase_add_test(rules, inputs_are_checked);
    tcase_add_test(rules, every_allocation_may_fail);
    suite_add_tcase(suite, rules);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
