/* Verifying usage: one rule, applied at every level. Several series must add up to the series above them: a zone's
 * edge locations to the zone, the zones of an account at one edge location to the account there, an account's edge
 * locations to the account. And in each series, a month's days must be the sums of their hours.
 *
 * In a month whose hours may have expired (usage/retain.h) the days replace them: the remaining hours must be
 * included in them, and days are compared and summed above, each in the slot of its first hour. In a month whose
 * days may have expired, the remaining ones are summed, but not compared with the whole.
 *
 * An owner is processed month by month: 31 days of hours of the parts, added up, beside the 31 days of the whole. So
 * memory does not grow with the history. Every chunk may be read several times: with reports of damage the first
 * time, without afterwards. */
#include "store/usage/batch.h"
#include "store/usage/retain.h"
#include "store/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAYS       31
#define HOURS      24

/* A series and its edge location. */
typedef struct member {
    int64_t edge, series;
} member;

typedef struct members {
    member *list;
    size_t n, cap;
} members;

typedef struct owner {
    int scope;
    int64_t id;
} owner;

/* The hours of a month's days. */
typedef struct month {
    tb_grid day[DAYS];
    uint32_t unsure; /* days that could not be read: nothing is compared there */
} month;

typedef struct pass {
    tb__verify *v;
    owner owner;
    tb_kept kept; /* of the owner */
    month parts, whole, one; /* `one` is where a part is read before it is added */
} pass;

static tb_code push(pass *p, members *list, int64_t edge, int64_t series, tb_error *err)
{
    if (series < 1 || series > TB__SERIES_MAX) {
        tb__differs(p->v, "A series has the number %lld.", (long long)series);
        return TB_OK;
    }
    tb_code code = tb__grow(&list->list, list->n, &list->cap, sizeof *list->list, err);
    if (code) return code;
    list->list[list->n++] = (member){edge, series};
    return TB_OK;
}

/* --- names for people --- */

#define NAME_MAX_ 96

/* "Pull zone 101, DE" */
static void name_series(pass *p, int64_t edge, char out[NAME_MAX_])
{
    static const char *const kinds[] = {"?", "Pull zone", "Account", "Load balancer", "Meter series"};
    char code[TB_EDGE_MAX + 16] = "all locations";
    sqlite3_stmt *s;
    bool row = false;
    if (edge > 0) {
        snprintf(code, sizeof code, "edge %lld", (long long)edge);
        if (!tb__verify_sql(p->v, TB__V_EDGE_CODE, &edge, 1, &s, NULL) &&
            !tb__step(p->v->store, s, &row, NULL) && row)
            snprintf(code, sizeof code, "%s", (const char *)sqlite3_column_text(s, 0));
        if (row) sqlite3_reset(s);
    }
    bool one_place = tb__is_whole(p->owner.scope);
    snprintf(out, NAME_MAX_, "%s %lld%s%s", kinds[p->owner.scope], (long long)p->owner.id,
             one_place ? "" : ", ", one_place ? "" : code);
}

/* "2026-05-03", or with an hour "2026-05-03T13:00:00Z". */
static void name_time(int64_t day, int hour, char out[21])
{
    tb_time_format(day * TB_US_PER_DAY + (hour < 0 ? 0 : hour) * TB_US_PER_HOUR, out);
    out[hour < 0 ? 10 : 20] = 0;
}

static void say_value(pass *p, int64_t edge, int64_t day, int hour, unsigned metric,
                      const char *expected_by, uint64_t expected, uint64_t found)
{
    char name[NAME_MAX_], when[21];
    name_series(p, edge, name);
    name_time(day, hour, when);
    tb__differs(p->v, "%s, %s: %s is %llu; %s %llu.", name, when, tb_metric_table[metric].name,
                (unsigned long long)found, expected_by, (unsigned long long)expected);
}

static void say_chunk(pass *p, int64_t edge, int64_t day, bool whole_month, const char *what)
{
    char name[NAME_MAX_], when[21];
    name_series(p, edge, name);
    name_time(day, -1, when);
    if (whole_month) when[7] = 0;
    tb__differs(p->v, "%s, %s: %s.", name, when, what);
}

/* --- comparing --- */

static uint64_t value_of(const tb_grid *grid, unsigned metric, unsigned slot)
{
    return grid->metrics & TB_METRIC_BIT(metric) ? grid->v[metric][slot] : 0;
}

/* Compares two grids over n slots; slot s is hour s of `day`, or day s after it. */
static void compare(pass *p, int64_t edge, int64_t day, bool hours, const tb_grid *expected,
                    const tb_grid *found, unsigned n, uint32_t skip, const char *expected_by)
{
    for (uint32_t left = expected->metrics | found->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        if ((expected->metrics & found->metrics & TB_METRIC_BIT(m)) &&
            memcmp(expected->v[m], found->v[m], n * sizeof *found->v[m]) == 0)
            continue;
        for (unsigned i = 0; i < n; i++) {
            uint64_t want = value_of(expected, m, i), got = value_of(found, m, i);
            if (want == got || (skip >> i & 1)) continue;
            say_value(p, edge, hours ? day : day + i, hours ? (int)i : -1, m, expected_by, want,
                      got);
        }
    }
}

/* --- reading a month of one series --- */

static void month_clear(month *m)
{
    for (int i = 0; i < DAYS; i++)
        tb_grid_clear(&m->day[i]);
    m->unsure = 0;
}

/* SQLite finds its way by the order of keys; where a damaged tree has lost it, rows come that the
 * statement did not ask for. */
static tb_code out_of_order(pass *p, member from, int64_t first, bool loud, sqlite3_stmt *s)
{
    if (loud) say_chunk(p, from.edge, first, true, "its days are out of order");
    p->v->damaged = true;
    sqlite3_reset(s);
    return TB_OK;
}

typedef struct waiting_month {
    month *out;
    int64_t first;
} waiting_month;

static tb_code add_waiting_day(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    waiting_month *to = ctx;
    int64_t at = entry->key.index - to->first;
    tb_grid more;
    (void)err;
    if (!tb__entry_get_grid(entry->data, entry->len, &more) || more.slots >> HOURS ||
        tb_grid_merge(&to->out->day[at], &more, NULL))
        to->out->unsure |= UINT32_C(1) << at;
    return TB_OK;
}

static tb_code add_waiting_days(pass *p, const int64_t keys[2], int64_t first, month *out,
                                tb_error *err)
{
    const tb__lsm_span span = {tb__entry_key_of(keys[0]), tb__entry_key_of(keys[1])};
    waiting_month to = {out, first};
    return tb__lsm_each(&p->v->store->usage->lsm, TB__LSM_COUNTERS, span, add_waiting_day, &to,
                         err);
}

static tb_code read_days(pass *p, member from, int64_t first, int64_t days, bool loud, month *out,
                         tb_error *err)
{
    const int64_t span[2] = {tb__chunk_key(from.series, TB__GRAIN_HOURS, first),
                             tb__chunk_key(from.series, TB__GRAIN_HOURS, first + days - 1)};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(p->v, TB__V_DAYS, span, 2, &s, err);
    while (!code && !(code = tb__step(p->v->store, s, &row, err)) && row) {
        int64_t key = sqlite3_column_int64(s, 0), day = tb__key_index(key);
        if (key < span[0] || key > span[1]) return out_of_order(p, from, first, loud, s);
        tb_grid *grid = &out->day[day - first];
        const char *wrong = NULL;
        if (tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key,
                             grid, NULL))
            wrong = "its hours are damaged";
        else if (grid->slots >> HOURS)
            wrong = "it has more than 24 hours";
        if (!wrong) continue;
        tb_grid_clear(grid);
        out->unsure |= UINT32_C(1) << (day - first);
        if (loud) say_chunk(p, from.edge, day, false, wrong);
    }
    return code ? code : add_waiting_days(p, span, first, out, err);
}

/* The month's chunk of days; *ret_sure false: it cannot be compared. */
static tb_code read_month_chunk(pass *p, member from, int64_t index, bool loud, tb_grid *out,
                                bool *ret_sure, tb_error *err)
{
    const int64_t key = tb__chunk_key(from.series, TB__GRAIN_DAYS, index);
    const int64_t first = tb_month_first_day(index), days = tb_month_first_day(index + 1) - first;
    sqlite3_stmt *s;
    bool row = false;
    tb_grid_clear(out);
    *ret_sure = true;
    tb_code code = tb__verify_sql(p->v, TB__V_MONTH, &key, 1, &s, err);
    if (!code) code = tb__step(p->v->store, s, &row, err);
    if (code) return code;
    const char *wrong = NULL;
    if (row && tb__chunk_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), key,
                                out, NULL))
        wrong = "its days are damaged";
    if (row) sqlite3_reset(s);
    if (!wrong) code = tb__pending_merge(&p->v->store->usage->lsm, key, out, err);
    if (code) return code;
    if (!wrong && (uint64_t)out->slots >> days) wrong = "it has more days than the month";
    if (wrong && loud) say_chunk(p, from.edge, first, true, wrong);
    *ret_sure = !wrong;
    return TB_OK;
}

/* Days from hours. A day whose hours pass the limit cannot be compared. */
static void fold(month *m, tb_grid *out)
{
    tb_grid_clear(out);
    for (unsigned i = 0; i < DAYS; i++)
        if (m->day[i].metrics && tb_grid_fold(out, i, &m->day[i], NULL))
            m->unsure |= UINT32_C(1) << i;
}

/* The days that a month's hours make. */
static void fold_loudly(pass *p, member from, int64_t first, month *m, tb_grid *sums)
{
    const uint32_t before = m->unsure;
    fold(m, sums);
    for (uint32_t left = m->unsure & ~before; left; left &= left - 1)
        say_chunk(p, from.edge, first + __builtin_ctz(left), false,
                  "its hours add up to more than 2^63 - 1");
}

/* What is left of the hours is in the days. */
static void compare_left(pass *p, member from, int64_t first, const month *m, const tb_grid *sums,
                         const tb_grid *noted)
{
    for (uint32_t left = sums->metrics; left; left &= left - 1) {
        const unsigned metric = (unsigned)__builtin_ctz(left);
        for (unsigned i = 0; i < DAYS; i++) {
            const uint64_t hours = value_of(sums, metric, i), day = value_of(noted, metric, i);
            if (hours > day && !(m->unsure >> i & 1))
                say_value(p, from.edge, first + i, -1, metric, "its hours make", hours, day);
        }
    }
}

/* Each day in the slot of its first hour. */
static void spread(const tb_grid *days, month *out)
{
    month_clear(out);
    for (unsigned i = 0; i < DAYS; i++) {
        tb_grid *to = &out->day[i];
        if (!(days->slots >> i & 1)) continue;
        to->metrics = days->metrics;
        to->slots = 1;
        for (uint32_t left = days->metrics; left; left &= left - 1) {
            const unsigned m = (unsigned)__builtin_ctz(left);
            memset(to->v[m], 0, sizeof to->v[m]);
            to->v[m][0] = days->v[m][i];
        }
    }
}

/* Reads a month whose hours may have expired. */
static tb_code read_days_only(pass *p, member from, int64_t index, bool loud, month *out,
                              tb_error *err)
{
    const int64_t first = tb_month_first_day(index), days = tb_month_first_day(index + 1) - first;
    tb_grid noted, sums;
    bool sure = false;
    month_clear(out);
    tb_code code = loud ? read_days(p, from, first, days, true, out, err) : TB_OK;
    if (!code) code = read_month_chunk(p, from, index, loud, &noted, &sure, err);
    if (code) return code;
    if (loud) fold_loudly(p, from, first, out, &sums);
    if (loud && sure) compare_left(p, from, first, out, &sums, &noted);
    month_clear(out);
    if (sure) spread(&noted, out);
    else out->unsure = UINT32_MAX;
    return TB_OK;
}

/* Reads a month of a series; loud: also checks that its days are the sums of its hours. */
static tb_code read_month(pass *p, member from, int64_t index, bool loud, month *out, tb_error *err)
{
    int64_t first = tb_month_first_day(index), days = tb_month_first_day(index + 1) - first;
    tb_grid noted, sums;
    bool sure = false;
    if (index < p->kept.hours) return read_days_only(p, from, index, loud, out, err);
    month_clear(out);
    tb_code code = read_days(p, from, first, days, loud, out, err);
    if (code || !loud) return code;
    code = read_month_chunk(p, from, index, true, &noted, &sure, err);
    if (code) return code;
    fold_loudly(p, from, first, out, &sums);
    if (sure)
        compare(p, from.edge, first, false, &sums, &noted, (unsigned)days, out->unsure,
                "its hours make");
    return TB_OK;
}

static void add_month(month *to, const month *more)
{
    to->unsure |= more->unsure;
    for (unsigned i = 0; i < DAYS; i++)
        if (more->day[i].slots && tb_grid_merge(&to->day[i], &more->day[i], NULL))
            to->unsure |= UINT32_C(1) << i;
}

/* --- which months --- */

typedef struct span {
    int64_t first, last; /* months; first > last: none */
} span;

static void widen(span *s, int64_t first, int64_t last)
{
    if (first < s->first) s->first = first;
    if (last > s->last) s->last = last;
}

static tb_code widen_by_entry(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    int64_t *ends = ctx, index = entry->key.index;
    (void)err;
    if (index < ends[0]) ends[0] = index;
    if (index > ends[1]) ends[1] = index;
    return TB_OK;
}

/* Smallest and greatest index of a series' chunks of one grain. */
static tb_code key_range(pass *p, member m, int grain, int64_t *ret_low, int64_t *ret_high,
                         bool *ret_any, tb_error *err)
{
    const int64_t keys[2] = {tb__chunk_key(m.series, grain, 0),
                             tb__chunk_key(m.series, grain, TB__INDEX_MAX)};
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__verify_sql(p->v, TB__V_KEY_RANGE, keys, 2, &s, err);
    if (!code) code = tb__step(p->v->store, s, &row, err);
    if (code) return code;
    int64_t ends[2] = {INT64_MAX, INT64_MIN};
    if (sqlite3_column_type(s, 0) != SQLITE_NULL) {
        ends[0] = tb__key_index(sqlite3_column_int64(s, 0));
        ends[1] = tb__key_index(sqlite3_column_int64(s, 1));
    }
    sqlite3_reset(s);
    if (grain == TB__GRAIN_HOURS)
        code = tb__lsm_each(&p->v->store->usage->lsm, TB__LSM_COUNTERS,
                             (tb__lsm_span){{m.series, 0}, {m.series, TB__INDEX_MAX}},
                             widen_by_entry, ends, err);
    *ret_low = ends[0];
    *ret_high = ends[1];
    *ret_any = ends[0] <= ends[1];
    return code;
}

static tb_code widen_by(pass *p, member m, span *months, tb_error *err)
{
    int64_t low, high, end = tb_month_from_day(TB__INDEX_MAX);
    bool any;
    tb_code code = key_range(p, m, TB__GRAIN_HOURS, &low, &high, &any, err);
    if (!code && any) widen(months, tb_month_from_day(low), tb_month_from_day(high));
    if (!code) code = key_range(p, m, TB__GRAIN_DAYS, &low, &high, &any, err);
    if (code || !any) return code;
    if (high > end) {
        char name[NAME_MAX_];
        name_series(p, m.edge, name);
        tb__differs(p->v, "%s: month %lld since 1970 is past the last one.", name, (long long)high);
    }
    widen(months, low < end ? low : end, high < end ? high : end);
    return TB_OK;
}

/* --- parts and the whole --- */

/* What the base hours add to the sums that the batches must match. */
static void count(pass *p, int64_t first_day)
{
    if (p->parts.unsure) p->v->damaged = true;
    for (int i = 0; i < DAYS; i++) {
        const tb_grid *g = &p->parts.day[i];
        for (uint32_t left = g->metrics; left; left &= left - 1) {
            unsigned m = (unsigned)__builtin_ctz(left);
            for (int h = 0; h < HOURS; h++)
                p->v->sums[m] += g->v[m][h];
        }
        if (!g->slots) continue;
        int64_t hour = (first_day + i) * HOURS + 31 - __builtin_clz(g->slots);
        if (hour > p->v->newest_hour) p->v->newest_hour = hour;
    }
}

/* What to do with a month of parts beside comparing it with the whole. */
typedef tb_code (*month_fn)(pass *p, int64_t index, tb_error *err);

typedef struct comparison {
    const member *parts;
    size_t n;
    bool loud;           /* this is the parts' first reading */
    const member *whole; /* NULL: there is none */
    const char *parts_say;
    month_fn also; /* may be NULL */
} comparison;

static tb_code compare_month(pass *p, const comparison *c, int64_t index, tb_error *err)
{
    int64_t first = tb_month_first_day(index);
    tb_code code = TB_OK;
    month_clear(&p->parts);
    for (size_t i = 0; !code && i < c->n; i++) {
        code = read_month(p, c->parts[i], index, c->loud, &p->one, err);
        add_month(&p->parts, &p->one);
    }
    if (!code && c->also) code = c->also(p, index, err);
    if (code || !c->whole) return code;
    code = read_month(p, *c->whole, index, true, &p->whole, err);
    if (index < p->kept.days) return code;
    const bool hours = index >= p->kept.hours;
    uint32_t skip = p->parts.unsure | p->whole.unsure;
    for (unsigned i = 0; !code && i < DAYS; i++)
        if (!(skip >> i & 1))
            compare(p, c->whole->edge, first + i, hours, &p->parts.day[i], &p->whole.day[i],
                    hours ? HOURS : 1, 0, c->parts_say);
    return code;
}

static tb_code compare_all(pass *p, const comparison *c, span months, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < c->n; i++)
        code = widen_by(p, c->parts[i], &months, err);
    if (!code && c->whole) code = widen_by(p, *c->whole, &months, err);
    for (int64_t i = months.first; !code && i <= months.last; i++)
        code = compare_month(p, c, i, err);
    return code;
}

static const span no_months = {INT64_MAX, INT64_MIN};

/* An all-locations series is there exactly when there is more than one location. */
static void check_presence(pass *p, size_t locations, bool all)
{
    char name[NAME_MAX_];
    if ((locations > 1) == all) return;
    name_series(p, 0, name);
    tb__differs(p->v, "%s: the series %s, with %zu %s.", name, all ? "is there" : "is missing",
                locations, locations == 1 ? "location" : "locations");
}

static tb_code load_kept(pass *p, tb_error *err)
{
    return tb__kept_of(p->v->store, p->owner.scope, p->owner.id, &p->kept, err);
}

/* The all-locations series is the first, if there is one: its edge is 0. */
static const member *all_of(const members *own)
{
    return own->n && own->list[0].edge == 0 ? own->list : NULL;
}

/* --- zones, load balancers, series of meters --- */

static tb_code check_countries(pass *p, int64_t index, tb_error *err)
{
    const uint32_t unsure = index < p->kept.days ? UINT32_MAX : p->parts.unsure;
    count(p, tb_month_first_day(index));
    return tb__verify_country_month(p->v, p->owner.id, index, p->parts.day, unsure, err);
}

static tb_code country_months(pass *p, span *months, tb_error *err)
{
    int64_t days[2];
    tb_code code = tb__verify_country_days(p->v, p->owner.id, days, err);
    if (code || days[0] > days[1]) return code;
    if (days[0] < 0 || days[1] > TB__INDEX_MAX)
        tb__differs(p->v, "Pull zone %lld: it has countries of a day outside 1970 to 2328.",
                    (long long)p->owner.id);
    else
        widen(months, tb_month_from_day(days[0]), tb_month_from_day(days[1]));
    return TB_OK;
}

static tb_code verify_zone(pass *p, const members *own, tb_error *err)
{
    const member *all = all_of(own);
    size_t skip = all ? 1 : 0;
    span months = no_months;
    check_presence(p, own->n - skip, all != NULL);
    tb_code code = load_kept(p, err);
    if (!code) code = country_months(p, &months, err);
    comparison c = {own->list + skip,     own->n - skip,  true, all,
                    "its locations make", check_countries};
    return code ? code : compare_all(p, &c, months, err);
}

static tb_code count_only(pass *p, int64_t index, tb_error *err)
{
    (void)err;
    count(p, tb_month_first_day(index));
    return TB_OK;
}

/* A load balancer or a series of a meter. */
static tb_code verify_whole(pass *p, const members *own, tb_error *err)
{
    comparison c = {own->list, own->n, true, NULL, "", count_only};
    tb_code code = load_kept(p, err);
    return code ? code : compare_all(p, &c, no_months, err);
}

/* Calls fn for each owner of the scope with its series. */
static tb_code each_owner(pass *p, int scope, tb_code (*fn)(pass *, const members *, tb_error *),
                          tb_error *err)
{
    const int64_t value = scope;
    members own = {0};
    sqlite3_stmt *s;
    bool row = true;
    p->owner = (owner){scope, 0};
    tb_code code = tb__verify_sql(p->v, TB__V_MEMBERS, &value, 1, &s, err);
    while (!code && row && !(code = tb__step(p->v->store, s, &row, err))) {
        int64_t id = row ? sqlite3_column_int64(s, 0) : 0;
        if (own.n && (!row || id != p->owner.id)) {
            code = fn(p, &own, err);
            own.n = 0;
        }
        p->owner.id = id;
        if (!code && row)
            code = push(p, &own, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), err);
    }
    free(own.list);
    return code;
}

/* --- accounts --- */

static tb_code load(pass *p, tb__verify_statement id, const int64_t *values, int n, members *list,
                    tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    list->n = 0;
    tb_code code = tb__verify_sql(p->v, id, values, n, &s, err);
    while (!code && !(code = tb__step(p->v->store, s, &row, err)) && row)
        code = push(p, list, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), err);
    return code;
}

static void say_location(pass *p, int64_t edge, const char *what)
{
    char name[NAME_MAX_];
    name_series(p, edge, name);
    tb__differs(p->v, "%s: %s.", name, what);
}

/* Pull zones at a location of which the account has no series. Zones whose usage was withdrawn before they got their
 * account have empty series, for which the account needs none. */
static tb_code missing_series(pass *p, const member *zones, size_t n, int64_t edge, const char *what, tb_error *err)
{
    span months = no_months;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        code = widen_by(p, zones[i], &months, err);
    if (!code && months.first <= months.last) say_location(p, edge, what);
    return code;
}

/* The account has the series of one of these pull zones, and nothing of the others. */
static tb_code verify_shared(pass *p, member *zones, size_t n, const member *shared, tb_error *err)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (zones[i].series != shared->series) zones[others++] = zones[i];
    return missing_series(p, zones, others, shared->edge,
                          "the account shares the series of one pull zone; others have usage there", err);
}

/* Both lists ascend by edge: at each edge, the zones there against the account there. shares: its series are a pull zone's. */
static tb_code verify_locations(pass *p, const members *zones, const member *own, size_t n, bool shares,
                                tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0, j = 0; !code && (i < zones->n || j < n);) {
        int64_t edge = j == n || (i < zones->n && zones->list[i].edge < own[j].edge)
                           ? zones->list[i].edge
                           : own[j].edge;
        size_t begin = i;
        while (i < zones->n && zones->list[i].edge == edge)
            i++;
        const member *whole = j < n && own[j].edge == edge ? &own[j++] : NULL;
        if (!whole) {
            code = missing_series(p, zones->list + begin, i - begin, edge,
                                  "the account has no series; its pull zones have usage there", err);
            continue;
        }
        if (shares) {
            code = verify_shared(p, zones->list + begin, i - begin, whole, err);
            continue;
        }
        if (begin == i) say_location(p, edge, "the account has a series; no pull zone of it does");
        comparison c = {zones->list + begin, i - begin, false, whole, "its pull zones make", NULL};
        code = compare_all(p, &c, no_months, err);
    }
    return code;
}

static tb_code verify_account(pass *p, members *zones, members *own, tb_error *err)
{
    sqlite3_stmt *s;
    bool shares = false;
    tb_code code = load_kept(p, err);
    if (!code) code = load(p, TB__V_ACCOUNT_MEMBERS, &p->owner.id, 1, own, err);
    if (!code) code = load(p, TB__V_ZONES_OF_ACCOUNT, &p->owner.id, 1, zones, err);
    if (!code) code = tb__verify_sql(p->v, TB__V_ACCOUNT_SHARES, &p->owner.id, 1, &s, err);
    if (!code) code = tb__step(p->v->store, s, &shares, err);
    if (code) return code;
    if (shares) sqlite3_reset(s);
    const member *all = all_of(own);
    size_t skip = all ? 1 : 0;
    if (!shares) check_presence(p, own->n - skip, all != NULL);
    code = verify_locations(p, zones, own->list + skip, own->n - skip, shares, err);
    if (code || !all || shares) return code;
    comparison c = {own->list + 1, own->n - 1, false, all, "its locations make", NULL};
    return compare_all(p, &c, no_months, err);
}

/* --- chunks of no series --- */

/* Both ascend by series: steps from series to series, not from chunk to chunk. */
static tb_code verify_owned(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *ids, *keys;
    int64_t from = INT64_MIN, id = INT64_MIN;
    bool more = true, row = true;
    tb_code code = tb__verify_sql(v, TB__V_SERIES_IDS, NULL, 0, &ids, err);
    while (!code) {
        code = tb__verify_sql(v, TB__V_NEXT_KEY, &from, 1, &keys, err);
        if (!code) code = tb__step(v->store, keys, &row, err);
        if (code || sqlite3_column_type(keys, 0) == SQLITE_NULL) break;
        int64_t key = sqlite3_column_int64(keys, 0), series = tb__key_series(key);
        sqlite3_reset(keys);
        if (key < from) { /* a damaged tree: this would never end */
            tb__differs(v, "Chunks are out of order after series %lld.",
                        (long long)tb__key_series(from));
            break;
        }
        while (!code && more && id < series)
            if (!(code = tb__step(v->store, ids, &more, err)) && more)
                id = sqlite3_column_int64(ids, 0);
        if (!code && id != series)
            tb__differs(v, "Chunks are stored under series %lld, which does not exist.",
                        (long long)series);
        if (series >= TB__SERIES_MAX) break;
        from = (series + 1) * (INT64_C(1) << TB__SERIES_SHIFT);
    }
    return code;
}

/* --- the parts of verify --- */

static tb_code with_pass(tb__verify *v, int scope,
                         tb_code (*fn)(pass *, const members *, tb_error *), tb_error *err)
{
    pass *p = malloc(sizeof *p);
    if (!p) return tb_no_memory(err);
    p->v = v;
    tb_code code = each_owner(p, scope, fn, err);
    free(p);
    return code;
}

tb_code tb__verify_zones(tb__verify *v, tb_error *err)
{
    tb_code code = verify_owned(v, err);
    return code ? code : with_pass(v, TB__SCOPE_ZONE, verify_zone, err);
}

tb_code tb__verify_balancers(tb__verify *v, tb_error *err)
{
    return with_pass(v, TB__SCOPE_BALANCER, verify_whole, err);
}

tb_code tb__verify_meters(tb__verify *v, tb_error *err)
{
    return with_pass(v, TB__SCOPE_METER, verify_whole, err);
}

tb_code tb__verify_accounts(tb__verify *v, tb_error *err)
{
    members zones = {0}, own = {0};
    sqlite3_stmt *s;
    bool row = true;
    pass *p = malloc(sizeof *p);
    if (!p) return tb_no_memory(err);
    p->v = v;
    tb_code code = tb__verify_sql(v, TB__V_ACCOUNTS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        p->owner = (owner){TB__SCOPE_ACCOUNT, sqlite3_column_int64(s, 0)};
        code = verify_account(p, &zones, &own, err);
    }
    free(p);
    free(zones.list);
    free(own.list);
    return code;
}
