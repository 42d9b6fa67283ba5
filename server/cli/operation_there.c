/* A command that is an operation is sent to a server, by POST /operations/NAME. */
#include "cli/operation_call.h"

#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/take.h"
#include "tollbook/json.h"

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
    if (!code && !(cli_given(o->call, "resume") && !op_is_wanted(o, json_string_value(name), mark ? mark : "")))
        code = op_put_file(o, json_string_value(name), (const char *)bytes, len, err);
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
        if (json_is_string(line)) op_say_line(o, json_string_value(line), (int)json_string_length(line));
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

int op_check_options_there(const cli_call *call)
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
        cli_say(o->call, "%s: line %d: It is not JSON: %s.", op_file_of(o, arg)->name, where.line,
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

int op_run_there(op_call *o)
{
    client c;
    tb_buf path, body;
    bool no = false;
    int status = check_sent(o);
    if (status) return status;
    status = client_open(&c, o->call);
    if (status == 0) status = check_flags_known(o, &c);
    if (status == 0) status = op_open_folder(o);
    tb_buf_init(&path, 64 << 10, NULL);
    tb_buf_init(&body, (size_t)256 << 20, NULL);
    take_catch_signals();
    if (status == 0) status = send_once(o, &c, &path, &body, &no);
    for (o->steps = 1; status == 0 && o->args.next; o->steps++)
        status = op_is_stopped() ? op_interrupted(o)
                              : op_failed(o, send_once(o, &c, &path, &body, &no));
    tb_buf_release(&path);
    tb_buf_release(&body);
    client_close(&c);
    return op_end(o, status, no);
}
