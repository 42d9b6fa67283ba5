/* GET, POST /keys and DELETE /keys/{id}. A key's text exists in the creating request's memory and
 * in its answer, nowhere else, and is wiped when the answer is encoded. */
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

typedef struct new_key {
    tb_key key;
    char text[TB_KEY_TEXT + 1];
} new_key;

/* --- writing --- */

static void put_time(tb_buf *out, int64_t us)
{
    char text[20];
    tb_time_format(us, text);
    tb_json_string(out, text, sizeof text);
}

static void put_key(tb_buf *out, const tb_key *key, const char *text)
{
    bool first = true;
    tb_buf_fmt(out, "{\"Id\":%" PRId64 ",\"Account\":%" PRId64 ",\"Roles\":[", key->id,
               key->account);
    for (unsigned role = 0; role < TB_ROLE_COUNT; role++) {
        if (!(key->roles >> role & 1)) continue;
        tb_buf_fmt(out, "%s\"%s\"", first ? "" : ",", tb_role_name((tb_role)role));
        first = false;
    }
    tb_buf_str(out, "],\"Hint\":");
    tb_json_string(out, key->hint, strnlen(key->hint, sizeof key->hint));
    tb_buf_str(out, ",\"Created\":");
    put_time(out, key->created_us);
    tb_buf_str(out, ",\"Revoked\":");
    if (key->revoked_us == INT64_MAX) tb_buf_str(out, "null");
    else put_time(out, key->revoked_us);
    if (text) tb_buf_fmt(out, ",\"Key\":\"%s\"", text);
    tb_buf_str(out, "}");
}

void api_keys_list(request *r)
{
    tb_key *all = NULL;
    size_t n = 0;
    tb_error err;
    if (tb_store_keys(r->worker->store, &all, &n, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf *out = request_text(r);
    tb_buf_str(out, "{\"Items\":[");
    for (size_t i = 0; i < n; i++) {
        if (i) tb_buf_str(out, ",");
        put_key(out, &all[i], NULL);
    }
    tb_buf_str(out, "]}");
    free(all);
    request_answer_text(r, 200, "application/json");
}

/* --- creating --- */

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_VALIDATION, field, "%s", sentence);
}

static tb_code read_roles(const json_t *list, uint32_t *ret_roles, tb_error *err)
{
    uint32_t roles = 0;
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return bad(err, "Roles", "Roles is a list of at least one role.");
    json_array_foreach(list, i, item)
    {
        tb_role role;
        const char *name = json_string_value(item);
        if (!name || !tb_role_parse(name, &role))
            return bad(err, "Roles", "Roles holds something that is not a role's name.");
        roles |= UINT32_C(1) << role;
    }
    *ret_roles = roles;
    return TB_OK;
}

static tb_code read_key(json_t *document, tb_key *key, tb_error *err)
{
    const char *name;
    json_t *value;
    const json_t *roles = NULL;
    bool account = false;
    if (!json_is_object(document)) return bad(err, NULL, "The body is not a JSON object.");
    json_object_foreach(document, name, value)
    {
        if (strcmp(name, "Account") == 0) {
            if (!json_is_integer(value) || json_integer_value(value) < 0)
                return bad(err, "Account", "Account is a whole number from 0 up.");
            key->account = json_integer_value(value);
            account = true;
        } else if (strcmp(name, "Roles") == 0) {
            roles = value;
        } else {
            return bad(err, NULL, "The body has a member that is neither Account nor Roles.");
        }
    }
    if (!account) return bad(err, "Account", "Account is missing.");
    key->roles = UINT32_C(1) << TB_ROLE_USER;
    tb_code code = roles ? read_roles(roles, &key->roles, err) : TB_OK;
    const char *refusal = tb_roles_refusal(key->account, key->roles);
    return code || !refusal ? code : bad(err, "Roles", refusal);
}

static tb_code parse_key(const request *r, tb_key *key, tb_error *err)
{
    json_error_t where;
    json_t *document = json_loadb(r->body ? r->body : "", r->body_len,
                                  JSON_REJECT_DUPLICATES, &where);
    if (!document) {
        bad(err, NULL, "");
        snprintf(err->message, sizeof err->message, "The body is not JSON: byte %d: %.120s.",
                 where.position, where.text);
        return err->code;
    }
    tb_code code = read_key(document, key, err);
    json_decref(document);
    return code;
}

static tb_code create(write_job *job, tb_store *store, tb_error *err)
{
    new_key *made = (new_key *)(void *)((request *)job->owner)->work;
    bool exists = true;
    tb_code code = made->key.account
                       ? tb_store_account_exists(store, made->key.account, &exists, err)
                       : TB_OK;
    if (code) return code;
    if (!exists)
        return tb_fail(err, TB_E_NOT_FOUND, "Account", "There is no account %" PRId64 ".",
                       made->key.account);
    code = tb_store_key_add(store, &made->key, err);
    job->changed_keys = code == TB_OK;
    return code;
}

void api_keys_create(request *r)
{
    uint8_t random[TB_KEY_RANDOM + TB_KEY_NONCE];
    const uint8_t *secret = worker_secret(r->worker);
    tb_error err;
    new_key *made = (new_key *)(void *)r->work;
    memset(made, 0, sizeof *made);
    made->key.created_us = request_now_us(r);
    made->key.revoked_us = INT64_MAX;
    if (parse_key(r, &made->key, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    randombytes_buf(random, sizeof random);
    tb_key_format(random, made->text);
    tb_key_take(&made->key, made->text);
    if (secret) tb_key_seal(&made->key, made->text, secret, random + TB_KEY_RANDOM);
    sodium_memzero(random, sizeof random);
    r->job.run = create;
    r->job.bytes = r->body_len;
    request_submit(r);
}

void api_keys_created(request *r)
{
    new_key *made = (new_key *)(void *)r->work;
    if (r->job.code != TB_OK) {
        request_fail_as(r, &r->job.err);
    } else {
        put_key(request_text(r), &made->key, made->text);
        request_answer_text(r, 201, "application/json");
        r->reply.secret = true;
    }
    sodium_memzero(made->text, sizeof made->text);
}

/* --- revoking --- */

static tb_code revoke(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    int64_t id;
    if (!router_id(r->id, &id)) id = 0; /* which no key has */
    tb_code code = tb_store_key_revoke(store, id, request_now_us(r), err);
    job->changed_keys = code == TB_OK;
    return code;
}

void api_keys_revoke(request *r)
{
    r->job.run = revoke;
    r->job.bytes = 0;
    request_submit(r);
}

void api_keys_revoked(request *r)
{
    if (r->job.code != TB_OK) request_fail_as(r, &r->job.err);
    else request_answer_empty(r, 204);
}
