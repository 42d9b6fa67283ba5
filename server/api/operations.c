/* Operations over HTTP: POST /operations/{name}, and the rows of the route table that name one. The arguments are the
 * query's and the body's members, or the body is the operation's document. An operation that reads is a slow query, one
 * that writes a job of the writer; one that does both is first the one, then the other. Under a path of its own the
 * answer is the operation's JSON; under /operations it is the reply, with the text that a command line prints. There
 * every operation takes dryRun in the query: it is run, answered and taken back. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/handlers.h"
#include "http/replicas.h"
#include "http/marks.h"
#include "http/query.h"
#include "tollbook/json.h"
#include "tollbook/operation.h"
#include "tollbook/status.h"

/* Without a document: JSON takes thirty times its text in memory. The state of a month run of 1.5 million accounts
 * fits. */
#define ARGUMENTS_MAX ((size_t)16 << 20)

typedef struct op_work {
    tb_args args;
    tb_reply reply;
    bool written; /* the writer has it, or is next */
    bool dry;     /* the query's dryRun, of an operation that has no such parameter: what it writes is taken back */
    bool tried;   /* dry, and the operation has succeeded */
    bool reads_only; /* the key may not make it write, or this is a copy; and it can do without */
    char *texts;  /* of the query, decoded */
    tb_store *reader; /* of the running `read` */
    char from[REQUEST_PEER_TEXT];
    /* The secret when the request began. The job pool and the writer use it when the worker may have a newer one
     * already, so the request has a view of its own. */
    published_view secret;
    const uint8_t *key_secret; /* NULL: none */
} op_work;

static op_work *work_of(const request *r)
{
    return r->kept;
}

static void work_release(void *kept)
{
    op_work *w = kept;
    tb_args_release(&w->args);
    tb_reply_release(&w->reply);
    published_release(&w->secret);
    free(w->texts);
    free(w);
}

static op_work *work_new(request *r, const tb_operation *operation)
{
    op_work *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    tb_args_init(&w->args, operation);
    tb_reply_init(&w->reply);
    request_peer_text(r, w->from);
    w->key_secret = published_get(r->worker->server->secret, &w->secret);
    r->kept = w;
    r->release_kept = work_release;
    return w;
}

/* --- arguments --- */

static const tb_param *document_of(const tb_operation *operation)
{
    for (size_t i = 0; i < operation->n_params; i++)
        if (operation->params[i].kind == TB_PARAM_DOCUMENT) return &operation->params[i];
    return NULL;
}

static tb_code read_dry(tb_text value, bool *ret, tb_error *err)
{
    if (query_bool(value.data, value.len, ret)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "dryRun", "It is not true or false.");
}

/* Unknown parameters are ignored, as everywhere. */
static tb_code add_param(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    op_work *w = ctx;
    tb_args *args = &w->args;
    const tb_param *p = tb_param_find(args->operation, name.data, name.len);
    if (!p && name.len == 6 && strncasecmp(name.data, "dryRun", 6) == 0) return read_dry(value, &w->dry, err);
    if (!p || p->kind == TB_PARAM_DOCUMENT || p->kind == TB_PARAM_NAMED) return TB_OK;
    if (p->kind != TB_PARAM_FLAG) return tb_args_add(args, p, value.data, value.len, err);
    bool truth;
    if (!query_bool(value.data, value.len, &truth))
        return tb_fail(err, TB_E_VALIDATION, p->name, "It is not true or false.");
    return truth ? tb_args_add(args, p, "", 0, err) : TB_OK;
}

static tb_code add_query(request *r, op_work *w, tb_error *err)
{
    tb_text query = request_query(r);
    if (query.len == 0) return TB_OK;
    w->texts = malloc(query.len);
    if (!w->texts) return tb_no_memory(err);
    return query_each(query.data, query.len, w->texts, add_param, w, err);
}

static tb_code add_body(request *r, op_work *w, tb_error *err)
{
    const tb_param *document = document_of(w->args.operation);
    const char *body = r->body ? r->body : "";
    if (document && !document->required && !r->body_len) return TB_OK;
    if (document) return tb_args_add(&w->args, document, body, r->body_len, err);
    if (r->body_len > ARGUMENTS_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "The arguments are longer than %zu MiB.",
                       ARGUMENTS_MAX >> 20);
    return r->body_len ? tb_args_json(&w->args, body, r->body_len, err) : TB_OK;
}

/* A path whose id is invalid is not found, like one that does not exist: it is read as 0, which is no id. */
static tb_code add_named(const request *r, tb_args *args, const tb_param *p, tb_error *err)
{
    int64_t id;
    const bool none = p->kind == TB_PARAM_NUMBER && !router_id(r->id, &id);
    tb_code code = tb_args_add(args, p, none ? "0" : r->id.data, none ? 1 : r->id.len, err);
    if (code == TB_E_VALIDATION) err->code = code = TB_E_NOT_FOUND;
    return code;
}

/* Adds the arguments that the route's row sets: its {id}, and a flag. */
static tb_code add_row(request *r, op_work *w, tb_error *err)
{
    const route *row = r->route;
    const tb_operation *op = w->args.operation;
    tb_code code = TB_OK;
    if (!row->operation) return TB_OK;
    if (row->fixed)
        code = tb_args_add(&w->args, tb_param_find(op, row->fixed, strlen(row->fixed)), "", 0, err);
    if (code || !r->id.data) return code;
    const tb_param *p = row->fills ? tb_param_find(op, row->fills, strlen(row->fills)) : NULL;
    for (size_t i = 0; !p && i < op->n_params; i++)
        if (op->params[i].operand) p = &op->params[i];
    return add_named(r, &w->args, p, err);
}

/* A key that is bound to an account asks for that one. Of another it hears that it does not exist. */
static tb_code bind_account(const request *r, tb_args *args, tb_error *err)
{
    char text[24];
    const tb_param *p = r->account ? tb_param_find(args->operation, "account", 7) : NULL;
    const tb_arg *given;
    size_t n = 0;
    if (!p) return TB_OK;
    for (; (given = tb_arg_nth(args, "account", n)) != NULL; n++)
        if (given->number != r->account)
            return tb_fail(err, TB_E_NOT_FOUND, "account", "There is no account %" PRId64 ".", given->number);
    if (n) return TB_OK;
    const int len = snprintf(text, sizeof text, "%" PRId64, r->account);
    return tb_args_add(args, p, text, (size_t)len, err);
}

static tb_code check_writing(request *r, op_work *w, tb_error *err)
{
    const tb_operation *op = w->args.operation;
    const tb_code role = replicas_check_write(r->worker->server, err);
    const bool open = tb_operation_open(op, r->roles, true);
    const bool tried = w->dry || tb_arg_given(&w->args, "dry-run"); /* also by a copy: it commits nothing */
    /* A standby that is dropped is away, and perhaps it was the only one. */
    r->writes = tb_operation_writes(&w->args) && open && !role && !tried && strcmp(op->name, "replica drop") != 0;
    if (!tb_operation_writes(&w->args) || (open && (!role || tried))) return TB_OK;
    w->reads_only = op->unwritten != NULL;
    if (w->reads_only) return TB_OK;
    if (role && open) return role;
    return tb_fail(err, TB_E_FORBIDDEN, NULL, "With %s this key may look, and change nothing.", op->name);
}

static tb_code read_args(request *r, op_work *w, tb_error *err)
{
    tb_code code = add_row(r, w, err);
    if (!code) code = add_query(r, w, err);
    if (!code && w->dry && r->route->operation)
        code = tb_fail(err, TB_E_VALIDATION, "dryRun", "Only POST /operations/%s can be tried.", w->args.operation->name);
    if (!code) code = add_body(r, w, err);
    if (!code) code = bind_account(r, &w->args, err);
    if (!code) code = check_writing(r, w, err);
    return code ? code : tb_args_end(&w->args, false, err);
}

/* --- running --- */

static bool go_on(void *ctx, uint64_t done, uint64_t total)
{
    request *r = ctx;
    (void)done, (void)total;
    return job_pool_time_left(r->worker->server->pool, LANE_SLOW, &r->job);
}

static tb_ops ops_of(request *r, tb_store *store)
{
    return (tb_ops){.store = store, .now_us = request_now_us(r), .key = r->key,
                    .account = r->account, .roles = r->roles, .from = work_of(r)->from, .random = randombytes_buf, .shared = true,
                    .proof_key = api_proof_key(), .public_url = r->worker->server->options.public_url, .key_secret = work_of(r)->key_secret};
}

/* The advice for an operation that takes too long. Commands with --db cannot read usage on servers. */
static const char *too_long_advice(const request *r, const tb_operation *operation)
{
    if (!r->worker->server->options.usage) return ", or run it with --db";
    return strcmp(operation->name, "verify") == 0 ? ", or verify with `backup --usage`, which takes its time" : "";
}

/* As the command notes it: the time is of the start, and only a run that found no difference counts. */
static void note_verified(const request *r, tb_reply *made, int64_t now_us)
{
    tb_error err;
    if (mark_set(r->worker->server->options.db, MARK_VERIFY, now_us, &err))
        tb_reply_say(made, "The time of this run is not noted for GET /metrics: %s", err.message);
}

static void read_machine(void *ctx, tb_machine *ret_machine)
{
    const request *r = ctx;
    api_machine(r, work_of(r)->reader, ret_machine);
}

static tb_code run_read(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    op_work *w = work_of(r);
    tb_ops ops = ops_of(r, store);
    tb_follower list[FOLLOWERS_SHOWN];
    const tb_replica_server known = api_replica_known(r->worker->server, list);
    w->reader = store;
    ops.replica = &known;
    ops.step = go_on;
    ops.machine = read_machine;
    ops.ctx = r;
    tb_code code = tb_operation_read(&ops, &w->args, &w->reply, err);
    if (!code && !w->reply.no && strcmp(w->args.operation->name, "verify") == 0)
        note_verified(r, &w->reply, ops.now_us);
    if (code != TB_E_STOPPED || atomic_load(&r->worker->server->stopping)) return code;
    return tb_fail(err, TB_E_TOO_MUCH, NULL, "It took longer than %d seconds. Ask for less at a time%s.",
                   (int)(SERVER_SLOW_US / 1000000), too_long_advice(r, w->args.operation));
}

static tb_code run_write(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    op_work *w = work_of(r);
    tb_ops ops = ops_of(r, store);
    tb_code code = tb_operation_write(&ops, &w->args, &w->reply, err);
    if (!code && w->dry && (w->reply.next.len || (w->reply.keys && w->reply.made)))
        code = tb_fail(err, TB_E_VALIDATION, "dryRun", "It cannot be tried: it works in steps, or makes a key.");
    if (!code && w->dry) {
        w->tried = true;
        w->reply.entry = 0;
        w->reply.made = false;
        return tb_fail(err, TB_E_STOPPED, NULL, NULL); /* so that the writer takes it back */
    }
    if (!code) job->changed_keys = w->reply.keys;
    return code;
}

static void submit_write(request *r, op_work *w)
{
    w->written = true;
    r->job.run = run_write;
    r->job.bytes = r->body_len;
    r->job.alone = true; /* it reads the state of the last commit */
    request_submit(r);
}

/* The field is a path such as "scenarios[1].patch.bandwidth". */
static void fail_about(request *r, const tb_arg *about, const tb_args *args, const tb_error *err)
{
    tb_error placed;
    char spelled[64], field[sizeof err->field + 96], number[24] = "";
    size_t n = 0;
    while (tb_arg_nth(args, about->param->name, n) != about)
        n++;
    tb_param_wire(about->param, spelled);
    if (about->param->repeats) snprintf(number, sizeof number, "[%zu]", n);
    snprintf(field, sizeof field, "%s%s%s%s", spelled, number, err->field[0] ? "." : "", err->field);
    (void)tb_fail(&placed, err->code, field, "%s", err->message);
    placed.line = err->line;
    placed.byte = err->byte;
    request_fail_at(r, &placed);
}

/* Fields are spelled as on the wire. */
static void fail_args(request *r, const op_work *w, const tb_error *err)
{
    tb_error placed = *err;
    if (w->reply.about) {
        fail_about(r, w->reply.about, &w->args, err);
        return;
    }
    char spelled[64];
    const tb_param *p = tb_param_find(w->args.operation, err->field, strlen(err->field));
    if (err->field[0] && p) {
        tb_param_wire(p, spelled);
        memcpy(placed.field, spelled, sizeof spelled);
    }
    /* The message of an error in a document does not contain its path, so that is put before it. */
    if (err->field[0] && !p && err->byte)
        snprintf(placed.message, sizeof placed.message, "%s: %.270s", err->field, err->message);
    request_fail_at(r, &placed);
}

static void begin(request *r, const tb_operation *operation)
{
    tb_error err;
    op_work *w = NULL;
    if (!tb_operation_open(operation, r->roles, false)) {
        request_fail(r, TB_E_FORBIDDEN, NULL, "This key may not run %s.", operation->name);
        return;
    }
    w = work_new(r, operation);
    if (!w) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
    } else if (read_args(r, w, &err)) {
        fail_args(r, w, &err);
    } else if (tb_operation_reads(&w->args)) {
        r->job.run = run_read;
        r->job.bytes = 0;
        request_submit_slow(r);
    } else {
        submit_write(r, w);
    }
}

static void put_reply(const request *r, const tb_reply *made, tb_buf *out)
{
    if (!r->route->operation) tb_reply_json(made, out);
    else tb_buf_add(out, made->json.data, made->json.len);
}

/* The reply has a key's text, which is wiped after it is sent. */
static void answer_secret(request *r, const tb_reply *made)
{
    put_reply(r, made, request_text(r));
    request_answer_text(r, made->made ? 201 : 200, "application/json");
    r->reply.secret = true;
}

static void answer_reply(request *r, const tb_reply *made)
{
    answer *a = answer_new();
    if (a) put_reply(r, made, answer_body(a));
    if (!a || answer_body(a)->failed) {
        answer_drop(a);
        request_fail(r, a ? TB_E_TOO_MUCH : TB_E_NOMEM, NULL,
                     a ? "The answer is too long. Ask for less at a time." : "Out of memory.");
        return;
    }
    request_answer(r, a, false);
    r->reply.tagged = false;
    if (made->made) r->reply.status = 201;
    if (made->refused.code) r->reply.status = (unsigned)tb_code_http(made->refused.code);
}

static void answer_done(request *r, const op_work *w)
{
    const tb_reply *made = &w->reply;
    if (r->route->operation && !made->json.len) request_answer_empty(r, 204);
    else if (made->keys) answer_secret(r, made);
    else answer_reply(r, made);
}

void api_operation_done(request *r)
{
    op_work *w = work_of(r);
    const char *unwritten = w->written ? w->args.operation->unwritten : NULL;
    if (w->tried) {
        answer_done(r, w);
        return;
    }
    const bool goes_on = !r->job.code && !w->written && tb_operation_goes_on(&w->args, &w->reply);
    if (r->job.code && unwritten) tb_reply_say(&w->reply, "%s: %s", unwritten, r->job.err.message);
    if (goes_on && w->reads_only)
        tb_reply_say(&w->reply, "%s: this %s may change nothing.", w->args.operation->unwritten,
                     r->worker->server->copy ? "server is a copy, which" : "key");
    if (r->job.code && !unwritten) fail_args(r, w, &r->job.err);
    else if (goes_on && !w->reads_only) submit_write(r, w);
    else answer_done(r, w);
}

/* A row of the route table that names an operation. */
void api_operation_named(request *r)
{
    begin(r, tb_operation_find(r->route->operation, strlen(r->route->operation)));
}

void api_operation(request *r)
{
    const tb_operation *operation = tb_operation_find(r->id.data, r->id.len);
    if (operation) begin(r, operation);
    else request_fail(r, TB_E_NOT_FOUND, NULL, "There is no operation of this name.");
}

/* --- the list of operations --- */

/* "table|json" as ["table","json"] */
static void put_choices(const char *words, tb_buf *out)
{
    tb_buf_str(out, ",\"choices\":[");
    for (const char *word = words; *word;) {
        const size_t len = strcspn(word, "|");
        if (word != words) tb_buf_str(out, ",");
        tb_json_string(out, word, len);
        word += len + (word[len] == '|');
    }
    tb_buf_str(out, "]");
}

/* What a form needs to know of a value before it is sent. */
static void put_bounds(const tb_param *p, tb_buf *out)
{
    if (p->value && p->kind != TB_PARAM_CHOICE) {
        tb_buf_str(out, ",\"value\":");
        tb_json_string(out, p->value, strlen(p->value));
    }
    if (p->kind == TB_PARAM_CHOICE) put_choices(p->value, out);
    if (p->kind == TB_PARAM_NUMBER) tb_buf_fmt(out, ",\"minimum\":%" PRId64 ",\"maximum\":%" PRId64, p->min, p->max);
    if (p->kind == TB_PARAM_TEXT) tb_buf_fmt(out, ",\"minLength\":%" PRId64 ",\"maxLength\":%" PRId64, p->min, p->max);
    if (p->otherwise) {
        tb_buf_str(out, ",\"default\":");
        tb_json_string(out, p->otherwise, strlen(p->otherwise));
    }
    if (p->secret) tb_buf_str(out, ",\"secret\":true");
}

static void put_param(const tb_param *p, tb_buf *out)
{
    static const struct {
        const char *type, *kind;
    } kinds[] = {
        [TB_PARAM_FLAG] = {"boolean", "flag"},       [TB_PARAM_NUMBER] = {"integer", "number"},
        [TB_PARAM_TEXT] = {"string", "text"},        [TB_PARAM_CHOICE] = {"string", "choice"},
        [TB_PARAM_MONTH] = {"string", "month"},      [TB_PARAM_DOCUMENT] = {"object", "document"},
        [TB_PARAM_NAMED] = {"object or string", "named"}, [TB_PARAM_FOLDER] = {"string", "folder"},
    };
    char spelled[64];
    tb_param_wire(p, spelled);
    tb_buf_fmt(out, "{\"name\":\"%s\",\"type\":\"%s\",\"kind\":\"%s\",\"required\":%s,\"repeats\":%s,\"help\":", spelled,
               kinds[p->kind].type, kinds[p->kind].kind, p->required ? "true" : "false", p->repeats ? "true" : "false");
    tb_json_string(out, p->help, strlen(p->help));
    put_bounds(p, out);
    tb_buf_str(out, "}");
}

static void put_operation(const tb_operation *op, bool writes, tb_buf *out)
{
    tb_buf_str(out, "{\"name\":");
    tb_json_string(out, op->name, strlen(op->name));
    tb_buf_str(out, ",\"summary\":");
    tb_json_string(out, op->summary, strlen(op->summary));
    tb_buf_str(out, ",\"details\":");
    tb_json_string(out, op->details, strlen(op->details));
    tb_buf_fmt(out, ",\"writes\":%s,\"parameters\":[", writes ? "true" : "false");
    for (size_t i = 0; i < op->n_params; i++) {
        if (i) tb_buf_str(out, ",");
        put_param(&op->params[i], out);
    }
    tb_buf_str(out, "]}");
}

/* Those that the caller's roles may run. */
void api_operations(request *r)
{
    const tb_operation *op;
    tb_buf *out = request_text(r);
    bool first = true;
    tb_buf_str(out, "{\"operations\":[");
    for (size_t i = 0; (op = tb_operation_at(i)) != NULL; i++) {
        if (!tb_operation_open(op, r->roles, false)) continue;
        if (!first) tb_buf_str(out, ",");
        put_operation(op, op->write && tb_operation_open(op, r->roles, true), out);
        first = false;
    }
    tb_buf_str(out, "]}");
    request_answer_text(r, 200, "application/json");
}
