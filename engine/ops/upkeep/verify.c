/* The store's own checks, then invoices, credit notes and shadow bills rated again, credits replayed, all of one
 * snapshot. */
#include "tollbook/operation.h"

#include "ops/operations.h"

#include "tollbook/ledger.h"
#include "tollbook/issue.h"

typedef tb_code (*part)(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                        tb_error *err);

#define WITHOUT_USAGE 2 /* so many parts rate nothing: the others need the usage */

/* Damage is a finding of the check; every other error stops it. A missing table makes a statement fail with an internal
 * error: tb_store_verify has reported it by then. */
static tb_code note_damage(tb_code code, tb_say say, void *ctx, uint64_t *differences,
                           const tb_error *err)
{
    bool damage = code == TB_E_CORRUPT || code == TB_E_NOT_OURS ||
                  (code && tb_code_exit(code) != tb_code_exit(TB_E_IO)) || /* a text of no use */
                  (code == TB_E_INTERNAL && *differences > 0);
    if (!damage) return code;
    ++*differences;
    if (say) say(ctx, err->message);
    return TB_OK;
}

tb_code tb__verify_in(tb_store *store, tb_closings_checked *closings, tb_say say, void *ctx,
                      uint64_t *ret_differences, tb_error *err)
{
    static const part parts[] = {tb_store_verify, tb_ledger_verify, tb_issue_verify, NULL /* closings */,
                                 tb_shadow_verify};
    const size_t n = tb_store_without_usage(store) ? WITHOUT_USAGE : sizeof parts / sizeof *parts;
    uint64_t differences = 0;
    tb_error own;
    tb_code code = TB_OK;
    if (!err) err = &own; /* its sentence may be a difference */
    for (size_t i = 0; !code && i < n; i++) {
        code = parts[i] ? parts[i](store, say, ctx, &differences, err)
                        : tb_closing_verify(store, closings, say, ctx, &differences, err);
        code = note_damage(code, say, ctx, &differences, err);
    }
    if (!code) *ret_differences = differences;
    return code;
}

tb_code tb_verify(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences, tb_error *err)
{
    tb_closings_checked closings = {.all = false};
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb__verify_in(store, &closings, say, ctx, ret_differences, err);
    tb_store_read_end(store);
    return code;
}
