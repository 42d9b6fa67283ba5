/* Text that was measured and can be drawn. Short texts of Latin letters and figures, which most
 * cells are, are shaped by HarfBuzz alone; all others, and those that need more than a line, by
 * Pango: it finds fonts for other scripts, orders what runs from right to left, and breaks lines.
 * Both use the same fonts. Nothing depends on the locale: languages are set for every run of text.
 */
#ifndef TOLLBOOK_PRINT_PEN_H
#define TOLLBOOK_PRINT_PEN_H

#include <stddef.h>

#include "base/arena.h"
#include "print/words.h"
#include "tollbook/error.h"

typedef enum tb__style {
    TB__STYLE_TITLE,
    TB__STYLE_NUMBER,
    TB__STYLE_SENDER,
    TB__STYLE_HERO,
    TB__STYLE_HEADING,
    TB__STYLE_LABEL,
    TB__STYLE_BODY,
    TB__STYLE_STRONG,
    TB__STYLE_SMALL,
    TB__STYLE_MONO,
    TB__STYLE_WARN,
    TB__STYLE_WARN_STRONG,
    TB__STYLE_DUE,
    TB__STYLE_STAMP,
    TB__STYLE_COUNT
} tb__style;

typedef struct tb__colour {
    double red, green, blue;
} tb__colour;

typedef struct _cairo cairo_t; /* cairo.h */
typedef struct tb__pen tb__pen;
typedef struct tb__ink tb__ink;

/* Width and height of the box that the text fills. */
struct tb__ink {
    double width, height;
};

TB_MUST_USE tb_code tb__pen_new(tb__pen **ret_pen, tb_error *err);
void tb__pen_free(tb__pen *pen); /* NULL is allowed */
/* A document begins: inks of the one before are gone, and none of its characters was unknown. */
void tb__pen_begin(tb__pen *pen, tb__language language, const char *country);
size_t tb__pen_unknown(const tb__pen *pen);

/* Never wider than `most`, points; 0: one line, however long. NULL: no memory. */
const tb__ink *tb__pen_ink(tb__pen *pen, tb__style style, const char *text, double most);
/* Draws it with its upper left corner at (x, y), at the latest when the pen is flushed: before a
 * page ends, or the matrix changes. */
void tb__pen_draw(tb__pen *pen, cairo_t *cr, const tb__ink *ink, double x, double y);
void tb__pen_flush(tb__pen *pen, cairo_t *cr);

#endif
