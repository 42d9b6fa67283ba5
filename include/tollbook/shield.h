/* Metrics and searches of a shield zone's events, the same bytes for a linked program and for HTTP
 * (GET /shield/metrics/..., POST /shield/event-logs/{shieldZoneId}/search in docs/openapi.yaml). */
#ifndef TOLLBOOK_SHIELD_H
#define TOLLBOOK_SHIELD_H

#include "tollbook/eventsum.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* Asked between blocks of events; false stops with TB_E_STOPPED. */
typedef bool (*tb_shield_step_fn)(void *ctx);

typedef struct tb_shield_ask {
    int64_t account, zone; /* the shield zone */
    int64_t now_us;
    tb_shield_view view;
    int64_t from_ms, to_ms;    /* of TB_SHIELD_DETAILED; to is exclusive */
    tb_shield_step resolution; /* of TB_SHIELD_DETAILED */
    tb_text rule;              /* of TB_SHIELD_WAF_RULE */
    tb_shield_step_fn goes_on; /* NULL: always */
    void *ctx;
} tb_shield_ask;

/* Appends the answer, in the caller's snapshot. All views but TB_SHIELD_DETAILED are of the days whose events are kept.
 * TB_E_SHIELD_NOT_FOUND: the account has no such shield zone. Others: as tb_shield_counts_new and _add. */
TB_MUST_USE tb_code tb_shield_metrics(tb_store *store, const tb_shield_ask *ask, tb_buf *out, tb_error *err);

/* Appends the answer to a search, in the caller's snapshot. The caller has checked that the shield zone is the account's.
 * Events of days that are no longer kept are not found. Others: as tb_event_search_new and _add. */
typedef struct tb_shield_search {
    int64_t zone, now_us;
    const char *body;
    size_t len;
    tb_shield_step_fn goes_on; /* NULL: always */
    void *ctx;
} tb_shield_search;
TB_MUST_USE tb_code tb_shield_search_events(tb_store *store, const tb_shield_search *ask, tb_buf *out, tb_error *err);

TB_API_END

#endif
