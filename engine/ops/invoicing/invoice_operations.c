/* invoice: a month's drafts and stored invoices, making them final, what waits to be billed, making
 * one void, and a line of one taken apart.
 *
 * A month goes group by group (issuegroup.h). Making it final takes one group a call, in one
 * transaction; the accounts that are left travel in reply->next, so nothing is remembered in between,
 * and a run that was killed is completed by the same call. Showing takes all of them in one snapshot
 * where the reply is drained, and else one group a call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/invoicing/invoice_check.h"
#include "ops/invoicing/invoice_files.h"
#include "ops/invoicing/issue_parts.h"
#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"
#include "tollbook/prooflog.h"
#include "tollbook/statistics.h"

#define TEXT_SENT_MAX ((size_t)8 << 20) /* of an invoice, where the reply is not drained */

/* --- a run over a month's accounts --- */

typedef struct month_run {
    tb_ops *ops;
    const tb_args *args;
    tb_reply *reply;
    int64_t month, account; /* account 0: all */
    bool final;
    bool issued; /* documents by when they were issued, whichever month they are of: `left` has places of them */
    tb_shown shown_as;
    bool apart; /* each invoice is a document, and goes through `files` */
    tb__invoice_files files;
    tb_month_books books;
    tb_shadow_books shadows;
    const char *left; /* the accounts that are left, as in next */
    tb_buf everybody; /* what that points into where a run begins */
    /* Of all calls so far. */
    size_t total, done, made, known, nothing, refused, shown, left_out;
    size_t unsold, incomplete; /* of those made: without a seller; without a field that the law requires */
} month_run;

static tb_shown_form shown_form(const tb_args *args)
{
    const char *word = tb_arg_text(args, "format");
    return word ? tb_shown_form_of(word, strlen(word)) : TB_SHOWN_JSON;
}

static tb_shown shown_of(const tb_ops *ops, const tb_args *args)
{
    return (tb_shown){.form = shown_form(args),
                      .pages = {.letter = tb_arg_is(args, "paper", "letter"),
                                .auditor = tb_arg_given(args, "audit")},
                      .store = ops->store,
                      .now_us = ops->now_us,
                      .public_url = ops->public_url};
}

/* --- next: the counts, then "ID ID ..." --- */

#define N_COUNTS 14

static void counts_of(month_run *run, size_t *ret[N_COUNTS])
{
    size_t *const all[N_COUNTS] = {&run->total,   &run->done,    &run->made,  &run->known,
                                   &run->nothing, &run->refused, &run->shown, &run->left_out,
                                   &run->files.made, &run->files.kept, &run->files.voids,
                                   &run->files.refused, &run->unsold, &run->incomplete};
    memcpy(ret, all, sizeof all);
}

static void put_next(month_run *run)
{
    size_t *counts[N_COUNTS];
    counts_of(run, counts);
    for (size_t i = 0; i < N_COUNTS; i++)
        tb_buf_fmt(&run->reply->next, "%zu ", *counts[i]);
    tb_buf_str(&run->reply->next, run->left);
}

static bool read_next(month_run *run, const char *text)
{
    size_t *counts[N_COUNTS];
    int64_t value = 0;
    counts_of(run, counts);
    for (size_t i = 0; i < N_COUNTS; i++) {
        if (!tb__next_number(&text, &value)) return false;
        *counts[i] = (size_t)value;
    }
    run->left = text;
    return true;
}

/* --since: documents issued from a moment on, or those with a higher number than the one given. */
static tb_code read_since(const char *text, tb_issued_ask *ask, tb_error *err)
{
    if (tb_date_parse(text, strlen(text), &ask->from_us, NULL) == TB_OK) return TB_OK;
    ask->from_us = INT64_MIN;
    if (strlen(text) < sizeof ask->after) memcpy(ask->after, text, strlen(text) + 1);
    if (ask->after[0] && strspn(text, "0123456789-") == strlen(text)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "since",
                   "It is a moment, such as 2026-11-03T09:00:00Z, or the number of a document.");
}

static tb_code list_issued(const month_run *run, int64_t **ret_places, size_t *ret_n, tb_error *err)
{
    tb_issued_ask ask = {.account = run->account, .from_us = INT64_MIN, .to_us = INT64_MAX};
    const char *since = tb_arg_text(run->args, "since");
    tb_code code = since ? read_since(since, &ask, err) : TB_OK;
    if (!since) {
        ask.from_us = tb_month_start_us(run->month);
        ask.to_us = tb_month_start_us(run->month + 1);
    }
    if (!code && run->account) code = tb_store_need_account(run->ops->store, run->account, err);
    return code ? code : tb_store_issued(run->ops->store, &ask, ret_places, ret_n, err);
}

static tb_code list_left(month_run *run, tb_error *err)
{
    int64_t *accounts = NULL;
    tb_code code = run->issued ? list_issued(run, &accounts, &run->total, err)
                               : tb_issue_accounts(run->ops->store, run->month, run->account, &accounts,
                                                   &run->total, err);
    if (!code) code = tb__put_accounts(&run->everybody, accounts, run->total, err);
    run->left = run->everybody.data;
    free(accounts);
    return code;
}

/* --- showing an invoice --- */

static tb_code put(void *ctx, const tb_invoice *invoice, const tb_statement *draft, size_t shown,
                   tb_buf *out, tb_error *err)
{
    month_run *run = ctx;
    if (invoice && invoice->text_len > TEXT_SENT_MAX && !run->ops->drain) {
        tb_reply_say(run->reply,
                     "account %" PRId64 ": Its invoice is too long to be sent. Print it with: tollbook"
                     " invoice --number %s", invoice->account, invoice->number);
        run->left_out++;
        return TB_OK;
    }
    if (run->apart) return tb__invoice_file(&run->files, invoice, draft, err);
    const bool first = shown == run->left_out; /* the group counts those too */
    const size_t before = out->len;
    tb_error why = {0};
    tb_code code = invoice ? tb_shown_stored(&run->shown_as, invoice, first, out, &why)
                           : tb_shown_draft(&run->shown_as, draft, first, out, &why);
    if (!tb__is_own_trouble(code)) return code ? tb_fail(err, code, why.field, "%s", why.message) : TB_OK;
    out->len = before;
    tb__say_refused(run->reply, invoice, draft, &why);
    run->left_out++;
    return TB_OK;
}

static tb_code drain(month_run *run, tb_error *err)
{
    return run->ops->drain ? run->ops->drain(run->ops->ctx, &run->reply->out, err) : TB_OK;
}

static void add_group(month_run *run, const tb_issue_group *g)
{
    run->done += g->n;
    run->made += g->made;
    run->known += g->known;
    run->nothing += g->nothing;
    run->refused += g->refused;
    run->shown = g->shown;
    run->unsold += g->unsold;
    run->incomplete += g->incomplete;
    tb_buf_add(&run->reply->said, g->said.data, g->said.len);
}

static bool go_on(const month_run *run)
{
    const tb_ops *ops = run->ops;
    return !ops->step || ops->step(ops->ctx, run->done, run->total);
}

static tb_code group_account(month_run *run, tb_issue_group *g, int64_t account, tb_error *err)
{
    if (run->issued) return tb_issue_group_document(g, account, err);
    return run->final ? tb_issue_group_finalize(g, account, err)
                      : tb_issue_group_show(g, account, err);
}

static tb_code run_groups(month_run *run, tb_issue_group *g, tb_error *err)
{
    const bool one = run->final || !run->ops->drain;
    tb_code code = TB_OK;
    int64_t account;
    while (!code && *run->left && !(one && tb_issue_group_full(g))) {
        if (!tb__next_number(&run->left, &account)) return tb__next_wrong(err);
        code = group_account(run, g, account, err);
        if (!code) code = tb__invoice_files_check(&run->files, err);
        if (code || one) continue;
        add_group(run, g);
        tb_issue_group_next(g);
        code = go_on(run) ? drain(run, err) : tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    if (!code && one) add_group(run, g);
    return code;
}

/* --- its beginning and its end --- */

static tb_code begin_run(month_run *run, tb_error *err)
{
    tb_store *store = run->ops->store;
    tb_code code = run->final ? tb_issue_check_over(run->month, run->ops->now_us, err) : TB_OK;
    if (!code && run->final) code = tb_store_check_begun(store, run->month, err);
    if (!code && !run->final && !run->issued && !run->args->next)
        code = tb__say_before_begin(run->ops, run->month, run->reply, err);
    if (!code) code = tb_month_books_read(store, &run->books, err);
    if (!code && run->final) code = tb_shadow_books_read(store, &run->shadows, err);
    if (code) return code;
    if (run->args->next)
        return read_next(run, run->args->next) ? TB_OK : tb__next_wrong(err);
    if (run->final && !run->ops->shared) code = tb_store_proof_close_through(store, tb_month_first_day(run->month + 1) - 1, err);
    if (code) return code;
    if (!run->apart) tb_shown_open(&run->shown_as, &run->reply->out);
    return list_left(run, err);
}

static void end_run(month_run *run)
{
    tb_buf_release(&run->everybody);
    tb_month_books_release(&run->books);
    tb_shadow_books_release(&run->shadows);
}

/* Who had nothing is noted too, once all others are done. */
static tb_code note_everybody(month_run *run, tb_error *err)
{
    int64_t *left = NULL;
    size_t n = 0;
    if (run->account) return TB_OK;
    tb_code code = tb_issue_finish_run(run->ops->store, run->month, run->ops->now_us, &left, &n, err);
    if (!code && n)
        tb_reply_say(run->reply,
                     "%s came in while the month was made final. Run the same command again to go"
                     " on.",
                     TB__COUNTED(n, "account"));
    free(left);
    return code;
}

static void say_final(month_run *run)
{
    tb_reply_say(run->reply,
                 "%s: %zu made final, %zu final before, %zu with nothing due, %zu refused.",
                 TB__COUNTED(run->total, "account"), run->made, run->known, run->nothing,
                 run->refused);
}

static void say_without(month_run *run)
{
    char month[8];
    tb_month_format(run->month, month);
    tb_reply_say(run->reply,
                 "%s %s no invoice of %s. Where the month was not run yet: tollbook invoice --month %s"
                 " --finalize",
                 TB__COUNTED(run->nothing, "account"), run->nothing == 1 ? "has" : "have", month, month);
}

/* Once a run: it is no fault, for a statement may be all that is wanted. */
static void say_missing_fields(month_run *run)
{
    char month[8];
    tb_month_format(run->month, month);
    if (!run->incomplete) return;
    tb_reply_say(run->reply,
                 "%s is no legal invoice. List what is missing with: tollbook invoice --check --month %s",
                 run->unsold == run->incomplete ? "The catalogue has no seller, so what is made final"
                                             : "Some of what is made final",
                 month);
}

static void say_issued(month_run *run)
{
    const bool whole = !run->apart || tb__invoice_files_end(&run->files) || !run->shown;
    run->reply->no = run->left_out || !run->shown || !whole;
    if (!run->shown) tb_reply_say(run->reply, "No document was issued then.");
}

/* What the document lacks makes the answer a no. Beside usage of no account, who has nothing is
 * said. */
static tb_code say_end(month_run *run, tb_error *err)
{
    tb_unowned_usage unowned = {0};
    char month[8];
    tb_code code = run->account ? TB_OK
                                : tb_unowned_read(run->ops->store, run->month, &unowned, err);
    if (code) return code;
    tb_unowned_say(&unowned, run->month, &run->reply->said);
    if (!run->account) {
        tb_buf_str(&run->reply->json, ",\"unassigned\":");
        tb_unowned_json(&unowned, &run->reply->json);
    }
    const bool whole = !run->apart || tb__invoice_files_end(&run->files) || !run->shown;
    if (run->files.folder && run->nothing) say_without(run);
    if (!run->final && run->refused)
        tb_reply_say(run->reply,
                     "%s %s refused, for the reason above; the others are printed.",
                     TB__COUNTED(run->refused, "account"), run->refused == 1 ? "is" : "are");
    run->reply->no = run->refused || run->left_out || !run->shown || !whole;
    if (run->refused || run->left_out || run->shown || run->files.folder) return TB_OK;
    tb_month_format(run->month, month);
    tb_reply_say(run->reply, "There is nothing to invoice in %s%s.", month,
                 tb_unowned_any(&unowned) ? " for the accounts that there are" : "");
    return TB_OK;
}

static tb_code finish(month_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    if (!run->apart) tb_shown_close(&run->shown_as, &run->reply->out);
    if (run->final) {
        code = note_everybody(run, err);
        if (!code && run->shadows.n)
            code = tb_shadow_say(run->ops->store, run->month, &run->shadows, &run->reply->said, err);
        say_final(run);
        say_missing_fields(run);
    }
    if (!code && run->issued) say_issued(run);
    return code || run->issued ? code : say_end(run, err);
}

static void put_json(month_run *run)
{
    char month[8];
    if (run->issued) {
        tb_buf_fmt(&run->reply->json, "{\"documents\":%zu,\"done\":%zu", run->total, run->done);
        return;
    }
    tb_month_format(run->month, month);
    tb_buf_fmt(&run->reply->json,
               "{\"month\":\"%s\",\"accounts\":%zu,\"done\":%zu,\"made\":%zu,\"known\":%zu,"
               "\"nothing\":%zu,\"refused\":%zu",
               month, run->total, run->done, run->made, run->known, run->nothing, run->refused);
}

static tb_code run_month(month_run *run, tb_error *err)
{
    tb_issue_group g = {.store = run->ops->store, .month = run->month, .now_us = run->ops->now_us,
                        .empty = tb_arg_given(run->args, "empty"),
                        .stored = run->files.folder, .books = &run->books,
                        .shadows = &run->shadows, .put = put, .ctx = run, .out = &run->reply->out};
    tb_code code = begin_run(run, err);
    g.shown = run->shown;
    tb_issue_group_init(&g);
    if (!code) code = run_groups(run, &g, err);
    tb_issue_group_release(&g);
    if (code) return code;
    put_json(run);
    if (*run->left) put_next(run);
    else code = finish(run, err);
    tb_buf_str(&run->reply->json, "}");
    return code || run->final ? code : drain(run, err);
}

static tb_code run_all(tb_ops *ops, const tb_args *args, tb_reply *reply, bool final, tb_error *err)
{
    month_run run = {.ops = ops, .args = args, .reply = reply, .final = final,
                     .issued = tb_arg_given(args, "issued-in") || tb_arg_given(args, "since"),
                     .month = tb_arg_number(args, "month", tb_arg_number(args, "issued-in", 0)),
                     .account = tb_arg_number(args, "account", 0), .shown_as = shown_of(ops, args)};
    run.apart = !final && (tb_arg_given(args, "out") || tb_shown_alone(run.shown_as.form));
    tb_buf_init(&run.everybody, TB_REPLY_MAX, NULL);
    tb_code code = run.apart ? tb__invoice_files_init(&run.files, ops, args, reply, &run.shown_as, err)
                             : TB_OK;
    if (!code) code = run_month(&run, err);
    tb__invoice_files_release(&run.files);
    end_run(&run);
    return code;
}

/* --- one invoice, by its number --- */

static tb_code show_number(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_shown shown = shown_of(ops, args);
    tb__invoice_files files = {0};
    tb_invoice invoice;
    tb_code code = tb_store_invoice(ops->store, 0, tb_arg_text(args, "number"), &invoice, err);
    if (code == TB_E_NOT_FOUND) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    if (code) return code;
    if (tb_arg_given(args, "out") || tb_shown_alone(shown.form)) {
        code = tb__invoice_files_init(&files, ops, args, reply, &shown, err);
        if (!code) code = tb__invoice_file(&files, &invoice, NULL, err);
        if (!code) reply->no = !tb__invoice_files_end(&files);
        tb__invoice_files_release(&files);
    } else {
        code = tb_shown_one(&shown, &invoice, &reply->out, err);
        if (shown.form == TB_SHOWN_JSON) tb_buf_str(&reply->out, "\n");
    }
    if (!code) tb_buf_add(&reply->json, invoice.text, invoice.text_len);
    tb_invoice_release(&invoice);
    return code;
}

/* --- late, explain, void --- */

static void put_word(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (*value) tb_json_string(out, value, strlen(value));
    else tb_buf_str(out, "null");
}

static void put_late(const tb_late *late, bool first, tb_reply *reply)
{
    char month[8];
    tb_month_format(late->month, month);
    tb_buf_fmt(&reply->out, "%" PRId64 "\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n",
               late->account, month, late->invoice[0] ? late->invoice : "-", late->since,
               late->deltas, late->declared, tb_run_outcome_name(late->outcome),
               late->reason[0] ? late->reason : "-");
    tb_buf_fmt(&reply->json, "%s{\"account\":%" PRId64 ",\"month\":\"%s\",\"outcome\":\"%s\"",
               first ? "" : ",", late->account, month, tb_run_outcome_name(late->outcome));
    put_word(&reply->json, "invoice", late->invoice);
    tb_buf_fmt(&reply->json, ",\"since\":%" PRIu64 ",\"deltas\":%" PRIu64 ",\"declared\":%" PRIu64,
               late->since, late->deltas, late->declared);
    put_word(&reply->json, "reason", late->reason);
    tb_buf_str(&reply->json, "}");
}

/* Those that come to something: what an account's next invoice would bill. */
static tb_code read_late(tb_ops *ops, const tb_args *args, tb_late **ret_late, size_t *ret_n, tb_error *err)
{
    tb_late *late = NULL;
    tb_month_books books = {.list = NULL};
    size_t n = 0;
    *ret_n = 0;
    tb_code code = tb_store_late(ops->store, tb_arg_number(args, "account", 0), &late, &n, err);
    if (!code) code = tb_month_books_read(ops->store, &books, err);
    for (size_t i = 0; !code && i < n; i++) {
        bool nothing = false;
        code = tb__issue_comes_to_nothing(ops->store, &late[i], &books, ops->now_us, &nothing, err);
        if (!nothing) late[(*ret_n)++] = late[i];
    }
    tb_month_books_release(&books);
    if (code) free(late);
    else *ret_late = late;
    return code;
}

static tb_code list_late(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_late *late = NULL;
    size_t n = 0;
    tb_code code = read_late(ops, args, &late, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "account\tmonth\tinvoice\tsince\tdeltas\tdeclared\toutcome\treason\n");
    tb_buf_str(&reply->json, "{\"late\":[");
    for (size_t i = 0; i < n; i++)
        put_late(&late[i], i == 0, reply);
    tb_buf_str(&reply->json, "]}");
    if (n)
        tb_reply_say(reply, "%s %s to be billed.", TB__COUNTED(n, "account-month"), n == 1 ? "waits" : "wait");
    if (tb_arg_given(args, "format")) tb__print_answer(args, reply);
    free(late);
    return TB_OK;
}

static tb_code explain(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = tb_explain_month(ops->store, tb_arg_number(args, "account", 0), tb_arg_number(args, "month", 0),
                                    (uint32_t)tb_arg_number(args, "explain", 0), ops->now_us, &reply->json, err);
    tb__print_json(reply);
    return code;
}

static tb_code make_void(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const char *number = tb_arg_text(args, "void");
    tb_code code = tb_ledger_void(ops->store, number, ops->now_us, err);
    if (code == TB_E_NOT_FOUND) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    if (code) return code;
    tb_reply_say(reply, "Invoice %s is void. It keeps its number; the month can be made final again.",
                 number);
    tb_buf_str(&reply->json, "{\"number\":");
    tb_json_string(&reply->json, number, strlen(number));
    tb_buf_str(&reply->json, ",\"state\":\"void\"}");
    return TB_OK;
}

/* --- the operation --- */

/* Arguments that make no sense together. */
static const char *misfit(const tb_args *args)
{
    const bool final = tb_arg_given(args, "finalize"), line = tb_arg_given(args, "explain");
    const bool is_void = tb_arg_given(args, "void"), late = tb_arg_given(args, "late");
    const bool month = tb_arg_given(args, "month"), account = tb_arg_given(args, "account");
    const bool number = tb_arg_given(args, "number"), out = tb_arg_given(args, "out");
    const bool check = tb_arg_given(args, "check");
    const bool issued = tb_arg_given(args, "issued-in"), since = tb_arg_given(args, "since");
    if (issued + since + month > 1 || (issued + since && final + line + is_void + late + number + check))
        return "--issued-in MONTH, or --since, goes alone, with --account, --format and --out at most.";
    if (final + line + is_void + late + number + check > 1)
        return "--finalize, --explain, --void, --late, --number and --check exclude each other.";
    const bool json = tb_arg_is(args, "format", "json"), csv = tb_arg_is(args, "format", "csv");
    const bool table = tb_arg_is(args, "format", "table"), form = tb_arg_given(args, "format");
    if ((check || late) && form && !json && !csv && !table)
        return "--check and --late print rows: --format is table, json or csv; default table.";
    if (table && !check && !late)
        return "--format table goes with --check or --late. A document is json, csv, html, focus, pdf, ubl or xrechnung.";
    if (tb_arg_given(args, "norm") && !check) return "--norm needs --check.";
    if (number && (month || account))
        return "--number NUMBER goes alone: the number identifies the invoice.";
    if (out && (final || line || is_void || late || check))
        return "--out is for showing. Make the month final, then write its files.";
    if (final && tb_shown_alone(shown_form(args)))
        return "--finalize prints no document of this form. Make the month final, then write its files:"
               " tollbook invoice --month YYYY-MM --format FORM --out DIR";
    if (tb_arg_given(args, "resume") && !out) return "--resume needs --out DIR.";
    if (is_void && (month || account))
        return "--void NUMBER goes alone: the number identifies the invoice.";
    if (late && month) return "--late lists the late changes of all months; --account ID narrows it.";
    if (line && !account) return "--explain LINE needs --account ID: a line belongs to one "
                                 "invoice.";
    if (tb_arg_given(args, "empty") && !final) return "--empty needs --finalize.";
    const bool pages = tb_arg_given(args, "paper") || tb_arg_given(args, "audit");
    if (pages && (check || late)) return "--paper and --audit are for invoices; --check and --late print rows.";
    if ((form || pages) && (line || is_void))
        return "--format, --paper and --audit are for invoices; --explain prints JSON.";
    if (is_void || late || number || issued || since) return NULL;
    return month ? NULL : "--month YYYY-MM is missing. See: tollbook help invoice";
}

static tb_code check_args(const tb_ops *ops, const tb_args *args, tb_error *err)
{
    const char *why = misfit(args);
    if (why) return tb_fail(err, TB_E_VALIDATION, NULL, "%s", why);
    if (tb_arg_number(args, "month", INT64_MIN) <= tb_month_from_us(ops->now_us)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "month", "%s lies in the future.",
                   tb_arg_text(args, "month"));
}

static tb_code read_invoices(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = check_args(ops, args, err);
    if (code) return code;
    const bool csv = tb_arg_is(args, "format", "csv"), check = tb_arg_given(args, "check");
    if (csv && (check || tb_arg_given(args, "late")))
        return tb__print_csv(check ? tb__invoice_check : list_late, ops, args, reply, err);
    if (tb_arg_given(args, "late")) return list_late(ops, args, reply, err);
    if (tb_arg_given(args, "number")) return show_number(ops, args, reply, err);
    if (tb_arg_given(args, "explain")) return explain(ops, args, reply, err);
    if (check) return tb__invoice_check(ops, args, reply, err);
    return run_all(ops, args, reply, false, err);
}

static tb_code write_invoices(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = check_args(ops, args, err);
    if (code) return code;
    return tb_arg_given(args, "void") ? make_void(ops, args, reply, err)
                                      : run_all(ops, args, reply, true, err);
}

static const tb_param params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .help = "the month, UTC"},
    TB__PARAM_ACCOUNT(false, "one account; default all with anything in the month"),
    {.name = "finalize", .kind = TB_PARAM_FLAG,
     .help = "make the drafts final: number, chain, ledger entry; final invoices stay as they are"},
    {.name = "format", .value = "table|" TB_SHOWN_WORDS, .kind = TB_PARAM_CHOICE,
     .help = "default json, the canonical text; focus is CSV with FOCUS 1.2 columns; --check and --late: table, json or csv"},
    {.name = "number", .value = "NUMBER", .kind = TB_PARAM_TEXT, .min = 1, .max = 23,
     .help = "show this invoice alone"},
    {.name = "issued-in", .value = "YYYY-MM", .kind = TB_PARAM_MONTH,
     .help = "show all that was issued in this month, whichever month it is of"},
    {.name = "since", .value = "MOMENT|NUMBER", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "show all that was issued from this moment on, or behind this number"},
    {.name = "out", .value = "DIR", .kind = TB_PARAM_FOLDER, .min = 1, .max = 4000,
     .help = "write each final invoice to a file of its own in this folder, NUMBER and its ending"},
    {.name = "resume", .kind = TB_PARAM_FLAG,
     .help = "with --out: leave files that are there already as they are"},
    {.name = "paper", .value = "a4|letter", .kind = TB_PARAM_CHOICE,
     .help = "size of the pages; default a4"},
    {.name = "audit", .kind = TB_PARAM_FLAG,
     .help = "with the pages for auditors: hashes, exact amounts, evidence"},
    {.name = "explain", .value = "LINE", .kind = TB_PARAM_NUMBER, .min = 1, .max = UINT32_MAX,
     .help = "take this line of --account's invoice apart: tiers, days, crossings"},
    {.name = "empty", .kind = TB_PARAM_FLAG, .help = "with --finalize: also if nothing is due"},
    {.name = "late", .kind = TB_PARAM_FLAG,
     .help = "list months that were run and wait to be billed, with the outcome of the run"},
    {.name = "check", .kind = TB_PARAM_FLAG,
     .help = "list what keeps the month's documents from being legal invoices, by account"},
    {.name = "norm", .value = "legal|peppol|xrechnung", .kind = TB_PARAM_CHOICE,
     .help = "with --check: what has to be there; default legal, an invoice on paper"},
    {.name = "void", .value = "NUMBER", .kind = TB_PARAM_TEXT, .min = 1, .max = 1000,
     .help = "make this invoice void; the month can be made final again"},
};

static const tb_operation rows[] = {
    {.name = "invoice",
     .summary = "Show a month's invoices, and make them final",
     .details = "--out writes what is final: a run that was killed leaves whole files, and the same\n"
                "command writes the same bytes again. A credit note goes with the month that it\n"
                "credits, and with the one that made it; void invoices are named and left out.\n"
                "--issued-in has each document once, and --since what came behind the last one that was\n"
                "seen: what a job sends, which keeps that number.\n"
                "--check goes before: it names each field of the catalogue that is missing, with its term\n"
                "in EN 16931, and the status is 1 where there is one.\n"
                "Prints stored final invoices as they were issued and drafts otherwise. --finalize\n"
                "commits whole accounts, some dozens at a time: a run that was killed is completed by\n"
                "the same command. An account with usage without a price, or with figures that pass\n"
                "all limits, is refused and named; the others are done, and the status is 1. What is\n"
                "printed is a whole document or nothing. Usage that no account owns is named on\n"
                "standard error. With --server the running server does the work, one group of\n"
                "accounts after the other, and the same is printed.",
     .access = TB_ACCESS_READ,
     .write_access = TB_ACCESS_MONEY,
     TB__PARAMS(params),
     .read = read_invoices,
     .write = write_invoices,
     .write_flags = "finalize|void",
     .slow = true},
};
const tb__operations tb__invoice_operations = TB__OPERATIONS(rows);
