/* Checks a token key's file before it is used. libjwt refuses every token under a key that it cannot use and does not
 * say why, so the file must hold what its algorithm takes: a secret, or a PEM key of the right half, kind and strength.
 * A PEM key is never a secret: under HS256 anyone who knows the public half could sign. */
#include "http/token_key.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RSA_BITS_MIN 2048 /* RFC 7518, 3.3 */

static const struct {
    const char *name, *takes;
} algorithms[TOKEN_ALGORITHM_COUNT] = {
    [TOKEN_HS256] = {"HS256", "a secret"},
    [TOKEN_RS256] = {"RS256", "an RSA key of at least 2048 bits"},
    [TOKEN_ES256] = {"ES256", "a key on the curve P-256"},
};

static tb_code refuse_key(tb_error *err, const char *path, const char *sentence)
{
    return tb_fail(err, TB_E_USAGE, "token-key", "%s: %s", path, sentence);
}

/* --- PEM --- */

/* Keeps OpenSSL from asking for a passphrase on the terminal. */
static int no_passphrase(char *out, int room, int writing, void *asked)
{
    (void)out;
    (void)room;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

static EVP_PKEY *read_half(const token_key *k, token_use half, bool *ret_locked)
{
    BIO *in = BIO_new_mem_buf(k->bytes, k->len);
    EVP_PKEY *key = NULL;
    *ret_locked = false;
    if (in && half == TOKEN_SIGNS)
        key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, ret_locked);
    else if (in)
        key = PEM_read_bio_PUBKEY(in, NULL, no_passphrase, ret_locked);
    BIO_free(in);
    ERR_clear_error();
    return key;
}

/* Explains why the file has no key of the half that was asked for. */
static tb_code explain_missing_half(const token_key *k, const char *path, token_use use, bool locked,
                          tb_error *err)
{
    bool other_locked;
    EVP_PKEY *other = read_half(k, use == TOKEN_SIGNS ? TOKEN_CHECKS : TOKEN_SIGNS, &other_locked);
    const bool there = other != NULL || other_locked;
    EVP_PKEY_free(other);
    if (locked)
        return refuse_key(err, path,
                          "its key has a passphrase. Write it without one: openssl pkey "
                          "-in FILE -out OTHER");
    if (there && use == TOKEN_SIGNS)
        return refuse_key(err, path, "holds a public key; tokens are signed with the private one.");
    if (there)
        return refuse_key(err, path,
                          "holds a private key; tokens are checked with the public one: "
                          "openssl pkey -in FILE -pubout -out OTHER");
    if (use == TOKEN_CHECKS && strstr((const char *)k->bytes, "BEGIN CERTIFICATE"))
        return refuse_key(err, path,
                          "holds a certificate. Its key: openssl x509 -in FILE -noout "
                          "-pubkey");
    return refuse_key(err, path,
                      use == TOKEN_SIGNS ? "not a private key in PEM form."
                                         : "not a public key in PEM form.");
}

static tb_code check_pem(const token_key *k, const char *path, token_use use, tb_error *err)
{
    bool locked;
    EVP_PKEY *key = read_half(k, use, &locked);
    if (!key) return explain_missing_half(k, path, use, locked, err);
    char curve[32];
    size_t n = 0;
    bool good = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= RSA_BITS_MIN;
    if (k->algorithm != TOKEN_RS256)
        good = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
               EVP_PKEY_get_group_name(key, curve, sizeof curve, &n) == 1 && strcmp(curve, "prime256v1") == 0;
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (good) return TB_OK;
    return tb_fail(err, TB_E_USAGE, "token-key", "%s: %s takes %s.", path,
                   algorithms[k->algorithm].name, algorithms[k->algorithm].takes);
}

/* --- secrets --- */

static tb_code check_secret(token_key *k, const char *path, tb_error *err)
{
    while (k->len > 0 && (k->bytes[k->len - 1] == '\n' || k->bytes[k->len - 1] == '\r'))
        k->bytes[--k->len] = 0;
    if (memmem(k->bytes, (size_t)k->len, "-----BEGIN", 10))
        return refuse_key(err, path,
                      "a key in PEM form is no secret for HS256: anyone who knows its public half "
                      "could sign. Name its algorithm with --token-alg.");
    if (k->len >= TOKEN_SECRET_MIN) return TB_OK;
    return tb_fail(err, TB_E_USAGE, "token-key",
                   "%s: a secret has at least %d bytes. Make one: (umask 077; openssl rand -hex 32 "
                   "> FILE)",
                   path, TOKEN_SECRET_MIN);
}

/* --- files --- */

tb_code token_key_load(const char *path, const char *algorithm, token_use use, token_key **ret_key,
                       tb_error *err)
{
    token_algorithm a = TOKEN_HS256;
    while (a < TOKEN_ALGORITHM_COUNT && strcmp(algorithms[a].name, algorithm) != 0)
        a++;
    if (a == TOKEN_ALGORITHM_COUNT) return tb_fail(err, TB_E_USAGE, "token-alg", NULL);
    FILE *f = fopen(path, "rbe");
    if (!f)
        return tb_fail(err, TB_E_IO, "token-key", "%s: %s. Name a readable file with --token-key.",
                       path, strerror(errno));
    token_key *k = calloc(1, sizeof *k + TOKEN_FILE_MAX + 2);
    tb_code code = k ? TB_OK : tb_no_memory(err);
    if (k) {
        struct stat about;
        const size_t n = fread(k->bytes, 1, TOKEN_FILE_MAX + 1, f);
        k->algorithm = a;
        k->len = (int)n;
        k->exposed = fstat(fileno(f), &about) == 0 && (about.st_mode & 077);
        if (ferror(f)) code = tb_fail(err, TB_E_IO, "token-key", "%s: %s.", path, strerror(errno));
        else if (n > TOKEN_FILE_MAX) code = refuse_key(err, path, "longer than 64 KiB, so it is not a key.");
    }
    fclose(f);
    if (!code) code = a == TOKEN_HS256 ? check_secret(k, path, err) : check_pem(k, path, use, err);
    if (!code && a != TOKEN_HS256 && use == TOKEN_CHECKS) k->exposed = false; /* public anyway */
    if (code)
        token_key_free(k);
    else
        *ret_key = k;
    return code;
}

bool token_key_exposed(const token_key *key)
{
    return key->exposed;
}

void token_key_free(token_key *key)
{
    if (!key) return;
    sodium_memzero(key->bytes, (size_t)key->len);
    free(key);
}
