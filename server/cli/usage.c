/* tollbook usage: exactly the bytes that GET /loadbalancer/{id}/usage answers. */
#include "tollbook/balancer.h"

#include <string.h>

#include "cli/cli.h"

static int month_option(const cli_call *call, int64_t now_us, int64_t *ret_month)
{
    const char *text = cli_text(call, "month");
    *ret_month = tb_month_from_us(now_us);
    if (!text || tb_month_parse(text, strlen(text), ret_month)) return 0;
    cli_say(call, "--month does not take \"%.32s\": write it like 2026-10.", text);
    return tb_code_exit(TB_E_USAGE);
}

int cli_usage(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_buf out;
    int64_t now_us, month;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = month_option(call, now_us, &month);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&out, TB_USAGE_MAX, NULL);
    tb_code code = tb_store_read_begin(store, &err);
    if (!code) {
        code =
            tb_usage_answer(store, 0, cli_number(call, "balancer", 0), month, now_us, &out, &err);
        tb_store_read_end(store);
    }
    if (!code) fwrite(out.data, 1, out.len, stdout);
    status = code ? cli_fail(call, NULL, &err) : cli_done(call);
    tb_buf_release(&out);
    tb_store_close(store);
    return status;
}
