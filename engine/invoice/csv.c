/* Rows of an invoice: one for each line, one for each tax rate. */
#include "invoice/csv.h"

#include <inttypes.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"
#include "tollbook/invoice.h"

/* --- cells --- */

static void next_cell(tb_buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n') tb_buf_str(out, ",");
}

/* An empty first cell would look like a row's beginning: every table here begins with a number or a
 * text that is never empty. */
void tb__csv_plain(tb_buf *out, const char *text)
{
    next_cell(out);
    tb_buf_str(out, text);
}

void tb__csv_text(tb_buf *out, const char *text)
{
    next_cell(out);
    tb_buf_csv_cell(out, text, strlen(text));
}

void tb__csv_decimal(tb_buf *out, tb_decimal value)
{
    next_cell(out);
    tb__add_decimal(out, value);
}

void tb__csv_money(tb_buf *out, tb_decimal value, int digits)
{
    next_cell(out);
    tb__add_money(out, value, digits);
}

void tb__csv_number(tb_buf *out, int64_t value)
{
    next_cell(out);
    tb_buf_fmt(out, "%" PRId64, value);
}

void tb__csv_time(tb_buf *out, int64_t us)
{
    next_cell(out);
    tb__add_time(out, us);
}

void tb__csv_end(tb_buf *out)
{
    tb_buf_str(out, "\r\n");
}

void tb__csv_head(tb_buf *out, const char *names)
{
    tb_buf_str(out, names);
    tb__csv_end(out);
}

/* --- the table --- */

void tb_invoice_csv_head(tb_buf *out)
{
    tb__csv_head(out, "account,number,kind,state,period_start,period_end,currency,line,line_kind,"
                      "resource,region,quantity,unit,unit_price,exact,amount,corrects");
}

/* What every row of a statement begins with. */
static void put_start(tb_buf *out, const tb_statement *s, int64_t month)
{
    tb__csv_number(out, s->account);
    tb__csv_plain(out, s->number);
    tb__csv_plain(out, s->kind);
    tb__csv_plain(out, s->state);
    tb__csv_time(out, tb_month_start_us(month));
    tb__csv_time(out, tb_month_start_us(month + 1));
    tb__csv_plain(out, s->currency);
}

/* The price of one unit, where it is a decimal. */
static void put_price(tb_buf *out, const tb_bill_line *line)
{
    tb_bill_tier tier;
    bool one = false;
    int places = 0;
    tb_i128 per = line->item && line->item->per ? line->item->per : 1;
    for (; per % 10 == 0; per /= 10)
        places++;
    if (tb__tiers_one(line, &one, &tier, NULL) == TB_OK && one && per == 1 &&
        (!places || tb_decimal_shift(tier.price, places, &tier.price, NULL) == TB_OK))
        tb__csv_decimal(out, tier.price);
    else
        tb__csv_plain(out, "");
}

static void put_line(tb_buf *out, const tb_statement *s, size_t i)
{
    const tb_bill_line *line = &s->bill->lines[i];
    const tb_correction *c = tb__correction_of(s, i);
    put_start(out, s, c ? line->period_month : s->month);
    tb__csv_number(out, line->number);
    tb__csv_plain(out, tb_line_kind_name(line->kind));
    tb__csv_text(out, line->resource);
    tb__csv_text(out, line->region);
    tb__csv_decimal(out, tb_decimal_from_int(line->quantity));
    tb__csv_text(out, tb__line_unit(s, i));
    put_price(out, line);
    tb__csv_decimal(out, line->exact);
    tb__csv_money(out, line->amount, s->bill->minor_digits);
    tb__csv_plain(out, c ? c->invoice : s->corrects);
    tb__csv_end(out);
}

static void put_tax(tb_buf *out, const tb_statement *s, const tb_bill_taxed *tax)
{
    int digits = s->bill->minor_digits;
    put_start(out, s, tax->late ? tax->month : s->month);
    tb__csv_plain(out, "");
    tb__csv_plain(out, "tax");
    tb__csv_text(out, tax->rate.name);
    tb__csv_plain(out, "");
    tb__csv_money(out, tax->base, digits);
    tb__csv_plain(out, s->currency);
    tb__csv_decimal(out, tax->rate.percent);
    tb__csv_money(out, tax->amount, digits);
    tb__csv_money(out, tax->amount, digits);
    tb__csv_plain(out, "");
    tb__csv_end(out);
}

/* Usage without a price: in drafts only, and without an amount. */
static void put_unpriced(tb_buf *out, const tb_statement *s, const tb_unpriced *u)
{
    put_start(out, s, s->month);
    tb__csv_plain(out, "");
    tb__csv_plain(out, "unpriced");
    tb__csv_text(out, u->resource);
    tb__csv_text(out, u->what);
    tb__csv_decimal(out, tb_decimal_from_int(u->quantity));
    tb__csv_text(out, u->unit);
    tb__csv_plain(out, ",,,");
    tb__csv_end(out);
}

void tb_invoice_csv(const tb_statement *statement, tb_buf *out)
{
    for (size_t i = 0; i < statement->bill->n_lines; i++)
        put_line(out, statement, i);
    for (size_t i = 0; i < statement->bill->n_tax; i++)
        put_tax(out, statement, &statement->bill->tax[i]);
    for (size_t i = 0; i < statement->bill->n_unpriced; i++)
        put_unpriced(out, statement, &statement->bill->unpriced[i]);
}
