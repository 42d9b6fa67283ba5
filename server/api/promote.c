/* Who is the primary: POST /replica/promote makes it this standby, GET /replica/epoch tells anybody which role a server has, and
 * a request with a higher epoch than the file's ends this server's time as the primary. */
#include <inttypes.h>
#include <jansson.h>

#include "api/handlers.h"
#include "http/query.h"
#include "http/replicas.h"
#include "tollbook/json.h"

tb_code api_replica_state(tb_store *store, tb_replication *ret, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (!code) code = tb_store_replication(store, ret, err);
    tb_store_read_end(store);
    return code;
}

void api_replica_epoch(request *r)
{
    const server *s = r->worker->server;
    tb_replication now;
    tb_error err;
    if (s->replicated ? api_replica_state(r->worker->store, &now, &err) : tb_fail(&err, TB_E_REPLICA_OFF, NULL, NULL)) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf_fmt(request_text(r), "{\"role\":\"%s\",\"epoch\":%" PRId64 ",\"piece\":%" PRId64 ",\"schema\":%d}", replicas_role_name(s),
               now.last.epoch, now.last.number, tb_store_schema_of(r->worker->store));
    request_answer_text(r, 200, "application/json");
}

/* --- a higher epoch --- */

static tb_code run_supersede(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    return tb_store_supersede(store, *(int64_t *)(void *)r->work, err);
}

/* The epoch that the request names, if that is higher than the file's; else 0. */
static int64_t higher_epoch(const request *r)
{
    const tb_text header = request_header(r, HEADER_EPOCH);
    tb_replication now;
    tb_error err;
    int64_t epoch;
    if (!header.len || !query_int(header.data, header.len, &epoch)) return 0;
    return api_replica_state(r->worker->store, &now, &err) || epoch <= now.last.epoch || epoch > TB_EPOCH_MAX ? 0 : epoch;
}

bool api_replica_meets(request *r)
{
    server *s = r->worker->server;
    const tb_text who = request_header(r, HEADER_REPLICA);
    tb_follower follower;
    tb_standby by = {.schema = 0};
    const bool may_end = tb_roles_open(r->roles, TB_ACCESS_STREAM); /* who may only read how it stands may not */
    const int64_t epoch = may_end && s->replicated && replicas_role(s) != ROLE_STANDBY ? higher_epoch(r) : 0;
    if (!epoch) return false;
    if (!who.len || !followers_read(who, &follower, &by)) by.url[0] = 0;
    replicas_end_primary(s, epoch, by.url);
    *(int64_t *)(void *)r->work = epoch;
    r->job.run = run_supersede;
    r->job.alone = r->job.bare = true;
    request_submit(r);
    return true;
}

bool api_replica_met(request *r)
{
    tb_error err;
    if (r->job.run != run_supersede) return false;
    if (r->job.code || replicas_check_write(r->worker->server, &err)) request_fail_as(r, r->job.code ? &r->job.err : &err);
    else request_fail(r, TB_E_REPLICA_SUPERSEDED, NULL, NULL);
    return true;
}

tb_code api_replica_check_role(const request *r, tb_error *err)
{
    const server *s = r->worker->server;
    return replicas_role(s) == ROLE_SUPERSEDED ? replicas_check_write(s, err) : TB_OK;
}

/* --- promotion --- */

/* What is asked for, and then what came of it; in request.work. */
typedef struct promotion {
    bool force;
    int64_t epoch;
} promotion;

static promotion *promotion_of(request *r)
{
    return (promotion *)(void *)r->work;
}

static tb_code read_body(const request *r, promotion *p, tb_error *err)
{
    *p = (promotion){.force = false};
    if (!r->body_len) return TB_OK;
    json_t *body = tb_json_fits(r->body, r->body_len) ? json_loadb(r->body, r->body_len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *force = json_object_get(body, "force");
    p->force = json_is_true(force);
    const bool good = json_is_object(body) && json_object_size(body) == (force != NULL) && (!force || json_is_boolean(force));
    json_decref(body);
    return good ? TB_OK : tb_fail(err, TB_E_VALIDATION, "force", "The body is empty, or {\"force\":true}.");
}

static tb_code run_promotion(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    promotion *p = promotion_of(r);
    (void)store;
    return replicas_promote(r->worker->server, p->force, &p->epoch, err);
}

void api_replica_promote(request *r)
{
    tb_error err;
    if (read_body(r, promotion_of(r), &err)) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = run_promotion;
    request_submit_outbound(r);
}

void api_replica_promote_done(request *r)
{
    if (r->job.code) {
        request_fail_as(r, &r->job.err);
        return;
    }
    tb_buf_fmt(request_text(r), "{\"epoch\":%" PRId64 "}", promotion_of(r)->epoch);
    request_answer_text(r, 200, "application/json");
}
