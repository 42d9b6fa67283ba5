/* ledger accrue: enters what is left of credits behind their last day, then what prepaid accounts used, a group of
 * them a call. Each account lies behind a mark, so that one whose month cannot be rated leaves the others. `next`
 * holds the counts and the last account, so a run that was killed is completed by the same call.
 *
 * ledger grace: for how long zones of an empty account stay enabled. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"
#include "tollbook/ledger.h"
#include "tollbook/billsource.h"

#define GROUP_ACCOUNTS 50
#define GROUP_DAYS     500 /* rated in one transaction, and one account's rest */
#define GRACE_MAX      366

/* --- accrue --- */

typedef struct run {
    tb_ops *ops;
    const tb_args *args;
    tb_reply *reply;
    tb_month_books books;
    int64_t one; /* the account that is asked for; 0: all */
    /* Of all calls so far. */
    int64_t total, done, entries, refused, unpriced, expired, last;
    size_t days; /* of this call */
} run;

#define N_COUNTS 7

static void counts_of(run *r, int64_t *ret[N_COUNTS])
{
    int64_t *const all[N_COUNTS] = {&r->total,   &r->done,     &r->entries,
                                    &r->refused, &r->unpriced, &r->expired, &r->last};
    memcpy(ret, all, sizeof all);
}

static void put_next(run *r)
{
    int64_t *counts[N_COUNTS];
    counts_of(r, counts);
    for (size_t i = 0; i < N_COUNTS; i++)
        tb_buf_fmt(&r->reply->next, "%s%" PRId64, i ? " " : "", *counts[i]);
}

static tb_code begin_run(run *r, tb_error *err)
{
    const char *next = r->args->next;
    int64_t *counts[N_COUNTS];
    bool prepaid = true;
    counts_of(r, counts);
    for (size_t i = 0; next && i < N_COUNTS; i++)
        if (!tb__next_number(&next, counts[i])) return tb__next_wrong(err);
    if (r->args->next) return TB_OK;
    if (!r->one) return tb_store_prepaid_count(r->ops->store, &r->total, err);
    r->total = 1;
    tb_code code = tb_store_need_account(r->ops->store, r->one, err);
    if (!code) code = tb_store_account_prepaid(r->ops->store, r->one, &prepaid, err);
    if (code || prepaid) return code;
    return tb_fail(err, TB_E_VALIDATION, "account",
                   "Account %" PRId64 " is not prepaid. The catalogue says which are: \"prepaid\": true.",
                   r->one);
}

/* Credits are of any account. Once for a run: its next calls know. */
static tb_code expire_credits(run *r, tb_error *err)
{
    uint64_t entered = 0;
    if (r->args->next) return TB_OK;
    tb_code code = tb_ledger_expire(r->ops->store, r->one, r->ops->now_us, &entered, err);
    r->expired = (int64_t)entered;
    return code;
}

static void say_unpriced(run *r, int64_t account, const tb_accrued *a)
{
    char month[8];
    tb_month_format(a->unpriced_month, month);
    tb_reply_say(r->reply,
                 "account %" PRId64 ": %zu %s of usage in %s %s no price and %s in no entry. List %s with: "
                 "tollbook invoice --month %s --account %" PRId64,
                 account, a->unpriced, a->unpriced == 1 ? "kind" : "kinds", month,
                 a->unpriced == 1 ? "has" : "have", a->unpriced == 1 ? "is" : "are",
                 a->unpriced == 1 ? "it" : "them", month, account);
    r->unpriced++;
}

/* All of an account's days or none of them. */
static tb_code accrue_account(run *r, int64_t account, tb_error *err)
{
    tb_error why = {0};
    tb_accrued a;
    tb_code code = tb_store_mark(r->ops->store, err);
    if (code) return code;
    code = tb_prepaid_accrue(r->ops->store, account, &r->books, r->ops->now_us, &a, &why);
    r->done++;
    r->last = account;
    r->days += a.days;
    if (!code) {
        r->entries += (int64_t)a.entries;
        if (a.unpriced) say_unpriced(r, account, &a);
        return tb_store_keep_mark(r->ops->store, err);
    }
    tb_store_back_to_mark(r->ops->store);
    if (!tb_issue_is_its_own(code))
        return tb_fail(err, code, why.field, "account %" PRId64 ": %.320s", account, why.message);
    tb_reply_say(r->reply, "account %" PRId64 ": %s", account, why.message);
    r->refused++;
    return TB_OK;
}

static tb_code accrue_list(run *r, const int64_t *accounts, size_t n, bool *ret_more, tb_error *err)
{
    const tb_ops *ops = r->ops;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        if (r->days >= GROUP_DAYS) {
            *ret_more = true;
            return TB_OK;
        }
        code = accrue_account(r, accounts[i], err);
        if (!code && ops->step && !ops->step(ops->ctx, (uint64_t)r->done, (uint64_t)r->total))
            code = tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    return code;
}

static tb_code accrue_group(run *r, bool *ret_more, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    *ret_more = false;
    if (r->one) return accrue_list(r, &r->one, 1, ret_more, err);
    tb_code code = tb_store_prepaid_accounts(r->ops->store, r->last, GROUP_ACCOUNTS, &accounts, &n, err);
    if (code) return code;
    *ret_more = n == GROUP_ACCOUNTS;
    code = accrue_list(r, accounts, n, ret_more, err);
    free(accounts);
    return code;
}

static void put_answer(run *r)
{
    const int64_t yesterday = tb_day_from_us(r->ops->now_us) - 1;
    char day[20];
    tb_time_format(yesterday * TB_US_PER_DAY, day);
    tb_buf_fmt(&r->reply->json,
               "{\"through\":\"%.10s\",\"accounts\":%" PRId64 ",\"done\":%" PRId64 ",\"entries\":%" PRId64
               ",\"refused\":%" PRId64 ",\"unpriced\":%" PRId64 ",\"expired\":%" PRId64 "}",
               day, r->total, r->done, r->entries, r->refused, r->unpriced, r->expired);
    if (r->reply->next.len) return;
    if (r->expired) tb_reply_say(r->reply, "%s expired.", TB__COUNTED((uint64_t)r->expired, "credit"));
    if (!r->total) {
        tb_reply_say(r->reply, "No account is prepaid.");
        return;
    }
    tb_reply_say(r->reply, "%s through %.10s: %" PRId64 " %s made, %" PRId64 " refused.",
                 TB__COUNTED((uint64_t)r->total, "prepaid account"), day, r->entries,
                 r->entries == 1 ? "entry" : "entries", r->refused);
    r->reply->no = r->refused || r->unpriced;
}

static tb_code accrue(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    run r = {.ops = ops, .args = args, .reply = reply, .one = tb_arg_number(args, "account", 0)};
    bool more = false;
    tb_code code = begin_run(&r, err);
    if (!code) code = expire_credits(&r, err);
    if (!code) code = tb_month_books_read(ops->store, &r.books, err);
    if (code) return code;
    code = accrue_group(&r, &more, err);
    tb_month_books_release(&r.books);
    if (code) return code;
    if (more) put_next(&r);
    put_answer(&r);
    return TB_OK;
}

/* --- grace --- */

static void put_grace(tb_reply *reply, int64_t days)
{
    if (days < 0) {
        tb_buf_str(&reply->json, "{\"days\":null}");
        tb_buf_str(&reply->out, "off\n");
        return;
    }
    tb_buf_fmt(&reply->json, "{\"days\":%" PRId64 "}", days);
    tb_buf_fmt(&reply->out, "%" PRId64 "\n", days);
}

static tb_code show_grace(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    int64_t days = 0;
    (void)args;
    tb_code code = tb_store_grace(ops->store, &days, err);
    if (!code) put_grace(reply, days);
    return code;
}

/* "off", or a number of days: at most four characters, by its row. */
static tb_code read_days(const tb_args *args, int64_t *ret_days, tb_error *err)
{
    const char *text = tb_arg_text(args, "days"), *at = text;
    *ret_days = -1;
    if (strcmp(text, "off") == 0) return TB_OK;
    for (*ret_days = 0; *at >= '0' && *at <= '9'; at++)
        *ret_days = *ret_days * 10 + (*at - '0');
    if (at != text && !*at && *ret_days <= GRACE_MAX) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "days", "It is a number of days up to %d, or off.", GRACE_MAX);
}

static tb_code set_grace(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    int64_t days = 0;
    tb_code code = read_days(args, &days, err);
    if (!code) code = tb_store_set_grace(ops->store, days, err);
    if (code) return code;
    put_grace(reply, days);
    if (days < 0)
        tb_reply_say(reply, "Zones of empty prepaid accounts stay enabled.");
    else
        tb_reply_say(reply, "Zones of a prepaid account are disabled %s after nothing is left.",
                     TB__COUNTED((uint64_t)days, "day"));
    return TB_OK;
}

/* --- the rows --- */

static const tb_param accrue_params[] = {TB__PARAM_ACCOUNT(false, "of this prepaid account alone")};

static const tb_param grace_params[] = {
    {.name = "days", .value = "N|off", .kind = TB_PARAM_TEXT, .min = 1, .max = 4,
     .help = "days, 0 at least; off: zones stay enabled. Without it: print what is set"},
};

static const tb_operation rows[] = {
    {.name = "ledger accrue",
     .summary = "Enter what prepaid accounts used through yesterday (UTC), and what credits expired",
     .details =
         "For each account with \"prepaid\": true there is an entry `usage` a day: what its month came to by\n"
         "the end of that day, with tax and rounded as its draft is, less what was entered before. Days that\n"
         "were missed are caught up; usage that comes late for a day is in the next day's entry. When the\n"
         "month is made final they are taken back by one entry, and its invoice stands for them. The same\n"
         "again changes nothing. What is left of credits behind their last day goes by an entry\n"
         "`credit_expired`, whoever they belong to. `serve` does all of it daily, just after midnight.",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(accrue_params),
     .slow = true,
     .write = accrue},
    {.name = "ledger grace",
     .summary = "Set for how many days the zones of an empty prepaid account stay enabled",
     .details =
         "An account is empty from the entry on that takes its balance to 0 or below. After so many days\n"
         "its zones are shown with Enabled false, and their logs are closed, until a payment takes the balance\n"
         "above 0. At first it is 0 days: a balance of 0 is not above 0. Usage is charged by what the catalogue\n"
         "declares, whatever is shown.",
     .access = TB_ACCESS_READ,
     .write_access = TB_ACCESS_MONEY,
     TB__PARAMS(grace_params),
     .read = show_grace,
     .write = set_grace,
     .write_flags = "days"},
};
const tb__operations tb__prepaid_operations = TB__OPERATIONS(rows);
