/* scenario add, scenario list, scenario show: what-if scenarios that are kept under their names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/prices/scenario.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/monthbill.h"
#include "tollbook/bookstore.h"

/* --- add --- */

/* Whether the stored books make valid ones under it. */
static tb_code check_books(tb_store *store, const tb_scenario *s, tb_error *err)
{
    tb_month_books books;
    tb_whatif *whatif;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_whatif_new(s, 1, books.list, books.n, NULL, &whatif, err);
    if (!code) tb_whatif_free(whatif);
    tb_month_books_release(&books);
    return code;
}

static void put_added(tb_reply *reply, const tb_scenario *s, bool known)
{
    reply->made = !known;
    tb_reply_say(reply, "scenario \"%s\" (sha256 %.12s) %s.", s->name, s->sha256,
                 known ? "was there already: nothing changed" : "is kept");
    tb_buf_str(&reply->json, "{\"scenario\":");
    tb_json_string(&reply->json, s->name, strlen(s->name));
    tb_buf_fmt(&reply->json, ",\"sha256\":\"%s\",\"known\":%s}", s->sha256,
               known ? "true" : "false");
}

static tb_code add_scenario(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "document")->text;
    tb_scenario s;
    bool known = false;
    tb_code code = tb_scenario_parse(text.data, text.len, NULL, &s, err);
    if (code) return code;
    code = check_books(ops->store, &s, err);
    if (!code) code = tb_store_add_scenario(ops->store, &s, ops->now_us, &known, err);
    if (!code) tb__scenario_warn(ops->store, &s, reply);
    if (!code) put_added(reply, &s, known);
    tb_scenario_release(&s);
    return code;
}

/* --- list, show --- */

static void put_listed(tb_reply *reply, const tb_stored_scenario *s, bool first)
{
    char added[20];
    tb_time_format(s->added_us, added);
    tb_buf_fmt(&reply->out, "%s\t%.20s\t%s\n", s->name, added, s->sha256);
    tb_buf_str(&reply->json, first ? "{\"scenario\":" : ",{\"scenario\":");
    tb_json_string(&reply->json, s->name, strlen(s->name));
    tb_buf_fmt(&reply->json, ",\"added\":\"%.20s\",\"sha256\":\"%s\"}", added, s->sha256);
}

static tb_code list_scenarios(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_stored_scenario *list = NULL;
    size_t n = 0;
    tb_code code = tb_store_scenarios(ops->store, &list, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "scenario\tadded\tsha256\n");
    tb_buf_str(&reply->json, "{\"scenarios\":[");
    for (size_t i = 0; i < n; i++) {
        put_listed(reply, &list[i], i == 0);
        tb_stored_scenario_release(&list[i]);
    }
    tb_buf_str(&reply->json, "]}");
    free(list);
    tb__print_answer(args, reply);
    return TB_OK;
}

static tb_code show_scenario(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_stored_scenario stored;
    tb_code code = tb_store_scenario(ops->store, tb_arg_text(args, "scenario"), &stored, err);
    if (code) return code;
    tb_buf_add(&reply->json, stored.text, stored.text_len);
    tb_buf_add(&reply->out, stored.text, stored.text_len);
    tb_buf_str(&reply->out, "\n");
    tb_stored_scenario_release(&stored);
    return TB_OK;
}

/* --- the rows --- */

static const tb_param add_params[] = {
    {.name = "document",
     .value = "SCENARIO.json",
     .kind = TB_PARAM_DOCUMENT,
     .operand = true,
     .required = true,
     .max = TB_SCENARIO_MAX,
     .help = "the scenario"},
};
static const tb_param list_params[] = {TB__PARAM_FORMAT(TB__FORMATS)};
static const tb_param show_params[] = {
    {.name = "scenario",
     .value = "NAME|NAME@HASH",
     .kind = TB_PARAM_TEXT,
     .operand = true,
     .required = true,
     .min = 1,
     .max = TB_SCENARIO_NAME_MAX + 65,
     .help = "the name, and digits of the SHA-256"},
};

static const tb_operation rows[] = {
    {.name = "scenario add",
     .summary = "Keep a what-if scenario under its name and hash",
     .details = "Refused as a whole with the JSON path, also if the patched book is not valid.\n"
                "Scenarios are never changed or removed: another text is kept beside the first.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(add_params),
     .write = add_scenario},
    {.name = "scenario list",
     .summary = "List the scenarios that are kept",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(list_params),
     .read = list_scenarios},
    {.name = "scenario show",
     .summary = "Print a scenario's canonical text",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(show_params),
     .read = show_scenario},
};
const tb__operations tb__scenario_operations = TB__OPERATIONS(rows);
