/* tollbook verify: the operation, and what it is for a file: one that is too damaged to be opened is a
 * difference, for that is what was asked; and when a good one was found is noted beside it. */
#include "cli/cli.h"

static bool is_damaged(const cli_call *call, int64_t now_us, tb_error *err)
{
    tb_store *store;
    const tb_store_options options = {.owner = call->command->name, .now_us = now_us};
    const char *db = cli_text(call, "db");
    if (!db) return false;
    const tb_code code = tb_store_open(db, &options, &store, err);
    if (!code) tb_store_close(store);
    return code == TB_E_CORRUPT;
}

int cli_verify(const cli_call *call)
{
    tb_error err;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status) return status;
    if (!is_damaged(call, now_us, &err)) {
        status = cli_operation(call);
        if (status == 0 && cli_given(call, "db")) cli_mark(call, MARK_VERIFY, now_us);
        return status;
    }
    puts(err.message);
    status = cli_done(call);
    cli_say(call, "1 difference. Restore a backup and ingest what came after it.");
    return status ? status : tb_code_exit(TB_E_DIFFERENT);
}
