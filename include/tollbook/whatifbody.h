/* POST /billing/what-if, from its body to the answer's bytes. Scenarios are kept as the bytes that were sent: their numbers
 * are decimals, and no double may come between. */
#ifndef TOLLBOOK_WHATIFBODY_H
#define TOLLBOOK_WHATIFBODY_H

#include "tollbook/key.h"
#include "tollbook/whatifrun.h"

TB_API_BEGIN

#define TB_WHATIF_BODY_MAX           ((size_t)4 << 20)
#define TB_WHATIF_BODY_SCENARIOS_MAX 64
#define TB_WHATIF_BODY_MONTHS_MAX    60     /* of a span */
#define TB_WHATIF_BODY_BILLS_MAX     200000 /* account-months x scenarios */

typedef struct tb_whatif_slice {
    const char *text;
    size_t len;
} tb_whatif_slice;

typedef struct tb_whatif_body {
    char from[16], to[16]; /* as sent; "" where it is absent */
    int64_t account;       /* 0: absent */
    tb_whatif_slice
        scenario[TB_WHATIF_BODY_SCENARIOS_MAX]; /* objects, or quoted names; within the body */
    size_t n_scenarios;
} tb_whatif_body;

/* TB_E_VALIDATION with the member's name in err->field; TB_E_TOO_MUCH: too many scenarios;
 * TB_E_TOO_LARGE. */
TB_MUST_USE tb_code tb_whatif_body_parse(const char *body, size_t len, tb_whatif_body *ret,
                                         tb_error *err);

typedef struct tb_whatif_ask {
    const char *body;
    size_t len;
    const char *form;    /* as tb_whatif_put takes it */
    int64_t account;     /* whose key asks; 0: the operator's, who may name stored scenarios */
    int64_t now_us;
    tb_whatif_step step; /* may be NULL */
    void *ctx;
} tb_whatif_ask;

/* Reads and answers, in a snapshot of its own. err->field says where in the body it is wrong.
 * TB_E_TOO_MUCH: past a bound, of out's too. Otherwise as tb_whatif_run. */
TB_MUST_USE tb_code tb_whatif_ask_put(tb_store *store, const tb_whatif_ask *ask, tb_buf *out,
                                      tb_error *err);

TB_API_END

#endif
