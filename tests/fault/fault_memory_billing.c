/* Lack of memory where money is made: every allocation of reading a month, rating, making final,
 * voiding, the ledger, late usage, closing days, showing and checking fails, once and from then on (sampled in
 * the quick form). The answer is TB_E_NOMEM or the right one to the byte, nothing leaks (the
 * sanitizer's build), nothing half is left in the file, and the next try on the same connection
 * works. */
#include "fault/billing.h"
#include "fault/scarce.h"
#include "fault/workload.h"
#include "seed.h"
#include "tollbook/accountforecast.h"
#include "tollbook/forecast.h"
#include "tollbook/alerts.h"
#include "tollbook/audit.h"
#include "tollbook/issue.h"
#include "tollbook/operation.h"
#include "tollbook/prooflog.h"
#include "tollbook/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCTOBER  681 /* 2026 */
#define NOVEMBER 682
#define NOW_US   INT64_C(1796169600000000) /* 2026-12-02 */
#define QUICK    25                        /* allocations of each operation, in both ways */
#define LONG     1500

static tb_store *store;
static tb_month_books books; /* read while there is memory; a part of all operations but its own */
static uint64_t answer;   /* of the operation's result */

static void answer_bytes(const void *data, size_t len)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++) /* FNV-1a */
        answer = (answer ^ p[i]) * UINT64_C(1099511628211);
}

static void answer_number(uint64_t number)
{
    answer_bytes(&number, sizeof number);
}

static void answer_text(const char *text)
{
    answer_bytes(text, strlen(text) + 1);
}

static void answer_decimal(tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, value) = 0;
    answer_text(text);
}

/* --- reading --- */

static tb_code op_books(tb_error *err)
{
    tb_month_books again;
    tb_code code = tb_month_books_read(store, &again, err);
    if (code) return code;
    for (size_t i = 0; i < again.n; i++)
        answer_text(again.list[i].sha256);
    tb_month_books_release(&again);
    return TB_OK;
}

static tb_code op_bill(tb_error *err)
{
    tb_month_bill bill;
    tb_code code = TB_OK;
    for (int64_t account = 2; !code && account <= 3; account++) {
        code = tb_month_bill_read(store, &(tb_bill_query){account, OCTOBER, TB_NOW, books.list, books.n, NOW_US},
                                  &bill, err);
        if (code) break;
        for (size_t i = 0; i < bill.bill.n_lines; i++)
            answer_decimal(bill.bill.lines[i].amount);
        tb_month_bill_release(&bill);
    }
    return code;
}

static tb_code op_lists(tb_error *err)
{
    int64_t *accounts = NULL;
    tb_late *late = NULL;
    size_t n = 0, n_late = 0;
    tb_code code = tb_store_billed_accounts(store, NOVEMBER, &accounts, &n, err);
    if (!code) code = tb_store_late(store, 0, &late, &n_late, err);
    for (size_t i = 0; !code && i < n; i++)
        answer_number((uint64_t)accounts[i]);
    for (size_t i = 0; !code && i < n_late; i++)
        answer_text(late[i].invoice);
    free(late);
    free(accounts);
    return code;
}

static tb_code op_touched(tb_error *err)
{
    tb_touched *touched = NULL;
    size_t n = 0;
    tb_code code = tb_store_touched(store, 0, INT64_MAX, &touched, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        answer_text(touched[i].name);
    free(touched);
    return code;
}

/* A page, a page of what is found, a zone, and how many there are. */
static tb_code op_zones(tb_error *err)
{
    const tb_zone_query queries[] = {
        {.account = 1, .limit = 3},
        {.account = 1, .limit = 3, .search = "a", .search_len = 1},
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof queries / sizeof *queries; i++) {
        tb_zone_page page;
        int64_t n = 0;
        code = tb_store_zones(store, &queries[i], &page, err);
        if (code) break;
        for (size_t z = 0; z < page.n; z++)
            answer_number((uint64_t)page.zones[z].id);
        tb_zone_page_release(&page);
        code = tb_store_count_zones(store, &queries[i], &n, err);
        answer_number((uint64_t)n);
    }
    return code;
}

/* The months before November, each forecast from five days of it and held against its end. */
static tb_code op_backtest(tb_error *err)
{
    tb_backtest_result result = {0};
    tb_code code = tb_account_backtest(store, &books, 1, NOW_US, (tb_simulation){1, 100}, &result, err);
    if (code) return code;
    REQUIRE(result.months > 0, "no month to forecast");
    answer_number((uint64_t)result.months);
    answer_number((uint64_t)result.all.n);
    answer_number((uint64_t)result.all.money_hits);
    answer_number((uint64_t)result.all.bytes_hits);
    return TB_OK;
}

static tb_code op_ledger(tb_error *err)
{
    const tb_range range = {20400, 60, false};
    tb_ledger_entry *entries = NULL;
    tb_balance *history = NULL;
    tb_decimal balance = TB_DECIMAL_ZERO;
    size_t n = 0, days = 0;
    tb_code code = tb_store_ledger(store, 1, &entries, &n, err);
    if (!code) code = tb_store_balance(store, 1, &balance, err);
    if (!code) code = tb_store_balance_history(store, 1, range, NOW_US, &history, &days, err);
    for (size_t i = 0; !code && i < n; i++)
        answer_text(entries[i].reference);
    for (size_t i = 0; !code && i < days; i++)
        answer_text(history[i].amount);
    if (!code) answer_decimal(balance);
    free(history);
    free(entries);
    return code;
}

/* All of October's invoices in one form, as a document. */
static tb_code show_invoices(tb_shown_form form, tb_buf *out, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_invoices(store, 0, OCTOBER, &all, &n, err);
    const tb_shown shown = {.form = form, .store = store, .now_us = NOW_US};
    tb_shown_open(&shown, out);
    for (size_t i = 0; i < n; i++) {
        if (!code) code = tb_shown_stored(&shown, &all[i], i == 0, out, err);
        tb_invoice_release(&all[i]);
    }
    free(all);
    tb_shown_close(&shown, out);
    return code ? code : tb_buf_check(out, err);
}

static tb_code op_shown(tb_error *err)
{
    static const tb_shown_form forms[] = {TB_SHOWN_JSON, TB_SHOWN_CSV, TB_SHOWN_HTML,
                                          TB_SHOWN_FOCUS};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof forms / sizeof *forms; i++) {
        tb_buf out;
        tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
        code = show_invoices(forms[i], &out, err);
        if (!code) answer_bytes(out.data, out.len);
        tb_buf_release(&out);
    }
    return code;
}

static tb_code op_draft(tb_error *err)
{
    static const tb_shown_form forms[] = {TB_SHOWN_JSON, TB_SHOWN_HTML, TB_SHOWN_FOCUS};
    tb_issue draft;
    tb_code code = tb_issue_draft(store, 1, NOVEMBER, &books, NOW_US, &draft, err);
    if (code) return code;
    for (size_t i = 0; !code && i < sizeof forms / sizeof *forms; i++) {
        tb_buf out;
        tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
        const tb_shown shown = {.form = forms[i], .store = store, .now_us = NOW_US};
        code = tb_shown_draft(&shown, &draft.statement, true, &out, err);
        if (!code) code = tb_buf_check(&out, err);
        if (!code) answer_bytes(out.data, out.len);
        tb_buf_release(&out);
    }
    tb_issue_release(&draft);
    return code;
}

static tb_code op_explain(tb_error *err)
{
    tb_buf out;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    tb_code code = tb_explain_invoice(store, 3, "2026-000003", 1, &out, err);
    if (!code) code = tb_explain_month(store, 2, NOVEMBER, 1, NOW_US, &out, err);
    if (!code) code = tb_buf_check(&out, err);
    if (!code) answer_bytes(out.data, out.len);
    tb_buf_release(&out);
    return code;
}

static void on_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    scarce_arm(0, false);
    workload_fail(__FILE__, __LINE__, "verify finds nothing for lack of memory", "%s", sentence);
}

static tb_code op_verify(tb_error *err)
{
    uint64_t differences = 0;
    return tb_verify(store, on_difference, NULL, &differences, err);
}

/* --- writing --- */

static tb_code finish(tb_code code, tb_error *err)
{
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

static void on_credit(void *ctx, const tb_invoice *note)
{
    (void)ctx;
    answer_bytes(note->text, note->text_len);
}

static tb_code finalize(int64_t account, tb_error *err)
{
    tb_issue draft;
    tb_issue_outcome outcome;
    tb_invoice invoice;
    tb_code code = tb_issue_draft(store, account, NOVEMBER, &books, NOW_US, &draft, err);
    if (code) return code;
    const tb_issue_options options = {.now_us = NOW_US, .empty = false, .said = on_credit, .ctx = NULL};
    code = tb_issue_finalize(store, &draft, &options, &invoice, &outcome, err);
    if (!code && outcome != TB_ISSUE_NOTHING) {
        answer_bytes(invoice.text, invoice.text_len);
        tb_invoice_release(&invoice);
    }
    tb_issue_release(&draft);
    return code;
}

/* Account 1 with a correction, account 2 with a credit note. */
static tb_code op_finalize(tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    for (int64_t account = 1; !code && account <= 2; account++)
        code = finalize(account, err);
    return finish(code, err);
}

static tb_code look_and_note(tb_error *err)
{
    tb_alert_watch *watch = tb_alert_watch_new();
    tb_alert_changes changes;
    bool moved = false;
    if (!watch) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    tb_alert_watch_begin(watch, true);
    tb_code code = tb_alerts_look(store, watch, NOW_US, on_difference, NULL, &changes, err);
    if (!code) {
        for (size_t i = 0; i < changes.n; i++)
            answer_text(changes.list[i].body);
        code = tb_alerts_note(store, &changes, NOW_US, &moved, err);
        tb_alert_changes_release(&changes);
    }
    tb_alert_watch_free(watch);
    return code;
}

/* Account 1's alerts, with their messages. */
static tb_code op_alerts(tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_outbox_turn(store, true, err);
    if (!code) code = look_and_note(err);
    return finish(code, err);
}

static tb_code op_void(tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_void(store, "2026-000004", NOW_US, err);
    return finish(code, err);
}

static tb_code op_pay(tb_error *err)
{
    tb_ledger_entry entry = {.account = 1,
                             .at_us = NOW_US,
                             .kind = TB_LEDGER_PAYMENT,
                             .currency = "USD",
                             .amount = tb_decimal_from_int(7),
                             .reference = "p2"};
    bool known = false;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_ledger_add(store, &entry, &known, err);
    if (!code) code = tb_store_ledger_add(store, &entry, &known, err); /* once more: known */
    if (!code) answer_number(known);
    return finish(code, err);
}

static tb_code op_audit(tb_error *err)
{
    const tb_audit_entry entry = {
        .at_us = NOW_US, .origin = "192.0.2.7", .operation = "ledger pay", .arguments = "{}"};
    tb_audit_entry *list = NULL;
    size_t n = 0;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_audit_add(store, &entry, err);
    if (!code) code = tb_store_audit_add(store, &entry, err);
    if (!code) code = tb_store_audit(store, 0, TB_AUDIT_PAGE, &list, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        answer_text(list[i].origin);
    tb_audit_release(list);
    return finish(code, err);
}

static tb_code op_book(tb_error *err)
{
    tb_book book = books.list[0];
    bool known = false;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_add_book(store, &book, NOW_US, &known, err);
    if (!code) answer_number(known);
    return finish(code, err);
}

/* Usage of a month that is final. */
static tb_code op_late(tb_error *err)
{
    tb_rollup *rollup = tb_rollup_new(1 << 8, NULL);
    tb_rollup_cursor *cursor = NULL;
    tb_row row = {.id = 104, .edge = "DE", .edge_len = 2, .hour = 497880}; /* 2026-10-19 */
    tb_segment segment = {.kind = TB_BATCH_BUCKETS,
                          .source = "late",
                          .length = 1,
                          .hash = {77, 77},
                          .head = {77, 77},
                          .accepted = 1,
                          .final = true,
                          .now_us = NOW_US};
    row.metrics = TB_METRIC_BIT(TB_M_BYTES);
    row.value[TB_M_BYTES] = 12345;
    tb_code code =
        rollup ? tb_rollup_add_row(rollup, &row, err) : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code && !(cursor = tb_rollup_cursor_new(&rollup, 1, NULL)))
        code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code) code = tb_store_begin(store, err);
    if (!code) code = tb_store_add_usage(store, cursor, err);
    if (!code) code = tb_store_add_segment(store, &segment, NULL, err);
    code = finish(code, err);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

/* Late usage changed days that are closed. */
static tb_code op_close(tb_error *err)
{
    bool more = true;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_proof_close(store, NOW_US / INT64_C(86400000000) - 1, UINT64_MAX, &more, err);
    if (!code) answer_number(more);
    return finish(code, err);
}

/* --- every allocation --- */

static const struct operation {
    const char *name;
    tb_code (*run)(tb_error *err);
    bool writes;
} operations[] = {
    {"books", op_books, false},     {"bill", op_bill, false},     {"lists", op_lists, false},
    {"touched", op_touched, false}, {"zones", op_zones, false},   {"backtest", op_backtest, false},
    {"ledger", op_ledger, false},   {"shown", op_shown, false},   {"draft", op_draft, false},
    {"explain", op_explain, false}, {"verify", op_verify, false}, {"finalize", op_finalize, true},
    {"void", op_void, true},        {"payment", op_pay, true},    {"book", op_book, true},
    {"late usage", op_late, true},  {"audit", op_audit, true},    {"alerts", op_alerts, true},
    {"close days", op_close, true},
};

static size_t step; /* November, before it is made final */

static void open_store(bool write)
{
    const tb_store_options options = {.write = write, .owner = "test"};
    tb_error err = {0};
    if (write) billing_restore(step);
    REQUIRE(!tb_store_open(billing_path(), &options, &store, &err), "%s", err.message);
    REQUIRE(!tb_month_books_read(store, &books, &err), "%s", err.message);
}

static void close_store(void)
{
    tb_month_books_release(&books);
    tb_store_close(store);
}

static tb_code run(const struct operation *o, tb_error *err)
{
    answer = UINT64_C(14695981039346656037);
    return o->run(err);
}

typedef struct expected {
    uint64_t answer, before, after; /* the answer, and digests of the database */
} expected;

static void fail_one(const struct operation *o, const expected *right, uint64_t at, bool on)
{
    tb_error err = {0};
    unsigned long long n = at;
    open_store(o->writes);
    scarce_arm(at, on);
    tb_code code = run(o, &err);
    bool failed = scarce_failed();
    scarce_arm(0, false);
    REQUIRE(!code || (failed && code == TB_E_NOMEM), "%s, allocation %llu: %s: %s", o->name, n,
            tb_code_name(code), err.message);
    if (code) {
        if (o->writes)
            REQUIRE(billing_digest() == right->before, "%s, allocation %llu: half written", o->name,
                    n);
        code = run(o, &err);
        REQUIRE(!code, "%s after allocation %llu failed%s, again: %s", o->name, n,
                on ? " and all after it" : "", err.message);
    }
    REQUIRE(answer == right->answer, "%s, allocation %llu: another answer", o->name, n);
    close_store();
    if (o->writes)
        REQUIRE(billing_digest() == right->after, "%s, allocation %llu: another end", o->name, n);
}

/* What it says and does with memory. Returns how many allocations that takes. */
static uint64_t undisturbed(const struct operation *o, expected *ret)
{
    tb_error err = {0};
    billing_restore(step);
    ret->before = billing_digest();
    open_store(o->writes);
    scarce_arm(0, false);
    tb_code code = run(o, &err);
    uint64_t count = scarce_count();
    REQUIRE(!code, "%s: %s", o->name, err.message);
    close_store();
    ret->answer = answer;
    ret->after = billing_digest();
    return count;
}

int main(void)
{
    uint64_t seed = test_seed();
    scarce_init();
    tb_advice_start();
    billing_open();
    while (strcmp(billing_name(step), "correct") != 0)
        step++;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const struct operation *o = &operations[i];
        expected right;
        uint64_t points = 0, count = undisturbed(o, &right);
        uint64_t stride = count / (workload_long() ? LONG : QUICK / workload_stride()) + 1;
        for (int on = 0; on < 2; on++)
            for (uint64_t at = 1 + (seed + (uint64_t)on) % stride; at <= count;
                 at += stride, points++)
                fail_one(o, &right, at, on);
        printf("%s: %llu of %llu allocations failed, no harm done\n", o->name,
               (unsigned long long)points, 2 * (unsigned long long)count);
        fflush(stdout);
    }
    billing_close();
    return 0;
}
