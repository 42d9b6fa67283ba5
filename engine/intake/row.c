/* One line of BUCKETS.ndjson: a flat JSON object of known keys (docs/import-format.md). */
#include "intake/flat.h"
#include "tollbook/calendar.h"

enum { KEY_ZONE = TB_METRIC_COUNT, KEY_BALANCER, KEY_HOUR, KEY_REGION, KEY_COUNT };

static const tb__key_name keys[KEY_COUNT] = {
#define TB_X(e, name, unit, how, source, meaning) [TB_M_##e] = {name, sizeof name - 1},
    TB_METRICS(TB_X)
#undef TB_X
        [KEY_ZONE] = {"zone", 4},
    [KEY_BALANCER] = {"load_balancer", 13},
    [KEY_HOUR] = {"hour", 4},
    [KEY_REGION] = {"region", 6},
};

typedef struct reader {
    tb__flat flat; /* first */
    tb_row row;
} reader;

static bool take_id(reader *r, unsigned key, uint64_t *ret)
{
    return tb__flat_whole(&r->flat, key, 1, INT64_MAX, key == KEY_ZONE ? TB_REJECT_ZONE : TB_REJECT_JSON,
                          "must be a whole number from 1 to 2^63-1.", ret);
}

static bool take_counter(reader *r, unsigned key, uint64_t *ret)
{
    return tb__flat_whole(&r->flat, key, 0, TB_ROW_COUNTER_MAX, TB_REJECT_COUNTER,
                          "must be a whole number from 0 to 10^18.", ret);
}

static bool take_hour(reader *r)
{
    int64_t us = 0;
    if (!tb__flat_time(&r->flat, KEY_HOUR, true, &us)) return false;
    r->row.hour = (int32_t)tb_hour_from_us(us);
    return true;
}

static bool take_region(reader *r)
{
    tb__flat_text value;
    tb__flat_space(&r->flat);
    const char *from = r->flat.at;
    const bool quoted = tb__flat_char(&r->flat, '"');
    if (quoted && !tb__flat_string(&r->flat, &value)) return false;
    if (!quoted || value.len == 0 || value.len > TB_EDGE_MAX ||
        tb__char_span(value.bytes, value.bytes + value.len, TB__CHAR_EDGE) != value.len)
        return tb__flat_refuse(
            &r->flat, from, TB_REJECT_EDGE, "region",
            "must be an edge location code: 1 to 16 letters, digits, '_', '.' or '-'.");
    memcpy(r->row.edge, value.bytes, value.len);
    r->row.edge_len = (uint8_t)value.len;
    return true;
}

static bool take_value(tb__flat *f, unsigned key)
{
    reader *r = (reader *)(void *)f;
    uint64_t id;
    switch (key) {
    case KEY_HOUR: return take_hour(r);
    case KEY_REGION: return take_region(r);
    case KEY_ZONE:
    case KEY_BALANCER:
        if (!take_id(r, key, &id)) return false;
        r->row.id = (int64_t)id;
        r->row.balancer = key == KEY_BALANCER;
        return true;
    case TB_M_BALANCER_REQUESTS:
        return tb__flat_refuse(f, f->key_at, TB_REJECT_JSON, keys[key].name,
                               "comes from request logs or load_balancer rows; a zone's row cannot set it.");
    default:
        r->row.metrics |= TB_METRIC_BIT(key);
        return take_counter(r, key, &r->row.value[key]);
    }
}

static bool missing(reader *r, unsigned key, const char *sentence)
{
    return tb__flat_lacks(&r->flat, key, sentence);
}

/* Which keys a row of each kind needs and may have. */
static bool check_keys(reader *r)
{
    const bool zone = r->flat.seen & TB__KEY_BIT(KEY_ZONE), balancer = r->flat.seen & TB__KEY_BIT(KEY_BALANCER);
    if (zone && balancer) return missing(r, KEY_ZONE, "and \"load_balancer\" exclude each other.");
    if (!zone && !balancer) return missing(r, KEY_ZONE, "or \"load_balancer\" is missing.");
    if (!(r->flat.seen & TB__KEY_BIT(KEY_HOUR))) return missing(r, KEY_HOUR, "is missing.");
    const bool region = r->flat.seen & TB__KEY_BIT(KEY_REGION);
    if (zone) {
        if (!region) return missing(r, KEY_REGION, "is missing.");
        return r->row.metrics || missing(r, TB_M_REQUESTS, "or another counter is missing.");
    }
    if (region) return missing(r, KEY_REGION, "does not belong in a load balancer's row.");
    const uint32_t others = r->row.metrics & ~TB_METRIC_BIT(TB_M_REQUESTS);
    if (others)
        return missing(r, (unsigned)__builtin_ctz(others),
                       "does not belong in a load balancer's row, which counts only requests.");
    return r->row.metrics || missing(r, TB_M_REQUESTS, "is missing.");
}

bool tb_row_parse(const char *line, size_t len, int64_t now_ms, tb_row *ret_row,
                  tb_reject *ret_reject, tb_error *err)
{
    reader r = {.flat = {.keys = keys,
                         .n_keys = KEY_COUNT,
                         .unknown = "is not a key of a bucket row.",
                         .now_ms = now_ms,
                         .reject = ret_reject,
                         .err = err}};
    if (!tb__flat_begin(&r.flat, line, len)) return false;
    if (!tb__flat_members(&r.flat, take_value) || !check_keys(&r)) return false;
    *ret_row = r.row;
    return true;
}
