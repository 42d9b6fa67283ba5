/* What the virtual tables share: which of a query's conditions narrow what is read.
 *
 * Every table here is keyed (owner, [place,] time): a pull zone or load balancer, an edge location,
 * a text hour or day. A plan is the answer to xBestIndex; bounds are what xFilter makes of it.
 * SQLite checks every condition again, so a condition that is left out costs time only.
 *
 * The same source makes the loadable extension: SQLite's functions then come through the table of
 * pointers that the loading program hands over. */
#ifndef TOLLBOOK_STORE_PLAN_H
#define TOLLBOOK_STORE_PLAN_H

#ifdef TB_LOADABLE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif

#include <stdbool.h>
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

/* countries.c; called by tb__buckets_register. */
int tb__countries_register(sqlite3 *db);

#endif
