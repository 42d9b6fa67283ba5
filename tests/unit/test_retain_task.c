/* serve --retain: what the operation warns of reaches the operator, once for each change. */
#include "retain_fixture.h"

#include "api/retain.h"

#include <stdlib.h>
#include <unistd.h>

#define JANUARY 792 /* 2036-01 */

static FILE *err_file;
static int err_fd;

static void hear(void)
{
    err_file = tmpfile();
    ck_assert_ptr_nonnull(err_file);
    fflush(stderr);
    err_fd = dup(STDERR_FILENO);
    dup2(fileno(err_file), STDERR_FILENO);
}

/* What was said since hear(). */
static const char *heard(void)
{
    static char text[8192];
    fflush(stderr);
    dup2(err_fd, STDERR_FILENO);
    close(err_fd);
    rewind(err_file);
    text[fread(text, 1, sizeof text - 1, err_file)] = 0;
    fclose(err_file);
    return text;
}

/* A round as the job pool takes it. */
static const char *round_at(fixture *f, const periodic_task *task, int64_t month, int64_t hours)
{
    const int64_t now_us = tb_month_start_us(month) + hours * TB_US_PER_HOUR;
    bool again = false, more = false;
    tb_error err = {0};
    hear();
    do {
        more = false;
        ok(tb_store_begin(f->store, &err));
        const tb_code code = task->write(task->ctx, f->store, again, now_us, &more, &err);
        ck_assert_msg(code == TB_OK, "%s", err.message);
        ok(tb_store_commit(f->store, &err));
        again = true;
    } while (more);
    task->over(task->ctx, now_us, false);
    return heard();
}

START_TEST(warnings_are_said_once_a_change)
{
    fixture f;
    tb_error err = {0};
    periodic_task task;
    fill_years(&f, true);
    finalize_months(&f, FIRST, FIRST + 3, "");
    ok(api_retain("25,30,72h", &task, &err));
    const char *text = round_at(&f, &task, JANUARY, 4 * 24 + 12);
    ck_assert_msg(strstr(text, "retain: Months count back from ") != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "and not from this machine's clock (2036-01)"));
    ck_assert_ptr_nonnull(strstr(text, "retain: Account 1 keeps all from 2023-10 on"));
    ck_assert_str_eq(round_at(&f, &task, JANUARY, 4 * 24 + 13), ""); /* request logs alone */
    ck_assert_str_eq(round_at(&f, &task, JANUARY, 5 * 24), "");
    finalize_months(&f, FIRST + 4, FIRST + 4, "");
    text = round_at(&f, &task, JANUARY, 6 * 24);
    ck_assert_ptr_nonnull(strstr(text, "Account 1 keeps all from 2023-11 on"));
    ck_assert_ptr_null(strstr(text, "Months count back"));
    text = round_at(&f, &task, JANUARY + 1, 0);
    ck_assert_ptr_nonnull(strstr(text, "(2036-02)"));
    ck_assert_ptr_null(strstr(text, "keeps all"));
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("task");
    Suite *s = suite_create("retain task");
    SRunner *r = srunner_create(s);
    tcase_add_test(t, warnings_are_said_once_a_change);
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 300);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
