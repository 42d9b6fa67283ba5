/* Queries: any SQL that only reads. Three barriers, each sufficient: an authorizer that allows four kinds of action,
 * SQLite's own check that the statement does not write, and a read-only connection (readers). The hashes of API keys
 * cannot be read. Functions are listed one by one: those of another SQLite, or of an extension, may be harmful. */
#include "store/core/internal.h"
#include "tollbook/buf.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX    (128 << 20)           /* one value, bytes: twice the longest that is stored */
#define ROW_TEXT_MAX ((size_t)512 << 20) /* the blobs of one row, as text */

/* Functions that a query may call: functions of their arguments, the clock and SQLite's version. Not fts3_tokenizer
 * (takes addresses), load_extension, sqlite_log (writes), rtreecheck and the functions of full-text tables (read
 * tables), rtreenode (reads invalid nodes). */
static const char *const functions[] = {
    "-> ->> json json_array json_array_length json_extract json_group_array json_group_object "
    "json_insert json_object json_patch json_quote json_remove json_replace json_set json_type "
    "json_valid",
    "avg count group_concat max min string_agg sum total cume_dist dense_rank first_value lag "
    "last_value lead nth_value ntile percent_rank rank row_number",
    "date time datetime julianday unixepoch strftime timediff current_date current_time "
    "current_timestamp",
    "abs acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 "
    "log2 mod pi pow power radians random round sign sin sinh sqrt tan tanh trunc",
    "char concat concat_ws format glob hex instr length like lower ltrim octet_length printf quote "
    "randomblob replace rtrim soundex substr substring trim unhex unicode upper zeroblob",
    "coalesce ifnull iif likelihood likely nullif typeof unlikely changes last_insert_rowid "
    "total_changes sqlite_source_id sqlite_version",
};

static bool same(const char *a, const char *b)
{
    return a && sqlite3_stricmp(a, b) == 0;
}

static bool stands_in(const char *words, const char *word)
{
    const size_t len = strnlen(word, 64);
    for (const char *at = words; *at; at += *at == ' ') {
        const size_t n = strcspn(at, " ");
        if (n == len && sqlite3_strnicmp(at, word, (int)n) == 0) return true;
        at += n;
    }
    return false;
}

static bool is_for_reading(const char *function)
{
    for (size_t i = 0; function && i < sizeof functions / sizeof *functions; i++)
        if (stands_in(functions[i], function)) return true;
    return false;
}

static bool is_usage(const char *table)
{
    return same(table, "buckets") || same(table, "balancer_buckets") || same(table, "countries") ||
           same(table, "meter_usage");
}

/* What is known of a query while it is prepared. */
typedef struct asked {
    bool elsewhere; /* the counters are not in the file */
    bool usage;     /* it names tables of counters that are not there */
} asked;

static int authorize(void *of, int action, const char *first, const char *second, const char *schema,
                     const char *inside)
{
    asked *q = of;
    (void)schema, (void)inside;
    if (action == SQLITE_READ && q->elsewhere && is_usage(first)) {
        q->usage = true;
        return SQLITE_DENY;
    }
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ: return same(first, "key") && same(second, "hash") ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_FUNCTION: return is_for_reading(second) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static tb_code refuse_query(tb_store *store, const char *why, tb_error *err)
{
    return tb_fail(err, TB_E_USAGE, "SQL", "%s: %s.", store->path, why);
}

/* A mistake in the SQL is the caller's; everything else is the file's. */
static tb_code query_failed(tb_store *store, int rc, tb_error *err)
{
    int primary = rc & 0xff, at = sqlite3_error_offset(store->db);
    if (primary == SQLITE_AUTH)
        return tb_fail(err, TB_E_USAGE, "SQL", "%s: a query may only read: %s.", store->path,
                       sqlite3_errmsg(store->db));
    if (primary == SQLITE_INTERRUPT)
        return tb_fail(err, TB_E_STOPPED, NULL, "%s: the query was stopped before its end.",
                       store->path);
    if (primary == SQLITE_NOMEM)
        return tb_fail(err, TB_E_NOMEM, NULL,
                       "%s: the query needs more memory than it may have; ask for fewer rows, or sort "
                       "and group less.",
                       store->path);
    if (primary != SQLITE_ERROR && primary != SQLITE_RANGE && primary != SQLITE_MISMATCH)
        return tb__sqlite_fail(store->db, rc, store->path, err);
    tb_code code = refuse_query(store, sqlite3_errmsg(store->db), err);
    if (err && at >= 0) err->byte = (uint64_t)at + 1;
    return code;
}

/* Space, comments and semicolons prepare to nothing: *ret is NULL then. */
static tb_code prepare_next(tb_store *store, const char **sql, sqlite3_stmt **ret, tb_error *err)
{
    int rc = SQLITE_OK;
    *ret = NULL;
    while (rc == SQLITE_OK && !*ret && **sql)
        rc = sqlite3_prepare_v2(store->db, *sql, -1, ret, sql);
    return rc == SQLITE_OK ? TB_OK : query_failed(store, rc, err);
}

/* Exactly one statement, and one that reads. */
static tb_code prepare(tb_store *store, const char *sql, sqlite3_stmt **ret, tb_error *err)
{
    sqlite3_stmt *second = NULL;
    const char *rest = sql;
    tb_code code = prepare_next(store, &rest, ret, err);
    if (code) return code;
    if (!*ret)
        return refuse_query(store, "there is no SQL statement; try SELECT * FROM buckets", err);
    if (!sqlite3_stmt_readonly(*ret) || sqlite3_column_count(*ret) == 0)
        return refuse_query(store, "a query may only read; write a SELECT", err);
    if (!prepare_next(store, &rest, &second, NULL) && !second) return TB_OK;
    sqlite3_finalize(second);
    return refuse_query(store, "one statement at a time; leave out what follows the first", err);
}

/* --- rows --- */

typedef struct row {
    int n;
    const char **cells;
    size_t *hex; /* cell n's place in text + 1, 0 where it is not a blob */
    tb_buf text; /* the row's blobs as SQL writes them: X'00ff' */
} row;

static tb_code row_init(row *r, int n, tb_error *err)
{
    *r = (row){.n = n};
    tb_buf_init(&r->text, ROW_TEXT_MAX, NULL);
    r->cells = calloc((size_t)n, sizeof *r->cells);
    r->hex = calloc((size_t)n, sizeof *r->hex);
    return r->cells && r->hex ? TB_OK : tb_no_memory(err);
}

static void row_release(row *r)
{
    tb_buf_release(&r->text);
    free(r->cells);
    free(r->hex);
}

static void put_hex(tb_buf *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *p = tb_buf_room(out, 2 * len + 4);
    if (!p) return;
    out->len += 2 * len + 4;
    *p++ = 'X';
    *p++ = '\'';
    for (size_t i = 0; i < len; i++) {
        *p++ = digits[bytes[i] >> 4];
        *p++ = digits[bytes[i] & 15];
    }
    *p++ = '\'';
    *p = 0;
}

/* The statement's row as texts. They live until the next step. */
static tb_code row_read(row *r, sqlite3_stmt *s, tb_error *err)
{
    r->text.len = 0;
    for (int i = 0; i < r->n; i++) {
        int type = sqlite3_column_type(s, i);
        r->hex[i] = type == SQLITE_BLOB ? r->text.len + 1 : 0;
        r->cells[i] = NULL;
        if (type == SQLITE_BLOB) {
            const uint8_t *bytes = sqlite3_column_blob(s, i);
            put_hex(&r->text, bytes, (size_t)sqlite3_column_bytes(s, i));
        } else if (type != SQLITE_NULL) {
            r->cells[i] = (const char *)sqlite3_column_text(s, i);
            if (!r->cells[i]) return tb_no_memory(err);
        }
    }
    for (int i = 0; i < r->n; i++) /* the buffer is complete, so its address is final */
        if (r->hex[i] && !r->text.failed) r->cells[i] = r->text.data + r->hex[i] - 1;
    return tb_buf_check(&r->text, err);
}

static tb_code run_query(tb_store *store, sqlite3_stmt *s, tb_row_fn fn, void *ctx, tb_error *err)
{
    row r;
    tb_code code = row_init(&r, sqlite3_column_count(s), err);
    for (int i = 0; !code && i < r.n; i++)
        r.cells[i] = sqlite3_column_name(s, i);
    bool more = !code && fn(ctx, r.n, r.cells, true);
    while (more) {
        int rc = sqlite3_step(s);
        more = rc == SQLITE_ROW;
        if (more)
            code = row_read(&r, s, err);
        else if (rc != SQLITE_DONE)
            code = query_failed(store, rc, err);
        more = more && !code && fn(ctx, r.n, r.cells, false);
    }
    row_release(&r);
    return code;
}

/* SQLite declares a virtual table when a statement first names it, and the declaration looks to the
 * authorizer like a write. So they are named once before it is there. */
static int make_tables(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    int rc = tb__buckets_register(db);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "SELECT 1 FROM buckets,balancer_buckets,countries,meter_usage", -1, &s,
                                NULL);
    sqlite3_finalize(s);
    if (rc != SQLITE_OK) return rc;
    /* The file's own; a failure shows where a query names them. */
    if (sqlite3_prepare_v2(db, "SELECT 1 FROM book_span,invoice_span", -1, &s, NULL) == SQLITE_OK)
        sqlite3_finalize(s);
    return rc;
}

tb_code tb_store_query(tb_store *store, const char *sql, tb_row_fn fn, void *ctx, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = make_tables(store->db);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    const int value_max = sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    asked q = {store->client != NULL, false};
    sqlite3_set_authorizer(store->db, authorize, &q);
    tb_code code = prepare(store, sql, &s, err);
    if (q.usage)
        code = refuse_query(store,
                            "its usage lies in ClickHouse, and the tables buckets, balancer_buckets, countries and meter_usage are not there; "
                            "ask for statistics",
                            err);
    if (!code) code = run_query(store, s, fn, ctx, err);
    sqlite3_finalize(s);
    sqlite3_set_authorizer(store->db, NULL, NULL);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, value_max);
    return code;
}

void tb_store_interrupt(tb_store *store)
{
    sqlite3_interrupt(store->db);
}

/* --- a watch over everything that a connection does --- */

#define STEPS_PER_ASK 20000 /* of SQLite's machine: well under a millisecond */

uint64_t tb_store_pages_read(const tb_store *store)
{
    int pages = 0, highest = 0;
    const int rc = sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0);
    return rc == SQLITE_OK ? (uint64_t)(unsigned)pages : 0;
}

void tb_store_watch(tb_store *store, int (*stops)(void *ctx), void *ctx)
{
    sqlite3_progress_handler(store->db, stops ? STEPS_PER_ASK : 0, stops, ctx);
}
