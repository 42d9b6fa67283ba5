/* Backup: the copy is the snapshot, whole, checked, and has its name only then. */
#include "store_fixture.h"

#include "store/core/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define HOUR 498600 /* 2026-11-18T00:00 */
#define DAY  (HOUR / 24)

static const tb_range one_day = {DAY, 1, false};
static const tb_view all_of_1 = {1, TB_ALL, TB_ALL};

typedef struct copy {
    fixture from, to;
    char path[128];
} copy;

static void fill(copy *c)
{
    static const char catalog[] = "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],"
                                  "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"}]}";
    fixture_init(&c->from);
    fixture_apply(&c->from, catalog, NOW_US, NULL);
    tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 1000);
    fixture_add(&c->from, &row, 1, 1);
    snprintf(c->path, sizeof c->path, "%s/copy.db", c->from.folder);
    c->to = c->from;
    c->to.store = NULL;
    snprintf(c->to.path, sizeof c->to.path, "%.90s", c->path);
}

static void release(copy *c)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".tollbook-partial"};
    char name[160];
    tb_store_close(c->to.store);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", c->path, ends[i]);
        unlink(name);
    }
    fixture_release(&c->from);
}

/* Names in the folder that begin with "copy.db", their number. */
static int files_of_copy(const copy *c)
{
    DIR *folder = opendir(c->from.folder);
    int n = 0;
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *e; (e = readdir(folder));)
        n += strncmp(e->d_name, "copy.db", 7) == 0;
    closedir(folder);
    return n;
}

typedef struct seen {
    uint64_t calls, done, total;
    uint64_t checked, read; /* calls while the copy is checked, pages read in the last */
    fixture *adds; /* during the first call: the writer goes on */
} seen;

static void on_progress(void *ctx, uint64_t done, uint64_t total)
{
    seen *s = ctx;
    if (total == 0) {
        ck_assert_uint_ge(done, s->read);
        s->read = done;
        s->checked++;
        return;
    }
    ck_assert_uint_eq(s->checked, 0);
    ck_assert_uint_ge(done, s->done);
    ck_assert_uint_le(done, total);
    s->done = done;
    s->total = total;
    s->calls++;
    if (!s->adds) return;
    tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 7);
    fixture_add(s->adds, &row, 1, 50 + s->calls);
}

START_TEST(the_copy_holds_what_the_store_held)
{
    copy c;
    seen s = {0};
    struct stat st;
    tb_error err = {0};
    fill(&c);
    ok(tb_store_backup(c.from.store, c.path, NULL, on_progress, &s, &err));
    ck_assert_uint_gt(s.calls, 0);
    ck_assert_uint_eq(s.done, s.total);
    ck_assert_uint_gt(s.checked, 0);
    ck_assert_int_eq(files_of_copy(&c), 1);
    ck_assert_int_eq(stat(c.path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    fixture_open(&c.to, false);
    ck_assert_uint_eq(total_of(&c.to, all_of_1, one_day, TB_M_BYTES), 1000);
    fixture_verify(&c.to);
    release(&c);
}
END_TEST

START_TEST(the_copy_can_be_served_and_written)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    ok(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err));
    fixture_open(&c.to, true);
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(c.to.store->db, "PRAGMA journal_mode", -1, &s, NULL), 0);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    ck_assert_str_eq((const char *)sqlite3_column_text(s, 0), "wal");
    sqlite3_finalize(s);
    tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 5);
    fixture_add(&c.to, &row, 1, 2);
    ck_assert_uint_eq(total_of(&c.to, all_of_1, one_day, TB_M_BYTES), 1005);
    ck_assert_uint_eq(total_of(&c.from, all_of_1, one_day, TB_M_BYTES), 1000);
    fixture_verify(&c.to);
    release(&c);
}
END_TEST

START_TEST(the_writer_goes_on_and_the_copy_stays_at_its_moment)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    ck_assert_int_eq(sqlite3_exec(c.from.store->db, /* more than one step's pages */
                                  "INSERT INTO extra VALUES('big',hex(zeroblob(1000000)))", NULL,
                                  NULL, NULL),
                     SQLITE_OK);
    fixture reader = c.from;
    fixture_open(&reader, false);
    seen s = {.adds = &c.from};
    ok(tb_store_backup(reader.store, c.path, NULL, on_progress, &s, &err));
    ck_assert_uint_gt(s.calls, 1);
    tb_store_close(reader.store);
    ck_assert_uint_eq(total_of(&c.from, all_of_1, one_day, TB_M_BYTES), 1000 + 7 * s.calls);
    fixture_open(&c.to, false);
    ck_assert_uint_eq(total_of(&c.to, all_of_1, one_day, TB_M_BYTES), 1000);
    release(&c);
}
END_TEST

START_TEST(what_is_still_in_the_wal_is_copied)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    struct stat st;
    char wal[160];
    snprintf(wal, sizeof wal, "%s-wal", c.from.path);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_gt(st.st_size, 0);
    fixture reader = c.from;
    fixture_open(&reader, false);
    ok(tb_store_backup(reader.store, c.path, NULL, NULL, NULL, &err));
    tb_store_close(reader.store);
    fixture_open(&c.to, false);
    ck_assert_uint_eq(total_of(&c.to, all_of_1, one_day, TB_M_BYTES), 1000);
    release(&c);
}
END_TEST

START_TEST(an_existing_file_is_not_touched)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    int fd = open(c.path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq((int)write(fd, "mine", 4), 4);
    close(fd);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err), TB_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "exists already"));
    struct stat st;
    ck_assert_int_eq(stat(c.path, &st), 0);
    ck_assert_int_eq(st.st_size, 4);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.from.path, NULL, NULL, NULL, &err), TB_E_IO);
    ck_assert_int_eq(files_of_copy(&c), 1);
    release(&c);
}
END_TEST

START_TEST(the_remains_of_a_killed_backup_are_no_hindrance)
{
    copy c;
    tb_error err = {0};
    char name[160];
    static const char *const ends[] = {".tollbook-partial", ".tollbook-partial-wal"};
    fill(&c);
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", c.path, ends[i]);
        int fd = open(name, O_CREAT | O_WRONLY, 0644);
        for (int k = 0; k < 5000; k++)
            ck_assert_int_eq((int)write(fd, "remains of another run", 22), 22);
        close(fd);
    }
    ok(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err));
    ck_assert_int_eq(files_of_copy(&c), 1);
    fixture_open(&c.to, false);
    fixture_verify(&c.to);
    release(&c);
}
END_TEST

static void leave(const copy *c, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", c->from.folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* Takes the file away and says whether it was there. */
static bool take_away(const copy *c, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", c->from.folder, name);
    return unlink(path) == 0;
}

START_TEST(the_remains_of_killed_backups_under_other_names_are_removed)
{
    static const char *const remains[] = {"1.db.tollbook-partial", "1.db.tollbook-partial-wal", "1.db.tollbook-partial-shm",
                                          "2.db.tollbook-partial"};
    static const char *const others[] = {"locked.tollbook-partial", "3.partial", ".tollbook-partial", "4.tollbook-partial.db",
                                         "empty.tollbook-partial"};
    char path[160], link_path[160];
    copy c;
    tb_error err = {0};
    fill(&c);
    for (size_t i = 0; i < sizeof remains / sizeof *remains; i++)
        leave(&c, remains[i], "half a copy");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        leave(&c, others[i], strncmp(others[i], "empty", 5) == 0 ? "" : "something else");
    snprintf(path, sizeof path, "%s/locked.tollbook-partial", c.from.folder);
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    snprintf(link_path, sizeof link_path, "%s/linked.tollbook-partial", c.from.folder);
    snprintf(path, sizeof path, "%s/3.partial", c.from.folder);
    ck_assert_int_eq(link(path, link_path), 0);
    ok(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err));
    for (size_t i = 0; i < sizeof remains / sizeof *remains; i++)
        ck_assert_msg(!take_away(&c, remains[i]), "%s is left", remains[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(take_away(&c, others[i]), "%s is removed", others[i]);
    ck_assert_int_eq(unlink(link_path), 0);
    close(fd);
    release(&c);
}
END_TEST

/* It would be removed by the next backup. */
START_TEST(no_database_has_the_name_of_a_partial_copy)
{
    static const char *const names[] = {"copy.db.tollbook-partial", ".tollbook-partial"};
    char path[160];
    copy c;
    tb_error err = {0};
    fill(&c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", c.from.folder, names[i]);
        ck_assert_int_eq(tb_store_backup(c.from.store, path, NULL, NULL, NULL, &err), TB_E_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "rename, the file otherwise"));
        ck_assert_int_eq(tb_store_create(path, NULL, &err), TB_E_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "rename, the file otherwise"));
        ck_assert(!take_away(&c, names[i]));
    }
    release(&c);
}
END_TEST

START_TEST(two_backups_to_one_name_do_not_mix)
{
    copy c;
    tb_error err = {0};
    char name[160];
    fill(&c);
    snprintf(name, sizeof name, "%s.tollbook-partial", c.path);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err), TB_E_BUSY);
    ck_assert_ptr_nonnull(strstr(err.message, "another backup"));
    close(fd);
    ok(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err));
    release(&c);
}
END_TEST

/* TO.tollbook-partial is emptied before it is written. */
START_TEST(a_file_of_somebody_elses_is_not_emptied)
{
    copy c;
    tb_error err = {0};
    char name[160];
    struct stat st;
    fill(&c);
    snprintf(name, sizeof name, "%s.tollbook-partial", c.path);
    ck_assert_int_eq(link(c.from.path, name), 0);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err), TB_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "in the way"));
    ck_assert_int_eq(stat(c.from.path, &st), 0);
    ck_assert_int_gt(st.st_size, 0);
    ck_assert_int_eq(unlink(name), 0);
    fixture_verify(&c.from);
    release(&c);
}
END_TEST

static void replace_source(void *ctx, uint64_t done, uint64_t total)
{
    copy *c = ctx;
    char away[160];
    (void)done, (void)total;
    snprintf(away, sizeof away, "%s.away", c->from.path);
    rename(c->from.path, away);
}

START_TEST(a_copy_of_what_is_gone_is_no_backup)
{
    copy c;
    tb_error err = {0};
    char away[160];
    fill(&c);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, replace_source, &c, &err), TB_E_GONE);
    ck_assert_int_ne(access(c.path, F_OK), 0);
    snprintf(away, sizeof away, "%s.away", c.from.path);
    ck_assert_int_eq(rename(away, c.from.path), 0);
    release(&c);
}
END_TEST

typedef struct stopped {
    tb_store *store;
    bool checked; /* stop while the copy is checked, not while it is made */
} stopped;

static void stop_at(void *ctx, uint64_t done, uint64_t total)
{
    const stopped *s = ctx;
    (void)done;
    if ((total == 0) == s->checked) tb_store_stop_backup(s->store);
}

START_TEST(a_backup_that_is_stopped_leaves_nothing_and_the_next_one_works)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    for (int i = 0; i < 2; i++) {
        stopped s = {c.from.store, i == 1};
        ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, stop_at, &s, &err), TB_E_STOPPED);
        ck_assert_int_eq(files_of_copy(&c), 0);
    }
    ok(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err));
    release(&c);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_named)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    ck_assert_int_eq(tb_store_backup(c.from.store, "/nonexistent/x.db", NULL, NULL, NULL, &err),
                     TB_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/x.db"));
    ck_assert_int_eq(sqlite3_get_autocommit(c.from.store->db), 1);
    release(&c);
}
END_TEST

START_TEST(a_copy_that_does_not_agree_with_itself_gets_no_name)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    sqlite3_exec(c.from.store->db, "UPDATE meta SET value=0 WHERE name='series_id'", NULL, NULL,
                 NULL);
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, NULL, NULL, NULL, &err), TB_E_DIFFERENT);
    ck_assert_ptr_nonnull(strstr(err.message, "newer than the last one given"));
    ck_assert_int_eq(files_of_copy(&c), 0);
    release(&c);
}
END_TEST

static bool looks_away;

static tb_code hard_to_please(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                              tb_error *err)
{
    ck_assert_ptr_nonnull(strstr(store->path, "copy.db.tollbook-partial"));
    ck_assert_ptr_nonnull(say);
    if (looks_away) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    say(ctx, "Invoice 7 is too high.");
    say(ctx, "Invoice 8 is too low.");
    *ret_differences = 2;
    return TB_OK;
}

START_TEST(a_copy_that_does_not_pass_the_given_check_gets_no_name)
{
    copy c;
    tb_error err = {0};
    fill(&c);
    looks_away = false;
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, hard_to_please, NULL, NULL, &err),
                     TB_E_DIFFERENT);
    ck_assert_ptr_nonnull(strstr(err.message, "itself: Invoice 7 is too high. Look"));
    ck_assert_int_eq(files_of_copy(&c), 0);
    looks_away = true;
    ck_assert_int_eq(tb_store_backup(c.from.store, c.path, hard_to_please, NULL, NULL, &err),
                     TB_E_NOMEM);
    ck_assert_int_eq(files_of_copy(&c), 0);
    release(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store backup");
    TCase *t = tcase_create("backup");
    tcase_add_test(t, the_copy_holds_what_the_store_held);
    tcase_add_test(t, the_copy_can_be_served_and_written);
    tcase_add_test(t, the_writer_goes_on_and_the_copy_stays_at_its_moment);
    tcase_add_test(t, what_is_still_in_the_wal_is_copied);
    tcase_add_test(t, an_existing_file_is_not_touched);
    tcase_add_test(t, the_remains_of_a_killed_backup_are_no_hindrance);
    tcase_add_test(t, the_remains_of_killed_backups_under_other_names_are_removed);
    tcase_add_test(t, no_database_has_the_name_of_a_partial_copy);
    tcase_add_test(t, two_backups_to_one_name_do_not_mix);
    tcase_add_test(t, a_file_of_somebody_elses_is_not_emptied);
    tcase_add_test(t, a_copy_of_what_is_gone_is_no_backup);
    tcase_add_test(t, a_backup_that_is_stopped_leaves_nothing_and_the_next_one_works);
    tcase_add_test(t, a_folder_that_is_not_there_is_named);
    tcase_add_test(t, a_copy_that_does_not_agree_with_itself_gets_no_name);
    tcase_add_test(t, a_copy_that_does_not_pass_the_given_check_gets_no_name);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
