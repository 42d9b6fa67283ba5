/* QR codes, by libqrencode. The same text gives the same code. */
#include "print/pdf/qr.h"

#include <errno.h>
#include <qrencode.h>

/* Level M: a seventh of the code may be unreadable. */
tb_code tb__qr_of(const char *text, tb__qr *ret, tb_error *err)
{
    QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);
    if (!code && errno != ERANGE) return tb_no_memory(err);
    const bool fits = code && code->width <= TB__QR_WIDTH;
    if (fits) ret->width = code->width;
    for (int i = 0; fits && i < code->width * code->width; i++)
        ret->dark[i / code->width][i % code->width] = code->data[i] & 1;
    QRcode_free(code);
    return fits ? TB_OK : tb_fail(err, TB_E_TOO_LARGE, NULL, "The address of the proof is too long for a QR code.");
}
