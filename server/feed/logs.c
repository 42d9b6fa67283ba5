/* Gathering lines by zone, and packing them.
 *
 * A line is split into its columns while it is in the cache, as the block that holds it is overwritten by the next, and
 * becomes a record (requestlog.h) beside the others of its zone. A zone's records are packed when they fill a block. When
 * all records together fill the worker's room, those of the zones with the most are packed; and all of them at the end of a
 * segment. There, few lines of each of many zones become blocks of all these zones together. Packed blocks are kept for the
 * segment's transaction; when they have become many the worker says that it is full, and they are written. So memory is
 * bounded whatever the log. */
#include "feed/logs.h"

#include "tollbook/withdraw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_ALL   ((size_t)128 << 20) /* gathered lines of all workers together */
#define PACKED_MAX ((size_t)8 << 20)  /* packed blocks of a worker: they are written */
#define HOUR_MS    INT64_C(3600000)
#define SLAB       ((size_t)2 << 20)
#define SLAB_FIRST ((size_t)128 << 10)
#define SLABS_MAX  (ROOM_ALL / SLAB + 8)
#define GROUP      32
#define AHEAD      512 /* bytes read ahead while records are listed */
#define MIX_LINES  ((size_t)4 * TB_LOGBLOCK_LINES) /* at the end of a segment: more go by zone */
#define MIX_FEW    64  /* lines of a zone, on the average, that are fewer go together */
#define MIX_BLOCK  640 /* lines of such a block: a search for one zone reads all of it */

/* A zone's memory is a list of chunks, which are used again: a short one, as a batch may have few lines of each of
 * many zones, and long ones behind it. A record that fits none has one of its own. */
typedef struct chunk {
    struct chunk *next;
    size_t len, cap;
    char bytes[]; /* records */
} chunk;

enum { SHORT, LONG, CHUNKS };

static const size_t chunk_size[CHUNKS] = {1024, 4096}; /* with its head */

static size_t chunk_cap(int kind)
{
    return chunk_size[kind] - sizeof(chunk);
}

typedef struct gathered {
    int64_t zone;
    chunk *first, *last;
    char *at;     /* position of its next record, in the last chunk; NULL: it has no chunk */
    size_t left;  /* bytes there; the last chunk's own len is not kept */
    size_t bytes; /* of its records */
    uint32_t lines;
} gathered;

typedef struct packed {
    tb_loginfo info;
    size_t at, len;   /* in feed_logs.blocks */
    size_t directory; /* bytes of it, after the block; 0: the lines are all of info.zone */
} packed;

/* Zones whose lines share a block. */
typedef struct mixing {
    int64_t zones[TB_LOGBLOCK_LINES];
    uint16_t places[TB_LOGBLOCK_LINES]; /* of each record */
    size_t n_zones, n, bytes;
    tb_buf directory;
} mixing;

struct feed_logs {
    const feed_keeper *keeper;
    tb_logpack *pack;
    tb_logwords *words;
    gathered *zones;    /* by tb_logged.number */
    uint32_t *touched;  /* numbers of the zones that hold memory */
    size_t n_touched, used; /* used: bytes of their memory */
    chunk *spare[CHUNKS];
    char *slabs[SLABS_MAX], *slab_at; /* the newest one's rest */
    size_t n_slabs, slab_left;
    packed *list;
    size_t n_list, cap_list;
    tb_buf blocks;
    const void *record[TB_LOGBLOCK_LINES]; /* of the zone being packed, or of those */
    mixing *mixing; /* NULL until zones are packed together */
};

void feed_keeper_init(feed_keeper *keeper, const tb_logged_zones *zones, const feed_options *options,
                      size_t workers)
{
    const size_t room = options->log_room ? options->log_room : ROOM_ALL;
    int64_t oldest;
    if (__builtin_sub_overflow(options->layout.now_ms, TB_LOG_KEPT_MS, &oldest) || oldest < 0)
        oldest = 0;
    oldest /= HOUR_MS;
    keeper->oldest_hour = oldest > INT32_MAX ? INT32_MAX : (int32_t)oldest;
    keeper->room = (room < ROOM_ALL ? room : ROOM_ALL) / workers;
    keeper->packed = options->log_packed ? options->log_packed : PACKED_MAX;
    keeper->zones = zones;
    keeper->mixed = keeper->whole = false;
}

feed_logs *feed_logs_new(const feed_keeper *keeper)
{
    feed_logs *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    const size_t n = tb_logged_count(keeper->zones);
    l->keeper = keeper;
    tb_buf_init(&l->blocks, PACKED_MAX + 2 * TB_LOGBLOCK_MAX + ROOM_ALL, NULL);
    if (n == 0) return l; /* no line will come, so the packer's megabytes are not allocated */
    l->pack = tb_logpack_new();
    l->words = tb_logwords_new();
    l->zones = calloc(n, sizeof *l->zones);
    l->touched = calloc(n, sizeof *l->touched);
    if (l->pack && l->words && l->zones && l->touched) return l;
    feed_logs_free(l);
    return NULL;
}

/* --- chunks --- */

/* Chunks are cut from slabs and go back with them all. The first slab is small, for a batch may be;
 * the others are what a processor can address as one page, for chunks are written and read in no
 * order. */
static void *cut(feed_logs *l, size_t bytes)
{
    if (l->slab_left < bytes) {
        const size_t size = l->n_slabs ? SLAB : SLAB_FIRST;
        char *slab = l->n_slabs < SLABS_MAX ? aligned_alloc(size, size) : NULL;
        if (!slab) return NULL;
        if (size == SLAB) (void)madvise(slab, SLAB, MADV_HUGEPAGE); /* or not: it is only slower */
        l->slabs[l->n_slabs++] = l->slab_at = slab;
        l->slab_left = size;
    }
    void *at = l->slab_at;
    l->slab_at += bytes;
    l->slab_left -= bytes;
    return at;
}

/* Drops a zone's records; their memory is reused. */
static void drop_records(feed_logs *l, gathered *g)
{
    for (chunk *c = g->first, *next; c; c = next) {
        next = c->next;
        l->used -= c->cap;
        if (c->cap > chunk_cap(LONG)) {
            free(c);
            continue;
        }
        const int kind = c->cap > chunk_cap(SHORT) ? LONG : SHORT;
        c->next = l->spare[kind];
        l->spare[kind] = c;
    }
    g->first = g->last = NULL;
    g->at = NULL;
    g->bytes = g->left = g->lines = 0;
}

static void drop_packed(feed_logs *l)
{
    l->n_list = l->blocks.len = 0;
    l->blocks.failed = false;
}

void feed_logs_clear(feed_logs *l)
{
    for (size_t i = 0; i < l->n_touched; i++) {
        drop_records(l, &l->zones[l->touched[i]]);
        l->zones[l->touched[i]] = (gathered){0};
    }
    if (l->words) tb_logwords_forget(l->words);
    l->n_touched = 0;
    drop_packed(l);
}

/* All that lines are gathered and packed with. */
static void release_gathering(feed_logs *l)
{
    for (size_t i = 0; i < l->n_touched; i++)
        drop_records(l, &l->zones[l->touched[i]]);
    for (size_t i = 0; i < l->n_slabs; i++)
        free(l->slabs[i]);
    tb_logpack_free(l->pack);
    tb_logwords_free(l->words);
    if (l->mixing) tb_buf_release(&l->mixing->directory);
    free(l->mixing);
    l->mixing = NULL;
    free(l->zones);
    free(l->touched);
    l->n_touched = l->n_slabs = l->slab_left = 0;
    l->pack = NULL;
    l->words = NULL;
    l->zones = NULL;
    l->touched = NULL;
    l->spare[SHORT] = l->spare[LONG] = NULL;
}

void feed_logs_free(feed_logs *l)
{
    if (!l) return;
    release_gathering(l);
    tb_buf_release(&l->blocks);
    free(l->list);
    free(l);
}

bool feed_logs_full(const feed_logs *l)
{
    return l->blocks.len >= l->keeper->packed;
}

/* --- packing --- */

/* The block that begins at `at`, and its directory of so many bytes. */
static tb_code note_block(feed_logs *l, const tb_loginfo *info, size_t at, size_t directory,
                          tb_error *err)
{
    if (l->n_list == l->cap_list) {
        size_t cap = l->cap_list ? l->cap_list * 2 : 64;
        packed *more = realloc(l->list, cap * sizeof *more);
        if (!more) return tb_no_memory(err);
        l->list = more;
        l->cap_list = cap;
    }
    l->list[l->n_list++] = (packed){*info, at, l->blocks.len - at - directory, directory};
    return TB_OK;
}

/* Lists its records from the n-th place on; returns how many are listed then. */
static size_t list_records(feed_logs *l, gathered *g, size_t n)
{
    g->last->len = (size_t)(g->at - g->last->bytes);
    for (const chunk *c = g->first; c; c = c->next)
        for (size_t at = 0; at < c->len; n++) {
            const char *ahead = c->bytes + at + AHEAD; /* long out of the cache */
            if (at + AHEAD > c->len && c->next) ahead = c->next->bytes + (at + AHEAD - c->len);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
            l->record[n] = c->bytes + at;
            at += tb_logrecord_size(l->record[n]);
        }
    return n;
}

static tb_code pack_zone(feed_logs *l, gathered *g, tb_error *err)
{
    tb_loginfo info;
    if (!g->lines) return TB_OK;
    const size_t n = list_records(l, g, 0), at = l->blocks.len;
    tb_code code = tb_logpack_records(l->pack, l->words, &(tb_logrecords){g->zone, l->record, n}, &l->blocks, &info,
                                      err);
    if (!code) code = note_block(l, &info, at, 0, err);
    drop_records(l, g);
    return code;
}

/* Packs the zones that have gathered at least so many bytes. */
static tb_code pack_from(feed_logs *l, size_t least, tb_error *err)
{
    size_t kept = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_touched; i++) {
        gathered *g = &l->zones[l->touched[i]];
        if (g->bytes < least) {
            l->touched[kept++] = l->touched[i];
            continue;
        }
        code = pack_zone(l, g, err);
        if (!code) *g = (gathered){0};
    }
    if (!code) l->n_touched = kept;
    return code;
}

/* --- packing zones together --- */

/* The listed zones become a block. */
static tb_code pack_mixed(feed_logs *l, tb_error *err)
{
    mixing *m = l->mixing;
    const tb_logmix mix = {m->zones, m->places, l->record, m->n_zones, m->n};
    const size_t at = l->blocks.len;
    tb_loginfo info;
    if (m->n == 0) return TB_OK;
    m->directory.len = 0;
    tb_code code = tb_logpack_mix(l->pack, l->words, &mix, &l->blocks, &m->directory, &info, err);
    const size_t directory = m->n_zones > 1 ? m->directory.len : 0;
    if (!code) tb_buf_add(&l->blocks, m->directory.data, directory);
    if (!code) code = tb_buf_check(&l->blocks, err);
    if (!code) code = note_block(l, &info, at, directory, err);
    m->n_zones = m->n = m->bytes = 0;
    return code;
}

/* Numbers of zones ascend as the zones do. */
static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Packs all zones together, as many of them as fit into each block. */
static tb_code mix_all(feed_logs *l, tb_error *err)
{
    if (!l->mixing) {
        l->mixing = malloc(sizeof *l->mixing);
        if (!l->mixing) return tb_no_memory(err);
        tb_buf_init(&l->mixing->directory, TB_LOGBLOCK_MAX, NULL);
    }
    mixing *m = l->mixing;
    tb_code code = TB_OK;
    m->n_zones = m->n = m->bytes = 0;
    qsort(l->touched, l->n_touched, sizeof *l->touched, by_number);
    for (size_t i = 0; !code && i < l->n_touched; i++) {
        gathered *g = &l->zones[l->touched[i]];
        if (!g->lines) continue;
        if (m->n >= MIX_BLOCK || m->n + g->lines > TB_LOGBLOCK_LINES || m->bytes + g->bytes > TB_LOGBLOCK_TEXT)
            code = pack_mixed(l, err);
        if (code) return code;
        for (const size_t end = list_records(l, g, m->n); m->n < end; m->n++)
            m->places[m->n] = (uint16_t)m->n_zones;
        m->zones[m->n_zones++] = g->zone;
        m->bytes += g->bytes;
    }
    if (!code) code = pack_mixed(l, err);
    if (code) return code;
    for (size_t i = 0; i < l->n_touched; i++) {
        drop_records(l, &l->zones[l->touched[i]]);
        l->zones[l->touched[i]] = (gathered){0};
    }
    l->n_touched = 0;
    return TB_OK;
}

tb_code feed_logs_pack(feed_logs *l, tb_error *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < l->n_touched; i++)
        lines += l->zones[l->touched[i]].lines;
    const bool few_of_many = l->n_touched > 1 && lines <= MIX_LINES && lines < MIX_FEW * l->n_touched;
    tb_code code = l->keeper->mixed && few_of_many ? mix_all(l, err) : pack_from(l, 0, err);
    if (!code && l->words) tb_logwords_forget(l->words);
    return code;
}

tb_code feed_logs_seal(feed_logs *l, tb_error *err)
{
    tb_code code = feed_logs_pack(l, err);
    if (!code) release_gathering(l);
    return code;
}

size_t feed_logs_blocks(const feed_logs *l, size_t *ret_bytes)
{
    *ret_bytes = l->blocks.len;
    return l->n_list;
}

size_t feed_logs_bytes(const feed_logs *l)
{
    return sizeof *l + l->blocks.cap + l->cap_list * sizeof *l->list;
}

/* --- gathering --- */

/* Room for so many bytes at the end of the zone's memory: a chunk that is free, a new one, or one of its own where it is
 * long. */
static tb_code make_room(feed_logs *l, const tb_logged *zone, gathered *g, size_t need,
                         tb_error *err)
{
    const int kind = !g->first && need <= chunk_cap(SHORT) ? SHORT : LONG;
    const size_t cap = need > chunk_cap(kind) ? need : chunk_cap(kind);
    chunk *c = cap > chunk_cap(kind) ? NULL : l->spare[kind];
    if (c) l->spare[kind] = c->next;
    else c = cap > chunk_cap(kind) ? malloc(sizeof *c + cap) : cut(l, chunk_size[kind]);
    if (!c) return tb_no_memory(err);
    *c = (chunk){.cap = cap};
    l->used += cap;
    if (g->zone != zone->zone) { /* its first line since all were packed */
        l->touched[l->n_touched++] = zone->number;
        g->zone = zone->zone;
    }
    if (g->first) {
        g->last->len = (size_t)(g->at - g->last->bytes);
        g->last->next = c;
    } else {
        g->first = c;
    }
    g->last = c;
    g->at = c->bytes;
    g->left = c->cap;
    return TB_OK;
}

/* A line that is read for its zone. */
typedef struct incoming {
    const tb_logged *zone; /* NULL: it is not kept */
    tb_logline line;
    tb_logkeys keys;
} incoming;

static tb_code gather(feed_logs *l, const incoming *c, size_t len, tb_error *err)
{
    gathered *g = &l->zones[c->zone->number];
    const size_t need = len + TB_LOGRECORD_MORE;
    if (need > g->left) {
        tb_code code = make_room(l, c->zone, g, need, err);
        if (code) return code;
    }
    const size_t size = tb_logwords_record(l->words, &c->line, &c->keys, g->at);
    g->at += size;
    g->left -= size;
    g->bytes += size;
    g->lines++;
    if (g->lines == TB_LOGBLOCK_LINES || g->bytes >= TB_LOGBLOCK_TEXT) return pack_zone(l, g, err);
    if (l->used <= l->keeper->room) return TB_OK;
    /* zones with more than the mean are packed: they are few and hold most of it; the others gather on, as their blocks
     * would be small */
    size_t sum = 0;
    for (size_t i = 0; i < l->n_touched; i++)
        sum += l->zones[l->touched[i]].bytes;
    return pack_from(l, sum / l->n_touched, err);
}

/* The zone that keeps the line. The memory of its next record is long out of the cache, and is prefetched. */
static const tb_logged *find_zone(const feed_logs *l, const tb_hit *hit)
{
    if (hit->hour < l->keeper->oldest_hour) return NULL;
    const tb_logged *zone = tb_logged_find(l->keeper->zones, hit->zone);
    const gathered *g = zone ? &l->zones[zone->number] : NULL;
    if (!g || !g->at) return zone;
    __builtin_prefetch(g->at, 1);
    __builtin_prefetch(g->at + 64, 1);
    __builtin_prefetch(g->at + 128, 1);
    return zone;
}

/* Some lines go through each step together, so that memory is fetched for one while others are worked on. */
static tb_code take_group(feed_logs *l, const tb_log_layout *layout, const tb_hit *hits,
                          const tb_span *spans, size_t n, tb_error *err)
{
    incoming group[GROUP];
    tb_code code = TB_OK;
    for (size_t i = 0; i < n; i++)
        group[i].zone = find_zone(l, &hits[i]);
    for (size_t i = 0; i < n; i++) {
        incoming *c = &group[i];
        if (!c->zone) continue;
        tb_logline_of(layout, &hits[i], &spans[i], &c->line);
        if (!c->zone->extended && !l->keeper->whole) { /* fields that the zone does not log are not stored */
            c->line.body_bytes = UINT64_MAX;
            c->line.range.len = c->line.authorization.len = 0;
        }
        tb_logwords_keys(l->words, &c->line, &c->keys);
    }
    for (size_t i = 0; i < n; i++)
        if (group[i].zone) tb_logwords_fetch(l->words, &group[i].keys);
    for (size_t i = 0; i < n && !code; i++)
        if (group[i].zone) code = gather(l, &group[i], spans[i].len, err);
    return code;
}

tb_code feed_logs_take(feed_logs *l, const tb_log_layout *layout, const tb_intake *got,
                       tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t at = 0, n; at < got->n_hits && !code; at += n) {
        n = got->n_hits - at < GROUP ? got->n_hits - at : GROUP;
        code = take_group(l, layout, &got->hits[at], &got->spans[at], n, err);
    }
    return code;
}

/* --- storing --- */

tb_code feed_logs_store(feed_logs *l, tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_list; i++) {
        const packed *one = &l->list[i];
        const char *block = l->blocks.data + one->at;
        const tb_logmixed mixed = {one->info, {block + one->len, one->directory}, {block, one->len}};
        code = one->directory ? tb_store_mix_logs(store, &mixed, err)
                              : tb_store_add_logs(store, &one->info, block, one->len, err);
    }
    if (!code) drop_packed(l);
    return code;
}

tb_code feed_logs_withdraw(feed_logs *l, tb_store *store, uint64_t *removed, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_list; i++)
        code = tb_store_withdraw_logs(store, &l->list[i].info, l->blocks.data + l->list[i].at,
                                      l->list[i].len, removed, err);
    if (!code) drop_packed(l);
    return code;
}
