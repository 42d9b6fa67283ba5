/* Verifying rows that only themselves can vouch for: whose a series is and what an edge location is
 * called (seals), what was taken in (a seal over a segment's whole row), and the schema, which is
 * made once more in memory and compared. */
#include "store/seal.h"
#include "store/segment.h"
#include "store/verify.h"

#include <string.h>

/* A column that there was no memory for reads as nothing. */
static bool lacks_memory(const tb__verify *v)
{
    return sqlite3_errcode(v->store->db) == SQLITE_NOMEM;
}

/* --- seals --- */

static tb_code verify_series_seals(tb__verify *v, tb_error *err)
{
    static const char *const scopes[] = {"nobody", "pull zone", "account", "load balancer"};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SERIES_SEALS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        int64_t scope = sqlite3_column_int64(s, 0), owner = sqlite3_column_int64(s, 1);
        int64_t edge = sqlite3_column_int64(s, 2), id = sqlite3_column_int64(s, 3);
        if (sqlite3_column_int64(s, 4) == tb__seal_series(scope, owner, edge, id)) continue;
        tb__differs(
            v, "Series %lld is kept as %s %lld's at edge location %lld; its seal says otherwise.",
            (long long)id, scopes[scope & 3], (long long)owner, (long long)edge);
    }
    return code;
}

static tb_code verify_edge_seals(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_EDGE_SEALS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        int64_t id = sqlite3_column_int64(s, 0);
        const char *name = (const char *)sqlite3_column_text(s, 1);
        if (!name) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
        if (sqlite3_column_int64(s, 2) ==
            tb__seal_edge(id, name, (size_t)sqlite3_column_bytes(s, 1)))
            continue;
        tb__differs(v, "Edge location %lld is called %.*s; its seal says otherwise.", (long long)id,
                    TB_EDGE_MAX, name);
    }
    return code;
}

/* NULL and empty look alike here; whether the segment is named is a column of its own. */
static tb__segment_row segment_row(sqlite3_stmt *s)
{
    tb__segment_row row = {.id = sqlite3_column_int64(s, 0),
                           .kind = sqlite3_column_int64(s, 1),
                           .start = sqlite3_column_int64(s, 2),
                           .length = sqlite3_column_int64(s, 3),
                           .lines_before = sqlite3_column_int64(s, 4),
                           .accepted = sqlite3_column_int64(s, 5),
                           .rejected = sqlite3_column_int64(s, 6),
                           .final = sqlite3_column_int64(s, 7),
                           .added_us = sqlite3_column_int64(s, 8),
                           .named = sqlite3_column_int64(s, 9) != 0};
    for (int i = 0; i < TB__SEGMENT_TEXTS; i++) {
        const void *bytes = sqlite3_column_blob(s, 10 + i);
        row.text[i] = (tb__text){bytes ? bytes : "", (size_t)sqlite3_column_bytes(s, 10 + i)};
    }
    return row;
}

static tb_code verify_segment_seals(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool more = true;
    tb_code code = tb__verify_sql(v, TB__V_SEGMENT_SEALS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &more, err)) && more) {
        const tb__segment_row row = segment_row(s);
        if (sqlite3_column_int64(s, 10 + TB__SEGMENT_TEXTS) == tb__seal_segment(&row)) continue;
        if (lacks_memory(v)) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
        tb__differs(v, "Segment %lld is not as it was written: its seal says otherwise.",
                    (long long)row.id);
    }
    return code;
}

tb_code tb__verify_seals(tb__verify *v, tb_error *err)
{
    tb_code code = verify_series_seals(v, err);
    if (!code) code = verify_edge_seals(v, err);
    return code ? code : verify_segment_seals(v, err);
}

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
            if (lacks_memory(v)) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
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
    tb_code code = rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(*ret, rc, path, err);
    for (int i = 0; !code && i < tb__schema_version; i++)
        code = tb__exec(*ret, path, tb__migrations[i], err);
    return code;
}

#define OBJECT_SQL "SELECT sql FROM sqlite_schema WHERE type=?1 AND name=?2"

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

/* Every object that `list` gives of database `a` must be the same in `b`. */
static tb_code compare_objects(tb__verify *v, sqlite3 *a, sqlite3 *b, const char *list,
                               const char *missing, tb_error *err)
{
    sqlite3_stmt *of = NULL, *in = NULL;
    int found = SQLITE_DONE, rc = sqlite3_prepare_v2(a, list, -1, &of, NULL);
    sqlite3 *failed = a;
    if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(failed = b, OBJECT_SQL, -1, &in, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(of)) == SQLITE_ROW) {
        int same = compare_object(of, in, &found);
        const char *type = (const char *)sqlite3_column_text(of, 0);
        const char *name = (const char *)sqlite3_column_text(of, 1);
        failed = b;
        rc = found == SQLITE_ROW || found == SQLITE_DONE ? SQLITE_OK : found;
        if (rc == SQLITE_OK && (!type || !name)) rc = SQLITE_NOMEM;
        if (rc == SQLITE_OK && same < 1)
            tb__differs(v, "The %s %.100s %s.", type, name,
                        same ? missing : "is not declared as it should be");
        if (rc == SQLITE_OK) failed = a;
    }
    tb_code code = rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(failed, rc, v->store->path, err);
    sqlite3_finalize(of);
    sqlite3_finalize(in);
    return code;
}

/* Further tables and indexes do no harm; a further trigger may change what is written. */
tb_code tb__verify_schema(tb__verify *v, tb_error *err)
{
    static const char made[] =
        "SELECT type,name,sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    static const char triggers[] = "SELECT type,name,sql FROM sqlite_schema WHERE type='trigger'";
    sqlite3 *pattern = NULL, *own = v->store->db;
    tb_code code = open_pattern(v, &pattern, err);
    if (!code) code = compare_objects(v, pattern, own, made, "is missing", err);
    if (!code) code = compare_objects(v, own, pattern, triggers, "is not the store's", err);
    sqlite3_close(pattern);
    return code;
}
