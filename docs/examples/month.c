/* Issues an account's month: its invoice gets a number and never changes again. The same call again
 * prints the same invoice. Without a month: the one before this. It runs the operation behind
 * `tollbook invoice --finalize`, so the audit log has an entry too.
 *
 *   cc month.c $(pkg-config --cflags --libs tollbook) -o month
 *   ./month tollbook.db 1 2026-10
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tollbook/tollbook.h>

static tb_code give(tb_args *args, const char *name, const char *value, tb_error *err)
{
    const tb_param *param = tb_param_find(args->operation, name, strlen(name));
    return tb_args_add(args, param, value, strlen(value), err);
}

static tb_code issue(tb_ops *ops, const char *account, const char *month, tb_error *err)
{
    tb_args args;
    tb_reply reply;
    tb_args_init(&args, tb_operation_find("invoice", strlen("invoice")));
    tb_reply_init(&reply);
    tb_code code = give(&args, "account", account, err);
    if (code == TB_OK) code = give(&args, "month", month, err);
    if (code == TB_OK) code = give(&args, "finalize", "", err);
    if (code == TB_OK) code = tb_args_end(&args, false, err);
    if (code == TB_OK) code = tb_operation_run(ops, &args, &reply, err);
    if (code == TB_OK) { /* "1 account: 1 made final, ...", and the invoice */
        fprintf(stderr, "%.*s", (int)reply.said.len, reply.said.data);
        printf("%.*s", (int)reply.out.len, reply.out.data);
    }
    tb_reply_release(&reply);
    tb_args_release(&args);
    return code;
}

int main(int argc, char **argv)
{
    tb_ops ops = {.now_us = (int64_t)time(NULL) * TB_US_PER_S};
    char month[8];
    tb_error err;
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: month DB [ACCOUNT [MONTH]]\n");
        return 2;
    }
    tb_month_format(tb_month_from_us(ops.now_us) - 1, month);
    tb_store_options options = {.write = true, .owner = "month", .now_us = ops.now_us};
    tb_code code = tb_store_open(argv[1], &options, &ops.store, &err);
    if (code == TB_OK) {
        code = issue(&ops, argc > 2 ? argv[2] : "1", argc > 3 ? argv[3] : month, &err);
        tb_store_close(ops.store);
    }
    if (code) fprintf(stderr, "month: %s\n", err.message);
    return tb_code_exit(code);
}
