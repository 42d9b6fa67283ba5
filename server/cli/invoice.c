/* tollbook invoice: drafts and stored invoices of a month, making them final, voiding one, and what
 * waits to be corrected. */
#include "cli/remote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/explain.h"

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* --- what is asked --- */

static tb_shown_form form_of(const cli_call *call)
{
    return cli_is(call, "format", "csv")     ? TB_SHOWN_CSV
           : cli_is(call, "format", "html")  ? TB_SHOWN_HTML
           : cli_is(call, "format", "focus") ? TB_SHOWN_FOCUS
                                             : TB_SHOWN_JSON;
}

static int read_month(const cli_call *call, int64_t now_us, int64_t *ret_month)
{
    const char *text = cli_text(call, "month");
    if (!text) return usage(call, "--month YYYY-MM is missing. See: tollbook help invoice");
    if (!tb_month_parse(text, strlen(text), ret_month)) {
        cli_say(call, "--month does not take \"%.32s\": write it like 2026-10.", text);
        return tb_code_exit(TB_E_USAGE);
    }
    if (*ret_month <= tb_month_from_us(now_us)) return 0;
    cli_say(call, "--month %s lies in the future.", text);
    return tb_code_exit(TB_E_USAGE);
}

/* Options that make no sense together. */
static int check_options(const cli_call *call)
{
    bool final = cli_given(call, "finalize"), line = cli_given(call, "explain");
    bool is_void = cli_given(call, "void"), late = cli_given(call, "late");
    if (final + line + is_void + late > 1)
        return usage(call, "--finalize, --explain, --void and --late exclude each other.");
    if (is_void && (cli_given(call, "month") || cli_given(call, "account")))
        return usage(call, "--void NUMBER stands alone: the number says which invoice it is.");
    if (late && cli_given(call, "month"))
        return usage(call, "--late lists all months that wait; --account ID narrows it.");
    if (line && !cli_given(call, "account"))
        return usage(call, "--explain LINE needs --account ID: a line is one invoice's.");
    if (line && cli_given(call, "server"))
        return usage(call, "--explain reads alone: give it --db FILE, it works beside a server.");
    if (cli_given(call, "empty") && !final) return usage(call, "--empty goes with --finalize.");
    if (cli_given(call, "format") && (line || is_void || late))
        return usage(call, "--format is for invoices; --explain prints JSON, --late a table.");
    return cli_check_place(call);
}

/* --- void --- */

static tb_code void_one(tb_store *store, const char *number, int64_t now_us, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_store_void(store, number, now_us, err);
    if (code == TB_OK) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

void invoice_say_void(const cli_call *call, const char *number)
{
    cli_say(call, "Invoice %s is void. It keeps its number; the month can be made final again.",
            number);
}

static int void_invoice(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    const char *number = cli_text(call, "void");
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, true, now_us, &store);
    if (status) return status;
    if (void_one(store, number, now_us, &err))
        status = cli_fail(call, number, &err);
    else
        invoice_say_void(call, number);
    tb_store_close(store);
    return status;
}

/* --- late --- */

void invoice_show_late(const tb_late *late)
{
    char month[8];
    tb_month_format(late->month, month);
    printf("%" PRId64 "\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", late->account,
           month, late->invoice[0] ? late->invoice : "-", late->since, late->deltas, late->declared,
           tb_run_outcome_name(late->outcome), late->reason[0] ? late->reason : "-");
}

static int list_late(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    tb_late *late = NULL;
    size_t n = 0;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_late(store, cli_number(call, "account", 0), &late, &n, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    puts(INVOICE_LATE_HEAD);
    for (size_t i = 0; i < n; i++)
        invoice_show_late(&late[i]);
    free(late);
    return invoice_end_late(call, n);
}

int invoice_end_late(const cli_call *call, size_t n)
{
    if (n) cli_say(call, n == 1 ? "%zu month waits to be billed." : "%zu months wait to be billed.", n);
    return cli_done(call);
}

/* --- a month --- */

static int explain(invoice_run *run)
{
    tb_error err;
    int64_t line = cli_number(run->call, "explain", 0);
    tb_code code = tb_store_read_begin(run->store, &err);
    if (!code) {
        code = tb_explain_month(run->store, run->accounts[0], run->month, (uint32_t)line,
                                &run->books, run->now_us, &run->out, &err);
        tb_store_read_end(run->store);
    }
    if (code) return cli_fail(run->call, NULL, &err);
    tb_buf_str(&run->out, "\n");
    fwrite(run->out.data, 1, run->out.len, stdout);
    return cli_done(run->call);
}

static int month_of(invoice_run *run)
{
    tb_error err;
    tb_code code = tb_month_books_read(run->store, &run->books, &err);
    if (!code)
        code = tb_issue_accounts(run->store, run->month, cli_number(run->call, "account", 0),
                                 &run->accounts, &run->n_accounts, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    if (cli_given(run->call, "explain")) return explain(run);
    return cli_given(run->call, "finalize") ? invoice_finalize(run) : invoice_show(run);
}

int cli_invoice(const cli_call *call)
{
    invoice_run run = {.call = call, .form = form_of(call)};
    bool there = cli_given(call, "server");
    int status = check_options(call);
    if (status) return status;
    if (cli_given(call, "void")) return there ? remote_invoice_void(call) : void_invoice(call);
    if (cli_given(call, "late")) return there ? remote_invoice_late(call) : list_late(call);
    status = cli_clock(call, &run.now_us);
    if (status == 0) status = read_month(call, run.now_us, &run.month);
    if (status == 0 && there) return remote_invoice(&run);
    if (status == 0) status = cli_open(call, cli_given(call, "finalize"), run.now_us, &run.store);
    if (status) return status;
    tb_buf_init(&run.out, 2 * TB_INVOICE_TEXT_MAX, NULL);
    spool_init(&run.document);
    status = month_of(&run);
    spool_release(&run.document);
    tb_buf_release(&run.out);
    free(run.accounts);
    tb_month_books_release(&run.books);
    tb_shadow_books_release(&run.shadows);
    tb_store_close(run.store);
    return status;
}
