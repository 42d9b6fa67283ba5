/* Chunks, property: whatever the counters, packing and reading give them back; any part of the
 * columns and slots is that part of the whole; a merge of packed grids is the merge of the grids;
 * and damaged bytes are an error or (where the checksum is made to fit) stay within bounds. */
#include "store/usage/chunk.h"

#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define ROUNDS (20000 / TB_PART)

/* Values of every size, runs of equals and zeros among them. */
static uint64_t a_value(uint64_t base, unsigned bits)
{
    uint64_t v = bits ? random_bits() >> (64 - bits) : 0;
    v = below(8) == 0 ? 0 : base + v;
    return v > TB_COUNTER_MAX ? TB_COUNTER_MAX : v;
}

static void a_grid(tb_grid *grid)
{
    uint32_t metrics = (uint32_t)random_bits() & (uint32_t)random_bits() & TB_METRIC_ALL;
    uint32_t slots = below(3) ? (uint32_t)random_bits() : below(2) ? 0xffffff : (uint32_t)random_bits() & 0xff;
    unsigned failures = 0;
    tb_grid_clear(grid);
    for (unsigned m = 0; m < TB_METRIC_COUNT; m++) {
        if (!(metrics >> m & 1)) continue;
        unsigned bits = (unsigned)below(64);
        uint64_t base = below(2) ? random_bits() >> (1 + below(63)) : 0;
        for (unsigned i = 0; i < TB_GRID_SLOTS; i++)
            if (slots >> i & 1)
                failures += tb_grid_add(grid, (tb_metric)m, i, a_value(base, bits), NULL) != TB_OK;
    }
    ck_assert_uint_eq(failures, 0);
}

static uint64_t at(const tb_grid *grid, unsigned metric, unsigned slot)
{
    return grid->metrics & TB_METRIC_BIT(metric) ? grid->v[metric][slot] : 0;
}

/* One assertion a grid: the check library's own take most of the time otherwise. */
static bool equal(const tb_grid *a, const tb_grid *b)
{
    for (unsigned m = 0; m < TB_METRIC_COUNT; m++)
        for (unsigned i = 0; i < TB_GRID_SLOTS; i++)
            if (at(a, m, i) != at(b, m, i)) return false;
    return true;
}

static int64_t a_key(void)
{
    return tb__chunk_key((int64_t)below(UINT64_C(1) << 44), (int)below(2),
                         (int64_t)below(TB__INDEX_MAX + 1));
}

START_TEST(packing_loses_nothing)
{
    for (int round = 0; round < ROUNDS; round++) {
        tb_grid g, back;
        uint8_t bytes[TB__CHUNK_MAX];
        int64_t key = a_key();
        a_grid(&g);
        size_t len = tb__chunk_encode(&g, key, bytes);
        ck_assert_uint_le(len, sizeof bytes);
        uint8_t *exact = malloc(len);
        memcpy(exact, bytes, len);
        ck_assert_int_eq(tb__chunk_decode(exact, len, key, &back, NULL), TB_OK);
        ck_assert(equal(&g, &back));
        ck_assert_uint_eq(back.slots, g.slots);
        free(exact);
    }
}
END_TEST

START_TEST(a_part_is_that_part_of_the_whole)
{
    for (int round = 0; round < ROUNDS; round++) {
        tb_grid g;
        uint8_t bytes[TB__CHUNK_MAX];
        static uint64_t out[TB_METRIC_COUNT][TB_GRID_SLOTS + 8];
        uint64_t *columns[TB_METRIC_COUNT];
        int64_t key = a_key();
        a_grid(&g);
        size_t len = tb__chunk_encode(&g, key, bytes);
        unsigned first = (unsigned)below(TB_GRID_SLOTS);
        unsigned count = 1 + (unsigned)below(TB_GRID_SLOTS - first);
        uint32_t wanted = (uint32_t)random_bits() & TB_METRIC_ALL;
        memset(out, 0, sizeof out);
        for (unsigned m = 0; m < TB_METRIC_COUNT; m++)
            columns[m] = wanted >> m & 1 ? out[m] : NULL;
        ck_assert_int_eq(tb__chunk_columns(bytes, len, key, wanted, first, count, columns, 3, NULL),
                         TB_OK);
        unsigned wrong = 0;
        for (unsigned m = 0; m < TB_METRIC_COUNT; m++)
            for (unsigned i = 0; i < TB_GRID_SLOTS + 8; i++) {
                bool inside = (wanted >> m & 1) && i >= 3 && i < 3 + count;
                wrong += out[m][i] != (inside ? at(&g, m, first + i - 3) : 0);
            }
        ck_assert_uint_eq(wrong, 0);
    }
}
END_TEST

/* Random damage behind a checksum that fits: any answer, but within the bytes (for sanitizers). */
START_TEST(no_bytes_lead_outside)
{
    for (int round = 0; round < ROUNDS; round++) {
        tb_grid g, back;
        uint8_t bytes[TB__CHUNK_MAX];
        int64_t key = a_key();
        a_grid(&g);
        size_t len = tb__chunk_encode(&g, key, bytes);
        for (uint64_t i = 0, n = 1 + below(8); i < n; i++)
            bytes[below(len - 5)] ^= (uint8_t)random_bits();
        if (below(2)) { /* cut the front off: columns run into the trailer */
            size_t cut = below(len - TB__CHUNK_TRAILER + 1);
            memmove(bytes, bytes + cut, len - cut);
            len -= cut;
        }
        uint32_t sum = (uint32_t)XXH3_64bits_withSeed(bytes, len - 4, (uint64_t)key);
        memcpy(bytes + len - 4, &sum, 4);
        uint8_t *exact = malloc(len);
        memcpy(exact, bytes, len);
        tb_code code = tb__chunk_decode(exact, len, key, &back, NULL);
        ck_assert(code == TB_OK || code == TB_E_CORRUPT);
        free(exact);
    }
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("chunk");
    TCase *t = tcase_create("random grids");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, packing_loses_nothing);
    tcase_add_test(t, a_part_is_that_part_of_the_whole);
    tcase_add_test(t, no_bytes_lead_outside);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
