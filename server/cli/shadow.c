/* tollbook book activate | drop | report. Activating
 * compares and writes in one transaction: nothing can be billed in between. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/meter.h"
#include "cli/remote.h"
#include "cli/take.h"

#define ANSWER_NO  1   /* exit status */

/* --- activate --- */

typedef struct activation {
    const cli_call *call;
    tb_store *store;
    meter progress;
    tb_shadow_activation what;
} activation;

static bool step(void *ctx, size_t done, size_t total)
{
    activation *a = ctx;
    if (cli_given(a->call, "progress")) meter_share(&a->progress, done, total);
    return !atomic_load_explicit(&take_stop, memory_order_relaxed);
}

static int activate(activation *a)
{
    tb_error err;
    tb_buf lines;
    tb_code code = tb_store_begin(a->store, &err);
    if (code) return cli_fail(a->call, NULL, &err);
    tb_buf_init(&lines, TB_SHADOW_LINES_MAX, NULL);
    code = tb_shadow_compare(a->store, &a->what, &err);
    meter_end(&a->progress);
    if (!code) {
        tb_shadow_say_over(&a->what, &lines);
        if (!tb_shadow_stays(&a->what)) code = tb_shadow_activate(a->store, &a->what, &err);
    }
    if (!code && !tb_shadow_stays(&a->what)) code = tb_store_commit(a->store, &err);
    if (code || tb_shadow_stays(&a->what)) tb_store_rollback(a->store);
    if (!code) tb_shadow_say_end(&a->what, &lines);
    if (lines.len) cli_say_lines(a->call, lines.data, lines.len);
    tb_buf_release(&lines);
    if (code) return cli_fail(a->call, a->what.book, &err);
    return tb_shadow_stays(&a->what) ? ANSWER_NO : 0;
}

static int read_limit(const cli_call *call, tb_shadow_activation *what)
{
    const char *text =
        cli_given(call, "max-change") ? cli_text(call, "max-change") : TB_SHADOW_LIMIT_TEXT;
    if (tb_shadow_limit(what, text, strlen(text))) return 0;
    cli_say(call, "--max-change does not take \"%.32s\": write percent like 10 or 2.5.", text);
    return tb_code_exit(TB_E_USAGE);
}

int cli_book_activate(const cli_call *call)
{
    activation a = {.call = call, .what = {.months = cli_number(call, "months", 1),
                                           .anyway = cli_given(call, "anyway"), .step = step}};
    a.what.ctx = &a;
    snprintf(a.what.book, sizeof a.what.book, "%.64s", call->operands[0]);
    int status = cli_check_place(call);
    if (status == 0) status = read_limit(call, &a.what);
    if (status == 0 && cli_given(call, "server")) return remote_book_activate(call, &a.what);
    if (status == 0) status = cli_clock(call, &a.what.now_us);
    if (status == 0) status = cli_open(call, true, a.what.now_us, &a.store);
    if (status) return status;
    take_catch_signals();
    meter_init(&a.progress, call->operands[0]);
    status = activate(&a);
    tb_shadow_activation_release(&a.what);
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
    int status = cli_check_place(call);
    if (status == 0 && cli_given(call, "server")) return remote_book_drop(call);
    if (status == 0) status = cli_clock(call, &now_us);
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
    tb_month_format(b->month, month);
    if (tb_decimal_sub(b->would, b->billed, &change, NULL)) change = TB_DECIMAL_ZERO;
    tb_shadow_percent(b->billed, b->would, percent);
    printf("%s\t%s\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t%" PRIu64 "\t%s\n", b->book, month, b->account,
           b->currency, tb_shadow_money(b->billed, b->currency, billed),
           tb_shadow_money(b->would, b->currency, would),
           tb_shadow_money(change, b->currency, delta), percent, b->unpriced, b->invoice);
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
    if (status == 0 && text && !tb_month_parse(text, strlen(text), &month)) {
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
