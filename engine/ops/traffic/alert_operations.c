/* alerts: what was raised, and the messages that say so, with what came of sending them. Looking at the
 * alerts is a long operation: some accounts a call, each with its own commit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/alerts.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#define LIST_USUAL "1000"

/* --- the list --- */

static void put_string(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    tb_json_string(out, text, strlen(text));
}

/* "" and null where it has not come. */
static void put_time(tb_reply *reply, const char *name, int64_t us)
{
    char text[21] = "";
    if (us != INT64_MAX) tb_time_format(us, text);
    tb_buf_fmt(&reply->out, "\t%.20s", text);
    tb_buf_fmt(&reply->json, ",\"%s\":", name);
    if (text[0]) tb_buf_fmt(&reply->json, "\"%.20s\"", text);
    else tb_buf_str(&reply->json, "null");
}

static void put_alert(tb_reply *reply, const tb_alert_state *a, bool first)
{
    char month[8];
    tb_month_format(a->month, month);
    tb_buf_fmt(&reply->out, "%" PRId64 "\t%s\t%s\t%s\t%s\t%s", a->account, a->alert,
               tb_alert_kind_name(a->kind), month, a->limit, a->seen);
    tb_buf_fmt(&reply->json, "%s{\"account\":%" PRId64, first ? "" : ",", a->account);
    put_string(&reply->json, "alert", a->alert);
    put_string(&reply->json, "kind", tb_alert_kind_name(a->kind));
    put_string(&reply->json, "month", month);
    put_string(&reply->json, "threshold", a->limit);
    put_string(&reply->json, "seen", a->seen);
    put_time(reply, "raised", a->raised_us);
    put_time(reply, "cleared", a->cleared_us);
    put_string(&reply->json, "raisedMessage", a->raised);
    put_string(&reply->json, "clearedMessage", a->cleared);
    tb_buf_fmt(&reply->json, ",\"data\":%s}", a->data);
    tb_buf_str(&reply->out, "\n");
}

static void put_message(tb_reply *reply, const tb_message *m, bool first)
{
    const bool waits = m->state == TB_MESSAGE_WAITING;
    tb_buf_fmt(&reply->out, "%s\t%s\t%" PRId64 "\t%s\t%" PRId64 "\t%d", m->id, m->type, m->account,
               tb_message_state_name(m->state), m->attempts, m->status);
    tb_buf_fmt(&reply->json, "%s{\"id\":\"%s\",\"type\":\"%s\",\"account\":%" PRId64
               ",\"state\":\"%s\",\"attempts\":%" PRId64 ",\"status\":%d", first ? "" : ",", m->id,
               m->type, m->account, tb_message_state_name(m->state), m->attempts, m->status);
    put_time(reply, "created", m->created_us);
    put_time(reply, "next", waits ? m->next_us : INT64_MAX);
    put_time(reply, "delivered", m->delivered_us);
    put_string(&reply->json, "error", m->error);
    tb_buf_str(&reply->out, "\t");
    tb__put_cell(&reply->out, m->error, strlen(m->error));
    tb_buf_str(&reply->out, "\n");
    tb_buf_str(&reply->json, "}");
}

static tb_code put_alerts(tb_ops *ops, int64_t account, int64_t limit, tb_reply *reply, tb_error *err)
{
    tb_alert_state *alerts = NULL;
    size_t n = 0;
    tb_code code = tb_store_alerts(ops->store, account, limit, &alerts, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "account\talert\tkind\tmonth\tthreshold\tseen\traised\tcleared\n");
    for (size_t i = 0; i < n; i++)
        put_alert(reply, &alerts[i], i == 0);
    free(alerts);
    return TB_OK;
}

static tb_code put_messages(tb_ops *ops, int64_t account, int64_t limit, tb_reply *reply, tb_error *err)
{
    tb_message *messages = NULL;
    size_t n = 0;
    tb_code code = tb_store_outbox(ops->store, account, limit, &messages, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out,
               "\nmessage\ttype\taccount\tstate\tattempts\tstatus\tcreated\tnext\tdelivered\terror\n");
    for (size_t i = 0; i < n; i++)
        put_message(reply, &messages[i], i == 0);
    free(messages);
    return TB_OK;
}

static tb_code list_alerts(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0), limit = tb_arg_number(args, "limit", 0);
    bool on = false;
    tb_code code = account ? tb_store_need_account(ops->store, account, err) : TB_OK;
    if (!code) code = tb_store_outbox_on(ops->store, &on, err);
    if (code) return code;
    tb_buf_fmt(&reply->json, "{\"messagesOn\":%s,\"alerts\":[", on ? "true" : "false");
    code = put_alerts(ops, account, limit, reply, err);
    tb_buf_str(&reply->json, "],\"messages\":[");
    /* How messages reach the operator's own systems is not for customers. */
    if (!code && !ops->account) code = put_messages(ops, account, limit, reply, err);
    tb_buf_str(&reply->json, "]}");
    if (!code) tb__print_answer(args, reply);
    return code;
}

/* --- sending again --- */

static tb_code resend(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const char *id = tb_arg_text(args, "resend");
    tb_code code = tb_store_outbox_again(ops->store, id, ops->now_us, err);
    if (code) return code;
    tb_reply_say(reply, "%s is due again, under the same id.", id);
    tb_buf_fmt(&reply->json, "{\"id\":\"%s\",\"state\":\"waiting\"}", id);
    return TB_OK;
}

/* --- whether messages are wanted --- */

static tb_code turn(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const bool on = tb_arg_given(args, "on");
    tb_code code = tb_store_outbox_turn(ops->store, on, err);
    if (code) return code;
    tb_reply_say(reply, on ? "Messages are put into the outbox from now on."
                           : "No more messages are put into the outbox. What waited is given up.");
    tb_buf_fmt(&reply->json, "{\"messagesOn\":%s}", on ? "true" : "false");
    return TB_OK;
}

/* --- looking --- */

static void say_trouble(void *ctx, const char *sentence)
{
    tb_reply_say(ctx, "%s", sentence);
}

#define NAMED 5 /* accounts without a price, at most */

/* next: the account that was looked at last, how many alerts were raised and cleared, how many accounts
 * have usage without a price, and the first of them. */
typedef struct evaluating {
    int64_t account, raised, cleared, unpriced, named[NAMED];
} evaluating;

#define NUMBERS (4 + NAMED)

static void list_numbers(evaluating *e, int64_t *ret[NUMBERS])
{
    int64_t *const first[] = {&e->account, &e->raised, &e->cleared, &e->unpriced};
    memcpy(ret, first, sizeof first);
    for (size_t i = 0; i < NAMED; i++)
        ret[NUMBERS - NAMED + i] = &e->named[i];
}

static tb_code look_and_note(tb_ops *ops, evaluating *e, tb_reply *reply, bool *ret_over, tb_error *err)
{
    tb_alert_watch *watch = tb_alert_watch_from(e->account);
    tb_alert_changes changes;
    bool moved = false;
    if (!watch) return tb_no_memory(err);
    tb_code code = tb_alerts_look(ops->store, watch, ops->now_us, say_trouble, reply, &changes, err);
    e->account = tb_alert_watch_at(watch);
    tb_alert_watch_free(watch);
    if (code) return code;
    *ret_over = changes.complete;
    code = tb_alerts_note(ops->store, &changes, ops->now_us, &moved, err);
    for (size_t i = 0; i < changes.n; i++) {
        e->raised += changes.list[i].raise && !changes.list[i].late;
        e->cleared += !changes.list[i].raise && !changes.list[i].quiet;
    }
    for (size_t i = 0; i < changes.n_unpriced; i++, e->unpriced++)
        if (e->unpriced < NAMED) e->named[e->unpriced] = changes.unpriced[i];
    tb_alert_changes_release(&changes);
    return code;
}

static void say_unpriced(const evaluating *e, int64_t now_us, tb_reply *reply)
{
    char month[8], names[NAMED * 22 + 1] = "";
    size_t len = 0;
    for (int64_t i = 0; i < e->unpriced && i < NAMED; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%" PRId64, i ? ", " : "", e->named[i]);
    tb_month_format(tb_month_from_us(now_us), month);
    tb_reply_say(reply, "%s with alerts on money %s usage without a price, which these do not count: %s%s. "
                        "List it with: tollbook invoice --month %s --account %" PRId64,
                 TB__COUNTED((uint64_t)e->unpriced, "account"), e->unpriced == 1 ? "has" : "have", names,
                 e->unpriced > NAMED ? " and others" : "", month, e->named[0]);
}

static void answer_evaluated(const evaluating *e, int64_t now_us, tb_reply *reply)
{
    tb_reply_say(reply, "%s raised, %" PRId64 " cleared.", TB__COUNTED((uint64_t)e->raised, "alert"),
                 e->cleared);
    if (e->unpriced) say_unpriced(e, now_us, reply);
    reply->no = e->unpriced > 0;
    tb_buf_fmt(&reply->json, "{\"raised\":%" PRId64 ",\"cleared\":%" PRId64 ",\"unpriced\":%" PRId64
               ",\"unpricedAccounts\":[", e->raised, e->cleared, e->unpriced);
    for (int64_t i = 0; i < e->unpriced && i < NAMED; i++)
        tb_buf_fmt(&reply->json, "%s%" PRId64, i ? "," : "", e->named[i]);
    tb_buf_str(&reply->json, "]}");
}

static tb_code evaluate(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    evaluating e = {0};
    const char *next = args->next;
    bool over = false;
    int64_t *numbers[NUMBERS];
    list_numbers(&e, numbers);
    for (size_t i = 0; next && i < NUMBERS; i++)
        if (!tb__next_number(&next, numbers[i])) return tb__next_wrong(err);
    tb_code code = look_and_note(ops, &e, reply, &over, err);
    if (code) return code;
    if (over) {
        answer_evaluated(&e, ops->now_us, reply);
        return TB_OK;
    }
    for (size_t i = 0; i < NUMBERS; i++)
        tb_buf_fmt(&reply->next, "%s%" PRId64, i ? " " : "", *numbers[i]);
    return TB_OK;
}

/* --- one of them --- */

static const struct {
    const char *name;
    tb_code (*run)(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
} ways[] = {{"resend", resend}, {"evaluate", evaluate}, {"on", turn}, {"off", turn}};
#define WAYS (sizeof ways / sizeof *ways)

/* WAYS: there is no further one. */
static size_t given_from(const tb_args *args, size_t i)
{
    while (i < WAYS && !tb_arg_given(args, ways[i].name))
        i++;
    return i;
}

static tb_code change(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const size_t first = given_from(args, 0), second = given_from(args, first + 1);
    if (second < WAYS)
        return tb_fail(err, TB_E_VALIDATION, ways[first].name,
                       "Both --%s and --%s are given. Give one of them.", ways[first].name,
                       ways[second].name);
    tb_code code = ways[first].run(ops, args, reply, err);
    if (!code && !reply->next.len && tb_arg_is(args, "format", "json")) tb__print_json(reply);
    return code;
}

static const tb_param params[] = {
    TB__PARAM_ACCOUNT(false, "only this account's; default: all"),
    {.name = "limit", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = 10000,
     .otherwise = LIST_USUAL, .help = "the newest so many alerts and messages; default " LIST_USUAL},
    TB__PARAM_FORMAT(TB__FORMATS),
    {.name = "resend", .value = "ID", .kind = TB_PARAM_TEXT, .min = 1, .max = 64,
     .help = "send this message again, under the same id"},
    {.name = "evaluate", .kind = TB_PARAM_FLAG,
     .help = "look at all alerts now, as `serve --alert-url` does every hour"},
    {.name = "on", .kind = TB_PARAM_FLAG,
     .help = "put messages into the outbox from now on; `serve --alert-url` does it too"},
    {.name = "off", .kind = TB_PARAM_FLAG,
     .help = "put no more messages into the outbox, and drop pending ones"},
};

static const tb_operation rows[] = {
    {.name = "alerts",
     .summary = "List alerts that were raised, and the messages about them",
     .details =
         "The catalogue declares an account's alerts. `serve --alert-url URL` looks at them and sends\n"
         "messages when one is raised or cleared, and when an invoice is made final. The list has first\n"
         "the alerts, then the messages with what came of sending them, the newest first. A message\n"
         "that is not taken is tried again for 72 hours, then it is given up; --resend sends it again.",
     .access = TB_ACCESS_ADMIN_READ,
     .write_access = TB_ACCESS_OPERATOR,
     TB__PARAMS(params),
     .read = list_alerts,
     .write = change,
     .write_flags = "resend|evaluate|on|off"},
};
const tb__operations tb__alert_operations = TB__OPERATIONS(rows);
