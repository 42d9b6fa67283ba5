/* Deployments: the table is the queue, so that pending deployments are found after a restart. */
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

/* --- how one ended --- */

static tb_code put_deployment_end(tb_store *store, const tb_deployment *d,
                                  const tb_deployment_end *end, tb_text output, int64_t now_us,
                                  tb_error *err)
{
    const size_t kept = output.len < TB_DEPLOYMENT_OUTPUT_MAX ? output.len : TB_DEPLOYMENT_OUTPUT_MAX;
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_DEPLOYMENT_END_PUT, &d->account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, d->app, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, d->asked);
    sqlite3_bind_int64(s, 4, now_us);
    sqlite3_bind_int(s, 5, end->succeeded);
    sqlite3_bind_int(s, 6, end->exit_status);
    sqlite3_bind_text(s, 7, end->reason, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 8, kept ? output.data : "", (int)kept, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_deployed(tb_store *store, const tb_deployment *d, const tb_deployment_end *end,
                          tb_text output, int64_t now_us, tb_error *err)
{
    const tb_text app = {d->app, strlen(d->app)};
    char status[16];
    int64_t asked = 0;
    bool there = false;
    tb_code code = tb__deployment_get(store, d->account, app, status, &asked, &there, err);
    if (code || !there || d->asked > asked) return code;
    code = put_deployment_end(store, d, end, output, now_us, err);
    if (code || asked != d->asked || strcmp(status, "progressing") != 0) return code;
    return tb__deployment_put(store, d->account, app, end->succeeded ? "active" : "failing", asked,
                              now_us, err);
}

static tb_code take_state(sqlite3_stmt *s, tb_deployment_state *state, tb_buf *output, tb_error *err)
{
    *state = (tb_deployment_state){.waits = sqlite3_column_int(s, 0)};
    if (sqlite3_column_type(s, 1) == SQLITE_NULL) return TB_OK;
    const tb_text reason = tb__column_text(s, 4), text = tb__column_text(s, 5);
    if (!reason.data || !text.data) return tb_no_memory(err);
    if (reason.len > TB_DEPLOYMENT_REASON_MAX) return tb_fail(err, TB_E_CORRUPT, NULL, NULL);
    state->ended = true;
    state->ended_us = sqlite3_column_int64(s, 1);
    state->end.succeeded = sqlite3_column_int(s, 2);
    state->end.exit_status = sqlite3_column_int(s, 3);
    memcpy(state->end.reason, reason.data, reason.len + 1);
    tb_buf_add(output, text.data, text.len);
    return tb_buf_check(output, err);
}

tb_code tb_store_deployment(tb_store *store, int64_t account, tb_text app, tb_deployment_state *ret,
                            tb_buf *output, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_DEPLOYMENT_END_GET, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, app.data, (int)app.len, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (!code && !row) code = tb_fail(err, TB_E_APP_NOT_FOUND, NULL, NULL);
    else if (!code) code = take_state(s, ret, output, err);
    sqlite3_reset(s);
    return code;
}
