/* Rollups: what lines and rows add, limits, the order of the cursor, running out of memory.
 * Sums over random records in any split: prop_intake. */
#include "rollup/grouped.h"
#include "rollup/parts.h"
#include "tollbook/rollup.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static tb_hit a_hit(int64_t zone, const char *edge, int32_t hour)
{
    return (tb_hit){.zone = zone,
                    .edge = edge,
                    .edge_len = (uint8_t)strlen(edge),
                    .hour = hour,
                    .bytes = 100,
                    .status = 200,
                    .cache = TB_CACHE_SERVED};
}

static tb_row a_row(int64_t id, const char *edge, int32_t hour, tb_metric metric, uint64_t value)
{
    tb_row row = {.balancer = !edge, .id = id, .hour = hour, .metrics = TB_METRIC_BIT(metric)};
    row.value[metric] = value;
    if (!edge) return row;
    row.edge_len = (uint8_t)strlen(edge);
    memcpy(row.edge, edge, row.edge_len);
    return row;
}

static void add(tb_rollup *rollup, tb_hit hit)
{
    ck_assert_int_eq(tb_rollup_add_hits(rollup, &hit, 1, NULL), TB_OK);
}

static void add_row(tb_rollup *rollup, tb_row row)
{
    ck_assert_int_eq(tb_rollup_add_row(rollup, &row, NULL), TB_OK);
}

static tb_grid grid;

static tb_rollup_day next(tb_rollup_cursor *cursor)
{
    tb_rollup_day day;
    memset(&grid, 0xee, sizeof grid);
    ck_assert(tb_rollup_next_day(cursor, &day, &grid));
    return day;
}

static void is_end(tb_rollup_cursor *cursor)
{
    tb_rollup_day day;
    ck_assert(!tb_rollup_next_day(cursor, &day, &grid));
    ck_assert_int_eq(tb_rollup_cursor_check(cursor, NULL), TB_OK);
}

static uint64_t value(tb_metric metric, unsigned slot)
{
    return grid.metrics & TB_METRIC_BIT(metric) ? grid.v[metric][slot] : 0;
}

START_TEST(a_line_counts_by_cache_status_and_class)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    for (unsigned cache = TB_CACHE_OTHER; cache <= TB_CACHE_REVALIDATED; cache++)
        for (uint16_t status = 100; status < 600; status = (uint16_t)(status + 100)) {
            tb_hit hit = a_hit(1, "DE", 24 * 20000 + 23);
            hit.cache = (uint8_t)cache;
            hit.status = (uint16_t)(status + 99);
            add(rollup, hit);
            hit.status = status;
            add(rollup, hit);
        }
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    const tb_rollup_day day = next(cursor);
    ck_assert_int_eq(day.day, 20000);
    ck_assert_uint_eq(grid.slots, UINT32_C(1) << 23);
    ck_assert_uint_eq(value(TB_M_REQUESTS, 23), 30);
    ck_assert_uint_eq(value(TB_M_BYTES, 23), 3000);
    ck_assert_uint_eq(value(TB_M_CACHED_BYTES, 23), 2000);
    ck_assert_uint_eq(value(TB_M_PULLED, 23), 10);
    ck_assert_uint_eq(value(TB_M_BALANCER_REQUESTS, 23), 20);
    ck_assert_uint_eq(value(TB_M_STATUS_3XX, 23), 6);
    ck_assert_uint_eq(value(TB_M_STATUS_4XX, 23), 6);
    ck_assert_uint_eq(value(TB_M_STATUS_5XX, 23), 6);
    ck_assert_uint_eq(value(TB_M_REQUESTS, 22), 0);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(columns_in_which_nothing_counted_are_left_out)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    add(rollup, a_hit(1, "DE", 0));
    add_row(rollup, a_row(2, "DE", 0, TB_M_STATUS_5XX, 0));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    next(cursor);
    ck_assert_uint_eq(grid.metrics, TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_BYTES) |
                                        TB_METRIC_BIT(TB_M_CACHED_BYTES));
    next(cursor);
    ck_assert_uint_eq(grid.metrics, TB_METRIC_BIT(TB_M_STATUS_5XX));
    for (unsigned slot = 0; slot < TB_GRID_SLOTS; slot++)
        ck_assert_uint_eq(grid.v[TB_M_STATUS_5XX][slot], 0);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(days_come_by_scope_id_edge_and_day)
{
    static const char *const edges[] = {"D", "DE", "LA", "eu-central-1.a", "eu-central-1.b"};
    static const int64_t ids[] = {1, 9, 10, 256, INT64_MAX};
    tb_rollup *parts[2] = {tb_rollup_new(1000, NULL), tb_rollup_new(1000, NULL)};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned e = 5; e-- > 0;)
            for (int32_t day = 2; day-- > 0;)
                add(parts[(i + e) % 2], a_hit(ids[4 - i], edges[e], day * 24 + 5));
    add_row(parts[1], a_row(3, NULL, 0, TB_M_REQUESTS, 7));
    add_row(parts[0], a_row(2, NULL, 0, TB_M_REQUESTS, 8));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
    for (unsigned i = 0; i < 5; i++)
        for (unsigned e = 0; e < 5; e++)
            for (int32_t day = 0; day < 2; day++) {
                const tb_rollup_day got = next(cursor);
                ck_assert_int_eq(got.scope, TB_ROLLUP_ZONE);
                ck_assert_int_eq(got.id, ids[i]);
                ck_assert_uint_eq(got.edge_len, strlen(edges[e]));
                ck_assert_mem_eq(got.edge, edges[e], got.edge_len);
                ck_assert_int_eq(got.day, day);
            }
    for (int64_t id = 2; id <= 3; id++) {
        const tb_rollup_day got = next(cursor);
        ck_assert_int_eq(got.scope, TB_ROLLUP_BALANCER);
        ck_assert_int_eq(got.id, id);
        ck_assert_uint_eq(got.edge_len, 0);
        ck_assert_uint_eq(value(TB_M_REQUESTS, 0), (uint64_t)(10 - id));
    }
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(parts[0]);
    tb_rollup_free(parts[1]);
}
END_TEST

START_TEST(zones_may_come_by_group)
{
    static const int64_t ids[] = {3, 5, 8, 13}, group[] = {2, INT64_MAX, 0, 2};
    static const int64_t order[] = {8, 3, 13, 5};
    tb_rollup *parts[2] = {tb_rollup_new(100, NULL), tb_rollup_new(100, NULL)};
    for (unsigned i = 0; i < 4; i++) {
        tb_hit hit = a_hit(ids[i], "DE", 5);
        hit.country = 'D' | 'E' << 8;
        add(parts[i % 2], hit);
    }
    add_row(parts[0], a_row(1, NULL, 0, TB_M_REQUESTS, 7));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
    size_t n = 0;
    const int64_t *zones = tb__cursor_zones(cursor, &n);
    ck_assert_uint_eq(n, 4);
    ck_assert_mem_eq(zones, ids, sizeof ids);
    ck_assert(tb__cursor_group(cursor, group));
    for (unsigned i = 0; i < 4; i++) {
        tb_rollup_country country;
        ck_assert_int_eq(next(cursor).id, order[i]);
        ck_assert(tb_rollup_next_country(cursor, &country));
        ck_assert_int_eq(country.zone, ids[i]); /* countries come as ever */
    }
    ck_assert_int_eq(next(cursor).scope, TB_ROLLUP_BALANCER);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(parts[0]);
    tb_rollup_free(parts[1]);
}
END_TEST

START_TEST(rows_add_and_greatest_values_stay)
{
    tb_rollup *parts[2] = {tb_rollup_new(1000, NULL), tb_rollup_new(1000, NULL)};
    for (unsigned part = 0; part < 2; part++) {
        add_row(parts[part], a_row(1, "DE", 30, TB_M_SAVED, 10));
        add_row(parts[part], a_row(1, "DE", 30, TB_M_QUEUED_MAX, 10 - 3 * part));
        add_row(parts[part], a_row(1, "DE", 30, TB_M_QUEUED_MAX, 2));
        add_row(parts[part], a_row(1, "DE", 30, TB_M_REQUESTS, 5));
        add(parts[part], a_hit(1, "DE", 30));
    }
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
    next(cursor);
    ck_assert_uint_eq(value(TB_M_SAVED, 6), 20);
    ck_assert_uint_eq(value(TB_M_QUEUED_MAX, 6), 10);
    ck_assert_uint_eq(value(TB_M_REQUESTS, 6), 12);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(parts[0]);
    tb_rollup_free(parts[1]);
}
END_TEST

START_TEST(countries_are_counted_by_zone_and_day)
{
    tb_rollup *parts[2] = {tb_rollup_new(1000, NULL), tb_rollup_new(1000, NULL)};
    for (unsigned i = 0; i < 40; i++) {
        tb_hit hit = a_hit(2 - i / 20, i % 2 ? "DE" : "LA", i % 4 < 2 ? 23 : 24);
        hit.country = i % 5 == 0 ? 0 : i % 5 < 3 ? 'U' << 8 | 'S' : 'D' << 8 | 'E';
        add(parts[i % 3 == 0], hit);
    }
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
    tb_rollup_country got;
    for (int64_t zone = 1; zone <= 2; zone++)
        for (int64_t day = 0; day < 2; day++)
            for (unsigned c = 0; c < 2; c++) {
                ck_assert(tb_rollup_next_country(cursor, &got));
                ck_assert_int_eq(got.zone, zone);
                ck_assert_int_eq(got.day, day);
                ck_assert_uint_eq(got.country, c ? 'U' << 8 | 'S' : 'D' << 8 | 'E');
                ck_assert_uint_eq(got.requests, 4);
                ck_assert_uint_eq(got.bytes, 400);
            }
    ck_assert(!tb_rollup_next_country(cursor, &got));
    next(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(parts[0]);
    tb_rollup_free(parts[1]);
}
END_TEST

START_TEST(hours_before_1970_floor)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    add(rollup, a_hit(1, "DE", -1));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    ck_assert_int_eq(next(cursor).day, -1);
    ck_assert_uint_eq(grid.slots, UINT32_C(1) << 23);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(an_empty_rollup_has_no_days)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    tb_rollup_country country;
    is_end(cursor);
    ck_assert(!tb_rollup_next_country(cursor, &country));
    tb_rollup_cursor_free(cursor);
    cursor = tb_rollup_cursor_new(NULL, 0, NULL);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    tb_rollup_free(NULL);
    tb_rollup_cursor_free(NULL);
}
END_TEST

START_TEST(full_at_max_groups_and_goes_on)
{
    tb_rollup *rollup = tb_rollup_new(3, NULL);
    add(rollup, a_hit(1, "DE", 0));
    add(rollup, a_hit(1, "DE", 0));
    add_row(rollup, a_row(1, "DE", 0, TB_M_SAVED, 1));
    ck_assert_uint_eq(tb_rollup_groups(rollup), 2);
    ck_assert(!tb_rollup_full(rollup));
    add(rollup, a_hit(1, "DE", 1));
    ck_assert(tb_rollup_full(rollup));
    add(rollup, a_hit(1, "DE", 2));
    ck_assert_uint_eq(tb_rollup_groups(rollup), 4);
    tb_rollup_clear(rollup);
    ck_assert(!tb_rollup_full(rollup));
    ck_assert_uint_eq(tb_rollup_groups(rollup), 0);
    tb_rollup_free(rollup);
}
END_TEST

/* Past these many codes the numbers of edges do not fit 16 bits any more, in any table. */
START_TEST(full_at_65000_edge_codes_and_goes_on)
{
    enum { EDGES = 70000 };
    tb_rollup *rollup = tb_rollup_new(1000000, NULL);
    static char codes[EDGES][6];
    for (unsigned i = 0; i < EDGES; i++) {
        for (unsigned k = 0; k < 5; k++)
            codes[i][k] = (char)('a' + (i >> 4 * (4 - k)) % 16);
        add(rollup, a_hit(1, codes[i], 5));
        ck_assert(tb_rollup_full(rollup) == (i + 1 >= 65000));
    }
    add(rollup, a_hit(1, "zz", 5));
    add(rollup, a_hit(1, "zz", 5));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    for (unsigned i = 0; i < EDGES; i++)
        ck_assert_mem_eq(next(cursor).edge, codes[i], 5);
    ck_assert_mem_eq(next(cursor).edge, "zz", 2);
    ck_assert_uint_eq(value(TB_M_REQUESTS, 5), 2);
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(a_group_is_one_however_its_index_grows)
{
    enum { ZONES = 30000 };
    tb_rollup *rollup = tb_rollup_new(1000000, NULL);
    for (unsigned round = 0; round < 2; round++)
        for (int64_t zone = 1; zone <= ZONES; zone++) {
            add(rollup, a_hit(zone * 7919, "DE", 5));
            if (zone % 64 == 0) ck_assert_uint_eq(tb_rollup_groups(rollup), round ? ZONES : zone);
        }
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(records_keep_their_counters_over_many_blocks)
{
    enum { ZONES = 30000 };
    tb_rollup *rollup = tb_rollup_new(1000000, NULL);
    for (int64_t zone = ZONES; zone >= 1; zone--) {
        tb_row row = a_row(zone, "DE", 5, TB_M_SAVED, (uint64_t)zone);
        row.metrics |= TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_RETRIED);
        row.value[TB_M_BYTES] = (uint64_t)zone * 2;
        row.value[TB_M_RETRIED] = (uint64_t)zone * 3;
        add_row(rollup, row);
    }
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    for (int64_t zone = 1; zone <= ZONES; zone++) {
        ck_assert_int_eq(next(cursor).id, zone);
        ck_assert_uint_eq(value(TB_M_SAVED, 5), (uint64_t)zone);
        ck_assert_uint_eq(value(TB_M_BYTES, 5), (uint64_t)zone * 2);
        ck_assert_uint_eq(value(TB_M_RETRIED, 5), (uint64_t)zone * 3);
    }
    is_end(cursor);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(a_cleared_rollup_counts_from_nothing)
{
    tb_rollup *rollup = tb_rollup_new(1000, NULL);
    for (unsigned round = 0; round < 3; round++) {
        tb_rollup_clear(rollup);
        for (int32_t i = 0; i < 300; i++) {
            tb_hit hit = a_hit(1 + (i * 7 + (int32_t)round) % 11, "DE", i % 50);
            hit.country = 'D' << 8 | 'E';
            add(rollup, hit);
            add_row(rollup, a_row(hit.zone, "LA", i % 50, TB_M_SAVED, 1));
        }
        tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
        uint64_t requests = 0, saved = 0, countries = 0;
        tb_rollup_day day;
        while (tb_rollup_next_day(cursor, &day, &grid))
            for (unsigned slot = 0; slot < 24; slot++) {
                requests += value(TB_M_REQUESTS, slot);
                saved += value(TB_M_SAVED, slot);
            }
        tb_rollup_country country;
        while (tb_rollup_next_country(cursor, &country))
            countries += country.requests;
        ck_assert_uint_eq(requests, 300);
        ck_assert_uint_eq(saved, 300);
        ck_assert_uint_eq(countries, 300);
        tb_rollup_cursor_free(cursor);
    }
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(bytes_past_the_greatest_counter_overflow)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    tb_error err;
    tb_hit hits[64];
    for (unsigned i = 0; i < 64; i++) {
        hits[i] = a_hit(1, "DE", 0);
        hits[i].bytes = TB_HIT_BYTES_MAX;
    }
    tb_code code = TB_OK;
    unsigned calls = 0;
    for (; !code && calls < 10000; calls++)
        code = tb_rollup_add_hits(rollup, hits, 64, &err);
    ck_assert_int_eq(code, TB_E_OVERFLOW);
    ck_assert_uint_eq(calls, (1u << 19) / 64);
    ck_assert_str_eq(err.field, "bytes");
    tb_rollup_free(rollup);
}
END_TEST

START_TEST(rows_past_the_greatest_counter_overflow)
{
    tb_rollup *parts[2] = {tb_rollup_new(10, NULL), tb_rollup_new(10, NULL)};
    tb_error err;
    tb_row row = a_row(1, "DE", 0, TB_M_BYTES, TB_COUNTER_MAX);
    add_row(parts[0], row);
    row.value[TB_M_BYTES] = 0;
    add_row(parts[0], row);
    row.value[TB_M_BYTES] = 1;
    ck_assert_int_eq(tb_rollup_add_row(parts[0], &row, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "bytes");
    ck_assert_ptr_nonnull(strstr(err.message, "Pull zone 1, region DE, "));
    for (unsigned i = 0; i < 2; i++) {
        if (i) add(parts[1], a_hit(1, "DE", 0));
        tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
        tb_rollup_day day;
        ck_assert(tb_rollup_next_day(cursor, &day, &grid) == !i);
        ck_assert_int_eq(tb_rollup_cursor_check(cursor, &err), i ? TB_E_OVERFLOW : TB_OK);
        if (i) ck_assert_ptr_nonnull(strstr(err.message, "Pull zone 1, region DE, "));
        ck_assert(!tb_rollup_next_day(cursor, &day, &grid));
        tb_rollup_cursor_free(cursor);
    }
    tb_rollup_free(parts[0]);
    tb_rollup_free(parts[1]);
}
END_TEST

/* Neither part overflows; their sum does, whatever the counter. */
START_TEST(rows_of_two_parts_overflow_together)
{
    static const tb_metric summed[] = {TB_M_REQUESTS, TB_M_BYTES, TB_M_PULLED};
    for (size_t i = 0; i < sizeof summed / sizeof *summed; i++)
        for (uint64_t more = 0; more < 2; more++) {
            tb_rollup *parts[2] = {tb_rollup_new(10, NULL), tb_rollup_new(10, NULL)};
            tb_error err = {0};
            tb_rollup_day day;
            add_row(parts[0], a_row(1, "DE", 0, summed[i], TB_COUNTER_MAX));
            add_row(parts[1], a_row(1, "DE", 0, summed[i], more));
            tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, NULL);
            ck_assert_int_eq(tb_rollup_next_day(cursor, &day, &grid), !more);
            ck_assert_int_eq(tb_rollup_cursor_check(cursor, &err), more ? TB_E_OVERFLOW : TB_OK);
            if (more) ck_assert_ptr_nonnull(strstr(err.message, "Pull zone 1, region DE, "));
            else ck_assert_uint_eq(value(summed[i], 0), TB_COUNTER_MAX);
            tb_rollup_cursor_free(cursor);
            tb_rollup_free(parts[0]);
            tb_rollup_free(parts[1]);
        }
}
END_TEST


START_TEST(no_more_lines_than_the_counters_hold)
{
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    const tb_hit hit = a_hit(1, "DE", 0);
    add(rollup, hit);
    rollup->hits = UINT64_C(1) << 31;
    ck_assert(tb_rollup_full(rollup));
    rollup->hits = UINT32_MAX - 1;
    ck_assert_int_eq(tb_rollup_add_hits(rollup, &hit, 1, NULL), TB_OK);
    ck_assert_int_eq(tb_rollup_add_hits(rollup, &hit, 1, NULL), TB_E_OVERFLOW);
    tb_rollup_free(rollup);
}
END_TEST

/* An allocator that fails from its n-th call on, and knows what is out. */
typedef struct meter {
    uint64_t left, calls;
    size_t out;
} meter;

static void *metered(void *ctx, void *ptr, size_t old, size_t size)
{
    meter *m = ctx;
    if (size == 0) {
        m->out -= old;
        free(ptr);
        return NULL;
    }
    m->calls++;
    if (m->left == 0) return NULL;
    m->left--;
    void *p = realloc(ptr, size);
    ck_assert_ptr_nonnull(p);
    m->out += size - old;
    return p;
}

/* Everything a rollup does; TB_E_NOMEM where memory ran out. */
static tb_code work(const tb_alloc *alloc)
{
    tb_rollup *rollup = tb_rollup_new(100000, alloc);
    if (!rollup) return TB_E_NOMEM;
    tb_code code = TB_OK;
    for (int32_t i = 0; i < 1500 && !code; i++) {
        tb_hit hit = a_hit(1 + i % 1100, i % 9 ? "DE" : "some-edge", i % 70);
        hit.country = (uint16_t)('A' << 8 | ('A' + i % 20));
        code = tb_rollup_add_hits(rollup, &hit, 1, NULL);
        tb_row row = a_row(1 + i % 90, i % 7 ? "LA" : NULL, i % 70, TB_M_REQUESTS, 1);
        if (i % 7 && i % 5 == 0) row.metrics |= TB_METRIC_BIT(TB_M_SAVED);
        if (!code) code = tb_rollup_add_row(rollup, &row, NULL);
    }
    if (!code) {
        tb_rollup *parts[2] = {rollup, rollup};
        tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, 2, alloc);
        if (cursor) next(cursor);
        code = cursor ? TB_OK : TB_E_NOMEM;
        tb_rollup_cursor_free(cursor);
    }
    tb_rollup_clear(rollup);
    tb_rollup_free(rollup);
    return code;
}

START_TEST(out_of_memory_anywhere_is_an_error_and_leaks_nothing)
{
    meter m = {.left = UINT64_MAX};
    const tb_alloc alloc = {metered, &m};
    ck_assert_int_eq(work(&alloc), TB_OK);
    ck_assert_uint_eq(m.out, 0);
    const uint64_t calls = m.calls;
    ck_assert_uint_gt(calls, 100);
    for (uint64_t fail = 0; fail < calls; fail++) {
        m.left = fail;
        ck_assert_int_eq(work(&alloc), TB_E_NOMEM);
        ck_assert_uint_eq(m.out, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rollup");
    TCase *t = tcase_create("rollup");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_line_counts_by_cache_status_and_class);
    tcase_add_test(t, columns_in_which_nothing_counted_are_left_out);
    tcase_add_test(t, days_come_by_scope_id_edge_and_day);
    tcase_add_test(t, zones_may_come_by_group);
    tcase_add_test(t, rows_add_and_greatest_values_stay);
    tcase_add_test(t, countries_are_counted_by_zone_and_day);
    tcase_add_test(t, hours_before_1970_floor);
    tcase_add_test(t, an_empty_rollup_has_no_days);
    tcase_add_test(t, full_at_max_groups_and_goes_on);
    tcase_add_test(t, full_at_65000_edge_codes_and_goes_on);
    tcase_add_test(t, a_group_is_one_however_its_index_grows);
    tcase_add_test(t, records_keep_their_counters_over_many_blocks);
    tcase_add_test(t, a_cleared_rollup_counts_from_nothing);
    tcase_add_test(t, bytes_past_the_greatest_counter_overflow);
    tcase_add_test(t, rows_past_the_greatest_counter_overflow);
    tcase_add_test(t, no_more_lines_than_the_counters_hold);
    tcase_add_test(t, out_of_memory_anywhere_is_an_error_and_leaks_nothing);
    tcase_add_test(t, rows_of_two_parts_overflow_together);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
