/* Verify, sealed tables (sealed.h): a row that does not match its seal is named; rows that were deleted, added, or
 * overwritten after a change, show in the table's sum. */
#include "store/core/seal.h"
#include "store/verify/verify.h"

typedef struct sealed {
    const char *table, *rows; /* columns of rows: name in messages, seal, expected seal */
} sealed;

static const sealed tables[] = {
#define TB_X(table, called)                                                                        \
    {#table, "SELECT " called ",seal," TB__SEAL(table, "") " FROM " #table},
    TB__SEALED_TABLES(TB_X)
#undef TB_X
};

typedef struct head {
    int64_t n, seals;
} head;

static tb_code read_head(tb__verify *v, const char *table, head *ret, bool *ret_there,
                         tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__verify_sql(v, TB__V_HEAD, NULL, 0, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    code = tb__step(v->store, s, ret_there, err);
    if (code || !*ret_there) return code;
    *ret = (head){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code add_rows(tb__verify *v, sqlite3_stmt *s, head *found, tb_error *err)
{
    uint64_t sum = 0;
    bool row = true;
    tb_code code = TB_OK;
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const int64_t seal = sqlite3_column_int64(s, 1);
        found->n++;
        sum += (uint64_t)seal;
        if (seal == sqlite3_column_int64(s, 2)) continue;
        const char *called = (const char *)sqlite3_column_text(s, 0);
        if (!called && sqlite3_errcode(v->store->db) == SQLITE_NOMEM) return tb_no_memory(err);
        tb__differs(v, "%.200s is not as it was sealed.", called ? called : "A row");
    }
    found->seals = (int64_t)(sum & TB__SEAL_BITS);
    return code;
}

static void compare(tb__verify *v, const char *table, head noted, head found)
{
    if (noted.n != found.n)
        tb__differs(v, "Table %s has %lld rows; %lld were written.", table, (long long)found.n,
                    (long long)noted.n);
    else if (noted.seals != found.seals)
        tb__differs(v, "The rows of table %s are not all those that were written.", table);
}

static tb_code verify_table(tb__verify *v, const sealed *t, tb_error *err)
{
    sqlite3_stmt *s;
    head noted, found = {0, 0};
    bool there = false;
    int rc = sqlite3_prepare_v2(v->store->db, t->rows, -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    tb_code code = add_rows(v, s, &found, err);
    sqlite3_finalize(s);
    if (!code) code = read_head(v, t->table, &noted, &there, err);
    if (code) return code;
    if (there) compare(v, t->table, noted, found);
    else tb__differs(v, "How many rows table %s has is not noted.", t->table);
    return TB_OK;
}

static tb_code verify_heads(tb__verify *v, tb_error *err)
{
    const int64_t known = sizeof tables / sizeof *tables;
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__verify_sql(v, TB__V_HEADS, NULL, 0, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    if (sqlite3_column_int64(s, 0) > known)
        tb__differs(v, "Table head notes %lld tables; %lld are sealed.",
                    (long long)sqlite3_column_int64(s, 0), (long long)known);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__verify_sealed(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof tables / sizeof *tables; i++)
        code = tb__verify_note(v, verify_table(v, &tables[i], err), err);
    return code ? code : tb__verify_note(v, verify_heads(v, err), err);
}
