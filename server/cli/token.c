/* tollbook token: a bearer token for an account, on standard output. Nothing is stored: who holds the
 * key file can issue tokens, and a token holds until its time is over. */
#include <string.h>

#include "cli/secret.h"

static int read_roles(const cli_call *call, token_claims *claims)
{
    tb_role role;
    tb_error err;
    for (size_t i = 0; i < call->n_values; i++) {
        if (strcmp(call->values[i].option->name, "role") != 0) continue;
        if (tb_role_read(call->values[i].text, &role, &err)) {
            cli_say(call, "--role: %s", err.message);
            return tb_code_exit(TB_E_USAGE);
        }
        claims->roles |= UINT32_C(1) << role;
    }
    if (!claims->roles) claims->roles = UINT32_C(1) << TB_ROLE_USER;
    const char *refusal = tb_roles_refusal(claims->account, claims->roles);
    if (!refusal) return 0;
    cli_say(call, "%s", refusal);
    return tb_code_exit(TB_E_USAGE);
}

int cli_token(const cli_call *call)
{
    tb_error err;
    token_key *key;
    tb_buf text;
    int64_t now_us;
    token_claims claims = {.account = cli_number(call, "account", 0)};
    int status = cli_clock(call, &now_us);
    if (!status) status = read_roles(call, &claims);
    if (status) return status;
    claims.from_s = now_us / 1000000;
    claims.until_s = claims.from_s + cli_number(call, "hours", 24) * 3600;
    status = cli_read_token_key(call, TOKEN_SIGNS, &key);
    if (status) return status;
    tb_buf_init(&text, TOKEN_TEXT_MAX, NULL);
    tb_code code = token_issue(key, &claims, &text, &err);
    token_key_free(key);
    if (!code) printf("%.*s\n", (int)text.len, text.data);
    tb_buf_release(&text);
    return code ? cli_fail(call, NULL, &err) : cli_done(call);
}
