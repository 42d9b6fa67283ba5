/* Query planning for the virtual tables: which of a query's conditions narrow the rows to read.
 *
 * Every table here is keyed (owner, [place,] time): a pull zone or load balancer, an edge location,
 * a text hour or day. A plan is the answer to xBestIndex; bounds are what xFilter makes of it.
 * SQLite checks every condition again, so a condition that is left out costs time only. The same
 * source makes the loadable extension. */
#ifndef TOLLBOOK_STORE_PLAN_H
#define TOLLBOOK_STORE_PLAN_H

#include "store/core/connection.h"
#include "tollbook/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of a table; place is -1 where it has none. Value columns begin at `values`. */
typedef struct tb__plan_table {
    int owner, place, time, values;
    int64_t unit_us; /* of the time column: an hour or a day */
    int text_len;    /* of the time column's text: a prefix of YYYY-MM-DDTHH:MM:SSZ */
} tb__plan_table;

typedef struct tb__bounds {
    uint64_t used;     /* bit n: value column n is read */
    int64_t owner;     /* TB_ALL (-1), or the only one */
    const char *place; /* NULL, or the only one; lives until xFilter returns */
    int place_len;
    int64_t first, last; /* units since 1970, both included */
} tb__bounds;

/* xBestIndex for a table that yields rows ascending by owner, place and time. */
int tb__plan(const tb__plan_table *table, sqlite3_index_info *info);
/* xFilter: the plan's number and arguments as bounds. */
void tb__plan_bounds(const tb__plan_table *table, int plan, sqlite3_value **values,
                     tb__bounds *ret_bounds);
/* The text of a time column's value, table->text_len bytes. */
void tb__plan_text(const tb__plan_table *table, int64_t time, char out[20]);

/* --- the tables themselves --- */

/* The parts that differ between tables: the context of a module. */
typedef struct tb__vshape {
    tb__plan_table plan;
    const char *declaration;
    const char *series; /* buckets.c: ?1 owner or NULL, ?2 place or NULL */
} tb__vshape;

typedef struct tb__vtable {
    sqlite3_vtab base;
    sqlite3 *db;
    const tb__vshape *shape;
} tb__vtable;

/* The beginning of each cursor. */
typedef struct tb__vcursor {
    sqlite3_vtab_cursor base;
    sqlite3_int64 row;
    bool over;
} tb__vcursor;

static inline tb__vtable *tb__vtable_of(const tb__vcursor *c)
{
    return (tb__vtable *)c->base.pVtab;
}

/* The methods that are the same for all. No xCreate: the tables are there by name, and nobody can
 * make others of the kind. */
int tb__vtable_connect(sqlite3 *db, void *shape, int argc, const char *const *argv,
                       sqlite3_vtab **ret, char **ret_message);
int tb__vtable_disconnect(sqlite3_vtab *base);
int tb__vtable_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int tb__vtable_eof(sqlite3_vtab_cursor *base);
int tb__vtable_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret);
#define TB__VTABLE_METHODS                                                                         \
    .iVersion = 1, .xConnect = tb__vtable_connect, .xBestIndex = tb__vtable_best_index,            \
    .xDisconnect = tb__vtable_disconnect, .xEof = tb__vtable_eof, .xRowid = tb__vtable_rowid
/* A zeroed cursor of `size` bytes, or NULL. */
void *tb__vcursor_new(size_t size);
int tb__vtable_fail(tb__vtable *t, int rc, const char *message);
int tb__vtable_fail_in_sqlite(tb__vtable *t);
/* An error of ours as SQLite's. */
int tb__vtable_fail_with(tb__vtable *t, const tb_error *err);
/* A tb__lsm_fail (store/lsm/lsm.h) for pending usage. */
tb_code tb__vtable_runs_fail(sqlite3 *db, int rc, const char *path, tb_error *err);
int tb__vtable_register(sqlite3 *db, const char *name, const sqlite3_module *module,
                        const tb__vshape *shape);

/* countries.c; called by tb__buckets_register. */
int tb__countries_register(sqlite3 *db);
/* meter_usage.c; likewise. */
int tb__meter_usage_register(sqlite3 *db);

#endif
