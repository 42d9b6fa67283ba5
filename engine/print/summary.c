/* What the month costs by product: a row for each kind of line and region, and one for all
 * corrections. Their amounts sum to the subtotal. */
#include "print/maker.h"

#include <string.h>

#include "invoice/text.h"

typedef struct product {
    tb_line_kind kind;
    const char *item; /* of meters and fees, each of which is a product: its id; else "" */
    size_t region;    /* else; TB_BILLING_REGION_COUNT: none, or one that is not known */
    size_t line, n;   /* the first one, and how many */
    tb_i128 quantity;
    bool summed; /* quantity holds them all */
    tb_decimal amount;
} product;

static product product_of(const tb_bill_line *line)
{
    tb_billing_region region;
    product p = {.kind = line->kind, .item = "", .region = TB_BILLING_REGION_COUNT, .amount = TB_DECIMAL_ZERO};
    if (line->kind == TB_LINE_CORRECTION) return p;
    if (line->item)
        p.item = line->item->id;
    else if (tb_billing_region_parse(line->region, &region))
        p.region = region;
    return p;
}

static bool same_units(const tb_bill_item *a, const tb_bill_item *b)
{
    return a->per == b->per && strcmp(a->unit, b->unit) == 0 && strcmp(a->per_unit, b->per_unit) == 0;
}

static tb_code add_line(tb__maker *m, product *to, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    if (to->n++ == 0) {
        to->line = i;
        to->summed = true;
    }
    if (*to->item && !same_units(line->item, m->s->bill->lines[to->line].item)) to->summed = false;
    if (__builtin_add_overflow(to->quantity, line->quantity, &to->quantity)) to->summed = false;
    return tb_decimal_add(to->amount, line->amount, &to->amount, m->err);
}

/* The number of a product's objects, if there are several. */
static const char *count_text(tb__maker *m, const product *p)
{
    const char *owner = tb_line_kind_owner(p->kind);
    const bool zones = strcmp(owner, "zone") == 0;
    if (p->n < 2 || (!zones && strcmp(owner, "load_balancer") != 0)) return NULL;
    tb__add_figure(&m->out, m->language, tb_decimal_from_int((tb_i128)p->n));
    return tb__maker_filled(m, zones ? TB__WORD_IN_ZONES : TB__WORD_IN_BALANCERS, tb__maker_text(m));
}

/* Days of several things have no sum that says anything. */
static const char *quantity_text(tb__maker *m, const product *p)
{
    const tb_bill_item *item = tb__metered_item(m->s, p->line);
    const tb_line_basis basis = tb_line_kind_of(p->kind)->basis;
    if (!p->summed || (basis == TB_BASIS_TIME && p->n > 1) || basis > TB_BASIS_TIME) return NULL;
    tb__maker_keep(m, item ? tb__add_item_quantity(&m->out, m->language, item, p->quantity, m->err)
                              : tb__add_quantity(&m->out, m->language, p->kind, p->quantity, tb__line_month(m, p->line), m->err));
    return tb__maker_text(m);
}

static void put_product(tb__maker *m, const product *p)
{
    const tb_bill_item *item = m->s->bill->lines[p->line].item;
    const bool several = p->n > 1 && item && item->name[0], correction = p->kind == TB_LINE_CORRECTION;
    const char *what = correction ? tb__maker_word(m, TB__WORD_CORRECTIONS)
                       : several  ? tb__maker_copy(m, item->name) /* of different regions */
                                  : tb__line_words(m, p->line);
    const char *count = count_text(m, p);
    const char *quantity = quantity_text(m, p), *amount = tb__maker_amount(m, p->amount);
    tb__row *row = tb__maker_row(m, TB__ROW);
    row->cell[0] = what;
    row->cell[1] = quantity;
    row->cell[2] = amount;
    row->note = count;
}

/* By kind and region; items as they come. The newest of a kind are looked at first: lines of one meter are adjacent. */
static product *find_product(product *list, size_t *n, const tb_bill_line *line)
{
    const product p = product_of(line);
    size_t at = *n;
    for (size_t i = *n; i-- > 0 && list[i].kind >= p.kind;)
        if (list[i].kind == p.kind && list[i].region == p.region && strcmp(list[i].item, p.item) == 0) return &list[i];
    while (at > 0 && (list[at - 1].kind > p.kind || (list[at - 1].kind == p.kind && list[at - 1].region > p.region)))
        at--;
    memmove(list + at + 1, list + at, ((*n)++ - at) * sizeof *list);
    list[at] = p;
    return &list[at];
}

void tb__make_summary(tb__maker *m)
{
    const tb_bill *bill = m->s->bill;
    size_t n = 0;
    if (bill->n_lines == 0) {
        tb__maker_block(m, TB__NOTES, NULL);
        tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_word(m, TB__WORD_NO_CHARGES);
        return;
    }
    product *list = tb__arena_take(&m->sheet->texts, bill->n_lines * sizeof *list);
    if (!list) tb__maker_keep(m, tb_no_memory(m->err));
    for (size_t i = 0; i < bill->n_lines && !m->code; i++)
        tb__maker_keep(m, add_line(m, find_product(list, &n, &bill->lines[i]), i));
    const char *amount = tb__maker_filled(m, TB__WORD_AMOUNT, m->s->currency);
    tb__block *block = tb__maker_block(m, TB__TABLE, tb__maker_word(m, TB__WORD_SUMMARY));
    if (!block) return;
    block->n_columns = 3;
    block->columns[0] = (tb__column){.head = tb__maker_word(m, TB__WORD_DESCRIPTION), .wide = true};
    block->columns[1] = (tb__column){.head = tb__maker_word(m, TB__WORD_QUANTITY), .end = true};
    block->columns[2] = (tb__column){.head = amount, .end = true};
    for (size_t i = 0; i < n && !m->code; i++)
        put_product(m, &list[i]);
}
