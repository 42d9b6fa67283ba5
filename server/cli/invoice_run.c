/* The two runs over a month's accounts. Showing reads one snapshot. Finalising takes a transaction
 * for each account and prints its invoice after the commit: a run that is killed leaves whole
 * accounts, and the same command again completes it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/invoice.h"
#include "cli/meter.h"
#include "cli/take.h"

/* --- printing --- */

static void print(invoice_run *run)
{
    fwrite(run->out.data, 1, run->out.len, stdout);
    run->out.len = 0;
}

static tb_code print_stored(invoice_run *run, const tb_invoice *invoice, tb_error *err)
{
    tb_code code = shown_stored(run->form, invoice, run->shown == 0, &run->out, err);
    if (code) return code;
    print(run);
    run->shown++;
    return TB_OK;
}

static tb_code print_draft(invoice_run *run, const issue *draft, tb_error *err)
{
    tb_code code = shown_draft(run->form, &draft->statement, run->shown == 0, &run->out, err);
    if (code) return code;
    print(run);
    run->shown++;
    return TB_OK;
}

/* The list of what to mend before the month can be final. */
static void say_unpriced(const cli_call *call, const tb_statement *s)
{
    for (size_t i = 0; i < s->bill->n_unpriced; i++) {
        const tb_unpriced *u = &s->bill->unpriced[i];
        char quantity[TB_DECIMAL_TEXT_MAX + 1];
        *tb_decimal_put(quantity, tb_decimal_from_int(u->quantity)) = 0;
        cli_say(call, "account %" PRId64 ": %s, %s: %s %s%s without a price: %s", s->account,
                u->resource, u->what, quantity, u->unit, u->quantity == 1 ? "" : "s", u->reason);
    }
}

/* --- showing --- */

static tb_code show_stored(invoice_run *run, int64_t account, bool *ret_stands, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_invoices(run->store, account, run->month, &all, &n, err);
    if (code) return code;
    *ret_stands = false;
    for (size_t i = 0; i < n; i++) {
        if (!code) code = print_stored(run, &all[i], err);
        if (strcmp(all[i].kind, "invoice") == 0 && all[i].state == TB_INVOICE_FINAL)
            *ret_stands = true;
        tb_invoice_release(&all[i]);
    }
    free(all);
    return code;
}

static tb_code show_draft(invoice_run *run, int64_t account, tb_error *err)
{
    issue draft;
    tb_code code =
        issue_draft(run->store, account, run->month, &run->books, run->now_us, &draft, err);
    if (code) return code;
    if (draft.joined.bill.n_lines + draft.joined.bill.n_unpriced > 0) {
        code = print_draft(run, &draft, err);
        say_unpriced(run->call, &draft.statement);
    }
    issue_release(&draft);
    return code;
}

static tb_code show_account(invoice_run *run, int64_t account, tb_error *err)
{
    bool stands = false;
    tb_code code = show_stored(run, account, &stands, err);
    return code || stands ? code : show_draft(run, account, err);
}

static int nothing(const invoice_run *run)
{
    char month[8];
    month_format(run->month, month);
    cli_say(run->call, "There is nothing to invoice in %s.", month);
    return tb_code_exit(TB_E_NOTHING_DUE);
}

int invoice_show(invoice_run *run)
{
    tb_error err;
    tb_code code = tb_store_read_begin(run->store, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    shown_open(run->form, &run->out);
    for (size_t i = 0; !code && i < run->n_accounts; i++)
        code = show_account(run, run->accounts[i], &err);
    tb_store_read_end(run->store);
    if (code) return cli_fail(run->call, NULL, &err);
    shown_close(run->form, &run->out);
    print(run);
    int status = cli_done(run->call);
    return status || run->shown ? status : nothing(run);
}

/* --- finalising --- */

/* A credit note is said once it is committed: until then its number may go to another. */
static void note_credit(void *ctx, const tb_invoice *note)
{
    invoice_run *run = ctx;
    char month[8];
    month_format(note->month, month);
    tb_buf_fmt(&run->credits, "account %" PRId64 ": credit note %s over %s %s for %s.\n",
               note->account, note->number, note->total, note->currency, month);
}

static void say_credits(const invoice_run *run)
{
    const char *line = run->credits.data;
    for (size_t left = run->credits.len; left > 0;) {
        size_t len = (size_t)((const char *)memchr(line, '\n', left) - line);
        cli_say(run->call, "%.*s", (int)len, line);
        line += len + 1;
        left -= len + 1;
    }
}

/* In a transaction. *ret_invoice is set where *ret_outcome is not NOTHING. */
static tb_code make_final(invoice_run *run, int64_t account, tb_invoice *ret_invoice,
                          issue_outcome *ret_outcome, tb_error *err)
{
    issue draft;
    bool known = false;
    tb_code code = issue_standing(run->store, account, run->month, ret_invoice, &known, err);
    *ret_outcome = ISSUE_KNOWN;
    if (code || known) return code;
    code = issue_draft(run->store, account, run->month, &run->books, run->now_us, &draft, err);
    if (code) return code;
    code = issue_finalize(run->store, &draft, run->now_us, cli_given(run->call, "empty"),
                          note_credit, run, ret_invoice, ret_outcome, err);
    if (code == TB_E_UNPRICED) say_unpriced(run->call, &draft.statement);
    issue_release(&draft);
    return code;
}

static tb_code commit_account(invoice_run *run, int64_t account, tb_invoice *ret_invoice,
                              issue_outcome *ret_outcome, tb_error *err)
{
    tb_code code = tb_store_begin(run->store, err);
    if (code) return code;
    run->credits.len = 0;
    code = make_final(run, account, ret_invoice, ret_outcome, err);
    if (code == TB_OK) {
        code = tb_buf_check(&run->credits, err);
        if (!code) code = tb_store_commit(run->store, err);
        if (code && *ret_outcome != ISSUE_NOTHING) tb_invoice_release(ret_invoice);
    }
    if (code) tb_store_rollback(run->store);
    return code;
}

/* The log is moved into the file now and then, so that a long run needs no disk of its own. */
static tb_code finalize_account(invoice_run *run, int64_t account, tb_error *err)
{
    tb_invoice invoice;
    issue_outcome outcome;
    tb_code code = commit_account(run, account, &invoice, &outcome, err);
    if (code) return code;
    say_credits(run);
    run->made += outcome == ISSUE_MADE;
    run->known += outcome == ISSUE_KNOWN;
    run->nothing += outcome == ISSUE_NOTHING;
    if (outcome != ISSUE_NOTHING) {
        code = print_stored(run, &invoice, err);
        tb_invoice_release(&invoice);
    }
    tb_store_checkpoint(run->store, false);
    return code;
}

/* What is one account's trouble does not end the run: it is said, and the others go on. */
static bool is_its_own(tb_code code)
{
    return code == TB_E_UNPRICED || code == TB_E_DIFFERENT || code == TB_E_OVERFLOW ||
           code == TB_E_CATALOG || code == TB_E_BOOK;
}

static tb_code finalize_all(invoice_run *run, meter *progress, tb_error *err)
{
    for (size_t i = 0; i < run->n_accounts; i++) {
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) return TB_OK;
        tb_code code = finalize_account(run, run->accounts[i], err);
        if (code && !is_its_own(code)) return code;
        if (code) {
            char account[32];
            snprintf(account, sizeof account, "account %" PRId64, run->accounts[i]);
            cli_fail(run->call, account, err);
            run->refused++;
        }
        if (progress) meter_share(progress, i + 1, run->n_accounts);
    }
    return TB_OK;
}

static int say_outcome(const invoice_run *run)
{
    size_t done = run->made + run->known + run->nothing + run->refused;
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
    if (code) return cli_fail(run->call, NULL, &err);
    take_catch_signals();
    meter_init(&progress, cli_text(run->call, "month"));
    shown_open(run->form, &run->out);
    print(run);
    code = finalize_all(run, shows ? &progress : NULL, &err);
    meter_end(&progress);
    shown_close(run->form, &run->out);
    print(run);
    if (code) return cli_fail(run->call, NULL, &err);
    int status = cli_done(run->call);
    return status ? status : say_outcome(run);
}
