/* A book's JSON to a tb_book: the whole document is parsed (document.h), then every object is walked
 * along a table of its keys, each with a setter that checks and stores the value; the path of the
 * current object grows and shrinks with the walk. A list of tiers is read into raw tiers first, since
 * its keys come in any order, and checked when all are known.
 *
 * The walk is as deep as the tables are: no document decides it. */
#include "tollbook/book.h"

#include "billing/tiers.h"
#include "model/document.h"
#include "tollbook/calendar.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define GB_PLACES       9 /* a GB is 10^9 bytes */
#define MILLION_PLACES  6
#define REQUESTS_PLACES 0

typedef struct parser {
    tb__document doc;
    tb_error *err;
    char path[sizeof((tb_error *)0)->field];
    size_t path_len;
} parser;

/* --- names --- */

static const char *const region_names[TB_BILLING_REGION_COUNT] = {
#define TB_X(name) #name,
    TB_BILLING_REGIONS(TB_X)
#undef TB_X
};

const char *tb_billing_region_name(tb_billing_region region)
{
    return (unsigned)region < TB_BILLING_REGION_COUNT ? region_names[region] : "";
}

bool tb_billing_region_parse(const char *name, tb_billing_region *ret)
{
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        if (strcmp(name, region_names[r]) != 0) continue;
        *ret = (tb_billing_region)r;
        return true;
    }
    return false;
}

static const char *const account_names[TB_BOOK_ACCOUNT_COUNT][2] = {
#define TB_X(e, name, code) [TB_ACCOUNT_##e] = {name, code},
    TB_BOOK_ACCOUNTS(TB_X)
#undef TB_X
};

const char *tb_book_account_name(tb_book_account account)
{
    return (unsigned)account < TB_BOOK_ACCOUNT_COUNT ? account_names[account][0] : "";
}

const char *tb_book_account_code(tb_book_account account)
{
    return (unsigned)account < TB_BOOK_ACCOUNT_COUNT ? account_names[account][1] : "";
}

static const char *const mode_names[] = {"graduated", "volume", "package"};

const char *tb_tier_mode_name(tb_tier_mode mode)
{
    return (unsigned)mode <= TB_PACKAGE ? mode_names[mode] : "";
}

/* ISO 4217's currencies without two digits. */
static const struct {
    char code[4];
    int digits;
} minor_table[] = {
    {"BIF", 0}, {"CLP", 0}, {"DJF", 0}, {"GNF", 0}, {"ISK", 0}, {"JPY", 0}, {"KMF", 0},
    {"KRW", 0}, {"PYG", 0}, {"RWF", 0}, {"UGX", 0}, {"UYI", 0}, {"VND", 0}, {"VUV", 0},
    {"XAF", 0}, {"XOF", 0}, {"XPF", 0}, {"BHD", 3}, {"IQD", 3}, {"JOD", 3}, {"KWD", 3},
    {"LYD", 3}, {"OMR", 3}, {"TND", 3}, {"CLF", 4}, {"UYW", 4},
};

int tb_currency_minor_digits(const char *currency)
{
    for (size_t i = 0; i < sizeof minor_table / sizeof *minor_table; i++)
        if (strcmp(currency, minor_table[i].code) == 0) return minor_table[i].digits;
    return 2;
}

/* --- the path, and refusing at it --- */

/* Keys come from the document: other characters than plain ones are shown as '?', a long key is cut,
 * but not inside a character. Returns the length to go back to. */
static size_t enter_key(parser *p, const char *key, size_t len)
{
    size_t before = p->path_len, room = sizeof p->path - 1;
    if (p->path_len > 0 && p->path_len < room) p->path[p->path_len++] = '.';
    size_t n = len < room - p->path_len ? len : room - p->path_len;
    while (n > 0 && n < len && ((unsigned char)key[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        p->path[p->path_len + i] = (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : key[i];
    p->path_len += n;
    p->path[p->path_len] = 0;
    return before;
}

static size_t enter_index(parser *p, size_t index)
{
    char text[24];
    size_t before = p->path_len, room = sizeof p->path - 1 - before;
    size_t n = (size_t)snprintf(text, sizeof text, "[%zu]", index);
    if (n > room) n = room;
    memcpy(p->path + before, text, n);
    p->path_len += n;
    p->path[p->path_len] = 0;
    return before;
}

static void leave(parser *p, size_t before)
{
    p->path_len = before;
    p->path[before] = 0;
}

static tb_code refuse_book(const parser *p, uint32_t node, const char *message)
{
    tb_fail(p->err, TB_E_BOOK, p->path, "%s", message);
    if (p->err) p->err->byte = (uint64_t)p->doc.nodes[node].at + 1;
    return TB_E_BOOK;
}

static tb_code refuse_type(const parser *p, uint32_t node, const char *wanted)
{
    char message[96];
    snprintf(message, sizeof message, "Must be %s, is %s.", wanted,
             tb__node_type_name(p->doc.nodes[node].type));
    return refuse_book(p, node, message);
}

/* Refuses a member of the object at p's path. */
static tb_code refuse_member(parser *p, uint32_t object, const char *key, const char *message)
{
    enter_key(p, key, strlen(key));
    return refuse_book(p, object, message);
}

/* --- walking --- */

typedef tb_code (*setter)(parser *p, uint32_t value, void *to);

typedef struct key_rule {
    const char *name;
    bool required;
    setter set;
    size_t offset; /* of the member that the setter fills */
} key_rule;

static const key_rule *find_rule(const key_rule *rules, size_t n, const tb__node *key)
{
    for (size_t i = 0; i < n; i++)
        if (tb__node_is(key, rules[i].name, strlen(rules[i].name))) return &rules[i];
    return NULL;
}

/* With the key that was meant, for a slip of the pen. */
static tb_code refuse_key(parser *p, const key_rule *rules, size_t n, uint32_t key)
{
    char words[1024] = "", message[16 + TB_MEANT_MAX], meant[TB_MEANT_MAX];
    const tb__node *name = &p->doc.nodes[key];
    for (size_t i = 0, used = 0; i < n && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? "|" : "", rules[i].name);
    snprintf(message, sizeof message, "Unknown key.%s", tb_meant(words, "", name->text, name->len, meant));
    return refuse_book(p, key, message);
}

static tb_code walk(parser *p, uint32_t object, const key_rule *rules, size_t n, void *to)
{
    uint32_t seen = 0;
    if (p->doc.nodes[object].type != TB__OBJECT) return refuse_type(p, object, "an object");
    for (uint32_t key = object + 1; key != p->doc.nodes[object].next;
         key = p->doc.nodes[key + 1].next) {
        size_t before = enter_key(p, p->doc.nodes[key].text, p->doc.nodes[key].len);
        const key_rule *rule = find_rule(rules, n, &p->doc.nodes[key]);
        if (!rule) return refuse_key(p, rules, n, key);
        tb_code code = rule->set(p, key + 1, (char *)to + rule->offset);
        if (code) return code;
        leave(p, before);
        seen |= UINT32_C(1) << (rule - rules);
    }
    for (size_t i = 0; i < n; i++)
        if (rules[i].required && !(seen >> i & 1))
            return refuse_member(p, object, rules[i].name, "This key is missing.");
    return TB_OK;
}

#define RULES(r) r, sizeof r / sizeof *r

/* --- setters of single values --- */

static bool is_id_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

static tb_code set_id(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, value, "a string");
    bool ok = node->len >= 1 && node->len < sizeof((tb_book *)0)->id;
    for (uint32_t i = 0; ok && i < node->len; i++)
        ok = is_id_character(node->text[i]);
    if (!ok) return refuse_book(p, value, "Must be 1 to 64 letters, digits, '.', '_' and '-'.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

static tb_code set_currency(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, value, "a string");
    bool ok = node->len == 3;
    for (uint32_t i = 0; ok && i < 3; i++)
        ok = node->text[i] >= 'A' && node->text[i] <= 'Z';
    if (!ok) return refuse_book(p, value, "Must be three capital letters such as USD.");
    memcpy(to, node->text, 3);
    ((char *)to)[3] = 0;
    return TB_OK;
}

static tb_code set_effective(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    int64_t us;
    if (node->type != TB__STRING) return refuse_type(p, value, "a string");
    if (tb_rfc3339_parse(node->text, node->len, &us, NULL) != TB_OK)
        return refuse_book(p, value, "Must be an RFC 3339 time such as 2026-01-01T00:00:00Z.");
    if (us % TB_US_PER_HOUR != 0) return refuse_book(p, value, "Must be on an hour.");
    *(int64_t *)to = us;
    return TB_OK;
}

/* One of n names, as its number. */
static tb_code set_choice(parser *p, uint32_t value, const char *const *names, int n,
                          const char *message, int *ret)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, value, "a string");
    for (int i = 0; i < n; i++) {
        if (!tb__node_is(node, names[i], strlen(names[i]))) continue;
        *ret = i;
        return TB_OK;
    }
    return refuse_book(p, value, message);
}

static tb_code set_rounding(parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"half_up", "half_even"};
    int choice = 0;
    tb_code code = set_choice(p, value, names, 2, "Must be half_up or half_even.", &choice);
    if (!code) *(tb_rounding *)to = (tb_rounding)choice;
    return code;
}

static tb_code set_book_scope(parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"contract"};
    int choice = 0;
    tb_code code = set_choice(p, value, names, 1,
                              "Must be contract; leave it out of a book of the currency.", &choice);
    if (!code) *(bool *)to = true;
    return code;
}

static tb_code set_mode(parser *p, uint32_t value, void *to)
{
    int choice = 0;
    tb_code code =
        set_choice(p, value, mode_names, 3, "Must be graduated, volume or package.", &choice);
    if (!code) *(tb_tier_mode *)to = (tb_tier_mode)choice;
    return code;
}

static tb_code set_axis(parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"absolute", "net"};
    int choice = 0;
    tb_code code = set_choice(p, value, names, 2, "Must be absolute or net.", &choice);
    if (!code) *(tb__axis *)to = choice == 0 ? TB__AXIS_ABSOLUTE : TB__AXIS_NET;
    return code;
}

static tb_code check_unit(parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"GB"};
    int choice = 0;
    (void)to;
    return set_choice(p, value, names, 1, "Must be GB: 10^9 bytes.", &choice);
}

static tb_code check_scope(parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"account"};
    int choice = 0;
    (void)to;
    return set_choice(p, value, names, 1, "Must be account.", &choice);
}

/* A decimal that is not negative, from its text. */
static tb_code set_decimal(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    tb_error why;
    tb_decimal number;
    if (node->type != TB__STRING && node->type != TB__NUMBER)
        return refuse_type(p, value, "a decimal, as a string or a number");
    if (tb_decimal_parse(node->text, node->len, TB_PRICE_SCALE_MAX, &number, &why))
        return refuse_book(p, value, why.message);
    if (tb_decimal_sign(number) < 0) return refuse_book(p, value, "Must not be negative.");
    *(tb_decimal *)to = number;
    return TB_OK;
}

static tb_code set_price(parser *p, uint32_t value, void *to)
{
    tb_decimal price;
    tb_code code = set_decimal(p, value, &price);
    if (code) return code;
    if (!tb__price_is_safe(price, TB_DECIMAL_ZERO, 0))
        return refuse_book(p, value, "10^18 units at this price pass 2^127-1.");
    *(tb_decimal *)to = price;
    return TB_OK;
}

/* A threshold in units of 10^places, as whole base units. */
static tb_code set_units(parser *p, uint32_t value, int places, const char *too_fine, tb_i128 *ret)
{
    tb_decimal number;
    tb_code code = set_decimal(p, value, &number);
    if (code) return code;
    tb_decimal most = {TB_UNITS_MAX, places};
    if (tb_decimal_compare(number, most) > 0)
        return refuse_book(p, value, "Must be at most 10^18 bytes or requests.");
    number = tb_decimal_normal(number);
    if (number.scale > places) return refuse_book(p, value, too_fine);
    if (tb_decimal_shift(number, -places, &number, NULL))
        return tb_fail(p->err, TB_E_INTERNAL, p->path, NULL);
    *ret = number.mantissa;
    return TB_OK;
}

static tb_code set_gb(parser *p, uint32_t value, void *to)
{
    return set_units(p, value, GB_PLACES, "Finer than one byte.", to);
}

static tb_code set_millions(parser *p, uint32_t value, void *to)
{
    return set_units(p, value, MILLION_PLACES, "Finer than one request.", to);
}

static tb_code set_requests(parser *p, uint32_t value, void *to)
{
    return set_units(p, value, REQUESTS_PLACES, "Finer than one request.", to);
}

/* --- tiers --- */

typedef struct raw_end {
    tb_i128 units;
    bool open;
} raw_end;

typedef struct raw_price {
    tb_decimal value;
    bool given;
} raw_price;

typedef struct raw_tier {
    tb_i128 from;
    raw_end to;
    raw_price price, block_price;
    tb_decimal flat;
} raw_tier;

#define NO_BLOCK (-1)

/* The keys beside `tiers`. */
typedef struct raw_list {
    tb_tier_mode mode;
    tb__axis axis;
    tb_i128 included, block;
    uint32_t tiers; /* the list's node */
} raw_list;

static tb_code set_end(parser *p, uint32_t value, setter threshold, raw_end *to)
{
    to->open = p->doc.nodes[value].type == TB__NULL;
    return to->open ? TB_OK : threshold(p, value, &to->units);
}

static tb_code set_gb_end(parser *p, uint32_t value, void *to)
{
    return set_end(p, value, set_gb, to);
}

static tb_code set_millions_end(parser *p, uint32_t value, void *to)
{
    return set_end(p, value, set_millions, to);
}

static tb_code set_raw_price(parser *p, uint32_t value, void *to)
{
    raw_price *price = to;
    price->given = true;
    return set_price(p, value, &price->value);
}

static tb_code set_node(parser *p, uint32_t value, void *to)
{
    (void)p;
    *(uint32_t *)to = value;
    return TB_OK;
}

static const key_rule gb_tier_rules[] = {
    {"from", true, set_gb, offsetof(raw_tier, from)},
    {"to", true, set_gb_end, offsetof(raw_tier, to)},
    {"price", false, set_raw_price, offsetof(raw_tier, price)},
    {"price_per_block", false, set_raw_price, offsetof(raw_tier, block_price)},
    {"flat", false, set_price, offsetof(raw_tier, flat)},
};

static const key_rule million_tier_rules[] = {
    {"from_millions", true, set_millions, offsetof(raw_tier, from)},
    {"to_millions", true, set_millions_end, offsetof(raw_tier, to)},
    {"price_per_million", false, set_raw_price, offsetof(raw_tier, price)},
    {"price_per_block", false, set_raw_price, offsetof(raw_tier, block_price)},
    {"flat", false, set_price, offsetof(raw_tier, flat)},
};

/* The two ways of writing a list of tiers: bandwidth's and the load balancer's. */
typedef struct form {
    const key_rule *rules; /* in this order: start, end, price, price of a block, flat */
    size_t n_rules;
    int places;
} form;

enum { RULE_FROM, RULE_TO, RULE_PRICE, RULE_BLOCK_PRICE };

static const form gb_form = {RULES(gb_tier_rules), GB_PLACES};
static const form million_form = {RULES(million_tier_rules), MILLION_PLACES};

static const char *price_key(const form *f, tb_tier_mode mode)
{
    return f->rules[mode == TB_PACKAGE ? RULE_BLOCK_PRICE : RULE_PRICE].name;
}

static tb_code read_tier(parser *p, const form *f, uint32_t node, tb_tier_mode mode, tb_tier *to)
{
    raw_tier raw = {.from = 0};
    tb_code code = walk(p, node, f->rules, f->n_rules, &raw);
    if (code) return code;
    bool package = mode == TB_PACKAGE;
    const raw_price *price = package ? &raw.block_price : &raw.price;
    if ((package ? raw.price : raw.block_price).given)
        return refuse_member(p, node, f->rules[package ? RULE_PRICE : RULE_BLOCK_PRICE].name,
                             package ? "Tiers of mode package have price_per_block instead."
                                     : "Only tiers of mode package have this.");
    if (!price->given) return refuse_member(p, node, price_key(f, mode), "This key is missing.");
    *to = (tb_tier){.from = raw.from,
                    .to = raw.to.units,
                    .open = raw.to.open,
                    .shown = price->value,
                    .price = price->value,
                    .flat = raw.flat};
    if (!package && tb_decimal_shift(price->value, f->places, &to->price, NULL))
        return tb_fail(p->err, TB_E_INTERNAL, p->path, NULL);
    return TB_OK;
}

static tb_code refuse_fault(parser *p, const form *f, const raw_list *raw, uint32_t object,
                            const tb__tiers_fault *fault)
{
    if (fault->key == TB__TIERS_AXIS)
        return refuse_member(p, object, "included_axis", fault->message);
    uint32_t tier = raw->tiers + 1;
    for (size_t i = 0; i < fault->tier; i++)
        tier = p->doc.nodes[tier].next;
    enter_key(p, "tiers", 5);
    enter_index(p, fault->tier);
    const char *key = fault->key == TB__TIERS_FROM ? f->rules[RULE_FROM].name
                      : fault->key == TB__TIERS_TO ? f->rules[RULE_TO].name
                                                   : price_key(f, raw->mode);
    return refuse_member(p, tier, key, fault->message);
}

static tb_code read_tiers(parser *p, const form *f, const raw_list *raw, tb_tiers *to)
{
    const tb__node *list = &p->doc.nodes[raw->tiers];
    size_t before = enter_key(p, "tiers", 5);
    if (list->type != TB__ARRAY) return refuse_type(p, raw->tiers, "an array");
    if (list->len < 1 || list->len > TB_TIERS_MAX)
        return refuse_book(p, raw->tiers, "Must have 1 to 64 tiers.");
    uint32_t child = raw->tiers + 1;
    for (to->n = 0; to->n < list->len; to->n++, child = p->doc.nodes[child].next) {
        size_t outside = enter_index(p, to->n);
        tb_code code = read_tier(p, f, child, raw->mode, &to->tier[to->n]);
        if (code) return code;
        leave(p, outside);
    }
    leave(p, before);
    return TB_OK;
}

/* Judges a section's tiers when all its keys are known. */
static tb_code finish_list(parser *p, const form *f, const raw_list *raw, uint32_t object,
                           tb_tiers *to)
{
    to->mode = raw->mode;
    to->included = raw->included;
    to->block = raw->mode == TB_PACKAGE ? raw->block : 0;
    if (raw->mode == TB_PACKAGE && raw->block <= 0)
        return refuse_member(p, object, "block", "Mode package needs a block above 0.");
    if (raw->mode != TB_PACKAGE && raw->block != NO_BLOCK)
        return refuse_member(p, object, "block", "Only mode package has blocks.");
    tb_code code = read_tiers(p, f, raw, to);
    if (code) return code;
    tb__tiers_fault fault;
    if (tb__tiers_settle(to, raw->axis, f->places, &fault)) return TB_OK;
    return refuse_fault(p, f, raw, object, &fault);
}

/* --- sections --- */

static tb_code set_region_prices(parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    key_rule rules[TB_BILLING_REGION_COUNT];
    raw_price prices[TB_BILLING_REGION_COUNT] = {0};
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++)
        rules[r] = (key_rule){region_names[r], false, set_raw_price, (size_t)r * sizeof *prices};
    tb_code code = walk(p, value, rules, TB_BILLING_REGION_COUNT, prices);
    for (int r = 0; r < TB_BILLING_REGION_COUNT && !code; r++) {
        book->region_priced[r] = prices[r].given;
        book->region_shown[r] = prices[r].value;
        code = tb_decimal_shift(prices[r].value, GB_PLACES, &book->region_price[r], p->err);
    }
    return code;
}

static const key_rule premium_rules[] = {
    {"per", true, check_unit, 0},
    {"regions", true, set_region_prices, 0},
};

static tb_code set_premium(parser *p, uint32_t value, void *to)
{
    ((tb_book *)to)->has_premium = true;
    return walk(p, value, RULES(premium_rules), to);
}

static const key_rule volume_rules[] = {
    {"per", true, check_unit, 0},
    {"scope", false, check_scope, 0},
    {"mode", false, set_mode, offsetof(raw_list, mode)},
    {"included", false, set_gb, offsetof(raw_list, included)},
    {"included_axis", false, set_axis, offsetof(raw_list, axis)},
    {"block", false, set_gb, offsetof(raw_list, block)},
    {"tiers", true, set_node, offsetof(raw_list, tiers)},
};

static tb_code set_volume(parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    raw_list raw = {.mode = TB_GRADUATED, .block = NO_BLOCK};
    tb_code code = walk(p, value, RULES(volume_rules), &raw);
    book->has_volume = true;
    return code ? code : finish_list(p, &gb_form, &raw, value, &book->volume);
}

static const key_rule bandwidth_rules[] = {
    {"premium", false, set_premium, 0},
    {"volume", false, set_volume, 0},
};

static tb_code set_bandwidth(parser *p, uint32_t value, void *to)
{
    return walk(p, value, RULES(bandwidth_rules), to);
}

static const key_rule optimizer_rules[] = {
    {"monthly", true, set_price, offsetof(tb_book, optimizer_monthly)},
};

static tb_code set_optimizer(parser *p, uint32_t value, void *to)
{
    ((tb_book *)to)->has_optimizer = true;
    return walk(p, value, RULES(optimizer_rules), to);
}

typedef struct raw_balancer {
    raw_list list;
    tb_decimal fee;
} raw_balancer;

static const key_rule balancer_rules[] = {
    {"monthly_fee", true, set_price, offsetof(raw_balancer, fee)},
    {"mode", false, set_mode, offsetof(raw_balancer, list.mode)},
    {"included_requests", false, set_requests, offsetof(raw_balancer, list.included)},
    {"included_axis", false, set_axis, offsetof(raw_balancer, list.axis)},
    {"block", false, set_millions, offsetof(raw_balancer, list.block)},
    {"tiers", true, set_node, offsetof(raw_balancer, list.tiers)},
};

static tb_code set_balancer(parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    raw_balancer raw = {.list = {.mode = TB_GRADUATED, .block = NO_BLOCK}};
    tb_code code = walk(p, value, RULES(balancer_rules), &raw);
    if (!code) code = finish_list(p, &million_form, &raw.list, value, &book->balancer);
    book->has_balancer = true;
    book->balancer_fee = raw.fee;
    return code;
}

static tb_code set_code(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, value, "a string");
    bool ok = node->len >= 1 && node->len < TB_LEDGER_CODE_ROOM;
    for (uint32_t i = 0; ok && i < node->len; i++)
        ok = is_id_character(node->text[i]);
    if (!ok) return refuse_book(p, value, "Must be 1 to 31 letters, digits, '.', '_' and '-'.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

static const key_rule code_rules[] = {
#define TB_X(e, name, code) {name, false, set_code, TB_ACCOUNT_##e * TB_LEDGER_CODE_ROOM},
    TB_BOOK_ACCOUNTS(TB_X)
#undef TB_X
};

static tb_code set_codes(parser *p, uint32_t value, void *to)
{
    return walk(p, value, RULES(code_rules), to);
}

static const key_rule book_rules[] = {
    {"book", true, set_id, offsetof(tb_book, id)},
    {"currency", true, set_currency, offsetof(tb_book, currency)},
    {"effective_from", true, set_effective, offsetof(tb_book, effective_us)},
    {"supersedes", false, set_id, offsetof(tb_book, supersedes)},
    {"scope", false, set_book_scope, offsetof(tb_book, contract)},
    {"rounding", false, set_rounding, offsetof(tb_book, rounding)},
    {"minimum_monthly", false, set_price, offsetof(tb_book, minimum_monthly)},
    {"ledger_codes", false, set_codes, offsetof(tb_book, ledger_code)},
    {"bandwidth", false, set_bandwidth, 0},
    {"optimizer", false, set_optimizer, 0},
    {"load_balancer", false, set_balancer, 0},
};

/* --- the whole --- */

static tb_code keep_canonical(parser *p, tb__arena *scratch, tb_book *book)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    size_t len;
    const char *text = tb__document_canonical(&p->doc, 0, scratch, &len);
    if (!text) return tb_no_memory(p->err);
    book->canonical = tb_alloc_resize(book->alloc, NULL, 0, len + 1);
    if (!book->canonical) return tb_no_memory(p->err);
    memcpy(book->canonical, text, len + 1);
    book->canonical_len = len;
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(book->sha256, sizeof book->sha256, hash, sizeof hash);
    return TB_OK;
}

static bool has_codes(const tb_book *book)
{
    for (int a = 0; a < TB_BOOK_ACCOUNT_COUNT; a++)
        if (book->ledger_code[a][0]) return true;
    return false;
}

static tb_code parse_into(const char *text, size_t len, tb_book *book, tb_error *err)
{
    parser p = {.err = err};
    tb__arena scratch;
    tb__arena_init(&scratch, book->alloc);
    tb_code code = tb__document_parse(text, len, TB_E_BOOK, &scratch, book->alloc, &p.doc, err);
    if (!code) {
        code = walk(&p, 0, RULES(book_rules), book);
        if (!code && book->contract && book->supersedes[0])
            code = refuse_member(&p, 0, "supersedes",
                                 "A contract names its book by id: one of scope contract takes no"
                                 " other's place.");
        if (!code && book->contract && has_codes(book))
            code = refuse_member(&p, 0, "ledger_codes",
                                 "The general ledger takes its codes from the books of the currency: one of"
                                 " scope contract has none.");
        if (!code) code = keep_canonical(&p, &scratch, book);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&scratch);
    return code;
}

tb_code tb_book_parse(const char *text, size_t len, const tb_alloc *alloc, tb_book *ret_book,
                      tb_error *err)
{
    if (len > TB_BOOK_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "A book has at most %zu bytes.", TB_BOOK_MAX);
    tb_book book = {.alloc = alloc};
    tb_code code = parse_into(text, len, &book, err);
    if (code) return code;
    book.minor_digits = tb_currency_minor_digits(book.currency);
    *ret_book = book;
    return TB_OK;
}

tb_code tb_book_check_shown(const tb_book *book, tb_error *err)
{
    const tb_i128 million = 1000000;
    for (size_t i = 0; book->has_balancer && i < book->balancer.n; i++) {
        const tb_tier *tier = &book->balancer.tier[i];
        char field[64];
        bool from = tier->from % million != 0;
        if (!from && (tier->open || tier->to % million == 0)) continue;
        snprintf(field, sizeof field, "load_balancer.tiers[%zu].%s", i,
                 from ? "from_millions" : "to_millions");
        return tb_fail(err, TB_E_BOOK, field,
                       "Must be whole millions: GET /loadbalancer/{id}/usage answers them as "
                       "integers.");
    }
    return TB_OK;
}

void tb_book_release(tb_book *book)
{
    if (book->canonical) tb_alloc_free(book->alloc, book->canonical, book->canonical_len + 1);
    *book = (tb_book){0};
}
