/* What the parts of `tollbook invoice` share: a run over the accounts of a month. */
#ifndef TOLLBOOK_SERVER_CLI_INVOICE_H
#define TOLLBOOK_SERVER_CLI_INVOICE_H

#include "api/shadow.h"
#include "api/shown.h"
#include "cli/cli.h"

typedef struct invoice_run {
    const cli_call *call;
    tb_store *store;
    int64_t month, now_us;
    shown_form form;
    month_books books;
    shadow_books shadows; /* finalising alone */
    int64_t *accounts;
    size_t n_accounts;
    tb_buf out;                           /* invoices that are not printed yet */
    size_t shown;                         /* invoices printed */
    size_t made, known, nothing, refused; /* accounts */
} invoice_run;

/* Each prints what it finds and returns the exit status. */
int invoice_show(invoice_run *run);
int invoice_finalize(invoice_run *run);

/* What the month's invoices would have come to under each shadow book, on standard error. Whatever
 * was noted of the month counts, by this run or an earlier one. */
TB_MUST_USE tb_code invoice_say_shadows(const invoice_run *run, tb_error *err);

#endif
