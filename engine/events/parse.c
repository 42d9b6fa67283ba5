/* Parses one line of an import to an event. The document is parsed strictly (model/document.h), then walked
 * along the table of fields: each is a string, or a number, which is kept as it is written; null counts as
 * absent. A field that is a label may also be among the labels, but with the same value. */
#include "events/events.h"

#include "base/hash.h"
#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"
#include "model/document.h"
#include "tollbook/calendar.h"

#include <stdio.h>
#include <stdlib.h>

struct tb_event_reader {
    tb__arena strings;
    tb_buf packed; /* the input of a made id's hash */
    char id[TB__MADE_ID];
};

typedef struct parser {
    const char *line, *end;
    tb__document doc;
    tb_event event;
    bool zone, time, labels; /* seen */
    int64_t now_ms;
    tb_reject *reject;
    tb_error *err;
} parser;

tb_event_reader *tb_event_reader_new(void)
{
    tb_event_reader *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    tb__arena_init(&r->strings, NULL);
    tb_buf_init(&r->packed, (size_t)4 * TB_LINE_MAX, NULL);
    return r;
}

void tb_event_reader_free(tb_event_reader *reader)
{
    if (!reader) return;
    tb__arena_release(&reader->strings);
    tb_buf_release(&reader->packed);
    free(reader);
}

bool tb_event_line(const char *line, size_t len)
{
    return tb__line_has_key(line, len, "\"shield_zone\"");
}

/* --- refusing --- */

static bool refuse_at(parser *p, size_t at, tb_reject_reason reason, const char *key, size_t len,
                      const char *sentence)
{
    char shown[41];
    size_t n = len < sizeof shown - 1 ? len : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = key[i] < 0x20 || key[i] > 0x7e ? '?' : key[i];
    shown[n] = 0;
    tb__reject(p->reject, p->line, (size_t)(p->end - p->line), p->line + at, reason);
    (void)!tb_fail(p->err, TB_E_BAD_LINE, n ? shown : NULL, "%s%s%s%s", n ? "\"" : "", shown,
                   n ? "\" " : "", sentence);
    if (p->err) p->err->byte = p->reject->byte;
    return false;
}

static bool refuse_event(parser *p, uint32_t node, const char *key, const char *sentence)
{
    return refuse_at(p, p->doc.nodes[node].at, TB_REJECT_EVENT, key, strlen(key), sentence);
}

/* --- values --- */

static bool whole(const tb__node *node, uint64_t max, uint64_t *ret)
{
    const char *stop;
    return node->type == TB__NUMBER && !(node->len > 1 && *node->text == '0') &&
           tb__number(node->text, node->text + node->len, max, ret, &stop);
}

static bool take_zone(parser *p, uint32_t value)
{
    uint64_t id;
    p->zone = true;
    if (!whole(&p->doc.nodes[value], TB_SHIELD_ZONE_MAX, &id) || id < 1)
        return refuse_event(p, value, "shield_zone",
                            "must be a whole number from 1 to 2147483647.");
    p->event.zone = (int64_t)id;
    return true;
}

/* Milliseconds, or the time as exports write it. */
static bool take_time(parser *p, uint32_t value)
{
    const tb__node *node = &p->doc.nodes[value];
    uint64_t ms = 0;
    int64_t us = 0;
    tb_reject_reason reason;
    p->time = true;
    if (whole(node, INT64_MAX / 1000, &ms))
        p->event.time_ms = (int64_t)ms;
    else if (node->type == TB__STRING && tb_rfc3339_parse(node->text, node->len, &us, NULL) == TB_OK)
        p->event.time_ms = us / 1000;
    else
        return refuse_event(p, value, "timestamp",
                            "must be milliseconds since 1970 or an RFC 3339 time.");
    if (us < 0) return refuse_event(p, value, "timestamp", "is before 2015.");
    if (tb__time_sane(p->event.time_ms, p->now_ms, &reason)) return true;
    return refuse_at(p, node->at, reason, "timestamp", 9,
                     reason == TB_REJECT_TOO_OLD ? "is before 2015."
                                                 : "is more than 48 hours ahead.");
}

static bool suits_id(const tb__node *node)
{
    if (node->len < 1 || node->len > TB_EVENT_ID_MAX) return false;
    for (uint32_t i = 0; i < node->len; i++)
        if (node->text[i] < '!' || node->text[i] > '~') return false;
    return true;
}

static bool take_field(parser *p, tb_event_field f, uint32_t value)
{
    const tb__node *node = &p->doc.nodes[value];
    const char *key = tb_event_fields[f].key;
    tb_text *to = &p->event.field[f];
    if (node->type == TB__NULL) return true;
    if (node->type != TB__STRING && node->type != TB__NUMBER)
        return refuse_event(p, value, key, "must be a string or a number.");
    if (f == TB_EVENT_ID && !suits_id(node))
        return refuse_event(p, value, key,
                            "must be 1 to 64 printable ASCII characters without a space.");
    if (to->data && !tb__node_is(node, to->data, to->len))
        return refuse_event(p, value, key, "and the label of that name differ.");
    *to = (tb_text){node->text, node->len};
    return true;
}

/* --- keys --- */

static int find_field(const tb__node *name, bool label)
{
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++)
        if ((!label || tb_event_fields[f].label) &&
            tb__node_is(name, tb_event_fields[f].key, strlen(tb_event_fields[f].key)))
            return f;
    return -1;
}

static bool unknown(parser *p, const tb__node *name, bool label)
{
    return refuse_at(p, name->at, TB_REJECT_EVENT, name->text, name->len,
                     label ? "is not a label of a shield event."
                           : "is not a key of a shield event.");
}

static bool take_labels(parser *p, uint32_t object)
{
    const tb__node *nodes = p->doc.nodes;
    if (nodes[object].type == TB__NULL) return true;
    if (nodes[object].type != TB__OBJECT)
        return refuse_event(p, object, "labels", "must be an object.");
    for (uint32_t key = object + 1; key != nodes[object].next; key = nodes[key + 1].next) {
        const int f = find_field(&nodes[key], true);
        if (f < 0) return unknown(p, &nodes[key], true);
        if (!take_field(p, (tb_event_field)f, key + 1)) return false;
    }
    return true;
}

static bool take_member(parser *p, uint32_t key)
{
    const tb__node *name = &p->doc.nodes[key];
    if (tb__node_is(name, "shield_zone", 11)) return take_zone(p, key + 1);
    if (tb__node_is(name, "timestamp", 9)) return take_time(p, key + 1);
    if (tb__node_is(name, "labels", 6)) return take_labels(p, key + 1);
    const int f = find_field(name, false);
    return f < 0 ? unknown(p, name, false) : take_field(p, (tb_event_field)f, key + 1);
}

static bool take_members(parser *p)
{
    const tb__node *nodes = p->doc.nodes;
    if (nodes[0].type != TB__OBJECT)
        return refuse_at(p, nodes[0].at, TB_REJECT_EVENT, "", 0, "The line is not a JSON object.");
    for (uint32_t key = 1; key != nodes[0].next; key = nodes[key + 1].next)
        if (!take_member(p, key)) return false;
    if (!p->zone) return refuse_event(p, 0, "shield_zone", "is missing.");
    return p->time || refuse_event(p, 0, "timestamp", "is missing.");
}

/* --- ids --- */

static void put_hex(char *out, uint64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--, value >>= 4)
        out[i] = "0123456789abcdef"[value & 15];
}

/* A hash of everything that the event says. */
static bool make_id(tb_event_reader *r, tb_event *e)
{
    memset(r->id, '0', sizeof r->id);
    e->made = true;
    e->field[TB_EVENT_ID] = (tb_text){r->id, sizeof r->id};
    r->packed.len = 0;
    r->packed.failed = false;
    tb_event_pack(e, &r->packed);
    if (r->packed.failed) return false;
    const XXH128_hash_t h =
        XXH3_128bits_withSeed(r->packed.data, r->packed.len, (uint64_t)e->zone);
    put_hex(r->id, h.high64, 16);
    put_hex(r->id + 16, h.low64, TB__MADE_HASH - 16);
    return true;
}

static bool no_memory(tb_error *err)
{
    (void)!tb_no_memory(err);
    return false;
}

static bool parse_document(tb_event_reader *r, parser *p)
{
    tb_error why = {0};
    const size_t len = (size_t)(p->end - p->line);
    tb_code code =
        tb__document_parse(p->line, len, TB_E_BAD_LINE, &r->strings, NULL, &p->doc, &why);
    if (code == TB_E_NOMEM) return no_memory(p->err);
    if (code) {
        const size_t at = why.byte && why.byte <= len + 1 ? (size_t)why.byte - 1 : 0;
        const bool nul = at < len && p->line[at] == 0;
        return refuse_at(p, at, nul ? TB_REJECT_NUL : TB_REJECT_EVENT, "", 0, why.message);
    }
    return true;
}

bool tb_event_parse(tb_event_reader *reader, const char *line, size_t len, int64_t now_ms,
                    tb_event *ret_event, tb_reject *ret_reject, tb_error *err)
{
    parser p = {.line = line,
                .end = line + tb__line_len(line, line + len),
                .now_ms = now_ms,
                .reject = ret_reject,
                .err = err};
    if (p.end - p.line > TB_LINE_MAX)
        return refuse_at(&p, TB_LINE_MAX, TB_REJECT_TOO_LONG, "", 0,
                         "The line is longer than 1 MiB.");
    tb__arena_reset(&reader->strings);
    if (!parse_document(reader, &p)) return false;
    const bool good = take_members(&p);
    tb__document_release(&p.doc);
    if (!good) return false;
    if (!p.event.field[TB_EVENT_ID].data && !make_id(reader, &p.event)) return no_memory(err);
    *ret_event = p.event;
    return true;
}
