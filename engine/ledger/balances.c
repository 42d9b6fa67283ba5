/* Opening balances as JSON: {"balances":[{"account":7,"amount":"-120.00",...}]}. As CSV they are
 * read with a bank's lists (payments.c). A row's line is that on which its object begins. */
#include "ledger/balances.h"

#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "tollbook/book.h"
#include "tollbook/calendar.h"

typedef struct reader {
    const char *text;
    const tb__document *doc;
    tb_payments *list;
    char *free;    /* the unused part of list->texts, which has room for each string and its NUL */
    uint64_t line; /* of the row */
    tb_error *err;
} reader;

static tb_code refuse(const reader *r, const char *member, const char *why)
{
    tb_fail(r->err, TB_E_BAD_INPUT, NULL, "%.40s: %s Nothing was entered.", member, why);
    if (r->err) r->err->line = r->line;
    return TB_E_BAD_INPUT;
}

static char *keep(reader *r, const tb__node *node)
{
    char *text = r->free;
    memcpy(text, node->text, node->len);
    text[node->len] = 0;
    r->free += node->len + 1;
    return text;
}

static tb_code set_account(reader *r, const tb__node *value, tb_payment *p)
{
    tb_decimal id;
    if (value->type != TB__NUMBER || !tb__node_decimal(value, 0, &id) || id.mantissa < 1 ||
        id.mantissa > INT64_MAX)
        return refuse(r, "account", "It is an account's number.");
    p->account = (int64_t)id.mantissa;
    return TB_OK;
}

static tb_code set_amount(reader *r, const tb__node *value, tb_payment *p)
{
    if ((value->type == TB__NUMBER || value->type == TB__STRING) &&
        tb__node_decimal(value, TB_PRICE_SCALE_MAX, &p->amount))
        return TB_OK;
    return refuse(r, "amount", "It is an amount, like \"-120.00\".");
}

static tb_code set_currency(reader *r, const tb__node *value, tb_payment *p)
{
    if (value->type != TB__STRING || value->len != 3)
        return refuse(r, "currency", "It has three letters.");
    memcpy(p->currency, value->text, 3);
    return TB_OK;
}

static tb_code set_due(reader *r, const tb__node *value, tb_payment *p)
{
    int64_t us = 0;
    if (value->type != TB__STRING || value->len != 10 || tb_date_parse(value->text, 10, &us, NULL))
        return refuse(r, "due", "It is a day, like \"2026-10-31\".");
    p->day = tb_day_from_us(us);
    return TB_OK;
}

static tb_code set_reference(reader *r, const tb__node *value, tb_payment *p)
{
    if (value->type != TB__STRING) return refuse(r, "reference", "It is a text.");
    p->reference = keep(r, value);
    return TB_OK;
}

static const struct {
    const char *name;
    tb_code (*set)(reader *r, const tb__node *value, tb_payment *p);
} members[] = {{"account", set_account},
               {"amount", set_amount},
               {"currency", set_currency},
               {"due", set_due},
               {"reference", set_reference}};

static tb_code set_member(reader *r, const tb__node *key, tb_payment *p)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (tb__node_is(key, members[i].name, strlen(members[i].name)))
            return members[i].set(r, key + 1, p);
    return refuse(r, "balances",
                  "A balance has account and amount, and may have currency, due and reference.");
}

static tb_code read_balance(reader *r, const tb__node *object, tb_payment *p)
{
    const tb__node *nodes = r->doc->nodes;
    *p = (tb_payment){
        .line = r->line, .day = TB_NO_DAY, .amount = {0, -1}, .reference = "", .payer = ""};
    if (object->type != TB__OBJECT) return refuse(r, "balances", "Each is an object.");
    tb_code code = TB_OK;
    for (const tb__node *key = object + 1; !code && key < nodes + object->next;
         key = nodes + key[1].next)
        code = set_member(r, key, p);
    if (code) return code;
    if (!p->account) return refuse(r, "account", "It is missing.");
    return p->amount.scale < 0 ? refuse(r, "amount", "It is missing.") : TB_OK;
}

static tb_code read_objects(reader *r, const tb__node *list)
{
    const tb__node *nodes = r->doc->nodes;
    uint32_t at = 0;
    tb_code code = TB_OK;
    if (list->len > TB_PAYMENT_ROWS)
        return tb_fail(r->err, TB_E_TOO_LARGE, NULL, "It has more than %d rows.", TB_PAYMENT_ROWS);
    r->list->list = calloc(list->len + 1, sizeof *r->list->list);
    if (!r->list->list) return tb_no_memory(r->err);
    for (const tb__node *item = list + 1; !code && item < nodes + list->next;
         item = nodes + item->next) {
        for (; at < item->at; at++)
            r->line += r->text[at] == '\n';
        code = read_balance(r, item, &r->list->list[r->list->n++]);
    }
    return code;
}

tb_code tb__balances_json(const char *text, size_t len, tb_payments *list, tb_error *err)
{
    tb__document doc;
    tb__arena strings;
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(text, len, TB_E_BAD_INPUT, &strings, NULL, &doc, err);
    if (!code) {
        reader r = {.text = text, .doc = &doc, .list = list, .line = 1, .err = err};
        const tb__node *key = doc.nodes + 1;
        r.free = list->texts = malloc(len + 1);
        if (!list->texts)
            code = tb_no_memory(err);
        else if (doc.nodes->type != TB__OBJECT || doc.nodes->len != 1 ||
                 !tb__node_is(key, "balances", 8) || key[1].type != TB__ARRAY)
            code = refuse(&r, "balances", "The document is {\"balances\": [...]}.");
        else
            code = read_objects(&r, key + 1);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}
