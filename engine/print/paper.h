/* A sheet drawn. */
#ifndef TOLLBOOK_PRINT_PAPER_H
#define TOLLBOOK_PRINT_PAPER_H

#include "print/sheet.h"

/* Appends it as an article of a page (html.c). */
void tb__sheet_html(const tb__sheet *sheet, tb_buf *out);
/* Appends it as a PDF; printer may be NULL. On an error out's length is as it was. */
TB_MUST_USE tb_code tb__sheet_pdf(tb_printer *printer, const tb__sheet *sheet, tb_buf *out,
                                  tb_error *err);

/* The QR code of an address. false: it cannot be made, as the shared object is not there. */
bool tb__qr_make(const char *address, tb__qr *ret);

#endif
