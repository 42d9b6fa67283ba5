/* tollbook book activate | drop | report, and what an invoice run says of shadow books. Activating
 * compares and writes in one transaction: nothing can be billed in between. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/invoice.h"
#include "cli/meter.h"
#include "cli/take.h"

#define ANSWER_NO  1   /* exit status */
#define NAMED_MAX  100 /* accounts named in a refusal; the rest is counted */
#define LIMIT_TEXT "10"

/* An amount with the currency's digits; terminated. */
static const char *money(tb_decimal amount, const char *currency, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    *tb_decimal_put_fixed(out, amount, tb_currency_minor_digits(currency)) = 0;
    return out;
}

/* --- activate --- */

typedef struct activation {
    const cli_call *call;
    tb_store *store;
    int64_t now_us;
    tb_decimal limit;
    const char *limit_text;
    meter progress;
    shadow_change *changes;
    size_t n, over, accounts;
} activation;

static bool step(void *ctx, size_t done, size_t total)
{
    activation *a = ctx;
    if (cli_given(a->call, "progress")) meter_share(&a->progress, done, total);
    return !atomic_load_explicit(&take_stop, memory_order_relaxed);
}

static void say_change(const activation *a, const shadow_change *c)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2];
    char before[TB_DECIMAL_TEXT_MAX + 1], after[TB_DECIMAL_TEXT_MAX + 1], unpriced[64] = "";
    month_format(c->month.month, month);
    shadow_percent(c->before, c->after, percent);
    if (c->unpriced)
        snprintf(unpriced, sizeof unpriced, ", and %" PRIu64 " of its charges have no price",
                 c->unpriced);
    cli_say(a->call, "account %" PRId64 ": %s would come to %s %s instead of %s (%s%s)%s.",
            c->month.account, month, money(c->after, c->month.currency, after), c->month.currency,
            money(c->before, c->month.currency, before), percent,
            strcmp(percent, "new") == 0 ? "" : " %", unpriced);
}

static void count(activation *a)
{
    for (size_t i = 0; i < a->n; i++) {
        a->over += a->changes[i].over;
        if (i == 0 || a->changes[i].month.account != a->changes[i - 1].month.account) a->accounts++;
    }
}

static void say_over(const activation *a)
{
    size_t said = 0;
    for (size_t i = 0; i < a->n && said < NAMED_MAX; i++) {
        if (!a->changes[i].over) continue;
        say_change(a, &a->changes[i]);
        said++;
    }
    if (a->over > said) cli_say(a->call, "... and %zu more.", a->over - said);
}

static tb_code find(activation *a, tb_shadow *ret_shadow, tb_error *err)
{
    shadow_books books;
    const char *id = a->call->operands[0];
    size_t found = 0;
    tb_code code = shadow_books_read(a->store, &books, err);
    if (code) return code;
    while (found < books.n && strcmp(books.list[found].book.id, id) != 0)
        found++;
    if (found < books.n)
        code = tb_store_shadow(a->store, books.list[found].id, ret_shadow, err);
    else
        code = tb_fail(err, TB_E_NOT_FOUND, "book",
                       "There is no shadow book \"%.64s\". See: tollbook book list --db FILE", id);
    shadow_books_release(&books);
    return code;
}

/* In a transaction. *ret_refused: the limit is exceeded and nothing was done. */
static tb_code compare_and_activate(activation *a, bool *ret_refused, tb_error *err)
{
    tb_shadow shadow;
    tb_code code = find(a, &shadow, err);
    if (code) return code;
    code = shadow_changes(a->store, &shadow, cli_number(a->call, "months", 1), a->limit, a->now_us,
                          step, a, &a->changes, &a->n, err);
    meter_end(&a->progress);
    if (!code) {
        count(a);
        say_over(a);
        *ret_refused = a->over > 0 && !cli_given(a->call, "anyway");
        if (!*ret_refused)
            code = tb_store_activate_shadow(a->store, shadow.book.id, a->now_us, err);
    }
    tb_shadows_release(&shadow, 1);
    return code;
}

static int activate(activation *a)
{
    tb_error err;
    bool refused = false;
    const char *id = a->call->operands[0];
    tb_code code = tb_store_begin(a->store, &err);
    if (code) return cli_fail(a->call, NULL, &err);
    code = compare_and_activate(a, &refused, &err);
    if (!code && !refused) code = tb_store_commit(a->store, &err);
    if (code || refused) tb_store_rollback(a->store);
    if (code) return cli_fail(a->call, id, &err);
    if (refused) {
        cli_say(a->call,
                "\"%s\" stays a shadow: %zu of %zu billed months would change by more than %s %%."
                " --max-change PERCENT moves the limit, --anyway activates it all the same.",
                id, a->over, a->n, a->limit_text);
        return ANSWER_NO;
    }
    cli_say(a->call,
            "\"%s\" is a book now. %zu billed months of %zu accounts were compared; %zu change by"
            " more than %s %%.",
            id, a->n, a->accounts, a->over, a->limit_text);
    return 0;
}

static int read_limit(activation *a)
{
    tb_error err;
    a->limit_text = cli_given(a->call, "max-change") ? cli_text(a->call, "max-change") : LIMIT_TEXT;
    tb_code code =
        tb_decimal_parse(a->limit_text, strlen(a->limit_text), TB_PRICE_SCALE_MAX, &a->limit, &err);
    if (!code && tb_decimal_sign(a->limit) >= 0) return 0;
    cli_say(a->call, "--max-change does not take \"%.32s\": write percent like 10 or 2.5.",
            a->limit_text);
    return tb_code_exit(TB_E_USAGE);
}

int cli_book_activate(const cli_call *call)
{
    activation a = {.call = call};
    int status = read_limit(&a);
    if (status == 0) status = cli_clock(call, &a.now_us);
    if (status == 0) status = cli_open(call, true, a.now_us, &a.store);
    if (status) return status;
    take_catch_signals();
    meter_init(&a.progress, call->operands[0]);
    status = activate(&a);
    free(a.changes);
    tb_store_close(a.store);
    return status;
}

/* --- drop --- */

static tb_code drop(tb_store *store, const char *id, int64_t now_us, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_store_drop_shadow(store, id, now_us, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

int cli_book_drop(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, true, now_us, &store);
    if (status) return status;
    if (drop(store, call->operands[0], now_us, &err))
        status = cli_fail(call, call->operands[0], &err);
    else
        cli_say(call,
                "Shadow book \"%s\" is dropped. What it would have billed stays in: tollbook"
                " book report --db FILE",
                call->operands[0]);
    tb_store_close(store);
    return status;
}

/* --- report --- */

static void print_bill(const tb_shadow_bill *b)
{
    char month[8], billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    char delta[TB_DECIMAL_TEXT_MAX + 1], percent[TB_DECIMAL_TEXT_MAX + 2];
    tb_decimal change = TB_DECIMAL_ZERO;
    month_format(b->month, month);
    if (tb_decimal_sub(b->would, b->billed, &change, NULL)) change = TB_DECIMAL_ZERO;
    shadow_percent(b->billed, b->would, percent);
    printf("%s\t%s\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t%" PRIu64 "\t%s\n", b->book, month, b->account,
           b->currency, money(b->billed, b->currency, billed), money(b->would, b->currency, would),
           money(change, b->currency, delta), percent, b->unpriced, b->invoice);
}

static int report(const cli_call *call, const tb_shadow_bill *bills, size_t n)
{
    size_t printed = 0;
    puts("book\tmonth\taccount\tcurrency\tbilled\twould\tdelta\tpercent\tunpriced\tinvoice");
    for (size_t i = 0; i < n; i++) {
        if (call->n_operands && strcmp(bills[i].book, call->operands[0]) != 0) continue;
        print_bill(&bills[i]);
        printed++;
    }
    int status = cli_done(call);
    if (status || printed) return status;
    cli_say(call, "Nothing is noted yet: a month's `tollbook invoice --finalize` notes it.");
    return ANSWER_NO;
}

int cli_book_report(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    int64_t now_us, month = INT64_MIN;
    const char *text = cli_text(call, "month");
    int status = cli_clock(call, &now_us);
    if (status == 0 && text && !month_parse(text, strlen(text), &month)) {
        cli_say(call, "--month does not take \"%.32s\": write it like 2026-10.", text);
        return tb_code_exit(TB_E_USAGE);
    }
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_shadow_bills(store, month, &bills, &n, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    status = report(call, bills, n);
    free(bills);
    return status;
}

/* --- beside an invoice run --- */

typedef struct tally {
    size_t bills, up, down;
    tb_decimal billed, would;
    const tb_shadow_bill *largest; /* increase */
    tb_decimal increase;
    uint64_t unpriced;
} tally;

static tb_code add_bill(tally *t, const tb_shadow_bill *b, tb_error *err)
{
    tb_decimal change;
    tb_code code = tb_decimal_add(t->billed, b->billed, &t->billed, err);
    if (!code) code = tb_decimal_add(t->would, b->would, &t->would, err);
    if (!code) code = tb_decimal_sub(b->would, b->billed, &change, err);
    if (code) return code;
    t->bills++;
    t->up += tb_decimal_sign(change) > 0;
    t->down += tb_decimal_sign(change) < 0;
    t->unpriced += b->unpriced;
    if (tb_decimal_compare(change, t->increase) > 0) {
        t->increase = change;
        t->largest = b;
    }
    return TB_OK;
}

static void say_tally(const invoice_run *run, const tb_book *book, const tally *t)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2], most[128] = "";
    char billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    char increase[TB_DECIMAL_TEXT_MAX + 1];
    month_format(run->month, month);
    shadow_percent(t->billed, t->would, percent);
    if (t->largest)
        snprintf(most, sizeof most, "; most for account %" PRId64 ", +%s", t->largest->account,
                 money(t->increase, book->currency, increase));
    cli_say(run->call,
            "shadow book %s: %s would have come to %s %s instead of %s (%s%s) for %zu accounts: %zu"
            " more, %zu less%s.",
            book->id, month, money(t->would, book->currency, would), book->currency,
            money(t->billed, book->currency, billed), percent,
            strcmp(percent, "new") == 0 ? "" : " %", t->bills, t->up, t->down, most);
    if (t->unpriced)
        cli_say(run->call, "shadow book %s: it has no price for %" PRIu64 " charges of the month.",
                book->id, t->unpriced);
}

/* Where an account's month was issued twice (the first is void), the later bill counts. */
static bool is_later_there(const tb_shadow_bill *bills, size_t n, size_t i)
{
    return i + 1 < n && bills[i + 1].shadow == bills[i].shadow &&
           bills[i + 1].account == bills[i].account;
}

tb_code invoice_say_shadows(const invoice_run *run, tb_error *err)
{
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    tb_code code = tb_store_shadow_bills(run->store, run->month, &bills, &n, err);
    for (size_t s = 0; !code && s < run->shadows.n; s++) {
        tally t = {.billed = TB_DECIMAL_ZERO};
        for (size_t i = 0; !code && i < n; i++)
            if (bills[i].shadow == run->shadows.list[s].id && !is_later_there(bills, n, i))
                code = add_bill(&t, &bills[i], err);
        if (!code && t.bills) say_tally(run, &run->shadows.list[s].book, &t);
    }
    free(bills);
    return code;
}
