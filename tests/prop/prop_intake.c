/* Intake and rollup, properties on random input.
 *
 * Intake: lines made of pieces that are right, nearly right and wrong, in any mixture and length,
 * are read the same by every unit, in every cut. Rollup: random records, spread over one to four
 * rollups and merged by the cursor, give the days and countries that a plain list of records
 * gives. */
#include "intake_check.h"

#include "tollbook/rollup.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000)

static const tb_known_edge known_edges[] = {{"DE", 1}, {"SYD", 0}};

/* What each column may be: the first of each list is right, and so are more of them. */
#define PIECES 10
static const char *const pieces[12][PIECES] = {
    {"HIT", "MISS", "REVALIDATED", "STALE", "UPDATING", "BYPASS", "-", "hit", "X_y-9", ""},
    {"200", "304", "404", "599", "100", "600", "099", "20", "2000", "2x0"},
    {"1794950000000", "1420070400000", "1420070399999", "1795132800000", "1795132800001",
     "0001794950000000", "1794950000", "-794950000000", "17949500000000", ""},
    {"1", "0", "17592186044416", "17592186044417", "123456789", "0000000000000000001", "1e3", "+5",
     "18446744073709551617", ""},
    {"7919", "1", "9223372036854775807", "9223372036854775808", "123456789012", "0", "-1", "1.0",
     "00000000000000000009", ""},
    {"192.0.2.1", "2a02::1", "", "-", "x", "203.0.113.77", "a", "b", "c", "d"},
    {"-", "https://a.example/", "", "\xff\xfe", "r", "s", "t", "u", "v", "w"},
    {"https://z.b-cdn.net/a?b=1", "", "/", "\r", "a", "b", "c", "d", "e", "f"},
    {"DE", "LA", "NYC", "eu-central-1.a_b", "eu-central-1.a_bc", "D", "D!", " ", "\xc3\x9c", ""},
    {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)", "curl/8", "", "-",
     "a", "b", "c", "d", "e", "f"},
    {"0f1e2d3c4b5a69788796a5b4c3d2e1f0", "", "x", "a", "b", "c", "d", "e", "f", "g"},
    {"DE", "us", "-", "", "D", "DEU", "D1", "--", "d\xe9", "gB"},
};

typedef struct text {
    size_t len;
    char bytes[1 << 18];
} text;

static text log_text;

static void put(const char *bytes, size_t len)
{
    if (len > sizeof log_text.bytes - log_text.len) len = sizeof log_text.bytes - log_text.len;
    memcpy(log_text.bytes + log_text.len, bytes, len);
    log_text.len += len;
}

static void put_text(const char *s)
{
    put(s, strlen(s));
}

static void put_run(char c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(&c, 1);
}

/* Mostly right columns; `wild` of 100 are taken from anywhere in their list. */
static void put_line(unsigned wild)
{
    const unsigned columns = below(100) < wild / 4 ? (unsigned)below(18) : below(5) ? 12 : 15;
    for (unsigned i = 0; i < columns; i++) {
        if (i) put_text("|");
        if (i >= 12)
            put_text(below(2) ? "bytes=0-1" : "");
        else
            put_text(pieces[i][below(100) < wild ? below(PIECES) : 0]);
        if (below(1000) < wild / 10) put_run(below(2) ? 'x' : '|', below(300));
        if (below(4000) < wild / 5) put("\0", 1);
        if (i == 9 && below(400) == 0) put_run('u', 15000 + below(3000));
    }
    put_text(below(20) ? "\n" : below(2) ? "\r\n" : "\n\n");
}

static void a_log(void)
{
    log_text.len = 0;
    const unsigned wild = (unsigned)below(4) * 20;
    for (uint64_t lines = below(200); lines > 0; lines--)
        put_line(wild);
    if (below(2)) put_line(wild);
    if (below(2) && log_text.len) log_text.len -= below(log_text.len < 40 ? log_text.len : 40);
}

START_TEST(every_unit_and_every_cut_reads_the_same)
{
    const tb_log_layout layout = {.now_ms = NOW_MS, .edges = known_edges, .n_edges = 2};
    for (unsigned round = 0; round < 120; round++) {
        const uint64_t from = state;
        a_log();
        char *bytes = with_slack(log_text.bytes, log_text.len, 0);
        const char *wrong = intake_check(&layout, bytes, log_text.len, random_bits());
        free(bytes);
        ck_assert_msg(!wrong, "%s; round %u, TB_SEED=%llu", wrong, round, (unsigned long long)from);
    }
}
END_TEST

START_TEST(random_bytes_are_read_the_same)
{
    static const char alphabet[] = "||||||\n\r19H-\0x";
    const tb_log_layout layout = {.now_ms = NOW_MS, .edges = known_edges, .n_edges = 2};
    for (unsigned round = 0; round < 120; round++) {
        log_text.len = 0;
        const uint64_t kinds = 1 + below(sizeof alphabet - 1), len = below(40000);
        for (uint64_t i = 0; i < (round % 8 ? len % 3000 : len); i++)
            put(&alphabet[below(kinds)], 1);
        char *bytes = with_slack(log_text.bytes, log_text.len, '|');
        const char *wrong = intake_check(&layout, bytes, log_text.len, random_bits());
        free(bytes);
        ck_assert_msg(!wrong, "%s", wrong);
    }
}
END_TEST

/* The model of a rollup: a list of everything added, in which each sum is looked for. */
typedef struct model_value {
    tb_rollup_scope scope;
    int64_t id;
    char edge[TB_EDGE_MAX];
    uint8_t edge_len;
    int32_t hour;
    uint32_t metrics;
    uint64_t value[TB_METRIC_COUNT];
} model_value;

typedef struct model_country {
    int64_t zone, day;
    uint16_t country;
    uint64_t requests, bytes;
} model_country;

enum { MODEL_MAX = 4000 };
static model_value model[MODEL_MAX];
static model_country countries[MODEL_MAX];
static size_t n_model, n_countries;

static int64_t day_of(int64_t hour)
{
    return hour / 24 - (hour % 24 < 0);
}

static int compare_model(const void *left, const void *right)
{
    const model_value *a = left, *b = right;
    if (a->scope != b->scope) return a->scope < b->scope ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    const size_t shorter = a->edge_len < b->edge_len ? a->edge_len : b->edge_len;
    const int order = memcmp(a->edge, b->edge, shorter);
    if (order) return order;
    if (a->edge_len != b->edge_len) return a->edge_len < b->edge_len ? -1 : 1;
    return (a->hour > b->hour) - (a->hour < b->hour);
}

static int compare_countries(const void *left, const void *right)
{
    const model_country *a = left, *b = right;
    if (a->zone != b->zone) return a->zone < b->zone ? -1 : 1;
    if (a->day != b->day) return a->day < b->day ? -1 : 1;
    return (int)a->country - (int)b->country;
}

static void model_row(const tb_row *row)
{
    model_value *m = &model[n_model++];
    *m = (model_value){.scope = row->balancer ? TB_ROLLUP_BALANCER : TB_ROLLUP_ZONE,
                       .id = row->id,
                       .edge_len = row->edge_len,
                       .hour = row->hour,
                       .metrics = row->metrics};
    memcpy(m->edge, row->edge, row->edge_len);
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++)
        if (row->metrics >> i & 1) m->value[i] = row->value[i];
}

/* Architecture, section 4, written out. */
static void model_hit(const tb_hit *hit)
{
    tb_row row = {.id = hit->zone, .hour = hit->hour, .edge_len = hit->edge_len};
    memcpy(row.edge, hit->edge, hit->edge_len);
    row.value[TB_M_REQUESTS] = 1;
    row.value[TB_M_BYTES] = hit->bytes;
    if (hit->cache == TB_CACHE_OTHER)
        row.value[TB_M_PULLED] = 1;
    else
        row.value[TB_M_CACHED_BYTES] = hit->bytes;
    if (hit->cache != TB_CACHE_SERVED) row.value[TB_M_BALANCER_REQUESTS] = 1;
    if (hit->status >= 300 && hit->status < 400) row.value[TB_M_STATUS_3XX] = 1;
    if (hit->status >= 400 && hit->status < 500) row.value[TB_M_STATUS_4XX] = 1;
    if (hit->status >= 500) row.value[TB_M_STATUS_5XX] = 1;
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++)
        if (row.value[i]) row.metrics |= TB_METRIC_BIT(i);
    model_row(&row);
    if (hit->country)
        countries[n_countries++] =
            (model_country){hit->zone, day_of(hit->hour), hit->country, 1, hit->bytes};
}

static bool same_day(const model_value *a, const model_value *b)
{
    return a->scope == b->scope && a->id == b->id && a->edge_len == b->edge_len &&
           memcmp(a->edge, b->edge, a->edge_len) == 0 && day_of(a->hour) == day_of(b->hour);
}

static void fold(tb_grid *grid, const model_value *m)
{
    const unsigned slot = (unsigned)(m->hour - day_of(m->hour) * 24);
    grid->metrics |= m->metrics;
    grid->slots |= UINT32_C(1) << slot;
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++) {
        uint64_t *v = &grid->v[i][slot];
        if (tb_metric_table[i].how == TB_HOW_MAX)
            *v = m->value[i] > *v ? m->value[i] : *v;
        else
            *v += m->value[i];
    }
}

static void compare_grids(const tb_grid *got, const tb_grid *want)
{
    ck_assert_uint_eq(got->metrics, want->metrics);
    ck_assert_uint_eq(got->slots, want->slots);
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++)
        if (got->metrics >> i & 1) ck_assert_mem_eq(got->v[i], want->v[i], sizeof got->v[i]);
}

static void compare_days(tb_rollup_cursor *cursor)
{
    static tb_grid got, want;
    tb_rollup_day day;
    qsort(model, n_model, sizeof *model, compare_model);
    memset(&got, 0xee, sizeof got);
    for (size_t i = 0; i < n_model;) {
        const model_value *first = &model[i];
        memset(&want, 0, sizeof want);
        for (; i < n_model && same_day(first, &model[i]); i++)
            fold(&want, &model[i]);
        ck_assert(tb_rollup_next_day(cursor, &day, &got));
        ck_assert_int_eq(day.scope, first->scope);
        ck_assert_int_eq(day.id, first->id);
        ck_assert_int_eq(day.day, day_of(first->hour));
        ck_assert_uint_eq(day.edge_len, first->edge_len);
        ck_assert_mem_eq(day.edge, first->edge, first->edge_len);
        compare_grids(&got, &want);
    }
    ck_assert(!tb_rollup_next_day(cursor, &day, &got));
}

static void compare_country_sums(tb_rollup_cursor *cursor)
{
    tb_rollup_country got;
    qsort(countries, n_countries, sizeof *countries, compare_countries);
    for (size_t i = 0; i < n_countries;) {
        model_country want = countries[i++];
        for (; i < n_countries && compare_countries(&want, &countries[i]) == 0; i++) {
            want.requests += countries[i].requests;
            want.bytes += countries[i].bytes;
        }
        ck_assert(tb_rollup_next_country(cursor, &got));
        ck_assert_int_eq(got.zone, want.zone);
        ck_assert_int_eq(got.day, want.day);
        ck_assert_uint_eq(got.country, want.country);
        ck_assert_uint_eq(got.requests, want.requests);
        ck_assert_uint_eq(got.bytes, want.bytes);
    }
    ck_assert(!tb_rollup_next_country(cursor, &got));
    ck_assert_int_eq(tb_rollup_cursor_check(cursor, NULL), TB_OK);
}

static const char *const edge_codes[] = {
    "DE", "D", "DEX", "LA", "NY", "eu-central-1.a_b", "aaaaaaaab", "zz", "zZ", "aaaaaaaaa"};

/* The ranges that random records come from; small ones make records meet. */
typedef struct ranges {
    uint64_t ids, edges, hours;
    int64_t first_id;
    int32_t first_hour;
} ranges;

static ranges some_ranges(void)
{
    return (ranges){.ids = 1 + below(below(2) ? 5 : 2000),
                    .edges = 1 + below(10),
                    .hours = 1 + below(below(2) ? 30 : 5000),
                    .first_id = below(2) ? 1 : (int64_t)(random_bits() >> (2 + below(60))) + 1,
                    .first_hour = (int32_t)below(600000) - 1000};
}

static tb_hit a_hit(const ranges *r)
{
    static const uint16_t some[] = {0, 0x4445, 0x5553, 0x4141, 0x5a5a};
    const char *edge = edge_codes[below(r->edges)];
    return (tb_hit){.zone = r->first_id + (int64_t)below(r->ids),
                    .bytes = below(3) ? below(100000) : below(TB_HIT_BYTES_MAX + 1),
                    .edge = edge,
                    .edge_len = (uint8_t)strlen(edge),
                    .hour = r->first_hour + (int32_t)below(r->hours),
                    .status = (uint16_t)(100 + below(500)),
                    .country = some[below(5)],
                    .cache = (uint8_t)below(3)};
}

static tb_row a_row(const ranges *r)
{
    tb_row row = {.balancer = below(4) == 0,
                  .id = r->first_id + (int64_t)below(r->ids),
                  .hour = r->first_hour + (int32_t)below(r->hours),
                  .metrics = (uint32_t)random_bits() & (uint32_t)random_bits() & TB_METRIC_ALL};
    if (row.balancer) row.metrics = TB_METRIC_BIT(TB_M_REQUESTS);
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++)
        row.value[i] = below(3) ? below(1000) : 0;
    if (row.balancer) return row;
    const char *edge = edge_codes[below(r->edges)];
    row.edge_len = (uint8_t)strlen(edge);
    memcpy(row.edge, edge, row.edge_len);
    return row;
}

/* Adds some records to one part and to the model. */
static void add_some(tb_rollup *part, const ranges *r)
{
    tb_hit hits[200];
    size_t n = below(200);
    for (size_t i = 0; i < n; i++) {
        hits[i] = a_hit(r);
        model_hit(&hits[i]);
    }
    ck_assert_int_eq(tb_rollup_add_hits(part, hits, n, NULL), TB_OK);
    for (n = below(20); n > 0; n--) {
        const tb_row row = a_row(r);
        model_row(&row);
        ck_assert_int_eq(tb_rollup_add_row(part, &row, NULL), TB_OK);
    }
}

START_TEST(any_split_over_parts_gives_the_days_of_the_model)
{
    tb_rollup *parts[4];
    for (unsigned i = 0; i < 4; i++)
        parts[i] = tb_rollup_new(100000, NULL);
    for (unsigned round = 0; round < 120; round++) {
        const ranges r = some_ranges();
        const size_t n = 1 + below(4);
        n_model = n_countries = 0;
        for (unsigned i = 0; i < 4; i++)
            tb_rollup_clear(parts[i]);
        for (uint64_t steps = below(16); steps > 0; steps--)
            add_some(parts[below(n)], &r);
        tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, n, NULL);
        ck_assert_ptr_nonnull(cursor);
        compare_days(cursor);
        compare_country_sums(cursor);
        tb_rollup_cursor_free(cursor);
    }
    for (unsigned i = 0; i < 4; i++)
        tb_rollup_free(parts[i]);
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("intake");
    TCase *t = tcase_create("random input");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, every_unit_and_every_cut_reads_the_same);
    tcase_add_test(t, random_bytes_are_read_the_same);
    tcase_add_test(t, any_split_over_parts_gives_the_days_of_the_model);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
