/* Between the engine and libtollbook-print.so.1: one table of functions, found by its name. Both
 * are of one build: another version is refused. What passes is a sheet and a buffer, and both sides
 * hold the same code for those. */
#ifndef TOLLBOOK_PRINT_FACE_H
#define TOLLBOOK_PRINT_FACE_H

#include "print/sheet.h"

typedef struct tb__press tb__press; /* fonts and measures, of one thread at a time */

typedef struct tb__press_face {
    const char *version; /* TB_VERSION */
    size_t sheet_size;   /* sizeof(tb__sheet) */
    tb_code (*open)(tb__press **ret_press, tb_error *err);
    /* Appends a PDF. *ret_unknown: characters that no font has. */
    tb_code (*draw)(tb__press *press, const tb__sheet *sheet, tb_buf *out, size_t *ret_unknown,
                    tb_error *err);
    void (*close)(tb__press *press);
    /* The QR code of a text, terminated, of at most TB__QR_TEXT bytes. */
    tb_code (*qr)(const char *text, tb__qr *ret, tb_error *err);
} tb__press_face;

#define TB__PRESS_SYMBOL  "tb__press_face_1"

#endif
