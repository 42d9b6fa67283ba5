/* What the store's files about containers share: seals of their two tables. */
#ifndef TOLLBOOK_STORE_CONTAINERS_H
#define TOLLBOOK_STORE_CONTAINERS_H

#include "store/internal.h"
#include "store/seal.h"
#include "tollbook/containerstore.h"

static inline int64_t tb__seal_container(int64_t kind, int64_t account, tb_text id, tb_text document)
{
    const int64_t whose[2] = {kind, account};
    int64_t seal = tb__seal(whose, sizeof whose, 0);
    seal = tb__seal(id.data, id.len, seal);
    return tb__seal(document.data, document.len, seal);
}

static inline int64_t tb__seal_deployment(int64_t account, tb_text app, tb_text status,
                                          int64_t asked, int64_t changed_us)
{
    const int64_t numbers[3] = {account, asked, changed_us};
    int64_t seal = tb__seal(numbers, sizeof numbers, 1);
    seal = tb__seal(app.data, app.len, seal);
    return tb__seal(status.data, status.len, seal);
}

/* A column's text, as long as the row is there; data NULL: NULL, or no memory. */
tb_text tb__column_text(sqlite3_stmt *s, int column);

/* An application's deployment. The status is one of at most 15 bytes. */
TB_MUST_USE tb_code tb__deployment_get(tb_store *store, int64_t account, tb_text app,
                                       char ret_status[16], int64_t *ret_asked, bool *ret_there,
                                       tb_error *err);
TB_MUST_USE tb_code tb__deployment_put(tb_store *store, int64_t account, tb_text app,
                                       const char *status, int64_t asked, int64_t now_us,
                                       tb_error *err);

/* Makes the stored containers equal to the catalogue's. */
TB_MUST_USE tb_code tb__containers_apply(tb_store *store, const tb_catalog *catalog, int64_t now_us,
                                         tb_applied *counts, tb_error *err);

#endif
