/* Declarations that the files of this folder share: a store's state for ClickHouse, statements and their answers. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H
#define TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H

#include "rollup/index.h"
#include "store/core/internal.h"
#include "store/usage/entry.h"
#include "tollbook/buf.h"

#define TB__CH_ANSWER_MAX    ((size_t)512 << 20)
#define TB__CH_MONTH_METRICS 12
#define TB__CH_SCOPES 4
#define TB__CH_HOURS         4
#define TB__CH_DAYS          4 /* added to the scope of a row that holds a whole day; it has the day's first hour */
#define TB__CH_METER         8 /* the scope of a row of TB__SCOPE_METER */
#define TB__CH_BASE(scope)   "bitAnd(" scope ",11)" /* a row's scope without TB__CH_DAYS */
#define TB__CH_ID_BITS       40 /* of a batch within its writer's span */
#define TB__CH_LIFE_BITS     20 /* of a batch within its life, a part of a span without partitions of its own; a failed commit ends it */
#define TB__CH_LIFE_MAX      ((1 << TB__CH_LIFE_BITS) - 1)

typedef enum tb__ch_table {
    TB__CH_CELL,
    TB__CH_COUNTRY,
    TB__CH_LOG,
    TB__CH_LOG_GONE,
    TB__CH_EVENT,
    TB__CH_TABLES,
    TB__CH_COMPACTED = TB__CH_LOG /* those before it are compacted */
} tb__ch_table;
extern const char *const tb__ch_table_names[TB__CH_TABLES]; /* send.c */

/* Forms of pending rows. Rows of `cell` from log lines leave out the columns that lines never fill. */
typedef enum tb__ch_form {
    TB__CH_ALL,
    TB__CH_LINES,
    TB__CH_COUNTRIES,
    TB__CH_LOG_ROWS,
    TB__CH_GONE_ROWS,
    TB__CH_EVENT_ROWS,
    TB__CH_FORMS
} tb__ch_form;

/* The days of one month, or the hours of some of its days, for some owners of a scope: the month_metrics (month.c) of each
 * location and time. */
typedef struct tb__ch_month {
    int scope;
    int64_t *owners; /* ascending */
    size_t n_owners;
    int64_t month; /* -1: nothing */
    int64_t watermark;
    int64_t unit;         /* hours of a time: 24 or 1 */
    uint32_t held, asked; /* days of the month: those that were read; of hours: those that were asked for since then */
    size_t n;
    struct tb__ch_month_time {
        int64_t owner, edge;
        unsigned at; /* from the month's begin on */
        uint64_t value[TB__CH_MONTH_METRICS];
    } *list; /* ascending by owner, edge, at */
} tb__ch_month;

/* A block of request logs of the running transaction. */
typedef struct tb__ch_pending_block {
    tb_loginfo info;
    int64_t batch;
    size_t at, len; /* in tb__ch_lines.bytes */
} tb__ch_pending_block;

/* A writer's request logs and shield events: see lines.h. */
typedef struct tb__ch_lines {
    tb__ch_pending_block *list;
    size_t n, cap, marked; /* marked: how many there were at the mark */
    tb_buf bytes;
    size_t marked_bytes;
    uint64_t seals, marked_seals; /* that this transaction adds to meta.log_seals */
    int64_t looked[2];            /* how far expired rows were looked for, by kind */
    int64_t swept[2];             /* earlier days are deleted from the servers, by kind */
    int64_t wiped_us;             /* when forgotten zones were last checked */
    int64_t *touched;             /* zones with removed lines and unsent rows */
    size_t n_touched, cap_touched;
} tb__ch_lines;

struct tb__clickhouse {
    const tb_usage_client *client;
    int64_t number;             /* the database's: shard.c; as the file had it when this store began to use it */
    struct tb__ch_cache *cache; /* the file's, of the process; NULL: none */
    tb_buf sql, answer;
    tb__ch_month month[TB__CH_SCOPES]; /* the last ones read */
    tb__ch_month hours[TB__CH_SCOPES][TB__CH_HOURS]; /* the same, by month */
    struct tb__ch_compacted {
        int64_t month, batch;
    } *compacted; /* compacted months, in the snapshot of the last statement */
    size_t n_compacted, cap_compacted;
    struct tb__ch_retention_checked {
        int64_t watermark, month;
    } retention_checked; /* expire.c; of this snapshot */
    bool unchecked; /* of a writer: not every shard was checked, and no span of ids was begun */
    bool checking;  /* it checks them now */
    int64_t first, token_of; /* claim.c: the first span of ids that this writer claimed, and its number */
    bool claimed;            /* all servers have the last claim */
    bool reads_cells; /* the statement in `sql` reads rows that may be dropped */
    bool brief;      /* its answer is expected to be below a megabyte */
    /* Of a writer: */
    int64_t next;      /* id of the next batch */
    int64_t committed; /* watermark at the transaction's begin */
    int64_t sent;      /* the highest id of which rows were sent */
    int64_t marked;    /* the next id at the mark */
    bool began;        /* `committed` and the mark are this transaction's */
    tb_buf *rows[TB__CH_FORMS]; /* unsent, of each shard */
    size_t *marked_at[TB__CH_FORMS];
    tb__index *pools;            /* for each shard: its pending rows of countries */
    tb_buf inserts;              /* the statements of all forms, each ended by a zero */
    size_t insert_at[TB__CH_FORMS];
    tb_buf *bodies;       /* being sent, for each form and shard */
    tb_usage_statement *in_flight; /* its statements: send.c */
    size_t n_in_flight;
    void *token;   /* its client's */
    tb_error lost; /* the error that sending this transaction's rows met */
    tb__ch_lines lines;
    struct tb__ch_gap {
        int64_t first, last;
    } *gaps; /* maybe not stored in the file yet */
    size_t n_gaps, cap_gaps;
    struct tb__ch_compaction *compaction; /* running; NULL: none */
    int64_t due_seen;         /* number of retention requests at the last check */
    struct tb__ch_flip {
        int64_t month, batch, at_us;
    } *flips; /* generations that began in this process, and when; and for their months the generation before */
    size_t n_flips, cap_flips;
};

static inline struct tb__clickhouse *tb__ch_of(const tb_store *store)
{
    return store->clickhouse;
}

/* --- open.c --- */

/* For a file that keeps its own counters: afterwards rows can be sent to the shards, whose tables exist. */
TB_MUST_USE tb_code tb__ch_attach(tb_store *store, const tb_usage_client *client, tb_error *err);
/* Directs statements to other servers: store->clickhouse is theirs, and the caller keeps the one before. */
TB_MUST_USE tb_code tb__ch_connect(tb_store *store, const tb_usage_client *client, tb_error *err);

/* --- shard.c --- */

#define TB__CH_NUMBER  "usage_number"  /* a row of meta: the database that has the file's usage */
#define TB__CH_ADDRESS "usage_address" /* another one: its address, if usage was moved there (tb_usage_client) */

/* Finds the number of the shards' database and sets ch->number: from the file if its usage is there (`used`), else from the shards. */
TB_MUST_USE tb_code tb__ch_find_number(tb_store *store, bool used, tb_error *err);
/* Creates the database and the table if they are missing. */
TB_MUST_USE tb_code tb__ch_create_schema(tb_store *store, size_t shard, tb_error *err);
/* Checks that a server is the shard that it is named as; a new one becomes it. */
TB_MUST_USE tb_code tb__ch_join_shard(tb_store *store, size_t shard, bool used, tb_error *err);
/* The same for a reader. TB_E_USAGE: it is another shard. */
TB_MUST_USE tb_code tb__ch_check_shard(tb_store *store, size_t shard, tb_error *err);

/* --- claim.c --- */

#define TB__CH_CLAIMED "usage_claimed" /* a row of meta: the last span that all servers have a claim for; 0: the usage was on other servers */

/* Creates the table if it is missing. */
TB_MUST_USE tb_code tb__ch_make_claims(tb_store *store, size_t shard, tb_error *err);
/* Raises *claimed to the last claimed span of ids. TB_E_USAGE: the file does not have its usage here (`used` is false), and there are
 * claims of others or rows; or it has, and the server is older than the file. */
TB_MUST_USE tb_code tb__ch_look_at_claims(tb_store *store, size_t shard, bool used, bool rows, int64_t *claimed, tb_error *err);
/* Claims spans of ids up to this one: for a writer that begins, and for a running one. TB_E_USAGE: another writer has begun. */
TB_MUST_USE tb_code tb__ch_begin_claims(tb_store *store, bool used, int64_t epoch, tb_error *err);
TB_MUST_USE tb_code tb__ch_claim(tb_store *store, int64_t epoch, tb_error *err);
/* Stores in the file that every server has the claim. */
TB_MUST_USE tb_code tb__ch_note_claim(tb_store *store, int64_t epoch, tb_error *err);
TB_MUST_USE tb_code tb__ch_check_alone(tb_store *store, tb_error *err);
/* Fails with TB_E_AWAY: another writer has begun. */
TB_MUST_USE tb_code tb__ch_fenced(tb_error *err);

/* --- moved.c --- */

/* Checksums of the rows of a month on one shard. The weight of a value depends on its place, so that a value under a
 * wrong place changes the weighted sum. All are modulo 2^64. */
typedef struct tb__ch_moved_month {
    int64_t month;
    uint64_t rows[TB__CH_TABLES];
    uint64_t sum[TB_METRIC_COUNT], weighed[TB_METRIC_COUNT];
    uint64_t country[2], country_weighed[2]; /* requests, bytes */
} tb__ch_moved_month;

/* Of one shard, ascending by month. The caller frees the list. */
typedef struct tb__ch_moved {
    tb__ch_moved_month *list;
    size_t n, cap;
} tb__ch_moved;

TB_MUST_USE tb_code tb__ch_moved_day(tb__ch_moved *to, const tb__day_of *of_day, const tb_grid *hours, tb_error *err);
TB_MUST_USE tb_code tb__ch_moved_countries(tb__ch_moved *to, int64_t zone, int64_t day,
                                           const struct tb__country *list, size_t n, tb_error *err);
/* Batches of one move, first to last. */
typedef struct tb__ch_span {
    int64_t first, last;
} tb__ch_span;
/* Whether the shard's rows with these ids have exactly these checksums. TB_E_DIFFERENT names month and counter. */
TB_MUST_USE tb_code tb__ch_moved_compare(tb_store *store, size_t shard, tb__ch_moved *what, tb__ch_span ids,
                                         tb_error *err);

/* --- query.c --- */

/* The shard of an owner's rows. */
/* scope: the file's, or that of a row. */
size_t tb__ch_shard(const tb_store *store, int scope, int64_t owner);
/* Fails with TB_E_AWAY: a shard that was unreachable has not been checked yet. */
tb_code tb__ch_unchecked(size_t shard, tb_error *err);
/* Sends the statement in `sql`; the answer is in `answer` until the next call. TB_E_AWAY. */
TB_MUST_USE tb_code tb__ch_query(tb_store *store, size_t shard, tb_error *err);

/* Walks an answer of fixed columns. */
typedef struct tb__ch_reader {
    const char *at, *end;
    bool cut; /* it ended within a column */
} tb__ch_reader;

tb__ch_reader tb__ch_reader_of(const struct tb__clickhouse *ch);
/* An unsigned column of 1 to 8 bytes; 0 where the answer was cut. */
uint64_t tb__ch_column(tb__ch_reader *r, size_t size);
/* n columns of this size: a pointer to the first one. */
const char *tb__ch_columns(tb__ch_reader *r, size_t size, size_t n);
/* An array of such columns: its length, and a pointer to the first one. */
size_t tb__ch_array(tb__ch_reader *r, size_t size, const char **ret_at);
/* At the end: TB_E_AWAY where the answer was cut. */
TB_MUST_USE tb_code tb__ch_check_read(const tb__ch_reader *r, tb_error *err);
/* Fails because a row has an hour or a day outside of the requested range. The text of an error that follows rows reads as such a
 * row, since four letters are an hour some thousand years from now. */
TB_MUST_USE tb_code tb__ch_unexpected_row(tb_error *err);

/* --- visible.c --- */

/* A row of meta: rows up to this id may be stored twice, unless a compaction has repaired their month. */
#define TB__CH_TWICE "usage_twice"

TB_MUST_USE tb_code tb__ch_meta(tb_store *store, const char *name, int64_t otherwise, int64_t *ret,
                                tb_error *err);
TB_MUST_USE tb_code tb__ch_meta_put(tb_store *store, const char *name, int64_t value, tb_error *err);
/* The last batch that this snapshot sees. A writer in a transaction sees its own too, which are sent by then. */
TB_MUST_USE tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err);
/* Adds " AND batch>... AND batch<=..." without the gaps. */
TB_MUST_USE tb_code tb__ch_put_visible(tb_store *store, tb_buf *sql, tb_error *err);

/* Reads ch->compacted. */
TB_MUST_USE tb_code tb__ch_read_months(tb_store *store, tb_error *err);
/* The id of a month's compacted rows; rows below it no longer count. 0: the month was not compacted. */
int64_t tb__ch_month_batch(const struct tb__clickhouse *ch, int64_t month);
typedef struct tb__ch_hours_of {
    int64_t first, end;
} tb__ch_hours_of;
#define TB__CH_EVER ((tb__ch_hours_of){0, UINT32_MAX})
tb__ch_hours_of tb__ch_month_hours(int64_t month);
/* The same for a table that is compacted, and for months between these hours: only rows of the month's last compaction count, and
 * batches after it. */
TB_MUST_USE tb_code tb__ch_put_months(tb_store *store, tb_buf *sql, tb__ch_table of, tb__ch_hours_of between,
                                      tb_error *err);

/* Whether rows that count may be stored twice. Call after tb__ch_put_months. */
TB_MUST_USE tb_code tb__ch_may_be_twice(tb_store *store, tb__ch_hours_of between, bool *ret, tb_error *err);

/* --- open.c --- */

/* Within a transaction: begins a span of ids for one compaction, whose id is *ctx (int64_t), and another for later batches. */
TB_MUST_USE tb_code tb__ch_begin_compaction_span(tb_store *store, void *ctx, tb_error *err);

/* --- compact.c --- */

void tb__ch_compaction_free(struct tb__clickhouse *ch);
/* TB_E_USAGE: the shard has dropped rows that this older copy of the file needs. */
TB_MUST_USE tb_code tb__ch_check_copy(tb_store *store, size_t shard, tb_error *err);

/* --- select.c --- */

/* The owner of a series, and its edge location; edge 0: all locations. */
typedef struct tb__ch_owner {
    int scope;
    int64_t owner, edge;
} tb__ch_owner;

/* "SELECT keys,sum(requests),... FROM rows GROUP BY keys FORMAT RowBinary". */
typedef struct tb__ch_select {
    const char *keys; /* of groups, by h and edge */
    uint32_t metrics;
    tb__ch_owner of;
    const tb__ch_owner *owners; /* several owners in place of the one; all with a location or none */
    size_t n_owners;
    int64_t first, end; /* hours */
    const char *names;    /* of the keys, if they differ */
    tb__ch_hours_of days; /* days whose hours expired count too, if they begin between these hours */
    bool sorted;  /* by the keys */
    bool located; /* two arrays follow the metrics, in place of BYTES: locations, and their bytes */
    bool brief;   /* the answer should be below a megabyte, and its reader detects unexpected rows */
} tb__ch_select;

/* A value for q->brief. */
bool tb__ch_is_brief(const tb__ch_select *q, size_t rows);
/* Writes the statement into `sql`. */
TB_MUST_USE tb_code tb__ch_put_select(tb_store *store, const tb__ch_select *q, tb_error *err);
/* Empties `sql` for a new statement. */
tb_buf *tb__ch_start(tb_store *store);
/* ",sum(NAME)", ",max(NAME)" of each. */
void tb__ch_put_sums(tb_buf *sql, uint32_t metrics);
/* Rows that count. */
typedef struct tb__ch_rows {
    const char *columns; /* some of scope, owner, edge, h */
    uint32_t metrics;    /* 0: without counters, and a row that was sent twice may come twice */
    const char *where;
    int64_t first, end; /* hours */
} tb__ch_rows;

/* Adds "(SELECT columns,NAME,... FROM ...)": each row once, however often it is stored. */
TB_MUST_USE tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err);
/* The same, or "cell WHERE ..." if the file says that no row is stored twice. */
TB_MUST_USE tb_code tb__ch_put_sent_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err);
/* A condition: rows of a scope's hours, and with `days` also the days whose hours expired (TB__CH_DAYS). */
const char *tb__ch_scopes(int scope, bool days);
/* The whole days of a range, as hours. If hours are summed and not shown, days are read instead of them, as in the file. */
tb__ch_hours_of tb__ch_whole_days(tb_range range);
/* Writes the condition for a scope, with days that begin between two hours. */
#define TB__CH_SCOPES_TEXT 100
void tb__ch_put_scopes(char out[TB__CH_SCOPES_TEXT], int scope, tb__ch_hours_of days);
/* Hours are stored from 1970 on, in 32 bits. */
int64_t tb__ch_hour(int64_t hour);
tb__ch_owner tb__ch_viewed(const tb_view *view);
TB_MUST_USE tb_code tb__ch_series_owner(tb_store *store, int64_t series, tb__ch_owner *ret, tb_error *err);

/* --- cached.c --- */

/* A location's part of a day: `count` slots, from slot `from` on, of a chunk with this key. They belong to the range's buckets
 * from `at` on. */
typedef struct tb__ch_part {
    size_t which; /* index of the owner in the list */
    int64_t edge; /* 0: all together */
    int64_t key;
    const uint8_t *data;
    size_t len;
    unsigned from, count;
    size_t at;
} tb__ch_part;

typedef tb_code (*tb__ch_part_fn)(void *ctx, const tb__ch_part *part, tb_error *err);

/* False in a transaction that has added something, and for a very long range. */
bool tb__ch_may_cache(const tb_store *store, tb_range range);
typedef struct tb__ch_wanted {
    const tb__ch_owner *of; /* n of one shard and scope, all with a location or none; ascending, each once */
    size_t n;
    tb_range range;
    uint32_t metrics;
} tb__ch_wanted;

/* Calls fn for each owner and each day with usage, in no order: with the parts of the one location, or else with those of all
 * locations together, and if BYTES are wanted with those of each location, with BYTES alone. */
TB_MUST_USE tb_code tb__ch_each_part(tb_store *store, const tb__ch_wanted *wanted, tb__ch_part_fn fn, void *ctx,
                                     tb_error *err);

/* --- send.c --- */

/* At a transaction's first batch. */
TB_MUST_USE tb_code tb__ch_begin(tb_store *store, tb_error *err);
/* Writes the statements that send rows. */
TB_MUST_USE tb_code tb__ch_put_inserts(struct tb__clickhouse *ch, tb_error *err);
/* Sends all pending rows, and waits until the servers have them. */
TB_MUST_USE tb_code tb__ch_send(tb_store *store, tb_error *err);
/* What this transaction added can be read. */
TB_MUST_USE tb_code tb__ch_settle(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb__ch_commit(tb_store *store, tb_error *err);
/* Rows that were added before the mark are no longer rolled back separately. Sends some of them. */
void tb__ch_mark(tb_store *store);
void tb__ch_abandon(tb_store *store, bool whole);

/* --- countries.c --- */

/* Joins the rows of countries after `from` with each other and with the earlier ones. */
void tb__ch_pool_rows(tb__index *index, tb_buf *rows, size_t from);

/* --- columns.c --- */

/* Appends the rows of cells or countries to a body, as a block of the format Native. */
TB_MUST_USE tb_code tb__ch_put_columns(tb__ch_form form, const tb_buf *rows, tb_buf *out, tb_error *err);

/* --- lines.c --- */

/* Turns pending blocks into rows. */
TB_MUST_USE tb_code tb__ch_lines_ready(tb_store *store, tb_error *err);
void tb__ch_lines_mark(tb__ch_lines *lines);
void tb__ch_lines_drop(tb__ch_lines *lines, bool whole);
TB_MUST_USE tb_code tb__ch_lines_commit(tb_store *store, tb_error *err);

/* Counters that a row of `cell` of this form has. */
uint32_t tb__ch_form_metrics(tb__ch_form form);
/* The form that can hold these counters. */
tb__ch_form tb__ch_form_of(uint32_t metrics);

/* --- batch.c --- */

typedef struct tb__ch_batch {
    tb_store *store;
    int64_t id;
    uint32_t row;
    int64_t account;     /* of the pending days */
    tb__pending pending; /* by edge location and day */
    tb_u128 before[TB_METRIC_COUNT];
    int64_t *days; /* the days that it adds to, ascending */
    size_t n_days, cap_days;
    bool ended;
} tb__ch_batch;

TB_MUST_USE tb_code tb__ch_batch_begin(tb_store *store, void **ret_batch, tb_error *err);
TB_MUST_USE tb_code tb__ch_batch_add(void *to, const tb__day_of *of_day, const tb_grid *hours, tb_error *err);
TB_MUST_USE tb_code tb__ch_batch_add_countries(void *to, int64_t zone, int64_t day,
                                               const struct tb__country *list, size_t n, tb_error *err);
TB_MUST_USE tb_code tb__ch_batch_end(void *to, int64_t newest, tb_error *err);
void tb__ch_batch_free(void *to);
/* A day joins an account's rows of this batch. */
TB_MUST_USE tb_code tb__ch_account_put(tb__ch_batch *b, int64_t account, int64_t edge, int64_t day,
                                       const tb_grid *hours, tb_error *err);

/* One day's hours become rows. */
TB_MUST_USE tb_code tb__ch_put_day(tb__ch_batch *b, const tb__day_of *of_day, const tb_grid *hours, tb_error *err);
/* At the end of the batch: makes readers that cached these days read them again. */
TB_MUST_USE tb_code tb__ch_note_days(tb__ch_batch *b, tb_error *err);

/* --- withdraw.c --- */

extern const struct tb__undo tb__ch_undo;
/* Adds " HAVING ...": groups of rows that are not zero after withdrawals. */
void tb__ch_put_not_empty(tb_buf *sql);

/* --- entries of the table tb__counters: view.c, sum.c, month.c, days.c, billed.c, verify.c --- */

TB_MUST_USE tb_code tb__ch_view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err);
TB_MUST_USE tb_code tb__ch_located_bytes(tb_store *store, const tb__asked *asked, tb_range range,
                                         tb_error *err);
TB_MUST_USE tb_code tb__ch_series(tb_store *store, int64_t id, tb_series *series, tb_error *err);
/* Adds the answer's rows { time, metrics } to the series. */
TB_MUST_USE tb_code tb__ch_fill_series(tb_store *store, uint32_t metrics, tb_series *series, tb_error *err);
TB_MUST_USE tb_code tb__ch_series_together(tb_store *store, tb_summed *list, size_t n, tb_series *series,
                                           tb_error *err);
TB_MUST_USE tb_code tb__ch_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics,
                               tb_error *err);
/* month.c: what was read of months. */
void tb__ch_forget_months(struct tb__clickhouse *ch);
TB_MUST_USE tb_code tb__ch_days(tb_store *store, int64_t series, tb_metric metric, int64_t month,
                                uint64_t out[32], tb_error *err);
TB_MUST_USE tb_code tb__ch_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day,
                                 uint64_t out[32], tb_error *err);
TB_MUST_USE tb_code tb__ch_each_day(tb_store *store, int64_t series, tb__day_fn fn, void *ctx, tb_error *err);
TB_MUST_USE tb_code tb__ch_adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err);
TB_MUST_USE tb_code tb__ch_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                           size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb__ch_verify(tb_store *store, tb__held_sums *ret_sums, tb__differ_fn differ, void *ctx,
                                  tb_error *err);
/* expire.c */
TB_MUST_USE tb_code tb__ch_expire(tb_store *store, tb_retain_walk *walk, bool *ret_over, tb_error *err);
TB_MUST_USE tb_code tb__ch_first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err);
/* size.c */
TB_MUST_USE tb_code tb__ch_sizes(tb_store *store, tb_size_by by, tb__sizes *to, tb_error *err);

#endif
