/* The folder of a continuous backup: names and their order, what has expired, what a file of pieces is, and restoring. */
#include "store_fixture.h"
#include "tollbook/archive.h"

#define HOUR 498600 /* 2026-11-18T00:00 */
#define BASE TB_ARCHIVE_BASE
#define PIECES TB_ARCHIVE_PIECES

static const char catalog[] = "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"}]}";

static fixture f;

START_TEST(names_tell_what_a_file_has)
{
    static const struct {
        tb_archive_file file;
        const char *name;
    } cases[] = {
        {{BASE, INT64_C(1795097100250000), 42, 42}, "base-20261119T140500.250000Z-000000000042.db"},
        {{PIECES, INT64_C(1795097100000001), 43, 57}, "pieces-20261119T140500.000001Z-000000000043-000000000057.tbp"},
        {{PIECES, 0, 1, INT64_C(123456789012345)}, "pieces-19700101T000000.000000Z-000000000001-123456789012345.tbp"},
    };
    static const char *const others[] = {
        "", "base", "base-", "t.db", "base-20261119T140500.250000Z-000000000042.db.gz", "base-20261119T140500.250000Z-42.db",
        "base-20261319T140500.250000Z-000000000042.db", "base-20261119T140500.250000Z-000000000000.db",
        "pieces-20261119T140500.000001Z-000000000043-000000000042.tbp", "pieces-20261119T140500.000001Z-000000000043.tbp",
        "base-20261119T140500.250000Z-000000000042.db-wal", ".base-20261119T140500.250000Z-000000000042.db.17.part",
        "pieces-20261119T140500.000001Z-000000000043-00000000000000000000000000057.tbp", "base-20261119", "copy of base-x.db"};
    tb_archive_file read;
    char name[TB_ARCHIVE_NAME_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tb_archive_name(&cases[i].file, name);
        ck_assert_str_eq(name, cases[i].name);
        ck_assert(tb_archive_parse(name, &read));
        ck_assert_int_eq(tb_archive_compare(&read, &cases[i].file), 0);
        ck_assert_int_eq(read.last, cases[i].file.last);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!tb_archive_parse(others[i], &read), "%s", others[i]);
}
END_TEST

START_TEST(files_are_in_order_and_expire)
{
    static const tb_archive_file ordered[] = {
        {BASE, 10, 1, 1}, {PIECES, 20, 2, 3}, {PIECES, 40, 4, 6}, {BASE, 50, 5, 5}, {PIECES, 70, 7, 8}, {BASE, 70, 8, 8}, {PIECES, 90, 9, 9},
    };
    enum { N = sizeof ordered / sizeof *ordered };
    static const struct {
        int64_t since;
        size_t expired, base;
    } cases[] = {{9, 0, N}, {10, 0, 0}, {49, 0, 0}, {50, 2, 3}, {69, 2, 3}, {70, 4, 5}, {INT64_MAX, 4, 5}};
    tb_archive_file files[N];
    bool expired[N];
    for (size_t i = 0; i < N; i++)
        files[i] = ordered[(i * 3 + 4) % N];
    qsort(files, N, sizeof *files, tb_archive_compare);
    ck_assert_int_eq(memcmp(files, ordered, sizeof files), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_uint_eq(tb_archive_base(files, N, cases[i].since, 0), cases[i].base);
        ck_assert_uint_eq(tb_archive_expired(files, N, cases[i].since, expired), cases[i].expired);
        for (size_t k = 0; k < N; k++) /* the file with piece 6, which no base has, stays as long as the one after it */
            ck_assert_int_eq(expired[k], k < (cases[i].expired == 4 ? 4u : cases[i].expired));
    }
    ck_assert_uint_eq(tb_archive_base(files, N, 0, 7), 3);
    ck_assert_uint_eq(tb_archive_base(files, N, 0, 8), 5);
    ck_assert_uint_eq(tb_archive_expired(files, 0, 50, expired), 0);
}
END_TEST

static tb_code switch_on(tb_store *store, void *ctx, tb_error *err)
{
    (void)ctx;
    return tb_store_replicate(store, NOW_US, err);
}

static bool put(void *ctx, const tb_piece *piece)
{
    tb_piece_put(piece, ctx);
    return true;
}

/* A base of two pieces, and the bytes of a file with the pieces 3 to 5. */
static void make_file(tb_buf *ret, fixture *base)
{
    tb_error err = {0};
    tb_piece last;
    fixture_init_in_file(&f);
    ok(tb_store_write(f.store, switch_on, NULL, &err));
    fixture_apply(&f, catalog, NOW_US, NULL);
    *base = f;
    snprintf(base->path, sizeof base->path, "%.80s/base.db", f.folder);
    ok(tb_store_backup_base(f.store, base->path, NULL, NULL, &last, &err));
    for (uint64_t i = 1; i <= 3; i++) {
        const tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 1000 + i);
        fixture_add(&f, &row, 1, i);
    }
    tb_buf_init(ret, 1 << 20, NULL);
    tb_piece_put(&last, ret);
    ok(tb_store_pieces(f.store, last.number, put, ret, &err));
}

START_TEST(a_file_of_pieces_is_checked_to_its_last_byte)
{
    tb_buf bytes;
    fixture base;
    tb_piece before, last;
    tb_error err = {0};
    make_file(&bytes, &base);
    ok(tb_archive_check(bytes.data, bytes.len, &before, &last, &err));
    ck_assert_int_eq(before.number, 2);
    ck_assert_int_eq(last.number, 5);
    size_t whole = 0; /* cuts between two pieces, which the name of the file finds */
    for (size_t cut = 0; cut < bytes.len; cut++) {
        const tb_code code = tb_archive_check(bytes.data, cut, &before, &last, &err);
        whole += code == TB_OK;
        ck_assert(code == TB_OK || (code == TB_E_CORRUPT && err.byte > 0 && err.byte <= cut + 1));
        ck_assert_int_lt(last.number, 5);
    }
    ck_assert_uint_eq(whole, 2);
    for (size_t i = 0; i < bytes.len; i++) {
        if (i >= 24 && i < 40) continue; /* moment and version of the head, which nothing rests on */
        bytes.data[i] ^= 4;
        const tb_code code = tb_archive_check(bytes.data, bytes.len, &before, &last, &err);
        bytes.data[i] ^= 4;
        ck_assert_msg(code == TB_E_CORRUPT || (i >= 16 && i < 24), "byte %zu", i); /* a lower epoch before it may be */
    }
    tb_buf_release(&bytes);
    unlink(base.path);
    fixture_release(&f);
}
END_TEST

START_TEST(a_base_is_restored_up_to_a_piece)
{
    tb_buf bytes;
    fixture base;
    tb_error err = {0};
    tb_replication state;
    bool reached = false;
    make_file(&bytes, &base);
    fixture_open(&base, true);
    const tb_restore_end end = {.piece = 4};
    ok(tb_store_restore(base.store, bytes.data, bytes.len, &end, &reached, &err));
    ck_assert(reached);
    ok(tb_store_replication(base.store, &state, &err));
    ck_assert_int_eq(state.last.number, 4);
    ck_assert_int_eq(state.first, 4);
    ck_assert_uint_eq(total_of(&base, (tb_view){1, TB_ALL, TB_ALL}, (tb_range){HOUR / 24, 1, false}, TB_M_BYTES), 2003);
    const tb_restore_end all = {.at_us = INT64_MAX};
    ok(tb_store_restore(base.store, bytes.data, bytes.len, &all, &reached, &err));
    ck_assert(!reached);
    ok(tb_store_restored(base.store, &err));
    ok(tb_store_replication(base.store, &state, &err));
    ck_assert_int_eq(state.last.number, 0);
    ck_assert_uint_eq(total_of(&base, (tb_view){1, TB_ALL, TB_ALL}, (tb_range){HOUR / 24, 1, false}, TB_M_BYTES), 3006);
    fixture_verify(&base);
    ck_assert_int_eq(tb_store_restore(base.store, bytes.data, bytes.len, &all, &reached, &err), TB_E_DIFFERENT);
    tb_store_close(base.store);
    tb_buf_release(&bytes);
    unlink(base.path);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("archive");
    TCase *t = tcase_create("folder");
    tcase_add_test(t, names_tell_what_a_file_has);
    tcase_add_test(t, files_are_in_order_and_expire);
    tcase_add_test(t, a_file_of_pieces_is_checked_to_its_last_byte);
    tcase_add_test(t, a_base_is_restored_up_to_a_piece);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
