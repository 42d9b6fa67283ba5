/* Lists the missing fields of a month's documents, account by account: those of a final invoice's text, else those
 * of a draft as it would be made final with the current catalogue. An error that prevents a document is listed too.
 *
 * Where the reply is drained it grows with the accounts, and its rows are in `out` only.
 *
 * next: "TOTAL DONE INCOMPLETE FIELDS ID ID ...": accounts, counts so far, and the remaining accounts. */
#include "ops/invoicing/invoice_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/invoice.h"
#include "tollbook/billsource.h"


typedef struct check_run {
    tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month, account; /* account 0: all */
    tb_norm norm;
    bool json;   /* print JSON */
    tb_buf name; /* of the current account */
    /* Of all calls so far. */
    size_t total, accounts, incomplete, fields;
    const char *left; /* the remaining accounts, as in next */
    tb_buf all;       /* the memory of `left` in the first call */
    bool listed;      /* this call's answer has a row */
} check_run;

static const char *const norms[] = {
    [TB_NORM_LEGAL] = "legal", [TB_NORM_PEPPOL] = "peppol", [TB_NORM_XRECHNUNG] = "xrechnung"};

static tb_norm norm_of(const tb_args *args)
{
    return tb_arg_is(args, "norm", "peppol")      ? TB_NORM_PEPPOL
           : tb_arg_is(args, "norm", "xrechnung") ? TB_NORM_XRECHNUNG
                                                  : TB_NORM_LEGAL;
}

/* --- one thing that is missing --- */

typedef struct missing {
    const char *path, *term, *why; /* path "": not a field; why: the error that prevents the document */
    const char *number;            /* "": of the draft */
} missing;

static void put_member_text(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (value && *value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

static void put_missing_json(const check_run *run, int64_t account, const missing *m, tb_buf *out)
{
    tb_buf_fmt(out, "{\"account\":%" PRId64, account);
    put_member_text(out, "name", run->name.data);
    put_member_text(out, "invoice", m->number);
    put_member_text(out, "field", m->path);
    put_member_text(out, "term", m->term);
    put_member_text(out, "why", m->why);
    tb_buf_str(out, "}");
}

static void put_missing_table(const check_run *run, int64_t account, const missing *m, tb_buf *out)
{
    tb_buf_fmt(out, "%" PRId64 "\t", account);
    tb__put_cell(out, run->name.data, strlen(run->name.data));
    tb_buf_fmt(out, "\t%s\t%s", m->number[0] ? m->number : "-", m->path[0] ? m->path : "-");
    if (m->term[0]) tb_buf_fmt(out, " (%s)", m->term);
    tb_buf_str(out, "\t");
    tb__put_cell(out, m->why ? m->why : "-", strlen(m->why ? m->why : "-"));
    tb_buf_str(out, "\n");
}

static void put_missing(check_run *run, int64_t account, const missing *m)
{
    tb_reply *reply = run->reply;
    if (!run->ops->drain) {
        if (run->listed) tb_buf_str(&reply->json, ",");
        put_missing_json(run, account, m, &reply->json);
    }
    if (!run->json) {
        put_missing_table(run, account, m, &reply->out);
    } else {
        if (run->fields) tb_buf_str(&reply->out, ",");
        put_missing_json(run, account, m, &reply->out);
    }
    run->listed = true;
    run->fields++;
}

/* --- one account --- */

/* Of a tax that is not declared. */
static const char *why_of(const tb_missing_field *field)
{
    if (field->why || strcmp(field->path, "accounts[].tax") != 0) return field->why;
    return "The tax is the one that was declared at the end of the month.";
}

static void put_missing_fields(check_run *run, const tb_statement *s)
{
    tb_missing_field fields[TB_MISSING_FIELDS_MAX];
    const size_t n = tb_statement_missing_fields(s, run->norm, fields);
    for (size_t i = 0; i < n; i++)
        put_missing(run, s->account,
                    &(missing){fields[i].path, fields[i].term, why_of(&fields[i]), s->number});
}

static tb_code check_stored(check_run *run, const tb_invoice *invoice, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    put_missing_fields(run, &paper.statement);
    tb_paper_release(&paper);
    return TB_OK;
}

static tb_code check_draft(check_run *run, int64_t account, tb_error *err)
{
    tb_issue draft;
    tb_error why = {0};
    tb_code code = tb_issue_draft(run->ops->store, account, run->month, &run->books,
                                  run->ops->now_us, &draft, &why);
    if (code && !tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", account, why.message);
    if (code) {
        put_missing(run, account, &(missing){"", "", why.message, ""});
        return TB_OK;
    }
    put_missing_fields(run, &draft.statement);
    if (draft.statement.bill->n_unpriced)
        put_missing(run, account, &(missing){"", "", "It has usage without a price.", ""});
    tb_issue_release(&draft);
    return TB_OK;
}

static tb_code check_account(void *ctx, int64_t account, tb_error *err)
{
    check_run *run = ctx;
    tb_invoice invoice;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    char number[24];
    const size_t before = run->fields;
    run->name.len = 0;
    tb_code code = tb_store_account_name(run->ops->store, account, &run->name, err);
    if (code) return code;
    tb_buf_add(&run->name, "", 1);
    code = tb_buf_check(&run->name, err);
    if (!code)
        code = tb_issue_done(run->ops->store, account, run->month, &invoice, number, &outcome, err);
    if (code) return code;
    if (outcome == TB_ISSUE_KNOWN) {
        code = check_stored(run, &invoice, err);
        tb_invoice_release(&invoice);
    } else if (outcome == TB_ISSUE_NOTHING) {
        code = check_draft(run, account, err);
    }
    run->accounts++;
    run->incomplete += run->fields > before;
    return code;
}

/* --- the month --- */

static tb_code read_next(check_run *run, const char *text, tb_error *err)
{
    int64_t counts[4];
    for (size_t i = 0; i < 4; i++)
        if (!tb__next_number(&text, &counts[i])) return tb__next_wrong(err);
    run->total = (size_t)counts[0];
    run->accounts = (size_t)counts[1];
    run->incomplete = (size_t)counts[2];
    run->fields = (size_t)counts[3];
    run->left = text;
    return TB_OK;
}

static void say_end(const check_run *run)
{
    if (run->fields)
        tb_reply_say(run->reply, "%s of %zu: %s %s missing.", TB__COUNTED(run->incomplete, "account"),
                     run->accounts, TB__COUNTED(run->fields, "thing"),
                     run->fields == 1 ? "is" : "are");
    else
        tb_reply_say(run->reply, "%s: nothing is missing.", TB__COUNTED(run->accounts, "account"));
}

static void open_forms(const check_run *run, bool first)
{
    char month[8];
    tb_month_format(run->month, month);
    tb_buf_fmt(&run->reply->json, "{\"month\":\"%s\",\"norm\":\"%s\",\"lacks\":[", month,
               norms[run->norm]);
    if (!first) return;
    if (run->json)
        tb_buf_add(&run->reply->out, run->reply->json.data, run->reply->json.len);
    else
        tb_buf_str(&run->reply->out, "account\tname\tinvoice\tfield\twhy\n");
}

static void close_forms(const check_run *run)
{
    tb_reply *reply = run->reply;
    tb_buf_fmt(&reply->json, "],\"accounts\":%zu,\"lacking\":%zu}", run->accounts, run->incomplete);
    if (*run->left) {
        tb_buf_fmt(&reply->next, "%zu %zu %zu %zu %s", run->total, run->accounts, run->incomplete,
                   run->fields, run->left);
        return;
    }
    if (run->json)
        tb_buf_fmt(&reply->out, "],\"accounts\":%zu,\"lacking\":%zu}\n", run->accounts,
                   run->incomplete);
    reply->no = run->fields > 0;
    say_end(run);
}

static tb_code list_accounts(check_run *run, tb_error *err)
{
    int64_t *accounts = NULL;
    tb_code code = tb_issue_accounts(run->ops->store, run->month, run->account, &accounts, &run->total,
                                     err);
    if (!code) code = tb__put_accounts(&run->all, accounts, run->total, err);
    run->left = run->all.data;
    free(accounts);
    return code;
}

static tb_code check_accounts(check_run *run, tb_error *err)
{
    tb__account_walk walk = {run->left, TB__ACCOUNTS_AT_ONCE, run->accounts, run->total, check_account,
                             run, &run->reply->out};
    tb_code code = tb__walk_accounts(run->ops, &walk, err);
    run->left = walk.left;
    if (!code) close_forms(run);
    return code;
}

static tb_code run_check(check_run *run, const tb_args *args, tb_error *err)
{
    tb_code code = tb_month_books_read(run->ops->store, &run->books, err);
    if (!code) code = args->next ? read_next(run, args->next, err) : list_accounts(run, err);
    if (code) return code;
    open_forms(run, !args->next);
    return check_accounts(run, err);
}

tb_code tb__invoice_check(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    check_run run = {.ops = ops,
                     .reply = reply,
                     .norm = norm_of(args),
                     .month = tb_arg_number(args, "month", 0),
                     .account = tb_arg_number(args, "account", 0),
                     .json = tb_arg_is(args, "format", "json")};
    tb_buf_init(&run.name, 4096, NULL);
    tb_buf_init(&run.all, TB_REPLY_MAX, NULL);
    tb_code code = run_check(&run, args, err);
    tb_buf_release(&run.name);
    tb_buf_release(&run.all);
    tb_month_books_release(&run.books);
    return code;
}
