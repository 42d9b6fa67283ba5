/* Compaction: a month's rows become one row for each location and hour, one step at a time between the writer's other
 * work. See open.c for which rows count.
 *
 * 1. Commit to the file: two new spans of ids. The compaction uses one id, the first of the first span; batches continue
 *    in the second. From then on no row with an id below the compaction's is new: a row that arrives late under such an
 *    id is a repetition. meta.usage_fold names the compaction's span.
 * 2. INSERT SELECT of the rows that count below that id, in spans of at most 200,000 rows. Each span is compared with its
 *    source. No reader sees the new rows yet. Nothing else is written while a step runs, so a step is a single statement.
 *    The caller sets how many rows it reads, from the time that earlier ones took; a plan is bounded too (compact_rows.c).
 * 3. Commit to the file: the compaction's id becomes the month's generation. Readers see its rows, and batches above it.
 *    If rows were found twice, meta.usage_mended_MONTH says so, and all cached values of the month are invalid.
 * 4. After a grace period the partitions with smaller ids are dropped, whatever compactions followed. Before that the
 *    process records it, so that a reader with an older snapshot is refused; and the shard gets a row of scope 0, so that
 *    an older copy of the file and a reader in another process are refused too.
 *
 * An interruption leaves rows under an id that never counts: the one in usage_fold, if it is no month's generation. They
 * are dropped before the next compaction begins, so that one that fails repeatedly cannot fill the disk. Rows that arrive
 * after that are dropped by a later step 4.
 *
 * Months with expired usage (expire.c) come first, once no request for one arrived between two checks: one compaction drops the
 * expired usage of all accounts. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/compact.h"
#include "store/clickhouse/lines.h"
#include "tollbook/calendar.h"
#include "tollbook/usageservers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MARK_ROW UINT32_MAX

/* --- stored rows --- */

/* A month's rows under the ids of one span, on one shard. */
typedef struct part {
    size_t shard;
    tb__ch_table of;
    int64_t month, span;
    uint64_t rows;
} part;

typedef struct look {
    part *list;
    size_t n, cap;
    tb__ch_due *due;
    size_t n_due;
    int64_t left; /* the span of an interrupted compaction, if any */
} look;

static const char *const table_name[TB__CH_COMPACTED] = {[TB__CH_CELL] = "cell", [TB__CH_COUNTRY] = "country"};

static tb_code look_at_shard(tb_store *store, size_t shard, look *to, tb_error *err)
{
    tb_buf_fmt(tb__ch_start(store),
               "SELECT toUInt8(table='country') AS t,toUInt32OrZero(extract(partition,'[0-9]+')) AS m,"
               "toUInt64OrZero(extract(partition,',([0-9]+)')) AS s,toUInt64(sum(rows)) FROM system.parts"
               " WHERE database='%s' AND table IN('cell','country') AND active GROUP BY t,m,s ORDER BY m,s,t FORMAT RowBinary",
               tb__ch_of(store)->client->database);
    tb_code code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(&to->list, to->n, &to->cap, sizeof *to->list, err);
        if (code) break;
        part *p = &to->list[to->n++];
        *p = (part){.shard = shard, .of = tb__ch_column(&r, 1) ? TB__CH_COUNTRY : TB__CH_CELL};
        const int64_t named = (int64_t)tb__ch_column(&r, 4);
        p->month = (named / 100 - 1970) * 12 + named % 100 - 1;
        p->span = (int64_t)tb__ch_column(&r, 8);
        p->rows = tb__ch_column(&r, 8);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static int64_t span_of(const struct tb__clickhouse *ch, int64_t month)
{
    return tb__ch_month_batch(ch, month) >> TB__CH_ID_BITS;
}

static tb_code take_look(tb_store *store, look *l, tb_error *err)
{
    tb_code code = tb__ch_read_months(store, err);
    if (!code) code = tb__ch_meta(store, "usage_fold", 0, &l->left, err);
    if (!code) code = tb__ch_read_due(store, &l->due, &l->n_due, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        code = look_at_shard(store, shard, l, err);
    return code;
}

static bool is_left_over(const struct tb__clickhouse *ch, const look *l, const part *p)
{
    return p->span && p->span == l->left && p->span > span_of(ch, p->month);
}

/* Rows of batches that the compaction reads, on all shards. The row that records dropped rows (say_gone) has a generation's id. */
static uint64_t rows_of_batches(const struct tb__clickhouse *ch, const look *l, const tb__ch_compaction *f)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->list[i];
        if (p->month == f->month && p->span > span_of(ch, f->month) && p->span < f->batch >> TB__CH_ID_BITS) rows += p->rows;
    }
    return rows;
}

/* Rows of a month: those in its generation, and those not compacted yet. The partitions of a table from an earlier build
 * have no spans (0): they stay as they are. */
typedef struct weight {
    uint64_t compacted, pending;
    bool plain;
} weight;

static weight weigh(const struct tb__clickhouse *ch, const look *l, int64_t month)
{
    weight w = {0, 0, false};
    const int64_t span = span_of(ch, month);
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->list[i];
        if (p->month != month || is_left_over(ch, l, p)) continue;
        if (!p->span) w.plain = true;
        if (p->span == span) w.compacted += p->rows;
        if (p->span > span) w.pending += p->rows;
    }
    return w;
}

/* The backlog, for the operator. */
static void count_waiting(const struct tb__clickhouse *ch, const look *l, tb_compaction *c)
{
    c->waiting = c->leaving = 0;
    c->due = l->n_due;
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->list[i];
        if (p->span < span_of(ch, p->month) || is_left_over(ch, l, p)) c->leaving += p->rows;
        else if (p->span > span_of(ch, p->month)) c->waiting += p->rows;
    }
}

/* The month to compact. */
typedef struct choice {
    int64_t month; /* -1: none */
    int64_t due;   /* the number of its last retention request; 0: none */
} choice;

/* The oldest month with expired usage, else the one with the most pending rows, if there are enough. */
static choice choose(const struct tb__clickhouse *ch, const look *l, bool called, const tb_compaction *c)
{
    choice chosen = {-1, 0};
    uint64_t most = 0;
    for (size_t i = 0; called && i < l->n_due; i++)
        if (!weigh(ch, l, l->due[i].month).plain) return (choice){l->due[i].month, l->due[i].call};
    for (size_t i = 0; i < l->n; i++) {
        const weight w = weigh(ch, l, l->list[i].month);
        if (w.plain || w.pending <= most) continue;
        /* A compaction writes the compacted rows again, so enough pending ones must have gathered. */
        if (c->rows_min && (w.pending < c->rows_min || w.pending < w.compacted / 2)) continue;
        chosen.month = l->list[i].month;
        most = w.pending;
    }
    return chosen;
}

/* Whether no retention request came since the last check. */
static bool are_called(struct tb__clickhouse *ch, const look *l)
{
    const int64_t before = ch->due_seen;
    ch->due_seen = 0;
    for (size_t i = 0; i < l->n_due; i++)
        ch->due_seen += l->due[i].call;
    return ch->due_seen == before;
}

/* --- one compaction --- */

void tb__ch_compaction_free(struct tb__clickhouse *ch)
{
    tb__ch_compaction *f = ch->compaction;
    if (!f) return;
    for (size_t i = 0; i < f->n_expiring; i++)
        free(f->expiring[i].sum);
    free(f->expiring);
    free(f->owners_expiring);
    free(f->owners.list);
    free(f->hours.list);
    free(f);
    ch->compaction = NULL;
}

static tb_code begin_ids(tb_store *store, void *ctx, tb_error *err)
{
    tb__ch_compaction *f = ctx;
    tb_code code = tb__ch_begin_compaction_span(store, &f->batch, err);
    if (!code) code = tb__ch_meta_put(store, "usage_fold", f->batch >> TB__CH_ID_BITS, err);
    return code || !f->due ? code : tb__ch_read_expiring(store, f, err);
}

static tb_code begin_compaction(tb_store *store, const look *l, choice of, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    ch->compaction = calloc(1, sizeof *ch->compaction);
    if (!ch->compaction) return tb_no_memory(err);
    ch->compaction->month = of.month;
    ch->compaction->from = tb__ch_month_batch(ch, of.month);
    ch->compaction->due = of.due;
    tb__ch_compaction_begin(ch->compaction);
    tb_code code = tb_store_write(store, begin_ids, ch->compaction, err);
    /* Set only after the file has the span: before that, the next compaction would use the same ids again. */
    if (code) {
        tb__ch_compaction_free(ch);
        return code;
    }
    ch->next = ch->compaction->batch + (INT64_C(1) << TB__CH_ID_BITS) + 1;
    ch->compaction->lay = rows_of_batches(ch, l, ch->compaction);
    return TB_OK;
}

static tb_code flip(tb_store *store, void *ctx, tb_error *err)
{
    const tb__ch_compaction *f = ctx;
    char name[40] = "usage_month_";
    sqlite3_snprintf(28, name + 12, "%lld", (long long)f->month);
    tb_code code = tb__ch_meta_put(store, name, f->batch >> TB__CH_ID_BITS, err);
    if (!code && f->repeats) { /* rows that were stored twice count once from now on: cached sums and answers are invalid */
        char mended[40] = "usage_mended_";
        sqlite3_snprintf(27, mended + 13, "%lld", (long long)f->month);
        store->dirty = true; /* bills never counted such rows twice */
        code = tb__ch_meta_put(store, mended, f->batch, err);
    }
    return code || !f->due ? code : tb__ch_record_expired(store, f, err);
}

/* --- when a generation began --- */

#define LONG_AGO (INT64_MIN / 2)

static const struct tb__ch_flip *flip_of(const struct tb__clickhouse *ch, int64_t month)
{
    for (size_t i = 0; i < ch->n_flips; i++)
        if (ch->flips[i].month == month) return &ch->flips[i];
    return NULL;
}

/* Whether a month's generation is older than the grace period, so that no reader uses an older one. No reader is older than this
 * process. */
static int64_t old_generation(const struct tb__clickhouse *ch, int64_t month, const tb_compaction *c)
{
    int64_t old = 0;
    if (!flip_of(ch, month)) return tb__ch_month_batch(ch, month);
    for (size_t i = 0; i < ch->n_flips; i++) {
        const struct tb__ch_flip *f = &ch->flips[i];
        if (f->month == month && c->now_us - f->at_us >= c->grace_us && f->batch > old) old = f->batch;
    }
    return old;
}

/* Makes room for a flip and the generation before it. Removes entries that are no longer needed. */
static tb_code ready_flip(struct tb__clickhouse *ch, int64_t month, const tb_compaction *c, tb_error *err)
{
    const int64_t old = old_generation(ch, month, c);
    const bool known = flip_of(ch, month);
    tb_code code = tb__grow(&ch->flips, ch->n_flips + 1, &ch->cap_flips, sizeof *ch->flips, err);
    if (code) return code;
    if (!known) ch->flips[ch->n_flips++] = (struct tb__ch_flip){month, old, LONG_AGO};
    for (size_t i = 0; i < ch->n_flips;) {
        if (ch->flips[i].month == month && ch->flips[i].batch < old) ch->flips[i] = ch->flips[--ch->n_flips];
        else i++;
    }
    return TB_OK;
}

/* Rows that arrived during the compaction under ids that it read are repetitions that something else sent. */
static tb_code look_for_more(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    look l = {NULL, 0, 0, NULL, 0, 0};
    tb_code code = take_look(store, &l, err);
    if (!code && rows_of_batches(tb__ch_of(store), &l, f) > f->lay) f->repeats = true;
    free(l.due);
    free(l.list);
    return code;
}

static tb_code end_compaction(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_compaction *f = ch->compaction;
    tb_code code = f->repeats ? TB_OK : look_for_more(store, f, err);
    if (!code) code = ready_flip(ch, f->month, c, err);
    if (!code) code = tb_store_write(store, flip, f, err);
    if (!code) {
        ch->flips[ch->n_flips++] = (struct tb__ch_flip){f->month, f->batch, c->now_us};
        c->folded++;
        if (f->due) c->expired++;
    }
    tb__ch_compaction_free(ch);
    return code;
}

static tb_code step_compaction(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_compaction *f = ch->compaction;
    if (f->planned && tb__ch_compaction_is_over(f)) tb__ch_compaction_next(f);
    if (f->shard == ch->client->shards) return end_compaction(store, c, err);
    const uint64_t most = c->rows_most ? c->rows_most : TB_COMPACTION_ROWS_MOST;
    tb_code code = f->planned ? tb__ch_compaction_step(store, f, most, &c->rows, err) : tb__ch_compaction_plan(store, f, err);
    if (code) tb__ch_compaction_free(ch);
    return code;
}

/* --- obsolete rows are dropped --- */

/* Rows below this id count for no reader that may still be answered. */
static tb_code say_gone(tb_store *store, const part *p, int64_t batch, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (!tb__ch_cache_drop(ch->cache, p->month, batch)) return tb_no_memory(err);
    tb_buf_fmt(tb__ch_start(store),
               "INSERT INTO %s.cell(scope,owner,edge,h,batch,row) VALUES(0,0,0,%" PRId64 ",%" PRId64 ",%u)",
               ch->client->database, tb_month_first_day(p->month) * 24, batch, (unsigned)MARK_ROW);
    return tb__ch_query(store, p->shard, err);
}

/* Parts are sorted by shard and month. */
static tb_code drop_obsolete(tb_store *store, const look *l, const tb_compaction *c, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    const part *said = NULL;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n; i++) {
        const part *p = &l->list[i];
        const bool left = is_left_over(ch, l, p);
        const int64_t old = old_generation(ch, p->month, c);
        if (!left && (!p->span || p->span >= old >> TB__CH_ID_BITS)) continue;
        if (!left && (!said || said->shard != p->shard || said->month != p->month)) {
            code = say_gone(store, p, old, err);
            said = p;
        }
        if (code) break;
        const tb_date date = tb_date_from_day(tb_month_first_day(p->month));
        tb_buf_fmt(tb__ch_start(store), "ALTER TABLE %s.%s DROP PARTITION (%d,%" PRId64 ")", tb__ch_of(store)->client->database,
                   table_name[p->of], date.year * 100 + date.month, p->span);
        code = tb__ch_query(store, p->shard, err);
    }
    return code;
}

/* --- a step --- */

static tb_code look_and_begin(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    look l = {NULL, 0, 0, NULL, 0, 0};
    tb_code code = take_look(store, &l, err);
    if (!code) {
        count_waiting(ch, &l, c);
        const choice next = choose(ch, &l, are_called(ch, &l), c);
        code = drop_obsolete(store, &l, c, err);
        if (!code && next.month >= 0) code = begin_compaction(store, &l, next, err);
    }
    free(l.due);
    free(l.list);
    return code;
}

tb_code tb_store_compact(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const uint64_t before = c->folded;
    c->working = false;
    c->rows = 0;
    if (!ch || ch->unchecked) return TB_OK;
    tb_code code = ch->compaction ? step_compaction(store, c, err) : look_and_begin(store, c, err);
    if (!code && !ch->compaction) code = tb__ch_sweep(store, c->now_us, err);
    c->working = ch->compaction || c->folded > before; /* another month may be next */
    return code;
}

/* --- a copy of the file that is older than the dropped rows --- */

tb_code tb__ch_check_copy(tb_store *store, size_t shard, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf_fmt(tb__ch_start(store), "SELECT h,max(batch) FROM %s.cell WHERE scope=0 GROUP BY h FORMAT RowBinary",
               ch->client->database);
    tb_code code = tb__ch_query(store, shard, err);
    if (!code) code = tb__ch_read_months(store, err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        const int64_t month = tb_month_from_day((int64_t)tb__ch_column(&r, 4) / 24);
        const int64_t batch = (int64_t)tb__ch_column(&r, 8);
        if (!r.cut && tb__ch_month_batch(ch, month) < batch)
            code = tb_fail(err, TB_E_USAGE, "usage",
                           "%s is a copy of before usage was compacted: rows that it counts are gone from shard %zu. Restore "
                           "a newer copy, or the backup of the usage servers that was made with this one. Where it is being "
                           "made just now, make it again.",
                           store->path, shard + 1);
    }
    return code ? code : tb__ch_check_read(&r, err);
}
