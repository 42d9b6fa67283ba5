/* Continuation tokens: URL-safe base64 of
 *
 *     version 1 | after? 1 | the key's length 1 | the key | BLAKE2b of it all, 16 bytes
 *
 * keyed with the database's secret, over the token's own bytes and its owner (account, shield zone, day),
 * which the token need not carry: a token of another owner does not verify. */
#include "events/events.h"

#include <sodium.h>

#define VERSION  1
#define MAC      16
#define RAW_MAX  (3 + TB_EVENT_KEY_MAX + MAC)

_Static_assert((RAW_MAX + 2) / 3 * 4 < TB_EVENT_TOKEN_MAX, "a token's text fits");

static void put_64(uint8_t *out, int64_t value)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

static void make_mac(const uint8_t secret[TB_EVENT_SECRET], const tb_event_scope *scope,
                     const uint8_t *token, size_t len, uint8_t out[MAC])
{
    static const char purpose[] = "tollbook shield event token";
    uint8_t numbers[24];
    crypto_generichash_state state;
    put_64(numbers, scope->account);
    put_64(numbers + 8, scope->zone);
    put_64(numbers + 16, scope->day);
    crypto_generichash_init(&state, secret, TB_EVENT_SECRET, MAC);
    crypto_generichash_update(&state, (const uint8_t *)purpose, sizeof purpose);
    crypto_generichash_update(&state, numbers, sizeof numbers);
    crypto_generichash_update(&state, token, len);
    crypto_generichash_final(&state, out, MAC);
}

void tb_event_token(const uint8_t secret[TB_EVENT_SECRET], const tb_event_scope *scope,
                    const tb_event_place *place, char out[TB_EVENT_TOKEN_MAX])
{
    uint8_t raw[RAW_MAX] = {VERSION, place->after, (uint8_t)place->key.len};
    const size_t len = 3 + place->key.len;
    memcpy(raw + 3, place->key.bytes, place->key.len);
    make_mac(secret, scope, raw, len, raw + len);
    sodium_bin2base64(out, TB_EVENT_TOKEN_MAX, raw, len + MAC,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool tb_event_token_read(const uint8_t secret[TB_EVENT_SECRET], const tb_event_scope *scope,
                         tb_text token, tb_event_place *ret)
{
    uint8_t raw[RAW_MAX], mac[MAC];
    size_t len = 0;
    if (!tb_base64_read(token, TB_BASE64_URL, raw, sizeof raw, &len) || len < 3 + 8 + MAC) return false;
    len -= MAC;
    make_mac(secret, scope, raw, len, mac);
    if (sodium_memcmp(mac, raw + len, MAC) != 0) return false;
    if (raw[0] != VERSION || raw[1] > 1 || raw[2] != len - 3 || raw[2] > TB_EVENT_KEY_MAX)
        return false;
    ret->after = raw[1];
    ret->key.len = raw[2];
    memcpy(ret->key.bytes, raw + 3, raw[2]);
    return true;
}
