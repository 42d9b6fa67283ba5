/* proof: the log of documents of a database, from which customers prove their bills. */
#include <inttypes.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/prooflog.h"

#define LOOKED_SHARED 200   /* accounts' days of one call, where others wait for the thread */
#define LOOKED_ALONE  20000

static void day_text(int64_t day, char ret[20])
{
    tb_time_format(day * TB_US_PER_DAY, ret);
}

static tb_code put_answer(const tb_ops *ops, tb_reply *reply, tb_error *err)
{
    tb_proof_log log;
    tb_merkle_hash root;
    char text[TB_MERKLE_BASE64], open[20];
    int64_t size;
    tb_code code = tb_store_proof_log(ops->store, &log, err);
    if (!code) code = tb_store_proof_root(ops->store, &size, &root, err);
    if (code) return code;
    tb_merkle_write(&root, text);
    day_text(log.open, open);
    tb_buf_fmt(&reply->json, "{\"size\":%" PRId64 ",\"root\":\"%s\",\"open\":\"%.10s\"}", log.size, text, open);
    tb_reply_say(reply, "The log of documents has %" PRId64 " %s. Days before %.10s are closed.", log.size,
                 log.size == 1 ? "entry" : "entries", open);
    return TB_OK;
}

static tb_code begin_log(const tb_ops *ops, tb_error *err)
{
    uint8_t random[TB_PROOF_SEED];
    if (!ops->random) return tb_fail(err, TB_E_INTERNAL, NULL, "There are no random bytes here, which a log of documents begins with.");
    ops->random(random, sizeof random);
    return tb_store_proof_start(ops->store, random, ops->now_us, err);
}

static tb_code run(tb_ops *ops, const tb_args *args, int64_t through, bool start, tb_reply *reply, tb_error *err)
{
    const char *next = args->next;
    bool more = false;
    tb__told told;
    tb_code code = tb__told_begin(ops, args, &next, &told, err);
    if (!code && start && !args->next) code = begin_log(ops, err);
    if (!code) code = tb_store_proof_close(ops->store, through, ops->shared ? LOOKED_SHARED : LOOKED_ALONE, &more, err);
    if (!code) code = tb__told_end(ops, args, &told, reply, err);
    if (!code && !more) return put_answer(ops, reply, err);
    if (!code) tb_buf_fmt(&reply->next, "%" PRId64, told.entry);
    return code;
}

static tb_code start_log(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    return run(ops, args, tb_day_from_us(ops->now_us) - 1, true, reply, err);
}

static tb_code close_log(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t yesterday = tb_day_from_us(ops->now_us) - 1;
    int64_t through_us = yesterday * TB_US_PER_DAY;
    tb_code code = tb_arg_moment(args, "through", &through_us, err);
    if (!code && tb_day_from_us(through_us) > yesterday)
        code = tb_fail(err, TB_E_VALIDATION, "through", "That day is not over. The last day that can be closed is yesterday, in UTC.");
    return code ? code : run(ops, args, tb_day_from_us(through_us), false, reply, err);
}

static tb_code show_checkpoint(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = tb_store_proof_checkpoint(ops->store, &reply->out, err);
    (void)args;
    if (code) return code;
    tb_buf_str(&reply->json, "{\"checkpoint\":");
    tb_json_string(&reply->json, reply->out.data, reply->out.len);
    tb_buf_str(&reply->json, "}");
    return TB_OK;
}

static const tb_param close_params[] = {
    {.name = "through", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "close days through this one; default: yesterday, in UTC"},
};

static const tb_operation rows[] = {
    {.name = "proof start",
     .summary = "Begin the log of documents, from which customers prove their bills",
     .details = "What is there comes in first: price books, final documents, voids, and the usage of each day that is\n"
                "over. From then on each command that makes such a thing appends it in the same transaction. What is\n"
                "appended stays; a log cannot be ended. If it is cut off, `proof close-days` goes on.",
     .access = TB_ACCESS_OPERATOR,
     .slow = true,
     .write = start_log},
    {.name = "proof close-days",
     .summary = "Append the usage of days that are over to the log of documents",
     .details = "A day of an account is an entry. Days that changed since they were closed are appended again, and name\n"
                "their first entry. With --proof-key-file a checkpoint is signed at the end.",
     .access = TB_ACCESS_OPERATOR,
     .slow = true,
     TB__PARAMS(close_params),
     .write = close_log},
    {.name = "proof checkpoint",
     .summary = "Print the newest signed checkpoint of the log of documents",
     .details = "A checkpoint is a signed note (c2sp.org/tlog-checkpoint): the log's name, its size, its root.",
     .access = TB_ACCESS_READ,
     .read = show_checkpoint},
};
const tb__operations tb__proof_operations = TB__OPERATIONS(rows);
