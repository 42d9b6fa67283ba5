/* Verify, the chained tables (chain.h): each row's chain value is made again from the row and the
 * value before it, and no id is left out. */
#include "store/core/chain.h"
#include "store/money/billing.h"
#include "store/verify/verify.h"

#include <string.h>

typedef struct chained {
    const char *what; /* the name of a row in messages */
    tb__verify_statement rows;
    int n_texts;
    tb_code (*read)(sqlite3_stmt *s, tb_error *err); /* NULL: its texts mean nothing to the store */
} chained;

static tb_code read_ledger(sqlite3_stmt *s, tb_error *err)
{
    tb_ledger_entry ignored;
    return tb__ledger_from(s, &ignored, err);
}

static const chained tables[] = {
    {"Ledger entry", TB__V_LEDGER, TB__LEDGER_TEXTS, read_ledger},
    {"Audit entry", TB__V_AUDIT, TB__AUDIT_TEXTS, NULL},
};

/* Advances *id and `before` to this row as stored, so that one change gives one sentence. */
static tb_code verify_row(tb__verify *v, const chained *t, sqlite3_stmt *s, int64_t *id,
                          uint8_t before[TB__CHAIN], tb_error *err)
{
    const int column = TB__CHAIN_NUMBERS + t->n_texts;
    const int64_t own = sqlite3_column_int64(s, 0);
    uint8_t chain[TB__CHAIN];
    tb_error why = {0};
    const void *stored = sqlite3_column_blob(s, column);
    const bool whole = stored && sqlite3_column_bytes(s, column) == TB__CHAIN;
    tb_code bad = t->read ? t->read(s, &why) : TB_OK;
    if (bad == TB_E_NOMEM || !tb__chain_row(before, s, t->n_texts, chain) ||
        (!whole && sqlite3_errcode(v->store->db) == SQLITE_NOMEM))
        return tb_no_memory(err);
    if (own != *id + 1)
        tb__differs(v, "%s %lld follows entry %lld.", t->what, (long long)own, (long long)*id);
    if (bad)
        tb__differs(v, "%s", why.message);
    else if (!whole || memcmp(chain, stored, TB__CHAIN) != 0)
        tb__differs(v, "%s %lld or one before it has changed: its hash differs.", t->what,
                    (long long)own);
    *id = own;
    if (whole) memcpy(before, stored, TB__CHAIN);
    return TB_OK;
}

static tb_code verify_table(tb__verify *v, const chained *t, tb_error *err)
{
    uint8_t before[TB__CHAIN] = {0};
    int64_t id = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, t->rows, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_row(v, t, s, &id, before, err);
    return code;
}

tb_code tb__verify_chains(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof tables / sizeof *tables; i++)
        code = tb__verify_note(v, verify_table(v, &tables[i], err), err);
    return code;
}
