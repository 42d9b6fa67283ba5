/* The two runs over a month's accounts, here; remote_invoice.c has their twins on a server. Showing
 * reads one snapshot. Finalising commits groups (api/issue_group.h) and prints their invoices after
 * it: a run that is killed leaves whole groups, and the same command again completes it. */
#include <inttypes.h>
#include <string.h>

#include "cli/invoice.h"
#include "cli/meter.h"
#include "cli/take.h"

void invoice_print(invoice_run *run)
{
    fwrite(run->out.data, 1, run->out.len, stdout);
    run->out.len = 0;
}

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
    return invoice ? shown_stored(run->form, invoice, shown == 0, out, err)
                   : shown_draft(run->form, draft, shown == 0, out, err);
}

static issue_group group_of(invoice_run *run)
{
    issue_group g = {.store = run->store, .month = run->month, .now_us = run->now_us,
                     .empty = cli_given(run->call, "empty"), .books = &run->books,
                     .shadows = &run->shadows, .put = put, .ctx = run, .out = &run->out};
    issue_group_init(&g);
    return g;
}

/* --- showing --- */

static int nothing(const invoice_run *run)
{
    char month[8];
    month_format(run->month, month);
    cli_say(run->call, "There is nothing to invoice in %s.", month);
    return tb_code_exit(TB_E_NOTHING_DUE);
}

int invoice_end_show(const invoice_run *run)
{
    int status = cli_done(run->call);
    return status || run->shown ? status : nothing(run);
}

static tb_code show_all(invoice_run *run, tb_error *err)
{
    issue_group g = group_of(run);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_accounts; i++) {
        code = issue_group_show(&g, run->accounts[i], err);
        if (!code) {
            invoice_print(run);
            if (g.said.len) invoice_say_lines(run->call, g.said.data, g.said.len);
        }
        issue_group_next(&g);
    }
    run->shown = g.shown;
    issue_group_release(&g);
    return code;
}

int invoice_show(invoice_run *run)
{
    tb_error err;
    tb_code code = tb_store_read_begin(run->store, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    shown_open(run->form, &run->out);
    code = show_all(run, &err);
    tb_store_read_end(run->store);
    if (code) return cli_fail(run->call, NULL, &err);
    shown_close(run->form, &run->out);
    invoice_print(run);
    return invoice_end_show(run);
}

/* --- finalising --- */

static tb_code end_group(invoice_run *run, issue_group *g, tb_error *err)
{
    if (g->n == 0) return TB_OK;
    tb_code code = tb_store_commit(run->store, err);
    if (code) return code;
    run->made += g->made;
    run->known += g->known;
    run->nothing += g->nothing;
    run->refused += g->refused;
    run->shown = g->shown;
    invoice_print(run);
    if (g->said.len) invoice_say_lines(run->call, g->said.data, g->said.len);
    tb_store_checkpoint(run->store, false); /* so that a long run needs no disk twice */
    issue_group_next(g);
    return TB_OK;
}

static tb_code finalize_all(invoice_run *run, issue_group *g, meter *progress, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_accounts; i++) {
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) break;
        if (g->n == 0) code = tb_store_begin(run->store, err);
        if (!code) code = issue_group_finalize(g, run->accounts[i], err);
        if (code || !issue_group_full(g)) continue;
        code = end_group(run, g, err);
        if (progress && !code) meter_share(progress, i + 1, run->n_accounts);
    }
    if (!code) code = end_group(run, g, err);
    if (code) tb_store_rollback(run->store);
    return code;
}

static tb_code finalize_groups(invoice_run *run, meter *progress, tb_error *err)
{
    issue_group g = group_of(run);
    tb_code code = finalize_all(run, &g, progress, err);
    if (code) run->out.len = 0; /* what was not committed is not printed */
    issue_group_release(&g);
    return code;
}

static tb_code say_shadows(invoice_run *run, tb_error *err)
{
    tb_buf lines;
    tb_buf_init(&lines, ISSUE_SAID_MAX, NULL);
    tb_code code = shadow_say(run->store, run->month, &run->shadows, &lines, err);
    if (!code && lines.len) invoice_say_lines(run->call, lines.data, lines.len);
    tb_buf_release(&lines);
    return code;
}

int invoice_end_finalize(const invoice_run *run)
{
    size_t done = run->made + run->known + run->nothing + run->refused;
    int status = cli_done(run->call);
    if (status) return status;
    cli_say(run->call,
            "%zu accounts: %zu made final, %zu final before, %zu with nothing due, %zu refused.",
            run->n_accounts, run->made, run->known, run->nothing, run->refused);
    if (done < run->n_accounts) {
        cli_say(run->call, "Interrupted. Run the same command again to go on.");
        return tb_code_exit(TB_E_IO);
    }
    if (run->refused) return tb_code_exit(TB_E_UNPRICED);
    return run->shown ? 0 : nothing(run);
}

int invoice_finalize(invoice_run *run)
{
    tb_error err;
    meter progress;
    bool shows = cli_given(run->call, "progress");
    tb_code code = issue_check_over(run->month, run->now_us, &err);
    if (!code) code = shadow_books_read(run->store, &run->shadows, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    take_catch_signals();
    meter_init(&progress, cli_text(run->call, "month"));
    shown_open(run->form, &run->out);
    invoice_print(run);
    code = finalize_groups(run, shows ? &progress : NULL, &err);
    meter_end(&progress);
    shown_close(run->form, &run->out);
    invoice_print(run);
    if (!code && run->shadows.n) code = say_shadows(run, &err);
    return code ? cli_fail(run->call, NULL, &err) : invoice_end_finalize(run);
}
