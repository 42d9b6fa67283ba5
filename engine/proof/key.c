/* Keys of signed notes, and their texts: name+id+base64(type || 32 bytes). */
#include "proof/text.h"

#include "base/jsontext.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Unicode's White_Space outside of ASCII, in UTF-8. U+2000 to U+200A differ in the last byte. */
static bool is_wide_space(const char *text, size_t len)
{
    static const char *const spaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
                                         "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (len == strlen(spaces[i]) && memcmp(text, spaces[i], len) == 0) return true;
    return len == 3 && memcmp(text, "\xe2\x80", 2) == 0 && (uint8_t)text[2] >= 0x80 && (uint8_t)text[2] <= 0x8a;
}

bool tb__note_is_name(tb_text name)
{
    for (size_t at = 0, step; at < name.len; at += step) {
        const uint8_t c = (uint8_t)name.data[at];
        step = tb__utf8_step(name.data + at, name.len - at);
        if (step == 0 || c <= ' ' || c == '+' || is_wide_space(name.data + at, step)) return false;
    }
    return name.len > 0;
}

static uint32_t key_id(const tb_note_key *key)
{
    const uint8_t type[2] = {'\n', (uint8_t)key->type};
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)key->name, strlen(key->name));
    crypto_hash_sha256_update(&state, type, sizeof type);
    crypto_hash_sha256_update(&state, key->public_key, sizeof key->public_key);
    crypto_hash_sha256_final(&state, hash);
    return (uint32_t)hash[0] << 24 | (uint32_t)hash[1] << 16 | (uint32_t)hash[2] << 8 | hash[3];
}

static tb_code set_name(tb_note_key *key, const char *name, size_t len, const char *field, tb_error *err)
{
    if (len > TB_NOTE_NAME)
        return tb_fail(err, TB_E_VALIDATION, field, "The key's name has %zu bytes; %d is the most.", len, TB_NOTE_NAME);
    if (!tb__note_is_name((tb_text){name, len}))
        return tb_fail(err, TB_E_VALIDATION, field,
                       "The key's name is not valid: it has to be UTF-8 without spaces, plus signs and control characters.");
    memset(key, 0, sizeof *key);
    memcpy(key->name, name, len);
    return TB_OK;
}

static tb_text take_until_plus(tb_text *rest)
{
    const char *plus = rest->len ? memchr(rest->data, '+', rest->len) : NULL;
    const tb_text word = {rest->data, plus ? (size_t)(plus - rest->data) : rest->len};
    const size_t taken = word.len + (plus != NULL);
    *rest = (tb_text){taken ? rest->data + taken : rest->data, rest->len - taken};
    return word;
}

/* Takes "name+id+base64" apart: the name and the type go to *key, the ID's digits to id, the 32 bytes to bytes. */
static tb_code read_parts(tb_text text, const char *field, tb_note_key *key, tb_text *ret_id, uint8_t bytes[32], tb_error *err)
{
    uint8_t raw[33];
    const tb_text name = take_until_plus(&text);
    *ret_id = take_until_plus(&text);
    if (ret_id->len != 8 || !tb__proof_bytes(text, raw, sizeof raw))
        return tb_fail(err, TB_E_VALIDATION, field,
                       "The key does not have its form: name, 8 hex digits and base64, with plus signs between them.");
    memcpy(bytes, raw + 1, 32);
    const uint8_t type = raw[0];
    sodium_memzero(raw, sizeof raw);
    if (type != TB_NOTE_ED25519 && type != TB_NOTE_COSIGNATURE)
        return tb_fail(err, TB_E_VALIDATION, field,
                       "The key's type is 0x%02x; known are 0x01 (Ed25519) and 0x04 (a witness's cosignatures).", type);
    const tb_code code = set_name(key, name.data, name.len, field, err);
    if (!code) key->type = (tb_note_type)type;
    return code;
}

static tb_code check_id(tb_note_key *key, tb_text id, const char *field, tb_error *err)
{
    char hex[9];
    key->id = key_id(key);
    snprintf(hex, sizeof hex, "%08x", (unsigned)key->id);
    if (memcmp(hex, id.data, 8) == 0) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, field, "The key's ID is %s by its name and bytes; its text has another one.", hex);
}

tb_code tb_note_key_read(const char *vkey, size_t len, tb_note_key *ret, tb_error *err)
{
    tb_note_key key;
    tb_text id;
    uint8_t bytes[32];
    tb_code code = read_parts((tb_text){vkey, len}, "vkey", &key, &id, bytes, err);
    if (code) return code;
    memcpy(key.public_key, bytes, sizeof bytes);
    code = check_id(&key, id, "vkey", err);
    if (!code) *ret = key;
    return code;
}

static void write_parts(const tb_note_key *key, const uint8_t bytes[32], char *out, size_t size)
{
    uint8_t raw[33] = {(uint8_t)key->type};
    char text[45];
    memcpy(raw + 1, bytes, 32);
    sodium_bin2base64(text, sizeof text, raw, sizeof raw, sodium_base64_VARIANT_ORIGINAL);
    snprintf(out, size, "%s+%08x+%s", key->name, (unsigned)key->id, text);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(text, sizeof text);
}

void tb_note_key_write(const tb_note_key *key, char out[TB_NOTE_VKEY])
{
    write_parts(key, key->public_key, out, TB_NOTE_VKEY);
}

/* The public key of a seed. */
static void set_public_key(tb_note_secret *secret)
{
    uint8_t both[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(secret->key.public_key, both, secret->seed);
    sodium_memzero(both, sizeof both);
    secret->key.id = key_id(&secret->key);
}

tb_code tb_note_secret_make(const char *name, size_t len, tb_note_type type, const uint8_t seed[32], tb_note_secret *ret,
                            tb_error *err)
{
    const tb_code code = set_name(&ret->key, name, len, "name", err);
    if (code) return code;
    ret->key.type = type;
    memcpy(ret->seed, seed, sizeof ret->seed);
    set_public_key(ret);
    return TB_OK;
}

static const char private_key[] = "PRIVATE+KEY+";

tb_code tb_note_secret_read(const char *text, size_t len, tb_note_secret *ret, tb_error *err)
{
    tb_note_secret secret;
    tb_text id, rest = {text, len};
    if (len > 0 && text[len - 1] == '\n') rest.len--;
    if (!tb__proof_take(&rest, private_key))
        return tb_fail(err, TB_E_VALIDATION, "key", "The text is not a secret key: it does not begin with %s.", private_key);
    tb_code code = read_parts(rest, "key", &secret.key, &id, secret.seed, err);
    if (!code) {
        set_public_key(&secret);
        code = check_id(&secret.key, id, "key", err);
    }
    if (!code) *ret = secret;
    tb_note_secret_wipe(&secret);
    return code;
}

void tb_note_secret_write(const tb_note_secret *secret, char out[TB_NOTE_SKEY])
{
    memcpy(out, private_key, sizeof private_key - 1);
    write_parts(&secret->key, secret->seed, out + sizeof private_key - 1, TB_NOTE_VKEY);
}

void tb_note_secret_wipe(tb_note_secret *secret)
{
    sodium_memzero(secret, sizeof *secret);
}
