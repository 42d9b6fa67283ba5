/* Short texts, written into the buffer's own room. */
#include "invoice/text.h"

#include "tollbook/calendar.h"

void tb__add_decimal(tb_buf *out, tb_decimal value)
{
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put(at, value) - at);
}

void tb__add_money(tb_buf *out, tb_decimal value, int digits)
{
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put_fixed(at, value, digits) - at);
}

void tb__add_i128(tb_buf *out, tb_i128 value)
{
    tb__add_decimal(out, tb_decimal_from_int(value));
}

void tb__add_time(tb_buf *out, int64_t us)
{
    char *at = tb_buf_room(out, 20);
    if (!at) return;
    tb_time_format(us, at);
    out->len += 20;
}

int64_t tb__month_start_us(int64_t month)
{
    return tb_month_first_day(month) * TB_US_PER_DAY;
}

void tb__add_month_start(tb_buf *out, int64_t month)
{
    tb__add_time(out, tb__month_start_us(month));
}

const tb_correction *tb__correction_of(const tb_statement *statement, size_t line)
{
    const tb_correction *c = statement->corrections ? &statement->corrections[line] : NULL;
    return c && c->invoice[0] ? c : NULL;
}

tb_line_kind tb__line_origin(const tb_statement *statement, size_t line)
{
    const tb_correction *c = tb__correction_of(statement, line);
    return c ? c->kind : statement->bill->lines[line].kind;
}

static const char *const titles[TB_LINE_KIND_COUNT] = {
    [TB_LINE_BANDWIDTH] = "Bandwidth",
    [TB_LINE_VOLUME] = "Volume bandwidth",
    [TB_LINE_OVERRIDE] = "Bandwidth at its own price",
    [TB_LINE_OPTIMIZER] = "Optimizer",
    [TB_LINE_BALANCER_FEE] = "Load balancer, monthly fee",
    [TB_LINE_BALANCER_REQUESTS] = "Load balancer, requests",
    [TB_LINE_MINIMUM] = "Monthly minimum",
    [TB_LINE_CORRECTION] = "Correction",
};

const char *tb__line_title(const tb_statement *statement, size_t line)
{
    return titles[tb__line_origin(statement, line)];
}

/* "load_balancer:7" -> "load balancer 7" */
void tb__add_resource(tb_buf *out, const char *resource)
{
    for (; *resource; resource++)
        tb_buf_add(out, *resource == ':' || *resource == '_' ? " " : resource, 1);
}
