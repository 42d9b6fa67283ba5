/* Printable invoices: one page of HTML, or a PDF. Both draw the same sheet, so they show the same: on the first page
 * the summary for the customer (parties, subject, amount, payment), after it every line, and on request a page for
 * auditors. Words and figures are English, or German where the buyer's language is "de". No clock, no locale: the
 * same statement and fonts give the same bytes.
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

/* An account's statement: the charges and payments from one day to another, with the balance before and after. Pure:
 * tb_account_read (ledger.h) reads one from a store. */

typedef struct tb_account_entry {
    int64_t at_us;
    const char *kind;    /* as tb_ledger_entry_name */
    tb_decimal amount;   /* its change of the balance: invoices are negative */
    tb_decimal balance;  /* after it */
    const char *reference, *note; /* the invoice's number, the payment's name; "": none */
    const char *expires; /* a credit's last day, "2026-12-31"; NULL or "": none */
    tb_decimal drawn;    /* of kind credit_drawn, which has amount 0: the amount that the invoice drew from credit; below
                            zero: gave back */
} tb_account_entry;

typedef struct tb_account_statement {
    int64_t account;
    const char *name;      /* of the account; NULL: not known */
    char currency[4];      /* of the entries; without any the declared one of the last month */
    int minor_digits;      /* of the currency */
    int64_t first, last;   /* days since January 1970, UTC, both included */
    tb_decimal opening, closing;
    const tb_account_entry *entries; /* as they were entered */
    size_t n;
    const tb_party *seller, *buyer; /* NULL: not declared */
} tb_account_statement;

/* Appends it as JSON: {"account","name","currency","from","to","opening","closing","entries":[{"time",
 * "kind","amount","balance","reference","note"}]}, amounts as decimal text. A credit has "expires", what
 * was drawn of one "drawn" beside. */
void tb_account_json(const tb_account_statement *statement, tb_buf *out);
/* As CSV: a row for the opening balance, one an entry, and the closing balance. */
void tb_account_csv(const tb_account_statement *statement, tb_buf *out);

/* A whole page, and a whole PDF, as print.h's. */
TB_MUST_USE tb_code tb_account_html(const tb_account_statement *statement,
                                    const tb_print_options *options, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_account_pdf(const tb_account_statement *statement,
                                   const tb_print_options *options, tb_buf *out, tb_error *err);

TB_API_END

#endif
