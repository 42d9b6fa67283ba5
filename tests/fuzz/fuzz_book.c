/* Fuzzes the price book parser with documents as they come. What is accepted must keep the promises
 * of book.h, and its canonical text must be the same book. */
#include "tollbook/book.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

/* No price is negative, and 10^18 units of it fit. */
static void check_price(tb_decimal price)
{
    tb_decimal product;
    MUST(price.mantissa >= 0 && price.scale >= 0 && price.scale <= TB_PRICE_SCALE_MAX + 9);
    MUST(!tb_decimal_mul_int(tb_decimal_normal(price), TB_UNITS_MAX, &product, NULL));
}

static void check_tiers(const tb_tiers *t)
{
    MUST(t->n >= 1 && t->n <= TB_TIERS_MAX);
    MUST(t->included >= 0 && t->included <= TB_UNITS_MAX);
    MUST(t->mode == TB_PACKAGE ? t->block > 0 && t->block <= TB_UNITS_MAX : t->block == 0);
    MUST(t->tier[0].from == 0 ||
         (t->included_absolute && t->included > 0 && t->tier[0].from == t->included));
    for (size_t k = 0; k < t->n; k++) {
        const tb_tier *tier = &t->tier[k];
        MUST(tier->open == (k + 1 == t->n));
        if (!tier->open)
            MUST(tier->to > tier->from && tier->to == tier[1].from && tier->to <= TB_UNITS_MAX);
        check_price(tier->price);
        check_price(tier->shown);
        check_price(tier->flat);
    }
}

static void check_rate(const tb_meter_rate *rate)
{
    MUST(rate->per[0] && rate->n >= 1 && (rate->by[0] || (rate->n == 1 && !rate->rate[0].value[0])));
    check_price(rate->minimum);
    for (size_t i = 0; i < rate->n; i++) {
        const tb_rate *one = &rate->rate[i];
        MUST(i == 0 || strcmp(one[-1].value, one->value) < 0);
        MUST(one->n >= 1 && one->n <= TB_TIERS_MAX && one->tier[one->n - 1].open);
        MUST((one->mode == TB_PACKAGE) == (tb_decimal_sign(one->block) > 0));
        for (size_t k = 0; k < one->n; k++) {
            check_price(one->tier[k].price);
            check_price(one->tier[k].flat);
            MUST(k == 0 || tb_decimal_compare(one->tier[k].from, one->tier[k - 1].to) == 0);
        }
    }
}

static void check_book(const tb_book *book)
{
    for (size_t i = 0; i < book->n_meters; i++) {
        MUST(book->meters[i].meter[0] && (i == 0 || strcmp(book->meters[i - 1].meter, book->meters[i].meter) < 0));
        check_rate(&book->meters[i]);
    }
    if (book->has_percentile) check_rate(&book->percentile);
    for (size_t i = 0; i < book->n_fees; i++) {
        MUST(book->fees[i].id[0] && book->fees[i].name[0] && (i == 0 || strcmp(book->fees[i - 1].id, book->fees[i].id) < 0));
        check_price(book->fees[i].amount);
    }
    MUST(book->id[0] && strlen(book->id) <= 64 && strlen(book->currency) == 3);
    MUST(book->effective_us % INT64_C(3600000000) == 0);
    MUST(strlen(book->sha256) == 64 && strlen(book->canonical) == book->canonical_len);
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++)
        check_price(book->region_price[r]);
    check_price(book->minimum_monthly);
    check_price(book->optimizer_monthly);
    check_price(book->balancer_fee);
    if (book->has_volume) check_tiers(&book->volume);
    if (book->has_balancer) check_tiers(&book->balancer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    tb_book book, again;
    tb_error err;
    tb_code code = tb_book_parse(text, size, NULL, &book, &err);
    /* Nothing of the book may point into the input. */
    free(text);
    if (code != TB_OK) {
        MUST(code == TB_E_BOOK && err.code == code && err.message[0] && err.byte <= size + 1);
        return 0;
    }
    check_book(&book);
    MUST(tb_book_parse(book.canonical, book.canonical_len, NULL, &again, &err) == TB_OK);
    MUST(strcmp(again.sha256, book.sha256) == 0 && strcmp(again.canonical, book.canonical) == 0);
    tb_book_release(&again);
    MUST(tb_book_copy(&book, &again, &err) == TB_OK);
    check_book(&again);
    tb_book_release(&again);
    tb_book_release(&book);
    return 0;
}
