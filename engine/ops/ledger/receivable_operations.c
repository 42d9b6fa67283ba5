/* ledger aging: what remains of each invoice and debit, by how long it is overdue. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"

/* --- ages --- */

/* X(JSON's name, the column's head, at most so many days overdue). */
#define AGES(X)                                                                                    \
    X("current", "current", 0)                                                                     \
    X("days_1_30", "1-30", 30)                                                                     \
    X("days_31_60", "31-60", 60)                                                                   \
    X("days_61_90", "61-90", 90)                                                                   \
    X("over_90", "over 90", INT64_MAX)

static const struct {
    const char *name, *head;
    int64_t most;
} ages[] = {
#define ROW(name, head, most) {name, head, most},
    AGES(ROW)
#undef ROW
};
#define N_AGES (sizeof ages / sizeof *ages)

typedef struct aging {
    const tb_ops *ops;
    tb_reply *reply;
    int64_t day, until_us; /* the day, and the end of it or now */
    bool table, one;       /* one: the account was named, and is shown whatever it owes */
    size_t shown;
} aging;

typedef struct aged {
    int64_t account;
    char currency[4];
    int digits;
    tb_decimal sum[N_AGES], total;
    tb_settle_paper *papers;
    size_t n_papers;
    tb_settlement settled;
} aged;

static size_t age_of(const aging *a, const tb_settle_paper *paper)
{
    int64_t us = 0;
    size_t i = 0;
    if (tb_date_parse(paper->due, strlen(paper->due), &us, NULL)) return 0;
    while (a->day - tb_day_from_us(us) > ages[i].most)
        i++;
    return i;
}

/* The papers, then the debits. */
static size_t receivables(const aged *of)
{
    return of->n_papers + of->settled.n_debits;
}

static const tb_settle_paper *receivable_at(const aged *of, size_t i)
{
    return i < of->n_papers ? &of->papers[i] : &of->settled.debits[i - of->n_papers];
}

static tb_code add_up(const aging *a, aged *of, tb_error *err)
{
    tb_code code = TB_OK;
    of->total = TB_DECIMAL_ZERO;
    for (size_t i = 0; i < N_AGES; i++)
        of->sum[i] = TB_DECIMAL_ZERO;
    for (size_t i = 0; !code && i < receivables(of); i++) {
        const tb_settle_paper *p = receivable_at(of, i);
        tb_decimal *sum = &of->sum[age_of(a, p)];
        if (!tb_decimal_sign(p->remaining)) continue;
        code = tb_decimal_add(*sum, p->remaining, sum, err);
        if (!code) code = tb_decimal_add(of->total, p->remaining, &of->total, err);
    }
    return code;
}

/* --- printing --- */

static const char *amount_text(const aged *of, tb_decimal amount, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    const tb_decimal plain = tb_decimal_normal(amount);
    *tb_decimal_put_fixed(out, plain, plain.scale > of->digits ? plain.scale : of->digits) = 0;
    return out;
}

static void put_invoices(tb_buf *out, const aged *of)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    bool first = true;
    tb_buf_str(out, ",\"invoices\":[");
    for (size_t i = 0; i < receivables(of); i++) {
        const tb_settle_paper *p = receivable_at(of, i);
        if (!tb_decimal_sign(p->remaining)) continue;
        tb_buf_fmt(out, "%s{\"number\":", first ? "" : ",");
        tb_json_string(out, p->number, strlen(p->number));
        tb_buf_fmt(out, ",\"due\":\"%s\",\"remaining\":\"%s\"}", p->due,
                   amount_text(of, p->remaining, text));
        first = false;
    }
    tb_buf_str(out, "]");
}

static void put_object(tb_buf *out, const aged *of, bool first)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%s{\"account\":%" PRId64, first ? "" : ",", of->account);
    for (size_t i = 0; i < N_AGES; i++)
        tb_buf_fmt(out, ",\"%s\":\"%s\"", ages[i].name, amount_text(of, of->sum[i], text));
    tb_buf_fmt(out, ",\"total\":\"%s\"", amount_text(of, of->total, text));
    put_invoices(out, of);
    tb_buf_str(out, "}");
}

static void put_aged_row(tb_buf *out, const aged *of)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%" PRId64 "\t%s", of->account, of->currency);
    for (size_t i = 0; i < N_AGES; i++)
        tb_buf_fmt(out, "\t%s", amount_text(of, of->sum[i], text));
    tb_buf_fmt(out, "\t%s\n", amount_text(of, of->total, text));
}

static void put_aged(aging *a, const aged *of)
{
    put_object(&a->reply->json, of, a->shown == 0);
    if (a->table) put_aged_row(&a->reply->out, of);
    else put_object(&a->reply->out, of, a->shown == 0);
    a->shown++;
}

/* --- reading --- */

/* Entries up to the moment that is asked about; the number of them. */
static size_t until(const aging *a, tb_ledger_entry *entries, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (entries[i].at_us < a->until_us) entries[kept++] = entries[i];
    return kept;
}

/* Release, also after an error. */
static tb_code read_aged(const aging *a, int64_t account, aged *of, tb_error *err)
{
    tb_store *store = a->ops->store;
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    *of = (aged){.account = account, .digits = 2};
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    if (!code) code = tb_store_settle_papers(store, account, &of->papers, &of->n_papers, err);
    if (!code) {
        if (n) memcpy(of->currency, entries[0].currency, sizeof of->currency);
        if (n) of->digits = tb_currency_minor_digits(of->currency);
        n = until(a, entries, n);
        code = tb_settle(entries, n, of->papers, of->n_papers, &of->settled, err);
    }
    if (!code) code = add_up(a, of, err);
    free(entries);
    return code;
}

static void aged_release(aged *of)
{
    tb_settlement_release(&of->settled);
    free(of->papers);
}

static tb_code age_account(aging *a, int64_t account, tb_error *err)
{
    aged of;
    tb_code code = read_aged(a, account, &of, err);
    if (!code && (a->one || tb_decimal_sign(of.total))) put_aged(a, &of);
    aged_release(&of);
    return code;
}

tb_code tb__account_owes(const tb_ops *ops, int64_t account, tb_decimal *ret_owed,
                         tb_decimal *ret_overdue, tb_error *err)
{
    const aging a = {.ops = ops, .day = tb_day_from_us(ops->now_us), .until_us = INT64_MAX};
    aged of;
    tb_code code = read_aged(&a, account, &of, err);
    *ret_owed = of.total;
    if (!code) code = tb_decimal_sub(of.total, of.sum[0], ret_overdue, err);
    aged_release(&of);
    return code;
}

static tb_code keep_aging(const aging *a, size_t done, size_t total, tb_error *err)
{
    const tb_ops *ops = a->ops;
    if (ops->step && !ops->step(ops->ctx, done, total)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    return ops->drain ? ops->drain(ops->ctx, &a->reply->out, err) : TB_OK;
}

static tb_code age_all(aging *a, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger_accounts(a->ops->store, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        code = age_account(a, accounts[i], err);
        if (!code && i % 64 == 63) code = keep_aging(a, i + 1, n, err);
    }
    free(accounts);
    return code;
}

static void put_aging_head(aging *a)
{
    tb_buf_str(&a->reply->json, "{\"accounts\":[");
    if (!a->table) {
        tb_buf_str(&a->reply->out, "{\"accounts\":[");
        return;
    }
    tb_buf_str(&a->reply->out, "account\tcurrency");
    for (size_t i = 0; i < N_AGES; i++)
        tb_buf_fmt(&a->reply->out, "\t%s", ages[i].head);
    tb_buf_str(&a->reply->out, "\ttotal\n");
}

/* The day itself is over at its end, or now. */
static tb_code read_moment(aging *a, const tb_args *args, tb_error *err)
{
    const tb_arg *at = tb_arg_of(args, "at");
    a->day = tb_day_from_us(a->ops->now_us);
    a->until_us = INT64_MAX;
    if (!at) return TB_OK;
    tb_code code = tb_account_day(at->text.data, at->text.len, "at", &a->day, err);
    if (!code) a->until_us = (a->day + 1) * TB_US_PER_DAY;
    return code;
}

static tb_code show_aging(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    aging a = {.ops = ops, .reply = reply, .table = !tb_arg_is(args, "format", "json"),
               .one = account != 0};
    tb_code code = read_moment(&a, args, err);
    if (!code && account) code = tb_store_need_account(ops->store, account, err);
    if (code) return code;
    put_aging_head(&a);
    code = account ? age_account(&a, account, err) : age_all(&a, err);
    tb_buf_str(&reply->json, "]}");
    if (!a.table) tb_buf_str(&reply->out, "]}\n");
    return code;
}

/* --- the rows --- */

static const tb_param aging_params[] = {
    TB__PARAM_ACCOUNT(false, "one account; default: all that owe something"),
    {.name = "at", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 10,
     .help = "as it stood at the end of this day, UTC; default: now"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "ledger aging",
     .summary = "List what remains to be paid, by how long it is overdue",
     .details = "A payment goes to the invoice that it names, other money to the oldest due. Days count from\n"
                "the due date, and from the day of issue where none is agreed. An adjustment below zero is\n"
                "listed by its reference, due on its own day.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(aging_params),
     .read = show_aging,
     .slow = true},
};
const tb__operations tb__receivable_operations = TB__OPERATIONS(rows);
