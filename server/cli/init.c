/* tollbook init: an empty database. */
#include "cli/cli.h"

int cli_init(const cli_call *call)
{
    int64_t now_us;
    tb_error err;
    int status = cli_clock(call, &now_us);
    if (status) return status;
    tb_store_options options = {.write = true, .owner = call->command->name, .now_us = now_us, .clock = cli_now_us};
    if (tb_store_create(cli_text(call, "db"), &options, &err)) return cli_fail(call, NULL, &err);
    cli_say(call, "%s is now an empty database.", cli_text(call, "db"));
    return 0;
}
