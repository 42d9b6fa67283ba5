/* GET /billing and /billing/summary: the running month through the one rating function, the ledger,
 * and the account's catalogue entry. */
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "tollbook/monthbill.h"

/* Reads in one snapshot, answers after it. */
static void answer_with(request *r, tb_code (*read)(tb_store *store, int64_t account,
                                                    int64_t now_us, tb_buf *out, tb_error *err))
{
    tb_error err;
    tb_store *store = r->worker->store;
    tb_buf *out = request_text(r);
    tb_code code = tb_store_read_begin(store, &err);
    if (!code) {
        code = read(store, r->account, request_now_us(r), out, &err);
        tb_store_read_end(store);
    }
    if (code)
        request_fail_as(r, &err);
    else
        request_answer_text(r, 200, "application/json");
}

void api_billing(request *r)
{
    answer_with(r, tb_account_billing);
}

void api_billing_summary(request *r)
{
    answer_with(r, tb_account_summary);
}
