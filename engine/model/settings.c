/* Settings along the table. A value is checked and written at once: after a failed check the output is discarded.
 * Models contain models, as deep as the tables do. Member names of a model are looked up among its fields, so that
 * answers always have all of them, in order, whatever was declared. */
#include "model/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsontext.h"
#include "model/declared.h"

typedef struct writer {
    const tb__document *doc;
    tb_buf *out;
    tb_error *err;
} writer;

static tb_code refuse_setting(const writer *w, const tb_field *field, uint32_t at,
                              const char *wanted)
{
    tb_fail(w->err, TB_E_CATALOG, field->name, "%s must be %s.", field->name, wanted);
    if (w->err) w->err->byte = (uint64_t)w->doc->nodes[at].at + 1;
    return TB_E_CATALOG;
}

/* A failure within element `index` of the list that has this name. */
static tb_code refuse_within(const writer *w, const char *name, size_t index, tb_code code)
{
    char place[64], inner[sizeof w->err->field];
    if (code != TB_E_CATALOG || !w->err) return code;
    snprintf(place, sizeof place, "%s[%zu]", name, index);
    memcpy(inner, w->err->field, sizeof inner);
    tb__fault_path(place, inner, w->err->field, sizeof w->err->field);
    return code;
}

/* The element itself is of the wrong type. */
static tb_code refuse_element(const writer *w, const tb_field *field, uint32_t at, size_t index,
                              const char *wanted)
{
    refuse_setting(w, field, at, wanted);
    if (w->err) w->err->field[0] = 0;
    return refuse_within(w, field->name, index, TB_E_CATALOG);
}

/* TB_E_TOO_LARGE: there is no room for it, whatever memory there is. */
static tb_code put_quoted(const writer *w, const char *text, size_t len)
{
    if (TB__QUOTED_MAX(len) > w->out->max - w->out->len)
        return tb_fail(w->err, TB_E_TOO_LARGE, NULL, NULL);
    char *room = tb_buf_room(w->out, TB__QUOTED_MAX(len));
    if (room) w->out->len += (size_t)(tb__quote(room, text, len) - room);
    return TB_OK;
}

/* A name to be shown: its beginning, whole characters of it, none of them a control character. */
#define NAME_SHOWN 40
static const char *shown_name(const tb__node *name, char shown[NAME_SHOWN])
{
    size_t n = name->len < NAME_SHOWN - 1 ? name->len : NAME_SHOWN - 1;
    while (n < name->len && n > 0 && ((unsigned char)name->text[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)name->text[i];
        shown[i] = c < 0x20 || c == 0x7f ? '?' : name->text[i];
    }
    shown[n] = 0;
    return shown;
}

/* --- values --- */

static tb_code write_bool(const writer *w, const tb_field *field, uint32_t at)
{
    uint32_t type = w->doc->nodes[at].type;
    if (type != TB__TRUE && type != TB__FALSE) return refuse_setting(w, field, at, "true or false");
    tb_buf_str(w->out, type == TB__TRUE ? "true" : "false");
    return TB_OK;
}

static bool parse_int(const tb__node *node, int64_t *ret)
{
    if (node->type != TB__NUMBER) return false; /* lists have a length and no text */
    bool negative = node->text[0] == '-';
    uint32_t i = negative;
    int64_t value = 0;
    for (; i < node->len; i++) {
        int digit = node->text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN) return false;
    *ret = negative ? value : -value;
    return true;
}

static tb_code write_int(const writer *w, const tb_field *field, uint32_t at)
{
    int64_t value;
    char wanted[80];
    if (!parse_int(&w->doc->nodes[at], &value) || value < field->lo || value > field->hi) {
        snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, field->lo,
                 field->hi);
        return refuse_setting(w, field, at, wanted);
    }
    tb_buf_fmt(w->out, "%" PRId64, value);
    return TB_OK;
}

static tb_code write_decimal(const writer *w, const tb_field *field, uint32_t at)
{
    tb_decimal value;
    bool money = field->type == TB_FIELD_DECIMAL;
    if (!tb__node_decimal(&w->doc->nodes[at], TB_PRICE_SCALE_MAX, &value) ||
        (money && tb_decimal_sign(value) < 0))
        return refuse_setting(w, field, at,
                              money
                                  ? "a decimal of 0 or more with at most 15 digits after the point"
                                  : "a decimal with at most 15 digits after the point");
    char *room = tb_buf_room(w->out, TB_DECIMAL_TEXT_MAX);
    if (room) w->out->len += (size_t)(tb_decimal_put(room, value) - room);
    return TB_OK;
}

static tb_code write_string(const writer *w, const tb_field *field, uint32_t at)
{
    const tb__node *node = &w->doc->nodes[at];
    if (node->type != TB__STRING) return refuse_setting(w, field, at, "a string");
    return put_quoted(w, node->text, node->len);
}

static tb_code write_strings(const writer *w, const tb_field *field, uint32_t at)
{
    const tb__node *list = &w->doc->nodes[at];
    if (list->type != TB__ARRAY) return refuse_setting(w, field, at, "a list of strings");
    tb_buf_str(w->out, "[");
    size_t index = 0;
    for (uint32_t i = at + 1; i != list->next; i = w->doc->nodes[i].next, index++) {
        if (w->doc->nodes[i].type != TB__STRING)
            return refuse_element(w, field, i, index, "a list of strings");
        if (i != at + 1) tb_buf_str(w->out, ",");
        tb_code code = put_quoted(w, w->doc->nodes[i].text, w->doc->nodes[i].len);
        if (code) return code;
    }
    tb_buf_str(w->out, "]");
    return TB_OK;
}

static tb_code write_map(const writer *w, const tb_field *field, uint32_t at)
{
    const tb__node *map = &w->doc->nodes[at];
    if (map->type != TB__OBJECT) return refuse_setting(w, field, at, "an object of strings");
    tb_buf_str(w->out, "{");
    for (uint32_t key = at + 1; key != map->next; key = w->doc->nodes[key + 1].next) {
        const tb__node *value = &w->doc->nodes[key + 1];
        if (value->type != TB__STRING)
            return refuse_setting(w, field, key + 1, "an object of strings");
        if (key != at + 1) tb_buf_str(w->out, ",");
        tb_code code = put_quoted(w, w->doc->nodes[key].text, w->doc->nodes[key].len);
        tb_buf_str(w->out, ":");
        if (!code) code = put_quoted(w, value->text, value->len);
        if (code) return code;
    }
    tb_buf_str(w->out, "}");
    return TB_OK;
}

/* --- enums --- */

/* Calls for each of e's values until one is `name` or has the number; -1 where none has. */
static int64_t find_value(tb_enum e, const char *name, size_t len, int64_t number)
{
    const char *at = tb_enum_values(e);
    for (int64_t i = 0;; i++) {
        size_t n = strcspn(at, ",");
        bool there = n > 0;
        if (there && (name ? n == len && memcmp(at, name, n) == 0 : i == number)) return i;
        if (at[n] == 0) return -1;
        at += n + 1;
    }
}

static tb_code write_enum(const writer *w, const tb_field *field, uint32_t at)
{
    const tb__node *node = &w->doc->nodes[at];
    int64_t value = -1;
    if (node->type == TB__STRING)
        value = find_value((tb_enum)field->lo, node->text, node->len, 0);
    else if (parse_int(node, &value))
        value = find_value((tb_enum)field->lo, NULL, 0, value);
    if (value < 0) {
        char wanted[300];
        snprintf(wanted, sizeof wanted, "a number of %s or one of its names: %.200s",
                 tb_enum_name((tb_enum)field->lo), tb_enum_values((tb_enum)field->lo));
        return refuse_setting(w, field, at, wanted);
    }
    tb_buf_fmt(w->out, "%" PRId64, value);
    return TB_OK;
}

/* --- models --- */

/* The value of an object's member; 0: it has none. */
static uint32_t member(const writer *w, uint32_t object, const char *name)
{
    size_t len = strlen(name);
    for (uint32_t key = object + 1; key != w->doc->nodes[object].next;
         key = w->doc->nodes[key + 1].next)
        if (tb__node_is(&w->doc->nodes[key], name, len)) return key + 1;
    return 0;
}

static tb_code check_names(const writer *w, const tb_field *field, uint32_t object)
{
    size_t n;
    const tb_field *fields = tb_model_fields((tb_model)field->lo, &n);
    for (uint32_t key = object + 1; key != w->doc->nodes[object].next;
         key = w->doc->nodes[key + 1].next) {
        size_t i = 0;
        while (i < n && !tb__node_is(&w->doc->nodes[key], fields[i].name, strlen(fields[i].name)))
            i++;
        if (i < n) continue;
        char wanted[120], shown[NAME_SHOWN];
        snprintf(wanted, sizeof wanted, "made of the fields of %s; \"%s\" is not one",
                 tb_model_name((tb_model)field->lo), shown_name(&w->doc->nodes[key], shown));
        refuse_setting(w, field, key, wanted);
        if (w->err) snprintf(w->err->field, sizeof w->err->field, "%s", shown);
        return TB_E_CATALOG;
    }
    return TB_OK;
}

static tb_code write_value(const writer *w, const tb_field *field, uint32_t at);

static tb_code write_model(const writer *w, const tb_field *field, uint32_t object)
{
    size_t n;
    const tb_field *fields = tb_model_fields((tb_model)field->lo, &n);
    tb_code code = check_names(w, field, object);
    for (size_t i = 0; !code && i < n; i++) {
        uint32_t value = member(w, object, fields[i].name);
        tb_buf_fmt(w->out, "%c\"%s\":", i ? ',' : '{', fields[i].name);
        if (value)
            code = write_value(w, &fields[i], value);
        else
            tb_buf_str(w->out, fields[i].fresh);
    }
    tb_buf_str(w->out, "}");
    return code;
}

static tb_code write_models(const writer *w, const tb_field *field, uint32_t at)
{
    const tb__node *list = &w->doc->nodes[at];
    tb_code code = TB_OK;
    if (list->type != TB__ARRAY) return refuse_setting(w, field, at, "a list of objects");
    tb_buf_str(w->out, "[");
    size_t index = 0;
    for (uint32_t i = at + 1; !code && i != list->next; i = w->doc->nodes[i].next, index++) {
        if (w->doc->nodes[i].type != TB__OBJECT)
            return refuse_element(w, field, i, index, "a list of objects");
        if (i != at + 1) tb_buf_str(w->out, ",");
        code = refuse_within(w, field->name, index, write_model(w, field, i));
    }
    tb_buf_str(w->out, "]");
    return code;
}

static tb_code (*const writers[])(const writer *w, const tb_field *field, uint32_t at) = {
    [TB_FIELD_BOOL] = write_bool,       [TB_FIELD_INT] = write_int,
    [TB_FIELD_INT64] = write_int,       [TB_FIELD_DOUBLE] = write_decimal,
    [TB_FIELD_DECIMAL] = write_decimal, [TB_FIELD_STRING] = write_string,
    [TB_FIELD_STRINGS] = write_strings, [TB_FIELD_MAP] = write_map,
    [TB_FIELD_ENUM] = write_enum,       [TB_FIELD_MODELS] = write_models,
};

static bool is_list(const tb_field *field)
{
    return field->type == TB_FIELD_STRINGS || field->type == TB_FIELD_MODELS ||
           field->type == TB_FIELD_MAP;
}

static tb_code write_value(const writer *w, const tb_field *field, uint32_t at)
{
    if (w->doc->nodes[at].type != TB__NULL) {
        if (field->live) return refuse_setting(w, field, at, "null: it is not taken");
        return writers[field->type](w, field, at);
    }
    if (!field->nullable) return refuse_setting(w, field, at, "set: it cannot be null");
    tb_buf_str(w->out, is_list(field) ? field->type == TB_FIELD_MAP ? "{}" : "[]" : "null");
    return TB_OK;
}

tb_code tb__field_write(const tb_field *field, const tb__document *doc, uint32_t node, tb_buf *out,
                        tb_error *err)
{
    const writer w = {doc, out, err};
    tb_code code = write_value(&w, field, node);
    return code ? code : tb_buf_check(out, err);
}

/* --- a zone's settings --- */

/* The same value, whatever its digits: 0.0 is 0. */
static bool is_fresh(const tb_field *field, const char *text, size_t len)
{
    tb_decimal value, fresh;
    if (strcmp(field->name, "OptimizerPricing") == 0) return false; /* billing asks whether it is set */
    if (field->type != TB_FIELD_DOUBLE && field->type != TB_FIELD_DECIMAL)
        return strlen(field->fresh) == len && memcmp(field->fresh, text, len) == 0;
    return !tb_decimal_parse(text, len, TB_PRICE_SCALE_MAX, &value, NULL) &&
           !tb_decimal_parse(field->fresh, strlen(field->fresh), TB_PRICE_SCALE_MAX, &fresh,
                             NULL) &&
           tb_decimal_compare(value, fresh) == 0;
}

static void refuse_name(const writer *w, const tb__node *name)
{
    char shown[NAME_SHOWN];
    shown_name(name, shown);
    tb_fail(w->err, TB_E_CATALOG, shown, "Unknown field: a pull zone has no \"%s\".", shown);
}

static tb_code find_field(const writer *w, uint32_t key, const tb_field **ret)
{
    const tb__node *name = &w->doc->nodes[key];
    const tb_field *field = tb_pullzone_field(name->text, name->len);
    if (field && !field->live) {
        *ret = field;
        return TB_OK;
    }
    if (field)
        tb_fail(w->err, TB_E_CATALOG, field->name,
                "%s is not a setting: it comes from the zone's own keys or from its usage.",
                field->name);
    else
        refuse_name(w, name);
    if (w->err) w->err->byte = (uint64_t)name->at + 1;
    return TB_E_CATALOG;
}

/* Keys of an object that are settings, in sorted order: an index is put where it belongs. */
static tb_code sort_keys(const writer *w, uint32_t object, uint32_t *keys, size_t *ret_n)
{
    size_t n = 0;
    for (uint32_t key = object + 1; key != w->doc->nodes[object].next;
         key = w->doc->nodes[key + 1].next) {
        const tb_field *field, *before;
        tb_code code = find_field(w, key, &field);
        if (code) return code;
        size_t i = n++;
        for (; i > 0; i--) {
            before =
                tb_pullzone_field(w->doc->nodes[keys[i - 1]].text, w->doc->nodes[keys[i - 1]].len);
            if (strcmp(before->name, field->name) < 0) break;
            keys[i] = keys[i - 1];
        }
        keys[i] = key;
    }
    *ret_n = n;
    return TB_OK;
}

static tb_code write_setting(const writer *w, uint32_t key, bool *first)
{
    const tb__node *name = &w->doc->nodes[key];
    const tb_field *field = tb_pullzone_field(name->text, name->len);
    size_t before = w->out->len;
    tb_buf_fmt(w->out, "%s\"%s\":", *first ? "" : ",", field->name);
    size_t value = w->out->len;
    tb_code code = tb__field_write(field, w->doc, key + 1, w->out, w->err);
    if (code) return code;
    if (is_fresh(field, w->out->data + value, w->out->len - value))
        w->out->len = before;
    else
        *first = false;
    return TB_OK;
}

tb_code tb__settings_write(const tb__document *doc, uint32_t object, tb_buf *out, tb_error *err)
{
    const writer w = {doc, out, err};
    uint32_t keys[TB_PULLZONE_FIELD_COUNT]; /* the document has no key twice */
    size_t n = 0;
    bool first = true;
    tb_code code = sort_keys(&w, object, keys, &n);
    tb_buf_str(out, "{");
    for (size_t i = 0; !code && i < n; i++)
        code = write_setting(&w, keys[i], &first);
    tb_buf_str(out, "}");
    return code ? code : tb_buf_check(out, err);
}

/* --- hostnames --- */

static const tb_field hostnames_field = {
    "Hostnames", TB_FIELD_MODELS, true, false, "[]", TB_MODEL_HOSTNAME, 0};

static bool is_certificate(const tb_field *field)
{
    return strcmp(field->name, "Certificate") == 0;
}

/* Whether it is the system's own, declared all the same. */
static bool is_named(const writer *w, uint32_t node, const tb__hostnames *with)
{
    if (w->doc->nodes[node].type == TB__OBJECT) node = member(w, node, "Value");
    return node && w->doc->nodes[node].type == TB__STRING &&
           tb__node_is(&w->doc->nodes[node], with->first, with->first_len);
}

/* One field of a hostname; the object may be a mere string, or absent (node 0: the system's). */
static tb_code write_hostname_field(const writer *w, const tb__hostnames *with, uint32_t node,
                                    size_t nth, const tb_field *field)
{
    bool object = node && w->doc->nodes[node].type == TB__OBJECT;
    uint32_t value = object ? member(w, node, field->name) : 0;
    if (strcmp(field->name, "Id") == 0 && !value) {
        tb_buf_fmt(w->out, "%" PRId64, with->first_id + (int64_t)nth);
        return TB_OK;
    }
    if (strcmp(field->name, "Value") == 0 && !object)
        return node ? put_quoted(w, w->doc->nodes[node].text, w->doc->nodes[node].len)
                    : put_quoted(w, with->first, with->first_len);
    if (strcmp(field->name, "IsSystemHostname") == 0 && !value) {
        tb_buf_str(w->out, !node || is_named(w, node, with) ? "true" : "false");
        return TB_OK;
    }
    if (strcmp(field->name, "HasCertificate") == 0 && object && !value) {
        uint32_t certificate = member(w, node, "Certificate");
        bool there = certificate && w->doc->nodes[certificate].type == TB__STRING;
        tb_buf_str(w->out, there ? "true" : "false");
        return TB_OK;
    }
    if (!value || (is_certificate(field) && !with->certificates)) {
        tb_buf_str(w->out, field->fresh);
        return TB_OK;
    }
    return write_value(w, field, value);
}

static tb_code write_hostname(const writer *w, const tb__hostnames *with, uint32_t node, size_t nth)
{
    size_t n;
    const tb_field *fields = tb_model_fields(TB_MODEL_HOSTNAME, &n);
    tb_code code = TB_OK;
    if (node && w->doc->nodes[node].type == TB__OBJECT)
        code = check_names(w, &hostnames_field, node);
    else if (node && w->doc->nodes[node].type != TB__STRING)
        code = refuse_setting(w, &hostnames_field, node, "a list of strings or objects");
    if (nth) tb_buf_str(w->out, ",");
    for (size_t i = 0; !code && i < n; i++) {
        tb_buf_fmt(w->out, "%c\"%s\":", i ? ',' : '{', fields[i].name);
        code = write_hostname_field(w, with, node, nth, &fields[i]);
    }
    tb_buf_str(w->out, "}");
    return code;
}

tb_code tb__hostnames_write(const tb__hostnames *with, const tb__document *doc, uint32_t node,
                            tb_buf *out, tb_error *err)
{
    const writer w = {doc, out, err};
    uint32_t end = doc ? w.doc->nodes[node].next : 0;
    bool known = false;
    size_t nth = 0;
    if (doc && w.doc->nodes[node].type != TB__ARRAY)
        return refuse_setting(&w, &hostnames_field, node, "a list of strings or objects");
    for (uint32_t i = node + 1; doc && !known && i != end; i = w.doc->nodes[i].next)
        known = is_named(&w, i, with);
    tb_buf_str(out, "[");
    tb_code code = known ? TB_OK : write_hostname(&w, with, 0, nth++);
    size_t index = 0;
    for (uint32_t i = node + 1; doc && !code && i != end; i = w.doc->nodes[i].next)
        code = refuse_within(&w, "", index++, write_hostname(&w, with, i, nth++));
    tb_buf_str(out, "]");
    return code ? code : tb_buf_check(out, err);
}
