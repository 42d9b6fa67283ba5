/* What the files of this folder share: a store's place in ClickHouse, statements and their answers. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H
#define TOLLBOOK_STORE_CLICKHOUSE_PRIVATE_H

#include "rollup/index.h"
#include "store/core/internal.h"
#include "store/usage/entry.h"
#include "tollbook/buf.h"

#define TB__CH_ANSWER_MAX    ((size_t)512 << 20)
#define TB__CH_MONTH_METRICS 3
#define TB__CH_SCOPES        3
#define TB__CH_HOURS         4
#define TB__CH_DAYS          4 /* joins the scope of a row that is a day, in the place of its first hour */
#define TB__CH_ID_BITS       40 /* of a batch within its writer's span */
#define TB__CH_LIFE_BITS     20 /* and within its life, which a commit that fails ends: a part of a span that costs no partition */
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

/* Rows that wait: those of `cell` which log lines make have no columns for what these never tell. */
typedef enum tb__ch_form {
    TB__CH_ALL,
    TB__CH_LINES,
    TB__CH_COUNTRIES,
    TB__CH_LOG_ROWS,
    TB__CH_GONE_ROWS,
    TB__CH_EVENT_ROWS,
    TB__CH_FORMS
} tb__ch_form;

/* The days of one month of all owners of a scope from one to another, or the hours of one: of each location and time the
 * month_metrics (month.c). */
typedef struct tb__ch_month {
    int scope;
    int64_t first, last; /* owners */
    int64_t month;       /* -1: nothing */
    int64_t watermark;
    int64_t unit;        /* hours of a time: 24 or 1 */
    size_t n;
    struct tb__ch_month_time {
        int64_t owner, edge;
        unsigned at; /* from the month's begin on */
        uint64_t value[TB__CH_MONTH_METRICS];
    } *list; /* ascending by owner, edge, at */
} tb__ch_month;

/* A block of request logs of the running transaction. */
typedef struct tb__ch_waiting {
    tb_loginfo info;
    int64_t batch;
    size_t at, len; /* in tb__ch_lines.bytes */
} tb__ch_waiting;

/* A writer's request logs and shield events: see lines.h. */
typedef struct tb__ch_lines {
    tb__ch_waiting *list;
    size_t n, cap, marked; /* marked: how many there were at the mark */
    tb_buf bytes;
    size_t marked_bytes;
    uint64_t seals, marked_seals; /* that this transaction adds to meta.log_seals */
    int64_t looked[2];            /* how far what is too old was looked for, by kind */
    int64_t swept[2];             /* days before that are gone from the servers, by kind */
    int64_t wiped_us;             /* when forgotten zones were looked at last */
    int64_t *touched;             /* zones of which lines were taken out, and whose rows were not sent */
    size_t n_touched, cap_touched;
} tb__ch_lines;

struct tb__clickhouse {
    const tb_usage_client *client;
    int64_t number;             /* of the database: place.c; of a writer */
    struct tb__ch_cache *cache; /* the file's, of the process; NULL: none */
    tb_buf sql, answer;
    tb__ch_month month[TB__CH_SCOPES]; /* those asked for last */
    tb__ch_month hours[TB__CH_HOURS];  /* by month; of the owner that was asked for last */
    struct tb__ch_folded {
        int64_t month, batch;
    } *folded; /* months that were compacted, as the snapshot of the last statement says */
    size_t n_folded, cap_folded;
    struct tb__ch_unlet {
        int64_t watermark, month;
    } unlet;     /* letgo.c; of this snapshot */
    bool unseen; /* of a writer: not every shard was looked at, and no span of ids was begun */
    bool looks;  /* it does that now */
    int64_t first, token_of; /* claim.c: the first span of ids that this writer took, and its number */
    bool claimed;            /* the last one is on all servers */
    bool asks_cells; /* the statement in `sql` asks for rows that were */
    bool brief;      /* its answer is expected to be below a megabyte */
    /* Of a writer: */
    int64_t next;      /* id of the next batch */
    int64_t committed; /* watermark at the transaction's begin */
    int64_t sent;      /* the highest id of which rows were sent */
    int64_t marked;    /* the next id at the mark */
    bool began;        /* `committed` and the mark are this transaction's */
    tb_buf *rows[TB__CH_FORMS]; /* unsent, of each shard */
    size_t *marked_at[TB__CH_FORMS];
    tb__index *pools;            /* of each shard: which rows of countries are there already */
    tb_buf inserts;              /* the statements of all forms, each ended by a zero */
    size_t insert_at[TB__CH_FORMS];
    tb_buf *bodies;       /* of what is on its way, of each form and shard */
    tb_usage_statement *going; /* what that is: send.c */
    size_t n_going;
    void *token;   /* its client's */
    tb_error lost; /* code: what this transaction's rows met on their way */
    tb__ch_lines lines;
    struct tb__ch_gap {
        int64_t first, last;
    } *gaps; /* not known to be in the file yet */
    size_t n_gaps, cap_gaps;
    struct tb__ch_fold *fold; /* in work; NULL: none */
    int64_t due_seen;         /* how many calls to let go there had been at the last look */
    struct tb__ch_flip {
        int64_t month, batch, at_us;
    } *flips; /* generations, and when they began: those of this process, and of a month with such a one the last before it */
    size_t n_flips, cap_flips;
};

static inline struct tb__clickhouse *tb__ch_of(const tb_store *store)
{
    return store->clickhouse;
}

/* --- open.c --- */

/* For a file with counters of its own, which stay its plane: rows can be sent to the shards, whose tables are there. */
TB_MUST_USE tb_code tb__ch_attach(tb_store *store, const tb_usage_client *client, tb_error *err);

/* --- place.c --- */

#define TB__CH_NUMBER "usage_number" /* a row of meta: the database that has the file's usage */

/* Which database the shards are of, into ch->number: where the file's usage is there (`used`) the file says it, otherwise they do. */
TB_MUST_USE tb_code tb__ch_find_number(tb_store *store, bool used, tb_error *err);
/* The database, and the table, where they are missing. */
TB_MUST_USE tb_code tb__ch_make_place(tb_store *store, size_t shard, tb_error *err);
/* That a shard is what it is named as; one that has no place yet gets it. */
TB_MUST_USE tb_code tb__ch_take_place(tb_store *store, size_t shard, bool used, tb_error *err);
/* Of a reader. TB_E_USAGE: it is another one. */
TB_MUST_USE tb_code tb__ch_check_place(tb_store *store, size_t shard, tb_error *err);

/* --- claim.c --- */

#define TB__CH_CLAIMED "usage_claimed" /* a row of meta: the last span that was taken and then written into the file; 0: on other servers */

/* The table, where it is missing. */
TB_MUST_USE tb_code tb__ch_make_claims(tb_store *store, size_t shard, tb_error *err);
/* Raises *claimed to the last span of ids that anybody took. TB_E_USAGE: others did, or there are rows, and the file does not have its
 * usage here (`used`); or it has, and the server is older than the file. */
TB_MUST_USE tb_code tb__ch_look_at_claims(tb_store *store, size_t shard, bool used, bool rows, int64_t *claimed, tb_error *err);
/* Takes spans of ids up to this one: of a writer that begins, and of one that goes on. TB_E_USAGE: another one has begun. */
TB_MUST_USE tb_code tb__ch_begin_claims(tb_store *store, bool used, int64_t epoch, tb_error *err);
TB_MUST_USE tb_code tb__ch_claim(tb_store *store, int64_t epoch, tb_error *err);
/* In the file: every server has that span. */
TB_MUST_USE tb_code tb__ch_note_claim(tb_store *store, int64_t epoch, tb_error *err);
TB_MUST_USE tb_code tb__ch_check_alone(tb_store *store, tb_error *err);
/* TB_E_AWAY, for whoever asks after that. */
TB_MUST_USE tb_code tb__ch_fenced(tb_error *err);

/* --- moved.c --- */

/* What rows of one table come to in a month of a shard. A value's weight is its place's, so that a value that lies
 * under another place shows. All are modulo 2^64. */
typedef struct tb__ch_moved_month {
    int64_t month;
    uint64_t rows[TB__CH_TABLES];
    uint64_t sum[TB_METRIC_COUNT], weighed[TB_METRIC_COUNT];
    uint64_t country[2], country_weighed[2]; /* requests, bytes */
} tb__ch_moved_month;

/* Of one shard, ascending by month. Who counts frees the list. */
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
/* Whether a shard holds exactly that under these ids. TB_E_DIFFERENT names month and counter. */
TB_MUST_USE tb_code tb__ch_moved_compare(tb_store *store, size_t shard, tb__ch_moved *what, tb__ch_span ids,
                                         tb_error *err);

/* --- ask.c --- */

/* Where an owner's rows lie. */
size_t tb__ch_shard(const tb_store *store, int scope, int64_t owner);
/* TB_E_AWAY: nobody has looked yet whether a shard that was away is what it should be. */
tb_code tb__ch_unseen(size_t shard, tb_error *err);
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
/* So many of them: the first one's place. */
const char *tb__ch_columns(tb__ch_reader *r, size_t size, size_t n);
/* An array of such columns: how many, and the first one's place. */
size_t tb__ch_array(tb__ch_reader *r, size_t size, const char **ret_at);
/* At the end: TB_E_AWAY where the answer was cut. */
TB_MUST_USE tb_code tb__ch_check_read(const tb__ch_reader *r, tb_error *err);
/* A row of an hour, or a day, outside of the question: what else came, as the text of an error behind rows that were sent before it, reads
 * as one, since four letters are an hour some thousand years from now. */
TB_MUST_USE tb_code tb__ch_not_asked_for(tb_error *err);

/* --- visible.c --- */

/* A row of meta: up to this id rows may lie on their shard twice, unless a compaction has looked since. */
#define TB__CH_TWICE "usage_twice"

TB_MUST_USE tb_code tb__ch_meta(tb_store *store, const char *name, int64_t otherwise, int64_t *ret,
                                tb_error *err);
TB_MUST_USE tb_code tb__ch_meta_put(tb_store *store, const char *name, int64_t value, tb_error *err);
/* Up to which batch this snapshot sees: a writer in a transaction its own ones too, which are sent by then. */
TB_MUST_USE tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err);
/* Adds " AND batch>... AND batch<=..." without the gaps. */
TB_MUST_USE tb_code tb__ch_put_visible(tb_store *store, tb_buf *sql, tb_error *err);

/* Reads ch->folded. */
TB_MUST_USE tb_code tb__ch_read_months(tb_store *store, tb_error *err);
/* The one id below which a month's rows do not count any more, and whose rows are folded ones. 0: it was not compacted. */
int64_t tb__ch_month_batch(const struct tb__clickhouse *ch, int64_t month);
typedef struct tb__ch_hours_of {
    int64_t first, end;
} tb__ch_hours_of;
#define TB__CH_EVER ((tb__ch_hours_of){0, UINT32_MAX})
tb__ch_hours_of tb__ch_month_hours(int64_t month);
/* The same for a table that is compacted, and for months between these hours: rows that a compaction made count where it is the
 * month's, and no batch that it folded. */
TB_MUST_USE tb_code tb__ch_put_months(tb_store *store, tb_buf *sql, tb__ch_table of, tb__ch_hours_of between,
                                      tb_error *err);

/* Of what tb__ch_put_months has written before. */
TB_MUST_USE tb_code tb__ch_may_be_twice(tb_store *store, tb__ch_hours_of between, bool *ret, tb_error *err);

/* --- open.c --- */

/* Within a transaction: a span of ids for one fold, *ctx (int64_t) is its id, and another for what comes. */
TB_MUST_USE tb_code tb__ch_begin_fold_span(tb_store *store, void *ctx, tb_error *err);

/* --- compact.c --- */

void tb__ch_fold_free(struct tb__clickhouse *ch);
/* TB_E_USAGE: the file is older than what went from the shard. */
TB_MUST_USE tb_code tb__ch_check_copy(tb_store *store, size_t shard, tb_error *err);

/* --- question.c --- */

/* The owner of a series, and its edge location; edge 0: all locations. */
typedef struct tb__ch_whose {
    int scope;
    int64_t owner, edge;
} tb__ch_whose;

/* "SELECT keys,sum(requests),... FROM rows GROUP BY keys FORMAT RowBinary". */
typedef struct tb__ch_question {
    const char *keys; /* of groups, by h and edge */
    uint32_t metrics;
    tb__ch_whose of;
    const tb__ch_whose *owners; /* where there are several, all with a location or none: in place of the one */
    size_t n_owners;
    int64_t first, end; /* hours */
    const char *names;    /* of the keys, where they have others */
    tb__ch_hours_of days; /* hours of which only the day is left count, too: days that begin between these */
    bool sorted;  /* by the keys */
    bool located; /* behind the metrics, without BYTES: locations and their bytes, two arrays */
    bool brief;   /* the answer is expected to be below a megabyte, and who reads it knows a row that was not asked for */
} tb__ch_question;

/* For q->brief. */
bool tb__ch_is_brief(const tb__ch_question *q, size_t rows);
/* Writes the statement into `sql`. */
TB_MUST_USE tb_code tb__ch_put_question(tb_store *store, const tb__ch_question *q, tb_error *err);
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

/* Adds "(SELECT columns,NAME,... FROM ...)": rows once each, however often they lie there. */
TB_MUST_USE tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err);
/* The same, or "cell WHERE ..." where none can lie there twice by what the file says. */
TB_MUST_USE tb_code tb__ch_put_sent_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err);
/* A condition: rows of a scope's hours, and with days those of which only the day is left (TB__CH_DAYS). */
const char *tb__ch_scopes(int scope, bool days);
/* The days that are whole in a range, as hours: where hours are added up and not shown, days stand for them, as in the file. */
tb__ch_hours_of tb__ch_whole_days(tb_range range);
/* Writes the condition for a scope, with days that begin between two hours. */
#define TB__CH_SCOPES_TEXT 100
void tb__ch_put_scopes(char out[TB__CH_SCOPES_TEXT], int scope, tb__ch_hours_of days);
/* Hours are stored from 1970 on, in 32 bits. */
int64_t tb__ch_hour(int64_t hour);
tb__ch_whose tb__ch_viewed(const tb_view *view);
TB_MUST_USE tb_code tb__ch_whose_is(tb_store *store, int64_t series, tb__ch_whose *ret, tb_error *err);

/* --- cached.c --- */

/* A location's part of a day: `count` slots from `from` on of a chunk with that key, for buckets `at` and following
 * of the range. */
typedef struct tb__ch_part {
    size_t which; /* of those that are wanted */
    int64_t edge; /* 0: all together */
    int64_t key;
    const uint8_t *data;
    size_t len;
    unsigned from, count;
    size_t at;
} tb__ch_part;

typedef tb_code (*tb__ch_part_fn)(void *ctx, const tb__ch_part *part, tb_error *err);

/* Not in a transaction that has added something, nor for a range that is very long. */
bool tb__ch_may_cache(const tb_store *store, tb_range range);
typedef struct tb__ch_wanted {
    const tb__ch_whose *of; /* n of one shard and scope, all with a location or none; ascending, each once */
    size_t n;
    tb_range range;
    uint32_t metrics;
} tb__ch_wanted;

/* Calls fn for each of them and each day with usage, in no order: with the parts of the one location that is meant, or else of
 * all together, and of each location where BYTES are wanted, with BYTES alone. */
TB_MUST_USE tb_code tb__ch_each_part(tb_store *store, const tb__ch_wanted *wanted, tb__ch_part_fn fn, void *ctx,
                                     tb_error *err);

/* --- send.c --- */

/* At a transaction's first batch. */
TB_MUST_USE tb_code tb__ch_begin(tb_store *store, tb_error *err);
/* Writes the statements that send rows. */
TB_MUST_USE tb_code tb__ch_put_inserts(struct tb__clickhouse *ch, tb_error *err);
/* Sends all rows that wait, and waits until they are there. */
TB_MUST_USE tb_code tb__ch_send(tb_store *store, tb_error *err);
/* What this transaction added can be read. */
TB_MUST_USE tb_code tb__ch_settle(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb__ch_commit(tb_store *store, tb_error *err);
/* What was added before it is not undone alone any more. Sends some of it. */
void tb__ch_mark(tb_store *store);
void tb__ch_abandon(tb_store *store, bool whole);

/* --- countries.c --- */

/* Joins the rows of countries behind `from` with each other and with those before. */
void tb__ch_pool_rows(tb__index *index, tb_buf *rows, size_t from);

/* --- columns.c --- */

/* Appends the rows of cells or countries to what is sent, as a block of the format Native. */
TB_MUST_USE tb_code tb__ch_put_columns(tb__ch_form form, const tb_buf *rows, tb_buf *out, tb_error *err);

/* --- lines.c --- */

/* Blocks that wait become rows. */
TB_MUST_USE tb_code tb__ch_lines_ready(tb_store *store, tb_error *err);
void tb__ch_lines_mark(tb__ch_lines *lines);
void tb__ch_lines_drop(tb__ch_lines *lines, bool whole);
TB_MUST_USE tb_code tb__ch_lines_commit(tb_store *store, tb_error *err);

/* Counters that a row of `cell` of this form has. */
uint32_t tb__ch_form_metrics(tb__ch_form form);
/* Which of the two may hold these. */
tb__ch_form tb__ch_form_of(uint32_t metrics);

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

/* One day's hours become rows. */
TB_MUST_USE tb_code tb__ch_put_day(tb__ch_batch *b, const tb__day_of *of_day, const tb_grid *hours, tb_error *err);
/* At its end: a reader that remembers these days asks for them again. */
TB_MUST_USE tb_code tb__ch_note_days(tb__ch_batch *b, tb_error *err);

/* --- withdraw.c --- */

extern const struct tb__undo tb__ch_undo;
/* Adds " HAVING ...": groups of rows in which something is left. */
void tb__ch_put_there(tb_buf *sql);

/* --- entries of the table tb__counters: view.c, sum.c, month.c, days.c, billed.c, verify.c --- */

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
/* letgo.c */
TB_MUST_USE tb_code tb__ch_let_go(tb_store *store, tb_retain_walk *walk, bool *ret_over, tb_error *err);
TB_MUST_USE tb_code tb__ch_first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err);
/* size.c */
TB_MUST_USE tb_code tb__ch_sizes(tb_store *store, tb_size_by by, tb__sizes *to, tb_error *err);

#endif
