/* Verify, the catalogue's rows: a row's other columns must follow from its document, and the document must be the last
 * declaration. So the history of declarations covers all of it. */
#include "store/money/billing.h"
#include "store/verify/verify.h"

#include "model/settings.h"

#include <inttypes.h>
#include <string.h>

#define FOR_EVER "9223372036854775807"
#define SAID(member, usual) "coalesce(document->>'$." member "'," usual ")"
#define NOT_SAID(called, table, same)                                                              \
    "SELECT format('" called " %d is not what its document says.',id) FROM " table                 \
    " WHERE json_valid(document) AND NOT coalesce(" same ",0)"
/* A deleted object's last declaration was closed when it was deleted, and has the same document. */
#define NOT_CLOSED(called, table)                                                                  \
    "SELECT format('" called " %d is not what it was when it was deleted.',id) FROM " table        \
    " t WHERE deleted_us<" FOR_EVER " AND NOT EXISTS(SELECT 1 FROM declaration d WHERE d.kind='"   \
    table "' AND d.id=t.id AND d.to_us=t.deleted_us AND d.document=t.document)"

/* Each row is a sentence. */
static const char *const references[] = {
    NOT_SAID("Account", "account", "name IS document->>'$.name'"),
    NOT_SAID("Pull zone", "zone", "name IS document->>'$.name' AND type IS " SAID("type", "'premium'")),
    NOT_SAID("Shield zone", "shield_zone", "name IS " SAID("name", "''") " AND zone IS "
             SAID("zone", "0")),
    NOT_SAID("Meter", "meter", "name IS document->>'$.meter'"),
    NOT_CLOSED("Account", "account"),
    NOT_CLOSED("Pull zone", "zone"),
    NOT_CLOSED("Load balancer", "balancer"),
    NOT_CLOSED("Shield zone", "shield_zone"),
    NOT_CLOSED("Meter", "meter"),
};

/* Settings must be in normal form, or as stored by a version without one. */
static bool settings_fit(sqlite3_stmt *s, const tb_buf *normal)
{
    const char *stored = (const char *)sqlite3_column_text(s, 2);
    const size_t len = (size_t)sqlite3_column_bytes(s, 2);
    if (stored && len == normal->len && memcmp(stored, normal->data, len) == 0) return true;
    const char *plain = (const char *)sqlite3_column_text(s, 4);
    return stored && plain && strcmp(stored, plain) == 0;
}

static tb_code verify_zone(tb__verify *v, sqlite3_stmt *s, tb_buf *settings, tb_error *err)
{
    const int64_t id = sqlite3_column_int64(s, 0);
    const char *text = (const char *)sqlite3_column_text(s, 3);
    int64_t created_us = 0;
    tb_error why = {0};
    settings->len = 0;
    tb_code code = tb__zone_shown(text, (size_t)sqlite3_column_bytes(s, 3), id, &created_us, settings,
                                  &why);
    if (code == TB_E_NOMEM || settings->failed) return tb_no_memory(err);
    if (code) settings->len = 0; /* judged elsewhere: the plain form is left */
    if (created_us == sqlite3_column_int64(s, 1) && settings_fit(s, settings)) return TB_OK;
    if (sqlite3_errcode(v->store->db) == SQLITE_NOMEM) return tb_no_memory(err);
    tb__differs(v, "Pull zone %" PRId64 " has another beginning or other settings than its document.",
                id);
    return TB_OK;
}

static tb_code verify_zones(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    tb_buf settings;
    bool row = true;
    tb_buf_init(&settings, TB__SETTINGS_ROOM, NULL);
    tb_code code = tb__verify_sql(v, TB__V_ZONES, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_zone(v, s, &settings, err);
    tb_buf_release(&settings);
    return code;
}

static tb_code verify_balancers(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_BALANCERS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const int64_t id = sqlite3_column_int64(s, 0);
        const char *text = (const char *)sqlite3_column_text(s, 3);
        int64_t span[2];
        tb_error why = {0};
        tb_code bad = tb__balancer_span(text, (size_t)sqlite3_column_bytes(s, 3), id, &span[0],
                                        &span[1], &why);
        if (bad == TB_E_NOMEM) return tb_no_memory(err);
        if (bad) tb__differs(v, "%s", why.message);
        else if (span[0] != sqlite3_column_int64(s, 1) || span[1] != sqlite3_column_int64(s, 2))
            tb__differs(v, "Load balancer %" PRId64 " has another beginning or end than its document.",
                        id);
    }
    return code;
}

tb_code tb__verify_derived(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    if (!code) code = tb__verify_note(v, verify_zones(v, err), err);
    return code ? code : tb__verify_note(v, verify_balancers(v, err), err);
}
