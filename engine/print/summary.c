/* What the month costs by product: a row for each kind of line and region, and one for all
 * corrections. Their amounts sum to the subtotal. */
#include "print/maker.h"

#include <string.h>

#include "invoice/text.h"

#define REGIONS (TB_BILLING_REGION_COUNT + 1) /* the last: none, or one that is not known */

typedef struct product {
    size_t line, n; /* the first one, and how many */
    tb_i128 quantity;
    bool summed; /* quantity holds them all */
    tb_decimal amount;
} product;

static size_t region_of(const tb_bill_line *line)
{
    tb_billing_region region;
    return tb_billing_region_parse(line->region, &region) ? (size_t)region
                                                          : TB_BILLING_REGION_COUNT;
}

static bool same_units(const tb_bill_item *a, const tb_bill_item *b)
{
    return a->per == b->per && strcmp(a->unit, b->unit) == 0 && strcmp(a->per_unit, b->per_unit) == 0;
}

static tb_code add_line(tb__maker *m, product *to, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    if (to->n > 0 && line->item && !same_units(line->item, m->s->bill->lines[to->line].item)) to->summed = false;
    if (to->n == 0) *to = (product){.line = i, .summed = true, .amount = TB_DECIMAL_ZERO};
    to->n++;
    if (__builtin_add_overflow(to->quantity, line->quantity, &to->quantity)) to->summed = false;
    return tb_decimal_add(to->amount, line->amount, &to->amount, m->err);
}

/* The number of a product's objects, if there are several. */
static const char *count_text(tb__maker *m, tb_line_kind kind, size_t n)
{
    const char *owner = tb_line_kind_owner(kind);
    const bool zones = strcmp(owner, "zone") == 0;
    if (n < 2 || (!zones && strcmp(owner, "load_balancer") != 0)) return NULL;
    tb__add_figure(&m->out, m->language, tb_decimal_from_int((tb_i128)n));
    return tb__maker_filled(m, zones ? TB__WORD_IN_ZONES : TB__WORD_IN_BALANCERS, tb__maker_text(m));
}

/* Days of several things have no sum that says anything. */
static const char *quantity_text(tb__maker *m, tb_line_kind kind, const product *p)
{
    const tb_bill_item *item = tb__metered_item(m->s, p->line);
    const tb_line_basis basis = tb_line_kind_of(kind)->basis;
    if (!p->summed || (basis == TB_BASIS_TIME && p->n > 1) || basis > TB_BASIS_TIME) return NULL;
    tb__maker_keep(m, item ? tb__add_item_quantity(&m->out, m->language, item, p->quantity, m->err)
                              : tb__add_quantity(&m->out, m->language, kind, p->quantity, tb__line_month(m, p->line), m->err));
    return tb__maker_text(m);
}

static void put_product(tb__maker *m, tb_line_kind kind, const product *p)
{
    const tb_bill_item *item = m->s->bill->lines[p->line].item;
    const bool several = p->n > 1 && item && item->name[0]; /* of different regions */
    const char *what = several ? tb__maker_copy(m, item->name) : tb__line_words(m, p->line);
    const char *count = count_text(m, kind, p->n);
    const char *quantity = quantity_text(m, kind, p), *amount = tb__maker_amount(m, p->amount);
    tb__row *row = tb__maker_row(m, TB__ROW);
    row->cell[0] = what;
    row->cell[1] = quantity;
    row->cell[2] = amount;
    row->note = count;
}

static void put_corrections(tb__maker *m, const product *p)
{
    const char *amount = tb__maker_amount(m, p->amount);
    tb__row *row = tb__maker_row(m, TB__ROW);
    row->cell[0] = tb__maker_word(m, TB__WORD_CORRECTIONS);
    row->cell[2] = amount;
}

/* A row for each meter or fee of a kind. */
static void put_items(tb__maker *m, tb_line_kind kind)
{
    const tb_bill *bill = m->s->bill;
    product *list = tb__arena_take(&m->sheet->texts, bill->n_lines * sizeof *list);
    size_t n = 0;
    if (!list) tb__maker_keep(m, tb_no_memory(m->err));
    for (size_t i = 0; i < bill->n_lines && !m->code; i++) {
        if (bill->lines[i].kind != kind || !bill->lines[i].item) continue;
        size_t at = n; /* the newest first: a meter's lines are adjacent */
        while (at > 0 && strcmp(bill->lines[list[at - 1].line].item->id, bill->lines[i].item->id) != 0)
            at--;
        if (at == 0) list[at = n++] = (product){.n = 0};
        else at--;
        tb__maker_keep(m, add_line(m, &list[at], i));
    }
    for (size_t i = 0; i < n && !m->code; i++)
        put_product(m, kind, &list[i]);
}

void tb__make_summary(tb__maker *m)
{
    product products[TB_LINE_KIND_COUNT][REGIONS], corrections = {0};
    const tb_bill *bill = m->s->bill;
    memset(products, 0, sizeof products);
    if (bill->n_lines == 0) {
        tb__maker_block(m, TB__NOTES, NULL);
        tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_word(m, TB__WORD_NO_CHARGES);
        return;
    }
    for (size_t i = 0; i < bill->n_lines && !m->code; i++) {
        const tb_bill_line *line = &bill->lines[i];
        if (*tb_line_kind_of(line->kind)->item && line->item) continue;
        product *to = line->kind == TB_LINE_CORRECTION ? &corrections
                                                       : &products[line->kind][region_of(line)];
        tb__maker_keep(m, add_line(m, to, i));
    }
    const char *amount = tb__maker_filled(m, TB__WORD_AMOUNT, m->s->currency);
    tb__block *block = tb__maker_block(m, TB__TABLE, tb__maker_word(m, TB__WORD_SUMMARY));
    if (!block) return;
    block->n_columns = 3;
    block->columns[0] = (tb__column){.head = tb__maker_word(m, TB__WORD_DESCRIPTION), .wide = true};
    block->columns[1] = (tb__column){.head = tb__maker_word(m, TB__WORD_QUANTITY), .end = true};
    block->columns[2] = (tb__column){.head = amount, .end = true};
    for (size_t kind = 0; kind < TB_LINE_KIND_COUNT; kind++) {
        if (*tb_line_kind_of((tb_line_kind)kind)->item) put_items(m, (tb_line_kind)kind);
        for (size_t region = 0; region < REGIONS; region++)
            if (products[kind][region].n) put_product(m, kind, &products[kind][region]);
    }
    if (corrections.n) put_corrections(m, &corrections);
}
