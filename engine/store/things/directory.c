/* The directory: what intake looks up of the catalogue, read once until the catalogue changes. It
 * is shared: whoever retains it may read it on any thread, also after the store has read another.
 */
#include "store/things/containers.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"
#include "tollbook/meter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct spell {
    int64_t zone, version, closed_version;
} spell;

struct tb_sampled_zones {
    tb_logged_zones *zones; /* number: of the zone's first spell */
    spell *spells;          /* ascending by zone */
    size_t n, cap;
};

typedef struct directory {
    tb_directory face; /* first: the public part */
    atomic_uint holders;
    tb_known_edge *edges;
    tb_known_hosts *hosts;
    tb_logged_zones *logged, *ever;
    tb_sampled_zones sampled;
    tb_meter *meters, *ever_meters;
} directory;

/* --- zones that keep their lines --- */

struct tb_logged_zones {
    size_t n, mask;
    tb_logged slot[]; /* zone 0: empty */
};

static size_t place(const tb_logged_zones *z, int64_t zone)
{
    return (size_t)((uint64_t)zone * UINT64_C(0x9E3779B97F4A7C15) >> 32) & z->mask;
}

const tb_logged *tb_logged_find(const tb_logged_zones *z, int64_t zone)
{
    for (size_t at = place(z, zone); z->slot[at].zone; at = (at + 1) & z->mask)
        if (z->slot[at].zone == zone) return &z->slot[at];
    return NULL;
}

size_t tb_logged_count(const tb_logged_zones *z)
{
    return z ? z->n : 0;
}

static void put(tb_logged_zones *z, tb_logged one)
{
    size_t at = place(z, one.zone);
    while (z->slot[at].zone)
        at = (at + 1) & z->mask;
    z->slot[at] = one;
}

/* Twice as many slots, at no more than half load. */
static tb_logged_zones *grown(const tb_logged_zones *old)
{
    const size_t slots = old ? (old->mask + 1) * 2 : 64;
    tb_logged_zones *z = calloc(1, sizeof *z + slots * sizeof *z->slot);
    if (!z) return NULL;
    z->mask = slots - 1;
    for (size_t i = 0; old && i <= old->mask; i++)
        if (old->slot[i].zone) put(z, old->slot[i]);
    z->n = old ? old->n : 0;
    return z;
}

static tb_code room_for_one(tb_logged_zones **z, tb_error *err)
{
    if ((*z)->n * 2 <= (*z)->mask) return TB_OK;
    tb_logged_zones *more = grown(*z);
    if (!more) return tb_no_memory(err);
    free(*z);
    *z = more;
    return TB_OK;
}

/* Where it is kept now. `ever`: in any case, and as what lines there may once have been. */
static tb_code add_logged(tb_logged_zones **z, bool ever, sqlite3_stmt *s, tb_error *err)
{
    if (!ever && !sqlite3_column_int(s, 2)) return TB_OK;
    tb_code code = room_for_one(z, err);
    if (code) return code;
    put(*z, (tb_logged){.zone = sqlite3_column_int64(s, 0),
                        .account = sqlite3_column_int64(s, 3),
                        .number = (uint32_t)(*z)->n,
                        .extended = ever || sqlite3_column_int(s, 1) != 0});
    (*z)->n++;
    return TB_OK;
}

static tb_code read_logged(tb_store *store, directory *d, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    d->logged = grown(NULL);
    d->ever = grown(NULL);
    if (!d->logged || !d->ever) return tb_no_memory(err);
    tb_code code = tb__sql(store, TB__SQL_LOGGED_ZONES, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_logged(&d->logged, false, s, err);
        if (!code) code = add_logged(&d->ever, true, s, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* --- zones with samples --- */

int64_t tb_sampled_account(const tb_sampled_zones *z, int64_t zone, int64_t version)
{
    const tb_logged *found = z ? tb_logged_find(z->zones, zone) : NULL;
    for (size_t i = found ? found->number : SIZE_MAX; found && i < z->n && z->spells[i].zone == zone; i++)
        if (z->spells[i].version <= version && version < z->spells[i].closed_version) return found->account;
    return 0;
}

static tb_code add_spell(tb_sampled_zones *z, sqlite3_stmt *s, tb_error *err)
{
    const spell one = {sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3)};
    tb_code code = tb__grow(&z->spells, z->n, &z->cap, sizeof *z->spells, err);
    if (!code && !(z->n && z->spells[z->n - 1].zone == one.zone)) {
        code = room_for_one(&z->zones, err);
        if (!code) put(z->zones, (tb_logged){.zone = one.zone, .account = sqlite3_column_int64(s, 1), .number = (uint32_t)z->n});
        if (!code) z->zones->n++;
    }
    if (!code) z->spells[z->n++] = one;
    return code;
}

static tb_code read_sampled(tb_store *store, tb_sampled_zones *z, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    z->zones = grown(NULL);
    tb_code code = z->zones ? tb__sql(store, TB__SQL_SAMPLED_ZONES, &s, err) : tb_no_memory(err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_spell(z, s, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* --- edge locations --- */

static tb_code edge_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_known_edge *edge = item;
    const char *code = (const char *)sqlite3_column_text(s, 0);
    const size_t len = code ? strlen(code) : 0;
    (void)err;
    memset(edge, 0, sizeof *edge);
    if (len <= TB_EDGE_MAX) memcpy(edge->code, code ? code : "", len);
    return TB_OK;
}

static const tb__rows edge_rows = {sizeof(tb_known_edge), edge_from, NULL};

static int by_code(const void *a, const void *b)
{
    return memcmp(((const tb_known_edge *)a)->code, ((const tb_known_edge *)b)->code, TB_EDGE_MAX);
}

/* Rows come by price; a code that no line can hold is left out. */
static tb_code read_edges(tb_store *store, directory *d, tb_error *err)
{
    size_t n = 0, kept = 0;
    tb_code code =
        tb__collect_ints(store, TB__SQL_KNOWN_EDGES, NULL, 0, &edge_rows, &d->edges, &n, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++) {
        if (!d->edges[i].code[0]) continue;
        d->edges[kept] = d->edges[i];
        d->edges[kept].rank = (uint32_t)kept;
        kept++;
    }
    if (kept) qsort(d->edges, kept, sizeof *d->edges, by_code);
    d->face.n_edges = kept;
    return TB_OK;
}

/* --- hostnames --- */

static tb_code read_hosts(tb_store *store, directory *d, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb_known_hosts_new(&d->hosts, err);
    if (!code) code = tb__sql(store, TB__SQL_KNOWN_HOSTS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const char *name = (const char *)sqlite3_column_text(s, 1);
        if (name)
            code = tb_known_hosts_declare(d->hosts, name, (size_t)sqlite3_column_bytes(s, 1),
                                      sqlite3_column_int64(s, 0), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* --- meters --- */

static tb_code read_meters(tb_store *store, directory *d, tb_error *err)
{
    size_t n = 0, cap = 0, cap_ever = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_KNOWN_METERS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const tb_text document = tb__column_text(s, 1);
        code = tb__grow(&d->ever_meters, d->face.n_ever_meters, &cap_ever, sizeof *d->ever_meters, err);
        tb_meter *meter = code ? NULL : &d->ever_meters[d->face.n_ever_meters];
        if (!code) code = tb_meter_parse(document.data, document.len, meter, err);
        if (!code) meter->number = sqlite3_column_int64(s, 0);
        if (!code && sqlite3_column_int(s, 2)) {
            code = tb__grow(&d->meters, n, &cap, sizeof *d->meters, err);
            if (!code) d->meters[n++] = *meter;
        }
        if (!code) d->face.n_ever_meters++;
        else sqlite3_reset(s);
    }
    d->face.meters = d->meters;
    d->face.ever_meters = d->ever_meters;
    d->face.n_meters = n;
    return code;
}

/* --- the whole --- */

const tb_directory *tb_directory_retain(const tb_directory *face)
{
    directory *d = (directory *)(uintptr_t)face;
    atomic_fetch_add_explicit(&d->holders, 1, memory_order_relaxed);
    return face;
}

void tb_directory_release(const tb_directory *face)
{
    directory *d = (directory *)(uintptr_t)face;
    if (!d || atomic_fetch_sub_explicit(&d->holders, 1, memory_order_acq_rel) > 1) return;
    free(d->edges);
    free(d->logged);
    free(d->ever);
    free(d->sampled.zones);
    free(d->sampled.spells);
    free(d->meters);
    free(d->ever_meters);
    tb_known_hosts_free(d->hosts);
    free(d);
}

static tb_code read_directory(tb_store *store, bool hosts, const tb_directory **ret, tb_error *err)
{
    directory *d = calloc(1, sizeof *d);
    if (!d) return tb_no_memory(err);
    atomic_init(&d->holders, 1);
    tb_code code = read_edges(store, d, err);
    if (!code) code = read_logged(store, d, err);
    if (!code) code = read_sampled(store, &d->sampled, err);
    if (!code && hosts) code = read_hosts(store, d, err);
    if (!code) code = read_meters(store, d, err);
    d->face.edges = d->edges;
    d->face.hosts = d->hosts;
    d->face.logged = d->logged && d->logged->n ? d->logged : NULL;
    d->face.ever_logged = d->ever && d->ever->n ? d->ever : NULL;
    d->face.sampled = d->sampled.n ? &d->sampled : NULL;
    for (size_t i = 0; i < d->sampled.n; i++) {
        const spell *one = &d->sampled.spells[i];
        const int64_t last = one->closed_version == INT64_MAX ? one->version : one->closed_version;
        if (last > d->face.samples) d->face.samples = last;
    }
    if (code)
        tb_directory_release(&d->face);
    else
        *ret = &d->face;
    return code;
}

tb_code tb_store_directory(tb_store *store, bool hosts, const tb_directory **ret, tb_error *err)
{
    if (!store->directory || (hosts && !store->directory->hosts)) {
        const tb_directory *fresh = NULL;
        tb_code code = read_directory(store, hosts, &fresh, err);
        if (code) return code;
        tb__directory_forget(store);
        store->directory = fresh;
    }
    *ret = store->directory;
    return TB_OK;
}

void tb__directory_forget(tb_store *store)
{
    tb_directory_release(store->directory);
    store->directory = NULL;
}
