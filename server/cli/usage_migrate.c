/* tollbook usage migrate: moves a file's usage to usage servers. */
#include "cli/cli.h"
#include "cli/meter.h"
#include "tollbook/usageservers.h"

#include <inttypes.h>

static void show_share(void *ctx, uint64_t done, uint64_t total)
{
    if (total) meter_share(ctx, done, total);
}

/* A server that is away is told by name, and nothing is begun. */
static int open_both(const cli_call *call, usage_servers **ret_servers, tb_store **ret_store)
{
    int64_t now_us;
    tb_error err;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_usage(call, "to", ret_servers);
    if (status) return status;
    if (!usage_servers_up(*ret_servers, &err)) return cli_fail(call, NULL, &err);
    return cli_open(call, true, now_us, ret_store);
}

int cli_usage_migrate(const cli_call *call)
{
    usage_servers *servers = NULL;
    tb_store *store;
    tb_error err;
    meter progress;
    int status = open_both(call, &servers, &store);
    if (status) return status;
    meter_init(&progress, cli_text(call, "db"));
    tb_usage_move move = {.client = usage_servers_client(servers),
                          .progress = cli_given(call, "progress") ? show_share : NULL,
                          .ctx = &progress};
    const tb_code code = tb_store_move_usage(store, &move, &err);
    meter_end(&progress);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    cli_note(call, "%s has its usage on these servers now: %" PRIu64 " rows%s. Serve it with --usage %s.",
            cli_text(call, "db"), move.rows, move.resumed ? ", a part of them from an earlier call" : "",
            cli_text(call, "to"));
    return 0;
}
