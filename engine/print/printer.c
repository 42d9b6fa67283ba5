/* A printer is the shared object's press. The object stays loaded: fonts that were read once are
 * not read again, and what it links has no way to be unloaded cleanly. */
#include "tollbook/print.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "print/face.h"

struct tb_printer {
    const tb__press_face *face;
    tb__press *press;
    size_t unknown;
};

/* By its name, as the system finds libraries, or where this build would be installed. */
static void *open_library(void)
{
    void *object = dlopen(TB__PRESS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return object ? object : dlopen(TB_PRINT_FOLDER "/" TB__PRESS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static tb_code load(const tb__press_face **ret, tb_error *err)
{
    void *object = open_library();
    const char *why = object ? NULL : dlerror();
    if (!object)
        return tb_fail(
            err, TB_E_IO, NULL,
            "PDFs need %s. Install the package libtollbook-print1 of this version. (%.200s)",
            TB__PRESS_LIBRARY, why ? why : "It cannot be loaded.");
    const tb__press_face *face = dlsym(object, TB__PRESS_SYMBOL);
    if (!face || strcmp(face->version, TB_VERSION) != 0 || face->sheet_size != sizeof(tb__sheet))
        return tb_fail(err, TB_E_IO, NULL,
                       "%s is of another version than this tollbook (%s). Install both of one"
                       " version.",
                       TB__PRESS_LIBRARY, TB_VERSION);
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

size_t tb_printer_unknown(const tb_printer *printer)
{
    return printer->unknown;
}

tb_code tb_print_pdf(tb_printer *printer, const tb_statement *statement, const char *sha256,
                     const tb_invoice_names *names, const tb_print_options *options, tb_buf *out,
                     tb_error *err)
{
    const size_t before = out->len;
    tb_printer *own = NULL;
    tb__sheet sheet;
    tb_code code = printer ? TB_OK : tb_printer_new(&own, err);
    if (code) return code;
    tb_printer *with = printer ? printer : own;
    code = tb__sheet_make(&sheet, statement, sha256, names, options, err);
    if (!code) code = with->face->draw(with->press, &sheet, out, &with->unknown, err);
    if (!code) code = tb_buf_check(out, err);
    if (code) out->len = before;
    tb__sheet_release(&sheet);
    tb_printer_free(own);
    return code;
}
