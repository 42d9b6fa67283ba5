/* Each account of a group is handled after a mark, so that a refused one does not affect the others. An invoice number
 * is not certain until the commit, hence nothing of a group is shown before. */
#include "tollbook/issue.h"
#include "ops/invoicing/issue_parts.h"
#include "tollbook/billsource.h"
#include "tollbook/invoice.h"
#include "tollbook/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNT_NAME_MAX 4096

void tb_issue_group_init(tb_issue_group *g)
{
    tb_buf_init(&g->said, TB_ISSUE_SAID_MAX, NULL);
}

void tb_issue_group_release(tb_issue_group *g)
{
    tb_buf_release(&g->said);
}

bool tb_issue_group_full(const tb_issue_group *g)
{
    return g->n >= TB_ISSUE_GROUP_ACCOUNTS || g->bytes >= TB_ISSUE_GROUP_BYTES;
}

void tb_issue_group_next(tb_issue_group *g)
{
    g->unsold = g->incomplete = 0;
    g->n = g->made = g->known = g->nothing = g->refused = g->bytes = g->said.len = 0;
}

/* --- messages --- */

static tb_code put_document(tb_issue_group *g, const tb_invoice *document, tb_error *err)
{
    tb_code code = g->put(g->ctx, document, NULL, g->shown, g->out, err);
    if (code) return code;
    g->shown++;
    g->bytes += document->text_len;
    return TB_OK;
}

typedef struct noting {
    tb_issue_group *group;
    tb_error err; /* the first error */
} noting;

static void note_credit(void *ctx, const tb_invoice *note)
{
    noting *n = ctx;
    tb_issue_group *g = n->group;
    char month[8];
    tb_month_format(note->month, month);
    tb_buf_fmt(&g->said, "account %" PRId64 ": credit note %s over %s %s for %s.\n", note->account,
               note->number, note->total, note->currency, month);
    if (!n->err.code) (void)!put_document(g, note, &n->err);
}

/* "31 days", "5 hours", "12.5 GB", "77 bytes": exact in each unit. */
static void put_quantity(tb_buf *out, const tb_unpriced *u)
{
    static const struct {
        const char *unit, *shown;
        tb_i128 size;
        int places;
    } units[] = {{"second", "day", 86400, 0}, {"second", "hour", 3600, 0}, {"byte", "GB", 1000000000, 9}};
    char text[TB_DECIMAL_TEXT_MAX + 1];
    const char *unit = u->unit;
    tb_decimal quantity = tb_decimal_from_int(u->quantity);
    for (size_t i = 0; i < sizeof units / sizeof *units && unit == u->unit; i++) {
        if (strcmp(u->unit, units[i].unit) != 0 || u->quantity < units[i].size) continue;
        if (!units[i].places && u->quantity % units[i].size) continue;
        quantity = units[i].places ? (tb_decimal){u->quantity, units[i].places} : tb_decimal_from_int(u->quantity / units[i].size);
        unit = units[i].shown;
    }
    *tb_decimal_put(text, quantity) = 0;
    tb_buf_fmt(out, "%s %s%s", text, unit, strcmp(text, "1") == 0 || strcmp(unit, "GB") == 0 ? "" : "s");
}

void tb__unpriced_say(tb_buf *out, const tb_unpriced *u)
{
    const char *id = strchr(u->resource, ':');
    id = id ? id + 1 : u->resource;
    if (strncmp(u->resource, "meter:", 6) == 0) {
        tb_buf_fmt(out, "Usage of meter %s", id);
        if (strcmp(u->what, "usage") != 0) tb_buf_fmt(out, " for %s", u->what);
    }
    else if (strcmp(u->what, "percentile") == 0) tb_buf_str(out, "Bandwidth at a percentile");
    else if (strcmp(u->what, "minimum") == 0) tb_buf_str(out, "The monthly minimum");
    else if (strcmp(u->what, "commit") == 0) tb_buf_str(out, "The contract's commit");
    else if (strcmp(u->what, "fee") == 0) {
        tb_buf_str(out, "A fee");
        if (strncmp(u->resource, "zone:", 5) == 0) tb_buf_fmt(out, " of pull zone %s", id);
        if (strncmp(u->resource, "load_balancer:", 14) == 0) tb_buf_fmt(out, " of load balancer %s", id);
    }
    else if (strcmp(u->what, "optimizer") == 0) tb_buf_fmt(out, "The optimizer of pull zone %s", id);
    else if (strcmp(u->what, "load_balancer") == 0) tb_buf_fmt(out, "Load balancer %s", id);
    else if (strcmp(u->what, "volume") == 0) tb_buf_fmt(out, "Volume traffic of pull zone %s", id);
    else tb_buf_fmt(out, "Traffic of pull zone %s in %s", id, u->what);
    tb_buf_str(out, ", ");
    put_quantity(out, u);
    tb_buf_fmt(out, ", is without a price. %s", u->reason);
}

/* Appends "account 2 (acme)"; the number alone where no name can be read. */
static void put_account(const tb_issue_group *g, int64_t account, tb_buf *out)
{
    tb_buf name;
    tb_error unread;
    tb_buf_init(&name, ACCOUNT_NAME_MAX, NULL);
    tb_buf_fmt(out, "account %" PRId64, account);
    if (tb_store_account_name(g->store, account, &name, &unread) == TB_OK && name.len) {
        tb_buf_str(out, " (");
        tb_buf_shown(out, name.data, name.len);
        tb_buf_str(out, ")");
    }
    tb_buf_release(&name);
}

/* Lists the usage to be priced before the month can be final. */
static void say_unpriced(const tb_issue_group *g, tb_buf *said, const tb_statement *s)
{
    const size_t n = s->bill->n_unpriced;
    for (size_t i = 0; i < n && i < TB_ISSUE_UNPRICED_MAX; i++) {
        put_account(g, s->account, said);
        tb_buf_str(said, ": ");
        tb__unpriced_say(said, &s->bill->unpriced[i]);
        tb_buf_str(said, "\n");
    }
    if (n > TB_ISSUE_UNPRICED_MAX)
        tb_buf_fmt(said, "account %" PRId64 ": and %zu more; its draft lists them all.\n",
                   s->account, n - TB_ISSUE_UNPRICED_MAX);
}

/* Months before this one that stay unbilled. */
static void say_left(tb_buf *said, const tb_issue *draft)
{
    for (size_t i = 0; i < draft->n_left; i++) {
        char month[8];
        tb_month_format(draft->left[i].late.month, month);
        tb_buf_fmt(said, "account %" PRId64 ": %s waits still: %s\n", draft->left[i].late.account,
                   month, draft->left[i].why);
    }
}

static void say_elsewhere(const tb_issue_group *g, int64_t account, const char *number,
                          tb_buf *said)
{
    char month[8];
    tb_month_format(g->month, month);
    tb_buf_fmt(said, "account %" PRId64 ": %s was billed on %s.\n", account, month, number);
}

/* Its sentence may not name a JSON path. */
static void say_refused(const tb_issue_group *g, tb_buf *said, int64_t account, const tb_error *why)
{
    bool path = why->code == TB_E_BOOK && why->field[0];
    put_account(g, account, said);
    tb_buf_fmt(said, ": %s%s%s\n", path ? why->field : "", path ? ": " : "", why->message);
}

/* --- errors of one account --- */

/* The group's output before an account. */
typedef struct mark {
    size_t said, out, shown, bytes;
} mark;

static mark mark_of(const tb_issue_group *g)
{
    return (mark){g->said.len, g->out->len, g->shown, g->bytes};
}

/* Removes the account's output and reports why it is refused. unpriced (may be NULL): further lines of the report. An
 * error that is not the account's own is returned, with the account's number in front. */
static tb_code refuse_account(tb_issue_group *g, int64_t account, mark before,
                              const tb_buf *unpriced, tb_code code, const tb_error *why,
                              tb_error *err)
{
    g->said.len = before.said;
    g->out->len = before.out;
    g->shown = before.shown;
    g->bytes = before.bytes;
    if (!tb_issue_is_its_own(code))
        return tb_fail(err, code, why->field, "account %" PRId64 ": %.320s", account, why->message);
    if (unpriced) tb_buf_add(&g->said, unpriced->data, unpriced->len);
    say_refused(g, &g->said, account, why);
    g->refused++;
    return TB_OK;
}

/* --- making final --- */

static void count_incomplete(tb_issue_group *g, const tb_statement *s)
{
    tb_missing_field fields[TB_MISSING_FIELDS_MAX];
    const size_t n = tb_statement_missing_fields(s, TB_NORM_LEGAL, fields);
    g->incomplete += n > 0;
    g->unsold += n > 0 && !s->seller;
}

/* A credit note could not be put: nothing of the account is made. */
static tb_code drop_made(const tb_error *why, tb_issue_outcome outcome, tb_invoice *invoice, tb_error *err)
{
    if (outcome == TB_ISSUE_MADE || outcome == TB_ISSUE_KNOWN) tb_invoice_release(invoice);
    return tb_fail(err, why->code, why->field, "%s", why->message);
}

/* *ret_invoice is set where *ret_outcome is MADE or KNOWN. */
static tb_code make_final(tb_issue_group *g, int64_t account, tb_invoice *ret_invoice,
                          tb_issue_outcome *ret_outcome, tb_buf *unpriced, tb_error *err)
{
    tb_issue draft;
    noting notes = {.group = g};
    char number[24];
    tb_code code =
        tb_issue_done(g->store, account, g->month, ret_invoice, number, ret_outcome, err);
    if (!code && *ret_outcome == TB_ISSUE_ELSEWHERE) say_elsewhere(g, account, number, &g->said);
    if (code || *ret_outcome != TB_ISSUE_NOTHING) return code;
    code = tb_issue_draft(g->store, account, g->month, g->books, g->now_us, &draft, err);
    if (code) return code;
    const tb_issue_options options = {.now_us = g->now_us, .empty = g->empty, .said = note_credit, .ctx = &notes};
    code = tb_issue_finalize(g->store, &draft, &options, ret_invoice, ret_outcome, err);
    if (!code && notes.err.code) code = drop_made(&notes.err, *ret_outcome, ret_invoice, err);
    if (code == TB_E_UNPRICED) say_unpriced(g, unpriced, &draft.statement);
    if (!code) say_left(&g->said, &draft);
    bool issued = !code && *ret_outcome == TB_ISSUE_MADE;
    if (!code && *ret_outcome != TB_ISSUE_KNOWN)
        code = tb_shadow_note(g->store, g->shadows, &draft, issued ? ret_invoice->number : "",
                              g->now_us, &g->said, err);
    if (!code && issued) count_incomplete(g, &draft.statement);
    if (code && issued) tb_invoice_release(ret_invoice);
    tb_issue_release(&draft);
    return code;
}

/* Credit notes of earlier runs of the month: they are put with its documents. */
static tb_code put_notes(tb_issue_group *g, int64_t account, tb_error *err)
{
    tb_invoice *notes = NULL;
    size_t n = 0;
    tb_code code = tb_store_run_notes(g->store, account, g->month, &notes, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (!code) code = put_document(g, &notes[i], err);
        tb_invoice_release(&notes[i]);
    }
    free(notes);
    return code;
}

/* Documents that are made now are put as they are made. */
static tb_code add_account(tb_issue_group *g, int64_t account, tb_buf *unpriced, tb_error *err)
{
    tb_invoice invoice;
    tb_issue_outcome outcome;
    const size_t before = g->shown;
    tb_code code = make_final(g, account, &invoice, &outcome, unpriced, err);
    if (code) return code;
    if (g->shown == before) code = put_notes(g, account, err);
    if (outcome == TB_ISSUE_MADE || outcome == TB_ISSUE_KNOWN) {
        if (!code) code = put_document(g, &invoice, err);
        tb_invoice_release(&invoice);
    }
    if (code) return code;
    g->made += outcome == TB_ISSUE_MADE;
    g->known += outcome == TB_ISSUE_KNOWN;
    g->nothing += outcome == TB_ISSUE_NOTHING || outcome == TB_ISSUE_ELSEWHERE;
    return TB_OK;
}

tb_code tb_issue_group_finalize(tb_issue_group *g, int64_t account, tb_error *err)
{
    tb_error why = {0};
    tb_buf unpriced;
    mark before = mark_of(g);
    tb_code code = tb_store_mark(g->store, err);
    if (code) return code;
    tb_buf_init(&unpriced, TB_ISSUE_SAID_MAX, NULL);
    g->n++;
    code = add_account(g, account, &unpriced, &why);
    if (!code) {
        code = tb_store_keep_mark(g->store, err);
    } else {
        tb_store_back_to_mark(g->store);
        code = refuse_account(g, account, before, &unpriced, code, &why, err);
        if (!code)
            code = tb_store_note_run(g->store, account, g->month, TB_RUN_REFUSED, why.message,
                                     g->now_us, err);
    }
    tb_buf_release(&unpriced);
    return code ? code : tb_buf_check(&g->said, err);
}

/* --- showing --- */

static tb_code show_stored(tb_issue_group *g, int64_t account, bool *ret_stands, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_invoices(g->store, account, g->month, &all, &n, err);
    if (code) return code;
    *ret_stands = false;
    code = put_notes(g, account, err);
    for (size_t i = 0; i < n; i++) {
        if (!code) code = put_document(g, &all[i], err);
        if (strcmp(all[i].kind, "invoice") == 0 && all[i].state == TB_INVOICE_FINAL)
            *ret_stands = true;
        tb_invoice_release(&all[i]);
    }
    free(all);
    return code;
}

static tb_code show_draft(tb_issue_group *g, int64_t account, tb_error *err)
{
    tb_issue draft;
    char number[24];
    size_t before = g->out->len;
    tb_code code = tb_store_billed_elsewhere(g->store, account, g->month, number, err);
    if (!code && number[0]) say_elsewhere(g, account, number, &g->said);
    if (code || number[0]) return code ? code : tb_buf_check(&g->said, err);
    code = tb_issue_draft(g->store, account, g->month, g->books, g->now_us, &draft, err);
    if (code) return code;
    say_left(&g->said, &draft);
    if (draft.joined.bill.n_lines + draft.joined.bill.n_unpriced > 0) {
        code = g->put(g->ctx, NULL, &draft.statement, g->shown, g->out, err);
        if (!code) g->shown++;
        g->bytes += g->out->len - before;
        say_unpriced(g, &g->said, &draft.statement);
    }
    tb_issue_release(&draft);
    return code ? code : tb_buf_check(&g->said, err);
}

tb_code tb_issue_group_show(tb_issue_group *g, int64_t account, tb_error *err)
{
    bool stands = false;
    tb_error why = {0};
    mark before = mark_of(g);
    g->n++;
    tb_code code = show_stored(g, account, &stands, &why);
    if (!code && !stands && g->stored) {
        g->nothing++;
    } else if (!code && !stands) {
        before = mark_of(g); /* stored documents are shown even if the draft fails */
        code = show_draft(g, account, &why);
    }
    return code ? refuse_account(g, account, before, NULL, code, &why, err) : TB_OK;
}

tb_code tb_issue_group_document(tb_issue_group *g, int64_t place, tb_error *err)
{
    tb_invoice document;
    g->n++;
    tb_code code = tb_store_issued_at(g->store, place, &document, err);
    if (code) return code;
    code = put_document(g, &document, err);
    tb_invoice_release(&document);
    return code;
}

/* --- the accounts of a month --- */

static tb_code one_account(tb_store *store, int64_t account, int64_t **ret_accounts, size_t *ret_n,
                           tb_error *err)
{
    tb_code code = tb_store_need_account(store, account, err);
    if (code) return code;
    *ret_accounts = malloc(sizeof **ret_accounts);
    if (!*ret_accounts) return tb_no_memory(err);
    (*ret_accounts)[0] = account;
    *ret_n = 1;
    return TB_OK;
}

/* Two ascending lists as one, each account once. */
static size_t merge(const int64_t *a, size_t n_a, const int64_t *b, size_t n_b, int64_t *out)
{
    size_t n = 0, i = 0, k = 0;
    while (i < n_a || k < n_b) {
        bool first = k == n_b || (i < n_a && a[i] <= b[k]);
        int64_t next = first ? a[i] : b[k];
        i += i < n_a && a[i] == next;
        k += k < n_b && b[k] == next;
        out[n++] = next;
    }
    return n;
}

/* Accounts with an earlier late month: this month's run bills it. */
static tb_code waiting_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                size_t *ret_n, tb_error *err)
{
    tb_late *late = NULL;
    size_t n = 0, kept = 0;
    tb_code code = tb_store_late(store, 0, &late, &n, err);
    if (code) return code;
    int64_t *list = malloc((n + 1) * sizeof *list);
    if (!list) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        if (late[i].month < month && (!kept || list[kept - 1] != late[i].account))
            list[kept++] = late[i].account;
    free(late);
    *ret_accounts = list;
    *ret_n = kept;
    return code;
}

/* Merges another list into *list. */
static tb_code add_accounts(tb_store *store, int64_t month,
                            tb_code (*read)(tb_store *, int64_t, int64_t **, size_t *, tb_error *),
                            int64_t **list, size_t *n, tb_error *err)
{
    int64_t *more = NULL;
    size_t n_more = 0;
    tb_code code = read(store, month, &more, &n_more, err);
    if (code) return code;
    int64_t *both = malloc((*n + n_more + 1) * sizeof *both);
    if (!both) {
        free(more);
        return tb_no_memory(err);
    }
    *n = merge(*list, *n, more, n_more, both);
    free(more);
    free(*list);
    *list = both;
    return TB_OK;
}

tb_code tb_issue_accounts(tb_store *store, int64_t month, int64_t account, int64_t **ret_accounts,
                          size_t *ret_n, tb_error *err)
{
    static tb_code (*const lists[])(tb_store *, int64_t, int64_t **, size_t *, tb_error *) = {
        tb_store_billed_accounts, tb_store_invoiced_accounts, tb_store_run_accounts,
        tb_store_prepaid_open, tb_store_charged_accounts, waiting_accounts};
    int64_t *all = NULL;
    size_t n = 0;
    tb_code code = TB_OK;
    if (account) return one_account(store, account, ret_accounts, ret_n, err);
    for (size_t i = 0; !code && i < sizeof lists / sizeof *lists; i++)
        code = add_accounts(store, month, lists[i], &all, &n, err);
    if (code) {
        free(all);
        return code;
    }
    *ret_accounts = all;
    *ret_n = n;
    return TB_OK;
}

/* Removes the elements of `others` from `list`, both ascending; returns the new length. */
static size_t without(int64_t *list, size_t n, const int64_t *others, size_t n_others)
{
    size_t kept = 0, k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k < n_others && others[k] < list[i])
            k++;
        if (k == n_others || others[k] != list[i]) list[kept++] = list[i];
    }
    return kept;
}

tb_code tb_issue_finish_run(tb_store *store, int64_t month, int64_t now_us, int64_t **ret_left,
                           size_t *ret_n, tb_error *err)
{
    int64_t *all = NULL, *done = NULL;
    size_t n = 0, n_done = 0;
    bool noted = false;
    *ret_left = NULL;
    *ret_n = 0;
    tb_code code = tb_store_all_accounts_ran(store, month, &noted, err);
    if (code || noted) return code;
    code = tb_issue_accounts(store, month, 0, &all, &n, err);
    if (!code) code = tb_store_run_accounts(store, month, &done, &n_done, err);
    if (!code) n = without(all, n, done, n_done);
    if (!code && n == 0) code = tb_store_note_run(store, 0, month, TB_RUN_NOTHING, "", now_us, err);
    free(done);
    if (code) {
        free(all);
        return code;
    }
    *ret_left = all;
    *ret_n = n;
    return TB_OK;
}
