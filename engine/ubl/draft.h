/* The document that is being written, and what its parts share. */
#ifndef TOLLBOOK_UBL_DRAFT_H
#define TOLLBOOK_UBL_DRAFT_H

#include "tollbook/ubl.h"
#include "ubl/xml.h"

typedef struct tb__ubl {
    const tb_statement *s;
    const tb_invoice_names *names;
    tb_ubl_profile profile;
    int sign;                       /* tb__ubl_sign */
    bool credit;                    /* a CreditNote */
    int64_t first, last;            /* the months of its lines */
    tb_decimal lines;               /* their sum: BT-106, times the sign */
    tb_decimal allowances, charges; /* BT-107, BT-108, likewise */
    bool is_charged, is_allowed;    /* there is one */
    tb_buf words;                   /* where texts are put together */
    tb__xml xml;
} tb__ubl;

/* --- parts of a document, in its order (parties.c, lines.c, ubl.c) --- */

void tb__ubl_parties(tb__ubl *u);
void tb__ubl_delivery(tb__ubl *u);
void tb__ubl_payment(tb__ubl *u);
TB_MUST_USE tb_code tb__ubl_lines(tb__ubl *u, tb_error *err);

/* --- pieces (pieces.c) --- */

/* The text that was put together in words, and room for the next. */
const char *tb__ubl_words(tb__ubl *u);
/* An element of the amount in words, in a currency. */
void tb__ubl_amount(tb__ubl *u, const char *name, const char *currency);
/* An element of an amount in the invoice's currency; times the sign already. */
void tb__ubl_money(tb__ubl *u, const char *name, tb_decimal amount);
/* The same, digits as many as it has. */
void tb__ubl_price(tb__ubl *u, const char *name, tb_decimal price);
void tb__ubl_decimal(tb__ubl *u, const char *name, tb_decimal value);
void tb__ubl_day(tb__ubl *u, const char *name, int64_t day);
/* InvoicePeriod: from the first day of the one month to the last of the other. */
void tb__ubl_period(tb__ubl *u, int64_t first, int64_t last);
/* Of a line or the document: ClassifiedTaxCategory or TaxCategory. reasons: with why nothing is
 * taxed. */
void tb__ubl_category(tb__ubl *u, const char *element, const tb_bill_taxed *tax, bool reasons);

#endif
