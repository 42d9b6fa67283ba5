/* Writes stored invoices and drafts in the requested form. Every form is made from the canonical
 * text, read back, so that it shows what was issued. */
#ifndef TOLLBOOK_DOCUMENT_H
#define TOLLBOOK_DOCUMENT_H

#include "tollbook/issue.h"

TB_API_BEGIN

typedef enum tb_shown_form {
    TB_SHOWN_JSON,
    TB_SHOWN_CSV,
    TB_SHOWN_HTML,
    TB_SHOWN_FOCUS,
    TB_SHOWN_UBL,      /* for Peppol: tb_shown_one alone, of a final invoice */
    TB_SHOWN_XRECHNUNG /* likewise */
} tb_shown_form;

/* A document of any number of invoices: open, one or more, close. JSON is {"invoices":[...]} and a
 * line end for the command line; tb_shown_one is the invoice's own text. */
void tb_shown_open(tb_shown_form form, tb_buf *out);
TB_MUST_USE tb_code tb_shown_stored(tb_shown_form form, const tb_invoice *invoice, bool first,
                                    tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_shown_draft(tb_shown_form form, const tb_statement *statement, bool first,
                                   tb_buf *out, tb_error *err);
void tb_shown_close(tb_shown_form form, tb_buf *out);

/* One stored invoice alone, as a document. */
TB_MUST_USE tb_code tb_shown_one(tb_shown_form form, const tb_invoice *invoice, tb_buf *out,
                                 tb_error *err);

const char *tb_shown_media_type(tb_shown_form form);

TB_API_END

#endif
