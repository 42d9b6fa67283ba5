/* Sums of shield events: counts by product, action and time, as GET /shield/metrics answers them, and searches with
 * groups (POST /shield/event-logs/{shieldZoneId}/search). All of it is pure: blocks in, JSON out.
 *
 * An event belongs to a product by its `feature` and to an action by its `action`, whatever their letter case and
 * signs. One without a feature is the web application firewall's; one without an action was logged. Events of other
 * features are not counted. */
#ifndef TOLLBOOK_EVENTSUM_H
#define TOLLBOOK_EVENTSUM_H

#include "tollbook/event.h"

TB_API_BEGIN

/* --- counts --- */

/* X(NAME, member of the detailed answer) */
#define TB_SHIELD_PRODUCTS(X)                                                                      \
    X(WAF, "waf")                                                                                  \
    X(DDOS, "ddos")                                                                                \
    X(RATE_LIMIT, "rateLimit")                                                                     \
    X(ACCESS_LIST, "accessLists")                                                                  \
    X(BOT, "botDetection")                                                                         \
    X(UPLOAD, "uploadScanning")                                                                    \
    X(API, "apiGuardian")

typedef enum tb_shield_product {
#define TB_X(name, member) TB_SHIELD_##name,
    TB_SHIELD_PRODUCTS(TB_X)
#undef TB_X
        TB_SHIELD_PRODUCT_COUNT
} tb_shield_product;

/* X(NAME, key in the detailed answer) */
#define TB_SHIELD_ACTIONS(X)                                                                       \
    X(BLOCKED, "blocked")                                                                          \
    X(LOGGED, "logged")                                                                            \
    X(CHALLENGED, "challenged")                                                                    \
    X(VERIFIED, "verified")                                                                        \
    X(OTHER, "other")

typedef enum tb_shield_action {
#define TB_X(name, key) TB_SHIELD_##name,
    TB_SHIELD_ACTIONS(TB_X)
#undef TB_X
        TB_SHIELD_ACTION_COUNT
} tb_shield_action;

/* false: the feature is none of the products'. */
bool tb_shield_product_of(tb_text feature, tb_shield_product *ret);
tb_shield_action tb_shield_action_of(tb_text action);

/* The resolutions of the detailed answer, by their numbers on the wire. */
typedef enum tb_shield_step {
    TB_SHIELD_AUTO,
    TB_SHIELD_2_MINUTES,
    TB_SHIELD_10_MINUTES,
    TB_SHIELD_HOURS,
    TB_SHIELD_DAYS,
    TB_SHIELD_WEEKS, /* from Monday on */
    TB_SHIELD_MONTHS,
    TB_SHIELD_STEP_COUNT
} tb_shield_step;

#define TB_SHIELD_POINTS_MAX 1000 /* most points of a detailed answer */
#define TB_SHIELD_RULES_MAX  1000 /* most rules whose counts are kept apart */

typedef struct tb_shield_counts_ask {
    int64_t from_ms, to_ms; /* to is exclusive; the points are those that the time touches */
    tb_shield_step step;
    tb_text rule; /* counts events of this ruleId only; len 0: of all */
    bool rules;   /* counts events of rate limits by their ruleId, too; of at most TB_EVENT_DAYS points */
} tb_shield_counts_ask;

typedef struct tb_shield_counts tb_shield_counts;
/* TB_E_VALIDATION: more than TB_SHIELD_POINTS_MAX points. */
TB_MUST_USE tb_code tb_shield_counts_new(const tb_shield_counts_ask *ask, tb_shield_counts **ret, tb_error *err);
void tb_shield_counts_free(tb_shield_counts *counts); /* NULL is fine */
/* Adds a block; blocks come in ascending order. TB_E_CORRUPT; TB_E_TOO_MUCH: more rules than TB_SHIELD_RULES_MAX. */
TB_MUST_USE tb_code tb_shield_counts_add(tb_shield_counts *counts, const void *block, size_t len, tb_error *err);

/* What is shown of the counts: the `data` of an answer. */
typedef enum tb_shield_view {
    TB_SHIELD_OVERVIEW,
    TB_SHIELD_DETAILED,
    TB_SHIELD_BOTS,
    TB_SHIELD_UPLOADS,
    TB_SHIELD_GUARDIAN,
    TB_SHIELD_WAF_RULE,
    TB_SHIELD_RATE_LIMITS
} tb_shield_view;
/* Appends the value of `data`. requests: of the shield zone's pull zone in the running month. */
void tb_shield_counts_json(const tb_shield_counts *counts, tb_shield_view view, uint64_t requests, tb_buf *out);

/* --- searches --- */

#define TB_EVENT_SEARCH_PAGE    50
#define TB_EVENT_SEARCH_MAX     500 /* most rows or groups of a page, and most buckets of a sparkline */
#define TB_EVENT_SEARCH_BYTES   ((size_t)8 << 20) /* most bytes of a page's rows or groups */

/* A search reads the blocks of its window once, and those with groups a second time: the first pass counts, the second
 * one describes the groups of the page. */
typedef struct tb_event_search tb_event_search;
/* As tb_event_query_parse; also groupBy, buckets, page and pageSize. */
TB_MUST_USE tb_code tb_event_search_new(const char *body, size_t len, int64_t now_ms, tb_event_search **ret, tb_error *err);
void tb_event_search_free(tb_event_search *search); /* NULL is fine */
const tb_event_query *tb_event_search_query(const tb_event_search *search);
int tb_event_search_passes(const tb_event_search *search); /* 1, or 2 with groups */
TB_MUST_USE tb_code tb_event_search_begin(tb_event_search *search, int pass, tb_error *err);
/* Adds a block; blocks come in descending order. *ret_end: no block after it is within the window. TB_E_CORRUPT;
 * TB_E_TOO_MUCH: more groups than can be kept apart, or a page of more bytes than TB_EVENT_SEARCH_BYTES. */
TB_MUST_USE tb_code tb_event_search_add(tb_event_search *search, const void *block, size_t len, bool *ret_end, tb_error *err);
/* Appends the answer. */
void tb_event_search_json(const tb_event_search *search, tb_buf *out);

TB_API_END

#endif
