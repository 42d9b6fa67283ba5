/* POST /catalog: the declared state, applied whole by the writer. */
#include <string.h>

#include "api/handlers.h"

static tb_applied *applied_of(request *r)
{
    return (tb_applied *)(void *)r->work;
}

/* Parsed on the writer's thread: a large catalogue must not hold up a worker's other clients. */
static tb_code run(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_catalog catalog;
    tb_code code = tb_catalog_parse(r->body ? r->body : "", r->body_len, &catalog, err);
    if (code) return code;
    code = tb_store_apply_catalog(store, &catalog, request_now_us(r), applied_of(r), err);
    tb_catalog_release(&catalog);
    return code;
}

void api_catalog(request *r)
{
    memset(r->work, 0, sizeof(tb_applied));
    r->job.run = run;
    r->job.bytes = r->body_len;
    request_submit(r);
}

void api_catalog_done(request *r)
{
    const tb_applied *a = applied_of(r);
    if (r->job.code != TB_OK) {
        request_fail_at(r, &r->job.err);
        return;
    }
    tb_buf_fmt(request_text(r),
               "{\"accountsAdded\":%zu,\"zonesAdded\":%zu,\"loadBalancersAdded\":%zu,"
               "\"shieldZonesAdded\":%zu,\"containersAdded\":%zu,\"regions\":%zu,\"changed\":%zu,"
               "\"deleted\":%zu,\"restored\":%zu,\"adopted\":%zu,"
               "\"rebilled\":%zu}",
               a->accounts_added, a->zones_added, a->balancers_added, a->shields_added,
               a->containers_added, a->regions, a->changed, a->deleted, a->restored, a->adopted,
               a->rebilled);
    request_answer_text(r, 200, "application/json");
}
