/* Verifying shadow books, scenarios and shadow bills: books and scenarios by the hashes of their texts, shadow bills by
 * their references. The caller rates shadow bills again, as with invoices. */
#include <string.h>

#include <sodium.h>

#include "store/money/shadows.h"
#include "store/verify/verify.h"

/* Each row is a sentence. */
static const char *const references[] = {
    "SELECT format('Book %s is kept as a shadow too.',name) FROM shadow_book WHERE state='live'"
    " AND name IN(SELECT name FROM book)",
    "SELECT format('Shadow book %s was activated and is no book.',name) FROM shadow_book"
    " WHERE state='activated' AND sha256 NOT IN(SELECT sha256 FROM book)",
    "SELECT format('Shadow book %s is %s, closed at %d.',name,state,closed_us) FROM shadow_book"
    " WHERE (state='live')<>(closed_us=9223372036854775807)",
    "SELECT format('A bill of shadow book %d, which does not exist.',shadow) FROM shadow_bill"
    " WHERE shadow NOT IN(SELECT id FROM shadow_book)",
    "SELECT format('Shadow book %d has a bill for invoice %s, which is not account %d''s of that"
    " month.',shadow,invoice,account) FROM shadow_bill b WHERE invoice<>'' AND NOT EXISTS"
    "(SELECT 1 FROM invoice i WHERE i.number=b.invoice AND i.account=b.account"
    " AND i.month=b.month AND i.watermark=b.watermark)",
    "SELECT format('Shadow book %d has a bill of data version %d; the file is at %d.',shadow,"
    "watermark,value) FROM shadow_bill,meta WHERE name='data_version' AND watermark>value",
};

static tb_code verify_references(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    return code;
}

static tb_code verify_shadows(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SHADOWS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = tb__verify_book_text(v, "Shadow book", s, err);
    return code;
}

static tb_code verify_bills(tb__verify *v, tb_error *err)
{
    tb_shadow_bill bill;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SHADOW_BILLS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        tb_error why = {0};
        tb_code bad = tb__shadow_bill_from(s, &bill, &why);
        if (bad == TB_E_NOMEM) return tb_no_memory(err);
        if (bad) tb__differs(v, "%s", why.message);
    }
    return code;
}

static tb_code verify_scenario(tb__verify *v, sqlite3_stmt *s, tb_error *err)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[65];
    const char *name = (const char *)sqlite3_column_text(s, 1);
    const char *sha256 = (const char *)sqlite3_column_text(s, 2);
    const unsigned char *text = sqlite3_column_text(s, 3);
    if (!name || !sha256 || !text) return tb_no_memory(err);
    crypto_hash_sha256(hash, text, (unsigned long long)sqlite3_column_bytes(s, 3));
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    if (strcmp(hex, sha256) != 0)
        tb__differs(v, "Scenario %s: its text has the SHA-256 %s, not %s.", name, hex, sha256);
    else if (!sqlite3_column_int(s, 4))
        tb__differs(v, "Scenario %s: its text has another name.", name);
    return TB_OK;
}

static tb_code verify_scenarios(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SCENARIOS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_scenario(v, s, err);
    return code;
}

tb_code tb__verify_plans(tb__verify *v, tb_error *err)
{
    static tb_code (*const parts[])(tb__verify *, tb_error *) = {
        verify_references,
        verify_shadows,
        verify_bills,
        verify_scenarios,
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
        code = tb__verify_note(v, parts[i](v, err), err);
    return code;
}
