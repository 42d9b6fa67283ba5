/* Sums of a shield zone's events, and searches in them. A shield zone has some millions of events at most, which lie in
 * blocks of 64 KiB: between two blocks the caller is asked whether to go on. */
#include "tollbook/shield.h"

#include "tollbook/logstore.h"
#include "tollbook/totals.h"

#include <string.h>

typedef struct reading {
    tb_shield_step_fn goes_on;
    void *ctx;
    tb_shield_counts *counts;
    tb_event_search *search;
    tb_code code;
    tb_error err;
} reading;

static bool may_go_on(reading *r)
{
    if (!r->code && r->goes_on && !r->goes_on(r->ctx)) r->code = tb_fail(&r->err, TB_E_STOPPED, NULL, NULL);
    return !r->code;
}

static tb_code end_of(const reading *r, tb_code code, tb_error *err)
{
    if (code || !r->code) return code;
    if (err) *err = r->err;
    return r->code;
}

/* --- metrics --- */

static bool count_block(void *ctx, const void *block, size_t len)
{
    reading *r = ctx;
    if (!may_go_on(r)) return false;
    r->code = tb_shield_counts_add(r->counts, block, len, &r->err);
    return !r->code;
}

static void note_pull_zone(void *ctx, int64_t id, int64_t pull_zone, tb_text name)
{
    (void)id, (void)name;
    *(int64_t *)ctx = pull_zone;
}

/* The requests of the pull zone in the running month; 0 where there is no such zone. */
static tb_code month_requests(tb_store *store, const tb_shield_ask *ask, int64_t pull_zone, uint64_t *ret, tb_error *err)
{
    const int64_t today = tb_day_from_us(ask->now_us), first = tb_month_first_day(tb_month_from_us(ask->now_us));
    const tb_range range = {.first = first, .count = (uint32_t)(today - first + 1)};
    const tb_scope scope = {.account = ask->account, .zone = pull_zone};
    tb_series series;
    *ret = 0;
    if (!pull_zone) return TB_OK;
    tb_code code = tb_store_scope_check(store, &scope, err);
    if (code == TB_E_ZONE_NOT_FOUND) return TB_OK;
    if (!code) code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_REQUESTS), NULL, err);
    if (code) return code;
    code = tb_store_scope_series(store, &scope, &series, err);
    if (!code) *ret = (uint64_t)tb_series_total(&series, TB_M_REQUESTS);
    tb_series_release(&series);
    return code;
}

static tb_shield_counts_ask counts_ask(const tb_shield_ask *ask)
{
    const int64_t now_ms = ask->now_us / 1000, first = tb_event_first_day(now_ms) * TB_EVENT_MS_PER_DAY;
    if (ask->view == TB_SHIELD_DETAILED)
        return (tb_shield_counts_ask){.from_ms = ask->from_ms, .to_ms = ask->to_ms, .step = ask->resolution};
    return (tb_shield_counts_ask){.from_ms = first,
                                  .to_ms = first + TB_EVENT_DAYS * TB_EVENT_MS_PER_DAY,
                                  .step = TB_SHIELD_DAYS,
                                  .rule = ask->view == TB_SHIELD_WAF_RULE ? ask->rule : (tb_text){0},
                                  .rules = ask->view == TB_SHIELD_RATE_LIMITS};
}

tb_code tb_shield_metrics(tb_store *store, const tb_shield_ask *ask, tb_buf *out, tb_error *err)
{
    const tb_shield_counts_ask how = counts_ask(ask);
    const int64_t kept_ms = tb_event_first_day(ask->now_us / 1000) * TB_EVENT_MS_PER_DAY;
    reading r = {.goes_on = ask->goes_on, .ctx = ask->ctx};
    tb_event_key from;
    int64_t pull_zone = 0;
    uint64_t requests = 0;
    tb_code code = tb_store_shield_zone(store, ask->account, ask->zone, 0, note_pull_zone, &pull_zone, err);
    if (!code) code = tb_shield_counts_new(&how, &r.counts, err);
    if (code) return code;
    tb_event_key_set(&from, how.from_ms > kept_ms ? how.from_ms : kept_ms, NULL, 0);
    code = tb_store_events_up(store, ask->zone, &from, count_block, &r, err);
    code = end_of(&r, code, err);
    if (!code) code = month_requests(store, ask, pull_zone, &requests, err);
    if (!code) {
        tb_buf_str(out, "{\"data\":");
        tb_shield_counts_json(r.counts, ask->view, requests, out);
        tb_buf_str(out, ",\"error\":null}");
        code = tb_buf_check(out, err);
    }
    tb_shield_counts_free(r.counts);
    return code;
}

/* --- searches --- */

static bool search_block(void *ctx, const void *block, size_t len)
{
    reading *r = ctx;
    bool end = false;
    if (!may_go_on(r)) return false;
    r->code = tb_event_search_add(r->search, block, len, &end, &r->err);
    return !r->code && !end;
}

tb_code tb_shield_search_events(tb_store *store, const tb_shield_search *ask, tb_buf *out, tb_error *err)
{
    reading r = {.goes_on = ask->goes_on, .ctx = ask->ctx};
    char highest[TB_EVENT_ID_MAX];
    tb_event_key to;
    tb_code code = tb_event_search_new(ask->body, ask->len, ask->now_us / 1000, &r.search, err);
    if (code) return code;
    memset(highest, 0xff, sizeof highest);
    tb_event_key_set(&to, tb_event_query_to(tb_event_search_query(r.search)) - 1, highest, sizeof highest);
    for (int pass = 0; !code && pass < tb_event_search_passes(r.search); pass++) {
        code = tb_event_search_begin(r.search, pass, err);
        if (!code) code = tb_store_events_down(store, ask->zone, &to, search_block, &r, err);
        code = end_of(&r, code, err);
    }
    if (!code) {
        tb_event_search_json(r.search, out);
        code = tb_buf_check(out, err);
    }
    tb_event_search_free(r.search);
    return code;
}
