/* What makes a database not healthy, at its bounds. */
#include "store_fixture.h"
#include "tollbook/status.h"

#define HOUR_US (INT64_C(3600) * 1000000)

static uint32_t problems(fixture *f, const tb_machine *machine, const tb_status_bounds *bounds, int64_t now_us)
{
    tb_status status;
    tb_error err = {0};
    ok(tb_status_read(f->store, machine, bounds, now_us, &status, &err));
    return status.problems;
}

static const tb_status_bounds bounds = {.free_bytes = 100, .backup_us = 2 * HOUR_US, .verify_us = 3 * HOUR_US};
static const tb_machine good = {.disk_known = true, .disk_free = 100, .backup_us = NOW_US - 2 * HOUR_US,
                                .verify_us = NOW_US - 3 * HOUR_US, .base_us = INT64_MIN};

START_TEST(each_bound_holds_to_the_last_value)
{
    fixture f;
    fixture_init(&f);
    tb_machine m = good;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 0);
    m.disk_free--;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 1 << TB_STATUS_DISK);
    m.disk_known = false;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 0);
    m.backup_us--;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 1 << TB_STATUS_BACKUP);
    m.base_us = NOW_US - 2 * HOUR_US;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 0);
    m = good;
    m.verify_us--;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 1 << TB_STATUS_VERIFY);
    m.backup_us = m.verify_us = INT64_MIN;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 1 << TB_STATUS_BACKUP | 1 << TB_STATUS_VERIFY);
    const tb_status_bounds none = {.free_bytes = 0};
    ck_assert_uint_eq(problems(&f, &m, &none, NOW_US), 0);
    m = good;
    m.serving = true;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 1 << TB_STATUS_SERVER);
    m.ready = true;
    ck_assert_uint_eq(problems(&f, &m, &bounds, NOW_US), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(usage_that_stopped_is_a_problem_if_it_is_asked_for)
{
    fixture f;
    tb_error err = {0};
    tb_status_bounds asked = bounds;
    fixture_init(&f);
    ck_assert_uint_eq(problems(&f, &good, &bounds, NOW_US), 0);
    asked.intake_us = HOUR_US;
    ck_assert_uint_eq(problems(&f, &good, &asked, NOW_US), 1 << TB_STATUS_INTAKE);
    const tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "x", .length = 1, .now_us = NOW_US - HOUR_US, .final = true};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_add_segment(f.store, &segment, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(problems(&f, &good, &asked, NOW_US), 0);
    asked.intake_us--;
    ck_assert_uint_eq(problems(&f, &good, &asked, NOW_US), 1 << TB_STATUS_INTAKE);
    fixture_release(&f);
}
END_TEST

START_TEST(a_message_may_wait_for_half_an_hour)
{
    fixture f;
    tb_error err = {0};
    char id[TB_MESSAGE_ID + 1], bytes[] = "{}";
    const tb_buf body = {.data = bytes, .len = 2, .cap = sizeof bytes, .max = sizeof bytes};
    const tb_machine young = {.backup_us = NOW_US, .verify_us = NOW_US};
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_outbox_turn(f.store, true, &err));
    ok(tb_store_outbox_put(f.store, "usage.threshold", 1, NOW_US, &body, id, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(problems(&f, &young, &bounds, NOW_US + TB_STATUS_OUTBOX_US), 0);
    ck_assert_uint_eq(problems(&f, &young, &bounds, NOW_US + TB_STATUS_OUTBOX_US + 1), 1 << TB_STATUS_OUTBOX);
    fixture_release(&f);
}
END_TEST

START_TEST(the_writer_has_a_name)
{
    fixture f;
    tb_writer writer;
    char expected[64];
    fixture_init(&f);
    snprintf(expected, sizeof expected, "test (process %ld)", (long)getpid());
    ck_assert(tb_store_writer(f.store, &writer));
    ck_assert_str_eq(writer.name, expected);
    ck_assert_int_gt(writer.since_us, 0);
    tb_store_close(f.store);
    fixture_open(&f, false);
    ck_assert(!tb_store_writer(f.store, &writer));
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("status");
    tcase_add_test(t, each_bound_holds_to_the_last_value);
    tcase_add_test(t, usage_that_stopped_is_a_problem_if_it_is_asked_for);
    tcase_add_test(t, a_message_may_wait_for_half_an_hour);
    tcase_add_test(t, the_writer_has_a_name);
    Suite *s = suite_create("status");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
