/* Lists of tiers in a price book. They are read into raw tiers first, since their keys come in any order, and checked
 * when all are known. */
#include "billing/book_walk.h"

#include <string.h>

#define MILLION_PLACES  6
#define REQUESTS_PLACES 0

static const char *const mode_names[] = {"graduated", "volume", "package"};

const char *tb_tier_mode_name(tb_tier_mode mode)
{
    return (unsigned)mode <= TB_PACKAGE ? mode_names[mode] : "";
}

/* --- setters --- */

tb_code tb__book_set_mode(tb__book_parser *p, uint32_t value, void *to)
{
    int choice = 0;
    tb_code code = tb__book_choice(p, value, mode_names, 3, "Must be graduated, volume or package.", &choice);
    if (!code) *(tb_tier_mode *)to = (tb_tier_mode)choice;
    return code;
}

tb_code tb__book_set_axis(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"absolute", "net"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be absolute or net.", &choice);
    if (!code) *(tb__axis *)to = choice == 0 ? TB__AXIS_ABSOLUTE : TB__AXIS_NET;
    return code;
}

/* A threshold in units of 10^places, as whole base units. */
static tb_code set_units(tb__book_parser *p, uint32_t value, int places, const char *too_fine, tb_i128 *ret)
{
    tb_decimal number;
    tb_code code = tb__book_set_decimal(p, value, &number);
    if (code) return code;
    tb_decimal most = {TB_UNITS_MAX, places};
    if (tb_decimal_compare(number, most) > 0)
        return tb__book_refuse(p, value, "Must be at most 10^18 bytes or requests.");
    number = tb_decimal_normal(number);
    if (number.scale > places) return tb__book_refuse(p, value, too_fine);
    if (tb_decimal_shift(number, -places, &number, NULL)) return tb_fail(p->err, TB_E_INTERNAL, p->path, NULL);
    *ret = number.mantissa;
    return TB_OK;
}

tb_code tb__book_set_gb(tb__book_parser *p, uint32_t value, void *to)
{
    return set_units(p, value, TB__BOOK_GB_PLACES, "Finer than one byte.", to);
}

tb_code tb__book_set_millions(tb__book_parser *p, uint32_t value, void *to)
{
    return set_units(p, value, MILLION_PLACES, "Finer than one request.", to);
}

tb_code tb__book_set_requests(tb__book_parser *p, uint32_t value, void *to)
{
    return set_units(p, value, REQUESTS_PLACES, "Finer than one request.", to);
}

tb_code tb__book_set_per(tb__book_parser *p, uint32_t value, void *to)
{
    tb_decimal number;
    tb_code code = tb__book_set_decimal(p, value, &number);
    if (code) return code;
    if (tb_decimal_compare(number, tb_decimal_from_int(TB_UNITS_MAX)) > 0)
        return tb__book_refuse(p, value, "Must be at most 10^18.");
    if (tb_decimal_shift(number, -TB__BOOK_PER_PLACES, &number, NULL))
        return tb_fail(p->err, TB_E_INTERNAL, p->path, NULL);
    *(tb_i128 *)to = number.mantissa;
    return TB_OK;
}

/* --- tiers --- */

typedef struct raw_end {
    tb_i128 units;
    bool open;
} raw_end;

typedef struct raw_tier {
    tb_i128 from;
    raw_end to;
    tb__book_price price, block_price;
    tb_decimal flat;
} raw_tier;

static tb_code set_end(tb__book_parser *p, uint32_t value, tb__book_setter threshold, raw_end *to)
{
    to->open = p->doc.nodes[value].type == TB__NULL;
    return to->open ? TB_OK : threshold(p, value, &to->units);
}

static tb_code set_gb_end(tb__book_parser *p, uint32_t value, void *to)
{
    return set_end(p, value, tb__book_set_gb, to);
}

static tb_code set_millions_end(tb__book_parser *p, uint32_t value, void *to)
{
    return set_end(p, value, tb__book_set_millions, to);
}

static tb_code set_per_end(tb__book_parser *p, uint32_t value, void *to)
{
    return set_end(p, value, tb__book_set_per, to);
}

static const tb__book_key gb_tier_rules[] = {
    {"from", true, tb__book_set_gb, offsetof(raw_tier, from)},
    {"to", true, set_gb_end, offsetof(raw_tier, to)},
    {"price", false, tb__book_set_given, offsetof(raw_tier, price)},
    {"price_per_block", false, tb__book_set_given, offsetof(raw_tier, block_price)},
    {"flat", false, tb__book_set_price, offsetof(raw_tier, flat)},
};

static const tb__book_key million_tier_rules[] = {
    {"from_millions", true, tb__book_set_millions, offsetof(raw_tier, from)},
    {"to_millions", true, set_millions_end, offsetof(raw_tier, to)},
    {"price_per_million", false, tb__book_set_given, offsetof(raw_tier, price)},
    {"price_per_block", false, tb__book_set_given, offsetof(raw_tier, block_price)},
    {"flat", false, tb__book_set_price, offsetof(raw_tier, flat)},
};

static const tb__book_key per_tier_rules[] = {
    {"from", true, tb__book_set_per, offsetof(raw_tier, from)},
    {"to", true, set_per_end, offsetof(raw_tier, to)},
    {"price", false, tb__book_set_given, offsetof(raw_tier, price)},
    {"price_per_block", false, tb__book_set_given, offsetof(raw_tier, block_price)},
    {"flat", false, tb__book_set_price, offsetof(raw_tier, flat)},
};

struct tb__book_form {
    const tb__book_key *rules; /* in this order: start, end, price, price of a block, flat */
    size_t n_rules;
    int places;       /* of thresholds */
    int price_places; /* from a price to that of a base unit */
};

enum { RULE_FROM, RULE_TO, RULE_PRICE, RULE_BLOCK_PRICE };

const tb__book_form tb__book_gb = {TB__BOOK_KEYS(gb_tier_rules), TB__BOOK_GB_PLACES, TB__BOOK_GB_PLACES};
const tb__book_form tb__book_millions = {TB__BOOK_KEYS(million_tier_rules), MILLION_PLACES, MILLION_PLACES};
const tb__book_form tb__book_per = {TB__BOOK_KEYS(per_tier_rules), TB__BOOK_PER_PLACES, 0};

static const char *price_key(const tb__book_form *f, tb_tier_mode mode)
{
    return f->rules[mode == TB_PACKAGE ? RULE_BLOCK_PRICE : RULE_PRICE].name;
}

static tb_code read_tier(tb__book_parser *p, const tb__book_form *f, uint32_t node, tb_tier_mode mode, tb_tier *to)
{
    raw_tier raw = {.from = 0};
    tb_code code = tb__book_walk(p, node, f->rules, f->n_rules, &raw);
    if (code) return code;
    bool package = mode == TB_PACKAGE;
    const tb__book_price *price = package ? &raw.block_price : &raw.price;
    if ((package ? raw.price : raw.block_price).given)
        return tb__book_refuse_member(p, node, f->rules[package ? RULE_PRICE : RULE_BLOCK_PRICE].name,
                                      package ? "Tiers of mode package have price_per_block instead."
                                              : "Only tiers of mode package have this.");
    if (!price->given) return tb__book_refuse_member(p, node, price_key(f, mode), "This key is missing.");
    *to = (tb_tier){.from = raw.from,
                    .to = raw.to.units,
                    .open = raw.to.open,
                    .shown = price->value,
                    .price = price->value,
                    .flat = raw.flat};
    if (!package && tb_decimal_shift(price->value, f->price_places, &to->price, NULL))
        return tb_fail(p->err, TB_E_INTERNAL, p->path, NULL);
    return TB_OK;
}

static tb_code refuse_fault(tb__book_parser *p, const tb__book_form *f, const tb__book_list *raw, uint32_t object,
                            const tb__tiers_fault *fault)
{
    if (fault->key == TB__TIERS_AXIS) return tb__book_refuse_member(p, object, "included_axis", fault->message);
    uint32_t tier = raw->tiers + 1;
    for (size_t i = 0; i < fault->tier; i++)
        tier = p->doc.nodes[tier].next;
    tb__book_enter_key(p, "tiers", 5);
    tb__book_enter_index(p, fault->tier);
    const char *key = fault->key == TB__TIERS_FROM ? f->rules[RULE_FROM].name
                      : fault->key == TB__TIERS_TO ? f->rules[RULE_TO].name
                                                   : price_key(f, raw->mode);
    return tb__book_refuse_member(p, tier, key, fault->message);
}

static tb_code read_tiers(tb__book_parser *p, const tb__book_form *f, const tb__book_list *raw, tb_tiers *to)
{
    const tb__node *list = &p->doc.nodes[raw->tiers];
    size_t before = tb__book_enter_key(p, "tiers", 5);
    if (list->type != TB__ARRAY) return tb__book_refuse_type(p, raw->tiers, "an array");
    if (list->len < 1 || list->len > TB_TIERS_MAX) return tb__book_refuse(p, raw->tiers, "Must have 1 to 64 tiers.");
    uint32_t child = raw->tiers + 1;
    for (to->n = 0; to->n < list->len; to->n++, child = p->doc.nodes[child].next) {
        size_t outside = tb__book_enter_index(p, to->n);
        tb_code code = read_tier(p, f, child, raw->mode, &to->tier[to->n]);
        if (code) return code;
        tb__book_leave(p, outside);
    }
    tb__book_leave(p, before);
    return TB_OK;
}

tb_code tb__book_tiers(tb__book_parser *p, const tb__book_form *f, const tb__book_list *raw, uint32_t object,
                       tb_tiers *to)
{
    to->mode = raw->mode;
    to->included = raw->included;
    to->block = raw->mode == TB_PACKAGE ? raw->block : 0;
    if (raw->mode == TB_PACKAGE && raw->block <= 0)
        return tb__book_refuse_member(p, object, "block", "Mode package needs a block above 0.");
    if (raw->mode != TB_PACKAGE && raw->block != TB__BOOK_NO_BLOCK)
        return tb__book_refuse_member(p, object, "block", "Only mode package has blocks.");
    tb_code code = read_tiers(p, f, raw, to);
    if (code) return code;
    tb__tiers_fault fault;
    if (tb__tiers_settle(to, raw->axis, f->places, &fault)) return TB_OK;
    return refuse_fault(p, f, raw, object, &fault);
}
