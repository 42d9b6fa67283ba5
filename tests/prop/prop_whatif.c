/* Properties of what-ifs, asked of random books and months: a patch that changes nothing gives
 * every bill to the byte, a replay is the bills one by one, and its parts sum to its whole.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "months.h"
#include "tollbook/invoice.h"
#include "tollbook/whatif.h"
#include "seed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS   (400 / TB_PART)
#define ACCOUNTS 12

static tb_scenario scenario;

static void take_scenario(const char *text)
{
    tb_error err = {0};
    tb_code code = tb_scenario_parse(text, strlen(text), NULL, &scenario, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

static void rate(const tb_bill_input *in, tb_bill *bill)
{
    tb_error err = {0};
    tb_code code = tb_bill_rate(in, NULL, bill, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

static void put_statement(const tb_bill_input *in, tb_buf *out, char sha256[65])
{
    tb_bill bill;
    tb_statement statement;
    tb_statement_book in_force[PARTS];
    rate(in, &bill);
    tb_statement_init(&statement, in, &bill, in_force);
    ck_assert_int_eq(tb_statement_json(&statement, out, sha256, NULL), TB_OK);
    tb_bill_release(&bill);
}

/* The scenario's book of each random one. */
static void make_books(tb_book made[BOOKS])
{
    tb_error err = {0};
    for (int i = 0; i < BOOKS; i++) {
        tb_code code = tb_scenario_book(&scenario, &books[i], NULL, &made[i], &err);
        ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
    }
}

static void swap_books(month *m, const tb_book made[BOOKS])
{
    for (size_t i = 0; i < m->in.n_parts; i++)
        if (m->parts[i].book) m->parts[i].book = &made[m->parts[i].book - books];
}

static void release_made(tb_book made[BOOKS])
{
    for (int i = 0; i < BOOKS; i++)
        tb_book_release(&made[i]);
}

START_TEST(an_empty_patch_gives_every_bill_to_the_byte)
{
    take_scenario("{\"scenario\":\"nothing\",\"patch\":{\"bandwidth\":{\"premium\":{}},"
                  "\"load_balancer\":{}},\"usage\":[{\"factor\":\"1.000\"}]}");
    for (int round = 0; round < ROUNDS; round++) {
        month m;
        tb_buf before, after;
        char sha_before[65], sha_after[65];
        tb_book made[BOOKS];
        any_books(ANY_MODE);
        make_books(made);
        any_month(&m);
        tb_buf_init(&before, TB_INVOICE_TEXT_MAX, NULL);
        tb_buf_init(&after, TB_INVOICE_TEXT_MAX, NULL);
        put_statement(&m.in, &before, sha_before);
        swap_books(&m, made);
        put_statement(&m.in, &after, sha_after);
        ck_assert_uint_eq(before.len, after.len);
        ck_assert(memcmp(before.data, after.data, before.len) == 0);
        ck_assert_str_eq(sha_before, sha_after);
        tb_buf_release(&before);
        tb_buf_release(&after);
        release_made(made);
        release_books();
    }
    tb_scenario_release(&scenario);
}
END_TEST

/* Other prices, one of them gone at times; tiers stay. */
static void any_scenario(void)
{
    char text[1000];
    int eu = (int)below(1000), na = (int)below(1000), minimum = (int)below(100);
    const char *rounding = one_in(2) ? "half_even" : "half_up",
               *gone = one_in(4) ? "null" : "\"1\"";
    snprintf(text, sizeof text,
             "{\"scenario\":\"other\",\"patch\":{\"minimum_monthly\":\"%d\",\"rounding\":\"%s\","
             "\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"0.%03d\",\"NA\":\"0.%03d\","
             "\"SA\":%s}}}}}",
             minimum, rounding, eu, na, gone);
    take_scenario(text);
}

/* Months of accounts 1, 2, ..., and what they come to bill by bill. */
static tb_i128 subtotal_of(const tb_bill_input *in, bool *ret_unpriced)
{
    tb_bill bill;
    rate(in, &bill);
    tb_i128 amount = bill.subtotal.mantissa;
    *ret_unpriced = bill.n_unpriced > 0;
    tb_bill_release(&bill);
    return amount;
}

typedef struct sums {
    tb_i128 before, after;
    size_t unpriced;
} sums;

static void feed(tb_whatif *replay, month *m, int64_t account, const tb_book made[BOOKS], sums *s)
{
    tb_error err = {0};
    bool unpriced;
    m->in.account = account;
    m->in.n_tax = 0;
    tb_code code = tb_whatif_add(replay, &m->in, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
    s->before += subtotal_of(&m->in, &unpriced);
    swap_books(m, made);
    s->after += subtotal_of(&m->in, &unpriced);
    s->unpriced += unpriced;
}

static void adds_up(const tb_whatif_result *r, const sums *s)
{
    const tb_whatif_group *g = r->groups;
    tb_i128 accounts = 0, months = 0, last = 0;
    ck_assert(g->total.before.mantissa == s->before && g->total.after.mantissa == s->after);
    ck_assert_uint_eq(r->unpriced_bills, s->unpriced);
    ck_assert_uint_eq(g->n_accounts, ACCOUNTS);
    ck_assert_uint_eq(g->winners + g->losers + g->same, ACCOUNTS);
    for (size_t i = 0; i < g->n_accounts; i++)
        accounts += g->accounts[i].change.delta.mantissa;
    for (size_t i = 0; i < g->n_months; i++)
        months += g->months[i].change.delta.mantissa;
    ck_assert(accounts == g->total.delta.mantissa && months == accounts);
    ck_assert(g->n_increases == (g->losers < 10 ? g->losers : 10));
    for (size_t i = 0; i < g->n_increases; i++) {
        const tb_whatif_increase *x = &g->increases[i];
        ck_assert(x->change.delta.mantissa > 0 && x->n_lines > 0);
        ck_assert(i == 0 || x->change.delta.mantissa <= last);
        last = x->change.delta.mantissa;
    }
    ck_assert(g->delta.p5.mantissa <= g->delta.p50.mantissa);
    ck_assert(g->delta.p50.mantissa <= g->delta.p95.mantissa);
}

START_TEST(a_replay_is_the_bills_one_by_one)
{
    for (int round = 0; round < ROUNDS / ACCOUNTS; round++) {
        tb_whatif *replay;
        tb_whatif_result result;
        tb_book made[BOOKS];
        tb_error err = {0};
        sums s = {0};
        any_books(ANY_MODE);
        any_scenario();
        make_books(made);
        ck_assert_int_eq(tb_whatif_new(&scenario, 1, books, BOOKS, NULL, &replay, &err), TB_OK);
        for (int64_t account = 1; account <= ACCOUNTS; account++) {
            month m;
            any_month(&m);
            feed(replay, &m, account, made, &s);
        }
        ck_assert_int_eq(tb_whatif_finish(replay, &err), TB_OK);
        ck_assert_int_eq(tb_whatif_result_make(replay, 0, &result, &err), TB_OK);
        adds_up(&result, &s);
        tb_whatif_result_release(&result);
        tb_whatif_free(replay);
        tb_scenario_release(&scenario);
        release_made(made);
        release_books();
    }
}
END_TEST

int main(void)
{
    seed = test_seed();
    Suite *suite = suite_create("what-if properties");
    TCase *t = tcase_create("what-if");
    tcase_add_checked_fixture(t, begin, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, an_empty_patch_gives_every_bill_to_the_byte);
    tcase_add_test(t, a_replay_is_the_bills_one_by_one);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
