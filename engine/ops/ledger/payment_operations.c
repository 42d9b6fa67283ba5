/* ledger import: a bank's list of payments. A row is entered where it is clear whose money it is: it names invoices
 * or opening balances of one account, or the file tells the account, or one account alone is called like the payer.
 * All other rows are listed and nothing of them is kept, so the same file can be given again. A file is entered as a
 * whole or not at all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"
#include "tollbook/settle.h"
#include "tollbook/billsource.h"

typedef enum state { ENTERED, KNOWN, OUTGOING, UNMATCHED, STATES } state;
static const char *const state_names[STATES] = {"entered", "known", "outgoing", "unmatched"};

/* What of an account is still open. */
typedef struct open_papers {
    int64_t account;
    tb_settle_open open; /* papers are those of which something remained at first; owned, with debits */
    struct open_papers *next;
} open_papers;
#define SETTLED_LISTS 4096

typedef struct importing {
    tb_ops *ops;
    tb_reply *reply;
    bool dry, today;
    size_t counts[STATES];
    size_t shown;
    const tb_payments *list;
    open_papers **settled; /* SETTLED_LISTS lists, by account */
} importing;

/* The account and the invoice that a row belongs to. */
typedef struct match {
    int64_t account; /* 0: nobody's */
    char invoice[24]; /* "": the oldest due */
    char missing[24]; /* what looks like an invoice's number, and is none; "": nothing does */
    char why[160];   /* why it is nobody's */
} match;

/* --- whose money it is --- */

#define VOIDS_MAX 1000 /* in one chain, so that damage ends */

/* The invoice that stands where this one stood, over any number of void ones; "": none does. */
static tb_code find_standing(importing *im, const tb_invoice *first, char number[24], tb_error *err)
{
    bool stands = first->state == TB_INVOICE_FINAL;
    tb_code code = TB_OK;
    snprintf(number, 24, "%s", stands ? first->number : first->replaced_by);
    for (int i = 0; !code && !stands && *number && i < VOIDS_MAX; i++) {
        tb_invoice next;
        code = tb_store_invoice(im->ops->store, 0, number, &next, err);
        if (code) return code;
        stands = next.state == TB_INVOICE_FINAL;
        if (!stands) snprintf(number, 24, "%s", next.replaced_by);
        tb_invoice_release(&next);
    }
    return code;
}

/* One invoice that the reference names; one that is void stands for that which took its place. */
static tb_code match_number(importing *im, const char *number, match *m, size_t *found, tb_error *err)
{
    tb_invoice invoice;
    tb_code code = tb_store_invoice(im->ops->store, 0, number, &invoice, err);
    if (code == TB_E_NOT_FOUND) return TB_OK;
    if (code) return code;
    if (*found && m->account != invoice.account)
        snprintf(m->why, sizeof m->why, "it names invoices of accounts %" PRId64 " and %" PRId64,
                 m->account, invoice.account);
    if (strcmp(invoice.kind, "invoice") == 0) {
        ++*found;
        m->account = invoice.account;
        code = find_standing(im, &invoice, m->invoice, err);
    }
    tb_invoice_release(&invoice);
    return code;
}

static tb_code match_numbers(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    char numbers[TB_PAYMENT_NUMBERS][24];
    const size_t n = tb_payment_numbers(p->reference, numbers);
    size_t found = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        code = match_number(im, numbers[i], m, &found, err);
    if (found > 1) m->invoice[0] = 0;
    if (!code && !found && n) memcpy(m->missing, numbers[0], sizeof m->missing);
    return code;
}

#define WORD_LEAST 4 /* a shorter reference, or one without a digit, is found in any text */

/* All opening balances of an account are taken back together. */
static tb_code was_taken_back(tb_store *store, const tb_ledger_entry *opening, bool *ret_so, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, opening->account, &entries, &n, err);
    *ret_so = !code && opening->id <= tb_ledger_opening_back(entries, n);
    free(entries);
    return code;
}

/* An opening balance that the reference names as a word of its own: it was billed elsewhere, under that number. */
static tb_code match_opening(importing *im, const char *word, size_t len, match *m, tb_error *err)
{
    char reference[64];
    tb_ledger_entry e;
    bool found = false;
    if (len < WORD_LEAST || len >= sizeof reference) return TB_OK;
    snprintf(reference, sizeof reference, "%.*s", (int)len, word);
    if (!reference[strcspn(reference, "0123456789")]) return TB_OK;
    tb_code code = tb_store_ledger_find(im->ops->store, TB_LEDGER_ADJUSTMENT, reference, &e, &found, err);
    if (code || !found || !tb_ledger_is_opening(&e)) return code;
    code = was_taken_back(im->ops->store, &e, &found, err);
    if (code || found) return code;
    if (m->account && m->account != e.account)
        snprintf(m->why, sizeof m->why, "it names opening balances of accounts %" PRId64 " and %" PRId64, m->account,
                 e.account);
    m->account = e.account;
    return TB_OK;
}

/* A word may be an opening's reference by chance, as a year may: the payer must not be another account. */
static tb_code check_payer(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    if (!m->account || p->account || !*p->payer) return TB_OK;
    tb_code code = tb_store_payers(im->ops->store, p->payer, &accounts, &n, err);
    bool own = n == 0;
    for (size_t i = 0; i < n; i++)
        own |= accounts[i] == m->account;
    if (!code && !own)
        snprintf(m->why, sizeof m->why, "it names an opening balance of account %" PRId64 ", and account %" PRId64
                 " is called like its payer", m->account, accounts[0]);
    free(accounts);
    return code;
}

static tb_code match_openings(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    static const char gaps[] = " ,;:()";
    tb_code code = TB_OK;
    for (const char *word = p->reference; !code && *(word += strspn(word, gaps));) {
        const size_t len = strcspn(word, gaps);
        code = match_opening(im, word, len, m, err);
        word += len;
    }
    return code ? code : check_payer(im, p, m, err);
}

/* What remains of the account's invoices, settled once a file and kept up to date. */
static tb_code settle_account(tb_store *store, open_papers *st, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    tb_settlement settled = {.credits = NULL};
    tb_settle_open *open = &st->open;
    size_t n = 0, n_papers = 0;
    tb_code code = tb_store_ledger(store, st->account, &entries, &n, err);
    if (!code) code = tb_store_settle_papers(store, st->account, &open->papers, &n_papers, err);
    if (!code) code = tb_settle(entries, n, open->papers, n_papers, &settled, err);
    for (size_t i = 0; !code && i < n_papers; i++)
        if (tb_decimal_sign(open->papers[i].remaining) > 0) open->papers[open->n_papers++] = open->papers[i];
    open->unallocated = settled.unallocated;
    open->debits = settled.debits;
    open->n_debits = settled.n_debits;
    settled.debits = NULL;
    tb_settlement_release(&settled);
    free(entries);
    return code;
}

static open_papers *find_settled(const importing *im, int64_t account)
{
    open_papers *st = im->settled[account % SETTLED_LISTS];
    while (st && st->account != account)
        st = st->next;
    return st;
}

static tb_code need_settled(importing *im, int64_t account, open_papers **ret, tb_error *err)
{
    open_papers *st = find_settled(im, account), **list = &im->settled[account % SETTLED_LISTS];
    tb_code code = TB_OK;
    if (!st) {
        st = calloc(1, sizeof *st);
        if (!st) return tb_no_memory(err);
        st->account = account;
        st->next = *list;
        *list = st;
        code = settle_account(im->ops->store, st, err);
    }
    *ret = st;
    return code;
}

static void release_settled(importing *im)
{
    for (size_t i = 0; i < SETTLED_LISTS; i++) {
        while (im->settled[i]) {
            open_papers *st = im->settled[i];
            im->settled[i] = st->next;
            free(st->open.papers);
            free(st->open.debits);
            free(st);
        }
    }
}

/* The one invoice of the account of which exactly this remains. */
static tb_code match_amount(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    open_papers *st = NULL;
    size_t found = 0;
    tb_code code = need_settled(im, m->account, &st, err);
    for (size_t i = 0; !code && i < st->open.n_papers; i++) {
        if (tb_decimal_compare(st->open.papers[i].remaining, p->amount) != 0) continue;
        found++;
        memcpy(m->invoice, st->open.papers[i].number, sizeof m->invoice);
    }
    if (found != 1) m->invoice[0] = 0;
    return code;
}

static tb_code match_payer(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    if (!*p->payer) {
        snprintf(m->why, sizeof m->why, "it names no invoice");
        return TB_OK;
    }
    tb_code code = tb_store_payers(im->ops->store, p->payer, &accounts, &n, err);
    if (code) return code;
    if (n == 1) m->account = accounts[0];
    else
        snprintf(m->why, sizeof m->why, "it names no invoice, and %s called like its payer",
                 n ? "several accounts are" : "no account is");
    free(accounts);
    return m->account ? match_amount(im, p, m, err) : TB_OK;
}

static tb_code match_account(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    bool exists = false;
    tb_code code = tb_store_account_exists(im->ops->store, p->account, &exists, err);
    if (code) return code;
    if (!exists) {
        snprintf(m->why, sizeof m->why, "there is no account %" PRId64, p->account);
        return TB_OK;
    }
    m->account = p->account;
    return match_amount(im, p, m, err);
}

static tb_code check_currency(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    char currency[4] = "";
    if (!m->account || !p->currency[0]) return TB_OK;
    tb_code code = tb_store_account_currency(im->ops->store, m->account, currency, err);
    if (code || strcmp(currency, p->currency) == 0) return code;
    snprintf(m->why, sizeof m->why, "it is in %s, and account %" PRId64 " is billed in %s", p->currency,
             m->account, currency);
    return TB_OK;
}

static tb_code find_match(importing *im, const tb_payment *p, match *m, tb_error *err)
{
    *m = (match){.account = 0};
    tb_code code = match_numbers(im, p, m, err);
    if (!code && !m->account) code = match_openings(im, p, m, err);
    if (!code && m->account && p->account && m->account != p->account)
        snprintf(m->why, sizeof m->why, "it is said to be account %" PRId64 "'s, and names an invoice"
                 " or opening balance of account %" PRId64, p->account, m->account);
    if (!code && !m->account && !m->why[0])
        code = p->account ? match_account(im, p, m, err) : match_payer(im, p, m, err);
    if (!code && !m->account && !p->account && m->missing[0])
        snprintf(m->why, sizeof m->why, "there is no invoice %s", m->missing);
    if (!code && !m->why[0]) code = check_currency(im, p, m, err);
    if (!m->why[0]) return code;
    m->account = 0;
    m->invoice[0] = 0;
    return code;
}

/* --- what is shown --- */

static void put_payment_row(importing *im, const tb_payment *p, const match *m, state s)
{
    char day[21], amount[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf *out = &im->reply->out, *json = &im->reply->json;
    tb_time_format(p->day * TB_US_PER_DAY, day);
    *tb_decimal_put(amount, p->amount) = 0;
    tb_buf_fmt(out, "%" PRIu64 "\t%.10s\t%s\t%s\t", p->line, day, amount, state_names[s]);
    if (m->account) tb_buf_fmt(out, "%" PRId64, m->account);
    tb_buf_fmt(out, "\t%s\t", m->invoice);
    tb__put_cell(out, m->why, strlen(m->why));
    tb_buf_str(out, "\n");
    if (s != UNMATCHED) return;
    tb_buf_fmt(json, "%s{\"line\":%" PRIu64 ",\"date\":\"%.10s\",\"amount\":\"%s\",\"reference\":",
               im->shown++ ? "," : "", p->line, day, amount);
    tb_json_string(json, p->reference, strlen(p->reference));
    tb_buf_str(json, ",\"why\":");
    tb_json_string(json, m->why, strlen(m->why));
    tb_buf_str(json, "}");
}

/* --- entering --- */

/* Whole characters alone. */
static void cut_text(char *out, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size) {
        len = size - 1;
        while (len && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    }
    memcpy(out, text, len);
    out[len] = 0;
}

/* The day's last second, behind what was invoiced that day; today it is now. */
static int64_t end_of_day(const importing *im, int64_t day)
{
    const int64_t end = (day + 1) * TB_US_PER_DAY - TB_US_PER_S;
    return end < im->ops->now_us ? end : im->ops->now_us;
}

static void fill_entry(const importing *im, const tb_payment *p, const match *m, tb_ledger_entry *e)
{
    char note[400], day[21];
    tb_time_format(p->day * TB_US_PER_DAY, day);
    *e = (tb_ledger_entry){.account = m->account, .kind = TB_LEDGER_PAYMENT, .amount = p->amount,
                           .at_us = im->today ? im->ops->now_us : end_of_day(im, p->day)};
    memcpy(e->reference, p->key, sizeof e->reference);
    memcpy(e->document, m->invoice, sizeof e->document);
    snprintf(note, sizeof note, "%.10s%s%.150s%s%.150s", day, *p->payer ? "; " : "", p->payer,
             *p->reference ? "; " : "", p->reference);
    cut_text(e->note, sizeof e->note, note);
}

static tb_code fail_row(const tb_payment *p, const tb_error *why, tb_error *err)
{
    return tb__refuse_row(p->line, why, why->code == TB_E_CLOSED ? "--today enters it as of now. " : "", err);
}

static tb_code enter_payment(importing *im, const tb_payment *p, const match *m, tb_error *err)
{
    tb_ledger_entry e;
    tb_error why = {0};
    bool known = false;
    fill_entry(im, p, m, &e);
    tb_code code = tb_ledger_enter(im->ops->store, &e, &known, &why);
    if (code) return fail_row(p, &why, err);
    open_papers *st = find_settled(im, m->account);
    if (!st || known) return TB_OK;
    return tb_settle_payment(&st->open, m->invoice, p->amount, err);
}

/* --- what was entered before --- */

/* Entered as of now, its note begins with the bank's day. */
static bool is_of_day(const tb_ledger_entry *e, const tb_payment *p)
{
    char day[21];
    tb_time_format(p->day * TB_US_PER_DAY, day);
    return tb_day_from_us(e->at_us) == p->day || strncmp(e->note, day, 10) == 0;
}

/* Both stand for the same: the one that it was entered for can have been replaced since. */
static tb_code is_of_invoice(importing *im, const tb_ledger_entry *e, const match *claimed, bool *ret,
                             tb_error *err)
{
    tb_invoice invoice;
    char standing[24];
    *ret = !claimed->invoice[0] || !e->document[0] || strcmp(claimed->invoice, e->document) == 0;
    if (*ret) return TB_OK;
    tb_code code = tb_store_invoice(im->ops->store, 0, e->document, &invoice, err);
    if (code) return code;
    code = find_standing(im, &invoice, standing, err);
    tb_invoice_release(&invoice);
    *ret = strcmp(claimed->invoice, standing) == 0;
    return code;
}

/* What the row itself says: who is called like its payer can have changed since. */
static tb_code is_same(importing *im, const tb_payment *p, const tb_ledger_entry *e, bool *ret, tb_error *err)
{
    match claimed = {.account = 0};
    *ret = tb_decimal_compare(e->amount, p->amount) == 0 && is_of_day(e, p) &&
           (!p->account || p->account == e->account);
    if (!*ret) return TB_OK;
    tb_code code = match_numbers(im, p, &claimed, err);
    if (code || !claimed.account) return code;
    *ret = claimed.account == e->account && !claimed.why[0];
    return *ret ? is_of_invoice(im, e, &claimed, ret, err) : TB_OK;
}

/* What is known by its id and differs is another payment, and no one knows which is right. */
static tb_code check_known(importing *im, const tb_payment *p, const tb_ledger_entry *e, match *m,
                           tb_error *err)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1], day[21];
    const bool bank = strncmp(p->key, "bank ", 5) == 0;
    bool same = false;
    m->account = e->account;
    memcpy(m->invoice, e->document, sizeof m->invoice);
    tb_code code = is_same(im, p, e, &same, err);
    if (code || same) return code;
    *tb_decimal_put(amount, e->amount) = 0;
    tb_time_format(e->at_us, day);
    tb_fail(err, TB_E_VALIDATION, bank ? "id" : "map",
            "%s%s was entered for account %" PRId64 " over %s on %.10s%s%s before, and differs. Nothing was"
            " entered.", bank ? "Payment " : "The row", bank ? p->key + 5 : "", e->account, amount, day,
            e->document[0] ? " to invoice " : "", e->document);
    if (err) err->line = p->line;
    return TB_E_VALIDATION;
}

/* By the bank's id, or by its row, for the file may have been entered without the column of the ids. */
static tb_code find_entered(const importing *im, const tb_payment *p, tb_ledger_entry *before, bool *known,
                            tb_error *err)
{
    tb_store *store = im->ops->store;
    tb_code code = tb_store_ledger_find(store, TB_LEDGER_PAYMENT, p->key, before, known, err);
    if (code || *known || strcmp(p->key, p->row) == 0) return code;
    return tb_store_ledger_find(store, TB_LEDGER_PAYMENT, p->row, before, known, err);
}

/* A map without the id would enter a payment again that an earlier map named by it. */
static tb_code check_cell(importing *im, const tb_payment *p, const char *cell, tb_error *err)
{
    tb_ledger_entry before;
    char key[64];
    bool known = false, same = false;
    if (!*cell || strlen(cell) >= sizeof key - 5) return TB_OK;
    snprintf(key, sizeof key, "bank %s", cell);
    tb_code code = tb_store_ledger_find(im->ops->store, TB_LEDGER_PAYMENT, key, &before, &known, err);
    if (!code && known) code = is_same(im, p, &before, &same, err);
    if (code || !same) return code;
    tb_fail(err, TB_E_VALIDATION, "map",
            "Its cell \"%s\" is the id of a payment that was entered before, over as much on that day. Say which"
            " column is the id: --map id=COLUMN. Nothing was entered.", cell);
    if (err) err->line = p->line;
    return TB_E_VALIDATION;
}

static tb_code check_cells(importing *im, const tb_payment *p, tb_error *err)
{
    char *const *cells = im->list->cells + (size_t)(p - im->list->list) * im->list->n_cells;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < im->list->n_cells && strcmp(p->key, p->row) == 0; i++)
        code = check_cell(im, p, cells[i], err);
    return code;
}

static tb_code import_row(importing *im, const tb_payment *p, tb_error *err)
{
    static const tb_error early = {.code = TB_E_VALIDATION, .field = "date",
                                   .message = "The day has not come yet."};
    match m = {.account = 0};
    tb_ledger_entry before;
    bool known = false;
    state s = ENTERED;
    tb_code code = TB_OK;
    if (tb_decimal_sign(p->amount) <= 0) s = OUTGOING;
    if (s == ENTERED && p->day > tb_day_from_us(im->ops->now_us))
        return fail_row(p, &early, err);
    if (s == ENTERED)
        code = find_entered(im, p, &before, &known, err);
    if (!code && known) {
        s = KNOWN;
        code = check_known(im, p, &before, &m, err);
    } else if (!code && s == ENTERED) {
        code = check_cells(im, p, err);
        if (!code) code = find_match(im, p, &m, err);
        if (!code && !m.account) s = UNMATCHED;
        else if (!code) code = enter_payment(im, p, &m, err);
    }
    if (code) return code;
    im->counts[s]++;
    put_payment_row(im, p, &m, s);
    return TB_OK;
}

static void say_counts(importing *im)
{
    tb_reply_say(im->reply, "%zu %s, %zu known before, %zu unmatched, %zu outgoing.%s",
                 im->counts[ENTERED], im->dry ? "would be entered" : "entered", im->counts[KNOWN],
                 im->counts[UNMATCHED], im->counts[OUTGOING],
                 im->counts[UNMATCHED] ? " Enter those by hand, with ledger pay, or mend them and give the"
                                         " file again." : "");
}

static tb_code import_rows(importing *im, const tb_payments *list, tb_error *err)
{
    tb_code code = TB_OK;
    tb_buf_str(&im->reply->out, "line\tdate\tamount\tstate\taccount\tinvoice\twhy\n");
    tb_buf_str(&im->reply->json, "{\"unmatched\":[");
    for (size_t i = 0; !code && i < list->n; i++)
        code = import_row(im, &list->list[i], err);
    if (code) return code;
    tb_buf_fmt(&im->reply->json, "],\"entered\":%zu,\"known\":%zu,\"outgoing\":%zu,\"dryRun\":%s}",
               im->counts[ENTERED], im->counts[KNOWN], im->counts[OUTGOING], im->dry ? "true" : "false");
    say_counts(im);
    im->reply->no = im->counts[UNMATCHED] > 0;
    return TB_OK;
}

/* All of it, so that it says what the run would say; and all of it is taken back. */
static tb_code try_rows(importing *im, const tb_payments *list, tb_error *err)
{
    tb_code code = tb_store_mark(im->ops->store, err);
    if (code) return code;
    code = import_rows(im, list, err);
    tb_store_back_to_mark(im->ops->store);
    im->reply->settled = true;
    return code;
}

static tb_code import_file(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "payments")->text;
    importing im = {.ops = ops, .reply = reply, .dry = tb_arg_given(args, "dry-run"),
                    .today = tb_arg_given(args, "today")};
    tb_payments list = {.list = NULL};
    tb_code code = tb_payments_parse(text.data, text.len, tb_arg_text(args, "map"),
                                     tb_arg_given(args, "comma"), &list, err);
    if (code) return code;
    im.list = &list;
    im.settled = calloc(SETTLED_LISTS, sizeof(open_papers *));
    if (!im.settled) code = tb_no_memory(err);
    else code = im.dry ? try_rows(&im, &list, err) : import_rows(&im, &list, err);
    if (im.settled) release_settled(&im);
    free(im.settled);
    tb_payments_release(&list);
    return code;
}

/* --- the rows --- */

static const tb_param import_params[] = {
    {.name = "payments", .value = "PAYMENTS.csv", .kind = TB_PARAM_DOCUMENT, .operand = true,
     .required = true, .max = (int64_t)TB_PAYMENTS_MAX - 4096, .help = "the bank's list"},
    {.name = "map", .value = "FIELD=COLUMN,...", .kind = TB_PARAM_TEXT, .required = true, .min = 1,
     .max = 1023, .help = "which column is what: date, amount, and where there are any reference,"
                          " currency, payer, id, account"},
    {.name = "comma", .kind = TB_PARAM_FLAG, .help = "amounts are written 1.234,56"},
    {.name = "today", .kind = TB_PARAM_FLAG,
     .help = "enter as of now what was paid in a month that is closed; default: as of the bank's day"},
    {.name = "dry-run", .kind = TB_PARAM_FLAG, .help = "say what would be entered, and enter nothing"},
};

static const tb_operation rows[] = {
    {.name = "ledger import",
     .summary = "Enter the payments of a bank's list",
     .details = "A row goes to the account whose invoice's number is in its reference, else to the account\n"
                "that the file names, else to the one account called like its payer. The status is 1 where\n"
                "rows are unmatched; these are listed, and nothing of them is kept. The same file again\n"
                "changes nothing: a row is known by the bank's id, or by its cells.",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(import_params),
     .write = import_file},
};
const tb__operations tb__payment_operations = TB__OPERATIONS(rows);
