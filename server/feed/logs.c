/* Gathering lines by zone, and packing them.
 *
 * A line is copied once, to the others of its zone, as the block that it came in is overwritten
 * by the next. A zone's lines are packed when they fill a block; when all together take the room there
 * is, those of the zones that have most; and all at the end of a segment. Packed blocks wait for the segment's
 * transaction; when they too have become many, the worker says that it is full, and its segment
 * ends. So memory is bounded whatever the log. */
#include "feed/logs.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_ALL   ((size_t)128 << 20) /* gathered lines of all workers together */
#define PACKED_MAX ((size_t)64 << 20)  /* packed blocks of a worker: its segment ends */
#define HOUR_MS    INT64_C(3600000)
#define AHEAD      1024 /* bytes read ahead while lines are listed */

/* A line in a zone's memory is its head, then its text. */
typedef struct head {
    int64_t time_ms;
    uint32_t len;
} head;

/* A zone's memory is a list of chunks, which are used again: a small one first, for most zones have
 * few lines, then larger ones; a line that fits none has one of its own. */
enum { SMALL, LARGE, SIZES };
static const size_t sizes[SIZES] = {4096, 32768};

typedef struct chunk {
    struct chunk *next;
    size_t len, cap;
    char bytes[];
} chunk;

typedef struct gathered {
    int64_t zone;
    chunk *first, *last;
    size_t bytes; /* of its lines */
    uint32_t lines;
    bool extended;
} gathered;

typedef struct packed {
    tb_loginfo info;
    size_t at, len; /* in feed_logs.blocks */
} packed;

struct feed_logs {
    const feed_keeper *keeper;
    tb_logpack *pack;
    gathered *zones;    /* by tb_logged.number */
    uint32_t *touched;  /* numbers of the zones that hold memory */
    size_t n_touched, used; /* used: bytes of their memory */
    chunk *spare[SIZES];
    packed *list;
    size_t n_list, cap_list;
    tb_buf blocks;
    int64_t times[TB_LOGBLOCK_LINES];
    const char *line[TB_LOGBLOCK_LINES]; /* of the zone being packed */
    uint32_t line_len[TB_LOGBLOCK_LINES];
    const tb_log_layout *layout;
    bool extended;
};

static tb_code no_memory(tb_error *err)
{
    return tb_fail(err, TB_E_NOMEM, NULL, NULL);
}

tb_code feed_keeper_init(feed_keeper *keeper, tb_store *store, int64_t now_ms, size_t workers,
                         tb_error *err)
{
    int64_t oldest;
    if (__builtin_sub_overflow(now_ms, TB_LOG_KEPT_MS, &oldest) || oldest < 0) oldest = 0;
    oldest /= HOUR_MS;
    keeper->oldest_hour = oldest > INT32_MAX ? INT32_MAX : (int32_t)oldest;
    keeper->room = ROOM_ALL / workers;
    return tb_store_logged_zones(store, &keeper->zones, err);
}

feed_logs *feed_logs_new(const feed_keeper *keeper)
{
    feed_logs *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    const size_t n = tb_logged_count(keeper->zones);
    l->keeper = keeper;
    tb_buf_init(&l->blocks, PACKED_MAX + 2 * TB_LOGBLOCK_MAX + ROOM_ALL, NULL);
    l->pack = tb_logpack_new();
    l->zones = calloc(n, sizeof *l->zones);
    l->touched = calloc(n, sizeof *l->touched);
    if (l->pack && l->zones && l->touched) return l;
    feed_logs_free(l);
    return NULL;
}

/* --- chunks --- */

static chunk *take_chunk(feed_logs *l, int size, size_t need)
{
    const size_t cap = need > sizes[size] ? need : sizes[size];
    chunk *c = cap == sizes[size] ? l->spare[size] : NULL;
    if (c) l->spare[size] = c->next;
    else c = malloc(sizeof *c + cap);
    if (!c) return NULL;
    c->next = NULL;
    c->len = 0;
    c->cap = cap;
    l->used += cap;
    return c;
}

/* Forgets a zone's lines; their memory is for others. */
static void give_up(feed_logs *l, gathered *g)
{
    for (chunk *c = g->first, *next; c; c = next) {
        next = c->next;
        l->used -= c->cap;
        int size = 0;
        while (size < SIZES && sizes[size] != c->cap)
            size++;
        if (size == SIZES) {
            free(c);
            continue;
        }
        c->next = l->spare[size];
        l->spare[size] = c;
    }
    g->first = g->last = NULL;
    g->bytes = g->lines = 0;
}

void feed_logs_clear(feed_logs *l)
{
    for (size_t i = 0; i < l->n_touched; i++) {
        give_up(l, &l->zones[l->touched[i]]);
        l->zones[l->touched[i]] = (gathered){0};
    }
    l->n_touched = l->n_list = l->blocks.len = 0;
    l->blocks.failed = false;
}

void feed_logs_free(feed_logs *l)
{
    if (!l) return;
    feed_logs_clear(l);
    for (int i = 0; i < SIZES; i++)
        for (chunk *c = l->spare[i], *next; c; c = next) {
            next = c->next;
            free(c);
        }
    tb_logpack_free(l->pack);
    tb_buf_release(&l->blocks);
    free(l->zones);
    free(l->touched);
    free(l->list);
    free(l);
}

bool feed_logs_full(const feed_logs *l)
{
    return l->blocks.len >= PACKED_MAX;
}

/* --- packing --- */

static void line_of(void *ctx, size_t i, tb_logline *ret_line)
{
    const feed_logs *l = ctx;
    tb_logline_read(l->layout, l->line[i], l->line_len[i], ret_line);
    if (l->extended) return;
    ret_line->body_bytes = UINT64_MAX; /* what the zone does not log is not kept */
    ret_line->range.len = ret_line->authorization.len = 0;
}

static tb_code note_block(feed_logs *l, const tb_loginfo *info, size_t at, tb_error *err)
{
    if (l->n_list == l->cap_list) {
        size_t cap = l->cap_list ? l->cap_list * 2 : 64;
        packed *more = realloc(l->list, cap * sizeof *more);
        if (!more) return no_memory(err);
        l->list = more;
        l->cap_list = cap;
    }
    l->list[l->n_list++] = (packed){*info, at, l->blocks.len - at};
    return TB_OK;
}

static tb_code pack_zone(feed_logs *l, const tb_log_layout *layout, gathered *g, tb_error *err)
{
    tb_loginfo info;
    size_t n = 0;
    if (!g->lines) return TB_OK;
    l->layout = layout;
    l->extended = g->extended;
    for (const chunk *c = g->first; c; c = c->next)
        for (size_t at = 0; at < c->len; n++) {
            head h;
            memcpy(&h, c->bytes + at, sizeof h);
            __builtin_prefetch(c->bytes + at + AHEAD); /* long out of the cache */
            __builtin_prefetch(c->bytes + at + AHEAD + 64);
            __builtin_prefetch(c->bytes + at + AHEAD + 128);
            __builtin_prefetch(c->bytes + at + AHEAD + 192);
            __builtin_prefetch(c->bytes + at + AHEAD + 256);
            l->times[n] = h.time_ms;
            l->line[n] = c->bytes + at + sizeof h;
            l->line_len[n] = h.len;
            at += sizeof h + h.len;
        }
    const size_t at = l->blocks.len;
    tb_code code = tb_logpack_block(l->pack, g->zone, l->times, n, line_of, l, &l->blocks, &info,
                                    err);
    if (!code) code = note_block(l, &info, at, err);
    give_up(l, g);
    return code;
}

/* Packs the zones that have gathered at least so many bytes. */
static tb_code pack_from(feed_logs *l, const tb_log_layout *layout, size_t least, tb_error *err)
{
    size_t kept = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_touched; i++) {
        gathered *g = &l->zones[l->touched[i]];
        if (g->bytes < least) {
            l->touched[kept++] = l->touched[i];
            continue;
        }
        code = pack_zone(l, layout, g, err);
        if (!code) *g = (gathered){0};
    }
    if (!code) l->n_touched = kept;
    return code;
}

tb_code feed_logs_pack(feed_logs *l, const tb_log_layout *layout, tb_error *err)
{
    return pack_from(l, layout, 0, err);
}

/* Makes room: zones with more than their share are packed, which are few and hold most of it; the
 * others go on gathering, so that their blocks are not small ones. */
static tb_code pack_large(feed_logs *l, const tb_log_layout *layout, tb_error *err)
{
    size_t sum = 0;
    for (size_t i = 0; i < l->n_touched; i++)
        sum += l->zones[l->touched[i]].bytes;
    return pack_from(l, layout, sum / l->n_touched, err);
}

/* --- gathering --- */

/* Room for so many bytes at the end of the zone's memory. */
static tb_code make_room(feed_logs *l, const tb_logged *zone, gathered *g, size_t need,
                         tb_error *err)
{
    chunk *c = take_chunk(l, g->first ? LARGE : SMALL, need);
    if (!c) return no_memory(err);
    if (g->zone != zone->zone) { /* its first line since all were packed */
        l->touched[l->n_touched++] = zone->number;
        g->zone = zone->zone;
        g->extended = zone->extended;
    }
    if (g->first) g->last->next = c;
    else g->first = c;
    g->last = c;
    return TB_OK;
}

static tb_code gather(feed_logs *l, const tb_log_layout *layout, const tb_logged *zone,
                      const char *line, size_t len, tb_error *err)
{
    gathered *g = &l->zones[zone->number];
    const head h = {tb_logline_time(layout, line, len), (uint32_t)len};
    const size_t need = sizeof h + len;
    tb_code code = TB_OK;
    if (!g->last || need > g->last->cap - g->last->len) code = make_room(l, zone, g, need, err);
    if (code) return code;
    char *to = g->last->bytes + g->last->len;
    memcpy(to, &h, sizeof h);
    memcpy(to + sizeof h, line, len);
    g->last->len += need;
    g->bytes += need;
    g->lines++;
    if (g->lines == TB_LOGBLOCK_LINES || g->bytes >= TB_LOGBLOCK_TEXT)
        return pack_zone(l, layout, g, err);
    return l->used > l->keeper->room ? pack_large(l, layout, err) : TB_OK;
}

tb_code feed_logs_take(feed_logs *l, const tb_log_layout *layout, const char *bytes, size_t len,
                       const tb_intake *got, tb_error *err)
{
    const char *p = bytes, *stop = bytes + len;
    size_t rejects = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < got->n_hits && !code && p < stop; p++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        if (!end) end = stop;
        const size_t line = i + rejects + 1;
        if (rejects < got->n_rejects && got->rejects[rejects].line == line) {
            rejects++;
        } else {
            const tb_hit *hit = &got->hits[i++];
            const tb_logged *zone = hit->hour >= l->keeper->oldest_hour
                                        ? tb_logged_find(l->keeper->zones, hit->zone)
                                        : NULL;
            const size_t n = (size_t)(end - p);
            if (zone) code = gather(l, layout, zone, p, n - (n > 0 && end[-1] == '\r'), err);
        }
        p = end;
    }
    return code;
}

/* --- storing --- */

tb_code feed_logs_store(feed_logs *l, tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_list; i++)
        code = tb_store_add_logs(store, &l->list[i].info, l->blocks.data + l->list[i].at,
                                 l->list[i].len, err);
    return code;
}
