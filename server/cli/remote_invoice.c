/* tollbook invoice on a running server. A month goes group by group: the server says which accounts
 * it has, then each request names some of them and is told how many it took into one commit. What was
 * answered is kept until all of it has come (spool.h), and the same command again prints what a
 * client that was killed could not. The texts come as they were issued; every other form is made of
 * them here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/meter.h"
#include "cli/remote.h"
#include "cli/remote_report.h"
#include "cli/take.h"

#define ROUNDS_MAX 100 /* of accounts that come in while a month is made final */

static int not_ours(const client *c)
{
    cli_say(c->call, "%s: The answer is not tollbook's. Check the URL.", c->url);
    return tb_code_exit(TB_E_BAD_INPUT);
}

static int ask(client *c, const client_request *request, json_t **ret_answer)
{
    int status = client_send(c, request);
    *ret_answer = status == 0 ? client_json(c) : NULL;
    return status == 0 && !*ret_answer ? tb_code_exit(TB_E_BAD_INPUT) : status;
}

/* --- which accounts --- */

static tb_i128 amount_of(const json_t *object, const char *name)
{
    tb_decimal amount;
    const char *text = json_string_value(json_object_get(object, name));
    return text && !tb_decimal_parse(text, strlen(text), 0, &amount, NULL) ? amount.mantissa : 0;
}

static void read_kind(const json_t *object, const char *list, const char *count, const char *id,
                      tb_unowned_kind *kind)
{
    const json_t *named = json_object_get(object, list);
    for (; kind->n < json_array_size(named) && kind->n < TB_UNOWNED_NAMED_MAX; kind->n++) {
        const json_t *item = json_array_get(named, kind->n);
        kind->named[kind->n] = (tb_unowned){.id = (int64_t)report_number(item, id),
                                            .requests = amount_of(item, "requests"),
                                            .bytes = amount_of(item, "bytes")};
    }
    kind->count = report_number(object, count);
}

static void read_unowned(const json_t *answer, tb_unowned_usage *ret)
{
    const json_t *u = json_object_get(answer, "unassigned");
    read_kind(u, "zones", "zone_count", "zone", &ret->zones);
    ret->zones.requests = amount_of(u, "requests");
    ret->zones.bytes = amount_of(u, "bytes");
    read_kind(u, "load_balancers", "load_balancer_count", "load_balancer", &ret->balancers);
    ret->balancers.requests = amount_of(u, "load_balancer_requests");
}

static int read_accounts(client *c, invoice_run *run)
{
    char path[96], month[8];
    json_t *answer;
    client_request request = {.method = "GET", .path = path};
    tb_month_format(run->month, month);
    snprintf(path, sizeof path, "/invoices/accounts?month=%s&account=%" PRId64, month,
             cli_number(run->call, "account", 0));
    int status = ask(c, &request, &answer);
    if (status) return status;
    const json_t *list = json_object_get(answer, "accounts");
    size_t n = json_array_size(list);
    run->accounts = malloc((n + 1) * sizeof *run->accounts);
    if (!run->accounts || !json_is_array(list)) {
        status = run->accounts ? not_ours(c) : tb_code_exit(TB_E_NOMEM);
        n = 0;
    }
    for (; run->n_accounts < n; run->n_accounts++)
        run->accounts[run->n_accounts] = json_integer_value(json_array_get(list, run->n_accounts));
    if (invoice_of_all(run)) read_unowned(answer, &run->unowned);
    json_decref(answer);
    return status;
}

/* --- printing --- */

static tb_code put_draft(invoice_run *run, const char *text, size_t len, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(text, len, NULL, &paper, err);
    if (code) return code;
    code = tb_shown_draft(run->form, &paper.statement, run->shown == 0, &run->out, err);
    tb_paper_release(&paper);
    return code;
}

static tb_code put_text(invoice_run *run, const json_t *item, const json_t *text, tb_error *err)
{
    const char *state = json_string_value(json_object_get(item, "state"));
    tb_invoice invoice = {.state = TB_INVOICE_FINAL, .text_len = json_string_length(text)};
    char *bytes = malloc(invoice.text_len + 1);
    if (!bytes) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    memcpy(bytes, json_string_value(text), invoice.text_len + 1);
    invoice.text = bytes;
    if (state && strcmp(state, "void") == 0) invoice.state = TB_INVOICE_VOID;
    tb_code code = state && strcmp(state, "draft") == 0
                       ? put_draft(run, bytes, invoice.text_len, err)
                       : tb_shown_stored(run->form, &invoice, run->shown == 0, &run->out, err);
    free(bytes);
    return code;
}

static int put_one(invoice_run *run, const json_t *item)
{
    tb_error err;
    const json_t *text = json_object_get(item, "text");
    if (!json_is_string(text)) {
        cli_say(run->call, "account %" PRIu64 ": Its invoice is too long to be sent. Print it with:"
                           " tollbook invoice --db FILE --month %s --account %" PRIu64,
                report_number(item, "account"), cli_text(run->call, "month"),
                report_number(item, "account"));
        run->left_out++;
        return 0;
    }
    tb_code code = put_text(run, item, text, &err);
    if (!code) code = spool_take(&run->document, &run->out, &err);
    if (code) return cli_fail(run->call, NULL, &err);
    run->shown++;
    return 0;
}

static int print_group(invoice_run *run, const json_t *answer)
{
    size_t i;
    int status = 0;
    json_t *item;
    run->made += report_number(answer, "made");
    run->known += report_number(answer, "known");
    run->nothing += report_number(answer, "nothing");
    run->refused += report_number(answer, "refused");
    json_array_foreach(json_object_get(answer, "invoices"), i, item)
    {
        if (status == 0) status = put_one(run, item);
    }
    client_say_lines(run->call, answer);
    return status;
}

/* --- group by group --- */

/* from: the first account of the group; past the last: those who had nothing. */
static char *group_body(const invoice_run *run, size_t from)
{
    char month[8];
    size_t end = run->n_accounts - from > TB_ISSUE_GROUP_ACCOUNTS ? from + TB_ISSUE_GROUP_ACCOUNTS
                                                                  : run->n_accounts;
    json_t *list = json_array();
    for (size_t i = from; i < end; i++)
        json_array_append_new(list, json_integer(run->accounts[i]));
    tb_month_format(run->month, month);
    json_t *body = json_pack("{s:s,s:b,s:b,s:b}", "month", month, "finalize",
                             cli_given(run->call, "finalize"), "empty",
                             cli_given(run->call, "empty"), "everybody", from == run->n_accounts);
    if (body && from < run->n_accounts)
        json_object_set_new(body, "accounts", list);
    else
        json_decref(list);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

static int ask_group(client *c, const invoice_run *run, size_t from, json_t **ret_answer)
{
    char *body = group_body(run, from);
    if (!body) return tb_code_exit(TB_E_NOMEM);
    client_request request = {.method = "POST", .path = "/invoices/run", .body = body,
                              .type = "application/json", .len = strlen(body)};
    int status = ask(c, &request, ret_answer);
    free(body);
    return status;
}

static int run_group(client *c, invoice_run *run, size_t from, size_t *ret_done)
{
    json_t *answer;
    int status = ask_group(c, run, from, &answer);
    if (status) return status;
    *ret_done = report_number(answer, "done");
    run->done += *ret_done;
    status = *ret_done == 0 || *ret_done > run->n_accounts - from ? not_ours(c)
                                                                  : print_group(run, answer);
    json_decref(answer);
    return status;
}

/* *at: how many accounts were taken. */
static int run_groups(client *c, invoice_run *run, meter *progress, size_t *at)
{
    int status = 0;
    for (size_t done = 0; status == 0 && *at < run->n_accounts; *at += done) {
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) break;
        done = 0;
        status = run_group(c, run, *at, &done);
        if (status == 0 && cli_given(run->call, "progress"))
            meter_share(progress, *at + done, run->n_accounts);
    }
    return status;
}

/* Adds accounts that came in since; those that were taken before are none of them. */
static int add_left(invoice_run *run, const json_t *left)
{
    size_t n = json_array_size(left);
    int64_t *more = realloc(run->accounts, (run->n_accounts + n + 1) * sizeof *more);
    if (!more) return tb_code_exit(TB_E_NOMEM);
    run->accounts = more;
    for (size_t i = 0; i < n; i++)
        more[run->n_accounts++] = json_integer_value(json_array_get(left, i));
    return 0;
}

/* All of them, then those who had nothing; whoever came in meanwhile is taken too. */
static int run_everybody(client *c, invoice_run *run, meter *progress)
{
    size_t at = 0, left = 1;
    int status = run_groups(c, run, progress, &at);
    bool all = cli_given(run->call, "finalize") && !cli_given(run->call, "account");
    for (int round = 0; all && left && round < ROUNDS_MAX && status == 0; round++) {
        json_t *answer;
        if (at < run->n_accounts) break; /* interrupted */
        status = ask_group(c, run, at, &answer);
        if (status) break;
        left = json_array_size(json_object_get(answer, "left"));
        status = add_left(run, json_object_get(answer, "left"));
        json_decref(answer);
        if (status == 0) status = run_groups(c, run, progress, &at);
    }
    if (all && left && status == 0 && at == run->n_accounts) invoice_say_left(run, left);
    return status;
}

static int say_shadows(client *c, const invoice_run *run)
{
    char path[48], month[8];
    json_t *answer;
    client_request request = {.method = "GET", .path = path};
    tb_month_format(run->month, month);
    snprintf(path, sizeof path, "/invoices/shadows?month=%s", month);
    int status = ask(c, &request, &answer);
    if (status) return status;
    client_say_lines(run->call, answer);
    json_decref(answer);
    return 0;
}

static int run_month(client *c, invoice_run *run)
{
    bool final = cli_given(run->call, "finalize");
    meter progress;
    int status = read_accounts(c, run);
    if (status) return status;
    take_catch_signals();
    tb_shown_open(run->form, &run->out);
    meter_init(&progress, cli_text(run->call, "month"));
    status = run_everybody(c, run, &progress);
    meter_end(&progress);
    if (status == 0 && final) status = say_shadows(c, run);
    if (status) invoice_say_kept(run);
    if (status) return status;
    return final ? invoice_end_finalize(run) : invoice_end_show(run);
}

int remote_invoice(invoice_run *run)
{
    client c;
    int status = client_open(&c, run->call);
    tb_buf_init(&run->out, 2 * TB_INVOICE_TEXT_MAX, NULL);
    spool_init(&run->document);
    if (status == 0) status = run_month(&c, run);
    spool_release(&run->document);
    tb_buf_release(&run->out);
    free(run->accounts);
    client_close(&c);
    return status;
}

/* --- void, late --- */

int remote_invoice_void(const cli_call *call)
{
    json_t *answer;
    char path[128], escaped[80];
    const char *number = cli_text(call, "void");
    client_request request = {.method = "POST", .path = path, .subject = number};
    if (!*number || strlen(number) >= 24 || !client_escape(number, escaped, sizeof escaped)) {
        cli_say(call, "%.64s: %s", number, tb_code_text(TB_E_INVOICE_NOT_FOUND));
        return tb_code_exit(TB_E_INVOICE_NOT_FOUND);
    }
    snprintf(path, sizeof path, "/invoices/%s/void", escaped);
    int status = client_ask(call, &request, &answer);
    json_decref(answer);
    if (status == 0) invoice_say_void(call, number);
    return status;
}

static void show_late(const json_t *item)
{
    tb_late late = {.account = (int64_t)report_number(item, "account"),
                    .since = report_number(item, "since"),
                    .deltas = report_number(item, "deltas"),
                    .declared = report_number(item, "declared")};
    const char *month = json_string_value(json_object_get(item, "month"));
    const char *invoice = json_string_value(json_object_get(item, "invoice"));
    const char *outcome = json_string_value(json_object_get(item, "outcome"));
    const char *reason = json_string_value(json_object_get(item, "reason"));
    for (int i = 0; outcome && i < TB_RUN_OUTCOME_COUNT; i++)
        if (strcmp(outcome, tb_run_outcome_name((tb_run_outcome)i)) == 0)
            late.outcome = (tb_run_outcome)i;
    if (!month || !tb_month_parse(month, strlen(month), &late.month)) late.month = 0;
    snprintf(late.invoice, sizeof late.invoice, "%s", invoice ? invoice : "");
    snprintf(late.reason, sizeof late.reason, "%s", reason ? reason : "");
    invoice_show_late(&late);
}

int remote_invoice_late(const cli_call *call)
{
    json_t *answer, *item;
    size_t i;
    char path[64];
    client_request request = {.method = "GET", .path = path};
    snprintf(path, sizeof path, "/invoices/late?account=%" PRId64, cli_number(call, "account", 0));
    int status = client_ask(call, &request, &answer);
    if (status) return status;
    const json_t *list = json_object_get(answer, "late");
    puts(INVOICE_LATE_HEAD);
    json_array_foreach(list, i, item)
    {
        show_late(item);
    }
    status = invoice_end_late(call, json_array_size(list));
    json_decref(answer);
    return status;
}
