/* Says in a sentence what differs between a document and what it comes to when it is rated again. */
#include <string.h>

#include "check/contents.h"
#include "invoice/text.h"

static void put_money(const tb_statement *s, tb_buf *out, tb_decimal amount)
{
    tb__add_money(out, amount, s->bill->minor_digits);
    tb_buf_fmt(out, " %s", s->currency);
}

static void put_line_name(tb_buf *out, const tb_statement *s, size_t i)
{
    const tb_bill_line *line = &s->bill->lines[i];
    tb_buf_fmt(out, "Line %u (%.60s, ", line->number, tb__line_title(s, i));
    tb__add_resource(out, line->resource);
    if (*line->region) tb_buf_fmt(out, ", %.32s", line->region);
    tb_buf_str(out, ")");
}

/* "the document has 12.00 EUR, its usage, terms and prices come to 11.50 EUR: 0.50 EUR more" */
static void put_amounts(const tb_statement *s, tb_buf *out, tb_decimal stated, tb_decimal again)
{
    tb_decimal apart = TB_DECIMAL_ZERO;
    tb_buf_str(out, "the document says ");
    put_money(s, out, stated);
    tb_buf_str(out, ", and its usage, terms and prices come to ");
    put_money(s, out, again);
    if (tb_decimal_sub(stated, again, &apart, NULL)) return;
    const bool more = tb_decimal_sign(apart) > 0;
    if (!more) apart.mantissa = -apart.mantissa;
    tb_buf_str(out, ": ");
    put_money(s, out, apart);
    tb_buf_str(out, more ? " too much." : " too little.");
}

static bool same_thing(const tb_bill_line *a, const tb_bill_line *b)
{
    return a->kind == b->kind && strcmp(a->resource, b->resource) == 0 && strcmp(a->region, b->region) == 0;
}

/* The text of a line in the one statement is that in the other. */
static bool same_line(const tb_statement *a, const tb_statement *b, size_t i)
{
    tb_buf x, y;
    tb_buf_init(&x, TB_INVOICE_TEXT_MAX, NULL);
    tb_buf_init(&y, TB_INVOICE_TEXT_MAX, NULL);
    tb_line_json(a, i, &x);
    tb_line_json(b, i, &y);
    const bool same = !x.failed && !y.failed && x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    tb_buf_release(&x);
    tb_buf_release(&y);
    return same;
}

static void put_line_difference(const tb_statement *s, tb_buf *out, const tb_statement *again, size_t i)
{
    const tb_bill_line *a = &s->bill->lines[i], *b = &again->bill->lines[i];
    put_line_name(out, s, i);
    tb_buf_str(out, ": ");
    if (!same_thing(a, b)) {
        tb_buf_str(out, "its usage, terms and prices have another line there: ");
        put_line_name(out, again, i);
        tb_buf_str(out, ".");
    } else if (tb_decimal_compare(a->amount, b->amount) != 0) {
        put_amounts(s, out, a->amount, b->amount);
    } else if (a->quantity != b->quantity) {
        tb_buf_str(out, "the document counts ");
        tb__add_i128(out, a->quantity);
        tb_buf_fmt(out, " %s, and its usage comes to ", tb__line_unit(s, i));
        tb__add_i128(out, b->quantity);
        tb_buf_str(out, ".");
    } else {
        tb_buf_str(out, strcmp(a->evidence.hash, b->evidence.hash) != 0 ? "the amount is the same, but its usage is of other days."
                                                                        : "the amount is the same, but its calculation differs.");
    }
}

/* The first difference that a person understands; else the place in the text. */
static void put_difference(const tb_statement *s, tb_buf *out, const tb_statement *again, size_t byte)
{
    const size_t n = s->bill->n_lines, n_again = again->bill->n_lines;
    for (size_t i = 0; i < n && i < n_again; i++)
        if (!same_line(s, again, i)) {
            put_line_difference(s, out, again, i);
            return;
        }
    if (n != n_again) {
        const bool more = n > n_again;
        put_line_name(out, more ? s : again, more ? n_again : n);
        tb_buf_str(out, more ? ": its usage, terms and prices have no such line." : ": the document lacks this line.");
        return;
    }
    if (tb_decimal_compare(s->bill->total, again->bill->total) != 0) {
        tb_buf_str(out, "The lines agree, the total does not: ");
        put_amounts(s, out, s->bill->total, again->bill->total);
        return;
    }
    tb_buf_fmt(out, "The amounts agree, but the text differs from byte %zu on.", byte);
}

tb_code tb__say_difference(const tb_statement *s, const tb_statement *again, size_t byte, tb_error *err)
{
    tb_buf out;
    tb_buf_init(&out, 1024, NULL);
    put_difference(s, &out, again, byte);
    tb_code code = tb_fail(err, TB_E_DIFFERENT, "invoice", "%.*s", (int)out.len, out.data ? out.data : "");
    tb_buf_release(&out);
    return code;
}
