/* A command that is an operation: its options are the operation's parameters, and --db, or --server
 * with a key. Words become arguments; the operation runs here or is sent away; its reply is printed (operation_call.h).
 * Nothing in this file knows any operation. What one prints in several steps is printed as a whole or
 * not at all. */
#include "cli/operation_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/take.h"

#define ANSWER_NO 1 /* exit status */

/* --- the rows of the table --- */

static const cli_option place_options[] = {CLI_DB_OR_SERVER};
#define N_PLACE (sizeof place_options / sizeof *place_options)

static const cli_option progress_option = {.name = "progress", .kind = CLI_FLAG, .per_call = true,
                                           .help = "show how far it is on standard error"};

static bool is_fixed(const cli_command *command, const tb_param *p)
{
    size_t len = strlen(p->name);
    return command->fixed && strncmp(command->fixed, p->name, len) == 0 &&
           command->fixed[len] == '=';
}

static cli_option option_of(const tb_param *p)
{
    return (cli_option){.name = p->name, .value = p->value, .help = p->help,
                        .kind = p->kind == TB_PARAM_FLAG     ? CLI_FLAG
                                : p->kind == TB_PARAM_CHOICE ? CLI_CHOICE
                                                             : CLI_TEXT,
                        .required = p->required, .repeats = p->repeats, .secret = p->secret, .per_call = true};
}

/* Operands as help shows them: "BOOK [BOOK]". */
static void add_operand(cli_command *command, const tb_param *p, tb_buf *text)
{
    tb_buf_fmt(text, "%s%s%s%s%s", text->len ? " " : "", p->required ? "" : "[", p->value,
               p->repeats ? "..." : "", p->required ? "" : "]");
    command->operands = text->data;
    command->min_operands += p->required;
    command->max_operands += p->repeats ? 1 << 16 : 1;
}

static void fill(cli_command *command, const tb_operation *op)
{
    const size_t n_own = command->n_options;
    cli_option *options = calloc(N_PLACE + op->n_params + n_own + 1, sizeof *options);
    if (!options) abort(); /* at the start, before anything is at stake */
    memcpy(options, place_options, sizeof place_options);
    size_t n = N_PLACE;
    tb_buf operands; /* kept until the end, as the options are */
    tb_buf_init(&operands, 256, NULL);
    command->operands = "";
    for (size_t i = 0; i < op->n_params; i++) {
        const tb_param *p = &op->params[i];
        if (p->operand) add_operand(command, p, &operands);
        else if (!is_fixed(command, p)) options[n++] = option_of(p);
    }
    for (size_t i = 0; i < n_own; i++)
        options[n++] = command->options[i];
    if (op->slow) options[n++] = progress_option;
    command->options = options;
    command->n_options = n;
    if (!command->summary) command->summary = op->summary;
    if (!command->details) command->details = command->fixed ? "" : op->details;
}

void cli_commands_fill(void)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i].operation;
        if (name) fill(&cli_commands[i], tb_operation_find(name, strlen(name)));
    }
}

/* --- the reply --- */

void op_say_line(const op_call *o, const char *line, int len)
{
    cli_note(o->call, "%s%s%.*s", o->about ? o->about : "", o->about ? ": " : "", len, line);
}

void op_say_lines(const op_call *o, const char *at, size_t len)
{
    for (const char *end = at + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        op_say_line(o, at, (int)(stop - at));
        at = stop + 1;
    }
}

int op_end(op_call *o, int status, bool no)
{
    if (status) return status;
    if (tb_arg_is(&o->args, "format", "table") && isatty(STDOUT_FILENO) == 1) spool_align(&o->document);
    const char *file = tb_param_find(o->args.operation, "out", 3) ? NULL : cli_text(o->call, "out");
    status = file ? spool_save(&o->document, o->call, file) : spool_print(&o->document, o->call);
    if (status && o->args.operation->unprinted) cli_say(o->call, "%s", o->args.operation->unprinted);
    return status == 0 && no ? ANSWER_NO : status;
}

bool op_is_stopped(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

int op_interrupted(const op_call *o)
{
    cli_say(o->call, "Interrupted. Nothing is printed: run the same command again to go on.");
    return tb_code_exit(TB_E_IO);
}

/* Steps that are committed stay, but a part of a document is not printed. */
int op_failed(const op_call *o, int status)
{
    if (status && o->steps)
        cli_say(o->call, "Nothing is printed. What was done before stays done: run the same command "
                         "again to go on and to print all of it.");
    return status;
}

/* --- files that it makes --- */

bool op_is_wanted(void *ctx, const char *name, const char *mark)
{
    const op_call *o = ctx;
    return o->out.fd < 0 || !folder_has(&o->out, name, mark);
}

tb_code op_put_file(void *ctx, const char *name, const char *data, size_t len, tb_error *err)
{
    op_call *o = ctx;
    tb_buf bytes;
    if (o->out.fd >= 0) return folder_put(&o->out, name, data, len, err);
    tb_buf_init(&bytes, SIZE_MAX / 2, NULL);
    tb_buf_add(&bytes, data, len);
    tb_code code = tb_buf_check(&bytes, err);
    if (!code) code = spool_take(&o->document, &bytes, err);
    tb_buf_release(&bytes);
    return code;
}

static bool is_file_ending(const char *ending)
{
    static const char *const known[] = {"html", "pdf", "json", "csv", "xml", "txt"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(ending, known[i]) == 0) return true;
    return false;
}

int op_open_folder(op_call *o)
{
    tb_error err;
    const char *path = tb_arg_text(&o->args, "out"), *ending = path ? strrchr(path, '.') : NULL;
    if (ending && access(path, F_OK) != 0 && is_file_ending(ending + 1)) {
        cli_say(o->call, "--out: \"%.200s\" looks like a file, but --out takes a folder, for a file of each invoice. Give a folder,"
                " or write one invoice with: tollbook %s ... > %.200s", path, o->call->command->name, path);
        return tb_code_exit(TB_E_USAGE);
    }
    if (!path || folder_open(&o->out, path, &err) == TB_OK) return 0;
    return cli_fail(o->call, NULL, &err);
}

static int close_folder(op_call *o)
{
    tb_error err;
    return folder_close(&o->out, &err) ? cli_fail(o->call, NULL, &err) : 0;
}

/* --- consent --- */

/* Asks at the terminal whether to do what was refused; if yes, sets the flag. */
static bool gives_consent(op_call *o)
{
    char line[16] = "";
    const char *flag = o->args.operation->consent;
    if (!o->refused || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
    fprintf(stderr, "tollbook %s: Do it all the same, as with --%s? [y/N] ", o->call->command->name, flag);
    fflush(stderr);
    if (!fgets(line, sizeof line, stdin) || (strcmp(line, "y\n") != 0 && strcmp(line, "yes\n") != 0)) return false;
    o->refused = false;
    return op_add(o, tb_param_find(o->args.operation, flag, strlen(flag)), "", 0) == 0;
}

/* Bytes that are no text would leave a terminal unusable. */
static int check_terminal(const op_call *o)
{
    const bool takes_out = tb_param_find(o->args.operation, "out", 3) != NULL;
    if (isatty(STDOUT_FILENO) != 1 || !tb_arg_is(&o->args, "format", "pdf") || tb_arg_given(&o->args, "out")) return 0;
    cli_say(o->call, "A PDF is not printed on a terminal. Write it to a file: add > FILE.pdf%s",
            takes_out ? ", or --out DIR for a file of each invoice." : ".");
    return tb_code_exit(TB_E_USAGE);
}

static int run_anywhere(op_call *o)
{
    return cli_given(o->call, "server") ? op_run_there(o) : op_run_here(o);
}

int cli_operation(const cli_call *call)
{
    const char *name = call->command->operation;
    const tb_operation *operation = tb_operation_find(name, strlen(name));
    op_call o = {.call = call, .out.fd = -1};
    const bool placed = cli_given(call, "db") || cli_given(call, "server") || cli_given(call, "key");
    int status = placed || !operation->storeless ? cli_check_place(call) : 0;
    if (status == 0 && cli_given(call, "server")) status = op_check_options_there(call);
    if (status) return status;
    tb_args_init(&o.args, operation);
    spool_init(&o.document);
    o.files = calloc(OP_FILES_MAX, sizeof *o.files);
    status = o.files ? op_read_words(&o) : tb_code_exit(TB_E_NOMEM);
    if (status == 0) status = check_terminal(&o);
    if (status == 0) status = run_anywhere(&o);
    if (status == ANSWER_NO && gives_consent(&o)) status = run_anywhere(&o);
    if (status == 0) status = close_folder(&o);
    else (void)!close_folder(&o);
    for (size_t i = 0; i < o.n_files; i++)
        tb_buf_release(&o.files[i].text);
    free(o.files);
    spool_release(&o.document);
    tb_args_release(&o.args);
    return status;
}

int cli_run(const cli_call *call)
{
    return call->command->run ? call->command->run(call) : cli_operation(call);
}
