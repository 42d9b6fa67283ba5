/* tollbook key create | revoke | list | secret. The key's text exists in this process alone, and on
 * standard output once; the store keeps its SHA-256, and its text only sealed under a secret that
 * the operator holds in a file. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/secret.h"
#include "tollbook/calendar.h"

/* --- create --- */

static int unknown_role(const cli_call *call, const char *name)
{
    cli_say(call, "There is no role \"%.64s\". See: tollbook help key create", name);
    return tb_code_exit(TB_E_USAGE);
}

/* The roles given, a bit each; User where none is. */
static int read_roles(const cli_call *call, uint32_t *ret_roles)
{
    uint32_t roles = 0;
    tb_role role;
    for (size_t i = 0; i < call->n_values; i++) {
        if (strcmp(call->values[i].option->name, "role") != 0) continue;
        if (!tb_role_parse(call->values[i].text, &role))
            return unknown_role(call, call->values[i].text);
        roles |= UINT32_C(1) << role;
    }
    *ret_roles = roles ? roles : UINT32_C(1) << TB_ROLE_USER;
    return 0;
}

static int check_operator(const cli_call *call, uint32_t roles)
{
    const char *refusal = tb_roles_refusal(cli_number(call, "account", 0), roles);
    if (!refusal) return 0;
    cli_say(call, "%s", refusal);
    return tb_code_exit(TB_E_USAGE);
}

static tb_code check_account(tb_store *store, int64_t account, tb_error *err)
{
    bool exists = true;
    tb_code code = account ? tb_store_account_exists(store, account, &exists, err) : TB_OK;
    if (code || exists) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "account",
                   "There is no account %" PRId64 ". Declare it with `tollbook apply` first.",
                   account);
}

static tb_code make_key(const cli_secret *secret, tb_key *key, char text[TB_KEY_TEXT + 1],
                        tb_error *err)
{
    uint8_t random[TB_KEY_RANDOM + TB_KEY_NONCE];
    if (sodium_init() < 0)
        return tb_fail(err, TB_E_INTERNAL, NULL, "The system gives no random bytes.");
    randombytes_buf(random, sizeof random);
    tb_key_format(random, text);
    tb_key_take(key, text);
    if (secret->there) tb_key_seal(key, text, secret->bytes, random + TB_KEY_RANDOM);
    sodium_memzero(random, sizeof random);
    return TB_OK;
}

static tb_code add_key(tb_store *store, tb_key *key, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = check_account(store, key->account, err);
    if (code == TB_OK) code = tb_store_key_add(store, key, err);
    if (code == TB_OK) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

static int create_here(const cli_call *call, uint32_t roles)
{
    tb_store *store;
    tb_error err;
    char text[TB_KEY_TEXT + 1];
    tb_key key = {.account = cli_number(call, "account", 0), .roles = roles,
                  .revoked_us = INT64_MAX};
    cli_secret secret;
    int status = cli_read_secret(call, &secret);
    if (status == 0) status = cli_clock(call, &key.created_us);
    if (status == 0) status = cli_open(call, true, key.created_us, &store);
    if (status) return status;
    tb_code code = make_key(&secret, &key, text, &err);
    sodium_memzero(&secret, sizeof secret);
    if (code == TB_OK) code = add_key(store, &key, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    printf("%s\n", text);
    sodium_memzero(text, sizeof text);
    cli_say(call, "Key %" PRId64 " is made. It is shown this once%s.", key.id,
            key.has_sealed ? ", and by GET /apikey" : "");
    return cli_done(call);
}

int cli_key_create(const cli_call *call)
{
    uint32_t roles = 0;
    int status = cli_check_place(call);
    if (status == 0) status = read_roles(call, &roles);
    if (status == 0) status = check_operator(call, roles);
    if (status) return status;
    if (cli_given(call, "server")) return remote_key_create(call, roles);
    return create_here(call, roles);
}

/* --- revoke --- */

static tb_code revoke(tb_store *store, int64_t id, int64_t now_us, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_store_key_revoke(store, id, now_us, err);
    if (code == TB_OK) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

int cli_key_revoke(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us, id = cli_number(call, "id", 0);
    int status = cli_check_place(call);
    if (status) return status;
    if (cli_given(call, "server")) return remote_key_revoke(call, id);
    status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, true, now_us, &store);
    if (status) return status;
    if (revoke(store, id, now_us, &err)) status = cli_fail(call, NULL, &err);
    else cli_say(call, "Key %" PRId64 " is revoked.", id);
    tb_store_close(store);
    return status;
}

/* --- list --- */

static void show_key(const tb_key *key)
{
    char created[20], revoked[20];
    bool first = true;
    tb_time_format(key->created_us, created);
    bool valid = key->revoked_us == INT64_MAX;
    if (!valid) tb_time_format(key->revoked_us, revoked);
    printf("%" PRId64 "\t%" PRId64 "\t", key->id, key->account);
    for (int role = 0; role < TB_ROLE_COUNT; role++) {
        if (!(key->roles >> role & 1)) continue;
        printf("%s%s", first ? "" : ",", tb_role_name((tb_role)role));
        first = false;
    }
    printf("\t%.8s\t%.20s\t%.*s\n", key->hint, created, valid ? 0 : 20, valid ? "" : revoked);
}

int cli_key_list(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_key *keys;
    size_t n;
    int64_t now_us;
    int status = cli_check_place(call);
    if (status) return status;
    if (cli_given(call, "server")) return remote_key_list(call);
    status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_keys(store, &keys, &n, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    puts("id\taccount\troles\tkey\tcreated\trevoked");
    for (size_t i = 0; i < n; i++)
        show_key(&keys[i]);
    free(keys);
    return cli_done(call);
}

/* --- secret --- */

int cli_key_secret(const cli_call *call)
{
    uint8_t random[TB_KEY_SECRET];
    char text[TB_KEY_SECRET * 2 + 1];
    if (sodium_init() < 0) {
        cli_say(call, "The system gives no random bytes.");
        return tb_code_exit(TB_E_INTERNAL);
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(text, sizeof text, random, sizeof random);
    puts(text);
    sodium_memzero(random, sizeof random);
    sodium_memzero(text, sizeof text);
    return cli_done(call);
}
