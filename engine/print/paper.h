/* A sheet drawn. */
#ifndef TOLLBOOK_PRINT_PAPER_H
#define TOLLBOOK_PRINT_PAPER_H

#include "print/sheet.h"

/* Appends it as an article of a page (html.c). */
void tb__sheet_html(const tb__sheet *sheet, tb_buf *out);
/* Appends it as a PDF; printer may be NULL. On an error out's length is as it was. */
TB_MUST_USE tb_code tb__sheet_pdf(tb_printer *printer, const tb__sheet *sheet, tb_buf *out,
                                  tb_error *err);

#endif
