/* A bank's list of payments, and opening balances: CSV to rows. Pure.
 *
 * Cells are separated by ',', ';' or a tab, whichever the first line has most of, and may be quoted as in
 * RFC 4180. The first line names the columns. Bytes that are not UTF-8 are taken for Latin-1. */
#ifndef TOLLBOOK_PAYMENTS_H
#define TOLLBOOK_PAYMENTS_H

#include "tollbook/entry.h"

TB_API_BEGIN

#define TB_PAYMENTS_MAX    ((size_t)16 << 20) /* bytes of a file */
#define TB_PAYMENT_ROWS    100000
#define TB_PAYMENT_COLUMNS 256
#define TB_PAYMENT_NUMBERS 8 /* invoice numbers of one reference that are looked at */

typedef struct tb_payment {
    uint64_t line;               /* of the file, from 1 */
    int64_t day, account;        /* day since January 1970; account 0: not told */
    tb_decimal amount;           /* below 0: money that went out */
    char currency[4];            /* "": not told */
    char key[64];                /* the reference of its entry: "bank ID", or as `row` */
    char row[64];                /* "row " and a hash of all cells, whatever the map; of the second such
                                  * row of the file " 2" behind it */
    const char *reference, *payer; /* "": not told; UTF-8, in the list's memory */
} tb_payment;

typedef struct tb_payments {
    tb_payment *list;
    size_t n;
    char *texts;
    char **cells; /* of row i from i * n_cells on, in texts */
    size_t n_cells; /* of the head, and of each row */
} tb_payments;

/* map: "date=Buchungstag,amount=Betrag,reference=Verwendungszweck", and where the file has them currency,
 * payer, id and account. comma: 1.234,56 in the place of 1,234.56. Days are 2026-10-31 or 31.10.2026 (also
 * 1.2.2026) and nothing else. A row without an id is known by all its cells; the second of the same cells in
 * a file is another payment. A row has as many cells as the head.
 * TB_E_VALIDATION: the map. TB_E_BAD_INPUT: a row, err->line says which. TB_E_TOO_LARGE. Release. */
TB_MUST_USE tb_code tb_payments_parse(const char *text, size_t len, const char *map, bool comma,
                                      tb_payments *ret_payments, tb_error *err);
/* Opening balances, in the same form or as {"balances":[{"account":7,"amount":"-120.00"},...]}: account and amount (below
 * 0: what the account owes), and where the file has them currency, due and reference. day: when it is due, or TB_NO_DAY. key, row and payer say nothing.
 * TB_E_BAD_INPUT: the head, or a row. */
#define TB_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_balances_parse(const char *text, size_t len, bool comma, tb_payments *ret_balances,
                                      tb_error *err);
void tb_payments_release(tb_payments *payments);

/* What looks like an invoice's number in a reference, as it is written on invoices: "RE 2026 000123" has
 * 2026-000123. Each once. Returns how many. */
size_t tb_payment_numbers(const char *reference, char numbers[TB_PAYMENT_NUMBERS][24]);

/* An entry's reference as people read it: "" for the hash of a row, which is for the ledger (its note has the bank's
 * words), and for what an opening balance without one was given. */
const char *tb_payment_shown(const tb_ledger_entry *entry);

TB_API_END

#endif
