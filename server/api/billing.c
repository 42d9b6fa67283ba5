/* GET /billing and what known clients read below it: the running month through the one rating function, the ledger, and
 * the account's catalogue entry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/billsource.h"
#include "tollbook/ledger.h"
#include "tollbook/monthbill.h"

tb_code api_account_asked(request *r, int64_t *ret_account, tb_error *err)
{
    static const query_spec specs[] = {{"account", QUERY_INT, 0}};
    const tb_text query = request_query(r);
    int64_t asked = 0;
    *ret_account = r->account;
    tb_code code = query_parse(query.data, query.len, specs, 1, &asked, r->scratch, err);
    if (code) return code;
    if (r->account && asked && asked != r->account)
        return tb_fail(err, TB_E_FORBIDDEN, "account", "This key sees account %" PRId64 " alone.", r->account);
    if (r->account) return TB_OK;
    *ret_account = asked;
    if (asked > 0) return tb_store_need_account(r->worker->store, asked, err);
    return tb_fail(err, TB_E_VALIDATION, "account", "A key that reads all accounts names one, such as account=1.");
}

/* Reads in one snapshot, answers after it. */
static void answer_with(request *r, tb_code (*read)(tb_store *store, int64_t account,
                                                    int64_t now_us, tb_buf *out, tb_error *err))
{
    tb_error err;
    tb_store *store = r->worker->store;
    tb_buf *out = request_text(r);
    int64_t account;
    tb_code code = api_account_asked(r, &account, &err);
    if (!code) code = tb_store_read_begin(store, &err);
    if (!code) {
        code = read(store, account, request_now_us(r), out, &err);
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

static tb_code put_payment_requests(tb_store *store, int64_t account, int64_t now_us, tb_buf *out, tb_error *err)
{
    (void)now_us;
    return tb_account_payment_requests(store, account, out, err);
}

void api_payment_requests(request *r)
{
    answer_with(r, put_payment_requests);
}

/* There is no affiliate programme here: no credits, no address, nothing that came through one. */
static tb_code put_affiliate(tb_store *store, int64_t account, int64_t now_us, tb_buf *out, tb_error *err)
{
    (void)store, (void)account, (void)now_us, (void)err;
    tb_buf_str(out, "{\"AffiliateBalance\":0.0,\"AffiliateUrl\":null,\"ClaimBonusPercentage\":0.0,"
                    "\"MinimumPayoutAmount\":0.0,\"AffiliateClicksChart\":{},\"AffiliateSignupsChart\":{},"
                    "\"AffiliateConversionsChart\":{}}");
    return TB_OK;
}

void api_affiliate(request *r)
{
    answer_with(r, put_affiliate);
}
