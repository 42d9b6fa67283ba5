/* The operation `account list` finds them, here or on the server, as a person would. */
#include "cli/names.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "cli/client.h"
#include "tollbook/json.h"
#include "tollbook/operation.h"

#define MOST "20" /* accounts with the name in theirs */

static tb_code list_here(tb_store *store, int64_t now_us, const char *name, tb_buf *json, tb_error *err)
{
    static const char list[] = "account list";
    const char *const words[][2] = {{"search", name}, {"sort", "name"}, {"limit", MOST}, {"format", "json"}};
    tb_ops ops = {.store = store, .now_us = now_us};
    tb_args args;
    tb_reply reply;
    tb_code code = TB_OK;
    tb_args_init(&args, tb_operation_find(list, strlen(list)));
    tb_reply_init(&reply);
    for (size_t i = 0; !code && i < sizeof words / sizeof *words; i++) {
        const tb_param *p = tb_param_find(args.operation, words[i][0], strlen(words[i][0]));
        code = tb_args_add(&args, p, words[i][1], strlen(words[i][1]), err);
    }
    if (!code) code = tb_args_end(&args, false, err);
    if (!code) code = tb_operation_read(&ops, &args, &reply, err);
    if (!code) tb_buf_add(json, reply.json.data, reply.json.len);
    tb_reply_release(&reply);
    tb_args_release(&args);
    return code;
}

static int find_here(const cli_call *call, const char *name, json_t **ret_answer)
{
    tb_store *store;
    tb_error err;
    tb_buf json;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&json, TB_REPLY_MAX, NULL);
    if (list_here(store, now_us, name, &json, &err)) status = cli_fail(call, "--account", &err);
    else *ret_answer = json_loadb(json.data, json.len, 0, NULL);
    tb_buf_release(&json);
    tb_store_close(store);
    return status;
}

static int find_there(const cli_call *call, const char *name, json_t **ret_answer)
{
    client c;
    tb_buf body;
    int status = client_open(&c, call);
    tb_buf_init(&body, 1 << 16, NULL);
    tb_buf_str(&body, "{\"sort\":\"name\",\"limit\":" MOST ",\"search\":");
    tb_json_string(&body, name, strlen(name));
    tb_buf_str(&body, "}");
    if (status == 0)
        status = client_send(&c, &(client_request){.method = "POST", .path = "/operations/account-list", .repeats = true,
                                                   .type = "application/json", .body = body.data, .len = body.len});
    if (status == 0) {
        json_t *reply = client_json(&c);
        *ret_answer = json_incref(json_object_get(reply, "answer"));
        json_decref(reply);
    }
    tb_buf_release(&body);
    client_close(&c);
    return status;
}

/* Lists those with exactly this name, else those whose name contains it. Returns how many. */
static size_t choose(const json_t *accounts, const char *name, bool whole, int64_t *ret_account, tb_buf *said)
{
    size_t i, n = 0;
    const json_t *one;
    json_array_foreach(accounts, i, one)
    {
        const char *has = json_string_value(json_object_get(one, "name"));
        if (!has || (whole && strcasecmp(has, name) != 0)) continue;
        *ret_account = json_integer_value(json_object_get(one, "account"));
        tb_buf_fmt(said, "%s%" PRId64 " is \"%.64s\"", n++ ? ", " : "", *ret_account, has);
    }
    return n;
}

static int pick(const cli_call *call, const char *name, const json_t *accounts, int64_t *ret_account)
{
    int64_t account = 0;
    tb_buf said;
    tb_buf_init(&said, 4096, NULL);
    const size_t n = choose(accounts, name, true, &account, &said);
    if (n == 0 && choose(accounts, name, false, &account, &said))
        cli_say(call, "--account: No account has the name \"%.64s\". Names that contain it: %.*s. Give the number.", name,
                (int)said.len, said.data);
    else if (n == 0) cli_say(call, "--account: No account has the name \"%.64s\". See: tollbook account list", name);
    else if (n > 1)
        cli_say(call, "--account: %zu accounts have the name \"%.64s\": %.*s. Give the number.", n, name, (int)said.len,
                said.data);
    tb_buf_release(&said);
    if (n != 1) return tb_code_exit(TB_E_USAGE);
    *ret_account = account;
    return 0;
}

int names_account(const cli_call *call, const char *name, int64_t *ret_account)
{
    json_t *answer = NULL;
    int status = cli_given(call, "server") ? find_there(call, name, &answer) : find_here(call, name, &answer);
    if (status == 0) status = pick(call, name, json_object_get(answer, "accounts"), ret_account);
    json_decref(answer);
    return status;
}
