/* Deployments: the table is the queue, so that a restart finds what was asked for and not done. */
#include <string.h>

#include "store/things/containers.h"

tb_code tb_store_deploy(tb_store *store, int64_t account, tb_text app, bool at_once, int64_t now_us,
                        tb_error *err)
{
    char status[16];
    int64_t asked = 0;
    bool there = false;
    tb_code code = tb__deployment_get(store, account, app, status, &asked, &there, err);
    if (code) return code;
    if (!there) return tb_fail(err, TB_E_APP_NOT_FOUND, NULL, NULL);
    if (strcmp(status, "suspended") == 0) return tb_fail(err, TB_E_APP_SUSPENDED, NULL, NULL);
    return tb__deployment_put(store, account, app, at_once ? "active" : "progressing", asked + 1,
                              now_us, err);
}

static tb_code take_waiting(sqlite3_stmt *s, tb_deployment *d, tb_error *err)
{
    const tb_text app = tb__column_text(s, 1), name = tb__column_text(s, 3);
    if (!app.data || !name.data) return tb_no_memory(err);
    if (app.len >= sizeof d->app || name.len >= sizeof d->name)
        return tb_fail(err, TB_E_CORRUPT, NULL, NULL);
    d->account = sqlite3_column_int64(s, 0);
    d->asked = sqlite3_column_int64(s, 2);
    memcpy(d->app, app.data, app.len + 1);
    memcpy(d->name, name.data, name.len + 1);
    return TB_OK;
}

tb_code tb_store_deployments(tb_store *store, tb_deployment *ret, size_t cap, size_t *ret_n,
                             tb_error *err)
{
    const int64_t limit = (int64_t)cap;
    sqlite3_stmt *s;
    bool row = true;
    size_t n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_DEPLOYMENTS_WAITING, &limit, 1, &s, err);
    if (code) return code;
    while (!code && n < cap && !(code = tb__step(store, s, &row, err)) && row)
        code = take_waiting(s, &ret[n++], err);
    sqlite3_reset(s);
    if (!code) *ret_n = n;
    return code;
}

tb_code tb_store_deployed(tb_store *store, const tb_deployment *d, bool succeeded, int64_t now_us,
                          tb_error *err)
{
    const tb_text app = {d->app, strlen(d->app)};
    char status[16];
    int64_t asked = 0;
    bool there = false;
    tb_code code = tb__deployment_get(store, d->account, app, status, &asked, &there, err);
    if (code || !there || asked != d->asked || strcmp(status, "progressing") != 0) return code;
    return tb__deployment_put(store, d->account, app, succeeded ? "active" : "failing", asked,
                              now_us, err);
}
