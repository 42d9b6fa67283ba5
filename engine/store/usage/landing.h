/* Rows on their way into the table chunk: see landing.c. */
#ifndef TOLLBOOK_STORE_LANDING_H
#define TOLLBOOK_STORE_LANDING_H

#include "store/core/internal.h"

typedef struct tb__landing tb__landing;

/* For a writer's connection that was just opened. */
TB_MUST_USE tb_code tb__landing_open(tb_store *store, tb__landing **ret_landing, tb_error *err);
void tb__landing_free(tb__landing *landing);
/* After a failure: what has not landed never will. */
void tb__landing_drop(tb_store *store);
/* Who reads chunk with a statement of its own while it puts rows takes hold first: all that was put has
 * landed then, and until it lets go no other thread uses the connection. */
TB_MUST_USE tb_code tb__landing_hold(tb_store *store, tb_error *err);
void tb__landing_let_go(tb_store *store);
/* Sends what was put on its way, and calls more(arg) behind it: in the helper's thread where that may
 * be, else before it returns. tb__landing_wait: it has returned. */
TB_MUST_USE tb_code tb__landing_turn(tb_store *store, void (*more)(void *arg), void *arg,
                                     tb_error *err);
TB_MUST_USE tb_code tb__landing_wait(tb_store *store, tb_error *err);
/* Whether the store's helper may land rows. */
void tb__landing_share(tb_store *store, bool shared);

/* The grid joins the row of chunk under this key. */
TB_MUST_USE tb_code tb__chunk_put(tb_store *store, int64_t key, const tb_grid *grid, tb_error *err);

#endif
