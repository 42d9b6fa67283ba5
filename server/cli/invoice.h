/* What the parts of `tollbook invoice` share: a run over the accounts of a month. */
#ifndef TOLLBOOK_SERVER_CLI_INVOICE_H
#define TOLLBOOK_SERVER_CLI_INVOICE_H

#include "cli/spool.h"
#include "tollbook/activate.h"
#include "tollbook/document.h"
#include "tollbook/issuegroup.h"
#include "tollbook/unowned.h"

typedef struct invoice_run {
    const cli_call *call;
    tb_store *store;
    int64_t month, now_us;
    tb_shown_form form;
    tb_month_books books;
    tb_shadow_books shadows; /* finalising alone */
    int64_t *accounts;
    size_t n_accounts, done;
    tb_buf out;                           /* what is being put */
    spool document;                       /* what was put, to be printed when it is whole */
    size_t shown;                         /* invoices in it */
    size_t left_out;                      /* invoices that are not in it */
    size_t made, known, nothing, refused; /* accounts */
    tb_unowned_usage unowned;             /* of the month, where all accounts were asked for */
} invoice_run;

/* Each prints what it finds and returns the exit status. */
int invoice_show(invoice_run *run);
int invoice_finalize(invoice_run *run);

/* What those share with their twins on a server. */
void invoice_say_lines(const cli_call *call, const char *lines, size_t len);
/* Whether the month is asked for as a whole. */
bool invoice_of_all(const invoice_run *run);
/* After a run that failed: what became of the accounts before. */
void invoice_say_kept(const invoice_run *run);
/* Prints the document, says what is in it and what is not, and returns the exit status. */
int invoice_end_show(invoice_run *run);
int invoice_end_finalize(invoice_run *run);
void invoice_say_left(const invoice_run *run, size_t n);
#define INVOICE_LATE_HEAD "account\tmonth\tinvoice\tsince\tdeltas\tdeclared\toutcome\treason"
void invoice_show_late(const tb_late *late);
int invoice_end_late(const cli_call *call, size_t n);
void invoice_say_void(const cli_call *call, const char *number);

#endif
