/* What the files of this folder share: a store's place in ClickHouse, statements and their answers. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H
#define TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H

#include "store/core/internal.h"
#include "store/usage/run.h"
#include "tollbook/buf.h"

#define TB__CH_ANSWER_MAX    ((size_t)512 << 20)
#define TB__CH_MONTH_METRICS 3

typedef enum tb__ch_table { TB__CH_CELL, TB__CH_COUNTRY, TB__CH_LOG, TB__CH_LOG_GONE, TB__CH_TABLES } tb__ch_table;

/* One owner's days of one month: of each edge location and day the month_metrics (month.c). */
typedef struct tb__ch_month {
    int scope;
    int64_t owner, month, watermark;
    size_t n;
    struct tb__ch_month_day {
        int64_t edge;
        unsigned day;
        uint64_t value[TB__CH_MONTH_METRICS];
    } *list;
} tb__ch_month;

struct tb__clickhouse {
    const tb_usage_client *client;
    tb_buf sql, answer;
    tb__ch_month month; /* the one asked for last */
    /* Of a writer: */
    int64_t next;      /* id of the next batch */
    int64_t committed; /* watermark at the transaction's begin */
    int64_t sent;      /* the highest id of which rows were sent */
    int64_t marked;    /* the next id at the mark */
    bool began;        /* `committed` and the mark are this transaction's */
    tb_buf *rows[TB__CH_TABLES]; /* unsent, of each shard */
    size_t *marked_at[TB__CH_TABLES];
    struct tb__ch_gap {
        int64_t first, last;
    } *gaps; /* not known to be in the file yet */
    size_t n_gaps, cap_gaps;
    struct tb__ch_dropped {
        int64_t day, tried_ms; /* days of request logs before it are dropped; when that failed */
    } dropped;
};

static inline struct tb__clickhouse *tb__ch_of(const tb_store *store)
{
    return store->clickhouse;
}

/* --- ask.c --- */

/* Where an owner's rows lie. */
size_t tb__ch_shard(const tb_store *store, int scope, int64_t owner);
/* Sends the statement that is in `sql`; what comes is in `answer` until the next call. TB_E_AWAY. */
TB_MUST_USE tb_code tb__ch_ask(tb_store *store, size_t shard, tb_error *err);

/* Walks an answer of fixed columns. */
typedef struct tb__ch_reader {
    const char *at, *end;
    bool cut; /* it ended within a column */
} tb__ch_reader;

tb__ch_reader tb__ch_reader_of(const struct tb__clickhouse *ch);
/* An unsigned column of 1 to 8 bytes; 0 where the answer was cut. */
uint64_t tb__ch_column(tb__ch_reader *r, size_t size);
/* At the end: TB_E_AWAY where the answer was cut. */
TB_MUST_USE tb_code tb__ch_check_read(const tb__ch_reader *r, tb_error *err);

/* --- visible.c --- */

TB_MUST_USE tb_code tb__ch_meta(tb_store *store, const char *name, int64_t otherwise, int64_t *ret,
                                tb_error *err);
TB_MUST_USE tb_code tb__ch_meta_put(tb_store *store, const char *name, int64_t value, tb_error *err);
/* Up to which batch this snapshot sees: a writer in a transaction its own ones too, which are sent by then. */
TB_MUST_USE tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err);
/* Adds " AND batch<=..." without the gaps. */
TB_MUST_USE tb_code tb__ch_put_visible(tb_store *store, tb_buf *sql, tb_error *err);

/* --- question.c --- */

/* Whose a series is. edge 0: all that the owner has. */
typedef struct tb__ch_whose {
    int scope;
    int64_t owner, edge;
} tb__ch_whose;

/* "SELECT keys,sum(c0),... FROM (each row once) GROUP BY keys FORMAT RowBinary". The inner rows have h, edge and
 * the counters. */
typedef struct tb__ch_question {
    const char *keys; /* of the outer groups, by h and edge */
    uint32_t metrics;
    tb__ch_whose of;
    int64_t first, end; /* hours */
    const char *more;   /* behind GROUP BY; NULL: nothing */
} tb__ch_question;

/* Writes the statement into `sql`. */
TB_MUST_USE tb_code tb__ch_put_question(tb_store *store, const tb__ch_question *q, tb_error *err);
/* Empties `sql` for a new statement. */
tb_buf *tb__ch_start(tb_store *store);
/* ",sum(cM)", ",max(cM)" of each. */
void tb__ch_put_sums(tb_buf *sql, uint32_t metrics);
/* Adds "(SELECT columns,any(NAME) AS cM,... FROM ...)": the rows that count and are `where`, once each. columns are some
 * of scope, owner, edge, h. metrics 0: without counters, and a row that was sent twice may come twice. The one
 * place that knows in which tables rows lie. */
TB_MUST_USE tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const char *columns, uint32_t metrics,
                                    const char *where, tb_error *err);
/* Hours are stored from 1970 on, in 32 bits. */
int64_t tb__ch_hour(int64_t hour);
tb__ch_whose tb__ch_viewed(const tb_view *view);
TB_MUST_USE tb_code tb__ch_whose_is(tb_store *store, int64_t series, tb__ch_whose *ret, tb_error *err);

/* --- send.c --- */

/* At a transaction's first batch. */
TB_MUST_USE tb_code tb__ch_begin(tb_store *store, tb_error *err);
/* Sends all rows that wait. */
TB_MUST_USE tb_code tb__ch_send(tb_store *store, tb_error *err);
/* What this transaction added can be read. */
TB_MUST_USE tb_code tb__ch_settle(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb__ch_commit(tb_store *store, tb_error *err);
void tb__ch_mark(tb_store *store);
void tb__ch_abandon(tb_store *store, bool whole);

/* --- batch.c --- */

typedef struct tb__ch_batch {
    tb_store *store;
    int64_t id;
    uint32_t row;
    int64_t account;     /* whose days wait */
    tb__pending waiting; /* by edge location and day */
    tb_u128 before[TB_METRIC_COUNT];
    int64_t *days; /* that it adds to, ascending */
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

/* --- entries of the table tb__counters: view.c, month.c, days.c, billed.c, verify.c --- */

TB_MUST_USE tb_code tb__ch_view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err);
TB_MUST_USE tb_code tb__ch_located_bytes(tb_store *store, const tb__asked *asked, tb_range range,
                                         tb_error *err);
TB_MUST_USE tb_code tb__ch_series(tb_store *store, int64_t id, tb_series *series, tb_error *err);
TB_MUST_USE tb_code tb__ch_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics,
                               tb_error *err);
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

#endif
