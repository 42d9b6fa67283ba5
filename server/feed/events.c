/* Gathering events, and sorting them: the store merges them block by block. */
#include "feed/events.h"

#include <stdlib.h>

#define BYTES_FULL ((size_t)32 << 20)
#define BYTES_MAX  (BYTES_FULL + ((size_t)16 << 20)) /* a block of lines more */

void feed_events_init(feed_events *events)
{
    *events = (feed_events){.n = 0};
    tb_buf_init(&events->bytes, BYTES_MAX, NULL);
}

void feed_events_release(feed_events *events)
{
    tb_event_reader_free(events->reader);
    free(events->list);
    tb_buf_release(&events->bytes);
    *events = (feed_events){.n = 0};
}

void feed_events_clear(feed_events *events)
{
    events->n = 0;
    events->bytes.len = 0;
    events->bytes.failed = false;
}

bool feed_events_full(const feed_events *events)
{
    return events->bytes.len >= BYTES_FULL;
}

static tb_code keep(feed_events *events, const tb_event *event, uint64_t order, tb_error *err)
{
    if (events->n == events->cap) {
        const size_t cap = events->cap ? events->cap * 2 : 1024;
        feed_event *more = realloc(events->list, cap * sizeof *more);
        if (!more) return tb_no_memory(err);
        events->list = more;
        events->cap = cap;
    }
    const size_t at = events->bytes.len;
    tb_event_pack(event, &events->bytes);
    tb_code code = tb_buf_check(&events->bytes, err);
    if (code) return code;
    events->list[events->n++] = (feed_event){event->zone, order, at, events->bytes.len - at};
    return TB_OK;
}

tb_code feed_events_take(feed_events *events, const char *line, size_t len, int64_t now_ms,
                         uint64_t order, bool *ret_good, tb_reject *ret_reject, tb_error *ret_why,
                         tb_error *err)
{
    tb_event event;
    if (!events->reader) events->reader = tb_event_reader_new();
    if (!events->reader) return tb_no_memory(err);
    *ret_good = tb_event_parse(events->reader, line, len, now_ms, &event, ret_reject, ret_why);
    if (!*ret_good) return ret_why->code == TB_E_NOMEM ? tb_no_memory(err) : TB_OK;
    if (event.time_ms / TB_EVENT_MS_PER_DAY < tb_event_first_day(now_ms)) return TB_OK;
    return keep(events, &event, order, err);
}

tb_code feed_events_order(feed_events *const *parts, size_t n, tb_event_ref **ret_refs, size_t *ret_n, tb_error *err)
{
    size_t all = 0, at = 0;
    bool sound = true;
    for (size_t i = 0; i < n; i++)
        all += parts[i]->n;
    tb_event_ref *refs = malloc((all + 1) * sizeof *refs);
    if (!refs) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i]->n && sound; k++) {
            const feed_event *e = &parts[i]->list[k];
            sound = tb_event_ref_set(&refs[at++], e->zone, e->order, parts[i]->bytes.data + e->at,
                                     e->size);
        }
    if (!sound) {
        free(refs);
        return tb_fail(err, TB_E_INTERNAL, NULL, "A packed event is damaged.");
    }
    qsort(refs, all, sizeof *refs, tb_event_ref_compare);
    *ret_refs = refs;
    *ret_n = all;
    return TB_OK;
}
