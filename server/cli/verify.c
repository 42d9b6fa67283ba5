/* tollbook verify: a sentence for each difference, or one that there is none. */
#include <inttypes.h>

#include "cli/cli.h"
#include "tollbook/verify.h"

static void say_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    puts(sentence);
}

/* NULL: no anchor is given. */
static tb_code compare(tb_store *store, const char *against, uint64_t *differences, tb_error *err)
{
    uint64_t more = 0;
    tb_code code = against ? tb_store_read_begin(store, err) : TB_OK;
    if (code || !against) return code;
    code = tb_store_verify_against(store, against, say_difference, NULL, &more, err);
    tb_store_read_end(store);
    *differences += more;
    return code;
}

/* A file that is too damaged to be opened is a difference: it is what was asked for. */
static tb_code look(const cli_call *call, const tb_store_options *options, const char *against,
                    uint64_t *ret_differences, tb_error *err)
{
    tb_store *store;
    uint64_t differences = 0;
    tb_code code = tb_store_open(cli_text(call, "db"), options, &store, err);
    if (code == TB_OK) {
        cli_warn_links(call, store);
        code = tb_verify(store, say_difference, NULL, &differences, err);
        if (!code) code = compare(store, against, &differences, err);
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
    const char *against = cli_given(call, "against") ? cli_text(call, "against") : NULL;
    tb_store_options options = {.owner = call->command->name};
    int status = cli_clock(call, &options.now_us);
    if (status) return status;
    if (against && tb_anchor_check(against, &err)) return cli_fail(call, "--against", &err);
    if (look(call, &options, against, &differences, &err)) return cli_fail(call, NULL, &err);
    if (differences == 0) {
        cli_mark(call, MARK_VERIFY, options.now_us);
        printf("%s: no differences.\n", db);
        return cli_done(call);
    }
    status = cli_done(call);
    cli_say(call,
            "%s: %" PRIu64 " %s. If a line says what to do, do that. For the others, restore a "
            "backup and ingest what came after it.",
            db, differences, differences == 1 ? "difference" : "differences");
    return status ? status : tb_code_exit(TB_E_DIFFERENT);
}
