/* Options: the command line as tables. A subcommand is a row with its operands and its options;
 * the same rows drive parsing, help and the suggestions for a mistyped name.
 *
 * Accepted forms: --name VALUE, --name=VALUE, --name for flags, in any order with the operands;
 * "--" ends the options, "-" alone is an operand (standard input). Each option at most once,
 * unless its row says it may repeat. Of the environment the variables that rows name are read, nothing else: no clock, and
 * of files whether there is one. config.h reads the configuration file. */
#ifndef TOLLBOOK_SERVER_CLI_OPTIONS_H
#define TOLLBOOK_SERVER_CLI_OPTIONS_H

#include <stdio.h>

#include "tollbook/error.h"

typedef enum cli_kind {
    CLI_FLAG,   /* takes no value */
    CLI_TEXT,   /* any text but the empty one */
    CLI_NUMBER, /* a whole number from min to max */
    CLI_CHOICE, /* one of the words in `value`, "skip|stop" */
} cli_kind;

typedef struct cli_option {
    const char *name;  /* without the dashes */
    const char *value; /* the value's name in help: "FILE"; CHOICE: the words */
    const char *help;  /* one sentence without its point */
    const char *variable; /* of the environment, which counts where no option that has one is given; NULL: none */
    cli_kind kind;
    bool required, repeats;
    bool secret; /* TEXT: the argument's bytes are blanked, so that the process list hides it */
    bool here;   /* beside an operation: not with --server */
    bool is_new; /* TEXT: a database that is made, so "-" is no name of it */
    bool per_call; /* says what one call is to do: not in the configuration file (config.h) */
    bool empty;  /* TEXT: "" is a value too */
    int64_t min, max; /* NUMBER */
    const char *list; /* NUMBER: the command that lists such numbers; NULL: none */
} cli_option;

struct cli_call;

/* The groups of commands, in the order of help. */
typedef enum cli_goal { CLI_SET_UP, CLI_SHIP, CLI_SEE, CLI_BILL, CLI_LEDGER, CLI_ASK, CLI_RUN, CLI_UNDO, CLI_GOALS_ } cli_goal;

typedef struct cli_group {
    const char *title;
    const char *note; /* a sentence below its commands; NULL: none */
} cli_group;

typedef struct cli_command {
    const char *name;     /* "ingest", or two words: "key create" */
    cli_goal group;
    const char *operands; /* "CATALOG.json", "" if there are none */
    const char *summary;  /* one sentence without its point */
    const char *details;  /* further paragraphs of the help, or "" */
    int min_operands, max_operands;
    const cli_option *options;
    size_t n_options;
    bool runs_on; /* until it is told to stop: its messages have their moments */
    int (*run)(const struct cli_call *call); /* returns the exit status; NULL: the operation's */
    const char *operation; /* of tollbook/operation.h; NULL: none */
    const char *fixed;     /* "kind=payment": an argument that the row itself gives; NULL: none */
    bool db_first;         /* of a configuration file with both it takes `db` and not `server` */
    bool once;             /* with --server: a busy server is not asked again, as that is an answer too */
    /* A row with an operation has in `options` only those of its own, beside the operation's: they
     * fill what the operation is given with its arguments (tb_ops), as --secret-file does. */
} cli_command;

#define CLI_SECRET_MAX 255 /* longest secret value, bytes; one in a call */
#define CLI_VALUES_MAX 96 /* options given in one call and by its configuration file; more is a usage error */

typedef struct cli_value {
    const cli_option *option;
    const char *text; /* "" for flags */
    int64_t number;
    bool variable; /* the environment gave it */
    unsigned line; /* of the configuration file that gave it; 0: none */
} cli_value;

typedef struct cli_call {
    const cli_command *command;
    cli_value values[CLI_VALUES_MAX];
    size_t n_values;
    char **operands; /* borrowed from argv, which parsing reorders */
    int n_operands;
    bool help; /* --help was among the options: nothing else was checked */
} cli_call;

/* The command that argv[0..argc) begins with, and how many words its name took. NULL if there is
 * none: then err (TB_E_USAGE) may suggest one. */
const cli_command *cli_find(const cli_command *commands, size_t n, int argc, char *const *argv,
                            int *ret_words, tb_error *err);
/* Adds to a call what neither its words nor the environment gave. */
typedef tb_code cli_more(cli_call *call, tb_error *err);
/* Reads the words after the command's name, then the environment, then what `more` adds (NULL: nothing). TB_E_USAGE names the
 * option and its kind of value. */
TB_MUST_USE tb_code cli_parse(const cli_command *command, int argc, char **argv, cli_more *more,
                              cli_call *ret_call, tb_error *err);
/* The option of this name that the command has, or every command; NULL: there is none. */
const cli_option *cli_option_of(const cli_command *command, const char *name);
/* TB_E_USAGE: the option (no flag) does not take this value. *ret_number: of a number, its value; else 0. */
TB_MUST_USE tb_code cli_check_value(const cli_option *option, const char *text, int64_t *ret_number, tb_error *err);
/* Adds a checked value to the call, which borrows the text. */
TB_MUST_USE tb_code cli_add_value(cli_call *call, const cli_option *option, const char *text, tb_error *err);

/* Options of every command. */
extern const cli_option cli_common[];
extern const size_t cli_n_common;

/* The given value. The name must be one of the command's options. */
bool cli_given(const cli_call *call, const char *name);
/* NULL where it was not given; the last one of a repeated option. */
const char *cli_text(const cli_call *call, const char *name);
int64_t cli_number(const cli_call *call, const char *name, int64_t otherwise);
/* Whether the option was given and equals `word`. */
bool cli_is(const cli_call *call, const char *name, const char *word);

/* Help of all commands in their groups, of those whose name starts with `prefix`, and of one. */
void cli_help_all(FILE *out, const cli_command *commands, size_t n, const char *prefix);
extern const cli_group cli_groups[CLI_GOALS_];
void cli_help(FILE *out, const cli_command *command);
/* The option's lines of help: its name behind dashes ("--", or "" of the configuration file), its sentence and a note. */
void cli_help_option(FILE *out, const char *dashes, const cli_option *option, const char *note);

#endif
