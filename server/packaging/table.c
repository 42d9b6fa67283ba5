/* The table of subcommands as JSON, for reference.py: a program of the build, installed nowhere. */
#include "cli/cli.h"
#include "cli/config.h"
#include "tollbook/json.h"

#include <string.h>

static void member(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, "\"%s\":", name);
    tb_json_string(out, text ? text : "", text ? strlen(text) : 0);
}

static void put_option(tb_buf *out, const cli_option *option)
{
    static const char *const kinds[] = {[CLI_FLAG] = "flag",
                                        [CLI_TEXT] = "text",
                                        [CLI_NUMBER] = "number",
                                        [CLI_CHOICE] = "choice"};
    tb_buf_str(out, "{");
    member(out, "name", option->name);
    tb_buf_str(out, ",");
    member(out, "value", option->value);
    tb_buf_str(out, ",");
    member(out, "help", option->help);
    tb_buf_str(out, ",");
    member(out, "kind", kinds[option->kind]);
    tb_buf_fmt(out, ",\"required\":%s,\"repeats\":%s,\"configured\":%s}", option->required ? "true" : "false",
               option->repeats ? "true" : "false", config_takes(option) ? "true" : "false");
}

static void put_options(tb_buf *out, const cli_option *options, size_t n)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0) tb_buf_str(out, ",");
        put_option(out, &options[i]);
    }
    tb_buf_str(out, "]");
}

static void put_command(tb_buf *out, const cli_command *command)
{
    tb_buf_str(out, "{");
    member(out, "name", command->name);
    tb_buf_str(out, ",");
    member(out, "group", cli_groups[command->group].title);
    tb_buf_str(out, ",");
    member(out, "note", cli_groups[command->group].note);
    tb_buf_str(out, ",");
    member(out, "operands", command->operands);
    tb_buf_str(out, ",");
    member(out, "summary", command->summary);
    tb_buf_str(out, ",");
    member(out, "details", command->details);
    tb_buf_str(out, ",\"options\":");
    put_options(out, command->options, command->n_options);
    tb_buf_str(out, "}");
}

int main(void)
{
    tb_buf out;
    tb_error err;
    cli_commands_fill();
    tb_buf_init(&out, 1 << 20, NULL);
    tb_buf_fmt(&out, "{\"version\":\"%s\",\"configuration\":\"" CONFIG_PATH "\",\"common\":", TB_VERSION);
    put_options(&out, cli_common, cli_n_common);
    tb_buf_str(&out, ",\"commands\":[");
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (i > 0) tb_buf_str(&out, ",\n");
        put_command(&out, &cli_commands[i]);
    }
    tb_buf_str(&out, "]}\n");
    if (tb_buf_check(&out, &err)) return tb_code_exit(err.code);
    return fwrite(out.data, 1, out.len, stdout) == out.len && fflush(stdout) == 0 ? 0 : 3;
}
