/* settle.h and payments.h: what pays what, in any order; draws of credit; a bank's list. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "tollbook/settle.h"

static tb_decimal dec(const char *text)
{
    tb_decimal d = TB_DECIMAL_ZERO;
    ck_assert_int_eq(tb_decimal_parse(text, strlen(text), 18, &d, NULL), TB_OK);
    return d;
}

static void is(tb_decimal got, const char *want)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, got) = 0;
    ck_assert_msg(tb_decimal_compare(got, dec(want)) == 0, "%s, not %s", text, want);
}

static tb_ledger_entry entry(int64_t id, tb_ledger_kind kind, const char *amount, const char *reference,
                             const char *document)
{
    tb_ledger_entry e = {.id = id, .account = 1, .kind = kind, .amount = dec(amount), .currency = "USD"};
    snprintf(e.reference, sizeof e.reference, "%s", reference);
    snprintf(e.document, sizeof e.document, "%s", document);
    return e;
}

static tb_settle_paper paper(const char *number, const char *due, const char *corrects)
{
    tb_settle_paper p = {.credit_note = *corrects != 0};
    snprintf(p.number, sizeof p.number, "%s", number);
    snprintf(p.due, sizeof p.due, "%s", due);
    snprintf(p.corrects, sizeof p.corrects, "%s", corrects);
    return p;
}

#define N 14
static void example(tb_ledger_entry e[N], tb_settle_paper p[4])
{
    p[0] = paper("2026-000001", "2026-11-20", "");
    p[1] = paper("2026-000002", "2026-11-10", "");
    p[2] = paper("2026-000003", "2026-11-15", "");
    p[3] = paper("2026-000004", "2026-11-30", "2026-000001");
    e[0] = entry(1, TB_LEDGER_CREDIT, "10", "c", "");
    e[1] = entry(2, TB_LEDGER_INVOICE, "-100", "2026-000001", "");
    e[2] = entry(3, TB_LEDGER_CREDIT_DRAWN, "-8", "2026-000001/credit:1", "2026-000001");
    e[3] = entry(4, TB_LEDGER_CREDIT_DRAWN, "8", "2026-000001/credit:1/invoice", "2026-000001");
    e[4] = entry(5, TB_LEDGER_INVOICE, "-50", "2026-000002", "");
    e[5] = entry(6, TB_LEDGER_INVOICE, "-30", "2026-000003", "");
    e[6] = entry(7, TB_LEDGER_CREDIT_NOTE, "20", "2026-000004", "");
    e[7] = entry(8, TB_LEDGER_PAYMENT, "90", "w1", "2026-000001");
    e[8] = entry(9, TB_LEDGER_PAYMENT, "25", "w2", "2026-000003");
    e[9] = entry(10, TB_LEDGER_VOID, "30", "2026-000003", "");
    e[10] = entry(11, TB_LEDGER_ADJUSTMENT, "-3", "a", "");
    e[11] = entry(12, TB_LEDGER_PAYMENT, "1", "w3", "");
    e[12] = entry(13, TB_LEDGER_USAGE, "-7", "prepaid 1 2026-11-01", "");
    e[13] = entry(14, TB_LEDGER_USAGE_REVERSAL, "2", "prepaid 1 2026-11", "");
}

static void check_example(const tb_settle_paper p[4], const tb_settlement *s)
{
    /* 1: 100 - 8 drawn - 20 credited = 72; of 90 that name it 18 are left over. 3 is void: 25 are free. */
    is(p[0].remaining, "0");
    is(p[0].paid, "72");
    is(p[0].drawn, "8");
    is(p[0].credited, "20");
    ck_assert(!p[2].stands);
    is(p[2].remaining, "0");
    is(p[1].paid, "41"); /* 18 + 25 - 3 + 1 */
    is(p[1].remaining, "9");
    is(s->unallocated, "0");
    is(s->running, "-5");
    is(s->credit, "2");
    is(s->receivable, "9");
    is(s->balance, "-12");
}

START_TEST(money_goes_where_it_is_said_and_then_to_the_oldest_due)
{
    tb_ledger_entry e[N];
    tb_settle_paper p[4];
    tb_settlement s;
    example(e, p);
    ck_assert_int_eq(tb_settle(e, N, p, 4, &s, NULL), TB_OK);
    check_example(p, &s);
    tb_settlement_release(&s);
}
END_TEST

START_TEST(an_invoice_below_zero_pays_others)
{
    const tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_INVOICE, "-100", "2026-000001", ""),
        entry(2, TB_LEDGER_INVOICE, "70", "2026-000002", ""),
        entry(3, TB_LEDGER_INVOICE, "-20", "2026-000003", ""),
    };
    tb_settle_paper p[] = {paper("2026-000001", "2026-11-10", ""), paper("2026-000002", "2026-12-10", ""),
                           paper("2026-000003", "2027-01-10", "")};
    tb_settlement s;
    ck_assert_int_eq(tb_settle(e, 3, p, 3, &s, NULL), TB_OK);
    is(p[0].paid, "70");
    is(p[0].remaining, "30");
    is(p[1].remaining, "0");
    is(p[2].remaining, "20");
    is(s.receivable, "50");
    is(s.balance, "-50");
    tb_settlement_release(&s);
}
END_TEST

static void on_day(tb_ledger_entry *e, int64_t day)
{
    e->at_us = day * INT64_C(86400000000);
}

/* Days 20486 and 20487 are 2026-02-02 and 2026-02-03. */
START_TEST(what_takes_from_the_balance_is_owed_from_its_day_on)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_INVOICE, "-10", "2026-000001", ""),
        entry(2, TB_LEDGER_ADJUSTMENT, "-20", "chargeback \"7\"", ""),
        entry(4, TB_LEDGER_ADJUSTMENT, "-5", "fee 2", ""),
        entry(3, TB_LEDGER_ADJUSTMENT, "-4", "fee 1", ""),
        entry(5, TB_LEDGER_PAYMENT, "12", "w", ""),
        entry(6, TB_LEDGER_ADJUSTMENT, "9.5", "gesture", "2026-000001"),
    };
    static const char *const left[][4] = {/* of the invoice and the debits */
                                          {"10", "20", "4", "5"},
                                          {"10", "8", "4", "5"},
                                          {"0.5", "8", "4", "5"}};
    tb_settle_paper p[] = {paper("2026-000001", "2026-02-03", "")};
    tb_settlement s;
    on_day(&e[1], 20486);
    on_day(&e[2], 20487);
    on_day(&e[3], 20487);
    for (size_t n = 4; n <= 6; n++) {
        tb_decimal sum = TB_DECIMAL_ZERO;
        ck_assert_int_eq(tb_settle(e, n, p, 1, &s, NULL), TB_OK);
        ck_assert_uint_eq(s.n_debits, 3);
        ck_assert_str_eq(s.debits[0].number, "chargeback \"7\"");
        ck_assert_str_eq(s.debits[0].due, "2026-02-02");
        is(p[0].remaining, left[n - 4][0]);
        for (size_t i = 0; i < 3; i++)
            is(s.debits[i].remaining, left[n - 4][i + 1]);
        is(s.unallocated, "0");
        ck_assert_int_eq(tb_decimal_add(s.receivable, s.balance, &sum, NULL), TB_OK);
        is(sum, "0");
        tb_settlement_release(&s);
    }
}
END_TEST

/* What was taken back is as if it had not been entered, whatever else is older or newer. */
START_TEST(opening_balances_are_due_when_they_say_until_they_are_taken_back)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_ADJUSTMENT, "-20", "INV-7", TB_OPENING),
        entry(2, TB_LEDGER_ADJUSTMENT, "6", "opening 1 2026-10", TB_OPENING),
        entry(3, TB_LEDGER_ADJUSTMENT, "20", "opening back 1", TB_OPENING_BACK),
        entry(4, TB_LEDGER_ADJUSTMENT, "-6", "opening back 2", TB_OPENING_BACK),
        entry(5, TB_LEDGER_ADJUSTMENT, "-10", "INV-7 (2)", TB_OPENING),
        entry(6, TB_LEDGER_ADJUSTMENT, "-3", "fee", ""),
        entry(7, TB_LEDGER_PAYMENT, "4", "w", ""),
    };
    tb_settlement s;
    for (size_t i = 0; i < 7; i++)
        on_day(&e[i], 20487);
    strcpy(e[4].expires, "2026-01-01");
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(tb_settle(e, 7, NULL, 0, &s, NULL), TB_OK);
        ck_assert_uint_eq(s.n_debits, 2);
        ck_assert_str_eq(s.debits[0].due, "2026-01-01");
        is(s.debits[0].remaining, "6");
        is(s.debits[1].remaining, "3");
        is(s.balance, "-9");
        tb_settlement_release(&s);
        for (size_t i = 0; i < 3; i++) { /* in another order too */
            const tb_ledger_entry moved = e[i];
            e[i] = e[6 - i];
            e[6 - i] = moved;
        }
    }
    ck_assert_str_eq(tb_ledger_entry_name(&e[0]), "opening_balance");
    ck_assert_str_eq(tb_payment_shown(&e[1]), "");
    ck_assert_str_eq(tb_payment_shown(&e[0]), "INV-7");
    ck_assert_str_eq(tb_ledger_entry_name(&e[5]), "adjustment");
}
END_TEST

/* The second invoice's text counts 40, and the debit is due before it. */
START_TEST(what_a_text_counts_is_not_taken_by_what_is_due_before)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_INVOICE, "-20", "2026-000001", ""),
        entry(2, TB_LEDGER_INVOICE, "-100", "2026-000002", ""),
        entry(3, TB_LEDGER_ADJUSTMENT, "-30", "fee", ""),
        entry(4, TB_LEDGER_PAYMENT, "25", "w", ""),
        entry(5, TB_LEDGER_PAYMENT, "25", "v", ""),
        entry(6, TB_LEDGER_PAYMENT, "70", "u", "2026-000002"),
    };
    static const char *const left[][5] = {/* of the invoices and the debit, what is promised and what is unclaimed */
                                          {"20", "75", "30", "15", "0"},
                                          {"20", "60", "20", "0", "10"},
                                          {"20", "0", "10", "10", "20"}};
    tb_settle_paper p[] = {paper("2026-000001", "2026-02-03", ""), paper("2026-000002", "2026-03-03", "")};
    tb_settlement s;
    p[1].covered = dec("40");
    on_day(&e[2], 20486);
    for (size_t n = 4; n <= 6; n++) {
        ck_assert_int_eq(tb_settle(e, n, p, 2, &s, NULL), TB_OK);
        is(p[0].remaining, left[n - 4][0]);
        is(p[1].remaining, left[n - 4][1]);
        is(s.debits[0].remaining, left[n - 4][2]);
        is(p[1].promised, left[n - 4][3]);
        is(s.unclaimed, left[n - 4][4]);
        tb_settlement_release(&s);
    }
}
END_TEST

/* The first invoice is void; 60 named it, its text counted 15, and the second has 50 of all 110 already. */
START_TEST(the_next_invoice_has_what_the_void_one_had_first)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_INVOICE, "-75", "2026-000001", ""), entry(2, TB_LEDGER_PAYMENT, "60", "w", "2026-000001"),
        entry(3, TB_LEDGER_VOID, "75", "2026-000001", ""),     entry(4, TB_LEDGER_INVOICE, "-80", "2026-000002", ""),
        entry(5, TB_LEDGER_PAYMENT, "50", "v", ""),            entry(6, TB_LEDGER_PAYMENT, "90", "u", ""),
    };
    tb_settle_paper p[] = {paper("2026-000001", "2026-02-03", ""), paper("2026-000002", "2026-02-03", "")};
    tb_decimal money;
    p[0].covered = dec("15");
    const struct {
        size_t n;
        const char *covered, *replaced, *money;
    } cases[] = {{5, "0", "", "30"}, {5, "0", "2026-000001", "75"}, {5, "50", "2026-000001", "60"},
                 {3, "0", "", "60"}, {3, "0", "2026-000001", "60"}, {6, "0", "2026-000001", "120"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p[1].covered = dec(cases[i].covered);
        ck_assert_int_eq(tb_settle_next(e, cases[i].n, p, 2, cases[i].replaced, &money, NULL), TB_OK);
        is(money, cases[i].money);
    }
}
END_TEST

/* Each is owed by itself, in the order in which they were entered. */
START_TEST(debits_may_be_many)
{
    enum { MANY = 1000 };
    static tb_ledger_entry e[MANY + 1];
    tb_settlement s;
    for (int i = 0; i < MANY; i++) {
        char reference[16];
        snprintf(reference, sizeof reference, "fee %d", MANY - i);
        e[i] = entry(MANY - i, TB_LEDGER_ADJUSTMENT, "-2", reference, "");
    }
    e[MANY] = entry(MANY + 1, TB_LEDGER_PAYMENT, "5", "w", "");
    ck_assert_int_eq(tb_settle(e, MANY + 1, NULL, 0, &s, NULL), TB_OK);
    ck_assert_uint_eq(s.n_debits, MANY);
    ck_assert_str_eq(s.debits[0].number, "fee 1");
    ck_assert_str_eq(s.debits[MANY - 1].number, "fee 1000");
    is(s.debits[1].remaining, "0");
    is(s.debits[2].remaining, "1");
    is(s.debits[3].remaining, "2");
    is(s.receivable, "1995");
    tb_settlement_release(&s);
}
END_TEST

/* A day's invoice is paid before its debit; money that is left stays. */
START_TEST(a_debit_comes_behind_the_invoices_of_its_day)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_ADJUSTMENT, "-7", "fee", ""),
        entry(2, TB_LEDGER_INVOICE, "-10", "2026-000001", ""),
        entry(3, TB_LEDGER_PAYMENT, "11", "w", ""),
        entry(4, TB_LEDGER_PAYMENT, "9", "v", ""),
    };
    tb_settle_paper p[] = {paper("2026-000001", "2026-02-02", "")};
    tb_settlement s;
    on_day(&e[0], 20486);
    ck_assert_int_eq(tb_settle(e, 3, p, 1, &s, NULL), TB_OK);
    is(p[0].remaining, "0");
    is(s.debits[0].remaining, "6");
    is(s.debits[0].paid, "1");
    tb_settlement_release(&s);
    ck_assert_int_eq(tb_settle(e, 4, p, 1, &s, NULL), TB_OK);
    is(s.receivable, "0");
    is(s.unallocated, "3");
    tb_settlement_release(&s);
}
END_TEST

START_TEST(the_order_of_entries_makes_no_difference)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 200; round++) {
        tb_ledger_entry e[N], one;
        tb_settle_paper p[4];
        tb_settlement s;
        example(e, p);
        for (size_t i = N - 1; i > 0; i--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const size_t k = (size_t)(seed >> 33) % (i + 1);
            one = e[i];
            e[i] = e[k];
            e[k] = one;
        }
        ck_assert_int_eq(tb_settle(e, N, p, 4, &s, NULL), TB_OK);
        check_example(p, &s);
        tb_settlement_release(&s);
    }
}
END_TEST

/* Settling once and adding payments is settling them all. */
START_TEST(a_payment_more_is_as_if_all_were_settled_again)
{
    static const char *const numbers[] = {"", "2026-000001", "2026-000002", "2026-000004", "2026-000009"};
    uint64_t seed = test_seed();
    for (int round = 0; round < 300; round++) {
        tb_ledger_entry e[N + 12];
        tb_settle_paper p[4], again[4];
        tb_settlement s, all;
        tb_settle_open open;
        example(e, p);
        e[7].amount = dec(round % 3 ? "9" : "90"); /* more or less that is open */
        e[10].amount = dec(round % 5 ? "-3" : "-40");
        if (round % 2) snprintf(p[1].due, sizeof p[1].due, "%s", p[0].due);
        p[0].covered = dec(round % 4 ? "0" : "7");
        p[1].covered = dec(round % 7 ? "0" : "45");
        ck_assert_int_eq(tb_settle(e, N, p, 4, &s, NULL), TB_OK);
        open = (tb_settle_open){p, s.debits, 4, s.n_debits, s.unallocated};
        for (size_t i = N; i < N + 12; i++) {
            char amount[8];
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            snprintf(amount, sizeof amount, "%u.5", (unsigned)(seed >> 40) % 30);
            e[i] = entry((int64_t)i + 1, TB_LEDGER_PAYMENT, amount, "w", numbers[(seed >> 33) % 5]);
            ck_assert_int_eq(tb_settle_payment(&open, e[i].document, e[i].amount, NULL), TB_OK);
            memcpy(again, p, sizeof p);
            ck_assert_int_eq(tb_settle(e, i + 1, again, 4, &all, NULL), TB_OK);
            for (size_t k = 0; k < 4; k++) {
                ck_assert_int_eq(tb_decimal_compare(p[k].remaining, again[k].remaining), 0);
                ck_assert_int_eq(tb_decimal_compare(p[k].paid, again[k].paid), 0);
            }
            ck_assert_int_eq(tb_decimal_compare(open.unallocated, all.unallocated), 0);
            tb_settlement_release(&all);
        }
        tb_settlement_release(&s);
    }
}
END_TEST

START_TEST(an_entry_of_nothing_that_is_there_is_damage)
{
    tb_error err = {0};
    tb_settlement s;
    const tb_ledger_entry bad[] = {
        entry(3, TB_LEDGER_INVOICE, "-1", "2026-000009", ""),
        entry(3, TB_LEDGER_CREDIT_DRAWN, "-1", "2026-000009/credit:7", "2026-000009"),
        entry(3, TB_LEDGER_CREDIT_DRAWN, "-1", "2026-000009/credit:", "2026-000009"),
        entry(3, TB_LEDGER_CREDIT_DRAWN, "-1", "2026-000009/credit:1/x", "2026-000009"),
        entry(3, TB_LEDGER_CREDIT_EXPIRED, "-1", "credit:2/expired", ""),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(tb_settle(&bad[i], 1, NULL, 0, &s, &err), TB_E_CORRUPT);
        ck_assert_ptr_nonnull(strstr(err.message, "entry 3"));
    }
}
END_TEST

/* What is given back is there on that day, whenever the credit ended. */
START_TEST(a_credit_given_back_lasts_until_the_last_time)
{
    tb_ledger_entry e[] = {
        entry(1, TB_LEDGER_CREDIT, "5", "a", ""),
        entry(2, TB_LEDGER_CREDIT_DRAWN, "-2", "2026-000001/credit:1", "2026-000001"),
        entry(3, TB_LEDGER_CREDIT_DRAWN, "-3", "2026-000002/credit:1", "2026-000002"),
        entry(4, TB_LEDGER_CREDIT_DRAWN, "2", "2026-000001/credit:1/void", "2026-000001"),
        entry(5, TB_LEDGER_CREDIT_DRAWN, "3", "2026-000002/credit:1/void", "2026-000002"),
    };
    tb_credit *credits;
    size_t n;
    strcpy(e[0].expires, "2026-01-31");
    on_day(&e[3], 20486);
    on_day(&e[4], 20487);
    for (size_t known = 3; known <= 5; known++) {
        static const char *const last[] = {"2026-01-31", "2026-02-02", "2026-02-03"};
        ck_assert_int_eq(tb_credits_of(e, known, &credits, &n, NULL), TB_OK);
        ck_assert_uint_eq(n, 1);
        ck_assert_str_eq(tb_credit_last_day(credits), last[known - 3]);
        free(credits);
    }
}
END_TEST

START_TEST(the_oldest_last_day_is_drawn_first)
{
    tb_ledger_entry e[] = {entry(1, TB_LEDGER_CREDIT, "5", "a", ""), entry(2, TB_LEDGER_CREDIT, "5", "b", ""),
                           entry(3, TB_LEDGER_CREDIT, "5", "c", ""), entry(4, TB_LEDGER_CREDIT, "5", "d", "")};
    tb_credit *credits;
    tb_draw_plan plan;
    size_t n;
    char text[64];
    strcpy(e[1].expires, "2026-12-31");
    strcpy(e[2].expires, "2026-11-30");
    strcpy(e[3].expires, "2026-11-29");
    ck_assert_int_eq(tb_credits_of(e, 4, &credits, &n, NULL), TB_OK);
    ck_assert_int_eq(tb_draws_plan(credits, n, "2026-11-30", dec("11.5"), &plan, NULL), TB_OK);
    ck_assert_uint_eq(plan.n, 3);
    ck_assert_int_eq(plan.draws[0].credit, 3);
    ck_assert_int_eq(plan.draws[1].credit, 2);
    ck_assert_int_eq(plan.draws[2].credit, 1);
    is(plan.draws[2].amount, "1.5");
    is(plan.paid, "11.5");
    tb_draw_plan_release(&plan);
    ck_assert_int_eq(tb_draws_plan(credits, n, "2027-01-01", dec("-3"), &plan, NULL), TB_OK);
    ck_assert_uint_eq(plan.n, 0);
    tb_draw_plan_release(&plan);
    tb_expiry_reference(text, &credits[0]);
    ck_assert_str_eq(text, "credit:4/expired");
    credits[0].expiries = 2;
    tb_expiry_reference(text, &credits[0]);
    ck_assert_str_eq(text, "credit:4/expired/3");
    free(credits);
}
END_TEST

START_TEST(numbers_are_found_in_references)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"RE 2026-000123", "2026-000123"},        {"2026 000123, danke", "2026-000123"},
        {"INV2026000123/7", "2026-000123"},       {"2026-000123 2026/000124", "2026-000123 2026-000124"},
        {"2026-000123 und 2026000123", "2026-000123"}, {"2026-00012", ""},
        {"12026-000123", ""},                     {"20261234567890123456", ""},
        {"2026-1000000", "2026-1000000"},         {"2026-0000001", ""},
        {"", ""},                                 {"1999-000001", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char numbers[TB_PAYMENT_NUMBERS][24], all[200] = "";
        const size_t n = tb_payment_numbers(cases[i].text, numbers);
        for (size_t k = 0; k < n; k++) {
            if (k) strcat(all, " ");
            strcat(all, numbers[k]);
        }
        ck_assert_msg(strcmp(all, cases[i].found) == 0, "\"%s\": \"%s\"", cases[i].text, all);
    }
}
END_TEST

START_TEST(amounts_have_their_groups_or_are_refused)
{
    static const struct {
        const char *text;
        bool comma;
        const char *value; /* NULL: refused */
    } cases[] = {
        {"1234.56", false, "1234.56"}, {"1,234.56", false, "1234.56"}, {"1,23.4", false, NULL},
        {"1,234", false, "1234"},      {"12,34", false, NULL},         {"1.234", true, "1234"},
        {"1.234,5", true, "1234.5"},   {"1.23", true, NULL},           {"-7,00", true, "-7"},
        {"+7", false, "7"},            {"1 234.5", false, "1234.5"},   {"", false, NULL},
        {"1.2.3", false, NULL},        {"x", false, NULL},             {",5", false, NULL},
        {"1,2345", false, NULL},       {"1e3", false, NULL},           {"1,234,567.8", false, "1234567.8"},
        {"1.234,50", false, NULL},     {"1,234.50", true, NULL},       {"1'234,567.8", false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[80];
        tb_payments list;
        snprintf(text, sizeof text, "d;a\n2026-11-01;%s\n", cases[i].text);
        tb_code code = tb_payments_parse(text, strlen(text), "date=d,amount=a", cases[i].comma, &list, NULL);
        ck_assert_msg(code == (cases[i].value ? TB_OK : TB_E_BAD_INPUT), "%s", cases[i].text);
        if (code) continue;
        is(list.list[0].amount, cases[i].value);
        tb_payments_release(&list);
    }
}
END_TEST

START_TEST(cells_are_quoted_and_rows_are_known)
{
    static const char text[] = "\xEF\xBB\xBF" "day,sum,what,no\r\n"
                               "2026-11-01,1.00,\"a \"\"b\"\",\nc\",\r\n\r\n"
                               "2026-11-01, 1.00,\"a \"\"b\"\", c\",\n"
                               "1.11.2026,2.00,\xE4,X1\n";
    tb_payments list;
    ck_assert_int_eq(tb_payments_parse(text, sizeof text - 1, "date=Day,amount=sum,reference=what,id=no",
                                       false, &list, NULL), TB_OK);
    ck_assert_uint_eq(list.n, 3);
    ck_assert_str_eq(list.list[0].reference, "a \"b\", c");
    ck_assert_uint_eq(list.list[1].line, 5);
    ck_assert_str_eq(list.list[1].key + strlen(list.list[0].key), " 2"); /* the same cells */
    ck_assert_int_eq(strncmp(list.list[0].key, list.list[1].key, strlen(list.list[0].key)), 0);
    ck_assert_str_eq(list.list[2].reference, "\u00e4");
    ck_assert_str_eq(list.list[2].key, "bank X1");
    tb_payments_release(&list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settle");
    TCase *test = tcase_create("settle");
    tcase_add_test(test, money_goes_where_it_is_said_and_then_to_the_oldest_due);
    tcase_add_test(test, an_invoice_below_zero_pays_others);
    tcase_add_test(test, what_takes_from_the_balance_is_owed_from_its_day_on);
    tcase_add_test(test, opening_balances_are_due_when_they_say_until_they_are_taken_back);
    tcase_add_test(test, what_a_text_counts_is_not_taken_by_what_is_due_before);
    tcase_add_test(test, the_next_invoice_has_what_the_void_one_had_first);
    tcase_add_test(test, debits_may_be_many);
    tcase_add_test(test, a_debit_comes_behind_the_invoices_of_its_day);
    tcase_add_test(test, the_order_of_entries_makes_no_difference);
    tcase_add_test(test, a_payment_more_is_as_if_all_were_settled_again);
    tcase_add_test(test, an_entry_of_nothing_that_is_there_is_damage);
    tcase_add_test(test, a_credit_given_back_lasts_until_the_last_time);
    tcase_add_test(test, the_oldest_last_day_is_drawn_first);
    tcase_add_test(test, numbers_are_found_in_references);
    tcase_add_test(test, amounts_have_their_groups_or_are_refused);
    tcase_add_test(test, cells_are_quoted_and_rows_are_known);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
