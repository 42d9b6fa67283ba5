/* What the store's files share: the connection, its prepared statements and its few caches. */
#ifndef TOLLBOOK_STORE_INTERNAL_H
#define TOLLBOOK_STORE_INTERNAL_H

#include "base/list.h"
#include "store/core/plane.h"
#include "store/core/seal.h"
#include "store/statements.h"
#include "tollbook/rollup.h"
#include "tollbook/store.h"

#include <stdatomic.h>
#include <sqlite3.h>

#define TB__SCOPE_ZONE 1
#define TB__SCOPE_ACCOUNT 2
#define TB__SCOPE_BALANCER 3
#define TB__SCOPE_METER 4 /* owner: a meter_series */
#define TB__METER_COLUMN TB_M_REQUESTS /* the first counter: of a meter's series, or of the first interval of its hours */

/* Whether owners of the scope are counted whole: their one series is at edge 0. */
static inline bool tb__is_whole(int scope)
{
    return scope == TB__SCOPE_BALANCER || scope == TB__SCOPE_METER;
}

extern const char *const tb__migrations[];
extern const int tb__schema_version;
/* The oldest schema that a copy may have: what it has been asked since then reads both. */
extern const int tb__schema_copied;
extern const char tb__schema_sha256[];

/* What an edge location is called, and its region's id (0: none). */
typedef struct tb__place {
    int64_t edge, region;
    char name[TB_REGION_NAME_MAX], code[TB_EDGE_MAX + 1];
} tb__place;

/* One location's series of a zone or account. */
typedef struct tb__located {
    int64_t edge, series;
    const tb__place *place;
    tb_u128 bytes;
} tb__located;

/* Slots for months, by month modulo this; tb__late_came_since does not distinguish months of one slot. */
#define TB__LANDED 16

struct tb_store {
    tb__plane plane; /* where usage lies */
    const tb_usage_client *client; /* of its servers; NULL: in the file */
    struct tb__clickhouse *clickhouse; /* NULL: the file has the counters */
    sqlite3 *db;
    sqlite3_stmt *statement[TB__SQL_COUNT]; /* prepared at first use */
    char *path; /* as it was given, for messages */
    struct tb__held *held; /* the file: held.h */
    unsigned links; /* names of the file, when it was opened or at the last commit */
    bool write;
    bool dirty;             /* this transaction changed something */
    bool broken;            /* a part of this transaction could not be taken back: it is lost */
    int wal_pages;          /* pages in the WAL after the last commit */
    uint64_t read_version;  /* of a reader: the data version of the snapshot, */
    bool read_version_known; /* if it was read in it */
    atomic_bool stop_copy;  /* the running backup is to end */
    bool scrub;             /* the WAL may hold erased data: it is to be emptied */
    bool rows_buffered;     /* rows of base are in the write buffer: usage/write_buffer.h */
    bool series_come;       /* new series are not written yet: usage/owners.h */
    tb_helper helper;       /* start NULL: none */
    int64_t next_series;    /* behind all series ids given, 0: read it from meta */
    int64_t next_segment;   /* id of the segment that add_segment will insert, 0: not known */
    uint64_t rejects_kept;  /* of the running segment */
    int64_t segment_newest; /* likewise: the hour of its newest usage; INT64_MIN: it has none */
    tb__seal_sums seal_sums;       /* core/seal.h */
    tb_u128 sums[TB_METRIC_COUNT]; /* of the running segment */
    tb_u128 country_requests, country_bytes; /* of the running segment's lines with a country */
    tb_u128 rung_seals;                      /* of the running segment's rungs */
    uint64_t cells;                          /* of the running segment: usage/cells.h */
    tb_u128 metered;                         /* of sums[TB__METER_COLUMN]: what meters counted */
    struct tb__segment_fold *segment_fold;   /* writer: logs/segment_fold.c; NULL: nothing is being folded */
    struct tb__event_ids *event_ids;         /* logs/event_ids.c; NULL until some are looked up */

    int64_t (*clock)(void);      /* writer: for the moments of pieces; NULL: opened_us */
    int64_t opened_us;
    struct tb__capture *capture; /* replica/capture.h; NULL: the file is not replicated, or this is a reader */
    int schema;                  /* of the file */
    bool control;                /* the usage is on servers that are not connected (tb_store_options) */
    bool copy;                   /* writer: of a copy, whose capture only finds out that something was changed */
    bool copied;                 /* the file is marked as a copy (TB_COPY_APPLICATION_ID) */
    bool superseded;             /* writer: another file took this one's place: nothing is committed */
    bool applies;                /* rows are changed without triggers: tb__capture_settle */
    bool applied_keys;           /* the last piece that it applied changed keys */

    tb__place *places; /* ascending by edge; good while the file's data version is the same */
    size_t n_places, cap_places;
    uint32_t places_version;
    tb__located *located; /* scratch: the locations of the view being read */
    size_t n_located, cap_located;

    const tb_directory *directory;  /* NULL: not read yet */
    bool directory_stale;           /* this transaction changed the catalogue */
    struct tb__log_joiner *joiner;  /* logs/join.c; NULL until a block is joined */
    bool joins_bounded;   /* tb_store_bound_work */
    size_t joins_left;
    struct tb__log_compaction *log_compaction; /* logs/log_run.h; NULL until a run is appended */

    struct tb__read_books *read_books; /* money/books.c; NULL until some are read */
    struct tb__usage *usage; /* usage/batch.h: sorted runs, and a writer's additions */

    struct tb__billing *billing; /* billing.h; NULL until something is billed */
    bool billing_stale;          /* this transaction changed usage or the catalogue */
    bool regions_move;           /* see tb_store_let_regions_move */
    bool late_known;             /* writer: late_end is valid */
    int64_t late_end;            /* usage of days from here on is never late */
    int64_t proof_open;          /* likewise valid: usage of earlier days changes what the log of documents says of them */
    int64_t asked_account;              /* account of the cached answers below; 0: none */
    int64_t asked_month[TB__LANDED];    /* its month and 1 more; 0: none */
    bool asked_noted[TB__LANDED];       /* it was run, or a closing depends on it */
    struct tb__late_row *late;          /* writer: days that may be late, until tb__late_write */
    size_t n_late, cap_late;
    uint32_t landing;                   /* writer: slots of months of which this transaction has usage */
    int64_t landing_first, landing_end; /* days of the month that it was told of last */
    int64_t landed[TB__LANDED];         /* the data version in which usage of such a month came last; 0: not since opened */
    struct tb__proof_log *proof_log;    /* writer: proof/log.h; NULL: this transaction appended nothing to it yet */
    int64_t back;                       /* the data version that is looked back at; 0: today's */
};

/* --- statements --- */

/* *ret: the prepared statement, reset and with cleared bindings. */
TB_MUST_USE tb_code tb__sql(tb_store *store, tb__statement id, sqlite3_stmt **ret, tb_error *err);
/* The same, while rows of chunk may be on their way: for who lands them. */
TB_MUST_USE tb_code tb__sql_now(tb_store *store, tb__statement id, sqlite3_stmt **ret,
                                tb_error *err);
/* The same with n integers bound to ?1.. */
TB_MUST_USE tb_code tb__sql_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                                 sqlite3_stmt **ret, tb_error *err);
/* Steps to a row: TB_OK and *ret_row, or a mapped error. Resets at the end and on errors. */
TB_MUST_USE tb_code tb__step(tb_store *store, sqlite3_stmt *statement, bool *ret_row,
                             tb_error *err);
/* Runs a statement that gives no rows. */
TB_MUST_USE tb_code tb__run(tb_store *store, sqlite3_stmt *statement, tb_error *err);
/* Binds n integers to ?1.. and runs. */
TB_MUST_USE tb_code tb__run_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                                 tb_error *err);
/* The first column of the first row, or `otherwise`. */
TB_MUST_USE tb_code tb__int_of(tb_store *store, tb__statement id, const int64_t *values, int n,
                               int64_t otherwise, int64_t *ret_value, tb_error *err);
/* Rows are numbered from 1 to below this: a thousand pages of each can be numbered too (lsm/lsm.h), and one added. */
#define TB__ID_END (INT64_C(1) << 53)
/* TB_E_CORRUPT where no row of that table has this number; end: the first that is too large. */
TB_MUST_USE tb_code tb__check_id(const char *table, int64_t id, int64_t end, tb_error *err);
/* The number of a table's next row, by a statement that adds one to the newest. TB_E_CORRUPT: the newest is not a
 * number that this program assigns. */
TB_MUST_USE tb_code tb__next_id(tb_store *store, tb__statement next, const char *table, int64_t *ret_id, tb_error *err);
/* A statement's rows as a list. `from` makes an item of a row; `release` (may be NULL) releases an item when a later
 * row fails. */
typedef struct tb__rows {
    size_t size;
    tb_code (*from)(sqlite3_stmt *row, void *item, tb_error *err);
    void (*release)(void *item);
} tb__rows;
/* ret_list points at the list's pointer: NULL where there is no row, else free(). On an error
 * nothing is set. */
TB_MUST_USE tb_code tb__collect(tb_store *store, sqlite3_stmt *statement, const tb__rows *rows,
                                void *ret_list, size_t *ret_n, tb_error *err);
/* The same with n integers bound to ?1.. */
TB_MUST_USE tb_code tb__collect_ints(tb_store *store, tb__statement id, const int64_t *values,
                                     int n, const tb__rows *rows, void *ret_list, size_t *ret_n,
                                     tb_error *err);
/* A text cut to its room, terminated. A NULL in a column that is never NULL means that memory is short. */
TB_MUST_USE tb_code tb__copy_text(sqlite3_stmt *s, int column, char *out, size_t size, tb_error *err);
/* The first column of its rows. */
extern const tb__rows tb__int_rows;
TB_MUST_USE tb_code tb__list_ints(tb_store *store, tb__statement id, const int64_t *values, int n,
                                  int64_t **ret_list, size_t *ret_n, tb_error *err);
/* A row of the table meta. */
TB_MUST_USE tb_code tb__meta_get(tb_store *store, const char *name, int64_t *ret_value,
                                 tb_error *err);
TB_MUST_USE tb_code tb__meta_set(tb_store *store, const char *name, int64_t value, tb_error *err);

/* --- upgrades --- */

/* Takes the steps from a schema (0: an empty file) to the newest, in a transaction of its own. */
TB_MUST_USE tb_code tb__migrate(tb_store *store, const tb_store_options *options, int from, tb_error *err);
/* Upgrades the file to the newest schema, in a transaction of its own. Nothing where it has it. */
TB_MUST_USE tb_code tb__upgrade(tb_store *store, tb_error *err);
/* Takes the steps to a newer schema in the caller's transaction, as the primary of this copy did. */
TB_MUST_USE tb_code tb__upgrade_copy(tb_store *store, int to, tb_error *err);
/* A file of an older schema was opened. A copy stays as it is: its primary's piece, or its promotion, upgrades it. */
TB_MUST_USE tb_code tb__meet_older(tb_store *store, const tb_store_options *options, tb_error *err);

/* SQLite's error as ours, naming the file. */
tb_code tb__sqlite_fail(sqlite3 *db, int rc, const char *path, tb_error *err);
TB_MUST_USE tb_code tb__exec(sqlite3 *db, const char *path, const char *sql, tb_error *err);

/* The id that the running segment will get, into store->next_segment. */
TB_MUST_USE tb_code tb__segment_id(tb_store *store, tb_error *err);
/* The text of the lines that the running segment refused will be forgotten. */
TB_MUST_USE tb_code tb__rejects_due(tb_store *store, int64_t now_us, tb_error *err);
/* Copies the file as it is now to a new file, which is neither verified nor synced. */
TB_MUST_USE tb_code tb__copy_file(tb_store *store, const char *to, tb_progress progress, void *ctx, tb_error *err);
/* TB_E_IO: a database or a backup is not made under this name, the one of a partial copy. */
TB_MUST_USE tb_code tb__check_name(const char *path, tb_error *err);
/* Begins a new segment's count of sums and rejects. */
void tb__segment_reset(tb_store *store);
/* What was being folded is looked for anew. */
void tb__segment_fold_free(tb_store *store);
TB_MUST_USE tb_code tb__region_insert(tb_store *store, const tb_region *region, tb_error *err);
/* The regions that a catalogue declares: its own, or the built-in ones. */
const tb_region *tb__regions_of(const tb_catalog *catalog, size_t *ret_n);
/* tb_store_unnamed for them. */
TB_MUST_USE tb_code tb__regions_unnamed(tb_store *store, const tb_catalog *catalog,
                                        void (*each)(void *ctx, const tb_unnamed *one), void *ctx, size_t *ret_live,
                                        tb_error *err);
void tb__event_ids_free(struct tb__event_ids *all);
/* Makes the region table hold exactly these. */
TB_MUST_USE tb_code tb__regions_replace(tb_store *store, const tb_region *regions, size_t n,
                                        bool *ret_changed, tb_error *err);

/* The meter of a number, as it is declared now or was when it was removed. */
TB_MUST_USE tb_code tb__meter_declared(tb_store *store, int64_t number, tb_meter *ret_meter, tb_error *err);

/* What ends a transaction is prepared while there is memory, so that it can end without. */
TB_MUST_USE tb_code tb__prepare_ends(tb_store *store, tb_error *err);
/* tb_store_begin for a piece of replication: its rows are changed as it says, without triggers. */
TB_MUST_USE tb_code tb__begin(tb_store *store, tb_error *err);
/* What is remembered from the file is read again: another one has changed it. The catalogue only with directory_stale. */
void tb__forget_content(tb_store *store);

/* --- usage --- */

/* For a connection that was just opened. */
TB_MUST_USE tb_code tb__usage_open(tb_store *store, tb_error *err);
/* What was remembered in a transaction that was undone. */
void tb__usage_forget(tb_store *store, bool whole);
void tb__usage_close(tb_store *store);
/* TB_E_IO: SQLite rolled the transaction back itself, and nothing may be written for itself. */
TB_MUST_USE tb_code tb__check_whole(const tb_store *store, tb_error *err);
/* Writes what the write buffer holds. Statements ask for it before they run (tb__sql). */
TB_MUST_USE tb_code tb__write_buffer_flush(tb_store *store, tb_error *err);
/* SQLite prepares every statement again after such a switch, and ends one that is running (SQLITE_ABORT_ROLLBACK): so the
 * lent thread has written what the write buffer holds before it. */
TB_MUST_USE tb_code tb__triggers_off(tb_store *store, tb_error *err);
void tb__triggers_on(tb_store *store);
/* Of series that this transaction began, those that are not in the file yet: usage/owners.h. */
TB_MUST_USE tb_code tb__series_write(tb_store *store, tb_error *err);
/* Adds all that a zone holds to its account: a zone with usage found its account. */
TB_MUST_USE tb_code tb__adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err);
/* A balancer with imported rows has got an account: its usage in months that were run is late. */
TB_MUST_USE tb_code tb__adopt_balancer(tb_store *store, int64_t balancer, int64_t account,
                                       tb_error *err);

/* Of a zone's edge location, or of a balancer (account 0: look it up). taken: it is withdrawn. */
typedef struct tb__late_of {
    int scope;
    int64_t owner, account, edge;
    bool taken;
} tb__late_of;
/* Notes a day as late if its month was run or a closing depends on it; tb__late_write stores it. See late.c. */
TB_MUST_USE tb_code tb__late_note(tb_store *store, tb__late_of of, int64_t day,
                                  const tb_grid *hours, tb_error *err);
/* Notes that usage of the day is added; *ret_late: tb__late_note must be called for it, too. */
TB_MUST_USE tb_code tb__late_look(tb_store *store, int64_t day, bool *ret_late, tb_error *err);
/* Values of gauges of a segment, from a moment on, are added, or withdrawn, and may count for any later month. Notes the months
 * that were run and for which they count. */
TB_MUST_USE tb_code tb__late_gauges(tb_store *store, int64_t segment, int64_t from_us, tb_error *err);
/* Stores the noted days. */
TB_MUST_USE tb_code tb__late_write(tb_store *store, tb_error *err);
/* After a failure: drops the noted days. */
void tb__late_drop(tb_store *store);
/* A month was run or closed, or a transaction was rolled back: drops the cached answers. */
void tb__late_forget(tb_store *store);
/* The transaction is about to be committed, and its version is counted. */
TB_MUST_USE tb_code tb__late_landed(tb_store *store, tb_error *err);
/* Whether usage of the month was added after that version. May be true also for usage of another month of the slot. */
bool tb__late_came_since(const tb_store *store, int64_t month, int64_t version);

/* The catalogue was changed, or a change was rolled back: zones and edge locations are read again. */
void tb__directory_forget(tb_store *store);
void tb__log_joiner_free(struct tb__log_joiner *joiner);
void tb__log_compaction_free(struct tb__log_compaction *compaction);
/* A zone's place in the R*Tree of request logs: 31 bits. */
int64_t tb__log_tree_zone(int64_t zone);
int64_t tb__seal_log(int64_t id, int64_t zone, int64_t first_ms, int64_t last_ms, int64_t lines,
                     const void *data, size_t len);

/* --- the log of documents (store/proof): nothing where none was begun --- */

#define TB__SCHEMA_OF_PROOFS 32 /* a copy may have an older one */
/* The first day that is not closed; INT64_MIN: there is no log. */
TB_MUST_USE tb_code tb__proof_open(tb_store *store, int64_t *ret_day, tb_error *err);
struct tb_invoice;
/* What the transaction appended is about to be committed, or read: writes its tiles. */
TB_MUST_USE tb_code tb__proof_flush(tb_store *store, tb_error *err);
/* The transaction is over, or the part of it since the mark was rolled back. */
void tb__proof_forget(tb_store *store, bool whole);
/* Append what the caller's transaction adds; before a document the days that it may count, after it its terms. */
TB_MUST_USE tb_code tb__proof_book(tb_store *store, const char *id, const char *text, size_t len, tb_error *err);
TB_MUST_USE tb_code tb__proof_invoice(tb_store *store, const struct tb_invoice *invoice, tb_error *err);
TB_MUST_USE tb_code tb__proof_void(tb_store *store, int64_t account, const char *number, int64_t at_us, tb_error *err);

/* --- reading --- */

/* TB_E_NOT_FOUND, "There is no account N." */
tb_code tb__no_account(const char *field, int64_t account, tb_error *err);

int64_t tb__floor_div(int64_t a, int64_t b);

/* *ret_series: the series that holds the whole view, 0 where nothing was ever counted for it, or where the
 * zone is declared to exist only after the range. store->located: the view's locations. code: an edge
 * location's, in place of the view's region; NULL: that region. */
TB_MUST_USE tb_code tb__view_resolve(tb_store *store, const tb_view *view, const char *code,
                                     tb_range range, int64_t *ret_series, tb_error *err);
/* Reads the names of locations, where they may have changed; then a location's, NULL: it has none. */
TB_MUST_USE tb_code tb__load_places(tb_store *store, tb_error *err);
const tb__place *tb__find_place(const tb_store *store, int64_t edge);

/* --- buckets.c: the virtual tables `buckets`, `balancer_buckets` and `countries` --- */
int tb__buckets_register(sqlite3 *db);

#endif
