/* Draws what flow.c laid out, page by page, into a PDF by cairo. The bytes depend on the sheet and
 * the fonts alone: the time of making is the sheet's. */
#include <cairo-pdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/face.h"
#include "print/pdf/flow.h"
#include "print/pdf/qr.h"

extern const tb__press_face tb__press_face_1;

struct tb__press {
    tb__pen *pen;
};

static tb_code press_open(tb__press **ret_press, tb_error *err)
{
    tb__press *press = calloc(1, sizeof *press);
    if (!press) return tb_no_memory(err);
    tb_code code = tb__pen_new(&press->pen, err);
    if (code)
        free(press);
    else
        *ret_press = press;
    return code;
}

static void press_close(tb__press *press)
{
    tb__pen_free(press->pen);
    free(press);
}

/* --- the file --- */

static cairo_status_t write_out(void *ctx, const unsigned char *data, unsigned int len)
{
    tb_buf *out = ctx;
    tb_buf_add(out, data, len);
    return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static void put_metadata(cairo_surface_t *pdf, const tb__sheet *sheet)
{
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_TITLE, sheet->title);
    if (*sheet->author)
        cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_AUTHOR, sheet->author);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATOR, "tollbook " TB_VERSION);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, sheet->created);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_MOD_DATE, sheet->created);
}

/* --- pages --- */

typedef struct sheet_press {
    tb__press *press;
    const tb__flow *flow;
    const size_t *order; /* items, page by page */
    cairo_surface_t *pdf;
    cairo_t *cr;
    const tb__ink *stamp; /* NULL: none */
    int parents[3];       /* the newest bookmark of each level */
} sheet_press;

static void add_mark(sheet_press *p, const tb__item *item)
{
    char link[64];
    const int parent = item->level > 1 ? p->parents[item->level - 2] : CAIRO_PDF_OUTLINE_ROOT;
    tb_buf text;
    tb_buf_init(&text, sizeof link, NULL);
    tb_buf_fmt(&text, "page=%u pos=[%d %d]", item->page + 1, (int)item->x, (int)item->y);
    tb_buf_add(&text, "", 1);
    if (!text.failed)
        p->parents[item->level - 1] = cairo_pdf_surface_add_outline(
            p->pdf, parent, item->mark, text.data,
            item->level == 1 ? CAIRO_PDF_OUTLINE_FLAG_OPEN : (cairo_pdf_outline_flags_t)0);
    tb_buf_release(&text);
}

/* What lines of a kind look like. */
typedef struct rule_look {
    tb__item_kind kind;
    double red, green, blue;
} rule_look;

static const rule_look rule_looks[] = {
    {TB__ITEM_RULE, 0.87, 0.89, 0.91},
    {TB__ITEM_STRONG_RULE, 0.106, 0.141, 0.188},
    {TB__ITEM_BAR, 0.60, 0.20, 0.07},
};

/* All lines of a kind at once: cairo takes long for each fill. */
static void draw_rules(sheet_press *p, const rule_look *look, size_t from, size_t to)
{
    bool any = false;
    for (size_t i = from; i < to; i++) {
        const tb__item *item = &p->flow->items[p->order[i]];
        if (item->kind != look->kind) continue;
        const bool bar = item->kind == TB__ITEM_BAR;
        cairo_rectangle(p->cr, item->x, item->y, bar ? 2.5 : item->width,
                        bar                                  ? item->height
                        : item->kind == TB__ITEM_STRONG_RULE ? 0.8
                                                             : 0.5);
        any = true;
    }
    if (!any) return;
    cairo_set_source_rgb(p->cr, look->red, look->green, look->blue);
    cairo_fill(p->cr);
}

/* The code and the texts beside it lead to the address, which has no character that needs an escape. */
static void add_link(sheet_press *p, const tb__item *item)
{
    char text[TB__QR_TEXT + 80];
    snprintf(text, sizeof text, "rect=[%d %d %d %d] uri='%.*s'", (int)item->x, (int)item->y, (int)(p->flow->right - item->x),
             (int)item->width, TB__QR_TEXT, item->mark);
    if (strchr(item->mark, '\'') || strchr(item->mark, '\\')) return;
    cairo_tag_begin(p->cr, CAIRO_TAG_LINK, text);
    cairo_tag_end(p->cr, CAIRO_TAG_LINK);
}

/* Squares that touch in a row are one rectangle, so that no seam shows. */
static tb_code draw_qr(sheet_press *p, const tb__item *item, tb_error *err)
{
    tb__qr qr = {0};
    tb_code code = tb__qr_of(item->mark, &qr, err);
    if (code) return code;
    const double side = item->width / qr.width;
    for (int row = 0; row < qr.width; row++)
        for (int at = 0, end; at < qr.width; at = end) {
            for (end = at + 1; end < qr.width && qr.dark[row][end] == qr.dark[row][at];)
                end++;
            if (qr.dark[row][at])
                cairo_rectangle(p->cr, item->x + at * side, item->y + row * side, (end - at) * side, side);
        }
    cairo_set_source_rgb(p->cr, 0, 0, 0);
    cairo_fill(p->cr);
    add_link(p, item);
    return TB_OK;
}

/* Lines come first, so that texts follow one another. */
static tb_code draw_items(sheet_press *p, size_t from, size_t to, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; i < sizeof rule_looks / sizeof *rule_looks; i++)
        draw_rules(p, &rule_looks[i], from, to);
    for (size_t i = from; !code && i < to; i++) {
        const tb__item *item = &p->flow->items[p->order[i]];
        if (item->kind == TB__ITEM_MARK) add_mark(p, item);
        if (item->kind == TB__ITEM_QR) code = draw_qr(p, item, err);
        if (item->kind == TB__ITEM_TEXT)
            tb__pen_draw(p->press->pen, p->cr, item->ink, item->x, item->y);
    }
    return code;
}

static void draw_stamp(sheet_press *p)
{
    const tb__flow *flow = p->flow;
    if (!p->stamp) return;
    cairo_save(p->cr);
    cairo_translate(p->cr, flow->page_width / 2, flow->page_height / 2);
    cairo_rotate(p->cr, -0.7);
    const double most = flow->page_width * 1.05;
    if (p->stamp->width > most) cairo_scale(p->cr, most / p->stamp->width, most / p->stamp->width);
    tb__pen_draw(p->press->pen, p->cr, p->stamp, -p->stamp->width / 2, -p->stamp->height / 2);
    tb__pen_flush(p->press->pen, p->cr);
    cairo_restore(p->cr);
}

/* "Page 2 of 6", and on its other side the fingerprint. */
static tb_code draw_foot(sheet_press *p, uint32_t page, tb_error *err)
{
    const tb__flow *flow = p->flow;
    const tb__sheet *sheet = flow->sheet;
    tb_buf text, one, all;
    tb_buf_init(&text, 256, NULL);
    tb_buf_init(&one, 32, NULL);
    tb_buf_init(&all, 32, NULL);
    tb_buf_fmt(&one, "%u", page + 1);
    tb_buf_fmt(&all, "%u", flow->page + 1);
    tb_buf_add(&one, "", 1);
    tb_buf_add(&all, "", 1);
    if (!one.failed && !all.failed)
        tb__add_filled(&text, sheet->language, TB__WORD_PAGE_OF,
                       (const char *const[]){one.data, all.data});
    tb_buf_add(&text, "", 1);
    const double y = flow->page_height - 40;
    const bool made = !text.failed && !one.failed && !all.failed;
    const tb__ink *left = tb__pen_ink(p->press->pen, TB__STYLE_LABEL, sheet->foot, 0);
    const tb__ink *right = made ? tb__pen_ink(p->press->pen, TB__STYLE_LABEL, text.data, 0) : NULL;
    if (left && right) {
        tb__pen_draw(p->press->pen, p->cr, left, flow->left, y);
        tb__pen_draw(p->press->pen, p->cr, right, flow->right - right->width, y);
    }
    tb_buf_release(&text);
    tb_buf_release(&one);
    tb_buf_release(&all);
    return left && right ? TB_OK : tb_no_memory(err);
}

static tb_code draw_pages(sheet_press *p, tb_error *err)
{
    const tb__flow *flow = p->flow;
    tb_code code = TB_OK;
    size_t at = 0;
    for (uint32_t page = 0; !code && page <= flow->page; page++) {
        draw_stamp(p);
        const size_t first = at;
        while (at < flow->n && flow->items[p->order[at]].page == page)
            at++;
        code = draw_items(p, first, at, err);
        if (!code) code = draw_foot(p, page, err);
        tb__pen_flush(p->press->pen, p->cr);
        cairo_show_page(p->cr);
    }
    return code;
}

/* Items by page, each page's in the order in which they were laid out: a counting sort. */
static tb_code order_items(const tb__flow *flow, size_t **ret_order, tb_error *err)
{
    size_t *order = calloc(flow->n + 1, sizeof *order);
    size_t *ends = calloc((size_t)flow->page + 2, sizeof *ends);
    if (order && ends) {
        for (size_t i = 0; i < flow->n; i++)
            ends[flow->items[i].page + 1]++;
        for (size_t page = 1; page <= (size_t)flow->page + 1; page++)
            ends[page] += ends[page - 1];
        for (size_t i = 0; i < flow->n; i++)
            order[ends[flow->items[i].page]++] = i;
    }
    free(ends);
    if (!order || !ends) {
        free(order);
        return tb_no_memory(err);
    }
    *ret_order = order;
    return TB_OK;
}

static tb_code cairo_code(cairo_status_t status, const tb_buf *out, tb_error *err)
{
    if (status == CAIRO_STATUS_SUCCESS) return TB_OK;
    tb_code code = tb_buf_check(out, err);
    if (code || status == CAIRO_STATUS_NO_MEMORY) return code ? code : tb_no_memory(err);
    return tb_fail(err, TB_E_INTERNAL, NULL, "The PDF cannot be drawn: %s.",
                   cairo_status_to_string(status));
}

static tb_code draw_flow(tb__press *press, const tb__flow *flow, tb_buf *out, tb_error *err)
{
    const tb__sheet *sheet = flow->sheet;
    size_t *order = NULL;
    tb_code code = order_items(flow, &order, err);
    if (code) return code;
    sheet_press p = {.press = press, .flow = flow, .order = order};
    p.pdf =
        cairo_pdf_surface_create_for_stream(write_out, out, flow->page_width, flow->page_height);
    put_metadata(p.pdf, sheet);
    p.cr = cairo_create(p.pdf);
    if (sheet->stamp) p.stamp = tb__pen_ink(press->pen, TB__STYLE_STAMP, sheet->stamp, 0);
    code = draw_pages(&p, err);
    cairo_status_t status = cairo_status(p.cr);
    cairo_destroy(p.cr);
    cairo_surface_finish(p.pdf);
    if (!status) status = cairo_surface_status(p.pdf);
    cairo_surface_destroy(p.pdf);
    free(order);
    return code ? code : cairo_code(status, out, err);
}

static tb_code press_draw(tb__press *press, const tb__sheet *sheet, tb_buf *out,
                          size_t *ret_unknown, tb_error *err)
{
    tb__flow flow;
    tb__pen_begin(press->pen, sheet->language, sheet->country);
    tb_code code = tb__flow_sheet(&flow, press->pen, sheet, err);
    if (!code) code = draw_flow(press, &flow, out, err);
    if (!code) *ret_unknown = tb__pen_unknown(press->pen);
    tb__flow_release(&flow);
    return code;
}

__attribute__((visibility("default"))) const tb__press_face tb__press_face_1 = {
    .version = TB_VERSION,
    .sheet_size = sizeof(tb__sheet),
    .open = press_open,
    .draw = press_draw,
    .close = press_close,
    .qr = tb__qr_of,
};
