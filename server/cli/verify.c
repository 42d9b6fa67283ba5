/* tollbook verify: a sentence for each difference, or one that there is none. */
#include <inttypes.h>

#include "cli/cli.h"

static void say_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    puts(sentence);
}

int cli_verify(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    uint64_t differences = 0;
    int64_t now_us;
    const char *db = cli_text(call, "db");
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_verify(store, say_difference, NULL, &differences, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    if (differences == 0) {
        printf("%s: no differences.\n", db);
        return cli_done(call);
    }
    status = cli_done(call);
    cli_say(call, "%s: %" PRIu64 " differences. Restore a backup and ingest what came after it.",
            db, differences);
    return status ? status : tb_code_exit(TB_E_DIFFERENT);
}
