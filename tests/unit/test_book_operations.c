/* book activate in its two parts: what was compared in one snapshot is activated in a later
 * transaction only if it is still so. */
#include "billing_fixture.h"
#include "tollbook/operation.h"

typedef struct call {
    tb_args args;
    tb_reply reply;
    tb_error err;
} call;

static void call_init(call *c, const char *name)
{
    *c = (call){.err = {0}};
    tb_args_init(&c->args, tb_operation_find(name, strlen(name)));
    tb_reply_init(&c->reply);
}

static void give(call *c, const char *name, const char *text)
{
    const tb_param *p = tb_param_find(c->args.operation, name, strlen(name));
    ck_assert_int_eq(tb_args_add(&c->args, p, text, strlen(text), &c->err), TB_OK);
}

static void call_release(call *c)
{
    tb_args_release(&c->args);
    tb_reply_release(&c->reply);
}

static tb_ops ops_of(fixture *f)
{
    return (tb_ops){.store = f->store, .now_us = NOW_US};
}

/* Runs it as a whole: the exit status of a command, but for errors. */
static bool run(fixture *f, const char *name, const char *param, const char *text)
{
    call c;
    tb_ops ops = ops_of(f);
    call_init(&c, name);
    give(&c, param, text);
    if (strcmp(name, "book add") == 0) give(&c, "shadow", "");
    ck_assert_int_eq(tb_args_end(&c.args, false, &c.err), TB_OK);
    tb_code code = tb_operation_run(&ops, &c.args, &c.reply, &c.err);
    ck_assert_msg(code == TB_OK, "%s: %s", name, c.err.message);
    bool no = c.reply.no;
    call_release(&c);
    return !no;
}

static void add_next(fixture *f, const char *minimum)
{
    char text[512];
    book_text(text, "next", "USD", "2026-12-01T00:00:00Z", minimum);
    run(f, "book add", "document", text);
}

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(
        f,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":["
        "{\"id\":101,\"account\":1,\"name\":\"z\",\"created\":\"2026-01-05T00:00:00Z\"},"
        "{\"id\":102,\"account\":2,\"name\":\"y\",\"created\":\"2026-01-05T00:00:00Z\"}]}",
        NOW_US, NULL);
    add_book(f, "real", "2026-01-01T00:00:00Z");
    add_next(f, "1.00");
    add_bytes(f, 101, "DE", at(10, 3, 5), 1000);
    tb_invoice i = finalize(f, 1, OCTOBER, "1.00");
    tb_invoice_release(&i);
}

static void compare(fixture *f, call *c)
{
    tb_ops ops = ops_of(f);
    call_init(c, "book activate");
    give(c, "book", "next");
    ck_assert_int_eq(tb_args_end(&c->args, false, &c->err), TB_OK);
    tb_code code = tb_operation_read(&ops, &c->args, &c->reply, &c->err);
    ck_assert_msg(code == TB_OK, "%s", c->err.message);
}

static tb_code activate(fixture *f, call *c)
{
    tb_ops ops = ops_of(f);
    ck_assert_int_eq(tb_store_begin(f->store, &c->err), TB_OK);
    tb_code code = tb_operation_write(&ops, &c->args, &c->reply, &c->err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, &c->err), TB_OK);
    return code;
}

static int64_t books(fixture *f)
{
    return number(f, "SELECT count(*) FROM book");
}

START_TEST(what_is_unchanged_is_activated)
{
    fixture f;
    call c;
    fill(&f);
    compare(&f, &c);
    ck_assert(!c.reply.no);
    add_bytes(&f, 102, "DE", at(11, 3, 5), 1000); /* a commit, but no billed month */
    ck_assert_int_eq(activate(&f, &c), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.said.data, "\"next\" is a book now. Compared: 1 billed month of 1 account;"));
    ck_assert_int_eq(books(&f), 2);
    call_release(&c);
    fixture_release(&f);
}
END_TEST

START_TEST(a_month_billed_meanwhile_stops_it)
{
    fixture f;
    call c;
    fill(&f);
    compare(&f, &c);
    tb_invoice i = finalize(&f, 2, OCTOBER, "1.00");
    tb_invoice_release(&i);
    ck_assert_int_eq(activate(&f, &c), TB_E_BUSY);
    ck_assert_int_eq(books(&f), 1);
    call_release(&c);
    fixture_release(&f);
}
END_TEST

START_TEST(another_shadow_of_the_same_name_stops_it)
{
    fixture f;
    call c;
    fill(&f);
    compare(&f, &c);
    run(&f, "book drop", "book", "next");
    add_next(&f, "500.00");
    ck_assert_int_eq(activate(&f, &c), TB_E_BUSY);
    ck_assert_int_eq(books(&f), 1);
    ck_assert(!run(&f, "book activate", "book", "next")); /* 1.00 would become 500.00 */
    call_release(&c);
    fixture_release(&f);
}
END_TEST

static bool never(void *ctx, uint64_t done, uint64_t total)
{
    uint64_t *last = ctx;
    *last = total;
    return done > total;
}

START_TEST(a_step_that_says_no_ends_it)
{
    fixture f;
    call c;
    uint64_t total = 0;
    fill(&f);
    tb_ops ops = ops_of(&f);
    ops.step = never;
    ops.ctx = &total;
    call_init(&c, "book activate");
    give(&c, "book", "next");
    give(&c, "anyway", "");
    ck_assert_int_eq(tb_args_end(&c.args, false, &c.err), TB_OK);
    ck_assert_int_eq(tb_operation_run(&ops, &c.args, &c.reply, &c.err), TB_E_STOPPED);
    ck_assert_uint_eq(total, 1);
    ck_assert_int_eq(books(&f), 1);
    call_release(&c);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("book_operations");
    tcase_add_test(t, what_is_unchanged_is_activated);
    tcase_add_test(t, a_month_billed_meanwhile_stops_it);
    tcase_add_test(t, another_shadow_of_the_same_name_stops_it);
    tcase_add_test(t, a_step_that_says_no_ends_it);
    Suite *s = suite_create("book_operations");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
