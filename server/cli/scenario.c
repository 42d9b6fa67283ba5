/* tollbook scenario add | list | show, and reading a scenario from wherever its operand says. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/scenarios.h"
#include "tollbook/calendar.h"
#include "tollbook/monthbill.h"
#include "tollbook/scenarios.h"
#include "tollbook/terms.h"

/* --- reading --- */

static int parse(const cli_call *call, const char *operand, const char *text, size_t len,
                 tb_scenario *ret)
{
    tb_error err;
    tb_code code = tb_scenario_parse(text, len, NULL, ret, &err);
    return code ? cli_fail(call, operand, &err) : 0;
}

static int read_file(const cli_call *call, const char *operand, tb_scenario *ret)
{
    tb_buf text;
    int status = cli_read_file(call, operand, TB_SCENARIO_MAX, &text);
    if (status) return status;
    status = parse(call, operand, text.data ? text.data : "", text.len, ret);
    tb_buf_release(&text);
    return status;
}

static int read_stored(const cli_call *call, tb_store *store, const char *name, tb_scenario *ret)
{
    tb_stored_scenario stored;
    tb_error err;
    tb_code code = tb_store_scenario(store, name, &stored, &err);
    if (code == TB_E_NOT_FOUND) {
        cli_say(call,
                "%s: there is no such file, and no scenario of that name is stored. See: tollbook"
                " scenario list --db FILE",
                name);
        return tb_code_exit(TB_E_NOT_FOUND);
    }
    if (code) return cli_fail(call, name, &err);
    int status = parse(call, name, stored.text, stored.text_len, ret);
    tb_stored_scenario_release(&stored);
    return status;
}

int scenario_read(const cli_call *call, tb_store *store, const char *operand, tb_scenario *ret)
{
    if (strcmp(operand, "-") == 0 || access(operand, F_OK) == 0 || errno != ENOENT)
        return read_file(call, operand, ret);
    return read_stored(call, store, operand, ret);
}

/* --- factors that name what is not there --- */

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

void scenario_warn(const cli_call *call, tb_store *store, const tb_scenario *s)
{
    for (size_t i = 0; i < s->n_factors; i++) {
        const tb_usage_factor *f = &s->factors[i];
        const named all[] = {
            {f->has_account, f->account, "account", account_itself},
            {f->has_zone, f->zone, "pull zone", tb_store_zone_account},
            {f->has_balancer, f->balancer, "load balancer", tb_store_balancer_account},
        };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            int64_t account = 0;
            if (!all[k].is) continue;
            const tb_code code = all[k].account_of(store, all[k].id, &account, NULL);
            if (code == TB_E_NOT_FOUND || code == TB_E_ZONE_NOT_FOUND)
                cli_say(call, "Warning: %s: usage[%zu] changes nothing: there is no %s %" PRId64 ".",
                        s->name, i, all[k].what, all[k].id);
            else if (!code && f->has_account && account != f->account)
                cli_say(call,
                        "Warning: %s: usage[%zu] changes nothing: %s %" PRId64 " is account %" PRId64
                        "'s, not account %" PRId64 "'s.",
                        s->name, i, all[k].what, all[k].id, account, f->account);
        }
    }
}

/* --- keeping --- */

tb_code scenario_keep(tb_store *store, const tb_scenario *s, int64_t now_us, bool *ret_known,
                      tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_store_add_scenario(store, s->name, s->sha256, s->canonical, s->canonical_len, now_us,
                                 ret_known, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

/* Whether the stored books make valid ones under it. */
static tb_code check(tb_store *store, const tb_scenario *s, tb_error *err)
{
    tb_month_books books;
    tb_whatif *whatif;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_whatif_new(s, 1, books.list, books.n, NULL, &whatif, err);
    if (!code) tb_whatif_free(whatif);
    tb_month_books_release(&books);
    return code;
}

static int add(const cli_call *call, tb_store *store, const tb_scenario *s, int64_t now_us)
{
    tb_error err;
    bool known = false;
    tb_code code = check(store, s, &err);
    if (!code) code = scenario_keep(store, s, now_us, &known, &err);
    if (code) return cli_fail(call, call->operands[0], &err);
    scenario_warn(call, store, s);
    cli_say(call, "%s: scenario \"%s\" (sha256 %.12s) %s.", call->operands[0], s->name, s->sha256,
            known ? "was there already: nothing changed" : "is kept");
    return 0;
}

int cli_scenario_add(const cli_call *call)
{
    tb_store *store;
    tb_scenario scenario;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = read_file(call, call->operands[0], &scenario);
    if (status) return status;
    status = cli_open(call, true, now_us, &store);
    if (status == 0) {
        status = add(call, store, &scenario, now_us);
        tb_store_close(store);
    }
    tb_scenario_release(&scenario);
    return status;
}

/* --- showing --- */

int cli_scenario_list(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_stored_scenario *list = NULL;
    size_t n = 0;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_scenarios(store, &list, &n, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    puts("scenario\tadded\tsha256");
    for (size_t i = 0; i < n; i++) {
        char added[20];
        tb_time_format(list[i].added_us, added);
        printf("%s\t%.20s\t%s\n", list[i].name, added, list[i].sha256);
        tb_stored_scenario_release(&list[i]);
    }
    free(list);
    return cli_done(call);
}

int cli_scenario_show(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_stored_scenario stored;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_scenario(store, call->operands[0], &stored, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    printf("%s\n", stored.text);
    tb_stored_scenario_release(&stored);
    return cli_done(call);
}
