/* libjwt checks the signature; what it leaves open is settled here. It takes the algorithm from the
 * token, so that one signed "HS256" with a public key's text would pass: the algorithm is compared
 * with the configured one, before and after. And time is the caller's. */
#include "http/token.h"

#include <errno.h>
#include <jwt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token_key {
    jwt_alg_t algorithm;
    int len;
    unsigned char bytes[]; /* terminated */
};

static tb_code read_key(FILE *f, const char *path, jwt_alg_t algorithm, token_key **ret_key,
                        tb_error *err)
{
    token_key *k = calloc(1, sizeof *k + TOKEN_FILE_MAX + 1);
    if (!k) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    size_t n = fread(k->bytes, 1, TOKEN_FILE_MAX, f);
    if (algorithm == JWT_ALG_HS256)
        while (n > 0 && (k->bytes[n - 1] == '\n' || k->bytes[n - 1] == '\r'))
            n--;
    k->bytes[n] = 0;
    k->algorithm = algorithm;
    k->len = (int)n;
    tb_code code = TB_OK;
    if (ferror(f)) code = tb_fail(err, TB_E_IO, NULL, "%s: %s.", path, strerror(errno));
    else if (algorithm == JWT_ALG_HS256 && n < TOKEN_SECRET_MIN)
        code = tb_fail(err, TB_E_USAGE, "token-key",
                       "%s: a secret has at least %d bytes. Make one: openssl rand -hex 32 > FILE",
                       path, TOKEN_SECRET_MIN);
    else if (algorithm != JWT_ALG_HS256 && !strstr((char *)k->bytes, "-----BEGIN"))
        code = tb_fail(err, TB_E_USAGE, "token-key", "%s: not a key in PEM form.", path);
    if (code) token_key_free(k);
    else *ret_key = k;
    return code;
}

tb_code token_key_load(const char *path, const char *algorithm, token_key **ret_key, tb_error *err)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return tb_fail(err, TB_E_IO, "token-key", "%s: %s. Name a readable file with --token-key.",
                       path, strerror(errno));
    tb_code code = read_key(f, path, jwt_str_alg(algorithm), ret_key, err);
    fclose(f);
    return code;
}

void token_key_free(token_key *key)
{
    if (!key) return;
    sodium_memzero(key->bytes, (size_t)key->len);
    free(key);
}

/* "User SubuserPullZones"; false: a name is no role. */
static bool read_roles(const char *scope, uint32_t *ret_roles)
{
    uint32_t roles = 0;
    while (*scope) {
        char name[64] = "";
        tb_role role;
        const size_t n = strcspn(scope, " ");
        if (n >= sizeof name) return false;
        memcpy(name, scope, n);
        scope += n + (scope[n] == ' ');
        if (n == 0) continue;
        if (!tb_role_parse(name, &role)) return false;
        roles |= UINT32_C(1) << role;
    }
    *ret_roles = roles;
    return roles != 0;
}

/* Decimal, from 1 up, without leading zeros. */
static bool read_account(const char *text, int64_t *ret_account)
{
    int64_t value = 0;
    const size_t n = strnlen(text, 20);
    if (n < 1 || n > 18 || text[0] == '0') return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret_account = value;
    return true;
}

static bool read_claims(jwt_t *jwt, token_claims *claims)
{
    const char *sub = jwt_get_grant(jwt, "sub"), *scope = jwt_get_grant(jwt, "scope");
    errno = 0;
    claims->until_s = jwt_get_grant_int(jwt, "exp");
    if (errno) return false;
    claims->from_s = jwt_get_grant_int(jwt, "nbf");
    if (errno == ENOENT) claims->from_s = INT64_MIN;
    else if (errno) return false;
    return sub && scope && read_account(sub, &claims->account) &&
           read_roles(scope, &claims->roles) &&
           tb_roles_refusal(claims->account, claims->roles) == NULL;
}

bool token_check(const token_key *key, tb_text text, int64_t now_s, token_claims *ret_claims)
{
    char copy[TOKEN_TEXT_MAX + 1];
    token_claims claims;
    jwt_t *jwt = NULL;
    if (!key || text.len < 1 || text.len > TOKEN_TEXT_MAX) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    bool good = jwt_decode(&jwt, copy, key->bytes, key->len) == 0 && jwt &&
                jwt_get_alg(jwt) == key->algorithm && read_claims(jwt, &claims) &&
                claims.from_s <= now_s && now_s < claims.until_s;
    jwt_free(jwt);
    if (good) *ret_claims = claims;
    return good;
}

static bool add_claims(jwt_t *jwt, const token_claims *claims)
{
    char scope[512] = "", sub[24];
    size_t used = 0;
    for (tb_role role = 0; role < TB_ROLE_COUNT; role++)
        if (claims->roles >> role & 1)
            used += (size_t)snprintf(scope + used, sizeof scope - used, "%s%s", used ? " " : "",
                                     tb_role_name(role));
    snprintf(sub, sizeof sub, "%lld", (long long)claims->account);
    return jwt_add_grant(jwt, "sub", sub) == 0 && jwt_add_grant(jwt, "scope", scope) == 0 &&
           jwt_add_grant_int(jwt, "iat", claims->from_s) == 0 &&
           jwt_add_grant_int(jwt, "nbf", claims->from_s) == 0 &&
           jwt_add_grant_int(jwt, "exp", claims->until_s) == 0;
}

tb_code token_issue(const token_key *key, const token_claims *claims, tb_buf *out, tb_error *err)
{
    jwt_t *jwt = NULL;
    char *text = NULL;
    if (jwt_new(&jwt) != 0 || !add_claims(jwt, claims)) {
        jwt_free(jwt);
        return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    }
    if (jwt_set_alg(jwt, key->algorithm, key->bytes, key->len) == 0) text = jwt_encode_str(jwt);
    jwt_free(jwt);
    if (!text)
        return tb_fail(err, TB_E_USAGE, "token-key",
                       "The key does not sign under this algorithm: give the private key.");
    tb_buf_str(out, text);
    free(text);
    return tb_buf_check(out, err);
}
