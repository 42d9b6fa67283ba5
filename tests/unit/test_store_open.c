/* Opening: what is not a tollbook database is refused by name; one writer at a time; settings. */
#include "store_fixture.h"

#include "store/core/internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const tb_store_options writer = {.write = true, .owner = "first", .now_us = NOW_US};
static const tb_store_options reader = {.now_us = NOW_US};

static void refuse(const char *path, const tb_store_options *options, tb_code expected,
                   const char *part)
{
    tb_store *store = NULL;
    tb_error err = {0};
    tb_code code = tb_store_open(path, options, &store, &err);
    ck_assert_msg(code == expected, "%s instead of %s: %s", tb_code_name(code),
                  tb_code_name(expected), err.message);
    ck_assert_msg(strstr(err.message, part) != NULL, "%s", err.message);
    ck_assert_ptr_null(store);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, bytes, len), (int)len);
    close(fd);
}

static void raw_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int64_t pragma(fixture *f, const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static void close_store(fixture *f)
{
    tb_store_close(f->store);
    f->store = NULL;
}

START_TEST(a_new_database_is_marked_as_ours)
{
    fixture f;
    fixture_init(&f);
    ck_assert_int_eq(pragma(&f, "PRAGMA application_id"), TB_APPLICATION_ID);
    ck_assert_int_eq(pragma(&f, "PRAGMA user_version"), tb__schema_version);
    ck_assert_int_eq(pragma(&f, "SELECT count(*) FROM region"), (int64_t)tb_region_default_count);
    fixture_release(&f);
}
END_TEST

START_TEST(the_writer_is_durable_and_strict)
{
    fixture f;
    fixture_init(&f);
    ck_assert_int_eq(pragma(&f, "PRAGMA synchronous"), 2);
    ck_assert_int_eq(pragma(&f, "PRAGMA foreign_keys"), 1);
    ck_assert_int_eq(pragma(&f, "PRAGMA mmap_size"), 0);
    ck_assert_int_eq(pragma(&f, "PRAGMA trusted_schema"), 0);
    ck_assert_int_eq(
        pragma(&f, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='wal'"), 1);
    ck_assert_int_eq(pragma(&f, "PRAGMA wal_autocheckpoint"), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_reader_cannot_write_and_does_not_checkpoint)
{
    fixture f;
    fixture_init(&f);
    fixture r = f;
    fixture_open(&r, false);
    ck_assert_int_eq(pragma(&r, "PRAGMA wal_autocheckpoint"), 0);
    ck_assert_int_ne(sqlite3_exec(r.store->db, "UPDATE meta SET value=1", NULL, NULL, NULL), 0);
    tb_error err = {0};
    ck_assert_int_eq(tb_store_begin(r.store, &err), TB_E_READ_ONLY);
    tb_store_close(r.store);
    fixture_release(&f);
}
END_TEST

START_TEST(creating_over_an_existing_file_is_refused)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    ck_assert_int_eq(tb_store_create(f.path, &writer, &err), TB_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "exists already"));
    ck_assert_ptr_nonnull(strstr(err.message, f.path));
    fixture_release(&f);
}
END_TEST

START_TEST(what_a_cut_off_creation_left_is_created_anew)
{
    fixture f;
    tb_error err = {0};
    sqlite3 *db;
    fixture_init(&f);
    tb_store_close(f.store);
    ck_assert_int_eq(unlink(f.path), 0);
    ck_assert_int_eq(sqlite3_open(f.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; VACUUM", 0, 0, 0),
                     SQLITE_OK);
    sqlite3_close(db);
    ok(tb_store_create(f.path, &writer, &err));
    fixture_open(&f, true);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_second_writer_is_refused_and_told_who_writes)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    tb_error err = {0};
    ok(tb_store_open(f.path, &writer, &f.store, &err));
    refuse(f.path, &writer, TB_E_LOCKED, "is being written by first (process ");
    tb_store *another = NULL;
    ok(tb_store_open(f.path, &reader, &another, &err)); /* readers come and go */
    tb_store_close(another);
    refuse(f.path, &writer, TB_E_LOCKED, "first");
    close_store(&f);
    ok(tb_store_open(f.path, &writer, &f.store, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(the_lock_ends_with_its_process_however_that_ends)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        tb_store *store;
        tb_error err;
        if (tb_store_open(f.path, &writer, &store, &err) || write(ready[1], "x", 1) != 1) _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq((int)read(ready[0], &byte, 1), 1);
    refuse(f.path, &writer, TB_E_LOCKED, "first");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    fixture_open(&f, true);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* The name beside the database: in its folder, with this end. */
static const char *beside(const fixture *f, const char *end)
{
    static char name[2][160];
    static unsigned turn;
    char *out = name[turn++ % 2];
    snprintf(out, sizeof name[0], "%s%s", f->path, end);
    return out;
}

START_TEST(another_name_of_the_file_is_the_same_file)
{
    fixture f;
    fixture_init(&f);
    const char *link = beside(&f, ".link"), *hard = beside(&f, ".hard");
    ck_assert_int_eq(symlink(f.path, link), 0);
    refuse(link, &writer, TB_E_LOCKED, "is being written by test (process ");
    ck_assert_int_eq(unlink(beside(&f, ".lock")), 0);
    link = beside(&f, ".link");
    refuse(link, &writer, TB_E_LOCKED, "is being written by test (process ");
    hard = beside(&f, ".hard");
    ck_assert_int_eq(rename(link, hard), 0);
    ck_assert_int_eq(unlink(hard), 0);
    ck_assert_int_eq(linkat(AT_FDCWD, f.path, AT_FDCWD, hard, 0), 0);
    refuse(hard, &writer, TB_E_LOCKED, "is being written by test (process ");
    refuse(hard, &reader, TB_E_LOCKED, "under another name");
    close_store(&f);
    refuse(f.path, &writer, TB_E_LINKED, "2 names");
    fixture_open(&f, false); /* whoever only reads is told, and goes on */
    ck_assert_uint_eq(tb_store_links(f.store), 2);
    ck_assert_int_ne(access(beside(&f, ".hard-wal"), F_OK), 0); /* the refused left nothing */
    unlink(hard);
    fixture_release(&f);
}
END_TEST

/* Any name that a holder may have, 150 bytes of it, is told whole. */
START_TEST(the_holder_is_named_whatever_it_is_called)
{
    fixture f;
    char owner[151], expected[220];
    fixture_init(&f);
    close_store(&f);
    for (size_t len = 1; len < sizeof owner; len += len < 16 ? 1 : 67) {
        for (size_t i = 0; i < len; i++)
            owner[i] = (char)(i % 3 ? 'a' + (char)(i % 26) : '\xc3' - (char)(i % 60));
        owner[len] = 0;
        const tb_store_options named = {.write = true, .owner = owner, .now_us = NOW_US};
        int ready[2];
        char byte;
        ck_assert_int_eq(pipe(ready), 0);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            tb_store *store;
            tb_error err;
            if (tb_store_open(f.path, &named, &store, &err) || write(ready[1], "x", 1) != 1) _exit(1);
            alarm(60); /* where the test fails */
            for (;;)
                pause();
        }
        ck_assert_int_eq((int)read(ready[0], &byte, 1), 1);
        snprintf(expected, sizeof expected, "is being written by %s (process %ld).", owner, (long)child);
        refuse(f.path, &writer, TB_E_LOCKED, expected);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ready[0]);
        close(ready[1]);
    }
    fixture_open(&f, true);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* Whether this process holds a POSIX lock on the bytes by which SQLite says that it has the file open,
 * as another process sees it. */
static bool sqlite_has_it(const char *path)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct flock shared = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
        int fd = open(path, O_RDWR);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &shared) == 0 && shared.l_type != F_UNLCK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

START_TEST(no_open_and_close_drops_the_locks_of_another_store)
{
    fixture f;
    tb_error err = {0};
    tb_store *readers[2] = {NULL, NULL};
    fixture_init(&f);
    ck_assert(sqlite_has_it(f.path));
    refuse(f.path, &writer, TB_E_LOCKED, "test");
    ck_assert(sqlite_has_it(f.path));
    for (int i = 0; i < 2; i++)
        ok(tb_store_open(f.path, &reader, &readers[i], &err));
    tb_store_close(readers[0]);
    ck_assert(sqlite_has_it(f.path));
    ck_assert_int_eq(tb_store_create(f.path, &writer, &err), TB_E_IO);
    ck_assert(sqlite_has_it(f.path));
    close_store(&f); /* the writer; a reader is left */
    ck_assert(sqlite_has_it(f.path));
    ok(tb_store_open(f.path, &writer, &f.store, &err)); /* beside it */
    refuse(f.path, &writer, TB_E_LOCKED, "first");
    close_store(&f);
    ck_assert(sqlite_has_it(f.path));
    tb_store_close(readers[1]);
    ck_assert(!sqlite_has_it(f.path));
    fixture_release(&f);
}
END_TEST

static int move_away(void *ctx)
{
    const fixture *f = ctx;
    return rename(f->path, beside(f, ".away"));
}

/* Between the look before the COMMIT and its end. */
START_TEST(a_file_that_goes_during_the_commit_is_not_acknowledged)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    tb_key key = {.roles = 1, .revoked_us = INT64_MAX, .hash = {1}};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_key_add(f.store, &key, &err));
    sqlite3_commit_hook(f.store->db, move_away, &f);
    ck_assert_int_eq(tb_store_commit(f.store, &err), TB_E_GONE);
    ck_assert_ptr_nonnull(strstr(err.message, "removed or renamed"));
    sqlite3_commit_hook(f.store->db, NULL, NULL);
    tb_store_rollback(f.store);
    ck_assert_int_eq(rename(beside(&f, ".away"), f.path), 0);
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, 5);
    fixture_add(&f, &row, 1, 1); /* it goes on where it was put back */
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(nothing_is_written_into_a_file_that_is_gone)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    fixture f;
    tb_error err = {0};
    char name[160];
    fixture_init(&f);
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, 5);
    fixture_add(&f, &row, 1, 1);
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s", beside(&f, ends[i]));
        ck_assert_int_eq(rename(name, beside(&f, ".away")), 0);
        for (int other = 0; other < 2; other++) { /* none, then another of that name */
            if (other) put_file(name, "x", 1);
            uint64_t before, after;
            ok(tb_store_version(f.store, &before, &err));
            ok(tb_store_begin(f.store, &err));
            ok(add_rows(&f, &row, 1, &err));
            ck_assert_int_eq(tb_store_commit(f.store, &err), TB_E_GONE);
            ck_assert_ptr_nonnull(strstr(err.message, name));
            ck_assert_ptr_nonnull(strstr(err.message, "nothing more is written"));
            tb_store_rollback(f.store);
            ok(tb_store_version(f.store, &after, &err));
            ck_assert_uint_eq(after, before);
            ck_assert_int_eq(tb_store_still_there(f.store, NULL, &err), TB_E_GONE);
        }
        ck_assert_int_eq(rename(beside(&f, ".away"), name), 0);
        ok(tb_store_still_there(f.store, NULL, &err));
        fixture_add(&f, &row, 1, 2 + i);
    }
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* It would be read with the -wal of the one that is written. */
START_TEST(a_reader_does_not_open_what_took_the_place_of_what_is_written)
{
    fixture f, other;
    tb_error err = {0};
    fixture_init(&f);
    fixture_init(&other);
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, 5);
    fixture_add(&f, &row, 1, 1);
    close_store(&other);
    ck_assert_int_eq(rename(f.path, beside(&f, ".away")), 0);
    ck_assert_int_eq(rename(other.path, f.path), 0);
    refuse(f.path, &reader, TB_E_GONE, "is not the file that is written");
    ck_assert_int_eq(rename(f.path, other.path), 0);
    ck_assert_int_eq(rename(beside(&f, ".away"), f.path), 0);
    tb_store *store = NULL;
    ok(tb_store_open(f.path, &reader, &store, &err));
    tb_store_close(store);
    fixture_release(&other);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(without_options_the_defaults_hold)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    close_store(&f);
    ok(tb_store_open(f.path, NULL, &f.store, &err));
    ck_assert_int_eq(tb_store_begin(f.store, &err), TB_E_READ_ONLY);
    fixture_verify(&f);
    close_store(&f);
    unlink(f.path);
    ok(tb_store_create(f.path, NULL, &err));
    fixture_open(&f, true);
    ck_assert_int_eq(pragma(&f, "PRAGMA page_size"), 8192);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error_with_a_remedy)
{
    refuse("/tmp/tollbook-no-such-file.db", &reader, TB_E_IO, "tollbook init");
    refuse("/tmp/tollbook-no-such-file.db", &writer, TB_E_IO, "tollbook init");
    ck_assert_int_ne(access("/tmp/tollbook-no-such-file.db", F_OK), 0);
    ck_assert_int_ne(access("/tmp/tollbook-no-such-file.db.lock", F_OK), 0);
}
END_TEST

START_TEST(what_is_not_a_file_is_refused_without_waiting)
{
    fixture f;
    char name[128];
    fixture_init(&f);
    refuse(f.folder, &reader, TB_E_NOT_OURS, "not a regular file");
    refuse(f.folder, &writer, TB_E_NOT_OURS, "not a regular file");
    snprintf(name, sizeof name, "%s/fifo", f.folder);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    refuse(name, &reader, TB_E_NOT_OURS, "not a regular file");
    refuse(name, &writer, TB_E_NOT_OURS, "not a regular file");
    tb_error err = {0};
    ck_assert_int_eq(tb_store_create(name, &writer, &err), TB_E_IO);
    unlink(name);
    fixture_release(&f);
}
END_TEST

START_TEST(other_programs_files_are_refused_and_left_alone)
{
    static const tb_store_options *const both[] = {&reader, &writer};
    fixture f;
    fixture_init(&f);
    close_store(&f);
    for (size_t i = 0; i < 2; i++) {
        put_file(f.path,
                 "This is a text, not a database. It is longer than a header, "
                 "to be sure that it is read as one: 100 bytes at the least.",
                 118);
        refuse(f.path, both[i], TB_E_NOT_OURS, f.path);
        put_file(f.path, "", 0);
        refuse(f.path, both[i], TB_E_NOT_OURS, "is empty");
        raw_sql(f.path, "CREATE TABLE t(x); PRAGMA application_id=7");
        refuse(f.path, both[i], TB_E_NOT_OURS, "another program");
        struct stat st;
        ck_assert_int_eq(stat(f.path, &st), 0);
        ck_assert_int_gt(st.st_size, 0);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    raw_sql(f.path, "PRAGMA user_version=1000");
    refuse(f.path, &reader, TB_E_NEWER, "schema 1000");
    refuse(f.path, &writer, TB_E_NEWER, "schema 1000");
    fixture_release(&f);
}
END_TEST

/* Version 0 with our mark is what a crash in the middle of init leaves, or an older schema. */
START_TEST(the_writer_brings_an_older_schema_up_to_date)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    fixture_release(&f);
    fixture_init(&f);
    close_store(&f);
    unlink(f.path);
    char sql[120];
    snprintf(sql, sizeof sql, "PRAGMA journal_mode=WAL; PRAGMA application_id=%d;",
             TB_APPLICATION_ID);
    raw_sql(f.path, sql);
    refuse(f.path, &reader, TB_E_READ_ONLY, "older schema 0");
    fixture_open(&f, true);
    ck_assert_int_eq(pragma(&f, "PRAGMA user_version"), tb__schema_version);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_truncated_file_is_damage_not_a_crash)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    struct stat st;
    ck_assert_int_eq(stat(f.path, &st), 0);
    /* From a whole page on: half of an empty page holds nothing that could be missed. */
    for (off_t size = st.st_size - 8192; size > 0; size -= 4096 + 1234) {
        ck_assert_int_eq(truncate(f.path, size), 0);
        tb_store *store = NULL;
        tb_error err = {0};
        uint64_t differences = 0;
        tb_code code = tb_store_open(f.path, &reader, &store, &err);
        if (!code) code = tb_store_verify(store, NULL, NULL, &differences, &err);
        ck_assert_msg(code || differences, "%lld bytes", (long long)size);
        tb_store_close(store);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(what_this_user_may_not_write_is_named)
{
    fixture f;
    fixture_init(&f);
    close_store(&f);
    if (geteuid() != 0) { /* permissions do not bind the superuser */
        chmod(f.path, 0400);
        refuse(f.path, &writer, TB_E_READ_ONLY, f.path);
        chmod(f.path, 0600);
        chmod(f.folder, 0500);
        char name[160];
        snprintf(name, sizeof name, "%s.lock", f.path);
        unlink(name);
        refuse(f.path, &writer, TB_E_READ_ONLY, f.path);
        chmod(f.folder, 0700);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(a_failed_transaction_can_be_rolled_back_and_the_next_one_works)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, TB_COUNTER_MAX);
    ok(add_rows(&f, &row, 1, &err));
    ck_assert_int_eq(add_rows(&f, &row, 1, &err), TB_E_OVERFLOW);
    tb_store_rollback(f.store);
    tb_store_rollback(f.store); /* nothing to roll back: nothing happens */
    fixture_verify(&f);
    ck_assert_int_eq(pragma(&f, "SELECT count(*) FROM chunk"), 0);
    row.value[TB_M_BYTES] = 5;
    fixture_add(&f, &row, 1, 1);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_mark_loses_one_batch_and_keeps_the_others)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":1,\"account\":1,"
                  "\"name\":\"z\"}]}",
                  NOW_US, NULL);
    ok(tb_store_begin(f.store, &err));
    for (uint64_t i = 1; i <= 3; i++) {
        char edge[3] = {'A', (char)('A' + i), 0};
        tb_row row = row_of(1, edge, 498600, TB_M_BYTES, i);
        tb_segment segment = {.kind = TB_BATCH_BUCKETS,
                              .source = "t",
                              .length = 1,
                              .accepted = 1,
                              .hash = {i, i},
                              .head = {i, i},
                              .final = true};
        ok(tb_store_mark(f.store, &err));
        ok(add_rows(&f, &row, 1, &err));
        ok(tb_store_add_segment(f.store, &segment, NULL, &err));
        if (i == 2)
            tb_store_back_to_mark(f.store);
        else
            ok(tb_store_keep_mark(f.store, &err));
    }
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(
        total_of(&f, (tb_view){1, 1, TB_ALL}, (tb_range){20775, 1, false}, TB_M_BYTES), 4);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* What SQLite does by itself after some errors. */
START_TEST(a_mark_that_cannot_be_gone_back_to_loses_the_transaction)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":1,\"account\":1,"
                  "\"name\":\"z\"}]}",
                  NOW_US, NULL);
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, 5);
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(f.store, &err));
        ok(add_rows(&f, &row, 1, &err));
        ok(tb_store_mark(f.store, &err));
        const char *by_itself = i ? "RELEASE mark" : "ROLLBACK";
        ck_assert_int_eq(sqlite3_exec(f.store->db, by_itself, NULL, NULL, NULL), SQLITE_OK);
        tb_store_back_to_mark(f.store);
        ck_assert_int_eq(tb_store_mark(f.store, &err), TB_E_IO);
        ck_assert_ptr_nonnull(strstr(err.message, f.path));
        ck_assert_int_eq(tb_store_keep_mark(f.store, &err), TB_E_IO);
        ck_assert_int_eq(tb_store_commit(f.store, &err), TB_E_IO);
        tb_store_rollback(f.store);
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_mark(f.store, &err));
        ok(tb_store_keep_mark(f.store, &err));
        ok(tb_store_commit(f.store, &err));
    }
    ck_assert_uint_eq(
        total_of(&f, (tb_view){1, 1, TB_ALL}, (tb_range){20775, 1, false}, TB_M_BYTES), 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_checkpoint_empties_the_wal_into_the_file)
{
    fixture f;
    struct stat st;
    char wal[160];
    fixture_init(&f);
    tb_row row = row_of(1, "DE", 498600, TB_M_BYTES, 5);
    fixture_add(&f, &row, 1, 1);
    snprintf(wal, sizeof wal, "%s-wal", f.path);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_gt(st.st_size, 0);
    tb_store_checkpoint(f.store, false); /* below its bound: nothing */
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_gt(st.st_size, 0);
    tb_store_checkpoint(f.store, true);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

static off_t wal_size(const fixture *f)
{
    struct stat st;
    char wal[160];
    snprintf(wal, sizeof wal, "%s-wal", f->path);
    ck_assert_int_eq(stat(wal, &st), 0);
    return st.st_size;
}

START_TEST(a_wal_that_grew_beside_a_reader_is_cut_once_it_is_gone)
{
    fixture f;
    tb_error err = {0};
    tb_store *looking;
    uint64_t version;
    fixture_init(&f);
    ok(tb_store_open(f.path, &reader, &looking, &err));
    ok(tb_store_read_begin(looking, &err));
    ok(tb_store_version(looking, &version, &err));
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(sqlite3_exec(f.store->db, "CREATE TABLE much(b);INSERT INTO much VALUES(zeroblob(20000000))", NULL, NULL, NULL),
                     SQLITE_OK);
    ok(tb_store_commit(f.store, &err));
    for (int i = 0; i < 2; i++) {
        tb_store_checkpoint(f.store, false);
        ck_assert_int_gt(wal_size(&f), 20000000);
    }
    tb_store_read_end(looking);
    tb_store_checkpoint(f.store, false);
    ck_assert_int_eq(wal_size(&f), 0);
    tb_store_close(looking);
    fixture_release(&f);
}
END_TEST

START_TEST(closing_nothing_is_fine)
{
    tb_store_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store open");
    TCase *t = tcase_create("open");
    tcase_add_test(t, a_new_database_is_marked_as_ours);
    tcase_add_test(t, the_writer_is_durable_and_strict);
    tcase_add_test(t, a_reader_cannot_write_and_does_not_checkpoint);
    tcase_add_test(t, creating_over_an_existing_file_is_refused);
    tcase_add_test(t, what_a_cut_off_creation_left_is_created_anew);
    tcase_add_test(t, a_second_writer_is_refused_and_told_who_writes);
    tcase_add_test(t, the_lock_ends_with_its_process_however_that_ends);
    tcase_add_test(t, another_name_of_the_file_is_the_same_file);
    tcase_add_test(t, the_holder_is_named_whatever_it_is_called);
    tcase_add_test(t, no_open_and_close_drops_the_locks_of_another_store);
    tcase_add_test(t, a_file_that_goes_during_the_commit_is_not_acknowledged);
    tcase_add_test(t, nothing_is_written_into_a_file_that_is_gone);
    tcase_add_test(t, a_reader_does_not_open_what_took_the_place_of_what_is_written);
    tcase_add_test(t, without_options_the_defaults_hold);
    tcase_add_test(t, a_file_that_is_not_there_is_an_error_with_a_remedy);
    tcase_add_test(t, what_is_not_a_file_is_refused_without_waiting);
    tcase_add_test(t, other_programs_files_are_refused_and_left_alone);
    tcase_add_test(t, a_newer_schema_is_refused);
    tcase_add_test(t, the_writer_brings_an_older_schema_up_to_date);
    tcase_add_test(t, a_truncated_file_is_damage_not_a_crash);
    tcase_add_test(t, what_this_user_may_not_write_is_named);
    tcase_add_test(t, a_failed_transaction_can_be_rolled_back_and_the_next_one_works);
    tcase_add_test(t, a_mark_loses_one_batch_and_keeps_the_others);
    tcase_add_test(t, a_mark_that_cannot_be_gone_back_to_loses_the_transaction);
    tcase_add_test(t, a_checkpoint_empties_the_wal_into_the_file);
    tcase_add_test(t, a_wal_that_grew_beside_a_reader_is_cut_once_it_is_gone);
    tcase_add_test(t, closing_nothing_is_fine);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
