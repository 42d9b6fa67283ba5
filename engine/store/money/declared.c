/* Declared values for bills. A declaration's document is the catalogue's object as canonical JSON; its values are
 * read by the functions that check a catalogue (model/declared.h). A value that an older version accepted and that
 * cannot be read now is neither guessed nor a failure of the whole: it is recorded with the terms, and only a bill
 * that needs it fails (TB_E_DECLARED). */
#include "model/settings.h"
#include "store/money/billing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/declared.h"

_Static_assert(TB__TAXES_MAX == TB_BILL_TAXES_MAX, "the door and bills take as many");
_Static_assert(TB__TAX_NAME_MAX + 1 == sizeof((tb_bill_tax *)0)->name, "a name fits");
_Static_assert(TB__TAX_REASON_MAX + 1 == TB_TAX_REASON_ROOM, "a reason fits");
_Static_assert(TB__TAX_CODE_MAX + 1 == TB_TAX_CODE_ROOM, "its code fits");

/* The reader's document and position, for messages. */
typedef struct reader {
    const tb__document *doc;
    const char *who; /* "Pull zone" */
    int64_t id;
    tb_error *err;
} reader;

static uint32_t member(const reader *r, const char *name)
{
    return tb__declared_member(r->doc, 0, name);
}

static tb_code refuse_terms(const reader *r, const char *name, const tb__fault *fault,
                            tb_error *why)
{
    char path[sizeof why->field];
    tb__fault_path(name, fault->path, path, sizeof path);
    return tb_fail(why, TB_E_DECLARED, path,
                   "%s %" PRId64 ": %s must be %s. Apply a catalogue with such a value.", r->who,
                   r->id, path, fault->wanted);
}

/* Which regions a discount covers. */
static const tb_billing_region covered[TB__DISCOUNT_COUNT][2] = {
    [TB__DISCOUNT_EUUS] = {TB_REGION_EU, TB_REGION_NA},
    [TB__DISCOUNT_SOUTH_AMERICA] = {TB_REGION_SA, TB_REGION_SA},
    [TB__DISCOUNT_AFRICA] = {TB_REGION_AF, TB_REGION_AF},
    [TB__DISCOUNT_ASIA_OCEANIA] = {TB_REGION_ASIA, TB_REGION_ASIA},
};

static void spread(const int percent[TB__DISCOUNT_COUNT], int ret[TB_BILLING_REGION_COUNT])
{
    for (int i = 0; i < TB__DISCOUNT_COUNT; i++)
        ret[covered[i][0]] = ret[covered[i][1]] = percent[i];
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
                        : tb_no_memory(err);
    if (!code) {
        const reader r = {&doc, who, id, err};
        code = fn(&r, out);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

static tb_code read_time(const reader *r, const char *name, int64_t *value)
{
    tb__fault fault;
    uint32_t at = member(r, name);
    if (!at || tb__declared_time(r->doc, at, value, &fault)) return TB_OK;
    return refuse_terms(r, name, &fault, r->err);
}

/* --- zones --- */

typedef struct zone_out {
    tb__terms *terms;
    int64_t *created_us;
    tb_error *why;
} zone_out;

static tb_code read_zone(const reader *r, void *out)
{
    const zone_out *zone = out;
    tb__terms *t = zone->terms;
    tb__declared_zone said;
    tb__fault fault;
    uint32_t type = member(r, "type"), settings = member(r, "settings");
    t->volume = type && tb__node_is(&r->doc->nodes[type], "volume", 6);
    tb_code code = read_time(r, "created", zone->created_us);
    if (code || !settings) return code;
    if (!tb__declared_settings(r->doc, settings, &said, &fault)) {
        (void)!refuse_terms(r, "settings", &fault, zone->why);
        return TB_OK;
    }
    t->enabled = said.enabled;
    t->optimizer = said.optimizer;
    t->own_optimizer = said.own_optimizer;
    t->override_price = said.override_price;
    t->optimizer_price = said.optimizer_price;
    spread(said.discount, t->discount);
    return TB_OK;
}

tb_code tb__zone_terms(const char *text, size_t len, int64_t id, tb__terms *ret,
                       int64_t *ret_created_us, tb_error *ret_why, tb_error *err)
{
    zone_out out = {ret, ret_created_us, ret_why};
    *ret = (tb__terms){.enabled = true};
    *ret_created_us = INT64_MIN;
    ret_why->code = TB_OK;
    return with_document(text, len, "Pull zone", id, read_zone, &out, err);
}

/* --- columns of a zone's row beside its document --- */

typedef struct shown {
    int64_t *created_us;
    tb_buf *settings;
} shown;

static tb_code read_shown(const reader *r, void *out)
{
    const shown *zone = out;
    uint32_t settings = member(r, "settings");
    tb_code code = read_time(r, "created", zone->created_us);
    if (code || settings)
        return code ? code : tb__settings_write(r->doc, settings, zone->settings, r->err);
    tb_buf_str(zone->settings, "{}");
    return TB_OK;
}

tb_code tb__zone_shown(const char *text, size_t len, int64_t id, int64_t *ret_created_us,
                       tb_buf *settings, tb_error *err)
{
    shown out = {ret_created_us, settings};
    *ret_created_us = INT64_MIN;
    return with_document(text, len, "Pull zone", id, read_shown, &out, err);
}

/* --- accounts --- */

typedef struct account_out {
    tb__account_terms *terms;
    tb_error *why; /* of each part */
} account_out;

static void read_discounts(const reader *r, tb__account_terms *terms, tb_error *why)
{
    int percent[TB__DISCOUNT_COUNT] = {0};
    tb__fault fault;
    uint32_t at = member(r, "discounts");
    if (at && !tb__declared_discounts(r->doc, at, percent, &fault))
        (void)!refuse_terms(r, "discounts", &fault, why);
    else
        spread(percent, terms->discount);
}

static void copy_string(char *to, const tb__node *node)
{
    if (!node) return;
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
}

static void read_tax(const reader *r, tb__account_terms *terms, tb_error *why)
{
    tb__tax list[TB__TAXES_MAX];
    tb__fault fault;
    uint32_t at = member(r, "tax");
    if (!at) return;
    if (!tb__declared_tax(r->doc, at, list, &terms->n_tax, &fault))
        (void)!refuse_terms(r, "tax", &fault, why);
    for (size_t i = 0; i < terms->n_tax; i++) {
        terms->tax[i].percent = list[i].percent;
        memcpy(terms->tax[i].name, list[i].name, list[i].len);
        terms->tax[i].name[list[i].len] = 0;
        snprintf(terms->tax[i].category, sizeof terms->tax[i].category, "%s", list[i].category);
        copy_string(terms->tax_reason, list[i].reason);
        copy_string(terms->tax_reason_code, list[i].code);
    }
}

static void read_contract(const reader *r, tb__account_terms *terms, tb_error *why)
{
    tb__fault fault = {.path = ""};
    uint32_t at = member(r, "contract");
    if (at && !tb__declared_contract(r->doc, at, &terms->contract, &fault))
        (void)!refuse_terms(r, "contract", &fault, why);
}

static tb_code read_account(const reader *r, void *out)
{
    const account_out *account = out;
    tb__account_terms *t = account->terms;
    tb__fault fault;
    uint32_t currency = member(r, "currency"), prepaid = member(r, "prepaid");
    if (currency && !tb__declared_currency(r->doc, currency, t->currency, &fault))
        (void)!refuse_terms(r, "currency", &fault, &account->why[TB__PART_CURRENCY]);
    t->prepaid = prepaid && r->doc->nodes[prepaid].type == TB__TRUE;
    read_discounts(r, t, &account->why[TB__PART_DISCOUNTS]);
    read_tax(r, t, &account->why[TB__PART_TAX]);
    read_contract(r, t, &account->why[TB__PART_CONTRACT]);
    return TB_OK;
}

tb_code tb__account_terms_of(const char *text, size_t len, int64_t id, tb__account_terms *ret,
                             tb_error ret_why[TB__PARTS], tb_error *err)
{
    account_out out = {ret, ret_why};
    *ret = (tb__account_terms){.currency = "USD"};
    for (int i = 0; i < TB__PARTS; i++)
        ret_why[i].code = TB_OK;
    return with_document(text, len, "Account", id, read_account, &out, err);
}

/* --- fees --- */

typedef struct fees_out {
    tb__fee_fn fn;
    void *ctx;
} fees_out;

static tb_code read_fees(const reader *r, void *out)
{
    const fees_out *to = out;
    tb__declared_fee list[TB_FEES_MAX];
    tb__fault fault;
    size_t n = 0;
    tb_code code = TB_OK;
    const uint32_t at = member(r, "fees");
    if (at && !tb__declared_fees(r->doc, at, list, &n, &fault)) return refuse_terms(r, "fees", &fault, r->err);
    for (size_t i = 0; !code && i < n; i++)
        code = to->fn(to->ctx, list[i].id->text, list[i].id->len, list[i].quantity, r->err);
    return code;
}

/* Few documents have fees: the others are not parsed again. */
tb_code tb__fees_of(const char *text, size_t len, const char *who, int64_t id, tb__fee_fn fn, void *ctx, tb_error *err)
{
    fees_out out = {fn, ctx};
    if (text && !memmem(text, len, "\"fees\":", 7)) return TB_OK;
    return with_document(text, len, who, id, read_fees, &out, err);
}

/* --- balancers --- */

static tb_code read_balancer(const reader *r, void *out)
{
    int64_t *span = out;
    tb_code code = read_time(r, "created", &span[0]);
    return code ? code : read_time(r, "deleted", &span[1]);
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
