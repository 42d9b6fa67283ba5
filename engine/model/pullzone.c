/* The tables of pullzone.h as data, and the models inside a pull zone. */
#include "tollbook/pullzone.h"

#include <stdint.h>
#include <string.h>

#define LIVE true
#define SET  false
#define FIELD(name, type, nullable, fresh, lo, hi, from)                                           \
    {#name, TB_FIELD_##type, nullable, from, fresh, lo, hi},

const tb_field tb_pullzone_fields[TB_PULLZONE_FIELD_COUNT] = {TB_PULLZONE_FIELDS(FIELD)};

#define COUNT(...) +1
_Static_assert(0 TB_PULLZONE_FIELDS(COUNT) == TB_PULLZONE_FIELD_COUNT, "as many as the table has");

#define BOOL(name)   {name, TB_FIELD_BOOL, false, SET, "false", 0, 0}
#define TEXT(name)   {name, TB_FIELD_STRING, true, SET, "null", 0, 0}
#define ENUM(name, e) {name, TB_FIELD_ENUM, false, SET, "0", TB_ENUM_##e, 0}
#define MODELS(name, m) {name, TB_FIELD_MODELS, true, SET, "[]", TB_MODEL_##m, 0}

static const tb_field hostname[] = {
    {"Id", TB_FIELD_INT64, false, SET, "0", 0, INT64_MAX},
    TEXT("Value"),
    BOOL("ForceSSL"),
    BOOL("IsSystemHostname"),
    BOOL("IsManagedHostname"),
    BOOL("HasCertificate"),
    TEXT("Certificate"),
    {"CertificateKey", TB_FIELD_STRING, true, LIVE, "null", 0, 0},
    ENUM("CertificateKeyType", PRIVATE_KEY_TYPE),
    ENUM("CertificateProvisionType", CERTIFICATE_PROVISION_TYPE),
};

static const tb_field edge_rule[] = {
    TEXT("Guid"),
    ENUM("ActionType", EDGE_RULE_ACTION_TYPE),
    TEXT("ActionParameter1"),
    TEXT("ActionParameter2"),
    TEXT("ActionParameter3"),
    MODELS("Triggers", TRIGGER),
    MODELS("ExtraActions", EXTRA_ACTION),
    ENUM("TriggerMatchingType", MATCHING_TYPE),
    TEXT("Description"),
    {"Enabled", TB_FIELD_BOOL, false, SET, "true", 0, 0},
    {"OrderIndex", TB_FIELD_INT, false, SET, "0", INT32_MIN, INT32_MAX},
    BOOL("ReadOnly"),
};

static const tb_field trigger[] = {
    ENUM("Type", TRIGGER_TYPE),
    {"PatternMatches", TB_FIELD_STRINGS, true, SET, "[]", 0, 0},
    ENUM("PatternMatchingType", MATCHING_TYPE),
    TEXT("Parameter1"),
};

static const tb_field extra_action[] = {
    ENUM("ActionType", EDGE_RULE_ACTION_TYPE),
    TEXT("ActionParameter1"),
    TEXT("ActionParameter2"),
    TEXT("ActionParameter3"),
};

static const tb_field named_properties[] = {
    TEXT("Name"),
    {"Properties", TB_FIELD_MAP, true, SET, "{}", 0, 0},
};

static const struct {
    const tb_field *fields;
    size_t n;
    const char *name;
} models[TB_MODEL_COUNT] = {
#define TB_X(e, fields, name) {fields, sizeof fields / sizeof *fields, name},
    TB_MODELS(TB_X)
#undef TB_X
};

const tb_field *tb_model_fields(tb_model model, size_t *ret_n)
{
    *ret_n = models[model].n;
    return models[model].fields;
}

const char *tb_model_name(tb_model model)
{
    return models[model].name;
}

static const struct {
    const char *name, *values;
} enums[TB_ENUM_COUNT] = {
#define TB_X(e, name, values) {name, values},
    TB_ENUMS(TB_X)
#undef TB_X
};

const char *tb_enum_name(tb_enum e)
{
    return enums[e].name;
}

const char *tb_enum_values(tb_enum e)
{
    return enums[e].values;
}

const tb_field *tb_pullzone_field(const char *name, size_t len)
{
    for (size_t i = 0; i < TB_PULLZONE_FIELD_COUNT; i++) {
        const char *known = tb_pullzone_fields[i].name;
        if (strncmp(known, name, len) == 0 && known[len] == 0) return &tb_pullzone_fields[i];
    }
    return NULL;
}
