/* CloudEvents 1.0 in JSON, one or a batch, whose data is usage of a meter:
 *
 *   {"specversion":"1.0","id":"7","source":"edge-3","type":"storage","subject":"sz-1","time":"2026-11-01T13:07:00Z",
 *    "data":{"account":3,"value":48230144,"dimensions":{"region":"DE"}}}
 *
 * `type` is the meter, `subject` the resource. Other attributes are extensions and ignored; `data` has no other members. Pure:
 * what the meter's declaration says is checked later (tb_meter_line_check). */
#ifndef TOLLBOOK_CLOUDEVENTS_H
#define TOLLBOOK_CLOUDEVENTS_H

#include "tollbook/buf.h"
#include "tollbook/meter.h"

TB_API_BEGIN

typedef enum tb_cloud_form { TB_CLOUD_ANY, TB_CLOUD_ONE, TB_CLOUD_BATCH } tb_cloud_form;

typedef struct tb_cloud_event {
    tb_text source, id; /* both 1 byte at least; they live until the call of tb_cloud_fn ends */
    tb_meter_line line; /* not hourly; time_us: now_us where the event has no time */
} tb_cloud_event;

/* index: of the event in the batch. refused: why it does not parse, a sentence; NULL: it does. */
typedef tb_code (*tb_cloud_fn)(void *ctx, size_t index, const tb_cloud_event *event, const char *refused, tb_error *err);

/* Calls fn for each event of the body, in its order. TB_E_BAD_INPUT with the byte: it is not JSON, not of the form, or has no
 * CloudEvent, and fn was not called. Check an untrusted body with tb_json_fits first. */
TB_MUST_USE tb_code tb_cloud_events_read(tb_text body, tb_cloud_form form, int64_t now_us, tb_cloud_fn fn, void *ctx,
                                         tb_error *err);

/* Appends the usage line that an event means for a meter of this kind, with its end (tb_meter_line_parse reads it). An event of
 * a counter belongs to the hour of its time. */
void tb_cloud_event_line(const tb_meter_line *line, tb_meter_kind kind, tb_buf *out);

TB_API_END

#endif
