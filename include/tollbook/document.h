/* Writes stored invoices and drafts in the requested form. Every form is made from the canonical
 * text, read back, so that it shows what was issued. */
#ifndef TOLLBOOK_DOCUMENT_H
#define TOLLBOOK_DOCUMENT_H

#include "tollbook/issue.h"
#include "tollbook/print.h"

TB_API_BEGIN

/* X(name, word, media type, end of a file's name, alone): alone: a document is of one invoice, else
 * of any number. */
#define TB_SHOWN_FORMS(X)                                                                          \
    X(JSON, "json", "application/json", "json", false)                                             \
    X(CSV, "csv", "text/csv; charset=utf-8", "csv", false)                                         \
    X(HTML, "html", "text/html; charset=utf-8", "html", false)                                     \
    X(FOCUS, "focus", "text/csv; charset=utf-8", "csv", false)                                     \
    X(PDF, "pdf", "application/pdf", "pdf", true)                                                  \
    X(UBL, "ubl", "application/xml", "xml", true)                                                  \
    X(XRECHNUNG, "xrechnung", "application/xml", "xml", true)
#define TB_SHOWN_WORDS "json|csv|html|focus|pdf|ubl|xrechnung" /* of the rows above, as parameters list them */
typedef enum tb_shown_form {
#define TB_X(e, word, media, end, alone) TB_SHOWN_##e,
    TB_SHOWN_FORMS(TB_X)
#undef TB_X
        TB_SHOWN_FORM_COUNT
} tb_shown_form;

/* TB_SHOWN_FORM_COUNT: there is no such word. */
tb_shown_form tb_shown_form_of(const char *word, size_t len);
/* Static texts: "application/json", "json". */
const char *tb_shown_media_type(tb_shown_form form);
const char *tb_shown_end(tb_shown_form form);
/* What tells it, within its first KiB, from the other forms with the same end; "": there is no other. */
const char *tb_shown_mark(tb_shown_form form);
#define TB_SHOWN_MARK_WITHIN 1024
/* Whether a document of this form is of one invoice. */
bool tb_shown_alone(tb_shown_form form);

/* What is asked for. */
typedef struct tb_shown {
    tb_shown_form form;
    tb_print_options pages;
    tb_printer *printer; /* of many PDFs; NULL: each makes its own */
    tb_store *store; /* where names are looked up; NULL: ids alone are shown */
    int64_t now_us;  /* a draft's names are those of this moment */
} tb_shown;

/* A document of any number of invoices: open, one or more, close. JSON is {"invoices":[...]} and a
 * line end for the command line; tb_shown_one is the invoice's own text. Not for forms whose
 * documents are of one invoice. */
void tb_shown_open(const tb_shown *shown, tb_buf *out);
TB_MUST_USE tb_code tb_shown_stored(const tb_shown *shown, const tb_invoice *invoice, bool first,
                                    tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_shown_draft(const tb_shown *shown, const tb_statement *statement, bool first,
                                   tb_buf *out, tb_error *err);
void tb_shown_close(const tb_shown *shown, tb_buf *out);

/* One stored invoice alone, as a document. */
TB_MUST_USE tb_code tb_shown_one(const tb_shown *shown, const tb_invoice *invoice, tb_buf *out,
                                 tb_error *err);

TB_API_END

#endif
