/* An account's contract as the catalogue declares it: the keys are tables, each with its reading. A
 * misspelt key would be a wrong invoice, so unknown ones are refused. */
#include "model/declared.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/calendar.h"

#define UNITS_MOST INT64_C(1000000000000000000) /* 10^18, as a price book is made for */

/* The position of a walk over a contract. */
typedef struct reader {
    const tb__document *doc;
    tb_contract *to;
    tb__fault *fault;
    const char *inside; /* "commit" within that, "" outside */
} reader;

typedef struct key_rule {
    const char *name;
    bool (*read)(reader *r, const char *name, uint32_t value);
} key_rule;

static bool refuse_contract(reader *r, const char *name, uint32_t node, const char *wanted)
{
    char path[sizeof r->fault->path];
    tb__fault_path(r->inside, name, path, sizeof path);
    memcpy(r->fault->path, path, sizeof path);
    r->fault->wanted = wanted;
    r->fault->node = node;
    return false;
}

static bool walk_contract(reader *r, uint32_t object, const key_rule *rules, size_t n, const char *wanted)
{
    const tb__document *doc = r->doc;
    for (uint32_t key = object + 1; key != doc->nodes[object].next; key = doc->nodes[key + 1].next) {
        size_t i = 0;
        while (i < n && !tb__node_is(&doc->nodes[key], rules[i].name, strlen(rules[i].name)))
            i++;
        if (i == n) {
            char name[sizeof r->fault->path];
            (void)tb__fault_at_key(doc, r->fault, key, wanted);
            memcpy(name, r->fault->path, sizeof name);
            return refuse_contract(r, name, key, wanted);
        }
        if (!rules[i].read(r, rules[i].name, key + 1)) return false;
    }
    return true;
}

/* --- values --- */

static bool read_amount(reader *r, const char *name, uint32_t value, tb_decimal *ret)
{
    tb_decimal most;
    if (!tb__node_decimal(&r->doc->nodes[value], TB_PRICE_SCALE_MAX, ret) ||
        tb_decimal_sign(*ret) < 0)
        return refuse_contract(r, name, value,
                               "a decimal of 0 or more with at most 15 digits after the point");
    *ret = tb_decimal_normal(*ret);
    if (tb_decimal_mul_int(*ret, UNITS_MOST, &most, NULL) == TB_OK) return true;
    return refuse_contract(r, name, value, "smaller: 10^18 times this passes 2^127-1");
}

static bool take_month(reader *r, const char *name, uint32_t value, int64_t *ret)
{
    const tb__node *node = &r->doc->nodes[value];
    if (node->type == TB__STRING && tb_month_parse(node->text, node->len, ret)) return true;
    return refuse_contract(r, name, value, "a month such as 2026-01");
}

static bool is_id_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* --- the commit --- */

static bool read_monthly(reader *r, const char *name, uint32_t value)
{
    r->to->committed = true;
    return read_amount(r, name, value, &r->to->commit);
}

static bool read_from(reader *r, const char *name, uint32_t value)
{
    return take_month(r, name, value, &r->to->commit_from);
}

static bool read_to(reader *r, const char *name, uint32_t value)
{
    return take_month(r, name, value, &r->to->commit_to);
}

static const key_rule commit_rules[] = {
    {"monthly", read_monthly}, {"from", read_from}, {"to", read_to}};

static bool read_commit(reader *r, const char *name, uint32_t value)
{
    if (r->doc->nodes[value].type != TB__OBJECT)
        return refuse_contract(r, name, value, "an object with monthly, from and to");
    r->inside = name;
    r->to->commit_from = INT64_MIN;
    r->to->commit_to = INT64_MAX;
    if (!walk_contract(r, value, commit_rules, sizeof commit_rules / sizeof *commit_rules,
              "one of monthly, from and to"))
        return false;
    if (!r->to->committed)
        return refuse_contract(r, "monthly", value, "given: what is paid for a month at least");
    if (r->to->commit_to < r->to->commit_from)
        return refuse_contract(r, "to", tb__declared_member(r->doc, value, "to"),
                               "no earlier month than from: it is the last one that counts");
    r->inside = "";
    return true;
}

/* --- the rest --- */

static bool read_book(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    bool ok = node->type == TB__STRING && node->len >= 1 && node->len < sizeof r->to->book;
    for (uint32_t i = 0; ok && i < node->len; i++)
        ok = is_id_character(node->text[i]);
    if (!ok)
        return refuse_contract(r, name, value,
                               "a price book's id: 1 to 64 letters, digits, '.', '_' and '-'");
    memcpy(r->to->book, node->text, node->len);
    r->to->book[node->len] = 0;
    return true;
}

static bool read_discount(reader *r, const char *name, uint32_t value)
{
    tb_decimal *percent = &r->to->discount;
    if (!tb__node_decimal(&r->doc->nodes[value], TB_CONTRACT_PERCENT_SCALE, percent) ||
        tb_decimal_sign(*percent) < 0 ||
        tb_decimal_compare(*percent, tb_decimal_from_int(100)) > 0)
        return refuse_contract(r, name, value,
                               "a percent from 0 to 100 with at most 4 digits after the point");
    *percent = tb_decimal_normal(*percent);
    return true;
}

static bool read_minimum(reader *r, const char *name, uint32_t value)
{
    r->to->own_minimum = true;
    return read_amount(r, name, value, &r->to->minimum);
}

static const key_rule contract_rules[] = {{"book", read_book},
                                          {"discount_percent", read_discount},
                                          {"minimum_monthly", read_minimum},
                                          {"commit", read_commit}};

bool tb__declared_contract(const tb__document *doc, uint32_t value, tb_contract *ret,
                           tb__fault *fault)
{
    reader r = {doc, ret, fault, ""};
    *ret = (tb_contract){.book = ""};
    if (doc->nodes[value].type != TB__OBJECT)
        return refuse_contract(&r, "", value, "an object");
    if (walk_contract(&r, value, contract_rules, sizeof contract_rules / sizeof *contract_rules,
             "one of book, discount_percent, minimum_monthly and commit"))
        return true;
    *ret = (tb_contract){.book = ""};
    return false;
}
