/* The form that all operations have: no store, long answers, and writes that need not be. */
#include "store/core/internal.h"
#include "store_fixture.h"
#include "tollbook/invoicestore.h"
#include "tollbook/operation.h"

static size_t answer_len, drained;
static bool settles, writes_fail;
static int written;

static tb_code answer(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    static const char piece[4096] = "";
    (void)args;
    for (size_t len = 0; len < answer_len; len += sizeof piece) {
        tb_buf_add(&reply->out, piece, sizeof piece);
        if (ops->drain && reply->out.len > (1 << 20) &&
            ops->drain(ops->ctx, &reply->out, err) != TB_OK)
            return err->code;
    }
    reply->settled = settles;
    return TB_OK;
}

static tb_code note(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    (void)ops, (void)args, (void)reply;
    written++;
    return writes_fail ? tb_fail(err, TB_E_LOCKED, NULL, "Somebody writes.") : TB_OK;
}

static tb_code drain(void *ctx, tb_buf *out, tb_error *err)
{
    (void)ctx, (void)err;
    drained += out->len;
    out->len = 0;
    return TB_OK;
}

static const tb_operation reads = {.name = "reads", .read = answer, .storeless = true};
static const tb_operation both = {
    .name = "both", .read = answer, .write = note, .unwritten = "It is not kept"};

static tb_code run(const tb_operation *operation, tb_ops *ops, tb_reply *reply, tb_error *err)
{
    tb_args args;
    tb_args_init(&args, operation);
    tb_reply_init(reply);
    tb_code code = tb_operation_run(ops, &args, reply, err);
    tb_args_release(&args);
    return code;
}

START_TEST(a_long_answer_is_bounded_or_drained)
{
    tb_ops ops = {.now_us = NOW_US};
    tb_reply reply;
    tb_error err = {0};
    answer_len = TB_REPLY_MAX;
    ck_assert_int_eq(run(&reads, &ops, &reply, &err), TB_OK);
    ck_assert_uint_eq(reply.out.len, TB_REPLY_MAX);
    tb_reply_release(&reply);
    answer_len = TB_REPLY_MAX + 1;
    ck_assert_int_eq(run(&reads, &ops, &reply, &err), TB_E_TOO_MUCH);
    ck_assert_str_eq(err.message, "The answer is longer than 48 MiB. Ask for less at a time.");
    tb_reply_release(&reply);
    ops.drain = drain;
    ck_assert_int_eq(run(&reads, &ops, &reply, &err), TB_OK);
    ck_assert_uint_eq(drained + reply.out.len, TB_REPLY_MAX + 4096);
    ck_assert_uint_lt(reply.out.cap, 4 << 20);
    tb_reply_release(&reply);
    answer_len = 0;
}
END_TEST

START_TEST(what_need_not_be_written_may_fail)
{
    static const char said[] = "It is not kept: Somebody writes.\n";
    fixture f;
    tb_reply reply;
    fixture_init(&f);
    tb_ops ops = {.now_us = NOW_US, .store = f.store};
    for (int i = 0; i < 3; i++) {
        settles = i == 1;
        writes_fail = i == 2;
        ck_assert_int_eq(run(&both, &ops, &reply, NULL), TB_OK);
        ck_assert_int_eq(written, i == 0 ? 1 : i);
        ck_assert_uint_eq(reply.said.len, i == 2 ? strlen(said) : 0);
        ck_assert(i < 2 || memcmp(reply.said.data, said, strlen(said)) == 0);
        tb_reply_release(&reply);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(a_named_argument_is_a_name_or_a_document)
{
    static const tb_param param = {.name = "book", .kind = TB_PARAM_NAMED};
    static const struct {
        const char *text, *name; /* NULL: it is none */
    } cases[] = {{"\"net\"", "net"}, {"\"a\\u0062\"", "ab"}, {"\"longer than that\"", "longer "},
                 {"{}", NULL},       {"\"net", ""},          {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[8];
        tb_arg arg = {.param = &param, .text = {cases[i].text, strlen(cases[i].text)}};
        ck_assert_int_eq(tb_arg_name(&arg, name, sizeof name), cases[i].name != NULL);
        ck_assert_str_eq(name, cases[i].name ? cases[i].name : "");
    }
}
END_TEST

/* --- what a call costs --- */

#define MONTH (INT64_C(56) * 12 + 9) /* 2026-10 */

/* n accounts whose month was run. */
static void fill_accounts(fixture *f, int64_t n)
{
    tb_error err = {0};
    tb_buf text;
    fixture_init(f);
    tb_buf_init(&text, 16 << 20, NULL);
    for (int64_t i = 1; i <= n; i++)
        tb_buf_fmt(&text, "%s{\"id\":%lld,\"name\":\"%lld\"}", i > 1 ? "," : "{\"accounts\":[", (long long)i,
                   (long long)i);
    tb_buf_str(&text, "]}");
    tb_buf_add(&text, "", 1);
    fixture_apply(f, text.data, NOW_US - 1000000, NULL);
    tb_buf_release(&text);
    ok(tb_store_begin(f->store, &err));
    for (int64_t i = 1; i <= n; i++)
        ok(tb_store_note_run(f->store, i, MONTH, TB_RUN_NOTHING, "", NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

/* Steps of SQLite's machine since this was asked last. */
static long take_steps(fixture *f)
{
    long steps = 0;
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(f->store->db, s)) != NULL;)
        steps += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
    return steps;
}

/* words: NAME VALUE ..., NULL at the end. *ret_calls: until the answer is whole. Steps of the second call. */
static long second_call(fixture *f, const char *name, const char *const *words, size_t *ret_calls)
{
    tb_error err = {0};
    tb_ops ops = {.now_us = NOW_US, .store = f->store};
    tb_args args;
    tb_reply reply;
    long steps = 0;
    bool more = true;
    tb_args_init(&args, tb_operation_find(name, strlen(name)));
    for (; *words; words += 2) {
        const tb_param *p = tb_param_find(args.operation, words[0], strlen(words[0]));
        ok(tb_args_add(&args, p, words[1], strlen(words[1]), &err));
    }
    ok(tb_args_end(&args, false, &err));
    for (*ret_calls = 0; more; ++*ret_calls) {
        take_steps(f);
        tb_reply_init(&reply);
        ok(tb_operation_run(&ops, &args, &reply, &err));
        if (*ret_calls == 1) steps = take_steps(f);
        more = reply.next.len > 0;
        ok(tb_args_next(&args, reply.next.data, reply.next.len, &err));
        tb_reply_release(&reply);
    }
    tb_args_release(&args);
    return steps;
}

/* Each reads some accounts a call, and lists them once. */
START_TEST(a_continuation_costs_its_page)
{
    static const struct {
        const char *name;
        size_t at_once;
        const char *words[8];
    } cases[] = {
        {"preview", 200, {"month", "2026-10", "format", "json"}},
        {"invoice", 200, {"month", "2026-10", "check", ""}},
        {"invoice", 50, {"month", "2026-10"}},
        {"account list", 1000, {"format", "json"}},
        {"account list", 1000, {"sort", "monthToDate", "format", "json"}},
    };
    enum { FEW = 2001, MANY = 3301 };
    fixture few, many;
    fill_accounts(&few, FEW);
    fill_accounts(&many, MANY);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t calls[2];
        const long of_few = second_call(&few, cases[i].name, cases[i].words, &calls[0]);
        const long of_many = second_call(&many, cases[i].name, cases[i].words, &calls[1]);
        ck_assert_msg(of_few > 0 && of_many < of_few + of_few / 20, "%s %s: %ld steps, %ld with 1,300 accounts more",
                      cases[i].name, cases[i].words[0], of_few, of_many);
        ck_assert_uint_eq(calls[0], FEW / cases[i].at_once + 1);
        ck_assert_uint_eq(calls[1], MANY / cases[i].at_once + 1);
    }
    fixture_release(&few);
    fixture_release(&many);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("operations");
    tcase_add_test(t, a_long_answer_is_bounded_or_drained);
    tcase_add_test(t, what_need_not_be_written_may_fail);
    tcase_add_test(t, a_named_argument_is_a_name_or_a_document);
    tcase_add_test(t, a_continuation_costs_its_page);
    Suite *s = suite_create("operations");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
