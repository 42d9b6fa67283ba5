/* The method: one struct per open file wraps the system's file. Writes go through, so that reading
 * sees them; before each, the sectors it touches are saved in one list for all files, newest last.
 * A sync drops the file's entries: they are durable. At the cut the list is walked from the newest
 * entry back. A sector that is decided to stay is not touched again by older entries, so that each
 * sector ends as one of its own states and different sectors as different ones: torn writes. */
#include "fault/faultvfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR    512
#define SYNCS_MAX (1 << 16)

typedef struct file file;
struct file {
    sqlite3_file base;
    file *next; /* all open files, for the cut */
    char path[512];
    bool created;          /* and not synced since */
    sqlite3_int64 durable; /* its length at the last sync */
    sqlite3_file real[];   /* the system's file, of its own size */
};

/* What a sector held before a write or before the file was cut short. A file's length is one value
 * of its file system, so cutting short happens for all its sectors or for none: they are a group.
 */
typedef struct entry {
    file *file;
    sqlite3_int64 sector;
    uint64_t group; /* 0: a write, decided for itself */
    bool kept;      /* at the cut: decided */
    uint8_t before[SECTOR];
} entry;

static struct {
    sqlite3_vfs vfs, *real;
    file *files;
    entry *entries;
    size_t n, cap;
    fault_mode mode;
    uint64_t at, count, random;
    uint64_t groups; /* given so far */
    bool happened, deaf;
    uint8_t syncs[SYNCS_MAX / 8]; /* a bit for each operation: fault_syncs */
} state;

static uint64_t next_random(void)
{
    uint64_t z = state.random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void *must(void *memory)
{
    if (!memory) {
        fputs("faultvfs: out of memory\n", stderr);
        abort();
    }
    return memory;
}

/* --- the cut --- */

static bool decided(const file *f, sqlite3_int64 sector, size_t after)
{
    for (size_t i = after + 1; i < state.n; i++)
        if (state.entries[i].kept && state.entries[i].file == f &&
            state.entries[i].sector == sector)
            return true;
    return false;
}

static void cut_power(void)
{
    /* In 64ths: sometimes nothing of the unsynced is kept, sometimes nearly all. */
    uint64_t keep = next_random() % 65, group = 0;
    bool group_kept = false;
    for (size_t i = state.n; i-- > 0;) {
        entry *e = &state.entries[i];
        if (e->group && e->group != group) group_kept = next_random() % 2;
        if (e->group) group = e->group;
        if (decided(e->file, e->sector, i)) continue;
        e->kept = e->group ? group_kept : next_random() % 64 < keep;
        if (!e->kept)
            e->file->real->pMethods->xWrite(e->file->real, e->before, SECTOR, e->sector * SECTOR);
    }
    for (file *f = state.files; f; f = f->next) {
        sqlite3_int64 size = 0;
        f->real->pMethods->xFileSize(f->real, &size);
        /* A longer length may not have been noted; a whole sector past it is no length of ours. */
        if (size > f->durable && next_random() % 2)
            f->real->pMethods->xTruncate(f->real, f->durable);
        if (f->created && next_random() % 2) unlink(f->path);
    }
    _exit(FAULT_EXIT);
}

/* --- counting --- */

/* The result of the fault for this operation, or SQLITE_OK to go on. */
static int operation(int error, bool needs_room, bool reads)
{
    if (reads && state.mode != FAULT_ERROR_ONCE && state.mode != FAULT_ERROR_ON) return SQLITE_OK;
    state.count++;
    if (error == SQLITE_IOERR_FSYNC && state.mode != FAULT_NONE && !state.at &&
        state.count < SYNCS_MAX)
        state.syncs[state.count / 8] |= (uint8_t)(1u << state.count % 8);
    bool now = state.at && state.count == state.at, since = state.at && state.count >= state.at;
    int result = SQLITE_OK;
    if (state.mode == FAULT_ERROR_ONCE && now) result = error;
    if (state.mode == FAULT_ERROR_ON && since) result = error;
    if (state.mode == FAULT_FULL_ON && since && needs_room) result = SQLITE_FULL;
    if (result != SQLITE_OK) state.happened = true;
    return result;
}

/* Power goes during an operation: what it did so far counts as done and not synced. */
static void may_cut(void)
{
    if (state.mode == FAULT_POWER && state.at && state.count == state.at) cut_power();
}

/* --- remembering --- */

static void remember(file *f, sqlite3_int64 sector, uint64_t group)
{
    if (state.n == state.cap) {
        state.cap = state.cap ? state.cap * 2 : 256;
        state.entries = must(realloc(state.entries, state.cap * sizeof *state.entries));
    }
    entry *e = &state.entries[state.n++];
    *e = (entry){f, sector, group, false, {0}};
    /* A short read past the end leaves zeros, which is what the file grows by. */
    f->real->pMethods->xRead(f->real, e->before, SECTOR, sector * SECTOR);
}

static void remember_span(file *f, sqlite3_int64 from, sqlite3_int64 to, uint64_t group)
{
    if (state.mode != FAULT_POWER) return;
    for (sqlite3_int64 s = from / SECTOR; s * SECTOR < to; s++)
        remember(f, s, group);
}

static void forget(const file *f)
{
    size_t n = 0;
    for (size_t i = 0; i < state.n; i++)
        if (state.entries[i].file != f) state.entries[n++] = state.entries[i];
    state.n = n;
}

/* --- a file --- */

#define REAL(p) (((file *)(p))->real)

static int on_close(sqlite3_file *p)
{
    file *f = (file *)p;
    /* What a closed file holds unsynced is taken as written: SQLite closes what it is done with. */
    forget(f);
    for (file **at = &state.files; *at; at = &(*at)->next) {
        if (*at != f) continue;
        *at = f->next;
        break;
    }
    return REAL(p)->pMethods->xClose(REAL(p));
}

static int on_read(sqlite3_file *p, void *out, int n, sqlite3_int64 at)
{
    int rc = operation(SQLITE_IOERR_READ, false, true);
    return rc ? rc : REAL(p)->pMethods->xRead(REAL(p), out, n, at);
}

static int on_write(sqlite3_file *p, const void *in, int n, sqlite3_int64 at)
{
    int rc = operation(SQLITE_IOERR_WRITE, true, false);
    if (rc != SQLITE_OK) return rc;
    remember_span((file *)p, at, at + n, 0);
    rc = REAL(p)->pMethods->xWrite(REAL(p), in, n, at);
    may_cut();
    return rc;
}

static int on_truncate(sqlite3_file *p, sqlite3_int64 size)
{
    file *f = (file *)p;
    int rc = operation(SQLITE_IOERR_TRUNCATE, false, false);
    if (rc != SQLITE_OK) return rc;
    sqlite3_int64 before = size;
    REAL(p)->pMethods->xFileSize(REAL(p), &before);
    remember_span(f, size, before, ++state.groups);
    rc = REAL(p)->pMethods->xTruncate(REAL(p), size);
    may_cut();
    return rc;
}

static int on_sync(sqlite3_file *p, int flags)
{
    file *f = (file *)p;
    (void)flags;
    int rc = operation(SQLITE_IOERR_FSYNC, false, false);
    if (rc != SQLITE_OK) return rc;
    may_cut();
    if (state.deaf) return SQLITE_OK;
    forget(f);
    f->created = false;
    return REAL(p)->pMethods->xFileSize(REAL(p), &f->durable);
}

static int on_file_size(sqlite3_file *p, sqlite3_int64 *size)
{
    return REAL(p)->pMethods->xFileSize(REAL(p), size);
}

static int on_lock(sqlite3_file *p, int level)
{
    return REAL(p)->pMethods->xLock(REAL(p), level);
}

static int on_unlock(sqlite3_file *p, int level)
{
    return REAL(p)->pMethods->xUnlock(REAL(p), level);
}

static int on_check_reserved(sqlite3_file *p, int *out)
{
    return REAL(p)->pMethods->xCheckReservedLock(REAL(p), out);
}

static int on_control(sqlite3_file *p, int op, void *arg)
{
    return REAL(p)->pMethods->xFileControl(REAL(p), op, arg);
}

static int on_sector_size(sqlite3_file *p)
{
    (void)p;
    return SECTOR;
}

/* None: SQLite must not count on writes being atomic, ordered or safe past the end. */
static int on_characteristics(sqlite3_file *p)
{
    (void)p;
    return 0;
}

static int on_shm_map(sqlite3_file *p, int region, int size, int extend, void volatile **out)
{
    int rc = operation(SQLITE_IOERR_SHMMAP, extend != 0, true);
    return rc ? rc : REAL(p)->pMethods->xShmMap(REAL(p), region, size, extend, out);
}

static int on_shm_lock(sqlite3_file *p, int offset, int n, int flags)
{
    return REAL(p)->pMethods->xShmLock(REAL(p), offset, n, flags);
}

static void on_shm_barrier(sqlite3_file *p)
{
    REAL(p)->pMethods->xShmBarrier(REAL(p));
}

static int on_shm_unmap(sqlite3_file *p, int remove_it)
{
    return REAL(p)->pMethods->xShmUnmap(REAL(p), remove_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_file_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

/* --- the file system --- */

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *p, int flags, int *out_flags)
{
    (void)vfs;
    file *f = (file *)p;
    p->pMethods = NULL;
    bool creates = (flags & SQLITE_OPEN_CREATE) && path && access(path, F_OK) != 0;
    int rc = operation(SQLITE_CANTOPEN, creates, !creates);
    if (rc != SQLITE_OK) return rc;
    memset(f, 0, sizeof *f);
    rc = state.real->xOpen(state.real, path, f->real, flags, out_flags);
    if (rc != SQLITE_OK) return rc;
    p->pMethods = &methods;
    if (path) snprintf(f->path, sizeof f->path, "%s", path);
    f->created = creates;
    f->real->pMethods->xFileSize(f->real, &f->durable);
    f->next = state.files;
    state.files = f;
    if (creates) may_cut();
    return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs, (void)sync_folder;
    int rc = operation(SQLITE_IOERR_DELETE, false, false);
    if (rc != SQLITE_OK) return rc;
    if (state.mode == FAULT_POWER && next_random() % 2) may_cut(); /* before it is gone */
    rc = state.real->xDelete(state.real, path, 0);
    may_cut();
    return rc;
}

static int on_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    (void)vfs;
    return state.real->xAccess(state.real, path, flags, out);
}

static int on_full_pathname(sqlite3_vfs *vfs, const char *path, int n, char *out)
{
    (void)vfs;
    return state.real->xFullPathname(state.real, path, n, out);
}

static int on_randomness(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    return state.real->xRandomness(state.real, n, out);
}

static int on_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs, (void)us;
    return 0; /* nobody else is there to wait for */
}

static int on_time(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    return state.real->xCurrentTime(state.real, out);
}

static int on_last_error(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    return state.real->xGetLastError(state.real, n, out);
}

void fault_register(void)
{
    if (state.real) return;
    state.real = sqlite3_vfs_find("unix");
    state.vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(file) + state.real->szOsFile,
        .mxPathname = state.real->mxPathname,
        .zName = FAULT_VFS,
        .xOpen = on_open,
        .xDelete = on_delete,
        .xAccess = on_access,
        .xFullPathname = on_full_pathname,
        .xRandomness = on_randomness,
        .xSleep = on_sleep,
        .xCurrentTime = on_time,
        .xGetLastError = on_last_error,
    };
    if (sqlite3_vfs_register(&state.vfs, 0) != SQLITE_OK) abort();
}

void fault_make_default(void)
{
    if (sqlite3_vfs_register(&state.vfs, 1) != SQLITE_OK) abort();
}

void fault_set_deaf(bool deaf)
{
    state.deaf = deaf;
}

void fault_arm(fault_mode mode, uint64_t at, uint64_t seed)
{
    state.mode = mode;
    state.at = at;
    state.count = 0;
    state.random = seed;
    state.happened = false;
    if (mode != FAULT_NONE && !at) memset(state.syncs, 0, sizeof state.syncs);
}

bool fault_syncs(uint64_t at)
{
    return at < SYNCS_MAX && state.syncs[at / 8] >> at % 8 & 1;
}

uint64_t fault_operations(void)
{
    return state.count;
}

bool fault_happened(void)
{
    return state.happened;
}
