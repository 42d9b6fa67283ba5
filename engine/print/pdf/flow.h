/* A sheet laid out on pages: the position of every piece. Nothing is drawn yet, so the number of pages is known when
 * the first one is drawn. Points, from a page's upper left corner. */
#ifndef TOLLBOOK_PRINT_FLOW_H
#define TOLLBOOK_PRINT_FLOW_H

#include "print/pdf/pen.h"
#include "print/sheet.h"

typedef enum tb__item_kind {
    TB__ITEM_TEXT,
    TB__ITEM_RULE, /* a hair line */
    TB__ITEM_STRONG_RULE,
    TB__ITEM_BAR,  /* beside a warning */
    TB__ITEM_MARK, /* a bookmark: mark, level */
    TB__ITEM_QR,   /* the QR code of mark; width: of its side */
} tb__item_kind;

typedef struct tb__item {
    tb__item_kind kind;
    uint32_t page;
    int level; /* of a bookmark: 1 or 2 */
    double x, y, width, height;
    const tb__ink *ink;
    const char *mark;
} tb__item;

typedef struct tb__flow {
    const tb__sheet *sheet;
    tb__pen *pen;
    tb_error *err;
    tb_code code; /* the first that is not OK */
    double page_width, page_height;
    double left, right, top, bottom; /* of the room for text */
    uint32_t page;                   /* from 0 */
    double y;                        /* where the next piece goes */
    tb__item *items;
    size_t n, cap;
} tb__flow;

/* Lays the whole sheet out. Release it in any case. */
TB_MUST_USE tb_code tb__flow_sheet(tb__flow *flow, tb__pen *pen, const tb__sheet *sheet,
                                   tb_error *err);
void tb__flow_release(tb__flow *flow);

/* --- for flow.c and table.c --- */

tb__item *tb__flow_item(tb__flow *flow, tb__item_kind kind, double x, double y);
/* The text in a box `most` wide that begins at x; end: it ends at x + most. Its height. */
double tb__flow_text(tb__flow *flow, tb__style style, const char *text, double x, double most,
                     bool end);
void tb__flow_put(tb__flow *flow, const tb__ink *ink, double x, double y);
const tb__ink *tb__flow_ink(tb__flow *flow, tb__style style, const char *text, double most);
void tb__flow_rule(tb__flow *flow, tb__item_kind kind, double x, double width);
void tb__flow_mark(tb__flow *flow, const char *text, int level);
void tb__flow_new_page(tb__flow *flow);
/* Whether a new page had to begin for a piece of this height. */
bool tb__flow_need(tb__flow *flow, double height);
void tb__flow_table(tb__flow *flow, const tb__block *block); /* table.c */
double tb__flow_rest(const tb__flow *flow, size_t block);    /* flow.c */

#endif
