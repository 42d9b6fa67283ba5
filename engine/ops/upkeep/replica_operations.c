/* replica: how the file's replication stands, and its end. It begins with `serve --replicas`. */
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
    tb_buf_fmt(&reply->out, "%s\t%s, has piece %" PRId64 ", %" PRId64 " ms behind\n", one->name,
               one->promotable ? "promotable" : "read replica", one->piece, lag_us / 1000);
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
    static const tb_replica_server none = {.role = "primary"};
    const tb_replica_server *server = ops->replica ? ops->replica : &none;
    tb_replication now;
    tb_code code = tb_store_replication(ops->store, &now, err);
    if (!code && !now.last.number) code = tb_fail(err, TB_E_REPLICA_OFF, NULL, NULL);
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

static const tb_operation rows[] = {
    {.name = "replica status",
     .summary = "Show how replication stands: its newest piece, and who follows",
     .details = "A file is replicated once it was served with --replicas. With --server the copies that follow\n"
                "are listed: those that asked within the last hour, the last piece that each has, and for how\n"
                "long it has lacked the next one.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(status_params),
     .read = show_status},
    {.name = "replica off",
     .summary = "Switch replication off and delete its pieces",
     .details = "Commits make no pieces any more. Copies that follow the file stop, and begin from a new base\n"
                "once it is served with --replicas again. No server may run meanwhile.",
     .access = TB_ACCESS_OPERATOR,
     .write = switch_off},
};
const tb__operations tb__replica_operations = TB__OPERATIONS(rows);
