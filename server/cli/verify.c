/* tollbook verify: the operation, for a file. A file that is too damaged to be opened counts as a difference, and the time of
 * a successful verification is stored beside the file. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tollbook/json.h"

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

/* The one difference, in the format in which the operation would print it. */
static void print_difference(const cli_call *call, const char *sentence)
{
    const char *format = cli_text(call, "format");
    const bool json = format ? strcmp(format, "json") == 0 : isatty(STDOUT_FILENO) != 1;
    const bool csv = cli_is(call, "format", "csv");
    tb_buf out;
    tb_buf_init(&out, 16 << 10, NULL);
    if (json) tb_buf_str(&out, "{\"differences\":[");
    if (json) tb_json_string(&out, sentence, strlen(sentence));
    else if (csv) tb_buf_csv_value(&out, sentence, strlen(sentence));
    else tb_buf_str(&out, sentence);
    printf("%s%.*s%s", csv ? "difference\r\n" : "", (int)out.len, out.len ? out.data : "", json ? "]}\n" : csv ? "\r\n" : "\n");
    tb_buf_release(&out);
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
    print_difference(call, err.message);
    status = cli_done(call);
    cli_say(call, "1 difference. Restore a backup and ingest what came after it.");
    return status ? status : tb_code_exit(TB_E_DIFFERENT);
}
