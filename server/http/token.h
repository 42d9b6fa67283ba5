/* Bearer tokens: JSON Web Tokens (RFC 7519) with an account, its roles and a period of validity, signed with the one
 * algorithm that the operator chose. Tokens with another one, such as `none`, are refused.
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
    int64_t from_s, until_s; /* nbf, inclusive, and exp, exclusive */
} token_claims;

/* Whether the text is a token signed with this key and valid at now_s; fills in its claims. */
bool token_check(const token_key *key, tb_text text, int64_t now_s, token_claims *ret_claims);
/* Appends a token's text. TB_E_USAGE: the key cannot sign. */
TB_MUST_USE tb_code token_issue(const token_key *key, const token_claims *claims, tb_buf *out,
                                tb_error *err);

#endif
