/* The command line's parser and its help, both driven by the tables of options.h.
 *
 * Parsing is one pass: options are taken out, operands are moved to the front of argv in their
 * order, so nothing is copied. A name that is not known is compared with those that are, by edit
 * distance, and the nearest is offered when it is near enough to be a typing mistake. */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- finding the command --- */

/* How many of argv's words make up the command's name: 0 where they do not. */
static int name_words(const cli_command *command, int argc, char *const *argv)
{
    const char *space = strchr(command->name, ' ');
    size_t first = space ? (size_t)(space - command->name) : strlen(command->name);
    if (argc < 1 || strlen(argv[0]) != first || memcmp(argv[0], command->name, first) != 0)
        return 0;
    if (!space) return 1;
    return argc >= 2 && strcmp(argv[1], space + 1) == 0 ? 2 : 0;
}

static size_t first_word(const char *name)
{
    return strcspn(name, " ");
}

/* Whether some command's name starts with this word and has a second one. */
static bool is_group(const cli_command *commands, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = first_word(commands[i].name);
        if (commands[i].name[len] && strlen(word) == len && !memcmp(word, commands[i].name, len))
            return true;
    }
    return false;
}

/* "create|revoke|list": the words that follow this one; or, of NULL, all first words, each once. */
static void list_words(const cli_command *commands, size_t n, const char *group, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used < size; i++) {
        const char *name = commands[i].name;
        const size_t first = first_word(name);
        const bool same = group && strlen(group) == first && memcmp(name, group, first) == 0;
        const bool again = !group && i > 0 && first_word(commands[i - 1].name) == first &&
                           memcmp(commands[i - 1].name, name, first) == 0;
        if (group ? !same || !name[first] : again) continue;
        const int wrote = group ? snprintf(out + used, size - used, "%s%s", used ? "|" : "", name + first + 1)
                                : snprintf(out + used, size - used, "%s%.*s", used ? "|" : "", (int)first, name);
        if (wrote > 0) used += (size_t)wrote;
    }
}

#define WORDS_MAX 1024

/* The error for words of argv that are no command of this group. */
static void refuse_second(const cli_command *commands, size_t n, int argc, char *const *argv, tb_error *err)
{
    char words[WORDS_MAX] = "", list[WORDS_MAX], meant[TB_MEANT_MAX] = "", before[40];
    const bool second = argc > 1 && argv[1][0] != '-';
    list_words(commands, n, argv[0], words, sizeof words);
    tb_words(words, list, sizeof list);
    snprintf(before, sizeof before, "%.32s ", argv[0]);
    if (second) tb_meant(words, before, argv[1], strlen(argv[1]), meant);
    if (second)
        (void)!tb_fail(err, TB_E_USAGE, NULL,
                       "There is no subcommand \"%.32s %.48s\".%s After \"%.32s\" comes %.190s. See: tollbook help %.32s",
                       argv[0], argv[1], meant, argv[0], list, argv[0]);
    else
        (void)!tb_fail(err, TB_E_USAGE, NULL, "\"%.32s\" needs one of these words after it: %.190s. See: tollbook help %.32s",
                       argv[0], list, argv[0]);
}

/* Whether the word behind a command that others begin with was meant to be one of those: it takes no operand, or the word
 * is nearly one. */
static bool is_second(const cli_command *commands, size_t n, const cli_command *command, char *const *argv)
{
    char words[WORDS_MAX] = "";
    const char *near;
    if (argv[1][0] == '-' || strcmp(argv[1], "help") == 0) return false;
    const bool plain = !argv[1][strspn(argv[1], "abcdefghijklmnopqrstuvwxyz-")];
    if (command->max_operands == 0 || (plain && access(argv[1], F_OK) != 0)) return true;
    list_words(commands, n, argv[0], words, sizeof words);
    return tb_nearest(words, argv[1], strlen(argv[1]), &near) > 0;
}

const cli_command *cli_find(const cli_command *commands, size_t n, int argc, char *const *argv,
                            int *ret_words, tb_error *err)
{
    char words[WORDS_MAX] = "help|version|", meant[TB_MEANT_MAX];
    const cli_command *found = NULL;
    int taken = 0;
    for (size_t i = 0; i < n; i++) {
        const int these = name_words(&commands[i], argc, argv);
        if (these <= taken) continue;
        found = &commands[i];
        taken = these;
    }
    const bool other = taken == 1 && argc > 1 && is_group(commands, n, argv[0]) && is_second(commands, n, found, argv);
    if (found && !other) {
        *ret_words = taken;
        return found;
    }
    if (argc == 0) {
        (void)!tb_fail(err, TB_E_USAGE, NULL, "No subcommand given. See: tollbook help");
    } else if (is_group(commands, n, argv[0])) {
        refuse_second(commands, n, argc, argv, err);
    } else if (argv[0][0] == '-') {
        (void)!tb_fail(err, TB_E_USAGE, NULL,
                       "Options come behind the subcommand: tollbook SUBCOMMAND %.64s ... See: tollbook help", argv[0]);
    } else {
        list_words(commands, n, NULL, words + strlen(words), sizeof words - strlen(words));
        tb_meant(words, "", argv[0], strlen(argv[0]), meant);
        (void)!tb_fail(err, TB_E_USAGE, NULL, "There is no subcommand \"%.64s\".%s%s", argv[0], meant,
                       *meant ? "" : " See: tollbook help");
    }
    return NULL;
}

/* --- parsing --- */

/* The i-th option of the command, those of every command last; NULL: there are no more. */
static const cli_option *option_at(const cli_command *command, size_t i)
{
    if (i < command->n_options) return &command->options[i];
    i -= command->n_options;
    return i < cli_n_common ? &cli_common[i] : NULL;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t len)
{
    const cli_option *option;
    for (size_t i = 0; (option = option_at(command, i)); i++)
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0) return option;
    return NULL;
}

const cli_option *cli_option_of(const cli_command *command, const char *name)
{
    return find_option(command, name, strlen(name));
}

static tb_code unknown_option(const cli_command *command, const char *name, size_t len, tb_error *err)
{
    char words[WORDS_MAX] = "", meant[TB_MEANT_MAX];
    const cli_option *option;
    size_t used = 0;
    for (size_t i = 0; used < sizeof words && (option = option_at(command, i)); i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? "|" : "", option->name);
    tb_meant(words, "--", name, len, meant);
    return tb_fail(err, TB_E_USAGE, NULL, "There is no option \"--%.*s\".%s%s%s", len > 64 ? 64 : (int)len, name, meant,
                   *meant ? "" : " See: tollbook help ", *meant ? "" : command->name);
}

/* A whole number in decimal, an optional '-' before it, nothing else. */
static bool whole_number(const char *text, int64_t *ret_value)
{
    bool negative = *text == '-';
    const char *p = text + negative;
    int64_t value = 0;
    if (!*p) return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *p - '0', &value))
            return false;
    }
    if (!negative && value == INT64_MIN) return false;
    *ret_value = negative ? value : -value; /* summed downwards: INT64_MIN has no positive twin */
    return true;
}

static bool among(const char *words, const char *text)
{
    size_t len = strlen(text);
    for (const char *p = words; len > 0;) {
        size_t n = strcspn(p, "|");
        if (n == len && memcmp(p, text, n) == 0) return true;
        if (!p[n]) return false;
        p += n + 1;
    }
    return false;
}

tb_code cli_check_value(const cli_option *option, const char *text, int64_t *ret_number, tb_error *err)
{
    *ret_number = 0;
    if (!*text && !option->empty)
        return tb_fail(err, TB_E_USAGE, option->name, "--%s needs a value: --%s %s.", option->name,
                       option->name, option->value);
    tb_error why = {.code = TB_OK};
    const size_t len = strlen(text);
    if (option->kind == CLI_CHOICE && !among(option->value, text))
        (void)!tb_refuse_word(&why, option->name, option->value, text, len);
    if (option->kind == CLI_NUMBER &&
        (!whole_number(text, ret_number) || *ret_number < option->min || *ret_number > option->max))
        (void)!tb_refuse_number(&why, option->name, text, len, option->min, option->max);
    if (option->is_new && strcmp(text, "-") == 0)
        (void)!tb_fail(&why, TB_E_VALIDATION, option->name, "Give the name of a file: a database is not written to standard"
                       " output. A file called - is ./-");
    if (!why.code) return TB_OK;
    return tb_fail(err, TB_E_USAGE, option->name, "--%s: %.240s%s%s", option->name, why.message,
                   option->list ? " Find it with: tollbook " : "", option->list ? option->list : "");
}

/* Keeps the secret and blanks the argument, which everybody's process list shows. */
static tb_code hide(const cli_option *option, char *word, const char **text, tb_error *err)
{
    static char kept[CLI_SECRET_MAX + 1];
    size_t len = strlen(word);
    if (len > CLI_SECRET_MAX)
        return tb_fail(err, TB_E_USAGE, option->name, "--%s takes at most %d bytes.", option->name,
                       CLI_SECRET_MAX);
    memcpy(kept, word, len + 1);
    memset(word, 'x', len);
    *text = kept;
    return TB_OK;
}

tb_code cli_add_value(cli_call *call, const cli_option *option, const char *text, tb_error *err)
{
    int64_t number = 0;
    if (!option->repeats && cli_given(call, option->name))
        return tb_fail(err, TB_E_USAGE, option->name, "--%s is given twice. Give it once.",
                       option->name);
    if (call->n_values == CLI_VALUES_MAX)
        return tb_fail(err, TB_E_USAGE, option->name, "More than %d options are given.",
                       CLI_VALUES_MAX);
    if (option->kind != CLI_FLAG) {
        tb_code code = cli_check_value(option, text, &number, err);
        if (code) return code;
    }
    call->values[call->n_values++] = (cli_value){.option = option, .text = text, .number = number};
    return TB_OK;
}

/* Takes the option at argv[*at], and its value from the next word where it needs one. */
static tb_code take_option(cli_call *call, int argc, char **argv, int *at, tb_error *err)
{
    char *name = argv[*at] + 2;
    size_t len = strcspn(name, "=");
    char *word = name[len] ? name + len + 1 : NULL;
    const cli_option *option = find_option(call->command, name, len);
    if (!option) return unknown_option(call->command, name, len, err);
    if (option->kind == CLI_FLAG) {
        if (word)
            return tb_fail(err, TB_E_USAGE, option->name, "--%s takes no value.", option->name);
        return cli_add_value(call, option, "", err);
    }
    if (!word && *at + 1 < argc) word = argv[++*at];
    const char *text = word ? word : "";
    tb_code code = option->secret && word ? hide(option, word, &text, err) : TB_OK;
    return code ? code : cli_add_value(call, option, text, err);
}

/* --db and --server have variables and exclude each other: one that is given stands for both. */
static tb_code add_variables(cli_call *call, tb_error *err)
{
    const cli_command *command = call->command;
    tb_code code = TB_OK;
    for (size_t i = 0; i < call->n_values; i++)
        if (call->values[i].option->variable) return TB_OK;
    for (size_t i = 0; !code && i < command->n_options; i++) {
        const char *name = command->options[i].variable, *text = name ? getenv(name) : NULL;
        if (!text || !*text) continue;
        code = cli_add_value(call, &command->options[i], text, err);
        if (!code) call->values[call->n_values - 1].variable = true;
    }
    return code;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Suggests a meaning for a surplus word: the value of the missing option. */
static tb_code refuse_operand(const cli_call *call, tb_error *err)
{
    const cli_command *command = call->command;
    const char *word = call->operands[command->max_operands];
    const cli_option *missing = NULL;
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        const bool fits = !option->variable || (strcmp(option->name, "db") == 0 && strpbrk(word, "./"));
        const bool first = !missing || (option->required && !missing->required);
        if ((option->required || option->variable) && fits && first && !cli_given(call, option->name)) missing = option;
    }
    if (missing && cli_given(call, "server") && missing->variable) missing = NULL;
    return tb_fail(err, TB_E_USAGE, NULL, "\"%.64s\" is one word too many.%s%s%s%.64s%s See: tollbook help %s", word,
                   missing ? " Did you mean --" : "", missing ? missing->name : "", missing ? " " : "",
                   missing ? word : "", missing ? "?" : "", command->name);
}

static tb_code check_call(const cli_call *call, tb_error *err)
{
    const cli_command *command = call->command;
    if (call->n_operands > command->max_operands) return refuse_operand(call, err);
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (option->required && !cli_given(call, option->name))
            return tb_fail(err, TB_E_USAGE, option->name, "--%s %s is missing%s%s. See: tollbook help %s", option->name,
                           option->value, option->variable ? ", and so is the variable " : "",
                           option->variable ? option->variable : "", command->name);
    }
    if (call->n_operands < command->min_operands)
        return tb_fail(err, TB_E_USAGE, NULL, "%s is missing. See: tollbook help %s",
                       command->operands, command->name);
    return TB_OK;
}

tb_code cli_parse(const cli_command *command, int argc, char **argv, cli_more *more, cli_call *ret_call, tb_error *err)
{
    cli_call call = {.command = command, .operands = argv};
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (options_end || word[0] != '-' || word[1] == '\0') {
            argv[call.n_operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else if (asks_for_help(word)) {
            *ret_call = (cli_call){.command = command, .help = true};
            return TB_OK;
        } else if (word[1] != '-') {
            return tb_fail(err, TB_E_USAGE, NULL, "There is no option \"%.64s\": options start with two dashes, as in -%.64s. "
                           "A file of that name is ./%.64s.",
                           word, word, word);
        } else {
            tb_code code = take_option(&call, argc, argv, &i, err);
            if (code) return code;
        }
    }
    tb_code code = add_variables(&call, err);
    if (!code && more) code = more(&call, err);
    if (!code) code = check_call(&call, err);
    if (!code) *ret_call = call;
    return code;
}

/* --- given options --- */

static const cli_value *find_value(const cli_call *call, const char *name)
{
    for (size_t i = call->n_values; i > 0; i--)
        if (strcmp(call->values[i - 1].option->name, name) == 0) return &call->values[i - 1];
    return NULL;
}

bool cli_given(const cli_call *call, const char *name)
{
    return find_value(call, name) != NULL;
}

const char *cli_text(const cli_call *call, const char *name)
{
    const cli_value *value = find_value(call, name);
    return value ? value->text : NULL;
}

int64_t cli_number(const cli_call *call, const char *name, int64_t otherwise)
{
    const cli_value *value = find_value(call, name);
    return value ? value->number : otherwise;
}

bool cli_is(const cli_call *call, const char *name, const char *word)
{
    const char *text = cli_text(call, name);
    return text && strcmp(text, word) == 0;
}

/* --- help --- */

#define HELP_WIDTH 26 /* column where the sentences start */

void cli_help_option(FILE *out, const char *dashes, const cli_option *option, const char *note)
{
    int used = fprintf(out, "  %s%s", dashes, option->name);
    if (option->kind != CLI_FLAG) used += fprintf(out, " %s", option->value);
    if (used >= HELP_WIDTH) {
        fputc('\n', out);
        used = 0;
    }
    fprintf(out, "%*s%s%s%s%s\n", HELP_WIDTH - used, "", option->help,
            option->required && *dashes ? " (required)" : "", option->repeats ? " (may repeat)" : "", note);
}

void cli_help(FILE *out, const cli_command *command)
{
    fprintf(out, "usage: tollbook %s", command->name);
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        const char *open = option->required ? "" : "[", *close = option->required ? "" : "]";
        bool value = option->kind != CLI_FLAG;
        fprintf(out, " %s--%s%s%s%s%s", open, option->name, value ? " " : "",
                value ? option->value : "", close, option->repeats ? "..." : "");
    }
    fprintf(out, "%s%s\n\n%s.\n", *command->operands ? " " : "", command->operands,
            command->summary);
    if (*command->details) fprintf(out, "\n%s\n", command->details);
    if (command->n_options > 0) fputs("\noptions:\n", out);
    for (size_t i = 0; i < command->n_options; i++)
        cli_help_option(out, "--", &command->options[i], "");
    fputs("\noptions of every command:\n", out);
    for (size_t i = 0; i < cli_n_common; i++)
        cli_help_option(out, "--", &cli_common[i], "");
}

static void help_group(FILE *out, const cli_command *commands, size_t n, const char *prefix, cli_goal group)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (commands[i].group != group || strncmp(commands[i].name, prefix, strlen(prefix)) != 0) continue;
        if (!any) fprintf(out, "\n%s:\n", cli_groups[group].title);
        any = true;
        fprintf(out, "  %-16s  %s\n", commands[i].name, commands[i].summary);
    }
    if (any && !*prefix && cli_groups[group].note) fprintf(out, "  %s\n", cli_groups[group].note);
}

void cli_help_all(FILE *out, const cli_command *commands, size_t n, const char *prefix)
{
    fputs("usage: tollbook SUBCOMMAND [options]\n\n"
          "Statistics and billing for content delivery, over one SQLite file.\n",
          out);
    for (int group = 0; group < CLI_GOALS_; group++)
        help_group(out, commands, n, prefix, (cli_goal)group);
    fputs("\nmore: tollbook help SUBCOMMAND, tollbook help config, tollbook --version\n"
          "What prints data prints a table on a terminal and JSON elsewhere: --format table|json|csv. Documents, keys,\n"
          "tokens and digests are the same everywhere, and query prints rows with tabs.\n"
          "Exit status: 0 done, 1 the answer is no, 2 usage or bad input, 3 environment.\n"
          "Environment: TOLLBOOK_DB, or TOLLBOOK_SERVER with TOLLBOOK_KEY or TOLLBOOK_KEY_FILE, in the place of the options.\n"
          "TOLLBOOK_NOW (RFC 3339) fixes the clock of every subcommand. Configuration file: /etc/tollbook/tollbook.conf, or that\n"
          "of --config FILE or TOLLBOOK_CONFIG; \"none\" is none. Options count first, then the environment, then the file.\n",
          out);
}
