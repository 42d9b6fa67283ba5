#include "proof/text.h"

#include <sodium.h>
#include <string.h>

bool tb__proof_line(tb_text *rest, tb_text *ret_line)
{
    const char *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    if (!end) return false;
    *ret_line = (tb_text){rest->data, (size_t)(end - rest->data)};
    *rest = (tb_text){end + 1, rest->len - ret_line->len - 1};
    return true;
}

bool tb__proof_take(tb_text *rest, const char *literal)
{
    const size_t len = strlen(literal);
    if (rest->len < len || memcmp(rest->data, literal, len) != 0) return false;
    *rest = (tb_text){rest->data + len, rest->len - len};
    return true;
}

bool tb__proof_number(tb_text text, int64_t *ret)
{
    int64_t value = 0;
    if (text.len == 0 || text.len > 19 || (text.data[0] == '0' && text.len > 1)) return false;
    for (size_t i = 0; i < text.len; i++) {
        const int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *ret = value;
    return true;
}

static bool is_base64_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

/* The last letters alone may have unused bits or a wrong padding. */
bool tb__proof_is_base64(tb_text text)
{
    uint8_t last[3];
    size_t letters = text.len, len;
    if (text.len == 0 || text.len % 4 != 0) return false;
    while (letters > text.len - 2 && text.data[letters - 1] == '=')
        letters--;
    for (size_t i = 0; i < letters; i++)
        if (!is_base64_letter(text.data[i])) return false;
    return tb_base64_read((tb_text){text.data + text.len - 4, 4}, TB_BASE64, last, sizeof last, &len);
}

bool tb__proof_bytes(tb_text text, uint8_t *out, size_t size)
{
    size_t len;
    return tb_base64_read(text, TB_BASE64, out, size, &len) && len == size;
}

void tb__proof_add_base64(tb_buf *out, const uint8_t *bytes, size_t len)
{
    char text[sodium_base64_ENCODED_LEN(96, sodium_base64_VARIANT_ORIGINAL)];
    tb_buf_str(out, sodium_bin2base64(text, sizeof text, bytes, len, sodium_base64_VARIANT_ORIGINAL));
}

void tb__proof_add_hashes(tb_buf *out, const tb_merkle_proof *proof)
{
    for (size_t i = 0; i < proof->n; i++) {
        tb__proof_add_base64(out, proof->hashes[i].bytes, sizeof proof->hashes[i].bytes);
        tb_buf_str(out, "\n");
    }
}

bool tb__proof_take_hashes(tb_text *rest, tb_merkle_proof *ret)
{
    tb_text line;
    for (ret->n = 0; tb__proof_line(rest, &line); ret->n++) {
        if (line.len == 0) return true;
        if (ret->n == TB_MERKLE_PROOF_MAX || !tb_merkle_read(line.data, line.len, &ret->hashes[ret->n])) return false;
    }
    return false;
}
