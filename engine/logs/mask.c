/* Hides addresses in text that is no log line: everything that looks like one counts as one.
 *
 * A run of hexadecimal digits, colons and dots is checked as a whole. With "::" in it, or four colons, it is
 * an IPv6 address; one that cannot be parsed is hidden completely. Else three or more numbers with dots
 * between them are an IPv4 address, possibly cut off. Times (three colons) stay. The output is never longer
 * than the input. */
#include "logs/format.h"

#include <arpa/inet.h>

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool in_address(char c)
{
    const char low = (char)(c | 0x20);
    return is_digit(c) || c == ':' || c == '.' || (low >= 'a' && low <= 'f');
}

static size_t run_length(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && in_address(text[n]))
        n++;
    return n;
}

static bool looks_v6(const char *run, size_t len)
{
    unsigned colons = 0;
    for (size_t i = 0; i < len; i++) {
        if (run[i] != ':') continue;
        if (i + 1 < len && run[i + 1] == ':') return true;
        colons++;
    }
    return colons >= 4;
}

static size_t put(char *to, const char *from, size_t len)
{
    memmove(to, from, len);
    return len;
}

static size_t mask_v6(tb_log_privacy privacy, const char *run, size_t len, char *to)
{
    uint8_t bytes[16];
    char text[INET6_ADDRSTRLEN];
    unsigned family = tb__log_ip_read((tb_text){run, len}, bytes);
    if (family != 6) return put(to, "::", 2);
    const unsigned keep = tb_log_ip_bits(privacy, bytes, &family) / 8;
    memset(bytes + keep, 0, sizeof bytes - keep);
    if (!inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text) || strlen(text) > len)
        return put(to, "::", 2);
    return put(to, text, strlen(text));
}

/* Digits from `at` on: how many. */
static size_t digits_at(const char *run, size_t len, size_t at)
{
    size_t n = 0;
    while (at + n < len && is_digit(run[at + n]))
        n++;
    return n;
}

/* Numbers with dots between them from `at` on: how many, and where they end. */
static size_t numbers_at(const char *run, size_t len, size_t at, size_t *ret_end)
{
    size_t n = 0;
    for (size_t digits; (digits = digits_at(run, len, at)) > 0; at++) {
        n++;
        *ret_end = at += digits;
        if (at == len || run[at] != '.') break;
    }
    return n;
}

/* The first three of the numbers stay, or none. */
static size_t mask_numbers(tb_log_privacy privacy, const char *numbers, size_t len, char *to)
{
    size_t out = 0, number = 0;
    for (size_t at = 0; at < len; at++, number++) {
        const size_t digits = digits_at(numbers, len, at);
        if (number) to[out++] = '.';
        if (privacy == TB_LOG_IP_NONE || number >= 3) to[out++] = '0';
        else out += put(to + out, numbers + at, digits);
        at += digits;
    }
    return out;
}

static size_t mask_run(tb_log_privacy privacy, const char *run, size_t len, char *to)
{
    size_t out = 0, end = 0;
    if (looks_v6(run, len)) return mask_v6(privacy, run, len, to);
    for (size_t at = 0; at < len; at = end) {
        const size_t n = numbers_at(run, len, at, &end);
        if (n == 0) end = at + 1;
        if (n < 3) out += put(to + out, run + at, end - at);
        else out += mask_numbers(privacy, run + at, end - at, to + out);
    }
    return out;
}

size_t tb_log_mask(tb_log_privacy privacy, bool cut, char *text, size_t len)
{
    size_t out = 0;
    if (privacy == TB_LOG_IP_WHOLE) return len;
    while (cut && len > 0 && in_address(text[len - 1]))
        len--;
    for (size_t at = 0; at < len;) {
        const size_t n = run_length(text + at, len - at);
        if (n == 0) {
            text[out++] = text[at++];
            continue;
        }
        out += mask_run(privacy, text + at, n, text + out);
        at += n;
    }
    return out;
}
