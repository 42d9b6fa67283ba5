/* An alert is walked along two tables: its keys, and each kind's threshold with its name and range. A key of another
 * kind is refused, since it would be a wrong alert: "above" of a balance, "probability" of usage. */
#include "model/alerts.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MOST        INT64_C(1000000000000000000) /* 10^18, either way */
#define PROBABILITY_SCALE 6
#define PROBABILITY_USUAL 9 /* tenths, where a forecast's says nothing */

static const struct {
    const char *name, *limit;
    int scale;
    bool negative; /* it may be */
    bool over_one; /* it must be */
    const char *wanted;
} kinds[TB_ALERT_KIND_COUNT] = {
    [TB_ALERT_MONTH_TO_DATE] = {"month_to_date", "above", 6, false, false,
                                "an amount from 0 to 10^18 with at most 6 digits after the point"},
    [TB_ALERT_FORECAST] = {"forecast", "above", 6, false, false,
                           "an amount from 0 to 10^18 with at most 6 digits after the point"},
    [TB_ALERT_USAGE] = {"usage", "above", 0, false, false, "a whole number of bytes or of the meter's units from 0 to 10^18"},
    [TB_ALERT_BALANCE] = {"balance", "below", 6, true, false,
                          "an amount from -10^18 to 10^18 with at most 6 digits after the point"},
    [TB_ALERT_ANOMALY] = {"anomaly", "above", 3, false, true,
                          "a number over 1, at most 10^18, with at most 3 digits after the point"},
    [TB_ALERT_CAP] = {.name = "cap", .limit = "at"}, /* declared by the contract alone */
};

const char *tb_alert_kind_name(tb_alert_kind kind)
{
    return (unsigned)kind < TB_ALERT_KIND_COUNT ? kinds[kind].name : "";
}

/* The alert that is being read, the index-th. */
typedef struct reading {
    const tb__document *doc;
    size_t index;
    uint32_t object;
    tb_alert_rule *rule;
    tb__fault *fault;
} reading;

static bool fault_of(const reading *r, const char *key, uint32_t node, const char *wanted)
{
    snprintf(r->fault->path, sizeof r->fault->path, "[%zu]%s%.32s", r->index, key[0] ? "." : "", key);
    r->fault->wanted = wanted;
    r->fault->node = node;
    return false;
}

static bool read_id(const reading *r)
{
    const uint32_t at = tb__declared_member(r->doc, r->object, "id");
    const tb__node *node = &r->doc->nodes[at];
    if (!at || !tb__node_is_id(node, TB_ALERT_ID_MAX))
        return fault_of(r, "id", at ? at : r->object,
                        "a string of 1 to 64 letters, digits, '_', '.' and '-'");
    memcpy(r->rule->id, node->text, node->len);
    r->rule->id[node->len] = 0;
    return true;
}

static bool read_kind(const reading *r)
{
    const uint32_t at = tb__declared_member(r->doc, r->object, "kind");
    const tb__node *node = &r->doc->nodes[at];
    for (int k = 0; at && node->type == TB__STRING && k < TB_ALERT_CAP; k++)
        if (tb__node_is(node, kinds[k].name, strlen(kinds[k].name))) {
            r->rule->kind = (tb_alert_kind)k;
            return true;
        }
    return fault_of(r, "kind", at ? at : r->object,
                    "month_to_date, forecast, usage, balance or anomaly");
}

static bool in_bounds(const tb_alert_rule *rule)
{
    const tb_decimal limit = rule->limit, most = {LIMIT_MOST, 0}, least = {-LIMIT_MOST, 0};
    if (kinds[rule->kind].over_one && tb_decimal_compare(limit, (tb_decimal){1, 0}) <= 0) return false;
    if (!kinds[rule->kind].negative && tb_decimal_sign(limit) < 0) return false;
    return tb_decimal_compare(limit, most) <= 0 && tb_decimal_compare(limit, least) >= 0;
}

static bool read_limit(const reading *r)
{
    const char *name = kinds[r->rule->kind].limit;
    const uint32_t at = tb__declared_member(r->doc, r->object, name);
    if (at && tb__node_decimal(&r->doc->nodes[at], kinds[r->rule->kind].scale, &r->rule->limit) &&
        in_bounds(r->rule))
        return true;
    return fault_of(r, name, at ? at : r->object, kinds[r->rule->kind].wanted);
}

static bool read_probability(const reading *r)
{
    const uint32_t at = tb__declared_member(r->doc, r->object, "probability");
    tb_decimal *p = &r->rule->probability;
    *p = (tb_decimal){PROBABILITY_USUAL, 1};
    if (!at || (tb__node_decimal(&r->doc->nodes[at], PROBABILITY_SCALE, p) && tb_decimal_sign(*p) > 0 &&
                tb_decimal_compare(*p, (tb_decimal){1, 0}) < 0))
        return true;
    return fault_of(r, "probability", at,
                    "a number between 0 and 1 with at most 6 digits after the point");
}

/* That the meter is declared is checked where all of them are known: by the whole catalogue, or with `alert set`. */
static bool read_meter(const reading *r)
{
    const uint32_t at = tb__declared_member(r->doc, r->object, "meter");
    const tb__node *node = &r->doc->nodes[at];
    if (!at) return true;
    if (!tb__node_is_id(node, TB_METER_ID_MAX))
        return fault_of(r, "meter", at, "a meter: a string of 1 to 64 letters, digits, '_', '.' and '-'");
    memcpy(r->rule->meter, node->text, node->len);
    return true;
}

/* Whether the kind has a key of this name. */
static bool is_known(const tb_alert_rule *rule, const tb__node *key)
{
    const char *limit = kinds[rule->kind].limit;
    return tb__node_is(key, "id", 2) || tb__node_is(key, "kind", 4) ||
           tb__node_is(key, limit, strlen(limit)) ||
           (rule->kind == TB_ALERT_FORECAST && tb__node_is(key, "probability", 11)) ||
           (rule->kind == TB_ALERT_USAGE && tb__node_is(key, "meter", 5));
}

static bool check_keys(const reading *r)
{
    for (uint32_t key = r->object + 1; key != r->doc->nodes[r->object].next;
         key = r->doc->nodes[key + 1].next) {
        const bool is_null = r->doc->nodes[key + 1].type == TB__NULL;
        tb__fault inner = {.path = ""};
        if (is_known(r->rule, &r->doc->nodes[key]) && !is_null) continue;
        tb__fault_at_key(r->doc, &inner, key, NULL);
        return fault_of(r, inner.path, key, is_null ? "left out where there is no value" : NULL);
    }
    return true;
}

static bool read_alert(const reading *r)
{
    if (r->doc->nodes[r->object].type != TB__OBJECT) return fault_of(r, "", r->object, "an object");
    *r->rule = (tb_alert_rule){.kind = TB_ALERT_KIND_COUNT};
    return read_id(r) && read_kind(r) && check_keys(r) && read_limit(r) && read_probability(r) && read_meter(r);
}

static bool check_once(const reading *r, const tb_alert_rule *all)
{
    for (size_t i = 0; i < r->index; i++)
        if (strcmp(all[i].id, r->rule->id) == 0)
            return fault_of(r, "id", r->object, "another id: an alert before it has this one");
    return true;
}

bool tb__declared_alerts(const tb__document *doc, uint32_t value, tb_alert_rule ret[TB_ALERTS_MAX],
                         size_t *ret_n, tb__fault *fault)
{
    const tb__node *list = &doc->nodes[value];
    reading r = {.doc = doc, .object = value + 1, .fault = fault};
    if (list->type != TB__ARRAY || list->len > TB_ALERTS_MAX) {
        fault->path[0] = 0;
        fault->wanted = list->type == TB__ARRAY ? "a list of at most 32 alerts" : "an array";
        fault->node = value;
        return false;
    }
    for (; r.index < list->len; r.index++, r.object = doc->nodes[r.object].next) {
        r.rule = &ret[r.index];
        if (!read_alert(&r) || !check_once(&r, ret)) return false;
    }
    *ret_n = list->len;
    return true;
}
