#include "tollbook/cloudevents.h"

#include "base/jsontext.h"
#include "intake/line.h"
#include "model/document.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REFUSED_MAX 160

typedef struct reader {
    const tb__document *doc;
    int64_t now_us;
    tb_cloud_event event;
    const tb__node *time, *subject, *type, *data; /* NULL: absent or null */
    uint32_t data_at;
    bool version; /* it is "1.0" */
    char refused[REFUSED_MAX];
} reader;

static bool refuse_cloud(reader *r, const char *sentence)
{
    snprintf(r->refused, sizeof r->refused, "%s", sentence);
    return false;
}

/* key: of the sender, and cut and cleaned here. */
static bool refuse_key(reader *r, const tb__node *key, const char *sentence)
{
    char shown[41];
    const size_t n = key->len < sizeof shown - 1 ? key->len : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = key->text[i] < 0x20 || key->text[i] > 0x7e ? '?' : key->text[i];
    shown[n] = 0;
    snprintf(r->refused, sizeof r->refused, "\"%s\" %s", shown, sentence);
    return false;
}

static bool says(const tb__node *node, const char *text)
{
    return tb__node_is(node, text, strlen(text));
}

/* A text of 1 to `most` bytes that can be printed. */
static bool copy_printable(const tb__node *node, size_t most, char *to)
{
    if (node->type != TB__STRING || !node->len || node->len > most || !tb__is_printable(node->text, node->len)) return false;
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
    return true;
}

static bool copy_whole(const tb__node *node, int64_t least, int64_t most, int64_t *ret)
{
    tb_decimal value;
    if (!tb__node_decimal(node, 0, &value) || value.scale != 0 || value.mantissa < least || value.mantissa > most) return false;
    *ret = (int64_t)value.mantissa;
    return true;
}

static bool read_dimensions(reader *r, uint32_t object)
{
    const tb__node *nodes = r->doc->nodes;
    tb_meter_line *line = &r->event.line;
    if (nodes[object].type == TB__NULL) return true;
    if (nodes[object].type != TB__OBJECT) return refuse_cloud(r, "\"dimensions\" must be an object of texts.");
    for (uint32_t key = object + 1; key != nodes[object].next; key = nodes[key + 1].next) {
        const int n = line->n_dimensions;
        if (n == TB_METER_DIMENSIONS) return refuse_cloud(r, "\"dimensions\" has more than two members.");
        if (!copy_printable(&nodes[key], TB_METER_VALUE_MAX, line->name[n]))
            return refuse_cloud(r, "\"dimensions\" must have names of 1 to 32 bytes.");
        if (!copy_printable(&nodes[key + 1], TB_METER_VALUE_MAX, line->value_of[n]))
            return refuse_key(r, &nodes[key], "must be a text of 1 to 32 bytes without control characters.");
        line->n_dimensions++;
    }
    return true;
}

static bool read_data(reader *r)
{
    const tb__node *nodes = r->doc->nodes;
    bool value = false;
    if (!r->data || r->data->type != TB__OBJECT)
        return refuse_cloud(r, r->data ? "\"data\" must be an object with \"value\"." : "\"data\" is missing.");
    for (uint32_t key = r->data_at + 1; key != r->data->next; key = nodes[key + 1].next) {
        int64_t number = 0;
        if (says(&nodes[key], "account")) {
            if (!copy_whole(&nodes[key + 1], 1, INT64_MAX, &r->event.line.account))
                return refuse_cloud(r, "\"account\" must be a whole number from 1 to 2^63-1.");
        } else if (says(&nodes[key], "value")) {
            if (!copy_whole(&nodes[key + 1], 0, TB_METER_VALUE_LARGEST, &number))
                return refuse_cloud(r, "\"value\" must be a whole number from 0 to 10^18.");
            r->event.line.value = (uint64_t)number;
            value = true;
        } else if (says(&nodes[key], "dimensions")) {
            if (!read_dimensions(r, key + 1)) return false;
        } else {
            return refuse_key(r, &nodes[key], "is not a key of an event's data.");
        }
    }
    return value || refuse_cloud(r, "\"value\" is missing in \"data\".");
}

static bool read_time(reader *r)
{
    int64_t us = r->now_us;
    tb_reject_reason reason;
    if (r->time && (r->time->type != TB__STRING || tb_rfc3339_parse(r->time->text, r->time->len, &us, NULL)))
        return refuse_cloud(r, "\"time\" must be an RFC 3339 time such as 2026-11-01T13:07:00Z.");
    if (us < 0 || !tb__time_sane(us / 1000, r->now_us / 1000, &reason))
        return refuse_cloud(r, us >= r->now_us ? "\"time\" is more than 48 hours ahead." : "\"time\" is before 2015.");
    r->event.line.time_us = us;
    return true;
}

static bool read_event(reader *r, uint32_t object)
{
    const tb__node *nodes = r->doc->nodes;
    if (nodes[object].type != TB__OBJECT) return refuse_cloud(r, "It is not an object.");
    for (uint32_t key = object + 1; key != nodes[object].next; key = nodes[key + 1].next) {
        const tb__node *value = &nodes[key + 1];
        if (value->type == TB__NULL) continue;
        const tb_text text = value->type == TB__STRING ? (tb_text){value->text, value->len} : (tb_text){0};
        if (says(&nodes[key], "specversion")) r->version = text.len && says(value, "1.0");
        else if (says(&nodes[key], "id")) r->event.id = text;
        else if (says(&nodes[key], "source")) r->event.source = text;
        else if (says(&nodes[key], "type")) r->type = value;
        else if (says(&nodes[key], "subject")) r->subject = value;
        else if (says(&nodes[key], "time")) r->time = value;
        else if (says(&nodes[key], "data")) r->data = value, r->data_at = key + 1;
    }
    if (!r->version) return refuse_cloud(r, "\"specversion\" must be \"1.0\".");
    if (!r->event.id.len) return refuse_cloud(r, "\"id\" must be a text, and not empty.");
    if (!r->event.source.len) return refuse_cloud(r, "\"source\" must be a text, and not empty.");
    if (!r->type || !copy_printable(r->type, TB_METER_ID_MAX, r->event.line.meter))
        return refuse_cloud(r, "\"type\" must be a meter's id: 1 to 64 bytes.");
    if (!r->subject || !copy_printable(r->subject, TB_METER_RESOURCE_MAX, r->event.line.resource))
        return refuse_cloud(r, "\"subject\" must be the resource: 1 to 64 bytes without control characters.");
    return read_time(r) && read_data(r);
}

static bool has_version(const tb__document *doc, uint32_t object)
{
    const tb__node *nodes = doc->nodes;
    if (nodes[object].type != TB__OBJECT) return false;
    for (uint32_t key = object + 1; key != nodes[object].next; key = nodes[key + 1].next)
        if (says(&nodes[key], "specversion")) return true;
    return false;
}

static tb_code not_events(tb_error *err, const char *sentence)
{
    const tb_code code = tb_fail(err, TB_E_BAD_INPUT, NULL, "%s", sentence);
    if (err) err->byte = 1;
    return code;
}

static tb_code read_document(const tb__document *doc, tb_cloud_form form, int64_t now_us, tb_cloud_fn fn, void *ctx, tb_error *err)
{
    const tb__node *root = doc->nodes;
    const bool batch = root->type == TB__ARRAY;
    const uint32_t first = batch ? 1 : 0;
    bool any = batch && root->len == 0;
    size_t index = 0;
    tb_code code = TB_OK;
    if (!batch && root->type != TB__OBJECT) return not_events(err, "The body is neither a CloudEvent nor a list of CloudEvents.");
    if (form == TB_CLOUD_ONE && batch)
        return not_events(err, "The body is a list. Send one event, or application/cloudevents-batch+json.");
    if (form == TB_CLOUD_BATCH && !batch)
        return not_events(err, "The body is not a list. Send a list of events, or application/cloudevents+json.");
    for (uint32_t at = first; !any && at < root->next; at = doc->nodes[at].next)
        any = has_version(doc, at);
    if (!any) return not_events(err, "Nothing in the body is a CloudEvent: \"specversion\" is missing.");
    for (uint32_t at = first; !code && at < root->next; at = doc->nodes[at].next, index++) {
        reader r = {.doc = doc, .now_us = now_us};
        const bool good = read_event(&r, at);
        code = fn(ctx, index, &r.event, good ? NULL : r.refused, err);
    }
    return code;
}

tb_code tb_cloud_events_read(tb_text body, tb_cloud_form form, int64_t now_us, tb_cloud_fn fn, void *ctx, tb_error *err)
{
    tb__arena strings;
    tb__document doc;
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(body.data, body.len, TB_E_BAD_INPUT, &strings, NULL, &doc, err);
    if (!code) {
        code = read_document(&doc, form, now_us, fn, ctx, err);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

/* --- lines --- */

#define LINE_ROOM (TB__QUOTED_MAX(TB_METER_ID_MAX + TB_METER_RESOURCE_MAX + 4 * TB_METER_VALUE_MAX) + 256)

static char *append_word(char *out, const char *text)
{
    const size_t len = strlen(text);
    memcpy(out, text, len);
    return out + len;
}

static char *put_quoted(char *out, const char *before, const char *text)
{
    return tb__quote(append_word(out, before), text, strlen(text));
}

void tb_cloud_event_line(const tb_meter_line *line, tb_meter_kind kind, tb_buf *out)
{
    const bool hourly = kind == TB_METER_COUNTER;
    char *const from = tb_buf_room(out, LINE_ROOM), *at = from;
    if (!from) return;
    at = put_quoted(at, "{\"meter\":", line->meter);
    if (line->account) at += snprintf(at, 40, ",\"account\":%" PRId64, line->account);
    at = put_quoted(at, ",\"resource\":", line->resource);
    at = append_word(at, hourly ? ",\"hour\":\"" : ",\"time\":\"");
    tb_time_format(hourly ? tb_hour_from_us(line->time_us) * TB_US_PER_HOUR : line->time_us, at);
    at = append_word(at + 20, line->n_dimensions ? "\",\"dimensions\":{" : "\"");
    for (int i = 0; i < line->n_dimensions; i++) {
        at = put_quoted(at, i ? "," : "", line->name[i]);
        at = put_quoted(at, ":", line->value_of[i]);
    }
    at += snprintf(at, 40, "%s,\"value\":%" PRIu64 "}\n", line->n_dimensions ? "}" : "", line->value);
    out->len += (size_t)(at - from);
}
