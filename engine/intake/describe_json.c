/* Maps of JSON objects, ours=theirs, and W3C heads: names to columns. */
#include "intake/columns.h"

#include <string.h>

typedef struct named {
    const char *name;
    tb__known known;
} named;

/* --- maps --- */

static const struct {
    const char *name;
    tb__role role;
} ours[] = {
    {"time", TB__ROLE_TIME},       {"status", TB__ROLE_STATUS},   {"bytes", TB__ROLE_BYTES},
    {"zone", TB__ROLE_ZONE},       {"host", TB__ROLE_HOST},       {"cache", TB__ROLE_CACHE},
    {"region", TB__ROLE_REGION},   {"country", TB__ROLE_COUNTRY}, {"ip", TB__ROLE_IP},
    {"referer", TB__ROLE_REFERER}, {"url", TB__ROLE_URL},         {"query", TB__ROLE_QUERY},
    {"scheme", TB__ROLE_SCHEME},   {"agent", TB__ROLE_AGENT},     {"id", TB__ROLE_ID},
    {"request", TB__ROLE_REQUEST}, {"body", TB__ROLE_BODY},       {"range", TB__ROLE_RANGE},
    {"authorization", TB__ROLE_AUTHORIZATION}, {"ja4", TB__ROLE_JA4}, {"asn", TB__ROLE_ASN},
    {"organization", TB__ROLE_ORGANIZATION},
};

/* What these servers write by default, or as their documents recommend. */
static const struct {
    const char *name, *map;
} presets[] = {
    {"caddy", "host=request.host,time=ts,status=status,bytes=size,ip=request.client_ip,"
              "url=request.uri,referer=request.headers.Referer,agent=request.headers.User-Agent,"
              "range=request.headers.Range"},
    {"cloudflare",
     "host=ClientRequestHost,time=EdgeStartTimestamp,status=EdgeResponseStatus,bytes=EdgeResponseBytes,"
     "cache=CacheCacheStatus,region=EdgeColoCode,country=ClientCountry,ip=ClientIP,"
     "referer=ClientRequestReferer,scheme=ClientRequestScheme,url=ClientRequestURI,"
     "agent=ClientRequestUserAgent,id=RayID,asn=ClientASN,ja4=JA4"},
    {"fastly", "host=host,time=timestamp,status=response_status,bytes=response_body_size,"
               "cache=response_state,ip=client_ip,url=url,referer=request_referer,"
               "agent=request_user_agent"},
};

typedef struct mapping {
    tb_log_columns *to;
    const char *text; /* the whole map */
    uint32_t named;   /* roles of this map's own pairs */
    bool preset;      /* the pairs are a preset's */
    tb_error *err;
} mapping;

static tb_code too_many(const mapping *m)
{
    return tb_fail(m->err, TB_E_VALIDATION, "map", "The map names too much: at most %d keys, %d deep.",
                   TB__KEYS_MAX - 1, TB__DEPTH_MAX);
}

/* The key of this name inside `parent`, which it becomes where there is none. 0: no room. */
static uint8_t key_inside(tb_log_columns *to, uint8_t parent, const char *name, size_t len)
{
    uint8_t *link = &to->key[parent].child;
    for (; *link; link = &to->key[*link].next)
        if (to->key[*link].name_len == len &&
            memcmp(to->literals + to->key[*link].name, name, len) == 0)
            return *link;
    if (to->n_keys == TB__KEYS_MAX || len > TB_LOG_TEXT_MAX + 32u - to->literals_len) return 0;
    const uint8_t k = to->n_keys++;
    to->key[k] = (tb__key){.name = to->literals_len, .name_len = (uint16_t)len,
                           .role = TB__ROLE_NONE};
    memcpy(&to->key[k].word, name, len < 8 ? len : 8);
    memcpy(to->literals + to->literals_len, name, len);
    to->literals_len = (uint16_t)(to->literals_len + len);
    *link = k;
    return k;
}

/* A field that is named for a second thing: of a preset's, that thing goes. */
static tb_code take_over(mapping *m, uint8_t key, const char *path, size_t len)
{
    const uint32_t bit = UINT32_C(1) << m->to->key[key].role;
    if (m->named & bit)
        return tb_fail(m->err, TB_E_VALIDATION, "map",
                       "\"%.*s\" at byte %zu of the map is named before: a field can say one thing.",
                       (int)(len < 60 ? len : 60), path, (size_t)(path - m->text) + 1);
    m->to->roles &= ~bit;
    return TB_OK;
}

/* theirs: a path of keys. The preset's own pair for the same thing goes. */
static tb_code add_path(mapping *m, tb__role role, const char *path, size_t len)
{
    tb_log_columns *to = m->to;
    uint8_t at = 0;
    size_t depth = 0;
    for (const char *p = path, *end = path + len; p <= end; depth++) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        const size_t n = (size_t)((dot ? dot : end) - p);
        if (n == 0)
            return tb_fail(m->err, TB_E_VALIDATION, "map",
                           "\"%.*s\" at byte %zu of the map has an empty key.",
                           (int)(len < 60 ? len : 60), path, (size_t)(path - m->text) + 1);
        at = key_inside(to, at, p, n);
        if (!at || depth == TB__DEPTH_MAX) return too_many(m);
        p += n + 1;
    }
    if (to->key[at].role != role && to->key[at].role != TB__ROLE_NONE) {
        if (m->preset) return TB_OK; /* the map's own pair stays */
        tb_code code = take_over(m, at, path, len);
        if (code) return code;
    }
    for (size_t k = 0; k < to->n_keys; k++)
        if (to->key[k].role == role) to->key[k].role = TB__ROLE_NONE;
    to->key[at].role = (uint8_t)role;
    to->roles |= UINT32_C(1) << role;
    return TB_OK;
}

static tb_code add_pairs(mapping *m, const char *text, size_t len, bool preset);

/* The words that a map may begin with, and ours. */
static tb_code refuse_word(const mapping *m, const char *word, size_t len)
{
    return tb_fail(m->err, TB_E_VALIDATION, "map",
                   "\"%.*s\" at byte %zu of the map is not understood: a preset (caddy, cloudflare, fastly) "
                   "or pairs ours=theirs, ours being time, status, bytes, zone, host, cache, region, "
                   "country, ip, referer, url, query, scheme, agent, id, request, body, range, "
                   "authorization, ja4, asn or organization.",
                   (int)(len < 60 ? len : 60), word, (size_t)(word - m->text) + 1);
}

static tb_code add_preset(mapping *m, const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strlen(presets[i].name) == len && memcmp(presets[i].name, word, len) == 0)
            return add_pairs(m, presets[i].map, strlen(presets[i].map), true);
    return refuse_word(m, word, len);
}

/* "cache=theirs:true": which value of theirs is a cached answer's; *len becomes that of theirs. */
static tb_code take_hit(mapping *m, const char *path, size_t *len)
{
    tb_log_columns *to = m->to;
    const char *colon = memrchr(path, ':', *len);
    to->hit_len = 0;
    if (!colon) return TB_OK;
    const size_t n = (size_t)(path + *len - colon) - 1;
    if (n == 0)
        return tb_fail(m->err, TB_E_VALIDATION, "map",
                       "\"%.*s\" at byte %zu of the map has no value behind its colon: cache=THEIRS:VALUE, the value "
                       "that a cached answer has.",
                       (int)(*len < 60 ? *len : 60), path, (size_t)(path - m->text) + 1);
    if (n > TB_LOG_TEXT_MAX + 32u - to->literals_len) return too_many(m);
    memcpy(to->literals + to->literals_len, colon + 1, n);
    to->hit = to->literals_len;
    to->hit_len = (uint16_t)n;
    to->literals_len = (uint16_t)(to->literals_len + n);
    *len = (size_t)(colon - path);
    return TB_OK;
}

static tb_code add_pair(mapping *m, const char *pair, size_t len, bool preset)
{
    const char *equals = memchr(pair, '=', len);
    if (!equals) return add_preset(m, pair, len);
    const size_t name_len = (size_t)(equals - pair);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strlen(ours[i].name) != name_len || memcmp(ours[i].name, pair, name_len) != 0) continue;
        const uint32_t bit = UINT32_C(1) << ours[i].role;
        if (!preset && m->named & bit)
            return tb_fail(m->err, TB_E_VALIDATION, "map", "The map names %s twice.", ours[i].name);
        if (!preset) m->named |= bit;
        m->preset = preset;
        size_t path_len = len - name_len - 1;
        tb_code code = ours[i].role == TB__ROLE_CACHE ? take_hit(m, equals + 1, &path_len) : TB_OK;
        return code ? code : add_path(m, ours[i].role, equals + 1, path_len);
    }
    return refuse_word(m, pair, name_len);
}

static tb_code add_pairs(mapping *m, const char *text, size_t len, bool preset)
{
    tb_code code = TB_OK;
    for (const char *p = text, *end = text + len; p < end && !code;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const size_t n = (size_t)((comma ? comma : end) - p);
        if (n) code = add_pair(m, p, n, preset);
        p += n + 1;
    }
    return code;
}

static tb_code check_map(const mapping *m)
{
    static const struct {
        tb__role role;
        const char *name;
    } needed[] = {{TB__ROLE_TIME, "time"}, {TB__ROLE_STATUS, "status"}, {TB__ROLE_BYTES, "bytes"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tb__has_role(m->to, needed[i].role))
            return tb_fail(m->err, TB_E_VALIDATION, "map",
                           "The map does not say which field is the %s: %s=THEIRS.", needed[i].name,
                           needed[i].name);
    return TB_OK;
}

tb_code tb__compile_json(tb_log_columns *to, tb_text map, tb_error *err)
{
    mapping m = {.to = to, .text = map.data, .err = err};
    to->family = TB__FAMILY_JSON;
    to->key[0] = (tb__key){.role = TB__ROLE_NONE};
    to->n_keys = 1;
    if (map.len == 0)
        return tb_fail(err, TB_E_VALIDATION, "map",
                       "JSON lines need a map: caddy, cloudflare, fastly, or pairs such as "
                       "host=req.host,time=ts,status=code,bytes=size,cache=cs.");
    tb_code code = add_pairs(&m, map.data, map.len, false);
    return code ? code : check_map(&m);
}

/* --- W3C --- */

#define F(name, role, kind, width, rank)                                                           \
    {                                                                                              \
        name, { TB__ROLE_##role, TB__KIND_##kind, width, rank }                                    \
    }
static const named fields[] = {
    F("date", TIME, TEXT, 0, 1),
    F("time", CLOCK, TEXT, 0, 1),
    F("timestamp", TIME, TEXT, 0, 2),
    F("timestamp(ms)", TIME, TEXT, 0, 3),
    F("x-edge-location", REGION, TEXT, 0, 1),
    F("sc-bytes", BYTES, TEXT, 0, 2),
    F("c-ip", IP, TEXT, 0, 1),
    F("cs(Host)", HOST, TEXT, 0, 1),
    F("x-host-header", HOST, TEXT, 0, 2),
    F("cs-uri-stem", URL, TEXT, 0, 1),
    F("cs-uri-query", QUERY, TEXT, 0, 1),
    F("sc-status", STATUS, TEXT, 0, 1),
    F("cs(Referer)", REFERER, TEXT, 0, 1),
    F("cs(User-Agent)", AGENT, TEXT, 0, 1),
    F("x-edge-result-type", CACHE, TEXT, 0, 1),
    F("x-edge-request-id", ID, TEXT, 0, 1),
    F("cs-protocol", SCHEME, TEXT, 0, 1),
    F("c-country", COUNTRY, TEXT, 0, 1),
    F("sc-content-len", BODY, TEXT, 0, 3),
    F("asn", ASN, TEXT, 0, 1),
};
#undef F

/* The fields of standard logs, which a log without a head has. */
static const char standard[] =
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
    "cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header "
    "cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher "
    "x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port "
    "time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start "
    "sc-range-end";

static tb__known known_field(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
            return fields[i].known;
    return (tb__known){.role = TB__ROLE_NONE, .kind = TB__KIND_TEXT};
}

/* A day without the time of day is no time. */
static tb_code check_time(const tb_log_columns *to, bool day, tb_error *err)
{
    if (!day || tb__has_role(to, TB__ROLE_CLOCK)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "format",
                   "The fields have date without time: a request's hour cannot be told.");
}

tb_code tb__compile_w3c(tb_log_columns *to, tb_text names, tb_error *err)
{
    if (names.len == 0) names = (tb_text){standard, sizeof standard - 1};
    tb__template t = {.to = to, .text = names.data, .len = names.len, .controls = true, .err = err};
    tb_code code = TB_OK;
    bool day = false, moment = false;
    to->family = TB__FAMILY_W3C;
    for (const char *p = names.data, *end = p + names.len; p < end && !code;) {
        const char *at = p;
        while (p < end && *p != ' ' && *p != '\t')
            p++;
        const size_t len = (size_t)(p - at);
        tb__known known = known_field(at, len);
        day |= len == 4 && memcmp(at, "date", 4) == 0;
        moment |= len >= 9 && memcmp(at, "timestamp", 9) == 0;
        if (len && t.n) code = tb__template_literal(&t, "\t", 1);
        if (len && !code) code = tb__template_column(&t, at, len, known);
        p++;
    }
    if (!code) code = tb__template_end(&t);
    if (!code && !moment) code = check_time(to, day, err);
    if (code) return code;
    if (moment) { /* it has both date and time: the other two are skipped */
        for (size_t i = 0; i < to->n; i++)
            if (to->column[i].role == TB__ROLE_CLOCK) to->column[i].role = TB__ROLE_NONE;
        to->roles &= ~(UINT32_C(1) << TB__ROLE_CLOCK);
    }
    to->fields_len = (uint16_t)names.len;
    memmove(to->fields, names.data, names.len);
    return TB_OK;
}
