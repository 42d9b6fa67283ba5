/* What the parts of `tollbook invoice` share: a run over the accounts of a month. */
#ifndef TOLLBOOK_SERVER_CLI_INVOICE_H
#define TOLLBOOK_SERVER_CLI_INVOICE_H

#include "api/issue_group.h"
#include "api/shadow_say.h"
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

/* What those share with their twins on a server. */
void invoice_print(invoice_run *run); /* and empties run->out */
void invoice_say_lines(const cli_call *call, const char *lines, size_t len);
int invoice_end_show(const invoice_run *run);
int invoice_end_finalize(const invoice_run *run);
#define INVOICE_LATE_HEAD "account\tmonth\tinvoice\tsince\tdeltas\tdeclared"
void invoice_show_late(const tb_late *late);
int invoice_end_late(const cli_call *call, size_t n);
void invoice_say_void(const cli_call *call, const char *number);

#endif
