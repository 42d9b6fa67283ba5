/* Compaction of request logs into their zones' blocks: see log_run.h for what holds at every commit.
 *
 * A compaction takes the pending runs, as many as may be in memory together. They are read once and stay in memory as
 * records, listed by zone, until it is over; a process that finds a compaction under way reads them again. A zone's
 * lines are placed together, run by run. */
#include "store/logs/log_run.h"

#include "logs/record.h"
#include "store/logs/blocks.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT     229376 /* of pending runs: a compaction begins. A run weighs its lines and RUN_WEIGHT */
#define RUN_WEIGHT 256
#define TURN       4      /* there is a step with every so many short runs */
#define STEP_LINES 4096   /* of it, or twice what those runs bring */
#define PART_LINES 16384  /* of a step by itself */
#define OPEN_BYTES ((size_t)64 << 20) /* of records that are in memory together, and a run's more */

typedef struct input_run {
    int64_t id;
    void *memory; /* of its records */
    /* While all runs' lines are listed: of its directory, the zones and their places among all; of each line
     * its zone's place there, and the record. */
    int64_t *zones;
    uint32_t *number;
    uint16_t *place;
    const void **record;
    size_t n_zones, lines;
} input_run;

struct tb__log_inputs {
    input_run *run;
    size_t n;
    tb_logwords *words;
    tb_logblock *block; /* the one that is read */
    int64_t *zone; /* ascending; the lines of zone z are record[at[z]] up to record[at[z + 1]] */
    size_t *at;
    size_t n_zones, lines;
    const void **record;
};

/* --- opening --- */

/* Frees memory that is not needed once all lines are listed. */
static void forget_lists(struct tb__log_inputs *o)
{
    for (size_t i = 0; i < o->n; i++) {
        input_run *r = &o->run[i];
        free(r->zones);
        free(r->number);
        free(r->place);
        free(r->record);
        r->zones = NULL;
        r->number = NULL;
        r->place = NULL;
        r->record = NULL;
    }
    tb_logblock_free(o->block);
    o->block = NULL;
}

static void close_all(struct tb__log_compaction *f)
{
    struct tb__log_inputs *o = f->inputs;
    f->inputs = NULL;
    if (!o) return;
    forget_lists(o);
    for (size_t i = 0; i < o->n; i++)
        free(o->run[i].memory);
    tb_logwords_free(o->words);
    free(o->run);
    free(o->zone);
    free(o->at);
    free(o->record);
    free(o);
}

void tb__log_compaction_free(struct tb__log_compaction *compaction)
{
    if (!compaction) return;
    close_all(compaction);
    free(compaction);
}

struct tb__log_compaction *tb__log_compaction_of(tb_store *store)
{
    if (!store->log_compaction) store->log_compaction = calloc(1, sizeof *store->log_compaction);
    return store->log_compaction;
}

static tb_code read_directory(input_run *r, const tb__log_directory *d, tb_error *err)
{
    r->n_zones = d->zones;
    r->lines = d->lines;
    r->zones = malloc(d->zones * sizeof *r->zones);
    r->number = malloc(d->zones * sizeof *r->number);
    r->place = malloc(d->lines * sizeof *r->place);
    r->record = malloc(d->lines * sizeof *r->record);
    if (!r->zones || !r->number || !r->place || !r->record) return tb_no_memory(err);
    if (!tb__log_directory_sound(d))
        return tb_fail(err, TB_E_CORRUPT, "log_run",
                       "Run %lld of waiting request logs has lines of no pull zone.", (long long)r->id);
    tb__log_directory_list(d, r->zones);
    for (size_t row = 0; row < d->lines; row++)
        r->place[row] = (uint16_t)tb__log_directory_row(d, row);
    return TB_OK;
}

static tb_code open_run(tb_store *store, const tb__log_run *run, input_run *r, tb_error *err)
{
    struct tb__log_inputs *o = store->log_compaction->inputs;
    tb__log_directory d;
    tb_text block;
    sqlite3_stmt *s;
    r->id = run->id;
    tb_code code = tb__log_run_read(store, run, &s, &d, &block, err);
    if (code) return code;
    code = read_directory(r, &d, err);
    if (!code) code = tb__log_directory_block(&d, o->block, block.data, block.len, err);
    sqlite3_reset(s);
    return code ? code : tb__logwords_rows(o->words, o->block, r->record, &r->memory, err);
}

/* All zones of the runs, once each, and of each run the places of its own among them. */
static tb_code list_zones(struct tb__log_inputs *o, tb_error *err)
{
    size_t all = 0, n = 0;
    for (size_t i = 0; i < o->n; i++)
        all += o->run[i].n_zones;
    o->zone = malloc((all + 1) * sizeof *o->zone);
    if (!o->zone) return tb_no_memory(err);
    for (size_t i = 0; i < o->n; n += o->run[i++].n_zones)
        memcpy(o->zone + n, o->run[i].zones, o->run[i].n_zones * sizeof *o->zone);
    qsort(o->zone, n, sizeof *o->zone, tb__by_int64);
    for (size_t i = 0; i < n; i++)
        if (!o->n_zones || o->zone[o->n_zones - 1] != o->zone[i]) o->zone[o->n_zones++] = o->zone[i];
    for (size_t i = 0; i < o->n; i++)
        for (size_t z = 0, at = 0; z < o->run[i].n_zones; z++) {
            while (o->zone[at] != o->run[i].zones[z])
                at++;
            o->run[i].number[z] = (uint32_t)at;
        }
    return TB_OK;
}

/* The lines by zone, run after run. */
static tb_code list_lines(struct tb__log_inputs *o, tb_error *err)
{
    o->at = calloc(o->n_zones + 2, sizeof *o->at);
    o->record = malloc((o->lines + 1) * sizeof *o->record);
    if (!o->at || !o->record) return tb_no_memory(err);
    size_t *next = o->at + 1; /* first the counts, shifted by one; then the next index of zone z, and finally its end */
    for (size_t i = 0; i < o->n; i++)
        for (size_t row = 0; row < o->run[i].lines; row++)
            next[o->run[i].number[o->run[i].place[row]] + 1]++;
    for (size_t z = 0; z < o->n_zones; z++)
        next[z + 1] += next[z];
    for (size_t i = 0; i < o->n; i++)
        for (size_t row = 0; row < o->run[i].lines; row++)
            o->record[next[o->run[i].number[o->run[i].place[row]]]++] = o->run[i].record[row];
    return TB_OK;
}

static tb_code begin_open(struct tb__log_compaction *f, size_t n, tb_error *err)
{
    struct tb__log_inputs *o = f->inputs = calloc(1, sizeof *o);
    if (!o) return tb_no_memory(err);
    o->run = calloc(n + 1, sizeof *o->run);
    o->words = tb_logwords_new();
    o->block = tb_logblock_new();
    return o->run && o->words && o->block ? TB_OK : tb_no_memory(err);
}

/* Opens the runs, from the first on, as far as they fit where `bounded`. */
static tb_code open_runs(tb_store *store, const tb__log_runs *runs, size_t n, bool bounded,
                         tb_error *err)
{
    struct tb__log_compaction *f = store->log_compaction;
    const size_t most = f->bytes ? f->bytes : OPEN_BYTES;
    size_t bytes = 0;
    tb_code code = begin_open(f, n, err);
    struct tb__log_inputs *o = f->inputs;
    while (!code && o->n < n && (!bounded || bytes <= most)) {
        input_run *r = &o->run[o->n];
        code = open_run(store, &runs->run[o->n++], r, err);
        if (code) break;
        o->lines += r->lines;
        const char *last = r->record[r->lines - 1];
        bytes += (size_t)(last - (const char *)r->memory) + tb_logrecord_size(last);
    }
    if (!code) code = list_zones(o, err);
    if (!code) code = list_lines(o, err);
    if (code) close_all(f);
    else forget_lists(o);
    return code;
}

/* Whether the first n runs are open. They are not where a compaction was undone. An id is never given again while a
 * compaction goes up to it or beyond. */
static bool is_open(const struct tb__log_inputs *o, const tb__log_runs *runs, size_t n)
{
    if (!o || o->n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (o->run[i].id != runs->run[i].id) return false;
    return true;
}

/* --- as a client of compaction into base --- */

static tb_code list_pending(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *ret, tb_error *err)
{
    tb__log_runs *runs = &store->log_compaction->runs;
    (void)base;
    ret->list = runs;
    tb_code code = tb__log_runs_list(store, false, runs, err);
    if (code) return code;
    ret->at = runs->at;
    ret->n = runs->n;
    ret->oldest = runs->n ? runs->run[0].id : 0;
    ret->newest = runs->n ? runs->run[runs->n - 1].id : 0;
    return TB_OK;
}

static void drop_list(tb__lsm_pending *pending)
{
    tb__log_runs *runs = pending->list;
    free(runs->run);
    *runs = (tb__log_runs){0};
}

static tb_code choose_runs(tb_store *store, tb__lsm_pending *pending, tb_error *err)
{
    const tb__log_runs *runs = pending->list;
    struct tb__log_compaction *c = store->log_compaction;
    close_all(c);
    tb_code code = open_runs(store, runs, runs->n, true, err);
    if (code) return code;
    pending->at.through = runs->run[c->inputs->n - 1].id;
    store->dirty = true;
    return TB_OK;
}

static size_t first_zone(const struct tb__log_inputs *o, int64_t zone)
{
    size_t low = 0, high = o->n_zones;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (o->zone[middle] < zone) low = middle + 1;
        else high = middle;
    }
    return low;
}

static tb_code place_zones(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, int64_t lines,
                           int64_t *ret_zone, bool *ret_over, tb_error *err)
{
    const tb__log_runs *runs = pending->list;
    struct tb__log_compaction *c = store->log_compaction;
    size_t n = 0;
    tb_code code = TB_OK;
    (void)base;
    while (n < runs->n && runs->run[n].id <= pending->at.through)
        n++;
    if (!is_open(c->inputs, runs, n)) {
        close_all(c);
        code = open_runs(store, runs, n, false, err);
        if (code) return code;
    }
    const struct tb__log_inputs *o = c->inputs;
    size_t z = first_zone(o, pending->at.owner);
    for (; !code && z < o->n_zones && lines > 0; z++) {
        const size_t count = o->at[z + 1] - o->at[z];
        const tb__log_zone_lines all = {o->zone[z], o->words, o->record + o->at[z], count};
        code = tb__log_place(store, &all, err);
        lines -= (int64_t)count;
    }
    store->dirty = true;
    *ret_over = z == o->n_zones;
    if (!*ret_over) *ret_zone = o->zone[z];
    return code;
}

static tb_code mark_obsolete(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, tb_error *err)
{
    (void)base;
    close_all(store->log_compaction);
    return tb__meta_set(store, "log_run_spent", pending->at.through, err);
}

static const tb__lsm_base log_base = {.through_row = "log_fold_run",
                                      .owner_row = "log_fold_zone",
                                      .first_owner = 0,
                                      .list = list_pending,
                                      .drop = drop_list,
                                      .choose = choose_runs,
                                      .place = place_zones,
                                      .retire = mark_obsolete};

/* --- with each run --- */

tb_code tb__log_maintain(tb_store *store, tb__log_appended appended, tb_error *err)
{
    const struct tb__log_compaction *c = tb__log_compaction_of(store);
    tb__lsm_pending pending = {0};
    int64_t lines = 2 * appended.lines, weight = 0;
    if (!c) return tb_no_memory(err);
    if (c->at_once) return tb__log_compact_all(store, err);
    if (c->slice) lines = c->slice;
    else if (lines < STEP_LINES) {
        if (appended.run % TURN) return TB_OK;
        lines = TURN * lines > STEP_LINES ? TURN * lines : STEP_LINES;
    }
    tb_code code = list_pending(store, &log_base, &pending, err);
    for (size_t i = 0; i < pending.n; i++)
        weight += c->runs.run[i].lines + RUN_WEIGHT;
    const bool due = appended.begin || weight >= (c->weight ? c->weight : WEIGHT);
    if (!code) code = tb__lsm_advance(store, &log_base, &pending, due, lines, err);
    drop_list(&pending);
    return code;
}

/* --- by itself --- */

static tb_code is_any_run(tb_store *store, bool *ret_any, tb_error *err)
{
    int64_t any = 0;
    if (!tb__log_compaction_of(store)) return tb_no_memory(err);
    tb_code code = tb__int_of(store, TB__SQL_LOG_RUN_ANY, NULL, 0, 0, &any, err);
    *ret_any = !code && any;
    return code;
}

tb_code tb__log_compact_all(tb_store *store, tb_error *err)
{
    tb__log_runs runs = {0};
    bool any;
    tb_code code = is_any_run(store, &any, err);
    if (code || !any) return code;
    code = tb__lsm_compact_all(store, &log_base, err);
    if (!code) code = tb__log_runs_list(store, true, &runs, err);
    for (size_t i = 0; !code && i < runs.n; i++)
        code = tb__log_run_delete(store, &runs.run[i], err);
    free(runs.run);
    return code;
}

/* Obsolete runs are deleted when no run up to `through` is pending any more. */
tb_code tb__log_compact_part(tb_store *store, int64_t *through, bool *ret_more, tb_error *err)
{
    tb__log_runs runs = {0};
    bool any;
    *ret_more = false;
    tb_code code = is_any_run(store, &any, err);
    if (code || !any) return code;
    const int64_t lines = store->log_compaction->slice ? store->log_compaction->slice : PART_LINES;
    code = tb__lsm_compact_part(store, &log_base, lines, through, ret_more, err);
    if (code || *ret_more) return code;
    code = tb__log_runs_list(store, true, &runs, err);
    if (!code && runs.n && !*through) *through = runs.run[runs.n - 1].id;
    *ret_more = !code && runs.n && runs.run[0].id <= *through;
    free(runs.run);
    return *ret_more ? tb__log_runs_delete_obsolete(store, lines, err) : code;
}
