#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define WORDS_MAX 8192 /* the names of all options */
#define BLANKS    " \t"
#define LISTED    4 /* commands that help names at an option */

/* --- the options that a file may have --- */

bool config_takes(const cli_option *option)
{
    return !option->per_call;
}

/* The option of this name, of the first command that has it and lets it stand in a file; else of any command; NULL: none. */
static const cli_option *named_option(const config_commands *known, const char *name)
{
    const cli_option *found = NULL;
    for (size_t i = 0; i < known->n; i++) {
        const cli_option *option = cli_option_of(&known->commands[i], name);
        if (option && config_takes(option)) return option;
        if (option) found = option;
    }
    return found;
}

/* Calls back for each name that a file may have, once: in the order of the commands. */
static void each_option(const config_commands *known, void (*take)(const cli_option *option, void *ctx), void *ctx)
{
    for (size_t c = 0; c <= known->n; c++) {
        const cli_option *options = c < known->n ? known->commands[c].options : cli_common;
        const size_t n = c < known->n ? known->commands[c].n_options : cli_n_common;
        for (size_t i = 0; i < n; i++)
            if (config_takes(&options[i]) && named_option(known, options[i].name) == &options[i]) take(&options[i], ctx);
    }
}

typedef struct word_list {
    char text[WORDS_MAX];
    size_t used;
} word_list;

static void add_word(const cli_option *option, void *ctx)
{
    word_list *list = ctx;
    if (list->used + strlen(option->name) + 2 > sizeof list->text) return;
    list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s%s", list->used ? "|" : "",
                                   option->name);
}

/* --- lines to rows --- */

static TB_PRINTF(4, 5) tb_code refuse_line(const config *c, unsigned line, tb_error *err, const char *fmt, ...)
{
    char why[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return tb_fail(err, TB_E_USAGE, NULL, "%.100s: line %u: %s", c->path, line, why);
}

static tb_code refuse_name(const config *c, const config_commands *known, unsigned line, const char *name, tb_error *err)
{
    word_list list = {.text = ""};
    char meant[TB_MEANT_MAX];
    each_option(known, add_word, &list);
    tb_meant(list.text, "", name, strlen(name), meant);
    return refuse_line(c, line, err, "No command has an option \"%.48s\".%s%s", name, meant,
                  *meant ? "" : " See: tollbook help config");
}

/* What a line has that no option's name has, as in files of other programs. */
static tb_code refuse_form(const config *c, unsigned line, const char *text, tb_error *err)
{
    if (*text == '[') return refuse_line(c, line, err, "There are no sections: each command takes the options that it has.");
    if (*text == '-') return refuse_line(c, line, err, "Write the option without its dashes: \"%.48s\".", text + strspn(text, "-"));
    return refuse_line(c, line, err, "\"%.48s\" is no option's name. Write: NAME VALUE", text);
}

static tb_code check_form(const config *c, unsigned line, const cli_option *option, const char *value, tb_error *err)
{
    const size_t len = strlen(value);
    if (option->kind == CLI_FLAG && *value)
        return refuse_line(c, line, err, "\"%s\" takes no value. Write it alone, or remove the line.", option->name);
    if (option->kind != CLI_FLAG && !*value)
        return refuse_line(c, line, err, "\"%s\" needs a value. Write: %s %s", option->name, option->name, option->value);
    if (len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value)
        return refuse_line(c, line, err, "Write the value without quotes: it is the rest of the line.");
    return TB_OK;
}

static tb_code check_again(const config *c, unsigned line, const cli_option *option, tb_error *err)
{
    for (size_t i = 0; !option->repeats && i < c->n; i++)
        if (c->rows[i].option == option)
            return refuse_line(c, line, err, "\"%s\" stands on line %u already. Keep one of them.", option->name, c->rows[i].line);
    if (c->n == CONFIG_ROWS_MAX) return refuse_line(c, line, err, "A file has at most %d options.", CONFIG_ROWS_MAX);
    return TB_OK;
}

/* text: a line without blanks around it. */
static tb_code parse_line(config *c, const config_commands *known, unsigned line, char *text, tb_error *err)
{
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    char *const value = text + len + strspn(text + len, BLANKS);
    const bool equals = *value == '=';
    tb_error why = {.code = TB_OK};
    int64_t number;
    if (!*text || *text == '#') return TB_OK;
    if (*text == '-' || len == 0 || !strchr(BLANKS "=", text[len])) return refuse_form(c, line, text, err);
    text[len] = 0;
    const cli_option *option = named_option(known, text);
    if (!option) return refuse_name(c, known, line, text, err);
    if (!config_takes(option))
        return refuse_line(c, line, err, "\"%s\" says what one call is to do: give it on the command line, as --%s.", text, text);
    if (equals)
        return refuse_line(c, line, err, "Write it without \"=\": %s%s%s", text, option->value ? " " : "",
                           option->value ? option->value : "");
    tb_code code = check_form(c, line, option, value, err);
    if (!code) code = check_again(c, line, option, err);
    if (code) return code;
    if (option->kind != CLI_FLAG && cli_check_value(option, value, &number, &why))
        return refuse_line(c, line, err, "%.280s", why.message + 2 * (strncmp(why.message, "--", 2) == 0));
    c->rows[c->n++] = (config_row){option, value, line};
    return TB_OK;
}

/* Bytes that no line of text has: they would end a value early, or do something to a terminal. */
static tb_code check_bytes(const config *c, unsigned line, const char *text, size_t len, tb_error *err)
{
    if (len > CONFIG_LINE_MAX) return refuse_line(c, line, err, "It is longer than %d bytes.", CONFIG_LINE_MAX);
    for (size_t i = 0; i < len; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return refuse_line(c, line, err, "Its byte %zu is a control character (0x%02x). Save the file as plain text in UTF-8.",
                          i + 1, byte);
    }
    return TB_OK;
}

/* Without the blanks around it. *end may be written. */
static char *trim(char *text, char *end)
{
    while (end > text && strchr(BLANKS, end[-1]))
        end--;
    *end = 0;
    return text + strspn(text, BLANKS);
}

/* The text ends with a byte that may be written. */
static tb_code parse_lines(config *c, const config_commands *known, tb_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of byte order: some editors begin a file with it */
    char *at = c->text.data, *const end = at + c->text.len - 1;
    tb_code code = TB_OK;
    if (end - at >= 3 && memcmp(at, mark, 3) == 0) at += 3;
    for (unsigned line = 1; !code && at < end; line++) {
        char *stop = memchr(at, '\n', (size_t)(end - at)), *const next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > at && stop[-1] == '\r') stop--;
        code = check_bytes(c, line, at, (size_t)(stop - at), err);
        if (!code) code = parse_line(c, known, line, trim(at, stop), err);
        at = next;
    }
    return code;
}

/* --- the file --- */

static tb_code unreadable(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOENT ? TB_E_USAGE : TB_E_READ_ONLY, NULL,
                   "The configuration file %.160s cannot be read: %s. Name another one with --config FILE, or none with"
                   " --config none.",
                   path, strerror(errno));
}

/* One byte more than the file has, for the end of its last line. */
static tb_code read_config(config *c, int fd, tb_error *err)
{
    char piece[4096];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 && !c->text.failed)
        tb_buf_add(&c->text, piece, (size_t)n);
    if (n < 0) return unreadable(c->path, err);
    if (c->text.len > CONFIG_MAX || (c->text.failed && c->text.len > CONFIG_MAX - sizeof piece))
        return tb_fail(err, TB_E_USAGE, NULL, "The configuration file %.160s is longer than %zu bytes.", c->path, CONFIG_MAX);
    tb_buf_add(&c->text, "", 1);
    return tb_buf_check(&c->text, err);
}

/* As of files with keys: its owner alone may read a file with secrets. */
static tb_code check_secrets(const config *c, int fd, tb_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || !(about.st_mode & 077)) return TB_OK;
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i].option->secret)
            return tb_fail(err, TB_E_READ_ONLY, NULL,
                           "%.100s: line %u: \"%s\" is a secret, and others may read this file. Name a file that holds it "
                           "with %s-file, or: chmod 600 %.100s", c->path, c->rows[i].line, c->rows[i].option->name,
                           c->rows[i].option->name, c->path);
    return TB_OK;
}

tb_code config_read(const char *path, const config_commands *known, config *ret_config, tb_error *err)
{
    *ret_config = (config){.path = path};
    tb_buf_init(&ret_config->text, CONFIG_MAX + 1, NULL);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return unreadable(path, err);
    tb_code code = read_config(ret_config, fd, err);
    if (!code) code = parse_lines(ret_config, known, err);
    if (!code) code = check_secrets(ret_config, fd, err);
    close(fd);
    return code;
}

void config_release(config *c)
{
    tb_buf_release(&c->text);
    c->n = 0;
}

/* --- into a call --- */

/* Whether the first n values of a call have the option. */
static bool given_before(const cli_call *call, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(call->values[i].option->name, name) == 0) return true;
    return false;
}

static bool has_row(const config *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->rows[i].option->name, name) == 0) return true;
    return false;
}

static bool in_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* Of a command that runs here or on a server: which of the two it is, where neither was given, and what belongs to it. */
typedef struct place {
    bool either; /* the command takes --db and --server */
    bool given;  /* by the command line or the environment */
    bool key;    /* so is the key */
    bool server; /* it is the server */
} place;

static place place_of(const config *c, const cli_call *call)
{
    const size_t n = call->n_values;
    place p = {.either = cli_option_of(call->command, "server") != NULL,
               .given = given_before(call, n, "db") || given_before(call, n, "server"),
               .key = given_before(call, n, "key") || given_before(call, n, "key-file") || in_environment("TOLLBOOK_KEY") ||
                      in_environment("TOLLBOOK_KEY_FILE")};
    p.server = given_before(call, n, "server") || (!p.given && has_row(c, "server") && !(call->command->db_first && has_row(c, "db")));
    return p;
}

static bool fits_place(const place *p, const cli_option *option)
{
    const char *name = option->name;
    if (!p->either) return true;
    if (strcmp(name, "db") == 0) return !p->given && !p->server;
    if (strcmp(name, "server") == 0) return !p->given && p->server;
    if (strcmp(name, "key") == 0 || strcmp(name, "key-file") == 0) return p->server && !p->key;
    return strcmp(name, "ca") == 0 ? p->server : !option->here || !p->server;
}

/* Whether the option belongs to another one that was given: that of the file is not meant for it. */
static bool belongs_to_given(const cli_call *call, size_t n, const char *name)
{
    static const char *const pairs[][2] = {{"map", "format"}, {"token-alg", "token-key"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0 && given_before(call, n, pairs[i][1])) return true;
    return false;
}

tb_code config_add(const config *c, cli_call *call, tb_error *err)
{
    const size_t n = call->n_values;
    const place p = place_of(c, call);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < c->n; i++) {
        const cli_option *option = cli_option_of(call->command, c->rows[i].option->name);
        if (!option || !config_takes(option) || given_before(call, n, option->name)) continue;
        if (belongs_to_given(call, n, option->name) || !fits_place(&p, option)) continue;
        code = cli_add_value(call, option, c->rows[i].text, err);
        if (!code) call->values[call->n_values - 1].line = c->rows[i].line;
    }
    return code;
}

static config in_use;

const config *config_in_use(void)
{
    return in_use.path ? &in_use : NULL;
}

/* A folder that this user may not enter counts as one without the file: it may be there for the secrets of a service. */
static bool is_there(const char *path)
{
    char folder[] = CONFIG_PATH;
    *strrchr(folder, '/') = 0;
    return access(folder, X_OK) == 0 && (access(path, F_OK) == 0 || errno != ENOENT);
}

tb_code config_use(cli_call *call, tb_error *err)
{
    const config_commands known = {cli_commands, cli_n_commands};
    const char *path = cli_text(call, "config"), *variable = getenv(CONFIG_VARIABLE);
    if (!path && variable && *variable) path = variable;
    if (path ? !*path || strcmp(path, "none") == 0 : !is_there(CONFIG_PATH)) return TB_OK;
    tb_code code = config_read(path ? path : CONFIG_PATH, &known, &in_use, err);
    return code ? code : config_add(&in_use, call, err);
}

/* --- help --- */

typedef struct helping {
    FILE *out;
    const config_commands *known;
} helping;

/* "serve, query, backup"; "" of more than a few, and of every command's. */
static void put_commands(const helping *h, const char *name, char *out, size_t size)
{
    size_t n = 0, used = 0;
    for (size_t i = 0; i < h->known->n; i++) {
        const cli_option *option = cli_option_of(&h->known->commands[i], name);
        if (!option || !config_takes(option)) continue;
        if (++n > LISTED) {
            *out = 0;
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", n > 1 ? ", " : "", h->known->commands[i].name);
    }
}

static void help_row(const cli_option *option, void *ctx)
{
    const helping *h = ctx;
    char commands[160] = "", note[176] = "";
    put_commands(h, option->name, commands, sizeof commands);
    if (*commands) snprintf(note, sizeof note, " (%s)", commands);
    cli_help_option(h->out, "", option, note);
}

void config_help(FILE *out, const config_commands *known)
{
    helping h = {out, known};
    fputs("The configuration file: " CONFIG_PATH ", where it exists.\n\n"
          "It has options, one a line, under their names on the command line without the dashes:\n\n"
          "  # a comment\n"
          "  db /var/lib/tollbook/tollbook.db\n"
          "  listen 127.0.0.1:8080\n"
          "  search-paged\n\n"
          "A value is the rest of its line, without quotes. A flag stands alone. Options that may repeat may do so here.\n"
          "Each command takes the options that it has. What the command line gives counts first, then the environment, then\n"
          "the file. Where the file has both db and server, commands that can run on a server take server; setup, verify\n"
          "and all others take db. A file with a key may be read by its owner alone; key-file names a file that holds it.\n"
          "--config FILE, or the variable " CONFIG_VARIABLE ", names another file; \"none\" names none.\n\n"
          "What it may have, with the commands that take it where these are few:\n", out);
    each_option(known, help_row, &h);
}
