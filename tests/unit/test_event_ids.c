/* Ids of events: known once taken, in any grouping, after compaction, reopening and rollback; months that go; damage. */
#include "store_fixture.h"

#include <inttypes.h>

#include "store/logs/event_ids.h"
#include "tollbook/calendar.h"
#include "tollbook/retain.h"

#define MONTH (tb_month_from_us(NOW_US))

static int64_t number(fixture *f, const char *text)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_step(s) == SQLITE_ROW, "%s", text);
    const int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static void note_sentence(void *ctx, const char *sentence)
{
    const char **part = ctx;
    if (*part && strstr(sentence, *part)) *part = NULL;
}

/* part NULL: nothing is found; else it is in one of the sentences. */
static void verify_finds(fixture *f, const char *part)
{
    tb_error err = {0};
    const char *left = part;
    uint64_t differences = 0;
    ok(tb_store_verify(f->store, note_sentence, &left, &differences, &err));
    ck_assert_uint_eq(differences != 0, part != NULL);
    ck_assert_msg(!left, "nobody says %s", left);
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static tb_event_id id_of(uint64_t number, int64_t month)
{
    return (tb_event_id){.hash = {mixed(number + 1), mixed(~number)}, .account = 1 + (int64_t)(number % 3), .month = month,
                         .index = (uint32_t)number};
}

/* Looks up and adds the ids first, first + step, ...: how many were new. */
static size_t take(fixture *f, uint64_t first, uint64_t step, size_t n, int64_t month)
{
    tb_error err = {0};
    tb_event_id *ids = malloc(n * sizeof *ids);
    size_t fresh = 0;
    for (size_t i = 0; i < n; i++)
        ids[i] = id_of(first + i * step, month);
    ok(tb_store_look_up_event_ids(f->store, ids, n, &err));
    ok(tb_store_add_event_ids(f->store, ids, n, &err));
    for (size_t i = 0; i < n; i++)
        fresh += !ids[i].known;
    free(ids);
    return fresh;
}

static size_t commit(fixture *f, uint64_t first, uint64_t step, size_t n, int64_t month)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    const size_t fresh = take(f, first, step, n, month);
    f->store->dirty = true;
    ok(tb_store_commit(f->store, &err));
    return fresh;
}

START_TEST(an_id_is_known_once_taken_in_any_grouping)
{
    fixture f = {.store = NULL};
    fixture_init(&f);
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_uint_eq(commit(&f, i * 37, 1, 37, MONTH - (int64_t)(i % 2)), 37);
    ck_assert_int_eq(number(&f, "SELECT sum(ids) FROM event_id_run"), 3700);
    ck_assert_int_le(number(&f, "SELECT count(*) FROM event_id_run"), 40);
    ck_assert_int_ge(number(&f, "SELECT max(level) FROM event_id_run"), 1);
    for (uint64_t i = 0; i < 10; i++)
        ck_assert_uint_eq(commit(&f, i, 10, 370, MONTH), 0);
    ck_assert_uint_eq(commit(&f, 3690, 1, 20, MONTH), 10);
    tb_store_close(f.store);
    fixture_open(&f, true);
    ck_assert_uint_eq(commit(&f, 0, 1, 3711, MONTH + 1), 1);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(of_two_in_one_list_the_first_is_new)
{
    fixture f = {.store = NULL};
    tb_error err = {0};
    tb_event_id ids[3] = {id_of(5, MONTH), id_of(6, MONTH), id_of(5, MONTH)};
    fixture_init(&f);
    ids[0].index = 2;
    ids[2].index = 0;
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_look_up_event_ids(f.store, ids, 3, &err));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ids[i].known, ids[i].index == 2);
    ok(tb_store_add_event_ids(f.store, ids, 3, &err));
    tb_store_rollback(f.store);
    fixture_release(&f);
}
END_TEST

/* The run that comes next has the rolled-back one's id. */
START_TEST(what_is_rolled_back_is_new_again)
{
    fixture f = {.store = NULL};
    tb_error err = {0};
    fixture_init(&f);
    ck_assert_uint_eq(commit(&f, 0, 1, 500, MONTH), 500);
    ok(tb_store_begin(f.store, &err));
    ck_assert_uint_eq(take(&f, 500, 1, 500, MONTH), 500);
    tb_store_rollback(f.store);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ck_assert_uint_eq(take(&f, 1000, 1, 500, MONTH), 500);
    tb_store_back_to_mark(f.store);
    ck_assert_uint_eq(take(&f, 2000, 1, 500, MONTH), 500);
    ck_assert_uint_eq(take(&f, 500, 1, 1000, MONTH), 1000);
    ck_assert_uint_eq(take(&f, 0, 1, 2500, MONTH), 500);
    f.store->dirty = true;
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(commit(&f, 0, 1, 2500, MONTH), 0);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static size_t expire(fixture *f, int64_t now_us)
{
    tb_error err = {0};
    bool more = true;
    size_t steps = 0;
    for (; more; steps++) {
        ok(tb_store_begin(f->store, &err));
        ok(tb_store_expire_event_ids(f->store, now_us, &more, &err));
        f->store->dirty = true;
        ok(tb_store_commit(f->store, &err));
    }
    return steps;
}

static bool is_gone(fixture *f, int64_t month)
{
    tb_error err = {0};
    bool gone = false;
    ok(tb_store_event_ids_gone(f->store, month, &gone, &err));
    return gone;
}

static void add_run(fixture *f, int64_t account)
{
    char text[256];
    snprintf(text, sizeof text, "INSERT INTO month_run SELECT coalesce(max(id),0)+1,%" PRId64 ",%" PRId64 ",0,'nothing','',0,'',0 FROM"
             " month_run", account, MONTH);
    edit(f->store->db, text);
}

START_TEST(ids_go_35_days_after_a_month_that_is_settled)
{
    fixture f = {.store = NULL};
    const int64_t last_us = tb_month_start_us(MONTH + 1) + 35 * TB_US_PER_DAY;
    fixture_init(&f);
    commit(&f, 0, 1, 1000, MONTH);
    commit(&f, 1000, 1, 1000, MONTH + 1);
    expire(&f, last_us - 1);
    ck_assert(!is_gone(&f, MONTH));
    expire(&f, last_us);
    ck_assert_msg(!is_gone(&f, MONTH), "no account was billed");
    add_run(&f, 1);
    add_run(&f, 2);
    expire(&f, last_us);
    ck_assert_msg(!is_gone(&f, MONTH), "account 3 was not");
    add_run(&f, 3);
    expire(&f, last_us);
    ck_assert(is_gone(&f, MONTH));
    ck_assert(!is_gone(&f, MONTH + 1));
    ck_assert_int_eq(number(&f, "SELECT sum(ids) FROM event_id_run"), 1000);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM event_id_month WHERE account=0"), 1);
    expire(&f, last_us);
    fixture_release(&f);
}
END_TEST

START_TEST(damage_is_found)
{
    static const struct {
        const char *sql, *says;
    } of[] = {
        {"UPDATE event_id_page SET data=zeroblob(length(data)) WHERE id=(SELECT min(id) FROM event_id_page)", "of event ids is damaged"},
        {"DELETE FROM event_id_page WHERE id=(SELECT max(id) FROM event_id_page)", "of event ids is damaged"},
        {"INSERT INTO event_id_page SELECT max(id)+1,data FROM event_id_page", "belongs to no run"},
        {"DELETE FROM event_id_run", "event_id_run"},
        {"DELETE FROM event_id_month WHERE account=2", "event_id_month"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fixture f = {.store = NULL};
        fixture_init(&f);
        commit(&f, 0, 1, 2000, MONTH);
        edit(f.store->db, of[i].sql);
        verify_finds(&f, of[i].says);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(a_hash_depends_on_all_that_names_the_event)
{
    const uint8_t secret[TB_EVENT_SECRET] = {1}, other[TB_EVENT_SECRET] = {2};
    const tb_hash128 h = tb_event_id_hash(secret, 0, (tb_text){"ab", 2}, (tb_text){"c", 1});
    const tb_hash128 of[] = {tb_event_id_hash(other, 0, (tb_text){"ab", 2}, (tb_text){"c", 1}),
                             tb_event_id_hash(secret, 1, (tb_text){"ab", 2}, (tb_text){"c", 1}),
                             tb_event_id_hash(secret, 0, (tb_text){"a", 1}, (tb_text){"bc", 2}),
                             tb_event_id_hash(secret, 0, (tb_text){"ab", 2}, (tb_text){"d", 1})};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        ck_assert(tb__id_compare(h, of[i]) != 0);
    ck_assert(tb__id_compare(h, tb_event_id_hash(secret, 0, (tb_text){"ab", 2}, (tb_text){"c", 1})) == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event ids");
    TCase *tc = tcase_create("ids");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, an_id_is_known_once_taken_in_any_grouping);
    tcase_add_test(tc, of_two_in_one_list_the_first_is_new);
    tcase_add_test(tc, what_is_rolled_back_is_new_again);
    tcase_add_test(tc, ids_go_35_days_after_a_month_that_is_settled);
    tcase_add_test(tc, damage_is_found);
    tcase_add_test(tc, a_hash_depends_on_all_that_names_the_event);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
