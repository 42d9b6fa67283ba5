/* The command line's parser and its help, both driven by the tables of options.h.
 *
 * Parsing is one pass: options are taken out, operands are moved to the front of argv in their
 * order, so nothing is copied. A name that is not known is compared with those that are, by edit
 * distance, and the nearest is offered when it is near enough to be a typing mistake. */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

/* --- suggestions --- */

#define NAME_MAX_ 32 /* longer names are no typing mistakes of ours */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein distance of two short words; NAME_MAX_ where one is too long. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned row[NAME_MAX_ + 1];
    if (a_len > NAME_MAX_ || b_len > NAME_MAX_) return NAME_MAX_;
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

/* Whether two names are a slip apart: at most a third of the letters differ. */
static bool near_enough(unsigned apart, size_t len)
{
    return apart <= (len + 2) / 3;
}

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

static const cli_command *nearest(const cli_command *commands, size_t n, const char *word)
{
    const cli_command *best = NULL;
    unsigned least_apart = NAME_MAX_;
    for (size_t i = 0; i < n; i++) {
        unsigned apart =
            distance(word, strlen(word), commands[i].name, first_word(commands[i].name));
        if (apart < least_apart && near_enough(apart, first_word(commands[i].name))) {
            least_apart = apart;
            best = &commands[i];
        }
    }
    return best;
}

static void list_group(const cli_command *commands, size_t n, const char *word, char *out,
                       size_t size)
{
    size_t len = strlen(word), used = 0;
    for (size_t i = 0; i < n && used < size; i++) {
        const char *name = commands[i].name;
        if (strncmp(name, word, len) != 0 || name[len] != ' ') continue;
        int wrote = snprintf(out + used, size - used, "%s%s", used ? ", " : "", name + len + 1);
        if (wrote > 0) used += (size_t)wrote;
    }
}

const cli_command *cli_find(const cli_command *commands, size_t n, int argc, char *const *argv,
                            int *ret_words, tb_error *err)
{
    tb_code code;
    for (size_t i = 0; i < n; i++) {
        int words = name_words(&commands[i], argc, argv);
        if (words == 0) continue;
        *ret_words = words;
        return &commands[i];
    }
    const cli_command *meant = argc ? nearest(commands, n, argv[0]) : NULL;
    if (argc == 0) {
        code = tb_fail(err, TB_E_USAGE, NULL, "No subcommand given. See: tollbook help");
    } else if (is_group(commands, n, argv[0])) {
        char names[128] = "";
        list_group(commands, n, argv[0], names, sizeof names);
        code = tb_fail(err, TB_E_USAGE, NULL,
                       "\"%.32s\" needs one of these words after it: %s. See: tollbook help %.32s",
                       argv[0], names, argv[0]);
    } else if (meant) {
        code = tb_fail(err, TB_E_USAGE, NULL,
                       "There is no subcommand \"%.64s\". Did you mean \"%.*s\"?", argv[0],
                       (int)first_word(meant->name), meant->name);
    } else {
        code = tb_fail(err, TB_E_USAGE, NULL,
                       "There is no subcommand \"%.64s\". See: tollbook help", argv[0]);
    }
    (void)code;
    return NULL;
}

/* --- parsing --- */

static const cli_option *find_option(const cli_command *command, const char *name, size_t len)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0) return option;
    }
    return NULL;
}

static tb_code unknown_option(const cli_command *command, const char *name, size_t len,
                              tb_error *err)
{
    const cli_option *best = NULL;
    unsigned least_apart = NAME_MAX_;
    for (size_t i = 0; i < command->n_options; i++) {
        const char *known = command->options[i].name;
        unsigned apart = distance(name, len, known, strlen(known));
        if (apart < least_apart && near_enough(apart, strlen(known))) {
            least_apart = apart;
            best = &command->options[i];
        }
    }
    int shown = len > 64 ? 64 : (int)len;
    if (best)
        return tb_fail(err, TB_E_USAGE, NULL,
                       "There is no option \"--%.*s\". Did you mean \"--%s\"?", shown, name,
                       best->name);
    return tb_fail(err, TB_E_USAGE, NULL,
                   "There is no option \"--%.*s\". See: tollbook help %s", shown, name,
                   command->name);
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

static tb_code check_value(const cli_option *option, const char *text, int64_t *ret_number,
                           tb_error *err)
{
    *ret_number = 0;
    if (!*text)
        return tb_fail(err, TB_E_USAGE, option->name, "--%s needs a value: --%s %s.", option->name,
                       option->name, option->value);
    if (option->kind == CLI_CHOICE && !among(option->value, text))
        return tb_fail(err, TB_E_USAGE, option->name, "--%s does not take \"%.64s\": use one of %s.",
                       option->name, text, option->value);
    if (option->kind != CLI_NUMBER) return TB_OK;
    if (!whole_number(text, ret_number) || *ret_number < option->min || *ret_number > option->max)
        return tb_fail(err, TB_E_USAGE, option->name,
                       "--%s does not take \"%.64s\": use a whole number from %lld to %lld.",
                       option->name, text, (long long)option->min, (long long)option->max);
    return TB_OK;
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

static tb_code add_value(cli_call *call, const cli_option *option, const char *text, tb_error *err)
{
    int64_t number = 0;
    if (!option->repeats && cli_given(call, option->name))
        return tb_fail(err, TB_E_USAGE, option->name, "--%s is given twice. Give it once.",
                       option->name);
    if (call->n_values == CLI_VALUES_MAX)
        return tb_fail(err, TB_E_USAGE, option->name, "More than %d options are given.",
                       CLI_VALUES_MAX);
    if (option->kind != CLI_FLAG) {
        tb_code code = check_value(option, text, &number, err);
        if (code) return code;
    }
    call->values[call->n_values++] = (cli_value){option, text, number};
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
        return add_value(call, option, "", err);
    }
    if (!word && *at + 1 < argc) word = argv[++*at];
    const char *text = word ? word : "";
    tb_code code = option->secret && word ? hide(option, word, &text, err) : TB_OK;
    return code ? code : add_value(call, option, text, err);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static tb_code check_call(const cli_call *call, tb_error *err)
{
    const cli_command *command = call->command;
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (option->required && !cli_given(call, option->name))
            return tb_fail(err, TB_E_USAGE, option->name,
                           "--%s %s is missing. See: tollbook help %s", option->name,
                           option->value, command->name);
    }
    if (call->n_operands < command->min_operands)
        return tb_fail(err, TB_E_USAGE, NULL, "%s is missing. See: tollbook help %s",
                       command->operands, command->name);
    if (call->n_operands > command->max_operands)
        return tb_fail(err, TB_E_USAGE, NULL, "\"%.64s\" is one word too many. See: tollbook help %s",
                       call->operands[command->max_operands], command->name);
    return TB_OK;
}

tb_code cli_parse(const cli_command *command, int argc, char **argv, cli_call *ret_call,
                  tb_error *err)
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
            return tb_fail(err, TB_E_USAGE, NULL,
                           "There is no option \"%.64s\": options start with two dashes. "
                           "A file of that name is ./%.64s.",
                           word, word);
        } else {
            tb_code code = take_option(&call, argc, argv, &i, err);
            if (code) return code;
        }
    }
    tb_code code = check_call(&call, err);
    if (code == TB_OK) *ret_call = call;
    return code;
}

/* --- what was given --- */

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

static void help_option(FILE *out, const cli_option *option)
{
    int used = fprintf(out, "  --%s", option->name);
    if (option->kind != CLI_FLAG) used += fprintf(out, " %s", option->value);
    if (used >= HELP_WIDTH) {
        fputc('\n', out);
        used = 0;
    }
    fprintf(out, "%*s%s%s%s\n", HELP_WIDTH - used, "", option->help,
            option->required ? " (required)" : "", option->repeats ? " (may repeat)" : "");
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
    if (command->n_options == 0) return;
    fputs("\noptions:\n", out);
    for (size_t i = 0; i < command->n_options; i++)
        help_option(out, &command->options[i]);
}

void cli_help_all(FILE *out, const cli_command *commands, size_t n, const char *prefix)
{
    size_t len = strlen(prefix);
    fputs("usage: tollbook SUBCOMMAND [options]\n\n"
          "Statistics and billing for content delivery, over one SQLite file.\n\nsubcommands:\n",
          out);
    for (size_t i = 0; i < n; i++)
        if (strncmp(commands[i].name, prefix, len) == 0)
            fprintf(out, "  %-16s  %s\n", commands[i].name, commands[i].summary);
    fputs("\nmore: tollbook help SUBCOMMAND, tollbook --version\n"
          "Exit status: 0 done, 1 the answer is no, 2 usage or bad input, 3 environment.\n"
          "TOLLBOOK_NOW (RFC 3339) fixes the clock of every subcommand.\n",
          out);
}
