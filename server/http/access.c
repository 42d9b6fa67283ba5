#include "http/access.h"

#include <string.h>
#include <strings.h>

#include "http/server.h"

#define COOKIES_MAX 16 /* session cookies that are looked at in one request */

static const key_table *keys_of(request *r)
{
    return published_get(r->worker->server->keys, &r->worker->keys);
}

/* Whether this is the text of a valid key; then r->last is its holder. */
static bool find_key(request *r, tb_text text)
{
    const key_table *table = keys_of(r);
    /* The hash of the key of the connection's last request need not be computed again while the table is the same. */
    if (r->last.generation == r->worker->keys.generation && text.len == TB_KEY_TEXT) {
        unsigned char differ = 0; /* in constant time */
        for (size_t i = 0; i < TB_KEY_TEXT; i++)
            differ |= (unsigned char)(text.data[i] ^ r->last.text[i]);
        if (differ == 0) return true;
    }
    const tb_key *key = key_table_find(table, text.data ? text.data : "", text.len);
    if (!key) return false;
    r->last.generation = 0;
    if (text.len == TB_KEY_TEXT) {
        memcpy(r->last.text, text.data, TB_KEY_TEXT);
        r->last.generation = r->worker->keys.generation;
    }
    r->last.account = key->account;
    r->last.key = key->id;
    r->last.roles = key->roles;
    return true;
}

static bool has_credentials(const request *r)
{
    return request_header(r, HEADER_ACCESS_KEY).len > 0 || request_header(r, HEADER_AUTHORIZATION).len > 0;
}

/* The text of "Bearer TEXT", or the whole header as some clients send it, if no AccessKey was sent; else empty. */
static tb_text bearer_text(const request *r)
{
    static const char scheme[] = "bearer ";
    const size_t n = sizeof scheme - 1;
    const tb_text text = request_header(r, HEADER_AUTHORIZATION);
    if (request_header(r, HEADER_ACCESS_KEY).len > 0) return (tb_text){0};
    if (text.len > n && strncasecmp(text.data, scheme, n) == 0)
        return (tb_text){text.data + n, text.len - n};
    return text;
}

static bool find_token(request *r, tb_text text, token_claims *claims)
{
    return token_check(worker_token_key(r->worker), text, request_now_us(r) / 1000000, claims);
}

/* --- sessions --- */

static void hash_token_key(request *r, uint8_t out[TB_KEY_HASH])
{
    const token_key *key = worker_token_key(r->worker);
    tb_key_hash(key ? (const char *)key->bytes : "", key ? (size_t)key->len : 0, out);
}

/* A session ends when its key is revoked, or when tokens are checked with another key. */
static bool still_bound(request *r, const session *s)
{
    uint8_t hash[TB_KEY_HASH];
    if (s->key == 0) return true; /* server_leave_sign_in */
    if (s->key != REQUEST_KEY_TOKEN) return key_table_find_hash(keys_of(r), s->bound) != NULL;
    hash_token_key(r, hash);
    return worker_token_key(r->worker) && tb_key_equal(hash, s->bound);
}

/* Walks the session texts in a request's cookies, COOKIES_MAX at most. */
typedef struct cookies {
    size_t at;
    unsigned seen;
} cookies;

static bool next_cookie(const request *r, cookies *c, tb_text *ret_text)
{
    if (c->seen++ == COOKIES_MAX) return false;
    *ret_text = sessions_cookie(request_header(r, HEADER_COOKIE), r->worker->server->port, &c->at);
    return ret_text->data != NULL;
}

static bool find_session(request *r)
{
    sessions *all = r->worker->server->sessions;
    session found;
    cookies c = {0};
    tb_text text;
    while (!has_credentials(r) && next_cookie(r, &c, &text)) {
        if (!sessions_find(all, text, request_now_us(r), &found)) continue;
        if (still_bound(r, &found)) {
            r->session = found;
            return true;
        }
        sessions_close(all, text);
    }
    return false;
}

void access_end_sessions(const request *r)
{
    cookies c = {0};
    tb_text text;
    while (next_cookie(r, &c, &text))
        sessions_close(r->worker->server->sessions, text);
}

bool access_find(request *r, tb_text text, session *ret_session)
{
    token_claims claims;
    const int64_t now_us = request_now_us(r);
    session *s = ret_session;
    *s = (session){.until_us = now_us + SESSION_US};
    const tb_key *key = key_table_find(keys_of(r), text.data, text.len);
    if (key) {
        s->key = key->id;
        s->account = key->account;
        s->roles = key->roles;
        memcpy(s->bound, key->hash, sizeof s->bound);
        return true;
    }
    if (!find_token(r, text, &claims)) return false;
    s->key = REQUEST_KEY_TOKEN;
    s->account = claims.account;
    s->roles = claims.roles;
    if (claims.until_s < s->until_us / 1000000) s->until_us = claims.until_s * 1000000;
    hash_token_key(r, s->bound);
    return true;
}

bool access_from_console(const request *r)
{
    const tb_text said = request_header(r, HEADER_CONSOLE);
    return said.len == 1 && said.data[0] == '1';
}

/* --- the check --- */

static void note_holder(request *r, int64_t key, int64_t account, uint32_t roles)
{
    r->key = key;
    r->account = account;
    r->roles = roles;
}

/* Scrapers and OpenMeter's clients send a key as a bearer token, so their routes take it there, too. */
static bool find_holder(request *r, bool keyed)
{
    token_claims claims;
    const bool bearer = keyed || r->route->bearer_key;
    if (find_key(r, request_header(r, HEADER_ACCESS_KEY)) || (bearer && find_key(r, bearer_text(r))))
        note_holder(r, r->last.key, r->last.account, r->last.roles);
    else if (find_token(r, bearer_text(r), &claims))
        note_holder(r, REQUEST_KEY_TOKEN, claims.account, claims.roles);
    else if (find_session(r))
        note_holder(r, r->session.key, r->session.account, r->session.roles);
    else
        return false;
    return true;
}

tb_code access_check(request *r, const char **ret_why)
{
    const bool keyed = r->route->keyed && r->worker->server->options.metrics_key;
    if (r->route->access == TB_ACCESS_NONE && !keyed) return TB_OK;
    if (!find_holder(r, keyed)) {
        /* A missing, an unknown and a revoked key get the same sentence; the request logging API answers 403 to any
         * wrong credentials (seed, "Authentication", 3). */
        if (!r->route->logging || !has_credentials(r)) return TB_E_UNAUTHORIZED;
        *ret_why = "The credentials are not valid.";
        return TB_E_FORBIDDEN;
    }
    /* A browser sends its cookie also with requests that a page of another site makes. */
    if (r->session.until_us && r->method != HTTP_GET && r->method != HTTP_HEAD && !access_from_console(r)) {
        *ret_why = "A request that changes something needs the header X-Tollbook-Console: 1 beside a "
                   "session's cookie.";
        return TB_E_FORBIDDEN;
    }
    return tb_roles_open(r->roles, r->route->access) && (!keyed || r->account == 0) ? TB_OK
                                                                                   : TB_E_FORBIDDEN;
}
