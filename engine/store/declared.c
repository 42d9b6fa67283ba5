/* What declarations say about money. A declaration's document is the catalogue's object as
 * canonical JSON; the few members that billing knows are read here, from their text: no number
 * becomes a double, and a value that billing cannot use is an error that names the thing and the
 * member, since to bill by a guess would be worse than not to bill. */
#include "model/document.h"
#include "store/billing.h"

#include <inttypes.h>
#include <string.h>

#define SETTING_SCALE_MAX 15 /* digits after the point of a price in settings */

/* Where a reader stands: whose document, and which member, for messages. */
typedef struct reader {
    const tb__document *doc;
    const char *who; /* "Pull zone" */
    int64_t id;
    tb_error *err;
} reader;

static tb_code refuse(const reader *r, const char *member, const char *wanted)
{
    return tb_fail(r->err, TB_E_CATALOG, member, "%s %" PRId64 ": %s must be %s.", r->who, r->id,
                   member, wanted);
}

static const tb__node *node_at(const reader *r, uint32_t at)
{
    return &r->doc->nodes[at];
}

/* The value of an object's member; 0 where it is absent or null. */
static uint32_t member(const reader *r, uint32_t object, const char *name)
{
    size_t len = strlen(name);
    if (node_at(r, object)->type != TB__OBJECT) return 0;
    for (uint32_t key = object + 1; key != node_at(r, object)->next;
         key = node_at(r, key + 1)->next)
        if (tb__node_is(node_at(r, key), name, len))
            return node_at(r, key + 1)->type == TB__NULL ? 0 : key + 1;
    return 0;
}

/* --- values --- */

/* A price at `member`: 0 or more. *ret_there tells whether it is set. */
static tb_code read_price(const reader *r, uint32_t object, const char *name, tb_decimal *ret,
                          bool *ret_there)
{
    uint32_t at = member(r, object, name);
    *ret_there = at != 0;
    if (!at) return TB_OK;
    if (!tb__node_decimal(node_at(r, at), SETTING_SCALE_MAX, ret) || tb_decimal_sign(*ret) < 0)
        return refuse(r, name, "a decimal of 0 or more with at most 15 digits after the point");
    return TB_OK;
}

static tb_code read_bool(const reader *r, uint32_t object, const char *name, bool *value)
{
    uint32_t at = member(r, object, name);
    if (!at) return TB_OK;
    if (node_at(r, at)->type != TB__TRUE && node_at(r, at)->type != TB__FALSE)
        return refuse(r, name, "true or false");
    *value = node_at(r, at)->type == TB__TRUE;
    return TB_OK;
}

/* Which regions a discount covers (billing.md 3). */
static const struct {
    const char *name;
    tb_billing_region regions[2];
} discounts[] = {
    {"EUUSDiscount", {TB_REGION_EU, TB_REGION_NA}},
    {"SouthAmericaDiscount", {TB_REGION_SA, TB_REGION_SA}},
    {"AfricaDiscount", {TB_REGION_AF, TB_REGION_AF}},
    {"AsiaOceaniaDiscount", {TB_REGION_ASIA, TB_REGION_ASIA}},
};
#define DISCOUNTS (sizeof discounts / sizeof *discounts)

static tb_code read_discounts(const reader *r, uint32_t object,
                              int percent[TB_BILLING_REGION_COUNT])
{
    for (size_t i = 0; i < DISCOUNTS; i++) {
        uint32_t at = member(r, object, discounts[i].name);
        tb_decimal value;
        if (!at) continue;
        if (!tb__node_decimal(node_at(r, at), 0, &value) || value.mantissa < 0 || value.mantissa > 100)
            return refuse(r, discounts[i].name, "a whole number from 0 to 100");
        percent[discounts[i].regions[0]] = (int)value.mantissa;
        percent[discounts[i].regions[1]] = (int)value.mantissa;
    }
    return TB_OK;
}

/* A misspelt discount would be a wrong invoice. */
static tb_code check_discount_names(const reader *r, uint32_t object)
{
    for (uint32_t key = object + 1; key != node_at(r, object)->next;
         key = node_at(r, key + 1)->next) {
        bool known = false;
        for (size_t i = 0; i < DISCOUNTS; i++)
            known |= tb__node_is(node_at(r, key), discounts[i].name, strlen(discounts[i].name));
        if (!known)
            return refuse(r, "discounts",
                          "of EUUSDiscount, SouthAmericaDiscount, AfricaDiscount"
                          " and AsiaOceaniaDiscount");
    }
    return TB_OK;
}

static tb_code read_time(const reader *r, uint32_t object, const char *name, int64_t *value)
{
    uint32_t at = member(r, object, name);
    if (!at) return TB_OK;
    const tb__node *node = node_at(r, at);
    if (node->type != TB__STRING || tb_rfc3339_parse(node->text, node->len, value, NULL))
        return refuse(r, name, "an RFC 3339 time");
    return TB_OK;
}

/* --- tax --- */

static const char tax_wanted[] =
    "a percent, a list of {\"name\",\"percent\"}, or an object of names and percents, at most 8";

static tb_code add_tax(const reader *r, tb__account_terms *terms, const char *name, size_t len,
                       uint32_t percent)
{
    if (terms->n_tax == TB_BILL_TAXES_MAX) return refuse(r, "tax", tax_wanted);
    tb_bill_tax *tax = &terms->tax[terms->n_tax];
    if (len < 1 || len >= sizeof tax->name || !percent ||
        !tb__node_decimal(node_at(r, percent), SETTING_SCALE_MAX, &tax->percent) ||
        tb_decimal_sign(tax->percent) < 0 ||
        tb_decimal_compare(tax->percent, tb_decimal_from_int(100)) > 0)
        return refuse(r, "tax", tax_wanted);
    memcpy(tax->name, name, len);
    tax->name[len] = 0;
    terms->n_tax++;
    return TB_OK;
}

/* {"name": "VAT", "percent": "19"}; rate is another word for percent. */
static tb_code add_tax_object(const reader *r, tb__account_terms *terms, uint32_t object)
{
    uint32_t name = member(r, object, "name"), percent = member(r, object, "percent");
    if (!percent) percent = member(r, object, "rate");
    if (name && node_at(r, name)->type != TB__STRING) return refuse(r, "tax", tax_wanted);
    return add_tax(r, terms, name ? node_at(r, name)->text : "VAT",
                   name ? node_at(r, name)->len : 3, percent);
}

static tb_code add_tax_element(const reader *r, tb__account_terms *terms, uint32_t at)
{
    return node_at(r, at)->type == TB__OBJECT ? add_tax_object(r, terms, at)
                                              : add_tax(r, terms, "VAT", 3, at);
}

static tb_code read_tax(const reader *r, tb__account_terms *terms)
{
    uint32_t at = member(r, 0, "tax");
    tb_code code = TB_OK;
    if (!at) return TB_OK;
    const tb__node *node = node_at(r, at);
    if (node->type == TB__ARRAY) {
        for (uint32_t i = at + 1; !code && i != node->next; i = node_at(r, i)->next)
            code = add_tax_element(r, terms, i);
        return code;
    }
    if (node->type != TB__OBJECT || member(r, at, "percent") || member(r, at, "rate"))
        return add_tax_element(r, terms, at);
    for (uint32_t key = at + 1; !code && key != node->next; key = node_at(r, key + 1)->next)
        code = add_tax(r, terms, node_at(r, key)->text, node_at(r, key)->len, key + 1);
    return code;
}

/* --- documents --- */

typedef tb_code (*document_fn)(const reader *r, void *out);

/* Parses a stored document and hands it to fn. */
static tb_code with_document(const char *text, size_t len, const char *who, int64_t id,
                             document_fn fn, void *out, tb_error *err)
{
    tb__arena strings;
    tb__document doc;
    tb__arena_init(&strings, NULL);
    tb_code code = text ? tb__document_parse(text, len, TB_E_CORRUPT, &strings, NULL, &doc, err)
                        : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code) {
        const reader r = {&doc, who, id, err};
        code = fn(&r, out);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

typedef struct zone_out {
    tb__terms *terms;
    int64_t *created_us;
} zone_out;

static tb_code read_zone(const reader *r, void *out)
{
    const zone_out *zone = out;
    tb__terms *t = zone->terms;
    uint32_t type = member(r, 0, "type"), settings = member(r, 0, "settings");
    bool there;
    t->volume = type && tb__node_is(node_at(r, type), "volume", 6);
    tb_code code = read_time(r, 0, "created", zone->created_us);
    if (code || !settings) return code;
    code = read_price(r, settings, "PriceOverride", &t->override_price, &there);
    if (!code)
        code = read_price(r, settings, "OptimizerPricing", &t->optimizer_price, &t->own_optimizer);
    if (!code) code = read_bool(r, settings, "OptimizerEnabled", &t->optimizer);
    if (!code) code = read_bool(r, settings, "Enabled", &t->enabled);
    return code ? code : read_discounts(r, settings, t->discount);
}

tb_code tb__zone_terms(const char *text, size_t len, int64_t id, tb__terms *ret,
                       int64_t *ret_created_us, tb_error *err)
{
    zone_out out = {ret, ret_created_us};
    *ret = (tb__terms){.enabled = true};
    *ret_created_us = INT64_MIN;
    return with_document(text, len, "Pull zone", id, read_zone, &out, err);
}

static tb_code read_account(const reader *r, void *out)
{
    tb__account_terms *t = out;
    uint32_t currency = member(r, 0, "currency"), percents = member(r, 0, "discounts");
    if (currency) {
        if (node_at(r, currency)->len != 3) return refuse(r, "currency", "three capital letters");
        memcpy(t->currency, node_at(r, currency)->text, 3);
    }
    tb_code code = TB_OK;
    if (percents) code = check_discount_names(r, percents);
    if (!code && percents) code = read_discounts(r, percents, t->discount);
    return code ? code : read_tax(r, t);
}

tb_code tb__account_terms_of(const char *text, size_t len, int64_t id, tb__account_terms *ret,
                             tb_error *err)
{
    *ret = (tb__account_terms){.currency = "USD"};
    return with_document(text, len, "Account", id, read_account, ret, err);
}

static tb_code read_balancer(const reader *r, void *out)
{
    int64_t *span = out;
    tb_code code = read_time(r, 0, "created", &span[0]);
    return code ? code : read_time(r, 0, "deleted", &span[1]);
}

tb_code tb__balancer_span(const char *text, size_t len, int64_t id, int64_t *ret_created_us,
                          int64_t *ret_ended_us, tb_error *err)
{
    int64_t span[2] = {INT64_MIN, INT64_MAX};
    tb_code code = with_document(text, len, "Load balancer", id, read_balancer, span, err);
    *ret_created_us = span[0];
    *ret_ended_us = span[1];
    return code;
}
