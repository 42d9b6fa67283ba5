/* Keys are random, so that a plain SHA-256 suffices: nothing shorter than the key finds it. */
#include "tollbook/key.h"

#include <sodium.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t opens; /* bit a: tb_access a */
} table[TB_ROLE_COUNT] = {
#define TB_X(e, name, stats, zones, billing, ingest, op)                                           \
    [TB_ROLE_##e] = {name, (stats) << TB_ACCESS_STATISTICS | (zones) << TB_ACCESS_PULL_ZONES |     \
                               (billing) << TB_ACCESS_BILLING | (ingest) << TB_ACCESS_INGEST |     \
                               (op) << TB_ACCESS_OPERATOR},
    TB_ROLES(TB_X)
#undef TB_X
};

const char *tb_role_name(tb_role role)
{
    return (unsigned)role < TB_ROLE_COUNT ? table[role].name : "";
}

bool tb_role_parse(const char *name, tb_role *ret_role)
{
    for (int r = 0; r < TB_ROLE_COUNT; r++) {
        if (strcmp(name, table[r].name) != 0) continue;
        *ret_role = (tb_role)r;
        return true;
    }
    return false;
}

bool tb_roles_open(uint32_t roles, tb_access access)
{
    if (access == TB_ACCESS_NONE || access == TB_ACCESS_ANY) return true;
    uint32_t opens = 0;
    for (int r = 0; r < TB_ROLE_COUNT; r++)
        if (roles >> r & 1) opens |= table[r].opens;
    return (unsigned)access < TB_ACCESS_COUNT && opens >> access & 1;
}

const char *tb_roles_refusal(int64_t account, uint32_t roles)
{
    const uint32_t own = UINT32_C(1) << TB_ROLE_OPERATOR;
    const uint32_t operators = own | UINT32_C(1) << TB_ROLE_INGEST;
    if (account == 0 && (roles & ~operators))
        return "A key of account 0, the operator, carries Ingest or Operator alone.";
    if (account != 0 && (roles & own))
        return "Operator is a role of account 0 alone: it makes keys for every account.";
    return NULL;
}

void tb_key_format(const uint8_t random[TB_KEY_RANDOM], char out[TB_KEY_TEXT + 1])
{
    sodium_bin2hex(out, TB_KEY_TEXT + 1, random, TB_KEY_RANDOM);
}

void tb_key_hash(const char *text, size_t len, uint8_t out[TB_KEY_HASH])
{
    crypto_hash_sha256(out, (const unsigned char *)text, len);
}

bool tb_key_equal(const uint8_t a[TB_KEY_HASH], const uint8_t b[TB_KEY_HASH])
{
    return sodium_memcmp(a, b, TB_KEY_HASH) == 0;
}
