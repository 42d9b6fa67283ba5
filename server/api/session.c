/* Signing in to the console, and out. A key is sent once, in a body; after that the browser has a session cookie
 * (http/access.c), which scripts of the page cannot read. */
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "http/access.h"
#include "http/clock.h"
#include "http/query.h"
#include "http/replicas.h"
#include "tollbook/calendar.h"
#include "tollbook/containerstore.h"
#include "tollbook/json.h"
#include "tollbook/operation.h"
#include "tollbook/prooflog.h"
#include "tollbook/billsource.h"

#define COOKIE_MAX 192

/* The parts of the console, by the access that they need. Rows of one part are adjacent. */
static const struct {
    const char *offer;
    tb_access access;
} offers[] = {
    {"statistics", TB_ACCESS_STATISTICS}, {"statistics", TB_ACCESS_INSIGHTS}, {"zones", TB_ACCESS_PULL_ZONES},
    {"logs", TB_ACCESS_PULL_ZONES},       {"events", TB_ACCESS_PULL_ZONES},   {"billing", TB_ACCESS_BILLING},
    {"whatif", TB_ACCESS_BILLING},        {"proof", TB_ACCESS_BILLING},       {"containers", TB_ACCESS_KEYS},
    {"limits", TB_ACCESS_KEYS},           {"operator", TB_ACCESS_READ},       {"keys", TB_ACCESS_ADMIN_READ},
};
#define OFFERS (sizeof offers / sizeof *offers)

/* --- the session --- */

static void put_moment(tb_buf *out, const char *member, int64_t at_us)
{
    char text[21] = {0};
    tb_time_format(at_us, text);
    tb_buf_fmt(out, ",\"%s\":\"%s\"", member, text);
}

/* Limits are offered only to accounts that have some, checks of bills only where there is a log of documents. */
static bool is_there(const request *r, const session *s, const char *offer)
{
    tb_store *store = r->worker->store;
    int64_t limits[TB_LIMIT_COUNT];
    tb_proof_log log;
    if (strcmp(offer, "limits") == 0) return tb_store_limits(store, s->account, limits, NULL) == TB_OK;
    if (strcmp(offer, "proof") == 0) return tb_store_proof_log(store, &log, NULL) == TB_OK && log.begun;
    return true;
}

static void put_offers(const request *r, const session *s, tb_buf *out)
{
    const char *last = NULL;
    tb_buf_str(out, ",\"offers\":[");
    for (size_t i = 0; i < OFFERS; i++) {
        if ((last && strcmp(offers[i].offer, last) == 0) || !tb_roles_open(s->roles, offers[i].access)) continue;
        if (!is_there(r, s, offers[i].offer)) continue;
        tb_buf_fmt(out, "%s\"%s\"", last ? "," : "", offers[i].offer);
        last = offers[i].offer;
    }
    tb_buf_str(out, "]");
}

/* The operations with which the session's key may change something here: a standby takes no changes. */
static void put_changes(const request *r, const session *s, tb_buf *out)
{
    const tb_operation *op;
    bool first = true;
    const bool takes = replicas_role(r->worker->server) == ROLE_PRIMARY;
    tb_buf_str(out, ",\"changes\":[");
    for (size_t i = 0; takes && (op = tb_operation_at(i)) != NULL; i++) {
        if (!op->write || !tb_operation_open(op, s->roles, true)) continue;
        tb_buf_fmt(out, "%s\"%s\"", first ? "" : ",", op->name);
        first = false;
    }
    tb_buf_str(out, "]");
}

/* Where changes are made instead of here; null: here. "": it is not known. */
static void put_primary(const request *r, tb_buf *out)
{
    const server *s = r->worker->server;
    const char *primary = replicas_primary(s);
    tb_buf_str(out, ",\"primary\":");
    if (replicas_role(s) == ROLE_PRIMARY) tb_buf_str(out, "null");
    else tb_json_string(out, primary, strlen(primary));
}

/* Keys have no names, so the account's is shown. */
static void put_holder(request *r, const session *s, tb_buf *out)
{
    tb_buf name;
    tb_buf_init(&name, 1 << 16, NULL);
    if (s->account == 0 || tb_store_account_name(r->worker->store, s->account, &name, NULL)) {
        tb_buf_str(out, s->account ? "" : ",\"account\":null");
        if (s->account) tb_buf_fmt(out, ",\"account\":%" PRId64, s->account);
        tb_buf_str(out, ",\"name\":null");
    } else {
        tb_buf_fmt(out, ",\"account\":%" PRId64 ",\"name\":", s->account);
        tb_json_string(out, name.data ? name.data : "", name.len);
    }
    tb_buf_release(&name);
}

static void answer_session(request *r, const session *s)
{
    tb_buf *out = request_text(r);
    tb_role role = 0;
    while (role < TB_ROLE_COUNT - 1 && !(s->roles >> role & 1))
        role++;
    tb_buf_fmt(out, "{\"role\":\"%s\"", tb_role_name(role));
    put_holder(r, s, out);
    if (s->key > 0) tb_buf_fmt(out, ",\"key\":%" PRId64, s->key);
    else tb_buf_str(out, ",\"key\":null");
    put_moment(out, "now", request_now_us(r));
    put_moment(out, "expires", s->until_us);
    tb_buf_str(out, ",\"version\":\"" TB_VERSION "\"");
    put_offers(r, s, out);
    put_changes(r, s, out);
    put_primary(r, out);
    tb_buf_str(out, "}");
    request_answer_text(r, 200, "application/json");
}

void api_session(request *r)
{
    if (r->session.until_us) answer_session(r, &r->session);
    else request_fail(r, TB_E_UNAUTHORIZED, NULL, "There is no session. Sign in at /console/.");
}

/* --- the cookie --- */

/* If a proxy ends TLS in place of this server, its header or the page's origin shows it. */
static bool is_secure(const request *r)
{
    static const char https[] = "https";
    const tb_text proto = request_header(r, HEADER_FORWARDED_PROTO);
    const tb_text origin = request_header(r, HEADER_ORIGIN);
    const size_t n = sizeof https - 1;
    return r->conn->tls || (proto.len == n && memcmp(proto.data, https, n) == 0) ||
           (origin.len > n && memcmp(origin.data, https, n) == 0);
}

static void set_cookie(request *r, const char *text, int64_t seconds)
{
    char *out = (char *)r->work;
    _Static_assert(sizeof r->work >= COOKIE_MAX, "a cookie fits");
    snprintf(out, COOKIE_MAX,
             SESSION_COOKIE "%u=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%" PRId64 "%s",
             r->worker->server->port, text, seconds, is_secure(r) ? "; Secure" : "");
    r->reply.cookie = out;
}

static bool is_from_page(request *r)
{
    if (access_from_console(r)) return true;
    request_fail(r, TB_E_FORBIDDEN, NULL,
                 "This request needs the header X-Tollbook-Console: 1, so that no other page can send it.");
    return false;
}

/* --- signing in --- */

/* Opens a session and sets its cookie. The browser's previous session is closed, since its cookie is overwritten. */
static void open_session(request *r, const session *s)
{
    uint8_t random[SESSION_RANDOM];
    char text[SESSION_TEXT + 1];
    const int64_t now_us = request_now_us(r);
    access_end_sessions(r);
    randombytes_buf(random, sizeof random);
    sessions_open(r->worker->server->sessions, s, now_us, random, text);
    r->account = s->account;
    r->key = s->key;
    set_cookie(r, text, (s->until_us - now_us) / 1000000);
    sodium_memzero(random, sizeof random);
    sodium_memzero(text, sizeof text);
}

/* The same sentence for an unknown key and a revoked one. */
static void refuse_sign_in(request *r)
{
    unsigned wait_s;
    (void)window_take(r->worker->server->sign_ins, request_visitor(r), clock_mono_us(), &wait_s);
    request_fail(r, TB_E_UNAUTHORIZED, "key",
                 "This key is not valid. It may have been revoked, or a part of it is missing.");
}

static void sign_in_with(request *r, tb_text text)
{
    session s;
    if (!access_find(r, text, &s)) {
        refuse_sign_in(r);
        return;
    }
    size_t offer = 0;
    while (offer < OFFERS && !tb_roles_open(s.roles, offers[offer].access))
        offer++;
    if (offer == OFFERS) {
        request_fail(r, TB_E_FORBIDDEN, "key",
                     "A key of the role Ingest or Replica may look at nothing here. Sign in with another "
                     "one. Make it with: tollbook key create --account ID --role User");
    } else {
        answer_session(r, &s);
        open_session(r, &s);
    }
}

static bool has_tries_left(request *r)
{
    unsigned wait_s = 0;
    if (window_has_room(r->worker->server->sign_ins, request_visitor(r), clock_mono_us(), &wait_s))
        return true;
    request_fail(r, TB_E_RATE_LIMITED, NULL, "Too many failed sign-ins. Try again in %u seconds.", wait_s);
    r->reply.retry_after = wait_s;
    return false;
}

/* The key without white space around it, as people paste it. */
static tb_text pasted_text(const json_t *value)
{
    tb_text text = {json_string_value(value), json_string_length(value)};
    while (text.len && strchr(" \t\r\n", text.data[0]))
        text = (tb_text){text.data + 1, text.len - 1};
    while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
        text.len--;
    return text;
}

void api_sign_in(request *r)
{
    if (!is_from_page(r) || !has_tries_left(r)) return;
    json_t *body = json_loadb(r->body ? r->body : "", r->body_len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *key = json_object_get(body, "key");
    if (json_is_string(key)) {
        sign_in_with(r, pasted_text(key));
        sodium_memzero((void *)(uintptr_t)json_string_value(key), json_string_length(key));
    } else {
        request_fail(r, TB_E_VALIDATION, "key", "The body must be {\"key\":\"...\"}.");
    }
    json_decref(body);
}

/* The link of `tollbook console`. A second use leads to the same page, which asks for a key. */
void api_console_open(request *r)
{
    static const query_spec specs[] = {{"code", QUERY_TEXT, 0}};
    const tb_text query = request_query(r);
    tb_text code = {0};
    session s;
    tb_error err;
    if (query_parse(query.data, query.len, specs, 1, &code, r->scratch, &err)) {
        request_fail_as(r, &err);
        return;
    }
    request_answer_empty(r, 303);
    r->reply.location = CONSOLE_ADDRESS;
    if (r->method != HTTP_GET || !sessions_redeem(r->worker->server->sessions, code, &s)) return;
    s.until_us = request_now_us(r) + SESSION_US;
    open_session(r, &s);
    if (r->worker->server->sign_in_used) r->worker->server->sign_in_used();
}

/* Also if the session is over: the cookie is deleted. */
void api_sign_out(request *r)
{
    if (!is_from_page(r)) return;
    access_end_sessions(r);
    request_answer_empty(r, 204);
    set_cookie(r, "", 0);
}
