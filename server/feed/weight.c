/* An estimate of the writer's work for a parsed run, in nanoseconds, and the limit for one body where others wait. There is
 * one writer, and a body is one commit, so all others wait for all of it. The costs are those of usage for zones, locations
 * and accounts that are new; for known ones they are mostly lower. How much of the stored events a run's events will rewrite
 * is looked up. */
#include "feed/run.h"

#include <stdlib.h>

/* The limit for a body: on a machine whose processors all parse bodies it takes twice as long, less than a second. */
#define WEIGHT_MAX ((size_t)400000000)

/* How many days it will copy is not known before it is taken: 20 milliseconds where it shares its transaction. */
#define COPIES_FEW ((size_t)20000)

typedef enum kind {
    DAYS, HOURS, ACCOUNTS, EDGES, COUNTRIES, BLOCKS, EVENTS, PLACES, STANDING, BYTES, REFUSED, SERIES, METERED, VALUES, KINDS
} kind;

static const struct {
    size_t cost;
    const char *what;
} kinds[KINDS] = {
    [DAYS] = {5500, "days of usage, counted for each edge location of a pull zone, and each load balancer"},
    [HOURS] = {500, "hours of usage, counted for each edge location of a pull zone, and each load balancer"},
    [ACCOUNTS] = {5500, "days of accounts, counted for each edge location of one"},
    [EDGES] = {6000, "edge locations"},
    [COUNTRIES] = {350, "countries, counted for each day of a pull zone"},
    [BLOCKS] = {12000, "pull zones whose lines are kept"},
    [EVENTS] = {1000, "shield events"},
    [PLACES] = {9000, "shield zones, or places among the events of one"},
    [STANDING] = {5, "bytes of stored shield events that these go among"},
    [BYTES] = {8, "bytes of kept lines and shield events, packed"},
    [REFUSED] = {3000, "refused lines"},
    [SERIES] = {20000, "resources of meters, counted for each meter and its dimensions"},
    [METERED] = {6000, "hours of meters, counted for each resource"},
    [VALUES] = {4000, "values of gauges"},
};

typedef struct load {
    size_t n[KINDS];
} load;

static size_t weigh(const load *l)
{
    size_t sum = 0;
    for (int k = 0; k < KINDS; k++)
        sum += l->n[k] * kinds[k].cost;
    return sum;
}

/* --- days of accounts --- */

#define SEEN ((size_t)1 << 18) /* more than twice as many as are allowed */

/* A hash set of account days at a location, with open addressing. Two with the same 64 bits count as one. */
static bool is_first(uint64_t *seen, int64_t account, const tb_rollup_day *day)
{
    uint64_t key = (uint64_t)account * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)(uintptr_t)day->edge;
    key = (key ^ key >> 29) * UINT64_C(0xD6E8FEB86659FD93) + (uint64_t)day->day;
    key = (key ^ key >> 32) * UINT64_C(0x9FB21C651E98DF25) | 1;
    size_t i = (size_t)(key >> 20) & (SEEN - 1);
    while (seen[i] && seen[i] != key)
        i = (i + 1) & (SEEN - 1);
    if (seen[i]) return false;
    seen[i] = key;
    return true;
}

/* Counts the parsed days, each once, even if several threads parsed parts of it. Stops above the limit. */
static tb_code count_usage(const feed_run *run, load *l, tb_error *err)
{
    tb_rollup *parts[FEED_THREADS_MAX];
    tb_rollup_day day;
    tb_grid hours;
    const tb_logged_zones *zones = run->directory ? run->directory->ever_logged : NULL;
    for (size_t i = 0; i < run->n_workers; i++)
        parts[i] = run->workers[i].rollup;
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(parts, run->n_workers, NULL);
    uint64_t *seen = calloc(SEEN, sizeof *seen);
    tb_code code = cursor && seen ? TB_OK : tb_no_memory(err);
    l->n[DAYS] = l->n[HOURS] = l->n[ACCOUNTS] = 0;
    while (!code && weigh(l) <= WEIGHT_MAX && tb_rollup_next_day(cursor, &day, &hours)) {
        const tb_logged *zone = zones && day.scope == TB_ROLLUP_ZONE ? tb_logged_find(zones, day.id) : NULL;
        l->n[DAYS]++;
        l->n[HOURS] += (size_t)__builtin_popcount(hours.slots);
        l->n[ACCOUNTS] += zone && zone->account && is_first(seen, zone->account, &day);
    }
    if (!code) code = tb_rollup_cursor_check(cursor, err);
    free(seen);
    tb_rollup_cursor_free(cursor);
    return code;
}

/* --- the whole --- */

/* Counts each group of usage as a separate day, of accounts that have many zones each. */
static load load_of(const feed_run *run)
{
    const size_t cells = feed_run_cells(run);
    load l = {.n = {[DAYS] = cells, [HOURS] = cells}};
    for (size_t i = 0; i < run->n_workers; i++) {
        const feed_worker *worker = &run->workers[i];
        size_t bytes = 0;
        l.n[EDGES] += tb_rollup_edges(worker->rollup);
        l.n[COUNTRIES] += tb_rollup_countries(worker->rollup);
        l.n[BLOCKS] += worker->logs ? feed_logs_blocks(worker->logs, &bytes) : 0;
        l.n[EVENTS] += worker->events.n;
        l.n[BYTES] += bytes + worker->events.bytes.len;
        l.n[REFUSED] += worker->rejects.n;
        if (!worker->meters.batch) continue;
        const tb_meter_usage metered = tb_meter_batch_usage(worker->meters.batch);
        l.n[SERIES] += metered.n_keys;
        l.n[METERED] += tb_rollup_groups(metered.hours);
        l.n[VALUES] += metered.n_values;
    }
    if (l.n[REFUSED] > TB_REJECTS_KEPT) l.n[REFUSED] = TB_REJECTS_KEPT;
    return l;
}

static tb_code refuse_heavy(const load *l, tb_error *err)
{
    kind most = DAYS;
    for (kind k = DAYS; k < KINDS; k++)
        if (l->n[k] * kinds[k].cost > l->n[most] * kinds[most].cost) most = k;
    return tb_fail(err, TB_E_TOO_LARGE, NULL,
                   "This body has too many %s (%zu or more). Nothing of it was taken. Send it in smaller parts.",
                   kinds[most].what, l->n[most]);
}

tb_code feed_run_weigh(feed_run *run, tb_error *err)
{
    load l = load_of(run);
    const size_t own_accounts = l.n[DAYS] * kinds[ACCOUNTS].cost;
    run->weight = weigh(&l);
    if (!run->options->bounded) return TB_OK;
    tb_code code = run->weight + own_accounts > WEIGHT_MAX ? count_usage(run, &l, err) : TB_OK;
    if (!code && run->n_events && weigh(&l) <= WEIGHT_MAX)
        code = tb_store_find_events(run->store, run->events, run->n_events, &l.n[PLACES], &l.n[STANDING], err);
    run->weight = weigh(&l);
    if (code) return code;
    if (run->weight > WEIGHT_MAX) return refuse_heavy(&l, err);
    if (run->ended != ENDED_FULL) return TB_OK;
    /* the rest would have to be parsed while a transaction is open */
    return tb_fail(err, TB_E_TOO_LARGE, NULL,
                   "This body has too many kept lines, shield events, or counters of pull zones, edge locations, hours "
                   "and countries. Nothing of it was taken. Send it in smaller parts.");
}

size_t feed_run_copies(const feed_run *run)
{
    if (!run->options->bounded) return 0;
    return run->options->many_copies || run->weight > FEED_HEAVY ? FEED_COPIES_ALONE : COPIES_FEW;
}
