/* Issues an account's month: its invoice gets a number and never changes again. The same call again
 * prints the same invoice. Without a month: the one before this.
 *
 *   cc month.c $(pkg-config --cflags --libs tollbook) -o month
 *   ./month tollbook.db 1 2026-10
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tollbook/tollbook.h>

/* In the caller's transaction: all of it or nothing. */
static tb_code issue(tb_store *store, int64_t account, int64_t month, int64_t now_us, tb_error *err)
{
    tb_month_books books;
    tb_issue draft;
    tb_invoice invoice;
    tb_issue_outcome outcome;
    tb_code code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_issue_draft(store, account, month, &books, now_us, &draft, err);
    if (code == TB_OK) {
        code = tb_issue_finalize(store, &draft, now_us, false, NULL, NULL, &invoice, &outcome, err);
        tb_issue_release(&draft);
    }
    tb_month_books_release(&books);
    if (code) return code;
    if (outcome == TB_ISSUE_NOTHING || outcome == TB_ISSUE_ELSEWHERE) puts("nothing is due");
    else {
        puts(invoice.text);
        tb_invoice_release(&invoice);
    }
    return TB_OK;
}

int main(int argc, char **argv)
{
    int64_t now_us = (int64_t)time(NULL) * TB_US_PER_S, month = tb_month_from_us(now_us) - 1;
    tb_store *store;
    tb_error err;
    if (argc < 2 || (argc > 3 && !tb_month_parse(argv[3], strlen(argv[3]), &month))) {
        fprintf(stderr, "usage: month DB [ACCOUNT [MONTH]]\n");
        return 2;
    }
    tb_store_options options = {.write = true, .owner = "month", .now_us = now_us};
    tb_code code = tb_store_open(argv[1], &options, &store, &err);
    if (code == TB_OK) {
        code = tb_store_begin(store, &err);
        if (code == TB_OK)
            code = issue(store, argc > 2 ? strtoll(argv[2], NULL, 10) : 1, month, now_us, &err);
        if (code == TB_OK) code = tb_store_commit(store, &err);
        tb_store_close(store); /* what is not committed is rolled back */
    }
    if (code) fprintf(stderr, "month: %s\n", err.message);
    return tb_code_exit(code);
}
