/* Running SQL: statements prepared once and kept, SQLite's results mapped to our codes. */
#include "store/core/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const text[TB__SQL_COUNT] = {
#define TB_X(name, sql) [TB__SQL_##name] = sql,
    TB__STATEMENTS(TB_X)
#undef TB_X
};

/* What an SQLite primary result code means to us, and what to do about it. */
static const struct {
    int rc;
    tb_code code;
    const char *remedy;
} mapping[] = {
    {SQLITE_NOMEM, TB_E_NOMEM, "give the process more memory"},
    {SQLITE_FULL, TB_E_DISK_FULL, "free space on its disk and run the same again"},
    {SQLITE_BUSY, TB_E_BUSY, "try again"},
    {SQLITE_LOCKED, TB_E_BUSY, "try again"},
    {SQLITE_READONLY, TB_E_READ_ONLY, "give this user permission to write it and its folder"},
    {SQLITE_PERM, TB_E_READ_ONLY, "give this user permission to write it and its folder"},
    {SQLITE_NOTADB, TB_E_NOT_OURS, "name a database made by `init`"},
    {SQLITE_CORRUPT, TB_E_CORRUPT, "restore a backup (docs/operate/backup.md)"},
    {SQLITE_CANTOPEN, TB_E_IO, "check the path and its permissions"},
    {SQLITE_IOERR, TB_E_IO, "check the disk and its free space"},
    {SQLITE_TOOBIG, TB_E_BAD_INPUT, "shorten the text"},
    {SQLITE_INTERRUPT, TB_E_BUSY, "ask for less"},
    {SQLITE_AUTH, TB_E_READ_ONLY, "only reading is allowed here"},
};

/* SQLite reports an I/O error where the system reports that a limit is reached. */
static const struct {
    int number;
    tb_code code;
    const char *why, *remedy;
} bounds[] = {
    {ENOSPC, TB_E_DISK_FULL, "database or disk is full",
     "free space on its disk and run the same again"},
    {EDQUOT, TB_E_DISK_FULL, "the disk quota of this user is used up",
     "free space, or have the quota raised, and run the same again"},
    {EFBIG, TB_E_IO, "a file would pass the limit on the size of files",
     "raise it (ulimit -f, or LimitFSIZE= of the service) or move to a file system that takes larger"
     " files, and start again"},
};

/* The last errno of the WAL. A COMMIT that fails leaves none with the connection
 * (sqlite3_system_errno), only with the file. */
static int wal_errno(sqlite3 *db)
{
    sqlite3_file *wal = NULL;
    int number = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) == SQLITE_OK && wal &&
        wal->pMethods)
        wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

/* The bound that was behind an I/O error; -1: none. */
static int find_bound(sqlite3 *db)
{
    int found[3] = {sqlite3_system_errno(db), 0, wal_errno(db)};
    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &found[1]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < (int)(sizeof bounds / sizeof *bounds); i++)
            if (bounds[i].number == found[k]) return i;
    return -1;
}

tb_code tb__sqlite_fail(sqlite3 *db, int rc, const char *path, tb_error *err)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    const int bound = db && (rc & 0xff) == SQLITE_IOERR ? find_bound(db) : -1;
    if (bound >= 0)
        return tb_fail(err, bounds[bound].code, NULL, "%s: %s (SQLite %d); %s.", path,
                       bounds[bound].why, rc, bounds[bound].remedy);
    for (size_t i = 0; i < sizeof mapping / sizeof *mapping; i++)
        if (mapping[i].rc == (rc & 0xff))
            return tb_fail(err, mapping[i].code, NULL, "%s: %s (SQLite %d); %s.", path, why, rc,
                           mapping[i].remedy);
    return tb_fail(err, TB_E_INTERNAL, NULL, "%s: %s (SQLite %d).", path, why, rc);
}

tb_code tb__exec(sqlite3 *db, const char *path, const char *sql, tb_error *err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(db, rc, path, err);
}

tb_code tb__sql_now(tb_store *store, tb__statement id, sqlite3_stmt **ret, tb_error *err)
{
    sqlite3_stmt **slot = &store->statement[id];
    if (*slot) {
        sqlite3_reset(*slot);
        sqlite3_clear_bindings(*slot);
    } else {
        int rc = sqlite3_prepare_v3(store->db, text[id], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL);
        *ret = NULL; /* gcc does not see that the code below is never TB_OK */
        if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    }
    *ret = *slot;
    return TB_OK;
}

/* Of the table series, or its view. */
static bool about_series(tb__statement id)
{
    return strstr(text[id], "series") || strstr(text[id], "unassigned");
}

tb_code tb__sql(tb_store *store, tb__statement id, sqlite3_stmt **ret, tb_error *err)
{
    tb_code code = store->rows_buffered ? tb__write_buffer_flush(store, err) : TB_OK;
    if (!code && store->series_come && about_series(id)) code = tb__series_write(store, err);
    *ret = NULL;
    return code ? code : tb__sql_now(store, id, ret, err);
}

tb_code tb__triggers_off(tb_store *store, tb_error *err)
{
    tb_code code = tb__write_buffer_flush(store, err);
    if (!code) sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return code;
}

void tb__triggers_on(tb_store *store)
{
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
}

tb_code tb__sql_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                     sqlite3_stmt **ret, tb_error *err)
{
    tb_code code = tb__sql(store, id, ret, err);
    for (int i = 0; !code && i < n; i++)
        sqlite3_bind_int64(*ret, i + 1, values[i]);
    return code;
}

tb_code tb__step(tb_store *store, sqlite3_stmt *statement, bool *ret_row, tb_error *err)
{
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        *ret_row = true;
        return TB_OK;
    }
    tb_code code = rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(store->db, rc, store->path, err);
    sqlite3_reset(statement);
    *ret_row = false;
    return code;
}

tb_code tb__run(tb_store *store, sqlite3_stmt *statement, tb_error *err)
{
    bool row;
    tb_code code = tb__step(store, statement, &row, err);
    sqlite3_reset(statement);
    return code;
}

tb_code tb__run_ints(tb_store *store, tb__statement id, const int64_t *values, int n, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, id, values, n, &s, err);
    return code ? code : tb__run(store, s, err);
}

tb_code tb__int_of(tb_store *store, tb__statement id, const int64_t *values, int n,
                   int64_t otherwise, int64_t *ret_value, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, id, values, n, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_value = row ? sqlite3_column_int64(s, 0) : otherwise;
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__check_id(const char *table, int64_t id, int64_t end, tb_error *err)
{
    if (id > 0 && id < end) return TB_OK;
    return tb_fail(err, TB_E_CORRUPT, table,
                   "The database is damaged: table %s has the number %lld, which no row can have. Restore a backup "
                   "(docs/operate/backup.md).",
                   table, (long long)id);
}

tb_code tb__next_id(tb_store *store, tb__statement next, const char *table, int64_t *ret_id, tb_error *err)
{
    tb_code code = tb__int_of(store, next, NULL, 0, 1, ret_id, err);
    return code ? code : tb__check_id(table, *ret_id, TB__ID_END, err);
}

tb_code tb__collect(tb_store *store, sqlite3_stmt *statement, const tb__rows *rows, void *ret_list,
                    size_t *ret_n, tb_error *err)
{
    char *list = NULL;
    size_t n = 0, cap = 0;
    bool row = true;
    tb_code code = TB_OK;
    while (!code && !(code = tb__step(store, statement, &row, err)) && row) {
        code = tb__grow(&list, n, &cap, rows->size, err);
        if (!code) code = rows->from(statement, list + n * rows->size, err);
        if (!code) n++;
    }
    if (!code) {
        memcpy(ret_list, &list, sizeof list);
        *ret_n = n;
        return TB_OK;
    }
    sqlite3_reset(statement);
    while (rows->release && n)
        rows->release(list + --n * rows->size);
    free(list);
    return code;
}

tb_code tb__collect_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                         const tb__rows *rows, void *ret_list, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, id, values, n, &s, err);
    return code ? code : tb__collect(store, s, rows, ret_list, ret_n, err);
}

tb_code tb__copy_text(sqlite3_stmt *s, int column, char *out, size_t size, tb_error *err)
{
    const char *value = (const char *)sqlite3_column_text(s, column);
    size_t len = value ? strnlen(value, size - 1) : 0;
    if (!value) return tb_no_memory(err);
    memcpy(out, value, len);
    out[len] = 0;
    return TB_OK;
}

static tb_code int_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(int64_t *)item = sqlite3_column_int64(s, 0);
    return TB_OK;
}

const tb__rows tb__int_rows = {sizeof(int64_t), int_from, NULL};

tb_code tb__list_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                      int64_t **ret_list, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, id, values, n, &tb__int_rows, ret_list, ret_n, err);
}

tb_code tb__meta_get(tb_store *store, const char *name, int64_t *ret_value, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_META_GET, &s, err);
    if (!code) sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "meta", "%s lacks its %s.", store->path, name);
    *ret_value = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__meta_set(tb_store *store, const char *name, int64_t value, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_META_SET, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, value);
    return tb__run(store, s, err);
}
