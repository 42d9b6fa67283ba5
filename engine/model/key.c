/* Keys are random, so that a plain SHA-256 suffices: nothing shorter than the key finds it. */
#include "tollbook/key.h"

#include <sodium.h>
#include <string.h>

#define HINT 6 /* characters of a key that a list shows */

_Static_assert(TB_KEY_SECRET == crypto_secretbox_KEYBYTES &&
                   TB_KEY_NONCE == crypto_secretbox_NONCEBYTES &&
                   TB_KEY_SEALED == TB_KEY_NONCE + crypto_secretbox_MACBYTES + TB_KEY_TEXT,
               "as the library has them");

static const struct {
    const char *name;
    uint32_t opens; /* bit a: tb_access a */
} table[TB_ROLE_COUNT] = {
#define TB_X(e, name, stats, zones, billing, ingest, op, keys, reads, money, admin, stream)        \
    [TB_ROLE_##e] = {name, (stats) << TB_ACCESS_STATISTICS | (zones) << TB_ACCESS_PULL_ZONES |     \
                               ((billing) | (reads)) << TB_ACCESS_BILLING | (ingest) << TB_ACCESS_INGEST |     \
                               (op) << TB_ACCESS_OPERATOR | (keys) << TB_ACCESS_KEYS |             \
                               ((stats) | (reads)) << TB_ACCESS_INSIGHTS |                         \
                               (reads) << TB_ACCESS_READ | (money) << TB_ACCESS_MONEY |            \
                               (admin) << TB_ACCESS_ADMIN | ((admin) | (reads)) << TB_ACCESS_ADMIN_READ | \
                               (stream) << TB_ACCESS_STREAM | ((stream) | (reads)) << TB_ACCESS_REPLICA},
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

tb_code tb_role_read(const char *name, tb_role *ret_role, tb_error *err)
{
    char words[320], list[360], meant[TB_MEANT_MAX];
    size_t used = 0;
    if (tb_role_parse(name, ret_role)) return TB_OK;
    for (int r = 0; r < TB_ROLE_COUNT && used < sizeof words; r++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", r ? "|" : "", table[r].name);
    return tb_fail(err, TB_E_VALIDATION, "role", "There is no role \"%.40s\".%s There are %s.", name,
                   tb_meant(words, "", name, strlen(name), meant), tb_words(words, list, sizeof list));
}

static uint32_t opened_by(uint32_t roles)
{
    uint32_t opens = 0;
    for (int r = 0; r < TB_ROLE_COUNT; r++)
        if (roles >> r & 1) opens |= table[r].opens;
    return opens;
}

bool tb_roles_open(uint32_t roles, tb_access access)
{
    if (access == TB_ACCESS_NONE || access == TB_ACCESS_ANY) return true;
    return (unsigned)access < TB_ACCESS_COUNT && opened_by(roles) >> access & 1;
}

bool tb_roles_within(uint32_t roles, uint32_t above)
{
    return (opened_by(roles) & ~opened_by(above)) == 0;
}

const char *tb_roles_refusal(int64_t account, uint32_t roles)
{
    const uint32_t ingest = UINT32_C(1) << TB_ROLE_INGEST;
    const uint32_t own = UINT32_C(1) << TB_ROLE_OPERATOR | UINT32_C(1) << TB_ROLE_FINANCE |
                         UINT32_C(1) << TB_ROLE_SUPPORT | UINT32_C(1) << TB_ROLE_REPLICA;
    if (account == 0 && (roles & ~(own | ingest)))
        return "A key of account 0, the operator, has only the roles Ingest, Operator, Finance, Support and Replica.";
    if (account != 0 && (roles & own))
        return "Only a key of account 0 has the roles Operator, Finance, Support and Replica, which read every account.";
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

void tb_key_take(tb_key *key, const char text[TB_KEY_TEXT + 1])
{
    tb_key_hash(text, TB_KEY_TEXT, key->hash);
    memset(key->hint, 0, sizeof key->hint);
    memcpy(key->hint, text, HINT);
}

void tb_key_seal(tb_key *key, const char text[TB_KEY_TEXT + 1],
                 const uint8_t secret[TB_KEY_SECRET], const uint8_t nonce[TB_KEY_NONCE])
{
    memcpy(key->sealed, nonce, TB_KEY_NONCE);
    crypto_secretbox_easy(key->sealed + TB_KEY_NONCE, (const unsigned char *)text, TB_KEY_TEXT,
                          nonce, secret);
    key->has_sealed = true;
}

bool tb_key_unseal(const tb_key *key, const uint8_t secret[TB_KEY_SECRET],
                   char out[TB_KEY_TEXT + 1])
{
    uint8_t hash[TB_KEY_HASH];
    if (!key->has_sealed ||
        crypto_secretbox_open_easy((unsigned char *)out, key->sealed + TB_KEY_NONCE,
                                   TB_KEY_SEALED - TB_KEY_NONCE, key->sealed, secret))
        return false;
    out[TB_KEY_TEXT] = 0;
    tb_key_hash(out, TB_KEY_TEXT, hash);
    return tb_key_equal(hash, key->hash);
}

void tb_key_mask(const tb_key *key, char out[TB_KEY_TEXT + 1])
{
    size_t n = strnlen(key->hint, sizeof key->hint);
    memset(out, '*', TB_KEY_TEXT);
    memcpy(out, key->hint, n);
    out[TB_KEY_TEXT] = 0;
}

bool tb_key_equal(const uint8_t a[TB_KEY_HASH], const uint8_t b[TB_KEY_HASH])
{
    return sodium_memcmp(a, b, TB_KEY_HASH) == 0;
}
