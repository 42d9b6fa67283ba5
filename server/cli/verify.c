/* tollbook verify: a sentence for each difference, or one that there is none. */
#include <inttypes.h>

#include "api/full_check.h"
#include "cli/cli.h"

static void say_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    puts(sentence);
}

/* A file that is too damaged to be opened is a difference: it is what was asked for. */
static tb_code look(const cli_call *call, const tb_store_options *options, uint64_t *ret_differences,
                    tb_error *err)
{
    tb_store *store;
    uint64_t differences = 0;
    tb_code code = tb_store_open(cli_text(call, "db"), options, &store, err);
    if (code == TB_OK) {
        cli_warn_links(call, store);
        code = full_check(store, say_difference, NULL, &differences, err);
        tb_store_close(store);
    } else if (code == TB_E_CORRUPT) {
        say_difference(NULL, err->message);
        differences++;
        code = TB_OK;
    }
    *ret_differences = differences;
    return code;
}

int cli_verify(const cli_call *call)
{
    tb_error err;
    uint64_t differences;
    const char *db = cli_text(call, "db");
    tb_store_options options = {.owner = call->command->name};
    int status = cli_clock(call, &options.now_us);
    if (status) return status;
    if (look(call, &options, &differences, &err)) return cli_fail(call, NULL, &err);
    if (differences == 0) {
        printf("%s: no differences.\n", db);
        return cli_done(call);
    }
    status = cli_done(call);
    cli_say(call,
            "%s: %" PRIu64 " differences. Where a line says what to do, do that. Restore a backup and"
            " ingest what came after it for the others.",
            db, differences);
    return status ? status : tb_code_exit(TB_E_DIFFERENT);
}
