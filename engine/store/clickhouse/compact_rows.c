#include "store/clickhouse/compact.h"

#include "tollbook/calendar.h"
#include "tollbook/usageservers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_ROWS 12500   /* smaller owners are planned together */
#define PLAN_ROWS  5000000 /* rows that a plan reads: a tenth of a second */
#define PLAN_FIRST 256     /* owners of the first plan */
#define PLAN_MOST  4096    /* of any */
#define EXPIRING_MAX  4096    /* owners that a statement names */
#define KEYS       "scope,owner,edge,h"

/* The differences between the two tables. */
static const struct {
    const char *name, *owner, *time;
    int64_t unit; /* hours in one of `time` */
} tables[TB__CH_COMPACTED] = {
    [TB__CH_CELL] = {"cell", "owner", "h", 1},
    [TB__CH_COUNTRY] = {"country", "zone", "day", 24},
};

/* --- planning --- */

static bool joins(const tb__ch_piece *last, const tb__ch_piece *more, uint64_t most)
{
    if (last->of != more->of || last->scope != more->scope || last->rows + more->rows > most) return false;
    if (last->first == more->first) return last->end == more->from;
    return last->from == more->from && last->end == more->end && last->n_owners_expiring + more->n_owners_expiring <= EXPIRING_MAX;
}

static void join(tb__ch_piece *last, const tb__ch_piece *more)
{
    if (last->first != more->first) last->n_owners_expiring += more->n_owners_expiring;
    last->last = more->last;
    last->end = more->end;
    last->rows += more->rows;
}

static tb_code add_piece(tb__ch_pieces *to, const tb__ch_piece *piece, tb_error *err)
{
    if (to->n && joins(&to->list[to->n - 1], piece, PIECE_ROWS)) {
        join(&to->list[to->n - 1], piece);
        return TB_OK;
    }
    tb_code code = tb__grow(&to->list, to->n, &to->cap, sizeof *to->list, err);
    if (!code) to->list[to->n++] = *piece;
    return code;
}

/* Stored rows of a span. */
static void put_where(const tb__ch_compaction *f, const tb__ch_piece *s, tb_buf *out)
{
    const char *owner = tables[s->of].owner;
    tb_buf_fmt(out, "%s%s>=%" PRId64 " AND %s<=%" PRId64 " AND batch>=%" PRId64 " AND batch<%" PRId64,
               s->of == TB__CH_CELL ? tb__ch_scopes(s->scope, true) : "", s->of == TB__CH_CELL ? " AND owner" : owner, s->first,
               owner, s->last, f->from, f->batch);
}

/* " AND ..." between the span's hours. */
static void put_between(const tb__ch_piece *s, tb_buf *out)
{
    const int64_t unit = tables[s->of].unit;
    tb_buf_fmt(out, " AND %s>=%" PRId64 " AND %s<%" PRId64, tables[s->of].time, s->from / unit, tables[s->of].time,
               s->end / unit);
}

static int64_t step_of(const tb__ch_compaction *f, const tb__ch_piece *of)
{
    return f->due ? 24 : tables[of->of].unit;
}

/* Splits an owner with many rows by hour, or by day if its hours expire. */
static tb_code plan_hours(tb_store *store, tb__ch_compaction *f, const tb__ch_piece *of, tb_error *err)
{
    const int64_t unit = tables[of->of].unit, step = step_of(f, of);
    int64_t from = of->from;
    f->hours.n = f->hours.at = 0;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT toUInt32(intDiv(%s,%" PRId64 ")) AS t,count() FROM %s.%s WHERE ", tables[of->of].time, step / unit,
               tb__ch_of(store)->client->database, tables[of->of].name);
    put_where(f, of, sql);
    put_between(of, sql);
    tb_buf_str(sql, " GROUP BY t ORDER BY t FORMAT RowBinary");
    tb_code code = tb__ch_query(store, f->shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        tb__ch_piece some = *of;
        some.from = from;
        some.end = from = ((int64_t)tb__ch_column(&r, 4) + 1) * step;
        some.rows = tb__ch_column(&r, 8);
        code = add_piece(&f->hours, &some, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code note_expiring(tb_store *store, tb__ch_compaction *f, tb__ch_piece *of, tb_error *err)
{
    size_t account = 0;
    bool expiring = false;
    of->owners_expiring = f->n_owners_expiring;
    of->n_owners_expiring = 0;
    tb_code code = tb__ch_is_expiring(store, f, of->scope, of->first, &expiring, &account, err);
    if (code || !expiring) return code;
    code = tb__grow(&f->owners_expiring, f->n_owners_expiring, &f->cap_owners_expiring, sizeof *f->owners_expiring, err);
    if (code) return code;
    f->owners_expiring[f->n_owners_expiring++] = (tb__ch_expiring_owner){of->first, account, f->expiring[account].days};
    of->n_owners_expiring = 1;
    return TB_OK;
}

static tb_code plan_owners(tb_store *store, tb__ch_compaction *f, uint64_t *ret_rows, tb_error *err)
{
    const tb__ch_hours_of hours = tb__ch_month_hours(f->month);
    tb__ch_piece of = {.of = f->table, .scope = f->scope, .from = hours.first, .end = hours.end};
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        of.first = of.last = (int64_t)tb__ch_column(&r, 8);
        of.rows = tb__ch_column(&r, 8);
        *ret_rows += of.rows;
        code = note_expiring(store, f, &of, err);
        if (!code) code = add_piece(&f->owners, &of, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

void tb__ch_compaction_begin(tb__ch_compaction *f)
{
    f->scope = TB__SCOPE_ZONE;
    f->first = TB__CH_FIRST;
    f->count = PLAN_FIRST;
}

void tb__ch_compaction_next(tb__ch_compaction *f)
{
    f->planned = false;
    if (!f->over) return;
    const bool cells = f->table == TB__CH_CELL, last = f->scope == TB__SCOPE_METER;
    f->over = false;
    f->first = TB__CH_FIRST;
    f->shard += !cells;
    f->table = cells == last ? (cells ? TB__CH_COUNTRY : TB__CH_CELL) : TB__CH_CELL;
    f->scope = cells && !last ? f->scope + 1 : TB__SCOPE_ZONE;
}

/* The last owner of the next plan. The file knows all owners with rows that count. Other stored rows lie between two of
 * these owners or after the last one, and are left out. */
static tb_code find_last(tb_store *store, tb__ch_compaction *f, int64_t *ret_last, tb_error *err)
{
    int64_t last = INT64_MAX, more = INT64_MAX;
    tb_code code =
        tb__int_of(store, TB__SQL_SERIES_OWNERS_END, (int64_t[]){f->scope, f->first, f->count}, 3, INT64_MAX, &last, err);
    if (!code && last < INT64_MAX)
        code = tb__int_of(store, TB__SQL_SERIES_OWNERS_END, (int64_t[]){f->scope, last + 1, 1}, 3, INT64_MAX, &more, err);
    f->over = more == INT64_MAX;
    *ret_last = f->over ? INT64_MAX : last;
    return code;
}

static void set_count(tb__ch_compaction *f, uint64_t rows)
{
    const int64_t most = f->count * 4 < PLAN_MOST ? f->count * 4 : PLAN_MOST;
    const uint64_t fits = rows ? (uint64_t)f->count * PLAN_ROWS / rows : PLAN_MOST;
    f->count = fits < 1 ? 1 : fits < (uint64_t)most ? (int64_t)fits : most;
}

tb_code tb__ch_compaction_plan(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const char *owner = tables[f->table].owner;
    const tb__ch_hours_of hours = tb__ch_month_hours(f->month);
    const tb__ch_piece month = {.of = f->table, .from = hours.first, .end = hours.end};
    int64_t last = 0;
    uint64_t rows = 0;
    tb_code code = find_last(store, f, &last, err);
    if (code) return code;
    f->owners.n = f->owners.at = f->hours.n = f->hours.at = f->n_owners_expiring = 0;
    f->planned = true;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT %s,count() FROM %s.%s WHERE %s%sbatch>=%" PRId64 " AND batch<%" PRId64, owner,
               tb__ch_of(store)->client->database, tables[f->table].name,
               f->table == TB__CH_CELL ? tb__ch_scopes(f->scope, true) : "", f->table == TB__CH_CELL ? " AND " : "", f->from,
               f->batch);
    if (f->first > TB__CH_FIRST) tb_buf_fmt(sql, " AND %s>=%" PRId64, owner, f->first);
    if (last < INT64_MAX) tb_buf_fmt(sql, " AND %s<=%" PRId64, owner, last);
    put_between(&month, sql);
    tb_buf_fmt(sql, " GROUP BY %s ORDER BY %s FORMAT RowBinary", owner, owner);
    code = tb__ch_query(store, f->shard, err);
    if (!code) code = plan_owners(store, f, &rows, err);
    set_count(f, rows);
    f->first = f->over ? TB__CH_FIRST : last + 1;
    return code;
}

static bool is_left(const tb__ch_pieces *p)
{
    return p->at < p->n;
}

bool tb__ch_compaction_is_over(const tb__ch_compaction *f)
{
    return !f->phase && !is_left(&f->hours) && !is_left(&f->owners);
}

/* Joins the next pieces into one span. */
static void take_span(tb__ch_compaction *f, uint64_t most)
{
    tb__ch_pieces *from = is_left(&f->hours) ? &f->hours : &f->owners;
    f->span = from->list[from->at++];
    while (is_left(from) && joins(&f->span, &from->list[from->at], most))
        join(&f->span, &from->list[from->at++]);
}

/* --- the compacted rows of a span, in SQL --- */

/* "owner IN(...)": owners whose hours expire, or with `days` those whose days expire too. false: there are none, and nothing is written. */
static bool put_expiring(const tb__ch_compaction *f, const tb__ch_piece *s, bool days, tb_buf *out)
{
    bool any = false;
    for (size_t i = s->owners_expiring; i < s->owners_expiring + s->n_owners_expiring; i++) {
        if (f->owners_expiring[i].days != days) continue;
        if (any) tb_buf_str(out, ",");
        else tb_buf_fmt(out, "%s IN(", tables[s->of].owner);
        tb_buf_fmt(out, "%" PRId64, f->owners_expiring[i].owner);
        any = true;
    }
    if (any) tb_buf_str(out, ")");
    return any;
}

/* The condition for a span's rows: those that are kept, or those that expire altogether. */
static void put_chosen(const tb__ch_compaction *f, const tb__ch_piece *s, bool expiring, tb_buf *out)
{
    put_where(f, s, out);
    const size_t at = out->len;
    tb_buf_str(out, expiring ? " AND " : " AND NOT ");
    if (!put_expiring(f, s, true, out)) out->len = at; /* all stay */
}

/* "(SELECT ... FROM cell)": each row that counts, once. */
static tb_code put_cells(tb_store *store, const tb__ch_compaction *f, const char *columns, bool expiring, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf where;
    uint32_t sums = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (tb_metric_table[m].how == TB_HOW_SUM) sums |= TB_METRIC_BIT(m);
    tb_buf_init(&where, 1 << 20, NULL);
    put_chosen(f, s, expiring, &where);
    tb_buf_add(&where, "", 1);
    tb_code code = tb_buf_check(&where, err);
    const tb__ch_rows rows = {.columns = columns, .metrics = expiring ? sums : TB_METRIC_ALL, .where = where.data,
                              .first = s->from, .end = s->end};
    if (!code) code = tb__ch_put_rows(store, &tb__ch_of(store)->sql, &rows, err);
    tb_buf_release(&where);
    return code;
}

static tb_code put_countries(tb_store *store, const tb__ch_compaction *f, bool expiring, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = &tb__ch_of(store)->sql;
    tb_buf_fmt(sql, "(SELECT zone,day,country,requests AS r,bytes AS b FROM %s.country WHERE ",
               tb__ch_of(store)->client->database);
    put_chosen(f, s, expiring, sql);
    put_between(s, sql);
    tb_code code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, (tb__ch_hours_of){s->from, s->end}, err);
    tb_buf_str(sql, " LIMIT 1 BY zone,day,country,batch)");
    return code;
}

/* "(SELECT place AS k...,sums AS s... GROUP BY place)": the rows of the span that are kept, as they will be stored. */
static tb_code put_compacted(tb_store *store, const tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = &tb__ch_of(store)->sql;
    if (s->of == TB__CH_COUNTRY) {
        tb_buf_str(sql, "(SELECT zone,day,country,sum(r) AS s0,sum(b) AS s1 FROM ");
        tb_code code = put_countries(store, f, false, err);
        tb_buf_str(sql, " GROUP BY zone,day,country)");
        return code;
    }
    const size_t start = sql->len;
    tb_buf_str(sql, "(SELECT toUInt8(bitOr(scope,if(");
    if (put_expiring(f, s, false, sql)) {
        tb_buf_fmt(sql, ",%d,0))) AS sc,owner,edge,toUInt32(if(", TB__CH_DAYS);
        put_expiring(f, s, false, sql);
        tb_buf_str(sql, ",intDiv(h,24)*24,h)) AS hh");
    } else {
        sql->len = start;
        tb_buf_str(sql, "(SELECT scope AS sc,owner,edge,h AS hh");
    }
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s(%s) AS s%d", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", tb_metric_table[m].name, m);
    tb_buf_str(sql, " FROM ");
    tb_code code = put_cells(store, f, KEYS, false, err);
    tb_buf_str(sql, " GROUP BY sc,owner,edge,hh");
    tb__ch_put_not_empty(sql); /* an hour that was withdrawn altogether has no row any more */
    tb_buf_str(sql, ")");
    return code;
}

/* --- one span --- */

static void put_sums(tb_buf *sql, const tb__ch_piece *s)
{
    for (int m = 0; m < (s->of == TB__CH_CELL ? TB_METRIC_COUNT : 2); m++)
        tb_buf_fmt(sql, ",s%d", m);
}

static tb_code write_compacted(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = tb__ch_start(store);
    const char *database = tb__ch_of(store)->client->database;
    if (s->of == TB__CH_CELL) {
        tb_buf_fmt(sql, "INSERT INTO %s.cell(" KEYS ",batch,row", database);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
        tb_buf_fmt(sql, ") SELECT sc,owner,edge,hh,toUInt64(%" PRId64 "),toUInt32(%" PRIu64 "+rowNumberInAllBlocks())",
                   f->batch, f->numbered);
    } else {
        tb_buf_fmt(sql, "INSERT INTO %s.country(zone,day,country,batch,requests,bytes) SELECT zone,day,country,toUInt64(%" PRId64 ")",
                   database, f->batch);
    }
    put_sums(sql, s);
    tb_buf_str(sql, " FROM ");
    tb_code code = put_compacted(store, f, err);
    return code ? code : tb__ch_query(store, f->shard, err);
}

static tb_code read_digest(tb_store *store, size_t shard, tb__ch_digest *ret, tb_error *err)
{
    tb_code code = tb__ch_query(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    ret->rows = tb__ch_column(&r, 8);
    ret->hash = tb__ch_column(&r, 8);
    ret->numbers = tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

static void put_digest(tb_buf *sql, const tb__ch_piece *s, const char *keys, const char *numbers)
{
    tb_buf_fmt(sql, "SELECT count(),sum(cityHash64(%s", keys);
    put_sums(sql, s);
    tb_buf_fmt(sql, ")),%s FROM ", numbers);
}

static tb_code digest_compacted(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = tb__ch_start(store);
    put_digest(sql, s, s->of == TB__CH_CELL ? "sc,owner,edge,hh" : "zone,day,country", "count()");
    tb_code code = put_compacted(store, f, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    return code ? code : read_digest(store, f->shard, &f->before, err);
}

/* Whether all row numbers are different; for tables without numbers, all places. */
static tb_code digest_written(tb_store *store, const tb__ch_compaction *f, tb__ch_digest *ret, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    const bool cells = s->of == TB__CH_CELL;
    tb_buf *sql = tb__ch_start(store);
    put_digest(sql, s, cells ? KEYS : "zone,day,country", cells ? "uniqExact(row)" : "uniqExact(zone,day,country)");
    tb_buf_str(sql, cells ? "(SELECT " KEYS ",row" : "(SELECT zone,day,country,requests AS s0,bytes AS s1");
    for (int m = 0; cells && m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s AS s%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql, " FROM %s.%s WHERE %s%s>=%" PRId64 " AND %s<=%" PRId64 " AND batch=%" PRId64,
               tb__ch_of(store)->client->database, tables[s->of].name, cells ? tb__ch_scopes(s->scope, true) : "",
               cells ? " AND owner" : "zone", s->first, tables[s->of].owner, s->last, f->batch);
    put_between(s, sql);
    tb_buf_str(sql, ") FORMAT RowBinary");
    return read_digest(store, f->shard, ret, err);
}

/* Whether a row of the span is stored twice. Already true if one of the month was. */
static tb_code look_for_repeats(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    const bool cells = s->of == TB__CH_CELL;
    if (f->repeats) return TB_OK;
    tb_buf *sql = tb__ch_start(store), where;
    tb_buf_init(&where, 1 << 20, NULL);
    put_where(f, s, &where);
    if (!cells) put_between(s, &where);
    tb_buf_add(&where, "", 1);
    tb_code code = tb_buf_check(&where, err);
    const tb__ch_rows rows = {.columns = "batch,row", .where = where.data, .first = s->from, .end = s->end};
    tb_buf_fmt(sql, "SELECT count()-uniqExact(%s) FROM ", cells ? "batch,row" : "zone,day,country,batch");
    if (!code && cells) {
        code = tb__ch_put_rows(store, sql, &rows, err);
    } else if (!code) {
        tb_buf_fmt(sql, "%s.country WHERE %s", tb__ch_of(store)->client->database, where.data);
        code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, (tb__ch_hours_of){s->from, s->end}, err);
    }
    tb_buf_str(sql, " FORMAT RowBinary");
    tb_buf_release(&where);
    if (!code) code = tb__ch_query(store, f->shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    f->repeats = tb__ch_column(&r, 8) > 0;
    return tb__ch_check_read(&r, err);
}

/* --- sums of expired days --- */

static int by_owner(const void *a, const void *b)
{
    const tb__ch_expiring_owner *x = a, *y = b;
    return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* The sums of an owner's account. */
static tb_code leaver_sums(tb__ch_compaction *f, int64_t owner, tb_u128 **ret, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    const tb__ch_expiring_owner key = {.owner = owner};
    const tb__ch_expiring_owner *at = bsearch(&key, f->owners_expiring + s->owners_expiring, s->n_owners_expiring, sizeof key, by_owner);
    if (!at) return tb_fail(err, TB_E_AWAY, "usage", "A usage server answered for pull zone %lld, which was not asked about.",
                            (long long)owner);
    tb__ch_expiring *l = &f->expiring[at->account];
    if (!l->sum) l->sum = calloc(TB__GONE_COUNT, sizeof *l->sum);
    *ret = l->sum;
    return l->sum ? TB_OK : tb_no_memory(err);
}

static tb_code put_leaving(tb_store *store, const tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT %s", tables[s->of].owner);
    for (int m = 0; s->of == TB__CH_CELL && m < TB_METRIC_COUNT; m++)
        if (tb_metric_table[m].how == TB_HOW_SUM) tb_buf_fmt(sql, ",sum(%s)", tb_metric_table[m].name);
    tb_buf_str(sql, s->of == TB__CH_CELL ? " FROM " : ",sum(r),sum(b) FROM ");
    tb_code code = s->of == TB__CH_CELL ? put_cells(store, f, "owner", true, err) : put_countries(store, f, true, err);
    tb_buf_fmt(sql, " GROUP BY %s FORMAT RowBinary", tables[s->of].owner);
    return code;
}

/* Sums those scopes that retention counts: locations of pull zones, balancers, meters, countries. */
static tb_code sum_leaving(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    bool any = false;
    for (size_t i = 0; i < s->n_owners_expiring && !any; i++)
        any = f->owners_expiring[s->owners_expiring + i].days;
    if (!any || s->scope == TB__SCOPE_ACCOUNT) return TB_OK;
    tb_code code = put_leaving(store, f, err);
    if (!code) code = tb__ch_query(store, f->shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        tb_u128 *to = NULL;
        code = leaver_sums(f, (int64_t)tb__ch_column(&r, 8), &to, err);
        if (code) break;
        for (int m = s->of == TB__CH_CELL ? 0 : TB_METRIC_COUNT; m < (s->of == TB__CH_CELL ? TB_METRIC_COUNT : TB__GONE_COUNT); m++)
            if (m >= TB_METRIC_COUNT || tb_metric_table[m].how == TB_HOW_SUM) to[m] += tb__ch_column(&r, 8);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code not_alike(const tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    return tb_fail(err, TB_E_CORRUPT, "usage",
                   "Compacted rows of %s, scope %d, owners %lld to %lld, on shard %zu are not what they were made of. "
                   "They do not count, and the rows stay as they are. Look for more with: tollbook verify",
                   tables[s->of].name, s->scope, (long long)s->first, (long long)s->last, f->shard + 1);
}

static tb_code compare_written(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    const tb__ch_digest *before = &f->before;
    tb__ch_digest after = {0, 0, 0};
    tb_code code = digest_written(store, f, &after, err);
    if (code) return code;
    if (f->table == TB__CH_CELL && before->rows > UINT32_MAX - f->numbered)
        return tb_fail(err, TB_E_OVERFLOW, "usage",
                       "A month has 2^32 rows even where it is compacted, which cannot be numbered. It stays as it is.");
    if (before->rows != after.rows || before->hash != after.hash || after.numbers != after.rows) return not_alike(f, err);
    if (f->table == TB__CH_CELL) f->numbered += before->rows;
    return TB_OK;
}

/* One statement each, so that other writes wait for one statement at most. All of them read rows that do not change any more. */
static tb_code (*const phases[])(tb_store *store, tb__ch_compaction *f, tb_error *err) = {write_compacted, digest_compacted, compare_written,
                                                                                    look_for_repeats, sum_leaving};
#define PHASES (sizeof phases / sizeof *phases)

/* The next owner, if it has too many rows for a span and more than one hour; else NULL. */
static const tb__ch_piece *next_to_divide(const tb__ch_compaction *f, uint64_t most)
{
    const tb__ch_piece *next = is_left(&f->hours) ? NULL : &f->owners.list[f->owners.at];
    const bool wide = next && next->rows > most && next->first == next->last;
    return wide && next->end - next->from > step_of(f, next) ? next : NULL;
}

tb_code tb__ch_compaction_step(tb_store *store, tb__ch_compaction *f, uint64_t most, uint64_t *ret_rows, tb_error *err)
{
    *ret_rows = 0;
    if (!f->phase) {
        const tb__ch_piece *divided = next_to_divide(f, most);
        if (divided) {
            f->owners.at++;
            return plan_hours(store, f, divided, err);
        }
        take_span(f, most);
        *ret_rows = f->span.rows;
    }
    tb_code code = phases[f->phase](store, f, err);
    f->phase = (f->phase + 1) % PHASES;
    return code;
}
