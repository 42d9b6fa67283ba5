/* Reading scenarios, and warning of factors without an object. */
#include "ops/prices/scenario.h"

#include <inttypes.h>

#include "tollbook/bookstore.h"
#include "tollbook/meterstore.h"
#include "tollbook/billsource.h"

tb_code tb__scenario_stored(tb_store *store, const char *name, tb_scenario *ret, tb_error *err)
{
    tb_stored_scenario stored;
    tb_code code = tb_store_scenario(store, name, &stored, err);
    if (code) return code;
    code = tb_scenario_parse(stored.text, stored.text_len, NULL, ret, err);
    tb_stored_scenario_release(&stored);
    return code;
}

tb_code tb__scenario_read(tb_store *store, const tb_arg *arg, tb_scenario *ret, tb_reply *reply,
                          tb_error *err)
{
    char name[TB_SCENARIO_NAME_MAX + 80];
    tb_code code = tb_arg_name(arg, name, sizeof name)
                       ? tb__scenario_stored(store, name, ret, err)
                       : tb_scenario_parse(arg->text.data, arg->text.len, NULL, ret, err);
    if (code) reply->about = arg;
    return code;
}

/* --- factors that name unknown objects --- */

typedef struct named {
    bool is;
    int64_t id;
    const char *what;
    tb_code (*account_of)(tb_store *store, int64_t id, int64_t *ret_account, tb_error *err);
} named;

static tb_code account_itself(tb_store *store, int64_t id, int64_t *ret_account, tb_error *err)
{
    bool exists = false;
    tb_code code = tb_store_account_exists(store, id, &exists, err);
    if (code) return code;
    *ret_account = id;
    return exists ? TB_OK : TB_E_NOT_FOUND;
}

static void warn_named(tb_store *store, const tb_scenario *s, size_t i, const named *of,
                       tb_reply *reply)
{
    const tb_usage_factor *f = &s->factors[i];
    int64_t account = 0;
    const tb_code code = of->account_of(store, of->id, &account, NULL);
    if (code == TB_E_NOT_FOUND || code == TB_E_ZONE_NOT_FOUND)
        tb_reply_say(reply, "Warning: %s: usage[%zu] changes nothing: there is no %s %" PRId64 ".",
                     s->name, i, of->what, of->id);
    else if (!code && f->has_account && account != f->account)
        tb_reply_say(reply,
                     "Warning: %s: usage[%zu] changes nothing: %s %" PRId64 " is account %" PRId64
                     "'s, not account %" PRId64 "'s.",
                     s->name, i, of->what, of->id, account, f->account);
}

static void warn_contracts(tb_store *store, const tb_scenario *s, tb_reply *reply)
{
    for (size_t i = 0; i < s->n_contracts; i++) {
        int64_t account = s->contracts[i].account;
        if (account_itself(store, account, &account, NULL) == TB_E_NOT_FOUND)
            tb_reply_say(reply,
                         "Warning: %s: contracts.%" PRId64 " changes nothing: there is no account %"
                         PRId64 ".", s->name, account, account);
    }
}

void tb__scenario_warn(tb_store *store, const tb_scenario *s, tb_reply *reply)
{
    for (size_t i = 0; i < s->n_factors; i++) {
        const tb_usage_factor *f = &s->factors[i];
        const named all[] = {
            {f->has_account, f->account, "account", account_itself},
            {f->has_zone, f->zone, "pull zone", tb_store_zone_account},
            {f->has_balancer, f->balancer, "load balancer", tb_store_balancer_account},
        };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k].is) warn_named(store, s, i, &all[k], reply);
        tb_meter meter;
        if (f->meter[0] && tb_store_meter(store, f->meter, &meter, NULL) == TB_E_NOT_FOUND)
            tb_reply_say(reply, "Warning: %s: usage[%zu] changes nothing: there is no meter %s.", s->name, i, f->meter);
    }
    warn_contracts(store, s, reply);
}
