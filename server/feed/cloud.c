#include "feed/cloud.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/run.h"

#define EVENT_WEIGHT ((size_t)6000)
#define LINES_MAX    ((size_t)256 << 20)

typedef struct one {
    tb_meter_line line;
    bool skip; /* it is known, or refused */
    char *why; /* NULL: it is not refused */
} one;

struct feed_cloud {
    feed_cloud_options options;
    one *events;
    tb_event_id *ids; /* of those that parse */
    size_t n, n_ids, cap;
    tb_buf text;     /* the lines of new events */
    uint32_t *index; /* of each of these lines: its event */
    size_t n_index;
    feed_cloud_refused *refused;
    size_t n_refused;
};

void feed_cloud_free(feed_cloud *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++)
        free(c->events[i].why);
    tb_buf_release(&c->text);
    free(c->refused);
    free(c->events);
    free(c->index);
    free(c->ids);
    free(c);
}

static tb_code refuse_event(feed_cloud *c, size_t index, const char *why, tb_error *err)
{
    one *event = &c->events[index];
    event->skip = true;
    event->why = strdup(why);
    c->n_refused++;
    return event->why ? TB_OK : tb_no_memory(err);
}

/* --- parsing --- */

static tb_code grow_events(feed_cloud *c, tb_error *err)
{
    const size_t cap = c->cap ? c->cap * 2 : 64;
    one *events = realloc(c->events, cap * sizeof *events);
    if (events) c->events = events;
    tb_event_id *ids = events ? realloc(c->ids, cap * sizeof *ids) : NULL;
    if (!ids) return tb_no_memory(err);
    c->ids = ids;
    c->cap = cap;
    return TB_OK;
}

static tb_code take_event(void *ctx, size_t index, const tb_cloud_event *event, const char *refused, tb_error *err)
{
    feed_cloud *c = ctx;
    tb_code code = c->n == c->cap ? grow_events(c, err) : TB_OK;
    if (code) return code;
    c->events[c->n++] = (one){.line = event->line};
    if (refused) return refuse_event(c, index, refused, err);
    int64_t *account = &c->events[index].line.account;
    if (*account == 0) *account = c->options.sender;
    if (c->options.sender && *account != c->options.sender) {
        char why[80];
        snprintf(why, sizeof why, "\"account\" is %" PRId64 ", but the key is of account %" PRId64 ".", *account, c->options.sender);
        return refuse_event(c, index, why, err);
    }
    c->ids[c->n_ids++] = (tb_event_id){
        .hash = tb_event_id_hash(c->options.secret, c->options.sender, event->source, event->id),
        .account = *account,
        .month = tb_month_from_us(event->line.time_us),
        .index = (uint32_t)index};
    return TB_OK;
}

tb_code feed_cloud_parse(tb_text body, const feed_cloud_options *options, feed_cloud **ret, tb_error *err)
{
    feed_cloud *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    c->options = *options;
    tb_buf_init(&c->text, LINES_MAX, NULL);
    tb_code code = tb_cloud_events_read(body, options->form, options->now_us, take_event, c, err);
    if (code) feed_cloud_free(c);
    else *ret = c;
    return code;
}

size_t feed_cloud_weight(const feed_cloud *c)
{
    return c->n * EVENT_WEIGHT;
}

/* --- lines --- */

/* --- taking --- */

/* Months whose ids may go are looked at now, so that it does not depend on when the last look was. */
static tb_code refuse_gone(feed_cloud *c, tb_store *store, tb_error *err)
{
    const int64_t old = tb_month_from_us(c->options.now_us - TB_EVENT_IDS_KEPT_US);
    int64_t month = INT64_MIN;
    bool gone = false, looked = false, more;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < c->n; i++) {
        const int64_t of = c->events[i].skip ? INT64_MAX : tb_month_from_us(c->events[i].line.time_us);
        if (of >= old) continue;
        if (!looked) code = tb_store_expire_event_ids(store, c->options.now_us, &more, err);
        looked = true;
        if (!code && of != month) code = tb_store_event_ids_gone(store, of, &gone, err);
        month = of;
        if (code || !gone) continue;
        char why[160], name[8];
        tb_month_format(of, name);
        snprintf(why, sizeof why, "\"time\" is in %s, whose event ids are no longer kept: it is not known whether this event was "
                                  "counted.", name);
        code = refuse_event(c, i, why, err);
    }
    return code;
}

/* The lines that were refused, as events. */
static tb_code refuse_lines(feed_cloud *c, const feed_run *run, tb_error *err)
{
    const feed_rejects *rejects = &run->workers[0].rejects;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < rejects->n; i++) {
        const feed_reject *line = &rejects->list[i];
        const uint64_t number = feed_run_count(run, 0, 0, line->block) + line->line;
        if (number > c->n_index) return tb_fail(err, TB_E_INTERNAL, "index", NULL);
        code = refuse_event(c, c->index[number - 1], feed_reject_why(rejects, line), err);
    }
    return code;
}

/* Accounts of events that leave them out, once their resources are in the store. */
static tb_code find_accounts(feed_cloud *c, tb_store *store, const tb_directory *d, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < c->n_ids; i++) {
        tb_event_id *id = &c->ids[i];
        const tb_meter_line *line = &c->events[id->index].line;
        const tb_meter *meter = id->known || id->account ? NULL : tb_meter_find(d->meters, d->n_meters, line->meter);
        int64_t segment = 0;
        if (meter) code = tb_store_meter_resource(store, meter->noun, line->resource, &id->account, &segment, err);
    }
    return code;
}

/* The input has the name of the first new id that is taken: no other input has this id. */
static tb_code feed_lines(feed_cloud *c, tb_store *store, const tb_directory *d, tb_error *err)
{
    char name[TB_BATCH_NAME_MAX + 1];
    const feed_body body = {c->text.data, c->text.len, FEED_PLAIN, c->text.len};
    const feed_options options = {.kind = TB_BATCH_BUCKETS,
                                  .layout = {.now_ms = c->options.now_us / 1000},
                                  .batch = name,
                                  .source = c->options.source,
                                  .whole = true,
                                  .bounded = true,
                                  .threads = 1,
                                  .now_us = c->options.now_us};
    feed_report report;
    feed_run *run = NULL;
    bool stale = false;
    size_t first = 0;
    while (c->ids[first].known || c->events[c->ids[first].index].skip)
        first++;
    snprintf(name, sizeof name, "events %016" PRIx64 "%016" PRIx64, c->ids[first].hash.high, c->ids[first].hash.low);
    tb_code code = feed_parse(store, &body, &options, &run, err);
    if (code) return code;
    code = refuse_lines(c, run, err);
    if (!code && !c->n_refused) {
        code = feed_take(run, store, &report, &stale, err);
        if (!code && (stale || report.accepted != c->n_index)) code = tb_fail(err, TB_E_INTERNAL, "events", NULL);
        if (!code) code = find_accounts(c, store, d, err);
        if (!code) code = tb_store_add_event_ids(store, c->ids, c->n_ids, err);
    }
    feed_run_free(run);
    return code;
}

static tb_code list_refused(feed_cloud *c, tb_error *err)
{
    size_t n = 0;
    c->refused = malloc((c->n_refused + 1) * sizeof *c->refused);
    if (!c->refused) return tb_no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].why) c->refused[n++] = (feed_cloud_refused){i, c->events[i].why};
    return TB_OK;
}

tb_code feed_cloud_take(feed_cloud *c, tb_store *store, feed_cloud_report *ret_report, tb_error *err)
{
    const tb_directory *d = NULL;
    size_t duplicates = 0;
    tb_code code = refuse_gone(c, store, err);
    if (!code) code = tb_store_look_up_event_ids(store, c->ids, c->n_ids, err);
    for (size_t i = 0; !code && i < c->n_ids; i++) {
        one *event = &c->events[c->ids[i].index];
        if (!c->ids[i].known || event->skip) continue;
        event->skip = true;
        duplicates++;
    }
    if (!code) code = tb_store_directory(store, false, &d, err);
    c->index = code ? NULL : malloc((c->n + 1) * sizeof *c->index);
    if (!code && !c->index) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < c->n; i++) {
        const tb_meter_line *line = &c->events[i].line;
        if (c->events[i].skip) continue;
        const tb_meter *meter = tb_meter_find(d->meters, d->n_meters, line->meter);
        tb_cloud_event_line(line, meter ? meter->kind : TB_METER_KIND_COUNT, &c->text);
        c->index[c->n_index++] = (uint32_t)i;
    }
    if (!code) code = tb_buf_check(&c->text, err);
    if (!code && c->n_index) code = feed_lines(c, store, d, err);
    if (!code) code = list_refused(c, err);
    if (code) return code;
    *ret_report = (feed_cloud_report){.accepted = c->n_refused ? 0 : c->n_index,
                                      .duplicates = duplicates,
                                      .refused = c->refused,
                                      .n_refused = c->n_refused};
    return TB_OK;
}
