/* A line taken apart by price: forms whose rows have one price each share it. */
#ifndef TOLLBOOK_INVOICE_PRICES_H
#define TOLLBOOK_INVOICE_PRICES_H

#include "tollbook/invoice.h"

#define TB__PRICES_MAX 128

/* Tiers that continue one another at one price are one. billed: what each has of the line's amount,
 * in whole minor units; together they are the line's amount. */
typedef struct tb__prices {
    tb_bill_tier tier[TB__PRICES_MAX];
    tb_decimal billed[TB__PRICES_MAX], rest[TB__PRICES_MAX];
    size_t n;
    tb_i128 units; /* of all */
} tb__prices;

/* The tiers alone. *ret_all false: there are more than fit. */
TB_MUST_USE tb_code tb__prices_read(const tb_bill_line *line, tb__prices *prices, bool *ret_all,
                                    tb_error *err);

/* The amount by largest remainder: each the whole minor units below its exact amount; what is left,
 * one each, to the largest rests, the first of equals. Negative amounts too: below is downwards.
 * What the line's amount has less than that is taken from the smallest rests. *ret_fits false: the
 * tiers are not the amount's; then nothing is shared. */
TB_MUST_USE tb_code tb__prices_share(const tb_bill_line *line, int digits, tb__prices *prices,
                                     bool *ret_fits, tb_error *err);

#endif
