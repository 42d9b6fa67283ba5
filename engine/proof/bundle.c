/* Entry bundles: entries after their lengths. */
#include "tollbook/proof.h"

void tb_bundle_add(tb_buf *bundle, const char *entry, size_t len)
{
    const char length[2] = {(char)(len >> 8), (char)len};
    if (len > TB_MERKLE_ENTRY_MAX) bundle->failed = true;
    tb_buf_add(bundle, length, sizeof length);
    tb_buf_add(bundle, entry, len);
}

bool tb_bundle_next(tb_text bundle, size_t *at, tb_text *ret_entry)
{
    if (bundle.len < 2 || *at > bundle.len - 2) return false;
    const uint8_t *bytes = (const uint8_t *)bundle.data + *at;
    const size_t len = (size_t)bytes[0] << 8 | bytes[1];
    if (len > bundle.len - *at - 2) return false;
    *ret_entry = (tb_text){bundle.data + *at + 2, len};
    *at += 2 + len;
    return true;
}
