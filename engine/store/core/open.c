/* Opening: the connection's settings (reliability (c)), the checks that the file is ours, creation
 * and migrations; transactions.
 *
 * The writer holds the file for its whole life (held.h). SQLite's own locks would let a second
 * writer in between transactions; with 3.40.1 two connections that write or checkpoint at the same
 * instant can damage the WAL, so one connection in one process does both. Before each COMMIT and
 * after it the writer checks that the open file is still at its path: no commit is acknowledged into a
 * deleted file. */
#include "store/clickhouse/clickhouse.h"
#include "store/core/held.h"
#include "store/core/seal.h"
#include "store/core/trees.h"
#include "store/logs/segment.h"
#include "store/money/billing.h"
#include "store/replica/capture.h"
#include "tollbook/buf.h"

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
#define STEPS_PER_TELL 100000 /* of SQLite's machine: a few milliseconds */
#define CHECKPOINT_PAGES 1000 /* of 8 KiB */
#define CUT_PAGES        2000 /* a WAL that grew beside a reader: its file becomes empty once the reader is gone */

/* --- the connection --- */

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
    if (application != TB_APPLICATION_ID)
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

/* --- creation and migrations --- */

static const tb_store_options defaults = {0};

static tb_code put_default_regions(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < tb_region_default_count; i++)
        code = tb__region_insert(store, &tb_region_default[i], err);
    return code;
}

/* What an older tollbook left in the nodes of the R*Trees. */
static tb_code wipe_trees(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (int tree = 0; !code && tree < TB__TREE_COUNT; tree++)
        code = tb__tree_wipe(store, (tb__tree)tree, err);
    return code;
}

/* An upgrade that somebody hears of. */
typedef struct upgrade {
    const tb_store_options *options;
    int from, reached, to;
} upgrade;

/* Also as SQLite's progress handler. */
static int tell_upgrade(void *ctx)
{
    const upgrade *u = ctx;
    if (u->from && u->options->upgrading)
        u->options->upgrading(u->options->upgrading_ctx, u->from, u->reached, u->to);
    return 0;
}

static tb_code run_steps(tb_store *store, upgrade *u, tb_error *err)
{
    char stamp[120];
    const int from = u->from;
    tb_code code = TB_OK;
    for (int version = from; !code && version < u->to; version++) {
        code = tb__exec(store->db, store->path, tb__migrations[version], err);
        if (!code && version == 0) code = put_default_regions(store, err);
        if (version + 1 < u->to) u->reached = version + 1; /* the last is reached once all of it is stored */
        if (!code) tell_upgrade(u);
    }
    if (!code && from == 1) code = tb__rungs_adopt(store, err);
    if (!code && from) code = wipe_trees(store, err);
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d; PRAGMA user_version=%d;", TB_APPLICATION_ID, u->to);
    if (!code) code = tb__exec(store->db, store->path, stamp, err);
    if (!code) store->schema = u->to;
    return code;
}

tb_code tb__upgrade_copy(tb_store *store, int to, tb_error *err)
{
    upgrade u = {&defaults, store->schema, store->schema, to};
    return run_steps(store, &u, err);
}

/* SQLite's check reports a page that it could not read, for lack of memory or by an I/O error, as if it were damaged:
 * the result code in that report; 0: none. */
static int read_failure(const char *found)
{
    static const char code[] = "error code=";
    const char *at = strstr(found, code);
    int rc = 0;
    if (at)
        for (at += sizeof code - 1; *at >= '0' && *at <= '9' && rc < 1 << 20; at++)
            rc = rc * 10 + (*at - '0');
    return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB ? 0 : rc;
}

/* Steps that met damage half-way would leave it in a file of another schema: it is looked for first. */
static tb_code check_pages(tb_store *store, tb_error *err)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &s, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(s);
    if (rc != SQLITE_ROW) {
        sqlite3_finalize(s);
        return tb__sqlite_fail(store->db, rc, store->path, err);
    }
    const char *found = (const char *)sqlite3_column_text(s, 0);
    const char *line = found ? strchr(found, '\n') : NULL; /* behind a heading */
    tb_code code = TB_OK;
    if (line) found = line + 1;
    if (!found) code = tb_no_memory(err);
    else if (read_failure(found)) code = tb__sqlite_fail(store->db, read_failure(found), store->path, err);
    else if (strcmp(found, "ok") != 0)
        code = tb_fail(err, TB_E_CORRUPT, NULL,
                       "%s is damaged and was not upgraded: %.160s. Restore a backup "
                       "(docs/operate/backup.md).",
                       store->path, found);
    sqlite3_finalize(s);
    return code;
}

/* Migrates the schema from `from` to the newest: all steps or none, so that an interrupted migration leaves the file of
 * the older version. */
static tb_code migrate(tb_store *store, const tb_store_options *options, int from, tb_error *err)
{
    upgrade u = {options, from, from, tb__schema_version};
    tell_upgrade(&u);
    if (options->upgrading) sqlite3_progress_handler(store->db, STEPS_PER_TELL, tell_upgrade, &u);
    tb_code code = from ? check_pages(store, err) : TB_OK;
    if (!code) code = tb__exec(store->db, store->path, "BEGIN IMMEDIATE", err);
    if (!code) code = run_steps(store, &u, err);
    if (!code && from) code = tb__piece_of_schema(store, err);
    if (!code) code = tb__exec(store->db, store->path, "COMMIT", err);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    if (code) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        store->schema = from;
    }
    u.reached = tb__schema_version;
    if (!code) tell_upgrade(&u);
    return code;
}

tb_code tb__upgrade(tb_store *store, tb_error *err)
{
    return store->schema < tb__schema_version ? migrate(store, &defaults, store->schema, err) : TB_OK;
}

/* A file of an older schema. A copy stays as it is: its primary's piece, or its promotion, upgrades it. */
static tb_code meet_older(tb_store *store, const tb_store_options *options, tb_error *err)
{
    if (options->copy && store->schema >= tb__schema_copied) return TB_OK;
    if (store->copy)
        return tb_fail(err, TB_E_DIFFERENT, NULL,
                       "%s is a copy with the older schema %d. Upgrade its primary, remove the copy and start again: it is "
                       "made anew.",
                       store->path, store->schema);
    if (store->write) {
        const tb_code code = tb__standbys_know(store, tb__schema_version, err);
        return code ? code : migrate(store, options, store->schema, err);
    }
    return tb_fail(err, TB_E_READ_ONLY, NULL,
                   "%s has the older schema %d. Back it up with the tollbook that wrote "
                   "it; any writing command of this one upgrades it.",
                   store->path, store->schema);
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
    if (!code) code = migrate(store, &writer, 0, err);
    tb_store_close(store);
    return code;
}

/* What ends a transaction is prepared while there is memory, so that it can end without. */
static tb_code prepare_ends(tb_store *store, tb_error *err)
{
    static const tb__statement ends[] = {TB__SQL_COMMIT, TB__SQL_ROLLBACK, TB__SQL_KEEP_MARK,
                                         TB__SQL_BACK_TO_MARK};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof ends / sizeof *ends; i++) {
        sqlite3_stmt *s;
        code = tb__sql(store, ends[i], &s, err);
    }
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
    if (!code && version < tb__schema_version) code = meet_older(store, options, err);
    if (!code) code = prepare_ends(store, err);
    if (!code && store->write) code = tb__superseded_begin(store, err);
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

/* --- transactions --- */

tb_code tb_store_read_begin(tb_store *store, tb_error *err)
{
    store->read_version_known = false;
    tb_code code = tb__run_ints(store, TB__SQL_BEGIN_READ, NULL, 0, err);
    if (code || store->write) return code;
    code = tb__clickhouse_follow(store, err);
    if (code) tb_store_read_end(store);
    return code;
}

void tb_store_read_end(tb_store *store)
{
    tb_error ignored;
    if (!sqlite3_get_autocommit(store->db) && tb__run_ints(store, TB__SQL_COMMIT, NULL, 0, &ignored)) return;
}

tb_code tb_store_begin(tb_store *store, tb_error *err)
{
    tb__capture_settle(store, false);
    return tb__begin(store, err);
}

tb_code tb__begin(tb_store *store, tb_error *err)
{
    store->dirty = store->billing_stale = store->directory_stale = store->broken = false;
    tb__segment_reset(store);
    return tb__run_ints(store, TB__SQL_BEGIN_WRITE, NULL, 0, err);
}

/* SQLite itself rolls a whole transaction back after some errors (disk full, out of memory): its marks are gone
 * then, and later writes must not be committed by themselves. */
tb_code tb__check_whole(const tb_store *store, tb_error *err)
{
    if (!store->broken) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL,
                   "%s: nothing was written, since a part that failed could not be taken back; check "
                   "the disk and run the same again.",
                   store->path);
}

tb_code tb_store_commit(tb_store *store, tb_error *err)
{
    tb_code code = tb__check_whole(store, err);
    if (!code && store->superseded && !store->copy) code = tb_fail(err, TB_E_REPLICA_SUPERSEDED, NULL, NULL);
    if (!code) code = tb__proof_flush(store, err);
    if (!code) code = tb__seals_write(store, err);
    if (!code && store->dirty) code = tb__run_ints(store, TB__SQL_BUMP_VERSION, NULL, 0, err);
    if (!code) code = tb__late_landed(store, err);
    if (!code) code = store->plane.counters->commit(store, err);
    if (!code && store->capture) code = tb__piece_add(store, err);
    if (!code) code = tb__still_there(store->held, NULL, err);
    if (!code) code = tb__run_ints(store, TB__SQL_COMMIT, NULL, 0, err);
    if (code) return code;
    tb__proof_forget(store, true);
    store->dirty = store->billing_stale = false;
    store->landing = 0;
    /* It may have gone between the look and the end of the commit. */
    return tb__still_there(store->held, &store->links, err);
}

/* What is remembered from inside a transaction is forgotten with it. */
static void forget(tb_store *store, bool whole)
{
    tb__seal_sums *seals = &store->seal_sums;
    if (whole) *seals = (tb__seal_sums){0};
    tb__capture_forget(store, whole);
    memcpy(seals->more, seals->marked, sizeof seals->more);
    store->next_series = 0;
    tb__segment_reset(store);
    tb__segment_fold_free(store);
    tb__late_forget(store);
    tb__late_drop(store);
    tb__proof_forget(store, whole);
    if (store->usage) tb__usage_forget(store, whole);
    if (store->directory_stale) tb__directory_forget(store);
}

void tb__forget_content(tb_store *store)
{
    forget(store, true);
    store->directory_stale = false;
}

void tb_store_rollback(tb_store *store)
{
    forget(store, true);
    store->dirty = store->billing_stale = store->broken = false;
    store->landing = 0;
    tb_error ignored;
    /* After a failed COMMIT the transaction may be over already: nothing to roll back then. */
    if (!sqlite3_get_autocommit(store->db) &&
        tb__run_ints(store, TB__SQL_ROLLBACK, NULL, 0, &ignored))
        return;
}

tb_code tb_store_write(tb_store *store, tb_store_change change, void *ctx, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = change(store, ctx, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

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

tb_code tb_store_mark(tb_store *store, tb_error *err)
{
    tb__segment_reset(store);
    memcpy(store->seal_sums.marked, store->seal_sums.more, sizeof store->seal_sums.marked);
    store->plane.counters->mark(store);
    tb__capture_mark(store);
    tb_code code = tb__check_whole(store, err);
    return code ? code : tb__run_ints(store, TB__SQL_MARK, NULL, 0, err);
}

tb_code tb_store_keep_mark(tb_store *store, tb_error *err)
{
    tb_code code = tb__check_whole(store, err);
    return code ? code : tb__run_ints(store, TB__SQL_KEEP_MARK, NULL, 0, err);
}

void tb_store_back_to_mark(tb_store *store)
{
    forget(store, false);
    tb_error ignored;
    if (tb__run_ints(store, TB__SQL_BACK_TO_MARK, NULL, 0, &ignored) ||
        tb__run_ints(store, TB__SQL_KEEP_MARK, NULL, 0, &ignored))
        store->broken = true;
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
