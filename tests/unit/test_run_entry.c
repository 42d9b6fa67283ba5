/* Entries of waiting usage: joined they are the sum, and bytes that put never wrote are damage. */
#include "store/usage/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static size_t grid_entry(uint64_t requests, uint64_t bytes, uint8_t *out)
{
    tb_grid *grid = malloc(sizeof *grid);
    tb_error err;
    ck_assert_ptr_nonnull(grid);
    tb_grid_clear(grid);
    ck_assert_int_eq(tb_grid_add(grid, TB_M_REQUESTS, 3, requests, &err), TB_OK);
    ck_assert_int_eq(tb_grid_add(grid, TB_M_BYTES, 5, bytes, &err), TB_OK);
    size_t len = tb__run_put_grid(grid, out);
    free(grid);
    return len;
}

static void refuses(tb__run_kind kind, const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    static uint8_t out[TB__RUN_ENTRY_MAX];
    tb_error err = {0};
    size_t len;
    ck_assert_int_eq(tb__run_join(kind, a, n_a, b, n_b, out, &len, &err), TB_E_CORRUPT);
    ck_assert(strstr(err.message, "damaged"));
}

START_TEST(two_entries_join_to_their_sum)
{
    static uint8_t a[TB__RUN_ENTRY_MAX], b[TB__RUN_ENTRY_MAX], sum[TB__RUN_ENTRY_MAX];
    static uint8_t joined[TB__RUN_ENTRY_MAX];
    tb_error err = {0};
    size_t n_joined, n_a = grid_entry(7, 1000, a), n_b = grid_entry(1, INT64_C(1) << 40, b);
    size_t n_sum = grid_entry(8, (INT64_C(1) << 40) + 1000, sum);
    ck_assert_int_eq(tb__run_join(TB__RUN_CHUNKS, a, n_a, b, n_b, joined, &n_joined, &err), TB_OK);
    ck_assert_uint_eq(n_joined, n_sum);
    ck_assert_mem_eq(joined, sum, n_sum);
}
END_TEST

START_TEST(damaged_entries_are_refused)
{
    static uint8_t good[TB__RUN_ENTRY_MAX], bad[64];
    size_t n = grid_entry(7, 1000, good);
    memset(bad, 0xff, sizeof bad);
    refuses(TB__RUN_CHUNKS, good, n, bad, sizeof bad);
    refuses(TB__RUN_CHUNKS, bad, sizeof bad, good, n);
    refuses(TB__RUN_CHUNKS, good, n - 1, good, n);
    refuses(TB__RUN_COUNTRIES, bad, sizeof bad, bad, sizeof bad);
}
END_TEST

START_TEST(a_damaged_entry_is_not_added)
{
    uint8_t bad[64];
    tb__pending pending = {0};
    tb_error err = {0};
    memset(bad, 0xff, sizeof bad);
    const tb__run_entry entry = {{1, 2}, bad, sizeof bad};
    ck_assert_int_eq(tb__pending_add(&pending, &entry, &err), TB_E_CORRUPT);
    ck_assert_uint_eq(pending.n, 0);
    tb__pending_release(&pending);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("entries");
    tcase_add_test(t, two_entries_join_to_their_sum);
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
