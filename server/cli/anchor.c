/* tollbook anchor: a digest over all that only grows, and when it was made. */
#include <stdio.h>

#include "cli/cli.h"
#include "tollbook/calendar.h"

int cli_anchor(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    char digest[TB_ANCHOR_MAX], moment[21] = "";
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_anchor(store, digest, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    tb_time_format(now_us, moment);
    printf("%s %s\n", digest, moment);
    return cli_done(call);
}
