/* A scenario's JSON to a tb_scenario: the document is read whole, then each object is walked along
 * a table of its keys, each with a setter. What only makes sense together (conditions of a factor,
 * a scenario without base) is judged when the object is read. */
#include "model/declared.h"
#include "model/document.h"
#include "tollbook/whatif.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_MOST 1000000

typedef struct parser {
    tb__document doc;
    tb_error *err;
    size_t entry; /* of usage, from 1; 0: none */
    tb_scenario *scenario;
    uint32_t usage; /* node, 0: none */
    uint32_t contracts;
} parser;

/* Refuses the value at `node`, which is this key's; NULL: the object itself. Unknown keys come from the document: other
 * characters than plain ones are shown as '?'. */
static tb_code refuse_scenario(const parser *p, uint32_t node, const char *key, size_t len,
                               const char *message)
{
    char path[sizeof p->err->field], name[20];
    if (len >= sizeof name) len = sizeof name - 1;
    for (size_t i = 0; i < len; i++)
        name[i] = key[i] < 0x20 || key[i] > 0x7e ? '?' : key[i];
    name[len] = '\0';
    if (p->entry)
        snprintf(path, sizeof path, "usage[%zu]%s%s", p->entry - 1, len ? "." : "", name);
    else
        snprintf(path, sizeof path, "%s", name);
    tb_fail(p->err, TB_E_VALIDATION, path, "%s", message);
    if (p->err) p->err->byte = (uint64_t)p->doc.nodes[node].at + 1;
    return TB_E_VALIDATION;
}

/* --- walking --- */

typedef struct place {
    uint32_t value;
    const char *key;
} place;

typedef tb_code (*setter)(parser *p, place at, void *to);

typedef struct key_rule {
    const char *name;
    bool required;
    setter set;
} key_rule;

static tb_code refuse_at(const parser *p, place at, const char *message)
{
    return refuse_scenario(p, at.value, at.key, strlen(at.key), message);
}

static tb_code refuse_type(const parser *p, place at, const char *wanted)
{
    char message[96];
    snprintf(message, sizeof message, "Must be %s, is %s.", wanted,
             tb__node_type_name(p->doc.nodes[at.value].type));
    return refuse_at(p, at, message);
}

static size_t find_rule(const key_rule *rules, size_t n, const tb__node *key)
{
    size_t i = 0;
    while (i < n && !tb__node_is(key, rules[i].name, strlen(rules[i].name)))
        i++;
    return i;
}

static tb_code walk(parser *p, uint32_t object, const key_rule *rules, size_t n, void *to)
{
    unsigned seen = 0;
    if (p->doc.nodes[object].type != TB__OBJECT)
        return refuse_scenario(p, object, "", 0, "Must be an object.");
    for (uint32_t key = object + 1; key != p->doc.nodes[object].next;
         key = p->doc.nodes[key + 1].next) {
        size_t rule = find_rule(rules, n, &p->doc.nodes[key]);
        if (rule == n)
            return refuse_scenario(p, key, p->doc.nodes[key].text, p->doc.nodes[key].len,
                                   "Unknown key.");
        tb_code code = rules[rule].set(p, (place){key + 1, rules[rule].name}, to);
        if (code) return code;
        seen |= 1U << rule;
    }
    for (size_t i = 0; i < n; i++)
        if (rules[i].required && !(seen >> i & 1))
            return refuse_at(p, (place){object, rules[i].name}, "This key is missing.");
    return TB_OK;
}

#define RULES(r) r, sizeof r / sizeof *r

/* --- the scenario's own keys --- */

static tb_code take_name(const parser *p, place at, char to[65])
{
    const tb__node *node = &p->doc.nodes[at.value];
    if (node->type != TB__STRING) return refuse_type(p, at, "a string");
    if (!tb__node_is_id(node, 64)) return refuse_at(p, at, "Must be 1 to 64 letters, digits, '.', '_' and '-'.");
    memcpy(to, node->text, node->len);
    to[node->len] = '\0';
    return TB_OK;
}

static tb_code set_name(parser *p, place at, void *to)
{
    return take_name(p, at, ((tb_scenario *)to)->name);
}

static tb_code set_base(parser *p, place at, void *to)
{
    if (p->doc.nodes[at.value].type == TB__NULL) return TB_OK;
    return take_name(p, at, ((tb_scenario *)to)->base);
}

static tb_code check_patch(parser *p, place at, void *to)
{
    (void)to;
    if (p->doc.nodes[at.value].type == TB__OBJECT) return TB_OK;
    return refuse_type(p, at, "an object, merged into the base book");
}

static tb_code set_replaces(parser *p, place at, void *to)
{
    const tb__node *node = &p->doc.nodes[at.value];
    if (node->type != TB__STRING) return refuse_type(p, at, "a string");
    bool all = tb__node_is(node, "all", 3);
    if (!all && !tb__node_is(node, "base", 4)) return refuse_at(p, at, "Must be base or all.");
    ((tb_scenario *)to)->everywhere = all;
    return TB_OK;
}

static tb_code set_usage(parser *p, place at, void *to)
{
    (void)to;
    if (p->doc.nodes[at.value].type != TB__ARRAY) return refuse_type(p, at, "a list");
    if (p->doc.nodes[at.value].len > TB_SCENARIO_FACTORS_MAX)
        return refuse_at(p, at, "Has more entries than the 1024 that a scenario may have.");
    p->usage = at.value;
    return TB_OK;
}

/* By the catalogue's own reading. before: the path of the contract. */
static tb_code read_contract(const parser *p, uint32_t value, const char *before, tb_contract *ret)
{
    tb__fault fault = {.path = ""};
    char path[sizeof p->err->field], message[160];
    if (tb__declared_contract(&p->doc, value, ret, &fault)) return TB_OK;
    tb__fault_path(before, fault.path, path, sizeof path);
    snprintf(message, sizeof message, "Must be %s.", fault.wanted);
    tb_fail(p->err, TB_E_VALIDATION, path, "%s", message);
    if (p->err) p->err->byte = (uint64_t)p->doc.nodes[fault.node].at + 1;
    return TB_E_VALIDATION;
}

static tb_code set_contract(parser *p, place at, void *to)
{
    tb_scenario *s = to;
    s->has_contract = true;
    return read_contract(p, at.value, at.key, &s->contract);
}

static tb_code set_contracts(parser *p, place at, void *to)
{
    (void)to;
    if (p->doc.nodes[at.value].type != TB__OBJECT)
        return refuse_type(p, at, "an object of account ids and contracts");
    if (p->doc.nodes[at.value].len > TB_SCENARIO_CONTRACTS_MAX)
        return refuse_at(p, at, "Has more accounts than the 100000 that a scenario may have.");
    p->contracts = at.value;
    return TB_OK;
}

static const key_rule scenario_rules[] = {
    {"scenario", true, set_name},          {"base", false, set_base},
    {"patch", false, check_patch},         {"replaces", false, set_replaces},
    {"usage", false, set_usage},           {"contract", false, set_contract},
    {"contracts", false, set_contracts},
};

/* --- factors --- */

static tb_code set_factor(parser *p, place at, void *to)
{
    const tb__node *node = &p->doc.nodes[at.value];
    tb_error why;
    tb_decimal factor;
    if (node->type != TB__STRING && node->type != TB__NUMBER)
        return refuse_type(p, at, "a decimal, as a string or a number");
    if (tb_decimal_parse(node->text, node->len, TB_FACTOR_SCALE_MAX, &factor, &why))
        return refuse_at(p, at, why.message);
    if (tb_decimal_sign(factor) < 0) return refuse_at(p, at, "Must not be negative.");
    if (tb_decimal_compare(factor, tb_decimal_from_int(FACTOR_MOST)) > 0)
        return refuse_at(p, at, "Must be at most 1000000.");
    ((tb_usage_factor *)to)->factor = tb_decimal_normal(factor);
    return TB_OK;
}

static const struct {
    const char *name;
    tb_factor_product product;
} products[] = {
    {"bandwidth", TB_FACTOR_BANDWIDTH},    {"premium", TB_FACTOR_PREMIUM},
    {"volume", TB_FACTOR_VOLUME},          {"override", TB_FACTOR_OVERRIDE},
    {"load_balancer", TB_FACTOR_BALANCER},
};

static tb_code set_product(parser *p, place at, void *to)
{
    const tb__node *node = &p->doc.nodes[at.value];
    if (node->type != TB__STRING) return refuse_type(p, at, "a string");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        if (!tb__node_is(node, products[i].name, strlen(products[i].name))) continue;
        ((tb_usage_factor *)to)->product = products[i].product;
        return TB_OK;
    }
    return refuse_at(p, at, "Must be bandwidth, premium, volume, override or load_balancer.");
}

static tb_code set_region(parser *p, place at, void *to)
{
    const tb__node *node = &p->doc.nodes[at.value];
    tb_usage_factor *factor = to;
    char name[8] = "";
    if (node->type != TB__STRING) return refuse_type(p, at, "a string");
    if (node->len < sizeof name) memcpy(name, node->text, node->len);
    if (!tb_billing_region_parse(name, &factor->region))
        return refuse_at(p, at, "Must be EU, NA, ASIA, SA or AF.");
    factor->has_region = true;
    return TB_OK;
}

static tb_code take_id(const parser *p, place at, bool *ret_has, int64_t *ret)
{
    const tb__node *node = &p->doc.nodes[at.value];
    tb_decimal number;
    if (node->type != TB__NUMBER) return refuse_type(p, at, "a number");
    if (tb_decimal_parse(node->text, node->len, 0, &number, NULL) || number.mantissa < 1 ||
        number.mantissa > INT64_MAX)
        return refuse_at(p, at, "Must be an id: a whole number from 1 on.");
    *ret = (int64_t)number.mantissa;
    *ret_has = true;
    return TB_OK;
}

static tb_code set_zone(parser *p, place at, void *to)
{
    tb_usage_factor *factor = to;
    return take_id(p, at, &factor->has_zone, &factor->zone);
}

static tb_code set_balancer(parser *p, place at, void *to)
{
    tb_usage_factor *factor = to;
    return take_id(p, at, &factor->has_balancer, &factor->balancer);
}

static tb_code set_account(parser *p, place at, void *to)
{
    tb_usage_factor *factor = to;
    return take_id(p, at, &factor->has_account, &factor->account);
}

static tb_code set_meter(parser *p, place at, void *to)
{
    _Static_assert(TB_METER_ID_MAX == 64, "a meter's id is as long as a scenario's name");
    return take_name(p, at, ((tb_usage_factor *)to)->meter);
}

static const key_rule factor_rules[] = {
    {"factor", true, set_factor},           {"product", false, set_product},
    {"region", false, set_region},          {"zone", false, set_zone},
    {"load_balancer", false, set_balancer}, {"account", false, set_account},
    {"meter", false, set_meter},
};

/* Conditions of bytes, of requests and of a meter beside one another match nothing. */
static tb_code check_conditions(const parser *p, uint32_t object, const tb_usage_factor *f)
{
    bool bytes = f->has_region || f->has_zone ||
                 (f->product != TB_FACTOR_ANY && f->product != TB_FACTOR_BALANCER);
    bool requests = f->has_balancer || f->product == TB_FACTOR_BALANCER;
    if (f->meter[0] && (bytes || requests))
        return refuse_scenario(p, object, "", 0,
                               "No usage can match: a meter has no product, region, zone or load balancer.");
    if (!bytes || !requests) return TB_OK;
    return refuse_scenario(p, object, "", 0,
                           "No usage can match: load balancers have no region, zone or bandwidth.");
}

static tb_code read_factors(parser *p)
{
    tb_scenario *s = p->scenario;
    if (!p->usage || p->doc.nodes[p->usage].len == 0) return TB_OK;
    size_t n = p->doc.nodes[p->usage].len;
    s->factors = tb_alloc_zero(s->alloc, n, sizeof *s->factors);
    if (!s->factors) return tb_no_memory(p->err);
    s->n_factors = n;
    uint32_t entry = p->usage + 1;
    for (size_t i = 0; i < n; i++, entry = p->doc.nodes[entry].next) {
        p->entry = i + 1;
        tb_code code = walk(p, entry, RULES(factor_rules), &s->factors[i]);
        if (!code) code = check_conditions(p, entry, &s->factors[i]);
        if (code) return code;
    }
    p->entry = 0;
    return TB_OK;
}

/* --- contracts of single accounts --- */

static bool read_account(const tb__node *name, int64_t *ret)
{
    tb_decimal id;
    if (name->len < 1 || name->text[0] < '1' || name->text[0] > '9' ||
        tb_decimal_parse(name->text, name->len, 0, &id, NULL) || id.mantissa > INT64_MAX)
        return false;
    *ret = (int64_t)id.mantissa;
    return true;
}

static int by_account(const void *left, const void *right)
{
    const tb_scenario_contract *a = left, *b = right;
    return (a->account > b->account) - (a->account < b->account);
}

static tb_code read_contracts(parser *p)
{
    tb_scenario *s = p->scenario;
    const size_t n = p->contracts ? p->doc.nodes[p->contracts].len : 0;
    if (n == 0) return TB_OK;
    s->contracts = tb_alloc_zero(s->alloc, n, sizeof *s->contracts);
    if (!s->contracts) return tb_no_memory(p->err);
    s->n_contracts = n;
    uint32_t key = p->contracts + 1;
    for (size_t i = 0; i < n; i++, key = p->doc.nodes[key + 1].next) {
        char path[40];
        tb_scenario_contract *to = &s->contracts[i];
        if (!read_account(&p->doc.nodes[key], &to->account))
            return refuse_at(p, (place){key, "contracts"},
                             "Its keys must be ids of accounts: whole numbers from 1 on.");
        snprintf(path, sizeof path, "contracts.%lld", (long long)to->account);
        tb_code code = read_contract(p, key + 1, path, &to->contract);
        if (code) return code;
    }
    qsort(s->contracts, n, sizeof *s->contracts, by_account);
    return TB_OK;
}

/* --- contracts beside a base --- */

/* A book that is named takes the patched one's place, or that one its: one of both would do nothing. */
static tb_code refuse_book(const parser *p, const char *path)
{
    return tb_fail(p->err, TB_E_VALIDATION, path,
                   "Must be the base or be left out: a scenario patches one book or names another.");
}

static tb_code check_books(const parser *p)
{
    const tb_scenario *s = p->scenario;
    char path[48];
    if (!s->base[0]) return TB_OK;
    if (s->contract.book[0] && strcmp(s->contract.book, s->base) != 0)
        return refuse_book(p, "contract.book");
    for (size_t i = 0; s->everywhere && i < s->n_contracts; i++) {
        const tb_scenario_contract *c = &s->contracts[i];
        if (!c->contract.book[0] || strcmp(c->contract.book, s->base) == 0) continue;
        snprintf(path, sizeof path, "contracts.%lld.book", (long long)c->account);
        return refuse_book(p, path);
    }
    return TB_OK;
}

/* --- the whole --- */

static tb_code keep(const tb_scenario *s, const char *text, size_t len, char **ret, size_t *ret_len,
                    tb_error *err)
{
    char *kept = tb_alloc_resize(s->alloc, NULL, 0, len + 1);
    if (!kept) return tb_no_memory(err);
    memcpy(kept, text, len);
    kept[len] = '\0';
    *ret = kept;
    *ret_len = len;
    return TB_OK;
}

static tb_code keep_texts(parser *p, tb__arena *scratch)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    tb_scenario *s = p->scenario;
    size_t len, patch_len = 2;
    const char *patch = "{}", *text = tb__document_canonical(&p->doc, 0, scratch, &len);
    for (uint32_t key = 1; key != p->doc.nodes[0].next; key = p->doc.nodes[key + 1].next)
        if (tb__node_is(&p->doc.nodes[key], "patch", 5))
            patch = tb__document_canonical(&p->doc, key + 1, scratch, &patch_len);
    if (!text || !patch) return tb_no_memory(p->err);
    tb_code code = keep(s, text, len, &s->canonical, &s->canonical_len, p->err);
    if (!code) code = keep(s, patch, patch_len, &s->patch, &s->patch_len, p->err);
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(s->sha256, sizeof s->sha256, hash, sizeof hash);
    return code;
}

static tb_code read_all(parser *p, tb__arena *scratch)
{
    const place whole = {0, "replaces"};
    tb_code code = walk(p, 0, RULES(scenario_rules), p->scenario);
    if (!code && p->scenario->everywhere && !p->scenario->base[0])
        return refuse_at(p, whole, "Replacing all books needs a base.");
    if (!code) code = read_factors(p);
    if (!code) code = read_contracts(p);
    if (!code) code = check_books(p);
    return code ? code : keep_texts(p, scratch);
}

tb_code tb_scenario_parse(const char *text, size_t len, const tb_alloc *alloc,
                          tb_scenario *ret_scenario, tb_error *err)
{
    if (len > TB_SCENARIO_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "A scenario has at most %zu bytes.",
                       TB_SCENARIO_MAX);
    tb_scenario scenario = {.alloc = alloc};
    parser p = {.err = err, .scenario = &scenario};
    tb__arena scratch;
    tb__arena_init(&scratch, alloc);
    tb_code code = tb__document_parse(text, len, TB_E_VALIDATION, &scratch, alloc, &p.doc, err);
    if (!code) {
        code = read_all(&p, &scratch);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&scratch);
    if (code)
        tb_scenario_release(&scenario);
    else
        *ret_scenario = scenario;
    return code;
}

void tb_scenario_release(tb_scenario *scenario)
{
    const tb_alloc *alloc = scenario->alloc;
    if (scenario->canonical) tb_alloc_free(alloc, scenario->canonical, scenario->canonical_len + 1);
    if (scenario->patch) tb_alloc_free(alloc, scenario->patch, scenario->patch_len + 1);
    tb_alloc_free(alloc, scenario->factors, scenario->n_factors * sizeof *scenario->factors);
    tb_alloc_free(alloc, scenario->contracts, scenario->n_contracts * sizeof *scenario->contracts);
    *scenario = (tb_scenario){.alloc = NULL};
}
