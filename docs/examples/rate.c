/* What an account's month comes to, line by line, under the price books in force.
 *
 *   cc rate.c $(pkg-config --cflags --libs tollbook) -o rate
 *   ./rate tollbook.db 1 2026-10
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tollbook/tollbook.h>

static void print(const char *what, tb_i128 units, const char *unit, tb_decimal amount, int digits)
{
    char text[TB_DECIMAL_TEXT_MAX + 1], count[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put_fixed(text, amount, digits) = 0;
    *tb_decimal_put(count, tb_decimal_from_int(units)) = 0;
    printf("%-40s %20s %-8s %12s\n", what, count, unit, text);
}

/* In the caller's snapshot; rated by the function that writes invoices. */
static tb_code rate(tb_store *store, int64_t account, int64_t month, int64_t now_us, tb_error *err)
{
    tb_month_books books;
    tb_month_bill rated;
    if (tb_month_books_read(store, &books, err)) return err->code;
    tb_code code = tb_month_bill_read(store, &(tb_bill_query){account, month, TB_NOW, books.list, books.n, now_us},
                                      &rated, err);
    if (code == TB_OK) {
        const tb_bill *bill = &rated.bill;
        for (size_t i = 0; i < bill->n_lines; i++)
            print(bill->lines[i].resource, bill->lines[i].quantity,
                  tb_line_kind_unit(bill->lines[i].kind), bill->lines[i].amount,
                  bill->minor_digits);
        print("total, with tax", 1, "month", bill->total, bill->minor_digits);
        tb_month_bill_release(&rated);
    }
    tb_month_books_release(&books);
    return code;
}

int main(int argc, char **argv)
{
    int64_t now_us = (int64_t)time(NULL) * TB_US_PER_S, month = tb_month_from_us(now_us);
    tb_store *store;
    tb_error err;
    if (argc < 2 || (argc > 3 && !tb_month_parse(argv[3], strlen(argv[3]), &month))) {
        fprintf(stderr, "usage: rate DB [ACCOUNT [MONTH]]\n");
        return 2;
    }
    tb_code code = tb_store_open(argv[1], NULL, &store, &err);
    if (code == TB_OK) {
        code = tb_store_read_begin(store, &err);
        if (code == TB_OK)
            code = rate(store, argc > 2 ? strtoll(argv[2], NULL, 10) : 1, month, now_us, &err);
        tb_store_close(store);
    }
    if (code) fprintf(stderr, "rate: %s\n", err.message);
    return tb_code_exit(code);
}
