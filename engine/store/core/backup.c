/* Backup: one snapshot, page by page, into TO.tollbook-partial; the copy is checked on its own and gets its name
 * last, so that a file named TO is always whole. A backup that is killed leaves its partial copy, and the next
 * backup to the same folder removes it: the suffix is tollbook's own, so that no file of another program has it, no
 * database is made under such a name, and a running backup holds a lock on its copy.
 *
 * A read transaction holds the snapshot: writers go on meanwhile and the copy never starts again.
 * The copy's own pages need no journal, since an unfinished copy is deleted; they are flushed
 * once, before the check. */
#include "store/core/held.h"
#include "store/core/internal.h"

#include "tollbook/replica.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES_PER_STEP 64
#define STEPS_PER_LOOK 100000 /* of SQLite's machine: a few milliseconds */
#define PATH_TEXT_MAX  4096
#define PARTIAL        ".tollbook-partial"
#define APPLICATION_ID_AT 68 /* in the head of SQLite's file format */

static tb_code io_failed(tb_error *err, const char *path)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL,
                   "%s: %s; name a file in a folder that this user may write.", path,
                   strerror(errno));
}

static bool is_partial(const char *path)
{
    const size_t len = strlen(path), end = sizeof PARTIAL - 1;
    return len >= end && strcmp(path + len - end, PARTIAL) == 0;
}

tb_code tb__check_name(const char *path, tb_error *err)
{
    if (!is_partial(path)) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%.300s: a backup removes what is named *" PARTIAL " in its folder. Name, or rename, the file otherwise.",
                   path);
}

/* An existing file is overwritten, so it must be left from an earlier backup by this user: not the database itself,
 * nor a file with a second name, nor another user's, who could read the copy. Checked before it is opened: closing a
 * database file drops SQLite's locks on it. */
static tb_code check_free(const tb_store *store, const char *partial, tb_error *err)
{
    struct stat st;
    if (lstat(partial, &st) != 0) return TB_OK;
    if (S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() && !tb__is_held(store->held, &st)) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s is in the way; remove it or name another file.", partial);
}

/* Whether the locked file is still at its path, and is what check_free allows: the backup that held the lock before may
 * have renamed it, and then it is complete and no longer ours to write. */
static bool lies_there(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev && own.st_nlink == 1 && own.st_uid == geteuid();
}

/* A file for the copy that no other process writes while the lock is held. */
static tb_code open_partial(const char *path, int *ret_fd, tb_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return io_failed(err, path);
    tb_code code = TB_OK;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        code = tb_fail(err, TB_E_BUSY, NULL, "%s: another backup writes it.", path);
    else if (!lies_there(fd, path))
        code = tb_fail(err, TB_E_BUSY, NULL, "%s: another backup has just written it.", path);
    else if (fchmod(fd, 0600) != 0 || ftruncate(fd, 0) != 0)
        code = io_failed(err, path);
    if (code)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

/* The copy goes through the same VFS as the store. */
static const char *vfs_of(sqlite3 *db)
{
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    return vfs ? vfs->zName : NULL;
}

void tb_store_stop_backup(tb_store *store)
{
    atomic_store(&store->stop_copy, true);
}

static int copy_pages(tb_store *store, sqlite3_backup *backup, tb_progress progress, void *ctx)
{
    int rc;
    do {
        if (atomic_load(&store->stop_copy)) return SQLITE_INTERRUPT;
        rc = sqlite3_backup_step(backup, PAGES_PER_STEP);
        uint64_t total = (uint64_t)sqlite3_backup_pagecount(backup);
        if (progress && (rc == SQLITE_OK || rc == SQLITE_DONE))
            progress(ctx, total - (uint64_t)sqlite3_backup_remaining(backup), total);
    } while (rc == SQLITE_OK);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static tb_code copy_to(tb_store *store, const char *path, tb_progress progress, void *ctx,
                       tb_error *err)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path, &db, flags, vfs_of(store->db));
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    sqlite3_backup *backup = NULL;
    if (rc == SQLITE_OK && !(backup = sqlite3_backup_init(db, "main", store->db, "main")))
        rc = sqlite3_extended_errcode(db);
    if (backup) {
        rc = copy_pages(store, backup, progress, ctx);
        int end = sqlite3_backup_finish(backup);
        if (rc == SQLITE_OK) rc = end;
    }
    tb_code code = rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(db, rc, path, err);
    sqlite3_close(db);
    return code;
}

/* Writes it into the file's head. No process may have the file open. */
static tb_code put_application_id(const char *path, uint32_t id, bool sync, tb_error *err)
{
    const unsigned char bytes[] = {id >> 24, id >> 16 & 255, id >> 8 & 255, id & 255};
    const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool done = fd >= 0 && pwrite(fd, bytes, sizeof bytes, APPLICATION_ID_AT) == sizeof bytes && (!sync || fsync(fd) == 0);
    const tb_code code = done ? TB_OK : io_failed(err, path);
    if (fd >= 0) close(fd);
    return code;
}

tb_code tb_store_mark_base(const char *path, tb_error *err)
{
    return put_application_id(path, TB_COPY_APPLICATION_ID, true, err);
}

/* Opening the copy to check it makes an empty -wal and a -shm beside it. */
static void remove_beside(const char *partial)
{
    static const char *const ends[] = {"-wal", "-shm"};
    char name[PATH_TEXT_MAX];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if ((size_t)snprintf(name, sizeof name, "%s%s", partial, ends[i]) < sizeof name)
            unlink(name);
    }
}

typedef struct copy_check {
    const tb_store *of, *copy;
    tb_progress progress;
    void *ctx;
    char first[240]; /* the first difference, cut to an error message's room */
} copy_check;

static void keep_first(void *ctx, const char *sentence)
{
    copy_check *check = ctx;
    if (!check->first[0]) snprintf(check->first, sizeof check->first, "%s", sentence);
}

/* Called by SQLite now and then while it works. */
static int show_pages_read(void *ctx)
{
    copy_check *check = ctx;
    check->progress(check->ctx, tb_store_pages_read(check->copy), 0);
    return atomic_load(&check->of->stop_copy);
}

static tb_code check_copy(const char *path, tb_check check, copy_check *c, tb_error *err)
{
    tb_store *copy = NULL;
    uint64_t differences = 0;
    const tb_store_options reader = {.usage = c->of->client};
    tb_code code = tb_store_open(path, &reader, &copy, err);
    if (code) return code;
    c->copy = copy;
    if (c->progress) {
        c->progress(c->ctx, 0, 0);
        sqlite3_progress_handler(copy->db, STEPS_PER_LOOK, show_pages_read, c);
    }
    code = check(copy, keep_first, c, &differences, err);
    tb_store_close(copy);
    if (!code && differences)
        code = tb_fail(err, TB_E_DIFFERENT, NULL,
                       "The copy does not agree with itself: %s Look for more with: tollbook verify",
                       c->first);
    return code;
}

/* "backups/." of "backups/a.db". */
static void folder_of(const char *path, char folder[PATH_TEXT_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(folder, path, len);
    memcpy(folder + len, ".", 2);
}

/* Removes a partial copy that no backup writes. One without a byte may be a backup that has not taken its lock yet. */
static void remove_left(const tb_store *store, const char *partial)
{
    struct stat st;
    if (lstat(partial, &st) != 0 || !S_ISREG(st.st_mode) || tb__is_held(store->held, &st)) return;
    int fd = open(partial, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && lies_there(fd, partial) && fstat(fd, &st) == 0 && st.st_size > 0) {
        remove_beside(partial);
        unlink(partial);
    }
    close(fd);
}

/* Looks for the partial copies of killed backups beside `to`. */
static void remove_all_left(const tb_store *store, const char *to)
{
    char path[PATH_TEXT_MAX];
    const struct dirent *entry;
    folder_of(to, path);
    const size_t len = strlen(path) - 1; /* without the point */
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        const size_t name = strlen(entry->d_name);
        if (name < sizeof PARTIAL || len + name >= sizeof path || !is_partial(entry->d_name)) continue;
        memcpy(path + len, entry->d_name, name + 1);
        remove_left(store, path);
    }
    if (folder) closedir(folder);
}

/* The folder's entry for the new name must be durable too. */
static tb_code sync_folder(const char *path, tb_error *err)
{
    char folder[PATH_TEXT_MAX];
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        tb_code code = io_failed(err, folder);
        if (fd >= 0) close(fd);
        return code;
    }
    close(fd);
    return TB_OK;
}

static tb_code give_name(const char *partial, const char *to, tb_error *err)
{
    /* Not every file system knows how to refuse an existing name; then the earlier look decides. */
    if (renameat2(AT_FDCWD, partial, AT_FDCWD, to, RENAME_NOREPLACE) != 0 &&
        (errno != EINVAL || rename(partial, to) != 0))
        return io_failed(err, to);
    return sync_folder(to, err);
}

/* A transaction that has read something: only then does it hold its snapshot. */
static tb_code begin_snapshot(tb_store *store, tb_error *err)
{
    uint64_t version;
    tb_code code = tb_store_read_begin(store, err);
    return code ? code : tb_store_version(store, &version, err);
}

/* To the empty file there. */
static tb_code copy_snapshot(tb_store *store, const char *path, tb_progress progress, void *ctx, tb_error *err)
{
    const bool own_snapshot = sqlite3_get_autocommit(store->db);
    remove_beside(path); /* of one that was killed */
    tb_code code = own_snapshot ? begin_snapshot(store, err) : TB_OK;
    if (!code) code = copy_to(store, path, progress, ctx, err);
    if (own_snapshot) tb_store_read_end(store);
    if (!code) code = put_application_id(path, TB_APPLICATION_ID, false, err); /* of a standby's copy, too */
    if (atomic_load(&store->stop_copy)) code = tb_fail(err, TB_E_STOPPED, NULL, "The backup was stopped.");
    return code ? code : tb__still_there(store->held, NULL, err); /* the database must still be there */
}

tb_code tb__copy_file(tb_store *store, const char *to, tb_progress progress, void *ctx, tb_error *err)
{
    atomic_store(&store->stop_copy, false);
    const int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return io_failed(err, to);
    close(fd);
    const tb_code code = copy_snapshot(store, to, progress, ctx, err);
    if (code) unlink(to);
    return code;
}

tb_code tb_store_backup(tb_store *store, const char *to, tb_check check, tb_progress progress, void *ctx, tb_error *err)
{
    copy_check c = {.of = store, .progress = progress, .ctx = ctx};
    char partial[PATH_TEXT_MAX - 8]; /* room for "-wal" */
    struct stat st;
    int fd = -1;
    tb_code code = tb__check_name(to, err);
    if (code) return code;
    if ((size_t)snprintf(partial, sizeof partial, "%s" PARTIAL, to) >= sizeof partial)
        return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", to);
    if (lstat(to, &st) == 0)
        return tb_fail(err, TB_E_IO, NULL, "%s exists already; remove it or name another file.",
                       to);
    atomic_store(&store->stop_copy, false);
    code = check_free(store, partial, err);
    if (!code) code = open_partial(partial, &fd, err);
    if (code) return code;
    remove_all_left(store, to);
    code = copy_snapshot(store, partial, progress, ctx, err);
    if (!code && fsync(fd) != 0) code = io_failed(err, partial);
    if (!code) code = check_copy(partial, check ? check : tb_store_verify, &c, err);
    if (!code) code = tb__still_there(store->held, NULL, err); /* the database must still be there */
    if (atomic_load(&store->stop_copy)) code = tb_fail(err, TB_E_STOPPED, NULL, "The backup was stopped.");
    remove_beside(partial);
    if (!code) code = give_name(partial, to, err);
    if (code) unlink(partial);
    close(fd);
    return code;
}
