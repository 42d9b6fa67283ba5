#include "ops/proof/refs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "check/terms.h"

/* Terms that are being read. */
typedef struct reading {
    tb__proof_refs *refs;
    tb_error *err;
} reading;

static tb_code add_name(reading *r, tb__proof_name **list, size_t *n, size_t *cap, const char *name)
{
    tb_code code = tb__grow(list, *n, cap, sizeof **list, r->err);
    if (code) return code;
    tb__proof_name *added = &(*list)[(*n)++];
    *added = (tb__proof_name){""};
    snprintf(added->text, sizeof added->text, "%s", name);
    return TB_OK;
}

static tb_code add_book(reading *r, const tb_book *book)
{
    tb__proof_refs *refs = r->refs;
    return book ? add_name(r, &refs->books, &refs->n_books, &refs->cap_books, book->id) : TB_OK;
}

static tb_code add_earlier(reading *r, const char *number)
{
    tb__proof_refs *refs = r->refs;
    return *number ? add_name(r, &refs->earlier, &refs->n_earlier, &refs->cap_earlier, number) : TB_OK;
}

static tb_code add_month_refs(reading *r, const tb__term_month *month)
{
    tb__proof_refs *refs = r->refs;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < month->input.n_parts; i++)
        code = add_book(r, month->input.parts[i].book);
    for (size_t i = 0; !code && i < month->input.n_fees; i++)
        code = add_book(r, month->input.fees[i].book);
    for (size_t i = 0; !code && i < month->n_days; i++) {
        code = tb__grow(&refs->days, refs->n_days, &refs->cap_days, sizeof *refs->days, r->err);
        if (!code) refs->days[refs->n_days++] = month->days[i].index;
    }
    return code;
}

static tb_code add_late(reading *r, const tb__term_late *late)
{
    tb_code code = add_earlier(r, late->invoice);
    if (!code && late->n_before) code = add_month_refs(r, late->before);
    if (!code) code = add_month_refs(r, &late->after);
    for (size_t i = 0; !code && i < late->n_billed; i++)
        code = add_earlier(r, late->billed[i].number);
    return code;
}

tb_code tb__proof_refs_read(tb_text terms, tb__proof_refs *ret, tb_error *err)
{
    reading r = {ret, err};
    tb__doc_terms t;
    *ret = (tb__proof_refs){.n_days = 0};
    tb_code code = tb__terms_read(terms, NULL, 0, &t, err);
    if (code) return code;
    if (t.n_own) code = add_month_refs(&r, t.own);
    for (size_t i = 0; !code && i < t.n_lates; i++)
        code = add_late(&r, &t.lates[i]);
    tb__terms_release(&t);
    return code;
}

void tb__proof_refs_release(tb__proof_refs *refs)
{
    free(refs->days);
    free(refs->books);
    free(refs->earlier);
}
