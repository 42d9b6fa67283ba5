/* Bearer tokens: JSON Web Tokens (RFC 7519) that name an account, its roles and a time in which they
 * hold. Signed under one algorithm that the operator chose: a token under another one, `none` above
 * all, is no token.
 *
 * Claims: sub, the account's id in decimal; scope, role names with a space between; iat, nbf and
 * exp in seconds. A token without exp is refused. Life cycle: token_key_load, then the others from
 * any thread, token_key_free. */
#ifndef TOLLBOOK_SERVER_HTTP_TOKEN_H
#define TOLLBOOK_SERVER_HTTP_TOKEN_H

#include "http/token_key.h"
#include "tollbook/buf.h"
#include "tollbook/key.h"
#include "tollbook/range.h"

#define TOKEN_TEXT_MAX   4096

typedef struct token_claims {
    int64_t account;
    uint32_t roles;
    int64_t from_s, until_s; /* nbf and exp: from is in, until is not */
} token_claims;

/* Whether the text is a token under this key that holds at now_s, and what it says. */
bool token_check(const token_key *key, tb_text text, int64_t now_s, token_claims *ret_claims);
/* Appends a token's text. TB_E_USAGE: the key cannot sign. */
TB_MUST_USE tb_code token_issue(const token_key *key, const token_claims *claims, tb_buf *out,
                                tb_error *err);

#endif
