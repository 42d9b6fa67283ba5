/* The answer as rows for a spreadsheet: each row has its kind and its place, so that one filter gives one table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/whatifrun.h"

static void put_word(tb_buf *out, const char *word)
{
    tb_buf_csv_cell(out, word, strlen(word));
    tb_buf_str(out, ",");
}

static void put_change(tb_buf *out, const tb_whatif_change *c, int minor)
{
    char text[TB_WHATIF_MONEY_MAX];
    const tb_decimal amounts[] = {c->before, c->after, c->delta};
    for (size_t i = 0; i < 3; i++)
        tb_buf_fmt(out, "%s,", tb_whatif_money(amounts[i], minor, text));
    if (c->has_percent) {
        *tb_decimal_put(text, c->percent) = 0;
        tb_buf_str(out, text);
    }
}

/* What a row is about; empty cells where it is about all. */
typedef struct place {
    const char *row;
    int64_t account; /* 0: all */
    int64_t month;   /* INT64_MIN: all */
    const tb_whatif_line *line;
} place;

static void put_row(tb_whatif_sink *sink, const tb_whatif_part *part, place at,
                    const tb_whatif_change *change)
{
    const tb_scenario *s = part->result->scenario;
    tb_buf *out = sink->out;
    char month[8] = "", account[24] = "";
    if (at.month != INT64_MIN) tb_month_format(at.month, month);
    if (at.account) snprintf(account, sizeof account, "%" PRId64, at.account);
    put_word(out, s->name);
    put_word(out, s->sha256);
    put_word(out, part->book ? part->book->book->sha256 : "");
    put_word(out, part->currency);
    put_word(out, at.row);
    put_word(out, account);
    put_word(out, month);
    put_word(out, at.line ? tb_line_kind_name(at.line->kind) : "");
    put_word(out, at.line ? at.line->resource : "");
    put_word(out, at.line ? at.line->region : "");
    put_change(out, change, part->minor);
    tb_buf_str(out, ",");
    if (at.line) tb_buf_csv_cell(out, at.line->item, strlen(at.line->item));
    tb_buf_str(out, "\r\n");
    tb_whatif_breathe(sink);
}

static void put_part(tb_whatif_sink *sink, const tb_whatif_part *part)
{
    const tb_whatif_group *g = part->group;
    const tb_whatif_change total = tb_whatif_total(part);
    put_row(sink, part, (place){"total", 0, INT64_MIN, NULL}, &total);
    for (size_t i = 0; g && i < g->n_months; i++)
        put_row(sink, part, (place){"month", 0, g->months[i].month, NULL}, &g->months[i].change);
    for (size_t i = 0; g && i < g->n_accounts; i++)
        put_row(sink, part, (place){"account", g->accounts[i].account, INT64_MIN, NULL},
                &g->accounts[i].change);
    for (size_t i = 0; g && i < g->n_increases; i++) {
        const tb_whatif_increase *increase = &g->increases[i];
        for (size_t k = 0; k < increase->n_lines; k++)
            put_row(sink, part, (place){"line", increase->account, INT64_MIN, &increase->lines[k]},
                    &increase->lines[k].change);
    }
}

void tb_whatif_csv(const tb_whatif_answer *a, tb_whatif_sink *sink)
{
    tb_buf_str(sink->out, "scenario,scenario_sha256,book_sha256,currency,row,account,month,kind,"
                          "resource,region,before,after,delta,percent,item\r\n");
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        tb_whatif_part part = tb_whatif_part_of(a, i);
        put_part(sink, &part);
    }
}
