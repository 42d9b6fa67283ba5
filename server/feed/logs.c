/* Gathering lines by zone, and packing them.
 *
 * A line is copied once, behind the others of its zone, as the block that it came in is overwritten
 * by the next. A zone's lines are packed when they fill a block; all are packed when together they
 * take the room there is, and at the end of a segment. Packed blocks wait for the segment's
 * transaction; when they too have become many, the worker says that it is full, and its segment
 * ends. So memory is bounded whatever the log. */
#include "feed/logs.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_ALL   ((size_t)192 << 20) /* gathered lines of all workers together */
#define PACKED_MAX ((size_t)64 << 20)  /* packed blocks of a worker: its segment ends */
#define HOUR_MS    INT64_C(3600000)

/* A line in a zone's memory is its head, then its text. */
typedef struct head {
    int64_t time_ms;
    uint32_t len;
} head;

typedef struct gathered {
    int64_t zone;
    char *bytes;
    size_t len, cap;
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

void feed_logs_clear(feed_logs *l)
{
    for (size_t i = 0; i < l->n_touched; i++) {
        free(l->zones[l->touched[i]].bytes);
        l->zones[l->touched[i]] = (gathered){0};
    }
    l->n_touched = l->used = l->n_list = l->blocks.len = 0;
    l->blocks.failed = false;
}

void feed_logs_free(feed_logs *l)
{
    if (!l) return;
    feed_logs_clear(l);
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
    for (const char *p = g->bytes; n < g->lines; n++) {
        head h;
        memcpy(&h, p, sizeof h);
        l->times[n] = h.time_ms;
        l->line[n] = p + sizeof h;
        l->line_len[n] = h.len;
        p += sizeof h + h.len;
    }
    const size_t at = l->blocks.len;
    tb_code code = tb_logpack_block(l->pack, g->zone, l->times, n, line_of, l, &l->blocks, &info,
                                    err);
    if (!code) code = note_block(l, &info, at, err);
    g->len = g->lines = 0;
    return code;
}

tb_code feed_logs_pack(feed_logs *l, const tb_log_layout *layout, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n_touched; i++) {
        gathered *g = &l->zones[l->touched[i]];
        code = pack_zone(l, layout, g, err);
        free(g->bytes);
        *g = (gathered){0};
    }
    l->n_touched = l->used = 0;
    return code;
}

/* --- gathering --- */

static tb_code make_room(feed_logs *l, const tb_logged *zone, gathered *g, size_t need,
                         tb_error *err)
{
    size_t cap = g->cap ? g->cap * 2 : 1024;
    while (cap < need)
        cap *= 2;
    char *bytes = realloc(g->bytes, cap);
    if (!bytes) return no_memory(err);
    l->used += cap - g->cap;
    if (!g->cap) l->touched[l->n_touched++] = zone->number;
    g->bytes = bytes;
    g->cap = cap;
    g->zone = zone->zone;
    g->extended = zone->extended;
    return TB_OK;
}

static tb_code gather(feed_logs *l, const tb_log_layout *layout, const tb_logged *zone,
                      const char *line, size_t len, tb_error *err)
{
    gathered *g = &l->zones[zone->number];
    const head h = {tb_logline_time(layout, line, len), (uint32_t)len};
    const size_t need = g->len + sizeof h + len;
    tb_code code = need > g->cap ? make_room(l, zone, g, need, err) : TB_OK;
    if (code) return code;
    memcpy(g->bytes + g->len, &h, sizeof h);
    memcpy(g->bytes + g->len + sizeof h, line, len);
    g->len = need;
    g->lines++;
    if (g->lines == TB_LOGBLOCK_LINES || g->len >= TB_LOGBLOCK_TEXT)
        return pack_zone(l, layout, g, err);
    return l->used > l->keeper->room ? feed_logs_pack(l, layout, err) : TB_OK;
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
