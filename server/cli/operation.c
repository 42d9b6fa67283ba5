/* A command that is an operation: its options are the operation's parameters, and --db, or --server
 * with a key. Words become arguments; the operation runs here or is sent away; its reply is printed.
 * Nothing in this file knows any operation. What one prints in several steps is printed as a whole or
 * not at all. */
#include "tollbook/operation.h"

#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/machine.h"
#include "cli/client.h"
#include "cli/folder.h"
#include "cli/meter.h"
#include "cli/names.h"
#include "cli/proof.h"
#include "cli/secret.h"
#include "cli/spool.h"
#include "cli/take.h"
#include "tollbook/json.h"

#define ANSWER_NO 1 /* exit status */
#define FILES_MAX 4096

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

/* --- words to arguments --- */

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

static const op_file *file_of(const op_call *o, const tb_arg *arg)
{
    size_t i = 0;
    while (i + 1 < o->n_files && o->files[i].text.data != arg->text.data)
        i++;
    return &o->files[i];
}

static int fail_file(const op_call *o, const tb_arg *about, const tb_error *err)
{
    const op_file *file = file_of(o, about);
    if (!file->stored || err->code != TB_E_NOT_FOUND) return cli_fail(o->call, file->name, err);
    cli_say(o->call, "%s: There is no such file. %s", file->name, err->message);
    return tb_code_exit(err->code);
}

/* "--amount: ", or the file's name, before the error about an argument. */
static int fail_arg(const op_call *o, const tb_error *err)
{
    char subject[96];
    const tb_param *p = tb_param_find(o->args.operation, err->field, strlen(err->field));
    const bool bad = err->code == TB_E_VALIDATION || err->code == TB_E_DATE_RANGE;
    const char *given = p && err->code == TB_E_NOT_FOUND && !p->operand ? tb_arg_text(&o->args, p->name) : NULL;
    if (given && !strstr(err->message, given)) { /* a server's answer names no id that it has not */
        snprintf(subject, sizeof subject, "--%s %.60s", p->name, given);
        return cli_fail(o->call, subject, err);
    }
    if (!bad || !err->field[0] || !p || err->line || err->byte) return cli_fail(o->call, o->subject, err);
    snprintf(subject, sizeof subject, "%s%s", p->operand ? "" : "--",
             p->operand ? p->value : p->name);
    return cli_fail(o->call, subject, err);
}

static int add(op_call *o, const tb_param *p, const char *text, size_t len)
{
    tb_error err;
    return tb_args_add(&o->args, p, text, len, &err) ? fail_arg(o, &err) : 0;
}

static int add_file(op_call *o, const tb_param *p, const char *path)
{
    op_file *file = &o->files[o->n_files];
    *file = (op_file){.name = path};
    if (p->kind == TB_PARAM_DOCUMENT) o->subject = path;
    if (p->operand && !p->repeats) o->about = path;
    int status = cli_read_file(o->call, path, (size_t)p->max, &file->text);
    if (status) return status;
    o->n_files++;
    return add(o, p, file->text.data ? file->text.data : "", file->text.len);
}

/* A name goes as a JSON text, which no document is. */
static int add_name(op_call *o, const tb_param *p, const char *name)
{
    op_file *file = &o->files[o->n_files];
    *file = (op_file){.name = name, .stored = true};
    tb_buf_init(&file->text, 1 << 20, NULL);
    tb_json_string(&file->text, name, strlen(name));
    o->n_files++;
    return add(o, p, file->text.data ? file->text.data : "", file->text.len);
}

static bool is_digits(const char *word)
{
    return *word && !word[(*word == '-') + strspn(word + (*word == '-'), "0123456789")];
}

/* An account may be named too. */
static int add_account(op_call *o, const tb_param *p, const char *name)
{
    char number[24];
    int64_t account = 0;
    int status = names_account(o->call, name, &account);
    snprintf(number, sizeof number, "%lld", (long long)account);
    return status ? status : add(o, p, number, strlen(number));
}

/* A text that a file has. */
static int add_content(op_call *o, const tb_param *p, const char *path)
{
    tb_buf content;
    int status = cli_read_file(o->call, path, (size_t)p->max, &content);
    if (status) return status;
    status = add(o, p, content.data ? content.data : "", content.len);
    tb_buf_release(&content);
    return status;
}

static int add_word(op_call *o, const tb_param *p, const char *word)
{
    if (p->file && access(word, F_OK) == 0) return add_content(o, p, word);
    if (p->kind == TB_PARAM_NUMBER && strcmp(p->name, "account") == 0 && !is_digits(word)) return add_account(o, p, word);
    const bool document = p->kind == TB_PARAM_DOCUMENT || p->kind == TB_PARAM_NAMED;
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

static void say_line(const op_call *o, const char *line, int len)
{
    cli_note(o->call, "%s%s%.*s", o->about ? o->about : "", o->about ? ": " : "", len, line);
}

static void say_lines(const op_call *o, const char *at, size_t len)
{
    for (const char *end = at + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        say_line(o, at, (int)(stop - at));
        at = stop + 1;
    }
}

static int end(op_call *o, int status, bool no)
{
    if (status) return status;
    if (tb_arg_is(&o->args, "format", "table") && isatty(STDOUT_FILENO) == 1) spool_align(&o->document);
    const char *file = tb_param_find(o->args.operation, "out", 3) ? NULL : cli_text(o->call, "out");
    status = file ? spool_save(&o->document, o->call, file) : spool_print(&o->document, o->call);
    if (status && o->args.operation->unprinted) cli_say(o->call, "%s", o->args.operation->unprinted);
    return status == 0 && no ? ANSWER_NO : status;
}

/* --- here --- */

static bool is_stopped(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    op_call *o = ctx;
    const bool shown = o->progress.terminal || cli_given(o->call, "progress");
    o->counted |= total > 0;
    if (shown && total) meter_share(&o->progress, done, total);
    else if (shown && !o->counted && o->args.operation->slow && o->store)
        meter_check(&o->progress, tb_store_pages_read(o->store) + 1);
    return !is_stopped();
}

static tb_code drain(void *ctx, tb_buf *out, tb_error *err)
{
    op_call *o = ctx;
    return spool_take(&o->document, out, err);
}

/* --- files that it makes --- */

static bool is_wanted(void *ctx, const char *name, const char *mark)
{
    const op_call *o = ctx;
    return o->out.fd < 0 || !folder_has(&o->out, name, mark);
}

static tb_code put_file(void *ctx, const char *name, const char *data, size_t len, tb_error *err)
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

static int open_folder(op_call *o)
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

static int open_store(const op_call *o, tb_ops *ops)
{
    const bool write = tb_operation_writes(&o->args) && !o->args.operation->unwritten;
    if (!cli_given(o->call, "db")) return 0;
    return cli_open(o->call, write, ops->now_us, &ops->store);
}

/* An optional write: the operation has read like any reader, also while a server runs. Its result is stored if no other
 * process is writing. */
static void write_beside(op_call *o, tb_ops *ops, tb_reply *reply)
{
    tb_error err;
    tb_ops writing = *ops;
    tb_store_options options = {.write = true, .owner = o->call->command->name,
                                .now_us = ops->now_us, .clock = cli_now_us};
    tb_code code = tb_store_open(cli_text(o->call, "db"), &options, &writing.store, &err);
    if (!code) {
        code = tb_operation_write_alone(&writing, &o->args, reply, &err);
        tb_store_close(writing.store);
    }
    if (code) tb_reply_say(reply, "%s: %s", o->args.operation->unwritten, err.message);
}

static tb_code run_parts(op_call *o, tb_ops *ops, tb_reply *reply, tb_error *err)
{
    if (!o->args.operation->unwritten) return tb_operation_run(ops, &o->args, reply, err);
    tb_code code = tb_operation_read(ops, &o->args, reply, err);
    if (!code && ops->store && tb_operation_goes_on(&o->args, reply) && !is_stopped())
        write_beside(o, ops, reply);
    return code;
}

/* Steps that are committed stay, but a part of a document is not printed. */
static int failed(const op_call *o, int status)
{
    if (status && o->steps)
        cli_say(o->call, "Nothing is printed. What was done before stays done: run the same command "
                         "again to go on and to print all of it.");
    return status;
}

/* Drops the output of an operation that failed. */
static tb_code take_parts(op_call *o, tb_reply *reply, tb_error *err)
{
    say_lines(o, reply->said.data, reply->said.len);
    tb_code code = spool_take(&o->document, &reply->out, err);
    return code ? code : tb_args_next(&o->args, reply->next.data, reply->next.len, err);
}

static int interrupted(const op_call *o)
{
    cli_say(o->call, "Interrupted. Nothing is printed: run the same command again to go on.");
    return tb_code_exit(TB_E_IO);
}

/* One call of the operation, and how to go on. */
static int run_once(op_call *o, tb_ops *ops, bool *ret_no)
{
    tb_error err;
    tb_reply reply;
    int status = 0;
    tb_reply_init(&reply);
    tb_code code = run_parts(o, ops, &reply, &err);
    meter_end(&o->progress);
    if (!code) code = take_parts(o, &reply, &err);
    if (code == TB_E_STOPPED) status = interrupted(o);
    else if (code) status = reply.about ? fail_file(o, reply.about, &err) : fail_arg(o, &err);
    *ret_no |= reply.no;
    o->refused = !code && reply.refused.code;
    tb_reply_release(&reply);
    if (tb_operation_writes(&o->args) && !o->args.operation->unwritten)
        tb_store_checkpoint(ops->store, false);
    return code == TB_E_STOPPED ? status : failed(o, status);
}

static int run_steps(op_call *o, tb_ops *ops, bool *ret_no)
{
    int status;
    for (; (status = run_once(o, ops, ret_no)) == 0 && o->args.next; o->steps++)
        if (is_stopped()) return interrupted(o);
    return status;
}

static int run_open(op_call *o, tb_ops *ops)
{
    bool no = false;
    int status = open_store(o, ops);
    if (status == 0 && (status = open_folder(o)) != 0) tb_store_close(ops->store);
    if (status) return status;
    take_catch_signals();
    o->store = ops->store;
    meter_init(&o->progress, o->call->command->name);
    status = run_steps(o, ops, &no);
    status = end(o, status, no);
    tb_store_close(ops->store);
    return status;
}

#define USER_ROOM 64

/* The user who runs the command: "user eva", or the number if the system has no plain name for it. */
static const char *find_user(char out[USER_ROOM])
{
    struct passwd entry, *found = NULL;
    char room[4096];
    snprintf(out, USER_ROOM, "user %u", (unsigned)getuid());
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) || !found) return out;
    const size_t plain = strspn(entry.pw_name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@+-");
    if (plain && !entry.pw_name[plain]) snprintf(out, USER_ROOM, "user %.32s", entry.pw_name);
    return out;
}

static void read_machine(void *ctx, tb_machine *ret_machine)
{
    const op_call *o = ctx;
    machine_look(cli_text(o->call, "db"), ret_machine);
}

/* The row's own options set values of the operation that are not arguments. */
static int run_here(op_call *o)
{
    char user[USER_ROOM];
    cli_secret secret = {.there = false};
    cli_proof_key proof = {.there = false};
    const tb_files files = {is_wanted, put_file, o};
    tb_ops ops = {.from = find_user(user), .step = step, .drain = drain, .machine = read_machine, .ctx = o, .files = &files};
    int status = cli_clock(o->call, &ops.now_us);
    if (sodium_init() >= 0) ops.random = randombytes_buf;
    if (status == 0) status = cli_read_secret(o->call, &secret);
    if (secret.there) ops.key_secret = secret.bytes;
    if (status == 0) status = cli_read_proof_key(o->call, &proof);
    if (proof.there) ops.proof_key = &proof.secret;
    if (status == 0) status = cli_public_url(o->call, &ops.public_url);
    if (status == 0) status = run_open(o, &ops);
    sodium_memzero(&secret, sizeof secret);
    sodium_memzero(&proof, sizeof proof);
    return status;
}

/* --- on a server --- */

static const tb_arg *document_of(const tb_args *args)
{
    for (size_t i = 0; i < args->n; i++)
        if (args->list[i].param->kind == TB_PARAM_DOCUMENT) return &args->list[i];
    return NULL;
}

/* Whether the body is a document, or nothing where none is given: all else is a query then. */
static bool takes_document(const tb_operation *operation)
{
    for (size_t i = 0; i < operation->n_params; i++)
        if (operation->params[i].kind == TB_PARAM_DOCUMENT) return true;
    return false;
}

static void put_value(const tb_arg *arg, tb_buf *out)
{
    switch (arg->param->kind) {
    case TB_PARAM_FLAG: tb_buf_str(out, "true"); break;
    case TB_PARAM_FOLDER: tb_buf_str(out, "\".\""); break; /* it is here, not there */
    case TB_PARAM_NUMBER:
    case TB_PARAM_NAMED: tb_buf_add(out, arg->text.data, arg->text.len); break;
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

/* A server may name the files of its documents, "2026-000123.pdf", and no other files of the folder. */
static bool is_made_name(const char *name)
{
    const size_t year = strspn(name, "0123456789"), dash = year + (name[year] == '-');
    const size_t number = strspn(name + dash, "0123456789"), point = dash + number;
    const size_t end = strspn(name + point + (name[point] == '.'), "abcdefghijklmnopqrstuvwxyz");
    return year == 4 && dash == 5 && number && name[point] == '.' && end && !name[point + 1 + end];
}

static tb_code take_file(op_call *o, const json_t *file, tb_error *err)
{
    const json_t *name = json_object_get(file, "name"), *text = json_object_get(file, "base64");
    const char *mark = json_string_value(json_object_get(file, "mark"));
    const size_t size = json_string_length(text) / 4 * 3 + 1;
    unsigned char *bytes = malloc(size);
    size_t len = 0;
    tb_code code = TB_OK;
    if (!bytes) return tb_no_memory(err);
    if (!json_is_string(name) || !json_is_string(text) ||
        (o->out.fd >= 0 && !is_made_name(json_string_value(name))) ||
        !tb_base64_read((tb_text){json_string_value(text), json_string_length(text)}, TB_BASE64, bytes, size, &len))
        code = tb_fail(err, TB_E_BAD_INPUT, NULL, "The answer is not tollbook's. Check the URL.");
    if (!code && !(cli_given(o->call, "resume") && !is_wanted(o, json_string_value(name), mark ? mark : "")))
        code = put_file(o, json_string_value(name), (const char *)bytes, len, err);
    free(bytes);
    return code;
}

static int take_reply(op_call *o, const json_t *reply, bool *ret_no)
{
    tb_buf out;
    size_t i;
    json_t *line;
    const json_t *text = json_object_get(reply, "out");
    const json_t *next = json_object_get(reply, "next");
    tb_error err;
    if (!json_is_string(text) || !json_is_string(next)) {
        cli_say(o->call, "The answer is not tollbook's. Check the URL.");
        return tb_code_exit(TB_E_BAD_INPUT);
    }
    tb_buf_init(&out, SIZE_MAX / 2, NULL);
    tb_buf_add(&out, json_string_value(text), json_string_length(text));
    json_array_foreach(json_object_get(reply, "said"), i, line)
    {
        if (json_is_string(line)) say_line(o, json_string_value(line), (int)json_string_length(line));
    }
    *ret_no |= json_is_true(json_object_get(reply, "no"));
    tb_code code = out.failed ? tb_no_memory(&err)
                              : spool_take(&o->document, &out, &err);
    json_array_foreach(json_object_get(reply, "files"), i, line)
    {
        if (!code) code = take_file(o, line, &err);
    }
    if (!code) code = tb_args_next(&o->args, json_string_value(next), json_string_length(next), &err);
    int status = code ? cli_fail(o->call, NULL, &err) : 0;
    tb_buf_release(&out);
    return status;
}

static int send_once(op_call *o, client *c, tb_buf *path, tb_buf *body, bool *ret_no)
{
    const tb_arg *document = document_of(&o->args);
    client_request request = {.method = "POST", .type = "application/json", .subject = o->subject,
                              .answered = &o->refused, .repeats = !tb_operation_writes(&o->args)};
    const bool apart = takes_document(o->args.operation);
    if (!apart) put_body(&o->args, body);
    if (!put_path(&o->args, apart, path) || body->failed) {
        cli_say(o->call, "The arguments are too long to be sent.");
        return tb_code_exit(TB_E_USAGE);
    }
    request.path = path->data;
    request.body = document ? document->text.data : body->len ? body->data : "";
    request.len = document ? document->text.len : body->len;
    int status = client_send(c, &request);
    if (o->refused) status = 0;
    json_t *reply = status == 0 ? client_json(c) : NULL;
    if (status == 0) status = reply ? take_reply(o, reply, ret_no) : tb_code_exit(TB_E_BAD_INPUT);
    json_decref(reply);
    return status;
}

static int check_options_there(const cli_call *call)
{
    for (size_t i = 0; i < call->n_values; i++) {
        if (!call->values[i].option->here) continue;
        cli_say(call, "--%s goes with --db alone: a server has its own.",
                call->values[i].option->name);
        return tb_code_exit(TB_E_USAGE);
    }
    return 0;
}

/* A document that is put into the body unchanged must be JSON. */
static int check_sent(const op_call *o)
{
    for (size_t i = 0; i < o->args.n; i++) {
        const tb_arg *arg = &o->args.list[i];
        json_error_t where;
        if (arg->param->kind != TB_PARAM_NAMED) continue;
        json_t *value = json_loadb(arg->text.data, arg->text.len, JSON_DECODE_ANY, &where);
        json_decref(value);
        if (value) continue;
        cli_say(o->call, "%s: line %d: It is not JSON: %s.", file_of(o, arg)->name, where.line,
                where.text);
        return tb_code_exit(TB_E_BAD_INPUT);
    }
    return 0;
}

static const json_t *named(const json_t *list, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *has = json_string_value(json_object_get(one, "name"));
        if (has && strcmp(has, name) == 0) return one;
    }
    return NULL;
}

/* With a document, flags are sent in the query. A server ignores unknown ones there: an older one would really do what
 * --dry-run only tries. */
static int check_flags_known(const op_call *o, client *c)
{
    bool any = false;
    int status = 0;
    for (size_t i = 0; i < o->args.n; i++)
        any |= o->args.list[i].param->kind == TB_PARAM_FLAG;
    if (!any || !document_of(&o->args)) return 0;
    status = client_send(c, &(client_request){.method = "GET", .path = "/operations"});
    json_t *answer = status == 0 ? client_json(c) : NULL;
    const json_t *there = named(json_object_get(answer, "operations"), o->args.operation->name);
    if (status == 0 && !answer) status = tb_code_exit(TB_E_BAD_INPUT);
    for (size_t i = 0; status == 0 && i < o->args.n; i++) {
        char wire[64];
        const tb_param *p = o->args.list[i].param;
        tb_param_wire(p, wire);
        if (p->kind != TB_PARAM_FLAG || named(json_object_get(there, "parameters"), wire)) continue;
        cli_say(o->call, "%s: The server is older than --%s, and would ignore it. Nothing was sent.", c->url, p->name);
        status = tb_code_exit(TB_E_USAGE);
    }
    json_decref(answer);
    return status;
}

static int run_there(op_call *o)
{
    client c;
    tb_buf path, body;
    bool no = false;
    int status = check_sent(o);
    if (status) return status;
    status = client_open(&c, o->call);
    if (status == 0) status = check_flags_known(o, &c);
    if (status == 0) status = open_folder(o);
    tb_buf_init(&path, 64 << 10, NULL);
    tb_buf_init(&body, (size_t)256 << 20, NULL);
    take_catch_signals();
    if (status == 0) status = send_once(o, &c, &path, &body, &no);
    for (o->steps = 1; status == 0 && o->args.next; o->steps++)
        status = is_stopped() ? interrupted(o)
                              : failed(o, send_once(o, &c, &path, &body, &no));
    tb_buf_release(&path);
    tb_buf_release(&body);
    client_close(&c);
    return end(o, status, no);
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
    return add(o, tb_param_find(o->args.operation, flag, strlen(flag)), "", 0) == 0;
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
    return cli_given(o->call, "server") ? run_there(o) : run_here(o);
}

int cli_operation(const cli_call *call)
{
    const char *name = call->command->operation;
    const tb_operation *operation = tb_operation_find(name, strlen(name));
    op_call o = {.call = call, .out.fd = -1};
    const bool placed = cli_given(call, "db") || cli_given(call, "server") || cli_given(call, "key");
    int status = placed || !operation->storeless ? cli_check_place(call) : 0;
    if (status == 0 && cli_given(call, "server")) status = check_options_there(call);
    if (status) return status;
    tb_args_init(&o.args, operation);
    spool_init(&o.document);
    o.files = calloc(FILES_MAX, sizeof *o.files);
    status = o.files ? read_words(&o) : tb_code_exit(TB_E_NOMEM);
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
