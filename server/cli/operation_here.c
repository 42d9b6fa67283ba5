/* A command that is an operation runs here, on --db. */
#include "cli/operation_call.h"

#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/machine.h"
#include "cli/proof.h"
#include "cli/secret.h"
#include "cli/take.h"

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    op_call *o = ctx;
    const bool shown = o->progress.terminal || cli_given(o->call, "progress");
    o->counted |= total > 0;
    if (shown && total) meter_share(&o->progress, done, total);
    else if (shown && !o->counted && o->args.operation->slow && o->store)
        meter_check(&o->progress, tb_store_pages_read(o->store) + 1);
    return !op_is_stopped();
}

static tb_code drain(void *ctx, tb_buf *out, tb_error *err)
{
    op_call *o = ctx;
    return spool_take(&o->document, out, err);
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
    if (!code && ops->store && tb_operation_goes_on(&o->args, reply) && !op_is_stopped())
        write_beside(o, ops, reply);
    return code;
}

/* Drops the output of an operation that failed. */
static tb_code take_parts(op_call *o, tb_reply *reply, tb_error *err)
{
    op_say_lines(o, reply->said.data, reply->said.len);
    tb_code code = spool_take(&o->document, &reply->out, err);
    return code ? code : tb_args_next(&o->args, reply->next.data, reply->next.len, err);
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
    if (code == TB_E_STOPPED) status = op_interrupted(o);
    else if (code) status = reply.about ? op_fail_file(o, reply.about, &err) : op_fail_arg(o, &err);
    *ret_no |= reply.no;
    o->refused = !code && reply.refused.code;
    tb_reply_release(&reply);
    if (tb_operation_writes(&o->args) && !o->args.operation->unwritten)
        tb_store_checkpoint(ops->store, false);
    return code == TB_E_STOPPED ? status : op_failed(o, status);
}

static int run_steps(op_call *o, tb_ops *ops, bool *ret_no)
{
    int status;
    for (; (status = run_once(o, ops, ret_no)) == 0 && o->args.next; o->steps++)
        if (op_is_stopped()) return op_interrupted(o);
    return status;
}

static int run_open(op_call *o, tb_ops *ops)
{
    bool no = false;
    int status = open_store(o, ops);
    if (status == 0 && (status = op_open_folder(o)) != 0) tb_store_close(ops->store);
    if (status) return status;
    take_catch_signals();
    o->store = ops->store;
    meter_init(&o->progress, o->call->command->name);
    status = run_steps(o, ops, &no);
    status = op_end(o, status, no);
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
int op_run_here(op_call *o)
{
    char user[USER_ROOM];
    cli_secret secret = {.there = false};
    cli_proof_key proof = {.there = false};
    const tb_files files = {op_is_wanted, op_put_file, o};
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
