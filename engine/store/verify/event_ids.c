/* Verifying the ids of events (store/logs/event_ids.h): every page of each run can be read, a run has as many ids as its row
 * says and their digest, its month has accounts or is gone, and no page is left over. */
#include "store/logs/event_ids.h"
#include "store/verify/verify.h"

#include <stdlib.h>

static tb_code check_run(tb__verify *v, const tb__id_run *run, tb__id_page *page, tb_error *err)
{
    int64_t ids = 0;
    uint64_t digest = 0;
    tb_code code = TB_OK;
    for (int64_t i = 0; !code && i < INT64_C(1) << run->bits; i++) {
        code = tb__id_page_read(v->store, run, i, page, err);
        for (size_t k = 0; !code && k < page->n; k++)
            digest += page->list[k].low;
        ids += code ? 0 : (int64_t)page->n;
    }
    if (!code && (ids != run->ids || (int64_t)(digest & INT64_MAX) != run->digest))
        tb__differs(v, "Run %lld of event ids does not have the ids that were written.", (long long)run->id);
    return code;
}

tb_code tb__verify_event_ids(tb__verify *v, tb_error *err)
{
    tb__id_run *list = NULL;
    tb__id_page page = {0};
    size_t n = 0;
    tb_code code = tb__id_runs(v->store, &list, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = tb__verify_note(v, check_run(v, &list[i], &page, err), err);
    free(list);
    free(page.list);
    if (!code)
        code = tb__verify_reference(v,
                                    "SELECT format('Run %d of event ids is of a month without events.',r.id) FROM event_id_run r"
                                    " WHERE NOT EXISTS(SELECT 1 FROM event_id_month m WHERE m.month=r.month)",
                                    err);
    return code ? code
                : tb__verify_reference(v,
                                       "SELECT format('A page of event ids, %d, belongs to no run.',p.id) FROM event_id_page p"
                                       " WHERE NOT EXISTS(SELECT 1 FROM event_id_run r WHERE r.id=p.id>>14 AND 1<<r.bits>p.id&16383)",
                                       err);
}
