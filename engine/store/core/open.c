/* Opening and creating: the connection's settings (reliability (c)) and the checks that the file is ours.
 *
 * The writer holds the file for its whole life (held.h). SQLite's own locks would let a second
 * writer in between transactions; with 3.40.1 two connections that write or checkpoint at the same
 * instant can damage the WAL, so one connection in one process does both. */
#include "store/clickhouse/clickhouse.h"
#include "store/core/held.h"
#include "store/core/seal.h"
#include "store/money/billing.h"
#include "store/replica/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_SIZE 8192
#define WRITER_CACHE_KIB 32768
#define READER_CACHE_KIB 8192
#define WRITER_WAIT_MS 2000
#define READER_WAIT_MS 250
#define CHECKPOINT_PAGES 1000 /* of 8 KiB */
#define CUT_PAGES        2000 /* a WAL that grew beside a reader: its file becomes empty once the reader is gone */

/* --- the connection --- */

static const tb_store_options defaults = {0};

static const struct {
    int limit, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 256 << 20},  {SQLITE_LIMIT_SQL_LENGTH, 100000},
    {SQLITE_LIMIT_VDBE_OP, 250000},    {SQLITE_LIMIT_EXPR_DEPTH, 50},
    {SQLITE_LIMIT_COMPOUND_SELECT, 10}, {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 2000}, {SQLITE_LIMIT_ATTACHED, 0},
};

static const struct {
    int option, value;
} switches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},           {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},             {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
};

static int on_commit(void *ctx, sqlite3 *db, const char *schema, int pages)
{
    (void)db, (void)schema;
    ((tb_store *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

static tb_code configure(tb_store *store, const tb_store_options *options, tb_error *err)
{
    sqlite3 *db = store->db;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i].limit, limits[i].value);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(db, switches[i].option, switches[i].value, NULL);
    if (!store->write) sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(db, store->write ? WRITER_WAIT_MS : READER_WAIT_MS);
    if (store->write) sqlite3_wal_hook(db, on_commit, store);
    else sqlite3_wal_autocheckpoint(db, 0);
    int cache = options->cache_kib ? options->cache_kib
                                   : (store->write ? WRITER_CACHE_KIB : READER_CACHE_KIB);
    char sql[400];
    snprintf(sql, sizeof sql,
             "PRAGMA cache_size=-%d; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;"
             "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA journal_size_limit=67108864;"
             "%s",
             cache,
             store->write ? "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
                          : "PRAGMA query_only=ON;");
    return tb__exec(db, store->path, sql, err);
}

static int64_t memory_bound;

/* SQLite's memory statistics take one lock for all threads at every allocation. Only a bound reads
 * them. */
static void settle_memory(void)
{
    if (memory_bound) sqlite3_hard_heap_limit64(memory_bound);
    else sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void tb_store_bound_memory(int64_t bytes)
{
    memory_bound = bytes;
}

/* name: the path, or with SQLITE_OPEN_URI among the flags a URI. */
static tb_code connect_as(tb_store *store, const char *name, const tb_store_options *options,
                          int flags, tb_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, settle_memory); /* refused, harmlessly, where the program has begun to use SQLite */
    int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                             options->vfs);
    if (rc == SQLITE_OK) rc = tb__seal_register(store->db);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    tb_code code = tb__usage_open(store, err);
    return code ? code : configure(store, options, err);
}

static tb_code connect(tb_store *store, const tb_store_options *options, int flags, tb_error *err)
{
    return connect_as(store, tb__held_path(store->held), options, flags, err);
}

static tb_code pragma_int(tb_store *store, const char *sql, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(s);
        *ret = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
        rc = sqlite3_finalize(s);
    }
    return rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(store->db, rc, store->path, err);
}

/* Ours, and not newer than this program. */
static tb_code check_identity(tb_store *store, int64_t *ret_version, tb_error *err)
{
    int64_t application = 0, version = 0, tables = 0;
    tb_code code = pragma_int(store, "PRAGMA application_id", &application, err);
    if (!code) code = pragma_int(store, "PRAGMA user_version", &version, err);
    /* Reads page 1 and the WAL's header: a damaged file shows itself here. */
    if (!code) code = pragma_int(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (code) return code;
    if (application == 0 && tables == 0)
        return tb_fail(err, TB_E_NOT_OURS, NULL, "%s is empty: it is being made, or has lost what it held. A new one is made with: tollbook init", store->path);
    store->copied = application == TB_COPY_APPLICATION_ID;
    if (application != TB_APPLICATION_ID && !store->copied)
        return tb_fail(err, TB_E_NOT_OURS, NULL,
                       "%s is an SQLite file of another program; name one made by `init`.",
                       store->path);
    if (version > tb__schema_version)
        return tb_fail(err, TB_E_NEWER, NULL,
                       "%s has schema %lld, this tollbook knows up to %d; use the newer tollbook.",
                       store->path, (long long)version, tb__schema_version);
    *ret_version = version;
    return TB_OK;
}

int tb_store_schema(void)
{
    return tb__schema_version;
}

int tb_store_schema_of(const tb_store *store)
{
    return store->schema;
}

const char *tb_store_sqlite(void)
{
    return sqlite3_libversion();
}

static tb_code new_store(const char *path, const tb_store_options *options, tb_store **ret,
                         tb_error *err)
{
    tb_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path))) {
        free(store);
        return tb_no_memory(err);
    }
    store->plane = (tb__plane){&tb__file_counters, &tb__file_logs, &tb__file_events};
    store->write = options->write;
    store->clock = options->clock;
    store->copy = options->write && options->copy;
    store->control = options->control; /* until it is known where the usage is */
    store->opened_us = options->now_us;
    const char *owner = options->owner ? options->owner : "a writer";
    tb_code code = tb__hold(path, options->write ? owner : NULL, &store->held, err);
    if (code) tb_store_close(store);
    else *ret = store;
    return code;
}

/* After the first read, which opens the WAL: checks that SQLite opened the locked file. */
static tb_code check_held(tb_store *store, tb_error *err)
{
    int moved = 0;
    tb_code code = tb__hold_wal(store->held, err);
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!code && moved)
        code = tb_fail(err, TB_E_GONE, NULL, "%s was just replaced, try again.", store->path);
    if (!code) code = tb__still_there(store->held, &store->links, err);
    if (!code) return TB_OK;
    store->write = false; /* another file's WAL is not moved into this one, nor removed */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return code;
}

static tb_code exists_already(const char *path, tb_error *err)
{
    return tb_fail(err, TB_E_IO, NULL, "%s exists already; remove it or name another file.", path);
}

/* A creation that was cut off by a crash leaves a file without a schema, which may be replaced. Opened read-only, so
 * that any other file is not touched. */
static tb_code check_blank(const char *path, const tb_store_options *options, tb_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0)) return TB_OK;
    int64_t application = -1, tables = -1;
    tb_store_options reader = *options;
    tb_store *store = NULL;
    tb_error ignored;
    reader.write = false;
    bool blank = S_ISREG(st.st_mode) && !new_store(path, &reader, &store, &ignored) &&
                 !connect(store, &reader, SQLITE_OPEN_READONLY, &ignored) &&
                 !pragma_int(store, "PRAGMA application_id", &application, &ignored) &&
                 !pragma_int(store, "SELECT count(*) FROM sqlite_schema", &tables, &ignored);
    tb_store_close(store);
    if (blank && application == 0 && tables == 0) return TB_OK;
    return exists_already(path, err);
}

/* Makes an empty file, to lock it: an existing file is not changed, and a symbolic link is not followed. */
static tb_code make_file(const char *path, tb_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 || errno != ENOENT) return TB_OK;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0 && errno == EEXIST && stat(path, &st) == 0) return TB_OK; /* another creation was faster */
    if (fd < 0 && errno == ENOENT && lstat(path, &st) == 0)
        return tb_fail(err, TB_E_IO, NULL, "%s is a symbolic link to a file that is not there; remove it or name another file.",
                       path);
    if (fd < 0)
        return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_READ_ONLY, NULL,
                       "%s: %s; its folder must be there and writable by this user.", path,
                       strerror(errno));
    close(fd);
    return TB_OK;
}

/* Behind the lock: another creation may have been faster. */
static tb_code check_still_blank(tb_store *store, tb_error *err)
{
    int64_t application = 0, tables = 0;
    tb_code code = pragma_int(store, "PRAGMA application_id", &application, err);
    if (!code) code = pragma_int(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    return !code && (application || tables) ? exists_already(store->path, err) : code;
}

tb_code tb_store_create(const char *path, const tb_store_options *options, tb_error *err)
{
    tb_store_options writer = options ? *options : defaults;
    writer.write = true;
    if (!writer.owner) writer.owner = "init";
    tb_store *store = NULL;
    tb_code code = tb__check_name(path, err);
    if (!code) code = check_blank(path, &writer, err);
    if (!code) code = make_file(path, err);
    if (!code) code = new_store(path, &writer, &store, err);
    if (code) return code;
    code = connect(store, &writer, SQLITE_OPEN_READWRITE, err);
    if (!code) code = check_still_blank(store, err);
    char sql[100];
    snprintf(sql, sizeof sql, "PRAGMA page_size=%d; PRAGMA journal_mode=WAL;", PAGE_SIZE);
    if (!code) code = tb__exec(store->db, path, sql, err);
    if (!code) code = check_held(store, err);
    if (!code) code = tb__migrate(store, &writer, 0, err);
    tb_store_close(store);
    return code;
}

/* --- a folder that may not be written ---
 *
 * A reader of a WAL database makes -wal and -shm beside it, and cannot where the folder or the
 * medium is read-only. Such a file is read without locks if no process has it open: such a process
 * would have made both. */

static off_t size_beside(const char *path, const char *suffix)
{
    char name[PATH_MAX + 8];
    struct stat st;
    if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name) return -1;
    return stat(name, &st) == 0 ? st.st_size : -1;
}

static bool folder_is_closed(const char *path)
{
    char folder[PATH_MAX];
    const size_t len = (size_t)(strrchr(path, '/') + 1 - path);
    memcpy(folder, path, len);
    folder[len] = 0;
    return access(folder, W_OK) != 0;
}

static void put_uri(tb_buf *out, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    tb_buf_str(out, "file://");
    for (const char *p = path; *p; p++) {
        if (strchr(plain, *p)) tb_buf_add(out, p, 1);
        else tb_buf_fmt(out, "%%%02X", (unsigned char)*p);
    }
    tb_buf_add(out, "?immutable=1", sizeof "?immutable=1");
}

/* Opens a file that could not be opened normally again as immutable; returns `code` if that is not possible. */
static tb_code open_immutable(tb_store *store, const tb_store_options *options, tb_code code,
                               int64_t *ret_version, tb_error *err)
{
    const char *path = tb__held_path(store->held);
    tb_buf uri;
    if (options->write || (code != TB_E_READ_ONLY && code != TB_E_IO) || !folder_is_closed(path) ||
        size_beside(path, "-shm") >= 0 || size_beside(path, "-wal") > 0)
        return code;
    tb__usage_close(store);
    sqlite3_close(store->db);
    store->db = NULL;
    tb_buf_init(&uri, 3 * strlen(path) + 64, NULL);
    put_uri(&uri, path);
    code = tb_buf_check(&uri, err);
    if (!code) code = connect_as(store, uri.data, options, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    tb_buf_release(&uri);
    return code ? code : check_identity(store, ret_version, err);
}

tb_code tb_store_open(const char *path, const tb_store_options *options, tb_store **ret_store,
                      tb_error *err)
{
    tb_store *store = NULL;
    int64_t version = 0;
    if (!options) options = &defaults;
    tb_code code = options->write ? tb__check_name(path, err) : TB_OK;
    if (!code) code = new_store(path, options, &store, err);
    if (code) return code;
    code = connect(store, options,
                   options->write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, err);
    if (!code && options->write && sqlite3_db_readonly(store->db, "main") == 1)
        code = tb_fail(err, TB_E_READ_ONLY, NULL, "%s is read-only; give this user write permission.",
                       path);
    if (!code) code = check_identity(store, &version, err);
    if (code) code = open_immutable(store, options, code, &version, err);
    if (!code) code = check_held(store, err);
    store->schema = (int)version;
    if (!code && store->write) code = tb__check_primary(store, err);
    if (!code && version < tb__schema_version) code = tb__meet_older(store, options, err);
    if (!code) code = tb__prepare_ends(store, err);
    if (!code && store->write) code = tb__pieces_begin(store, err);
    if (!code) code = tb__clickhouse_open(store, options->usage, err);
    if (code) tb_store_close(store);
    else *ret_store = store;
    return code;
}

void tb_store_lend(tb_store *store, const tb_helper *helper)
{
    store->helper = helper ? *helper : (tb_helper){0};
}

void tb_store_close(tb_store *store)
{
    if (!store) return;
    if (store->db) {
        if (!sqlite3_get_autocommit(store->db)) tb_store_rollback(store);
        if (store->write) tb_store_checkpoint(store, true);
    }
    for (int i = 0; i < TB__SQL_COUNT; i++)
        sqlite3_finalize(store->statement[i]);
    tb__clickhouse_close(store->clickhouse);
    tb__capture_end(store);
    tb__usage_close(store);
    if (store->held) tb__release_wal(store->held);
    sqlite3_close_v2(store->db);
    tb__let_go(store->held);
    tb__late_drop(store);
    tb__proof_forget(store, true);
    free(store->late);
    free(store->places);
    free(store->located);
    tb__billing_free(store->billing);
    tb__read_books_free(store->read_books);
    tb__directory_forget(store);
    tb__log_joiner_free(store->joiner);
    tb__log_compaction_free(store->log_compaction);
    tb__event_ids_free(store->event_ids);
    tb__segment_fold_free(store);
    free(store->path);
    free(store);
}

/* --- the file --- */

bool tb_store_without_usage(const tb_store *store)
{
    return store->control;
}

tb_code tb_store_still_there(const tb_store *store, unsigned *ret_links, tb_error *err)
{
    return tb__still_there(store->held, ret_links, err);
}

unsigned tb_store_links(const tb_store *store)
{
    return store->links;
}

bool tb_store_writer(const tb_store *store, tb_writer *ret_writer)
{
    return tb__held_writer(store->held, ret_writer);
}

void tb_store_checkpoint(tb_store *store, bool all)
{
    const bool empty = all || store->scrub || store->wal_pages >= CUT_PAGES;
    if (!all && store->wal_pages < CHECKPOINT_PAGES) return;
    if (!all) sqlite3_busy_timeout(store->db, 0); /* readers are not waited for: there is a next time */
    int rc = sqlite3_wal_checkpoint_v2(
        store->db, NULL, empty ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (!all) sqlite3_busy_timeout(store->db, WRITER_WAIT_MS);
    if (rc != SQLITE_OK) return;
    store->wal_pages = 0;
    if (empty) store->scrub = false;
}

void tb_store_scrub(tb_store *store)
{
    if (store->scrub) tb_store_checkpoint(store, true);
}
