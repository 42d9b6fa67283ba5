/* Addresses and request ids between text and bytes. An address is taken as bytes only where its text
 * is the one that the bytes print as, so that storing loses nothing. */
#include "logs/format.h"

#include <arpa/inet.h>

static bool prints_back(int family, const uint8_t *bytes, tb_text text)
{
    char back[INET6_ADDRSTRLEN];
    return inet_ntop(family, bytes, back, sizeof back) && strlen(back) == text.len &&
           memcmp(back, text.data, text.len) == 0;
}

/* Four numbers of 0 to 255 without leading zeros: nearly every address, so done here. */
static bool parse_v4(tb_text text, uint8_t out[16])
{
    const char *p = text.data, *end = p + text.len;
    for (int i = 0; i < 4; i++) {
        unsigned value = 0, digits = 0;
        while (p < end && (unsigned char)(*p - '0') < 10 && digits < 4) {
            value = value * 10 + (unsigned)(*p++ - '0');
            digits++;
        }
        if (digits < 1 || digits > 3 || value > 255) return false;
        if (digits > 1 && p[-(int)digits] == '0') return false;
        if (i < 3 ? p == end || *p++ != '.' : p != end) return false;
        out[i] = (uint8_t)value;
    }
    return true;
}

unsigned tb__log_ip_parse(tb_text text, uint8_t out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || text.len < 2) return 0;
    if (parse_v4(text, out)) return 4;
    if (!memchr(text.data, ':', text.len)) return 0;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    if (inet_pton(AF_INET6, copy, out) == 1 && prints_back(AF_INET6, out, text)) return 6;
    return 0;
}

unsigned tb__log_ip_read(tb_text text, uint8_t out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || text.len < 2) return 0;
    if (parse_v4(text, out)) return 4;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    return inet_pton(AF_INET6, copy, out) == 1 ? 6 : 0;
}

static const uint8_t hex[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
    ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
    ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f, ['A'] = 0x1a, ['B'] = 0x1b,
    ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f,
};

static bool parse_hex(const char *text, uint8_t out[16])
{
    unsigned all = 0x10;
    for (int i = 0; i < 16; i++) {
        const unsigned high = hex[(unsigned char)text[2 * i]];
        const unsigned low = hex[(unsigned char)text[2 * i + 1]];
        all &= high & low;
        out[i] = (uint8_t)(high << 4 | (low & 15));
    }
    return all != 0;
}

bool tb_log_id_parse(tb_text text, uint8_t out[16])
{
    static const uint8_t parts[] = {8, 4, 4, 4, 12};
    char plain[32];
    if (text.len == 32) return parse_hex(text.data, out);
    if (text.len != 36) return false;
    size_t from = 0, to = 0;
    for (size_t i = 0; i < sizeof parts; i++) {
        if (i && text.data[from++] != '-') return false;
        memcpy(plain + to, text.data + from, parts[i]);
        from += parts[i];
        to += parts[i];
    }
    return parse_hex(plain, out);
}
