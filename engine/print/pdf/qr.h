/* QR codes. */
#ifndef TOLLBOOK_PRINT_PDF_QR_H
#define TOLLBOOK_PRINT_PDF_QR_H

#include "print/sheet.h"

/* TB_E_TOO_LARGE: the text has more than TB__QR_TEXT bytes. */
TB_MUST_USE tb_code tb__qr_of(const char *text, tb__qr *ret, tb_error *err);

#endif
