/* Moving a file's counters to the shards. The file is walked twice, owner by owner: once to count, which finds what
 * cannot be moved before anything is sent, and once to send. A step is a range of owners with one batch id, which is stored
 * in the file with the next owner and the data version. So an interrupted step is sent again under the same id and counts
 * once. If the data version or the address has changed, all is sent again under a new span of ids, and the old span
 * becomes a gap. Then the shards are compared with the count, and one transaction makes them the place of the file's usage
 * and deletes the counters from the file. Request logs and shield events follow (carry.c). */
#include "store/clickhouse/move.h"

#include "store/clickhouse/lines.h"
#include "store/usage/batch.h"
#include "store/usage/chunk.h"
#include "store/usage/country.h"
#include "store/usage/owners.h"
#include "store/usage/retain.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define STEP_OWNERS 4096
#define STEP_ROWS   200000 /* some 40 MB */

/* Stored in the file as rows of meta, which are never deleted. */
enum { FIRST, EPOCH, VERSION, SHARDS, SCOPE, OWNER, NEXT, KEPT };
static const char *const kept_name[KEPT] = {"usage_move_first",  "usage_move_epoch", "usage_move_version",
                                            "usage_move_shards", "usage_move_scope", "usage_move_owner",
                                            "usage_move_next"};

typedef struct moving {
    tb_store *store;
    tb_usage_move *move;
    int64_t kept[KEPT];
    bool sending;
    tb__day_of at;
    tb__ch_batch batch;  /* of the running step */
    size_t owners, rows; /* of it */
    uint64_t done, all;  /* owners */
    tb__ch_moved *shards;
    tb_u128 total[TB_METRIC_COUNT];
    uint8_t days[(TB__INDEX_MAX + 1) / 8]; /* with usage */
    int64_t whole;     /* the owner's first month that has all its hours */
    tb__pending hours; /* of the running series and months before it: the sums of its hours for each day */
} moving;

/* --- an owner --- */

static tb_code count_day(moving *m, const tb_grid *hours, tb_error *err)
{
    m->move->rows += (uint64_t)__builtin_popcount(hours->slots);
    m->days[m->at.day / 8] |= (uint8_t)(1 << m->at.day % 8);
    const bool counts = (m->at.scope & ~TB__CH_DAYS) != TB__SCOPE_ACCOUNT;
    for (uint32_t left = hours->metrics; left && counts; left &= left - 1)
        for (uint32_t slots = hours->slots; slots; slots &= slots - 1)
            m->total[__builtin_ctz(left)] += hours->v[__builtin_ctz(left)][__builtin_ctz(slots)];
    return tb__ch_moved_day(&m->shards[tb__ch_shard(m->store, m->at.scope, m->at.owner)], &m->at, hours, err);
}

static tb_code take_rows(moving *m, int64_t day, const tb_grid *hours, tb_error *err)
{
    m->at.day = day;
    m->rows += (size_t)__builtin_popcount(hours->slots);
    return m->sending ? tb__ch_put_day(&m->batch, &m->at, hours, err) : count_day(m, hours, err);
}

static tb_code take_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    moving *m = ctx;
    tb_grid *sum = NULL;
    tb_code code = take_rows(m, day, hours, err);
    if (code || tb_month_from_day(day) >= m->whole) return code;
    code = tb__pending_at(&m->hours, day, &sum, err);
    return code ? code : tb_grid_fold(sum, 0, hours, err);
}

/* --- days of which hours went --- */

/* Adds the part of a day that exceeds its hours to its first hour. */
static tb_code rest_of_day(const tb_grid *days, unsigned slot, const tb_grid *hours, tb_grid *rest, tb_error *err)
{
    tb_code code = TB_OK;
    tb_grid_clear(rest);
    for (int m = 0; !code && m < TB_METRIC_COUNT; m++) {
        const uint64_t day = days->metrics & TB_METRIC_BIT(m) ? days->v[m][slot] : 0;
        const uint64_t there = hours->metrics & TB_METRIC_BIT(m) ? hours->v[m][0] : 0;
        if (there > day) return tb_fail(err, TB_E_CORRUPT, "chunk", "A day has less than its hours. Look for more with: tollbook verify");
        const uint64_t more = there == day ? 0 : tb_metric_table[m].how == TB_HOW_SUM ? day - there : day;
        if (more) code = tb_grid_add(rest, (tb_metric)m, 0, more, err);
    }
    return code;
}

static tb_code take_month_rest(moving *m, int64_t month, const tb_grid *days, tb_error *err)
{
    tb_code code = TB_OK;
    for (uint32_t slots = days->slots; !code && slots; slots &= slots - 1) {
        const unsigned slot = (unsigned)__builtin_ctz(slots);
        const int64_t day = tb_month_first_day(month) + slot;
        tb_grid *hours = NULL, rest;
        code = tb__pending_at(&m->hours, day, &hours, err);
        if (!code) code = rest_of_day(days, slot, hours, &rest, err);
        if (!code && rest.slots) code = take_rows(m, day, &rest, err);
    }
    return code;
}

/* After the hours of a series. No entries are pending: all runs were compacted. */
static tb_code take_rests(moving *m, int64_t series, tb_error *err)
{
    const int64_t keys[2] = {tb__chunk_key(series, TB__GRAIN_DAYS, 0), tb__chunk_key(series, TB__GRAIN_DAYS, m->whole - 1)};
    sqlite3_stmt *s;
    bool row = true;
    if (m->whole <= 0) return TB_OK;
    m->at.scope |= TB__CH_DAYS;
    tb_code code = tb__sql_ints(m->store, TB__SQL_CHUNK_SPAN, keys, 2, &s, err);
    while (!code && !(code = tb__step(m->store, s, &row, err)) && row) {
        const int64_t key = sqlite3_column_int64(s, 0);
        tb_grid days;
        code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key, &days, err);
        if (!code) code = take_month_rest(m, tb__key_index(key), &days, err);
        if (code) sqlite3_reset(s);
    }
    m->at.scope &= ~TB__CH_DAYS;
    tb__pending_clear(&m->hours);
    return code;
}

static tb_code take_countries(moving *m, int64_t zone, tb_error *err)
{
    tb__country list[TB__COUNTRY_MAX];
    tb__ch_moved *to = &m->shards[tb__ch_shard(m->store, TB__SCOPE_ZONE, zone)];
    sqlite3_stmt *s;
    size_t n = 0;
    bool row = true;
    tb_code code = tb__sql_ints(m->store, TB__SQL_MOVE_COUNTRIES, &zone, 1, &s, err);
    while (!code && !(code = tb__step(m->store, s, &row, err)) && row) {
        const int64_t day = sqlite3_column_int64(s, 0);
        code = tb__country_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                                  tb__country_seed(zone, day), list, &n, err);
        m->rows += n;
        if (!code)
            code = m->sending ? tb__ch_batch_add_countries(&m->batch, zone, day, list, n, err)
                              : tb__ch_moved_countries(to, zone, day, list, n, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* An owner's locations. ClickHouse stores no separate rows for all locations together. */
static tb_code take_owner(moving *m, int scope, int64_t owner, tb_error *err)
{
    int64_t edge = -1;
    tb_kept kept;
    tb_code code = tb__kept_of(m->store, scope, owner, &kept, err);
    m->whole = kept.hours;
    while (!code) {
        sqlite3_stmt *s;
        bool row = false;
        code = tb__sql_ints(m->store, TB__SQL_MOVE_SERIES, (int64_t[]){scope, owner, edge}, 3, &s, err);
        if (!code) code = tb__step(m->store, s, &row, err);
        if (code || !row) break;
        edge = sqlite3_column_int64(s, 0);
        const int64_t series = sqlite3_column_int64(s, 1);
        sqlite3_reset(s);
        if (!edge && !tb__is_whole(scope)) continue;
        m->at = (tb__day_of){.scope = scope == TB__SCOPE_METER ? TB__CH_METER : scope, .owner = owner, .edge = edge};
        code = m->store->plane.counters->each_day(m->store, series, take_day, m, err);
        if (!code) code = take_rests(m, series, err);
    }
    return code || scope != TB__SCOPE_ZONE ? code : take_countries(m, owner, err);
}

/* --- the stored state of a move --- */

static tb_code keep_place(tb_store *store, void *ctx, tb_error *err)
{
    const moving *m = ctx;
    tb_code code = TB_OK;
    for (int i = 0; !code && i < KEPT; i++)
        code = tb__ch_meta_put(store, kept_name[i], m->kept[i], err);
    return code;
}

static tb_code forget(tb_store *store, void *ctx, tb_error *err)
{
    (void)ctx;
    return tb__ch_meta_put(store, kept_name[VERSION], -1, err);
}

static void begin_step(moving *m)
{
    m->batch.id = m->kept[NEXT];
    m->batch.row = 0;
    m->batch.n_days = 0;
    m->owners = m->rows = 0;
    tb__ch_of(m->store)->next = m->kept[NEXT] + 1;
}

static tb_code end_step(moving *m, const int64_t place[2], tb_error *err)
{
    tb_code code = tb__ch_send(m->store, err);
    m->kept[SCOPE] = place[0];
    m->kept[OWNER] = place[1];
    m->kept[NEXT]++;
    if (!code) code = tb_store_write(m->store, keep_place, m, err);
    begin_step(m);
    if (!code && m->move->progress) m->move->progress(m->move->ctx, m->done, m->all);
    return code;
}

/* --- the walk --- */

static tb_code walk_owners(moving *m, int64_t scope, int64_t owner, tb_error *err)
{
    int64_t place[2] = {scope, owner};
    tb_code code = TB_OK;
    for (;;) {
        sqlite3_stmt *s;
        bool row = false;
        code = tb__sql_ints(m->store, TB__SQL_MOVE_OWNER, place, 2, &s, err);
        if (!code) code = tb__step(m->store, s, &row, err);
        if (code || !row) break;
        place[0] = sqlite3_column_int64(s, 0);
        place[1] = sqlite3_column_int64(s, 1);
        sqlite3_reset(s);
        code = take_owner(m, (int)place[0], place[1], err);
        m->done++;
        if (!code && m->sending && (++m->owners >= STEP_OWNERS || m->rows >= STEP_ROWS))
            code = end_step(m, place, err);
        if (code) return code;
    }
    return code || !m->sending || !m->owners ? code : end_step(m, place, err);
}

static tb_code count_owners_before(moving *m, tb_error *err)
{
    int64_t n = 0;
    tb_code code = tb__int_of(m->store, TB__SQL_MOVE_BEFORE, (int64_t[]){m->kept[SCOPE], m->kept[OWNER]}, 2, 0, &n, err);
    m->done = (uint64_t)n;
    return code;
}

/* --- whether it can be --- */

static tb_code count_all(moving *m, tb_error *err)
{
    tb_code code = walk_owners(m, 0, INT64_MIN, err);
    for (int i = 0; !code && i < TB_METRIC_COUNT; i++)
        if (m->total[i] > TB_COUNTER_MAX)
            return tb_fail(err, TB_E_OVERFLOW, tb_metric_table[i].name,
                           "All usage together passes 2^63 - 1 in %s, and usage servers hold no more. Nothing was sent.",
                           tb_metric_table[i].name);
    return code;
}

/* Spans of ids that the shards hold. None: the first is INT64_MAX. */
static tb_code find_spans(moving *m, size_t shard, tb__ch_span *seen, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(m->store);
    tb_code code = TB_OK;
    for (int t = 0; !code && t < TB__CH_TABLES; t++) {
        tb_buf_fmt(tb__ch_start(m->store), "SELECT min(batch),max(batch) FROM %s.%s HAVING count()>0 FORMAT RowBinary",
                   ch->client->database, tb__ch_table_names[t]);
        code = tb__ch_query(m->store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(ch);
        if (code || r.at == r.end) continue;
        const int64_t first = (int64_t)(tb__ch_column(&r, 8) >> TB__CH_ID_BITS);
        const int64_t last = (int64_t)(tb__ch_column(&r, 8) >> TB__CH_ID_BITS);
        if (first < seen->first) seen->first = first;
        if (last > seen->last) seen->last = last;
        code = tb__ch_check_read(&r, err);
    }
    return code;
}

static tb_code begin_again(moving *m, tb__ch_span seen, int64_t version, tb_error *err)
{
    const int64_t last = seen.last > m->kept[EPOCH] ? seen.last : m->kept[EPOCH];
    m->kept[EPOCH] = last + 1;
    if (!m->kept[FIRST]) m->kept[FIRST] = m->kept[EPOCH];
    m->kept[VERSION] = version;
    m->kept[SHARDS] = (int64_t)m->move->client->shards;
    m->kept[SCOPE] = 0;
    m->kept[OWNER] = INT64_MIN;
    m->kept[NEXT] = (m->kept[EPOCH] << TB__CH_ID_BITS) + 1;
    return tb_store_write(m->store, keep_place, m, err);
}

/* Continues the state of an earlier call, or begins a new span. The tables hold only rows that this file sent. */
static tb_code find_place(moving *m, tb_error *err)
{
    tb__ch_span seen = {INT64_MAX, 0};
    int64_t version = 0;
    tb_code code = tb__meta_get(m->store, "data_version", &version, err);
    for (int i = 0; !code && i < KEPT; i++)
        code = tb__ch_meta(m->store, kept_name[i], 0, &m->kept[i], err);
    for (size_t shard = 0; !code && shard < m->move->client->shards; shard++)
        code = find_spans(m, shard, &seen, err);
    if (code) return code;
    if (seen.last && (seen.first < m->kept[FIRST] || seen.last > m->kept[EPOCH]))
        return tb_fail(err, TB_E_USAGE, "to",
                       "The database %s of these usage servers holds another file's usage. Give another database name after "
                       "the hosts; it is created if it does not exist.",
                       m->move->client->database);
    m->move->resumed = m->kept[FIRST] && m->kept[VERSION] == version && seen.last == m->kept[EPOCH] &&
                       m->kept[SHARDS] == (int64_t)m->move->client->shards;
    return m->move->resumed ? TB_OK : begin_again(m, seen, version, err);
}

/* --- the end --- */

static tb_code compare_all(moving *m, tb_error *err)
{
    const tb__ch_span ids = {m->kept[EPOCH] << TB__CH_ID_BITS, ((m->kept[EPOCH] + 1) << TB__CH_ID_BITS) - 1};
    tb_error ignored;
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < m->move->client->shards; shard++)
        code = tb__ch_moved_compare(m->store, shard, &m->shards[shard], ids, err);
    if (code == TB_E_DIFFERENT && tb_store_write(m->store, forget, NULL, &ignored)) return code;
    return code;
}

static tb_code note_days(const moving *m, int64_t batch, tb_error *err)
{
    tb_code code = TB_OK;
    for (int64_t day = 0; !code && day <= TB__INDEX_MAX; day++)
        if (m->days[day / 8] >> day % 8 & 1)
            code = tb__run_ints(m->store, TB__SQL_USAGE_DAY_PUT, (int64_t[]){day, batch}, 2, err);
    return code;
}

/* Ids below the span were never sent, or by a move that was restarted. */
static tb_code flip(tb_store *store, void *ctx, tb_error *err)
{
    static const char drop[] = "CREATE INDEX IF NOT EXISTS series_by_id ON series_placed(id);"
                               "DELETE FROM chunk; DELETE FROM country_day;";
    const moving *m = ctx;
    const int64_t batch = m->kept[NEXT] - 1;
    tb_u128 most = 0;
    for (int i = 0; i < TB_METRIC_COUNT; i++)
        if (m->total[i] > most) most = m->total[i];
    tb_code code = note_days(m, batch, err);
    if (!code) code = tb__ch_meta_put(store, "usage_gap_1", m->kept[EPOCH] << TB__CH_ID_BITS, err);
    if (!code) code = tb__ch_meta_put(store, "usage_batch", batch, err);
    if (!code && m->move->resumed) code = tb__meta_set(store, TB__CH_TWICE, batch, err);
    if (!code) code = tb__ch_meta_put(store, "usage_epoch", m->kept[EPOCH], err);
    if (!code) code = tb__ch_meta_put(store, TB__CH_CLAIMED, 0, err);
    if (!code) code = tb__ch_meta_put(store, "usage_shards", m->kept[SHARDS], err);
    if (!code) code = tb__ch_meta_put(store, TB__CH_NUMBER, tb__ch_of(store)->number, err);
    if (!code) code = tb__meta_set(store, "cell_max", (int64_t)most, err);
    if (!code) code = tb__owners_unshare(store, err);
    return code ? code : tb__exec(store->db, store->path, drop, err);
}

static tb_code compact_runs(tb_store *store, void *ctx, tb_error *err)
{
    bool more = true;
    tb_code code = tb__usage_compact_all(store, err);
    while (!code && more)
        code = tb_store_place_series(store, &more, err);
    (void)ctx;
    return code;
}

static tb_code carry_lines(tb_store *store, tb_error *err)
{
    tb_error why;
    const tb_code code = tb__ch_carry(store, &why);
    if (code == TB_OK) return TB_OK;
    return tb_fail(err, code, "usage",
                   "Counters are moved. Request logs and shield events are not: serve the file with --usage, which moves them "
                   "first. %s",
                   why.message);
}

/* Pages of counters are not overwritten with zeros, which would write the whole file once more. */
static tb_code end(moving *m, tb_error *err)
{
    tb_code code = compare_all(m, err);
    if (!code) code = tb__exec(m->store->db, m->store->path, "PRAGMA secure_delete=OFF", err);
    if (!code) code = tb_store_write(m->store, flip, m, err);
    if (code) return code;
    code = tb__exec(m->store->db, m->store->path, "PRAGMA secure_delete=ON", err);
    if (!code) code = carry_lines(m->store, err);
    tb_store_checkpoint(m->store, true);
    return code;
}

static tb_code move_all(moving *m, tb_error *err)
{
    if (!m->store->write || m->store->client || m->store->clickhouse)
        return tb_fail(err, TB_E_USAGE, NULL, "Usage is moved out of a file that is open for writing and has it.");
    tb_code code = tb_store_write(m->store, compact_runs, NULL, err);
    if (!code) code = tb__ch_attach(m->store, m->move->client, err);
    if (!code) code = find_place(m, err);
    if (!code) code = count_all(m, err);
    if (code) return code;
    m->all = m->done;
    m->sending = true;
    code = count_owners_before(m, err);
    begin_step(m);
    if (!code) code = walk_owners(m, m->kept[SCOPE], m->kept[OWNER], err);
    return code ? code : end(m, err);
}

tb_code tb_store_move_usage(tb_store *store, tb_usage_move *move, tb_error *err)
{
    move->rows = 0;
    move->resumed = false;
    if (store->write && store->client) return tb__ch_reshard(store, move, err);
    moving *m = calloc(1, sizeof *m);
    if (!m) return tb_no_memory(err);
    m->store = m->batch.store = store;
    m->move = move;
    m->shards = calloc(move->client->shards, sizeof *m->shards);
    tb_code code = m->shards ? move_all(m, err) : tb_no_memory(err);
    for (size_t i = 0; m->shards && i < move->client->shards; i++)
        free(m->shards[i].list);
    free(m->shards);
    free(m->batch.days);
    tb__pending_release(&m->hours);
    free(m);
    return code;
}
