/* What a month charges each pull zone: from its valid invoice, else from the bill as it stands. */
#include "tollbook/monthbill.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tollbook/invoice.h"
#include "tollbook/issue.h"

typedef struct amounts {
    tb_zone_amount *list;
    size_t n, cap;
} amounts;

static tb_code add(amounts *a, int64_t zone, tb_decimal amount, tb_error *err)
{
    tb_code code = tb__grow(&a->list, a->n, &a->cap, sizeof *a->list, err);
    if (!code) a->list[a->n++] = (tb_zone_amount){zone, amount};
    return code;
}

static int by_zone(const void *a, const void *b)
{
    const tb_zone_amount *x = a, *y = b;
    return x->zone < y->zone ? -1 : x->zone > y->zone;
}

/* Corrections are for other months. */
static tb_code sum_lines(amounts *a, const tb_bill *bill, int64_t month, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        if (line->period_month != month) continue;
        for (size_t k = 0; !code && k < line->n_shares; k++)
            code = add(a, line->shares[k].zone, line->shares[k].exact, err);
        if (!code && !line->n_shares && strncmp(line->resource, "zone:", 5) == 0)
            code = add(a, line->id, line->exact, err);
    }
    if (code || !a->n) return code;
    qsort(a->list, a->n, sizeof *a->list, by_zone);
    size_t n = 1;
    for (size_t i = 1; !code && i < a->n; i++)
        if (a->list[i].zone != a->list[n - 1].zone) a->list[n++] = a->list[i];
        else code = tb_decimal_add(a->list[n - 1].amount, a->list[i].amount, &a->list[n - 1].amount, err);
    a->n = n;
    return code;
}

static tb_code read_invoice(amounts *a, const tb_invoice *invoice, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    code = sum_lines(a, &paper.bill, invoice->month, err);
    tb_paper_release(&paper);
    return code;
}

static tb_code read_bill(tb_store *store, int64_t account, int64_t month, int64_t now_us, amounts *a, tb_error *err)
{
    tb_month_books books;
    tb_month_bill bill;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    const tb_bill_query query = {account, month, TB_NOW, books.list, books.n, now_us};
    code = tb_month_net_read(store, &query, &bill, err);
    if (!code) {
        code = sum_lines(a, &bill.bill, month, err);
        tb_month_bill_release(&bill);
    }
    tb_month_books_release(&books);
    return code;
}

tb_code tb_zone_amounts_read(tb_store *store, int64_t account, int64_t month, int64_t now_us,
                             tb_zone_amount **ret_list, size_t *ret_n, tb_error *err)
{
    amounts a = {0};
    tb_invoice invoice;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    char number[24];
    tb_code code = tb_issue_done(store, account, month, &invoice, number, &outcome, err);
    if (!code && outcome != TB_ISSUE_KNOWN) code = read_bill(store, account, month, now_us, &a, err);
    else if (!code) {
        code = read_invoice(&a, &invoice, err);
        tb_invoice_release(&invoice);
    }
    if (code) free(a.list);
    *ret_list = code ? NULL : a.list;
    *ret_n = code ? 0 : a.n;
    return code;
}
