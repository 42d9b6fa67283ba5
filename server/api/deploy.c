/* POST /mc/apps/{id}/deploy (contract 6): the deployment is noted, which makes the application
 * `progressing`, and the deployer is told. The answer says that it was taken on, not that it is
 * done: the list's status shows that. Where no hook is set there is nothing to wait for. */
#include <string.h>

#include "api/handlers.h"
#include "tollbook/containerstore.h"

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
    deployer_wake(r->worker->server->deployer);
    request_answer_empty(r, 200);
}
