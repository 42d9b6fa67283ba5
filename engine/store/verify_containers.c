/* Verify, containers: each row's seal, that its document says what its key does, and that
 * applications and deployments are there in pairs. */
#include "store/containers.h"
#include "store/verify.h"

static const char *const references[] = {
    "SELECT format('Container %s of account %d is not what its document says.',id,account)"
    " FROM container WHERE NOT coalesce(json_valid(document)"
    " AND coalesce(document->>'$.account',0) IS account AND coalesce(iif(kind=2,'',"
    "document->>'$.id'),'') IS id,0)",
    "SELECT format('Container %s is of account %d, which does not exist.',id,account) FROM container"
    " WHERE account>0 AND account NOT IN(SELECT id FROM account)",
    "SELECT format('Container application %s of account %d has no status.',id,account)"
    " FROM container c WHERE kind=1 AND NOT EXISTS(SELECT 1 FROM deployment d"
    " WHERE d.account=c.account AND d.app=c.id)",
    "SELECT format('A deployment is of application %s of account %d, which does not exist.',app,"
    "account) FROM deployment d WHERE NOT EXISTS(SELECT 1 FROM container c WHERE c.kind=1"
    " AND c.account=d.account AND c.id=d.app)",
};

static tb_code verify_seals(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_CONTAINERS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const int64_t kind = sqlite3_column_int64(s, 0), account = sqlite3_column_int64(s, 1);
        const tb_text id = tb__column_text(s, 2), document = tb__column_text(s, 3);
        if (!id.data || !document.data) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
        if (sqlite3_column_int64(s, 4) == tb__seal_container(kind, account, id, document)) continue;
        tb__differs(v, "Container %.100s of account %lld is not as it was sealed.", id.data,
                    (long long)account);
    }
    if (!code) code = tb__verify_sql(v, TB__V_DEPLOYMENTS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const int64_t account = sqlite3_column_int64(s, 0);
        const tb_text app = tb__column_text(s, 1), status = tb__column_text(s, 2);
        if (!app.data || !status.data) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
        if (sqlite3_column_int64(s, 5) == tb__seal_deployment(account, app, status,
                                                              sqlite3_column_int64(s, 3),
                                                              sqlite3_column_int64(s, 4)))
            continue;
        tb__differs(v, "The deployment of %.100s of account %lld is not as it was sealed.",
                    app.data, (long long)account);
    }
    return code;
}

tb_code tb__verify_containers(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    return code ? code : verify_seals(v, err);
}
