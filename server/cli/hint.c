#include "cli/hint.h"

#include <stdlib.h>
#include <string.h>

#define MARK ": tollbook "
#define PIPE " | tollbook "
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

void hint_file(const char *name, tb_buf *out)
{
    char path[4096 + 3];
    const bool dash = name[0] == '-' && name[1] && (size_t)snprintf(path, sizeof path, "./%s", name) < sizeof path;
    hint_word(dash ? path : name, out);
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

void hint_key(tb_buf *out)
{
    static const char *const variables[] = {"TOLLBOOK_KEY", "TOLLBOOK_KEY_FILE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) return;
    }
    tb_buf_str(out, " --key KEY");
}

static void put_server(const cli_call *call, tb_buf *out)
{
    put_option("server", cli_text(call, "server"), out);
    if (cli_given(call, "key-file")) put_option("key-file", cli_text(call, "key-file"), out);
    else hint_key(out);
    if (cli_given(call, "ca")) put_option("ca", cli_text(call, "ca"), out);
}

/* Options that say where the database is. */
static bool is_place(const char *option)
{
    static const char *const names[] = {"db", "server", "key", "key-file", "ca"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option, names[i]) == 0) return true;
    return strncmp(option, "usage", 5) == 0;
}

/* The call's options that the command takes: those for the place of the usage, or all options. */
static void put_given(const cli_call *call, const cli_command *command, bool usage, tb_buf *out)
{
    for (size_t i = 0; i < call->n_values; i++) {
        const cli_value *given = &call->values[i];
        const char *name = given->option->name;
        if (usage ? strncmp(name, "usage", 5) != 0 : is_place(name)) continue;
        if (given->option->secret || given->option->here || !hint_takes(command, name)) continue;
        if (given->option->kind == CLI_FLAG) tb_buf_fmt(out, " --%s", name);
        else put_option(name, given->text, out);
    }
}

void hint_values(const cli_call *call, const cli_command *command, tb_buf *out)
{
    put_given(call, command, false, out);
}

static void put_place(const cli_call *call, const cli_command *command, tb_buf *out)
{
    if (cli_given(call, "server") && hint_takes(command, "server")) put_server(call, out);
    else if (!hint_takes(command, "db")) return;
    else if (!cli_given(call, "db")) tb_buf_str(out, " --db FILE");
    else {
        put_option("db", cli_text(call, "db"), out);
        put_given(call, command, true, out);
    }
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

/* file: the subject of the message; NULL: none. */
static void put_rest(const cli_call *call, const char *text, const char *file, tb_buf *out)
{
    char name[32];
    const char *value;
    while (*text) {
        const bool is_file = file && (strcmp(text, " FILE") == 0 || strncmp(text, " FILE ", 6) == 0);
        const size_t len = is_file ? 5 : placeholder(call, text, name, &value);
        if (is_file) hint_file(file, out);
        else if (len) put_option(name, value, out);
        else tb_buf_add(out, text, 1);
        text += len ? len : 1;
    }
}

/* The operand that a message is about: it begins with it. NULL: none, or standard input. */
static const char *file_of(const cli_call *call, const char *text)
{
    for (int i = 0; i < call->n_operands; i++) {
        const char *name = call->operands[i];
        const size_t len = strlen(name);
        if (strcmp(name, "-") != 0 && strncmp(text, name, len) == 0 && strncmp(text + len, ": ", 2) == 0) return name;
    }
    return NULL;
}

/* "xz -dc FILE | tollbook ingest -": reads the file as the call would have, so the options are the call's, and so is the
 * command where the call is one that takes files. */
static void put_pipe(const cli_call *call, const cli_command *commands, size_t n, const char *text, const char *pipe,
                     tb_buf *out)
{
    const char *line = pipe + sizeof PIPE - 1, *file = file_of(call, text), *at = text, *place;
    const cli_command *named = command_of(commands, n, line);
    const cli_command *command = named && strcmp(call->command->name, "import") == 0 ? call->command : named;
    if (file && (place = strstr(text + strlen(file), " FILE ")) != NULL && place < pipe) {
        tb_buf_add(out, text, (size_t)(place - text));
        hint_file(file, out);
        at = place + sizeof " FILE" - 1;
    }
    tb_buf_add(out, at, (size_t)(line - at));
    if (!command) {
        tb_buf_str(out, line);
        return;
    }
    tb_buf_str(out, command->name);
    put_place(call, command, out);
    hint_values(call, command, out);
    tb_buf_str(out, line + strlen(named->name));
}

void hint_put(const cli_call *call, const cli_command *commands, size_t n, const char *text, tb_buf *out)
{
    const char *mark = strstr(text, MARK), *pipe = strstr(text, PIPE);
    const char *line = mark ? mark + sizeof MARK - 1 : NULL;
    const cli_command *command = line ? command_of(commands, n, line) : NULL;
    if (!command && pipe) {
        put_pipe(call, commands, n, text, pipe, out);
        return;
    }
    if (!command) {
        tb_buf_str(out, text);
        return;
    }
    const char *rest = line + strlen(command->name);
    tb_buf_add(out, text, (size_t)(rest - text));
    if (!strstr(rest, " --db ") && !strstr(rest, " --server ")) put_place(call, command, out);
    put_rest(call, rest, file_of(call, text), out);
}
