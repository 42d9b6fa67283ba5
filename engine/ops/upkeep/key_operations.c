/* key create, key revoke, key list; and how every key is made. A key's text is made here, is in the reply once, and is
 * wiped with it; the store keeps its SHA-256, and the text only sealed under the caller's secret. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"

/* --- showing --- */

static void put_time(tb_buf *out, int64_t us)
{
    char text[20];
    tb_time_format(us, text);
    tb_json_string(out, text, sizeof text);
}

/* The names of a set of roles, each in quotes, or plain ones. */
static void put_roles(tb_buf *out, uint32_t roles, const char *quote)
{
    bool first = true;
    for (unsigned role = 0; role < TB_ROLE_COUNT; role++) {
        if (!(roles >> role & 1)) continue;
        tb_buf_fmt(out, "%s%s%s%s", first ? "" : ",", quote, tb_role_name((tb_role)role), quote);
        first = false;
    }
}

static void put_key_head(tb_buf *out, const tb_key *key)
{
    tb_buf_fmt(out, "{\"Id\":%" PRId64 ",\"Account\":%" PRId64 ",\"Roles\":[", key->id,
               key->account);
    put_roles(out, key->roles, "\"");
    tb_buf_str(out, "],\"Hint\":");
    tb_json_string(out, key->hint, strnlen(key->hint, sizeof key->hint));
    tb_buf_str(out, ",\"Name\":");
    tb_json_string(out, key->name, strlen(key->name));
    tb_buf_str(out, ",\"Created\":");
    put_time(out, key->created_us);
    tb_buf_str(out, ",\"Revoked\":");
    if (key->revoked_us == INT64_MAX)
        tb_buf_str(out, "null");
    else
        put_time(out, key->revoked_us);
}

/* The account's name is null for the operator and for an account that is gone. */
static void put_listed(tb_store *store, const tb_key *key, tb_buf *out)
{
    tb_buf name;
    tb_buf_init(&name, 1 << 16, NULL);
    put_key_head(out, key);
    tb_buf_str(out, ",\"AccountName\":");
    if (key->account && !tb_store_account_name(store, key->account, &name, NULL)) tb_json_string(out, name.data ? name.data : "", name.len);
    else tb_buf_str(out, "null");
    tb_buf_str(out, "}");
    tb_buf_release(&name);
}

static void put_row(tb_buf *out, const tb_key *key)
{
    char created[20], revoked[20];
    const bool valid = key->revoked_us == INT64_MAX;
    tb_time_format(key->created_us, created);
    if (!valid) tb_time_format(key->revoked_us, revoked);
    tb_buf_fmt(out, "%" PRId64 "\t%" PRId64 "\t", key->id, key->account);
    put_roles(out, key->roles, "");
    tb_buf_fmt(out, "\t%.8s\t%.20s\t%.*s\t", key->hint, created, valid ? 0 : 20,
               valid ? "" : revoked);
    tb__put_cell(out, key->name, strlen(key->name));
    tb_buf_str(out, "\n");
}

static tb_code list_keys(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_arg *of = tb_arg_of(args, "account");
    tb_key *keys = NULL;
    size_t n = 0;
    bool first = true;
    tb_code code = tb_store_keys(ops->store, &keys, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "id\taccount\troles\tkey\tcreated\trevoked\tname\n");
    tb_buf_str(&reply->json, "{\"Items\":[");
    for (size_t i = 0; i < n; i++) {
        if (of && keys[i].account != of->number) continue;
        put_row(&reply->out, &keys[i]);
        if (!first) tb_buf_str(&reply->json, ",");
        put_listed(ops->store, &keys[i], &reply->json);
        first = false;
    }
    tb_buf_str(&reply->json, "]}");
    free(keys);
    tb__print_answer(args, reply);
    return TB_OK;
}

/* --- making and revoking --- */

/* A caller with an account hands out and takes away no more than it has. */
static tb_code check_within(const tb_ops *ops, uint32_t roles, const char *field, tb_error *err)
{
    if (!ops->account || tb_roles_within(roles, ops->roles)) return TB_OK;
    return tb_fail(err, TB_E_FORBIDDEN, field,
                   "This key may make and revoke only keys with roles that allow no more than its own. Ask the operator.");
}

static tb_code read_roles(const tb_ops *ops, const tb_args *args, tb_key *key, tb_error *err)
{
    const tb_arg *arg;
    tb_role role;
    for (size_t i = 0; (arg = tb_arg_nth(args, "role", i)) != NULL; i++) {
        const tb_code code = tb_role_read(arg->text.data, &role, err);
        if (code) return code;
        key->roles |= UINT32_C(1) << role;
    }
    const char *refusal = tb_roles_refusal(key->account, key->roles);
    if (refusal) return tb_fail(err, TB_E_VALIDATION, "role", "%s", refusal);
    return check_within(ops, key->roles, "role", err);
}

static void format_key(const tb_ops *ops, tb_key *key, char text[TB_KEY_TEXT + 1])
{
    uint8_t random[TB_KEY_RANDOM + TB_KEY_NONCE];
    ops->random(random, sizeof random);
    tb_key_format(random, text);
    tb_key_take(key, text);
    if (ops->key_secret) tb_key_seal(key, text, ops->key_secret, random + TB_KEY_RANDOM);
    explicit_bzero(random, sizeof random);
}

static void put_made(tb_reply *reply, const tb_key *key, const char *text)
{
    reply->made = reply->keys = true;
    put_key_head(&reply->json, key);
    tb_buf_fmt(&reply->json, ",\"Key\":\"%s\"}", text); /* last: the buffer grows no more */
    tb_buf_fmt(&reply->out, "%s\n", text);
    tb_reply_say(reply, "Key %" PRId64 " is made. It is shown only once%s.", key->id,
                 key->has_sealed ? ", and by GET /apikey" : "");
}

tb_code tb__make_key(tb_ops *ops, tb_key *key, tb_reply *reply, tb_error *err)
{
    char text[TB_KEY_TEXT + 1];
    if (!ops->random) return tb_fail(err, TB_E_INTERNAL, NULL, "The system gives no random bytes.");
    key->created_us = ops->now_us;
    key->revoked_us = INT64_MAX;
    format_key(ops, key, text);
    tb_code code = tb_store_key_add(ops->store, key, err);
    if (!code) put_made(reply, key, text);
    explicit_bzero(text, sizeof text);
    return code;
}

static tb_code create(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_key key = {.account = tb_arg_number(args, "account", 0)};
    tb_code code = read_roles(ops, args, &key, err);
    tb_arg_copy(args, "name", key.name, sizeof key.name);
    if (!code && key.account) code = tb_store_need_account(ops->store, key.account, err);
    return code ? code : tb__make_key(ops, &key, reply, err);
}

/* To a caller with an account, keys of other accounts are like those that do not exist. */
static tb_code check_own(tb_ops *ops, int64_t *id, tb_error *err)
{
    tb_key *keys = NULL;
    size_t n = 0, at = 0;
    tb_code code = ops->account ? tb_store_keys(ops->store, &keys, &n, err) : TB_OK;
    while (at < n && (keys[at].id != *id || keys[at].account != ops->account))
        at++;
    if (!code && at < n) code = check_within(ops, keys[at].roles, "id", err);
    else if (!code && ops->account) *id = 0;
    free(keys);
    return code;
}

static tb_code revoke(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    int64_t id = tb_arg_number(args, "id", 0);
    tb_code code = check_own(ops, &id, err);
    if (!code) code = tb_store_key_revoke(ops->store, id, ops->now_us, err);
    if (code) return code;
    reply->keys = true;
    tb_reply_say(reply, "Key %" PRId64 " is revoked.", id);
    return TB_OK;
}

/* --- the rows --- */

static const tb_param create_params[] = {
    {.name = "account",
     .wire = "Account",
     .value = "ID",
     .kind = TB_PARAM_NUMBER,
     .required = true,
     .max = INT64_MAX,
     .help = "an account of the catalogue, or 0 for the operator"},
    {.name = "role",
     .wire = "Roles",
     .value = "ROLE",
     .kind = TB_PARAM_TEXT,
     .repeats = true,
     .min = 1,
     .max = 63,
     .otherwise = "User",
     .help = "a role of the key; default User"},
    {.name = "name",
     .wire = "Name",
     .value = "TEXT",
     .kind = TB_PARAM_TEXT,
     .secret = true, /* it may name a person: `forget` takes it away, and the audit log stays */
     .min = 1,
     .max = TB_KEY_NAME_MAX,
     .help = "what the key is for, to find it in lists"},
};
static const tb_param revoke_params[] = {
    {.name = "id",
     .value = "ID",
     .kind = TB_PARAM_NUMBER,
     .required = true,
     .max = INT64_MAX,
     .help = "the key's id as `tollbook key list` shows it",
     .list = "key list"},
};
static const tb_param list_params[] = {
    {.name = "account",
     .value = "ID",
     .kind = TB_PARAM_NUMBER,
     .max = INT64_MAX,
     .help = "only this account's, 0 for the operator's; default: all"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "key create",
     .summary = "Make an API key and print it, once",
     .details = "Only the key's SHA-256 is stored, and its text sealed under the secret of\n"
                "--secret-file, if given. Roles: User, UserApi, SubuserAPIStatistics,\n"
                "SubuserStatistics, SubuserManage, SubuserAPIManage, SubuserAPIPullZones,\n"
                "SubuserPullZones, SubuserAPIBilling, SubuserBilling, CustomerAdmin, Ingest,\n"
                "Operator, Finance, Support, Replica. What each may do: docs/roles.md. Account 0 is\n"
                "the operator itself: its keys have the roles Ingest, Operator, Finance, Support and\n"
                "Replica only, and no others have the last four.",
     .access = TB_ACCESS_ADMIN,
     TB__PARAMS(create_params),
     .write = create,
     .unprinted = "Nobody has seen the new key. Revoke it with `key revoke`, and make another."},
    {.name = "key revoke",
     .summary = "Revoke an API key",
     .details = "",
     .access = TB_ACCESS_ADMIN,
     TB__PARAMS(revoke_params),
     .write = revoke},
    {.name = "key list",
     .summary = "List the API keys, never their text",
     .details = "",
     .access = TB_ACCESS_ADMIN_READ,
     TB__PARAMS(list_params),
     .read = list_keys},
};
const tb__operations tb__key_operations = TB__OPERATIONS(rows);
