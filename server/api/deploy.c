/* POST /mc/apps/{id}/deploy: requests a deployment, which makes the application `progressing`, and wakes the pool. The
 * answer only says that it was accepted; the list's status shows when it is done. Without a hook it is done at once.
 *
 * GET /mc/apps/{id}/deployment: the output so far of a running deployment, else the result of the last one. The running
 * ones are asked before the store, because one that ends in between is found there. */
#include <string.h>

#include "api/handlers.h"
#include "tollbook/calendar.h"
#include "tollbook/containerstore.h"
#include "tollbook/json.h"

static tb_code write_deployment(write_job *job, tb_store *store, tb_error *err)
{
    const request *r = job->owner;
    const bool at_once = !r->worker->server->options.deploy_hook;
    return tb_store_deploy(store, r->account, r->id, at_once, request_now_us(r), err);
}

void api_mc_deploy(request *r)
{
    r->job.run = write_deployment;
    r->job.bytes = 0;
    request_submit(r);
}

void api_mc_deployed(request *r)
{
    if (r->job.code != TB_OK) {
        request_fail_as(r, &r->job.err);
        return;
    }
    job_pool_wake(r->worker->server->pool, LANE_DEPLOY);
    request_answer_empty(r, 200);
}

/* --- the state --- */

static void put_lines(tb_buf *out, const tb_buf *text)
{
    tb_buf_str(out, ",\"output\":[");
    for (size_t at = 0; at < text->len;) {
        const char *line = text->data + at, *stop = memchr(line, '\n', text->len - at);
        const size_t len = stop ? (size_t)(stop - line) : text->len - at;
        if (at) tb_buf_str(out, ",");
        tb_json_string(out, line, len);
        at += len + 1;
    }
    tb_buf_str(out, "]}");
}

static void put_ended(tb_buf *out, const tb_deployment_state *state)
{
    char at[21] = {0};
    tb_time_format(state->ended_us, at);
    tb_buf_fmt(out, "{\"state\":\"ended\",\"succeeded\":%s,\"exitStatus\":",
               state->end.succeeded ? "true" : "false");
    if (state->end.exit_status < 0) tb_buf_str(out, "null");
    else tb_buf_fmt(out, "%d", state->end.exit_status);
    tb_buf_str(out, ",\"reason\":");
    tb_json_string(out, state->end.reason, strlen(state->end.reason));
    tb_buf_fmt(out, ",\"endedAt\":\"%s\"", at);
}

static void put_open(tb_buf *out, const char *word)
{
    tb_buf_fmt(out,
               "{\"state\":\"%s\",\"succeeded\":null,\"exitStatus\":null,\"reason\":\"\","
               "\"endedAt\":null",
               word);
}

void api_mc_deployment(request *r)
{
    tb_error err;
    tb_deployment_state state;
    tb_buf lines, past, *out = request_text(r);
    tb_buf_init(&lines, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
    tb_buf_init(&past, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
    const bool runs = deployments_runs(r->worker->server->deployments, r->account, r->id, &lines);
    tb_code code = tb_store_deployment(r->worker->store, r->account, r->id, &state, &past, &err);
    if (!code) code = tb_buf_check(&lines, &err);
    if (code) {
        request_fail_as(r, &err);
    } else {
        const bool ended = !runs && !state.waits && state.ended;
        if (ended) put_ended(out, &state);
        else put_open(out, runs ? "running" : state.waits ? "waiting" : "none");
        if (!ended) tb_buf_release(&past);
        put_lines(out, ended ? &past : &lines);
        request_answer_text(r, 200, "application/json");
    }
    tb_buf_release(&past);
    tb_buf_release(&lines);
}
