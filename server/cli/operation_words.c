/* The words of a command that is an operation become the operation's arguments. */
#include "cli/operation_call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/names.h"
#include "tollbook/json.h"

const op_file *op_file_of(const op_call *o, const tb_arg *arg)
{
    size_t i = 0;
    while (i + 1 < o->n_files && o->files[i].text.data != arg->text.data)
        i++;
    return &o->files[i];
}

int op_fail_file(const op_call *o, const tb_arg *about, const tb_error *err)
{
    const op_file *file = op_file_of(o, about);
    if (!file->stored || err->code != TB_E_NOT_FOUND) return cli_fail(o->call, file->name, err);
    cli_say(o->call, "%s: There is no such file. %s", file->name, err->message);
    return tb_code_exit(err->code);
}

int op_fail_arg(const op_call *o, const tb_error *err)
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

int op_add(op_call *o, const tb_param *p, const char *text, size_t len)
{
    tb_error err;
    return tb_args_add(&o->args, p, text, len, &err) ? op_fail_arg(o, &err) : 0;
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
    return op_add(o, p, file->text.data ? file->text.data : "", file->text.len);
}

/* A name goes as a JSON text, which no document is. */
static int add_name(op_call *o, const tb_param *p, const char *name)
{
    op_file *file = &o->files[o->n_files];
    *file = (op_file){.name = name, .stored = true};
    tb_buf_init(&file->text, 1 << 20, NULL);
    tb_json_string(&file->text, name, strlen(name));
    o->n_files++;
    return op_add(o, p, file->text.data ? file->text.data : "", file->text.len);
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
    return status ? status : op_add(o, p, number, strlen(number));
}

/* A text that a file has. */
static int add_content(op_call *o, const tb_param *p, const char *path)
{
    tb_buf content;
    int status = cli_read_file(o->call, path, (size_t)p->max, &content);
    if (status) return status;
    status = op_add(o, p, content.data ? content.data : "", content.len);
    tb_buf_release(&content);
    return status;
}

static int add_word(op_call *o, const tb_param *p, const char *word)
{
    if (p->file && access(word, F_OK) == 0) return add_content(o, p, word);
    if (p->kind == TB_PARAM_NUMBER && strcmp(p->name, "account") == 0 && !is_digits(word)) return add_account(o, p, word);
    const bool document = p->kind == TB_PARAM_DOCUMENT || p->kind == TB_PARAM_NAMED;
    if (document && o->n_files == OP_FILES_MAX) {
        cli_say(o->call, "More than %d files are given.", OP_FILES_MAX);
        return tb_code_exit(TB_E_USAGE);
    }
    if (!document) return op_add(o, p, word, strlen(word));
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
    return op_add(o, tb_param_find(o->args.operation, fixed, len), fixed + len + 1,
               strlen(fixed + len + 1));
}

int op_read_words(op_call *o)
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
        status = op_fail_arg(o, &err);
    return status;
}
