/* forget: what names a customer who has left goes: names with the first call, then some texts of refused lines,
 * blocks of logs and events with each. `next` is the entry in the audit log, and what there was to forget when it
 * began. */
#include <inttypes.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/retain.h"

static void put_forgotten(tb_reply *reply, const tb_forgotten *n)
{
    tb_buf_fmt(&reply->json,
               "{\"declared\":%" PRIu64 ",\"containers\":%" PRIu64 ",\"logBlocks\":%" PRIu64
               ",\"eventBlocks\":%" PRIu64 ",\"refused\":%" PRIu64 "}",
               n->declared, n->containers, n->log_blocks, n->event_blocks, n->refused);
}

static bool is_nothing(const tb_forgotten *n)
{
    return n->declared + n->containers + n->log_blocks + n->event_blocks + n->refused == 0;
}

static void say_forgotten(tb_reply *reply, int64_t account, const tb_forgotten *n, bool dry)
{
    if (is_nothing(n)) {
        tb_reply_say(reply, "Account %" PRId64 ": there is nothing left to forget.", account);
        return;
    }
    tb_reply_say(reply,
                 "Account %" PRId64 "%s: %s of the catalogue and its history, %s of containers, %s of "
                 "request logs, %s of shield events, %s.%s",
                 account, dry ? " would be forgotten" : " is forgotten",
                 TB__COUNTED(n->declared, "row"), TB__COUNTED(n->containers, "row"),
                 TB__COUNTED(n->log_blocks, "block"), TB__COUNTED(n->event_blocks, "block"),
                 TB__COUNTED(n->refused, "refused line"),
                 dry ? " Nothing changed."
                     : " Usage, invoices, the ledger and the audit log stay. Backups that were made before "
                       "still hold the names.");
}

static tb_code read_next(tb_forgotten *n, const char *next, tb_error *err)
{
    uint64_t *const counts[] = {&n->declared, &n->containers, &n->log_blocks, &n->event_blocks,
                                &n->refused};
    int64_t value = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!tb__next_number(&next, &value)) return tb__next_wrong(err);
        *counts[i] = (uint64_t)value;
    }
    return TB_OK;
}

static void put_next(tb_reply *reply, const tb__told *told, const tb_forgotten *n)
{
    tb_buf_fmt(&reply->next, "%" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, told->entry,
               n->declared, n->containers, n->log_blocks, n->event_blocks, n->refused);
}

static tb_code look_forgettable(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_forgotten n = {.declared = 0};
    tb_code code = tb_store_may_forget(ops->store, account, err);
    if (!code) code = tb_store_to_forget(ops->store, account, &n, err);
    if (code) return code;
    reply->settled = tb_arg_given(args, "dry-run") || (is_nothing(&n) && !args->next);
    if (!reply->settled) return TB_OK;
    put_forgotten(reply, &n);
    say_forgotten(reply, account, &n, true);
    return TB_OK;
}

#define REFUSED_AT_ONCE 8192

/* Names with the first call; with the last one those of an account that was declared again, and deleted, meanwhile.
 * Nobody knows whose a refused line is. *ret_room 0: there is more. */
static tb_code forget_some(tb_store *store, int64_t account, bool first, size_t *ret_room, tb_error *err)
{
    size_t lines = REFUSED_AT_ONCE, blocks = TB_FORGET_AT_ONCE;
    tb_code code = first ? tb_store_forget_declared(store, account, err) : TB_OK;
    if (!code) code = tb_store_forget_some_rejects(store, INT64_MAX, &lines, err);
    if (!code && lines) code = tb_store_forget_logs(store, account, &blocks, err);
    if (!code && lines) code = tb_store_forget_events(store, account, &blocks, err);
    *ret_room = lines ? blocks : 0;
    return code || first || !*ret_room ? code : tb_store_forget_declared(store, account, err);
}

static tb_code forget(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    const char *next = args->next;
    tb_forgotten all = {.declared = 0};
    tb__told told;
    size_t room = 0;
    tb_code code = tb__told_begin(ops, args, &next, &told, err);
    if (!code) code = tb_store_may_forget(ops->store, account, err);
    if (!code) code = next ? read_next(&all, next, err) : tb_store_to_forget(ops->store, account, &all, err);
    if (!code) code = forget_some(ops->store, account, !told.entry, &room, err);
    if (!code) code = tb__told_end(ops, args, &told, reply, err);
    if (code) return code;
    put_forgotten(reply, &all);
    if (!room) put_next(reply, &told, &all);
    else say_forgotten(reply, account, &all, false);
    return TB_OK;
}

static const tb_param params[] = {
    TB__PARAM_ACCOUNT(true, "the account; no catalogue may declare it any more"),
    {.name = "dry-run", .kind = TB_PARAM_FLAG, .help = "say what would go, and change nothing"},
};

static const tb_operation rows[] = {
    {.name = "forget",
     .summary = "Forget the names of a customer who has left",
     .details =
         "For an account that is marked deleted. Its name, its zones' names, hostnames and settings that\n"
         "are texts go, in all versions of the catalogue, and so do its containers, request logs, shield\n"
         "events, and the texts of all refused lines, as their account is unknown. Usage, invoices, the ledger\n"
         "and the audit log stay, as law asks, with the buyer's name and address in final invoices; their\n"
         "pages call zones \"forgotten\" from then on. Stored copies\n"
         "(backups, pieces of replication), names of log files and notes in the ledger are not touched, and an anchor from\n"
         "before no longer holds: take a new one. Names go first, lines, logs and events some at a time, so\n"
         "that other writes go on; after an interruption run it again. Doing it again changes nothing.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(params),
     .read = look_forgettable,
     .write = forget},
};
const tb__operations tb__forget_operations = TB__OPERATIONS(rows);
