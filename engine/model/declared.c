/* Each reading walks one value of an object. A path is written only where a value breaks a rule. */
#include "model/declared.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/calendar.h"

#define PRICE_SCALE_MAX 15                           /* digits after the point of a price */
#define UNITS_MOST      INT64_C(1000000000000000000) /* 10^18, as a price book is made for */

uint32_t tb__declared_member(const tb__document *doc, uint32_t object, const char *name)
{
    size_t len = strlen(name);
    if (doc->nodes[object].type != TB__OBJECT) return 0;
    for (uint32_t key = object + 1; key != doc->nodes[object].next; key = doc->nodes[key + 1].next)
        if (tb__node_is(&doc->nodes[key], name, len))
            return doc->nodes[key + 1].type == TB__NULL ? 0 : key + 1;
    return 0;
}

/* --- faults --- */

void tb__fault_path(const char *before, const char *path, char *out, size_t room)
{
    bool point = before[0] && path[0] && path[0] != '[';
    size_t len = (size_t)snprintf(out, room, "%s%s%s", before, point ? "." : "", path);
    if (len < room) return;
    for (len = room - 1; len > 0 && ((unsigned char)out[len - 1] & 0xc0) == 0x80; len--)
        out[len - 1] = 0;
    if (len > 0 && (unsigned char)out[len - 1] >= 0xc0) out[len - 1] = 0;
}

bool tb__fault_at(tb__fault *fault, const char *path, uint32_t node, const char *wanted)
{
    snprintf(fault->path, sizeof fault->path, "%s", path);
    fault->wanted = wanted;
    fault->node = node;
    return false;
}

bool tb__fault_inside(tb__fault *fault, const char *before)
{
    char path[sizeof fault->path];
    tb__fault_path(before, fault->path, path, sizeof path);
    memcpy(fault->path, path, sizeof path);
    return false;
}

/* Keys come from the document: other characters than plain ones are shown as '?', and a long key is cut between
 * characters. */
bool tb__fault_at_key(const tb__document *doc, tb__fault *fault, uint32_t key, const char *wanted)
{
    const tb__node *node = &doc->nodes[key];
    char path[sizeof fault->path];
    size_t n = node->len < sizeof path - 1 ? node->len : sizeof path - 1;
    while (n > 0 && n < node->len && ((unsigned char)node->text[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)node->text[i];
        path[i] = c < 0x20 || c == 0x7f ? '?' : node->text[i];
    }
    path[n] = 0;
    return tb__fault_at(fault, path, key, wanted);
}

/* --- values --- */

/* The bytes are UTF-8. C0, C1 and DEL are control characters; XML takes no U+FFFE and U+FFFF. */
bool tb__node_plain(const tb__node *node)
{
    const unsigned char *text = (const unsigned char *)node->text;
    for (uint32_t i = 0; i < node->len; i++) {
        if (text[i] < 0x20 || text[i] == 0x7f) return false;
        if (text[i] == 0xc2 && text[i + 1] < 0xa0) return false;
        if (text[i] == 0xef && text[i + 1] == 0xbf && text[i + 2] >= 0xbe) return false;
    }
    return true;
}

static bool read_price(const tb__document *doc, uint32_t object, const char *name, tb_decimal *ret,
                       bool *ret_there, tb__fault *fault)
{
    uint32_t at = tb__declared_member(doc, object, name);
    *ret_there = at != 0;
    if (!at) return true;
    if (tb__node_decimal(&doc->nodes[at], PRICE_SCALE_MAX, ret) && tb_decimal_sign(*ret) >= 0)
        return true;
    return tb__fault_at(fault, name, at,
                    "a decimal of 0 or more with at most 15 digits after the point");
}

static bool read_bool(const tb__document *doc, uint32_t object, const char *name, bool *value,
                      tb__fault *fault)
{
    uint32_t at = tb__declared_member(doc, object, name);
    if (!at) return true;
    uint32_t type = doc->nodes[at].type;
    *value = type == TB__TRUE;
    return type == TB__TRUE || type == TB__FALSE || tb__fault_at(fault, name, at, "true or false");
}

bool tb__declared_currency(const tb__document *doc, uint32_t value, char ret[4], tb__fault *fault)
{
    const tb__node *node = &doc->nodes[value];
    bool ok = node->type == TB__STRING && node->len == 3;
    for (uint32_t i = 0; ok && i < 3; i++)
        ok = node->text[i] >= 'A' && node->text[i] <= 'Z';
    if (!ok) return tb__fault_at(fault, "", value, "three capital letters such as EUR");
    memcpy(ret, node->text, 3);
    ret[3] = 0;
    return true;
}

bool tb__declared_time(const tb__document *doc, uint32_t value, int64_t *ret_us, tb__fault *fault)
{
    const tb__node *node = &doc->nodes[value];
    if (node->type == TB__STRING && tb_rfc3339_parse(node->text, node->len, ret_us, NULL) == TB_OK)
        return true;
    return tb__fault_at(fault, "", value, "an RFC 3339 time such as 2026-01-05T00:00:00Z");
}

/* --- discounts --- */

static const char *const discounts[TB__DISCOUNT_COUNT] = {
#define TB_X(e, name) name,
    TB__DISCOUNTS(TB_X)
#undef TB_X
};

static bool read_discounts(const tb__document *doc, uint32_t object, int ret[TB__DISCOUNT_COUNT],
                           tb__fault *fault)
{
    for (int i = 0; i < TB__DISCOUNT_COUNT; i++) {
        uint32_t at = tb__declared_member(doc, object, discounts[i]);
        tb_decimal value = TB_DECIMAL_ZERO;
        if (at && (!tb__node_decimal(&doc->nodes[at], 0, &value) || value.mantissa < 0 ||
                   value.mantissa > 100))
            return tb__fault_at(fault, discounts[i], at, "a whole number from 0 to 100");
        ret[i] = (int)value.mantissa;
    }
    return true;
}

bool tb__declared_discounts(const tb__document *doc, uint32_t value, int ret[TB__DISCOUNT_COUNT],
                            tb__fault *fault)
{
    if (doc->nodes[value].type != TB__OBJECT)
        return tb__fault_at(fault, "", value, "an object of discounts");
    for (uint32_t key = value + 1; key != doc->nodes[value].next; key = doc->nodes[key + 1].next) {
        bool known = false;
        for (int i = 0; i < TB__DISCOUNT_COUNT; i++)
            known |= tb__node_is(&doc->nodes[key], discounts[i], strlen(discounts[i]));
        if (!known)
            return tb__fault_at_key(doc, fault, key,
                                    "one of EUUSDiscount, SouthAmericaDiscount, AfricaDiscount"
                                    " and AsiaOceaniaDiscount");
    }
    return read_discounts(doc, value, ret, fault);
}

/* --- tax --- */

/* The position of a walk over rates. */
typedef struct taxing {
    const tb__document *doc;
    tb__tax *list;
    size_t n;
    tb__fault *fault;
    char place[24]; /* "[2]" in a list, "" elsewhere */
} taxing;

static bool refuse_rate(taxing *t, const char *member, uint32_t node, const char *wanted)
{
    (void)tb__fault_at(t->fault, member, node, wanted);
    return tb__fault_inside(t->fault, t->place);
}

static const char percent_wanted[] =
    "a percent from 0 to 100 with at most 15 digits after the point";

/* Appends a rate without a name yet. member: its percent's node, for the path. */
static bool add_rate(taxing *t, const char *member, uint32_t percent)
{
    tb__tax *tax = &t->list[t->n];
    if (t->n == TB__TAXES_MAX) return refuse_rate(t, "", percent, "one of at most 8 rates");
    *tax = (tb__tax){.name = "VAT", .len = 3, .category = ""};
    if (!tb__node_decimal(&t->doc->nodes[percent], PRICE_SCALE_MAX, &tax->percent) ||
        tb_decimal_sign(tax->percent) < 0 ||
        tb_decimal_compare(tax->percent, tb_decimal_from_int(100)) > 0)
        return refuse_rate(t, member, percent, percent_wanted);
    t->n++;
    return true;
}

static bool name_fits(const tb__node *name)
{
    return name->type == TB__STRING && name->len >= 1 && name->len <= TB__TAX_NAME_MAX;
}

/* --- a rate with a category --- */

static const struct {
    const char *name;
    bool charged, untaxed;
} categories[] = {{"S", true, false},  {"Z", false, false}, {"E", false, true}, {"AE", false, true},
                  {"K", false, true}, {"G", false, true},  {"O", false, true}};
#define CATEGORIES (sizeof categories / sizeof *categories)

/* A rate may be named "category": its percent is a decimal, which no category is. */
static uint32_t category_of(const tb__document *doc, uint32_t object)
{
    tb_decimal percent;
    const uint32_t at = tb__declared_member(doc, object, "category");
    return at && doc->nodes[at].type == TB__STRING &&
                   !tb__node_decimal(&doc->nodes[at], TB_DECIMAL_SCALE_MAX, &percent)
               ? at
               : 0;
}

static bool add_percent(taxing *t, uint32_t object, bool charged)
{
    tb__tax *tax = &t->list[0];
    const uint32_t rate = tb__declared_member(t->doc, object, "rate");
    if (!rate && charged)
        return refuse_rate(t, "rate", object, "given, a percent above 0, for category S");
    *tax = (tb__tax){.name = "VAT", .len = 3, .category = ""};
    if (rate && !add_rate(t, "rate", rate)) return false;
    t->n = 1;
    if ((tb_decimal_sign(tax->percent) != 0) == charged) return true;
    return refuse_rate(t, "rate", rate,
                       charged ? "above 0 for category S; what is taxed at 0 is of category Z"
                               : "0, or left out, for any category but S");
}

static bool is_vatex(const tb__node *node)
{
    if (node->len < 7 || node->len > TB__TAX_CODE_MAX || memcmp(node->text, "VATEX-", 6) != 0)
        return false;
    for (uint32_t i = 6; i < node->len; i++) {
        const char c = node->text[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' && c != '.') return false;
    }
    return true;
}

static bool add_reason(taxing *t, const char *member, uint32_t at, bool untaxed)
{
    const tb__node *node = &t->doc->nodes[at];
    const bool code = strcmp(member, "reason_code") == 0;
    if (!untaxed)
        return refuse_rate(t, member, at, "left out: categories E, AE, K, G and O alone have one");
    if (code && (node->type != TB__STRING || !is_vatex(node)))
        return refuse_rate(t, member, at, "a code of VATEX such as VATEX-EU-AE");
    if (!code && (node->type != TB__STRING || node->len < 1 || node->len > TB__TAX_REASON_MAX ||
                  !tb__node_plain(node)))
        return refuse_rate(t, member, at, "a string of 1 to 255 bytes without control characters");
    if (code)
        t->list[0].code = node;
    else
        t->list[0].reason = node;
    return true;
}

/* {"category": "AE", "reason": "Reverse charge", "reason_code": "VATEX-EU-AE"} */
static bool add_category(taxing *t, uint32_t object, uint32_t category)
{
    static const char *const reasons[] = {"reason", "reason_code"};
    const tb__document *doc = t->doc;
    size_t i = 0;
    while (i < CATEGORIES &&
           !tb__node_is(&doc->nodes[category], categories[i].name, strlen(categories[i].name)))
        i++;
    if (i == CATEGORIES)
        return refuse_rate(t, "category", category, "S, Z, E, AE, K, G or O");
    for (uint32_t key = object + 1; key != doc->nodes[object].next; key = doc->nodes[key + 1].next) {
        const tb__node *name = &doc->nodes[key];
        if (!tb__node_is(name, "category", 8) && !tb__node_is(name, "rate", 4) &&
            !tb__node_is(name, "reason", 6) && !tb__node_is(name, "reason_code", 11))
            return tb__fault_at_key(doc, t->fault, key,
                                    "one of category, rate, reason and reason_code");
    }
    if (!add_percent(t, object, categories[i].charged)) return false;
    for (size_t k = 0; k < 2; k++) {
        const uint32_t at = tb__declared_member(doc, object, reasons[k]);
        if (at && !add_reason(t, reasons[k], at, categories[i].untaxed)) return false;
    }
    if (categories[i].untaxed) t->list[0].category = categories[i].name;
    return true;
}

/* {"name": "VAT", "percent": "19"} */
static bool add_object(taxing *t, uint32_t object)
{
    const uint32_t category = category_of(t->doc, object);
    if (category)
        return refuse_rate(t, "category", category,
                           "left out in a list; a rate with a category stands alone");
    uint32_t name = tb__declared_member(t->doc, object, "name");
    uint32_t percent = tb__declared_member(t->doc, object, "percent");
    const char *member = percent ? "percent" : "rate";
    if (!percent) percent = tb__declared_member(t->doc, object, "rate");
    if (!percent) return refuse_rate(t, "", object, "an object with name and percent");
    if (name && !name_fits(&t->doc->nodes[name]))
        return refuse_rate(t, "name", name, "a string of 1 to 39 bytes");
    if (!add_rate(t, member, percent)) return false;
    if (name) {
        t->list[t->n - 1].name = t->doc->nodes[name].text;
        t->list[t->n - 1].len = t->doc->nodes[name].len;
    }
    return true;
}

static bool add_element(taxing *t, uint32_t at)
{
    return t->doc->nodes[at].type == TB__OBJECT ? add_object(t, at) : add_rate(t, "", at);
}

static bool add_elements(taxing *t, uint32_t list)
{
    size_t index = 0;
    for (uint32_t i = list + 1; i != t->doc->nodes[list].next; i = t->doc->nodes[i].next) {
        snprintf(t->place, sizeof t->place, "[%zu]", index++);
        if (!add_element(t, i)) return false;
    }
    return true;
}

/* {"VAT": 19, "Levy": "1.5"} */
static bool add_members(taxing *t, uint32_t object)
{
    for (uint32_t key = object + 1; key != t->doc->nodes[object].next;
         key = t->doc->nodes[key + 1].next) {
        const tb__node *name = &t->doc->nodes[key];
        if (!name_fits(name))
            return tb__fault_at_key(t->doc, t->fault, key, "a rate with a name of 1 to 39 bytes");
        if (!add_rate(t, "", key + 1)) return tb__fault_at_key(t->doc, t->fault, key, t->fault->wanted);
        t->list[t->n - 1].name = name->text;
        t->list[t->n - 1].len = name->len;
    }
    return true;
}

static bool has_percent(const tb__document *doc, uint32_t object)
{
    return tb__declared_member(doc, object, "percent") || tb__declared_member(doc, object, "rate");
}

bool tb__declared_tax(const tb__document *doc, uint32_t value, tb__tax ret[TB__TAXES_MAX],
                      size_t *ret_n, tb__fault *fault)
{
    taxing t = {.doc = doc, .list = ret, .fault = fault};
    const uint32_t type = doc->nodes[value].type;
    const uint32_t category = type == TB__OBJECT ? category_of(doc, value) : 0;
    bool ok;
    if (category)
        ok = add_category(&t, value, category);
    else if (type == TB__ARRAY)
        ok = add_elements(&t, value);
    else if (type == TB__OBJECT && !has_percent(doc, value))
        ok = add_members(&t, value);
    else
        ok = add_element(&t, value);
    if (!ok && type != TB__ARRAY && type != TB__OBJECT)
        fault->wanted = "a percent from 0 to 100, a list of rates, or an object of names and"
                        " percents";
    *ret_n = ok ? t.n : 0;
    return ok;
}

/* --- zones --- */

bool tb__declared_settings(const tb__document *doc, uint32_t value, tb__declared_zone *ret,
                           tb__fault *fault)
{
    bool there;
    *ret = (tb__declared_zone){.enabled = true};
    return read_price(doc, value, "PriceOverride", &ret->override_price, &there, fault) &&
           read_price(doc, value, "OptimizerPricing", &ret->optimizer_price, &ret->own_optimizer,
                      fault) &&
           read_bool(doc, value, "OptimizerEnabled", &ret->optimizer, fault) &&
           read_bool(doc, value, "Enabled", &ret->enabled, fault) &&
           read_discounts(doc, value, ret->discount, fault);
}

static bool is_safe(tb_decimal price)
{
    tb_decimal most;
    return tb_decimal_mul_int(tb_decimal_normal(price), UNITS_MOST, &most, NULL) == TB_OK;
}

bool tb__declared_prices_safe(const tb__document *doc, uint32_t value,
                              const tb__declared_zone *zone, tb__fault *fault)
{
    const char *name = !is_safe(zone->override_price)    ? "PriceOverride"
                       : !is_safe(zone->optimizer_price) ? "OptimizerPricing"
                                                         : NULL;
    return !name || tb__fault_at(fault, name, tb__declared_member(doc, value, name),
                             "smaller: 10^18 units at this price pass 2^127-1");
}
