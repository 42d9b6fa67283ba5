/* A pull zone's answer: the fresh zone as one text made at compile time, of which everything is
 * copied but the values that differ. Those are written behind each other into a scratch buffer
 * first, in any order, and remembered by field. */
#include "tollbook/pullzone.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/settings.h"
#include "tollbook/json.h"

#define FIELD(name, type, nullable, fresh, lo, hi, from)                                           \
    char name[sizeof(",\"" #name "\":" fresh) - 1];
typedef struct template {
    TB_PULLZONE_FIELDS(FIELD)
} template;
#undef FIELD

#define FIELD(name, type, nullable, fresh, lo, hi, from) ",\"" #name "\":" fresh,
static const template fresh_zone = {TB_PULLZONE_FIELDS(FIELD)};
#undef FIELD

/* The position of each field's value in the fresh zone's text. */
static const struct {
    uint16_t from, to;
} values[TB_PULLZONE_FIELD_COUNT] = {
#define FIELD(name, type, nullable, fresh, lo, hi, from)                                           \
    {offsetof(template, name) + sizeof(",\"" #name "\":") - 1,                                     \
     offsetof(template, name) + sizeof(",\"" #name "\":" fresh) - 1},
    TB_PULLZONE_FIELDS(FIELD)
#undef FIELD
};

enum {
#define FIELD(name, type, nullable, fresh, lo, hi, from) F_##name,
    TB_PULLZONE_FIELDS(FIELD)
#undef FIELD
};

/* The values that are not a fresh zone's: scratch holds them; len 0: as on a fresh zone. */
typedef struct differing {
    tb_buf scratch;
    struct {
        size_t at, len;
    } value[TB_PULLZONE_FIELD_COUNT];
} differing;

static bool differs(const differing *d, int field)
{
    return d->value[field].len > 0;
}

static bool is_text(const differing *d, int field, const char *text)
{
    size_t len = strlen(text);
    return d->value[field].len == len &&
           memcmp(d->scratch.data + d->value[field].at, text, len) == 0;
}

/* Makes the bytes appended to scratch since `from` a field's value. */
static void take(differing *d, int field, size_t from)
{
    const tb_field_type type = tb_pullzone_fields[field].type;
    if (type == TB_FIELD_DOUBLE || type == TB_FIELD_DECIMAL) tb_json_point(&d->scratch, from);
    d->value[field].at = from;
    d->value[field].len = d->scratch.len - from;
}

#define PUT(d, field, ...)                                                                         \
    do {                                                                                           \
        size_t from_ = (d)->scratch.len;                                                           \
        tb_buf_fmt(&(d)->scratch, __VA_ARGS__);                                                    \
        take(d, field, from_);                                                                     \
    } while (0)

static void put_decimal(differing *d, int field, tb_decimal value)
{
    size_t from = d->scratch.len;
    char *room = tb_buf_room(&d->scratch, TB_DECIMAL_TEXT_MAX);
    if (room) d->scratch.len += (size_t)(tb_decimal_put(room, value) - room);
    take(d, field, from);
}

static void put_sum(differing *d, int field, tb_sum value)
{
    size_t from = d->scratch.len;
    char *room = tb_buf_room(&d->scratch, TB_DECIMAL_TEXT_MAX);
    if (room) d->scratch.len += (size_t)(tb_sum_put(room, value) - room);
    take(d, field, from);
}

void tb_guid(const char *what, int64_t id, char out[TB_GUID_TEXT + 1])
{
    char seed[64];
    int n = snprintf(seed, sizeof seed, "%s %" PRId64, what, id);
    XXH128_hash_t h = XXH3_128bits(seed, (size_t)n);
    snprintf(out, TB_GUID_TEXT + 1, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(h.high64 >> 32),
             (unsigned)(h.high64 >> 16) & 0xffff, (unsigned)h.high64 & 0xffff,
             (unsigned)(h.low64 >> 48), h.low64 & 0xffffffffffff);
}

static void put_guid(differing *d, int field, const char *what, int64_t id)
{
    char guid[TB_GUID_TEXT + 1];
    tb_guid(what, id, guid);
    PUT(d, field, "\"%s\"", guid);
}

/* --- the zone's state --- */

static void put_own(const tb_pullzone *zone, differing *d)
{
    PUT(d, F_Id, "%" PRId64, zone->id);
    size_t from = d->scratch.len;
    tb_json_string(&d->scratch, zone->name, strlen(zone->name));
    take(d, F_Name, from);
    put_decimal(d, F_MonthlyBandwidthUsed, tb_decimal_from_int(zone->bytes));
    put_sum(d, F_MonthlyCharges, zone->charges);
    if (zone->volume) PUT(d, F_Type, "1");
    if (zone->has_optimizer_price) put_decimal(d, F_OptimizerPricing, zone->optimizer_price);
    if (zone->balancer) PUT(d, F_LoadBalancerId, "%" PRId64, zone->balancer);
    put_guid(d, F_ZoneSecurityKey, "pull zone", zone->id);
    put_guid(d, F_UserId, "account", zone->account);
}

/* What no setting says follows from those that are there. */
static void put_following(const tb_pullzone *zone, differing *d)
{
    bool storage = differs(d, F_StorageZoneId) && !is_text(d, F_StorageZoneId, "0") &&
                   d->scratch.data[d->value[F_StorageZoneId].at] != '-';
    if (differs(d, F_OriginUrl) && !differs(d, F_OriginLinkValue))
        d->value[F_OriginLinkValue] = d->value[F_OriginUrl];
    if (!differs(d, F_TlsSecurityLevel) && is_text(d, F_EnableTLS1, "false") &&
        is_text(d, F_EnableTLS1_1, "false"))
        PUT(d, F_TlsSecurityLevel, "1");
    if (!differs(d, F_OriginType) && (zone->balancer || storage))
        PUT(d, F_OriginType, zone->balancer ? "3" : "2");
}

/* --- declared settings --- */

typedef tb_code (*document_fn)(const tb__document *doc, differing *d, void *ctx, tb_error *err);

static tb_code with_document(const char *text, document_fn fn, differing *d, void *ctx,
                             tb_error *err)
{
    tb__arena strings;
    tb__document doc;
    tb__arena_init(&strings, d->scratch.alloc);
    tb_code code = tb__document_parse(text, strlen(text), TB_E_CORRUPT, &strings, d->scratch.alloc,
                                      &doc, err);
    if (!code) {
        code = fn(&doc, d, ctx, err);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

static tb_code put_settings(const tb__document *doc, differing *d, void *ctx, tb_error *err)
{
    (void)ctx;
    if (doc->nodes[0].type != TB__OBJECT) return TB_OK;
    for (uint32_t key = 1; key != doc->nodes[0].next; key = doc->nodes[key + 1].next) {
        const tb_field *field = tb_pullzone_field(doc->nodes[key].text, doc->nodes[key].len);
        size_t from = d->scratch.len;
        if (!field || field->live) continue;
        tb_code code = tb__field_write(field, doc, key + 1, &d->scratch, err);
        if (code == TB_E_CATALOG)
            d->scratch.len = from;
        else if (code)
            return code;
        else
            take(d, (int)(field - tb_pullzone_fields), from);
    }
    return TB_OK;
}

static tb_code put_hostnames(const tb__document *doc, differing *d, void *ctx, tb_error *err)
{
    size_t from = d->scratch.len;
    tb_code code = tb__hostnames_write(ctx, doc, 0, &d->scratch, err);
    if (code == TB_E_CATALOG) {
        d->scratch.len = from;
        code = tb__hostnames_write(ctx, NULL, 0, &d->scratch, err);
    }
    take(d, F_Hostnames, from);
    return code;
}

/* The system's hostname: name.CnameDomain. A declared CnameDomain is in scratch as JSON. */
static tb_code put_all_hostnames(const tb_pullzone *zone, bool certificates, differing *d,
                                 tb_error *err)
{
    char first[512];
    const char *domain = "\"b-cdn.net\"";
    size_t len = strlen(domain);
    if (differs(d, F_CnameDomain) && !is_text(d, F_CnameDomain, "null")) {
        domain = d->scratch.data + d->value[F_CnameDomain].at;
        len = d->value[F_CnameDomain].len;
    }
    if (len > 250) len = 250;
    while (len > 2 && ((unsigned char)domain[len - 1] & 0xc0) == 0x80) /* no half character */
        len--;
    int n = snprintf(first, sizeof first, "%.255s.%.*s", zone->name, (int)len - 2, domain + 1);
    tb__hostnames with = {.first = first,
                          .first_len = (size_t)n,
                          .first_id = (int64_t)((uint64_t)zone->id * 1000 & INT64_MAX) + 1,
                          .certificates = certificates};
    return zone->hostnames ? with_document(zone->hostnames, put_hostnames, d, &with, err)
                           : put_hostnames(NULL, d, &with, err);
}

/* --- the answer --- */

/* first: the fresh zone's text begins with a comma, which is replaced by a brace. */
static void write_answer(const differing *d, tb_buf *out)
{
    const char *fresh = (const char *)&fresh_zone;
    size_t from = 1;
    tb_buf_str(out, "{");
    for (int i = 0; i < TB_PULLZONE_FIELD_COUNT; i++) {
        if (!differs(d, i)) continue;
        tb_buf_add(out, fresh + from, values[i].from - from);
        tb_buf_add(out, d->scratch.data + d->value[i].at, d->value[i].len);
        from = values[i].to;
    }
    tb_buf_add(out, fresh + from, sizeof fresh_zone - from);
    tb_buf_str(out, "}");
}

tb_code tb_pullzone_encode(const tb_pullzone *zone, bool certificates, tb_buf *out, tb_error *err)
{
    differing d = {0};
    tb_buf_init(&d.scratch, 2 * TB__SETTINGS_ROOM, out->alloc);
    put_own(zone, &d);
    tb_code code = with_document(zone->settings, put_settings, &d, NULL, err);
    if (!code) code = put_all_hostnames(zone, certificates, &d, err);
    if (!code) {
        put_following(zone, &d);
        PUT(&d, F_Enabled, zone->enabled ? "true" : "false");
        code = tb_buf_check(&d.scratch, err);
    }
    if (!code) write_answer(&d, out);
    tb_buf_release(&d.scratch);
    return code ? code : tb_buf_check(out, err);
}
