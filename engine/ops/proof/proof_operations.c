/* proof: the log of documents of a database, from which customers prove their bills. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "ops/operations.h"
#include "tollbook/bundle.h"
#include "tollbook/calendar.h"
#include "tollbook/check.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"
#include "tollbook/prooflog.h"
#include "tollbook/tollproof.h"

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

/* Whether a start was cut off before the terms of all old documents were there. So it seems too where some can no longer be made. */
static tb_code was_cut_off(tb_store *store, bool *ret, tb_error *err)
{
    tb_proof_log log;
    int64_t *places = NULL;
    size_t n = 0;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (!code && log.begun) code = tb_store_proof_termless(store, 0, 1, &places, &n, err);
    free(places);
    *ret = n != 0;
    return code;
}

static tb_code begin_log(const tb_ops *ops, tb_error *err)
{
    uint8_t random[TB_PROOF_SEED];
    bool begun;
    tb_code code = was_cut_off(ops->store, &begun, err);
    if (code || begun) return code;
    if (!ops->random) return tb_fail(err, TB_E_INTERNAL, NULL, "There are no random bytes here, which a log of documents begins with.");
    ops->random(random, sizeof random);
    return tb_store_proof_start(ops->store, random, ops->now_us, err);
}

/* Terms of a document that is older than the log; none where they can no longer be made. */
static tb_code add_terms(const tb_ops *ops, int64_t place, tb_error *err)
{
    tb_invoice invoice;
    tb_buf terms;
    tb_error why = {.code = TB_OK};
    tb_code code = tb_store_issued_at(ops->store, place, &invoice, err);
    if (code) return code;
    tb_buf_init(&terms, TB_TERMS_MAX, NULL);
    code = tb__issue_terms_again(ops->store, &invoice, &terms, &why);
    if (!code) code = tb_store_proof_terms(ops->store, &invoice, (tb_text){terms.data, terms.len}, &why);
    tb_buf_release(&terms);
    tb_invoice_release(&invoice);
    if (code == TB_E_NOT_KEPT) return TB_OK;
    return code ? tb_fail(err, code, why.field, "%s", why.message) : TB_OK;
}

#define OF_ONE_CALL 50 /* documents, where others wait for the thread */

/* *place: of the last one that was looked at; *ret_more: others are left. */
static tb_code add_old_terms(const tb_ops *ops, int64_t *place, bool *ret_more, tb_error *err)
{
    const size_t most = ops->shared ? OF_ONE_CALL : 1000;
    int64_t *places = NULL;
    size_t n = 0;
    tb_code code = tb_store_proof_termless(ops->store, *place, most, &places, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = add_terms(ops, *place = places[i], err);
    free(places);
    *ret_more = n == most;
    return code;
}

static tb_code run(tb_ops *ops, const tb_args *args, int64_t through, bool start, tb_reply *reply, tb_error *err)
{
    const char *next = args->next;
    bool more = false;
    int64_t place = 0;
    tb__told told;
    tb_code code = tb__told_begin(ops, args, &next, &told, err);
    if (!code && next && !tb__next_number(&next, &place)) code = tb__next_wrong(err);
    if (!code && start && !args->next) code = begin_log(ops, err);
    if (!code) code = tb_store_proof_close(ops->store, through, ops->shared ? LOOKED_SHARED : LOOKED_ALONE, &more, err);
    if (!code && start && !more) code = add_old_terms(ops, &place, &more, err);
    if (!code) code = tb__told_end(ops, args, &told, reply, err);
    if (!code && !more) return put_answer(ops, reply, err);
    if (!code) tb_buf_fmt(&reply->next, "%" PRId64 " %" PRId64, told.entry, place);
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

/* --- what customers check with --- */

#define PIECE ((size_t)8 << 20)

/* Long ones go piece by piece where the reply is drained. */
static tb_code put_long(const tb_ops *ops, tb_reply *reply, const tb_buf *text, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t at = 0; !code && at < text->len; at += PIECE) {
        tb_buf_add(&reply->out, text->data + at, text->len - at > PIECE ? PIECE : text->len - at);
        code = tb_buf_check(&reply->out, err);
        if (!code && ops->drain) code = ops->drain(ops->ctx, &reply->out, err);
    }
    return code;
}

static tb_code show_bundle(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_bundle_ask ask = {.account = ops->account, .number = tb_arg_text(args, "number"),
                               .since = tb_arg_number(args, "since", TB_PROOF_SINCE_NONE)};
    tb_buf text;
    tb_buf_init(&text, ops->drain ? TB_TOLLPROOF_MAX : TB_REPLY_MAX, NULL);
    tb_code code = tb_proof_bundle(ops->store, &ask, &text, err);
    if (!code) code = put_long(ops, reply, &text, err);
    tb_buf_release(&text);
    return code;
}

static tb_code show_receipts(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_buf text;
    tb_buf_init(&text, ops->drain ? TB_TOLLPROOF_MAX : TB_REPLY_MAX, NULL);
    tb_code code = tb_store_need_account(ops->store, account, err);
    if (!code) code = tb_proof_receipts(ops->store, account, tb_arg_number(args, "month", 0), &text, err);
    if (!code) code = put_long(ops, reply, &text, err);
    tb_buf_release(&text);
    return code;
}

static const tb_param bundle_params[] = {
    {.name = "number", .value = "NUMBER", .kind = TB_PARAM_TEXT, .required = true, .min = 1, .max = 23, .help = "the document's number"},
    {.name = "since", .value = "SIZE", .kind = TB_PARAM_NUMBER, .min = 0, .max = INT64_MAX,
     .help = "prove too that the log only grew since it had this many entries"},
};

static const tb_param receipt_params[] = {
    {.name = "account", .value = "ID", .kind = TB_PARAM_NUMBER, .required = true, .min = 1, .max = INT64_MAX, .list = "account list",
     .help = "the account"},
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true, .help = "the month"},
};

static const tb_param close_params[] = {
    {.name = "through", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "close days through this one; default: yesterday, in UTC"},
};

static const tb_operation rows[] = {
    {.name = "proof start",
     .summary = "Begin the log of documents, from which customers prove their bills",
     .details = "What is there comes in first: price books, final documents, voids, and the usage of each day that is\n"
                "over. From then on each command that makes such a thing appends it in the same transaction. What is\n"
                "appended stays; a log cannot be ended. If it is cut off, run it again: it goes on.",
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
    {.name = "proof bundle",
     .summary = "Write the bundle of a document, with which its customer checks it",
     .details = "One JSON file: the document, the terms and price books that it was rated by, the usage of each day, and\n"
                "their proofs under the newest checkpoint. `tollbook-check FILE` rates it again.",
     .access = TB_ACCESS_READ,
     .slow = true,
     TB__PARAMS(bundle_params),
     .read = show_bundle},
    {.name = "proof receipts",
     .summary = "Write the receipts of an account's days of a month, before they are billed",
     .details = "The usage of each closed day with its proof under the newest checkpoint. A day that changed after it was\n"
                "closed comes with the next close.",
     .access = TB_ACCESS_READ,
     .slow = true,
     TB__PARAMS(receipt_params),
     .read = show_receipts},
};
const tb__operations tb__proof_operations = TB__OPERATIONS(rows);
