/* The auditor's page: data for checking the document, which a customer does not need. Nothing here is rounded. Codes
 * and sums are written as they are stored. */
#include "print/maker.h"

#include <inttypes.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"

enum { NUMBER, WHAT, UNITS, EXACT, ROUNDED };

static void put_fact(tb__maker *m, tb__word name, const char *value)
{
    if (*value) tb__maker_pair(m, TB__ROW, tb__maker_word(m, name), value);
}

static void put_books(tb__maker *m)
{
    for (size_t i = 0; i < m->s->n_books; i++) {
        const tb_statement_book *book = &m->s->books[i];
        char from[21];
        if (!book->id[0]) continue;
        tb_time_format(book->from_us, from);
        from[20] = '\0';
        tb_buf_fmt(&m->out, "%s, %s %s", book->id, book->sha256,
                   tb__maker_filled(m, TB__WORD_FROM_TIME, from));
        put_fact(m, TB__WORD_BOOK, tb__maker_text(m));
    }
}

static void put_ledger(tb__maker *m)
{
    if (!m->s->in_ledger) return;
    tb_buf_fmt(&m->out, "%" PRIu64, m->s->ledger.count);
    put_fact(m, TB__WORD_LEDGER, tb__maker_text(m));
    put_fact(m, TB__WORD_LEDGER_HEAD, tb__maker_copy(m, m->s->ledger.head));
}

/* Each once. */
static void put_reason_codes(tb__maker *m)
{
    const tb_bill *bill = m->s->bill;
    for (size_t i = 0; i < bill->n_tax; i++) {
        const char *code = bill->tax[i].reason_code;
        bool is_new = code;
        for (size_t k = 0; is_new && k < i; k++)
            is_new = !bill->tax[k].reason_code || strcmp(bill->tax[k].reason_code, code) != 0;
        if (is_new) put_fact(m, TB__WORD_REASON_CODE, tb__maker_copy(m, code));
    }
}

static void put_document(tb__maker *m)
{
    tb__block *block = tb__maker_block(m, TB__TABLE, NULL);
    if (!block) return;
    block->n_columns = 2;
    block->columns[0] = (tb__column){0};
    block->columns[1] = (tb__column){.wide = true, .mono = true};
    tb__add_sum(&m->out, m->s->bill->exact);
    put_fact(m, TB__WORD_EXACT_SUM, tb__maker_text(m));
    tb__add_decimal(&m->out, m->s->bill->residual);
    put_fact(m, TB__WORD_RESIDUAL, tb__maker_text(m));
    put_reason_codes(m);
    put_books(m);
    tb_buf_fmt(&m->out, "%" PRIu64, m->s->watermark);
    put_fact(m, TB__WORD_WATERMARK, tb__maker_text(m));
    put_fact(m, TB__WORD_THIS_SHA256, tb__maker_copy(m, m->sha256));
    put_fact(m, TB__WORD_PREVIOUS_SHA256, tb__maker_copy(m, m->s->previous));
    put_ledger(m);
}

static const char *units_text(tb__maker *m, tb_i128 units, const char *unit)
{
    tb__add_i128(&m->out, units);
    tb_buf_fmt(&m->out, " %s%s", unit, units == 1 ? "" : "s");
    return tb__maker_text(m);
}

static const char *decimal_text(tb__maker *m, tb_decimal value)
{
    tb__add_decimal(&m->out, value);
    return tb__maker_text(m);
}

/* "2026-10-01T00:00:00Z to 2026-11-01T00:00:00Z, 31 buckets, hash 0123..." */
static const char *evidence_text(tb__maker *m, const tb_evidence *e)
{
    const char *with[4] = {NULL, NULL, NULL, e->hash};
    if (!e->hash[0]) return NULL;
    tb__add_time(&m->out, e->from_us);
    with[0] = tb__maker_text(m);
    tb__add_time(&m->out, e->to_us);
    with[1] = tb__maker_text(m);
    tb_buf_fmt(&m->out, "%" PRIu64, e->buckets);
    with[2] = tb__maker_text(m);
    tb__add_filled(&m->out, m->language, TB__WORD_EVIDENCE, with);
    return tb__maker_text(m);
}

/* Of a commit by period: the amount of its months, then what each of them counted. */
static void put_period_tier(tb__maker *m, size_t i, const tb_bill_tier *tier, tb__row *made)
{
    char month[8];
    tb_month_format((int64_t)tier->from, month);
    tb_buf_str(&m->out, month);
    if (tier->units != 0) {
        tb_month_format((int64_t)tier->to - 1, month);
        tb_buf_fmt(&m->out, " \u2026 %s \u00d7 ", month);
        tb__add_decimal(&m->out, tier->price);
    }
    made->cell[WHAT] = tb__maker_text(m);
    if (tier->units != 0) made->cell[UNITS] = units_text(m, tier->units, tb__line_unit(m->s, i));
    made->cell[EXACT] = decimal_text(m, tier->amount);
    *tb__maker_row(m, made->kind) = *made;
}

static void put_tier(tb__maker *m, size_t i, const tb_bill_tier *tier, bool last)
{
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const tb_bill_item *item = m->s->bill->lines[i].item;
    const bool prorated = kind == TB_LINE_MINIMUM || kind == TB_LINE_METER_MINIMUM || kind == TB_LINE_COMMIT;
    tb__row made = {.kind = last ? TB__LAST : TB__PART};
    if (kind == TB_LINE_DISCOUNT) { /* minor units, and a percentage of them */
        tb__add_decimal(&m->out, (tb_decimal){tier->to, m->s->bill->minor_digits});
        tb_buf_str(&m->out, " \u00d7 ");
        tb__add_decimal(&m->out, tier->price);
        tb_buf_str(&m->out, " %");
        made.cell[WHAT] = tb__maker_text(m);
        made.cell[EXACT] = decimal_text(m, tier->amount);
        *tb__maker_row(m, made.kind) = made;
        return;
    }
    if (tb__is_period(m->s, i)) {
        put_period_tier(m, i, tier, &made);
        return;
    }
    tb__add_i128(&m->out, tier->from);
    tb_buf_str(&m->out, " \u2026 ");
    tb__add_i128(&m->out, tier->to);
    if (item && tier->by_block) {
        tb_buf_str(&m->out, ", ");
        tb__add_i128(&m->out, tier->blocks);
    }
    tb_buf_str(&m->out, " \u00d7 ");
    tb__add_decimal(&m->out, tier->price);
    if (item && item->per && !tier->by_block) {
        tb_buf_str(&m->out, " / ");
        tb__add_i128(&m->out, item->per);
    }
    made.cell[WHAT] = tb__maker_text(m);
    made.cell[UNITS] = units_text(m, tier->units, prorated ? "second" : tb__line_unit(m->s, i));
    made.cell[EXACT] = decimal_text(m, tier->amount);
    *tb__maker_row(m, made.kind) = made;
}

static void put_audited(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    const tb_line_kind kind = tb__line_origin(m->s, i);
    tb__row made = {.kind = line->n_tiers ? TB__OPEN : TB__ROW};
    made.cell[NUMBER] = tb__maker_i64(m, line->number);
    tb__add_resource(&m->out, line->resource);
    tb_buf_fmt(&m->out, ", %s%s%s", tb_line_kind_name(kind), line->region[0] ? " " : "",
               line->region);
    made.cell[WHAT] = tb__maker_text(m);
    made.note = evidence_text(m, &line->evidence);
    made.cell[UNITS] = units_text(m, line->quantity, tb__line_unit(m->s, i));
    made.cell[EXACT] = decimal_text(m, line->exact);
    made.cell[ROUNDED] = decimal_text(m, line->amount);
    *tb__maker_row(m, made.kind) = made;
    for (size_t t = 0; t < line->n_tiers; t++)
        put_tier(m, i, &line->tiers[t], t + 1 == line->n_tiers);
}

void tb__make_auditor(tb__maker *m)
{
    tb__maker_block(m, TB__NEW_PAGE, NULL);
    tb__maker_block(m, TB__HEADING, tb__maker_word(m, TB__WORD_AUDITOR));
    put_document(m);
    if (m->s->bill->n_lines == 0) return;
    const char *amount = tb__maker_filled(m, TB__WORD_AMOUNT, m->s->currency);
    tb__block *block = tb__maker_block(m, TB__TABLE, tb__maker_word(m, TB__WORD_EXACT_LINES));
    if (!block) return;
    block->n_columns = 5;
    block->columns[NUMBER] = (tb__column){.head = tb__maker_word(m, TB__WORD_LINE)};
    block->columns[WHAT] = (tb__column){.head = tb__maker_word(m, TB__WORD_RESOURCE), .wide = true};
    block->columns[UNITS] = (tb__column){.head = tb__maker_word(m, TB__WORD_UNITS), .end = true};
    block->columns[EXACT] = (tb__column){.head = tb__maker_word(m, TB__WORD_EXACT), .end = true};
    block->columns[ROUNDED] = (tb__column){.head = amount, .end = true};
    for (size_t i = 0; i < m->s->bill->n_lines && !m->code; i++)
        put_audited(m, i);
}
