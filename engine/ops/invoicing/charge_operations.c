/* charge add, charge list, charge drop: one-off charges of months that are not final. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/chargestore.h"
#include "tollbook/json.h"

static void put_charge(tb_reply *reply, const tb_one_off *c, bool first)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1], due[TB_DECIMAL_TEXT_MAX + 1], month[8];
    *tb_decimal_put_fixed(amount, c->amount, c->amount.scale) = 0;
    *tb_decimal_put_fixed(due, c->due, c->due.scale) = 0;
    tb_month_format(c->month, month);
    tb_buf_fmt(&reply->out, "%" PRId64 "\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t", c->id, c->account, month, amount, due,
               c->currency, c->invoice);
    tb__put_cell(&reply->out, c->description, strlen(c->description));
    tb_buf_str(&reply->out, "\t");
    tb__put_cell(&reply->out, c->reference, strlen(c->reference));
    tb_buf_fmt(&reply->out, "\t%s\n", c->tax_category);
    tb_buf_fmt(&reply->json, "%s{\"id\":%" PRId64 ",\"account\":%" PRId64 ",\"month\":\"%s\",\"amount\":\"%s\",\"due\":\"%s\""
               ",\"currency\":\"%s\",\"invoice\":", first ? "" : ",", c->id, c->account, month, amount, due, c->currency);
    if (c->invoice[0]) tb_buf_fmt(&reply->json, "\"%s\"", c->invoice);
    else tb_buf_str(&reply->json, "null");
    tb_buf_str(&reply->json, ",\"description\":");
    tb_json_string(&reply->json, c->description, strlen(c->description));
    tb_buf_str(&reply->json, ",\"reference\":");
    tb_json_string(&reply->json, c->reference, strlen(c->reference));
    tb_buf_fmt(&reply->json, ",\"tax_category\":%s%s%s}", c->tax_category[0] ? "\"" : "",
               c->tax_category[0] ? c->tax_category : "null", c->tax_category[0] ? "\"" : "");
}

static tb_code list_charges(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_one_off *charges = NULL;
    size_t n = 0;
    tb_code code = account ? tb_store_need_account(ops->store, account, err) : TB_OK;
    if (!code) code = tb_store_charges(ops->store, account, &charges, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "id\taccount\tmonth\tamount\tdue\tcurrency\tinvoice\tdescription\treference\ttax_category\n");
    tb_buf_str(&reply->json, "{\"charges\":[");
    for (size_t i = 0; i < n; i++)
        put_charge(reply, &charges[i], i == 0);
    tb_buf_str(&reply->json, "]}");
    tb__print_answer(args, reply);
    free(charges);
    return TB_OK;
}

static tb_code add_charge(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_one_off charge = {.account = tb_arg_number(args, "account", 0),
                         .month = tb_arg_number(args, "month", tb_month_from_us(ops->now_us)),
                         .added_us = ops->now_us};
    const tb_text amount = tb_arg_of(args, "amount")->text;
    bool known = false;
    tb_error why;
    tb_arg_copy(args, "description", charge.description, sizeof charge.description);
    tb_arg_copy(args, "reference", charge.reference, sizeof charge.reference);
    tb_arg_copy(args, "tax-category", charge.tax_category, sizeof charge.tax_category);
    if (strcmp(charge.tax_category, "S") == 0) charge.tax_category[0] = 0;
    if (tb_decimal_parse(amount.data, amount.len, TB_PRICE_SCALE_MAX, &charge.amount, &why))
        return tb__refuse_decimal("amount", amount.data, amount.len, &why, err);
    tb_code code = tb_store_charge_add(ops->store, &charge, &known, err);
    if (code) return code;
    if (known) tb_reply_say(reply, "This reference was there already: nothing changed.");
    tb_buf_fmt(&reply->out, "%" PRId64 "\n", charge.id);
    tb_buf_fmt(&reply->json, "{\"id\":%" PRId64 ",\"known\":%s}", charge.id, known ? "true" : "false");
    return TB_OK;
}

static tb_code drop_charge(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t id = tb_arg_number(args, "id", 0);
    tb_code code = tb_store_charge_drop(ops->store, id, err);
    if (code) return code;
    tb_reply_say(reply, "Charge %" PRId64 " is dropped.", id);
    tb_buf_fmt(&reply->json, "{\"id\":%" PRId64 "}", id);
    return TB_OK;
}

static const tb_param list_params[] = {TB__PARAM_ACCOUNT(false, "this account only"), TB__PARAM_FORMAT(TB__FORMATS)};
static const tb_param add_params[] = {
    TB__PARAM_ACCOUNT(true, "the account that pays it"),
    {.name = "amount", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .required = true, .min = 1, .max = 63,
     .help = "without tax, in the account's currency, like 120.00; a credit is negative"},
    {.name = "description", .value = "TEXT", .kind = TB_PARAM_TEXT, .required = true, .min = 1,
     .max = TB_CHARGE_DESCRIPTION_MAX, .help = "what it is for, as the document says it"},
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH,
     .help = "the month of the document that bills it; default: the running month"},
    {.name = "reference", .value = "TEXT", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_CHARGE_REFERENCE_MAX,
     .help = "identifies the charge: the same again changes nothing"},
    {.name = "tax-category", .value = "S|Z|E|AE|K|G|O", .kind = TB_PARAM_CHOICE,
     .help = "of UNCL 5305: all but S are without tax; default: S, the account's taxes"},
};
static const tb_param drop_params[] = {
    {.name = "id", .value = "ID", .kind = TB_PARAM_NUMBER, .operand = true, .required = true, .min = 1, .max = INT64_MAX,
     .help = "the charge to drop", .list = "charge list"},
};

static const tb_operation rows[] = {
    {.name = "charge list",
     .summary = "List one-off charges, and which invoices have billed them",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(list_params),
     .read = list_charges},
    {.name = "charge add",
     .summary = "Add a one-off charge, or a credit, to a month's document",
     .details = "It prints the charge's id. The charge is a line of the month's invoice, with the account's taxes or none; prices,\n"
                "discounts, commits and minimums leave it alone. Credits reduce an invoice to zero at most; the rest waits\n"
                "for the next one.",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(add_params),
     .write = add_charge},
    {.name = "charge drop",
     .summary = "Drop a one-off charge that no invoice has billed",
     .details = "",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(drop_params),
     .write = drop_charge},
};
const tb__operations tb__charge_operations = TB__OPERATIONS(rows);
