/* Moves usage from its shards to others: more, fewer, or as many on other servers. Rows are copied unchanged, with their ids, so
 * the file still says which rows count, which ids are gaps and which months were compacted. Only the shard of an owner changes.
 *
 * A pass copies the rows of all batches up to the newest one that counts, and behind those of the pass before. Rows never change
 * and ids ascend, so a reader can do it while the writer goes on; the last pass, of what came meanwhile, is the writer's own, with
 * the switch behind it: one transaction of the file, which stores the number of shards and their database (shard.c). Until then
 * nothing has changed. The old servers are only read.
 *
 * A piece is a range of owners of one month on one of the old shards. For each new shard the rows of the piece that belong there are
 * compared with those it has, copied if they differ, and compared again. So an interrupted copy begins at the first row and sends
 * what is missing, and rows that were copied twice count once.
 *
 * The new servers must not keep rows that have expired on the old ones. So nothing is compacted or deleted during a move. The new
 * servers must be empty when the copy begins, and an interrupted copy is continued only if no other process has opened the file for
 * writing since (usage_reshard_epoch). */
#include "store/clickhouse/move.h"

#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_ROWS 100000 /* some 20 MB */
#define SPANS      16     /* an INSERT makes a part for each span and month it has rows of: 8 ms each, 100 on a busy machine */
#define ATTEMPTS   3      /* rows of a batch that failed may still arrive while a piece is copied */

/* The columns that decide on which shard and in which partition a row lies. */
typedef struct table {
    const char *name, *scope, *base, *owner, *time; /* base: the scope that decides the shard */
    int64_t per_day;                                /* of `time` */
    const char *weight;                             /* of rows, 1 for some 200 bytes */
    const char *key;                                /* tells rows of one time apart */
    const char *columns;
    bool metrics;  /* and these */
    bool by_day;   /* a partition is a day, its column `day` */
} table;

#define TABLES 5

static const table tables[TABLES] = {
    {"cell", "scope", TB__CH_BASE("scope"), "owner", "h", 24, "count()", "batch,row", "scope,owner,edge,h,batch,row", true, false},
    {"country", "1", "1", "zone", "day", 1, "count()", "country,batch", "zone,day,country,batch,requests,bytes", false, false},
    {"log", "1", "1", "zone", "intDiv(last_ms,1000)", 86400, "count()+intDiv(sum(bytes),200)", "batch",
     "day,zone,first_ms,last_ms,lines,batch,at,seal,bytes,data", false, true},
    {"log_gone", "1", "1", "zone", "toUInt32(day)", 1, "count()", "of", "day,zone,of,batch", false, true},
    {"event", "1", "1", "zone", "toUInt32(day)", 1, "count()+intDiv(sum(length(record)),200)", "key",
     "day,zone,key,batch,seal,record", false, true},
};

/* A range of owners of one scope, and of times. A single time with many rows is divided by a hash. */
typedef struct piece {
    const table *of;
    int scope; /* 0: all that the pass has of the table */
    int64_t first, last; /* owners */
    int64_t from, end;   /* times */
    uint64_t part, parts; /* of parts + 1 */
} piece;

typedef struct reshard {
    tb_store *store;
    tb_usage_move *move;
    struct tb__clickhouse *from, *to;
    const table *table;
    size_t shard; /* of the old ones */
    int64_t above, through; /* ids of batches: of the pass, or of some spans of it */
    bool fresh;             /* the new shards have none of them */
    uint64_t (*weight)[TABLES]; /* rows of each old shard and table between these ids, by weight */
    struct digest {
        uint64_t rows, hash;
    } *wanted; /* of the piece, for each new shard */
    uint64_t done, all; /* rows, by weight */
} reshard;
typedef struct digest digest;

/* Directs statements to the new shards, until the next call. */
static struct tb__clickhouse *turn(const reshard *r, struct tb__clickhouse *to)
{
    r->store->clickhouse = to;
    return to;
}

static void put_columns(tb_buf *sql, const table *t)
{
    tb_buf_str(sql, t->columns);
    for (int m = 0; t->metrics && m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
}

/* tb__ch_shard in SQL. */
static void put_shard(tb_buf *sql, const table *t, size_t shards)
{
    tb_buf_fmt(sql,
               "bitXor((bitXor((bitXor((toUInt64(%s)*4+toUInt64(%s) AS z),bitShiftRight(z,30))*toUInt64(%" PRIu64
               ") AS y),bitShiftRight(y,27))*toUInt64(%" PRIu64 ") AS x),bitShiftRight(x,31))%%%zu",
               t->owner, t->base, UINT64_C(0xBF58476D1CE4E5B9), UINT64_C(0x94D049BB133111EB), shards);
}

static void put_is_on(tb_buf *sql, const table *t, size_t shards, size_t shard)
{
    tb_buf_str(sql, " AND ");
    put_shard(sql, t, shards);
    tb_buf_fmt(sql, "=%zu", shard);
}

/* The table's rows of this pass. */
static void put_rows(tb_buf *sql, const reshard *r, const struct tb__clickhouse *ch, const table *t)
{
    tb_buf_fmt(sql, " FROM %s.%s WHERE batch>%" PRId64 " AND batch<=%" PRId64, ch->client->database, t->name, r->above, r->through);
}

static void put_piece(tb_buf *sql, const reshard *r, const struct tb__clickhouse *ch, const piece *p)
{
    put_rows(sql, r, ch, p->of);
    if (!p->scope) {
        tb_buf_fmt(sql, " AND %s>0", p->of->scope);
        return;
    }
    tb_buf_fmt(sql, " AND %s=%d AND %s>=%" PRId64 " AND %s<=%" PRId64 " AND %s>=%" PRId64 " AND %s<%" PRId64,
               p->of->scope, p->scope, p->of->owner, p->first, p->of->owner, p->last,
               p->of->time, p->from, p->of->time, p->end);
    if (p->of->by_day)
        tb_buf_fmt(sql, " AND day>=toDate(%" PRId64 ") AND day<=toDate(%" PRId64 ")", p->from / p->of->per_day,
                   (p->end - 1) / p->of->per_day);
    if (p->parts) tb_buf_fmt(sql, " AND cityHash64(%s)%%%" PRIu64 "=%" PRIu64, p->of->key, p->parts + 1, p->part);
}

/* Queries, and takes the answer out of the store, which sends other queries while it is read. Release it also after an error. */
static tb_code take_answer(const reshard *r, tb_buf *ret_taken, tb_error *err)
{
    const tb_code code = tb__ch_query(r->store, r->shard, err);
    *ret_taken = r->from->answer;
    tb_buf_init(&r->from->answer, TB__CH_ANSWER_MAX, NULL);
    return code;
}

/* --- a piece --- */

/* Adds columns count(), sum(hash) of the piece's rows, and begins the subquery of these. */
static void put_digest(tb_buf *sql, const reshard *r, const struct tb__clickhouse *ch, const piece *p)
{
    tb_buf_str(sql, "count(),sum(cityHash64(");
    put_columns(sql, p->of);
    tb_buf_str(sql, ")) FROM (SELECT DISTINCT ");
    put_columns(sql, p->of);
    put_piece(sql, r, ch, p);
}

/* What the old shard has of the piece, for each new shard. */
static tb_code read_wanted(const reshard *r, const piece *p, tb_error *err)
{
    tb_buf *sql = tb__ch_start(r->store);
    memset(r->wanted, 0, r->to->client->shards * sizeof *r->wanted);
    tb_buf_str(sql, "SELECT toUInt64(");
    put_shard(sql, p->of, r->to->client->shards);
    tb_buf_str(sql, ") AS belongs,");
    put_digest(sql, r, r->from, p);
    tb_buf_str(sql, ") GROUP BY belongs FORMAT RowBinary");
    tb_code code = tb__ch_query(r->store, r->shard, err);
    tb__ch_reader at = tb__ch_reader_of(r->from);
    while (!code && at.at < at.end && !at.cut) {
        const uint64_t to = tb__ch_column(&at, 8);
        if (to >= r->to->client->shards) return tb__ch_unexpected_row(err);
        r->wanted[to].rows = tb__ch_column(&at, 8);
        r->wanted[to].hash = tb__ch_column(&at, 8);
    }
    return code ? code : tb__ch_check_read(&at, err);
}

/* What the new shard has of the piece from the old one. */
static tb_code read_found(const reshard *r, const piece *p, size_t to, digest *ret, tb_error *err)
{
    turn(r, r->to);
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_str(sql, "SELECT ");
    put_digest(sql, r, r->to, p);
    put_is_on(sql, p->of, r->from->client->shards, r->shard);
    tb_buf_str(sql, ") FORMAT RowBinary");
    tb_code code = tb__ch_query(r->store, to, err);
    tb__ch_reader at = tb__ch_reader_of(r->to);
    turn(r, r->from);
    if (code) return code;
    ret->rows = tb__ch_column(&at, 8);
    ret->hash = tb__ch_column(&at, 8);
    return tb__ch_check_read(&at, err);
}

static tb_code send_copy(const reshard *r, const table *t, size_t to, tb_error *err)
{
    const tb_usage_client *client = r->to->client;
    tb_buf *sql = &r->to->sql;
    sql->len = r->to->answer.len = 0;
    tb_buf_fmt(sql, "INSERT INTO %s.%s(", client->database, t->name);
    put_columns(sql, t);
    tb_buf_add(sql, ") FORMAT RowBinary", sizeof ") FORMAT RowBinary");
    tb_code code = tb_buf_check(sql, err);
    if (code || !r->from->answer.len) return code;
    const tb_usage_statement of = {.shard = to, .sql = sql->data, .body = r->from->answer.data, .len = r->from->answer.len};
    return client->ask(client->ctx, &of, &r->to->answer, err);
}

static tb_code copy_rows(const reshard *r, const piece *p, size_t to, tb_error *err)
{
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_str(sql, "SELECT ");
    put_columns(sql, p->of);
    put_piece(sql, r, r->from, p);
    put_is_on(sql, p->of, r->to->client->shards, to);
    tb_buf_str(sql, " FORMAT RowBinary");
    tb_code code = tb__ch_query(r->store, r->shard, err);
    return code ? code : send_copy(r, p->of, to, err);
}

static tb_code fail_different(const reshard *r, const piece *p, size_t to, const digest *found, tb_error *err)
{
    return tb_fail(err, TB_E_DIFFERENT, "to",
                   "Shard %zu of --to has %" PRIu64 " rows of %s that shard %zu has %" PRIu64 " of, for owners %lld to %lld of scope %d, "
                   "or others than these. Nothing was changed. Name another database behind the hosts of --to.",
                   to + 1, found->rows, p->of->name, r->shard + 1, r->wanted[to].rows, (long long)p->first, (long long)p->last, p->scope);
}

static tb_code move_piece_to(const reshard *r, const piece *p, size_t to, tb_error *err)
{
    digest found = {0, 0};
    tb_code code = r->fresh ? TB_OK : read_found(r, p, to, &found, err);
    for (int sent = 0; !code && (r->wanted[to].rows != found.rows || r->wanted[to].hash != found.hash); sent++) {
        if (sent == ATTEMPTS) return fail_different(r, p, to, &found, err);
        if (sent) code = read_wanted(r, p, err);
        if (!code) code = copy_rows(r, p, to, err);
        if (!code) code = read_found(r, p, to, &found, err);
    }
    r->move->rows += found.rows;
    return code;
}

static tb_code move_piece(const reshard *r, const piece *p, tb_error *err)
{
    tb_code code = read_wanted(r, p, err);
    for (size_t to = 0; !code && to < r->to->client->shards; to++)
        code = move_piece_to(r, p, to, err);
    return code;
}

/* Divides a single time with too many rows for one piece into parts. */
static tb_code move_time(reshard *r, piece p, uint64_t rows, tb_error *err)
{
    tb_code code = TB_OK;
    p.parts = rows / PIECE_ROWS;
    for (p.part = 0; !code && p.part <= p.parts; p.part++)
        code = move_piece(r, &p, err);
    if (code) return code;
    r->done = rows < r->all - r->done ? r->done + rows : r->all;
    if (r->move->progress) r->move->progress(r->move->ctx, r->done, r->all);
    return TB_OK;
}

/* Joins consecutive times until they have enough rows. */
static tb_code walk_times(reshard *r, piece p, tb__ch_reader *at, tb_error *err)
{
    const int64_t end = p.end;
    uint64_t gathered = 0;
    tb_code code = TB_OK;
    p.end = p.from;
    while (!code && at->at < at->end) {
        const int64_t time = (int64_t)tb__ch_column(at, 8);
        const uint64_t rows = tb__ch_column(at, 8);
        code = tb__ch_check_read(at, err);
        if (!code && gathered && gathered + rows > PIECE_ROWS) {
            code = move_time(r, p, gathered, err);
            p.from = p.end;
            gathered = 0;
        }
        p.end = time + 1;
        gathered += rows;
    }
    p.end = end;
    return code ? code : move_time(r, p, gathered, err);
}

/* Owners with few rows are joined; one with many is divided by time. */
static tb_code move_owners(reshard *r, const piece *p, uint64_t rows, tb_error *err)
{
    if (rows <= PIECE_ROWS) return move_time(r, *p, rows, err);
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_fmt(sql, "SELECT toInt64(%s) AS t,toUInt64(%s)", p->of->time, p->of->weight);
    put_piece(sql, r, r->from, p);
    tb_buf_str(sql, " GROUP BY t ORDER BY t FORMAT RowBinary");
    tb_buf taken;
    tb_code code = take_answer(r, &taken, err);
    tb__ch_reader at = {taken.data, taken.data + taken.len, false};
    if (!code) code = walk_times(r, *p, &at, err);
    tb_buf_release(&taken);
    return code;
}

/* --- a month --- */

static piece month_of(const table *t, int64_t month)
{
    return (piece){.of = t, .from = tb_month_first_day(month) * t->per_day, .end = tb_month_first_day(month + 1) * t->per_day};
}

/* Joins consecutive owners until they have enough rows. */
static tb_code walk_owners(reshard *r, piece p, tb__ch_reader *at, tb_error *err)
{
    uint64_t gathered = 0;
    tb_code code = TB_OK;
    while (!code && at->at < at->end) {
        const int scope = (int)tb__ch_column(at, 1);
        const int64_t owner = (int64_t)tb__ch_column(at, 8);
        const uint64_t rows = tb__ch_column(at, 8);
        code = tb__ch_check_read(at, err);
        if (!code && gathered && (scope != p.scope || gathered + rows > PIECE_ROWS)) {
            code = move_owners(r, &p, gathered, err);
            gathered = 0;
        }
        if (!gathered) p.first = owner;
        p.scope = scope;
        p.last = owner;
        gathered += rows;
    }
    return code || !gathered ? code : move_owners(r, &p, gathered, err);
}

static tb_code move_month(reshard *r, int64_t month, tb_error *err)
{
    const table *t = r->table;
    const piece p = month_of(t, month);
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_fmt(sql, "SELECT toUInt8(%s) AS s,%s,toUInt64(%s)", t->scope, t->owner, t->weight);
    put_rows(sql, r, r->from, t);
    tb_buf_fmt(sql, " AND %s>0 AND %s>=%" PRId64 " AND %s<%" PRId64 " GROUP BY s,%s ORDER BY s,%s FORMAT RowBinary", t->scope, t->time,
               p.from, t->time, p.end, t->owner, t->owner);
    tb_buf taken;
    tb_code code = take_answer(r, &taken, err);
    tb__ch_reader at = {taken.data, taken.data + taken.len, false};
    if (!code) code = walk_owners(r, p, &at, err);
    tb_buf_release(&taken);
    return code;
}

/* --- the move --- */

static tb_code list_months(const reshard *r, int64_t **ret_months, size_t *ret_n, tb_error *err)
{
    size_t cap = 0;
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_fmt(sql, "SELECT DISTINCT toUInt32(toYYYYMM(toDateTime(%s*%d,'UTC'))) AS m", r->table->time, (int)(86400 / r->table->per_day));
    put_rows(sql, r, r->from, r->table);
    tb_buf_fmt(sql, " AND %s>0 ORDER BY m FORMAT RowBinary", r->table->scope);
    tb_code code = tb__ch_query(r->store, r->shard, err);
    tb__ch_reader at = tb__ch_reader_of(r->from);
    while (!code && at.at < at.end && !at.cut) {
        code = tb__grow(ret_months, *ret_n, &cap, sizeof **ret_months, err);
        if (code) break;
        const int64_t named = (int64_t)tb__ch_column(&at, 4);
        (*ret_months)[(*ret_n)++] = (named / 100 - 1970) * 12 + named % 100 - 1;
    }
    return code ? code : tb__ch_check_read(&at, err);
}

static tb_code move_table(reshard *r, tb_error *err)
{
    int64_t *months = NULL;
    size_t n = 0;
    const uint64_t rows = r->weight[r->shard][r->table - tables];
    if (!rows) return TB_OK;
    if (rows <= PIECE_ROWS) return move_time(r, (piece){.of = r->table}, rows, err);
    tb_code code = list_months(r, &months, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = move_month(r, months[i], err);
    free(months);
    return code;
}

/* The records of dropped rows (compact.c) are written to every new shard. */
static tb_code copy_marks(const reshard *r, tb_error *err)
{
    tb_code code = TB_OK;
    tb_buf *sql = tb__ch_start(r->store);
    tb_buf_str(sql, "SELECT ");
    put_columns(sql, &tables[0]);
    tb_buf_fmt(sql, " FROM %s.cell WHERE scope=0 FORMAT RowBinary", r->from->client->database);
    code = tb__ch_query(r->store, r->shard, err);
    for (size_t to = 0; !code && to < r->to->client->shards; to++)
        code = send_copy(r, &tables[0], to, err);
    return code;
}

static tb_code weigh_shard(reshard *r, tb_error *err)
{
    tb_buf *sql = tb__ch_start(r->store);
    for (size_t t = 0; t < TABLES; t++) {
        tb_buf_fmt(sql, "%sSELECT toUInt8(%zu),toUInt64(%s)", t ? " UNION ALL " : "", t, tables[t].weight);
        put_rows(sql, r, r->from, &tables[t]);
        tb_buf_fmt(sql, " AND %s>0", tables[t].scope);
    }
    tb_buf_str(sql, " FORMAT RowBinary");
    tb_code code = tb__ch_query(r->store, r->shard, err);
    tb__ch_reader at = tb__ch_reader_of(r->from);
    while (!code && at.at < at.end && !at.cut) {
        const uint64_t t = tb__ch_column(&at, 1), rows = tb__ch_column(&at, 8);
        if (t >= TABLES) return tb__ch_unexpected_row(err);
        r->weight[r->shard][t] = rows;
    }
    return code ? code : tb__ch_check_read(&at, err);
}

/* --- beginning, passes, the switch --- */

static tb_code is_empty(tb_store *store, size_t shard, bool *ret_empty, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    for (size_t t = 0; !code && t < TABLES; t++) {
        tb_buf_fmt(tb__ch_start(store), "SELECT batch FROM %s.%s LIMIT 1 FORMAT RowBinary", ch->client->database, tables[t].name);
        code = tb__ch_query(store, shard, err);
        if (!code && ch->answer.len) *ret_empty = false;
    }
    return code;
}

/* { number of the database, usage_epoch } */
static tb_code keep_begin(tb_store *store, void *ctx, tb_error *err)
{
    const int64_t *kept = ctx;
    tb_code code = tb__ch_meta_put(store, "usage_reshard", kept[0], err);
    return code ? code : tb__ch_meta_put(store, "usage_reshard_epoch", kept[1], err);
}

/* Makes the tables of the new shards, and looks whether there are rows. */
static tb_code look_at_target(tb_store *store, tb_usage_move *move, bool *ret_empty, tb_error *err)
{
    struct tb__clickhouse *const from = tb__ch_of(store);
    tb_code code = tb__ch_attach(store, move->client, err);
    struct tb__clickhouse *const to = tb__ch_of(store);
    *ret_empty = true;
    for (size_t shard = 0; !code && shard < move->client->shards; shard++)
        code = is_empty(store, shard, ret_empty, err);
    move->number = to->number;
    store->clickhouse = from;
    if (to != from) tb__clickhouse_close(to);
    return code;
}

tb_code tb_store_begin_usage_move(tb_store *store, tb_usage_move *move, tb_error *err)
{
    int64_t number = 0, epoch = 0, used = 0, now[2] = {0, 0};
    bool empty;
    tb_code code = tb__ch_meta(store, "usage_reshard", 0, &number, err);
    if (!code) code = tb__ch_meta(store, TB__CH_NUMBER, 0, &used, err);
    if (!code) code = tb__ch_meta(store, "usage_reshard_epoch", 0, &epoch, err);
    if (!code) code = tb__ch_meta(store, "usage_epoch", 0, &now[1], err);
    if (!code) code = look_at_target(store, move, &empty, err);
    if (code) return code;
    if (move->number == used)
        return tb_fail(err, TB_E_USAGE, "to", "The usage of %s is in the database %s of these servers already.", store->path,
                       move->client->database);
    now[0] = move->number;
    move->rows = 0;
    move->through = 0;
    move->resumed = !empty;
    move->again = number == now[0];
    if (!empty && (!move->again || (now[1] != epoch && !(move->since_open && now[1] == epoch + 1))))
        return tb_fail(err, TB_E_USAGE, "to",
                       "The database %s of --to holds rows already, from elsewhere or from before the file was written again. Give "
                       "another database name after the hosts; it is created if it does not exist.",
                       move->client->database);
    return tb_store_write(store, keep_begin, now, err);
}

/* Sums what there is between the ids. */
static tb_code weigh(reshard *r, uint64_t *ret_all, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_all = 0;
    for (r->shard = 0; !code && r->shard < r->from->client->shards; r->shard++) {
        code = weigh_shard(r, err);
        for (size_t t = 0; t < TABLES; t++)
            *ret_all += r->weight[r->shard][t];
    }
    return code;
}

static tb_code copy_spans(reshard *r, tb_error *err)
{
    tb_code code = TB_OK;
    for (r->shard = 0; !code && r->shard < r->from->client->shards; r->shard++) {
        for (size_t t = 0; !code && t < TABLES; t++) {
            r->table = &tables[t];
            code = move_table(r, err);
        }
        if (!code && !r->above) code = copy_marks(r, err);
    }
    return code;
}

/* Some spans after the other, so that no statement takes longer the more often the writer was started. */
static tb_code copy_pass(reshard *r, tb_error *err)
{
    const int64_t last = r->through;
    uint64_t rows;
    tb_code code = weigh(r, &r->all, err);
    if (!code && last >> TB__CH_ID_BITS < ((r->above + 1) >> TB__CH_ID_BITS) + SPANS) return copy_spans(r, err);
    for (bool more = true; !code && more; r->above = r->through) {
        r->through = ((((r->above + 1) >> TB__CH_ID_BITS) + SPANS) << TB__CH_ID_BITS) - 1;
        more = r->through < last;
        if (!more) r->through = last;
        code = weigh(r, &rows, err);
        if (!code && (rows || !r->above)) code = copy_spans(r, err);
    }
    return code;
}

tb_code tb_store_copy_usage(tb_store *store, tb_usage_move *move, tb_error *err)
{
    reshard r = {.store = store, .move = move, .from = tb__ch_of(store), .above = move->through};
    r.fresh = r.above || (!move->resumed && !move->again);
    tb_code code = tb__meta_get(store, "usage_batch", &r.through, err);
    if (!code) code = tb__ch_connect(store, move->client, err);
    if (code) return code;
    r.to = tb__ch_of(store);
    turn(&r, r.from);
    r.weight = calloc(r.from->client->shards, sizeof *r.weight);
    r.wanted = calloc(r.to->client->shards, sizeof *r.wanted);
    code = r.weight && r.wanted ? copy_pass(&r, err) : tb_no_memory(err);
    turn(&r, r.from);
    tb__clickhouse_close(r.to);
    free(r.weight);
    free(r.wanted);
    if (!code) move->through = r.through; /* the newest, behind the last spans */
    return code;
}

/* Rows that an earlier call sent may have arrived after this one checked. */
static tb_code end_copying(tb_store *store, void *ctx, tb_error *err)
{
    const tb_usage_move *move = ctx;
    int64_t last = 0;
    tb_code code = tb__meta_get(store, "usage_batch", &last, err);
    if (!code && last != move->through)
        return tb_fail(err, TB_E_INTERNAL, "usage", "Usage came between the last copy and the switch.");
    if (!code && move->again) code = tb__meta_set(store, TB__CH_TWICE, last, err);
    if (!code) code = tb__ch_meta_put(store, "usage_shards", (int64_t)move->client->shards, err);
    if (!code) code = tb__ch_meta_put(store, TB__CH_CLAIMED, 0, err);
    if (!code) code = tb__ch_meta_put(store, TB__CH_ADDRESS, move->client->address, err);
    return code ? code : tb__ch_meta_put(store, TB__CH_NUMBER, move->number, err);
}

static tb_code copy_and_switch(tb_store *store, tb_usage_move *move, tb_error *err)
{
    tb_code code = tb_store_copy_usage(store, move, err);
    return code ? code : tb_store_write(store, end_copying, move, err);
}

/* If the new servers do not answer after the switch, the writer begins there once they do (tb_store_usage_look). */
tb_code tb_store_switch_usage(tb_store *store, tb_usage_move *move, tb_error *err)
{
    tb_code code = copy_and_switch(store, move, err);
    return code ? code : tb__clickhouse_follow(store, err);
}

tb_code tb__ch_reshard(tb_store *store, tb_usage_move *move, tb_error *err)
{
    move->since_open = true;
    tb_code code = tb_store_begin_usage_move(store, move, err);
    if (!code) code = tb_store_copy_usage(store, move, err);
    return code ? code : copy_and_switch(store, move, err);
}

const tb_usage_client *tb_store_usage_client(const tb_store *store)
{
    return store->client;
}
