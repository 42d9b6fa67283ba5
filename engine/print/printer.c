/* A printer is the shared object's press. */
#include "tollbook/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/heavy.h"
#include "print/face.h"
#include "print/paper.h"

struct tb_printer {
    const tb__press_face *face;
    tb__press *press;
    size_t unknown;
};

static tb_code load(const tb__press_face **ret, tb_error *err)
{
    const void *found = NULL;
    tb_code code = tb__heavy_find(TB__PRESS_SYMBOL, "PDFs", &found, err);
    const tb__press_face *face = found;
    if (code) return code;
    if (strcmp(face->version, TB_VERSION) != 0 || face->sheet_size != sizeof(tb__sheet))
        return tb__heavy_other(err);
    *ret = face;
    return TB_OK;
}

tb_code tb_printer_new(tb_printer **ret_printer, tb_error *err)
{
    tb_printer *printer = calloc(1, sizeof *printer);
    tb_code code = printer ? load(&printer->face, err) : tb_no_memory(err);
    if (!code) code = printer->face->open(&printer->press, err);
    if (code)
        free(printer);
    else
        *ret_printer = printer;
    return code;
}

void tb_printer_free(tb_printer *printer)
{
    if (!printer) return;
    printer->face->close(printer->press);
    free(printer);
}

bool tb__qr_make(const char *address, tb__qr *ret)
{
    const tb__press_face *face = NULL;
    tb_error err;
    return load(&face, &err) == TB_OK && face->qr(address, ret, &err) == TB_OK;
}

size_t tb_printer_unknown(const tb_printer *printer)
{
    return printer->unknown;
}

tb_code tb__sheet_pdf(tb_printer *printer, const tb__sheet *sheet, tb_buf *out, tb_error *err)
{
    const size_t before = out->len;
    tb_printer *own = NULL;
    tb_code code = printer ? TB_OK : tb_printer_new(&own, err);
    if (code) return code;
    tb_printer *with = printer ? printer : own;
    code = with->face->draw(with->press, sheet, out, &with->unknown, err);
    if (!code) code = tb_buf_check(out, err);
    if (code) out->len = before;
    tb_printer_free(own);
    return code;
}

tb_code tb_print_pdf(tb_printer *printer, const tb_statement *statement, const char *sha256,
                     const tb_invoice_names *names, const tb_print_options *options, tb_buf *out,
                     tb_error *err)
{
    tb__sheet sheet;
    tb_code code = tb__sheet_make(&sheet, statement, sha256, names, options, err);
    if (!code) code = tb__sheet_pdf(printer, &sheet, out, err);
    tb__sheet_release(&sheet);
    return code;
}
