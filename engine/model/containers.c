/* Registries, container applications and limits of a catalogue: each object is walked along a table of its fields, each
 * with a check of its values. Nothing is converted: the object's canonical text is stored, and values are read from it.
 *
 * Addresses are judged strictly, since the server calls them: a scheme, a host, a port and, where
 * one may stand, a path; no user, query or fragment. A password is never part of a catalogue: it
 * names one, and goes nowhere unencrypted but to this machine. */
#include "model/containers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct judged {
    const tb__document *doc;
    tb_container *out;
    tb_error *err;
    char path[80]; /* of the object, and of the value under it */
} judged;

typedef struct field field;
struct field {
    const char *name;
    bool required, nullable;
    tb_code (*judge)(judged *j, const field *f, uint32_t at);
    int64_t lo, hi;      /* bytes of a text; bounds of a number */
    const char *words;   /* of a choice: "a,b" */
    const field *fields; /* of an object, ended by a row without a name */
};

static tb_code refuse_container(const judged *j, uint32_t at, const char *message)
{
    tb_fail(j->err, TB_E_CATALOG, j->path, "%s", message);
    if (j->err) j->err->byte = (uint64_t)j->doc->nodes[at].at + 1;
    return TB_E_CATALOG;
}

static tb_code refuse_type(const judged *j, uint32_t at, const char *wanted)
{
    char message[96];
    snprintf(message, sizeof message, "Must be %s, is %s.", wanted,
             tb__node_type_name(j->doc->nodes[at].type));
    return refuse_container(j, at, message);
}

/* --- values --- */

static tb_code judge_text(judged *j, const field *f, uint32_t at)
{
    const tb__node *node = &j->doc->nodes[at];
    char message[64];
    if (node->type != TB__STRING) return refuse_type(j, at, "a string");
    snprintf(message, sizeof message, "Must have %" PRId64 " to %" PRId64 " bytes.", f->lo, f->hi);
    return node->len >= f->lo && node->len <= f->hi ? TB_OK : refuse_container(j, at, message);
}

static bool is_word(const tb__node *node)
{
    for (uint32_t i = 0; i < node->len; i++) {
        const char c = node->text[i];
        const bool inner = i > 0 && (c == '.' || c == '_' || c == '-');
        if (!inner && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return false;
    }
    return true;
}

/* Ids, which occur in URLs, file names and on command lines. */
static tb_code judge_word(judged *j, const field *f, uint32_t at)
{
    tb_code code = judge_text(j, f, at);
    if (!code && !is_word(&j->doc->nodes[at]))
        code = refuse_container(j, at,
                      "Must consist of letters and digits, and '.', '_' and '-' after the "
                      "first character.");
    return code;
}

static tb_code judge_visible(judged *j, const field *f, uint32_t at)
{
    const tb__node *node = &j->doc->nodes[at];
    tb_code code = judge_text(j, f, at);
    for (uint32_t i = 0; !code && i < node->len; i++)
        if (node->text[i] < 0x21 || node->text[i] > 0x7e || node->text[i] == ':')
            code = refuse_container(j, at, "Must be visible ASCII characters without ':'.");
    return code;
}

static tb_code judge_choice(judged *j, const field *f, uint32_t at)
{
    const tb__node *node = &j->doc->nodes[at];
    char message[120];
    if (node->type != TB__STRING) return refuse_type(j, at, "a string");
    for (const char *w = f->words; *w;) {
        size_t n = strcspn(w, ",");
        if (tb__node_is(node, w, n)) return TB_OK;
        w += n + (w[n] == ',');
    }
    snprintf(message, sizeof message, "Must be one of %s.", f->words);
    return refuse_container(j, at, message);
}

static bool parse_count(const tb__node *node, int64_t lo, int64_t hi, int64_t *ret)
{
    int64_t value = 0;
    if (node->type != TB__NUMBER || node->len > 18) return false;
    for (uint32_t i = 0; i < node->len; i++) {
        if (node->text[i] < '0' || node->text[i] > '9') return false;
        value = value * 10 + (node->text[i] - '0');
    }
    *ret = value;
    return value >= lo && value <= hi;
}

static tb_code judge_count(judged *j, const field *f, uint32_t at)
{
    char message[96];
    int64_t ignored;
    if (parse_count(&j->doc->nodes[at], f->lo, f->hi, &ignored)) return TB_OK;
    snprintf(message, sizeof message, "Must be a whole number from %" PRId64 " to %" PRId64 ".",
             f->lo, f->hi);
    return refuse_container(j, at, message);
}

static tb_code judge_account(judged *j, const field *f, uint32_t at)
{
    tb_code code = judge_count(j, f, at);
    if (!code) parse_count(&j->doc->nodes[at], f->lo, f->hi, &j->out->account);
    return code;
}

/* --- addresses --- */

static size_t host_length(const char *text, size_t len)
{
    size_t i = 0;
    const bool bracket = len > 0 && text[0] == '[';
    for (i = bracket; i < len; i++) {
        const char c = text[i];
        const bool digit = c >= '0' && c <= '9';
        const bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        const bool name = digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                          c == '-';
        if (bracket ? !hex && c != ':' && c != '.' : !name) break;
    }
    if (!bracket) return i;
    return i > 1 && i < len && text[i] == ']' ? i + 1 : 0;
}

/* Bytes of ":443", 0 if there is none or it is not one. */
static size_t port_length(const char *text, size_t len)
{
    unsigned port = 0;
    size_t i = 1;
    if (len < 2 || text[0] != ':') return 0;
    for (; i < len && i < 7 && text[i] >= '0' && text[i] <= '9'; i++)
        port = port * 10 + (unsigned)(text[i] - '0');
    return i > 1 && port > 0 && port < 65536 ? i : 0;
}

static bool is_path(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x21 || text[i] > 0x7e || strchr("?#\\\"<>^`{|}", text[i])) return false;
    return len == 0 || text[0] == '/';
}

static bool is_address(const tb__node *node, bool path)
{
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t s = 0; s < 2; s++) {
        size_t at = strlen(schemes[s]);
        if (node->len <= at || memcmp(node->text, schemes[s], at) != 0) continue;
        size_t host = host_length(node->text + at, node->len - at);
        if (host == 0) return false;
        at += host;
        at += port_length(node->text + at, node->len - at);
        return path ? is_path(node->text + at, node->len - at) : at == node->len;
    }
    return false;
}

static tb_code judge_origin(judged *j, const field *f, uint32_t at)
{
    tb_code code = judge_text(j, f, at);
    if (!code && !is_address(&j->doc->nodes[at], false))
        code = refuse_container(j, at,
                                "Must be like https://registry.example or http://127.0.0.1:5000.");
    return code;
}

static tb_code judge_realm(judged *j, const field *f, uint32_t at)
{
    tb_code code = judge_text(j, f, at);
    if (!code && !is_address(&j->doc->nodes[at], true))
        code = refuse_container(j, at,
                                "Must be like https://auth.example/token, without '?' and '#'.");
    return code;
}

/* Whether a host is this machine: localhost, ::1, or an address of 127/8. */
static bool is_loopback(const char *host, size_t len)
{
    if (len == 9 && strncasecmp(host, "localhost", 9) == 0) return true;
    if (len == 5 && memcmp(host, "[::1]", 5) == 0) return true;
    for (size_t i = 0; i < len; i++)
        if ((host[i] < '0' || host[i] > '9') && host[i] != '.') return false;
    return len > 4 && memcmp(host, "127.", 4) == 0;
}

/* Whether a password may go there: encrypted, or to this machine. */
static bool is_private(const tb__node *node)
{
    const size_t plain = strlen("http://");
    if (node->len > plain && node->text[4] == 's') return true;
    return is_loopback(node->text + plain, host_length(node->text + plain, node->len - plain));
}

/* --- tables of fields --- */

static tb_code judge_object(judged *j, const field *f, uint32_t at);

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define TEXT(lo_, hi_) .lo = (lo_), .hi = (hi_)
#define ACCOUNT(required_)                                                                         \
    {                                                                                              \
        .name = "account", .required = (required_), .judge = judge_account, .lo = 1,               \
        .hi = 999999999999999999                                                                   \
    }

static const field endpoint_fields[] = {
    {.name = "id", .required = true, .judge = judge_text, TEXT(1, 255)},
    {.name = "address", .required = true, .judge = judge_text, TEXT(1, 255)},
    {.name = "type", .required = true, .judge = judge_choice, .words = "cdn,anycast,publicIp"},
    END,
};

static const field registry_fields[] = {
    {.name = "id", .required = true, .judge = judge_word, TEXT(1, TB_CONTAINER_ID_MAX)},
    ACCOUNT(false),
    {.name = "url", .required = true, .judge = judge_origin, TEXT(1, TB_CONTAINER_ORIGIN_MAX)},
    {.name = "token_realm", .judge = judge_realm, TEXT(1, TB_CONTAINER_REALM_MAX)},
    {.name = "username", .judge = judge_visible, TEXT(1, TB_CONTAINER_USER_MAX)},
    {.name = "secret", .judge = judge_word, TEXT(1, TB_CONTAINER_SECRET_MAX)},
    END,
};

/* progressing is not among the statuses: only a deployment leads there, and out of it. */
static const field app_fields[] = {
    {.name = "id", .required = true, .judge = judge_word, TEXT(1, TB_CONTAINER_ID_MAX)},
    ACCOUNT(true),
    {.name = "name", .required = true, .judge = judge_text, TEXT(1, 255)},
    {.name = "description", .judge = judge_text, TEXT(0, 4096)},
    {.name = "displayEndpoint", .nullable = true, .judge = judge_object, .fields = endpoint_fields},
    {.name = "status", .judge = judge_choice, .words = "unknown,active,inactive,failing,suspended"},
    END,
};

#define LIMIT(name_, null_, hi_)                                                                   \
    {                                                                                              \
        .name = (name_), .nullable = (null_), .judge = judge_count, .hi = (hi_)                    \
    }
static const field limits_fields[] = {
    ACCOUNT(true),
    LIMIT("maxNumberOfApplications", false, INT32_MAX),
    LIMIT("maxNumberOfRegionsPerApplication", true, INT32_MAX),
    LIMIT("maxCpuMilliCoresPerPod", false, INT32_MAX),
    LIMIT("maxMemoryBytesPerPod", false, 999999999999999999),
    LIMIT("maxNumberOfInstancesPerRegion", false, INT32_MAX),
    LIMIT("maxNumberOfInstancesPerApplication", true, INT32_MAX),
    LIMIT("maxNumberOfVolumesPerApplication", false, INT32_MAX),
    LIMIT("maxVolumeSize", true, INT32_MAX),
    END,
};

static const struct {
    const char *name;
    const field *fields;
} kinds[TB_CONTAINER_KINDS] = {
    [TB_CONTAINER_REGISTRY] = {"registries", registry_fields},
    [TB_CONTAINER_APP] = {"container_apps", app_fields},
    [TB_CONTAINER_LIMITS] = {"container_limits", limits_fields},
};

const char *tb_container_list_name(tb_container_kind kind)
{
    return (unsigned)kind < TB_CONTAINER_KINDS ? kinds[kind].name : "";
}

tb_container_kind tb__container_list(const tb__node *key)
{
    int kind = 0;
    while (kind < TB_CONTAINER_KINDS && !tb__node_is(key, kinds[kind].name, strlen(kinds[kind].name)))
        kind++;
    return (tb_container_kind)kind;
}

/* --- walking --- */

/* The value of an object's member; 0: it has none. */
static uint32_t member(const judged *j, uint32_t object, const char *name)
{
    const size_t len = strlen(name);
    for (uint32_t key = object + 1; key != j->doc->nodes[object].next;
         key = j->doc->nodes[key + 1].next)
        if (tb__node_is(&j->doc->nodes[key], name, len)) return key + 1;
    return 0;
}

/* Adds ".name" to the path, with '?' for other characters than plain ones; returns its former end. */
static size_t enter(judged *j, const char *name, size_t len)
{
    const size_t before = strlen(j->path);
    size_t n = before;
    if (n + 1 < sizeof j->path) j->path[n++] = '.';
    for (size_t i = 0; i < len && n + 1 < sizeof j->path; i++, n++)
        j->path[n] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
    j->path[n] = 0;
    return before;
}

static tb_code judge_field(judged *j, const field *f, uint32_t object)
{
    const uint32_t at = member(j, object, f->name);
    tb_code code = TB_OK;
    const size_t before = enter(j, f->name, strlen(f->name));
    if (!at && f->required) code = refuse_container(j, object, "This key is missing.");
    if (at && !(f->nullable && j->doc->nodes[at].type == TB__NULL)) code = f->judge(j, f, at);
    if (!code) j->path[before] = 0;
    return code;
}

static tb_code judge_names(judged *j, const field *fields, uint32_t object)
{
    for (uint32_t key = object + 1; key != j->doc->nodes[object].next;
         key = j->doc->nodes[key + 1].next) {
        const field *f = fields;
        while (f->name && !tb__node_is(&j->doc->nodes[key], f->name, strlen(f->name)))
            f++;
        if (f->name) continue;
        enter(j, j->doc->nodes[key].text, j->doc->nodes[key].len);
        return refuse_container(j, key, "Unknown key.");
    }
    return TB_OK;
}

static tb_code judge_members(judged *j, const field *fields, uint32_t object)
{
    if (j->doc->nodes[object].type != TB__OBJECT) return refuse_type(j, object, "an object");
    tb_code code = judge_names(j, fields, object);
    for (const field *f = fields; !code && f->name; f++)
        code = judge_field(j, f, object);
    return code;
}

static tb_code judge_object(judged *j, const field *f, uint32_t at)
{
    return judge_members(j, f->fields, at);
}

/* What several fields of a registry must agree on. */
static tb_code judge_credentials(judged *j, uint32_t object)
{
    const uint32_t user = member(j, object, "username"), secret = member(j, object, "secret");
    const uint32_t realm = member(j, object, "token_realm");
    if (!user && !secret) return TB_OK;
    if (!user || !secret) {
        enter(j, user ? "secret" : "username", user ? 6 : 8);
        return refuse_container(j, object, "A registry needs both username and secret, or neither.");
    }
    if (!is_private(&j->doc->nodes[member(j, object, "url")]))
        enter(j, "url", 3);
    else if (realm && !is_private(&j->doc->nodes[realm]))
        enter(j, "token_realm", 11);
    else return TB_OK;
    return refuse_container(j, object, "A password needs https, or an address of this machine.");
}

static tb_code read_one(judged *j, tb_container_kind kind, uint32_t object, tb__arena *kept)
{
    tb_code code = judge_members(j, kinds[kind].fields, object);
    if (!code && kind == TB_CONTAINER_REGISTRY) code = judge_credentials(j, object);
    if (code) return code;
    const uint32_t id = kind == TB_CONTAINER_LIMITS ? 0 : member(j, object, "id");
    char *text = tb__arena_take(kept, id ? j->doc->nodes[id].len + 1 : 1);
    j->out->document = tb__document_canonical(j->doc, object, kept, NULL);
    if (!text || !j->out->document) return tb_no_memory(j->err);
    if (id) memcpy(text, j->doc->nodes[id].text, j->doc->nodes[id].len);
    text[id ? j->doc->nodes[id].len : 0] = 0;
    j->out->id = text;
    return TB_OK;
}

tb_code tb__containers_read(const tb__document *doc, tb_container_kind kind, uint32_t list,
                            tb__arena *kept, tb_container *ret, tb_error *err)
{
    uint32_t child = list + 1;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && child != doc->nodes[list].next; i++) {
        judged j = {.doc = doc, .out = &ret[i], .err = err};
        ret[i] = (tb_container){.kind = kind, .index = i};
        snprintf(j.path, sizeof j.path, "%s[%zu]", kinds[kind].name, i);
        code = read_one(&j, kind, child, kept);
        child = doc->nodes[child].next;
    }
    return code;
}
