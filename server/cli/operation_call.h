/* A command that is an operation: what its reading (operation_words.c), its run here (operation_here.c) and on a server
 * (operation_there.c) share. Functions that return int return an exit status, after a message unless it is 0. */
#ifndef TOLLBOOK_CLI_OPERATION_CALL_H
#define TOLLBOOK_CLI_OPERATION_CALL_H

#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/meter.h"
#include "cli/spool.h"
#include "tollbook/operation.h"

#define OP_FILES_MAX 4096

typedef struct op_file {
    const char *name; /* as it was given */
    bool stored;      /* no such file exists: it is the name of a stored document */
    tb_buf text;
} op_file;

typedef struct op_call {
    const cli_call *call;
    tb_args args;
    op_file *files; /* documents, borrowed by args */
    size_t n_files;
    const char *subject; /* the operation's own document's name, for messages */
    const char *about;   /* the name of the one document that it is about, or NULL */
    meter progress;
    spool document; /* to be printed */
    folder out;     /* where files go, with --out; else they are printed too */
    bool counted;   /* the number of steps was printed */
    const tb_store *store; /* that it reads; NULL: none */
    size_t steps;   /* finished calls, if more follow */
    bool refused;   /* for want of the operation's consent flag */
} op_call;

/* --- words to arguments --- */

/* The command's words become o->args. */
int op_read_words(op_call *o);
int op_add(op_call *o, const tb_param *p, const char *text, size_t len);
const op_file *op_file_of(const op_call *o, const tb_arg *arg);
/* Says an error about an argument: behind "--amount: ", or behind the file's name. */
int op_fail_arg(const op_call *o, const tb_error *err);
int op_fail_file(const op_call *o, const tb_arg *about, const tb_error *err);

/* --- what comes of it --- */

void op_say_line(const op_call *o, const char *line, int len);
void op_say_lines(const op_call *o, const char *at, size_t len);
int op_open_folder(op_call *o);
/* ctx: the op_call (tb_files). */
bool op_is_wanted(void *ctx, const char *name, const char *mark);
tb_code op_put_file(void *ctx, const char *name, const char *data, size_t len, tb_error *err);
bool op_is_stopped(void);
int op_interrupted(const op_call *o);
/* Says, where status is not 0, that the steps that were committed stay. Returns status. */
int op_failed(const op_call *o, int status);
/* Prints the document. no: the answer is no. */
int op_end(op_call *o, int status, bool no);

/* --- where it runs --- */

int op_run_here(op_call *o);
int op_run_there(op_call *o);
int op_check_options_there(const cli_call *call);

#endif
