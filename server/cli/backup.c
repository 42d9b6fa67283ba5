/* tollbook backup: a snapshot under a new name. It reads alone, so it runs beside a writer;
 * its copy passes what `verify` would say of it. */
#include "cli/backup_follow.h"
#include "cli/meter.h"
#include "tollbook/operation.h"

static void show(void *ctx, uint64_t done, uint64_t total)
{
    if (total > 0) meter_share(ctx, done, total);
    else meter_check(ctx, done);
}

static int bad_form(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* Options of the other form of the command. */
static int check_form(const cli_call *call, bool follows)
{
    static const char *const copies[] = {"to", "progress", "usage"}, *const follow[] = {"server", "every", "base-every", "keep", "after-file", "once"};
    const char *const *others = follows ? copies : follow;
    const size_t n = follows ? sizeof copies / sizeof *copies : sizeof follow / sizeof *follow;
    for (size_t i = 0; i < n; i++) {
        if (!cli_given(call, others[i])) continue;
        cli_say(call, follows ? "--%s is for a single copy, and not for --follow." : "--%s is for --follow DIR.", others[i]);
        return tb_code_exit(TB_E_USAGE);
    }
    if (follows) return 0;
    if (!cli_given(call, "db")) return bad_form(call, "--db FILE is missing.");
    return cli_given(call, "to") ? 0 : bad_form(call, "--to FILE is missing, or --follow DIR.");
}

int cli_backup(const cli_call *call)
{
    const bool follows = cli_given(call, "follow");
    const int form = check_form(call, follows);
    if (form || follows) return form ? form : backup_follow(call);
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
    cli_say(call, "%s is a verified copy of %s.", to, cli_text(call, "db"));
    return 0;
}
