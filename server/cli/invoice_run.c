/* The two runs over a month's accounts, here; remote_invoice.c has their twins on a server. Showing
 * reads one snapshot. Finalising commits groups (api/issue_group.h): a run that is killed leaves
 * whole groups, and the same command again completes it and prints all of them. What is printed is a
 * whole document (spool.h), without the accounts that were refused; where a run ends before the last
 * account, nothing is printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/invoice.h"
#include "cli/meter.h"
#include "cli/take.h"

void invoice_say_lines(const cli_call *call, const char *lines, size_t len)
{
    const char *at = lines, *end = at + len, *next;
    for (; at < end && (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1)
        cli_say(call, "%.*s", (int)(next - at), at);
}

static tb_code put(void *ctx, const tb_invoice *invoice, const tb_statement *draft, size_t shown,
                   tb_buf *out, tb_error *err)
{
    const invoice_run *run = ctx;
    return invoice ? tb_shown_stored(run->form, invoice, shown == 0, out, err)
                   : tb_shown_draft(run->form, draft, shown == 0, out, err);
}

static tb_issue_group group_of(invoice_run *run)
{
    tb_issue_group g = {.store = run->store,
                        .month = run->month,
                        .now_us = run->now_us,
                        .empty = cli_given(run->call, "empty"),
                        .books = &run->books,
                        .shadows = &run->shadows,
                        .put = put,
                        .ctx = run,
                        .out = &run->out};
    tb_issue_group_init(&g);
    return g;
}

/* --- showing --- */

bool invoice_of_all(const invoice_run *run)
{
    return !cli_given(run->call, "account");
}

/* Beside usage of no account, who has nothing is said. */
static int nothing(const invoice_run *run)
{
    char month[8];
    tb_month_format(run->month, month);
    cli_say(run->call, "There is nothing to invoice in %s%s.", month,
            tb_unowned_any(&run->unowned) ? " for the accounts that there are" : "");
    return tb_code_exit(TB_E_NOTHING_DUE);
}

static void say_unowned(const invoice_run *run)
{
    tb_buf lines;
    tb_buf_init(&lines, TB_ISSUE_SAID_MAX, NULL);
    tb_unowned_say(&run->unowned, run->month, &lines);
    if (lines.len) invoice_say_lines(run->call, lines.data, lines.len);
    tb_buf_release(&lines);
}

static int print_document(invoice_run *run)
{
    tb_error err;
    tb_shown_close(run->form, &run->out);
    if (spool_take(&run->document, &run->out, &err)) return cli_fail(run->call, NULL, &err);
    return spool_print(&run->document, run->call);
}

/* What the document lacks makes the answer a no. */
static int end_of(const invoice_run *run)
{
    say_unowned(run);
    if (run->refused || run->left_out) return tb_code_exit(TB_E_UNPRICED);
    return run->shown ? 0 : nothing(run);
}

void invoice_say_kept(const invoice_run *run)
{
    if (run->made)
        cli_say(run->call, "Nothing is printed. %zu account%s made final before and %s so: run the "
                           "same command again to go on and to print all of them.",
                run->made, run->made == 1 ? " was" : "s were", run->made == 1 ? "stays" : "stay");
}

static int unfinished(const invoice_run *run)
{
    cli_say(run->call, "Interrupted. Nothing is printed: run the same command again to go on.");
    return tb_code_exit(TB_E_IO);
}

int invoice_end_show(invoice_run *run)
{
    if (run->done < run->n_accounts) return unfinished(run);
    int status = print_document(run);
    if (status) return status;
    if (run->refused)
        cli_say(run->call, "%zu account%s refused, for the reason above; the others are printed.",
                run->refused, run->refused == 1 ? " is" : "s are");
    return end_of(run);
}

static tb_code show_all(invoice_run *run, tb_error *err)
{
    tb_issue_group g = group_of(run);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_accounts; i++) {
        code = tb_issue_group_show(&g, run->accounts[i], err);
        if (!code) code = spool_take(&run->document, &run->out, err);
        if (!code && g.said.len) invoice_say_lines(run->call, g.said.data, g.said.len);
        run->refused += g.refused;
        run->done += g.n;
        tb_issue_group_next(&g);
    }
    run->shown = g.shown;
    tb_issue_group_release(&g);
    if (!code && invoice_of_all(run))
        code = tb_unowned_read(run->store, run->month, &run->unowned, err);
    return code;
}

int invoice_show(invoice_run *run)
{
    tb_error err;
    tb_code code = tb_store_read_begin(run->store, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    tb_shown_open(run->form, &run->out);
    code = show_all(run, &err);
    tb_store_read_end(run->store);
    return code ? cli_fail(run->call, NULL, &err) : invoice_end_show(run);
}

/* --- finalising --- */

static tb_code end_group(invoice_run *run, tb_issue_group *g, tb_error *err)
{
    if (g->n == 0) return TB_OK;
    tb_code code = tb_store_commit(run->store, err);
    if (code) return code;
    run->done += g->n;
    run->made += g->made;
    run->known += g->known;
    run->nothing += g->nothing;
    run->refused += g->refused;
    run->shown = g->shown;
    code = spool_take(&run->document, &run->out, err);
    if (g->said.len) invoice_say_lines(run->call, g->said.data, g->said.len);
    tb_store_checkpoint(run->store, false); /* so that a long run needs no disk twice */
    tb_issue_group_next(g);
    return code;
}

static tb_code finalize_all(invoice_run *run, tb_issue_group *g, meter *progress, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_accounts; i++) {
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) break;
        if (g->n == 0) code = tb_store_begin(run->store, err);
        if (!code) code = tb_issue_group_finalize(g, run->accounts[i], err);
        if (code || !tb_issue_group_full(g)) continue;
        code = end_group(run, g, err);
        if (progress && !code) meter_share(progress, i + 1, run->n_accounts);
    }
    if (!code) code = end_group(run, g, err);
    if (code) tb_store_rollback(run->store);
    return code;
}

static tb_code finalize_groups(invoice_run *run, meter *progress, tb_error *err)
{
    tb_issue_group g = group_of(run);
    tb_code code = finalize_all(run, &g, progress, err);
    tb_issue_group_release(&g);
    if (!code && invoice_of_all(run))
        code = tb_unowned_read(run->store, run->month, &run->unowned, err);
    return code;
}

void invoice_say_left(const invoice_run *run, size_t n)
{
    cli_say(run->call, "%zu account%s came in while the month was made final. Run the same command"
                       " again to go on.", n, n == 1 ? "" : "s");
}

/* Those who had nothing are noted too, once all others are done. */
static tb_code end_everybody(invoice_run *run, tb_error *err)
{
    int64_t *left = NULL;
    size_t n = 0;
    bool done = run->made + run->known + run->nothing + run->refused == run->n_accounts;
    if (!done || cli_given(run->call, "account")) return TB_OK;
    tb_code code = tb_store_begin(run->store, err);
    if (!code) code = tb_issue_everybody(run->store, run->month, run->now_us, &left, &n, err);
    if (!code) code = tb_store_commit(run->store, err);
    if (code) tb_store_rollback(run->store);
    if (!code && n) invoice_say_left(run, n);
    free(left);
    return code;
}

static tb_code say_shadows(invoice_run *run, tb_error *err)
{
    tb_buf lines;
    tb_buf_init(&lines, TB_ISSUE_SAID_MAX, NULL);
    tb_code code = tb_shadow_say(run->store, run->month, &run->shadows, &lines, err);
    if (!code && lines.len) invoice_say_lines(run->call, lines.data, lines.len);
    tb_buf_release(&lines);
    return code;
}

int invoice_end_finalize(invoice_run *run)
{
    int status = run->done < run->n_accounts ? 0 : print_document(run);
    if (status) return status;
    cli_say(run->call,
            "%zu account%s: %zu made final, %zu final before, %zu with nothing due, %zu refused.",
            run->n_accounts, run->n_accounts == 1 ? "" : "s", run->made, run->known, run->nothing,
            run->refused);
    return run->done < run->n_accounts ? unfinished(run) : end_of(run);
}

int invoice_finalize(invoice_run *run)
{
    tb_error err;
    meter progress;
    bool shows = cli_given(run->call, "progress");
    tb_code code = tb_issue_check_over(run->month, run->now_us, &err);
    if (!code) code = tb_shadow_books_read(run->store, &run->shadows, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    take_catch_signals();
    meter_init(&progress, cli_text(run->call, "month"));
    tb_shown_open(run->form, &run->out);
    code = finalize_groups(run, shows ? &progress : NULL, &err);
    meter_end(&progress);
    if (!code) code = end_everybody(run, &err);
    if (!code && run->shadows.n) code = say_shadows(run, &err);
    if (!code) return invoice_end_finalize(run);
    int status = cli_fail(run->call, NULL, &err);
    invoice_say_kept(run);
    return status;
}
