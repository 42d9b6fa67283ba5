/* Records. One is, little-endian:
 *
 *     size 4 | bytes of the row 4 | time_ms 8 | flags 1 | length of each field, LEB128 | texts
 *
 * The texts of the CSV's columns come first, each followed by a comma, the last by CRLF: where none
 * of them needs quotes they are the row, and an export copies them. The others follow bare. */
#include "events/events.h"

#include <endian.h>

#define HEAD       17
#define FLAG_PLAIN 1u
#define FLAG_MADE  2u

const tb_event_field_info tb_event_fields[TB_EVENT_FIELD_COUNT] = {
#define TB_X(e, key_, label_, filter_, searched_)                                                  \
    [TB_EVENT_##e] = {.key = key_, .filter = filter_, .label = label_, .searched = searched_},
    TB_EVENT_FIELDS(TB_X)
#undef TB_X
};

int64_t tb_event_first_day(int64_t now_ms)
{
    int64_t day = now_ms / TB_EVENT_MS_PER_DAY - (now_ms % TB_EVENT_MS_PER_DAY < 0);
    return day - (TB_EVENT_DAYS - 1);
}

/* --- keys --- */

void tb_event_key_set(tb_event_key *key, int64_t time_ms, const char *id, size_t id_len)
{
    if (id_len > TB_EVENT_ID_MAX) id_len = TB_EVENT_ID_MAX;
    for (int i = 0; i < 8; i++)
        key->bytes[i] = (uint8_t)((uint64_t)time_ms >> (56 - 8 * i));
    if (id_len) memcpy(key->bytes + 8, id, id_len);
    key->len = 8 + id_len;
}

int tb_event_key_compare(const tb_event_key *a, const tb_event_key *b)
{
    const size_t n = a->len < b->len ? a->len : b->len;
    const int order = memcmp(a->bytes, b->bytes, n);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

int64_t tb_event_key_time(const tb_event_key *key)
{
    uint64_t time = 0;
    for (int i = 0; i < 8; i++)
        time = time << 8 | key->bytes[i];
    return (int64_t)time;
}

/* --- writing --- */

static uint8_t *put_number(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

static uint8_t *put_length(uint8_t *out, size_t len)
{
    for (; len > 127; len >>= 7)
        *out++ = (uint8_t)(len | 128);
    *out++ = (uint8_t)len;
    return out;
}

void tb_event_pack(const tb_event *event, tb_buf *out)
{
    size_t all = 0, row = 1; /* the last column has two bytes behind it */
    unsigned flags = FLAG_PLAIN;
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++) {
        all += event->field[f].len;
        if (f >= TB_EVENT_COLUMNS) continue;
        row += event->field[f].len + 1;
        if (!tb_csv_cell_plain(event->field[f].data, event->field[f].len)) flags &= ~FLAG_PLAIN;
    }
    if (event->made) flags |= FLAG_MADE;
    uint8_t *start = (uint8_t *)tb_buf_room(out, HEAD + 10 * TB_EVENT_FIELD_COUNT + all + row);
    if (!start) return;
    uint8_t *p = start + HEAD;
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++)
        p = put_length(p, event->field[f].len);
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++) {
        if (event->field[f].len) memcpy(p, event->field[f].data, event->field[f].len);
        p += event->field[f].len;
        if (f < TB_EVENT_COLUMNS - 1) *p++ = ',';
        if (f == TB_EVENT_COLUMNS - 1) *p++ = '\r', *p++ = '\n';
    }
    const size_t size = (size_t)(p - start);
    start = put_number(start, size, 4);
    start = put_number(start, row, 4);
    start = put_number(start, (uint64_t)event->time_ms, 8);
    *start = (uint8_t)flags;
    out->len += size;
}

/* --- reading --- */

static uint64_t get_number(const uint8_t *in, int bytes)
{
    uint64_t value = 0;
    memcpy(&value, in, (size_t)bytes);
    return le64toh(value);
}

/* NULL: the bytes end before the length does, or it is too large. */
static const uint8_t *get_length(const uint8_t *in, const uint8_t *end, size_t *ret)
{
    size_t value = 0;
    for (unsigned shift = 0; in < end && shift < 35; shift += 7) {
        value |= (size_t)(*in & 127) << shift;
        if (!(*in++ & 128)) {
            *ret = value;
            return in;
        }
    }
    return NULL;
}

/* Lengths of a byte each, as nearly all are: added up without a branch for each. The end of them;
 * where they are not such, their beginning, and nothing is added. */
static const uint8_t *add_short_lengths(const uint8_t *p, const uint8_t *end, size_t *all,
                                        size_t *columns)
{
    unsigned sum = 0, more = 0, any = 0;
    if (end - p < TB_EVENT_FIELD_COUNT || p[TB_EVENT_ID] > TB_EVENT_ID_MAX) return p;
    for (int f = 0; f < TB_EVENT_COLUMNS; f++)
        sum += p[f], any |= p[f];
    for (int f = TB_EVENT_COLUMNS; f < TB_EVENT_FIELD_COUNT; f++)
        more += p[f], any |= p[f];
    if (any & 128) return p;
    *columns += sum;
    *all += sum + more;
    return p + TB_EVENT_FIELD_COUNT;
}

/* The lengths against the size: so unpacking need not look again. */
static bool lengths_fit(tb_event_record *r, size_t row)
{
    const uint8_t *end = r->bytes + r->size;
    size_t all = 0, columns = 1 + (size_t)TB_EVENT_COLUMNS;
    const uint8_t *p = add_short_lengths(r->lengths, end, &all, &columns);
    for (int f = p == r->lengths ? 0 : TB_EVENT_FIELD_COUNT; f < TB_EVENT_FIELD_COUNT; f++) {
        size_t len = 0;
        p = get_length(p, end, &len);
        if (!p) return false;
        if (f == TB_EVENT_ID && len > TB_EVENT_ID_MAX) return false;
        all += len;
        if (f < TB_EVENT_COLUMNS) columns += len;
    }
    r->texts = p;
    r->row = (tb_text){(const char *)p, row};
    return columns == row && (size_t)(end - p) == all + 1 + (size_t)TB_EVENT_COLUMNS;
}

bool tb_event_next(const void *block, size_t len, size_t *at, tb_event_record *ret)
{
    const uint8_t *p = (const uint8_t *)block + *at;
    if (len - *at < HEAD) return false;
    const size_t size = (size_t)get_number(p, 4);
    if (size < HEAD || size > len - *at) return false;
    *ret = (tb_event_record){.bytes = p,
                             .size = size,
                             .time_ms = (int64_t)get_number(p + 8, 8),
                             .plain = p[16] & FLAG_PLAIN,
                             .made = p[16] & FLAG_MADE,
                             .lengths = p + HEAD};
    if (!lengths_fit(ret, (size_t)get_number(p + 4, 4))) return false;
    *at += size;
    return true;
}

void tb_event_unpack(const tb_event_record *record, tb_event *ret)
{
    const uint8_t *p = record->lengths, *end = record->texts;
    const char *text = (const char *)record->texts;
    ret->zone = 0;
    ret->time_ms = record->time_ms;
    ret->made = record->made;
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++) {
        size_t len = 0;
        p = get_length(p, end, &len);
        ret->field[f] = (tb_text){text, len};
        text += len + (f < TB_EVENT_COLUMNS) + (f == TB_EVENT_COLUMNS - 1);
        if (!p) p = end;
    }
}

void tb_event_record_key(const tb_event_record *record, tb_event_key *ret)
{
    size_t len = 0;
    if (!get_length(record->lengths, record->texts, &len)) len = 0;
    tb_event_key_set(ret, record->time_ms, (const char *)record->texts, len);
}
