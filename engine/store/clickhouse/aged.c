/* Expiry of request logs and shield events, and of forgotten accounts. A transaction records it with the last batch that it
 * applies to: from then on no reader sees the rows, and later batches count, even those with an old time. The rows are deleted
 * from the servers afterwards: a day with no row left by dropping its partition, the rows of a zone by ALTER TABLE DELETE,
 * which ClickHouse runs in the background. */
#include "store/clickhouse/lines.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_MS  INT64_C(60000)
#define HOUR_MS  INT64_C(3600000)
#define LATER_MS INT64_C(3600000) /* a reader that began before its lines expired may still need them for a while */
#define WIPE_US  INT64_C(2000000)
#define ZONES    1000 /* of one statement */

static const struct ages {
    int64_t again; /* interval after which expired rows are looked for again */
    int64_t step;  /* the span of time that one transaction expires while others wait */
    int64_t day;
} ages[] = {[TB__CH_LOGS] = {LOOK_MS, HOUR_MS, TB_EVENT_MS_PER_DAY}, [TB__CH_EVENTS] = {1, 1, 1}};

/* The first day of which a shard has rows; 0: there are none. */
static tb_code find_oldest(tb_store *store, tb__ch_kind kind, int64_t *ret_day, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    *ret_day = 0;
    for (size_t shard = 0; !code && shard < ch->client->shards; shard++) {
        tb_buf_fmt(tb__ch_start(store), "SELECT toUInt32(min(day)) FROM %s.%s FORMAT RowBinary", ch->client->database,
                   tb__ch_table_of(kind));
        code = tb__ch_query(store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(ch);
        if (code || r.at == r.end) continue;
        const int64_t day = (int64_t)tb__ch_column(&r, 4);
        if (day && (!*ret_day || day < *ret_day)) *ret_day = day;
        code = tb__ch_check_read(&r, err);
    }
    return code;
}

/* Lowers *before to the end of the next step. Times before `from` were done earlier. */
static tb_code bound_step(tb_store *store, tb__ch_kind kind, int64_t from, int64_t *before, tb_error *err)
{
    int64_t day = 0;
    tb_code code = from ? TB_OK : find_oldest(store, kind, &day, err);
    if (day) from = day * ages[kind].day;
    /* A remainder that would not be checked again is included. */
    if (!code && from && *before - ages[kind].step - ages[kind].again >= from) *before = from + ages[kind].step;
    return code;
}

tb_code tb__ch_drop_before(tb_store *store, tb__ch_age age, size_t *room, uint64_t *ret_dropped, tb_error *err)
{
    int64_t *looked = &tb__ch_of(store)->lines.looked[age.kind], noted = 0, before = age.before;
    tb__ch_amount amount;
    if (ret_dropped) *ret_dropped = 0;
    if (before < *looked + ages[age.kind].again) return TB_OK;
    tb_code code = tb__ch_before(store, age.kind, &noted, err);
    if (code || before <= noted) return code;
    if (*room < SIZE_MAX) code = bound_step(store, age.kind, *looked > noted ? *looked : noted, &before, err);
    if (!code) code = tb__ch_amount_of(store, age.kind, "", before, &amount, err);
    if (code) return code;
    *looked = before;
    if (before < age.before) *room = 0;
    if (!amount.units) return TB_OK;
    code = tb__ch_note_before(store, age.kind, before, err);
    if (!code) code = tb__ch_add_seals(store, age.kind, 0 - amount.seals, err);
    if (!code && ret_dropped) *ret_dropped = amount.units;
    store->dirty = true;
    return code;
}

/* --- accounts --- */

static const tb__statement zones_of[] = {[TB__CH_LOGS] = TB__SQL_FORGET_LOG_ZONES,
                                         [TB__CH_EVENTS] = TB__SQL_FORGET_EVENT_ZONES};

typedef struct account {
    int64_t *zones;
    size_t n;
    tb_buf in; /* "AND zone IN(...)" of some of them */
} account;

static tb_code put_in(account *a, size_t from, tb_error *err)
{
    a->in.len = 0;
    tb_buf_str(&a->in, " AND zone IN(");
    for (size_t i = from; i < a->n && i < from + ZONES; i++)
        tb_buf_fmt(&a->in, "%s%" PRId64, i > from ? "," : "", a->zones[i]);
    tb_buf_str(&a->in, ")");
    tb_buf_add(&a->in, "", 1);
    return tb_buf_check(&a->in, err);
}

/* Of rows that count, and of all stored rows. */
typedef struct amounts {
    tb__ch_amount seen, held;
} amounts;

static tb_code add_amounts(tb_store *store, tb__ch_kind kind, account *a, amounts *all, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < a->n; i += ZONES) {
        amounts some = {{0}, {0}};
        code = put_in(a, i, err);
        if (!code) code = tb__ch_held_of(store, kind, a->in.data, &some.held, err);
        if (!code && some.held.units) code = tb__ch_amount_of(store, kind, a->in.data, INT64_MAX, &some.seen, err);
        all->held.units += some.held.units;
        all->seen.units += some.seen.units;
        all->seen.seals += some.seen.seals;
    }
    return code;
}

static tb_code open_account(tb_store *store, tb__ch_kind kind, int64_t id, account *a, tb_error *err)
{
    *a = (account){.zones = NULL};
    tb_buf_init(&a->in, (size_t)1 << 20, NULL);
    return tb__list_ints(store, zones_of[kind], &id, 1, &a->zones, &a->n, err);
}

static void close_account(account *a)
{
    free(a->zones);
    tb_buf_release(&a->in);
}

tb_code tb__ch_lines_count(tb_store *store, tb__ch_kind kind, int64_t id, uint64_t *ret_units, tb_error *err)
{
    amounts all = {{0}, {0}};
    account a;
    tb_code code = open_account(store, kind, id, &a, err);
    if (!code) code = add_amounts(store, kind, &a, &all, err);
    *ret_units = all.held.units;
    close_account(&a);
    return code;
}

/* Only zones with rows are recorded, since each record is a condition in later statements until the rows are deleted. Rows that no
 * reader sees count too: withdrawn lines would otherwise stay until their day is dropped. */
static tb_code note_zones(tb_store *store, tb__ch_kind kind, account *a, size_t shard, tb_error *err)
{
    int64_t batch = 0;
    tb_code code = tb__ch_watermark(store, &batch, err);
    for (size_t i = 0; !code && i < a->n; i += ZONES) {
        code = put_in(a, i, err);
        tb_buf *sql = tb__ch_start(store);
        tb_buf_fmt(sql, "SELECT DISTINCT zone FROM %s.%s WHERE 1%s", tb__ch_of(store)->client->database,
                   tb__ch_table_of(kind), a->in.data);
        tb_buf_str(sql, " FORMAT RowBinary");
        if (!code) code = tb__ch_query(store, shard, err);
        if (code) return code;
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        while (!code && r.at < r.end && !r.cut)
            code = tb__ch_note_forgotten(store, kind, (int64_t)tb__ch_column(&r, 8), batch, err);
        if (!code) code = tb__ch_check_read(&r, err);
    }
    return code;
}

/* All zones at once: only the records are written. */
tb_code tb__ch_lines_forget(tb_store *store, tb__ch_kind kind, int64_t id, size_t *room, tb_error *err)
{
    amounts all = {{0}, {0}};
    account a;
    tb_code code = open_account(store, kind, id, &a, err);
    if (!code) code = add_amounts(store, kind, &a, &all, err);
    for (size_t shard = 0; !code && all.held.units && shard < tb__ch_of(store)->client->shards; shard++)
        code = note_zones(store, kind, &a, shard, err);
    if (!code) code = tb__ch_add_seals(store, kind, 0 - all.seen.seals, err);
    *room -= all.held.units < *room ? (size_t)all.held.units : *room;
    store->dirty |= all.seen.units > 0;
    close_account(&a);
    return code;
}

/* --- from the servers --- */

typedef struct days {
    int64_t list[64];
    size_t n;
} days;

/* Days before one of which no row counts; also those of which log_gone alone is left. */
static tb_code find_days(tb_store *store, size_t shard, tb__ch_kind kind, int64_t before, days *to, tb_error *err)
{
    const char *database = tb__ch_of(store)->client->database;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT day,max(c)AS m FROM(SELECT day,toUInt8(1");
    tb_code code = tb__ch_put_counting(store, sql, kind, 0, err);
    tb_buf_fmt(sql, ")AS c FROM %s.%s WHERE day<toDate(%" PRId64 ")", database, tb__ch_table_of(kind), before);
    if (kind == TB__CH_LOGS)
        tb_buf_fmt(sql, " UNION ALL SELECT day,toUInt8(batch=0)AS c FROM %s.log_gone WHERE day<toDate(%" PRId64 ")", database,
                   before);
    tb_buf_str(sql, ")GROUP BY day HAVING m=0 ORDER BY day LIMIT 64 FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    for (to->n = 0; r.at < r.end && !r.cut && to->n < sizeof to->list / sizeof *to->list; to->n++) {
        to->list[to->n] = (int64_t)tb__ch_column(&r, 2);
        (void)tb__ch_column(&r, 1);
    }
    return tb__ch_check_read(&r, err);
}

static tb_code drop_day(tb_store *store, size_t shard, const char *table, int64_t day, tb_error *err)
{
    char date[20];
    tb_time_format(day * TB_US_PER_DAY, date);
    tb_buf_fmt(tb__ch_start(store), "ALTER TABLE %s.%s DROP PARTITION '%.10s'", tb__ch_of(store)->client->database,
               table, date);
    return tb__ch_query(store, shard, err);
}

/* Blocks go before the rows that say which of them do not count. */
static tb_code drop_days(tb_store *store, tb__ch_kind kind, int64_t before, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++) {
        days d;
        code = find_days(store, shard, kind, before, &d, err);
        for (size_t i = 0; !code && i < d.n; i++) {
            code = drop_day(store, shard, tb__ch_table_of(kind), d.list[i], err);
            if (!code && kind == TB__CH_LOGS) code = drop_day(store, shard, "log_gone", d.list[i], err);
        }
    }
    return code;
}

static tb_code sweep_days(tb_store *store, tb__ch_kind kind, tb_error *err)
{
    int64_t before = 0, *swept = &tb__ch_of(store)->lines.swept[kind];
    tb_code code = tb__ch_before(store, kind, &before, err);
    if (kind == TB__CH_LOGS) before = tb__floor_div(before - LATER_MS, TB_EVENT_MS_PER_DAY);
    if (code || before <= *swept) return code;
    code = drop_days(store, kind, before, err);
    if (!code) *swept = before;
    return code;
}

/* --- zones that were forgotten --- */

typedef struct forgotten {
    int64_t zone, batch;
} forgotten;

typedef struct wiping {
    tb__ch_kind kind;
    forgotten first; /* the first one that was not wiped yet by this process */
    int64_t behind;
} wiping;

static void take_first(void *ctx, int64_t zone, int64_t batch)
{
    wiping *w = ctx;
    if (zone > w->behind && !w->first.zone) w->first = (forgotten){zone, batch};
}

static tb_code forget_note(tb_store *store, void *ctx, tb_error *err)
{
    const wiping *w = ctx;
    return tb__ch_note_forgotten(store, w->kind, w->first.zone, 0, err);
}

static tb_code ask_count(tb_store *store, size_t shard, uint64_t *ret, tb_error *err)
{
    tb_code code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    *ret = !code && r.at < r.end ? tb__ch_column(&r, 8) : 0;
    return code ? code : tb__ch_check_read(&r, err);
}

/* The zone's rows that are left, and whether the server is still running an earlier deletion. */
static tb_code look_at_zone(tb_store *store, size_t shard, const wiping *w, uint64_t *ret_left, uint64_t *ret_works,
                            tb_error *err)
{
    const char *database = tb__ch_of(store)->client->database, *table = tb__ch_table_of(w->kind);
    tb_buf_fmt(tb__ch_start(store),
               "SELECT count() FROM system.mutations WHERE database='%s' AND table='%s' AND NOT is_done FORMAT RowBinary",
               database, table);
    tb_code code = ask_count(store, shard, ret_works, err);
    tb_buf_fmt(tb__ch_start(store),
               "SELECT count() FROM %s.%s WHERE zone=%" PRId64 " AND batch<=%" PRId64 " FORMAT RowBinary", database, table,
               w->first.zone, w->first.batch);
    return code ? code : ask_count(store, shard, ret_left, err);
}

static tb_code wipe_zone(tb_store *store, wiping *w, tb_error *err)
{
    const size_t shard = tb__ch_shard(store, TB__SCOPE_ZONE, w->first.zone);
    uint64_t left = 0, works = 0;
    tb_code code = look_at_zone(store, shard, w, &left, &works, err);
    if (code || (left && works)) return code;
    if (!left) return tb_store_write(store, forget_note, w, err);
    tb_buf_fmt(tb__ch_start(store), "ALTER TABLE %s.%s DELETE WHERE zone=%" PRId64 " AND batch<=%" PRId64,
               tb__ch_of(store)->client->database, tb__ch_table_of(w->kind), w->first.zone, w->first.batch);
    return tb__ch_query(store, shard, err);
}

static tb_code wipe_zones(tb_store *store, tb__ch_kind kind, tb_error *err)
{
    wiping w = {.kind = kind};
    tb_code code = TB_OK;
    do {
        w.behind = w.first.zone;
        w.first.zone = 0;
        code = tb__ch_each_forgotten(store, kind, take_first, &w, err);
        if (!code && w.first.zone) code = wipe_zone(store, &w, err);
    } while (!code && w.first.zone);
    return code;
}

tb_code tb__ch_sweep(tb_store *store, int64_t now_us, tb_error *err)
{
    tb__ch_lines *l = &tb__ch_of(store)->lines;
    tb_code code = TB_OK;
    for (int kind = TB__CH_LOGS; !code && kind <= TB__CH_EVENTS; kind++)
        code = sweep_days(store, (tb__ch_kind)kind, err);
    if (code || now_us - l->wiped_us < WIPE_US) return code;
    l->wiped_us = now_us;
    for (int kind = TB__CH_LOGS; !code && kind <= TB__CH_EVENTS; kind++)
        code = wipe_zones(store, (tb__ch_kind)kind, err);
    return code;
}
