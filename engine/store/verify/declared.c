/* Verify, declarations. An older version accepted declarations that are refused now: each is named, with its place
 * and the remedy. Current declarations are checked like a catalogue that declares them. A declaration that a later
 * catalogue has replaced cannot be changed any more: it is no difference, but a remark says so where months that
 * depend on it cannot be billed. */
#include <string.h>

#include "model/catalog_private.h"
#include "store/money/billing.h"
#include "store/verify/verify.h"

static const struct {
    const char *kind, *list, *name;
} kinds[] = {
    {"account", "accounts", "Account"},
    {"zone", "zones", "Pull zone"},
    {"balancer", "load_balancers", "Load balancer"},
    {"shield_zone", "shield_zones", "Shield zone"},
    {"seller", "seller", "Seller"},
    {"meter", "meters", "Meter"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

typedef struct said {
    const char *kind, *text;
    size_t len, row; /* of kinds */
    int64_t id, to_us;
} said;

static tb_code judge_now(tb__verify *v, const said *d, tb_error *err)
{
    tb_error why = {0};
    tb_code code = tb__catalog_judge(kinds[d->row].list, d->text, d->len, &why);
    if (code == TB_E_NOMEM) return tb_fail(err, code, NULL, NULL);
    if (code)
        tb__differs(v, "%s %lld: %s%s%s Apply a catalogue that corrects it.", kinds[d->row].name,
                    (long long)d->id, why.field, why.field[0] ? ": " : "", why.message);
    return TB_OK;
}

/* What bills read of it; why->code is TB_OK where they can. */
static tb_code read_as_bills(const said *d, tb_error why[TB__PARTS], tb_error *err)
{
    tb__account_terms account = {.n_tax = 0};
    tb__terms zone = {.enabled = false};
    int64_t from_us = 0, to_us = 0;
    if (strcmp(d->kind, "account") == 0)
        return tb__account_terms_of(d->text, d->len, d->id, &account, why, err);
    if (strcmp(d->kind, "zone") == 0)
        return tb__zone_terms(d->text, d->len, d->id, &zone, &from_us, &why[0], err);
    if (strcmp(d->kind, "balancer") == 0)
        return tb__balancer_span(d->text, d->len, d->id, &from_us, &to_us, err);
    return TB_OK;
}

static tb_code judge_history(tb__verify *v, const said *d, tb_error *err)
{
    tb_error why[TB__PARTS] = {{0}}, own = {0};
    char until[21] = "";
    tb_code code = read_as_bills(d, why, &own);
    if (code == TB_E_NOMEM) return tb_fail(err, code, NULL, NULL);
    if (code) why[0] = own;
    tb_time_format(d->to_us, until);
    for (int i = 0; i < TB__PARTS; i++)
        if (why[i].code)
            tb__remarks(v,
                        "%s That was declared until %.20s and has been changed since: months before"
                        " that depend on it cannot be billed.",
                        why[i].message, until);
    return TB_OK;
}

/* Other kinds are reported by the references. */
static tb_code judge(tb__verify *v, sqlite3_stmt *s, tb_error *err)
{
    said d = {.kind = (const char *)sqlite3_column_text(s, 0),
              .text = (const char *)sqlite3_column_text(s, 2),
              .len = (size_t)sqlite3_column_bytes(s, 2),
              .id = sqlite3_column_int64(s, 1),
              .to_us = sqlite3_column_int64(s, 3)};
    if (!d.kind || !d.text) return tb_no_memory(err);
    while (d.row < KINDS && strcmp(kinds[d.row].kind, d.kind) != 0)
        d.row++;
    if (d.row == KINDS) return TB_OK;
    return d.to_us == INT64_MAX ? judge_now(v, &d, err) : judge_history(v, &d, err);
}

tb_code tb__verify_declared(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_DECLARED, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = judge(v, s, err);
    return code;
}
