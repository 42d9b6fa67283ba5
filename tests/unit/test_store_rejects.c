/* Refused lines: how long their text stays, in the file and beside it; the edge locations that help to
 * read a line. */
#include "store_fixture.h"

#include <sqlite3.h>

#define DAY_US INT64_C(86400000000)

static int64_t count(fixture *f, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return value;
}

/* One committed segment with so many refused lines of this text. */
static void refuse(fixture *f, int64_t now_us, const char *text, uint64_t lines)
{
    static uint64_t number;
    tb_error err = {0};
    number++;
    tb_segment segment = {.kind = TB_BATCH_LOG, .source = "t", .length = 1, .hash = {number, 1},
                          .head = {number, 2}, .rejected = lines, .final = true, .now_us = now_us};
    ok(tb_store_begin(f->store, &err));
    for (uint64_t line = 1; line <= lines; line++)
        ok(tb_store_add_reject(f->store, &(tb_refused){line, 1, "blank line", text, strlen(text), 0},
                               &err));
    ok(tb_store_add_segment(f->store, &segment, NULL, &err));
    ok(tb_store_commit(f->store, &err));
}

static uint64_t forget(fixture *f, int64_t now_us)
{
    tb_error err = {0};
    uint64_t segments = 0;
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_forget_rejects(f->store, now_us, &segments, &err));
    ok(tb_store_commit(f->store, &err));
    return segments;
}

#define LEFT "SELECT count(*) FROM reject WHERE length(text)>0"

START_TEST(text_goes_when_it_is_72_hours_old_and_the_rest_stays)
{
    fixture f;
    fixture_init(&f);
    refuse(&f, NOW_US, "one", 3);
    refuse(&f, NOW_US + DAY_US, "two", 2);
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US - 1), 0);
    ck_assert_int_eq(count(&f, LEFT), 5);
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US), 1);
    ck_assert_int_eq(count(&f, LEFT), 2);
    fixture_verify(&f);
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US), 0);
    ck_assert_uint_eq(forget(&f, NOW_US + 9 * DAY_US), 1);
    ck_assert_int_eq(count(&f, LEFT), 0);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM reject WHERE line>0 AND byte=1"
                               " AND reason='blank line'"),
                     5);
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM reject_due"), 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* In the midst of a segment too, and what is spent exactly is found to be spent the next time. */
START_TEST(text_goes_as_far_as_there_is_room)
{
    static const size_t rooms[] = {2, 1, 3, 9}, left[] = {3, 2, 0, 0}, rest[] = {0, 0, 1, 9};
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    refuse(&f, NOW_US, "one", 3);
    refuse(&f, NOW_US + 1, "two", 2);
    refuse(&f, NOW_US + DAY_US, "six", 1);
    for (size_t i = 0; i < 4; i++) {
        size_t room = rooms[i];
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_forget_some_rejects(f.store, NOW_US + 3 * DAY_US + 1, &room, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_uint_eq(room, rest[i]);
        ck_assert_int_eq(count(&f, LEFT " AND segment<3"), (int64_t)left[i]);
        fixture_verify(&f);
    }
    ck_assert_int_eq(count(&f, "SELECT count(*) FROM reject_due"), 1);
    ck_assert_int_eq(count(&f, LEFT), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(many_segments_go_at_once)
{
    fixture f;
    fixture_init(&f);
    for (int i = 0; i < 200; i++)
        refuse(&f, NOW_US + i, "one", 1);
    refuse(&f, NOW_US + 200, "", 0); /* it has nothing to forget */
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US + 149), 150);
    ck_assert_int_eq(count(&f, LEFT), 50);
    ck_assert_uint_eq(forget(&f, NOW_US + 4 * DAY_US), 50);
    fixture_release(&f);
}
END_TEST

START_TEST(what_a_wrong_clock_wrote_goes_at_once)
{
    fixture f;
    fixture_init(&f);
    refuse(&f, NOW_US + 400 * DAY_US, "one", 1);
    refuse(&f, NOW_US + 3600000000, "two", 1); /* an hour ahead may be a clock that was set */
    ck_assert_uint_eq(forget(&f, NOW_US), 1);
    ck_assert_int_eq(count(&f, LEFT), 1);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* Whether the file holds the text; a file that is not there does not. */
static bool holds(const char *path, const char *suffix, const char *text)
{
    char name[128];
    static char bytes[64 << 20];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    FILE *file = fopen(name, "rb");
    if (!file) return false;
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    ck_assert_uint_lt(n, sizeof bytes);
    fclose(file);
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

START_TEST(forgotten_text_is_in_no_file)
{
    static char text[2001];
    fixture f;
    fixture_init(&f);
    memset(text, 's', sizeof text - 1); /* pages of its own */
    refuse(&f, NOW_US, "a secret", 2);
    refuse(&f, NOW_US, text, 40);
    tb_store_checkpoint(f.store, true);
    refuse(&f, NOW_US, "a secret", 1);
    ck_assert(holds(f.path, "", "a secret"));
    ck_assert(holds(f.path, "-wal", "a secret"));
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US), 3);
    tb_store_scrub(f.store);
    ck_assert(!holds(f.path, "", "a secret"));
    ck_assert(!holds(f.path, "-wal", "a secret"));
    ck_assert(!holds(f.path, "", "ssssssss"));
    ck_assert(!holds(f.path, "-wal", "ssssssss"));
    fixture_release(&f);
}
END_TEST

START_TEST(a_store_that_is_never_idle_empties_its_wal_too)
{
    static char text[2001];
    fixture f;
    fixture_init(&f);
    memset(text, 's', sizeof text - 1);
    refuse(&f, NOW_US, text, 10000);
    ck_assert(holds(f.path, "-wal", "ssssssss"));
    ck_assert_uint_eq(forget(&f, NOW_US + 3 * DAY_US), 1);
    tb_store_checkpoint(f.store, false);
    ck_assert(!holds(f.path, "-wal", "ssssssss"));
    fixture_release(&f);
}
END_TEST

START_TEST(verify_misses_what_would_never_be_forgotten)
{
    static const char *const cases[] = {
        "DELETE FROM reject_due", "UPDATE reject_due SET added_us=added_us+1",
        "PRAGMA foreign_keys=OFF; INSERT INTO reject_due VALUES(1,99)"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        sqlite3 *db;
        tb_error err = {0};
        uint64_t differences = 0;
        fixture_init(&f);
        refuse(&f, NOW_US, "one", 2);
        fixture_verify(&f);
        tb_store_close(f.store);
        ck_assert_int_eq(sqlite3_open(f.path, &db), SQLITE_OK);
        ck_assert_int_eq(sqlite3_exec(db, cases[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        fixture_open(&f, false);
        ok(tb_store_verify(f.store, NULL, NULL, &differences, &err));
        ck_assert_uint_gt(differences, 0);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(known_edges_are_those_of_the_regions_by_price)
{
    static const char catalog[] =
        "{\"accounts\":[],\"regions\":["
        "{\"id\":1,\"code\":\"DE\",\"name\":\"EU: Frankfurt, DE\",\"billing\":\"EU\",\"price\":\"0.01\"},"
        "{\"id\":2,\"code\":\"AA\",\"name\":\"EU: A, A\",\"billing\":\"EU\",\"price\":\"0.009\"},"
        "{\"id\":3,\"code\":\"JH\",\"name\":\"Africa: J, ZA\",\"billing\":\"AF\",\"price\":\"0.06\"}]}";
    fixture f;
    const tb_directory *directory;
    tb_error err = {0};
    fixture_init(&f);
    ok(tb_store_directory(f.store, false, &directory, &err));
    const tb_known_edge *edges = directory->edges;
    ck_assert_uint_gt(directory->n_edges, 100); /* the built-in ones */
    for (size_t i = 1; i < directory->n_edges; i++)
        ck_assert_int_lt(memcmp(edges[i - 1].code, edges[i].code, TB_EDGE_MAX), 0);
    fixture_apply(&f, catalog, NOW_US, NULL);
    ok(tb_store_directory(f.store, false, &directory, &err));
    edges = directory->edges;
    ck_assert_uint_eq(directory->n_edges, 3);
    ck_assert_str_eq(edges[0].code, "AA");
    ck_assert_str_eq(edges[1].code, "DE");
    ck_assert_str_eq(edges[2].code, "JH");
    ck_assert_uint_eq(edges[0].rank, 2);
    ck_assert_uint_eq(edges[1].rank, 1);
    ck_assert_uint_eq(edges[2].rank, 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_rejects");
    TCase *t = tcase_create("rejects");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, text_goes_when_it_is_72_hours_old_and_the_rest_stays);
    tcase_add_test(t, text_goes_as_far_as_there_is_room);
    tcase_add_test(t, many_segments_go_at_once);
    tcase_add_test(t, what_a_wrong_clock_wrote_goes_at_once);
    tcase_add_test(t, forgotten_text_is_in_no_file);
    tcase_add_test(t, a_store_that_is_never_idle_empties_its_wal_too);
    tcase_add_test(t, verify_misses_what_would_never_be_forgotten);
    tcase_add_test(t, known_edges_are_those_of_the_regions_by_price);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
