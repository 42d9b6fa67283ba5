/* Recording by SQLite's preupdate hook, which tells of each row before it changes. The format is the session extension's
 * patchset: for each table a head, then for each change an operation, a zero and values; an insertion has all columns, a
 * deletion the key, an update the key and the columns that change. */
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION        1
#include "store/replica/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define COLUMNS_MAX   64
#define CHANGES_MAX   ((size_t)1 << 30) /* bytes of one table's changes, and of a patchset */
#define ZSTD_LEVEL    1
#define UNCHANGED     0                 /* the type of a value that is left out */

typedef struct recorded_table {
    char name[64];
    int columns;
    char key[COLUMNS_MAX]; /* from 1: the column's place in the primary key; 0: not in it */
    int keys;              /* columns of the key */
    bool by_row;           /* the key is the number of the row */
    int leading;           /* columns of it before the first other one */
    tb_buf changes;
    size_t marked; /* bytes of them at the mark */
    size_t update, update_key; /* where the newest entry begins, and the bytes up to the end of its key, */
    uint64_t update_columns;   /* if it is an update of these columns; 0: it is none */
} recorded_table;

/* A row of which a value was written in place (sqlite3_blob_write): SQLite tells of it before, without the new value. */
typedef struct written_row {
    size_t table;
    int64_t row;
} written_row;

struct tb__capture {
    recorded_table *table; /* ascending by name */
    size_t n_tables, last;
    written_row *written;
    size_t n_written, cap_written, written_marked;
    bool failed; /* out of memory, or too large */
    ZSTD_CCtx *compressor;
};

/* --- values --- */

static void put_byte(tb_buf *out, int byte)
{
    const char c = (char)byte;
    tb_buf_add(out, &c, 1);
}

static void put_typed(tb_buf *out, int type, uint64_t word)
{
    char bytes[9] = {(char)type};
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (char)(word >> (56 - 8 * i));
    tb_buf_add(out, bytes, sizeof bytes);
}

/* SQLite's variable-length integer, of at most 32 bits. */
static void put_length(tb_buf *out, uint32_t length)
{
    for (int shift = 28; shift > 0; shift -= 7)
        if (length >> shift) put_byte(out, (int)(length >> shift & 127) | 128);
    put_byte(out, (int)(length & 127));
}

static void record_value(tb_buf *out, sqlite3_value *value)
{
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) {
        put_typed(out, type, (uint64_t)sqlite3_value_int64(value));
    } else if (type == SQLITE_FLOAT) {
        const double number = sqlite3_value_double(value);
        uint64_t word;
        memcpy(&word, &number, sizeof word);
        put_typed(out, type, word);
    } else if (type == SQLITE_NULL) {
        put_byte(out, type);
    } else {
        const void *bytes = type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
        const int len = sqlite3_value_bytes(value);
        put_byte(out, type);
        put_length(out, (uint32_t)len);
        if (len > 0 && !bytes) out->failed = true;
        else tb_buf_add(out, bytes, (size_t)len);
    }
}

static bool is_same(sqlite3_value *a, sqlite3_value *b)
{
    const int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b)) return false;
    if (type == SQLITE_NULL) return true;
    if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    const int len = sqlite3_value_bytes(a);
    if (type == SQLITE_FLOAT) return false;
    return len == sqlite3_value_bytes(b) && (len == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), (size_t)len) == 0);
}

/* --- the hook --- */

static recorded_table *find_table(struct tb__capture *c, const char *name)
{
    if (c->n_tables && strcmp(c->table[c->last].name, name) == 0) return &c->table[c->last];
    size_t low = 0, high = c->n_tables;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(c->table[middle].name, name);
        if (order == 0) return &c->table[c->last = middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

typedef int (*value_of)(sqlite3 *db, int column, sqlite3_value **ret);

static void put_columns(recorded_table *t, sqlite3 *db, value_of of, bool keys_alone)
{
    sqlite3_value *value;
    for (int i = 0; i < t->columns; i++) {
        if (keys_alone && !t->key[i]) continue;
        if (of(db, i, &value) == SQLITE_OK) record_value(&t->changes, value);
        else t->changes.failed = true;
    }
}

static void put_operation(recorded_table *t, int operation)
{
    const char head[2] = {(char)operation, 0}; /* not by a trigger: triggers are off where it is applied */
    tb_buf_add(&t->changes, head, sizeof head);
    t->update_columns = 0;
}

/* The update that begins here replaces the entry before it, if that changes the same columns of the same row: counters (`head`)
 * change with each row of their table. */
static void fold_update(recorded_table *t, size_t from, size_t key, uint64_t columns, bool again)
{
    char *data = t->changes.data;
    if (t->changes.failed) return;
    if (again && key == t->update_key && memcmp(data + t->update, data + from, key) == 0) {
        memmove(data + t->update, data + from, t->changes.len - from);
        t->changes.len -= from - t->update;
        from = t->update;
    }
    t->update = from;
    t->update_key = key;
    t->update_columns = columns;
}

static void put_update(recorded_table *t, sqlite3 *db)
{
    sqlite3_value *before[COLUMNS_MAX], *after[COLUMNS_MAX];
    bool moved = false;
    uint64_t changed = 0;
    for (int i = 0; i < t->columns; i++) {
        if (sqlite3_preupdate_old(db, i, &before[i]) != SQLITE_OK || sqlite3_preupdate_new(db, i, &after[i]) != SQLITE_OK) {
            t->changes.failed = true;
            return;
        }
        const bool differs = !is_same(before[i], after[i]);
        moved = moved || (t->key[i] && differs);
        changed |= (uint64_t)differs << i;
    }
    if (!changed) return;
    if (moved) { /* another key is another row */
        put_operation(t, SQLITE_DELETE);
        put_columns(t, db, sqlite3_preupdate_old, true);
        put_operation(t, SQLITE_INSERT);
        put_columns(t, db, sqlite3_preupdate_new, false);
        return;
    }
    const bool again = changed == t->update_columns && t->update >= t->marked;
    const size_t from = t->changes.len;
    size_t key = 0;
    put_operation(t, SQLITE_UPDATE);
    for (int i = 0; i < t->columns; i++) {
        if (!t->key[i] && !(changed >> i & 1)) put_byte(&t->changes, UNCHANGED);
        else record_value(&t->changes, after[i]);
        if (i + 1 == t->keys) key = t->changes.len - from;
    }
    fold_update(t, from, key, changed, again && t->leading == t->keys);
}

static void on_change(void *ctx, sqlite3 *db, int operation, const char *schema, const char *name, sqlite3_int64 row,
                      sqlite3_int64 new_row)
{
    struct tb__capture *c = ctx;
    (void)schema, (void)new_row;
    recorded_table *t = find_table(c, name);
    if (!t) return; /* the pieces themselves, or a table of SQLite's */
    if (operation == SQLITE_DELETE && sqlite3_preupdate_blobwrite(db) >= 0) {
        tb_error ignored;
        if (tb__grow(&c->written, c->n_written, &c->cap_written, sizeof *c->written, &ignored)) c->failed = true;
        else c->written[c->n_written++] = (written_row){(size_t)(t - c->table), row};
    } else if (operation == SQLITE_UPDATE) {
        put_update(t, db);
    } else if (operation == SQLITE_INSERT) {
        put_operation(t, operation);
        put_columns(t, db, sqlite3_preupdate_new, false);
    } else if (t->by_row) { /* its values, a page perhaps, are not read for it */
        put_operation(t, operation);
        put_typed(&t->changes, SQLITE_INTEGER, (uint64_t)row);
    } else {
        put_operation(t, operation);
        put_columns(t, db, sqlite3_preupdate_old, true);
    }
}

/* --- begin, mark, end --- */

static tb_code list_tables(tb_store *store, struct tb__capture *c, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    size_t cap = 0;
    tb_code code = tb__sql(store, TB__SQL_TABLE_COLUMNS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        recorded_table *t = c->n_tables ? &c->table[c->n_tables - 1] : NULL;
        if (!name) return tb_no_memory(err);
        if (!t || strcmp(t->name, name) != 0) {
            code = tb__grow(&c->table, c->n_tables, &cap, sizeof *c->table, err);
            if (code) return code;
            t = &c->table[c->n_tables++];
            *t = (recorded_table){.columns = 0};
            if (!memccpy(t->name, name, '\0', sizeof t->name))
                return tb_fail(err, TB_E_INTERNAL, NULL, "The name of table %s is too long.", name);
            tb_buf_init(&t->changes, CHANGES_MAX, NULL);
        }
        if (t->columns == COLUMNS_MAX) return tb_fail(err, TB_E_INTERNAL, NULL, "Table %s has too many columns.", name);
        t->key[t->columns] = (char)sqlite3_column_int(s, 1);
        if (t->key[t->columns++]) t->by_row = t->keys++ == 0 && sqlite3_column_int(s, 2);
        if (t->keys == t->columns) t->leading = t->keys;
    }
    return code;
}

tb_code tb__capture_begin(tb_store *store, tb_error *err)
{
    struct tb__capture *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    store->capture = c;
    c->compressor = ZSTD_createCCtx();
    tb_code code = c->compressor ? list_tables(store, c, err) : tb_no_memory(err);
    if (code) tb__capture_end(store);
    else sqlite3_preupdate_hook(store->db, on_change, c);
    return code;
}

void tb__capture_end(tb_store *store)
{
    struct tb__capture *c = store->capture;
    if (!c) return;
    sqlite3_preupdate_hook(store->db, NULL, NULL);
    for (size_t i = 0; i < c->n_tables; i++)
        tb_buf_release(&c->table[i].changes);
    free(c->table);
    free(c->written);
    ZSTD_freeCCtx(c->compressor);
    free(c);
    store->capture = NULL;
}

void tb__capture_hold(tb_store *store, bool held)
{
    if (store->capture) sqlite3_preupdate_hook(store->db, held ? NULL : on_change, held ? NULL : store->capture);
}

bool tb__capture_is_empty(const tb_store *store)
{
    const struct tb__capture *c = store->capture;
    bool empty = c->n_written == 0 && !c->failed;
    for (size_t i = 0; empty && i < c->n_tables; i++)
        empty = c->table[i].changes.len == 0 && !c->table[i].changes.failed;
    return empty;
}

void tb__capture_mark(tb_store *store)
{
    struct tb__capture *c = store->capture;
    if (!c) return;
    for (size_t i = 0; i < c->n_tables; i++)
        c->table[i].marked = c->table[i].changes.len;
    c->written_marked = c->n_written;
}

void tb__capture_forget(tb_store *store, bool whole)
{
    struct tb__capture *c = store->capture;
    if (!c) return;
    for (size_t i = 0; i < c->n_tables; i++) {
        recorded_table *t = &c->table[i];
        if (whole) t->marked = 0;
        t->changes.len = t->marked;
        t->update_columns = 0;
        if (whole) t->changes.failed = false;
    }
    if (whole) c->written_marked = 0;
    c->n_written = c->written_marked;
    if (whole) c->failed = false;
}

/* --- the patchset --- */

/* Rows that were written in place, as they are now: an update of all columns. Such tables have an integer key. */
static tb_code put_written(tb_store *store, struct tb__capture *c, tb_error *err)
{
    for (size_t i = 0; i < c->n_written; i++) {
        const written_row *one = &c->written[i];
        recorded_table *t = &c->table[one->table];
        sqlite3_stmt *s;
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE rowid=?1", t->name);
        int rc = sqlite3_prepare_v2(store->db, sql, -1, &s, NULL);
        if (rc == SQLITE_OK) {
            sqlite3_bind_int64(s, 1, one->row);
            if ((rc = sqlite3_step(s)) == SQLITE_ROW) {
                put_operation(t, SQLITE_UPDATE);
                for (int k = 0; k < t->columns; k++)
                    record_value(&t->changes, sqlite3_column_value(s, k));
            }
            rc = sqlite3_finalize(s);
        }
        if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    }
    return TB_OK;
}

static bool compress(ZSTD_CCtx *z, const void *bytes, size_t len, ZSTD_EndDirective how, tb_buf *out)
{
    ZSTD_inBuffer in = {bytes, len, 0};
    for (size_t left = 1; left != 0;) {
        char *room = tb_buf_room(out, ZSTD_CStreamOutSize());
        if (!room) return false;
        ZSTD_outBuffer to = {room, ZSTD_CStreamOutSize(), 0};
        left = ZSTD_compressStream2(z, &to, &in, how);
        if (ZSTD_isError(left)) return false;
        out->len += to.pos;
        if (how == ZSTD_e_continue) left = in.size - in.pos;
    }
    return true;
}

static bool compress_table(struct tb__capture *c, const recorded_table *t, tb_buf *out)
{
    char head[COLUMNS_MAX + sizeof t->name + 2];
    size_t n = 0;
    head[n++] = 'P';
    head[n++] = (char)t->columns; /* below 128: one byte */
    for (int i = 0; i < t->columns; i++)
        head[n++] = t->key[i]; /* sqlite3changeset_apply leaves a table out, silently, whose key it finds to be another */
    const size_t name = strlen(t->name) + 1;
    memcpy(head + n, t->name, name);
    return compress(c->compressor, head, n + name, ZSTD_e_continue, out) &&
           compress(c->compressor, t->changes.data, t->changes.len, ZSTD_e_continue, out);
}

static tb_code too_large(const tb_store *store, tb_error *err)
{
    return tb_fail(err, TB_E_TOO_LARGE, NULL,
                   "%s: one commit changes more than a replica can take at once; nothing was written. Do it in smaller parts,"
                   " or with replication off (tollbook replica off).",
                   store->path);
}

tb_code tb__capture_take(tb_store *store, tb_buf *out, tb_error *err)
{
    struct tb__capture *c = store->capture;
    size_t plain = 0;
    tb_code code = c->failed ? tb_no_memory(err) : put_written(store, c, err);
    for (size_t i = 0; !code && i < c->n_tables; i++) {
        recorded_table *t = &c->table[i];
        if (t->changes.failed) return t->changes.len > CHANGES_MAX / 2 ? too_large(store, err) : tb_no_memory(err);
        if (t->changes.len) plain += t->changes.len + (size_t)t->columns + strlen(t->name) + 3;
    }
    if (code || plain == 0) return code;
    if (plain > CHANGES_MAX) return too_large(store, err);
    ZSTD_CCtx_reset(c->compressor, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setPledgedSrcSize(c->compressor, plain); /* it is decompressed faster where its size is known */
    bool done = true;
    for (size_t i = 0; done && i < c->n_tables; i++)
        if (c->table[i].changes.len) done = compress_table(c, &c->table[i], out);
    if (done) done = compress(c->compressor, NULL, 0, ZSTD_e_end, out);
    return done ? TB_OK : out->len > CHANGES_MAX / 8 ? too_large(store, err) : tb_no_memory(err);
}

/* --- applying --- */

typedef struct applying {
    tb_store *store;
    char table[sizeof(((recorded_table *)0)->name)]; /* whose row did not fit */
} applying;

static int on_conflict(void *ctx, int kind, sqlite3_changeset_iter *at)
{
    applying *a = ctx;
    const char *name = "";
    int columns, operation, indirect;
    if (sqlite3changeset_op(at, &name, &columns, &operation, &indirect) == SQLITE_OK && kind != SQLITE_CHANGESET_FOREIGN_KEY)
        snprintf(a->table, sizeof a->table, "%s", name);
    return SQLITE_CHANGESET_ABORT;
}

/* Called once for each table of a piece, before its changes. */
static int note_table(void *ctx, const char *name)
{
    static const char *const of_directory[] = {"declaration", "meter", "region", "zone"}; /* what things/directory.c reads */
    tb_store *store = ((applying *)ctx)->store;
    store->applied_keys |= strcmp(name, "key") == 0;
    for (size_t i = 0; i < sizeof of_directory / sizeof *of_directory; i++)
        store->directory_stale |= strcmp(name, of_directory[i]) == 0;
    return 1;
}

static tb_code decompress(const void *data, size_t len, tb_buf *out, tb_error *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {data, len, 0};
    size_t left = 1;
    const unsigned long long whole = ZSTD_getFrameContentSize(data, len); /* huge: it is not known, or damaged */
    if (!z) return tb_no_memory(err);
    if (whole <= CHANGES_MAX) tb_buf_room(out, (size_t)whole); /* with room for all of it, it needs no buffer of its own */
    while (left != 0 && !ZSTD_isError(left)) {
        char *room = tb_buf_room(out, in.pos ? ZSTD_DStreamOutSize() : 1);
        if (!room) break;
        ZSTD_outBuffer to = {room, out->cap - out->len, 0};
        left = ZSTD_decompressStream(z, &to, &in);
        out->len += ZSTD_isError(left) ? 0 : to.pos;
        if (left != 0 && to.pos == 0 && in.pos == in.size) break; /* cut off */
    }
    ZSTD_freeDStream(z);
    if (left == 0 && in.pos == in.size) return TB_OK;
    if (out->failed && out->len < CHANGES_MAX / 2) return tb_no_memory(err);
    return tb_fail(err, TB_E_DIFFERENT, NULL, "A piece cannot be decompressed: it is damaged.");
}

void tb__capture_settle(tb_store *store, bool applies)
{
    static const int rules[] = {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_DEFENSIVE}; /* nodes of R*Trees are rows, too */
    if (store->applies == applies) return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        sqlite3_db_config(store->db, rules[i], !applies, NULL);
    store->applies = applies;
}

tb_code tb__capture_apply(tb_store *store, const void *data, size_t len, tb_error *err)
{
    tb_buf plain;
    applying a = {.store = store};
    tb_buf_init(&plain, CHANGES_MAX + ZSTD_DStreamOutSize(), NULL);
    tb_code code = decompress(data, len, &plain, err);
    if (!code) {
        tb__capture_settle(store, true);
        /* Without a savepoint, which would copy each page before its first change: who calls rolls all back. */
        const int rc = sqlite3changeset_apply_v2(store->db, (int)plain.len, plain.data, note_table, on_conflict, &a, NULL, NULL,
                                                 SQLITE_CHANGESETAPPLY_NOSAVEPOINT);
        if (rc == SQLITE_ABORT || rc == SQLITE_SCHEMA)
            code = tb_fail(err, TB_E_DIFFERENT, NULL, "%s is not a copy of its primary: a piece does not fit table %s.", store->path,
                           a.table);
        else if (rc != SQLITE_OK)
            code = tb__sqlite_fail(store->db, rc, store->path, err);
    }
    tb_buf_release(&plain);
    return code;
}
