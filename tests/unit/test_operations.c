/* The form that all operations have: no store, long answers, and writes that need not be. */
#include "store_fixture.h"
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

int main(void)
{
    TCase *t = tcase_create("operations");
    tcase_add_test(t, a_long_answer_is_bounded_or_drained);
    tcase_add_test(t, what_need_not_be_written_may_fail);
    tcase_add_test(t, a_named_argument_is_a_name_or_a_document);
    Suite *s = suite_create("operations");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
