/* What a token key's file held, for token.c alone. */
#ifndef TOLLBOOK_SERVER_HTTP_TOKEN_KEY_H
#define TOLLBOOK_SERVER_HTTP_TOKEN_KEY_H

#include "http/token.h"

typedef enum token_algorithm {
    TOKEN_HS256,
    TOKEN_RS256,
    TOKEN_ES256,
    TOKEN_ALGORITHM_COUNT
} token_algorithm;

struct token_key {
    token_algorithm algorithm;
    bool exposed;
    int len;
    unsigned char bytes[]; /* terminated */
};

#endif
