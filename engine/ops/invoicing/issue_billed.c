/* Reads the documents that have billed a late month so far, from which its corrections continue. */
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"

/* --- documents --- */

tb_code tb__issue_paper(tb__issue_reader *r, int64_t account, const char *number, const tb_paper **ret, tb_error *err)
{
    tb_issue *d = r->issue;
    tb_invoice invoice;
    for (size_t i = 0; i < d->n_papers; i++)
        if (strcmp((*ret = d->papers[i])->statement.number, number) == 0) return TB_OK;
    tb_paper **more = realloc(d->papers, (d->n_papers + 1) * sizeof *more);
    if (!more) return tb_no_memory(err);
    d->papers = more;
    tb_paper *paper = calloc(1, sizeof *paper);
    if (!paper) return tb_no_memory(err);
    tb_code code = tb_store_invoice(r->store, account, number, &invoice, err);
    if (!code) {
        code = tb_paper_parse(invoice.text, invoice.text_len, NULL, paper, err);
        tb_invoice_release(&invoice);
    }
    if (code) {
        free(paper);
        return code;
    }
    *ret = d->papers[d->n_papers++] = paper;
    return TB_OK;
}

void tb__issue_papers_release(tb_issue *issue)
{
    for (size_t i = 0; i < issue->n_papers; i++) {
        tb_paper_release(issue->papers[i]);
        free(issue->papers[i]);
    }
    free(issue->papers);
}

/* --- what they billed --- */

tb_code tb__issue_billed(tb__issue_reader *r, tb_issue_late *late, tb_error *err)
{
    const tb__billed_of of = {late->late.month, late->late.invoice, late->after.bill.rounding,
                              r->rules == TB_ISSUE_RULES_EARLY, r->rules != TB_ISSUE_RULES_NOW};
    tb_code code = TB_OK;
    for (size_t i = late->n_billed; !code && i-- > 0;) { /* the oldest first */
        const tb_paper *paper;
        code = tb__issue_paper(r, late->late.account, late->billed[i].number, &paper, err);
        if (!code) code = tb__billed_add(&of, &paper->statement, &late->corrections.billed, err);
    }
    return code;
}
