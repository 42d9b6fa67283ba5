/* The steps from an older schema to the newest (schema.c): all of them or none, so that an interrupted upgrade leaves the file of the
 * older schema. */
#include "store/core/internal.h"
#include "store/core/trees.h"
#include "store/logs/segment.h"
#include "store/replica/capture.h"

#include <stdio.h>
#include <string.h>

#define STEPS_PER_TELL 100000 /* of SQLite's machine: a few milliseconds */

static const tb_store_options silent = {0};

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

/* An upgrade, and the callback that reports its progress. */
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
    char stamp[80];
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
    snprintf(stamp, sizeof stamp, "PRAGMA user_version=%d", u->to);
    if (!code) code = tb__exec(store->db, store->path, stamp, err);
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d", TB_APPLICATION_ID);
    if (!code && !from) code = tb__exec(store->db, store->path, stamp, err);
    if (!code) store->schema = u->to;
    return code;
}

tb_code tb__upgrade_copy(tb_store *store, int to, tb_error *err)
{
    upgrade u = {&silent, store->schema, store->schema, to};
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

tb_code tb__migrate(tb_store *store, const tb_store_options *options, int from, tb_error *err)
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
    return store->schema < tb__schema_version ? tb__migrate(store, &silent, store->schema, err) : TB_OK;
}

tb_code tb__meet_older(tb_store *store, const tb_store_options *options, tb_error *err)
{
    if (options->copy && store->schema >= tb__schema_copied) return TB_OK;
    if (store->copy)
        return tb_fail(err, TB_E_DIFFERENT, NULL,
                       "%s is a copy with the older schema %d. Upgrade its primary, remove the copy and start again: it is "
                       "made anew.",
                       store->path, store->schema);
    if (store->write) {
        const tb_code code = tb__standbys_know(store, tb__schema_version, err);
        return code ? code : tb__migrate(store, options, store->schema, err);
    }
    return tb_fail(err, TB_E_READ_ONLY, NULL,
                   "%s has the older schema %d. Back it up with the tollbook that wrote "
                   "it; any writing command of this one upgrades it.",
                   store->path, store->schema);
}
