/* Signed notes: taken apart, signed, verified. */
#include "proof/text.h"

#include "base/jsontext.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define DASH "\xe2\x80\x94 " /* em dash and a space, before each signature */
#define ID 4                 /* bytes of a key's ID */
#define TIME 8               /* of a cosignature's time */
#define PREFIX 64            /* room for the lines before a cosigned text */

static tb_code refuse_note(tb_error *err, const char *why)
{
    return tb_fail(err, TB_E_VALIDATION, "note", "This is not a signed note: %s.", why);
}

static bool is_note_text(tb_text text)
{
    for (size_t at = 0, step; at < text.len; at += step) {
        step = tb__utf8_step(text.data + at, text.len - at);
        if (step == 0 || ((uint8_t)text.data[at] < ' ' && text.data[at] != '\n')) return false;
    }
    return true;
}

static bool read_signature(tb_text line, tb_note_signature *ret)
{
    uint8_t head[6];
    tb_text rest = line;
    if (!tb__proof_take(&rest, DASH)) return false;
    const char *space = rest.len ? memchr(rest.data, ' ', rest.len) : NULL;
    if (!space) return false;
    const size_t len = (size_t)(space - rest.data);
    *ret = (tb_note_signature){.line = line, .name = {rest.data, len}, .value = {space + 1, rest.len - len - 1}};
    if (!tb__note_is_name(ret->name) || !tb__proof_is_base64(ret->value) || ret->value.len < 8) return false;
    /* Eight characters are six bytes, or five where the value ends there: the ID and one at least of the signature. */
    const tb_text start = {ret->value.data, 8};
    if (!tb__proof_bytes(start, head, 6) && !tb__proof_bytes(start, head, 5)) return false;
    ret->id = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    return true;
}

tb_code tb__note_signatures(tb_text lines, tb_note *ret, tb_error *err)
{
    tb_text line;
    for (ret->n_signatures = 0; lines.len > 0; ret->n_signatures++) {
        if (ret->n_signatures == TB_NOTE_SIGNATURES)
            return tb_fail(err, TB_E_TOO_LARGE, "note", "The note has more than %d signatures.", TB_NOTE_SIGNATURES);
        if (!tb__proof_line(&lines, &line) || !read_signature(line, &ret->signatures[ret->n_signatures]))
            return refuse_note(err, "a line after the last empty line is no signature");
    }
    return ret->n_signatures > 0 ? TB_OK : refuse_note(err, "no signature follows the last empty line");
}

tb_code tb_note_read(const char *data, size_t len, tb_note *ret, tb_error *err)
{
    const tb_text all = {data, len};
    size_t text_len = len;
    if (len > TB_NOTE_MAX) return tb_fail(err, TB_E_TOO_LARGE, "note", "The note has %zu bytes; %d is the most.", len, TB_NOTE_MAX);
    if (!is_note_text(all)) return refuse_note(err, "it is not UTF-8, or has a control character");
    while (text_len >= 2 && !(data[text_len - 1] == '\n' && data[text_len - 2] == '\n'))
        text_len--;
    if (text_len < 2) return refuse_note(err, "it has no empty line before signatures");
    ret->text = (tb_text){data, text_len - 1};
    return tb__note_signatures((tb_text){data + text_len, len - text_len}, ret, err);
}

bool tb__note_is_by(const tb_note_signature *signature, const tb_note_key *key)
{
    return signature->id == key->id && signature->name.len == strlen(key->name) &&
           memcmp(signature->name.data, key->name, signature->name.len) == 0;
}

/* --- what is signed --- */

/* The message of a cosignature: two lines, and the text. */
typedef struct message {
    size_t len;
    uint8_t bytes[PREFIX + TB_NOTE_TEXT];
} message;

/* text.len <= TB_NOTE_TEXT. */
static void make_message(tb_text text, int64_t time_s, message *ret)
{
    ret->len = (size_t)snprintf((char *)ret->bytes, PREFIX, "cosignature/v1\ntime %lld\n", (long long)time_s);
    memcpy(ret->bytes + ret->len, text.data, text.len);
    ret->len += text.len;
}

void tb_note_sign(const tb_note_secret *secret, tb_text text, int64_t time_s, tb_buf *out)
{
    uint8_t raw[ID + TIME + crypto_sign_BYTES], public_key[crypto_sign_PUBLICKEYBYTES], both[crypto_sign_SECRETKEYBYTES];
    message m;
    size_t n = 0;
    const bool cosigns = secret->key.type == TB_NOTE_COSIGNATURE;
    if (text.len > TB_NOTE_TEXT || (cosigns && time_s < 0)) {
        out->failed = true;
        return;
    }
    for (int shift = 24; shift >= 0; shift -= 8)
        raw[n++] = (uint8_t)(secret->key.id >> shift);
    for (int shift = 56; cosigns && shift >= 0; shift -= 8)
        raw[n++] = (uint8_t)((uint64_t)time_s >> shift);
    crypto_sign_seed_keypair(public_key, both, secret->seed);
    if (cosigns) {
        make_message(text, time_s, &m);
        crypto_sign_detached(raw + n, NULL, m.bytes, m.len, both);
    } else {
        crypto_sign_detached(raw + n, NULL, (const uint8_t *)text.data, text.len, both);
    }
    sodium_memzero(both, sizeof both);
    tb_buf_fmt(out, DASH "%s ", secret->key.name);
    tb__proof_add_base64(out, raw, n + crypto_sign_BYTES);
    tb_buf_str(out, "\n");
}

/* --- verification --- */

static bool verify_cosignature(tb_text text, const tb_note_signature *signature, const tb_note_key *key, int64_t *ret_time_s)
{
    uint8_t raw[ID + TIME + crypto_sign_BYTES];
    message m;
    uint64_t time_s = 0;
    if (!tb__proof_bytes(signature->value, raw, sizeof raw)) return false;
    for (int i = 0; i < TIME; i++)
        time_s = time_s << 8 | raw[ID + i];
    if (time_s > INT64_MAX) return false;
    make_message(text, (int64_t)time_s, &m);
    *ret_time_s = (int64_t)time_s;
    return crypto_sign_verify_detached(raw + ID + TIME, m.bytes, m.len, key->public_key) == 0;
}

static bool verify_signature(tb_text text, const tb_note_signature *signature, const tb_note_key *key, int64_t *ret_time_s)
{
    uint8_t raw[ID + crypto_sign_BYTES];
    *ret_time_s = 0;
    if (key->type == TB_NOTE_COSIGNATURE) return verify_cosignature(text, signature, key, ret_time_s);
    return tb__proof_bytes(signature->value, raw, sizeof raw) &&
           crypto_sign_verify_detached(raw + ID, (const uint8_t *)text.data, text.len, key->public_key) == 0;
}

static void forget_signatures(tb_note_signer *signers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        signers[i] = (tb_note_signer){.key = signers[i].key};
}

static tb_code check_signers(const tb_note_signer *signers, size_t n, tb_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (signers[i].key.id == signers[j].key.id && strcmp(signers[i].key.name, signers[j].key.name) == 0)
                return tb_fail(err, TB_E_VALIDATION, "key", "Two keys have the name and ID %s+%08x.", signers[i].key.name,
                               (unsigned)signers[i].key.id);
    return TB_OK;
}

/* A signature by one of the signers has to be right. */
static bool accept_signature(tb_text text, const tb_note_signature *signature, tb_note_signer *signers, size_t n)
{
    int64_t time_s;
    for (size_t i = 0; i < n; i++) {
        if (!tb__note_is_by(signature, &signers[i].key)) continue;
        if (!verify_signature(text, signature, &signers[i].key, &time_s)) return false;
        signers[i].has_signed = true;
        if (time_s > signers[i].time_s) signers[i].time_s = time_s;
    }
    return true;
}

tb_code tb_note_open(const tb_note *note, tb_note_signer *signers, size_t n, tb_error *err)
{
    bool any = false;
    forget_signatures(signers, n);
    const tb_code code = check_signers(signers, n, err);
    if (code) return code;
    if (note->text.len > TB_NOTE_TEXT)
        return tb_fail(err, TB_E_TOO_LARGE, "note", "The note's text has %zu bytes; %d is the most.", note->text.len, TB_NOTE_TEXT);
    for (size_t i = 0; i < note->n_signatures; i++) {
        const tb_note_signature *signature = &note->signatures[i];
        if (accept_signature(note->text, signature, signers, n)) continue;
        forget_signatures(signers, n);
        return tb_fail(err, TB_E_DIFFERENT, "signature",
                       "The signature by %.*s+%08x is wrong: the text was changed, or another key signed it.",
                       (int)signature->name.len, signature->name.data, (unsigned)signature->id);
    }
    for (size_t i = 0; i < n; i++)
        any |= signers[i].has_signed;
    return any ? TB_OK : tb_fail(err, TB_E_NOT_FOUND, "signature", "No known key signed this: its signatures are by other keys.");
}
