/* Verify, containers: rows match their documents, applications and deployments exist in pairs, and a recorded end
 * belongs to a requested deployment. */
#include "store/things/containers.h"
#include "store/verify/verify.h"

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
    "SELECT format('The end of a deployment of %s of account %d is of none that was asked for.',app,"
    "account) FROM deployment_end e WHERE NOT EXISTS(SELECT 1 FROM deployment d"
    " WHERE d.account=e.account AND d.app=e.app AND d.asked>=e.asked)",
};

tb_code tb__verify_containers(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    return code;
}
