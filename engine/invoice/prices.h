/* A line split by price, for outputs with one price a row. */
#ifndef TOLLBOOK_INVOICE_PRICES_H
#define TOLLBOOK_INVOICE_PRICES_H

#include "tollbook/invoice.h"

#define TB__PRICES_MAX 128

/* Adjacent tiers at one price are joined. billed: each one's part of the line's amount, in whole minor units; together
 * they are the line's amount. */
typedef struct tb__prices {
    tb_bill_tier tier[TB__PRICES_MAX];
    tb_decimal billed[TB__PRICES_MAX], rest[TB__PRICES_MAX];
    size_t n;
    tb_i128 units; /* of all */
} tb__prices;

/* Reads the tiers. *ret_all false: there are more than fit. */
TB_MUST_USE tb_code tb__prices_read(const tb_bill_line *line, tb__prices *prices, bool *ret_all,
                                    tb_error *err);

/* Shares the amount by largest remainder: each tier gets the whole minor units below its exact amount (towards minus
 * infinity); the rest goes, one unit each, to the largest remainders, the first of equals. Where the line's amount
 * is less than their sum, units are taken from the smallest remainders. *ret_fits false: the tiers do not sum to the
 * amount; then nothing is shared. */
TB_MUST_USE tb_code tb__prices_share(const tb_bill_line *line, int digits, tb__prices *prices,
                                     bool *ret_fits, tb_error *err);

#endif
