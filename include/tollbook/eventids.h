/* Ids of usage events (cloudevents.h) that were taken, so that an event that is sent again changes nothing.
 *
 * A (source, id) names an event. Kept is a hash of it under a secret of the store, until 35 days after the month of the event,
 * and while an account with events in that month is not billed for it. After that events of the month must be refused. */
#ifndef TOLLBOOK_EVENTIDS_H
#define TOLLBOOK_EVENTIDS_H

#include "tollbook/calendar.h"
#include "tollbook/event.h"
#include "tollbook/store.h"

TB_API_BEGIN

typedef struct tb_event_id {
    tb_hash128 hash;
    int64_t account, month; /* of the event */
    uint32_t index;         /* the caller's; of two with one hash the lower one comes first */
    bool known;             /* it was taken before, or stands in this list before */
} tb_event_id;

/* The store's secret; `random` becomes it where there is none, in a transaction of its own. */
TB_MUST_USE tb_code tb_store_event_id_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                                             uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err);
/* sender: the account of the sender's key. */
tb_hash128 tb_event_id_hash(const uint8_t secret[TB_EVENT_SECRET], int64_t sender, tb_text source, tb_text id);
/* Sorts the ids by hash and index, and sets `known`. */
TB_MUST_USE tb_code tb_store_look_up_event_ids(tb_store *store, tb_event_id *ids, size_t n, tb_error *err);
/* Adds those that are not known, in the caller's transaction. The list is sorted. */
TB_MUST_USE tb_code tb_store_add_event_ids(tb_store *store, const tb_event_id *ids, size_t n, tb_error *err);
#define TB_EVENT_IDS_KEPT_US (35 * TB_US_PER_DAY) /* after their month's end, at least */
/* Deletes ids of months that ended so long ago, where all accounts with events in the month are settled for it; a part, in
 * the caller's transaction. *ret_more: there are more. */
TB_MUST_USE tb_code tb_store_expire_event_ids(tb_store *store, int64_t now_us, bool *ret_more, tb_error *err);
/* Whether the month's ids are gone: its events must be refused. */
TB_MUST_USE tb_code tb_store_event_ids_gone(tb_store *store, int64_t month, bool *ret_gone, tb_error *err);

TB_API_END

#endif
