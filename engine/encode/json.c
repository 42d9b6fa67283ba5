/* The public writers of JSON numbers and strings; number.h and jsontext.h hold the methods. */
#include "tollbook/json.h"

#include "base/jsontext.h"
#include "encode/number.h"

char *tb_put_u64(char *out, uint64_t value)
{
    return tb__put_u64(out, value);
}

/* 2^128 has 39 digits: at most two blocks of 16 and a short head. */
char *tb_put_u128(char *out, tb_u128 value)
{
    if (value <= UINT64_MAX) return tb__put_u64(out, (uint64_t)value);
    uint64_t low = (uint64_t)(value % TB__1E16);
    value /= TB__1E16;
    if (value <= UINT64_MAX) return tb__put_16(tb__put_u64(out, (uint64_t)value), low);
    out = tb__put_short(out, (uint32_t)(value / TB__1E16));
    return tb__put_16(tb__put_16(out, (uint64_t)(value % TB__1E16)), low);
}

char *tb_put_point(const char *start, char *end)
{
    if (memchr(start, '.', (size_t)(end - start))) return end;
    memcpy(end, ".0", 2);
    return end + 2;
}

void tb_json_point(tb_buf *out, size_t from)
{
    char *end = tb_buf_room(out, 2);
    if (end) out->len = (size_t)(tb_put_point(out->data + from, end) - out->data);
}

void tb_json_string(tb_buf *out, const char *text, size_t len)
{
    /* A length with a worst case above size_t cannot fit the buffer either. */
    size_t room = len > (SIZE_MAX - 2) / 6 ? SIZE_MAX : TB__QUOTED_MAX(len);
    char *at = tb_buf_room(out, room);
    if (at) out->len += (size_t)(tb__quote(at, text, len) - at);
}

/* Every value but the first of a list or an object has a comma before it, and a member's name a colon behind it. */
bool tb_json_fits(const char *text, size_t len)
{
    size_t values = 1;
    for (size_t at = 0; at < len && values <= TB_JSON_VALUES_MAX; at++) {
        const char c = text[at];
        values += c == '{' || c == '[' ? 4 : c == ',' || c == ':';
        if (c != '"') continue;
        for (at++; at < len && text[at] != '"'; at++) /* to the closing quote */
            if (text[at] == '\\') at++;
    }
    return values <= TB_JSON_VALUES_MAX;
}
