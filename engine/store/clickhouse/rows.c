/* Columns of rows that hold texts. */
#include "store/clickhouse/lines.h"

#define SEND_AT ((size_t)64 << 20)

void tb__ch_put_u16(tb_buf *rows, uint16_t value)
{
    tb_buf_add(rows, &value, sizeof value);
}

void tb__ch_put_u32(tb_buf *rows, uint32_t value)
{
    tb_buf_add(rows, &value, sizeof value);
}

void tb__ch_put_u64(tb_buf *rows, uint64_t value)
{
    tb_buf_add(rows, &value, sizeof value);
}

void tb__ch_put_text(tb_buf *rows, tb_text text)
{
    size_t left = text.len;
    do {
        const uint8_t byte = (uint8_t)((left & 127) | (left > 127 ? 128 : 0));
        tb_buf_add(rows, &byte, 1);
        left >>= 7;
    } while (left);
    if (text.len) tb_buf_add(rows, text.data, text.len);
}

tb_text tb__ch_text(tb__ch_reader *r)
{
    uint64_t len = 0, byte = 128;
    for (unsigned shift = 0; byte > 127 && shift < 35 && !r->cut; shift += 7) {
        byte = tb__ch_column(r, 1);
        len |= (byte & 127) << shift;
    }
    if (r->cut || byte > 127 || (uint64_t)(r->end - r->at) < len) {
        r->cut = true;
        return (tb_text){"", 0};
    }
    r->at += len;
    return (tb_text){r->at - len, len};
}

void tb__ch_quote(tb_buf *sql, tb_text text)
{
    tb_buf_str(sql, "'");
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if ((c >= '0' && c <= '9') || (unsigned)((c | 32) - 'a') < 26) tb_buf_add(sql, &text.data[i], 1);
        else tb_buf_fmt(sql, "\\x%02X", c);
    }
    tb_buf_str(sql, "'");
}

tb_code tb__ch_relieve(tb_store *store, const tb_buf *rows, tb_error *err)
{
    tb_code code = tb_buf_check(rows, err);
    return code || rows->len < SEND_AT ? code : tb__ch_send(store, err);
}

tb_code tb__ch_day(int64_t ms, uint16_t *ret_day, tb_error *err)
{
    const int64_t day = tb__floor_div(ms, TB_EVENT_MS_PER_DAY);
    if (day < 0 || day > UINT16_MAX)
        return tb_fail(err, TB_E_INTERNAL, NULL, "A request or a shield event lies out of time.");
    *ret_day = (uint16_t)day;
    return TB_OK;
}

unsigned tb__ch_day_near(int64_t day)
{
    return day < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : (unsigned)day;
}
