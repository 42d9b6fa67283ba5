/* The key that tokens are checked or signed with, as read from its file. */
#ifndef TOLLBOOK_SERVER_HTTP_TOKEN_KEY_H
#define TOLLBOOK_SERVER_HTTP_TOKEN_KEY_H

#include "tollbook/error.h"

#include <stdbool.h>

#define TOKEN_ALGORITHMS "HS256|RS256|ES256"
#define TOKEN_SECRET_MIN 32 /* bytes of an HS256 secret */
#define TOKEN_FILE_MAX   (64 << 10)

typedef struct token_key token_key;

typedef enum token_algorithm {
    TOKEN_HS256,
    TOKEN_RS256,
    TOKEN_ES256,
    TOKEN_ALGORITHM_COUNT
} token_algorithm;

/* For token.c alone. */
struct token_key {
    token_algorithm algorithm;
    bool exposed;
    int len;
    unsigned char bytes[]; /* terminated */
};

typedef enum token_use { TOKEN_CHECKS, TOKEN_SIGNS } token_use;

/* Reads a secret (HS256: the file's bytes without a line end) or a PEM key: the public one checks,
 * the private one signs. algorithm: one of TOKEN_ALGORITHMS. TB_E_IO; TB_E_USAGE if the file
 * holds no key that fits the algorithm and this use. */
TB_MUST_USE tb_code token_key_load(const char *path, const char *algorithm, token_use use,
                                   token_key **ret_key, tb_error *err);
/* Whether the file holds a secret or a private key and others than its owner may read it. */
bool token_key_exposed(const token_key *key);
void token_key_free(token_key *key); /* NULL is fine */

#endif
