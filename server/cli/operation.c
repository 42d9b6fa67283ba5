/* A command that is an operation: its options are the operation's parameters, and --db, or --server
 * with a key. Words become arguments; the operation runs here or is sent away; its reply is printed.
 * Nothing in this file knows any operation. What one prints in several steps is printed as a whole or
 * not at all. */
#include "tollbook/operation.h"

#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/meter.h"
#include "cli/secret.h"
#include "cli/spool.h"
#include "cli/take.h"
#include "tollbook/json.h"

#define ANSWER_NO 1 /* exit status */
#define FILES_MAX 4096

/* --- the rows of the table --- */

static const cli_option place_options[] = {
    {.name = "db", .value = "FILE", .kind = CLI_TEXT, .help = "the database"},
    {.name = "server", .value = "URL", .kind = CLI_TEXT,
     .help = "send the work to this running server instead of --db"},
    {.name = "key", .value = "KEY", .kind = CLI_TEXT, .secret = true,
     .help = "the API key for --server; default: the environment's TOLLBOOK_KEY"},
};
#define N_PLACE (sizeof place_options / sizeof *place_options)

static const cli_option progress_option = {.name = "progress", .kind = CLI_FLAG,
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
                        .required = p->required, .repeats = p->repeats, .secret = p->secret};
}

/* Operands as help shows them: "BOOK [BOOK]". */
static void add_operand(cli_command *command, const tb_param *p)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s%s%s%s", command->operands, *command->operands ? " " : "",
             p->required ? "" : "[", p->value, p->repeats ? "..." : "", p->required ? "" : "]");
    command->operands = strdup(text);
    command->min_operands += p->required;
    command->max_operands += p->repeats ? 1 << 16 : 1;
}

static void fill(cli_command *command, const tb_operation *op)
{
    cli_option *options = calloc(N_PLACE + op->n_params + 1, sizeof *options);
    if (!options) abort(); /* at the start, before anything is at stake */
    memcpy(options, place_options, sizeof place_options);
    size_t n = N_PLACE;
    command->operands = "";
    for (size_t i = 0; i < op->n_params; i++) {
        const tb_param *p = &op->params[i];
        if (p->operand) add_operand(command, p);
        else if (!is_fixed(command, p)) options[n++] = option_of(p);
    }
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
        if (name && !cli_commands[i].options)
            fill(&cli_commands[i], tb_operation_find(name, strlen(name)));
    }
}

/* --- words to arguments --- */

typedef struct op_call {
    const cli_call *call;
    tb_args args;
    tb_buf *files; /* documents, borrowed by args */
    size_t n_files;
    const char *subject; /* the last document's name, for messages */
    meter progress;
    spool document; /* what is printed */
    size_t steps;   /* calls that are done, where there is more to come */
} op_call;

/* "--amount: ", or the file's name, before what is wrong with an argument. */
static int fail_arg(const op_call *o, const tb_error *err)
{
    char subject[96];
    const tb_param *p = tb_param_find(o->args.operation, err->field, strlen(err->field));
    if (err->code != TB_E_VALIDATION || !err->field[0] || !p || err->line || err->byte)
        return cli_fail(o->call, o->subject, err);
    snprintf(subject, sizeof subject, "%s%s", p->operand ? "" : "--", p->operand ? p->value : p->name);
    return cli_fail(o->call, subject, err);
}

static int add(op_call *o, const tb_param *p, const char *text, size_t len)
{
    tb_error err;
    return tb_args_add(&o->args, p, text, len, &err) ? fail_arg(o, &err) : 0;
}

static int add_file(op_call *o, const tb_param *p, const char *path)
{
    tb_buf *file = &o->files[o->n_files];
    o->subject = path;
    int status = cli_read_file(o->call, path, (size_t)p->max, file);
    if (status) return status;
    o->n_files++;
    return add(o, p, file->data ? file->data : "", file->len);
}

/* A scenario's name goes as a JSON text, which no document is. */
static int add_name(op_call *o, const tb_param *p, const char *name)
{
    tb_buf *text = &o->files[o->n_files];
    tb_buf_init(text, 1 << 20, NULL);
    tb_json_string(text, name, strlen(name));
    o->n_files++;
    return add(o, p, text->data ? text->data : "", text->len);
}

static int add_word(op_call *o, const tb_param *p, const char *word)
{
    const bool document = p->kind == TB_PARAM_DOCUMENT || p->kind == TB_PARAM_SCENARIO;
    if (document && o->n_files == FILES_MAX) {
        cli_say(o->call, "More than %d files are given.", FILES_MAX);
        return tb_code_exit(TB_E_USAGE);
    }
    if (!document) return add(o, p, word, strlen(word));
    bool file = p->kind == TB_PARAM_DOCUMENT || strcmp(word, "-") == 0 || access(word, F_OK) == 0;
    return file ? add_file(o, p, word) : add_name(o, p, word);
}

static const tb_param *operand_of(const tb_operation *op, int number)
{
    const tb_param *last = NULL;
    for (size_t i = 0; i < op->n_params; i++) {
        if (!op->params[i].operand) continue;
        last = &op->params[i];
        if (number-- == 0 || last->repeats) return last;
    }
    return last;
}

static int add_fixed(op_call *o)
{
    const char *fixed = o->call->command->fixed;
    size_t len = fixed ? strcspn(fixed, "=") : 0;
    if (!fixed) return 0;
    return add(o, tb_param_find(o->args.operation, fixed, len), fixed + len + 1,
               strlen(fixed + len + 1));
}

static int read_words(op_call *o)
{
    const cli_call *call = o->call;
    tb_error err;
    int status = add_fixed(o);
    for (int i = 0; status == 0 && i < call->n_operands; i++)
        status = add_word(o, operand_of(o->args.operation, i), call->operands[i]);
    for (size_t i = 0; status == 0 && i < call->n_values; i++) {
        const char *name = call->values[i].option->name;
        const tb_param *p = tb_param_find(o->args.operation, name, strlen(name));
        if (p) status = add_word(o, p, call->values[i].text);
    }
    if (status == 0 && tb_args_end(&o->args, isatty(STDOUT_FILENO) == 1, &err))
        status = fail_arg(o, &err);
    return status;
}

/* --- the reply --- */

void cli_say_lines(const cli_call *call, const char *at, size_t len)
{
    for (const char *end = at + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        cli_say(call, "%.*s", (int)(stop - at), at);
        at = stop + 1;
    }
}

static int end(op_call *o, int status, bool no)
{
    if (status == 0) status = spool_print(&o->document, o->call);
    if (status == 0) status = cli_done(o->call);
    return status == 0 && no ? ANSWER_NO : status;
}

/* --- here --- */

static tb_code drain(void *ctx, tb_buf *out, tb_error *err)
{
    op_call *o = ctx;
    return spool_take(&o->document, out, err);
}

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    op_call *o = ctx;
    if (cli_given(o->call, "progress")) meter_share(&o->progress, done, total);
    return !atomic_load_explicit(&take_stop, memory_order_relaxed);
}

/* What is done stays done, but a part of a document is not printed. */
static int stopped(const op_call *o, int status)
{
    if (status && o->steps)
        cli_say(o->call, "Nothing is printed. What was done before stays done: run the same command "
                         "again to go on and to print all of it.");
    return status;
}

/* One call of the operation, and how to go on. */
static int run_once(op_call *o, tb_ops *ops, bool *ret_no)
{
    tb_error err;
    tb_reply reply;
    tb_reply_init(&reply);
    tb_code code = tb_operation_run(ops, &o->args, &reply, &err);
    meter_end(&o->progress);
    if (!code) cli_say_lines(o->call, reply.said.data, reply.said.len); /* else it is not so */
    if (!code) code = spool_take(&o->document, &reply.out, &err);
    if (!code) code = tb_args_next(&o->args, reply.next.data, reply.next.len, &err);
    *ret_no |= reply.no;
    tb_reply_release(&reply);
    if (tb_operation_writes(&o->args)) tb_store_checkpoint(ops->store, false);
    return code ? stopped(o, fail_arg(o, &err)) : 0;
}

static int interrupted(const op_call *o)
{
    cli_say(o->call, "Interrupted. Nothing is printed: run the same command again to go on.");
    return tb_code_exit(TB_E_IO);
}

static int run_steps(op_call *o, tb_ops *ops, bool *ret_no)
{
    int status;
    for (; (status = run_once(o, ops, ret_no)) == 0 && o->args.next; o->steps++)
        if (atomic_load_explicit(&take_stop, memory_order_relaxed)) return interrupted(o);
    return status;
}

static int run_here(op_call *o)
{
    bool no = false;
    tb_ops ops = {.step = step, .drain = drain, .ctx = o, .random = randombytes_buf};
    int status = cli_clock(o->call, &ops.now_us);
    if (status == 0)
        status = cli_open(o->call, tb_operation_writes(&o->args), ops.now_us, &ops.store);
    if (status) return status;
    take_catch_signals();
    meter_init(&o->progress, o->call->command->name);
    status = run_steps(o, &ops, &no);
    status = end(o, status, no);
    tb_store_close(ops.store);
    return status;
}

/* --- on a server --- */

static const tb_arg *document_of(const tb_args *args)
{
    for (size_t i = 0; i < args->n; i++)
        if (args->list[i].param->kind == TB_PARAM_DOCUMENT) return &args->list[i];
    return NULL;
}

static void put_value(const tb_arg *arg, tb_buf *out)
{
    switch (arg->param->kind) {
    case TB_PARAM_FLAG: tb_buf_str(out, "true"); break;
    case TB_PARAM_NUMBER:
    case TB_PARAM_SCENARIO: tb_buf_add(out, arg->text.data, arg->text.len); break;
    default: tb_json_string(out, arg->text.data, arg->text.len);
    }
}

static void put_member(const tb_args *args, const tb_param *p, tb_buf *out)
{
    char wire[64];
    const tb_arg *arg = tb_arg_nth(args, p->name, 0);
    if (!arg) return;
    tb_param_wire(p, wire);
    tb_buf_fmt(out, "%s\"%s\":%s", out->len > 1 ? "," : "", wire, p->repeats ? "[" : "");
    put_value(arg, out);
    for (size_t i = 1; p->repeats && (arg = tb_arg_nth(args, p->name, i)) != NULL; i++) {
        tb_buf_str(out, ",");
        put_value(arg, out);
    }
    if (p->repeats) tb_buf_str(out, "]");
}

static void put_body(const tb_args *args, tb_buf *out)
{
    out->len = 0;
    tb_buf_str(out, "{");
    for (size_t i = 0; i < args->operation->n_params; i++)
        put_member(args, &args->operation->params[i], out);
    if (args->next) {
        tb_buf_str(out, out->len > 1 ? ",\"next\":" : "\"next\":");
        tb_json_string(out, args->next, strlen(args->next));
    }
    tb_buf_str(out, "}");
}

/* /operations/NAME, and beside a document the other arguments as a query. */
static bool put_path(const tb_args *args, bool query, tb_buf *out)
{
    char wire[64], escaped[1024];
    out->len = 0;
    tb_buf_str(out, "/operations/");
    for (const char *at = args->operation->name; *at; at++)
        tb_buf_add(out, *at == ' ' ? "-" : at, 1);
    for (size_t i = 0, n = 0; query && i < args->n; i++) {
        const tb_arg *arg = &args->list[i];
        if (arg->param->kind == TB_PARAM_DOCUMENT) continue;
        tb_param_wire(arg->param, wire);
        if (!client_escape(arg->param->kind == TB_PARAM_FLAG ? "true" : arg->text.data, escaped,
                           sizeof escaped))
            return false;
        tb_buf_fmt(out, "%c%s=%s", n++ ? '&' : '?', wire, escaped);
    }
    tb_buf_add(out, "", 1);
    return !out->failed;
}

static int take_reply(op_call *o, const json_t *reply, bool *ret_no)
{
    tb_buf out;
    const json_t *text = json_object_get(reply, "out");
    const json_t *next = json_object_get(reply, "next");
    tb_error err;
    if (!json_is_string(text) || !json_is_string(next)) {
        cli_say(o->call, "The answer is not tollbook's. Check the URL.");
        return tb_code_exit(TB_E_BAD_INPUT);
    }
    tb_buf_init(&out, SIZE_MAX / 2, NULL);
    tb_buf_add(&out, json_string_value(text), json_string_length(text));
    client_say_lines(o->call, reply);
    *ret_no |= json_is_true(json_object_get(reply, "no"));
    tb_code code = out.failed ? tb_fail(&err, TB_E_NOMEM, NULL, NULL)
                              : spool_take(&o->document, &out, &err);
    if (!code) code = tb_args_next(&o->args, json_string_value(next), json_string_length(next), &err);
    int status = code ? cli_fail(o->call, NULL, &err) : 0;
    tb_buf_release(&out);
    return status;
}

static int send_once(op_call *o, client *c, tb_buf *path, tb_buf *body, bool *ret_no)
{
    const tb_arg *document = document_of(&o->args);
    client_request request = {.method = "POST", .type = "application/json", .subject = o->subject};
    if (!document) put_body(&o->args, body);
    if (!put_path(&o->args, document, path) || body->failed) {
        cli_say(o->call, "The arguments are too long to be sent.");
        return tb_code_exit(TB_E_USAGE);
    }
    request.path = path->data;
    request.body = document ? document->text.data : body->data;
    request.len = document ? document->text.len : body->len;
    int status = client_send(c, &request);
    json_t *reply = status == 0 ? client_json(c) : NULL;
    if (status == 0) status = reply ? take_reply(o, reply, ret_no) : tb_code_exit(TB_E_BAD_INPUT);
    json_decref(reply);
    return status;
}

static int run_there(op_call *o)
{
    client c;
    tb_buf path, body;
    bool no = false;
    int status = client_open(&c, o->call);
    tb_buf_init(&path, 64 << 10, NULL);
    tb_buf_init(&body, (size_t)256 << 20, NULL);
    take_catch_signals();
    if (status == 0) status = send_once(o, &c, &path, &body, &no);
    for (o->steps = 1; status == 0 && o->args.next; o->steps++)
        status = atomic_load_explicit(&take_stop, memory_order_relaxed)
                     ? interrupted(o)
                     : stopped(o, send_once(o, &c, &path, &body, &no));
    tb_buf_release(&path);
    tb_buf_release(&body);
    client_close(&c);
    return end(o, status, no);
}

static int run_operation(const cli_call *call)
{
    const char *name = call->command->operation;
    op_call o = {.call = call};
    int status = cli_check_place(call);
    if (status) return status;
    tb_args_init(&o.args, tb_operation_find(name, strlen(name)));
    spool_init(&o.document);
    o.files = calloc(FILES_MAX, sizeof *o.files);
    status = o.files ? read_words(&o) : tb_code_exit(TB_E_NOMEM);
    if (status == 0) status = cli_given(call, "server") ? run_there(&o) : run_here(&o);
    for (size_t i = 0; i < o.n_files; i++)
        tb_buf_release(&o.files[i]);
    free(o.files);
    spool_release(&o.document);
    tb_args_release(&o.args);
    return status;
}

int cli_run(const cli_call *call)
{
    return call->command->run ? call->command->run(call) : run_operation(call);
}
