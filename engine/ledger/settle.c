/* Settles invoices (settle.h). First the totals of documents, which tell the void ones; then draws; then
 * credit notes, payments that name an invoice, the amounts that texts state as paid from the balance, and all
 * other money, for invoices and debits alike. */
#include "tollbook/settle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

typedef struct settling {
    tb_settle_paper *papers; /* as the caller has them, by age */
    size_t n;
    tb_settle_paper **by_number; /* ascending */
    tb_settle_paper *debits;     /* by their entries' ids */
    size_t n_debits;
    int64_t back;                /* opening balances up to this entry were taken back */
    tb_decimal pool;             /* money that names no invoice */
    tb_decimal unclaimed;        /* of it, before the oldest due take theirs */
    tb_decimal running;
    tb_error *err;
    tb_code code; /* the first trouble */
} settling;

static void add_to(settling *s, tb_decimal *sum, tb_decimal amount)
{
    if (!s->code) s->code = tb_decimal_add(*sum, amount, sum, s->err);
}

static void take_from(settling *s, tb_decimal *sum, tb_decimal amount)
{
    if (!s->code) s->code = tb_decimal_sub(*sum, amount, sum, s->err);
}

/* --- finding papers --- */

static int by_number(const void *a, const void *b)
{
    const tb_settle_paper *const *x = a, *const *y = b;
    return strcmp((*x)->number, (*y)->number);
}

static int number_to_paper(const void *key, const void *item)
{
    const tb_settle_paper *const *paper = item;
    return strcmp(key, (*paper)->number);
}

static tb_settle_paper *find_paper(const settling *s, const char *number)
{
    tb_settle_paper **found =
        s->n ? bsearch(number, s->by_number, s->n, sizeof *s->by_number, number_to_paper) : NULL;
    return found ? *found : NULL;
}

/* The valid invoice of this number; NULL: none. */
static tb_settle_paper *open_invoice(const settling *s, const char *number)
{
    tb_settle_paper *paper = *number ? find_paper(s, number) : NULL;
    return paper && paper->stands && !paper->credit_note ? paper : NULL;
}

/* --- totals of documents --- */

static void clear_paper(tb_settle_paper *p)
{
    p->stands = false;
    p->total = p->drawn = p->credited = p->paid = p->remaining = p->promised = TB_DECIMAL_ZERO;
}

/* total: of an invoice the amount owed, of a credit note the amount that it gives. */
static void enter_paper(settling *s, const tb_ledger_entry *e)
{
    tb_settle_paper *paper = find_paper(s, e->reference);
    if (s->code) return;
    if (!paper) {
        s->code = tb_fail(s->err, TB_E_CORRUPT, "ledger",
                          "Ledger entry %" PRId64 " is of %s, which is not there.", e->id,
                          e->reference);
        return;
    }
    paper->stands = e->kind != TB_LEDGER_VOID;
    paper->total = TB_DECIMAL_ZERO;
    if (!paper->stands) return;
    if (paper->credit_note) add_to(s, &paper->total, e->amount);
    else take_from(s, &paper->total, e->amount);
}

static bool is_paper(tb_ledger_kind kind)
{
    return kind == TB_LEDGER_INVOICE || kind == TB_LEDGER_CREDIT_NOTE;
}

/* --- money --- */

static tb_decimal smaller(tb_decimal a, tb_decimal b)
{
    return tb_decimal_compare(a, b) < 0 ? a : b;
}

/* As much as the paper still takes goes onto *part; the rest joins the other money. */
static void apply(settling *s, tb_settle_paper *paper, tb_decimal amount, tb_decimal *part)
{
    tb_decimal taken = TB_DECIMAL_ZERO;
    if (paper && tb_decimal_sign(paper->remaining) > 0)
        taken = smaller(paper->remaining, amount);
    if (paper && tb_decimal_sign(taken)) {
        add_to(s, part, taken);
        take_from(s, &paper->remaining, taken);
        take_from(s, &amount, taken);
    }
    add_to(s, &s->pool, amount);
}

/* Draws of invoices. An amount drawn by an invoice that is not valid is ordinary money. */
static void take_draw(settling *s, const tb_ledger_entry *e)
{
    tb_draw_leg leg = TB_DRAW_GIVEN;
    int64_t credit = 0;
    if (!tb_draw_parse(e->reference, e->document, &credit, &leg)) return; /* reported by the credits */
    if (leg == TB_DRAW_GIVEN || leg == TB_DRAW_BACK) return;
    tb_settle_paper *paper = open_invoice(s, e->document);
    add_to(s, paper ? &paper->drawn : &s->pool, e->amount);
}

static void take_notes(settling *s)
{
    for (size_t i = 0; i < s->n; i++) {
        tb_settle_paper *note = &s->papers[i], *paper;
        if (!note->credit_note || !note->stands) continue;
        paper = open_invoice(s, note->corrects);
        apply(s, paper, note->total, paper ? &paper->credited : NULL);
    }
}

static bool is_money(const settling *s, const tb_ledger_entry *e)
{
    if (tb_ledger_is_opening(e) && e->id <= s->back) return false;
    return e->kind == TB_LEDGER_PAYMENT || e->kind == TB_LEDGER_ADJUSTMENT;
}

static void take_money(settling *s, const tb_ledger_entry *e)
{
    tb_settle_paper *paper = open_invoice(s, e->document);
    if (e->kind == TB_LEDGER_USAGE || e->kind == TB_LEDGER_USAGE_REVERSAL)
        add_to(s, &s->running, e->amount);
    if (!is_money(s, e) || tb_decimal_sign(e->amount) < 0) return;
    apply(s, paper, e->amount, paper ? &paper->paid : NULL);
}

/* A document keeps the amount that its text states as paid from the balance, even if others become due earlier. */
static void keep_promises(settling *s, tb_settle_paper *papers, size_t n)
{
    for (size_t i = 0; i < n && !s->code; i++) {
        tb_settle_paper *p = &papers[i];
        const tb_decimal part = smaller(smaller(p->promised, p->remaining), s->pool);
        if (tb_decimal_sign(part) <= 0) continue;
        add_to(s, &p->paid, part);
        take_from(s, &p->remaining, part);
        take_from(s, &p->promised, part);
        take_from(s, &s->pool, part);
    }
}

/* --- debits --- */

static int by_id(const void *a, const void *b)
{
    const tb_ledger_entry *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static bool is_debit(const settling *s, const tb_ledger_entry *e)
{
    return is_money(s, e) && tb_decimal_sign(e->amount) < 0;
}

static void owe(const tb_ledger_entry *e, tb_settle_paper *debit)
{
    char day[21] = "";
    const tb_decimal owed = {-e->amount.mantissa, e->amount.scale};
    *debit = (tb_settle_paper){.stands = true, .total = owed, .remaining = owed};
    memcpy(debit->number, e->reference, sizeof debit->number);
    tb_time_format(e->at_us, day);
    memcpy(debit->due, e->expires[0] ? e->expires : day, sizeof debit->due - 1);
}

/* What takes from the balance without an invoice is owed from its own day on; an opening balance can say another. */
static tb_code find_debits(settling *s, const tb_ledger_entry *entries, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += is_debit(s, &entries[i]);
    if (!found) return TB_OK;
    const tb_ledger_entry **own = malloc(found * sizeof *own);
    s->debits = calloc(found, sizeof *s->debits);
    if (!own || !s->debits) {
        free(own);
        return tb_no_memory(s->err);
    }
    found = 0;
    for (size_t i = 0; i < n; i++)
        if (is_debit(s, &entries[i])) own[found++] = &entries[i];
    qsort(own, found, sizeof *own, by_id);
    for (; s->n_debits < found; s->n_debits++)
        owe(own[s->n_debits], &s->debits[s->n_debits]);
    free(own);
    return TB_OK;
}

/* --- other money --- */

typedef struct receivable {
    tb_settle_paper *paper;
    size_t turn;
} receivable;

/* The oldest due first; of one day invoices in the order of their making, then debits. */
static int by_due(const void *a, const void *b)
{
    const receivable *x = a, *y = b;
    const int order = strcmp(x->paper->due, y->paper->due);
    return order ? order : (x->turn > y->turn) - (x->turn < y->turn);
}

static void spread_pool(settling *s)
{
    const size_t n = s->n + s->n_debits;
    receivable *open = malloc((n + 1) * sizeof *open);
    if (!open) {
        if (!s->code) s->code = tb_no_memory(s->err);
        return;
    }
    for (size_t i = 0; i < n; i++)
        open[i] = (receivable){i < s->n ? &s->papers[i] : &s->debits[i - s->n], i};
    if (n > 1) qsort(open, n, sizeof *open, by_due);
    for (size_t i = 0; i < n && !s->code && tb_decimal_sign(s->pool) > 0; i++) {
        const tb_decimal money = s->pool;
        if (tb_decimal_sign(open[i].paper->remaining) <= 0) continue;
        s->pool = TB_DECIMAL_ZERO;
        apply(s, open[i].paper, money, &open[i].paper->paid);
    }
    free(open);
}

static void settle_all(settling *s, const tb_ledger_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_paper(entries[i].kind)) enter_paper(s, &entries[i]);
    for (size_t i = 0; i < n; i++)
        if (entries[i].kind == TB_LEDGER_VOID) enter_paper(s, &entries[i]);
    for (size_t i = 0; i < n; i++)
        if (entries[i].kind == TB_LEDGER_CREDIT_DRAWN) take_draw(s, &entries[i]);
    for (size_t i = 0; i < s->n; i++) {
        if (!s->papers[i].stands || s->papers[i].credit_note) continue;
        s->papers[i].remaining = s->papers[i].total;
        s->papers[i].promised = s->papers[i].covered;
        take_from(s, &s->papers[i].remaining, s->papers[i].drawn);
        if (tb_decimal_sign(s->papers[i].remaining) >= 0) continue;
        take_from(s, &s->pool, s->papers[i].remaining); /* it gives back fees: money for other invoices */
        s->papers[i].remaining = TB_DECIMAL_ZERO;
    }
    take_notes(s);
    for (size_t i = 0; i < n; i++)
        take_money(s, &entries[i]);
    keep_promises(s, s->papers, s->n);
    s->unclaimed = s->pool;
    spread_pool(s);
}

static void sum_up(settling *s, const tb_ledger_entry *entries, size_t n, tb_settlement *to)
{
    to->balance = to->credit = to->receivable = TB_DECIMAL_ZERO;
    for (size_t i = 0; i < n; i++)
        add_to(s, &to->balance, entries[i].amount);
    for (size_t i = 0; i < to->n_credits; i++)
        add_to(s, &to->credit, to->credits[i].left);
    for (size_t i = 0; i < s->n; i++)
        add_to(s, &to->receivable, s->papers[i].remaining);
    for (size_t i = 0; i < s->n_debits; i++)
        add_to(s, &to->receivable, s->debits[i].remaining);
    to->debits = s->debits;
    to->n_debits = s->n_debits;
    to->unclaimed = s->unclaimed;
    to->unallocated = s->pool;
    to->running = s->running;
}

tb_code tb_settle(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers,
                  size_t n_papers, tb_settlement *ret_settlement, tb_error *err)
{
    tb_settlement made = {.credits = NULL};
    settling s = {.papers = papers, .n = n_papers, .pool = TB_DECIMAL_ZERO,
                  .running = TB_DECIMAL_ZERO, .back = tb_ledger_opening_back(entries, n), .err = err};
    s.by_number = malloc((n_papers + 1) * sizeof *s.by_number);
    if (!s.by_number) return tb_no_memory(err);
    for (size_t i = 0; i < n_papers; i++) {
        clear_paper(&papers[i]);
        s.by_number[i] = &papers[i];
    }
    if (n_papers > 1) qsort(s.by_number, n_papers, sizeof *s.by_number, by_number);
    s.code = tb_credits_of(entries, n, &made.credits, &made.n_credits, err);
    if (!s.code) s.code = find_debits(&s, entries, n);
    if (!s.code) settle_all(&s, entries, n);
    if (!s.code) sum_up(&s, entries, n, &made);
    free(s.by_number);
    if (s.code) {
        made.debits = s.debits;
        tb_settlement_release(&made);
        return s.code;
    }
    *ret_settlement = made;
    return TB_OK;
}

/* The money from the balance that a void invoice had, as far as it is available: for the invoice that replaces it. */
static tb_code had_of(const tb_ledger_entry *entries, size_t n, const tb_settle_paper *papers, size_t n_papers,
                      const char *number, tb_decimal *ret, tb_error *err)
{
    tb_code code = TB_OK;
    *ret = TB_DECIMAL_ZERO;
    for (size_t i = 0; i < n_papers; i++)
        if (strcmp(papers[i].number, number) == 0) *ret = papers[i].covered;
    for (size_t i = 0; !code && i < n; i++)
        if (entries[i].kind == TB_LEDGER_PAYMENT || entries[i].kind == TB_LEDGER_ADJUSTMENT)
            if (strcmp(entries[i].document, number) == 0) code = tb_decimal_add(*ret, entries[i].amount, ret, err);
    return code;
}

tb_code tb_settle_next(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers, size_t n_papers,
                       const char *replaced, tb_decimal *ret_money, tb_error *err)
{
    tb_settlement settled = {.credits = NULL};
    tb_decimal had = TB_DECIMAL_ZERO;
    tb_code code = tb_settle(entries, n, papers, n_papers, &settled, err);
    if (!code && *replaced) code = had_of(entries, n, papers, n_papers, replaced, &had, err);
    had = smaller(had, settled.unclaimed);
    if (!code) *ret_money = tb_decimal_compare(had, settled.unallocated) > 0 ? had : settled.unallocated;
    tb_settlement_release(&settled);
    return code;
}

/* Of what remains, that due first; of one day that made first, and invoices before debits. */
static tb_settle_paper *older_of(tb_settle_paper *list, size_t n, tb_settle_paper *oldest)
{
    for (size_t i = 0; i < n; i++)
        if (tb_decimal_sign(list[i].remaining) > 0 && (!oldest || strcmp(list[i].due, oldest->due) < 0))
            oldest = &list[i];
    return oldest;
}

static tb_settle_paper *open_of_number(const tb_settle_open *open, const char *number)
{
    for (size_t i = 0; *number && i < open->n_papers; i++) {
        tb_settle_paper *paper = &open->papers[i];
        if (paper->stands && !paper->credit_note && strcmp(paper->number, number) == 0) return paper;
    }
    return NULL;
}

/* Money that named no invoice has paid the earliest due ones already: the amount that it had paid of the invoice that
 * is named now moves to the next ones. */
tb_code tb_settle_payment(tb_settle_open *open, const char *number, tb_decimal amount, tb_error *err)
{
    settling s = {.pool = open->unallocated, .err = err};
    tb_settle_paper *paper = open_of_number(open, number);
    apply(&s, paper, amount, paper ? &paper->paid : NULL);
    keep_promises(&s, open->papers, open->n_papers);
    while (!s.code && tb_decimal_sign(s.pool) > 0) {
        paper = older_of(open->debits, open->n_debits, older_of(open->papers, open->n_papers, NULL));
        if (!paper) break;
        const tb_decimal money = s.pool;
        s.pool = TB_DECIMAL_ZERO;
        apply(&s, paper, money, &paper->paid);
    }
    if (!s.code) open->unallocated = s.pool;
    return s.code;
}

void tb_settlement_release(tb_settlement *settlement)
{
    free(settlement->credits);
    free(settlement->debits);
    *settlement = (tb_settlement){.credits = NULL};
}
