/* Lists of zones, each with its views: sums over one range. A list that is busy is its reader's
 * alone; the lock is held for looking lists up, never while something is read. Both go by their
 * last use. */
#include "store/usage/recall.h"

#include "store/core/held.h"
#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "tollbook/calendar.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SOME      64    /* zones whose rows are added up at once */
#define NEAR_READ 20000 /* entries of runs that take about a millisecond */

typedef struct view {
    struct view *next;
    /* What it is of. gone: of deleted zones alone, and a sum says only whether there is anything.
     */
    tb_range range;
    uint32_t metrics;
    bool gone;

    size_t columns, bytes;
    uint64_t used;
    tb__part part; /* of each zone its columns */
} view;

typedef struct stamps {
    int64_t head[4];
} stamps;

typedef struct zone_list {
    struct zone_list *next;
    tb__zones_of of;
    bool busy;
    uint64_t used;
    size_t counted; /* of its bytes, in those of all lists */

    /* Who made it busy has the rest. */
    stamps at;
    size_t n, n_gone, n_series;
    tb_zone_place *zone;
    uint32_t *by_series; /* those that have one */
    uint32_t *by_name;   /* NULL: not asked for yet */
    char **name;         /* likewise, and so is each of them */
    view *views;
    size_t bytes;          /* 0: it was not read yet */
    uint64_t clock, began; /* views that were used since the answer began stay */
} zone_list;

struct tb__recall {
    pthread_mutex_t lock;
    pthread_cond_t let_go; /* some list is busy no more */
    zone_list *lists;
    size_t bytes;
    uint64_t clock;
    tb__recall_series *series;
};

/* --- room --- */

static void drop_view(zone_list *list, view *which)
{
    view **at = &list->views;
    while (*at != which)
        at = &(*at)->next;
    *at = which->next;
    list->bytes -= which->bytes;
    tb__part_release(&which->part);
    free(which);
}

/* Names, and the order that they give, may have changed. */
static void forget_names(zone_list *list)
{
    for (size_t i = 0; list->name && i < list->n; i++) {
        if (list->name[i]) list->bytes -= strlen(list->name[i]) + 1;
        free(list->name[i]);
    }
    free(list->name);
    free(list->by_name);
    list->name = NULL;
    list->by_name = NULL;
}

static void free_list(zone_list *list)
{
    forget_names(list);
    while (list->views)
        drop_view(list, list->views);
    free(list->zone);
    free(list->by_series);
    free(list);
}

/* With the lock. */
static void drop_list(tb__recall *r, zone_list *which)
{
    zone_list **at = &r->lists;
    while (*at != which)
        at = &(*at)->next;
    *at = which->next;
    r->bytes -= which->counted;
    free_list(which);
}

/* With the lock: what was used least lately goes, as far as nobody has it. */
static void drop_oldest(tb__recall *r)
{
    zone_list *oldest = NULL;
    do {
        oldest = NULL;
        for (zone_list *l = r->lists; l; l = l->next)
            if (!l->busy && (!oldest || l->used < oldest->used)) oldest = l;
        if (oldest && r->bytes > TB__RECALL_BYTES) drop_list(r, oldest);
    } while (oldest && r->bytes > TB__RECALL_BYTES);
}

/* A list has half of the memory at most. false: there is no room for so many bytes. */
static bool view_room(zone_list *list, size_t bytes)
{
    while (list->bytes + bytes > TB__RECALL_BYTES / 2) {
        view *oldest = NULL;
        for (view *v = list->views; v; v = v->next)
            if (v->used <= list->began && (!oldest || v->used < oldest->used)) oldest = v;
        if (!oldest) return false;
        drop_view(list, oldest);
    }
    return true;
}

static void *make_recall(void)
{
    tb__recall *r = calloc(1, sizeof *r);
    tb__recall_series *series = r ? tb__recall_series_new() : NULL;
    if (!series) {
        free(r);
        return NULL;
    }
    r->series = series;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->let_go, NULL);
    return r;
}

static void free_recall(void *recall)
{
    tb__recall *r = recall;
    while (r->lists)
        drop_list(r, r->lists);
    tb__recall_series_free(r->series);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->let_go);
    free(r);
}

tb_code tb__recall_of(tb_store *store, tb__recall **ret, tb_error *err)
{
    struct tb__usage *u = store->usage;
    if (!u->recall)
        u->recall = tb__held_share(store->held, TB__SHARED_SUMS, make_recall, free_recall);
    *ret = u->recall;
    return *ret ? TB_OK : tb_no_memory(err);
}

tb__recall_series *tb__recall_series_of(tb__recall *recall)
{
    return recall->series;
}

size_t tb__recall_bytes(tb__recall *r)
{
    pthread_mutex_lock(&r->lock);
    const size_t bytes = r->bytes;
    pthread_mutex_unlock(&r->lock);
    return bytes;
}

/* --- whose a list is --- */

static zone_list *find_list(tb__recall *r, const tb__zones_of *of)
{
    zone_list *list = r->lists;
    while (list && (list->of.account != of->account || list->of.edge[0] != of->edge[0] ||
                    list->of.edge[1] != of->edge[1]))
        list = list->next;
    return list;
}

/* The list, busy. NULL: no memory. */
static zone_list *take_list(tb__recall *r, const tb__zones_of *of)
{
    zone_list *list;
    pthread_mutex_lock(&r->lock);
    while ((list = find_list(r, of)) && list->busy)
        pthread_cond_wait(&r->let_go, &r->lock);
    if (!list && (list = calloc(1, sizeof *list))) {
        list->of = *of;
        list->next = r->lists;
        r->lists = list;
    }
    if (list) {
        list->busy = true;
        list->used = ++r->clock;
        list->began = list->clock;
    }
    pthread_mutex_unlock(&r->lock);
    return list;
}

static void give_list(tb__recall *r, zone_list *list, bool keep)
{
    pthread_mutex_lock(&r->lock);
    list->busy = false;
    r->bytes += list->bytes - list->counted;
    list->counted = list->bytes;
    if (!keep) drop_list(r, list);
    drop_oldest(r);
    pthread_cond_broadcast(&r->let_go);
    pthread_mutex_unlock(&r->lock);
}

/* --- the list --- */

static tb_code read_stamps(tb_store *store, stamps *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_RECALL_STAMPS, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "head", "%s lacks its seals.", store->path);
    for (int i = 0; i < 4; i++)
        ret->head[i] = sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code take_zone(sqlite3_stmt *row, void *item, tb_error *err)
{
    tb_zone_place *zone = item;
    (void)err;
    *zone = (tb_zone_place){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                            sqlite3_column_int64(row, 2), sqlite3_column_int(row, 3) != 0};
    return TB_OK;
}

static tb_code read_zones(tb_store *store, tb__statement which, const tb__zones_of *of,
                          tb_zone_place **ret, size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb_zone_place), take_zone, NULL};
    const int64_t values[5] = {of->account, 0, INT64_MAX, of->edge[0], of->edge[1]};
    return tb__collect_ints(store, which, values, 5, &rows, ret, ret_n, err);
}

static bool are_same(const zone_list *list, const tb_zone_place *zone, size_t n)
{
    bool same = list->n == n;
    for (size_t i = 0; same && i < n; i++)
        same = list->zone[i].id == zone[i].id && list->zone[i].series == zone[i].series &&
               list->zone[i].created_us == zone[i].created_us &&
               list->zone[i].there == zone[i].there;
    return same;
}

static int by_series(const void *a, const void *b, void *zones)
{
    const tb_zone_place *zone = zones;
    const int64_t x = zone[*(const uint32_t *)a].series, y = zone[*(const uint32_t *)b].series;
    return x < y ? -1 : x > y;
}

/* The list takes the zones; its views know another one. */
static tb_code set_zones(zone_list *list, tb_zone_place *zone, size_t n, tb_error *err)
{
    uint32_t *order = malloc((n + 1) * sizeof *order);
    if (!order) return tb_no_memory(err);
    while (list->views)
        drop_view(list, list->views);
    free(list->zone);
    free(list->by_series);
    list->zone = zone;
    list->by_series = order;
    list->n = n;
    list->n_gone = list->n_series = 0;
    for (size_t i = 0; i < n; i++) {
        list->n_gone += !zone[i].there;
        if (zone[i].series) order[list->n_series++] = (uint32_t)i;
    }
    qsort_r(order, list->n_series, sizeof *order, by_series, zone);
    return TB_OK;
}

static bool is_good(const zone_list *list, const stamps *at)
{
    return list->bytes && memcmp(list->at.head, at->head, sizeof at->head) == 0;
}

static tb_code refresh_list(tb_store *store, zone_list *list, const stamps *at, tb_error *err)
{
    tb_zone_place *zone = NULL;
    size_t n = 0;
    if (is_good(list, at)) return TB_OK;
    tb_code code = read_zones(store, TB__SQL_SUMMED_ZONES, &list->of, &zone, &n, err);
    forget_names(list);
    if (!code && !are_same(list, zone, n)) {
        code = set_zones(list, zone, n, err);
        if (!code) {
            zone = NULL;
            list->bytes = 0;
        }
    }
    free(zone);
    if (code) return code;
    if (!list->bytes)
        list->bytes = sizeof *list +
                      n * (sizeof *list->zone + 2 * sizeof *list->by_name + sizeof *list->name);
    list->at = *at;
    return TB_OK;
}

/* Where a zone with this id is in the list. */
static uint32_t place_of_zone(const zone_list *list, int64_t id)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (list->zone[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static tb_code order_by_name(tb_store *store, zone_list *list, tb_error *err)
{
    tb_zone_place *zone = NULL;
    size_t n = 0;
    if (list->by_name) return TB_OK;
    tb_code code = read_zones(store, TB__SQL_SUMMED_ZONES_NAMED, &list->of, &zone, &n, err);
    uint32_t *order = code ? NULL : malloc((n + 1) * sizeof *order);
    if (!code && !order) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        order[i] = place_of_zone(list, zone[i].id);
    free(zone);
    if (!code) list->by_name = order;
    return code;
}

/* --- sums of rows --- */

static bool is_counted(const view *v, const tb_zone_place *zone)
{
    const int64_t unit = v->range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY;
    return (!v->gone || !zone->there) &&
           zone->created_us < (v->range.first + v->range.count) * unit;
}

/* From a zone's sums into its columns. */
static void keep_sums(const view *v, const tb_u128 sum[TB_METRIC_COUNT], tb_u128 *to)
{
    for (uint32_t left = v->metrics; left; left &= left - 1)
        if (v->gone)
            *to |= sum[__builtin_ctz(left)] != 0;
        else
            *to++ = sum[__builtin_ctz(left)];
}

/* Whose sums a view wants. */
typedef struct wanting {
    tb_store *store;
    const zone_list *list;
    const view *v;
    uint64_t *sum; /* what a run is added to */
    size_t at;     /* in by_series: no entry of the run was behind it */
} wanting;

/* In the order in which their rows lie. */
static tb_code add_zone_rows(void *ctx, tb_u128 *sum, tb_error *err)
{
    const wanting *w = ctx;
    const zone_list *list = w->list;
    tb_summed some[SOME];
    uint32_t at[SOME];
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < list->n_series;) {
        size_t n = 0;
        for (; i < list->n_series && n < SOME; i++) {
            const tb_zone_place *zone = &list->zone[list->by_series[i]];
            if (!is_counted(w->v, zone)) continue;
            some[n] =
                (tb_summed){.id = zone->id, .series = zone->series, .created_us = zone->created_us};
            at[n++] = list->by_series[i];
        }
        code = tb__rows_sum(w->store, some, n, w->v->range, w->v->metrics, err);
        for (size_t k = 0; !code && k < n; k++)
            keep_sums(w->v, some[k].sum, sum + at[k] * w->v->columns);
    }
    return code;
}

/* --- what waits --- */

static tb_code add_zone_entry(void *ctx, const tb__run_entry *entry, tb_error *err)
{
    wanting *w = ctx;
    const zone_list *list = w->list;
    const view *v = w->v;
    uint64_t sum[TB_METRIC_COUNT] = {0};
    while (w->at < list->n_series && list->zone[list->by_series[w->at]].series < entry->key.owner)
        w->at++;
    if (w->at == list->n_series) return TB_OK;
    const uint32_t zone = list->by_series[w->at];
    const uint32_t slots = tb__slots_within(v->range, entry->key.index);
    if (list->zone[zone].series != entry->key.owner || !slots || !is_counted(v, &list->zone[zone]))
        return TB_OK;
    if (!tb__run_sum_grid(entry->data, entry->len, v->metrics, slots, sum))
        return tb__entry_damaged(err);
    uint64_t *to = w->sum + zone * v->columns;
    for (uint32_t left = v->metrics; left; left &= left - 1)
        if (v->gone)
            *to |= sum[__builtin_ctz(left)] != 0;
        else
            *to++ += sum[__builtin_ctz(left)];
    return TB_OK;
}

#define NEAR (2 * TB__SERIES_BLOCK) /* series that are stepped over rather than looked up again */

static tb_code add_zones_run(void *ctx, tb__usage_run *run, uint64_t *sum, tb_error *err)
{
    wanting *w = ctx;
    const zone_list *list = w->list;
    tb_code code = TB_OK;
    w->sum = sum;
    w->at = 0;
    for (size_t i = 0, n; !code && i < list->n_series; i += n) {
        int64_t series = list->zone[list->by_series[i]].series, end = series;
        for (n = 1;
             i + n < list->n_series && list->zone[list->by_series[i + n]].series - end <= NEAR; n++)
            end = list->zone[list->by_series[i + n]].series;
        code = tb__run_each(&w->store->usage->runs, run, tb__days_of(series, end, w->v->range),
                            add_zone_entry, w, err);
    }
    return code;
}

/* --- views --- */

static view *find_view(const zone_list *list, const view *like)
{
    view *v = list->views;
    while (v && (v->range.first != like->range.first || v->range.count != like->range.count ||
                 v->range.hourly != like->range.hourly || v->metrics != like->metrics ||
                 v->gone != like->gone))
        v = v->next;
    return v;
}

/* *ret NULL: there is no room for it. */
static tb_code make_view(zone_list *list, const view *like, view **ret, tb_error *err)
{
    const size_t cells = list->n * like->columns, bytes = sizeof **ret + tb__part_bytes(cells);
    *ret = NULL;
    if (!view_room(list, bytes)) return TB_OK;
    view *v = malloc(sizeof *v);
    if (!v) return tb_no_memory(err);
    *v = *like;
    tb_code code = tb__part_init(&v->part, cells, err);
    if (code) {
        free(v);
        return code;
    }
    v->bytes = bytes;
    v->next = list->views;
    list->views = v;
    list->bytes += bytes;
    *ret = v;
    return TB_OK;
}

/* Whether there is nothing that a view would say. */
static bool is_nothing(const zone_list *list, const view *like)
{
    return !like->metrics || !like->range.count || (like->gone && !list->n_gone);
}

/* Its views, as far as columns need not be known. */
static void views_of(const tb_zone_question *q, view like[3])
{
    like[0] = (view){.range = q->range,
                     .metrics = q->metrics,
                     .columns = (size_t)__builtin_popcount(q->metrics)};
    like[1] = (view){.range = q->range, .metrics = q->shown, .gone = true, .columns = 1};
    like[2] = (view){.range = q->before, .metrics = q->shown, .gone = true, .columns = 1};
}

/* *ret NULL: nothing is to be known, or there is no room for it, which *ret_done says. */
static tb_code look_at(tb_store *store, zone_list *list, const view *like, view **ret,
                       bool *ret_done, tb_error *err)
{
    *ret = NULL;
    if (is_nothing(list, like)) return TB_OK;
    *ret = find_view(list, like);
    tb_code code = *ret ? TB_OK : make_view(list, like, ret, err);
    if (code) return code;
    if (!*ret) {
        *ret_done = false;
        return TB_OK;
    }
    (*ret)->used = ++list->clock;
    wanting w = {.store = store, .list = list, .v = *ret};
    return tb__part_refresh(&(*ret)->part, &store->usage->runs,
                            &(tb__part_of){add_zone_rows, add_zones_run, &w}, err);
}

/* --- an answer --- */

/* Whether a zone's columns hold something; without a view they do not. */
static bool has_some(const view *v, size_t zone)
{
    bool some = false;
    for (size_t i = 0; v && !some && i < v->columns; i++)
        some = tb__part_at(&v->part, zone * v->columns + i) != 0;
    return some;
}

typedef struct answering {
    const zone_list *list;
    const view *sums, *now, *before; /* NULL: zeros */
    size_t columns;
} answering;

static void put_zone(const answering *a, size_t zone, tb_zone_sums *to)
{
    if (!a->list->zone[zone].there && !has_some(a->sums, zone) && !has_some(a->now, zone) &&
        !has_some(a->before, zone))
        return;
    to->zones[to->n] = a->list->zone[zone];
    for (size_t i = 0; a->sums && i < a->columns; i++)
        to->sums[to->n * a->columns + i] = tb__part_at(&a->sums->part, zone * a->columns + i);
    to->n++;
}

static tb_code answer(const answering *a, bool by_name, tb_zone_sums *ret, tb_error *err)
{
    tb_code code = tb__zone_sums_room(ret, a->list->n, a->columns, !a->sums, err);
    for (size_t i = 0; !code && i < a->list->n; i++)
        put_zone(a, by_name ? a->list->by_name[i] : i, ret);
    return code;
}

static tb_code recall_list(tb_store *store, zone_list *list, const tb_zone_question *q,
                           tb_zone_sums *ret, bool *ret_done, tb_error *err)
{
    view like[3], *v[3];
    tb_code code = q->choice.by_name ? order_by_name(store, list, err) : TB_OK;
    views_of(q, like);
    *ret_done = view_room(list, 0);
    for (int i = 0; !code && *ret_done && i < 3; i++)
        code = look_at(store, list, &like[i], &v[i], ret_done, err);
    if (code || !*ret_done) return code;
    const answering a = {list, v[0], v[1], v[2], like[0].columns};
    return answer(&a, q->choice.by_name, ret, err);
}

/* A list that is good, and this reader's until give_list. */
static tb_code hold_list(tb_store *store, const tb__zones_of *of, tb__recall **ret_recall,
                         zone_list **ret, tb_error *err)
{
    stamps at;
    tb_code code = tb__recall_of(store, ret_recall, err);
    if (!code) code = read_stamps(store, &at, err);
    if (code) return code;
    *ret = take_list(*ret_recall, of);
    if (!*ret) return tb_no_memory(err);
    code = refresh_list(store, *ret, &at, err);
    if (code) give_list(*ret_recall, *ret, false);
    return code;
}

tb_code tb__recall_zones(tb_store *store, const tb__zones_of *of, const tb_zone_question *q,
                         tb_zone_sums *ret, bool *ret_done, tb_error *err)
{
    tb__recall *r = NULL;
    zone_list *list = NULL;
    *ret_done = false;
    if (!tb__may_recall(store, q->metrics | q->shown)) return TB_OK;
    tb_code code = hold_list(store, of, &r, &list, err);
    if (code) return code;
    code = recall_list(store, list, q, ret, ret_done, err);
    give_list(r, list, !code && *ret_done);
    return code;
}

/* --- names --- */

static tb_code name_of(tb_store *store, zone_list *list, int64_t zone, tb_buf *out, tb_error *err)
{
    const uint32_t place = place_of_zone(list, zone);
    const bool is_here = place < list->n && list->zone[place].id == zone;
    const size_t from = out->len;
    if (is_here && list->name[place]) {
        tb_buf_str(out, list->name[place]);
        return TB_OK;
    }
    tb_code code = tb__zone_name(store, zone, out, err);
    if (code || out->failed || !is_here || !view_room(list, out->len - from + 1)) return code;
    char *name = malloc(out->len - from + 1);
    if (!name) return tb_no_memory(err);
    memcpy(name, out->data + from, out->len - from);
    name[out->len - from] = 0;
    list->name[place] = name;
    list->bytes += out->len - from + 1;
    return TB_OK;
}

static tb_code names_of(tb_store *store, zone_list *list, const tb_zone_ids *zones, tb_buf *out,
                        tb_error *err)
{
    if (!list->name) list->name = calloc(list->n + 1, sizeof *list->name);
    tb_code code = list->name ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < zones->n; i++) {
        code = name_of(store, list, zones->zone[i], out, err);
        tb_buf_add(out, "", 1);
    }
    return code;
}

tb_code tb__recall_names(tb_store *store, const tb__zones_of *of, const tb_zone_ids *zones,
                         tb_buf *out, bool *ret_done, tb_error *err)
{
    tb__recall *r = NULL;
    zone_list *list = NULL;
    *ret_done = tb__may_recall(store, 0);
    if (!*ret_done) return TB_OK;
    tb_code code = hold_list(store, of, &r, &list, err);
    if (code) return code;
    code = names_of(store, list, zones, out, err);
    give_list(r, list, !code);
    return code;
}

/* --- how far an answer is --- */

static bool is_near(tb_store *store, const zone_list *list, const tb_zone_question *q)
{
    view like[3];
    views_of(q, like);
    for (int i = 0; i < 3; i++) {
        if (is_nothing(list, &like[i])) continue;
        const view *v = find_view(list, &like[i]);
        if (!v || tb__part_behind(&v->part, &store->usage->runs) > NEAR_READ) return false;
    }
    return list->by_name || !q->choice.by_name;
}

tb_code tb__recall_near(tb_store *store, const tb__zones_of *of, const tb_zone_question *q,
                        bool *ret_near, tb_error *err)
{
    tb__recall *r = NULL;
    stamps at;
    if (!tb__may_recall(store, q->metrics | q->shown)) return TB_OK;
    tb_code code = tb__recall_of(store, &r, err);
    if (!code) code = read_stamps(store, &at, err);
    if (!code) code = tb__runs_load(&store->usage->runs, TB__RUN_CHUNKS, err);
    if (code) return code;
    pthread_mutex_lock(&r->lock);
    const zone_list *list = find_list(r, of);
    *ret_near = list && !list->busy && is_good(list, &at) && is_near(store, list, q);
    pthread_mutex_unlock(&r->lock);
    return TB_OK;
}
