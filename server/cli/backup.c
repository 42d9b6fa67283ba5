/* tollbook backup: a snapshot under a new name. It reads alone, so it runs beside a writer;
 * its copy passes what `verify` would say of it. */
#include "cli/cli.h"
#include "cli/meter.h"
#include "tollbook/operation.h"

static void show(void *ctx, uint64_t done, uint64_t total)
{
    if (total > 0) meter_share(ctx, done, total);
    else meter_check(ctx, done);
}

int cli_backup(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    const char *to = cli_text(call, "to");
    meter progress;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    meter_init(&progress, to);
    const bool shown = progress.terminal || cli_given(call, "progress");
    tb_code code = tb_store_backup(store, to, tb_verify, shown ? show : NULL, &progress, &err);
    meter_end(&progress);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    cli_mark(call, MARK_BACKUP, now_us);
    cli_note(call, "%s is a verified copy of %s.", to, cli_text(call, "db"));
    return 0;
}
