/* The body of POST /billing/what-if. Scenarios are kept as the bytes that were sent: their numbers
 * are decimals, and no double may come between. */
#ifndef TOLLBOOK_SERVER_API_WHATIF_BODY_H
#define TOLLBOOK_SERVER_API_WHATIF_BODY_H

#include "tollbook/key.h"
#include "tollbook/whatif.h"

#define WHATIF_BODY_MAX      ((size_t)4 << 20)
#define WHATIF_SCENARIOS_MAX 64

typedef struct whatif_slice {
    const char *text;
    size_t len;
} whatif_slice;

typedef struct whatif_body {
    char from[16], to[16];                       /* as sent; "" where it is absent */
    int64_t account;                             /* 0: absent */
    whatif_slice scenario[WHATIF_SCENARIOS_MAX]; /* objects, or quoted names; within the body */
    size_t n_scenarios;
} whatif_body;

/* TB_E_VALIDATION with the member's name in err->field; TB_E_TOO_MUCH: too many scenarios;
 * TB_E_TOO_LARGE. */
TB_MUST_USE tb_code whatif_body_parse(const char *body, size_t len, whatif_body *ret,
                                      tb_error *err);

#endif
