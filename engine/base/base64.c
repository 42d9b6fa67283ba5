#include "tollbook/buf.h"

#include <sodium.h>

/* libsodium 1.0.18 compares letters in a way that fails for negative chars: each byte from 128 on is the digit 63 to it. */
static bool is_ascii(tb_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] >= 128) return false;
    return true;
}

bool tb_base64_read(tb_text text, tb_base64 form, void *out, size_t size, size_t *ret_len)
{
    const int variant = form == TB_BASE64_URL ? sodium_base64_VARIANT_URLSAFE_NO_PADDING : sodium_base64_VARIANT_ORIGINAL;
    return is_ascii(text) && sodium_base642bin(out, size, text.data, text.len, NULL, ret_len, NULL, variant) == 0;
}
