/* Places for answers that hold a snapshot of the store, and memory, until they are sent. Their
 * number is fixed and an account has at most its share, so that one account's slow clients cannot
 * keep other accounts from their answers. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_PLACES_H
#define TOLLBOOK_SERVER_HTTP_PLACES_H

#include "tollbook/error.h"

#define PLACES_MAX   64
#define PLACES_SHARE 16
#define PLACES_BYTES ((size_t)256 << 20) /* of an account's answers, unless it is one alone */

typedef struct places places;

places *places_new(void); /* NULL: out of memory */
void places_free(places *p); /* NULL is fine */
/* TB_E_RATE_LIMITED: none is left, or none for this account. */
TB_MUST_USE tb_code places_take(places *p, int64_t account, tb_error *err);
/* What the answer of a place that the account took holds from now on. TB_E_RATE_LIMITED: too much
 * beside its others; the place stays its own. */
TB_MUST_USE tb_code places_hold(places *p, int64_t account, size_t bytes, tb_error *err);
void places_give(places *p, int64_t account, size_t bytes); /* one that it took, and holds so much */

#endif
