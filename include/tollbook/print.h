/* Invoices as people read them: one page of HTML, or a PDF. Both draw the same sheet, so they say
 * the same: on the first page what a customer needs (who, what for, how much, how to pay), after it
 * every line, and on demand a page for auditors. Words and figures are English, or German where the
 * buyer's language is "de". No clock, no locale: the same statement and fonts give the same bytes.
 *
 * PDFs are drawn by Pango and cairo, in a shared object of its own (libtollbook-print.so.1) that is
 * loaded when the first printer is made. Programs that print none pay nothing for it. */
#ifndef TOLLBOOK_PRINT_H
#define TOLLBOOK_PRINT_H

#include "tollbook/invoice.h"

TB_API_BEGIN

#define TB_PRINT_MAX ((size_t)256 << 20) /* bytes of one document that are enough for any invoice  \
                                          */

typedef struct tb_print_options {
    bool letter;  /* paper of 8.5 by 11 inches; else A4 */
    bool auditor; /* with the exact amounts, the evidence and the hashes */
} tb_print_options;

/* --- HTML --- */

/* One page, for screen and paper, that loads nothing and runs nothing: head, any number of
 * statements, tail. options may be NULL. sha256: of the statement, "" for a draft. names may be
 * NULL: then things are named by their ids. */
void tb_print_html_head(const char *title, const tb_print_options *options, tb_buf *out);
/* TB_E_OVERFLOW: a figure that no bill has, and a damaged text can. */
TB_MUST_USE tb_code tb_print_html(const tb_statement *statement, const char *sha256,
                                  const tb_invoice_names *names, const tb_print_options *options,
                                  tb_buf *out, tb_error *err);
void tb_print_html_tail(tb_buf *out);

/* --- PDF --- */

/* Fonts and measures that any number of documents share. Of one thread at a time; several printers
 * may work in several threads. */
typedef struct tb_printer tb_printer;

/* TB_E_IO: libtollbook-print.so.1 is missing, or of another version; NOMEM. */
TB_MUST_USE tb_code tb_printer_new(tb_printer **ret_printer, tb_error *err);
void tb_printer_free(tb_printer *printer); /* NULL is allowed */
/* Characters of the last document that no font of this machine has. They are drawn as boxes with
 * their numbers: install fonts-noto-core and fonts-noto-cjk. */
size_t tb_printer_unknown(const tb_printer *printer);

/* Appends a whole PDF. printer may be NULL: then one is made for this document. Errors of
 * tb_print_html and tb_printer_new; on any of them, out's length is as it was. */
TB_MUST_USE tb_code tb_print_pdf(tb_printer *printer, const tb_statement *statement,
                                 const char *sha256, const tb_invoice_names *names,
                                 const tb_print_options *options, tb_buf *out, tb_error *err);

TB_API_END

#endif
