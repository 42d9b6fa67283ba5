/* Invoices as files of their own, NUMBER.pdf and so on: for `invoice --out` and forms that hold one invoice. No
 * state is kept between runs: a file depends only on its invoice, so that a repeated run makes the same bytes. */
#ifndef TOLLBOOK_OPS_INVOICE_FILES_H
#define TOLLBOOK_OPS_INVOICE_FILES_H

#include "ops/operations.h"
#include "tollbook/issue.h"

typedef struct tb__invoice_files {
    tb_ops *ops;
    tb_reply *reply;
    tb_shown shown; /* with the printer of all PDFs */
    bool folder; /* final invoices go into a folder; else one document is printed */
    bool resume; /* existing files are not made again */
    bool several; /* a second invoice came where one is printed */
    size_t made, kept, voids, refused;
} tb__invoice_files;

/* Sets the options and, for PDFs, makes the printer; end it with tb__invoice_files_release. */
TB_MUST_USE tb_code tb__invoice_files_init(tb__invoice_files *files, tb_ops *ops,
                                           const tb_args *args, tb_reply *reply,
                                           const tb_shown *shown, tb_error *err);
void tb__invoice_files_release(tb__invoice_files *files);

/* A stored invoice or, where invoice is NULL, a draft, which is not written to a folder. If the form cannot
 * represent the invoice, that is reported and counted. */
TB_MUST_USE tb_code tb__invoice_file(tb__invoice_files *files, const tb_invoice *invoice,
                                     const tb_statement *draft, tb_error *err);
/* Whether the run goes on after an invoice failed with this code. */
bool tb__is_own_trouble(tb_code code);
/* Reports why an invoice, or a draft where invoice is NULL, is not shown. */
void tb__say_refused(tb_reply *reply, const tb_invoice *invoice, const tb_statement *draft, const tb_error *why);
/* TB_E_VALIDATION: there are several, and no folder. This ends the run. */
TB_MUST_USE tb_code tb__invoice_files_check(const tb__invoice_files *files, tb_error *err);
/* Reports the results. Returns whether everything that was requested is there. */
bool tb__invoice_files_end(const tb__invoice_files *files);

#endif
