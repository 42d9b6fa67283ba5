/* Tables: columns as wide as their cells, but the column of words keeps its room; a row is never cut; the head is
 * repeated on every page. A row that must not be alone at a page's end (a group's name, a line before its parts)
 * takes the next row with it. */
#include <stdlib.h>

#include "base/list.h"
#include "print/pdf/flow.h"

#define COLUMN_GAP 12.0
#define FIGURE_MAX 0.24 /* of the table's width, for each column but the one of words */

typedef struct line {
    const tb__ink *cell[TB__CELLS];
    const tb__ink *note;
} line;

typedef struct table {
    tb__flow *flow;
    const tb__block *block;
    const tb__row *rows;
    double x[TB__CELLS], width[TB__CELLS];
    size_t wide; /* the column of words */
} table;

/* --- measures --- */

static tb__style cell_style(const table *t, tb__row_kind kind, size_t column)
{
    const tb__column *c = &t->block->columns[column];
    if (c->mono) return TB__STYLE_MONO;
    if (kind == TB__GROUP) return TB__STYLE_STRONG;
    if (kind == TB__PART || kind == TB__LAST || (!c->end && column != t->wide && t->wide))
        return TB__STYLE_SMALL;
    return TB__STYLE_BODY;
}

/* Parts are set in below their line. */
static double indent(tb__row_kind kind)
{
    return kind == TB__PART || kind == TB__LAST ? 9 : 0;
}

static bool note_beside(tb__row_kind kind)
{
    return kind == TB__GROUP || kind == TB__PART || kind == TB__LAST;
}

static void measure_column(table *t, size_t column, double most)
{
    double width = 0;
    const tb__ink *head =
        tb__flow_ink(t->flow, TB__STYLE_LABEL, t->block->columns[column].head, most);
    if (head->width > width) width = head->width;
    for (size_t i = 0; i < t->block->n_rows; i++) {
        const char *text = t->rows[i].cell[column];
        if (!text || t->rows[i].kind == TB__GROUP) continue;
        const tb__ink *ink =
            tb__flow_ink(t->flow, cell_style(t, t->rows[i].kind, column), text, most);
        if (ink->width > width) width = ink->width;
    }
    t->width[column] = width;
}

static void measure(table *t)
{
    const double whole = t->flow->right - t->flow->left;
    double left = whole, x = t->flow->left;
    for (size_t c = 0; c < t->block->n_columns; c++)
        if (t->block->columns[c].wide) t->wide = c;
    for (size_t c = 0; c < t->block->n_columns; c++) {
        if (c == t->wide) continue;
        measure_column(t, c, whole * FIGURE_MAX);
        left -= t->width[c];
    }
    t->width[t->wide] = left - COLUMN_GAP * (double)(t->block->n_columns - 1);
    for (size_t c = 0; c < t->block->n_columns; c++) {
        t->x[c] = x;
        x += t->width[c] + COLUMN_GAP;
    }
}

/* --- rows --- */

static void put_head(table *t)
{
    tb__flow *flow = t->flow;
    double height = 0;
    if (!t->block->columns[t->wide].head) return;
    for (size_t c = 0; c < t->block->n_columns; c++) {
        const tb__column *column = &t->block->columns[c];
        const double h =
            tb__flow_text(flow, TB__STYLE_LABEL, column->head, t->x[c], t->width[c], column->end);
        if (h > height) height = h;
    }
    flow->y += height + 3;
    tb__flow_rule(flow, TB__ITEM_STRONG_RULE, flow->left, flow->right - flow->left);
}

/* The width that a row's words have: those of a group run to the table's end. */
static double words_room(const table *t, tb__row_kind kind)
{
    return kind == TB__GROUP ? t->flow->right - t->x[t->wide] : t->width[t->wide] - indent(kind);
}

static double above(tb__row_kind kind)
{
    return kind == TB__GROUP ? 7 : kind == TB__PART || kind == TB__LAST ? 0.5 : 3.5;
}

static double below(tb__row_kind kind)
{
    return kind == TB__GROUP ? 0 : kind == TB__OPEN ? 1 : kind == TB__PART ? 0.5 : 3.5;
}

/* Whether the note is on the line of the words. */
static bool is_beside(const table *t, const tb__row *row, const line *l)
{
    const tb__ink *words = l->cell[t->wide];
    return note_beside(row->kind) && words &&
           words->width + 6 + l->note->width <= words_room(t, row->kind);
}

/* Below cells of one line a note may be as wide as the table. */
static double note_room(const table *t, const tb__row *row, const line *l, double height)
{
    const double words = l->cell[t->wide] ? l->cell[t->wide]->height : 0;
    return !note_beside(row->kind) && height <= words ? t->flow->right - t->x[t->wide]
                                                      : words_room(t, row->kind);
}

/* The row's texts, and how high it is. */
static double set_line(const table *t, const tb__row *row, line *to)
{
    double height = 0;
    *to = (line){0};
    for (size_t c = 0; c < t->block->n_columns; c++) {
        if (!row->cell[c]) continue;
        const double room = c == t->wide ? words_room(t, row->kind) : t->width[c];
        to->cell[c] = tb__flow_ink(t->flow, cell_style(t, row->kind, c), row->cell[c], room);
        if (to->cell[c]->height > height) height = to->cell[c]->height;
    }
    if (row->note) {
        const double words = to->cell[t->wide] ? to->cell[t->wide]->height : 0;
        to->note = tb__flow_ink(t->flow, TB__STYLE_SMALL, row->note, note_room(t, row, to, height));
        if (!is_beside(t, row, to) && words + to->note->height > height)
            height = words + to->note->height;
    }
    return above(row->kind) + height + below(row->kind);
}

static void put_note(table *t, const tb__row *row, const line *l, double y)
{
    const tb__ink *words = l->cell[t->wide];
    const double x = t->x[t->wide] + indent(row->kind);
    if (!l->note) return;
    if (is_beside(t, row, l))
        tb__flow_put(t->flow, l->note, x + words->width + 6,
                     y + words->height - l->note->height - 0.4);
    else
        tb__flow_put(t->flow, l->note, x, y + (words ? words->height : 0));
}

static void put_table_line(table *t, const tb__row *row, const line *l, double height)
{
    tb__flow *flow = t->flow;
    const double y = flow->y + above(row->kind);
    const double base = l->cell[t->wide] ? l->cell[t->wide]->height : 0;
    for (size_t c = 0; c < t->block->n_columns; c++) {
        const tb__ink *ink = l->cell[c];
        double x = t->x[c], down = 0;
        if (!ink) continue;
        if (t->block->columns[c].end) x += t->width[c] - ink->width;
        if (c == t->wide) x += indent(row->kind);
        if (c != t->wide && ink->height < base && base < 1.5 * ink->height)
            down = (base - ink->height) * 0.8; /* on one base line */
        tb__flow_put(flow, ink, x, y + down);
    }
    put_note(t, row, l, y);
    if (row->kind == TB__GROUP) tb__flow_mark(flow, row->cell[t->wide], 3);
    flow->y += height;
    if (row->kind == TB__ROW || row->kind == TB__LAST)
        tb__flow_rule(flow, TB__ITEM_RULE, flow->left, flow->right - flow->left);
}

static bool needs_next(tb__row_kind kind)
{
    return kind == TB__GROUP || kind == TB__OPEN;
}

static void put_rows(table *t)
{
    tb__flow *flow = t->flow;
    for (size_t i = 0; i < t->block->n_rows && !flow->code; i++) {
        line own;
        const double height = set_line(t, &t->rows[i], &own);
        double whole = height;
        for (size_t k = i; needs_next(t->rows[k].kind) && k + 1 < t->block->n_rows; k++)
            whole += 20;
        if (tb__flow_need(flow, whole)) put_head(t);
        put_table_line(t, &t->rows[i], &own, height);
    }
}

void tb__flow_table(tb__flow *flow, const tb__block *block)
{
    table t = {.flow = flow, .block = block, .rows = &flow->sheet->rows[block->first]};
    measure(&t);
    if (block->text) {
        tb__flow_need(flow, 90);
        flow->y += 4;
        tb__flow_mark(flow, block->text, 2);
        flow->y += tb__flow_text(flow, TB__STYLE_STRONG, block->text, flow->left,
                                 flow->right - flow->left, false) +
                   5;
    }
    tb__flow_need(flow, 60);
    put_head(&t);
    put_rows(&t);
    flow->y += 8;
}
