/* Events as clients read them: entries of a page, rows of a CSV. */
#include "events/events.h"

#include "encode/number.h"
#include "tollbook/json.h"

/* --- JSON --- */

/* The order of the contract, which is not the CSV's. */
static const tb_event_field labels[] = {
    TB_EVENT_ASN,    TB_EVENT_COUNTRY,    TB_EVENT_RULE_ID, TB_EVENT_SEVERITY,
    TB_EVENT_METHOD, TB_EVENT_RULE_GROUP, TB_EVENT_STATUS,  TB_EVENT_SERVER_ZONE,
};

static void put_member(tb_buf *out, const char *before, tb_event_field f, const tb_event *e)
{
    tb_buf_str(out, before);
    tb_buf_str(out, tb_event_fields[f].key);
    tb_buf_str(out, "\":");
    tb_json_string(out, e->field[f].data, e->field[f].len);
}

void tb_event_json(const tb_event_record *record, tb_buf *out)
{
    tb_event e;
    char time[TB_U64_TEXT_MAX];
    tb_event_unpack(record, &e);
    put_member(out, "{\"", TB_EVENT_ID, &e);
    tb_buf_str(out, ",\"timestamp\":");
    tb_buf_add(out, time, (size_t)(tb_put_u64(time, (uint64_t)e.time_ms) - time));
    put_member(out, ",\"", TB_EVENT_LOG, &e);
    tb_buf_str(out, ",\"labels\":");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        put_member(out, i ? ",\"" : "{\"", labels[i], &e);
    tb_buf_str(out, "}}");
}

/* --- CSV --- */

void tb_event_csv_head(tb_buf *out)
{
    tb_buf_str(out, "timestamp");
    for (int f = 0; f < TB_EVENT_COLUMNS; f++) {
        tb_buf_str(out, ",");
        tb_buf_str(out, tb_event_fields[f].key);
    }
    tb_buf_str(out, "\r\n");
}

#define TIME_TEXT 25 /* 2026-11-01T13:00:00.123Z and a comma */

#define MINUTE_TEXT 17 /* 2026-11-01T13:00: */

static void put_time(char out[TIME_TEXT], int64_t ms, tb_event_minute *minute)
{
    const int64_t number = ms / 60000;
    const uint32_t rest = (uint32_t)(ms - number * 60000), part = rest % 1000;
    if (number != minute->number || !minute->text[0]) {
        tb_time_format(number * 60000000, minute->text);
        minute->number = number;
    }
    memcpy(out, minute->text, MINUTE_TEXT);
    out[17] = (char)('0' + rest / 10000);
    out[18] = (char)('0' + rest / 1000 % 10);
    out[19] = '.';
    out[20] = (char)('0' + part / 100);
    out[21] = (char)('0' + part / 10 % 10);
    out[22] = (char)('0' + part % 10);
    memcpy(out + 23, "Z,", 2);
}

void tb_event_csv(const tb_event_record *record, tb_event_minute *minute, tb_buf *out)
{
    tb_event e;
    char *to = tb_buf_room(out, TIME_TEXT + record->row.len);
    if (!to) return;
    put_time(to, record->time_ms, minute);
    out->len += TIME_TEXT;
    if (record->plain) {
        memcpy(to + TIME_TEXT, record->row.data, record->row.len);
        out->len += record->row.len;
        return;
    }
    tb_event_unpack(record, &e);
    for (int f = 0; f < TB_EVENT_COLUMNS; f++) {
        if (f) tb_buf_str(out, ",");
        tb_buf_csv_cell(out, e.field[f].data, e.field[f].len);
    }
    tb_buf_str(out, "\r\n");
}
