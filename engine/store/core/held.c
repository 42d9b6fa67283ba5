/* Invariants: while a file is `written`, its lock_fd holds byte AT exclusively; a descriptor in the list is closed only
 * with its last user. */
#include "store/core/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define AT         ((off_t)1 << 56)              /* the byte that excludes */
#define WAL_AT     ((off_t)1 << 57)              /* the -wal's number is one less than the length of the lock from here on */
#define WAL_MASK   ((UINT64_C(1) << 56) - 1)
#define HOLDER_MAX (TB_WRITER_MAX - 1)
#define TRIES      8

typedef struct inode {
    dev_t dev;
    ino_t ino; /* 0: none */
} inode;

/* A database that this process has open. */
typedef struct file file;
struct file {
    file *next;
    inode is;
    int fd;      /* for reading */
    int lock_fd; /* for writing; -1: not opened yet */
    unsigned users;
    struct {
        void *is;
        void (*free_it)(void *shared);
    } shared[TB__SHARED_COUNT]; /* tb__held_share */
    bool written;               /* by a store of this process */
    uint64_t wal;               /* while written and known: the -wal's number, as told */
    char name[HOLDER_MAX + 1];   /* of that writer */
    char path[PATH_MAX];        /* that it writes under */
};

struct tb__held {
    file *file;
    bool writes;
    inode wal, shm; /* the writer's own */
    int wal_fd;     /* the writer's lock on the -wal */
    int mark_fd;    /* FILE.lock */
    char *wal_path, *shm_path;
    char path[]; /* real */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and its elements */
static file *files;

static inode inode_of(const struct stat *st)
{
    return (inode){st->st_dev, st->st_ino};
}

static bool same(inode a, inode b)
{
    return a.ino == b.ino && a.dev == b.dev;
}

/* --- locks --- */

static int change(int fd, short type, off_t start, off_t len)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
    return fcntl(fd, F_OFD_SETLK, &range);
}

/* The length of the stretch that another holds from there on; 0: none. */
static off_t held_from(int fd, off_t start)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    if (fcntl(fd, F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK || range.l_start != start)
        return 0;
    return range.l_len;
}

static bool is_held(int fd)
{
    return held_from(fd, AT) > 0;
}

/* Errors are ignored: the lock itself is enough. */
static void record_wal(int fd, uint64_t wal)
{
    if (change(fd, F_WRLCK, WAL_AT, (off_t)wal + 1) != 0) errno = 0;
}

static uint64_t wal_of(int fd)
{
    const off_t len = held_from(fd, WAL_AT);
    return len > 0 ? (uint64_t)len - 1 : 0;
}

/* The writer's name in FILE.lock; empty where the writer opened the file by another name. */
static void read_holder(const char *path, char name[HOLDER_MAX + 1])
{
    char mark[PATH_MAX + 8];
    snprintf(mark, sizeof mark, "%s.lock", path);
    const int fd = open(mark, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const ssize_t n = fd >= 0 ? pread(fd, name, HOLDER_MAX, 0) : 0;
    if (fd >= 0) close(fd);
    name[n > 0 ? n : 0] = 0;
    name[strcspn(name, "\n")] = 0;
}

static tb_code locked(const char *path, const char *name, tb_error *err)
{
    return tb_fail(err, TB_E_LOCKED, NULL, "%s is being written by %s.", path,
                   name[0] ? name : "another process");
}

static tb_code locked_by(const char *path, tb_error *err)
{
    char name[HOLDER_MAX + 1];
    read_holder(path, name);
    return locked(path, name, err);
}

static tb_code take(int fd, const char *path, tb_error *err)
{
    if (change(fd, F_WRLCK, AT, 1) == 0) return TB_OK;
    if (errno == EAGAIN || errno == EACCES) return locked_by(path, err);
    return tb_fail(err, TB_E_IO, NULL,
                   "%s: the file system gives no lock on it (%s); put it on a local disk.", path,
                   strerror(errno));
}

/* --- the files of this process --- */

static file *find_file(inode which)
{
    for (file *f = files; f; f = f->next)
        if (same(f->is, which)) return f;
    return NULL;
}

static tb_code is_missing(const char *path, tb_error *err)
{
    return tb_fail(err, TB_E_IO, NULL, "%s: %s. Make a database there with: tollbook init", path,
                   strerror(errno));
}

static tb_code add_file(int fd, inode is, file **ret, tb_error *err)
{
    file *f = calloc(1, sizeof *f);
    if (!f) {
        close(fd);
        return tb_no_memory(err);
    }
    *f = (file){.next = files, .is = is, .fd = fd, .lock_fd = -1};
    files = *ret = f;
    return TB_OK;
}

/* *ret: the file's entry, or NULL where another file took its name meanwhile. */
static tb_code try_file(const char *path, file **ret, tb_error *err)
{
    struct stat st;
    *ret = NULL;
    if (stat(path, &st) != 0) return is_missing(path, err);
    if (!S_ISREG(st.st_mode))
        return tb_fail(err, TB_E_NOT_OURS, NULL, "%s is not a regular file.", path);
    if ((*ret = find_file(inode_of(&st)))) return TB_OK;
    const inode expected = inode_of(&st);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ELOOP)) return TB_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        const int why = errno;
        if (fd >= 0) close(fd);
        return tb_fail(err, TB_E_IO, NULL, "%s: %s; check the path and its permissions.", path,
                       strerror(why));
    }
    if (same(inode_of(&st), expected)) return add_file(fd, expected, ret, err);
    if (!find_file(inode_of(&st)))
        close(fd); /* else it stays open: closing would drop SQLite's locks */
    return TB_OK;
}

static tb_code use_file(const char *path, file **ret, tb_error *err)
{
    tb_code code = TB_OK;
    for (int i = 0; !code && i < TRIES; i++) {
        code = try_file(path, ret, err);
        if (!code && *ret) {
            (*ret)->users++;
            return TB_OK;
        }
    }
    return code ? code : tb_fail(err, TB_E_BUSY, NULL, "%s changes all the time, try again.", path);
}

static void leave_file(file *f)
{
    if (--f->users > 0) return;
    file **at = &files;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    close(f->fd);
    if (f->lock_fd >= 0) close(f->lock_fd);
    for (int i = 0; i < TB__SHARED_COUNT; i++)
        if (f->shared[i].is) f->shared[i].free_it(f->shared[i].is);
    free(f);
}

void *tb__held_share(tb__held *held, tb__shared what, void *(*make)(void), void (*free_it)(void *shared))
{
    pthread_mutex_lock(&lock);
    if (!held->file->shared[what].is) held->file->shared[what].is = make();
    held->file->shared[what].free_it = free_it;
    void *shared = held->file->shared[what].is;
    pthread_mutex_unlock(&lock);
    return shared;
}

/* --- becoming the writer --- */

/* A second name has a -wal of its own, and its commits would be missed, or overwritten, by the next writer; no lock
 * prevents that once the first writer is gone. */
static tb_code check_names(const char *path, tb_error *err)
{
    struct statx x;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &x) != 0)
        return is_missing(path, err);
    if (x.stx_nlink > 1)
        return tb_fail(err, TB_E_LINKED, NULL,
                       "%s has %u names (hard links), and under each another -wal: remove the others "
                       "(`find FOLDER -samefile FILE` lists them), or write to a copy made by "
                       "`backup`.",
                       path, x.stx_nlink);
    if (x.stx_attributes & x.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
        return tb_fail(err, TB_E_LINKED, NULL,
                       "%s is mounted by itself, and its -wal would not be beside the file: mount "
                       "its folder.",
                       path);
    return TB_OK;
}

/* Why this user may not write a file of the database: by errno, and by the file's owner. */
static tb_code may_not_write(const char *path, tb_error *err)
{
    const int why = errno;
    struct stat st;
    if (why == ENOSPC || why == EDQUOT)
        return tb_fail(err, TB_E_DISK_FULL, NULL, "%s: %s; make room on its disk.", path, strerror(why));
    if (lstat(path, &st) != 0)
        return tb_fail(err, TB_E_READ_ONLY, NULL, "%s: %s; its folder must be writable by this user.", path, strerror(why));
    if (!S_ISREG(st.st_mode))
        return tb_fail(err, TB_E_READ_ONLY, NULL, "%s is no regular file (%s); remove it.", path, strerror(why));
    if (st.st_uid != geteuid())
        return tb_fail(err, TB_E_READ_ONLY, NULL,
                       "%s: %s; it belongs to user %u%s, and this is user %u: run this as that user, or give the file to this "
                       "one (chown).",
                       path, strerror(why), st.st_uid, st.st_uid == 0 ? " (root)" : "", geteuid());
    return tb_fail(err, TB_E_READ_ONLY, NULL, "%s is read-only (%s); give this user write permission.", path, strerror(why));
}

static tb_code open_to_write(file *f, const char *path, tb_error *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return may_not_write(path, err);
    if (fstat(fd, &st) == 0 && same(inode_of(&st), f->is)) {
        f->lock_fd = fd;
        return TB_OK;
    }
    if (!find_file(inode_of(&st))) close(fd); /* as in try_file */
    return tb_fail(err, TB_E_BUSY, NULL, "%s was just replaced, try again.", path);
}

static tb_code take_file(file *f, const char *path, const char *name, tb_error *err)
{
    if (f->written) return locked(path, f->name, err);
    tb_code code = f->lock_fd < 0 ? open_to_write(f, path, err) : TB_OK;
    if (!code) code = take(f->lock_fd, path, err);
    if (code) return code;
    f->written = true;
    f->wal = 0;
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->path, sizeof f->path, "%s", path);
    return TB_OK;
}

/* Makes FILE.lock. If root makes it, it is given to the database's owner, as SQLite's files beside it are; the owner
 * of an existing one is not changed. */
static int make_mark(const char *mark, const char *path)
{
    struct stat st;
    const int fd = open(mark, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Where the owner cannot be changed, the next writer of that user reports it. */
    if (fd >= 0 && geteuid() == 0 && (stat(path, &st) != 0 || fchown(fd, st.st_uid, st.st_gid) != 0)) errno = 0;
    return fd;
}

/* Opens FILE.lock. One with a second name (a hard link) is refused: it would be emptied under that name, too. */
static tb_code open_mark(const char *mark, const char *path, int *ret_fd, tb_error *err)
{
    struct stat st;
    int fd = make_mark(mark, path);
    if (fd < 0 && errno == EEXIST) fd = open(mark, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return may_not_write(mark, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1) {
        *ret_fd = fd;
        return TB_OK;
    }
    close(fd);
    return tb_fail(err, TB_E_READ_ONLY, NULL, "%s is no lock file of tollbook's; remove it.", mark);
}

/* FILE.lock: for older versions, and for people. */
static tb_code take_mark(const char *path, const char *name, int *ret_fd, tb_error *err)
{
    char mark[PATH_MAX + 8];
    int fd = -1;
    snprintf(mark, sizeof mark, "%s.lock", path);
    tb_code code = open_mark(mark, path, &fd, err);
    if (code) return code;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return locked_by(path, err);
    }
    /* The text only serves people; a full disk must not keep the writer out. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, name, strlen(name), 0) < 0 ||
        pwrite(fd, "\n", 1, (off_t)strlen(name)) < 0)
        errno = 0;
    *ret_fd = fd;
    return TB_OK;
}

static inode look_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? inode_of(&st) : (inode){0, 0};
}

/* Locks the existing -wal, if there is one. Before SQLite opens it, which would apply it to this file; and again after
 * that, when it may have been created. */
static tb_code take_wal(tb__held *held, tb_error *err)
{
    struct stat st;
    if (held->wal_fd >= 0 && same(look_at(held->wal_path), held->wal)) return TB_OK;
    if (held->wal_fd >= 0) close(held->wal_fd);
    held->wal = (inode){0, 0};
    held->wal_fd = open(held->wal_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (held->wal_fd < 0 && errno == ENOENT) return TB_OK;
    if (held->wal_fd < 0 || fstat(held->wal_fd, &st) != 0) return may_not_write(held->wal_path, err);
    held->wal = inode_of(&st);
    return take(held->wal_fd, held->path, err);
}

static tb_code become_writer(tb__held *held, const char *owner, tb_error *err)
{
    char name[HOLDER_MAX];
    snprintf(name, sizeof name, "%.150s (process %ld)", owner, (long)getpid());
    tb_code code = take_file(held->file, held->path, name, err);
    if (code) return code;
    held->writes = true;
    code = check_names(held->path, err);
    if (!code) code = take_wal(held, err);
    return code ? code : take_mark(held->path, name, &held->mark_fd, err);
}

/* A file of the name that this process writes would be read with that one's -wal. */
static tb_code check_not_another(const file *f, const char *path, tb_error *err)
{
    for (const file *other = files; other; other = other->next)
        if (other != f && other->written && strcmp(other->path, path) == 0)
            return tb_fail(err, TB_E_GONE, NULL, "%s is not the file that is written.", path);
    return TB_OK;
}

static tb_code new_held(const char *path, tb__held **ret, tb_error *err)
{
    char real[PATH_MAX];
    if (!realpath(path, real)) return is_missing(path, err);
    const size_t len = strlen(real);
    if (len + sizeof ".lock" > PATH_MAX)
        return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", path);
    tb__held *held = calloc(1, sizeof *held + 3 * (len + sizeof "-wal"));
    if (!held) return tb_no_memory(err);
    held->wal_fd = held->mark_fd = -1;
    held->wal_path = held->path + len + sizeof "-wal";
    held->shm_path = held->wal_path + len + sizeof "-wal";
    memcpy(held->path, real, len + 1);
    memcpy(mempcpy(held->wal_path, real, len), "-wal", sizeof "-wal");
    memcpy(mempcpy(held->shm_path, real, len), "-shm", sizeof "-shm");
    *ret = held;
    return TB_OK;
}

/* Whether another process writes another database with the -wal beside this one. */
static tb_code check_wal_free(const tb__held *held, tb_error *err)
{
    char name[HOLDER_MAX + 1];
    int fd = open(held->wal_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return TB_OK;
    const bool taken = is_held(fd) && !is_held(held->file->fd); /* a writer takes the -wal second */
    if (taken) read_holder(held->path, name);
    close(fd); /* SQLite has no locks on it that could be dropped */
    if (!taken) return TB_OK;
    return tb_fail(err, TB_E_LOCKED, NULL,
                   "%s: the -wal beside it belongs to the file that was here before, which is "
                   "being "
                   "written by %s: stop that process first.",
                   held->path, name[0] ? name : "another process");
}

static tb_code check_wal(const tb__held *held, tb_error *err)
{
    const file *f = held->file;
    char name[HOLDER_MAX + 1];
    const bool elsewhere = !f->written && is_held(f->fd);
    if (!f->written && !elsewhere) return check_wal_free(held, err);
    const uint64_t wal = elsewhere ? wal_of(f->fd) : f->wal;
    if (!wal || wal == (look_at(held->wal_path).ino & WAL_MASK)) return TB_OK;
    if (elsewhere && wal_of(f->fd) != wal) return TB_OK; /* its writer is just ending */
    if (elsewhere) read_holder(held->path, name);
    else snprintf(name, sizeof name, "%s", f->name);
    return tb_fail(err, TB_E_LOCKED, NULL,
                   "%s is being written by %s under another name, and its newest commits, which are in "
                   "the -wal of that name, cannot be read here: use that name.",
                   held->path, name[0] ? name : "another process");
}

tb_code tb__hold(const char *path, const char *owner, tb__held **ret_held, tb_error *err)
{
    tb__held *held = NULL;
    tb_code code = new_held(path, &held, err);
    if (code) return code;
    pthread_mutex_lock(&lock);
    code = use_file(held->path, &held->file, err);
    if (!code && owner) code = become_writer(held, owner, err);
    else if (!code && !(code = check_not_another(held->file, held->path, err)))
        code = check_wal(held, err); /* before SQLite makes a -wal of its own there */
    pthread_mutex_unlock(&lock);
    if (code) tb__let_go(held);
    else *ret_held = held;
    return code;
}

bool tb__held_writer(const tb__held *held, tb_writer *ret_writer)
{
    struct stat st;
    char mark[PATH_MAX + 8];
    pthread_mutex_lock(&lock);
    const bool ours = held->file->written, written = ours || is_held(held->file->fd);
    if (ours) snprintf(ret_writer->name, sizeof ret_writer->name, "%s", held->file->name);
    pthread_mutex_unlock(&lock);
    if (!written) return false;
    if (!ours) read_holder(held->path, ret_writer->name);
    if (!ret_writer->name[0]) snprintf(ret_writer->name, sizeof ret_writer->name, "another process");
    snprintf(mark, sizeof mark, "%s.lock", held->path); /* written when the writer began */
    ret_writer->since_us = stat(mark, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 : INT64_MIN;
    return true;
}

const char *tb__held_path(const tb__held *held)
{
    return held->path;
}

bool tb__is_held(const tb__held *held, const struct stat *st)
{
    return same(inode_of(st), held->file->is);
}

/* --- the WAL --- */

/* Records which -wal is the writer's, and the files beside the database. */
static tb_code settle_wal(tb__held *held, tb_error *err)
{
    tb_code code = take_wal(held, err);
    if (code) return code;
    held->shm = look_at(held->shm_path);
    held->file->wal = held->wal.ino & WAL_MASK;
    if (held->wal.ino) record_wal(held->file->lock_fd, held->file->wal);
    return TB_OK;
}

tb_code tb__hold_wal(tb__held *held, tb_error *err)
{
    pthread_mutex_lock(&lock);
    tb_code code = held->writes ? settle_wal(held, err) : check_wal(held, err);
    pthread_mutex_unlock(&lock);
    return code;
}

void tb__release_wal(tb__held *held)
{
    if (!held->writes) return;
    pthread_mutex_lock(&lock);
    held->file->wal = 0;
    change(held->file->lock_fd, F_UNLCK, WAL_AT, 0);
    pthread_mutex_unlock(&lock);
}

/* --- is it still there --- */

#define NOTHING_IS_WRITTEN "nothing more is written"

static tb_code is_gone(const char *path, bool other, tb_error *err)
{
    return tb_fail(
        err, TB_E_GONE, NULL,
        "%s %s; " NOTHING_IS_WRITTEN ". Put the same file back, or stop this process, put a "
        "backup there and start it again.",
        path, other ? "is not the file that is open" : "was removed or renamed while it was open");
}

static tb_code is_torn(const char *part, tb_error *err)
{
    return tb_fail(err, TB_E_GONE, NULL,
                   "%s was removed or replaced while it was open; " NOTHING_IS_WRITTEN ". Stop this "
                   "process, which saves what was committed in the database, and start it again.",
                   part);
}

tb_code tb__still_there(const tb__held *held, unsigned *ret_links, tb_error *err)
{
    struct stat st;
    if (stat(held->path, &st) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return is_gone(held->path, false, err);
        return tb_fail(err, TB_E_GONE, NULL, "%s: %s; " NOTHING_IS_WRITTEN ".", held->path,
                       strerror(errno));
    }
    if (!same(inode_of(&st), held->file->is)) return is_gone(held->path, true, err);
    if (held->wal.ino && !same(look_at(held->wal_path), held->wal))
        return is_torn(held->wal_path, err);
    if (held->shm.ino && !same(look_at(held->shm_path), held->shm))
        return is_torn(held->shm_path, err);
    if (ret_links) *ret_links = (unsigned)st.st_nlink;
    return TB_OK;
}

/* --- the end --- */

static void stop_writing(tb__held *held)
{
    /* The file's own lock goes last: who gets it finds the others free. */
    if (held->mark_fd >= 0 && ftruncate(held->mark_fd, 0) != 0) errno = 0;
    if (held->mark_fd >= 0) close(held->mark_fd);
    if (held->wal_fd >= 0) close(held->wal_fd);
    held->file->written = false;
    change(held->file->lock_fd, F_UNLCK, 0, 0);
}

void tb__let_go(tb__held *held)
{
    if (!held) return;
    pthread_mutex_lock(&lock);
    if (held->writes) stop_writing(held);
    if (held->file) leave_file(held->file);
    pthread_mutex_unlock(&lock);
    free(held);
}
