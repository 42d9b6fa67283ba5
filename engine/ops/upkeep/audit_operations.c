/* The audit log's entries: one for each write that changed anything, in its own transaction, or one for all
 * writes of a long operation. A retry that changed nothing leaves none. audit lists them. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/audit.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* --- an entry --- */

static void put_hash(tb_buf *out, const char *text, size_t len)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    tb_buf_str(out, "{\"sha256\":\"");
    for (size_t i = 0; i < sizeof hash; i++)
        tb_buf_fmt(out, "%02x", hash[i]);
    tb_buf_str(out, "\"}");
}

/* A name stands in quotes; a file's may have space behind them. */
static void put_name(tb_text text, tb_buf *out)
{
    while (text.data[text.len - 1] != '"')
        text.len--;
    tb_buf_add(out, text.data, text.len);
}

static void put_value(const tb_arg *arg, tb_buf *out)
{
    const tb_text text = arg->text;
    switch (arg->param->kind) {
    case TB_PARAM_FLAG: tb_buf_str(out, "true"); break;
    case TB_PARAM_NUMBER: tb_buf_fmt(out, "%" PRId64, arg->number); break;
    case TB_PARAM_DOCUMENT: put_hash(out, text.data, text.len); break;
    case TB_PARAM_NAMED:
        if (text.len && text.data[0] == '"') put_name(text, out);
        else put_hash(out, text.data, text.len);
        break;
    default: tb_json_string(out, text.data, text.len);
    }
}

/* How the answer is printed is no part of what was done. */
static bool is_form(const tb_param *p)
{
    return p->kind == TB_PARAM_CHOICE && strcmp(p->value, TB__FORMATS) == 0;
}

static void put_param(const tb_args *args, const tb_param *p, tb_buf *out)
{
    const tb_arg *arg = tb_arg_nth(args, p->name, 0);
    if (!arg || p->secret || is_form(p)) return;
    if (out->len > 1) tb_buf_str(out, ",");
    tb_json_string(out, p->name, strlen(p->name));
    tb_buf_str(out, p->repeats ? ":[" : ":");
    put_value(arg, out);
    for (size_t i = 1; p->repeats && (arg = tb_arg_nth(args, p->name, i)) != NULL; i++) {
        tb_buf_str(out, ",");
        put_value(arg, out);
    }
    if (p->repeats) tb_buf_str(out, "]");
}

/* In the order of the table; where that is too long, its hash. */
static void put_arguments(const tb_args *args, tb_buf *out)
{
    tb_buf_str(out, "{");
    for (size_t i = 0; i < args->operation->n_params; i++)
        put_param(args, &args->operation->params[i], out);
    tb_buf_str(out, "}");
    if (out->len <= TB_AUDIT_ARGUMENTS_MAX || out->failed) return;
    size_t whole = out->len;
    put_hash(out, out->data, whole);
    if (out->failed) return;
    memmove(out->data, out->data + whole, out->len - whole);
    out->len -= whole;
}

static tb_audit_entry entry_of(const tb_ops *ops, const tb_args *args, const char *arguments)
{
    return (tb_audit_entry){.at_us = ops->now_us, .key = ops->key > 0 ? ops->key : 0,
                            .origin = ops->from ? ops->from : "", .operation = args->operation->name,
                            .arguments = arguments};
}

/* Terminated; released by the caller in any case. */
static tb_code write_arguments(const tb_args *args, tb_buf *ret_text, tb_error *err)
{
    tb_buf_init(ret_text, (size_t)64 << 20, NULL);
    put_arguments(args, ret_text);
    tb_buf_add(ret_text, "", 1);
    return tb_buf_check(ret_text, err);
}

tb_code tb__audit(const tb_ops *ops, const tb_args *args, tb_error *err)
{
    tb_buf arguments;
    tb_code code = write_arguments(args, &arguments, err);
    if (!code) {
        const tb_audit_entry entry = entry_of(ops, args, arguments.data);
        code = tb_store_audit_add(ops->store, &entry, err);
    }
    tb_buf_release(&arguments);
    return code;
}

/* --- an entry for many calls --- */

static bool is_same(const tb_audit_entry *a, const tb_audit_entry *b)
{
    return a->key == b->key && strcmp(a->operation, b->operation) == 0 &&
           strcmp(a->arguments, b->arguments) == 0;
}

static tb_code find_told(const tb_ops *ops, const tb_args *args, tb__told *told, tb_error *err)
{
    tb_audit_entry *there = NULL;
    tb_buf arguments;
    size_t n = 0;
    tb_code code = write_arguments(args, &arguments, err);
    if (!code) code = tb_store_audit(ops->store, told->entry - 1, 1, &there, &n, err);
    if (!code) {
        const tb_audit_entry own = entry_of(ops, args, arguments.data);
        if (n && there->id == told->entry && is_same(there, &own)) told->begun_us = there->at_us;
        else code = tb__next_wrong(err);
    }
    tb_audit_release(there);
    tb_buf_release(&arguments);
    return code;
}

tb_code tb__told_begin(const tb_ops *ops, const tb_args *args, const char **next, tb__told *ret_told,
                       tb_error *err)
{
    *ret_told = (tb__told){.begun_us = ops->now_us, .changes = tb_store_changes(ops->store)};
    if (!*next) return TB_OK;
    if (!tb__next_number(next, &ret_told->entry)) return tb__next_wrong(err);
    return ret_told->entry ? find_told(ops, args, ret_told, err) : TB_OK;
}

tb_code tb__told_end(const tb_ops *ops, const tb_args *args, tb__told *told, tb_reply *reply, tb_error *err)
{
    tb_code code = TB_OK;
    reply->settled = true;
    if (!told->entry && tb_store_changes(ops->store) != told->changes) {
        code = tb__audit(ops, args, err);
        if (!code) code = tb_store_audit_newest(ops->store, &told->entry, err);
    }
    reply->entry = told->entry;
    return code;
}

/* --- the list --- */

static void put_entry(const tb_audit_entry *e, bool first, tb_reply *reply)
{
    char at[20];
    tb_time_format(e->at_us, at);
    tb_buf_fmt(&reply->out, "%" PRId64 "\t%.20s\t%" PRId64 "\t", e->id, at, e->key);
    tb__put_cell(&reply->out, *e->origin ? e->origin : "-", *e->origin ? strlen(e->origin) : 1);
    tb_buf_fmt(&reply->out, "\t%s\t", e->operation);
    tb__put_cell(&reply->out, e->arguments, strlen(e->arguments));
    tb_buf_str(&reply->out, "\n");
    tb_buf_fmt(&reply->json, "%s{\"id\":%" PRId64 ",\"time\":\"%.20s\",\"key\":%" PRId64
               ",\"origin\":", first ? "" : ",", e->id, at, e->key);
    tb_json_string(&reply->json, e->origin, strlen(e->origin));
    tb_buf_str(&reply->json, ",\"operation\":");
    tb_json_string(&reply->json, e->operation, strlen(e->operation));
    tb_buf_fmt(&reply->json, ",\"arguments\":%s}", e->arguments);
}

/* All pages are one text. */
static void print_page(const tb_args *args, size_t head, tb_reply *reply)
{
    const tb_buf *json = &reply->json;
    const size_t from = args->next ? head : 0;
    reply->out.len = 0;
    if (args->next && json->len > head) tb_buf_str(&reply->out, ",");
    if (!json->failed) tb_buf_add(&reply->out, json->data + from, json->len - from);
    if (!reply->next.len) tb_buf_str(&reply->out, "]}\n");
}

/* A page a call. */
static tb_code list_entries(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_audit_entry *entries = NULL;
    size_t n = 0;
    const char *next = args->next;
    int64_t after = tb_arg_number(args, "after", 0); /* or where the last call ended */
    if (next && !(tb__next_number(&next, &after) && !*next)) return tb__next_wrong(err);
    tb_code code = tb_store_audit(ops->store, after, TB_AUDIT_PAGE, &entries, &n, err);
    if (code) return code;
    if (!args->next) tb_buf_str(&reply->out, "id\ttime\tkey\tfrom\toperation\targuments\n");
    tb_buf_str(&reply->json, "{\"entries\":[");
    const size_t head = reply->json.len;
    for (size_t i = 0; i < n; i++)
        put_entry(&entries[i], i == 0, reply);
    if (n == TB_AUDIT_PAGE) tb_buf_fmt(&reply->next, "%" PRId64, entries[n - 1].id);
    if (tb_arg_is(args, "format", "json")) print_page(args, head, reply);
    tb_buf_str(&reply->json, "]}");
    tb_audit_release(entries);
    return TB_OK;
}

static const tb_param params[] = {
    {.name = "after", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 0, .max = INT64_MAX,
     .help = "entries after this one; default all"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "audit",
     .summary = "List changes: what, when, with which key and from where",
     .details = "One entry for each operation that changed anything: its arguments without secrets,\n"
                "documents by their SHA-256. A month is made final in several commits, and each has its\n"
                "entry. Key 0 stands for the command line with --db, where the system's user is beside it, and for\n"
                "a bearer token where an address is. The entries are chained: `tollbook verify` finds one that was\n"
                "changed or removed. Logs, usage and deployments are in their own tables instead.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = list_entries},
};
const tb__operations tb__audit_operations = TB__OPERATIONS(rows);
