/* Chunks: what was packed is what is read, whole or in part; damage is an error. */
#include "store/usage/chunk.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define KEY tb__chunk_key(77, TB__GRAIN_HOURS, 20000)

static void put(tb_grid *grid, tb_metric metric, unsigned slot, uint64_t value)
{
    ck_assert_int_eq(tb_grid_add(grid, metric, slot, value, NULL), TB_OK);
}

static uint64_t at(const tb_grid *grid, tb_metric metric, unsigned slot)
{
    return grid->metrics & TB_METRIC_BIT(metric) ? grid->v[metric][slot] : 0;
}

/* Packs, and reads from a block of exactly that length, so that a sanitizer sees a read past it. */
static size_t round_trip(const tb_grid *in, tb_grid *out)
{
    uint8_t bytes[TB__CHUNK_MAX];
    size_t len = tb__chunk_encode(in, KEY, bytes);
    ck_assert_uint_le(len, TB__CHUNK_MAX);
    uint8_t *exact = malloc(len);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, len);
    memset(out, 0xee, sizeof *out);
    tb_error err = {0};
    ck_assert_msg(tb__chunk_decode(exact, len, KEY, out, &err) == TB_OK, "%s", err.message);
    free(exact);
    return len;
}

static void expect_equal(const tb_grid *a, const tb_grid *b)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        for (unsigned i = 0; i < TB_GRID_SLOTS; i++)
            ck_assert_uint_eq(at(a, (tb_metric)m, i), at(b, (tb_metric)m, i));
}

START_TEST(an_empty_grid_is_a_trailer)
{
    tb_grid g, back;
    tb_grid_clear(&g);
    ck_assert_uint_eq(round_trip(&g, &back), TB__CHUNK_TRAILER);
    ck_assert_uint_eq(back.metrics, 0);
    ck_assert_uint_eq(back.slots, 0);
}
END_TEST

START_TEST(columns_of_zeros_take_no_room)
{
    tb_grid g, back;
    tb_grid_clear(&g);
    put(&g, TB_M_BYTES, 2, 0);
    ck_assert_uint_eq(round_trip(&g, &back), TB__CHUNK_TRAILER);
    ck_assert_uint_eq(back.slots, 4); /* something was recorded for that hour */
}
END_TEST

START_TEST(every_width_comes_back)
{
    for (unsigned bits = 0; bits < 64; bits++) {
        tb_grid g, back;
        uint64_t top = bits ? UINT64_MAX >> (64 - bits) : 0;
        tb_grid_clear(&g);
        put(&g, TB_M_BYTES, 0, top);
        put(&g, TB_M_BYTES, 9, top / 3);
        put(&g, TB_M_BYTES, 31, 1);
        put(&g, TB_M_SAVED, 9, top);
        round_trip(&g, &back);
        expect_equal(&g, &back);
    }
}
END_TEST

START_TEST(a_full_grid_of_the_greatest_values_fits)
{
    tb_grid g, back;
    tb_grid_clear(&g);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        for (unsigned i = 0; i < TB_GRID_SLOTS; i++)
            put(&g, (tb_metric)m, i, i % 2 ? TB_COUNTER_MAX : 0);
    round_trip(&g, &back);
    expect_equal(&g, &back);
}
END_TEST

START_TEST(equal_values_cost_their_value_once)
{
    tb_grid g, back;
    tb_grid_clear(&g);
    for (unsigned i = 0; i < 24; i++)
        put(&g, TB_M_REQUESTS, i, 100);
    ck_assert_uint_eq(round_trip(&g, &back), TB__CHUNK_TRAILER + 2);
    expect_equal(&g, &back);
}
END_TEST

START_TEST(a_part_of_the_columns_and_slots_can_be_read)
{
    tb_grid g;
    uint8_t bytes[TB__CHUNK_MAX];
    uint64_t requests[30] = {0}, sizes[30] = {0};
    uint64_t *columns[TB_METRIC_COUNT] = {[TB_M_REQUESTS] = requests, [TB_M_SAVED] = sizes};
    tb_grid_clear(&g);
    for (unsigned i = 0; i < 24; i += 2)
        put(&g, TB_M_REQUESTS, i, 100 + i);
    put(&g, TB_M_BYTES, 4, 5); /* a column between, not wanted */
    put(&g, TB_M_SAVED, 6, 9);
    size_t len = tb__chunk_encode(&g, KEY, bytes);
    uint32_t wanted = TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_SAVED);
    ck_assert_int_eq(tb__chunk_columns(bytes, len, KEY, wanted, 4, 5, columns, 10, NULL), TB_OK);
    for (unsigned i = 0; i < 30; i++) {
        unsigned slot = i - 10 + 4;
        bool inside = i >= 10 && i < 15;
        ck_assert_uint_eq(requests[i], inside && slot % 2 == 0 ? 100 + slot : 0);
        ck_assert_uint_eq(sizes[i], inside && slot == 6 ? 9 : 0);
    }
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
    tb_grid g, back;
    uint8_t bytes[TB__CHUNK_MAX];
    tb_grid_clear(&g);
    for (unsigned i = 0; i < 24; i++) {
        put(&g, TB_M_REQUESTS, i, i * 17);
        put(&g, TB_M_BYTES, i, i * 100001);
    }
    size_t len = tb__chunk_encode(&g, KEY, bytes);
    for (size_t bit = 0; bit < len * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(tb__chunk_decode(bytes, len, KEY, &back, NULL), TB_E_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_int_eq(tb__chunk_decode(bytes, len, KEY, &back, NULL), TB_OK);
}
END_TEST

START_TEST(a_row_under_another_key_is_an_error)
{
    tb_grid g, back;
    tb_error err = {0};
    uint8_t bytes[TB__CHUNK_MAX];
    tb_grid_clear(&g);
    put(&g, TB_M_BYTES, 0, 1);
    size_t len = tb__chunk_encode(&g, KEY, bytes);
    ck_assert_int_eq(tb__chunk_decode(bytes, len, KEY + 1, &back, &err), TB_E_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.message, "series 77"));
    ck_assert_int_eq(tb__chunk_columns(bytes, len, KEY + 1, TB_METRIC_ALL, 0, 0, NULL, 0, NULL),
                     TB_E_CORRUPT);
}
END_TEST

START_TEST(every_shorter_row_is_an_error)
{
    tb_grid g, back;
    uint8_t bytes[TB__CHUNK_MAX];
    tb_grid_clear(&g);
    put(&g, TB_M_BYTES, 0, 123456789);
    size_t len = tb__chunk_encode(&g, KEY, bytes);
    for (size_t n = 0; n < len; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, bytes, n);
        ck_assert_int_eq(tb__chunk_decode(exact, n, KEY, &back, NULL), TB_E_CORRUPT);
        free(exact);
    }
    ck_assert_int_eq(tb__chunk_decode(NULL, 0, KEY, &back, NULL), TB_E_CORRUPT);
}
END_TEST

START_TEST(a_key_gives_back_its_parts)
{
    const int64_t series[] = {1, 2, INT64_C(1) << 44};
    const int64_t index[] = {0, 1, TB__INDEX_MAX};
    for (size_t s = 0; s < 3; s++)
        for (int grain = 0; grain < 2; grain++)
            for (size_t i = 0; i < 3; i++) {
                int64_t key = tb__chunk_key(series[s], grain, index[i]);
                ck_assert_int_eq(tb__key_series(key), series[s]);
                ck_assert_int_eq(tb__key_grain(key), grain);
                ck_assert_int_eq(tb__key_index(key), index[i]);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chunk");
    TCase *t = tcase_create("chunk");
    tcase_add_test(t, an_empty_grid_is_a_trailer);
    tcase_add_test(t, columns_of_zeros_take_no_room);
    tcase_add_test(t, every_width_comes_back);
    tcase_add_test(t, a_full_grid_of_the_greatest_values_fits);
    tcase_add_test(t, equal_values_cost_their_value_once);
    tcase_add_test(t, a_part_of_the_columns_and_slots_can_be_read);
    tcase_add_test(t, every_flipped_bit_is_found);
    tcase_add_test(t, a_row_under_another_key_is_an_error);
    tcase_add_test(t, every_shorter_row_is_an_error);
    tcase_add_test(t, a_key_gives_back_its_parts);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
