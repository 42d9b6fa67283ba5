/* tollbook usage migrate: moves usage to usage servers, from the file or from other servers. The file's server can do it too, from
 * servers to servers: it is asked with a file beside the database, and watched (http/jobs/mover.h). */
#include "cli/cli.h"
#include "cli/meter.h"
#include "http/jobs/mover.h"
#include "tollbook/usageservers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 200000
#define SILENT  150 /* looks without a sign of the server */

static void show_share(void *ctx, uint64_t done, uint64_t total)
{
    if (total) meter_share(ctx, done, total);
}

/* --- by this process --- */

static int migrate(const cli_call *call, tb_store *store, usage_servers *servers)
{
    meter progress;
    tb_error err;
    meter_init(&progress, cli_text(call, "db"));
    tb_usage_move move = {.client = usage_servers_client(servers),
                          .progress = cli_given(call, "progress") ? show_share : NULL,
                          .ctx = &progress};
    const tb_code code = tb_store_move_usage(store, &move, &err);
    meter_end(&progress);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    move_request_remove(cli_text(call, "db"));
    cli_note(call, "%s has its usage on these servers now: %" PRIu64 " rows%s. Serve it with --usage %s.",
            cli_text(call, "db"), move.rows, move.resumed ? ", a part of them from an earlier call" : "",
            cli_text(call, "to"));
    return 0;
}

/* --- by the server of the file --- */

static int tell_end(const cli_call *call, const move_state *state)
{
    const char *db = cli_text(call, "db"), *to = cli_text(call, "to");
    if (state->phase == MOVE_DONE) {
        cli_note(call, "%s has its usage on these servers now: %" PRIu64 " rows. Writes waited %" PRIu64 " ms for the switch. The server "
                 "goes on; start it with --usage %s the next time.", db, state->done, state->all, to);
        return 0;
    }
    if (state->phase == MOVE_FAILED) {
        cli_say(call, "The server did not move the usage: %s", state->why);
        return tb_code_exit(TB_E_DIFFERENT);
    }
    cli_say(call, "The server of %s shows no sign of work. It moves its usage to %s once it runs again; remove %s-usage-move if it must "
            "not.", db, to, db);
    return tb_code_exit(TB_E_LOCKED);
}

/* Ending this process ends only the watching. */
static int watch_server(const cli_call *call)
{
    const char *db = cli_text(call, "db");
    move_state state = {0}, before;
    meter progress;
    tb_error err;
    if (move_request_put(db, cli_text(call, "to"), &err)) return cli_fail(call, NULL, &err);
    cli_note(call, "the server of %s copies its usage to %s and goes on serving", db, cli_text(call, "to"));
    meter_init(&progress, db);
    for (int silent = 0; silent < SILENT && state.phase != MOVE_FAILED && state.phase != MOVE_DONE; silent++) {
        usleep(LOOK_US);
        before = state;
        move_state_read(db, &state);
        if (state.beat != before.beat) silent = 0;
        if (state.phase == MOVE_COPIES && cli_given(call, "progress")) show_share(&progress, state.done, state.all);
        const char *now = state.phase == MOVE_WAITS ? "the server tries again: " : state.phase == MOVE_COPIES ? "" : NULL;
        if (now && state.why[0] && strcmp(state.why, before.why) != 0) cli_warn(call, "%s%s", now, state.why);
    }
    meter_end(&progress);
    return tell_end(call, &state);
}

/* A server that is away is told by name, and nothing is begun. */
int cli_usage_migrate(const cli_call *call)
{
    usage_servers *servers = NULL;
    tb_store *store = NULL;
    const char *from = cli_text(call, "usage");
    int64_t now_us;
    tb_error err;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_usage(call, "to", &servers);
    if (status) return status;
    if (from && usage_address_number(from) == usage_address_number(cli_text(call, "to"))) {
        cli_say(call, "--usage and --to are the same servers and database.");
        return tb_code_exit(TB_E_USAGE);
    }
    if (!usage_servers_up(servers, &err)) return cli_fail(call, NULL, &err);
    const tb_code code = cli_try_open(call, true, now_us, &store, &status, &err);
    if (status) return status;
    if (code == TB_E_LOCKED && from && strstr(err.message, " by serve ")) return watch_server(call);
    return code ? cli_open_failed(call, true, &err) : migrate(call, store, servers);
}
