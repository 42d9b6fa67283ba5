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
    const char *inside; /* "commit", "commit[1]", "cap" within that, "" outside */
    bool has_amount; /* of the commit or cap being read */
} reader;

typedef struct key_rule {
    const char *name;
    bool (*read)(reader *r, const char *name, uint32_t value);
} key_rule;

static bool refuse_contract(reader *r, const char *name, uint32_t node, const char *wanted)
{
    (void)tb__fault_at(r->fault, name, node, wanted);
    return tb__fault_inside(r->fault, r->inside);
}

static bool walk_contract(reader *r, uint32_t object, const key_rule *rules, size_t n, const char *wanted)
{
    const tb__document *doc = r->doc;
    for (uint32_t key = object + 1; key != doc->nodes[object].next; key = doc->nodes[key + 1].next) {
        size_t i = 0;
        while (i < n && !tb__node_is(&doc->nodes[key], rules[i].name, strlen(rules[i].name)))
            i++;
        if (i == n) {
            (void)tb__fault_at_key(doc, r->fault, key, wanted);
            return tb__fault_inside(r->fault, r->inside);
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

/* --- commits --- */

static tb_commit *commit_of(reader *r)
{
    return &r->to->commits[r->to->n_commits];
}

static bool read_monthly(reader *r, const char *name, uint32_t value)
{
    if (commit_of(r)->months || r->has_amount)
        return refuse_contract(r, name, value, "left out beside amount and every");
    commit_of(r)->months = 1;
    r->has_amount = true;
    return read_amount(r, name, value, &commit_of(r)->amount);
}

static bool read_commit_amount(reader *r, const char *name, uint32_t value)
{
    if (r->has_amount) return refuse_contract(r, name, value, "left out beside monthly");
    r->has_amount = true;
    return read_amount(r, name, value, &commit_of(r)->amount);
}

static bool read_every(reader *r, const char *name, uint32_t value)
{
    static const struct {
        const char *word;
        int months;
    } words[] = {{"month", 1}, {"quarter", 3}, {"year", 12}};
    if (commit_of(r)->months) return refuse_contract(r, name, value, "left out beside monthly");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tb__node_is(&r->doc->nodes[value], words[i].word, strlen(words[i].word)))
            commit_of(r)->months = words[i].months;
    return commit_of(r)->months || refuse_contract(r, name, value, "one of month, quarter and year");
}

static bool read_from(reader *r, const char *name, uint32_t value)
{
    return take_month(r, name, value, &commit_of(r)->from);
}

static bool read_to(reader *r, const char *name, uint32_t value)
{
    return take_month(r, name, value, &commit_of(r)->to);
}

static bool read_rollover(reader *r, const char *name, uint32_t value)
{
    const int type = r->doc->nodes[value].type;
    commit_of(r)->rollover = type == TB__TRUE;
    return type == TB__TRUE || type == TB__FALSE || refuse_contract(r, name, value, "true or false");
}

static const key_rule commit_rules[] = {{"monthly", read_monthly}, {"amount", read_commit_amount}, {"every", read_every},
                                        {"from", read_from},       {"to", read_to},             {"rollover", read_rollover}};

/* Where a commit of a list and the one before it leave a month open, it follows from the other. */
static bool touches(reader *r, uint32_t value)
{
    tb_commit *c = commit_of(r), *before = r->to->n_commits ? c - 1 : NULL;
    if (!before) return true;
    if (before->to == INT64_MAX && c->from == INT64_MIN)
        return refuse_contract(r, "from", value, "given: the month after the last one of the commit before");
    if (before->to == INT64_MAX) before->to = c->from - 1;
    if (c->from == INT64_MIN) c->from = before->to + 1;
    if (c->from == before->to + 1 && before->to >= before->from) return true;
    const uint32_t from = tb__declared_member(r->doc, value, "from");
    return refuse_contract(r, "from", from ? from : value, "the month after the last one of the commit before");
}

/* value: the commit's object; r->inside names it. */
static bool read_one_commit(reader *r, uint32_t value)
{
    tb_commit *c = commit_of(r);
    if (r->doc->nodes[value].type != TB__OBJECT)
        return refuse_contract(r, "", value, "an object with amount, every, from, to and rollover, or with monthly, from and to");
    *c = (tb_commit){.from = INT64_MIN, .to = INT64_MAX};
    r->has_amount = false;
    if (!walk_contract(r, value, commit_rules, sizeof commit_rules / sizeof *commit_rules,
                       "one of monthly, amount, every, from, to and rollover"))
        return false;
    if (!r->has_amount && !c->months)
        return refuse_contract(r, "monthly", value, "given: what is paid for a month at least");
    if (!r->has_amount) return refuse_contract(r, "amount", value, "given: what is paid in each period at least");
    if (!c->months) return refuse_contract(r, "every", value, "given: month, quarter or year");
    if (c->to < c->from)
        return refuse_contract(r, "to", tb__declared_member(r->doc, value, "to"),
                               "no earlier month than from: it is the last one that counts");
    if (!touches(r, value)) return false;
    r->to->n_commits++;
    return true;
}

static bool read_commit(reader *r, const char *name, uint32_t value)
{
    const tb__document *doc = r->doc;
    char inside[sizeof r->fault->path];
    r->inside = name;
    if (doc->nodes[value].type != TB__ARRAY) {
        if (!read_one_commit(r, value)) return false;
        r->inside = "";
        return true;
    }
    for (uint32_t at = value + 1; at != doc->nodes[value].next; at = doc->nodes[at].next) {
        if (r->to->n_commits == TB_COMMITS_MAX) return refuse_contract(r, "", value, "at most 24 commits");
        snprintf(inside, sizeof inside, "%s[%zu]", name, r->to->n_commits);
        r->inside = inside;
        const bool read = read_one_commit(r, at);
        r->inside = name;
        if (!read) return false;
    }
    r->inside = "";
    return r->to->n_commits > 0 || refuse_contract(r, name, value, "a list of at least one commit");
}
_Static_assert(TB_COMMITS_MAX == 24, "the message above says so");

bool tb_contract_period(const tb_contract *contract, int64_t month, tb_commit_period *ret_period)
{
    for (size_t i = 0; i < contract->n_commits; i++) {
        const tb_commit *c = &contract->commits[i];
        if (month < c->from || month > c->to) continue;
        const int64_t since = c->from == INT64_MIN ? month - month % c->months : month - (month - c->from) % c->months;
        const int64_t last = since + c->months - 1;
        const tb_commit *before = since > c->from ? c : i ? c - 1 : NULL;
        *ret_period = (tb_commit_period){c, since, last < c->to ? last : c->to, before && before->rollover};
        return true;
    }
    return false;
}

/* --- the cap --- */

static bool read_cap_monthly(reader *r, const char *name, uint32_t value)
{
    r->has_amount = true;
    return read_amount(r, name, value, &r->to->cap);
}

static bool read_action(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    if (tb__node_is(node, "alert", 5)) r->to->cap_action = TB_CAP_ALERT;
    if (tb__node_is(node, "disable", 7)) r->to->cap_action = TB_CAP_DISABLE;
    return r->to->cap_action || refuse_contract(r, name, value, "alert or disable");
}

static const key_rule cap_rules[] = {{"monthly", read_cap_monthly}, {"action", read_action}};

static bool read_cap(reader *r, const char *name, uint32_t value)
{
    if (r->doc->nodes[value].type != TB__OBJECT)
        return refuse_contract(r, name, value, "an object with monthly and action");
    r->inside = name;
    r->has_amount = false;
    if (!walk_contract(r, value, cap_rules, sizeof cap_rules / sizeof *cap_rules, "one of monthly and action"))
        return false;
    if (!r->has_amount) return refuse_contract(r, "monthly", value, "given: the net charges of a month that it allows");
    if (!r->to->cap_action) return refuse_contract(r, "action", value, "given: alert or disable");
    r->inside = "";
    return true;
}

/* --- the rest --- */

static bool read_book(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    if (!tb__node_is_id(node, sizeof r->to->book - 1))
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

static bool read_bandwidth(reader *r, const char *name, uint32_t value)
{
    r->to->percentile = tb__node_is(&r->doc->nodes[value], "percentile", 10);
    return r->to->percentile || refuse_contract(r, name, value, "percentile");
}

static const key_rule contract_rules[] = {{"book", read_book},
                                          {"discount_percent", read_discount},
                                          {"minimum_monthly", read_minimum},
                                          {"commit", read_commit},
                                          {"cap", read_cap},
                                          {"bandwidth", read_bandwidth}};

bool tb__declared_contract(const tb__document *doc, uint32_t value, tb_contract *ret,
                           tb__fault *fault)
{
    reader r = {doc, ret, fault, "", false};
    *ret = (tb_contract){.book = ""};
    if (doc->nodes[value].type != TB__OBJECT)
        return refuse_contract(&r, "", value, "an object");
    if (walk_contract(&r, value, contract_rules, sizeof contract_rules / sizeof *contract_rules,
             "one of book, discount_percent, minimum_monthly, commit, cap and bandwidth"))
        return true;
    *ret = (tb_contract){.book = ""};
    return false;
}
