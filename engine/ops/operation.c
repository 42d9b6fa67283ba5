/* The table, and the one form that reading and writing have. A part that fails leaves nothing: the
 * snapshot ends, the transaction is rolled back. */
#include "ops/operations.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/audit.h"
#include "tollbook/json.h"

static const tb__operations *const groups[] = {&tb__audit_operations, &tb__invoice_operations,
                                               &tb__ledger_operations};

const tb_operation *tb_operation_at(size_t number)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (number < groups[i]->n) return &groups[i]->list[number];
        number -= groups[i]->n;
    }
    return NULL;
}

static bool same_name(const char *name, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!name[i] || (name[i] != text[i] && (name[i] != ' ' || text[i] != '-'))) return false;
    return name[len] == 0;
}

const tb_operation *tb_operation_find(const char *name, size_t len)
{
    const tb_operation *op;
    for (size_t i = 0; (op = tb_operation_at(i)) != NULL; i++)
        if (same_name(op->name, name, len)) return op;
    return NULL;
}

/* --- the reply --- */

void tb_reply_init(tb_reply *reply)
{
    *reply = (tb_reply){.no = false};
    tb_buf_init(&reply->json, TB_REPLY_MAX, NULL);
    tb_buf_init(&reply->out, TB_REPLY_MAX, NULL);
    tb_buf_init(&reply->said, TB_REPLY_MAX, NULL);
    tb_buf_init(&reply->next, TB_REPLY_MAX, NULL);
}

void tb_reply_release(tb_reply *reply)
{
    tb_buf_release(&reply->json);
    tb_buf_release(&reply->out);
    tb_buf_release(&reply->said);
    tb_buf_release(&reply->next);
    if (reply->state && reply->release) reply->release(reply->state);
    reply->state = NULL;
}

void tb_reply_say(tb_reply *reply, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0) return;
    tb_buf_add(&reply->said, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    tb_buf_str(&reply->said, "\n");
}

static void put_lines(const tb_buf *lines, tb_buf *out)
{
    const char *at = lines->data, *end = at + lines->len;
    for (; at && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (at != lines->data) tb_buf_str(out, ",");
        tb_json_string(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
}

void tb_reply_json(const tb_reply *reply, tb_buf *out)
{
    tb_buf_str(out, "{\"out\":");
    tb_json_string(out, reply->out.data ? reply->out.data : "", reply->out.len);
    tb_buf_str(out, ",\"said\":[");
    put_lines(&reply->said, out);
    tb_buf_str(out, "],\"answer\":");
    if (reply->json.len) tb_buf_add(out, reply->json.data, reply->json.len);
    else tb_buf_str(out, "null");
    tb_buf_fmt(out, ",\"no\":%s,\"next\":", reply->no ? "true" : "false");
    tb_json_string(out, reply->next.data ? reply->next.data : "", reply->next.len);
    tb_buf_str(out, "}");
}

static tb_code check_reply(const tb_reply *reply, tb_error *err)
{
    tb_code code = tb_buf_check(&reply->json, err);
    if (!code) code = tb_buf_check(&reply->out, err);
    if (!code) code = tb_buf_check(&reply->next, err);
    return code ? code : tb_buf_check(&reply->said, err);
}

/* --- running --- */

bool tb_operation_writes(const tb_args *args)
{
    const tb_operation *op = args->operation;
    if (!op->write || !op->write_flags) return op->write != NULL;
    for (const char *word = op->write_flags; *word;) {
        size_t len = strcspn(word, "|");
        const tb_param *param = tb_param_find(op, word, len);
        if (param && tb_arg_given(args, param->name)) return true;
        word += len + (word[len] == '|');
    }
    return false;
}

/* Where flags decide, one call either reads or writes. */
bool tb_operation_reads(const tb_args *args)
{
    const tb_operation *op = args->operation;
    return op->read && (!op->write_flags || !tb_operation_writes(args));
}

tb_code tb_operation_read(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = tb_store_read_begin(ops->store, err);
    if (code) return code;
    code = args->operation->read(ops, args, reply, err);
    tb_store_read_end(ops->store);
    return code ? code : check_reply(reply, err);
}

tb_code tb_operation_write(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const uint64_t before = tb_store_changes(ops->store);
    tb_code code = args->operation->write(ops, args, reply, err);
    if (!code) code = check_reply(reply, err);
    if (code || tb_store_changes(ops->store) == before) return code;
    return tb__audit(ops, args, err);
}

static tb_code write_alone(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = tb_store_begin(ops->store, err);
    if (code) return code;
    code = tb_operation_write(ops, args, reply, err);
    if (!code) code = tb_store_commit(ops->store, err);
    if (code) tb_store_rollback(ops->store);
    return code;
}

tb_code tb_operation_run(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = TB_OK;
    if (tb_operation_reads(args)) code = tb_operation_read(ops, args, reply, err);
    /* "The answer is no" is said before anything is written. */
    if (!code && !reply->no && tb_operation_writes(args)) code = write_alone(ops, args, reply, err);
    return code;
}
