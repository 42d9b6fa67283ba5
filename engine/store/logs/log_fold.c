/* Folding runs of request logs: see log_run.h for what is true at every commit.
 *
 * A fold takes the runs that wait when it begins, as many as may be in memory together, and goes by zones,
 * ascending, a part with each batch, or parts by themselves where somebody needs all in its place. All runs
 * are read once and stay in memory as records, with a list of them by zone, until the fold is over; a process
 * that finds a fold under way reads them again. A zone's lines are placed together, run by run. */
#include "store/logs/log_run.h"

#include "logs/record.h"
#include "store/logs/blocks.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT     229376 /* of runs that wait: a fold begins. A run weighs its lines and RUN_WEIGHT */
#define RUN_WEIGHT 256
#define TURN       4      /* runs: every so many short ones have some lines folded with them */
#define SLICE      4096   /* so many, or twice what those runs bring */
#define PART       16384  /* lines of a part that is folded by itself */
#define OPEN_BYTES ((size_t)64 << 20) /* of records that are in memory together, and a run's more */

typedef struct opened_run {
    int64_t id;
    void *memory; /* of its records */
    /* While all runs' lines are listed: of its directory, the zones and their places among all; of each line
     * its zone's place there, and the record. */
    int64_t *zones;
    uint32_t *number;
    uint16_t *place;
    const void **record;
    size_t n_zones, lines;
} opened_run;

struct tb__log_opened {
    opened_run *run;
    size_t n;
    tb_logwords *words;
    tb_logblock *block; /* the one that is read */
    int64_t *zone; /* ascending; the lines of zone z are record[at[z]] up to record[at[z + 1]] */
    size_t *at;
    size_t n_zones, lines;
    const void **record;
};

/* --- opening --- */

/* What is needed no more once all lines are listed. */
static void forget_lists(struct tb__log_opened *o)
{
    for (size_t i = 0; i < o->n; i++) {
        opened_run *r = &o->run[i];
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

static void close_all(struct tb__log_folding *f)
{
    struct tb__log_opened *o = f->opened;
    f->opened = NULL;
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

void tb__log_folding_free(struct tb__log_folding *folding)
{
    if (!folding) return;
    close_all(folding);
    free(folding);
}

struct tb__log_folding *tb__log_folding_of(tb_store *store)
{
    if (!store->folding) store->folding = calloc(1, sizeof *store->folding);
    return store->folding;
}

static tb_code read_directory(opened_run *r, const tb__log_directory *d, tb_error *err)
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

static tb_code open_run(tb_store *store, const tb__log_run *run, opened_run *r, tb_error *err)
{
    struct tb__log_opened *o = store->folding->opened;
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
static tb_code list_zones(struct tb__log_opened *o, tb_error *err)
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
static tb_code list_lines(struct tb__log_opened *o, tb_error *err)
{
    o->at = calloc(o->n_zones + 2, sizeof *o->at);
    o->record = malloc((o->lines + 1) * sizeof *o->record);
    if (!o->at || !o->record) return tb_no_memory(err);
    size_t *next = o->at + 1; /* counts behind itself; then it is where zone z goes on, and so its end */
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

static tb_code begin_open(struct tb__log_folding *f, size_t n, tb_error *err)
{
    struct tb__log_opened *o = f->opened = calloc(1, sizeof *o);
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
    struct tb__log_folding *f = store->folding;
    const size_t most = f->bytes ? f->bytes : OPEN_BYTES;
    size_t bytes = 0;
    tb_code code = begin_open(f, n, err);
    struct tb__log_opened *o = f->opened;
    while (!code && o->n < n && (!bounded || bytes <= most)) {
        opened_run *r = &o->run[o->n];
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

/* Whether what is open are the first n runs, which it is not where a fold was undone. An id is never given again
 * while a fold goes to it or beyond. */
static bool is_open(const struct tb__log_opened *o, const tb__log_runs *runs, size_t n)
{
    if (!o || o->n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (o->run[i].id != runs->run[i].id) return false;
    return true;
}

/* --- a part of a fold --- */

static size_t first_zone(const struct tb__log_opened *o, int64_t zone)
{
    size_t low = 0, high = o->n_zones;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (o->zone[middle] < zone) low = middle + 1;
        else high = middle;
    }
    return low;
}

static tb_code place_zone(tb_store *store, const struct tb__log_opened *o, size_t z, tb_error *err)
{
    const tb__log_lot lot = {o->zone[z], o->words, o->record + o->at[z], o->at[z + 1] - o->at[z]};
    return tb__log_place(store, &lot, err);
}

static tb_code set_fold(tb_store *store, int64_t run, int64_t zone, tb_error *err)
{
    tb_code code = tb__meta_set(store, "log_fold_run", run, err);
    store->dirty = true;
    return code ? code : tb__meta_set(store, "log_fold_zone", zone, err);
}

/* Zones from `from` on, until so many lines are placed. */
static tb_code fold_zones(tb_store *store, const tb__log_runs *runs, int64_t lines, tb_error *err)
{
    const struct tb__log_opened *o = store->folding->opened;
    size_t z = first_zone(o, runs->fold_zone);
    tb_code code = TB_OK;
    for (; !code && z < o->n_zones && lines > 0; z++) {
        code = place_zone(store, o, z, err);
        lines -= (int64_t)(o->at[z + 1] - o->at[z]);
    }
    if (code) return code;
    if (z < o->n_zones) return set_fold(store, runs->fold_run, o->zone[z], err);
    close_all(store->folding);
    code = tb__meta_set(store, "log_run_spent", runs->fold_run, err);
    return code ? code : set_fold(store, 0, 0, err);
}

static tb_code fold_slice(tb_store *store, const tb__log_runs *runs, int64_t lines, tb_error *err)
{
    size_t n = 0;
    tb_code code = TB_OK;
    while (n < runs->n && runs->run[n].id <= runs->fold_run)
        n++;
    if (!is_open(store->folding->opened, runs, n)) {
        close_all(store->folding);
        code = open_runs(store, runs, n, false, err);
    }
    return code ? code : fold_zones(store, runs, lines, err);
}

static tb_code begin_fold(tb_store *store, tb__log_runs *runs, tb_error *err)
{
    close_all(store->folding);
    tb_code code = open_runs(store, runs, runs->n, true, err);
    if (code) return code;
    runs->fold_run = runs->run[store->folding->opened->n - 1].id;
    runs->fold_zone = 0;
    return set_fold(store, runs->fold_run, 0, err);
}

/* --- the whole --- */

static int64_t weight_of(const tb__log_runs *runs)
{
    int64_t weight = 0;
    for (size_t i = 0; i < runs->n; i++)
        weight += runs->run[i].lines + RUN_WEIGHT;
    return weight;
}

/* Some of what waits, `lines` at least where there are so many. */
static tb_code fold_some(tb_store *store, int64_t lines, bool begin, tb_error *err)
{
    tb__log_runs runs = {0};
    const struct tb__log_folding *f = store->folding;
    tb_code code = tb__log_runs_list(store, false, &runs, err);
    if (!code && !runs.fold_run && runs.n &&
        (begin || weight_of(&runs) >= (f->weight ? f->weight : WEIGHT)))
        code = begin_fold(store, &runs, err);
    if (!code && runs.fold_run) code = fold_slice(store, &runs, lines, err);
    free(runs.run);
    return code;
}

tb_code tb__log_fold_tend(tb_store *store, tb__log_came came, tb_error *err)
{
    const struct tb__log_folding *f = tb__log_folding_of(store);
    if (!f) return tb_no_memory(err);
    if (f->at_once) return tb__log_fold_all(store, err);
    if (f->slice) return fold_some(store, f->slice, came.begin, err);
    if (2 * came.lines >= SLICE) return fold_some(store, 2 * came.lines, came.begin, err);
    const int64_t slice = 2 * TURN * came.lines;
    return came.run % TURN ? TB_OK : fold_some(store, slice > SLICE ? slice : SLICE, came.begin, err);
}

static tb_code delete_all(tb_store *store, tb_error *err)
{
    tb__log_runs runs = {0};
    tb_code code = tb__log_runs_list(store, true, &runs, err);
    for (size_t i = 0; !code && i < runs.n; i++)
        code = tb__log_run_delete(store, &runs.run[i], err);
    free(runs.run);
    return code;
}

tb_code tb__log_fold_all(tb_store *store, tb_error *err)
{
    tb__log_runs runs = {0};
    int64_t any = 0;
    if (!tb__log_folding_of(store)) return tb_no_memory(err);
    tb_code code = tb__int_of(store, TB__SQL_LOG_RUN_ANY, NULL, 0, 0, &any, err);
    if (code || !any) return code;
    do {
        free(runs.run);
        runs.run = NULL;
        code = fold_some(store, INT64_MAX, true, err);
        if (!code) code = tb__log_runs_list(store, false, &runs, err);
    } while (!code && runs.n);
    free(runs.run);
    return code ? code : delete_all(store, err);
}

/* --- a part by itself --- */

/* A fold's beginning reads what waits, which is a part. What was spent goes when nothing of it waits any more. */
static tb_code fold_part(tb_store *store, tb__log_runs *waiting, int64_t through, tb_error *err)
{
    const int64_t slice = store->folding->slice, lines = slice ? slice : PART;
    if (!waiting->n || waiting->run[0].id > through) return tb__log_runs_drop_spent(store, lines, err);
    return waiting->fold_run ? fold_slice(store, waiting, lines, err) : begin_fold(store, waiting, err);
}

tb_code tb__log_fold_part(tb_store *store, int64_t *through, bool *ret_more, tb_error *err)
{
    tb__log_runs runs = {0};
    int64_t any = 0;
    *ret_more = false;
    if (!tb__log_folding_of(store)) return tb_no_memory(err);
    tb_code code = tb__int_of(store, TB__SQL_LOG_RUN_ANY, NULL, 0, 0, &any, err);
    if (code || !any) return code;
    code = tb__log_runs_list(store, true, &runs, err);
    if (!code && !*through) *through = runs.run[runs.n - 1].id;
    if (!code && runs.run[0].id <= *through) {
        tb__log_runs waiting = runs;
        for (; waiting.n && waiting.run->id <= waiting.spent; waiting.n--)
            waiting.run++;
        code = fold_part(store, &waiting, *through, err);
        *ret_more = !code;
    }
    free(runs.run);
    return code;
}
