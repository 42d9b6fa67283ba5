/* whatif: months billed again under scenarios, which are kept under their names once they were
 * used. */
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/prices/scenario.h"
#include "tollbook/ledger.h"
#include "tollbook/monthbill.h"
#include "tollbook/bookstore.h"
#include "tollbook/whatifrun.h"

#define SCENARIOS_BYTES ((size_t)16 << 20) /* in one question, where others wait */

/* What reading leaves to writing. */
typedef struct whatif {
    tb_whatif_question question;
    tb_scenario *scenarios;
} whatif;

static void release(void *state)
{
    whatif *w = state;
    for (size_t i = 0; i < w->question.n_scenarios; i++)
        tb_scenario_release(&w->scenarios[i]);
    free(w->scenarios);
    free(w);
}

static whatif *whatif_new(tb_reply *reply, size_t n)
{
    whatif *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    reply->state = w;
    reply->release = release;
    w->scenarios = calloc(n, sizeof *w->scenarios);
    w->question.scenarios = w->scenarios;
    return w->scenarios ? w : NULL;
}

/* --- what is asked --- */

/* All of them are in memory at once. */
static tb_code read_scenarios(const tb_ops *ops, const tb_args *args, whatif *w, tb_reply *reply,
                              tb_error *err)
{
    const tb_arg *arg;
    size_t *n = &w->question.n_scenarios, bytes = 0;
    while ((arg = tb_arg_nth(args, "scenarios", *n)) != NULL) {
        tb_code code = tb__scenario_read(ops->store, arg, &w->scenarios[*n], reply, err);
        if (code) return code;
        bytes += w->scenarios[*n].canonical_len;
        ++*n;
        if (ops->shared && bytes > SCENARIOS_BYTES)
            return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                           "The scenarios have more than %zu MiB. Ask for fewer at a time.",
                           SCENARIOS_BYTES >> 20);
    }
    return TB_OK;
}

static tb_code read_question(const tb_ops *ops, const tb_args *args, whatif *w, tb_reply *reply,
                             tb_error *err)
{
    tb_whatif_question *q = &w->question;
    q->account = tb_arg_number(args, "account", 0);
    q->now_us = ops->now_us;
    q->bills_max = ops->shared ? TB_WHATIF_BODY_BILLS_MAX : 0;
    q->step = ops->step;
    q->ctx = ops->ctx;
    tb_code code = tb_month_span(tb_arg_text(args, "from"), tb_arg_text(args, "to"), ops->now_us,
                                 &q->from, &q->to, err);
    if (!code && q->account) code = tb_store_need_account(ops->store, q->account, err);
    return code ? code : read_scenarios(ops, args, w, reply, err);
}

/* --- the answer --- */

/* Takes what has grown, as long as it can be taken. */
typedef struct draining {
    const tb_ops *ops;
    tb_code code;
    tb_error *err;
} draining;

static void flush(void *ctx, tb_buf *out)
{
    draining *d = ctx;
    if (!d->code) d->code = d->ops->drain(d->ops->ctx, out, d->err);
    out->len = 0;
}

static tb_code put(const tb_ops *ops, const tb_args *args, const tb_whatif_answer *a,
                   tb_reply *reply, tb_error *err)
{
    draining d = {.ops = ops, .err = err};
    tb_whatif_sink sink = {.out = &reply->out, .flush = ops->drain ? flush : NULL, .ctx = &d};
    tb_whatif_put(a, tb_arg_text(args, "format"), &sink);
    return d.code;
}

/* What to look at before the figures are believed; in the table it stands with them. */
static void say_warnings(const tb_whatif_answer *a, tb_reply *reply)
{
    for (size_t i = 0; i < a->n_results; i++)
        if (a->results[i].unpriced_bills)
            tb_reply_say(reply, "%s: %s with usage without a price.",
                         a->results[i].scenario->name,
                         TB__COUNTED(a->results[i].unpriced_bills, "account-month"));
    for (size_t i = 0; i < a->n_results; i++)
        if (a->results[i].other_accounts)
            tb_reply_say(reply, "%s: left out, since billed in another currency: %s.",
                         a->results[i].scenario->name,
                         TB__COUNTED(a->results[i].other_accounts, "account"));
    if (a->n_late)
        tb_reply_say(reply, "Compared as billed so far, with changes that wait to be billed: %s.",
                     TB__COUNTED(a->n_late, "final month"));
}

/* Whether the last scenario of its name is this one. */
static bool is_kept(tb_store *store, const tb_scenario *s)
{
    tb_stored_scenario stored;
    if (tb_store_scenario(store, s->name, &stored, NULL)) return false;
    bool same = strcmp(stored.sha256, s->sha256) == 0;
    tb_stored_scenario_release(&stored);
    return same;
}

static bool all_kept(tb_store *store, const whatif *w)
{
    for (size_t i = 0; i < w->question.n_scenarios; i++)
        if (!is_kept(store, &w->scenarios[i])) return false;
    return true;
}

static tb_code answer(const tb_ops *ops, const tb_args *args, const whatif *w, tb_reply *reply,
                      tb_error *err)
{
    tb_whatif_answer a;
    tb_code code = tb_whatif_run(ops->store, &w->question, &a, err);
    if (code) return code;
    code = put(ops, args, &a, reply, err);
    for (size_t i = 0; i < w->question.n_scenarios; i++)
        tb__scenario_warn(ops->store, &w->scenarios[i], reply);
    if (!tb_arg_is(args, "format", "table")) say_warnings(&a, reply);
    tb_whatif_answer_release(&a);
    reply->settled = tb_arg_given(args, "no-store") || all_kept(ops->store, w);
    return code;
}

static tb_code read_months(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    whatif *w = whatif_new(reply, args->n);
    if (!w) return tb_no_memory(err);
    tb_code code = read_question(ops, args, w, reply, err);
    return code ? code : answer(ops, args, w, reply, err);
}

/* --- keeping --- */

static tb_code keep(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const whatif *w = reply->state;
    tb_code code = TB_OK;
    (void)args;
    for (size_t i = 0; !code && i < w->question.n_scenarios; i++) {
        const tb_scenario *s = &w->scenarios[i];
        bool known = false;
        code = tb_store_add_scenario(ops->store, s, ops->now_us, &known, err);
        if (!code && !known)
            tb_reply_say(reply, "Scenario \"%s\" (sha256 %.12s) is kept and can be named again.",
                         s->name, s->sha256);
    }
    return code;
}

/* --- the rows --- */

static const tb_param params[] = {
    {.name = "scenarios",
     .value = "SCENARIO.json|NAME",
     .kind = TB_PARAM_NAMED,
     .operand = true,
     .required = true,
     .repeats = true,
     .max = (int64_t)TB_SCENARIO_MAX,
     .help = "scenarios, or names of stored ones"},
    {.name = "from",
     .value = "YYYY-MM",
     .kind = TB_PARAM_MONTH,
     .required = true,
     .help = "first month, UTC"},
    {.name = "to",
     .value = "YYYY-MM",
     .kind = TB_PARAM_MONTH,
     .required = true,
     .help = "last month, included; the running month counts so far"},
    TB__PARAM_ACCOUNT(false, "one account; default all"),
    TB__PARAM_FORMAT("table|json|csv|html"),
    {.name = "no-store",
     .kind = TB_PARAM_FLAG,
     .help = "do not keep the scenarios in the database"},
};

static const tb_operation rows[] = {
    {.name = "whatif",
     .summary = "Bill stored months again under other prices or usage",
     .details =
         "A scenario is {\"scenario\":NAME,\"base\":BOOK,\"patch\":{...},\"usage\":[...]}: a "
         "price\n"
         "book, a JSON merge patch of it, and factors on usage. Every account is billed by the\n"
         "code that writes the invoices, once as it was and once under each scenario, in one\n"
         "pass. Final months are compared as billed so far, others as they stand.\n"
         "A scenario that was used is kept under its name and hash, and may be named again:\n"
         "NAME is the last of that name, NAME@HASH the one whose SHA-256 begins so. No invoice\n"
         "is touched. Exit status 1: nothing is stored in these months.",
     .access = TB_ACCESS_READ,
     .write_access = TB_ACCESS_OPERATOR,
     TB__PARAMS(params),
     .read = read_months,
     .write = keep,
     .slow = true,
     .unwritten = "The scenarios are not kept"},
};
const tb__operations tb__whatif_operations = TB__OPERATIONS(rows);
