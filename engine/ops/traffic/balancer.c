/* Requests from the store, the price from the book in force. */
#include "tollbook/statistics.h"

#include <inttypes.h>

#include "tollbook/billsource.h"
#include "tollbook/usage.h"

static tb_code answer(tb_store *store, const tb_balancer_month *found, tb_balancer_usage *usage,
                      int64_t now_us, tb_buf *out, tb_error *err)
{
    tb_month_books books;
    char currency[4];
    tb_contract contract;
    int64_t end_us = tb_month_start_us(usage->month + 1) - 1;
    tb_code code = tb_store_month_currency(store, found->account, usage->month, currency, err);
    if (!code) code = tb_store_month_contract(store, found->account, usage->month, &contract, err);
    if (!code)
        code =
            tb_store_month_books(store, found->account, usage->month, &books.list, &books.n, err);
    if (code) return code;
    usage->book = tb_month_book_at(&books, currency, contract.book,
                                   end_us < now_us ? end_us : now_us);
    code = tb_usage_encode(usage, out, err);
    tb_month_books_release(&books);
    return code;
}

tb_code tb_usage_answer(tb_store *store, int64_t account, int64_t balancer, int64_t month,
                        int64_t now_us, tb_buf *out, tb_error *err)
{
    tb_balancer_month found;
    tb_code code = TB_OK;
    if (account == 0) code = tb_store_balancer_account(store, balancer, &account, err);
    if (!code) code = tb_store_balancer_month(store, account, balancer, month, &found, err);
    if (code == TB_E_NOT_FOUND) return tb_fail(err, TB_E_BALANCER_NOT_FOUND, "LoadBalancer", NULL);
    if (code) return code;
    if (month > tb_month_from_us(now_us))
        return tb_fail(err, TB_E_PERIOD, "month", "The month is in the future.");
    tb_balancer_usage usage = {.balancer = balancer, .month = month, .requests = found.requests};
    return answer(store, &found, &usage, now_us, out, err);
}
