/* CATALOG.json to a tb_catalog: the whole document is parsed (document.h), then every object is walked along a table
 * of its keys, each with a setter that checks and stores the value. A zone's settings and hostnames are checked in
 * settings.c, billed values in declared.c by the functions with which bills read them, and relations of several
 * objects at the end, in catalog_check.c.
 *
 * Two arenas: one lives in the catalogue, the other has the memory that only parsing needs. */
#include "model/catalog_private.h"

#include "base/jsontext.h"
#include "model/alerts.h"
#include "model/containers.h"
#include "model/declared.h"
#include "model/meters.h"
#include "model/parties.h"
#include "model/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES     255
#define HOSTNAME_MAX_BYTES 253

typedef struct parser {
    tb__document doc;
    tb__arena *kept, scratch;
    tb_catalog *out;
    tb_error *err;
    /* The current object, for the path in messages. */
    const char *list; /* "zones"; NULL at the top */
    size_t index;
    const char *key;
    size_t key_len;
    size_t element; /* of a list under key; NO_ELEMENT if there is none */
    bool stored;    /* it is from a file: values that were once accepted stay valid */
} parser;

#define NO_ELEMENT SIZE_MAX

/* Keys come from the document: other characters than plain ones are shown as '?', a long key is cut. */
static size_t put_key(char *out, size_t room, const char *key, size_t len)
{
    size_t n = len < room ? len : room;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : key[i];
    return n;
}

static void format_path(const parser *p, char path[48])
{
    size_t n = 0;
    path[0] = 0;
    if (p->list) n = (size_t)snprintf(path, 48, "%s[%zu]", p->list, p->index);
    if (!p->key) return;
    if (p->list) path[n++] = '.';
    n += put_key(path + n, 47 - n, p->key, p->key_len);
    path[n] = 0;
    if (p->element != NO_ELEMENT) snprintf(path + n, 48 - n, "[%zu]", p->element);
}

/* Refuses the document at the parser's place; node may be NULL. */
static tb_code refuse_node(const parser *p, const tb__node *node, const char *message)
{
    char path[48];
    format_path(p, path);
    tb_fail(p->err, TB_E_CATALOG, path, "%s", message);
    if (p->err && node) p->err->byte = (uint64_t)node->at + 1;
    return TB_E_CATALOG;
}

static tb_code refuse_type(const parser *p, const tb__node *node, const char *wanted)
{
    char message[96];
    snprintf(message, sizeof message, "Must be %s, is %s.", wanted, tb__node_type_name(node->type));
    return refuse_node(p, node, message);
}

/* The same at a place within the value at the parser's place. */
static tb_code refuse_fault(const parser *p, const tb__fault *fault)
{
    char path[48], whole[sizeof p->err->field];
    format_path(p, path);
    tb__fault_path(path, fault->path, whole, sizeof whole);
    if (fault->wanted)
        tb_fail(p->err, TB_E_CATALOG, whole, "Must be %s.", fault->wanted);
    else
        tb_fail(p->err, TB_E_CATALOG, whole, "Unknown key.");
    if (p->err) p->err->byte = (uint64_t)p->doc.nodes[fault->node].at + 1;
    return TB_E_CATALOG;
}

/* --- setters: judge the value and put it at `to` --- */

typedef tb_code (*setter)(parser *p, uint32_t value, void *to);

static bool parse_id(const tb__node *node, int64_t *ret_id)
{
    if (node->type != TB__NUMBER || node->len > 19) return false;
    uint64_t id = 0;
    for (uint32_t i = 0; i < node->len; i++) {
        if (node->text[i] < '0' || node->text[i] > '9') return false;
        id = id * 10 + (uint64_t)(node->text[i] - '0');
    }
    if (id < 1 || id > INT64_MAX) return false;
    *ret_id = (int64_t)id;
    return true;
}

static tb_code set_id(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__NUMBER) return refuse_type(p, node, "a whole number");
    if (!parse_id(node, to))
        return refuse_node(p, node, "Must be a whole number from 1 to 2^63-1.");
    return TB_OK;
}

/* 32 bits, as the interface that shows them has it. */
static tb_code set_shield_id(parser *p, uint32_t value, void *to)
{
    int64_t id;
    tb_code code = set_id(p, value, &id);
    if (code) return code;
    if (id > INT32_MAX) return refuse_node(p, &p->doc.nodes[value], "Must be at most 2147483647.");
    *(int64_t *)to = id;
    return TB_OK;
}

static char *keep_text(parser *p, const char *text, size_t len)
{
    char *copy = tb__arena_take(p->kept, len + 1);
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

static tb_code set_name(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, node, "a string");
    if (node->len < 1 || node->len > NAME_MAX_BYTES)
        return refuse_node(p, node, "Must have 1 to 255 bytes.");
    const char *copy = keep_text(p, node->text, node->len);
    *(const char **)to = copy;
    return copy ? TB_OK : tb_no_memory(p->err);
}

static tb_code set_type(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, node, "a string");
    if (tb__node_is(node, "premium", 7))
        *(const char **)to = "premium";
    else if (tb__node_is(node, "volume", 6))
        *(const char **)to = "volume";
    else
        return refuse_node(p, node, "Must be premium or volume.");
    return TB_OK;
}

static tb_code set_time(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    tb__fault fault;
    if (node->type != TB__STRING) return refuse_type(p, node, "a string");
    return tb__declared_time(&p->doc, value, to, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code set_time_or_null(parser *p, uint32_t value, void *to)
{
    return p->doc.nodes[value].type == TB__NULL ? TB_OK : set_time(p, value, to);
}

static tb_code set_bool(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__TRUE && node->type != TB__FALSE)
        return refuse_type(p, node, "true or false");
    *(bool *)to = node->type == TB__TRUE;
    return TB_OK;
}

/* The place of a failure within a value: its name is added to the path. */
static tb_code refuse_within(const parser *p, tb_code code)
{
    char path[48], inner[sizeof p->err->field];
    if (code != TB_E_CATALOG || !p->err) return code;
    format_path(p, path);
    memcpy(inner, p->err->field, sizeof inner);
    tb__fault_path(path, inner, p->err->field, sizeof p->err->field);
    return code;
}

/* How writing a normal form ended: a path of its own, or that it became too long. */
static tb_code judge_form(const parser *p, uint32_t value, const tb_buf *form, tb_code code)
{
    if (code == TB_E_TOO_LARGE || (!code && form->len > TB__SETTINGS_MAX))
        return refuse_node(p, &p->doc.nodes[value], "Must have at most 4194304 bytes as JSON.");
    return refuse_within(p, code);
}

static tb_code judge_billed(const parser *p, uint32_t value)
{
    tb__declared_zone zone;
    tb__fault fault;
    bool ok = tb__declared_settings(&p->doc, value, &zone, &fault) &&
              tb__declared_prices_safe(&p->doc, value, &zone, &fault);
    return ok ? TB_OK : refuse_fault(p, &fault);
}

static tb_code set_settings(parser *p, uint32_t value, void *to)
{
    tb_buf out;
    if (p->doc.nodes[value].type != TB__OBJECT)
        return refuse_type(p, &p->doc.nodes[value], "an object");
    tb_buf_init(&out, TB__SETTINGS_ROOM, p->doc.alloc);
    tb_code code = judge_form(p, value, &out, tb__settings_write(&p->doc, value, &out, p->err));
    if (!code) code = judge_billed(p, value);
    if (!code) {
        const char *text = keep_text(p, out.data, out.len);
        *(const char **)to = text;
        code = text ? TB_OK : tb_no_memory(p->err);
    }
    tb_buf_release(&out);
    return code;
}

/* What is only checked here, and kept in the canonical document. */

static tb_code check_bool(parser *p, uint32_t value, void *to)
{
    (void)to;
    bool ignored;
    return set_bool(p, value, &ignored);
}

static tb_code check_currency(parser *p, uint32_t value, void *to)
{
    (void)to;
    char ignored[4];
    tb__fault fault;
    return tb__declared_currency(&p->doc, value, ignored, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_discounts(parser *p, uint32_t value, void *to)
{
    (void)to;
    int ignored[TB__DISCOUNT_COUNT];
    tb__fault fault;
    return tb__declared_discounts(&p->doc, value, ignored, &fault) ? TB_OK
                                                                   : refuse_fault(p, &fault);
}

static tb_code check_tax(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb__tax ignored[TB__TAXES_MAX];
    tb__fault fault;
    size_t n;
    return tb__declared_tax(&p->doc, value, ignored, &n, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_contract(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb_contract ignored = {.discount = TB_DECIMAL_ZERO};
    tb__fault fault = {.path = ""};
    return tb__declared_contract(&p->doc, value, &ignored, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_buyer(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb__said_party ignored;
    tb__fault fault = {.path = ""};
    return tb__declared_buyer(&p->doc, value, &ignored, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_terms(parser *p, uint32_t value, void *to)
{
    (void)to;
    int ignored;
    tb__fault fault = {.path = ""};
    return tb__declared_terms(&p->doc, value, &ignored, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_alerts(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb_alert_rule ignored[TB_ALERTS_MAX];
    tb__fault fault = {.path = ""};
    size_t n;
    return tb__declared_alerts(&p->doc, value, ignored, &n, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_fees(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb__declared_fee ignored[TB_FEES_MAX];
    tb__fault fault = {.path = ""};
    size_t n;
    return tb__declared_fees(&p->doc, value, ignored, &n, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_labels(parser *p, uint32_t value, void *to)
{
    (void)to;
    tb__fault fault = {.path = ""};
    return tb__declared_labels(&p->doc, value, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code check_hostnames(parser *p, uint32_t value, void *to)
{
    (void)to;
    const tb__node *list = &p->doc.nodes[value];
    const tb__hostnames with = {.first = "", .certificates = true};
    tb_buf ignored;
    if (list->type != TB__ARRAY) return refuse_type(p, list, "an array");
    uint32_t child = value + 1;
    for (p->element = 0; child != list->next; p->element++, child = p->doc.nodes[child].next) {
        const tb__node *node = &p->doc.nodes[child];
        if (node->type == TB__OBJECT) continue;
        if (node->type != TB__STRING) return refuse_type(p, node, "a string or an object");
        if (node->len < 1 || node->len > HOSTNAME_MAX_BYTES)
            return refuse_node(p, node, "Must have 1 to 253 bytes.");
    }
    p->element = NO_ELEMENT;
    tb_buf_init(&ignored, TB__SETTINGS_ROOM, p->doc.alloc);
    tb_code code = judge_form(p, value, &ignored,
                              tb__hostnames_write(&with, &p->doc, value, &ignored, p->err));
    tb_buf_release(&ignored);
    return code;
}

/* A balancer's zones: ids, each once. Their accounts are checked at the end. */
static tb_code set_zones(parser *p, uint32_t value, void *to)
{
    tb_catalog_balancer *balancer = to;
    const tb__node *list = &p->doc.nodes[value];
    if (list->type != TB__ARRAY) return refuse_type(p, list, "an array");
    int64_t *zones = tb__arena_take(p->kept, list->len * sizeof *zones);
    if (!zones) return tb_no_memory(p->err);
    uint32_t child = value + 1;
    for (p->element = 0; child != list->next; p->element++, child = p->doc.nodes[child].next) {
        tb_code code = set_id(p, child, &zones[p->element]);
        if (code) return code;
    }
    p->element = NO_ELEMENT;
    balancer->zones = zones;
    balancer->n_zones = list->len;
    return TB_OK;
}

/* --- setters of a region's fixed fields --- */

/* Copies a string of min..max bytes into a terminated array of max + 1 bytes. */
static tb_code copy_string(parser *p, uint32_t value, char *to, uint32_t min, uint32_t max)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return refuse_type(p, node, "a string");
    char message[48];
    if (min == max)
        snprintf(message, sizeof message, "Must have %u bytes.", min);
    else
        snprintf(message, sizeof message, "Must have %u to %u bytes.", min, max);
    if (node->len < min || node->len > max) return refuse_node(p, node, message);
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
    return TB_OK;
}

static tb_code set_code(parser *p, uint32_t value, void *to)
{
    tb_code code = copy_string(p, value, to, 1, TB_EDGE_MAX);
    if (code || tb__node_is_id(&p->doc.nodes[value], TB_EDGE_MAX)) return code;
    return refuse_node(p, &p->doc.nodes[value], "Must consist of letters, digits, '_', '.' and '-'.");
}

/* Clients split the keys of GeoTrafficDistribution at the colon. */
static tb_code set_region_name(parser *p, uint32_t value, void *to)
{
    tb_code code = copy_string(p, value, to, 4, TB_REGION_NAME_MAX - 1);
    if (code) return code;
    const char *colon = strstr(to, ": ");
    if (colon && colon != (char *)to && colon[2]) return TB_OK;
    return refuse_node(p, &p->doc.nodes[value], "Must be \"<continent>: <place>\".");
}

/* Billing regions: their continent, where the catalogue names none, and public price per GB. */
static const struct {
    const char *name;
    char continent[sizeof((tb_region *)0)->continent], price[sizeof((tb_region *)0)->price];
} billing_table[] = {
    {"EU", "EU", "0.01"},  {"NA", "NA", "0.01"}, {"ASIA", "AS", "0.03"},
    {"SA", "SA", "0.045"}, {"AF", "AF", "0.06"},
};

static tb_code set_billing(parser *p, uint32_t value, void *to)
{
    tb_region *region = to;
    tb_code code = copy_string(p, value, region->billing, 2, 4);
    for (size_t i = 0; !code && i < sizeof billing_table / sizeof *billing_table; i++) {
        if (strcmp(billing_table[i].name, region->billing) != 0) continue;
        if (!region->continent[0])
            memcpy(region->continent, billing_table[i].continent, sizeof region->continent);
        if (!region->price[0]) memcpy(region->price, billing_table[i].price, sizeof region->price);
        return TB_OK;
    }
    return code ? code : refuse_node(p, &p->doc.nodes[value], "Must be EU, NA, ASIA, SA or AF.");
}

static tb_code set_two_capitals(parser *p, uint32_t value, void *to)
{
    const char *text = to;
    tb_code code = copy_string(p, value, to, 2, 2);
    if (code) return code;
    bool ok = text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'A' && text[1] <= 'Z';
    return ok ? TB_OK : refuse_node(p, &p->doc.nodes[value], "Must be two capital letters.");
}

static tb_code set_continent(parser *p, uint32_t value, void *to)
{
    static const char *const known[] = {"EU", "NA", "AS", "OC", "SA", "AF"};
    tb_code code = set_two_capitals(p, value, to);
    if (code) return code;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], to) == 0) return TB_OK;
    return refuse_node(p, &p->doc.nodes[value], "Must be EU, NA, AS, OC, SA or AF.");
}

/* digits, or digits '.' digits */
static bool is_decimal(const char *text, size_t len)
{
    size_t points = 0;
    for (size_t i = 0; i < len; i++) {
        bool inner = i > 0 && i + 1 < len;
        if (text[i] == '.' && inner)
            points++;
        else if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return len > 0 && points <= 1;
}

static tb_code set_price(parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__NUMBER && node->type != TB__STRING)
        return refuse_type(p, node, "a number or a string");
    bool leads = node->len > 1 && node->text[0] == '0' && node->text[1] != '.';
    if (node->len > 15 || leads || !is_decimal(node->text, node->len))
        return refuse_node(p, node, "Must be a decimal of at most 15 characters such as 0.045.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

/* Plain decimals of at most 15 digits: whole number and power of ten are exact doubles then, and
 * their quotient is the nearest double. */
static bool parse_degrees(const char *text, size_t len, double *ret_degrees)
{
    bool negative = len > 0 && text[0] == '-';
    if (negative) text++, len--;
    if (!is_decimal(text, len) || len > 16) return false;
    double digits = 0, unit = 1;
    bool behind = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.')
            behind = true;
        else
            digits = digits * 10 + (text[i] - '0');
        if (text[i] != '.' && behind) unit *= 10;
    }
    *ret_degrees = (negative ? -digits : digits) / unit;
    return true;
}

/* Degrees are for display: the only numbers here that become doubles. */
static tb_code set_degrees(parser *p, uint32_t value, double *to, double max)
{
    const tb__node *node = &p->doc.nodes[value];
    double degrees;
    if (node->type != TB__NUMBER) return refuse_type(p, node, "a number");
    if (!parse_degrees(node->text, node->len, &degrees))
        return refuse_node(p, node, "Must be a decimal of at most 15 digits.");
    if (!(degrees >= -max && degrees <= max))
        return refuse_node(p, node,
                           max > 90 ? "Must be from -180 to 180." : "Must be from -90 to 90.");
    *to = degrees;
    return TB_OK;
}

static tb_code set_latitude(parser *p, uint32_t value, void *to)
{
    return set_degrees(p, value, to, 90);
}

static tb_code set_longitude(parser *p, uint32_t value, void *to)
{
    return set_degrees(p, value, to, 180);
}

/* --- tables of keys --- */

typedef struct key_rule {
    const char *name;
    bool required;
    setter set;
    size_t offset; /* of the member that the setter fills */
} key_rule;

static const key_rule account_rules[] = {
    {"id", true, set_id, offsetof(tb_catalog_account, id)},
    {"name", true, set_name, offsetof(tb_catalog_account, name)},
    {"currency", false, check_currency, 0},
    {"tax", false, check_tax, 0},
    {"discounts", false, check_discounts, 0},
    {"prepaid", false, check_bool, 0},
    {"contract", false, check_contract, 0},
    {"buyer", false, check_buyer, 0},
    {"terms_days", false, check_terms, 0},
    {"alerts", false, check_alerts, 0},
    {"labels", false, check_labels, 0},
    {"fees", false, check_fees, 0},
    {"samples", false, set_bool, offsetof(tb_catalog_account, samples)},
};

static const key_rule region_rules[] = {
    {"id", true, set_id, offsetof(tb_region, id)},
    {"code", true, set_code, offsetof(tb_region, code)},
    {"name", true, set_region_name, offsetof(tb_region, name)},
    {"billing", true, set_billing, 0},
    {"continent", false, set_continent, offsetof(tb_region, continent)},
    {"country", false, set_two_capitals, offsetof(tb_region, country)},
    {"price", false, set_price, offsetof(tb_region, price)},
    {"latitude", false, set_latitude, offsetof(tb_region, latitude)},
    {"longitude", false, set_longitude, offsetof(tb_region, longitude)},
    {"latency_routing", false, set_bool, offsetof(tb_region, latency_routing)},
};

static const key_rule zone_rules[] = {
    {"id", true, set_id, offsetof(tb_catalog_zone, id)},
    {"account", true, set_id, offsetof(tb_catalog_zone, account)},
    {"name", true, set_name, offsetof(tb_catalog_zone, name)},
    {"type", false, set_type, offsetof(tb_catalog_zone, type)},
    {"created", false, set_time, offsetof(tb_catalog_zone, created_us)},
    {"settings", false, set_settings, offsetof(tb_catalog_zone, settings)},
    {"hostnames", false, check_hostnames, 0},
    {"labels", false, check_labels, 0},
    {"fees", false, check_fees, 0},
};

static const key_rule balancer_rules[] = {
    {"id", true, set_id, offsetof(tb_catalog_balancer, id)},
    {"account", true, set_id, offsetof(tb_catalog_balancer, account)},
    {"created", false, set_time, offsetof(tb_catalog_balancer, created_us)},
    {"deleted", false, set_time_or_null, offsetof(tb_catalog_balancer, deleted_us)},
    {"zones", true, set_zones, 0},
    {"fees", false, check_fees, 0},
};

static const key_rule shield_rules[] = {
    {"id", true, set_shield_id, offsetof(tb_catalog_shield, id)},
    {"account", true, set_id, offsetof(tb_catalog_shield, account)},
    {"zone", false, set_id, offsetof(tb_catalog_shield, zone)},
    {"name", false, set_name, offsetof(tb_catalog_shield, name)},
};

static const tb_catalog_account blank_account;
static const tb_region blank_region;
static const tb_catalog_zone blank_zone = {
    .type = "premium", .created_us = INT64_MIN, .settings = "{}"};
static const tb_catalog_balancer blank_balancer = {.created_us = INT64_MIN,
                                                   .deleted_us = INT64_MAX};

static const tb_catalog_shield blank_shield;

#define NO_DOCUMENT SIZE_MAX

/* A list of objects of one kind. */
typedef struct listing {
    const char *name;
    const key_rule *rules;
    size_t n_rules, size;
    const void *blank;
    size_t document;     /* offset of the canonical text, or NO_DOCUMENT */
    size_t array, count; /* offsets in tb_catalog */
} listing;

#define RULES(r) r, sizeof r / sizeof *r

static const listing lists[] = {
    {"accounts", RULES(account_rules), sizeof(tb_catalog_account), &blank_account,
     offsetof(tb_catalog_account, document), offsetof(tb_catalog, accounts),
     offsetof(tb_catalog, n_accounts)},
    {"regions", RULES(region_rules), sizeof(tb_region), &blank_region, NO_DOCUMENT,
     offsetof(tb_catalog, regions), offsetof(tb_catalog, n_regions)},
    {"zones", RULES(zone_rules), sizeof(tb_catalog_zone), &blank_zone,
     offsetof(tb_catalog_zone, document), offsetof(tb_catalog, zones),
     offsetof(tb_catalog, n_zones)},
    {"load_balancers", RULES(balancer_rules), sizeof(tb_catalog_balancer), &blank_balancer,
     offsetof(tb_catalog_balancer, document), offsetof(tb_catalog, balancers),
     offsetof(tb_catalog, n_balancers)},
    {"shield_zones", RULES(shield_rules), sizeof(tb_catalog_shield), &blank_shield,
     offsetof(tb_catalog_shield, document), offsetof(tb_catalog, shields),
     offsetof(tb_catalog, n_shields)},
};

/* --- walking --- */

static const key_rule *find_rule(const listing *list, const tb__node *key)
{
    for (size_t i = 0; i < list->n_rules; i++)
        if (tb__node_is(key, list->rules[i].name, strlen(list->rules[i].name)))
            return &list->rules[i];
    return NULL;
}

/* Documents print names, labels and parties, so their texts must be printable. Settings and certificates are not
 * printed, and may have several lines. */
static tb_code check_printable(const parser *p, const key_rule *rule, uint32_t value)
{
    if (p->stored || rule->set == set_settings || rule->set == check_hostnames) return TB_OK;
    for (uint32_t at = value; at < p->doc.nodes[value].next; at++) {
        const tb__node *node = &p->doc.nodes[at];
        if (node->type == TB__STRING && !tb__is_printable(node->text, node->len))
            return refuse_node(p, node, "Must hold no control characters, and no noncharacters such as U+FFFF.");
    }
    return TB_OK;
}

/* What else there is, for a slip of the pen. list NULL: at the top. */
static tb_code refuse_key(const parser *p, const listing *list, const tb__node *key)
{
    char words[1024] = "", message[16 + TB_MEANT_MAX], meant[TB_MEANT_MAX];
    const size_t n = list ? list->n_rules : sizeof lists / sizeof *lists;
    for (size_t i = 0, used = 0; i < n && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? "|" : "",
                                 list ? list->rules[i].name : lists[i].name);
    snprintf(message, sizeof message, "Unknown key.%s", tb_meant(words, "", key->text, key->len, meant));
    return refuse_node(p, key, message);
}

static tb_code read_members(parser *p, const listing *list, uint32_t object, char *thing)
{
    uint32_t seen = 0;
    for (uint32_t key = object + 1; key != p->doc.nodes[object].next;
         key = p->doc.nodes[key + 1].next) {
        p->key = p->doc.nodes[key].text;
        p->key_len = p->doc.nodes[key].len;
        const key_rule *rule = find_rule(list, &p->doc.nodes[key]);
        if (!rule) return refuse_key(p, list, &p->doc.nodes[key]);
        tb_code code = rule->set(p, key + 1, thing + rule->offset);
        if (!code) code = check_printable(p, rule, key + 1);
        if (code) return code;
        seen |= UINT32_C(1) << (rule - list->rules);
    }
    for (size_t i = 0; i < list->n_rules; i++) {
        p->key = list->rules[i].name;
        p->key_len = strlen(p->key);
        if (list->rules[i].required && !(seen >> i & 1))
            return refuse_node(p, &p->doc.nodes[object], "This key is missing.");
    }
    p->key = NULL;
    return TB_OK;
}

static tb_code read_element(parser *p, const listing *list, uint32_t node, char *thing)
{
    if (p->doc.nodes[node].type != TB__OBJECT)
        return refuse_type(p, &p->doc.nodes[node], "an object");
    memcpy(thing, list->blank, list->size);
    tb_code code = read_members(p, list, node, thing);
    if (code || list->document == NO_DOCUMENT) return code;
    const char *text = tb__document_canonical(&p->doc, node, p->kept, NULL);
    *(const char **)(void *)(thing + list->document) = text;
    return text ? TB_OK : tb_no_memory(p->err);
}

static tb_code read_list(parser *p, const listing *list, uint32_t node)
{
    const tb__node *array = &p->doc.nodes[node];
    if (array->type != TB__ARRAY) return refuse_type(p, array, "an array");
    size_t n = array->len;
    char *things = tb__arena_take(p->kept, n * list->size);
    if (!things) return tb_no_memory(p->err);
    p->list = list->name;
    p->key = NULL;
    uint32_t child = node + 1;
    for (p->index = 0; p->index < n; p->index++, child = p->doc.nodes[child].next) {
        tb_code code = read_element(p, list, child, things + p->index * list->size);
        if (code) return code;
    }
    p->list = NULL;
    *(void **)(void *)((char *)p->out + list->array) = things;
    *(size_t *)(void *)((char *)p->out + list->count) = n;
    return TB_OK;
}

/* The three lists about containers share one array: it grows by each of them. */
static tb_code read_containers(parser *p, tb_container_kind kind, uint32_t node)
{
    if (p->doc.nodes[node].type != TB__ARRAY)
        return refuse_type(p, &p->doc.nodes[node], "an array");
    const size_t before = p->out->n_containers, n = p->doc.nodes[node].len;
    tb_container *all = tb__arena_take(p->kept, (before + n) * sizeof *all);
    if (!all) return tb_no_memory(p->err);
    if (before) memcpy(all, p->out->containers, before * sizeof *all);
    p->out->containers = all;
    p->out->n_containers = before + n;
    return tb__containers_read(&p->doc, kind, node, p->kept, all + before, p->err);
}

static tb_code judge_meter(const parser *p, uint32_t value, tb_meter *ret)
{
    tb__fault fault = {.path = ""};
    return tb__declared_meter(&p->doc, value, ret, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code read_meters(parser *p, uint32_t node)
{
    const tb__node *array = &p->doc.nodes[node];
    if (array->type != TB__ARRAY) return refuse_type(p, array, "an array");
    if (array->len > TB_METERS_MAX) return refuse_node(p, array, "Must have at most 256 meters.");
    p->out->meters = tb__arena_take(p->kept, array->len * sizeof *p->out->meters);
    if (!p->out->meters) return tb_no_memory(p->err);
    p->list = "meters";
    p->key = NULL;
    uint32_t child = node + 1;
    for (p->index = 0; p->index < array->len; p->index++, child = p->doc.nodes[child].next) {
        tb_catalog_meter *meter = &p->out->meters[p->index];
        tb_code code = judge_meter(p, child, &meter->meter);
        if (code) return code;
        meter->document = tb__document_canonical(&p->doc, child, p->kept, NULL);
        if (!meter->document) return tb_no_memory(p->err);
    }
    p->list = NULL;
    p->out->n_meters = array->len;
    return TB_OK;
}

/* Where an account keeps samples, the meter that counts them is declared, too. */
static tb_code add_bandwidth(parser *p)
{
    static const char document[] =
        "{\"interval\":300,\"kind\":\"sample\",\"meter\":\"" TB_METER_BANDWIDTH "\",\"name\":\"Bandwidth by 5 minutes\","
        "\"resource\":\"" TB_METER_BANDWIDTH_NOUN "\",\"unit\":\"byte\"}";
    tb_catalog *c = p->out;
    size_t i = 0;
    while (i < c->n_accounts && !c->accounts[i].samples)
        i++;
    if (i == c->n_accounts) return TB_OK;
    tb_catalog_meter *all = tb__arena_take(p->kept, (c->n_meters + 1) * sizeof *all);
    if (!all) return tb_no_memory(p->err);
    if (c->n_meters) memcpy(all, c->meters, c->n_meters * sizeof *all);
    c->meters = all;
    all[c->n_meters].document = document;
    return tb_meter_parse(document, sizeof document - 1, &all[c->n_meters++].meter, p->err);
}

static tb_code judge_seller(parser *p, uint32_t value)
{
    tb__said_seller ignored;
    tb__fault fault = {.path = ""};
    return tb__declared_seller(&p->doc, value, &ignored, &fault) ? TB_OK : refuse_fault(p, &fault);
}

static tb_code read_seller(parser *p, uint32_t value)
{
    static const key_rule seller = {.name = "seller"};
    tb_code code = judge_seller(p, value);
    if (!code) code = check_printable(p, &seller, value);
    if (code) return code;
    p->out->seller = tb__document_canonical(&p->doc, value, p->kept, NULL);
    return p->out->seller ? TB_OK : tb_no_memory(p->err);
}

static tb_code read_top(parser *p, uint32_t key)
{
    const tb__node *name = &p->doc.nodes[key];
    p->key = name->text;
    p->key_len = name->len;
    if (tb__node_is(name, "seller", 6)) return read_seller(p, key + 1);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (tb__node_is(name, lists[i].name, strlen(lists[i].name)))
            return read_list(p, &lists[i], key + 1);
    const tb_container_kind kind = tb__container_list(name);
    if (kind != TB_CONTAINER_KINDS) return read_containers(p, kind, key + 1);
    if (tb__node_is(name, "meters", 6)) return read_meters(p, key + 1);
    return refuse_key(p, NULL, name);
}

/* The seller's rates are checked with the accounts' currencies, in any order of the document. */
static tb_code judge_rates(parser *p)
{
    tb__fault fault = {.path = ""};
    p->key = "seller";
    p->key_len = strlen(p->key);
    if (!tb__declared_rates_clear(&p->doc, &fault)) return refuse_fault(p, &fault);
    p->key = NULL;
    return TB_OK;
}

/* A catalogue without accounts would mark everything deleted: that is never meant, so the list must
 * be there, be it empty. */
static tb_code read_document(parser *p)
{
    if (p->doc.nodes[0].type != TB__OBJECT) return refuse_type(p, &p->doc.nodes[0], "an object");
    for (uint32_t key = 1; key != p->doc.nodes[0].next; key = p->doc.nodes[key + 1].next) {
        tb_code code = read_top(p, key);
        if (code) return code;
    }
    p->out->has_regions = p->out->regions != NULL;
    p->key = "accounts";
    p->key_len = strlen(p->key);
    if (!p->out->accounts) return refuse_node(p, &p->doc.nodes[0], "This key is missing.");
    p->key = NULL;
    return judge_rates(p);
}

static bool is_meter(const tb_catalog *c, const char *id)
{
    for (size_t i = 0; i < c->n_meters; i++)
        if (strcmp(c->meters[i].meter.id, id) == 0) return true;
    return false;
}

/* An alert's meter is declared, wherever in the document. */
static tb_code judge_alert_meters(parser *p)
{
    const uint32_t list = tb__declared_member(&p->doc, 0, "accounts");
    tb_alert_rule rules[TB_ALERTS_MAX];
    p->list = "accounts";
    p->key = "alerts";
    p->key_len = strlen(p->key);
    uint32_t account = list + 1;
    for (p->index = 0; p->index < p->doc.nodes[list].len; p->index++, account = p->doc.nodes[account].next) {
        const uint32_t alerts = tb__declared_member(&p->doc, account, "alerts");
        tb__fault fault = {.node = alerts, .wanted = "a meter that the catalogue declares"};
        size_t n = 0;
        if (!alerts || !tb__declared_alerts(&p->doc, alerts, rules, &n, &fault)) continue;
        for (size_t i = 0; i < n; i++) {
            if (!rules[i].meter[0] || is_meter(p->out, rules[i].meter)) continue;
            snprintf(fault.path, sizeof fault.path, "[%zu].meter", i);
            return refuse_fault(p, &fault);
        }
    }
    p->list = p->key = NULL;
    return TB_OK;
}

/* --- one object --- */

static tb_code judge_root(parser *p, const listing *list)
{
    if (p->doc.nodes[0].type != TB__OBJECT) return refuse_type(p, &p->doc.nodes[0], "an object");
    char *thing = tb__arena_take(p->kept, list->size);
    if (!thing) return tb_no_memory(p->err);
    memcpy(thing, list->blank, list->size);
    return read_members(p, list, 0, thing);
}

tb_code tb__catalog_judge(const char *list, const char *text, size_t len, tb_error *err)
{
    tb__arena kept;
    parser p = {.kept = &kept, .err = err, .element = NO_ELEMENT, .stored = true};
    size_t at = 0;
    while (at < sizeof lists / sizeof *lists - 1 && strcmp(lists[at].name, list) != 0)
        at++;
    tb__arena_init(&kept, NULL);
    tb__arena_init(&p.scratch, NULL);
    tb_code code = tb__document_parse(text, len, TB_E_CORRUPT, &p.scratch, NULL, &p.doc, err);
    if (!code) {
        tb_meter ignored;
        code = strcmp(list, "seller") == 0   ? judge_seller(&p, 0)
               : strcmp(list, "meters") == 0 ? judge_meter(&p, 0, &ignored)
                                             : judge_root(&p, &lists[at]);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&p.scratch);
    tb__arena_release(&kept);
    return code;
}

/* --- the whole --- */

static tb_code parse_into(const char *text, size_t len, const tb_alloc *alloc, tb__arena *kept,
                          tb_catalog *out, tb_error *err)
{
    parser p = {.kept = kept, .out = out, .err = err, .element = NO_ELEMENT};
    tb__arena_init(&p.scratch, alloc);
    tb_code code = tb__document_parse(text, len, TB_E_CATALOG, &p.scratch, alloc, &p.doc, err);
    if (!code) {
        code = read_document(&p);
        if (!code) code = tb__catalog_check(out, &p.scratch, err);
        if (!code) code = add_bandwidth(&p);
        if (!code) code = judge_alert_meters(&p);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&p.scratch);
    return code;
}

tb_code tb__catalog_parse(const char *text, size_t len, const tb_alloc *alloc,
                          tb_catalog *ret_catalog, tb_error *err)
{
    if (len > TB_CATALOG_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "A catalogue has at most %zu bytes.",
                       TB_CATALOG_MAX);
    tb__arena *kept = tb__arena_new(alloc);
    if (!kept) return tb_no_memory(err);
    tb_catalog out = {.memory = kept};
    tb_code code = parse_into(text, len, alloc, kept, &out, err);
    if (code)
        tb_catalog_release(&out);
    else
        *ret_catalog = out;
    return code;
}

tb_code tb_catalog_parse(const char *text, size_t len, tb_catalog *ret_catalog, tb_error *err)
{
    return tb__catalog_parse(text, len, NULL, ret_catalog, err);
}

void tb_catalog_release(tb_catalog *catalog)
{
    tb__arena_free(catalog->memory);
    *catalog = (tb_catalog){0};
}
