/* replica: how the file's replication stands, which standbys are listed, and its end. It begins with `serve --replicas`. */
#include <inttypes.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/json.h"
#include "tollbook/replica.h"

static void put_digest(tb_buf *out, const uint8_t chain[TB_PIECE_CHAIN])
{
    for (int i = 0; i < TB_PIECE_CHAIN; i++)
        tb_buf_fmt(out, "%02x", chain[i]);
}

static tb_code put_follower(const tb_ops *ops, const tb_follower *one, bool first, tb_reply *reply, tb_error *err)
{
    int64_t lag_us;
    tb_code code = tb_store_replica_lag(ops->store, one->piece, ops->now_us, &lag_us, err);
    if (code) return code;
    tb_buf_str(&reply->json, first ? "{\"name\":" : ",{\"name\":");
    tb_json_string(&reply->json, one->name, strlen(one->name));
    tb_buf_fmt(&reply->json, ",\"promotable\":%s,\"piece\":%" PRId64 ",\"lag_ms\":%" PRId64 "}",
               one->promotable ? "true" : "false", one->piece, lag_us / 1000);
    tb_buf_fmt(&reply->out, "%s\t%s, ", one->name, one->promotable ? "promotable" : "read replica");
    if (one->piece) tb_buf_fmt(&reply->out, "has piece %" PRId64 ", %" PRId64 " ms behind\n", one->piece, lag_us / 1000);
    else tb_buf_str(&reply->out, "has not asked\n");
    return TB_OK;
}

/* Without a server the file knows the names alone. */
static tb_code list_standbys(tb_store *store, tb_follower list[TB_STANDBYS_MAX], tb_replica_server *ret, tb_error *err)
{
    tb_standby standbys[TB_STANDBYS_MAX];
    tb_code code = tb_store_standbys(store, standbys, &ret->n_followers, err);
    if (code) return code;
    for (size_t i = 0; i < ret->n_followers; i++) {
        list[i] = (tb_follower){.promotable = true};
        memcpy(list[i].name, standbys[i].name, sizeof list[i].name);
    }
    ret->followers = list;
    return TB_OK;
}

static void put_file(const tb_replication *now, const tb_replica_server *server, tb_buf *out)
{
    tb_buf_fmt(out, "what\tvalue\nrole\t%s\nepoch\t%" PRId64 "\npiece\t%" PRId64 "\nversion\t%" PRId64 "\nkept\t", server->role,
               now->last.epoch, now->last.number, now->last.version);
    tb_buf_fmt(out, "pieces %" PRId64 " to %" PRId64 ", %" PRId64 " bytes\ndigest\t", now->first, now->last.number, now->bytes);
    put_digest(out, now->last.chain);
    tb_buf_str(out, "\n");
}

static tb_code show_status(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_replica_server none = {.role = "primary"};
    const tb_replica_server *server = ops->replica ? ops->replica : &none;
    tb_follower listed[TB_STANDBYS_MAX];
    tb_replication now;
    tb_code code = tb_store_replication(ops->store, &now, err);
    if (!code && !now.last.number) code = tb_fail(err, TB_E_REPLICA_OFF, NULL, NULL);
    if (!code && !ops->replica) code = list_standbys(ops->store, listed, &none, err);
    if (!code && (now.superseded || now.copied)) none.role = now.superseded ? "superseded" : "standby";
    if (code) return code;
    put_file(&now, server, &reply->out);
    tb_buf_fmt(&reply->json,
               "{\"role\":\"%s\",\"epoch\":%" PRId64 ",\"piece\":%" PRId64 ",\"version\":%" PRId64 ",\"standbys\":[", server->role,
               now.last.epoch, now.last.number, now.last.version);
    for (size_t i = 0; !code && i < server->n_followers; i++)
        code = put_follower(ops, &server->followers[i], i == 0, reply, err);
    tb_buf_fmt(&reply->json, "],\"lag_ms\":%" PRId64 ",\"digest\":\"", server->lag_us / 1000);
    put_digest(&reply->json, now.last.chain);
    tb_buf_str(&reply->json, "\"}");
    tb__print_answer(args, reply);
    return code;
}

static tb_code drop_standby(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_standby left[TB_STANDBYS_MAX];
    size_t n;
    const tb_arg *name = tb_arg_nth(args, "name", 0);
    tb_code code = tb_store_standby_drop(ops->store, name->text.data, err);
    if (!code) code = tb_store_standbys(ops->store, left, &n, err);
    if (code) return code;
    tb_buf_fmt(&reply->json, "{\"standbys\":%zu}", n);
    tb_reply_say(reply, "%s is no longer listed: no answer waits for it. It is listed again if it asks with --promotable.",
                 name->text.data);
    if (!n) tb_reply_say(reply, "No standby is listed now. With --acknowledge-after standby no write is acknowledged until one is, "
                                "except with --standby-absent continue.");
    return TB_OK;
}

static tb_code switch_off(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_replication now;
    (void)args;
    if (ops->shared)
        return tb_fail(err, TB_E_USAGE, NULL, "Replication ends while no server runs: stop it, then run `replica off --db FILE`.");
    tb_code code = tb_store_replication(ops->store, &now, err);
    if (!code && !now.last.number) code = tb_fail(err, TB_E_REPLICA_OFF, NULL, NULL);
    if (!code) code = tb_store_replicate_end(ops->store, err);
    if (code) return code;
    tb_buf_fmt(&reply->json, "{\"pieces\":%" PRId64 "}", now.last.number - now.first + 1);
    tb_reply_say(reply, "Replication is off, and its pieces are deleted. Copies that follow this file begin from a new base.");
    return TB_OK;
}

static const tb_param status_params[] = {
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_param drop_params[] = {
    {.name = "name",
     .value = "NAME",
     .kind = TB_PARAM_TEXT,
     .operand = true,
     .required = true,
     .min = 1,
     .max = TB_FOLLOWER_NAME,
     .help = "the standby, as replica status lists it"},
};

static const tb_operation rows[] = {
    {.name = "replica status",
     .summary = "Show how replication stands: its newest piece, and who follows",
     .details = "A file is replicated once it was served with --replicas. Standbys that may take the primary's\n"
                "place are listed in the file until they are dropped. With --server the copies that asked within\n"
                "the last hour are listed too, with the last piece that each has, and for how long it has lacked\n"
                "the next one.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(status_params),
     .read = show_status},
    {.name = "replica drop",
     .summary = "Take a standby that is gone for good out of the list",
     .details = "Answers to writes wait for it no longer (serve --acknowledge-after standby), and it must not take the\n"
                "primary's place: it may lack what is acknowledged from now on. Stop it first, as one that asks with\n"
                "--promotable is listed again.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(drop_params),
     .write = drop_standby},
    {.name = "replica off",
     .summary = "Switch replication off and delete its pieces",
     .details = "Commits make no pieces any more. Copies that follow the file stop, and begin from a new base\n"
                "once it is served with --replicas again. No server may run meanwhile.",
     .access = TB_ACCESS_OPERATOR,
     .write = switch_off},
};
const tb__operations tb__replica_operations = TB__OPERATIONS(rows);
