/* The money module's data as of a closing. While a connection looks back it has temporary views with the names of
 * tables, which show the rows and values of that time: SQLite uses them before the file's own tables, so every
 * statement of billing reads the past unchanged. Usage has no such view: later usage is subtracted, as for an
 * invoice that is rated again (late.c).
 *
 * An invoice and a run carry the version that they were read at, so they exist from the next version on; all else
 * carries the version that added it. The void of an invoice has no version, but an entry of the ledger. */
#include "store/money/billing.h"
#include "tollbook/ledgerstore.h"

#include <inttypes.h>
#include <stdio.h>

#define VERSION "(SELECT version FROM temp.moment)"
#define ENTRIES "(SELECT entries FROM temp.moment)"
#define CLOSING "(SELECT closing FROM temp.moment)"

#define THEN(column) "iif(closed_version>" VERSION "," TB__FOR_EVER "," column ")AS " column
#define VOID_SINCE                                                                                 \
    "(state='void' AND EXISTS(SELECT 1 FROM main.ledger l WHERE l.kind='void' AND"                 \
    " l.reference=number AND l.reference<>'' AND l.id>" ENTRIES "))"
/* A zone's or balancer's row has its last declaration: its beginning is taken from the last declaration of that
 * time. It may have ended since: a month without anything of it is then listed needlessly, but without harm. */
#define CREATED(kind)                                                                              \
    "iif(EXISTS(SELECT 1 FROM main.declaration d WHERE d.kind='" kind "' AND d.id=" kind ".id AND" \
    " d.version>" VERSION "),coalesce((SELECT CAST(unixepoch(d.document->>'$.created','subsec')*"  \
    "1000000 AS INTEGER) FROM main.declaration d WHERE d.kind='" kind "' AND d.id=" kind ".id AND" \
    " d.version<=" VERSION " ORDER BY d.from_us DESC,d.version DESC LIMIT 1),-9223372036854775807-1)," \
    "created_us)AS created_us"

static const char then[] =
    "CREATE TEMP VIEW invoice AS SELECT id,year,serial,number,kind,iif(" VOID_SINCE ",'final',state)"
    "AS state,account,month,watermark,since,currency,total,sha256,previous,replaces,finalized_us,"
    "iif(" VOID_SINCE "," TB__FOR_EVER ",voided_us)AS voided_us,document FROM main.invoice"
    " WHERE watermark<" VERSION ";"
    "CREATE TEMP VIEW month_run AS SELECT " TB__C_month_run("") " FROM main.month_run WHERE watermark<"
    VERSION ";"
    "CREATE TEMP VIEW late AS SELECT " TB__C_late("") " FROM main.late WHERE version<=" VERSION ";"
    "CREATE TEMP VIEW charge AS SELECT id,account,month,amount,currency,description,reference,version,added_us,"
    "iif(dropped_version>" VERSION "," TB__FOR_EVER ",dropped_version)AS dropped_version,tax_category FROM main.charge"
    " WHERE version<=" VERSION ";"
    "CREATE TEMP VIEW book AS SELECT " TB__C_book("") " FROM main.book WHERE version<=" VERSION ";"
    "CREATE TEMP VIEW declaration AS SELECT kind,id,from_us," THEN("to_us") ",document,version,"
    THEN("closed_version") " FROM main.declaration WHERE version<=" VERSION ";"
    "CREATE TEMP VIEW zone AS SELECT id,account,name,type," CREATED("zone") ",settings,document,"
    "declared_us," TB__FOR_EVER " AS deleted_us FROM main.zone;"
    "CREATE TEMP VIEW balancer AS SELECT id,account," CREATED("balancer") "," TB__FOR_EVER " AS ended_us,"
    "document,declared_us," TB__FOR_EVER " AS deleted_us FROM main.balancer;"
    "CREATE TEMP VIEW closing AS SELECT id,month,closed_us,version,entries,sha256,iif(reopened_version>"
    VERSION "," TB__FOR_EVER ",reopened_us)AS reopened_us,iif(reopened_version>" VERSION ","
    TB__FOR_EVER ",reopened_version)AS reopened_version,document FROM main.closing WHERE id<" CLOSING ";";

#define GONE(view) "DROP VIEW IF EXISTS temp." view ";"
static const char now[] = GONE("moment") GONE("invoice") GONE("month_run") GONE("late") GONE("charge") GONE("book")
    GONE("declaration") GONE("zone") GONE("balancer") GONE("closing");

/* query_only also forbids a reader temporary views: it is switched off meanwhile. */
static tb_code change_views(tb_store *store, const char *sql, tb_error *err)
{
    tb_error ignored;
    tb_code code = store->write ? TB_OK : tb__exec(store->db, store->path, "PRAGMA query_only=OFF", err);
    if (!code) code = tb__exec(store->db, store->path, sql, err);
    if (!store->write && tb__exec(store->db, store->path, "PRAGMA query_only=ON", code ? &ignored : err) && !code)
        code = TB_E_IO;
    /* the cached account is of the other time */
    if (store->billing) store->billing->version = store->billing->places_version = -1;
    return code;
}

tb_code tb_store_look_back(tb_store *store, const tb_closing *closing, tb_error *err)
{
    char sql[sizeof then + 200];
    snprintf(sql, sizeof sql,
             "CREATE TEMP VIEW moment AS SELECT %" PRIu64 " AS version,%" PRIu64 " AS entries,%" PRId64
             " AS closing;%s", closing->version, closing->entries, closing->id, then);
    tb_error ignored;
    tb_code code = change_views(store, sql, err);
    if (!code) store->back = (int64_t)closing->version;
    else if (tb_store_look_forward(store, &ignored)) return code; /* drops the views made so far */
    return code;
}

tb_code tb_store_look_forward(tb_store *store, tb_error *err)
{
    store->back = 0;
    return change_views(store, now, err);
}
