/* What the store's files about containers share. */
#ifndef TOLLBOOK_STORE_CONTAINERS_H
#define TOLLBOOK_STORE_CONTAINERS_H

#include "store/core/internal.h"
#include "tollbook/containerstore.h"

/* A column's text, as long as the row is there; data NULL: NULL, or no memory. */
tb_text tb__column_text(sqlite3_stmt *s, int column);

/* An application's deployment. The status is one of at most 15 bytes. */
TB_MUST_USE tb_code tb__deployment_get(tb_store *store, int64_t account, tb_text app,
                                       char ret_status[16], int64_t *ret_asked, bool *ret_there,
                                       tb_error *err);
TB_MUST_USE tb_code tb__deployment_put(tb_store *store, int64_t account, tb_text app,
                                       const char *status, int64_t asked, int64_t now_us,
                                       tb_error *err);

/* tb_store_unnamed for them. */
TB_MUST_USE tb_code tb__containers_unnamed(tb_store *store, const tb_catalog *catalog,
                                           void (*each)(void *ctx, const tb_unnamed *one), void *ctx,
                                           size_t ret_live[TB_DECLARED_KIND_COUNT], tb_error *err);
/* Makes the stored containers equal to the catalogue's. */
TB_MUST_USE tb_code tb__containers_apply(tb_store *store, const tb_catalog *catalog, int64_t now_us,
                                         tb_applied *counts, tb_error *err);

#endif
