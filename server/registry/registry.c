/* HEAD first, which is cheapest for the registry and does not count against pull quotas. If the registry wants a token,
 * one is fetched from the declared realm, for pulling this repository and nothing else, whatever scope the registry
 * names, and the request is repeated once. If the answer has no usable digest, the manifest itself is fetched and
 * hashed; a registry that claims another digest for it is an error. A manifest of several platforms is hashed itself:
 * that is what the tag names. */
#include "registry/registry.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "registry/fetch.h"
#include "tollbook/json.h"

#define MANIFEST_MAX ((size_t)4 << 20) /* the size that registries must accept at least */
#define TOKEN_MAX    16384
#define URL_MAX      2048

static const char manifests[] = "application/vnd.oci.image.index.v1+json, "
                                "application/vnd.oci.image.manifest.v1+json, "
                                "application/vnd.docker.distribution.manifest.list.v2+json, "
                                "application/vnd.docker.distribution.manifest.v2+json";

typedef struct look_up {
    const registry_question *q;
    fetch f;
    char url[URL_MAX];
    char token[TOKEN_MAX + 1];
} look_up;

/* --- names --- */

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Letters and digits, joined by '.', '_', "__" or any number of '-', and by '/' between components. */
bool registry_is_name(const char *text, size_t len)
{
    if (len == 0 || len > 255 || !is_lower(text[0]) || !is_lower(text[len - 1])) return false;
    for (size_t i = 1; i < len; i++) {
        size_t n = 0;
        while (!is_lower(text[i + n]))
            n++;
        if (n == 0) continue;
        const char c = text[i];
        bool ok = n == 1 ? c == '.' || c == '_' || c == '-' || c == '/'
                         : c == '-' || (n == 2 && c == '_');
        for (size_t k = 1; ok && k < n; k++)
            ok = text[i + k] == c;
        if (!ok) return false;
        i += n;
    }
    return true;
}

bool registry_is_tag(const char *text, size_t len)
{
    if (len == 0 || len > 128 || text[0] == '.' || text[0] == '-') return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower(text[i]) && !(text[i] >= 'A' && text[i] <= 'Z') && text[i] != '_' &&
            text[i] != '.' && text[i] != '-')
            return false;
    return true;
}

bool registry_is_digest(const char *text)
{
    if (strncmp(text, "sha256:", 7) != 0) return false;
    return strspn(text + 7, "0123456789abcdef") == 64 && text[REGISTRY_DIGEST] == 0;
}

/* --- challenges --- */

bool registry_parameter(const char *challenge, const char *name, char *out, size_t size)
{
    const size_t len = strlen(name);
    const char *at = strchr(challenge, ' ');
    while (at && *at) {
        at += strspn(at, " \t,");
        const size_t word = strcspn(at, "=, \t");
        const bool ours = word == len && strncasecmp(at, name, len) == 0;
        size_t n = 0;
        at += word;
        if (*at != '=') continue;
        const bool quoted = *++at == '"';
        at += quoted;
        while (*at && (quoted ? *at != '"' : *at != ',' && *at != ' ')) {
            if (quoted && *at == '\\' && at[1]) at++;
            if (n + 1 < size) out[n] = *at;
            n++;
            at++;
        }
        at += quoted && *at == '"';
        if (!ours) continue;
        if (n + 1 > size) return false;
        out[n] = 0;
        return true;
    }
    return false;
}

/* --- tokens --- */

static bool put_escaped(char *out, size_t size, const char *text)
{
    size_t n = strlen(out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = is_lower((char)c) || (c >= 'A' && c <= 'Z') || strchr("-._~", c);
        if (n + 4 > size) return false;
        n += (size_t)snprintf(out + n, size - n, plain ? "%c" : "%%%02X", c);
    }
    return true;
}

static tb_code make_token_url(look_up *a, tb_error *err)
{
    char realm[URL_MAX / 4], service[256], scope[300];
    if (!registry_parameter(a->f.challenge, "realm", realm, sizeof realm))
        return tb_fail(err, TB_E_REGISTRY, NULL, "%s asks for an unknown kind of credentials.",
                       a->q->url);
    if (strcmp(realm, a->q->realm) != 0)
        return tb_fail(err, TB_E_REGISTRY, NULL,
                       "%s wants tokens of %.150s, which is not the token_realm that the catalogue"
                       " declares; it was not asked.", a->q->url, realm);
    if (!registry_parameter(a->f.challenge, "service", service, sizeof service)) service[0] = 0;
    snprintf(scope, sizeof scope, "repository:%s:pull", a->q->repository);
    snprintf(a->url, sizeof a->url, "%s?scope=", realm);
    bool ok = put_escaped(a->url, sizeof a->url, scope);
    if (ok && service[0]) {
        static const char name[] = "&service=";
        size_t len = strlen(a->url);
        ok = len + sizeof name <= sizeof a->url;
        if (ok) memcpy(a->url + len, name, sizeof name);
        ok = ok && put_escaped(a->url, sizeof a->url, service);
    }
    return ok ? TB_OK : tb_fail(err, TB_E_REGISTRY, NULL, "%s: its challenge is too long.", a->q->url);
}

/* Parses the answer. NULL: it is no JSON, or larger than any manifest or token. */
static json_t *parse_answer(const look_up *a)
{
    const tb_buf *body = &a->f.body;
    return body->data && tb_json_fits(body->data, body->len) ? json_loadb(body->data, body->len, 0, NULL) : NULL;
}

static tb_code read_token(look_up *a, tb_error *err)
{
    json_t *answer = parse_answer(a);
    const char *token = json_string_value(json_object_get(answer, "token"));
    if (!token) token = json_string_value(json_object_get(answer, "access_token"));
    size_t len = token ? strlen(token) : 0;
    bool ok = len > 0 && len <= TOKEN_MAX;
    for (size_t i = 0; ok && i < len; i++)
        ok = token[i] > 0x20 && token[i] < 0x7f;
    if (ok) memcpy(a->token, token, len + 1);
    json_decref(answer);
    return ok ? TB_OK : tb_fail(err, TB_E_REGISTRY, NULL, "%s answers no token.", a->q->realm);
}

static tb_code get_token(look_up *a, tb_error *err)
{
    tb_code code = make_token_url(a, err);
    const bool known = a->q->username[0] != 0;
    const fetch_request request = {.url = a->url, .username = known ? a->q->username : NULL,
                                   .password = a->q->password};
    if (!code) code = fetch_ask(&a->f, &request, err);
    if (code) return code;
    if (a->f.status != 200)
        return tb_fail(err, TB_E_REGISTRY, NULL, "%s answers HTTP %ld when asked for a token%s%s.",
                       a->q->realm, a->f.status, known ? " as " : "", a->q->username);
    return read_token(a, err);
}

/* --- the manifest --- */

static tb_code ask_once(look_up *a, bool head, tb_error *err)
{
    const bool basic = a->q->username[0] && !a->q->realm[0];
    const fetch_request request = {.url = a->url, .head = head, .accept = manifests,
                                   .bearer = a->token[0] ? a->token : NULL,
                                   .username = basic ? a->q->username : NULL,
                                   .password = a->q->password};
    snprintf(a->url, sizeof a->url, "%s/v2/%s/manifests/%s", a->q->url, a->q->repository, a->q->tag);
    return fetch_ask(&a->f, &request, err);
}

static tb_code ask(look_up *a, bool head, tb_error *err)
{
    tb_code code = ask_once(a, head, err);
    if (code || a->f.status != 401 || !a->f.challenge[0] || a->token[0]) return code;
    code = get_token(a, err);
    return code ? code : ask_once(a, head, err);
}

/* Explains a manifest's status that is not 200. */
static tb_code judge_status(const look_up *a, tb_error *err)
{
    const long status = a->f.status;
    if (status == 200) return TB_OK;
    if (status == 404) return tb_fail(err, TB_E_IMAGE, "tag", "There is no such image or tag.");
    if (status == 401 || status == 403)
        return tb_fail(err, TB_E_IMAGE, "imageName",
                       "The registry does not show this image: it does not exist, or it is "
                       "private.");
    if (status >= 300 && status < 400)
        return tb_fail(err, TB_E_REGISTRY, NULL, "%s answers HTTP %ld; redirects are not followed.",
                       a->q->url, status);
    return tb_fail(err, TB_E_REGISTRY, NULL, "%s answers HTTP %ld for a manifest.", a->q->url, status);
}

static tb_code hash_manifest(look_up *a, char digest[REGISTRY_DIGEST + 1], tb_error *err)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    const char *body = a->f.body.data ? a->f.body.data : "";
    crypto_hash_sha256(hash, (const unsigned char *)body, a->f.body.len);
    memcpy(digest, "sha256:", 7);
    sodium_bin2hex(digest + 7, REGISTRY_DIGEST - 7 + 1, hash, sizeof hash);
    if (registry_is_digest(a->f.digest) && strcmp(a->f.digest, digest) != 0)
        return tb_fail(err, TB_E_REGISTRY, NULL,
                       "%s says that the manifest's digest is %s; it is %s.", a->q->url,
                       a->f.digest, digest);
    json_t *document = parse_answer(a);
    /* The digest of version 1 is not the hash of the bytes, which contain signatures. */
    const bool manifest = json_integer_value(json_object_get(document, "schemaVersion")) == 2;
    json_decref(document);
    if (manifest) return TB_OK;
    return tb_fail(err, TB_E_REGISTRY, NULL, "%s did not answer with a manifest.", a->q->url);
}

static tb_code find_digest(look_up *a, char digest[REGISTRY_DIGEST + 1], tb_error *err)
{
    tb_code code = ask(a, true, err);
    if (code) return code;
    const bool refused = a->f.status == 405 || a->f.status == 501; /* HEAD is not supported */
    if (!refused) code = judge_status(a, err);
    if (code) return code;
    if (!refused && a->f.digests == 1 && registry_is_digest(a->f.digest)) {
        memcpy(digest, a->f.digest, REGISTRY_DIGEST + 1);
        return TB_OK;
    }
    code = ask(a, false, err);
    if (!code) code = judge_status(a, err);
    return code ? code : hash_manifest(a, digest, err);
}

tb_code registry_digest(const registry_question *question, char ret_digest[REGISTRY_DIGEST + 1],
                        tb_error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    look_up a = {.q = question,
                .f = {.until_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 +
                                  question->limit_us,
                      .stop = question->stop, .ctx = question->ctx, .ca = question->ca}};
    char digest[REGISTRY_DIGEST + 1];
    tb_code code = fetch_open(&a.f, MANIFEST_MAX, err);
    if (!code) code = find_digest(&a, digest, err);
    fetch_close(&a.f);
    sodium_memzero(a.token, sizeof a.token);
    if (!code) memcpy(ret_digest, digest, sizeof digest);
    return code;
}

void registry_start(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT); /* if it fails, no handle can be made */
}
