/* The two runs over a month's accounts. Showing reads one snapshot. Finalising commits accounts in
 * groups, for a commit waits for the disk, and prints their invoices after it: a run that is killed
 * leaves whole groups, and the same command again completes it. A group's end depends on the
 * accounts alone, never on the clock, so that such a completed run has the watermarks, hence the
 * bytes, of one that nothing disturbed. */
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

static tb_code put_stored(invoice_run *run, const tb_invoice *invoice, tb_error *err)
{
    tb_code code = shown_stored(run->form, invoice, run->shown == 0, &run->out, err);
    if (code == TB_OK) run->shown++;
    return code;
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
        if (!code) code = put_stored(run, &all[i], err);
        if (!code) print(run);
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

#define GROUP_ACCOUNTS 50
#define GROUP_BYTES    ((size_t)1 << 20) /* of invoices' texts */

/* Accounts that are committed together. What there is to print and to say waits for the commit, and
 * so does the count. */
typedef struct group {
    invoice_run *run;
    size_t n, made, known, nothing;
    size_t bytes;
    tb_buf said; /* lines */
} group;

/* Said once it is committed: until then its number may go to another. */
static void note_credit(void *ctx, const tb_invoice *note)
{
    group *g = ctx;
    char month[8];
    month_format(note->month, month);
    tb_buf_fmt(&g->said, "account %" PRId64 ": credit note %s over %s %s for %s.\n", note->account,
               note->number, note->total, note->currency, month);
}

static void note_shadow(void *ctx, const tb_shadow *shadow, const tb_error *why)
{
    group *g = ctx;
    tb_buf_fmt(&g->said, "shadow book %s: %s\n", shadow->book.id, why->message);
}

/* *ret_invoice is set where *ret_outcome is not NOTHING. */
static tb_code make_final(group *g, int64_t account, tb_invoice *ret_invoice,
                          issue_outcome *ret_outcome, tb_error *err)
{
    invoice_run *run = g->run;
    issue draft;
    bool known = false;
    tb_code code = issue_standing(run->store, account, run->month, ret_invoice, &known, err);
    *ret_outcome = ISSUE_KNOWN;
    if (code || known) return code;
    code = issue_draft(run->store, account, run->month, &run->books, run->now_us, &draft, err);
    if (code) return code;
    code = issue_finalize(run->store, &draft, run->now_us, cli_given(run->call, "empty"),
                          note_credit, g, ret_invoice, ret_outcome, err);
    if (code == TB_E_UNPRICED) say_unpriced(run->call, &draft.statement);
    bool issued = !code && *ret_outcome == ISSUE_MADE;
    if (!code && *ret_outcome != ISSUE_KNOWN)
        code = shadow_note(run->store, &run->shadows, &draft, issued ? ret_invoice->number : "",
                           run->now_us, note_shadow, g, err);
    if (code && issued) tb_invoice_release(ret_invoice);
    issue_release(&draft);
    return code;
}

static tb_code add_account(group *g, int64_t account, tb_error *err)
{
    tb_invoice invoice;
    issue_outcome outcome;
    tb_code code = make_final(g, account, &invoice, &outcome, err);
    if (code) return code;
    if (outcome != ISSUE_NOTHING) {
        g->bytes += invoice.text_len;
        code = put_stored(g->run, &invoice, err);
        tb_invoice_release(&invoice);
    }
    if (!code) code = tb_buf_check(&g->said, err);
    if (code) return code;
    g->made += outcome == ISSUE_MADE;
    g->known += outcome == ISSUE_KNOWN;
    g->nothing += outcome == ISSUE_NOTHING;
    return TB_OK;
}

/* All of the account or, after an error, nothing of it. */
static tb_code finalize_account(group *g, int64_t account, tb_error *err)
{
    tb_store *store = g->run->store;
    size_t said = g->said.len, out = g->run->out.len, shown = g->run->shown;
    tb_code code = TB_OK;
    if (g->n == 0) code = tb_store_begin(store, err);
    if (!code) code = tb_store_mark(store, err);
    if (code) return code;
    g->n++;
    code = add_account(g, account, err);
    if (code) {
        tb_store_back_to_mark(store);
        g->said.len = said;
        g->run->out.len = out;
        g->run->shown = shown;
        return code;
    }
    return tb_store_keep_mark(store, err);
}

static void say_lines(const cli_call *call, const tb_buf *lines)
{
    const char *at = lines->data, *end = at + lines->len, *next;
    for (; at < end && (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1)
        cli_say(call, "%.*s", (int)(next - at), at);
}

static tb_code end_group(group *g, tb_error *err)
{
    invoice_run *run = g->run;
    if (g->n == 0) return TB_OK;
    tb_code code = tb_store_commit(run->store, err);
    if (code) return code;
    run->made += g->made;
    run->known += g->known;
    run->nothing += g->nothing;
    print(run);
    if (g->said.len) say_lines(run->call, &g->said);
    tb_store_checkpoint(run->store, false); /* so that a long run needs no disk twice */
    g->n = g->made = g->known = g->nothing = g->bytes = g->said.len = 0;
    return TB_OK;
}

/* What is one account's trouble does not end the run: it is said, and the others go on. */
static bool is_its_own(tb_code code)
{
    return code == TB_E_UNPRICED || code == TB_E_DIFFERENT || code == TB_E_OVERFLOW ||
           code == TB_E_CATALOG || code == TB_E_BOOK;
}

static void refuse(invoice_run *run, int64_t account, const tb_error *err)
{
    char name[32];
    snprintf(name, sizeof name, "account %" PRId64, account);
    cli_fail(run->call, name, err);
    run->refused++;
}

static tb_code finalize_all(group *g, meter *progress, tb_error *err)
{
    invoice_run *run = g->run;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < run->n_accounts; i++) {
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) break;
        code = finalize_account(g, run->accounts[i], err);
        if (is_its_own(code)) {
            refuse(run, run->accounts[i], err);
            code = TB_OK;
        }
        if (code || (g->n < GROUP_ACCOUNTS && g->bytes < GROUP_BYTES)) continue;
        code = end_group(g, err);
        if (progress && !code) meter_share(progress, i + 1, run->n_accounts);
    }
    if (!code) code = end_group(g, err);
    if (code) tb_store_rollback(run->store);
    return code;
}

static tb_code finalize_groups(invoice_run *run, meter *progress, tb_error *err)
{
    group g = {.run = run};
    tb_buf_init(&g.said, GROUP_BYTES, NULL);
    tb_code code = finalize_all(&g, progress, err);
    if (code) run->out.len = 0; /* what was not committed is not printed */
    tb_buf_release(&g.said);
    return code;
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
    if (!code) code = shadow_books_read(run->store, &run->shadows, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    take_catch_signals();
    meter_init(&progress, cli_text(run->call, "month"));
    shown_open(run->form, &run->out);
    print(run);
    code = finalize_groups(run, shows ? &progress : NULL, &err);
    meter_end(&progress);
    shown_close(run->form, &run->out);
    print(run);
    if (!code && run->shadows.n) code = invoice_say_shadows(run, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    int status = cli_done(run->call);
    return status ? status : say_outcome(run);
}
