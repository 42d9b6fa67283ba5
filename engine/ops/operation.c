/* The table, and the one form that reading and writing have. A part that fails leaves nothing: the
 * snapshot ends, the transaction is rolled back. */
#include "ops/operations.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/prooflog.h"
#include "tollbook/forecast.h"
#include "tollbook/audit.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

static const tb__operations *const groups[] = {
    &tb__account_operations,  &tb__summary_operations,    &tb__alert_operations,
    &tb__audit_operations,    &tb__begin_operations,      &tb__book_operations,       &tb__catalog_operations, &tb__charge_operations,
    &tb__forecast_operations, &tb__forget_operations,     &tb__general_ledger_operations,
    &tb__intake_operations,   &tb__invoice_operations,  &tb__key_operations,        &tb__ledger_operations,
    &tb__meter_operations,    &tb__own_alert_operations, &tb__payment_operations,  &tb__percentile_operations, &tb__prepaid_operations,
    &tb__preview_operations,  &tb__proof_operations,  &tb__receivable_operations, &tb__refused_operations,   &tb__replica_operations, &tb__retain_operations,
    &tb__scenario_operations, &tb__setup_operations,      &tb__size_operations,
    &tb__solve_operations,    &tb__status_operations,     &tb__view_operations,       &tb__whatif_operations,
};

void tb_operations_start(void)
{
    tb_advice_start();
}

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
    tb_buf_init(&reply->warned, TB_REPLY_MAX, NULL);
    tb_buf_init(&reply->next, TB_REPLY_MAX, NULL);
    tb_buf_init(&reply->files, TB_REPLY_MAX, NULL);
}

static void wipe_buf(tb_buf *buf)
{
    if (buf->data) explicit_bzero(buf->data, buf->cap);
}

void tb_reply_release(tb_reply *reply)
{
    if (reply->keys) {
        wipe_buf(&reply->json);
        wipe_buf(&reply->out);
    }
    tb_buf_release(&reply->json);
    tb_buf_release(&reply->out);
    tb_buf_release(&reply->said);
    tb_buf_release(&reply->warned);
    tb_buf_release(&reply->next);
    tb_buf_release(&reply->files);
    if (reply->state && reply->release) reply->release(reply->state);
    reply->state = NULL;
}

static void add_said_line(tb_buf *to, const char *fmt, va_list args)
{
    char line[1024];
    const int n = vsnprintf(line, sizeof line, fmt, args);
    if (n < 0) return;
    tb_buf_add(to, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    tb_buf_str(to, "\n");
}

void tb_reply_say(tb_reply *reply, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_said_line(&reply->said, fmt, args);
    va_end(args);
}

void tb_reply_warn(tb_reply *reply, const char *fmt, ...)
{
    const size_t before = reply->said.len;
    va_list args;
    va_start(args, fmt);
    add_said_line(&reply->said, fmt, args);
    va_end(args);
    if (reply->said.len > before) tb_buf_add(&reply->warned, reply->said.data + before, reply->said.len - before);
}

void tb__print_json(tb_reply *reply)
{
    const tb_buf *json = &reply->json;
    tb_buf_add(&reply->out, json->data, json->len);
    if (!json->len || json->data[json->len - 1] != '\n') tb_buf_str(&reply->out, "\n");
}

void tb__put_cell(tb_buf *out, const char *text, size_t len)
{
    for (size_t at = 0, end = 0; at < len; at = end = end + 1) {
        while (end < len && (unsigned char)text[end] >= 0x20 && text[end] != 0x7f)
            end++;
        tb_buf_shown(out, text + at, end - at);
        if (end < len) tb_buf_str(out, " ");
    }
}

void tb__reply_said(const tb_reply *reply, tb_buf *out)
{
    const char *at = reply->said.data, *end = at + reply->said.len;
    tb_buf_str(out, "[");
    for (; at && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (at != reply->said.data) tb_buf_str(out, ",");
        tb_json_string(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
    tb_buf_str(out, "]");
}

void tb__put_refused(const tb_reply *reply, tb_buf *out)
{
    const tb_error *why = &reply->refused;
    if (!why->code) return;
    tb_buf_fmt(out, "\"ErrorKey\":\"%s\",\"Field\":\"%s\",\"Message\":", tb_code_key(why->code), why->field);
    tb_json_string(out, why->message, strlen(why->message));
    tb_buf_str(out, ",");
}

/* Room first: growing would leave a copy of a key behind. */
void tb_reply_json(const tb_reply *reply, tb_buf *out)
{
    tb_buf_room(out, reply->out.len + reply->said.len + reply->json.len + reply->files.len + 512);
    tb_buf_str(out, "{");
    tb__put_refused(reply, out);
    tb_buf_str(out, "\"out\":");
    tb_json_string(out, reply->out.data ? reply->out.data : "", reply->out.len);
    tb_buf_str(out, ",\"said\":");
    tb__reply_said(reply, out);
    tb_buf_str(out, ",\"answer\":");
    if (reply->json.len) tb_buf_add(out, reply->json.data, reply->json.len);
    else tb_buf_str(out, "null");
    if (reply->files.len) {
        tb_buf_str(out, ",\"files\":[");
        tb_buf_add(out, reply->files.data, reply->files.len);
        tb_buf_str(out, "]");
    }
    tb_buf_fmt(out, ",\"no\":%s,\"next\":", reply->no ? "true" : "false");
    tb_json_string(out, reply->next.data ? reply->next.data : "", reply->next.len);
    if (reply->entry) tb_buf_fmt(out, ",\"entry\":%" PRId64, reply->entry);
    tb_buf_str(out, "}");
}

/* Base64 is written in place of its room: the terminating zero is not part of it. */
static void keep_file(tb_reply *reply, const tb__made *file)
{
    const tb_buf *bytes = file->bytes;
    const size_t size = sodium_base64_ENCODED_LEN(bytes->len, sodium_base64_VARIANT_ORIGINAL);
    tb_buf *out = &reply->files;
    tb_buf_str(out, out->len ? ",{\"name\":" : "{\"name\":");
    tb_json_string(out, file->name, strlen(file->name));
    tb_buf_str(out, ",\"mark\":");
    tb_json_string(out, file->mark, strlen(file->mark));
    tb_buf_str(out, ",\"base64\":\"");
    char *at = tb_buf_room(out, size);
    if (!at) return;
    sodium_bin2base64(at, size, (const unsigned char *)bytes->data, bytes->len,
                      sodium_base64_VARIANT_ORIGINAL);
    out->len += size - 1;
    tb_buf_str(out, "\"}");
}

tb_code tb__reply_file(const tb_ops *ops, tb_reply *reply, const tb__made *file, tb_error *err)
{
    if (ops->files)
        return ops->files->put(ops->files->ctx, file->name, file->bytes->data, file->bytes->len, err);
    keep_file(reply, file);
    return TB_OK;
}

static tb_code check_reply(const tb_reply *reply, tb_error *err)
{
    const tb_buf *parts[] = {&reply->json, &reply->out, &reply->said, &reply->next, &reply->files};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i]->failed) continue;
        if (parts[i]->len < TB_REPLY_MAX / 2) return tb_buf_check(parts[i], err);
        return tb_fail(err, TB_E_TOO_MUCH, NULL,
                       "The answer is longer than %zu MiB. Ask for less at a time.",
                       TB_REPLY_MAX >> 20);
    }
    return TB_OK;
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

bool tb_operation_open(const tb_operation *operation, uint32_t roles, bool changes)
{
    const tb_access access = changes && operation->write_access ? operation->write_access : operation->access;
    return tb_roles_open(roles, access);
}

/* Where flags decide, one call either reads or writes. */
bool tb_operation_reads(const tb_args *args)
{
    const tb_operation *op = args->operation;
    return op->read && (!op->write_flags || !tb_operation_writes(args));
}

/* With the answer "no" nothing is written. */
bool tb_operation_goes_on(const tb_args *args, const tb_reply *reply)
{
    return !reply->no && !reply->settled && tb_operation_writes(args);
}

/* Whoever waits is asked within SQLite's work too, so that no reading outlasts them. */
typedef struct waiting {
    const tb_ops *ops;
    bool over;
} waiting;

static int is_over(void *ctx)
{
    waiting *w = ctx;
    if (!w->ops->step(w->ops->ctx, 0, 0)) w->over = true;
    return w->over;
}

static tb_code read_watched(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    waiting w = {.ops = ops};
    if (ops->step && ops->store) tb_store_watch(ops->store, is_over, &w);
    tb_code code = tb__read_formatted(ops, args, reply, err);
    if (ops->store) tb_store_watch(ops->store, NULL, NULL);
    return code && w.over ? tb_fail(err, TB_E_STOPPED, NULL, NULL) : code;
}

tb_code tb_operation_read(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = ops->store ? tb_store_read_begin(ops->store, err) : TB_OK;
    if (code) return code;
    code = read_watched(ops, args, reply, err);
    if (code) tb__say_more(args, reply, err);
    if (ops->store) tb_store_read_end(ops->store);
    return code ? code : check_reply(reply, err);
}

#define CLOCK_STEP_US (5 * 60 * TB_US_PER_S) /* what clocks may differ by, or be set back */

/* A declaration counts from the newest change on where the clock is a step behind it. *ret_behind: it is more. */
static tb_code find_moment(tb_ops *ops, const tb_args *args, int64_t *ret_newest_us, bool *ret_behind, tb_error *err)
{
    *ret_behind = false;
    if (!args->operation->declares) return TB_OK;
    tb_code code = tb_store_audit_moment(ops->store, ret_newest_us, err);
    if (code || ops->now_us >= *ret_newest_us) return code;
    *ret_behind = *ret_newest_us - ops->now_us > CLOCK_STEP_US;
    if (!*ret_behind) ops->now_us = *ret_newest_us;
    return TB_OK;
}

/* What held meanwhile would hold otherwise, and open months would be billed so. What was only tried says it. */
static tb_code refuse_backdated(const tb_ops *ops, int64_t newest_us, tb_reply *reply, tb_error *err)
{
    char now[20], newest[20];
    tb_time_format(ops->now_us, now);
    tb_time_format(newest_us, newest);
    if (reply->settled) {
        tb_reply_say(reply, "It needs --backdated: the clock says %.20s, and the newest change is of %.20s.", now, newest);
        return TB_OK;
    }
    return tb_fail(err, TB_E_CLOCK, "backdated",
                   "The clock says %.20s, and the newest change is of %.20s. Set the clock right, or give --backdated: then"
                   " it holds from %.20s on. See the changes with: tollbook audit", now, newest, now);
}

/* A checkpoint of what a write appended to the log of documents, once its last part is done. */
static tb_code sign_log(const tb_ops *ops, const tb_reply *reply, tb_error *err)
{
    tb_proof_log log;
    if (!ops->proof_key || reply->next.len) return TB_OK;
    tb_code code = tb_store_proof_log(ops->store, &log, err);
    return code || log.size == log.checkpoint ? code : tb_store_proof_sign(ops->store, ops->proof_key, err);
}

tb_code tb_operation_write(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const uint64_t before = tb_store_changes(ops->store);
    tb_ops at = *ops;
    int64_t newest_us = 0;
    bool behind = false;
    tb_code code = find_moment(&at, args, &newest_us, &behind, err);
    if (!code && (code = args->operation->write(&at, args, reply, err)) != TB_OK) tb__say_more(args, reply, err);
    if (!code) code = check_reply(reply, err);
    if (!code) code = sign_log(ops, reply, err);
    if (code || tb_store_changes(ops->store) == before) return code;
    if (behind && !tb_arg_given(args, "backdated")) return refuse_backdated(&at, newest_us, reply, err);
    if (reply->settled) return TB_OK;
    code = tb__audit(&at, args, err);
    return code ? code : tb_store_audit_newest(at.store, &reply->entry, err);
}

tb_code tb__put_accounts(tb_buf *out, const int64_t *accounts, size_t n, tb_error *err)
{
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "%s%" PRId64, i ? " " : "", accounts[i]);
    tb_buf_add(out, "", 1);
    return tb_buf_check(out, err);
}

tb_code tb__walk_accounts(const tb_ops *ops, tb__account_walk *walk, tb_error *err)
{
    tb_code code = TB_OK;
    int64_t account = 0;
    for (size_t i = 0; !code && *walk->left && (ops->drain || i < walk->most); i++) {
        if (!tb__next_number(&walk->left, &account)) return tb__next_wrong(err);
        code = walk->look(walk->ctx, account, err);
        if (!code && ops->drain) code = ops->drain(ops->ctx, walk->out, err);
        if (!code && ops->step && !ops->step(ops->ctx, walk->done + i + 1, walk->total))
            code = tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    return code;
}

typedef struct writing {
    tb_ops *ops;
    const tb_args *args;
    tb_reply *reply;
} writing;

static tb_code write_in(tb_store *store, void *ctx, tb_error *err)
{
    const writing *w = ctx;
    (void)store;
    return tb_operation_write(w->ops, w->args, w->reply, err);
}

tb_code tb_operation_write_alone(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    return tb_store_write(ops->store, write_in, &(writing){ops, args, reply}, err);
}

tb_code tb_operation_run(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = TB_OK;
    tb_error own;
    if (!err) err = &own; /* its sentence may be said */
    if (tb_operation_reads(args)) code = tb_operation_read(ops, args, reply, err);
    if (code || !tb_operation_goes_on(args, reply)) return code;
    code = tb_operation_write_alone(ops, args, reply, err);
    if (!code || !args->operation->unwritten) return code;
    tb_reply_say(reply, "%s: %s", args->operation->unwritten, err->message);
    return TB_OK;
}
