#include "feed/meters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/run.h"
#include "tollbook/calendar.h"
#include "tollbook/logstore.h"

/* --- of a worker --- */

void feed_meters_release(feed_meters *meters)
{
    tb_meter_batch_free(meters->batch);
    tb_meter_resources_free(meters->known);
    *meters = (feed_meters){0};
}

void feed_meters_clear(feed_meters *meters)
{
    if (meters->batch) tb_meter_batch_clear(meters->batch);
    if (meters->known) tb_meter_resources_clear(meters->known);
}

void feed_meters_forget(feed_meters *meters)
{
    if (meters->known) tb_meter_resources_clear(meters->known);
}

bool feed_meters_full(const feed_meters *meters)
{
    return meters->batch && tb_meter_batch_full(meters->batch);
}

size_t feed_meters_bytes(const feed_meters *meters)
{
    size_t n = 0;
    if (!meters->batch) return 0;
    if (meters->known) (void)tb_meter_resources_list(meters->known, &n);
    return tb_meter_batch_bytes(meters->batch) + n * sizeof(tb_meter_resource);
}

/* --- of the run --- */

void feed_metered_release(feed_metered *metered)
{
    tb_directory_release(metered->directory);
    tb_meter_resources_free(metered->fresh);
    tb_meter_resources_free(metered->accounts);
    *metered = (feed_metered){0};
}

void feed_metered_clear(feed_metered *metered)
{
    if (!metered->fresh) return;
    tb_meter_resources_clear(metered->fresh);
    tb_meter_resources_clear(metered->accounts);
}

/* For the first line of a run, and of a worker. */
static tb_code begin_meters(feed_worker *worker, tb_error *err)
{
    feed_run *run = worker->run;
    feed_metered *m = &run->metered;
    feed_meters *own = &worker->meters;
    tb_code code = TB_OK;
    pthread_mutex_lock(&run->writing);
    if (!m->directory) {
        const tb_directory *d = run->options->directory;
        if (!d) code = tb_store_directory(run->store, false, &d, err);
        if (!code) m->directory = tb_directory_retain(d);
    }
    if (!m->fresh) m->fresh = tb_meter_resources_new();
    if (!m->accounts) m->accounts = tb_meter_resources_new();
    if (!code && (!m->fresh || !m->accounts)) code = tb_no_memory(err);
    pthread_mutex_unlock(&run->writing);
    if (!own->known) own->known = tb_meter_resources_new();
    if (!own->batch) own->batch = feed_run_meter_batch(run);
    return code || (own->known && own->batch) ? code : tb_no_memory(err);
}

typedef struct taking {
    feed_worker *worker;
    feed_run *run;
    const tb_meter_line *line;
    tb_meter_key key;
    bool good;
    tb_error *why;
} taking;

/* Its sentence is in *why. */
static tb_code refuse(taking *t, uint32_t byte)
{
    t->good = false;
    t->why->byte = byte ? byte : 1;
    return TB_OK;
}

static tb_code check_same(taking *t, int64_t account)
{
    if (t->key.account == 0) t->key.account = account;
    if (t->key.account == account) return TB_OK;
    (void)!tb_fail(t->why, TB_E_BAD_LINE, "account",
                   "\"account\" is %" PRId64 ", but %s \"%s\" belongs to account %" PRId64 ", and stays there.", t->key.account,
                   t->key.noun, t->key.resource, account);
    return refuse(t, t->line->at.account);
}

/* Whether the account is declared, and has room for one more resource, which it then counts. */
static tb_code count_resource(taking *t, tb_error *err)
{
    feed_run *run = t->run;
    char name[24];
    snprintf(name, sizeof name, "%" PRId64, t->key.account);
    tb_meter_resource *known = tb_meter_resources_find(run->metered.accounts, "", name);
    if (!known) {
        bool declared = false;
        int64_t n = 0;
        pthread_mutex_lock(&run->writing);
        tb_code code = tb_store_meter_account(run->store, t->key.account, &declared, &n, err);
        pthread_mutex_unlock(&run->writing);
        if (!code) code = tb_meter_resources_add(run->metered.accounts, "", name, declared ? n : -1, err);
        if (code) return code;
        known = tb_meter_resources_find(run->metered.accounts, "", name);
    }
    if (known->account < 0) {
        (void)!tb_fail(t->why, TB_E_BAD_LINE, "account", "\"account\" is %s, which no catalogue declares.", name);
        return refuse(t, t->line->at.account ? t->line->at.account : t->line->at.resource);
    }
    if (known->account >= TB_METER_RESOURCES) {
        (void)!tb_fail(t->why, TB_E_BAD_LINE, "resource", "\"resource\" would be more than the %d that account %s may have.",
                       TB_METER_RESOURCES, name);
        return refuse(t, t->line->at.resource);
    }
    known->account++;
    return TB_OK;
}

/* A resource that was not in the store before this input. Waits until all earlier lines are read. named: of an undo, the
 * account that the input named for it, 0: none. */
static tb_code resolve_fresh(taking *t, int64_t named, tb_error *err)
{
    feed_run *run = t->run;
    feed_run_turn(run, t->worker);
    tb_meter_resource *fresh = tb_meter_resources_find(run->metered.fresh, t->key.noun, t->key.resource);
    if (fresh && fresh->account) return check_same(t, fresh->account);
    tb_code code = fresh ? TB_OK : tb_meter_resources_add(run->metered.fresh, t->key.noun, t->key.resource, 0, err);
    if (code) return code;
    if (!t->key.account) {
        (void)!tb_fail(t->why, TB_E_BAD_LINE, "account",
                       "\"account\" is missing: no line before this one named the account of %s \"%s\".", t->key.noun,
                       t->key.resource);
        return refuse(t, t->line->at.resource);
    }
    if (!run->undo) {
        code = count_resource(t, err);
    } else if (t->key.account != named) {
        (void)!tb_fail(t->why, TB_E_BAD_LINE, "account", NULL);
        code = refuse(t, t->line->at.account);
    }
    if (code || !t->good) return code;
    tb_meter_resources_find(run->metered.fresh, t->key.noun, t->key.resource)->account = t->key.account;
    return TB_OK;
}

/* The key's account is that of its resource, or the line is refused. */
static tb_code resolve(taking *t, tb_error *err)
{
    feed_run *run = t->run;
    tb_meter_resources *known = t->worker->meters.known;
    const tb_meter_resource *resource = tb_meter_resources_find(known, t->key.noun, t->key.resource);
    if (resource) return check_same(t, resource->account);
    int64_t account = 0, segment = 0;
    pthread_mutex_lock(&run->writing);
    tb_code code = tb_store_meter_resource(run->store, t->key.noun, t->key.resource, &account, &segment, err);
    pthread_mutex_unlock(&run->writing);
    if (code) return code;
    const bool stored = account && !(run->undo && segment >= run->undone_segment);
    code = stored ? check_same(t, account) : resolve_fresh(t, segment == run->undone_segment ? account : 0, err);
    if (!stored) account = t->good ? t->key.account : 0;
    if (!code && account) code = tb_meter_resources_add(known, t->key.noun, t->key.resource, account, err);
    return code;
}

static tb_code refuse_meter(taking *t)
{
    const tb_directory *d = t->run->metered.directory;
    static const size_t each = TB_METER_ID_MAX + 1;
    char *words = calloc(d->n_meters + 1, each), meant[TB_MEANT_MAX];
    size_t len = 0;
    for (size_t i = 0; words && i < d->n_meters; i++)
        len += (size_t)snprintf(words + len, each + 1, "%s%s", i ? "|" : "", d->meters[i].id);
    (void)!tb_fail(t->why, TB_E_BAD_LINE, "meter", "\"meter\" is \"%s\", which no catalogue declares.%s", t->line->meter,
                   tb_meant(words ? words : "", "", t->line->meter, strlen(t->line->meter), meant));
    free(words);
    return refuse(t, t->line->at.meter);
}

static tb_code take_meter_line(taking *t, uint64_t order, tb_error *err)
{
    int64_t at_us = 0;
    const tb_directory *d = t->run->metered.directory;
    const tb_meter *meter = t->run->undo ? tb_meter_find(d->ever_meters, d->n_ever_meters, t->line->meter)
                                         : tb_meter_find(d->meters, d->n_meters, t->line->meter);
    if (!meter) return refuse_meter(t);
    tb_code code = tb_meter_line_check(meter, t->line, &t->key, &at_us, t->why);
    if (code) return refuse(t, (uint32_t)t->why->byte);
    code = resolve(t, err);
    if (code || !t->good) return code;
    return tb_meter_batch_add(t->worker->meters.batch, meter, &t->key, at_us, t->line->value, order, err);
}

tb_code feed_meters_take(feed_worker *worker, const char *line, size_t len, int64_t now_ms, bool *ret_good,
                         tb_reject *ret_reject, tb_error *ret_why, tb_error *err)
{
    tb_meter_line read;
    *ret_good = tb_meter_line_parse(line, len, now_ms, &read, ret_reject, ret_why);
    if (!*ret_good) return TB_OK;
    tb_code code = worker->meters.batch ? TB_OK : begin_meters(worker, err);
    taking t = {.worker = worker, .run = worker->run, .line = &read, .good = true, .why = ret_why};
    if (!code) code = take_meter_line(&t, (uint64_t)worker->number << 32 | (worker->lines & UINT32_MAX), err);
    *ret_good = t.good;
    if (!code && !t.good)
        *ret_reject = (tb_reject){
            .line = 1, .byte = (uint32_t)ret_why->byte, .len = (uint32_t)len, .text = line, .reason = TB_REJECT_METER};
    return code;
}

tb_code feed_meters_sample(feed_worker *worker, const tb_hit *hits, size_t n, tb_error *err)
{
    const feed_run *run = worker->run;
    const tb_directory *d = run->directory;
    tb_meter_key key = {.meter = 0};
    int64_t zone = 0;
    if (!d->sampled || !n) return TB_OK;
    const tb_meter *meter = tb_meter_find(d->ever_meters, d->n_ever_meters, TB_METER_BANDWIDTH);
    if (!meter) return tb_fail(err, TB_E_INTERNAL, "samples", NULL);
    if (!worker->meters.batch) worker->meters.batch = feed_run_meter_batch(worker->run);
    tb_code code = worker->meters.batch ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        const tb_hit *hit = &hits[i];
        if (hit->zone != zone) {
            zone = hit->zone;
            key = (tb_meter_key){meter->number, tb_sampled_account(d->sampled, zone, run->undo ? run->undone_samples : d->samples),
                                 TB_METER_BANDWIDTH_NOUN, "", {"", ""}};
            snprintf(key.resource, sizeof key.resource, "%" PRId64, zone);
        }
        const int64_t at_us = hit->hour * TB_US_PER_HOUR + hit->interval * INT64_C(300000000);
        if (key.account) code = tb_meter_batch_add(worker->meters.batch, meter, &key, at_us, hit->bytes, 0, err);
    }
    return code;
}

/* --- storing --- */

tb_code feed_metered_unchanged(const feed_run *run, bool *ret_so, tb_error *err)
{
    const feed_metered *m = &run->metered;
    const tb_directory *d = m->directory;
    size_t n = 0;
    if (!d) return TB_OK;
    tb_code code = tb_store_directory(run->store, d->hosts != NULL, &d, err);
    *ret_so &= !code && d == m->directory;
    const tb_meter_resource *list = tb_meter_resources_list(m->fresh, &n);
    for (size_t i = 0; !code && *ret_so && i < n; i++) {
        int64_t account = 0, segment = 0;
        code = tb_store_meter_resource(run->store, list[i].noun, list[i].name, &account, &segment, err);
        *ret_so = account == 0;
    }
    return code;
}

size_t feed_metered_parts(const feed_run *run, tb_meter_usage *parts)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n_workers; i++) {
        const tb_meter_batch *batch = run->workers[i].meters.batch;
        if (batch) parts[n] = tb_meter_batch_usage(batch);
        if (batch && parts[n].n_keys) n++;
    }
    return n;
}
