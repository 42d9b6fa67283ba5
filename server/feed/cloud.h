/* CloudEvents with usage of meters (tollbook/cloudevents.h): a body into the store, each event once.
 *
 * A body is parsed on any thread. The writer then looks up which events are known, writes the others as usage lines of meters
 * and feeds these, so that an event means what its line means: one input named "events ID", one segment. If an event
 * is refused nothing of the body is taken. */
#ifndef TOLLBOOK_SERVER_FEED_CLOUD_H
#define TOLLBOOK_SERVER_FEED_CLOUD_H

#include "tollbook/cloudevents.h"
#include "tollbook/eventids.h"
#include "tollbook/meterstore.h"

typedef struct feed_cloud_options {
    tb_cloud_form form;
    const uint8_t *secret; /* of tb_store_event_id_secret */
    int64_t sender; /* the account of the key: events are of this account, and ids of other senders are other events. 0: of any */
    const char *source;    /* name for people */
    int64_t now_us;
} feed_cloud_options;

typedef struct feed_cloud_refused {
    size_t index;
    const char *why;
} feed_cloud_refused;

typedef struct feed_cloud_report {
    size_t accepted, duplicates;
    const feed_cloud_refused *refused; /* ascending by index; lives as long as the body */
    size_t n_refused;
} feed_cloud_report;

typedef struct feed_cloud feed_cloud;
/* The options' texts live as long as the result. Errors as of tb_cloud_events_read. */
TB_MUST_USE tb_code feed_cloud_parse(tb_text body, const feed_cloud_options *options, feed_cloud **ret, tb_error *err);
size_t feed_cloud_weight(const feed_cloud *cloud); /* about as many nanoseconds of the writer, at most */
/* Once, in the caller's transaction. */
TB_MUST_USE tb_code feed_cloud_take(feed_cloud *cloud, tb_store *store, feed_cloud_report *ret_report, tb_error *err);
void feed_cloud_free(feed_cloud *cloud); /* NULL is fine */

#endif
