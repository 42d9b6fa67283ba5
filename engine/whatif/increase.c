/* The largest increases of a scenario, and the lines that cause them. An account's lines are made,
 * by tb_bill_rate, when it is found to be among the ten; of accounts in random order few are. */
#include "billing/draft.h"
#include "whatif/replay.h"

#include <stdlib.h>
#include <string.h>

/* --- lines over months --- */

static int by_line(const tb__piece *a, const tb__piece *b)
{
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    int order = strcmp(a->item, b->item);
    if (!order) order = strcmp(a->resource, b->resource);
    return order ? order : strcmp(a->region, b->region);
}

static int by_line_void(const void *a, const void *b)
{
    return by_line(a, b);
}

/* Largest increase first. */
static int by_increase(const void *left, const void *right)
{
    const tb__piece *a = left, *b = right;
    tb_i128 x = a->after - a->before, y = b->after - b->before;
    return x != y ? (x < y) - (x > y) : by_line(a, b);
}

static tb__piece *pieces_of(const tb_bill *bill, tb__arena *arena)
{
    tb__piece *pieces = tb__arena_take(arena, bill->n_lines * sizeof *pieces);
    for (size_t i = 0; pieces && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        pieces[i] = (tb__piece){.kind = line->kind, .id = line->id, .after = line->amount.mantissa};
        memcpy(pieces[i].resource, line->resource, sizeof pieces[i].resource);
        memcpy(pieces[i].region, line->region, sizeof pieces[i].region);
        if (line->item) memccpy(pieces[i].item, line->item->id, '\0', sizeof pieces[i].item - 1);
    }
    return pieces;
}

static tb_code rate_pieces(const tb_bill_input *input, tb__arena *arena, const tb_alloc *alloc,
                           tb__piece **ret, size_t *ret_n, tb_error *err)
{
    tb_bill bill;
    tb_code code = tb_bill_rate(input, alloc, &bill, err);
    if (code) return code;
    tb__piece *pieces = pieces_of(&bill, arena);
    if (pieces) {
        *ret = pieces;
        *ret_n = bill.n_lines;
    }
    tb_bill_release(&bill);
    return pieces ? TB_OK : tb_no_memory(err);
}

/* The month's lines before: made once for all scenarios. */
static tb_code before_pieces(tb_whatif *w, tb__held *h, tb_error *err)
{
    if (h->pieces) return TB_OK;
    tb_code code = rate_pieces(&h->input, &w->held, w->alloc, &h->pieces, &h->n_pieces, err);
    for (size_t i = 0; i < h->n_pieces && !code; i++) {
        h->pieces[i].before = h->pieces[i].after;
        h->pieces[i].after = 0;
    }
    return code;
}

typedef struct list {
    tb__piece *piece;
    size_t n, room;
} list;

static bool append(list *to, const tb__piece *pieces, size_t n, const tb_alloc *alloc)
{
    if (!tb__grow_room(alloc, &to->piece, &to->room, sizeof *pieces, to->n + n)) return false;
    if (n) memcpy(to->piece + to->n, pieces, n * sizeof *pieces);
    to->n += n;
    return true;
}

static tb_code add_month(tb_whatif *w, const tb__case *c, tb__held *h, list *to, tb_error *err)
{
    tb_bill_input input;
    bool changed;
    tb__piece *after = NULL;
    size_t n = 0;
    tb_code code = before_pieces(w, h, err);
    if (!code) code = tb__case_input(w, c, &h->input, &w->scratch, &input, &changed, err);
    if (!code) code = rate_pieces(&input, &w->scratch, w->alloc, &after, &n, err);
    if (code) return code;
    if (!append(to, h->pieces, h->n_pieces, w->alloc) || !append(to, after, n, w->alloc))
        return tb_no_memory(err);
    return TB_OK;
}

/* Pieces of one line become one. */
static void merge(list *l)
{
    size_t n = 0;
    qsort(l->piece, l->n, sizeof *l->piece, by_line_void);
    for (size_t i = 0; i < l->n; i++) {
        if (n == 0 || by_line(&l->piece[n - 1], &l->piece[i]) != 0) {
            l->piece[n++] = l->piece[i];
            continue;
        }
        l->piece[n - 1].before += l->piece[i].before;
        l->piece[n - 1].after += l->piece[i].after;
    }
    l->n = n;
}

static void show_lines(list *l, int digits, tb_whatif_increase *to)
{
    merge(l);
    qsort(l->piece, l->n, sizeof *l->piece, by_increase);
    for (size_t i = 0; i < l->n && l->piece[i].after > l->piece[i].before; i++) {
        const tb__piece *p = &l->piece[i];
        if (to->n_lines == TB_WHATIF_LINES_MAX) {
            to->more_lines++;
            continue;
        }
        tb_whatif_line *line = &to->lines[to->n_lines++];
        *line = (tb_whatif_line){.kind = p->kind, .id = p->id};
        memcpy(line->resource, p->resource, sizeof line->resource);
        memcpy(line->item, p->item, sizeof line->item);
        memcpy(line->region, p->region, sizeof line->region);
        line->change = tb__change_of(p->before, p->after, digits);
    }
}

static tb_code make(tb_whatif *w, size_t number, size_t row, tb_whatif_increase *to, tb_error *err)
{
    const tb__row *r = &w->rows[row];
    const tb__currency *currency = &w->currencies[r->currency];
    list l = {.n = 0};
    tb_code code = TB_OK;
    to->change =
        tb__change_of(r->before, w->row_after[row * w->n + number], currency->minor_digits);
    for (tb__held *h = w->first; h && !code; h = h->next)
        if (strcmp(h->input.currency, currency->code) == 0)
            code = add_month(w, &w->cases[number], h, &l, err);
    if (!code) show_lines(&l, currency->minor_digits, to);
    tb_alloc_free(w->alloc, l.piece, l.room * sizeof *l.piece);
    tb__arena_reset(&w->scratch);
    return code;
}

/* --- the ten --- */

static tb__top *top_of(tb_whatif *w, tb__case *c, uint32_t currency)
{
    for (size_t i = 0; i < c->n_tops; i++)
        if (c->tops[i]->currency == currency) return c->tops[i];
    tb__top *top = tb_alloc_zero(w->alloc, 1, sizeof *top);
    tb__top **tops = top ? tb_alloc_resize(w->alloc, c->tops, c->n_tops * sizeof *tops,
                                           (c->n_tops + 1) * sizeof *tops)
                         : NULL;
    if (!tops) {
        tb_alloc_free(w->alloc, top, sizeof *top);
        return NULL;
    }
    top->currency = currency;
    c->tops = tops;
    c->tops[c->n_tops++] = top;
    return top;
}

/* Where it goes: behind those as large, which have smaller accounts. An account that is there
 * already goes nowhere. */
static size_t place_of(const tb__top *top, int64_t account, tb_i128 delta)
{
    size_t at = top->n;
    for (size_t i = 0; i < top->n; i++)
        if (top->increases[i].account == account) return TB_WHATIF_INCREASES_MAX;
    while (at > 0 && top->delta[at - 1] < delta)
        at--;
    return at;
}

tb_code tb__increase_offer(tb_whatif *w, size_t number, size_t row, tb_error *err)
{
    tb_whatif_increase increase = {.account = w->rows[row].account};
    tb_i128 delta = w->row_after[row * w->n + number] - w->rows[row].before;
    tb__top *top = top_of(w, &w->cases[number], w->rows[row].currency);
    if (!top) return tb_no_memory(err);
    size_t at = place_of(top, increase.account, delta);
    if (at >= TB_WHATIF_INCREASES_MAX) return TB_OK;
    tb_code code = make(w, number, row, &increase, err);
    if (code) return code;
    if (top->n < TB_WHATIF_INCREASES_MAX) top->n++;
    memmove(top->delta + at + 1, top->delta + at, (top->n - at - 1) * sizeof *top->delta);
    memmove(top->increases + at + 1, top->increases + at,
            (top->n - at - 1) * sizeof *top->increases);
    top->delta[at] = delta;
    top->increases[at] = increase;
    return TB_OK;
}
