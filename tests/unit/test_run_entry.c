/* Entries of pending usage: joined they are the sum, and bytes that put never wrote are damage. */
#include "store/usage/entry.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"

static size_t grid_entry(uint64_t requests, uint64_t bytes, uint8_t *out)
{
    tb_grid *grid = malloc(sizeof *grid);
    tb_error err;
    ck_assert_ptr_nonnull(grid);
    tb_grid_clear(grid);
    ck_assert_int_eq(tb_grid_add(grid, TB_M_REQUESTS, 3, requests, &err), TB_OK);
    ck_assert_int_eq(tb_grid_add(grid, TB_M_BYTES, 5, bytes, &err), TB_OK);
    size_t len = tb__entry_put_grid(grid, out);
    free(grid);
    return len;
}

static void refuses(tb__lsm_kind kind, const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    static uint8_t out[TB__ENTRY_MAX];
    tb_error err = {0};
    size_t len;
    const tb__lsm_entry two[] = {{.data = a, .len = n_a}, {.data = b, .len = n_b}};
    ck_assert_int_eq(tb__entry_sum(kind, two, 2, out, &len, &err), TB_E_CORRUPT);
    ck_assert(strstr(err.message, "damaged"));
}

START_TEST(two_entries_join_to_their_sum)
{
    static uint8_t a[TB__ENTRY_MAX], b[TB__ENTRY_MAX], sum[TB__ENTRY_MAX];
    static uint8_t joined[TB__ENTRY_MAX];
    tb_error err = {0};
    size_t n_joined, n_a = grid_entry(7, 1000, a), n_b = grid_entry(1, INT64_C(1) << 40, b);
    size_t n_sum = grid_entry(8, (INT64_C(1) << 40) + 1000, sum);
    const tb__lsm_entry two[] = {{.data = a, .len = n_a}, {.data = b, .len = n_b}};
    ck_assert_int_eq(tb__entry_sum(TB__LSM_COUNTERS, two, 2, joined, &n_joined, &err), TB_OK);
    ck_assert_uint_eq(n_joined, n_sum);
    ck_assert_mem_eq(joined, sum, n_sum);
}
END_TEST

/* Of grids that have other counters and hours each, one of them a maximum; and of lists of countries. */
START_TEST(many_entries_join_as_one_by_one)
{
    static uint8_t at[8][TB__ENTRY_MAX], all[TB__ENTRY_MAX], two[2][TB__ENTRY_MAX];
    tb_error err = {0};
    tb_grid *grid = malloc(sizeof *grid);
    ck_assert_ptr_nonnull(grid);
    for (int kind = 0; kind < TB__LSM_KINDS; kind++) {
        tb__lsm_entry list[8] = {0};
        for (unsigned i = 0; i < 8; i++) {
            const tb__country countries[2] = {{(uint16_t)('D' << 8 | ('E' + i % 3)), i + 1, 100 * i},
                                              {'U' << 8 | 'S', 3, i}};
            tb_grid_clear(grid);
            ck_assert_int_eq(tb_grid_add(grid, i % 2 ? TB_M_BYTES : TB_M_REQUESTS, i * 3, 1000 + i, &err), TB_OK);
            ck_assert_int_eq(tb_grid_add(grid, TB_M_QUEUED_MAX, i % 4, UINT64_C(1) << (i * 37 % 60), &err), TB_OK);
            list[i].data = at[i];
            list[i].len = kind == TB__LSM_COUNTERS ? tb__entry_put_grid(grid, at[i])
                                                 : tb__entry_put_list(countries, 2, at[i]);
        }
        size_t n = 0;
        tb__lsm_entry one[2] = {list[0]};
        for (unsigned i = 1; i < 8; i++) {
            one[1] = list[i];
            ck_assert_int_eq(tb__entry_sum((tb__lsm_kind)kind, one, 2, two[i % 2], &one[0].len, &err), TB_OK);
            one[0].data = two[i % 2];
        }
        ck_assert_int_eq(tb__entry_sum((tb__lsm_kind)kind, list, 8, all, &n, &err), TB_OK);
        ck_assert_uint_eq(n, one[0].len);
        ck_assert_mem_eq(all, one[0].data, n);
        ck_assert_int_eq(tb__entry_sum((tb__lsm_kind)kind, list, 1, all, &n, &err), TB_OK);
        ck_assert_uint_eq(n, list[0].len);
        ck_assert_mem_eq(all, list[0].data, n);
    }
    free(grid);
}
END_TEST

/* A grid of some counters and hours, with values of every length. */
static void fill_grid(tb_grid *grid)
{
    tb_error err;
    tb_grid_clear(grid);
    const uint32_t slots = (uint32_t)rand() & (uint32_t)rand() & 0xffffff;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (rand() % 3 == 0) continue;
        for (uint32_t left = slots; left; left &= left - 1) {
            const uint64_t value = ((uint64_t)rand() << 32 | (uint64_t)rand()) & TB_COUNTER_MAX;
            ck_assert_int_eq(tb_grid_add(grid, (tb_metric)m, (unsigned)__builtin_ctz(left), value >> rand() % 63, &err),
                             TB_OK);
        }
    }
}

static void check_sums(const tb_grid *grid, const uint8_t *data, size_t len)
{
    const uint32_t metrics = (uint32_t)rand() & TB_METRIC_ALL, slots = (uint32_t)rand();
    uint64_t sum[TB_METRIC_COUNT] = {0};
    ck_assert(tb__entry_sum_grid(data, len, metrics, slots, sum));
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        uint64_t wanted = 0;
        for (int s = 0; s < 24; s++)
            if (metrics >> m & slots >> s & 1 && grid->metrics >> m & grid->slots >> s & 1) wanted += grid->v[m][s];
        ck_assert_uint_eq(sum[m], wanted);
    }
}

static void check_buckets(const tb_grid *grid, const uint8_t *data, size_t len, bool hourly)
{
    enum { COUNT = 30 };
    uint64_t got[TB_METRIC_COUNT][COUNT], wanted[TB_METRIC_COUNT][COUNT], *column[TB_METRIC_COUNT];
    const tb__entry_buckets to = {column, rand() % (COUNT + 30) - 28, COUNT, hourly};
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        column[m] = rand() % 4 ? got[m] : NULL;
        for (int b = 0; b < COUNT; b++)
            got[m][b] = wanted[m][b] = (uint64_t)rand();
        for (int s = 0; column[m] && s < 24; s++) {
            const int64_t b = to.first + (hourly ? s : 0);
            if (b < 0 || b >= COUNT || !(grid->metrics >> m & grid->slots >> s & 1)) continue;
            const uint64_t value = grid->v[m][s];
            if (tb_metric_table[m].how == TB_HOW_SUM) wanted[m][b] += value;
            else if (value > wanted[m][b]) wanted[m][b] = value;
        }
    }
    ck_assert(tb__entry_add_grid(data, len, &to));
    ck_assert_mem_eq(got, wanted, sizeof got);
}

/* Whole, added to buckets, summed up: each way of reading says the same. Cut anywhere it is damage. */
START_TEST(each_reader_reads_the_same)
{
    static uint8_t data[TB__ENTRY_MAX];
    tb_grid *grid = malloc(sizeof *grid), *read = malloc(sizeof *read);
    ck_assert(grid && read);
    srand((unsigned)test_seed());
    for (int round = 0; round < 400; round++) {
        fill_grid(grid);
        const size_t len = tb__entry_put_grid(grid, data);
        uint8_t *exact = malloc(len); /* so that a sanitizer sees a byte too many */
        memcpy(exact, data, len);
        ck_assert(tb__entry_get_grid(exact, len, read));
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            for (int s = 0; s < 24; s++)
                ck_assert_uint_eq(read->metrics >> m & read->slots >> s & 1 ? read->v[m][s] : 0,
                                  grid->metrics >> m & grid->slots >> s & 1 ? grid->v[m][s] : 0);
        check_sums(grid, exact, len);
        check_buckets(grid, exact, len, round % 2);
        uint64_t sum[TB_METRIC_COUNT];
        ck_assert(len < 2 || !tb__entry_get_grid(exact, (size_t)rand() % len, read));
        (void)!tb__entry_sum_grid(exact, (size_t)rand() % len, TB_METRIC_ALL, UINT32_MAX, sum);
        free(exact);
    }
    free(grid);
    free(read);
}
END_TEST

/* Whichever of them is the one too much, and whatever the others bring. */
START_TEST(a_sum_that_is_too_large_is_told)
{
    static uint8_t at[3][TB__ENTRY_MAX], out[TB__ENTRY_MAX];
    size_t len;
    for (int large = 0; large < 3; large++) {
        tb__lsm_entry list[3] = {0};
        tb_error err = {0};
        for (int i = 0; i < 3; i++) {
            list[i].data = at[i];
            list[i].len = grid_entry(i == large ? TB_COUNTER_MAX - 1 : 1, 5, at[i]);
        }
        ck_assert_int_eq(tb__entry_sum(TB__LSM_COUNTERS, list, 2, out, &len, &err), TB_OK);
        ck_assert_int_eq(tb__entry_sum(TB__LSM_COUNTERS, list, 3, out, &len, &err), TB_E_OVERFLOW);
        ck_assert(strstr(err.message, "requests"));
    }
}
END_TEST

START_TEST(damaged_entries_are_refused)
{
    static uint8_t good[TB__ENTRY_MAX], bad[64];
    size_t n = grid_entry(7, 1000, good);
    memset(bad, 0xff, sizeof bad);
    refuses(TB__LSM_COUNTERS, good, n, bad, sizeof bad);
    refuses(TB__LSM_COUNTERS, bad, sizeof bad, good, n);
    refuses(TB__LSM_COUNTERS, good, n - 1, good, n);
    refuses(TB__LSM_COUNTRIES, bad, sizeof bad, bad, sizeof bad);
}
END_TEST

START_TEST(a_damaged_entry_is_not_added)
{
    uint8_t bad[64];
    tb__pending pending = {0};
    tb_error err = {0};
    memset(bad, 0xff, sizeof bad);
    const tb__lsm_entry entry = {{1, 2}, bad, sizeof bad};
    ck_assert_int_eq(tb__pending_add(&pending, &entry, &err), TB_E_CORRUPT);
    ck_assert_uint_eq(pending.n, 0);
    tb__pending_release(&pending);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("entries");
    tcase_add_test(t, two_entries_join_to_their_sum);
    tcase_add_test(t, many_entries_join_as_one_by_one);
    tcase_add_test(t, each_reader_reads_the_same);
    tcase_add_test(t, a_sum_that_is_too_large_is_told);
    tcase_add_test(t, damaged_entries_are_refused);
    tcase_add_test(t, a_damaged_entry_is_not_added);
    Suite *s = suite_create("run_entry");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
