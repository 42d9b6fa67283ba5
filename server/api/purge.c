/* POST /pullzone/{id}/purgeCache and POST /purge: the caches belong to the operator, so a hook purges them. It runs on
 * the outbound lane, and the client gets its result: otherwise old content could remain while the client believes it is
 * gone. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/clock.h"
#include "http/jobs/hook.h"
#include "http/query.h"
#include "http/message.h"
#include "tollbook/totals.h"

#define VALUE_MAX 2048

typedef struct purge_work {
    int64_t account, zone, until_us;
    const char *kind; /* all, tag, url, exact */
    char value[VALUE_MAX + 1];
} purge_work;

/* --- parameters --- */

static tb_code take_value(purge_work *work, const char *field, const char *text, size_t len,
                          tb_error *err)
{
    bool clean = len > 0 && len <= VALUE_MAX;
    for (size_t i = 0; clean && i < len; i++)
        clean = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    if (!clean)
        return tb_fail(err, TB_E_VALIDATION, field,
                       "%s must be 1 to %d characters without control characters.", field,
                       VALUE_MAX);
    if (text[0] == '-') /* programs that the hook calls would take it for an option */
        return tb_fail(err, TB_E_VALIDATION, field, "%s must not begin with \"-\".", field);
    memcpy(work->value, text, len);
    work->value[len] = 0;
    return TB_OK;
}

/* null, {}, {"CacheTag":null} and an empty body mean the whole zone. */
static tb_code read_tag(const request *r, purge_work *work, tb_error *err)
{
    tb_code code = TB_OK;
    work->kind = "all";
    if (r->body_len == 0) return TB_OK;
    json_t *body = json_loadb(r->body, r->body_len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    const json_t *tag = json_object_get(body, "CacheTag");
    if (!json_is_object(body) && !json_is_null(body))
        code = tb_fail(err, TB_E_VALIDATION, NULL,
                       "The body must be a JSON object with CacheTag, or null.");
    else if (tag && !json_is_null(tag) && !json_is_string(tag))
        code = tb_fail(err, TB_E_VALIDATION, "CacheTag", "CacheTag is a string.");
    else if (json_string_length(tag) > 0) {
        work->kind = "tag";
        code = take_value(work, "CacheTag", json_string_value(tag), json_string_length(tag), err);
    }
    json_decref(body);
    return code;
}

typedef struct params {
    tb_text url;
    bool exact;
} params;

static const query_spec specs[] = {
    {"url", QUERY_TEXT, offsetof(params, url)},
    {"exactPath", QUERY_BOOL, offsetof(params, exact)},
};

/* The host of "https://host:443/path*", or without a scheme. Empty if there is a user before the host, or a backslash,
 * because other programs may read another host there. */
static tb_text host_of(const char *url)
{
    const char *mark = strstr(url, "://");
    const char *host = mark && mark < url + strcspn(url, "/?#") + 1 ? mark + 3 : url;
    const bool plain = strcspn(host, "@\\") >= strcspn(host, "/?#");
    return (tb_text){host, plain ? strcspn(host, "/?#:") : 0};
}

static tb_code read_url(request *r, purge_work *work, tb_error *err)
{
    const tb_text query = request_query(r);
    params p = {0};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (!code) code = take_value(work, "url", p.url.data, p.url.len, err);
    if (code) return code;
    const tb_text host = host_of(work->value);
    work->kind = p.exact ? "exact" : "url";
    return tb_store_zone_of_host(r->worker->store, r->account, host.data, host.len, &work->zone, err);
}

/* --- on the outbound lane --- */

static void log_line(void *ctx, const char *text)
{
    const purge_work *work = ctx;
    message_say(MESSAGE_INFO, "purging zone %" PRId64 " of account %" PRId64 ": %s", work->zone,
            work->account, text);
}

static tb_code run_purge(write_job *job, tb_store *store, tb_error *err)
{
    (void)store;
    const request *r = job->owner;
    purge_work *work = r->kept;
    const server *s = r->worker->server;
    const int64_t left_us = work->until_us - clock_mono_us();
    if (left_us < s->options.purge_us / 4) /* too little time is left to start a program */
        return tb_fail(err, TB_E_BUSY, NULL, "Too many purges wait already, try again later.");
    char account[24], zone[24], reason[HOOK_REASON];
    snprintf(account, sizeof account, "%" PRId64, work->account);
    snprintf(zone, sizeof zone, "%" PRId64, work->zone);
    char *program = (char *)(uintptr_t)s->options.purge_hook, *kind = (char *)(uintptr_t)work->kind;
    char *const arguments[] = {program, account, zone, kind, work->value[0] ? work->value : NULL, NULL};
    char *const environment[] = {NULL};
    const hook_call call = {.arguments = arguments, .environment = environment, .limit_us = left_us,
                            .stop_fd = job_pool_stop_fd(s->pool, LANE_OUTBOUND), .line = log_line, .ctx = work};
    switch (hook_run(&call, reason)) {
    case HOOK_DONE: return TB_OK;
    case HOOK_STOPPED: return tb_fail(err, TB_E_BUSY, NULL, "The server is stopping.");
    default:
        return tb_fail(err, TB_E_IO, NULL, "Purging zone %" PRId64 " failed: the hook: %s.", work->zone,
                       reason);
    }
}

static void begin(request *r, tb_code (*read)(request *r, purge_work *work, tb_error *err))
{
    tb_error err;
    if (!r->worker->server->options.purge_hook) {
        request_fail(r, TB_E_NO_PURGE_HOOK, NULL, NULL);
        return;
    }
    purge_work *work = r->kept = calloc(1, sizeof *work);
    if (!work) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    work->account = r->account;
    if (read(r, work, &err)) {
        request_fail_as(r, &err);
        return;
    }
    work->until_us = clock_mono_us() + r->worker->server->options.purge_us;
    r->job.run = run_purge;
    request_submit_outbound(r);
}

static void end(request *r, unsigned status)
{
    if (r->job.code != TB_OK) request_fail_as(r, &r->job.err);
    else request_answer_empty(r, status);
}

/* Only whether the account has the zone is of interest, not its settings. */
static tb_code read_zone(request *r, purge_work *work, tb_error *err)
{
    tb_zone_page page;
    if (!router_id(r->id, &work->zone)) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    tb_code code = tb_store_zone(r->worker->store, r->account, work->zone, &page, err);
    if (code) return code;
    tb_zone_page_release(&page);
    return read_tag(r, work, err);
}

void api_purge_zone(request *r)
{
    begin(r, read_zone);
}

void api_purge_zone_done(request *r)
{
    end(r, 204);
}

void api_purge_url(request *r)
{
    begin(r, read_url);
}

void api_purge_url_done(request *r)
{
    end(r, 200);
}
