/* Usage lines of meters: a flat JSON object, but for the object of dimensions, which is read the same way. */
#include "intake/flat.h"
#include "tollbook/calendar.h"
#include "tollbook/meter.h"

enum { KEY_METER, KEY_ACCOUNT, KEY_RESOURCE, KEY_HOUR, KEY_TIME, KEY_DIMENSIONS, KEY_VALUE, KEY_COUNT };

static const tb__key_name keys[KEY_COUNT] = {
    [KEY_METER] = {"meter", 5},  [KEY_ACCOUNT] = {"account", 7}, [KEY_RESOURCE] = {"resource", 8},
    [KEY_HOUR] = {"hour", 4},    [KEY_TIME] = {"time", 4},       [KEY_DIMENSIONS] = {"dimensions", 10},
    [KEY_VALUE] = {"value", 5},
};

typedef struct reader {
    tb__flat flat; /* first */
    tb_meter_line line;
} reader;

bool tb__line_has_key(const char *line, size_t len, const char *quoted)
{
    const char *const end = line + len;
    const size_t n = strlen(quoted);
    for (const char *at = line; (at = memmem(at, (size_t)(end - at), quoted, n)) != NULL;) {
        at += n;
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at < end && *at == ':') return true;
    }
    return false;
}

bool tb_meter_line_is(const char *line, size_t len)
{
    return tb__line_has_key(line, len, "\"meter\"");
}

/* {"region":"DE"} */
static bool take_dimensions(reader *r)
{
    tb__flat *f = &r->flat;
    tb_meter_line *line = &r->line;
    const char *from = f->at;
    if (!tb__flat_char(f, '{'))
        return tb__flat_refuse(f, from, TB_REJECT_METER, "dimensions", "must be an object of texts.");
    if (tb__flat_char(f, '}')) return true;
    do {
        const int n = line->n_dimensions;
        tb__flat_space(f);
        from = f->at;
        if (n == TB_METER_DIMENSIONS)
            return tb__flat_refuse(f, from, TB_REJECT_METER, "dimensions", "has more than two members.");
        if (!tb__flat_name(f, "dimensions", TB_METER_VALUE_MAX, "must have names of 1 to 32 bytes.", line->name[n])) return false;
        for (int i = 0; i < n; i++)
            if (strcmp(line->name[i], line->name[n]) == 0)
                return tb__flat_refuse(f, from, TB_REJECT_METER, line->name[n], "stands twice.");
        if (!tb__flat_char(f, ':')) return tb__flat_not_json(f, "A colon is expected after the key.");
        if (!tb__flat_name(f, line->name[n], TB_METER_VALUE_MAX, "must be a text of 1 to 32 bytes without control characters.",
                           line->value_of[n]))
            return false;
        line->n_dimensions++;
    } while (tb__flat_char(f, ','));
    return tb__flat_char(f, '}') || tb__flat_not_json(f, "A comma or '}' is expected.");
}

static bool take_value(tb__flat *f, unsigned key)
{
    reader *r = (reader *)(void *)f;
    tb_meter_line *line = &r->line;
    uint64_t id;
    tb__flat_space(f);
    const uint32_t at = (uint32_t)(f->at - f->line) + 1;
    switch (key) {
    case KEY_METER:
        line->at.meter = at;
        return tb__flat_name(f, "meter", TB_METER_ID_MAX, "must be a text of 1 to 64 bytes.", line->meter);
    case KEY_ACCOUNT:
        line->at.account = at;
        if (!tb__flat_whole(f, key, 1, INT64_MAX, TB_REJECT_METER, "must be a whole number from 1 to 2^63-1.", &id)) return false;
        line->account = (int64_t)id;
        return true;
    case KEY_RESOURCE:
        line->at.resource = at;
        return tb__flat_name(f, "resource", TB_METER_RESOURCE_MAX,
                             "must be a text of 1 to 64 bytes without control characters.", line->resource);
    case KEY_HOUR:
    case KEY_TIME:
        line->at.time = at;
        line->hourly = key == KEY_HOUR;
        return tb__flat_time(f, key, line->hourly, &line->time_us);
    case KEY_DIMENSIONS:
        line->at.dimensions = at;
        return take_dimensions(r);
    default:
        return tb__flat_whole(f, key, 0, TB_METER_VALUE_LARGEST, TB_REJECT_COUNTER, "must be a whole number from 0 to 10^18.",
                              &line->value);
    }
}

static bool check_keys(reader *r)
{
    tb__flat *f = &r->flat;
    static const unsigned needed[] = {KEY_METER, KEY_RESOURCE, KEY_VALUE};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!(f->seen & TB__KEY_BIT(needed[i]))) return tb__flat_lacks(f, needed[i], "is missing.");
    const bool hour = f->seen & TB__KEY_BIT(KEY_HOUR), time = f->seen & TB__KEY_BIT(KEY_TIME);
    if (hour && time) return tb__flat_lacks(f, KEY_HOUR, "and \"time\" exclude each other.");
    return hour || time || tb__flat_lacks(f, KEY_TIME, "or \"hour\" is missing.");
}

bool tb_meter_line_parse(const char *line, size_t len, int64_t now_ms, tb_meter_line *ret_line, tb_reject *ret_reject,
                         tb_error *err)
{
    reader r;
    memset(&r, 0, sizeof r);
    r.flat = (tb__flat){.keys = keys,
                        .n_keys = KEY_COUNT,
                        .unknown = "is not a key of a meter's line.",
                        .now_ms = now_ms,
                        .reject = ret_reject,
                        .err = err};
    if (!tb__flat_begin(&r.flat, line, len) || !tb__flat_members(&r.flat, take_value) || !check_keys(&r)) return false;
    *ret_line = r.line;
    return true;
}

/* --- against its meter --- */

static tb_code refuse(tb_error *err, const char *field, uint32_t byte, const char *sentence, const char *what)
{
    const tb_code code = tb_fail(err, TB_E_BAD_LINE, field, "\"%s\" %s%s%s", field, sentence, what, *what ? "\"." : "");
    if (err) err->byte = byte ? byte : 1;
    return code;
}

tb_code tb_meter_line_check(const tb_meter *meter, const tb_meter_line *line, tb_meter_key *ret_key, int64_t *ret_at_us,
                            tb_error *err)
{
    const int64_t step_us = meter->kind == TB_METER_SAMPLE ? meter->interval * INT64_C(1000000) : INT64_C(1000000);
    tb_meter_key key;
    memset(&key, 0, sizeof key);
    if (line->hourly != (meter->kind == TB_METER_COUNTER))
        return line->hourly ? refuse(err, "hour", line->at.time, "does not belong in a line of a gauge or a sample, which have \"time\".", "")
                            : refuse(err, "time", line->at.time, "does not belong in a line of a counter, which has \"hour\".", "");
    for (int i = 0; i < line->n_dimensions; i++) {
        int at = 0;
        while (at < meter->n_dimensions && strcmp(meter->dimension[at], line->name[i]) != 0)
            at++;
        if (at == meter->n_dimensions)
            return refuse(err, "dimensions", line->at.dimensions, "names a dimension that the meter does not have: \"", line->name[i]);
        memcpy(key.dimension[at], line->value_of[i], strlen(line->value_of[i]));
    }
    for (int i = 0; i < meter->n_dimensions; i++)
        if (!key.dimension[i][0])
            return refuse(err, "dimensions", line->at.dimensions, "lacks the meter's dimension \"", meter->dimension[i]);
    key.meter = meter->number;
    key.account = line->account;
    memcpy(key.noun, meter->noun, strlen(meter->noun));
    memcpy(key.resource, line->resource, strlen(line->resource));
    *ret_key = key;
    *ret_at_us = line->hourly ? line->time_us : line->time_us - line->time_us % step_us;
    return TB_OK;
}
