/* What terms refer to. */
#include "ops/proof/refs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "check/terms.h"

static tb_code add_name(tb__proof_name **list, size_t *n, size_t *cap, const char *text, tb_error *err)
{
    tb_code code = tb__grow(list, *n, cap, sizeof **list, err);
    if (!code) snprintf((*list)[(*n)++].text, sizeof (*list)->text, "%s", text);
    return code;
}

static tb_code add_book(tb__proof_refs *ret, const tb_book *book, tb_error *err)
{
    return book ? add_name(&ret->books, &ret->n_books, &ret->cap_books, book->id, err) : TB_OK;
}

static tb_code add_month(tb__proof_refs *ret, const tb__term_month *m, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < m->n_days; i++) {
        code = tb__grow(&ret->days, ret->n_days, &ret->cap_days, sizeof *ret->days, err);
        if (!code) ret->days[ret->n_days++] = m->days[i].index;
    }
    for (size_t i = 0; !code && i < m->input.n_parts; i++)
        code = add_book(ret, m->input.parts[i].book, err);
    for (size_t i = 0; !code && i < m->input.n_fees; i++)
        code = add_book(ret, m->input.fees[i].book, err);
    return code;
}

static tb_code add_late(tb__proof_refs *ret, const tb__term_late *late, tb_error *err)
{
    tb_code code = add_month(ret, &late->after, err);
    for (size_t i = 0; !code && i < late->n_before; i++)
        code = add_month(ret, &late->before[i], err);
    for (size_t i = 0; !code && i < late->n_billed; i++)
        code = add_name(&ret->earlier, &ret->n_earlier, &ret->cap_earlier, late->billed[i].number, err);
    return code;
}

tb_code tb__proof_refs_read(tb_text terms, tb__proof_refs *ret, tb_error *err)
{
    tb__doc_terms t;
    *ret = (tb__proof_refs){.n_days = 0};
    tb_code code = tb__terms_read(terms, NULL, 0, &t, err);
    if (code) return code;
    for (size_t i = 0; !code && i < t.n_own; i++)
        code = add_month(ret, &t.own[i], err);
    for (size_t i = 0; !code && i < t.n_lates; i++)
        code = add_late(ret, &t.lates[i], err);
    tb__terms_release(&t);
    return code;
}

void tb__proof_refs_release(tb__proof_refs *refs)
{
    free(refs->days);
    free(refs->books);
    free(refs->earlier);
}
