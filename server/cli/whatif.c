/* tollbook whatif: reads as any reader does, beside a server too, prints, and only then keeps the
 * scenarios that it has not yet, where nobody else is writing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/meter.h"
#include "cli/scenarios.h"
#include "cli/take.h"
#include "tollbook/scenarios.h"
#include "tollbook/whatifforms.h"

#define INTERRUPTED 3 /* exit status: the environment ended the run */

typedef struct whatif_call {
    const cli_call *call;
    tb_store *store;
    tb_whatif_question question;
    tb_scenario *scenarios;
    meter progress;
    bool shows;
} whatif_call;

static bool stopped(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    whatif_call *w = ctx;
    if (w->shows) meter_share(&w->progress, done, total);
    return !stopped();
}

/* --- what is asked --- */

static int read_scenarios(whatif_call *w)
{
    size_t n = (size_t)w->call->n_operands;
    w->scenarios = calloc(n, sizeof *w->scenarios);
    if (!w->scenarios) {
        tb_error err;
        tb_fail(&err, TB_E_NOMEM, NULL, NULL);
        return cli_fail(w->call, NULL, &err);
    }
    for (size_t i = 0; i < n; i++) {
        int status = scenario_read(w->call, w->store, w->call->operands[i], &w->scenarios[i]);
        if (status) return status;
        w->question.n_scenarios++;
    }
    w->question.scenarios = w->scenarios;
    return 0;
}

static int read_span(whatif_call *w)
{
    tb_error err;
    tb_code code = tb_whatif_span(cli_text(w->call, "from"), cli_text(w->call, "to"),
                                  w->question.now_us, &w->question, &err);
    if (!code) return 0;
    cli_say(w->call, "--%s", err.message);
    return tb_code_exit(TB_E_USAGE);
}

static int check_account(const whatif_call *w)
{
    bool exists = true;
    tb_error err;
    int64_t account = w->question.account;
    if (account && tb_store_account_exists(w->store, account, &exists, &err))
        return cli_fail(w->call, NULL, &err);
    if (exists) return 0;
    cli_say(w->call, "There is no account %" PRId64 ".", account);
    return tb_code_exit(TB_E_NOT_FOUND);
}

/* --- the answer --- */

static void flush(void *ctx, tb_buf *out)
{
    (void)ctx;
    fwrite(out->data, 1, out->len, stdout);
    out->len = 0;
}

static bool is_form(const whatif_call *w, const char *form)
{
    if (cli_given(w->call, "format")) return cli_is(w->call, "format", form);
    return strcmp(form, isatty(STDOUT_FILENO) ? "table" : "json") == 0;
}

static int print(const whatif_call *w, const tb_whatif_answer *answer)
{
    static const struct {
        const char *name;
        void (*put)(const tb_whatif_answer *, tb_whatif_sink *);
    } forms[] = {{"table", tb_whatif_table},
                 {"json", tb_whatif_json},
                 {"csv", tb_whatif_csv},
                 {"html", tb_whatif_html}};
    tb_buf out;
    tb_error err;
    tb_whatif_sink sink = {.out = &out, .flush = flush};
    tb_buf_init(&out, TB_WHATIF_ANSWER_MAX, NULL);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (is_form(w, forms[i].name)) forms[i].put(answer, &sink);
    tb_code code = tb_buf_check(&out, &err);
    if (!code && out.len) flush(NULL, &out);
    tb_buf_release(&out);
    return code ? cli_fail(w->call, NULL, &err) : cli_done(w->call);
}

/* What to look at before the figures are believed; in the table and the page it stands with them.
 */
static void say_warnings(const whatif_call *w, const tb_whatif_answer *a)
{
    for (size_t i = 0; i < w->question.n_scenarios; i++)
        scenario_warn(w->call, w->store, &w->scenarios[i]);
    if (is_form(w, "table")) return;
    for (size_t i = 0; i < a->n_results; i++)
        if (a->results[i].unpriced_bills)
            cli_say(w->call, "%s: %zu account-months have usage without a price.",
                    a->results[i].scenario->name, a->results[i].unpriced_bills);
    for (size_t i = 0; i < a->n_results; i++)
        if (a->results[i].other_accounts)
            cli_say(w->call, "%s: %zu accounts are billed in another currency and left out.",
                    a->results[i].scenario->name, a->results[i].other_accounts);
    if (a->n_late)
        cli_say(w->call,
                "%zu final months have changes that wait to be billed; they are compared as billed"
                " so far.",
                a->n_late);
}

/* --- keeping --- */

/* Whether the last scenario of its name is this one. */
static bool is_kept(tb_store *store, const tb_scenario *s)
{
    tb_stored_scenario stored;
    if (tb_store_scenario(store, s->name, &stored, NULL)) return false;
    bool same = strcmp(stored.sha256, s->sha256) == 0;
    tb_stored_scenario_release(&stored);
    return same;
}

/* A database that cannot be written now is no failure: the answer is there. */
static void keep(const whatif_call *w)
{
    tb_store *store = NULL;
    tb_error err;
    bool known;
    tb_store_options options = {
        .write = true, .owner = w->call->command->name, .now_us = w->question.now_us};
    for (size_t i = 0; i < w->question.n_scenarios; i++) {
        const tb_scenario *s = &w->scenarios[i];
        if (is_kept(w->store, s)) continue;
        tb_code code =
            store ? TB_OK : tb_store_open(cli_text(w->call, "db"), &options, &store, &err);
        if (!code) code = scenario_keep(store, s, options.now_us, &known, &err);
        if (code) {
            cli_say(w->call, "The scenarios are not kept: %s", err.message);
            break;
        }
        cli_say(w->call, "Scenario \"%s\" (sha256 %.12s) is kept and can be named again.", s->name,
                s->sha256);
    }
    tb_store_close(store);
}

/* --- the whole --- */

static int run(whatif_call *w)
{
    tb_error err;
    tb_whatif_answer answer;
    take_catch_signals();
    meter_init(&w->progress, "whatif");
    w->shows = cli_given(w->call, "progress") || w->progress.terminal;
    w->question.step = step;
    w->question.ctx = w;
    tb_code code = tb_whatif_run(w->store, &w->question, &answer, &err);
    meter_end(&w->progress);
    if (code && stopped()) {
        cli_say(w->call, "Interrupted: nothing was written.");
        return INTERRUPTED;
    }
    if (code) return cli_fail(w->call, NULL, &err);
    int status = print(w, &answer);
    say_warnings(w, &answer);
    tb_whatif_answer_release(&answer);
    if (status == 0 && !cli_given(w->call, "no-store") && !stopped()) keep(w);
    return status;
}

int cli_whatif(const cli_call *call)
{
    whatif_call w = {.call = call, .question = {.account = cli_number(call, "account", 0)}};
    int status = cli_clock(call, &w.question.now_us);
    if (status == 0) status = read_span(&w);
    if (status == 0) status = cli_open(call, false, w.question.now_us, &w.store);
    if (status) return status;
    status = check_account(&w);
    if (status == 0) status = read_scenarios(&w);
    if (status == 0) status = run(&w);
    for (size_t i = 0; i < w.question.n_scenarios; i++)
        tb_scenario_release(&w.scenarios[i]);
    free(w.scenarios);
    tb_store_close(w.store);
    return status;
}
