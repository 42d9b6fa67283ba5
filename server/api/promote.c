/* POST /replica/promote makes this standby the primary; GET /replica/epoch tells anybody which role it has. */
#include <inttypes.h>
#include <jansson.h>

#include "api/handlers.h"
#include "http/replicas.h"
#include "tollbook/json.h"

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
