/* A meter's declaration is walked along a table of its keys, each with its reading; what its kind
 * decides is checked when all are known. */
#include "model/meters.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MOST INT64_C(1000000000000000000) /* 10^18 */

static const char *const kind_names[TB_METER_KIND_COUNT] = {
#define TB_X(e, name) name,
    TB_METER_KINDS(TB_X)
#undef TB_X
};

const char *tb_meter_kind_name(tb_meter_kind kind)
{
    return (unsigned)kind < TB_METER_KIND_COUNT ? kind_names[kind] : "";
}

static int compare_id(const void *id, const void *meter)
{
    return strcmp(id, ((const tb_meter *)meter)->id);
}

const tb_meter *tb_meter_find(const tb_meter *meters, size_t n, const char *id)
{
    return n ? bsearch(id, meters, n, sizeof *meters, compare_id) : NULL;
}

/* --- charges --- */

static const struct {
    const char *name, *field;
} charges[TB_METER_CHARGE_COUNT] = {
#define TB_X(e, name, field) {name, field},
    TB_METER_CHARGES(TB_X)
#undef TB_X
};

tb_meter_charge tb_meter_charge_of(const char *charge)
{
    int i = 0;
    while (i < TB_METER_CHARGE_COUNT && strcmp(charges[i].name, charge) != 0 && strcmp(charges[i].field, charge) != 0)
        i++;
    return i == TB_METER_CHARGE_TAXES ? TB_METER_CHARGE_COUNT : (tb_meter_charge)i;
}

bool tb_meter_charge_known(const char *charge)
{
    return tb_meter_charge_of(charge) != TB_METER_CHARGE_COUNT;
}

/* --- values --- */

typedef struct reader {
    const tb__document *doc;
    tb_meter *to;
    tb__fault *fault;
    const char *inside; /* "display" within that, "" outside */
} reader;

typedef struct key_rule {
    const char *name;
    bool (*read)(reader *r, const char *name, uint32_t value);
} key_rule;

static bool refuse_meter(reader *r, const char *name, uint32_t node, const char *wanted)
{
    (void)tb__fault_at(r->fault, name, node, wanted);
    return tb__fault_inside(r->fault, r->inside);
}

static bool walk_meter(reader *r, uint32_t object, const key_rule *rules, size_t n)
{
    const tb__document *doc = r->doc;
    for (uint32_t key = object + 1; key != doc->nodes[object].next; key = doc->nodes[key + 1].next) {
        size_t i = 0;
        while (i < n && !tb__node_is(&doc->nodes[key], rules[i].name, strlen(rules[i].name)))
            i++;
        if (i == n) {
            (void)tb__fault_at_key(doc, r->fault, key, NULL);
            return tb__fault_inside(r->fault, r->inside);
        }
        if (!rules[i].read(r, rules[i].name, key + 1)) return false;
    }
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Copies a string of 1 to `most` letters, digits and characters of `more`. */
static bool copy_word(reader *r, uint32_t value, size_t most, const char *more, char *to)
{
    const tb__node *node = &r->doc->nodes[value];
    bool ok = node->type == TB__STRING && node->len >= 1 && node->len <= most;
    for (uint32_t i = 0; ok && i < node->len; i++)
        ok = is_letter(node->text[i]) || is_digit(node->text[i]) || (node->text[i] && strchr(more, node->text[i]));
    if (!ok) return false;
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
    return true;
}

/* A unit is told from a number by its first character, which a price book's `per` relies on. */
static bool copy_unit(reader *r, const char *name, uint32_t value, char *to)
{
    const tb__node *node = &r->doc->nodes[value];
    if (node->type != TB__STRING || node->len < 1 || node->len > TB_METER_UNIT_MAX || !tb__node_plain(node) ||
        is_digit(node->text[0]) || strchr("+-.", node->text[0]))
        return refuse_meter(r, name, value, "1 to 32 bytes that begin with no digit, sign or point");
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
    return true;
}

static bool copy_whole(reader *r, const char *name, uint32_t value, int64_t *to)
{
    tb_decimal number;
    if (!tb__node_decimal(&r->doc->nodes[value], 0, &number) || number.mantissa < 1 || number.mantissa > UNITS_MOST)
        return refuse_meter(r, name, value, "a whole number from 1 to 10^18");
    *to = (int64_t)number.mantissa;
    return true;
}

/* --- keys --- */

static bool read_meter(reader *r, const char *name, uint32_t value)
{
    return copy_word(r, value, TB_METER_ID_MAX, "_.-", r->to->id) ||
           refuse_meter(r, name, value, "1 to 64 letters, digits, '_', '.' and '-'");
}

static bool read_name(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    if (node->type != TB__STRING || node->len < 1 || node->len > TB_METER_NAME_MAX || !tb__node_plain(node))
        return refuse_meter(r, name, value, "1 to 96 bytes without control characters");
    memcpy(r->to->name, node->text, node->len);
    r->to->name[node->len] = 0;
    return true;
}

static bool read_kind(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    for (int k = 0; node->type == TB__STRING && k < TB_METER_KIND_COUNT; k++) {
        if (!tb__node_is(node, kind_names[k], strlen(kind_names[k]))) continue;
        r->to->kind = (tb_meter_kind)k;
        return true;
    }
    return refuse_meter(r, name, value, "counter, gauge or sample");
}

static bool read_unit(reader *r, const char *name, uint32_t value)
{
    return copy_unit(r, name, value, r->to->unit);
}

static bool read_display_unit(reader *r, const char *name, uint32_t value)
{
    return copy_unit(r, name, value, r->to->display_unit);
}

static bool read_display_per(reader *r, const char *name, uint32_t value)
{
    return copy_whole(r, name, value, &r->to->display_per);
}

static const key_rule display_rules[] = {{"unit", read_display_unit}, {"per", read_display_per}};

static bool read_display(reader *r, const char *name, uint32_t value)
{
    if (r->doc->nodes[value].type != TB__OBJECT) return refuse_meter(r, name, value, "an object with unit and per");
    r->inside = name;
    if (!walk_meter(r, value, display_rules, sizeof display_rules / sizeof *display_rules)) return false;
    if (!r->to->display_unit[0]) return refuse_meter(r, "unit", value, "given: the unit that people read");
    if (!tb__declared_member(r->doc, value, "per"))
        return refuse_meter(r, "per", value, "given: how many of the meter's units it is");
    r->inside = "";
    return true;
}

static bool read_round_up(reader *r, const char *name, uint32_t value)
{
    return copy_whole(r, name, value, &r->to->round_up);
}

static bool read_interval(reader *r, const char *name, uint32_t value)
{
    tb_decimal number;
    if (!tb__node_decimal(&r->doc->nodes[value], 0, &number) || (number.mantissa != 300 && number.mantissa != 3600))
        return refuse_meter(r, name, value, "300 or 3600 seconds");
    r->to->interval = (int)number.mantissa;
    return true;
}

static bool read_resource(reader *r, const char *name, uint32_t value)
{
    return copy_word(r, value, TB_METER_NOUN_MAX, "_", r->to->noun) ||
           refuse_meter(r, name, value, "1 to 32 letters, digits and '_'");
}

static bool read_dimensions(reader *r, const char *name, uint32_t value)
{
    const tb__node *list = &r->doc->nodes[value];
    if (list->type != TB__ARRAY || list->len > TB_METER_DIMENSIONS)
        return refuse_meter(r, name, value, "a list of at most two names");
    for (uint32_t child = value + 1; child != list->next; child = r->doc->nodes[child].next) {
        char path[32];
        snprintf(path, sizeof path, "%s[%d]", name, r->to->n_dimensions);
        if (!copy_word(r, child, TB_METER_VALUE_MAX, "_.-", r->to->dimension[r->to->n_dimensions]))
            return refuse_meter(r, path, child, "1 to 32 letters, digits, '_', '.' and '-'");
        if (r->to->n_dimensions++ && strcmp(r->to->dimension[0], r->to->dimension[1]) == 0)
            return refuse_meter(r, path, child, "another name than the first");
    }
    return true;
}

static bool read_charge(reader *r, const char *name, uint32_t value)
{
    return (copy_word(r, value, TB_METER_CHARGE_MAX, "", r->to->charge) && tb_meter_charge_known(r->to->charge)) ||
           refuse_meter(r, name, value, "a charge of GET /billing such as Storage or ScriptingRequests");
}

static bool read_unece(reader *r, const char *name, uint32_t value)
{
    const tb__node *node = &r->doc->nodes[value];
    bool ok = copy_word(r, value, sizeof r->to->unece - 1, "", r->to->unece) && node->len >= 2;
    for (uint32_t i = 0; ok && i < node->len; i++)
        ok = node->text[i] < 'a';
    return ok || refuse_meter(r, name, value, "a unit code of UN/ECE Rec 20: 2 or 3 capital letters and digits");
}

static bool read_code(reader *r, const char *name, uint32_t value)
{
    return copy_word(r, value, TB_METER_CODE_MAX, "_.-", r->to->ledger_code) ||
           refuse_meter(r, name, value, "1 to 31 letters, digits, '_', '.' and '-'");
}

static const key_rule meter_rules[] = {
    {"meter", read_meter},       {"name", read_name},         {"kind", read_kind},
    {"unit", read_unit},         {"display", read_display},   {"round_up", read_round_up},
    {"interval", read_interval}, {"resource", read_resource}, {"dimensions", read_dimensions},
    {"charge", read_charge},     {"unece", read_unece},       {"ledger_code", read_code},
};

/* --- the whole --- */

bool tb__declared_meter(const tb__document *doc, uint32_t value, tb_meter *ret, tb__fault *fault)
{
    tb_meter meter = {.kind = TB_METER_KIND_COUNT, .display_per = 1, .noun = "resource", .unece = "C62"};
    reader r = {doc, &meter, fault, ""};
    if (doc->nodes[value].type != TB__OBJECT) return refuse_meter(&r, "", value, "an object");
    if (!walk_meter(&r, value, meter_rules, sizeof meter_rules / sizeof *meter_rules)) return false;
    if (!meter.id[0]) return refuse_meter(&r, "meter", value, "given: the meter's id");
    if (meter.kind == TB_METER_KIND_COUNT) return refuse_meter(&r, "kind", value, "given: counter, gauge or sample");
    if (!meter.unit[0]) return refuse_meter(&r, "unit", value, "given: what is counted, such as request or byte");
    if (meter.round_up && meter.kind != TB_METER_GAUGE)
        return refuse_meter(&r, "round_up", tb__declared_member(doc, value, "round_up"),
                            "left out: only values of a gauge are rounded up");
    if (meter.interval && meter.kind != TB_METER_SAMPLE)
        return refuse_meter(&r, "interval", tb__declared_member(doc, value, "interval"),
                            "left out: only a sample has intervals");
    if (meter.kind == TB_METER_SAMPLE && !meter.interval) meter.interval = 300;
    if (!meter.name[0]) memcpy(meter.name, meter.id, strlen(meter.id) + 1);
    *ret = meter;
    return true;
}

tb_code tb_meter_parse(const char *document, size_t len, tb_meter *ret_meter, tb_error *err)
{
    tb__arena strings;
    tb__document doc;
    tb__fault fault = {.path = ""};
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(document, len, TB_E_CATALOG, &strings, NULL, &doc, err);
    if (!code) {
        if (!tb__declared_meter(&doc, 0, ret_meter, &fault)) {
            code = fault.wanted ? tb_fail(err, TB_E_CATALOG, fault.path, "Must be %s.", fault.wanted)
                                : tb_fail(err, TB_E_CATALOG, fault.path, "Unknown key.");
            if (err) err->byte = (uint64_t)doc.nodes[fault.node].at + 1;
        }
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}
