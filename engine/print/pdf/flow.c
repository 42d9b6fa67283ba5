/* Blocks one below the other. A piece that does not fit begins a page; a heading is never alone at a page's end.
 * Every width is that of the paper, so a long name wraps and nothing overlaps. */
#include "print/pdf/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define MARGIN_SIDE   50.0
#define MARGIN_TOP    46.0
#define MARGIN_BOTTOM 62.0
#define GAP           14.0 /* between columns of text */

/* --- pieces --- */

static void keep_code(tb__flow *flow, tb_code code)
{
    if (!flow->code) flow->code = code;
}

tb__item *tb__flow_item(tb__flow *flow, tb__item_kind kind, double x, double y)
{
    static _Thread_local tb__item spare_item;
    tb_code code = tb__grow(&flow->items, flow->n, &flow->cap, sizeof *flow->items, flow->err);
    keep_code(flow, code);
    tb__item *item = code ? &spare_item : &flow->items[flow->n++];
    *item = (tb__item){.kind = kind, .page = flow->page, .x = x, .y = y};
    return item;
}

const tb__ink *tb__flow_ink(tb__flow *flow, tb__style style, const char *text, double most)
{
    static const tb__ink no_ink = {0, 0};
    const tb__ink *ink = tb__pen_ink(flow->pen, style, text ? text : "", most);
    if (!ink) keep_code(flow, tb_no_memory(flow->err));
    return ink ? ink : &no_ink;
}

void tb__flow_put(tb__flow *flow, const tb__ink *ink, double x, double y)
{
    if (!flow->code) tb__flow_item(flow, TB__ITEM_TEXT, x, y)->ink = ink;
}

double tb__flow_text(tb__flow *flow, tb__style style, const char *text, double x, double most,
                     bool end)
{
    const tb__ink *ink = tb__flow_ink(flow, style, text, most);
    tb__flow_put(flow, ink, end ? x + most - ink->width : x, flow->y);
    return ink->height;
}

void tb__flow_rule(tb__flow *flow, tb__item_kind kind, double x, double width)
{
    tb__flow_item(flow, kind, x, flow->y)->width = width;
}

void tb__flow_mark(tb__flow *flow, const char *text, int level)
{
    tb__item *item = tb__flow_item(flow, TB__ITEM_MARK, flow->left, flow->y);
    item->mark = text;
    item->level = level;
}

/* --- pages --- */

void tb__flow_new_page(tb__flow *flow)
{
    flow->page++;
    flow->y = flow->top;
    const double width = flow->right - flow->left;
    flow->y += tb__flow_text(flow, TB__STYLE_LABEL, flow->sheet->running, flow->left, width, false);
    flow->y += 5;
    tb__flow_rule(flow, TB__ITEM_RULE, flow->left, width);
    flow->y += 14;
}

bool tb__flow_need(tb__flow *flow, double height)
{
    if (flow->y + height <= flow->bottom) return false;
    tb__flow_new_page(flow);
    return true;
}

static const tb__row *rows_of(const tb__flow *flow, const tb__block *block)
{
    return &flow->sheet->rows[block->first];
}

/* --- blocks --- */

static void put_title(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    const double half = (flow->right - flow->left - GAP) / 2, begin = flow->y;
    tb__flow_mark(flow, flow->sheet->title, 1);
    flow->y += 6;
    const double sender = 6 + tb__flow_text(flow, TB__STYLE_SENDER, rows[1].cell[0],
                                            flow->left + half + GAP, half, true);
    flow->y = begin;
    flow->y += tb__flow_text(flow, TB__STYLE_TITLE, block->text, flow->left, half, false) + 1;
    flow->y += tb__flow_text(flow, TB__STYLE_NUMBER, rows[0].cell[0], flow->left, half, false);
    if (flow->y < begin + sender) flow->y = begin + sender;
    flow->y += 18;
}

/* Names above their values, three beside one another. */
static void put_facts(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    const double room = (flow->right - flow->left - 2 * GAP) / 3;
    for (size_t i = 0; i < block->n_rows; i += 3) {
        const tb__ink *name[3], *value[3];
        double name_height = 0, value_height = 0;
        size_t n = block->n_rows - i < 3 ? block->n_rows - i : 3;
        for (size_t k = 0; k < n; k++) {
            name[k] = tb__flow_ink(flow, TB__STYLE_LABEL, rows[i + k].cell[0], room);
            value[k] = tb__flow_ink(flow, TB__STYLE_BODY, rows[i + k].cell[1], room);
            if (name[k]->height > name_height) name_height = name[k]->height;
            if (value[k]->height > value_height) value_height = value[k]->height;
        }
        tb__flow_need(flow, name_height + value_height + 8);
        for (size_t k = 0; k < n; k++) {
            const double x = flow->left + (double)k * (room + GAP);
            tb__flow_put(flow, name[k], x, flow->y);
            tb__flow_put(flow, value[k], x, flow->y + name_height);
        }
        flow->y += name_height + value_height + 8;
    }
    flow->y += 8;
}

static size_t count_boxes(const tb__row *rows, size_t n)
{
    size_t boxes = 0;
    for (size_t i = 0; i < n; i++)
        boxes += rows[i].kind == TB__BOX;
    return boxes;
}

/* Each box continues on the next page by itself; later blocks are below the longest. */
static void put_parties(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    const size_t boxes = count_boxes(rows, block->n_rows), columns = boxes < 3 ? 2 : boxes;
    const double room = (flow->right - flow->left - (double)(columns - 1) * GAP) / (double)columns;
    const uint32_t page = flow->page;
    const double y = flow->y;
    uint32_t last_page = page;
    double last_y = y, x = flow->left - room - GAP;
    for (size_t i = 0; i < block->n_rows; i++) {
        const tb__style style = rows[i].kind == TB__BOX    ? TB__STYLE_LABEL
                                : rows[i].kind == TB__NAME ? TB__STYLE_STRONG
                                                           : TB__STYLE_BODY;
        if (rows[i].kind == TB__BOX) {
            flow->page = page;
            flow->y = y;
            x += room + GAP;
        }
        const tb__ink *ink = tb__flow_ink(flow, style, rows[i].cell[0], room);
        if (flow->y + ink->height > flow->bottom && flow->page < last_page) {
            flow->page++; /* which another box began */
            flow->y = flow->top + 32;
        } else {
            tb__flow_need(flow, ink->height);
        }
        tb__flow_put(flow, ink, x, flow->y);
        flow->y += ink->height + (rows[i].kind == TB__BOX ? 1 : 0);
        if (flow->page > last_page || (flow->page == last_page && flow->y > last_y)) {
            last_page = flow->page;
            last_y = flow->y;
        }
    }
    flow->page = last_page;
    flow->y = last_y + 16;
}

static void put_hero(tb__flow *flow, const tb__block *block)
{
    const double width = flow->right - flow->left;
    tb__flow_need(flow, 40);
    flow->y += tb__flow_text(flow, TB__STYLE_LABEL, rows_of(flow, block)[0].cell[0], flow->left,
                             width, false);
    flow->y += tb__flow_text(flow, TB__STYLE_HERO, block->text, flow->left, width, false) + 10;
}

static void put_barred(tb__flow *flow, tb__style style, const char *text)
{
    const double width = flow->right - flow->left - 12;
    const tb__ink *ink = tb__flow_ink(flow, style, text, width);
    tb__flow_need(flow, ink->height);
    tb__flow_item(flow, TB__ITEM_BAR, flow->left, flow->y)->height = ink->height;
    tb__flow_put(flow, ink, flow->left + 12, flow->y);
    flow->y += ink->height;
}

static void put_alert(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    tb__flow_need(flow, 40);
    put_barred(flow, TB__STYLE_WARN_STRONG, block->text);
    for (size_t i = 0; i < block->n_rows; i++)
        put_barred(flow, TB__STYLE_WARN, rows[i].cell[0]);
    flow->y += 14;
}

static void put_heading(tb__flow *flow, const tb__block *block)
{
    flow->y += flow->y > flow->top + 60 ? 18 : 0;
    tb__flow_need(flow, 90);
    tb__flow_mark(flow, block->text, 2);
    flow->y += tb__flow_text(flow, TB__STYLE_HEADING, block->text, flow->left,
                             flow->right - flow->left, false) +
               4;
}

static tb__style total_style(tb__row_kind kind)
{
    return kind == TB__STRONG ? TB__STYLE_DUE : kind == TB__SOFT ? TB__STYLE_SMALL : TB__STYLE_BODY;
}

static void put_total(tb__flow *flow, const tb__row *row)
{
    const tb__style style = total_style(row->kind);
    const double room = (flow->right - flow->left) * 0.56, x = flow->right - room;
    const tb__ink *value = tb__flow_ink(flow, style, row->cell[1], room / 2);
    const tb__ink *name = tb__flow_ink(flow, style, row->cell[0], room - value->width - GAP);
    const double above = row->kind == TB__STRONG ? 8 : 2;
    const double height = name->height > value->height ? name->height : value->height;
    tb__flow_need(flow, above + height + 2);
    if (row->kind == TB__STRONG) {
        flow->y += 3;
        tb__flow_rule(flow, TB__ITEM_STRONG_RULE, x, room);
        flow->y += above - 3;
    } else {
        flow->y += above;
    }
    tb__flow_put(flow, name, x, flow->y);
    tb__flow_put(flow, value, flow->right - value->width, flow->y);
    flow->y += height + 2;
}

static void put_totals(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    flow->y += 4;
    for (size_t i = 0; i < block->n_rows; i++)
        put_total(flow, &rows[i]);
    flow->y += 12;
}

static void put_notes(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    const double width = flow->right - flow->left;
    if (block->text) {
        tb__flow_need(flow, 45);
        tb__flow_mark(flow, block->text, 2);
        flow->y += tb__flow_text(flow, TB__STYLE_STRONG, block->text, flow->left, width, false) + 2;
    }
    for (size_t i = 0; i < block->n_rows; i++) {
        const tb__ink *ink = tb__flow_ink(flow, block->text ? TB__STYLE_BODY : TB__STYLE_SMALL,
                                          rows[i].cell[0], width);
        tb__flow_need(flow, ink->height);
        tb__flow_put(flow, ink, flow->left, flow->y);
        flow->y += ink->height + (block->text ? 2 : 0);
    }
    flow->y += 6;
}

#define QR_SIDE   60.0
#define QR_MARGIN 10.0 /* at least four squares wide, which readers of the code need */

/* With an address its code, and the texts beside it, as high as the code. */
static void put_proof(tb__flow *flow, const tb__block *block)
{
    const tb__row *rows = rows_of(flow, block);
    const bool coded = block->n_rows > 1;
    const double left = flow->left + (coded ? QR_SIDE + QR_MARGIN : 0), width = flow->right - left;
    const tb__ink *entry = tb__flow_ink(flow, TB__STYLE_SMALL, rows[0].cell[0], width);
    if (!coded) {
        tb__flow_need(flow, entry->height);
        tb__flow_put(flow, entry, left, flow->y);
        flow->y += entry->height + 6;
        return;
    }
    const tb__ink *title = tb__flow_ink(flow, TB__STYLE_STRONG, block->text, width);
    const tb__ink *address = tb__flow_ink(flow, TB__STYLE_SMALL, rows[1].cell[0], width);
    const double texts = title->height + 2 + address->height + 2 + entry->height;
    const double height = texts > QR_SIDE ? texts : QR_SIDE;
    tb__flow_need(flow, height + QR_MARGIN);
    flow->y += QR_MARGIN;
    tb__item *code = tb__flow_item(flow, TB__ITEM_QR, flow->left, flow->y);
    code->width = QR_SIDE;
    code->mark = rows[1].cell[0];
    double y = flow->y + (height - texts) / 2;
    tb__flow_put(flow, title, left, y);
    y += title->height + 2;
    tb__flow_put(flow, address, left, y);
    y += address->height + 2;
    tb__flow_put(flow, entry, left, y);
    flow->y += height + QR_MARGIN;
}

/* What the blocks from here to the next new page will take, roughly. */
double tb__flow_rest(const tb__flow *flow, size_t block)
{
    const tb__sheet *sheet = flow->sheet;
    double height = 0;
    for (; block < sheet->n_blocks && sheet->blocks[block].kind != TB__NEW_PAGE; block++) {
        const tb__block *b = &sheet->blocks[block];
        height += b->kind == TB__HEADING ? 40 : b->kind == TB__TABLE ? 24 : 0;
        for (size_t i = 0; i < b->n_rows; i++)
            height += sheet->rows[b->first + i].note ? 28 : 19;
    }
    return height;
}

/* Details that do not fit below the summary get pages of their own. */
static void put_details(tb__flow *flow, size_t block)
{
    const bool begun = flow->y > flow->top + (flow->bottom - flow->top) * 0.4;
    if (begun && flow->y + tb__flow_rest(flow, block + 1) > flow->bottom) tb__flow_new_page(flow);
}

static void put_block(tb__flow *flow, size_t i)
{
    const tb__block *block = &flow->sheet->blocks[i];
    switch (block->kind) {
    case TB__TITLE: put_title(flow, block); break;
    case TB__FACTS: put_facts(flow, block); break;
    case TB__PARTIES: put_parties(flow, block); break;
    case TB__HERO: put_hero(flow, block); break;
    case TB__ALERT: put_alert(flow, block); break;
    case TB__HEADING: put_heading(flow, block); break;
    case TB__TABLE: tb__flow_table(flow, block); break;
    case TB__TOTALS: put_totals(flow, block); break;
    case TB__NOTES: put_notes(flow, block); break;
    case TB__PROOF: put_proof(flow, block); break;
    case TB__DETAILS: put_details(flow, i); break;
    case TB__NEW_PAGE: tb__flow_new_page(flow); break;
    }
}

tb_code tb__flow_sheet(tb__flow *flow, tb__pen *pen, const tb__sheet *sheet, tb_error *err)
{
    *flow = (tb__flow){.sheet = sheet,
                       .pen = pen,
                       .err = err,
                       .page_width = sheet->letter ? 612 : 595.276,
                       .page_height = sheet->letter ? 792 : 841.89};
    flow->left = MARGIN_SIDE;
    flow->right = flow->page_width - MARGIN_SIDE;
    flow->top = flow->y = MARGIN_TOP;
    flow->bottom = flow->page_height - MARGIN_BOTTOM;
    for (size_t i = 0; i < sheet->n_blocks && !flow->code; i++)
        put_block(flow, i);
    return flow->code;
}

void tb__flow_release(tb__flow *flow)
{
    free(flow->items);
    *flow = (tb__flow){0};
}
