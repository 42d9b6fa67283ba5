/* The careful forger: changes a database past its triggers and makes everything that this code makes
 * fit again, seals, sums and the ledger's chain. What verify does not find then, an anchor must.
 *
 *     forge FILE SQL */
#include "store/billing.h"
#include "store/seal.h"
#include "store/sealed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reseal[] = {
#define TB_X(table, called) TB__SEAL_ROWS(table)
    TB__SEALED_TABLES(TB_X)
#undef TB_X
};

static void fail(sqlite3 *db, const char *what)
{
    fprintf(stderr, "forge: %s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(db, sql);
}

static void chain_entry(sqlite3 *db, sqlite3_stmt *read, sqlite3_stmt *write, uint8_t chain[32])
{
    tb_ledger_entry entry;
    tb_error err;
    uint8_t before[32];
    memcpy(before, chain, 32);
    if (tb__ledger_from(read, &entry, &err)) fail(db, err.message);
    tb__ledger_chain(before, &entry, (const char *)sqlite3_column_text(read, 5), chain);
    sqlite3_bind_blob(write, 1, chain, 32, SQLITE_STATIC);
    sqlite3_bind_int64(write, 2, entry.id);
    if (sqlite3_step(write) != SQLITE_DONE) fail(db, "ledger");
    sqlite3_reset(write);
}

static void rechain(sqlite3 *db)
{
    uint8_t chain[32] = {0};
    sqlite3_stmt *read, *write;
    if (sqlite3_prepare_v2(db,
                           "SELECT id,account,at_us,kind,currency,amount,reference,note FROM ledger"
                           " ORDER BY id",
                           -1, &read, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "UPDATE ledger SET chain=?1 WHERE id=?2", -1, &write, NULL) !=
            SQLITE_OK)
        fail(db, "ledger");
    while (sqlite3_step(read) == SQLITE_ROW)
        chain_entry(db, read, write, chain);
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
    rechain(db);
    for (size_t i = 0; i < sizeof reseal / sizeof *reseal; i++)
        run(db, reseal[i]);
    run(db, "COMMIT");
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
