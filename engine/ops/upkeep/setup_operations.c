/* setup: whether a database has what its operator needs: a key of role Operator, which is made
 * where there is none, pull zones, prices for the usage that is there, and a clock that agrees with
 * what was stored. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#define MOST 20 /* edge locations that are named */

static bool is_operators(const tb_key *key)
{
    return key->revoked_us == INT64_MAX && tb_roles_open(key->roles, TB_ACCESS_OPERATOR);
}

/* The oldest valid key of role Operator; id 0: there is none. */
static tb_code find_key(tb_store *store, tb_key *ret_key, tb_error *err)
{
    tb_key *keys = NULL;
    size_t n = 0;
    *ret_key = (tb_key){.id = 0};
    tb_code code = tb_store_keys(store, &keys, &n, err);
    if (code) return code;
    for (size_t i = 0; i < n && !ret_key->id; i++)
        if (is_operators(&keys[i])) *ret_key = keys[i];
    free(keys);
    return TB_OK;
}

static void say_key(const tb_key *key, tb_reply *reply)
{
    char created[20];
    tb_time_format(key->created_us, created);
    tb_buf_fmt(&reply->json, "{\"operatorKey\":%" PRId64, key->id);
    tb_reply_say(reply, "Key %" PRId64 " (%.8s..., made at %.20s) has the role Operator.", key->id,
                 key->hint, created);
}

static void add_location(void *ctx, const char *code)
{
    tb_buf *json = ctx;
    tb_buf_str(json, json->data[json->len - 1] == '[' ? "" : ",");
    tb_json_string(json, code, strlen(code));
}

/* Adds "unpriced":[...] to the answer and says it. */
static tb_code say_unpriced(tb_store *store, uint64_t n, tb_reply *reply, tb_error *err)
{
    tb_buf_str(&reply->json, ",\"unpriced\":[");
    const size_t from = reply->json.len;
    tb_code code = tb_store_unpriced_locations(store, MOST, add_location, &reply->json, err);
    if (!code && n > 0 && !reply->json.failed)
        tb_reply_warn(reply,
                      "%" PRIu64 " edge location%s in usage and in no region of the catalogue, so "
                      "without a price: %.*s%s. Add "
                      "%s to \"regions\".",
                      n, n == 1 ? " is" : "s are", (int)(reply->json.len - from),
                      reply->json.data + from, n > MOST ? ", ..." : "", n == 1 ? "it" : "them");
    tb_buf_str(&reply->json, "]}");
    return code;
}

static void check_clock(int64_t now_us, int64_t stored_us, tb_reply *reply)
{
    char now[20], stored[20];
    if (stored_us <= now_us) return;
    tb_time_format(now_us, now);
    tb_time_format(stored_us, stored);
    tb_reply_warn(reply,
                  "The clock is behind, or was ahead: it is %.20s, and usage was stored at %.20s.",
                  now, stored);
}

static tb_code check_database(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_key key;
    tb_store_figures figures;
    (void)args;
    tb_code code = find_key(ops->store, &key, err);
    if (!code) code = tb_store_read_figures(ops->store, &figures, err);
    if (code) return code;
    reply->settled = key.id != 0;
    if (reply->settled)
        say_key(&key, reply);
    else
        tb_buf_str(&reply->json, "{\"operatorKey\":null");
    tb_buf_fmt(&reply->json, ",\"pullZones\":%" PRIu64, figures.zones);
    if (figures.zones > 0)
        tb_reply_say(reply, "Pull zones: %" PRIu64 ".", figures.zones);
    else
        tb_reply_say(reply, "No pull zone is declared yet. Declare them (docs/catalogue.md) with: "
                            "tollbook apply CATALOG.json");
    check_clock(ops->now_us, figures.newest_log_us, reply);
    check_clock(ops->now_us, figures.newest_buckets_us, reply);
    return say_unpriced(ops->store, figures.unpriced_locations, reply, err);
}

/* Looks again: another call may have been faster. */
static tb_code make_first_key(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_key key;
    (void)args;
    tb_code code = find_key(ops->store, &key, err);
    if (code || key.id) return code;
    reply->json.len = 0;
    key = (tb_key){.roles = UINT32_C(1) << TB_ROLE_OPERATOR};
    return tb__make_key(ops, &key, reply, err);
}

static const tb_operation rows[] = {
    {.name = "setup",
     .summary = "Make what a new database lacks, and look whether all is well",
     .details =
         "Makes the database if there is none, and a first key of role Operator if no valid one is "
         "there.\n"
         "The key is printed on standard output, once. Run it as the user who owns the database, "
         "beside a\n"
         "running server or not, as often as you like: it says what is there, and warns of a full "
         "disk, a\n"
         "clock that is wrong, and usage without a price. Without --db and --server it looks at\n"
         "/var/lib/tollbook/tollbook.db, which the package's service uses. A key that --unattended "
         "left in\n"
         "FILE.first-key is shown by the next call, which then removes that file.",
     .access = TB_ACCESS_OPERATOR,
     .read = check_database,
     .write = make_first_key},
};
const tb__operations tb__setup_operations = TB__OPERATIONS(rows);
