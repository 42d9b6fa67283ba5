#include "ops/proof/refs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "check/terms.h"

static tb_code add_name(tb__proof_name **list, size_t *n, size_t *cap, const char *name, tb_error *err)
{
    tb_code code = *name ? tb__grow(list, *n, cap, sizeof **list, err) : TB_OK;
    if (code || !*name) return code;
    tb__proof_name *added = &(*list)[(*n)++];
    *added = (tb__proof_name){""};
    snprintf(added->text, sizeof added->text, "%s", name);
    return TB_OK;
}

static tb_code add_earlier(tb__proof_refs *refs, const char *number, tb_error *err)
{
    return add_name(&refs->earlier, &refs->n_earlier, &refs->cap_earlier, number, err);
}

static tb_code add_days(tb__proof_refs *refs, const tb__term_month *month, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < month->n_days; i++) {
        code = tb__grow(&refs->days, refs->n_days, &refs->cap_days, sizeof *refs->days, err);
        if (!code) refs->days[refs->n_days++] = month->days[i].index;
    }
    return code;
}

tb_code tb__proof_refs_read(tb_text terms, tb__proof_refs *ret, tb_error *err)
{
    tb__doc_terms t;
    *ret = (tb__proof_refs){.n_days = 0};
    tb_code code = tb__terms_read(terms, &t, err);
    if (code) return code;
    for (size_t i = 0; !code && i < t.n_books; i++)
        code = add_name(&ret->books, &ret->n_books, &ret->cap_books, t.books[i]->id, err);
    for (size_t i = 0; !code && i < t.n_all; i++)
        code = add_days(ret, t.all[i], err);
    for (size_t i = 0; !code && i < t.n_lates; i++) {
        code = add_earlier(ret, t.lates[i].invoice, err);
        for (size_t k = 0; !code && k < t.lates[i].n_billed; k++)
            code = add_earlier(ret, t.lates[i].billed[k].number, err);
    }
    tb__terms_release(&t);
    return code;
}

void tb__proof_refs_release(tb__proof_refs *refs)
{
    free(refs->days);
    free(refs->books);
    free(refs->earlier);
}
