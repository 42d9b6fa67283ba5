/* The shield events that a worker has read: packed, until its segment is flushed. One thread each. */
#ifndef TOLLBOOK_SERVER_FEED_EVENTS_H
#define TOLLBOOK_SERVER_FEED_EVENTS_H

#include "tollbook/logstore.h"

typedef struct feed_event {
    int64_t zone;
    uint64_t order;
    size_t at, size; /* in bytes */
} feed_event;

typedef struct feed_events {
    tb_event_reader *reader; /* NULL until the first event */
    feed_event *list;
    size_t n, cap;
    tb_buf bytes;
} feed_events;

void feed_events_init(feed_events *events); /* allocates nothing */
void feed_events_release(feed_events *events);
void feed_events_clear(feed_events *events);
bool feed_events_full(const feed_events *events);
/* One line: packed, or refused (*ret_good false). order ascends over the input. An event of a day
 * that is too old to be read is accepted, and not stored. */
TB_MUST_USE tb_code feed_events_take(feed_events *events, const char *line, size_t len,
                                     int64_t now_ms, uint64_t order, bool *ret_good,
                                     tb_reject *ret_reject, tb_error *ret_why, tb_error *err);
/* Those of all workers in the order in which the store takes them; the caller frees *ret_refs. They point into the
 * parts. */
TB_MUST_USE tb_code feed_events_order(feed_events *const *parts, size_t n, tb_event_ref **ret_refs, size_t *ret_n,
                                      tb_error *err);

#endif
