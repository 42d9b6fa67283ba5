/* libjwt checks the signature, and everything that it is lax about is checked here. It takes the algorithm from the
 * token, so a token signed "HS256" with the text of a public key would pass: the algorithm is compared with the
 * configured one. It accepts padding, other spellings of a signature, unknown extensions, and an algorithm in any
 * letter case: the form is checked first. It reads the clock: here the caller gives the time. */
#include "http/token.h"

#include <jansson.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/router.h"
#include "http/token_key.h"

static const jwt_alg_t algorithms[TOKEN_ALGORITHM_COUNT] = {
    [TOKEN_HS256] = JWT_ALG_HS256,
    [TOKEN_RS256] = JWT_ALG_RS256,
    [TOKEN_ES256] = JWT_ALG_ES256,
};

/* --- claims --- */

/* Parses "User SubuserPullZones". false: a name is no role. */
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

/* A string claim without NULs; NULL: it is none. */
static const char *text_of(const json_t *claims, const char *name)
{
    const json_t *value = json_object_get(claims, name);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* Seconds since 1970. libjwt would return 0 for anything that is no integer. */
static bool read_seconds(const json_t *claims, const char *name, int64_t *ret_s)
{
    const json_t *value = json_object_get(claims, name);
    if (!json_is_integer(value)) return false;
    *ret_s = json_integer_value(value);
    return true;
}

static bool read_claims(const json_t *all, token_claims *claims)
{
    const char *sub = text_of(all, "sub"), *scope = text_of(all, "scope");
    claims->from_s = INT64_MIN;
    if (!read_seconds(all, "exp", &claims->until_s)) return false;
    if (json_object_get(all, "nbf") && !read_seconds(all, "nbf", &claims->from_s)) return false;
    return sub && scope && router_id((tb_text){sub, strlen(sub)}, &claims->account) &&
           read_roles(scope, &claims->roles) &&
           tb_roles_refusal(claims->account, claims->roles) == NULL;
}

/* --- tokens --- */

/* Decodes a part of a token as JSON: base64url without padding (RFC 7515, 2), in canonical form, of an object without
 * duplicate names. NULL: it is none. */
static json_t *read_part(const char *part, size_t len)
{
    unsigned char bytes[TOKEN_TEXT_MAX];
    size_t n = 0;
    if (!tb_base64_read((tb_text){part, len}, TB_BASE64_URL, bytes, sizeof bytes, &n)) return NULL;
    json_t *object = json_loadb((const char *)bytes, n, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(object)) return object;
    json_decref(object);
    return NULL;
}

/* Checks the form, header and claims of a token: three parts with a dot between. The algorithm must have its exact
 * spelling. No extension is supported, and `crit` names those that must be (RFC 7515, 4.1.11). The signature is only
 * decoded. */
static bool read_token(const char *text, const char *algorithm, token_claims *claims)
{
    unsigned char bytes[TOKEN_TEXT_MAX];
    size_t n;
    const char *payload = strchr(text, '.');
    const char *signature = payload ? strchr(payload + 1, '.') : NULL;
    if (!signature) return false;
    json_t *header = read_part(text, (size_t)(payload - text));
    const char *alg = text_of(header, "alg");
    bool good = alg && strcmp(alg, algorithm) == 0 && !json_object_get(header, "crit");
    json_decref(header);
    if (!good) return false;
    json_t *claimed = read_part(payload + 1, (size_t)(signature - payload - 1));
    good = claimed && read_claims(claimed, claims);
    json_decref(claimed);
    return good && tb_base64_read((tb_text){signature + 1, strlen(signature + 1)}, TB_BASE64_URL, bytes, sizeof bytes, &n);
}

bool token_check(const token_key *key, tb_text text, int64_t now_s, token_claims *ret_claims)
{
    char copy[TOKEN_TEXT_MAX + 1];
    token_claims claims;
    jwt_t *jwt = NULL;
    if (!key || text.len < 1 || text.len > TOKEN_TEXT_MAX || memchr(text.data, 0, text.len))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    bool good = read_token(copy, jwt_alg_str(algorithms[key->algorithm]), &claims) && claims.from_s <= now_s &&
                now_s < claims.until_s &&
                jwt_decode(&jwt, copy, key->bytes, key->len) == 0 && jwt &&
                jwt_get_alg(jwt) == algorithms[key->algorithm];
    jwt_free(jwt);
    if (good) *ret_claims = claims;
    return good;
}

tb_code token_issue(const token_key *key, const token_claims *claims, tb_buf *out, tb_error *err)
{
    jwt_t *jwt = NULL;
    char *text = NULL, scope[512] = "", sub[24];
    size_t used = 0;
    for (tb_role role = 0; role < TB_ROLE_COUNT; role++)
        if (claims->roles >> role & 1)
            used += (size_t)snprintf(scope + used, sizeof scope - used, "%s%s", used ? " " : "", tb_role_name(role));
    snprintf(sub, sizeof sub, "%lld", (long long)claims->account);
    if (jwt_new(&jwt) != 0 || jwt_add_grant(jwt, "sub", sub) != 0 || jwt_add_grant(jwt, "scope", scope) != 0 ||
        jwt_add_grant_int(jwt, "iat", claims->from_s) != 0 || jwt_add_grant_int(jwt, "nbf", claims->from_s) != 0 ||
        jwt_add_grant_int(jwt, "exp", claims->until_s) != 0) {
        jwt_free(jwt);
        return tb_no_memory(err);
    }
    if (jwt_set_alg(jwt, algorithms[key->algorithm], key->bytes, key->len) == 0)
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    if (!text)
        return tb_fail(err, TB_E_USAGE, "token-key", "The key does not sign under this algorithm.");
    tb_buf_str(out, text);
    free(text);
    return tb_buf_check(out, err);
}
