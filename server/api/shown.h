/* Stored invoices and drafts in the form that was asked for. All but the canonical text are made
 * from the text itself, read back, so that every form shows what was issued. */
#ifndef TOLLBOOK_SERVER_API_SHOWN_H
#define TOLLBOOK_SERVER_API_SHOWN_H

#include "api/issue.h"

typedef enum shown_form { SHOWN_JSON, SHOWN_CSV, SHOWN_HTML, SHOWN_FOCUS } shown_form;

/* A document of any number of invoices: open, one or more, close. JSON is {"invoices":[...]} and a
 * line end for the command line; shown_one is the invoice's own text. */
void shown_open(shown_form form, tb_buf *out);
TB_MUST_USE tb_code shown_stored(shown_form form, const tb_invoice *invoice, bool first,
                                 tb_buf *out, tb_error *err);
TB_MUST_USE tb_code shown_draft(shown_form form, const tb_statement *statement, bool first,
                                tb_buf *out, tb_error *err);
void shown_close(shown_form form, tb_buf *out);

/* One stored invoice alone, as a document. */
TB_MUST_USE tb_code shown_one(shown_form form, const tb_invoice *invoice, tb_buf *out,
                              tb_error *err);

const char *shown_media_type(shown_form form);

#endif
