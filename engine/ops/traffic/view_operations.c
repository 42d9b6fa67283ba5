/* stats, usage: the answers of the statistics and load balancer endpoints. verify, anchor: whether
 * everything stored still agrees, and a digest to ask that by later. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "ops/proof/against.h"
#include "tollbook/answer.h"
#include "tollbook/statistics.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"
#include "tollbook/operation.h"

/* --- stats --- */

static tb_answer_kind kind_of(const tb_args *args)
{
    for (int kind = 0; kind < TB_ANSWER_KINDS_; kind++)
        if (tb_arg_is(args, "kind", tb_answer_name((tb_answer_kind)kind)))
            return (tb_answer_kind)kind;
    return TB_ANSWER_STATISTICS;
}

static tb_text text_of(const tb_args *args, const char *name)
{
    const tb_arg *arg = tb_arg_of(args, name);
    return arg ? arg->text : (tb_text){NULL, 0};
}

static tb_code check_kind(const tb_args *args, tb_answer_kind kind, tb_error *err)
{
    if (kind == TB_ANSWER_STATISTICS) return TB_OK;
    if (!tb_arg_given(args, "zone"))
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "These figures belong to a pull zone. Give --zone ID.");
    if (tb_arg_given(args, "exact") || tb_arg_given(args, "latest"))
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "--exact and --latest need --kind statistics.");
    return TB_OK;
}

static tb_code read_range(const tb_args *args, tb_answer_kind kind, int64_t now_us,
                          tb_range *ret_range, tb_error *err)
{
    tb_error why;
    const tb_range_query query = {.from = text_of(args, "from"),
                                  .to = text_of(args, "to"),
                                  .hourly = tb_arg_given(args, "hourly"),
                                  .exact = tb_arg_given(args, "exact"),
                                  .latest = tb_arg_given(args, "latest"),
                                  .statistics = kind == TB_ANSWER_STATISTICS};
    tb_code code = tb_range_resolve(&query, now_us, ret_range, &why);
    if (!code) return TB_OK;
    const char *name = strcmp(why.field, "dateTo") == 0 ? "to" : "from", *text = tb_arg_text(args, name);
    if (text && strstr(why.message, "earlier than dateFrom"))
        return tb_fail(err, code, name, "\"%.40s\" is earlier than --from.", text);
    if (strstr(why.message, "loadLatest"))
        return tb_fail(err, code, "from", "--latest needs --from or --to.");
    const bool spelling = text && strncmp(why.message, "The value is not", 16) == 0;
    return spelling ? tb_fail(err, code, name, "\"%.40s\": %s", text, why.message) : tb_fail(err, code, name, "%s", why.message);
}

static tb_code stats(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_answer_kind kind = kind_of(args);
    const tb_view view = {.account = tb_arg_number(args, "account", 0),
                          .zone = tb_arg_number(args, "zone", TB_ALL),
                          .region = TB_ALL};
    tb_range range = {.count = 0};
    tb_code code = check_kind(args, kind, err);
    if (!code) code = read_range(args, kind, ops->now_us, &range, err);
    if (!code) code = tb_store_need_account(ops->store, view.account, err);
    if (!code)
        code = tb_statistics_in(ops->store, &(tb_statistics_query){view, range, kind}, ops->now_us, NULL,
                                &reply->json, err);
    if (!code) tb__print_answer(args, reply);
    return code;
}

/* --- usage --- */

static tb_code usage(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t month = tb_arg_number(args, "month", tb_month_from_us(ops->now_us));
    tb_code code = tb_usage_answer(ops->store, 0, tb_arg_number(args, "balancer", 0), month,
                                   ops->now_us, &reply->json, err);
    if (!code) tb__print_answer(args, reply);
    return code;
}

/* --- verify, anchor --- */

/* What verify finds: differences go to the answer as they come, notes behind them. */
typedef struct finding {
    tb_reply *reply;
    tb_buf notes; /* strings of JSON, each with a comma before it but the first */
    bool csv;
} finding;

static void say_finding(void *ctx, const char *sentence)
{
    finding *f = ctx;
    const bool note = strncmp(sentence, TB_NOTE, strlen(TB_NOTE)) == 0;
    tb_buf *json = note ? &f->notes : &f->reply->json;
    const char *text = note ? sentence + strlen(TB_NOTE) : sentence;
    if (json->len && json->data[json->len - 1] != '[') tb_buf_str(json, ",");
    tb_json_string(json, text, strlen(text));
    if (!note || !f->csv) tb_buf_fmt(&f->reply->out, "%s\n", sentence);
}

/* What was kept elsewhere: a digest of `anchor`, a checkpoint of the log of documents, or both, as `anchor` prints them. */
typedef struct kept_elsewhere {
    char digest[TB_ANCHOR_MAX]; /* "": none */
    tb_text checkpoint;         /* data NULL: none */
} kept_elsewhere;

static tb_code read_against(const tb_args *args, kept_elsewhere *ret, tb_error *err)
{
    const char *text = tb_arg_text(args, "against");
    tb_text digest;
    tb_error why;
    *ret = (kept_elsewhere){.digest = ""};
    if (!text) return TB_OK;
    tb__against_split((tb_text){text, strlen(text)}, &digest, &ret->checkpoint);
    if (!digest.data) return TB_OK;
    const size_t len = digest.len < TB_ANCHOR_MAX ? digest.len : TB_ANCHOR_MAX - 1;
    snprintf(ret->digest, TB_ANCHOR_MAX, "%.*s", (int)len, digest.data);
    if (!tb_anchor_check(ret->digest, &why)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "against", "\"%.40s\": %s", ret->digest, why.message);
}

/* store NULL: whether they can be read. */
static tb_code compare_checkpoint(const tb_ops *ops, tb_store *store, const tb_args *args, const kept_elsewhere *kept, finding *f,
                                  uint64_t *differences, tb_error *err)
{
    const tb__against against = {.vkey = tb_arg_text(args, "vkey"), .key = ops->proof_key ? &ops->proof_key->key : NULL,
                                 .say = say_finding, .ctx = f};
    tb_error why = {0};
    if (!kept->checkpoint.data) return TB_OK;
    const tb_code code = tb__against_checkpoint(store, kept->checkpoint, &against, differences, &why);
    return code ? tb_fail(err, code, strcmp(why.field, "vkey") == 0 ? "vkey" : "against", "%s", why.message) : TB_OK;
}

static tb_code compare(tb_ops *ops, const tb_args *args, const kept_elsewhere *kept, finding *f, uint64_t *differences, tb_error *err)
{
    uint64_t more = 0;
    tb_code code = *kept->digest ? tb_store_verify_against(ops->store, kept->digest, say_finding, f, &more, err) : TB_OK;
    *differences += more;
    return code ? code : compare_checkpoint(ops, ops->store, args, kept, f, differences, err);
}

static tb_code verify(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    kept_elsewhere kept;
    tb_closings_checked closings = {.all = tb_arg_given(args, "all")};
    uint64_t differences = 0;
    tb_code code = read_against(args, &kept, err);
    if (!code) code = compare_checkpoint(ops, NULL, args, &kept, NULL, &differences, err);
    if (code) return code;
    finding f = {.reply = reply, .csv = tb_arg_is(args, "format", "csv")};
    tb_buf_init(&f.notes, TB_REPLY_MAX, NULL);
    tb_buf_str(&reply->json, "{\"differences\":[");
    if (f.csv) tb_buf_str(&reply->out, "difference\n");
    code = tb__verify_in(ops->store, &closings, say_finding, &f, &differences, err);
    if (!code) code = compare(ops, args, &kept, &f, &differences, err);
    tb_buf_str(&reply->json, "],\"notes\":[");
    tb_buf_add(&reply->json, f.notes.data, f.notes.len);
    tb_buf_str(&reply->json, "]}");
    if (!code && f.notes.failed) code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    tb_buf_release(&f.notes);
    if (code) return code;
    if (closings.by_hash)
        tb_reply_say(reply, "%s worked out again, %s checked by hash alone%s.",
                     TB__COUNTED(closings.again, "closing"), TB__COUNTED(closings.by_hash, "closing"),
                     closings.all ? "" : " (--all works out older months too)");
    reply->no = differences > 0;
    if (!differences && !f.csv) tb_buf_str(&reply->out, "no differences.\n");
    tb__print_answer(args, reply);
    if (!differences) return TB_OK;
    tb_reply_say(reply,
                 "%s. If a line says what to do, do that. For the others, restore a backup and "
                 "ingest what came after it.",
                 TB__COUNTED(differences, "difference"));
    return TB_OK;
}

static tb_code anchor(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    char digest[TB_ANCHOR_MAX], moment[20];
    tb_buf note;
    (void)args;
    tb_code code = tb_store_anchor(ops->store, digest, err);
    if (code) return code;
    tb_buf_init(&note, TB_NOTE_MAX, NULL);
    code = tb_store_proof_checkpoint(ops->store, &note, err);
    tb_time_format(ops->now_us, moment);
    tb_buf_fmt(&reply->out, "%s %.20s\n", digest, moment);
    tb_buf_fmt(&reply->json, "{\"digest\":\"%s\",\"time\":\"%.20s\"", digest, moment);
    if (!code) {
        tb_buf_add(&reply->out, note.data, note.len);
        tb_buf_str(&reply->json, ",\"checkpoint\":");
        tb_json_string(&reply->json, note.data, note.len);
    }
    tb_buf_str(&reply->json, "}");
    tb_buf_release(&note);
    return code == TB_E_NOT_FOUND ? TB_OK : code; /* no log, or nothing signed yet */
}

/* --- the rows --- */

static const tb_param stats_params[] = {
    TB__PARAM_ACCOUNT(true, "the account"),
    {.name = "zone", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT64_MAX,
     .help = "one of its pull zones; default all", .list = TB__LIST_ZONES},
    {.name = "from", .value = "D", .kind = TB_PARAM_TEXT, .help = "first day or moment, UTC"},
    {.name = "to", .value = "D", .kind = TB_PARAM_TEXT, .help = "last day or moment, UTC"},
    {.name = "hourly", .kind = TB_PARAM_FLAG, .help = "buckets of an hour instead of a day"},
    {.name = "exact", .kind = TB_PARAM_FLAG,
     .help = "with --hourly: the hours given, not whole days"},
    {.name = "latest", .kind = TB_PARAM_FLAG, .help = "at most 24 hours, of any age"},
    {.name = "kind", .value = "statistics|optimizer|queue|safehop", .kind = TB_PARAM_CHOICE,
     .help = "which figures; all but the first need --zone; default statistics"},
    TB__PARAM_FORMAT(TB__FORMATS),
};
static const tb_param usage_params[] = {
    {.name = "balancer", .value = "ID", .kind = TB_PARAM_NUMBER, .required = true, .min = 1,
     .max = INT64_MAX, .help = "the load balancer", .list = TB__LIST_BALANCERS},
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH,
     .help = "UTC; default the running month"},
    TB__PARAM_FORMAT(TB__FORMATS),
};
static const tb_param verify_params[] = {
    {.name = "all", .kind = TB_PARAM_FLAG,
     .help = "work out closings of all months again, not of the last three alone"},
    {.name = "against", .value = "DIGEST|FILE", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_NOTE_MAX + TB_ANCHOR_MAX + 32, .file = true,
     .help = "what `tollbook anchor` printed, or a checkpoint: what it covered must still be there, unchanged"},
    {.name = "vkey", .value = "VKEY", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_NOTE_VKEY,
     .help = "the log's key, which has to have signed the checkpoint; `tollbook proof vkey` prints it"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "stats",
     .summary = "Print what the statistics endpoint answers",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(stats_params),
     .read = stats},
    {.name = "usage",
     .summary = "Print what the load balancer usage endpoint answers",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(usage_params),
     .read = usage},
    {.name = "verify",
     .summary = "Check everything stored against itself",
     .details = "Prints a sentence for each difference; exit status 1 if there was one. On a terminal it\n"
                "shows how far it is.\n"
                "--against also finds changes by somebody who recomputed all checksums. With\n"
                "--server the running server does it, in 20 seconds or not at all.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(verify_params),
     .read = verify,
     .slow = true},
    {.name = "anchor",
     .summary = "Print a digest of everything append-only, to keep elsewhere",
     .details = "Prints the digest, a space and the time, and behind that the newest checkpoint of the\n"
                "log of documents, if there is one. `tollbook verify --against DIGEST`, or with a file of all that,\n"
                "tells later whether invoices, the ledger, inputs, books, what was declared and\n"
                "keys are still the same; what was added since is not a difference. It only\n"
                "reads, so it also works beside a running server and on a backup.",
     .access = TB_ACCESS_READ,
     .read = anchor},
};
const tb__operations tb__view_operations = TB__OPERATIONS(rows);
