/* Meters as catalogues declare them. They are few: each reading parses their documents. */
#include "store/core/internal.h"
#include "tollbook/meterstore.h"

#include <inttypes.h>
#include <string.h>

/* Columns: number, document. */
static tb_code meter_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_meter *meter = item;
    tb_error why = {0};
    const int64_t number = sqlite3_column_int64(s, 0);
    const char *text = (const char *)sqlite3_column_text(s, 1);
    if (!text) return tb_no_memory(err);
    tb_code code = tb_meter_parse(text, (size_t)sqlite3_column_bytes(s, 1), meter, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    if (code)
        return tb_fail(err, TB_E_CORRUPT, "meter", "The declaration of meter %" PRId64 " cannot be read: %s: %.200s Run verify.",
                       number, why.field, why.message);
    meter->number = number;
    return TB_OK;
}

static const tb__rows meter_rows = {sizeof(tb_meter), meter_from, NULL};

tb_code tb_store_meters(tb_store *store, tb_meter **ret_meters, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_METERS, NULL, 0, &meter_rows, ret_meters, ret_n, err);
}

/* The row of a statement that is bound, into the meter. */
static tb_code take_meter(tb_store *store, sqlite3_stmt *s, tb_meter *ret_meter, bool *ret_there, tb_error *err)
{
    tb_code code = tb__step(store, s, ret_there, err);
    if (code || !*ret_there) return code;
    code = meter_from(s, ret_meter, err);
    sqlite3_reset(s);
    return code;
}

tb_code tb__meter_declared(tb_store *store, int64_t number, tb_meter *ret_meter, tb_error *err)
{
    sqlite3_stmt *s;
    bool there = false;
    tb_code code = tb__sql_ints(store, TB__SQL_METER_BY_NUMBER, &number, 1, &s, err);
    if (!code) code = take_meter(store, s, ret_meter, &there, err);
    return code || there ? code : tb_fail(err, TB_E_NOT_FOUND, "meter", "There is no meter %" PRId64 ".", number);
}

static tb_code refuse_meter(tb_store *store, const char *id, tb_error *err)
{
    char meant[TB_MEANT_MAX];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_METER_NAMES, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    const char *names = row ? (const char *)sqlite3_column_text(s, 0) : NULL;
    code = tb_fail(err, TB_E_NOT_FOUND, "meter", "There is no meter \"%.64s\".%s See: tollbook catalog show --list meters", id,
                   tb_meant(names ? names : "", "", id, strlen(id), meant));
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_meter(tb_store *store, const char *id, tb_meter *ret_meter, tb_error *err)
{
    sqlite3_stmt *s;
    bool there = false;
    tb_code code = tb__sql(store, TB__SQL_METER_BY_NAME, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    code = take_meter(store, s, ret_meter, &there, err);
    return code || there ? code : refuse_meter(store, id, err);
}
