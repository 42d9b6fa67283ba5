/* alert list, alert set, alert drop: the alerts of an account, those of the catalogue and its own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/alertstore.h"
#include "tollbook/billsource.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/meterstore.h"

/* --- the list --- */

static const char *limit_name(tb_alert_kind kind)
{
    return kind == TB_ALERT_BALANCE ? "below" : "above";
}

/* state: when the alert was last raised; NULL: never. An alert that is not raised now has "" and null. */
static void put_rule(const tb_alert_rule *rule, const tb_alert_state *state, bool first, tb_reply *reply)
{
    char limit[TB_DECIMAL_TEXT_MAX + 1], probability[TB_DECIMAL_TEXT_MAX + 1] = "", raised[21] = "";
    const bool is_open = state && state->cleared_us == TB_ALERT_OPEN;
    *tb_decimal_put(limit, rule->limit) = 0;
    if (rule->kind == TB_ALERT_FORECAST) *tb_decimal_put(probability, rule->probability) = 0;
    if (is_open) tb_time_format(state->raised_us, raised);
    tb_buf_fmt(&reply->out, "%s\t%s%s%s\t%s\t%s\t%s\t%s\t%.20s\t%s\n", rule->id, tb_alert_kind_name(rule->kind),
               rule->meter[0] ? " of " : "", rule->meter, limit_name(rule->kind), limit, probability, rule->own ? "own" : "catalogue", raised,
               is_open ? state->seen : "");
    tb_buf_fmt(&reply->json, "%s{\"id\":\"%s\",\"kind\":\"%s\",\"%s\":\"%s\"", first ? "" : ",", rule->id,
               tb_alert_kind_name(rule->kind), limit_name(rule->kind), limit);
    if (rule->meter[0]) tb_buf_fmt(&reply->json, ",\"meter\":\"%s\"", rule->meter);
    if (probability[0]) tb_buf_fmt(&reply->json, ",\"probability\":\"%s\"", probability);
    tb_buf_fmt(&reply->json, ",\"own\":%s", rule->own ? "true" : "false");
    if (is_open) tb_buf_fmt(&reply->json, ",\"raised\":\"%.20s\",\"seen\":\"%s\"}", raised, state->seen);
    else tb_buf_str(&reply->json, ",\"raised\":null,\"seen\":null}");
}

static tb_code list(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_alert_rule rules[TB_ALERTS_MAX];
    tb_alert_state *states = NULL;
    char currency[4];
    size_t n = 0, n_states = 0;
    bool on = false;
    tb_code code = tb_store_need_account(ops->store, account, err);
    if (!code) code = tb_store_month_currency(ops->store, account, tb_month_from_us(ops->now_us), currency, err);
    if (!code) code = tb_store_alert_rules(ops->store, account, rules, &n, err);
    if (!code) code = tb_store_alerts_last(ops->store, account, &states, &n_states, err);
    if (!code) code = tb_store_outbox_on(ops->store, &on, err);
    if (!code) {
        tb_buf_str(&reply->out, "alert\tkind\tis\tthreshold\tprobability\tset by\traised\tseen\n");
        tb_buf_fmt(&reply->json, "{\"account\":%" PRId64 ",\"currency\":\"%s\",\"messagesOn\":%s,\"alerts\":[", account,
                   currency, on ? "true" : "false");
        for (size_t i = 0, s = 0; i < n; i++) {
            for (s = 0; s < n_states && strcmp(states[s].alert, rules[i].id) != 0;)
                s++;
            put_rule(&rules[i], s < n_states ? &states[s] : NULL, i == 0, reply);
        }
        tb_buf_str(&reply->json, "]}");
        tb__print_answer(args, reply);
    }
    free(states);
    return code;
}

/* --- setting --- */

/* As the catalogue would have it. */
static void put_document(const tb_args *args, tb_buf *out)
{
    static const char *const names[] = {"id", "kind", "meter", "above", "below", "probability"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = tb_arg_text(args, names[i]);
        if (!text) continue;
        tb_buf_fmt(out, "%s\"%s\":", i ? "," : "{", names[i]);
        tb_json_string(out, text, strlen(text));
    }
    tb_buf_add(out, "}", 2);
}

static tb_code set(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_buf document;
    tb_buf_init(&document, 4096, NULL);
    put_document(args, &document);
    const char *meter = tb_arg_text(args, "meter");
    tb_meter declared;
    tb_code code = tb_buf_check(&document, err);
    if (!code && meter) code = tb_store_meter(ops->store, meter, &declared, err);
    if (!code) code = tb_store_own_alert_set(ops->store, tb_arg_number(args, "account", 0), document.data, err);
    if (!code) {
        tb_reply_say(reply, "Alert %s is set.", tb_arg_text(args, "id"));
        tb_buf_str(&reply->json, document.data);
    }
    tb_buf_release(&document);
    return code;
}

static tb_code drop(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_code code = tb_store_own_alert_drop(ops->store, tb_arg_number(args, "account", 0), tb_arg_text(args, "id"), err);
    if (!code) tb_reply_say(reply, "Alert %s is removed.", tb_arg_text(args, "id"));
    return code;
}

#define PARAM_ID(help_)                                                                            \
    {.name = "id", .value = "ALERT", .kind = TB_PARAM_TEXT, .operand = true, .required = true, .min = 1, \
     .max = TB_ALERT_ID_MAX, .help = help_}
static const tb_param list_params[] = {
    TB__PARAM_ACCOUNT(true, "the account"),
    TB__PARAM_FORMAT(TB__FORMATS),
};
static const tb_param set_params[] = {
    PARAM_ID("the alert: a new id, or that of one to change"),
    TB__PARAM_ACCOUNT(true, "the account"),
    {.name = "kind", .value = "month_to_date|forecast|usage|balance|anomaly", .kind = TB_PARAM_CHOICE, .required = true,
     .help = "what is looked at, as in the catalogue"},
    {.name = "meter", .value = "METER", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_METER_ID_MAX,
     .help = "usage of this meter, in its base units (a gauge: unit-seconds), instead of bytes"},
    {.name = "above", .value = "N", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "raised above this: an amount, bytes or units, or for anomaly a multiple of the usual; every kind but balance needs it"},
    {.name = "below", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "raised when the balance is below this amount"},
    {.name = "probability", .value = "P", .kind = TB_PARAM_TEXT, .min = 1, .max = 10,
     .help = "how likely a forecast must pass --above, between 0 and 1; default 0.9"},
};
static const tb_param drop_params[] = {
    PARAM_ID("the alert to remove"),
    TB__PARAM_ACCOUNT(true, "the account"),
};

static const tb_operation rows[] = {
    {.name = "alert list",
     .summary = "List an account's alerts, and which are raised",
     .details = "Those that the catalogue declares, and the account's own, which `alert set` makes.",
     .access = TB_ACCESS_BILLING,
     TB__PARAMS(list_params),
     .read = list},
    {.name = "alert set",
     .summary = "Set an alert of an account, or change it",
     .details = "It stands beside those of the catalogue, and stays when a catalogue is applied. `tollbook serve\n"
                "--alert-url` looks at both alike.",
     .access = TB_ACCESS_ADMIN,
     TB__PARAMS(set_params),
     .write = set},
    {.name = "alert drop",
     .summary = "Remove an alert that was set",
     .details = "An alert of the catalogue is removed there.",
     .access = TB_ACCESS_ADMIN,
     TB__PARAMS(drop_params),
     .write = drop},
};
const tb__operations tb__own_alert_operations = TB__OPERATIONS(rows);
