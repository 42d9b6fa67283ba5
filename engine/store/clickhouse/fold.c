#include "store/clickhouse/fold.h"

#include "tollbook/calendar.h"
#include "tollbook/usageservers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_ROWS 12500   /* what is less is planned as one */
#define PLAN_ROWS  5000000 /* that a plan reads: a tenth of a second */
#define PLAN_FIRST 256     /* owners of the first plan */
#define PLAN_MOST  4096    /* of any */
#define GOING_MAX  4096    /* owners that a statement names */
#define KEYS       "scope,owner,edge,h"

/* What differs between the two tables. */
static const struct {
    const char *name, *owner, *time;
    int64_t unit; /* hours in one of `time` */
} tables[TB__CH_COMPACTED] = {
    [TB__CH_CELL] = {"cell", "owner", "h", 1},
    [TB__CH_COUNTRY] = {"country", "zone", "day", 24},
};

/* --- which spans --- */

static bool joins(const tb__ch_piece *last, const tb__ch_piece *more, uint64_t most)
{
    if (last->of != more->of || last->scope != more->scope || last->rows + more->rows > most) return false;
    if (last->first == more->first) return last->end == more->from;
    return last->from == more->from && last->end == more->end && last->n_going + more->n_going <= GOING_MAX;
}

static void join(tb__ch_piece *last, const tb__ch_piece *more)
{
    if (last->first != more->first) last->n_going += more->n_going;
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

/* Rows of a span, as they lie. */
static void put_where(const tb__ch_fold *f, const tb__ch_piece *s, tb_buf *out)
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

static int64_t step_of(const tb__ch_fold *f, const tb__ch_piece *of)
{
    return f->due ? 24 : tables[of->of].unit;
}

/* An owner with many rows: hour by hour, or day by day where hours become days. */
static tb_code plan_hours(tb_store *store, tb__ch_fold *f, const tb__ch_piece *of, tb_error *err)
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
    tb_code code = tb__ch_ask(store, f->shard, err);
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

static tb_code note_going(tb_store *store, tb__ch_fold *f, tb__ch_piece *of, tb_error *err)
{
    size_t leaver = 0;
    bool leaving = false;
    of->going = f->n_going;
    of->n_going = 0;
    tb_code code = tb__ch_is_leaving(store, f, of->scope, of->first, &leaving, &leaver, err);
    if (code || !leaving) return code;
    code = tb__grow(&f->going, f->n_going, &f->cap_going, sizeof *f->going, err);
    if (code) return code;
    f->going[f->n_going++] = (tb__ch_going){of->first, leaver, f->leavers[leaver].days};
    of->n_going = 1;
    return TB_OK;
}

static tb_code plan_owners(tb_store *store, tb__ch_fold *f, uint64_t *ret_rows, tb_error *err)
{
    const tb__ch_hours_of hours = tb__ch_month_hours(f->month);
    tb__ch_piece of = {.of = f->table, .scope = f->scope, .from = hours.first, .end = hours.end};
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        of.first = of.last = (int64_t)tb__ch_column(&r, 8);
        of.rows = tb__ch_column(&r, 8);
        *ret_rows += of.rows;
        code = note_going(store, f, &of, err);
        if (!code) code = add_piece(&f->owners, &of, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

void tb__ch_fold_begin(tb__ch_fold *f)
{
    f->scope = TB__SCOPE_ZONE;
    f->first = TB__CH_FIRST;
    f->count = PLAN_FIRST;
}

void tb__ch_fold_next(tb__ch_fold *f)
{
    f->planned = false;
    if (!f->over) return;
    const bool cells = f->table == TB__CH_CELL, last = f->scope == TB__SCOPE_BALANCER;
    f->over = false;
    f->first = TB__CH_FIRST;
    f->shard += !cells;
    f->table = cells == last ? (cells ? TB__CH_COUNTRY : TB__CH_CELL) : TB__CH_CELL;
    f->scope = cells && !last ? f->scope + 1 : TB__SCOPE_ZONE;
}

/* The last owner of the next plan. The file knows all whose rows count; what else lies there, and is left out with the rest, is between
 * two of them, or behind the last one. */
static tb_code find_last(tb_store *store, tb__ch_fold *f, int64_t *ret_last, tb_error *err)
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

static void set_count(tb__ch_fold *f, uint64_t rows)
{
    const int64_t most = f->count * 4 < PLAN_MOST ? f->count * 4 : PLAN_MOST;
    const uint64_t fits = rows ? (uint64_t)f->count * PLAN_ROWS / rows : PLAN_MOST;
    f->count = fits < 1 ? 1 : fits < (uint64_t)most ? (int64_t)fits : most;
}

tb_code tb__ch_fold_plan(tb_store *store, tb__ch_fold *f, tb_error *err)
{
    const char *owner = tables[f->table].owner;
    const tb__ch_hours_of hours = tb__ch_month_hours(f->month);
    const tb__ch_piece month = {.of = f->table, .from = hours.first, .end = hours.end};
    int64_t last = 0;
    uint64_t rows = 0;
    tb_code code = find_last(store, f, &last, err);
    if (code) return code;
    f->owners.n = f->owners.at = f->hours.n = f->hours.at = f->n_going = 0;
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
    code = tb__ch_ask(store, f->shard, err);
    if (!code) code = plan_owners(store, f, &rows, err);
    set_count(f, rows);
    f->first = f->over ? TB__CH_FIRST : last + 1;
    return code;
}

static bool is_left(const tb__ch_pieces *p)
{
    return p->at < p->n;
}

bool tb__ch_fold_is_over(const tb__ch_fold *f)
{
    return !f->phase && !is_left(&f->hours) && !is_left(&f->owners);
}

/* The next pieces, as long as they join. */
static void take_span(tb__ch_fold *f, uint64_t most)
{
    tb__ch_pieces *from = is_left(&f->hours) ? &f->hours : &f->owners;
    f->span = from->list[from->at++];
    while (is_left(from) && joins(&f->span, &from->list[from->at], most))
        join(&f->span, &from->list[from->at++]);
}

/* --- what one span's rows come to --- */

/* "owner IN(...)": owners of whom hours go and days stay, or days too. false: there are none, and nothing is put. */
static bool put_going(const tb__ch_fold *f, const tb__ch_piece *s, bool days, tb_buf *out)
{
    bool any = false;
    for (size_t i = s->going; i < s->going + s->n_going; i++) {
        if (f->going[i].days != days) continue;
        if (any) tb_buf_str(out, ",");
        else tb_buf_fmt(out, "%s IN(", tables[s->of].owner);
        tb_buf_fmt(out, "%" PRId64, f->going[i].owner);
        any = true;
    }
    if (any) tb_buf_str(out, ")");
    return any;
}

/* Which of a span's rows: those that stay, or those of which days go. */
static void put_chosen(const tb__ch_fold *f, const tb__ch_piece *s, bool leaving, tb_buf *out)
{
    put_where(f, s, out);
    const size_t at = out->len;
    tb_buf_str(out, leaving ? " AND " : " AND NOT ");
    if (!put_going(f, s, true, out)) out->len = at; /* all stay */
}

/* "(SELECT ... FROM cell)": rows that count, once each. */
static tb_code put_cells(tb_store *store, const tb__ch_fold *f, const char *columns, bool leaving, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf where;
    uint32_t sums = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (tb_metric_table[m].how == TB_HOW_SUM) sums |= TB_METRIC_BIT(m);
    tb_buf_init(&where, 1 << 20, NULL);
    put_chosen(f, s, leaving, &where);
    tb_buf_add(&where, "", 1);
    tb_code code = tb_buf_check(&where, err);
    const tb__ch_rows rows = {.columns = columns, .metrics = leaving ? sums : TB_METRIC_ALL, .where = where.data,
                              .first = s->from, .end = s->end};
    if (!code) code = tb__ch_put_rows(store, &tb__ch_of(store)->sql, &rows, err);
    tb_buf_release(&where);
    return code;
}

static tb_code put_countries(tb_store *store, const tb__ch_fold *f, bool leaving, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = &tb__ch_of(store)->sql;
    tb_buf_fmt(sql, "(SELECT zone,day,country,requests AS r,bytes AS b FROM %s.country WHERE ",
               tb__ch_of(store)->client->database);
    put_chosen(f, s, leaving, sql);
    put_between(s, sql);
    tb_code code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, (tb__ch_hours_of){s->from, s->end}, err);
    tb_buf_str(sql, " LIMIT 1 BY zone,day,country,batch)");
    return code;
}

/* "(SELECT place AS k...,sums AS s... GROUP BY place)": what stays of the span, as it is going to lie. */
static tb_code put_folded(tb_store *store, const tb__ch_fold *f, tb_error *err)
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
    if (put_going(f, s, false, sql)) {
        tb_buf_fmt(sql, ",%d,0))) AS sc,owner,edge,toUInt32(if(", TB__CH_DAYS);
        put_going(f, s, false, sql);
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
    tb__ch_put_there(sql); /* what was withdrawn is no hour any more */
    tb_buf_str(sql, ")");
    return code;
}

/* --- one span --- */

static void put_sums(tb_buf *sql, const tb__ch_piece *s)
{
    for (int m = 0; m < (s->of == TB__CH_CELL ? TB_METRIC_COUNT : 2); m++)
        tb_buf_fmt(sql, ",s%d", m);
}

static tb_code write_folded(tb_store *store, tb__ch_fold *f, tb_error *err)
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
    tb_code code = put_folded(store, f, err);
    return code ? code : tb__ch_ask(store, f->shard, err);
}

static tb_code read_digest(tb_store *store, size_t shard, tb__ch_digest *ret, tb_error *err)
{
    tb_code code = tb__ch_ask(store, shard, err);
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

static tb_code digest_folded(tb_store *store, tb__ch_fold *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    tb_buf *sql = tb__ch_start(store);
    put_digest(sql, s, s->of == TB__CH_CELL ? "sc,owner,edge,hh" : "zone,day,country", "count()");
    tb_code code = put_folded(store, f, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    return code ? code : read_digest(store, f->shard, &f->before, err);
}

/* No two rows have one number, or one place where a place is what tells them apart. */
static tb_code digest_written(tb_store *store, const tb__ch_fold *f, tb__ch_digest *ret, tb_error *err)
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

/* Whether any of the span's rows lies there twice; or it is known that some of the month did. */
static tb_code look_for_repeats(tb_store *store, tb__ch_fold *f, tb_error *err)
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
    if (!code) code = tb__ch_ask(store, f->shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    f->repeats = tb__ch_column(&r, 8) > 0;
    return tb__ch_check_read(&r, err);
}

/* --- what days held that go --- */

static int by_owner(const void *a, const void *b)
{
    const tb__ch_going *x = a, *y = b;
    return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* The sums of an owner's account. */
static tb_code leaver_sums(tb__ch_fold *f, int64_t owner, tb_u128 **ret, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    const tb__ch_going key = {.owner = owner};
    const tb__ch_going *at = bsearch(&key, f->going + s->going, s->n_going, sizeof key, by_owner);
    if (!at) return tb_fail(err, TB_E_AWAY, "usage", "A usage server answered for pull zone %lld, which was not asked about.",
                            (long long)owner);
    tb__ch_leaver *l = &f->leavers[at->leaver];
    if (!l->sum) l->sum = calloc(TB__GONE_COUNT, sizeof *l->sum);
    *ret = l->sum;
    return l->sum ? TB_OK : tb_no_memory(err);
}

static tb_code put_leaving(tb_store *store, const tb__ch_fold *f, tb_error *err)
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

/* Of those that batches were counted by: pull zones' locations, balancers, countries. */
static tb_code sum_leaving(tb_store *store, tb__ch_fold *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    bool any = false;
    for (size_t i = 0; i < s->n_going && !any; i++)
        any = f->going[s->going + i].days;
    if (!any || s->scope == TB__SCOPE_ACCOUNT) return TB_OK;
    tb_code code = put_leaving(store, f, err);
    if (!code) code = tb__ch_ask(store, f->shard, err);
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

static tb_code not_alike(const tb__ch_fold *f, tb_error *err)
{
    const tb__ch_piece *s = &f->span;
    return tb_fail(err, TB_E_CORRUPT, "usage",
                   "Compacted rows of %s, scope %d, owners %lld to %lld, on shard %zu are not what they were made of. "
                   "They do not count, and the rows stay as they are. Look for more with: tollbook verify",
                   tables[s->of].name, s->scope, (long long)s->first, (long long)s->last, f->shard + 1);
}

static tb_code compare_written(tb_store *store, tb__ch_fold *f, tb_error *err)
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

/* A statement each, so that what else is written waits for one at most. All of them are of rows that nothing changes any more. */
static tb_code (*const phases[])(tb_store *store, tb__ch_fold *f, tb_error *err) = {write_folded, digest_folded, compare_written,
                                                                                    look_for_repeats, sum_leaving};
#define PHASES (sizeof phases / sizeof *phases)

/* The next owner, where it has too many rows for a span and more than one hour; NULL: it has not. */
static const tb__ch_piece *next_to_divide(const tb__ch_fold *f, uint64_t most)
{
    const tb__ch_piece *next = is_left(&f->hours) ? NULL : &f->owners.list[f->owners.at];
    const bool wide = next && next->rows > most && next->first == next->last;
    return wide && next->end - next->from > step_of(f, next) ? next : NULL;
}

tb_code tb__ch_fold_step(tb_store *store, tb__ch_fold *f, uint64_t most, uint64_t *ret_rows, tb_error *err)
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
