/* Hints: command lines to be pasted. A message that has one ends with it, after ": tollbook " or ": PROGRAM FILE |
 * tollbook ", and says what it asks for
 * but not where: the engine and a server do not know that. The place, --db or --server of the running call, is put in
 * here, for all messages, those of a server's log too. A command that is only named stands in backticks, without the word tollbook: `verify`. */
#ifndef TOLLBOOK_SERVER_CLI_HINT_H
#define TOLLBOOK_SERVER_CLI_HINT_H

#include "cli/options.h"
#include "tollbook/buf.h"

/* Appends the text of a message. Where it ends with a hint without a place, that of the call stands behind the command's
 * name ("--db FILE" where the command takes no --server); and "--zone ID", a value in capitals, is the call's own where
 * it has one; FILE is the operand that the message begins with. Behind a pipe the call's other options stand too.
 * commands: the table. */
void hint_put(const cli_call *call, const cli_command *commands, size_t n, const char *text, tb_buf *out);
/* Appends a space and the word as a shell reads it. */
void hint_word(const char *word, tb_buf *out);
/* The same of a file's name, which may begin with a dash. */
void hint_file(const char *name, tb_buf *out);
/* Appends the call's options that the command takes and that do not say where the database is. */
void hint_values(const cli_call *call, const cli_command *command, tb_buf *out);
/* Appends the option of the key, unless the environment has one. */
void hint_key(tb_buf *out);
bool hint_takes(const cli_command *command, const char *option);

#endif
