/* The careful forger: changes a database past its triggers and makes everything that this code makes
 * fit again, seals, sums and chains. What verify does not find then, an anchor must.
 *
 *     forge FILE SQL */
#include "store/core/chain.h"
#include "store/core/seal.h"
#include "store/core/sealed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reseal[] = {
#define TB_X(table, called) TB__SEAL_ROWS(table),
    TB__SEALED_TABLES(TB_X)
#undef TB_X
};

/* series is a view of two tables: their rows are sealed, and its own statement is left out. */
static const char series[] = "UPDATE series ";
static const char both_series[] = "UPDATE series_new SET seal=" TB__SEAL(series, "") ";"
                                  "UPDATE series_placed SET seal=" TB__SEAL(series, "");

static void fail(sqlite3 *db, const char *what)
{
    fprintf(stderr, "forge: %s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(db, sql);
}

/* The ledger and the audit log. */
static const struct {
    const char *read, *write;
    int n_texts;
} chained[] = {
    {"SELECT " TB__C_ledger("") " FROM ledger ORDER BY id",
     "UPDATE ledger SET chain=?1 WHERE id=?2", TB__LEDGER_TEXTS},
    {"SELECT " TB__C_audit("") " FROM audit ORDER BY id",
     "UPDATE audit SET chain=?1 WHERE id=?2", TB__AUDIT_TEXTS},
};

static void rechain(sqlite3 *db, size_t i)
{
    uint8_t before[TB__CHAIN] = {0}, chain[TB__CHAIN];
    sqlite3_stmt *read, *write;
    if (sqlite3_prepare_v2(db, chained[i].read, -1, &read, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, chained[i].write, -1, &write, NULL) != SQLITE_OK)
        fail(db, chained[i].read);
    while (sqlite3_step(read) == SQLITE_ROW) {
        if (!tb__chain_row(before, read, chained[i].n_texts, chain)) fail(db, chained[i].read);
        sqlite3_bind_blob(write, 1, chain, sizeof chain, SQLITE_STATIC);
        sqlite3_bind_int64(write, 2, sqlite3_column_int64(read, 0));
        if (sqlite3_step(write) != SQLITE_DONE) fail(db, chained[i].write);
        sqlite3_reset(write);
        memcpy(before, chain, sizeof before);
    }
    sqlite3_finalize(read);
    sqlite3_finalize(write);
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    if (argc != 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) return 2;
    if (tb__seal_register(db) != SQLITE_OK) fail(db, "tb_seal");
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    run(db, "BEGIN");
    run(db, argv[2]);
    if (sqlite3_total_changes(db) == 0) fail(db, "it changes nothing");
    for (size_t i = 0; i < sizeof chained / sizeof *chained; i++)
        rechain(db, i);
    run(db, both_series);
    for (size_t i = 0; i < sizeof reseal / sizeof *reseal; i++)
        run(db, strncmp(reseal[i], series, sizeof series - 1) == 0 ? strchr(reseal[i], ';') + 1 : reseal[i]);
    run(db, "COMMIT");
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
