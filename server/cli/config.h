/* The configuration file: options, one a line, under the names that they have on the command line.
 *
 *     # where usage is, and where to answer
 *     db /var/lib/tollbook/tollbook.db
 *     listen 127.0.0.1:8080
 *     search-paged
 *
 * A value is the rest of its line without the blanks around it; nothing is quoted or escaped, so "#" begins a comment at the
 * start of a line alone. A command takes the options that it has. There are no sections: each name that may stand in the
 * file means the same for every command (tests/unit/test_config.c), since options that say what one call is to do
 * (cli_option.per_call) may not. A service with settings of its own has a file of its own, by --config.
 *
 * What the command line gives counts before what the environment gives, and that before the file. */
#ifndef TOLLBOOK_SERVER_CLI_CONFIG_H
#define TOLLBOOK_SERVER_CLI_CONFIG_H

#include <stdio.h>

#include "cli/options.h"
#include "tollbook/buf.h"

#define CONFIG_PATH     "/etc/tollbook/tollbook.conf"
#define CONFIG_VARIABLE "TOLLBOOK_CONFIG"
#define CONFIG_MAX      ((size_t)64 << 10) /* bytes of a file */
#define CONFIG_LINE_MAX 4096               /* bytes of a line */
#define CONFIG_ROWS_MAX 256                /* options of a file */

typedef struct config_row {
    const cli_option *option; /* of one of the commands that have it */
    const char *text;         /* "" of a flag */
    unsigned line;
} config_row;

typedef struct config {
    const char *path; /* borrowed; NULL: no file was read */
    tb_buf text;      /* the rows borrow from it */
    config_row rows[CONFIG_ROWS_MAX];
    size_t n;
} config;

/* The table of commands, whose options a file may have. */
typedef struct config_commands {
    const cli_command *commands;
    size_t n;
} config_commands;

/* Reads a file. *ret_config is to be released after an error too. TB_E_USAGE names file, line and remedy; TB_E_READ_ONLY: it
 * cannot be read, or it holds a secret and others can read it. */
TB_MUST_USE tb_code config_read(const char *path, const config_commands *known, config *ret_config, tb_error *err);
void config_release(config *c);
/* Adds to the call what its command takes of the file and neither the command line nor the environment has given. Of a file
 * with both `db` and `server`, a command that takes both takes `server`, but one with db_first takes `db`. */
TB_MUST_USE tb_code config_add(const config *c, cli_call *call, tb_error *err);

/* For cli_parse: the file of --config, else of TOLLBOOK_CONFIG, else CONFIG_PATH where that exists. Its values live as long as
 * the process. */
TB_MUST_USE tb_code config_use(cli_call *call, tb_error *err);
/* The file that config_use has read; NULL: none. */
const config *config_in_use(void);

/* Help: the form of the file, and every option that it may have. */
void config_help(FILE *out, const config_commands *known);
/* Whether the option may stand in the file. */
bool config_takes(const cli_option *option);

#endif
