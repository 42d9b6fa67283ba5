/* libtollbook-print.so.1: the code that links Pango, cairo and libxml2 is in a shared object of its own, which is
 * loaded when it is first needed. Other processes do not pay for it: these libraries and their dependencies lengthen
 * a program's start by half. */
#ifndef TOLLBOOK_BASE_HEAVY_H
#define TOLLBOOK_BASE_HEAVY_H

#include "tollbook/error.h"

#define TB__HEAVY_LIBRARY "libtollbook-print.so.1"

/* What the object calls by this name; it stays loaded. for_what: "PDFs". TB_E_IO: it cannot be loaded,
 * or has no such thing, for it is of another version. */
TB_MUST_USE tb_code tb__heavy_find(const char *symbol, const char *for_what, const void **ret,
                                   tb_error *err);
/* The error of an object of another version. */
tb_code tb__heavy_other(tb_error *err);

#endif
