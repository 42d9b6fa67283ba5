/* Verifying data that no other table repeats: the hashes of inputs' beginnings by the sum of their seals, the roles
 * of keys, and the schema, which is built again in memory and compared. */
#include "store/core/seal.h"
#include "store/logs/segment.h"
#include "store/verify/verify.h"

#include <sodium.h>
#include <string.h>

/* When memory is short a column reads as NULL. */
static bool is_out_of_memory(const tb__verify *v)
{
    return sqlite3_errcode(v->store->db) == SQLITE_NOMEM;
}

/* --- rungs --- */

tb_code tb__sum_rungs(tb__verify *v, tb_u128 *ret_sum, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_u128 sum = 0;
    tb_code code = tb__verify_sql(v, TB__V_RUNGS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const void *head = sqlite3_column_blob(s, 0), *hash = sqlite3_column_blob(s, 2);
        /* The schema's checks hold the lengths; a damaged page may not. */
        if (!head || !hash || sqlite3_column_bytes(s, 0) != 16 ||
            sqlite3_column_bytes(s, 2) != 16) {
            if (is_out_of_memory(v)) return tb_no_memory(err);
            continue;
        }
        sum += (uint64_t)tb__seal_rung(head, sqlite3_column_int64(s, 1), hash);
    }
    if (!code) *ret_sum = sum;
    return code;
}

/* --- keys --- */

tb_code tb__verify_roles(tb__verify *v, tb_error *err)
{
    const int64_t known = (INT64_C(1) << TB_ROLE_COUNT) - 1;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_ROLES, &known, 1, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        tb__differs(v, "Key %lld has roles that do not exist.",
                    (long long)sqlite3_column_int64(s, 0));
    return code;
}

/* --- the schema --- */

/* What the migrations make of an empty database. */
static tb_code open_pattern(tb__verify *v, sqlite3 **ret, tb_error *err)
{
    const char *path = v->store->path;
    int rc = sqlite3_open_v2(
        ":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK) rc = tb__seal_register(*ret);
    tb_code code = rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(*ret, rc, path, err);
    for (int i = 0; !code && i < tb__schema_version; i++)
        code = tb__exec(*ret, path, tb__migrations[i], err);
    return code;
}

/* Every object that `list` gives of one database (type, name, text) must have the same text by `text`
 * (?1 type, ?2 name) in the other. */
typedef struct comparison {
    const char *list, *text, *missing, *different;
} comparison;

#define OBJECT_SQL "SELECT sql FROM sqlite_schema WHERE type=?1 AND name=?2"
/* The names of a table's unique indexes. */
#define UNIQUES(table)                                                                             \
    "coalesce((SELECT group_concat(name) FROM (SELECT name FROM pragma_index_list(" table ")"      \
    " WHERE \"unique\" ORDER BY name)),'')"

static const comparison objects = {
    "SELECT type,name,sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", OBJECT_SQL,
    "is missing", "is not declared as it should be"};
static const comparison strangers = {
    "SELECT type,name,sql FROM sqlite_schema WHERE type='trigger' OR"
    " lower(name) IN('buckets','balancer_buckets','countries','meter_usage')", OBJECT_SQL,
    "is not the store's", "is not declared as it should be"};
static const comparison uniques = {
    "SELECT type,name," UNIQUES("t.name") " FROM sqlite_schema t WHERE type='table'",
    "SELECT " UNIQUES("?2") " WHERE ?1='table'", "is missing",
    "has other unique indexes than the store's"};

/* Looks up one object of `of` in the other database: -1 missing, 0 different, 1 the same. */
static int compare_object(sqlite3_stmt *of, sqlite3_stmt *in, int *ret_rc)
{
    sqlite3_reset(in);
    *ret_rc = sqlite3_bind_value(in, 1, sqlite3_column_value(of, 0));
    if (*ret_rc == SQLITE_OK) *ret_rc = sqlite3_bind_value(in, 2, sqlite3_column_value(of, 1));
    if (*ret_rc != SQLITE_OK) return -1;
    *ret_rc = sqlite3_step(in);
    if (*ret_rc != SQLITE_ROW) return -1;
    const char *made = (const char *)sqlite3_column_text(of, 2);
    const char *there = (const char *)sqlite3_column_text(in, 0);
    if (!made || !there) *ret_rc = SQLITE_NOMEM;
    return made && there && strcmp(made, there) == 0;
}

static tb_code compare_objects(tb__verify *v, sqlite3 *a, sqlite3 *b, const comparison *by,
                               tb_error *err)
{
    sqlite3_stmt *of = NULL, *in = NULL;
    int found = SQLITE_DONE, rc = sqlite3_prepare_v2(a, by->list, -1, &of, NULL);
    sqlite3 *failed = a;
    if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(failed = b, by->text, -1, &in, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(of)) == SQLITE_ROW) {
        int same = compare_object(of, in, &found);
        const char *type = (const char *)sqlite3_column_text(of, 0);
        const char *name = (const char *)sqlite3_column_text(of, 1);
        failed = b;
        rc = found == SQLITE_ROW || found == SQLITE_DONE ? SQLITE_OK : found;
        if (rc == SQLITE_OK && (!type || !name)) rc = SQLITE_NOMEM;
        if (rc == SQLITE_OK && same < 1)
            tb__differs(v, "The %s %.100s %s.", type, name,
                        same ? by->missing : by->different);
        if (rc == SQLITE_OK) failed = a;
    }
    tb_code code = rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(failed, rc, v->store->path, err);
    sqlite3_finalize(of);
    sqlite3_finalize(in);
    return code;
}

/* The hash of all objects' texts, in the order of their names. */
tb_code tb__schema_hash(sqlite3 *db, const char *path, char ret_hex[65], tb_error *err)
{
    static const char list[] =
        "SELECT type||':'||name||':'||sql||';' FROM sqlite_schema WHERE sql IS NOT NULL"
        " ORDER BY type,name";
    unsigned char bytes[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, list, -1, &s, NULL);
    crypto_hash_sha256_init(&hash);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(s, 0);
        rc = text ? SQLITE_OK : SQLITE_NOMEM;
        if (text) crypto_hash_sha256_update(&hash, text, (size_t)sqlite3_column_bytes(s, 0));
    }
    tb_code code = rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(db, rc, path, err);
    sqlite3_finalize(s);
    crypto_hash_sha256_final(&hash, bytes);
    if (!code) sodium_bin2hex(ret_hex, 65, bytes, sizeof bytes);
    return code;
}

/* Further tables and indexes do no harm, except those that change writes or output: a further trigger; a unique
 * index on a table of the store, which turns an insert with ON CONFLICT into an update or into nothing; and an
 * object with the name of a virtual table of `query` (buckets.c, countries.c), which it hides. */
static tb_code compare_schema(tb__verify *v, tb_error *err)
{
    sqlite3 *pattern = NULL, *own = v->store->db;
    tb_code code = open_pattern(v, &pattern, err);
    if (!code) code = compare_objects(v, pattern, own, &objects, err);
    if (!code) code = compare_objects(v, pattern, own, &uniques, err);
    if (!code) code = compare_objects(v, own, pattern, &strangers, err);
    sqlite3_close(pattern);
    return code;
}

/* To make the schema once more costs more than to verify a small database: it is made where the hash
 * differs, to say what does. */
tb_code tb__verify_schema(tb__verify *v, tb_error *err)
{
    char hex[65];
    tb_code code = tb__schema_hash(v->store->db, v->store->path, hex, err);
    if (code || strcmp(hex, tb__schema_sha256) == 0) return code;
    return compare_schema(v, err);
}
