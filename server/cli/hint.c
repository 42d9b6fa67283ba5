#include "cli/hint.h"

#include <stdlib.h>
#include <string.h>

#define MARK ": tollbook "
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ-"

bool hint_takes(const cli_command *command, const char *option)
{
    for (size_t i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, option) == 0) return true;
    return false;
}

void hint_word(const char *word, tb_buf *out)
{
    tb_buf_str(out, " ");
    if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_./:@%+=,-")]) {
        tb_buf_str(out, word);
        return;
    }
    tb_buf_str(out, "'");
    for (const char *p = word; *p; p++) {
        if (*p == '\'') tb_buf_str(out, "'\\''");
        else tb_buf_add(out, p, 1);
    }
    tb_buf_str(out, "'");
}

/* The command with the longest name that the text begins with; NULL: none, as of "help". */
static const cli_command *command_of(const cli_command *commands, size_t n, const char *text)
{
    const cli_command *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(commands[i].name);
        if (len <= best_len || strncmp(text, commands[i].name, len) != 0 || (text[len] && text[len] != ' ')) continue;
        best = &commands[i];
        best_len = len;
    }
    return best;
}

static void put_option(const char *name, const char *value, tb_buf *out)
{
    tb_buf_fmt(out, " --%s", name);
    hint_word(value, out);
}

static void put_server(const cli_call *call, const cli_command *command, tb_buf *out)
{
    const char *variable = getenv("TOLLBOOK_KEY");
    put_option("server", cli_text(call, "server"), out);
    if (cli_given(call, "key-file") && hint_takes(command, "key-file")) put_option("key-file", cli_text(call, "key-file"), out);
    else if (!variable || !*variable) tb_buf_str(out, hint_takes(command, "key") ? " --key KEY" : " --key-file FILE");
    if (cli_given(call, "ca")) put_option("ca", cli_text(call, "ca"), out);
}

static void put_place(const cli_call *call, const cli_command *command, tb_buf *out)
{
    if (cli_given(call, "server") && hint_takes(command, "server")) put_server(call, command, out);
    else if (!hint_takes(command, "db")) return;
    else if (cli_given(call, "db")) put_option("db", cli_text(call, "db"), out);
    else tb_buf_str(out, " --db FILE");
}

/* " --NAME CAPITALS" of an option that the call has: its length, and the call's value. */
static size_t placeholder(const cli_call *call, const char *text, char name[32], const char **ret_value)
{
    const size_t len = strncmp(text, " --", 3) == 0 ? strcspn(text + 3, " ") : 0;
    const size_t value = len && text[3 + len] ? strspn(text + 4 + len, CAPITALS) : 0;
    const char after = value ? text[4 + len + value] : 'x';
    if (len == 0 || len >= 32 || value < 2 || (after && after != ' ')) return 0;
    snprintf(name, 32, "%.*s", (int)len, text + 3);
    for (size_t i = 0; i < call->n_values; i++) {
        const cli_value *given = &call->values[i];
        if (given->option->secret || strcmp(given->option->name, name) != 0) continue;
        *ret_value = given->text;
        return 4 + len + value;
    }
    return 0;
}

static void put_rest(const cli_call *call, const char *text, tb_buf *out)
{
    char name[32];
    const char *value;
    while (*text) {
        const size_t len = placeholder(call, text, name, &value);
        if (len) put_option(name, value, out);
        else tb_buf_add(out, text, 1);
        text += len ? len : 1;
    }
}

void hint_put(const cli_call *call, const cli_command *commands, size_t n, const char *text, tb_buf *out)
{
    const char *mark = strstr(text, MARK);
    const char *line = mark ? mark + sizeof MARK - 1 : NULL;
    const cli_command *command = line ? command_of(commands, n, line) : NULL;
    if (!command) {
        tb_buf_str(out, text);
        return;
    }
    const char *rest = line + strlen(command->name);
    tb_buf_add(out, text, (size_t)(rest - text));
    if (!strstr(rest, " --db ") && !strstr(rest, " --server ")) put_place(call, command, out);
    put_rest(call, rest, out);
}
